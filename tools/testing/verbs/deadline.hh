// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#pragma once

#include <chrono>

namespace verbs_test {

// A point in time after which waiting is a failure.
class Deadline {
 public:
	explicit Deadline(double seconds)
		: end_(Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds)))
	{
	}

	bool passed() const { return Clock::now() >= end_; }

	int milliseconds_left() const
	{
		const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end_ - Clock::now()).count();
		return left < 0 ? 0 : static_cast<int>(left);
	}

 private:
	using Clock = std::chrono::steady_clock;
	Clock::time_point end_;
};

inline double seconds_now()
{
	return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace verbs_test
