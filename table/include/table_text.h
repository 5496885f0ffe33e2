/* SPDX-License-Identifier: MIT */
#ifndef TABLE_TEXT_H
#define TABLE_TEXT_H

#include <stdbool.h>

#include <glib.h>

/*
 * Makes a text of @length bytes that somebody else wrote: a guest, its QEMU, or
 * a file. The text is valid UTF-8, and may go to a terminal, into JSON, CSV and
 * XML (after their own quoting): each byte that is no UTF-8, and each character
 * that moves the cursor, changes the order of letters or cannot be seen, is
 * U+FFFD in its place. These are the control characters, C1 and DEL included,
 * but the tab; those of bidirectional text and other format characters; line
 * and paragraph separators; and those that XML 1.0 (s2.2) has not. A line feed
 * is kept if @has_lines, else replaced as well. A length of -1 says that a 0
 * ends the bytes. The caller frees the text.
 */
char *table_text_from(const void *bytes, gssize length, bool has_lines);

#endif
