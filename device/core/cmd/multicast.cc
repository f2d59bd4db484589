// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// Multicast groups: which queue pairs of the function get a copy (IBTA 10.5).
#include <algorithm>
#include <cstring>
#include <span>

#include "core/cmd/commands.hh"
#include "core/endian.hh"
#include "core/function.hh"
#include "core/gid.hh"

namespace ohca::core {

namespace {

constexpr uint64_t kMembersSize = kMulticastQpsMax * sizeof(uint32_t);

// Index of the group, or kNoIndex.
uint32_t find_group(ContextMemory &context, const uint8_t (&gid)[16])
{
	for (uint32_t index = 0; index < context.multicast_group_limit(); index++) {
		const MulticastGroupContext *group = context.multicast_group(index);
		if (group && std::memcmp(group->gid, gid, sizeof(gid)) == 0)
			return index;
	}
	return ContextMemory::kNoIndex;
}

// Room for the members of a new group, without any. kNoIndex: no resources.
uint32_t create_group(ContextMemory &context, const uint8_t (&gid)[16])
{
	uint32_t index = context.allocate_multicast_group();
	if (index == ContextMemory::kNoIndex)
		return index;
	MulticastGroupContext &group = *context.multicast_group(index);
	group.members = context.allocate_block(kMembersSize);
	if (!group.members) {
		context.free_multicast_group(index);
		return ContextMemory::kNoIndex;
	}
	std::memcpy(group.gid, gid, sizeof(gid));
	return index;
}

CommandResult check(Function &function, const struct ohca_cmd_multicast_in &in)
{
	if (in.reserved_20)
		return bad_parameter(OHCA_CMD_DETAIL_RESERVED);
	if (!function.has_feature(OHCA_FEATURE_MULTICAST))
		return unsupported(OHCA_CMD_DETAIL_FEATURE);
	const QpContext *qp = function.context().qp(from_le(in.qpn));
	if (!qp)
		return bad_handle(OHCA_CMD_DETAIL_QP);
	if (qp->type != OHCA_QP_TYPE_UD)
		return bad_parameter(OHCA_CMD_DETAIL_TYPE);
	Gid gid;
	std::memcpy(gid.data(), in.gid, gid.size());
	return is_multicast(gid) ? kAccepted : bad_parameter(OHCA_CMD_DETAIL_GID);
}

} // namespace

CommandResult attach_multicast(Function &function, const struct ohca_cmd_multicast_in &in, NoData &)
{
	CommandResult result = check(function, in);
	if (!result.ok())
		return result;
	ContextMemory &context = function.context();
	uint32_t qpn = from_le(in.qpn);
	uint32_t index = find_group(context, in.gid);
	if (index == ContextMemory::kNoIndex) {
		index = create_group(context, in.gid);
		if (index == ContextMemory::kNoIndex)
			return no_resources(OHCA_CMD_DETAIL_GID);
	}
	MulticastGroupContext &group = *context.multicast_group(index);
	std::span<uint32_t> members = context.multicast_members(group);
	if (std::ranges::count(members, qpn))
		return kAccepted;
	if (group.member_count == kMulticastQpsMax)
		return no_resources(OHCA_CMD_DETAIL_QP);
	members.data()[group.member_count++] = qpn;
	context.qp(qpn)->multicast_count++;
	if (function.owner())
		function.owner()->multicast_changed();
	return kAccepted;
}

CommandResult detach_multicast(Function &function, const struct ohca_cmd_multicast_in &in, NoData &)
{
	CommandResult result = check(function, in);
	if (!result.ok())
		return result;
	ContextMemory &context = function.context();
	uint32_t qpn = from_le(in.qpn);
	uint32_t index = find_group(context, in.gid);
	if (index == ContextMemory::kNoIndex)
		return bad_parameter(OHCA_CMD_DETAIL_GID);
	MulticastGroupContext &group = *context.multicast_group(index);
	std::span<uint32_t> members = context.multicast_members(group);
	auto found = std::ranges::find(members, qpn);
	if (found == members.end())
		return bad_parameter(OHCA_CMD_DETAIL_GID);
	*found = members.back();
	group.member_count--;
	context.qp(qpn)->multicast_count--;
	if (!group.member_count) {
		context.free_block(group.members, kMembersSize);
		context.free_multicast_group(index);
	}
	if (function.owner())
		function.owner()->multicast_changed();
	return kAccepted;
}

} // namespace ohca::core
