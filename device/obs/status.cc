// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "obs/status.hh"

#include <cstdio>
#include <nlohmann/json.hpp>
#include <rdma/ohca_hw.h>
#include <unistd.h>

#include "base/event_loop.hh"
#include "base/features.hh"
#include "obs/context_view.hh"

namespace ohca::obs {

using nlohmann::json;

namespace {

const char *state_name(host::ControlRegisters::State state)
{
	using State = host::ControlRegisters::State;
	switch (state) {
	case State::kResetting: return "resetting";
	case State::kReady: return "ready";
	case State::kEnabling: return "enabling";
	case State::kEnabled: return "enabled";
	case State::kFailed: return "failed";
	}
	return "?";
}

std::string format_mac(uint64_t mac)
{
	char text[18];
	snprintf(text, sizeof(text), "%02x:%02x:%02x:%02x:%02x:%02x", static_cast<unsigned>(mac & 0xff),
		 static_cast<unsigned>(mac >> 8 & 0xff), static_cast<unsigned>(mac >> 16 & 0xff),
		 static_cast<unsigned>(mac >> 24 & 0xff), static_cast<unsigned>(mac >> 32 & 0xff),
		 static_cast<unsigned>(mac >> 40 & 0xff));
	return text;
}

json describe_function(const broker::Function &function)
{
	uint64_t mapped_bytes = 0;
	uint64_t in_band_ranges = 0;
	for (const auto &[address, range] : function.dma_map().ranges()) {
		mapped_bytes += range.size;
		in_band_ranges += range.file == host::kNoFile;
	}
	const broker::FunctionOptions &options = function.options();
	return {
		{"name", options.name},
		{"socket", options.socket},
		{"mac", format_mac(options.mac)},
		{"client_pid", function.server().client_pid()},
		{"state", state_name(function.registers().state())},
		{"fail_reason", function.registers().fail_reason()},
		{"reset_count", function.registers().reset_count()},
		{"features", options.features},
		{"uar_count", options.uar_count},
		{"vector_count", options.vector_count},
		{"context_bytes", function.context().resident_bytes()},
		{"dma_ranges", function.dma_map().ranges().size()},
		{"dma_bytes", mapped_bytes},
		{"dma_in_band_ranges", in_band_ranges},
	};
}

// What each feature has become: negotiated are those that the driver has accepted.
json describe_features(const broker::Function &function)
{
	const uint64_t offered = function.options().features;
	const bool enabled = function.registers().state() == host::ControlRegisters::State::kEnabled;
	const uint64_t negotiated = enabled ? function.registers().enable_request().driver_features : 0;
	json result = json::array();
	for (const Feature &feature : all_features())
		result.push_back({{"feature", feature.name},
				  {"offered", (offered & feature.bit) != 0},
				  {"negotiated", (negotiated & feature.bit) != 0}});
	return result;
}

json engine_status(const broker::Broker &broker)
{
	auto &owner = const_cast<broker::Broker &>(broker); // the accessors serve the owner, too
	const broker::EngineLink &engine = owner.engine();
	const broker::EngineShared &shared = owner.shared();
	const broker::EngineStatistics &statistics = shared.statistics;
	const bool running = engine.running();
	const uint64_t uptime_ns = running ? monotonic_ns() - statistics.started_ns.load() : 0;
	return {
		{"broker_pid", getpid()},
		{"running", running},
		{"pid", engine.pid()},
		{"starts", engine.start_count()},
		{"uptime_seconds", static_cast<double>(uptime_ns) * 1e-9},
		{"passes", statistics.passes.load()},
		{"busy_passes", statistics.busy_passes.load()},
		{"naps", statistics.naps.load()},
		{"sleeps", statistics.sleeps.load()},
		{"sleeping", statistics.sleeping.load() != 0},
		{"realtime", statistics.realtime.load() != 0},
		{"contended", statistics.contended.load() != 0},
		{"interrupts", statistics.interrupts.load()},
		{"in_band_requests", statistics.in_band_requests.load()},
		{"faults", shared.faults.load()},
	};
}

} // namespace

json status(const broker::Broker &broker, const std::string &command, const json &request)
{
	if (command == "engine")
		return engine_status(broker);

	std::string wanted;
	if (request.contains("function") && request["function"].is_string())
		wanted = request["function"].get<std::string>();
	json result = json::array();
	for (const auto &function : broker.functions()) {
		if (!wanted.empty() && function->options().name != wanted)
			continue;
		if (command == "functions") {
			result.push_back(describe_function(*function));
			continue;
		}
		if (command == "features") {
			result.push_back({{"name", function->options().name}, {command, describe_features(*function)}});
			continue;
		}
		json entry = describe_context(function->context().bytes(), command);
		if (entry.is_null())
			return {{"error", "unknown command '" + command + "'"}};
		result.push_back({{"name", function->options().name}, {command, std::move(entry)}});
	}
	if (!wanted.empty() && result.empty())
		return {{"error", "no function '" + wanted + "'"}};
	return result;
}

} // namespace ohca::obs
