/* SPDX-License-Identifier: MIT */
/*
 * Invariant: no access of a guest to the NIC, no descriptor and no frame makes
 * QEMU end or hang, and the NIC still works afterwards. Rings and buffers are
 * anywhere: in memory, in the NIC's own registers, in those of the NTB device,
 * in windows of a silent peer, and in configuration space, by which the NIC
 * resets itself in the middle of its work. The test prints its seed;
 * FARSIDE_SEED and FARSIDE_ACCESSES change it, and the number of accesses.
 */
#include <check.h>
#include <glib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "device_gpu.h"
#include "device_nic.h"
#include "../suite.h"

#define MIB    (1ull << 20)
#define BATCH  200
#define VF_BAR 0xd0000000ull

static unsigned number_of(const char *name, unsigned otherwise)
{
    const char *text = g_getenv(name);

    return text ? (unsigned)strtoul(text, NULL, 0) : otherwise;
}

static uint64_t random_address(GRand *random, uint64_t ecam)
{
    const uint64_t bases[] = {
        NIC_RX_RING(0),  NIC_TX_RING(0),    NIC_FRAME_AT,
        NIC_BAR0,        NIC_BAR0 + NIC_RX, NIC_BAR0 + NIC_REGS_SIZE,
        VF_BAR + NIC_TX, RIG_BAR0,          RIG_BAR2,
        RIG_BAR4,        RIG_RAM - 4096,    ecam,
        ecam + 0x80,     ecam + 0x180,      ecam + 4096,
        1ull << 40,      UINT64_MAX - 4095, 0xa0000000,
    };

    if (g_rand_int_range(random, 0, 3)) {
        return NIC_FRAME_AT + g_rand_int_range(random, 0, 0x8000);
    }
    return bases[g_rand_int_range(random, 0, G_N_ELEMENTS(bases))] +
           g_rand_int_range(random, 0, 0x200);
}

static uint16_t random_length(GRand *random)
{
    static const uint16_t sizes[] = {0, 1, 13, 14, 60, 256, 4096, 65535};

    return g_rand_boolean(random)
               ? sizes[g_rand_int_range(random, 0, G_N_ELEMENTS(sizes))]
               : (uint16_t)g_rand_int_range(random, 1, 2000);
}

/* Rings full of descriptors of any kind, most of them nearly right */
static void fill_rings(DeviceRig *rig, GRand *random, uint64_t ecam)
{
    unsigned i, q;

    for (q = 0; q < NIC_QUEUES_MAX; q++) {
        struct nic_rx_desc *rx = (void *)(rig_ram(rig) + NIC_RX_RING(q));
        struct nic_tx_desc *tx = (void *)(rig_ram(rig) + NIC_TX_RING(q));

        for (i = 0; i < 64; i++) {
            rx[i] = (struct nic_rx_desc){
                .header = random_address(random, ecam),
                .payload = random_address(random, ecam),
                .header_size = random_length(random),
                .payload_size = random_length(random),
                .zero = g_rand_int_range(random, 0, 40) ? 0 : 1};
            tx[i] = (struct nic_tx_desc){
                .address = random_address(random, ecam),
                .length = random_length(random),
                .flags = (uint16_t)g_rand_int_range(
                    random, 0, g_rand_int_range(random, 0, 20) ? 8 : 65536),
                .csum_start = random_length(random),
                .csum_offset = random_length(random)};
        }
    }
}

static void start_queues(DeviceNic *nic, GRand *random, uint64_t ecam,
                         unsigned queues)
{
    unsigned q;

    for (q = 0; q < queues; q++) {
        uint64_t rx = nic_rx(nic, q), tx = nic_tx(nic, q);
        bool is_wild = g_rand_int_range(random, 0, 6) == 0;

        rig_write(nic->rig, rx + NIC_Q_CONTROL, 4, 0);
        rig_write(nic->rig, rx + NIC_Q_BASE, 8,
                  is_wild ? random_address(random, ecam) : NIC_RX_RING(q));
        rig_write(nic->rig, rx + NIC_RX_COMPLETIONS, 8,
                  is_wild ? random_address(random, ecam) : NIC_DONE_RING(q));
        rig_write(nic->rig, rx + NIC_Q_ENTRIES, 4, 64);
        rig_write(nic->rig, rx + NIC_Q_CONTROL, 4,
                  NIC_Q_ENABLE | g_rand_int_range(random, 0, 8));
        rig_write(nic->rig, rx + NIC_Q_TAIL, 4,
                  g_rand_int_range(random, 0, 64));
        rig_write(nic->rig, tx + NIC_Q_CONTROL, 4, 0);
        rig_write(nic->rig, tx + NIC_Q_BASE, 8,
                  is_wild ? random_address(random, ecam) : NIC_TX_RING(q));
        rig_write(nic->rig, tx + NIC_TX_WRITEBACK, 8,
                  random_address(random, ecam));
        rig_write(nic->rig, tx + NIC_Q_ENTRIES, 4, 64);
        rig_write(nic->rig, tx + NIC_Q_CONTROL, 4,
                  NIC_Q_ENABLE | g_rand_int_range(random, 0, 4));
        rig_write(nic->rig, tx + NIC_Q_TAIL, 4,
                  g_rand_int_range(random, 0, 64));
    }
    rig_write(nic->rig, nic->bar + NIC_ACCEPT, 4, 3);
    rig_write(nic->rig, nic->bar + NIC_FRAME, 4, NIC_FRAME_MASK);
    rig_write(nic->rig, nic->bar + NIC_RSS, 4, NIC_RSS_ALL);
    for (q = 0; q < NIC_INDIR_ENTRIES; q++) {
        rig_write(nic->rig, nic->bar + NIC_INDIR + 4 * q, 4, q);
    }
}

/* Interrupts go anywhere, too, and rules to any queue. */
static void set_tables(DeviceNic *nic, GRand *random, uint64_t ecam)
{
    unsigned msix = rig_pci_find(nic->rig, NIC_DEVFN, 0x11), i;

    rig_pci_write(nic->rig, NIC_DEVFN, msix, 1u << 31);
    for (i = 0; i < 33; i++) {
        uint64_t entry = nic->bar + NIC_REGS_SIZE + 16 * i;

        rig_write(nic->rig, entry, 8, random_address(random, ecam) & ~3ull);
        rig_write(nic->rig, entry + 8, 4, g_rand_int(random));
        rig_write(nic->rig, entry + 12, 4, 0);
    }
    rig_write(nic->rig, nic->bar + NIC_EVENT_VECTOR, 4, 32);
    for (i = 0; i < 16; i++) {
        rig_write(nic->rig, nic_rx(nic, i) + NIC_Q_VECTOR, 4, i);
        rig_write(nic->rig, nic_tx(nic, i) + NIC_Q_VECTOR, 4, 16 + i);
        rig_write(nic->rig,
                  nic->bar + NIC_RULE + i * NIC_RULE_STRIDE + NIC_RULE_ACTION,
                  4, g_rand_int(random));
    }
}

/* Two commands of qtest */
static void random_access(GString *commands, GRand *random)
{
    static const unsigned offsets[] = {
        NIC_Q_TAIL,    NIC_Q_TAIL, NIC_Q_CONTROL, NIC_Q_ARM,
        NIC_Q_ENTRIES, NIC_Q_BASE, NIC_Q_VECTOR};
    uint64_t bar = g_rand_int_range(random, 0, 4) ? NIC_BAR0 : VF_BAR;
    uint64_t at = bar + (g_rand_boolean(random) ? NIC_RX : NIC_TX) +
                  NIC_QUEUE_STRIDE * g_rand_int_range(random, 0, 16) +
                  offsets[g_rand_int_range(random, 0, G_N_ELEMENTS(offsets))];
    unsigned value = (unsigned)g_rand_int_range(random, 0, 70);

    if (g_rand_int_range(random, 0, 8) == 0) {
        at = bar + (unsigned)g_rand_int_range(random, 0, NIC_REGS_SIZE);
        value = g_rand_int(random);
    }
    g_string_append_printf(commands,
                           "writel 0x%" G_GINT64_MODIFIER
                           "x 0x%x\nreadq 0x%" G_GINT64_MODIFIER "x\n",
                           at, value, at & ~(uint64_t)7);
}

static void send_frames(DeviceNic *nic, GRand *random)
{
    unsigned i, j;
    TestFrame f;

    for (i = 0; i < 6; i++) {
        const FrameSpec spec = {
            .protocol = g_rand_boolean(random) ? 6 : 17,
            .is_ip6 = g_rand_boolean(random),
            .tags = (unsigned)g_rand_int_range(random, 0, 4),
            .tcp_options = 4u * (unsigned)g_rand_int_range(random, 0, 11),
            .source_port = g_rand_int(random) & 0xffff,
            .payload = (unsigned)g_rand_int_range(random, 0, 12000),
        };

        frame_make(&f, &spec);
        if (g_rand_boolean(random)) {
            for (j = 0; j < 3; j++) {
                f.bytes[g_rand_int_range(random, 12, 80)] =
                    (uint8_t)g_rand_int(random);
            }
            f.size = (unsigned)g_rand_int_range(random, 1, (int)f.size + 1);
        }
        net_put(nic->net, f.bytes, f.size);
    }
}

static void place_functions(DeviceNic *nic, uint64_t ecam)
{
    const uint64_t cap = ecam + 0x180;
    DeviceNic placed = nic_map(nic->rig, NIC_DEVFN, NIC_BAR0);

    rig_write(nic->rig, cap + 0x24, 8, VF_BAR);
    rig_write(nic->rig, cap + 0x34, 8, VF_BAR + MIB);
    rig_write(nic->rig, cap + 0x10, 2, 2);
    rig_write(nic->rig, cap + 0x08, 2, 0x9);
    rig_write(nic->rig, ecam + 4096 + 4, 2, 0x6);
    placed.net = nic->net;
    *nic = placed;
}

static void drain_network(DeviceNic *nic)
{
    uint8_t bytes[64];

    while (net_get(nic->net, bytes, sizeof(bytes), 0)) {
    }
}

/* An own reset, or a disabled function, is no hang: it works once more. */
static void expect_works(DeviceNic *nic)
{
    const struct nic_tx_desc desc = {
        .address = NIC_FRAME_AT, .length = 1066, .flags = NIC_TX_LAST};
    TestFrame f;

    rig_write(nic->rig, nic->bar + NIC_CONTROL, 4, NIC_CONTROL_RESET);
    drain_network(nic);
    nic_start(nic, 0, 64, NIC_RX_CONTROL_SPLIT);
    nic_post(nic, 0, 63);
    /* Frames that the network has kept may come before. */
    do {
        nic_receive(nic, &f, &nic_segment);
    } while (nic_wait(nic, 0).payload_length != 1000);
    nic_start_tx(nic, 0, 8);
    nic_place(nic, &f, &nic_segment);
    nic_put_tx(nic, 0, &desc);
    nic_ring_tx(nic, 0);
    nic_expect(nic, &f);
}

START_TEST(any_access_descriptor_and_frame_is_survived)
{
    unsigned seed = number_of("FARSIDE_SEED", 1);
    unsigned accesses = number_of("FARSIDE_ACCESSES", 6000), done, i;
    GRand *random = g_rand_new_with_seed(seed);
    DeviceNic nic = nic_new(), vf;
    uint64_t ecam = gpu_ecam(nic.rig, NIC_DEVFN);
    RigPeer *peer = rig_peer_new(nic.rig);
    GString *commands = g_string_new(NULL);

    printf("# seed %u, %u accesses to the NIC\n", seed, accesses);
    rig_peer_hello(peer); /* and from now on it says nothing */
    for (done = 0; done < accesses; done += BATCH) {
        gpu_ecam(nic.rig, NIC_DEVFN);
        place_functions(&nic, ecam);
        fill_rings(nic.rig, random, ecam);
        vf = nic;
        vf.bar = VF_BAR;
        start_queues(&nic, random, ecam, NIC_QUEUES_MAX);
        start_queues(&vf, random, ecam, NIC_VF_QUEUES);
        set_tables(&nic, random, ecam);
        g_string_truncate(commands, 0);
        for (i = 0; i < BATCH; i++) {
            random_access(commands, random);
        }
        send_frames(&nic, random);
        rig_batch(nic.rig, commands->str, 2 * BATCH);
        drain_network(&nic);
    }
    gpu_ecam(nic.rig, NIC_DEVFN);
    place_functions(&nic, ecam);
    expect_works(&nic);
    g_string_free(commands, TRUE);
    g_rand_free(random);
    rig_peer_free(peer);
    nic_free(&nic);
}
END_TEST

static Suite *make_suite(void)
{
    Suite *suite = suite_create("device_nic_hostile");
    TCase *tcase = tcase_create("hostile");

    tcase_set_timeout(tcase, 240);
    tcase_add_test(tcase, any_access_descriptor_and_frame_is_survived);
    suite_add_tcase(suite, tcase);
    return suite;
}

int main(void)
{
    return run_suite(make_suite());
}
