// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Page lists: how the device is told where a queue or a region lies.
 *
 * The page size is chosen so that the list is as short as possible.  Since a
 * range may start anywhere within its first page, only its DMA addresses
 * matter, not the application's: memory that is contiguous for the device (as
 * behind an IOMMU it often is altogether) is one page, whatever its size.
 */

#include <linux/dma-mapping.h>
#include <linux/slab.h>

#include <rdma/ib_umem.h>
#include <rdma/iter.h>

#include "ohca.h"

#define OHCA_CHUNK_SIZE		(OHCA_PAGE_LIST_CHUNK_ENTRIES * sizeof(__le64))
/* Chunks are allocated so many at a time; more would make the allocator try hard. */
#define OHCA_BLOCK_CHUNKS	8
#define OHCA_BLOCK_SIZE		(OHCA_BLOCK_CHUNKS * OHCA_CHUNK_SIZE)
#define OHCA_BLOCK_ENTRIES	(OHCA_BLOCK_CHUNKS * OHCA_PAGE_LIST_CHUNK_ENTRIES)

struct ohca_page_block {
	__le64 *entries;		/* OHCA_BLOCK_ENTRIES of them */
	dma_addr_t dma;
};

void ohca_page_memory_free(struct ohca_dev *dev, struct ohca_page_memory *memory)
{
	struct device *dma = ohca_device(dev);
	u32 i;

	for (i = 0; i < memory->block_count; i++)
		dma_free_coherent(dma, OHCA_BLOCK_SIZE, memory->blocks[i].entries,
				  memory->blocks[i].dma);
	kvfree(memory->blocks);
	if (memory->top)
		dma_free_coherent(dma, memory->top_size, memory->top, memory->top_dma);
	memset(memory, 0, sizeof(*memory));
}

static int ohca_alloc_top(struct ohca_dev *dev, struct ohca_page_memory *memory, size_t size)
{
	memory->top_size = size;
	memory->top = dma_alloc_coherent(ohca_device(dev), size, &memory->top_dma, GFP_KERNEL);
	return memory->top ? 0 : -ENOMEM;
}

static int ohca_fill_one_level(struct ohca_dev *dev, struct ohca_page_memory *memory,
			       struct ib_umem *umem, unsigned long page_size, u32 count)
{
	struct ib_block_iter biter;
	__le64 *entry;
	u32 i = 0;
	int ret;

	ret = ohca_alloc_top(dev, memory, count * sizeof(__le64));
	if (ret)
		return ret;
	entry = memory->top;
	rdma_umem_for_each_dma_block(umem, &biter, page_size)
		entry[i++] = cpu_to_le64(rdma_block_iter_dma_address(&biter));
	return 0;
}

static int ohca_alloc_blocks(struct ohca_dev *dev, struct ohca_page_memory *memory, u32 count)
{
	struct ohca_page_block *block;

	memory->blocks = kvcalloc(count, sizeof(*memory->blocks), GFP_KERNEL);
	if (!memory->blocks)
		return -ENOMEM;
	while (memory->block_count < count) {
		block = &memory->blocks[memory->block_count];
		block->entries = dma_alloc_coherent(ohca_device(dev), OHCA_BLOCK_SIZE, &block->dma,
						    GFP_KERNEL);
		if (!block->entries)
			return -ENOMEM;
		memory->block_count++;
	}
	return 0;
}

static int ohca_fill_two_levels(struct ohca_dev *dev, struct ohca_page_memory *memory,
				struct ib_umem *umem, unsigned long page_size, u32 count)
{
	u32 chunks = DIV_ROUND_UP(count, OHCA_PAGE_LIST_CHUNK_ENTRIES);
	struct ib_block_iter biter;
	__le64 *top;
	u32 i = 0;
	int ret;

	ret = ohca_alloc_top(dev, memory, chunks * sizeof(__le64));
	if (ret)
		return ret;
	ret = ohca_alloc_blocks(dev, memory, DIV_ROUND_UP(chunks, OHCA_BLOCK_CHUNKS));
	if (ret)
		return ret;
	rdma_umem_for_each_dma_block(umem, &biter, page_size) {
		memory->blocks[i / OHCA_BLOCK_ENTRIES].entries[i % OHCA_BLOCK_ENTRIES] =
			cpu_to_le64(rdma_block_iter_dma_address(&biter));
		i++;
	}
	top = memory->top;
	for (i = 0; i < chunks; i++)
		top[i] = cpu_to_le64(memory->blocks[i / OHCA_BLOCK_CHUNKS].dma +
				     i % OHCA_BLOCK_CHUNKS * OHCA_CHUNK_SIZE);
	return 0;
}

static dma_addr_t ohca_first_page(struct ib_umem *umem, unsigned long page_size)
{
	struct ib_block_iter biter;

	rdma_umem_for_each_dma_block(umem, &biter, page_size)
		return rdma_block_iter_dma_address(&biter);
	return 0;
}

/*
 * Describe @umem.  Also on failure @memory is to be given to
 * ohca_page_memory_free(); on success not before the command is over.
 */
int ohca_page_list_from_umem(struct ohca_dev *dev, struct ib_umem *umem,
			     struct ohca_page_memory *memory, struct ohca_page_list *list)
{
	unsigned long page_size;
	size_t count;
	int ret = 0;

	memset(memory, 0, sizeof(*memory));
	memset(list, 0, sizeof(*list));
	page_size = ib_umem_find_best_pgoff(umem, dev->caps.page_size_mask & PAGE_MASK, U64_MAX);
	if (!page_size) {
		ibdev_dbg(&dev->ibdev, "no page size fits\n");
		return -EINVAL;
	}
	count = ib_umem_num_dma_blocks(umem, page_size);
	if (count > U32_MAX) {
		ibdev_dbg(&dev->ibdev, "%zu pages are too many\n", count);
		return -EINVAL;
	}
	list->first_page_offset = cpu_to_le64(ib_umem_dma_offset(umem, page_size));
	list->page_count = cpu_to_le32(count);
	list->log_page_size = ilog2(page_size);

	if (count == 1) {
		list->address = cpu_to_le64(ohca_first_page(umem, page_size));
		return 0;
	}
	if (count <= OHCA_PAGE_LIST_CHUNK_ENTRIES) {
		list->levels = 1;
		ret = ohca_fill_one_level(dev, memory, umem, page_size, count);
	} else {
		list->levels = 2;
		ret = ohca_fill_two_levels(dev, memory, umem, page_size, count);
	}
	list->address = cpu_to_le64(memory->top_dma);
	return ret;
}

/*
 * Pin a queue that is an application's memory, and describe it.  On success
 * @memory is to be given to ohca_page_memory_free() after the command.
 */
struct ib_umem *ohca_pin_queue(struct ohca_dev *dev, u64 address, u64 length,
			       struct ohca_page_memory *memory, struct ohca_page_list *list)
{
	struct ib_umem *umem;
	int ret;

	if (!PAGE_ALIGNED(address)) {
		ibdev_dbg(&dev->ibdev, "queue not page aligned\n");
		return ERR_PTR(-EINVAL);
	}
	umem = ib_umem_get(&dev->ibdev, address, length, IB_ACCESS_LOCAL_WRITE);
	if (IS_ERR(umem)) {
		ibdev_dbg(&dev->ibdev, "queue not pinned: %ld\n", PTR_ERR(umem));
		return umem;
	}
	ret = ohca_page_list_from_umem(dev, umem, memory, list);
	if (ret) {
		ohca_page_memory_free(dev, memory);
		ib_umem_release(umem);
		return ERR_PTR(ret);
	}
	return umem;
}

/* Describe one coherent allocation. */
void ohca_page_list_from_dma(dma_addr_t dma, size_t size, struct ohca_page_list *list)
{
	u64 offset = dma & (SZ_4K - 1);

	*list = (struct ohca_page_list) {
		.address = cpu_to_le64(dma - offset),
		.first_page_offset = cpu_to_le64(offset),
		.page_count = cpu_to_le32(DIV_ROUND_UP_ULL(offset + size, SZ_4K)),
		.log_page_size = ilog2(SZ_4K),
	};
}
