/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef KVERBS_H
#define KVERBS_H

#include <linux/atomic.h>
#include <linux/completion.h>
#include <linux/types.h>

#include <rdma/ib_verbs.h>

#define KV_BUFFER_SIZE	65536
#define KV_DEPTH	64
#define KV_INLINE	128
#define KV_SGE		4
#define KV_QKEY		0x11111111

/* Two connected queue pairs on one device, and a buffer for each. */
struct kv_pair {
	struct ib_device *device;
	enum ib_qp_type type;
	struct ib_qp_cap cap;
	struct ib_pd *pd;
	struct ib_mr *mr;		/* all of memory, all rights */
	struct ib_cq *cq[2];
	struct ib_qp *qp[2];
	u8 *buffer[2];
	dma_addr_t dma[2];
	atomic_t events[2];		/* completion events of each CQ */
	atomic_t last_wqes;		/* QP_LAST_WQE_REACHED of either QP */
	struct ib_srq *srq;		/* of side 1, if the QPs are created after it */
	u32 create_flags;		/* IB_QP_CREATE_* of the QPs that are created next */
	u8 timeout;			/* of the QPs that are connected next */
};

/* A failed expectation ends the function with -EBADE and says where. */
#define KV_CHECK(condition)						\
	do {								\
		if (!(condition)) {					\
			pr_err("kverbs: %s:%d: %s\n", __func__,		\
			       __LINE__, #condition);			\
			return -EBADE;					\
		}							\
	} while (0)

int kv_pair_open(struct kv_pair *pair, struct ib_device *device, enum ib_qp_type type);
void kv_pair_close(struct kv_pair *pair);
int kv_pair_create_qps(struct kv_pair *pair);
void kv_pair_destroy_qps(struct kv_pair *pair);
int kv_pair_connect(struct kv_pair *pair);
int kv_pair_connect_side(struct kv_pair *pair, int side);
int kv_fill_ah(struct ib_device *device, int gid_index, struct rdma_ah_attr *ah);
int kv_l2_address(struct ib_device *device, int gid_index, u16 *vlan_id, u8 *mac);
int kv_ifindex(const struct ib_gid_attr *gid);
struct ib_sge kv_sge(struct kv_pair *pair, int side, u32 offset, u32 length);
int kv_poll(struct ib_cq *cq, struct ib_wc *wc);
int kv_post_recv(struct kv_pair *pair, int side, u64 wr_id, u32 offset, u32 length);
int kv_rdma_key(struct kv_pair *pair, enum ib_wr_opcode opcode, u32 length, u64 address, u32 rkey,
		struct ib_wc *wc);
int kv_wait_events(atomic_t *events, int count);
void kv_pattern(u8 *to, u32 length, u8 seed);

/* A test starts with a connected pair. */
struct kv_test {
	const char *name;
	int (*run)(struct kv_pair *pair);
	enum ib_qp_type type;		/* of the pair; 0: RC */
};

int kv_test_cm(struct kv_pair *pair);
int kv_test_mads(struct kv_pair *pair);

extern const struct kv_test kv_queue_tests[];
extern const int kv_queue_test_count;
extern const struct kv_test kv_memory_tests[];
extern const int kv_memory_test_count;
extern const struct kv_test kv_access_tests[];
extern const int kv_access_test_count;
extern const struct kv_test kv_integrity_tests[];
extern const int kv_integrity_test_count;
extern const struct kv_test kv_ulp_tests[];
extern const int kv_ulp_test_count;
extern const struct kv_test kv_srq_tests[];
extern const int kv_srq_test_count;
extern const struct kv_test kv_service_tests[];
extern const int kv_service_test_count;

int kv_run_tests(struct ib_device *device, unsigned int first);
int kv_run_feature_tests(struct ib_device *device, const char *missing);
int kv_measure_registrations(struct ib_device *device, unsigned int pairs);

struct kv_traffic;
struct kv_traffic *kv_traffic_start(struct ib_device *device);
void kv_traffic_stop(struct kv_traffic *traffic);

#endif /* KVERBS_H */
