// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "base/features.hh"

#include <algorithm>
#include <array>
#include <rdma/ohca_hw_regs.h>

namespace ohca {

namespace {

// What needs another feature comes after it.
constexpr auto kFeatures = std::to_array<Feature>({
	{OHCA_FEATURE_RC, "rc", 0},
	{OHCA_FEATURE_ATOMIC, "atomic", 0},
	{OHCA_FEATURE_SEND_INV, "send-inv", 0},
	{OHCA_FEATURE_UC, "uc", 0},
	{OHCA_FEATURE_UD, "ud", 0},
	{OHCA_FEATURE_SRQ, "srq", 0},
	{OHCA_FEATURE_XRC, "xrc", OHCA_FEATURE_SRQ},
	{OHCA_FEATURE_MULTICAST, "multicast", OHCA_FEATURE_UD},
	{OHCA_FEATURE_RESIZE, "resize", 0},
	{OHCA_FEATURE_MODERATION, "moderation", 0},
	{OHCA_FEATURE_WINDOW, "window", 0},
	{OHCA_FEATURE_FAST_REG, "fast-reg", 0},
	{OHCA_FEATURE_ZERO_BASED, "zero-based", 0},
	{OHCA_FEATURE_READ_INV, "read-inv", OHCA_FEATURE_FAST_REG},
	{OHCA_FEATURE_MASKED_ATOMIC, "masked-atomic", OHCA_FEATURE_ATOMIC},
	{OHCA_FEATURE_ATOMIC_WRITE, "atomic-write", 0},
	{OHCA_FEATURE_FLUSH, "flush", 0},
	{OHCA_FEATURE_SG_GAPS, "sg-gaps", OHCA_FEATURE_FAST_REG},
	{OHCA_FEATURE_COMPOUND, "compound", 0},
	{OHCA_FEATURE_RECYCLE, "recycle", 0},
	{OHCA_FEATURE_INTEGRITY, "integrity", OHCA_FEATURE_FAST_REG},
});

} // namespace

std::span<const Feature> all_features()
{
	return kFeatures;
}

std::optional<uint64_t> parse_feature_names(std::string_view list, char separator, std::string &unknown)
{
	uint64_t features = 0;
	while (!list.empty()) {
		const size_t end = std::min(list.find(separator), list.size());
		const std::string_view name = list.substr(0, end);
		const auto feature = std::ranges::find(kFeatures, name, &Feature::name);
		if (feature == kFeatures.end()) {
			unknown = name;
			return std::nullopt;
		}
		features |= feature->bit;
		list.remove_prefix(std::min(end + 1, list.size()));
	}
	return features;
}

uint64_t mask_features(uint64_t features, uint64_t masked)
{
	features &= ~masked;
	for (const Feature &feature : kFeatures) {
		if (feature.needs & ~features)
			features &= ~feature.bit;
	}
	return features;
}

} // namespace ohca
