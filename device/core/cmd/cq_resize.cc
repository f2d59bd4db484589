// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// RESIZE_CQ: the same CQ in another buffer.
//
// The host has written consumer and arm into the new record and does not poll
// meanwhile; queue pairs produce before and after the command, never during it,
// because one thread does both.
#include <algorithm>
#include <cstddef>

#include "core/cmd/commands.hh"
#include "core/endian.hh"
#include "core/function.hh"
#include "core/queue/ring.hh"

namespace ohca::core {

namespace {

constexpr CommandResult kUnreachable = {OHCA_CMD_STATUS_DMA_FAULT, OHCA_CMD_DETAIL_NONE};

struct CqRing {
	const PageRange &buffer;
	uint8_t log_depth;

	uint64_t offset(uint32_t index) const
	{
		uint64_t slot = index & ((uint64_t{1} << log_depth) - 1);
		return OHCA_CQ_RING_OFFSET + slot * sizeof(struct ohca_cqe);
	}
	uint8_t phase(uint32_t index) const { return (index >> log_depth) & 1 ? 0 : OHCA_CQE_PHASE; }
};

// The CQEs [consumer, producer), and behind them slots that the host takes for not yet written:
// in an odd pass the zeroes it has put there would not do.
bool copy_cqes(Function &function, const CqRing &from, const CqRing &to, uint32_t consumer, uint32_t producer)
{
	FunctionMemory &memory = function.memory();
	struct ohca_cqe cqe;
	for (uint32_t index = consumer; index != producer; index++) {
		if (!memory.read(from.buffer, from.offset(index), &cqe, sizeof(cqe)))
			return false;
		cqe.owner = to.phase(index);
		if (!memory.write(to.buffer, to.offset(index), &cqe, sizeof(cqe)))
			return false;
	}
	cqe = {};
	for (uint32_t index = producer; index != consumer + (uint32_t{1} << to.log_depth); index++) {
		cqe.owner = to.phase(index) ^ OHCA_CQE_PHASE;
		if (!memory.write(to.buffer, to.offset(index), &cqe, sizeof(cqe)))
			return false;
	}
	return true;
}

CommandResult move(Function &function, const CqContext &cq, const CqRing &to, uint32_t &consumer)
{
	if (!load_record(function, to.buffer, offsetof(struct ohca_cq_record, consumer), consumer))
		return kUnreachable;
	if (cq.producer - consumer > uint32_t{1} << std::min(cq.log_depth, to.log_depth))
		return bad_parameter(OHCA_CMD_DETAIL_DEPTH);
	function.add_command_cost(uint64_t{1} << to.log_depth);
	if (!copy_cqes(function, {cq.buffer, cq.log_depth}, to, consumer, cq.producer) ||
	    !store_record(function, to.buffer, offsetof(struct ohca_cq_record, fired), cq.arm_fired))
		return kUnreachable;
	return kAccepted;
}

} // namespace

CommandResult resize_cq(Function &function, const struct ohca_cmd_resize_cq_in &in, NoData &)
{
	if (!function.has_feature(OHCA_FEATURE_RESIZE))
		return unsupported(OHCA_CMD_DETAIL_FEATURE);
	if (in.reserved_e8[0] || in.reserved_e8[1] || in.reserved_e8[2])
		return bad_parameter(OHCA_CMD_DETAIL_RESERVED);
	CqContext *cq = function.context().cq(from_le(in.cqn));
	if (!cq)
		return bad_handle(OHCA_CMD_DETAIL_CQ);
	if (in.log_depth > kLogCqDepthMax)
		return bad_parameter(OHCA_CMD_DETAIL_DEPTH);
	if (cq->overrun)
		return bad_state(OHCA_CMD_DETAIL_CQ);

	PageRange buffer;
	uint64_t length = OHCA_CQ_RING_OFFSET + (sizeof(struct ohca_cqe) << in.log_depth);
	CommandResult result = copy_queue_pages(function, in.pages, length, buffer);
	if (!result.ok())
		return result;
	uint32_t consumer = 0;
	result = move(function, *cq, {buffer, in.log_depth}, consumer);
	if (!result.ok()) {
		free_page_range(function, buffer);
		return result;
	}
	free_page_range(function, cq->buffer);
	cq->buffer = buffer;
	cq->log_depth = in.log_depth;
	cq->consumer_seen = consumer;
	return kAccepted;
}

} // namespace ohca::core
