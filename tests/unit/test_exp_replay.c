/* SPDX-License-Identifier: MIT */
/*
 * Traces as a workload. Invariants: what the model computes for agents that
 * wait and think is what their trace takes when it is repeated on the same
 * fabric; on a slower one a chain of operations that wait for each other is
 * later by each crossing, and a stream that waits for nothing only by the last
 * one; thinking can be scaled; the order of packets in the file counts for
 * nothing; and a trace that does not fit is refused with the packet.
 */
#include "exp_build.h"
#include "exp_crossing.h"
#include "exp_flow.h"
#include "exp_replay.h"

#include <glib/gstdio.h>

#include "topo_test.h"
#include "trc_file.h"
#include "trc_story.h"
#include "../suite.h"

#define FIRST_NS INT64_C(1000000) /* the time of the Starts */
#define NS       INT64_C(1000)    /* in ps */

static char *folder, *trace;

static void setup(void)
{
    folder = g_dir_make_tmp("farside-replay-XXXXXX", NULL);
    trace = g_build_filename(folder, "t.pcapng", NULL);
}

static void teardown(void)
{
    g_unlink(trace);
    g_rmdir(folder);
    g_free(trace);
    g_free(folder);
}

static const char *const names[] = {"a:cable", "b:cable"};

/* ---- Descriptions ------------------------------------------------------ */

/* The hosts of the story, with a cable that takes @cable_ns one way. */
static TopoDescription *load(unsigned cable_ns, const char *keys)
{
    g_autoptr(TopoErrors) errors = topo_errors_new();
    g_autofree char *text = g_strdup_printf(
        "name: t\n"
        "hosts:\n"
        "  - {name: a, cpu: generic-host,\n"
        "     devices: [{name: ntb, part: generic-ntb, at: rp0}]}\n"
        "  - name: b\n"
        "    cpu: generic-host\n"
        "    devices: [{name: ntb, part: generic-ntb, at: rp0},\n"
        "              {name: disk, part: optane-900p, at: rp1}]\n"
        "links: [{name: cable, ends: [a.ntb, b.ntb], propagation: %uns}]\n"
        "lend: [{device: b.disk, to: a}]\n"
        "workload:\n"
        "  flows: [{name: f, kind: replay, trace: %s%s}]\n",
        cable_ns, trace, keys);
    TopoDescription *description =
        topo_load_buffer("test.yaml", text, strlen(text),
                         TEST_FILE("scenarios/parts"), NULL, errors);
    g_autofree char *messages = topo_errors_to_string(errors);

    ck_assert_str_eq(messages, "");
    return description;
}

typedef struct Result {
    int64_t end_ps;  /* of the last operation */
    int64_t time_ps; /* from the first one */
    uint64_t operations, counts[FAB_REPLAY_KINDS];
    double means[FAB_REPLAY_KINDS]; /* in ps */
} Result;

/* Runs the flow of @description; NULL and @error if it cannot be made. */
static bool try_run(TopoDescription *description, Result *ret_result,
                    GError **error)
{
    ExpFabric *fabric = exp_build(description, NULL);
    FabFlow *flow =
        exp_flow_new(fabric, description->workload->flows->pdata[0], 0, error);
    FabFlowResult result;

    if (flow) {
        ck_assert(fab_flows_run(exp_fabric(fabric), SIM_TIME_NONE, NULL));
        fab_flow_result(flow, &result);
        ck_assert_uint_eq(result.failed, 0);
        ret_result->end_ps = result.end;
        ret_result->time_ps = result.end - result.begin;
        ret_result->operations = result.operations;
        for (unsigned i = 0; i < FAB_REPLAY_KINDS; i++) {
            const SimHistogram *latency = fab_replay_flow_latency(flow, i);

            ret_result->counts[i] = sim_histogram_count(latency);
            ret_result->means[i] = sim_histogram_mean(latency);
        }
    }
    exp_fabric_free(fabric);
    return flow;
}

static Result run(unsigned cable_ns, const char *keys)
{
    TopoDescription *description = load(cable_ns, keys);
    GError *error = NULL;
    Result result = {0};

    ck_assert_msg(try_run(description, &result, &error), "%s",
                  error ? error->message : "");
    topo_description_free(description);
    return result;
}

static void keep(const TrcStory *story)
{
    ck_assert(g_file_set_contents(trace, (const char *)story->bytes.bytes->data,
                                  story->bytes.bytes->len, NULL));
}

/* The message of the error of a trace that does not fit. */
static char *refused(void)
{
    TopoDescription *description = load(5, "");
    GError *error = NULL;
    Result result;
    char *message;

    ck_assert(!try_run(description, &result, &error));
    message = g_strdup(error->message);
    g_error_free(error);
    topo_description_free(description);
    return message;
}

static void check_refused(const char *text)
{
    g_autofree char *message = refused();

    ck_assert_msg(strstr(message, text), "%s", message);
}

/* ---- The model as the recorder ----------------------------------------- */

/* An access of an agent of the model: it enters, arrives, and something follows
 * from that. */
typedef struct Access Access;
typedef void (*AccessFn)(Access *access, int64_t time);
struct Access {
    struct Model *model;
    int64_t time; /* enters */
    unsigned end; /* the sender's */
    unsigned requester;
    bool is_read;
    uint64_t answers; /* it is a completion, with this id; 0: a request */
    uint64_t address;
    uint32_t bytes, tag;
    AccessFn over; /* at a write's arrival, and a completion's */
    unsigned left; /* steps of the agent */
    int64_t think;
};

typedef struct Model {
    TopoDescription *description;
    ExpCrossings *crossings;
    TrcStory story;
    GArray *entries; /* of Access *: not entered, unsorted */
    GHashTable *accesses;
    uint64_t next_id;
    uint32_t next_tag;
    int64_t end;      /* the last arrival */
    unsigned crossed; /* number of arrivals */
} Model;

static void at(Model *model, Access access)
{
    Access *copy = g_memdup2(&access, sizeof(access));

    copy->model = model;
    g_array_append_val(model->entries, copy);
}

static void model_arrived(void *owner, unsigned link, unsigned end, uint64_t id,
                          int64_t time)
{
    Model *model = owner;
    Access *access =
        g_hash_table_lookup(model->accesses, GSIZE_TO_POINTER(id / 2));
    bool is_answer = id & 1;

    if (access->is_read && !is_answer) {
        at(model, (Access){.time = time,
                           .end = 1 - access->end,
                           .bytes = access->bytes,
                           .tag = access->tag,
                           .answers = id | 1});
        return;
    }
    model->end = MAX(model->end, time);
    model->crossed += 1 + access->is_read;
    trc_story_arrival(
        &model->story, time, access->is_read ? access->end : 1 - access->end,
        access->is_read ? 2 : 1, access->bytes, access->address, access->tag);
    if (access->over) {
        access->over(access, time);
    }
}

static void model_answer(Model *model, Access *access)
{
    const ExpCrossing crossing = {
        .kind = EXP_CROSSING_COMPLETION,
        .end = access->end,
        .time = access->time,
        .bytes = access->bytes,
        .tag = access->tag,
        .id = access->answers,
    };

    trc_story_completion(&model->story, access->time, access->end, access->tag);
    exp_crossings_enter(model->crossings, &crossing);
    g_free(access);
}

static void model_enter(Model *model, Access *access)
{
    ExpCrossing crossing = {
        .kind = access->is_read ? EXP_CROSSING_READ : EXP_CROSSING_WRITE,
        .end = access->end,
        .time = access->time,
        .address = access->address,
        .bytes = access->bytes,
        .device = access->requester == TRC_STORY_DISK ? "disk" : NULL,
        .id = 2 * ++model->next_id,
    };

    if (access->is_read) {
        crossing.tag = access->tag = ++model->next_tag;
        trc_story_read(&model->story, access->time, access->end,
                       access->requester, access->address, access->bytes,
                       access->tag);
    } else {
        trc_story_write(&model->story, access->time, access->end,
                        access->requester, access->address, access->bytes);
    }
    g_hash_table_insert(model->accesses, GSIZE_TO_POINTER(model->next_id),
                        access);
    exp_crossings_enter(model->crossings, &crossing);
}

/* Runs until nothing is left, and writes the trace. */
static void model_run(Model *model)
{
    for (;;) {
        unsigned first = 0;

        for (unsigned i = 1; i < model->entries->len; i++) {
            if (g_array_index(model->entries, Access *, i)->time <
                g_array_index(model->entries, Access *, first)->time) {
                first = i;
            }
        }
        if (model->entries->len == 0) {
            if (!exp_crossings_run(model->crossings, INT64_MAX)) {
                break;
            }
        } else {
            Access *access = g_array_index(model->entries, Access *, first);

            if (!exp_crossings_run(model->crossings, access->time)) {
                g_array_remove_index(model->entries, first);
                (access->answers ? model_answer : model_enter)(model, access);
            }
        }
    }
    keep(&model->story);
}

static Model *model_new(void)
{
    static const ExpCrossingsOps ops = {.arrived = model_arrived};
    Model *model = g_new0(Model, 1);
    GError *error = NULL;

    g_file_set_contents(trace, "", 0, NULL);
    model->description = load(5, "");
    model->crossings =
        exp_crossings_new(model->description, &ops, model, &error);
    ck_assert_msg(model->crossings, "%s", error ? error->message : "");
    for (unsigned i = 0; i < 4; i++) {
        exp_crossings_place(model->crossings, 1, TRC_STORY_BAR + 4096 * i,
                            "disk", 0, 4096 * i);
    }
    model->story = trc_story_new(FIRST_NS, names);
    model->entries = g_array_new(FALSE, FALSE, sizeof(Access *));
    model->accesses = g_hash_table_new_full(NULL, NULL, NULL, g_free);
    return model;
}

static void model_free(Model *model)
{
    exp_crossings_free(model->crossings);
    topo_description_free(model->description);
    trc_story_clear(&model->story);
    g_array_unref(model->entries);
    g_hash_table_unref(model->accesses);
    g_free(model);
}

/* The trace, repeated on the fabric of the model, takes as long. Arrivals in it
 * are whole ns, rounded up, and a TLP may find a DLLP more on the wire, 1 ns:
 * DLLPs go in groups, a few TLPs later than they could. It begins at the same
 * time, because links send SKP ordered sets at times of their own. */
static Result check_same(const Model *model)
{
    Result result = run(5, ", start: 1ms");
    int64_t model_ps = model->end * NS;

    ck_assert_int_le(result.end_ps, model_ps + model->crossed * NS);
    ck_assert_int_ge(result.end_ps, model_ps - model->crossed * NS);
    return result;
}

/* Two CPUs pass a word to and fro. */
static void ping_over(Access *access, int64_t time)
{
    Access back = *access;

    if (--back.left > 0) {
        back.time = time + back.think;
        back.end = 1 - access->end;
        at(access->model, back);
    }
}

START_TEST(ping_pong_as_the_model_has_it)
{
    Model *model = model_new();
    Result result;

    at(model, (Access){.time = FIRST_NS + 100,
                       .requester = TRC_STORY_CPU,
                       .address = TRC_STORY_RAM,
                       .bytes = 8,
                       .over = ping_over,
                       .left = 40,
                       .think = 137});
    model_run(model);
    result = check_same(model);
    ck_assert_uint_eq(result.counts[FAB_REPLAY_CPU_WRITE], 40);
    ck_assert_uint_eq(result.operations, 40);
    model_free(model);
}
END_TEST

/* A device has four reads under way. */
static void dma_over(Access *access, int64_t time)
{
    Access next = *access;

    if (next.left > 4) {
        next.left -= 4;
        next.time = time + next.think;
        next.address += 4 * 512;
        at(access->model, next);
    }
}

START_TEST(dma_reads_as_the_model_has_them)
{
    Model *model = model_new();
    Result result;

    for (unsigned i = 0; i < 4; i++) {
        at(model, (Access){.time = FIRST_NS + 10 + i,
                           .end = 1,
                           .requester = TRC_STORY_DISK,
                           .is_read = true,
                           .address = TRC_STORY_RAM + 512 * i,
                           .bytes = 512,
                           .over = dma_over,
                           .left = 200 - i,
                           .think = 9});
    }
    model_run(model);
    result = check_same(model);
    ck_assert_uint_eq(result.counts[FAB_REPLAY_DMA_READ], 200);
    model_free(model);
}
END_TEST

/* A drive: doorbell, entry, media, 4 KiB, completion entry, MSI; then the
 * driver's next command. */
static void nvme_doorbell(Access *access, int64_t time);

static void nvme_interrupt(Access *access, int64_t time)
{
    if (access->left > 1) {
        at(access->model, (Access){.time = time + 2000,
                                   .requester = TRC_STORY_CPU,
                                   .address = TRC_STORY_BAR + 0x1008,
                                   .bytes = 4,
                                   .over = nvme_doorbell,
                                   .left = access->left - 1});
    }
}

static void nvme_fetched(Access *access, int64_t time)
{
    Access write = {.time = time + 10000,
                    .end = 1,
                    .requester = TRC_STORY_DISK,
                    .bytes = 256};

    for (unsigned i = 0; i < 16; i++) {
        write.address = TRC_STORY_RAM + 0x10000 + 256 * i;
        at(access->model, write);
    }
    write.address = TRC_STORY_RAM + 0x2000;
    write.bytes = 16;
    write.time++;
    at(access->model, write);
    write.address = TRC_STORY_MSI;
    write.bytes = 4;
    write.time++;
    write.over = nvme_interrupt;
    write.left = access->left;
    at(access->model, write);
}

static void nvme_doorbell(Access *access, int64_t time)
{
    at(access->model, (Access){.time = time + 20,
                               .end = 1,
                               .requester = TRC_STORY_DISK,
                               .is_read = true,
                               .address = TRC_STORY_RAM,
                               .bytes = 64,
                               .over = nvme_fetched,
                               .left = access->left});
}

START_TEST(nvme_as_the_model_has_it)
{
    Model *model = model_new();
    Result same, slower;

    at(model, (Access){.time = FIRST_NS + 500,
                       .requester = TRC_STORY_CPU,
                       .address = TRC_STORY_BAR + 0x1008,
                       .bytes = 4,
                       .over = nvme_doorbell,
                       .left = 10});
    model_run(model);
    same = check_same(model);
    ck_assert_uint_eq(same.counts[FAB_REPLAY_CPU_WRITE], 10);
    ck_assert_uint_eq(same.counts[FAB_REPLAY_DMA_READ], 10);
    ck_assert_uint_eq(same.counts[FAB_REPLAY_DMA_WRITE], 170);
    ck_assert_uint_eq(same.counts[FAB_REPLAY_INTERRUPT], 10);
    /* Four crossings of each command wait for each other: doorbell, fetch,
     * data of the fetch, and what the drive writes. A SKP ordered set may come
     * between. */
    slower = run(105, ", start: 1ms");
    ck_assert_int_le(ABS(slower.end_ps - same.end_ps - 10 * 4 * 100 * NS),
                     50 * NS);
    model_free(model);
}
END_TEST

/* The mean times (ns) of the kinds of operations in @file, from their sending
 * to the arrivals that were recorded: those of posted writes in their order,
 * those of reads by their transactions. */
static void recorded_means(const TrcFile *file, double means[FAB_REPLAY_KINDS])
{
    GArray *writes[2] = {g_array_new(FALSE, FALSE, sizeof(TrcRecord)),
                         g_array_new(FALSE, FALSE, sizeof(TrcRecord))};
    g_autoptr(GHashTable) reads =
        g_hash_table_new_full(NULL, NULL, NULL, g_free);
    unsigned counts[FAB_REPLAY_KINDS] = {0}, taken[2] = {0};

    memset(means, 0, FAB_REPLAY_KINDS * sizeof(*means));
    for (size_t i = 0; i < trc_file_n_records(file); i++) {
        TrcArrival arrival;
        TrcRecord record, sent;
        FabReplayKind kind;

        trc_file_record(file, i, &record);
        if (record.kind == TRC_MWR || record.kind == TRC_MSI) {
            g_array_append_val(writes[record.interface], record);
        } else if (record.kind == TRC_MRD && record.bytes > 0) {
            g_hash_table_insert(reads, GUINT_TO_POINTER(record.transaction),
                                g_memdup2(&record, sizeof(record)));
        }
        if (record.kind != TRC_ARRIVAL) {
            continue;
        }
        ck_assert(trc_record_arrival(&record, &arrival));
        if (arrival.what == TRC_ARRIVED_COMPLETION) {
            sent = *(TrcRecord *)g_hash_table_lookup(
                reads, GUINT_TO_POINTER(record.transaction));
            kind = FAB_REPLAY_DMA_READ;
        } else {
            unsigned from = 1 - record.interface;

            sent = g_array_index(writes[from], TrcRecord, taken[from]++);
            ck_assert_uint_eq(sent.address, arrival.address);
            kind = sent.requester_id == TRC_STORY_CPU ? FAB_REPLAY_CPU_WRITE
                   : sent.kind == TRC_MSI             ? FAB_REPLAY_INTERRUPT
                                                      : FAB_REPLAY_DMA_WRITE;
        }
        means[kind] += (double)(record.time_ns - sent.time_ns);
        counts[kind]++;
    }
    for (unsigned i = 0; i < FAB_REPLAY_KINDS; i++) {
        means[i] /= MAX(counts[i], 1);
    }
    g_array_unref(writes[0]);
    g_array_unref(writes[1]);
}

/* Four reads that a real cluster has recorded take the time that they took
 * there, from the first doorbell to the arrival of the last one, and so do
 * their doorbells, data and MSIs. */
START_TEST(a_real_trace_takes_its_time)
{
    static const FabReplayKind same[] = {
        FAB_REPLAY_CPU_WRITE, FAB_REPLAY_DMA_WRITE, FAB_REPLAY_INTERRUPT};
    g_autoptr(TopoErrors) errors = topo_errors_new();
    TopoDescription *description =
        topo_load(TEST_FILE("scenarios/replay/four-reads.yaml"), NULL, errors);
    g_autoptr(TrcFile) file =
        trc_file_read(TEST_FILE("scenarios/replay/four-reads.pcapng"), NULL);
    int64_t begin = 0, end = 0;
    double means[FAB_REPLAY_KINDS];
    Result result = {0};

    for (size_t i = 0; i < trc_file_n_records(file); i++) {
        TrcRecord record;

        trc_file_record(file, i, &record);
        begin = begin == 0 && record.kind == TRC_MWR ? record.time_ns : begin;
        end = record.kind == TRC_ARRIVAL ? record.time_ns : end;
    }
    ck_assert(try_run(description, &result, NULL));
    ck_assert_double_eq_tol((double)result.time_ps / 1000,
                            (double)(end - begin), 0.01 * (end - begin));
    ck_assert_uint_eq(result.operations, 104);
    recorded_means(file, means);
    /* Not so the reads: one of four waits behind data, which it does at another
     * place in the emulated drive. */
    for (unsigned i = 0; i < G_N_ELEMENTS(same); i++) {
        ck_assert_double_eq_tol(result.means[same[i]] / 1000, means[same[i]],
                                0.01 * means[same[i]]);
    }
    ck_assert_uint_eq(result.counts[FAB_REPLAY_CPU_WRITE], 8);
    ck_assert_uint_eq(result.counts[FAB_REPLAY_DMA_READ], 16);
    ck_assert_uint_eq(result.counts[FAB_REPLAY_DMA_WRITE], 76);
    ck_assert_uint_eq(result.counts[FAB_REPLAY_INTERRUPT], 4);
    topo_description_free(description);
}
END_TEST

/* ---- Closed forms ------------------------------------------------------ */

/* Ten reads of a CPU, each 300 ns after the one before was answered. */
static void write_chain(void)
{
    g_auto(TrcStory) story = trc_story_new(FIRST_NS, names);
    int64_t time = FIRST_NS;

    for (unsigned i = 0; i < 10; i++) {
        trc_story_read(&story, time += 300, 0, TRC_STORY_CPU, TRC_STORY_RAM, 4,
                       i);
        trc_story_completion(&story, time += 700, 1, i);
        trc_story_arrival(&story, time += 800, 0, 2, 4, 0, i);
    }
    keep(&story);
}

START_TEST(a_chain_is_later_by_each_crossing)
{
    Result fast, slow;

    write_chain();
    fast = run(5, "");
    ck_assert_uint_eq(fast.counts[FAB_REPLAY_CPU_READ], 10);
    /* All that is not the reads themselves is thinking. */
    ck_assert_int_eq(fast.end_ps,
                     10 * 300 * NS + (int64_t)(10 * fast.means[0] + 0.5));
    slow = run(1005, "");
    ck_assert_int_eq(slow.end_ps - fast.end_ps, 20 * 1000 * NS);
    ck_assert_double_eq_tol(slow.means[0] - fast.means[0], 2e6, 0.5);
}
END_TEST

START_TEST(a_stream_is_later_by_one_crossing)
{
    g_auto(TrcStory) story = trc_story_new(FIRST_NS, names);
    Result fast, slow;

    for (unsigned i = 0; i < 50; i++) {
        trc_story_write(&story, FIRST_NS + 1000 * (i + 1), 0, TRC_STORY_CPU,
                        TRC_STORY_RAM + 64 * i, 64);
    }
    keep(&story);
    fast = run(5, "");
    slow = run(1005, "");
    ck_assert_uint_eq(fast.counts[FAB_REPLAY_CPU_WRITE], 50);
    /* The last one leaves 50 us after the beginning. */
    ck_assert_double_eq_tol((double)fast.end_ps - fast.means[1], 50e6, 0.5);
    ck_assert_int_eq(slow.end_ps - fast.end_ps, 1000 * NS);
}
END_TEST

/* A read that was under way when a write was issued does not hold it up. */
START_TEST(what_was_under_way_is_not_waited_for)
{
    g_auto(TrcStory) story = trc_story_new(FIRST_NS, names);
    Result fast, slow;

    trc_story_read(&story, FIRST_NS + 100, 1, TRC_STORY_DISK, TRC_STORY_RAM, 64,
                   1);
    trc_story_write(&story, FIRST_NS + 20000, 1, TRC_STORY_DISK,
                    TRC_STORY_RAM + 0x1000, 128);
    trc_story_arrival(&story, FIRST_NS + 90000, 1, 2, 64, 0, 1);
    keep(&story);
    fast = run(5, "");
    slow = run(5005, "");
    ck_assert_int_eq(slow.end_ps - fast.end_ps, 5000 * NS);
    ck_assert_int_lt(fast.end_ps, 25000 * NS);
}
END_TEST

/* Of two reads that a write waits for, the later one counts, which need not be
 * that of the trace. */
START_TEST(all_that_had_arrived_is_waited_for)
{
    g_auto(TrcStory) story = trc_story_new(FIRST_NS, names);
    Result result;

    /* 4 KiB take longer than 4 bytes, but in the trace they were quicker. */
    trc_story_read(&story, FIRST_NS + 1, 1, TRC_STORY_DISK, TRC_STORY_RAM, 512,
                   1);
    trc_story_read(&story, FIRST_NS + 1, 1, TRC_STORY_DISK,
                   TRC_STORY_RAM + 0x4000, 4, 2);
    trc_story_arrival(&story, FIRST_NS + 1000, 1, 2, 512, 0, 1);
    trc_story_arrival(&story, FIRST_NS + 1010, 1, 2, 4, 0, 2);
    trc_story_write(&story, FIRST_NS + 1510, 1, TRC_STORY_DISK,
                    TRC_STORY_RAM + 0x8000, 4);
    keep(&story);
    result = run(5, "");
    ck_assert_uint_eq(result.counts[FAB_REPLAY_DMA_READ], 2);
    /* Its issue is 500 ns after the longer of the two reads. */
    ck_assert_int_ge(result.end_ps,
                     (int64_t)result.means[FAB_REPLAY_DMA_READ] + 500 * NS +
                         (int64_t)result.means[FAB_REPLAY_DMA_WRITE]);
}
END_TEST

START_TEST(thinking_is_scaled)
{
    Result all, half, none;

    write_chain();
    all = run(5, "");
    half = run(5, ", pace: 50%");
    none = run(5, ", pace: 0%");
    ck_assert_int_eq(all.end_ps - half.end_ps, 10 * 150 * NS);
    ck_assert_int_eq(all.end_ps - none.end_ps, 10 * 300 * NS);
}
END_TEST

/* Doorbells may merge on their way. */
START_TEST(doorbells_arrive_merged)
{
    g_auto(TrcStory) story = trc_story_new(FIRST_NS, names);
    Result fast, slow;

    trc_story_doorbell(&story, FIRST_NS + 100, 0, 0x1);
    trc_story_doorbell(&story, FIRST_NS + 200, 0, 0x4);
    trc_story_arrival(&story, FIRST_NS + 900, 1, 3, 4, 0x5, 0);
    trc_story_doorbell(&story, FIRST_NS + 1000, 1, 0x2);
    trc_story_arrival(&story, FIRST_NS + 1700, 0, 3, 4, 0x2, 0);
    keep(&story);
    fast = run(5, "");
    slow = run(205, "");
    ck_assert_uint_eq(fast.counts[FAB_REPLAY_CPU_WRITE], 3);
    ck_assert_int_eq(slow.end_ps - fast.end_ps, 2 * 200 * NS);
}
END_TEST

/* The two ends write in batches, each in its own order. */
START_TEST(the_order_in_the_file_counts_for_nothing)
{
    Result first, again, other;
    g_auto(TrcStory) story = trc_story_new(FIRST_NS, names);
    int64_t time = FIRST_NS;

    write_chain();
    first = run(5, "");
    again = run(5, "");
    for (unsigned i = 0; i < 10; i++) {
        trc_story_read(&story, time + 300, 0, TRC_STORY_CPU, TRC_STORY_RAM, 4,
                       i);
        trc_story_arrival(&story, time + 1800, 0, 2, 4, 0, i);
        time += 1800;
    }
    time = FIRST_NS;
    for (unsigned i = 0; i < 10; i++) {
        trc_story_completion(&story, time + 1000, 1, i);
        time += 1800;
    }
    keep(&story);
    other = run(5, "");
    ck_assert_mem_eq(&first, &again, sizeof(first));
    ck_assert_mem_eq(&first, &other, sizeof(first));
}
END_TEST

/* ---- Errors ------------------------------------------------------------ */

START_TEST(another_host_is_refused)
{
    static const char *const others[] = {"x:cable", "b:cable"};
    g_auto(TrcStory) story = trc_story_new(FIRST_NS, others);

    trc_story_doorbell(&story, FIRST_NS + 1, 0, 1);
    keep(&story);
    check_refused("t.pcapng: packet 3: it crossed to or from x:cable, and the "
                  "description has no host of this name; its hosts are a, b");
}
END_TEST

START_TEST(an_unknown_agent_is_refused)
{
    g_auto(TrcStory) story = trc_story_new(FIRST_NS, names);

    trc_story_doorbell(&story, FIRST_NS + 1, 0, 1);
    trc_story_write(&story, FIRST_NS + 2, 1, 0x0030, TRC_STORY_RAM, 4);
    keep(&story);
    check_refused("packet 4: its Requester ID is 00:06.0, which is no function "
                  "of host b that the trace names");
}
END_TEST

START_TEST(a_device_that_is_not_described_is_refused)
{
    g_auto(TrcStory) story = trc_story_new(FIRST_NS, names);

    trc_story_write(&story, FIRST_NS + 2, 0, TRC_STORY_CPU, TRC_STORY_BAR, 4);
    /* The name of the function at the end of the Start */
    for (unsigned i = 0; i + 4 < story.bytes.bytes->len; i++) {
        if (memcmp(story.bytes.bytes->data + i, "disk", 4) == 0) {
            story.bytes.bytes->data[i] = 'D';
        }
    }
    keep(&story);
    check_refused("packet 3: it goes to BAR 0 of Disk of host b, and the "
                  "description has no endpoint of this name there; add one");
}
END_TEST

START_TEST(one_end_is_not_enough)
{
    g_auto(TrcStory) story = {.bytes = trc_bytes_new(false)};

    trc_bytes_section(&story.bytes);
    trc_bytes_interface(&story.bytes, 147, names[0], 9);
    trc_bytes_interface(&story.bytes, 147, names[1], 9);
    trc_story_packet(&story, FIRST_NS, 0, 2, 0, "00000001 00000028");
    trc_story_doorbell(&story, FIRST_NS + 1, 0, 1);
    keep(&story);
    check_refused("packet 2: the trace has no Start of b:cable before it; "
                  "record both ends, and keep the beginning");
}
END_TEST

START_TEST(missing_packets_are_refused)
{
    g_auto(TrcStory) story = trc_story_new(FIRST_NS, names);

    trc_story_doorbell(&story, FIRST_NS + 1, 0, 1);
    story.sequence[0] += 3;
    trc_story_doorbell(&story, FIRST_NS + 2, 0, 1);
    keep(&story);
    check_refused("t.pcapng: 3 packets of a:cable are missing, so it is not "
                  "known what waited for what");
}
END_TEST

START_TEST(nothing_to_repeat_is_refused)
{
    g_auto(TrcStory) story = trc_story_new(FIRST_NS, names);

    keep(&story);
    check_refused("t.pcapng: nothing crossed a link; record while drivers "
                  "work");
}
END_TEST

/* A trace that ends anywhere is refused, or is whole. */
START_TEST(a_cut_trace_is_refused)
{
    g_autofree char *bytes = NULL;
    gsize size;

    write_chain();
    ck_assert(g_file_get_contents(trace, &bytes, &size, NULL));
    for (gsize cut = 0; cut < size; cut += 7) {
        TopoDescription *description;
        GError *error = NULL;
        Result result;

        ck_assert(g_file_set_contents(trace, bytes, (gssize)cut, NULL));
        description = load(5, "");
        if (!try_run(description, &result, &error)) {
            ck_assert(strstr(error->message, "t.pcapng: "));
            g_clear_error(&error);
        } else {
            ck_assert_uint_lt(result.operations, 10);
        }
        topo_description_free(description);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("replay");
    TCase *tcase = tcase_create("replay");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_set_timeout(tcase, 120);
    tcase_add_test(tcase, ping_pong_as_the_model_has_it);
    tcase_add_test(tcase, dma_reads_as_the_model_has_them);
    tcase_add_test(tcase, nvme_as_the_model_has_it);
    tcase_add_test(tcase, a_real_trace_takes_its_time);
    tcase_add_test(tcase, a_chain_is_later_by_each_crossing);
    tcase_add_test(tcase, a_stream_is_later_by_one_crossing);
    tcase_add_test(tcase, what_was_under_way_is_not_waited_for);
    tcase_add_test(tcase, all_that_had_arrived_is_waited_for);
    tcase_add_test(tcase, thinking_is_scaled);
    tcase_add_test(tcase, doorbells_arrive_merged);
    tcase_add_test(tcase, the_order_in_the_file_counts_for_nothing);
    tcase_add_test(tcase, another_host_is_refused);
    tcase_add_test(tcase, an_unknown_agent_is_refused);
    tcase_add_test(tcase, a_device_that_is_not_described_is_refused);
    tcase_add_test(tcase, one_end_is_not_enough);
    tcase_add_test(tcase, missing_packets_are_refused);
    tcase_add_test(tcase, nothing_to_repeat_is_refused);
    tcase_add_test(tcase, a_cut_trace_is_refused);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
