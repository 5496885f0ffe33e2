/* SPDX-License-Identifier: MIT */
#ifndef TRC_RECORD_PRIV_H
#define TRC_RECORD_PRIV_H

#include "trc_file.h"

/*
 * Decodes a packet of @original bytes, of which @size were recorded. Sets
 * *ret_partition to the partition that transmitted it, and all of *ret_record
 * except time_ns, place and interface. Returns NULL or the error; after an
 * error, *ret_record may be half filled. Allocates no memory.
 */
const char *trc_record_decode(const uint8_t *data, size_t size, size_t original,
                              TrcRecord *ret_record, unsigned *ret_partition);

static inline uint16_t trc_get16(const uint8_t *at)
{
    return (uint16_t)(at[0] << 8 | at[1]);
}

static inline uint32_t trc_get32(const uint8_t *at)
{
    return (uint32_t)trc_get16(at) << 16 | trc_get16(at + 2);
}

static inline uint64_t trc_get64(const uint8_t *at)
{
    return (uint64_t)trc_get32(at) << 32 | trc_get32(at + 4);
}

#endif
