// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// vfio-user on the wire: message header, commands and their fixed parts.
// Payloads that mirror a VFIO ioctl use the structs of <linux/vfio.h>.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ohca::host {

enum class Command : uint16_t {
	kVersion = 1,
	kDmaMap = 2,
	kDmaUnmap = 3,
	kDeviceGetInfo = 4,
	kDeviceGetRegionInfo = 5,
	kDeviceGetRegionIoFds = 6,
	kDeviceGetIrqInfo = 7,
	kDeviceSetIrqs = 8,
	kRegionRead = 9,
	kRegionWrite = 10,
	kDmaRead = 11,
	kDmaWrite = 12,
	kDeviceReset = 13,
	kDirtyPages = 14,
	kRegionWriteMulti = 15,
	kDeviceFeature = 16,
};

struct MessageHeader {
	uint16_t id;
	uint16_t command;
	uint32_t size;   // of the whole message
	uint32_t flags;  // kFlag*
	uint32_t error;  // errno of an error reply
};
static_assert(sizeof(MessageHeader) == 16);

constexpr uint32_t kFlagTypeMask = 0x0f;
constexpr uint32_t kFlagReply = 0x01;
constexpr uint32_t kFlagNoReply = 0x10;
constexpr uint32_t kFlagError = 0x20;

constexpr uint16_t kProtocolMajor = 0;
constexpr uint16_t kProtocolMinor = 1;

// What we announce and enforce.
constexpr uint32_t kMaxTransfer = 1u << 20; // bytes of data of one message
constexpr size_t kMaxMessage = kMaxTransfer + 4096;
constexpr size_t kMaxFds = 16;
constexpr size_t kMaxDmaMaps = 1u << 20;

struct VersionRequest {
	uint16_t major;
	uint16_t minor; // then JSON, terminated by 0, which may be absent
};

struct DmaMapRequest {
	uint32_t argsz;
	uint32_t flags; // kDmaMap*
	uint64_t offset;
	uint64_t address;
	uint64_t size;
};
static_assert(sizeof(DmaMapRequest) == 32);
constexpr uint32_t kDmaMapRead = 1;
constexpr uint32_t kDmaMapWrite = 2;

struct DmaUnmapRequest {
	uint32_t argsz;
	uint32_t flags; // kDmaUnmap*
	uint64_t address;
	uint64_t size;
};
static_assert(sizeof(DmaUnmapRequest) == 24);
constexpr uint32_t kDmaUnmapDirtyBitmap = 1;
constexpr uint32_t kDmaUnmapAll = 2;

struct RegionAccess {
	uint64_t offset;
	uint32_t region;
	uint32_t count; // then data
};
static_assert(sizeof(RegionAccess) == 16);

struct RegionIoFds {
	uint32_t argsz;
	uint32_t flags;
	uint32_t index;
	uint32_t count;
};
static_assert(sizeof(RegionIoFds) == 16);

// From us to the client. The specification puts the data behind a 64-bit count;
// QEMU's struct has a 32-bit count, so there it starts 4 bytes earlier, while
// the message has the specified length in both cases.
struct DmaAccess {
	uint64_t address;
	uint64_t count;
};
static_assert(sizeof(DmaAccess) == 16);
constexpr size_t kDmaDataOffsetSpecified = 16;
constexpr size_t kDmaDataOffsetQemu = 12;

} // namespace ohca::host
