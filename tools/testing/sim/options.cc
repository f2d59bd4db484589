// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "options.hh"

#include <cstdio>

#include <rdma/ohca_hw.h>

namespace ohca::sim {

namespace {

constexpr const char *kScenarioNames[] = {"exchange",      "blackout",      "no-receives",     "bad-key",
					  "bad-local-key", "short-receive", "modify-to-error"};
static_assert(std::size(kScenarioNames) == static_cast<size_t>(Scenario::kCount));

void draw_queue_pairs(Prng &prng, Options &options)
{
	options.pair_count = static_cast<uint32_t>(prng.chance(0.5) ? 1 : prng.between(2, 6));
	options.operations = static_cast<uint32_t>(prng.between(10, 120));
	options.log_mtu = static_cast<uint8_t>(prng.between(8, 12));
	const uint64_t mtu = uint64_t{1} << options.log_mtu;
	switch (prng.below(4)) {
	case 0:
	case 1:
		options.segment_payload_max = mtu;
		break;
	case 2:
		options.segment_payload_max = mtu * prng.between(2, 9);
		break;
	default:
		options.segment_payload_max = 256 * 1024;
	}
	options.log_sq_depth = static_cast<uint8_t>(prng.between(1, 7));
	options.log_rq_depth = static_cast<uint8_t>(prng.between(1, 6));
	options.read_atomic_depth = static_cast<uint8_t>(prng.chance(0.5) ? prng.between(1, 3) : 16);
	options.ack_timeout = static_cast<uint8_t>(prng.between(3, 8));
	options.rnr_timer = static_cast<uint8_t>(prng.between(1, 6));
	options.signal_all = prng.chance(0.2);
	options.shared_cq = prng.chance(0.5);
	options.transmit_budget = static_cast<uint32_t>(prng.between(1, 24));
}

// Swarm testing: some operations are missing altogether, so that the others meet more often.
void draw_traffic(Prng &prng, Options &options)
{
	constexpr uint64_t kMessageMax[] = {8, 64, 1000, 4096, 4096, 9000, 32768};
	uint32_t sum = 0;

	options.message_max = prng.pick(kMessageMax);
	options.sge_max = static_cast<uint32_t>(prng.chance(0.3) ? 30 : prng.between(1, 5));
	for (uint8_t opcode = OHCA_WR_SEND; opcode <= OHCA_WR_FLUSH; opcode++) {
		if (opcode == OHCA_WR_READ_INV) // part of a registration, see below
			continue;
		options.weights[opcode] =
			prng.chance(0.35) ? 0 : static_cast<uint32_t>(prng.between(1, 10));
		sum += options.weights[opcode];
	}
	if (sum == 0)
		options.weights[OHCA_WR_WRITE] = 1;
	options.registration = prng.chance(0.5) ? 0 : 0.4;
	options.windows = prng.chance(0.4);
	options.leases = prng.chance(0.5) ? 0 : 0.3;
	options.unsignaled = prng.chance(0.5) ? 0 : 0.7;
	options.fence = prng.chance(0.5) ? 0 : 0.3;
	options.inline_share = prng.chance(0.5) ? 0 : 0.5;
	options.drain = prng.chance(0.8) ? 0 : 0.05;
	options.receive_pause_ns = prng.chance(0.6) ? 0 : prng.between(1000, 60000);
}

void draw_network(Prng &prng, Options &options)
{
	constexpr double kLoss[] = {0, 0.005, 0.02, 0.1, 0.2};
	constexpr double kDuplication[] = {0, 0, 0.02, 0.2};
	constexpr double kDelay[] = {0, 0, 0.05, 0.3};

	options.direct = prng.chance(0.2);
	options.loss = prng.pick(kLoss);
	options.duplication = prng.pick(kDuplication);
	options.delay = options.direct ? 0 : prng.pick(kDelay);
	options.latency_ns = prng.between(100, 20000);
	options.extra_delay_ns = prng.between(100, 400000);
}

void draw_scenario(Prng &prng, Options &options)
{
	if (options.canary == Canary::kKeys)
		options.scenario = Scenario::kBadKey;
	if (options.canary != Canary::kNone || prng.chance(0.85))
		return;
	options.scenario = static_cast<Scenario>(prng.between(1, static_cast<uint64_t>(Scenario::kCount) - 1));
	switch (options.scenario) {
	case Scenario::kBlackout:
		options.retry_count = static_cast<uint8_t>(prng.between(0, 7));
		break;
	case Scenario::kNoReceives:
		options.rnr_retry = static_cast<uint8_t>(prng.between(0, 6));
		options.weights[OHCA_WR_SEND] = 10;
		break;
	case Scenario::kShortReceive:
		options.weights[OHCA_WR_SEND] = 10;
		break;
	default:
		break;
	}
}

} // namespace

Options draw_options(uint64_t seed, Canary canary)
{
	Prng prng(seed ^ 0x6f686361);
	Options options;

	options.seed = seed;
	options.canary = canary;
	draw_queue_pairs(prng, options);
	draw_traffic(prng, options);
	draw_network(prng, options);
	draw_scenario(prng, options);
	return options;
}

std::string describe(const Options &o)
{
	char text[1024];
	int length = std::snprintf(
		text, sizeof(text),
		"seed %llu: %s, %u pairs x %u operations, MTU %u, segment %llu, SQ %u, RQ %u, read depth %u, "
		"timeout %u, rnr timer %u, retries %u/%u, budget %u%s%s\n  messages <= %llu, sge <= %u, unsignaled %g, "
		"fence %g, inline %g, drain %g, receive pause %llu ns\n  %s, loss %g, duplication %g, delay %g, "
		"latency %llu + %llu ns\n  registration %g%s, leases %g, weights",
		static_cast<unsigned long long>(o.seed), kScenarioNames[static_cast<size_t>(o.scenario)], o.pair_count,
		o.operations, 1u << o.log_mtu, static_cast<unsigned long long>(o.segment_payload_max),
		1u << o.log_sq_depth, 1u << o.log_rq_depth, unsigned{o.read_atomic_depth}, unsigned{o.ack_timeout},
		unsigned{o.rnr_timer}, unsigned{o.retry_count}, unsigned{o.rnr_retry}, o.transmit_budget,
		o.signal_all ? ", signal all" : "", o.shared_cq ? ", shared CQ" : "",
		static_cast<unsigned long long>(o.message_max), o.sge_max, o.unsignaled, o.fence, o.inline_share, o.drain,
		static_cast<unsigned long long>(o.receive_pause_ns), o.direct ? "direct" : "wire", o.loss, o.duplication,
		o.delay, static_cast<unsigned long long>(o.latency_ns),
		static_cast<unsigned long long>(o.extra_delay_ns), o.registration, o.windows ? ", windows" : "", o.leases);
	std::string result(text, static_cast<size_t>(length));

	for (uint8_t opcode = OHCA_WR_SEND; opcode <= OHCA_WR_FLUSH; opcode++)
		result += ' ' + std::to_string(o.weights[opcode]);
	return result;
}

} // namespace ohca::sim
