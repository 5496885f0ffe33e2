// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of windows: which ranges can be exported, and where the importer sees them.
 */
#include <linux/prandom.h>
#include <linux/sizes.h>

#include "test.h"

/*
 * A model that finds free windows by trying all of them. It needs the loopback's default
 * parameters: 32 LUT entries of 64 KiB, of which the first and the last are not free, and
 * direct windows of 2 MiB and 64 GiB.
 */
#define LUT_FIRST 2
#define LUTS 30
#define LUT SZ_64K
#define EXPORTS 24

static const u64 direct_size[2] = { SZ_2M, 65536ULL << 20 };

struct model {
	bool direct[2];
	bool lut[LUTS];
	/* The windows of each export. */
	struct {
		struct dlend_export *export;
		u64 addr, size;
		unsigned int first, n;
		bool direct;
	} exports[EXPORTS];
};

static u64 model_align(u64 addr, u64 size)
{
	u64 align = 1;

	/* The largest power of two that divides addr, at most the one that holds size. */
	while (align < size && !(addr & align))
		align <<= 1;
	return align;
}

static bool model_lut_fits(const struct model *m, unsigned int at, u64 addr,
			   u64 size, unsigned int *n)
{
	u64 align = max_t(u64, LUT, model_align(addr, size));
	u64 base = addr / LUT * LUT;
	unsigned int i;

	*n = DIV_ROUND_UP_ULL(addr + size, LUT) - addr / LUT;
	/* The first free entry is entry 1 of the LUT, at an offset of 64 KiB. */
	if (((at + 1) * (u64)LUT) % align != base % align)
		return false;
	for (i = at; i < at + *n; i++) {
		if (i >= LUTS || m->lut[i])
			return false;
	}
	return true;
}

static bool model_direct_fits(const struct model *m, unsigned int at, u64 addr,
			      u64 size)
{
	u64 span = SZ_4K;

	while (addr / span != (addr + size - 1) / span)
		span <<= 1;
	return !m->direct[at] && span <= direct_size[at];
}

static bool model_fits(const struct model *m, u64 addr, u64 size,
		       unsigned int flags)
{
	unsigned int i, n;

	for (i = 0; i < LUTS && flags != DLEND_WINDOW_DIRECT; i++) {
		if (model_lut_fits(m, i, addr, size, &n))
			return true;
	}
	for (i = 0; i < 2 && flags != DLEND_WINDOW_LUT; i++) {
		if (model_direct_fits(m, i, addr, size))
			return true;
	}
	return false;
}

static bool check_free(const struct model *m)
{
	unsigned int i, luts = 0, directs = 0, run = 0, longest = 0;
	struct dlend_free_windows free;
	u64 largest = 0;

	for (i = 0; i < LUTS; i++) {
		run = m->lut[i] ? 0 : run + 1;
		longest = max(longest, run);
		luts += !m->lut[i];
	}
	for (i = 0; i < 2; i++) {
		directs += !m->direct[i];
		if (!m->direct[i])
			largest = max(largest, direct_size[i]);
	}
	CHECK_IS(dlend_windows_free(dlend_test_ends[0], &free), 0);
	CHECK_IS(free.lut_count, luts);
	CHECK_IS(free.lut_run, longest);
	CHECK_IS(free.direct_count, directs);
	CHECK_IS(free.direct_max, largest);
	return true;
}

static bool check_import(const struct dlend_window_desc *desc, u64 addr, u64 size)
{
	struct dlend_import *import = dlend_import(dlend_test_ends[1], desc);

	CHECK(!IS_ERR(import));
	CHECK_IS(import->phys, addr);
	CHECK_IS(import->size, size);
	CHECK_IS(dlend_import_bus(import), addr);
	dlend_unimport(import);
	return true;
}

static bool model_export(struct model *m, unsigned int slot)
{
	static const unsigned int kinds[] = { 0, DLEND_WINDOW_LUT, DLEND_WINDOW_DIRECT };
	unsigned int flags = kinds[prandom_u32_state(&dlend_test_rnd) % 3], i, n, first;
	u64 size = 1ULL << prandom_u32_state(&dlend_test_rnd) % 24;
	u64 addr = (u64)prandom_u32_state(&dlend_test_rnd) << 8;
	struct dlend_window_desc desc;
	struct dlend_export *export;
	u64 offset;

	/* Half of the ranges are like BARs: a power of two, aligned to itself. */
	if (prandom_u32_state(&dlend_test_rnd) % 2)
		addr &= ~(size - 1);
	else
		size += prandom_u32_state(&dlend_test_rnd) % size;
	export = dlend_export(dlend_test_ends[0], addr, size, flags, &desc);
	if (!model_fits(m, addr, size, flags)) {
		CHECK(IS_ERR(export));
		CHECK_IS(PTR_ERR(export), -ENOSPC);
		return true;
	}
	CHECK(!IS_ERR(export));
	first = le32_to_cpu(desc.window);
	offset = le64_to_cpu(desc.offset);
	m->exports[slot].export = export;
	m->exports[slot].addr = addr;
	m->exports[slot].size = size;
	m->exports[slot].direct = first < LUT_FIRST;
	if (first < LUT_FIRST) {
		CHECK(flags != DLEND_WINDOW_LUT);
		CHECK(model_direct_fits(m, first, addr, size));
		m->direct[first] = true;
		m->exports[slot].first = first;
	} else {
		first -= LUT_FIRST;
		CHECK(flags != DLEND_WINDOW_DIRECT);
		CHECK(model_lut_fits(m, first, addr, size, &n));
		CHECK_IS(offset, addr % LUT);
		for (i = first; i < first + n; i++)
			m->lut[i] = true;
		m->exports[slot].first = first;
		m->exports[slot].n = n;
	}
	return check_import(&desc, addr, size);
}

static void model_unexport(struct model *m, unsigned int slot)
{
	unsigned int i;

	if (!m->exports[slot].export)
		return;
	dlend_unexport(m->exports[slot].export);
	m->exports[slot].export = NULL;
	if (m->exports[slot].direct) {
		m->direct[m->exports[slot].first] = false;
		return;
	}
	for (i = 0; i < m->exports[slot].n; i++)
		m->lut[m->exports[slot].first + i] = false;
}

bool dlend_test_windows(void)
{
	static struct model model;
	unsigned int i, slot;
	bool good = true;

	for (i = 0; i < 5000 && good; i++) {
		slot = prandom_u32_state(&dlend_test_rnd) % EXPORTS;
		if (model.exports[slot].export)
			model_unexport(&model, slot);
		else
			good = model_export(&model, slot);
		if (good)
			good = check_free(&model);
	}
	for (slot = 0; slot < EXPORTS; slot++)
		model_unexport(&model, slot);
	return good && check_free(&model);
}

bool dlend_test_same_export(void)
{
	struct dlend_window_desc one, two;
	struct dlend_free_windows free;
	struct dlend_export *a, *b;

	a = dlend_export(dlend_test_ends[0], SZ_1G, SZ_1G, DLEND_WINDOW_DIRECT, &one);
	CHECK(!IS_ERR(a));
	b = dlend_export(dlend_test_ends[0], SZ_1G, SZ_1G, DLEND_WINDOW_DIRECT, &two);
	CHECK(a == b);
	CHECK(!memcmp(&one, &two, sizeof(one)));
	dlend_unexport(a);
	CHECK_IS(dlend_windows_free(dlend_test_ends[0], &free), 0);
	CHECK_IS(free.direct_count, 1);
	CHECK(check_import(&two, SZ_1G, SZ_1G));
	dlend_unexport(b);
	CHECK_IS(dlend_windows_free(dlend_test_ends[0], &free), 0);
	CHECK_IS(free.direct_count, 2);
	CHECK(IS_ERR(dlend_import(dlend_test_ends[1], &two)));
	return true;
}

bool dlend_test_bad_exports(void)
{
	struct dlend_window_desc desc;

	CHECK(dlend_export(dlend_test_ends[0], 0, 0, 0, &desc) == ERR_PTR(-EINVAL));
	CHECK(dlend_export(dlend_test_ends[0], 0, U64_MAX, 0, &desc) == ERR_PTR(-EINVAL));
	CHECK(dlend_export(dlend_test_ends[0], U64_MAX, 2, 0, &desc) == ERR_PTR(-EINVAL));
	CHECK(dlend_export(dlend_test_ends[0], 0, 1, 3, &desc) == ERR_PTR(-EINVAL));
	CHECK(dlend_export(dlend_test_ends[0], 0, BIT_ULL(60), 0, &desc) == ERR_PTR(-ENOSPC));
	return true;
}

/* A descriptor with random changes is refused, or lies within the export. */
bool dlend_test_bad_imports(void)
{
	struct dlend_window_desc good, bad;
	struct dlend_import *import;
	struct dlend_export *export;
	unsigned int i, imported = 0;
	bool fine = true;

	export = dlend_export(dlend_test_ends[0], 0x10000000, 3 * LUT, DLEND_WINDOW_LUT, &good);
	CHECK(!IS_ERR(export));
	for (i = 0; i < 20000; i++) {
		u64 words[4];

		bad = good;
		prandom_bytes_state(&dlend_test_rnd, words, sizeof(words));
		if (words[0] & 1)
			bad.window = cpu_to_le32(words[0] >> 1 & 2 ?
							 words[1] : words[1] % 140);
		if (words[0] & 4)
			bad.offset = cpu_to_le64(words[2] >> (words[0] >> 8) % 64);
		if (words[0] & 8)
			bad.size = cpu_to_le64(words[3] >> (words[0] >> 16) % 64);
		if (!(words[0] & 0x70))
			bad.reserved = cpu_to_le32(1);
		import = dlend_import(dlend_test_ends[1], &bad);
		if (IS_ERR(import))
			continue;
		imported++;
		fine = fine && !bad.reserved && import->phys >= 0x10000000 &&
		       import->size &&
		       import->phys + import->size <= 0x10000000 + 3 * LUT;
		dlend_unimport(import);
	}
	dlend_unexport(export);
	CHECK(fine);
	/* The random changes must give good descriptors as well as bad ones. */
	CHECK(imported > 1000);
	CHECK(imported < 19000);
	return true;
}

/* Return: whether a range from the start of this window on is imported. */
static bool is_imported(struct dlend_peer *peer, u32 window, u64 size)
{
	struct dlend_window_desc desc = {
		.window = cpu_to_le32(window),
		.size = cpu_to_le64(size),
		.addr = cpu_to_le64(SZ_1G),
	};
	struct dlend_import *import = dlend_import(peer, &desc);

	if (IS_ERR(import))
		return false;
	dlend_unimport(import);
	return true;
}

/*
 * The control area has the last of the LUT entries. A range that begins in the entry
 * before it and is longer than that entry would end in the control area.
 */
bool dlend_test_far_imports(struct dlend_peer *peer)
{
	u32 far = 0;

	while (is_imported(peer, far, SZ_4K))
		far++;
	CHECK(far > 2);
	CHECK(is_imported(peer, far - 1, LUT));
	CHECK(!is_imported(peer, far - 1, LUT + 1));
	CHECK(is_imported(peer, far - 2, 2 * LUT));
	CHECK(!is_imported(peer, far - 2, 2 * LUT + SZ_4K));
	return true;
}
