// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * connect_many - creates, connects, disconnects and destroys many pairs of queue pairs of one device
 * from one thread, which never waits for any of them: operations are submitted in batches, and
 * epoll tells when some are over.
 *
 * usage: connect_many [-d DEVICE] [-n PAIRS] [-g GID-INDEX]
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include <infiniband/ohcadv.h>

/* One operation on each queue pair; those of a step are over before the next begins. */
enum step { CREATE, CONNECT, DISCONNECT, DESTROY };
static const char *const step_names[] = { "created", "connected", "disconnected", "destroyed" };

struct program {
	const char *device;
	int pairs;
	int gid_index;
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_qp **qps; /* 2 * pairs; 2i and 2i + 1 belong together; NULL: there is none */
	union ibv_gid gid;
	struct ohcadv_async_queue *queue;
	int epoll;
	int submitted; /* of the step */
};

static void check(int ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "connect_many: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void check_error(int error, const char *what)
{
	errno = error;
	check(!error, what);
}

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void open_device(struct program *p)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	int i;

	check(list != NULL, "ibv_get_device_list");
	for (i = 0; list[i] && !p->context; i++)
		if (ohcadv_is_supported(list[i]) && (!p->device || !strcmp(ibv_get_device_name(list[i]), p->device)))
			p->context = ibv_open_device(list[i]);
	ibv_free_device_list(list);
	errno = ENODEV;
	check(p->context != NULL, "no ohca device");
	check_error(ibv_query_gid(p->context, 1, p->gid_index, &p->gid), "ibv_query_gid");
	p->pd = ibv_alloc_pd(p->context);
	check(p->pd != NULL, "ibv_alloc_pd");
	p->cq = ibv_create_cq(p->context, 16, NULL, NULL, 0);
	check(p->cq != NULL, "ibv_create_cq");
}

static void create_queue(struct program *p)
{
	struct epoll_event event = { .events = EPOLLIN };

	p->qps = calloc((size_t)p->pairs * 2, sizeof(*p->qps));
	check(p->qps != NULL, "calloc");
	p->queue = ohcadv_create_async_queue(p->context, OHCADV_ASYNC_DEPTH_MAX);
	check(p->queue != NULL, "ohcadv_create_async_queue");
	check(fcntl(p->queue->fd, F_SETFL, O_NONBLOCK) == 0, "fcntl");
	p->epoll = epoll_create1(EPOLL_CLOEXEC);
	check(p->epoll >= 0, "epoll_create1");
	check(epoll_ctl(p->epoll, EPOLL_CTL_ADD, p->queue->fd, &event) == 0, "epoll_ctl");
}

static const int connect_mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS | IBV_QP_AV |
				IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
				IBV_QP_MIN_RNR_TIMER | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
				IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC;

static void fill_connection(const struct program *p, int index, struct ibv_qp_attr *attr)
{
	*attr = (struct ibv_qp_attr) {
		.qp_state = IBV_QPS_RTS, .port_num = 1,
		.qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ,
		.path_mtu = IBV_MTU_1024, .dest_qp_num = p->qps[index ^ 1]->qp_num,
		.max_dest_rd_atomic = 1, .min_rnr_timer = 12, .timeout = 14, .retry_cnt = 7, .rnr_retry = 7,
		.max_rd_atomic = 1,
		.ah_attr = { .is_global = 1, .port_num = 1,
			     .grh = { .dgid = p->gid, .sgid_index = (uint8_t)p->gid_index, .hop_limit = 64 } },
	};
}

static int create_some(struct program *p, int count)
{
	static uint64_t wr_ids[OHCADV_ASYNC_BATCH_MAX];
	struct ibv_qp_init_attr_ex attr = {
		.send_cq = p->cq, .recv_cq = p->cq, .qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 },
		.comp_mask = IBV_QP_INIT_ATTR_PD, .pd = p->pd,
	};
	int i;

	for (i = 0; i < count; i++)
		wr_ids[i] = (uint64_t)(p->submitted + i);
	return ohcadv_create_qps_async(p->queue, &attr, wr_ids, (uint32_t)count);
}

static int change_some(struct program *p, enum step step, int count)
{
	static struct ohcadv_async_operation operations[OHCADV_ASYNC_BATCH_MAX];
	static struct ibv_qp_attr attr[OHCADV_ASYNC_BATCH_MAX];
	static const enum ohcadv_async_opcode opcodes[] = {
		[CONNECT] = OHCADV_ASYNC_CONNECT_QP,
		[DISCONNECT] = OHCADV_ASYNC_DISCONNECT_QP,
		[DESTROY] = OHCADV_ASYNC_DESTROY_QP,
	};
	int i;

	for (i = 0; i < count; i++) {
		int index = p->submitted + i;

		operations[i] = (struct ohcadv_async_operation) {
			.wr_id = (uint64_t)index, .qp = p->qps[index], .opcode = opcodes[step],
		};
		if (step == CONNECT) {
			fill_connection(p, index, &attr[i]);
			operations[i].attr = &attr[i];
			operations[i].attr_mask = connect_mask;
		}
	}
	return ohcadv_submit_async(p->queue, operations, (uint32_t)count);
}

static void submit(struct program *p, enum step step)
{
	int count = 2 * p->pairs - p->submitted;

	if (count > OHCADV_ASYNC_BATCH_MAX)
		count = OHCADV_ASYNC_BATCH_MAX;
	check_error(step == CREATE ? create_some(p, count) : change_some(p, step, count), "submission");
	p->submitted += count;
}

static int take(struct program *p, int timeout_ms)
{
	struct ohcadv_async_completion completions[64];
	struct epoll_event event;
	int count, i;

	count = epoll_wait(p->epoll, &event, 1, timeout_ms);
	check(count >= 0 || errno == EINTR, "epoll_wait");
	if (count <= 0)
		return 0;
	count = ohcadv_read_async(p->queue, completions, 64);
	check_error(count < 0 ? -count : 0, "ohcadv_read_async");
	for (i = 0; i < count; i++) {
		check_error(completions[i].error, "an operation");
		/* the new one, the same, or none any more */
		p->qps[completions[i].wr_id] = completions[i].qp;
	}
	return count;
}

/*
 * A step of all queue pairs: submits as long as there is something to submit and the queue is deep
 * enough, takes what is over in between, and tells how long that took.
 */
static void run(struct program *p, enum step step)
{
	const double start = seconds(), deadline = start + 120;
	int over = 0;

	p->submitted = 0;
	while (over < 2 * p->pairs) {
		if (p->submitted < 2 * p->pairs && p->submitted - over <= OHCADV_ASYNC_DEPTH_MAX - OHCADV_ASYNC_BATCH_MAX)
			submit(p, step);
		over += take(p, p->submitted < 2 * p->pairs ? 0 : 1000);
		errno = ETIMEDOUT;
		check(seconds() < deadline, "completions");
	}
	printf("%d queue pairs %s in %.3f s, %.0f per second\n", over, step_names[step], seconds() - start,
	       over / (seconds() - start));
}

static void require_state(const struct program *p, enum ibv_qp_state state)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	int i;

	for (i = 0; i < 2 * p->pairs; i += 1 + p->pairs / 50) {
		check_error(ibv_query_qp(p->qps[i], &attr, IBV_QP_STATE, &init), "ibv_query_qp");
		errno = EPROTO;
		check(attr.qp_state == state, "state of a queue pair");
	}
}

static void close_device(struct program *p)
{
	check_error(ohcadv_destroy_async_queue(p->queue), "ohcadv_destroy_async_queue");
	free(p->qps);
	close(p->epoll);
	check_error(ibv_destroy_cq(p->cq), "ibv_destroy_cq");
	check_error(ibv_dealloc_pd(p->pd), "ibv_dealloc_pd");
	check_error(ibv_close_device(p->context), "ibv_close_device");
}

int main(int argc, char **argv)
{
	struct program p = { .pairs = 10000, .gid_index = 1 };
	int option;

	while ((option = getopt(argc, argv, "d:n:g:")) != -1) {
		if (option == 'd')
			p.device = optarg;
		else if (option == 'n')
			p.pairs = atoi(optarg);
		else if (option == 'g')
			p.gid_index = atoi(optarg);
		else
			return 2;
	}
	if (p.pairs < 1)
		return 2;
	open_device(&p);
	create_queue(&p);
	run(&p, CREATE);
	require_state(&p, IBV_QPS_RESET);
	run(&p, CONNECT);
	require_state(&p, IBV_QPS_RTS);
	run(&p, DISCONNECT);
	require_state(&p, IBV_QPS_ERR);
	run(&p, DESTROY);
	close_device(&p);
	return 0;
}
