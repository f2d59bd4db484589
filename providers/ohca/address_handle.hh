// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// An address handle: the part of a datagram's WQE that says where to, ready to be copied.
#pragma once

#include <type_traits>

#include <infiniband/verbs.h>
#include <rdma/ohca_hw_io.h>

namespace ohca {

struct AddressHandle {
	ibv_ah ah;
	ohca_wqe_datagram vector; // remote_qpn and remote_qkey: 0

	static AddressHandle &of(ibv_ah *ah) { return *reinterpret_cast<AddressHandle *>(ah); }
};

static_assert(std::is_standard_layout_v<AddressHandle>);

} // namespace ohca
