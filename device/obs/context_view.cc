// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// The engine writes while we read, so every entry is copied first and every
// value is only shown, never followed: a torn entry is a wrong number on a
// screen and nothing else.
#include "obs/context_view.hh"

#include <algorithm>
#include <array>
#include <cstring>
#include <nlohmann/json.hpp>
#include <rdma/ohca_hw.h>

#include "core/context.hh"
#include "core/mem/context_memory.hh"

namespace ohca::obs {

using nlohmann::json;

namespace {

// What is listed at most of one kind; a screen is not a database.
constexpr size_t kEntriesMax = 4096;

constexpr std::array<const char *, 7> kQpStates = {"RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR"};

constexpr std::array<const char *, 7> kQpTypes = {"?", "RC", "UC", "UD", "GSI", "XRC_INI", "XRC_TGT"};
static_assert(kQpTypes.size() == OHCA_QP_TYPE_XRC_TGT + 1);

constexpr std::array<const char *, 5> kKeyTypes = {"REGION", "FAST_REGION", "WINDOW_1", "WINDOW_2B", "INTEGRITY"};
static_assert(kKeyTypes.size() == OHCA_MKEY_TYPE_INTEGRITY + 1);

constexpr std::array<const char *, OHCA_COUNTER_COUNT> kCounters = {
	"tx_segments",
	"rx_segments",
	"tx_bytes",
	"rx_bytes",
	"send_wqes",
	"receive_wqes",
	"cqes",
	"completion_events",
	"duplicate_requests",
	"out_of_sequence",
	"sequence_naks_received",
	"rnr_naks_sent",
	"rnr_naks_received",
	"ack_timeouts",
	"retry_exceeded",
	"rnr_retry_exceeded",
	"local_protection_errors",
	"remote_access_errors",
	"remote_invalid_requests",
	"remote_operation_errors",
	"packets_dropped",
	"cq_overruns",
	"doorbells_bad",
	"commands",
	"commands_failed",
	"datagrams_dropped",
	"qkey_violations",
	"uc_messages_lost",
	"multicast_received",
	"registrations",
	"invalidations",
};
static_assert(kCounters.back() != nullptr);

template <typename T> T copy_of(const T *entry)
{
	T copy;
	memcpy(&copy, entry, sizeof(copy));
	return copy;
}

json describe_qp(const core::QpContext &qp)
{
	return {
		{"qpn", qp.qpn},
		{"type", qp.type < kQpTypes.size() ? kQpTypes[qp.type] : "?"},
		{"state", qp.state < kQpStates.size() ? kQpStates[qp.state] : "?"},
		{"send_cq", qp.send_cq},
		{"recv_cq", qp.recv_cq},
		{"srq", qp.srq},
		{"xrcd", qp.xrcd},
		{"uar", qp.uar},
		{"sq_producer", qp.sq_producer_seen},
		{"sq_fetched", qp.requester.fetch_index},
		{"sq_completed", qp.requester.complete_index},
		{"rq_producer", qp.rq_producer_seen},
		{"rq_consumed", qp.responder.rq_index},
		{"remote_qpn", qp.attributes.dest_qpn},
		{"send_psn", qp.requester.next_psn},
		{"expected_psn", qp.responder.expected_psn},
	};
}

json describe_qps(core::ContextMemory &context)
{
	json qps = json::array();
	for (uint32_t i = 0; i < std::min(context.qp_limit(), core::kQpCountMax) && qps.size() < kEntriesMax; i++) {
		if (const core::QpContext *qp = context.qp(i))
			qps.push_back(describe_qp(copy_of(qp)));
	}
	return qps;
}

json describe_cqs(core::ContextMemory &context)
{
	json cqs = json::array();
	for (uint32_t i = 0; i < std::min(context.cq_limit(), core::kCqCountMax) && cqs.size() < kEntriesMax; i++) {
		const core::CqContext *entry = context.cq(i);
		if (!entry)
			continue;
		const core::CqContext cq = copy_of(entry);
		cqs.push_back({{"cqn", i},
			       {"entries", uint64_t{1} << (cq.log_depth & 31)},
			       {"eq", cq.eq},
			       {"producer", cq.producer},
			       {"consumer", cq.consumer_seen},
			       {"overrun", cq.overrun != 0},
			       {"moderation_count", cq.moderation_count},
			       {"moderation_period_us", cq.moderation_period_us},
			       {"references", cq.reference_count}});
	}
	return cqs;
}

json describe_srqs(core::ContextMemory &context)
{
	json srqs = json::array();
	for (uint32_t i = 0; i < std::min(context.srq_limit(), core::kSrqCountMax) && srqs.size() < kEntriesMax; i++) {
		const core::SrqContext *entry = context.srq(i);
		if (!entry)
			continue;
		const core::SrqContext srq = copy_of(entry);
		srqs.push_back({{"srqn", i},
				{"entries", uint64_t{1} << (srq.ring.log_depth & 31)},
				{"pd", srq.pd},
				{"xrcd", srq.xrcd},
				{"cq", srq.cq},
				{"producer", srq.producer_seen},
				{"consumer", srq.consumer},
				{"limit", srq.limit},
				{"broken", srq.broken != 0},
				{"references", srq.reference_count}});
	}
	return srqs;
}

json describe_xrcds(core::ContextMemory &context)
{
	json xrcds = json::array();
	for (uint32_t i = 0; i < std::min(context.xrcd_limit(), core::kXrcdCountMax) && xrcds.size() < kEntriesMax; i++)
		if (const core::XrcdContext *entry = context.xrcd(i))
			xrcds.push_back({{"xrcd", i}, {"references", copy_of(entry).reference_count}});
	return xrcds;
}

json describe_queues(core::ContextMemory &context)
{
	return {{"qps", describe_qps(context)},
		{"cqs", describe_cqs(context)},
		{"srqs", describe_srqs(context)},
		{"xrcds", describe_xrcds(context)}};
}

json describe_counters(core::ContextMemory &context)
{
	json counters = json::object();
	for (size_t i = 0; i < kCounters.size(); i++)
		counters[kCounters[i]] = context.counters()[i];
	return counters;
}

json describe_key(uint32_t index, const core::MkeyContext &mkey)
{
	const bool window = mkey.flags & core::kMkeyFlagWindow;
	const bool valid = !(mkey.flags & core::kMkeyFlagFree);
	json key = {{"key", index << 8 | mkey.consumer_key},
		    {"type", mkey.type < kKeyTypes.size() ? kKeyTypes[mkey.type] : "?"},
		    {"valid", valid},
		    {"pd", mkey.pd},
		    {"access", mkey.access},
		    {"start", mkey.start},
		    {"length", mkey.length}};
	if (!window) {
		key["page_size"] = uint64_t{1} << (mkey.pages.log_page_size & 63); // 1: blocks
		key["windows"] = mkey.window_count;
	} else if (valid) {
		key["region"] = mkey.binding.region;
		key["qpn"] = mkey.binding.qpn;
	}
	return key;
}

json describe_keys(core::ContextMemory &context)
{
	json keys = json::array();
	for (uint32_t i = 0; i < std::min(context.mkey_limit(), core::kMkeyCountMax) && keys.size() < kEntriesMax; i++) {
		const core::MkeyContext *entry = context.mkey(i);
		if (entry)
			keys.push_back(describe_key(i, copy_of(entry)));
	}
	return keys;
}

} // namespace

json describe_context(std::span<std::byte> memory, const std::string &kind)
{
	core::ContextMemory context(memory);
	if (kind == "queues")
		return describe_queues(context);
	if (kind == "counters")
		return describe_counters(context);
	if (kind == "keys")
		return describe_keys(context);
	return nullptr;
}

} // namespace ohca::obs
