// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "error/parts.hh"

#include "deadline.hh"
#include "failure.hh"

#include <algorithm>
#include <cinttypes>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <unistd.h>

namespace verbs_test {

namespace {

constexpr int kAccess = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
			IBV_ACCESS_REMOTE_ATOMIC;
constexpr int kCqDepth = 256;

}  // namespace

Parts::Parts(const Device &the_device) : device(the_device)
{
	pd = must(ibv_alloc_pd(device.context()), "ibv_alloc_pd");
	send_cq = must(ibv_create_cq(device.context(), kCqDepth, nullptr, nullptr, 0), "ibv_create_cq");
	receive_cq = must(ibv_create_cq(device.context(), kCqDepth, nullptr, nullptr, 0), "ibv_create_cq");
	xrcd = open_xrcd();
	mr = must(ibv_reg_mr(pd, memory.data(), kBufferSize, kAccess), "ibv_reg_mr");
	std::memset(memory.data(), 0xcc, kBufferSize);
}

Parts::~Parts()
{
	for (ibv_qp *qp : qps_)
		must_succeed(ibv_destroy_qp(qp), "ibv_destroy_qp at the end");
	for (ibv_srq *srq : srqs_)
		must_succeed(ibv_destroy_srq(srq), "ibv_destroy_srq at the end");
	for (ibv_xrcd *domain : xrcds_)
		must_succeed(ibv_close_xrcd(domain), "ibv_close_xrcd at the end");
	must_succeed(ibv_destroy_cq(send_cq), "ibv_destroy_cq at the end");
	must_succeed(ibv_destroy_cq(receive_cq), "ibv_destroy_cq at the end");
	must_succeed(ibv_dereg_mr(mr), "ibv_dereg_mr at the end");
	must_succeed(ibv_dealloc_pd(pd), "ibv_dealloc_pd at the end");
}

ibv_qp *Parts::try_create(ibv_qp_type type, const Change &change)
{
	ibv_qp_init_attr_ex attributes{};
	attributes.qp_type = type;
	if (type == IBV_QPT_XRC_RECV) {
		attributes.comp_mask = IBV_QP_INIT_ATTR_XRCD;
		attributes.xrcd = xrcd;
	} else {
		attributes.comp_mask = IBV_QP_INIT_ATTR_PD;
		attributes.pd = pd;
		attributes.send_cq = send_cq;
		attributes.sq_sig_all = 1;
		attributes.cap = {16, 16, 4, 4, 64};
	}
	if (type == IBV_QPT_XRC_SEND)
		attributes.cap.max_recv_wr = attributes.cap.max_recv_sge = 0;
	else if (type != IBV_QPT_XRC_RECV)
		attributes.recv_cq = receive_cq;
	if (change)
		change(attributes);
	ibv_qp *qp = ibv_create_qp_ex(device.context(), &attributes);
	if (qp != nullptr)
		qps_.push_back(qp);
	return qp;
}

ibv_qp *Parts::create(ibv_qp_type type, const Change &change)
{
	return must(try_create(type, change), "ibv_create_qp_ex");
}

void Parts::destroy(ibv_qp *qp)
{
	must_succeed(ibv_destroy_qp(qp), "ibv_destroy_qp");
	qps_.erase(std::find(qps_.begin(), qps_.end(), qp));
}

ibv_srq *Parts::create_srq(std::uint32_t max_wr, std::uint32_t max_sge)
{
	ibv_srq_init_attr attributes{};
	attributes.attr.max_wr = max_wr;
	attributes.attr.max_sge = max_sge;
	srqs_.push_back(must(ibv_create_srq(pd, &attributes), "ibv_create_srq"));
	return srqs_.back();
}

ibv_xrcd *Parts::open_xrcd()
{
	ibv_xrcd_init_attr attributes{};
	attributes.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS;
	attributes.fd = -1;
	attributes.oflags = O_CREAT;
	xrcds_.push_back(must(ibv_open_xrcd(device.context(), &attributes), "ibv_open_xrcd"));
	return xrcds_.back();
}

ibv_srq *Parts::create_xrc_srq(ibv_xrcd *domain, std::uint32_t max_wr)
{
	ibv_srq_init_attr_ex attributes{};
	attributes.attr.max_wr = max_wr;
	attributes.attr.max_sge = 1;
	attributes.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_XRCD |
			       IBV_SRQ_INIT_ATTR_CQ;
	attributes.srq_type = IBV_SRQT_XRC;
	attributes.pd = pd;
	attributes.xrcd = domain;
	attributes.cq = receive_cq;
	srqs_.push_back(must(ibv_create_srq_ex(device.context(), &attributes), "ibv_create_srq_ex"));
	return srqs_.back();
}

void Parts::destroy(ibv_srq *srq)
{
	must_succeed(ibv_destroy_srq(srq), "ibv_destroy_srq");
	srqs_.erase(std::find(srqs_.begin(), srqs_.end(), srq));
}

ibv_ah_attr Parts::address_of_own_port() const
{
	ibv_ah_attr attributes{};
	attributes.is_global = 1;
	attributes.port_num = kPort;
	attributes.grh.dgid = device.gid();
	attributes.grh.sgid_index = device.gid_index();
	attributes.grh.hop_limit = 64;
	return attributes;
}

void connect_both(const Device &device, ibv_qp *a, ibv_qp *b, const ConnectionOptions &options)
{
	connect(a, device, {device.gid(), b->qp_num}, options);
	connect(b, device, {device.gid(), a->qp_num}, options);
}

void make_ready(const Device &device, ibv_qp *qp, const ConnectionOptions &options)
{
	connect(qp, device, {device.gid(), 0}, options);
}

int try_receive(ibv_srq *srq, const ibv_sge *sge, int count, std::uint64_t wr_id)
{
	ibv_recv_wr wr{wr_id, nullptr, const_cast<ibv_sge *>(sge), count};
	ibv_recv_wr *bad = nullptr;
	const int error = ibv_post_srq_recv(srq, &wr, &bad);
	if (error != 0 && bad != &wr)
		fail("ibv_post_srq_recv failed and bad_wr is not the work request");
	return error;
}

int try_send_datagram(ibv_qp *qp, ibv_ah *ah, std::uint32_t qpn, std::uint32_t qkey, const ibv_sge &sge,
		      std::uint64_t wr_id)
{
	ibv_sge element = sge;
	ibv_send_wr wr{};
	wr.wr_id = wr_id;
	wr.sg_list = &element;
	wr.num_sge = 1;
	wr.opcode = IBV_WR_SEND;
	wr.wr.ud.ah = ah;
	wr.wr.ud.remote_qpn = qpn;
	wr.wr.ud.remote_qkey = qkey;
	ibv_send_wr *bad = nullptr;
	return ibv_post_send(qp, &wr, &bad);
}

void send_datagram(ibv_qp *qp, ibv_ah *ah, std::uint32_t qpn, std::uint32_t qkey, const ibv_sge &sge,
		   std::uint64_t wr_id)
{
	must_succeed(try_send_datagram(qp, ah, qpn, qkey, sge, wr_id), "ibv_post_send of a datagram");
}

void send_xrc(ibv_qp *initiator, std::uint32_t srqn, const ibv_sge &sge, std::uint64_t wr_id)
{
	ibv_sge element = sge;
	ibv_send_wr wr{};
	wr.wr_id = wr_id;
	wr.sg_list = &element;
	wr.num_sge = 1;
	wr.opcode = IBV_WR_SEND;
	wr.qp_type.xrc.remote_srqn = srqn;
	ibv_send_wr *bad = nullptr;
	must_succeed(ibv_post_send(initiator, &wr, &bad), "ibv_post_send of XRC");
}

std::uint64_t hardware_counter(const Device &device, const std::string &name)
{
	const std::string path = "/sys/class/infiniband/" + device.name() + "/ports/1/hw_counters/" + name;
	std::uint64_t value = 0;
	if (!(std::ifstream(path) >> value))
		fail("%s cannot be read", path.c_str());
	return value;
}

void expect_counted(const Device &device, const std::string &name, std::uint64_t before, std::uint64_t more)
{
	const Deadline deadline(kPatience);
	std::uint64_t now;
	// the core reads the counters of a device at most every 10 ms
	while ((now = hardware_counter(device, name)) < before + more) {
		if (deadline.passed())
			fail("waited %.0f s for %s to go from %" PRIu64 " to %" PRIu64 ", it is %" PRIu64, kPatience,
			     name.c_str(), before, before + more, now);
		usleep(5000);
	}
	if (now > before + more)
		fail("%s is %" PRIu64 " instead of %" PRIu64, name.c_str(), now, before + more);
}

}  // namespace verbs_test
