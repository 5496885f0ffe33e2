/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "clu_supervisor_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <glib-unix.h>

#include "clu_error.h"

#define CONNS_MAX   128
#define CLIENTS_MAX 64 /* of a shared region */

static bool fail(GError **error, const char *what)
{
    g_set_error(error, CLU_ERROR, CLU_ERROR_FAILED, "%s: %s", what,
                g_strerror(errno));
    return false;
}

/* Connections */

static void conn_free(void *data)
{
    CluConn *conn = data;

    clu_conn_reset(conn);
    clu_stream_free(conn->stream);
    g_free(conn);
}

static void on_conn_closed(void *owner)
{
    CluConn *conn = owner;
    CluSupervisor *supervisor = conn->supervisor;
    bool was_owner = conn->is_owner;

    g_ptr_array_remove_fast(supervisor->conns, conn);
    if (was_owner) {
        supervisor->is_ending = true;
    }
    if (supervisor->is_ending) {
        g_main_loop_quit(supervisor->loop);
    }
}

static void start_request(CluConn *conn, const CluAgentFrame *frame)
{
    g_autoptr(GPtrArray) words = g_ptr_array_new();
    const char *word = (const char *)frame->body;
    const char *end = word + frame->length;
    const CluVerb *verb;

    if (frame->length == 0 || end[-1] != '\0') {
        clu_conn_fail(conn, CLU_CONTROL_USAGE, "a request without words");
        return;
    }
    for (; word < end; word += strlen(word) + 1) {
        g_ptr_array_add(words, (void *)word);
    }
    for (verb = clu_verbs; verb->name; verb++) {
        if (strcmp(verb->name, words->pdata[0]) == 0) {
            break;
        }
    }
    if (!verb->name || words->len - 1 < verb->min ||
        words->len - 1 > verb->max) {
        clu_conn_fail(conn, CLU_CONTROL_USAGE,
                      "the supervisor does not know the request '%s' with %u "
                      "words; is it of another version?",
                      (const char *)words->pdata[0], words->len - 1);
        return;
    }
    conn->is_busy = true;
    conn->request = ++conn->supervisor->requests;
    conn->n_unanswered = 0;
    verb->run(conn, words);
}

static void on_conn_data(void *owner, const uint8_t *data, size_t length)
{
    CluConn *conn = owner;

    while (length > 0) {
        bool is_found;
        CluAgentFrame frame;
        size_t n = clu_agent_reader_feed(&conn->reader, data, length, &is_found,
                                         &frame);

        data += n;
        length -= n;
        if (!is_found || frame.version != CLU_AGENT_VERSION) {
            continue;
        }
        if (frame.type != CLU_CONTROL_REQUEST) {
            clu_conn_frame(conn, &frame);
        } else if (!conn->is_busy) {
            start_request(conn, &frame);
        }
    }
}

static void on_conn_drained(void *owner)
{
    clu_conn_pump(owner);
}

static CluConn *add_conn(CluSupervisor *supervisor, int fd)
{
    static const CluStreamOps ops = {.data = on_conn_data,
                                     .closed = on_conn_closed,
                                     .drained = on_conn_drained};
    CluConn *conn = g_new0(CluConn, 1);

    conn->supervisor = supervisor;
    conn->log = -1;
    clu_agent_reader_init(&conn->reader);
    conn->stream = clu_stream_new(supervisor->context, fd, &ops, conn);
    g_ptr_array_add(supervisor->conns, conn);
    return conn;
}

static gboolean on_connect(int fd, GIOCondition condition, gpointer data)
{
    CluSupervisor *supervisor = data;
    int conn = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

    if (conn >= 0 && supervisor->conns->len < CONNS_MAX) {
        add_conn(supervisor, conn);
    } else if (conn >= 0) {
        close(conn);
    }
    return G_SOURCE_CONTINUE;
}

static bool listen_at(CluSupervisor *supervisor, const char *path,
                      GError **error)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd < 0) {
        return fail(error, path);
    }
    supervisor->listener = fd;
    g_strlcpy(address.sun_path, path, sizeof(address.sun_path));
    if (bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0 ||
        listen(fd, CONNS_MAX) < 0) {
        return fail(error, path);
    }
    supervisor->listening = g_unix_fd_source_new(fd, G_IO_IN);
    g_source_set_callback(supervisor->listening, G_SOURCE_FUNC(on_connect),
                          supervisor, NULL);
    g_source_attach(supervisor->listening, supervisor->context);
    return true;
}

/* Conditions */

static gboolean on_check(gpointer data)
{
    CluSupervisor *supervisor = data;
    unsigned i;

    g_source_unref(supervisor->checking);
    supervisor->checking = NULL;
    for (i = supervisor->conns->len; i-- > 0;) {
        CluConn *conn = supervisor->conns->pdata[i];

        if (conn->check) {
            conn->check(conn);
        }
    }
    return G_SOURCE_REMOVE;
}

/* Not at once: who tells of a change is in the middle of it. */
void clu_supervisor_changed(CluSupervisor *supervisor)
{
    if (!supervisor->checking) {
        supervisor->checking = g_idle_source_new();
        g_source_set_priority(supervisor->checking, G_PRIORITY_DEFAULT);
        g_source_set_callback(supervisor->checking, on_check, supervisor, NULL);
        g_source_attach(supervisor->checking, supervisor->context);
    }
}

static void on_host_changed(void *owner, CluHost *host)
{
    clu_supervisor_changed(owner);
}

static void on_host_console(void *owner, CluHost *host, const uint8_t *data,
                            size_t length)
{
    CluSupervisor *supervisor = owner;
    unsigned i;

    for (i = supervisor->conns->len; i-- > 0;) {
        CluConn *conn = supervisor->conns->pdata[i];

        if (conn->is_followed && conn->host == host) {
            clu_conn_console(conn, data, length);
        }
    }
}

static void on_host_logged(void *owner, CluHost *host)
{
    CluSupervisor *supervisor = owner;
    unsigned i;

    for (i = supervisor->conns->len; i-- > 0;) {
        CluConn *conn = supervisor->conns->pdata[i];

        if (conn->log >= 0 && conn->host == host) {
            clu_conn_pump(conn);
        }
    }
}

/* Links */

CluHost *clu_supervisor_link_host(CluSupervisor *supervisor, unsigned link,
                                  unsigned end)
{
    const CluPlanLink *plan = supervisor->plan->links->pdata[link];

    return supervisor->hosts->pdata[plan->host[end]->index];
}

bool clu_supervisor_link_up(CluSupervisor *supervisor, unsigned link)
{
    const CluPlanLink *plan = supervisor->plan->links->pdata[link];
    unsigned end;

    for (end = 0; end < 2; end++) {
        CluHost *host = clu_supervisor_link_host(supervisor, link, end);
        CluHostState state = clu_host_state(host);

        if ((state != CLU_HOST_UP && state != CLU_HOST_OOPS) ||
            !clu_host_link_up(host, plan->device[end])) {
            return false;
        }
    }
    return supervisor->enabled[link];
}

bool clu_supervisor_link_expected(CluSupervisor *supervisor, unsigned link)
{
    const CluPlanLink *plan = supervisor->plan->links->pdata[link];
    unsigned end;

    for (end = 0; end < 2; end++) {
        if (strcmp(plan->host[end]->host->vm->client, "none") == 0) {
            return false;
        }
    }
    return supervisor->enabled[link];
}

/* Life */

static bool set_up_links(CluSupervisor *supervisor, const char *dir,
                         GError **error)
{
    const CluPlan *plan = supervisor->plan;
    unsigned i;

    supervisor->broker = clu_broker_new(supervisor->context);
    supervisor->enabled = g_new0(bool, plan->links->len);
    supervisor->traces = g_new0(char *, plan->links->len);
    for (i = 0; i < plan->links->len; i++) {
        const CluPlanLink *link = plan->links->pdata[i];
        g_autofree char *path = clu_plan_link_path(dir, link->link);

        supervisor->enabled[i] = true;
        if (!clu_broker_add_link(supervisor->broker, link->link->name, path,
                                 error)) {
            return false;
        }
    }
    supervisor->regions = g_new0(char *, plan->regions->len + 1);
    for (i = 0; i < plan->regions->len; i++) {
        const CluPlanRegion *region = plan->regions->pdata[i];
        g_autofree char *path = clu_plan_region_path(dir, region->name);
        CluBrokerRegion size = {
            .size_bytes = (uint64_t)region->bytes,
            .vectors = MAX(region->vectors, 1),
            .clients_max = CLIENTS_MAX,
        };

        if (!clu_broker_add_region(supervisor->broker, region->name, path,
                                   &size, error)) {
            return false;
        }
        supervisor->regions[i] =
            clu_broker_get_memory_path(supervisor->broker, region->name);
    }
    supervisor->hubs = g_new0(CluHub *, plan->networks->len + 1);
    for (i = 0; i < plan->networks->len; i++) {
        supervisor->hubs[i] = clu_hub_new(supervisor->context);
    }
    return true;
}

static bool set_up_hosts(CluSupervisor *supervisor, GError **error)
{
    static const CluHostOps ops = {.changed = on_host_changed,
                                   .console = on_host_console,
                                   .logged = on_host_logged};
    const CluPlan *plan = supervisor->plan;
    unsigned i;

    supervisor->paths = g_new0(CluPaths, plan->hosts->len);
    for (i = 0; i < plan->hosts->len; i++) {
        supervisor->paths[i] = supervisor->setup->paths[i];
        supervisor->paths[i].regions = supervisor->regions;
    }
    supervisor->shared.paths = supervisor->paths;
    supervisor->shared.enabled = supervisor->enabled;
    supervisor->shared.traces = supervisor->traces;
    supervisor->shared.hubs = supervisor->hubs;
    for (i = 0; i < plan->hosts->len; i++) {
        CluHost *host = clu_host_new(&supervisor->shared, plan->hosts->pdata[i],
                                     &ops, supervisor, error);

        if (!host) {
            return false;
        }
        g_ptr_array_add(supervisor->hosts, host);
    }
    for (i = 0; i < supervisor->hosts->len; i++) {
        if (!clu_host_start(supervisor->hosts->pdata[i], error)) {
            return false;
        }
    }
    return true;
}

static gboolean on_signal(gpointer data)
{
    CluSupervisor *supervisor = data;

    supervisor->is_ending = true;
    g_main_loop_quit(supervisor->loop);
    return G_SOURCE_CONTINUE;
}

static bool supervisor_run(CluSupervisor *supervisor, int conn, GError **error)
{
    const CluSupervisorSetup *setup = supervisor->setup;
    const char *dir = clu_dir_path(setup->dir);
    g_autofree char *control = g_build_filename(dir, CLU_DIR_CONTROL, NULL);
    g_autofree char *file = g_build_filename(dir, CLU_DIR_FILE, NULL);
    g_autofree char *real = realpath(supervisor->plan->description->file, NULL);

    supervisor->context = g_main_context_default();
    supervisor->loop = g_main_loop_new(supervisor->context, FALSE);
    supervisor->hosts =
        g_ptr_array_new_with_free_func((GDestroyNotify)clu_host_free);
    supervisor->conns = g_ptr_array_new_with_free_func(conn_free);
    supervisor->shared.context = supervisor->context;
    supervisor->shared.plan = supervisor->plan;
    supervisor->shared.is_kvm = setup->is_kvm;
    supervisor->shared.boot_ms = setup->boot_ms;
    supervisor->shared.silence_ms = setup->silence_ms;
    g_unix_signal_add(SIGTERM, on_signal, supervisor);
    g_unix_signal_add(SIGINT, on_signal, supervisor);
    if (!g_file_set_contents(file, real ? real : "", -1, error) ||
        !set_up_links(supervisor, dir, error) ||
        !set_up_hosts(supervisor, error) ||
        !listen_at(supervisor, control, error)) {
        return false;
    }
    add_conn(supervisor, conn)->is_owner = true;
    g_main_loop_run(supervisor->loop);
    return true;
}

/* Sends @error as an answer to whatever the owner will ask. */
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

static void supervisor_main(const CluSupervisorSetup *setup, int conn)
{
    CluSupervisor supervisor = {
        .setup = setup, .plan = setup->plan, .listener = -1};
    g_autoptr(GError) error = NULL;
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    sigset_t none;

    /* The program may have held its signals back. */
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    setsid();
    signal(SIGHUP, SIG_IGN);
    signal(SIGPIPE, SIG_IGN);
    /* What the program was started with is not ours to keep open. */
    dup2(null, 0);
    dup2(null, 1);
    for (int fd = 3; fd < 1024; fd++) {
        if (fd != conn && fd != clu_dir_lock(setup->dir)) {
            close(fd);
        }
    }
    if (!clu_dir_keep(setup->dir, &supervisor.shared.alive, &error) ||
        !supervisor_run(&supervisor, conn, &error)) {
        tell_owner(conn, error);
    }
    /* All that is left, processes first, goes with this one; the keeper waits
     * until it has. */
    _exit(0);
}

int clu_supervisor_start(const CluSupervisorSetup *setup, GError **error)
{
    int conn[2];
    pid_t pid;

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, conn) < 0) {
        fail(error, "a socket for the supervisor");
        return -1;
    }
    pid = fork();
    if (pid == 0) {
        supervisor_main(setup, conn[1]);
    }
    close(conn[1]);
    if (pid < 0) {
        fail(error, "a process for the supervisor");
        close(conn[0]);
        return -1;
    }
    return conn[0];
}
