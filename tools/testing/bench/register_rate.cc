// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// register_rate DEVICE PAIRS: ibv_reg_mr() and ibv_dereg_mr() of 16 pages, PAIRS times; prints pairs a
// second. It is what fast registration of the kernel, which needs no command, is compared with.
#include <cstdio>
#include <cstdlib>

#include "deadline.hh"
#include "device.hh"
#include "failure.hh"
#include "memory.hh"

namespace {

constexpr std::size_t kLength = 16 * 4096;
constexpr int kAccess = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE;

}  // namespace

int main(int argc, char **argv)
{
	if (argc != 3) {
		std::fprintf(stderr, "usage: register_rate DEVICE PAIRS\n");
		return 2;
	}
	using verbs_test::must;
	using verbs_test::must_succeed;
	const unsigned long pairs = std::strtoul(argv[2], nullptr, 10);
	const verbs_test::Device device(argv[1]);
	const verbs_test::Mapping memory(kLength, verbs_test::PageKind::kSmall);
	ibv_pd *pd = must(ibv_alloc_pd(device.context()), "ibv_alloc_pd");
	const double start = verbs_test::seconds_now();
	for (unsigned long i = 0; i < pairs; ++i)
		must_succeed(ibv_dereg_mr(must(ibv_reg_mr(pd, memory.data(), kLength, kAccess), "ibv_reg_mr")),
			     "ibv_dereg_mr");
	std::printf("%.1f\n", static_cast<double>(pairs) / (verbs_test::seconds_now() - start));
	must_succeed(ibv_dealloc_pd(pd), "ibv_dealloc_pd");
	return 0;
}
