// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "host/pci_config.hh"

#include <cstring>
#include <gtest/gtest.h>
#include <linux/pci_regs.h>
#include <rdma/ohca_hw_regs.h>
#include <vector>

namespace ohca::host {
namespace {

template <typename T> T get(const PciConfig &config, uint32_t offset)
{
	T value{};
	config.read(offset, std::as_writable_bytes(std::span(&value, 1)));
	return value;
}

template <typename T> bool put(PciConfig &config, uint32_t offset, T value)
{
	return config.write(offset, std::as_bytes(std::span(&value, 1)));
}

uint32_t find_capability(const PciConfig &config, uint8_t id)
{
	uint32_t at = get<uint8_t>(config, PCI_CAPABILITY_LIST);
	for (int i = 0; at != 0 && i < 48; i++) {
		if (get<uint8_t>(config, at) == id)
			return at;
		at = get<uint8_t>(config, at + 1);
	}
	return 0;
}

// OHCA-PCI-D1 OHCA-PCI-D9
TEST(PciConfig, IdentifiesTheFunction)
{
	const PciConfig config(32, 1 << 22);
	EXPECT_EQ(get<uint16_t>(config, PCI_VENDOR_ID), OHCA_PCI_VENDOR_ID);
	EXPECT_EQ(get<uint16_t>(config, PCI_DEVICE_ID), OHCA_PCI_DEVICE_ID);
	EXPECT_EQ(get<uint32_t>(config, PCI_CLASS_REVISION) >> 8, uint32_t{OHCA_PCI_CLASS});
	EXPECT_EQ(get<uint8_t>(config, PCI_REVISION_ID), OHCA_PCI_REVISION);
	EXPECT_EQ(get<uint8_t>(config, PCI_INTERRUPT_PIN), 0);
	EXPECT_TRUE(get<uint16_t>(config, PCI_STATUS) & PCI_STATUS_CAP_LIST);
}

// OHCA-PCI-D2
TEST(PciConfig, CapabilityListHasPmExpressAndMsix)
{
	const PciConfig config(32, 1 << 22);
	std::vector<uint8_t> ids;
	uint32_t end = 0x40;
	for (uint32_t at = get<uint8_t>(config, PCI_CAPABILITY_LIST); at != 0; at = get<uint8_t>(config, at + 1)) {
		ASSERT_GE(at, end) << "capabilities overlap";
		ASSERT_EQ(at % 4, 0u);
		ids.push_back(get<uint8_t>(config, at));
		end = at + (ids.back() == PCI_CAP_ID_EXP ? 0x3c : ids.back() == PCI_CAP_ID_PM ? 8 : 12);
		ASSERT_LE(end, 0x100u);
	}
	EXPECT_EQ(ids, (std::vector<uint8_t>{PCI_CAP_ID_PM, PCI_CAP_ID_EXP, PCI_CAP_ID_MSIX}));
}

// OHCA-PCI-D7
TEST(PciConfig, MsixDescribesTheControlBar)
{
	PciConfig config(33, 1 << 22);
	const uint32_t msix = find_capability(config, PCI_CAP_ID_MSIX);
	ASSERT_NE(msix, 0u);
	EXPECT_EQ(get<uint16_t>(config, msix + PCI_MSIX_FLAGS) & PCI_MSIX_FLAGS_QSIZE, 32);
	EXPECT_EQ(get<uint32_t>(config, msix + PCI_MSIX_TABLE), uint32_t{OHCA_MSIX_TABLE_OFF | OHCA_BAR_CONTROL});
	EXPECT_EQ(get<uint32_t>(config, msix + PCI_MSIX_PBA), uint32_t{OHCA_MSIX_PBA_OFF | OHCA_BAR_CONTROL});
	put<uint16_t>(config, msix + PCI_MSIX_FLAGS, 0xffff);
	EXPECT_EQ(get<uint16_t>(config, msix + PCI_MSIX_FLAGS), 32 | PCI_MSIX_FLAGS_ENABLE | PCI_MSIX_FLAGS_MASKALL);
}

// OHCA-PCI-D5 OHCA-PCI-D6
TEST(PciConfig, BarsTellTheirSize)
{
	PciConfig config(32, uint64_t{1} << 33);
	for (uint32_t i = 0; i < 6; i++)
		put<uint32_t>(config, PCI_BASE_ADDRESS_0 + 4 * i, 0xffffffff);
	EXPECT_EQ(~(get<uint32_t>(config, PCI_BASE_ADDRESS_0) & ~0xfu) + 1, uint32_t{OHCA_CONTROL_BAR_SIZE});
	const uint64_t bar2 = get<uint64_t>(config, PCI_BASE_ADDRESS_2);
	EXPECT_EQ(bar2 & 0xf, uint64_t{PCI_BASE_ADDRESS_MEM_TYPE_64 | PCI_BASE_ADDRESS_MEM_PREFETCH});
	EXPECT_EQ(~(bar2 & ~uint64_t{0xf}) + 1, uint64_t{1} << 33);
	for (const uint32_t index : {1u, 4u, 5u})
		EXPECT_EQ(get<uint32_t>(config, PCI_BASE_ADDRESS_0 + 4 * index), 0u);
}

TEST(PciConfig, OnlyDocumentedBitsCanBeWritten)
{
	PciConfig config(32, 1 << 22);
	PciConfig fresh(32, 1 << 22);
	const std::vector<std::byte> ones(kPciConfigSize, std::byte{0xff});
	EXPECT_TRUE(config.write(0, ones)); // FLR is in it
	EXPECT_EQ(get<uint32_t>(config, PCI_VENDOR_ID), get<uint32_t>(fresh, PCI_VENDOR_ID));
	EXPECT_EQ(get<uint8_t>(config, PCI_CAPABILITY_LIST), get<uint8_t>(fresh, PCI_CAPABILITY_LIST));
	EXPECT_EQ(get<uint16_t>(config, PCI_COMMAND) & PCI_COMMAND_IO, 0);
	EXPECT_TRUE(config.bus_master());
	for (uint32_t at = 0x100; at < kPciConfigSize; at += 4)
		ASSERT_EQ(get<uint32_t>(config, at), 0u) << "no extended capability";
	config.reset();
	EXPECT_FALSE(config.bus_master());
}

// OHCA-PCI-D3
TEST(PciConfig, FlrIsReportedAndNotKept)
{
	PciConfig config(32, 1 << 22);
	const uint32_t express = find_capability(config, PCI_CAP_ID_EXP);
	ASSERT_NE(express, 0u);
	EXPECT_TRUE(get<uint32_t>(config, express + PCI_EXP_DEVCAP) & PCI_EXP_DEVCAP_FLR);
	const auto control = get<uint16_t>(config, express + PCI_EXP_DEVCTL);
	EXPECT_FALSE(put<uint16_t>(config, express + PCI_EXP_DEVCTL, control));
	EXPECT_TRUE(put<uint16_t>(config, express + PCI_EXP_DEVCTL, control | PCI_EXP_DEVCTL_BCR_FLR));
	EXPECT_FALSE(get<uint16_t>(config, express + PCI_EXP_DEVCTL) & PCI_EXP_DEVCTL_BCR_FLR);
	// As a byte, and as part of a larger write.
	EXPECT_TRUE(put<uint8_t>(config, express + PCI_EXP_DEVCTL + 1, 0x80));
	EXPECT_TRUE(put<uint32_t>(config, express + PCI_EXP_DEVCTL, 0x8000));
	EXPECT_FALSE(put<uint32_t>(config, express + PCI_EXP_DEVCTL + 2, 0x8000));
}

TEST(PciConfig, PowerStateCanBeSet)
{
	PciConfig config(32, 1 << 22);
	const uint32_t pm = find_capability(config, PCI_CAP_ID_PM);
	put<uint16_t>(config, pm + PCI_PM_CTRL, 3);
	EXPECT_EQ(get<uint16_t>(config, pm + PCI_PM_CTRL), PCI_PM_CTRL_NO_SOFT_RESET | 3);
}

TEST(PciConfig, AccessesBeyondTheEndAreHarmless)
{
	PciConfig config(32, 1 << 22);
	EXPECT_EQ(get<uint64_t>(config, kPciConfigSize - 4), 0u);
	put<uint64_t>(config, kPciConfigSize - 4, ~uint64_t{0});
	EXPECT_EQ(get<uint32_t>(config, kPciConfigSize + 100), 0u);
}

} // namespace
} // namespace ohca::host
