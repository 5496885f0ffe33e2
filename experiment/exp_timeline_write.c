/* SPDX-License-Identifier: MIT */
/*
 * A timeline of a timed cluster in the Trace Event Format (JSON), which
 * Perfetto and Chrome open. It has a process for the drivers of each host, one
 * for the packets of the cables, and one for the links of the model.
 */
#include "exp_timeline_write.h"

#include <inttypes.h>
#include <string.h>

#include <json-glib/json-glib.h>

#include "exp_timeline.h"
#include "table_file.h"
#include "topo_file.h"
#include "topo_home.h"
#include "trc_ftrace.h"

/* Process numbers in the file; hosts have those from 1 on. */
#define PID_CABLES 1000
#define PID_MODEL  1001

#define PS_PER_NS 1000

typedef struct Timeline {
    const ExpTimelineFile *options;
    TrcFile *file;
    GString *out;
    bool has_event;
    int64_t first_ns;       /* virtual time of the first packet */
    int64_t from_ns, to_ns; /* what is written, in virtual time */
    GHashTable *threads;    /* numbers by "PID/NAME" */
    GHashTable *open;       /* of Open by key: spans of drivers */
    int64_t *arrived;       /* of each packet, in ns; 0: not known */
    unsigned host;          /* its process number */
    unsigned next_id;
} Timeline;

typedef struct Open {
    int64_t time_ns;
    char *name;
} Open;

static void open_free(void *data)
{
    Open *open = data;

    g_free(open->name);
    g_free(open);
}

/* ---- JSON --------------------------------------------------------------- */

static void put_text(GString *out, const char *text)
{
    g_autoptr(JsonNode) node = json_node_init_string(json_node_alloc(), text);
    g_autofree char *json = json_to_string(node, FALSE);

    g_string_append(out, json);
}

/*
 * A time in us since the first packet. Perfetto multiplies it by 1000 as a
 * floating-point number and cuts it off to whole ns, so 1.001 us would become
 * 1000 ns. Then a TLP could begin before the one before it ends, and Perfetto
 * drops it. The digit behind the ps makes up for that.
 */
static void put_time(Timeline *self, const char *key, int64_t ps)
{
    const char *sign = ps < 0 ? "-" : "";
    int64_t size = ABS(ps);

    g_string_append_printf(self->out, ",\"%s\":%s%" PRId64 ".%06d2", key, sign,
                           size / 1000000, (int)(size % 1000000));
}

/* Begins an event of phase @phase. */
static void event_begin(Timeline *self, const char *phase, unsigned pid,
                        unsigned tid, const char *name, const char *category,
                        int64_t ps)
{
    g_string_append(self->out, self->has_event ? ",\n" : "\n");
    self->has_event = true;
    g_string_append_printf(self->out, "{\"ph\":\"%s\",\"pid\":%u,\"tid\":%u,",
                           phase, pid, tid);
    g_string_append(self->out, "\"name\":");
    put_text(self->out, name);
    g_string_append(self->out, ",\"cat\":");
    put_text(self->out, category);
    put_time(self, "ts", ps - self->first_ns * PS_PER_NS);
}

static void name_process(Timeline *self, unsigned pid, const char *name)
{
    event_begin(self, "M", pid, 0, "process_name", "",
                self->first_ns * PS_PER_NS);
    g_string_append(self->out, ",\"args\":{\"name\":");
    put_text(self->out, name);
    g_string_append(self->out, "}}");
}

/* The number of the thread @name of a process; names it the first time. */
static unsigned thread_of(Timeline *self, unsigned pid, const char *name)
{
    char *key = g_strdup_printf("%u/%s", pid, name);
    unsigned tid = GPOINTER_TO_UINT(g_hash_table_lookup(self->threads, key));

    if (tid > 0) {
        g_free(key);
        return tid;
    }
    tid = g_hash_table_size(self->threads) + 1;
    g_hash_table_insert(self->threads, key, GUINT_TO_POINTER(tid));
    event_begin(self, "M", pid, tid, "thread_name", "",
                self->first_ns * PS_PER_NS);
    g_string_append(self->out, ",\"args\":{\"name\":");
    put_text(self->out, name);
    g_string_append(self->out, "}}");
    return tid;
}

static void put_args(Timeline *self, const char *key, const char *value)
{
    g_string_append(self->out, ",\"args\":{");
    put_text(self->out, key);
    g_string_append_c(self->out, ':');
    put_text(self->out, value);
    g_string_append(self->out, "}}");
}

static bool is_wanted(const Timeline *self, int64_t time_ns)
{
    return time_ns >= self->from_ns && time_ns <= self->to_ns;
}

/* A span that may overlap others of its thread. */
static void put_span(Timeline *self, unsigned pid, unsigned tid,
                     const char *name, const char *category, int64_t from_ns,
                     int64_t to_ns, const char *detail)
{
    unsigned id = ++self->next_id;

    event_begin(self, "b", pid, tid, name, category, from_ns * PS_PER_NS);
    g_string_append_printf(self->out, ",\"id\":%u", id);
    put_args(self, "detail", detail);
    event_begin(self, "e", pid, tid, name, category, to_ns * PS_PER_NS);
    g_string_append_printf(self->out, ",\"id\":%u}", id);
}

/* ---- Drivers ------------------------------------------------------------ */

/* A word of @detail behind @key, such as "1" of "qid=1, " */
static char *word_behind(const char *detail, const char *key)
{
    const char *at = strstr(detail, key);

    at = at ? at + strlen(key) : "";
    return g_strndup(at, strcspn(at, ", )"));
}

/* Pairs of events that begin and end something: the names of both, and the
 * texts of their details that tell which one. */
static const struct {
    const char *begin, *end;
    const char *title;
    const char *keys[2];
} pairs[] = {
    {"nvme_setup_cmd", "nvme_complete_rq", "NVMe", {"qid=", "cmdid="}},
    {"irq_handler_entry", "irq_handler_exit", "interrupt", {"irq=", NULL}},
    {"block_rq_issue", "block_rq_complete", "request", {") ", NULL}},
};

static char *pair_key(unsigned pair, const char *detail)
{
    g_autofree char *first = word_behind(detail, pairs[pair].keys[0]);
    g_autofree char *second = pairs[pair].keys[1]
                                  ? word_behind(detail, pairs[pair].keys[1])
                                  : g_strdup("");

    return g_strdup_printf("%u/%s/%s", pair, first, second);
}

static void span_event(Timeline *self, const TrcFtraceEvent *event)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(pairs); i++) {
        bool is_begin = strcmp(event->name, pairs[i].begin) == 0;
        g_autofree char *key = NULL;
        const Open *open;

        if (!is_begin && strcmp(event->name, pairs[i].end) != 0) {
            continue;
        }
        key = pair_key(i, event->detail);
        if (is_begin) {
            Open *begun = g_new0(Open, 1);

            begun->time_ns = event->time_ns;
            begun->name = g_strdup(event->detail);
            g_hash_table_replace(self->open, g_steal_pointer(&key), begun);
            continue;
        }
        open = g_hash_table_lookup(self->open, key);
        if (open) {
            put_span(self, self->host,
                     thread_of(self, self->host, pairs[i].title),
                     pairs[i].title, "driver", open->time_ns, event->time_ns,
                     open->name);
            g_hash_table_remove(self->open, key);
        }
    }
}

static void on_event(void *data, const TrcFtraceEvent *event)
{
    Timeline *self = data;
    g_autofree char *task = NULL;

    if (!is_wanted(self, event->time_ns)) {
        return;
    }
    span_event(self, event);
    task = g_strdup_printf("%s %d", event->task, event->pid);
    event_begin(self, "i", self->host, thread_of(self, self->host, task),
                event->name, "driver", event->time_ns * PS_PER_NS);
    g_string_append(self->out, ",\"s\":\"t\"");
    put_args(self, "detail", event->detail);
}

/* Reads "HOST=FILE". */
static bool add_ftrace(Timeline *self, const char *text, GError **error)
{
    const char *equals = strchr(text, '=');
    g_autofree char *host = NULL, *title = NULL, *content = NULL;
    GError *cause = NULL;

    if (!equals || equals == text) {
        g_set_error(error, TRC_ERROR, TRC_ERROR_FORMAT,
                    "--ftrace %s: write HOST=FILE", text);
        return false;
    }
    host = g_strndup(text, (gsize)(equals - text));
    content = topo_file_text(equals + 1, NULL, &cause);
    if (!content) {
        g_set_error(error, TRC_ERROR, TRC_ERROR_FILE, "%s", cause->message);
        g_error_free(cause);
        return false;
    }
    self->host++;
    title = g_strdup_printf("drivers of %s", host);
    name_process(self, self->host, title);
    g_hash_table_remove_all(self->open);
    return trc_ftrace_parse(content, equals + 1, on_event, self, error);
}

/* ---- The model ---------------------------------------------------------- */

static void on_hop(void *owner, const ExpTimelineHop *hop)
{
    static const char *const types[] = {"MRd", "MWr", "FetchAdd", "Swap",
                                        "CAS", "Cpl", "CplD"};
    Timeline *self = owner;
    const FabTraceRecord *record = hop->record;
    const FabPort *peer = fab_port_peer(record->port);
    const FabTlp *tlp = record->tlp;
    g_autofree char *link = g_strdup_printf(
        "%s to %s", fab_component_name(fab_port_owner(record->port)),
        fab_component_name(fab_port_owner(peer)));
    g_autofree char *detail = g_strdup_printf(
        "packet %zu, 0x%" PRIx64 ", %u B", hop->packet + 1, tlp->addr,
        tlp->type == FAB_TLP_MRD ? tlp->request_bytes : tlp->payload_bytes);

    if (!is_wanted(self, record->start / PS_PER_NS)) {
        return;
    }
    event_begin(self, "X", PID_MODEL, thread_of(self, PID_MODEL, link),
                types[tlp->type], "link", record->start);
    put_time(self, "dur", record->end - record->start);
    put_args(self, "detail", detail);
}

static void on_arrived(void *owner, size_t packet, int64_t time_ns)
{
    Timeline *self = owner;

    self->arrived[packet] = time_ns;
}

static bool add_model(Timeline *self, GError **error)
{
    static const ExpTimelineOps ops = {.hop = on_hop, .arrived = on_arrived};
    g_autoptr(TopoErrors) errors = topo_errors_new();
    g_autofree char *path = topo_home_resolve(self->options->model);
    g_autoptr(TopoDescription) description = topo_load(path, NULL, errors);

    if (!description) {
        g_propagate_error(error, topo_errors_to_gerror(errors));
        return false;
    }
    name_process(self, PID_MODEL, "links of the model");
    return exp_timeline_run(description, self->file, &ops, self, error);
}

/* ---- Packets ------------------------------------------------------------ */

static void on_crossing(const TrcView *view, const TrcCrossing *crossing,
                        int64_t since_ns, void *data)
{
    Timeline *self = data;
    const TrcRecord *record = &crossing->record;
    g_autofree char *line = trc_view_line(view, crossing, since_ns);
    g_autofree char *title =
        g_strdup_printf("%s %uB", trc_kind_name(record->kind), record->bytes);
    int64_t sent = record->time_ns - EXP_TIMELINE_EPOCH_NS, arrived;
    unsigned tid =
        thread_of(self, PID_CABLES, trc_view_direction(view, crossing));

    switch (record->kind) {
    case TRC_MRD:
    case TRC_MWR:
    case TRC_MSI:
    case TRC_CPL:
    case TRC_CPLD:
    case TRC_DOORBELL:
    case TRC_MESSAGE:
        arrived = self->arrived[crossing->index];
        put_span(self, PID_CABLES, tid, title, "packet", sent,
                 MAX(arrived, sent), line);
        break;
    default:
        break;
    }
}

static bool find_range(Timeline *self, GError **error)
{
    const TrcFilter *filter = self->options->filter;
    size_t count = trc_file_n_records(self->file);
    TrcRecord record;

    if (trc_file_damage(self->file)) {
        g_propagate_error(error, g_error_copy(trc_file_damage(self->file)));
        return false;
    }
    if (count == 0) {
        g_set_error(error, TRC_ERROR, TRC_ERROR_FORMAT,
                    "%s: nothing was recorded", self->options->trace);
        return false;
    }
    trc_file_record(self->file, 0, &record);
    self->first_ns = record.time_ns - EXP_TIMELINE_EPOCH_NS;
    self->from_ns = self->first_ns + filter->from_ns;
    trc_file_record(self->file, count - 1, &record);
    self->to_ns =
        MIN(record.time_ns - EXP_TIMELINE_EPOCH_NS,
            filter->to_ns < INT64_MAX / 2 ? self->first_ns + filter->to_ns
                                          : INT64_MAX);
    self->arrived = g_new0(int64_t, count);
    return true;
}

static bool add_all(Timeline *self, GError **error)
{
    const ExpTimelineFile *options = self->options;
    g_autoptr(TrcView) view = trc_view_new(&self->file, 1, options->filter);

    g_string_append(self->out, "{\"displayTimeUnit\":\"ns\",\"otherData\":{");
    g_string_append_printf(self->out, "\"virtual_ns\":\"%" PRId64 "\"},",
                           self->first_ns);
    g_string_append(self->out, "\"traceEvents\":[");
    for (char **ftrace = options->ftraces; ftrace && *ftrace; ftrace++) {
        if (!add_ftrace(self, *ftrace, error)) {
            return false;
        }
    }
    if (options->model && !add_model(self, error)) {
        return false;
    }
    name_process(self, PID_CABLES, "packets of the cables");
    trc_view_each(view, on_crossing, self);
    g_string_append(self->out, "\n]}\n");
    return true;
}

bool exp_timeline_check(const ExpTimelineFile *options, char *const *traces,
                        GError **error)
{
    if (!options->path && (options->model || options->ftraces)) {
        return topo_refuse_option(error,
                                  "--model and --ftrace need --timeline");
    }
    return !options->path || !traces[1] ||
           topo_refuse_option(error, "--timeline takes one FILE");
}

bool exp_timeline_write(const ExpTimelineFile *options, GError **error)
{
    Timeline self = {.options = options};
    bool is_done;

    self.file = trc_file_read(options->trace, error);
    if (!self.file) {
        return false;
    }
    self.out = g_string_new(NULL);
    self.threads = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    self.open =
        g_hash_table_new_full(g_str_hash, g_str_equal, g_free, open_free);
    is_done =
        find_range(&self, error) && add_all(&self, error) &&
        table_file_write(options->path, self.out->str, self.out->len, error);
    g_string_free(self.out, TRUE);
    g_hash_table_unref(self.threads);
    g_hash_table_unref(self.open);
    g_free(self.arrived);
    trc_file_free(self.file);
    return is_done;
}
