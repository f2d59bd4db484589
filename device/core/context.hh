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
	BlockOffset addresses;       // uint64_t[page_count] if not contiguous, else 0
	uint64_t first_page_offset;
	uint64_t length;             // bytes usable from first_page_offset on
	uint32_t page_count;
	uint8_t log_page_size;
	uint8_t contiguous;
	uint16_t reserved;
};

struct PdContext {
	uint32_t live;
	uint32_t reference_count; // keys, queue pairs
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
	uint32_t overrun;         // events were lost and not yet reported
	uint32_t reserved;
};

struct CqContext {
	uint32_t live;
	uint32_t reference_count; // queue pairs, send and receive counted apart
	PageRange buffer;
	uint32_t eq;
	uint32_t producer;
	uint32_t consumer_seen;   // last value read from the record
	uint32_t arm_fired;       // arm value that raised the last event
	uint8_t log_depth;
	uint8_t flags;            // OHCA_CQ_*
	uint8_t overrun;          // in error: no further CQE is written
	uint8_t reserved;
};

struct MkeyContext {
	uint8_t live;
	uint8_t flags;            // OHCA_MKEY_*
	uint8_t consumer_key;
	uint8_t reserved;
	uint32_t access;          // OHCA_ACCESS_*
	uint32_t pd;
	uint32_t reserved2;
	uint64_t start;
	uint64_t length;
	PageRange pages;
};

struct GidContext {
	uint8_t gid[16];
	uint8_t mac[6];
	uint16_t vlan_id;
	uint32_t live;
	uint32_t reserved;
};

// One send WQE between fetch and retirement. Variable length blocks would save
// memory; a fixed ring per active queue pair is simpler and bounded.
// Defined by the transport (transport/send_window.hh).
struct SendWindowEntry;

// Responder resource: what a duplicate READ or atomic is answered from.
struct ResponderResource {
	uint32_t psn;             // of the request
	uint32_t psn_count;       // response packets
	uint8_t kind;             // 0 none, OHCA_WR_READ, OHCA_WR_CAS or OHCA_WR_FADD
	uint8_t reserved[3];
	uint32_t rkey;
	uint64_t address;
	uint64_t length_or_original; // READ: bytes; atomic: the value before
};

constexpr uint32_t kResponderResourceCount = 16;

// Geometry and position of the send and receive rings.
struct QueueRing {
	uint32_t offset;          // bytes into the buffer
	uint8_t log_depth;
	uint8_t log_stride;
	uint8_t present;
	uint8_t reserved;
};

// What the requester half of RC remembers. Owned by transport/.
struct RequesterContext {
	uint32_t fetch_index;     // next SQ index to be fetched from the ring
	uint32_t complete_index;  // oldest SQ index not completed
	uint32_t transmit_index;  // SQ index being transmitted (<= fetch_index)
	uint32_t next_psn;        // PSN of the next new request packet
	uint32_t unacked_psn;     // oldest PSN not acknowledged
	uint32_t transmit_psn;    // PSN to be transmitted next; < next_psn while retransmitting
	uint64_t transmit_offset; // bytes of the current message already transmitted
	uint64_t read_offset;     // bytes of the oldest READ already received
	uint32_t reads_outstanding;
	uint8_t retries_left;
	uint8_t rnr_retries_left;
	uint8_t rnr_waiting;
	uint8_t draining;         // SQD: no new message is started
	uint64_t timeout_at_ns;   // local ACK timeout, 0 = not running
	uint64_t rnr_until_ns;    // RNR wait, 0 = none
	BlockOffset window;       // SendWindowEntry[], allocated at first use
	uint32_t window_count;
	uint32_t credits;
};

// What the responder half of RC remembers. Owned by transport/.
struct ResponderContext {
	uint32_t expected_psn;
	uint32_t msn;
	uint32_t rq_index;        // next receive WQE
	uint8_t nak_sent;         // sequence NAK outstanding: further out-of-sequence packets are silent
	uint8_t in_message;       // opcode class of the message in progress, 0 = none
	uint8_t ack_pending;
	uint8_t ack_syndrome;
	uint32_t ack_psn;
	uint32_t recv_tag;        // receive WQE in use
	uint64_t recv_offset;     // bytes of the current SEND placed
	uint64_t write_address;   // current WRITE: where the next byte goes
	uint64_t write_remaining;
	uint32_t write_rkey;
	uint8_t recv_active;
	uint8_t recv_sge_count;
	uint8_t communication_established;
	uint8_t resource_head;    // oldest of resources
	BlockOffset recv_sges;    // struct ohca_sge[max_recv_sge] of the receive WQE in use
	BlockOffset resources;    // ResponderResource[kResponderResourceCount], at first use
	uint32_t read_response_pending; // resources still to be answered
	uint32_t reserved;
	uint64_t read_response_offset;
};

struct QpContext {
	uint32_t live;
	uint32_t qpn;
	uint8_t type;
	uint8_t flags;            // OHCA_QP_*
	uint8_t state;            // OHCA_QP_STATE_*
	uint8_t error_status;     // OHCA_CQE_STATUS_* that broke it, for the first failed WQE
	uint32_t pd;
	uint32_t send_cq;
	uint32_t recv_cq;
	uint32_t uar;
	uint32_t uar_slot;
	uint32_t slot_next;       // next qpn in the slot's list, 0 = end
	uint32_t slot_previous;
	uint32_t active_next;     // next qpn in the engine's active list
	uint32_t active;          // in the active list
	uint32_t reserved;
	PageRange buffer;
	QueueRing sq;
	QueueRing rq;
	uint32_t sq_producer_seen;
	uint32_t rq_producer_seen;
	struct ohca_qp_attributes attributes; // as last set, little endian
	RequesterContext requester;
	ResponderContext responder;
};

static_assert(sizeof(QpContext) <= 1024, "an idle queue pair must stay cheap");
static_assert(std::is_trivial_v<QpContext> && std::is_standard_layout_v<QpContext>);

} // namespace ohca::core
