// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "data/coverage.hh"

#include "failure.hh"

#include <cinttypes>
#include <cstdio>
#include <cstring>

namespace verbs_test {

std::size_t Coverage::index_of(const PairKind &kind)
{
	std::size_t index = 0;
	while (std::strcmp(kPairKinds[index].name, kind.name) != 0)
		index++;
	return index;
}

void Coverage::announce(const Limits &limits)
{
	for (std::size_t opcode = 0; opcode < kOpcodeCount; opcode++)
		announced_[index_of(limits.kind)][opcode] |= is_planned(static_cast<ibv_wr_opcode>(opcode), limits);
}

void Coverage::merge(const Coverage &other)
{
	for (std::size_t kind = 0; kind < kPairKinds.size(); kind++) {
		for (std::size_t opcode = 0; opcode < kOpcodeCount; opcode++) {
			counts_[kind][opcode] += other.counts_[kind][opcode];
			announced_[kind][opcode] |= other.announced_[kind][opcode];
		}
	}
}

void Coverage::print() const
{
	for (std::size_t kind = 0; kind < kPairKinds.size(); kind++) {
		std::string line;
		for (std::size_t opcode = 0; opcode < kOpcodeCount; opcode++) {
			if (announced_[kind][opcode])
				line += ", " + std::string(ibv_wr_opcode_str(static_cast<ibv_wr_opcode>(opcode))) + " " +
					std::to_string(counts_[kind][opcode]);
		}
		if (!line.empty())
			std::printf("data_test: %s: %s\n", kPairKinds[kind].name, line.c_str() + 2);
	}
}

void Coverage::require(std::uint64_t at_least, const std::vector<PairKind> &kinds) const
{
	for (const PairKind &kind : kinds) {
		const std::size_t index = index_of(kind);
		if (!announced_[index][IBV_WR_SEND])
			fail("there was no pair of kind %s", kind.name);
		for (std::size_t opcode = 0; opcode < kOpcodeCount; opcode++) {
			if (announced_[index][opcode] && counts_[index][opcode] < at_least)
				fail("%s was done %" PRIu64 " times by pairs of kind %s, at least %" PRIu64 " were wanted",
				     ibv_wr_opcode_str(static_cast<ibv_wr_opcode>(opcode)), counts_[index][opcode], kind.name,
				     at_least);
		}
	}
}

}  // namespace verbs_test
