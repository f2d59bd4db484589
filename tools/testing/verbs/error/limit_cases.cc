// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// Objects larger, or more of them, than the device has.
#include "error/cases.hh"
#include "error/rig.hh"
#include "failure.hh"

#include <cerrno>
#include <functional>

namespace verbs_test {

namespace {

// Creating fails with one of the two errnos that the verbs give for it.
void expect_refused(const void *object, const char *what)
{
	if (object != nullptr)
		fail("%s was accepted", what);
	if (last_error() != EINVAL && last_error() != ENOMEM)
		fail_errno(what, last_error());
}

class QueuePairMaker {
 public:
	explicit QueuePairMaker(const Device &device)
		: pd_(must(ibv_alloc_pd(device.context()), "ibv_alloc_pd")),
		  cq_(must(ibv_create_cq(device.context(), 16, nullptr, nullptr, 0), "ibv_create_cq"))
	{
	}
	~QueuePairMaker()
	{
		must_succeed(ibv_destroy_cq(cq_), "ibv_destroy_cq");
		must_succeed(ibv_dealloc_pd(pd_), "ibv_dealloc_pd");
	}
	QueuePairMaker(const QueuePairMaker &) = delete;
	QueuePairMaker &operator=(const QueuePairMaker &) = delete;

	ibv_qp *create(const std::function<void(ibv_qp_init_attr &)> &change)
	{
		ibv_qp_init_attr attributes{};
		attributes.send_cq = cq_;
		attributes.recv_cq = cq_;
		attributes.cap = {16, 16, 1, 1, 0};
		attributes.qp_type = IBV_QPT_RC;
		change(attributes);
		return ibv_create_qp(pd_, &attributes);
	}

 private:
	ibv_pd *pd_;
	ibv_cq *cq_;
};

void oversized_queue_pair(const std::string &name)
{
	const Device device(name);
	QueuePairMaker maker(device);
	const auto wr = static_cast<std::uint32_t>(device.attributes().max_qp_wr);
	const auto sge = static_cast<std::uint32_t>(device.attributes().max_sge);
	const auto refused = [&maker](const char *what, auto change) { expect_refused(maker.create(change), what); };
	refused("max_send_wr + 1", [wr](ibv_qp_init_attr &a) { a.cap.max_send_wr = wr + 1; });
	refused("max_recv_wr + 1", [wr](ibv_qp_init_attr &a) { a.cap.max_recv_wr = wr + 1; });
	refused("max_send_wr 2^32 - 1", [](ibv_qp_init_attr &a) { a.cap.max_send_wr = ~0U; });
	refused("max_recv_wr 2^31", [](ibv_qp_init_attr &a) { a.cap.max_recv_wr = 1U << 31; });
	refused("max_send_sge + 1", [sge](ibv_qp_init_attr &a) { a.cap.max_send_sge = sge + 1; });
	refused("max_recv_sge + 1", [sge](ibv_qp_init_attr &a) { a.cap.max_recv_sge = sge + 1; });
	refused("max_send_sge 2^32 - 1", [](ibv_qp_init_attr &a) { a.cap.max_send_sge = ~0U; });
	refused("inline data of 64 KiB", [](ibv_qp_init_attr &a) { a.cap.max_inline_data = 65536; });
	refused("inline data of 2^32 - 1 bytes", [](ibv_qp_init_attr &a) { a.cap.max_inline_data = ~0U; });
	ibv_qp *largest = must(maker.create([sge](ibv_qp_init_attr &a) {
		a.cap.max_send_sge = sge;
		a.cap.max_recv_sge = sge;
	}), "a queue pair with the announced number of elements");
	must_succeed(ibv_destroy_qp(largest), "ibv_destroy_qp");
	largest = must(maker.create([wr](ibv_qp_init_attr &a) { a.cap.max_send_wr = wr; }),
		       "a queue pair with the announced send depth");
	must_succeed(ibv_destroy_qp(largest), "ibv_destroy_qp");
}

void oversized_cq(const std::string &name)
{
	const Device device(name);
	const int cqe = device.attributes().max_cqe;
	expect_refused(ibv_create_cq(device.context(), cqe + 1, nullptr, nullptr, 0), "max_cqe + 1");
	expect_refused(ibv_create_cq(device.context(), 0, nullptr, nullptr, 0), "a CQ of depth 0");
	expect_refused(ibv_create_cq(device.context(), -1, nullptr, nullptr, 0), "a CQ of depth -1");
	expect_refused(ibv_create_cq(device.context(), 16, nullptr, nullptr, 10000), "completion vector 10000");
	ibv_cq *cq = must(ibv_create_cq(device.context(), cqe, nullptr, nullptr, 0), "a CQ of the announced depth");
	must_succeed(ibv_destroy_cq(cq), "ibv_destroy_cq");
}

void bad_registrations(const std::string &name)
{
	const Device device(name);
	ibv_pd *pd = must(ibv_alloc_pd(device.context()), "ibv_alloc_pd");
	Mapping memory(8192, PageKind::kSmall);
	if (ibv_reg_mr(pd, memory.data(), std::size_t{1} << 40, IBV_ACCESS_LOCAL_WRITE) != nullptr)
		fail("a region of 1 TiB was registered");
	if (ibv_reg_mr(pd, reinterpret_cast<void *>(4096), 4096, IBV_ACCESS_LOCAL_WRITE) != nullptr)
		fail("memory that is not there was registered");
	if (ibv_reg_mr(pd, memory.data(), 8192, IBV_ACCESS_REMOTE_WRITE) != nullptr)
		fail("remote write without local write was granted");
	if (ibv_reg_mr(pd, memory.data(), 8192, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_HUGETLB << 3) != nullptr)
		fail("an unknown access flag was accepted");
	if (ibv_reg_mr(pd, reinterpret_cast<void *>(~std::uintptr_t{0} - 4095), 8192, IBV_ACCESS_LOCAL_WRITE) != nullptr)
		fail("a region that wraps around was registered");
	must_succeed(ibv_dealloc_pd(pd), "ibv_dealloc_pd");
}

void unsupported_types(const std::string &name)
{
	const Device device(name);
	QueuePairMaker maker(device);
	for (const ibv_qp_type type : {IBV_QPT_RAW_PACKET, static_cast<ibv_qp_type>(200)}) {
		ibv_qp *qp = maker.create([type](ibv_qp_init_attr &a) { a.qp_type = type; });
		if (qp != nullptr)
			fail("a queue pair of type %d was created", type);
		if (last_error() != EINVAL && last_error() != EOPNOTSUPP && last_error() != EPERM)
			fail_errno("a queue pair of an unsupported type", last_error());
	}
}

// Until no more can be had; then all are given back and can be had again.
void exhaust_queue_pairs(const std::string &name)
{
	const Device device(name);
	QueuePairMaker maker(device);
	constexpr std::size_t kMany = 300;  // enough to see growth, few enough for an emulated guest
	for (int round = 0; round < 2; round++) {
		std::vector<ibv_qp *> qps;
		while (qps.size() < kMany) {
			ibv_qp *qp = maker.create([](ibv_qp_init_attr &) {});
			if (qp == nullptr)
				break;
			qps.push_back(qp);
		}
		if (qps.size() < kMany && last_error() != ENOMEM)
			fail_errno("the queue pair that was one too many", last_error());
		for (ibv_qp *qp : qps)
			must_succeed(ibv_destroy_qp(qp), "ibv_destroy_qp");
	}
}

}  // namespace

void add_limit_cases(Cases &cases)
{
	cases.insert(cases.end(), {
		{"oversized-queue-pair", oversized_queue_pair},
		{"oversized-cq", oversized_cq},
		{"bad-registrations", bad_registrations},
		{"unsupported-types", unsupported_types},
		{"many-queue-pairs", exhaust_queue_pairs},
	});
}

}  // namespace verbs_test
