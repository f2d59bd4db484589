// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* One function per device command: parameters in host order in, result out. */

#include "ohca.h"

/* While interrupts are not set up the device has nothing else to do either. */
#define OHCA_CMD_POLL_TIMEOUT_MS	10000

/* A list of that many blocks is 1 MiB of contiguous memory. */
#define OHCA_LIST_ENTRIES_MAX		65536

static int ohca_cmd_exec(struct ohca_dev *dev, u16 opcode, const void *in, u32 in_length,
			 void *out, u32 out_length)
{
	struct ohca_cmd cmd = {
		.opcode = opcode,
		.in = in,
		.in_length = in_length,
		.out = out,
		.out_length = out_length,
	};
	int ret;

	if (dev->cmd_irq_ready)
		ret = ohca_cmdq_exec(dev, &cmd);
	else
		ret = ohca_cmdq_exec_polled(dev, &cmd, OHCA_CMD_POLL_TIMEOUT_MS);
	if (ret)
		dev_dbg(ohca_device(dev), "command %#x failed: %d, detail %u\n", opcode, ret,
			cmd.detail);
	return ret == -ETIMEDOUT ? -EIO : ret;
}

static void ohca_parse_caps(const struct ohca_cmd_query_device_out *out, struct ohca_caps *caps)
{
	caps->features = le64_to_cpu(out->features);
	caps->max_mr_size = le64_to_cpu(out->max_mr_size);
	caps->page_size_mask = le64_to_cpu(out->page_size_mask);
	caps->firmware_version = le64_to_cpu(out->firmware_version);
	/* ib_core counts in int. */
	caps->max_qp = min_t(u32, le32_to_cpu(out->max_qp), INT_MAX);
	caps->max_cq = min_t(u32, le32_to_cpu(out->max_cq), INT_MAX);
	caps->max_mkey = min_t(u32, le32_to_cpu(out->max_mkey), INT_MAX);
	caps->max_pd = min_t(u32, le32_to_cpu(out->max_pd), INT_MAX);
	caps->max_srq = min_t(u32, le32_to_cpu(out->max_srq), INT_MAX);
	caps->max_xrcd = min_t(u32, le32_to_cpu(out->max_xrcd), INT_MAX);
	caps->max_multicast_groups = min_t(u32, le32_to_cpu(out->max_multicast_groups), INT_MAX);
	caps->max_multicast_qps = min_t(u32, le32_to_cpu(out->max_multicast_qps), INT_MAX);
	caps->max_list_entries = min_t(u32, le32_to_cpu(out->max_list_entries),
				       OHCA_LIST_ENTRIES_MAX);
	caps->max_eq = le32_to_cpu(out->max_eq);
	caps->max_uar = le32_to_cpu(out->max_uar);
	caps->max_gid = le32_to_cpu(out->max_gid);
	caps->max_message_size = le32_to_cpu(out->max_message_size);
	/* Neither a WQE nor a queue's size in bytes may get out of hand. */
	caps->max_inline = min_t(u32, le32_to_cpu(out->max_inline),
				 OHCA_SQ_STRIDE_MAX - sizeof(struct ohca_sq_wqe));
	caps->core_clock_khz = le32_to_cpu(out->core_clock_khz);
	caps->counter_count = min_t(u32, le32_to_cpu(out->counter_count),
				    OHCA_CMDQ_OUTPUT_SIZE / sizeof(__le64));
	caps->log_max_sq_depth = min_t(u8, out->log_max_sq_depth, 20);
	caps->log_max_rq_depth = min_t(u8, out->log_max_rq_depth, 20);
	caps->log_max_cq_depth = min_t(u8, out->log_max_cq_depth, 24);
	caps->log_max_eq_depth = min_t(u8, out->log_max_eq_depth, 20);
	caps->log_max_srq_depth = min_t(u8, out->log_max_srq_depth, 20);
	caps->max_send_sge = min_t(size_t, out->max_send_sge,
				   (OHCA_SQ_STRIDE_MAX - sizeof(struct ohca_sq_wqe)) /
				   sizeof(struct ohca_sge));
	caps->max_recv_sge = min_t(size_t, out->max_recv_sge,
				   (OHCA_RQ_STRIDE_MAX - sizeof(struct ohca_rq_wqe)) /
				   sizeof(struct ohca_sge));
	caps->max_srq_sge = min_t(size_t, out->max_srq_sge,
				  (OHCA_RQ_STRIDE_MAX - sizeof(struct ohca_rq_wqe)) /
				  sizeof(struct ohca_sge));
	caps->max_read_atomic_initiator = out->max_read_atomic_initiator;
	caps->max_read_atomic_responder = out->max_read_atomic_responder;
}

int ohca_cmd_query_device(struct ohca_dev *dev, struct ohca_caps *caps)
{
	struct ohca_cmd_query_device_out out;
	int ret;

	ret = ohca_cmd_exec(dev, OHCA_CMD_QUERY_DEVICE, NULL, 0, &out, sizeof(out));
	if (ret)
		return ret;
	ohca_parse_caps(&out, caps);
	if (!(caps->page_size_mask & PAGE_SIZE)) {
		dev_err(ohca_device(dev), "pages of %lu bytes not supported: mask %#llx\n",
			PAGE_SIZE, caps->page_size_mask);
		return -ENODEV;
	}
	return 0;
}

int ohca_cmd_query_clock(struct ohca_dev *dev, u64 *clock_ns)
{
	struct ohca_cmd_query_device_out out;
	int ret;

	ret = ohca_cmd_exec(dev, OHCA_CMD_QUERY_DEVICE, NULL, 0, &out, sizeof(out));
	if (!ret)
		*clock_ns = le64_to_cpu(out.device_clock_ns);
	return ret;
}

int ohca_cmd_query_counters(struct ohca_dev *dev, __le64 *counters, u32 count)
{
	return ohca_cmd_exec(dev, OHCA_CMD_QUERY_COUNTERS, NULL, 0, counters,
			     count * sizeof(*counters));
}

/*
 * Any context.  0: @done will be called once, with @dev in cmd->context, and
 * until then @cmd and @counters belong to the command queue.
 */
int ohca_cmd_query_counters_async(struct ohca_dev *dev, struct ohca_cmd *cmd, __le64 *counters,
				  u32 count, void (*done)(struct ohca_cmd *cmd))
{
	*cmd = (struct ohca_cmd) {
		.opcode = OHCA_CMD_QUERY_COUNTERS,
		.flags = OHCA_CMD_NOWAIT,
		.out = counters,
		.out_length = count * sizeof(*counters),
		.done = done,
		.context = dev,
	};
	return ohca_cmdq_submit(dev, cmd);
}

int ohca_cmd_set_port(struct ohca_dev *dev, bool active, u32 max_mtu)
{
	struct ohca_cmd_set_port_in in = {
		.active = active,
		.max_mtu = cpu_to_le32(max_mtu),
	};

	return ohca_cmd_exec(dev, OHCA_CMD_SET_PORT, &in, sizeof(in), NULL, 0);
}

int ohca_cmd_set_gid(struct ohca_dev *dev, const struct ohca_set_gid_params *params)
{
	struct ohca_cmd_set_gid_in in = {
		.index = cpu_to_le32(params->index),
		.vlan_id = cpu_to_le16(params->vlan_id),
	};

	if (params->gid)
		memcpy(in.gid, params->gid, sizeof(in.gid));
	memcpy(in.mac, params->mac, sizeof(in.mac));
	return ohca_cmd_exec(dev, OHCA_CMD_SET_GID, &in, sizeof(in), NULL, 0);
}

/*
 * A command that puts memory in another's place.  Without an answer either may
 * be in use, and the caller can only keep one: so the device has to go.
 */
static int ohca_cmd_replace(struct ohca_dev *dev, u16 opcode, const void *in, u32 in_length,
			    void *out, u32 out_length)
{
	int ret = ohca_cmd_exec(dev, opcode, in, in_length, out, out_length);

	if (ret == -EIO) {
		ohca_fail(dev, "no answer to a command that replaces memory");
		ohca_wait_quiesced(dev);
	}
	return ret;
}

/* A CREATE whose output is a handle and nothing else. */
static int ohca_cmd_create(struct ohca_dev *dev, u16 opcode, const void *in, u32 in_length,
			   u32 *handle)
{
	struct ohca_cmd_handle out;
	int ret;

	ret = ohca_cmd_exec(dev, opcode, in, in_length, &out, sizeof(out));
	if (!ret)
		*handle = le32_to_cpu(out.handle);
	return ret;
}

int ohca_cmd_create_eq(struct ohca_dev *dev, const struct ohca_create_eq_params *params,
		       u32 *handle)
{
	struct ohca_cmd_create_eq_in in = {
		.pages = *params->pages,
		.log_depth = params->log_depth,
		.type = params->type,
		.vector = cpu_to_le16(params->vector),
	};

	return ohca_cmd_create(dev, OHCA_CMD_CREATE_EQ, &in, sizeof(in), handle);
}

int ohca_cmd_create_uar(struct ohca_dev *dev, u32 *index)
{
	return ohca_cmd_create(dev, OHCA_CMD_CREATE_UAR, NULL, 0, index);
}

int ohca_cmd_create_pd(struct ohca_dev *dev, u32 *pdn)
{
	return ohca_cmd_create(dev, OHCA_CMD_CREATE_PD, NULL, 0, pdn);
}

static void ohca_fill_mkey(const struct ohca_create_mkey_params *params,
			   struct ohca_cmd_create_mkey_in *in)
{
	*in = (struct ohca_cmd_create_mkey_in) {
		.start = cpu_to_le64(params->start),
		.length = cpu_to_le64(params->length),
		.pd = cpu_to_le32(params->pdn),
		.access = cpu_to_le32(params->access),
		.flags = params->flags,
		.consumer_key = params->consumer_key,
		.type = params->type,
		.list_entry_max = cpu_to_le32(params->list_entry_max),
	};
	if (params->pages)
		in->pages = *params->pages;
}

int ohca_cmd_create_mkey(struct ohca_dev *dev, const struct ohca_create_mkey_params *params,
			 u32 *key)
{
	struct ohca_cmd_create_mkey_out out;
	struct ohca_cmd_create_mkey_in in;
	int ret;

	ohca_fill_mkey(params, &in);
	ret = ohca_cmd_exec(dev, OHCA_CMD_CREATE_MKEY, &in, sizeof(in), &out, sizeof(out));
	if (!ret)
		*key = le32_to_cpu(out.key);
	return ret;
}

/* @key: as it is, then as it is from now on. */
int ohca_cmd_modify_mkey(struct ohca_dev *dev, const struct ohca_create_mkey_params *params,
			 u32 mask, u32 *key)
{
	struct ohca_cmd_modify_mkey_in in = {
		.key = cpu_to_le32(*key),
		.mask = cpu_to_le32(mask),
	};
	struct ohca_cmd_create_mkey_out out;
	int ret;

	ohca_fill_mkey(params, &in.region);
	ret = ohca_cmd_replace(dev, OHCA_CMD_MODIFY_MKEY, &in, sizeof(in), &out, sizeof(out));
	if (!ret)
		*key = le32_to_cpu(out.key);
	return ret;
}

int ohca_cmd_create_xrcd(struct ohca_dev *dev, u32 *xrcdn)
{
	return ohca_cmd_create(dev, OHCA_CMD_CREATE_XRCD, NULL, 0, xrcdn);
}

int ohca_cmd_create_srq(struct ohca_dev *dev, const struct ohca_create_srq_params *params,
			u32 *srqn)
{
	struct ohca_cmd_create_srq_in in = {
		.pages = *params->pages,
		.pd = cpu_to_le32(params->pdn),
		.xrcd = cpu_to_le32(params->xrcdn),
		.cq = cpu_to_le32(params->cqn),
		.ring_offset = cpu_to_le32(params->ring_offset),
		.log_depth = params->log_depth,
		.log_stride = params->log_stride,
		.limit = cpu_to_le32(params->limit),
	};

	return ohca_cmd_create(dev, OHCA_CMD_CREATE_SRQ, &in, sizeof(in), srqn);
}

int ohca_cmd_modify_srq(struct ohca_dev *dev, u32 srqn, u32 limit)
{
	struct ohca_cmd_modify_srq_in in = {
		.srqn = cpu_to_le32(srqn),
		.limit = cpu_to_le32(limit),
	};

	return ohca_cmd_exec(dev, OHCA_CMD_MODIFY_SRQ, &in, sizeof(in), NULL, 0);
}

int ohca_cmd_query_srq(struct ohca_dev *dev, u32 srqn, u32 *limit)
{
	struct ohca_cmd_handle in = {
		.handle = cpu_to_le32(srqn),
	};
	struct ohca_cmd_query_srq_out out;
	int ret;

	ret = ohca_cmd_exec(dev, OHCA_CMD_QUERY_SRQ, &in, sizeof(in), &out, sizeof(out));
	if (!ret)
		*limit = le32_to_cpu(out.limit);
	return ret;
}

int ohca_cmd_resize_srq(struct ohca_dev *dev, const struct ohca_resize_srq_params *params)
{
	struct ohca_cmd_resize_srq_in in = {
		.pages = *params->pages,
		.srqn = cpu_to_le32(params->srqn),
		.ring_offset = cpu_to_le32(params->ring_offset),
		.log_depth = params->log_depth,
	};

	return ohca_cmd_replace(dev, OHCA_CMD_RESIZE_SRQ, &in, sizeof(in), NULL, 0);
}

int ohca_cmd_create_cq(struct ohca_dev *dev, const struct ohca_create_cq_params *params,
		       u32 *cqn)
{
	struct ohca_cmd_create_cq_in in = {
		.pages = *params->pages,
		.eq = cpu_to_le32(params->eq),
		.log_depth = params->log_depth,
		.flags = params->flags,
	};

	return ohca_cmd_create(dev, OHCA_CMD_CREATE_CQ, &in, sizeof(in), cqn);
}

int ohca_cmd_modify_cq(struct ohca_dev *dev, u32 cqn, u16 count, u16 period_us)
{
	struct ohca_cmd_modify_cq_in in = {
		.cqn = cpu_to_le32(cqn),
		.moderation_count = cpu_to_le16(count),
		.moderation_period_us = cpu_to_le16(period_us),
	};

	return ohca_cmd_exec(dev, OHCA_CMD_MODIFY_CQ, &in, sizeof(in), NULL, 0);
}

int ohca_cmd_resize_cq(struct ohca_dev *dev, u32 cqn, const struct ohca_page_list *pages,
		       u8 log_depth)
{
	struct ohca_cmd_resize_cq_in in = {
		.pages = *pages,
		.cqn = cpu_to_le32(cqn),
		.log_depth = log_depth,
	};

	return ohca_cmd_replace(dev, OHCA_CMD_RESIZE_CQ, &in, sizeof(in), NULL, 0);
}

void ohca_fill_create_qp(const struct ohca_create_qp_params *params,
			 struct ohca_cmd_create_qp_in *in)
{
	*in = (struct ohca_cmd_create_qp_in) {
		.pd = cpu_to_le32(params->pdn),
		.send_cq = cpu_to_le32(params->send_cqn),
		.recv_cq = cpu_to_le32(params->recv_cqn),
		.uar = cpu_to_le32(params->uar),
		.sq_offset = cpu_to_le32(params->sq_offset),
		.rq_offset = cpu_to_le32(params->rq_offset),
		.type = params->type,
		.flags = params->flags,
		.log_sq_depth = params->log_sq_depth,
		.log_rq_depth = params->log_rq_depth,
		.log_sq_stride = params->log_sq_stride,
		.log_rq_stride = params->log_rq_stride,
		.srq = cpu_to_le32(params->srqn),
		.xrcd = cpu_to_le32(params->xrcdn),
	};

	if (params->pages)
		in->pages = *params->pages;
}

int ohca_cmd_create_qp(struct ohca_dev *dev, const struct ohca_cmd_create_qp_in *in,
		       struct ohca_cmd_create_qp_out *out)
{
	return ohca_cmd_exec(dev, OHCA_CMD_CREATE_QP, in, sizeof(*in), out, sizeof(*out));
}

int ohca_cmd_modify_qp(struct ohca_dev *dev, const struct ohca_cmd_modify_qp_in *in)
{
	return ohca_cmd_exec(dev, OHCA_CMD_MODIFY_QP, in, sizeof(*in), NULL, 0);
}

int ohca_cmd_query_qp(struct ohca_dev *dev, u32 qpn, struct ohca_cmd_query_qp_out *out)
{
	struct ohca_cmd_handle in = {
		.handle = cpu_to_le32(qpn),
	};

	return ohca_cmd_exec(dev, OHCA_CMD_QUERY_QP, &in, sizeof(in), out, sizeof(*out));
}

/* ATTACH_MULTICAST or DETACH_MULTICAST. */
int ohca_cmd_multicast(struct ohca_dev *dev, u16 opcode, u32 qpn, const u8 *gid)
{
	struct ohca_cmd_multicast_in in = {
		.qpn = cpu_to_le32(qpn),
	};

	memcpy(in.gid, gid, sizeof(in.gid));
	return ohca_cmd_exec(dev, opcode, &in, sizeof(in), NULL, 0);
}

/*
 * What to think of the @result of a DESTROY command: -EBUSY, or 0, and the device
 * does not use the object's memory any more.  Sleeps.
 */
int ohca_cmd_destroyed(struct ohca_dev *dev, u16 opcode, u32 handle, int result)
{
	if (!result || result == -EBUSY)
		return result;
	if (result == -EINVAL) {
		/* No such object, says the device: then it will not use it either. */
		dev_err_ratelimited(ohca_device(dev), "DESTROY %#x: %#x is not known\n",
				    opcode, handle);
		return 0;
	}
	if (result != -EIO && result != -ETIMEDOUT)
		ohca_fail(dev, "refused a DESTROY command");
	ohca_fail(dev, "no answer to a DESTROY command");
	ohca_wait_quiesced(dev);
	return 0;
}

int ohca_cmd_destroy(struct ohca_dev *dev, u16 opcode, u32 handle)
{
	struct ohca_cmd_handle in = {
		.handle = cpu_to_le32(handle),
	};
	int ret = ohca_cmd_exec(dev, opcode, &in, sizeof(in), NULL, 0);

	return ohca_cmd_destroyed(dev, opcode, handle, ret);
}
