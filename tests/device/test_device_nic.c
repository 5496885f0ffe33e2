/* SPDX-License-Identifier: MIT */
/*
 * Invariant: the NIC has the registers, capabilities, descriptors and rules of
 * docs/reference/nic.md; reset values and masks are read from that page. Each
 * frame is whole, in the right buffers of the right queue. A queue that has
 * stopped writes no byte.
 */
#include <check.h>
#include <glib.h>
#include <string.h>
#include "device_gpu.h"
#include "device_nic.h"
#include "device_page.h"
#include "../suite.h"

static DeviceNic nic;

static void setup(void)
{
    nic = nic_new();
}

static void teardown(void)
{
    nic_free(&nic);
}

static uint32_t rx_register(unsigned queue, unsigned offset)
{
    return (uint32_t)rig_read(nic.rig, nic_rx(&nic, queue) + offset, 4);
}

/* The page */

static GArray *read_page(void)
{
    GArray *registers = g_array_new(FALSE, FALSE, sizeof(PageRegister));
    g_auto(GStrv) lines = page_lines(g_getenv("FARSIDE_NIC_PAGE"));
    unsigned i;

    for (i = 0; lines[i]; i++) {
        page_add(registers, lines[i], false);
    }
    /* 15 single ones, KEY, VF_MAC, INDIR, rules, STAT, and queues */
    ck_assert_uint_eq(registers->len,
                      15 + 10 + 2 + 128 + 4 * 64 + 21 + 16 * (15 + 13));
    return registers;
}

START_TEST(registers_have_their_reset_values)
{
    GArray *registers = read_page();
    unsigned i;

    for (i = 0; i < registers->len; i++) {
        const PageRegister *r = &g_array_index(registers, PageRegister, i);
        uint64_t value = rig_read(nic.rig, nic.bar + r->offset, r->size);

        ck_assert_msg(!r->has_reset || value == r->reset,
                      "0x%x is 0x%" G_GINT64_MODIFIER "x", r->offset, value);
    }
    g_array_free(registers, TRUE);
    /* Those without: the MAC of the property, the next ones, and the link */
    ck_assert_uint_eq(rig_read(nic.rig, nic.bar + NIC_MAC, 8), 0x504433221102);
    ck_assert_uint_eq(rig_read(nic.rig, nic.bar + NIC_VF_MAC, 8),
                      0x514433221102);
    ck_assert_uint_eq(rig_read(nic.rig, nic.bar + NIC_VF_MAC + 8, 8),
                      0x524433221102);
    ck_assert_uint_eq(rig_read(nic.rig, nic.bar + NIC_STATUS, 4),
                      NIC_STATUS_LINK);
    /* An offset in no table, and accesses of the wrong size */
    ck_assert_uint_eq(rig_read(nic.rig, nic.bar + 0x90, 8), 0);
    ck_assert_uint_eq(rig_read(nic.rig, nic.bar + 0x1038, 8), 0);
    ck_assert_uint_eq(rig_read(nic.rig, nic.bar + 0x1800, 8), 0);
    ck_assert_uint_eq(rig_read(nic.rig, nic.bar + 0x3ffc, 4), 0);
    ck_assert_uint_eq(rig_read(nic.rig, nic.bar, 2), 0);
}
END_TEST

START_TEST(registers_keep_what_their_mask_allows)
{
    GArray *registers = read_page();
    unsigned i;

    for (i = 0; i < registers->len; i++) {
        const PageRegister *r = &g_array_index(registers, PageRegister, i);
        uint64_t at = nic.bar + r->offset, want = r->reset, value;

        if (!r->has_reset && g_str_equal(r->access, "RO")) {
            continue;
        }
        rig_write(nic.rig, at, r->size, UINT64_MAX);
        value = rig_read(nic.rig, at, r->size);
        if (g_str_has_prefix(r->access, "RW")) {
            want = r->mask;
        }
        /* ENABLE is refused, because ENTRIES is no power of 2. */
        if (r->offset >= NIC_RX &&
            r->offset % NIC_QUEUE_STRIDE == NIC_Q_CONTROL) {
            want &= ~(uint64_t)NIC_Q_ENABLE;
        }
        ck_assert_msg(value == want, "0x%x is 0x%" G_GINT64_MODIFIER "x",
                      r->offset, value);
    }
    g_array_free(registers, TRUE);
}
END_TEST

START_TEST(setup_is_read_only_while_a_queue_runs)
{
    static const unsigned bad[] = {0, 1, 3, 4095, 8191};
    uint64_t q = nic_rx(&nic, 0);
    unsigned i;

    for (i = 0; i < G_N_ELEMENTS(bad); i++) {
        rig_write(nic.rig, q + NIC_Q_ENTRIES, 4, bad[i]);
        rig_write(nic.rig, q + NIC_Q_CONTROL, 4, NIC_Q_ENABLE);
        ck_assert_uint_eq(rx_register(0, NIC_Q_CONTROL), 0);
        ck_assert_uint_eq(rx_register(0, NIC_Q_STATUS), 0);
    }
    nic_start(&nic, 0, 16, NIC_RX_CONTROL_SPLIT);
    rig_write(nic.rig, q + NIC_Q_BASE, 8, 0);
    rig_write(nic.rig, q + NIC_RX_COMPLETIONS, 8, 0);
    rig_write(nic.rig, q + NIC_Q_ENTRIES, 4, 2);
    rig_write(nic.rig, q + NIC_RX_SPLIT_MAX, 4, 2);
    rig_write(nic.rig, q + NIC_Q_CONTROL, 4,
              NIC_Q_ENABLE | NIC_RX_CONTROL_FLUSH);
    ck_assert_uint_eq(rig_read(nic.rig, q + NIC_Q_BASE, 8), NIC_RX_RING(0));
    ck_assert_uint_eq(rig_read(nic.rig, q + NIC_RX_COMPLETIONS, 8),
                      NIC_DONE_RING(0));
    ck_assert_uint_eq(rx_register(0, NIC_Q_ENTRIES), 16);
    ck_assert_uint_eq(rx_register(0, NIC_RX_SPLIT_MAX), 0xffff);
    ck_assert_uint_eq(rx_register(0, NIC_Q_CONTROL),
                      NIC_Q_ENABLE | NIC_RX_CONTROL_SPLIT);
    ck_assert_uint_eq(rx_register(0, NIC_Q_STATUS), NIC_Q_RUNNING);
}
END_TEST

/* Offset of an extended capability (PCIe 5.0 s7.6.3), by qtest's ECAM. */
START_TEST(extended_capabilities_are_there)
{
    const struct {
        unsigned offset, id;
    } want[] = {
        {0x100, 0x000e}, {0x110, 0x0001}, {0x160, 0x0003}, {0x180, 0x0010}};
    uint64_t ecam = gpu_ecam(nic.rig, NIC_DEVFN);
    unsigned i, offset = 0x100, word;

    ck_assert_uint_eq(rig_read(nic.rig, ecam, 4), 0xfa911234);
    ck_assert_uint_eq(rig_read(nic.rig, ecam + 8, 4), 0x02000001);
    for (i = 0; i < G_N_ELEMENTS(want); i++) {
        ck_assert_uint_eq(offset, want[i].offset);
        word = rig_read(nic.rig, ecam + offset, 4);
        ck_assert_uint_eq(0xffff & word, want[i].id);
        offset = word >> 20;
    }
    ck_assert_uint_eq(offset, 0);
    /* Table size of MSI-X, s7.7.2.2: one less than the vectors */
    word = rig_pci_read(nic.rig, NIC_DEVFN,
                        rig_pci_find(nic.rig, NIC_DEVFN, 0x11));
    ck_assert_uint_eq(word >> 16 & 0x7ff, 32);
    ck_assert_uint_eq(rig_read(nic.rig, ecam + 0x180 + 0x0e, 2), 2);
    ck_assert_uint_eq(rig_read(nic.rig, ecam + 0x180 + 0x1a, 2), 0xfa91);
}
END_TEST

/* Reception */

static const struct {
    FrameSpec spec;
    unsigned control, split_max, header_size;
    unsigned header, payload; /* bytes that arrive in each */
    uint32_t flags;
} splits[] = {
    /* Ethernet 14, IPv4 20, TCP 20 + 12 */
    {{.protocol = 6, .tcp_options = 12, .payload = 1000},
     NIC_RX_CONTROL_SPLIT,
     0xffff,
     256,
     66,
     1000,
     NIC_DONE_SPLIT | NIC_DONE_CSUM_OK},
    {{.protocol = 6, .tcp_options = 12, .payload = 1000},
     NIC_RX_CONTROL_SPLIT | NIC_RX_CONTROL_FLUSH,
     0xffff,
     256,
     66,
     1000,
     NIC_DONE_SPLIT | NIC_DONE_CSUM_OK},
    {{.protocol = 6, .payload = 1000, .is_ip6 = true},
     NIC_RX_CONTROL_SPLIT,
     0xffff,
     256,
     74,
     1000,
     NIC_DONE_SPLIT | NIC_DONE_CSUM_OK},
    {{.protocol = 6, .payload = 1000, .tags = 2, .ip_options = 8},
     NIC_RX_CONTROL_SPLIT,
     0xffff,
     256,
     70,
     1000,
     NIC_DONE_SPLIT | NIC_DONE_CSUM_OK},
    /* No payload: padding is dropped. */
    {{.protocol = 6, .padding = 6},
     NIC_RX_CONTROL_SPLIT,
     0xffff,
     256,
     54,
     0,
     NIC_DONE_SPLIT | NIC_DONE_CSUM_OK},
    /* Without SPLIT, headers too long for the buffer or the register, UDP, and
     * fragments: the header buffer is filled first. */
    {{.protocol = 6, .payload = 1000},
     0,
     0xffff,
     256,
     256,
     798,
     NIC_DONE_CSUM_OK},
    {{.protocol = 6, .tcp_options = 12, .payload = 1000},
     NIC_RX_CONTROL_SPLIT,
     0xffff,
     65,
     65,
     1001,
     NIC_DONE_CSUM_OK},
    {{.protocol = 6, .tcp_options = 12, .payload = 1000},
     NIC_RX_CONTROL_SPLIT,
     65,
     256,
     256,
     810,
     NIC_DONE_CSUM_OK},
    {{.protocol = 6, .tcp_options = 12, .payload = 1000},
     NIC_RX_CONTROL_SPLIT,
     66,
     256,
     66,
     1000,
     NIC_DONE_SPLIT | NIC_DONE_CSUM_OK},
    {{.protocol = 17, .payload = 100},
     NIC_RX_CONTROL_SPLIT,
     0xffff,
     256,
     142,
     0,
     NIC_DONE_CSUM_OK},
    {{.protocol = 17, .payload = 100},
     NIC_RX_CONTROL_SPLIT,
     0xffff,
     0,
     0,
     142,
     NIC_DONE_CSUM_OK},
    {{.protocol = 6, .payload = 400, .fragment = 0x2000},
     NIC_RX_CONTROL_SPLIT,
     0xffff,
     256,
     256,
     198,
     0},
};

static void expect_split(unsigned number)
{
    FrameSpec spec = splits[number].spec;
    uint64_t q = nic_rx(&nic, 0);
    struct nic_rx_done done;
    TestFrame f;

    nic_reset(&nic);
    memset(rig_ram(nic.rig) + NIC_HEADER(0, 0), 0, 0x2000);
    spec.to = nic_mac;
    nic.header_size = splits[number].header_size;
    rig_write(nic.rig, q + NIC_RX_SPLIT_MAX, 4, splits[number].split_max);
    nic_start(&nic, 0, 8, splits[number].control);
    nic_post(&nic, 0, 7);
    nic_receive(&nic, &f, &spec);
    done = nic_wait(&nic, 0);
    ck_assert_uint_eq(done.id, 0);
    ck_assert_uint_eq(done.header_length, splits[number].header);
    ck_assert_uint_eq(done.payload_length, splits[number].payload);
    ck_assert_uint_eq(done.flags, splits[number].flags | NIC_DONE_PHASE);
    ck_assert_int_eq(
        memcmp(nic_header(&nic, 0, done.id), f.bytes, splits[number].header),
        0);
    ck_assert_int_eq(memcmp(nic_payload(&nic, 0, done.id),
                            f.bytes + splits[number].header,
                            splits[number].payload),
                     0);
    /* And not a byte more */
    ck_assert_uint_eq(nic_header(&nic, 0, done.id)[splits[number].header], 0);
    ck_assert_uint_eq(nic_payload(&nic, 0, done.id)[splits[number].payload], 0);
    ck_assert_uint_eq(nic_stat(&nic, NIC_STAT_RX_HEADER_BYTES),
                      splits[number].header);
    ck_assert_uint_eq(nic_stat(&nic, NIC_STAT_RX_PAYLOAD_BYTES),
                      splits[number].payload);
    ck_assert_uint_eq(nic_stat(&nic, NIC_STAT_FLUSHES),
                      splits[number].control & NIC_RX_CONTROL_FLUSH ? 1 : 0);
    ck_assert_uint_eq(rx_register(0, NIC_Q_HEAD), 1);
    ck_assert_uint_eq(rx_register(0, NIC_Q_DONE), 1);
}

START_TEST(headers_and_payload_are_split)
{
    unsigned i;

    for (i = 0; i < G_N_ELEMENTS(splits); i++) {
        expect_split(i);
    }
}
END_TEST

/* 9000 bytes of payload take three buffers of 4 KiB. */
START_TEST(large_packets_take_several_buffers)
{
    FrameSpec spec = nic_segment;
    struct nic_rx_done done[3];
    TestFrame f;
    unsigned i;

    spec.payload = 9000;
    nic_start(&nic, 0, 8, NIC_RX_CONTROL_SPLIT);
    nic_post(&nic, 0, 7);
    nic_receive(&nic, &f, &spec); /* longer than FRAME: dropped */
    rig_wait_for(nic.rig, nic.bar + NIC_STAT + 8 * NIC_STAT_RX_LONG, 8, 1);
    rig_write(nic.rig, nic.bar + NIC_FRAME, 4, f.size);
    nic_receive(&nic, &f, &spec);
    for (i = 0; i < 3; i++) {
        done[i] = nic_wait(&nic, 0);
        ck_assert_uint_eq(done[i].id, i);
        ck_assert_uint_eq(done[i].header_length, i ? 0 : 66);
        ck_assert_uint_eq(done[i].payload_length, i < 2 ? 4096 : 808);
        ck_assert_uint_eq(done[i].flags & NIC_DONE_MORE,
                          i < 2 ? NIC_DONE_MORE : 0);
        ck_assert_int_eq(memcmp(nic_payload(&nic, 0, done[i].id),
                                f.bytes + 66 + 4096 * i,
                                done[i].payload_length),
                         0);
    }
    /* Four are left; a packet that needs five takes none of them. */
    spec.payload = 4 * 4096 - 100;
    rig_write(nic.rig, nic.bar + NIC_FRAME, 4, NIC_FRAME_MASK);
    nic_post(&nic, 0, 0);
    nic_receive(&nic, &f, &spec);
    for (i = 0; i < 4; i++) {
        nic_wait(&nic, 0);
    }
    nic_receive(&nic, &f, &nic_segment);
    rig_wait_for(nic.rig, nic_rx(&nic, 0) + NIC_RX_DROPS, 8, 1);
    ck_assert_uint_eq(nic_stat(&nic, NIC_STAT_RX_NO_BUFFER), 1);
    ck_assert_uint_eq(rx_register(0, NIC_Q_HEAD), 7);
    /* It goes on when there are buffers again. */
    nic_post(&nic, 0, 2);
    nic_receive(&nic, &f, &spec);
    rig_wait_for(nic.rig, nic_rx(&nic, 0) + NIC_RX_DROPS, 8, 2);
    nic_receive(&nic, &f, &nic_segment);
    ck_assert_uint_eq(nic_wait(&nic, 0).id, 7);
}
END_TEST

/* Rings of 4 and 128 entries, several rounds: PHASE, and what is read ahead */
static void expect_rounds(unsigned entries)
{
    FrameSpec spec = nic_segment;
    struct nic_rx_done done;
    TestFrame f;
    unsigned i;

    nic_reset(&nic);
    nic_start(&nic, 0, entries, NIC_RX_CONTROL_SPLIT);
    nic_post(&nic, 0, entries - 1);
    for (i = 0; i < 300; i++) {
        spec.payload = i + 1;
        nic_receive(&nic, &f, &spec);
        done = nic_wait(&nic, 0);
        ck_assert_uint_eq(done.id, i % entries);
        ck_assert_uint_eq(done.payload_length, i + 1);
        nic_post(&nic, 0, 1);
    }
    ck_assert_uint_eq(rig_read(nic.rig, nic_rx(&nic, 0) + NIC_Q_PACKETS, 8),
                      300);
    /* All descriptors were read once: 300 were used, and up to all of the ring
     * are ahead. */
    ck_assert_uint_le(nic_stat(&nic, NIC_STAT_RX_DESCRIPTORS),
                      300 + entries - 1);
}

START_TEST(rings_go_round)
{
    expect_rounds(4);
    expect_rounds(128);
}
END_TEST

START_TEST(wrong_checksums_are_told)
{
    struct nic_rx_done done;
    TestFrame f;

    nic_start(&nic, 0, 8, NIC_RX_CONTROL_SPLIT);
    nic_post(&nic, 0, 7);
    frame_make(&f, &nic_segment);
    f.bytes[f.size - 1] ^= 1;
    net_put(nic.net, f.bytes, f.size);
    done = nic_wait(&nic, 0);
    ck_assert_uint_eq(done.flags, NIC_DONE_PHASE | NIC_DONE_SPLIT);
    ck_assert_uint_eq(nic_stat(&nic, NIC_STAT_RX_BAD_CSUM), 1);
}
END_TEST

/* The first vector of "Verifying the RSS Hash Calculation" */
START_TEST(hash_and_rules_choose_the_queue)
{
    static const uint32_t key[] = {
        0xda565a6d, 0xc20e5b25, 0x3d256741, 0xb08fa343, 0xcb2bcad0,
        0xb4307bae, 0xa32dcb77, 0x0cf23080, 0x3bb7426a, 0xfa01acbe};
    const FrameSpec spec = {.protocol = 6,
                            .source = "66.9.149.187",
                            .destination = "161.142.100.80",
                            .source_port = 2794,
                            .destination_port = 1766,
                            .payload = 8,
                            .to = nic_mac};
    const uint64_t rule = nic.bar + NIC_RULE + 5 * NIC_RULE_STRIDE;
    struct nic_rx_done done;
    TestFrame f;
    unsigned i;

    for (i = 0; i < 10; i++) {
        rig_write(nic.rig, nic.bar + NIC_KEY + 4 * i, 4, key[i]);
    }
    for (i = 0; i < NIC_INDIR_ENTRIES; i++) {
        rig_write(nic.rig, nic.bar + NIC_INDIR + 4 * i, 4,
                  i == (0x51ccc178 & 127) ? 11 : 3);
    }
    nic_start(&nic, 0, 8, 0);
    nic_post(&nic, 0, 7);
    nic_start(&nic, 11, 8, 0);
    nic_post(&nic, 11, 7);
    nic_start(&nic, 15, 8, 0);
    nic_post(&nic, 15, 7);
    nic_receive(&nic, &f, &spec); /* RSS is off. */
    done = nic_wait(&nic, 0);
    ck_assert_uint_eq(done.flags & NIC_DONE_HASH, 0);
    rig_write(nic.rig, nic.bar + NIC_RSS, 4, NIC_RSS_IPV4 | NIC_RSS_TCP4);
    nic_receive(&nic, &f, &spec);
    done = nic_wait(&nic, 11);
    ck_assert_uint_eq(done.hash, 0x51ccc178);
    ck_assert_uint_eq(done.flags & (NIC_DONE_HASH | NIC_DONE_HASH_L4),
                      NIC_DONE_HASH | NIC_DONE_HASH_L4);
    /* A rule goes before. */
    rig_write(nic.rig, rule + NIC_RULE_DST, 4, 0xa18e6450);
    rig_write(nic.rig, rule + NIC_RULE_PORTS, 4, 1766);
    rig_write(nic.rig, rule + NIC_RULE_ACTION, 4,
              15 | NIC_ACTION_VALID | NIC_ACTION_TCP | NIC_ACTION_MATCH_DST |
                  NIC_ACTION_MATCH_DPORT);
    nic_receive(&nic, &f, &spec);
    done = nic_wait(&nic, 15);
    ck_assert_uint_eq(done.hash, 0x51ccc178);
    ck_assert_uint_eq(done.flags & NIC_DONE_RULE, NIC_DONE_RULE);
    rig_write(nic.rig, rule + NIC_RULE_ACTION, 4,
              15 | NIC_ACTION_VALID | NIC_ACTION_TCP | NIC_ACTION_DROP);
    nic_receive(&nic, &f, &spec);
    rig_wait_for(nic.rig, nic.bar + NIC_STAT + 8 * NIC_STAT_RX_RULE_DROPS, 8,
                 1);
    ck_assert_uint_eq(nic_stat(&nic, NIC_STAT_RX_RULE), 1);
    ck_assert_uint_eq(nic_stat(&nic, NIC_STAT_RX_NO_BUFFER), 0);
}
END_TEST

START_TEST(other_addresses_are_filtered)
{
    static const uint8_t group[6] = {0x01, 0, 0x5e, 0, 0, 1};
    FrameSpec spec = nic_segment;
    TestFrame f;
    unsigned i;

    nic_start(&nic, 0, 8, 0);
    nic_post(&nic, 0, 7);
    spec.to = nic_stranger;
    nic_receive(&nic, &f, &spec);
    spec.to = group;
    nic_receive(&nic, &f, &spec);
    rig_wait_for(nic.rig, nic.bar + NIC_STAT + 8 * NIC_STAT_RX_FILTERED, 8, 2);
    spec.to = NULL; /* broadcast */
    nic_receive(&nic, &f, &spec);
    nic_wait(&nic, 0);
    rig_write(nic.rig, nic.bar + NIC_ACCEPT, 4, NIC_ACCEPT_MULTICAST);
    spec.to = group;
    nic_receive(&nic, &f, &spec);
    nic_wait(&nic, 0);
    rig_write(nic.rig, nic.bar + NIC_ACCEPT, 4, NIC_ACCEPT_PROMISCUOUS);
    spec.to = nic_stranger;
    nic_receive(&nic, &f, &spec);
    nic_wait(&nic, 0);
    rig_write(nic.rig, nic.bar + NIC_ACCEPT, 4, 0);
    for (i = 0; i < 6; i++) {
        rig_write(nic.rig, nic.bar + NIC_MAC, 8, 0x999999999902);
    }
    nic_receive(&nic, &f, &spec);
    nic_wait(&nic, 0);
    ck_assert_uint_eq(nic_stat(&nic, NIC_STAT_RX_FILTERED), 2);
}
END_TEST

/* Transmission */

START_TEST(frames_are_sent_in_parts)
{
    uint64_t q = nic_tx(&nic, 2);
    TestFrame f;
    unsigned i;

    nic_start_tx(&nic, 2, 8);
    for (i = 0; i < 20; i++) {
        FrameSpec spec = nic_segment;

        spec.payload = i ? 50 * i : 0;
        spec.tcp_options = 0;
        nic_place(&nic, &f, &spec);
        nic_put_part(&nic, 2, NIC_FRAME_AT, 14, 0);
        nic_put_part(&nic, 2, NIC_FRAME_AT + 14, 1, 0);
        nic_ring_tx(&nic, 2); /* the frame is not whole */
        nic_put_part(&nic, 2, NIC_FRAME_AT + 15, f.size - 15,
                     NIC_TX_LAST | NIC_TX_REPORT);
        nic_ring_tx(&nic, 2);
        nic_expect(&nic, &f);
        rig_wait_for(nic.rig, NIC_HEAD_AT(2), 4, nic.tx_tail[2]);
        ck_assert_uint_eq(rig_read(nic.rig, q + NIC_Q_DONE, 4), nic.tx_tail[2]);
    }
    ck_assert_uint_eq(rig_read(nic.rig, q + NIC_Q_PACKETS, 8), 20);
    ck_assert_uint_eq(nic_stat(&nic, NIC_STAT_TX_DESCRIPTORS), 60);
    ck_assert_uint_eq(net_get(nic.net, f.bytes, FRAME_MAX, 0), 0);
}
END_TEST

/* The driver leaves the sum of the pseudo header, the device does the rest. */
START_TEST(checksums_are_put_in)
{
    struct nic_tx_desc desc = {.address = NIC_FRAME_AT,
                               .flags = NIC_TX_LAST | NIC_TX_CSUM,
                               .csum_offset = 16};
    uint8_t *bytes;
    TestFrame f;
    unsigned sum;

    nic_start_tx(&nic, 0, 8);
    nic_place(&nic, &f, &nic_segment);
    bytes = rig_ram(nic.rig) + NIC_FRAME_AT + f.transport;
    sum = frame_sum(f.bytes + f.network + 12, 8, 6 + f.size - f.transport);
    bytes[16] = (uint8_t)(sum >> 8);
    bytes[17] = (uint8_t)sum;
    desc.length = (uint16_t)f.size;
    desc.csum_start = (uint16_t)f.transport;
    nic_put_tx(&nic, 0, &desc);
    nic_ring_tx(&nic, 0);
    nic_expect(&nic, &f);
}
END_TEST

/* Stop */

/* Frames come while a queue stops. From the moment at which RUNNING is 0, the
 * buffers are somebody else's: no byte of them changes. */
START_TEST(a_stopped_queue_writes_nothing)
{
    const unsigned size = 128 * 0x2000;
    uint64_t q = nic_rx(&nic, 0);
    uint8_t *buffers = nic_header(&nic, 0, 0);
    g_autofree uint8_t *others = g_malloc(size);
    TestFrame f;
    unsigned i, j;

    memset(others, 0x5a, size);
    for (i = 0; i < 20; i++) {
        nic_start(&nic, 0, 128, NIC_RX_CONTROL_SPLIT);
        nic_post(&nic, 0, 127);
        for (j = 0; j < 40; j++) {
            nic_receive(&nic, &f, &nic_segment);
        }
        rig_write(nic.rig, q + NIC_Q_CONTROL, 4, 0);
        nic_wait_stopped(&nic, q);
        memcpy(buffers, others, size);
        for (j = 0; j < 5; j++) {
            nic_receive(&nic, &f, &nic_segment);
        }
        g_usleep(2000);
        ck_assert_int_eq(memcmp(buffers, others, size), 0);
        ck_assert_uint_eq(rx_register(0, NIC_Q_STATUS), 0);
    }
    /* Frames came in before the stops, and behind them. */
    ck_assert_uint_gt(nic_stat(&nic, NIC_STAT_RX_FRAMES), 0);
    ck_assert_uint_gt(nic_stat(&nic, NIC_STAT_RX_NO_BUFFER), 0);
}
END_TEST

static Suite *make_suite(void)
{
    Suite *suite = suite_create("device_nic");
    TCase *tcase = tcase_create("nic");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, registers_have_their_reset_values);
    tcase_add_test(tcase, registers_keep_what_their_mask_allows);
    tcase_add_test(tcase, setup_is_read_only_while_a_queue_runs);
    tcase_add_test(tcase, extended_capabilities_are_there);
    tcase_add_test(tcase, headers_and_payload_are_split);
    tcase_add_test(tcase, large_packets_take_several_buffers);
    tcase_add_test(tcase, rings_go_round);
    tcase_add_test(tcase, wrong_checksums_are_told);
    tcase_add_test(tcase, hash_and_rules_choose_the_queue);
    tcase_add_test(tcase, other_addresses_are_filtered);
    tcase_add_test(tcase, frames_are_sent_in_parts);
    tcase_add_test(tcase, checksums_are_put_in);
    tcase_add_test(tcase, a_stopped_queue_writes_nothing);
    suite_add_tcase(suite, tcase);
    return suite;
}

int main(void)
{
    return run_suite(make_suite());
}
