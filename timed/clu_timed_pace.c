/* SPDX-License-Identifier: MIT */
/* The pace of machines in virtual time. */
#include <sys/socket.h>

#include "clu_process.h"
#include "clu_timed_priv.h"
#include "trc_file.h"

/* The cache of translated code, in MiB: each run of the CPU ends at an exact
 * instruction, so much code is translated in several lengths. */
#define TB_SIZE_MIB "512"

/*
 * QEMU 7.2 computes cmpxchg16b's flags from a stale cc_op. A guest sees that,
 * for example as a spurious trap flag, if the CPU's run ends right behind that
 * instruction. Without the feature Linux does not use it. The date is the same
 * in each run, and the clock counts virtual time.
 */
static const char *const accel[] = {
    "-accel",  "tcg,thread=single,tb-size=" TB_SIZE_MIB,
    "-icount", "shift=0,sleep=off",
    "-cpu",    "qemu64,-cx16",
    "-rtc",    "base=2026-01-01T00:00:00,clock=vm",
    NULL};

/*
 * Each access to a device costs a timed machine more than a free one. The
 * firmware polls the six empty ports of the AHCI controller for 10 ms of
 * virtual time. The driver of /dev/hpet, which is no part of the guest's clock,
 * reads the HPET for 5 ms. No machine maps the memory of another one, and
 * branches of a machine must not share it. With ioeventfd the main loop would
 * serve the device, at any time. A machine must be able to fork, because that
 * is how a branch of it is made; it starts no program, but nothing refuses it.
 */
static const CluPaceMachine machine = {
    .sandbox = "",
    .machine = ",sata=off",
    .memory = "memory-backend-ram",
    .memory_shared = "",
    .serial = ",ioeventfd=off",
    .kernel = " initcall_blacklist=hpet_late_init,hpet_init",
    .accel = accel,
};

static CluTimed *timed_of(const CluPace *pace)
{
    return (CluTimed *)pace; /* its first member */
}

static CluTimedHost *find_host(const CluPace *pace, const CluHost *host)
{
    return &timed_of(pace)->hosts[clu_host_plan(host)->index];
}

static bool begin(CluPace *pace, const CluPlan *plan, GError **error)
{
    return clu_timed_start_model(timed_of(pace), plan, error);
}

static bool run(CluPace *pace, GMainContext *context, CluCluster *cluster,
                GError **error)
{
    return clu_timed_start(timed_of(pace), context, cluster, error);
}

static bool branch(CluPace *pace, const CluDir *dir, int alive,
                   char *const *sets, GError **error)
{
    return clu_timed_branch(timed_of(pace), dir, alive, sets, error);
}

static void end(CluPace *pace)
{
    clu_timed_end(timed_of(pace));
}

static void abandon(const CluPace *pace)
{
    const CluTimed *timed = timed_of(pace);

    if (timed->model) {
        clu_process_kill(timed->model);
    }
}

static void left(CluPace *pace, const CluPlanHost *host)
{
    timed_board_leave(timed_of(pace)->board, host->index);
}

/* A host that begins late is no failure. */
static bool start(CluPace *pace, CluHost *host, GError **error)
{
    const CluPlanHost *plan = clu_host_plan(host);

    if (!clu_faults_is_late(timed_of(pace)->plan, plan)) {
        return clu_host_start(host, error);
    }
    left(pace, plan);
    find_host(pace, host)->returns = true;
    return true;
}

/* Between two steps, when the old one has ended */
static bool start_again(CluPace *pace, CluHost *host, GError **error)
{
    return true;
}

static void restart(CluPace *pace, CluHost *host, const char *cause)
{
    clu_host_kill(host, cause);
    clu_timed_request_start(timed_of(pace), host);
}

static bool returns(const CluPace *pace, const CluHost *host)
{
    return find_host(pace, host)->returns;
}

/* Between two steps, too */
static void kill_later(CluPace *pace, CluHost *host, const char *cause)
{
    CluTimedHost *its = find_host(pace, host);

    g_free(its->fate);
    its->fate = g_strdup(cause);
}

static char *plugin(const CluPace *pace, const CluPlanHost *host)
{
    return clu_timed_plugin(timed_of(pace), host);
}

static int board(const CluPace *pace)
{
    return timed_of(pace)->fd;
}

static bool add_control(const CluPace *pace, CluFds *fds, int *ret_line,
                        GError **error)
{
    *ret_line = clu_fds_add_line(fds, SOCK_SEQPACKET, CLU_FD_CONTROL, error);
    return *ret_line >= 0;
}

/* A ping would reach a guest at a random virtual time. */
static unsigned silence_ms(const CluPace *pace, unsigned ms)
{
    return 0;
}

static GSource *question_timer(const CluPace *pace, GMainContext *context,
                               unsigned ms, GSourceFunc fn, void *data)
{
    return NULL;
}

static int64_t limit(const CluPace *pace)
{
    return timed_board_limit(timed_of(pace)->board);
}

static bool stands(const CluPace *pace)
{
    return clu_timed_stands_at(timed_of(pace), 0);
}

static bool times(const CluPace *pace, const CluPlanHost *host, int64_t *ret_ns,
                  int64_t *ret_moving_us)
{
    *ret_ns = timed_board_now(timed_of(pace)->board, host->index);
    *ret_moving_us = clu_timed_moving_us(timed_of(pace));
    return true;
}

static const char *refusal(const CluPace *pace)
{
    const CluTimed *timed = timed_of(pace);

    if (clu_timed_is_replay(timed)) {
        return "this cluster replays a log, and gets nothing else; look at it "
               "with `farside cluster status` and `logs`";
    }
    if (timed->is_template) {
        return "this cluster stands at its checkpoint for ever; make a branch "
               "with `farside cluster branch`, and give that to it";
    }
    return NULL;
}

/* Both ends append as quickly as this machine lets them. In virtual time only
 * the times of packets count. */
static bool close_trace(const CluPace *pace, const char *path, GError **error)
{
    return trc_file_sort(path, error);
}

static const CluPaceOps ops = {.machine = &machine,
                               .unit = " of virtual time",
                               .is_stepped = true,
                               .begin = begin,
                               .run = run,
                               .branch = branch,
                               .end = end,
                               .abandon = abandon,
                               .start = start,
                               .start_again = start_again,
                               .kill = kill_later,
                               .restart = restart,
                               .is_restarting = returns,
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

CluPace *clu_timed_pace(CluTimed *timed)
{
    timed->pace.ops = &ops;
    return &timed->pace;
}

CluTimed *clu_timed_of(const CluPace *pace)
{
    return pace->ops == &ops ? timed_of(pace) : NULL;
}
