/* SPDX-License-Identifier: MIT */
/*
 * The board of a timed cluster, of which one process writes what it likes, or
 * ends at any instruction. Invariant: the others keep to their own memory, go
 * on or say that the board is damaged, and always return; and no machine gets a
 * horizon that a message on the board undercuts. The limits are those of
 * timed_board.h: no message has more than TIMED_BOARD_MESSAGE bytes.
 */
#include <check.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "timed_board.h"
#include "timed_board_priv.h"
#include "../suite.h"

#define LATENCY  10
#define MACHINES 3
#define CHANNELS 4
#define CANARY   0x5a
#define ROUNDS   3000

/* s sends to r, and r to x. */
static const TimedBoardLink links[] = {{"sr", {0, 1}, LATENCY, LATENCY},
                                       {"rx", {1, 2}, LATENCY, LATENCY}};

typedef struct Rig {
    int fd;
    TimedBoard *machine[MACHINES + 1]; /* the last one: the model */
} Rig;

static Rig rig_new(void)
{
    Rig rig = {.fd = timed_board_new(MACHINES, links, 2)};

    ck_assert_int_ge(rig.fd, 0);
    for (unsigned i = 0; i < MACHINES; i++) {
        rig.machine[i] = timed_board_open(rig.fd, i);
        ck_assert_ptr_nonnull(rig.machine[i]);
    }
    rig.machine[MACHINES] = timed_board_open_model(rig.fd);
    ck_assert_ptr_nonnull(rig.machine[MACHINES]);
    timed_board_add_model(rig.machine[MACHINES]);
    return rig;
}

static void rig_free(Rig *rig)
{
    for (unsigned i = 0; i <= MACHINES; i++) {
        timed_board_close(rig->machine[i]);
    }
    close(rig->fd);
}

static int64_t now_ms(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

/* Puts a message and a crossing on each channel. */
static void fill(Rig *rig)
{
    static const uint8_t bytes[100];
    const TimedCrossing crossing = {.kind = TIMED_CROSSING_WRITE, .bytes = 4};

    for (unsigned c = 0; c < CHANNELS; c++) {
        TimedBoard *from = rig->machine[timed_board_source(rig->machine[0], c)];

        ck_assert(timed_board_send(from, c, 5, bytes, sizeof(bytes)));
        ck_assert(timed_board_cross(from, c, 6, &crossing, bytes, 50));
    }
}

static struct {
    TimedBoardMessage message;
    uint8_t after_message[64];
    TimedCrossing crossing;
    uint8_t bytes[TIMED_BOARD_MESSAGE];
    uint8_t after_bytes[64];
} got;

static void is_intact(const uint8_t *canary)
{
    for (unsigned i = 0; i < 64; i++) {
        ck_assert_uint_eq(canary[i], CANARY);
    }
}

/* All that a machine does in a turn */
static void use_as_machine(TimedBoard *board)
{
    const TimedCrossing crossing = {.kind = TIMED_CROSSING_READ, .bytes = 8};

    timed_board_report(board, 7, 8);
    timed_board_wait(board, 8, 1, 0);
    for (unsigned c = 0; c < CHANNELS; c++) {
        unsigned n = 0;

        while (timed_board_is_inbound(board, c) &&
               timed_board_take(board, c, &got.message)) {
            ck_assert_uint_le(got.message.size, TIMED_BOARD_MESSAGE);
            /* A ring does not hold more of the shortest ones. */
            ck_assert_uint_le(++n, RING / sizeof(Head));
        }
        if (timed_board_source(board, c) == board->self) {
            timed_board_set_up(board, c, 8, true);
            timed_board_send(board, c, 8, "x", 1);
            timed_board_cross(board, c, 8, &crossing, "y", 1);
        }
        timed_board_departures(board, c);
        timed_board_returns(board, c);
    }
    timed_board_accepted(board);
    timed_board_go_on(board);
    timed_board_report(board, 9, 10);
    is_intact(got.after_message);
}

static void use_as_model(TimedBoard *board)
{
    int64_t bounds[CHANNELS] = {20, 20, 20, 20};
    int64_t accepts[MACHINES] = {-1, -1, 20};
    unsigned n = 0;

    while (timed_board_take_crossing(board, &got.crossing, got.bytes)) {
        ck_assert_uint_le(got.crossing.size, TIMED_BOARD_MESSAGE);
        ck_assert_uint_le(got.crossing.bytes, TIMED_BOARD_MESSAGE);
        ck_assert_uint_lt(got.crossing.channel, CHANNELS);
        ck_assert_uint_eq(got.crossing.machine,
                          timed_board_source(board, got.crossing.channel));
        ck_assert_uint_le(got.crossing.kind, TIMED_CROSSING_PLACE);
        ck_assert_int_ge(got.crossing.time, 0);
        ck_assert_int_ge(got.crossing.least, got.crossing.time);
        ck_assert_uint_lt(strnlen(got.crossing.device, TIMED_BOARD_DEVICE),
                          TIMED_BOARD_DEVICE);
        ck_assert_uint_le(++n, CHANNELS * RING / sizeof(TimedCrossing));
    }
    timed_board_report_model(board, bounds, accepts);
    timed_board_wait(board, 8, 1, 0);
    timed_board_deliver(board, 0, 30, "z", 1);
    timed_board_accept(board, 2, 30);
    is_intact(got.after_bytes);
}

static void use_all(Rig *rig)
{
    memset(got.after_message, CANARY, sizeof(got.after_message));
    memset(got.after_bytes, CANARY, sizeof(got.after_bytes));
    for (unsigned i = 0; i < MACHINES; i++) {
        use_as_machine(rig->machine[i]);
    }
    use_as_model(rig->machine[MACHINES]);
    timed_board_all_stand(rig->machine[0]);
    for (unsigned i = 0; i <= MACHINES; i++) {
        rig->machine[i]->error = NULL;
    }
}

/* The bytes that a test puts back: the head, and the used beginning of each
 * ring. */
#define USED 4096

typedef struct Saved {
    uint8_t head[sizeof(Shared)];
    uint8_t rings[2 * CHANNELS][USED];
} Saved;

static void save(const Rig *rig, Saved *saved)
{
    const Shared *s = rig->machine[0]->shared;

    memcpy(saved->head, s, sizeof(*s));
    for (unsigned i = 0; i < 2 * CHANNELS; i++) {
        memcpy(saved->rings[i], s->rings[i], USED);
    }
}

static void restore(Rig *rig, const Saved *saved)
{
    Shared *s = rig->machine[0]->shared;

    memcpy(s, saved->head, sizeof(*s));
    for (unsigned i = 0; i < 2 * CHANNELS; i++) {
        memcpy(s->rings[i], saved->rings[i], USED);
    }
}

/* Writes each of these values over a word, and uses the board. */
static void damage(Rig *rig, const Saved *saved, void *word)
{
    static const uint32_t values[] = {0,          1,          24,        0x2001,
                                      0x7fffffff, 0x80000000, 0xffffffff};

    for (unsigned i = 0; i < sizeof(values) / sizeof(*values); i++) {
        restore(rig, saved);
        memcpy(word, &values[i], sizeof(values[i]));
        use_all(rig);
    }
}

START_TEST(test_each_word)
{
    static Saved saved;
    Rig rig = rig_new();
    Shared *s = rig.machine[0]->shared;
    uint8_t *at;

    fill(&rig);
    save(&rig, &saved);
    /* The lock has a test of its own: it takes time. */
    for (at = (uint8_t *)s; at < (uint8_t *)&s->machine[MACHINES + 1];
         at += 4) {
        if (at != (uint8_t *)&s->lock) {
            damage(&rig, &saved, at);
        }
    }
    for (at = (uint8_t *)s->channel; at < (uint8_t *)&s->channel[CHANNELS];
         at += 4) {
        damage(&rig, &saved, at);
    }
    for (unsigned ring = 0; ring < 2 * CHANNELS; ring++) {
        for (unsigned i = 0; i < 128; i += 4) {
            damage(&rig, &saved, s->rings[ring] + i);
        }
    }
    rig_free(&rig);
}
END_TEST

START_TEST(test_random)
{
    static Saved saved;
    Rig rig = rig_new();
    Shared *s = rig.machine[0]->shared;
    uint32_t lock;

    srandom(1);
    fill(&rig);
    save(&rig, &saved);
    for (unsigned round = 0; round < ROUNDS; round++) {
        restore(&rig, &saved);
        for (unsigned n = (unsigned)random() % 8; n < 8; n++) {
            uint8_t *places[] = {(uint8_t *)s->machine, (uint8_t *)s->channel,
                                 s->rings[random() % (2 * CHANNELS)]};
            const size_t sizes[] = {sizeof(Machine) * (MACHINES + 1),
                                    sizeof(Channel) * CHANNELS, 256};
            unsigned which = (unsigned)random() % 3;

            lock = s->lock;
            places[which][(size_t)random() % sizes[which]] = (uint8_t)random();
            s->lock = lock;
        }
        use_all(&rig);
    }
    rig_free(&rig);
}
END_TEST

/* A size that the receiver would copy over its own memory. */
START_TEST(test_long_message)
{
    Rig rig = rig_new();
    Shared *s = rig.machine[0]->shared;
    Head head;

    fill(&rig);
    memcpy(&head, s->rings[0], sizeof(head));
    head.size = TIMED_BOARD_MESSAGE + 1;
    memcpy(s->rings[0], &head, sizeof(head));
    s->channel[0].written = s->channel[0].taken + board_room(head.size);
    ck_assert(!timed_board_take(rig.machine[1], 0, &got.message));
    ck_assert_ptr_nonnull(timed_board_error(rig.machine[1]));
    /* The rings of others are not touched. */
    ck_assert_ptr_null(timed_board_error(rig.machine[2]));
    ck_assert(timed_board_take(rig.machine[2], 2, &got.message));
    rig_free(&rig);
}
END_TEST

/* A crossing that is too long for the model's buffer, although as much waits;
 * one of which only a part waits; and one whose device's name has no end. */
START_TEST(test_no_crossing)
{
    static const uint32_t sizes[] = {TIMED_BOARD_MESSAGE + 1,
                                     TIMED_BOARD_MESSAGE, 100};
    static const uint8_t bytes[5000];
    const TimedCrossing crossing = {.kind = TIMED_CROSSING_WRITE, .bytes = 4};
    Rig rig = rig_new();
    uint8_t *ring = rig.machine[0]->shared->rings[CHANNELS];

    /* Two waiting crossings have more bytes than the long one says. */
    for (int i = 0; i < 2 - _i % 2; i++) {
        ck_assert(timed_board_cross(rig.machine[0], 0, 6, &crossing, bytes,
                                    sizeof(bytes)));
    }
    memcpy(ring + offsetof(TimedCrossing, size), &sizes[_i], sizeof(*sizes));
    memset(ring + offsetof(TimedCrossing, device), _i == 2 ? 'x' : 0,
           TIMED_BOARD_DEVICE);
    ck_assert(!timed_board_take_crossing(rig.machine[MACHINES], &got.crossing,
                                         got.bytes));
    ck_assert_ptr_nonnull(timed_board_error(rig.machine[MACHINES]));
    rig_free(&rig);
}
END_TEST

/* Counts that lie between two units: no message begins there. */
START_TEST(test_split_counts)
{
    Rig rig = rig_new();
    Channel *c = &rig.machine[0]->shared->channel[0];

    fill(&rig);
    /* The bytes from the second of a head on look like a head of size 0. */
    c->written += 1;
    c->taken += _i;
    ck_assert(!timed_board_take(rig.machine[1], 0, &got.message));
    ck_assert_ptr_nonnull(timed_board_error(rig.machine[1]));
    rig_free(&rig);
}
END_TEST

/* A ring takes what it holds, and no message that is too long. What it took
 * comes out whole. */
START_TEST(test_full_ring)
{
    static uint8_t bytes[TIMED_BOARD_MESSAGE + 1];
    const TimedCrossing crossing = {.kind = TIMED_CROSSING_WRITE, .bytes = 4};
    Rig rig = rig_new();
    unsigned put = 0, n;

    ck_assert(!timed_board_cross(rig.machine[0], 0, 6, &crossing, bytes,
                                 sizeof(bytes)));
    ck_assert(!timed_board_send(rig.machine[0], 0, 6, bytes, sizeof(bytes)));
    do {
        memset(bytes, (int)put, TIMED_BOARD_MESSAGE);
        ck_assert_uint_le(put * TIMED_BOARD_MESSAGE, RING);
    } while (timed_board_cross(rig.machine[0], 0, 6, &crossing, bytes,
                               TIMED_BOARD_MESSAGE) &&
             ++put);
    /* Each has a head: so fewer than 128 fit, and few less. */
    ck_assert_uint_ge(put, RING / TIMED_BOARD_MESSAGE - 8);
    for (n = 0; timed_board_take_crossing(rig.machine[MACHINES], &got.crossing,
                                          got.bytes);
         n++) {
        memset(bytes, (int)n, TIMED_BOARD_MESSAGE);
        ck_assert_uint_eq(got.crossing.size, TIMED_BOARD_MESSAGE);
        ck_assert_mem_eq(got.bytes, bytes, TIMED_BOARD_MESSAGE);
    }
    ck_assert_uint_eq(n, put);
    ck_assert_ptr_null(timed_board_error(rig.machine[0]));
    rig_free(&rig);
}
END_TEST

/* A board that is none: each field with a value that the others cannot have. */
static void spoil(Shared *s, int field)
{
    switch (field) {
    case 0:
        s->magic++;
        break;
    case 1:
        s->version++;
        break;
    case 2:
        s->size += RING;
        break;
    case 3:
        s->machines = 0;
        break;
    case 4:
        s->machines = TIMED_BOARD_MACHINES + 1;
        break;
    case 5:
        s->channels -= 2;
        break;
    case 6:
        memset(s->channel[3].name, 'x', TIMED_BOARD_NAME);
        break;
    case 7:
        s->channel[3].from = MACHINES;
        break;
    case 8:
        s->channel[3].to = MACHINES;
        break;
    case 9:
        s->channel[3].to = s->channel[3].from;
        break;
    case 10:
        s->channel[3].latency_ns = 0;
        break;
    case 11:
        s->channel[3].latency_ns = TIMED_BOARD_NEVER;
        break;
    }
}

START_TEST(test_open_damaged)
{
    Rig rig = rig_new();

    spoil(rig.machine[0]->shared, _i);
    ck_assert_ptr_null(timed_board_open_model(rig.fd));
    ck_assert_int_eq(errno, EINVAL);
    ck_assert(_i == 3 || !timed_board_open(rig.fd, 0));
    rig_free(&rig);
}
END_TEST

/* More channels than a process has room for, in a file that has them all; and
 * a file that ends in the head. */
START_TEST(test_open_wrong_size)
{
    Rig rig = rig_new();
    Shared *s = rig.machine[0]->shared;
    size_t size;

    s->channels = 2 * TIMED_BOARD_LINKS + 2;
    size = sizeof(*s) + (size_t)s->channels * 2 * RING;
    if (_i == 1) {
        size = 4096;
        s->channels = 0;
    }
    s->size = size;
    for (unsigned i = CHANNELS; i < 2 * TIMED_BOARD_LINKS; i++) {
        s->channel[i] = s->channel[0];
    }
    ck_assert_int_eq(ftruncate(rig.fd, (off_t)size), 0);
    ck_assert_ptr_null(timed_board_open_model(rig.fd));
    close(rig.fd);
}
END_TEST

/* A lock that nobody gives back: whoever looks on has an answer at once, and a
 * machine does not go on without it. */
START_TEST(test_lock_not_given_back)
{
    Rig rig = rig_new();
    int64_t begin = now_ms();

    rig.machine[0]->shared->lock = 77;
    ck_assert(!timed_board_all_stand(rig.machine[0]));
    ck_assert_int_lt(now_ms() - begin, 1000);
    ck_assert_ptr_null(timed_board_error(rig.machine[0]));
    ck_assert(!timed_board_send(rig.machine[0], 0, 5, "x", 1));
    ck_assert_ptr_nonnull(timed_board_error(rig.machine[0]));
    ck_assert_uint_eq(rig.machine[0]->shared->channel[0].written, 0);
    ck_assert_int_lt(now_ms() - begin, 2 * BOARD_PATIENCE_MS);
    rig_free(&rig);
}
END_TEST

/* A machine that is killed while it has the lock */
START_TEST(test_holder_ends)
{
    Rig rig = rig_new();
    pid_t pid = fork();

    if (pid == 0) {
        board_lock(rig.machine[0]);
        kill(getpid(), SIGKILL);
    }
    ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
    ck_assert(!timed_board_all_stand(rig.machine[1]));
    timed_board_leave(rig.machine[1], 0);
    ck_assert(timed_board_send(rig.machine[1], 2, 5, "x", 1));
    ck_assert(timed_board_take(rig.machine[2], 2, &got.message));
    ck_assert_ptr_null(timed_board_error(rig.machine[1]));
    rig_free(&rig);
}
END_TEST

static void send_traced(Rig *rig, bool crosses)
{
    const TimedCrossing crossing = {.kind = TIMED_CROSSING_WRITE, .bytes = 4};

    ptrace(PTRACE_TRACEME, 0, NULL, NULL);
    raise(SIGSTOP);
    if (crosses) {
        timed_board_cross(rig->machine[0], 0, 5, &crossing, "x", 1);
    } else {
        timed_board_send(rig->machine[0], 0, 5, "x", 1);
    }
    raise(SIGSTOP);
    _exit(0);
}

/* Ends the sender after @steps instructions. False if it was done by then. */
static bool kill_after(Rig *rig, unsigned steps, bool crosses)
{
    pid_t pid = fork();
    int status;
    bool is_done = false;

    if (pid == 0) {
        send_traced(rig, crosses);
    }
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    for (unsigned i = 0; i < steps && !is_done; i++) {
        ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL);
        waitpid(pid, &status, 0);
        is_done = WSTOPSIG(status) == SIGSTOP;
    }
    kill(pid, SIGKILL);
    waitpid(pid, &status, 0);
    return !is_done;
}

/*
 * r waits for messages alone. Wherever s ends: if its message is there, x must
 * not go on before r could have answered it.
 */
static bool is_causal(unsigned steps, bool crosses)
{
    const int64_t accepts[MACHINES] = {-1, -1, -1};
    const int64_t bounds[CHANNELS] = {TIMED_BOARD_NEVER, TIMED_BOARD_NEVER,
                                      TIMED_BOARD_NEVER, TIMED_BOARD_NEVER};
    Rig rig = rig_new();
    bool is_cut, is_there;
    int64_t horizon;

    if (crosses) {
        timed_board_set_up(rig.machine[0], 0, 0, true);
        timed_board_report_model(rig.machine[MACHINES], bounds, accepts);
    }
    timed_board_report(rig.machine[0], 5, 5);
    timed_board_report(rig.machine[1], 0, TIMED_BOARD_NEVER);
    is_cut = kill_after(&rig, steps, crosses);
    timed_board_leave(rig.machine[2], 0);
    horizon = timed_board_report(rig.machine[2], 0, 0);
    is_there = crosses ? timed_board_take_crossing(rig.machine[MACHINES],
                                                   &got.crossing, got.bytes)
                       : timed_board_take(rig.machine[1], 0, &got.message);
    ck_assert_msg(!is_there || horizon <= 5 + 2 * LATENCY,
                  "after %u instructions the horizon is %lld", steps,
                  (long long)horizon);
    rig_free(&rig);
    return is_cut;
}

START_TEST(test_sender_ends_anywhere)
{
    unsigned steps = 0;

    while (is_causal(steps, _i == 1)) {
        steps += 37;
    }
    ck_assert_uint_gt(steps, 500);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("timed_board_damage");
    TCase *cases = tcase_create("damage");

    tcase_set_timeout(cases, 60);
    tcase_add_test(cases, test_each_word);
    tcase_add_test(cases, test_random);
    tcase_add_test(cases, test_long_message);
    tcase_add_loop_test(cases, test_no_crossing, 0, 3);
    tcase_add_loop_test(cases, test_split_counts, 0, 2);
    tcase_add_test(cases, test_full_ring);
    tcase_add_loop_test(cases, test_open_damaged, 0, 12);
    tcase_add_loop_test(cases, test_open_wrong_size, 0, 2);
    tcase_add_test(cases, test_lock_not_given_back);
    tcase_add_test(cases, test_holder_ends);
    tcase_add_loop_test(cases, test_sender_ends_anywhere, 0, 2);
    suite_add_tcase(suite, cases);
    return run_suite(suite);
}
