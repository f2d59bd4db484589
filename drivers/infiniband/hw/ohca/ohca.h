/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef OHCA_H
#define OHCA_H

#include <linux/completion.h>
#include <linux/io.h>
#include <linux/mutex.h>
#include <linux/netdevice.h>
#include <linux/refcount.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>

#include <rdma/ib_umem.h>
#include <rdma/ib_verbs.h>
#include <rdma/uverbs_ioctl.h>

#include <rdma/ohca-abi.h>
#include <rdma/ohca_hw.h>

#include "async.h"
#include "cmd.h"
#include "cmdq.h"
#include "fault.h"
#include "pool.h"

#define OHCA_DRIVER_NAME	"ohca"
#define OHCA_PORT		1
/* ohca_qp_attributes.sgid_index has 8 bits. */
#define OHCA_GID_COUNT_MAX	256
#define OHCA_PKEY_COUNT		1
#define OHCA_PKEY_DEFAULT	0xffff

/**
 * enum ohca_state - life cycle of a device, changed by ohca_change_state() only
 * @OHCA_STATE_NEW:      the function is mapped; nothing may be submitted
 * @OHCA_STATE_LIVE:     commands and queues work
 * @OHCA_STATE_REMOVING: as LIVE, but the ib_device is being taken away
 * @OHCA_STATE_FAILED:   the device is dead or misbehaved; final until the
 *                       function is probed again.  Commands return -EIO,
 *                       destroying succeeds.
 */
enum ohca_state {
	OHCA_STATE_NEW,
	OHCA_STATE_LIVE,
	OHCA_STATE_REMOVING,
	OHCA_STATE_FAILED,
};

struct ohca_dev;
struct ohca_uar_object;

/**
 * struct ohca_bus - what the bus file (pci.c) provides
 * @dma_device:	device whose DMA addresses the HCA understands
 * @control:	registers and kick page
 * @uars:	UAR pages, in ordinary cacheable memory type
 * @uar_phys:	of @uars
 * @kick_phys:	of the kick page
 * @uar_count:	UAR pages that fit the mapping
 * @uar_pgprot:	what an application's mapping of a UAR page needs
 * @revision:	of the function
 * @vector_count: interrupt vectors: offered by the device, then allocated
 * @irq:	Linux interrupt number of a vector
 * @stop_dma:	last resort: cut the function off from host memory
 */
struct ohca_bus {
	struct device *dma_device;
	void __iomem *control;
	struct ohca_uar *uars;
	phys_addr_t uar_phys;
	phys_addr_t kick_phys;
	u32 uar_count;
	pgprot_t (*uar_pgprot)(pgprot_t prot);
	u8 revision;
	unsigned int vector_count;
	int (*irq)(struct ohca_dev *dev, unsigned int vector);
	void (*stop_dma)(struct ohca_dev *dev);
};

struct ohca_eq {
	struct ohca_dev *dev;
	u32 handle;
	unsigned int vector;
	u8 type;		/* OHCA_EQ_* */
	u8 log_depth;
	unsigned int cpu;	/* on which its interrupt is wanted */
	u32 consumer;
	void *buffer;		/* record, then ring */
	size_t buffer_size;
	dma_addr_t buffer_dma;
	struct ohca_eq_record *record;
	struct ohca_eqe *ring;
	char irq_name[40];
	bool irq_requested;
	/* What the last ohca_eqs_check() has seen. */
	bool unread;
	u32 checked_consumer;
};

/* The netdev that carries the addresses of the port, found by its MAC. */
struct ohca_netdev {
	struct notifier_block notifier;
	struct net_device *ndev;	/* under RTNL; the reference is ib_core's */
	char link_name[IFNAMSIZ];	/* of the link in the parent's "net" folder */
	bool registered;
	/* What the notifier last saw; read by the port work. */
	bool up;
	unsigned int mtu;
	bool rescan_gids;
};

/* The port as last told to the device. */
struct ohca_port {
	struct work_struct work;
	struct mutex lock;	/* active, mtu */
	bool active;
	enum ib_mtu mtu;
	u32 down_count;		/* how often it has gone down */
};

/* A copy of the device's counters, see counters.c. */
struct ohca_counters {
	spinlock_t lock;	/* values, refreshed, valid; starting */
	bool pending;		/* cmd is under way */
	bool valid;
	unsigned long refreshed;	/* jiffies */
	u64 values[OHCA_COUNTER_COUNT];
	__le64 raw[OHCA_CMDQ_OUTPUT_SIZE / sizeof(__le64)];
	struct ohca_cmd cmd;
};

enum ohca_pma_counter {
	OHCA_PMA_XMIT_DATA,
	OHCA_PMA_RCV_DATA,
	OHCA_PMA_XMIT_PACKETS,
	OHCA_PMA_RCV_PACKETS,
	OHCA_PMA_RCV_ERRORS,
	OHCA_PMA_LINK_DOWNED,
	OHCA_PMA_COUNT
};

enum ohca_pma_set {
	OHCA_PMA_COUNTERS,
	OHCA_PMA_EXTENDED,
	OHCA_PMA_SET_COUNT
};

/* Performance management: what the counters were when they were set. */
struct ohca_pma {
	spinlock_t lock;		/* base; MADs are answered without sleeping */
	u64 base[OHCA_PMA_SET_COUNT][OHCA_PMA_COUNT];
};

struct ohca_dev {
	struct ib_device ibdev;
	struct ohca_bus bus;

	spinlock_t state_lock;		/* writers of state */
	enum ohca_state state;
	bool ib_registered;
	/* After FAILED: the device can no longer reach host memory. */
	bool quiesced;
	wait_queue_head_t quiesce_wait;
	const char *fail_reason;

	u64 features;
	u8 mac[ETH_ALEN];
	struct ohca_caps caps;

	struct ohca_op_ends op_ends;
	struct ohca_op_finals op_finals;
	struct ohca_async async;	/* of the driver's own operations */

	struct ohca_cmdq cmdq;
	bool cmd_irq_ready;		/* until then commands are polled */

	struct ohca_eq *async_eq;
	struct ohca_eq *comp_eqs;
	unsigned int comp_eq_count;
	struct mutex eqs_lock;		/* eqs_checked; held while they are */
	bool eqs_checked;		/* from after their creation until before their end */
	atomic64_t lost_interrupts;

	/* By number from the device; entries are refcounted, see ohca_get_cq(). */
	struct xarray cqs;
	struct xarray qps;
	struct xarray srqs;
	/* UAR pages in use, so that a failure can be announced in each. */
	struct xarray uars;

	atomic_t next_consumer_key;

	struct mutex event_lock;	/* ib_registered; held while an event is dispatched */
	struct workqueue_struct *wq;
	struct workqueue_struct *callback_wq;	/* of op_ends */
	struct delayed_work health_work;
	struct work_struct fatal_work;
	struct work_struct flush_work;

	struct ohca_port port;
	struct ohca_netdev netdev;
	struct ohca_counters counters;
	struct ohca_pma pma;
	struct ohca_faults faults;
};

struct ohca_mmap_entry {
	struct rdma_user_mmap_entry rdma_entry;
	phys_addr_t phys;
	bool kick;
	u32 owned_uar;		/* goes back to the device with the entry; or 0 */
};

/* ib_core allocates it; all that the driver needs to know is the rkey. */
struct ohca_mw {
	struct ib_mw ibmw;
};

struct ohca_ucontext {
	struct ib_ucontext ibucontext;
	u32 uar_index;
	struct ohca_mmap_entry *uar_entry;
	struct ohca_mmap_entry *kick_entry;
	struct mutex uar_lock;		/* below, and who uses them */
	struct list_head uars;		/* further pages, struct ohca_uar_object */
	struct xarray unclaimed;	/* struct ohca_unclaimed_qp, by number */
};

struct ohca_pd {
	struct ib_pd ibpd;
	u32 pdn;
};

struct ohca_xrcd {
	struct ib_xrcd ibxrcd;
	u32 xrcdn;
};

struct ohca_mr {
	struct ib_mr ibmr;
	int access;			/* IB_ACCESS_*; not of fast-registration MRs */
	struct ib_umem *umem;		/* user MRs */

	/* Fast-registration MRs. */
	bool gaps;			/* the list is of struct ohca_block, else of __le64 */
	u32 list_max;
	u32 list_count;
	u64 first_page_offset;
	void *list;
	dma_addr_t list_dma;
	size_t list_size;

	/* Integrity MRs: blocks of the data, then of the protection information. */
	u32 data_count;			/* of list_count */
	u64 data_length;		/* bytes, of all of them */
	u64 meta_length;
	u32 interval;			/* bytes of data with a tuple, as of the last REG_MR */
	struct ohca_integrity_status *status;	/* behind the list; NULL: another MR */
	struct ohca_pool_member pool;
};

struct ohca_ah {
	struct ib_ah ibah;
	struct rdma_ah_attr attr;
	/* As in a WQE, but for what depends on the queue pairs. */
	struct ohca_wqe_datagram datagram;
};

/* Queue memory of the kernel's own queues, see queue_buffer.c. */
struct ohca_buffer {
	void *cpu;		/* the start, where the record is */
	dma_addr_t dma;		/* of the only piece, or of the list */
	size_t size;
	void **pieces;		/* NULL: one range */
	__le64 *list;
	u32 count;
};

#define OHCA_PIECE_SIZE		SZ_64K

static inline void *ohca_buffer_at(const struct ohca_buffer *buffer, size_t offset)
{
	if (likely(!buffer->pieces))
		return buffer->cpu + offset;
	return buffer->pieces[offset / OHCA_PIECE_SIZE] + offset % OHCA_PIECE_SIZE;
}

struct ohca_cq {
	struct ib_cq ibcq;
	u32 cqn;
	u32 eq_index;
	u8 log_depth;
	u8 flags;			/* OHCA_CQ_* */
	bool overrun;			/* takes no CQE any more */
	struct ohca_pool_member pool;
	refcount_t refs;
	struct completion unused;
	struct mutex mutex;		/* resize */
	struct ib_umem *umem;		/* user CQs */

	/* Kernel CQs. */
	struct ohca_buffer buffer;
	struct ohca_cq_record *record;
	spinlock_t lock;		/* all below, and the tails of its QPs' rings */
	u32 consumer;
	u32 arm_value;
	struct xarray qps;		/* kernel QPs that complete here, by number */
	struct xarray srqs;		/* kernel XRC SRQs that do, likewise */
	struct ohca_qp *last_qp;	/* most recently looked up */
};

/* What a kernel WR leaves behind for its completion. */
struct ohca_wr {
	u64 wr_id;
	u8 opcode;			/* enum ib_wc_opcode */
};

/*
 * One ring of a kernel QP.  head belongs to the poster (under lock), tail to
 * the poller (under the CQ's lock); each publishes to the other by
 * release/acquire.
 */
struct ohca_ring {
	spinlock_t lock;		/* posters */
	u32 head;
	u32 tail;
	u32 depth;			/* 0: no such queue */
	u8 log_depth;
	u8 log_stride;
	u8 max_sge;
	u32 offset;			/* into the buffer */
	struct ohca_wr *wrs;		/* depth of them */
};

/* A receive WR of a kernel SRQ, by the tag of its WQE. */
struct ohca_srq_wr {
	u64 wr_id;
	u32 next;			/* free tag after this one */
	bool posted;
};

struct ohca_srq {
	struct ib_srq ibsrq;
	u32 srqn;
	u32 depth;
	u8 log_depth;
	u8 log_stride;
	u8 max_sge;
	bool user;
	struct ohca_pool_member pool;
	refcount_t refs;
	struct completion unused;
	struct mutex mutex;		/* modify */
	struct ib_umem *umem;		/* user SRQs */

	/* Kernel SRQs. */
	struct ohca_buffer buffer;
	spinlock_t lock;		/* all below; inside a CQ's lock */
	struct ohca_srq_record *record;
	u32 producer;
	u32 outstanding;		/* at most depth */
	bool resizing;			/* or being reset: nothing may be posted */
	struct ohca_srq_wr *wrs;
	u32 tag_count;			/* of wrs; at least depth */
	u32 free_tag;			/* first of a list; OHCA_NO_TAG ends it */
};

/* See qp_deferred.c. */
enum ohca_qp_life {
	OHCA_QP_LIVE,
	OHCA_QP_DESTROYING,		/* by an operation */
	OHCA_QP_GONE,			/* has been: only ib_core's object is left */
};

struct ohca_qp {
	struct ib_qp ibqp;
	u32 qpn;
	enum ib_qp_state state;		/* as far as the driver knows */
	struct ohca_op_queue ops;	/* modify, query, ...: one at a time */
	struct ohca_pool_member pool;
	refcount_t refs;
	struct completion unused;
	struct ohca_uar_object *uar;	/* NULL: the context's or the kernel's own page */
	u32 uar_index;
	u32 uar_slot;
	u32 dest_qpn;
	u32 max_inline;
	u32 create_flags;		/* enum ib_qp_create_flags */
	bool signal_all;
	bool user;

	/* User QPs. */
	enum ohca_qp_life life;		/* waited for */
	struct ib_umem *umem;

	/* Kernel QPs; the rings' geometry is valid for user QPs, too. */
	struct ohca_buffer buffer;
	struct ohca_qp_record *record;
	struct ohca_ring sq;
	struct ohca_ring rq;
};

/*
 * Who has created queue pairs that are to be claimed.  The context's unclaimed has
 * the lock.
 */
struct ohca_unclaimed_owner {
	struct ohca_ucontext *ucontext;
	u32 count;
	u32 max;
};

/**
 * struct ohca_unclaimed_qp - a queue pair that the device knows, or will, and ib_core does not
 * @model:	what the claiming queue pair must be like; has the references to
 *		the objects that the device's one refers to
 * @req:	what it was created by
 * @in:		likewise, for the device
 * @memory:	of @in, until the command is over
 */
struct ohca_unclaimed_qp {
	struct ohca_unclaimed_owner *owner;
	struct ohca_qp model;
	struct ohca_create_qp_req req;
	struct ohca_cmd_create_qp_in in;
	struct ohca_page_memory memory;
};

/* Send work requests carry an address; receives start with a GRH. */
static inline bool ohca_is_datagram(enum ib_qp_type type)
{
	return type == IB_QPT_UD || type == IB_QPT_GSI;
}

#define OHCA_TO(name, type, ib, member)					\
static inline struct type *to_##name(struct ib *obj)			\
{									\
	return container_of(obj, struct type, member);			\
}

OHCA_TO(ohca_dev, ohca_dev, ib_device, ibdev)
OHCA_TO(ohca_ucontext, ohca_ucontext, ib_ucontext, ibucontext)
OHCA_TO(ohca_pd, ohca_pd, ib_pd, ibpd)
OHCA_TO(ohca_cq, ohca_cq, ib_cq, ibcq)
OHCA_TO(ohca_qp, ohca_qp, ib_qp, ibqp)
OHCA_TO(ohca_srq, ohca_srq, ib_srq, ibsrq)
OHCA_TO(ohca_xrcd, ohca_xrcd, ib_xrcd, ibxrcd)
OHCA_TO(ohca_mr, ohca_mr, ib_mr, ibmr)
OHCA_TO(ohca_ah, ohca_ah, ib_ah, ibah)
#undef OHCA_TO

static inline bool ohca_failed(struct ohca_dev *dev)
{
	return READ_ONCE(dev->state) == OHCA_STATE_FAILED;
}

/*
 * Copy an entry that the device has written.  Whatever it writes there later,
 * what has been checked is what is used.
 */
static inline void ohca_copy_entry(void *to, const void *from, size_t size)
{
	memcpy(to, from, size);
	/* Keeps the compiler from reading the original again. */
	barrier();
}

static inline struct device *ohca_device(struct ohca_dev *dev)
{
	return dev->bus.dma_device;
}

/* pool_qp.c, pool_cq.c, pool_srq.c: the last user of an object that is given back has let go */
void ohca_qp_settle(struct ohca_qp *qp);
void ohca_cq_settle(struct ohca_cq *cq);
void ohca_srq_settle(struct ohca_srq *srq);

/* main.c */
struct ohca_dev *ohca_alloc(struct device *parent);
int ohca_workqueues_alloc(struct ohca_dev *dev, const char *name);
void ohca_workqueues_free(struct ohca_dev *dev);
int ohca_start(struct ohca_dev *dev, const char *name);
void ohca_stop(struct ohca_dev *dev);

/* hw.c */
u32 ohca_read32(struct ohca_dev *dev, u32 offset);
int ohca_hw_probe(struct ohca_dev *dev);
int ohca_hw_reset(struct ohca_dev *dev);
int ohca_hw_enable(struct ohca_dev *dev);
const char *ohca_hw_check(struct ohca_dev *dev);
void ohca_ring_doorbell(struct ohca_dev *dev, u32 slot);

/* health.c */
bool ohca_change_state(struct ohca_dev *dev, enum ohca_state state);
void ohca_fail(struct ohca_dev *dev, const char *reason);
void ohca_check_health(struct ohca_dev *dev);
void ohca_wait_quiesced(struct ohca_dev *dev);
void ohca_health_init(struct ohca_dev *dev);
void ohca_health_start(struct ohca_dev *dev);
void ohca_health_stop(struct ohca_dev *dev);
void ohca_flush_if_dead(struct ohca_dev *dev);
void ohca_dispatch_event(struct ohca_dev *dev, enum ib_event_type type);

/* eq.c */
int ohca_eqs_create(struct ohca_dev *dev);
void ohca_eqs_destroy(struct ohca_dev *dev);
/* Periodic: handles what no interrupt has told of.  Sleeps. */
void ohca_eqs_check(struct ohca_dev *dev);
const struct cpumask *ohca_get_vector_affinity(struct ib_device *ibdev, int vector);

/* device_attr.c */
int ohca_query_device(struct ib_device *ibdev, struct ib_device_attr *attr,
		      struct ib_udata *udata);

/* ctx.c */
int ohca_alloc_ucontext(struct ib_ucontext *ibucontext, struct ib_udata *udata);
int ohca_query_ucontext(struct ib_ucontext *ibucontext, struct uverbs_attr_bundle *attrs);
extern const struct uapi_definition ohca_context_defs[];
void ohca_dealloc_ucontext(struct ib_ucontext *ibucontext);
void ohca_disassociate_ucontext(struct ib_ucontext *ibucontext);
int ohca_udata_request(struct ib_device *ibdev, struct ib_udata *udata, void *request,
		       size_t minimum, size_t size);

/* mmap.c */
struct ohca_mmap_entry *ohca_mmap_entry_insert(struct ohca_ucontext *ucontext, phys_addr_t phys,
					       size_t size, bool kick);
int ohca_mmap(struct ib_ucontext *ibucontext, struct vm_area_struct *vma);
void ohca_mmap_free(struct rdma_user_mmap_entry *rdma_entry);

/* uar.c */
extern const struct uapi_definition ohca_uapi_defs[];
int ohca_create_uar(struct ohca_dev *dev, u32 *index);
void ohca_destroy_uar(struct ohca_dev *dev, u32 index);
void ohca_mark_uars_failed(struct ohca_dev *dev);
struct ohca_mmap_entry *ohca_mmap_uar(struct ohca_ucontext *ucontext, u32 index);
int ohca_use_uar(struct ohca_ucontext *ucontext, u32 index, struct ohca_uar_object **uar);
void ohca_unuse_uar(struct ohca_uar_object *object);

/* async_queue.c */
extern const struct uapi_definition ohca_async_queue_defs[];

/* pd.c */
int ohca_alloc_pd(struct ib_pd *ibpd, struct ib_udata *udata);
int ohca_dealloc_pd(struct ib_pd *ibpd, struct ib_udata *udata);

/* page_list.c */
int ohca_page_list_from_umem(struct ohca_dev *dev, struct ib_umem *umem,
			     struct ohca_page_memory *memory, struct ohca_page_list *list);
struct ib_umem *ohca_pin_queue(struct ohca_dev *dev, u64 address, u64 length,
			       struct ohca_page_memory *memory, struct ohca_page_list *list);
void ohca_page_list_from_dma(dma_addr_t dma, size_t size, struct ohca_page_list *list);
void ohca_page_memory_free(struct ohca_dev *dev, struct ohca_page_memory *memory);

/* mr.c */
struct ib_mr *ohca_get_dma_mr(struct ib_pd *ibpd, int access);
struct ib_mr *ohca_reg_user_mr(struct ib_pd *ibpd, u64 start, u64 length, u64 iova,
			       int access, struct ib_udata *udata);
struct ib_mr *ohca_rereg_user_mr(struct ib_mr *ibmr, int flags, u64 start, u64 length, u64 iova,
				 int access, struct ib_pd *ibpd, struct ib_udata *udata);
int ohca_dereg_mr(struct ib_mr *ibmr, struct ib_udata *udata);
int ohca_check_access(struct ohca_dev *dev, int access);
u8 ohca_next_consumer_key(struct ohca_dev *dev);

/* mr_fast.c */
struct ib_mr *ohca_alloc_mr(struct ib_pd *ibpd, enum ib_mr_type type, u32 max_num_sg);
int ohca_map_mr_sg(struct ib_mr *ibmr, struct scatterlist *sg, int sg_nents,
		   unsigned int *sg_offset);
void ohca_mr_free_list(struct ohca_dev *dev, struct ohca_mr *mr);
/* A key of @type, OHCA_MKEY_TYPE_*, that a work request makes valid. */
struct ohca_mr *ohca_mr_create_free(struct ib_pd *ibpd, u8 type, u32 entries, size_t list_size);
/*
 * Appends to a list of struct ohca_block.  How many elements fitted, and their length;
 * or -EINVAL.
 */
int ohca_add_blocks(struct ohca_mr *mr, struct scatterlist *sgl, int sg_nents,
		    unsigned int *sg_offset, u64 *length);
int ohca_build_reg_mr(struct ohca_dev *dev, struct ohca_sq_wqe *wqe,
		      const struct ib_send_wr *wr);

/* mr_integrity.c */
struct ib_mr *ohca_alloc_mr_integrity(struct ib_pd *ibpd, u32 max_num_data_sg,
				      u32 max_num_meta_sg);
int ohca_map_mr_sg_pi(struct ib_mr *ibmr, struct scatterlist *data_sg, int data_sg_nents,
		      unsigned int *data_sg_offset, struct scatterlist *meta_sg,
		      int meta_sg_nents, unsigned int *meta_sg_offset);
int ohca_build_reg_integrity(struct ohca_qp *qp, struct ohca_sq_wqe *wqe,
			     const struct ib_send_wr *wr);
int ohca_check_mr_status(struct ib_mr *ibmr, u32 check_mask, struct ib_mr_status *mr_status);

/* mw.c */
int ohca_alloc_mw(struct ib_mw *ibmw, struct ib_udata *udata);
int ohca_dealloc_mw(struct ib_mw *ibmw);

/* cq.c */
int ohca_create_cq(struct ib_cq *ibcq, const struct ib_cq_init_attr *attr,
		   struct uverbs_attr_bundle *attrs);
int ohca_destroy_cq(struct ib_cq *ibcq, struct ib_udata *udata);
struct ohca_cq *ohca_get_cq(struct ohca_dev *dev, u32 cqn);
void ohca_put_cq(struct ohca_cq *cq);
int ohca_cq_user_request(struct ohca_dev *dev, struct ib_udata *udata, u32 cqe,
			 struct ohca_create_cq_req *req);

/* queue_buffer.c */
int ohca_buffer_alloc(struct ohca_dev *dev, struct ohca_buffer *buffer, size_t size);
void ohca_buffer_free(struct ohca_dev *dev, struct ohca_buffer *buffer);
void ohca_buffer_describe(const struct ohca_buffer *buffer, struct ohca_page_list *list);

/* cq_poll.c */
int ohca_poll_cq(struct ib_cq *ibcq, int count, struct ib_wc *wc);
int ohca_req_notify_cq(struct ib_cq *ibcq, enum ib_cq_notify_flags flags);
int ohca_cq_attach_qp(struct ohca_cq *cq, struct ohca_qp *qp);
void ohca_cq_detach_qp(struct ohca_cq *cq, struct ohca_qp *qp);
int ohca_cq_attach_srq(struct ohca_cq *cq, struct ohca_srq *srq);
void ohca_cq_detach_srq(struct ohca_cq *cq, struct ohca_srq *srq);
void ohca_cq_clean_qp(struct ohca_cq *cq, struct ohca_qp *qp);
void ohca_cq_discard(struct ohca_cq *cq);

/* cq_modify.c */
int ohca_modify_cq(struct ib_cq *ibcq, u16 count, u16 period_us);
int ohca_resize_cq(struct ib_cq *ibcq, int cqe, struct ib_udata *udata);

/* srq.c */
int ohca_create_srq(struct ib_srq *ibsrq, struct ib_srq_init_attr *attr,
		    struct ib_udata *udata);
int ohca_query_srq(struct ib_srq *ibsrq, struct ib_srq_attr *attr);
int ohca_destroy_srq(struct ib_srq *ibsrq, struct ib_udata *udata);
struct ohca_srq *ohca_get_srq(struct ohca_dev *dev, u32 srqn);
void ohca_put_srq(struct ohca_srq *srq);
size_t ohca_srq_size(const struct ohca_srq *srq, u8 log_depth);
u32 ohca_srq_ring_offset(const struct ohca_srq *srq);
int ohca_srq_check_request(struct ohca_dev *dev, const struct ohca_create_srq_req *req,
			   u32 max_wr, u8 log_stride_min);

/* srq_modify.c */
int ohca_modify_srq(struct ib_srq *ibsrq, struct ib_srq_attr *attr,
		    enum ib_srq_attr_mask mask, struct ib_udata *udata);

/* srq_post.c */
int ohca_post_srq_recv(struct ib_srq *ibsrq, const struct ib_recv_wr *wr,
		       const struct ib_recv_wr **bad_wr);
void ohca_srq_add_tags(struct ohca_srq *srq, u32 first, u32 end);
void ohca_srq_discard(struct ohca_srq *srq);
void ohca_srq_restart(struct ohca_srq *srq);
bool ohca_srq_complete(struct ohca_srq *srq, u32 tag, u64 *wr_id);

/* xrcd.c */
int ohca_alloc_xrcd(struct ib_xrcd *ibxrcd, struct ib_udata *udata);
int ohca_dealloc_xrcd(struct ib_xrcd *ibxrcd, struct ib_udata *udata);

/* qp.c */
int ohca_create_qp(struct ib_qp *ibqp, struct ib_qp_init_attr *attr, struct ib_udata *udata);
int ohca_destroy_qp(struct ib_qp *ibqp, struct ib_udata *udata);
struct ohca_qp *ohca_get_qp(struct ohca_dev *dev, u32 qpn);
void ohca_put_qp(struct ohca_qp *qp);
int ohca_qp_init(struct ohca_dev *dev, struct ohca_qp *qp, struct ib_qp_init_attr *attr,
		 bool user);
int ohca_qp_plan(struct ohca_dev *dev, struct ohca_ucontext *ucontext, struct ohca_qp *qp,
		 const struct ib_qp_init_attr *attr, const struct ohca_create_qp_req *req,
		 struct ohca_create_qp_params *params);
int ohca_qp_pin(struct ohca_dev *dev, struct ohca_qp *qp, const struct ohca_create_qp_req *req,
		struct ohca_page_memory *memory, struct ohca_page_list *pages);
int ohca_qp_accept(struct ohca_dev *dev, struct ohca_qp *qp,
		   const struct ohca_cmd_create_qp_out *out);
int ohca_qp_publish(struct ohca_dev *dev, struct ohca_qp *qp);
void ohca_qp_unpublish(struct ohca_dev *dev, struct ohca_qp *qp);
void ohca_qp_free_user(struct ohca_qp *qp);

/* qp_deferred.c */
int ohca_unclaimed_reserve(struct ohca_unclaimed_owner *owner, u32 count);
void ohca_unclaimed_give_up(struct ohca_unclaimed_owner *owner, u32 count);
void ohca_unclaimed_destroy(struct ohca_unclaimed_owner *owner);
struct ohca_unclaimed_qp *ohca_unclaimed_alloc(struct ohca_unclaimed_owner *owner,
					       const struct ib_qp_init_attr *attr,
					       struct ib_pd *pd,
					       const struct ohca_create_qp_req *req);
int ohca_start_create_unclaimed(struct ohca_op *op, struct ohca_unclaimed_qp *unclaimed);
int ohca_qp_claim(struct ohca_dev *dev, struct ohca_ucontext *ucontext, struct ohca_qp *qp,
		  struct ohca_create_qp_params *params, const struct ohca_create_qp_req *req);
void ohca_qp_wait_settled(struct ohca_qp *qp);
int ohca_start_destroy_qp(struct ohca_op *op, struct ib_qp *ibqp);

/* qp_modify.c */
int ohca_modify_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		   struct ib_udata *udata);
void ohca_qp_tell_last_wqe(struct ohca_qp *qp);
int ohca_check_qp_attr(struct ohca_dev *dev, struct ohca_qp *qp, const struct ib_qp_attr *attr,
		       int mask);
void ohca_fill_modify(struct ohca_qp *qp, const struct ib_qp_attr *attr, int mask,
		      struct ohca_cmd_modify_qp_in *in);
void ohca_choose_udp_port(const struct ohca_qp *qp, struct ohca_cmd_modify_qp_in *in);
void ohca_set_qp_state(struct ohca_qp *qp, enum ib_qp_state state);
void ohca_restart_rings(struct ohca_qp *qp);
void ohca_parse_query(struct ohca_qp *qp, const struct ohca_cmd_query_qp_out *out,
		      struct ib_qp_attr *attr, struct ib_qp_init_attr *init_attr);
int ohca_query_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		  struct ib_qp_init_attr *init_attr);

/* async_qp.c */
int ohca_start_modify_qp(struct ohca_op *op, struct ohca_qp *qp, const struct ib_qp_attr *attr,
			 int mask);
int ohca_start_reset_qp(struct ohca_op *op, struct ohca_qp *qp,
			const struct ohca_op_type *type);
int ohca_end_reset_qp(struct ohca_op *op, int result);

/* qp_post.c */
void ohca_set_sges(struct ohca_sge *out, const struct ib_sge *in, u32 count);
int ohca_post_send(struct ib_qp *ibqp, const struct ib_send_wr *wr,
		   const struct ib_send_wr **bad_wr);
int ohca_post_recv(struct ib_qp *ibqp, const struct ib_recv_wr *wr,
		   const struct ib_recv_wr **bad_wr);

/* ah.c */
int ohca_create_ah(struct ib_ah *ibah, struct rdma_ah_init_attr *init_attr,
		   struct ib_udata *udata);
int ohca_modify_ah(struct ib_ah *ibah, struct rdma_ah_attr *attr);
int ohca_query_ah(struct ib_ah *ibah, struct rdma_ah_attr *attr);
int ohca_destroy_ah(struct ib_ah *ibah, u32 flags);
const char *ohca_check_path(struct ohca_dev *dev, const struct rdma_ah_attr *ah);

/* multicast.c */
int ohca_check_mcast(struct ib_qp *ibqp, const union ib_gid *gid);
int ohca_attach_mcast(struct ib_qp *ibqp, union ib_gid *gid, u16 lid);
int ohca_detach_mcast(struct ib_qp *ibqp, union ib_gid *gid, u16 lid);

/* port.c */
void ohca_port_init(struct ohca_dev *dev);
void ohca_port_update(struct ohca_dev *dev);
int ohca_query_port(struct ib_device *ibdev, u32 port_num, struct ib_port_attr *attr);
int ohca_get_port_immutable(struct ib_device *ibdev, u32 port_num,
			    struct ib_port_immutable *immutable);
enum rdma_link_layer ohca_get_link_layer(struct ib_device *ibdev, u32 port_num);
int ohca_query_pkey(struct ib_device *ibdev, u32 port_num, u16 index, u16 *pkey);
int ohca_add_gid(const struct ib_gid_attr *attr, void **context);
int ohca_del_gid(const struct ib_gid_attr *attr, void **context);
enum ib_mtu ohca_port_mtu(struct ohca_dev *dev);
u32 ohca_gid_count(struct ohca_dev *dev);

/* netdev.c */
int ohca_netdev_register(struct ohca_dev *dev);
void ohca_netdev_unregister(struct ohca_dev *dev);

/* counters.c */
void ohca_counters_init(struct ohca_dev *dev);
void ohca_counters_read(struct ohca_dev *dev, u64 *values);

/* pma.c */
int ohca_process_mad(struct ib_device *ibdev, int flags, u32 port_num, const struct ib_wc *wc,
		     const struct ib_grh *grh, const struct ib_mad *in, struct ib_mad *out,
		     size_t *out_size, u16 *out_pkey_index);

/* stats.c */
u32 ohca_counter_count(struct ohca_dev *dev);
struct rdma_hw_stats *ohca_alloc_hw_port_stats(struct ib_device *ibdev, u32 port_num);
int ohca_get_hw_stats(struct ib_device *ibdev, struct rdma_hw_stats *stats, u32 port_num,
		      int index);

/* restrack.c */
int ohca_fill_res_qp_entry(struct sk_buff *msg, struct ib_qp *ibqp);
int ohca_fill_res_cq_entry(struct sk_buff *msg, struct ib_cq *ibcq);
int ohca_fill_res_srq_entry(struct sk_buff *msg, struct ib_srq *ibsrq);
int ohca_fill_res_mr_entry(struct sk_buff *msg, struct ib_mr *ibmr);

/* selftest.c */
void ohca_selftest(struct ohca_dev *dev);

#endif /* OHCA_H */
