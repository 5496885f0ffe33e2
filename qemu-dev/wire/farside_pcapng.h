/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * The blocks of a pcapng file, as far as a trace uses them: a section header,
 * interface descriptions, packets and statistics.
 *
 * The comments name the sections of draft-ietf-opsawg-pcapng ("PCAP Now Generic
 * Capture File Format"). Numbers have the byte order of the machine that writes
 * them, and the section header shows it.
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

/* The head of every block, which ends with its length once more, s3.1. */
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
    uint32_t section_length[2]; /* all ones: not known */
};

struct farside_pcapng_interface {
    struct farside_pcapng_block block;
    uint16_t link_type;
    uint16_t reserved;
    uint32_t snaplen; /* 0: everything is recorded */
};

struct farside_pcapng_packet {
    struct farside_pcapng_block block;
    uint32_t interface;
    uint32_t time_high;
    uint32_t time_low;
    uint32_t captured; /* bytes that follow, without the padding */
    uint32_t original;
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

/* Data and options are padded to words. */
static inline size_t farside_pcapng_pad(size_t size)
{
    return (size + 3) & ~(size_t)3;
}

/* Puts an option at @at, padded, and returns what is behind it. */
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
 * Ends the block that begins at @block and goes on to @at: writes its @head, of
 * @head_size bytes, and the length at its end. Returns the size of the block.
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
