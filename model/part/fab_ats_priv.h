/* SPDX-License-Identifier: MIT */
#ifndef FAB_ATS_PRIV_H
#define FAB_ATS_PRIV_H

#include "fab_page_table_priv.h"

/*
 * The formats of Address Translation Services (PCIe 5.0 chapter 10) that the
 * root and the ATC of a device share. A range is an address, of which bit 11
 * (S) says that it is larger than 4 KiB: then the lowest bit from 12 on that is
 * 0, bit n, gives its size, 2^(n + 1) bytes (s10.2.3.2, s10.3.1).
 */

#define FAB_ATS_READ  0x1u /* R of a Translation Completion Data Entry */
#define FAB_ATS_WRITE 0x2u /* W */
#define FAB_ATS_SIZE  0x800u

/* Bytes of a Translation Completion Data Entry, and of the payload of an
 * Invalidate Request. */
#define FAB_ATS_ENTRY_BYTES 8

/* Invalidate Requests to one device that lack their completion: an ITag has 5
 * bits. */
#define FAB_ATS_ITAGS 32

/* The address field of a message. It makes the header one of 4 DW, as those of
 * all messages are (s2.2.8), and no address is equal to it. */
#define FAB_MESSAGE_ADDR (UINT64_C(1) << 62)

/* The range of 2^@bits bytes, at least 4 KiB, that holds @addr. */
static inline uint64_t fab_ats_range(FabBusAddr addr, unsigned bits)
{
    uint64_t base = addr & ~((UINT64_C(1) << bits) - 1);

    return bits == 12
               ? base
               : base | ((UINT64_C(1) << (bits - 1)) - 0x1000) | FAB_ATS_SIZE;
}

/* The bits of the size of @range. */
static inline unsigned fab_ats_range_bits(uint64_t range)
{
    return range & FAB_ATS_SIZE
               ? (unsigned)__builtin_ctzll(~(range | 0xfff)) + 1
               : 12;
}

static inline FabBusAddr fab_ats_range_base(uint64_t range)
{
    return range & ~((UINT64_C(1) << fab_ats_range_bits(range)) - 1);
}

/* The entry for the page with the number @size of its size at @phys. The model
 * has no pages that only reads or only writes may use. */
static inline uint64_t fab_ats_entry(FabBusAddr phys, uint32_t size)
{
    return fab_ats_range(phys, fab_page_shifts[size]) | FAB_ATS_READ |
           FAB_ATS_WRITE;
}

#endif
