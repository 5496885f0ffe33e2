/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Frames as the NIC understands them: where their headers end, if their
 * checksums are right, their hash, and the rule that matches. All of it is
 * arithmetic on bytes that a stranger has sent.
 */
#ifndef FARSIDE_NIC_FRAME_H
#define FARSIDE_NIC_FRAME_H

#include "nic_regs.h"

#define NIC_MAC_BYTES 6

typedef enum {
    FARSIDE_NIC_UNCHECKED, /* no checksum that the device knows */
    FARSIDE_NIC_RIGHT,
    FARSIDE_NIC_WRONG,
} FarsideNicChecksum;

/* All offsets count from the first byte of the frame. */
typedef struct {
    const uint8_t *bytes; /* borrowed */
    unsigned size;

    unsigned version; /* of IP: 4, 6, or 0: another protocol */
    unsigned network; /* offset of the IP header */
    unsigned end;     /* of the IP packet; behind it is padding */
    /* IP_PROTOCOL_TCP or _UDP, with all of its header; 0: fragment, others */
    unsigned protocol;
    unsigned transport; /* offset of its header */
    unsigned headers;   /* TCP: offset of the payload. 0: not known */
    bool has_options;   /* between IPv6's header and that; headers is 0 */
} FarsideNicFrame;

#define IP_PROTOCOL_TCP 6
#define IP_PROTOCOL_UDP 17

typedef struct {
    uint32_t source, destination;
    uint32_t ports;
    uint32_t action;
} FarsideNicRule;

typedef struct {
    uint32_t value;
    bool is_valid;  /* RSS names this kind of packet */
    bool has_ports;
} FarsideNicHash;

/* Borrows @bytes. A frame that makes no sense is one of no known protocol. */
FarsideNicFrame farside_nic_parse(const uint8_t *bytes, unsigned size);
FarsideNicChecksum farside_nic_check_frame(const FarsideNicFrame *f);

/* The hash of @size bytes, at most 36. @key has NIC_KEY_SIZE bytes. */
uint32_t farside_nic_toeplitz(const uint8_t *key, const uint8_t *input,
                              unsigned size);
/* @kinds: the bits of RSS */
FarsideNicHash farside_nic_hash(const FarsideNicFrame *f, const uint8_t *key,
                                uint32_t kinds);
/* The first of NIC_RULE_COUNT rules that matches, or NULL */
const FarsideNicRule *farside_nic_steer(const FarsideNicFrame *f,
                                        const FarsideNicRule *rules);

/*
 * Puts the checksum of the bytes from @start on to @start + @offset, where the
 * sum of the pseudo header is. Returns false if that is not in the frame.
 */
bool farside_nic_finish_checksum(uint8_t *bytes, unsigned size, unsigned start,
                                 unsigned offset);

#endif /* FARSIDE_NIC_FRAME_H */
