// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// An application that writes garbage over its own rings, records, UAR page and
// kick page.  It may lose its own queue pair; the bystander, which error_test
// watches, and everything else goes on.
#include "connection.hh"
#include "deadline.hh"
#include "error/cases.hh"
#include "error/raw_queue.hh"
#include "failure.hh"
#include "random.hh"

#include <cstring>
#include <thread>
#include <unistd.h>

namespace verbs_test {

namespace {

constexpr double kPatience = 20;
constexpr std::uint32_t kMemory = 64 << 10;

// A context with a CQ and two queue pairs that are connected to each other.
struct RawRig {
	explicit RawRig(const std::string &name) : device(name), context(name)
	{
		pd = context.allocate_pd();
		key = context.register_memory(pd, memory.data(), kMemory);
		const ohca_create_cq_req cq_udata = cq_request(cq);
		must_succeed(try_create_cq(context, cq, &cq_udata, sizeof(cq_udata)), "CREATE_CQ");
		for (RawQp *qp : {&a, &b}) {
			const ohca_create_qp_req udata = qp_request(*qp);
			must_succeed(try_create_qp(context, *qp, pd, cq, &udata, sizeof(udata)), "CREATE_QP");
		}
		connect_raw(context, a, device, b.qpn);
		connect_raw(context, b, device, a.qpn);
	}

	ohca_sge sge(std::uint32_t length) const
	{
		return {reinterpret_cast<std::uint64_t>(memory.data()), length, key};
	}
	// A WRITE of 64 bytes into slot `index` of a, not yet announced.
	ohca_sq_wqe *write_wqe(std::uint32_t index) const
	{
		std::uint8_t *slot = a.send_slot(index);
		ohca_sq_wqe wqe{};
		wqe.opcode = OHCA_WR_WRITE;
		wqe.flags = OHCA_WQE_SIGNALED;
		wqe.num_sge = 1;
		wqe.remote_address = reinterpret_cast<std::uint64_t>(memory.data() + kMemory / 2);
		wqe.rkey = key;
		const ohca_sge element = sge(64);
		std::memcpy(slot, &wqe, sizeof(wqe));
		std::memcpy(slot + sizeof(wqe), &element, sizeof(element));
		return reinterpret_cast<ohca_sq_wqe *>(slot);
	}

	Device device;
	RawContext context;
	Mapping memory{kMemory, PageKind::kSmall};
	std::uint32_t pd = 0;
	std::uint32_t key = 0;
	RawCq cq;
	RawQp a;
	RawQp b;
};

ohca_cqe wait_cqe(RawCq &cq, const char *what)
{
	const Deadline deadline(kPatience);
	ohca_cqe cqe{};
	while (!cq.poll(cqe)) {
		if (deadline.passed())
			fail("waited %.0f s for a CQE: %s", kPatience, what);
		usleep(100);
	}
	return cqe;
}

void wait_for_error(RawRig &rig, const RawQp &qp, const char *what)
{
	const Deadline deadline(kPatience);
	while (state_of_raw(rig.context, qp) != IBV_QPS_ERR) {
		if (deadline.passed())
			fail("%s: waited %.0f s for the queue pair to go to ERR", what, kPatience);
		usleep(1000);
	}
}

void raw_write(const std::string &name)
{
	RawRig rig(name);
	std::memset(rig.memory.data(), 0x5a, 64);
	rig.write_wqe(0);
	ring_raw(rig.context, rig.a, 1);
	const ohca_cqe cqe = wait_cqe(rig.cq, "a WRITE");
	if (cqe.status != OHCA_CQE_STATUS_SUCCESS || cqe.wqe_index != 0 || cqe.qpn != rig.a.qpn)
		fail("status %u, vendor error %u, index %u, QP 0x%x", cqe.status, cqe.vendor_error, cqe.wqe_index, cqe.qpn);
	if (std::memcmp(rig.memory.data(), rig.memory.data() + kMemory / 2, 64) != 0)
		fail("the WRITE did not arrive");
	must_succeed(destroy_qp(rig.context, rig.a), "DESTROY_QP");
	must_succeed(destroy_qp(rig.context, rig.b), "DESTROY_QP");
	must_succeed(destroy_cq(rig.context, rig.cq), "DESTROY_CQ");
}

// Each malformed WQE fails alone, with this status, and takes its queue pair to ERR.
void expect_refused(const std::string &name, const std::function<void(ohca_sq_wqe &)> &spoil, std::uint8_t status,
		    const char *what)
{
	RawRig rig(name);
	spoil(*rig.write_wqe(0));
	ring_raw(rig.context, rig.a, 1);
	const ohca_cqe cqe = wait_cqe(rig.cq, what);
	if (cqe.status != status || cqe.qpn != rig.a.qpn || cqe.wqe_index != 0)
		fail("%s: status %u (vendor error %u) of QP 0x%x, index %u, instead of status %u", what, cqe.status,
		     cqe.vendor_error, cqe.qpn, cqe.wqe_index, status);
	wait_for_error(rig, rig.a, what);
	if (state_of_raw(rig.context, rig.b) != IBV_QPS_RTS)
		fail("%s: the peer did not stay in RTS", what);
}

// OHCA-SQ-D2
void bad_opcode(const std::string &name)
{
	constexpr std::uint8_t kUnknown[] = {0x00, OHCA_WR_REG_MR_INTEGRITY + 1, 0x7f, 0x80, 0xff};
	for (const std::uint8_t opcode : kUnknown) {
		expect_refused(name, [opcode](ohca_sq_wqe &wqe) { wqe.opcode = opcode; },
			       OHCA_CQE_STATUS_LOCAL_QP_OPERATION, "an unknown opcode");
	}
}

// OHCA-SQ-D3
void bad_wqe_fields(const std::string &name)
{
	constexpr std::uint8_t kRefused = OHCA_CQE_STATUS_LOCAL_QP_OPERATION;
	expect_refused(name, [](ohca_sq_wqe &wqe) { wqe.flags |= 0x80; }, kRefused, "an unknown flag");
	expect_refused(name, [](ohca_sq_wqe &wqe) { wqe.reserved_18 = 1; }, kRefused, "a reserved field");
	expect_refused(name, [](ohca_sq_wqe &wqe) { wqe.num_sge = 255; }, kRefused, "255 elements");
	expect_refused(name, [](ohca_sq_wqe &wqe) { wqe.inline_length = 0xffffffff; }, kRefused,
		       "an inline length without INLINE");
	expect_refused(name, [](ohca_sq_wqe &wqe) {
		wqe.flags |= OHCA_WQE_INLINE;
		wqe.num_sge = 0;
		wqe.inline_length = 0x7fffffff;
	}, kRefused, "an inline length beyond the slot");
	expect_refused(name, [](ohca_sq_wqe &wqe) {
		wqe.opcode = OHCA_WR_READ;
		wqe.flags |= OHCA_WQE_INLINE;
	}, kRefused, "READ with INLINE");
}

// OHCA-GEN-D3 OHCA-GEN-D4
void garbage_send_ring(const std::string &name)
{
	Random random(1);
	for (int round = 0; round < 30; round++) {
		RawRig rig(name);
		random.fill(rig.a.send_slot(0), RawQp::kRingSize);
		// every other time with plausible parts, so that the garbage gets further
		const bool plausible = round % 2 == 0;
		for (std::uint32_t i = 0; plausible && i < 64; i++) {
			rig.write_wqe(i);
			auto *wqe = reinterpret_cast<ohca_sq_wqe *>(rig.a.send_slot(i));
			wqe->opcode = static_cast<std::uint8_t>(random.between(1, 8));
			std::uint8_t *byte = rig.a.send_slot(i) + random.below(80);
			*byte = static_cast<std::uint8_t>(random.next());
		}
		ring_raw(rig.context, rig.a, 64);
		for (int i = 0; i < 200; i++) {
			random.fill(rig.a.send_slot(static_cast<std::uint32_t>(random.below(64))), 128);
			usleep(50);
		}
		// what is plausible may succeed, or be a SEND that waits for a receive
		if (!plausible)
			wait_for_error(rig, rig.a, "garbage over the send ring");
	}
}

void garbage_receive_ring(const std::string &name)
{
	Random random(2);
	for (int round = 0; round < 20; round++) {
		RawRig rig(name);
		random.fill(rig.b.receive_slot(0), RawQp::kRingSize);
		__atomic_store_n(&rig.b.record()->rq_producer, 64, __ATOMIC_RELEASE);
		rig.write_wqe(0)->opcode = OHCA_WR_SEND;
		ring_raw(rig.context, rig.a, 1);
		const ohca_cqe cqe = wait_cqe(rig.cq, "a SEND to a garbage receive ring");
		if (cqe.status == OHCA_CQE_STATUS_SUCCESS && (cqe.flags & OHCA_CQE_RECEIVE) != 0)
			fail("a SEND into a receive made of garbage succeeded");
		wait_for_error(rig, rig.a, "the sender");
		wait_for_error(rig, rig.b, "garbage over the receive ring");
	}
}

// OHCA-SQ-D9
void garbage_record(const std::string &name)
{
	Random random(3);
	for (int round = 0; round < 20; round++) {
		RawRig rig(name);
		// a producer index that is more than a ring ahead
		const auto producer = static_cast<std::uint32_t>(65 + random.below(0xffffff00));
		ring_raw(rig.context, rig.a, producer);
		wait_for_error(rig, rig.a, "a send producer beyond the ring");
		random.fill(rig.b.record(), sizeof(ohca_qp_record));
		ring_raw(rig.context, rig.b, static_cast<std::uint32_t>(random.next()) | 0x80000000U);
		wait_for_error(rig, rig.b, "garbage over the record");
	}
}

// OHCA-RQ-D6
void garbage_receive_producer(const std::string &name)
{
	RawRig rig(name);
	__atomic_store_n(&rig.b.record()->rq_producer, 0x7fffffff, __ATOMIC_RELEASE);
	rig.write_wqe(0)->opcode = OHCA_WR_SEND;
	ring_raw(rig.context, rig.a, 1);
	wait_for_error(rig, rig.b, "a receive producer beyond the ring");
	wait_for_error(rig, rig.a, "its peer");
}

// Consumer, arm value and CQEs of the own CQ: at worst its completions are lost.
// OHCA-GEN-D4
void garbage_cq(const std::string &name)
{
	Random random(4);
	for (int round = 0; round < 20; round++) {
		RawRig rig(name);
		for (std::uint32_t i = 0; i < 64; i++) {
			rig.write_wqe(i);
			ring_raw(rig.context, rig.a, i + 1);
			random.fill(rig.cq.record(), sizeof(ohca_cq_record));
			random.fill(rig.cq.entry(0), rig.cq.memory.length() - OHCA_CQ_RING_OFFSET);
		}
		usleep(20000);
		must_succeed(destroy_qp(rig.context, rig.a), "DESTROY_QP after garbage over the CQ");
		must_succeed(destroy_qp(rig.context, rig.b), "DESTROY_QP after garbage over the CQ");
		must_succeed(destroy_cq(rig.context, rig.cq), "DESTROY_CQ after garbage over the CQ");
	}
}

// OHCA-DB-D7 OHCA-DB-D11 OHCA-GEN-D4
void garbage_uar(const std::string &name)
{
	Random random(5);
	RawRig rig(name);
	const Deadline deadline(3);
	while (!deadline.passed()) {
		random.fill(rig.context.uar(), OHCA_UAR_SIZE);
		*rig.context.kick() = 1;
		usleep(static_cast<useconds_t>(random.below(300)));
	}
	// The notification words are the application's to repair: with sound ones the queue works.
	std::memset(rig.context.uar(), 0, OHCA_UAR_SIZE);
	rig.write_wqe(0);
	const Deadline patience(kPatience);
	ohca_cqe cqe{};
	while (!rig.cq.poll(cqe)) {
		ring_raw(rig.context, rig.a, 1);
		*rig.context.kick() = 1;
		if (patience.passed())
			fail("waited %.0f s for a WRITE after garbage over the UAR page", kPatience);
		usleep(1000);
	}
	if (cqe.status != OHCA_CQE_STATUS_SUCCESS)
		fail("a WRITE after garbage over the UAR page: status %u", cqe.status);
}

// All slots of the own page, over and over: no other page's queues may starve.
// OHCA-DB-D8
void notify_storm(const std::string &name)
{
	RawRig rig(name);
	const Deadline deadline(3);
	while (!deadline.passed()) {
		for (auto &word : rig.context.uar()->notify)
			__atomic_store_n(&word, ~std::uint64_t{0}, __ATOMIC_RELAXED);
		__atomic_store_n(&rig.context.uar()->summary, ~std::uint64_t{0}, __ATOMIC_SEQ_CST);
	}
}

// OHCA-DB-D9
void kick_storm(const std::string &name)
{
	RawRig rig(name);
	std::thread threads[2];
	for (std::thread &thread : threads) {
		thread = std::thread([&rig] {
			const Deadline deadline(3);
			while (!deadline.passed()) {
				for (int i = 0; i < 100; i++)
					*rig.context.kick() = 0xffffffff;
			}
		});
	}
	for (std::thread &thread : threads)
		thread.join();
	rig.write_wqe(0);
	ring_raw(rig.context, rig.a, 1);
	wait_cqe(rig.cq, "a WRITE after a storm of kicks");
}

// The kernel has pinned the pages: the device goes on reading what nobody maps any more.
// OHCA-QB-H2
void unmapped_rings(const std::string &name)
{
	RawRig rig(name);
	rig.write_wqe(0);
	ring_raw(rig.context, rig.a, 1);
	wait_cqe(rig.cq, "a WRITE");
	{
		RawCq doomed;
		const ohca_create_cq_req udata = cq_request(doomed);
		must_succeed(try_create_cq(rig.context, doomed, &udata, sizeof(udata)), "CREATE_CQ");
	}
	rig.write_wqe(1);
	ring_raw(rig.context, rig.a, 2);
	wait_cqe(rig.cq, "a WRITE after another CQ's memory was unmapped");
}

}  // namespace

void add_garbage_cases(Cases &cases)
{
	const std::pair<const char *, void (*)(const std::string &)> list[] = {
		{"raw-write", raw_write},
		{"bad-opcode", bad_opcode},
		{"bad-wqe-fields", bad_wqe_fields},
		{"garbage-send-ring", garbage_send_ring},
		{"garbage-receive-ring", garbage_receive_ring},
		{"garbage-record", garbage_record},
		{"garbage-receive-producer", garbage_receive_producer},
		{"garbage-cq", garbage_cq},
		{"garbage-uar", garbage_uar},
		{"notify-storm", notify_storm},
		{"kick-storm", kick_storm},
		{"unmapped-rings", unmapped_rings},
	};
	for (const auto &[name, function] : list)
		cases.push_back({name, function, true});
}

}  // namespace verbs_test
