// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// The network: segments on their way, with everything that can happen to them.
#pragma once

#include <cstdint>
#include <memory>
#include <queue>
#include <vector>

#include "core/transport/transport.hh"
#include "options.hh"
#include "prng.hh"

namespace ohca::sim {

// A segment with its own copy of the payload, as a wire has.
struct Packet {
	core::TimeNs at = 0;
	uint64_t order = 0;          // among those of the same time
	uint32_t to_host = 0;
	core::Segment segment;
	core::Datagram datagram{};   // what segment.datagram, if not null, has pointed to
	std::shared_ptr<std::vector<std::byte>> payload;
};

class NetworkModel {
public:
	NetworkModel(const Options &options, Prng &prng) : options_(options), prng_(prng) {}

	// Whether faults happen from now on.
	void set_faulty(bool faulty) { faulty_ = faulty; }
	void set_dead() { dead_ = true; }

	// Decides what becomes of a segment. `mercy`: its connection is close to giving up for
	// want of luck; let it pass unharmed.
	bool drops(bool mercy) { return dead_ || (faulty_ && !mercy && prng_.chance(options_.loss)); }
	bool duplicates(bool mercy) { return faulty_ && !mercy && prng_.chance(options_.duplication); }

	void send(core::TimeNs now, uint32_t to_host, const core::Segment &segment, bool mercy);
	core::TimeNs next_time() const { return packets_.empty() ? core::kNever : packets_.top().at; }
	Packet take();

private:
	struct Later {
		bool operator()(const Packet &a, const Packet &b) const
		{
			return a.at != b.at ? a.at > b.at : a.order > b.order;
		}
	};

	core::TimeNs arrival(core::TimeNs now, bool mercy);

	const Options &options_;
	Prng &prng_;
	bool faulty_ = true;
	bool dead_ = false;
	uint64_t order_ = 0;
	std::priority_queue<Packet, std::vector<Packet>, Later> packets_;
};

} // namespace ohca::sim
