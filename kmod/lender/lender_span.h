/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Spans of addresses, up to the last one that there is. A test of the user code compiles this
 * file, too.
 */
#ifndef LENDER_SPAN_H
#define LENDER_SPAN_H

#include <linux/types.h>

/* Addresses of a device, of which @last is the last; empty if @first is larger. */
struct lender_span {
	__u64 first, last;
};

/* @size: 0 for an empty span; at most what is left of the addresses */
static inline struct lender_span lender_span_of(__u64 start, __u64 size)
{
	if (!size)
		return (struct lender_span){ 1, 0 };
	return (struct lender_span){ start, start + size - 1 };
}

static inline int lender_span_is_empty(const struct lender_span *span)
{
	return span->first > span->last;
}

static inline int lender_spans_overlap(const struct lender_span *a,
				       const struct lender_span *b)
{
	return !lender_span_is_empty(a) && !lender_span_is_empty(b) &&
	       a->first <= b->last && b->first <= a->last;
}

/*
 * Moves @place behind @busy if they overlap, to a multiple of @align, a power of two. If
 * there is no such place, it becomes empty. Return: whether @place has changed.
 */
static inline int lender_span_move_behind(struct lender_span *place,
					  const struct lender_span *busy, __u64 align)
{
	__u64 size = place->last - place->first;
	__u64 first = (busy->last + align) & ~(align - 1);

	if (!lender_spans_overlap(place, busy))
		return 0;
	/* Each of the two sums may go beyond the last address. */
	if (first <= busy->last || first + size < first)
		*place = (struct lender_span){ 1, 0 };
	else
		*place = (struct lender_span){ first, first + size };
	return 1;
}

#endif
