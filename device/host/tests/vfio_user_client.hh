// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// The other end of the protocol, for tests: says anything, also what no client
// should.
#pragma once

#include <cstring>
#include <functional>
#include <linux/vfio.h>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "base/unique_fd.hh"
#include "host/protocol.hh"

namespace ohca::host {

struct Reply {
	MessageHeader header{};
	std::vector<std::byte> payload;
	UniqueFd fd;

	bool failed() const { return header.flags & kFlagError; }
	uint32_t error() const { return failed() ? header.error : 0; }
	template <typename T> T as(size_t offset = 0) const
	{
		T value{};
		if (payload.size() >= offset + sizeof(T))
			memcpy(&value, payload.data() + offset, sizeof(T));
		return value;
	}
};

class VfioUserClient {
public:
	// pump: lets a server in the same thread work; called before each wait for a reply.
	explicit VfioUserClient(UniqueFd socket, std::function<void()> pump = [] {});

	// --- anything ---
	void send_bytes(std::span<const std::byte> bytes, std::span<const int> fds = {});
	uint16_t send(Command command, std::span<const std::byte> payload, std::span<const int> fds = {},
		      uint32_t flags = 0);
	// Nothing if the connection is closed or nothing comes for 10 s. DMA requests that
	// arrive meanwhile are answered from `memory`.
	std::optional<Reply> receive();
	// True if the server has closed the connection.
	bool closed();

	// --- what a client does ---
	Reply call(Command command, std::span<const std::byte> payload, std::span<const int> fds = {});
	template <typename T>
		requires(std::is_trivially_copyable_v<T> && !std::is_convertible_v<const T &, std::span<const std::byte>>)
	Reply call(Command command, const T &payload, std::span<const int> fds = {})
	{
		return call(command, std::as_bytes(std::span(&payload, 1)), fds);
	}
	Reply version(const std::string &json = R"({"capabilities":{"max_msg_fds":16,"max_data_xfer_size":1048576}})");
	uint32_t map(uint64_t address, uint64_t size, uint64_t offset, int fd);
	uint32_t unmap(uint64_t address, uint64_t size);
	Reply read(uint32_t region, uint64_t offset, uint32_t count);
	uint32_t write(uint32_t region, uint64_t offset, std::span<const std::byte> data);
	uint32_t read32(uint32_t region, uint64_t offset);
	void write32(uint32_t region, uint64_t offset, uint32_t value);
	void write64(uint32_t region, uint64_t offset, uint64_t value);
	uint32_t set_eventfds(uint32_t start, std::span<const int> fds);

	// In-band memory of the client, by address; kDmaDataOffset* is its layout.
	std::map<uint64_t, std::vector<std::byte>> memory;
	size_t dma_data_offset = kDmaDataOffsetSpecified;
	bool answer_dma = true;
	unsigned dma_requests = 0;
	int socket() const { return socket_.get(); }

private:
	bool receive_exactly(std::span<std::byte> to, UniqueFd *fd);
	void serve_dma(const Reply &request);

	UniqueFd socket_;
	std::function<void()> pump_;
	uint16_t next_id_ = 1;
};

} // namespace ohca::host
