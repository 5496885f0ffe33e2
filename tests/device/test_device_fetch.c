/* SPDX-License-Identifier: MIT */
/*
 * Invariant: where a device reaches a peer's memory by requests alone, a row of
 * adjacent reads is fetched in blocks, each as long as the row up to there.
 * The device always gets the bytes that a read of 8 bytes at that moment would
 * bring; no register is fetched; and no block outlives the device's access, or
 * what a peer does meanwhile. The test plays the far end.
 */
#include <check.h>
#include <glib.h>
#include <string.h>
#include <unistd.h>
#include "device_rig.h"
#include "switchtec_regs.h"
#include "../suite.h"

#define CTRL0  (RIG_BAR0 + 0x14000)
#define MIB    (1ull << 20)
#define TARGET 0xf0000000ull
#define PAGE   4096u
#define PIECE  8u
#define LINE   64u  /* where the second piece's block ends */
#define PART   512u /* bytes of a block's request */

static DeviceRig *rig;
static RigPeer *peer;

typedef struct {
    struct farside_wire_completion head;
    uint8_t data[FARSIDE_WIRE_PAYLOAD];
} Completion;

static void setup(void)
{
    rig = rig_new_with(NULL, "completion-timeout=1000", NULL);
    peer = rig_peer_new(rig);
    rig_peer_hello(peer);
    rig_wait_link(rig, 0, true);
    /* LUT entry 0, of 64 KiB */
    rig_part_op(rig, 0, SWITCHTEC_OP_LOCK, SWITCHTEC_STATUS_LOCKED);
    rig_write(rig, CTRL0 + 0x60, 4, RIG_LUT_CTL);
    rig_write(rig, CTRL0 + SWITCHTEC_CTRL_LUT, 8, TARGET | 1 << 1 | 1);
    rig_part_op(rig, 0, SWITCHTEC_OP_CFG, SWITCHTEC_STATUS_NORMAL);
}

static void teardown(void)
{
    rig_peer_free(peer);
    peer = NULL;
    rig_free(rig);
    rig = NULL;
}

/* A byte of the peer's memory, in one of its states */
static uint8_t byte_at(uint64_t address, unsigned state)
{
    return (uint8_t)((address - TARGET) * 7 + (address >> 12) + state * 101);
}

static struct farside_wire_read receive_read(void)
{
    struct farside_wire_read read;

    memcpy(&read, rig_peer_receive(peer, FARSIDE_WIRE_READ)->body,
           sizeof(read));
    return read;
}

static void answer(const struct farside_wire_read *read, unsigned state)
{
    Completion c = {.head = {.length = read->length, .tag = read->tag}};
    unsigned i;

    for (i = 0; i < read->length; i++) {
        c.data[i] = byte_at(read->address + i, state);
    }
    rig_peer_send(peer, FARSIDE_WIRE_COMPLETION, &c,
                  sizeof(c.head) + read->length);
}

static void refuse(const struct farside_wire_read *read)
{
    struct farside_wire_completion c = {.tag = read->tag,
                                        .status = FARSIDE_WIRE_CA};

    rig_peer_send(peer, FARSIDE_WIRE_COMPLETION, &c, sizeof(c));
}

/* Answers requests of 8 bytes for [from, to). */
static void answer_pieces(uint64_t from, uint64_t to, unsigned state)
{
    struct farside_wire_read read;

    for (; from < to; from += 8) {
        read = receive_read();
        ck_assert_uint_eq(read.address, from);
        ck_assert_uint_eq(read.length, 8);
        answer(&read, state);
    }
}

typedef struct {
    unsigned count;
    struct farside_wire_read reads[PAGE / PART];
} Block;

/* Receives the requests of a block, which are under way at once. */
static Block receive_block(uint64_t address, unsigned length)
{
    uint64_t end = address + length, next;
    Block block = {.count = 0};

    for (; address < end; address = next) {
        next = MIN(end, (address / PART + 1) * PART);
        block.reads[block.count] = receive_read();
        ck_assert_uint_eq(block.reads[block.count].address, address);
        ck_assert_uint_eq(block.reads[block.count].length, next - address);
        block.count++;
    }
    return block;
}

static void answer_block(const Block *block, unsigned state)
{
    unsigned i;

    for (i = 0; i < block->count; i++) {
        answer(&block->reads[i], state);
    }
}

static void refuse_block(const Block *block)
{
    unsigned i;

    for (i = 0; i < block->count; i++) {
        refuse(&block->reads[i]);
    }
}

/* The bytes that are asked for at @at of a row that began at @begin. */
static unsigned asked_at(uint64_t begin, uint64_t at)
{
    uint64_t row = at - begin;
    uint64_t end = (at + row + LINE - 1) / LINE * LINE;

    if (row == 0) {
        return PIECE;
    }
    if (row < LINE) {
        return LINE - at % LINE;
    }
    return MIN(end, (at / PAGE + 1) * PAGE) - at;
}

/* Answers all that is asked for while a device reads the row [from, to). */
static void answer_row(uint64_t from, uint64_t to, unsigned state)
{
    uint64_t at;
    unsigned length;
    Block block;

    for (at = from; at < to; at += length) {
        length = asked_at(from, at);
        block = receive_block(at, length);
        answer_block(&block, state);
    }
}

/* A device begins to read two lines. Returns the block after the first piece.
 */
static Block begin_two_lines(void)
{
    rig_read_bytes_begin(rig, RIG_BAR2, 2 * LINE);
    answer_pieces(TARGET, TARGET + PIECE, 0);
    return receive_block(TARGET + PIECE, LINE - PIECE);
}

/* Ends a device's read that began at @address; bytes from @at on are newer. */
static void ends_with(uint64_t address, unsigned size, unsigned at)
{
    g_autofree uint8_t *data = g_malloc(size);
    unsigned i;

    rig_read_bytes_end(rig, data, size);
    for (i = 0; i < size; i++) {
        ck_assert_uint_eq(data[i], byte_at(address + i, i >= at));
    }
}

START_TEST(a_long_read_takes_blocks)
{
    const unsigned size = 2 * PAGE + 100;

    rig_read_bytes_begin(rig, RIG_BAR2, size);
    answer_row(TARGET, TARGET + size, 0);
    ends_with(TARGET, size, size);
}
END_TEST

START_TEST(a_short_read_takes_what_it_needs)
{
    rig_read_bytes_begin(rig, RIG_BAR2 + 0x40, PIECE);
    answer_pieces(TARGET + 0x40, TARGET + 0x40 + PIECE, 0);
    ends_with(TARGET + 0x40, PIECE, PIECE);
}
END_TEST

/* The window ends, and with it the request. */
START_TEST(nothing_behind_the_window_is_asked_for)
{
    const uint64_t at = 0x10000 - PAGE - 0x100;

    rig_read_bytes_begin(rig, RIG_BAR2 + at, PAGE + 0x100);
    answer_row(TARGET + at, TARGET + 0x10000, 0);
    ends_with(TARGET + at, PAGE + 0x100, PAGE + 0x100);
}
END_TEST

/* The peer refuses the block, and the device gets its data nevertheless. */
static void two_lines_are_refused(void)
{
    Block block;

    block = begin_two_lines();
    refuse_block(&block);
    answer_pieces(TARGET + PIECE, TARGET + 2 * LINE, 0);
    ends_with(TARGET, 2 * LINE, 2 * LINE);
}

START_TEST(what_is_no_memory_is_read_in_pieces)
{
    two_lines_are_refused();
}
END_TEST

/* The peer may allow later what its IOMMU or its driver does not allow now. */
START_TEST(the_next_access_asks_again)
{
    Block block;

    two_lines_are_refused();
    rig_read_bytes_begin(rig, RIG_BAR2, 2 * LINE);
    answer_pieces(TARGET, TARGET + PIECE, 0);
    /* All that the device has read in this page before */
    block = receive_block(TARGET + PIECE, 2 * LINE - PIECE);
    answer_block(&block, 0);
    ends_with(TARGET, 2 * LINE, 2 * LINE);
}
END_TEST

/* The peer's memory changes between two accesses, which follow each other. */
START_TEST(the_next_access_reads_anew)
{
    Block block;

    rig_read_bytes_begin(rig, RIG_BAR2, 24);
    answer_pieces(TARGET, TARGET + PIECE, 0);
    block = receive_block(TARGET + PIECE, LINE - PIECE);
    answer_block(&block, 0);
    ends_with(TARGET, 24, 24);
    rig_read_bytes_begin(rig, RIG_BAR2 + 24, PIECE);
    answer_pieces(TARGET + 24, TARGET + 24 + PIECE, 1);
    ends_with(TARGET + 24, PIECE, 0);
}
END_TEST

/*
 * The peer changes its memory and then rings, before its answer: what the
 * device learns by the bell must not be newer than what it reads.
 */
START_TEST(a_request_of_the_peer_ends_it)
{
    struct farside_wire_doorbell bell = {.bits = 1};
    Block block;

    block = begin_two_lines();
    rig_peer_send(peer, FARSIDE_WIRE_DOORBELL, &bell, sizeof(bell));
    answer_block(&block, 0);
    answer_row(TARGET + PIECE, TARGET + 2 * LINE, 1);
    ends_with(TARGET, 2 * LINE, PIECE);
}
END_TEST

/* Memory that can be mapped is reached directly; nothing else is fetched. */
START_TEST(a_peer_that_gives_memory_is_read_in_pieces)
{
    rig_peer_give_ram(peer, 2 * MIB, MIB, true);
    /* The messages of one peer are served in order. */
    rig_read_bytes_begin(rig, RIG_BAR2, 8);
    answer_pieces(TARGET, TARGET + 8, 0);
    ends_with(TARGET, 8, 8);
    rig_read_bytes_begin(rig, RIG_BAR2, 2 * LINE);
    answer_pieces(TARGET, TARGET + 2 * LINE, 0);
    ends_with(TARGET, 2 * LINE, 2 * LINE);
}
END_TEST

/* While a trace is on, nothing is reached directly, so there are blocks. */
START_TEST(a_traced_link_has_blocks)
{
    g_autofree char *path = NULL, *value = NULL, *answer = NULL;
    int fd = g_file_open_tmp("fetch-XXXXXX", &path, NULL);

    ck_assert_int_ge(fd, 0);
    value = g_strdup_printf("\"%s\"", path);
    rig_peer_give_ram(peer, 2 * MIB, MIB, true);
    answer = rig_set(rig, "trace", value);
    rig_read_bytes_begin(rig, RIG_BAR2, PAGE);
    answer_row(TARGET, TARGET + PAGE, 0);
    ends_with(TARGET, PAGE, PAGE);
    close(fd);
    unlink(path);
}
END_TEST

static Completion ask(uint64_t address, unsigned length)
{
    struct farside_wire_read m = {
        .address = address, .length = length, .tag = 77};
    const RigMessage *message;
    Completion c;

    rig_peer_send(peer, FARSIDE_WIRE_READ, &m, sizeof(m));
    message = rig_peer_receive(peer, FARSIDE_WIRE_COMPLETION);
    memcpy(&c.head, message->body, sizeof(c.head));
    memcpy(c.data, (const uint8_t *)message->body + sizeof(c.head),
           c.head.length);
    ck_assert_uint_eq(c.head.tag, 77);
    return c;
}

START_TEST(a_peer_gets_blocks_of_memory_and_not_of_registers)
{
    const uint64_t word = 0x1122334455667788ull;
    uint64_t refused = rig_refused(rig);
    Completion c;

    rig_write(rig, 2 * MIB + 0xff8, 8, word);
    c = ask(2 * MIB, PAGE);
    ck_assert_uint_eq(c.head.status, FARSIDE_WIRE_SC);
    ck_assert_uint_eq(c.head.length, PAGE);
    ck_assert_mem_eq(c.data + 0xff8, &word, sizeof(word));
    c = ask(RIG_NVME_BAR, 16);
    ck_assert_uint_eq(c.head.status, FARSIDE_WIRE_CA);
    ck_assert_uint_eq(c.head.length, 0);
    /* It is an answer to expect, and not an Unsupported Request that counts. */
    ck_assert_uint_eq(rig_refused(rig), refused);
}
END_TEST

static Suite *make_suite(void)
{
    Suite *suite = suite_create("device_fetch");
    TCase *tcase = tcase_create("fetch");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, a_long_read_takes_blocks);
    tcase_add_test(tcase, a_traced_link_has_blocks);
    tcase_add_test(tcase, a_short_read_takes_what_it_needs);
    tcase_add_test(tcase, nothing_behind_the_window_is_asked_for);
    tcase_add_test(tcase, what_is_no_memory_is_read_in_pieces);
    tcase_add_test(tcase, the_next_access_asks_again);
    tcase_add_test(tcase, the_next_access_reads_anew);
    tcase_add_test(tcase, a_request_of_the_peer_ends_it);
    tcase_add_test(tcase, a_peer_that_gives_memory_is_read_in_pieces);
    tcase_add_test(tcase, a_peer_gets_blocks_of_memory_and_not_of_registers);
    suite_add_tcase(suite, tcase);
    return suite;
}

int main(void)
{
    return run_suite(make_suite());
}
