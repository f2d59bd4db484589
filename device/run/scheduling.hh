// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#pragma once

#include <cstdint>

#include "base/unique_fd.hh"

namespace ohca::run {

// Ahead of ordinary threads, so that the end of a nap is the end of a nap even
// while virtual CPUs spin on every processor. False: not permitted.
bool enter_realtime();

// Sleeps end when they should; the default slack is 50 microseconds.
void use_precise_timers();

// Whether more threads want to run than there are processors.
class LoadMeter {
public:
	LoadMeter();
	// Looks at most every few milliseconds and returns what it knows.
	bool contended(uint64_t now_ns);

private:
	void sample();

	UniqueFd loadavg_;
	uint64_t next_sample_ns_ = 0;
	unsigned processors_;
	unsigned score_ = 0; // 0..kScoreMax, follows the samples slowly
	bool contended_ = false;
};

} // namespace ohca::run
