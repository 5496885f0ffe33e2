/* SPDX-License-Identifier: MIT */
/* The pace of machines in real time. */
#include "clu_pace.h"

#include "clu_host.h"
#include "clu_source.h"

static bool begin(CluPace *pace, const CluPlan *plan, GError **error)
{
    return true;
}

static bool run(CluPace *pace, GMainContext *context,
                struct CluCluster *cluster, GError **error)
{
    return true;
}

static void end(CluPace *pace)
{
}

static void abandon(const CluPace *pace)
{
}

static bool start(CluPace *pace, CluHost *host, GError **error)
{
    return clu_host_start(host, error);
}

static void kill_process(CluPace *pace, CluHost *host, const char *cause)
{
    clu_host_end_process(host, cause);
}

static void restart(CluPace *pace, CluHost *host, const char *cause)
{
    clu_host_kill(host, cause);
}

static bool is_restarting(const CluPace *pace, const CluHost *host)
{
    return clu_host_has_process(host);
}

static bool returns(const CluPace *pace, const CluHost *host)
{
    return false;
}

static void left(CluPace *pace, const CluPlanHost *host)
{
}

static char *plugin(const CluPace *pace, const CluPlanHost *host)
{
    return NULL;
}

static int board(const CluPace *pace)
{
    return -1;
}

static bool add_control(const CluPace *pace, CluFds *fds, int *ret_line,
                        GError **error)
{
    *ret_line = -1;
    return true;
}

static unsigned silence_ms(const CluPace *pace, unsigned ms)
{
    return ms;
}

static GSource *question_timer(const CluPace *pace, GMainContext *context,
                               unsigned ms, GSourceFunc fn, void *data)
{
    return clu_source_new_timer(context, ms, fn, data);
}

static int64_t limit(const CluPace *pace)
{
    return -1;
}

static bool stands(const CluPace *pace)
{
    return true;
}

static bool times(const CluPace *pace, const CluPlanHost *host, int64_t *ret_ns,
                  int64_t *ret_moving_us)
{
    return false;
}

static const char *refusal(const CluPace *pace)
{
    return NULL;
}

static bool close_trace(const CluPace *pace, const char *path, GError **error)
{
    return true;
}

CluPace *clu_pace_free(void)
{
    static const CluPaceMachine machine = {.sandbox = ",spawn=deny",
                                           .machine = "",
                                           .memory = "memory-backend-memfd",
                                           .memory_shared = ",share=on",
                                           .serial = "",
                                           .kernel = "",
                                           .has_monitor = true};
    static const CluPaceOps ops = {.machine = &machine,
                                   .unit = "",
                                   .begin = begin,
                                   .run = run,
                                   .end = end,
                                   .abandon = abandon,
                                   .start = start,
                                   .start_again = start,
                                   .kill = kill_process,
                                   .restart = restart,
                                   .is_restarting = is_restarting,
                                   .returns = returns,
                                   .left = left,
                                   .plugin = plugin,
                                   .board = board,
                                   .add_control = add_control,
                                   .silence_ms = silence_ms,
                                   .question_timer = question_timer,
                                   .limit = limit,
                                   .stands = stands,
                                   .times = times,
                                   .refusal = refusal,
                                   .close_trace = close_trace};
    static const CluPace pace = {.ops = &ops};

    return (CluPace *)&pace; /* it has no state */
}
