// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <cerrno>
#include <cstring>

#include "../ohcadv.h"
#include "fixture.hh"

namespace ohca::test {
namespace {

using DirectDevice = ProviderTest;

TEST_F(DirectDevice, TellsWhatWasNegotiated)
{
	context_->limits.device_features = OHCA_FEATURE_RC | OHCA_FEATURE_SG_GAPS;
	ohcadv_device_attr attr;
	std::memset(&attr, 0xff, sizeof(attr));
	ASSERT_EQ(ohcadv_query_device(context(), &attr, sizeof(attr)), 0);
	EXPECT_EQ(attr.comp_mask, 0u);
	EXPECT_EQ(attr.capabilities, std::uint64_t{OHCADV_CAP_RC | OHCADV_CAP_SG_GAPS});
	EXPECT_EQ(attr.max_inline_data, 256u);
}

TEST_F(DirectDevice, NamesEveryFeature)
{
	constexpr std::uint64_t kNamed =
		OHCADV_CAP_RC | OHCADV_CAP_ATOMIC | OHCADV_CAP_SEND_INV | OHCADV_CAP_UC | OHCADV_CAP_UD |
		OHCADV_CAP_SRQ | OHCADV_CAP_XRC | OHCADV_CAP_MULTICAST | OHCADV_CAP_RESIZE |
		OHCADV_CAP_MODERATION | OHCADV_CAP_WINDOW | OHCADV_CAP_FAST_REG | OHCADV_CAP_ZERO_BASED |
		OHCADV_CAP_READ_INV | OHCADV_CAP_MASKED_ATOMIC | OHCADV_CAP_ATOMIC_WRITE | OHCADV_CAP_FLUSH |
		OHCADV_CAP_SG_GAPS | OHCADV_CAP_COMPOUND | OHCADV_CAP_RECYCLE | OHCADV_CAP_INTEGRITY;
	EXPECT_EQ(kNamed, OHCA_FEATURES_ALL);
}

TEST_F(DirectDevice, ServesOlderAndNewerPrograms)
{
	struct {
		ohcadv_device_attr known;
		std::uint64_t unknown;
	} attr;
	std::memset(&attr, 0xff, sizeof(attr));
	constexpr std::uint32_t kOld = offsetof(ohcadv_device_attr, max_inline_data);
	ASSERT_EQ(ohcadv_query_device(context(), &attr.known, kOld), 0);
	EXPECT_EQ(attr.known.capabilities, OHCA_FEATURES_ALL);
	EXPECT_EQ(attr.known.max_inline_data, UINT32_MAX);
	ASSERT_EQ(ohcadv_query_device(context(), &attr.known, sizeof(attr)), 0);
	EXPECT_EQ(attr.known.max_inline_data, 256u);
	EXPECT_EQ(attr.unknown, 0u);
	EXPECT_EQ(ohcadv_query_device(context(), &attr.known, kOld - 1), EINVAL);
}

TEST_F(DirectDevice, RefusesDevicesOfOthers)
{
	fake_kernel.is_ohca = false;
	ohcadv_device_attr attr;
	EXPECT_EQ(ohcadv_query_device(context(), &attr, sizeof(attr)), EOPNOTSUPP);
	EXPECT_FALSE(ohcadv_is_supported(nullptr));
	fake_kernel.is_ohca = true;
	EXPECT_TRUE(ohcadv_is_supported(nullptr));
}

} // namespace
} // namespace ohca::test
