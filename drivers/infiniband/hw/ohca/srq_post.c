// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Posting to the kernel's shared receive queues, and what their completions
 * mean.
 *
 * The device takes the WQEs in the order of the ring but completes them in any,
 * so that a ring index cannot name a work request.  Each gets a tag instead,
 * from a list of free ones, which its completion gives back.  No more work
 * requests than the ring's depth are outstanding: then the slot that is written
 * is one which the device has taken.
 */

#include "ohca.h"

#define OHCA_NO_TAG	U32_MAX

/* Tags from @first up to @end become free. Before the SRQ is used, or locked. */
void ohca_srq_add_tags(struct ohca_srq *srq, u32 first, u32 end)
{
	u32 tag;

	if (!first)
		srq->free_tag = OHCA_NO_TAG;
	for (tag = end; tag-- > first;) {
		srq->wrs[tag].next = srq->free_tag;
		srq->free_tag = tag;
	}
}

static int ohca_srq_post_one(struct ohca_srq *srq, const struct ib_recv_wr *wr)
{
	struct ohca_srq_wr *saved;
	struct ohca_rq_wqe *wqe;
	u32 tag = srq->free_tag;

	if (wr->num_sge < 0 || wr->num_sge > srq->max_sge)
		return -EINVAL;
	if (srq->resizing || srq->outstanding >= srq->depth)
		return -ENOMEM;
	saved = &srq->wrs[tag];
	srq->free_tag = saved->next;
	saved->posted = true;
	saved->wr_id = wr->wr_id;

	wqe = ohca_buffer_at(&srq->buffer, ohca_srq_ring_offset(srq) +
			     ((size_t)(srq->producer & (srq->depth - 1)) << srq->log_stride));
	memset(wqe, 0, sizeof(*wqe));
	wqe->num_sge = wr->num_sge;
	wqe->tag = cpu_to_le32(tag);
	ohca_set_sges((void *)(wqe + 1), wr->sg_list, wr->num_sge);
	srq->producer++;
	srq->outstanding++;
	return 0;
}

int ohca_post_srq_recv(struct ib_srq *ibsrq, const struct ib_recv_wr *wr,
		       const struct ib_recv_wr **bad_wr)
{
	struct ohca_srq *srq = to_ohca_srq(ibsrq);
	unsigned long flags;
	int ret = 0;
	u32 first;

	spin_lock_irqsave(&srq->lock, flags);
	first = srq->producer;
	for (; wr; wr = wr->next) {
		ret = ohca_srq_post_one(srq, wr);
		if (ret)
			break;
	}
	if (srq->producer != first) {
		/*
		 * The device must find the WQEs once it sees the index.  It
		 * looks for them when a message needs one: no doorbell.
		 */
		dma_wmb();
		WRITE_ONCE(srq->record->producer, cpu_to_le32(srq->producer));
	}
	spin_unlock_irqrestore(&srq->lock, flags);
	if (ret)
		*bad_wr = wr;
	return ret;
}

/* As new; nothing may be posted until the device has forgotten what was. */
void ohca_srq_discard(struct ohca_srq *srq)
{
	unsigned long flags;
	u32 tag;

	spin_lock_irqsave(&srq->lock, flags);
	srq->resizing = true;
	srq->producer = 0;
	srq->outstanding = 0;
	WRITE_ONCE(srq->record->producer, 0);
	for (tag = 0; tag < srq->tag_count; tag++)
		srq->wrs[tag].posted = false;
	ohca_srq_add_tags(srq, 0, srq->tag_count);
	spin_unlock_irqrestore(&srq->lock, flags);
}

void ohca_srq_restart(struct ohca_srq *srq)
{
	unsigned long flags;

	spin_lock_irqsave(&srq->lock, flags);
	srq->resizing = false;
	spin_unlock_irqrestore(&srq->lock, flags);
}

/* With a CQ's lock held. False: no work request with this tag is outstanding. */
bool ohca_srq_complete(struct ohca_srq *srq, u32 tag, u64 *wr_id)
{
	struct ohca_srq_wr *wr;
	bool known = false;

	spin_lock(&srq->lock);
	if (tag < srq->tag_count && srq->wrs[tag].posted) {
		wr = &srq->wrs[tag];
		*wr_id = wr->wr_id;
		wr->posted = false;
		wr->next = srq->free_tag;
		srq->free_tag = tag;
		srq->outstanding--;
		known = true;
	}
	spin_unlock(&srq->lock);
	return known;
}
