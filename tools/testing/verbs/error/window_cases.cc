// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// Memory windows: bound to what they may not be, used when they are not bound.  What
// they grant when they are is for window_test.
#include "error/cases.hh"
#include "error/rig.hh"
#include "failure.hh"

#include <cerrno>

namespace verbs_test {

namespace {

constexpr unsigned kRemote = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
constexpr int kWhole = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND | kRemote;
constexpr std::uint32_t kLength = 8192;

// b's memory through a window of b's; a works through it.
struct Windows {
	explicit Windows(const std::string &name) : device(name), rig(device)
	{
		mr = must(ibv_reg_mr(rig.b.pd, rig.b.memory.data(), kLength, kWhole), "ibv_reg_mr");
		window = must(ibv_alloc_mw(rig.b.pd, IBV_MW_TYPE_2), "ibv_alloc_mw");
	}
	~Windows()
	{
		must_succeed(ibv_dealloc_mw(window), "ibv_dealloc_mw at the end");
		must_succeed(ibv_dereg_mr(mr), "ibv_dereg_mr at the end");
	}
	Windows(const Windows &) = delete;
	Windows &operator=(const Windows &) = delete;

	ibv_mw_bind_info whole() const
	{
		return {mr, reinterpret_cast<std::uint64_t>(rig.b.memory.data()), kLength, kRemote};
	}
	// The status of the completion; the window has the new rkey if it is success.
	ibv_wc_status bind(const ibv_mw_bind_info &info, ibv_mw *which = nullptr)
	{
		ibv_mw *mw = which != nullptr ? which : window;
		ibv_send_wr wr{};
		wr.opcode = IBV_WR_BIND_MW;
		wr.bind_mw = {mw, ibv_inc_rkey(mw->rkey), info};
		ibv_send_wr *bad = nullptr;
		must_succeed(ibv_post_send(rig.b.qp, &wr, &bad), "ibv_post_send of a bind");
		const ibv_wc_status status = wait_completion(rig.b.send_cq, "a bind").status;
		if (status == IBV_WC_SUCCESS)
			mw->rkey = wr.bind_mw.rkey;
		return status;
	}
	ibv_wc_status invalidate(std::uint32_t key)
	{
		ibv_send_wr wr{};
		wr.opcode = IBV_WR_LOCAL_INV;
		wr.invalidate_rkey = key;
		ibv_send_wr *bad = nullptr;
		must_succeed(ibv_post_send(rig.b.qp, &wr, &bad), "ibv_post_send of an invalidation");
		return wait_completion(rig.b.send_cq, "an invalidation").status;
	}
	ibv_wc_status write(std::uint64_t address)
	{
		Work work = rig.work(IBV_WR_RDMA_WRITE);
		work.remote_address = address;
		work.rkey = window->rkey;
		post(rig.a.qp, work);
		return wait_completion(rig.a.send_cq, "a WRITE through a window").status;
	}
	void reconnect()
	{
		must_succeed(to_state(rig.a.qp, IBV_QPS_RESET), "to RESET");
		must_succeed(to_state(rig.b.qp, IBV_QPS_RESET), "to RESET");
		rig.connect_both();
	}

	const Device device;
	Rig rig;
	ibv_mr *mr;
	ibv_mw *window;
};

void expect_status(ibv_wc_status got, ibv_wc_status wanted, const char *what)
{
	if (got != wanted)
		fail("%s: status '%s' instead of '%s'", what, ibv_wc_status_str(got), ibv_wc_status_str(wanted));
}

void expect_bind_error(Windows &windows, const ibv_mw_bind_info &info, const char *what)
{
	expect_status(windows.bind(info), IBV_WC_MW_BIND_ERR, what);
	expect_state(windows.rig.b.qp, IBV_QPS_ERR, what);
	windows.reconnect();
	// and it is not half bound
	expect_status(windows.bind(windows.whole()), IBV_WC_SUCCESS, "a good bind afterwards");
	expect_status(windows.write(windows.whole().addr), IBV_WC_SUCCESS, "a WRITE through that");
	expect_status(windows.invalidate(windows.window->rkey), IBV_WC_SUCCESS, "its invalidation");
}

// OHCA-MEM-D17
void bind_out_of_range(const std::string &name)
{
	Windows windows(name);
	ibv_mw_bind_info info = windows.whole();
	info.length++;
	expect_bind_error(windows, info, "a window longer than its region");
	info = windows.whole();
	info.addr--;
	expect_bind_error(windows, info, "a window that begins before its region");
	info = windows.whole();
	info.addr = ~std::uint64_t{0} - 63;
	expect_bind_error(windows, info, "a window that wraps around");
	info = windows.whole();
	info.length = 0;
	expect_bind_error(windows, info, "a window of type 2 without length");
}

// OHCA-MEM-D17
void bind_of_another_pd(const std::string &name)
{
	Windows windows(name);
	ibv_mw *foreign = must(ibv_alloc_mw(windows.rig.a.pd, IBV_MW_TYPE_2), "ibv_alloc_mw");
	expect_status(windows.bind(windows.whole(), foreign), IBV_WC_MW_BIND_ERR, "a window of another PD");
	windows.reconnect();
	ibv_mr *other = must(ibv_reg_mr(windows.rig.a.pd, windows.rig.b.memory.data(), kLength, kWhole), "ibv_reg_mr");
	ibv_mw_bind_info info = windows.whole();
	info.mr = other;
	expect_status(windows.bind(info), IBV_WC_MW_BIND_ERR, "a region of another PD");
	must_succeed(ibv_dereg_mr(other), "ibv_dereg_mr");
	must_succeed(ibv_dealloc_mw(foreign), "ibv_dealloc_mw");
}

// OHCA-MEM-D19 OHCA-MEM-D20
void use_after_invalidation(const std::string &name)
{
	Windows windows(name);
	const std::uint64_t address = windows.whole().addr;
	expect_status(windows.write(address), IBV_WC_REM_ACCESS_ERR, "a WRITE through a window that was never bound");
	windows.reconnect();
	expect_status(windows.bind(windows.whole()), IBV_WC_SUCCESS, "a bind");
	expect_status(windows.write(address), IBV_WC_SUCCESS, "a WRITE");
	expect_status(windows.invalidate(windows.window->rkey), IBV_WC_SUCCESS, "an invalidation");
	expect_status(windows.write(address), IBV_WC_REM_ACCESS_ERR, "a WRITE after the invalidation");
	windows.reconnect();
	expect_status(windows.invalidate(windows.window->rkey), IBV_WC_MW_BIND_ERR, "another invalidation");
	windows.reconnect();
	expect_status(windows.bind(windows.whole()), IBV_WC_SUCCESS, "a bind");
	windows.reconnect();
	expect_status(windows.write(address), IBV_WC_REM_ACCESS_ERR, "a WRITE after a reset of the window's queue pair");
}

// What is refused before the device sees it.
void refused_at_once(const std::string &name)
{
	Windows windows(name);
	ibv_mw *type_1 = must(ibv_alloc_mw(windows.rig.b.pd, IBV_MW_TYPE_1), "ibv_alloc_mw of type 1");
	ibv_mw_bind bind{};
	bind.bind_info = windows.whole();
	expect_errno(ibv_bind_mw(windows.rig.b.qp, windows.window, &bind), EINVAL, "ibv_bind_mw of a window of type 2");
	bind.bind_info.mw_access_flags |= IBV_ACCESS_ZERO_BASED;
	expect_errno(ibv_bind_mw(windows.rig.b.qp, type_1, &bind), EINVAL, "a window of type 1 that is zero based");
	bind.bind_info = windows.whole();
	bind.bind_info.mr = nullptr;
	if (ibv_bind_mw(windows.rig.b.qp, type_1, &bind) == 0)
		fail("a window was bound to no region");
	bind.bind_info = windows.whole();
	bind.bind_info.mw_access_flags = 1U << 30;
	expect_errno(ibv_bind_mw(windows.rig.b.qp, type_1, &bind), EINVAL, "unknown access flags");
	ibv_send_wr wr{};
	wr.opcode = IBV_WR_BIND_MW;
	wr.bind_mw = {type_1, ibv_inc_rkey(type_1->rkey), windows.whole()};
	ibv_send_wr *bad = nullptr;
	expect_errno(ibv_post_send(windows.rig.b.qp, &wr, &bad), EINVAL, "a window of type 1 by ibv_post_send");
	bind.bind_info = windows.whole();
	must_succeed(ibv_bind_mw(windows.rig.b.qp, type_1, &bind), "ibv_bind_mw of type 1");
	expect_completion(windows.rig.b.send_cq, 0, IBV_WC_SUCCESS, "a bind of type 1");
	expect_errno(ibv_dereg_mr(windows.mr), EBUSY, "deregistering a region that has a window of type 1");
	must_succeed(ibv_dealloc_mw(type_1), "ibv_dealloc_mw of a window that is bound");
}

}  // namespace

void add_window_cases(Cases &cases)
{
	cases.insert(cases.end(), {
		{"window-bind-out-of-range", bind_out_of_range},
		{"window-bind-of-another-pd", bind_of_another_pd},
		{"window-use-after-invalidation", use_after_invalidation},
		{"window-refused-at-once", refused_at_once},
	});
}

}  // namespace verbs_test
