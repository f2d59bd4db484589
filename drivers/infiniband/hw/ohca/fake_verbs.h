/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* A queue pair with all it needs, made through ib_core on a fake device. */
#ifndef OHCA_FAKE_VERBS_H
#define OHCA_FAKE_VERBS_H

#include "fake_device.h"

struct ohca_test_verbs {
	struct ohca_fake_device *fake;
	struct ib_pd *pd;
	struct ib_cq *cq;
	struct ib_qp *qp;
	int completions;
	void *object;			/* what else the test has made */
};

/* Undone at the end of the test, which ends if this fails. */
struct ohca_test_verbs *ohca_test_verbs_create(struct kunit *test);

/*
 * The same in pieces, for those who expect some to fail: 0 or an errno, and
 * what was made before the failure is there.
 */
int ohca_test_verbs_build(struct ohca_test_verbs *verbs);
void ohca_test_verbs_destroy(struct ohca_test_verbs *verbs);

#endif /* OHCA_FAKE_VERBS_H */
