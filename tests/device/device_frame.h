/* SPDX-License-Identifier: MIT */
/* Ethernet frames for tests of the NIC, with the checksums of RFC 1071. */
#ifndef DEVICE_FRAME_H
#define DEVICE_FRAME_H

#include <stdbool.h>
#include <stdint.h>

#define FRAME_MAX 16384

typedef struct {
    unsigned tags; /* 802.1Q */
    bool is_ip6;
    unsigned protocol;    /* 6: TCP, 17: UDP, others have no header */
    unsigned ip_options;  /* bytes; 40 at most; of IPv6 a header of options */
    unsigned tcp_options; /* bytes; 40 at most */
    unsigned fragment;    /* flags and offset of IPv4 */
    const char *source, *destination; /* NULL: 10.0.0.1 and 10.0.0.2 */
    unsigned source_port, destination_port;
    unsigned payload;    /* bytes, which tell their place: frame_byte() */
    unsigned padding;    /* bytes behind the IP packet */
    const uint8_t *to;   /* MAC; NULL: broadcast */
    const uint8_t *from; /* MAC; NULL: 02:00:00:00:00:99 */
} FrameSpec;

typedef struct {
    unsigned size;
    unsigned network, transport; /* offsets of the headers of IP and TCP */
    unsigned headers;            /* bytes of all headers */
    uint8_t bytes[FRAME_MAX];
} TestFrame;

void frame_make(TestFrame *f, const FrameSpec *spec);
uint8_t frame_byte(unsigned place);
/* The sum of 16-bit words in the order of the network, folded. */
uint16_t frame_sum(const uint8_t *bytes, unsigned size, uint32_t start);

#endif /* DEVICE_FRAME_H */
