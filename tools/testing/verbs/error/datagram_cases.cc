// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// Datagrams and multicast: wrong keys, sizes, address handles and groups.
#include "error/cases.hh"
#include "error/parts.hh"
#include "failure.hh"

#include <cerrno>
#include <unistd.h>

namespace verbs_test {

namespace {

constexpr std::uint32_t kQkey = 0x1234567;
constexpr std::uint32_t kOwnQkey = 0x80000000;
constexpr std::uint32_t kHeader = 40;

// A sender, a receiver and an address handle.
struct Post {
	explicit Post(const std::string &name) : device(name), parts(device)
	{
		a = parts.create(IBV_QPT_UD);
		b = parts.create(IBV_QPT_UD);
		make_ready(device, a);
		make_ready(device, b);
		ibv_ah_attr attributes = parts.address_of_own_port();
		ah = must(ibv_create_ah(parts.pd, &attributes), "ibv_create_ah");
	}
	~Post() { must_succeed(ibv_destroy_ah(ah), "ibv_destroy_ah"); }
	Post(const Post &) = delete;
	Post &operator=(const Post &) = delete;

	void receive_at_b(std::uint64_t wr_id, std::uint32_t length = 4096)
	{
		receive(b, parts.sge(length, kBufferSize / 2), wr_id);
	}
	// Nothing is in the way of good datagrams.
	void expect_delivery(std::uint64_t wr_id)
	{
		send_datagram(a, ah, b->qp_num, kQkey, parts.sge(64), wr_id);
		expect_completion(parts.send_cq, wr_id, IBV_WC_SUCCESS, "a good datagram");
		const ibv_wc wc = wait_completion(parts.receive_cq, "a good datagram at its receiver");
		if (wc.status != IBV_WC_SUCCESS || wc.byte_len != kHeader + 64 || wc.src_qp != a->qp_num)
			fail("a good datagram: status '%s', %u bytes, source 0x%x", ibv_wc_status_str(wc.status), wc.byte_len,
			     wc.src_qp);
	}

	const Device device;
	Parts parts;
	ibv_qp *a;
	ibv_qp *b;
	ibv_ah *ah;
};

// Dropped without a word to the sender, counted, and the receive stays.
// OHCA-UD-D3
void wrong_qkey(const std::string &name)
{
	Post post(name);
	post.receive_at_b(1);
	const std::uint64_t before = hardware_counter(post.device, "qkey_violations");
	for (std::uint64_t i = 0; i < 3; i++) {
		send_datagram(post.a, post.ah, post.b->qp_num, kQkey + 1, post.parts.sge(), i);
		expect_completion(post.parts.send_cq, i, IBV_WC_SUCCESS, "a datagram with a wrong Q_Key");
	}
	expect_counted(post.device, "qkey_violations", before, 3);
	expect_nothing(post.parts.receive_cq, 0.1, "datagrams with a wrong Q_Key");
	post.expect_delivery(10);
}

// Bit 31 in a work request means the queue pair's own Q_Key, and only privileged users may have one with it.
// OHCA-UD-D2
void controlled_qkey(const std::string &name)
{
	Post post(name);
	post.receive_at_b(1);
	send_datagram(post.a, post.ah, post.b->qp_num, kOwnQkey | 0x55, post.parts.sge(64), 1);
	expect_completion(post.parts.send_cq, 1, IBV_WC_SUCCESS, "a datagram with the sender's Q_Key");
	expect_completion(post.parts.receive_cq, 1, IBV_WC_SUCCESS, "a datagram with the sender's Q_Key, received");
	ibv_qp_attr attributes{};
	attributes.qkey = 0x777;
	must_succeed(ibv_modify_qp(post.a, &attributes, IBV_QP_QKEY), "another Q_Key in RTS");
	post.receive_at_b(2);
	const std::uint64_t before = hardware_counter(post.device, "qkey_violations");
	send_datagram(post.a, post.ah, post.b->qp_num, kOwnQkey | kQkey, post.parts.sge(64), 2);
	expect_completion(post.parts.send_cq, 2, IBV_WC_SUCCESS, "a datagram with the sender's other Q_Key");
	expect_counted(post.device, "qkey_violations", before, 1);
	post.expect_delivery(3);
	// root may set one
	attributes.qkey = kOwnQkey | 1;
	must_succeed(ibv_modify_qp(post.a, &attributes, IBV_QP_QKEY), "a controlled Q_Key for root");
	constexpr uid_t kNobody = 65534;
	if (setresuid(kNobody, kNobody, kNobody) != 0)
		fail_errno("setresuid", last_error());
	attributes.qkey = kOwnQkey | 2;
	expect_errno(ibv_modify_qp(post.a, &attributes, IBV_QP_QKEY), EPERM, "a controlled Q_Key for nobody");
}

// OHCA-UD-D7
void longer_than_mtu(const std::string &name)
{
	Post post(name);
	const std::uint32_t mtu = 128U << post.device.port().active_mtu;
	post.receive_at_b(1, mtu + kHeader);
	send_datagram(post.a, post.ah, post.b->qp_num, kQkey, post.parts.sge(mtu), 1);
	expect_completion(post.parts.send_cq, 1, IBV_WC_SUCCESS, "a datagram of the MTU");
	const ibv_wc wc = wait_completion(post.parts.receive_cq, "a datagram of the MTU");
	if (wc.byte_len != mtu + kHeader)
		fail("a datagram of the MTU has %u bytes", wc.byte_len);
	const std::uint32_t largest = 128U << post.device.port().max_mtu;
	send_datagram(post.a, post.ah, post.b->qp_num, kQkey, post.parts.sge(largest + 1), 2);
	expect_completion(post.parts.send_cq, 2, IBV_WC_LOC_LEN_ERR, "a datagram longer than the MTU");
	expect_state(post.a, IBV_QPS_SQE, "the sender");
}

// OHCA-UD-D7 OHCA-UD-H1
void handle_of_another_pd(const std::string &name)
{
	Post post(name);
	ibv_pd *other = must(ibv_alloc_pd(post.device.context()), "ibv_alloc_pd");
	ibv_ah_attr attributes = post.parts.address_of_own_port();
	ibv_ah *ah = must(ibv_create_ah(other, &attributes), "ibv_create_ah");
	post.receive_at_b(1);
	send_datagram(post.a, ah, post.b->qp_num, kQkey, post.parts.sge(), 1);
	expect_completion(post.parts.send_cq, 1, IBV_WC_LOC_QP_OP_ERR, "a datagram through an AH of another PD");
	expect_state(post.a, IBV_QPS_SQE, "the sender");
	expect_nothing(post.parts.receive_cq, 0.1, "a datagram through an AH of another PD");
	must_succeed(to_state(post.a, IBV_QPS_RTS), "SQE to RTS");
	post.expect_delivery(2);
	must_succeed(ibv_destroy_ah(ah), "ibv_destroy_ah");
	must_succeed(ibv_dealloc_pd(other), "ibv_dealloc_pd");
}

void expect_no_handle(Post &post, ibv_ah_attr attributes, const char *what, int error = EINVAL)
{
	ibv_ah *ah = ibv_create_ah(post.parts.pd, &attributes);
	if (ah != nullptr)
		fail("%s: an address handle was created", what);
	expect_errno(last_error(), error, what);
}

// On RoCE there is no other way to say where to.
void handle_without_grh(const std::string &name)
{
	Post post(name);
	const ibv_ah_attr good = post.parts.address_of_own_port();
	ibv_ah_attr bad = good;
	bad.is_global = 0;
	expect_no_handle(post, bad, "without a GRH");
	bad = good;
	bad.port_num = 2;
	expect_no_handle(post, bad, "port 2");
	bad = good;
	bad.grh.sgid_index = 255;
	expect_no_handle(post, bad, "a GID index without a GID", ENODATA);  // the core's answer for any RoCE device
	expect_errno(try_send_datagram(post.a, nullptr, post.b->qp_num, kQkey, post.parts.sge(), 1), EINVAL,
		     "a datagram without an address handle");
	post.receive_at_b(1);
	post.expect_delivery(2);
}

// A receive without room for the network header is left to a datagram that has none to spare either.
// OHCA-UD-D4
void no_room_for_grh(const std::string &name)
{
	Post post(name);
	const std::uint64_t before = hardware_counter(post.device, "datagrams_dropped");
	send_datagram(post.a, post.ah, post.b->qp_num, kQkey, post.parts.sge(64), 1);
	expect_counted(post.device, "datagrams_dropped", before, 1);  // no receive at all
	post.receive_at_b(7, 64);
	send_datagram(post.a, post.ah, post.b->qp_num, kQkey, post.parts.sge(64), 2);
	expect_counted(post.device, "datagrams_dropped", before, 2);
	expect_nothing(post.parts.receive_cq, 0.1, "datagrams without room for their header");
	send_datagram(post.a, post.ah, post.b->qp_num, kQkey, post.parts.sge(64 - kHeader), 3);
	expect_completion(post.parts.receive_cq, 7, IBV_WC_SUCCESS, "a datagram that fits with its header");
	expect_state(post.b, IBV_QPS_RTS, "the receiver");
	for (std::uint64_t i = 1; i <= 3; i++)
		expect_completion(post.parts.send_cq, i, IBV_WC_SUCCESS, "the sender's side");
}

// A local error of a sender that nobody waits for.
// OHCA-SQE-D1
void send_error_of_datagrams(const std::string &name)
{
	Post post(name);
	ibv_sge bad = post.parts.sge();
	bad.lkey ^= 0x5a;
	send_datagram(post.a, post.ah, post.b->qp_num, kQkey, bad, 1);
	send_datagram(post.a, post.ah, post.b->qp_num, kQkey, post.parts.sge(), 2);
	expect_completion(post.parts.send_cq, 1, IBV_WC_LOC_PROT_ERR, "a datagram with a bad L_Key");
	expect_completion(post.parts.send_cq, 2, IBV_WC_WR_FLUSH_ERR, "the next datagram");
	expect_state(post.a, IBV_QPS_SQE, "the sender");
	// its receive queue goes on
	receive(post.a, post.parts.sge(4096, kBufferSize / 2), 20);
	send_datagram(post.b, post.ah, post.a->qp_num, kQkey, post.parts.sge(), 3);
	expect_completion(post.parts.receive_cq, 20, IBV_WC_SUCCESS, "a datagram to a queue pair in SQE");
	expect_completion(post.parts.send_cq, 3, IBV_WC_SUCCESS, "a datagram to a queue pair in SQE");
	must_succeed(to_state(post.a, IBV_QPS_RTS), "SQE to RTS");
	post.receive_at_b(30);
	post.expect_delivery(4);
}

// OHCA-SQE-D1 OHCA-UC-D2
void send_error_of_uc(const std::string &name)
{
	const Device device(name);
	Parts parts(device);
	ibv_qp *a = parts.create(IBV_QPT_UC);
	ibv_qp *b = parts.create(IBV_QPT_UC);
	connect_both(device, a, b);
	Work work = {IBV_WR_SEND, parts.sge(), 0, 0, 1};
	work.sge.lkey ^= 0x5a;
	post(a, work);
	expect_completion(parts.send_cq, 1, IBV_WC_LOC_PROT_ERR, "a UC SEND with a bad L_Key");
	expect_state(a, IBV_QPS_SQE, "the sender");
	expect_state(b, IBV_QPS_RTS, "the receiver, which has seen nothing");
	work = {IBV_WR_SEND, parts.sge(), 0, 0, 2};
	post(a, work);
	expect_completion(parts.send_cq, 2, IBV_WC_WR_FLUSH_ERR, "a SEND posted in SQE");
	must_succeed(to_state(a, IBV_QPS_RTS), "SQE to RTS");
	receive(b, parts.sge(4096, kBufferSize / 2), 3);
	work.wr_id = 3;
	post(a, work);
	expect_completion(parts.send_cq, 3, IBV_WC_SUCCESS, "a SEND after SQE");
	expect_completion(parts.receive_cq, 3, IBV_WC_SUCCESS, "a SEND after SQE, received");
}

// A remote key that is wrong is nobody's error with UC: the message is lost and counted.
// OHCA-UC-D5
void remote_key_of_uc(const std::string &name)
{
	const Device device(name);
	Parts parts(device);
	ibv_qp *a = parts.create(IBV_QPT_UC);
	ibv_qp *b = parts.create(IBV_QPT_UC);
	connect_both(device, a, b);
	const std::uint64_t before = hardware_counter(device, "uc_messages_lost");
	const std::uint64_t target = reinterpret_cast<std::uint64_t>(parts.memory.data()) + kBufferSize / 2;
	post(a, {IBV_WR_RDMA_WRITE, parts.sge(), target, parts.mr->rkey ^ 0x5a, 1});
	expect_completion(parts.send_cq, 1, IBV_WC_SUCCESS, "a UC WRITE with a bad R_Key");
	expect_counted(device, "uc_messages_lost", before, 1);
	post(a, {IBV_WR_SEND, parts.sge(), 0, 0, 2});
	expect_counted(device, "uc_messages_lost", before, 2);  // nobody receives
	expect_completion(parts.send_cq, 2, IBV_WC_SUCCESS, "a UC SEND that nobody receives");
	expect_state(a, IBV_QPS_RTS, "the sender");
	expect_state(b, IBV_QPS_RTS, "the receiver");
	expect_errno(try_post(a, {IBV_WR_RDMA_READ, parts.sge(), target, parts.mr->rkey, 3}), EINVAL, "a READ of UC");
	expect_errno(try_post(a, {IBV_WR_SEND_WITH_INV, parts.sge(), 0, 0, 4}), EINVAL, "a SEND with invalidate of UC");
}

ibv_gid group(std::uint8_t number)
{
	// 239.1.2.x
	ibv_gid gid{};
	gid.raw[10] = gid.raw[11] = 0xff;
	gid.raw[12] = 239;
	gid.raw[13] = 1;
	gid.raw[14] = 2;
	gid.raw[15] = number;
	return gid;
}

// OHCA-MC-D4
void bad_attachments(const std::string &name)
{
	Post post(name);
	const ibv_gid here = group(7);
	const ibv_gid unicast = post.device.gid();
	expect_errno(ibv_detach_mcast(post.a, &here, 0), EINVAL, "detach without attach");
	expect_errno(ibv_attach_mcast(post.a, &unicast, 0), EINVAL, "attach to an address that is no group");
	for (const ibv_qp_type type : {IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_XRC_SEND}) {
		ibv_qp *qp = post.parts.create(type);
		expect_errno(ibv_attach_mcast(qp, &here, 0), EINVAL, "attach of a queue pair that is not UD");
	}
	must_succeed(ibv_attach_mcast(post.a, &here, 0), "attach");
	must_succeed(ibv_attach_mcast(post.a, &here, 0), "attach again");
	const ibv_gid elsewhere = group(8);
	expect_errno(ibv_detach_mcast(post.a, &elsewhere, 0), EINVAL, "detach from another group");
	expect_errno(ibv_detach_mcast(post.b, &here, 0), EINVAL, "detach of a queue pair that is no member");
	must_succeed(ibv_detach_mcast(post.a, &here, 0), "detach");
	expect_errno(ibv_detach_mcast(post.a, &here, 0), EINVAL, "detach again");
}

ibv_ah *handle_of_group(Post &post, const ibv_gid &gid)
{
	ibv_ah_attr attributes = post.parts.address_of_own_port();
	attributes.grh.dgid = gid;
	return must(ibv_create_ah(post.parts.pd, &attributes), "ibv_create_ah of a group");
}

// Members of the sending function get their copies unless they were created not to.
// OHCA-MC-D1 OHCA-MC-D3
void blocked_loopback(const std::string &name)
{
	constexpr std::uint32_t kMulticastQpn = 0xffffff;
	Post post(name);
	const ibv_gid gid = group(9);
	ibv_qp *blocked = post.parts.create(IBV_QPT_UD, [](ibv_qp_init_attr_ex &attributes) {
		attributes.comp_mask |= IBV_QP_INIT_ATTR_CREATE_FLAGS;
		attributes.create_flags = IBV_QP_CREATE_BLOCK_SELF_MCAST_LB;
	});
	make_ready(post.device, blocked);
	for (ibv_qp *qp : {post.a, post.b, blocked}) {
		must_succeed(ibv_attach_mcast(qp, &gid, 0), "attach");
		receive(qp, post.parts.sge(4096, kBufferSize / 2), qp->qp_num);
	}
	ibv_ah *ah = handle_of_group(post, gid);
	for (ibv_qp *sender : {post.a, blocked}) {
		send_datagram(sender, ah, kMulticastQpn, kQkey, post.parts.sge(), 1);
		expect_completion(post.parts.send_cq, 1, IBV_WC_SUCCESS, "a multicast");
		bool seen_a = false;
		bool seen_b = false;
		for (int i = 0; i < 2; i++) {
			const ibv_wc wc = wait_completion(post.parts.receive_cq, "copies of a multicast");
			if (wc.status != IBV_WC_SUCCESS || wc.src_qp != sender->qp_num)
				fail("a copy: status '%s', source 0x%x", ibv_wc_status_str(wc.status), wc.src_qp);
			seen_a |= wc.qp_num == post.a->qp_num;
			seen_b |= wc.qp_num == post.b->qp_num;
		}
		if (!seen_a || !seen_b)
			fail("a multicast did not reach both members");
		expect_nothing(post.parts.receive_cq, 0.1, "a third copy, for the member that blocks its own function's");
		for (ibv_qp *qp : {post.a, post.b})
			receive(qp, post.parts.sge(4096, kBufferSize / 2), qp->qp_num);
	}
	must_succeed(ibv_destroy_ah(ah), "ibv_destroy_ah");
	for (ibv_qp *qp : {post.a, post.b, blocked})
		must_succeed(ibv_detach_mcast(qp, &gid, 0), "detach");
}

// Only datagrams have it.
void blocked_loopback_of_others(const std::string &name)
{
	const Device device(name);
	Parts parts(device);
	for (const ibv_qp_type type : {IBV_QPT_RC, IBV_QPT_UC}) {
		const ibv_qp *qp = parts.try_create(type, [](ibv_qp_init_attr_ex &attributes) {
			attributes.comp_mask |= IBV_QP_INIT_ATTR_CREATE_FLAGS;
			attributes.create_flags = IBV_QP_CREATE_BLOCK_SELF_MCAST_LB;
		});
		if (qp != nullptr)
			fail("type %d can block multicast loopback", type);
		expect_errno(last_error(), EOPNOTSUPP, "blocking multicast loopback on a connected queue pair");
	}
}

}  // namespace

void add_datagram_cases(Cases &cases)
{
	cases.insert(cases.end(), {
		{"ud-wrong-qkey", wrong_qkey},
		{"ud-controlled-qkey", controlled_qkey},
		{"ud-longer-than-mtu", longer_than_mtu},
		{"ud-handle-of-another-pd", handle_of_another_pd},
		{"ud-handle-without-grh", handle_without_grh},
		{"ud-no-room-for-grh", no_room_for_grh},
		{"ud-send-error", send_error_of_datagrams},
		{"uc-send-error", send_error_of_uc},
		{"uc-remote-key", remote_key_of_uc},
		{"multicast-bad-attachments", bad_attachments},
		{"multicast-blocked-loopback", blocked_loopback},
		{"multicast-blocked-loopback-of-others", blocked_loopback_of_others},
	});
}

}  // namespace verbs_test
