/* SPDX-License-Identifier: MIT */
#ifndef TRC_TEXT_H
#define TRC_TEXT_H

#include "trc_file.h"

/*
 * The contents of a record beyond its addresses, on one line: data, registers,
 * locks, windows. The caller frees it.
 */
char *trc_text_detail(const TrcRecord *record);

/* Writes "00:05.0" into @buffer, which has 8 bytes. Returns @buffer. */
const char *trc_text_id(uint16_t id, char *buffer);

#endif
