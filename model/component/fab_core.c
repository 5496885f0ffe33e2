/* SPDX-License-Identifier: MIT */
#include "fab_core.h"

#include "fab_root_priv.h"

struct FabCore {
    FabRoot *root;
    FabCoreJob *head, *tail;
    SimEvent event; /* the end of the first job */
    SimTime begin;  /* of the first job, or of the hold */
    bool held;      /* by the last job that was done */
    SimTime busy;   /* of the jobs that are done */
};

static SimTime core_now(const FabCore *core)
{
    return sim_engine_now(core->root->component.engine);
}

/* Adds accesses of @bytes to the memory, and returns the end of the last. */
static SimTime memory_use(FabCore *core, uint64_t bytes, bool is_write)
{
    FabMemory *memory = core->root->completer.memory;
    SimTime now = core_now(core), end = now;

    while (bytes > 0) {
        uint32_t part = MIN(bytes, UINT32_MAX);

        end = is_write ? fab_memory_write(memory, now, part)
                       : fab_memory_read(memory, now, part);
        bytes -= part;
    }
    return end;
}

static void job_begin(FabCore *core)
{
    const FabCoreJob *job = core->head;
    FabRootCounters *counters = &core->root->counters;
    SimTime read_end = memory_use(core, job->read_bytes, false);
    SimTime write_end = memory_use(core, job->written_bytes, true);

    counters->memory_read_bytes += job->read_bytes;
    counters->memory_written_bytes += job->written_bytes;
    core->begin = core_now(core);
    sim_event_schedule(&core->event,
                       MAX(core->begin + job->time, MAX(read_end, write_end)));
}

static void core_event(SimEvent *event)
{
    FabCore *core = SIM_CONTAINER_OF(event, FabCore, event);
    FabCoreJob *job = core->head;

    core->busy += event->time - core->begin;
    core->head = job->next;
    if (!core->head) {
        core->tail = NULL;
    }
    if (job->holds) {
        core->held = true;
        core->begin = event->time;
    } else if (core->head) {
        job_begin(core);
    }
    job->done(job);
}

FabCore *fab_core_new(FabRoot *root, uint32_t rank)
{
    FabCore *core = g_new0(FabCore, 1);

    core->root = root;
    sim_event_init(&core->event, root->component.engine, core_event,
                   SIM_PRIORITY_NORMAL, rank);
    return core;
}

void fab_core_free(FabCore *core)
{
    if (core) {
        sim_event_cancel(&core->event);
        g_free(core);
    }
}

void fab_core_run(FabCore *core, FabCoreJob *job)
{
    job->next = NULL;
    if (core->tail) {
        core->tail->next = job;
        core->tail = job;
        return;
    }
    core->head = job;
    core->tail = job;
    if (!core->held) {
        job_begin(core);
    }
}

void fab_core_go_on(FabCore *core)
{
    g_assert(core->held);
    core->held = false;
    core->busy += core_now(core) - core->begin;
    if (core->head) {
        job_begin(core);
    }
}

static bool is_busy(const FabCore *core)
{
    return core->head || core->held;
}

SimTime fab_core_busy(const FabCore *core)
{
    return core->busy + (is_busy(core) ? core_now(core) - core->begin : 0);
}
