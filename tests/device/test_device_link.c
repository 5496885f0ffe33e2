/* SPDX-License-Identifier: MIT */
/*
 * Invariant: the device sends and expects the messages that
 * qemu-dev/wire/farside_wire.h and docs/reference/device.md describe. The test
 * plays the far end, which may be slow or die.
 */
#define _GNU_SOURCE
#include <check.h>
#include <glib.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "device_far_end.h"
#include "switchtec_regs.h"
#include "../suite.h"

#define CTRL0      (RIG_BAR0 + 0x14000)
#define CTRL1      (RIG_BAR0 + 0x16000)
#define DBMSG      (RIG_BAR0 + 0x74000)
#define LINK_EVENT (RIG_BAR0 + 0x136d30)
#define MIB        (1ull << 20)
#define ALL_ONES   0xffffffffull

static uint32_t link_count(void)
{
    return 0xff & (rig_read(rig, LINK_EVENT, 4) >> 5);
}

START_TEST(hello_tells_the_geometry)
{
    struct farside_wire_hello hello;

    memcpy(&hello, rig_peer_receive(peer, FARSIDE_WIRE_HELLO)->body,
           sizeof(hello));
    ck_assert_uint_eq(hello.partition, 0);
    ck_assert_uint_eq(hello.generation, 3);
    ck_assert_uint_eq(hello.link_up, 1);
    ck_assert_uint_eq(hello.requester_id, 0x28);
    ck_assert_uint_eq(hello.lut_entries, 64);
    ck_assert_uint_eq(hello.req_ids, 32);
    ck_assert_uint_eq(hello.bar_size[0], 8 * MIB);
    ck_assert_uint_eq(hello.bar_size[1], 64 * MIB);
}
END_TEST

START_TEST(link_events_count)
{
    uint32_t before = link_count();

    far_end_connect();
    ck_assert_uint_eq(link_count(), before + 1);
    ck_assert_uint_eq(1 & rig_read(rig, LINK_EVENT, 4), 1);
    ck_assert_uint_eq(rig_read(rig, RIG_BAR0 + 0x136c00, 4), 1 << 12);
    rig_peer_free(peer);
    peer = NULL;
    rig_wait_link(rig, 0, false);
    ck_assert_uint_eq(link_count(), before + 2);
    peer = rig_peer_new(rig);
    far_end_connect();
    ck_assert_uint_eq(link_count(), before + 3);
}
END_TEST

START_TEST(own_ram_is_announced)
{
    const RigMessage *m;
    struct farside_wire_ram ram;
    uint8_t *map;

    rig_write(rig, 2 * MIB, 8, 0x1122334455667788ull);
    rig_peer_hello(peer);
    m = rig_peer_receive(peer, FARSIDE_WIRE_RAM);
    memcpy(&ram, m->body, sizeof(ram));
    ck_assert_uint_eq(ram.count, 1);
    ck_assert_uint_eq(m->fd_count, 1);
    ck_assert_uint_eq(ram.region[0].address, 1 * MIB);
    ck_assert_uint_eq(ram.region[0].size, RIG_RAM - 1 * MIB);
    map = mmap(NULL, RIG_RAM, PROT_READ, MAP_SHARED, m->fds[0], 0);
    ck_assert_ptr_ne(map, MAP_FAILED);
    ck_assert_uint_eq(*(uint64_t *)(map + ram.region[0].offset + 1 * MIB),
                      0x1122334455667788ull);
    munmap(map, RIG_RAM);
}
END_TEST

/* Those that unmap something, and those alone */
START_TEST(notices_are_acknowledged)
{
    const struct farside_wire_notice map = {
        .address = 0x4000, .target = 0x8000, .size = 0x1000, .perm = 3};
    const struct farside_wire_notice unmap = {.size = (uint64_t)1 << 39};
    struct farside_wire_noted noted;

    far_end_connect();
    rig_peer_notice(peer, 1, &map);
    rig_peer_notice(peer, 2, &unmap);
    memcpy(&noted, rig_peer_receive(peer, FARSIDE_WIRE_NOTED)->body,
           sizeof(noted));
    ck_assert_uint_eq(noted.number, 2);
}
END_TEST

static void receive_noted(uint32_t number)
{
    struct farside_wire_noted noted;

    memcpy(&noted, rig_peer_receive(peer, FARSIDE_WIRE_NOTED)->body,
           sizeof(noted));
    ck_assert_uint_eq(noted.number, number);
}

/* A guest with 64-bit addresses: none of these ends the connection. */
START_TEST(notices_of_high_addresses_are_taken)
{
    const struct farside_wire_notice notices[] = {
        {.address = 1ull << 48, .target = MIB, .size = 4096, .perm = 3},
        {.address = -4096ull, .target = MIB, .size = 4096, .perm = 3},
        {.address = 4096, .target = 1ull << 53, .size = 4096, .perm = 3},
        {.address = 8192, .target = -4096ull, .size = 4096, .perm = 3},
        {.address = (1ull << 48) - 4096, .size = 8192},
        {.address = 0, .size = 1ull << 63},
        {.address = 1ull << 63, .size = 1ull << 63},
    };
    unsigned i;

    far_end_connect();
    for (i = 0; i < G_N_ELEMENTS(notices); i++) {
        rig_peer_notice(peer, i + 1, &notices[i]);
    }
    for (i = 5; i <= G_N_ELEMENTS(notices); i++) {
        receive_noted(i);
    }
}
END_TEST

/*
 * A bridge is unplugged by its slot, with the function behind it and the state
 * that the check of Requester IDs has of both. Then others take its place.
 */
static void plug(const char *device)
{
    g_autofree char *command = g_strdup_printf(
        "{\"execute\": \"device_add\", \"arguments\": {%s}}", device);
    char *answer = rig_qmp(rig, command);

    ck_assert_msg(strstr(answer, "return"), "%s", answer);
    free(answer);
}

static bool is_plugged(const char *id)
{
    char *answer = rig_qmp(rig, "{\"execute\": \"qom-list\", \"arguments\": "
                                "{\"path\": \"/machine/peripheral\"}}");
    g_autofree char *name = g_strdup_printf("\"%s\"", id);
    bool result = strstr(answer, name);

    free(answer);
    return result;
}

/* The slot's own hot plug, in place of ACPI's, needs no operating system. */
START_TEST(functions_go_with_their_bridge)
{
    static const char *const arguments[] = {
        "-global", "ICH9-LPC.acpi-pci-hotplug-with-bridge-support=off",
        "-device", "pcie-root-port,id=rp,addr=0b.0,chassis=1,slot=1",
        "-device", "pcie-pci-bridge,id=br0,bus=rp",
        "-device", "e1000,bus=br0,addr=01.0",
        NULL};
    unsigned express, i;

    far_end_teardown();
    rig = rig_new_with(NULL, "check-requester=on", arguments);
    express = rig_pci_find(rig, 0x58, 0x10);
    for (i = 1; i < 5; i++) {
        g_autofree char *bridge = g_strdup_printf(
            "'driver': 'pcie-pci-bridge', 'id': 'br%u', 'bus': 'rp'", i);
        g_autofree char *card = g_strdup_printf(
            "'driver': 'e1000', 'bus': 'br%u', 'addr': '01.0'", i);
        g_autofree char *gone = g_strdup_printf("br%u", i - 1);

        ck_assert(is_plugged(gone));
        rig_pci_write(rig, 0x58, express + 0x18, 0x3c0);
        rig_pci_write(rig, 0x58, express + 0x18, 0x7c0);
        ck_assert(!is_plugged(gone));
        plug(bridge);
        plug(card);
        /* A change of the memory map looks at all address spaces. */
        rig_config_write(rig, 0x04, 0x0);
        rig_config_write(rig, 0x04, 0x6);
        ck_assert_uint_eq(rig_read(rig, RIG_BAR0 + 0x2000, 4), 0x8536);
    }
}
END_TEST

#define SPREAD 2048

/*
 * Pages far from each other make the receiver's table large. The time for
 * notices that unmap everything does not depend on that: it is far below a
 * second, or a minute if each notice walks through the whole table.
 */
START_TEST(unmapping_everything_is_quick)
{
    size_t size = sizeof(struct farside_wire_notices) +
                  sizeof(struct farside_wire_notice) * FARSIDE_WIRE_NOTICES_MAX;
    g_autofree struct farside_wire_notices *m = g_malloc0(size);
    gint64 begin;
    unsigned i;

    far_end_connect();
    for (i = 0; i < SPREAD; i++) {
        struct farside_wire_notice *n = &m->notice[i % 128];

        *n = (struct farside_wire_notice){
            .address = (uint64_t)i << 37, .size = 4096, .perm = 3};
        if (i % 128 == 127) {
            m->number++;
            m->count = 128;
            rig_peer_send(peer, FARSIDE_WIRE_NOTICES, m, size);
        }
    }
    for (i = 0; i < 128; i++) {
        m->notice[i] = (struct farside_wire_notice){.size = 1ull << 48};
    }
    begin = g_get_monotonic_time();
    for (i = 0; i < 4; i++) {
        m->number++;
        rig_peer_send(peer, FARSIDE_WIRE_NOTICES, m, size);
        receive_noted(m->number);
    }
    ck_assert_int_lt(g_get_monotonic_time() - begin, 10 * G_USEC_PER_SEC);
}
END_TEST

START_TEST(doorbells_cross_both_ways)
{
    struct farside_wire_doorbell bell;

    far_end_connect();
    rig_write(rig, DBMSG + 0x1008, 8, 0x0fffffff00000000ull);
    rig_write(rig, DBMSG + 0x1000, 8, 0xf000000500000007ull);
    memcpy(&bell, rig_peer_receive(peer, FARSIDE_WIRE_DOORBELL)->body,
           sizeof(bell));
    ck_assert_uint_eq(bell.bits, 0x0000000500000000ull);

    bell.bits = 0x8000000000000005ull;
    rig_peer_send(peer, FARSIDE_WIRE_DOORBELL, &bell, sizeof(bell));
    rig_wait_for(rig, DBMSG + 0x1010, 8, 0x8000000000000005ull);
    rig_write(rig, DBMSG + 0x1010, 8, 4);
    ck_assert_uint_eq(rig_read(rig, DBMSG + 0x1010, 8), 0x8000000000000001ull);
}
END_TEST

START_TEST(messages_follow_the_map)
{
    struct farside_wire_message m = {.index = 0, .value = 0xcafe};

    far_end_connect();
    /* Before the map is written, no message is taken. */
    rig_peer_send(peer, FARSIDE_WIRE_MESSAGE, &m, sizeof(m));
    /* Message 2 of partition 1 into register 0, the others into theirs. */
    rig_write(rig, DBMSG + 0x1060, 4, 2 | 4 | (1 | 4) << 8 | (2 | 4) << 16);
    m.index = 2;
    m.value = 0x12345678;
    rig_peer_send(peer, FARSIDE_WIRE_MESSAGE, &m, sizeof(m));
    rig_wait_for(rig, DBMSG + 0x1098, 8, 0x0001000112345678ull);
    ck_assert_uint_eq(rig_read(rig, DBMSG + 0x1088, 8), 0x0001000112345678ull);
    ck_assert_uint_eq(rig_read(rig, DBMSG + 0x1090, 8), 0);
    rig_write(rig, DBMSG + 0x108c, 1, 1);
    ck_assert_uint_eq(rig_read(rig, DBMSG + 0x108c, 4), 0x00010000);

    rig_write(rig, DBMSG + 0x1070, 4, 0xbeef);
    memcpy(&m, rig_peer_receive(peer, FARSIDE_WIRE_MESSAGE)->body, sizeof(m));
    ck_assert_uint_eq(m.index, 1);
    ck_assert_uint_eq(m.value, 0xbeef);
}
END_TEST

/* Linux's driver says once that its partition was reset, link or not. */
START_TEST(a_message_needs_no_link)
{
    struct farside_wire_link state = {.up = 0};
    struct farside_wire_doorbell bell = {.bits = 1};
    struct farside_wire_message m = {.index = 0, .value = 4};

    far_end_connect();
    rig_write(rig, DBMSG + 0x1060, 4, 4);
    rig_peer_send(peer, FARSIDE_WIRE_LINK, &state, sizeof(state));
    rig_wait_link(rig, 0, false);
    rig_peer_send(peer, FARSIDE_WIRE_DOORBELL, &bell, sizeof(bell));
    rig_peer_send(peer, FARSIDE_WIRE_MESSAGE, &m, sizeof(m));
    rig_wait_for(rig, DBMSG + 0x1088, 8, 0x0001000100000004ull);
    ck_assert_uint_eq(rig_read(rig, DBMSG + 0x1010, 8), 0);

    rig_write(rig, DBMSG + 0x1068, 4, 5);
    memcpy(&m, rig_peer_receive(peer, FARSIDE_WIRE_MESSAGE)->body, sizeof(m));
    ck_assert_uint_eq(m.index, 0);
    ck_assert_uint_eq(m.value, 5);
}
END_TEST

START_TEST(window_is_the_memory_of_the_peer)
{
    uint8_t *ram;
    unsigned i;

    far_end_connect();
    ram = rig_peer_give_ram(peer, 16 * MIB, 4 * MIB, true);
    rig_peer_set_lut(peer, 3, 1 | 0 << 1 | (17 * MIB));
    /* The entry names the partition that it leads to. */
    ck_assert_uint_eq(rig_read(rig, RIG_BAR2 + 3 * 0x10000, 4), ALL_ONES);
    rig_peer_set_lut(peer, 3, 1 | 1 << 1 | (17 * MIB));
    memset(ram, 0x5a, 4 * MIB);
    ck_assert_uint_eq(rig_read(rig, RIG_BAR2 + 3 * 0x10000, 8),
                      0x5a5a5a5a5a5a5a5aull);
    for (i = 0; i < 0x10000; i += 0x1008) {
        rig_write(rig, RIG_BAR2 + 3 * 0x10000 + i, 8, i | 1ull << 40);
        ck_assert_uint_eq(*(uint64_t *)(ram + MIB + i), i | 1ull << 40);
    }
    /* The entries beside it are closed. */
    ck_assert_uint_eq(rig_read(rig, RIG_BAR2 + 2 * 0x10000 + 0xfffc, 4),
                      ALL_ONES);
    ck_assert_uint_eq(rig_read(rig, RIG_BAR2 + 4 * 0x10000, 4), ALL_ONES);
    /* Remapped. */
    rig_peer_set_lut(peer, 3, 1 | 1 << 1 | (18 * MIB));
    ck_assert_uint_eq(rig_read(rig, RIG_BAR2 + 3 * 0x10000, 4), 0x5a5a5a5a);
    rig_write(rig, RIG_BAR2 + 3 * 0x10000, 4, 0x77);
    ck_assert_uint_eq(*(uint32_t *)(ram + 2 * MIB), 0x77);
}
END_TEST

START_TEST(direct_window_has_its_size)
{
    uint8_t *ram;

    far_end_connect();
    ram = rig_peer_give_ram(peer, 0, 8 * MIB, true);
    *(uint32_t *)(ram + 4 * MIB) = 0xaaaa;
    *(uint32_t *)(ram + 6 * MIB - 4) = 0xbbbb;
    /* This host sets up its own window; usually the far host does. */
    rig_part_op(rig, 0, SWITCHTEC_OP_LOCK, SWITCHTEC_STATUS_LOCKED);
    rig_write(rig, CTRL0 + 0x80, 4, 0x10);
    rig_write(rig, CTRL0 + 0x84, 4, 21 | 0x200000);
    rig_write(rig, CTRL0 + 0x88, 8, 1 | 4 * MIB);
    ck_assert_uint_eq(rig_read(rig, RIG_BAR4, 4), ALL_ONES);
    rig_part_op(rig, 0, SWITCHTEC_OP_CFG, SWITCHTEC_STATUS_NORMAL);
    ck_assert_uint_eq(rig_read(rig, RIG_BAR4, 4), 0xaaaa);
    ck_assert_uint_eq(rig_read(rig, RIG_BAR4 + 2 * MIB - 4, 4), 0xbbbb);
    ck_assert_uint_eq(rig_read(rig, RIG_BAR4 + 2 * MIB, 4), ALL_ONES);
}
END_TEST

START_TEST(windows_close_with_the_link)
{
    struct farside_wire_link state = {.up = 0};
    uint8_t *ram;

    far_end_connect();
    ram = rig_peer_give_ram(peer, 0, 4 * MIB, true);
    ram[MIB] = 1;
    rig_peer_set_lut(peer, 0, 1 | 1 << 1 | MIB);
    ck_assert_uint_eq(rig_read(rig, RIG_BAR2, 1), 1);
    rig_peer_send(peer, FARSIDE_WIRE_LINK, &state, sizeof(state));
    rig_wait_link(rig, 0, false);
    ck_assert_uint_eq(rig_read(rig, RIG_BAR2, 1), 0xff);
    rig_write(rig, RIG_BAR2, 1, 7);
    ck_assert_uint_eq(ram[MIB], 1);
    state.up = 1;
    rig_peer_send(peer, FARSIDE_WIRE_LINK, &state, sizeof(state));
    rig_wait_for(rig, RIG_BAR2, 1, 1);
    /* No window leads to a partition that was reset. */
    rig_peer_send(peer, FARSIDE_WIRE_RESET, NULL, 0);
    rig_wait_for(rig, RIG_BAR2, 1, 0xff);
    ck_assert_uint_eq(rig_read(rig, CTRL0 + 0x1000, 8), 0);
    /* A window that was set up again is closed when the far process dies. */
    rig_peer_set_lut(peer, 0, 1 | 1 << 1 | MIB);
    ck_assert_uint_eq(rig_read(rig, RIG_BAR2, 1), 1);
    rig_peer_free(peer);
    peer = NULL;
    rig_wait_for(rig, RIG_BAR2, 1, 0xff);
    peer = rig_peer_new(rig);
    far_end_connect();
    ck_assert_uint_eq(rig_read(rig, RIG_BAR2, 1), 0xff);
}
END_TEST

START_TEST(other_windows_are_forwarded)
{
    struct farside_wire_read read;
    struct farside_wire_write write;
    const RigMessage *m;
    struct {
        struct farside_wire_completion head;
        uint8_t data[8];
    } c = {.head = {.length = 4}, .data = {1, 2, 3, 4}};

    far_end_connect();
    rig_peer_set_lut(peer, 0, 1 | 1 << 1 | 0xfee00000);
    rig_write(rig, RIG_BAR2 + 0x1004, 4, 0x4321);
    m = rig_peer_receive(peer, FARSIDE_WIRE_WRITE);
    memcpy(&write, m->body, sizeof(write));
    ck_assert_uint_eq(write.address, 0xfee01004);
    ck_assert_uint_eq(write.length, 4);
    ck_assert_uint_eq(write.requester_id, 0x28);
    ck_assert_uint_eq(*(uint32_t *)(m->body + sizeof(write)), 0x4321);

    rig_read_begin(rig, RIG_BAR2 + 8, 4);
    memcpy(&read, rig_peer_receive(peer, FARSIDE_WIRE_READ)->body,
           sizeof(read));
    ck_assert_uint_eq(read.address, 0xfee00008);
    ck_assert_uint_eq(read.length, 4);
    c.head.tag = read.tag;
    rig_peer_send(peer, FARSIDE_WIRE_COMPLETION, &c, sizeof(c.head) + 4);
    ck_assert_uint_eq(rig_read_end(rig), 0x04030201);

    /* Unsupported */
    rig_read_begin(rig, RIG_BAR2, 8);
    memcpy(&read, rig_peer_receive(peer, FARSIDE_WIRE_READ)->body,
           sizeof(read));
    c.head = (struct farside_wire_completion){.tag = read.tag,
                                              .status = FARSIDE_WIRE_UR};
    rig_peer_send(peer, FARSIDE_WIRE_COMPLETION, &c, sizeof(c.head));
    ck_assert_uint_eq(rig_read_end(rig), UINT64_MAX);
}
END_TEST

START_TEST(read_without_answer_is_all_ones)
{
    gint64 start;

    far_end_connect();
    rig_peer_set_lut(peer, 0, 1 | 1 << 1 | 0xf0000000);
    start = g_get_monotonic_time();
    ck_assert_uint_eq(rig_read(rig, RIG_BAR2, 4), ALL_ONES);
    ck_assert_int_ge(g_get_monotonic_time() - start, 300000);
    /* The death of the peer during a read is noticed at once. */
    rig_read_begin(rig, RIG_BAR2, 4);
    rig_peer_free(peer);
    peer = NULL;
    ck_assert_uint_eq(rig_read_end(rig), ALL_ONES);
}
END_TEST

/* Seconds are too many nanoseconds for 32 bits: 4300 ms would become 5 ms. */
START_TEST(long_time_outs_are_not_cut)
{
    struct farside_wire_read read;
    struct {
        struct farside_wire_completion head;
        uint8_t data[8];
    } c = {.head = {.length = 4}, .data = {1, 2, 3, 4}};

    far_end_teardown();
    rig = rig_new("completion-timeout=4300");
    peer = rig_peer_new(rig);
    far_end_connect();
    rig_peer_set_lut(peer, 0, 1 | 1 << 1 | 0xf0000000);
    rig_read_begin(rig, RIG_BAR2, 4);
    memcpy(&read, rig_peer_receive(peer, FARSIDE_WIRE_READ)->body,
           sizeof(read));
    g_usleep(100 * 1000);
    c.head.tag = read.tag;
    rig_peer_send(peer, FARSIDE_WIRE_COMPLETION, &c, sizeof(c.head) + 4);
    ck_assert_uint_eq(rig_read_end(rig), 0x04030201);
}
END_TEST

/* Two ends that read from each other are both served while they wait. */
START_TEST(waiting_serves_the_peer)
{
    struct farside_wire_read read, own = {.address = 2 * MIB, .length = 8};
    struct farside_wire_doorbell bell = {.bits = 0x10};
    struct {
        struct farside_wire_completion head;
        uint8_t data[8];
    } c = {.head = {.length = 1}, .data = {9}};
    const RigMessage *m;

    far_end_connect();
    rig_write(rig, 2 * MIB, 8, 0x1234);
    rig_peer_set_lut(peer, 0, 1 | 1 << 1 | 0xf0000000);
    rig_read_begin(rig, RIG_BAR2, 1);
    memcpy(&read, rig_peer_receive(peer, FARSIDE_WIRE_READ)->body,
           sizeof(read));
    /* Its memory, its registers, and a doorbell. */
    rig_peer_send(peer, FARSIDE_WIRE_READ, &own, sizeof(own));
    m = rig_peer_receive(peer, FARSIDE_WIRE_COMPLETION);
    ck_assert_uint_eq(
        *(uint64_t *)(m->body + sizeof(struct farside_wire_completion)),
        0x1234);
    own.address = RIG_BAR0 + 0x2000;
    own.length = 4;
    own.tag = 7;
    rig_peer_send(peer, FARSIDE_WIRE_DOORBELL, &bell, sizeof(bell));
    rig_peer_send(peer, FARSIDE_WIRE_READ, &own, sizeof(own));
    m = rig_peer_receive(peer, FARSIDE_WIRE_COMPLETION);
    ck_assert_uint_eq(
        *(uint32_t *)(m->body + sizeof(struct farside_wire_completion)),
        0x8536);
    c.head.tag = read.tag;
    rig_peer_send(peer, FARSIDE_WIRE_COMPLETION, &c, sizeof(c.head) + 1);
    ck_assert_uint_eq(rig_read_end(rig), 9);
    ck_assert_uint_eq(rig_read(rig, DBMSG + 0x1010, 8), 0x10);
}
END_TEST

START_TEST(requests_need_bus_mastering)
{
    struct farside_wire_read read = {.address = 2 * MIB, .length = 4};
    struct farside_wire_completion c;

    far_end_connect();
    rig_config_write(rig, 0x04, 0x2);
    rig_peer_send(peer, FARSIDE_WIRE_READ, &read, sizeof(read));
    memcpy(&c, rig_peer_receive(peer, FARSIDE_WIRE_COMPLETION)->body,
           sizeof(c));
    ck_assert_uint_eq(c.status, FARSIDE_WIRE_UR);
    ck_assert_uint_eq(c.length, 0);
}
END_TEST

/* The far end reads, and gets this status. */
static void check_far_read(uint64_t address, unsigned size, unsigned hops,
                           unsigned status)
{
    static uint16_t tag;
    struct farside_wire_read read = {
        .address = address, .length = size, .hops = hops, .tag = ++tag};
    struct farside_wire_completion c;

    rig_peer_send(peer, FARSIDE_WIRE_READ, &read, sizeof(read));
    memcpy(&c, rig_peer_receive(peer, FARSIDE_WIRE_COMPLETION)->body,
           sizeof(c));
    ck_assert_uint_eq(c.tag, tag);
    ck_assert_msg(c.status == status,
                  "read of %u bytes at 0x%" G_GINT64_MODIFIER
                  "x after %u links: status %u, not %u",
                  size, address, hops, c.status, status);
    ck_assert_uint_eq(c.length, status == FARSIDE_WIRE_SC ? size : 0);
}

/* Returns when the device has done the write, or dropped it. */
static void far_write(uint64_t address, uint64_t value, unsigned hops)
{
    struct {
        struct farside_wire_write head;
        uint64_t data;
    } write = {.head = {.address = address, .length = 8, .hops = hops},
               .data = value};

    rig_peer_send(peer, FARSIDE_WIRE_WRITE, &write, sizeof(write));
    check_far_read(0, 0, 0, FARSIDE_WIRE_SC);
}

START_TEST(requests_need_a_window)
{
    const uint64_t targets[] = {RIG_BAR0 + 0x60000, RIG_BAR0};

    far_end_connect();
    /* BAR 4 leads to the memory, and nothing leads to registers. */
    rig_peer_open(peer, NULL, 0);
    check_far_read(2 * MIB, 8, 0, FARSIDE_WIRE_SC);
    ck_assert_uint_eq(rig_refused(rig), 0);
    check_far_read(RIG_BAR0 + 0x2000, 4, 0, FARSIDE_WIRE_UR);
    check_far_read(RIG_RAM - 4, 8, 0, FARSIDE_WIRE_UR);
    check_far_read(UINT64_MAX - 3, 8, 0, FARSIDE_WIRE_UR);
    far_write(DBMSG + 0x1008, 0x55, 0);
    ck_assert_uint_eq(rig_read(rig, DBMSG + 0x1008, 8), 0);
    ck_assert_uint_eq(rig_refused(rig), 4);
    /* Two windows of 4 MiB, aligned to their size */
    rig_peer_open(peer, targets, 2);
    check_far_read(RIG_BAR0 + 0x2000, 4, 0, FARSIDE_WIRE_SC);
    far_write(DBMSG + 0x1008, 0x55, 0);
    ck_assert_uint_eq(rig_read(rig, DBMSG + 0x1008, 8), 0x55);
    check_far_read(RIG_BAR0 + 4 * MIB - 4, 8, 0, FARSIDE_WIRE_UR);
    ck_assert_uint_eq(rig_refused(rig), 5);
    /* A reset of the far partition closes its windows. */
    rig_peer_send(peer, FARSIDE_WIRE_RESET, NULL, 0);
    check_far_read(2 * MIB, 8, 0, FARSIDE_WIRE_UR);
}
END_TEST

/* The next list of windows that the device sends. Returns their number. */
static unsigned receive_windows(struct farside_wire_window *windows,
                                unsigned max)
{
    const struct farside_wire_windows *m;
    unsigned count = 0;

    do {
        m = (const void *)rig_peer_receive(peer, FARSIDE_WIRE_WINDOWS)->body;
        ck_assert_uint_le(m->count, 500);
        ck_assert_uint_le(count + m->count, max);
        memcpy(windows + count, m->window, m->count * sizeof(*windows));
        count += m->count;
    } while (m->more);
    return count;
}

/*
 * The guest opens all windows that there may be: in both BARs 512 entries of
 * the LUT, of 8 KiB each, and a direct window of 4 KiB behind them. An entry
 * leads to a whole number of its size, and all come in the order of the BARs.
 */
START_TEST(device_tells_all_its_windows)
{
    struct farside_wire_window windows[1026];
    uint64_t block = RIG_BAR0 + SWITCHTEC_NTB_CTRL;
    unsigned bar, i;

    rig_peer_free(peer);
    rig_free(rig);
    rig = rig_new("lut-entries=512");
    peer = rig_peer_new(rig);
    far_end_connect();
    ck_assert_uint_eq(receive_windows(windows, 0), 0);
    rig_part_op(rig, 0, SWITCHTEC_OP_LOCK, SWITCHTEC_STATUS_LOCKED);
    for (bar = 2; bar <= 4; bar += 2) {
        rig_write(rig, block + 0x40 + 0x10 * bar, 4,
                  0x30u | 13u << 8 | 511u << 14);
        rig_write(rig, block + 0x44 + 0x10 * bar, 4, 0x1000 | 12);
        rig_write(rig, block + 0x48 + 0x10 * bar, 8, bar << 20 | 1);
    }
    for (i = 0; i < 512; i++) {
        rig_write(rig, block + SWITCHTEC_CTRL_LUT + 8 * i, 8,
                  (uint64_t)i << 16 | 0x1000 | 1 << 1 | 1);
    }
    rig_part_op(rig, 0, SWITCHTEC_OP_CFG, SWITCHTEC_STATUS_NORMAL);
    ck_assert_uint_eq(receive_windows(windows, 1026), 1026);
    for (bar = 0; bar < 2; bar++) {
        const struct farside_wire_window *w = windows + 513 * bar;

        for (i = 0; i < 512; i++) {
            ck_assert_uint_eq(w[i].address, (uint64_t)i << 16);
            ck_assert_uint_eq(w[i].size, 0x2000);
        }
        ck_assert_uint_eq(w[512].address, (2 + 2 * bar) << 20);
        ck_assert_uint_eq(w[512].size, 0x1000);
    }
}
END_TEST

START_TEST(requests_cross_few_links)
{
    far_end_connect();
    far_write(2 * MIB, 1, FARSIDE_WIRE_HOPS - 1);
    ck_assert_uint_eq(rig_read(rig, 2 * MIB, 8), 1);
    check_far_read(2 * MIB, 8, FARSIDE_WIRE_HOPS - 1, FARSIDE_WIRE_SC);
    far_write(2 * MIB, 2, FARSIDE_WIRE_HOPS);
    ck_assert_uint_eq(rig_read(rig, 2 * MIB, 8), 1);
    check_far_read(2 * MIB, 8, FARSIDE_WIRE_HOPS, FARSIDE_WIRE_UR);
    ck_assert_uint_eq(rig_refused(rig), 2);
}
END_TEST

/* Earlier writes have arrived when a read of 0 bytes is answered. */
START_TEST(read_of_nothing_waits_for_writes)
{
    struct {
        struct farside_wire_write head;
        uint8_t data[8];
    } write = {.head = {.length = 8}};
    struct farside_wire_read flush = {0};
    struct farside_wire_completion c;
    unsigned i;

    far_end_connect();
    for (i = 0; i < 100; i++) {
        write.head.address = 2 * MIB + 8 * i;
        write.data[0] = i;
        rig_peer_send(peer, FARSIDE_WIRE_WRITE, &write, sizeof(write));
    }
    flush.tag = 77;
    rig_peer_send(peer, FARSIDE_WIRE_READ, &flush, sizeof(flush));
    memcpy(&c, rig_peer_receive(peer, FARSIDE_WIRE_COMPLETION)->body,
           sizeof(c));
    ck_assert_uint_eq(c.tag, 77);
    ck_assert_uint_eq(c.status, FARSIDE_WIRE_SC);
    ck_assert_uint_eq(c.length, 0);
    ck_assert_uint_eq(rig_read(rig, 2 * MIB + 8 * 99, 8), 99);
}
END_TEST

START_TEST(one_lock_at_a_time)
{
    struct farside_wire_lock lock = {.id = 1};
    struct farside_wire_ctrl block;

    far_end_connect();
    /* This host locks first: the far host waits for the lock. */
    rig_part_op(rig, 0, SWITCHTEC_OP_LOCK, SWITCHTEC_STATUS_LOCKED);
    rig_peer_send(peer, FARSIDE_WIRE_LOCK, &lock, sizeof(lock));
    rig_write(rig, CTRL0 + 0x400, 4, 0x00280001);
    rig_part_op(rig, 0, SWITCHTEC_OP_CFG, SWITCHTEC_STATUS_NORMAL);
    memcpy(&block, rig_peer_receive(peer, FARSIDE_WIRE_LOCKED)->body,
           sizeof(block));
    ck_assert_uint_eq(block.req_id[0], 0x00280001);
    /* Now the far host has the lock: this host's status is LOCKING. */
    rig_part_op(rig, 0, SWITCHTEC_OP_LOCK, SWITCHTEC_STATUS_LOCKING);
    rig_peer_send(peer, FARSIDE_WIRE_RELEASE, &lock, sizeof(lock));
    rig_wait_for(rig, CTRL0, 4, SWITCHTEC_STATUS_LOCKED);
    /* A host that dies with the lock gives it back. */
    rig_part_op(rig, 0, SWITCHTEC_OP_RESET, SWITCHTEC_STATUS_NORMAL);
    lock.id = 2;
    rig_peer_send(peer, FARSIDE_WIRE_LOCK, &lock, sizeof(lock));
    rig_peer_receive(peer, FARSIDE_WIRE_LOCKED);
    rig_peer_free(peer);
    peer = NULL;
    rig_wait_link(rig, 0, false);
    rig_part_op(rig, 0, SWITCHTEC_OP_LOCK, SWITCHTEC_STATUS_LOCKED);
}
END_TEST

/*
 * Two threads lock the own block. The second goes on after the first one's CFG,
 * and loses nothing.
 */
START_TEST(two_threads_change_one_block)
{
    const uint64_t lut = CTRL0 + SWITCHTEC_CTRL_LUT;

    far_end_connect();
    rig_part_op(rig, 0, SWITCHTEC_OP_LOCK, SWITCHTEC_STATUS_LOCKED);
    rig_part_op(rig, 0, SWITCHTEC_OP_LOCK, SWITCHTEC_STATUS_LOCKED);
    rig_write(rig, CTRL0 + 0x60, 4, RIG_LUT_CTL);
    rig_write(rig, lut, 8, 0x10003);
    rig_part_op(rig, 0, SWITCHTEC_OP_CFG, SWITCHTEC_STATUS_NORMAL);
    rig_write(rig, lut + 8, 8, 0x20003);
    ck_assert_uint_eq(rig_read(rig, lut + 8, 8), 0);
    /* Meanwhile the far host changes an entry. */
    rig_peer_set_lut(peer, 2, 0x30003);
    rig_part_op(rig, 0, SWITCHTEC_OP_CFG, SWITCHTEC_STATUS_NORMAL);
    ck_assert_uint_eq(rig_read(rig, lut, 8), 0x10003);
    ck_assert_uint_eq(rig_read(rig, lut + 8, 8), 0x20003);
    ck_assert_uint_eq(rig_read(rig, lut + 16, 8), 0x30003);
    /* That was all: now a write needs the lock again. */
    rig_write(rig, lut + 8, 8, 0);
    rig_part_op(rig, 0, SWITCHTEC_OP_LOCK, SWITCHTEC_STATUS_LOCKED);
    ck_assert_uint_eq(rig_read(rig, lut + 8, 8), 0x20003);
    rig_part_op(rig, 0, SWITCHTEC_OP_RESET, SWITCHTEC_STATUS_NORMAL);
}
END_TEST

/* The same with the peer's block: the late CFG asks for the lock again. */
START_TEST(two_threads_change_the_peers_block)
{
    const uint64_t lut = CTRL1 + SWITCHTEC_CTRL_LUT;
    struct farside_wire_ctrl block = {0};
    struct farside_wire_configured done = {0};
    struct farside_wire_lock lock;
    unsigned i;

    far_end_connect();
    rig_part_op(rig, 1, SWITCHTEC_OP_LOCK, SWITCHTEC_STATUS_LOCKING);
    for (i = 0; i < 2; i++) {
        memcpy(&lock, rig_peer_receive(peer, FARSIDE_WIRE_LOCK)->body,
               sizeof(lock));
        block.lock_id = lock.id;
        rig_peer_send(peer, FARSIDE_WIRE_LOCKED, &block, sizeof(block));
        if (i == 0) {
            rig_wait_for(rig, CTRL1, 4, SWITCHTEC_STATUS_LOCKED);
            rig_part_op(rig, 1, SWITCHTEC_OP_LOCK, SWITCHTEC_STATUS_LOCKED);
            rig_write(rig, lut, 8, 0x10001);
            rig_part_op(rig, 1, SWITCHTEC_OP_CFG, SWITCHTEC_STATUS_CONFIGURING);
            /* Already here the second thread is late. */
            rig_write(rig, lut + 8, 8, 0x20001);
        }
        memcpy(&block, rig_peer_receive(peer, FARSIDE_WIRE_CONFIG)->body,
               sizeof(block));
        ck_assert_uint_eq(block.lock_id, lock.id);
        ck_assert_uint_eq(block.lut[0], 0x10001);
        ck_assert_uint_eq(block.lut[1], i ? 0x20001 : 0);
        done.lock_id = lock.id;
        rig_peer_send(peer, FARSIDE_WIRE_CONFIGURED, &done, sizeof(done));
        rig_wait_for(rig, CTRL1, 4, SWITCHTEC_STATUS_NORMAL);
        if (i == 0) {
            rig_part_op(rig, 1, SWITCHTEC_OP_CFG, SWITCHTEC_STATUS_CONFIGURING);
        }
    }
}
END_TEST

START_TEST(block_of_the_peer_is_asked_for)
{
    struct farside_wire_lock lock;
    struct farside_wire_ctrl block = {0};
    struct farside_wire_configured done = {0};

    far_end_connect();
    rig_part_op(rig, 1, SWITCHTEC_OP_LOCK, SWITCHTEC_STATUS_LOCKING);
    memcpy(&lock, rig_peer_receive(peer, FARSIDE_WIRE_LOCK)->body,
           sizeof(lock));
    block.lock_id = lock.id;
    block.bar[2].ctl = 1;
    block.lut[9] = 0x90003;
    rig_peer_send(peer, FARSIDE_WIRE_LOCKED, &block, sizeof(block));
    rig_wait_for(rig, CTRL1, 4, SWITCHTEC_STATUS_LOCKED);
    ck_assert_uint_eq(rig_read(rig, CTRL1 + 0x1000 + 8 * 9, 8), 0x90003);
    rig_write(rig, CTRL1 + 0x1000 + 8 * 8, 8, 0x80001);
    rig_part_op(rig, 1, SWITCHTEC_OP_CFG, SWITCHTEC_STATUS_CONFIGURING);
    memcpy(&block, rig_peer_receive(peer, FARSIDE_WIRE_CONFIG)->body,
           sizeof(block));
    ck_assert_uint_eq(block.lock_id, lock.id);
    ck_assert_uint_eq(block.lut[8], 0x80001);
    ck_assert_uint_eq(block.lut[9], 0x90003);
    done.lock_id = lock.id;
    done.lut_error = 9;
    rig_peer_send(peer, FARSIDE_WIRE_CONFIGURED, &done, sizeof(done));
    rig_wait_for(rig, CTRL1, 4, SWITCHTEC_STATUS_LOCKED);
    ck_assert_uint_eq(rig_read(rig, CTRL1 + 0x18, 4), 9);
    rig_part_op(rig, 1, SWITCHTEC_OP_RESET, SWITCHTEC_STATUS_NORMAL);
    rig_peer_receive(peer, FARSIDE_WIRE_RELEASE);
}
END_TEST

/* The far host cannot change which BARs have windows. */
START_TEST(valid_is_read_only_from_afar)
{
    struct farside_wire_lock lock = {.id = 1};
    struct farside_wire_ctrl block;

    far_end_connect();
    rig_peer_send(peer, FARSIDE_WIRE_LOCK, &lock, sizeof(lock));
    memcpy(&block, rig_peer_receive(peer, FARSIDE_WIRE_LOCKED)->body,
           sizeof(block));
    block.bar[0].ctl |= SWITCHTEC_BAR_VALID;
    block.bar[2].ctl &= ~SWITCHTEC_BAR_VALID;
    rig_peer_send(peer, FARSIDE_WIRE_CONFIG, &block, sizeof(block));
    rig_peer_receive(peer, FARSIDE_WIRE_CONFIGURED);
    ck_assert_uint_eq(rig_read(rig, CTRL0 + 0x40, 4), 0);
    ck_assert_uint_eq(rig_read(rig, CTRL0 + 0x60, 4), SWITCHTEC_BAR_VALID);
}
END_TEST

/* A reset clears all that the driver did or had begun. */
START_TEST(reset_leaves_nothing_of_the_peers_block)
{
    struct farside_wire_configured done = {.bar_error = 5};
    struct farside_wire_ctrl block = {0};
    struct farside_wire_lock lock;

    far_end_connect();
    rig_part_op(rig, 1, SWITCHTEC_OP_LOCK, SWITCHTEC_STATUS_LOCKING);
    memcpy(&lock, rig_peer_receive(peer, FARSIDE_WIRE_LOCK)->body,
           sizeof(lock));
    block.lock_id = lock.id;
    block.lut[1] = 0x90000 | 1 << 1 | 1; /* to the peer itself */
    block.lut[2] = 0xa0000 | 0 << 1 | 1; /* here */
    rig_peer_send(peer, FARSIDE_WIRE_LOCKED, &block, sizeof(block));
    rig_wait_for(rig, CTRL1, 4, SWITCHTEC_STATUS_LOCKED);
    rig_part_op(rig, 1, SWITCHTEC_OP_CFG, SWITCHTEC_STATUS_CONFIGURING);
    done.lock_id = lock.id;
    rig_peer_send(peer, FARSIDE_WIRE_CONFIGURED, &done, sizeof(done));
    rig_wait_for(rig, CTRL1, 4, SWITCHTEC_STATUS_LOCKED);
    ck_assert_uint_eq(rig_read(rig, CTRL1 + 0x10, 4), 5);
    rig_reset(rig);
    memcpy(&lock, rig_peer_receive(peer, FARSIDE_WIRE_RELEASE)->body,
           sizeof(lock));
    ck_assert_uint_eq(lock.id, done.lock_id);
    rig_peer_receive(peer, FARSIDE_WIRE_RESET);
    ck_assert_uint_eq(rig_read(rig, CTRL1, 4), SWITCHTEC_STATUS_NORMAL);
    ck_assert_uint_eq(rig_read(rig, CTRL1 + 0x10, 4), 0);
    ck_assert_uint_eq(rig_read(rig, CTRL1 + 0x1008, 8), 0x90003);
    ck_assert_uint_eq(rig_read(rig, CTRL1 + 0x1010, 8), 0);
}
END_TEST

START_TEST(a_broker_hands_over_the_peer)
{
    struct farside_wire_doorbell bell = {.bits = 2};
    DeviceRig *own = rig;
    unsigned i;

    rig_peer_free(peer);
    rig_free(own);
    rig = rig_new("listen=off");
    for (i = 0; i < 2; i++) {
        peer = rig_peer_new_by_broker(rig);
        far_end_connect();
        rig_peer_send(peer, FARSIDE_WIRE_DOORBELL, &bell, sizeof(bell));
        rig_wait_for(rig, DBMSG + 0x1010, 8, 2);
        rig_write(rig, DBMSG + 0x1010, 8, 2);
        /* After the peer's death it asks the broker again. */
        rig_peer_free(peer);
        peer = NULL;
        rig_wait_link(rig, 0, false);
    }
}
END_TEST

static Suite *make_suite(void)
{
    Suite *suite = suite_create("device_link");
    TCase *tcase = tcase_create("link");

    tcase_add_checked_fixture(tcase, far_end_setup, far_end_teardown);
    tcase_add_test(tcase, hello_tells_the_geometry);
    tcase_add_test(tcase, link_events_count);
    tcase_add_test(tcase, own_ram_is_announced);
    tcase_add_test(tcase, notices_are_acknowledged);
    tcase_add_test(tcase, notices_of_high_addresses_are_taken);
    tcase_add_test(tcase, unmapping_everything_is_quick);
    tcase_add_test(tcase, functions_go_with_their_bridge);
    tcase_add_test(tcase, doorbells_cross_both_ways);
    tcase_add_test(tcase, messages_follow_the_map);
    tcase_add_test(tcase, a_message_needs_no_link);
    tcase_add_test(tcase, window_is_the_memory_of_the_peer);
    tcase_add_test(tcase, direct_window_has_its_size);
    tcase_add_test(tcase, windows_close_with_the_link);
    tcase_add_test(tcase, other_windows_are_forwarded);
    tcase_add_test(tcase, long_time_outs_are_not_cut);
    tcase_add_test(tcase, waiting_serves_the_peer);
    tcase_add_test(tcase, requests_need_bus_mastering);
    tcase_add_test(tcase, requests_need_a_window);
    tcase_add_test(tcase, device_tells_all_its_windows);
    tcase_add_test(tcase, requests_cross_few_links);
    tcase_add_test(tcase, read_of_nothing_waits_for_writes);
    tcase_add_test(tcase, one_lock_at_a_time);
    tcase_add_test(tcase, two_threads_change_one_block);
    tcase_add_test(tcase, two_threads_change_the_peers_block);
    tcase_add_test(tcase, block_of_the_peer_is_asked_for);
    tcase_add_test(tcase, valid_is_read_only_from_afar);
    tcase_add_test(tcase, reset_leaves_nothing_of_the_peers_block);
    tcase_add_test(tcase, a_broker_hands_over_the_peer);
    suite_add_tcase(suite, tcase);

    tcase = tcase_create("reads without an answer");
    tcase_add_checked_fixture(tcase, far_end_setup_impatient, far_end_teardown);
    tcase_add_test(tcase, read_without_answer_is_all_ones);
    suite_add_tcase(suite, tcase);

    return suite;
}

int main(void)
{
    return run_suite(make_suite());
}
