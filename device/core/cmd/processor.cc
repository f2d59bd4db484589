// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "core/cmd/processor.hh"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstring>

#include "core/cmd/commands.hh"
#include "core/endian.hh"
#include "core/function.hh"
#include "core/queue/ring.hh"

namespace ohca::core {

namespace {

// Every command executes before the next one is looked at. One that has to wait for something
// returns deferred, its slot stays in progress, and complete_deferred() ends it.

using Mailbox = std::array<std::byte, OHCA_CMD_MAILBOX_SIZE_MAX>;

struct Command {
	uint32_t input_size = 0;
	uint32_t output_size = 0;
	CommandResult (*execute)(Function &, const Mailbox &input, Mailbox &output) = nullptr;
	bool irreversible = false; // must not be done if its output cannot be delivered
	uint16_t undo = 0; // opcode that destroys what was created, if the output cannot be delivered
};

template <typename T> constexpr uint32_t size_of = sizeof(T);
template <> constexpr uint32_t size_of<NoData> = 0;

template <typename In, typename Out, CommandResult (*kExecute)(Function &, const In &, Out &)>
CommandResult call(Function &function, const Mailbox &input, Mailbox &output)
{
	In in;
	Out out{};
	if constexpr (size_of<In> != 0)
		std::memcpy(&in, input.data(), sizeof(in));
	CommandResult result = kExecute(function, in, out);
	if constexpr (size_of<Out> != 0)
		std::memcpy(output.data(), &out, sizeof(out));
	return result;
}

template <typename In, typename Out, CommandResult (*kExecute)(Function &, const In &, Out &)>
constexpr Command command(uint16_t undo = 0)
{
	static_assert(size_of<In> <= OHCA_CMD_MAILBOX_SIZE_MAX && size_of<Out> <= OHCA_CMD_MAILBOX_SIZE_MAX);
	return {size_of<In>, size_of<Out>, call<In, Out, kExecute>, false, undo};
}

constexpr size_t kOpcodeCount = OHCA_CMD_INVALIDATE_MKEY + 1;

constexpr std::array<Command, kOpcodeCount> make_table()
{
	using Handle = struct ohca_cmd_handle;
	std::array<Command, kOpcodeCount> t{};
	t[OHCA_CMD_NOP] = command<NoData, NoData, nop>();
	t[OHCA_CMD_QUERY_DEVICE] = command<NoData, struct ohca_cmd_query_device_out, query_device>();
	t[OHCA_CMD_SET_PORT] = command<struct ohca_cmd_set_port_in, NoData, set_port>();
	t[OHCA_CMD_SET_GID] = command<struct ohca_cmd_set_gid_in, NoData, set_gid>();
	t[OHCA_CMD_QUERY_COUNTERS] = command<NoData, CountersOut, query_counters>();
	t[OHCA_CMD_CREATE_EQ] = command<struct ohca_cmd_create_eq_in, Handle, create_eq>(OHCA_CMD_DESTROY_EQ);
	t[OHCA_CMD_DESTROY_EQ] = command<Handle, NoData, destroy_eq>();
	t[OHCA_CMD_CREATE_UAR] = command<NoData, Handle, create_uar>(OHCA_CMD_DESTROY_UAR);
	t[OHCA_CMD_DESTROY_UAR] = command<Handle, NoData, destroy_uar>();
	t[OHCA_CMD_CREATE_PD] = command<NoData, Handle, create_pd>(OHCA_CMD_DESTROY_PD);
	t[OHCA_CMD_DESTROY_PD] = command<Handle, NoData, destroy_pd>();
	t[OHCA_CMD_CREATE_MKEY] = command<struct ohca_cmd_create_mkey_in, struct ohca_cmd_create_mkey_out,
					  create_mkey>(OHCA_CMD_DESTROY_MKEY);
	t[OHCA_CMD_DESTROY_MKEY] = command<Handle, NoData, destroy_mkey>();
	t[OHCA_CMD_MODIFY_MKEY] =
		command<struct ohca_cmd_modify_mkey_in, struct ohca_cmd_create_mkey_out, modify_mkey>();
	t[OHCA_CMD_MODIFY_MKEY].irreversible = true;
	t[OHCA_CMD_CREATE_CQ] = command<struct ohca_cmd_create_cq_in, Handle, create_cq>(OHCA_CMD_DESTROY_CQ);
	t[OHCA_CMD_DESTROY_CQ] = command<Handle, NoData, destroy_cq>();
	t[OHCA_CMD_CREATE_QP] = command<struct ohca_cmd_create_qp_in, struct ohca_cmd_create_qp_out,
					create_qp>(OHCA_CMD_DESTROY_QP);
	t[OHCA_CMD_MODIFY_QP] = command<struct ohca_cmd_modify_qp_in, NoData, modify_qp>();
	t[OHCA_CMD_CONNECT_QP] = command<struct ohca_cmd_modify_qp_in, NoData, connect_qp>();
	t[OHCA_CMD_DISCONNECT_QP] = command<Handle, NoData, disconnect_qp>();
	t[OHCA_CMD_QUERY_QP] = command<Handle, struct ohca_cmd_query_qp_out, query_qp>();
	t[OHCA_CMD_DESTROY_QP] = command<Handle, NoData, destroy_qp>();
	t[OHCA_CMD_CREATE_SRQ] = command<struct ohca_cmd_create_srq_in, Handle, create_srq>(OHCA_CMD_DESTROY_SRQ);
	t[OHCA_CMD_MODIFY_SRQ] = command<struct ohca_cmd_modify_srq_in, NoData, modify_srq>();
	t[OHCA_CMD_QUERY_SRQ] = command<Handle, struct ohca_cmd_query_srq_out, query_srq>();
	t[OHCA_CMD_RESIZE_SRQ] = command<struct ohca_cmd_resize_srq_in, NoData, resize_srq>();
	t[OHCA_CMD_RESET_SRQ] = command<Handle, NoData, reset_srq>();
	t[OHCA_CMD_INVALIDATE_MKEY] = command<Handle, NoData, invalidate_mkey>();
	t[OHCA_CMD_DESTROY_SRQ] = command<Handle, NoData, destroy_srq>();
	t[OHCA_CMD_ATTACH_MULTICAST] = command<struct ohca_cmd_multicast_in, NoData, attach_multicast>();
	t[OHCA_CMD_DETACH_MULTICAST] = command<struct ohca_cmd_multicast_in, NoData, detach_multicast>();
	t[OHCA_CMD_CREATE_XRCD] = command<NoData, Handle, create_xrcd>(OHCA_CMD_DESTROY_XRCD);
	t[OHCA_CMD_MODIFY_CQ] = command<struct ohca_cmd_modify_cq_in, NoData, modify_cq>();
	t[OHCA_CMD_RESIZE_CQ] = command<struct ohca_cmd_resize_cq_in, NoData, resize_cq>();
	t[OHCA_CMD_DESTROY_XRCD] = command<Handle, NoData, destroy_xrcd>();
	return t;
}

constexpr std::array<Command, kOpcodeCount> kCommands = make_table();

// The parts of the command queue as ranges of bus addresses.
PageRange bus_area(uint64_t address, uint64_t length)
{
	PageRange range{};
	range.contiguous_address = address;
	range.contiguous = 1;
	range.length = length;
	return range;
}

PageRange record_area(Function &function)
{
	return bus_area(function.state().cmdq_record_address, sizeof(struct ohca_cmdq_record));
}

// A create command whose output cannot be delivered must not have happened. All create outputs
// begin with what the destroy command takes.
void undo(Function &function, uint16_t opcode, const Mailbox &output)
{
	Mailbox input{};
	std::memcpy(input.data(), output.data(), sizeof(__le32));
	Mailbox unused;
	kCommands[opcode].execute(function, input, unused);
}

uint64_t slot_bit(uint16_t slot)
{
	return uint64_t{1} << (slot % 64);
}

bool is_busy(const FunctionContext &state, uint16_t slot)
{
	return state.cmdq_busy_slots[slot / 64] & slot_bit(slot);
}

// Leaves the bytes as they are.
bool is_writable(DmaSpace &dma, uint64_t address, std::span<std::byte> scratch)
{
	return dma.read(address, scratch) && dma.write(address, scratch);
}

CommandResult execute(Function &function, const struct ohca_cmd_entry &entry)
{
	uint32_t depth = uint32_t{1} << function.state().cmdq_log_depth;
	if (from_le(entry.slot) >= depth || is_busy(function.state(), from_le(entry.slot)))
		return {OHCA_CMD_STATUS_BUSY_SLOT, OHCA_CMD_DETAIL_NONE};
	for (uint8_t reserved : entry.reserved_100)
		if (reserved)
			return bad_parameter(OHCA_CMD_DETAIL_RESERVED);
	uint16_t opcode = from_le(entry.opcode);
	if (opcode >= kCommands.size() || !kCommands[opcode].execute)
		return {OHCA_CMD_STATUS_BAD_OPCODE, OHCA_CMD_DETAIL_NONE};
	const Command &command = kCommands[opcode];
	if (from_le(entry.input_length) != command.input_size || from_le(entry.output_length) < command.output_size)
		return {OHCA_CMD_STATUS_BAD_LENGTH, OHCA_CMD_DETAIL_LENGTH};

	Mailbox input;
	DmaSpace &dma = function.memory().dma();
	if (!dma.read(from_le(entry.input_address), std::span(input).first(command.input_size)))
		return {OHCA_CMD_STATUS_DMA_FAULT, OHCA_CMD_DETAIL_NONE};
	Mailbox output;
	function.set_current_command({.pending = 1, .slot = from_le(entry.slot), .reserved = 0,
				      .generation = entry.generation});
	if (command.irreversible &&
	    !is_writable(dma, from_le(entry.output_address), std::span(output).first(command.output_size)))
		return {OHCA_CMD_STATUS_DMA_FAULT, OHCA_CMD_DETAIL_NONE};
	CommandResult result = command.execute(function, input, output);
	if (result.ok() && !result.deferred &&
	    !dma.write(from_le(entry.output_address), std::span(output).first(command.output_size))) {
		if (command.undo)
			undo(function, command.undo, output);
		return {OHCA_CMD_STATUS_DMA_FAULT, OHCA_CMD_DETAIL_NONE};
	}
	return result;
}

// Owner goes out with the second 8 bytes, after the output mailbox and the first. False: not reachable.
bool complete(Function &function, uint16_t slot, uint32_t generation, CommandResult result)
{
	FunctionContext &state = function.state();
	uint64_t depth = uint64_t{1} << state.cmdq_log_depth;
	struct ohca_cmd_completion completion = {};
	completion.slot = to_le(slot);
	completion.status = result.status;
	completion.generation = generation;
	completion.detail = to_le(result.detail);
	completion.owner = (state.cmdq_completed >> state.cmdq_log_depth) & 1 ? 0 : OHCA_CMD_COMPLETION_PHASE;

	PageRange ring = bus_area(state.cmdq_cq_address, depth * sizeof(completion));
	uint64_t offset = (state.cmdq_completed & (depth - 1)) * sizeof(completion);
	if (!write_entry(function, ring, offset, completion))
		return false;
	state.cmdq_completed++;
	function.count(OHCA_COUNTER_COMMANDS);
	if (!result.ok())
		function.count(OHCA_COUNTER_COMMANDS_FAILED);
	return true;
}

// How many entries may be fetched now. False: the record is garbage or gone, the function has failed.
bool waiting(Function &function, uint32_t &count, bool &more)
{
	FunctionContext &state = function.state();
	uint32_t depth = uint32_t{1} << state.cmdq_log_depth;
	PageRange record = record_area(function);
	uint32_t producer;
	uint32_t consumer;
	if (!load_record(function, record, offsetof(struct ohca_cmdq_record, producer), producer) ||
	    !load_record(function, record, offsetof(struct ohca_cmdq_record, completion_consumer), consumer)) {
		function.fail(OHCA_FAIL_CMDQ_DMA);
		return false;
	}
	uint32_t submitted = producer - state.cmdq_consumer;
	uint32_t unread = state.cmdq_completed - consumer;
	if (submitted > depth || unread > depth - state.cmdq_in_progress) {
		function.fail(OHCA_FAIL_CMDQ_INDEX);
		return false;
	}
	count = std::min({submitted, depth - state.cmdq_in_progress - unread, kCommandsPerPass});
	more = submitted > count;
	return true;
}

void interrupt_if_armed(Function &function)
{
	constexpr uint64_t kArm = offsetof(struct ohca_cmdq_record, interrupt_arm);
	PageRange record = record_area(function);
	// Between our completions and our load; the host has its fence between arming and its last look.
	std::atomic_thread_fence(std::memory_order_seq_cst);
	uint32_t arm;
	if (!load_record(function, record, kArm, arm) || !arm)
		return;
	store_record(function, record, kArm, 0);
	function.request_interrupt(OHCA_CMD_VECTOR);
}

bool reachable(Function &function, uint64_t address, uint64_t length, bool write)
{
	DmaSpace &dma = function.memory().dma();
	std::array<std::byte, 64> bytes;
	for (uint64_t at = 0; at < length; at += bytes.size()) {
		if (!dma.read(address + at, bytes))
			return false;
		// The host has zeroed the completion ring, and looks at nothing yet.
		if (write && !dma.write(address + at, bytes))
			return false;
	}
	return true;
}

} // namespace

uint32_t enable_function(Function &function, const EnableRequest &request)
{
	uint64_t features = request.driver_features;
	if ((features & ~function.resources().features) ||
	    (features & OHCA_FEATURES_MANDATORY) != OHCA_FEATURES_MANDATORY)
		return OHCA_FAIL_FEATURES;
	uint64_t addresses =
		request.cmdq_sq_address | request.cmdq_cq_address | request.cmdq_record_address;
	if (request.cmdq_log_depth < OHCA_CMDQ_LOG_DEPTH_MIN || request.cmdq_log_depth > OHCA_CMDQ_LOG_DEPTH_MAX ||
	    addresses % OHCA_RECORD_SIZE)
		return OHCA_FAIL_CMDQ_CONFIG;
	uint64_t depth = uint64_t{1} << request.cmdq_log_depth;
	if (!reachable(function, request.cmdq_sq_address, depth * sizeof(struct ohca_cmd_entry), false) ||
	    !reachable(function, request.cmdq_cq_address, depth * sizeof(struct ohca_cmd_completion), true) ||
	    !reachable(function, request.cmdq_record_address, sizeof(struct ohca_cmdq_record), true))
		return OHCA_FAIL_CMDQ_DMA;

	FunctionContext &state = function.state();
	state.features = features;
	state.cmdq_sq_address = request.cmdq_sq_address;
	state.cmdq_cq_address = request.cmdq_cq_address;
	state.cmdq_record_address = request.cmdq_record_address;
	state.cmdq_log_depth = request.cmdq_log_depth;
	state.cmdq_consumer = 0;
	state.cmdq_completed = 0;
	state.cmdq_in_progress = 0;
	std::ranges::fill(state.cmdq_busy_slots, 0);
	function.context().enable_kernel_uar();
	function.add_live_uar(0);
	state.enabled = 1;
	return OHCA_FAIL_NONE;
}

bool process_commands(Function &function)
{
	if (!function.commands_pending())
		return false;
	FunctionContext &state = function.state();
	uint64_t depth = uint64_t{1} << state.cmdq_log_depth;
	PageRange ring = bus_area(state.cmdq_sq_address, depth * sizeof(struct ohca_cmd_entry));
	uint32_t count;
	bool more;
	if (!waiting(function, count, more))
		return true;
	function.take_command_cost();
	uint64_t cost = 0;
	for (uint32_t i = 0; i < count; i++) {
		if (cost > kPageEntriesPerPass) {
			more = true;
			break;
		}
		struct ohca_cmd_entry entry;
		uint64_t offset = (state.cmdq_consumer & (depth - 1)) * sizeof(entry);
		if (!function.memory().read(ring, offset, &entry, sizeof(entry))) {
			function.fail(OHCA_FAIL_CMDQ_DMA);
			return true;
		}
		state.cmdq_consumer++;
		CommandResult result = execute(function, entry);
		uint16_t slot = from_le(entry.slot);
		if (result.deferred) {
			state.cmdq_busy_slots[slot / 64] |= slot_bit(slot);
			state.cmdq_in_progress++;
		} else if (!complete(function, slot, entry.generation, result)) {
			function.fail(OHCA_FAIL_CMDQ_DMA);
			return true;
		}
		cost += function.take_command_cost();
	}
	if (count)
		interrupt_if_armed(function);
	function.set_commands_pending(more);
	return count != 0;
}

void complete_deferred(Function &function, DeferredCommand &command, CommandResult result)
{
	FunctionContext &state = function.state();

	command.pending = 0;
	state.cmdq_busy_slots[command.slot / 64] &= ~slot_bit(command.slot);
	state.cmdq_in_progress--;
	if (complete(function, command.slot, command.generation, result))
		interrupt_if_armed(function);
	else
		function.fail(OHCA_FAIL_CMDQ_DMA);
}

} // namespace ohca::core
