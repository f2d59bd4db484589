// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "data/service.hh"

namespace verbs_test {

bool is_send(ibv_wr_opcode opcode)
{
	return opcode == IBV_WR_SEND || opcode == IBV_WR_SEND_WITH_IMM || opcode == IBV_WR_SEND_WITH_INV;
}

bool uses_receive(ibv_wr_opcode opcode)
{
	return is_send(opcode) || opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
}

bool is_atomic(ibv_wr_opcode opcode)
{
	return opcode == IBV_WR_ATOMIC_CMP_AND_SWP || opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
}

bool needs_wr_api(ibv_wr_opcode opcode)
{
	return opcode == IBV_WR_ATOMIC_WRITE || opcode == IBV_WR_FLUSH;
}

}  // namespace verbs_test
