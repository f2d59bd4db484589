// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// Two hosts with UC and UD queue pairs, and a network that loses and delays: one run of one seed.
#pragma once

#include <memory>
#include <vector>

#include "network_model.hh"
#include "unreliable_flow.hh"
#include "world.hh"

namespace ohca::sim {

class UnreliableWorld {
public:
	explicit UnreliableWorld(const Options &options);
	Outcome run();

private:
	static Options adapted(Options options);
	UnreliableFlow::End create_end(uint32_t host, uint8_t type);
	void connect(core::QpContext &qp, const core::QpContext &peer, uint32_t host);
	void transmit(UnreliableFlow &flow);
	// As in one process: no copy, and a link that pauses senders.
	void deliver_directly(UnreliableFlow &flow, const core::Segment &segment);
	void deliver_due();
	bool step(uint32_t limit, bool generous);
	void run_phase(uint32_t limit, bool generous);
	void judge();

	Options options_;
	Prng prng_;
	Verdict verdict_;
	NetworkModel network_;
	std::vector<std::unique_ptr<RcHost>> hosts_;
	std::vector<std::unique_ptr<UnreliableFlow>> flows_;
	core::TransportLimits limits_;
	core::TransmitScratch scratch_;
	core::TimeNs now_ = 1000;
	uint64_t datagrams_delivered_ = 0;
	Outcome outcome_;
};

} // namespace ohca::sim
