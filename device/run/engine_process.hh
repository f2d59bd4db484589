// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// The engine process: a child of the broker that runs the core.  What it works
// on was made before the fork (BAR memory, context memory, eventfds, the DMA
// map); what changes later arrives over the channel.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/unique_fd.hh"
#include "broker/channel.hh"
#include "core/engine.hh"
#include "core/mem/dma_space.hh"
#include "host/dma_map.hh"
#include "host/interrupts.hh"
#include "run/policy.hh"
#include "run/scheduling.hh"

namespace ohca::run {

struct FunctionStart {
	std::span<std::byte> context_memory;
	std::span<std::byte> uar_pages;
	host::InterruptTable *interrupts; // the child's copy of the broker's table, with its descriptors
	const host::DmaMap *dma_map; // null: not to be used
	uint64_t mac;
	uint64_t features;
	uint32_t vector_count;
};

struct EngineStart {
	std::vector<FunctionStart> functions;
	const host::BackingFiles *files;
	broker::EngineShared *shared;
	int kick_fd;
	PolicyOptions policy;
	// All descriptors that are not needed are closed between these two.
	std::function<void()> close_log;
	std::function<void()> open_log;
};

class EngineProcess {
public:
	EngineProcess(const EngineStart &start, broker::Channel channel);
	~EngineProcess();

	// Returns when the broker says so or is gone.
	void run();

private:
	// A backing file, mapped whole. A file that grew is mapped once more, beside the first.
	struct FileMapping {
		std::byte *base;
		size_t size;
	};
	struct File {
		UniqueFd fd;
		bool writable = true;
		std::vector<FileMapping> mappings;
	};
	class FunctionSide;

	// poll_loop.cc
	bool control_pending() const;
	// Completions since the last interrupt; called when one was raised.
	uint64_t newly_announced();
	void nap(uint64_t duration_ns);
	void sleep();
	void wait_for_events(uint64_t timeout_ns);
	void report_failures();

	// engine_process.cc
	void inherit_map(FunctionSide &side, const host::DmaMap &map);
	bool receive(bool wait);
	// Applies what is in the channel as far as that is allowed in the middle of a pass.
	void drain(uint64_t until);
	void apply(const broker::ChannelMessage &message, UniqueFd fd);
	void run_deferred();
	void acknowledge_unmaps();
	void finish_pass();
	void answer(const broker::ChannelMessage &request, uint32_t value = 0);
	void send(const broker::ChannelMessage &message);
	std::byte *locate(host::FileId file, uint64_t offset, uint64_t size, bool &writable);
	bool map_file(File &file);
	void drop_file(host::FileId id);
	bool in_band(FunctionSide &side, bool write, uint64_t address, std::span<std::byte> data);
	bool in_band_piece(FunctionSide &side, bool write, uint64_t address, std::span<std::byte> data);

	broker::Channel channel_;
	broker::EngineShared &shared_;
	int kick_fd_;
	UniqueFd epoll_;
	std::unordered_map<host::FileId, File> files_;
	std::vector<std::unique_ptr<FunctionSide>> sides_;
	core::Engine engine_;
	IdlePolicy policy_;
	uint64_t announced_ = 0; // completions
	LoadMeter load_;
	uint64_t processed_ = 0;                        // messages taken from the channel
	std::vector<broker::ChannelMessage> deferred_;  // RESET, ENABLE: between two passes only
	std::vector<broker::ChannelMessage> unmaps_;    // applied, acknowledged at the end of the pass
	std::vector<host::FileId> dropped_files_;       // unmapped at the end of the pass
	bool stop_ = false;
	bool dma_answered_ = false;
	bool dma_ok_ = false;
	uint64_t dma_sequence_ = 0;
};

// The body of the child: closes what is not its own, sets up signals and scheduling, runs.
void run_engine(const EngineStart &start, broker::Channel channel);

} // namespace ohca::run
