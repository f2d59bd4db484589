// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "host/message.hh"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/uio.h>

namespace ohca::host {

namespace {

// More than we announce: a client that sends too many gets an error, not a truncated set.
constexpr size_t kReceivedFdsMax = 253; // SCM_MAX_FD

void take_fds(msghdr &header, std::vector<UniqueFd> &fds)
{
	for (cmsghdr *control = CMSG_FIRSTHDR(&header); control; control = CMSG_NXTHDR(&header, control)) {
		if (control->cmsg_level != SOL_SOCKET || control->cmsg_type != SCM_RIGHTS)
			continue;
		const size_t count = (control->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		for (size_t i = 0; i < count; i++) {
			int fd;
			memcpy(&fd, CMSG_DATA(control) + i * sizeof(int), sizeof(fd));
			fds.emplace_back(fd);
		}
	}
}

} // namespace

MessageReader::Result MessageReader::receive(int socket, std::span<std::byte> to, size_t &received)
{
	iovec vector{to.data(), to.size()};
	alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * kReceivedFdsMax)];
	msghdr header{};
	header.msg_iov = &vector;
	header.msg_iovlen = 1;
	header.msg_control = control;
	header.msg_controllen = sizeof(control);

	ssize_t bytes;
	do {
		bytes = recvmsg(socket, &header, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
	} while (bytes < 0 && errno == EINTR);
	if (bytes < 0)
		return errno == EAGAIN || errno == EWOULDBLOCK ? Result::kAgain : Result::kClosed;
	take_fds(header, fds_);
	if (bytes == 0)
		return Result::kClosed;
	received += static_cast<size_t>(bytes);
	return Result::kMessage;
}

void MessageReader::begin()
{
	header_bytes_ = 0;
	payload_bytes_ = 0;
	payload_.clear();
	fds_.clear();
}

MessageReader::Result MessageReader::read(int socket, Message &message)
{
	while (header_bytes_ < sizeof(header_)) {
		auto bytes = std::as_writable_bytes(std::span(&header_, 1)).subspan(header_bytes_);
		if (const Result result = receive(socket, bytes, header_bytes_); result != Result::kMessage)
			return result;
		if (header_bytes_ < sizeof(header_))
			continue;
		if (header_.size < sizeof(header_) || header_.size > kMaxMessage)
			return Result::kMalformed;
		payload_.resize(header_.size - sizeof(header_));
	}
	while (payload_bytes_ < payload_.size()) {
		const Result result = receive(socket, std::span(payload_).subspan(payload_bytes_), payload_bytes_);
		if (result != Result::kMessage)
			return result;
	}
	message.header = header_;
	message.payload = std::move(payload_);
	message.fds = std::move(fds_);
	begin();
	return Result::kMessage;
}

bool MessageWriter::send(int socket, const MessageHeader &header, std::span<const std::byte> payload, int fd)
{
	Item item;
	item.bytes.resize(sizeof(header) + payload.size());
	memcpy(item.bytes.data(), &header, sizeof(header));
	if (!payload.empty())
		memcpy(item.bytes.data() + sizeof(header), payload.data(), payload.size());
	if (fd >= 0) {
		item.fd.reset(fcntl(fd, F_DUPFD_CLOEXEC, 0));
		if (!item.fd)
			return false;
	}
	queued_bytes_ += item.bytes.size();
	queue_.push_back(std::move(item));
	return flush(socket) && queued_bytes_ <= kMaxQueuedBytes;
}

bool MessageWriter::flush(int socket)
{
	while (!queue_.empty()) {
		Item &item = queue_.front();
		iovec vector{item.bytes.data() + item.sent, item.bytes.size() - item.sent};
		alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))];
		msghdr header{};
		header.msg_iov = &vector;
		header.msg_iovlen = 1;
		if (item.fd) {
			header.msg_control = control;
			header.msg_controllen = sizeof(control);
			cmsghdr *rights = CMSG_FIRSTHDR(&header);
			rights->cmsg_level = SOL_SOCKET;
			rights->cmsg_type = SCM_RIGHTS;
			rights->cmsg_len = CMSG_LEN(sizeof(int));
			const int fd = item.fd.get();
			memcpy(CMSG_DATA(rights), &fd, sizeof(fd));
		}
		const ssize_t sent = sendmsg(socket, &header, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (sent < 0) {
			if (errno == EINTR)
				continue;
			return errno == EAGAIN || errno == EWOULDBLOCK;
		}
		item.fd.reset(); // went with the first byte
		item.sent += static_cast<size_t>(sent);
		if (item.sent < item.bytes.size())
			continue;
		queued_bytes_ -= item.bytes.size();
		queue_.pop_front();
	}
	return true;
}

void MessageWriter::clear()
{
	queue_.clear();
	queued_bytes_ = 0;
}

} // namespace ohca::host
