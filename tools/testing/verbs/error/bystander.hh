// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// Another application on the same device: data_test without end.  It finds any
// wrong byte or completion itself; here only its progress is watched.
// OHCA-ERR-D5
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <sys/types.h>

namespace verbs_test {

class Bystander {
 public:
	Bystander(const std::string &program, const std::string &device);
	~Bystander();
	Bystander(const Bystander &) = delete;
	Bystander &operator=(const Bystander &) = delete;

	// True if it is alive and gets on within the time.
	bool gets_on(double seconds);
	// Ends it; true if it found nothing wrong.
	bool stop();

 private:
	bool ended();

	pid_t pid_ = -1;
	int status_ = 0;
	std::string file_;
	std::atomic<std::uint64_t> *progress_ = nullptr;
};

}  // namespace verbs_test
