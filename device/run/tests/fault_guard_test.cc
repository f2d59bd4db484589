// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "run/fault_guard.hh"

#include <csignal>
#include <cstring>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include "base/unique_fd.hh"

namespace ohca::run {
namespace {

struct FaultGuard : testing::Test {
	static constexpr size_t kSize = 8 * 4096;
	static inline std::atomic<uint64_t> faults;
	UniqueFd fd{memfd_create("test", MFD_CLOEXEC)};
	char *memory = nullptr;

	FaultGuard()
	{
		faults = 0;
		fault_guard::install(faults);
		EXPECT_EQ(ftruncate(fd.get(), kSize), 0);
		memory = static_cast<char *>(mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0));
		memset(memory, 'a', kSize);
	}
	~FaultGuard() override
	{
		munmap(memory, kSize);
		signal(SIGBUS, SIG_DFL);
	}
};

// OHCA-MEM-D8
TEST_F(FaultGuard, ATruncatedFileIsSurvivedAndCounted)
{
	ASSERT_TRUE(fault_guard::add(memory, kSize));
	ASSERT_EQ(ftruncate(fd.get(), 4096), 0);
	char copy[kSize];
	memcpy(copy, memory, kSize);
	EXPECT_EQ(faults, 7u) << "once for each page that is gone";
	EXPECT_EQ(copy[4095], 'a');
	EXPECT_EQ(copy[4096], 0);
	memset(memory, 'b', kSize);
	EXPECT_EQ(faults, 7u);
	fault_guard::remove(memory);
}

TEST_F(FaultGuard, OtherMemoryStillFaults)
{
	ASSERT_TRUE(fault_guard::add(memory, 4096));
	ASSERT_EQ(ftruncate(fd.get(), 0), 0);
	EXPECT_EXIT(memory[2 * 4096] = 1, testing::KilledBySignal(SIGBUS), "");
	fault_guard::remove(memory);
	EXPECT_EXIT(memory[0] = 1, testing::KilledBySignal(SIGBUS), "");
}

} // namespace
} // namespace ohca::run
