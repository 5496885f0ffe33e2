/* SPDX-License-Identifier: MIT */
/*
 * Invariant: what is wrong stops one queue of the NIC, which says why, and no
 * other. Interrupts come as they were asked for. A reset ends all work, and
 * functions of a card get the frames that are theirs. docs/reference/nic.md
 * says all of it.
 */
#include <check.h>
#include <glib.h>
#include <string.h>
#include "device_gpu.h"
#include "device_nic.h"
#include "../suite.h"

#define MIB     (1ull << 20)
#define NOTHING (2560 * MIB) /* an address at which nothing answers */
#define PLACE   0x2000000ull /* of the machine's memory, for anything else */

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

/* Errors */

static void expect_error(uint64_t q, unsigned error)
{
    rig_wait_for(nic.rig, q + NIC_Q_ERROR, 4, error);
    nic_wait_stopped(&nic, q);
    ck_assert_uint_eq(rig_read(nic.rig, nic.bar + NIC_EVENT, 4),
                      NIC_EVENT_ERROR);
    rig_write(nic.rig, nic.bar + NIC_EVENT, 4, NIC_EVENT_ERROR);
    ck_assert_uint_eq(rig_read(nic.rig, nic.bar + NIC_EVENT, 4), 0);
}

static const struct {
    struct nic_rx_desc desc;
    unsigned control, error;
} bad_rx[] = {
    {{.header = PLACE, .header_size = 256}, 0, NIC_ERROR_DESCRIPTOR},
    {{.header = PLACE, .header_size = 256, .payload_size = 1, .zero = 1},
     0,
     NIC_ERROR_DESCRIPTOR},
    {{.header = NOTHING,
      .header_size = 256,
      .payload = PLACE,
      .payload_size = 4096},
     0,
     NIC_ERROR_WRITE},
    {{.header = PLACE,
      .header_size = 256,
      .payload = NOTHING,
      .payload_size = 4096},
     NIC_RX_CONTROL_SPLIT,
     NIC_ERROR_WRITE},
    {{.header = PLACE,
      .header_size = 256,
      .payload = UINT64_MAX,
      .payload_size = 4096},
     NIC_RX_CONTROL_SPLIT,
     NIC_ERROR_WRITE},
    /* The device's own registers */
    {{.header = PLACE,
      .header_size = 256,
      .payload = NIC_BAR0 + 0x1000,
      .payload_size = 4096},
     NIC_RX_CONTROL_SPLIT,
     NIC_ERROR_WRITE},
};

/* The queue stops, the others go on, and it can start again. */
static void expect_bad_rx(unsigned number)
{
    uint64_t q = nic_rx(&nic, 1);
    TestFrame f;

    nic_reset(&nic);
    nic_start(&nic, 0, 8, 0);
    nic_post(&nic, 0, 7);
    nic_start(&nic, 1, 8, bad_rx[number].control);
    nic_post(&nic, 1, 1);
    *nic_desc(&nic, 1, 0) = bad_rx[number].desc;
    rig_write(nic.rig, nic.bar + NIC_RULE + NIC_RULE_ACTION, 4,
              1 | NIC_ACTION_VALID | NIC_ACTION_TCP);
    nic_receive(&nic, &f, &nic_segment);
    expect_error(q, bad_rx[number].error);
    ck_assert_uint_eq(rig_read(nic.rig, nic.bar + NIC_ERRORS, 4), 2);
    ck_assert_uint_eq(rx_register(1, NIC_Q_CONTROL),
                      NIC_Q_ENABLE | bad_rx[number].control);
    ck_assert_uint_eq(rx_register(1, NIC_Q_DONE), 0);
    ck_assert_uint_eq(nic_stat(&nic, NIC_STAT_DMA_ERRORS),
                      bad_rx[number].error == NIC_ERROR_WRITE ? 1 : 0);
    /* UDP goes to queue 0. */
    nic_receive(&nic, &f,
                &(FrameSpec){.protocol = 17, .payload = 10, .to = nic_mac});
    nic_wait(&nic, 0);
    rig_write(nic.rig, q + NIC_Q_CONTROL, 4, 0);
    nic_start(&nic, 1, 8, 0);
    nic_post(&nic, 1, 1);
    nic_receive(&nic, &f, &nic_segment);
    nic_wait(&nic, 1);
    ck_assert_uint_eq(rig_read(nic.rig, nic.bar + NIC_ERRORS, 4), 0);
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
    rig_write(nic.rig, q + NIC_Q_TAIL, 4, 8);
    expect_error(q, NIC_ERROR_TAIL);
    rig_write(nic.rig, q + NIC_Q_CONTROL, 4, 0);
    /* Descriptors, then completions where nothing is */
    rig_write(nic.rig, q + NIC_Q_BASE, 8, NOTHING);
    rig_write(nic.rig, q + NIC_Q_CONTROL, 4, NIC_Q_ENABLE);
    rig_write(nic.rig, q + NIC_Q_TAIL, 4, 1);
    nic_receive(&nic, &f, &nic_segment);
    expect_error(q, NIC_ERROR_RING);
    rig_write(nic.rig, q + NIC_Q_CONTROL, 4, 0);
    rig_write(nic.rig, q + NIC_Q_BASE, 8, NIC_RX_RING(0));
    rig_write(nic.rig, q + NIC_RX_COMPLETIONS, 8, NOTHING);
    rig_write(nic.rig, q + NIC_Q_CONTROL, 4, NIC_Q_ENABLE);
    nic_post(&nic, 0, 1);
    nic_receive(&nic, &f, &nic_segment);
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
    {{.address = PLACE,
      .length = 60,
      .flags = NIC_TX_LAST | NIC_TX_CSUM,
      .csum_start = 59},
     NIC_ERROR_LENGTH},
    {{.address = NOTHING, .length = 60, .flags = NIC_TX_LAST}, NIC_ERROR_READ},
    {{.address = NIC_BAR0, .length = 60, .flags = NIC_TX_LAST}, NIC_ERROR_READ},
};

static void expect_bad_tx(unsigned number)
{
    TestFrame f;

    nic_reset(&nic);
    nic_start_tx(&nic, 1, 8);
    nic_start_tx(&nic, 0, 8);
    nic_put_tx(&nic, 1, &bad_tx[number].desc);
    nic_ring_tx(&nic, 1);
    expect_error(nic_tx(&nic, 1), bad_tx[number].error);
    ck_assert_uint_eq(rig_read(nic.rig, nic.bar + NIC_ERRORS, 4), 0x20000);
    nic_place(&nic, &f, &nic_segment);
    nic_put_part(&nic, 0, NIC_FRAME_AT, f.size, NIC_TX_LAST);
    nic_ring_tx(&nic, 0);
    nic_expect(&nic, &f);
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
    nic_place(&nic, &f, &nic_segment);
    for (i = 0; i < 32; i++) {
        nic_put_part(&nic, 0, NIC_FRAME_AT + i, i < 31 ? 1 : f.size - 31,
                     i < 31 ? 0 : NIC_TX_LAST);
    }
    nic_ring_tx(&nic, 0);
    nic_expect(&nic, &f);
    for (i = 0; i < 33; i++) {
        nic_put_part(&nic, 0, NIC_FRAME_AT + i, 1, i < 32 ? 0 : NIC_TX_LAST);
    }
    nic_ring_tx(&nic, 0);
    expect_error(nic_tx(&nic, 0), NIC_ERROR_LENGTH);
}
END_TEST

/* AER: Uncorrectable Error Status, PCIe 5.0 s7.8.4.2: bit 14 Completion
 * Timeout, bit 22 Uncorrectable Internal Error */
START_TEST(failed_dma_is_reported)
{
    const uint64_t status = gpu_ecam(nic.rig, NIC_DEVFN) + 0x110 + 4;
    TestFrame f;

    nic_start_tx(&nic, 0, 8);
    nic_put_part(&nic, 0, NOTHING, 60, NIC_TX_LAST);
    nic_ring_tx(&nic, 0);
    expect_error(nic_tx(&nic, 0), NIC_ERROR_READ);
    ck_assert_uint_eq(rig_read(nic.rig, status, 4), 1u << 14);
    rig_write(nic.rig, status, 4, 1u << 14);
    nic_start(&nic, 0, 8, 0);
    nic_post(&nic, 0, 1);
    nic_desc(&nic, 0, 0)->header = NOTHING;
    nic_receive(&nic, &f, &nic_segment);
    expect_error(nic_rx(&nic, 0), NIC_ERROR_WRITE);
    ck_assert_uint_eq(rig_read(nic.rig, status, 4), 1u << 22);
    ck_assert_uint_eq(nic_stat(&nic, NIC_STAT_DMA_ERRORS), 2);
}
END_TEST

START_TEST(dma_needs_bus_mastering)
{
    nic_start_tx(&nic, 0, 8);
    rig_pci_write(nic.rig, NIC_DEVFN, 0x04, 0x2);
    nic_put_part(&nic, 0, NIC_FRAME_AT, 60, NIC_TX_LAST);
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
    nic_receive(&nic, &f, &nic_segment);
    nic_wait(&nic, 0);
    rig_pci_write(nic.rig, NIC_DEVFN, 0x04, 0x2);
    rig_write(nic.rig, q + NIC_Q_CONTROL, 4, 0);
    nic_wait_stopped(&nic, q);
    ck_assert_uint_eq(rx_register(0, NIC_Q_STATUS), NIC_Q_UNFLUSHED);
    rig_pci_write(nic.rig, NIC_DEVFN, 0x04, 0x6);
    nic_start(&nic, 0, 8, 0);
    ck_assert_uint_eq(rx_register(0, NIC_Q_STATUS), NIC_Q_RUNNING);
}
END_TEST

/* Interrupts: MSI-X vectors write to the machine's memory here. */

static void set_vectors(void)
{
    unsigned msix = rig_pci_find(nic.rig, NIC_DEVFN, 0x11), i;

    rig_pci_write(nic.rig, NIC_DEVFN, msix, 1u << 31);
    for (i = 0; i < 33; i++) {
        uint64_t entry = nic.bar + NIC_REGS_SIZE + 16 * i;

        rig_write(nic.rig, entry, 8, PLACE + 4 * i);
        rig_write(nic.rig, entry + 8, 4, 0x100 + i);
        rig_write(nic.rig, entry + 12, 4, 0);
    }
}

static uint32_t take_interrupt(unsigned vector)
{
    uint32_t value = (uint32_t)rig_read(nic.rig, PLACE + 4 * vector, 4);

    rig_write(nic.rig, PLACE + 4 * vector, 4, 0);
    return value;
}

START_TEST(queues_interrupt_once_when_armed)
{
    uint64_t q = nic_rx(&nic, 3);
    TestFrame f;

    set_vectors();
    rig_write(nic.rig, nic.bar + NIC_RULE + NIC_RULE_ACTION, 4,
              3 | NIC_ACTION_VALID | NIC_ACTION_TCP);
    rig_write(nic.rig, q + NIC_Q_VECTOR, 4, 20);
    nic_start(&nic, 3, 8, 0);
    nic_post(&nic, 3, 7);
    nic_receive(&nic, &f, &nic_segment); /* not armed */
    nic_wait(&nic, 3);
    rig_wait_for(nic.rig, q + NIC_Q_PACKETS, 8, 1);
    ck_assert_uint_eq(take_interrupt(20), 0);
    rig_write(nic.rig, q + NIC_Q_ARM, 4, 0); /* it has seen none: at once */
    ck_assert_uint_eq(take_interrupt(20), 0x114);
    rig_write(nic.rig, q + NIC_Q_ARM, 4, 1); /* all is seen */
    ck_assert_uint_eq(take_interrupt(20), 0);
    nic_receive(&nic, &f, &nic_segment);
    rig_wait_for(nic.rig, PLACE + 4 * 20, 4, 0x114);
    take_interrupt(20);
    nic_receive(&nic, &f, &nic_segment); /* only once */
    rig_wait_for(nic.rig, q + NIC_Q_PACKETS, 8, 3);
    ck_assert_uint_eq(take_interrupt(20), 0);
    ck_assert_uint_eq(nic_stat(&nic, NIC_STAT_INTERRUPTS), 2);
    /* An error interrupts by both vectors. */
    rig_write(nic.rig, nic.bar + NIC_EVENT_VECTOR, 4, 32);
    rig_write(nic.rig, q + NIC_Q_TAIL, 4, 8);
    ck_assert_uint_eq(take_interrupt(20), 0x114);
    ck_assert_uint_eq(take_interrupt(32), 0x120);
}
END_TEST

START_TEST(transmit_interrupts_after_a_report)
{
    uint64_t q = nic_tx(&nic, 0);
    TestFrame f;

    set_vectors();
    rig_write(nic.rig, q + NIC_Q_VECTOR, 4, 16);
    nic_start_tx(&nic, 0, 8);
    rig_write(nic.rig, q + NIC_Q_ARM, 4, 0);
    nic_place(&nic, &f, &nic_segment);
    nic_put_part(&nic, 0, NIC_FRAME_AT, f.size, NIC_TX_LAST);
    nic_ring_tx(&nic, 0);
    rig_wait_for(nic.rig, q + NIC_Q_PACKETS, 8, 1);
    ck_assert_uint_eq(take_interrupt(16), 0);
    nic_put_part(&nic, 0, NIC_FRAME_AT, f.size, NIC_TX_LAST | NIC_TX_REPORT);
    nic_ring_tx(&nic, 0);
    rig_wait_for(nic.rig, PLACE + 4 * 16, 4, 0x110);
    ck_assert_uint_eq(rig_read(nic.rig, NIC_HEAD_AT(0), 4), 2);
}
END_TEST

START_TEST(the_link_goes_down_and_up)
{
    g_autofree char *down = NULL, *up = NULL;

    set_vectors();
    rig_write(nic.rig, nic.bar + NIC_EVENT_VECTOR, 4, 32);
    down = rig_qmp(nic.rig,
                   "{\"execute\": \"set_link\", \"arguments\": {\"name\": "
                   "\"net\", \"up\": false}}");
    rig_wait_for(nic.rig, nic.bar + NIC_EVENT, 4, NIC_EVENT_LINK);
    rig_wait_for(nic.rig, PLACE + 4 * 32, 4, 0x120);
    ck_assert_uint_eq(rig_read(nic.rig, nic.bar + NIC_STATUS, 4), 0);
    rig_write(nic.rig, nic.bar + NIC_EVENT, 4, NIC_EVENT_LINK);
    up = rig_qmp(nic.rig,
                 "{\"execute\": \"set_link\", \"arguments\": {\"name\": "
                 "\"net\", \"up\": true}}");
    rig_wait_for(nic.rig, nic.bar + NIC_EVENT, 4, NIC_EVENT_LINK);
    ck_assert_uint_eq(rig_read(nic.rig, nic.bar + NIC_STATUS, 4),
                      NIC_STATUS_LINK);
}
END_TEST

/* Resets */

START_TEST(reset_stops_all)
{
    unsigned express = rig_pci_find(nic.rig, NIC_DEVFN, 0x10);
    uint32_t control;
    TestFrame f;

    nic_start(&nic, 0, 8, 0);
    nic_post(&nic, 0, 7);
    nic_start_tx(&nic, 5, 8);
    nic_receive(&nic, &f, &nic_segment);
    nic_wait(&nic, 0);
    if (_i) {
        control = rig_pci_read(nic.rig, NIC_DEVFN, express + 8);
        rig_pci_write(nic.rig, NIC_DEVFN, express + 8,
                      (0xffffu & control) | 1u << 15);
        nic_map(nic.rig, NIC_DEVFN, NIC_BAR0);
    } else {
        rig_write(nic.rig, nic.bar + NIC_CONTROL, 4, NIC_CONTROL_RESET);
    }
    ck_assert_uint_eq(rx_register(0, NIC_Q_STATUS), 0);
    ck_assert_uint_eq(nic_stat(&nic, NIC_STAT_RX_FRAMES), 0);
    memset(rig_ram(nic.rig) + NIC_HEADER(0, 0), 0, 0x10000);
    nic_receive(&nic, &f, &nic_segment);
    rig_wait_for(nic.rig, nic.bar + NIC_STAT + 8 * NIC_STAT_RX_NO_BUFFER, 8, 1);
    ck_assert_uint_eq(rig_read(nic.rig, NIC_HEADER(0, 1), 8), 0);
    nic_start(&nic, 0, 8, 0);
    nic_post(&nic, 0, 7);
    nic_receive(&nic, &f, &nic_segment);
    nic_wait(&nic, 0);
}
END_TEST

/* Virtual functions */

#define VF_BAR 0xd0000000ull

static DeviceNic enable_vfs(void)
{
    const uint64_t cap = gpu_ecam(nic.rig, NIC_DEVFN) + 0x180;
    DeviceNic vf = nic;

    rig_write(nic.rig, cap + 0x24, 8, VF_BAR);
    rig_write(nic.rig, cap + 0x34, 8, VF_BAR + MIB);
    rig_write(nic.rig, cap + 0x10, 2, 2);
    /* VF Enable, VF Memory Space Enable (PCIe 5.0 s9.3.3.3) */
    rig_write(nic.rig, cap + 0x08, 2, 0x9);
    rig_write(nic.rig, gpu_ecam(nic.rig, NIC_DEVFN + 1) + 4, 2, 0x6);
    vf.bar = VF_BAR;
    return vf;
}

START_TEST(virtual_functions_have_an_address_of_their_own)
{
    DeviceNic vf = enable_vfs();
    FrameSpec spec = nic_segment;
    TestFrame f;

    ck_assert_uint_eq(rig_read(nic.rig, vf.bar + NIC_ID, 4), NIC_ID_VALUE);
    ck_assert_uint_eq(rig_read(nic.rig, vf.bar + NIC_STATUS, 4),
                      NIC_STATUS_LINK | NIC_STATUS_VIRTUAL);
    ck_assert_uint_eq(rig_read(nic.rig, vf.bar + NIC_RX_QUEUES, 4), 4);
    ck_assert_uint_eq(rig_read(nic.rig, vf.bar + NIC_VECTORS, 4), 9);
    /* It cannot change its address, nor see all frames. */
    rig_write(nic.rig, vf.bar + NIC_MAC, 8, 0x999999999902);
    ck_assert_uint_eq(rig_read(nic.rig, vf.bar + NIC_MAC, 8), 0x514433221102);
    rig_write(nic.rig, vf.bar + NIC_ACCEPT, 4, 3);
    ck_assert_uint_eq(rig_read(nic.rig, vf.bar + NIC_ACCEPT, 4), 1);
    ck_assert_uint_eq(rig_read(nic.rig, vf.bar + NIC_VF_MAC, 8), 0);
    ck_assert_uint_eq(rig_read(nic.rig, nic_rx(&vf, 4) + NIC_Q_VECTOR, 4), 0);
    nic_start(&vf, 3, 8, NIC_RX_CONTROL_SPLIT);
    nic_post(&vf, 3, 7);
    nic_start(&nic, 0, 8, 0);
    nic_post(&nic, 0, 7);
    rig_write(nic.rig, vf.bar + NIC_RULE + NIC_RULE_ACTION, 4,
              7 | NIC_ACTION_VALID | NIC_ACTION_TCP); /* 7 modulo 4 */
    spec.to = nic_vf_mac;
    nic_receive(&nic, &f, &spec);
    ck_assert_uint_eq(nic_wait(&vf, 3).payload_length, 1000);
    nic_receive(&nic, &f, &nic_segment);
    nic_wait(&nic, 0);
    ck_assert_uint_eq(nic_stat(&vf, NIC_STAT_RX_FRAMES), 1);
    ck_assert_uint_eq(nic_stat(&nic, NIC_STAT_RX_FRAMES), 1);
    /* Broadcast is for all. */
    spec.to = NULL;
    nic_receive(&nic, &f, &spec);
    nic_wait(&vf, 3);
    nic_wait(&nic, 0);
    /* The physical function changes the address. */
    rig_write(nic.rig, nic.bar + NIC_VF_MAC, 8, 0x999999999902);
    ck_assert_uint_eq(rig_read(nic.rig, vf.bar + NIC_MAC, 8), 0x999999999902);
    spec.to = nic_stranger;
    nic_receive(&nic, &f, &spec);
    nic_wait(&vf, 3);
}
END_TEST

START_TEST(functions_send_to_each_other)
{
    DeviceNic vf = enable_vfs();
    FrameSpec spec = nic_segment;
    struct nic_tx_desc desc = {.address = NIC_FRAME_AT, .flags = NIC_TX_LAST};
    struct nic_rx_done done;
    TestFrame f;

    nic_start(&nic, 0, 8, 0);
    nic_post(&nic, 0, 7);
    nic_start_tx(&vf, 1, 8);
    spec.from = nic_vf_mac;
    nic_place(&nic, &f, &spec);
    desc.length = (uint16_t)f.size;
    nic_put_tx(&vf, 1, &desc);
    nic_ring_tx(&vf, 1);
    done = nic_wait(&nic, 0);
    ck_assert_int_eq(memcmp(nic_header(&nic, 0, done.id), f.bytes, 256), 0);
    ck_assert_uint_eq(net_get(nic.net, f.bytes, FRAME_MAX, 100), 0);
    /* To a stranger: to the network alone */
    spec.to = nic_stranger;
    nic_place(&nic, &f, &spec);
    nic_put_tx(&vf, 1, &desc);
    nic_ring_tx(&vf, 1);
    nic_expect(&nic, &f);
    ck_assert_uint_eq(nic_stat(&nic, NIC_STAT_RX_FRAMES), 1);
    /* With another's address: to nobody */
    spec.from = nic_mac;
    nic_place(&nic, &f, &spec);
    nic_put_tx(&vf, 1, &desc);
    nic_ring_tx(&vf, 1);
    rig_wait_for(nic.rig, vf.bar + NIC_STAT + 8 * NIC_STAT_TX_SPOOFED, 8, 1);
    ck_assert_uint_eq(net_get(nic.net, f.bytes, FRAME_MAX, 100), 0);
    /* A function that is gone is no more in the way. */
    rig_write(nic.rig, gpu_ecam(nic.rig, NIC_DEVFN) + 0x188, 2, 0);
    nic_receive(&nic, &f, &nic_segment);
    nic_wait(&nic, 0);
}
END_TEST

static Suite *make_suite(void)
{
    Suite *suite = suite_create("device_nic_faults");
    TCase *tcase = tcase_create("nic");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, bad_receive_descriptors_stop_their_queue);
    tcase_add_test(tcase, bad_rings_are_errors);
    tcase_add_test(tcase, bad_transmit_descriptors_stop_their_queue);
    tcase_add_test(tcase, frames_have_at_most_32_parts);
    tcase_add_test(tcase, failed_dma_is_reported);
    tcase_add_test(tcase, dma_needs_bus_mastering);
    tcase_add_test(tcase, a_broken_way_is_told);
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
