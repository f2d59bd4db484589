// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// window_test - memory windows of type 1 and 2B, and zero-based addresses, as an application
// uses them: what a window grants, and how it ends.
#include "case.hh"
#include "failure.hh"
#include "window/window.hh"

#include <cerrno>
#include <cstring>
#include <getopt.h>

namespace {

using namespace verbs_test;

constexpr std::uint64_t kReceive = 0xc1;
constexpr std::uint64_t kSend = 0xc2;

// The next key of the window: its index, another consumer key.
std::uint32_t next_key(const ibv_mw *window)
{
	return ibv_inc_rkey(window->rkey);
}

void require_bound(const ibv_wc &wc)
{
	if (wc.status != IBV_WC_SUCCESS)
		fail("a bind ends with '%s' (vendor error %u)", ibv_wc_status_str(wc.status), wc.vendor_err);
}

ibv_mw *bound_type_2(WindowRig &rig, unsigned access = kAllRights)
{
	ibv_mw *window = rig.allocate(IBV_MW_TYPE_2);
	require_bound(rig.bind_type_2(window, next_key(window), rig.part(kWindowOffset, kWindowLength, access)));
	return window;
}

// OHCA-MEM-D16 OHCA-MEM-D5
void type_1_grants_its_range(const std::string &name)
{
	const Device device(name);
	WindowRig rig(device);
	ibv_mw *window = rig.allocate(IBV_MW_TYPE_1);
	rig.bind_type_1(window, rig.part(kWindowOffset, kWindowLength, kAllRights));
	rig.require_use(rig.address(kWindowOffset), window->rkey, kWindowOffset, kWindowLength);
	rig.require_refusal(IBV_WR_RDMA_WRITE, rig.address(kWindowOffset) - 1, window->rkey, 2, "WRITE before the window");
	rig.require_refusal(IBV_WR_RDMA_WRITE, rig.address(kWindowOffset) + kWindowLength - 1, window->rkey, 2,
			    "WRITE beyond the window");
	// of type 1, so it has survived the reset of its queue pair
	rig.require_use(rig.address(kWindowOffset), window->rkey, kWindowOffset, kWindowLength);
}

void grants_its_rights_only(WindowRig &rig, const std::function<std::uint32_t(unsigned)> &bind)
{
	const std::uint64_t address = rig.address(kWindowOffset);
	std::uint32_t rkey = bind(IBV_ACCESS_REMOTE_READ);
	if (rig.use(IBV_WR_RDMA_READ, address, rkey, 64) != IBV_WC_SUCCESS)
		fail("READ through a window that grants it is refused");
	rig.require_refusal(IBV_WR_RDMA_WRITE, address, rkey, 64, "WRITE through a window that grants READ");
	rkey = bind(IBV_ACCESS_REMOTE_WRITE);
	if (rig.use(IBV_WR_RDMA_WRITE, address, rkey, 64) != IBV_WC_SUCCESS)
		fail("WRITE through a window that grants it is refused");
	rig.require_refusal(IBV_WR_RDMA_READ, address, rkey, 64, "READ through a window that grants WRITE");
	rkey = bind(IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE);
	rig.require_refusal(IBV_WR_ATOMIC_FETCH_AND_ADD, address, rkey, 8, "an atomic through a window that does not grant it");
}

void type_1_grants_its_rights(const std::string &name)
{
	const Device device(name);
	WindowRig rig(device);
	ibv_mw *window = rig.allocate(IBV_MW_TYPE_1);
	grants_its_rights_only(rig, [&](unsigned access) {
		rig.bind_type_1(window, rig.part(kWindowOffset, kWindowLength, access));
		return window->rkey;
	});
}

void type_1_is_rebound(const std::string &name)
{
	const Device device(name);
	WindowRig rig(device);
	ibv_mw *window = rig.allocate(IBV_MW_TYPE_1);
	rig.bind_type_1(window, rig.part(kWindowOffset, kWindowLength, kAllRights));
	const std::uint32_t old = window->rkey;
	constexpr std::uint32_t kOther = 3 * kWindowOffset;
	rig.bind_type_1(window, rig.part(kOther, 2 * kWindowLength, kAllRights));
	rig.require_use(rig.address(kOther), window->rkey, kOther, 2 * kWindowLength);
	rig.require_refusal(IBV_WR_RDMA_WRITE, rig.address(kWindowOffset), old, 64, "WRITE with the key before");
	rig.require_refusal(IBV_WR_RDMA_WRITE, rig.address(kWindowOffset), window->rkey, 64, "WRITE to the range before");
	const std::uint32_t bound = window->rkey;
	rig.bind_type_1(window, {nullptr, 0, 0, 0});
	rig.require_refusal(IBV_WR_RDMA_READ, rig.address(kOther), bound, 64, "READ through a window that was unbound");
	rig.require_refusal(IBV_WR_RDMA_READ, rig.address(kOther), window->rkey, 64, "READ through an unbound window");
}

void type_2_grants_its_range(const std::string &name, bool extended)
{
	const Device device(name);
	WindowRig rig(device, extended);
	ibv_mw *window = bound_type_2(rig);
	rig.require_use(rig.address(kWindowOffset), window->rkey, kWindowOffset, kWindowLength);
	rig.require_refusal(IBV_WR_RDMA_READ, rig.address(kWindowOffset) - 1, window->rkey, 2, "READ before the window");
	// OHCA-MEM-D20: the reset has ended the binding, so it can be bound
	require_bound(rig.bind_type_2(window, next_key(window), rig.part(kWindowOffset, kWindowLength, kAllRights)));
	rig.require_refusal(IBV_WR_RDMA_READ, rig.address(kWindowOffset) + kWindowLength - 1, window->rkey, 2,
			    "READ beyond the window");
}

void type_2_grants_its_rights(const std::string &name)
{
	const Device device(name);
	WindowRig rig(device);
	ibv_mw *window = rig.allocate(IBV_MW_TYPE_2);
	grants_its_rights_only(rig, [&](unsigned access) {
		require_bound(rig.bind_type_2(window, next_key(window), rig.part(kWindowOffset, kWindowLength, access)));
		return window->rkey;
	});
}

void zero_based_window(const std::string &name, bool extended)
{
	const Device device(name);
	WindowRig rig(device, extended);
	ibv_mw *window = bound_type_2(rig, kAllRights | IBV_ACCESS_ZERO_BASED);
	rig.require_use(0, window->rkey, kWindowOffset, kWindowLength);
	rig.require_refusal(IBV_WR_RDMA_WRITE, rig.address(kWindowOffset), window->rkey, 64,
			    "WRITE by address to a window whose addresses start at 0");
	require_bound(rig.bind_type_2(window, next_key(window),
				      rig.part(kWindowOffset, kWindowLength, kAllRights | IBV_ACCESS_ZERO_BASED)));
	rig.require_refusal(IBV_WR_RDMA_WRITE, kWindowLength - 1, window->rkey, 2, "WRITE beyond a zero-based window");
}

// IBTA 10.6.7: type 1 has the addresses of its region.
void zero_based_type_1_is_refused(const std::string &name)
{
	const Device device(name);
	WindowRig rig(device);
	ibv_mw *window = rig.allocate(IBV_MW_TYPE_1);
	ibv_mw_bind bind{1, IBV_SEND_SIGNALED, rig.part(kWindowOffset, kWindowLength, kAllRights | IBV_ACCESS_ZERO_BASED)};
	expect_errno(ibv_bind_mw(rig.b.qp, window, &bind), EINVAL, "ibv_bind_mw, zero based");
}

// OHCA-MEM-D19 OHCA-MEM-D21
void local_invalidate(const std::string &name, bool extended)
{
	const Device device(name);
	WindowRig rig(device, extended);
	ibv_mw *window = bound_type_2(rig);
	rig.require_use(rig.address(kWindowOffset), window->rkey, kWindowOffset, kWindowLength);
	const std::uint32_t old = window->rkey;
	rig.invalidate_locally(old);
	require_bound(rig.bind_type_2(window, next_key(window), rig.part(kWindowOffset, kWindowLength, kAllRights)));
	rig.require_use(rig.address(kWindowOffset), window->rkey, kWindowOffset, kWindowLength);
	rig.require_refusal(IBV_WR_RDMA_WRITE, rig.address(kWindowOffset), old, 64, "WRITE with the key before");
	require_bound(rig.bind_type_2(window, next_key(window), rig.part(kWindowOffset, kWindowLength, kAllRights)));
	rig.invalidate_locally(window->rkey);
	rig.require_refusal(IBV_WR_RDMA_WRITE, rig.address(kWindowOffset), window->rkey, 64,
			    "WRITE through a window that was invalidated");
}

void send_with_invalidate(WindowRig &rig, std::uint32_t rkey)
{
	receive(rig.b.qp, rig.b.sge(), kReceive);
	ibv_sge sge = rig.a.sge(64);
	ibv_send_wr wr{};
	wr.wr_id = kSend;
	wr.sg_list = &sge;
	wr.num_sge = 1;
	wr.opcode = IBV_WR_SEND_WITH_INV;
	wr.send_flags = IBV_SEND_SIGNALED;
	wr.invalidate_rkey = rkey;
	ibv_send_wr *bad = nullptr;
	must_succeed(ibv_post_send(rig.a.qp, &wr, &bad), "ibv_post_send with invalidate");
	expect_completion(rig.a.send_cq, kSend, IBV_WC_SUCCESS, "SEND with invalidate");
	const ibv_wc wc = wait_completion(rig.b.receive_cq, "the receive");
	if (wc.wr_id != kReceive || wc.status != IBV_WC_SUCCESS)
		fail("the receive ends with '%s'", ibv_wc_status_str(wc.status));
	if (!(wc.wc_flags & IBV_WC_WITH_INV) || wc.invalidated_rkey != rkey)
		fail("the receive says flags 0x%x, key 0x%x instead of 0x%x", wc.wc_flags, wc.invalidated_rkey, rkey);
}

// OHCA-MEM-D23
void remote_invalidate(const std::string &name)
{
	const Device device(name);
	WindowRig rig(device);
	ibv_mw *window = bound_type_2(rig, kAllRights | IBV_ACCESS_ZERO_BASED);
	rig.require_use(0, window->rkey, kWindowOffset, kWindowLength);
	send_with_invalidate(rig, window->rkey);
	require_bound(rig.bind_type_2(window, next_key(window), rig.part(kWindowOffset, kWindowLength, kAllRights)));
	rig.require_use(rig.address(kWindowOffset), window->rkey, kWindowOffset, kWindowLength);
	send_with_invalidate(rig, window->rkey);
	rig.require_refusal(IBV_WR_RDMA_READ, rig.address(kWindowOffset), window->rkey, 64,
			    "READ through a window that the peer has invalidated");
}

// IBTA 10.6.7.2.2, OHCA-MEM-D17
void bound_type_2_is_not_rebound(const std::string &name)
{
	const Device device(name);
	WindowRig rig(device);
	ibv_mw *window = bound_type_2(rig);
	const ibv_wc wc = rig.bind_type_2(window, next_key(window), rig.part(kWindowOffset, kWindowLength, kAllRights));
	if (wc.status != IBV_WC_MW_BIND_ERR)
		fail("a second bind ends with '%s'", ibv_wc_status_str(wc.status));
}

// The range is not all within the region, or the region does not let windows be bound to it.
void bind_that_the_region_forbids(const std::string &name)
{
	const Device device(name);
	WindowRig rig(device);
	ibv_mw *window = rig.allocate(IBV_MW_TYPE_2);
	const std::uint32_t unbound = window->rkey;
	ibv_wc wc = rig.bind_type_2(window, next_key(window), rig.part(kBufferSize - 64, 65, kAllRights));
	if (wc.status != IBV_WC_MW_BIND_ERR)
		fail("a bind beyond the region ends with '%s'", ibv_wc_status_str(wc.status));
	rig.reconnect();
	ibv_mw_bind_info info = rig.part(kWindowOffset, kWindowLength, kAllRights);
	info.mr = rig.b.mr;
	wc = rig.bind_type_2(window, next_key(window), info);
	if (wc.status != IBV_WC_MW_BIND_ERR)
		fail("a bind to a region without IBV_ACCESS_MW_BIND ends with '%s'", ibv_wc_status_str(wc.status));
	if (window->rkey != unbound)
		fail("a bind that failed has changed the key");
}

// OHCA-MEM-D16
void type_2_belongs_to_its_queue_pair(const std::string &name)
{
	const Device device(name);
	WindowRig rig(device);
	WindowRig other(device);
	ibv_mw *window = bound_type_2(rig);
	other.require_refusal(IBV_WR_RDMA_WRITE, rig.address(kWindowOffset), window->rkey, 64,
			      "WRITE through another queue pair");
	rig.require_use(rig.address(kWindowOffset), window->rkey, kWindowOffset, kWindowLength);
}

// OHCA-MEM-D13
void bound_region_stays(const std::string &name, ibv_mw_type type)
{
	const Device device(name);
	WindowRig rig(device);
	ibv_mw *window = rig.allocate(type);
	const ibv_mw_bind_info info = rig.part(kWindowOffset, kWindowLength, kAllRights);
	if (type == IBV_MW_TYPE_1)
		rig.bind_type_1(window, info);
	else
		require_bound(rig.bind_type_2(window, next_key(window), info));
	expect_errno(ibv_dereg_mr(rig.region), EBUSY, "ibv_dereg_mr of a region with a window");
	rig.require_use(rig.address(kWindowOffset), window->rkey, kWindowOffset, kWindowLength);
	rig.deallocate(window);
	must_succeed(ibv_dereg_mr(rig.region), "ibv_dereg_mr once the window is gone");
	std::erase(rig.b.other_mrs, rig.region);
}

// OHCA-MEM-D20
void type_2_ends_with_its_queue_pair(const std::string &name)
{
	const Device device(name);
	WindowRig rig(device);
	bound_type_2(rig);
	expect_errno(ibv_dereg_mr(rig.region), EBUSY, "ibv_dereg_mr of a region with a window");
	rig.destroy_b();
	must_succeed(ibv_dereg_mr(rig.region), "ibv_dereg_mr once the queue pair of the window is gone");
	std::erase(rig.b.other_mrs, rig.region);
}

// Both by its peer and by its owner.
void zero_based_region(const std::string &name)
{
	const Device device(name);
	WindowRig rig(device);
	ibv_mr *region = must(ibv_reg_mr(rig.b.pd, rig.b.memory.data() + kWindowOffset, kWindowLength,
					 IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_ZERO_BASED | kAllRights),
			      "ibv_reg_mr with IBV_ACCESS_ZERO_BASED");
	rig.b.other_mrs.push_back(region);
	rig.require_use(0, region->rkey, kWindowOffset, kWindowLength);

	std::memset(rig.b.memory.data(), 0xbb, kBufferSize);
	std::memset(rig.a.memory.data(), 0x3d, 64);
	receive(rig.b.qp, {kWindowLength - 64, 64, region->lkey}, kReceive);
	post(rig.a.qp, {IBV_WR_SEND, rig.a.sge(64), 0, 0, kSend, IBV_SEND_SIGNALED});
	expect_completion(rig.a.send_cq, kSend, IBV_WC_SUCCESS, "SEND");
	expect_completion(rig.b.receive_cq, kReceive, IBV_WC_SUCCESS, "the receive at an offset");
	if (std::memcmp(rig.b.memory.data() + kWindowOffset + kWindowLength - 64, rig.a.memory.data(), 64) != 0)
		fail("what was received is not at its offset in the region");
	rig.require_refusal(IBV_WR_RDMA_WRITE, rig.address(kWindowOffset), region->rkey, 64,
			    "WRITE by address to a region whose addresses start at 0");
	rig.require_refusal(IBV_WR_RDMA_WRITE, kWindowLength - 1, region->rkey, 2, "WRITE beyond a zero-based region");
}

// The window counts from the region's first byte, whatever that is called.
void window_of_zero_based_region(const std::string &name)
{
	const Device device(name);
	WindowRig rig(device);
	ibv_mr *region = must(ibv_reg_mr(rig.b.pd, rig.b.memory.data() + kWindowOffset, 2 * kWindowLength,
					 IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_ZERO_BASED | IBV_ACCESS_MW_BIND),
			      "ibv_reg_mr with IBV_ACCESS_ZERO_BASED");
	rig.b.other_mrs.push_back(region);
	ibv_mw *window = rig.allocate(IBV_MW_TYPE_2);
	require_bound(rig.bind_type_2(window, next_key(window), {region, kWindowLength, kWindowLength, kAllRights}));
	rig.require_use(kWindowLength, window->rkey, kWindowOffset + kWindowLength, kWindowLength);
}

Cases all_cases()
{
	return {
		{"window/type 1 grants its range", type_1_grants_its_range},
		{"window/type 1 grants its rights", type_1_grants_its_rights},
		{"window/type 1 is bound again and unbound", type_1_is_rebound},
		{"window/type 1 is not zero based", zero_based_type_1_is_refused},
		{"window/type 2B grants its range", [](auto &name) { type_2_grants_its_range(name, false); }},
		{"window/type 2B grants its range, ibv_wr_bind_mw", [](auto &name) { type_2_grants_its_range(name, true); }},
		{"window/type 2B grants its rights", type_2_grants_its_rights},
		{"window/type 2B zero based", [](auto &name) { zero_based_window(name, false); }},
		{"window/type 2B zero based, ibv_wr_bind_mw", [](auto &name) { zero_based_window(name, true); }},
		{"window/LOCAL_INV", [](auto &name) { local_invalidate(name, false); }},
		{"window/LOCAL_INV, ibv_wr_local_inv", [](auto &name) { local_invalidate(name, true); }},
		{"window/SEND with invalidate", remote_invalidate},
		{"window/type 2B is not bound twice", bound_type_2_is_not_rebound},
		{"window/a bind that the region forbids", bind_that_the_region_forbids},
		{"window/type 2B belongs to its queue pair", type_2_belongs_to_its_queue_pair},
		{"window/type 2B ends with its queue pair", type_2_ends_with_its_queue_pair},
		{"window/type 1 keeps its region", [](auto &name) { bound_region_stays(name, IBV_MW_TYPE_1); }},
		{"window/type 2B keeps its region", [](auto &name) { bound_region_stays(name, IBV_MW_TYPE_2); }},
		{"zero based region", zero_based_region},
		{"zero based region with a window", window_of_zero_based_region},
	};
}

}  // namespace

int main(int argc, char **argv)
{
	static constexpr option kOptions[] = {{"device", required_argument, nullptr, 'd'},
					      {"case", required_argument, nullptr, 'c'},
					      {nullptr, 0, nullptr, 0}};
	std::string device = "ohca0";
	std::vector<std::string> wanted;
	for (int letter; (letter = getopt_long(argc, argv, "", kOptions, nullptr)) != -1;) {
		if (letter == 'd')
			device = optarg;
		else if (letter == 'c')
			wanted.emplace_back(optarg);
		else
			return 2;
	}
	return run_cases(all_cases(), wanted, device);
}
