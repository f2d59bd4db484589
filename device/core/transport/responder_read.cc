// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// Responder: READ and its response.
#include "core/transport/responder.hh"

#include <algorithm>

#include "core/transport/responder_resources.hh"

namespace ohca::core {

namespace {

uint64_t packets_to_bytes(const QpContext &qp, uint32_t packets)
{
	return uint64_t{packets} << qp.attributes.path_mtu;
}

} // namespace

void receive_read(Function &function, QpContext &qp, const Segment &segment)
{
	const uint32_t length = segment.dma_length;

	if (length > kMessageLengthMax) {
		refuse_invalid(function, qp, segment, OHCA_VENDOR_ERROR_LENGTH);
		return;
	}
	if (length > 0) {
		const KeyCheck check = function.memory().check_remote_key(
			segment.rkey, qp, segment.remote_address, length, OHCA_ACCESS_REMOTE_READ);
		if (check.mkey == nullptr) {
			refuse_access(function, qp, segment, check.vendor_error);
			return;
		}
	}
	ResponderResource *resource = allocate_resource(function, qp);
	if (resource == nullptr) {
		refuse_invalid(function, qp, segment, OHCA_VENDOR_ERROR_READ_ATOMIC_DEPTH);
		return;
	}
	resource->kind = OHCA_WR_READ;
	resource->psn = segment.psn;
	resource->psn_count = packet_count(length, qp.attributes.path_mtu);
	resource->respond_psn = segment.psn;
	resource->rkey = segment.rkey;
	resource->srq = segment.remote_srqn;
	resource->address = segment.remote_address;
	resource->length_or_original = length;
	// The response acknowledges by itself.
	Segment without_ack = segment;
	without_ack.ack_request = false;
	accept_request(qp, without_ack, resource->psn_count);
}

// IBTA 9.7.5.1.3: the same memory is read again, from where the requester has got to. A
// duplicate that was not part of the original request is dropped.
void receive_duplicate_read(Function &function, QpContext &qp, const Segment &segment)
{
	ResponderResource *resource = find_resource(function, qp, segment.psn);

	if (resource == nullptr || resource->kind != OHCA_WR_READ)
		return;
	const uint64_t offset = packets_to_bytes(qp, psn_distance(segment.psn, resource->psn));
	const uint64_t rest = resource->length_or_original - offset;
	if (segment.rkey != resource->rkey || segment.remote_address != resource->address + offset ||
	    segment.dma_length != rest || segment.remote_srqn != resource->srq)
		return;
	if (!resource->pending ||
	    psn_distance(segment.psn, resource->psn) < psn_distance(resource->respond_psn, resource->psn))
		resource->respond_psn = segment.psn;
	set_pending(qp, *resource);
}

void refuse_read_response(Function &function, QpContext &qp, uint32_t psn, const Refusal &refusal)
{
	// Nothing behind this response may be sent: it would be taken for an acknowledgement.
	drop_responses(function, qp);
	refuse(function, qp, psn, refusal);
}

bool transmit_read_response(Function &function, QpContext &qp, ResponderResource &resource, uint64_t payload_max,
			    TransmitScratch &scratch, Segment &segment)
{
	const uint8_t log_mtu = qp.attributes.path_mtu;
	const uint64_t offset = packets_to_bytes(qp, psn_distance(resource.respond_psn, resource.psn));
	const uint64_t length =
		std::min(resource.length_or_original - offset, payload_max >> log_mtu << log_mtu);

	if (length > 0) {
		const KeyUser user = {pd_of_resource(function, qp, resource), qp.qpn};
		const KeyCheck check = function.memory().check_key(
			resource.rkey, user, resource.address + offset, length, OHCA_ACCESS_REMOTE_READ);
		if (check.mkey == nullptr && resource.answered) {
			// Who repeats a request whose key is gone has its answer; if not, its retries run out.
			clear_pending(qp, resource);
			return false;
		}
		if (check.mkey == nullptr) { // deregistered since the request
			refuse_read_response(function, qp, resource.respond_psn,
					     {kAethNakRemoteAccess, 0, check.vendor_error,
					      OHCA_EVENT_QP_ACCESS_ERROR});
			return false;
		}
		scratch.ranges[0] = {&function.memory(), check.mkey, resource.address + offset, nullptr, length};
		segment.payload = {scratch.ranges, 1, 0, 0};
	}
	segment.kind = SegmentKind::kReadResponse;
	segment.first = offset == 0;
	segment.last = offset + length == resource.length_or_original;
	segment.psn = resource.respond_psn;
	segment.psn_count = packet_count(length, log_mtu);
	segment.payload_length = length;
	segment.aeth_syndrome = kAethAck;
	resource.respond_psn = psn_add(segment.psn, segment.psn_count);
	if (segment.last) {
		resource.answered = 1;
		clear_pending(qp, resource);
	}
	function.count(OHCA_COUNTER_TX_BYTES, length);
	return true;
}

} // namespace ohca::core
