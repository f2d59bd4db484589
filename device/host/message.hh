// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// Framing of vfio-user messages on a non-blocking stream socket, with file
// descriptors.  Knows the header and nothing of the commands.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "base/unique_fd.hh"
#include "host/protocol.hh"

namespace ohca::host {

struct Message {
	MessageHeader header{};
	std::vector<std::byte> payload;
	std::vector<UniqueFd> fds;
};

// Collects bytes until a message is complete. Descriptors belong to the message
// whose first byte they arrived with (recvmsg() never merges across them).
class MessageReader {
public:
	enum class Result {
		kMessage,    // `message` is set
		kAgain,      // nothing more to read now
		kClosed,     // the peer is gone
		kMalformed,  // a length that cannot be: the stream is lost
	};
	Result read(int socket, Message &message);
	// The header as far as it was understood, for the error reply to kMalformed.
	const MessageHeader &header() const { return header_; }

private:
	Result receive(int socket, std::span<std::byte> to, size_t &received);
	void begin();

	MessageHeader header_{};
	size_t header_bytes_ = 0;
	std::vector<std::byte> payload_;
	size_t payload_bytes_ = 0;
	std::vector<UniqueFd> fds_;
};

// Sends messages in order; what the socket does not take waits.
class MessageWriter {
public:
	// A peer that does not read is dropped when this much waits for it.
	static constexpr size_t kMaxQueuedBytes = 16u << 20;

	// False: the connection is unusable.
	bool send(int socket, const MessageHeader &header, std::span<const std::byte> payload, int fd = -1);
	bool flush(int socket);
	bool pending() const { return !queue_.empty(); }
	void clear();

private:
	struct Item {
		std::vector<std::byte> bytes;
		size_t sent = 0;
		UniqueFd fd;
	};
	std::deque<Item> queue_;
	size_t queued_bytes_ = 0;
};

} // namespace ohca::host
