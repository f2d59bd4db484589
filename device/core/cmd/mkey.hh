// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// What the creation and the change of regions have in common.
#pragma once

#include <cstdint>

#include "core/cmd/commands.hh"

namespace ohca::core {

CommandResult check_region_access(Function &function, uint32_t access);
// Checks flags, start and length, and copies the page list. What is refused leaves nothing behind.
CommandResult copy_translation(Function &function, const struct ohca_cmd_create_mkey_in &in, PageRange &pages);

} // namespace ohca::core
