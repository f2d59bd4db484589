/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Included before anything else in umem.c and NVMe's rdma.c of the debug kernel.
 *
 * Both map memory that shares cache lines with what is mapped already, and no
 * driver can help it: applications may register the same memory twice, and
 * completions of nvme_rdma are smaller than a line.  On a coherent machine that
 * is as good as any mapping, and the checker of DMA mappings would print a
 * backtrace for each: thousands, slowly, from all processors at once, until the
 * log overflows and the complaints that matter are lost.  It is silent where the
 * caller sees to the caches itself.
 */
#include <linux/dma-mapping.h>

#define dma_map_sgtable(device, table, direction, attributes) \
	dma_map_sgtable(device, table, direction, (attributes) | DMA_ATTR_SKIP_CPU_SYNC)
#undef dma_map_single
#define dma_map_single(device, address, size, direction) \
	dma_map_single_attrs(device, address, size, direction, DMA_ATTR_SKIP_CPU_SYNC)

#ifdef OHCA_OWN_MESSAGE_PREFIX
/* The file defines it, before what it thinks are the first headers. */
#undef pr_fmt
#endif
