// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// A shared receive queue and its buffers.  Which message a buffer gets is not
// known before its completion; each buffer has room for the longest message.
#pragma once

#include "data/completion_queue.hh"
#include "data/post.hh"
#include "data/scatter.hh"

#include <vector>

namespace verbs_test {

class SharedReceives {
 public:
	// What all queue pairs together may have outstanding.
	static constexpr unsigned kDepth = 384;
	static constexpr std::uint32_t kMessageMax = 6000;

	// xrcd, cq: of an XRC SRQ; else nullptr
	SharedReceives(const Device &device, ibv_pd *pd, ibv_xrcd *xrcd, CompletionQueue *cq, Random &random);
	~SharedReceives();
	SharedReceives(const SharedReceives &) = delete;
	SharedReceives &operator=(const SharedReceives &) = delete;

	ibv_srq *srq() const { return srq_; }
	// Of an XRC SRQ.
	std::uint32_t number() const { return number_; }
	CompletionQueue *cq() const { return cq_; }

	// Buffers for `count` messages that are going to be sent.
	void post(std::size_t count, Random &random);

	// A message has been received: the buffer leaves the queue.
	struct Taken {
		const ScatterList &list;
		std::uint64_t order;  // of posting
	};
	Taken take(std::uint64_t wr_id);
	// What is in memory becomes what the model says; `skipped` bytes in front are believed.
	void place(const ScatterList &list, std::uint32_t skipped, std::uint8_t *payload, std::uint32_t length);
	const Region &region() const { return region_; }
	void verify_all() const { region_.verify_all("the region of a shared receive queue"); }

 private:
	struct Buffer {
		ReceiveBuffer receive;
		std::uint64_t order;
		bool posted = false;
	};

	void create(const Device &device, ibv_pd *pd, ibv_xrcd *xrcd);
	void lay_out(std::size_t index, Random &random);

	unsigned sge_max_;
	CompletionQueue *cq_;
	Region region_;
	ibv_srq *srq_ = nullptr;
	std::uint32_t number_ = 0;
	std::vector<Buffer> buffers_;
	std::vector<std::size_t> unused_;
	std::uint64_t posted_ = 0;
};

}  // namespace verbs_test
