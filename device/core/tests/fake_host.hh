// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// A host without a kernel: memory, a driver that sends real commands and posts
// real WQEs.  Everything goes through the contract, as a guest would do it.
//
// FakeFunction is one function and its host.  With an Engine it is one of the
// engine's functions; without, it owns a Function and whoever uses it drives
// the transport (step() still scans doorbells and executes commands).
#pragma once

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/cmd/commands.hh"
#include "core/cmd/processor.hh"
#include "core/doorbell/scan.hh"
#include "core/endian.hh"
#include "core/engine.hh"
#include "core/function.hh"

namespace ohca::core::test {

// All that a region may be given.
constexpr uint32_t kRegionAccess = OHCA_REGION_ACCESS_ALL & ~OHCA_ACCESS_FLUSH_PERSISTENT;

// Zero pages, resident only where touched.
class FakeMemory {
public:
	explicit FakeMemory(size_t size) : size_(size)
	{
		base_ = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (base_ == MAP_FAILED)
			throw std::runtime_error("mmap");
	}
	~FakeMemory() { munmap(base_, size_); }
	FakeMemory(const FakeMemory &) = delete;
	FakeMemory &operator=(const FakeMemory &) = delete;

	std::span<std::byte> bytes() const { return {static_cast<std::byte *>(base_), size_}; }

private:
	void *base_;
	size_t size_;
};

struct FakeOptions {
	uint64_t memory_size = uint64_t{64} << 20;
	uint64_t bus_base = 0x1'0000'0000;
	uint32_t uar_count = 64;
	uint32_t vector_count = 8;
	uint64_t mac = 0x0000'5500'0000'0002;
	uint64_t features = OHCA_FEATURES_ALL;
	uint32_t cmdq_log_depth = 5;
};

class FakeFunction;

struct FakeCq {
	FakeFunction *host = nullptr;
	uint32_t cqn = 0;
	uint64_t buffer = 0; // bus address
	uint32_t log_depth = 0;
	uint32_t consumer = 0;
	uint32_t arm_sequence = 0;

	ohca_cq_record &record();
	ohca_cqe &entry(uint32_t index);
	// The next CQE, consumed; the record's consumer index follows.
	std::optional<ohca_cqe> poll();
	void arm(uint32_t type); // OHCA_CQ_ARM_*
};

struct FakeEq {
	FakeFunction *host = nullptr;
	uint32_t handle = 0;
	uint64_t buffer = 0;
	uint32_t log_depth = 0;
	uint32_t consumer = 0;

	ohca_eq_record &record();
	std::optional<ohca_eqe> poll();
	void arm() { std::atomic_ref(record().interrupt_arm).store(1); }
};

struct FakeQpOptions {
	uint32_t pd = 0;
	uint32_t send_cq = 0;
	uint32_t recv_cq = 0;
	uint32_t uar = 0;
	uint32_t srq = 0;          // with OHCA_QP_NO_RQ
	uint8_t type = OHCA_QP_TYPE_RC;
	uint8_t flags = 0;
	uint8_t log_sq_depth = 6;
	uint8_t log_rq_depth = 6;
	uint8_t log_sq_stride = 9; // 512 bytes: 30 elements
	uint8_t log_rq_stride = 9;
};

struct FakeQp {
	FakeFunction *host = nullptr;
	uint32_t qpn = 0;
	uint32_t uar = 0;
	uint32_t slot = 0;
	uint64_t buffer = 0;
	uint32_t sq_offset = 0;
	uint32_t rq_offset = 0;
	FakeQpOptions options;
	uint32_t sq_producer = 0;
	uint32_t rq_producer = 0;

	ohca_qp_record &record();
	std::byte *sq_slot(uint32_t index);
	std::byte *rq_slot(uint32_t index);
	// Write one WQE and advance the producer; no doorbell.
	void post_send(const ohca_sq_wqe &header, std::span<const ohca_sge> sges);
	void post_inline(ohca_sq_wqe header, std::span<const std::byte> data);
	void post_atomic(const ohca_sq_wqe &header, const ohca_wqe_atomic &operands, const ohca_sge &sge);
	void post_datagram(const ohca_sq_wqe &header, const ohca_wqe_datagram &address, std::span<const ohca_sge> sges);
	void post_receive(uint32_t tag, std::span<const ohca_sge> sges);
	void ring();
};

// Attributes with which two queue pairs of tests are connected.
struct ConnectOptions {
	uint8_t path_mtu = 12;
	uint8_t access = OHCA_ACCESS_REMOTE_WRITE | OHCA_ACCESS_REMOTE_READ | OHCA_ACCESS_REMOTE_ATOMIC;
	uint8_t max_read_atomic = 16;
	uint8_t max_dest_read_atomic = 16;
	uint8_t min_rnr_timer = 1; // 10 us
	uint8_t ack_timeout = 14;  // 67 ms
	uint8_t retry_count = 7;
	uint8_t rnr_retry = 7;
	uint32_t psn = 0x123456;
};

class FakeFunction {
public:
	explicit FakeFunction(const FakeOptions &options = {}, Engine *engine = nullptr)
		: options_(options), context_(context_memory_size()),
		  uars_(size_t{options.uar_count} * OHCA_UAR_SIZE), memory_(options.memory_size), engine_(engine)
	{
		dma.map(options.bus_base, options.memory_size, memory_.bytes().data(), true);
		FunctionResources resources;
		resources.context_memory = context_.bytes();
		resources.uar_pages = uars_.bytes();
		resources.dma = &dma;
		resources.interrupts = &interrupts;
		resources.mac = options.mac;
		resources.features = options.features;
		resources.vector_count = options.vector_count;
		if (engine_) {
			index_ = engine_->add_function(resources);
		} else {
			own_ = std::make_unique<Function>(0, resources);
			own_->context().format();
		}
	}

	struct Interrupts final : InterruptSink {
		std::vector<uint32_t> raised;
		void raise(uint32_t vector) override { raised.push_back(vector); }
	};

	Function &function() { return engine_ ? engine_->function(index_) : *own_; }
	uint32_t index() const { return index_; }
	const FakeOptions &options() const { return options_; }

	// --- memory ---
	uint64_t allocate(uint64_t size, uint64_t alignment = 4096)
	{
		allocated_ = (allocated_ + alignment - 1) & ~(alignment - 1);
		uint64_t address = options_.bus_base + allocated_;
		allocated_ += size;
		if (allocated_ > options_.memory_size)
			throw std::runtime_error("FakeFunction: out of memory");
		std::memset(host(address), 0, size);
		return address;
	}
	std::byte *host(uint64_t bus_address) { return memory_.bytes().data() + (bus_address - options_.bus_base); }
	template <typename T> T &at(uint64_t bus_address) { return *reinterpret_cast<T *>(host(bus_address)); }
	ohca_page_list contiguous(uint64_t address, uint64_t length)
	{
		ohca_page_list list{};
		list.address = address & ~uint64_t{4095};
		list.first_page_offset = address & 4095;
		list.page_count = static_cast<uint32_t>(((address & 4095) + length + 4095) / 4096);
		list.log_page_size = 12;
		return list;
	}

	// --- bring-up ---
	EnableRequest enable_request()
	{
		uint64_t depth = uint64_t{1} << options_.cmdq_log_depth;
		EnableRequest request;
		request.driver_features = options_.features;
		request.cmdq_sq_address = sq_ = allocate(depth * sizeof(ohca_cmd_entry));
		request.cmdq_cq_address = cq_ = allocate(depth * sizeof(ohca_cmd_completion));
		request.cmdq_record_address = record_ = allocate(sizeof(ohca_cmdq_record));
		request.cmdq_log_depth = options_.cmdq_log_depth;
		input_ = allocate(4096);
		output_ = allocate(4096);
		producer_ = 0;
		completed_ = 0;
		return request;
	}
	uint32_t enable()
	{
		EnableRequest request = enable_request();
		uar(0).device_state = OHCA_UAR_DEVICE_RUNNING;
		uint32_t reason = engine_ ? engine_->enable(index_, request) : enable_function(function(), request);
		if (own_)
			own_->set_commands_pending(true);
		return reason;
	}
	// enable(), the two EQs, port up, GID 0.
	void bring_up(uint8_t gid_byte = 1)
	{
		if (enable() != OHCA_FAIL_NONE)
			throw std::runtime_error("enable");
		async_eq = create_eq(OHCA_EQ_ASYNC, 0);
		completion_eq = create_eq(OHCA_EQ_COMPLETION, 1);
		ohca_cmd_set_port_in port{};
		port.active = 1;
		port.max_mtu = 4096;
		must(command(OHCA_CMD_SET_PORT, port));
		set_gid(0, gid_byte);
	}

	// --- commands ---
	ohca_cmdq_record &cmdq_record() { return at<ohca_cmdq_record>(record_); }
	ohca_cmd_entry &cmd_entry(uint32_t index)
	{
		uint64_t slot = index & ((1u << options_.cmdq_log_depth) - 1);
		return at<ohca_cmd_entry>(sq_ + slot * sizeof(ohca_cmd_entry));
	}
	uint64_t input() const { return input_; }
	uint64_t output() const { return output_; }

	// Puts an entry into the ring without telling the device.
	void push_entry(const ohca_cmd_entry &entry)
	{
		cmd_entry(producer_) = entry;
		producer_++;
		std::atomic_ref(cmdq_record().producer).store(producer_, std::memory_order_release);
	}
	void ring_commands() { ring(0, OHCA_UAR_CMDQ_SLOT); }
	std::optional<ohca_cmd_completion> poll_completion()
	{
		uint64_t slot = completed_ & ((1u << options_.cmdq_log_depth) - 1);
		auto &completion = at<ohca_cmd_completion>(cq_ + slot * sizeof(ohca_cmd_completion));
		uint8_t phase = (completed_ >> options_.cmdq_log_depth) & 1 ? 0 : OHCA_CMD_COMPLETION_PHASE;
		if ((completion.owner & OHCA_CMD_COMPLETION_PHASE) != phase)
			return std::nullopt;
		completed_++;
		cmdq_record().completion_consumer = completed_;
		return completion;
	}
	uint32_t producer() const { return producer_; }
	void set_producer(uint32_t producer) { producer_ = producer; }

	CommandResult execute(uint16_t opcode, const void *in, uint32_t in_size, void *out, uint32_t out_size)
	{
		ohca_cmd_entry entry{};
		entry.opcode = opcode;
		entry.slot = static_cast<uint16_t>(producer_ & ((1u << options_.cmdq_log_depth) - 1));
		entry.generation = ++generation_;
		entry.input_address = input_;
		entry.output_address = output_;
		entry.input_length = in_size;
		entry.output_length = out_size;
		if (in_size)
			std::memcpy(host(input_), in, in_size);
		push_entry(entry);
		ring_commands();
		for (int i = 0; i < 100; i++) {
			step();
			std::optional<ohca_cmd_completion> completion = poll_completion();
			if (!completion)
				continue;
			if (completion->slot != entry.slot || completion->generation != entry.generation)
				throw std::runtime_error("completion of another command");
			if (out_size && completion->status == OHCA_CMD_STATUS_OK)
				std::memcpy(out, host(output_), out_size);
			return {completion->status, completion->detail};
		}
		throw std::runtime_error("command " + std::to_string(opcode) + " did not complete");
	}
	template <typename In> CommandResult command(uint16_t opcode, const In &in)
	{
		return execute(opcode, &in, sizeof(in), nullptr, 0);
	}
	template <typename In, typename Out> CommandResult command(uint16_t opcode, const In &in, Out &out)
	{
		return execute(opcode, &in, sizeof(in), &out, sizeof(out));
	}
	template <typename Out> CommandResult query(uint16_t opcode, Out &out)
	{
		return execute(opcode, nullptr, 0, &out, sizeof(out));
	}
	CommandResult destroy(uint16_t opcode, uint32_t handle)
	{
		ohca_cmd_handle in{};
		in.handle = handle;
		return command(opcode, in);
	}
	static void must(CommandResult result)
	{
		if (!result.ok())
			throw std::runtime_error("command refused: status " + std::to_string(result.status) + " detail " +
						 std::to_string(result.detail));
	}

	// --- objects; a refusal throws ---
	FakeEq create_eq(uint8_t type, uint16_t vector, uint8_t log_depth = 6)
	{
		FakeEq eq{.host = this, .log_depth = log_depth};
		uint64_t size = OHCA_EQ_RING_OFFSET + (sizeof(ohca_eqe) << log_depth);
		eq.buffer = allocate(size);
		ohca_cmd_create_eq_in in{};
		in.pages = contiguous(eq.buffer, size);
		in.log_depth = log_depth;
		in.type = type;
		in.vector = vector;
		ohca_cmd_handle out;
		must(command(OHCA_CMD_CREATE_EQ, in, out));
		eq.handle = out.handle;
		return eq;
	}
	uint32_t create_pd() { return create_handle(OHCA_CMD_CREATE_PD); }
	uint32_t create_uar() { return create_handle(OHCA_CMD_CREATE_UAR); }
	FakeCq create_cq(uint8_t log_depth = 6, uint8_t flags = 0)
	{
		FakeCq cq{.host = this, .log_depth = log_depth};
		uint64_t size = OHCA_CQ_RING_OFFSET + (sizeof(ohca_cqe) << log_depth);
		cq.buffer = allocate(size);
		ohca_cmd_create_cq_in in{};
		in.pages = contiguous(cq.buffer, size);
		in.eq = completion_eq.handle;
		in.log_depth = log_depth;
		in.flags = flags;
		ohca_cmd_handle out;
		must(command(OHCA_CMD_CREATE_CQ, in, out));
		cq.cqn = out.handle;
		return cq;
	}
	static ohca_cmd_create_mkey_in mkey_request(uint32_t pd, const ohca_page_list &pages, uint64_t start,
						    uint64_t length, uint32_t access = kRegionAccess,
						    uint8_t consumer_key = 0x42)
	{
		ohca_cmd_create_mkey_in in{};
		in.pages = pages;
		in.start = start;
		in.length = length;
		in.pd = pd;
		in.access = access;
		in.consumer_key = consumer_key;
		return in;
	}
	// A key whose address space is the bus addresses of the buffer.
	uint32_t register_memory(uint32_t pd, uint64_t address, uint64_t length, uint32_t access = kRegionAccess)
	{
		ohca_cmd_create_mkey_out out;
		must(command(OHCA_CMD_CREATE_MKEY,
			     mkey_request(pd, contiguous(address, length), address, length, access), out));
		return out.key;
	}
	// The request and the layout for create_qp().
	ohca_cmd_create_qp_in qp_request(const FakeQpOptions &o, FakeQp &qp)
	{
		qp.host = this;
		qp.options = o;
		qp.uar = o.uar;
		uint32_t sq_size = o.flags & OHCA_QP_NO_SQ ? 0 : 1u << (o.log_sq_depth + o.log_sq_stride);
		uint32_t rq_size = o.flags & OHCA_QP_NO_RQ ? 0 : 1u << (o.log_rq_depth + o.log_rq_stride);
		qp.sq_offset = sq_size ? std::max(64u, 1u << o.log_sq_stride) : 0;
		qp.rq_offset = rq_size ? std::max({64u, 1u << o.log_rq_stride, qp.sq_offset + sq_size}) : 0;
		qp.rq_offset = rq_size ? (qp.rq_offset + (1u << o.log_rq_stride) - 1) & ~((1u << o.log_rq_stride) - 1) : 0;
		uint64_t size = std::max({64u, qp.sq_offset + sq_size, qp.rq_offset + rq_size});
		qp.buffer = allocate(size);
		ohca_cmd_create_qp_in in{};
		in.pages = contiguous(qp.buffer, size);
		in.pd = o.pd;
		in.send_cq = o.send_cq;
		in.recv_cq = o.recv_cq;
		in.uar = o.uar;
		in.sq_offset = qp.sq_offset;
		in.rq_offset = qp.rq_offset;
		in.srq = o.srq;
		in.type = o.type;
		in.flags = o.flags;
		in.log_sq_depth = sq_size ? o.log_sq_depth : 0;
		in.log_rq_depth = rq_size ? o.log_rq_depth : 0;
		in.log_sq_stride = sq_size ? o.log_sq_stride : 0;
		in.log_rq_stride = rq_size ? o.log_rq_stride : 0;
		return in;
	}
	FakeQp create_qp(const FakeQpOptions &o)
	{
		FakeQp qp;
		ohca_cmd_create_qp_in in = qp_request(o, qp);
		ohca_cmd_create_qp_out out;
		must(command(OHCA_CMD_CREATE_QP, in, out));
		qp.qpn = out.qpn;
		qp.slot = out.uar_slot;
		return qp;
	}
	void set_gid(uint32_t index, uint8_t gid_byte)
	{
		ohca_cmd_set_gid_in in{};
		in.gid[0] = 0xfd;
		in.gid[15] = gid_byte;
		in.index = index;
		std::memcpy(in.mac, &options_.mac, sizeof(in.mac));
		in.vlan_id = OHCA_VLAN_NONE;
		must(command(OHCA_CMD_SET_GID, in));
		gid_byte_ = gid_byte;
	}
	uint8_t gid_byte() const { return gid_byte_; }

	// --- queue pair states; `peer` is the function that `dest_qpn` belongs to ---
	CommandResult modify(uint32_t qpn, uint8_t state, uint32_t mask, ohca_qp_attributes attributes = {})
	{
		ohca_cmd_modify_qp_in in{};
		in.qpn = qpn;
		in.mask = mask | OHCA_QP_ATTR_STATE;
		in.attributes = attributes;
		in.attributes.state = state;
		return command(OHCA_CMD_MODIFY_QP, in);
	}
	CommandResult to_init(uint32_t qpn, const ConnectOptions &o = {})
	{
		ohca_qp_attributes a{};
		a.access = o.access;
		return modify(qpn, OHCA_QP_STATE_INIT, OHCA_QP_ATTR_PKEY_INDEX | OHCA_QP_ATTR_ACCESS, a);
	}
	CommandResult to_rtr(uint32_t qpn, FakeFunction &peer, uint32_t dest_qpn, const ConnectOptions &o = {})
	{
		ohca_qp_attributes a{};
		a.path_mtu = o.path_mtu;
		a.dest_qpn = dest_qpn;
		a.rq_psn = o.psn;
		a.max_dest_read_atomic = o.max_dest_read_atomic;
		a.min_rnr_timer = o.min_rnr_timer;
		a.dgid[0] = 0xfd;
		a.dgid[15] = peer.gid_byte();
		std::memcpy(a.dmac, &peer.options_.mac, sizeof(a.dmac));
		return modify(qpn, OHCA_QP_STATE_RTR,
			      OHCA_QP_ATTR_PATH | OHCA_QP_ATTR_PATH_MTU | OHCA_QP_ATTR_DEST_QPN | OHCA_QP_ATTR_RQ_PSN |
				      OHCA_QP_ATTR_MAX_DEST_READ_ATOMIC | OHCA_QP_ATTR_MIN_RNR_TIMER,
			      a);
	}
	CommandResult to_rts(uint32_t qpn, const ConnectOptions &o = {})
	{
		ohca_qp_attributes a{};
		a.ack_timeout = o.ack_timeout;
		a.retry_count = o.retry_count;
		a.rnr_retry = o.rnr_retry;
		a.sq_psn = o.psn;
		a.max_read_atomic = o.max_read_atomic;
		return modify(qpn, OHCA_QP_STATE_RTS,
			      OHCA_QP_ATTR_ACK_TIMEOUT | OHCA_QP_ATTR_RETRY_COUNT | OHCA_QP_ATTR_RNR_RETRY |
				      OHCA_QP_ATTR_SQ_PSN | OHCA_QP_ATTR_MAX_READ_ATOMIC,
			      a);
	}
	void connect(const FakeQp &qp, const FakeQp &peer, const ConnectOptions &o = {})
	{
		must(to_init(qp.qpn, o));
		must(to_rtr(qp.qpn, *peer.host, peer.qpn, o));
		must(to_rts(qp.qpn, o));
	}

	// --- doorbells ---
	ohca_uar &uar(uint32_t index) { return reinterpret_cast<ohca_uar *>(uars_.bytes().data())[index]; }
	void ring(uint32_t uar_index, uint32_t slot)
	{
		ohca_uar &page = uar(uar_index);
		uint64_t bit = uint64_t{1} << (slot % 64);
		if (std::atomic_ref(page.notify[slot / 64]).fetch_or(bit) & bit)
			return;
		std::atomic_ref(page.summary).fetch_or(uint64_t{1} << (slot / 64));
	}

	// One pass. Time moves only by advance().
	void step()
	{
		if (engine_) {
			engine_->run(now);
			return;
		}
		own_->set_now(now);
		scan_doorbells(*own_, now);
		process_commands(*own_);
	}

	uint64_t counter(enum ohca_counter counter) { return function().context().counters()[counter]; }

	DmaSpace dma;
	Interrupts interrupts;
	FakeEq async_eq;
	FakeEq completion_eq;
	TimeNs now = 1'000'000'000;

private:
	uint32_t create_handle(uint16_t opcode)
	{
		ohca_cmd_handle out;
		must(query(opcode, out));
		return out.handle;
	}

	FakeOptions options_;
	FakeMemory context_;
	FakeMemory uars_;
	FakeMemory memory_;
	Engine *engine_;
	uint32_t index_ = 0;
	std::unique_ptr<Function> own_;
	uint64_t allocated_ = 0;
	uint64_t sq_ = 0;
	uint64_t cq_ = 0;
	uint64_t record_ = 0;
	uint64_t input_ = 0;
	uint64_t output_ = 0;
	uint32_t producer_ = 0;
	uint32_t completed_ = 0;
	uint32_t generation_ = 0;
	uint8_t gid_byte_ = 0;
};

inline ohca_cq_record &FakeCq::record()
{
	return host->at<ohca_cq_record>(buffer);
}

inline ohca_cqe &FakeCq::entry(uint32_t index)
{
	uint64_t slot = index & ((1u << log_depth) - 1);
	return host->at<ohca_cqe>(buffer + OHCA_CQ_RING_OFFSET + slot * sizeof(ohca_cqe));
}

inline std::optional<ohca_cqe> FakeCq::poll()
{
	ohca_cqe &cqe = entry(consumer);
	uint8_t phase = (consumer >> log_depth) & 1 ? 0 : OHCA_CQE_PHASE;
	if ((std::atomic_ref(cqe.owner).load(std::memory_order_acquire) & OHCA_CQE_PHASE) != phase)
		return std::nullopt;
	ohca_cqe copy = cqe;
	consumer++;
	std::atomic_ref(record().consumer).store(consumer, std::memory_order_release);
	return copy;
}

inline void FakeCq::arm(uint32_t type)
{
	arm_sequence++;
	std::atomic_ref(record().arm).store(arm_sequence << OHCA_CQ_ARM_SEQUENCE_SHIFT | type);
}

inline ohca_eq_record &FakeEq::record()
{
	return host->at<ohca_eq_record>(buffer);
}

inline std::optional<ohca_eqe> FakeEq::poll()
{
	uint64_t slot = consumer & ((1u << log_depth) - 1);
	auto &eqe = host->at<ohca_eqe>(buffer + OHCA_EQ_RING_OFFSET + slot * sizeof(ohca_eqe));
	uint8_t phase = (consumer >> log_depth) & 1 ? 0 : OHCA_EQE_PHASE;
	if ((eqe.owner & OHCA_EQE_PHASE) != phase)
		return std::nullopt;
	ohca_eqe copy = eqe;
	consumer++;
	std::atomic_ref(record().consumer).store(consumer, std::memory_order_release);
	return copy;
}

inline ohca_qp_record &FakeQp::record()
{
	return host->at<ohca_qp_record>(buffer);
}

inline std::byte *FakeQp::sq_slot(uint32_t index)
{
	uint64_t position = index & ((1u << options.log_sq_depth) - 1);
	return host->host(buffer + sq_offset + (position << options.log_sq_stride));
}

inline std::byte *FakeQp::rq_slot(uint32_t index)
{
	uint64_t position = index & ((1u << options.log_rq_depth) - 1);
	return host->host(buffer + rq_offset + (position << options.log_rq_stride));
}

inline void FakeQp::post_send(const ohca_sq_wqe &header, std::span<const ohca_sge> sges)
{
	std::byte *slot_bytes = sq_slot(sq_producer);
	ohca_sq_wqe copy = header;
	copy.num_sge = static_cast<uint8_t>(sges.size());
	std::memcpy(slot_bytes, &copy, sizeof(copy));
	if (!sges.empty())
		std::memcpy(slot_bytes + sizeof(copy), sges.data(), sges.size_bytes());
	std::atomic_ref(record().sq_producer).store(++sq_producer, std::memory_order_release);
}

inline void FakeQp::post_inline(ohca_sq_wqe header, std::span<const std::byte> data)
{
	std::byte *slot_bytes = sq_slot(sq_producer);
	header.flags |= OHCA_WQE_INLINE;
	header.inline_length = static_cast<uint32_t>(data.size());
	std::memcpy(slot_bytes, &header, sizeof(header));
	if (!data.empty())
		std::memcpy(slot_bytes + sizeof(header), data.data(), data.size());
	std::atomic_ref(record().sq_producer).store(++sq_producer, std::memory_order_release);
}

inline void FakeQp::post_atomic(const ohca_sq_wqe &header, const ohca_wqe_atomic &operands, const ohca_sge &sge)
{
	std::byte *slot_bytes = sq_slot(sq_producer);
	ohca_sq_wqe copy = header;
	copy.num_sge = 1;
	std::memcpy(slot_bytes, &copy, sizeof(copy));
	std::memcpy(slot_bytes + sizeof(copy), &operands, sizeof(operands));
	std::memcpy(slot_bytes + sizeof(copy) + sizeof(operands), &sge, sizeof(sge));
	std::atomic_ref(record().sq_producer).store(++sq_producer, std::memory_order_release);
}

inline void FakeQp::post_datagram(const ohca_sq_wqe &header, const ohca_wqe_datagram &address,
				  std::span<const ohca_sge> sges)
{
	std::byte *slot_bytes = sq_slot(sq_producer);
	ohca_sq_wqe copy = header;
	copy.num_sge = static_cast<uint8_t>(sges.size());
	std::memcpy(slot_bytes, &copy, sizeof(copy));
	std::memcpy(slot_bytes + sizeof(copy), &address, sizeof(address));
	std::memcpy(slot_bytes + sizeof(copy) + sizeof(address), sges.data(), sges.size_bytes());
	std::atomic_ref(record().sq_producer).store(++sq_producer, std::memory_order_release);
}

inline void FakeQp::post_receive(uint32_t tag, std::span<const ohca_sge> sges)
{
	std::byte *slot_bytes = rq_slot(rq_producer);
	ohca_rq_wqe header{};
	header.num_sge = static_cast<uint8_t>(sges.size());
	header.tag = tag;
	std::memcpy(slot_bytes, &header, sizeof(header));
	if (!sges.empty())
		std::memcpy(slot_bytes + sizeof(header), sges.data(), sges.size_bytes());
	std::atomic_ref(record().rq_producer).store(++rq_producer, std::memory_order_release);
}

inline void FakeQp::ring()
{
	host->ring(uar, slot);
}

} // namespace ohca::core::test
