// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// Memory of destroyed queues, for new ones.
#include <cstdlib>
#include <cstring>
#include <optional>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../buffer.hh"
#include "../buffer_cache.hh"
#include "fixture.hh"

using namespace ohca;
using namespace ohca::test;

namespace {

constexpr std::size_t kPage = 4096;

// What nobody ever hid from children the fake kernel does not count.
std::byte *map_hidden(std::size_t size)
{
	void *address = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	EXPECT_NE(address, MAP_FAILED);
	EXPECT_EQ(ohca_shim_dontfork(address, size), 0);
	return static_cast<std::byte *>(address);
}

class BufferCacheTest : public ProviderTest {
protected:
	// Rings of a page or two.
	ibv_qp *new_qp() { return ohca_create_qp_ex(context(), &attr_); }

	ibv_qp_init_attr_ex attr_ = qp_attr(IBV_QPT_RC, create_cq(16));
};

} // namespace

TEST_F(BufferCacheTest, GivesBackWhatHasTheSize)
{
	BufferCache cache;
	EXPECT_EQ(cache.take(kPage), nullptr);
	std::byte *one = map_hidden(kPage), *two = map_hidden(2 * kPage);
	EXPECT_TRUE(cache.keep(one, kPage));
	EXPECT_TRUE(cache.keep(two, 2 * kPage));
	EXPECT_EQ(cache.take(3 * kPage), nullptr);
	EXPECT_EQ(cache.take(kPage), one);
	EXPECT_EQ(cache.take(kPage), nullptr);
	EXPECT_EQ(cache.take(2 * kPage), two);
	EXPECT_TRUE(cache.keep(one, kPage));
	EXPECT_TRUE(cache.keep(two, 2 * kPage));
}

TEST_F(BufferCacheTest, KeepsFourMebibytesAtMost)
{
	constexpr std::size_t kLarge = 65536;
	BufferCache cache;
	std::byte *too_large = map_hidden(kLarge + kPage);
	EXPECT_FALSE(cache.keep(too_large, kLarge + kPage));
	ohca_shim_dofork(too_large, kLarge + kPage);
	munmap(too_large, kLarge + kPage);
	for (int i = 0; i < 64; ++i)
		EXPECT_TRUE(cache.keep(map_hidden(kLarge), kLarge));
	std::byte *last = map_hidden(kLarge);
	EXPECT_FALSE(cache.keep(last, kLarge));
	ohca_shim_dofork(last, kLarge);
	munmap(last, kLarge);
}

// A child does not have the pages that are hidden from it.
TEST_F(BufferCacheTest, DoesNothingInAChild)
{
	std::optional<BufferCache> cache(std::in_place);
	std::byte *kept = map_hidden(kPage), *other = map_hidden(kPage);
	EXPECT_TRUE(cache->keep(kept, kPage));
	const pid_t child = fork();
	if (child == 0) {
		const bool is_idle = cache->take(kPage) == nullptr && !cache->keep(other, kPage);
		cache.reset();
		*kept = std::byte{1}; // what is at this address is the child's, and still there
		std::_Exit(is_idle ? 0 : 1);
	}
	int status = -1;
	ASSERT_EQ(waitpid(child, &status, 0), child);
	EXPECT_EQ(status, 0);
	EXPECT_TRUE(cache->keep(other, kPage));
}

TEST_F(BufferCacheTest, NextQueuePairFindsEmptyQueues)
{
	ibv_qp *qp = new_qp();
	ASSERT_NE(qp, nullptr);
	const Buffer &buffer = QueuePair::of(qp).buffer;
	const std::byte *memory = buffer.data();
	std::memset(buffer.data(), 0xa5, buffer.size());
	ASSERT_EQ(ohca_destroy_qp(qp), 0);
	qp = new_qp();
	ASSERT_NE(qp, nullptr);
	const Buffer &again = QueuePair::of(qp).buffer;
	EXPECT_EQ(again.data(), memory);
	for (std::size_t i = 0; i < again.size(); ++i)
		ASSERT_EQ(again.data()[i], std::byte{0}) << i;
	EXPECT_EQ(ohca_destroy_qp(qp), 0);
}

// The device may have created it, and write to its queues, although the kernel says otherwise.
TEST_F(BufferCacheTest, DoesNotKeepWhatTheKernelHasNotDestroyed)
{
	const int before = fake_kernel.hidden_ranges;
	ibv_qp *first = new_qp();
	ASSERT_NE(first, nullptr);
	fake_kernel.next_qpn = first->qp_num; // refused: it is in use
	EXPECT_EQ(new_qp(), nullptr);
	EXPECT_EQ(fake_kernel.hidden_ranges, before + 1);
	EXPECT_EQ(ohca_destroy_qp(first), 0);
	EXPECT_EQ(fake_kernel.hidden_ranges, before + 1);
}
