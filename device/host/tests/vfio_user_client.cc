// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "host/tests/vfio_user_client.hh"

#include <cerrno>
#include <sys/socket.h>
#include <sys/time.h>

namespace ohca::host {

VfioUserClient::VfioUserClient(UniqueFd socket, std::function<void()> pump)
	: socket_(std::move(socket)), pump_(std::move(pump))
{
	const timeval timeout{10, 0};
	setsockopt(socket_.get(), SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
}

void VfioUserClient::send_bytes(std::span<const std::byte> bytes, std::span<const int> fds)
{
	iovec vector{const_cast<std::byte *>(bytes.data()), bytes.size()};
	std::vector<char> control(CMSG_SPACE(fds.size_bytes()));
	msghdr header{};
	header.msg_iov = &vector;
	header.msg_iovlen = 1;
	if (!fds.empty()) {
		header.msg_control = control.data();
		header.msg_controllen = control.size();
		cmsghdr *rights = CMSG_FIRSTHDR(&header);
		rights->cmsg_level = SOL_SOCKET;
		rights->cmsg_type = SCM_RIGHTS;
		rights->cmsg_len = CMSG_LEN(fds.size_bytes());
		memcpy(CMSG_DATA(rights), fds.data(), fds.size_bytes());
	}
	[[maybe_unused]] const ssize_t sent = sendmsg(socket_.get(), &header, MSG_NOSIGNAL);
}

uint16_t VfioUserClient::send(Command command, std::span<const std::byte> payload, std::span<const int> fds,
			      uint32_t flags)
{
	const uint16_t id = next_id_++;
	const MessageHeader header{id, static_cast<uint16_t>(command),
				   static_cast<uint32_t>(sizeof(MessageHeader) + payload.size()), flags, 0};
	std::vector<std::byte> bytes(header.size);
	memcpy(bytes.data(), &header, sizeof(header));
	if (!payload.empty())
		memcpy(bytes.data() + sizeof(header), payload.data(), payload.size());
	send_bytes(bytes, fds);
	return id;
}

bool VfioUserClient::receive_exactly(std::span<std::byte> to, UniqueFd *fd)
{
	while (!to.empty()) {
		pump_();
		iovec vector{to.data(), to.size()};
		alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))];
		msghdr header{};
		header.msg_iov = &vector;
		header.msg_iovlen = 1;
		header.msg_control = control;
		header.msg_controllen = sizeof(control);
		const ssize_t received = recvmsg(socket_.get(), &header, MSG_CMSG_CLOEXEC);
		if (received <= 0)
			return false;
		const cmsghdr *rights = CMSG_FIRSTHDR(&header);
		if (fd && rights && rights->cmsg_type == SCM_RIGHTS) {
			int number;
			memcpy(&number, CMSG_DATA(rights), sizeof(number));
			fd->reset(number);
		}
		to = to.subspan(static_cast<size_t>(received));
	}
	return true;
}

std::optional<Reply> VfioUserClient::receive()
{
	for (;;) {
		Reply reply;
		if (!receive_exactly(std::as_writable_bytes(std::span(&reply.header, 1)), &reply.fd))
			return std::nullopt;
		reply.payload.resize(reply.header.size - sizeof(MessageHeader));
		if (!receive_exactly(reply.payload, nullptr))
			return std::nullopt;
		if ((reply.header.flags & kFlagTypeMask) == kFlagReply)
			return reply;
		dma_requests++;
		if (answer_dma)
			serve_dma(reply);
	}
}

void VfioUserClient::serve_dma(const Reply &request)
{
	const auto access = request.as<DmaAccess>();
	const bool write = request.header.command == static_cast<uint16_t>(Command::kDmaWrite);
	const uint64_t count = access.count & UINT32_MAX; // the rest is data in one of the layouts
	auto range = memory.upper_bound(access.address);
	MessageHeader header = request.header;
	std::vector<std::byte> bytes(sizeof(header) + sizeof(access) + (write ? 0 : count));
	header.size = static_cast<uint32_t>(bytes.size());
	header.flags = kFlagReply;
	if (range == memory.begin() ||
	    access.address - std::prev(range)->first + count > std::prev(range)->second.size()) {
		header.flags |= kFlagError;
		header.error = EFAULT;
	} else {
		--range;
		std::byte *at = range->second.data() + (access.address - range->first);
		memcpy(bytes.data() + sizeof(header), &access.address, sizeof(access.address));
		memcpy(bytes.data() + sizeof(header) + 8, &count, sizeof(count));
		if (write)
			memcpy(at, request.payload.data() + dma_data_offset, count);
		else
			memcpy(bytes.data() + sizeof(header) + dma_data_offset, at, count);
	}
	memcpy(bytes.data(), &header, sizeof(header));
	send_bytes(bytes);
}

bool VfioUserClient::closed()
{
	pump_();
	char byte;
	return recv(socket_.get(), &byte, 1, MSG_PEEK) == 0;
}

Reply VfioUserClient::call(Command command, std::span<const std::byte> payload, std::span<const int> fds)
{
	const uint16_t id = send(command, payload, fds);
	for (;;) {
		std::optional<Reply> reply = receive();
		if (!reply) {
			Reply none;
			none.header.flags = kFlagError;
			none.header.error = ECONNRESET;
			return none;
		}
		if (reply->header.id == id)
			return std::move(*reply);
	}
}

Reply VfioUserClient::version(const std::string &json)
{
	std::vector<std::byte> payload(sizeof(VersionRequest) + json.size() + 1);
	memcpy(payload.data() + sizeof(VersionRequest), json.c_str(), json.size() + 1);
	return call(Command::kVersion, payload);
}

uint32_t VfioUserClient::map(uint64_t address, uint64_t size, uint64_t offset, int fd)
{
	const DmaMapRequest request{sizeof(request), kDmaMapRead | kDmaMapWrite, offset, address, size};
	return call(Command::kDmaMap, request, fd >= 0 ? std::span(&fd, 1) : std::span<int>()).error();
}

uint32_t VfioUserClient::unmap(uint64_t address, uint64_t size)
{
	return call(Command::kDmaUnmap, DmaUnmapRequest{sizeof(DmaUnmapRequest), 0, address, size}).error();
}

Reply VfioUserClient::read(uint32_t region, uint64_t offset, uint32_t count)
{
	return call(Command::kRegionRead, RegionAccess{offset, region, count});
}

uint32_t VfioUserClient::write(uint32_t region, uint64_t offset, std::span<const std::byte> data)
{
	const RegionAccess access{offset, region, static_cast<uint32_t>(data.size())};
	std::vector<std::byte> payload(sizeof(access) + data.size());
	memcpy(payload.data(), &access, sizeof(access));
	if (!data.empty())
		memcpy(payload.data() + sizeof(access), data.data(), data.size());
	return call(Command::kRegionWrite, payload).error();
}

uint32_t VfioUserClient::read32(uint32_t region, uint64_t offset)
{
	return read(region, offset, 4).as<uint32_t>(sizeof(RegionAccess));
}

void VfioUserClient::write32(uint32_t region, uint64_t offset, uint32_t value)
{
	write(region, offset, std::as_bytes(std::span(&value, 1)));
}

void VfioUserClient::write64(uint32_t region, uint64_t offset, uint64_t value)
{
	write32(region, offset, static_cast<uint32_t>(value));
	write32(region, offset + 4, static_cast<uint32_t>(value >> 32));
}

uint32_t VfioUserClient::set_eventfds(uint32_t start, std::span<const int> fds)
{
	const uint32_t set[5] = {20, VFIO_IRQ_SET_DATA_EVENTFD | VFIO_IRQ_SET_ACTION_TRIGGER,
				 VFIO_PCI_MSIX_IRQ_INDEX, start, static_cast<uint32_t>(fds.size())};
	return call(Command::kDeviceSetIrqs, set, fds).error();
}

} // namespace ohca::host
