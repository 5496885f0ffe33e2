/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "xpl_machines.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "clu_calls.h"
#include "clu_control.h"
#include "clu_dir.h"
#include "clu_error.h"
#include "clu_fork.h"
#include "timed_control.h"

#define LOOK_MS 50
#define KILL_US (20 * G_USEC_PER_SEC)
#define CANNOT  255 /* the status of what cannot be begun */
#define IDLE_MS 3600000

bool xpl_call_is_over(const XplCall *call, gint64 *polled_us)
{
    gint64 now = g_get_monotonic_time();

    if (g_atomic_int_get(call->is_stopped)) {
        return true;
    }
    if (now - *polled_us <= G_USEC_PER_SEC) {
        return false;
    }
    *polled_us = now;
    return call->poll && call->poll(call->owner);
}

static int open_output(const char *path)
{
    return open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
}

/* ---- The process that boots clusters ------------------------------------ */

/*
 * A request has a line of its own for its answer. The text is lines with a word
 * and a value: name, file, log, patience, output, and set for each change. The
 * answer is "pid N" when it has begun, and "ok STATUS" at the end.
 */
static char *request_of(const XplCall *call, const XplBoot *boot)
{
    const struct {
        const char *word, *value;
    } parts[] = {{"name", boot->name},
                 {"file", boot->file},
                 {"log", boot->log},
                 {"output", call->output}};
    GString *text = g_string_new(NULL);

    g_string_printf(text, "patience %" G_GINT64_FORMAT "\n", boot->patience_s);
    for (unsigned i = 0; i < G_N_ELEMENTS(parts); i++) {
        g_autofree char *escaped =
            parts[i].value ? g_strescape(parts[i].value, NULL) : NULL;

        if (escaped) {
            g_string_append_printf(text, "%s %s\n", parts[i].word, escaped);
        }
    }
    for (char *const *set = boot->sets; set && *set; set++) {
        g_autofree char *escaped = g_strescape(*set, NULL);

        g_string_append_printf(text, "set %s\n", escaped);
    }
    return g_string_free(text, FALSE);
}

/* The values of @word in @lines, ended by NULL; to be freed. */
static char **values_of(char *const *lines, const char *word)
{
    g_autofree char *prefix = g_strconcat(word, " ", NULL);
    GPtrArray *values = g_ptr_array_new();

    for (; *lines; lines++) {
        if (g_str_has_prefix(*lines, prefix)) {
            g_ptr_array_add(values, g_strcompress(*lines + strlen(prefix)));
        }
    }
    g_ptr_array_add(values, NULL);
    return (char **)g_ptr_array_free(values, FALSE);
}

static void answer(int line, const char *word, int number)
{
    g_autofree char *text = g_strdup_printf("%s %d", word, number);

    timed_control_send(line, text, NULL, 0);
}

/* In the process of one boot. */
static void boot_main(const TimedControlPacket *packet)
{
    g_auto(GStrv) lines = g_strsplit(packet->text, "\n", 0);
    g_auto(GStrv) names = values_of(lines, "name");
    g_auto(GStrv) files = values_of(lines, "file");
    g_auto(GStrv) logs = values_of(lines, "log");
    g_auto(GStrv) outputs = values_of(lines, "output");
    g_auto(GStrv) patience = values_of(lines, "patience");
    g_auto(GStrv) sets = values_of(lines, "set");
    const XplBoot boot = {.name = names[0],
                          .file = files[0],
                          .log = logs[0],
                          .sets = sets,
                          .patience_s = g_ascii_strtoll(patience[0], NULL, 10)};
    int line = packet->fds[0], output = open_output(outputs[0]);

    /* Those that it makes end with it, and the caller may end all of them. */
    setpgid(0, 0);
    clu_fork_settle(0);
    answer(line, "pid", (int)getpid());
    if (output < 0 || dup2(output, STDOUT_FILENO) < 0 ||
        dup2(output, STDERR_FILENO) < 0) {
        clu_fork_end(CANNOT);
    }
    close(output);
    answer(line, "ok", xpl_boot(&boot, line));
    clu_fork_end(0);
}

/* Until the other end of @line is closed. */
static void serve(int line)
{
    g_autofree TimedControlPacket *packet = g_new(TimedControlPacket, 1);

    for (;;) {
        if (!timed_control_receive(line, packet, IDLE_MS)) {
            if (errno != EAGAIN && errno != EINTR) {
                return;
            }
            continue;
        }
        if (packet->count == 1 && clu_fork(CLU_FORK_ORPHAN) == 0) {
            close(line);
            boot_main(packet);
        }
        timed_control_close(packet);
    }
}

/* Takes over @line. The caller hears from the process that boots. */
static int await(const XplCall *call, int line)
{
    g_autofree TimedControlPacket *packet = g_new(TimedControlPacket, 1);
    gint64 polled_us = g_get_monotonic_time(), told = 0;
    int status = CANNOT;
    pid_t pid = -1;

    for (;;) {
        if (timed_control_receive(line, packet, LOOK_MS)) {
            int number = atoi(strchr(packet->text, ' ') + 1);

            if (g_str_has_prefix(packet->text, "ok ")) {
                status = number;
                break;
            }
            pid = number;
        } else if (errno != EAGAIN && errno != EINTR) {
            status = told ? 128 + SIGTERM : CANNOT;
            break;
        }
        if (told == 0 && pid > 0 && xpl_call_is_over(call, &polled_us)) {
            told = g_get_monotonic_time();
            kill(-pid, SIGTERM);
        } else if (told != 0 && g_get_monotonic_time() - told > KILL_US) {
            kill(-pid, SIGKILL);
        }
    }
    close(line);
    return status;
}

static int boot(void *owner, const XplCall *call, const XplBoot *boot)
{
    g_autofree char *text = request_of(call, boot);
    int ends[2];

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0) {
        return CANNOT;
    }
    if (!timed_control_send(GPOINTER_TO_INT(owner), text, &ends[1], 1)) {
        close(ends[0]);
        ends[0] = -1;
    }
    close(ends[1]);
    return ends[0] < 0 ? CANNOT : await(call, ends[0]);
}

/* ---- Clusters that run -------------------------------------------------- */

static CluClient *join(const char *name, GError **error)
{
    g_autofree char *dir = clu_dir_find(name);

    return clu_client_join(dir, error);
}

/* A call and the time at which its poll was asked last. */
typedef struct Looked {
    const XplCall *call;
    gint64 polled_us;
} Looked;

static bool is_over(void *owner)
{
    Looked *looked = owner;

    return xpl_call_is_over(looked->call, &looked->polled_us);
}

static int ask(void *owner, const XplCall *call, const char *name,
               const char *const *words)
{
    Looked looked = {call, g_get_monotonic_time()};
    int output = open_output(call->output), status;
    int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    CluClientMode mode = {.input = g_str_has_prefix(words[0], "exec")
                                       ? CLU_CLIENT_COMMAND
                                       : CLU_CLIENT_NO_INPUT,
                          .from = null,
                          .to = output,
                          .is_over = is_over,
                          .owner = &looked};
    g_autoptr(GError) error = NULL;
    g_autoptr(CluClient) client = output < 0 ? NULL : join(name, &error);

    status = client ? clu_client_run(client, words, &mode, &error)
                    : CLU_CONTROL_FAILED;
    if (error) {
        const char *verb = mode.input == CLU_CLIENT_COMMAND ? "exec" : words[0];
        g_autofree char *text =
            g_strdup_printf("farside cluster %s: %s\n", verb, error->message);

        if (write(output, text, strlen(text)) < 0) {
            /* The status says that it has failed. */
        }
    }
    close(null);
    close(output);
    return status;
}

static GPtrArray *hosts(void *owner, const char *name)
{
    g_autoptr(CluClient) client = join(name, NULL);

    return client ? clu_calls_hosts(client, NULL) : NULL;
}

static char *console(void *owner, const char *name, const char *host)
{
    const char *const words[] = {"logs", host, "once", NULL};
    g_autoptr(CluClient) client = join(name, NULL);
    GString *text = g_string_new(NULL);
    const CluClientMode mode = {.input = CLU_CLIENT_NO_INPUT, .output = text};
    bool is_good = client && clu_client_run(client, words, &mode, NULL) == 0;

    return g_string_free(text, !is_good);
}

static void down(void *owner, const char *name)
{
    g_autofree char *dir = clu_dir_find(name);
    CluClient *client = clu_client_join(dir, NULL);

    if (client) {
        clu_calls_down(client, dir, NULL);
    }
    clu_dir_wait_gone(dir, CLU_CALLS_GONE_MS);
}

bool xpl_machines_new(XplMachines *ret_machines, GError **error)
{
    static const XplMachinesOps ops = {.boot = boot,
                                       .ask = ask,
                                       .hosts = hosts,
                                       .console = console,
                                       .down = down};
    int line[2] = {-1, -1}, null;
    pid_t pid = -1;

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, line) == 0) {
        pid = clu_fork(CLU_FORK_ORPHAN);
    }
    if (pid < 0) {
        g_set_error(error, CLU_ERROR, CLU_ERROR_FAILED,
                    "cannot make a process that boots clusters: %s",
                    g_strerror(errno));
        if (line[0] >= 0) {
            close(line[0]);
            close(line[1]);
        }
        return false;
    }
    if (pid == 0) {
        null = open("/dev/null", O_RDWR | O_CLOEXEC);
        for (int fd = 0; fd < 3; fd++) {
            dup2(null, fd);
        }
        clu_fork_close(3, &line[1], 1);
        serve(line[1]);
        clu_fork_end(0);
    }
    close(line[1]);
    *ret_machines =
        (XplMachines){.ops = &ops, .owner = GINT_TO_POINTER(line[0])};
    return true;
}

void xpl_machines_clear(XplMachines *machines)
{
    if (machines->ops) {
        close(GPOINTER_TO_INT(machines->owner));
        machines->ops = NULL;
    }
}
