/* SPDX-License-Identifier: MIT */
/*
 * Invariant: where a device reaches a peer's memory by requests alone, the rest
 * of a page is fetched as a block once the device has read 64 adjacent bytes.
 * The device always gets the bytes that a read of 8 bytes at that moment would
 * bring; no register is fetched; and no block outlives the device's access, or
 * what a peer does meanwhile. The test plays the far end.
 */
#include <check.h>
#include <glib.h>
#include <string.h>
#include "device_rig.h"
#include "switchtec_regs.h"
#include "../suite.h"

#define CTRL0  (RIG_BAR0 + 0x14000)
#define MIB    (1ull << 20)
#define TARGET 0xf0000000ull
#define PAGE   4096u
#define START  64u  /* bytes that are read in pieces of 8 */
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

/* A device begins to read two lines. Returns the block after the first. */
static Block begin_two_lines(void)
{
    rig_read_bytes_begin(rig, RIG_BAR2, 2 * START);
    answer_pieces(TARGET, TARGET + START, 0);
    return receive_block(TARGET + START, PAGE - START);
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
    Block block;

    rig_read_bytes_begin(rig, RIG_BAR2, size);
    answer_pieces(TARGET, TARGET + START, 0);
    block = receive_block(TARGET + START, PAGE - START);
    answer_block(&block, 0);
    block = receive_block(TARGET + PAGE, PAGE);
    answer_block(&block, 0);
    block = receive_block(TARGET + 2 * PAGE, PAGE);
    answer_block(&block, 0);
    ends_with(TARGET, size, size);
}
END_TEST

START_TEST(a_short_read_takes_what_it_needs)
{
    rig_read_bytes_begin(rig, RIG_BAR2 + 0x40, START);
    answer_pieces(TARGET + 0x40, TARGET + 0x40 + START, 0);
    ends_with(TARGET + 0x40, START, START);
}
END_TEST

/* The window ends, and with it the request. */
START_TEST(nothing_behind_the_window_is_asked_for)
{
    const uint64_t at = 0x10000 - PAGE - 0x100;
    Block block;

    rig_read_bytes_begin(rig, RIG_BAR2 + at, PAGE + 0x100);
    answer_pieces(TARGET + at, TARGET + at + START, 0);
    block = receive_block(TARGET + at + START, 0x100 - START);
    answer_block(&block, 0);
    block = receive_block(TARGET + 0x10000 - PAGE, PAGE);
    answer_block(&block, 0);
    ends_with(TARGET + at, PAGE + 0x100, PAGE + 0x100);
}
END_TEST

/* The peer refuses the block, and the device gets its data nevertheless. */
static void two_lines_are_refused(void)
{
    Block block;

    block = begin_two_lines();
    refuse_block(&block);
    answer_pieces(TARGET + START, TARGET + 2 * START, 0);
    ends_with(TARGET, 2 * START, 2 * START);
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
    block = begin_two_lines();
    answer_block(&block, 0);
    ends_with(TARGET, 2 * START, 2 * START);
}
END_TEST

/* The peer's memory changes between two accesses, which follow each other. */
START_TEST(the_next_access_reads_anew)
{
    Block block;

    block = begin_two_lines();
    answer_block(&block, 0);
    ends_with(TARGET, 2 * START, 2 * START);
    rig_read_bytes_begin(rig, RIG_BAR2 + 2 * START, 16);
    answer_pieces(TARGET + 2 * START, TARGET + 2 * START + 16, 1);
    ends_with(TARGET + 2 * START, 16, 0);
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
    answer_pieces(TARGET + START, TARGET + 2 * START, 1);
    ends_with(TARGET, 2 * START, START);
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
    rig_read_bytes_begin(rig, RIG_BAR2, 2 * START);
    answer_pieces(TARGET, TARGET + 2 * START, 0);
    ends_with(TARGET, 2 * START, 2 * START);
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
