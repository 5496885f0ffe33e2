/* SPDX-License-Identifier: MIT */
/* What a supervisor can be asked to do. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "clu_supervisor_priv.h"
#include "trc_file.h"

#define STATUS_MS         1000 /* that monitors may take to answer */
#define LINK_MS           10000
#define LOG_AHEAD_BYTES   (256u << 10)
/* Who looks at a console and does not read. */
#define CONSOLE_MAX_BYTES (1u << 20)

/* Answers */

void clu_conn_send(CluConn *conn, unsigned type, const void *body,
                   size_t length)
{
    g_autofree uint8_t *coded = g_malloc(CLU_AGENT_CODED_MAX);
    const uint8_t *from = body;

    do {
        size_t part = MIN(length, CLU_AGENT_BODY_MAX);
        size_t n = clu_agent_encode(coded, (CluAgentType)type, 0, from,
                                    (uint32_t)part);

        clu_stream_write(conn->stream, coded, n);
        from += part;
        length -= part;
    } while (length > 0);
}

void clu_conn_note(CluConn *conn, const char *format, ...)
{
    g_autofree char *text = NULL;
    va_list arguments;

    va_start(arguments, format);
    text = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    clu_conn_send(conn, CLU_CONTROL_NOTE, text, strlen(text));
}

void clu_conn_reset(CluConn *conn)
{
    conn->is_busy = false;
    conn->check = NULL;
    conn->host = NULL;
    conn->is_followed = false;
    conn->is_following = false;
    conn->request = 0;
    g_clear_pointer(&conn->told, g_free);
    g_clear_pointer(&conn->complaint, g_free);
    g_clear_pointer(&conn->session, clu_session_free);
    if (conn->deadline) {
        g_source_destroy(conn->deadline);
        g_source_unref(conn->deadline);
        conn->deadline = NULL;
    }
    if (conn->log >= 0) {
        close(conn->log);
        conn->log = -1;
    }
}

void clu_conn_exit(CluConn *conn, uint32_t status, uint32_t signal)
{
    uint8_t body[8];

    clu_agent_put32(body, status);
    clu_agent_put32(body + 4, signal);
    clu_conn_reset(conn);
    clu_conn_send(conn, CLU_AGENT_EXIT, body, sizeof(body));
}

void clu_conn_fail(CluConn *conn, unsigned status, const char *format, ...)
{
    g_autofree uint8_t *body = NULL;
    g_autofree char *text = NULL;
    va_list arguments;
    size_t length;

    va_start(arguments, format);
    text = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    length = MIN(strlen(text), CLU_AGENT_BODY_MAX - 4);
    body = g_malloc(length + 4);
    clu_agent_put32(body, status);
    memcpy(body + 4, text, length);
    clu_conn_reset(conn);
    clu_conn_send(conn, CLU_CONTROL_ERROR, body, length + 4);
}

static gboolean on_deadline(gpointer data)
{
    CluConn *conn = data;

    g_source_unref(conn->deadline);
    conn->deadline = NULL;
    if (conn->check) {
        conn->check(conn);
    }
    return G_SOURCE_REMOVE;
}

/* Until conn->check is called once more, with no deadline left. */
static void set_deadline(CluConn *conn, unsigned ms)
{
    conn->deadline = g_timeout_source_new(ms);
    g_source_set_callback(conn->deadline, on_deadline, conn, NULL);
    g_source_attach(conn->deadline, conn->supervisor->context);
}

/* Finds what a word names; answers, and returns false, if there is none. */
static bool find_host(CluConn *conn, const char *name)
{
    const GPtrArray *hosts = conn->supervisor->hosts;
    g_autoptr(GString) names = g_string_new(NULL);
    unsigned i;

    for (i = 0; i < hosts->len; i++) {
        const TopoHost *host = clu_host_plan(hosts->pdata[i])->host;

        if (strcmp(host->name, name) == 0) {
            conn->host = hosts->pdata[i];
            return true;
        }
        g_string_append_printf(names, "%s%s", i ? ", " : "", host->name);
    }
    clu_conn_fail(conn, CLU_CONTROL_USAGE,
                  "there is no host '%s'; there are %s", name, names->str);
    return false;
}

static bool find_link(CluConn *conn, const char *name)
{
    const GPtrArray *links = conn->supervisor->plan->links;
    g_autoptr(GString) names = g_string_new(NULL);
    unsigned i;

    for (i = 0; i < links->len; i++) {
        const CluPlanLink *link = links->pdata[i];

        if (strcmp(link->link->name, name) == 0) {
            conn->link = i;
            return true;
        }
        g_string_append_printf(names, "%s%s", i ? ", " : "", link->link->name);
    }
    clu_conn_fail(conn, CLU_CONTROL_USAGE, "there is no link '%s'; %s%s", name,
                  links->len ? "there are " : "there is none", names->str);
    return false;
}

/* Parses a time-out in seconds. */
static bool parse_seconds(CluConn *conn, const char *text, unsigned *ret_ms)
{
    uint64_t value;

    if (!g_ascii_string_to_unsigned(text, 10, 1, 86400, &value, NULL)) {
        clu_conn_fail(conn, CLU_CONTROL_USAGE,
                      "'%s' is no number of seconds; 1 to 86400 are", text);
        return false;
    }
    *ret_ms = (unsigned)value * 1000;
    return true;
}

/* wait: until all hosts (or one) and their links are up. */

static const char *host_name(const CluHost *host)
{
    return clu_host_plan(host)->host->name;
}

static void tell_progress(CluConn *conn)
{
    const GPtrArray *hosts = conn->supervisor->hosts;
    unsigned i;

    for (i = 0; i < hosts->len; i++) {
        const CluHost *host = hosts->pdata[i];
        CluHostState state = clu_host_state(host);

        if ((!conn->host || conn->host == host) && conn->told[i] != state + 1 &&
            state != CLU_HOST_BOOTING) {
            conn->told[i] = (uint8_t)(state + 1);
            clu_conn_note(conn, "%s: %s after %.1f s", host_name(host),
                          clu_host_state_name(state),
                          (double)clu_host_age_us(host) / 1e6);
        }
    }
}

/* Whether a wait is about @link: about one host's, as far as the other ends are
 * there. */
static bool is_waited_for(CluConn *conn, unsigned link)
{
    unsigned end;

    if (!clu_supervisor_link_expected(conn->supervisor, link)) {
        return false;
    }
    if (!conn->host) {
        return true;
    }
    for (end = 0; end < 2; end++) {
        if (clu_supervisor_link_host(conn->supervisor, link, end) ==
            conn->host) {
            return clu_host_state(clu_supervisor_link_host(
                       conn->supervisor, link, !end)) == CLU_HOST_UP;
        }
    }
    return false;
}

static void append_missing(GString *out, CluConn *conn, unsigned link)
{
    const CluPlanLink *plan = conn->supervisor->plan->links->pdata[link];
    unsigned end;

    g_string_append_printf(out, "; link %s is not up:", plan->link->name);
    for (end = 0; end < 2; end++) {
        const CluHost *host =
            clu_supervisor_link_host(conn->supervisor, link, end);

        g_string_append_printf(
            out, "%s %s's driver says %s", end ? "," : "", host_name(host),
            clu_host_link_up(host, plan->device[end]) ? "up" : "down");
    }
}

static void append_tail(GString *out, CluHost *host)
{
    const char *tail = clu_console_tail(clu_host_console(host));

    g_string_append_printf(out, "\nThe end of the console of %s:\n%s",
                           host_name(host), tail);
    g_string_truncate(out, out->len - g_str_has_suffix(out->str, "\n"));
}

static bool is_bad(CluHostState state)
{
    return state != CLU_HOST_UP && state != CLU_HOST_BOOTING;
}

static void check_wait(CluConn *conn)
{
    CluSupervisor *supervisor = conn->supervisor;
    g_autoptr(GString) message = g_string_new(NULL);
    g_autoptr(GString) tails = g_string_new(NULL);
    bool is_done = true, is_over = !conn->deadline;
    unsigned i;

    tell_progress(conn);
    for (i = 0; i < supervisor->hosts->len; i++) {
        CluHost *host = supervisor->hosts->pdata[i];
        CluHostState state = clu_host_state(host);

        if ((conn->host && host != conn->host) || state == CLU_HOST_UP) {
            continue;
        }
        is_done = false;
        if (is_bad(state) || !conn->deadline) {
            const char *cause = clu_host_cause(host);

            is_over = is_over || is_bad(state);
            g_string_append_printf(message, "; %s is %s%s%s", host_name(host),
                                   clu_host_state_name(state),
                                   cause ? ": " : "", cause ? cause : "");
            append_tail(tails, host);
        }
    }
    for (i = 0; is_done && i < supervisor->plan->links->len; i++) {
        if (is_waited_for(conn, i) && !clu_supervisor_link_up(supervisor, i)) {
            append_missing(message, conn, i);
        }
    }
    if (is_done && message->len == 0) {
        clu_conn_exit(conn, 0, 0);
    } else if (is_over) {
        clu_conn_fail(conn, CLU_CONTROL_FAILED, "%s%s%s", message->str + 2,
                      conn->deadline ? "" : " (time is over)", tails->str);
    }
}

static void start_wait(CluConn *conn, unsigned ms)
{
    conn->told = g_new0(uint8_t, conn->supervisor->hosts->len);
    conn->check = check_wait;
    set_deadline(conn, ms);
    clu_supervisor_changed(conn->supervisor);
}

/* wait SECONDS [HOST] */
static void run_wait(CluConn *conn, GPtrArray *words)
{
    unsigned ms;

    if (parse_seconds(conn, words->pdata[1], &ms) &&
        (words->len < 3 || find_host(conn, words->pdata[2]))) {
        start_wait(conn, ms);
    }
}

/* release: the cluster no longer ends with this connection. */
static void run_release(CluConn *conn, GPtrArray *words)
{
    conn->is_owner = false;
    if (dup2(STDOUT_FILENO, STDERR_FILENO) < 0) {
        /* Then the terminal stays open a little longer. */
    }
    clu_conn_exit(conn, 0, 0);
}

/* status */

static void add_text(JsonBuilder *builder, const char *name, const char *text)
{
    json_builder_set_member_name(builder, name);
    if (text) {
        json_builder_add_string_value(builder, text);
    } else {
        json_builder_add_null_value(builder);
    }
}

static void add_number(JsonBuilder *builder, const char *name, int64_t value)
{
    json_builder_set_member_name(builder, name);
    json_builder_add_int_value(builder, value);
}

static void add_bool(JsonBuilder *builder, const char *name, bool value)
{
    json_builder_set_member_name(builder, name);
    json_builder_add_boolean_value(builder, value);
}

static void add_devices(JsonBuilder *builder, const CluPlanHost *plan)
{
    unsigned i;

    json_builder_set_member_name(builder, "devices");
    json_builder_begin_array(builder);
    for (i = 0; i < plan->devices->len; i++) {
        const CluPlanDevice *device = plan->devices->pdata[i];
        g_autofree char *address = clu_plan_address(device);

        json_builder_begin_object(builder);
        add_text(builder, "name", device->device->name);
        add_text(builder, "device", device->type);
        add_text(builder, "id", device->id);
        add_text(builder, "address", address);
        add_text(builder, "link",
                 device->link ? device->link->link->name : NULL);
        json_builder_end_object(builder);
    }
    json_builder_end_array(builder);
}

static void add_host(JsonBuilder *builder, CluSupervisor *supervisor,
                     CluHost *host)
{
    const CluPlanHost *plan = clu_host_plan(host);
    const TopoVm *vm = plan->host->vm;
    const char *dir = clu_dir_path(supervisor->setup->dir);
    g_autofree char *log = clu_plan_log_path(dir, plan->host);
    g_autofree char *qmp = vm->qmp ? clu_plan_qmp_path(dir, plan->host) : NULL;

    json_builder_begin_object(builder);
    add_text(builder, "name", plan->host->name);
    add_text(builder, "state", clu_host_state_name(clu_host_state(host)));
    add_text(builder, "cause", clu_host_cause(host));
    add_number(builder, "boots", clu_host_boots(host));
    add_number(builder, "age_ms", clu_host_age_us(host) / 1000);
    add_number(builder, "pid", clu_host_pid(host));
    add_text(builder, "kernel", clu_host_release(host));
    add_number(builder, "memory_bytes", vm->memory_bytes);
    add_number(builder, "cpus", vm->cpus);
    add_text(builder, "accel",
             supervisor->shared.is_kvm[plan->index] ? "kvm" : "tcg");
    add_text(builder, "client", vm->client);
    add_bool(builder, "iommu", plan->host->iommu);
    add_text(builder, "log", log);
    add_text(builder, "qmp", qmp);
    add_number(builder, "gdb_port", vm->gdb_port);
    add_devices(builder, plan);
    json_builder_end_object(builder);
}

static void add_link(JsonBuilder *builder, CluSupervisor *supervisor,
                     unsigned link)
{
    const CluPlanLink *plan = supervisor->plan->links->pdata[link];
    unsigned end;

    json_builder_begin_object(builder);
    add_text(builder, "name", plan->link->name);
    add_text(builder, "state",
             clu_supervisor_link_up(supervisor, link) ? "up" : "down");
    add_bool(builder, "enabled", supervisor->enabled[link]);
    add_text(builder, "trace", supervisor->traces[link]);
    json_builder_set_member_name(builder, "ends");
    json_builder_begin_array(builder);
    for (end = 0; end < 2; end++) {
        const CluPlanDevice *device = plan->device[end];
        CluHost *host = clu_supervisor_link_host(supervisor, link, end);
        g_autofree char *address = clu_plan_address(device);

        json_builder_begin_object(builder);
        add_text(builder, "host", plan->host[end]->host->name);
        add_text(builder, "adapter", device->device->name);
        add_text(builder, "id", device->id);
        add_text(builder, "address", address);
        add_number(builder, "partition", end);
        add_text(builder, "state",
                 clu_host_link_up(host, device) ? "up" : "down");
        json_builder_end_object(builder);
    }
    json_builder_end_array(builder);
    json_builder_end_object(builder);
}

char *clu_supervisor_status(CluSupervisor *supervisor)
{
    g_autoptr(JsonBuilder) builder = json_builder_new();
    g_autoptr(JsonGenerator) generator = json_generator_new();
    g_autoptr(JsonNode) root = NULL;
    const CluPlan *plan = supervisor->plan;
    unsigned i;

    json_builder_begin_object(builder);
    {
        g_autofree char *name =
            g_path_get_basename(clu_dir_path(supervisor->setup->dir));

        add_text(builder, "name", name);
    }
    add_text(builder, "file", plan->description->file);
    add_text(builder, "directory", clu_dir_path(supervisor->setup->dir));
    add_number(builder, "pid", getpid());
    json_builder_set_member_name(builder, "hosts");
    json_builder_begin_array(builder);
    for (i = 0; i < supervisor->hosts->len; i++) {
        add_host(builder, supervisor, supervisor->hosts->pdata[i]);
    }
    json_builder_end_array(builder);
    json_builder_set_member_name(builder, "links");
    json_builder_begin_array(builder);
    for (i = 0; i < plan->links->len; i++) {
        add_link(builder, supervisor, i);
    }
    json_builder_end_array(builder);
    json_builder_set_member_name(builder, "not_emulated");
    json_builder_begin_array(builder);
    for (i = 0; i < plan->absent->len; i++) {
        json_builder_add_string_value(builder, plan->absent->pdata[i]);
    }
    json_builder_end_array(builder);
    json_builder_end_object(builder);
    root = json_builder_get_root(builder);
    json_generator_set_root(generator, root);
    json_generator_set_pretty(generator, TRUE);
    return json_generator_to_data(generator, NULL);
}

/* A command to a monitor; its request may be over when the answer comes. */
typedef struct Question {
    CluSupervisor *supervisor;
    uint64_t request;
} Question;

static void on_answer(void *data, const char *complaint)
{
    g_autofree Question *question = data;
    const GPtrArray *conns = question->supervisor->conns;
    unsigned i;

    for (i = 0; i < conns->len; i++) {
        CluConn *conn = conns->pdata[i];

        if (conn->request == question->request) {
            conn->n_unanswered--;
            if (complaint && !conn->complaint) {
                conn->complaint = g_strdup(complaint);
            }
            clu_supervisor_changed(question->supervisor);
            return;
        }
    }
}

static void ask_monitor(CluConn *conn, CluHost *host, const char *command)
{
    CluQmp *qmp = clu_host_qmp(host);
    Question *question;

    if (qmp) {
        question = g_new(Question, 1);
        *question = (Question){conn->supervisor, conn->request};
        conn->n_unanswered++;
        clu_qmp_command(qmp, command, on_answer, question);
    }
}

static void check_status(CluConn *conn)
{
    g_autofree char *text = NULL;

    if (conn->n_unanswered == 0 || !conn->deadline) {
        text = clu_supervisor_status(conn->supervisor);
        clu_conn_send(conn, CLU_AGENT_STDOUT, text, strlen(text));
        clu_conn_exit(conn, 0, 0);
    }
}

/* Each monitor is asked something first. What it has to say of the past, such
 * as a reset of the machine, comes before its answer: a status is never older
 * than its question. */
static void run_status(CluConn *conn, GPtrArray *words)
{
    const GPtrArray *hosts = conn->supervisor->hosts;
    unsigned i;

    for (i = 0; i < hosts->len; i++) {
        ask_monitor(conn, hosts->pdata[i], "{\"execute\": \"query-status\"}");
    }
    conn->check = check_status;
    set_deadline(conn, STATUS_MS);
    clu_supervisor_changed(conn->supervisor);
}

/* link NAME up|down */

/* Whether a host's driver would notice what happens to a link. */
static bool is_there(CluConn *conn, unsigned end)
{
    return clu_host_state(clu_supervisor_link_host(conn->supervisor, conn->link,
                                                   end)) == CLU_HOST_UP;
}

static void check_link(CluConn *conn)
{
    CluSupervisor *supervisor = conn->supervisor;
    const CluPlanLink *plan = supervisor->plan->links->pdata[conn->link];
    bool is_done = conn->n_unanswered == 0;
    unsigned end;

    if (conn->complaint) {
        clu_conn_fail(conn, CLU_CONTROL_FAILED, "%s: QEMU: %s",
                      plan->link->name, conn->complaint);
        return;
    }
    for (end = 0; end < 2; end++) {
        CluHost *host = clu_supervisor_link_host(supervisor, conn->link, end);

        if (!is_there(conn, end)) {
            continue;
        }
        if (!conn->want) {
            is_done = is_done && !clu_host_link_up(host, plan->device[end]);
        } else if (is_there(conn, !end) &&
                   clu_supervisor_link_expected(supervisor, conn->link)) {
            is_done = is_done && clu_host_link_up(host, plan->device[end]);
        }
    }
    if (is_done) {
        clu_conn_exit(conn, 0, 0);
    } else if (!conn->deadline && conn->n_unanswered > 0) {
        clu_conn_fail(conn, CLU_CONTROL_FAILED, "%s: QEMU does not answer",
                      plan->link->name);
    } else if (!conn->deadline) {
        clu_conn_fail(conn, CLU_CONTROL_FAILED,
                      "the drivers do not say that %s is %s", plan->link->name,
                      conn->want ? "up" : "down");
    }
}

static void run_link(CluConn *conn, GPtrArray *words)
{
    CluSupervisor *supervisor = conn->supervisor;
    const char *word = words->pdata[2];
    const CluPlanLink *plan;
    unsigned end;

    if (strcmp(word, "up") != 0 && strcmp(word, "down") != 0) {
        clu_conn_fail(conn, CLU_CONTROL_USAGE,
                      "a link is made up or down, not '%s'", word);
        return;
    }
    if (!find_link(conn, words->pdata[1])) {
        return;
    }
    conn->want = strcmp(word, "up") == 0;
    supervisor->enabled[conn->link] = conn->want;
    plan = supervisor->plan->links->pdata[conn->link];
    for (end = 0; end < 2; end++) {
        g_autofree char *command = g_strdup_printf(
            "{\"execute\": \"qom-set\", \"arguments\": {\"path\": "
            "\"/machine/peripheral/%s\", \"property\": \"enabled\", "
            "\"value\": %s}}",
            plan->device[end]->id, conn->want ? "true" : "false");

        ask_monitor(conn, clu_supervisor_link_host(supervisor, conn->link, end),
                    command);
    }
    conn->check = check_link;
    set_deadline(conn, LINK_MS);
    clu_supervisor_changed(supervisor);
}

/* trace NAME FILE|off */

static void check_trace(CluConn *conn)
{
    CluSupervisor *supervisor = conn->supervisor;
    const CluPlanLink *plan = supervisor->plan->links->pdata[conn->link];

    if (conn->complaint) {
        g_clear_pointer(&supervisor->traces[conn->link], g_free);
        clu_conn_fail(conn, CLU_CONTROL_FAILED, "%s: QEMU: %s",
                      plan->link->name, conn->complaint);
    } else if (conn->n_unanswered == 0) {
        clu_conn_exit(conn, 0, 0);
    } else if (!conn->deadline) {
        clu_conn_fail(conn, CLU_CONTROL_FAILED, "%s: QEMU does not answer",
                      plan->link->name);
    }
}

/* The ends append to a file that is made here, where both their names are
 * known. */
static bool make_trace(CluConn *conn, const char *path)
{
    const CluPlanLink *plan = conn->supervisor->plan->links->pdata[conn->link];
    g_autoptr(GError) error = NULL;
    g_autofree char *first =
        g_strdup_printf("%s:%s", plan->host[0]->host->name, plan->link->name);
    g_autofree char *second =
        g_strdup_printf("%s:%s", plan->host[1]->host->name, plan->link->name);
    const char *const names[TRC_ENDS] = {first, second};

    if (!trc_file_create(path, names, 0, &error)) {
        clu_conn_fail(conn, CLU_CONTROL_FAILED, "%s", error->message);
        return false;
    }
    return true;
}

static void run_trace(CluConn *conn, GPtrArray *words)
{
    CluSupervisor *supervisor = conn->supervisor;
    const char *path = strcmp(words->pdata[2], "off") ? words->pdata[2] : "";
    g_autoptr(JsonNode) value = json_node_init_string(json_node_alloc(), path);
    g_autofree char *text = json_to_string(value, FALSE);
    unsigned end;

    if (!find_link(conn, words->pdata[1]) ||
        (*path && !make_trace(conn, path))) {
        return;
    }
    g_free(supervisor->traces[conn->link]);
    supervisor->traces[conn->link] = *path ? g_strdup(path) : NULL;
    for (end = 0; end < 2; end++) {
        const CluPlanLink *plan = supervisor->plan->links->pdata[conn->link];
        g_autofree char *command = g_strdup_printf(
            "{\"execute\": \"qom-set\", \"arguments\": {\"path\": "
            "\"/machine/peripheral/%s\", \"property\": \"trace\", "
            "\"value\": %s}}",
            plan->device[end]->id, text);

        ask_monitor(conn, clu_supervisor_link_host(supervisor, conn->link, end),
                    command);
    }
    conn->check = check_trace;
    set_deadline(conn, LINK_MS);
    clu_supervisor_changed(supervisor);
}

/* kill HOST, restart HOST */

static void check_kill(CluConn *conn)
{
    if (!clu_host_has_process(conn->host)) {
        clu_conn_exit(conn, 0, 0);
    }
}

static void run_kill(CluConn *conn, GPtrArray *words)
{
    if (!find_host(conn, words->pdata[1])) {
        return;
    }
    clu_host_kill(conn->host, "it was killed");
    conn->check = check_kill;
    clu_supervisor_changed(conn->supervisor);
}

static void check_restart(CluConn *conn)
{
    g_autoptr(GError) error = NULL;

    if (clu_host_has_process(conn->host)) {
        return;
    }
    if (!clu_host_start(conn->host, &error)) {
        clu_conn_fail(conn, CLU_CONTROL_FAILED, "%s: %s", host_name(conn->host),
                      error->message);
        return;
    }
    start_wait(conn, conn->supervisor->setup->boot_ms);
}

static void run_restart(CluConn *conn, GPtrArray *words)
{
    if (!find_host(conn, words->pdata[1])) {
        return;
    }
    clu_host_kill(conn->host, "it is being restarted");
    conn->check = check_restart;
    clu_supervisor_changed(conn->supervisor);
}

/* down */

static gboolean on_down(gpointer data)
{
    CluSupervisor *supervisor = data;

    g_main_loop_quit(supervisor->loop);
    return G_SOURCE_REMOVE;
}

/* The program sees from the lock that all is gone. */
static void run_down(CluConn *conn, GPtrArray *words)
{
    CluSupervisor *supervisor = conn->supervisor;
    GSource *idle = g_idle_source_new();

    supervisor->is_ending = true;
    clu_conn_exit(conn, 0, 0);
    g_source_set_callback(idle, on_down, supervisor, NULL);
    g_source_attach(idle, supervisor->context);
    g_source_unref(idle);
}

/* exec HOST COMMAND... */

static void on_session_frame(void *owner, const CluAgentFrame *frame)
{
    CluConn *conn = owner;

    switch (frame->type) {
    case CLU_AGENT_FAILED:
        clu_conn_fail(conn, CLU_CONTROL_LOST,
                      "%s: the command cannot be run: %s",
                      host_name(conn->host),
                      g_strerror((int)clu_agent_get32(frame->body)));
        break;
    case CLU_AGENT_EXIT:
        clu_conn_exit(conn, clu_agent_get32(frame->body),
                      clu_agent_get32(frame->body + 4));
        break;
    case CLU_AGENT_STDOUT:
    case CLU_AGENT_STDERR:
    case CLU_AGENT_CREDIT:
        clu_conn_send(conn, frame->type, frame->body, frame->length);
        break;
    default:
        break;
    }
}

static void on_session_lost(void *owner)
{
    CluConn *conn = owner;
    const char *state = clu_host_state_name(clu_host_state(conn->host));

    clu_conn_fail(conn, CLU_CONTROL_LOST,
                  "%s: the command's end is not known: the guest is gone (%s)",
                  host_name(conn->host), state);
}

static void run_exec(CluConn *conn, GPtrArray *words)
{
    static const CluSessionOps ops = {.frame = on_session_frame,
                                      .lost = on_session_lost};
    g_autoptr(GString) command = g_string_new(NULL);
    CluGuest *guest;
    unsigned i;

    if (!find_host(conn, words->pdata[1])) {
        return;
    }
    guest = clu_host_guest(conn->host);
    if (!guest || !clu_guest_is_ready(guest)) {
        const char *cause = clu_host_cause(conn->host);

        clu_conn_fail(conn, CLU_CONTROL_LOST,
                      "%s is %s%s%s: there is no agent to run a command",
                      host_name(conn->host),
                      clu_host_state_name(clu_host_state(conn->host)),
                      cause ? ", " : "", cause ? cause : "");
        return;
    }
    for (i = 2; i < words->len; i++) {
        const char *word = words->pdata[i];

        g_string_append_len(command, word, (gssize)strlen(word) + 1);
    }
    conn->session =
        clu_session_new(guest, command->str, command->len, &ops, conn);
}

/* console HOST */

void clu_conn_console(CluConn *conn, const uint8_t *data, size_t length)
{
    if (clu_stream_pending(conn->stream) < CONSOLE_MAX_BYTES) {
        clu_conn_send(conn, CLU_AGENT_STDOUT, data, length);
    }
}

static void run_console(CluConn *conn, GPtrArray *words)
{
    if (find_host(conn, words->pdata[1])) {
        conn->is_followed = true;
    }
}

void clu_conn_frame(CluConn *conn, const CluAgentFrame *frame)
{
    if (conn->session) {
        bool is_credit = frame->type == CLU_AGENT_CREDIT;

        if (is_credit && frame->length == 8) {
            uint32_t stream = clu_agent_get32(frame->body);

            if (stream == CLU_AGENT_STDOUT || stream == CLU_AGENT_STDERR) {
                clu_session_credit(conn->session, (CluAgentType)stream,
                                   clu_agent_get32(frame->body + 4));
            }
        } else if (frame->type == CLU_AGENT_STDIN ||
                   frame->type == CLU_AGENT_STDIN_EOF ||
                   frame->type == CLU_AGENT_SIGNAL) {
            clu_session_send(conn->session, (CluAgentType)frame->type,
                             frame->body, frame->length);
        }
    } else if (conn->is_followed && frame->type == CLU_AGENT_STDIN) {
        clu_console_write(clu_host_console(conn->host), frame->body,
                          frame->length);
    }
}

/* logs HOST follow|once */

/* Sends the next part of a log, as far as its reader keeps up. */
void clu_conn_pump(CluConn *conn)
{
    g_autofree uint8_t *buffer = NULL;
    ssize_t n = 1;

    if (conn->log < 0) {
        return;
    }
    buffer = g_malloc(CLU_AGENT_BODY_MAX);
    while (n > 0 && clu_stream_pending(conn->stream) < LOG_AHEAD_BYTES) {
        n = read(conn->log, buffer, CLU_AGENT_BODY_MAX);
        if (n > 0) {
            clu_conn_send(conn, CLU_AGENT_STDOUT, buffer, (size_t)n);
        }
    }
    if (n <= 0 && !conn->is_following) {
        clu_conn_exit(conn, 0, 0);
    }
}

static void run_logs(CluConn *conn, GPtrArray *words)
{
    CluSupervisor *supervisor = conn->supervisor;
    g_autofree char *path = NULL;

    if (!find_host(conn, words->pdata[1])) {
        return;
    }
    path = clu_plan_log_path(clu_dir_path(supervisor->setup->dir),
                             clu_host_plan(conn->host)->host);
    conn->log = open(path, O_RDONLY | O_CLOEXEC);
    if (conn->log < 0) {
        clu_conn_fail(conn, CLU_CONTROL_FAILED, "%s: %s", path,
                      g_strerror(errno));
        return;
    }
    conn->is_following = strcmp(words->pdata[2], "follow") == 0;
    clu_conn_pump(conn);
}

const CluVerb clu_verbs[] = {
    /* Behind the verb, so many words at least and at most */
    {"wait", 1, 2, run_wait},       {"release", 0, 0, run_release},
    {"status", 0, 0, run_status},   {"exec", 2, 4096, run_exec},
    {"console", 1, 1, run_console}, {"logs", 2, 2, run_logs},
    {"link", 2, 2, run_link},       {"trace", 2, 2, run_trace},
    {"kill", 1, 1, run_kill},       {"restart", 1, 1, run_restart},
    {"down", 0, 0, run_down},       {.name = NULL},
};
