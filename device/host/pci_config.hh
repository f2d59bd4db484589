// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// PCI configuration space: an image and a mask of the bits that can be written.
// No effects of its own; a write reports what it asks for.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace ohca::host {

constexpr uint32_t kPciConfigSize = 4096;

// Places of the capabilities; the list is PM -> PCIe -> MSI-X.
constexpr uint32_t kPciPmOffset = 0x40;
constexpr uint32_t kPciExpressOffset = 0x48;
constexpr uint32_t kPciMsixOffset = 0x88;

class PciConfig {
public:
	// uar_bar_size: a power of two.
	PciConfig(uint32_t vector_count, uint64_t uar_bar_size);

	// As after power-on.
	void reset();
	// Bytes beyond the space read as zero.
	void read(uint32_t offset, std::span<std::byte> to) const;
	// True if the write asks for a function level reset, which is then the caller's to do.
	bool write(uint32_t offset, std::span<const std::byte> from);

	bool bus_master() const;

private:
	void set16(uint32_t offset, uint32_t value, uint32_t writable = 0);
	void set32(uint32_t offset, uint32_t value, uint32_t writable = 0);
	void add_header(uint64_t uar_bar_size);
	void add_power_management();
	void add_express();
	void add_msix(uint32_t vector_count);

	std::array<uint8_t, kPciConfigSize> initial_{};
	std::array<uint8_t, kPciConfigSize> writable_{};
	std::array<uint8_t, kPciConfigSize> image_{};
};

} // namespace ohca::host
