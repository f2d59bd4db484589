// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// feature_test - what an application finds of each feature of an ohca device: with it the
// operation works and is announced, without it it is refused by a defined errno and is not.
#include "async/storm.hh"
#include "case.hh"
#include "error/rig.hh"
#include "failure.hh"

#include <infiniband/ohcadv.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <getopt.h>
#include <poll.h>
#include <sstream>

namespace {

using namespace verbs_test;

constexpr std::uint64_t kWork = 0xd1;
// of ibv_device_attr_ex.device_cap_flags_ex: rdma/ib_user_verbs.h
constexpr std::uint64_t kFlushGlobal = std::uint64_t{1} << 38;
constexpr std::uint64_t kAtomicWrite = std::uint64_t{1} << 40;

// The device, and whether it has the feature that is looked at.
struct Probe {
	const Device &device;
	bool offered;
	std::uint64_t missing;  // of all features

	ibv_context *context() const { return device.context(); }

	// For calls that return an object.
	template <typename T>
	T *object(T *pointer, const char *what) const
	{
		const int error = errno;
		if (offered && pointer == nullptr)
			fail_errno(what, error);
		if (!offered && pointer != nullptr)
			fail("%s succeeds without the feature", what);
		if (!offered && error != EOPNOTSUPP)
			fail("%s: %s instead of EOPNOTSUPP", what, std::strerror(error));
		return pointer;
	}

	void call(int error, const char *what, int refusal = EOPNOTSUPP) const
	{
		expect_errno(error, offered ? 0 : refusal, what);
	}

	void announced(bool is_announced, const char *what) const
	{
		if (is_announced != offered)
			fail("%s is%s announced", what, is_announced ? "" : " not");
	}

	ibv_device_attr_ex attributes() const
	{
		ibv_device_attr_ex attributes{};
		must_succeed(ibv_query_device_ex(context(), nullptr, &attributes), "ibv_query_device_ex");
		return attributes;
	}

	std::uint64_t flags() const { return attributes().device_cap_flags_ex; }
};

// A protection domain with a CQ, and a queue pair of any type.
struct Objects {
	explicit Objects(ibv_context *the_context)
		: context(the_context), pd(must(ibv_alloc_pd(context), "ibv_alloc_pd")),
		  cq(must(ibv_create_cq(context, 16, nullptr, nullptr, 0), "ibv_create_cq"))
	{
	}
	~Objects()
	{
		if (qp != nullptr)
			must_succeed(ibv_destroy_qp(qp), "ibv_destroy_qp");
		if (mr != nullptr)
			must_succeed(ibv_dereg_mr(mr), "ibv_dereg_mr");
		must_succeed(ibv_destroy_cq(cq), "ibv_destroy_cq");
		must_succeed(ibv_dealloc_pd(pd), "ibv_dealloc_pd");
	}
	Objects(const Objects &) = delete;
	Objects &operator=(const Objects &) = delete;

	ibv_qp *create_qp(ibv_qp_type type, std::uint64_t send_ops = 0, ibv_srq *srq = nullptr)
	{
		ibv_qp_init_attr_ex attributes{};
		attributes.send_cq = attributes.recv_cq = cq;
		attributes.srq = srq;
		attributes.cap = {8, 8, 1, 1, 0};
		attributes.qp_type = type;
		attributes.comp_mask = IBV_QP_INIT_ATTR_PD;
		attributes.pd = pd;
		if (send_ops != 0) {
			attributes.comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
			attributes.send_ops_flags = send_ops;
		}
		errno = 0;
		return qp = ibv_create_qp_ex(context, &attributes);
	}

	ibv_mr *register_memory(int access)
	{
		errno = 0;
		return mr = ibv_reg_mr(pd, memory.data(), memory.length(), access);
	}

	ibv_context *context;
	ibv_pd *pd;
	ibv_cq *cq;
	ibv_qp *qp = nullptr;
	ibv_mr *mr = nullptr;
	Mapping memory{4096, PageKind::kSmall};
};

void probe_queue_pair(const Probe &probe, ibv_qp_type type, const char *what)
{
	Objects objects(probe.context());
	probe.object(objects.create_qp(type), what);
}

// ibv_wr_* of the operation is promised, or the queue pair is not created.
void probe_send_ops(const Probe &probe, std::uint64_t send_ops, const char *what)
{
	Objects objects(probe.context());
	probe.object(objects.create_qp(IBV_QPT_RC, send_ops), what);
}

// Posted on a connected queue pair: it succeeds, or is refused when it is posted. The elements of `wr` are
// filled in; `memory_access`: of the rig's memory.
void probe_work(const Probe &probe, ibv_send_wr wr, std::uint32_t length, int memory_access, const char *what)
{
	RigOptions options;
	options.memory_access = memory_access;
	options.connection.access = static_cast<unsigned>(memory_access & ~IBV_ACCESS_LOCAL_WRITE);
	Rig rig(probe.device, options);
	ibv_sge sge = rig.a.sge(length);
	wr.wr_id = kWork;
	wr.sg_list = &sge;
	wr.num_sge = length == 0 ? 0 : 1;
	const Work target = rig.work(IBV_WR_RDMA_WRITE);
	if (wr.opcode == IBV_WR_ATOMIC_CMP_AND_SWP || wr.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr.wr.atomic.remote_addr = target.remote_address;
		wr.wr.atomic.rkey = target.rkey;
	} else {
		wr.wr.rdma.remote_addr = target.remote_address;
		wr.wr.rdma.rkey = target.rkey;
	}
	ibv_send_wr *bad = nullptr;
	probe.call(ibv_post_send(rig.a.qp, &wr, &bad), what, EINVAL);
	if (probe.offered)
		expect_completion(rig.a.send_cq, kWork, IBV_WC_SUCCESS, what);
	else
		expect_nothing(rig.a.send_cq, 0.1, what);
}

constexpr int kPlainAccess = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;

void probe_uc(const Probe &probe)
{
	probe_queue_pair(probe, IBV_QPT_UC, "a UC queue pair");
}

void probe_ud(const Probe &probe)
{
	probe_queue_pair(probe, IBV_QPT_UD, "a UD queue pair");
	Objects objects(probe.context());
	ibv_ah_attr attributes{};
	attributes.is_global = 1;
	attributes.port_num = kPort;
	attributes.grh.dgid = probe.device.gid();
	attributes.grh.sgid_index = probe.device.gid_index();
	errno = 0;
	ibv_ah *ah = probe.object(ibv_create_ah(objects.pd, &attributes), "ibv_create_ah");
	if (ah != nullptr)
		must_succeed(ibv_destroy_ah(ah), "ibv_destroy_ah");
}

void probe_srq(const Probe &probe)
{
	Objects objects(probe.context());
	probe.announced(probe.attributes().orig_attr.max_srq != 0, "max_srq");
	ibv_srq_init_attr attributes{nullptr, {16, 1, 0}};
	errno = 0;
	ibv_srq *srq = probe.object(ibv_create_srq(objects.pd, &attributes), "ibv_create_srq");
	if (srq == nullptr)
		return;
	probe.object(objects.create_qp(IBV_QPT_RC, 0, srq), "a queue pair with an SRQ");
	must_succeed(ibv_destroy_qp(objects.qp), "ibv_destroy_qp");
	objects.qp = nullptr;
	must_succeed(ibv_destroy_srq(srq), "ibv_destroy_srq");
}

void probe_xrc(const Probe &probe)
{
	probe.announced(probe.flags() & IBV_DEVICE_XRC, "IBV_DEVICE_XRC");
	ibv_xrcd_init_attr attributes{IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS, -1, O_CREAT};
	errno = 0;
	ibv_xrcd *xrcd = probe.object(ibv_open_xrcd(probe.context(), &attributes), "ibv_open_xrcd");
	if (xrcd != nullptr)
		must_succeed(ibv_close_xrcd(xrcd), "ibv_close_xrcd");
	Objects objects(probe.context());
	ibv_qp_init_attr_ex init{};
	init.send_cq = objects.cq;
	init.cap = {8, 0, 1, 0, 0};
	init.qp_type = IBV_QPT_XRC_SEND;
	init.comp_mask = IBV_QP_INIT_ATTR_PD;
	init.pd = objects.pd;
	errno = 0;
	objects.qp = probe.object(ibv_create_qp_ex(probe.context(), &init), "an XRC queue pair");
}

// Only a device with UD queue pairs can have it, and only there can it be asked for.
void probe_multicast(const Probe &probe)
{
	probe.announced(probe.attributes().orig_attr.max_mcast_grp != 0, "max_mcast_grp");
	Objects objects(probe.context());
	if (objects.create_qp(IBV_QPT_UD) == nullptr) {
		if (probe.offered)
			fail("multicast without UD");
		return;
	}
	ibv_qp_attr attributes{};
	attributes.qp_state = IBV_QPS_INIT;
	attributes.port_num = kPort;
	must_succeed(ibv_modify_qp(objects.qp, &attributes,
				   IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY), "UD to INIT");
	ibv_gid group{};
	const std::uint8_t kAllNodes[] = {0xff, 0x02, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
	std::memcpy(group.raw, kAllNodes, sizeof(kAllNodes));
	probe.call(ibv_attach_mcast(objects.qp, &group, 0), "ibv_attach_mcast");
	if (probe.offered)
		must_succeed(ibv_detach_mcast(objects.qp, &group, 0), "ibv_detach_mcast");
}

void probe_resize(const Probe &probe)
{
	Objects objects(probe.context());
	probe.call(ibv_resize_cq(objects.cq, 100), "ibv_resize_cq");
}

void probe_moderation(const Probe &probe)
{
	Objects objects(probe.context());
	probe.announced(probe.attributes().cq_mod_caps.max_cq_count != 0, "cq_mod_caps");
	ibv_modify_cq_attr attributes{IBV_CQ_ATTR_MODERATE, {4, 10}};
	probe.call(ibv_modify_cq(objects.cq, &attributes), "ibv_modify_cq");
}

void probe_window(const Probe &probe)
{
	probe.announced(probe.flags() & IBV_DEVICE_MEM_WINDOW, "IBV_DEVICE_MEM_WINDOW");
	probe.announced(probe.flags() & IBV_DEVICE_MEM_WINDOW_TYPE_2B, "IBV_DEVICE_MEM_WINDOW_TYPE_2B");
	probe.announced(probe.attributes().orig_attr.max_mw != 0, "max_mw");
	probe_send_ops(probe, IBV_QP_EX_WITH_BIND_MW, "ibv_wr_bind_mw()");
	Objects objects(probe.context());
	for (const ibv_mw_type type : {IBV_MW_TYPE_1, IBV_MW_TYPE_2}) {
		errno = 0;
		ibv_mw *window = probe.object(ibv_alloc_mw(objects.pd, type), "ibv_alloc_mw");
		if (window != nullptr)
			must_succeed(ibv_dealloc_mw(window), "ibv_dealloc_mw");
	}
	probe.object(objects.register_memory(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND), "IBV_ACCESS_MW_BIND");
}

void probe_zero_based(const Probe &probe)
{
	Objects objects(probe.context());
	probe.object(objects.register_memory(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_ZERO_BASED), "IBV_ACCESS_ZERO_BASED");
}

void probe_atomic(const Probe &probe)
{
	probe.announced(probe.attributes().orig_attr.atomic_cap != IBV_ATOMIC_NONE, "atomic_cap");
	const int access = kPlainAccess | (probe.offered ? IBV_ACCESS_REMOTE_ATOMIC : 0);
	for (const ibv_wr_opcode opcode : {IBV_WR_ATOMIC_CMP_AND_SWP, IBV_WR_ATOMIC_FETCH_AND_ADD}) {
		ibv_send_wr wr{};
		wr.opcode = opcode;
		wr.send_flags = IBV_SEND_SIGNALED;
		probe_work(probe, wr, 8, access, "an atomic");
	}
	probe_send_ops(probe, IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP, "ibv_wr_atomic_cmp_swp()");
	probe_send_ops(probe, IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD, "ibv_wr_atomic_fetch_add()");
	Objects objects(probe.context());
	probe.object(objects.register_memory(kPlainAccess | IBV_ACCESS_REMOTE_ATOMIC), "IBV_ACCESS_REMOTE_ATOMIC");
}

// The receiver must have something to invalidate, so the work request is built but only its refusal is tried.
void probe_send_inv(const Probe &probe)
{
	probe_send_ops(probe, IBV_QP_EX_WITH_SEND_WITH_INV, "ibv_wr_send_inv()");
	if (probe.offered)
		return;
	ibv_send_wr wr{};
	wr.opcode = IBV_WR_SEND_WITH_INV;
	wr.send_flags = IBV_SEND_SIGNALED;
	probe_work(probe, wr, 64, kPlainAccess, "SEND with invalidate");
}

void probe_atomic_write(const Probe &probe)
{
	probe.announced(probe.flags() & kAtomicWrite, "atomic write");
	probe_send_ops(probe, IBV_QP_EX_WITH_ATOMIC_WRITE, "ibv_wr_atomic_write()");
	ibv_send_wr wr{};
	wr.opcode = IBV_WR_ATOMIC_WRITE;
	wr.send_flags = IBV_SEND_SIGNALED;
	probe_work(probe, wr, 8, kPlainAccess, "an atomic write");
}

void probe_flush(const Probe &probe)
{
	probe.announced(probe.flags() & kFlushGlobal, "flush to global visibility");
	probe_send_ops(probe, IBV_QP_EX_WITH_FLUSH, "ibv_wr_flush()");
	Objects objects(probe.context());
	probe.object(objects.register_memory(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_FLUSH_GLOBAL), "IBV_ACCESS_FLUSH_GLOBAL");
}

void probe_compound(const Probe &probe)
{
	RigOptions options;
	options.connected = false;
	options.memory_access = kPlainAccess;
	Rig rig(probe.device, options);
	ohcadv_async_queue *queue = must(ohcadv_create_async_queue(probe.context(), 2), "ohcadv_create_async_queue");
	const ibv_qp_attr connection = connect_attributes(probe.device, rig.b.qp->qp_num);
	must_succeed(ohcadv_connect_qp_async(queue, rig.a.qp, &connection, kConnectMask, kWork), "ohcadv_connect_qp_async");
	must_succeed(ohcadv_disconnect_qp_async(queue, rig.b.qp, kWork), "ohcadv_disconnect_qp_async");
	for (int i = 0; i < 2; i++) {
		pollfd file = {queue->fd, POLLIN, 0};
		ohcadv_async_completion completion{};
		if (poll(&file, 1, static_cast<int>(kPatience * 1000)) != 1 || ohcadv_read_async(queue, &completion, 1) != 1)
			fail("waited %.0f s for a completion", kPatience);
		probe.call(completion.error, completion.qp == rig.a.qp ? "a connection" : "a disconnection");
	}
	must_succeed(ohcadv_destroy_async_queue(queue), "ohcadv_destroy_async_queue");
}

void probe_fast_reg(const Probe &probe)
{
	// It stands for SEND with invalidate, too.
	const bool complete = !(probe.missing & (OHCADV_CAP_FAST_REG | OHCADV_CAP_SEND_INV));
	if (((probe.flags() & IBV_DEVICE_MEM_MGT_EXTENSIONS) != 0) != complete)
		fail("IBV_DEVICE_MEM_MGT_EXTENSIONS is%s announced", complete ? " not" : "");
}

// Whatever is masked must be refused without harm to this.
void probe_rc(const Probe &probe)
{
	for (const ibv_wr_opcode opcode : {IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ}) {
		ibv_send_wr wr{};
		wr.opcode = opcode;
		wr.send_flags = IBV_SEND_SIGNALED;
		probe_work(probe, wr, 4096, kPlainAccess, "an RDMA operation");
	}
}

struct Row {
	const char *name;  // as ohcactl features prints it
	std::uint64_t capability;
	void (*probe)(const Probe &probe);  // null: the kernel's affair, see kverbs
};

constexpr Row kRows[] = {
	{"rc", OHCADV_CAP_RC, probe_rc},
	{"atomic", OHCADV_CAP_ATOMIC, probe_atomic},
	{"send-inv", OHCADV_CAP_SEND_INV, probe_send_inv},
	{"uc", OHCADV_CAP_UC, probe_uc},
	{"ud", OHCADV_CAP_UD, probe_ud},
	{"srq", OHCADV_CAP_SRQ, probe_srq},
	{"xrc", OHCADV_CAP_XRC, probe_xrc},
	{"multicast", OHCADV_CAP_MULTICAST, probe_multicast},
	{"resize", OHCADV_CAP_RESIZE, probe_resize},
	{"moderation", OHCADV_CAP_MODERATION, probe_moderation},
	{"window", OHCADV_CAP_WINDOW, probe_window},
	{"fast-reg", OHCADV_CAP_FAST_REG, probe_fast_reg},
	{"zero-based", OHCADV_CAP_ZERO_BASED, probe_zero_based},
	{"read-inv", OHCADV_CAP_READ_INV, nullptr},
	{"masked-atomic", OHCADV_CAP_MASKED_ATOMIC, nullptr},
	{"atomic-write", OHCADV_CAP_ATOMIC_WRITE, probe_atomic_write},
	{"flush", OHCADV_CAP_FLUSH, probe_flush},
	{"sg-gaps", OHCADV_CAP_SG_GAPS, nullptr},
	{"compound", OHCADV_CAP_COMPOUND, probe_compound},
	{"recycle", OHCADV_CAP_RECYCLE, nullptr},
	{"integrity", OHCADV_CAP_INTEGRITY, nullptr},
};

std::uint64_t parse_missing(const std::string &list)
{
	std::uint64_t missing = 0;
	std::stringstream stream(list);
	for (std::string name; std::getline(stream, name, '+');) {
		const Row *found = nullptr;
		for (const Row &row : kRows) {
			if (name == row.name)
				found = &row;
		}
		if (found == nullptr)
			fail("there is no feature '%s'", name.c_str());
		missing |= found->capability;
	}
	return missing;
}

void check_row(const std::string &name, const Row &row, std::uint64_t missing)
{
	const Device device(name);
	if (!ohcadv_is_supported(device.context()->device))
		fail("ohcadv_is_supported() does not know %s", name.c_str());
	ohcadv_device_attr attributes;
	must_succeed(ohcadv_query_device(device.context(), &attributes, sizeof(attributes)), "ohcadv_query_device");
	const Probe probe{device, !(missing & row.capability), missing};
	probe.announced(attributes.capabilities & row.capability, "the capability");
	if (row.probe != nullptr)
		row.probe(probe);
}

Cases all_cases(const std::string &device, std::uint64_t missing)
{
	Cases cases;
	for (const Row &row : kRows) {
		const bool offered = !(missing & row.capability);
		cases.push_back({"features/" + device + (offered ? " with " : " without ") + row.name,
				 [&row, missing](const std::string &name) { check_row(name, row, missing); }});
	}
	return cases;
}

}  // namespace

int main(int argc, char **argv)
{
	static constexpr option kOptions[] = {{"device", required_argument, nullptr, 'd'},
					      {"missing", required_argument, nullptr, 'm'},
					      {nullptr, 0, nullptr, 0}};
	std::string device = "ohca0";
	std::uint64_t missing = 0;
	for (int letter; (letter = getopt_long(argc, argv, "", kOptions, nullptr)) != -1;) {
		if (letter == 'd') {
			device = optarg;
		} else if (letter == 'm') {
			missing = parse_missing(optarg);
		} else {
			std::fputs("usage: feature_test [--device NAME] [--missing FEATURE[+FEATURE]...]\n", stderr);
			return 2;
		}
	}
	return run_cases(all_cases(device, missing), {}, device);
}
