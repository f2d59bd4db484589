// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Nothing but the size and offset of every field that others see.  Whoever
 * changes one of these changes the contract.
 */

#include <linux/build_bug.h>
#include <linux/stddef.h>

#include "ohca.h"

#define OHCA_SIZE(name, size)						\
	BUILD_BUG_ON(sizeof(struct name) != (size))

#define OHCA_OFFSET(name, field, offset)				\
	BUILD_BUG_ON(offsetof(struct name, field) != (offset))

#define OHCA_WIDTH(name, field, size)					\
	BUILD_BUG_ON(sizeof_field(struct name, field) != (size))

/* ohca_hw_io.h: Data path. */

static void ohca_check_uar(void)
{
	OHCA_SIZE(ohca_uar, 4096);
	OHCA_OFFSET(ohca_uar, need_wakeup, 0);
	OHCA_WIDTH(ohca_uar, need_wakeup, 4);
	OHCA_OFFSET(ohca_uar, device_state, 4);
	OHCA_WIDTH(ohca_uar, device_state, 4);
	OHCA_OFFSET(ohca_uar, reserved_40, 8);
	OHCA_WIDTH(ohca_uar, reserved_40, 56);
	OHCA_OFFSET(ohca_uar, summary, 64);
	OHCA_WIDTH(ohca_uar, summary, 8);
	OHCA_OFFSET(ohca_uar, reserved_240, 72);
	OHCA_WIDTH(ohca_uar, reserved_240, 440);
	OHCA_OFFSET(ohca_uar, notify, 512);
	OHCA_WIDTH(ohca_uar, notify, 512);
	OHCA_OFFSET(ohca_uar, reserved_2000, 1024);
	OHCA_WIDTH(ohca_uar, reserved_2000, 3072);
}

static void ohca_check_qp_record(void)
{
	OHCA_SIZE(ohca_qp_record, 64);
	OHCA_OFFSET(ohca_qp_record, sq_producer, 0);
	OHCA_WIDTH(ohca_qp_record, sq_producer, 4);
	OHCA_OFFSET(ohca_qp_record, rq_producer, 4);
	OHCA_WIDTH(ohca_qp_record, rq_producer, 4);
	OHCA_OFFSET(ohca_qp_record, reserved_40, 8);
	OHCA_WIDTH(ohca_qp_record, reserved_40, 56);
}

static void ohca_check_cq_record(void)
{
	OHCA_SIZE(ohca_cq_record, 64);
	OHCA_OFFSET(ohca_cq_record, consumer, 0);
	OHCA_WIDTH(ohca_cq_record, consumer, 4);
	OHCA_OFFSET(ohca_cq_record, arm, 4);
	OHCA_WIDTH(ohca_cq_record, arm, 4);
	OHCA_OFFSET(ohca_cq_record, fired, 8);
	OHCA_WIDTH(ohca_cq_record, fired, 4);
	OHCA_OFFSET(ohca_cq_record, reserved_60, 12);
	OHCA_WIDTH(ohca_cq_record, reserved_60, 52);
}

static void ohca_check_sge(void)
{
	OHCA_SIZE(ohca_sge, 16);
	OHCA_OFFSET(ohca_sge, address, 0);
	OHCA_WIDTH(ohca_sge, address, 8);
	OHCA_OFFSET(ohca_sge, length, 8);
	OHCA_WIDTH(ohca_sge, length, 4);
	OHCA_OFFSET(ohca_sge, lkey, 12);
	OHCA_WIDTH(ohca_sge, lkey, 4);
}

static void ohca_check_sq_wqe(void)
{
	OHCA_SIZE(ohca_sq_wqe, 32);
	OHCA_OFFSET(ohca_sq_wqe, opcode, 0);
	OHCA_WIDTH(ohca_sq_wqe, opcode, 1);
	OHCA_OFFSET(ohca_sq_wqe, flags, 1);
	OHCA_WIDTH(ohca_sq_wqe, flags, 1);
	OHCA_OFFSET(ohca_sq_wqe, num_sge, 2);
	OHCA_WIDTH(ohca_sq_wqe, num_sge, 1);
	OHCA_OFFSET(ohca_sq_wqe, reserved_18, 3);
	OHCA_WIDTH(ohca_sq_wqe, reserved_18, 1);
	OHCA_OFFSET(ohca_sq_wqe, inline_length, 4);
	OHCA_WIDTH(ohca_sq_wqe, inline_length, 4);
	OHCA_OFFSET(ohca_sq_wqe, immediate, 8);
	OHCA_WIDTH(ohca_sq_wqe, immediate, 4);
	OHCA_OFFSET(ohca_sq_wqe, invalidate_rkey, 12);
	OHCA_WIDTH(ohca_sq_wqe, invalidate_rkey, 4);
	OHCA_OFFSET(ohca_sq_wqe, remote_address, 16);
	OHCA_WIDTH(ohca_sq_wqe, remote_address, 8);
	OHCA_OFFSET(ohca_sq_wqe, rkey, 24);
	OHCA_WIDTH(ohca_sq_wqe, rkey, 4);
	OHCA_OFFSET(ohca_sq_wqe, reserved_e0, 28);
	OHCA_WIDTH(ohca_sq_wqe, reserved_e0, 4);
}

static void ohca_check_wqe_atomic(void)
{
	OHCA_SIZE(ohca_wqe_atomic, 16);
	OHCA_OFFSET(ohca_wqe_atomic, operand, 0);
	OHCA_WIDTH(ohca_wqe_atomic, operand, 8);
	OHCA_OFFSET(ohca_wqe_atomic, compare, 8);
	OHCA_WIDTH(ohca_wqe_atomic, compare, 8);
}

static void ohca_check_rq_wqe(void)
{
	OHCA_SIZE(ohca_rq_wqe, 16);
	OHCA_OFFSET(ohca_rq_wqe, num_sge, 0);
	OHCA_WIDTH(ohca_rq_wqe, num_sge, 1);
	OHCA_OFFSET(ohca_rq_wqe, reserved_8, 1);
	OHCA_WIDTH(ohca_rq_wqe, reserved_8, 3);
	OHCA_OFFSET(ohca_rq_wqe, tag, 4);
	OHCA_WIDTH(ohca_rq_wqe, tag, 4);
	OHCA_OFFSET(ohca_rq_wqe, reserved_40, 8);
	OHCA_WIDTH(ohca_rq_wqe, reserved_40, 8);
}

static void ohca_check_cqe(void)
{
	OHCA_SIZE(ohca_cqe, 64);
	OHCA_OFFSET(ohca_cqe, timestamp_ns, 0);
	OHCA_WIDTH(ohca_cqe, timestamp_ns, 8);
	OHCA_OFFSET(ohca_cqe, qpn, 8);
	OHCA_WIDTH(ohca_cqe, qpn, 4);
	OHCA_OFFSET(ohca_cqe, wqe_index, 12);
	OHCA_WIDTH(ohca_cqe, wqe_index, 4);
	OHCA_OFFSET(ohca_cqe, byte_length, 16);
	OHCA_WIDTH(ohca_cqe, byte_length, 4);
	OHCA_OFFSET(ohca_cqe, immediate, 20);
	OHCA_WIDTH(ohca_cqe, immediate, 4);
	OHCA_OFFSET(ohca_cqe, invalidated_rkey, 20);
	OHCA_WIDTH(ohca_cqe, invalidated_rkey, 4);
	OHCA_OFFSET(ohca_cqe, src_qp, 24);
	OHCA_WIDTH(ohca_cqe, src_qp, 4);
	OHCA_OFFSET(ohca_cqe, status, 28);
	OHCA_WIDTH(ohca_cqe, status, 1);
	OHCA_OFFSET(ohca_cqe, opcode, 29);
	OHCA_WIDTH(ohca_cqe, opcode, 1);
	OHCA_OFFSET(ohca_cqe, flags, 30);
	OHCA_WIDTH(ohca_cqe, flags, 1);
	OHCA_OFFSET(ohca_cqe, reserved_f8, 31);
	OHCA_WIDTH(ohca_cqe, reserved_f8, 1);
	OHCA_OFFSET(ohca_cqe, vendor_error, 32);
	OHCA_WIDTH(ohca_cqe, vendor_error, 4);
	OHCA_OFFSET(ohca_cqe, reserved_120, 36);
	OHCA_WIDTH(ohca_cqe, reserved_120, 27);
	OHCA_OFFSET(ohca_cqe, owner, 63);
	OHCA_WIDTH(ohca_cqe, owner, 1);
}

/* ohca_hw_cmd.h: Commands and event queues. */

static void ohca_check_cmdq_record(void)
{
	OHCA_SIZE(ohca_cmdq_record, 64);
	OHCA_OFFSET(ohca_cmdq_record, producer, 0);
	OHCA_WIDTH(ohca_cmdq_record, producer, 4);
	OHCA_OFFSET(ohca_cmdq_record, completion_consumer, 4);
	OHCA_WIDTH(ohca_cmdq_record, completion_consumer, 4);
	OHCA_OFFSET(ohca_cmdq_record, interrupt_arm, 8);
	OHCA_WIDTH(ohca_cmdq_record, interrupt_arm, 4);
	OHCA_OFFSET(ohca_cmdq_record, reserved_60, 12);
	OHCA_WIDTH(ohca_cmdq_record, reserved_60, 52);
}

static void ohca_check_cmd_entry(void)
{
	OHCA_SIZE(ohca_cmd_entry, 64);
	OHCA_OFFSET(ohca_cmd_entry, opcode, 0);
	OHCA_WIDTH(ohca_cmd_entry, opcode, 2);
	OHCA_OFFSET(ohca_cmd_entry, slot, 2);
	OHCA_WIDTH(ohca_cmd_entry, slot, 2);
	OHCA_OFFSET(ohca_cmd_entry, generation, 4);
	OHCA_WIDTH(ohca_cmd_entry, generation, 4);
	OHCA_OFFSET(ohca_cmd_entry, input_address, 8);
	OHCA_WIDTH(ohca_cmd_entry, input_address, 8);
	OHCA_OFFSET(ohca_cmd_entry, output_address, 16);
	OHCA_WIDTH(ohca_cmd_entry, output_address, 8);
	OHCA_OFFSET(ohca_cmd_entry, input_length, 24);
	OHCA_WIDTH(ohca_cmd_entry, input_length, 4);
	OHCA_OFFSET(ohca_cmd_entry, output_length, 28);
	OHCA_WIDTH(ohca_cmd_entry, output_length, 4);
	OHCA_OFFSET(ohca_cmd_entry, reserved_100, 32);
	OHCA_WIDTH(ohca_cmd_entry, reserved_100, 32);
}

static void ohca_check_cmd_completion(void)
{
	OHCA_SIZE(ohca_cmd_completion, 16);
	OHCA_OFFSET(ohca_cmd_completion, slot, 0);
	OHCA_WIDTH(ohca_cmd_completion, slot, 2);
	OHCA_OFFSET(ohca_cmd_completion, status, 2);
	OHCA_WIDTH(ohca_cmd_completion, status, 1);
	OHCA_OFFSET(ohca_cmd_completion, reserved_18, 3);
	OHCA_WIDTH(ohca_cmd_completion, reserved_18, 1);
	OHCA_OFFSET(ohca_cmd_completion, generation, 4);
	OHCA_WIDTH(ohca_cmd_completion, generation, 4);
	OHCA_OFFSET(ohca_cmd_completion, detail, 8);
	OHCA_WIDTH(ohca_cmd_completion, detail, 4);
	OHCA_OFFSET(ohca_cmd_completion, reserved_60, 12);
	OHCA_WIDTH(ohca_cmd_completion, reserved_60, 3);
	OHCA_OFFSET(ohca_cmd_completion, owner, 15);
	OHCA_WIDTH(ohca_cmd_completion, owner, 1);
}

static void ohca_check_page_list(void)
{
	OHCA_SIZE(ohca_page_list, 24);
	OHCA_OFFSET(ohca_page_list, address, 0);
	OHCA_WIDTH(ohca_page_list, address, 8);
	OHCA_OFFSET(ohca_page_list, first_page_offset, 8);
	OHCA_WIDTH(ohca_page_list, first_page_offset, 8);
	OHCA_OFFSET(ohca_page_list, page_count, 16);
	OHCA_WIDTH(ohca_page_list, page_count, 4);
	OHCA_OFFSET(ohca_page_list, log_page_size, 20);
	OHCA_WIDTH(ohca_page_list, log_page_size, 1);
	OHCA_OFFSET(ohca_page_list, levels, 21);
	OHCA_WIDTH(ohca_page_list, levels, 1);
	OHCA_OFFSET(ohca_page_list, reserved_b0, 22);
	OHCA_WIDTH(ohca_page_list, reserved_b0, 2);
}

static void ohca_check_cmd_handle(void)
{
	OHCA_SIZE(ohca_cmd_handle, 8);
	OHCA_OFFSET(ohca_cmd_handle, handle, 0);
	OHCA_WIDTH(ohca_cmd_handle, handle, 4);
	OHCA_OFFSET(ohca_cmd_handle, reserved_20, 4);
	OHCA_WIDTH(ohca_cmd_handle, reserved_20, 4);
}

static void ohca_check_cmd_query_device_out(void)
{
	OHCA_SIZE(ohca_cmd_query_device_out, 120);
	OHCA_OFFSET(ohca_cmd_query_device_out, features, 0);
	OHCA_WIDTH(ohca_cmd_query_device_out, features, 8);
	OHCA_OFFSET(ohca_cmd_query_device_out, max_mr_size, 8);
	OHCA_WIDTH(ohca_cmd_query_device_out, max_mr_size, 8);
	OHCA_OFFSET(ohca_cmd_query_device_out, page_size_mask, 16);
	OHCA_WIDTH(ohca_cmd_query_device_out, page_size_mask, 8);
	OHCA_OFFSET(ohca_cmd_query_device_out, device_clock_ns, 24);
	OHCA_WIDTH(ohca_cmd_query_device_out, device_clock_ns, 8);
	OHCA_OFFSET(ohca_cmd_query_device_out, max_qp, 32);
	OHCA_WIDTH(ohca_cmd_query_device_out, max_qp, 4);
	OHCA_OFFSET(ohca_cmd_query_device_out, max_cq, 36);
	OHCA_WIDTH(ohca_cmd_query_device_out, max_cq, 4);
	OHCA_OFFSET(ohca_cmd_query_device_out, max_mkey, 40);
	OHCA_WIDTH(ohca_cmd_query_device_out, max_mkey, 4);
	OHCA_OFFSET(ohca_cmd_query_device_out, max_pd, 44);
	OHCA_WIDTH(ohca_cmd_query_device_out, max_pd, 4);
	OHCA_OFFSET(ohca_cmd_query_device_out, max_eq, 48);
	OHCA_WIDTH(ohca_cmd_query_device_out, max_eq, 4);
	OHCA_OFFSET(ohca_cmd_query_device_out, max_uar, 52);
	OHCA_WIDTH(ohca_cmd_query_device_out, max_uar, 4);
	OHCA_OFFSET(ohca_cmd_query_device_out, max_gid, 56);
	OHCA_WIDTH(ohca_cmd_query_device_out, max_gid, 4);
	OHCA_OFFSET(ohca_cmd_query_device_out, max_message_size, 60);
	OHCA_WIDTH(ohca_cmd_query_device_out, max_message_size, 4);
	OHCA_OFFSET(ohca_cmd_query_device_out, log_max_sq_depth, 64);
	OHCA_WIDTH(ohca_cmd_query_device_out, log_max_sq_depth, 1);
	OHCA_OFFSET(ohca_cmd_query_device_out, log_max_rq_depth, 65);
	OHCA_WIDTH(ohca_cmd_query_device_out, log_max_rq_depth, 1);
	OHCA_OFFSET(ohca_cmd_query_device_out, log_max_cq_depth, 66);
	OHCA_WIDTH(ohca_cmd_query_device_out, log_max_cq_depth, 1);
	OHCA_OFFSET(ohca_cmd_query_device_out, log_max_eq_depth, 67);
	OHCA_WIDTH(ohca_cmd_query_device_out, log_max_eq_depth, 1);
	OHCA_OFFSET(ohca_cmd_query_device_out, max_send_sge, 68);
	OHCA_WIDTH(ohca_cmd_query_device_out, max_send_sge, 1);
	OHCA_OFFSET(ohca_cmd_query_device_out, max_recv_sge, 69);
	OHCA_WIDTH(ohca_cmd_query_device_out, max_recv_sge, 1);
	OHCA_OFFSET(ohca_cmd_query_device_out, max_read_atomic_initiator, 70);
	OHCA_WIDTH(ohca_cmd_query_device_out, max_read_atomic_initiator, 1);
	OHCA_OFFSET(ohca_cmd_query_device_out, max_read_atomic_responder, 71);
	OHCA_WIDTH(ohca_cmd_query_device_out, max_read_atomic_responder, 1);
	OHCA_OFFSET(ohca_cmd_query_device_out, max_inline, 72);
	OHCA_WIDTH(ohca_cmd_query_device_out, max_inline, 4);
	OHCA_OFFSET(ohca_cmd_query_device_out, core_clock_khz, 76);
	OHCA_WIDTH(ohca_cmd_query_device_out, core_clock_khz, 4);
	OHCA_OFFSET(ohca_cmd_query_device_out, firmware_version, 80);
	OHCA_WIDTH(ohca_cmd_query_device_out, firmware_version, 8);
	OHCA_OFFSET(ohca_cmd_query_device_out, reserved_2c0, 88);
	OHCA_WIDTH(ohca_cmd_query_device_out, reserved_2c0, 28);
	OHCA_OFFSET(ohca_cmd_query_device_out, counter_count, 116);
	OHCA_WIDTH(ohca_cmd_query_device_out, counter_count, 4);
}

static void ohca_check_cmd_set_port_in(void)
{
	OHCA_SIZE(ohca_cmd_set_port_in, 8);
	OHCA_OFFSET(ohca_cmd_set_port_in, active, 0);
	OHCA_WIDTH(ohca_cmd_set_port_in, active, 1);
	OHCA_OFFSET(ohca_cmd_set_port_in, reserved_8, 1);
	OHCA_WIDTH(ohca_cmd_set_port_in, reserved_8, 3);
	OHCA_OFFSET(ohca_cmd_set_port_in, max_mtu, 4);
	OHCA_WIDTH(ohca_cmd_set_port_in, max_mtu, 4);
}

static void ohca_check_cmd_set_gid_in(void)
{
	OHCA_SIZE(ohca_cmd_set_gid_in, 32);
	OHCA_OFFSET(ohca_cmd_set_gid_in, gid, 0);
	OHCA_WIDTH(ohca_cmd_set_gid_in, gid, 16);
	OHCA_OFFSET(ohca_cmd_set_gid_in, index, 16);
	OHCA_WIDTH(ohca_cmd_set_gid_in, index, 4);
	OHCA_OFFSET(ohca_cmd_set_gid_in, mac, 20);
	OHCA_WIDTH(ohca_cmd_set_gid_in, mac, 6);
	OHCA_OFFSET(ohca_cmd_set_gid_in, vlan_id, 26);
	OHCA_WIDTH(ohca_cmd_set_gid_in, vlan_id, 2);
	OHCA_OFFSET(ohca_cmd_set_gid_in, reserved_e0, 28);
	OHCA_WIDTH(ohca_cmd_set_gid_in, reserved_e0, 4);
}

static void ohca_check_cmd_create_eq_in(void)
{
	OHCA_SIZE(ohca_cmd_create_eq_in, 32);
	OHCA_OFFSET(ohca_cmd_create_eq_in, pages, 0);
	OHCA_WIDTH(ohca_cmd_create_eq_in, pages, 24);
	OHCA_OFFSET(ohca_cmd_create_eq_in, log_depth, 24);
	OHCA_WIDTH(ohca_cmd_create_eq_in, log_depth, 1);
	OHCA_OFFSET(ohca_cmd_create_eq_in, type, 25);
	OHCA_WIDTH(ohca_cmd_create_eq_in, type, 1);
	OHCA_OFFSET(ohca_cmd_create_eq_in, vector, 26);
	OHCA_WIDTH(ohca_cmd_create_eq_in, vector, 2);
	OHCA_OFFSET(ohca_cmd_create_eq_in, reserved_e0, 28);
	OHCA_WIDTH(ohca_cmd_create_eq_in, reserved_e0, 4);
}

static void ohca_check_cmd_create_mkey_in(void)
{
	OHCA_SIZE(ohca_cmd_create_mkey_in, 56);
	OHCA_OFFSET(ohca_cmd_create_mkey_in, pages, 0);
	OHCA_WIDTH(ohca_cmd_create_mkey_in, pages, 24);
	OHCA_OFFSET(ohca_cmd_create_mkey_in, start, 24);
	OHCA_WIDTH(ohca_cmd_create_mkey_in, start, 8);
	OHCA_OFFSET(ohca_cmd_create_mkey_in, length, 32);
	OHCA_WIDTH(ohca_cmd_create_mkey_in, length, 8);
	OHCA_OFFSET(ohca_cmd_create_mkey_in, pd, 40);
	OHCA_WIDTH(ohca_cmd_create_mkey_in, pd, 4);
	OHCA_OFFSET(ohca_cmd_create_mkey_in, access, 44);
	OHCA_WIDTH(ohca_cmd_create_mkey_in, access, 4);
	OHCA_OFFSET(ohca_cmd_create_mkey_in, flags, 48);
	OHCA_WIDTH(ohca_cmd_create_mkey_in, flags, 1);
	OHCA_OFFSET(ohca_cmd_create_mkey_in, consumer_key, 49);
	OHCA_WIDTH(ohca_cmd_create_mkey_in, consumer_key, 1);
	OHCA_OFFSET(ohca_cmd_create_mkey_in, reserved_190, 50);
	OHCA_WIDTH(ohca_cmd_create_mkey_in, reserved_190, 2);
	OHCA_OFFSET(ohca_cmd_create_mkey_in, reserved_1a0, 52);
	OHCA_WIDTH(ohca_cmd_create_mkey_in, reserved_1a0, 4);
}

static void ohca_check_cmd_create_mkey_out(void)
{
	OHCA_SIZE(ohca_cmd_create_mkey_out, 8);
	OHCA_OFFSET(ohca_cmd_create_mkey_out, key, 0);
	OHCA_WIDTH(ohca_cmd_create_mkey_out, key, 4);
	OHCA_OFFSET(ohca_cmd_create_mkey_out, reserved_20, 4);
	OHCA_WIDTH(ohca_cmd_create_mkey_out, reserved_20, 4);
}

static void ohca_check_cmd_create_cq_in(void)
{
	OHCA_SIZE(ohca_cmd_create_cq_in, 32);
	OHCA_OFFSET(ohca_cmd_create_cq_in, pages, 0);
	OHCA_WIDTH(ohca_cmd_create_cq_in, pages, 24);
	OHCA_OFFSET(ohca_cmd_create_cq_in, eq, 24);
	OHCA_WIDTH(ohca_cmd_create_cq_in, eq, 4);
	OHCA_OFFSET(ohca_cmd_create_cq_in, log_depth, 28);
	OHCA_WIDTH(ohca_cmd_create_cq_in, log_depth, 1);
	OHCA_OFFSET(ohca_cmd_create_cq_in, flags, 29);
	OHCA_WIDTH(ohca_cmd_create_cq_in, flags, 1);
	OHCA_OFFSET(ohca_cmd_create_cq_in, reserved_f0, 30);
	OHCA_WIDTH(ohca_cmd_create_cq_in, reserved_f0, 2);
}

static void ohca_check_cmd_create_qp_in(void)
{
	OHCA_SIZE(ohca_cmd_create_qp_in, 56);
	OHCA_OFFSET(ohca_cmd_create_qp_in, pages, 0);
	OHCA_WIDTH(ohca_cmd_create_qp_in, pages, 24);
	OHCA_OFFSET(ohca_cmd_create_qp_in, pd, 24);
	OHCA_WIDTH(ohca_cmd_create_qp_in, pd, 4);
	OHCA_OFFSET(ohca_cmd_create_qp_in, send_cq, 28);
	OHCA_WIDTH(ohca_cmd_create_qp_in, send_cq, 4);
	OHCA_OFFSET(ohca_cmd_create_qp_in, recv_cq, 32);
	OHCA_WIDTH(ohca_cmd_create_qp_in, recv_cq, 4);
	OHCA_OFFSET(ohca_cmd_create_qp_in, uar, 36);
	OHCA_WIDTH(ohca_cmd_create_qp_in, uar, 4);
	OHCA_OFFSET(ohca_cmd_create_qp_in, sq_offset, 40);
	OHCA_WIDTH(ohca_cmd_create_qp_in, sq_offset, 4);
	OHCA_OFFSET(ohca_cmd_create_qp_in, rq_offset, 44);
	OHCA_WIDTH(ohca_cmd_create_qp_in, rq_offset, 4);
	OHCA_OFFSET(ohca_cmd_create_qp_in, type, 48);
	OHCA_WIDTH(ohca_cmd_create_qp_in, type, 1);
	OHCA_OFFSET(ohca_cmd_create_qp_in, flags, 49);
	OHCA_WIDTH(ohca_cmd_create_qp_in, flags, 1);
	OHCA_OFFSET(ohca_cmd_create_qp_in, log_sq_depth, 50);
	OHCA_WIDTH(ohca_cmd_create_qp_in, log_sq_depth, 1);
	OHCA_OFFSET(ohca_cmd_create_qp_in, log_rq_depth, 51);
	OHCA_WIDTH(ohca_cmd_create_qp_in, log_rq_depth, 1);
	OHCA_OFFSET(ohca_cmd_create_qp_in, log_sq_stride, 52);
	OHCA_WIDTH(ohca_cmd_create_qp_in, log_sq_stride, 1);
	OHCA_OFFSET(ohca_cmd_create_qp_in, log_rq_stride, 53);
	OHCA_WIDTH(ohca_cmd_create_qp_in, log_rq_stride, 1);
	OHCA_OFFSET(ohca_cmd_create_qp_in, reserved_1b0, 54);
	OHCA_WIDTH(ohca_cmd_create_qp_in, reserved_1b0, 2);
}

static void ohca_check_cmd_create_qp_out(void)
{
	OHCA_SIZE(ohca_cmd_create_qp_out, 8);
	OHCA_OFFSET(ohca_cmd_create_qp_out, qpn, 0);
	OHCA_WIDTH(ohca_cmd_create_qp_out, qpn, 4);
	OHCA_OFFSET(ohca_cmd_create_qp_out, uar_slot, 4);
	OHCA_WIDTH(ohca_cmd_create_qp_out, uar_slot, 4);
}

static void ohca_check_qp_attributes(void)
{
	OHCA_SIZE(ohca_qp_attributes, 64);
	OHCA_OFFSET(ohca_qp_attributes, state, 0);
	OHCA_WIDTH(ohca_qp_attributes, state, 1);
	OHCA_OFFSET(ohca_qp_attributes, path_mtu, 1);
	OHCA_WIDTH(ohca_qp_attributes, path_mtu, 1);
	OHCA_OFFSET(ohca_qp_attributes, access, 2);
	OHCA_WIDTH(ohca_qp_attributes, access, 1);
	OHCA_OFFSET(ohca_qp_attributes, max_read_atomic, 3);
	OHCA_WIDTH(ohca_qp_attributes, max_read_atomic, 1);
	OHCA_OFFSET(ohca_qp_attributes, max_dest_read_atomic, 4);
	OHCA_WIDTH(ohca_qp_attributes, max_dest_read_atomic, 1);
	OHCA_OFFSET(ohca_qp_attributes, min_rnr_timer, 5);
	OHCA_WIDTH(ohca_qp_attributes, min_rnr_timer, 1);
	OHCA_OFFSET(ohca_qp_attributes, ack_timeout, 6);
	OHCA_WIDTH(ohca_qp_attributes, ack_timeout, 1);
	OHCA_OFFSET(ohca_qp_attributes, retry_count, 7);
	OHCA_WIDTH(ohca_qp_attributes, retry_count, 1);
	OHCA_OFFSET(ohca_qp_attributes, rnr_retry, 8);
	OHCA_WIDTH(ohca_qp_attributes, rnr_retry, 1);
	OHCA_OFFSET(ohca_qp_attributes, sq_drained_event, 9);
	OHCA_WIDTH(ohca_qp_attributes, sq_drained_event, 1);
	OHCA_OFFSET(ohca_qp_attributes, pkey_index, 10);
	OHCA_WIDTH(ohca_qp_attributes, pkey_index, 2);
	OHCA_OFFSET(ohca_qp_attributes, dest_qpn, 12);
	OHCA_WIDTH(ohca_qp_attributes, dest_qpn, 4);
	OHCA_OFFSET(ohca_qp_attributes, sq_psn, 16);
	OHCA_WIDTH(ohca_qp_attributes, sq_psn, 4);
	OHCA_OFFSET(ohca_qp_attributes, rq_psn, 20);
	OHCA_WIDTH(ohca_qp_attributes, rq_psn, 4);
	OHCA_OFFSET(ohca_qp_attributes, qkey, 24);
	OHCA_WIDTH(ohca_qp_attributes, qkey, 4);
	OHCA_OFFSET(ohca_qp_attributes, dgid, 28);
	OHCA_WIDTH(ohca_qp_attributes, dgid, 16);
	OHCA_OFFSET(ohca_qp_attributes, dmac, 44);
	OHCA_WIDTH(ohca_qp_attributes, dmac, 6);
	OHCA_OFFSET(ohca_qp_attributes, sgid_index, 50);
	OHCA_WIDTH(ohca_qp_attributes, sgid_index, 1);
	OHCA_OFFSET(ohca_qp_attributes, hop_limit, 51);
	OHCA_WIDTH(ohca_qp_attributes, hop_limit, 1);
	OHCA_OFFSET(ohca_qp_attributes, traffic_class, 52);
	OHCA_WIDTH(ohca_qp_attributes, traffic_class, 1);
	OHCA_OFFSET(ohca_qp_attributes, service_level, 53);
	OHCA_WIDTH(ohca_qp_attributes, service_level, 1);
	OHCA_OFFSET(ohca_qp_attributes, source_udp_port, 54);
	OHCA_WIDTH(ohca_qp_attributes, source_udp_port, 2);
	OHCA_OFFSET(ohca_qp_attributes, flow_label, 56);
	OHCA_WIDTH(ohca_qp_attributes, flow_label, 4);
	OHCA_OFFSET(ohca_qp_attributes, reserved_1e0, 60);
	OHCA_WIDTH(ohca_qp_attributes, reserved_1e0, 4);
}

static void ohca_check_cmd_modify_qp_in(void)
{
	OHCA_SIZE(ohca_cmd_modify_qp_in, 80);
	OHCA_OFFSET(ohca_cmd_modify_qp_in, qpn, 0);
	OHCA_WIDTH(ohca_cmd_modify_qp_in, qpn, 4);
	OHCA_OFFSET(ohca_cmd_modify_qp_in, mask, 4);
	OHCA_WIDTH(ohca_cmd_modify_qp_in, mask, 4);
	OHCA_OFFSET(ohca_cmd_modify_qp_in, current_state, 8);
	OHCA_WIDTH(ohca_cmd_modify_qp_in, current_state, 1);
	OHCA_OFFSET(ohca_cmd_modify_qp_in, check_current_state, 9);
	OHCA_WIDTH(ohca_cmd_modify_qp_in, check_current_state, 1);
	OHCA_OFFSET(ohca_cmd_modify_qp_in, reserved_50, 10);
	OHCA_WIDTH(ohca_cmd_modify_qp_in, reserved_50, 6);
	OHCA_OFFSET(ohca_cmd_modify_qp_in, attributes, 16);
	OHCA_WIDTH(ohca_cmd_modify_qp_in, attributes, 64);
}

static void ohca_check_cmd_query_qp_out(void)
{
	OHCA_SIZE(ohca_cmd_query_qp_out, 72);
	OHCA_OFFSET(ohca_cmd_query_qp_out, attributes, 0);
	OHCA_WIDTH(ohca_cmd_query_qp_out, attributes, 64);
	OHCA_OFFSET(ohca_cmd_query_qp_out, sq_consumer, 64);
	OHCA_WIDTH(ohca_cmd_query_qp_out, sq_consumer, 4);
	OHCA_OFFSET(ohca_cmd_query_qp_out, rq_consumer, 68);
	OHCA_WIDTH(ohca_cmd_query_qp_out, rq_consumer, 4);
}

static void ohca_check_eq_record(void)
{
	OHCA_SIZE(ohca_eq_record, 64);
	OHCA_OFFSET(ohca_eq_record, consumer, 0);
	OHCA_WIDTH(ohca_eq_record, consumer, 4);
	OHCA_OFFSET(ohca_eq_record, interrupt_arm, 4);
	OHCA_WIDTH(ohca_eq_record, interrupt_arm, 4);
	OHCA_OFFSET(ohca_eq_record, reserved_40, 8);
	OHCA_WIDTH(ohca_eq_record, reserved_40, 56);
}

static void ohca_check_eqe(void)
{
	OHCA_SIZE(ohca_eqe, 16);
	OHCA_OFFSET(ohca_eqe, type, 0);
	OHCA_WIDTH(ohca_eqe, type, 1);
	OHCA_OFFSET(ohca_eqe, reserved_8, 1);
	OHCA_WIDTH(ohca_eqe, reserved_8, 3);
	OHCA_OFFSET(ohca_eqe, number, 4);
	OHCA_WIDTH(ohca_eqe, number, 4);
	OHCA_OFFSET(ohca_eqe, detail, 8);
	OHCA_WIDTH(ohca_eqe, detail, 4);
	OHCA_OFFSET(ohca_eqe, reserved_60, 12);
	OHCA_WIDTH(ohca_eqe, reserved_60, 3);
	OHCA_OFFSET(ohca_eqe, owner, 15);
	OHCA_WIDTH(ohca_eqe, owner, 1);
}

/* ohca-abi.h: udata of the uverbs calls. */

static void ohca_check_alloc_ucontext_req(void)
{
	OHCA_SIZE(ohca_alloc_ucontext_req, 8);
	OHCA_OFFSET(ohca_alloc_ucontext_req, comp_mask, 0);
	OHCA_WIDTH(ohca_alloc_ucontext_req, comp_mask, 4);
	OHCA_OFFSET(ohca_alloc_ucontext_req, reserved_20, 4);
	OHCA_WIDTH(ohca_alloc_ucontext_req, reserved_20, 4);
}

static void ohca_check_alloc_ucontext_resp(void)
{
	OHCA_SIZE(ohca_alloc_ucontext_resp, 48);
	OHCA_OFFSET(ohca_alloc_ucontext_resp, comp_mask, 0);
	OHCA_WIDTH(ohca_alloc_ucontext_resp, comp_mask, 4);
	OHCA_OFFSET(ohca_alloc_ucontext_resp, uar_index, 4);
	OHCA_WIDTH(ohca_alloc_ucontext_resp, uar_index, 4);
	OHCA_OFFSET(ohca_alloc_ucontext_resp, uar_mmap_key, 8);
	OHCA_WIDTH(ohca_alloc_ucontext_resp, uar_mmap_key, 8);
	OHCA_OFFSET(ohca_alloc_ucontext_resp, kick_mmap_key, 16);
	OHCA_WIDTH(ohca_alloc_ucontext_resp, kick_mmap_key, 8);
	OHCA_OFFSET(ohca_alloc_ucontext_resp, device_features, 24);
	OHCA_WIDTH(ohca_alloc_ucontext_resp, device_features, 8);
	OHCA_OFFSET(ohca_alloc_ucontext_resp, max_qp, 32);
	OHCA_WIDTH(ohca_alloc_ucontext_resp, max_qp, 4);
	OHCA_OFFSET(ohca_alloc_ucontext_resp, max_inline, 36);
	OHCA_WIDTH(ohca_alloc_ucontext_resp, max_inline, 4);
	OHCA_OFFSET(ohca_alloc_ucontext_resp, log_max_sq_depth, 40);
	OHCA_WIDTH(ohca_alloc_ucontext_resp, log_max_sq_depth, 1);
	OHCA_OFFSET(ohca_alloc_ucontext_resp, log_max_rq_depth, 41);
	OHCA_WIDTH(ohca_alloc_ucontext_resp, log_max_rq_depth, 1);
	OHCA_OFFSET(ohca_alloc_ucontext_resp, log_max_cq_depth, 42);
	OHCA_WIDTH(ohca_alloc_ucontext_resp, log_max_cq_depth, 1);
	OHCA_OFFSET(ohca_alloc_ucontext_resp, max_send_sge, 43);
	OHCA_WIDTH(ohca_alloc_ucontext_resp, max_send_sge, 1);
	OHCA_OFFSET(ohca_alloc_ucontext_resp, max_recv_sge, 44);
	OHCA_WIDTH(ohca_alloc_ucontext_resp, max_recv_sge, 1);
	OHCA_OFFSET(ohca_alloc_ucontext_resp, reserved_168, 45);
	OHCA_WIDTH(ohca_alloc_ucontext_resp, reserved_168, 3);
}

static void ohca_check_alloc_pd_resp(void)
{
	OHCA_SIZE(ohca_alloc_pd_resp, 8);
	OHCA_OFFSET(ohca_alloc_pd_resp, pdn, 0);
	OHCA_WIDTH(ohca_alloc_pd_resp, pdn, 4);
	OHCA_OFFSET(ohca_alloc_pd_resp, reserved_20, 4);
	OHCA_WIDTH(ohca_alloc_pd_resp, reserved_20, 4);
}

static void ohca_check_create_cq_req(void)
{
	OHCA_SIZE(ohca_create_cq_req, 24);
	OHCA_OFFSET(ohca_create_cq_req, buffer_address, 0);
	OHCA_WIDTH(ohca_create_cq_req, buffer_address, 8);
	OHCA_OFFSET(ohca_create_cq_req, buffer_length, 8);
	OHCA_WIDTH(ohca_create_cq_req, buffer_length, 8);
	OHCA_OFFSET(ohca_create_cq_req, comp_mask, 16);
	OHCA_WIDTH(ohca_create_cq_req, comp_mask, 4);
	OHCA_OFFSET(ohca_create_cq_req, log_depth, 20);
	OHCA_WIDTH(ohca_create_cq_req, log_depth, 1);
	OHCA_OFFSET(ohca_create_cq_req, reserved_a8, 21);
	OHCA_WIDTH(ohca_create_cq_req, reserved_a8, 3);
}

static void ohca_check_create_cq_resp(void)
{
	OHCA_SIZE(ohca_create_cq_resp, 8);
	OHCA_OFFSET(ohca_create_cq_resp, cqn, 0);
	OHCA_WIDTH(ohca_create_cq_resp, cqn, 4);
	OHCA_OFFSET(ohca_create_cq_resp, comp_mask, 4);
	OHCA_WIDTH(ohca_create_cq_resp, comp_mask, 4);
}

static void ohca_check_create_qp_req(void)
{
	OHCA_SIZE(ohca_create_qp_req, 32);
	OHCA_OFFSET(ohca_create_qp_req, buffer_address, 0);
	OHCA_WIDTH(ohca_create_qp_req, buffer_address, 8);
	OHCA_OFFSET(ohca_create_qp_req, buffer_length, 8);
	OHCA_WIDTH(ohca_create_qp_req, buffer_length, 8);
	OHCA_OFFSET(ohca_create_qp_req, sq_offset, 16);
	OHCA_WIDTH(ohca_create_qp_req, sq_offset, 4);
	OHCA_OFFSET(ohca_create_qp_req, rq_offset, 20);
	OHCA_WIDTH(ohca_create_qp_req, rq_offset, 4);
	OHCA_OFFSET(ohca_create_qp_req, log_sq_depth, 24);
	OHCA_WIDTH(ohca_create_qp_req, log_sq_depth, 1);
	OHCA_OFFSET(ohca_create_qp_req, log_rq_depth, 25);
	OHCA_WIDTH(ohca_create_qp_req, log_rq_depth, 1);
	OHCA_OFFSET(ohca_create_qp_req, log_sq_stride, 26);
	OHCA_WIDTH(ohca_create_qp_req, log_sq_stride, 1);
	OHCA_OFFSET(ohca_create_qp_req, log_rq_stride, 27);
	OHCA_WIDTH(ohca_create_qp_req, log_rq_stride, 1);
	OHCA_OFFSET(ohca_create_qp_req, comp_mask, 28);
	OHCA_WIDTH(ohca_create_qp_req, comp_mask, 4);
}

static void ohca_check_create_qp_resp(void)
{
	OHCA_SIZE(ohca_create_qp_resp, 16);
	OHCA_OFFSET(ohca_create_qp_resp, qpn, 0);
	OHCA_WIDTH(ohca_create_qp_resp, qpn, 4);
	OHCA_OFFSET(ohca_create_qp_resp, uar_slot, 4);
	OHCA_WIDTH(ohca_create_qp_resp, uar_slot, 4);
	OHCA_OFFSET(ohca_create_qp_resp, comp_mask, 8);
	OHCA_WIDTH(ohca_create_qp_resp, comp_mask, 4);
	OHCA_OFFSET(ohca_create_qp_resp, reserved_60, 12);
	OHCA_WIDTH(ohca_create_qp_resp, reserved_60, 4);
}

/* A mailbox is large enough for every command. */
static void ohca_check_mailboxes(void)
{
	BUILD_BUG_ON(sizeof(struct ohca_cmd_handle) > OHCA_CMDQ_INPUT_SIZE);
	BUILD_BUG_ON(sizeof(struct ohca_cmd_handle) > OHCA_CMDQ_OUTPUT_SIZE);
	BUILD_BUG_ON(sizeof(struct ohca_cmd_query_device_out) > OHCA_CMDQ_OUTPUT_SIZE);
	BUILD_BUG_ON(sizeof(struct ohca_cmd_set_port_in) > OHCA_CMDQ_INPUT_SIZE);
	BUILD_BUG_ON(sizeof(struct ohca_cmd_set_gid_in) > OHCA_CMDQ_INPUT_SIZE);
	BUILD_BUG_ON(sizeof(struct ohca_cmd_create_eq_in) > OHCA_CMDQ_INPUT_SIZE);
	BUILD_BUG_ON(sizeof(struct ohca_cmd_create_mkey_in) > OHCA_CMDQ_INPUT_SIZE);
	BUILD_BUG_ON(sizeof(struct ohca_cmd_create_mkey_out) > OHCA_CMDQ_OUTPUT_SIZE);
	BUILD_BUG_ON(sizeof(struct ohca_cmd_create_cq_in) > OHCA_CMDQ_INPUT_SIZE);
	BUILD_BUG_ON(sizeof(struct ohca_cmd_create_qp_in) > OHCA_CMDQ_INPUT_SIZE);
	BUILD_BUG_ON(sizeof(struct ohca_cmd_create_qp_out) > OHCA_CMDQ_OUTPUT_SIZE);
	BUILD_BUG_ON(sizeof(struct ohca_cmd_modify_qp_in) > OHCA_CMDQ_INPUT_SIZE);
	BUILD_BUG_ON(sizeof(struct ohca_cmd_query_qp_out) > OHCA_CMDQ_OUTPUT_SIZE);
	BUILD_BUG_ON(OHCA_COUNTER_COUNT * sizeof(__le64) > OHCA_CMDQ_OUTPUT_SIZE);
	BUILD_BUG_ON(OHCA_CMDQ_INPUT_SIZE > OHCA_CMD_MAILBOX_SIZE_MAX);
	BUILD_BUG_ON(OHCA_CMDQ_OUTPUT_SIZE > OHCA_CMD_MAILBOX_SIZE_MAX);
	BUILD_BUG_ON(OHCA_CMDQ_LOG_DEPTH < OHCA_CMDQ_LOG_DEPTH_MIN);
	BUILD_BUG_ON(OHCA_CMDQ_LOG_DEPTH > OHCA_CMDQ_LOG_DEPTH_MAX);
}

static void ohca_check_data_path(void)
{
	ohca_check_uar();
	ohca_check_qp_record();
	ohca_check_cq_record();
	ohca_check_sge();
	ohca_check_sq_wqe();
	ohca_check_wqe_atomic();
	ohca_check_rq_wqe();
	ohca_check_cqe();
	BUILD_BUG_ON(sizeof(struct ohca_uar) != OHCA_UAR_SIZE);
	BUILD_BUG_ON(sizeof(struct ohca_qp_record) != OHCA_RECORD_SIZE);
	BUILD_BUG_ON(sizeof(struct ohca_cq_record) != OHCA_CQ_RING_OFFSET);
}

static void ohca_check_commands(void)
{
	ohca_check_cmdq_record();
	ohca_check_cmd_entry();
	ohca_check_cmd_completion();
	ohca_check_page_list();
	ohca_check_cmd_handle();
	ohca_check_cmd_query_device_out();
	ohca_check_cmd_set_port_in();
	ohca_check_cmd_set_gid_in();
	ohca_check_cmd_create_eq_in();
	ohca_check_cmd_create_mkey_in();
	ohca_check_cmd_create_mkey_out();
	ohca_check_cmd_create_cq_in();
	ohca_check_cmd_create_qp_in();
	ohca_check_cmd_create_qp_out();
	ohca_check_qp_attributes();
	ohca_check_cmd_modify_qp_in();
	ohca_check_cmd_query_qp_out();
	ohca_check_eq_record();
	ohca_check_eqe();
	BUILD_BUG_ON(sizeof(struct ohca_eq_record) != OHCA_EQ_RING_OFFSET);
	ohca_check_mailboxes();
}

void ohca_check_formats(void)
{
	ohca_check_data_path();
	ohca_check_commands();
	ohca_check_alloc_ucontext_req();
	ohca_check_alloc_ucontext_resp();
	ohca_check_alloc_pd_resp();
	ohca_check_create_cq_req();
	ohca_check_create_cq_resp();
	ohca_check_create_qp_req();
	ohca_check_create_qp_resp();
}
