// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// The GID table.
#include <algorithm>
#include <cstring>
#include <iterator>

#include "core/cmd/commands.hh"
#include "core/endian.hh"
#include "core/function.hh"

namespace ohca::core {

namespace {

constexpr uint16_t kVlanIdMax = 4095;

} // namespace

CommandResult set_gid(Function &function, const struct ohca_cmd_set_gid_in &in, NoData &)
{
	if (in.reserved_e0)
		return bad_parameter(OHCA_CMD_DETAIL_RESERVED);
	uint32_t index = from_le(in.index);
	uint16_t vlan_id = from_le(in.vlan_id);
	if (index >= kGidCountMax || (vlan_id > kVlanIdMax && vlan_id != OHCA_VLAN_NONE))
		return bad_parameter(OHCA_CMD_DETAIL_GID);

	GidContext entry{};
	if (std::any_of(std::begin(in.gid), std::end(in.gid), [](uint8_t byte) { return byte != 0; })) {
		std::memcpy(entry.gid, in.gid, sizeof(entry.gid));
		std::memcpy(entry.mac, in.mac, sizeof(entry.mac));
		entry.vlan_id = vlan_id;
		entry.live = 1;
	}
	*function.context().gid(index) = entry;
	if (function.owner())
		function.owner()->routes_changed();
	return kAccepted;
}

} // namespace ohca::core
