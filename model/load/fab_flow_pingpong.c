/* SPDX-License-Identifier: MIT */
#include "fab_flow_pingpong.h"

#include "fab_flow_priv.h"

#define WORD_BYTES 4u

typedef struct PingPongFlow PingPongFlow;

/* A kernel on one of the GPUs, or a program on the CPU. Player 0 stores odd
 * values, player 1 even ones. */
typedef struct Player {
    PingPongFlow *self;
    FabEndpoint *device; /* NULL: the CPU of params.via */
    SimEvent event;
    enum {
        PLAYER_NOTICE,
        PLAYER_STORE,
        PLAYER_POLL
    } step;
    FabDma store, poll;
    uint64_t value; /* last value stored or seen */
    SimTime since;  /* when it began to poll for the next one */
    unsigned watch; /* handle of the watch on the word in its own memory */
} Player;

struct PingPongFlow {
    FabFlow flow;
    FabPingPongFlowParams params;
    Player player[2];
    unsigned watch;   /* handle of the watch on the word in the host's memory */
    uint64_t visible; /* contents of the word in the host's memory */
    uint64_t finished;
    SimTime begin; /* of the round trip */
};

static SimTime flow_now(const PingPongFlow *self)
{
    return sim_engine_now(self->flow.fabric->engine);
}

static bool is_first(const Player *player)
{
    return player == &player->self->player[0];
}

/* The word for @value. It contains the number of the flow, because flows
 * between the same GPUs use the same word of a BAR. */
static uint64_t word_of(const PingPongFlow *self, uint64_t value)
{
    return (uint64_t)self->flow.number << 32 | (uint32_t)value;
}

/* Returns whether @word is the answer to the last value that @player stored. */
static bool is_answer(const Player *player, uint64_t word)
{
    return word == word_of(player->self, player->value + 1);
}

/* Ends the flow. The other player may be about to store or poll. */
static void flow_end(PingPongFlow *self)
{
    for (unsigned i = 0; i < 2; i++) {
        sim_event_cancel(&self->player[i].event);
    }
    fab_flow_finish(&self->flow);
}

/* The kernel decides to store the next value. */
static void player_decide(Player *player)
{
    PingPongFlow *self = player->self;

    player->value++;
    if (is_first(player)) {
        self->begin = flow_now(self);
    }
    player->step = PLAYER_STORE;
    sim_event_schedule(&player->event,
                       flow_now(self) +
                           (player->device ? self->params.store : 0));
}

/* The player has seen the next value, which the other one has stored. */
static void player_see(Player *player)
{
    PingPongFlow *self = player->self;

    player->value++;
    if (is_first(player)) {
        if (fab_flow_count(&self->flow, self->begin, 2 * WORD_BYTES,
                           FAB_STATUS_SC)) {
            sim_histogram_add(self->flow.latency, flow_now(self) - self->begin);
        }
        fab_flow_mark(&self->flow, 1);
        if (++self->finished == self->params.count) {
            flow_end(self);
            return;
        }
    }
    player_decide(player);
}

/* ---- In each other's memory ------------------------------------------ */

static void word_visible(void *owner, FabBusAddr addr, uint64_t data)
{
    Player *player = owner;
    PingPongFlow *self = player->self;

    if (!is_answer(player, data)) {
        return;
    }
    player->step = PLAYER_NOTICE;
    sim_event_schedule(
        &player->event,
        flow_now(self) + self->params.notice - self->params.period / 2 +
            sim_random_below(&self->flow.random, self->params.period + 1));
}

/* ---- In a host's memory ---------------------------------------------- */

/* Polls after @back, the time that the poll before takes on its way back. */
static void poll_again(Player *player, SimTime back)
{
    PingPongFlow *self = player->self;

    player->step = PLAYER_POLL;
    sim_event_schedule(
        &player->event,
        flow_now(self) + back + self->params.gap + self->params.read / 2 +
            sim_random_below(&self->flow.random, self->params.jitter + 1));
}

static void poll_first(Player *player)
{
    player->since = flow_now(player->self);
    poll_again(player, 0);
}

/* True if the answer cannot come any more. A fabric without completion
 * time-outs loses nothing. In one that has them, no store and no poll of the
 * other player takes longer than one. */
static bool is_hopeless(const Player *player)
{
    const FabPingPongFlowParams *params = &player->self->params;
    SimTime timeout = player->self->flow.fabric->completion_timeout;

    return timeout && flow_now(player->self) - player->since >
                          2 * timeout + params->gap + params->jitter +
                              params->read + params->store;
}

static void poll_done(FabDma *dma)
{
    Player *player = dma->owner;
    PingPongFlow *self = player->self;

    if (self->flow.done) {
        return;
    }
    if (dma->status == FAB_STATUS_SC && !is_answer(player, dma->data) &&
        is_hopeless(player)) {
        dma->status = FAB_STATUS_TIMED_OUT;
    }
    if (dma->status != FAB_STATUS_SC) {
        fab_flow_count(&self->flow, self->begin, 0, dma->status);
        flow_end(self); /* the player can never see the answer */
    } else if (is_answer(player, dma->data) && self->params.read) {
        player->step = PLAYER_NOTICE;
        sim_event_schedule(&player->event,
                           flow_now(self) + self->params.read / 2);
    } else if (is_answer(player, dma->data)) {
        player_see(player);
    } else {
        poll_again(player, self->params.read / 2);
    }
}

/* The word is watched so that reads of it return the stored value. A CPU sees
 * it in its cache. */
static void word_stored(void *owner, FabBusAddr addr, uint64_t data)
{
    PingPongFlow *self = owner;
    Player *second = &self->player[1];

    self->visible = data;
    if (!second->device && is_answer(second, data)) {
        SimTime poll = fab_root_params(self->params.via)->cpu.poll;

        second->step = PLAYER_NOTICE;
        sim_event_schedule(&second->event,
                           flow_now(self) + sim_random_below(&self->flow.random,
                                                             2 * poll + 1));
    }
}

/* ---- Both ------------------------------------------------------------ */

static void store_done(FabDma *dma)
{
    Player *player = dma->owner;

    if (player->self->params.via && !player->self->flow.done) {
        poll_first(player);
    }
}

static void player_event(SimEvent *event)
{
    Player *player = SIM_CONTAINER_OF(event, Player, event);

    switch (player->step) {
    case PLAYER_NOTICE:
        player_see(player);
        break;
    case PLAYER_STORE:
        player->store.data = word_of(player->self, player->value);
        if (player->device) {
            fab_endpoint_dma(player->device, &player->store);
        } else {
            fab_root_write(player->self->params.via, player->store.addr,
                           WORD_BYTES, player->store.data,
                           player->self->flow.number);
        }
        break;
    case PLAYER_POLL:
        fab_endpoint_dma(player->device, &player->poll);
        break;
    }
}

static void pingpong_event(SimEvent *event)
{
    PingPongFlow *self = (PingPongFlow *)fab_flow_of_event(event);

    for (unsigned i = 0; i < 2; i++) {
        sim_event_init(&self->player[i].event, self->flow.fabric->engine,
                       player_event, SIM_PRIORITY_NORMAL, self->flow.rank);
    }
    if (self->params.via && self->player[1].device) {
        poll_first(&self->player[1]);
    }
    player_decide(&self->player[0]);
}

static void pingpong_free(FabFlow *flow)
{
    PingPongFlow *self = (PingPongFlow *)flow;

    if (self->params.via) {
        fab_root_unwatch(self->params.via, self->watch);
    }
    for (unsigned i = 0; i < 2; i++) {
        sim_event_cancel(&self->player[i].event);
        if (!self->params.via) {
            fab_endpoint_unwatch(self->player[i].device, self->player[i].watch);
        }
    }
    g_free(self);
}

/* The operation waits for the last player to store, until that store is
 * visible, and then for the other player. */
static void pingpong_wait(const FabFlow *flow, FabFlowWait *ret_wait)
{
    const PingPongFlow *self = (const PingPongFlow *)flow;
    bool second = self->player[1].value > self->player[0].value;
    const Player *last = &self->player[second], *other = &self->player[!second];

    if (sim_event_is_pending(&last->event) && last->step != PLAYER_POLL) {
        ret_wait->own = true;
        ret_wait->step = last->step == PLAYER_STORE ? "kernel" : "notice";
    } else if (!self->params.via && sim_event_is_pending(&other->event)) {
        ret_wait->own = true;
        ret_wait->step = "notice";
    } else if (!self->params.via ||
               self->visible != word_of(self, last->value)) {
        ret_wait->step = "store";
        ret_wait->posted = true;
    } else {
        ret_wait->own = sim_event_is_pending(&other->event);
        ret_wait->step = ret_wait->own ? "poll gap" : "poll";
        ret_wait->device = other->device;
    }
}

static uint64_t pingpong_left(const FabFlow *flow, uint64_t *ret_grain)
{
    const PingPongFlow *self = (const PingPongFlow *)flow;

    *ret_grain = 1;
    return self->params.count - self->finished - 1;
}

static void pingpong_skip(FabFlow *flow, uint64_t units, SimTime time)
{
    PingPongFlow *self = (PingPongFlow *)flow;

    self->params.count -= units;
    fab_flow_left_out(flow, units, units * 2 * WORD_BYTES);
}

static const FabFlowOps pingpong_ops = {
    .left = pingpong_left,
    .skip = pingpong_skip,
    .marks = true,
    .event = pingpong_event,
    .free = pingpong_free,
    .wait = pingpong_wait,
};

/* ---- Set-up ---------------------------------------------------------- */

/* Finds the words that player @i watches and stores to. */
static bool find_word(const FabPingPongFlowParams *params, unsigned i,
                      FabBusAddr shared, FabBusAddr *ret_watch,
                      FabBusAddr *ret_store, GError **error)
{
    FabComponent *own;
    FabTarget mine, other;

    *ret_watch = shared;
    *ret_store = shared;
    if (!params->device[i]) {
        return true;
    }
    own = fab_endpoint_component(params->device[i]);
    if (params->via) {
        return fab_route_map(own, fab_root_component(params->via), shared,
                             WORD_BYTES, ret_store, error);
    }
    mine = (FabTarget){own, -1};
    other = (FabTarget){fab_endpoint_component(params->device[!i]), -1};
    return fab_target_take(&mine, WORD_BYTES, ret_watch, error) &&
           fab_target_take(&other, WORD_BYTES, ret_store, error) &&
           fab_route_map(own, other.component, *ret_store, WORD_BYTES,
                         ret_store, error);
}

static bool check_params(const char *name, const FabPingPongFlowParams *params,
                         GError **error)
{
    const char *wrong = NULL;

    if (params->device[0] == params->device[1]) {
        wrong = "the two GPUs must not be the same";
    } else if (!params->device[1] && !params->via) {
        wrong = "a CPU polls its own memory";
    } else if (params->count == 0) {
        wrong = "there must be at least 1 round trip";
    } else if (params->store < 0 || params->notice < 0 || params->gap < 0 ||
               params->jitter < 0 || params->read < 0) {
        wrong = "the times must not be negative";
    } else if (params->period < 0 || params->period > 2 * params->notice) {
        wrong = "the period of a kernel's looks must be at most twice the mean "
                "time until it sees a store";
    }
    return fab_flow_accept(name, wrong, error);
}

FabFlow *fab_pingpong_flow_new(FabFabric *fabric, const char *name,
                               SimTime warmup,
                               const FabPingPongFlowParams *params,
                               GError **error)
{
    FabBusAddr shared = 0, watch[2], store[2];
    PingPongFlow *self;

    if (!fab_flow_check(fabric, name, params->start, error) ||
        !check_params(name, params, error)) {
        return NULL;
    }
    if (params->via) {
        FabTarget memory = {fab_root_component(params->via), -1};

        if (!fab_target_take(&memory, WORD_BYTES, &shared, error)) {
            return NULL;
        }
    }
    if (!find_word(params, 0, shared, &watch[0], &store[0], error) ||
        !find_word(params, 1, shared, &watch[1], &store[1], error)) {
        return NULL;
    }
    self = g_new0(PingPongFlow, 1);
    self->params = *params;
    fab_flow_init(&self->flow, fabric, &pingpong_ops, name, warmup,
                  params->start);
    for (unsigned i = 0; i < 2; i++) {
        Player *player = &self->player[i];

        player->self = self;
        player->device = params->device[i];
        player->store = (FabDma){.type = FAB_TLP_MWR,
                                 .addr = store[i],
                                 .size_bytes = WORD_BYTES,
                                 .flow = self->flow.number,
                                 .done = store_done,
                                 .owner = player};
        player->poll = player->store;
        player->poll.type = FAB_TLP_MRD;
        player->poll.done = poll_done;
        player->poll.is_direct = params->read > 0;
        if (!params->via) {
            player->watch = fab_endpoint_watch(
                params->device[i], watch[i], WORD_BYTES, word_visible, player);
        }
    }
    if (params->via) {
        self->watch =
            fab_root_watch(params->via, shared, WORD_BYTES, word_stored, self);
    }
    return &self->flow;
}
