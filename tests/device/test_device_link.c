/* SPDX-License-Identifier: MIT */
/*
 * Invariant: the device sends and expects the messages that
 * qemu-dev/wire/farside_wire.h and docs/reference/device.md describe. The test
 * plays the far end, which may be slow, die, or send forbidden messages. Then
 * the device closes the connection, lives on, and accepts the next one.
 */
#define _GNU_SOURCE
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include "device_rig.h"
#include "farside_socket.h"
#include "switchtec_regs.h"
#include "../suite.h"

#define CTRL0      (RIG_BAR0 + 0x14000)
#define CTRL1      (RIG_BAR0 + 0x16000)
#define DBMSG      (RIG_BAR0 + 0x74000)
#define LINK_EVENT (RIG_BAR0 + 0x136d30)
#define MIB        (1ull << 20)
#define ALL_ONES   0xffffffffull

/* LUT windows of 64 KiB */
#define LUT_CTL (0x20u | 16u << 8 | 63u << 14)

static DeviceRig *rig;
static RigPeer *peer;

/* Nothing times out, however slow the test is. */
static void setup(void)
{
    rig = rig_new("completion-timeout=60000");
    peer = rig_peer_new(rig);
}

static void setup_impatient(void)
{
    rig = rig_new("completion-timeout=300");
    peer = rig_peer_new(rig);
}

static void teardown(void)
{
    rig_peer_free(peer);
    peer = NULL;
    rig_free(rig);
}

static uint32_t link_count(void)
{
    return 0xff & (rig_read(rig, LINK_EVENT, 4) >> 5);
}

static void connect_up(void)
{
    rig_peer_hello(peer);
    rig_wait_link(rig, 0, true);
}

/* The far host sets a LUT entry of this host, as its driver does. */
static void set_lut_from_far(unsigned entry, uint64_t value)
{
    struct farside_wire_lock lock = {.id = 100 + entry};
    struct farside_wire_ctrl block;
    struct farside_wire_configured done;

    rig_peer_send(peer, FARSIDE_WIRE_LOCK, &lock, sizeof(lock));
    memcpy(&block, rig_peer_receive(peer, FARSIDE_WIRE_LOCKED)->body,
           sizeof(block));
    ck_assert_uint_eq(block.lock_id, lock.id);
    block.bar[2].ctl = (block.bar[2].ctl & 0xff) | LUT_CTL;
    block.lut[entry] = value;
    rig_peer_send(peer, FARSIDE_WIRE_CONFIG, &block, sizeof(block));
    memcpy(&done, rig_peer_receive(peer, FARSIDE_WIRE_CONFIGURED)->body,
           sizeof(done));
    ck_assert_uint_eq(done.lock_id, lock.id);
    ck_assert_uint_eq(done.bar_error | done.lut_error | done.req_id_error, 0);
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

    connect_up();
    ck_assert_uint_eq(link_count(), before + 1);
    ck_assert_uint_eq(1 & rig_read(rig, LINK_EVENT, 4), 1);
    ck_assert_uint_eq(rig_read(rig, RIG_BAR0 + 0x136c00, 4), 1 << 12);
    rig_peer_free(peer);
    peer = NULL;
    rig_wait_link(rig, 0, false);
    ck_assert_uint_eq(link_count(), before + 2);
    peer = rig_peer_new(rig);
    connect_up();
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

/* Starts a machine with an IOMMU. Returns its RAM message. */
static struct farside_wire_ram ram_behind(const char *iommu)
{
    const char *const arguments[] = {"-device", iommu, NULL};
    struct farside_wire_ram ram;

    teardown();
    rig = rig_new_with(NULL, "completion-timeout=60000", arguments);
    peer = rig_peer_new(rig);
    connect_up();
    memcpy(&ram, rig_peer_receive(peer, FARSIDE_WIRE_RAM)->body, sizeof(ram));
    return ram;
}

/* The IOMMU's region has 2^64 bytes, which fit no 64-bit number. */
START_TEST(translated_memory_is_said_to_be)
{
    struct farside_wire_ram ram =
        ram_behind("virtio-iommu-pci,addr=04.0,boot-bypass=off");

    ck_assert_uint_eq(ram.translated, 1);
    ck_assert_uint_ge(ram.count, 1);
}
END_TEST

/* This IOMMU gives no notices, so the peer may map nothing. */
START_TEST(memory_without_notices_is_not_announced)
{
    struct farside_wire_ram ram = ram_behind("amd-iommu");

    ck_assert_uint_eq(ram.translated, 0);
    ck_assert_uint_eq(ram.count, 0);
}
END_TEST

/* Those that unmap something, and those alone */
START_TEST(notices_are_acknowledged)
{
    struct {
        uint32_t number, count; /* struct farside_wire_notices */
        struct farside_wire_notice notice;
    } m = {
        .number = 1,
        .count = 1,
        .notice = {.address = 0x4000, .target = 0x8000, .size = 0x1000},
    };
    struct farside_wire_noted noted;

    connect_up();
    m.notice.perm = 3;
    rig_peer_send(peer, FARSIDE_WIRE_NOTICES, &m, sizeof(m));
    m.number = 2;
    m.notice.perm = 0;
    m.notice.address = 0;
    m.notice.target = 0;
    m.notice.size = (uint64_t)1 << 39;
    rig_peer_send(peer, FARSIDE_WIRE_NOTICES, &m, sizeof(m));
    memcpy(&noted, rig_peer_receive(peer, FARSIDE_WIRE_NOTED)->body,
           sizeof(noted));
    ck_assert_uint_eq(noted.number, 2);
}
END_TEST

START_TEST(doorbells_cross_both_ways)
{
    struct farside_wire_doorbell bell;

    connect_up();
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

    connect_up();
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

START_TEST(window_is_the_memory_of_the_peer)
{
    uint8_t *ram;
    unsigned i;

    connect_up();
    ram = rig_peer_give_ram(peer, 16 * MIB, 4 * MIB, true);
    set_lut_from_far(3, 1 | 0 << 1 | (17 * MIB));
    /* The entry names the partition that it leads to. */
    ck_assert_uint_eq(rig_read(rig, RIG_BAR2 + 3 * 0x10000, 4), ALL_ONES);
    set_lut_from_far(3, 1 | 1 << 1 | (17 * MIB));
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
    set_lut_from_far(3, 1 | 1 << 1 | (18 * MIB));
    ck_assert_uint_eq(rig_read(rig, RIG_BAR2 + 3 * 0x10000, 4), 0x5a5a5a5a);
    rig_write(rig, RIG_BAR2 + 3 * 0x10000, 4, 0x77);
    ck_assert_uint_eq(*(uint32_t *)(ram + 2 * MIB), 0x77);
}
END_TEST

START_TEST(direct_window_has_its_size)
{
    uint8_t *ram;

    connect_up();
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

    connect_up();
    ram = rig_peer_give_ram(peer, 0, 4 * MIB, true);
    ram[MIB] = 1;
    set_lut_from_far(0, 1 | 1 << 1 | MIB);
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
    set_lut_from_far(0, 1 | 1 << 1 | MIB);
    ck_assert_uint_eq(rig_read(rig, RIG_BAR2, 1), 1);
    rig_peer_free(peer);
    peer = NULL;
    rig_wait_for(rig, RIG_BAR2, 1, 0xff);
    peer = rig_peer_new(rig);
    connect_up();
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

    connect_up();
    set_lut_from_far(0, 1 | 1 << 1 | 0xfee00000);
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

    connect_up();
    set_lut_from_far(0, 1 | 1 << 1 | 0xf0000000);
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

    teardown();
    rig = rig_new("completion-timeout=4300");
    peer = rig_peer_new(rig);
    connect_up();
    set_lut_from_far(0, 1 | 1 << 1 | 0xf0000000);
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

    connect_up();
    rig_write(rig, 2 * MIB, 8, 0x1234);
    set_lut_from_far(0, 1 | 1 << 1 | 0xf0000000);
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

    connect_up();
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

    connect_up();
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
    /* Two LUT windows of 4 MiB, aligned by the device */
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

START_TEST(requests_cross_few_links)
{
    connect_up();
    far_write(2 * MIB, 1, FARSIDE_WIRE_HOPS - 1);
    ck_assert_uint_eq(rig_read(rig, 2 * MIB, 8), 1);
    check_far_read(2 * MIB, 8, FARSIDE_WIRE_HOPS - 1, FARSIDE_WIRE_SC);
    far_write(2 * MIB, 2, FARSIDE_WIRE_HOPS);
    ck_assert_uint_eq(rig_read(rig, 2 * MIB, 8), 1);
    check_far_read(2 * MIB, 8, FARSIDE_WIRE_HOPS, FARSIDE_WIRE_UR);
    ck_assert_uint_eq(rig_refused(rig), 2);
}
END_TEST

/* A block that CFG would refuse: LUT windows that are larger than the BAR. */
START_TEST(block_that_cannot_be_ends_the_connection)
{
    struct farside_wire_ctrl block = {0};

    connect_up();
    block.bar[2].ctl = 0x20u | 24u << 8 | 63u << 14;
    rig_peer_send(peer, FARSIDE_WIRE_BLOCK, &block, sizeof(block));
    ck_assert(rig_peer_is_closed(peer));
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

    connect_up();
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

    connect_up();
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

    connect_up();
    rig_part_op(rig, 0, SWITCHTEC_OP_LOCK, SWITCHTEC_STATUS_LOCKED);
    rig_part_op(rig, 0, SWITCHTEC_OP_LOCK, SWITCHTEC_STATUS_LOCKED);
    rig_write(rig, CTRL0 + 0x60, 4, LUT_CTL);
    rig_write(rig, lut, 8, 0x10003);
    rig_part_op(rig, 0, SWITCHTEC_OP_CFG, SWITCHTEC_STATUS_NORMAL);
    rig_write(rig, lut + 8, 8, 0x20003);
    ck_assert_uint_eq(rig_read(rig, lut + 8, 8), 0);
    /* Meanwhile the far host changes an entry. */
    set_lut_from_far(2, 0x30003);
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

    connect_up();
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

    connect_up();
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

    connect_up();
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

    connect_up();
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

START_TEST(memory_that_may_shrink_is_not_mapped)
{
    struct farside_wire_read read;
    uint8_t *ram;

    connect_up();
    ram = rig_peer_give_ram(peer, 0, 4 * MIB, false);
    ram[MIB] = 1;
    set_lut_from_far(0, 1 | 1 << 1 | MIB);
    rig_read_begin(rig, RIG_BAR2, 1);
    memcpy(&read, rig_peer_receive(peer, FARSIDE_WIRE_READ)->body,
           sizeof(read));
    ck_assert_uint_eq(read.address, MIB);
    ck_assert_uint_eq(rig_read_end(rig), 0xff);
}
END_TEST

/* Forbidden messages, one after the other: each ends the connection. */

typedef struct {
    const char *what;
    unsigned type;
    size_t size;
    uint8_t body[sizeof(struct farside_wire_write) + FARSIDE_WIRE_PAYLOAD + 1];
    bool before_hello;
} Bad;

static const Bad bad_messages[] = {
    {.what = "no type", .type = 0},
    {.what = "unknown type", .type = 99},
    {.what = "second hello", .type = FARSIDE_WIRE_HELLO, .size = 32},
    {.what = "short hello",
     .type = FARSIDE_WIRE_HELLO,
     .size = 31,
     .before_hello = true},
    {.what = "doorbell before hello",
     .type = FARSIDE_WIRE_DOORBELL,
     .size = 8,
     .before_hello = true},
    {.what = "short doorbell", .type = FARSIDE_WIRE_DOORBELL, .size = 7},
    {.what = "message 4", .type = FARSIDE_WIRE_MESSAGE, .size = 8, .body = {4}},
    {.what = "reset with a body", .type = FARSIDE_WIRE_RESET, .size = 1},
    {.what = "read of 4097 bytes",
     .type = FARSIDE_WIRE_READ,
     .size = 16,
     .body = {0, 0, 0, 0, 0, 0, 0, 0, 1, 16}},
    {.what = "write without data", .type = FARSIDE_WIRE_WRITE, .size = 16},
    {.what = "write of other length",
     .type = FARSIDE_WIRE_WRITE,
     .size = 20,
     .body = {0, 0, 0, 0, 0, 0, 0, 0, 5}},
    {.what = "write of 4097 bytes",
     .type = FARSIDE_WIRE_WRITE,
     .size = 16 + 4097,
     .body = {0, 0, 0, 0, 0, 0, 0, 0, 1, 16}},
    {.what = "completion of 4097 bytes",
     .type = FARSIDE_WIRE_COMPLETION,
     .size = 8 + 4097,
     .body = {1, 16}},
    {.what = "completion of other length",
     .type = FARSIDE_WIRE_COMPLETION,
     .size = 12,
     .body = {5}},
    {.what = "short lock", .type = FARSIDE_WIRE_LOCK, .size = 4},
    {.what = "short block", .type = FARSIDE_WIRE_CONFIG, .size = 64},
    {.what = "memory without file",
     .type = FARSIDE_WIRE_RAM,
     .size = 64,
     .body = {1}},
    {.what = "peer socket without file", .type = FARSIDE_WIRE_PEER},
    {.what = "notices without a notice",
     .type = FARSIDE_WIRE_NOTICES,
     .size = 8},
    {.what = "two notices in one",
     .type = FARSIDE_WIRE_NOTICES,
     .size = 40,
     .body = {1, 0, 0, 0, 2}},
    {.what = "notice of no bytes",
     .type = FARSIDE_WIRE_NOTICES,
     .size = 40,
     .body = {1, 0, 0, 0, 1}},
    {.what = "notice of half a page",
     .type = FARSIDE_WIRE_NOTICES,
     .size = 40,
     .body = {[0] = 1, [4] = 1, [24] = 0, [25] = 8}},
    {.what = "notice beyond 48 bits",
     .type = FARSIDE_WIRE_NOTICES,
     .size = 40,
     .body = {[0] = 1, [4] = 1, [14] = 1, [25] = 16}},
    {.what = "notice that maps 2 GiB",
     .type = FARSIDE_WIRE_NOTICES,
     .size = 40,
     .body = {[0] = 1, [4] = 1, [27] = 0x80, [32] = 3}},
    {.what = "notice of an access that does not exist",
     .type = FARSIDE_WIRE_NOTICES,
     .size = 40,
     .body = {[0] = 1, [4] = 1, [25] = 16, [32] = 4}},
};

START_TEST(forbidden_message_ends_the_connection)
{
    const Bad *bad = &bad_messages[_i];

    if (!bad->before_hello) {
        connect_up();
    }
    rig_peer_send(peer, bad->type, bad->body, bad->size);
    ck_assert_msg(rig_peer_is_closed(peer), "%s", bad->what);
    rig_peer_free(peer);
    peer = rig_peer_new(rig);
    connect_up();
}
END_TEST

START_TEST(memory_that_cannot_be_ends_the_connection)
{
    static const struct farside_wire_ram bad[] = {
        {.count = 1, .region = {{.address = 1, .size = 4096}}},
        {.count = 1, .region = {{.size = 0}}},
        {.count = 1, .region = {{.size = 4095}}},
        {.count = 1, .region = {{.size = 1ull << 63}}},
        {.count = 1, .region = {{.address = 1ull << 63, .size = 4096}}},
        {.count = 1, .region = {{.size = 4096, .offset = 1ull << 63}}},
        {.count = 9},
        {.count = 2,
         .region = {{.size = 8192}, {.address = 4096, .size = 4096}}},
    };
    uint8_t bytes[sizeof(struct farside_wire_head) + sizeof(bad[0])];
    struct farside_wire_head head = {
        .magic = FARSIDE_WIRE_MAGIC,
        .version = FARSIDE_WIRE_VERSION,
        .type = FARSIDE_WIRE_RAM,
        .length = sizeof(bad[0]),
    };
    int fds[2];
    unsigned i;

    for (i = 0; i < G_N_ELEMENTS(bad); i++) {
        connect_up();
        fds[0] = memfd_create("a", 0);
        fds[1] = memfd_create("b", 0);
        memcpy(bytes, &head, sizeof(head));
        memcpy(bytes + sizeof(head), &bad[i], sizeof(bad[i]));
        rig_peer_send_raw(peer, bytes, sizeof(bytes), fds,
                          MIN(bad[i].count, 2));
        ck_assert_msg(rig_peer_is_closed(peer), "memory %u", i);
        close(fds[0]);
        close(fds[1]);
        rig_peer_free(peer);
        peer = rig_peer_new(rig);
    }
    /* A file that is too short is not mapped; nothing else happens. */
    connect_up();
    fds[0] = memfd_create("short", MFD_ALLOW_SEALING);
    ck_assert_int_eq(fcntl(fds[0], F_ADD_SEALS, F_SEAL_SHRINK), 0);
    head.length = sizeof(bad[0]);
    memcpy(bytes, &head, sizeof(head));
    {
        struct farside_wire_ram ram = {.count = 1,
                                       .region = {{.size = 4 * MIB}}};

        memcpy(bytes + sizeof(head), &ram, sizeof(ram));
    }
    rig_peer_send_raw(peer, bytes, sizeof(bytes), fds, 1);
    close(fds[0]);
    set_lut_from_far(0, 1 | 1 << 1 | MIB);
    ck_assert_uint_eq(rig_read(rig, RIG_BAR2, 1), 0xff);
}
END_TEST

/* The largest address space that QEMU has had, in bytes. */
static uint64_t most_address_space(void)
{
    g_autofree char *path = g_strdup_printf("/proc/%d/status", rig_pid(rig));
    g_autofree char *text = NULL;
    const char *line;

    ck_assert(g_file_get_contents(path, &text, NULL, NULL));
    line = strstr(text, "VmPeak:");
    ck_assert_ptr_nonnull(line);
    return g_ascii_strtoull(line + strlen("VmPeak:"), NULL, 10) << 10;
}

/*
 * A peer that gives memory again and again, faster than QEMU can unmap the old
 * one, meets a limit: each TiB takes 100 MiB of QEMU's own memory.
 */
START_TEST(memory_has_an_end)
{
    struct {
        struct farside_wire_head head;
        struct farside_wire_ram ram;
    } m = {
        .head = {.magic = FARSIDE_WIRE_MAGIC,
                 .version = FARSIDE_WIRE_VERSION,
                 .type = FARSIDE_WIRE_RAM,
                 .length = sizeof(m.ram)},
        .ram = {.count = 1, .region = {{.size = 1ull << 40}}},
    };
    int fd = memfd_create("peer", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    uint64_t before;
    unsigned i;

    connect_up();
    before = most_address_space();
    ck_assert_int_eq(ftruncate(fd, 1ll << 40), 0);
    ck_assert_int_eq(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK), 0);
    for (i = 0; i < 32; i++) {
        rig_peer_send_raw(peer, &m, sizeof(m), &fd, 1);
    }
    /* The device answers this read after it has served them. */
    set_lut_from_far(0, 1 | 1 << 1 | MIB);
    ck_assert_uint_lt(most_address_space(), before + (4ull << 40));
    /* When the old memory is unmapped, the new one is mapped again. */
    m.ram.region[0].size = 4 * MIB;
    for (i = 0; i < 500 && rig_read(rig, RIG_BAR2, 4) != 0; i++) {
        g_usleep(10000);
        rig_peer_send_raw(peer, &m, sizeof(m), &fd, 1);
    }
    ck_assert_uint_lt(i, 500);
    close(fd);
}
END_TEST

static unsigned open_files(void)
{
    g_autofree char *folder = g_strdup_printf("/proc/%d/fd", rig_pid(rig));
    g_autoptr(GDir) dir = g_dir_open(folder, 0, NULL);
    unsigned count = 0;

    ck_assert_ptr_nonnull(dir);
    while (g_dir_read_name(dir)) {
        count++;
    }
    return count;
}

/* Files may come with a message of any kind and size, even an empty one. */
START_TEST(files_that_were_not_asked_for_are_closed)
{
    struct farside_wire_head head = {
        .magic = FARSIDE_WIRE_MAGIC,
        .version = FARSIDE_WIRE_VERSION,
        .type = FARSIDE_WIRE_RESET,
    };
    int fds[] = {0, 1, 2, 0, 1, 2, 0, 1};
    unsigned before, i;

    connect_up();
    before = open_files();
    for (i = 0; i < 8; i++) {
        rig_peer_send_raw(peer, &head, i & 1 ? 0 : sizeof(head), fds, 1 + i);
        ck_assert(rig_peer_is_closed(peer));
        rig_peer_free(peer);
        peer = rig_peer_new(rig);
        connect_up();
    }
    ck_assert_uint_eq(open_files(), before);
}
END_TEST

/* A client that connects and says nothing does not keep a peer out. */
START_TEST(silence_gives_way_to_a_peer)
{
    RigPeer *silent = peer;

    rig_peer_receive(silent, FARSIDE_WIRE_HELLO);
    peer = rig_peer_new(rig);
    connect_up();
    ck_assert(rig_peer_is_closed(silent));
    rig_peer_free(silent);
    /* A peer that said HELLO stays. */
    silent = rig_peer_new(rig);
    ck_assert(rig_peer_is_closed(silent));
    rig_peer_free(silent);
    ck_assert_uint_eq(rig_read(rig, RIG_BAR0 + 0x136074, 4), 0x00830000);
}
END_TEST

/* A receiver gets no more files than it asked for, and no more than exist. */
START_TEST(a_message_has_few_files)
{
    int files[FARSIDE_SOCKET_FILES_MAX + 1], pair[2], i;
    unsigned count;
    bool is_whole;
    char byte = 1;

    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
    for (i = 0; i < 3; i++) {
        files[i] = pair[0];
    }
    ck_assert_int_eq(farside_socket_send(pair[0], &byte, 1, files, 3), 1);
    errno = 0;
    ck_assert_int_eq(farside_socket_receive(pair[1], &byte, 1, files,
                                            FARSIDE_SOCKET_FILES_MAX + 1,
                                            &count, &is_whole),
                     -1);
    ck_assert_int_eq(errno, EINVAL);
    ck_assert_uint_eq(count, 0);
    ck_assert(!is_whole);
    /* The packet is still there. Two of its files fit. */
    files[2] = -1;
    ck_assert_int_eq(
        farside_socket_receive(pair[1], &byte, 1, files, 2, &count, &is_whole),
        1);
    ck_assert_uint_eq(count, 2);
    ck_assert(!is_whole);
    ck_assert_int_eq(files[2], -1);
    close(files[0]);
    close(files[1]);
    close(pair[0]);
    close(pair[1]);
}
END_TEST

/* Random bytes: QEMU must answer afterwards. */
START_TEST(noise_does_no_harm)
{
    GRand *random = g_rand_new_with_seed(4711);
    uint8_t bytes[FARSIDE_WIRE_MAX];
    struct farside_wire_head head = {.magic = FARSIDE_WIRE_MAGIC,
                                     .version = FARSIDE_WIRE_VERSION};
    unsigned i, j, size;

    for (i = 0; i < 400; i++) {
        if (i & 1) {
            rig_peer_hello(peer);
        }
        size = g_rand_int_range(random, 0, i & 2 ? 200 : sizeof(bytes));
        for (j = 0; j < size; j++) {
            bytes[j] = g_rand_int(random);
        }
        if (size > sizeof(head) && i % 5) {
            head.type = g_rand_int_range(random, 0, 22);
            head.length = size - sizeof(head);
            memcpy(bytes, &head, sizeof(head));
        }
        rig_peer_send_raw(peer, bytes, size, NULL, 0);
        rig_peer_free(peer);
        peer = rig_peer_new(rig);
    }
    g_rand_free(random);
    connect_up();
    ck_assert_uint_eq(rig_read(rig, RIG_BAR0 + 0x2000, 4), 0x8536);
}
END_TEST

START_TEST(other_geometry_is_refused)
{
    struct farside_wire_hello hello;

    memcpy(&hello, rig_peer_receive(peer, FARSIDE_WIRE_HELLO)->body,
           sizeof(hello));
    hello.partition = 1;
    hello.bar_size[0] *= 2;
    rig_peer_send(peer, FARSIDE_WIRE_HELLO, &hello, sizeof(hello));
    ck_assert(rig_peer_is_closed(peer));
    ck_assert_uint_eq(link_count(), 0);
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
        connect_up();
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

/*
 * Output of a QEMU that ends at once, with a plugin, a device (nullable) and a
 * CPU.
 */
static char *refusal(const char *plugin, const char *device, const char *cpu)
{
    const char *argv[] = {"qemu-system-x86_64",
                          "-plugin",
                          g_getenv(plugin),
                          "-machine",
                          device ? "q35" : "none",
                          "-cpu",
                          cpu,
                          "-display",
                          "none",
                          "-nodefaults",
                          "-S",
                          device ? "-device" : NULL,
                          device,
                          NULL};
    g_auto(GStrv) env = rig_environment();
    char *output = NULL;
    int status;

    ck_assert(g_spawn_sync(NULL, (char **)argv, env, G_SPAWN_SEARCH_PATH, NULL,
                           NULL, NULL, &output, &status, NULL));
    ck_assert(WIFEXITED(status) && WEXITSTATUS(status) != 0);
    return output;
}

/* The plugin refuses a QEMU that it was not built for, which then ends. */
START_TEST(other_qemu_is_refused)
{
    g_autofree char *output = refusal("FARSIDE_PLUGIN_OTHER", NULL, "qemu64");

    ck_assert_ptr_nonnull(strstr(output, "built for QEMU 0.0, but this is"));
}
END_TEST

/* A path that no socket can have, also if the device connects. */
START_TEST(bad_paths_are_refused)
{
    g_autofree char *name = g_strnfill(108, 'x');
    g_autofree char *device =
        g_strdup_printf("farside-switchtec,link=%s", name);
    g_autofree char *too_long = refusal("FARSIDE_PLUGIN", device, "qemu64");
    g_autofree char *empty = refusal(
        "FARSIDE_PLUGIN", "farside-switchtec,listen=on,link=", "qemu64");

    ck_assert_ptr_nonnull(
        strstr(too_long, "'link': the path is longer than 107 bytes"));
    ck_assert_ptr_nonnull(strstr(empty, "'link' must be the path of a socket"));
}
END_TEST

/* Without a local APIC there is no MSI-X, so the device cannot be realized. */
START_TEST(a_machine_without_msix_is_refused)
{
    g_autofree char *output =
        refusal("FARSIDE_PLUGIN", "farside-switchtec,link=/nowhere/farside",
                "qemu64,-apic");

    ck_assert_msg(strstr(output, "MSI-X is not supported"), "%s", output);
}
END_TEST

static Suite *make_suite(void)
{
    Suite *suite = suite_create("device_link");
    TCase *tcase = tcase_create("link");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, hello_tells_the_geometry);
    tcase_add_test(tcase, link_events_count);
    tcase_add_test(tcase, own_ram_is_announced);
    tcase_add_test(tcase, translated_memory_is_said_to_be);
    tcase_add_test(tcase, memory_without_notices_is_not_announced);
    tcase_add_test(tcase, notices_are_acknowledged);
    tcase_add_test(tcase, doorbells_cross_both_ways);
    tcase_add_test(tcase, messages_follow_the_map);
    tcase_add_test(tcase, window_is_the_memory_of_the_peer);
    tcase_add_test(tcase, direct_window_has_its_size);
    tcase_add_test(tcase, windows_close_with_the_link);
    tcase_add_test(tcase, other_windows_are_forwarded);
    tcase_add_test(tcase, long_time_outs_are_not_cut);
    tcase_add_test(tcase, waiting_serves_the_peer);
    tcase_add_test(tcase, requests_need_bus_mastering);
    tcase_add_test(tcase, requests_need_a_window);
    tcase_add_test(tcase, requests_cross_few_links);
    tcase_add_test(tcase, block_that_cannot_be_ends_the_connection);
    tcase_add_test(tcase, read_of_nothing_waits_for_writes);
    tcase_add_test(tcase, one_lock_at_a_time);
    tcase_add_test(tcase, two_threads_change_one_block);
    tcase_add_test(tcase, two_threads_change_the_peers_block);
    tcase_add_test(tcase, block_of_the_peer_is_asked_for);
    tcase_add_test(tcase, valid_is_read_only_from_afar);
    tcase_add_test(tcase, reset_leaves_nothing_of_the_peers_block);
    tcase_add_loop_test(tcase, forbidden_message_ends_the_connection, 0,
                        G_N_ELEMENTS(bad_messages));
    tcase_add_test(tcase, files_that_were_not_asked_for_are_closed);
    tcase_add_test(tcase, a_message_has_few_files);
    tcase_add_test(tcase, silence_gives_way_to_a_peer);
    tcase_add_test(tcase, noise_does_no_harm);
    tcase_add_test(tcase, other_geometry_is_refused);
    tcase_add_test(tcase, a_broker_hands_over_the_peer);
    suite_add_tcase(suite, tcase);

    tcase = tcase_create("reads without an answer");
    tcase_add_checked_fixture(tcase, setup_impatient, teardown);
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, read_without_answer_is_all_ones);
    tcase_add_test(tcase, memory_that_may_shrink_is_not_mapped);
    tcase_add_test(tcase, memory_that_cannot_be_ends_the_connection);
    tcase_add_test(tcase, memory_has_an_end);
    suite_add_tcase(suite, tcase);

    tcase = tcase_create("refusals");
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, other_qemu_is_refused);
    tcase_add_test(tcase, bad_paths_are_refused);
    tcase_add_test(tcase, a_machine_without_msix_is_refused);
    suite_add_tcase(suite, tcase);
    return suite;
}

int main(void)
{
    return run_suite(make_suite());
}
