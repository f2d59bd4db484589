// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "broker/function.hh"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <rdma/ohca_hw.h>
#include <spdlog/spdlog.h>

namespace ohca::broker {

namespace {

// A client that does not answer a DMA request: shorter than the engine's deadline, because
// the engine waits for it.
constexpr uint64_t kDmaDeadlineNs = 1000000000;
// Files without ranges that stay open while the client is connected.
constexpr size_t kIdleFiles = 8;

void copy_from(std::span<const std::byte> memory, uint64_t offset, std::span<std::byte> to)
{
	memcpy(to.data(), memory.data() + offset, to.size());
}

} // namespace

Function::Function(uint32_t index, const FunctionOptions &options, FunctionSurroundings &surroundings)
	: index_(index), options_(options), surroundings_(surroundings),
	  context_("ohca-context", core::context_memory_size()),
	  uars_("ohca-uars", size_t{options.uar_count} * OHCA_UAR_SIZE),
	  config_(options.vector_count, uint64_t{options.uar_count} * OHCA_UAR_SIZE),
	  registers_({options.features, options.uar_count, options.vector_count, options.mac}),
	  interrupts_(options.vector_count, surroundings.shared().interrupts[index]),
	  dma_map_(surroundings.files()), server_(surroundings.loop(), *this, options.name)
{
}

// --- client ---

void Function::client_connected()
{
	config_.reset();
	update_bus_master();
}

void Function::client_disconnected()
{
	// Whoever connects next finds the function as after power-on.
	interrupts_.clear();
	for (uint32_t vector = 0; vector < interrupts_.vector_count(); vector++)
		send_irq(vector);
	dma_map_.clear();
	surroundings_.engine().request({.type = ChannelType::kUnmapAll, .function = index_}, [](auto) {});
	surroundings_.collect_files(0);
	reset_waiters_.clear();
	reset_function();
}

host::RegionDescription Function::region(uint32_t index)
{
	constexpr uint32_t kReadWrite = VFIO_REGION_INFO_FLAG_READ | VFIO_REGION_INFO_FLAG_WRITE;
	switch (index) {
	case VFIO_PCI_BAR0_REGION_INDEX: return {OHCA_CONTROL_BAR_SIZE, kReadWrite, -1};
	case VFIO_PCI_BAR2_REGION_INDEX:
		return {uars_.bytes().size(), kReadWrite | VFIO_REGION_INFO_FLAG_MMAP, uars_.fd()};
	case VFIO_PCI_CONFIG_REGION_INDEX: return {host::kPciConfigSize, kReadWrite, -1};
	default: return {};
	}
}

int Function::read_region(uint32_t index, uint64_t offset, std::span<std::byte> to)
{
	switch (index) {
	case VFIO_PCI_BAR0_REGION_INDEX: read_control_bar(static_cast<uint32_t>(offset), to); break;
	case VFIO_PCI_BAR2_REGION_INDEX: copy_from(uars_.bytes(), offset, to); break;
	case VFIO_PCI_CONFIG_REGION_INDEX: config_.read(static_cast<uint32_t>(offset), to); break;
	default: return EINVAL;
	}
	return 0;
}

int Function::write_region(uint32_t index, uint64_t offset, std::span<const std::byte> from)
{
	switch (index) {
	case VFIO_PCI_BAR0_REGION_INDEX: write_control_bar(static_cast<uint32_t>(offset), from); break;
	case VFIO_PCI_BAR2_REGION_INDEX: memcpy(uars_.bytes().data() + offset, from.data(), from.size()); break;
	case VFIO_PCI_CONFIG_REGION_INDEX:
		if (config_.write(static_cast<uint32_t>(offset), from)) {
			spdlog::info("{}: function level reset", options_.name);
			reset_function();
		}
		update_bus_master();
		break;
	default: return EINVAL;
	}
	return 0;
}

void Function::read_control_bar(uint32_t offset, std::span<std::byte> to) const
{
	std::ranges::fill(to, std::byte{0});
	const uint64_t pending = interrupts_.pending();
	for (size_t i = 0; i < to.size(); i++) {
		const uint32_t at = offset + static_cast<uint32_t>(i);
		if (at < OHCA_KICK_PAGE_OFF) {
			registers_.read(at, to.subspan(i, 1));
		} else if (at >= OHCA_MSIX_TABLE_OFF && at - OHCA_MSIX_TABLE_OFF < msix_table_.size()) {
			to[i] = msix_table_[at - OHCA_MSIX_TABLE_OFF];
		} else if (at >= OHCA_MSIX_PBA_OFF && at - OHCA_MSIX_PBA_OFF < sizeof(pending)) {
			to[i] = static_cast<std::byte>(pending >> (8 * (at - OHCA_MSIX_PBA_OFF)));
		}
	}
}

void Function::write_control_bar(uint32_t offset, std::span<const std::byte> from)
{
	if (offset < OHCA_KICK_PAGE_OFF) {
		switch (registers_.write(offset, from)) {
		case host::ControlRegisters::Action::kReset: start_reset(); break;
		case host::ControlRegisters::Action::kEnable: start_enable(); break;
		case host::ControlRegisters::Action::kNone: break;
		}
	} else if (offset < OHCA_MSIX_TABLE_OFF) {
		if (offset == OHCA_KICK_PAGE_OFF + OHCA_KICK_OFF)
			surroundings_.kick();
	} else if (offset - OHCA_MSIX_TABLE_OFF < msix_table_.size()) {
		const size_t at = offset - OHCA_MSIX_TABLE_OFF;
		const size_t size = std::min(from.size(), msix_table_.size() - at);
		std::copy_n(from.begin(), size, msix_table_.begin() + static_cast<ptrdiff_t>(at));
	}
}

// --- interrupts ---

uint32_t Function::irq_count(uint32_t index)
{
	return index == VFIO_PCI_MSIX_IRQ_INDEX ? options_.vector_count : 0;
}

void Function::send_irq(uint32_t vector)
{
	surroundings_.engine().send({.type = ChannelType::kSetIrq, .function = index_, .value = vector},
				    interrupts_.fd(vector));
}

int Function::set_irqs(const host::IrqRequest &request)
{
	if (request.index != VFIO_PCI_MSIX_IRQ_INDEX)
		return 0; // the others have no interrupts, so there is nothing to do
	if (request.data == VFIO_IRQ_SET_DATA_EVENTFD) {
		for (uint32_t i = 0; i < request.count; i++) {
			interrupts_.set_fd(request.start + i,
					   request.fds.empty() ? UniqueFd() : std::move(request.fds[i]));
			send_irq(request.start + i);
		}
		return 0;
	}
	const bool trigger = request.action == VFIO_IRQ_SET_ACTION_TRIGGER;
	if (trigger && request.data == VFIO_IRQ_SET_DATA_NONE && request.count == 0) {
		for (uint32_t vector = 0; vector < interrupts_.vector_count(); vector++) {
			interrupts_.set_fd(vector, {});
			send_irq(vector);
		}
		return 0;
	}
	for (uint32_t i = 0; i < request.count; i++) {
		if (request.data == VFIO_IRQ_SET_DATA_BOOL && request.selected[i] == std::byte{0})
			continue;
		if (trigger)
			interrupts_.raise(request.start + i);
		else if (request.action == VFIO_IRQ_SET_ACTION_MASK)
			interrupts_.mask(request.start + i);
		else
			interrupts_.unmask(request.start + i);
	}
	return 0;
}

// --- DMA map ---

int Function::map_dma(const host::DmaMapRequest &request, UniqueFd fd)
{
	host::DmaRange range{request.address, request.size, request.offset, host::kNoFile,
			     (request.flags & host::kDmaMapWrite) != 0};
	bool added = false;
	if (fd)
		range.file = surroundings_.files().acquire(std::move(fd), added);
	if (added) {
		surroundings_.engine().send({.type = ChannelType::kAddFile, .file = range.file},
					    surroundings_.files().files().at(range.file).fd.get());
	}
	if (range.file != host::kNoFile) {
		if (!surroundings_.files().contains(range.file, range.file_offset, range.size))
			return EINVAL;
		range.writable &= surroundings_.files().files().at(range.file).writable;
	}
	if (const int error = dma_map_.map(range)) {
		spdlog::warn("{}: DMA map of {:#x}+{:#x} refused: {}", options_.name, range.address, range.size,
			     strerror(error));
		return error;
	}
	if (bus_master_)
		send_map(range);
	return 0;
}

void Function::send_map(const host::DmaRange &range)
{
	surroundings_.engine().send({.type = ChannelType::kMap,
				     .function = index_,
				     .address = range.address,
				     .size = range.size,
				     .offset = range.file_offset,
				     .file = range.file,
				     .flag = range.writable});
}

// Without Bus Master Enable the engine has no map at all, so it cannot reach anything.
void Function::update_bus_master()
{
	if (config_.bus_master() == bus_master_)
		return;
	bus_master_ = config_.bus_master();
	if (!bus_master_) {
		surroundings_.engine().request({.type = ChannelType::kUnmapAll, .function = index_}, [](auto) {});
		return;
	}
	for (const auto &[address, range] : dma_map_.ranges())
		send_map(range);
}

void Function::unmap_dma(const host::DmaUnmapRequest &request, host::ReplyToken token)
{
	ChannelMessage message{.type = ChannelType::kUnmapAll, .function = index_};
	if (request.flags & host::kDmaUnmapAll) {
		dma_map_.clear();
	} else {
		dma_map_.unmap(request.address, request.size);
		message.type = ChannelType::kUnmap;
		message.address = request.address;
		message.size = request.size;
	}
	// The client may give the memory to somebody else once it has the reply, so the engine
	// must have stopped using it.
	surroundings_.engine().request(message, [this, token](auto) { server_.complete(token, 0); });
	surroundings_.collect_files(kIdleFiles);
}

// --- reset and enable ---

void Function::reset_device(host::ReplyToken token)
{
	reset_waiters_.push_back(token);
	reset_function();
}

void Function::reset_function()
{
	config_.reset();
	update_bus_master();
	msix_table_.fill(std::byte{0});
	registers_.start_reset();
	start_reset();
}

void Function::start_reset()
{
	interrupts_.drop_pending();
	if (!surroundings_.engine().running()) {
		// Zero is the state after reset, and a fresh engine has no other memory of the function.
		context_.clear();
		uars_.clear();
		surroundings_.ensure_engine();
		finish_reset();
		return;
	}
	// The newest one counts: its end is after the end of all others.
	const uint64_t sequence = surroundings_.engine().request(
		{.type = ChannelType::kReset, .function = index_}, [this, count = ++reset_sequence_](auto answer) {
			if (!answer) {
				context_.clear();
				uars_.clear();
			}
			if (count == reset_sequence_)
				finish_reset();
		});
	spdlog::debug("{}: reset {} started", options_.name, sequence);
}

void Function::finish_reset()
{
	registers_.finish_reset();
	spdlog::info("{}: reset done", options_.name);
	for (const host::ReplyToken token : reset_waiters_)
		server_.complete(token, 0);
	reset_waiters_.clear();
}

void Function::start_enable()
{
	surroundings_.ensure_engine();
	surroundings_.engine().request(
		{.type = ChannelType::kEnable, .function = index_, .enable = registers_.enable_request()},
		[this, count = reset_sequence_](auto answer) {
			if (count != reset_sequence_)
				return; // a reset came in between
			registers_.finish_enable(answer.value_or(OHCA_FAIL_ENGINE_DIED));
			if (registers_.fail_reason() == OHCA_FAIL_NONE)
				spdlog::info("{}: enabled", options_.name);
			else
				spdlog::warn("{}: enable refused, reason {}", options_.name,
					     registers_.fail_reason());
		});
}

// --- failure ---

void Function::fail(uint32_t reason)
{
	using State = host::ControlRegisters::State;
	if (registers_.state() != State::kEnabled && registers_.state() != State::kEnabling)
		return;
	spdlog::error("{}: failed, reason {}", options_.name, reason);
	registers_.fail(reason);
	// Applications poll their completion queues and would wait for ever: this word tells them.
	for (size_t offset = 0; offset < uars_.bytes().size(); offset += OHCA_UAR_SIZE) {
		auto *uar = reinterpret_cast<ohca_uar *>(uars_.bytes().data() + offset);
		std::atomic_ref(uar->device_state).store(OHCA_UAR_DEVICE_FAILED, std::memory_order_release);
	}
	interrupts_.raise(OHCA_CMD_VECTOR);
}

void Function::handle_failed(uint32_t reason)
{
	fail(reason);
}

void Function::handle_engine_gone(uint32_t reason)
{
	if (dma_active_) {
		server_.cancel_dma();
		surroundings_.loop().cancel_timer(dma_timer_);
		dma_active_ = false;
	}
	fail(reason);
}

void Function::prepare_engine_start()
{
	if (registers_.state() == host::ControlRegisters::State::kFailed)
		context_.clear();
}

// --- in-band DMA ---

bool Function::reaches_in_band(uint64_t address, uint64_t size) const
{
	const auto &ranges = dma_map_.ranges();
	auto next = ranges.upper_bound(address);
	if (next == ranges.begin())
		return false;
	const host::DmaRange &range = std::prev(next)->second;
	return bus_master_ && range.file == host::kNoFile && address - range.address < range.size &&
	       size <= range.size - (address - range.address);
}

void Function::reply_dma(bool ok)
{
	if (!dma_active_)
		return;
	dma_active_ = false;
	surroundings_.loop().cancel_timer(dma_timer_);
	surroundings_.engine().send({.type = ChannelType::kDmaReply,
				     .function = index_,
				     .sequence = dma_request_.sequence,
				     .flag = ok});
}

void Function::handle_dma_request(const ChannelMessage &request)
{
	dma_request_ = request;
	dma_active_ = true;
	const auto bounce = std::span(surroundings_.shared().bounce);
	const bool fits = request.size != 0 && request.size <= std::min<uint64_t>(bounce.size(),
										  server_.max_dma_transfer());
	if (!fits || !reaches_in_band(request.address, request.size)) {
		reply_dma(false);
		return;
	}
	const auto data = request.flag ? bounce.first(request.size) : std::span<std::byte>();
	dma_timer_ = surroundings_.loop().start_timer(monotonic_ns() + kDmaDeadlineNs, [this] {
		spdlog::warn("{}: the client did not answer a DMA request", options_.name);
		server_.cancel_dma();
		reply_dma(false);
	});
	if (!server_.request_dma(request.address, data, request.size))
		reply_dma(false);
}

void Function::dma_done(bool ok, std::span<const std::byte> data)
{
	if (!dma_active_)
		return;
	if (ok && !dma_request_.flag)
		std::ranges::copy(data, surroundings_.shared().bounce);
	reply_dma(ok);
}

} // namespace ohca::broker
