/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef KVERBS_INTEGRITY_H
#define KVERBS_INTEGRITY_H

#include <linux/scatterlist.h>

#include "kverbs.h"

#define KV_INTERVALS	5	/* of a region */
#define KV_TUPLE	8	/* bytes */
#define KV_DATA_PIECES	3
#define KV_META_PIECES	2
#define KV_APP_TAG	0x5a5a
#define KV_REF_TAG	0xfffffffd	/* wraps */

/*
 * A signature region of side 0: data and tuples are in pieces of its buffer, which cut
 * intervals and tuples.  The bytes of the wire are at the start of the buffer of side 1.
 */
struct kv_integrity {
	struct kv_pair *pair;
	struct ib_mr *mr;
	u32 interval;			/* bytes */
	bool memory, wire;		/* which domain has tuples */
	bool among_data;		/* those in memory follow their interval; one piece */
	struct ib_t10_dif_domain dif;	/* of both */
	u8 check_mask;
	struct scatterlist data[KV_DATA_PIECES];
	struct scatterlist meta[KV_META_PIECES];
	struct ib_mr_status status;	/* after the last transfer */
};

struct ib_t10_dif_domain kv_t10_dif(u32 interval, enum ib_t10_dif_bg_type type);
int kv_integrity_open(struct kv_pair *pair, struct kv_integrity *it);
void kv_integrity_close(struct kv_integrity *it);

/* What a domain has behind an interval: bit by bit, as the standards have it. */
void kv_tuple(const struct ib_t10_dif_domain *dif, u32 index, const u8 *data, u8 *tuple);
u32 kv_wire_length(const struct kv_integrity *it);
u8 *kv_wire_data(const struct kv_integrity *it, u32 index);

/* Pieces of the memory domain, from or to the bytes as they follow each other. */
void kv_copy_pieces(struct kv_integrity *it, const struct scatterlist *pieces, u8 *bytes,
		    bool store);
/* The piece with tuples among the data. */
u8 *kv_among_data(struct kv_integrity *it);
/* The work request that makes the region valid with the attributes of @it. */
int kv_integrity_reg(struct kv_integrity *it, struct ib_reg_wr *reg, int access);
/* Data from or to the peer through the region, and the status; the key is invalid again. */
int kv_integrity_move(struct kv_integrity *it, enum ib_wr_opcode opcode);

/* test_integrity_rw.c */
int kv_test_rw_signature(struct kv_pair *pair);

#endif /* KVERBS_INTEGRITY_H */
