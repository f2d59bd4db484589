// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// The layout of the contract, as the device's compiler sees it.
#include <cstddef>

#include <rdma/ohca_hw_layout.h>
