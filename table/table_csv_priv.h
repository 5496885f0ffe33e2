/* SPDX-License-Identifier: MIT */
#ifndef TABLE_CSV_PRIV_H
#define TABLE_CSV_PRIV_H

/* A reader skips this mark at the start of a file. So a writer puts a cell that
 * begins with it in quotes. */
#define TABLE_BYTE_ORDER_MARK "\xef\xbb\xbf"

#endif
