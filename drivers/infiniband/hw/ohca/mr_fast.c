// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Fast registration: memory regions that kernel users fill by work requests.
 *
 * A region has a list of pages, or of blocks of any size and alignment, which
 * map_mr_sg() writes and the device reads when it executes REG_MR.  As with
 * every HCA whose list is read by DMA, its user must not map it anew before
 * REG_MR and what uses the region have completed.
 */

#include <linux/dma-mapping.h>
#include <linux/slab.h>

#include "ohca.h"

static int ohca_mr_check(struct ohca_dev *dev, enum ib_mr_type type, u32 max_num_sg)
{
	u64 feature = OHCA_FEATURE_FAST_REG;

	if (type == IB_MR_TYPE_SG_GAPS)
		feature |= OHCA_FEATURE_SG_GAPS;
	if ((type != IB_MR_TYPE_MEM_REG && type != IB_MR_TYPE_SG_GAPS) ||
	    feature & ~dev->features) {
		ibdev_dbg(&dev->ibdev, "MR type %d not supported\n", type);
		return -EOPNOTSUPP;
	}
	if (!max_num_sg || max_num_sg > dev->caps.max_list_entries) {
		ibdev_dbg(&dev->ibdev, "MR of %u entries, at most %u\n", max_num_sg,
			  dev->caps.max_list_entries);
		return -EINVAL;
	}
	return 0;
}

static int ohca_mr_alloc_list(struct ohca_dev *dev, struct ohca_mr *mr, u32 entries,
			      size_t size)
{
	/* Coherent, so that the device may read it at any time: nothing to synchronize. */
	mr->list = dma_alloc_coherent(ohca_device(dev), size, &mr->list_dma,
				      GFP_KERNEL | __GFP_NOWARN);
	if (!mr->list)
		return -ENOMEM;
	mr->list_max = entries;
	mr->list_size = size;
	return 0;
}

void ohca_mr_free_list(struct ohca_dev *dev, struct ohca_mr *mr)
{
	if (mr->list)
		dma_free_coherent(ohca_device(dev), mr->list_size, mr->list, mr->list_dma);
}

struct ohca_mr *ohca_mr_create_free(struct ib_pd *ibpd, u8 type, u32 entries, size_t list_size)
{
	struct ohca_dev *dev = to_ohca_dev(ibpd->device);
	struct ohca_create_mkey_params params = {
		.pdn = to_ohca_pd(ibpd)->pdn,
		.type = type,
		.list_entry_max = entries,
		.consumer_key = ohca_next_consumer_key(dev),
	};
	struct ohca_mr *mr;
	u32 key;
	int ret;

	mr = kzalloc(sizeof(*mr), GFP_KERNEL);
	if (!mr)
		return ERR_PTR(-ENOMEM);
	ret = ohca_mr_alloc_list(dev, mr, entries, list_size);
	if (ret)
		goto err_mr;
	ret = ohca_cmd_create_mkey(dev, &params, &key);
	if (ret)
		goto err_list;
	mr->ibmr.lkey = key;
	mr->ibmr.rkey = key;
	return mr;

err_list:
	ohca_mr_free_list(dev, mr);
err_mr:
	kfree(mr);
	return ERR_PTR(ret);
}

struct ib_mr *ohca_alloc_mr(struct ib_pd *ibpd, enum ib_mr_type type, u32 max_num_sg)
{
	bool gaps = type == IB_MR_TYPE_SG_GAPS;
	size_t entry = gaps ? sizeof(struct ohca_block) : sizeof(__le64);
	struct ohca_mr *mr;
	int ret;

	ret = ohca_mr_check(to_ohca_dev(ibpd->device), type, max_num_sg);
	if (ret)
		return ERR_PTR(ret);
	mr = ohca_mr_create_free(ibpd, OHCA_MKEY_TYPE_FAST_REGION, max_num_sg, max_num_sg * entry);
	if (IS_ERR(mr))
		return ERR_CAST(mr);
	mr->gaps = gaps;
	return &mr->ibmr;
}

static int ohca_set_page(struct ib_mr *ibmr, u64 address)
{
	struct ohca_mr *mr = to_ohca_mr(ibmr);
	__le64 *pages = mr->list;

	if (mr->list_count == mr->list_max)
		return -ENOMEM;
	pages[mr->list_count++] = cpu_to_le64(address);
	return 0;
}

static int ohca_map_pages(struct ohca_mr *mr, struct scatterlist *sg, int sg_nents,
			  unsigned int *sg_offset)
{
	struct ohca_dev *dev = to_ohca_dev(mr->ibmr.device);
	u32 page_size = mr->ibmr.page_size;
	int count;

	if (page_size < SZ_4K || !is_power_of_2(page_size) ||
	    !(dev->caps.page_size_mask & page_size)) {
		ibdev_dbg(&dev->ibdev, "pages of %u bytes not supported\n", page_size);
		return -EINVAL;
	}
	count = ib_sg_to_pages(&mr->ibmr, sg, sg_nents, sg_offset, ohca_set_page);
	/* The user may renumber the addresses (iova) afterwards, but not move the bytes. */
	if (count > 0)
		mr->first_page_offset = mr->ibmr.iova & (page_size - 1);
	return count;
}

/*
 * Appends to the last block, if it is not before @first, where that goes on.
 * False: the list is full.
 */
static bool ohca_add_block(struct ohca_mr *mr, u32 first, u64 address, u64 length)
{
	struct ohca_block *blocks = mr->list;
	struct ohca_block *last;

	if (mr->list_count > first) {
		last = &blocks[mr->list_count - 1];
		if (le64_to_cpu(last->address) + le64_to_cpu(last->length) == address) {
			le64_add_cpu(&last->length, length);
			return true;
		}
	}
	if (mr->list_count == mr->list_max)
		return false;
	blocks[mr->list_count++] = (struct ohca_block) {
		.address = cpu_to_le64(address),
		.length = cpu_to_le64(length),
	};
	return true;
}

int ohca_add_blocks(struct ohca_mr *mr, struct scatterlist *sgl, int sg_nents,
		    unsigned int *sg_offset, u64 *length)
{
	unsigned int offset = sg_offset ? *sg_offset : 0;
	u32 first = mr->list_count;
	struct scatterlist *sg;
	int i;

	if (offset > sg_dma_len(sgl))
		return -EINVAL;
	*length = 0;
	for_each_sg(sgl, sg, sg_nents, i) {
		u64 bytes = sg_dma_len(sg) - offset;

		if (bytes && !ohca_add_block(mr, first, sg_dma_address(sg) + offset, bytes))
			break;
		*length += bytes;
		offset = 0;
	}
	/* An element is mapped whole or not at all. */
	if (sg_offset)
		*sg_offset = 0;
	return i;
}

static int ohca_map_blocks(struct ohca_mr *mr, struct scatterlist *sgl, int sg_nents,
			   unsigned int *sg_offset)
{
	mr->ibmr.iova = sg_dma_address(sgl) + (sg_offset ? *sg_offset : 0);
	mr->first_page_offset = 0;
	return ohca_add_blocks(mr, sgl, sg_nents, sg_offset, &mr->ibmr.length);
}

int ohca_map_mr_sg(struct ib_mr *ibmr, struct scatterlist *sg, int sg_nents,
		   unsigned int *sg_offset)
{
	struct ohca_mr *mr = to_ohca_mr(ibmr);

	if (!mr->list || mr->status || sg_nents < 1)
		return -EINVAL;
	mr->list_count = 0;
	return mr->gaps ? ohca_map_blocks(mr, sg, sg_nents, sg_offset) :
			  ohca_map_pages(mr, sg, sg_nents, sg_offset);
}

/* Of a WQE that has been zeroed. */
int ohca_build_reg_mr(struct ohca_dev *dev, struct ohca_sq_wqe *wqe,
		      const struct ib_send_wr *wr)
{
	struct ohca_wqe_register *args = (void *)(wqe + 1);
	const struct ib_reg_wr *reg = reg_wr(wr);
	struct ohca_mr *mr = to_ohca_mr(reg->mr);

	if (!mr->list || mr->status || !mr->list_count || ohca_check_access(dev, reg->access))
		return -EINVAL;
	wqe->rkey = cpu_to_le32(reg->key);
	/* A zero-based region is one that starts at 0. */
	*args = (struct ohca_wqe_register) {
		.start = cpu_to_le64(reg->access & IB_ZERO_BASED ? 0 : mr->ibmr.iova),
		.length = cpu_to_le64(mr->ibmr.length),
		.list_address = cpu_to_le64(mr->list_dma),
		.first_page_offset = cpu_to_le64(mr->first_page_offset),
		.entry_count = cpu_to_le32(mr->list_count),
		.access = cpu_to_le32(reg->access & OHCA_REGION_ACCESS_ALL),
		.log_page_size = mr->gaps ? 0 : ilog2(mr->ibmr.page_size),
	};
	return 0;
}
