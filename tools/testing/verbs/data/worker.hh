// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// One thread of the data test: its connected pairs and its CQs.
#pragma once

#include "data/flow.hh"
#include "data/options.hh"

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

namespace verbs_test {

// What the threads share.
struct Shared {
	const DataOptions &options;
	const Device &device;
	const Device &peer;
	std::atomic<std::uint64_t> &operations;  // done and checked, all threads
	std::atomic<std::uint64_t> bytes = 0;
	std::atomic<bool> stop = false;          // for an endless test
	std::mutex coverage_lock{};
	Coverage coverage{};                     // of the threads that have ended
};

class Worker {
 public:
	// first_pair: how many pairs the threads before this one have
	Worker(Shared &shared, unsigned index, unsigned first_pair, unsigned pairs, std::uint64_t operations);
	~Worker();
	Worker(const Worker &) = delete;
	Worker &operator=(const Worker &) = delete;

	void run();
	// What is outstanding, to stderr.
	void describe() const;

 private:
	struct Pair {
		std::unique_ptr<Endpoint> a;
		std::unique_ptr<Endpoint> b;
		std::unique_ptr<Flow> forth;
		std::unique_ptr<Flow> back;
		// over the memory that the other end works on
		std::unique_ptr<Window> window_a;
		std::unique_ptr<Window> window_b;
		bool recycle = false;
	};
	// What belongs to a device: a protection domain, an event channel and CQs.
	struct Side {
		const Device *device = nullptr;
		ibv_pd *pd = nullptr;
		ibv_td *thread_domain = nullptr;
		ibv_pd *parent_domain = nullptr;
		ibv_comp_channel *channel = nullptr;
		ibv_xrcd *xrcd = nullptr;
		// the one in use, basic and of XRC, and how many endpoints it has
		struct {
			SharedReceives *queue = nullptr;
			unsigned users = 0;
		} shared[2];
	};
	struct CqSet {
		CompletionQueue *send;
		CompletionQueue *receive;
	};

	void open_side(Side &side, const Device &device);
	static void close_side(Side &side);
	CqSet create_cqs(const Side &side);
	CompletionQueue *create_cq(const Side &side);
	void create_pair(const PairKind &kind, CqSet a, CqSet b);
	std::unique_ptr<Endpoint> create_endpoint(const PairKind &kind, Side &side, const CqSet &cqs, bool with_wr_api);
	SharedReceives *shared_receives(const PairKind &kind, Side &side);
	std::unique_ptr<Region> create_region(const Side &side, std::size_t message_max);
	void create_windows(Pair &pair, const PairKind &kind, Region &of_a, Region &of_b);
	void connect_pair(Pair &pair);
	void keep_busy();
	bool drain(CompletionQueue &cq);
	bool drain_all();
	[[noreturn]] void report_flush(std::uint32_t qpn);
	bool wait_for_events();
	bool read_events(ibv_comp_channel *channel);
	bool all_idle() const;
	void account();
	bool wants_more() const;

	Shared &shared_;
	unsigned index_;
	std::uint64_t operations_wanted_;
	Random random_;
	bool by_events_;
	unsigned mtu_log_max_;
	Side side_a_;
	Side side_b_;
	std::vector<std::unique_ptr<CompletionQueue>> cqs_;
	std::vector<std::unique_ptr<SharedReceives>> shared_receives_;
	std::vector<std::unique_ptr<Pair>> pairs_;
	Coverage coverage_;
	bool has_long_messages_ = false;
	std::uint64_t accounted_operations_ = 0;
	std::uint64_t accounted_bytes_ = 0;
	double last_progress_;
};

}  // namespace verbs_test
