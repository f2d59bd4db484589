// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// A function's context memory, read by somebody who is not its engine.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>

namespace ohca::obs {

// kind: "queues", "counters", "keys"; null for any other.
nlohmann::json describe_context(std::span<std::byte> memory, const std::string &kind);

} // namespace ohca::obs
