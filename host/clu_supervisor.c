/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "clu_supervisor.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "clu_conn.h"
#include "clu_control.h"
#include "clu_error.h"
#include "clu_fork.h"
#include "clu_socket.h"
#include "clu_source.h"

#define CONNS_MAX 128

typedef struct Supervisor {
    GMainContext *context;
    GMainLoop *loop;
    CluCluster *cluster;
    GPtrArray *conns; /* of CluConn, owned */
    CluListener *listener;
    GSource *checking; /* the pending check of all requests; NULL: none */
    const CluDir *dir;
    CluConn *leaving; /* now that of a branch, which this process forgets */
    bool is_ending;
} Supervisor;

static bool fail(GError **error, const char *what)
{
    g_set_error(error, CLU_ERROR, CLU_ERROR_FAILED, "%s: %s", what,
                g_strerror(errno));
    return false;
}

/* Connections */

static void on_conn_closed(void *owner, CluConn *conn)
{
    Supervisor *supervisor = owner;
    bool was_owner = clu_conn_is_owner(conn);

    g_ptr_array_remove_fast(supervisor->conns, conn);
    if (was_owner) {
        supervisor->is_ending = true;
    }
    if (supervisor->is_ending) {
        g_main_loop_quit(supervisor->loop);
    }
}

static gboolean on_down(gpointer data)
{
    Supervisor *supervisor = data;

    g_main_loop_quit(supervisor->loop);
    return G_SOURCE_REMOVE;
}

/* The loop ends in an idle source, so that the answer to the request is sent
 * first. */
static void on_conn_end(void *owner)
{
    Supervisor *supervisor = owner;
    GSource *idle = clu_source_new_idle(
        supervisor->context, G_PRIORITY_DEFAULT_IDLE, on_down, supervisor);

    supervisor->is_ending = true;
    g_source_unref(idle);
}

static bool on_is_alone(void *owner, const CluConn *conn)
{
    const Supervisor *supervisor = owner;

    for (unsigned i = 0; i < supervisor->conns->len; i++) {
        const CluConn *other = supervisor->conns->pdata[i];

        if (other != conn && !clu_conn_is_idle(other)) {
            return false;
        }
    }
    return true;
}

/* Branches */

static void on_accepted(int fd, void *data);

static bool listen_at(Supervisor *supervisor, GError **error)
{
    const char *dir = clu_dir_path(supervisor->dir);
    g_autofree char *control = g_build_filename(dir, CLU_DIR_CONTROL, NULL);

    supervisor->listener =
        clu_listener_new(supervisor->context, control, SOCK_STREAM, on_accepted,
                         supervisor, error);
    return supervisor->listener;
}

static bool write_file(const Supervisor *supervisor, const char *description,
                       GError **error)
{
    const char *dir = clu_dir_path(supervisor->dir);
    g_autofree char *file = g_build_filename(dir, CLU_DIR_FILE, NULL);
    g_autofree char *real = realpath(description, NULL);

    return g_file_set_contents(file, real ? real : "", -1, error);
}

/* In the process of a branch: gives up all that belongs to the template. Its
 * machines are asked for branches before their lines are given up. */
static bool become_branch(Supervisor *supervisor, CluConn *conn,
                          const char *name, char *const *sets, GError **error)
{
    const CluClusterSetup *setup = clu_cluster_setup(supervisor->cluster);
    CluDir *dir;
    int alive;

    setsid();
    for (unsigned i = supervisor->conns->len; i-- > 0;) {
        if (supervisor->conns->pdata[i] != conn) {
            g_ptr_array_remove_index_fast(supervisor->conns, i);
        }
    }
    clu_listener_leave(g_steal_pointer(&supervisor->listener));
    close(clu_dir_lock(supervisor->dir));
    dir = clu_dir_new(name, error);
    if (!dir || !clu_dir_keep(dir, &alive, error)) {
        return false;
    }
    supervisor->dir = dir;
    return write_file(supervisor, setup->plan->description->file, error) &&
           setup->pace->ops->branch(setup->pace, dir, alive, sets, error) &&
           listen_at(supervisor, error);
}

static gboolean on_left(gpointer data)
{
    Supervisor *supervisor = data;

    g_ptr_array_remove_fast(supervisor->conns,
                            g_steal_pointer(&supervisor->leaving));
    return G_SOURCE_REMOVE;
}

/* The process of a branch is nobody's child, so that nobody must wait for it.
 */
static void on_branch(void *owner, CluConn *conn, const char *name,
                      char *const *sets)
{
    Supervisor *supervisor = owner;
    GError *error = NULL;
    pid_t pid = clu_fork(CLU_FORK_ORPHAN);

    if (pid < 0) {
        clu_request_fail(clu_conn_request(conn), CLU_CONTROL_FAILED,
                         "cannot make a process: %s", g_strerror(errno));
        return;
    }
    if (pid > 0) {
        GSource *idle;

        clu_conn_stop(conn);
        supervisor->leaving = conn;
        idle = clu_source_new_idle(supervisor->context, G_PRIORITY_HIGH,
                                   on_left, supervisor);
        g_source_unref(idle);
        return;
    }
    if (become_branch(supervisor, conn, name, sets, &error)) {
        clu_request_exit(clu_conn_request(conn), 0, 0);
    } else {
        clu_request_fail_by(clu_conn_request(conn), error);
        clu_fork_end(1);
    }
}

/* Connections */

static void add_conn(Supervisor *supervisor, int fd, bool is_owner)
{
    static const CluConnOps ops = {.closed = on_conn_closed,
                                   .end = on_conn_end,
                                   .is_alone = on_is_alone,
                                   .branch = on_branch};

    g_ptr_array_add(supervisor->conns,
                    clu_conn_new(supervisor->cluster, supervisor->context, fd,
                                 is_owner, &ops, supervisor));
}

static void on_accepted(int fd, void *data)
{
    Supervisor *supervisor = data;

    if (supervisor->conns->len < CONNS_MAX) {
        add_conn(supervisor, fd, false);
    } else {
        close(fd);
    }
}

/* Changes in the cluster */

static gboolean on_check(gpointer data)
{
    Supervisor *supervisor = data;
    unsigned i;

    clu_source_clear(&supervisor->checking);
    for (i = 0; i < supervisor->conns->len; i++) {
        clu_request_check(clu_conn_request(supervisor->conns->pdata[i]));
    }
    return G_SOURCE_REMOVE;
}

/* Requests are checked in the next turn of the loop, when the change is
 * complete. */
static void on_changed(void *owner)
{
    Supervisor *supervisor = owner;

    if (!supervisor->checking) {
        supervisor->checking = clu_source_new_idle(
            supervisor->context, G_PRIORITY_DEFAULT, on_check, supervisor);
    }
}

static void on_console(void *owner, CluHost *host, const uint8_t *data,
                       size_t length)
{
    Supervisor *supervisor = owner;
    unsigned i;

    for (i = 0; i < supervisor->conns->len; i++) {
        clu_request_console(clu_conn_request(supervisor->conns->pdata[i]), host,
                            data, length);
    }
}

static void on_logged(void *owner, CluHost *host)
{
    Supervisor *supervisor = owner;
    unsigned i;

    for (i = 0; i < supervisor->conns->len; i++) {
        clu_request_logged(clu_conn_request(supervisor->conns->pdata[i]), host);
    }
}

/* Timed clusters */

static int64_t on_wants_time(void *owner)
{
    const Supervisor *supervisor = owner;
    int64_t until = 0;
    unsigned i;

    for (i = 0; i < supervisor->conns->len; i++) {
        int64_t its =
            clu_request_until(clu_conn_request(supervisor->conns->pdata[i]));

        /* The next step ends where the first of them is content. */
        if (its > 0 && (until == 0 || its < until)) {
            until = its;
        }
    }
    return until;
}

static bool on_holds_time(void *owner)
{
    const Supervisor *supervisor = owner;
    unsigned i;

    for (i = 0; i < supervisor->conns->len; i++) {
        if (clu_request_holds(clu_conn_request(supervisor->conns->pdata[i]))) {
            return true;
        }
    }
    return false;
}

static void on_stand(void *owner)
{
    on_check(owner);
}

/* Life */

static void on_end(void *owner)
{
    Supervisor *supervisor = owner;

    supervisor->is_ending = true;
    g_main_loop_quit(supervisor->loop);
}

static gboolean on_signal(int fd, GIOCondition condition, gpointer data)
{
    on_end(data);
    return G_SOURCE_CONTINUE;
}

/* GLib would use a thread for signals, which a branch would not have. */
static void hear_signals(Supervisor *supervisor)
{
    GSource *source;
    sigset_t signals;

    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    sigprocmask(SIG_BLOCK, &signals, NULL);
    source = clu_source_new_fd(supervisor->context,
                               signalfd(-1, &signals, SFD_CLOEXEC), G_IO_IN,
                               on_signal, supervisor);
    g_source_unref(source);
}

/* Starts the cluster and runs it until it ends. False and @error if it cannot
 * be started. */
static bool run(Supervisor *supervisor, const CluClusterSetup *setup, int alive,
                int conn, GError **error)
{
    static const CluClusterOps ops = {.changed = on_changed,
                                      .console = on_console,
                                      .logged = on_logged,
                                      .wants_time = on_wants_time,
                                      .holds_time = on_holds_time,
                                      .on_stand = on_stand,
                                      .end = on_end};
    supervisor->dir = setup->dir;
    supervisor->context = g_main_context_default();
    supervisor->loop = g_main_loop_new(supervisor->context, FALSE);
    supervisor->conns =
        g_ptr_array_new_with_free_func((GDestroyNotify)clu_conn_free);
    hear_signals(supervisor);
    if (!write_file(supervisor, setup->plan->description->file, error)) {
        return false;
    }
    supervisor->cluster = clu_cluster_start(supervisor->context, setup, alive,
                                            &ops, supervisor, error);
    if (!supervisor->cluster || !listen_at(supervisor, error)) {
        return false;
    }
    add_conn(supervisor, conn, true);
    g_main_loop_run(supervisor->loop);
    return true;
}

/* Sends @error to the owner, as the answer to its first request. */
static void tell_owner(int conn, const GError *error)
{
    g_autofree uint8_t *coded = g_malloc(CLU_AGENT_CODED_MAX);
    g_autofree uint8_t *body = NULL;
    size_t length = MIN(strlen(error->message), CLU_AGENT_BODY_MAX - 4);

    body = g_malloc(length + 4);
    clu_agent_put32(body,
                    error->code == CLU_ERROR_USAGE && error->domain == CLU_ERROR
                        ? CLU_CONTROL_USAGE
                        : CLU_CONTROL_FAILED);
    memcpy(body + 4, error->message, length);
    length = clu_agent_encode(coded, (CluAgentType)CLU_CONTROL_ERROR, 0, body,
                              (uint32_t)length + 4);
    (void)!send(conn, coded, length, MSG_NOSIGNAL);
}

static void supervisor_main(const CluClusterSetup *setup, int conn)
{
    Supervisor supervisor = {.context = NULL};
    g_autoptr(GError) error = NULL;
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    const int kept[] = {conn, clu_dir_lock(setup->dir),
                        setup->pace->ops->board(setup->pace)};
    int alive;

    /* The program may have blocked its signals. */
    clu_fork_settle(0);
    setsid();
    signal(SIGHUP, SIG_IGN);
    signal(SIGPIPE, SIG_IGN);
    /* The supervisor must not keep descriptors of the program open: the reader
     * of a pipe, for example, would wait for its end. */
    dup2(null, 0);
    dup2(null, 1);
    clu_fork_close(3, kept, G_N_ELEMENTS(kept));
    if (!clu_dir_keep(setup->dir, &alive, &error) ||
        !run(&supervisor, setup, alive, conn, &error)) {
        tell_owner(conn, error);
    }
    /* Those that are children of this process end with it. A machine of a
     * branch is none, and if it was stopped it does not hear of the end. */
    if (supervisor.cluster) {
        setup->pace->ops->end(setup->pace);
        clu_cluster_abandon(supervisor.cluster);
    }
    /* Now the keeper removes the directory. */
    clu_fork_end(0);
}

int clu_supervisor_start(const CluClusterSetup *setup, GError **error)
{
    int conn[2];
    pid_t pid;

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, conn) < 0) {
        fail(error, "cannot make a socket for the supervisor");
        return -1;
    }
    pid = clu_fork(CLU_FORK_CHILD);
    if (pid == 0) {
        supervisor_main(setup, conn[1]);
    }
    close(conn[1]);
    if (pid < 0) {
        fail(error, "cannot make a process for the supervisor");
        close(conn[0]);
        return -1;
    }
    return conn[0];
}
