// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// Context memory: everything a function's HCA must remember, as plain structs
// at fixed places in one memory range that outlives the engine process (design
// D3).  Indices and offsets instead of pointers, no constructors with effects,
// all-zero is the state after reset.  A new engine continues from here.
//
// Host order, native alignment: only processes of one ohcad build look at it.
#pragma once

#include <cstdint>
#include <type_traits>

#include <rdma/ohca_hw.h>

namespace ohca::core {

// Offset of a block in context memory, 0 = none.
using BlockOffset = uint64_t;

// Copied page list of a queue or key. One page list entry is a bus address.
struct PageRange {
	uint64_t contiguous_address; // page 0 if contiguous
	BlockOffset addresses;       // uint64_t[page_count] if not contiguous, else 0; blocks: BusBlock[]
	uint64_t first_page_offset;
	uint64_t length;             // bytes usable from first_page_offset on
	uint32_t page_count;
	uint8_t log_page_size;       // 0: blocks of any length
	uint8_t contiguous;
	uint16_t reserved;
};

// One block of a range that is not made of pages.
struct BusBlock {
	uint64_t address;
	uint64_t end; // bytes from the start of the range to the end of this block
};

// The function itself: what is not an object.
struct FunctionContext {
	uint32_t enabled;
	uint32_t failure;         // OHCA_FAIL_*: why it stopped by itself
	uint64_t features;        // negotiated
	uint64_t cmdq_sq_address;
	uint64_t cmdq_cq_address;
	uint64_t cmdq_record_address;
	uint32_t cmdq_log_depth;
	uint32_t cmdq_consumer;   // next entry to be fetched
	uint32_t cmdq_completed;  // next completion to be written
	uint32_t cmdq_in_progress; // fetched and not completed: each has a place in the completion ring
	uint32_t async_eq;        // handle, 0 = none
	uint32_t port_active;
	uint32_t port_max_mtu;    // bytes
	uint32_t active_head;     // queue pairs with something to transmit, 0 = none. Engine only
	uint32_t active_tail;
	uint64_t eq_pending;      // bit i: EQ i + 1 has completion events that wait, or lost some
	uint64_t cmdq_busy_slots[(1 << OHCA_CMDQ_LOG_DEPTH_MAX) / 64]; // of the commands in progress
};

struct PdContext {
	uint32_t live;
	uint32_t reference_count; // keys, queue pairs, SRQs
};

struct XrcdContext {
	uint32_t live;
	uint32_t reference_count; // XRC SRQs, XRC_TGT queue pairs
};

struct UarContext {
	uint32_t live;
	uint32_t reference_count; // queue pairs
	uint32_t slot_cursor;     // where the search for a lightly used slot goes on
	uint32_t reserved;
	BlockOffset slot_heads;   // uint32_t[OHCA_UAR_SLOT_COUNT], first qpn of the slot's list or 0
};

struct EqContext {
	uint32_t live;
	uint32_t reference_count; // CQs
	PageRange buffer;
	uint32_t producer;
	uint8_t log_depth;
	uint8_t type;             // OHCA_EQ_*
	uint16_t vector;
	uint32_t overrun;         // async EQ: events were lost and not yet reported
	uint32_t pending_head;    // completion EQ: CQs whose event waits for room in the ring, 0 = none
	uint32_t pending_tail;
	uint32_t reserved;
};

struct CqContext {
	uint32_t live;
	uint32_t reference_count; // queue pairs, send and receive counted apart; XRC SRQs
	PageRange buffer;
	uint32_t eq;
	uint32_t producer;
	uint32_t consumer_seen;   // last value read from the record
	uint32_t arm_fired;       // arm value that raised the last event
	uint8_t log_depth;
	uint8_t flags;            // OHCA_CQ_*
	uint8_t overrun;          // in error: no further CQE is written
	uint8_t event_pending;    // in the EQ's list of CQs whose event waits
	uint32_t event_next;      // next cqn of that list, 0 = end
	uint32_t cqn;
	uint16_t moderation_count;     // CQEs per event; 0: at once, and the period is 0, too
	uint16_t moderation_period_us;
	uint32_t unreported;      // with moderation: CQEs written since the last event
	uint32_t held_arm;        // arm value whose event is held back by moderation
	uint32_t event_held;      // there is one
	uint64_t unreported_since_ns; // when the first of `unreported` was written
	uint32_t timer_bucket;    // as in QpContext. Engine only
	uint32_t timer_next;
	uint32_t timer_previous;
	uint64_t timer_at_ns;
};

// A command that completes later than it was executed.
struct DeferredCommand {
	uint32_t pending;         // there is one
	uint16_t slot;
	uint16_t reserved;
	uint32_t generation;      // little endian, as in its entry
};

// Geometry and position of a ring of WQEs.
struct QueueRing {
	uint32_t offset;          // bytes into the buffer
	uint8_t log_depth;
	uint8_t log_stride;
	uint8_t present;
	uint8_t reserved;
};

struct SrqContext {
	uint32_t live;
	uint32_t reference_count; // queue pairs that were created with it
	PageRange buffer;
	QueueRing ring;
	uint32_t pd;              // of the L_Keys in its WQEs
	uint32_t xrcd;            // XRC SRQ: its domain, else 0
	uint32_t cq;              // XRC SRQ: where its WQEs complete, else 0
	uint32_t consumer;        // index of the next WQE to be taken
	uint32_t producer_seen;   // last value read from the record
	uint32_t limit;           // an event is due when fewer WQEs are left; 0 = none wanted
	uint32_t broken;          // its memory or ring is garbage: no WQE is taken any more
};

// MkeyContext.flags, beside OHCA_MKEY_*. A key with any flag leaves the short way of check_key().
constexpr uint8_t kMkeyFlagIntegrity = 0x20; // its address space is the wire domain of an IntegrityContext
constexpr uint8_t kMkeyFlagFree = 0x40;   // not valid now: any type but REGION
constexpr uint8_t kMkeyFlagWindow = 0x80; // translates through the region it is bound to

// Of a window that is valid.
struct WindowBinding {
	uint64_t region_offset;   // of its first byte in the region
	uint32_t region;          // key index; that key counts it in window_count
	uint32_t qpn;             // type 2B: the queue pair that has bound it
	uint32_t next;            // type 2B: windows of that queue pair (QpContext.window_head), 0 = end
	uint32_t previous;
};

// What protects the data of a domain (struct ohca_signature_domain, host order).
struct SignatureDomain {
	uint8_t type;             // OHCA_SIGNATURE_*
	uint8_t guard_type;       // OHCA_GUARD_*
	uint8_t flags;            // OHCA_SIGNATURE_REF_*, OHCA_SIGNATURE_APP_*
	uint8_t reserved;
	uint16_t guard_seed;
	uint16_t app_tag;
	uint16_t app_tag_mask;
	uint16_t reserved_2;
	uint32_t ref_tag;
};

// Of an INTEGRITY key that is valid and has a signature in a domain (mem/protected_stream.hh).
struct IntegrityContext {
	PageRange protection;     // tuples in memory; page_count 0: each follows its interval, among the data
	uint64_t status_address;  // struct ohca_integrity_status
	uint64_t guard_end;       // data bytes up to here, since the start of their interval, are in both guards
	SignatureDomain memory;
	SignatureDomain wire;
	uint32_t key;
	uint32_t interval;        // bytes
	uint16_t memory_guard;
	uint16_t wire_guard;
	uint8_t tuple[8];         // from the wire, until it is complete
	uint8_t check_mask;
	uint8_t failed;           // an error has been reported
	uint16_t reserved;
};

struct MkeyContext {
	uint8_t live;
	uint8_t flags;            // OHCA_MKEY_*, kMkeyFlag*
	uint8_t consumer_key;
	uint8_t type;             // OHCA_MKEY_TYPE_*
	uint32_t access;          // OHCA_ACCESS_*
	uint32_t pd;
	uint32_t window_count;    // regions: windows that are bound to it
	uint64_t start;
	uint64_t length;
	union {
		PageRange pages;       // regions
		WindowBinding binding; // windows
	};
	BlockOffset list;         // FAST_REGION, INTEGRITY: room for list_entry_max entries; pages may refer to it.
				  // INTEGRITY: and an IntegrityContext behind them
	uint32_t list_entry_max;
	uint32_t reserved;
};

struct GidContext {
	uint8_t gid[16];
	uint8_t mac[6];
	uint16_t vlan_id;
	uint32_t live;
	uint32_t reserved;
};

// A group that has members.
struct MulticastGroupContext {
	uint32_t live;
	uint32_t member_count;
	uint8_t gid[16];
	BlockOffset members;      // uint32_t[kMulticastQpsMax], queue pair numbers
};

// Responder resource: what a READ or atomic, or a duplicate of it, is answered from
// (transport/responder_resources.hh).
struct ResponderResource {
	uint32_t psn;             // of the request, also of its first response packet
	uint32_t psn_count;       // response packets
	uint32_t respond_psn;     // next response packet to be transmitted, while pending
	uint8_t kind;             // OHCA_WR_READ, an atomic, ATOMIC_WRITE or FLUSH; 0 none
	uint8_t pending;          // to be answered (again)
	uint8_t answered;         // has been answered completely at least once
	uint8_t reserved;
	uint32_t rkey;
	uint32_t srq;             // XRC: that the request named, else 0
	uint64_t address;
	uint64_t length_or_original; // READ: bytes; atomic: the value before
};

constexpr uint32_t kResponderResourceCount = 16;

// What the requester half of RC remembers. Owned by transport/.
// Order on the send queue: complete_index <= transmit_index <= fetch_index, at most
// window_count apart. Order of PSNs: unacked_psn <= sent_psn <= next_psn, at most 2^23 apart.
struct RequesterContext {
	uint32_t fetch_index;     // next SQ index to be fetched from the ring
	uint32_t complete_index;  // oldest SQ index not completed
	uint32_t transmit_index;  // SQ index being transmitted
	uint32_t next_psn;        // PSN of the next message to be started
	uint32_t sent_psn;        // after the highest PSN ever transmitted
	uint32_t unacked_psn;     // oldest PSN not acknowledged (READ: data not received)
	uint64_t transmit_offset; // bytes of the message at transmit_index already transmitted
	uint32_t reads_outstanding; // READs and atomics started and not completed
	uint8_t retries_left;
	uint8_t rnr_retries_left;
	uint8_t draining;         // in SQD and SQ_DRAINED not yet reached
	uint8_t read_retried;     // an implied NAK has been acted on, no progress since
	uint8_t transmitted;      // UC, UD: the oldest WQE has been handed over and is to be completed
	uint8_t transmitted_opcode; // OHCA_WR_*
	uint8_t transmitted_signaled; // with a CQE
	uint8_t reserved;
	uint64_t timeout_at_ns;   // local ACK timeout, 0 = not running
	uint64_t rnr_until_ns;    // RNR wait, or pause of UC and UD, 0 = none
	BlockOffset window;       // SendWindowEntry[] (transport/send_window.hh), at first use
	uint32_t window_count;    // entries, a power of two
	uint32_t window_stride;   // bytes of an entry with its payload
};

// What the responder half of RC remembers. Owned by transport/.
struct ResponderContext {
	uint32_t expected_psn;
	uint32_t msn;
	uint32_t rq_index;        // next WQE of the queue pair's own receive queue to be taken
	uint32_t request_srq;     // XRC_TGT: the SRQ that the message in progress, or the last one, names
	uint8_t in_message;       // SegmentKind of the SEND or WRITE in progress, 0 = none
	uint8_t nak_sent;         // packets ahead of expected_psn are dropped silently
	uint8_t ack_pending;      // an ACK or NAK is to be transmitted after all responses
	uint8_t ack_syndrome;     // AETH (transport/aeth.hh)
	uint32_t ack_psn;         // of a NAK; an ACK is for expected_psn - 1
	uint32_t message_length;  // bytes of the message in progress received so far
	uint64_t write_address;   // current WRITE: where the next byte goes
	uint64_t write_remaining;
	uint32_t write_rkey;
	uint32_t recv_tag;        // of the receive WQE in use
	uint64_t recv_length;     // bytes it can take
	BlockOffset recv_sges;    // ohca_sge[kReceiveSgeMax] of it, at the first message of several segments
	uint8_t recv_active;      // a receive WQE has been taken and is not completed yet
	uint8_t recv_sge_count;
	uint8_t communication_established;
	uint8_t resource_head;    // oldest of resources
	uint8_t resource_count;   // in use
	uint8_t resource_pending; // number of resources with pending set
	uint8_t message_lost;     // UC: the rest of the message is dropped
	uint8_t wqe_seen;         // UC, UD: a message has found a receive WQE since RESET
	BlockOffset resources;    // ResponderResource[kResponderResourceCount], at first use
	uint64_t starved_since_ns; // UC, UD: a message has found no receive WQE since, 0 = it is not so
};

struct QpContext {
	uint32_t live;
	uint32_t qpn;
	uint8_t type;
	uint8_t flags;            // OHCA_QP_*
	uint8_t state;            // OHCA_QP_STATE_*
	uint8_t error_status;     // OHCA_CQE_STATUS_* that broke it, for the first failed WQE
	uint32_t pd;              // XRC_TGT: that of the SRQ named by the last request
	uint32_t send_cq;
	uint32_t recv_cq;
	uint32_t srq;             // where it receives, 0 = its own queue, if any. XRC_TGT: 0
	uint32_t xrcd;            // XRC_TGT: its domain, else 0
	uint32_t multicast_count; // groups it is attached to
	uint32_t uar;
	uint32_t uar_slot;
	uint32_t slot_next;       // next qpn in the slot's list, 0 = end
	uint32_t slot_previous;
	uint32_t active_next;     // next qpn in the function's active list, 0 = end. Engine only
	uint32_t active_previous;
	uint32_t active;          // in the active list
	uint32_t timer_bucket;    // bucket of the function's timer wheel + 1, 0 = not in it. Engine only
	uint32_t timer_next;      // next qpn in the bucket, 0 = end
	uint32_t timer_previous;
	uint64_t timer_at_ns;     // when the wheel looks at it; never later than poll_timeout()
	uint32_t route_function;  // engine's index of the function that holds dgid
	uint32_t route_generation; // of the engine's GID map when it was looked up, 0 = never
	PageRange buffer;
	QueueRing sq;
	QueueRing rq;
	uint32_t sq_producer_seen;
	uint32_t rq_producer_seen;
	uint64_t flush_at_ns;     // ERR, SQE: when the rings are looked at next, 0 = not by time
	uint32_t flush_interval_ns; // grows while nothing is posted
	uint32_t window_head;     // type 2B windows that it has bound (WindowBinding), 0 = none
	uint32_t flushing;        // ERR: the last step has left something to be flushed
	DeferredCommand disconnect; // DISCONNECT_QP, completes when nothing is left
	struct ohca_qp_attributes attributes; // as last set, little endian
	RequesterContext requester;
	ResponderContext responder;
};

inline bool is_datagram(const QpContext &qp)
{
	return qp.type == OHCA_QP_TYPE_UD || qp.type == OHCA_QP_TYPE_GSI;
}

// Neither acknowledges nor retransmits.
inline bool is_unreliable(const QpContext &qp)
{
	return qp.type == OHCA_QP_TYPE_UC || is_datagram(qp);
}

static_assert(sizeof(QpContext) <= 1024, "an idle queue pair must stay cheap");
static_assert(std::is_trivial_v<QpContext> && std::is_standard_layout_v<QpContext>);

} // namespace ohca::core
