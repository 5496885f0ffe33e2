/* SPDX-License-Identifier: MIT */
#include <string.h>
#include <unistd.h>

#include <glib/gstdio.h>

#include "clu_calls.h"
#include "clu_control.h"
#include "exp_point.h"
#include "table_text.h"
#include "topo_home.h"
#include "xpl_child.h"
#include "xpl_run.h"

/* The exit status of a cluster that is not there */
#define FAILED 1

/* Virtual time that a host has to answer when the script has ended. The agent
 * of a frozen guest may be silent for 5 s. */
#define ANSWER_NS INT64_C(10000000000)

/* Virtual time after the last fault in which the hosts must come up. */
#define BOOT_NS INT64_C(300000000000)

/* The most ms that pass until the machines, which have booted, give a
 * checkpoint: none may be in the middle of an access. */
#define CHECKPOINT_MS 100

/* A schedule that runs. */
typedef struct Run {
    XplExplore *explore;
    const GArray *schedule;
    const char *name; /* of the cluster */
    const char *dir;
    XplResult *result;
    gint64 begun_us;
    int64_t until_ns; /* virtual time at which the present child must end */
    bool is_booting;  /* the child is an `up`, which sees panics itself */
    bool is_late;     /* until_ns is over */
    bool is_slow;     /* real time is over */
    bool is_broken;   /* a kernel has panicked, so nothing more can pass */
} Run;

void xpl_result_clear(XplResult *result)
{
    g_clear_pointer(&result->reason, g_free);
}

/* Keeps the first reason of the gravest cause. */
static void judge(Run *run, XplVerdict verdict, XplCause cause,
                  const char *reason)
{
    XplResult *result = run->result;
    bool is_graver = verdict == XPL_FAIL && result->verdict == XPL_FAIL
                         ? cause < result->cause
                         : verdict > result->verdict;

    if (!is_graver) {
        return;
    }
    result->verdict = verdict;
    result->cause = cause;
    g_free(result->reason);
    result->reason = g_strdup(reason);
}

static char *place(const Run *run, const char *name)
{
    return g_build_filename(run->dir, name, NULL);
}

/* The last line of a text that is not empty; to be freed. */
static char *last_line(const char *path)
{
    g_autofree char *text = NULL;
    char *line;

    if (!g_file_get_contents(path, &text, NULL, NULL)) {
        return g_strdup("");
    }
    g_strchomp(text);
    line = strrchr(text, '\n');
    return table_text_from(line ? line + 1 : text, -1, false);
}

/* ---- The cluster -------------------------------------------------------- */

/* The hosts (of CluHostReport) of a cluster, to be freed; NULL if it does not
 * answer. */
static GPtrArray *ask_hosts(const XplExplore *explore, const char *name)
{
    return explore->machines.ops->hosts(explore->machines.owner, name);
}

/* The virtual time of the host that is farthest; -1 if @hosts (nullable) has
 * none. */
static int64_t time_of(const GPtrArray *hosts)
{
    int64_t most = -1;

    for (unsigned i = 0; hosts && i < hosts->len; i++) {
        const CluHostReport *host = hosts->pdata[i];

        most = MAX(most, host->virtual_ns);
    }
    return most;
}

static int64_t ask_time_of(const XplExplore *explore, const char *name)
{
    g_autoptr(GPtrArray) hosts = ask_hosts(explore, name);

    return time_of(hosts);
}

static int64_t ask_time(const Run *run)
{
    return ask_time_of(run->explore, run->name);
}

static bool has_panicked(const GPtrArray *hosts)
{
    for (unsigned i = 0; hosts && i < hosts->len; i++) {
        const CluHostReport *host = hosts->pdata[i];

        if (strcmp(host->state, "panicked") == 0) {
            return true;
        }
    }
    return false;
}

static void keep_consoles(Run *run);

/* The machines end with their `up`, so this is the last time to see whether a
 * kernel has reported why it does not go on. */
static void find_late(Run *run, int64_t now_ns)
{
    run->is_late = now_ns > run->until_ns;
    if (run->is_late && run->is_booting) {
        keep_consoles(run);
    }
}

/* True if a child has to end, because its time is over. */
static bool is_over(void *owner)
{
    Run *run = owner;
    int64_t patience_us = run->explore->patience_s * G_USEC_PER_SEC;
    g_autoptr(GPtrArray) hosts = NULL;

    if (g_get_monotonic_time() - run->begun_us > patience_us) {
        run->is_slow = true;
    } else if (run->until_ns > 0) {
        hosts = ask_hosts(run->explore, run->name);
        run->is_broken = !run->is_booting && has_panicked(hosts);
        find_late(run, time_of(hosts));
    }
    return run->is_slow || run->is_late || run->is_broken;
}

/* A call of this run whose messages go to the file @output. */
static XplCall call_of(Run *run, const char *output, XplPoll *poll)
{
    return (XplCall){.output = output,
                     .is_stopped = &run->explore->is_stopped,
                     .poll = poll,
                     .owner = run};
}

/* Boots with @sets, and with a log if @log says where (nullable). The caller
 * has set run->until_ns; 0 means no limit. */
static int boot(Run *run, const char *name, const char *log, char *const *sets)
{
    const XplExplore *explore = run->explore;
    g_autofree char *output = place(run, "up");
    const XplCall call = call_of(run, output, is_over);
    const XplBoot how = {.name = name,
                         .file = explore->file,
                         .log = log,
                         .sets = sets,
                         .patience_s = explore->patience_s};

    return explore->machines.ops->boot(explore->machines.owner, &call, &how);
}

/* The request @words for the cluster @name. Its messages go to the file @file
 * of the run. */
static int ask(Run *run, const char *name, const char *const *words,
               const char *file, XplPoll *poll)
{
    const XplMachines *machines = &run->explore->machines;
    g_autofree char *output = place(run, file);
    const XplCall call = call_of(run, output, poll);

    return machines->ops->ask(machines->owner, &call, name, words);
}

/*
 * `up` with the faults of the schedule. A fault at the wrong time of a boot can
 * keep a host from coming up, such as a peer that goes while the NTB's driver
 * loads. So BOOT_NS after the last fault it is over. Whether is_over() or the
 * end of `up` comes first depends on the load of this machine; the result must
 * not.
 */
static int boot_with_faults(Run *run, char **sets)
{
    g_autofree char *log = place(run, "log");
    int status;

    run->until_ns = exp_schedule_end_ns(run->schedule) + BOOT_NS;
    run->is_booting = true;
    status = boot(run, run->name, log, sets);
    if (!run->is_late) {
        find_late(run, ask_time(run));
    }
    run->is_booting = false;
    return run->is_late ? FAILED : status;
}

static void end_cluster(const XplExplore *explore, const char *name)
{
    explore->machines.ops->down(explore->machines.owner, name);
}

void xpl_end(XplExplore *explore)
{
    if (explore->template) {
        end_cluster(explore, explore->template);
        g_clear_pointer(&explore->template, g_free);
    }
    g_clear_pointer(&explore->failure, g_free);
}

/*
 * The cluster @name becomes a template. Its machines may be in the middle of an
 * access, and then some time passes: always the same, because that depends on
 * virtual time alone. Returns an exit status; if it is not 0, explore->failure
 * has the reason.
 */
static int checkpoint(Run *run, const char *name)
{
    static const char *const stand[] = {"checkpoint", NULL};
    static const char *const pass[] = {"advance", "1000000", NULL}; /* ns */
    XplExplore *explore = run->explore;
    g_autofree char *output = place(run, "up");
    g_autofree char *last = NULL;
    unsigned ms = 0;
    int status;

    do {
        status = ask(run, name, stand, "up", NULL);
    } while (status == CLU_CONTROL_AGAIN && ms++ < CHECKPOINT_MS &&
             ask(run, name, pass, "up", NULL) == 0);
    if (status != 0 && !g_atomic_int_get(&explore->is_stopped)) {
        last = last_line(output);
        explore->failure =
            g_strdup_printf("the machines have booted, but there is no "
                            "checkpoint of them (--boot does without): %s",
                            last);
        g_atomic_int_set(&explore->is_stopped, 1);
    }
    return status;
}

/*
 * Boots the cluster of which all schedules are branches, without faults.
 * Returns the exit status. The caller holds the lock.
 */
static int make_template(Run *run)
{
    XplExplore *explore = run->explore;
    g_autofree char *name = g_strdup_printf("explore-%d-template", getpid());
    int status;

    run->until_ns = 0;
    status = boot(run, name, NULL, explore->sets);

    if (status == 0) {
        status = checkpoint(run, name);
    }
    if (status == 0) {
        explore->template_ns = ask_time_of(explore, name);
        explore->template = g_steal_pointer(&name);
    } else {
        end_cluster(explore, name);
    }
    return status;
}

/* A branch of the template, with the faults of the schedule. */
static int branch(Run *run)
{
    g_autofree char *faults =
        run->schedule->len > 0 ? exp_schedule_to_change(run->schedule) : NULL;
    const char *const words[] = {"branch", run->name, faults, NULL};

    run->until_ns = 0;
    return ask(run, run->explore->template, words, "up", is_over);
}

/*
 * The machines then stand before the first thing that a script does. They are a
 * branch of machines that have booted, if no fault comes earlier. This is the
 * only place that knows how a schedule starts.
 */
static int start(Run *run, char **sets)
{
    XplExplore *explore = run->explore;
    int status = 0;

    g_mutex_lock(&explore->lock);
    if (explore->failure) {
        status = FAILED; /* another thread has met it */
    } else if (!explore->boots && !explore->template) {
        status = make_template(run);
    }
    g_mutex_unlock(&explore->lock);
    if (status != 0) {
        return status;
    }
    if (!explore->boots &&
        exp_schedule_begin_ns(run->schedule) > explore->template_ns) {
        return branch(run);
    }
    return boot_with_faults(run, sets);
}

/* ---- The script --------------------------------------------------------- */

static char **environment(const Run *run, const char *schedule)
{
    const XplExplore *explore = run->explore;
    g_autofree char *until = g_strdup_printf(
        "%" G_GINT64_FORMAT, exp_schedule_end_ns(run->schedule));
    char **envp = g_get_environ();

    envp = g_environ_setenv(envp, "FARSIDE", explore->program, TRUE);
    envp = g_environ_setenv(envp, "FARSIDE_CLUSTER", run->name, TRUE);
    envp = g_environ_setenv(envp, "FARSIDE_SCHEDULE", schedule, TRUE);
    envp = g_environ_setenv(envp, "FARSIDE_FAULTS_END", until, TRUE);
    envp =
        g_environ_setenv(envp, "FARSIDE_INVARIANTS", explore->invariants, TRUE);
    return g_environ_setenv(envp, "FARSIDE_RUN", run->dir, TRUE);
}

static void run_script(Run *run, const char *schedule)
{
    const XplExplore *explore = run->explore;
    g_auto(GStrv) envp = environment(run, schedule);
    g_autofree char *output = place(run, "output");
    char *argv[] = {(char *)explore->script, NULL};
    g_autofree char *last = NULL;
    g_autofree char *text = NULL;
    const XplCall call = call_of(run, output, is_over);
    int64_t end_ns;
    int status;

    run->result->begin_ns = ask_time(run);
    run->until_ns = run->result->begin_ns + explore->limit_ns;
    status = xpl_child(&call, argv, envp);
    end_ns = ask_time(run);
    run->result->end_ns = CLAMP(end_ns, run->result->begin_ns, run->until_ns);
    last = last_line(output);
    /* is_over() looks once in a second of real time. Whether it has seen the
     * limit pass depends on the load of this machine; this does not. */
    if (end_ns > run->until_ns) {
        text =
            g_strdup_printf("the script has not ended after %" G_GINT64_FORMAT
                            " s of virtual time; its last line: %s",
                            explore->limit_ns / 1000000000, last);
        judge(run, XPL_FAIL, XPL_HANG, text);
    } else if (status == XPL_IMPOSSIBLE) {
        judge(run, XPL_CANNOT, XPL_NO_CAUSE, last);
    } else if (status != 0 && !run->is_slow && !run->is_broken) {
        text = *last
                   ? g_strdup(last)
                   : g_strdup_printf("the script's exit status is %d", status);
        judge(run, XPL_FAIL, XPL_SCRIPT, text);
    }
}

/* ---- What holds for every script ---------------------------------------- */

/* The messages by which Linux reports a fault of itself or of a module. */
#define REPORT                                                                 \
    "BUG: |WARNING: |Oops|Call Trace|KASAN|UBSAN|"                             \
    "possible (circular|recursive)|INFO: (task|trying|possible|rcu)|"          \
    "DMA-API: .*(error|warning)|ODEBUG|Kernel panic|soft lockup|"              \
    "general protection|unreferenced object|nobody cared|"                     \
    "blocked for more"

static bool is_allowed(const char *line, const GPtrArray *allowed)
{
    for (unsigned i = 0; allowed && i < allowed->len; i++) {
        if (g_regex_match(allowed->pdata[i], line, 0, NULL)) {
            return true;
        }
    }
    return false;
}

char *xpl_kernel_report(const char *console, const GPtrArray *allowed)
{
    g_autoptr(GRegex) report = g_regex_new(REPORT, G_REGEX_RAW, 0, NULL);
    g_auto(GStrv) lines = g_strsplit(console, "\n", 0);

    for (char **line = lines; *line; line++) {
        if (g_regex_match(report, *line, 0, NULL) &&
            !is_allowed(*line, allowed)) {
            return table_text_from(g_strstrip(*line), -1, false);
        }
    }
    return NULL;
}

/* Judges what a file has of kernels' reports. True if it has any. */
static bool judge_console(Run *run, const char *path, const char *host)
{
    g_autofree char *text = NULL;
    g_autofree char *report = NULL;
    g_autofree char *reason = NULL;

    if (!g_file_get_contents(path, &text, NULL, NULL)) {
        return false;
    }
    report = xpl_kernel_report(text, run->explore->allowed);
    if (report) {
        reason = g_strdup_printf("%s: %s", host, report);
        judge(run, XPL_FAIL, XPL_KERNEL, reason);
    }
    return report;
}

static void keep_console(Run *run, const TopoHost *host)
{
    const XplMachines *machines = &run->explore->machines;
    g_autofree char *file = g_strconcat("console.", host->name, NULL);
    g_autofree char *path = place(run, file);
    g_autofree char *text =
        machines->ops->console(machines->owner, run->name, host->name);

    if (!text || !g_file_set_contents(path, text, -1, NULL)) {
        g_autofree char *reason =
            g_strdup_printf("the console of %s cannot be read", host->name);

        judge(run, XPL_ERROR, XPL_NO_CAUSE, reason);
        return;
    }
    judge_console(run, path, host->name);
}

static void judge_lost(Run *run, const TopoHost *host, const char *what)
{
    g_autofree char *reason = g_strdup_printf("%s %s", host->name, what);

    judge(run, XPL_FAIL, XPL_LOST, reason);
}

/* A host that is up must run a command. */
static void check_answer(Run *run, const TopoHost *host)
{
    const char *const words[] = {"exec-whole", host->name, "true", NULL};
    int status;

    run->until_ns = ask_time(run) + ANSWER_NS;
    status = ask(run, run->name, words, "answers", is_over);
    if ((status != 0 || ask_time(run) > run->until_ns) && !run->is_slow &&
        !exp_schedule_has_power(run->schedule, host)) {
        judge_lost(run, host, "does not answer any more");
    }
}

static const char *const good_states[] = {"up", "booting", NULL};

/* Hosts that no fault has switched off are there, and answer. */
static void check_hosts(Run *run)
{
    g_autoptr(GPtrArray) hosts = ask_hosts(run->explore, run->name);

    if (!hosts) {
        judge(run, XPL_ERROR, XPL_NO_CAUSE,
              "the supervisor of the cluster has ended");
        return;
    }
    for (unsigned i = 0; i < hosts->len; i++) {
        const CluHostReport *report = hosts->pdata[i];
        const TopoHost *host = run->explore->description->hosts->pdata[i];
        const char *state = report->state;

        if (strcmp(state, "up") == 0 && run->is_broken) {
            continue; /* nobody lets time pass for it any more */
        }
        if (strcmp(state, "up") == 0) {
            check_answer(run, host);
        } else if (!g_strv_contains(good_states, state) &&
                   !exp_schedule_has_power(run->schedule, host)) {
            g_autofree char *what = g_strdup_printf("is %s", state);

            judge_lost(run, host, what);
        }
    }
}

/* ---- All of it ---------------------------------------------------------- */

static void keep_consoles(Run *run)
{
    const GPtrArray *hosts = run->explore->description->hosts;

    for (unsigned i = 0; i < hosts->len; i++) {
        keep_console(run, hosts->pdata[i]);
    }
}

/*
 * The cluster is not up. Either it has ended, and `up` has printed the reason,
 * or `up` was ended because it is late, and the machines still run.
 */
static void judge_start(Run *run)
{
    g_autofree char *output = place(run, "up");
    g_autofree char *last = last_line(output);
    g_autofree char *text = NULL;

    if (run->explore->failure) {
        judge(run, XPL_ERROR, XPL_NO_CAUSE, run->explore->failure);
        return;
    }
    if (judge_console(run, output, "while the cluster boots")) {
        return;
    }
    if (run->is_late) {
        text = g_strdup_printf("the hosts are not up %" G_GINT64_FORMAT
                               " s of virtual time after the last fault",
                               BOOT_NS / 1000000000);
        judge(run, run->schedule->len > 0 ? XPL_VOID : XPL_ERROR, XPL_NO_CAUSE,
              text);
        return;
    }
    judge(run,
          exp_schedule_may_hit_boot(run->schedule) && !run->is_slow ? XPL_VOID
                                                                    : XPL_ERROR,
          XPL_NO_CAUSE, last);
}

static void run_started(Run *run, const char *schedule)
{
    run_script(run, schedule);
    if (!g_atomic_int_get(&run->explore->is_stopped) && !run->is_slow) {
        check_hosts(run);
    }
    keep_consoles(run);
}

/* The changes of the description for this schedule, to be freed. */
static char **changes_of(const Run *run)
{
    GPtrArray *sets = g_ptr_array_new();

    for (char *const *set = run->explore->sets; set && *set; set++) {
        g_ptr_array_add(sets, g_strdup(*set));
    }
    if (run->schedule->len > 0) {
        g_ptr_array_add(sets, exp_schedule_to_change(run->schedule));
    }
    g_ptr_array_add(sets, NULL);
    return (char **)g_ptr_array_free(sets, FALSE);
}

TopoDescription *xpl_load(const XplExplore *explore, const char *file,
                          char *const *sets)
{
    g_autoptr(TopoErrors) errors = topo_errors_new();
    g_autoptr(TopoDescription) description = NULL;
    g_autoptr(GPtrArray) changes = topo_changes_new();
    g_autofree char *path = topo_home_resolve(file);

    for (; sets && *sets; sets++) {
        TopoChange *change = topo_change_parse(*sets, topo_place_set(), errors);

        if (change) {
            g_ptr_array_add(changes, change);
        }
    }
    if (topo_errors_count(errors) == 0) {
        description = topo_load(path, changes, errors);
    }
    if (description && description->workload) {
        exp_point_check_columns(description, errors);
    }
    if (topo_errors_count(errors) > 0) {
        xpl_refuse(explore, errors);
        return NULL;
    }
    return g_steal_pointer(&description);
}

void xpl_refuse(const XplExplore *explore, const TopoErrors *errors)
{
    g_autofree char *text = topo_errors_to_string(errors);
    unsigned count = topo_errors_count(errors);

    img_tell(&explore->notes, "%sfarside %s: %u error%s", text, explore->verb,
             count, count == 1 ? "" : "s");
}

/* Writes the schedule, and checks that a cluster can have it. */
static bool write_schedule(Run *run, const char *path, const char *comment,
                           char **sets)
{
    g_autofree char *title = g_path_get_basename(run->dir);
    g_autofree char *text =
        exp_schedule_to_yaml(run->schedule, title, run->explore->file, comment);
    g_autoptr(GError) error = NULL;
    g_autoptr(TopoDescription) description = NULL;

    if (g_mkdir_with_parents(run->dir, 0777) < 0 ||
        !g_file_set_contents(path, text, -1, &error)) {
        judge(run, XPL_ERROR, XPL_NO_CAUSE,
              error ? error->message : "its folder cannot be made");
        return false;
    }
    description = xpl_load(run->explore, run->explore->file, sets);
    if (!description) {
        judge(run, XPL_ERROR, XPL_NO_CAUSE, "the schedule has errors");
    }
    return description;
}

void xpl_run(XplExplore *explore, const GArray *schedule, const char *name,
             const char *dir, const char *comment, XplResult *ret_result)
{
    Run run = {.explore = explore,
               .schedule = schedule,
               .name = name,
               .dir = dir,
               .result = ret_result,
               .begun_us = g_get_monotonic_time()};
    g_auto(GStrv) sets = changes_of(&run);
    g_autofree char *path = NULL;

    *ret_result = (XplResult){.verdict = XPL_PASS};
    /* Files are added to, so those of a run before would mix with these. */
    xpl_forget(dir);
    path = place(&run, "schedule.yaml");
    if (write_schedule(&run, path, comment, sets)) {
        if (start(&run, sets) == 0) {
            run_started(&run, path);
        } else {
            judge_start(&run);
        }
        end_cluster(explore, name);
    }
    if (run.is_slow) {
        judge(&run, XPL_ERROR, XPL_NO_CAUSE,
              "it took too long in real time; give more by --patience");
    }
    ret_result->seconds = (double)(g_get_monotonic_time() - run.begun_us) / 1e6;
}

void xpl_forget(const char *dir)
{
    GDir *files = g_dir_open(dir, 0, NULL);
    const char *name;

    while (files && (name = g_dir_read_name(files))) {
        g_autofree char *path = g_build_filename(dir, name, NULL);

        g_remove(path);
    }
    if (files) {
        g_dir_close(files);
    }
    g_rmdir(dir);
}
