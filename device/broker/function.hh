// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// One PCI function as the broker keeps it: configuration space, registers, BAR
// memory, DMA map, eventfds, context memory, and the socket that QEMU has.  It
// outlives every engine.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/event_loop.hh"
#include "base/shared_memory.hh"
#include "broker/channel.hh"
#include "broker/engine_link.hh"
#include "host/dma_map.hh"
#include "host/interrupts.hh"
#include "host/pci_config.hh"
#include "host/registers.hh"
#include "host/server.hh"

namespace ohca::broker {

struct FunctionOptions {
	std::string name;
	std::string socket;
	uint64_t mac = 0; // byte i is bits 8i+7:8i
	uint32_t uar_count = 0;
	uint32_t vector_count = 0;
	uint64_t features = 0;
};

// What a function needs of its broker.
class FunctionSurroundings {
public:
	virtual EventLoop &loop() = 0;
	virtual EngineLink &engine() = 0;
	virtual EngineShared &shared() = 0;
	virtual host::BackingFiles &files() = 0;
	// Starts an engine if none runs.
	virtual void ensure_engine() = 0;
	virtual void kick() = 0;
	// Closes files that are no longer needed.
	virtual void collect_files(size_t keep) = 0;

protected:
	~FunctionSurroundings() = default;
};

class Function final : private host::DeviceHandler {
public:
	// Throws std::system_error.
	Function(uint32_t index, const FunctionOptions &options, FunctionSurroundings &surroundings);

	// Throws std::runtime_error.
	void listen() { server_.listen(options_.socket); }
	void serve(UniqueFd connection) { server_.serve(std::move(connection)); }

	// --- from the engine, or about it ---
	void handle_failed(uint32_t reason);
	void handle_engine_gone(uint32_t reason);
	void handle_dma_request(const ChannelMessage &request);
	// A new engine must not find what a dead one left of a function that has failed.
	void prepare_engine_start();

	// --- for the engine's start and the status socket ---
	uint32_t index() const { return index_; }
	const FunctionOptions &options() const { return options_; }
	const host::ControlRegisters &registers() const { return registers_; }
	const host::DmaMap &dma_map() const { return dma_map_; }
	bool bus_master() const { return bus_master_; }
	host::InterruptTable &interrupts() { return interrupts_; }
	const SharedMemory &context() const { return context_; }
	const SharedMemory &uars() const { return uars_; }
	const host::Server &server() const { return server_; }

private:
	void client_connected() override;
	void client_disconnected() override;
	host::RegionDescription region(uint32_t index) override;
	int read_region(uint32_t index, uint64_t offset, std::span<std::byte> to) override;
	int write_region(uint32_t index, uint64_t offset, std::span<const std::byte> from) override;
	uint32_t irq_count(uint32_t index) override;
	int set_irqs(const host::IrqRequest &request) override;
	int map_dma(const host::DmaMapRequest &request, UniqueFd fd) override;
	void unmap_dma(const host::DmaUnmapRequest &request, host::ReplyToken token) override;
	void reset_device(host::ReplyToken token) override;
	void dma_done(bool ok, std::span<const std::byte> data) override;

	void read_control_bar(uint32_t offset, std::span<std::byte> to) const;
	void write_control_bar(uint32_t offset, std::span<const std::byte> from);
	// Function level reset: configuration space and everything behind the registers.
	void reset_function();
	void start_reset();
	void finish_reset();
	void start_enable();
	void fail(uint32_t reason);
	void send_irq(uint32_t vector);
	void send_map(const host::DmaRange &range);
	void update_bus_master();
	bool reaches_in_band(uint64_t address, uint64_t size) const;
	void reply_dma(bool ok);

	uint32_t index_;
	FunctionOptions options_;
	FunctionSurroundings &surroundings_;
	SharedMemory context_;
	SharedMemory uars_;
	host::PciConfig config_;
	host::ControlRegisters registers_;
	host::InterruptTable interrupts_;
	host::DmaMap dma_map_;
	host::Server server_;
	std::array<std::byte, 16 * 64> msix_table_{}; // kept for whoever reads it back; QEMU emulates its own
	uint64_t reset_sequence_ = 0;                 // of the newest reset under way
	std::vector<host::ReplyToken> reset_waiters_;
	bool bus_master_ = false;                     // as the engine knows it
	bool dma_active_ = false;
	ChannelMessage dma_request_;
	EventLoop::TimerId dma_timer_ = 0;
};

} // namespace ohca::broker
