// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// The vfio-user server of one function: one listening socket, one client at a
// time.  It understands the protocol, checks every length, index and count the
// client sends, and passes checked requests to a DeviceHandler.
//
// Nothing here ever blocks.  Requests whose answer takes time (DMA_UNMAP,
// DEVICE_RESET) are answered by complete(); the stream goes on meanwhile.
#pragma once

#include <cstdint>
#include <linux/vfio.h>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/event_loop.hh"
#include "base/unique_fd.hh"
#include "host/message.hh"
#include "host/protocol.hh"

namespace ohca::host {

struct RegionDescription {
	uint64_t size = 0;  // 0: no such region
	uint32_t flags = 0; // VFIO_REGION_INFO_FLAG_*
	int fd = -1;        // to be mapped by the client
};

// A checked DEVICE_SET_IRQS.
struct IrqRequest {
	uint32_t index;
	uint32_t start;
	uint32_t count;              // start + count <= irq_count(index)
	uint32_t action;             // VFIO_IRQ_SET_ACTION_*
	uint32_t data;               // VFIO_IRQ_SET_DATA_*
	std::span<UniqueFd> fds;     // EVENTFD: `count` of them, or none to remove
	std::span<const std::byte> selected; // BOOL: `count` bytes
};

using ReplyToken = uint64_t;

// What the server serves. Functions that return int return 0 or an errno value.
class DeviceHandler {
public:
	virtual void client_connected() = 0;
	virtual void client_disconnected() = 0;

	virtual RegionDescription region(uint32_t index) = 0;
	// The range is inside the region.
	virtual int read_region(uint32_t index, uint64_t offset, std::span<std::byte> to) = 0;
	virtual int write_region(uint32_t index, uint64_t offset, std::span<const std::byte> from) = 0;

	virtual uint32_t irq_count(uint32_t index) = 0;
	virtual int set_irqs(const IrqRequest &request) = 0;

	// Size is not 0 and the range does not wrap. fd may be empty: in-band only.
	virtual int map_dma(const DmaMapRequest &request, UniqueFd fd) = 0;
	// These two end with Server::complete(token), at once or later.
	virtual void unmap_dma(const DmaUnmapRequest &request, ReplyToken token) = 0;
	virtual void reset_device(ReplyToken token) = 0;

	// The answer to Server::request_dma(); `data` is what was read.
	virtual void dma_done(bool ok, std::span<const std::byte> data) = 0;

protected:
	~DeviceHandler() = default;
};

class Server {
public:
	Server(EventLoop &loop, DeviceHandler &handler, std::string name);
	~Server();
	Server(const Server &) = delete;
	Server &operator=(const Server &) = delete;

	// Takes the socket path over from a dead server; throws std::runtime_error if a live one has it.
	void listen(const std::string &path);
	// Serves an already connected socket (tests).
	void serve(UniqueFd connection);

	bool connected() const { return static_cast<bool>(connection_); }
	pid_t client_pid() const { return client_pid_; }
	void complete(ReplyToken token, int error);

	// Asks the client to read or write DMA memory for us; one request at a time, ended by
	// DeviceHandler::dma_done(). False: there is no client to ask.
	bool request_dma(uint64_t address, std::span<const std::byte> data, uint64_t read_count);
	void cancel_dma() { dma_request_.reset(); }
	uint32_t max_dma_transfer() const { return client_max_transfer_; }

private:
	struct Deferred {
		MessageHeader header;
		std::vector<std::byte> payload;
	};
	struct DmaRequest {
		uint16_t id;
		Command command;
		uint64_t count;
	};

	void accept_client();
	void handle_events(uint32_t events);
	void drop(const char *why);
	void update_events();

	void handle(Message &message);
	int dispatch(Message &message);
	void handle_reply(const Message &message);
	void reply(const MessageHeader &request, std::span<const std::byte> payload, int fd = -1);
	void reply_error(const MessageHeader &request, int error);
	ReplyToken defer(const MessageHeader &header, std::span<const std::byte> payload);

	// One per command: 0 if answered or deferred, else an errno for the error reply.
	int handle_version(const Message &message);
	int handle_dma_map(Message &message);
	int handle_dma_unmap(const Message &message);
	int handle_get_info(const Message &message);
	int handle_get_region_info(const Message &message);
	int handle_get_region_io_fds(const Message &message);
	int handle_get_irq_info(const Message &message);
	int handle_set_irqs(Message &message);
	int handle_region_read(const Message &message);
	int handle_region_write(const Message &message);
	int handle_reset(const Message &message);

	EventLoop &loop_;
	DeviceHandler &handler_;
	std::string name_;
	std::string path_;
	UniqueFd listener_;
	UniqueFd connection_;
	pid_t client_pid_ = 0;
	bool version_agreed_ = false;
	bool want_write_ = false;
	const char *drop_reason_ = nullptr;
	MessageReader reader_;
	MessageWriter writer_;
	uint32_t client_max_transfer_ = kMaxTransfer;
	std::unordered_map<ReplyToken, Deferred> deferred_;
	ReplyToken next_token_ = 1;
	std::optional<DmaRequest> dma_request_;
	uint16_t next_dma_id_ = 1;
	// Where the client puts the data of DMA messages: learned from what it sends.
	size_t dma_data_offset_ = kDmaDataOffsetQemu;
};

} // namespace ohca::host
