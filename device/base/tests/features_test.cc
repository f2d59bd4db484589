// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "base/features.hh"

#include <bit>
#include <gtest/gtest.h>
#include <rdma/ohca_hw_regs.h>
#include <set>

namespace ohca {
namespace {

TEST(Features, NamesEveryBitOnce)
{
	uint64_t seen = 0;
	std::set<std::string_view> names;
	for (const Feature &feature : all_features()) {
		EXPECT_TRUE(std::has_single_bit(feature.bit)) << feature.name;
		EXPECT_EQ(seen & feature.bit, 0u) << feature.name;
		EXPECT_EQ(feature.needs & ~seen, 0u) << feature.name << " comes before what it needs";
		EXPECT_TRUE(names.insert(feature.name).second) << feature.name;
		seen |= feature.bit;
	}
	EXPECT_EQ(seen, OHCA_FEATURES_ALL);
}

TEST(Features, AreParsedByName)
{
	std::string unknown;
	EXPECT_EQ(parse_feature_names("", ',', unknown), 0u);
	EXPECT_EQ(parse_feature_names("xrc", ',', unknown), OHCA_FEATURE_XRC);
	EXPECT_EQ(parse_feature_names("uc+sg-gaps", '+', unknown), OHCA_FEATURE_UC | OHCA_FEATURE_SG_GAPS);
	EXPECT_FALSE(parse_feature_names("uc,sg-gap", ',', unknown));
	EXPECT_EQ(unknown, "sg-gap");
	EXPECT_FALSE(parse_feature_names("uc,,ud", ',', unknown));
	EXPECT_EQ(unknown, "");
}

// OHCA-REG-D11
TEST(Features, TakeWithThemWhatNeedsThem)
{
	EXPECT_EQ(mask_features(OHCA_FEATURES_ALL, 0), OHCA_FEATURES_ALL);
	EXPECT_EQ(mask_features(OHCA_FEATURES_ALL, OHCA_FEATURE_UC), OHCA_FEATURES_ALL & ~OHCA_FEATURE_UC);
	EXPECT_EQ(mask_features(OHCA_FEATURES_ALL, OHCA_FEATURE_SRQ),
		  OHCA_FEATURES_ALL & ~(OHCA_FEATURE_SRQ | OHCA_FEATURE_XRC));
	EXPECT_EQ(mask_features(OHCA_FEATURE_RC | OHCA_FEATURE_SG_GAPS, 0), OHCA_FEATURE_RC);
}

} // namespace
} // namespace ohca
