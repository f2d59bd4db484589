// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// Posting threads, a polling thread and a device that goes to sleep whenever it
// can, all at once.  A wake-up that gets lost hangs the test; a missing barrier is
// for the thread sanitizer to find.
#include <atomic>
#include <thread>
#include <vector>

#include "fixture.hh"

namespace ohca::test {
namespace {

// The device's half of ohca_hw_io.h for queue pairs that share a UAR slot.
class SleepyDevice {
public:
	SleepyDevice(ohca_uar &uar, std::uint32_t &kick, ibv_cq *cq, std::vector<ibv_qp *> qps)
		: uar_(uar), kick_(kick), cq_(cq), depth_(CompletionQueue::of(cq).depth), qps_(std::move(qps)),
		  done_(qps_.size())
	{
	}

	void run(const std::atomic<bool> &stop)
	{
		while (!stop) {
			if (scan())
				continue;
			__atomic_store_n(&uar_.need_wakeup, 1, __ATOMIC_SEQ_CST);
			__atomic_thread_fence(__ATOMIC_SEQ_CST);
			if (!scan()) {
				++sleeps_;
				while (!__atomic_exchange_n(&kick_, 0, __ATOMIC_ACQUIRE) && !stop)
					std::this_thread::yield();
			}
			__atomic_store_n(&uar_.need_wakeup, 0, __ATOMIC_SEQ_CST);
		}
	}

	int sleeps() const { return sleeps_; }

private:
	bool scan()
	{
		if (!load_relaxed(uar_.summary) || !__atomic_exchange_n(&uar_.summary, 0, __ATOMIC_SEQ_CST))
			return false;
		for (__le64 &word : uar_.notify)
			__atomic_exchange_n(&word, 0, __ATOMIC_SEQ_CST);
		for (std::size_t i = 0; i < qps_.size(); ++i)
			execute(i);
		return true;
	}

	void execute(std::size_t i)
	{
		const Index end = load_acquire(QueuePair::of(qps_[i]).record->sq_producer);
		for (; done_[i] != end; ++done_[i]) {
			while (written_ - load_acquire(cq_.record().consumer) >= depth_)
				std::this_thread::yield();
			cq_.write({.qpn = qps_[i]->qp_num, .wqe_index = done_[i]});
			++written_;
		}
	}

	ohca_uar &uar_;
	std::uint32_t &kick_;
	CqWriter cq_;
	std::uint32_t depth_;
	std::vector<ibv_qp *> qps_;
	std::vector<Index> done_;
	Index written_ = 0;
	int sleeps_ = 0;
};

class ConcurrencyTest : public ProviderTest {
protected:
	static constexpr std::uint64_t kRequests = 20000;

	static void post_all(ibv_qp *qp, std::uint64_t first)
	{
		for (std::uint64_t i = 0; i < kRequests;) {
			ibv_send_wr wr = write_wr(first + i, nullptr), *bad;
			wr.num_sge = 0;
			const int error = ohca_post_send(qp, &wr, &bad);
			if (!error)
				++i;
			else
				std::this_thread::yield();
		}
	}
};

// OHCA-DB-H1 OHCA-DB-H2 OHCA-DB-H3 OHCA-CQ-H1 OHCA-CQ-H2
TEST_F(ConcurrencyTest, NoWakeUpAndNoCompletionIsLost)
{
	ibv_cq *cq = create_cq(8);
	std::vector<ibv_qp *> qps = {create_qp(cq, cq), create_qp(cq, cq)};
	std::atomic<bool> stop = false;
	SleepyDevice device(uar(), kick(), cq, qps);
	std::thread device_thread([&] { device.run(stop); });
	// Two threads share the first queue pair.
	std::thread posters[] = {std::thread(post_all, qps[0], 0), std::thread(post_all, qps[0], kRequests),
				 std::thread(post_all, qps[1], 2 * kRequests)};
	std::uint64_t next[3] = {0, kRequests, 2 * kRequests};
	for (std::uint64_t polled = 0; polled < 3 * kRequests;) {
		ibv_wc wc[4];
		const int count = ohca_poll_cq(cq, 4, wc);
		if (!count)
			std::this_thread::yield();
		for (int i = 0; i < count; ++i, ++polled)
			ASSERT_EQ(wc[i].wr_id, next[wc[i].wr_id / kRequests]++);
	}
	for (std::thread &poster : posters)
		poster.join();
	stop = true;
	device_thread.join();
	EXPECT_GT(device.sleeps(), 0);
}

} // namespace
} // namespace ohca::test
