// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "options.hh"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <bit>
#include <cstdio>
#include <iostream>
#include <rdma/ohca_hw_regs.h>
#include <set>
#include <sstream>

#include "base/features.hh"

#ifndef OHCA_VERSION
#define OHCA_VERSION "0.1"
#endif

namespace ohca {

namespace {

constexpr uint32_t kUarCountMin = 16;
constexpr uint32_t kUarCountMax = 65536;
constexpr uint32_t kVectorCountMin = 2;

// 52:54:00:77:00:01 is that of the first function.
constexpr std::array<uint8_t, 6> kDefaultMac = {0x52, 0x54, 0x00, 0x77, 0x00, 0x01};

uint64_t pack_mac(const std::array<uint8_t, 6> &bytes)
{
	uint64_t mac = 0;
	for (size_t i = 0; i < bytes.size(); i++)
		mac |= uint64_t{bytes[i]} << (8 * i);
	return mac;
}

uint64_t parse_mac(const std::string &text)
{
	std::array<unsigned, 6> parts{};
	int used = 0;
	const int count = sscanf(text.c_str(), "%2x:%2x:%2x:%2x:%2x:%2x%n", &parts[0], &parts[1], &parts[2], &parts[3],
				 &parts[4], &parts[5], &used);
	if (count != 6 || static_cast<size_t>(used) != text.size())
		throw UsageError("--function: mac=" + text + " is not a MAC address (52:54:00:77:00:01)");
	std::array<uint8_t, 6> bytes{};
	std::ranges::transform(parts, bytes.begin(), [](unsigned part) { return static_cast<uint8_t>(part); });
	if (bytes[0] & 1)
		throw UsageError("--function: mac=" + text + " is a group address");
	return pack_mac(bytes);
}

struct Parsed {
	std::vector<std::string> functions;
	uint32_t uar_count = 1024;
	uint32_t vector_count = 32;
	std::string feature_mask;
	std::string masked_features;
	uint64_t spin_us = 0;
	uint64_t nap_us = 0;
	uint64_t idle_ms = 0;
};

void check(const Parsed &parsed)
{
	if (parsed.functions.empty())
		throw UsageError("at least one --function is needed");
	if (parsed.functions.size() > broker::kFunctionCountMax)
		throw UsageError("more than " + std::to_string(broker::kFunctionCountMax) + " functions");
	if (!std::has_single_bit(parsed.uar_count) || parsed.uar_count < kUarCountMin ||
	    parsed.uar_count > kUarCountMax)
		throw UsageError("--uar-count must be a power of two from 16 to 65536");
	if (parsed.vector_count < kVectorCountMin || parsed.vector_count > OHCA_MSIX_VECTOR_COUNT_MAX)
		throw UsageError("--vectors must be 2 to 64");
}

uint64_t parse_masked(const std::string &option, const std::string &list, char separator)
{
	std::string unknown;
	const auto features = parse_feature_names(list, separator, unknown);
	if (!features)
		throw UsageError(option + ": there is no feature '" + unknown + "'");
	if (*features & OHCA_FEATURES_MANDATORY)
		throw UsageError(option + ": rc is mandatory");
	return *features;
}

// Those of --feature-mask.
uint64_t parse_features(const std::string &text)
{
	if (text.empty())
		return OHCA_FEATURES_ALL;
	char *end;
	const uint64_t mask = strtoull(text.c_str(), &end, 16);
	if (*end != '\0')
		throw UsageError("--feature-mask: " + text + " is not a hexadecimal number");
	if ((mask & OHCA_FEATURES_MANDATORY) != OHCA_FEATURES_MANDATORY)
		throw UsageError("--feature-mask lacks a mandatory feature (RC, 0x1)");
	return OHCA_FEATURES_ALL & mask;
}

void add_functions(const Parsed &parsed, Options &options)
{
	std::set<std::string> sockets;
	std::set<std::string> names;
	std::set<uint64_t> macs;
	const uint64_t offered = mask_features(parse_features(parsed.feature_mask),
					       parse_masked("--mask-features", parsed.masked_features, ','));
	for (const std::string &text : parsed.functions) {
		auto function = parse_function(text, static_cast<uint32_t>(options.broker.functions.size()));
		function.uar_count = parsed.uar_count;
		function.vector_count = parsed.vector_count;
		function.features = mask_features(offered, ~function.features);
		if (!sockets.insert(function.socket).second || !names.insert(function.name).second ||
		    !macs.insert(function.mac).second)
			throw UsageError("--function " + text + ": socket, name or mac is another function's");
		options.broker.functions.push_back(function);
	}
}

} // namespace

broker::FunctionOptions parse_function(const std::string &text, uint32_t index)
{
	broker::FunctionOptions function;
	function.features = OHCA_FEATURES_ALL;
	function.name = "ohca" + std::to_string(index);
	auto mac = kDefaultMac;
	mac[4] = static_cast<uint8_t>(index);
	function.mac = pack_mac(mac);

	std::stringstream stream(text);
	for (std::string item; std::getline(stream, item, ',');) {
		const size_t equal = item.find('=');
		const std::string key = item.substr(0, equal);
		const std::string value = equal == std::string::npos ? "" : item.substr(equal + 1);
		if (value.empty())
			throw UsageError("--function: '" + item + "' is not KEY=VALUE");
		if (key == "socket")
			function.socket = value;
		else if (key == "mac")
			function.mac = parse_mac(value);
		else if (key == "name")
			function.name = value;
		else if (key == "mask")
			function.features &= ~parse_masked("--function: mask", value, '+');
		else
			throw UsageError("--function: unknown key '" + key + "' (socket, mac, name, mask)");
	}
	if (function.socket.empty())
		throw UsageError("--function " + text + ": socket=PATH is missing");
	return function;
}

bool parse_options(int argc, char **argv, Options &options)
{
	CLI::App app("ohcad - the ohca host channel adapter: serves PCI functions to QEMU over vfio-user");
	Parsed parsed;
	run::PolicyOptions &policy = options.broker.policy;
	parsed.spin_us = policy.spin_ns / 1000;
	parsed.nap_us = policy.nap_ns / 1000;
	parsed.idle_ms = policy.idle_ns / 1000000;

	app.add_option("--function", parsed.functions,
		       "A function: socket=PATH[,mac=52:54:00:77:00:01][,name=NAME][,mask=FEATURE+...]; repeat for more")
		->allow_extra_args(false);
	app.add_option("--run-dir", options.run_dir, "Folder of the status socket and the pid file")
		->capture_default_str();
	app.add_option("--log", options.log_file, "Append the log to this file instead of standard error");
	app.add_option("--log-level", options.log_level)
		->check(CLI::IsMember({"trace", "debug", "info", "warning", "error", "off"}))
		->capture_default_str();
	app.add_option("--uar-count", parsed.uar_count, "UAR pages of each function, a power of two")
		->capture_default_str();
	app.add_option("--vectors", parsed.vector_count, "MSI-X vectors of each function")->capture_default_str();
	app.add_option("--feature-mask", parsed.feature_mask, "Offer only these features (hexadecimal)");
	app.add_option("--mask-features", parsed.masked_features, "Do not offer these features: names, see ohcactl features");
	app.add_option("--spin-us", parsed.spin_us, "Spin that long after work while a processor is free")
		->capture_default_str();
	app.add_option("--sleep-us", parsed.nap_us, "First nap between two looks for work, to begin with; it adapts")
		->check(CLI::Range(1, 1000))
		->capture_default_str();
	app.add_option("--idle-ms", parsed.idle_ms, "Sleep, needing a kick, after that long without work")
		->capture_default_str();
	app.add_flag("--realtime,!--no-realtime", policy.realtime, "Run the engine under SCHED_FIFO if permitted");
	app.set_version_flag("--version", "ohcad " OHCA_VERSION);

	try {
		app.parse(argc, argv);
	} catch (const CLI::Success &success) { // --help, --version
		app.exit(success);
		return false;
	} catch (const CLI::ParseError &error) {
		throw UsageError(error.what());
	}
	check(parsed);
	add_functions(parsed, options);
	policy.spin_ns = parsed.spin_us * 1000;
	policy.nap_ns = parsed.nap_us * 1000;
	policy.idle_ns = parsed.idle_ms * 1000000;
	return true;
}

} // namespace ohca
