/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What is wrong, in words, beside an error number: for who gave the order.
 */
#ifndef DL_WHY_H
#define DL_WHY_H

#include <linux/kernel.h>

#define DLEND_WHY_MAX 192

struct dlend_why {
	char text[DLEND_WHY_MAX];	/* one line without an end of line; "" if unused */
};

/* dlend_why_set() - notes the reason and passes the error number on */
static inline __printf(3, 4)
int dlend_why_set(struct dlend_why *why, int err, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(why->text, sizeof(why->text), format, args);
	va_end(args);
	return err;
}

#endif
