// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// Messages from the broker, the DMA map and in-band accesses. The loop itself is
// in poll_loop.cc.
//
// Map changes are applied whenever they are seen, also in the middle of a pass:
// a translation that misses asks for them.  The acknowledgement of an unmap
// waits for the end of the pass, because until then a copy may be under way
// through the old pointer; only a wait for in-band data, which can depend on the
// very client that waits for the acknowledgement, sends it earlier.
#include "run/engine_process.hh"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <poll.h>
#include <rdma/ohca_hw_regs.h>
#include <spdlog/spdlog.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/event_loop.hh"
#include "run/fault_guard.hh"

namespace ohca::run {

using broker::ChannelMessage;
using broker::ChannelType;

namespace {

// Messages on their way are waited for as long; the broker hands them over at once.
constexpr int kDrainWaitMs = 200;
// Longer than the broker's own deadline for the client.
constexpr uint64_t kInBandWaitNs = 1500000000;

} // namespace

// A function's memory and interrupts as the core sees them.
class EngineProcess::FunctionSide final : public core::InBandDma, public core::InterruptSink {
public:
	FunctionSide(EngineProcess &process, uint32_t index, host::InterruptTable &interrupts)
		: dma(this, &process.shared_.faults), process_(process), index_(index), interrupts_(interrupts)
	{
	}

	bool read(uint64_t address, std::span<std::byte> to) override
	{
		return process_.in_band(*this, false, address, to);
	}
	bool write(uint64_t address, std::span<const std::byte> from) override
	{
		// in_band() does not write to it in this direction.
		auto *data = const_cast<std::byte *>(from.data());
		return process_.in_band(*this, true, address, {data, from.size()});
	}
	bool refresh() override
	{
		const uint64_t before = dma.generation();
		process_.drain(process_.shared_.messages.load(std::memory_order_acquire));
		return dma.generation() != before;
	}
	void raise(uint32_t vector) override
	{
		interrupts_.raise(vector);
		process_.shared_.statistics.interrupts.fetch_add(1, std::memory_order_relaxed);
	}

	uint32_t index() const { return index_; }
	host::InterruptTable &interrupts() { return interrupts_; }

	core::DmaSpace dma;
	bool failure_reported = false;
	// The client did not answer: no more waiting until something changes.
	bool in_band_broken = false;

private:
	EngineProcess &process_;
	uint32_t index_;
	host::InterruptTable &interrupts_;
};

EngineProcess::EngineProcess(const EngineStart &start, broker::Channel channel)
	: channel_(std::move(channel)), shared_(*start.shared), kick_fd_(start.kick_fd),
	  epoll_(epoll_create1(EPOLL_CLOEXEC)), policy_(start.policy)
{
	for (const int fd : {channel_.fd(), kick_fd_}) {
		epoll_event event{};
		event.events = EPOLLIN;
		event.data.fd = fd;
		epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event);
	}
	for (const auto &[id, file] : start.files->files())
		files_.emplace(id, File{UniqueFd(file.fd.get()), file.writable, {}});
	for (const FunctionStart &function : start.functions) {
		const auto index = static_cast<uint32_t>(sides_.size());
		sides_.push_back(std::make_unique<FunctionSide>(*this, index, *function.interrupts));
		FunctionSide &side = *sides_.back();
		if (function.dma_map)
			inherit_map(side, *function.dma_map);
		engine_.add_function({.context_memory = function.context_memory,
				      .uar_pages = function.uar_pages,
				      .dma = &side.dma,
				      .interrupts = &side,
				      .mac = function.mac,
				      .features = function.features,
				      .vector_count = function.vector_count});
	}
	shared_.statistics.started_ns.store(monotonic_ns());
}

EngineProcess::~EngineProcess() = default;

void EngineProcess::inherit_map(FunctionSide &side, const host::DmaMap &map)
{
	for (const auto &[address, range] : map.ranges()) {
		bool writable = range.writable;
		std::byte *base = locate(range.file, range.file_offset, range.size, writable);
		side.dma.map(address, range.size, base, writable);
	}
}

// --- messages ---

void EngineProcess::send(const ChannelMessage &message)
{
	// The broker always reads, so this ends.
	while (channel_.send(message) == broker::Channel::Result::kAgain) {
		pollfd wait{channel_.fd(), POLLOUT, 0};
		poll(&wait, 1, kDrainWaitMs);
	}
}

void EngineProcess::answer(const ChannelMessage &request, uint32_t value)
{
	send({.type = ChannelType::kDone, .function = request.function, .sequence = request.sequence, .value = value});
}

bool EngineProcess::receive(bool wait)
{
	ChannelMessage message;
	UniqueFd fd;
	broker::Channel::Result result = channel_.receive(message, fd);
	if (result == broker::Channel::Result::kAgain && wait) {
		pollfd poll_fd{channel_.fd(), POLLIN, 0};
		poll(&poll_fd, 1, kDrainWaitMs);
		result = channel_.receive(message, fd);
	}
	if (result == broker::Channel::Result::kClosed)
		stop_ = true;
	if (result != broker::Channel::Result::kOk)
		return false;
	processed_++;
	apply(message, std::move(fd));
	return true;
}

void EngineProcess::drain(uint64_t until)
{
	// Announced messages may still be on their way when the broker's end was full.
	while (processed_ < until && receive(true)) {
	}
}

void EngineProcess::apply(const ChannelMessage &message, UniqueFd fd)
{
	FunctionSide &side = *sides_[message.function];
	switch (message.type) {
	case ChannelType::kAddFile: files_.insert_or_assign(message.file, File{std::move(fd), true, {}}); break;
	case ChannelType::kDropFile: dropped_files_.push_back(message.file); break;
	case ChannelType::kMap: {
		bool writable = message.flag;
		std::byte *base = locate(message.file, message.offset, message.size, writable);
		side.dma.map(message.address, message.size, base, writable);
		side.in_band_broken = false;
		break;
	}
	case ChannelType::kUnmap:
		side.dma.unmap(message.address, message.size);
		unmaps_.push_back(message);
		break;
	case ChannelType::kUnmapAll:
		side.dma.clear();
		unmaps_.push_back(message);
		break;
	case ChannelType::kSetIrq: side.interrupts().set_fd(message.value, std::move(fd)); break;
	case ChannelType::kReset:
	case ChannelType::kEnable:
		// Waiting for a client that is being reset would only delay it.
		side.in_band_broken = true;
		deferred_.push_back(message);
		break;
	case ChannelType::kDmaReply:
		if (message.sequence == dma_sequence_) {
			dma_answered_ = true;
			dma_ok_ = message.flag;
		}
		break;
	case ChannelType::kStop: stop_ = true; break;
	default: break;
	}
}

void EngineProcess::acknowledge_unmaps()
{
	for (const ChannelMessage &message : unmaps_)
		answer(message);
	unmaps_.clear();
}

void EngineProcess::finish_pass()
{
	acknowledge_unmaps();
	// Not earlier: the pass may have held pointers into them.
	for (const host::FileId file : dropped_files_)
		drop_file(file);
	dropped_files_.clear();
}

void EngineProcess::run_deferred()
{
	std::vector<ChannelMessage> deferred;
	deferred.swap(deferred_);
	for (const ChannelMessage &message : deferred) {
		FunctionSide &side = *sides_[message.function];
		side.failure_reported = false;
		side.in_band_broken = false;
		uint32_t value = OHCA_FAIL_NONE;
		if (message.type == ChannelType::kReset)
			engine_.reset(message.function);
		else
			value = engine_.enable(message.function, message.enable);
		answer(message, value);
	}
}

void EngineProcess::report_failures()
{
	for (uint32_t i = 0; i < sides_.size(); i++) {
		const uint32_t reason = engine_.failure(i);
		if (reason == OHCA_FAIL_NONE || sides_[i]->failure_reported)
			continue;
		sides_[i]->failure_reported = true;
		send({.type = ChannelType::kFailed, .function = i, .value = reason});
	}
}

// --- memory ---

bool EngineProcess::map_file(File &file)
{
	struct stat status;
	if (fstat(file.fd.get(), &status) != 0 || status.st_size <= 0)
		return false;
	const auto size = static_cast<size_t>(status.st_size);
	const int flags = MAP_SHARED | MAP_NORESERVE;
	void *base = mmap(nullptr, size, PROT_READ | PROT_WRITE, flags, file.fd.get(), 0);
	if (base == MAP_FAILED && errno == EACCES) {
		file.writable = false;
		base = mmap(nullptr, size, PROT_READ, flags, file.fd.get(), 0);
	}
	if (base == MAP_FAILED || !fault_guard::add(base, size)) {
		spdlog::error("cannot map {} MiB of guest memory: {}", size >> 20, strerror(errno));
		if (base != MAP_FAILED)
			munmap(base, size);
		return false;
	}
	file.mappings.push_back({static_cast<std::byte *>(base), size});
	return true;
}

std::byte *EngineProcess::locate(host::FileId id, uint64_t offset, uint64_t size, bool &writable)
{
	const auto found = files_.find(id);
	if (found == files_.end())
		return nullptr;
	File &file = found->second;
	const auto fits = [&](const FileMapping &mapping) {
		return offset <= mapping.size && size <= mapping.size - offset;
	};
	if ((file.mappings.empty() || !fits(file.mappings.back())) && !map_file(file))
		return nullptr;
	if (!fits(file.mappings.back()))
		return nullptr;
	writable &= file.writable;
	return file.mappings.back().base + offset;
}

void EngineProcess::drop_file(host::FileId id)
{
	const auto found = files_.find(id);
	if (found == files_.end())
		return;
	for (const FileMapping &mapping : found->second.mappings) {
		fault_guard::remove(mapping.base);
		munmap(mapping.base, mapping.size);
	}
	files_.erase(found);
}

// --- in-band accesses ---

bool EngineProcess::in_band(FunctionSide &side, bool write, uint64_t address, std::span<std::byte> data)
{
	while (!data.empty()) {
		const size_t size = std::min(data.size(), sizeof(shared_.bounce));
		if (!in_band_piece(side, write, address, data.first(size)))
			return false;
		address += size;
		data = data.subspan(size);
	}
	return true;
}

bool EngineProcess::in_band_piece(FunctionSide &side, bool write, uint64_t address, std::span<std::byte> data)
{
	if (side.in_band_broken || stop_)
		return false;
	shared_.statistics.in_band_requests.fetch_add(1, std::memory_order_relaxed);
	if (write)
		std::ranges::copy(data, shared_.bounce);
	dma_answered_ = false;
	dma_sequence_++;
	send({.type = ChannelType::kDmaRequest,
	      .function = side.index(),
	      .sequence = dma_sequence_,
	      .address = address,
	      .size = data.size(),
	      .flag = write});
	const uint64_t give_up_ns = monotonic_ns() + kInBandWaitNs;
	while (!dma_answered_) {
		// The client may be waiting for one of these before it looks at our request.
		acknowledge_unmaps();
		receive(true);
		if (stop_ || (!dma_answered_ && monotonic_ns() > give_up_ns)) {
			side.in_band_broken = true;
			return false;
		}
	}
	if (dma_ok_ && !write)
		std::copy_n(shared_.bounce, data.size(), data.begin());
	return dma_ok_;
}

// --- start ---

namespace {

// The child has a copy of every descriptor of the broker. A connection of which the engine
// keeps a copy would never look closed to QEMU.
void close_others(const EngineStart &start, const broker::Channel &channel)
{
	std::vector<int> keep = {0, 1, 2, channel.fd(), start.kick_fd};
	for (const auto &[id, file] : start.files->files())
		keep.push_back(file.fd.get());
	for (const FunctionStart &function : start.functions) {
		for (uint32_t vector = 0; vector < function.interrupts->vector_count(); vector++)
			keep.push_back(function.interrupts->fd(vector));
	}
	std::ranges::sort(keep);
	int next = 0;
	for (const int fd : keep) {
		if (fd > next)
			close_range(static_cast<unsigned>(next), static_cast<unsigned>(fd - 1), 0);
		next = std::max(next, fd + 1);
	}
	close_range(static_cast<unsigned>(next), ~0u, 0);
}

} // namespace

void run_engine(const EngineStart &start, broker::Channel channel)
{
	sigset_t none;
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, nullptr);
	// A signal to the whole group is the broker's to handle, which then ends us.
	signal(SIGINT, SIG_IGN);
	signal(SIGTERM, SIG_IGN);
	start.close_log();
	close_others(start, channel);
	start.open_log();
	use_precise_timers();
	const bool realtime = start.policy.realtime && enter_realtime();
	start.shared->statistics.realtime.store(realtime);
	if (start.policy.realtime && !realtime)
		spdlog::warn("no permission for SCHED_FIFO: latency depends on the load of the host");
	fault_guard::install(start.shared->faults);
	EngineProcess process(start, std::move(channel));
	process.run();
}

} // namespace ohca::run
