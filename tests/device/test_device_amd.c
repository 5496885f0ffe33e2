/* SPDX-License-Identifier: MIT */
/*
 * Invariant: the AMD chip has the registers of docs/reference/amd.md, each with
 * one owner; a window is open as far as its limit, and one that a peer closes
 * is used by nobody when the peer learns of it.
 */
#include <check.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <string.h>
#include "amd_regs.h"
#include "device_chip.h"
#include "trc_file.h"
#include "trc_text.h"
#include "../suite.h"

#define TYPE       "farside-amd"
#define MIB        (1ull << 20)
#define PROPERTIES "completion-timeout=60000"
#define IDENTITY   0x148b1022u
#define OWN(reg)   (RIG_BAR0 + (reg))
#define FAR(reg)   (RIG_BAR0 + AMD_BLOCK_SIZE + (reg))
#define SPAD(side) (RIG_BAR0 + AMD_SPAD + 4 * AMD_SPADS * (side))
#define LIMIT(bar)                                                             \
    ((bar) == 2 ? (uint64_t)AMD_BAR23LMT : (uint64_t)AMD_BAR45LMT)
#define XLAT(bar)                                                              \
    ((bar) == 2 ? (uint64_t)AMD_BAR23XLAT : (uint64_t)AMD_BAR45XLAT)

static GArray *registers;
static DeviceRig *rig;   /* primary side */
static DeviceRig *other; /* secondary side, in tests that have two machines */
static RigPeer *peer;    /* the far end that the test plays itself */

static void read_page(void)
{
    g_auto(GStrv) lines = page_lines(g_getenv("FARSIDE_AMD_PAGE"));
    unsigned i;

    registers = g_array_new(FALSE, TRUE, sizeof(PageRegister));
    for (i = 0; lines[i]; i++) {
        page_add(registers, lines[i], false);
    }
    ck_assert_uint_eq(registers->len, 39);
}

static void setup_one(void)
{
    read_page();
    rig = rig_new_of(TYPE, NULL, PROPERTIES, NULL);
}

static void setup_peer(void)
{
    setup_one();
    peer = chip_meet(rig);
}

static void setup_two(void)
{
    setup_one();
    other = chip_new_other(rig, TYPE, PROPERTIES);
}

static void teardown(void)
{
    chip_stop(&rig, &other, &peer);
    g_clear_pointer(&registers, g_array_unref);
}

/* The page */

static const PageRegister *at(unsigned i)
{
    return &g_array_index(registers, PageRegister, i);
}

static void check_resets(DeviceRig *machine, unsigned side)
{
    for (unsigned i = 0; i < registers->len; i++) {
        const PageRegister *r = at(i);
        uint64_t value = rig_read(machine, RIG_BAR0 + r->offset, r->size);

        ck_assert_msg(value ==
                          (r->reset | (r->offset == AMD_SIDEINFO ? side : 0)),
                      "0x%x is 0x%" G_GINT64_MODIFIER "x", r->offset, value);
    }
}

START_TEST(registers_are_those_of_the_page)
{
    ck_assert_uint_eq(rig_config_read(rig, 0), IDENTITY);
    check_resets(rig, 0);
    for (unsigned i = 0; i < registers->len; i++) {
        chip_check_writes(rig, at(i), at(i)->mask);
    }
    chip_check_gaps(rig, registers, AMD_BAR_SIZE, AMD_MSIX_TABLE, AMD_VECTORS,
                    4000);
    rig_write(rig, OWN(AMD_SIDEINFO), 4, AMD_SIDE_READY);
    rig_write(rig, SPAD(0) + 4, 4, 0x1234);
    rig_reset(rig);
    check_resets(rig, 0);
}
END_TEST

/* Parts of registers, and accesses that touch several */
START_TEST(accesses_are_made_of_bytes)
{
    rig_write(rig, SPAD(0), 8, 0x8877665544332211ull);
    ck_assert_uint_eq(rig_read(rig, SPAD(0), 4), 0x44332211);
    ck_assert_uint_eq(rig_read(rig, SPAD(0) + 4, 4), 0x88776655);
    ck_assert_uint_eq(rig_read(rig, SPAD(0) + 3, 4), 0x77665544);
    rig_write(rig, SPAD(0) + 3, 2, 0xbbaa);
    ck_assert_uint_eq(rig_read(rig, SPAD(0), 8), 0x887766bbaa332211ull);
    rig_write(rig, OWN(AMD_BAR23XLAT), 4, 0x12345678);
    rig_write(rig, OWN(AMD_BAR23XLAT) + 4, 4, 0x9abc);
    ck_assert_uint_eq(rig_read(rig, OWN(AMD_BAR23XLAT), 8), 0x9abc12345000ull);
    /* The end of the own scratchpads, and the begin of the peer's */
    rig_write(rig, SPAD(1) - 4, 8, 0x1111111122222222ull);
    ck_assert_uint_eq(rig_read(rig, SPAD(1) - 4, 8), 0x22222222);
}
END_TEST

/* Two machines */

START_TEST(each_side_reaches_the_registers_of_the_other)
{
    DeviceRig *sides[] = {rig, other};

    for (unsigned me = 0; me < 2; me++) {
        DeviceRig *near = sides[me], *far = sides[1 - me];

        ck_assert_uint_eq(rig_read(near, OWN(AMD_SIDEINFO), 4), me);
        ck_assert_uint_eq(rig_read(near, FAR(AMD_SIDEINFO), 4), 1 - me);
        rig_write(far, OWN(AMD_SIDEINFO), 4, AMD_SIDE_READY);
        ck_assert_uint_eq(rig_read(near, FAR(AMD_SIDEINFO), 4),
                          AMD_SIDE_READY | (1 - me));
        rig_write(near, FAR(AMD_SIDEINFO), 4, 0);
        ck_assert_uint_eq(rig_read(near, FAR(AMD_SIDEINFO), 4), 1 - me);
        ck_assert_uint_eq(rig_read(far, OWN(AMD_SIDEINFO), 4), 1 - me);
        for (unsigned i = 0; i < AMD_SPADS; i++) {
            rig_write(near, SPAD(1 - me) + 4 * i, 4, 0x100 * me + i + 1);
            rig_write(near, SPAD(me) + 4 * i, 4, 0xa00 + 0x100 * me + i);
            ck_assert_uint_eq(rig_read(near, SPAD(1 - me) + 4 * i, 4),
                              0x100 * me + i + 1);
            ck_assert_uint_eq(rig_read(far, SPAD(1 - me) + 4 * i, 4),
                              0x100 * me + i + 1);
            ck_assert_uint_eq(rig_read(far, SPAD(me) + 4 * i, 4),
                              0xa00 + 0x100 * me + i);
        }
        rig_write(near, FAR(AMD_DBMASK), 2, 0x1230 + me);
        ck_assert_uint_eq(rig_read(near, FAR(AMD_DBMASK), 2), 0x1230 + me);
        ck_assert_uint_eq(rig_read(far, OWN(AMD_DBMASK), 2), 0x1230 + me);
        /* CNTL is no register of the other side. */
        rig_write(far, OWN(AMD_CNTL), 4, AMD_CNTL_MASK);
        ck_assert_uint_eq(rig_read(near, OWN(AMD_CNTL), 4),
                          me ? AMD_CNTL_MASK : 0);
    }
}
END_TEST

static void open_far(DeviceRig *from, unsigned bar, uint64_t target,
                     uint64_t size)
{
    rig_write(from, FAR(XLAT(bar)), 8, target);
    ck_assert_uint_eq(rig_read(from, FAR(XLAT(bar)), 8), target);
    rig_write(from, FAR(LIMIT(bar)), 8, size);
    ck_assert_uint_eq(rig_read(from, FAR(LIMIT(bar)), 8), size);
}

START_TEST(windows_are_open_as_far_as_their_limit)
{
    static const struct {
        unsigned bar;
        uint64_t base;
        uint64_t limit;
    } windows[] = {
        {2, RIG_BAR2, 0x10000},
        {2, RIG_BAR2, 0x1800},
        {4, RIG_BAR4, 0x10000},
        {4, RIG_BAR4, 16 * MIB},
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(windows); i++) {
        uint64_t base = windows[i].base, end = base + windows[i].limit;
        uint8_t *ram = rig_ram(rig) + 4 * MIB;

        open_far(rig, windows[i].bar, 4 * MIB, windows[i].limit);
        rig_write(other, base + 8, 8, 0x1122334455667788ull + i);
        rig_write(other, end - 8, 8, 0x99 + i);
        ck_assert_uint_eq(rig_read(other, base + 8, 8),
                          0x1122334455667788ull + i);
        ck_assert_uint_eq(rig_read(other, end - 8, 8), 0x99 + i);
        /* The first may be a message, which comes after a while. */
        rig_wait_for(rig, 4 * MIB + 8, 8, 0x1122334455667788ull + i);
        rig_wait_for(rig, 4 * MIB + windows[i].limit - 8, 8, 0x99 + i);
        memset(ram + windows[i].limit, 0x77, 8);
        ck_assert_uint_eq(rig_read(other, end, 4), 0xffffffff);
        rig_write(other, end, 4, 1);
        open_far(rig, windows[i].bar, 0, 0);
        ck_assert_uint_eq(rig_read(other, base + 8, 4), 0xffffffff);
        rig_write(other, base + 8, 4, 1);
        ck_assert_uint_eq(rig_read(rig, 4 * MIB + 8, 8),
                          0x1122334455667788ull + i);
        ck_assert_int_eq(ram[windows[i].limit], 0x77);
    }
}
END_TEST

START_TEST(reset_closes_the_windows_of_the_other_side)
{
    open_far(rig, 2, 4 * MIB, 0x10000);
    rig_write(rig, OWN(AMD_SIDEINFO), 4, AMD_SIDE_READY);
    rig_reset(rig);
    rig_wait_for(other, OWN(AMD_BAR23LMT), 8, 0);
    ck_assert_uint_eq(rig_read(other, RIG_BAR2, 4), 0xffffffff);
    ck_assert_uint_eq(rig_read(other, FAR(AMD_SIDEINFO), 4), 0);
}
END_TEST

/* Interrupts */

static uint64_t raised(void)
{
    return chip_raised(rig, AMD_VECTORS);
}

START_TEST(doorbells_have_a_mask_and_a_vector_each)
{
    chip_enable_interrupts(rig, AMD_MSIX_TABLE, AMD_VECTORS);
    rig_write(rig, OWN(AMD_DBMASK), 2, 0xfff0);
    rig_write(other, OWN(AMD_DBREQ), 2, 0x8012);
    rig_wait_for(rig, OWN(AMD_DBSTAT), 2, 0x8012);
    ck_assert_uint_eq(raised() & 0xffff, 1u << 1);
    /* Unmasking raises what is pending, and nothing else. */
    rig_write(rig, OWN(AMD_DBMASK), 2, 0x7fe0);
    ck_assert_uint_eq(raised() & 0xffff, 1u << 15 | 1u << 4);
    rig_write(rig, OWN(AMD_DBSTAT), 2, 0x8002);
    ck_assert_uint_eq(rig_read(rig, OWN(AMD_DBSTAT), 2), 0x10);
    /* The peer's DBREQ rings this side. */
    rig_write(rig, FAR(AMD_DBREQ), 2, 0x1);
    rig_wait_for(rig, OWN(AMD_DBSTAT), 2, 0x11);
    ck_assert_uint_eq(raised() & 0xffff, 1);
}
END_TEST

/* The next event: it is shown when the last one was cleared. */
static void take_event(uint32_t event)
{
    rig_wait_for(rig, OWN(AMD_INTSTAT), 4, event);
    ck_assert_uint_eq(raised() >> AMD_EVENT_VECTOR, 1);
    rig_write(rig, OWN(AMD_INTSTAT), 4, event);
}

START_TEST(events_come_one_at_a_time)
{
    chip_enable_interrupts(rig, AMD_MSIX_TABLE, AMD_VECTORS);
    rig_wait_for(rig, OWN(AMD_INTSTAT), 4, AMD_LINK_UP);
    ck_assert_uint_eq(raised(), 0);
    rig_write(rig, OWN(AMD_INTMASK), 4, 0x1f);
    take_event(AMD_LINK_UP);
    ck_assert_uint_eq(rig_read(rig, OWN(AMD_INTSTAT), 4), 0);
    rig_peer_send(peer, FARSIDE_WIRE_RESET, NULL, 0);
    take_event(AMD_LINK_DOWN);
    take_event(AMD_LINK_UP);
    /* A pair that nobody has seen yet hides no later state. */
    rig_write(rig, OWN(AMD_INTMASK), 4, 0x7f);
    for (unsigned i = 0; i < 5; i++) {
        rig_peer_send(peer, FARSIDE_WIRE_RESET, NULL, 0);
    }
    rig_wait_for(rig, OWN(AMD_INTSTAT), 4, AMD_LINK_DOWN);
    rig_peer_free(peer);
    peer = NULL;
    rig_wait_link_up(rig, false);
    rig_write(rig, OWN(AMD_INTMASK), 4, 0x1f);
    for (uint32_t event = AMD_LINK_DOWN, last = 0;;
         last = event, event ^= AMD_LINK_DOWN | AMD_LINK_UP) {
        if (rig_read(rig, OWN(AMD_INTSTAT), 4) == 0) {
            ck_assert_uint_eq(last, AMD_LINK_DOWN);
            break;
        }
        take_event(event);
    }
    ck_assert_uint_eq(rig_read(rig, FAR(AMD_SIDEINFO), 4), 0);
}
END_TEST

/* The far end that the test plays */

/*
 * The far end opens and closes a window of the device to its memory. When the
 * answer has come, no access gets there any more.
 */
START_TEST(closed_window_is_not_used_after_the_answer)
{
    uint8_t *ram = rig_peer_give_ram(peer, 0, 8 * MIB, true);

    for (uint16_t i = 0; i < 20; i++) {
        chip_send_write(peer, FARSIDE_WIRE_REGISTERS_NP, AMD_BAR23XLAT, 2 * MIB,
                        8, 1);
        chip_expect_completion(peer, 1, FARSIDE_WIRE_SC);
        chip_send_write(peer, FARSIDE_WIRE_REGISTERS_NP, AMD_BAR23LMT, 0x2000,
                        8, 2);
        chip_expect_completion(peer, 2, FARSIDE_WIRE_SC);
        rig_write(rig, RIG_BAR2 + 0x1000, 4, i + 1u);
        ck_assert_int_eq(ram[2 * MIB + 0x1000], i + 1);
        chip_send_write(peer, FARSIDE_WIRE_REGISTERS_NP, AMD_BAR23LMT,
                        i & 1 ? 0x1000 : 0, 8, 3);
        chip_expect_completion(peer, 3, FARSIDE_WIRE_SC);
        rig_write(rig, RIG_BAR2 + 0x1000, 4, 0xffu);
        ck_assert_int_eq(ram[2 * MIB + 0x1000], i + 1);
    }
    /* A request to an address without a register gets UR. */
    chip_send_write(peer, FARSIDE_WIRE_REGISTERS_NP, AMD_CNTL, 0, 4, 4);
    chip_expect_completion(peer, 4, FARSIDE_WIRE_UR);
    chip_send_write(peer, FARSIDE_WIRE_REGISTERS_NP, 1ull << 40, 0, 4, 5);
    chip_expect_completion(peer, 5, FARSIDE_WIRE_UR);
}
END_TEST

/* The guest's write to a limit of the far end waits for the answer. */
START_TEST(closing_waits_for_the_owner)
{
    struct farside_wire_completion c = {.status = FARSIDE_WIRE_SC};
    struct farside_wire_write m;

    rig_write_begin(rig, FAR(AMD_BAR45LMT), 8, 0);
    memcpy(&m, rig_peer_receive(peer, FARSIDE_WIRE_WRITE)->body, sizeof(m));
    ck_assert_uint_eq(m.space, FARSIDE_WIRE_REGISTERS_NP);
    ck_assert_uint_eq(m.address, AMD_BAR45LMT);
    ck_assert_uint_eq(m.length, 8);
    g_usleep(50000);
    ck_assert(!rig_has_answered(rig));
    /* Meanwhile the far end may close one as well. */
    chip_send_write(peer, FARSIDE_WIRE_REGISTERS_NP, AMD_BAR45LMT, 0, 8, 9);
    chip_expect_completion(peer, 9, FARSIDE_WIRE_SC);
    c.tag = m.tag;
    rig_peer_send(peer, FARSIDE_WIRE_COMPLETION, &c, sizeof(c));
    rig_write_end(rig);
    /* A scratchpad does not wait. */
    rig_write(rig, SPAD(1), 4, 5);
    memcpy(&m, rig_peer_receive(peer, FARSIDE_WIRE_WRITE)->body, sizeof(m));
    ck_assert_uint_eq(m.space, FARSIDE_WIRE_REGISTERS);
}
END_TEST

static const struct {
    unsigned space;
    uint64_t offset;
    unsigned size;
} bad_writes[] = {
    {3, AMD_SPAD, 4},
    {FARSIDE_WIRE_REGISTERS, AMD_SPAD, 3},
    {FARSIDE_WIRE_REGISTERS_NP, AMD_SPAD + 2, 4},
};

START_TEST(bad_register_writes_end_the_connection)
{
    chip_send_write(peer, bad_writes[_i].space, bad_writes[_i].offset, 0,
                    bad_writes[_i].size, 0);
    ck_assert(rig_peer_is_closed(peer));
}
END_TEST

static const unsigned foreign_types[] = {
    FARSIDE_WIRE_MESSAGE, FARSIDE_WIRE_LOCK, FARSIDE_WIRE_RELEASE};

START_TEST(messages_of_another_chip_end_the_connection)
{
    uint64_t body = 0;

    rig_peer_send(peer, foreign_types[_i], &body, sizeof(body));
    ck_assert(rig_peer_is_closed(peer));
}
END_TEST

START_TEST(another_chip_is_no_peer)
{
    struct farside_wire_hello hello;

    peer = rig_peer_new(rig);
    memcpy(&hello, rig_peer_receive(peer, FARSIDE_WIRE_HELLO)->body,
           sizeof(hello));
    ck_assert_uint_eq(hello.chip, FARSIDE_WIRE_CHIP_AMD);
    hello.partition = 1;
    hello.chip = FARSIDE_WIRE_CHIP_SWITCHTEC;
    rig_peer_send(peer, FARSIDE_WIRE_HELLO, &hello, sizeof(hello));
    ck_assert(rig_peer_is_closed(peer));
}
END_TEST

/* A trace has the accesses to registers of the other side, and the chip. */
START_TEST(trace_has_the_accesses)
{
    static const char *const expected[] = {
        "Start link up, device 00:05.0, chip amd",
        "Register write 0x230 4B = 0x1234",
        "Register read 0x408 4B",
        "Register answer SC 0x77",
        "Register answer SC",
        "Register answer UR",
    };
    g_autofree char *folder = g_dir_make_tmp("farside-amd-XXXXXX", NULL);
    g_autofree char *path = g_build_filename(folder, "t.pcapng", NULL);
    g_autofree char *value = g_strdup_printf("\"%s\"", path);
    struct farside_wire_completion c = {.length = 4};
    struct {
        struct farside_wire_completion c;
        uint32_t data;
    } answer = {.data = 3};
    struct farside_wire_read read;
    g_autoptr(TrcFile) file = NULL;
    int64_t deadline = rig_deadline();
    unsigned found = 0;

    g_free(rig_set(rig, "trace", value));
    rig_write(rig, SPAD(1), 4, 0x1234);
    rig_read_begin(rig, FAR(AMD_SIDEINFO), 4);
    memcpy(&read, rig_peer_receive(peer, FARSIDE_WIRE_READ)->body,
           sizeof(read));
    c.tag = read.tag;
    answer.c = c;
    rig_peer_send(peer, FARSIDE_WIRE_COMPLETION, &answer, sizeof(c) + 4);
    ck_assert_uint_eq(rig_read_end(rig), 3);
    rig_write(rig, SPAD(0), 4, 0x77);
    read = (struct farside_wire_read){
        .address = AMD_SPAD, .length = 4, .space = FARSIDE_WIRE_REGISTERS};
    rig_peer_send(peer, FARSIDE_WIRE_READ, &read, sizeof(read));
    rig_peer_receive(peer, FARSIDE_WIRE_COMPLETION);
    chip_send_write(peer, FARSIDE_WIRE_REGISTERS_NP, AMD_SMUACK, 1, 4, 7);
    chip_expect_completion(peer, 7, FARSIDE_WIRE_SC);
    chip_send_write(peer, FARSIDE_WIRE_REGISTERS_NP, AMD_CNTL, 1, 4, 8);
    chip_expect_completion(peer, 8, FARSIDE_WIRE_UR);
    /* A thread writes the file. To switch it off would ask the far end. */
    do {
        g_clear_pointer(&file, trc_file_free);
        file = trc_file_read(path, NULL);
        ck_assert(g_get_monotonic_time() < deadline);
    } while (!file || trc_file_n_records(file) < G_N_ELEMENTS(expected));
    for (size_t i = 0; i < trc_file_n_records(file); i++) {
        g_autofree char *detail = NULL, *line = NULL;
        TrcRecord record;

        trc_file_record(file, i, &record);
        detail = trc_text_detail(&record);
        line = g_strdup_printf("%s %s", trc_kind_name(record.kind), detail);
        ck_assert_uint_lt(found, G_N_ELEMENTS(expected));
        ck_assert_str_eq(line, expected[found]);
        found++;
    }
    ck_assert_uint_eq(found, G_N_ELEMENTS(expected));
    g_unlink(path);
    g_rmdir(folder);
}
END_TEST

/* Anything a guest and a peer may send: the device lives, and answers. */
START_TEST(any_access_is_survived)
{
    static const ChipRange guest[] = {{RIG_BAR0, 0xc10},
                                      {OWN(AMD_SPAD), 0x40},
                                      {OWN(AMD_BLOCK), 0xa8},
                                      {FAR(AMD_BLOCK), 0xa8},
                                      {0, 0}};
    static const ChipRange far[] = {{0, 0xc00},
                                    {AMD_SPAD, 0x40},
                                    {AMD_BAR23LMT, 0x30},
                                    {AMD_DBREQ, 0x30},
                                    {0, 0}};
    ChipFuzz fuzz = {.peers = 1, .guest = guest, .far = far};

    rig = rig_new_of(TYPE, NULL, CHIP_FUZZ_PROPERTIES, NULL);
    fuzz.rig = rig;
    chip_fuzz(&fuzz, 1022);
    ck_assert_uint_eq(rig_config_read(rig, 0), IDENTITY);
    ck_assert_uint_eq(rig_read(rig, OWN(AMD_SIDEINFO), 4), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("device_amd");
    TCase *tcase = chip_add_case(suite, "one side", setup_one, teardown);

    tcase_add_test(tcase, registers_are_those_of_the_page);
    tcase_add_test(tcase, accesses_are_made_of_bytes);
    tcase_add_test(tcase, another_chip_is_no_peer);
    tcase = chip_add_case(suite, "two sides", setup_two, teardown);
    tcase_add_test(tcase, each_side_reaches_the_registers_of_the_other);
    tcase_add_test(tcase, windows_are_open_as_far_as_their_limit);
    tcase_add_test(tcase, reset_closes_the_windows_of_the_other_side);
    tcase_add_test(tcase, doorbells_have_a_mask_and_a_vector_each);
    tcase = chip_add_case(suite, "a peer", setup_peer, teardown);
    tcase_add_test(tcase, events_come_one_at_a_time);
    tcase_add_test(tcase, closed_window_is_not_used_after_the_answer);
    tcase_add_test(tcase, closing_waits_for_the_owner);
    tcase_add_test(tcase, trace_has_the_accesses);
    tcase_add_loop_test(tcase, bad_register_writes_end_the_connection, 0,
                        G_N_ELEMENTS(bad_writes));
    tcase_add_loop_test(tcase, messages_of_another_chip_end_the_connection, 0,
                        G_N_ELEMENTS(foreign_types));
    tcase_add_test(chip_add_fuzz(suite, teardown), any_access_is_survived);
    return run_suite(suite);
}
