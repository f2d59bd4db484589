// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Control registers: identification, reset, feature negotiation, enable; doorbells. */

#include <linux/delay.h>
#include <linux/iopoll.h>

#include <asm/sync_bitops.h>

#include "ohca.h"

#define OHCA_RESET_TIMEOUT_MS	10000
#define OHCA_ENABLE_TIMEOUT_MS	10000
#define OHCA_POLL_US		1000

u32 ohca_read32(struct ohca_dev *dev, u32 offset)
{
	return readl(dev->bus.control + OHCA_CONTROL_PAGE_OFF + offset);
}

static void ohca_write32(struct ohca_dev *dev, u32 offset, u32 value)
{
	writel(value, dev->bus.control + OHCA_CONTROL_PAGE_OFF + offset);
}

static u64 ohca_read64(struct ohca_dev *dev, u32 offset)
{
	u32 low = ohca_read32(dev, offset);

	return low | (u64)ohca_read32(dev, offset + 4) << 32;
}

static void ohca_write64(struct ohca_dev *dev, u32 offset, u64 value)
{
	ohca_write32(dev, offset, lower_32_bits(value));
	ohca_write32(dev, offset + 4, upper_32_bits(value));
}

static int ohca_wait_status(struct ohca_dev *dev, u32 mask, u32 wanted, u32 timeout_ms,
			    u32 *status)
{
	return read_poll_timeout(ohca_read32, *status,
				 (*status & mask) == wanted || *status == OHCA_STATUS_GONE,
				 OHCA_POLL_US, timeout_ms * 1000, false,
				 dev, OHCA_REGS_STATUS_OFF);
}

static const char *ohca_fail_reason(u32 reason)
{
	static const char * const names[] = {
		[OHCA_FAIL_NONE] = "no reason given",
		[OHCA_FAIL_FEATURES] = "features refused",
		[OHCA_FAIL_CMDQ_CONFIG] = "command queue address or depth refused",
		[OHCA_FAIL_CMDQ_DMA] = "command queue memory not reachable",
		[OHCA_FAIL_CMDQ_INDEX] = "command queue producer index too far ahead",
		[OHCA_FAIL_ENGINE_DIED] = "engine process died",
		[OHCA_FAIL_ENGINE_STUCK] = "engine process stuck",
	};

	if (reason >= ARRAY_SIZE(names))
		return "unknown reason";
	return names[reason];
}

/* Is a usable device there at all?  Learns what the registers alone tell. */
int ohca_hw_probe(struct ohca_dev *dev)
{
	u32 magic = ohca_read32(dev, OHCA_REGS_MAGIC_OFF);
	u32 version = ohca_read32(dev, OHCA_REGS_VERSION_OFF);
	u32 uar_count = ohca_read32(dev, OHCA_REGS_UAR_COUNT_OFF);
	u64 mac;
	int i;

	if (magic != OHCA_MAGIC) {
		dev_err(ohca_device(dev), magic == ~0U ?
			"device process is gone: registers read all ones\n" :
			"not an ohca device: magic %#x\n", magic);
		return -ENODEV;
	}
	if (version != OHCA_INTERFACE_VERSION) {
		dev_err(ohca_device(dev), "interface version %u, this driver knows %u\n",
			version, OHCA_INTERFACE_VERSION);
		return -ENODEV;
	}
	dev->bus.uar_count = min(dev->bus.uar_count, uar_count);
	if (!dev->bus.uar_count) {
		dev_err(ohca_device(dev), "no UAR page\n");
		return -ENODEV;
	}
	dev->bus.vector_count = ohca_read32(dev, OHCA_REGS_VECTOR_COUNT_OFF);
	mac = ohca_read64(dev, OHCA_REGS_MAC_OFF);
	for (i = 0; i < ETH_ALEN; i++)
		dev->mac[i] = mac >> (8 * i);
	return 0;
}

/* After this the device remembers nothing and touches no host memory. */
int ohca_hw_reset(struct ohca_dev *dev)
{
	u32 status;

	ohca_write32(dev, OHCA_REGS_CONTROL_OFF, OHCA_CONTROL_RESET);
	if (ohca_wait_status(dev, ~0U, OHCA_STATUS_READY, OHCA_RESET_TIMEOUT_MS, &status)) {
		dev_err(ohca_device(dev), "reset not finished after %u ms: status %#x\n",
			OHCA_RESET_TIMEOUT_MS, status);
		return -EIO;
	}
	return status == OHCA_STATUS_GONE ? -ENODEV : 0;
}

/* Without what it needs a feature is of no use; the rest of the driver need not ask. */
static u64 ohca_usable_features(u64 offered)
{
	static const struct {
		u64 feature;
		u64 needs;
	} table[] = {
		{ OHCA_FEATURE_XRC, OHCA_FEATURE_SRQ },
		{ OHCA_FEATURE_MULTICAST, OHCA_FEATURE_UD },
		{ OHCA_FEATURE_READ_INV, OHCA_FEATURE_FAST_REG },
		{ OHCA_FEATURE_MASKED_ATOMIC, OHCA_FEATURE_ATOMIC },
		{ OHCA_FEATURE_SG_GAPS, OHCA_FEATURE_FAST_REG },
		{ OHCA_FEATURE_INTEGRITY, OHCA_FEATURE_FAST_REG },
	};
	u64 features = offered & OHCA_FEATURES_ALL;
	int i;

	for (i = 0; i < ARRAY_SIZE(table); i++)
		if (table[i].needs & ~features)
			features &= ~table[i].feature;
	return features;
}

static int ohca_negotiate(struct ohca_dev *dev)
{
	u64 offered = ohca_read64(dev, OHCA_REGS_DEVICE_FEATURES_OFF);

	dev->features = ohca_usable_features(offered);
	if (~dev->features & OHCA_FEATURES_MANDATORY) {
		dev_err(ohca_device(dev), "features %#llx lack mandatory %#llx\n",
			offered, OHCA_FEATURES_MANDATORY);
		return -ENODEV;
	}
	ohca_write64(dev, OHCA_REGS_DRIVER_FEATURES_OFF, dev->features);
	return 0;
}

/* Hand over the command queue and switch on. */
int ohca_hw_enable(struct ohca_dev *dev)
{
	struct ohca_cmdq *q = &dev->cmdq;
	u32 status;
	int ret;

	ret = ohca_negotiate(dev);
	if (ret)
		return ret;
	ohca_write64(dev, OHCA_REGS_CMDQ_SQ_ADDR_OFF, q->sq_dma);
	ohca_write64(dev, OHCA_REGS_CMDQ_CQ_ADDR_OFF, q->cq_dma);
	ohca_write64(dev, OHCA_REGS_CMDQ_RECORD_ADDR_OFF, q->record_dma);
	ohca_write32(dev, OHCA_REGS_CMDQ_LOG_DEPTH_OFF, q->log_depth);
	ohca_write32(dev, OHCA_REGS_CONTROL_OFF, OHCA_CONTROL_ENABLE);

	ret = read_poll_timeout(ohca_read32, status,
				status & (OHCA_STATUS_ENABLED | OHCA_STATUS_FAILED),
				OHCA_POLL_US, OHCA_ENABLE_TIMEOUT_MS * 1000, false,
				dev, OHCA_REGS_STATUS_OFF);
	if (ret || status == OHCA_STATUS_GONE || status & OHCA_STATUS_FAILED) {
		dev_err(ohca_device(dev), "not enabled: status %#x, %s\n", status,
			ohca_fail_reason(ohca_read32(dev, OHCA_REGS_FAIL_REASON_OFF)));
		return -EIO;
	}
	return 0;
}

/* NULL if the device is well, else what is wrong. Usable in any context. */
const char *ohca_hw_check(struct ohca_dev *dev)
{
	u32 status = ohca_read32(dev, OHCA_REGS_STATUS_OFF);

	if (status == OHCA_STATUS_GONE)
		return "device process is gone";
	if (status & OHCA_STATUS_FAILED)
		return ohca_fail_reason(ohca_read32(dev, OHCA_REGS_FAIL_REASON_OFF));
	if (!(status & OHCA_STATUS_ENABLED))
		return "device was reset behind the driver's back";
	return NULL;
}

/*
 * Announce that a queue of the kernel has work; its producer index has been
 * stored before.  A queue of another slot may be announced at the same time.
 */
void ohca_ring_doorbell(struct ohca_dev *dev, u32 slot)
{
	struct ohca_uar *uar = dev->bus.uars;

	/* The device must find the producer index once it sees the bit. */
	dma_wmb();
	/*
	 * sync_*: the other side is another process of the host.  On a guest
	 * with a single CPU the kernel patches the lock prefixes of the
	 * ordinary operations out.
	 *
	 * The summary is set even if the notify bit was set already: under an
	 * emulator that does not make a single CPU's read-modify-write atomic,
	 * the first operation can put a bit back which the device has just
	 * taken, and without the summary nobody would ever look at it again.
	 */
	sync_test_and_set_bit(slot, (__force unsigned long *)uar->notify);
	sync_test_and_set_bit(slot / 64, (__force unsigned long *)&uar->summary);
	/*
	 * A full barrier on every architecture, pairs with the device's fence
	 * between setting need_wakeup and its last scan.
	 */
	virt_mb();
	if (READ_ONCE(uar->need_wakeup))
		writel(1, dev->bus.control + OHCA_KICK_PAGE_OFF + OHCA_KICK_OFF);
}
