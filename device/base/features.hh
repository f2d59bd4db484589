// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// The features of the contract by name: what a user masks and what ohcactl prints.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace ohca {

struct Feature {
	uint64_t bit; // OHCA_FEATURE_*
	std::string_view name;
	uint64_t needs; // features without which it means nothing
};

std::span<const Feature> all_features();

// The bits of names separated by `separator`, or nothing if one is unknown: then it is in `unknown`.
std::optional<uint64_t> parse_feature_names(std::string_view list, char separator, std::string &unknown);

// `features` without `masked`, and without what needs a feature that is missing.
uint64_t mask_features(uint64_t features, uint64_t masked);

} // namespace ohca
