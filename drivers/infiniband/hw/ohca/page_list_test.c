// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * KUnit tests of page lists: whatever the memory looks like to the device, the
 * list leads it to the same bytes.  No memory is behind the addresses.
 */

#include <linux/scatterlist.h>

#include "fake_device.h"

/* Contiguous DMA memory. */
struct ohca_test_range {
	u64 address;
	u64 length;
};

static u64 ohca_test_range_address(const struct ohca_test_range *ranges, u64 offset)
{
	while (offset >= ranges->length)
		offset -= (ranges++)->length;
	return ranges->address + offset;
}

/* As the device does it. */
static u64 ohca_test_list_address(const struct ohca_page_list *list, u64 offset)
{
	u64 at = offset + le64_to_cpu(list->first_page_offset);
	u64 page = at >> list->log_page_size;
	u64 rest = at & ((1ULL << list->log_page_size) - 1);
	u64 address = le64_to_cpu(list->address);
	__le64 *entries;

	switch (list->levels) {
	case 0:
		return address + at;
	case 2:
		entries = phys_to_virt(address);
		address = le64_to_cpu(entries[page / OHCA_PAGE_LIST_CHUNK_ENTRIES]);
		page %= OHCA_PAGE_LIST_CHUNK_ENTRIES;
		break;
	}
	entries = phys_to_virt(address);
	return le64_to_cpu(entries[page]) + rest;
}

static struct ib_umem *ohca_test_umem(struct kunit *test, struct ohca_fake_device *fake,
				      const struct ohca_test_range *ranges, u32 count,
				      u64 length)
{
	struct ib_umem *umem = kunit_kzalloc(test, sizeof(*umem), GFP_KERNEL);
	struct scatterlist *sgl = kunit_kcalloc(test, count, sizeof(*sgl), GFP_KERNEL);
	u32 i;

	KUNIT_ASSERT_NOT_NULL(test, umem);
	KUNIT_ASSERT_NOT_NULL(test, sgl);
	sg_init_table(sgl, count);
	for (i = 0; i < count; i++) {
		u64 start = ALIGN_DOWN(ranges[i].address, PAGE_SIZE);

		/* Pinned memory begins and ends with its pages. */
		sg_dma_address(&sgl[i]) = start;
		sg_dma_len(&sgl[i]) = PAGE_ALIGN(ranges[i].address + ranges[i].length) - start;
	}
	umem->ibdev = &fake->dev->ibdev;
	umem->address = 0x10000 + offset_in_page(ranges[0].address);
	umem->length = length;
	umem->sgt_append.sgt.sgl = sgl;
	umem->sgt_append.sgt.nents = count;
	umem->sgt_append.sgt.orig_nents = count;
	return umem;
}

static u64 ohca_test_length(const struct ohca_test_range *ranges, u32 count)
{
	u64 length = 0;

	while (count--)
		length += ranges[count].length;
	return length;
}

static void ohca_test_list(struct kunit *test, const struct ohca_test_range *ranges, u32 count,
			   u8 log_page_size, u8 levels)
{
	struct ohca_fake_device *fake = ohca_fake_device_enable(test);
	u64 length = ohca_test_length(ranges, count);
	struct ib_umem *umem = ohca_test_umem(test, fake, ranges, count, length);
	struct ohca_page_memory memory;
	struct ohca_page_list list;
	u64 offset, pages;

	KUNIT_ASSERT_EQ(test, ohca_page_list_from_umem(fake->dev, umem, &memory, &list), 0);
	KUNIT_EXPECT_EQ(test, list.log_page_size, log_page_size);
	KUNIT_EXPECT_EQ(test, list.levels, levels);
	KUNIT_EXPECT_EQ(test, le16_to_cpu(list.reserved_b0), 0);
	KUNIT_EXPECT_LT(test, le64_to_cpu(list.first_page_offset), 1ULL << list.log_page_size);
	pages = DIV_ROUND_UP_ULL(le64_to_cpu(list.first_page_offset) + length,
				 1ULL << list.log_page_size);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(list.page_count), pages);
	for (offset = 0; offset < length; offset += 2048)
		KUNIT_ASSERT_EQ_MSG(test, ohca_test_list_address(&list, offset),
				    ohca_test_range_address(ranges, offset), "at %#llx", offset);
	KUNIT_EXPECT_EQ(test, ohca_test_list_address(&list, length - 1),
			ohca_test_range_address(ranges, length - 1));
	ohca_page_memory_free(fake->dev, &memory);
}

static void ohca_test_one_page(struct kunit *test)
{
	static const struct ohca_test_range ranges[] = { { 0x100000, 0x1000 } };

	ohca_test_list(test, ranges, ARRAY_SIZE(ranges), 12, 0);
}

static void ohca_test_one_byte(struct kunit *test)
{
	static const struct ohca_test_range ranges[] = { { 0x100fff, 1 } };

	ohca_test_list(test, ranges, ARRAY_SIZE(ranges), 12, 0);
}

/* Contiguous for the device: one page, as large as it takes. */
static void ohca_test_contiguous(struct kunit *test)
{
	static const struct ohca_test_range ranges[] = { { 0x40000000, 0x8000000 } };

	ohca_test_list(test, ranges, ARRAY_SIZE(ranges), 27, 0);
}

static void ohca_test_contiguous_pieces(struct kunit *test)
{
	static const struct ohca_test_range ranges[] = {
		{ 0x40000000, 0x10000 }, { 0x40010000, 0x10000 }, { 0x40020000, 0x20000 },
	};

	ohca_test_list(test, ranges, ARRAY_SIZE(ranges), 18, 0);
}

/* The range starts and ends anywhere, and pages are larger than the kernel's. */
static void ohca_test_large_pages(struct kunit *test)
{
	static const struct ohca_test_range ranges[] = {
		{ 0x40012345, 0x20000 - 0x12345 }, { 0x80000000, 0x20000 }, { 0x60000000, 0x1001 },
	};

	ohca_test_list(test, ranges, ARRAY_SIZE(ranges), 17, 1);
}

static void ohca_test_scattered(struct kunit *test)
{
	static const struct ohca_test_range ranges[] = {
		{ 0x40000ffc, 4 }, { 0x123456000, 0x1000 }, { 0x7000, 0x1000 },
		{ 0xfffffffff000, 0x1000 }, { 0x9000, 0x123 },
	};

	ohca_test_list(test, ranges, ARRAY_SIZE(ranges), 12, 1);
}

static void ohca_test_many(struct kunit *test, u32 count, u8 levels)
{
	struct ohca_test_range *ranges = kunit_kcalloc(test, count, sizeof(*ranges), GFP_KERNEL);
	u32 i;

	KUNIT_ASSERT_NOT_NULL(test, ranges);
	for (i = 0; i < count; i++)
		ranges[i] = (struct ohca_test_range) {
			.address = 0x100000000 + 0x3000ULL * i,
			.length = 0x1000,
		};
	ohca_test_list(test, ranges, count, 12, levels);
}

static void ohca_test_full_array(struct kunit *test)
{
	ohca_test_many(test, OHCA_PAGE_LIST_CHUNK_ENTRIES, 1);
}

static void ohca_test_two_levels(struct kunit *test)
{
	ohca_test_many(test, OHCA_PAGE_LIST_CHUNK_ENTRIES + 1, 2);
}

/* Around the number of chunks that are allocated at a time. */
static void ohca_test_full_block(struct kunit *test)
{
	ohca_test_many(test, 8 * OHCA_PAGE_LIST_CHUNK_ENTRIES, 2);
}

static void ohca_test_next_block(struct kunit *test)
{
	ohca_test_many(test, 8 * OHCA_PAGE_LIST_CHUNK_ENTRIES + 1, 2);
}

static void ohca_test_three_blocks(struct kunit *test)
{
	ohca_test_many(test, 17 * OHCA_PAGE_LIST_CHUNK_ENTRIES - 1, 2);
}

/* The device knows no page small enough for memory with holes. */
static void ohca_test_no_page_size(struct kunit *test)
{
	static const struct ohca_test_range ranges[] = {
		{ 0x40001000, 0x1000 }, { 0x80000000, 0x1000 },
	};
	struct ohca_fake_device *fake = ohca_fake_device_enable(test);
	struct ib_umem *umem = ohca_test_umem(test, fake, ranges, 2, 0x2000);
	struct ohca_page_memory memory;
	struct ohca_page_list list;

	fake->dev->caps.page_size_mask = SZ_64K | SZ_2M;
	KUNIT_EXPECT_EQ(test, ohca_page_list_from_umem(fake->dev, umem, &memory, &list), -EINVAL);
	ohca_page_memory_free(fake->dev, &memory);
}

static void ohca_test_coherent(struct kunit *test)
{
	static const struct {
		u64 dma;
		size_t size;
		u32 pages;
	} cases[] = {
		{ 0x1000, 0x1000, 1 }, { 0x1040, 64, 1 }, { 0x1fc0, 64, 1 }, { 0x1fc0, 65, 2 },
		{ 0x123456000, 0x10001, 17 },
	};
	struct ohca_page_list list;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		ohca_page_list_from_dma(cases[i].dma, cases[i].size, &list);
		KUNIT_EXPECT_EQ(test, le32_to_cpu(list.page_count), cases[i].pages);
		KUNIT_EXPECT_EQ(test, list.log_page_size, 12);
		KUNIT_EXPECT_EQ(test, le64_to_cpu(list.address) % SZ_4K, 0);
		KUNIT_EXPECT_EQ(test, ohca_test_list_address(&list, 0), cases[i].dma);
		KUNIT_EXPECT_EQ(test, ohca_test_list_address(&list, cases[i].size - 1),
				cases[i].dma + cases[i].size - 1);
	}
}

static struct kunit_case ohca_page_list_cases[] = {
	KUNIT_CASE(ohca_test_one_page),
	KUNIT_CASE(ohca_test_one_byte),
	KUNIT_CASE(ohca_test_contiguous),
	KUNIT_CASE(ohca_test_contiguous_pieces),
	KUNIT_CASE(ohca_test_large_pages),
	KUNIT_CASE(ohca_test_scattered),
	KUNIT_CASE(ohca_test_full_array),
	KUNIT_CASE(ohca_test_two_levels),
	KUNIT_CASE(ohca_test_full_block),
	KUNIT_CASE(ohca_test_next_block),
	KUNIT_CASE(ohca_test_three_blocks),
	KUNIT_CASE(ohca_test_no_page_size),
	KUNIT_CASE(ohca_test_coherent),
	{}
};

static struct kunit_suite ohca_page_list_suite = {
	.name = "ohca_page_list",
	.test_cases = ohca_page_list_cases,
};

kunit_test_suite(ohca_page_list_suite);
