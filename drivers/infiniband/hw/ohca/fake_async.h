/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Operations on a fake device, whose ends are counted. */
#ifndef OHCA_FAKE_ASYNC_H
#define OHCA_FAKE_ASYNC_H

#include "fake_verbs.h"

struct ohca_test_async {
	struct ohca_test_verbs *verbs;
	struct ohca_fake_device *fake;
	struct ohca_async *handle;
	u32 ended;			/* operations, and batches */
	u32 soft;			/* of these, with interrupts on */
};

struct ohca_test_op {
	struct ohca_op op;
	struct ohca_test_async *async;
	u32 done;
	u32 number;			/* as which it has ended, from 1 */
	u32 delay_us;			/* what the callback takes */
	bool in_thread;			/* it was called there */
};

/* Undone at the end of the test, which ends if this fails. */
struct ohca_test_async *ohca_test_async_create(struct kunit *test);
/* Initialised, with a callback that counts. */
struct ohca_test_op *ohca_test_ops(struct kunit *test, struct ohca_test_async *async, u32 count);

#endif /* OHCA_FAKE_ASYNC_H */
