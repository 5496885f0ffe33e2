// SPDX-License-Identifier: GPL-2.0-only
/*
 * Exports and imports.
 *
 * An export uses windows of the peer's adapter. This node owns the memory that the
 * windows lead to, so this node decides which window leads where. There are two kinds:
 * a direct window takes a range of any power of two up to its size; a LUT entry has one
 * fixed size, and adjacent entries together take a larger range.
 */
#include <linux/io.h>
#include <linux/log2.h>
#include <linux/module.h>
#include <linux/pci.h>
#include <linux/seq_file.h>
#include <linux/slab.h>

#include "fabric.h"

/* A range that needs more LUT entries than this gets a direct window if one is free. */
#define LUT_RUN_CHEAP 4

#define WINDOW_MIN SZ_4K

struct dlend_export {
	struct dlend_peer *peer;
	struct list_head node;
	unsigned int refs;
	dma_addr_t addr;
	u64 size;
	unsigned int flags;	/* as the client gave them */
	unsigned int first, n;	/* first window, and number of windows */
	u64 base;		/* bus address that the first one leads to */
	u64 span;		/* bytes that each of them opens */
	bool closed;		/* the end of the session has closed its windows */
};

struct import {
	struct dlend_import import;
	struct dlend_peer *peer;
	dma_addr_t bus;		/* address for the devices of this node */
	u32 window;
	u64 offset;
	u32 session;		/* number of the session in which it was made */
};

void dlend_windows_setup(struct dlend_peer *peer)
{
	mutex_init(&peer->windows.mutex);
	INIT_LIST_HEAD(&peer->windows.exports);
}

static void write_u64(u64 value, __le64 __iomem *to)
{
	writel(lower_32_bits(value), (__le32 __iomem *)to);
	writel(upper_32_bits(value), (__le32 __iomem *)to + 1);
}

void dlend_windows_write_table(struct dlend_peer *peer)
{
	struct dlend_area __iomem *area = peer->far_area;
	u64 addr, size;
	u32 i;

	for (i = 0; i < DLEND_WINDOWS_MAX; i++) {
		if (peer->backend->window_own(peer, i, &addr, &size))
			break;
		write_u64(addr, &area->window[i].addr);
		write_u64(size, &area->window[i].size);
	}
	writel(i, &area->windows);
}

/*
 * The addresses tell how the windows are aligned on the far node and which windows
 * are adjacent. A peer that gives wrong addresses harms only itself: it cannot use its
 * imports.
 */
void dlend_windows_read_table(struct dlend_peer *peer)
{
	const struct dlend_area *area = peer->area;
	struct dlend_windows *windows = &peer->windows;
	u32 n = min_t(u32, le32_to_cpu(READ_ONCE(area->windows)), windows->n);
	u32 i;

	mutex_lock(&windows->mutex);
	windows->in_session = true;
	for (i = 0; i < windows->n; i++) {
		struct dlend_window *window = &windows->window[i];
		u64 size;

		window->kind = i < n ? window->hw_kind : 0;
		window->size = window->max;
		if (!window->kind)
			continue;
		window->far = le64_to_cpu(READ_ONCE(area->window[i].addr));
		size = le64_to_cpu(READ_ONCE(area->window[i].size));
		/* A LUT entry is used whole or not at all; a direct window may be cut. */
		if (window->kind == DLEND_WINDOW_LUT && size != window->size)
			window->kind = 0;
		else if (window->kind == DLEND_WINDOW_DIRECT)
			window->size = min(window->size, size);
		if (window->size < WINDOW_MIN)
			window->kind = 0;
	}
	mutex_unlock(&windows->mutex);
}

/* Return: the alignment of @addr, but at most the power of two that holds @size. */
static u64 alignment(u64 addr, u64 size)
{
	u64 align = roundup_pow_of_two(size);

	return addr ? min(align, addr & -addr) : align;
}

static bool is_free(const struct dlend_window *window, unsigned int kind)
{
	return window->kind == kind && !window->export && !window->stuck;
}

/*
 * Finds adjacent LUT entries for a range. Sets @first to the first of them, and @base
 * to the bus address that it leads to.
 *
 * Return: number of entries, or 0 if there are not enough.
 */
static unsigned int find_lut(const struct dlend_windows *windows, u64 addr,
			     u64 size, unsigned int *first, u64 *base)
{
	unsigned int i, run = 0, need = 0;
	u64 entry = 0, align;

	for (i = 0; i < windows->n; i++) {
		const struct dlend_window *window = &windows->window[i];

		if (!is_free(window, DLEND_WINDOW_LUT)) {
			run = 0;
			continue;
		}
		if (!run || window->size != entry ||
		    window->far != window[-1].far + entry)
			run = 0;
		if (!run) {
			u64 last;

			entry = window->size;
			*base = round_down(addr, entry);
			last = round_down(addr + size - 1, entry);
			if ((last - *base) / entry >= DLEND_WINDOWS_MAX)
				continue;
			need = (last - *base) / entry + 1;
			align = max(entry, alignment(addr, size));
			if ((window->far - *base) & (align - 1))
				continue;
			*first = i;
		}
		if (++run == need)
			return need;
	}
	return 0;
}

/* Return: the bytes that a direct window onto a range opens, or 0 if none can. */
static u64 direct_span(u64 addr, u64 size)
{
	u64 span = max_t(u64, roundup_pow_of_two(size), WINDOW_MIN);

	while (round_down(addr, span) != round_down(addr + size - 1, span)) {
		if (span >= BIT_ULL(62))
			return 0;
		span <<= 1;
	}
	return span;
}

/*
 * Finds the smallest free direct window for a range. Sets @first to its number, @base
 * to the bus address that it leads to, and @span to the bytes that it opens.
 *
 * Return: number of windows: 1, or 0 if none fits.
 */
static unsigned int find_direct(const struct dlend_windows *windows, u64 addr,
				u64 size, unsigned int *first, u64 *base,
				u64 *span)
{
	u64 align = alignment(addr, size);
	unsigned int i, found = 0;
	u64 best = 0;

	*span = direct_span(addr, size);
	if (!*span)
		return 0;
	*base = round_down(addr, *span);
	for (i = 0; i < windows->n; i++) {
		const struct dlend_window *window = &windows->window[i];

		if (!is_free(window, DLEND_WINDOW_DIRECT) || window->size < *span ||
		    ((window->far - *base) & (align - 1)))
			continue;
		if (!found || window->size < best) {
			best = window->size;
			*first = i;
			found = 1;
		}
	}
	return found;
}

static void close_windows(struct dlend_peer *peer, unsigned int first,
			  unsigned int n)
{
	unsigned int i;
	int err;

	for (i = first; i < first + n; i++) {
		struct dlend_window *window = &peer->windows.window[i];

		err = peer->backend->window_set(peer, i, 0, 0);
		window->export = NULL;
		if (!err)
			continue;
		/* The peer may still have access through it, so no other export gets it. */
		window->stuck = true;
		dev_err(peer->dev,
			"window %u is not used until it can be closed: error %d\n",
			i, -err);
		dlend_peer_kick(peer, 0);
	}
}

bool dlend_windows_retry(struct dlend_peer *peer)
{
	struct dlend_windows *windows = &peer->windows;
	bool stuck = false;
	unsigned int i;

	mutex_lock(&windows->mutex);
	for (i = 0; i < windows->n; i++) {
		if (!windows->window[i].stuck)
			continue;
		windows->window[i].stuck = peer->backend->window_set(peer, i, 0, 0) != 0;
		stuck = stuck || windows->window[i].stuck;
	}
	mutex_unlock(&windows->mutex);
	return stuck;
}

static int open_windows(struct dlend_peer *peer, struct dlend_export *export)
{
	unsigned int i, at;
	int err;

	for (i = 0; i < export->n; i++) {
		at = export->first + i;
		err = -ENOTCONN;
		if (dlend_peer_is_up(peer))
			err = peer->backend->window_set(peer, at,
							export->base +
							i * export->span,
							export->span);
		if (err) {
			/* Also close the window that failed: it may be half set. */
			close_windows(peer, export->first, i + 1);
			return err;
		}
		peer->windows.window[at].export = export;
	}
	return 0;
}

static struct dlend_export *export_find(struct dlend_peer *peer, dma_addr_t addr,
					u64 size, unsigned int flags)
{
	struct dlend_export *export;

	list_for_each_entry(export, &peer->windows.exports, node) {
		if (export->addr == addr && export->size == size &&
		    export->flags == flags)
			return export;
	}
	return NULL;
}

static struct dlend_export *export_new(struct dlend_peer *peer, dma_addr_t addr,
				       u64 size, unsigned int flags)
{
	struct dlend_windows *windows = &peer->windows;
	struct dlend_export *export;
	u64 lut_base = 0, base = 0, span = 0;
	unsigned int lut_first = 0, lut = 0, first = 0, direct = 0;
	int err;

	if (flags != DLEND_WINDOW_DIRECT)
		lut = find_lut(windows, addr, size, &lut_first, &lut_base);
	if (flags != DLEND_WINDOW_LUT && (!lut || lut > LUT_RUN_CHEAP))
		direct = find_direct(windows, addr, size, &first, &base, &span);
	if (!lut && !direct)
		return ERR_PTR(-ENOSPC);

	export = kzalloc(sizeof(*export), GFP_KERNEL);
	if (!export)
		return ERR_PTR(-ENOMEM);
	export->peer = peer;
	export->refs = 1;
	export->addr = addr;
	export->size = size;
	export->flags = flags;
	export->first = direct ? first : lut_first;
	export->n = direct ?: lut;
	export->base = direct ? base : lut_base;
	export->span = direct ? span : windows->window[lut_first].size;
	dlend_count(peer, DLEND_COUNT_EXPORTS);
	err = open_windows(peer, export);
	if (err) {
		kfree(export);
		return ERR_PTR(err);
	}
	dlend_peer_get(peer);
	list_add_tail(&export->node, &windows->exports);
	return export;
}

struct dlend_export *dlend_export(struct dlend_peer *peer, dma_addr_t addr, u64 size,
				  unsigned int flags, struct dlend_window_desc *desc)
{
	struct dlend_export *export;

	might_sleep();
	if (!size || size > BIT_ULL(62) || addr > BIT_ULL(62) ||
	    flags > DLEND_WINDOW_LUT)
		return ERR_PTR(-EINVAL);
	if (!dlend_peer_enter(peer))
		return ERR_PTR(-ENOTCONN);
	mutex_lock(&peer->windows.mutex);
	export = export_find(peer, addr, size, flags);
	if (export)
		export->refs++;
	else
		export = export_new(peer, addr, size, flags);
	mutex_unlock(&peer->windows.mutex);
	dlend_peer_exit(peer);
	if (!IS_ERR(export)) {
		*desc = (struct dlend_window_desc){
			.window = cpu_to_le32(export->first),
			.offset = cpu_to_le64(addr - export->base),
			.size = cpu_to_le64(size),
			.addr = cpu_to_le64(addr),
		};
	}
	return export;
}
EXPORT_SYMBOL_GPL(dlend_export);

/* Widens a range so that it has the bytes that a direct window onto it opens. */
static void widen_direct(u64 *first, u64 *last)
{
	u64 span = direct_span(*first, *last - *first + 1);

	if (!span)
		return;
	*first = round_down(*first, span);
	*last = *first + span - 1;
}

void dlend_export_reach(struct dlend_peer *peer, phys_addr_t phys, u64 size, u64 *start,
			u64 *ret_size)
{
	struct dlend_windows *windows = &peer->windows;
	u64 entry = 0, first = phys, last = phys + size - 1;
	unsigned int i;

	if (dlend_is_translated(peer->dev)) {
		/* An IOMMU maps whole pages. */
		*start = phys & PAGE_MASK;
		*ret_size = PAGE_ALIGN(phys + size) - *start;
		return;
	}
	mutex_lock(&windows->mutex);
	for (i = 0; i < windows->n; i++)
		if (windows->window[i].kind == DLEND_WINDOW_LUT)
			entry = max(entry, windows->window[i].size);
	mutex_unlock(&windows->mutex);
	/* Either kind of window may be free when the range is exported. */
	widen_direct(&first, &last);
	if (entry) {
		first = min_t(u64, first, round_down(phys, entry));
		last = max_t(u64, last, round_down(phys + size - 1, entry) + entry - 1);
	}
	*start = first;
	*ret_size = last - first + 1;
}
EXPORT_SYMBOL_GPL(dlend_export_reach);

void dlend_unexport(struct dlend_export *export)
{
	struct dlend_peer *peer;

	if (!export)
		return;
	might_sleep();
	peer = export->peer;
	mutex_lock(&peer->windows.mutex);
	if (--export->refs) {
		mutex_unlock(&peer->windows.mutex);
		return;
	}
	if (!export->closed) {
		close_windows(peer, export->first, export->n);
		list_del(&export->node);
	}
	mutex_unlock(&peer->windows.mutex);
	kfree(export);
	dlend_peer_put(peer);
}
EXPORT_SYMBOL_GPL(dlend_unexport);

void dlend_windows_close_all(struct dlend_peer *peer)
{
	struct dlend_windows *windows = &peer->windows;
	struct dlend_export *export, *next;

	mutex_lock(&windows->mutex);
	list_for_each_entry_safe(export, next, &windows->exports, node) {
		dev_warn(peer->dev, "a client left window %u open; it is closed\n",
			 export->first);
		close_windows(peer, export->first, export->n);
		list_del(&export->node);
		export->closed = true;
	}
	windows->in_session = false;
	mutex_unlock(&windows->mutex);
}

int dlend_windows_free(struct dlend_peer *peer,
		       struct dlend_free_windows *free)
{
	struct dlend_windows *windows = &peer->windows;
	unsigned int i, run = 0;

	memset(free, 0, sizeof(*free));
	if (!dlend_peer_enter(peer))
		return -ENOTCONN;
	if (mutex_lock_killable(&windows->mutex)) {
		dlend_peer_exit(peer);
		return -EINTR;
	}
	for (i = 0; i < windows->n; i++) {
		const struct dlend_window *window = &windows->window[i];

		if (is_free(window, DLEND_WINDOW_DIRECT)) {
			free->direct_count++;
			free->direct_max = max(free->direct_max,
					       rounddown_pow_of_two(window->size));
		}
		if (!is_free(window, DLEND_WINDOW_LUT)) {
			run = 0;
			continue;
		}
		free->lut_count++;
		free->lut_size = window->size;
		if (run && window->far != window[-1].far + window[-1].size)
			run = 0;
		run++;
		free->lut_run = max(free->lut_run, run);
	}
	mutex_unlock(&windows->mutex);
	dlend_peer_exit(peer);
	return 0;
}
EXPORT_SYMBOL_GPL(dlend_windows_free);

void dlend_windows_show(struct dlend_peer *peer, struct seq_file *file)
{
	static const char *const kinds[] = { "-", "direct", "lut" };
	struct dlend_windows *windows = &peer->windows;
	unsigned int i, used = 0, luts = 0, stuck = 0;

	mutex_lock(&windows->mutex);
	for (i = 0; i < windows->n; i++) {
		const struct dlend_window *window = &windows->window[i];

		stuck += window->stuck;
		if (!window->export)
			continue;
		used += window->kind == DLEND_WINDOW_DIRECT;
		luts += window->kind == DLEND_WINDOW_LUT;
		seq_printf(file, "%u %s %#llx to %#llx of %#llx refs %u\n", i,
			   kinds[window->kind], window->export->size,
			   (u64)window->export->addr, window->size,
			   window->export->refs);
	}
	mutex_unlock(&windows->mutex);
	seq_printf(file, "direct_used %u\nlut_used %u\nstuck %u\nimports %d\n",
		   used, luts, stuck, atomic_read(&windows->imports));
}

/* Imports. */

struct dlend_import *dlend_import(struct dlend_peer *peer,
				  const struct dlend_window_desc *desc)
{
	u32 window = le32_to_cpu(desc->window);
	u64 offset = le64_to_cpu(desc->offset);
	u64 size = le64_to_cpu(desc->size);
	struct import *import;
	int err = -EINVAL;

	might_sleep();
	if (!dlend_peer_enter(peer))
		return ERR_PTR(-ENOTCONN);
	import = kzalloc(sizeof(*import), GFP_KERNEL);
	if (!import) {
		err = -ENOMEM;
		goto exit;
	}
	if (desc->reserved || window >= DLEND_WINDOWS_MAX || !size ||
	    size > BIT_ULL(62) || offset > BIT_ULL(62))
		goto free;
	err = peer->backend->import(peer, window, offset, size,
				    le64_to_cpu(desc->addr), &import->import,
				    &import->bus);
	if (err)
		goto free;
	import->import.size = size;
	import->peer = dlend_peer_get(peer);
	import->window = window;
	import->offset = offset;
	import->session = dlend_peer_session(peer);
	atomic_inc(&peer->windows.imports);
	dlend_peer_exit(peer);
	return &import->import;

free:
	kfree(import);
	if (err == -EINVAL)
		dlend_count(peer, DLEND_COUNT_BAD_IMPORT);
exit:
	dlend_peer_exit(peer);
	return ERR_PTR(err);
}
EXPORT_SYMBOL_GPL(dlend_import);

void dlend_unimport(struct dlend_import *pub)
{
	struct import *import = container_of(pub, struct import, import);
	struct dlend_peer *peer;

	if (!pub)
		return;
	peer = import->peer;
	mutex_lock(&peer->windows.mutex);
	/* After the session its windows may serve a new import, so leave them alone. */
	if (peer->windows.in_session && peer->backend->unimport &&
	    import->session == dlend_peer_session(peer))
		peer->backend->unimport(peer, import->window, import->offset,
					pub->size);
	mutex_unlock(&peer->windows.mutex);
	atomic_dec(&peer->windows.imports);
	kfree(import);
	dlend_peer_put(peer);
}
EXPORT_SYMBOL_GPL(dlend_unimport);

dma_addr_t dlend_import_bus(struct dlend_import *import)
{
	return container_of(import, struct import, import)->bus;
}
EXPORT_SYMBOL_GPL(dlend_import_bus);
