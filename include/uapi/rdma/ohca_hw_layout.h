/* SPDX-License-Identifier: ((GPL-2.0 WITH Linux-syscall-note) OR Linux-OpenIB) */
/*
 * Size and place of every field of the contract.  Device, provider and driver
 * each compile this once, so that no compiler's or language's idea of the layout
 * differs from the numbers.  A change here is a change of the contract.
 */
#ifndef OHCA_HW_LAYOUT_H
#define OHCA_HW_LAYOUT_H

#include <rdma/ohca-abi.h>
#include <rdma/ohca_hw.h>

/* The compiler's own, so that no library's header is needed. */
#ifdef __cplusplus
#define OHCA_LAYOUT_ASSERT(condition, name) static_assert(condition, name)
#else
#define OHCA_LAYOUT_ASSERT(condition, name) _Static_assert(condition, name)
#endif

#define OHCA_LAYOUT_SIZE(type, bytes) \
	OHCA_LAYOUT_ASSERT(sizeof(struct type) == (bytes), "size of " #type)
#define OHCA_LAYOUT_FIELD(type, field, offset, bytes) \
	OHCA_LAYOUT_ASSERT(__builtin_offsetof(struct type, field) == (offset) && \
			   sizeof(((struct type *)0)->field) == (bytes), #type "." #field)

/* ohca_hw_io.h */

OHCA_LAYOUT_SIZE(ohca_uar, 4096);
OHCA_LAYOUT_FIELD(ohca_uar, need_wakeup, 0, 4);
OHCA_LAYOUT_FIELD(ohca_uar, device_state, 4, 4);
OHCA_LAYOUT_FIELD(ohca_uar, reserved_40, 8, 56);
OHCA_LAYOUT_FIELD(ohca_uar, summary, 64, 8);
OHCA_LAYOUT_FIELD(ohca_uar, reserved_240, 72, 440);
OHCA_LAYOUT_FIELD(ohca_uar, notify, 512, 512);
OHCA_LAYOUT_FIELD(ohca_uar, reserved_2000, 1024, 3072);

OHCA_LAYOUT_SIZE(ohca_qp_record, 64);
OHCA_LAYOUT_FIELD(ohca_qp_record, sq_producer, 0, 4);
OHCA_LAYOUT_FIELD(ohca_qp_record, rq_producer, 4, 4);
OHCA_LAYOUT_FIELD(ohca_qp_record, reserved_40, 8, 56);

OHCA_LAYOUT_SIZE(ohca_srq_record, 64);
OHCA_LAYOUT_FIELD(ohca_srq_record, producer, 0, 4);
OHCA_LAYOUT_FIELD(ohca_srq_record, reserved_20, 4, 60);

OHCA_LAYOUT_SIZE(ohca_cq_record, 64);
OHCA_LAYOUT_FIELD(ohca_cq_record, consumer, 0, 4);
OHCA_LAYOUT_FIELD(ohca_cq_record, arm, 4, 4);
OHCA_LAYOUT_FIELD(ohca_cq_record, fired, 8, 4);
OHCA_LAYOUT_FIELD(ohca_cq_record, reserved_60, 12, 52);

OHCA_LAYOUT_SIZE(ohca_sge, 16);
OHCA_LAYOUT_FIELD(ohca_sge, address, 0, 8);
OHCA_LAYOUT_FIELD(ohca_sge, length, 8, 4);
OHCA_LAYOUT_FIELD(ohca_sge, lkey, 12, 4);

OHCA_LAYOUT_SIZE(ohca_sq_wqe, 32);
OHCA_LAYOUT_FIELD(ohca_sq_wqe, opcode, 0, 1);
OHCA_LAYOUT_FIELD(ohca_sq_wqe, flags, 1, 1);
OHCA_LAYOUT_FIELD(ohca_sq_wqe, num_sge, 2, 1);
OHCA_LAYOUT_FIELD(ohca_sq_wqe, reserved_18, 3, 1);
OHCA_LAYOUT_FIELD(ohca_sq_wqe, inline_length, 4, 4);
OHCA_LAYOUT_FIELD(ohca_sq_wqe, immediate, 8, 4);
OHCA_LAYOUT_FIELD(ohca_sq_wqe, invalidate_key, 12, 4);
OHCA_LAYOUT_FIELD(ohca_sq_wqe, remote_address, 16, 8);
OHCA_LAYOUT_FIELD(ohca_sq_wqe, rkey, 24, 4);
OHCA_LAYOUT_FIELD(ohca_sq_wqe, remote_srqn, 28, 4);

OHCA_LAYOUT_SIZE(ohca_wqe_datagram, 48);
OHCA_LAYOUT_FIELD(ohca_wqe_datagram, remote_qpn, 0, 4);
OHCA_LAYOUT_FIELD(ohca_wqe_datagram, remote_qkey, 4, 4);
OHCA_LAYOUT_FIELD(ohca_wqe_datagram, pd, 8, 4);
OHCA_LAYOUT_FIELD(ohca_wqe_datagram, flow_label, 12, 4);
OHCA_LAYOUT_FIELD(ohca_wqe_datagram, dgid, 16, 16);
OHCA_LAYOUT_FIELD(ohca_wqe_datagram, dmac, 32, 6);
OHCA_LAYOUT_FIELD(ohca_wqe_datagram, sgid_index, 38, 1);
OHCA_LAYOUT_FIELD(ohca_wqe_datagram, hop_limit, 39, 1);
OHCA_LAYOUT_FIELD(ohca_wqe_datagram, traffic_class, 40, 1);
OHCA_LAYOUT_FIELD(ohca_wqe_datagram, service_level, 41, 1);
OHCA_LAYOUT_FIELD(ohca_wqe_datagram, source_udp_port, 42, 2);
OHCA_LAYOUT_FIELD(ohca_wqe_datagram, pkey_index, 44, 2);
OHCA_LAYOUT_FIELD(ohca_wqe_datagram, reserved_170, 46, 2);

OHCA_LAYOUT_SIZE(ohca_wqe_atomic, 16);
OHCA_LAYOUT_FIELD(ohca_wqe_atomic, operand, 0, 8);
OHCA_LAYOUT_FIELD(ohca_wqe_atomic, compare, 8, 8);

OHCA_LAYOUT_SIZE(ohca_wqe_masked_atomic, 32);
OHCA_LAYOUT_FIELD(ohca_wqe_masked_atomic, operand, 0, 8);
OHCA_LAYOUT_FIELD(ohca_wqe_masked_atomic, compare, 8, 8);
OHCA_LAYOUT_FIELD(ohca_wqe_masked_atomic, swap_mask, 16, 8);
OHCA_LAYOUT_FIELD(ohca_wqe_masked_atomic, boundary_mask, 16, 8);
OHCA_LAYOUT_FIELD(ohca_wqe_masked_atomic, compare_mask, 24, 8);

OHCA_LAYOUT_SIZE(ohca_wqe_flush, 16);
OHCA_LAYOUT_FIELD(ohca_wqe_flush, length, 0, 4);
OHCA_LAYOUT_FIELD(ohca_wqe_flush, placement, 4, 1);
OHCA_LAYOUT_FIELD(ohca_wqe_flush, selectivity, 5, 1);
OHCA_LAYOUT_FIELD(ohca_wqe_flush, reserved_30, 6, 10);

OHCA_LAYOUT_SIZE(ohca_wqe_bind, 32);
OHCA_LAYOUT_FIELD(ohca_wqe_bind, address, 0, 8);
OHCA_LAYOUT_FIELD(ohca_wqe_bind, length, 8, 8);
OHCA_LAYOUT_FIELD(ohca_wqe_bind, lkey, 16, 4);
OHCA_LAYOUT_FIELD(ohca_wqe_bind, access, 20, 4);
OHCA_LAYOUT_FIELD(ohca_wqe_bind, reserved_c0, 24, 8);

OHCA_LAYOUT_SIZE(ohca_wqe_register, 48);
OHCA_LAYOUT_FIELD(ohca_wqe_register, start, 0, 8);
OHCA_LAYOUT_FIELD(ohca_wqe_register, length, 8, 8);
OHCA_LAYOUT_FIELD(ohca_wqe_register, list_address, 16, 8);
OHCA_LAYOUT_FIELD(ohca_wqe_register, first_page_offset, 24, 8);
OHCA_LAYOUT_FIELD(ohca_wqe_register, entry_count, 32, 4);
OHCA_LAYOUT_FIELD(ohca_wqe_register, access, 36, 4);
OHCA_LAYOUT_FIELD(ohca_wqe_register, log_page_size, 40, 1);
OHCA_LAYOUT_FIELD(ohca_wqe_register, reserved_148, 41, 7);

OHCA_LAYOUT_SIZE(ohca_block, 16);
OHCA_LAYOUT_FIELD(ohca_block, address, 0, 8);
OHCA_LAYOUT_FIELD(ohca_block, length, 8, 8);

OHCA_LAYOUT_SIZE(ohca_signature_domain, 16);
OHCA_LAYOUT_FIELD(ohca_signature_domain, type, 0, 1);
OHCA_LAYOUT_FIELD(ohca_signature_domain, guard_type, 1, 1);
OHCA_LAYOUT_FIELD(ohca_signature_domain, flags, 2, 1);
OHCA_LAYOUT_FIELD(ohca_signature_domain, reserved_18, 3, 1);
OHCA_LAYOUT_FIELD(ohca_signature_domain, guard_seed, 4, 2);
OHCA_LAYOUT_FIELD(ohca_signature_domain, app_tag, 6, 2);
OHCA_LAYOUT_FIELD(ohca_signature_domain, app_tag_mask, 8, 2);
OHCA_LAYOUT_FIELD(ohca_signature_domain, reserved_50, 10, 2);
OHCA_LAYOUT_FIELD(ohca_signature_domain, ref_tag, 12, 4);

OHCA_LAYOUT_SIZE(ohca_t10_tuple, 8);
OHCA_LAYOUT_FIELD(ohca_t10_tuple, guard, 0, 2);
OHCA_LAYOUT_FIELD(ohca_t10_tuple, app_tag, 2, 2);
OHCA_LAYOUT_FIELD(ohca_t10_tuple, ref_tag, 4, 4);

OHCA_LAYOUT_SIZE(ohca_wqe_register_integrity, 80);
OHCA_LAYOUT_FIELD(ohca_wqe_register_integrity, start, 0, 8);
OHCA_LAYOUT_FIELD(ohca_wqe_register_integrity, list_address, 8, 8);
OHCA_LAYOUT_FIELD(ohca_wqe_register_integrity, status_address, 16, 8);
OHCA_LAYOUT_FIELD(ohca_wqe_register_integrity, data_entry_count, 24, 4);
OHCA_LAYOUT_FIELD(ohca_wqe_register_integrity, protection_entry_count, 28, 4);
OHCA_LAYOUT_FIELD(ohca_wqe_register_integrity, access, 32, 4);
OHCA_LAYOUT_FIELD(ohca_wqe_register_integrity, interval, 36, 4);
OHCA_LAYOUT_FIELD(ohca_wqe_register_integrity, check_mask, 40, 1);
OHCA_LAYOUT_FIELD(ohca_wqe_register_integrity, reserved_148, 41, 7);
OHCA_LAYOUT_FIELD(ohca_wqe_register_integrity, memory, 48, 16);
OHCA_LAYOUT_FIELD(ohca_wqe_register_integrity, wire, 64, 16);

OHCA_LAYOUT_SIZE(ohca_integrity_status, 24);
OHCA_LAYOUT_FIELD(ohca_integrity_status, error, 0, 4);
OHCA_LAYOUT_FIELD(ohca_integrity_status, key, 4, 4);
OHCA_LAYOUT_FIELD(ohca_integrity_status, expected, 8, 4);
OHCA_LAYOUT_FIELD(ohca_integrity_status, actual, 12, 4);
OHCA_LAYOUT_FIELD(ohca_integrity_status, interval_index, 16, 8);

OHCA_LAYOUT_SIZE(ohca_rq_wqe, 16);
OHCA_LAYOUT_FIELD(ohca_rq_wqe, num_sge, 0, 1);
OHCA_LAYOUT_FIELD(ohca_rq_wqe, reserved_8, 1, 3);
OHCA_LAYOUT_FIELD(ohca_rq_wqe, tag, 4, 4);
OHCA_LAYOUT_FIELD(ohca_rq_wqe, reserved_40, 8, 8);

OHCA_LAYOUT_SIZE(ohca_cqe, 64);
OHCA_LAYOUT_FIELD(ohca_cqe, timestamp_ns, 0, 8);
OHCA_LAYOUT_FIELD(ohca_cqe, qpn, 8, 4);
OHCA_LAYOUT_FIELD(ohca_cqe, wqe_index, 12, 4);
OHCA_LAYOUT_FIELD(ohca_cqe, byte_length, 16, 4);
OHCA_LAYOUT_FIELD(ohca_cqe, immediate, 20, 4);
OHCA_LAYOUT_FIELD(ohca_cqe, invalidated_rkey, 20, 4);
OHCA_LAYOUT_FIELD(ohca_cqe, src_qp, 24, 4);
OHCA_LAYOUT_FIELD(ohca_cqe, status, 28, 1);
OHCA_LAYOUT_FIELD(ohca_cqe, opcode, 29, 1);
OHCA_LAYOUT_FIELD(ohca_cqe, flags, 30, 1);
OHCA_LAYOUT_FIELD(ohca_cqe, reserved_f8, 31, 1);
OHCA_LAYOUT_FIELD(ohca_cqe, vendor_error, 32, 4);
OHCA_LAYOUT_FIELD(ohca_cqe, source_mac, 36, 6);
OHCA_LAYOUT_FIELD(ohca_cqe, vlan_id, 42, 2);
OHCA_LAYOUT_FIELD(ohca_cqe, service_level, 44, 1);
OHCA_LAYOUT_FIELD(ohca_cqe, network_header, 45, 1);
OHCA_LAYOUT_FIELD(ohca_cqe, pkey_index, 46, 2);
OHCA_LAYOUT_FIELD(ohca_cqe, srqn, 48, 4);
OHCA_LAYOUT_FIELD(ohca_cqe, reserved_1a0, 52, 11);
OHCA_LAYOUT_FIELD(ohca_cqe, owner, 63, 1);

/* ohca_hw_cmd.h */

OHCA_LAYOUT_SIZE(ohca_cmdq_record, 64);
OHCA_LAYOUT_FIELD(ohca_cmdq_record, producer, 0, 4);
OHCA_LAYOUT_FIELD(ohca_cmdq_record, completion_consumer, 4, 4);
OHCA_LAYOUT_FIELD(ohca_cmdq_record, interrupt_arm, 8, 4);
OHCA_LAYOUT_FIELD(ohca_cmdq_record, reserved_60, 12, 52);

OHCA_LAYOUT_SIZE(ohca_cmd_entry, 64);
OHCA_LAYOUT_FIELD(ohca_cmd_entry, opcode, 0, 2);
OHCA_LAYOUT_FIELD(ohca_cmd_entry, slot, 2, 2);
OHCA_LAYOUT_FIELD(ohca_cmd_entry, generation, 4, 4);
OHCA_LAYOUT_FIELD(ohca_cmd_entry, input_address, 8, 8);
OHCA_LAYOUT_FIELD(ohca_cmd_entry, output_address, 16, 8);
OHCA_LAYOUT_FIELD(ohca_cmd_entry, input_length, 24, 4);
OHCA_LAYOUT_FIELD(ohca_cmd_entry, output_length, 28, 4);
OHCA_LAYOUT_FIELD(ohca_cmd_entry, reserved_100, 32, 32);

OHCA_LAYOUT_SIZE(ohca_cmd_completion, 16);
OHCA_LAYOUT_FIELD(ohca_cmd_completion, slot, 0, 2);
OHCA_LAYOUT_FIELD(ohca_cmd_completion, status, 2, 1);
OHCA_LAYOUT_FIELD(ohca_cmd_completion, reserved_18, 3, 1);
OHCA_LAYOUT_FIELD(ohca_cmd_completion, generation, 4, 4);
OHCA_LAYOUT_FIELD(ohca_cmd_completion, detail, 8, 4);
OHCA_LAYOUT_FIELD(ohca_cmd_completion, reserved_60, 12, 3);
OHCA_LAYOUT_FIELD(ohca_cmd_completion, owner, 15, 1);

OHCA_LAYOUT_SIZE(ohca_page_list, 24);
OHCA_LAYOUT_FIELD(ohca_page_list, address, 0, 8);
OHCA_LAYOUT_FIELD(ohca_page_list, first_page_offset, 8, 8);
OHCA_LAYOUT_FIELD(ohca_page_list, page_count, 16, 4);
OHCA_LAYOUT_FIELD(ohca_page_list, log_page_size, 20, 1);
OHCA_LAYOUT_FIELD(ohca_page_list, levels, 21, 1);
OHCA_LAYOUT_FIELD(ohca_page_list, reserved_b0, 22, 2);

OHCA_LAYOUT_SIZE(ohca_cmd_handle, 8);
OHCA_LAYOUT_FIELD(ohca_cmd_handle, handle, 0, 4);
OHCA_LAYOUT_FIELD(ohca_cmd_handle, reserved_20, 4, 4);

OHCA_LAYOUT_SIZE(ohca_cmd_query_device_out, 120);
OHCA_LAYOUT_FIELD(ohca_cmd_query_device_out, features, 0, 8);
OHCA_LAYOUT_FIELD(ohca_cmd_query_device_out, max_mr_size, 8, 8);
OHCA_LAYOUT_FIELD(ohca_cmd_query_device_out, page_size_mask, 16, 8);
OHCA_LAYOUT_FIELD(ohca_cmd_query_device_out, device_clock_ns, 24, 8);
OHCA_LAYOUT_FIELD(ohca_cmd_query_device_out, max_qp, 32, 4);
OHCA_LAYOUT_FIELD(ohca_cmd_query_device_out, max_cq, 36, 4);
OHCA_LAYOUT_FIELD(ohca_cmd_query_device_out, max_mkey, 40, 4);
OHCA_LAYOUT_FIELD(ohca_cmd_query_device_out, max_pd, 44, 4);
OHCA_LAYOUT_FIELD(ohca_cmd_query_device_out, max_eq, 48, 4);
OHCA_LAYOUT_FIELD(ohca_cmd_query_device_out, max_uar, 52, 4);
OHCA_LAYOUT_FIELD(ohca_cmd_query_device_out, max_gid, 56, 4);
OHCA_LAYOUT_FIELD(ohca_cmd_query_device_out, max_message_size, 60, 4);
OHCA_LAYOUT_FIELD(ohca_cmd_query_device_out, log_max_sq_depth, 64, 1);
OHCA_LAYOUT_FIELD(ohca_cmd_query_device_out, log_max_rq_depth, 65, 1);
OHCA_LAYOUT_FIELD(ohca_cmd_query_device_out, log_max_cq_depth, 66, 1);
OHCA_LAYOUT_FIELD(ohca_cmd_query_device_out, log_max_eq_depth, 67, 1);
OHCA_LAYOUT_FIELD(ohca_cmd_query_device_out, max_send_sge, 68, 1);
OHCA_LAYOUT_FIELD(ohca_cmd_query_device_out, max_recv_sge, 69, 1);
OHCA_LAYOUT_FIELD(ohca_cmd_query_device_out, max_read_atomic_initiator, 70, 1);
OHCA_LAYOUT_FIELD(ohca_cmd_query_device_out, max_read_atomic_responder, 71, 1);
OHCA_LAYOUT_FIELD(ohca_cmd_query_device_out, max_inline, 72, 4);
OHCA_LAYOUT_FIELD(ohca_cmd_query_device_out, core_clock_khz, 76, 4);
OHCA_LAYOUT_FIELD(ohca_cmd_query_device_out, firmware_version, 80, 8);
OHCA_LAYOUT_FIELD(ohca_cmd_query_device_out, max_srq, 88, 4);
OHCA_LAYOUT_FIELD(ohca_cmd_query_device_out, max_xrcd, 92, 4);
OHCA_LAYOUT_FIELD(ohca_cmd_query_device_out, max_multicast_groups, 96, 4);
OHCA_LAYOUT_FIELD(ohca_cmd_query_device_out, max_multicast_qps, 100, 4);
OHCA_LAYOUT_FIELD(ohca_cmd_query_device_out, max_list_entries, 104, 4);
OHCA_LAYOUT_FIELD(ohca_cmd_query_device_out, log_max_srq_depth, 108, 1);
OHCA_LAYOUT_FIELD(ohca_cmd_query_device_out, max_srq_sge, 109, 1);
OHCA_LAYOUT_FIELD(ohca_cmd_query_device_out, reserved_370, 110, 6);
OHCA_LAYOUT_FIELD(ohca_cmd_query_device_out, counter_count, 116, 4);

OHCA_LAYOUT_SIZE(ohca_cmd_set_port_in, 8);
OHCA_LAYOUT_FIELD(ohca_cmd_set_port_in, active, 0, 1);
OHCA_LAYOUT_FIELD(ohca_cmd_set_port_in, reserved_8, 1, 3);
OHCA_LAYOUT_FIELD(ohca_cmd_set_port_in, max_mtu, 4, 4);

OHCA_LAYOUT_SIZE(ohca_cmd_set_gid_in, 32);
OHCA_LAYOUT_FIELD(ohca_cmd_set_gid_in, gid, 0, 16);
OHCA_LAYOUT_FIELD(ohca_cmd_set_gid_in, index, 16, 4);
OHCA_LAYOUT_FIELD(ohca_cmd_set_gid_in, mac, 20, 6);
OHCA_LAYOUT_FIELD(ohca_cmd_set_gid_in, vlan_id, 26, 2);
OHCA_LAYOUT_FIELD(ohca_cmd_set_gid_in, reserved_e0, 28, 4);

OHCA_LAYOUT_SIZE(ohca_cmd_create_eq_in, 32);
OHCA_LAYOUT_FIELD(ohca_cmd_create_eq_in, pages, 0, 24);
OHCA_LAYOUT_FIELD(ohca_cmd_create_eq_in, log_depth, 24, 1);
OHCA_LAYOUT_FIELD(ohca_cmd_create_eq_in, type, 25, 1);
OHCA_LAYOUT_FIELD(ohca_cmd_create_eq_in, vector, 26, 2);
OHCA_LAYOUT_FIELD(ohca_cmd_create_eq_in, reserved_e0, 28, 4);

OHCA_LAYOUT_SIZE(ohca_cmd_create_mkey_in, 56);
OHCA_LAYOUT_FIELD(ohca_cmd_create_mkey_in, pages, 0, 24);
OHCA_LAYOUT_FIELD(ohca_cmd_create_mkey_in, start, 24, 8);
OHCA_LAYOUT_FIELD(ohca_cmd_create_mkey_in, length, 32, 8);
OHCA_LAYOUT_FIELD(ohca_cmd_create_mkey_in, pd, 40, 4);
OHCA_LAYOUT_FIELD(ohca_cmd_create_mkey_in, access, 44, 4);
OHCA_LAYOUT_FIELD(ohca_cmd_create_mkey_in, flags, 48, 1);
OHCA_LAYOUT_FIELD(ohca_cmd_create_mkey_in, consumer_key, 49, 1);
OHCA_LAYOUT_FIELD(ohca_cmd_create_mkey_in, type, 50, 1);
OHCA_LAYOUT_FIELD(ohca_cmd_create_mkey_in, reserved_198, 51, 1);
OHCA_LAYOUT_FIELD(ohca_cmd_create_mkey_in, list_entry_max, 52, 4);

OHCA_LAYOUT_SIZE(ohca_cmd_create_mkey_out, 8);
OHCA_LAYOUT_FIELD(ohca_cmd_create_mkey_out, key, 0, 4);
OHCA_LAYOUT_FIELD(ohca_cmd_create_mkey_out, reserved_20, 4, 4);

OHCA_LAYOUT_SIZE(ohca_cmd_modify_mkey_in, 64);
OHCA_LAYOUT_FIELD(ohca_cmd_modify_mkey_in, region, 0, 56);
OHCA_LAYOUT_FIELD(ohca_cmd_modify_mkey_in, key, 56, 4);
OHCA_LAYOUT_FIELD(ohca_cmd_modify_mkey_in, mask, 60, 4);

OHCA_LAYOUT_SIZE(ohca_cmd_create_cq_in, 32);
OHCA_LAYOUT_FIELD(ohca_cmd_create_cq_in, pages, 0, 24);
OHCA_LAYOUT_FIELD(ohca_cmd_create_cq_in, eq, 24, 4);
OHCA_LAYOUT_FIELD(ohca_cmd_create_cq_in, log_depth, 28, 1);
OHCA_LAYOUT_FIELD(ohca_cmd_create_cq_in, flags, 29, 1);
OHCA_LAYOUT_FIELD(ohca_cmd_create_cq_in, reserved_f0, 30, 2);

OHCA_LAYOUT_SIZE(ohca_cmd_modify_cq_in, 8);
OHCA_LAYOUT_FIELD(ohca_cmd_modify_cq_in, cqn, 0, 4);
OHCA_LAYOUT_FIELD(ohca_cmd_modify_cq_in, moderation_count, 4, 2);
OHCA_LAYOUT_FIELD(ohca_cmd_modify_cq_in, moderation_period_us, 6, 2);

OHCA_LAYOUT_SIZE(ohca_cmd_resize_cq_in, 32);
OHCA_LAYOUT_FIELD(ohca_cmd_resize_cq_in, pages, 0, 24);
OHCA_LAYOUT_FIELD(ohca_cmd_resize_cq_in, cqn, 24, 4);
OHCA_LAYOUT_FIELD(ohca_cmd_resize_cq_in, log_depth, 28, 1);
OHCA_LAYOUT_FIELD(ohca_cmd_resize_cq_in, reserved_e8, 29, 3);

OHCA_LAYOUT_SIZE(ohca_cmd_create_srq_in, 48);
OHCA_LAYOUT_FIELD(ohca_cmd_create_srq_in, pages, 0, 24);
OHCA_LAYOUT_FIELD(ohca_cmd_create_srq_in, pd, 24, 4);
OHCA_LAYOUT_FIELD(ohca_cmd_create_srq_in, xrcd, 28, 4);
OHCA_LAYOUT_FIELD(ohca_cmd_create_srq_in, cq, 32, 4);
OHCA_LAYOUT_FIELD(ohca_cmd_create_srq_in, ring_offset, 36, 4);
OHCA_LAYOUT_FIELD(ohca_cmd_create_srq_in, log_depth, 40, 1);
OHCA_LAYOUT_FIELD(ohca_cmd_create_srq_in, log_stride, 41, 1);
OHCA_LAYOUT_FIELD(ohca_cmd_create_srq_in, reserved_150, 42, 2);
OHCA_LAYOUT_FIELD(ohca_cmd_create_srq_in, limit, 44, 4);

OHCA_LAYOUT_SIZE(ohca_cmd_modify_srq_in, 8);
OHCA_LAYOUT_FIELD(ohca_cmd_modify_srq_in, srqn, 0, 4);
OHCA_LAYOUT_FIELD(ohca_cmd_modify_srq_in, limit, 4, 4);

OHCA_LAYOUT_SIZE(ohca_cmd_query_srq_out, 8);
OHCA_LAYOUT_FIELD(ohca_cmd_query_srq_out, limit, 0, 4);
OHCA_LAYOUT_FIELD(ohca_cmd_query_srq_out, consumer, 4, 4);

OHCA_LAYOUT_SIZE(ohca_cmd_resize_srq_in, 40);
OHCA_LAYOUT_FIELD(ohca_cmd_resize_srq_in, pages, 0, 24);
OHCA_LAYOUT_FIELD(ohca_cmd_resize_srq_in, srqn, 24, 4);
OHCA_LAYOUT_FIELD(ohca_cmd_resize_srq_in, ring_offset, 28, 4);
OHCA_LAYOUT_FIELD(ohca_cmd_resize_srq_in, log_depth, 32, 1);
OHCA_LAYOUT_FIELD(ohca_cmd_resize_srq_in, reserved_108, 33, 7);

OHCA_LAYOUT_SIZE(ohca_cmd_multicast_in, 24);
OHCA_LAYOUT_FIELD(ohca_cmd_multicast_in, qpn, 0, 4);
OHCA_LAYOUT_FIELD(ohca_cmd_multicast_in, reserved_20, 4, 4);
OHCA_LAYOUT_FIELD(ohca_cmd_multicast_in, gid, 8, 16);

OHCA_LAYOUT_SIZE(ohca_cmd_create_qp_in, 64);
OHCA_LAYOUT_FIELD(ohca_cmd_create_qp_in, pages, 0, 24);
OHCA_LAYOUT_FIELD(ohca_cmd_create_qp_in, pd, 24, 4);
OHCA_LAYOUT_FIELD(ohca_cmd_create_qp_in, send_cq, 28, 4);
OHCA_LAYOUT_FIELD(ohca_cmd_create_qp_in, recv_cq, 32, 4);
OHCA_LAYOUT_FIELD(ohca_cmd_create_qp_in, uar, 36, 4);
OHCA_LAYOUT_FIELD(ohca_cmd_create_qp_in, sq_offset, 40, 4);
OHCA_LAYOUT_FIELD(ohca_cmd_create_qp_in, rq_offset, 44, 4);
OHCA_LAYOUT_FIELD(ohca_cmd_create_qp_in, type, 48, 1);
OHCA_LAYOUT_FIELD(ohca_cmd_create_qp_in, flags, 49, 1);
OHCA_LAYOUT_FIELD(ohca_cmd_create_qp_in, log_sq_depth, 50, 1);
OHCA_LAYOUT_FIELD(ohca_cmd_create_qp_in, log_rq_depth, 51, 1);
OHCA_LAYOUT_FIELD(ohca_cmd_create_qp_in, log_sq_stride, 52, 1);
OHCA_LAYOUT_FIELD(ohca_cmd_create_qp_in, log_rq_stride, 53, 1);
OHCA_LAYOUT_FIELD(ohca_cmd_create_qp_in, reserved_1b0, 54, 2);
OHCA_LAYOUT_FIELD(ohca_cmd_create_qp_in, srq, 56, 4);
OHCA_LAYOUT_FIELD(ohca_cmd_create_qp_in, xrcd, 60, 4);

OHCA_LAYOUT_SIZE(ohca_cmd_create_qp_out, 8);
OHCA_LAYOUT_FIELD(ohca_cmd_create_qp_out, qpn, 0, 4);
OHCA_LAYOUT_FIELD(ohca_cmd_create_qp_out, uar_slot, 4, 4);

OHCA_LAYOUT_SIZE(ohca_qp_attributes, 64);
OHCA_LAYOUT_FIELD(ohca_qp_attributes, state, 0, 1);
OHCA_LAYOUT_FIELD(ohca_qp_attributes, path_mtu, 1, 1);
OHCA_LAYOUT_FIELD(ohca_qp_attributes, reserved_10, 2, 1);
OHCA_LAYOUT_FIELD(ohca_qp_attributes, max_read_atomic, 3, 1);
OHCA_LAYOUT_FIELD(ohca_qp_attributes, max_dest_read_atomic, 4, 1);
OHCA_LAYOUT_FIELD(ohca_qp_attributes, min_rnr_timer, 5, 1);
OHCA_LAYOUT_FIELD(ohca_qp_attributes, ack_timeout, 6, 1);
OHCA_LAYOUT_FIELD(ohca_qp_attributes, retry_count, 7, 1);
OHCA_LAYOUT_FIELD(ohca_qp_attributes, rnr_retry, 8, 1);
OHCA_LAYOUT_FIELD(ohca_qp_attributes, sq_drained_event, 9, 1);
OHCA_LAYOUT_FIELD(ohca_qp_attributes, pkey_index, 10, 2);
OHCA_LAYOUT_FIELD(ohca_qp_attributes, dest_qpn, 12, 4);
OHCA_LAYOUT_FIELD(ohca_qp_attributes, sq_psn, 16, 4);
OHCA_LAYOUT_FIELD(ohca_qp_attributes, rq_psn, 20, 4);
OHCA_LAYOUT_FIELD(ohca_qp_attributes, qkey, 24, 4);
OHCA_LAYOUT_FIELD(ohca_qp_attributes, dgid, 28, 16);
OHCA_LAYOUT_FIELD(ohca_qp_attributes, dmac, 44, 6);
OHCA_LAYOUT_FIELD(ohca_qp_attributes, sgid_index, 50, 1);
OHCA_LAYOUT_FIELD(ohca_qp_attributes, hop_limit, 51, 1);
OHCA_LAYOUT_FIELD(ohca_qp_attributes, traffic_class, 52, 1);
OHCA_LAYOUT_FIELD(ohca_qp_attributes, service_level, 53, 1);
OHCA_LAYOUT_FIELD(ohca_qp_attributes, source_udp_port, 54, 2);
OHCA_LAYOUT_FIELD(ohca_qp_attributes, flow_label, 56, 4);
OHCA_LAYOUT_FIELD(ohca_qp_attributes, access, 60, 4);

OHCA_LAYOUT_SIZE(ohca_cmd_modify_qp_in, 80);
OHCA_LAYOUT_FIELD(ohca_cmd_modify_qp_in, qpn, 0, 4);
OHCA_LAYOUT_FIELD(ohca_cmd_modify_qp_in, mask, 4, 4);
OHCA_LAYOUT_FIELD(ohca_cmd_modify_qp_in, current_state, 8, 1);
OHCA_LAYOUT_FIELD(ohca_cmd_modify_qp_in, check_current_state, 9, 1);
OHCA_LAYOUT_FIELD(ohca_cmd_modify_qp_in, reserved_50, 10, 6);
OHCA_LAYOUT_FIELD(ohca_cmd_modify_qp_in, attributes, 16, 64);

OHCA_LAYOUT_SIZE(ohca_cmd_query_qp_out, 72);
OHCA_LAYOUT_FIELD(ohca_cmd_query_qp_out, attributes, 0, 64);
OHCA_LAYOUT_FIELD(ohca_cmd_query_qp_out, sq_consumer, 64, 4);
OHCA_LAYOUT_FIELD(ohca_cmd_query_qp_out, rq_consumer, 68, 4);

OHCA_LAYOUT_SIZE(ohca_eq_record, 64);
OHCA_LAYOUT_FIELD(ohca_eq_record, consumer, 0, 4);
OHCA_LAYOUT_FIELD(ohca_eq_record, interrupt_arm, 4, 4);
OHCA_LAYOUT_FIELD(ohca_eq_record, reserved_40, 8, 56);

OHCA_LAYOUT_SIZE(ohca_eqe, 16);
OHCA_LAYOUT_FIELD(ohca_eqe, type, 0, 1);
OHCA_LAYOUT_FIELD(ohca_eqe, reserved_8, 1, 3);
OHCA_LAYOUT_FIELD(ohca_eqe, number, 4, 4);
OHCA_LAYOUT_FIELD(ohca_eqe, detail, 8, 4);
OHCA_LAYOUT_FIELD(ohca_eqe, reserved_60, 12, 3);
OHCA_LAYOUT_FIELD(ohca_eqe, owner, 15, 1);

/* ohca-abi.h */

OHCA_LAYOUT_SIZE(ohca_alloc_ucontext_req, 8);
OHCA_LAYOUT_FIELD(ohca_alloc_ucontext_req, comp_mask, 0, 4);
OHCA_LAYOUT_FIELD(ohca_alloc_ucontext_req, reserved_20, 4, 4);

OHCA_LAYOUT_SIZE(ohca_alloc_ucontext_resp, 48);
OHCA_LAYOUT_FIELD(ohca_alloc_ucontext_resp, comp_mask, 0, 4);
OHCA_LAYOUT_FIELD(ohca_alloc_ucontext_resp, uar_index, 4, 4);
OHCA_LAYOUT_FIELD(ohca_alloc_ucontext_resp, uar_mmap_key, 8, 8);
OHCA_LAYOUT_FIELD(ohca_alloc_ucontext_resp, kick_mmap_key, 16, 8);
OHCA_LAYOUT_FIELD(ohca_alloc_ucontext_resp, device_features, 24, 8);
OHCA_LAYOUT_FIELD(ohca_alloc_ucontext_resp, max_qp, 32, 4);
OHCA_LAYOUT_FIELD(ohca_alloc_ucontext_resp, max_inline, 36, 4);
OHCA_LAYOUT_FIELD(ohca_alloc_ucontext_resp, log_max_sq_depth, 40, 1);
OHCA_LAYOUT_FIELD(ohca_alloc_ucontext_resp, log_max_rq_depth, 41, 1);
OHCA_LAYOUT_FIELD(ohca_alloc_ucontext_resp, log_max_cq_depth, 42, 1);
OHCA_LAYOUT_FIELD(ohca_alloc_ucontext_resp, max_send_sge, 43, 1);
OHCA_LAYOUT_FIELD(ohca_alloc_ucontext_resp, max_recv_sge, 44, 1);
OHCA_LAYOUT_FIELD(ohca_alloc_ucontext_resp, log_max_srq_depth, 45, 1);
OHCA_LAYOUT_FIELD(ohca_alloc_ucontext_resp, max_srq_sge, 46, 1);
OHCA_LAYOUT_FIELD(ohca_alloc_ucontext_resp, reserved_178, 47, 1);

OHCA_LAYOUT_SIZE(ohca_query_device_resp, 24);
OHCA_LAYOUT_FIELD(ohca_query_device_resp, comp_mask, 0, 4);
OHCA_LAYOUT_FIELD(ohca_query_device_resp, reserved_20, 4, 4);
OHCA_LAYOUT_FIELD(ohca_query_device_resp, device_clock_ns, 8, 8);
OHCA_LAYOUT_FIELD(ohca_query_device_resp, real_clock_ns, 16, 8);

OHCA_LAYOUT_SIZE(ohca_alloc_pd_resp, 8);
OHCA_LAYOUT_FIELD(ohca_alloc_pd_resp, pdn, 0, 4);
OHCA_LAYOUT_FIELD(ohca_alloc_pd_resp, reserved_20, 4, 4);

OHCA_LAYOUT_SIZE(ohca_create_cq_req, 24);
OHCA_LAYOUT_FIELD(ohca_create_cq_req, buffer_address, 0, 8);
OHCA_LAYOUT_FIELD(ohca_create_cq_req, buffer_length, 8, 8);
OHCA_LAYOUT_FIELD(ohca_create_cq_req, comp_mask, 16, 4);
OHCA_LAYOUT_FIELD(ohca_create_cq_req, log_depth, 20, 1);
OHCA_LAYOUT_FIELD(ohca_create_cq_req, reserved_a8, 21, 3);

OHCA_LAYOUT_SIZE(ohca_create_cq_resp, 8);
OHCA_LAYOUT_FIELD(ohca_create_cq_resp, cqn, 0, 4);
OHCA_LAYOUT_FIELD(ohca_create_cq_resp, comp_mask, 4, 4);

OHCA_LAYOUT_SIZE(ohca_create_srq_req, 32);
OHCA_LAYOUT_FIELD(ohca_create_srq_req, buffer_address, 0, 8);
OHCA_LAYOUT_FIELD(ohca_create_srq_req, buffer_length, 8, 8);
OHCA_LAYOUT_FIELD(ohca_create_srq_req, ring_offset, 16, 4);
OHCA_LAYOUT_FIELD(ohca_create_srq_req, log_depth, 20, 1);
OHCA_LAYOUT_FIELD(ohca_create_srq_req, log_stride, 21, 1);
OHCA_LAYOUT_FIELD(ohca_create_srq_req, reserved_b0, 22, 2);
OHCA_LAYOUT_FIELD(ohca_create_srq_req, comp_mask, 24, 4);
OHCA_LAYOUT_FIELD(ohca_create_srq_req, reserved_e0, 28, 4);

OHCA_LAYOUT_SIZE(ohca_create_srq_resp, 8);
OHCA_LAYOUT_FIELD(ohca_create_srq_resp, srqn, 0, 4);
OHCA_LAYOUT_FIELD(ohca_create_srq_resp, comp_mask, 4, 4);

OHCA_LAYOUT_SIZE(ohca_create_ah_resp, 12);
OHCA_LAYOUT_FIELD(ohca_create_ah_resp, dmac, 0, 6);
OHCA_LAYOUT_FIELD(ohca_create_ah_resp, sgid_index, 6, 1);
OHCA_LAYOUT_FIELD(ohca_create_ah_resp, hop_limit, 7, 1);
OHCA_LAYOUT_FIELD(ohca_create_ah_resp, comp_mask, 8, 4);

OHCA_LAYOUT_SIZE(ohca_create_qp_req, 40);
OHCA_LAYOUT_FIELD(ohca_create_qp_req, buffer_address, 0, 8);
OHCA_LAYOUT_FIELD(ohca_create_qp_req, buffer_length, 8, 8);
OHCA_LAYOUT_FIELD(ohca_create_qp_req, sq_offset, 16, 4);
OHCA_LAYOUT_FIELD(ohca_create_qp_req, rq_offset, 20, 4);
OHCA_LAYOUT_FIELD(ohca_create_qp_req, log_sq_depth, 24, 1);
OHCA_LAYOUT_FIELD(ohca_create_qp_req, log_rq_depth, 25, 1);
OHCA_LAYOUT_FIELD(ohca_create_qp_req, log_sq_stride, 26, 1);
OHCA_LAYOUT_FIELD(ohca_create_qp_req, log_rq_stride, 27, 1);
OHCA_LAYOUT_FIELD(ohca_create_qp_req, comp_mask, 28, 4);
OHCA_LAYOUT_FIELD(ohca_create_qp_req, uar_index, 32, 4);
OHCA_LAYOUT_FIELD(ohca_create_qp_req, qpn, 36, 4);

OHCA_LAYOUT_SIZE(ohca_async_qp_init, 32);
OHCA_LAYOUT_FIELD(ohca_async_qp_init, qp_type, 0, 4);
OHCA_LAYOUT_FIELD(ohca_async_qp_init, create_flags, 4, 4);
OHCA_LAYOUT_FIELD(ohca_async_qp_init, sq_sig_all, 8, 4);
OHCA_LAYOUT_FIELD(ohca_async_qp_init, max_send_wr, 12, 4);
OHCA_LAYOUT_FIELD(ohca_async_qp_init, max_recv_wr, 16, 4);
OHCA_LAYOUT_FIELD(ohca_async_qp_init, max_send_sge, 20, 4);
OHCA_LAYOUT_FIELD(ohca_async_qp_init, max_recv_sge, 24, 4);
OHCA_LAYOUT_FIELD(ohca_async_qp_init, max_inline_data, 28, 4);

OHCA_LAYOUT_SIZE(ohca_async_create_qp, 48);
OHCA_LAYOUT_FIELD(ohca_async_create_qp, user_data, 0, 8);
OHCA_LAYOUT_FIELD(ohca_async_create_qp, request, 8, 40);

OHCA_LAYOUT_SIZE(ohca_create_qp_resp, 16);
OHCA_LAYOUT_FIELD(ohca_create_qp_resp, qpn, 0, 4);
OHCA_LAYOUT_FIELD(ohca_create_qp_resp, uar_slot, 4, 4);
OHCA_LAYOUT_FIELD(ohca_create_qp_resp, comp_mask, 8, 4);
OHCA_LAYOUT_FIELD(ohca_create_qp_resp, reserved_60, 12, 4);

#undef OHCA_LAYOUT_ASSERT
#undef OHCA_LAYOUT_SIZE
#undef OHCA_LAYOUT_FIELD

#endif /* OHCA_HW_LAYOUT_H */
