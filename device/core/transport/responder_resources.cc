// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
#include "core/transport/responder_resources.hh"

#include <algorithm>

#include "core/transport/psn.hh"

namespace ohca::core {

namespace {

ResponderResource &resource_at(Function &function, QpContext &qp, uint32_t position)
{
	auto *ring = reinterpret_cast<ResponderResource *>(function.context().block(qp.responder.resources));

	return ring[(qp.responder.resource_head + position) % kResponderResourceCount];
}

} // namespace

void set_pending(QpContext &qp, ResponderResource &resource)
{
	qp.responder.resource_pending = static_cast<uint8_t>(qp.responder.resource_pending + !resource.pending);
	resource.pending = 1;
}

void clear_pending(QpContext &qp, ResponderResource &resource)
{
	qp.responder.resource_pending = static_cast<uint8_t>(qp.responder.resource_pending - resource.pending);
	resource.pending = 0;
}

ResponderResource *allocate_resource(Function &function, QpContext &qp)
{
	ResponderContext &responder = qp.responder;
	const uint32_t limit = std::min<uint32_t>(qp.attributes.max_dest_read_atomic, kResponderResourceCount);

	if (limit == 0)
		return nullptr;
	if (responder.resources == 0)
		responder.resources =
			function.context().allocate_block(kResponderResourceCount * sizeof(ResponderResource));
	if (responder.resources == 0)
		return nullptr;
	while (responder.resource_count >= limit) {
		ResponderResource &oldest = resource_at(function, qp, 0);

		if (oldest.pending && !oldest.answered)
			return nullptr;
		clear_pending(qp, oldest); // nobody waits for a repetition any more
		responder.resource_head = (responder.resource_head + 1) % kResponderResourceCount;
		responder.resource_count--;
	}
	ResponderResource &resource = resource_at(function, qp, responder.resource_count++);
	resource = {};
	set_pending(qp, resource);
	return &resource;
}

ResponderResource *find_resource(Function &function, QpContext &qp, uint32_t psn)
{
	// Newest first: old entries may be from before the PSNs wrapped.
	for (uint32_t position = qp.responder.resource_count; position > 0; position--) {
		ResponderResource &resource = resource_at(function, qp, position - 1);

		if (psn_distance(psn, resource.psn) < resource.psn_count)
			return &resource;
	}
	return nullptr;
}

ResponderResource &first_pending_resource(Function &function, QpContext &qp)
{
	uint32_t position = 0;

	while (!resource_at(function, qp, position).pending)
		position++;
	return resource_at(function, qp, position);
}

} // namespace ohca::core
