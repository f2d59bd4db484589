// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// Connections, dispatch, replies and DMA requests. The commands are in
// server_commands.cc.
#include "host/server.hh"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <spdlog/spdlog.h>
#include <stdexcept>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <system_error>

#include "base/unix_socket.hh"

namespace ohca::host {

namespace {

// Messages of one client handled in a row before the other descriptors get their turn.
constexpr int kMessagesPerRound = 64;

} // namespace

Server::Server(EventLoop &loop, DeviceHandler &handler, std::string name)
	: loop_(loop), handler_(handler), name_(std::move(name))
{
}

Server::~Server()
{
	if (connection_)
		loop_.remove(connection_.get());
	if (listener_) {
		loop_.remove(listener_.get());
		unlink(path_.c_str());
	}
}

void Server::listen(const std::string &path)
{
	listener_ = listen_unix(path);
	path_ = path;
	loop_.add(listener_.get(), EPOLLIN, [this](uint32_t) { accept_client(); });
}

void Server::accept_client()
{
	UniqueFd connection(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
	if (!connection)
		return;
	if (connection_) {
		// The memory, interrupts and state behind the socket belong to the first client.
		spdlog::warn("{}: second client refused while one is connected", name_);
		return;
	}
	serve(std::move(connection));
}

void Server::serve(UniqueFd connection)
{
	connection_ = std::move(connection);
	client_pid_ = peer_pid(connection_.get());
	reader_ = MessageReader();
	version_agreed_ = false;
	want_write_ = false;
	drop_reason_ = nullptr;
	client_max_transfer_ = kMaxTransfer;
	dma_data_offset_ = kDmaDataOffsetQemu;
	loop_.add(connection_.get(), EPOLLIN, [this](uint32_t events) { handle_events(events); });
	spdlog::info("{}: client connected (pid {})", name_, client_pid_);
	handler_.client_connected();
}

void Server::drop(const char *why)
{
	spdlog::info("{}: client disconnected: {}", name_, why);
	loop_.remove(connection_.get());
	connection_.reset();
	client_pid_ = 0;
	writer_.clear();
	deferred_.clear();
	if (dma_request_) {
		dma_request_.reset();
		handler_.dma_done(false, {});
	}
	handler_.client_disconnected();
}

void Server::update_events()
{
	if (!connection_ || writer_.pending() == want_write_)
		return;
	want_write_ = writer_.pending();
	loop_.modify(connection_.get(), want_write_ ? EPOLLIN | EPOLLOUT : EPOLLIN);
}

void Server::handle_events(uint32_t events)
{
	if ((events & EPOLLOUT) && !writer_.flush(connection_.get()))
		drop_reason_ = "cannot send";
	for (int i = 0; i < kMessagesPerRound && !drop_reason_; i++) {
		Message message;
		const MessageReader::Result result = reader_.read(connection_.get(), message);
		if (result == MessageReader::Result::kAgain)
			break;
		if (result == MessageReader::Result::kClosed) {
			drop_reason_ = "closed by the client";
		} else if (result == MessageReader::Result::kMalformed) {
			// Where the next message begins is unknown, so this is the end of the connection.
			reply_error(reader_.header(), EINVAL);
			drop_reason_ = "message of impossible length";
		} else {
			handle(message);
		}
	}
	if (drop_reason_)
		drop(drop_reason_);
	else
		update_events();
}

void Server::handle(Message &message)
{
	if ((message.header.flags & kFlagTypeMask) == kFlagReply) {
		handle_reply(message);
		return;
	}
	const int error = dispatch(message);
	if (error != 0) {
		spdlog::debug("{}: command {} refused: {}", name_, message.header.command, strerror(error));
		reply_error(message.header, error);
	}
}

int Server::dispatch(Message &message)
{
	const auto command = static_cast<Command>(message.header.command);
	if ((message.header.flags & kFlagTypeMask) != 0 || message.fds.size() > kMaxFds)
		return EINVAL;
	if (version_agreed_ == (command == Command::kVersion))
		return EINVAL; // exactly one VERSION, and first
	if (!message.fds.empty() && command != Command::kDmaMap && command != Command::kDeviceSetIrqs)
		return EINVAL;

	switch (command) {
	case Command::kVersion: return handle_version(message);
	case Command::kDmaMap: return handle_dma_map(message);
	case Command::kDmaUnmap: return handle_dma_unmap(message);
	case Command::kDeviceGetInfo: return handle_get_info(message);
	case Command::kDeviceGetRegionInfo: return handle_get_region_info(message);
	case Command::kDeviceGetRegionIoFds: return handle_get_region_io_fds(message);
	case Command::kDeviceGetIrqInfo: return handle_get_irq_info(message);
	case Command::kDeviceSetIrqs: return handle_set_irqs(message);
	case Command::kRegionRead: return handle_region_read(message);
	case Command::kRegionWrite: return handle_region_write(message);
	case Command::kDeviceReset: return handle_reset(message);
	case Command::kDmaRead:
	case Command::kDmaWrite: return EINVAL; // these go the other way
	case Command::kDirtyPages:
	case Command::kRegionWriteMulti:
	case Command::kDeviceFeature: return ENOTSUP; // optional and not announced
	}
	return ENOSYS;
}

void Server::reply(const MessageHeader &request, std::span<const std::byte> payload, int fd)
{
	if (!connection_ || (request.flags & kFlagNoReply))
		return;
	const MessageHeader header{request.id, request.command,
		static_cast<uint32_t>(sizeof(MessageHeader) + payload.size()), kFlagReply, 0};
	if (!writer_.send(connection_.get(), header, payload, fd))
		drop_reason_ = "cannot send";
	update_events();
}

void Server::reply_error(const MessageHeader &request, int error)
{
	if (!connection_ || (request.flags & kFlagNoReply))
		return;
	const MessageHeader header{request.id, request.command, sizeof(MessageHeader),
		kFlagReply | kFlagError, static_cast<uint32_t>(error)};
	if (!writer_.send(connection_.get(), header, {}))
		drop_reason_ = "cannot send";
	update_events();
}

ReplyToken Server::defer(const MessageHeader &header, std::span<const std::byte> payload)
{
	const ReplyToken token = next_token_++;
	deferred_.emplace(token, Deferred{header, {payload.begin(), payload.end()}});
	return token;
}

void Server::complete(ReplyToken token, int error)
{
	const auto found = deferred_.find(token);
	if (found == deferred_.end())
		return; // asked by a client that is gone
	const Deferred deferred = std::move(found->second);
	deferred_.erase(found);
	if (error != 0)
		reply_error(deferred.header, error);
	else
		reply(deferred.header, deferred.payload);
}

bool Server::request_dma(uint64_t address, std::span<const std::byte> data, uint64_t read_count)
{
	if (!connection_ || !version_agreed_ || dma_request_)
		return false;
	const bool write = !data.empty();
	const DmaAccess access{address, write ? data.size() : read_count};
	std::vector<std::byte> payload(sizeof(access) + data.size());
	memcpy(payload.data(), &access, sizeof(access));
	if (write)
		memcpy(payload.data() + dma_data_offset_, data.data(), data.size());

	const Command command = write ? Command::kDmaWrite : Command::kDmaRead;
	const uint16_t id = next_dma_id_++;
	const MessageHeader header{id, static_cast<uint16_t>(command),
		static_cast<uint32_t>(sizeof(MessageHeader) + payload.size()), 0, 0};
	if (!writer_.send(connection_.get(), header, payload))
		return false;
	update_events();
	dma_request_ = DmaRequest{id, command, access.count};
	return true;
}

void Server::handle_reply(const Message &message)
{
	if (!dma_request_ || message.header.id != dma_request_->id ||
	    message.header.command != static_cast<uint16_t>(dma_request_->command)) {
		spdlog::warn("{}: reply {} to nothing we asked", name_, message.header.id);
		return;
	}
	const DmaRequest request = *dma_request_;
	dma_request_.reset();
	if ((message.header.flags & kFlagError) || request.command == Command::kDmaWrite) {
		handler_.dma_done(!(message.header.flags & kFlagError), {});
		return;
	}
	if (message.payload.size() != sizeof(DmaAccess) + request.count) {
		handler_.dma_done(false, {});
		return;
	}
	// The 4 bytes at either end tell which layout it is: the one that is not used is zero.
	const auto is_zero = [](std::span<const std::byte> bytes) {
		return std::ranges::all_of(bytes, [](std::byte byte) { return byte == std::byte{0}; });
	};
	const std::span payload(message.payload);
	if (!is_zero(payload.subspan(kDmaDataOffsetQemu, 4)))
		dma_data_offset_ = kDmaDataOffsetQemu;
	else if (!is_zero(payload.last(std::min<size_t>(4, request.count))))
		dma_data_offset_ = kDmaDataOffsetSpecified;
	handler_.dma_done(true, payload.subspan(dma_data_offset_, request.count));
}

} // namespace ohca::host
