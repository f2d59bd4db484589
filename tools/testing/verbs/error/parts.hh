// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// What queue pairs of any type are made of, and words for making them.  All of
// it goes when the object does.
#pragma once

#include "error/rig.hh"

#include <functional>
#include <vector>

namespace verbs_test {

inline constexpr ibv_qp_type kQpTypes[] = {IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD, IBV_QPT_XRC_SEND, IBV_QPT_XRC_RECV};

class Parts {
 public:
	explicit Parts(const Device &device);
	~Parts();
	Parts(const Parts &) = delete;
	Parts &operator=(const Parts &) = delete;

	using Change = std::function<void(ibv_qp_init_attr_ex &)>;
	// nullptr with errno, or a queue pair of 16 work requests that goes with the parts
	ibv_qp *try_create(ibv_qp_type type, const Change &change = {});
	ibv_qp *create(ibv_qp_type type, const Change &change = {});
	void destroy(ibv_qp *qp);

	ibv_srq *create_srq(std::uint32_t max_wr, std::uint32_t max_sge = 1);
	ibv_xrcd *open_xrcd();
	ibv_srq *create_xrc_srq(ibv_xrcd *domain, std::uint32_t max_wr);
	void destroy(ibv_srq *srq);

	ibv_sge sge(std::uint32_t length = 256, std::uint32_t offset = 0) const
	{
		return {reinterpret_cast<std::uint64_t>(memory.data()) + offset, length, mr->lkey};
	}
	ibv_ah_attr address_of_own_port() const;

	const Device &device;
	ibv_pd *pd;
	ibv_cq *send_cq;
	ibv_cq *receive_cq;
	// of XRC targets
	ibv_xrcd *xrcd;
	Mapping memory{kBufferSize, PageKind::kSmall};
	ibv_mr *mr;

 private:
	std::vector<ibv_qp *> qps_;
	std::vector<ibv_srq *> srqs_;
	std::vector<ibv_xrcd *> xrcds_;
};

// Connects two queue pairs of RC or UC, or an initiator and a target of XRC.
void connect_both(const Device &device, ibv_qp *a, ibv_qp *b, const ConnectionOptions &options = ConnectionOptions());
// UD: ready to send.
void make_ready(const Device &device, ibv_qp *qp, const ConnectionOptions &options = ConnectionOptions());

int try_receive(ibv_srq *srq, const ibv_sge *sge, int count, std::uint64_t wr_id);
// A SEND of UD.
int try_send_datagram(ibv_qp *qp, ibv_ah *ah, std::uint32_t qpn, std::uint32_t qkey, const ibv_sge &sge,
		      std::uint64_t wr_id);
void send_datagram(ibv_qp *qp, ibv_ah *ah, std::uint32_t qpn, std::uint32_t qkey, const ibv_sge &sge,
		   std::uint64_t wr_id);
// Through XRC to a shared receive queue.
void send_xrc(ibv_qp *initiator, std::uint32_t srqn, const ibv_sge &sge, std::uint64_t wr_id);

// One of the device's counters, as `rdma statistic` shows it.
std::uint64_t hardware_counter(const Device &device, const std::string &name);
// Waits until the counter is `more` above `before`, and fails if it goes beyond.
void expect_counted(const Device &device, const std::string &name, std::uint64_t before, std::uint64_t more);

}  // namespace verbs_test
