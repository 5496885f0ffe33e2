/* SPDX-License-Identifier: MIT */
/*
 * Invariant: a supervisor reports the true state of hosts and links, whatever
 * bytes an untrusted guest or a client of its control socket sends. When it has
 * ended, for any reason, nothing of the cluster is left. fake_qemu.c takes the
 * place of QEMU.
 */
#define _GNU_SOURCE
#include <check.h>
#include <fcntl.h>
#include <json-glib/json-glib.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <glib/gstdio.h>

#include "clu_client.h"
#include "clu_control.h"
#include "clu_supervisor.h"
#include "../suite.h"

#define PARTS TOPO_SOURCE_ROOT "/scenarios/parts"

static char *runtime; /* XDG_RUNTIME_DIR of the test */

/* A cluster of two hosts, a and b, joined by `cable`. */
typedef struct Rig {
    TopoDescription *description;
    CluPlan *plan;
    CluDir *dir;
    CluClient *owner;
    char *path;
} Rig;

static void rig_start(Rig *rig, const char *a, const char *b,
                      unsigned silence_ms)
{
    g_autofree char *text = g_strdup_printf(
        "name: rig\nhosts:\n"
        "  - {name: a, cpu: generic-host, devices: [{name: n, part: "
        "generic-ntb, at: rp0}], vm: {append: \"fake=%s\"}}\n"
        "  - {name: b, cpu: generic-host, devices: [{name: n, part: "
        "generic-ntb, at: rp0}], vm: {append: \"fake=%s\"}}\n"
        "links: [{name: cable, ends: [a.n, b.n]}]\n",
        a, b);
    g_autoptr(TopoErrors) errors = topo_errors_new();
    const bool is_kvm[2] = {false, false};
    CluPaths paths[2];
    CluClusterSetup setup = {.is_kvm = is_kvm,
                             .paths = paths,
                             .boot_ms = 20000,
                             .silence_ms = silence_ms};
    int fd;

    memset(rig, 0, sizeof(*rig));
    rig->description =
        topo_load_buffer("rig.yaml", text, strlen(text), PARTS, NULL, errors);
    ck_assert_ptr_nonnull(rig->description);
    rig->plan = clu_plan_new(rig->description, errors);
    ck_assert_ptr_nonnull(rig->plan);
    rig->dir = clu_dir_new("rig", NULL);
    ck_assert_ptr_nonnull(rig->dir);
    rig->path = clu_dir_find("rig");
    for (unsigned i = 0; i < 2; i++) {
        paths[i] = (CluPaths){.qemu = g_getenv("FAKE_QEMU"),
                              .plugin = "plugin",
                              .kernel = "kernel",
                              .initrd = "initrd",
                              .dir = rig->path};
    }
    setup.plan = rig->plan;
    setup.pace = clu_pace_free();
    setup.dir = rig->dir;
    fd = clu_supervisor_start(&setup, NULL);
    ck_assert_int_ge(fd, 0);
    g_clear_pointer(&rig->dir, clu_dir_free);
    rig->owner = clu_client_new(fd);
}

/* Checks that nothing is left: no directory, and no process that has its lock.
 */
static void assert_gone(const Rig *rig)
{
    g_autofree char *base = g_path_get_dirname(rig->path);

    ck_assert(clu_dir_wait_gone(rig->path, 10000));
    for (unsigned i = 0; i < 200 && g_file_test(base, G_FILE_TEST_EXISTS);
         i++) {
        g_usleep(10000);
    }
    ck_assert(!g_file_test(base, G_FILE_TEST_EXISTS));
}

static void rig_end(Rig *rig)
{
    g_clear_pointer(&rig->owner, clu_client_free);
    assert_gone(rig);
    clu_plan_free(rig->plan);
    topo_description_free(rig->description);
    g_free(rig->path);
}

/* Sends a request over the owner's connection. */
static int ask(Rig *rig, GString *out, GError **error, const char *const *words)
{
    CluClientMode mode = {.input = CLU_CLIENT_NO_INPUT, .output = out};

    return clu_client_run(rig->owner, words, &mode, error);
}

#define ASK(RIG, OUT, ERROR, ...)                                              \
    ask(RIG, OUT, ERROR, (const char *const[]){__VA_ARGS__, NULL})

/* The object called @name in the list @list of the status. */
static JsonObject *status_of(Rig *rig, JsonParser *parser, const char *list,
                             const char *name)
{
    g_autoptr(GString) text = g_string_new(NULL);
    JsonArray *members;

    ck_assert_int_eq(ASK(rig, text, NULL, "status"), 0);
    ck_assert(json_parser_load_from_data(parser, text->str, -1, NULL));
    members = json_object_get_array_member(
        json_node_get_object(json_parser_get_root(parser)), list);
    for (unsigned i = 0; i < json_array_get_length(members); i++) {
        JsonObject *member = json_array_get_object_element(members, i);

        if (strcmp(json_object_get_string_member(member, "name"), name) == 0) {
            return member;
        }
    }
    ck_abort_msg("no %s", name);
}

static void assert_state(Rig *rig, const char *list, const char *name,
                         const char *state)
{
    g_autoptr(JsonParser) parser = json_parser_new();

    ck_assert_str_eq(json_object_get_string_member(
                         status_of(rig, parser, list, name), "state"),
                     state);
}

static int64_t number_of(Rig *rig, const char *host, const char *member)
{
    g_autoptr(JsonParser) parser = json_parser_new();

    return json_object_get_int_member(status_of(rig, parser, "hosts", host),
                                      member);
}

static void assert_up(Rig *rig)
{
    GError *error = NULL;
    int status = ASK(rig, NULL, &error, "wait", "5");

    ck_assert_msg(status == 0, "%s", error ? error->message : "?");
    assert_state(rig, "hosts", "a", "up");
    assert_state(rig, "hosts", "b", "up");
    assert_state(rig, "links", "cable", "up");
}

START_TEST(hosts_and_link_come_up)
{
    Rig rig;
    g_autoptr(GString) out = g_string_new(NULL);

    rig_start(&rig, "", "", 20000);
    assert_up(&rig);
    /* The fake's echo ends with 3. */
    ck_assert_int_eq(ASK(&rig, out, NULL, "exec", "a", "echo", "hello"), 3);
    ck_assert_str_eq(out->str, "hello");
    rig_end(&rig);
}
END_TEST

START_TEST(a_reset_machine_is_not_up_before_its_driver)
{
    Rig rig;

    rig_start(&rig, "", "", 20000);
    assert_up(&rig);
    kill((pid_t)number_of(&rig, "b", "pid"), SIGUSR1);
    while (number_of(&rig, "b", "boots") != 2) {
        g_usleep(1000);
    }
    /* Messages of the old agent arrive meanwhile. */
    for (unsigned i = 0; i < 30; i++) {
        assert_state(&rig, "hosts", "b", "booting");
        assert_state(&rig, "links", "cable", "down");
        assert_state(&rig, "hosts", "a", "up");
        g_usleep(10000);
    }
    kill((pid_t)number_of(&rig, "b", "pid"), SIGUSR2);
    assert_up(&rig);
    ck_assert_int_eq(number_of(&rig, "b", "boots"), 2);
    rig_end(&rig);
}
END_TEST

START_TEST(a_killed_host_is_dead_and_can_be_restarted)
{
    Rig rig;

    rig_start(&rig, "", "", 20000);
    assert_up(&rig);
    ck_assert_int_eq(ASK(&rig, NULL, NULL, "kill", "b"), 0);
    assert_state(&rig, "hosts", "b", "dead");
    assert_state(&rig, "links", "cable", "down");
    ck_assert_int_eq(number_of(&rig, "b", "pid"), 0);
    ck_assert_int_eq(ASK(&rig, NULL, NULL, "exec", "b", "echo"),
                     CLU_CONTROL_LOST);
    ck_assert_int_eq(ASK(&rig, NULL, NULL, "restart", "b"), 0);
    assert_up(&rig);
    rig_end(&rig);
}
END_TEST

/* The state of the end of `cable` at host @index. */
static void assert_end(Rig *rig, unsigned index, const char *state)
{
    g_autoptr(JsonParser) parser = json_parser_new();
    JsonArray *ends = json_object_get_array_member(
        status_of(rig, parser, "links", "cable"), "ends");

    ck_assert_str_eq(json_object_get_string_member(
                         json_array_get_object_element(ends, index), "state"),
                     state);
}

START_TEST(an_end_at_a_panicked_host_is_not_up)
{
    Rig rig;

    rig_start(&rig, "", "", 20000);
    assert_up(&rig);
    assert_end(&rig, 1, "up");
    kill((pid_t)number_of(&rig, "b", "pid"), SIGHUP);
    for (unsigned i = 0; i < 2000; i++) {
        g_autoptr(JsonParser) parser = json_parser_new();
        JsonObject *b = status_of(&rig, parser, "hosts", "b");

        if (strcmp(json_object_get_string_member(b, "state"), "panicked") ==
            0) {
            break;
        }
        g_usleep(10000);
    }
    assert_state(&rig, "hosts", "b", "panicked");
    assert_state(&rig, "links", "cable", "down");
    assert_end(&rig, 0, "up");
    assert_end(&rig, 1, "down");
    rig_end(&rig);
}
END_TEST

/* Kills host b over a new connection. */
static void *kill_b(void *path)
{
    const CluClientMode mode = {.input = CLU_CLIENT_NO_INPUT};
    const char *const words[] = {"kill", "b", NULL};
    g_autoptr(CluClient) client = clu_client_connect(path, NULL);

    g_usleep(200000);
    return GINT_TO_POINTER(clu_client_run(client, words, &mode, NULL));
}

START_TEST(a_command_that_loses_its_host_tells_the_state)
{
    g_autoptr(GError) error = NULL;
    GThread *thread;
    Rig rig;

    rig_start(&rig, "", "", 20000);
    assert_up(&rig);
    thread = g_thread_new("kill", kill_b, rig.path);
    ck_assert_int_eq(ASK(&rig, NULL, &error, "exec", "b", "hold"),
                     CLU_CONTROL_LOST);
    ck_assert_msg(strstr(error->message, "b is dead"), "%s", error->message);
    ck_assert_int_eq(GPOINTER_TO_INT(g_thread_join(thread)), 0);
    rig_end(&rig);
}
END_TEST

/* Makes host b panic. */
static void *panic_b(void *pid)
{
    g_usleep(200000);
    kill((pid_t)GPOINTER_TO_INT(pid), SIGHUP);
    return NULL;
}

START_TEST(a_command_ends_with_a_panic_of_its_host)
{
    g_autoptr(GError) error = NULL;
    GThread *thread;
    int pid;
    Rig rig;

    rig_start(&rig, "", "", 20000);
    assert_up(&rig);
    pid = (int)number_of(&rig, "b", "pid");
    thread = g_thread_new("panic", panic_b, GINT_TO_POINTER(pid));
    ck_assert_int_eq(ASK(&rig, NULL, &error, "exec", "b", "hold"),
                     CLU_CONTROL_LOST);
    ck_assert_msg(strstr(error->message, "b is panicked"), "%s",
                  error->message);
    g_thread_join(thread);
    rig_end(&rig);
}
END_TEST

/* Runs @words on host b and returns the status. *ret_ms is the time it took. */
static int run_on_b(Rig *rig, unsigned timeout_ms, GError **error,
                    const char *word, int64_t *ret_ms)
{
    const CluClientMode mode = {.input = CLU_CLIENT_COMMAND,
                                .timeout_ms = timeout_ms};
    const char *const words[] = {"exec", "b", word, NULL};
    g_autoptr(CluClient) client = clu_client_connect(rig->path, NULL);
    int64_t begin = g_get_monotonic_time();
    int status = clu_client_run(client, words, &mode, error);

    *ret_ms = (g_get_monotonic_time() - begin) / 1000;
    return status;
}

/* Waits until host b is in @state. */
static void await_state(Rig *rig, const char *state)
{
    for (unsigned i = 0; i < 2000; i++) {
        g_autoptr(JsonParser) parser = json_parser_new();
        JsonObject *b = status_of(rig, parser, "hosts", "b");

        if (strcmp(json_object_get_string_member(b, "state"), state) == 0) {
            return;
        }
        g_usleep(10000);
    }
    assert_state(rig, "hosts", "b", state);
}

/* On a busy machine a fake agent that lives may be silent for a second. */
#define SHORT_SILENCE_MS 3000
#define LONGER_MS        4000
/* Less than the 5 s after which an agent is called silent */
#define AT_ONCE_MS       4500

START_TEST(a_command_for_a_dead_guest_ends_at_once)
{
    g_autoptr(GError) error = NULL;
    int64_t ms;
    Rig rig;

    rig_start(&rig, "", "", 20000);
    assert_up(&rig);
    kill((pid_t)number_of(&rig, "b", "pid"), SIGHUP);
    await_state(&rig, "panicked");
    ck_assert_int_eq(run_on_b(&rig, 0, &error, "hold", &ms), CLU_CONTROL_LOST);
    ck_assert_msg(strstr(error->message, "b is panicked"), "%s",
                  error->message);
    ck_assert_int_lt(ms, AT_ONCE_MS);
    g_clear_error(&error);
    kill((pid_t)number_of(&rig, "b", "pid"), SIGKILL);
    await_state(&rig, "dead");
    ck_assert_int_eq(run_on_b(&rig, 0, &error, "hold", &ms), CLU_CONTROL_LOST);
    ck_assert_msg(strstr(error->message, "b is dead"), "%s", error->message);
    ck_assert_int_lt(ms, AT_ONCE_MS);
    rig_end(&rig);
}
END_TEST

/* The agent stops to answer, long before the host is called hung. */
START_TEST(a_command_for_a_silent_guest_ends_before_it_is_hung)
{
    g_autoptr(GError) error = NULL;
    int64_t ms;
    Rig rig;

    rig_start(&rig, "", "", 60000);
    assert_up(&rig);
    ck_assert_int_eq(run_on_b(&rig, 0, &error, "freeze", &ms),
                     CLU_CONTROL_LOST);
    ck_assert_msg(
        strstr(error->message, "the agent of b has not answered for 15 s"),
        "%s", error->message);
    ck_assert_int_lt(ms, 40000);
    rig_end(&rig);
}
END_TEST

START_TEST(a_command_ends_when_its_host_is_hung)
{
    g_autoptr(GError) error = NULL;
    int64_t ms;
    Rig rig;

    rig_start(&rig, "", "", SHORT_SILENCE_MS);
    assert_up(&rig);
    ck_assert_int_eq(run_on_b(&rig, 0, &error, "freeze", &ms),
                     CLU_CONTROL_LOST);
    ck_assert_msg(strstr(error->message, "b is hung"), "%s", error->message);
    g_clear_error(&error);
    ck_assert_int_eq(run_on_b(&rig, 0, &error, "hold", &ms), CLU_CONTROL_LOST);
    ck_assert_msg(strstr(error->message, "b is hung"), "%s", error->message);
    ck_assert_int_lt(ms, AT_ONCE_MS);
    rig_end(&rig);
}
END_TEST

/* The silence of the agent while the CPUs are stopped does not count. */
START_TEST(a_stopped_host_is_not_hung)
{
    g_autoptr(GError) error = NULL;
    pid_t pid;
    int64_t ms;
    Rig rig;

    rig_start(&rig, "", "", SHORT_SILENCE_MS);
    assert_up(&rig);
    pid = (pid_t)number_of(&rig, "b", "pid");
    kill(pid, SIGTSTP);
    await_state(&rig, "stopped");
    g_usleep(1000 * LONGER_MS);
    assert_state(&rig, "hosts", "b", "stopped");
    assert_state(&rig, "hosts", "a", "up");
    assert_state(&rig, "links", "cable", "down");
    ck_assert_int_eq(run_on_b(&rig, 0, &error, "echo", &ms), CLU_CONTROL_LOST);
    ck_assert_msg(strstr(error->message, "b is stopped: its CPUs are stopped, "
                                         "by gdb or the monitor"),
                  "%s", error->message);
    ck_assert_int_lt(ms, AT_ONCE_MS);
    kill(pid, SIGCONT);
    await_state(&rig, "up");
    assert_up(&rig);
    ck_assert_int_eq(run_on_b(&rig, 0, NULL, "echo", &ms), 3);
    /* A panic while it is stopped is told as such. */
    kill(pid, SIGTSTP);
    await_state(&rig, "stopped");
    kill(pid, SIGHUP);
    await_state(&rig, "panicked");
    rig_end(&rig);
}
END_TEST

/* A breakpoint stops the host of a command that runs. */
static void *stop_b(void *pid)
{
    g_usleep(200000);
    kill((pid_t)GPOINTER_TO_INT(pid), SIGTSTP);
    return NULL;
}

START_TEST(a_command_waits_for_its_stopped_host)
{
    g_autoptr(GError) error = NULL;
    GThread *thread;
    int64_t ms;
    Rig rig;

    rig_start(&rig, "", "", SHORT_SILENCE_MS);
    assert_up(&rig);
    thread = g_thread_new("stop", stop_b,
                          GINT_TO_POINTER((int)number_of(&rig, "b", "pid")));
    ck_assert_int_eq(run_on_b(&rig, LONGER_MS, &error, "hold", &ms),
                     CLU_CLIENT_TIMED_OUT);
    ck_assert_int_ge(ms, LONGER_MS);
    g_thread_join(thread);
    assert_state(&rig, "hosts", "b", "stopped");
    rig_end(&rig);
}
END_TEST

START_TEST(a_command_ends_at_its_timeout)
{
    g_autoptr(GError) error = NULL;
    int64_t ms;
    Rig rig;

    rig_start(&rig, "", "", 20000);
    assert_up(&rig);
    ck_assert_int_eq(run_on_b(&rig, 300, &error, "hold", &ms),
                     CLU_CLIENT_TIMED_OUT);
    ck_assert_str_eq(error->message,
                     "the command has not ended within 0.300 s");
    ck_assert_int_ge(ms, 300);
    g_clear_error(&error);
    ck_assert_int_eq(run_on_b(&rig, 5000, &error, "echo", &ms), 3);
    ck_assert_ptr_null(error);
    rig_end(&rig);
}
END_TEST

/* One or two signals for this process while a command runs. */
typedef struct Signals {
    int first, second; /* second: 0 if there is none */
    int64_t took_us;   /* from before the first one until after the second */
} Signals;

/* Sends the second signal when the call has read the first: of two that wait,
 * the kernel gives the lower number first, and equal ones once. */
static void *send_signals(void *data)
{
    Signals *signals = data;
    int64_t begin;
    sigset_t pending;

    g_usleep(200000);
    begin = g_get_monotonic_time();
    kill(getpid(), signals->first);
    do {
        g_usleep(1000);
        sigpending(&pending);
    } while (sigismember(&pending, signals->first));
    if (signals->second) {
        kill(getpid(), signals->second);
        signals->took_us = g_get_monotonic_time() - begin;
    }
    return NULL;
}

#define GRACE_US G_TIME_SPAN_SECOND * 2 /* as --help of exec says */

static const struct {
    Signals signals;
    int status;
    int least_ms, most_ms;
} ends[] = {
    {{.first = SIGTERM}, 128 + SIGTERM, 1500, 19000},
    {{.first = SIGHUP}, 128 + SIGHUP, 1500, 19000},
    {{.first = SIGINT, .second = SIGINT}, 128 + SIGINT, 0, 19000},
    {{.first = SIGTERM, .second = SIGINT}, 128 + SIGINT, 0, 19000},
};

/* The program `hold` ignores signals. */
START_TEST(signals_end_a_call_that_hears_nothing)
{
    static const struct timespec now = {0};
    Signals signals = ends[_i].signals;
    sigset_t late;
    int64_t ms;
    int status;
    Rig rig;

    sigemptyset(&late);
    sigaddset(&late, SIGINT);
    rig_start(&rig, "", "", 20000);
    assert_up(&rig);
    /* On a busy machine the second signal may come after the grace time of the
     * first. That shows nothing. */
    do {
        GThread *thread;

        sigtimedwait(&late, NULL, &now);
        thread = g_thread_new("signals", send_signals, &signals);
        status = run_on_b(&rig, 0, NULL, "hold", &ms);
        g_thread_join(thread);
    } while (signals.took_us >= GRACE_US);
    ck_assert_int_eq(status, ends[_i].status);
    ck_assert_int_ge(ms, ends[_i].least_ms);
    ck_assert_int_lt(ms, ends[_i].most_ms);
    rig_end(&rig);
}
END_TEST

START_TEST(a_link_goes_down_and_up)
{
    Rig rig;

    rig_start(&rig, "", "", 20000);
    assert_up(&rig);
    ck_assert_int_eq(ASK(&rig, NULL, NULL, "link", "cable", "down"), 0);
    assert_state(&rig, "links", "cable", "down");
    ck_assert_int_eq(ASK(&rig, NULL, NULL, "link", "cable", "up"), 0);
    assert_state(&rig, "links", "cable", "up");
    rig_end(&rig);
}
END_TEST

START_TEST(an_agent_that_falls_silent_is_hung)
{
    Rig rig;
    unsigned i;

    rig_start(&rig, "", "silent", SHORT_SILENCE_MS);
    for (i = 0; i < 2000; i++) {
        g_autoptr(JsonParser) parser = json_parser_new();
        JsonObject *b = status_of(&rig, parser, "hosts", "b");

        if (strcmp(json_object_get_string_member(b, "state"), "hung") == 0) {
            ck_assert_str_eq(json_object_get_string_member(b, "cause"),
                             "the guest's agent does not answer");
            break;
        }
        g_usleep(10000);
    }
    ck_assert_uint_lt(i, 2000);
    assert_state(&rig, "hosts", "a", "up");
    rig_end(&rig);
}
END_TEST

/* Starts two hosts, one of them with fake=@mode. That must fail with a message
 * that matches @pattern. */
static void assert_fails(const char *mode, const char *pattern)
{
    Rig rig;
    g_autoptr(GError) error = NULL;

    rig_start(&rig, "", mode, 20000);
    ck_assert_int_eq(ASK(&rig, NULL, &error, "wait", "2"), 1);
    ck_assert_ptr_nonnull(error);
    ck_assert_msg(strstr(error->message, pattern), "%s", error->message);
    /* The other host is not affected. */
    ck_assert_int_eq(ASK(&rig, NULL, NULL, "wait", "5", "a"), 0);
    rig_end(&rig);
}

START_TEST(a_qemu_that_does_not_start_is_quoted)
{
    assert_fails("exits", "b is dead: qemu: it is broken");
}
END_TEST

START_TEST(a_panic_is_quoted_with_the_console)
{
    assert_fails("panics",
                 "b is panicked: [    1.000000] Kernel panic - not syncing: "
                 "fake\nThe end of the console of b:\n-- the machine begins");
}
END_TEST

START_TEST(a_guest_that_talks_nonsense_hurts_nobody_else)
{
    assert_fails("garbage", "b is booting");
}
END_TEST

/* A device that does not keep to the protocol stays without its link, and the
 * log of its host says why. */
START_TEST(a_device_that_is_refused_is_in_the_log)
{
    g_autofree char *path = NULL, *text = NULL;
    Rig rig;

    rig_start(&rig, "", "babbles", 20000);
    path = g_build_filename(rig.path, "b.log", NULL);
    for (unsigned i = 0; i < 500; i++) {
        g_clear_pointer(&text, g_free);
        if (g_file_get_contents(path, &text, NULL, NULL) &&
            strstr(text, "refused")) {
            break;
        }
        g_usleep(10000);
    }
    ck_assert_msg(text && strstr(text, "-- a device at cable is refused: it "
                                       "sent bytes that are no message\n"),
                  "%s", text);
    rig_end(&rig);
}
END_TEST

/* Checks that a terminal shows @text as it is: it is UTF-8, and has neither
 * control characters of 7 or 8 bits, but \n and \t, nor the two others of the
 * fake's SCRAWL. */
static void assert_harmless(const char *text)
{
    const char *end;

    ck_assert_msg(g_utf8_validate(text, -1, &end), "no UTF-8: %s", end);
    for (const char *at = text; *at; at = g_utf8_next_char(at)) {
        gunichar letter = g_utf8_get_char(at);

        ck_assert_msg(
            letter == '\n' || letter == '\t' ||
                (letter >= 0x20 && letter < 0x7f) ||
                (letter >= 0xa0 && letter != 0x202e && letter != 0x2028),
            "U+%04x in %s", letter, text);
    }
}

/* The letters behind the last one of SCRAWL's harmful ones are kept. */
#define KEPT "\342\202\254"

START_TEST(text_of_a_guest_moves_no_cursor)
{
    Rig rig;
    g_autoptr(GString) status = g_string_new(NULL);
    g_autoptr(GString) log = g_string_new(NULL);
    g_autoptr(GError) error = NULL;
    g_autoptr(JsonParser) parser = json_parser_new();
    JsonObject *b;

    rig_start(&rig, "", "scrawls", 20000);
    ck_assert_int_eq(ASK(&rig, NULL, NULL, "wait", "5", "a"), 0);
    ASK(&rig, NULL, &error, "wait", "1");
    ck_assert_ptr_nonnull(error);
    assert_harmless(error->message);
    ck_assert(strstr(error->message, KEPT));
    b = status_of(&rig, parser, "hosts", "b");
    ck_assert(
        g_str_has_suffix(json_object_get_string_member(b, "kernel"), KEPT));
    ck_assert(g_str_has_prefix(json_object_get_string_member(b, "cause"),
                               "[    1.000000] BUG: "));
    ck_assert_int_eq(ASK(&rig, status, NULL, "status"), 0);
    assert_harmless(status->str);
    ck_assert_int_eq(ASK(&rig, log, NULL, "logs", "b", "once"), 0);
    assert_harmless(log->str);
    ck_assert(strstr(log->str, KEPT));
    rig_end(&rig);
}
END_TEST

/* Runs the fake's scrawl on host a with @mode, and returns what this process
 * has printed meanwhile, to be freed. */
static char *printed_by(Rig *rig, const CluClientMode *mode)
{
    const char *const words[] = {"exec", "a", "scrawl", NULL};
    int old[] = {dup(STDOUT_FILENO), dup(STDERR_FILENO)};
    int pipes[2];
    char text[4096];
    ssize_t n;

    ck_assert_int_eq(pipe(pipes), 0);
    dup2(pipes[1], STDOUT_FILENO);
    dup2(pipes[1], STDERR_FILENO);
    clu_client_run(rig->owner, words, mode, NULL);
    dup2(old[0], STDOUT_FILENO);
    dup2(old[1], STDERR_FILENO);
    close(old[0]);
    close(old[1]);
    close(pipes[1]);
    n = read(pipes[0], text, sizeof(text));
    close(pipes[0]);
    ck_assert_int_gt(n, 0);
    return g_strndup(text, (gsize)n);
}

/* A command's output is as it is, and that of our own scripts is text. */
START_TEST(output_is_raw_or_text)
{
    const CluClientMode raw = {.input = CLU_CLIENT_COMMAND};
    const CluClientMode text = {.input = CLU_CLIENT_NO_INPUT,
                                .has_text = true,
                                .has_text_errors = true};
    g_autofree char *first = NULL;
    g_autofree char *second = NULL;
    Rig rig;

    rig_start(&rig, "", "", 20000);
    assert_up(&rig);
    first = printed_by(&rig, &raw);
    ck_assert(strstr(first, "\377\376 \033]0;mine\007"));
    second = printed_by(&rig, &text);
    assert_harmless(second);
    ck_assert(strstr(second, KEPT));
    rig_end(&rig);
}
END_TEST

/* The record of the link that a client has enabled at once stands before that
 * of the NTB. */
START_TEST(a_driver_that_is_bound_again_brings_its_link_up)
{
    Rig rig;

    rig_start(&rig, "", "", 20000);
    assert_up(&rig);
    ASK(&rig, NULL, NULL, "exec", "a", "rebind");
    assert_up(&rig);
    for (unsigned i = 0; i < 10; i++) {
        assert_state(&rig, "links", "cable", "up");
        g_usleep(10000);
    }
    rig_end(&rig);
}
END_TEST

START_TEST(output_beyond_its_credit_ends_a_command)
{
    Rig rig;
    g_autofree char *path = NULL;
    g_autoptr(GError) error = NULL;
    int file = g_file_open_tmp("flood-XXXXXX", &path, NULL);
    int old = dup(STDOUT_FILENO);
    struct stat info;
    int status;

    rig_start(&rig, "", "", 20000);
    assert_up(&rig);
    /* A client that prints, and has no command's input, gives no credit. */
    dup2(file, STDOUT_FILENO);
    status = ASK(&rig, NULL, &error, "exec", "a", "flood");
    dup2(old, STDOUT_FILENO);
    close(old);
    ck_assert_int_eq(fstat(file, &info), 0);
    close(file);
    unlink(path);
    ck_assert_int_eq(status, CLU_CONTROL_LOST);
    ck_assert_msg(strstr(error->message, "more than its credit"), "%s",
                  error->message);
    ck_assert_int_gt(info.st_size, 0);
    ck_assert_int_le(info.st_size, CLU_AGENT_WINDOW);
    assert_up(&rig);
    rig_end(&rig);
}
END_TEST

/* Wrong requests and their error messages. */
static const struct {
    const char *words[5];
    const char *message;
} wrong[] = {
    {{"nothing"}, "does not know the request 'nothing' with 0 words"},
    {{"exec", "a"}, "does not know the request 'exec' with 1 words"},
    {{"exec", "c", "echo"}, "there is no host 'c'; there are a, b"},
    {{"kill", ""}, "there is no host ''; there are a, b"},
    {{"link", "cable", "off"}, "a link cannot be made 'off'; write up or down"},
    {{"link", "x", "up"}, "there is no link 'x'; there are cable"},
    {{"wait", "0"}, "the time-out is '0'; it must be 1 to 86400 seconds"},
    {{"wait", "x"}, "the time-out is 'x'; it must be 1 to 86400 seconds"},
    {{"console", "../b"}, "there is no host '../b'; there are a, b"},
    {{"logs", "..", "once"}, "there is no host '..'; there are a, b"},
};

START_TEST(wrong_requests_are_refused)
{
    Rig rig;

    rig_start(&rig, "", "", 20000);
    for (unsigned i = 0; i < G_N_ELEMENTS(wrong); i++) {
        g_autoptr(GError) error = NULL;

        ck_assert_int_eq(ask(&rig, NULL, &error, wrong[i].words), 2);
        ck_assert_msg(strstr(error->message, wrong[i].message), "%s",
                      error->message);
    }
    assert_up(&rig);
    rig_end(&rig);
}
END_TEST

static int connect_to(const Rig *rig)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);

    g_snprintf(address.sun_path, sizeof(address.sun_path), "%s/control",
               rig->path);
    ck_assert_int_eq(connect(fd, (struct sockaddr *)&address, sizeof(address)),
                     0);
    return fd;
}

START_TEST(nonsense_on_the_control_socket_is_harmless)
{
    g_autoptr(GRand) random = g_rand_new_with_seed(1);
    g_autofree uint8_t *coded = g_malloc(CLU_AGENT_CODED_MAX);
    g_autofree uint8_t *body = g_malloc(CLU_AGENT_BODY_MAX);
    int idle[100];
    Rig rig;

    rig_start(&rig, "", "", 20000);
    assert_up(&rig);
    for (unsigned i = 0; i < G_N_ELEMENTS(idle); i++) {
        idle[i] = connect_to(&rig);
        (void)!send(idle[i], "\x05half", 5, MSG_NOSIGNAL);
    }
    for (unsigned round = 0; round < 200; round++) {
        int fd = connect_to(&rig);

        for (unsigned i = 0; i < 20; i++) {
            /* Well-formed frames with random types and lengths. */
            unsigned type = (unsigned)g_rand_int_range(random, 0, 70);
            size_t length = (size_t)g_rand_int_range(
                random, 0, i % 10 ? 20 : CLU_AGENT_BODY_MAX);

            for (size_t j = 0; j < length; j++) {
                body[j] = (uint8_t)(g_rand_int(random) & (j % 3 ? 0x7f : 0));
            }
            length =
                clu_agent_encode(coded, (CluAgentType)type, g_rand_int(random),
                                 body, (uint32_t)length);
            if (g_rand_int_range(random, 0, 4) == 0) {
                coded[g_rand_int_range(random, 0, (int)length)] ^= 0xff;
            }
            (void)!send(fd, coded, length, MSG_NOSIGNAL | MSG_DONTWAIT);
        }
        close(fd);
    }
    assert_up(&rig);
    for (unsigned i = 0; i < G_N_ELEMENTS(idle); i++) {
        close(idle[i]);
    }
    rig_end(&rig);
}
END_TEST

START_TEST(a_supervisor_that_is_killed_leaves_nothing)
{
    Rig rig;
    g_autoptr(GString) text = g_string_new(NULL);
    g_autoptr(JsonParser) parser = json_parser_new();
    pid_t pid;

    rig_start(&rig, "", "", 20000);
    assert_up(&rig);
    ck_assert_int_eq(ASK(&rig, text, NULL, "status"), 0);
    ck_assert(json_parser_load_from_data(parser, text->str, -1, NULL));
    pid = (pid_t)json_object_get_int_member(
        json_node_get_object(json_parser_get_root(parser)), "pid");
    kill(pid, SIGKILL);
    assert_gone(&rig);
    rig_end(&rig);
}
END_TEST

START_TEST(a_cluster_that_is_released_stays_until_down)
{
    Rig rig;
    g_auto(GStrv) names = NULL;

    rig_start(&rig, "", "", 20000);
    assert_up(&rig);
    ck_assert_int_eq(ASK(&rig, NULL, NULL, "release"), 0);
    clu_client_free(rig.owner);
    g_usleep(100000);
    names = clu_dir_list();
    ck_assert_uint_eq(g_strv_length(names), 1);
    ck_assert_str_eq(names[0], "rig");
    rig.owner = clu_client_connect(rig.path, NULL);
    ck_assert_ptr_nonnull(rig.owner);
    assert_up(&rig);
    ck_assert_int_eq(ASK(&rig, NULL, NULL, "down"), 0);
    rig_end(&rig);
}
END_TEST

START_TEST(there_is_one_cluster_of_a_name)
{
    Rig rig;
    g_autoptr(GError) error = NULL;

    rig_start(&rig, "", "", 20000);
    assert_up(&rig);
    ck_assert_ptr_null(clu_dir_new("rig", &error));
    ck_assert_msg(strstr(error->message, "there is a cluster called 'rig'"),
                  "%s", error->message);
    rig_end(&rig);
}
END_TEST

START_TEST(files_of_a_dead_cluster_are_replaced)
{
    g_autofree char *base = g_build_filename(runtime, "farside", NULL);
    g_autofree char *dir = g_build_filename(base, "rig", NULL);
    g_autofree char *old = g_build_filename(dir, "old.log", NULL);
    g_autofree char *lock = g_build_filename(dir, "lock", NULL);
    Rig rig;

    ck_assert_int_eq(g_mkdir_with_parents(dir, 0700), 0);
    ck_assert(g_file_set_contents(old, "x", 1, NULL));
    ck_assert(g_file_set_contents(lock, "", 0, NULL));
    rig_start(&rig, "", "", 20000);
    assert_up(&rig);
    ck_assert(!g_file_test(old, G_FILE_TEST_EXISTS));
    rig_end(&rig);
}
END_TEST

START_TEST(a_directory_that_others_may_enter_is_refused)
{
    g_autofree char *base = g_build_filename(runtime, "farside", NULL);
    g_autoptr(GError) error = NULL;

    ck_assert_int_eq(mkdir(base, 0755), 0);
    ck_assert_ptr_null(clu_dir_new("rig", &error));
    ck_assert_msg(strstr(error->message, "only its user may enter"), "%s",
                  error->message);
    rmdir(base);
    g_clear_error(&error);
    ck_assert_int_eq(symlink("/tmp", base), 0);
    ck_assert_ptr_null(clu_dir_new("rig", &error));
    unlink(base);
}
END_TEST

static void setup(void)
{
    runtime = g_dir_make_tmp("farside-test-XXXXXX", NULL);
    ck_assert_ptr_nonnull(runtime);
    g_setenv("XDG_RUNTIME_DIR", runtime, TRUE);
    signal(SIGPIPE, SIG_IGN);
}

static void teardown(void)
{
    rmdir(runtime);
    g_free(runtime);
}

int main(void)
{
    Suite *suite = suite_create("clu_supervisor");
    TCase *tcase = tcase_create("supervisor");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, hosts_and_link_come_up);
    tcase_add_test(tcase, a_reset_machine_is_not_up_before_its_driver);
    tcase_add_test(tcase, a_killed_host_is_dead_and_can_be_restarted);
    tcase_add_test(tcase, an_end_at_a_panicked_host_is_not_up);
    tcase_add_test(tcase, a_command_that_loses_its_host_tells_the_state);
    tcase_add_test(tcase, a_command_ends_with_a_panic_of_its_host);
    tcase_add_test(tcase, a_command_for_a_dead_guest_ends_at_once);
    tcase_add_test(tcase, a_command_for_a_silent_guest_ends_before_it_is_hung);
    tcase_add_test(tcase, a_command_ends_when_its_host_is_hung);
    tcase_add_test(tcase, a_stopped_host_is_not_hung);
    tcase_add_test(tcase, a_command_waits_for_its_stopped_host);
    tcase_add_test(tcase, a_command_ends_at_its_timeout);
    tcase_add_loop_test(tcase, signals_end_a_call_that_hears_nothing, 0,
                        G_N_ELEMENTS(ends));
    tcase_add_test(tcase, a_link_goes_down_and_up);
    tcase_add_test(tcase, an_agent_that_falls_silent_is_hung);
    tcase_add_test(tcase, a_qemu_that_does_not_start_is_quoted);
    tcase_add_test(tcase, a_panic_is_quoted_with_the_console);
    tcase_add_test(tcase, a_guest_that_talks_nonsense_hurts_nobody_else);
    tcase_add_test(tcase, a_device_that_is_refused_is_in_the_log);
    tcase_add_test(tcase, text_of_a_guest_moves_no_cursor);
    tcase_add_test(tcase, output_is_raw_or_text);
    tcase_add_test(tcase, a_driver_that_is_bound_again_brings_its_link_up);
    tcase_add_test(tcase, output_beyond_its_credit_ends_a_command);
    tcase_add_test(tcase, wrong_requests_are_refused);
    tcase_add_test(tcase, nonsense_on_the_control_socket_is_harmless);
    tcase_add_test(tcase, a_supervisor_that_is_killed_leaves_nothing);
    tcase_add_test(tcase, a_cluster_that_is_released_stays_until_down);
    tcase_add_test(tcase, there_is_one_cluster_of_a_name);
    tcase_add_test(tcase, files_of_a_dead_cluster_are_replaced);
    tcase_add_test(tcase, a_directory_that_others_may_enter_is_refused);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
