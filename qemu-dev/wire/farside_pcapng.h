/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * The blocks of a pcapng file, as far as a trace uses them: a section header,
 * interface descriptions, packets and statistics.
 *
 * The comments name the sections of draft-ietf-opsawg-pcapng ("PCAP Now Generic
 * Capture File Format"). Numbers have the byte order of the machine that writes
 * them. The magic number in the section header shows that order.
 */
#ifndef FARSIDE_PCAPNG_H
#define FARSIDE_PCAPNG_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Block types, s11.1 */
#define FARSIDE_PCAPNG_SHB 0x0a0d0d0au /* section header */
#define FARSIDE_PCAPNG_IDB 1u          /* interface description */
#define FARSIDE_PCAPNG_SPB 3u          /* simple packet */
#define FARSIDE_PCAPNG_ISB 5u          /* interface statistics */
#define FARSIDE_PCAPNG_EPB 6u          /* enhanced packet */

/* Section header, s4.1 */
#define FARSIDE_PCAPNG_MAGIC         0x1a2b3c4du
#define FARSIDE_PCAPNG_MAGIC_SWAPPED 0x4d3c2b1au
#define FARSIDE_PCAPNG_MAJOR         1u

/* Options, s3.5, s4.1, s4.2, s4.5 */
#define FARSIDE_PCAPNG_ENDOFOPT     0u
#define FARSIDE_PCAPNG_SHB_USERAPPL 4u
#define FARSIDE_PCAPNG_IF_NAME      2u
#define FARSIDE_PCAPNG_IF_DESC      3u
#define FARSIDE_PCAPNG_IF_TSRESOL   9u
#define FARSIDE_PCAPNG_IF_TSOFFSET  14u
#define FARSIDE_PCAPNG_ISB_IFRECV   4u
#define FARSIDE_PCAPNG_ISB_IFDROP   5u

/* The head of every block, s3.1. The block ends with a copy of its length. */
struct farside_pcapng_block {
    uint32_t type;
    uint32_t length;
};

#define FARSIDE_PCAPNG_BLOCK_MIN 12u

struct farside_pcapng_section {
    struct farside_pcapng_block block;
    uint32_t magic;
    uint16_t major;
    uint16_t minor;
    uint32_t section_length[2]; /* bytes; all ones: not known */
};

struct farside_pcapng_interface {
    struct farside_pcapng_block block;
    uint16_t link_type;
    uint16_t reserved;
    uint32_t snaplen; /* bytes recorded of a packet; 0: all */
};

struct farside_pcapng_packet {
    struct farside_pcapng_block block;
    uint32_t interface;
    uint32_t time_high;
    uint32_t time_low;
    uint32_t captured; /* bytes of data that follow, without the padding */
    uint32_t original; /* bytes that the packet had when it was sent */
};

struct farside_pcapng_statistics {
    struct farside_pcapng_block block;
    uint32_t interface;
    uint32_t time_high;
    uint32_t time_low;
};

_Static_assert(sizeof(struct farside_pcapng_section) == 24, "file format");
_Static_assert(sizeof(struct farside_pcapng_interface) == 16, "file format");
_Static_assert(sizeof(struct farside_pcapng_packet) == 28, "file format");
_Static_assert(sizeof(struct farside_pcapng_statistics) == 20, "file format");

/* Returns @size, padded to a multiple of 4 as data and options are. */
static inline size_t farside_pcapng_pad(size_t size)
{
    return (size + 3) & ~(size_t)3;
}

/* Writes an option with its padding at @at, and returns the end of it. */
static inline uint8_t *farside_pcapng_option(uint8_t *at, uint16_t code,
                                             const void *value, uint16_t size)
{
    uint16_t head[2] = {code, size};
    size_t padded = farside_pcapng_pad(size);

    memcpy(at, head, sizeof(head));
    memset(at + sizeof(head), 0, padded);
    if (size) {
        memcpy(at + sizeof(head), value, size);
    }
    return at + sizeof(head) + padded;
}

/*
 * Completes the block whose options or data end at @at. Copies @head, of
 * @head_size bytes, to its start @block, and writes the block's length into the
 * head and behind @at. Returns that length.
 */
static inline size_t farside_pcapng_end(uint8_t *block, uint8_t *at, void *head,
                                        size_t head_size)
{
    struct farside_pcapng_block *common = (struct farside_pcapng_block *)head;

    common->length = (uint32_t)(at - block) + 4;
    memcpy(block, head, head_size);
    memcpy(at, &common->length, 4);
    return common->length;
}

#endif /* FARSIDE_PCAPNG_H */
