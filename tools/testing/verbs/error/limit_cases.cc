// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// Objects larger, or more of them, than the device has.
#include "error/cases.hh"
#include "error/parts.hh"
#include "failure.hh"

#include <cerrno>
#include <cstring>
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

// A work request with max_sge elements goes through, on both sides; one more is refused at once.
void elements_at_the_limit(const std::string &name)
{
	const Device device(name);
	const auto count = static_cast<std::uint32_t>(device.attributes().max_sge);
	RigOptions options;
	options.capabilities = {4, 4, count, count, 0};
	Rig rig(device, options);
	std::vector<ibv_sge> from(count + 64, rig.a.sge(16));
	std::vector<ibv_sge> to(count + 64, rig.b.sge(16));
	for (std::uint32_t i = 0; i < count; i++) {
		from[i].addr += 100 * i;
		to[i].addr += 128 * i + kBufferSize / 2;
		std::memset(reinterpret_cast<void *>(from[i].addr), static_cast<int>(i + 1), 16);
	}
	must_succeed(try_receive(rig.b.qp, to.data(), static_cast<int>(count), 1), "a receive with max_sge elements");
	ibv_send_wr wr{};
	wr.opcode = IBV_WR_SEND;
	wr.sg_list = from.data();
	wr.num_sge = static_cast<int>(count);
	ibv_send_wr *bad = nullptr;
	must_succeed(ibv_post_send(rig.a.qp, &wr, &bad), "a SEND with max_sge elements");
	expect_completion(rig.b.receive_cq, 1, IBV_WC_SUCCESS, "a SEND with max_sge elements");
	for (std::uint32_t i = 0; i < count; i++) {
		if (std::memcmp(reinterpret_cast<void *>(to[i].addr), reinterpret_cast<void *>(from[i].addr), 16) != 0)
			fail("element %u of %u arrived wrong", i, count);
	}
	// what was granted may be more than what was asked for
	ibv_qp_attr attributes{};
	ibv_qp_init_attr granted{};
	must_succeed(ibv_query_qp(rig.a.qp, &attributes, IBV_QP_CAP, &granted), "ibv_query_qp");
	if (granted.cap.max_send_sge > count)
		fail("%u elements were granted, max_sge is %u", granted.cap.max_send_sge, count);
	wr.num_sge = static_cast<int>(count) + 1;
	expect_errno(ibv_post_send(rig.a.qp, &wr, &bad), EINVAL, "a SEND with max_sge + 1 elements");
	expect_errno(try_receive(rig.b.qp, to.data(), static_cast<int>(count) + 1, 2), EINVAL,
		     "a receive with max_sge + 1 elements");
}

// All of a queue pair with max_qp_wr work requests is there: as many can be posted.
void depth_at_the_limit(const std::string &name)
{
	const Device device(name);
	const auto depth = static_cast<std::uint32_t>(device.attributes().max_qp_wr);
	Parts parts(device);
	ibv_qp *qp = parts.create(IBV_QPT_RC, [depth](ibv_qp_init_attr_ex &attributes) {
		attributes.cap = {depth, depth, 1, 1, 0};
	});
	ConnectionOptions options;
	must_succeed(to_init(qp, options), "to INIT");
	const ibv_sge sge = parts.sge();
	for (std::uint32_t i = 0; i < depth; i++)
		must_succeed(try_receive(qp, &sge, 1, i), "one of max_qp_wr receives");
	expect_errno(try_receive(qp, &sge, 1, depth), ENOMEM, "receive max_qp_wr + 1");
}

// OHCA-CMD-D3
void shared_queue_at_the_limit(const std::string &name)
{
	const Device device(name);
	const auto depth = static_cast<std::uint32_t>(device.attributes().max_srq_wr);
	const auto elements = static_cast<std::uint32_t>(device.attributes().max_srq_sge);
	Parts parts(device);
	const auto refused = [&parts](std::uint32_t wr, std::uint32_t sge, const char *what) {
		ibv_srq_init_attr attributes{};
		attributes.attr.max_wr = wr;
		attributes.attr.max_sge = sge;
		expect_refused(ibv_create_srq(parts.pd, &attributes), what);
	};
	refused(depth + 1, 1, "max_srq_wr + 1");
	refused(~0U, 1, "max_wr 2^32 - 1");
	refused(0, 1, "an SRQ without elements");
	refused(16, elements + 1, "max_srq_sge + 1");
	refused(16, ~0U, "max_sge 2^32 - 1");
	parts.destroy(parts.create_srq(16, elements));
	ibv_srq *srq = parts.create_srq(depth);
	const ibv_sge sge = parts.sge();
	for (std::uint32_t i = 0; i < depth; i++) {
		ibv_recv_wr wr{i, nullptr, const_cast<ibv_sge *>(&sge), 1};
		ibv_recv_wr *bad = nullptr;
		must_succeed(ibv_post_srq_recv(srq, &wr, &bad), "one of max_srq_wr receives");
	}
	expect_errno(try_receive(srq, &sge, 1, depth), ENOMEM, "receive max_srq_wr + 1");
}

// Both halves of RDMA READ and atomic depth, and the values beyond.
void read_atomic_at_the_limit(const std::string &name)
{
	const Device device(name);
	RigOptions options;
	options.connection.read_atomic_initiator = static_cast<std::uint8_t>(device.attributes().max_qp_init_rd_atom);
	options.connection.read_atomic_responder = static_cast<std::uint8_t>(device.attributes().max_qp_rd_atom);
	options.capabilities.max_send_wr = 64;
	Rig rig(device, options);
	Work work = rig.work(IBV_WR_RDMA_READ);
	for (std::uint64_t i = 0; i < 50; i++) {
		work.wr_id = i;
		post(rig.a.qp, work);
	}
	for (std::uint64_t i = 0; i < 50; i++)
		expect_completion(rig.a.send_cq, i, IBV_WC_SUCCESS, "a READ with the announced depth");
	ibv_qp_attr attributes{};
	ibv_qp_init_attr created{};
	must_succeed(ibv_query_qp(rig.a.qp, &attributes, IBV_QP_MAX_QP_RD_ATOMIC, &created), "ibv_query_qp");
	if (attributes.max_rd_atomic != options.connection.read_atomic_initiator ||
	    attributes.max_dest_rd_atomic != options.connection.read_atomic_responder)
		fail("a queue pair with max_rd_atomic %u and max_dest_rd_atomic %u says %u and %u",
		     options.connection.read_atomic_initiator, options.connection.read_atomic_responder,
		     attributes.max_rd_atomic, attributes.max_dest_rd_atomic);
	must_succeed(to_state(rig.b.qp, IBV_QPS_RESET), "to RESET");
	must_succeed(to_init(rig.b.qp, options.connection), "to INIT");
	const Peer peer = {device.gid(), rig.a.qp->qp_num};
	ConnectionOptions beyond = options.connection;
	beyond.read_atomic_responder++;
	expect_errno(to_rtr(rig.b.qp, device, peer, beyond), EINVAL, "max_qp_rd_atom + 1");
	must_succeed(to_rtr(rig.b.qp, device, peer, options.connection), "to RTR");
	beyond = options.connection;
	beyond.read_atomic_initiator++;
	expect_errno(to_rts(rig.b.qp, beyond), EINVAL, "max_qp_init_rd_atom + 1");
}

// A group takes max_mcast_qp_attach queue pairs, and then no other until one has left.
// OHCA-MC-D5
void members_at_the_limit(const std::string &name)
{
	constexpr int kPatient = 2000;  // members that are worth creating
	const Device device(name);
	const int limit = device.attributes().max_mcast_qp_attach;
	if (limit < 1 || limit > kPatient)
		fail("max_mcast_qp_attach is %d", limit);
	Parts parts(device);
	ibv_gid group{};
	group.raw[10] = group.raw[11] = 0xff;
	group.raw[12] = 239;
	group.raw[15] = 77;
	std::vector<ibv_qp *> members;
	const auto small = [](ibv_qp_init_attr_ex &attributes) { attributes.cap = {1, 1, 1, 1, 0}; };
	for (int i = 0; i < limit; i++) {
		members.push_back(parts.create(IBV_QPT_UD, small));
		must_succeed(ibv_attach_mcast(members.back(), &group, 0), "one of max_mcast_qp_attach members");
	}
	ibv_qp *one_more = parts.create(IBV_QPT_UD, small);
	expect_errno(ibv_attach_mcast(one_more, &group, 0), ENOMEM, "member max_mcast_qp_attach + 1");
	must_succeed(ibv_detach_mcast(members.back(), &group, 0), "detach");
	must_succeed(ibv_attach_mcast(one_more, &group, 0), "a member in place of another");
	members.back() = one_more;
	for (ibv_qp *qp : members)
		must_succeed(ibv_detach_mcast(qp, &group, 0), "detach");
}

// A group more than max_mcast_grp.
// OHCA-MC-D5
void groups_at_the_limit(const std::string &name)
{
	const Device device(name);
	const int limit = device.attributes().max_mcast_grp;
	Parts parts(device);
	ibv_qp *qp = parts.create(IBV_QPT_UD);
	const auto group = [](int number) {
		ibv_gid gid{};
		gid.raw[0] = 0xff;
		gid.raw[1] = 0x15;
		std::memcpy(gid.raw + 8, &number, sizeof(number));
		return gid;
	};
	int attached = 0;
	int error = 0;
	for (; attached <= limit && error == 0; attached++) {
		const ibv_gid gid = group(attached);
		error = ibv_attach_mcast(qp, &gid, 0);
	}
	attached -= error != 0 ? 1 : 0;
	if (attached > limit)
		fail("%d groups where max_mcast_grp is %d", attached, limit);
	expect_errno(error, ENOMEM, "group max_mcast_grp + 1");
	// the kernel's own interfaces are members of groups, too
	if (attached < limit - limit / 8)
		fail("%d groups of max_mcast_grp %d could be attached to", attached, limit);
	for (int i = 0; i < attached; i++) {
		const ibv_gid gid = group(i);
		must_succeed(ibv_detach_mcast(qp, &gid, 0), "detach");
	}
}

// So many that the address handle that was one too many does not exist: they are counted by nobody.
// What can be shown is that a thousand do not cost the device anything that runs out.
void many_address_handles(const std::string &name)
{
	constexpr std::size_t kMany = 2000;
	const Device device(name);
	if (device.attributes().max_ah < static_cast<int>(kMany))
		fail("max_ah is %d", device.attributes().max_ah);
	Parts parts(device);
	ibv_ah_attr attributes = parts.address_of_own_port();
	std::vector<ibv_ah *> handles;
	while (handles.size() < kMany)
		handles.push_back(must(ibv_create_ah(parts.pd, &attributes), "ibv_create_ah"));
	for (ibv_ah *ah : handles)
		must_succeed(ibv_destroy_ah(ah), "ibv_destroy_ah");
}

// max_mr, max_mw, max_cq, max_srq, max_qp and max_pd are more than a small guest has memory for; the
// device's own tests fill small tables.  Here: that a good many can be had, twice, of each kind.
void many_objects(const std::string &name)
{
	constexpr std::size_t kMany = 1000;
	const Device device(name);
	const ibv_device_attr &limits = device.attributes();
	for (const int limit : {limits.max_mr, limits.max_mw, limits.max_cq, limits.max_srq, limits.max_pd}) {
		if (limit < static_cast<int>(kMany))
			fail("a limit is %d", limit);
	}
	Parts parts(device);
	for (int round = 0; round < 2; round++) {
		std::vector<ibv_pd *> pds;
		std::vector<ibv_mr *> mrs;
		std::vector<ibv_mw *> mws;
		std::vector<ibv_cq *> cqs;
		for (std::size_t i = 0; i < kMany; i++) {
			pds.push_back(must(ibv_alloc_pd(device.context()), "ibv_alloc_pd"));
			mrs.push_back(must(ibv_reg_mr(pds.back(), parts.memory.data(), 4096, 0), "ibv_reg_mr"));
			mws.push_back(must(ibv_alloc_mw(pds.back(), IBV_MW_TYPE_2), "ibv_alloc_mw"));
			cqs.push_back(must(ibv_create_cq(device.context(), 1, nullptr, nullptr, 0), "ibv_create_cq"));
		}
		for (std::size_t i = 0; i < kMany; i++) {
			must_succeed(ibv_destroy_cq(cqs[i]), "ibv_destroy_cq");
			must_succeed(ibv_dealloc_mw(mws[i]), "ibv_dealloc_mw");
			must_succeed(ibv_dereg_mr(mrs[i]), "ibv_dereg_mr");
			must_succeed(ibv_dealloc_pd(pds[i]), "ibv_dealloc_pd");
		}
	}
}

// Every vector that num_comp_vectors counts, and the one behind.
void completion_vectors(const std::string &name)
{
	const Device device(name);
	const int count = device.context()->num_comp_vectors;
	for (int i = 0; i < count; i++)
		must_succeed(ibv_destroy_cq(must(ibv_create_cq(device.context(), 4, nullptr, nullptr, i), "ibv_create_cq")),
			     "ibv_destroy_cq");
	expect_refused(ibv_create_cq(device.context(), 4, nullptr, nullptr, count), "completion vector num_comp_vectors");
}

// A message of max_msg_sz is the sum of elements that overlap: the guest's memory is smaller.
void message_at_the_limit(const std::string &name)
{
	constexpr std::uint32_t kPiece = 128 << 20;
	const Device device(name);
	const std::uint32_t limit = device.port().max_msg_sz;
	const std::uint32_t count = limit / kPiece;
	if (count * kPiece != limit || static_cast<int>(count) > device.attributes().max_sge)
		fail("max_msg_sz is %u", limit);
	RigOptions options;
	options.capabilities = {4, 4, count + 1, count + 1, 0};
	Rig rig(device, options);
	const Mapping memory(kPiece, PageKind::kTransparent);
	ibv_mr *from = must(ibv_reg_mr(rig.a.pd, memory.data(), kPiece, IBV_ACCESS_LOCAL_WRITE), "ibv_reg_mr");
	ibv_mr *to = must(ibv_reg_mr(rig.b.pd, memory.data(), kPiece, IBV_ACCESS_LOCAL_WRITE), "ibv_reg_mr");
	const auto address = reinterpret_cast<std::uint64_t>(memory.data());
	std::vector<ibv_sge> sources(count + 1, ibv_sge{address, kPiece, from->lkey});
	std::vector<ibv_sge> targets(count + 1, ibv_sge{address, kPiece, to->lkey});
	sources[count].length = 1;
	targets[count].length = 1;
	ibv_send_wr wr{};
	wr.opcode = IBV_WR_SEND;
	wr.sg_list = sources.data();
	ibv_send_wr *bad = nullptr;
	must_succeed(try_receive(rig.b.qp, targets.data(), static_cast<int>(count), 1), "a receive of max_msg_sz");
	wr.num_sge = static_cast<int>(count);
	must_succeed(ibv_post_send(rig.a.qp, &wr, &bad), "a SEND of max_msg_sz");
	const ibv_wc wc = wait_completion(rig.b.receive_cq, "a SEND of max_msg_sz");
	if (wc.status != IBV_WC_SUCCESS || wc.byte_len != limit)
		fail("a SEND of max_msg_sz: status '%s', %u bytes", ibv_wc_status_str(wc.status), wc.byte_len);
	expect_completion(rig.a.send_cq, 0, IBV_WC_SUCCESS, "a SEND of max_msg_sz");
	wr.num_sge = static_cast<int>(count) + 1;
	wr.wr_id = 2;
	must_succeed(ibv_post_send(rig.a.qp, &wr, &bad), "a SEND of max_msg_sz + 1");
	expect_completion(rig.a.send_cq, 2, IBV_WC_LOC_LEN_ERR, "a SEND of max_msg_sz + 1");
	must_succeed(ibv_dereg_mr(from), "ibv_dereg_mr");
	must_succeed(ibv_dereg_mr(to), "ibv_dereg_mr");
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
		{"limit-elements", elements_at_the_limit},
		{"limit-depth", depth_at_the_limit},
		{"limit-shared-queue", shared_queue_at_the_limit},
		{"limit-read-atomic", read_atomic_at_the_limit},
		{"limit-multicast-members", members_at_the_limit},
		{"limit-multicast-groups", groups_at_the_limit},
		{"limit-address-handles", many_address_handles},
		{"limit-objects", many_objects},
		{"limit-completion-vectors", completion_vectors},
		{"limit-message", message_at_the_limit},
	});
}

}  // namespace verbs_test
