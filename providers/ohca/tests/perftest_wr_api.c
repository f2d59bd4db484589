// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * For LD_PRELOAD: lets perftest use the ibv_wr_* calls.
 *
 * perftest has them only for the devices of a list it keeps (by vendor_part_id)
 * and falls back to ibv_post_send() on all others, whatever their provider can
 * do.  On its way to them it also asks libmlx5, of any device, for an extra that
 * only that one has.  This shows it a part id of the list, and answers for libmlx5.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>

#include <infiniband/mlx5dv.h>
#include <infiniband/verbs.h>

#define LISTED_PART_ID 41506 /* HNS: nothing else depends on it */

int ibv_query_device(struct ibv_context *context, struct ibv_device_attr *attr)
{
	int (*next)(struct ibv_context *, struct ibv_device_attr *);
	int error;

	*(void **)&next = dlvsym(RTLD_NEXT, "ibv_query_device", "IBVERBS_1.1");
	if (!next)
		return EOPNOTSUPP;
	error = next(context, attr);
	if (!error)
		attr->vendor_part_id = LISTED_PART_ID;
	return error;
}

int mlx5dv_query_device(struct ibv_context *context, struct mlx5dv_context *attr)
{
	(void)context;
	attr->comp_mask = 0;	/* no extras */
	return 0;
}
