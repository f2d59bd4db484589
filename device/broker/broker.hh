// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// The broker: what QEMU and the operator talk to.  It keeps everything that
// must not be lost, starts engines, and does no protocol work, so that it has
// no reason to fail or to be late.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <vector>

#include "base/event_loop.hh"
#include "base/shared_memory.hh"
#include "broker/channel.hh"
#include "broker/engine_link.hh"
#include "broker/function.hh"
#include "host/dma_map.hh"
#include "run/policy.hh"

namespace ohca::broker {

struct BrokerOptions {
	std::vector<FunctionOptions> functions;
	run::PolicyOptions policy;
	// After that without an answer the engine is stuck. QEMU gives up at 5 s; much less would
	// take an engine for dead that a busy machine has merely not run.
	std::chrono::milliseconds engine_deadline{3500};
	// Called in each new engine process, before and after it closes what it inherited.
	std::function<void()> close_engine_log = [] {};
	std::function<void()> open_engine_log = [] {};
};

class Broker final : private FunctionSurroundings {
public:
	explicit Broker(const BrokerOptions &options); // throws std::system_error
	~Broker();

	// Starts listening and the engine; throws std::runtime_error.
	void start();
	// Handles events until stop(), or one round of them.
	void run();
	void run_once(int timeout_ms) { loop_.run_once(timeout_ms); }
	void stop() { stop_ = true; }

	EventLoop &loop() override { return loop_; }
	EngineLink &engine() override { return *engine_; }
	EngineShared &shared() override { return *shared_; }
	const std::vector<std::unique_ptr<Function>> &functions() const { return functions_; }
	const BrokerOptions &options() const { return options_; }

private:
	host::BackingFiles &files() override { return files_; }
	void ensure_engine() override;
	void kick() override;
	void collect_files(size_t keep) override;

	void run_child(Channel channel);
	void handle_engine_message(const ChannelMessage &message);
	void handle_engine_gone(uint32_t reason);

	BrokerOptions options_;
	EventLoop loop_;
	SharedMemory shared_memory_;
	EngineShared *shared_;
	UniqueFd kick_;
	host::BackingFiles files_;
	std::vector<std::unique_ptr<Function>> functions_;
	std::unique_ptr<EngineLink> engine_;
	bool stop_ = false;
};

} // namespace ohca::broker
