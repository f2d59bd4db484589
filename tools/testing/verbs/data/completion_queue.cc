// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "data/completion_queue.hh"

#include "failure.hh"

#include <algorithm>
#include <cerrno>
#include <cinttypes>

namespace verbs_test {

namespace {

constexpr std::uint64_t kFields = IBV_WC_EX_WITH_BYTE_LEN | IBV_WC_EX_WITH_IMM | IBV_WC_EX_WITH_QP_NUM |
				  IBV_WC_EX_WITH_SRC_QP;
constexpr unsigned kEventsAcknowledgedAtOnce = 7;

}  // namespace

CompletionQueue::CompletionQueue(const Device &device, ibv_comp_channel *channel, int depth, Api api,
				 bool single_threaded)
	: device_(device), channel_(channel), api_(api)
{
	if (api == Api::kClassic) {
		cq_ = must(ibv_create_cq(device.context(), depth, nullptr, channel, 0), "ibv_create_cq");
		cq_->cq_context = this;
	} else {
		create_extended(depth, single_threaded);
	}
}

void CompletionQueue::create_extended(int depth, bool single_threaded)
{
	ibv_cq_init_attr_ex attributes{};
	attributes.cqe = static_cast<std::uint32_t>(depth);
	attributes.cq_context = this;
	attributes.channel = channel_;
	attributes.wc_flags = kFields;
	if (single_threaded) {
		attributes.comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS;
		attributes.flags = IBV_CREATE_CQ_ATTR_SINGLE_THREADED;
	}
	if (device_.is_ohca() && (depth & 1) != 0) {
		attributes.wc_flags |= IBV_WC_EX_WITH_COMPLETION_TIMESTAMP;
		with_timestamp_ = true;
	}
	extended_ = ibv_create_cq_ex(device_.context(), &attributes);
	if (extended_ == nullptr && single_threaded && !device_.is_ohca()) {
		attributes.comp_mask = 0;
		attributes.flags = 0;
		extended_ = ibv_create_cq_ex(device_.context(), &attributes);
	}
	cq_ = ibv_cq_ex_to_cq(must(extended_, "ibv_create_cq_ex"));
}

CompletionQueue::~CompletionQueue()
{
	if (unacknowledged_ > 0)
		ibv_ack_cq_events(cq_, unacknowledged_);
	must_succeed(ibv_destroy_cq(cq_), "ibv_destroy_cq");
}

Endpoint *CompletionQueue::endpoint(std::uint32_t qpn) const
{
	const auto found = endpoints_.find(qpn);
	return found == endpoints_.end() ? nullptr : found->second;
}

void CompletionQueue::arm()
{
	must_succeed(ibv_req_notify_cq(cq_, solicited_only_ ? 1 : 0), "ibv_req_notify_cq");
}

void CompletionQueue::acknowledge_event()
{
	if (++unacknowledged_ < kEventsAcknowledgedAtOnce)
		return;
	ibv_ack_cq_events(cq_, unacknowledged_);
	unacknowledged_ = 0;
}

int CompletionQueue::poll(Completion *completions, int max)
{
	return api_ == Api::kExtended ? poll_extended(completions, max) : poll_classic(completions, max);
}

int CompletionQueue::poll_classic(Completion *completions, int max)
{
	ibv_wc wc[64];
	const int count = ibv_poll_cq(cq_, std::min(max, 64), wc);
	if (count < 0)
		fail("ibv_poll_cq returned %d", count);
	for (int i = 0; i < count; i++) {
		const bool invalidated = (wc[i].wc_flags & IBV_WC_WITH_INV) != 0;
		completions[i] = {.wr_id = wc[i].wr_id,
				  .status = wc[i].status,
				  .opcode = wc[i].opcode,
				  .byte_length = wc[i].byte_len,
				  .immediate = invalidated ? 0 : wc[i].imm_data,
				  .invalidated_rkey = invalidated ? wc[i].invalidated_rkey : 0,
				  .qpn = wc[i].qp_num,
				  .src_qp = wc[i].src_qp,
				  .vendor_error = wc[i].vendor_err,
				  .flags = wc[i].wc_flags};
	}
	return count;
}

int CompletionQueue::poll_extended(Completion *completions, int max)
{
	ibv_poll_cq_attr attributes{};
	int error = ibv_start_poll(extended_, &attributes);
	if (error == ENOENT)
		return 0;
	int count = 0;
	while (error == 0) {
		Completion &out = completions[count++];
		out = {};
		out.wr_id = extended_->wr_id;
		out.status = extended_->status;
		out.qpn = ibv_wc_read_qp_num(extended_);
		if (out.status == IBV_WC_SUCCESS) {
			out.opcode = ibv_wc_read_opcode(extended_);
			out.byte_length = ibv_wc_read_byte_len(extended_);
			out.flags = ibv_wc_read_wc_flags(extended_);
			if ((out.flags & IBV_WC_WITH_INV) != 0)
				out.invalidated_rkey = ibv_wc_read_invalidated_rkey(extended_);
			else
				out.immediate = ibv_wc_read_imm_data(extended_);
			out.src_qp = ibv_wc_read_src_qp(extended_);
		} else {
			out.vendor_error = ibv_wc_read_vendor_err(extended_);
		}
		if (with_timestamp_) {
			const std::uint64_t now = ibv_wc_read_completion_ts(extended_);
			if (now < last_timestamp_)
				fail("a completion's timestamp is %" PRIu64 ", the one before had %" PRIu64, now,
				     last_timestamp_);
			last_timestamp_ = now;
		}
		if (count == max)
			break;
		error = ibv_next_poll(extended_);
	}
	ibv_end_poll(extended_);
	if (error != 0 && error != ENOENT)
		fail_errno("ibv_start_poll or ibv_next_poll", error);
	return count;
}

}  // namespace verbs_test
