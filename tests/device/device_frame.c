/* SPDX-License-Identifier: MIT */
#include "device_frame.h"
#include <arpa/inet.h>
#include <check.h>
#include <string.h>

#define MAC 6

uint8_t frame_byte(unsigned place)
{
    return (uint8_t)(place * 7 + place / 256 + 1);
}

uint16_t frame_sum(const uint8_t *bytes, unsigned size, uint32_t start)
{
    uint64_t sum = start;
    unsigned i;

    for (i = 0; i < size; i++) {
        sum += i % 2 ? bytes[i] : (unsigned)bytes[i] << 8;
    }
    while (sum > 0xffff) {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    return (uint16_t)sum;
}

static void put16(uint8_t *at, unsigned value)
{
    at[0] = (uint8_t)(value >> 8);
    at[1] = (uint8_t)value;
}

static unsigned put_ethernet(TestFrame *f, const FrameSpec *spec)
{
    static const uint8_t from[MAC] = {2, 0, 0, 0, 0, 0x99};
    unsigned at = 2 * MAC, i;

    memset(f->bytes, 0xff, MAC);
    if (spec->to) {
        memcpy(f->bytes, spec->to, MAC);
    }
    memcpy(f->bytes + MAC, spec->from ? spec->from : from, MAC);
    for (i = 0; i < spec->tags; i++, at += 4) {
        put16(f->bytes + at, i + 1 < spec->tags ? 0x88a8 : 0x8100);
        put16(f->bytes + at + 2, 5 + i);
    }
    put16(f->bytes + at, spec->is_ip6 ? 0x86dd : 0x0800);
    return at + 2;
}

static unsigned put_transport(uint8_t *at, const FrameSpec *spec)
{
    put16(at, spec->source_port);
    put16(at + 2, spec->destination_port);
    if (spec->protocol == 6) {
        at[12] = (uint8_t)((20 + spec->tcp_options) / 4 << 4);
        memset(at + 20, 1, spec->tcp_options); /* no operation */
        return 20 + spec->tcp_options;
    }
    put16(at + 4, 8 + spec->payload);
    return 8;
}

/* Destination options with nothing but PadN (RFC 8200 s4.2, s4.6) */
static void put_options(uint8_t *at, const FrameSpec *spec)
{
    if (spec->ip_options) {
        at[0] = (uint8_t)spec->protocol;
        at[1] = (uint8_t)(spec->ip_options / 8 - 1);
        at[2] = 1;
        at[3] = (uint8_t)(spec->ip_options - 4);
    }
}

/* The headers of IP. Returns the sum of the pseudo header. */
static uint32_t put_ip(TestFrame *f, const FrameSpec *spec, unsigned length)
{
    uint8_t *ip = f->bytes + f->network;
    const char *from = spec->is_ip6 ? "fd00::1" : "10.0.0.1";
    const char *to = spec->is_ip6 ? "fd00::2" : "10.0.0.2";
    unsigned address = spec->is_ip6 ? 16 : 4, at = spec->is_ip6 ? 8 : 12;
    int family = spec->is_ip6 ? AF_INET6 : AF_INET;

    from = spec->source ? spec->source : from;
    to = spec->destination ? spec->destination : to;
    ck_assert_int_eq(inet_pton(family, from, ip + at), 1);
    ck_assert_int_eq(inet_pton(family, to, ip + at + address), 1);
    if (spec->is_ip6) {
        ip[0] = 0x60;
        put16(ip + 4, spec->ip_options + length);
        ip[6] = (uint8_t)(spec->ip_options ? 60 : spec->protocol);
        ip[7] = 64;
        put_options(ip + 40, spec);
    } else {
        ip[0] = (uint8_t)(0x40 | (20 + spec->ip_options) / 4);
        put16(ip + 2, 20 + spec->ip_options + length);
        put16(ip + 6, spec->fragment);
        ip[8] = 64;
        ip[9] = (uint8_t)spec->protocol;
        memset(ip + 20, 1, spec->ip_options);
        put16(ip + 10, 0xffffu & ~frame_sum(ip, 20 + spec->ip_options, 0));
    }
    return frame_sum(ip + at, 2 * address, spec->protocol + length);
}

void frame_make(TestFrame *f, const FrameSpec *spec)
{
    bool has_ports = spec->protocol == 6 || spec->protocol == 17;
    unsigned header = 0, check, i;
    uint32_t pseudo;

    memset(f, 0, sizeof(*f));
    f->network = put_ethernet(f, spec);
    f->transport = f->network + (spec->is_ip6 ? 40 : 20) + spec->ip_options;
    if (has_ports) {
        header = put_transport(f->bytes + f->transport, spec);
    }
    f->headers = f->transport + header;
    for (i = 0; i < spec->payload; i++) {
        f->bytes[f->headers + i] = frame_byte(i);
    }
    pseudo = put_ip(f, spec, header + spec->payload);
    if (has_ports) {
        check = f->transport + (spec->protocol == 6 ? 16 : 6);
        put16(f->bytes + check,
              0xffffu & ~frame_sum(f->bytes + f->transport,
                                   header + spec->payload, pseudo));
    }
    f->size = f->headers + spec->payload;
    memset(f->bytes + f->size, 0xee, spec->padding);
    f->size += spec->padding;
}
