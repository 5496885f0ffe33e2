/* SPDX-License-Identifier: MIT */
/*
 * Engines that flows share, as the copy engine of a GPU does the work of many
 * CUDA streams: it runs one flow at a time, and takes the one that has waited
 * longest for nothing but the engine. So it does not stand idle while another
 * flow still waits for its receiver.
 *
 * It looks for work some time after it has become free or the first flow was
 * ready. Flows that became ready within that time count as ready at once; of
 * those it takes the first of the list. Without it, differences of a nanosecond
 * would decide.
 */
#include "fab_flow_list_priv.h"

struct FabFlowEngine {
    FlowList *list;
    GPtrArray *waiting; /* flows that wait for the engine alone */
    bool busy, has_event;
    SimTime notice;
    SimEvent event; /* it looks for work */
};

static void engine_free(void *data)
{
    FabFlowEngine *engine = data;

    if (engine->has_event) {
        sim_event_cancel(&engine->event);
    }
    g_ptr_array_unref(engine->waiting);
    g_free(engine);
}

void fab_flow_set_engine(FabFlow *flow, const char *name, SimTime notice,
                         unsigned place)
{
    FlowList *list = fab_flow_list(flow->fabric);

    g_assert(!flow->started && !flow->engine);
    if (!list->engines) {
        list->engines =
            g_hash_table_new_full(g_str_hash, g_str_equal, g_free, engine_free);
    }
    flow->engine = g_hash_table_lookup(list->engines, name);
    if (!flow->engine) {
        flow->engine = g_new0(FabFlowEngine, 1);
        flow->engine->list = list;
        flow->engine->waiting = g_ptr_array_new();
        g_hash_table_insert(list->engines, g_strdup(name), flow->engine);
    }
    flow->engine->notice = MAX(flow->engine->notice, notice);
    flow->place = place;
}

static void begin(FlowList *list, FabFlow *flow)
{
    flow->base = list->skipped;
    sim_event_schedule(&flow->event, MAX(flow->start - list->skipped,
                                         sim_engine_now(flow->fabric->engine)));
}

static void engine_event(SimEvent *event)
{
    FabFlowEngine *engine = SIM_CONTAINER_OF(event, FabFlowEngine, event);
    SimTime oldest = SIM_TIME_NONE;
    FabFlow *first = NULL;

    for (unsigned i = 0; i < engine->waiting->len; i++) {
        const FabFlow *flow = engine->waiting->pdata[i];

        oldest = MIN(oldest, flow->ready_at);
    }
    for (unsigned i = 0; i < engine->waiting->len; i++) {
        FabFlow *flow = engine->waiting->pdata[i];

        if (flow->ready_at <= oldest + engine->notice &&
            (!first || flow->place < first->place)) {
            first = flow;
        }
    }
    g_ptr_array_remove(engine->waiting, first);
    engine->busy = true;
    begin(engine->list, first);
}

static void look(FabFlowEngine *engine, SimTime now)
{
    if (!engine->busy && engine->waiting->len > 0 &&
        !sim_event_is_pending(&engine->event)) {
        sim_event_schedule(&engine->event, now + engine->notice);
    }
}

void fab_flow_ready(FlowList *list, FabFlow *flow)
{
    FabFlowEngine *engine = flow->engine;
    SimEngine *clock = flow->fabric->engine;

    if (!engine) {
        begin(list, flow);
        return;
    }
    if (!engine->has_event) {
        sim_event_init(&engine->event, clock, engine_event, SIM_PRIORITY_NORMAL,
                       flow->rank);
        engine->has_event = true;
    }
    flow->ready_at = sim_engine_now(clock);
    g_ptr_array_add(engine->waiting, flow);
    look(engine, flow->ready_at);
}

void fab_flow_engine_leave(FabFlow *flow)
{
    if (flow->engine) {
        flow->engine->busy = false;
        look(flow->engine, sim_engine_now(flow->fabric->engine));
    }
}
