/* SPDX-License-Identifier: MIT */
#ifndef TABLE_CSV_PRIV_H
#define TABLE_CSV_PRIV_H

/* A reader skips it at the start of a file, so a writer puts it in quotes. */
#define TABLE_BYTE_ORDER_MARK "\xef\xbb\xbf"

#endif
