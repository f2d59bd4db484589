// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "broker/channel.hh"

#include <cerrno>
#include <cstring>
#include <sys/socket.h>
#include <system_error>
#include <type_traits>

namespace ohca::broker {

static_assert(std::is_trivially_copyable_v<ChannelMessage>);

void Channel::make_pair(Channel &broker, Channel &engine)
{
	int fds[2];
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds) != 0)
		throw std::system_error(errno, std::generic_category(), "socketpair");
	// A vIOMMU makes a message per page; let bursts go through without waiting.
	const int bytes = 4 << 20;
	for (const int fd : fds) {
		if (setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &bytes, sizeof(bytes)) != 0)
			setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
	}
	broker = Channel(UniqueFd(fds[0]));
	engine = Channel(UniqueFd(fds[1]));
}

Channel::Result Channel::send(const ChannelMessage &message, int fd)
{
	ChannelMessage copy = message;
	iovec vector{&copy, sizeof(copy)};
	alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))];
	msghdr header{};
	header.msg_iov = &vector;
	header.msg_iovlen = 1;
	if (fd >= 0) {
		header.msg_control = control;
		header.msg_controllen = sizeof(control);
		cmsghdr *rights = CMSG_FIRSTHDR(&header);
		rights->cmsg_level = SOL_SOCKET;
		rights->cmsg_type = SCM_RIGHTS;
		rights->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(rights), &fd, sizeof(fd));
	}
	ssize_t sent;
	do {
		sent = sendmsg(socket_.get(), &header, MSG_NOSIGNAL);
	} while (sent < 0 && errno == EINTR);
	if (sent >= 0)
		return Result::kOk;
	// ETOOMANYREFS: too many descriptors in flight, which the receiver will change.
	return errno == EAGAIN || errno == ETOOMANYREFS || errno == ENOBUFS ? Result::kAgain : Result::kClosed;
}

Channel::Result Channel::receive(ChannelMessage &message, UniqueFd &fd)
{
	iovec vector{&message, sizeof(message)};
	alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))];
	msghdr header{};
	header.msg_iov = &vector;
	header.msg_iovlen = 1;
	header.msg_control = control;
	header.msg_controllen = sizeof(control);
	ssize_t received;
	do {
		received = recvmsg(socket_.get(), &header, MSG_CMSG_CLOEXEC);
	} while (received < 0 && errno == EINTR);
	if (received < 0)
		return errno == EAGAIN ? Result::kAgain : Result::kClosed;
	if (received != static_cast<ssize_t>(sizeof(message)))
		return Result::kClosed;
	fd.reset();
	const cmsghdr *rights = CMSG_FIRSTHDR(&header);
	if (rights && rights->cmsg_level == SOL_SOCKET && rights->cmsg_type == SCM_RIGHTS) {
		int number;
		memcpy(&number, CMSG_DATA(rights), sizeof(number));
		fd.reset(number);
	}
	return Result::kOk;
}

} // namespace ohca::broker
