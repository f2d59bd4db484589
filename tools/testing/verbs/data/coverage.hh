// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// How many operations of each opcode were done and checked, by kind of pair.
#pragma once

#include "data/plan.hh"

#include <cstdint>

namespace verbs_test {

class Coverage {
 public:
	void count(const PairKind &kind, ibv_wr_opcode opcode) { counts_[index_of(kind)][opcode]++; }
	// That a flow of this kind is going to have it.
	void announce(const Limits &limits);
	void merge(const Coverage &other);

	void print() const;
	// fail() if anything announced was done less often, or a kind of these was not announced.
	void require(std::uint64_t at_least, const std::vector<PairKind> &kinds) const;

 private:
	static std::size_t index_of(const PairKind &kind);

	std::uint64_t counts_[kPairKinds.size()][kOpcodeCount] = {};
	bool announced_[kPairKinds.size()][kOpcodeCount] = {};
};

}  // namespace verbs_test
