// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// idle_qps DEVICE [COUNT]: creates COUNT RC queue pairs that nobody uses, and destroys them.
// Prints "created RATE..." with the rate of each tenth in queue pairs a second, waits for a line
// on standard input (somebody measures memory meanwhile), and prints "destroyed RATE...".
#include <array>
#include <cstdio>
#include <cstdlib>
#include <sys/resource.h>
#include <vector>

#include "deadline.hh"
#include "device.hh"
#include "failure.hh"

namespace {

constexpr std::size_t kParts = 10;
using Rates = std::array<double, kParts>;

// Calls step(i) for i in 0..count-1 and times each tenth.
template <typename Step> Rates timed(std::size_t count, Step step)
{
	Rates rates{};
	for (std::size_t part = 0; part < kParts; ++part) {
		const double start = verbs_test::seconds_now();
		for (std::size_t i = count * part / kParts; i < count * (part + 1) / kParts; ++i)
			step(i);
		rates[part] = static_cast<double>(count) / kParts / (verbs_test::seconds_now() - start);
	}
	return rates;
}

void print(const char *what, const Rates &rates)
{
	std::printf("%s", what);
	for (const double rate : rates)
		std::printf(" %.0f", rate);
	std::printf("\n");
	std::fflush(stdout);
}

}  // namespace

int main(int argc, char **argv)
{
	if (argc < 2) {
		std::fprintf(stderr, "usage: idle_qps DEVICE [COUNT]\n");
		return 2;
	}
	using verbs_test::must;
	using verbs_test::must_succeed;
	const std::size_t count = argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 100000;
	const rlimit unlimited{RLIM_INFINITY, RLIM_INFINITY};
	must_succeed(setrlimit(RLIMIT_MEMLOCK, &unlimited), "setrlimit");

	const verbs_test::Device device(argv[1]);
	ibv_pd *pd = must(ibv_alloc_pd(device.context()), "ibv_alloc_pd");
	ibv_cq *cq = must(ibv_create_cq(device.context(), 16, nullptr, nullptr, 0), "ibv_create_cq");
	ibv_qp_init_attr attributes{};
	attributes.send_cq = cq;
	attributes.recv_cq = cq;
	attributes.qp_type = IBV_QPT_RC;
	attributes.cap = {.max_send_wr = 8, .max_recv_wr = 8, .max_send_sge = 1, .max_recv_sge = 1, .max_inline_data = 0};
	std::vector<ibv_qp *> qps(count);
	print("created", timed(count, [&](std::size_t i) { qps[i] = must(ibv_create_qp(pd, &attributes), "ibv_create_qp"); }));
	std::getchar();
	print("destroyed", timed(count, [&](std::size_t i) { must_succeed(ibv_destroy_qp(qps[i]), "ibv_destroy_qp"); }));
	must_succeed(ibv_destroy_cq(cq), "ibv_destroy_cq");
	must_succeed(ibv_dealloc_pd(pd), "ibv_dealloc_pd");
	return 0;
}
