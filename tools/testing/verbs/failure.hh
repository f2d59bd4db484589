// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// The end of a test that found something wrong.  A test program has no way on
// after a failure, so these do not return; error_test gives each case a process.
#pragma once

namespace verbs_test {

// Prints "FAIL: ..." on stderr and ends the process with status 1.
[[noreturn, gnu::format(printf, 1, 2)]] void fail(const char *format, ...);

// For calls that return a pointer and set errno.
template <typename T>
T *must(T *pointer, const char *what);

[[noreturn]] void fail_errno(const char *what, int error);

// For verbs that return 0 or an errno.
inline void must_succeed(int error, const char *what)
{
	if (error != 0)
		fail_errno(what, error);
}

int last_error();

template <typename T>
T *must(T *pointer, const char *what)
{
	if (pointer == nullptr)
		fail_errno(what, last_error());
	return pointer;
}

}  // namespace verbs_test
