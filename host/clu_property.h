/* SPDX-License-Identifier: MIT */
#ifndef CLU_PROPERTY_H
#define CLU_PROPERTY_H

#include <stdbool.h>
#include <stdint.h>

#include <glib.h>

/* Properties of devices, as text on QEMU's command line. */

/* Returns @text as a value in a list of properties, with each comma doubled; to
 * be freed. */
char *clu_property_escape(const char *text);

/* Appends ",@name=@value". */
void clu_property_append(GString *out, const char *name, const char *value);

/* Parses a whole number as QEMU does: 16, 0x10, 64M. False for anything else,
 * such as 1.5G, which QEMU may still understand. */
bool clu_property_parse_size(const char *text, uint64_t *ret_value);

/* True if @a and @b are the same size or, if one of them is not a size, the
 * same text. */
bool clu_property_is_same_size(const char *a, const char *b);

#endif
