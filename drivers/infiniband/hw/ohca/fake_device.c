// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The fake device of the KUnit tests: its bus side.  Registers are memory of
 * User Mode Linux' that calls back (logic_iomem), interrupts are those of
 * irq_sim, and DMA addresses are physical ones.
 */

#include <kunit/device.h>
#include <linux/dma-mapping.h>
#include <linux/interrupt.h>
#include <linux/irq_sim.h>
#include <linux/irqdomain.h>
#include <linux/logic_iomem.h>

#include "fake_device.h"
#include "fake_commands.h"

/* Where no memory is, nor any BAR of User Mode Linux. */
#define OHCA_FAKE_CONTROL_PHYS	BIT_ULL(40)

/* A region of registers cannot be taken back: one for whoever is being tested. */
static struct ohca_fake_device *ohca_fake_current;

static u32 ohca_fake_register(struct ohca_fake_device *fake, unsigned int offset)
{
	switch (offset) {
	case OHCA_REGS_MAGIC_OFF:
		return OHCA_MAGIC;
	case OHCA_REGS_VERSION_OFF:
		return OHCA_INTERFACE_VERSION;
	case OHCA_REGS_DEVICE_FEATURES_OFF:
		return lower_32_bits(fake->features);
	case OHCA_REGS_DEVICE_FEATURES_OFF + 4:
		return upper_32_bits(fake->features);
	case OHCA_REGS_STATUS_OFF:
		return fake->status;
	case OHCA_REGS_FAIL_REASON_OFF:
		return fake->fail_reason;
	case OHCA_REGS_RESET_COUNT_OFF:
		return fake->resets;
	case OHCA_REGS_UAR_COUNT_OFF:
		return OHCA_FAKE_HANDLES;
	case OHCA_REGS_VECTOR_COUNT_OFF:
		return OHCA_FAKE_VECTORS;
	case OHCA_REGS_MAC_OFF:
		return 0x00770252;	/* 52:02:77:00:00:01 */
	case OHCA_REGS_MAC_OFF + 4:
		return 0x0100;
	}
	return fake->registers[offset / sizeof(u32)];
}

/*
 * An access to a register waits for the device's process, which may be asleep: nobody
 * shall spin on the command queue's lock as long.
 */
static void ohca_fake_register_accessed(struct ohca_fake_device *fake)
{
	if (fake->dev)
		lockdep_assert_not_held(&fake->dev->cmdq.lock);
}

static unsigned long ohca_fake_read(void *priv, unsigned int offset, int size)
{
	struct ohca_fake_device *fake = priv;
	unsigned long flags;
	u32 value;

	ohca_fake_register_accessed(fake);
	if (size != sizeof(u32) || fake->status == OHCA_STATUS_GONE)
		return ~0UL;
	spin_lock_irqsave(&fake->lock, flags);
	value = ohca_fake_register(fake, offset);
	spin_unlock_irqrestore(&fake->lock, flags);
	return value;
}

static void ohca_fake_write(void *priv, unsigned int offset, int size, unsigned long value)
{
	struct ohca_fake_device *fake = priv;
	unsigned long flags;

	ohca_fake_register_accessed(fake);
	if (size != sizeof(u32) || fake->status == OHCA_STATUS_GONE)
		return;
	spin_lock_irqsave(&fake->lock, flags);
	fake->registers[offset / sizeof(u32)] = value;
	if (offset == OHCA_KICK_PAGE_OFF + OHCA_KICK_OFF)
		ohca_fake_scan_locked(fake);
	else if (offset == OHCA_REGS_CONTROL_OFF && value == OHCA_CONTROL_RESET)
		ohca_fake_reset_locked(fake);
	else if (offset == OHCA_REGS_CONTROL_OFF && value == OHCA_CONTROL_ENABLE &&
		 fake->status == OHCA_STATUS_READY)
		fake->status |= OHCA_STATUS_ENABLED;
	spin_unlock_irqrestore(&fake->lock, flags);
}

static const struct logic_iomem_ops ohca_fake_registers = {
	.read = ohca_fake_read,
	.write = ohca_fake_write,
};

static long ohca_fake_map(unsigned long offset, size_t size, const struct logic_iomem_ops **ops,
			  void **priv)
{
	*ops = &ohca_fake_registers;
	*priv = ohca_fake_current;
	return 0;
}

static const struct logic_iomem_region_ops ohca_fake_region = {
	.map = ohca_fake_map,
};

static int ohca_fake_add_region(void)
{
	static struct resource region = {
		.name = "ohca fake device",
		.start = OHCA_FAKE_CONTROL_PHYS,
		.end = OHCA_FAKE_CONTROL_PHYS + OHCA_CONTROL_BAR_SIZE - 1,
		.flags = IORESOURCE_MEM,
	};
	static bool added;
	int ret = 0;

	if (!added)
		ret = logic_iomem_add_region(&region, &ohca_fake_region);
	added = !ret;
	return ret;
}

void ohca_fake_raise_locked(struct ohca_fake_device *fake, unsigned int vector)
{
	if (fake->mute)
		return;
	fake->interrupts_raised++;
	irq_set_irqchip_state(irq_find_mapping(fake->interrupts, vector), IRQCHIP_STATE_PENDING,
			      true);
}

void ohca_fake_event(struct ohca_fake_device *fake, unsigned int vector, u8 type, u32 number)
{
	u32 depth = fake->eqs[vector].depth;
	u32 index = fake->eqs[vector].producer++;
	struct ohca_eqe *eqe = &fake->eqs[vector].ring[index & (depth - 1)];

	eqe->type = type;
	eqe->number = cpu_to_le32(number);
	/* The phase, after all else. */
	dma_wmb();
	WRITE_ONCE(eqe->owner, !(index / depth & 1));
}

void ohca_fake_interrupt(struct ohca_fake_device *fake, unsigned int vector, bool always)
{
	struct ohca_eq_record *record = fake->eqs[vector].record;
	unsigned long flags;

	spin_lock_irqsave(&fake->lock, flags);
	if (record->interrupt_arm || always) {
		record->interrupt_arm = 0;
		ohca_fake_raise_locked(fake, vector);
	}
	spin_unlock_irqrestore(&fake->lock, flags);
}

void ohca_fake_set_status(struct ohca_fake_device *fake, u32 status, u32 reason)
{
	unsigned long flags;

	spin_lock_irqsave(&fake->lock, flags);
	fake->status = status;
	fake->fail_reason = reason;
	ohca_fake_raise_locked(fake, OHCA_CMD_VECTOR);
	spin_unlock_irqrestore(&fake->lock, flags);
}

static int ohca_fake_irq(struct ohca_dev *dev, unsigned int vector)
{
	return irq_find_mapping(ohca_fake_current->interrupts, vector);
}

static void ohca_fake_stop_dma(struct ohca_dev *dev)
{
}

static pgprot_t ohca_fake_pgprot(pgprot_t prot)
{
	return prot;
}

static void ohca_fake_remove_interrupts(void *data)
{
	struct irq_domain *interrupts = data;
	unsigned int vector;

	for (vector = 0; vector < OHCA_FAKE_VECTORS; vector++)
		irq_dispose_mapping(irq_find_mapping(interrupts, vector));
	irq_domain_remove_sim(interrupts);
}

static void ohca_fake_add_interrupts(struct kunit *test, struct ohca_fake_device *fake)
{
	unsigned int vector;

	fake->interrupts = irq_domain_create_sim(NULL, OHCA_FAKE_VECTORS);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, fake->interrupts);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, ohca_fake_remove_interrupts,
							fake->interrupts), 0);
	for (vector = 0; vector < OHCA_FAKE_VECTORS; vector++)
		KUNIT_ASSERT_GT(test, irq_create_mapping(fake->interrupts, vector), 0);
}

/* As pci.c does it: probe, and departure. */
static int ohca_fake_attach(struct ohca_fake_device *fake)
{
	struct ohca_dev *dev = ohca_alloc(fake->parent);
	int ret;

	if (!dev)
		return -ENOMEM;
	dev->bus.dma_device = fake->parent;
	dev->bus.uars = fake->uars;
	dev->bus.uar_phys = virt_to_phys(fake->uars);
	dev->bus.kick_phys = OHCA_FAKE_CONTROL_PHYS + OHCA_KICK_PAGE_OFF;
	dev->bus.uar_count = OHCA_FAKE_HANDLES;
	dev->bus.uar_pgprot = ohca_fake_pgprot;
	dev->bus.revision = OHCA_PCI_REVISION;
	dev->bus.irq = ohca_fake_irq;
	dev->bus.stop_dma = ohca_fake_stop_dma;
	dev->bus.control = ioremap(OHCA_FAKE_CONTROL_PHYS, OHCA_CONTROL_BAR_SIZE);
	ret = dev->bus.control ? ohca_hw_probe(dev) : -ENOMEM;
	if (ret)
		ib_dealloc_device(&dev->ibdev);
	else
		fake->dev = dev;
	return ret;
}

static void ohca_fake_detach(struct ohca_fake_device *fake)
{
	iounmap(fake->dev->bus.control);
	ib_dealloc_device(&fake->dev->ibdev);
	fake->dev = NULL;
}

static void ohca_fake_release(void *data)
{
	struct ohca_fake_device *fake = data;

	if (fake->dev)
		ohca_fake_detach(fake);
	ohca_fake_current = NULL;
}

static void ohca_fake_add_parent(struct kunit *test, struct ohca_fake_device *fake)
{
	fake->parent = kunit_device_register(test, "ohca");
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, fake->parent);
	fake->parent->dma_parms = kunit_kzalloc(test, sizeof(*fake->parent->dma_parms), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, fake->parent->dma_parms);
	KUNIT_ASSERT_EQ(test, dma_set_mask_and_coherent(fake->parent, DMA_BIT_MASK(64)), 0);
	dma_set_max_seg_size(fake->parent, UINT_MAX);
}

struct ohca_fake_device *ohca_fake_device_create(struct kunit *test)
{
	struct ohca_fake_device *fake = kunit_kzalloc(test, sizeof(*fake), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, fake);
	spin_lock_init(&fake->lock);
	fake->features = OHCA_FAKE_FEATURES;
	fake->status = OHCA_STATUS_READY;
	KUNIT_ASSERT_EQ(test, ohca_fake_add_region(), 0);
	fake->uars = kunit_kcalloc(test, OHCA_FAKE_HANDLES, sizeof(*fake->uars), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, fake->uars);
	ohca_fake_add_parent(test, fake);
	ohca_fake_add_interrupts(test, fake);

	ohca_fake_current = fake;
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, ohca_fake_release, fake), 0);
	KUNIT_ASSERT_EQ(test, ohca_fake_attach(fake), 0);
	return fake;
}

static void ohca_fake_disable(void *data)
{
	struct ohca_fake_device *fake = data;
	struct ohca_dev *dev = fake->dev;

	ohca_fake_answer_all(fake);
	fake->held = false;
	ohca_cmdq_stop(dev);
	ohca_health_stop(dev);
	cancel_work_sync(&dev->port.work);
	ohca_hw_reset(dev);
	ohca_cmdq_free(dev);
	ohca_workqueues_free(dev);
}

struct ohca_fake_device *ohca_fake_device_enable(struct kunit *test)
{
	struct ohca_fake_device *fake = ohca_fake_device_create(test);
	struct ohca_dev *dev = fake->dev;

	KUNIT_ASSERT_EQ(test, ohca_workqueues_alloc(dev, "fake"), 0);
	KUNIT_ASSERT_EQ(test, ohca_hw_reset(dev), 0);
	KUNIT_ASSERT_EQ(test, ohca_cmdq_init(dev), 0);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, ohca_fake_disable, fake), 0);
	KUNIT_ASSERT_EQ(test, ohca_hw_enable(dev), 0);
	KUNIT_ASSERT_TRUE(test, ohca_change_state(dev, OHCA_STATE_LIVE));
	KUNIT_ASSERT_EQ(test, ohca_cmd_query_device(dev, &dev->caps), 0);
	return fake;
}

static void ohca_fake_stop(void *data)
{
	struct ohca_fake_device *fake = data;

	fake->held = false;
	fake->mute = false;
	ohca_fake_answer_all(fake);
	if (fake->started)
		ohca_stop(fake->dev);
	fake->started = false;
}

int ohca_fake_device_reset(struct ohca_fake_device *fake)
{
	char name[IB_DEVICE_NAME_MAX];
	int ret;

	strscpy(name, dev_name(&fake->dev->ibdev.dev));
	ohca_fake_stop(fake);
	ohca_fake_detach(fake);
	ret = ohca_fake_attach(fake);
	if (!ret)
		ret = ohca_start(fake->dev, name);
	fake->started = !ret;
	return ret;
}

struct ohca_fake_device *ohca_fake_device_start(struct kunit *test)
{
	struct ohca_fake_device *fake = ohca_fake_device_create(test);

	KUNIT_ASSERT_EQ(test, ohca_start(fake->dev, ""), 0);
	fake->started = true;
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, ohca_fake_stop, fake), 0);
	return fake;
}
