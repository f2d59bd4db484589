/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef KVERBS_REGION_H
#define KVERBS_REGION_H

#include <linux/scatterlist.h>

#include "kverbs.h"

#define KV_PIECES	4
#define KV_ACCESS	(IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_READ)

/* A region of scattered pieces of the buffer of one side. */
struct kv_region {
	struct ib_mr *mr;
	int side;
	int pieces;
	u32 offset[KV_PIECES];
	u32 length[KV_PIECES];
	struct scatterlist sg[KV_PIECES];
};

extern const struct kv_region kv_region_pages;
extern const struct kv_region kv_region_blocks;

u32 kv_region_length(const struct kv_region *region);
int kv_region_open(struct kv_pair *pair, struct kv_region *region, enum ib_mr_type type);
void kv_region_gather(struct kv_pair *pair, const struct kv_region *region, u8 *to);
struct ib_reg_wr kv_reg_wr(const struct kv_region *region, int access);
int kv_register(struct kv_pair *pair, const struct kv_region *region, int access,
		enum ib_wc_status *status);
int kv_invalidate(struct kv_pair *pair, int side, u32 key, int flags, enum ib_wc_status *status);
int kv_use_region(struct kv_pair *pair, const struct kv_region *region);
int kv_reconnect(struct kv_pair *pair);
int kv_check_refused(struct kv_pair *pair, const struct kv_region *region, u32 key);

#endif /* KVERBS_REGION_H */
