// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Memory of the kernel's own queues: one coherent range if there is one of
 * that size, else pieces of equal size and a list of them for the device.
 *
 * Pieces and entries are powers of two and aligned to their size, so no entry
 * of a ring lies in two pieces.
 */

#include <linux/dma-mapping.h>
#include <linux/slab.h>

#include "ohca.h"

static int ohca_buffer_alloc_piece(struct ohca_dev *dev, struct ohca_buffer *buffer, u32 i)
{
	dma_addr_t dma;

	buffer->pieces[i] = dma_alloc_coherent(ohca_device(dev), OHCA_PIECE_SIZE, &dma,
					       GFP_KERNEL | __GFP_NOWARN);
	if (!buffer->pieces[i])
		return -ENOMEM;
	buffer->list[i] = cpu_to_le64(dma);
	return 0;
}

static int ohca_buffer_alloc_pieces(struct ohca_dev *dev, struct ohca_buffer *buffer)
{
	u32 count = DIV_ROUND_UP(buffer->size, OHCA_PIECE_SIZE);
	int ret = 0;
	u32 i;

	buffer->pieces = kvcalloc(count, sizeof(*buffer->pieces), GFP_KERNEL);
	if (!buffer->pieces)
		return -ENOMEM;
	buffer->count = count;
	buffer->list = dma_alloc_coherent(ohca_device(dev), count * sizeof(*buffer->list),
					  &buffer->dma, GFP_KERNEL);
	if (!buffer->list)
		ret = -ENOMEM;
	for (i = 0; i < count && !ret; i++)
		ret = ohca_buffer_alloc_piece(dev, buffer, i);
	buffer->cpu = buffer->pieces[0];
	return ret;
}

/* In whole pages, so that the device can be given nothing but what is the queue's. */
int ohca_buffer_alloc(struct ohca_dev *dev, struct ohca_buffer *buffer, size_t size)
{
	int ret;

	memset(buffer, 0, sizeof(*buffer));
	buffer->size = PAGE_ALIGN(size);
	buffer->cpu = dma_alloc_coherent(ohca_device(dev), buffer->size, &buffer->dma,
					 GFP_KERNEL | __GFP_NOWARN);
	if (buffer->cpu)
		return 0;
	if (!(dev->caps.page_size_mask & OHCA_PIECE_SIZE))
		return -ENOMEM;
	ret = ohca_buffer_alloc_pieces(dev, buffer);
	if (ret)
		ohca_buffer_free(dev, buffer);
	return ret;
}

void ohca_buffer_free(struct ohca_dev *dev, struct ohca_buffer *buffer)
{
	u32 i;

	for (i = 0; i < buffer->count; i++)
		if (buffer->pieces[i])
			dma_free_coherent(ohca_device(dev), OHCA_PIECE_SIZE, buffer->pieces[i],
					  le64_to_cpu(buffer->list[i]));
	if (buffer->list)
		dma_free_coherent(ohca_device(dev), buffer->count * sizeof(*buffer->list),
				  buffer->list, buffer->dma);
	else if (buffer->cpu)
		dma_free_coherent(ohca_device(dev), buffer->size, buffer->cpu, buffer->dma);
	kvfree(buffer->pieces);
	memset(buffer, 0, sizeof(*buffer));
}

/* For the device; the list of pieces is there as long as the buffer. */
void ohca_buffer_describe(const struct ohca_buffer *buffer, struct ohca_page_list *list)
{
	if (!buffer->pieces) {
		ohca_page_list_from_dma(buffer->dma, buffer->size, list);
		return;
	}
	*list = (struct ohca_page_list) {
		.address = cpu_to_le64(buffer->dma),
		.page_count = cpu_to_le32(buffer->count),
		.log_page_size = ilog2(OHCA_PIECE_SIZE),
		.levels = 1,
	};
}
