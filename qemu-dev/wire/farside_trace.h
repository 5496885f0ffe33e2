/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * Traces: the packets that cross a link between two NTB devices, in a pcapng
 * file that both ends write to. docs/reference/trace.md is the specification.
 *
 * The file has one section and at least two interfaces of link type
 * LINKTYPE_USER0. Interface p has the packets that the device of partition p
 * transmits. The creator of the file writes the header
 * (farside_trace_header()). After that each device appends whole blocks, under
 * an exclusive flock() of the file.
 *
 * A packet is a farside_trace_head and its content: a TLP as on the wire, or
 * one of the messages that have no TLP on this device. All of it is
 * big-endian, as TLPs are.
 */
#ifndef FARSIDE_TRACE_H
#define FARSIDE_TRACE_H

#include "farside_pcapng.h"

#define FARSIDE_TRACE_LINKTYPE 147    /* LINKTYPE_USER0 */
#define FARSIDE_TRACE_MAGIC    0x4653 /* "FS" */
#define FARSIDE_TRACE_VERSION  1

/* Interfaces of a link: one for each partition. */
#define FARSIDE_TRACE_INTERFACES 2

/* Kinds of packets. The comments give the content that follows the head. */
enum {
    FARSIDE_TRACE_TLP = 1,         /* header of 3 or 4 DW, payload */
    FARSIDE_TRACE_START = 2,       /* u32 link is up, u16 chip, u16 ID, more */
    FARSIDE_TRACE_STOP = 3,        /* nothing */
    FARSIDE_TRACE_STATE = 4,       /* u32 link is up, as this end sees it */
    FARSIDE_TRACE_ENABLE = 5,      /* u32 this side is enabled */
    FARSIDE_TRACE_RESET = 6,       /* nothing */
    FARSIDE_TRACE_DOORBELL = 7,    /* u64 bits */
    FARSIDE_TRACE_MESSAGE = 8,     /* u32 index, u32 value */
    FARSIDE_TRACE_LOCK = 9,        /* u32 lock */
    FARSIDE_TRACE_LOCKED = 10,     /* a control block */
    FARSIDE_TRACE_CONFIG = 11,     /* a control block */
    FARSIDE_TRACE_CONFIGURED = 12, /* u32 lock, u32 errors: BAR, LUT, req. ID */
    FARSIDE_TRACE_RELEASE = 13,    /* u32 lock */
    FARSIDE_TRACE_RAM = 14,        /* u32 count, u32 0; u64 address, u64 size */
    FARSIDE_TRACE_ARRIVAL = 15,    /* u32 what, u32 bytes, u64 address */
    FARSIDE_TRACE_REGISTER = 16,   /* u32 what, u32 bytes, u64 offset, value */
    FARSIDE_TRACE_KINDS = 17,
};

/*
 * An access to a register of the peer, or the answer to one of the peer's. Both
 * have the same transaction. A posted write has no answer. The offset of an
 * answer is its status (PCIe 5.0 s2.2.9.1).
 */
enum {
    FARSIDE_TRACE_REGISTER_READ = 1,
    FARSIDE_TRACE_REGISTER_WRITE = 2,
    FARSIDE_TRACE_REGISTER_ANSWER = 3,
};

/* The chip in START, the same number as in HELLO */
enum {
    FARSIDE_TRACE_CHIP_SWITCHTEC = 0,
    FARSIDE_TRACE_CHIP_AMD = 1,
    FARSIDE_TRACE_CHIP_INTEL = 2,
    FARSIDE_TRACE_CHIP_EPF = 3,
    FARSIDE_TRACE_CHIP_IDT = 8,
    FARSIDE_TRACE_CHIP_NONE = 255, /* a link inside a host: no NTB */
};

/*
 * A function of the machine, behind START: u16 requester ID, u16 bytes of its
 * name, for each of 6 BARs u64 address and u64 size (0: not there), and the
 * name, padded to whole DWs.
 */
#define FARSIDE_TRACE_FUNCTION 100
#define FARSIDE_TRACE_BARS     6

/*
 * The peer's posted request or completion that has arrived. The head of a
 * completion's arrival has its transaction. The address of a doorbell is its
 * bits.
 */
enum {
    FARSIDE_TRACE_ARRIVED_WRITE = 1,
    FARSIDE_TRACE_ARRIVED_COMPLETION = 2,
    FARSIDE_TRACE_ARRIVED_DOORBELL = 3,
    FARSIDE_TRACE_ARRIVED_MESSAGE = 4,
};

/*
 * A control block consists of:
 *  - u32 lock, u16 number of LUT entries, u16 number of requester IDs
 *  - for each of 6 BARs: u32 CTL, u32 WIN_SIZE, u64 XLATE, u32 EXT_WIN_SIZE,
 *    u32 0
 *  - a u64 for each LUT entry
 *  - a u32 for each requester ID
 */
#define FARSIDE_TRACE_BLOCK_HEAD 8
#define FARSIDE_TRACE_BLOCK_BAR  24
#define FARSIDE_TRACE_BLOCK_BARS 6

/* Flags */
#define FARSIDE_TRACE_NEAR 1u /* bar, near and offset are set */

struct farside_trace_head {
    uint16_t magic;
    uint8_t version;
    uint8_t head_length; /* bytes of this head; a later version may have more */
    uint8_t kind;
    uint8_t flags;
    uint8_t partition;    /* number of the partition that transmits */
    uint8_t bar;          /* number of the window's BAR */
    uint32_t sequence;    /* number of the packet in its interface; START: 0 */
    uint32_t transaction; /* number that a read and its completion share */
    uint64_t near;        /* address on the bus of the transmitting host */
    uint64_t offset;      /* of that address in the BAR */
};

_Static_assert(sizeof(struct farside_trace_head) == 32, "file format");

static inline uint8_t *farside_trace_put16(uint8_t *at, uint16_t value)
{
    at[0] = (uint8_t)(value >> 8);
    at[1] = (uint8_t)value;
    return at + 2;
}

static inline uint8_t *farside_trace_put32(uint8_t *at, uint32_t value)
{
    farside_trace_put16(at, (uint16_t)(value >> 16));
    return farside_trace_put16(at + 2, (uint16_t)value);
}

static inline uint8_t *farside_trace_put64(uint8_t *at, uint64_t value)
{
    farside_trace_put32(at, (uint32_t)(value >> 32));
    return farside_trace_put32(at + 4, (uint32_t)value);
}

/*
 * Writes @head at @at, and returns the end of it. The caller need not set the
 * constant fields magic, version and head_length.
 */
static inline uint8_t *
farside_trace_put_head(uint8_t *at, const struct farside_trace_head *head)
{
    at = farside_trace_put16(at, FARSIDE_TRACE_MAGIC);
    *at++ = FARSIDE_TRACE_VERSION;
    *at++ = sizeof(*head);
    *at++ = head->kind;
    *at++ = head->flags;
    *at++ = head->partition;
    *at++ = head->bar;
    at = farside_trace_put32(at, head->sequence);
    at = farside_trace_put32(at, head->transaction);
    at = farside_trace_put64(at, head->near);
    return farside_trace_put64(at, head->offset);
}

/*
 * TLPs, PCIe 5.0 s2.2. Fmt and Type share one byte, as in table 2-3. In a
 * memory request, bit 5 means that the header has 4 DW.
 */
#define FARSIDE_TLP_MRD  0x00
#define FARSIDE_TLP_MWR  0x40
#define FARSIDE_TLP_CPL  0x0a
#define FARSIDE_TLP_CPLD 0x4a
#define FARSIDE_TLP_4DW  0x20

#define FARSIDE_TLP_HEAD_MAX 16
#define FARSIDE_TLP_DW_MAX   1024

/* Number of DWs that a request for these bytes covers, at least 1, s2.2.5. */
static inline uint32_t farside_tlp_dws(uint64_t address, uint32_t bytes)
{
    return bytes ? (uint32_t)(((address & 3) + bytes + 3) / 4) : 1;
}

/* Byte enables: last DW in bits 7:4, first DW in bits 3:0, s2.2.5 */
static inline uint8_t farside_tlp_enables(uint64_t address, uint32_t bytes)
{
    unsigned first = (unsigned)(address & 3);
    unsigned end = (unsigned)((address + bytes) & 3); /* 0: a whole DW */
    uint8_t from = (uint8_t)(0xf << first & 0xf);
    uint8_t to = end ? (uint8_t)((1 << end) - 1) : 0xf;

    if (bytes == 0) {
        return 0;
    }
    return farside_tlp_dws(address, bytes) == 1 ? from & to
                                                : (uint8_t)(to << 4 | from);
}

static inline uint8_t *farside_tlp_put_dw0(uint8_t *at, uint8_t fmt_type,
                                           uint32_t dws)
{
    /* TC, Attr, TH, TD, EP and AT are 0. A length of 1024 DW is coded as 0. */
    return farside_trace_put32(at, (uint32_t)fmt_type << 24 |
                                       (dws & (FARSIDE_TLP_DW_MAX - 1)));
}

/*
 * Writes the header of a memory request, s2.2.7, and returns the end of it. The
 * header has 3 DW if the address is below 4 GiB.
 */
static inline uint8_t *farside_tlp_put_request(uint8_t *at, uint8_t fmt_type,
                                               uint64_t address, uint32_t bytes,
                                               uint16_t requester, uint8_t tag)
{
    uint8_t is_long = address >> 32 ? FARSIDE_TLP_4DW : 0;

    at = farside_tlp_put_dw0(at, fmt_type | is_long,
                             farside_tlp_dws(address, bytes));
    at = farside_trace_put16(at, requester);
    *at++ = tag;
    *at++ = farside_tlp_enables(address, bytes);
    if (is_long) {
        at = farside_trace_put32(at, (uint32_t)(address >> 32));
    }
    return farside_trace_put32(at, (uint32_t)address & ~3u);
}

/*
 * Writes the header of the only completion of a read, s2.2.9, and returns the
 * end of it. The read was for @bytes at @address. The completion of a read of 0
 * bytes has one DW of data and a byte count of 1 (s2.3.1.1).
 */
static inline uint8_t *
farside_tlp_put_completion(uint8_t *at, uint16_t completer, uint8_t status,
                           uint64_t address, uint32_t bytes, uint16_t requester,
                           uint8_t tag)
{
    uint32_t count = bytes ? bytes : 1;

    at = farside_tlp_put_dw0(at,
                             status == 0 ? FARSIDE_TLP_CPLD : FARSIDE_TLP_CPL,
                             status == 0 ? farside_tlp_dws(address, bytes) : 0);
    at = farside_trace_put16(at, completer);
    /* A byte count of 4096 is coded as 0. */
    at = farside_trace_put16(at, (uint16_t)(status << 13 | (count & 0xfff)));
    at = farside_trace_put16(at, requester);
    *at++ = tag;
    *at++ = address & 0x7f;
    return at;
}

/*
 * Bytes of buffer that farside_trace_header() needs if the names have @size
 * bytes in total
 */
#define FARSIDE_TRACE_HEADER_MAX(size) ((size_t)256 + (size))

/*
 * Writes the header of a file: a section, and an interface for each of @names.
 * Each name has at most 60000 bytes. Devices cut packets after @snaplen bytes;
 * 0 means never. Returns the size of the header.
 */
static inline size_t farside_trace_header(uint8_t *buffer,
                                          const char *const *names,
                                          uint32_t snaplen)
{
    struct farside_pcapng_section section = {
        .block.type = FARSIDE_PCAPNG_SHB,
        .magic = FARSIDE_PCAPNG_MAGIC,
        .major = FARSIDE_PCAPNG_MAJOR,
        .section_length = {UINT32_MAX, UINT32_MAX},
    };
    struct farside_pcapng_interface interface = {
        .block.type = FARSIDE_PCAPNG_IDB,
        .link_type = FARSIDE_TRACE_LINKTYPE,
        .snaplen = snaplen,
    };
    const uint8_t nanoseconds = 9;
    uint8_t *block = buffer, *at;
    unsigned i;

    at = farside_pcapng_option(block + sizeof(section),
                               FARSIDE_PCAPNG_SHB_USERAPPL, "farside", 7);
    at = farside_pcapng_option(at, FARSIDE_PCAPNG_ENDOFOPT, NULL, 0);
    block += farside_pcapng_end(block, at, &section, sizeof(section));
    for (i = 0; i < FARSIDE_TRACE_INTERFACES; i++) {
        at = farside_pcapng_option(block + sizeof(interface),
                                   FARSIDE_PCAPNG_IF_NAME, names[i],
                                   (uint16_t)strlen(names[i]));
        at = farside_pcapng_option(at, FARSIDE_PCAPNG_IF_TSRESOL, &nanoseconds,
                                   1);
        at = farside_pcapng_option(at, FARSIDE_PCAPNG_ENDOFOPT, NULL, 0);
        block += farside_pcapng_end(block, at, &interface, sizeof(interface));
    }
    return (size_t)(block - buffer);
}

#endif /* FARSIDE_TRACE_H */
