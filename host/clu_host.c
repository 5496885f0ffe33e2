/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "clu_host.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <glib-unix.h>

#include "clu_dir.h"
#include "clu_error.h"
#include "clu_process.h"
#include "clu_source.h"
#include "clu_watch.h"
#include "table_text.h"

#define OUTPUT_MAX_BYTES 16384

struct CluHost {
    const CluHostShared *shared;
    const CluPlanHost *plan;
    const CluHostOps *ops;
    void *owner;
    CluHostState state; /* apart from a stop */
    char *cause;
    bool is_stopped; /* its CPUs do not run, but may go on */
    char *alarm; /* message of an oops or panic since the last boot; nullable */
    unsigned boots;   /* number of boots */
    unsigned watches; /* number of times that the agent has answered */
    int64_t begun_us; /* monotonic time of the last boot */
    char *boot_id;    /* boot ID of the guest's kernel; NULL: not known yet */
    char *release;    /* its release, as `uname -r` says it */
    int *disks;       /* descriptors of disks, indexed by device; -1: none */
    CluConsole *console;
    /* The following belong to the process, and are unset while there is none.
     */
    CluProcess *process;
    int control;  /* stepped: line on which it makes branches; -1: none */
    bool is_shut; /* the guest has switched its machine off */
    CluQmp *qmp;
    CluGuest *guest;
    CluWatch *watch;
    GSource *deadline;
    GSource *ended; /* the process has ended; its last output is being read */
    GSource *output_source;
    int output;    /* pipe from QEMU's standard output and error; -1: none */
    GString *said; /* what has been read from `output` */
};

static const char *const state_names[] = {
    [CLU_HOST_BOOTING] = "booting", [CLU_HOST_UP] = "up",
    [CLU_HOST_OOPS] = "oops",       [CLU_HOST_HUNG] = "hung",
    [CLU_HOST_STOPPED] = "stopped", [CLU_HOST_PANICKED] = "panicked",
    [CLU_HOST_OFF] = "off",         [CLU_HOST_DEAD] = "dead",
};

const char *clu_host_state_name(CluHostState state)
{
    return state_names[state];
}

void clu_host_set_state(CluHost *host, CluHostState state, const char *cause)
{
    char *old = host->cause; /* @cause may point into it */

    host->state = state;
    host->cause = g_strdup(cause);
    g_free(old);
    if (state != CLU_HOST_BOOTING) {
        clu_source_clear(&host->deadline);
    }
    host->ops->changed(host->owner, host);
}

/* Booting */

static gboolean on_deadline(gpointer data)
{
    CluHost *host = data;
    g_autofree char *cause = NULL;

    clu_source_clear(&host->deadline);
    if (!clu_guest_is_ready(host->guest)) {
        cause = g_strdup_printf("the guest's agent has not answered in %u s",
                                host->shared->boot_ms / 1000);
    } else {
        cause = g_strdup_printf(
            "the agent answers, but %s has not bound to each NTB in %u s",
            strcmp(host->plan->host->vm->client, "none") == 0
                ? "the driver"
                : host->plan->host->vm->client,
            host->shared->boot_ms / 1000);
    }
    clu_host_set_state(host, CLU_HOST_HUNG, cause);
    return G_SOURCE_REMOVE;
}

/* While the machine is stopped no time passes for its guest. */
static void start_deadline(CluHost *host)
{
    clu_source_clear(&host->deadline);
    if (host->is_stopped) {
        return;
    }
    host->deadline = clu_source_new_timer(
        host->shared->context, host->shared->boot_ms, on_deadline, host);
}

/* The machine starts again; the host forgets what it knew of the guest. */
static void begin_boot(CluHost *host)
{
    g_clear_pointer(&host->watch, clu_watch_free);
    g_clear_pointer(&host->boot_id, g_free);
    g_clear_pointer(&host->release, g_free);
    g_clear_pointer(&host->alarm, g_free);
    host->boots++;
    host->begun_us = g_get_monotonic_time();
    start_deadline(host);
    clu_host_set_state(host, CLU_HOST_BOOTING, NULL);
}

/* The agent and the watch */

static void on_watched(void *owner)
{
    CluHost *host = owner;

    if ((host->state == CLU_HOST_BOOTING || host->state == CLU_HOST_HUNG) &&
        !host->alarm && clu_watch_is_ready(host->watch)) {
        clu_host_set_state(host, CLU_HOST_UP, NULL);
    } else {
        host->ops->changed(host->owner, host);
    }
}

static void on_failed(void *owner, const char *text)
{
    CluHost *host = owner;

    if (host->state == CLU_HOST_BOOTING) {
        clu_host_set_state(host, CLU_HOST_HUNG, text);
    }
}

static void on_ready(void *owner, const char *boot_id, const char *release)
{
    static const CluWatchOps ops = {.changed = on_watched, .failed = on_failed};
    CluHost *host = owner;

    if (host->boot_id && strcmp(host->boot_id, boot_id) != 0) {
        /* A new kernel runs, although QEMU has reported no reset. */
        begin_boot(host);
    }
    if (!host->boot_id) {
        host->boot_id = g_strdup(boot_id);
        host->release = g_strdup(release);
    }
    clu_watch_free(host->watch);
    host->watch =
        clu_watch_new(host->shared->context, host->guest, host->plan,
                      ++host->watches, host->shared->pace, &ops, host);
    host->ops->changed(host->owner, host);
}

static void on_guest_lost(void *owner)
{
    CluHost *host = owner;

    g_clear_pointer(&host->watch, clu_watch_free);
    if (host->state == CLU_HOST_UP) {
        start_deadline(host);
        clu_host_set_state(host, CLU_HOST_BOOTING, "the guest's agent is gone");
    } else {
        host->ops->changed(host->owner, host);
    }
}

static void on_silent(void *owner, bool is_silent)
{
    CluHost *host = owner;

    if (is_silent && host->state < CLU_HOST_HUNG) {
        clu_host_set_state(host, CLU_HOST_HUNG,
                           "the guest's agent does not answer");
    } else if (is_silent || host->state != CLU_HOST_HUNG) {
        return;
    } else if (host->alarm) {
        clu_host_set_state(host, CLU_HOST_OOPS, host->alarm);
    } else if (host->watch && clu_watch_is_ready(host->watch)) {
        clu_host_set_state(host, CLU_HOST_UP, NULL);
    } else {
        start_deadline(host);
        clu_host_set_state(host, CLU_HOST_BOOTING, NULL);
    }
}

/* The console */

static void on_console(void *owner, const uint8_t *data, size_t length)
{
    CluHost *host = owner;

    host->ops->console(host->owner, host, data, length);
}

static void on_logged(void *owner)
{
    CluHost *host = owner;

    host->ops->logged(host->owner, host);
}

static void on_alarm(void *owner, CluConsoleAlarm alarm, const char *text)
{
    static const CluHostState states[] = {
        [CLU_CONSOLE_OOPS] = CLU_HOST_OOPS,
        [CLU_CONSOLE_PANIC] = CLU_HOST_PANICKED,
    };
    CluHost *host = owner;

    /* The first message says most about the cause, so only a message of a worse
     * state replaces it. */
    if (host->state < states[alarm]) {
        g_free(host->alarm);
        host->alarm = g_strdup(text);
        clu_host_set_state(host, states[alarm], text);
    }
    /* The agent has stopped with its kernel and can no longer report how its
     * programs ended, so its sessions are ended here. */
    if (alarm == CLU_CONSOLE_PANIC && host->guest) {
        clu_guest_reset(host->guest);
    }
}

/* The end of the step in which the guest wrote: all that it has written is read
 * before the next step begins. */
static int64_t virtual_ns(void *owner)
{
    const CluHost *host = owner;

    return host->shared->pace->ops->limit(host->shared->pace);
}

/* The monitor */

/* QEMU has stopped or resumed the CPUs. A stopped guest cannot answer, so
 * neither its silence nor the length of its boot says anything. */
static void set_stopped(CluHost *host, bool is_stopped)
{
    if (host->is_stopped == is_stopped) {
        return;
    }
    host->is_stopped = is_stopped;
    clu_guest_set_stopped(host->guest, is_stopped);
    if (is_stopped) {
        clu_source_clear(&host->deadline);
    } else if (host->state == CLU_HOST_BOOTING) {
        start_deadline(host);
    }
    host->ops->changed(host->owner, host);
}

static void on_qmp_event(void *owner, const char *name, JsonObject *data)
{
    CluHost *host = owner;

    if (strcmp(name, "STOP") == 0 || strcmp(name, "RESUME") == 0) {
        set_stopped(host, strcmp(name, "STOP") == 0);
    }
    if (strcmp(name, "RESET") == 0) {
        clu_console_note(host->console, "the machine was reset");
        begin_boot(host);
        clu_guest_reset(host->guest);
    }
    if (strcmp(name, "SHUTDOWN") == 0 && data &&
        json_object_get_boolean_member_with_default(data, "guest", FALSE)) {
        host->is_shut = true;
    }
}

static void on_qmp_closed(void *owner)
{
    /* on_waited() handles the end of the process, which follows. */
}

/* The process */

static void note_output(CluHost *host, const char *said)
{
    g_auto(GStrv) lines = g_strsplit(said, "\n", -1);

    for (char **line = lines; *line; line++) {
        if (**line != '\0') {
            clu_console_note(host->console, "QEMU: %s", *line);
        }
    }
}

static void read_output(CluHost *host)
{
    char buffer[4096];
    ssize_t n;

    while ((n = read(host->output, buffer, sizeof(buffer))) > 0) {
        if (host->said->len < OUTPUT_MAX_BYTES) {
            g_string_append_len(host->said, buffer, n);
        }
    }
    if (n == 0) {
        clu_source_clear(&host->output_source);
    }
}

static gboolean on_output(int fd, GIOCondition condition, gpointer data)
{
    CluHost *host = data;

    read_output(host);
    return host->output_source ? G_SOURCE_CONTINUE : G_SOURCE_REMOVE;
}

static void forget_process(CluHost *host)
{
    g_clear_pointer(&host->watch, clu_watch_free);
    g_clear_pointer(&host->guest, clu_guest_free);
    g_clear_pointer(&host->qmp, clu_qmp_free);
    g_clear_pointer(&host->boot_id, g_free);
    g_clear_pointer(&host->release, g_free);
    clu_source_clear(&host->deadline);
    clu_source_clear(&host->ended);
    clu_source_clear(&host->output_source);
    if (host->output >= 0) {
        close(host->output);
        host->output = -1;
    }
    if (host->control >= 0) {
        close(host->control);
        host->control = -1;
    }
    g_clear_pointer(&host->process, clu_process_free);
    host->is_stopped = false;
}

/* The cause of the end of the process: QEMU's message, with the place of the
 * entry in the description that caused it, or the exit status. @said is that
 * message. Of a signal it may have many lines: the functions of a crash. */
static char *explain_end(const CluHost *host, char *said)
{
    TopoPlace place;

    if (*said != '\0' && clu_process_is_killed(host->process)) {
        g_autofree char *end = clu_process_explain(host->process);

        return g_strdup_printf("%s; its log has more", end);
    }
    if (clu_argv_blame(host->plan, said, &place)) {
        g_autofree char *where = topo_place_to_string(place);
        const char *colon = strrchr(said, '\n') ? NULL : strstr(said, ": -");

        return g_strdup_printf("%s: %s", where, colon ? colon + 2 : said);
    }
    if (*said != '\0') {
        return g_strdup(said);
    }
    return clu_process_explain(host->process);
}

static gboolean on_exited(gpointer data)
{
    CluHost *host = data;
    bool is_off = host->is_shut || clu_process_is_clean(host->process);
    g_autofree char *cause = NULL;
    g_autofree char *said = NULL;

    read_output(host);
    said = table_text_from(host->said->str, (gssize)host->said->len, true);
    note_output(host, said);
    cause = explain_end(host, g_strchomp(said));
    clu_console_note(host->console, "the machine has ended");
    host->shared->pace->ops->left(host->shared->pace, host->plan);
    /* The state is set first: sessions that end with the process report it. */
    if (host->state == CLU_HOST_DEAD) {
        host->ops->changed(host->owner, host); /* clu_host_kill() */
    } else if (is_off) {
        clu_host_set_state(host, CLU_HOST_OFF, NULL);
    } else {
        clu_host_set_state(host, CLU_HOST_DEAD, cause);
    }
    forget_process(host);
    return G_SOURCE_REMOVE;
}

static void on_ended(void *owner)
{
    CluHost *host = owner;

    /* Its last output may still be unread in sockets. The low priority lets
     * their sources read it first. */
    host->ended = clu_source_new_idle(host->shared->context, G_PRIORITY_LOW,
                                      on_exited, host);
}

static int fail(GError **error, const char *what)
{
    g_set_error(error, CLU_ERROR, CLU_ERROR_FAILED, "%s: %s", what,
                g_strerror(errno));
    return -1;
}

static bool give_devices(CluHost *host, CluFds *fds, GError **error)
{
    unsigned i;

    for (i = 0; i < host->plan->devices->len; i++) {
        const CluPlanDevice *device = host->plan->devices->pdata[i];
        const GPtrArray *networks = host->shared->plan->networks;
        int fd = -1;
        unsigned j;

        if (device->backend == CLU_BACKEND_DISK) {
            fd = fcntl(host->disks[i], F_DUPFD_CLOEXEC, 0);
        }
        for (j = 0; device->backend == CLU_BACKEND_NETWORK && j < networks->len;
             j++) {
            if (networks->pdata[j] == device->name) {
                fd = clu_hub_plug(host->shared->hubs[j], error);
            }
        }
        if (fd >= 0) {
            clu_fds_take(fds, fd, device->fd);
        } else if (device->fd >= 0) {
            if (device->backend == CLU_BACKEND_DISK) {
                fail(error, device->device->path);
            }
            return false;
        }
    }
    return true;
}

static void close_lines(const CluHostLines *lines)
{
    const int fds[] = {lines->console, lines->qmp, lines->agent,
                       lines->control};

    for (unsigned i = 0; i < G_N_ELEMENTS(fds); i++) {
        if (fds[i] >= 0) {
            close(fds[i]);
        }
    }
}

bool clu_host_make_lines(const CluHost *host, CluFds *fds,
                         CluHostLines *ret_lines, GError **error)
{
    const CluPace *pace = host->shared->pace;

    if (!pace->ops->add_control(pace, fds, &ret_lines->control, error)) {
        return false;
    }
    ret_lines->console =
        clu_fds_add_line(fds, SOCK_STREAM, CLU_FD_CONSOLE, error);
    ret_lines->qmp =
        ret_lines->console < 0
            ? -1
            : clu_fds_add_line(fds, SOCK_STREAM, CLU_FD_QMP, error);
    ret_lines->agent =
        ret_lines->qmp < 0
            ? -1
            : clu_fds_add_line(fds, SOCK_STREAM, CLU_FD_AGENT, error);
    return ret_lines->agent >= 0;
}

int clu_host_control(const CluHost *host)
{
    return host->control;
}

int *clu_host_disks(CluHost *host)
{
    return host->disks;
}

bool clu_host_replace_process(CluHost *host, pid_t pid,
                              const CluHostLines *lines, GError **error)
{
    clu_process_free(host->process);
    host->process =
        clu_process_adopt(host->shared->context, pid, on_ended, host, error);
    if (!host->process) {
        return false;
    }
    clu_stream_replace(clu_console_stream(host->console), lines->console);
    clu_stream_replace(clu_guest_stream(host->guest), lines->agent);
    clu_stream_replace(clu_qmp_stream(host->qmp), lines->qmp);
    close(host->control);
    host->control = lines->control;
    dup3(lines->output, host->output, O_CLOEXEC);
    close(lines->output);
    return true;
}

bool clu_host_start(CluHost *host, GError **error)
{
    static const CluQmpOps qmp_ops = {.event = on_qmp_event,
                                      .closed = on_qmp_closed};
    static const CluGuestOps guest_ops = {
        .ready = on_ready, .lost = on_guest_lost, .silent = on_silent};
    CluHostLines lines = CLU_HOST_NO_LINES;
    const CluHostShared *shared = host->shared;
    g_auto(GStrv) argv = NULL;
    g_auto(CluFds) fds = {.here = NULL};
    int board = shared->pace->ops->board(shared->pace);
    int output[2] = {-1, -1};

    g_assert(!host->process);
    clu_fds_init(&fds);
    if (pipe2(output, O_CLOEXEC) < 0) {
        return fail(error, "cannot make a pipe for QEMU") >= 0;
    }
    g_unix_set_fd_nonblocking(output[0], TRUE, NULL);
    argv = clu_argv_new(shared->plan, host->plan,
                        &shared->paths[host->plan->index],
                        shared->is_kvm[host->plan->index], shared->enabled,
                        shared->traces, shared->pace);
    clu_fds_add(&fds, shared->alive, CLU_FD_ALIVE);
    if (board >= 0) {
        clu_fds_add(&fds, board, CLU_FD_BOARD);
    }
    if (clu_host_make_lines(host, &fds, &lines, error) &&
        give_devices(host, &fds, error)) {
        host->process = clu_process_new(shared->context, argv, &fds, output[1],
                                        on_ended, host, error);
    }
    close(output[1]);
    if (!host->process) {
        close(output[0]);
        close_lines(&lines);
        return false;
    }
    host->is_shut = false;
    host->control = lines.control;
    host->output = output[0];
    g_string_truncate(host->said, 0);
    host->output_source =
        clu_source_new_fd(shared->context, host->output,
                          G_IO_IN | G_IO_HUP | G_IO_ERR, on_output, host);
    clu_console_connect(host->console, lines.console);
    clu_console_note(host->console, "the machine begins, process %d",
                     (int)clu_host_pid(host));
    host->qmp = clu_qmp_new(shared->context, lines.qmp,
                            shared->pace->ops->is_stepped, &qmp_ops, host);
    host->guest = clu_guest_new(
        shared->context, lines.agent,
        shared->pace->ops->silence_ms(shared->pace, shared->silence_ms),
        &guest_ops, host);
    begin_boot(host);
    return true;
}

void clu_host_end_process(CluHost *host, const char *cause)
{
    clu_process_kill(host->process);
    clu_host_set_state(host, CLU_HOST_DEAD, cause);
    /* Its sockets may still hold messages, which no longer matter. */
    g_clear_pointer(&host->watch, clu_watch_free);
    g_clear_pointer(&host->guest, clu_guest_free);
    g_clear_pointer(&host->qmp, clu_qmp_free);
}

void clu_host_on_stand(CluHost *host)
{
    if (host->watch) {
        clu_watch_on_stand(host->watch);
    }
}

void clu_host_abandon(const CluHost *host)
{
    if (host->process) {
        clu_process_kill(host->process);
    }
}

void clu_host_kill(CluHost *host, const char *cause)
{
    if (!host->process || host->state == CLU_HOST_DEAD) {
        return;
    }
    host->shared->pace->ops->kill(host->shared->pace, host, cause);
}

bool clu_host_has_process(const CluHost *host)
{
    return host->process;
}

/* Opens an unnamed file of that size, which disappears when it is closed. */
static int make_disk(int64_t bytes, GError **error)
{
    const char *dir = g_getenv("TMPDIR");
    int fd;

    fd = open(dir && *dir ? dir : "/var/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC,
              0600);
    if (fd < 0) {
        return fail(error, dir && *dir ? dir : "/var/tmp");
    }
    if (ftruncate(fd, bytes) < 0) {
        fail(error, "cannot make a disk of that size");
        close(fd);
        return -1;
    }
    return fd;
}

CluHost *clu_host_new(const CluHostShared *shared, const CluPlanHost *plan,
                      const CluHostOps *ops, void *owner, GError **error)
{
    static const CluConsoleOps free_ops = {
        .bytes = on_console, .grown = on_logged, .alarm = on_alarm};
    static const CluConsoleOps stepped_ops = {.bytes = on_console,
                                              .grown = on_logged,
                                              .alarm = on_alarm,
                                              .virtual_ns = virtual_ns};
    CluHost *host = g_new0(CluHost, 1);
    const CluPaths *paths = &shared->paths[plan->index];
    g_autofree char *log = clu_dir_log_path(paths->dir, plan->host->name);
    unsigned i;

    host->shared = shared;
    host->plan = plan;
    host->ops = ops;
    host->owner = owner;
    host->state = CLU_HOST_DEAD;
    host->cause = g_strdup("it has not been started yet");
    host->output = -1;
    host->control = -1;
    host->said = g_string_new(NULL);
    host->disks = g_new(int, plan->devices->len);
    for (i = 0; i < plan->devices->len; i++) {
        host->disks[i] = -1;
    }
    for (i = 0; i < plan->devices->len; i++) {
        const CluPlanDevice *device = plan->devices->pdata[i];

        if (device->backend == CLU_BACKEND_DISK) {
            host->disks[i] = make_disk(device->bytes, error);
            if (host->disks[i] < 0) {
                g_prefix_error(error, "%s: ", device->device->path);
                return NULL;
            }
        }
    }
    host->console = clu_console_new(
        shared->context, log,
        shared->pace->ops->is_stepped ? &stepped_ops : &free_ops, host, error);
    return host->console ? host : NULL;
}

const CluPlanHost *clu_host_plan(const CluHost *host)
{
    return host->plan;
}

/* A kernel that has panicked does not go on with its CPUs. */
static bool shows_stop(const CluHost *host)
{
    return host->is_stopped && host->state < CLU_HOST_STOPPED;
}

CluHostState clu_host_state(const CluHost *host)
{
    return shows_stop(host) ? CLU_HOST_STOPPED : host->state;
}

const char *clu_host_cause(const CluHost *host)
{
    return shows_stop(host) ? "its CPUs are stopped, by gdb or the monitor"
                            : host->cause;
}

pid_t clu_host_pid(const CluHost *host)
{
    return host->process ? clu_process_pid(host->process) : 0;
}

unsigned clu_host_boots(const CluHost *host)
{
    return host->boots;
}

int64_t clu_host_age_us(const CluHost *host)
{
    return g_get_monotonic_time() - host->begun_us;
}

const char *clu_host_release(const CluHost *host)
{
    return host->release;
}

bool clu_host_link_up(const CluHost *host, const CluPlanLink *link,
                      unsigned end)
{
    return host->watch && clu_watch_link_up(host->watch, link, end);
}

CluConsole *clu_host_console(CluHost *host)
{
    return host->console;
}

CluGuest *clu_host_guest(CluHost *host)
{
    return host->guest;
}

CluQmp *clu_host_qmp(CluHost *host)
{
    return host->qmp;
}
