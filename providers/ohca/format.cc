// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// The layout of the contract as this provider sees it.  The numbers are written
// out: a change of a header that moves a field must fail here.
#include <cstddef>

#include <rdma/ohca-abi.h>
#include <rdma/ohca_hw_io.h>
#include <rdma/ohca_hw_regs.h>

#define OFFSET(type, field, offset) static_assert(offsetof(type, field) == (offset))

// rdma/ohca-abi.h
static_assert(sizeof(ohca_alloc_ucontext_req) == 8);
OFFSET(ohca_alloc_ucontext_req, comp_mask, 0);
OFFSET(ohca_alloc_ucontext_req, reserved_20, 4);

static_assert(sizeof(ohca_alloc_ucontext_resp) == 48);
OFFSET(ohca_alloc_ucontext_resp, comp_mask, 0);
OFFSET(ohca_alloc_ucontext_resp, uar_index, 4);
OFFSET(ohca_alloc_ucontext_resp, uar_mmap_key, 8);
OFFSET(ohca_alloc_ucontext_resp, kick_mmap_key, 16);
OFFSET(ohca_alloc_ucontext_resp, device_features, 24);
OFFSET(ohca_alloc_ucontext_resp, max_qp, 32);
OFFSET(ohca_alloc_ucontext_resp, max_inline, 36);
OFFSET(ohca_alloc_ucontext_resp, log_max_sq_depth, 40);
OFFSET(ohca_alloc_ucontext_resp, log_max_rq_depth, 41);
OFFSET(ohca_alloc_ucontext_resp, log_max_cq_depth, 42);
OFFSET(ohca_alloc_ucontext_resp, max_send_sge, 43);
OFFSET(ohca_alloc_ucontext_resp, max_recv_sge, 44);
OFFSET(ohca_alloc_ucontext_resp, reserved_168, 45);

static_assert(sizeof(ohca_alloc_pd_resp) == 8);
OFFSET(ohca_alloc_pd_resp, pdn, 0);
OFFSET(ohca_alloc_pd_resp, reserved_20, 4);

static_assert(sizeof(ohca_create_cq_req) == 24);
OFFSET(ohca_create_cq_req, buffer_address, 0);
OFFSET(ohca_create_cq_req, buffer_length, 8);
OFFSET(ohca_create_cq_req, comp_mask, 16);
OFFSET(ohca_create_cq_req, log_depth, 20);
OFFSET(ohca_create_cq_req, reserved_a8, 21);

static_assert(sizeof(ohca_create_cq_resp) == 8);
OFFSET(ohca_create_cq_resp, cqn, 0);
OFFSET(ohca_create_cq_resp, comp_mask, 4);

static_assert(sizeof(ohca_create_qp_req) == 32);
OFFSET(ohca_create_qp_req, buffer_address, 0);
OFFSET(ohca_create_qp_req, buffer_length, 8);
OFFSET(ohca_create_qp_req, sq_offset, 16);
OFFSET(ohca_create_qp_req, rq_offset, 20);
OFFSET(ohca_create_qp_req, log_sq_depth, 24);
OFFSET(ohca_create_qp_req, log_rq_depth, 25);
OFFSET(ohca_create_qp_req, log_sq_stride, 26);
OFFSET(ohca_create_qp_req, log_rq_stride, 27);
OFFSET(ohca_create_qp_req, comp_mask, 28);

static_assert(sizeof(ohca_create_qp_resp) == 16);
OFFSET(ohca_create_qp_resp, qpn, 0);
OFFSET(ohca_create_qp_resp, uar_slot, 4);
OFFSET(ohca_create_qp_resp, comp_mask, 8);
OFFSET(ohca_create_qp_resp, reserved_60, 12);

// rdma/ohca_hw_io.h
static_assert(sizeof(ohca_uar) == 4096);
OFFSET(ohca_uar, need_wakeup, 0);
OFFSET(ohca_uar, device_state, 4);
OFFSET(ohca_uar, reserved_40, 8);
OFFSET(ohca_uar, summary, 64);
OFFSET(ohca_uar, reserved_240, 72);
OFFSET(ohca_uar, notify, 512);
OFFSET(ohca_uar, reserved_2000, 1024);

static_assert(sizeof(ohca_qp_record) == 64);
OFFSET(ohca_qp_record, sq_producer, 0);
OFFSET(ohca_qp_record, rq_producer, 4);
OFFSET(ohca_qp_record, reserved_40, 8);

static_assert(sizeof(ohca_cq_record) == 64);
OFFSET(ohca_cq_record, consumer, 0);
OFFSET(ohca_cq_record, arm, 4);
OFFSET(ohca_cq_record, fired, 8);
OFFSET(ohca_cq_record, reserved_60, 12);

static_assert(sizeof(ohca_sge) == 16);
OFFSET(ohca_sge, address, 0);
OFFSET(ohca_sge, length, 8);
OFFSET(ohca_sge, lkey, 12);

static_assert(sizeof(ohca_sq_wqe) == 32);
OFFSET(ohca_sq_wqe, opcode, 0);
OFFSET(ohca_sq_wqe, flags, 1);
OFFSET(ohca_sq_wqe, num_sge, 2);
OFFSET(ohca_sq_wqe, reserved_18, 3);
OFFSET(ohca_sq_wqe, inline_length, 4);
OFFSET(ohca_sq_wqe, immediate, 8);
OFFSET(ohca_sq_wqe, invalidate_rkey, 12);
OFFSET(ohca_sq_wqe, remote_address, 16);
OFFSET(ohca_sq_wqe, rkey, 24);
OFFSET(ohca_sq_wqe, reserved_e0, 28);

static_assert(sizeof(ohca_wqe_atomic) == 16);
OFFSET(ohca_wqe_atomic, operand, 0);
OFFSET(ohca_wqe_atomic, compare, 8);

static_assert(sizeof(ohca_rq_wqe) == 16);
OFFSET(ohca_rq_wqe, num_sge, 0);
OFFSET(ohca_rq_wqe, reserved_8, 1);
OFFSET(ohca_rq_wqe, tag, 4);
OFFSET(ohca_rq_wqe, reserved_40, 8);

static_assert(sizeof(ohca_cqe) == 64);
OFFSET(ohca_cqe, timestamp_ns, 0);
OFFSET(ohca_cqe, qpn, 8);
OFFSET(ohca_cqe, wqe_index, 12);
OFFSET(ohca_cqe, byte_length, 16);
OFFSET(ohca_cqe, immediate, 20);
OFFSET(ohca_cqe, invalidated_rkey, 20);
OFFSET(ohca_cqe, src_qp, 24);
OFFSET(ohca_cqe, status, 28);
OFFSET(ohca_cqe, opcode, 29);
OFFSET(ohca_cqe, flags, 30);
OFFSET(ohca_cqe, reserved_f8, 31);
OFFSET(ohca_cqe, vendor_error, 32);
OFFSET(ohca_cqe, reserved_120, 36);
OFFSET(ohca_cqe, owner, 63);

// Values that code here builds on.
static_assert(OHCA_UAR_SLOT_COUNT == 64 * OHCA_UAR_NOTIFY_WORDS);
static_assert(sizeof(ohca_uar) == OHCA_UAR_SIZE);
static_assert(sizeof(ohca_qp_record) == OHCA_RECORD_SIZE && sizeof(ohca_cq_record) == OHCA_RECORD_SIZE);
static_assert(OHCA_CQ_RING_OFFSET == OHCA_RECORD_SIZE && OHCA_CQ_RING_OFFSET % sizeof(ohca_cqe) == 0);
static_assert(OHCA_KICK_PAGE_OFF % 4096 == 0);
static_assert(OHCA_WQE_INLINE == 0x08 && OHCA_WR_FADD == 8);
static_assert(OHCA_SQ_STRIDE_MIN >= sizeof(ohca_sq_wqe) + sizeof(ohca_wqe_atomic) + sizeof(ohca_sge));
