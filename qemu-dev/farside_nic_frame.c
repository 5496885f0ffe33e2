/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "farside_nic_frame.h"

/* Ethernet, IEEE 802.3 and 802.1Q */
#define MAC_HEADER  14
#define TAG         4
#define TAGS_MAX    2
#define TYPE_IP4    0x0800
#define TYPE_IP6    0x86dd
#define TYPE_TAG    0x8100
#define TYPE_TAG_AD 0x88a8

/* RFC 791, RFC 8200, RFC 9293, RFC 768 */
#define IP4_HEADER      20
#define IP4_FRAGMENT    0x3fff /* more fragments, and the offset */
#define IP6_HEADER      40
#define IP6_HOP_BY_HOP  0
#define IP6_DESTINATION 60
#define IP6_OPTIONS     8 /* least size of a header of options, its unit */
#define TCP_HEADER      20
#define UDP_HEADER      8

/* Transport */

/* Takes the header at f->transport if it makes sense. */
static void parse_transport(FarsideNicFrame *f, unsigned protocol)
{
    const uint8_t *header = f->bytes + f->transport;
    unsigned left = f->end - f->transport, length;

    if (protocol == IP_PROTOCOL_TCP && left >= TCP_HEADER) {
        length = (header[12] >> 4) * 4;
        if (length >= TCP_HEADER && length <= left) {
            f->protocol = protocol;
            f->headers = f->transport + length;
        }
    } else if (protocol == IP_PROTOCOL_UDP && left >= UDP_HEADER) {
        length = lduw_be_p(header + 4);
        if (length >= UDP_HEADER && length <= left) {
            f->protocol = protocol;
        }
    }
}

static void parse_ip4(FarsideNicFrame *f)
{
    const uint8_t *header = f->bytes + f->network;
    unsigned left = f->size - f->network, length, total;

    if (left < IP4_HEADER || header[0] >> 4 != 4) {
        return;
    }
    length = (header[0] & 0xf) * 4;
    total = lduw_be_p(header + 2);
    if (length < IP4_HEADER || total < length || total > left) {
        return;
    }
    f->version = 4;
    f->end = f->network + total;
    if (!(lduw_be_p(header + 6) & IP4_FRAGMENT)) {
        f->transport = f->network + length;
        parse_transport(f, header[9]);
    }
}

/*
 * Skips headers of options (RFC 8200 s4.3, s4.6), which change nothing in the
 * checksum of what follows. Any other extension header is a protocol that is
 * not known. Returns the protocol at f->transport.
 */
static unsigned skip_options(FarsideNicFrame *f, unsigned protocol)
{
    while ((protocol == IP6_HOP_BY_HOP || protocol == IP6_DESTINATION) &&
           f->end - f->transport >= IP6_OPTIONS) {
        const uint8_t *header = f->bytes + f->transport;
        unsigned length = (header[1] + 1) * IP6_OPTIONS;

        if (length > f->end - f->transport) {
            break;
        }
        f->has_options = true;
        f->transport += length;
        protocol = header[0];
    }
    return protocol;
}

static void parse_ip6(FarsideNicFrame *f)
{
    const uint8_t *header = f->bytes + f->network;
    unsigned left = f->size - f->network, length;

    if (left < IP6_HEADER || header[0] >> 4 != 6) {
        return;
    }
    length = lduw_be_p(header + 4);
    if (length > left - IP6_HEADER) {
        return;
    }
    f->version = 6;
    f->transport = f->network + IP6_HEADER;
    f->end = f->transport + length;
    parse_transport(f, skip_options(f, header[6]));
    f->headers = f->has_options ? 0 : f->headers;
}

FarsideNicFrame farside_nic_parse(const uint8_t *bytes, unsigned size)
{
    FarsideNicFrame f = {.bytes = bytes, .size = size, .end = size};
    unsigned at = MAC_HEADER, tags, type;

    if (size < MAC_HEADER) {
        return f;
    }
    type = lduw_be_p(bytes + at - 2);
    for (tags = 0; tags < TAGS_MAX; tags++) {
        if ((type != TYPE_TAG && type != TYPE_TAG_AD) || size < at + TAG) {
            break;
        }
        at += TAG;
        type = lduw_be_p(bytes + at - 2);
    }
    f.network = at;
    if (type == TYPE_IP4) {
        parse_ip4(&f);
    } else if (type == TYPE_IP6) {
        parse_ip6(&f);
    }
    return f;
}

/* Checksums, RFC 1071 */

static uint64_t sum(const uint8_t *bytes, unsigned size)
{
    uint64_t total = 0;
    unsigned i;

    for (i = 0; i + 1 < size; i += 2) {
        total += lduw_be_p(bytes + i);
    }
    return size & 1 ? total + ((unsigned)bytes[size - 1] << 8) : total;
}

static uint16_t fold(uint64_t total)
{
    while (total >> 16) {
        total = (total >> 16) + (total & 0xffff);
    }
    return total;
}

/* The addresses of the packet, which follow each other. Returns their size. */
static unsigned find_addresses(const FarsideNicFrame *f, const uint8_t **ret)
{
    *ret = f->bytes + f->network + (f->version == 4 ? 12 : 8);
    return f->version == 4 ? 8 : 32;
}

FarsideNicChecksum farside_nic_check_frame(const FarsideNicFrame *f)
{
    const uint8_t *addresses, *header = f->bytes + f->network;
    unsigned size, length;
    uint64_t total;

    if (f->version == 4 && fold(sum(header, (header[0] & 0xf) * 4)) != 0xffff) {
        return FARSIDE_NIC_WRONG;
    }
    if (!f->protocol) {
        return FARSIDE_NIC_UNCHECKED;
    }
    length = f->end - f->transport;
    if (f->protocol == IP_PROTOCOL_UDP) {
        if (lduw_be_p(f->bytes + f->transport + 6) == 0) {
            return FARSIDE_NIC_UNCHECKED; /* the sender gave none */
        }
        length = lduw_be_p(f->bytes + f->transport + 4);
    }
    size = find_addresses(f, &addresses);
    total = sum(addresses, size) + f->protocol + length +
            sum(f->bytes + f->transport, length);
    return fold(total) == 0xffff ? FARSIDE_NIC_RIGHT : FARSIDE_NIC_WRONG;
}

bool farside_nic_finish_checksum(uint8_t *bytes, unsigned size, unsigned start,
                                 unsigned offset)
{
    uint16_t value;

    if (start >= size || offset + 2 > size - start) {
        return false;
    }
    value = ~fold(sum(bytes + start, size - start));
    /* 0 would mean that there is none (RFC 768); both are zero in this sum. */
    stw_be_p(bytes + start + offset, value ? value : 0xffff);
    return true;
}

/* RSS, and steering */

uint32_t farside_nic_toeplitz(const uint8_t *key, const uint8_t *input,
                              unsigned size)
{
    uint64_t bits = ldq_be_p(key);
    uint32_t hash = 0;
    unsigned i, bit;

    g_assert(size + 4 <= NIC_KEY_SIZE);
    for (i = 0; i < size; i++) {
        for (bit = 0; bit < 8; bit++) {
            if (input[i] & (0x80 >> bit)) {
                hash ^= bits >> 32;
            }
            bits <<= 1;
        }
        bits |= i + 8 < NIC_KEY_SIZE ? key[i + 8] : 0;
    }
    return hash;
}

static uint32_t kind_of(const FarsideNicFrame *f, bool has_ports)
{
    uint32_t kind = !has_ports ? NIC_RSS_IPV4 :
                    f->protocol == IP_PROTOCOL_TCP ? NIC_RSS_TCP4 :
                                                     NIC_RSS_UDP4;

    return f->version == 4 ? kind : kind << 3;
}

FarsideNicHash farside_nic_hash(const FarsideNicFrame *f, const uint8_t *key,
                                uint32_t kinds)
{
    FarsideNicHash hash = {0};
    uint8_t input[36];
    const uint8_t *addresses;
    unsigned size;

    if (!f->version) {
        return hash;
    }
    size = find_addresses(f, &addresses);
    memcpy(input, addresses, size);
    hash.has_ports =
        f->protocol && !f->has_options && (kinds & kind_of(f, true));
    hash.is_valid = hash.has_ports || (kinds & kind_of(f, false));
    if (hash.has_ports) {
        memcpy(input + size, f->bytes + f->transport, 4);
        size += 4;
    }
    if (hash.is_valid) {
        hash.value = farside_nic_toeplitz(key, input, size);
    }
    return hash;
}

static bool matches(const FarsideNicRule *rule, uint32_t protocol,
                    uint32_t source, uint32_t destination, uint32_t ports)
{
    uint32_t action = rule->action, other = rule->ports ^ ports;

    return (action & NIC_ACTION_VALID) && (action & protocol) &&
           (!(action & NIC_ACTION_MATCH_SRC) || rule->source == source) &&
           (!(action & NIC_ACTION_MATCH_DST) ||
            rule->destination == destination) &&
           (!(action & NIC_ACTION_MATCH_SPORT) || !(other >> 16)) &&
           (!(action & NIC_ACTION_MATCH_DPORT) || !(other & 0xffff));
}

const FarsideNicRule *farside_nic_steer(const FarsideNicFrame *f,
                                        const FarsideNicRule *rules)
{
    const uint8_t *addresses;
    uint32_t protocol, ports;
    unsigned i;

    if (f->version != 4 || !f->protocol) {
        return NULL;
    }
    find_addresses(f, &addresses);
    protocol =
        f->protocol == IP_PROTOCOL_TCP ? NIC_ACTION_TCP : NIC_ACTION_UDP;
    ports = ldl_be_p(f->bytes + f->transport);
    for (i = 0; i < NIC_RULE_COUNT; i++) {
        if (matches(&rules[i], protocol, ldl_be_p(addresses),
                    ldl_be_p(addresses + 4), ports)) {
            return &rules[i];
        }
    }
    return NULL;
}
