// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// Driver-private request data that is short, long, or has bits set that nobody
// knows: the rules at the top of rdma/ohca-abi.h.
#include "error/cases.hh"
#include "error/raw_queue.hh"
#include "error/rig.hh"
#include "failure.hh"

#include <cerrno>
#include <cstring>

namespace verbs_test {

namespace {

template <typename Request>
struct Longer {
	Request request;
	std::uint64_t tail[2];
};

void udata_context(const std::string &name)
{
	Longer<ohca_alloc_ucontext_req> udata{};
	constexpr std::size_t kSize = sizeof(udata.request);
	expect_errno(try_raw_context(name, &udata, kSize), 0, "a sound request");
	expect_errno(try_raw_context(name, nullptr, 0), 0, "no request: all of it is optional");
	expect_errno(try_raw_context(name, &udata, sizeof(udata)), 0, "a longer request with zeroes behind");
	udata.tail[1] = 1;
	expect_errno(try_raw_context(name, &udata, sizeof(udata)), EOPNOTSUPP, "a longer request with a bit set");
	udata.request.comp_mask = 1;
	expect_errno(try_raw_context(name, &udata, kSize), EINVAL, "a comp_mask bit");
	udata.request = {0, 1};
	expect_errno(try_raw_context(name, &udata, kSize), EINVAL, "a reserved field");
}

void expect_cq(RawContext &context, const std::function<void(Longer<ohca_create_cq_req> &)> &change,
	       std::size_t size, int wanted, const char *what)
{
	RawCq cq;
	Longer<ohca_create_cq_req> udata{cq_request(cq), {}};
	change(udata);
	const int error = try_create_cq(context, cq, &udata, size);
	expect_errno(error, wanted, what);
	if (error == 0)
		must_succeed(destroy_cq(context, cq), "DESTROY_CQ");
}

void udata_cq(const std::string &name)
{
	using Udata = Longer<ohca_create_cq_req>;
	constexpr std::size_t kSize = sizeof(ohca_create_cq_req);
	RawContext context(name);
	const auto expect = [&context](auto change, std::size_t size, int wanted, const char *what) {
		expect_cq(context, change, size, wanted, what);
	};
	expect([](Udata &) {}, kSize, 0, "a sound request");
	expect([](Udata &) {}, 0, EINVAL, "no request");
	expect([](Udata &) {}, 8, EINVAL, "a short request");
	expect([](Udata &) {}, sizeof(Udata), 0, "a longer request with zeroes behind");
	expect([](Udata &u) { u.tail[0] = 1; }, sizeof(Udata), EOPNOTSUPP, "a longer request with a bit set");
	expect([](Udata &u) { u.request.comp_mask = 4; }, kSize, EINVAL, "a comp_mask bit");
	expect([](Udata &u) { u.request.reserved_a8[1] = 1; }, kSize, EINVAL, "a reserved field");
	expect([](Udata &u) { u.request.log_depth = 40; }, kSize, EINVAL, "log_depth 40");
	expect([](Udata &u) { u.request.log_depth = 255; }, kSize, EINVAL, "log_depth 255");
	expect([](Udata &u) { u.request.log_depth = 2; }, kSize, EINVAL, "fewer entries than asked for");
	expect([](Udata &u) { u.request.buffer_address += 64; }, kSize, EINVAL, "a buffer that is not page aligned");
	expect([](Udata &u) { u.request.buffer_length = 4096; }, kSize, EINVAL, "a buffer too short for the ring");
	expect([](Udata &u) { u.request.buffer_address = 4096; }, kSize, EFAULT, "a buffer that is not there");
}

void expect_qp(RawContext &context, std::uint32_t pd, const RawCq &cq,
	       const std::function<void(Longer<ohca_create_qp_req> &)> &change, std::size_t size, int wanted,
	       const char *what)
{
	RawQp qp;
	Longer<ohca_create_qp_req> udata{qp_request(qp), {}};
	change(udata);
	const int error = try_create_qp(context, qp, pd, cq, &udata, size);
	expect_errno(error, wanted, what);
	if (error == 0)
		must_succeed(destroy_qp(context, qp), "DESTROY_QP");
}

void udata_qp(const std::string &name)
{
	using Udata = Longer<ohca_create_qp_req>;
	constexpr std::size_t kSize = sizeof(ohca_create_qp_req);
	RawContext context(name);
	const std::uint32_t pd = context.allocate_pd();
	RawCq cq;
	const ohca_create_cq_req cq_udata = cq_request(cq);
	must_succeed(try_create_cq(context, cq, &cq_udata, sizeof(cq_udata)), "CREATE_CQ");
	const auto expect = [&](auto change, std::size_t size, int wanted, const char *what) {
		expect_qp(context, pd, cq, change, size, wanted, what);
	};
	expect([](Udata &) {}, kSize, 0, "a sound request");
	expect([](Udata &) {}, 0, EINVAL, "no request");
	expect([](Udata &) {}, 16, EINVAL, "a short request");
	expect([](Udata &) {}, sizeof(Udata), 0, "a longer request with zeroes behind");
	expect([](Udata &u) { u.tail[1] = 1; }, sizeof(Udata), EOPNOTSUPP, "a longer request with a bit set");
	expect([](Udata &u) { u.request.comp_mask = 1; }, kSize, EINVAL, "a comp_mask bit");
	expect([](Udata &u) { u.request.comp_mask = 4; }, kSize, EINVAL, "a comp_mask bit that does not exist");
	expect([](Udata &u) { u.request.qpn = 1; }, kSize, EINVAL, "a number without a claim");
	expect([](Udata &u) { u.request.comp_mask = OHCA_CREATE_QP_CLAIM; }, kSize, EINVAL, "a claim without a number");
	expect([](Udata &u) {
		u.request.comp_mask = OHCA_CREATE_QP_CLAIM;
		u.request.qpn = 2;
	}, kSize, EINVAL, "a claim of what nobody has created");
	expect([](Udata &u) { u.request.buffer_address += 8; }, kSize, EINVAL, "a buffer that is not page aligned");
	expect([](Udata &u) { u.request.buffer_length = 64; }, kSize, EINVAL, "a buffer too short for the rings");
	expect([](Udata &u) { u.request.buffer_address = 4096; }, kSize, EFAULT, "a buffer that is not there");
	expect([](Udata &u) { u.request.sq_offset = 0; }, kSize, EINVAL, "a send ring over the record");
	expect([](Udata &u) { u.request.sq_offset += 64; }, kSize, EINVAL, "a send ring that is not aligned");
	expect([](Udata &u) { u.request.rq_offset = u.request.sq_offset; }, kSize, EINVAL, "rings over each other");
	expect([](Udata &u) { u.request.rq_offset = 0xffffff80; }, kSize, EINVAL, "a receive ring far away");
	expect([](Udata &u) { u.request.log_sq_depth = 31; }, kSize, EINVAL, "log_sq_depth 31");
	expect([](Udata &u) { u.request.log_sq_depth = 200; }, kSize, EINVAL, "log_sq_depth 200");
	expect([](Udata &u) { u.request.log_rq_depth = 3; }, kSize, EINVAL, "fewer receives than asked for");
	expect([](Udata &u) { u.request.log_sq_stride = 3; }, kSize, EINVAL, "a stride of 8 bytes");
	expect([](Udata &u) { u.request.log_rq_stride = 200; }, kSize, EINVAL, "log_rq_stride 200");
	must_succeed(destroy_cq(context, cq), "DESTROY_CQ");
}

}  // namespace

void add_udata_cases(Cases &cases)
{
	cases.push_back({"udata-context", udata_context, true});
	cases.push_back({"udata-cq", udata_cq, true});
	cases.push_back({"udata-qp", udata_qp, true});
}

}  // namespace verbs_test
