/* SPDX-License-Identifier: ((GPL-2.0 WITH Linux-syscall-note) OR Linux-OpenIB) */
/*
 * Data path: UAR pages, doorbell records, WQEs, CQEs
 * (provider, and driver for kernel queue pairs <-> device).
 *
 * Nothing here needs a system call or a trapped access, save the kick of a
 * sleeping device.
 */
#ifndef OHCA_HW_IO_H
#define OHCA_HW_IO_H

#include <linux/types.h>

/*
 * UAR page (BAR2, OHCA_UAR_SIZE each; UAR 0 is the kernel's).
 *
 * A queue that has work is announced by the bit of its slot:
 *   1. producer index into the doorbell record     (store release)
 *   2. notify[slot / 64] |= 1 << (slot % 64)       (atomic OR, sequentially consistent)
 *   3. summary |= 1 << (slot / 64)                (likewise; may be left out if the bit was
 *      set before and the processor's atomics are atomic towards the device)
 *   4. if need_wakeup is set: write the kick page
 * The device exchanges summary, then the notify words it names, by 0, and
 * reads the doorbell records of the queues behind the bits.  Before it sleeps
 * it sets need_wakeup in all live UARs, fences, and scans once more.
 *
 * Several queues may share a slot.  Slot 0 of UAR 0 is the command queue.
 */
#define OHCA_UAR_SIZE			4096
#define OHCA_UAR_SLOT_COUNT		4096
#define OHCA_UAR_NOTIFY_WORDS		64
#define OHCA_UAR_CMDQ_SLOT		0	/* in UAR 0 */

struct ohca_uar {
	__le32 need_wakeup;		/* device writes: 1 asleep (kick needed), 0 scanning */
	__le32 device_state;		/* OHCA_UAR_DEVICE_*; driver or device writes */
	__u8   reserved_40[56];
	__le64 summary;			/* bit i: notify[i] is not 0. Host sets, device clears */
	__u8   reserved_240[440];
	__le64 notify[OHCA_UAR_NOTIFY_WORDS];	/* bit j of word i: slot 64 i + j. Host sets, device clears */
	__u8   reserved_2000[3072];
};

/*
 * ohca_uar.device_state: FAILED tells pollers that no completion will ever come.
 * It is what a zeroed page says: one that a reset has cleared, or that the
 * kernel has put in place of a mapping it had to revoke.  The driver writes
 * RUNNING before it hands a new page out.
 */
#define OHCA_UAR_DEVICE_FAILED		0
#define OHCA_UAR_DEVICE_RUNNING		1

/*
 * Queue buffers.  A queue pair's or a CQ's buffer is one DMA-able range,
 * described to the device by a page list at creation:
 *   QP: struct ohca_qp_record at offset 0, SQ ring at sq_offset, RQ ring at rq_offset
 *   SRQ: struct ohca_srq_record at offset 0, ring at ring_offset
 *   CQ: struct ohca_cq_record at offset 0, CQE ring at OHCA_CQ_RING_OFFSET
 * sq_offset, rq_offset and ring_offset are multiples of the ring's stride, so that no entry
 * crosses a page.  The buffer is zeroed by the host before creation.
 */
#define OHCA_RECORD_SIZE		64
#define OHCA_CQ_RING_OFFSET		64

struct ohca_qp_record {
	__le32 sq_producer;		/* index after the last posted send WQE. Host writes */
	__le32 rq_producer;		/* index after the last posted receive WQE. Host writes */
	__u8   reserved_40[56];
};

/*
 * The device takes WQEs of an SRQ in the order of the ring, and copies each
 * when it takes it.  They complete in any order, so the host keeps no more
 * than the ring's depth outstanding and tells them apart by their tags.
 */
struct ohca_srq_record {
	__le32 producer;		/* index after the last posted receive WQE. Host writes */
	__u8   reserved_20[60];
};

struct ohca_cq_record {
	__le32 consumer;		/* index of the next CQE the host will look at. Host writes */
	__le32 arm;			/* OHCA_CQ_ARM_* | sequence << OHCA_CQ_ARM_SEQUENCE_SHIFT. Host writes */
	__le32 fired;			/* the arm value that last raised an event. Device writes */
	__u8   reserved_60[52];
};

/*
 * CQ arming.  The host writes a new sequence each time.  After the device has
 * written a CQE it fences and compares arm with the value that fired last; if
 * they differ and the type matches the CQE, it posts one completion event and
 * stores the value to `fired`.  Pairs with the host's fence between arming and
 * polling once more.
 */
#define OHCA_CQ_ARM_TYPE_MASK		0x00000003
#define OHCA_CQ_ARM_NONE		0
#define OHCA_CQ_ARM_SOLICITED		1	/* solicited receive, or any CQE with an error */
#define OHCA_CQ_ARM_NEXT		2	/* any CQE */
#define OHCA_CQ_ARM_SEQUENCE_SHIFT	2

/*
 * Send WQE.  Slots have a fixed stride per queue, a power of two from
 * OHCA_SQ_STRIDE_MIN to OHCA_SQ_STRIDE_MAX bytes.  After the header follow, on
 * datagram queue pairs, struct ohca_wqe_datagram, and then
 *   num_sge scatter/gather elements                      (SEND*, WRITE*, READ*, ATOMIC_WRITE)
 *   inline_length bytes of payload, if OHCA_WQE_INLINE   (SEND*, WRITE*, ATOMIC_WRITE)
 *   struct ohca_wqe_atomic, then one element             (CAS, FADD)
 *   struct ohca_wqe_masked_atomic, then one element      (MASKED_CAS, MASKED_FADD)
 *   struct ohca_wqe_flush                                (FLUSH)
 *   struct ohca_wqe_bind                                 (BIND_MW)
 *   struct ohca_wqe_register                             (REG_MR)
 *   struct ohca_wqe_register_integrity                   (REG_MR_INTEGRITY)
 *   nothing                                              (LOCAL_INV)
 * A field that the opcode does not use is 0.
 */
#define OHCA_SQ_STRIDE_MIN		64
#define OHCA_SQ_STRIDE_MAX		2048
#define OHCA_RQ_STRIDE_MIN		32
#define OHCA_RQ_STRIDE_MAX		1024

struct ohca_sge {
	__le64 address;			/* in the address space of the key */
	__le32 length;			/* bytes; 0 means 0 */
	__le32 lkey;
};

struct ohca_sq_wqe {
	__u8   opcode;			/* OHCA_WR_* */
	__u8   flags;			/* OHCA_WQE_* */
	__u8   num_sge;			/* 0 with OHCA_WQE_INLINE */
	__u8   reserved_18;
	__le32 inline_length;		/* bytes; 0 without OHCA_WQE_INLINE */
	__be32 immediate;		/* *_IMM: as on the wire */
	__le32 invalidate_key;		/* SEND_INV: the peer's; READ_INV, LOCAL_INV: one's own */
	__le64 remote_address;		/* WRITE*, READ*, atomics, ATOMIC_WRITE, FLUSH */
	__le32 rkey;			/* likewise; BIND_MW, REG_MR*: the key from now on */
	__le32 remote_srqn;		/* XRC_INI: the peer's SRQ; 0 otherwise */
};

/* UD and GSI: where to. What an address handle holds, and the peer's queue pair. */
struct ohca_wqe_datagram {
	__le32 remote_qpn;		/* 24 bits; OHCA_QPN_MULTICAST */
	__le32 remote_qkey;		/* bit 31 set: the queue pair's own Q_Key is sent (IBTA 10.2.5) */
	__le32 pd;			/* of the address handle; must be the queue pair's */
	__le32 flow_label;		/* 20 bits */
	__u8   dgid[16];
	__u8   dmac[6];
	__u8   sgid_index;
	__u8   hop_limit;
	__u8   traffic_class;
	__u8   service_level;
	__le16 source_udp_port;		/* RoCEv2; 0 lets the device choose */
	__le16 pkey_index;		/* GSI; 0 otherwise */
	__u8   reserved_170[2];
};

#define OHCA_QPN_MULTICAST		0xffffff

struct ohca_wqe_atomic {
	__le64 operand;			/* CAS: swap value; FADD: addend. In host byte order of the target */
	__le64 compare;			/* CAS: expected value; FADD: 0 */
};

/*
 * MASKED_CAS: if ((*target ^ compare) & compare_mask) == 0, the bits of swap_mask are
 * replaced by those of operand.  MASKED_FADD: operand is added, and a carry out of a bit
 * that is set in boundary_mask is dropped; compare and compare_mask are 0.
 */
struct ohca_wqe_masked_atomic {
	__le64 operand;
	__le64 compare;
	union {
		__le64 swap_mask;
		__le64 boundary_mask;
	};
	__le64 compare_mask;
};

/* FLUSH (IBTA 9.4.10): earlier writes to the range, or to the region, reach their placement. */
struct ohca_wqe_flush {
	__le32 length;			/* bytes at remote_address; OHCA_FLUSH_REGION: 0 */
	__u8   placement;		/* OHCA_FLUSH_GLOBAL | OHCA_FLUSH_PERSISTENT, at least one */
	__u8   selectivity;		/* OHCA_FLUSH_RANGE, OHCA_FLUSH_REGION */
	__u8   reserved_30[10];
};

#define OHCA_FLUSH_GLOBAL		0x01
#define OHCA_FLUSH_PERSISTENT		0x02
#define OHCA_FLUSH_RANGE		0
#define OHCA_FLUSH_REGION		1

/*
 * BIND_MW: the window whose index is that of ohca_sq_wqe.rkey covers the range of the
 * region and has that key.  Type 1: length 0 unbinds.
 */
struct ohca_wqe_bind {
	__le64 address;			/* in the region's address space */
	__le64 length;			/* bytes */
	__le32 lkey;			/* of the region */
	__le32 access;			/* OHCA_ACCESS_REMOTE_*, OHCA_ACCESS_FLUSH_*, OHCA_ACCESS_ZERO_BASED */
	__u8   reserved_c0[8];
};

/*
 * REG_MR: the free fast-registration key whose index is that of ohca_sq_wqe.rkey
 * becomes valid, with that consumer key.  The list is read when the WQE is executed.
 */
struct ohca_wqe_register {
	__le64 start;			/* first address in the key's address space */
	__le64 length;			/* bytes */
	__le64 list_address;		/* DMA address of the list */
	__le64 first_page_offset;	/* bytes into page 0; blocks: 0 */
	__le32 entry_count;		/* of the list; at most what CREATE_MKEY was given */
	__le32 access;			/* OHCA_ACCESS_* */
	__u8   log_page_size;		/* 12..63: __le64[]; 0: struct ohca_block[] */
	__u8   reserved_148[7];
};

struct ohca_block {
	__le64 address;			/* DMA address, any alignment */
	__le64 length;			/* bytes, not 0 */
};

/*
 * What protects the data of a domain: T10-DIF, 8 bytes for each interval of data.
 * A field that the type does not use is 0.
 */
struct ohca_signature_domain {
	__u8   type;			/* OHCA_SIGNATURE_* */
	__u8   guard_type;		/* OHCA_GUARD_* */
	__u8   flags;			/* OHCA_SIGNATURE_REF_*, OHCA_SIGNATURE_APP_* */
	__u8   reserved_18;
	__le16 guard_seed;		/* the guard of no data at all */
	__le16 app_tag;
	__le16 app_tag_mask;		/* bits of the application tag that are checked */
	__u8   reserved_50[2];
	__le32 ref_tag;			/* of the first interval */
};

#define OHCA_SIGNATURE_NONE		0
#define OHCA_SIGNATURE_T10_DIF		1
#define OHCA_GUARD_CRC			0	/* CRC-16, polynomial 0x8bb7 */
#define OHCA_GUARD_IP_CHECKSUM		1	/* RFC 1071 */
#define OHCA_SIGNATURE_REF_INCREMENT	0x01	/* the reference tag grows by 1 each interval */
#define OHCA_SIGNATURE_APP_ESCAPE	0x02	/* no check of an interval whose application tag is all ones */
#define OHCA_SIGNATURE_REF_ESCAPE	0x04	/* likewise its reference tag; with APP_ESCAPE: if both are */
#define OHCA_SIGNATURE_FLAGS_ALL	0x07

/* Protection information of an interval, as in memory and on the wire. */
struct ohca_t10_tuple {
	__be16 guard;
	__be16 app_tag;
	__be32 ref_tag;
};

/*
 * REG_MR_INTEGRITY: the free INTEGRITY key whose index is that of ohca_sq_wqe.rkey becomes
 * valid, with that consumer key.  The list is read when the WQE is executed: first the blocks
 * of the data, then those of the protection information in memory.
 */
struct ohca_wqe_register_integrity {
	__le64 start;			/* first address in the key's address space */
	__le64 list_address;		/* DMA address of struct ohca_block[] */
	__le64 status_address;		/* DMA address of struct ohca_integrity_status */
	__le32 data_entry_count;	/* both together: at most what CREATE_MKEY was given */
	__le32 protection_entry_count;	/* 0: each tuple follows its interval, among the data */
	__le32 access;			/* OHCA_ACCESS_* */
	__le32 interval;		/* bytes of data with a tuple; 0 if neither domain has any */
	__u8   check_mask;		/* bytes of a tuple that are checked; bit 7: the first one */
	__u8   reserved_148[7];
	struct ohca_signature_domain memory;
	struct ohca_signature_domain wire;
};

#define OHCA_INTEGRITY_INTERVAL_MIN	512	/* bytes */
#define OHCA_INTEGRITY_INTERVAL_MAX	65528
#define OHCA_INTEGRITY_INTERVAL_UNIT	8	/* an interval is a multiple of it */

/* The first tuple that was wrong.  The device writes it before the CQE of the transfer. */
struct ohca_integrity_status {
	__le32 error;			/* OHCA_INTEGRITY_*. The host writes NONE before REG_MR_INTEGRITY */
	__le32 key;			/* the key then */
	__le32 expected;		/* guard or tag */
	__le32 actual;
	__le64 interval_index;		/* which one, from 0 */
};

#define OHCA_INTEGRITY_NONE		0
#define OHCA_INTEGRITY_BAD_GUARD	1
#define OHCA_INTEGRITY_BAD_REF_TAG	2
#define OHCA_INTEGRITY_BAD_APP_TAG	3

/* Opcodes of send WQEs. 0 is invalid so that an unwritten slot is caught. */
#define OHCA_WR_SEND			0x01
#define OHCA_WR_SEND_IMM		0x02
#define OHCA_WR_SEND_INV		0x03
#define OHCA_WR_WRITE			0x04
#define OHCA_WR_WRITE_IMM		0x05
#define OHCA_WR_READ			0x06
#define OHCA_WR_CAS			0x07
#define OHCA_WR_FADD			0x08
#define OHCA_WR_READ_INV		0x09
#define OHCA_WR_MASKED_CAS		0x0a
#define OHCA_WR_MASKED_FADD		0x0b
#define OHCA_WR_ATOMIC_WRITE		0x0c	/* 8 bytes, at once */
#define OHCA_WR_FLUSH			0x0d
#define OHCA_WR_BIND_MW			0x0e
#define OHCA_WR_REG_MR			0x0f
#define OHCA_WR_LOCAL_INV		0x10
#define OHCA_WR_REG_MR_INTEGRITY	0x11

/* ohca_sq_wqe.flags */
#define OHCA_WQE_SIGNALED		0x01	/* post a CQE on success, too */
#define OHCA_WQE_SOLICITED		0x02
#define OHCA_WQE_FENCE			0x04	/* wait for earlier READs and atomics */
#define OHCA_WQE_INLINE			0x08
#define OHCA_WQE_FLAGS_ALL		0x0f

/* Receive WQE: this header, then num_sge elements. */
struct ohca_rq_wqe {
	__u8   num_sge;
	__u8   reserved_8[3];
	__le32 tag;			/* echoed in ohca_cqe.wqe_index */
	__le64 reserved_40;
};

/* Completion queue entry. The device writes owner last (store release). */
struct ohca_cqe {
	__le64 timestamp_ns;		/* device clock when the CQE was written */
	__le32 qpn;			/* 24 bits */
	__le32 wqe_index;		/* send: SQ index of the WQE, retiring all up to it; receive: its tag */
	__le32 byte_length;		/* receive, READ, atomics: bytes received */
	union {
		__be32 immediate;	/* OHCA_CQE_WITH_IMM */
		__le32 invalidated_rkey;	/* OHCA_CQE_WITH_INV */
	};
	__le32 src_qp;			/* receive: QP number of the sender */
	__u8   status;			/* OHCA_CQE_STATUS_* */
	__u8   opcode;			/* OHCA_WR_*: of the WQE (send), of the message (receive) */
	__u8   flags;			/* OHCA_CQE_* */
	__u8   reserved_f8;
	__le32 vendor_error;		/* OHCA_VENDOR_ERROR_*: detail of an error status */
	/* Datagrams (OHCA_CQE_WITH_GRH): where from. The GRH is in the first 40 bytes of the buffer. */
	__u8   source_mac[6];
	__le16 vlan_id;			/* OHCA_VLAN_NONE or 0..4095 */
	__u8   service_level;
	__u8   network_header;		/* OHCA_NETWORK_HEADER_* */
	__le16 pkey_index;
	__le32 srqn;			/* OHCA_CQE_FROM_SRQ: whose tag wqe_index is */
	__u8   reserved_1a0[11];
	__u8   owner;			/* bit 0: phase, 1 in the first pass, then toggling; rest 0 */
};

#define OHCA_CQE_RECEIVE		0x01	/* from the receive queue */
#define OHCA_CQE_WITH_IMM		0x02
#define OHCA_CQE_WITH_INV		0x04
#define OHCA_CQE_SOLICITED		0x08
#define OHCA_CQE_WITH_GRH		0x10
#define OHCA_CQE_FROM_SRQ		0x20
#define OHCA_CQE_PHASE			0x01	/* in owner */

#define OHCA_VLAN_NONE			0xffff
#define OHCA_GRH_SIZE			40
#define OHCA_NETWORK_HEADER_NONE	0	/* not a datagram */
#define OHCA_NETWORK_HEADER_IPV4	1	/* 20 undefined bytes, then the header (RoCEv2 annex, A17.4.5.1) */
#define OHCA_NETWORK_HEADER_IPV6	2

/* ohca_cqe.status; the same set, in the same sense, as enum ib_wc_status. */
#define OHCA_CQE_STATUS_SUCCESS			0
#define OHCA_CQE_STATUS_LOCAL_LENGTH		1
#define OHCA_CQE_STATUS_LOCAL_QP_OPERATION	2
#define OHCA_CQE_STATUS_LOCAL_PROTECTION	3
#define OHCA_CQE_STATUS_FLUSHED			4
#define OHCA_CQE_STATUS_MW_BIND			5
#define OHCA_CQE_STATUS_BAD_RESPONSE		6
#define OHCA_CQE_STATUS_LOCAL_ACCESS		7
#define OHCA_CQE_STATUS_REMOTE_INVALID_REQUEST	8
#define OHCA_CQE_STATUS_REMOTE_ACCESS		9
#define OHCA_CQE_STATUS_REMOTE_OPERATION	10
#define OHCA_CQE_STATUS_RETRY_EXCEEDED		11
#define OHCA_CQE_STATUS_RNR_RETRY_EXCEEDED	12
#define OHCA_CQE_STATUS_REMOTE_ABORTED		13
#define OHCA_CQE_STATUS_FATAL			14
#define OHCA_CQE_STATUS_GENERAL			15
#define OHCA_CQE_STATUS_COUNT			16

/* ohca_cqe.vendor_error: which check failed. Diagnosis only. */
#define OHCA_VENDOR_ERROR_NONE			0
#define OHCA_VENDOR_ERROR_OPCODE		1	/* unknown or not allowed on this queue pair */
#define OHCA_VENDOR_ERROR_FLAGS			2	/* reserved bit or field set */
#define OHCA_VENDOR_ERROR_SGE_COUNT		3
#define OHCA_VENDOR_ERROR_LENGTH		4	/* message too long, or for the receive buffer */
#define OHCA_VENDOR_ERROR_KEY_INDEX		5	/* no such key */
#define OHCA_VENDOR_ERROR_KEY_STALE		6	/* consumer key differs, or key is free */
#define OHCA_VENDOR_ERROR_KEY_PD		7
#define OHCA_VENDOR_ERROR_KEY_ACCESS		8
#define OHCA_VENDOR_ERROR_KEY_RANGE		9
#define OHCA_VENDOR_ERROR_DMA			10	/* host memory not reachable */
#define OHCA_VENDOR_ERROR_RING_INDEX		11	/* producer index beyond the ring */
#define OHCA_VENDOR_ERROR_ALIGNMENT		12	/* atomic not on 8 bytes */
#define OHCA_VENDOR_ERROR_READ_ATOMIC_DEPTH	13	/* READ or atomic with max_rd_atomic 0 */
#define OHCA_VENDOR_ERROR_PSN			14
#define OHCA_VENDOR_ERROR_NAK			15	/* the responder refused */
#define OHCA_VENDOR_ERROR_UNREACHABLE		16	/* no such peer */
#define OHCA_VENDOR_ERROR_CQ_OVERRUN		17
#define OHCA_VENDOR_ERROR_ADDRESS_HANDLE	18	/* of another PD, or its GID index is empty */
#define OHCA_VENDOR_ERROR_MTU			19	/* datagram longer than the port's MTU */
#define OHCA_VENDOR_ERROR_KEY_STATE		20	/* key is valid and should be free, or the reverse */
#define OHCA_VENDOR_ERROR_KEY_BOUND		21	/* region has windows */
#define OHCA_VENDOR_ERROR_KEY_QP		22	/* window belongs to another queue pair */
#define OHCA_VENDOR_ERROR_KEY_TYPE		23	/* not a key of the kind the operation needs */
#define OHCA_VENDOR_ERROR_SRQ			24	/* no such SRQ, or one of another XRC domain */
#define OHCA_VENDOR_ERROR_RECEIVE_EMPTY		25	/* no receive WQE where one is needed */

#endif /* OHCA_HW_IO_H */
