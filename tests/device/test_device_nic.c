/* SPDX-License-Identifier: MIT */
/*
 * Invariant: the NIC has the registers, capabilities, descriptors and rules of
 * docs/reference/nic.md; reset values and masks are read from that page. Each
 * frame is whole, in the right buffers of the right queue. A queue that has
 * stopped writes no byte. What is wrong stops one queue, and says why.
 */
#include <check.h>
#include <glib.h>
#include <string.h>
#include "device_gpu.h"
#include "device_nic.h"
#include "device_page.h"
#include "device_pair.h"
#include "../suite.h"

#define MIB     (1ull << 20)
#define DEVFN   0x30
#define DEVICE  "farside-nic,id=nic,netdev=net,addr=06.0,mac=" NIC_MAC0
#define NOTHING (2560 * MIB) /* an address at which nothing answers */
#define PLACE   0x2000000ull /* of the machine's memory, for anything else */

static const uint8_t mac[6] = {0x02, 0x11, 0x22, 0x33, 0x44, 0x50};
static const uint8_t vf_mac[6] = {0x02, 0x11, 0x22, 0x33, 0x44, 0x51};
static const uint8_t stranger[6] = {0x02, 0x99, 0x99, 0x99, 0x99, 0x99};

static DeviceRig *rig;
static DeviceNet *net;
static DeviceNic nic;

static void setup(void)
{
    net = net_new();
    rig = rig_new_with(NULL, "",
                       (const char *const[]){"-bios", net_firmware(net),
                                             "-netdev", net_argument(net),
                                             "-device", DEVICE, NULL});
    nic_let_run(rig);
    nic = nic_map(rig, DEVFN, NIC_BAR0);
}

static void teardown(void)
{
    rig_free(rig);
    net_free(net);
    rig = NULL;
}

static uint32_t rx_reg(unsigned queue, unsigned offset)
{
    return (uint32_t)rig_read(rig, nic_rx(&nic, queue) + offset, 4);
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
    ck_assert_uint_eq(registers->len, 15 + 10 + 2 + 128 + 4 * 64 + 21 +
                                          16 * (15 + 13));
    return registers;
}

START_TEST(registers_have_their_reset_values)
{
    GArray *registers = read_page();
    unsigned i;

    for (i = 0; i < registers->len; i++) {
        const PageRegister *r = &g_array_index(registers, PageRegister, i);
        uint64_t value = rig_read(rig, nic.bar + r->offset, r->size);

        ck_assert_msg(!r->has_reset || value == r->reset,
                      "0x%x is 0x%" G_GINT64_MODIFIER "x", r->offset, value);
    }
    g_array_free(registers, TRUE);
    /* Those without: the MAC of the property, the next ones, and the link */
    ck_assert_uint_eq(rig_read(rig, nic.bar + NIC_MAC, 8), 0x504433221102);
    ck_assert_uint_eq(rig_read(rig, nic.bar + NIC_VF_MAC, 8), 0x514433221102);
    ck_assert_uint_eq(rig_read(rig, nic.bar + NIC_VF_MAC + 8, 8),
                      0x524433221102);
    ck_assert_uint_eq(rig_read(rig, nic.bar + NIC_STATUS, 4), NIC_STATUS_LINK);
    /* An offset in no table, and accesses of the wrong size */
    ck_assert_uint_eq(rig_read(rig, nic.bar + 0x90, 8), 0);
    ck_assert_uint_eq(rig_read(rig, nic.bar + 0x1038, 8), 0);
    ck_assert_uint_eq(rig_read(rig, nic.bar + 0x1800, 8), 0);
    ck_assert_uint_eq(rig_read(rig, nic.bar + 0x3ffc, 4), 0);
    ck_assert_uint_eq(rig_read(rig, nic.bar, 2), 0);
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
        rig_write(rig, at, r->size, UINT64_MAX);
        value = rig_read(rig, at, r->size);
        if (g_str_has_prefix(r->access, "RW")) {
            want = r->mask;
        }
        /* ENABLE is refused, because ENTRIES is no power of 2. */
        if (r->offset >= NIC_RX && r->offset % NIC_QUEUE_STRIDE == NIC_Q_CONTROL) {
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
        rig_write(rig, q + NIC_Q_ENTRIES, 4, bad[i]);
        rig_write(rig, q + NIC_Q_CONTROL, 4, NIC_Q_ENABLE);
        ck_assert_uint_eq(rx_reg(0, NIC_Q_CONTROL), 0);
        ck_assert_uint_eq(rx_reg(0, NIC_Q_STATUS), 0);
    }
    nic_start(&nic, 0, 16, NIC_RX_CONTROL_SPLIT);
    rig_write(rig, q + NIC_Q_BASE, 8, 0);
    rig_write(rig, q + NIC_RX_COMPLETIONS, 8, 0);
    rig_write(rig, q + NIC_Q_ENTRIES, 4, 2);
    rig_write(rig, q + NIC_RX_SPLIT_MAX, 4, 2);
    rig_write(rig, q + NIC_Q_CONTROL, 4, NIC_Q_ENABLE | NIC_RX_CONTROL_FLUSH);
    ck_assert_uint_eq(rig_read(rig, q + NIC_Q_BASE, 8), NIC_RX_RING(0));
    ck_assert_uint_eq(rig_read(rig, q + NIC_RX_COMPLETIONS, 8),
                      NIC_DONE_RING(0));
    ck_assert_uint_eq(rx_reg(0, NIC_Q_ENTRIES), 16);
    ck_assert_uint_eq(rx_reg(0, NIC_RX_SPLIT_MAX), 0xffff);
    ck_assert_uint_eq(rx_reg(0, NIC_Q_CONTROL),
                      NIC_Q_ENABLE | NIC_RX_CONTROL_SPLIT);
    ck_assert_uint_eq(rx_reg(0, NIC_Q_STATUS), NIC_Q_RUNNING);
}
END_TEST

/* Offset of an extended capability (PCIe 5.0 s7.6.3), by qtest's ECAM. */
START_TEST(extended_capabilities_are_there)
{
    const struct {
        unsigned offset, id;
    } want[] = {
        {0x100, 0x000e}, {0x110, 0x0001}, {0x160, 0x0003}, {0x180, 0x0010}};
    uint64_t ecam = gpu_ecam(rig, DEVFN);
    unsigned i, offset = 0x100, word;

    ck_assert_uint_eq(rig_read(rig, ecam, 4), 0xfa911234);
    ck_assert_uint_eq(rig_read(rig, ecam + 8, 4), 0x02000001);
    for (i = 0; i < G_N_ELEMENTS(want); i++) {
        ck_assert_uint_eq(offset, want[i].offset);
        word = rig_read(rig, ecam + offset, 4);
        ck_assert_uint_eq(0xffff & word, want[i].id);
        offset = word >> 20;
    }
    ck_assert_uint_eq(offset, 0);
    /* Table size of MSI-X, s7.7.2.2: one less than the vectors */
    word = rig_pci_read(rig, DEVFN, rig_pci_find(rig, DEVFN, 0x11));
    ck_assert_uint_eq(word >> 16 & 0x7ff, 32);
    ck_assert_uint_eq(rig_read(rig, ecam + 0x180 + 0x0e, 2), 2);
    ck_assert_uint_eq(rig_read(rig, ecam + 0x180 + 0x1a, 2), 0xfa91);
}
END_TEST

/* Reception */

static const FrameSpec segment = {.protocol = 6,
                                  .tcp_options = 12,
                                  .source_port = 1000,
                                  .destination_port = 2000,
                                  .payload = 1000,
                                  .to = mac};

static void put_frame(TestFrame *f, const FrameSpec *spec)
{
    frame_make(f, spec);
    net_put(net, f->bytes, f->size);
}

/* The bytes of a completed buffer, header or payload */
static const uint8_t *header_of(const struct nic_rx_done *done, unsigned queue)
{
    return rig_ram(rig) + NIC_HEADER(queue, done->id);
}

static const uint8_t *payload_of(const struct nic_rx_done *done,
                                 unsigned queue)
{
    return rig_ram(rig) + NIC_PAYLOAD(queue, done->id);
}

static const struct {
    FrameSpec spec;
    unsigned control, split_max, header_size;
    unsigned header, payload; /* bytes that arrive in each */
    uint32_t flags;
} splits[] = {
    /* Ethernet 14, IPv4 20, TCP 20 + 12 */
    {{.protocol = 6, .tcp_options = 12, .payload = 1000},
     NIC_RX_CONTROL_SPLIT, 0xffff, 256, 66, 1000,
     NIC_DONE_SPLIT | NIC_DONE_CSUM_OK},
    {{.protocol = 6, .tcp_options = 12, .payload = 1000},
     NIC_RX_CONTROL_SPLIT | NIC_RX_CONTROL_FLUSH, 0xffff, 256, 66, 1000,
     NIC_DONE_SPLIT | NIC_DONE_CSUM_OK},
    {{.protocol = 6, .payload = 1000, .is_ip6 = true},
     NIC_RX_CONTROL_SPLIT, 0xffff, 256, 74, 1000,
     NIC_DONE_SPLIT | NIC_DONE_CSUM_OK},
    {{.protocol = 6, .payload = 1000, .tags = 2, .ip_options = 8},
     NIC_RX_CONTROL_SPLIT, 0xffff, 256, 70, 1000,
     NIC_DONE_SPLIT | NIC_DONE_CSUM_OK},
    /* No payload: padding is dropped. */
    {{.protocol = 6, .padding = 6},
     NIC_RX_CONTROL_SPLIT, 0xffff, 256, 54, 0,
     NIC_DONE_SPLIT | NIC_DONE_CSUM_OK},
    /* Without SPLIT, headers too long for the buffer or the register, UDP, and
     * fragments: the header buffer is filled first. */
    {{.protocol = 6, .payload = 1000}, 0, 0xffff, 256, 256, 798,
     NIC_DONE_CSUM_OK},
    {{.protocol = 6, .tcp_options = 12, .payload = 1000},
     NIC_RX_CONTROL_SPLIT, 0xffff, 65, 65, 1001, NIC_DONE_CSUM_OK},
    {{.protocol = 6, .tcp_options = 12, .payload = 1000},
     NIC_RX_CONTROL_SPLIT, 65, 256, 256, 810, NIC_DONE_CSUM_OK},
    {{.protocol = 6, .tcp_options = 12, .payload = 1000},
     NIC_RX_CONTROL_SPLIT, 66, 256, 66, 1000,
     NIC_DONE_SPLIT | NIC_DONE_CSUM_OK},
    {{.protocol = 17, .payload = 100},
     NIC_RX_CONTROL_SPLIT, 0xffff, 256, 142, 0, NIC_DONE_CSUM_OK},
    {{.protocol = 17, .payload = 100},
     NIC_RX_CONTROL_SPLIT, 0xffff, 0, 0, 142, NIC_DONE_CSUM_OK},
    {{.protocol = 6, .payload = 400, .fragment = 0x2000},
     NIC_RX_CONTROL_SPLIT, 0xffff, 256, 256, 198, 0},
};

static void reset(void)
{
    rig_write(rig, nic.bar + NIC_CONTROL, 4, NIC_CONTROL_RESET);
}

static void expect_split(unsigned number)
{
    FrameSpec spec = splits[number].spec;
    uint64_t q = nic_rx(&nic, 0);
    struct nic_rx_done done;
    TestFrame f;

    reset();
    memset(rig_ram(rig) + NIC_HEADER(0, 0), 0, 0x2000);
    spec.to = mac;
    nic.header_size = splits[number].header_size;
    rig_write(rig, q + NIC_RX_SPLIT_MAX, 4, splits[number].split_max);
    nic_start(&nic, 0, 8, splits[number].control);
    nic_post(&nic, 0, 7);
    put_frame(&f, &spec);
    done = nic_wait(&nic, 0);
    ck_assert_uint_eq(done.id, 0);
    ck_assert_uint_eq(done.header_length, splits[number].header);
    ck_assert_uint_eq(done.payload_length, splits[number].payload);
    ck_assert_uint_eq(done.flags, splits[number].flags | NIC_DONE_PHASE);
    ck_assert_int_eq(memcmp(header_of(&done, 0), f.bytes, splits[number].header),
                     0);
    ck_assert_int_eq(memcmp(payload_of(&done, 0), f.bytes + splits[number].header,
                            splits[number].payload),
                     0);
    /* And not a byte more */
    ck_assert_uint_eq(header_of(&done, 0)[splits[number].header], 0);
    ck_assert_uint_eq(payload_of(&done, 0)[splits[number].payload], 0);
    ck_assert_uint_eq(nic_stat(&nic, NIC_STAT_RX_HEADER_BYTES),
                      splits[number].header);
    ck_assert_uint_eq(nic_stat(&nic, NIC_STAT_RX_PAYLOAD_BYTES),
                      splits[number].payload);
    ck_assert_uint_eq(nic_stat(&nic, NIC_STAT_FLUSHES),
                      splits[number].control & NIC_RX_CONTROL_FLUSH ? 1 : 0);
    ck_assert_uint_eq(rx_reg(0, NIC_Q_HEAD), 1);
    ck_assert_uint_eq(rx_reg(0, NIC_Q_DONE), 1);
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
    FrameSpec spec = segment;
    struct nic_rx_done done[3];
    TestFrame f;
    unsigned i;

    spec.payload = 9000;
    nic_start(&nic, 0, 8, NIC_RX_CONTROL_SPLIT);
    nic_post(&nic, 0, 7);
    put_frame(&f, &spec); /* longer than FRAME: dropped */
    rig_wait_for(rig, nic.bar + NIC_STAT + 8 * NIC_STAT_RX_LONG, 8, 1);
    rig_write(rig, nic.bar + NIC_FRAME, 4, f.size);
    put_frame(&f, &spec);
    for (i = 0; i < 3; i++) {
        done[i] = nic_wait(&nic, 0);
        ck_assert_uint_eq(done[i].id, i);
        ck_assert_uint_eq(done[i].header_length, i ? 0 : 66);
        ck_assert_uint_eq(done[i].payload_length, i < 2 ? 4096 : 808);
        ck_assert_uint_eq(done[i].flags & NIC_DONE_MORE,
                          i < 2 ? NIC_DONE_MORE : 0);
        ck_assert_int_eq(memcmp(payload_of(&done[i], 0),
                                f.bytes + 66 + 4096 * i,
                                done[i].payload_length),
                         0);
    }
    /* Four are left; a packet that needs five takes none of them. */
    spec.payload = 4 * 4096 - 100;
    rig_write(rig, nic.bar + NIC_FRAME, 4, NIC_FRAME_MASK);
    nic_post(&nic, 0, 0);
    put_frame(&f, &spec);
    for (i = 0; i < 4; i++) {
        nic_wait(&nic, 0);
    }
    put_frame(&f, &segment);
    rig_wait_for(rig, nic_rx(&nic, 0) + NIC_RX_DROPS, 8, 1);
    ck_assert_uint_eq(nic_stat(&nic, NIC_STAT_RX_NO_BUFFER), 1);
    ck_assert_uint_eq(rx_reg(0, NIC_Q_HEAD), 7);
    /* It goes on when there are buffers again. */
    nic_post(&nic, 0, 2);
    put_frame(&f, &spec);
    rig_wait_for(rig, nic_rx(&nic, 0) + NIC_RX_DROPS, 8, 2);
    put_frame(&f, &segment);
    ck_assert_uint_eq(nic_wait(&nic, 0).id, 7);
}
END_TEST

/* Rings of 4 and 128 entries, several rounds: PHASE, and what is read ahead */
static void expect_rounds(unsigned entries)
{
    FrameSpec spec = segment;
    struct nic_rx_done done;
    TestFrame f;
    unsigned i;

    reset();
    nic_start(&nic, 0, entries, NIC_RX_CONTROL_SPLIT);
    nic_post(&nic, 0, entries - 1);
    for (i = 0; i < 300; i++) {
        spec.payload = i + 1;
        put_frame(&f, &spec);
        done = nic_wait(&nic, 0);
        ck_assert_uint_eq(done.id, i % entries);
        ck_assert_uint_eq(done.payload_length, i + 1);
        nic_post(&nic, 0, 1);
    }
    ck_assert_uint_eq(rig_read(rig, nic_rx(&nic, 0) + NIC_Q_PACKETS, 8), 300);
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
    frame_make(&f, &segment);
    f.bytes[f.size - 1] ^= 1;
    net_put(net, f.bytes, f.size);
    done = nic_wait(&nic, 0);
    ck_assert_uint_eq(done.flags, NIC_DONE_PHASE | NIC_DONE_SPLIT);
    ck_assert_uint_eq(nic_stat(&nic, NIC_STAT_RX_BAD_CSUM), 1);
}
END_TEST

/* The first vector of "Verifying the RSS Hash Calculation" */
START_TEST(hash_and_rules_choose_the_queue)
{
    static const uint32_t key[] = {0xda565a6d, 0xc20e5b25, 0x3d256741,
                                   0xb08fa343, 0xcb2bcad0, 0xb4307bae,
                                   0xa32dcb77, 0x0cf23080, 0x3bb7426a,
                                   0xfa01acbe};
    const FrameSpec spec = {.protocol = 6,
                            .source = "66.9.149.187",
                            .destination = "161.142.100.80",
                            .source_port = 2794,
                            .destination_port = 1766,
                            .payload = 8,
                            .to = mac};
    const uint64_t rule = nic.bar + NIC_RULE + 5 * NIC_RULE_STRIDE;
    struct nic_rx_done done;
    TestFrame f;
    unsigned i;

    for (i = 0; i < 10; i++) {
        rig_write(rig, nic.bar + NIC_KEY + 4 * i, 4, key[i]);
    }
    for (i = 0; i < NIC_INDIR_ENTRIES; i++) {
        rig_write(rig, nic.bar + NIC_INDIR + 4 * i, 4,
                  i == (0x51ccc178 & 127) ? 11 : 3);
    }
    nic_start(&nic, 0, 8, 0);
    nic_post(&nic, 0, 7);
    nic_start(&nic, 11, 8, 0);
    nic_post(&nic, 11, 7);
    nic_start(&nic, 15, 8, 0);
    nic_post(&nic, 15, 7);
    put_frame(&f, &spec); /* RSS is off. */
    done = nic_wait(&nic, 0);
    ck_assert_uint_eq(done.flags & NIC_DONE_HASH, 0);
    rig_write(rig, nic.bar + NIC_RSS, 4, NIC_RSS_IPV4 | NIC_RSS_TCP4);
    put_frame(&f, &spec);
    done = nic_wait(&nic, 11);
    ck_assert_uint_eq(done.hash, 0x51ccc178);
    ck_assert_uint_eq(done.flags & (NIC_DONE_HASH | NIC_DONE_HASH_L4),
                      NIC_DONE_HASH | NIC_DONE_HASH_L4);
    /* A rule goes before. */
    rig_write(rig, rule + NIC_RULE_DST, 4, 0xa18e6450);
    rig_write(rig, rule + NIC_RULE_PORTS, 4, 1766);
    rig_write(rig, rule + NIC_RULE_ACTION, 4,
              15 | NIC_ACTION_VALID | NIC_ACTION_TCP | NIC_ACTION_MATCH_DST |
                  NIC_ACTION_MATCH_DPORT);
    put_frame(&f, &spec);
    done = nic_wait(&nic, 15);
    ck_assert_uint_eq(done.hash, 0x51ccc178);
    ck_assert_uint_eq(done.flags & NIC_DONE_RULE, NIC_DONE_RULE);
    rig_write(rig, rule + NIC_RULE_ACTION, 4,
              15 | NIC_ACTION_VALID | NIC_ACTION_TCP | NIC_ACTION_DROP);
    put_frame(&f, &spec);
    rig_wait_for(rig, nic.bar + NIC_STAT + 8 * NIC_STAT_RX_RULE_DROPS, 8, 1);
    ck_assert_uint_eq(nic_stat(&nic, NIC_STAT_RX_RULE), 1);
    ck_assert_uint_eq(nic_stat(&nic, NIC_STAT_RX_NO_BUFFER), 0);
}
END_TEST

START_TEST(other_addresses_are_filtered)
{
    static const uint8_t group[6] = {0x01, 0, 0x5e, 0, 0, 1};
    FrameSpec spec = segment;
    TestFrame f;
    unsigned i;

    nic_start(&nic, 0, 8, 0);
    nic_post(&nic, 0, 7);
    spec.to = stranger;
    put_frame(&f, &spec);
    spec.to = group;
    put_frame(&f, &spec);
    rig_wait_for(rig, nic.bar + NIC_STAT + 8 * NIC_STAT_RX_FILTERED, 8, 2);
    spec.to = NULL; /* broadcast */
    put_frame(&f, &spec);
    nic_wait(&nic, 0);
    rig_write(rig, nic.bar + NIC_ACCEPT, 4, NIC_ACCEPT_MULTICAST);
    spec.to = group;
    put_frame(&f, &spec);
    nic_wait(&nic, 0);
    rig_write(rig, nic.bar + NIC_ACCEPT, 4, NIC_ACCEPT_PROMISCUOUS);
    spec.to = stranger;
    put_frame(&f, &spec);
    nic_wait(&nic, 0);
    rig_write(rig, nic.bar + NIC_ACCEPT, 4, 0);
    for (i = 0; i < 6; i++) {
        rig_write(rig, nic.bar + NIC_MAC, 8, 0x999999999902);
    }
    put_frame(&f, &spec);
    nic_wait(&nic, 0);
    ck_assert_uint_eq(nic_stat(&nic, NIC_STAT_RX_FILTERED), 2);
}
END_TEST

/* Transmission */

static void put_part(unsigned queue, uint64_t at, unsigned length,
                     unsigned flags)
{
    const struct nic_tx_desc desc = {.address = at,
                                     .length = (uint16_t)length,
                                     .flags = (uint16_t)flags};

    nic_put_tx(&nic, queue, &desc);
}

static void expect_frame(const TestFrame *f)
{
    g_autofree uint8_t *bytes = g_malloc0(FRAME_MAX);

    ck_assert_uint_eq(net_get(net, bytes, FRAME_MAX, 20000),
                      MAX(f->size, 60));
    ck_assert_int_eq(memcmp(bytes, f->bytes, MAX(f->size, 60)), 0);
}

static void place_frame(TestFrame *f, const FrameSpec *spec)
{
    frame_make(f, spec);
    memcpy(rig_ram(rig) + NIC_FRAME_AT, f->bytes, f->size);
}

START_TEST(frames_are_sent_in_parts)
{
    uint64_t q = nic_tx(&nic, 2);
    TestFrame f;
    unsigned i;

    nic_start_tx(&nic, 2, 8);
    for (i = 0; i < 20; i++) {
        FrameSpec spec = segment;

        spec.payload = i ? 50 * i : 0;
        spec.tcp_options = 0;
        place_frame(&f, &spec);
        put_part(2, NIC_FRAME_AT, 14, 0);
        put_part(2, NIC_FRAME_AT + 14, 1, 0);
        nic_ring_tx(&nic, 2); /* the frame is not whole */
        put_part(2, NIC_FRAME_AT + 15, f.size - 15,
                 NIC_TX_LAST | NIC_TX_REPORT);
        nic_ring_tx(&nic, 2);
        expect_frame(&f);
        rig_wait_for(rig, NIC_HEAD_AT(2), 4, nic.tx_tail[2]);
        ck_assert_uint_eq(rig_read(rig, q + NIC_Q_DONE, 4), nic.tx_tail[2]);
    }
    ck_assert_uint_eq(rig_read(rig, q + NIC_Q_PACKETS, 8), 20);
    ck_assert_uint_eq(nic_stat(&nic, NIC_STAT_TX_DESCRIPTORS), 60);
    ck_assert_uint_eq(net_get(net, f.bytes, FRAME_MAX, 0), 0);
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
    place_frame(&f, &segment);
    bytes = rig_ram(rig) + NIC_FRAME_AT + f.transport;
    sum = frame_sum(f.bytes + f.network + 12, 8, 6 + f.size - f.transport);
    bytes[16] = (uint8_t)(sum >> 8);
    bytes[17] = (uint8_t)sum;
    desc.length = (uint16_t)f.size;
    desc.csum_start = (uint16_t)f.transport;
    nic_put_tx(&nic, 0, &desc);
    nic_ring_tx(&nic, 0);
    expect_frame(&f);
}
END_TEST

/* Stop */

/* Frames come while a queue stops. From the moment at which RUNNING is 0, the
 * buffers are somebody else's: no byte of them changes. */
START_TEST(a_stopped_queue_writes_nothing)
{
    uint64_t q = nic_rx(&nic, 0);
    uint8_t *buffers = rig_ram(rig) + NIC_HEADER(0, 0);
    const unsigned size = 128 * 0x2000;
    TestFrame f;
    unsigned i, j;

    for (i = 0; i < 20; i++) {
        nic_start(&nic, 0, 128, NIC_RX_CONTROL_SPLIT);
        nic_post(&nic, 0, 127);
        for (j = 0; j < 40; j++) {
            put_frame(&f, &segment);
        }
        rig_write(rig, q + NIC_Q_CONTROL, 4, 0);
        nic_wait_stopped(&nic, q);
        memset(buffers, 0x5a, size);
        for (j = 0; j < 5; j++) {
            put_frame(&f, &segment);
        }
        rig_wait_for(rig, nic.bar + NIC_ERRORS, 4, 0);
        g_usleep(2000);
        for (j = 0; j < size; j++) {
            ck_assert_uint_eq(buffers[j], 0x5a);
        }
        ck_assert_uint_eq(rx_reg(0, NIC_Q_STATUS), 0);
    }
}
END_TEST

/* Errors */

static void expect_error(uint64_t q, unsigned error)
{
    rig_wait_for(rig, q + NIC_Q_ERROR, 4, error);
    nic_wait_stopped(&nic, q);
    ck_assert_uint_eq(rig_read(rig, nic.bar + NIC_EVENT, 4), NIC_EVENT_ERROR);
    rig_write(rig, nic.bar + NIC_EVENT, 4, NIC_EVENT_ERROR);
    ck_assert_uint_eq(rig_read(rig, nic.bar + NIC_EVENT, 4), 0);
}

static const struct {
    struct nic_rx_desc desc;
    unsigned control, error;
} bad_rx[] = {
    {{.header = PLACE, .header_size = 256}, 0, NIC_ERROR_DESCRIPTOR},
    {{.header = PLACE, .header_size = 256, .payload_size = 1, .zero = 1},
     0, NIC_ERROR_DESCRIPTOR},
    {{.header = NOTHING, .header_size = 256, .payload = PLACE,
      .payload_size = 4096},
     0, NIC_ERROR_WRITE},
    {{.header = PLACE, .header_size = 256, .payload = NOTHING,
      .payload_size = 4096},
     NIC_RX_CONTROL_SPLIT, NIC_ERROR_WRITE},
    {{.header = PLACE, .header_size = 256, .payload = UINT64_MAX,
      .payload_size = 4096},
     NIC_RX_CONTROL_SPLIT, NIC_ERROR_WRITE},
    /* The device's own registers */
    {{.header = PLACE, .header_size = 256, .payload = NIC_BAR0 + 0x1000,
      .payload_size = 4096},
     NIC_RX_CONTROL_SPLIT, NIC_ERROR_WRITE},
};

/* The queue stops, the others go on, and it can start again. */
static void expect_bad_rx(unsigned number)
{
    uint64_t q = nic_rx(&nic, 1);
    TestFrame f;

    reset();
    nic_start(&nic, 0, 8, 0);
    nic_post(&nic, 0, 7);
    nic_start(&nic, 1, 8, bad_rx[number].control);
    nic_post(&nic, 1, 1);
    *nic_desc(&nic, 1, 0) = bad_rx[number].desc;
    rig_write(rig, nic.bar + NIC_RULE + NIC_RULE_ACTION, 4,
              1 | NIC_ACTION_VALID | NIC_ACTION_TCP);
    put_frame(&f, &segment);
    expect_error(q, bad_rx[number].error);
    ck_assert_uint_eq(rig_read(rig, nic.bar + NIC_ERRORS, 4), 2);
    ck_assert_uint_eq(rx_reg(1, NIC_Q_CONTROL),
                      NIC_Q_ENABLE | bad_rx[number].control);
    ck_assert_uint_eq(rx_reg(1, NIC_Q_DONE), 0);
    ck_assert_uint_eq(nic_stat(&nic, NIC_STAT_DMA_ERRORS),
                      bad_rx[number].error == NIC_ERROR_WRITE ? 1 : 0);
    /* UDP goes to queue 0. */
    put_frame(&f, &(FrameSpec){.protocol = 17, .payload = 10, .to = mac});
    nic_wait(&nic, 0);
    rig_write(rig, q + NIC_Q_CONTROL, 4, 0);
    nic_start(&nic, 1, 8, 0);
    nic_post(&nic, 1, 1);
    put_frame(&f, &segment);
    nic_wait(&nic, 1);
    ck_assert_uint_eq(rig_read(rig, nic.bar + NIC_ERRORS, 4), 0);
}

START_TEST(bad_receive_descriptors_stop_their_queue)
{
    unsigned i;

    for (i = 0; i < G_N_ELEMENTS(bad_rx); i++) {
        expect_bad_rx(i);
    }
}
END_TEST

START_TEST(bad_rings_are_errors)
{
    uint64_t q = nic_rx(&nic, 0);
    TestFrame f;

    nic_start(&nic, 0, 8, 0);
    rig_write(rig, q + NIC_Q_TAIL, 4, 8);
    expect_error(q, NIC_ERROR_TAIL);
    rig_write(rig, q + NIC_Q_CONTROL, 4, 0);
    /* Descriptors, then completions where nothing is */
    rig_write(rig, q + NIC_Q_BASE, 8, NOTHING);
    rig_write(rig, q + NIC_Q_CONTROL, 4, NIC_Q_ENABLE);
    rig_write(rig, q + NIC_Q_TAIL, 4, 1);
    put_frame(&f, &segment);
    expect_error(q, NIC_ERROR_RING);
    rig_write(rig, q + NIC_Q_CONTROL, 4, 0);
    rig_write(rig, q + NIC_Q_BASE, 8, NIC_RX_RING(0));
    rig_write(rig, q + NIC_RX_COMPLETIONS, 8, NOTHING);
    rig_write(rig, q + NIC_Q_CONTROL, 4, NIC_Q_ENABLE);
    nic_post(&nic, 0, 1);
    put_frame(&f, &segment);
    expect_error(q, NIC_ERROR_WRITE);
}
END_TEST

static const struct {
    struct nic_tx_desc desc;
    unsigned error;
} bad_tx[] = {
    {{.address = PLACE, .length = 0, .flags = NIC_TX_LAST},
     NIC_ERROR_DESCRIPTOR},
    {{.address = PLACE, .length = 60, .flags = NIC_TX_LAST | 8},
     NIC_ERROR_DESCRIPTOR},
    {{.address = PLACE, .length = 13, .flags = NIC_TX_LAST}, NIC_ERROR_LENGTH},
    {{.address = PLACE, .length = 1519, .flags = NIC_TX_LAST},
     NIC_ERROR_LENGTH},
    {{.address = PLACE, .length = 65535}, NIC_ERROR_LENGTH},
    {{.address = PLACE, .length = 60, .flags = NIC_TX_LAST | NIC_TX_CSUM,
      .csum_start = 59},
     NIC_ERROR_LENGTH},
    {{.address = NOTHING, .length = 60, .flags = NIC_TX_LAST}, NIC_ERROR_READ},
    {{.address = NIC_BAR0, .length = 60, .flags = NIC_TX_LAST},
     NIC_ERROR_READ},
};

static void expect_bad_tx(unsigned number)
{
    TestFrame f;

    reset();
    nic_start_tx(&nic, 1, 8);
    nic_start_tx(&nic, 0, 8);
    nic_put_tx(&nic, 1, &bad_tx[number].desc);
    nic_ring_tx(&nic, 1);
    expect_error(nic_tx(&nic, 1), bad_tx[number].error);
    ck_assert_uint_eq(rig_read(rig, nic.bar + NIC_ERRORS, 4), 0x20000);
    place_frame(&f, &segment);
    put_part(0, NIC_FRAME_AT, f.size, NIC_TX_LAST);
    nic_ring_tx(&nic, 0);
    expect_frame(&f);
}

START_TEST(bad_transmit_descriptors_stop_their_queue)
{
    unsigned i;

    for (i = 0; i < G_N_ELEMENTS(bad_tx); i++) {
        expect_bad_tx(i);
    }
}
END_TEST

START_TEST(frames_have_at_most_32_parts)
{
    TestFrame f;
    unsigned i;

    nic_start_tx(&nic, 0, 128);
    place_frame(&f, &segment);
    for (i = 0; i < 32; i++) {
        put_part(0, NIC_FRAME_AT + i, i < 31 ? 1 : f.size - 31,
                 i < 31 ? 0 : NIC_TX_LAST);
    }
    nic_ring_tx(&nic, 0);
    expect_frame(&f);
    for (i = 0; i < 33; i++) {
        put_part(0, NIC_FRAME_AT + i, 1, i < 32 ? 0 : NIC_TX_LAST);
    }
    nic_ring_tx(&nic, 0);
    expect_error(nic_tx(&nic, 0), NIC_ERROR_LENGTH);
}
END_TEST

/* AER: Uncorrectable Error Status, PCIe 5.0 s7.8.4.2: bit 14 Completion
 * Timeout, bit 22 Uncorrectable Internal Error */
START_TEST(failed_dma_is_reported)
{
    const uint64_t status = gpu_ecam(rig, DEVFN) + 0x110 + 4;
    TestFrame f;

    nic_start_tx(&nic, 0, 8);
    put_part(0, NOTHING, 60, NIC_TX_LAST);
    nic_ring_tx(&nic, 0);
    expect_error(nic_tx(&nic, 0), NIC_ERROR_READ);
    ck_assert_uint_eq(rig_read(rig, status, 4), 1u << 14);
    rig_write(rig, status, 4, 1u << 14);
    nic_start(&nic, 0, 8, 0);
    nic_post(&nic, 0, 1);
    nic_desc(&nic, 0, 0)->header = NOTHING;
    put_frame(&f, &segment);
    expect_error(nic_rx(&nic, 0), NIC_ERROR_WRITE);
    ck_assert_uint_eq(rig_read(rig, status, 4), 1u << 22);
    ck_assert_uint_eq(nic_stat(&nic, NIC_STAT_DMA_ERRORS), 2);
}
END_TEST

START_TEST(dma_needs_bus_mastering)
{
    nic_start_tx(&nic, 0, 8);
    rig_pci_write(rig, DEVFN, 0x04, 0x2);
    put_part(0, NIC_FRAME_AT, 60, NIC_TX_LAST);
    nic_ring_tx(&nic, 0);
    expect_error(nic_tx(&nic, 0), NIC_ERROR_RING);
}
END_TEST

/* The read back at the stop fails: the write may be anywhere. */
START_TEST(a_broken_way_is_told)
{
    uint64_t q = nic_rx(&nic, 0);
    TestFrame f;

    nic_start(&nic, 0, 8, 0);
    nic_post(&nic, 0, 7);
    put_frame(&f, &segment);
    nic_wait(&nic, 0);
    rig_pci_write(rig, DEVFN, 0x04, 0x2);
    rig_write(rig, q + NIC_Q_CONTROL, 4, 0);
    nic_wait_stopped(&nic, q);
    ck_assert_uint_eq(rx_reg(0, NIC_Q_STATUS), NIC_Q_UNFLUSHED);
    rig_pci_write(rig, DEVFN, 0x04, 0x6);
    nic_start(&nic, 0, 8, 0);
    ck_assert_uint_eq(rx_reg(0, NIC_Q_STATUS), NIC_Q_RUNNING);
}
END_TEST

/* Interrupts: MSI-X vectors write to the machine's memory here. */

static void set_vectors(void)
{
    unsigned msix = rig_pci_find(rig, DEVFN, 0x11), i;

    rig_pci_write(rig, DEVFN, msix, 1u << 31);
    for (i = 0; i < 33; i++) {
        uint64_t entry = nic.bar + NIC_REGS_SIZE + 16 * i;

        rig_write(rig, entry, 8, PLACE + 4 * i);
        rig_write(rig, entry + 8, 4, 0x100 + i);
        rig_write(rig, entry + 12, 4, 0);
    }
}

static uint32_t take_interrupt(unsigned vector)
{
    uint32_t value = (uint32_t)rig_read(rig, PLACE + 4 * vector, 4);

    rig_write(rig, PLACE + 4 * vector, 4, 0);
    return value;
}

START_TEST(queues_interrupt_once_when_armed)
{
    uint64_t q = nic_rx(&nic, 3);
    TestFrame f;

    set_vectors();
    rig_write(rig, nic.bar + NIC_RULE + NIC_RULE_ACTION, 4,
              3 | NIC_ACTION_VALID | NIC_ACTION_TCP);
    rig_write(rig, q + NIC_Q_VECTOR, 4, 20);
    nic_start(&nic, 3, 8, 0);
    nic_post(&nic, 3, 7);
    put_frame(&f, &segment); /* not armed */
    nic_wait(&nic, 3);
    rig_wait_for(rig, q + NIC_Q_PACKETS, 8, 1);
    ck_assert_uint_eq(take_interrupt(20), 0);
    rig_write(rig, q + NIC_Q_ARM, 4, 0); /* it has seen none: at once */
    ck_assert_uint_eq(take_interrupt(20), 0x114);
    rig_write(rig, q + NIC_Q_ARM, 4, 1); /* all is seen */
    ck_assert_uint_eq(take_interrupt(20), 0);
    put_frame(&f, &segment);
    rig_wait_for(rig, PLACE + 4 * 20, 4, 0x114);
    take_interrupt(20);
    put_frame(&f, &segment); /* only once */
    rig_wait_for(rig, q + NIC_Q_PACKETS, 8, 3);
    ck_assert_uint_eq(take_interrupt(20), 0);
    ck_assert_uint_eq(nic_stat(&nic, NIC_STAT_INTERRUPTS), 2);
    /* An error interrupts by both vectors. */
    rig_write(rig, nic.bar + NIC_EVENT_VECTOR, 4, 32);
    rig_write(rig, q + NIC_Q_TAIL, 4, 8);
    ck_assert_uint_eq(take_interrupt(20), 0x114);
    ck_assert_uint_eq(take_interrupt(32), 0x120);
}
END_TEST

START_TEST(transmit_interrupts_after_a_report)
{
    uint64_t q = nic_tx(&nic, 0);
    TestFrame f;

    set_vectors();
    rig_write(rig, q + NIC_Q_VECTOR, 4, 16);
    nic_start_tx(&nic, 0, 8);
    rig_write(rig, q + NIC_Q_ARM, 4, 0);
    place_frame(&f, &segment);
    put_part(0, NIC_FRAME_AT, f.size, NIC_TX_LAST);
    nic_ring_tx(&nic, 0);
    rig_wait_for(rig, q + NIC_Q_PACKETS, 8, 1);
    ck_assert_uint_eq(take_interrupt(16), 0);
    put_part(0, NIC_FRAME_AT, f.size, NIC_TX_LAST | NIC_TX_REPORT);
    nic_ring_tx(&nic, 0);
    rig_wait_for(rig, PLACE + 4 * 16, 4, 0x110);
    ck_assert_uint_eq(rig_read(rig, NIC_HEAD_AT(0), 4), 2);
}
END_TEST

START_TEST(the_link_goes_down_and_up)
{
    g_autofree char *down = NULL, *up = NULL;

    set_vectors();
    rig_write(rig, nic.bar + NIC_EVENT_VECTOR, 4, 32);
    down = rig_qmp(rig, "{\"execute\": \"set_link\", \"arguments\": {\"name\": "
                        "\"net\", \"up\": false}}");
    rig_wait_for(rig, nic.bar + NIC_EVENT, 4, NIC_EVENT_LINK);
    rig_wait_for(rig, PLACE + 4 * 32, 4, 0x120);
    ck_assert_uint_eq(rig_read(rig, nic.bar + NIC_STATUS, 4), 0);
    rig_write(rig, nic.bar + NIC_EVENT, 4, NIC_EVENT_LINK);
    up = rig_qmp(rig, "{\"execute\": \"set_link\", \"arguments\": {\"name\": "
                      "\"net\", \"up\": true}}");
    rig_wait_for(rig, nic.bar + NIC_EVENT, 4, NIC_EVENT_LINK);
    ck_assert_uint_eq(rig_read(rig, nic.bar + NIC_STATUS, 4), NIC_STATUS_LINK);
}
END_TEST

/* Resets */

START_TEST(reset_stops_all)
{
    unsigned express = rig_pci_find(rig, DEVFN, 0x10);
    uint32_t control;
    TestFrame f;

    nic_start(&nic, 0, 8, 0);
    nic_post(&nic, 0, 7);
    nic_start_tx(&nic, 5, 8);
    put_frame(&f, &segment);
    nic_wait(&nic, 0);
    if (_i) {
        control = rig_pci_read(rig, DEVFN, express + 8);
        rig_pci_write(rig, DEVFN, express + 8,
                      (0xffffu & control) | 1u << 15);
        nic = nic_map(rig, DEVFN, NIC_BAR0);
    } else {
        rig_write(rig, nic.bar + NIC_CONTROL, 4, NIC_CONTROL_RESET);
    }
    ck_assert_uint_eq(rx_reg(0, NIC_Q_STATUS), 0);
    ck_assert_uint_eq(nic_stat(&nic, NIC_STAT_RX_FRAMES), 0);
    memset(rig_ram(rig) + NIC_HEADER(0, 0), 0, 0x10000);
    put_frame(&f, &segment);
    rig_wait_for(rig, nic.bar + NIC_STAT + 8 * NIC_STAT_RX_NO_BUFFER, 8, 1);
    ck_assert_uint_eq(rig_read(rig, NIC_HEADER(0, 1), 8), 0);
    nic_start(&nic, 0, 8, 0);
    nic_post(&nic, 0, 7);
    put_frame(&f, &segment);
    nic_wait(&nic, 0);
}
END_TEST

/* Virtual functions */

#define VF_BAR 0xd0000000ull

static DeviceNic enable_vfs(void)
{
    const uint64_t cap = gpu_ecam(rig, DEVFN) + 0x180;
    DeviceNic vf = nic;

    rig_write(rig, cap + 0x24, 8, VF_BAR);
    rig_write(rig, cap + 0x34, 8, VF_BAR + MIB);
    rig_write(rig, cap + 0x10, 2, 2);
    /* VF Enable, VF Memory Space Enable (PCIe 5.0 s9.3.3.3) */
    rig_write(rig, cap + 0x08, 2, 0x9);
    rig_write(rig, gpu_ecam(rig, DEVFN + 1) + 4, 2, 0x6);
    vf.bar = VF_BAR;
    return vf;
}

START_TEST(virtual_functions_have_an_address_of_their_own)
{
    DeviceNic vf = enable_vfs();
    FrameSpec spec = segment;
    TestFrame f;

    ck_assert_uint_eq(rig_read(rig, vf.bar + NIC_ID, 4), NIC_ID_VALUE);
    ck_assert_uint_eq(rig_read(rig, vf.bar + NIC_STATUS, 4),
                      NIC_STATUS_LINK | NIC_STATUS_VIRTUAL);
    ck_assert_uint_eq(rig_read(rig, vf.bar + NIC_RX_QUEUES, 4), 4);
    ck_assert_uint_eq(rig_read(rig, vf.bar + NIC_VECTORS, 4), 9);
    /* It cannot change its address, nor see all frames. */
    rig_write(rig, vf.bar + NIC_MAC, 8, 0x999999999902);
    ck_assert_uint_eq(rig_read(rig, vf.bar + NIC_MAC, 8), 0x514433221102);
    rig_write(rig, vf.bar + NIC_ACCEPT, 4, 3);
    ck_assert_uint_eq(rig_read(rig, vf.bar + NIC_ACCEPT, 4), 1);
    ck_assert_uint_eq(rig_read(rig, vf.bar + NIC_VF_MAC, 8), 0);
    ck_assert_uint_eq(rig_read(rig, nic_rx(&vf, 4) + NIC_Q_VECTOR, 4), 0);
    nic_start(&vf, 3, 8, NIC_RX_CONTROL_SPLIT);
    nic_post(&vf, 3, 7);
    nic_start(&nic, 0, 8, 0);
    nic_post(&nic, 0, 7);
    rig_write(rig, vf.bar + NIC_RULE + NIC_RULE_ACTION, 4,
              7 | NIC_ACTION_VALID | NIC_ACTION_TCP); /* 7 modulo 4 */
    spec.to = vf_mac;
    put_frame(&f, &spec);
    ck_assert_uint_eq(nic_wait(&vf, 3).payload_length, 1000);
    put_frame(&f, &segment);
    nic_wait(&nic, 0);
    ck_assert_uint_eq(nic_stat(&vf, NIC_STAT_RX_FRAMES), 1);
    ck_assert_uint_eq(nic_stat(&nic, NIC_STAT_RX_FRAMES), 1);
    /* Broadcast is for all. */
    spec.to = NULL;
    put_frame(&f, &spec);
    nic_wait(&vf, 3);
    nic_wait(&nic, 0);
    /* The physical function changes the address. */
    rig_write(rig, nic.bar + NIC_VF_MAC, 8, 0x999999999902);
    ck_assert_uint_eq(rig_read(rig, vf.bar + NIC_MAC, 8), 0x999999999902);
    spec.to = stranger;
    put_frame(&f, &spec);
    nic_wait(&vf, 3);
}
END_TEST

START_TEST(functions_send_to_each_other)
{
    DeviceNic vf = enable_vfs();
    FrameSpec spec = segment;
    struct nic_tx_desc desc = {.address = NIC_FRAME_AT, .flags = NIC_TX_LAST};
    struct nic_rx_done done;
    TestFrame f;

    nic_start(&nic, 0, 8, 0);
    nic_post(&nic, 0, 7);
    nic_start_tx(&vf, 1, 8);
    spec.from = vf_mac;
    place_frame(&f, &spec);
    desc.length = (uint16_t)f.size;
    nic_put_tx(&vf, 1, &desc);
    nic_ring_tx(&vf, 1);
    done = nic_wait(&nic, 0);
    ck_assert_int_eq(memcmp(header_of(&done, 0), f.bytes, 256), 0);
    ck_assert_uint_eq(net_get(net, f.bytes, FRAME_MAX, 100), 0);
    /* To a stranger: to the network alone */
    spec.to = stranger;
    place_frame(&f, &spec);
    nic_put_tx(&vf, 1, &desc);
    nic_ring_tx(&vf, 1);
    expect_frame(&f);
    ck_assert_uint_eq(nic_stat(&nic, NIC_STAT_RX_FRAMES), 1);
    /* With another's address: to nobody */
    spec.from = mac;
    place_frame(&f, &spec);
    nic_put_tx(&vf, 1, &desc);
    nic_ring_tx(&vf, 1);
    rig_wait_for(rig, vf.bar + NIC_STAT + 8 * NIC_STAT_TX_SPOOFED, 8, 1);
    ck_assert_uint_eq(net_get(net, f.bytes, FRAME_MAX, 100), 0);
    /* A function that is gone is no more in the way. */
    rig_write(rig, gpu_ecam(rig, DEVFN) + 0x188, 2, 0);
    put_frame(&f, &segment);
    nic_wait(&nic, 0);
}
END_TEST

static void add_reception(TCase *tcase)
{
    tcase_add_test(tcase, headers_and_payload_are_split);
    tcase_add_test(tcase, large_packets_take_several_buffers);
    tcase_add_test(tcase, rings_go_round);
    tcase_add_test(tcase, wrong_checksums_are_told);
    tcase_add_test(tcase, hash_and_rules_choose_the_queue);
    tcase_add_test(tcase, other_addresses_are_filtered);
}

static void add_errors(TCase *tcase)
{
    tcase_add_test(tcase, bad_receive_descriptors_stop_their_queue);
    tcase_add_test(tcase, bad_rings_are_errors);
    tcase_add_test(tcase, bad_transmit_descriptors_stop_their_queue);
    tcase_add_test(tcase, frames_have_at_most_32_parts);
    tcase_add_test(tcase, failed_dma_is_reported);
    tcase_add_test(tcase, dma_needs_bus_mastering);
    tcase_add_test(tcase, a_broken_way_is_told);
}

static Suite *make_suite(void)
{
    Suite *suite = suite_create("device_nic");
    TCase *tcase = tcase_create("nic");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, registers_have_their_reset_values);
    tcase_add_test(tcase, registers_keep_what_their_mask_allows);
    tcase_add_test(tcase, setup_is_read_only_while_a_queue_runs);
    tcase_add_test(tcase, extended_capabilities_are_there);
    add_reception(tcase);
    tcase_add_test(tcase, frames_are_sent_in_parts);
    tcase_add_test(tcase, checksums_are_put_in);
    tcase_add_test(tcase, a_stopped_queue_writes_nothing);
    add_errors(tcase);
    tcase_add_test(tcase, queues_interrupt_once_when_armed);
    tcase_add_test(tcase, transmit_interrupts_after_a_report);
    tcase_add_test(tcase, the_link_goes_down_and_up);
    tcase_add_loop_test(tcase, reset_stops_all, 0, 2);
    tcase_add_test(tcase, virtual_functions_have_an_address_of_their_own);
    tcase_add_test(tcase, functions_send_to_each_other);
    suite_add_tcase(suite, tcase);
    return suite;
}

int main(void)
{
    return run_suite(make_suite());
}
