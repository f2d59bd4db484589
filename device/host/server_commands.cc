// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// vfio-user commands: every length, index and count is checked here.
#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <spdlog/spdlog.h>
#include <string>
#include <string_view>

#include "host/server.hh"

namespace ohca::host {

namespace {

// Fixed part of a payload; false if the payload is shorter.
template <typename T> bool take(const Message &message, T &value)
{
	if (message.payload.size() < sizeof(T))
		return false;
	memcpy(&value, message.payload.data(), sizeof(T));
	return true;
}

template <typename T> std::span<const std::byte> bytes_of(const T &value)
{
	return std::as_bytes(std::span(&value, 1));
}

bool wraps(uint64_t address, uint64_t size)
{
	return size > UINT64_MAX - address && address + (size - 1) < address;
}

// QEMU gives up if the reply is longer than its request, so say as much as fits.
std::string version_capabilities(size_t space)
{
	for (const char *text : {"{\"capabilities\":{\"max_msg_fds\":16,\"max_data_xfer_size\":1048576}}",
				 "{\"capabilities\":{\"max_msg_fds\":16}}"}) {
		if (strlen(text) + 1 <= space)
			return std::string(text, strlen(text) + 1);
	}
	return {};
}

} // namespace

int Server::handle_version(const Message &message)
{
	VersionRequest version;
	if (!take(message, version) || version.major != kProtocolMajor)
		return EINVAL;
	const size_t json_size = message.payload.size() - sizeof(version);
	std::string_view text(reinterpret_cast<const char *>(message.payload.data()) + sizeof(version), json_size);
	text = text.substr(0, text.find('\0'));
	if (!text.empty()) {
		const nlohmann::json json = nlohmann::json::parse(text, nullptr, false);
		if (!json.is_object())
			return EINVAL;
		const auto capabilities = json.value("/capabilities"_json_pointer, nlohmann::json::object());
		if (!capabilities.is_object())
			return EINVAL;
		const auto transfer = capabilities.find("max_data_xfer_size");
		if (transfer != capabilities.end()) {
			if (!transfer->is_number_unsigned())
				return EINVAL;
			client_max_transfer_ = static_cast<uint32_t>(
				std::min<uint64_t>(transfer->get<uint64_t>(), kMaxTransfer));
		}
	}
	version.minor = std::min(version.minor, kProtocolMinor);
	version_agreed_ = true;

	const std::string capabilities = version_capabilities(json_size);
	std::vector<std::byte> payload(sizeof(version) + capabilities.size());
	memcpy(payload.data(), &version, sizeof(version));
	memcpy(payload.data() + sizeof(version), capabilities.data(), capabilities.size());
	reply(message.header, payload);
	return 0;
}

int Server::handle_dma_map(Message &message)
{
	DmaMapRequest request;
	if (!take(message, request) || request.argsz < sizeof(request) || message.fds.size() > 1)
		return EINVAL;
	if (request.size == 0 || wraps(request.address, request.size) || wraps(request.offset, request.size) ||
	    (request.flags & ~(kDmaMapRead | kDmaMapWrite)) != 0)
		return EINVAL;
	const int error = handler_.map_dma(request, message.fds.empty() ? UniqueFd() : std::move(message.fds[0]));
	if (error == 0)
		reply(message.header, {});
	return error;
}

int Server::handle_dma_unmap(const Message &message)
{
	DmaUnmapRequest request;
	if (!take(message, request) || request.argsz < sizeof(request))
		return EINVAL;
	if ((request.flags & ~kDmaUnmapAll) != 0)
		return EINVAL; // dirty bitmaps belong to migration, which we do not announce
	if (request.flags & kDmaUnmapAll) {
		if (request.address != 0 || request.size != 0)
			return EINVAL;
	} else if (request.size == 0 || wraps(request.address, request.size)) {
		return EINVAL;
	}
	handler_.unmap_dma(request, defer(message.header, bytes_of(request)));
	return 0;
}

int Server::handle_get_info(const Message &message)
{
	struct {
		uint32_t argsz, flags, region_count, irq_count;
	} info;
	uint32_t argsz;
	if (!take(message, argsz) || argsz < sizeof(info))
		return EINVAL;
	info = {sizeof(info), VFIO_DEVICE_FLAGS_RESET | VFIO_DEVICE_FLAGS_PCI, VFIO_PCI_NUM_REGIONS,
		VFIO_PCI_NUM_IRQS};
	reply(message.header, bytes_of(info));
	return 0;
}

int Server::handle_get_region_info(const Message &message)
{
	vfio_region_info info;
	if (!take(message, info) || info.argsz < sizeof(info) || info.index >= VFIO_PCI_NUM_REGIONS)
		return EINVAL;
	const RegionDescription region = handler_.region(info.index);
	const uint32_t index = info.index;
	info = {};
	info.argsz = sizeof(info);
	info.index = index;
	info.size = region.size;
	info.flags = region.flags;
	reply(message.header, bytes_of(info), region.fd);
	return 0;
}

int Server::handle_get_region_io_fds(const Message &message)
{
	RegionIoFds request;
	if (!take(message, request) || request.argsz < sizeof(request) || request.flags != 0 ||
	    request.index >= VFIO_PCI_NUM_REGIONS)
		return EINVAL;
	request.argsz = sizeof(request);
	request.count = 0; // every trapped access is a message
	reply(message.header, bytes_of(request));
	return 0;
}

int Server::handle_get_irq_info(const Message &message)
{
	vfio_irq_info info;
	if (!take(message, info) || info.argsz < sizeof(info) || info.index >= VFIO_PCI_NUM_IRQS)
		return EINVAL;
	info.argsz = sizeof(info);
	info.count = handler_.irq_count(info.index);
	// Not NORESIZE: QEMU would then free and allocate all vectors for each new one.
	info.flags = info.count != 0 ? VFIO_IRQ_INFO_EVENTFD | VFIO_IRQ_INFO_MASKABLE : 0;
	reply(message.header, bytes_of(info));
	return 0;
}

int Server::handle_set_irqs(Message &message)
{
	vfio_irq_set set;
	constexpr size_t kFixed = offsetof(vfio_irq_set, data);
	static_assert(kFixed == 20);
	if (message.payload.size() < kFixed)
		return EINVAL;
	memcpy(&set, message.payload.data(), kFixed);
	if (set.argsz < kFixed || set.index >= VFIO_PCI_NUM_IRQS)
		return EINVAL;
	const uint32_t data = set.flags & VFIO_IRQ_SET_DATA_TYPE_MASK;
	const uint32_t action = set.flags & VFIO_IRQ_SET_ACTION_TYPE_MASK;
	if (set.flags != (data | action) || !std::has_single_bit(data) || !std::has_single_bit(action))
		return EINVAL;
	const uint32_t limit = handler_.irq_count(set.index);
	if (set.start > limit || set.count > limit - set.start)
		return EINVAL;

	IrqRequest request{set.index, set.start, set.count, action, data, message.fds, {}};
	if (data == VFIO_IRQ_SET_DATA_EVENTFD) {
		if (action != VFIO_IRQ_SET_ACTION_TRIGGER)
			return ENOTSUP; // eventfds that mask are for level-triggered interrupts
		if (!message.fds.empty() && message.fds.size() != set.count)
			return EINVAL;
	} else if (!message.fds.empty()) {
		return EINVAL;
	}
	if (data == VFIO_IRQ_SET_DATA_BOOL) {
		if (message.payload.size() < kFixed + set.count)
			return EINVAL;
		request.selected = std::span<const std::byte>(message.payload).subspan(kFixed, set.count);
	}
	const int error = handler_.set_irqs(request);
	if (error == 0)
		reply(message.header, {});
	return error;
}

int Server::handle_region_read(const Message &message)
{
	RegionAccess access;
	if (!take(message, access) || access.region >= VFIO_PCI_NUM_REGIONS || access.count > kMaxTransfer)
		return EINVAL;
	const RegionDescription region = handler_.region(access.region);
	if (access.offset > region.size || access.count > region.size - access.offset)
		return EINVAL;
	std::vector<std::byte> payload(sizeof(access) + access.count);
	memcpy(payload.data(), &access, sizeof(access));
	const int error = handler_.read_region(access.region, access.offset,
		std::span(payload).subspan(sizeof(access)));
	if (error == 0)
		reply(message.header, payload);
	return error;
}

int Server::handle_region_write(const Message &message)
{
	RegionAccess access;
	if (!take(message, access) || access.region >= VFIO_PCI_NUM_REGIONS || access.count > kMaxTransfer ||
	    message.payload.size() - sizeof(access) != access.count)
		return EINVAL;
	const RegionDescription region = handler_.region(access.region);
	if (access.offset > region.size || access.count > region.size - access.offset)
		return EINVAL;
	const int error = handler_.write_region(access.region, access.offset,
		std::span(message.payload).subspan(sizeof(access)));
	if (error == 0)
		reply(message.header, bytes_of(access));
	return error;
}

int Server::handle_reset(const Message &message)
{
	handler_.reset_device(defer(message.header, {}));
	return 0;
}

} // namespace ohca::host
