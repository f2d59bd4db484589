// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// Two hosts, their connections, the network and the time: one run of one seed.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "flow.hh"
#include "network_model.hh"
#include "options.hh"

namespace ohca::sim {

struct Outcome {
	std::string failure;         // empty: all well
	uint64_t segments = 0;       // delivered
	uint64_t operations = 0;     // posted
	uint64_t retries = 0;        // timeouts and sequence NAKs
	uint64_t rnr_naks = 0;
	uint8_t status = 0;          // OHCA_CQE_STATUS_* with which the first connection failed
};

class World {
public:
	explicit World(const Options &options);
	Outcome run();

private:
	// One end of a connection.
	struct Side {
		uint32_t host = 0;
		core::QpContext *qp = nullptr;
		uint32_t send_cq = 0;
		uint32_t recv_cq = 0;
		Flow *outgoing = nullptr;    // what it requests
		Flow *incoming = nullptr;    // what is requested of it
		Side *peer = nullptr;
		bool dirty = false;          // to be serviced
		bool late_posted = false;
		uint32_t drains_expected = 0;
		uint32_t drains_seen = 0;
	};

	void create_sides();
	void connect(Side &side, const Side &peer);
	bool step();
	void service(Side &side);
	void deliver(uint32_t host, const core::Segment &segment);
	void deliver_bent(RcHost &host, core::QpContext &qp, const core::Segment &segment);
	void fire_timers();
	void poll_completions(uint32_t cqn_host, uint32_t cqn);
	void poll_events(uint32_t host);
	void run_applications();
	void run_application(Side &side);
	void start_trouble();
	void check_transitions(Side &side);
	bool finished() const;
	bool quiet(const Side &side) const;
	bool advance();
	void judge();
	void judge_failed_flow();
	bool merciful(const Side &side) const;
	Side *side_of(uint32_t host, uint32_t qpn);

	Options options_;
	Prng prng_;
	Verdict verdict_;
	NetworkModel network_;
	std::vector<std::unique_ptr<RcHost>> hosts_;
	std::vector<std::unique_ptr<Flow>> flows_;
	std::vector<std::unique_ptr<Side>> sides_;
	core::TransportLimits limits_;
	core::TransmitScratch scratch_;
	core::TimeNs now_ = 1000;
	core::TimeNs healed_at_ = 0;
	bool trouble_started_ = false;
	uint32_t in_delivery_ = 0;
	Outcome outcome_;
};

} // namespace ohca::sim
