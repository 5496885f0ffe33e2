/* SPDX-License-Identifier: MIT */
#include "clu_timed.h"

#include <errno.h>
#include <unistd.h>

#include "clu_dir.h"
#include "clu_error.h"
#include "clu_property.h"
#include "clu_source.h"
#include "timed_board.h"

/* How often the supervisor looks if all machines stand, in ms */
#define TICK_MS 1

struct CluTimed {
    GMainContext *context;
    const CluTimedOps *ops;
    void *owner;
    size_t unread; /* what the machines had not read before the last round */
    GSource *tick;
    GSource *calm; /* pending while nothing else is to be done */
    bool is_told;  /* the machines have seen what was written to them */
    int fd;
    TimedBoard *board; /* only to look on, and to say who is gone */
    char *plugin;
    bool *is_gone; /* indexed by host */
};

static const char *bypass(CluBackend backend)
{
    switch (backend) {
    case CLU_BACKEND_NETWORK:
        return "a network";
    case CLU_BACKEND_REGION:
    case CLU_BACKEND_DOORBELL:
        return "shared memory";
    default:
        return NULL;
    }
}

/* Adds an entry for everything that has no place in virtual time. */
static void check(const CluPlan *plan, TopoErrors *errors)
{
    for (unsigned i = 0; i < plan->hosts->len; i++) {
        const CluPlanHost *host = plan->hosts->pdata[i];

        if (host->host->vm->cpus != 1) {
            topo_errors_add(errors, host->host->vm->place,
                            "host '%s' has %u CPUs; a machine in virtual time "
                            "has one, write cpus: 1",
                            host->host->name, host->host->vm->cpus);
        }
        if (host->host->vm->accel == TOPO_ACCEL_KVM) {
            topo_errors_add(errors, host->host->vm->place,
                            "host '%s' asks for KVM; a machine in virtual time "
                            "needs TCG, write accel: tcg",
                            host->host->name);
        }
        for (unsigned j = 0; j < host->devices->len; j++) {
            const CluPlanDevice *device = host->devices->pdata[j];

            if (bypass(device->backend)) {
                topo_errors_add(errors, device->device->place,
                                "%s uses %s, which has no virtual time; leave "
                                "it out of a timed cluster",
                                device->device->path, bypass(device->backend));
            }
        }
    }
    if (plan->hosts->len > TIMED_BOARD_MACHINES ||
        plan->links->len > TIMED_BOARD_LINKS) {
        topo_errors_add(errors,
                        ((CluPlanHost *)plan->hosts->pdata[0])->host->place,
                        "%u hosts with %u links; a timed cluster has at most "
                        "%d hosts and %d links",
                        plan->hosts->len, plan->links->len,
                        TIMED_BOARD_MACHINES, TIMED_BOARD_LINKS);
    }
}

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
            .training_ns = MAX(latencies_ns[i], CLU_TIMED_TRAINING_NS),
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
    check(plan, errors);
    if (topo_errors_count(errors) > before) {
        return NULL;
    }
    timed->plugin = g_strdup(plugin);
    timed->is_gone = g_new0(bool, plan->hosts->len);
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
    return g_steal_pointer(&timed);
}

/* All sources of higher priority are done: everything that the machines wrote
 * was read. */
static gboolean on_calm(gpointer data)
{
    CluTimed *timed = data;
    size_t unread;

    clu_source_clear(&timed->calm);
    if (!timed_board_all_stand(timed->board)) {
        return G_SOURCE_REMOVE;
    }
    unread = timed->ops->unread(timed->owner);
    if (!timed->is_told || unread != timed->unread) {
        /* The machines' main loops come round, and read. */
        timed->unread = unread;
        timed->is_told = true;
        timed_board_next_round(timed->board);
    } else if (timed->ops->wanted(timed->owner)) {
        timed->is_told = false;
        timed_board_set_limit(timed->board, timed_board_limit(timed->board) +
                                                CLU_TIMED_STEP_NS);
    } else {
        timed->is_told = false; /* a command may come, and must be seen */
    }
    return G_SOURCE_REMOVE;
}

static gboolean on_tick(gpointer data)
{
    CluTimed *timed = data;

    if (!timed->calm && timed_board_all_stand(timed->board) &&
        (timed->is_told || timed->ops->wanted(timed->owner))) {
        timed->calm =
            clu_source_new_idle(timed->context, G_PRIORITY_LOW, on_calm, timed);
    }
    return G_SOURCE_CONTINUE;
}

void clu_timed_start(CluTimed *timed, GMainContext *context,
                     const CluTimedOps *ops, void *owner)
{
    timed->context = context;
    timed->ops = ops;
    timed->owner = owner;
    timed->tick = clu_source_new_timer(context, TICK_MS, on_tick, timed);
}

int64_t clu_timed_limit(const CluTimed *timed)
{
    return timed_board_limit(timed->board);
}

void clu_timed_free(CluTimed *timed)
{
    if (!timed) {
        return;
    }
    clu_source_clear(&timed->tick);
    clu_source_clear(&timed->calm);
    timed_board_close(timed->board);
    if (timed->fd >= 0) {
        close(timed->fd);
    }
    g_free(timed->plugin);
    g_free(timed->is_gone);
    g_free(timed);
}

char *clu_timed_plugin(const CluTimed *timed, const CluPlanHost *host)
{
    g_autofree char *plugin = clu_property_escape(timed->plugin);

    return g_strdup_printf("%s,board=%d,machine=%u,console=%d", plugin,
                           CLU_FD_BOARD, host->index, CLU_FD_CONSOLE);
}

int clu_timed_board(const CluTimed *timed)
{
    return timed->fd;
}

void clu_timed_leave(CluTimed *timed, const CluPlanHost *host)
{
    timed->is_gone[host->index] = true;
    timed_board_leave(timed->board, host->index);
}

bool clu_timed_is_here(const CluTimed *timed, const CluPlanHost *host)
{
    return !timed->is_gone[host->index];
}

int64_t clu_timed_now(const CluTimed *timed, const CluPlanHost *host)
{
    return timed_board_now(timed->board, host->index);
}
