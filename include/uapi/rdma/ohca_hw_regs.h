/* SPDX-License-Identifier: ((GPL-2.0 WITH Linux-syscall-note) OR Linux-OpenIB) */
/*
 * PCI identity, BARs and control registers (driver <-> device).
 *
 * BAR0 (32-bit, 16 KiB) is trapped: every access costs microseconds.  It holds
 * the control registers, the kick page and the MSI-X structures and is used
 * for bring-up, reset and wake-up only.
 *
 * BAR2 (64-bit, prefetchable) is shared memory and never trapped: UAR pages,
 * one after the other (ohca_hw_io.h).
 */
#ifndef OHCA_HW_REGS_H
#define OHCA_HW_REGS_H

#include <linux/types.h>

/* PCI configuration space. The ids are provisional, see README.rst. */
#define OHCA_PCI_VENDOR_ID		0x1b36
#define OHCA_PCI_DEVICE_ID		0x0c0a
#define OHCA_PCI_REVISION		0x01
#define OHCA_PCI_CLASS			0x020700	/* network, InfiniBand controller */

#define OHCA_BAR_CONTROL		0
#define OHCA_BAR_UAR			2

/* BAR0 map, in bytes. */
#define OHCA_CONTROL_BAR_SIZE		0x4000
#define OHCA_CONTROL_PAGE_OFF		0x0000
#define OHCA_KICK_PAGE_OFF		0x1000	/* a page of its own: applications may map it */
#define OHCA_MSIX_TABLE_OFF		0x2000
#define OHCA_MSIX_PBA_OFF		0x3000
#define OHCA_MSIX_VECTOR_COUNT_MAX	64

/*
 * Control registers, offsets in BAR0.  32-bit registers take 32-bit accesses;
 * 64-bit registers are pairs of 32-bit registers, low half first.
 * Reads of a function whose device process is gone return all ones.
 */
#define OHCA_REGS_MAGIC_OFF		0x000	/* RO  OHCA_MAGIC */
#define OHCA_REGS_VERSION_OFF		0x004	/* RO  OHCA_INTERFACE_VERSION */
#define OHCA_REGS_DEVICE_FEATURES_OFF	0x008	/* RO  64 bit, OHCA_FEATURE_* offered */
#define OHCA_REGS_DRIVER_FEATURES_OFF	0x010	/* RW  64 bit, accepted subset; frozen by ENABLE */
#define OHCA_REGS_STATUS_OFF		0x018	/* RO  OHCA_STATUS_* */
#define OHCA_REGS_CONTROL_OFF		0x01c	/* WO  OHCA_CONTROL_* */
#define OHCA_REGS_FAIL_REASON_OFF	0x020	/* RO  OHCA_FAIL_*, valid while STATUS.FAILED */
#define OHCA_REGS_RESET_COUNT_OFF	0x024	/* RO  resets completed since the process started */
#define OHCA_REGS_UAR_COUNT_OFF		0x028	/* RO  UAR pages in BAR2 */
#define OHCA_REGS_VECTOR_COUNT_OFF	0x02c	/* RO  MSI-X vectors */
#define OHCA_REGS_MAC_OFF		0x030	/* RO  64 bit, port MAC address: byte i is bits 8i+7:8i */
#define OHCA_REGS_CMDQ_SQ_ADDR_OFF	0x040	/* RW  64 bit, DMA address of struct ohca_cmd_entry[depth] */
#define OHCA_REGS_CMDQ_CQ_ADDR_OFF	0x048	/* RW  64 bit, DMA address of struct ohca_cmd_completion[depth] */
#define OHCA_REGS_CMDQ_RECORD_ADDR_OFF	0x050	/* RW  64 bit, DMA address of struct ohca_cmdq_record */
#define OHCA_REGS_CMDQ_LOG_DEPTH_OFF	0x058	/* RW  log2(depth), OHCA_CMDQ_LOG_DEPTH_MIN..MAX */

/*
 * Kick page: a 32-bit write of any value at offset 0 wakes a sleeping device.
 * It has no other effect, so applications are given a mapping of it.
 */
#define OHCA_KICK_OFF			0x000	/* relative to OHCA_KICK_PAGE_OFF */

#define OHCA_MAGIC			0x4143484f	/* "OHCA" in memory order */
#define OHCA_INTERFACE_VERSION		1

/*
 * STATUS.  After RESET the register reads exactly READY.  FAILED is sticky
 * until the next RESET.  0 means a reset or ENABLE is in progress.
 */
#define OHCA_STATUS_READY		0x00000001
#define OHCA_STATUS_ENABLED		0x00000002
#define OHCA_STATUS_FAILED		0x00000004
#define OHCA_STATUS_GONE		0xffffffff	/* what a dead function reads as */

/* CONTROL.  One bit per write. */
#define OHCA_CONTROL_RESET		0x00000001	/* forget everything; also done by FLR */
#define OHCA_CONTROL_ENABLE		0x00000002	/* check features and command queue, then run */

/* FAIL_REASON. */
#define OHCA_FAIL_NONE			0
#define OHCA_FAIL_FEATURES		1	/* DRIVER_FEATURES has a bit not offered, or lacks a mandatory one */
#define OHCA_FAIL_CMDQ_CONFIG		2	/* command queue address or depth refused */
#define OHCA_FAIL_CMDQ_DMA		3	/* command queue memory is not reachable */
#define OHCA_FAIL_CMDQ_INDEX		4	/* producer index more than depth ahead */
#define OHCA_FAIL_ENGINE_DIED		5	/* the engine process ended; RESET starts a new one */
#define OHCA_FAIL_ENGINE_STUCK		6	/* the engine did not answer the broker and was ended */

/* Feature bits of DEVICE_FEATURES / DRIVER_FEATURES. */
#define OHCA_FEATURE_RC			0x0000000000000001ULL	/* mandatory: RC queue pairs */
#define OHCA_FEATURE_ATOMIC		0x0000000000000002ULL	/* 64-bit compare-swap, fetch-add */
#define OHCA_FEATURE_SEND_INV		0x0000000000000004ULL	/* SEND_WITH_INV */
#define OHCA_FEATURE_UC			0x0000000000000008ULL	/* UC queue pairs */
#define OHCA_FEATURE_UD			0x0000000000000010ULL	/* UD and GSI queue pairs */
#define OHCA_FEATURE_SRQ		0x0000000000000020ULL	/* shared receive queues */
#define OHCA_FEATURE_XRC		0x0000000000000040ULL	/* XRC domains, queue pairs and SRQs; needs SRQ */
#define OHCA_FEATURE_MULTICAST		0x0000000000000080ULL	/* ATTACH_MULTICAST; needs UD */
#define OHCA_FEATURE_RESIZE		0x0000000000000100ULL	/* RESIZE_CQ, RESIZE_SRQ */
#define OHCA_FEATURE_MODERATION		0x0000000000000200ULL	/* MODIFY_CQ */
#define OHCA_FEATURE_WINDOW		0x0000000000000400ULL	/* memory windows of type 1 and 2B */
#define OHCA_FEATURE_FAST_REG		0x0000000000000800ULL	/* REG_MR, LOCAL_INV */
#define OHCA_FEATURE_ZERO_BASED		0x0000000000001000ULL	/* OHCA_ACCESS_ZERO_BASED in REG_MR and BIND_MW */
#define OHCA_FEATURE_READ_INV		0x0000000000002000ULL	/* READ_INV; needs FAST_REG */
#define OHCA_FEATURE_MASKED_ATOMIC	0x0000000000004000ULL	/* MASKED_CAS, MASKED_FADD; needs ATOMIC */
#define OHCA_FEATURE_ATOMIC_WRITE	0x0000000000008000ULL	/* ATOMIC_WRITE */
#define OHCA_FEATURE_FLUSH		0x0000000000010000ULL	/* FLUSH */
#define OHCA_FEATURE_SG_GAPS		0x0000000000020000ULL	/* REG_MR of blocks of any length; needs FAST_REG */
#define OHCA_FEATURE_COMPOUND		0x0000000000040000ULL	/* CONNECT_QP, DISCONNECT_QP */
#define OHCA_FEATURE_RECYCLE		0x0000000000080000ULL	/* RESET_SRQ, INVALIDATE_MKEY */
#define OHCA_FEATURE_INTEGRITY		0x0000000000100000ULL	/* REG_MR_INTEGRITY; needs FAST_REG */
#define OHCA_FEATURES_MANDATORY		OHCA_FEATURE_RC
#define OHCA_FEATURES_ALL		0x00000000001fffffULL	/* every bit this version defines */

#endif /* OHCA_HW_REGS_H */
