// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// For LD_PRELOAD: a cheap rand().  perftest fills its buffers with one rand()
// per byte before it does anything else; of 8 queue pairs with 8 MiB that takes
// an emulated guest a minute.  What perftest does with the HCA stays as it is.
extern "C" int rand() noexcept;

int rand() noexcept
{
	static thread_local unsigned state = 1;
	state = state * 1664525U + 1013904223U;
	return static_cast<int>(state >> 1);
}
