/* SPDX-License-Identifier: MIT */
#ifndef TRC_TEXT_H
#define TRC_TEXT_H

#include "trc_file.h"

/*
 * What a record says beyond its addresses: data, registers, locks, windows; on
 * one line. The caller frees it.
 */
char *trc_text_detail(const TrcRecord *record);

/* "00:05.0"; @buffer has room for 8 bytes. Returns @buffer. */
const char *trc_text_id(uint16_t id, char *buffer);

#endif
