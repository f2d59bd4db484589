// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The layout of the contract, as the kernel's compiler sees it.
 */

#include <linux/build_bug.h>
#include <linux/stddef.h>

#include <rdma/ohca_hw_layout.h>

#include "ohca.h"

static_assert(sizeof(struct ohca_uar) == OHCA_UAR_SIZE);
static_assert(sizeof(struct ohca_qp_record) == OHCA_RECORD_SIZE);
static_assert(sizeof(struct ohca_srq_record) == OHCA_RECORD_SIZE);
static_assert(sizeof(struct ohca_cq_record) == OHCA_CQ_RING_OFFSET);
static_assert(sizeof(struct ohca_eq_record) == OHCA_EQ_RING_OFFSET);

/* A mailbox is large enough for every command. */
static_assert(sizeof(struct ohca_cmd_handle) <= OHCA_CMDQ_INPUT_SIZE);
static_assert(sizeof(struct ohca_cmd_handle) <= OHCA_CMDQ_OUTPUT_SIZE);
static_assert(sizeof(struct ohca_cmd_query_device_out) <= OHCA_CMDQ_OUTPUT_SIZE);
static_assert(sizeof(struct ohca_cmd_set_port_in) <= OHCA_CMDQ_INPUT_SIZE);
static_assert(sizeof(struct ohca_cmd_set_gid_in) <= OHCA_CMDQ_INPUT_SIZE);
static_assert(sizeof(struct ohca_cmd_create_eq_in) <= OHCA_CMDQ_INPUT_SIZE);
static_assert(sizeof(struct ohca_cmd_create_mkey_in) <= OHCA_CMDQ_INPUT_SIZE);
static_assert(sizeof(struct ohca_cmd_create_mkey_out) <= OHCA_CMDQ_OUTPUT_SIZE);
static_assert(sizeof(struct ohca_cmd_create_cq_in) <= OHCA_CMDQ_INPUT_SIZE);
static_assert(sizeof(struct ohca_cmd_create_qp_in) <= OHCA_CMDQ_INPUT_SIZE);
static_assert(sizeof(struct ohca_cmd_create_qp_out) <= OHCA_CMDQ_OUTPUT_SIZE);
static_assert(sizeof(struct ohca_cmd_modify_qp_in) <= OHCA_CMDQ_INPUT_SIZE);
static_assert(sizeof(struct ohca_cmd_query_qp_out) <= OHCA_CMDQ_OUTPUT_SIZE);
static_assert(sizeof(struct ohca_cmd_create_srq_in) <= OHCA_CMDQ_INPUT_SIZE);
static_assert(sizeof(struct ohca_cmd_modify_srq_in) <= OHCA_CMDQ_INPUT_SIZE);
static_assert(sizeof(struct ohca_cmd_resize_srq_in) <= OHCA_CMDQ_INPUT_SIZE);
static_assert(sizeof(struct ohca_cmd_modify_cq_in) <= OHCA_CMDQ_INPUT_SIZE);
static_assert(sizeof(struct ohca_cmd_resize_cq_in) <= OHCA_CMDQ_INPUT_SIZE);
static_assert(sizeof(struct ohca_cmd_multicast_in) <= OHCA_CMDQ_INPUT_SIZE);
static_assert(sizeof(struct ohca_cmd_modify_mkey_in) <= OHCA_CMDQ_INPUT_SIZE);
static_assert(sizeof(struct ohca_cmd_query_srq_out) <= OHCA_CMDQ_OUTPUT_SIZE);
static_assert(OHCA_COUNTER_COUNT * sizeof(__le64) <= OHCA_CMDQ_OUTPUT_SIZE);
static_assert(OHCA_CMDQ_INPUT_SIZE <= OHCA_CMD_MAILBOX_SIZE_MAX);
static_assert(OHCA_CMDQ_OUTPUT_SIZE <= OHCA_CMD_MAILBOX_SIZE_MAX);
static_assert(OHCA_CMDQ_LOG_DEPTH >= OHCA_CMDQ_LOG_DEPTH_MIN);
static_assert(OHCA_CMDQ_LOG_DEPTH <= OHCA_CMDQ_LOG_DEPTH_MAX);
