// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// One function per command (ohca_hw_cmd.h).  They get a copy of the input and
// fill the output; whatever the input, the worst is a refusal, and a refused
// command has changed nothing.
#pragma once

#include <cstdint>

#include <rdma/ohca_hw.h>

#include "core/context.hh"

namespace ohca::core {

class Function;

struct CommandResult {
	uint8_t status = OHCA_CMD_STATUS_OK;
	uint32_t detail = OHCA_CMD_DETAIL_NONE;
	bool deferred = false; // complete_deferred() follows; the command has no output

	bool ok() const { return status == OHCA_CMD_STATUS_OK; }
};

constexpr CommandResult kAccepted;
constexpr CommandResult kDeferred{.deferred = true};

constexpr CommandResult bad_parameter(uint32_t detail)
{
	return {OHCA_CMD_STATUS_BAD_PARAMETER, detail};
}
constexpr CommandResult bad_handle(uint32_t detail)
{
	return {OHCA_CMD_STATUS_BAD_HANDLE, detail};
}
constexpr CommandResult bad_state(uint32_t detail)
{
	return {OHCA_CMD_STATUS_BAD_STATE, detail};
}
constexpr CommandResult in_use(uint32_t detail)
{
	return {OHCA_CMD_STATUS_IN_USE, detail};
}
constexpr CommandResult no_resources(uint32_t detail)
{
	return {OHCA_CMD_STATUS_NO_RESOURCES, detail};
}
constexpr CommandResult unsupported(uint32_t detail)
{
	return {OHCA_CMD_STATUS_UNSUPPORTED, detail};
}

// Limits that QUERY_DEVICE announces (what queues.hh and context_memory.hh do not say already).
constexpr uint8_t kLogSqDepthMax = 15;
constexpr uint8_t kLogRqDepthMax = 15;
constexpr uint8_t kLogSrqDepthMax = 15;
constexpr uint8_t kLogCqDepthMax = 22;
constexpr uint8_t kLogEqDepthMax = 20;
constexpr uint8_t kReadAtomicMax = kResponderResourceCount;
constexpr uint32_t kMessageSizeMax = uint32_t{1} << 31;      // bytes
constexpr uint64_t kMrSizeMax = uint64_t{1} << 63;           // bytes
constexpr uint64_t kPageSizeMask = ~uint64_t{0xfff};         // every power of two from 4 KiB

struct NoData {}; // a command without input or without output

struct CountersOut {
	__le64 counters[OHCA_COUNTER_COUNT];
};

// device.cc
CommandResult nop(Function &function, const NoData &in, NoData &out);
CommandResult query_device(Function &function, const NoData &in, struct ohca_cmd_query_device_out &out);
CommandResult set_port(Function &function, const struct ohca_cmd_set_port_in &in, NoData &out);
CommandResult query_counters(Function &function, const NoData &in, CountersOut &out);

// gid.cc
CommandResult set_gid(Function &function, const struct ohca_cmd_set_gid_in &in, NoData &out);

// eq.cc
CommandResult create_eq(Function &function, const struct ohca_cmd_create_eq_in &in, struct ohca_cmd_handle &out);
CommandResult destroy_eq(Function &function, const struct ohca_cmd_handle &in, NoData &out);

// uar.cc
CommandResult create_uar(Function &function, const NoData &in, struct ohca_cmd_handle &out);
CommandResult destroy_uar(Function &function, const struct ohca_cmd_handle &in, NoData &out);

// pd.cc
CommandResult create_pd(Function &function, const NoData &in, struct ohca_cmd_handle &out);
CommandResult destroy_pd(Function &function, const struct ohca_cmd_handle &in, NoData &out);

// xrcd.cc
CommandResult create_xrcd(Function &function, const NoData &in, struct ohca_cmd_handle &out);
CommandResult destroy_xrcd(Function &function, const struct ohca_cmd_handle &in, NoData &out);

// mkey.cc
CommandResult create_mkey(Function &function, const struct ohca_cmd_create_mkey_in &in,
			  struct ohca_cmd_create_mkey_out &out);
CommandResult destroy_mkey(Function &function, const struct ohca_cmd_handle &in, NoData &out);

// mkey_modify.cc
CommandResult modify_mkey(Function &function, const struct ohca_cmd_modify_mkey_in &in,
			  struct ohca_cmd_create_mkey_out &out);

// mkey_invalidate.cc
CommandResult invalidate_mkey(Function &function, const struct ohca_cmd_handle &in, NoData &out);

// cq.cc
CommandResult create_cq(Function &function, const struct ohca_cmd_create_cq_in &in, struct ohca_cmd_handle &out);
CommandResult modify_cq(Function &function, const struct ohca_cmd_modify_cq_in &in, NoData &out);
CommandResult destroy_cq(Function &function, const struct ohca_cmd_handle &in, NoData &out);

// cq_resize.cc
CommandResult resize_cq(Function &function, const struct ohca_cmd_resize_cq_in &in, NoData &out);

// srq.cc
CommandResult create_srq(Function &function, const struct ohca_cmd_create_srq_in &in, struct ohca_cmd_handle &out);
CommandResult modify_srq(Function &function, const struct ohca_cmd_modify_srq_in &in, NoData &out);
CommandResult query_srq(Function &function, const struct ohca_cmd_handle &in, struct ohca_cmd_query_srq_out &out);
CommandResult resize_srq(Function &function, const struct ohca_cmd_resize_srq_in &in, NoData &out);
CommandResult reset_srq(Function &function, const struct ohca_cmd_handle &in, NoData &out);
CommandResult destroy_srq(Function &function, const struct ohca_cmd_handle &in, NoData &out);

// qp.cc
CommandResult create_qp(Function &function, const struct ohca_cmd_create_qp_in &in,
			struct ohca_cmd_create_qp_out &out);
CommandResult query_qp(Function &function, const struct ohca_cmd_handle &in, struct ohca_cmd_query_qp_out &out);
CommandResult destroy_qp(Function &function, const struct ohca_cmd_handle &in, NoData &out);

// qp_modify.cc
CommandResult modify_qp(Function &function, const struct ohca_cmd_modify_qp_in &in, NoData &out);

// qp_connect.cc
CommandResult connect_qp(Function &function, const struct ohca_cmd_modify_qp_in &in, NoData &out);

// qp_disconnect.cc
CommandResult disconnect_qp(Function &function, const struct ohca_cmd_handle &in, NoData &out);

// multicast.cc
CommandResult attach_multicast(Function &function, const struct ohca_cmd_multicast_in &in, NoData &out);
CommandResult detach_multicast(Function &function, const struct ohca_cmd_multicast_in &in, NoData &out);

// page_list.cc: copies the list and checks that it holds `length` bytes from first_page_offset
// on. A list of neighbours becomes one contiguous range and takes no context memory.
CommandResult copy_page_list(Function &function, const struct ohca_page_list &list, uint64_t length,
			     PageRange &range);
// As above, for queue buffers: the range starts on a 64-byte border.
CommandResult copy_queue_pages(Function &function, const struct ohca_page_list &list, uint64_t length,
			       PageRange &range);
void free_page_range(Function &function, PageRange &range);

// uar.cc: which queue pairs a slot announces.
// False: out of context memory. Fills qp.uar_slot.
bool attach_to_slot(Function &function, QpContext &qp);
void detach_from_slot(Function &function, QpContext &qp);

} // namespace ohca::core
