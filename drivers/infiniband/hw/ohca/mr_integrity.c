// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Integrity: memory regions whose data has protection information (T10-DIF),
 * which the device generates, checks and removes while it moves the data.
 *
 * The addresses of such a region are those of the bytes on the wire.  What is
 * wrong with a tuple is written by the device into memory beside the region's
 * list, before the completion of the transfer, so that check_mr_status() is a
 * look at that memory.
 */

#include <linux/math64.h>
#include <linux/t10-pi.h>

#include "ohca.h"

#define OHCA_TUPLE_SIZE		sizeof(struct ohca_t10_tuple)

static_assert(sizeof(struct ohca_t10_tuple) == sizeof(struct t10_pi_tuple));

struct ib_mr *ohca_alloc_mr_integrity(struct ib_pd *ibpd, u32 max_num_data_sg,
				      u32 max_num_meta_sg)
{
	struct ohca_dev *dev = to_ohca_dev(ibpd->device);
	u64 entries = (u64)max_num_data_sg + max_num_meta_sg;
	size_t size = entries * sizeof(struct ohca_block);
	struct ohca_mr *mr;

	if (!(dev->features & OHCA_FEATURE_INTEGRITY)) {
		ibdev_dbg(&dev->ibdev, "integrity MRs not supported\n");
		return ERR_PTR(-EOPNOTSUPP);
	}
	if (!max_num_data_sg || entries > dev->caps.max_list_entries) {
		ibdev_dbg(&dev->ibdev, "MR of %u and %u entries, at most %u\n", max_num_data_sg,
			  max_num_meta_sg, dev->caps.max_list_entries);
		return ERR_PTR(-EINVAL);
	}
	mr = ohca_mr_create_free(ibpd, OHCA_MKEY_TYPE_INTEGRITY, entries,
				 size + sizeof(struct ohca_integrity_status));
	if (IS_ERR(mr))
		return ERR_CAST(mr);
	mr->gaps = true;
	mr->status = mr->list + size;
	return &mr->ibmr;
}

/* All or nothing: what is left out would be missing in the middle of an interval. */
static int ohca_add_all(struct ohca_mr *mr, struct scatterlist *sg, int nents,
			unsigned int *offset, u64 *length)
{
	int count = ohca_add_blocks(mr, sg, nents, offset, length);

	if (count < 0)
		return count;
	return count == nents ? 0 : -ENOMEM;
}

int ohca_map_mr_sg_pi(struct ib_mr *ibmr, struct scatterlist *data_sg, int data_sg_nents,
		      unsigned int *data_sg_offset, struct scatterlist *meta_sg,
		      int meta_sg_nents, unsigned int *meta_sg_offset)
{
	struct ohca_mr *mr = to_ohca_mr(ibmr);
	int ret;

	if (!mr->status || data_sg_nents < 1 || meta_sg_nents < 0)
		return -EINVAL;
	mr->list_count = 0;
	mr->data_count = 0;
	mr->meta_length = 0;
	ret = ohca_add_all(mr, data_sg, data_sg_nents, data_sg_offset, &mr->data_length);
	if (ret)
		return ret;
	mr->data_count = mr->list_count;
	if (meta_sg_nents)
		ret = ohca_add_all(mr, meta_sg, meta_sg_nents, meta_sg_offset, &mr->meta_length);
	if (!ret && mr->meta_length > INT_MAX)
		ret = -EINVAL;
	if (ret) {
		mr->data_count = 0;
		return ret;
	}
	/* Some users fill in sig_attrs before this, some after: it must not depend on them. */
	ibmr->iova = 0;
	ibmr->length = mr->data_length + mr->meta_length;
	ibmr->sig_attrs->meta_length = mr->meta_length;
	return 0;
}

static int ohca_set_domain(struct ohca_signature_domain *out, const struct ib_sig_domain *in)
{
	const struct ib_t10_dif_domain *dif = &in->sig.dif;

	if (in->sig_type == IB_SIG_TYPE_NONE)
		return 0;
	if (in->sig_type != IB_SIG_TYPE_T10_DIF)
		return -EINVAL;
	out->type = OHCA_SIGNATURE_T10_DIF;
	switch (dif->bg_type) {
	case IB_T10DIF_CRC:
		out->guard_type = OHCA_GUARD_CRC;
		break;
	case IB_T10DIF_CSUM:
		out->guard_type = OHCA_GUARD_IP_CHECKSUM;
		break;
	default:
		return -EINVAL;
	}
	if (dif->ref_remap)
		out->flags |= OHCA_SIGNATURE_REF_INCREMENT;
	if (dif->app_escape)
		out->flags |= OHCA_SIGNATURE_APP_ESCAPE;
	if (dif->ref_escape)
		out->flags |= OHCA_SIGNATURE_REF_ESCAPE;
	out->guard_seed = cpu_to_le16(dif->bg);
	out->app_tag = cpu_to_le16(dif->app_tag);
	out->app_tag_mask = cpu_to_le16(dif->apptag_check_mask);
	out->ref_tag = cpu_to_le32(dif->ref_tag);
	return 0;
}

/* Bytes of data with a tuple, of which both domains must have the same idea; 0: none has any. */
static int ohca_signature_interval(const struct ib_sig_attrs *attrs)
{
	bool memory = attrs->mem.sig_type != IB_SIG_TYPE_NONE;
	bool wire = attrs->wire.sig_type != IB_SIG_TYPE_NONE;
	u16 interval;

	if (!memory && !wire)
		return 0;
	interval = memory ? attrs->mem.sig.dif.pi_interval : attrs->wire.sig.dif.pi_interval;
	if (memory && wire && attrs->wire.sig.dif.pi_interval != interval)
		return -EINVAL;
	if (interval < OHCA_INTEGRITY_INTERVAL_MIN || interval % OHCA_INTEGRITY_INTERVAL_UNIT)
		return -EINVAL;
	return interval;
}

/*
 * The data must be whole intervals, and memory have a tuple for each: behind it, if there is
 * no metadata.  The device would refuse, too, but take the queue pair to error.
 */
static bool ohca_signature_fits(const struct ohca_mr *mr, u32 interval)
{
	bool memory = mr->ibmr.sig_attrs->mem.sig_type != IB_SIG_TYPE_NONE;
	bool among_data = memory && mr->list_count == mr->data_count;
	u64 count;
	u32 rest;

	if (!interval)
		return true;
	count = div_u64_rem(mr->data_length, interval + (among_data ? OHCA_TUPLE_SIZE : 0), &rest);
	return !rest && (!memory || among_data || mr->meta_length >= count * OHCA_TUPLE_SIZE);
}

/* Of a WQE that has been zeroed. */
int ohca_build_reg_integrity(struct ohca_qp *qp, struct ohca_sq_wqe *wqe,
			     const struct ib_send_wr *wr)
{
	static const int never = IB_ACCESS_REMOTE_ATOMIC | IB_ACCESS_MW_BIND;
	struct ohca_wqe_register_integrity *args = (void *)(wqe + 1);
	const struct ib_reg_wr *reg = reg_wr(wr);
	struct ohca_mr *mr = to_ohca_mr(reg->mr);
	const struct ib_sig_attrs *attrs = mr->ibmr.sig_attrs;
	int interval;

	if (!qp->ibqp.integrity_en || !mr->status || !mr->data_count || reg->access & never ||
	    ohca_check_access(to_ohca_dev(qp->ibqp.device), reg->access))
		return -EINVAL;
	interval = ohca_signature_interval(attrs);
	if (interval < 0)
		return interval;
	if (!ohca_signature_fits(mr, interval))
		return -EINVAL;
	*args = (struct ohca_wqe_register_integrity) {
		.start = cpu_to_le64(reg->access & IB_ZERO_BASED ? 0 : mr->ibmr.iova),
		.list_address = cpu_to_le64(mr->list_dma),
		.status_address = cpu_to_le64(mr->list_dma + ((void *)mr->status - mr->list)),
		.data_entry_count = cpu_to_le32(mr->data_count),
		.protection_entry_count = cpu_to_le32(mr->list_count - mr->data_count),
		.access = cpu_to_le32(reg->access & OHCA_REGION_ACCESS_ALL),
		.interval = cpu_to_le32(interval),
		.check_mask = attrs->check_mask,
	};
	if (ohca_set_domain(&args->memory, &attrs->mem) ||
	    ohca_set_domain(&args->wire, &attrs->wire))
		return -EINVAL;
	wqe->rkey = cpu_to_le32(reg->key);
	mr->interval = interval;
	/* Before the device sees the WQE: ohca_ring_publish(). */
	WRITE_ONCE(mr->status->error, cpu_to_le32(OHCA_INTEGRITY_NONE));
	return 0;
}

/*
 * Whoever asks has seen the completion of the transfer, which the device wrote
 * after the status.
 */
int ohca_check_mr_status(struct ib_mr *ibmr, u32 check_mask, struct ib_mr_status *mr_status)
{
	static const enum ib_sig_err_type types[] = {
		[OHCA_INTEGRITY_BAD_GUARD] = IB_SIG_BAD_GUARD,
		[OHCA_INTEGRITY_BAD_REF_TAG] = IB_SIG_BAD_REFTAG,
		[OHCA_INTEGRITY_BAD_APP_TAG] = IB_SIG_BAD_APPTAG,
	};
	struct ohca_dev *dev = to_ohca_dev(ibmr->device);
	struct ohca_mr *mr = to_ohca_mr(ibmr);
	u32 error;

	if (check_mask & ~IB_MR_CHECK_SIG_STATUS || (check_mask && !mr->status)) {
		ibdev_dbg(&dev->ibdev, "MR %#x has no status %#x\n", ibmr->lkey, check_mask);
		return -EINVAL;
	}
	mr_status->fail_status = 0;
	if (!check_mask)
		return 0;
	error = le32_to_cpu(READ_ONCE(mr->status->error));
	if (error == OHCA_INTEGRITY_NONE)
		return 0;
	if (error >= ARRAY_SIZE(types)) {
		dev_err_ratelimited(ohca_device(dev), "MR %#x has integrity error %u\n",
				    ibmr->lkey, error);
		return -EIO;
	}
	mr_status->fail_status = IB_MR_CHECK_SIG_STATUS;
	mr_status->sig_err = (struct ib_sig_err) {
		.err_type = types[error],
		.expected = le32_to_cpu(mr->status->expected),
		.actual = le32_to_cpu(mr->status->actual),
		/* As if each interval were followed by its tuple: that is how users divide it. */
		.sig_err_offset = le64_to_cpu(mr->status->interval_index) *
				  (mr->interval + OHCA_TUPLE_SIZE),
		.key = le32_to_cpu(mr->status->key),
	};
	return 0;
}
