/* SPDX-License-Identifier: MIT */
#include "clu_timed_model.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "clu_branch.h"
#include "clu_error.h"
#include "clu_faults.h"
#include "clu_fork.h"
#include "clu_process.h"
#include "exp_crossing.h"
#include "timed_board.h"
#include "timed_control.h"

/* Looks at the board before sleeping; changes no result */
#define SPINS   2000
/* The longest sleep */
#define WAIT_MS 1000

/* A crossing that is on its way, and its message */
typedef struct Parcel {
    TimedCrossing crossing;
    uint64_t id;
    uint8_t bytes[];
} Parcel;

typedef struct Model {
    const CluPlan *plan;
    TimedBoard *board;
    ExpCrossings *crossings;
    unsigned *machine;   /* of each host of the description */
    GQueue waiting;      /* of Parcel, in their order: not entered yet */
    GHashTable *entered; /* of Parcel by id */
    int64_t *bounds;     /* of each channel */
    int64_t *accepts;    /* of each machine */
    uint64_t ids;
    int64_t called;     /* the time of the last call of the model */
    int64_t reached;    /* the fabric has been computed up to this time */
    const char *damage; /* why the machines cannot be served; NULL: they can */
    int control;        /* the line on which branches are asked for */
    uint32_t wakeups;   /* of the board that were answered */
} Model;

static void on_arrived(void *owner, unsigned link, unsigned end, uint64_t id,
                       int64_t time)
{
    Model *model = owner;
    const Parcel *parcel = g_hash_table_lookup(model->entered, &id);

    model->called = time;
    timed_board_deliver(model->board, 2 * link + end, time, parcel->bytes,
                        parcel->crossing.size);
    g_hash_table_remove(model->entered, &id);
}

static void on_lost(void *owner, unsigned link, unsigned end, uint64_t id,
                    int64_t time)
{
    Model *model = owner;
    const Parcel *parcel = g_hash_table_lookup(model->entered, &id);

    if (!clu_faults_may_lose(parcel->bytes, parcel->crossing.size)) {
        on_arrived(owner, link, end, id, time);
        return;
    }
    model->called = time;
    g_hash_table_remove(model->entered, &id);
}

static void on_accepted(void *owner, unsigned host, uint64_t id, int64_t time)
{
    Model *model = owner;

    model->called = time;
    timed_board_accept(model->board, model->machine[host], time);
}

static int compare(const Parcel *a, const Parcel *b)
{
    const TimedCrossing *x = &a->crossing, *y = &b->crossing;

    if (x->time != y->time) {
        return x->time < y->time ? -1 : 1;
    }
    if (x->machine != y->machine) {
        return x->machine < y->machine ? -1 : 1;
    }
    return x->sequence < y->sequence ? -1 : x->sequence > y->sequence;
}

/* Most parcels come last: a machine gives its own in their order. */
static void insert(GQueue *queue, Parcel *parcel)
{
    GList *before = queue->tail;

    while (before && compare(before->data, parcel) > 0) {
        before = before->prev;
    }
    g_queue_insert_after(queue, before, parcel);
}

static void take_all(Model *model)
{
    uint8_t bytes[TIMED_BOARD_MESSAGE];
    TimedCrossing crossing;

    while (timed_board_take_crossing(model->board, &crossing, bytes)) {
        Parcel *parcel;

        if (crossing.time < model->reached) {
            model->damage = "a machine has sent something into the past";
            return;
        }
        parcel = g_malloc(sizeof(*parcel) + crossing.size);

        parcel->crossing = crossing;
        parcel->id = ++model->ids;
        memcpy(parcel->bytes, bytes, crossing.size);
        insert(&model->waiting, parcel);
    }
}

static void enter(Model *model, Parcel *parcel)
{
    static const ExpCrossingKind kinds[] = {
        [TIMED_CROSSING_WRITE] = EXP_CROSSING_WRITE,
        [TIMED_CROSSING_READ] = EXP_CROSSING_READ,
        [TIMED_CROSSING_COMPLETION] = EXP_CROSSING_COMPLETION,
    };
    const TimedCrossing *crossing = &parcel->crossing;
    const char *device = *crossing->device ? crossing->device : NULL;
    const CluPlanHost *host = model->plan->hosts->pdata[crossing->machine];

    if (crossing->kind == TIMED_CROSSING_PLACE) {
        exp_crossings_place(model->crossings, host->host->index,
                            crossing->address, device, crossing->bar,
                            crossing->tag);
        g_free(parcel);
        return;
    }
    g_hash_table_insert(model->entered, &parcel->id, parcel);
    exp_crossings_enter(model->crossings,
                        &(ExpCrossing){
                            .kind = kinds[crossing->kind],
                            .link = crossing->channel / 2,
                            .end = crossing->channel % 2,
                            .time = crossing->time,
                            .least = crossing->least,
                            .address = crossing->address,
                            .bytes = crossing->bytes,
                            .tag = crossing->tag,
                            .device = device,
                            .wants_accept = crossing->wants_accept,
                            .id = parcel->id,
                        });
}

/* Computes as far as no machine sends anything before @promise. False if that
 * changed nothing: otherwise the machines must get new bounds. */
static bool compute(Model *model, int64_t promise)
{
    int64_t next = exp_crossings_next(model->crossings);
    bool any = false;

    for (;;) {
        Parcel *first = g_queue_peek_head(&model->waiting);
        bool enters = first && first->crossing.time < promise;

        if (exp_crossings_run(model->crossings,
                              enters ? first->crossing.time : promise)) {
            /* The machine that was called may send from that time on. */
            promise = MIN(promise, model->called);
            model->reached = MAX(model->reached, model->called);
        } else if (enters) {
            model->reached = first->crossing.time;
            enter(model, g_queue_pop_head(&model->waiting));
        } else {
            return any || exp_crossings_next(model->crossings) != next;
        }
        any = true;
    }
}

/* Tells the machines the bounds that their horizons need. */
static void set_bounds(Model *model)
{
    int64_t next = exp_crossings_next(model->crossings);

    for (unsigned i = 0; i < 2 * model->plan->links->len; i++) {
        model->bounds[i] = exp_crossings_bound(model->crossings, i / 2, i % 2);
    }
    for (unsigned i = 0; i < model->plan->hosts->len; i++) {
        const CluPlanHost *host = model->plan->hosts->pdata[i];

        model->accepts[i] =
            exp_crossings_is_stalled(model->crossings, host->host->index) ? next
                                                                          : -1;
    }
    for (const GList *l = model->waiting.head; l; l = l->next) {
        const TimedCrossing *crossing = &((const Parcel *)l->data)->crossing;
        int64_t *bound = &model->bounds[crossing->channel];

        if (crossing->kind != TIMED_CROSSING_PLACE) {
            *bound = MIN(*bound, crossing->least);
        }
        if (crossing->wants_accept) {
            model->accepts[crossing->machine] = crossing->time;
        }
    }
}

/* The promise that is needed to go on. */
static int64_t wanted(Model *model)
{
    const Parcel *first = g_queue_peek_head(&model->waiting);
    int64_t next = exp_crossings_next(model->crossings);

    return first ? MIN(next, first->crossing.time + 1) : next;
}

/* Branches (timed_control.h) */

/* The lines "set ..." of a request, ended by NULL; to be freed. */
static char **find_sets(const char *text)
{
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    GPtrArray *sets = g_ptr_array_new();

    for (char **line = lines; *line; line++) {
        if (g_str_has_prefix(*line, "set ")) {
            g_ptr_array_add(sets, g_strcompress(*line + strlen("set ")));
        }
    }
    g_ptr_array_add(sets, NULL);
    return (char **)g_ptr_array_free(sets, FALSE);
}

static bool add_faults(Model *model, char *const *sets, GError **error)
{
    g_autoptr(TopoErrors) errors = topo_errors_new();
    CluPlan *plan = clu_branch_plan(model->plan, sets, 0, errors);

    if (!plan) {
        return clu_error_refuse(error, errors);
    }
    model->plan = plan;
    return plan->description->faults->len == 0 ||
           exp_crossings_add_faults(model->crossings, plan->description, error);
}

/* In the process of the branch. Its state is that of this process; @board is
 * the copy that goes with it. */
static void go_on(Model *model, const TimedControlPacket *packet, int board)
{
    g_auto(GStrv) sets = find_sets(packet->text);
    g_autofree char *answer = g_strdup_printf("ok %d", (int)getpid());
    g_autofree char *refusal = NULL;
    g_autoptr(GError) error = NULL;

    close(model->control);
    model->control = packet->fds[0];
    if (timed_board_become(model->board, board) &&
        add_faults(model, sets, &error) &&
        timed_control_die_with(model->control) &&
        timed_control_send(model->control, answer, &board, 1)) {
        close(board);
        return;
    }
    refusal =
        g_strdup_printf("no %s", error ? error->message : g_strerror(errno));
    timed_control_send(model->control, refusal, NULL, 0);
    clu_fork_end(1);
}

/* Here nothing has changed the board since this process has looked at it. */
static void make_branch(Model *model)
{
    g_autofree TimedControlPacket *packet = g_new(TimedControlPacket, 1);

    model->wakeups = timed_board_wakeups(model->board);
    while (timed_control_receive(model->control, packet, 0)) {
        int board = timed_board_copy(model->board);
        pid_t pid = -1;

        if (packet->count == 1 && board >= 0) {
            pid = clu_fork(CLU_FORK_ORPHAN); /* its supervisor is another one */
        }
        if (pid == 0) {
            go_on(model, packet, board);
            return;
        }
        if (pid < 0 && packet->count > 0) {
            g_autofree char *refusal = g_strdup_printf(
                "no it cannot be copied: %s", g_strerror(errno));

            timed_control_send(packet->fds[0], refusal, NULL, 0);
        }
        timed_control_close(packet);
        if (board >= 0) {
            close(board);
        }
    }
}

/* The supervisor ends the cluster without this process. */
static const char *damage_of(const Model *model)
{
    return model->damage ? model->damage : timed_board_error(model->board);
}

static void go(Model *model)
{
    int64_t promise;

    while (!damage_of(model)) {
        if (timed_board_wakeups(model->board) != model->wakeups) {
            make_branch(model);
        }
        take_all(model);
        set_bounds(model);
        promise = timed_board_report_model(model->board, model->bounds,
                                           model->accepts);
        if (!compute(model, promise)) {
            timed_board_wait(model->board, wanted(model) - 1, SPINS, WAIT_MS);
        }
    }
}

/* The plan's numbers of hosts, and the description's. Those of links are the
 * same in both, and in the fabric: see topo_joins(). */
static void number(Model *model)
{
    const CluPlan *plan = model->plan;

    for (unsigned i = 0; i < plan->hosts->len; i++) {
        const CluPlanHost *host = plan->hosts->pdata[i];

        model->machine[host->host->index] = i;
    }
}

void clu_timed_model_run(const CluPlan *plan, int fd, int control,
                         GError **error)
{
    static const ExpCrossingsOps ops = {
        .arrived = on_arrived, .lost = on_lost, .accepted = on_accepted};
    const TopoDescription *description = plan->description;
    Model model = {.plan = plan, .control = control};

    model.board = timed_board_open_model(fd);
    if (!model.board) {
        g_set_error(error, CLU_ERROR, CLU_ERROR_FAILED,
                    "cannot open the memory that the machines share: %s",
                    g_strerror(errno));
        return;
    }
    model.crossings = exp_crossings_new(description, &ops, &model, error);
    if (!model.crossings) {
        return;
    }
    model.machine = g_new0(unsigned, description->hosts->len);
    model.bounds = g_new0(int64_t, 2 * plan->links->len + 1);
    model.accepts = g_new0(int64_t, plan->hosts->len);
    model.entered =
        g_hash_table_new_full(g_int64_hash, g_int64_equal, NULL, g_free);
    number(&model);
    clu_process_leave_terminal();
    go(&model);
    g_set_error(error, CLU_ERROR, CLU_ERROR_FAILED,
                "the memory that the machines share is of no use any more: %s",
                damage_of(&model));
}
