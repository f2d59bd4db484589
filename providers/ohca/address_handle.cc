// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// Life of an address handle.
#include "address_handle.hh"

#include <cerrno>
#include <cstring>

#include <rdma/ohca_hw_regs.h>

#include "context.hh"
#include "domain.hh"
#include "memory.hh"

using namespace ohca;

namespace {

constexpr std::uint32_t kFlowLabelMask = 0xfffff;

ohca_wqe_datagram prepare(const ibv_ah_attr &attr, const ohca_create_ah_resp &resolved, std::uint32_t pd)
{
	ohca_wqe_datagram vector{};
	vector.pd = pd;
	vector.flow_label = attr.grh.flow_label & kFlowLabelMask;
	std::memcpy(vector.dgid, attr.grh.dgid.raw, sizeof(vector.dgid));
	std::memcpy(vector.dmac, resolved.dmac, sizeof(vector.dmac));
	vector.sgid_index = resolved.sgid_index;
	vector.hop_limit = resolved.hop_limit;
	vector.traffic_class = attr.grh.traffic_class;
	vector.service_level = attr.sl;
	// A flow has a port of its own, so that ECMP keeps it together.
	if (vector.flow_label)
		vector.source_udp_port = ibv_flow_label_to_udp_sport(vector.flow_label);
	return vector;
}

} // namespace

ibv_ah *ohca_create_ah(ibv_pd *pd, ibv_ah_attr *attr)
{
	const ProtectionDomain *domain = ProtectionDomain::of(pd);
	// The number of an imported protection domain is not known here.
	if (!Context::of(pd->context).has_feature(OHCA_FEATURE_UD) || !domain->has_number()) {
		errno = EOPNOTSUPP;
		return nullptr;
	}
	auto *handle = create<AddressHandle>();
	if (!handle)
		return nullptr;
	ohca_create_ah_resp resolved{};
	if (int error = ohca_shim_create_ah(pd, &handle->ah, attr, &resolved)) {
		destroy(handle);
		errno = error;
		return nullptr;
	}
	handle->vector = prepare(*attr, resolved, domain->number);
	return &handle->ah;
}

int ohca_destroy_ah(ibv_ah *ah)
{
	if (int error = ohca_shim_destroy_ah(ah))
		return error;
	destroy(&AddressHandle::of(ah));
	return 0;
}
