// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// A host with memory, keys, CQs and queue pairs, for the tests of the transport
// and for the simulator: objects are made in context memory directly, work
// requests are written into rings and completions polled from them as a provider
// does.  Everything between (fetching, keys, copies, completions) is the device's own code.
#pragma once

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <span>
#include <vector>

#include <sys/mman.h>

#include <rdma/ohca_hw.h>

#include "core/endian.hh"
#include "core/function.hh"
#include "core/mem/fast_registration.hh"
#include "core/transport/transport.hh"

namespace ohca::core::test {

[[noreturn]] inline void host_panic(const char *why)
{
	std::fprintf(stderr, "host model: %s\n", why);
	std::abort();
}

// Zeroed memory of which only touched pages exist.
class SparseMemory {
public:
	explicit SparseMemory(size_t size) : size_(size)
	{
		void *at = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
				-1, 0);
		if (at == MAP_FAILED)
			host_panic("no memory");
		base_ = static_cast<std::byte *>(at);
	}
	~SparseMemory() { munmap(base_, size_); }
	SparseMemory(const SparseMemory &) = delete;
	SparseMemory &operator=(const SparseMemory &) = delete;

	std::span<std::byte> bytes() const { return {base_, size_}; }

private:
	std::byte *base_ = nullptr;
	size_t size_;
};

struct QpOptions {
	uint8_t log_sq_depth = 6;
	uint8_t log_rq_depth = 6;
	uint8_t log_sq_stride = 9;  // 512 bytes: 30 elements
	uint8_t log_rq_stride = 9;
	uint8_t flags = 0;          // OHCA_QP_*
	uint32_t pd = 0;
	uint32_t send_cq = 0;
	uint32_t recv_cq = 0;
};

struct Sge {
	uint64_t address;
	uint32_t length;
	uint32_t lkey;
};

struct SendRequest {
	uint8_t opcode = OHCA_WR_SEND;
	uint8_t flags = OHCA_WQE_SIGNALED;
	std::vector<Sge> sges;
	std::vector<std::byte> inline_data; // with OHCA_WQE_INLINE
	std::vector<std::byte> body; // ohca_wqe_*, in front of the elements

	template <typename Body> void carry(const Body &what)
	{
		const auto *bytes = reinterpret_cast<const std::byte *>(&what);
		body.assign(bytes, bytes + sizeof(what));
	}
	uint32_t immediate_be = 0;
	uint32_t invalidate_key = 0;
	uint64_t remote_address = 0;
	uint32_t rkey = 0;
	uint64_t operand = 0;
	uint64_t compare = 0;
};

class RcHost {
public:
	static constexpr uint64_t kRamBase = 0x1'0000'0000; // bus address of the first byte
	static constexpr uint64_t kPage = 4096;

	explicit RcHost(uint32_t index, size_t ram_size = size_t{16} << 20)
		: context_(ContextMemory::size()), ram_(ram_size),
		  function_(index, resources(context_, dma_))
	{
		if (!function_.context().format() || !dma_.map(kRamBase, ram_size, ram_.bytes().data(), true))
			host_panic("set-up");
		function_.state().enabled = 1;
		function_.state().features = OHCA_FEATURES_ALL;
		async_eq_ = create_eq();
	}

	Function &function() { return function_; }
	DmaSpace &dma() { return dma_; }

	// --- memory ---
	uint64_t allocate(uint64_t bytes, uint64_t alignment = kPage)
	{
		ram_used_ = (ram_used_ + alignment - 1) / alignment * alignment;
		const uint64_t at = ram_used_;
		ram_used_ += bytes;
		if (ram_used_ > ram_.bytes().size())
			host_panic("out of RAM");
		return kRamBase + at;
	}
	std::byte *at(uint64_t bus) { return ram_.bytes().data() + (bus - kRamBase); }
	void fill(uint64_t bus, uint64_t length, uint8_t seed)
	{
		for (uint64_t i = 0; i < length; i++)
			at(bus)[i] = static_cast<std::byte>(seed + i * 7 + (i >> 8));
	}
	uint64_t load64(uint64_t bus)
	{
		uint64_t value;
		std::memcpy(&value, at(bus), sizeof(value));
		return value;
	}
	void store64(uint64_t bus, uint64_t value) { std::memcpy(at(bus), &value, sizeof(value)); }

	// --- objects ---
	uint32_t create_pd() { return function_.context().allocate_pd(); }

	// A key over contiguous bus memory, whose address space starts at `start`.
	uint32_t create_key(uint32_t pd, uint64_t bus, uint64_t length, uint32_t access, uint64_t start)
	{
		return create_key(pd, start, length, access, contiguous(bus, length));
	}
	uint32_t create_key(uint32_t pd, uint64_t bus, uint64_t length, uint32_t access)
	{
		return create_key(pd, bus, length, access, bus);
	}
	// A key over pages anywhere.
	uint32_t create_key(uint32_t pd, std::span<const uint64_t> pages, uint8_t log_page_size,
			    uint64_t first_offset, uint64_t length, uint32_t access, uint64_t start)
	{
		const BlockOffset list = function_.context().allocate_block(pages.size_bytes());

		std::memcpy(function_.context().block(list), pages.data(), pages.size_bytes());
		PageRange range{};
		range.addresses = list;
		range.first_page_offset = first_offset;
		range.length = length;
		range.page_count = static_cast<uint32_t>(pages.size());
		range.log_page_size = log_page_size;
		return create_key(pd, start, length, access, range);
	}
	// A FAST_REGION or INTEGRITY key (with room for `entries`) or window.
	uint32_t create_free_key(uint32_t pd, uint8_t type, uint32_t entries = 0)
	{
		const uint32_t index = function_.context().allocate_mkey();
		MkeyContext &mkey = *function_.context().mkey(index);

		mkey.type = type;
		mkey.flags = entries > 0 ? kMkeyFlagFree : kMkeyFlagFree | kMkeyFlagWindow;
		mkey.pd = pd;
		if (entries > 0 && !reserve_list(function_, mkey, entries))
			host_panic("list");
		return index << 8;
	}
	void destroy_key(uint32_t key) { function_.context().free_mkey(key >> 8); }

	uint32_t create_cq(uint8_t log_depth = 10)
	{
		const uint64_t bytes = OHCA_CQ_RING_OFFSET + (sizeof(ohca_cqe) << log_depth);
		const uint32_t cqn = function_.context().allocate_cq();
		CqContext &cq = *function_.context().cq(cqn);

		cq.buffer = contiguous(allocate(bytes), bytes);
		cq.eq = 0;
		cq.log_depth = log_depth;
		return cqn;
	}

	QpContext &create_qp(const QpOptions &options)
	{
		const uint64_t sq_offset = kPage;
		const uint64_t rq_offset = sq_offset + (uint64_t{1} << (options.log_sq_depth + options.log_sq_stride));
		const uint64_t aligned = (rq_offset + kPage - 1) / kPage * kPage;
		const uint64_t bytes = aligned + (uint64_t{1} << (options.log_rq_depth + options.log_rq_stride));
		const uint32_t qpn = function_.context().allocate_qp();
		QpContext &qp = *function_.context().qp(qpn);

		qp.qpn = qpn;
		qp.type = OHCA_QP_TYPE_RC;
		qp.flags = options.flags;
		qp.state = OHCA_QP_STATE_RESET;
		qp.pd = options.pd;
		qp.send_cq = options.send_cq;
		qp.recv_cq = options.recv_cq;
		qp.buffer = contiguous(allocate(bytes), bytes);
		qp.sq = {.offset = static_cast<uint32_t>(sq_offset),
			 .log_depth = options.log_sq_depth,
			 .log_stride = options.log_sq_stride,
			 .present = 1,
			 .reserved = 0};
		qp.rq = {.offset = static_cast<uint32_t>(aligned),
			 .log_depth = options.log_rq_depth,
			 .log_stride = options.log_rq_stride,
			 .present = 1,
			 .reserved = 0};
		return qp;
	}

	void modify(QpContext &qp, uint8_t state, TimeNs now = 0)
	{
		const uint8_t from = qp.state;

		function_.set_now(now);
		qp.state = state;
		qp.attributes.state = state;
		handle_state_change(function_, qp, from, now);
	}

	// --- data path, as a provider does it ---
	uint32_t posted_sends(const QpContext &qp) { return record(qp).sq_producer; }
	uint32_t posted_receives(const QpContext &qp) { return record(qp).rq_producer; }

	// Returns the SQ index.
	uint32_t post_send(QpContext &qp, const SendRequest &request)
	{
		const uint32_t index = record(qp).sq_producer;
		std::byte *slot = sq_slot(qp, index);
		ohca_sq_wqe header{};

		header.opcode = request.opcode;
		header.flags = request.flags;
		header.num_sge = static_cast<uint8_t>(request.sges.size());
		header.inline_length = static_cast<uint32_t>(request.inline_data.size());
		header.immediate = request.immediate_be;
		header.invalidate_key = request.invalidate_key;
		header.remote_address = request.remote_address;
		header.rkey = request.rkey;
		std::memcpy(slot, &header, sizeof(header));
		slot += sizeof(header);
		if (request.opcode == OHCA_WR_CAS || request.opcode == OHCA_WR_FADD) {
			const ohca_wqe_atomic operands = {request.operand, request.compare};
			std::memcpy(slot, &operands, sizeof(operands));
			slot += sizeof(operands);
		}
		if (!request.body.empty())
			std::memcpy(slot, request.body.data(), request.body.size());
		slot += request.body.size();
		if (!request.inline_data.empty())
			std::memcpy(slot, request.inline_data.data(), request.inline_data.size());
		put_sges(slot, request.sges);
		record(qp).sq_producer = index + 1;
		return index;
	}

	void post_receive(QpContext &qp, uint32_t tag, const std::vector<Sge> &sges)
	{
		const uint32_t index = record(qp).rq_producer;
		std::byte *slot = rq_slot(qp, index);
		ohca_rq_wqe header{};

		header.num_sge = static_cast<uint8_t>(sges.size());
		header.tag = tag;
		std::memcpy(slot, &header, sizeof(header));
		put_sges(slot + sizeof(header), sges);
		record(qp).rq_producer = index + 1;
	}

	std::optional<ohca_cqe> poll(uint32_t cqn)
	{
		CqContext &cq = *function_.context().cq(cqn);
		std::byte *buffer = at(cq.buffer.contiguous_address);
		auto &cq_record = *reinterpret_cast<ohca_cq_record *>(buffer);
		const uint32_t index = cq_record.consumer;
		ohca_cqe cqe;

		std::memcpy(&cqe,
			    buffer + OHCA_CQ_RING_OFFSET + (index & ((1u << cq.log_depth) - 1)) * sizeof(cqe),
			    sizeof(cqe));
		if (cqe.owner != ((index >> cq.log_depth) & 1 ? 0 : OHCA_CQE_PHASE))
			return std::nullopt;
		cq_record.consumer = index + 1;
		return cqe;
	}

	std::optional<ohca_eqe> poll_event()
	{
		EqContext &eq = *function_.context().eq(async_eq_);
		std::byte *buffer = at(eq.buffer.contiguous_address);
		auto &eq_record = *reinterpret_cast<ohca_eq_record *>(buffer);
		const uint32_t index = eq_record.consumer;
		ohca_eqe eqe;

		std::memcpy(&eqe,
			    buffer + OHCA_EQ_RING_OFFSET + (index & ((1u << eq.log_depth) - 1)) * sizeof(eqe),
			    sizeof(eqe));
		if (eqe.owner != ((index >> eq.log_depth) & 1 ? 0 : OHCA_EQE_PHASE))
			return std::nullopt;
		eq_record.consumer = index + 1;
		return eqe;
	}

	uint64_t counter(enum ohca_counter counter) { return function_.context().counters()[counter]; }
	ohca_qp_record &record(const QpContext &qp)
	{
		return *reinterpret_cast<ohca_qp_record *>(at(qp.buffer.contiguous_address));
	}
	std::byte *sq_slot(const QpContext &qp, uint32_t index) { return slot(qp, qp.sq, index); }
	std::byte *rq_slot(const QpContext &qp, uint32_t index) { return slot(qp, qp.rq, index); }

private:
	static PageRange contiguous(uint64_t bus, uint64_t bytes)
	{
		PageRange range{};
		range.contiguous_address = bus;
		range.length = bytes;
		range.page_count = static_cast<uint32_t>((bytes + kPage - 1) / kPage);
		range.log_page_size = 12;
		range.contiguous = 1;
		return range;
	}

	static FunctionResources resources(const SparseMemory &context, DmaSpace &dma)
	{
		FunctionResources resources;
		resources.context_memory = context.bytes();
		resources.dma = &dma;
		return resources;
	}

	uint32_t create_eq()
	{
		constexpr uint8_t kLogDepth = 8;
		const uint64_t bytes = OHCA_EQ_RING_OFFSET + (sizeof(ohca_eqe) << kLogDepth);
		const uint32_t index = function_.context().allocate_eq();
		EqContext &eq = *function_.context().eq(index);

		eq.buffer = contiguous(allocate(bytes), bytes);
		eq.log_depth = kLogDepth;
		eq.type = OHCA_EQ_ASYNC;
		function_.state().async_eq = index;
		return index;
	}

	uint32_t create_key(uint32_t pd, uint64_t start, uint64_t length, uint32_t access, const PageRange &pages)
	{
		const uint32_t index = function_.context().allocate_mkey();
		MkeyContext &mkey = *function_.context().mkey(index);

		mkey.consumer_key = static_cast<uint8_t>(0xa0 + index);
		mkey.access = access;
		mkey.pd = pd;
		mkey.start = start;
		mkey.length = length;
		mkey.pages = pages;
		return index << 8 | mkey.consumer_key;
	}

	std::byte *slot(const QpContext &qp, const QueueRing &ring, uint32_t index)
	{
		return at(qp.buffer.contiguous_address) + ring.offset +
		       (uint64_t{index & ((1u << ring.log_depth) - 1)} << ring.log_stride);
	}

	static void put_sges(std::byte *slot, const std::vector<Sge> &sges)
	{
		for (const Sge &sge : sges) {
			const ohca_sge element = {sge.address, sge.length, sge.lkey};
			std::memcpy(slot, &element, sizeof(element));
			slot += sizeof(element);
		}
	}

	SparseMemory context_;
	SparseMemory ram_;
	DmaSpace dma_;
	Function function_;
	uint64_t ram_used_ = 0;
	uint32_t async_eq_ = 0;
};

} // namespace ohca::core::test
