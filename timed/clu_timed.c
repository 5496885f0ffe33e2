/* SPDX-License-Identifier: MIT */
#include "clu_timed.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "clu_dir.h"
#include "clu_error.h"
#include "clu_source.h"
#include "clu_timed_check.h"
#include "clu_timed_priv.h"

/* The supervisor looks as often, in ms, if all machines stand. */
#define TICK_MS 1

/* Most steps and rounds of idle machines end within this real time. The
 * supervisor waits for their end, and does nothing else. */
#define PROMPT_US 400

/* Real time after which a monitor that has not answered is left alone until the
 * next step. It is asked only where it can answer; this is for a QEMU that has
 * stopped. */
#define VAIN_US (60 * G_TIME_SPAN_SECOND)

/* While nothing happens the machines' main loops come round this often. */
#define IDLE_US 50000

static int make_board(const CluPlan *plan, const char *dir,
                      const int64_t *latencies_ns, GError **error)
{
    g_autofree TimedBoardLink *links =
        g_new0(TimedBoardLink, plan->links->len + 1);
    g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
    int fd;

    for (unsigned i = 0; i < plan->links->len; i++) {
        const CluPlanLink *link = plan->links->pdata[i];

        g_ptr_array_add(names, clu_dir_link_path(dir, link->link->name));
        links[i] = (TimedBoardLink){
            .name = names->pdata[i],
            .machine = {link->host[0]->index, link->host[1]->index},
            .latency_ns = MAX(latencies_ns[i], 1),
            .training_ns =
                MAX(latencies_ns[i],
                    clu_faults_training(plan, link, CLU_TIMED_TRAINING_NS)),
        };
    }
    fd = timed_board_new(plan->hosts->len, links, plan->links->len);
    if (fd < 0) {
        g_set_error(error, CLU_ERROR, CLU_ERROR_FAILED,
                    "cannot make the memory that the machines share: %s",
                    g_strerror(errno));
    }
    return fd;
}

CluTimed *clu_timed_new(const CluPlan *plan, const char *dir,
                        const char *plugin, const int64_t *latencies_ns,
                        TopoErrors *errors, GError **error)
{
    g_autoptr(CluTimed) timed = g_new0(CluTimed, 1);
    unsigned before = topo_errors_count(errors);

    timed->fd = -1;
    timed->spins = -1;
    timed->control = -1;
    timed->branch_fd = -1;
    clu_timed_check(plan, errors);
    if (topo_errors_count(errors) > before) {
        return NULL;
    }
    timed->plugin = g_strdup(plugin);
    timed->plan = plan;
    timed->hosts = g_new0(CluTimedHost, plan->hosts->len);
    timed->steps = clu_faults_steps(plan);
    timed->fd = make_board(plan, dir, latencies_ns, error);
    if (timed->fd < 0) {
        return NULL;
    }
    timed->board = timed_board_open(timed->fd, 0);
    if (!timed->board) {
        g_set_error(error, CLU_ERROR, CLU_ERROR_FAILED,
                    "cannot open the memory that the machines share: %s",
                    g_strerror(errno));
        return NULL;
    }
    timed_board_set_limit(timed->board, 0);
    timed_board_add_model(timed->board);
    return g_steal_pointer(&timed);
}

void clu_timed_set_model(CluTimed *timed, CluTimedModel *model, void *owner)
{
    timed->run_model = model;
    timed->model_owner = owner;
}

void clu_timed_set_steps(CluTimed *timed, const char *dir)
{
    timed->records = dir;
}

void clu_timed_set_pace(CluTimed *timed, int64_t slice_ns, int spins)
{
    timed->slice_ns = slice_ns;
    timed->spins = spins;
}

/* Steps. All machines stand, and all that they have written was read. */

static gboolean on_calm(gpointer data);

/*
 * When all machines stand, and nothing else is to be done, comes on_calm(). The
 * cluster ends if the board is damaged: no machine can go on then.
 */
static void look(CluTimed *timed)
{
    if (timed_board_error(timed->board)) {
        clu_cluster_end(timed->cluster);
    } else if (!timed->calm && timed_board_all_stand(timed->board)) {
        timed->calm =
            clu_source_new_idle(timed->context, G_PRIORITY_LOW, on_calm, timed);
    }
}

static void next_round(CluTimed *timed)
{
    timed->round_us = g_get_monotonic_time();
    timed_board_next_round(timed->board);
    timed_board_await_stand(timed->board, PROMPT_US);
    look(timed);
}

/* The machines' main loops come round until they have read what the guests
 * take, and have answered. False if they have. */
static bool is_settling(CluTimed *timed)
{
    size_t unread = clu_timed_unread(timed);
    unsigned unanswered = clu_timed_unanswered(timed);

    if (unread != timed->unread || unanswered != timed->unanswered) {
        timed->unread = unread;
        timed->unanswered = unanswered;
        timed->vain_us = g_get_monotonic_time();
        return unread > 0 || unanswered > 0;
    }
    return unanswered > 0 && g_get_monotonic_time() - timed->vain_us < VAIN_US;
}

static void go_to(CluTimed *timed, int64_t limit)
{
    int64_t now = timed_board_limit(timed->board);

    if (limit != now + CLU_TIMED_STEP_NS) {
        g_autofree char *text = g_strdup_printf("%" G_GINT64_FORMAT, limit);

        clu_timed_note(timed, CLU_INPUT_TO, NULL, text, strlen(text));
    }
    timed->unread = 0;
    timed->unanswered = 0;
    timed->is_moving = true;
    timed->moved_us = g_get_monotonic_time();
    timed_board_set_limit(timed->board, limit);
    timed_board_await_stand(timed->board, PROMPT_US);
    look(timed);
}

/* The next limit; the present one if nobody wants time. */
static int64_t next_limit(CluTimed *timed)
{
    int64_t now = timed_board_limit(timed->board);
    int64_t until;

    if (timed->is_template) {
        return now;
    }
    if (timed->script) {
        return clu_timed_replayed_limit(timed);
    }
    until = clu_cluster_wants_time(timed->cluster);
    until = MIN(until, now + CLU_TIMED_STEP_NS);
    if (timed->done < timed->steps->len) {
        until =
            MIN(until,
                g_array_index(timed->steps, CluFaultStep, timed->done).at_ns);
    }
    return MAX(now, until);
}

static gboolean on_calm(gpointer data)
{
    CluTimed *timed = data;
    int64_t limit;

    clu_source_clear(&timed->calm);
    if (!timed_board_all_stand(timed->board)) {
        return G_SOURCE_REMOVE;
    }
    if (timed->is_moving) {
        timed->is_moving = false;
        timed->moving_us += g_get_monotonic_time() - timed->moved_us;
        clu_cluster_on_stand(timed->cluster);
    }
    if (clu_timed_is_held(timed)) {
        return G_SOURCE_REMOVE;
    }
    if (!timed->script) {
        clu_timed_do_faults(timed);
    }
    if (!timed->script && clu_timed_apply_pending(timed)) {
        return G_SOURCE_REMOVE;
    }
    if (is_settling(timed) ||
        (timed->script ? clu_timed_replay(timed) : clu_timed_feed(timed))) {
        next_round(timed);
        return G_SOURCE_REMOVE;
    }
    limit = next_limit(timed);
    if (limit > timed_board_limit(timed->board)) {
        go_to(timed, limit);
    } else if (g_get_monotonic_time() - timed->round_us > IDLE_US) {
        /* A debugger may have come, or a user of a monitor's socket. */
        next_round(timed);
    }
    return G_SOURCE_REMOVE;
}

static gboolean on_tick(gpointer data)
{
    look(data);
    return G_SOURCE_CONTINUE;
}

bool clu_timed_start(CluTimed *timed, GMainContext *context,
                     CluCluster *cluster, GError **error)
{
    if (!clu_timed_open_log(timed, error)) {
        return false;
    }
    timed->context = context;
    timed->cluster = cluster;
    timed->model = clu_process_adopt(context, timed->model_pid,
                                     clu_timed_model_ended, timed, error);
    if (!timed->model) {
        return false;
    }
    timed->tick = clu_source_new_timer(context, TICK_MS, on_tick, timed);
    return true;
}

bool clu_timed_stands_at(const CluTimed *timed, int64_t ns)
{
    return !timed->is_moving && timed_board_limit(timed->board) >= ns;
}

int64_t clu_timed_moving_us(const CluTimed *timed)
{
    return timed->moving_us +
           (timed->is_moving ? g_get_monotonic_time() - timed->moved_us : 0);
}

void clu_timed_free(CluTimed *timed)
{
    if (!timed) {
        return;
    }
    clu_source_clear(&timed->tick);
    clu_source_clear(&timed->calm);
    clu_timed_log_free(timed->log);
    clu_process_free(timed->model);
    timed_board_close(timed->board);
    if (timed->fd >= 0) {
        close(timed->fd);
    }
    for (unsigned i = 0; timed->hosts && i < timed->plan->hosts->len; i++) {
        g_free(timed->hosts[i].fate);
    }
    g_free(timed->hosts);
    g_free(timed->plugin);
    if (timed->steps) {
        g_array_unref(timed->steps);
    }
    g_free(timed);
}
