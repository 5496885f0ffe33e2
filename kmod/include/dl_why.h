/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The reason of an error in words, for the administrator. It comes with the number of
 * the error.
 */
#ifndef DL_WHY_H
#define DL_WHY_H

#include <linux/kernel.h>

#define DLEND_WHY_MAX 192

/**
 * struct dlend_why - the reason of an error
 * @text: one line without a newline; "" if there is no reason
 */
struct dlend_why {
	char text[DLEND_WHY_MAX];
};

/**
 * dlend_why_set() - write the reason of an error
 * @why: set to the reason; a text that is too long is cut
 * @err: number of the error
 * @format: as for printf()
 *
 * Context: Any context.
 * Return: @err.
 */
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
