// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The fake device of the KUnit tests: its command processor. */

#include <linux/io.h>

#include "fake_device.h"
#include "fake_commands.h"

/* Handles 0 and 1 have meanings of their own. */
#define OHCA_FAKE_FIRST_HANDLE	2

/* There is no IOMMU. */
static void *ohca_fake_memory(u64 address)
{
	return phys_to_virt(address);
}

static u64 ohca_fake_address(const struct ohca_fake_device *fake, unsigned int offset)
{
	u32 low = fake->registers[offset / sizeof(u32)];

	return low | (u64)fake->registers[offset / sizeof(u32) + 1] << 32;
}

static struct ohca_cmdq_record *ohca_fake_record(const struct ohca_fake_device *fake)
{
	return ohca_fake_memory(ohca_fake_address(fake, OHCA_REGS_CMDQ_RECORD_ADDR_OFF));
}

static u32 ohca_fake_depth(const struct ohca_fake_device *fake)
{
	return 1U << fake->registers[OHCA_REGS_CMDQ_LOG_DEPTH_OFF / sizeof(u32)];
}

static u32 ohca_fake_create(struct ohca_fake_device *fake, enum ohca_fake_kind kind)
{
	u32 handle;

	/* A number that has become free is used again as late as possible. */
	do {
		handle = OHCA_FAKE_FIRST_HANDLE + fake->next_handle[kind]++ %
			 (OHCA_FAKE_HANDLES - OHCA_FAKE_FIRST_HANDLE);
	} while (test_and_set_bit(handle, fake->objects[kind]));
	return handle;
}

static u8 ohca_fake_create_plain(struct ohca_fake_device *fake, enum ohca_fake_kind kind, void *out)
{
	*(struct ohca_cmd_handle *)out = (struct ohca_cmd_handle) {
		.handle = cpu_to_le32(ohca_fake_create(fake, kind)),
	};
	return OHCA_CMD_STATUS_OK;
}

static u8 ohca_fake_destroy(struct ohca_fake_device *fake, enum ohca_fake_kind kind, const void *in)
{
	u32 handle = le32_to_cpu(((const struct ohca_cmd_handle *)in)->handle);

	if (kind == OHCA_FAKE_MKEY)
		handle >>= 8;
	if (handle >= OHCA_FAKE_HANDLES || !test_and_clear_bit(handle, fake->objects[kind]))
		return OHCA_CMD_STATUS_BAD_HANDLE;
	return OHCA_CMD_STATUS_OK;
}

static u8 ohca_fake_create_eq(struct ohca_fake_device *fake, const struct ohca_cmd_create_eq_in *in,
			      void *out)
{
	u16 vector = le16_to_cpu(in->vector);
	void *buffer = ohca_fake_memory(le64_to_cpu(in->pages.address) +
					le64_to_cpu(in->pages.first_page_offset));

	if (vector >= OHCA_FAKE_VECTORS)
		return OHCA_CMD_STATUS_BAD_PARAMETER;
	fake->eqs[vector].record = buffer;
	fake->eqs[vector].ring = buffer + OHCA_EQ_RING_OFFSET;
	fake->eqs[vector].depth = 1U << in->log_depth;
	fake->eqs[vector].producer = 0;
	return ohca_fake_create_plain(fake, OHCA_FAKE_EQ, out);
}

static u8 ohca_fake_create_mkey(struct ohca_fake_device *fake,
				const struct ohca_cmd_create_mkey_in *in,
				struct ohca_cmd_create_mkey_out *out)
{
	u32 index = ohca_fake_create(fake, OHCA_FAKE_MKEY);

	fake->create_mkey = *in;
	fake->consumer_keys[index] = in->consumer_key;
	*out = (struct ohca_cmd_create_mkey_out) {
		.key = cpu_to_le32(index << 8 | in->consumer_key),
	};
	return OHCA_CMD_STATUS_OK;
}

static u8 ohca_fake_create_qp(struct ohca_fake_device *fake, const struct ohca_cmd_create_qp_in *in,
			      struct ohca_cmd_create_qp_out *out)
{
	fake->create_qp = *in;
	*out = (struct ohca_cmd_create_qp_out) {
		.qpn = cpu_to_le32(ohca_fake_create(fake, OHCA_FAKE_QP)),
		.uar_slot = cpu_to_le32(1),
	};
	return OHCA_CMD_STATUS_OK;
}

static u8 ohca_fake_query_device(struct ohca_fake_device *fake,
				 struct ohca_cmd_query_device_out *out)
{
	*out = (struct ohca_cmd_query_device_out) {
		.features = cpu_to_le64(fake->features),
		.max_mr_size = cpu_to_le64(SZ_1G),
		.page_size_mask = cpu_to_le64(GENMASK_ULL(30, 12)),
		.max_qp = cpu_to_le32(OHCA_FAKE_HANDLES),
		.max_cq = cpu_to_le32(OHCA_FAKE_HANDLES),
		.max_mkey = cpu_to_le32(OHCA_FAKE_HANDLES),
		.max_pd = cpu_to_le32(OHCA_FAKE_HANDLES),
		.max_srq = cpu_to_le32(OHCA_FAKE_HANDLES),
		.max_xrcd = cpu_to_le32(OHCA_FAKE_HANDLES),
		.max_eq = cpu_to_le32(OHCA_FAKE_VECTORS),
		.max_uar = cpu_to_le32(OHCA_FAKE_HANDLES),
		.max_gid = cpu_to_le32(OHCA_FAKE_GIDS),
		.max_list_entries = cpu_to_le32(64),
		.max_message_size = cpu_to_le32(SZ_1G),
		.max_inline = cpu_to_le32(512),
		.core_clock_khz = cpu_to_le32(1000000),
		.firmware_version = cpu_to_le64(1ULL << 32),
		.log_max_sq_depth = 12,
		.log_max_rq_depth = 12,
		.log_max_cq_depth = 12,
		.log_max_eq_depth = 8,
		.log_max_srq_depth = 12,
		.max_send_sge = 30,
		.max_recv_sge = 30,
		.max_srq_sge = 30,
		.max_read_atomic_initiator = 16,
		.max_read_atomic_responder = 16,
		.counter_count = cpu_to_le32(OHCA_COUNTER_COUNT),
	};
	if (fake->boasting)
		memset(out, 0xff, sizeof(*out));
	return OHCA_CMD_STATUS_OK;
}

static u8 ohca_fake_modify_qp(struct ohca_fake_device *fake,
			      const struct ohca_cmd_modify_qp_in *in)
{
	fake->modify_qp = *in;
	if (in->mask & cpu_to_le32(OHCA_QP_ATTR_STATE))
		fake->qp.state = in->attributes.state;
	return OHCA_CMD_STATUS_OK;
}

static u8 ohca_fake_query_qp(struct ohca_fake_device *fake, struct ohca_cmd_query_qp_out *out)
{
	*out = (struct ohca_cmd_query_qp_out) {
		.attributes = fake->qp,
	};
	return OHCA_CMD_STATUS_OK;
}

static u8 ohca_fake_set_gid(struct ohca_fake_device *fake, const struct ohca_cmd_set_gid_in *in)
{
	u32 index = le32_to_cpu(in->index);

	if (index >= OHCA_FAKE_GIDS)
		return OHCA_CMD_STATUS_BAD_PARAMETER;
	fake->gids[index] = *in;
	return OHCA_CMD_STATUS_OK;
}

static u8 ohca_fake_execute_create(struct ohca_fake_device *fake, u16 opcode, const void *in,
				   void *out)
{
	switch (opcode) {
	case OHCA_CMD_CREATE_EQ:
		return ohca_fake_create_eq(fake, in, out);
	case OHCA_CMD_CREATE_UAR:
		return ohca_fake_create_plain(fake, OHCA_FAKE_UAR, out);
	case OHCA_CMD_CREATE_PD:
		return ohca_fake_create_plain(fake, OHCA_FAKE_PD, out);
	case OHCA_CMD_CREATE_MKEY:
		return ohca_fake_create_mkey(fake, in, out);
	case OHCA_CMD_CREATE_CQ:
		return ohca_fake_create_plain(fake, OHCA_FAKE_CQ, out);
	case OHCA_CMD_CREATE_QP:
		return ohca_fake_create_qp(fake, in, out);
	case OHCA_CMD_CREATE_SRQ:
		return ohca_fake_create_plain(fake, OHCA_FAKE_SRQ, out);
	case OHCA_CMD_CREATE_XRCD:
		return ohca_fake_create_plain(fake, OHCA_FAKE_XRCD, out);
	default:
		return OHCA_CMD_STATUS_BAD_OPCODE;
	}
}

static u8 ohca_fake_execute_destroy(struct ohca_fake_device *fake, u16 opcode, const void *in)
{
	switch (opcode) {
	case OHCA_CMD_DESTROY_EQ:
		return ohca_fake_destroy(fake, OHCA_FAKE_EQ, in);
	case OHCA_CMD_DESTROY_UAR:
		return ohca_fake_destroy(fake, OHCA_FAKE_UAR, in);
	case OHCA_CMD_DESTROY_PD:
		return ohca_fake_destroy(fake, OHCA_FAKE_PD, in);
	case OHCA_CMD_DESTROY_MKEY:
		return ohca_fake_destroy(fake, OHCA_FAKE_MKEY, in);
	case OHCA_CMD_DESTROY_CQ:
		return ohca_fake_destroy(fake, OHCA_FAKE_CQ, in);
	case OHCA_CMD_DESTROY_QP:
		return ohca_fake_destroy(fake, OHCA_FAKE_QP, in);
	case OHCA_CMD_DESTROY_SRQ:
		return ohca_fake_destroy(fake, OHCA_FAKE_SRQ, in);
	case OHCA_CMD_DESTROY_XRCD:
		return ohca_fake_destroy(fake, OHCA_FAKE_XRCD, in);
	default:
		return OHCA_CMD_STATUS_BAD_OPCODE;
	}
}

static u8 ohca_fake_execute(struct ohca_fake_device *fake, u16 opcode, const void *in, void *out)
{
	u8 status;

	switch (opcode) {
	case OHCA_CMD_NOP:
	case OHCA_CMD_SET_PORT:
	case OHCA_CMD_MODIFY_SRQ:
	case OHCA_CMD_MODIFY_CQ:
	case OHCA_CMD_RESIZE_CQ:
	case OHCA_CMD_RESIZE_SRQ:
	case OHCA_CMD_RESET_SRQ:
	case OHCA_CMD_INVALIDATE_MKEY:
		return OHCA_CMD_STATUS_OK;
	case OHCA_CMD_QUERY_DEVICE:
		return ohca_fake_query_device(fake, out);
	case OHCA_CMD_QUERY_COUNTERS:
		memset(out, 0, OHCA_COUNTER_COUNT * sizeof(__le64));
		return OHCA_CMD_STATUS_OK;
	case OHCA_CMD_SET_GID:
		return ohca_fake_set_gid(fake, in);
	case OHCA_CMD_MODIFY_QP:
	case OHCA_CMD_CONNECT_QP:
		return ohca_fake_modify_qp(fake, in);
	case OHCA_CMD_DISCONNECT_QP:
		fake->qp.state = OHCA_QP_STATE_ERR;
		return OHCA_CMD_STATUS_OK;
	case OHCA_CMD_QUERY_QP:
		return ohca_fake_query_qp(fake, out);
	}
	status = ohca_fake_execute_create(fake, opcode, in, out);
	if (status == OHCA_CMD_STATUS_BAD_OPCODE)
		status = ohca_fake_execute_destroy(fake, opcode, in);
	return status;
}

static void ohca_fake_complete_locked(struct ohca_fake_device *fake, u16 slot, u32 generation,
				      u8 status)
{
	struct ohca_cmdq_record *record = ohca_fake_record(fake);
	struct ohca_cmd_completion *ring =
		ohca_fake_memory(ohca_fake_address(fake, OHCA_REGS_CMDQ_CQ_ADDR_OFF));
	u32 depth = ohca_fake_depth(fake);
	u32 index = fake->completed++;
	struct ohca_cmd_completion *c = &ring[index & (depth - 1)];

	c->slot = cpu_to_le16(slot);
	c->generation = cpu_to_le32(generation);
	c->status = status;
	c->detail = cpu_to_le32(fake->detail);
	/* The phase, after all else. */
	dma_wmb();
	WRITE_ONCE(c->owner, !(index / depth & 1));
	if (record->interrupt_arm) {
		record->interrupt_arm = 0;
		ohca_fake_raise_locked(fake, OHCA_CMD_VECTOR);
	}
}

static void ohca_fake_remove_locked(struct ohca_fake_device *fake, u32 position)
{
	fake->count--;
	memmove(&fake->commands[position], &fake->commands[position + 1],
		(fake->count - position) * sizeof(fake->commands[0]));
}

static void ohca_fake_answer_locked(struct ohca_fake_device *fake, u32 position)
{
	struct ohca_fake_command *command = &fake->commands[position];
	struct ohca_cmd_entry entry = command->entry;
	u16 opcode = le16_to_cpu(entry.opcode);
	u8 status;

	status = ohca_fake_execute(fake, opcode, command->in,
				   ohca_fake_memory(le64_to_cpu(entry.output_address)));
	if (status == OHCA_CMD_STATUS_OK && opcode < ARRAY_SIZE(fake->handled))
		fake->handled[opcode]++;
	ohca_fake_remove_locked(fake, position);
	ohca_fake_complete_locked(fake, le16_to_cpu(entry.slot), le32_to_cpu(entry.generation),
				  status);
}

/* The doorbell has been rung. */
void ohca_fake_scan_locked(struct ohca_fake_device *fake)
{
	struct ohca_cmd_entry *ring;
	u32 mask;

	if (fake->status != (OHCA_STATUS_READY | OHCA_STATUS_ENABLED))
		return;
	fake->kicks++;
	ring = ohca_fake_memory(ohca_fake_address(fake, OHCA_REGS_CMDQ_SQ_ADDR_OFF));
	mask = ohca_fake_depth(fake) - 1;
	while (fake->fetched != le32_to_cpu(READ_ONCE(ohca_fake_record(fake)->producer))) {
		struct ohca_fake_command *command;
		struct ohca_cmd_entry *entry = &ring[fake->fetched++ & mask];

		/* The driver never has more under way than there are slots. */
		if (WARN_ON(fake->count == OHCA_FAKE_COMMANDS))
			return;
		command = &fake->commands[fake->count++];
		command->entry = *entry;
		memcpy(command->in, ohca_fake_memory(le64_to_cpu(entry->input_address)),
		       le32_to_cpu(entry->input_length));
		if (!fake->held)
			ohca_fake_answer_locked(fake, fake->count - 1);
	}
}

void ohca_fake_reset_locked(struct ohca_fake_device *fake)
{
	fake->status = OHCA_STATUS_READY;
	fake->fail_reason = OHCA_FAIL_NONE;
	fake->resets++;
	fake->fetched = 0;
	fake->completed = 0;
	fake->count = 0;
	memset(fake->objects, 0, sizeof(fake->objects));
	memset(fake->uars, 0, OHCA_FAKE_HANDLES * sizeof(*fake->uars));
	/* It is always asleep, so that every doorbell is followed by a kick. */
	fake->uars[0].need_wakeup = cpu_to_le32(1);
}

void ohca_fake_answer(struct ohca_fake_device *fake, u32 position)
{
	unsigned long flags;

	spin_lock_irqsave(&fake->lock, flags);
	if (!WARN_ON(position >= fake->count))
		ohca_fake_answer_locked(fake, position);
	spin_unlock_irqrestore(&fake->lock, flags);
}

void ohca_fake_refuse(struct ohca_fake_device *fake, u32 position, u8 status)
{
	struct ohca_cmd_entry entry;
	unsigned long flags;

	spin_lock_irqsave(&fake->lock, flags);
	if (!WARN_ON(position >= fake->count)) {
		entry = fake->commands[position].entry;
		ohca_fake_remove_locked(fake, position);
		ohca_fake_complete_locked(fake, le16_to_cpu(entry.slot),
					  le32_to_cpu(entry.generation), status);
	}
	spin_unlock_irqrestore(&fake->lock, flags);
}

void ohca_fake_forget(struct ohca_fake_device *fake, u32 position)
{
	unsigned long flags;

	spin_lock_irqsave(&fake->lock, flags);
	if (!WARN_ON(position >= fake->count))
		ohca_fake_remove_locked(fake, position);
	spin_unlock_irqrestore(&fake->lock, flags);
}

void ohca_fake_answer_all(struct ohca_fake_device *fake)
{
	while (READ_ONCE(fake->count))
		ohca_fake_answer(fake, 0);
}

void ohca_fake_complete(struct ohca_fake_device *fake, u16 slot, u32 generation, u8 status)
{
	unsigned long flags;

	spin_lock_irqsave(&fake->lock, flags);
	ohca_fake_complete_locked(fake, slot, generation, status);
	spin_unlock_irqrestore(&fake->lock, flags);
}

u16 ohca_fake_opcode(struct ohca_fake_device *fake, u32 position)
{
	return position < fake->count ? le16_to_cpu(fake->commands[position].entry.opcode) : 0;
}

u32 ohca_fake_objects(struct ohca_fake_device *fake, enum ohca_fake_kind kind)
{
	return bitmap_weight(fake->objects[kind], OHCA_FAKE_HANDLES);
}
