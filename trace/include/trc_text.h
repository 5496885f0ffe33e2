/* SPDX-License-Identifier: MIT */
#ifndef TRC_TEXT_H
#define TRC_TEXT_H

#include "trc_file.h"

/*
 * The contents of a record on one line, without its addresses: data, registers,
 * locks, windows. The caller frees it.
 */
char *trc_text_detail(const TrcRecord *record);

/* Writes @id into @buffer of 8 bytes, as "00:05.0". Returns @buffer. */
const char *trc_text_id(uint16_t id, char *buffer);

#endif
