// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// SpinLock: the lock of one queue.  It is held for tens of nanoseconds, so waiting means
// spinning; objects that the application promised to use from one thread
// (thread domain, IBV_CREATE_CQ_ATTR_SINGLE_THREADED) do not take it at all.
#pragma once

#include <cstdint>
#include <pthread.h>
#include <sched.h>

namespace ohca {

class SpinLock {
public:
	void set_single_threaded(bool single_threaded) { is_needed_ = !single_threaded; }

	void lock()
	{
		if (!is_needed_)
			return;
		while (__atomic_exchange_n(&is_held_, true, __ATOMIC_ACQUIRE)) [[unlikely]]
			wait();
	}

	void unlock()
	{
		if (is_needed_)
			__atomic_store_n(&is_held_, false, __ATOMIC_RELEASE);
	}

private:
	// Yields in the end: the holder may have lost its CPU to this very thread.
	[[gnu::cold, gnu::noinline]] void wait()
	{
		constexpr int kSpins = 4096;
		for (int spin = 0; __atomic_load_n(&is_held_, __ATOMIC_RELAXED); ++spin) {
			if (spin >= kSpins)
				sched_yield();
#if defined(__x86_64__) || defined(__i386__)
			else
				__builtin_ia32_pause();
#endif
		}
	}

	bool is_held_ = false;
	bool is_needed_ = true;
};

class LockGuard {
public:
	explicit LockGuard(SpinLock &lock) : lock_(lock) { lock_.lock(); }
	~LockGuard() { lock_.unlock(); }
	LockGuard(const LockGuard &) = delete;
	LockGuard &operator=(const LockGuard &) = delete;

private:
	SpinLock &lock_;
};

// For what takes longer, and no work request needs.
struct MutexGuard {
	explicit MutexGuard(pthread_mutex_t &the_mutex) : mutex(the_mutex) { pthread_mutex_lock(&mutex); }
	~MutexGuard() { pthread_mutex_unlock(&mutex); }
	MutexGuard(const MutexGuard &) = delete;
	MutexGuard &operator=(const MutexGuard &) = delete;
	pthread_mutex_t &mutex;
};

} // namespace ohca
