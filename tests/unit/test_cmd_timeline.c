/* SPDX-License-Identifier: MIT */
/*
 * Timelines of a timed cluster, of scenarios/replay/four-reads.*, which a real
 * cluster has recorded. Invariants: the file is JSON in the Trace Event Format:
 * each event has its members, each thread a name, each span an end that is not
 * before its begin, and no two TLPs are on one link in one direction at the
 * same time. All is on one clock: of each read the driver's command, the
 * doorbell, the fetch, the data, the MSI and the driver's interrupt follow each
 * other, and the hops of a packet lie between its sending and its arrival. The
 * model has the arrivals that the machines have recorded.
 */
#include <math.h>
#include <string.h>

#include <check.h>
#include <glib.h>
#include <json-glib/json-glib.h>

#include "program.h"
#include "trc_file.h"
#include "../suite.h"

#define SOURCE TOPO_SOURCE_ROOT "/scenarios/replay/four-reads"
#define MODEL  TOPO_SOURCE_ROOT "/tests/timed/borrowed.yaml"
#define COMMAND                                                                \
    "trace --timeline @/t.json --model " MODEL " --ftrace borrower=" SOURCE    \
    ".ftrace " SOURCE ".pcapng"
#define READS 4

typedef struct Event {
    char phase;
    int64_t pid, tid, id;
    const char *name, *category, *detail;
    int64_t ps, dur_ps; /* since the first packet */
    int64_t ns, dur_ns; /* the same, as Perfetto computes them */
} Event;

static JsonParser *parser;
static GArray *events; /* of Event */

static int64_t ps_of(JsonObject *object, const char *key)
{
    return llround(json_object_get_double_member(object, key) * 1e6);
}

/* CoerceToTs() of src/trace_processor/importers/json/json_utils.h in Perfetto
 */
static int64_t perfetto_ns(JsonObject *object, const char *key)
{
    return (int64_t)(json_object_get_double_member(object, key) * 1000.0);
}

static void take(JsonArray *array, guint index, JsonNode *node, void *data)
{
    JsonObject *object = json_node_get_object(node);
    JsonObject *args = json_object_has_member(object, "args")
                           ? json_object_get_object_member(object, "args")
                           : NULL;
    Event event = {
        .phase = json_object_get_string_member(object, "ph")[0],
        .pid = json_object_get_int_member(object, "pid"),
        .tid = json_object_get_int_member(object, "tid"),
        .name = json_object_get_string_member(object, "name"),
        .category = json_object_get_string_member(object, "cat"),
        .ps = ps_of(object, "ts"),
        .ns = perfetto_ns(object, "ts"),
        .detail = "",
    };

    ck_assert(event.name && event.category);
    ck_assert_int_ge(event.ps, 0);
    if (args && json_object_has_member(args, "detail")) {
        event.detail = json_object_get_string_member(args, "detail");
    }
    if (event.phase == 'X') {
        event.dur_ps = ps_of(object, "dur");
        event.dur_ns = perfetto_ns(object, "dur");
        ck_assert_int_ge(event.dur_ps, 0);
    }
    if (event.phase == 'b' || event.phase == 'e') {
        event.id = json_object_get_int_member(object, "id");
    }
    g_array_append_val(events, event);
}

static void load(const char *command)
{
    g_autofree char *path = NULL;

    g_clear_object(&parser);
    g_clear_pointer(&events, g_array_unref);
    ck_assert_msg(program_run(command) == 0, "%s", program_err);
    path = program_place("t.json");
    parser = json_parser_new();
    ck_assert(json_parser_load_from_file(parser, path, NULL));
    events = g_array_new(FALSE, FALSE, sizeof(Event));
    json_array_foreach_element(
        json_object_get_array_member(
            json_node_get_object(json_parser_get_root(parser)), "traceEvents"),
        take, NULL);
}

static void setup(void)
{
    program_setup();
    load(COMMAND);
}

static void teardown(void)
{
    g_clear_pointer(&events, g_array_unref);
    g_clear_object(&parser);
    program_teardown();
}

static const Event *event_at(unsigned index)
{
    return &g_array_index(events, Event, index);
}

/* The first event of this phase, whose name begins with @name and whose detail
 * has @detail, from @from_ps on. */
static const Event *find(char phase, const char *name, const char *detail,
                         int64_t from_ps)
{
    const Event *best = NULL;

    for (unsigned i = 0; i < events->len; i++) {
        const Event *event = event_at(i);

        if (event->phase == phase && g_str_has_prefix(event->name, name) &&
            strstr(event->detail, detail) && event->ps >= from_ps &&
            (!best || event->ps < best->ps)) {
            best = event;
        }
    }
    ck_assert_msg(best, "no %c %s %s", phase, name, detail);
    return best;
}

static const Event *end_of(const Event *begin)
{
    for (unsigned i = 0; i < events->len; i++) {
        const Event *event = event_at(i);

        if (event->phase == 'e' && event->id == begin->id) {
            return event;
        }
    }
    ck_abort_msg("%s has no end", begin->name);
}

START_TEST(spans_and_threads_are_whole)
{
    unsigned counts[128] = {0};

    for (unsigned i = 0; i < events->len; i++) {
        const Event *event = event_at(i);
        bool has_thread = false, has_process = false;

        counts[(unsigned char)event->phase & 127]++;
        if (event->phase == 'M') {
            continue;
        }
        for (unsigned j = 0; j < events->len; j++) {
            const Event *other = event_at(j);

            if (other->phase == 'M' && other->pid == event->pid) {
                has_thread |= other->tid == event->tid &&
                              strcmp(other->name, "thread_name") == 0;
                has_process |= strcmp(other->name, "process_name") == 0;
            }
            /* A link sends one TLP at a time. Rounding takes up to 1 ps. */
            if (event->phase == 'X' && other->phase == 'X' && i != j &&
                other->tid == event->tid && other->ps >= event->ps) {
                ck_assert_int_ge(other->ps + 1, event->ps + event->dur_ps);
            }
        }
        ck_assert(has_thread && has_process);
        if (event->phase == 'b') {
            const Event *end = end_of(event);

            ck_assert_int_ge(end->ps, event->ps);
            ck_assert_str_eq(end->category, event->category);
            ck_assert_str_eq(end->name, event->name);
        }
    }
    ck_assert_uint_eq(counts['b'], counts['e']);
    ck_assert_uint_gt(counts['X'], 3 * counts['b'] / 2);
    ck_assert_uint_gt(counts['i'], 8 * READS);
}
END_TEST

/*
 * The rules of Perfetto's importer, from its source. SliceTracker drops a
 * complete event that ends behind another one of its thread in which it
 * begins. Asynchronous events are matched by category and id, in the order of
 * time; so an id stands for one span, and its begin is written before its end.
 * A flow would need an "s" and an "f"; there is none.
 */
START_TEST(perfetto_drops_no_event)
{
    g_autoptr(GHashTable) open = g_hash_table_new(NULL, NULL);
    g_autoptr(GHashTable) closed = g_hash_table_new(NULL, NULL);

    for (unsigned i = 0; i < events->len; i++) {
        const Event *event = event_at(i);
        void *id = GSIZE_TO_POINTER((gsize)event->id);

        ck_assert_msg(strchr("MXbei", event->phase), "phase %c", event->phase);
        /* No time becomes less than it is by more than the cut. */
        ck_assert_int_eq(event->ns, event->ps / 1000);
        if (event->phase == 'b') {
            ck_assert(g_hash_table_add(open, id));
        } else if (event->phase == 'e') {
            ck_assert(g_hash_table_remove(open, id));
            ck_assert(g_hash_table_add(closed, id));
        }
        for (unsigned j = 0; event->phase == 'X' && j < events->len; j++) {
            const Event *other = event_at(j);
            int64_t end = other->ns + other->dur_ns;

            ck_assert(other->phase != 'X' || other->pid != event->pid ||
                      other->tid != event->tid || other->ns > event->ns ||
                      event->ns >= end || event->ns + event->dur_ns <= end);
        }
    }
    ck_assert_uint_eq(g_hash_table_size(open), 0);
    ck_assert_uint_gt(g_hash_table_size(closed), 26 * READS);
}
END_TEST

/* 1.001 * 1000.0 is less than 1001. */
START_TEST(perfetto_has_the_ns)
{
    const Event *event;

    program_put("odd", "# tracer: nop\n"
                       "  a-b-94 [000] d.h1. 2800001001: nvme_sq: nvme0\n");
    load("trace --timeline @/t.json --ftrace b=@/odd " SOURCE ".pcapng");
    event = find('i', "nvme_sq", "", 0);
    ck_assert_int_eq(event->ps, 1001000);
    ck_assert_int_eq(event->ns, 1001);
}
END_TEST

START_TEST(a_read_goes_through_drivers_cable_and_drive)
{
    int64_t from = 0;

    for (unsigned i = 0; i < READS; i++) {
        const Event *issue = find('i', "block_rq_issue", "", from);
        const Event *command = find('i', "nvme_setup_cmd", "", from);
        const Event *doorbell = find('b', "MWr 4B", "borrower>lender", from);
        const Event *fetch = find('b', "MRd 64B", "lender>borrower", from);
        const Event *entry = find('b', "CplD 64B", "borrower>lender", from);
        const Event *data = find('b', "MWr 256B", "lender>borrower", from);
        const Event *msi = find('b', "MSI 4B", "lender>borrower", from);
        const Event *interrupt = find('i', "irq_handler_entry", "nvme", from);
        const Event *done = find('i', "nvme_complete_rq", "", from);
        const Event *span = find('b', "NVMe", "nvme_cmd_read", from);

        ck_assert_int_le(command->ps, issue->ps);
        ck_assert_int_lt(issue->ps, doorbell->ps);
        ck_assert_int_lt(end_of(doorbell)->ps, fetch->ps);
        ck_assert_int_eq(end_of(fetch)->ps, entry->ps);
        ck_assert_int_lt(end_of(entry)->ps, data->ps);
        ck_assert_int_lt(data->ps, msi->ps);
        ck_assert_int_lt(end_of(msi)->ps, interrupt->ps);
        ck_assert_int_lt(interrupt->ps, done->ps);
        ck_assert_int_eq(span->ps, command->ps);
        ck_assert_int_eq(end_of(span)->ps, done->ps);
        /* The borrower's CPU runs 1 instruction a ns: from the MSI to the
         * handler's event it takes less than 2 us. */
        ck_assert_int_lt(interrupt->ps - end_of(msi)->ps, 2000000);
        from = done->ps + 1;
    }
}
END_TEST

/* The arrivals of the model are those of the trace. Within one burst they may
 * be some ns off, because Ack and UpdateFC DLLPs come between, which depend on
 * what the links did before the trace. */
START_TEST(the_model_has_the_arrivals_of_the_machines)
{
    g_autoptr(TrcFile) file = trc_file_read(SOURCE ".pcapng", NULL);
    g_autoptr(GArray) ends = g_array_new(FALSE, FALSE, sizeof(int64_t));
    int64_t first = 0;
    unsigned found = 0;

    for (unsigned i = 0; i < events->len; i++) {
        const Event *event = event_at(i);

        if (event->phase == 'e' && strcmp(event->category, "packet") == 0 &&
            !g_str_has_prefix(event->name, "MRd")) {
            g_array_append_val(ends, event->ps);
        }
    }
    for (size_t i = 0; i < trc_file_n_records(file); i++) {
        TrcRecord record;
        int64_t best = INT64_MAX;

        trc_file_record(file, i, &record);
        first = i == 0 ? record.time_ns : first;
        if (record.kind != TRC_ARRIVAL) {
            continue;
        }
        for (unsigned j = 0; j < ends->len; j++) {
            int64_t late = g_array_index(ends, int64_t, j) -
                           (record.time_ns - first) * 1000;

            best = MIN(best, ABS(late));
        }
        ck_assert_int_le(best, 5000);
        found++;
    }
    ck_assert_uint_eq(found, ends->len);
    ck_assert_uint_eq(found, 26 * READS);
}
END_TEST

/* "packet N" of a hop is the number of the request in the trace. */
START_TEST(hops_lie_between_sending_and_arrival)
{
    unsigned count = 0;

    for (unsigned i = 0; i < events->len; i++) {
        const Event *hop = event_at(i);
        const Event *doorbell;

        if (hop->phase != 'X' || strcmp(hop->name, "MWr") != 0 ||
            !strstr(hop->detail, " 4 B")) {
            continue;
        }
        for (unsigned j = 0; j < events->len; j++) {
            doorbell = event_at(j);
            if (doorbell->phase == 'b' &&
                strcmp(doorbell->category, "packet") == 0 &&
                doorbell->ps <= hop->ps &&
                end_of(doorbell)->ps + 1000 >= hop->ps + hop->dur_ps) {
                break;
            }
            doorbell = NULL;
        }
        ck_assert_ptr_nonnull(doorbell);
        count++;
    }
    /* Doorbells of tail and head, shadows of both, MSI: four links each */
    ck_assert_uint_eq(count, 4 * 5 * READS);
}
END_TEST

START_TEST(what_does_not_fit_is_refused)
{
    static const struct {
        const char *words, *text;
    } bad[] = {
        {"trace --model x.yaml t.pcapng",
         "--model and --ftrace need --timeline"},
        {"trace --timeline @/u.json --ftrace borrower " SOURCE ".pcapng",
         "--ftrace borrower: write HOST=FILE"},
        {"trace --timeline @/u.json --ftrace b=@/local " SOURCE ".pcapng",
         "line 2: its time is not that of the clock x86-tsc"},
        {"trace --timeline @/u.json --ftrace b=@/other " SOURCE ".pcapng",
         "line 1: no event; write the file /sys/kernel/tracing/trace here"},
        {"trace --timeline @/u.json --model " TOPO_SOURCE_ROOT
         "/scenarios/cluster/two-hosts.yaml " SOURCE ".pcapng",
         "lender:cable is no end of a link of the description"},
    };

    program_put("local", "# tracer: nop\n"
                         "  a-b-94 [000] d.h1. 2.754015: nvme_sq: nvme0\n");
    program_put("other", "Hello\n");
    for (unsigned i = 0; i < G_N_ELEMENTS(bad); i++) {
        ck_assert_int_eq(program_run(bad[i].words), 2);
        ck_assert_msg(strstr(program_err, bad[i].text), "%s", program_err);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cmd_timeline");
    TCase *tcase = tcase_create("cmd_timeline");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_set_timeout(tcase, 120);
    tcase_add_test(tcase, spans_and_threads_are_whole);
    tcase_add_test(tcase, perfetto_drops_no_event);
    tcase_add_test(tcase, perfetto_has_the_ns);
    tcase_add_test(tcase, a_read_goes_through_drivers_cable_and_drive);
    tcase_add_test(tcase, the_model_has_the_arrivals_of_the_machines);
    tcase_add_test(tcase, hops_lie_between_sending_and_arrival);
    tcase_add_test(tcase, what_does_not_fit_is_refused);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
