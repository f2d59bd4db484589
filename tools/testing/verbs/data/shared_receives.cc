// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "data/shared_receives.hh"

#include "failure.hh"

#include <cinttypes>

namespace verbs_test {

namespace {

constexpr unsigned kSgeCountMax = 6;
constexpr std::uint32_t kRoomMax = SharedReceives::kMessageMax + kGrhSize + 200;
// Between all pieces, so that what is around one may be checked while its neighbour is written.
constexpr std::size_t kGap = 64;
constexpr std::size_t kBufferSpan = kRoomMax + kSgeCountMax * 2 * kGap + kGap;
// wr_id: which buffer, and for which time; the top bit says that it is of a receive
constexpr std::uint64_t kReceiveMark = std::uint64_t{1} << 63;
constexpr unsigned kIndexBits = 12;

}  // namespace

SharedReceives::SharedReceives(const Device &device, ibv_pd *pd, ibv_xrcd *xrcd, CompletionQueue *cq, Random &random)
	: sge_max_(random.between(1U, kSgeCountMax)), cq_(cq),
	  region_(pd, kDepth * kBufferSpan + kGap, PageKind::kSmall, 0, random), buffers_(kDepth)
{
	for (std::size_t i = 0; i < kDepth; i++)
		unused_.push_back(i);
	create(device, pd, xrcd);
}

SharedReceives::~SharedReceives()
{
	must_succeed(ibv_destroy_srq(srq_), "ibv_destroy_srq");
}

void SharedReceives::create(const Device &device, ibv_pd *pd, ibv_xrcd *xrcd)
{
	ibv_srq_init_attr_ex attributes{};
	attributes.srq_context = this;
	attributes.attr.max_wr = kDepth;
	attributes.attr.max_sge = sge_max_;
	attributes.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD;
	attributes.srq_type = xrcd != nullptr ? IBV_SRQT_XRC : IBV_SRQT_BASIC;
	attributes.pd = pd;
	if (xrcd != nullptr) {
		attributes.comp_mask |= IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ;
		attributes.xrcd = xrcd;
		attributes.cq = cq_->cq();
	}
	srq_ = must(ibv_create_srq_ex(device.context(), &attributes), "ibv_create_srq_ex");
	if (xrcd != nullptr)
		must_succeed(ibv_get_srq_num(srq_, &number_), "ibv_get_srq_num");
}

void SharedReceives::lay_out(std::size_t index, Random &random)
{
	ScatterList &list = buffers_[index].receive.list;
	std::uint32_t left = kMessageMax + kGrhSize + static_cast<std::uint32_t>(random.below(200));
	std::size_t offset = region_.begin() + index * kBufferSpan;
	list.count = random.chance(40) ? 1 : random.between(1U, sge_max_);
	for (unsigned i = 0; i < list.count; i++) {
		offset += random.between(kGap, 2 * kGap);
		const bool last = i + 1 == list.count;
		const auto part = last ? left : static_cast<std::uint32_t>(random.below(2 * (left / (list.count - i)) + 1));
		list.piece[i] = {offset, part};
		const KeyedAddress where = region_.keyed(list.piece[i], random);
		list.sge[i] = {where.address, part, where.lkey};
		offset += part;
		left -= part;
	}
}

void SharedReceives::post(std::size_t count, Random &random)
{
	if (unused_.size() < count)
		fail("%zu buffers of a shared receive queue are wanted, %zu are left", count, unused_.size());
	if (unused_.size() == kDepth && random.chance(2))
		region_.reregister(random);
	const ReceiveBuffer *posting[kDepth];
	for (std::size_t i = 0; i < count; i++) {
		std::swap(unused_[random.below(unused_.size())], unused_.back());
		const std::size_t index = unused_.back();
		unused_.pop_back();
		Buffer &buffer = buffers_[index];
		lay_out(index, random);
		buffer.order = posted_++;
		buffer.receive.wr_id = kReceiveMark | buffer.order << kIndexBits | index;
		buffer.posted = true;
		posting[i] = &buffer.receive;
	}
	post_shared_receives(srq_, {posting, count}, random);
}

SharedReceives::Taken SharedReceives::take(std::uint64_t wr_id)
{
	const std::size_t index = wr_id & ((std::uint64_t{1} << kIndexBits) - 1);
	if (index >= kDepth || !buffers_[index].posted || buffers_[index].receive.wr_id != wr_id)
		fail("a receive completion has wr_id 0x%" PRIx64 ", which is not posted to its shared receive queue", wr_id);
	buffers_[index].posted = false;
	unused_.push_back(index);
	return {buffers_[index].receive.list, buffers_[index].order};
}

void SharedReceives::place(const ScatterList &list, std::uint32_t skipped, std::uint8_t *payload, std::uint32_t length)
{
	ScatteredCursor model(&region_, list);
	copy_scattered(skipped, ScatteredCursor(&region_, list, ScatteredCursor::Of::kMemory), model);
	model.skip(skipped);
	copy_scattered(length, Cursor(payload, length), model);
}

}  // namespace verbs_test
