// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The last of the KUnit suites: gives kmemleak the time to look at what the others have
 * left behind.  It prints what it finds; whoever reads the log has the verdict.
 */

#include <linux/delay.h>

#include "fake_device.h"

/* kmemleak scans 60 s after boot and every 600 s, and needs two looks at an object. */
#define OHCA_TEST_SCANS_S	1900

/* A case may not take so long; what is printed now counts against the one that follows. */
static int ohca_test_wait_for_scans(struct kunit_suite *suite)
{
	ssleep(OHCA_TEST_SCANS_S);
	return 0;
}

static void ohca_test_kmemleak(struct kunit *test)
{
	if (!IS_ENABLED(CONFIG_DEBUG_KMEMLEAK_AUTO_SCAN))
		kunit_skip(test, "no kmemleak that scans by itself");
}

static struct kunit_case ohca_leak_cases[] = {
	KUNIT_CASE(ohca_test_kmemleak),
	{}
};

static struct kunit_suite ohca_leak_suite = {
	.name = "ohca_leaks",
	.suite_init = ohca_test_wait_for_scans,
	.test_cases = ohca_leak_cases,
};

kunit_test_suite(ohca_leak_suite);
