/* SPDX-License-Identifier: MIT */
/*
 * Runs the guest agent on this host, connected by a socket. Invariant: output,
 * input, signals and exit status of a program are those of a local program,
 * whatever other sessions do and whatever bytes arrive. A new epoch finds no
 * session of the one before.
 */
#include <check.h>
#include <errno.h>
#include <glib.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clu_agent.h"
#include "../suite.h"

#define PATIENCE_MS 20000

static GPid agent;
static int line = -1;
static CluAgentReader reader;
static GByteArray *heard; /* bytes not yet fed to the frame reader */

/* The frames of a session so far. */
typedef struct Told {
    uint32_t pid;
    int failed;
    GByteArray *out[2];
    bool is_over;
    uint32_t status;
    uint32_t signal;
    int64_t room; /* bytes of input that may be sent: credit */
    bool is_read; /* the test gives credit for the output it receives */
} Told;

static GHashTable *sessions;
static uint64_t epoch_heard;
static unsigned pongs;

static void told_free(gpointer data)
{
    Told *told = data;

    g_byte_array_unref(told->out[0]);
    g_byte_array_unref(told->out[1]);
    g_free(told);
}

static Told *told(uint32_t id)
{
    Told *session = g_hash_table_lookup(sessions, GUINT_TO_POINTER(id));

    if (!session) {
        session = g_new0(Told, 1);
        session->out[0] = g_byte_array_new();
        session->out[1] = g_byte_array_new();
        session->room = CLU_AGENT_WINDOW;
        session->is_read = true;
        g_hash_table_insert(sessions, GUINT_TO_POINTER(id), session);
    }
    return session;
}

/* Receives bytes, waiting at most @wait_ms for the first, and keeps them for
 * hear(). */
static void receive(int wait_ms)
{
    struct pollfd poll_line = {line, POLLIN, 0};
    uint8_t data[65536];
    ssize_t n;

    if (poll(&poll_line, 1, wait_ms) > 0) {
        n = recv(line, data, sizeof data, MSG_DONTWAIT);
        ck_assert_int_gt(n, 0);
        g_byte_array_append(heard, data, n);
    }
}

/* Sends bytes. Handles no frame meanwhile: the reply to it would be sent in the
 * middle of @data. */
static void put(const void *data, size_t length)
{
    const uint8_t *at = data;

    while (length > 0) {
        ssize_t n = send(line, at, length, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (n < 0) {
            ck_assert_int_eq(errno, EAGAIN);
            receive(10);
            continue;
        }
        at += n;
        length -= n;
    }
}

static void say(CluAgentType type, uint32_t id, const void *body,
                uint32_t length)
{
    g_autofree uint8_t *coded = g_malloc(CLU_AGENT_CODED_MAX);

    put(coded, clu_agent_encode(coded, type, id, body, length));
}

static void say_numbers(CluAgentType type, uint32_t id, uint32_t a, uint32_t b,
                        uint32_t length)
{
    uint8_t body[8];

    clu_agent_put32(body, a);
    clu_agent_put32(body + 4, b);
    say(type, id, body, length);
}

static void sync_with(uint64_t epoch)
{
    uint8_t body[8];

    clu_agent_put64(body, epoch);
    put("", 1);
    say(CLU_AGENT_SYNC, 0, body, sizeof body);
}

#define EXEC(id, text) say(CLU_AGENT_EXEC, id, text, sizeof(text))

static void take_data(const CluAgentFrame *frame)
{
    Told *session = told(frame->session);

    g_byte_array_append(session->out[frame->type - CLU_AGENT_STDOUT],
                        frame->body, frame->length);
    if (session->is_read) {
        say_numbers(CLU_AGENT_CREDIT, frame->session, frame->type,
                    frame->length, 8);
    }
}

static void take(const CluAgentFrame *frame)
{
    Told *session;

    if (frame->type == CLU_AGENT_HELLO) {
        ck_assert_uint_gt(frame->length, 8);
        epoch_heard = clu_agent_get64(frame->body);
        return;
    }
    if (frame->type == CLU_AGENT_PONG) {
        pongs++;
        return;
    }
    session = told(frame->session);
    ck_assert(!session->is_over);
    switch (frame->type) {
    case CLU_AGENT_STARTED:
        session->pid = clu_agent_get32(frame->body);
        break;
    case CLU_AGENT_FAILED:
        session->failed = clu_agent_get32(frame->body);
        session->is_over = true;
        break;
    case CLU_AGENT_STDOUT:
    case CLU_AGENT_STDERR:
        take_data(frame);
        break;
    case CLU_AGENT_EXIT:
        session->status = clu_agent_get32(frame->body);
        session->signal = clu_agent_get32(frame->body + 4);
        session->is_over = true;
        break;
    case CLU_AGENT_CREDIT:
        ck_assert_uint_eq(clu_agent_get32(frame->body), CLU_AGENT_STDIN);
        session->room += clu_agent_get32(frame->body + 4);
        ck_assert_int_le(session->room, CLU_AGENT_WINDOW);
        break;
    default:
        ck_abort_msg("frame of type %u", frame->type);
    }
}

/* Handles received frames, waiting at most @wait_ms for the first bytes. */
static void hear(int wait_ms)
{
    uint8_t data[65536];
    CluAgentFrame frame;
    bool found;

    receive(heard->len > 0 ? 0 : wait_ms);
    while (heard->len > 0) {
        /* A copy: the reply to a frame may append to @heard. */
        size_t n = MIN(heard->len, sizeof data);
        memcpy(data, heard->data, n);
        n = clu_agent_reader_feed(&reader, data, n, &found, &frame);
        g_byte_array_remove_range(heard, 0, n);
        if (found) {
            take(&frame);
        }
    }
}

#define UNTIL(condition)                                                       \
    do {                                                                       \
        gint64 end = g_get_monotonic_time() + PATIENCE_MS * 1000;              \
        while (!(condition)) {                                                 \
            ck_assert_msg(g_get_monotonic_time() < end, "not in time: %s",     \
                          #condition);                                         \
            hear(20);                                                          \
        }                                                                      \
    } while (0)

static void start_agent(void)
{
    int ends[2];

    epoch_heard = ~0ull;
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    agent = fork();
    if (agent == 0) {
        dup2(ends[1], STDIN_FILENO);
        close(ends[0]);
        close(ends[1]);
        execl(g_getenv("AGENT"), "agent", "--stdin", (char *)NULL);
        _exit(127);
    }
    close(ends[1]);
    line = ends[0];
    clu_agent_reader_init(&reader);
    heard = g_byte_array_new();
    sessions = g_hash_table_new_full(NULL, NULL, NULL, told_free);
    UNTIL(epoch_heard == 0);
    sync_with(1);
    UNTIL(epoch_heard == 1);
}

/* The agent exits when its line is closed. No sanitizer must have stopped it.
 */
static void stop_agent(void)
{
    int status;

    close(line);
    ck_assert_int_eq(waitpid(agent, &status, 0), agent);
    ck_assert(WIFEXITED(status));
    ck_assert_int_eq(WEXITSTATUS(status), 1);
    g_hash_table_unref(sessions);
    g_byte_array_unref(heard);
}

static void ck_assert_text(uint32_t id, int which, const char *text)
{
    GByteArray *bytes = told(id)->out[which];

    ck_assert_uint_eq(bytes->len, strlen(text));
    ck_assert(bytes->len == 0 || memcmp(bytes->data, text, bytes->len) == 0);
}

static bool is_running(pid_t pid)
{
    g_autofree char *path = g_strdup_printf("/proc/%d/stat", pid);
    g_autofree char *text = NULL;

    return g_file_get_contents(path, &text, NULL, NULL) &&
           !strstr(text, ") Z ");
}

START_TEST(test_output_and_status)
{
    EXEC(1, "sh\0-c\0echo out; echo err >&2; exit 7");
    UNTIL(told(1)->is_over);
    ck_assert_uint_gt(told(1)->pid, 0);
    ck_assert_text(1, 0, "out\n");
    ck_assert_text(1, 1, "err\n");
    ck_assert_uint_eq(told(1)->status, 7);
    ck_assert_uint_eq(told(1)->signal, 0);

    EXEC(2, "printf\0%s|\0a b\0\0c");
    UNTIL(told(2)->is_over);
    ck_assert_text(2, 0, "a b||c|");

    EXEC(3, "sh\0-c\0kill -SEGV $$");
    UNTIL(told(3)->is_over);
    ck_assert_uint_eq(told(3)->signal, SIGSEGV);

    /* Frames for a session that is over are ignored. */
    say(CLU_AGENT_STDIN, 3, "x", 1);
    say_numbers(CLU_AGENT_SIGNAL, 3, SIGKILL, 0, 4);
    say(CLU_AGENT_PING, 0, "12345678", 8);
    UNTIL(pongs == 1);
}
END_TEST

START_TEST(test_what_cannot_start)
{
    EXEC(1, "/does/not/exist");
    EXEC(2, "");
    say(CLU_AGENT_EXEC, 3, "true", 4); /* without a final 0 */
    say(CLU_AGENT_EXEC, 4, NULL, 0);
    EXEC(5, "/etc/passwd");
    UNTIL(told(5)->is_over);
    ck_assert_int_eq(told(1)->failed, ENOENT);
    ck_assert_int_eq(told(2)->failed, EINVAL);
    ck_assert_int_eq(told(3)->failed, EINVAL);
    ck_assert_int_eq(told(4)->failed, EINVAL);
    ck_assert_int_eq(told(5)->failed, EACCES);
}
END_TEST

START_TEST(test_signal_reaches_the_group)
{
    EXEC(1, "sh\0-c\0sleep 1000 & echo $!; wait");
    UNTIL(told(1)->out[0]->len > 0 && told(1)->out[0]->data);
    pid_t child = atoi((char *)told(1)->out[0]->data);
    ck_assert(is_running(child));
    say_numbers(CLU_AGENT_SIGNAL, 1, 9999, 0, 4); /* no such signal */
    say_numbers(CLU_AGENT_SIGNAL, 1, SIGTERM, 0, 4);
    UNTIL(told(1)->is_over);
    ck_assert_uint_eq(told(1)->signal, SIGTERM);
    UNTIL(!is_running(child));
}
END_TEST

/* Sends @data as a supervisor does: no more than the credit allows, which a
 * session that is over gives no longer. */
static void pump(uint32_t id, GRand *rand, const uint8_t *data, size_t length)
{
    size_t at = 0;

    while (at < length && !told(id)->is_over) {
        size_t most = g_rand_int_range(rand, 1, CLU_AGENT_BODY_MAX + 1);
        size_t part = MIN(length - at, MIN(most, (size_t)told(id)->room));

        if (part > 0) {
            told(id)->room -= part;
            say(CLU_AGENT_STDIN, id, data + at, part);
            at += part;
        }
        hear(part > 0 ? 0 : 20);
    }
    say(CLU_AGENT_STDIN_EOF, id, NULL, 0);
}

START_TEST(test_much_data_both_ways)
{
    g_autoptr(GRand) rand = g_rand_new_with_seed(4);
    size_t length = 8 * 1024 * 1024 + 17;
    g_autofree uint8_t *data = g_malloc(length);

    for (size_t i = 0; i < length; i++) {
        data[i] =
            g_rand_int_range(rand, 0, 256) & g_rand_int_range(rand, 0, 256);
    }
    EXEC(1, "sh\0-c\0tee /dev/stderr");
    pump(1, rand, data, length);
    UNTIL(told(1)->is_over);
    ck_assert_uint_eq(told(1)->signal, 0);
    ck_assert_uint_eq(told(1)->status, 0);
    for (int i = 0; i < 2; i++) {
        ck_assert_uint_eq(told(1)->out[i]->len, length);
        ck_assert_mem_eq(told(1)->out[i]->data, data, length);
    }
}
END_TEST

START_TEST(test_input_that_nobody_reads)
{
    g_autoptr(GRand) rand = g_rand_new_with_seed(5);
    g_autofree uint8_t *data = g_malloc0(1 << 20);

    EXEC(1, "sh\0-c\0exec <&-; sleep 0.3; echo over");
    pump(1, rand, data, 1 << 20);
    UNTIL(told(1)->is_over);
    ck_assert_text(1, 0, "over\n");
}
END_TEST

START_TEST(test_slow_session_holds_up_no_other)
{
    told(1)->is_read = false;
    EXEC(1, "cat\0/dev/zero");
    UNTIL(told(1)->out[0]->len == CLU_AGENT_WINDOW);
    for (uint32_t id = 2; id <= CLU_AGENT_SESSION_MAX; id++) {
        EXEC(id, "sh\0-c\0head -c 300000 /dev/zero; read line; echo $line");
    }
    EXEC(CLU_AGENT_SESSION_MAX + 1, "true");
    UNTIL(told(CLU_AGENT_SESSION_MAX + 1)->is_over);
    ck_assert_int_eq(told(CLU_AGENT_SESSION_MAX + 1)->failed, EAGAIN);
    for (uint32_t id = 2; id <= CLU_AGENT_SESSION_MAX; id++) {
        say(CLU_AGENT_STDIN, id, "hi\n", 3);
    }
    for (uint32_t id = 2; id <= CLU_AGENT_SESSION_MAX; id++) {
        UNTIL(told(id)->is_over);
        ck_assert_uint_eq(told(id)->out[0]->len, 300003);
    }
    ck_assert_uint_eq(told(1)->out[0]->len, CLU_AGENT_WINDOW);
    say_numbers(CLU_AGENT_CREDIT, 1, CLU_AGENT_STDOUT, 1000, 8);
    UNTIL(told(1)->out[0]->len == CLU_AGENT_WINDOW + 1000);
    say_numbers(CLU_AGENT_CREDIT, 1, CLU_AGENT_STDOUT, UINT32_MAX, 8);
    UNTIL(told(1)->out[0]->len == 2 * CLU_AGENT_WINDOW + 1000);
    say_numbers(CLU_AGENT_SIGNAL, 1, SIGKILL, 0, 4);
    told(1)->is_read = true;
    say_numbers(CLU_AGENT_CREDIT, 1, CLU_AGENT_STDOUT, CLU_AGENT_WINDOW, 8);
    UNTIL(told(1)->is_over);
    ck_assert_uint_eq(told(1)->signal, SIGKILL);
}
END_TEST

START_TEST(test_more_input_than_credit)
{
    g_autofree uint8_t *data = g_malloc0(65536);

    EXEC(1, "sleep\0001000");
    for (int i = 0; i < 8; i++) {
        told(1)->room -= 65536;
        say(CLU_AGENT_STDIN, 1, data, 65536);
    }
    UNTIL(told(1)->is_over);
    ck_assert_uint_eq(told(1)->signal, SIGKILL);
}
END_TEST

START_TEST(test_background_does_not_hold)
{
    EXEC(1, "sh\0-c\0(sleep 1000; echo never) & echo $!");
    UNTIL(told(1)->is_over);
    pid_t child = atoi((char *)told(1)->out[0]->data);
    ck_assert(is_running(child));
    kill(child, SIGKILL);

    /* All output that the program wrote before it ended arrives, in order. */
    told(2)->is_read = false;
    EXEC(2, "sh\0-c\0head -c 320000 /dev/zero; echo end");
    UNTIL(told(2)->out[0]->len == CLU_AGENT_WINDOW);
    g_usleep(100000);
    say_numbers(CLU_AGENT_CREDIT, 2, CLU_AGENT_STDOUT, CLU_AGENT_WINDOW, 8);
    UNTIL(told(2)->is_over);
    ck_assert_uint_eq(told(2)->out[0]->len, 320004);
}
END_TEST

START_TEST(test_new_epoch)
{
    static const uint8_t later[] = {0x02, 0x02, 0x01, 0x01, 0x02, 0x07,
                                    0x01, 0x01, 0x02, 0x02, 0x02, 0x02,
                                    0x03, 0x68, 0x69, 0x00};
    uint8_t half[CLU_AGENT_CODED_MAX];
    size_t length;

    EXEC(1, "sh\0-c\0trap '' TERM HUP; sleep 1000 & cat");
    EXEC(2, "cat\0/dev/zero");
    UNTIL(told(1)->pid > 0 && told(2)->out[0]->len > 0);
    pid_t pids[] = {told(1)->pid, told(2)->pid};

    /* Part of a frame that would run a command, then a new supervisor. */
    length = clu_agent_encode(half, CLU_AGENT_EXEC, 3, "touch\0/tmp/x\0", 13);
    put(half, length - 3);
    sync_with(77);
    /* Frames of the old epoch may arrive before HELLO of the new one. */
    UNTIL(epoch_heard == 77);
    g_hash_table_remove_all(sessions);
    UNTIL(!is_running(pids[0]) && !is_running(pids[1]));

    EXEC(1, "echo\0again");
    UNTIL(told(1)->is_over);
    ck_assert_text(1, 0, "again\n");
    ck_assert_uint_eq(g_hash_table_size(sessions), 1);

    /* Epoch 0 is not valid. The agent ignores a PING of version 2. */
    sync_with(0);
    put(later, sizeof later);
    say(CLU_AGENT_PING, 0, "x", 1);
    UNTIL(pongs > 0);
    hear(50);
    ck_assert_uint_eq(pongs, 1);
    ck_assert_uint_eq(epoch_heard, 77);
}
END_TEST

START_TEST(test_line_that_ends)
{
    EXEC(1, "sleep\0001000");
    UNTIL(told(1)->pid > 0);
    shutdown(line, SHUT_WR);
    gint64 end = g_get_monotonic_time() + PATIENCE_MS * 1000;
    while (is_running(told(1)->pid)) {
        ck_assert(g_get_monotonic_time() < end);
        g_usleep(10000);
    }
}
END_TEST

static const struct {
    const char *text;
    uint32_t length;
} programs[] = {
    {"true", 5},           {"cat", 4},       {"sh\0-c\0kill $$", 14},
    {"sleep\0000.01", 11}, {"nonsense", 9},  {"\0\0\0", 3},
    {"no end", 6},         {"echo\0a\0", 7}, {"yes", 4},
};

/* Frames of random types, sessions and lengths, and random bytes. */
START_TEST(test_garbage)
{
    g_autoptr(GRand) rand = g_rand_new_with_seed(_i);
    uint8_t body[2000];
    uint8_t coded[CLU_AGENT_CODED_MAX];

    for (int i = 0; i < 3000; i++) {
        uint32_t id = g_rand_int_range(rand, 0, 40);
        uint32_t length = g_rand_int_range(rand, 0, sizeof body);
        uint32_t type = g_rand_int_range(rand, 2, 40);

        if (g_rand_boolean(rand)) {
            length %= 12;
        }
        for (uint32_t at = 0; at < length; at++) {
            body[at] = g_rand_int_range(rand, 0, 256) & g_rand_int(rand);
        }
        if (type == CLU_AGENT_EXEC) {
            int which = g_rand_int_range(rand, 0, G_N_ELEMENTS(programs));
            length = programs[which].length;
            memcpy(body, programs[which].text, length);
        } else if (type == CLU_AGENT_SIGNAL && g_rand_boolean(rand)) {
            clu_agent_put32(body, g_rand_int_range(rand, 0, 70));
            length = 4;
        } else if (type == CLU_AGENT_CREDIT && g_rand_boolean(rand)) {
            clu_agent_put32(body, g_rand_int_range(rand, 18, 24));
            length = 8;
        }
        length = clu_agent_encode(coded, type, id, body, length);
        if (type != CLU_AGENT_EXEC && g_rand_int_range(rand, 0, 5) == 0) {
            coded[g_rand_int_range(rand, 0, length)] ^=
                1 << g_rand_int_range(rand, 0, 8);
        }
        /* Reads the answers of the agent, but does not check them. */
        for (uint32_t at = 0; at < length;) {
            uint8_t sink[65536];
            ssize_t n = send(line, coded + at, length - at,
                             MSG_DONTWAIT | MSG_NOSIGNAL);
            if (n > 0) {
                at += n;
            }
            recv(line, sink, sizeof sink, MSG_DONTWAIT);
        }
    }

    sync_with(5);
    epoch_heard = 0;
    clu_agent_reader_init(&reader);
    while (epoch_heard != 5) {
        uint8_t data[65536];
        ssize_t n = recv(line, data, sizeof data, 0);
        ck_assert_int_gt(n, 0);
        for (ssize_t at = 0; at < n;) {
            CluAgentFrame frame;
            bool found;
            at += clu_agent_reader_feed(&reader, data + at, n - at, &found,
                                        &frame);
            if (found && frame.type == CLU_AGENT_HELLO) {
                epoch_heard = clu_agent_get64(frame.body);
            }
        }
    }
    EXEC(1, "echo\0still here");
    UNTIL(told(1)->is_over);
    ck_assert_text(1, 0, "still here\n");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("clu_agent");
    TCase *tcase = tcase_create("agent");

    tcase_add_checked_fixture(tcase, start_agent, stop_agent);
    tcase_add_test(tcase, test_output_and_status);
    tcase_add_test(tcase, test_what_cannot_start);
    tcase_add_test(tcase, test_signal_reaches_the_group);
    tcase_add_test(tcase, test_much_data_both_ways);
    tcase_add_test(tcase, test_input_that_nobody_reads);
    tcase_add_test(tcase, test_slow_session_holds_up_no_other);
    tcase_add_test(tcase, test_more_input_than_credit);
    tcase_add_test(tcase, test_background_does_not_hold);
    tcase_add_test(tcase, test_new_epoch);
    tcase_add_test(tcase, test_line_that_ends);
    tcase_add_loop_test(tcase, test_garbage, 0, 4);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
