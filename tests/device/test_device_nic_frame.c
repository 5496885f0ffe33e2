/* SPDX-License-Identifier: MIT */
/*
 * Invariant: the NIC finds the headers of each frame that the page names, and
 * of no other; its hash is that of the vectors that Microsoft has published
 * ("Verifying the RSS Hash Calculation"); a rule matches exactly its fields. No
 * bytes make it read outside of the frame.
 */
#include <arpa/inet.h>
#include <check.h>
#include <glib.h>
#include <stdlib.h>
#include <string.h>
#include "device_frame.h"
#include "farside_nic_frame.h"
#include "../suite.h"

static const uint8_t key[NIC_KEY_SIZE] = {
    0x6d, 0x5a, 0x56, 0xda, 0x25, 0x5b, 0x0e, 0xc2, 0x41, 0x67,
    0x25, 0x3d, 0x43, 0xa3, 0x8f, 0xb0, 0xd0, 0xca, 0x2b, 0xcb,
    0xae, 0x7b, 0x30, 0xb4, 0x77, 0xcb, 0x2d, 0xa3, 0x80, 0x30,
    0xf2, 0x0c, 0x6a, 0x42, 0xb7, 0x3b, 0xbe, 0xac, 0x01, 0xfa};

/* The table of "Verifying the RSS Hash Calculation" */
static const struct {
    bool is_ip6;
    const char *destination;
    unsigned destination_port;
    const char *source;
    unsigned source_port;
    uint32_t addresses, ports;
} vectors[] = {
    {false, "161.142.100.80", 1766, "66.9.149.187", 2794, 0x323e8fc2,
     0x51ccc178},
    {false, "65.69.140.83", 4739, "199.92.111.2", 14230, 0xd718262a,
     0xc626b0ea},
    {false, "12.22.207.184", 38024, "24.19.198.95", 12898, 0xd2d0a5de,
     0x5c2b394a},
    {false, "209.142.163.6", 2217, "38.27.205.30", 48228, 0x82989176,
     0xafc7327f},
    {false, "202.188.127.2", 1303, "153.39.163.191", 44251, 0x5d1809c5,
     0x10e828a2},
    {true, "3ffe:2501:200:3::1", 1766, "3ffe:2501:200:1fff::7", 2794,
     0x2cc18cd5, 0x40207d3d},
    {true, "ff02::1", 4739, "3ffe:501:8::260:97ff:fe40:efab", 14230, 0x0f0c461c,
     0xdde51bbf},
    {true, "fe80::200:f8ff:fe21:67cf", 38024,
     "3ffe:1900:4545:3:200:f8ff:fe21:67cf", 44251, 0x4b61e985, 0x02d1feef},
};

static FrameSpec vector_spec(unsigned i, unsigned protocol)
{
    return (FrameSpec){
        .is_ip6 = vectors[i].is_ip6,
        .protocol = protocol,
        .source = vectors[i].source,
        .destination = vectors[i].destination,
        .source_port = vectors[i].source_port,
        .destination_port = vectors[i].destination_port,
        .payload = 4,
    };
}

static FarsideNicHash hash_of(unsigned i, unsigned protocol, uint32_t kinds)
{
    FrameSpec spec = vector_spec(i, protocol);
    TestFrame f;
    FarsideNicFrame h;

    frame_make(&f, &spec);
    h = farside_nic_parse(f.bytes, f.size);
    return farside_nic_hash(&h, key, kinds);
}

START_TEST(hash_is_that_of_the_published_vectors)
{
    const uint32_t ip = vectors[_i].is_ip6 ? NIC_RSS_IPV6 : NIC_RSS_IPV4;
    const uint32_t tcp = vectors[_i].is_ip6 ? NIC_RSS_TCP6 : NIC_RSS_TCP4;
    const uint32_t udp = vectors[_i].is_ip6 ? NIC_RSS_UDP6 : NIC_RSS_UDP4;
    FarsideNicHash hash = hash_of(_i, 6, NIC_RSS_ALL);

    ck_assert(hash.is_valid && hash.has_ports);
    ck_assert_uint_eq(hash.value, vectors[_i].ports);
    ck_assert_uint_eq(hash_of(_i, 17, NIC_RSS_ALL).value, vectors[_i].ports);
    /* Without ports: the bit for TCP is 0, or the protocol has none. */
    hash = hash_of(_i, 6, ip | udp);
    ck_assert(hash.is_valid && !hash.has_ports);
    ck_assert_uint_eq(hash.value, vectors[_i].addresses);
    ck_assert_uint_eq(hash_of(_i, 1, NIC_RSS_ALL).value, vectors[_i].addresses);
    /* No bit names the packet. */
    ck_assert(!hash_of(_i, 6, NIC_RSS_ALL & ~(ip | tcp)).is_valid);
    ck_assert(!hash_of(_i, 17, tcp).is_valid);
}
END_TEST

/* Headers: Ethernet 14, a tag 4, IPv4 20 and options, IPv6 40, TCP 20 and
 * options (IEEE 802.3, 802.1Q, RFC 791, 8200, 9293) */
static const struct {
    FrameSpec spec;
    unsigned headers, protocol;
} layouts[] = {
    {{.protocol = 6, .payload = 100}, 54, 6},
    {{.protocol = 6, .payload = 100, .tcp_options = 12}, 66, 6},
    {{.protocol = 6, .payload = 1, .ip_options = 40, .tcp_options = 40},
     134,
     6},
    {{.protocol = 6, .payload = 100, .tags = 1}, 58, 6},
    {{.protocol = 6, .payload = 100, .tags = 2, .tcp_options = 12}, 74, 6},
    {{.protocol = 6, .payload = 100, .tags = 3}, 0, 0},
    {{.protocol = 6, .payload = 100, .is_ip6 = true}, 74, 6},
    {{.protocol = 6, .payload = 9, .is_ip6 = true, .tags = 2}, 82, 6},
    {{.protocol = 6, .payload = 0, .padding = 6}, 54, 6},
    {{.protocol = 17, .payload = 100}, 0, 17},
    {{.protocol = 17, .payload = 100, .is_ip6 = true}, 0, 17},
    {{.protocol = 1, .payload = 100}, 0, 0},
    /* IPv6 with options: not split, but checked */
    {{.protocol = 6, .payload = 100, .is_ip6 = true, .ip_options = 8}, 0, 6},
    {{.protocol = 17, .payload = 9, .is_ip6 = true, .ip_options = 40}, 0, 17},
    /* A routing header of IPv6, and fragments: first, middle, last */
    {{.protocol = 43, .payload = 100, .is_ip6 = true}, 0, 0},
    {{.protocol = 6, .payload = 100, .fragment = 0x2000}, 0, 0},
    {{.protocol = 6, .payload = 100, .fragment = 0x2010}, 0, 0},
    {{.protocol = 6, .payload = 100, .fragment = 0x0010}, 0, 0},
    /* "do not fragment" is no fragment. */
    {{.protocol = 6, .payload = 100, .fragment = 0x4000}, 54, 6},
};

START_TEST(headers_end_where_the_standards_say)
{
    const FrameSpec *spec = &layouts[_i].spec;
    FarsideNicFrame h;
    TestFrame f;

    frame_make(&f, spec);
    h = farside_nic_parse(f.bytes, f.size);
    ck_assert_uint_eq(h.headers, layouts[_i].headers);
    ck_assert_uint_eq(h.protocol, layouts[_i].protocol);
    if (h.protocol) {
        ck_assert_uint_eq(h.end, f.size - spec->padding);
        ck_assert_int_eq(farside_nic_check_frame(&h), FARSIDE_NIC_RIGHT);
    } else {
        ck_assert_int_eq(farside_nic_check_frame(&h), FARSIDE_NIC_UNCHECKED);
    }
}
END_TEST

/* Options in front of TCP: the hash is over the addresses. */
START_TEST(options_hide_the_ports_from_the_hash)
{
    FrameSpec spec = vector_spec(_i, 6);
    FarsideNicFrame h;
    FarsideNicHash hash;
    TestFrame f;

    ck_assert(spec.is_ip6);
    spec.ip_options = 8;
    frame_make(&f, &spec);
    h = farside_nic_parse(f.bytes, f.size);
    hash = farside_nic_hash(&h, key, NIC_RSS_ALL);
    ck_assert(hash.is_valid && !hash.has_ports);
    ck_assert_uint_eq(hash.value, vectors[_i].addresses);
    ck_assert(!farside_nic_hash(&h, key, NIC_RSS_TCP6).is_valid);
}
END_TEST

/* Each bit of headers and payload is covered by a checksum, but for those
 * behind the packet, the MACs, and those that make it another packet. */
START_TEST(wrong_bits_are_found)
{
    const FrameSpec spec = {
        .protocol = _i ? 17 : 6, .payload = 33, .padding = 5};
    FarsideNicFrame h;
    TestFrame f;
    unsigned at, bit;

    frame_make(&f, &spec);
    for (at = 0; at < f.size; at++) {
        bool is_covered = at >= f.network && at < f.size - spec.padding;

        for (bit = 0; bit < 8; bit++) {
            f.bytes[at] ^= 1u << bit;
            h = farside_nic_parse(f.bytes, f.size);
            if (h.version == 4 && h.protocol == spec.protocol) {
                ck_assert_msg((farside_nic_check_frame(&h) ==
                               FARSIDE_NIC_RIGHT) == !is_covered,
                              "byte %u bit %u", at, bit);
            } else {
                ck_assert_int_ne(farside_nic_check_frame(&h),
                                 FARSIDE_NIC_RIGHT);
            }
            f.bytes[at] ^= 1u << bit;
        }
    }
}
END_TEST

/* RFC 768: a checksum of 0 says that there is none. */
START_TEST(udp_may_have_no_checksum)
{
    const FrameSpec spec = {.protocol = 17, .payload = 33};
    FarsideNicFrame h;
    TestFrame f;

    frame_make(&f, &spec);
    memset(f.bytes + f.transport + 6, 0, 2);
    h = farside_nic_parse(f.bytes, f.size);
    ck_assert_int_eq(farside_nic_check_frame(&h), FARSIDE_NIC_UNCHECKED);
}
END_TEST

/* Lengths that contradict each other: the packet is of no known protocol. */
static const struct {
    unsigned at, value; /* a byte of the frame: Ethernet, IPv4, TCP, 100 */
} lies[] = {
    {14, 0x44},    /* IP header of 16 bytes */
    {14, 0x55},    /* version 5 */
    {16, 0xff},    /* longer than the frame */
    {17, 19},      /* shorter than its header */
    {17, 39},      /* no space for TCP's header */
    {46, 0x40},    /* TCP header of 16 bytes */
    {17, 20 + 20}, /* and the next makes TCP's header too long: */
};

START_TEST(contradicting_lengths_are_not_split)
{
    const FrameSpec spec = {.protocol = 6, .payload = 100, .tcp_options = 12};
    FarsideNicFrame h;
    TestFrame f;

    frame_make(&f, &spec);
    f.bytes[lies[_i].at] = lies[_i].value;
    if (lies[_i].at == 17) {
        f.bytes[16] = 0;
    }
    h = farside_nic_parse(f.bytes, f.size);
    ck_assert_uint_eq(h.headers, 0);
    ck_assert_uint_eq(h.protocol, 0);
}
END_TEST

static const FrameSpec flow = {.protocol = 6,
                               .source = "192.0.2.1",
                               .destination = "198.51.100.2",
                               .source_port = 5201,
                               .destination_port = 80,
                               .payload = 3};

/* A rule for all fields, and for each field one that differs in it. */
START_TEST(rules_match_their_fields)
{
    const uint32_t all = NIC_ACTION_VALID | NIC_ACTION_TCP |
                         NIC_ACTION_MATCH_SRC | NIC_ACTION_MATCH_DST |
                         NIC_ACTION_MATCH_SPORT | NIC_ACTION_MATCH_DPORT;
    const FarsideNicRule exact = {0xc0000201, 0xc6336402, 5201u << 16 | 80,
                                  all};
    const FarsideNicRule other[] = {
        {0xc0000202, 0xc6336402, 5201u << 16 | 80, all},
        {0xc0000201, 0xc6336403, 5201u << 16 | 80, all},
        {0xc0000201, 0xc6336402, 5202u << 16 | 80, all},
        {0xc0000201, 0xc6336402, 5201u << 16 | 81, all},
    };
    const uint32_t bit[] = {NIC_ACTION_MATCH_SRC, NIC_ACTION_MATCH_DST,
                            NIC_ACTION_MATCH_SPORT, NIC_ACTION_MATCH_DPORT};
    FarsideNicRule rules[NIC_RULE_COUNT] = {0};
    FarsideNicFrame h;
    TestFrame f;
    unsigned i;

    frame_make(&f, &flow);
    h = farside_nic_parse(f.bytes, f.size);
    ck_assert(!farside_nic_steer(&h, rules));
    for (i = 0; i < 4; i++) {
        rules[NIC_RULE_COUNT - 1] = exact;
        rules[3] = other[i];
        ck_assert(farside_nic_steer(&h, rules) == &rules[NIC_RULE_COUNT - 1]);
        /* The first that matches, now that the field does not count. */
        rules[3].action &= ~bit[i];
        ck_assert(farside_nic_steer(&h, rules) == &rules[3]);
        rules[3].action &= ~NIC_ACTION_VALID;
        ck_assert(farside_nic_steer(&h, rules) == &rules[NIC_RULE_COUNT - 1]);
        rules[NIC_RULE_COUNT - 1].action ^= NIC_ACTION_TCP | NIC_ACTION_UDP;
        ck_assert(!farside_nic_steer(&h, rules));
    }
}
END_TEST

/* The example of RFC 1071 s3: 0001 f203 f4f5 f6f7 have the sum ddf2. */
START_TEST(checksum_is_put_in_its_place)
{
    const uint8_t bytes[] = {9, 9, 0, 0, 0, 1, 0xf2, 3, 0xf4, 0xf5, 0xf6, 0xf7};
    uint8_t copy[sizeof(bytes)];

    memcpy(copy, bytes, sizeof(bytes));
    ck_assert(farside_nic_finish_checksum(copy, sizeof(copy), 2, 0));
    ck_assert_uint_eq(copy[2] << 8 | copy[3], 0x220d);
    ck_assert_uint_eq(copy[0], 9);
    ck_assert_uint_eq(frame_sum(copy + 2, sizeof(copy) - 2, 0), 0xffff);
    ck_assert(farside_nic_finish_checksum(copy, sizeof(copy), 2, 8));
    ck_assert(!farside_nic_finish_checksum(copy, sizeof(copy), 2, 9));
    ck_assert(!farside_nic_finish_checksum(copy, sizeof(copy), 12, 0));
    ck_assert(!farside_nic_finish_checksum(copy, sizeof(copy), 0xffff, 0xffff));
}
END_TEST

/* Frames that end at any byte, with any bytes. Each is in memory of its own
 * size, so that a sanitizer sees an access behind it. */
START_TEST(any_bytes_are_survived)
{
    FarsideNicRule rules[NIC_RULE_COUNT] = {
        {.action = NIC_ACTION_VALID | NIC_ACTION_TCP}};
    GRand *random = g_rand_new_with_seed(1);
    unsigned i, j, size;
    TestFrame f;

    for (i = 0; i < 20000; i++) {
        g_autofree uint8_t *bytes = NULL;
        FarsideNicFrame h;

        frame_make(&f, &layouts[i % G_N_ELEMENTS(layouts)].spec);
        for (j = g_rand_int_range(random, 0, 4); j > 0; j--) {
            f.bytes[g_rand_int_range(random, 12, 80)] =
                (uint8_t)g_rand_int(random);
        }
        size = (unsigned)g_rand_int_range(random, 1, (int)f.size + 1);
        bytes = g_malloc(size);
        memcpy(bytes, f.bytes, size);
        h = farside_nic_parse(bytes, size);
        ck_assert_uint_le(h.end, size);
        ck_assert_uint_le(h.headers, h.end);
        farside_nic_check_frame(&h);
        farside_nic_hash(&h, key, NIC_RSS_ALL);
        farside_nic_steer(&h, rules);
    }
    g_rand_free(random);
}
END_TEST

static Suite *make_suite(void)
{
    Suite *suite = suite_create("device_nic_frame");
    TCase *tcase = tcase_create("frame");

    tcase_add_loop_test(tcase, hash_is_that_of_the_published_vectors, 0,
                        G_N_ELEMENTS(vectors));
    tcase_add_loop_test(tcase, headers_end_where_the_standards_say, 0,
                        G_N_ELEMENTS(layouts));
    tcase_add_loop_test(tcase, wrong_bits_are_found, 0, 2);
    tcase_add_loop_test(tcase, options_hide_the_ports_from_the_hash,
                        G_N_ELEMENTS(vectors) - 3, G_N_ELEMENTS(vectors));
    tcase_add_test(tcase, udp_may_have_no_checksum);
    tcase_add_loop_test(tcase, contradicting_lengths_are_not_split, 0,
                        G_N_ELEMENTS(lies));
    tcase_add_test(tcase, rules_match_their_fields);
    tcase_add_test(tcase, checksum_is_put_in_its_place);
    tcase_add_test(tcase, any_bytes_are_survived);
    suite_add_tcase(suite, tcase);
    return suite;
}

int main(void)
{
    return run_suite(make_suite());
}
