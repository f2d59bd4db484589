// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "host/pci_config.hh"

#include <linux/pci_regs.h>
#include <rdma/ohca_hw_regs.h>

namespace ohca::host {

namespace {

constexpr uint32_t kCommandWritable = PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER | PCI_COMMAND_PARITY |
				      PCI_COMMAND_SERR | PCI_COMMAND_INTX_DISABLE;
constexpr uint32_t kPmNext = kPciExpressOffset;
constexpr uint32_t kExpressNext = kPciMsixOffset;

// 16 GT/s, 16 lanes: never the reason for a warning about the slot's bandwidth.
constexpr uint32_t kLinkSpeed = PCI_EXP_LNKCAP_SLS_16_0GB;
constexpr uint32_t kLinkWidth = 16u << 4;
constexpr uint32_t kLinkSpeedsSupported = 0x1e;

} // namespace

PciConfig::PciConfig(uint32_t vector_count, uint64_t uar_bar_size)
{
	add_header(uar_bar_size);
	add_power_management();
	add_express();
	add_msix(vector_count);
	reset();
}

void PciConfig::reset()
{
	image_ = initial_;
}

void PciConfig::set16(uint32_t offset, uint32_t value, uint32_t writable)
{
	for (uint32_t i = 0; i < 2; i++) {
		initial_[offset + i] = static_cast<uint8_t>(value >> (8 * i));
		writable_[offset + i] = static_cast<uint8_t>(writable >> (8 * i));
	}
}

void PciConfig::set32(uint32_t offset, uint32_t value, uint32_t writable)
{
	set16(offset, value, writable);
	set16(offset + 2, value >> 16, writable >> 16);
}

void PciConfig::add_header(uint64_t uar_bar_size)
{
	set16(PCI_VENDOR_ID, OHCA_PCI_VENDOR_ID);
	set16(PCI_DEVICE_ID, OHCA_PCI_DEVICE_ID);
	set16(PCI_COMMAND, 0, kCommandWritable);
	set16(PCI_STATUS, PCI_STATUS_CAP_LIST);
	set32(PCI_CLASS_REVISION, OHCA_PCI_CLASS << 8 | OHCA_PCI_REVISION);
	set32(PCI_CACHE_LINE_SIZE, 0, 0xff);

	// The bits below a BAR's size are read-only, which is all there is to sizing.
	const uint64_t uar_mask = ~(uar_bar_size - 1);
	set32(PCI_BASE_ADDRESS_0, PCI_BASE_ADDRESS_MEM_TYPE_32, ~(OHCA_CONTROL_BAR_SIZE - 1u));
	set32(PCI_BASE_ADDRESS_2, PCI_BASE_ADDRESS_MEM_TYPE_64 | PCI_BASE_ADDRESS_MEM_PREFETCH,
	      static_cast<uint32_t>(uar_mask));
	set32(PCI_BASE_ADDRESS_3, 0, static_cast<uint32_t>(uar_mask >> 32));

	set16(PCI_SUBSYSTEM_VENDOR_ID, OHCA_PCI_VENDOR_ID);
	set16(PCI_SUBSYSTEM_ID, OHCA_PCI_DEVICE_ID);
	set32(PCI_CAPABILITY_LIST, kPciPmOffset);
	set32(PCI_INTERRUPT_LINE, 0, 0xff); // no INTx: pin 0
}

void PciConfig::add_power_management()
{
	set16(kPciPmOffset, PCI_CAP_ID_PM | kPmNext << 8);
	set16(kPciPmOffset + PCI_PM_PMC, 3); // version 1.2; D0 and D3hot, no PME
	// State survives D3hot, so leaving it is no reset.
	set16(kPciPmOffset + PCI_PM_CTRL, PCI_PM_CTRL_NO_SOFT_RESET, PCI_PM_CTRL_STATE_MASK);
}

void PciConfig::add_express()
{
	const uint32_t base = kPciExpressOffset;
	set16(base, PCI_CAP_ID_EXP | kExpressNext << 8);
	set16(base + PCI_EXP_FLAGS, 2 | PCI_EXP_TYPE_ENDPOINT << 4);
	set32(base + PCI_EXP_DEVCAP, PCI_EXP_DEVCAP_RBER | PCI_EXP_DEVCAP_FLR | 1); // payload 256
	// FLR is an event, not a bit that is kept.
	set16(base + PCI_EXP_DEVCTL, PCI_EXP_DEVCTL_RELAX_EN | PCI_EXP_DEVCTL_NOSNOOP_EN | 0x2000,
	      0xffffu & ~uint32_t{PCI_EXP_DEVCTL_BCR_FLR});
	set32(base + PCI_EXP_LNKCAP, kLinkSpeed | kLinkWidth);
	set16(base + PCI_EXP_LNKCTL, 0, PCI_EXP_LNKCTL_RCB | PCI_EXP_LNKCTL_CCC | PCI_EXP_LNKCTL_ES);
	set16(base + PCI_EXP_LNKSTA, kLinkSpeed | kLinkWidth);
	set32(base + PCI_EXP_DEVCAP2, PCI_EXP_DEVCAP2_COMP_TMOUT_DIS);
	set16(base + PCI_EXP_DEVCTL2, 0, PCI_EXP_DEVCTL2_COMP_TIMEOUT | PCI_EXP_DEVCTL2_COMP_TMOUT_DIS);
	set32(base + PCI_EXP_LNKCAP2, kLinkSpeedsSupported);
	set16(base + PCI_EXP_LNKCTL2, kLinkSpeed, PCI_EXP_LNKCTL2_TLS);
}

void PciConfig::add_msix(uint32_t vector_count)
{
	set16(kPciMsixOffset, PCI_CAP_ID_MSIX);
	set16(kPciMsixOffset + PCI_MSIX_FLAGS, vector_count - 1, PCI_MSIX_FLAGS_ENABLE | PCI_MSIX_FLAGS_MASKALL);
	set32(kPciMsixOffset + PCI_MSIX_TABLE, OHCA_MSIX_TABLE_OFF | OHCA_BAR_CONTROL);
	set32(kPciMsixOffset + PCI_MSIX_PBA, OHCA_MSIX_PBA_OFF | OHCA_BAR_CONTROL);
}

void PciConfig::read(uint32_t offset, std::span<std::byte> to) const
{
	for (size_t i = 0; i < to.size(); i++)
		to[i] = static_cast<std::byte>(offset + i < kPciConfigSize ? image_[offset + i] : 0);
}

bool PciConfig::write(uint32_t offset, std::span<const std::byte> from)
{
	constexpr uint32_t kFlrByte = kPciExpressOffset + PCI_EXP_DEVCTL + 1;
	bool flr = false;
	for (size_t i = 0; i < from.size() && offset + i < kPciConfigSize; i++) {
		const size_t at = offset + i;
		const auto value = std::to_integer<uint8_t>(from[i]);
		image_[at] = static_cast<uint8_t>((image_[at] & ~writable_[at]) | (value & writable_[at]));
		flr |= at == kFlrByte && (value & PCI_EXP_DEVCTL_BCR_FLR >> 8);
	}
	return flr;
}

bool PciConfig::bus_master() const
{
	return image_[PCI_COMMAND] & PCI_COMMAND_MASTER;
}

} // namespace ohca::host
