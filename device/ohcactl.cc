// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// ohcactl: shows what a running ohcad does.
#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string>
#include <sys/socket.h>
#include <vector>

#include "base/unix_socket.hh"

#ifndef OHCA_VERSION
#define OHCA_VERSION "0.1"
#endif

namespace {

using nlohmann::json;

constexpr int kExitRuntime = 1;
constexpr int kExitUsage = 2;

std::string ask(const std::string &path, const std::string &request)
{
	const ohca::UniqueFd socket = ohca::connect_unix(path);
	if (!socket)
		throw std::runtime_error("no ohcad answers at " + path + ": " + strerror(errno));
	if (send(socket.get(), request.data(), request.size(), MSG_NOSIGNAL) < 0)
		throw std::runtime_error("cannot send to " + path + ": " + strerror(errno));
	std::string response;
	char bytes[65536];
	for (;;) {
		const ssize_t received = recv(socket.get(), bytes, sizeof(bytes), 0);
		if (received <= 0)
			break;
		response.append(bytes, static_cast<size_t>(received));
	}
	return response;
}

std::string to_text(const json &value)
{
	if (value.is_string())
		return value.get<std::string>();
	if (value.is_number_float()) {
		char text[32];
		snprintf(text, sizeof(text), "%.1f", value.get<double>());
		return text;
	}
	if (value.is_boolean())
		return value.get<bool>() ? "yes" : "no";
	return value.dump();
}

using Rows = std::vector<std::vector<std::string>>;

void print_columns(const Rows &rows)
{
	std::vector<size_t> widths;
	for (const auto &row : rows) {
		widths.resize(std::max(widths.size(), row.size()));
		for (size_t i = 0; i < row.size(); i++)
			widths[i] = std::max(widths[i], row[i].size());
	}
	for (const auto &row : rows) {
		for (size_t i = 0; i < row.size(); i++) {
			const bool last = i + 1 == row.size();
			printf("%-*s%s", last ? 0 : static_cast<int>(widths[i]), row[i].c_str(), last ? "\n" : "  ");
		}
	}
}

// One row per object, one column per name.
void print_table(const json &objects, const std::vector<std::string> &names)
{
	Rows rows = {names};
	for (const json &object : objects) {
		std::vector<std::string> row;
		for (const std::string &name : names)
			row.push_back(object.contains(name) ? to_text(object[name]) : "-");
		rows.push_back(row);
	}
	print_columns(rows);
}

void print_members(const json &object)
{
	Rows rows;
	for (const auto &[name, value] : object.items())
		rows.push_back({name, to_text(value)});
	print_columns(rows);
}

void print_functions(const json &functions)
{
	print_table(functions, {"name", "state", "mac", "client_pid", "reset_count", "fail_reason", "dma_ranges",
				"dma_bytes", "uar_count", "vector_count", "socket"});
}

void print_features(const json &functions)
{
	for (const json &function : functions) {
		printf("%s:\n", to_text(function["name"]).c_str());
		print_table(function["features"], {"feature", "offered", "negotiated"});
	}
}

void print_queues(const json &functions)
{
	for (const json &function : functions) {
		const json &queues = function["queues"];
		printf("%s: %zu queue pairs, %zu completion queues, %zu shared receive queues, %zu XRC domains\n",
		       to_text(function["name"]).c_str(), queues["qps"].size(), queues["cqs"].size(),
		       queues["srqs"].size(), queues["xrcds"].size());
		if (!queues["qps"].empty())
			print_table(queues["qps"], {"qpn", "type", "state", "remote_qpn", "send_cq", "recv_cq", "srq",
						    "xrcd", "uar", "sq_producer", "sq_fetched", "sq_completed",
						    "rq_producer", "rq_consumed", "send_psn", "expected_psn"});
		if (!queues["cqs"].empty())
			print_table(queues["cqs"], {"cqn", "entries", "eq", "producer", "consumer", "overrun",
						    "moderation_count", "moderation_period_us", "references"});
		if (!queues["srqs"].empty())
			print_table(queues["srqs"], {"srqn", "entries", "pd", "xrcd", "cq", "producer", "consumer",
						     "limit", "broken", "references"});
		if (!queues["xrcds"].empty())
			print_table(queues["xrcds"], {"xrcd", "references"});
	}
}

void print_counters(const json &functions)
{
	for (const json &function : functions) {
		printf("%s:\n", to_text(function["name"]).c_str());
		print_members(function["counters"]);
	}
}

void print_keys(const json &functions)
{
	for (const json &function : functions) {
		json keys = function["keys"];
		printf("%s: %zu keys\n", to_text(function["name"]).c_str(), keys.size());
		for (json &key : keys) {
			char text[32];
			snprintf(text, sizeof(text), "0x%08x", key["key"].get<uint32_t>());
			key["key"] = text;
			snprintf(text, sizeof(text), "0x%lx", key["start"].get<unsigned long>());
			key["start"] = text;
		}
		if (!keys.empty())
			print_table(keys, {"key", "pd", "access", "start", "length", "page_size"});
	}
}

void print_bench(const json &result)
{
	printf("memcpy of %llu bytes: %.2f GB/s (%llu copies in %.2f s)\n",
	       result["size"].get<unsigned long long>(), result["bytes_per_second"].get<double>() * 1e-9,
	       result["copies"].get<unsigned long long>(), result["seconds"].get<double>());
}

void print(const std::string &command, const json &response)
{
	if (command == "functions")
		print_functions(response);
	else if (command == "features")
		print_features(response);
	else if (command == "queues")
		print_queues(response);
	else if (command == "counters")
		print_counters(response);
	else if (command == "keys")
		print_keys(response);
	else if (command == "engine")
		print_members(response);
	else
		print_bench(response);
}

struct Arguments {
	std::string socket;
	std::string run_dir = "/run/ohca";
	std::string function;
	uint64_t size = 1 << 20;
	bool json = false;
	std::string command;
};

void add_command(CLI::App &app, Arguments &arguments, const std::string &name, const std::string &help,
		 bool takes_function)
{
	CLI::App *command = app.add_subcommand(name, help);
	command->add_flag("--json", arguments.json, "Print JSON");
	if (takes_function)
		command->add_option("function", arguments.function, "Only this function");
	if (name == "memcpy-bench")
		command->add_option("--size", arguments.size, "Bytes per copy")->capture_default_str();
	command->callback([&arguments, name] { arguments.command = name; });
}

int show(const Arguments &arguments)
{
	json request = {{"command", arguments.command}, {"size", arguments.size}};
	if (!arguments.function.empty())
		request["function"] = arguments.function;
	const std::string path = arguments.socket.empty() ? arguments.run_dir + "/ohcad.sock" : arguments.socket;
	const json response = json::parse(ask(path, request.dump() + "\n"), nullptr, false);
	if (response.is_discarded())
		throw std::runtime_error("ohcad gave no answer");
	if (response.is_object() && response.contains("error"))
		throw std::runtime_error(to_text(response["error"]));
	if (arguments.json)
		printf("%s\n", response.dump(2).c_str());
	else
		print(arguments.command, response);
	return 0;
}

} // namespace

int main(int argc, char **argv)
{
	CLI::App app("ohcactl - look into a running ohcad");
	Arguments arguments;
	app.add_option("--run-dir", arguments.run_dir, "Run directory of ohcad")->capture_default_str();
	app.add_option("--socket", arguments.socket, "Status socket; overrides --run-dir");
	app.add_flag("--json", arguments.json, "Print JSON");
	app.set_version_flag("--version", "ohcactl " OHCA_VERSION);
	app.require_subcommand(1);
	add_command(app, arguments, "functions", "The functions and their state", false);
	add_command(app, arguments, "features", "Features, offered by the device and negotiated with the driver", true);
	add_command(app, arguments, "queues", "Queue pairs, CQs, SRQs and XRC domains", true);
	add_command(app, arguments, "counters", "Counters since the last reset", true);
	add_command(app, arguments, "keys", "Memory keys", true);
	add_command(app, arguments, "engine", "The engine process", false);
	add_command(app, arguments, "memcpy-bench", "Measure memcpy() on the device's side", false);
	try {
		app.parse(argc, argv);
	} catch (const CLI::Success &success) {
		return app.exit(success);
	} catch (const CLI::ParseError &error) {
		fprintf(stderr, "ohcactl: %s (try --help)\n", error.what());
		return kExitUsage;
	}
	try {
		return show(arguments);
	} catch (const std::exception &error) {
		fprintf(stderr, "ohcactl: %s\n", error.what());
		return kExitRuntime;
	}
}
