// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "failure.hh"

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <unistd.h>

namespace verbs_test {

void fail(const char *format, ...)
{
	// Never unlocked: the first failure is the one to be read.
	static std::mutex once;
	once.lock();
	va_list arguments;
	va_start(arguments, format);
	std::fflush(stdout);
	std::fputs("FAIL: ", stderr);
	std::vfprintf(stderr, format, arguments);
	std::fputc('\n', stderr);
	va_end(arguments);
	_exit(1);
}

void fail_errno(const char *what, int error)
{
	fail("%s: %s (%d)", what, std::strerror(error), error);
}

int last_error()
{
	return errno;
}

}  // namespace verbs_test
