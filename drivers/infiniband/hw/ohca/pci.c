// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Everything that knows that the HCA is a PCI function. */

#include <linux/cc_platform.h>
#include <linux/dma-mapping.h>
#include <linux/module.h>
#include <linux/pci.h>

#include "ohca.h"

/*
 * Driver data of the function.  It outlives the ohca_dev, which a function
 * level reset takes down and builds anew.
 */
struct ohca_pci {
	struct ohca_dev *dev;		/* NULL if it could not be started */
	char name[IB_DEVICE_NAME_MAX];	/* to come back under after a reset */
};

static struct pci_dev *ohca_pdev(struct ohca_dev *dev)
{
	return to_pci_dev(dev->bus.dma_device);
}

static int ohca_pci_irq(struct ohca_dev *dev, unsigned int vector)
{
	return pci_irq_vector(ohca_pdev(dev), vector);
}

static void ohca_pci_stop_dma(struct ohca_dev *dev)
{
	pci_clear_master(ohca_pdev(dev));
}

static pgprot_t ohca_pgprot_cached(pgprot_t prot)
{
	return prot;
}

static pgprot_t ohca_pgprot_writecombine(pgprot_t prot)
{
	return pgprot_writecombine(prot);
}

/*
 * BAR2 is memory that host and guest share, not registers: a cacheable mapping
 * makes the atomic operations of a doorbell as cheap as on any other memory,
 * and cache coherence between guest and device process is that of the host.
 * All mappings of a page should agree, hence the applications' protection is
 * chosen together with the kernel's.
 */
static int ohca_pci_map_uars(struct ohca_dev *dev)
{
	struct pci_dev *pdev = ohca_pdev(dev);
	resource_size_t size = pci_resource_len(pdev, OHCA_BAR_UAR);

	dev->bus.uar_phys = pci_resource_start(pdev, OHCA_BAR_UAR);
	dev->bus.uar_count = min_t(resource_size_t, size / OHCA_UAR_SIZE, U32_MAX);
	dev->bus.uar_pgprot = ohca_pgprot_cached;
	dev->bus.uars = memremap(dev->bus.uar_phys, size, MEMREMAP_WB);
	if (!dev->bus.uars) {
		dev->bus.uar_pgprot = ohca_pgprot_writecombine;
		dev->bus.uars = memremap(dev->bus.uar_phys, size, MEMREMAP_WC);
	}
	return dev->bus.uars ? 0 : -ENOMEM;
}

static int ohca_pci_map(struct ohca_dev *dev)
{
	struct pci_dev *pdev = ohca_pdev(dev);
	int ret;

	if (pci_resource_len(pdev, OHCA_BAR_CONTROL) < OHCA_CONTROL_BAR_SIZE ||
	    pci_resource_len(pdev, OHCA_BAR_UAR) < OHCA_UAR_SIZE) {
		dev_err(&pdev->dev, "BAR0 or BAR2 missing or too small\n");
		return -ENODEV;
	}
	ret = pci_request_regions(pdev, OHCA_DRIVER_NAME);
	if (ret)
		return ret;
	dev->bus.control = pci_iomap(pdev, OHCA_BAR_CONTROL, OHCA_CONTROL_BAR_SIZE);
	dev->bus.kick_phys = pci_resource_start(pdev, OHCA_BAR_CONTROL) + OHCA_KICK_PAGE_OFF;
	if (!dev->bus.control) {
		ret = -ENOMEM;
		goto err_regions;
	}
	ret = ohca_pci_map_uars(dev);
	if (ret)
		goto err_control;
	return 0;

err_control:
	pci_iounmap(pdev, dev->bus.control);
err_regions:
	pci_release_regions(pdev);
	return ret;
}

static void ohca_pci_unmap(struct ohca_dev *dev)
{
	struct pci_dev *pdev = ohca_pdev(dev);

	memunmap(dev->bus.uars);
	pci_iounmap(pdev, dev->bus.control);
	pci_release_regions(pdev);
}

/*
 * An application and an RDMA device work on the same memory at the same time.
 * Bouncing through swiotlb breaks that silently, and this device never needs
 * it: it is coherent and addresses 64 bits.  So do not let swiotlb=force apply
 * to it.  In a guest with encrypted memory bouncing is not a choice but the
 * only memory that is shared, so leave that alone.
 */
static void ohca_pci_refuse_bouncing(struct pci_dev *pdev)
{
#ifdef CONFIG_SWIOTLB
	if (!cc_platform_has(CC_ATTR_MEM_ENCRYPT))
		pdev->dev.dma_io_tlb_mem = NULL;
#endif
}

static int ohca_pci_vectors(struct ohca_dev *dev)
{
	unsigned int wanted = min3(num_online_cpus() + 1, dev->bus.vector_count,
				   (unsigned int)OHCA_MSIX_VECTOR_COUNT_MAX);
	int ret;

	/* One for commands and async events, the others for completions. */
	ret = pci_alloc_irq_vectors(ohca_pdev(dev), 2, wanted, PCI_IRQ_MSIX);
	if (ret < 0) {
		dev_err(ohca_device(dev), "no MSI-X vectors: %d\n", ret);
		return ret;
	}
	dev->bus.vector_count = ret;
	return 0;
}

static int ohca_pci_enable(struct pci_dev *pdev)
{
	int ret;

	ret = pci_enable_device_mem(pdev);
	if (ret)
		return ret;
	ret = dma_set_mask_and_coherent(&pdev->dev, DMA_BIT_MASK(64));
	if (ret) {
		pci_disable_device(pdev);
		return ret;
	}
	/* Else regions come in pieces of 64 KiB. */
	dma_set_max_seg_size(&pdev->dev, UINT_MAX);
	ohca_pci_refuse_bouncing(pdev);
	pci_set_master(pdev);
	return 0;
}

static void ohca_pci_disable(struct pci_dev *pdev)
{
	pci_clear_master(pdev);
	pci_disable_device(pdev);
}

static int ohca_pci_up(struct pci_dev *pdev)
{
	struct ohca_pci *opci = pci_get_drvdata(pdev);
	struct ohca_dev *dev;
	int ret;

	dev = ohca_alloc(&pdev->dev);
	if (!dev)
		return -ENOMEM;
	dev->bus.dma_device = &pdev->dev;
	dev->bus.revision = pdev->revision;
	dev->bus.irq = ohca_pci_irq;
	dev->bus.stop_dma = ohca_pci_stop_dma;

	ret = ohca_pci_enable(pdev);
	if (ret)
		goto err_dealloc;
	ret = ohca_pci_map(dev);
	if (ret)
		goto err_disable;
	ret = ohca_hw_probe(dev);
	if (ret)
		goto err_unmap;
	ret = ohca_pci_vectors(dev);
	if (ret)
		goto err_unmap;
	ret = ohca_start(dev, opci->name);
	if (ret)
		goto err_vectors;
	opci->dev = dev;
	return 0;

err_vectors:
	pci_free_irq_vectors(pdev);
err_unmap:
	ohca_pci_unmap(dev);
err_disable:
	ohca_pci_disable(pdev);
err_dealloc:
	ib_dealloc_device(&dev->ibdev);
	return ret;
}

static void ohca_pci_down(struct pci_dev *pdev)
{
	struct ohca_pci *opci = pci_get_drvdata(pdev);
	struct ohca_dev *dev = opci->dev;

	if (!dev)
		return;
	opci->dev = NULL;
	strscpy(opci->name, dev_name(&dev->ibdev.dev));
	ohca_stop(dev);
	pci_free_irq_vectors(pdev);
	ohca_pci_unmap(dev);
	ohca_pci_disable(pdev);
	ib_dealloc_device(&dev->ibdev);
}

static int ohca_pci_probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	struct ohca_pci *opci;

	opci = devm_kzalloc(&pdev->dev, sizeof(*opci), GFP_KERNEL);
	if (!opci)
		return -ENOMEM;
	pci_set_drvdata(pdev, opci);
	return ohca_pci_up(pdev);
}

static void ohca_pci_remove(struct pci_dev *pdev)
{
	ohca_pci_down(pdev);
}

/*
 * A function level reset loses every object of every user, and the uverbs have
 * no way to say that other than the device's departure.
 */
static void ohca_pci_reset_prepare(struct pci_dev *pdev)
{
	dev_info(&pdev->dev, "function level reset: the device leaves\n");
	ohca_pci_down(pdev);
}

static void ohca_pci_reset_done(struct pci_dev *pdev)
{
	int ret = ohca_pci_up(pdev);

	if (ret)
		dev_err(&pdev->dev, "not restarted after the function level reset: %d\n", ret);
}

static const struct pci_error_handlers ohca_pci_error_handlers = {
	.reset_prepare = ohca_pci_reset_prepare,
	.reset_done = ohca_pci_reset_done,
};

static const struct pci_device_id ohca_pci_ids[] = {
	{ PCI_DEVICE(OHCA_PCI_VENDOR_ID, OHCA_PCI_DEVICE_ID) },
	{ }
};
MODULE_DEVICE_TABLE(pci, ohca_pci_ids);

static struct pci_driver ohca_pci_driver = {
	.name = OHCA_DRIVER_NAME,
	.id_table = ohca_pci_ids,
	.probe = ohca_pci_probe,
	.remove = ohca_pci_remove,
	.err_handler = &ohca_pci_error_handlers,
};

static int __init ohca_init(void)
{
	return pci_register_driver(&ohca_pci_driver);
}
module_init(ohca_init);

static void __exit ohca_exit(void)
{
	pci_unregister_driver(&ohca_pci_driver);
}
module_exit(ohca_exit);

MODULE_DESCRIPTION("ohca software RDMA host channel adapter");
MODULE_LICENSE("Dual BSD/GPL");
