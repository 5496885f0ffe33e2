/* SPDX-License-Identifier: MIT */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "xpl_seeds.h"
#include "xpl_signals.h"
#include "exp_shrink.h"

/* The threads share this. */
typedef struct Work {
    XplSeeds *seeds;
    uint64_t next; /* index of a seed */
    GMutex mutex;  /* of `next`, of the output, and of `error` */
    GError *error; /* the first one of the report */
    gint running;  /* threads; atomic */
} Work;

/* A failure that is made smaller. */
typedef struct Smaller {
    XplExplore *explore;
    XplCause cause;
    char *name, *dir; /* of the runs */
    XplResult result; /* of the last one that failed */
    unsigned runs;
} Smaller;

static bool is_stopped(XplExplore *explore)
{
    return g_atomic_int_get(&explore->is_stopped);
}

/* ---- Shrink ------------------------------------------------------------- */

static bool fails_still(void *owner, const GArray *schedule)
{
    Smaller *smaller = owner;
    g_autofree char *dir =
        g_strdup_printf("%s-%u", smaller->dir, ++smaller->runs);
    XplResult result;
    bool is_same;

    if (is_stopped(smaller->explore)) {
        return false;
    }
    xpl_run(smaller->explore, schedule, smaller->name, dir, NULL, &result);
    is_same = result.verdict == XPL_FAIL && result.cause == smaller->cause &&
              !is_stopped(smaller->explore);
    if (is_same) {
        /* The last one that failed stays, in the folder of the smallest. */
        xpl_forget(smaller->dir);
        rename(dir, smaller->dir);
        xpl_result_clear(&smaller->result);
        smaller->result = result;
    } else {
        xpl_forget(dir);
        xpl_result_clear(&result);
    }
    return is_same;
}

/* Adds an option with each of its values, for a shell. */
static void add_option(GString *text, const char *option, char *const *values)
{
    for (; values && *values; values++) {
        g_autofree char *word = g_shell_quote(*values);

        g_string_append_printf(text, " %s %s", option, word);
    }
}

/* Tells the command that runs the schedule in the folder @dir again. */
static void tell_again(const XplExplore *explore, const char *dir)
{
    g_autofree char *file = g_shell_quote(explore->file);
    g_autofree char *path = g_build_filename(dir, "schedule.yaml", NULL);
    g_autoptr(GString) text = g_string_new(NULL);

    g_string_printf(text, "  again: farside cluster explore %s", file);
    add_option(text, "--script", (char *[]){(char *)explore->script, NULL});
    if (explore->boots) {
        g_string_append(text, " --boot");
    }
    add_option(text, "--limit", (char *[]){(char *)explore->limit, NULL});
    add_option(text, "--set", explore->sets);
    add_option(text, "--allow", explore->allow);
    add_option(text, "--schedule", (char *[]){path, NULL});
    img_tell(&explore->out, "%s", text->str);
}

void xpl_shrink(XplExplore *explore, const GArray *schedule,
                const XplResult *result, const char *name, const char *dir,
                unsigned most)
{
    Smaller smaller = {
        .explore = explore,
        .cause = result->cause,
        .name = g_strdup(name),
        .dir = g_strconcat(dir, "-small", NULL),
    };
    g_autoptr(GArray) small = exp_shrink(schedule, fails_still, &smaller, most);
    g_autofree char *text = exp_schedule_to_text(small);

    if (smaller.result.verdict == XPL_FAIL) {
        img_tell(&explore->out, "  smallest after %u run%s: %s\n    %s",
                 smaller.runs, smaller.runs == 1 ? "" : "s", text,
                 smaller.result.reason);
    } else if (smaller.runs > 0) {
        img_tell(&explore->out,
                 "  none of %u smaller or simpler schedules fails",
                 smaller.runs);
    }
    tell_again(explore, smaller.result.reason ? smaller.dir : dir);
    xpl_result_clear(&smaller.result);
    g_free(smaller.name);
    g_free(smaller.dir);
}

/* ---- One seed ----------------------------------------------------------- */

void xpl_tell_result(const XplExplore *explore, const char *what,
                     const char *faults, const XplResult *result)
{
    bool has_reason = result->verdict > XPL_PASS && result->reason;

    img_tell(&explore->out, "%s: %s, %.1f s of virtual time in %.0f s: %s%s%s",
             what, xpl_verdict_name(result->verdict),
             (double)(result->end_ns - result->begin_ns) / 1e9, result->seconds,
             faults, has_reason ? "\n    " : "",
             has_reason ? result->reason : "");
}

static void run_seed(Work *work, uint64_t seed)
{
    XplSeeds *seeds = work->seeds;
    XplExplore *explore = seeds->explore;
    g_autoptr(GArray) schedule = exp_schedule_draw(
        explore->description, seeds->head->begin_ns, seeds->head->end_ns, seed);
    g_autofree char *faults = exp_schedule_to_text(schedule);
    g_autofree char *label = g_strdup_printf("seed-%" G_GUINT64_FORMAT, seed);
    g_autofree char *name = g_strdup_printf("explore-%d-%s", getpid(), label);
    g_autofree char *dir = g_build_filename(seeds->out, label, NULL);
    XplResult result;

    xpl_run(explore, schedule, name, dir, label, &result);
    g_mutex_lock(&work->mutex);
    /* A run that the user has cut short has no result. */
    if (!is_stopped(explore)) {
        xpl_tell_result(explore, label, faults, &result);
        if (!work->error) {
            xpl_report_add(seeds->report, seed, &result, faults, &work->error);
        }
    }
    g_mutex_unlock(&work->mutex);
    if (result.verdict == XPL_FAIL && !is_stopped(explore)) {
        xpl_shrink(explore, schedule, &result, name, dir, seeds->shrink_runs);
    } else if (result.verdict != XPL_ERROR && !seeds->keep) {
        xpl_forget(dir);
    }
    xpl_result_clear(&result);
}

/* ---- All seeds ---------------------------------------------------------- */

static uint64_t seed_at(const XplSeeds *seeds, uint64_t index)
{
    return seeds->only ? g_array_index(seeds->only, uint64_t, index)
                       : seeds->from + index;
}

/* Takes the next seed that the report does not have. False if none is left. */
static bool take(Work *work, uint64_t *ret_seed)
{
    const XplSeeds *seeds = work->seeds;
    uint64_t count = seeds->only ? seeds->only->len : seeds->count;
    bool is_left;

    g_mutex_lock(&work->mutex);
    while (work->next < count &&
           xpl_report_has(seeds->report, seed_at(seeds, work->next))) {
        work->next++;
    }
    is_left = work->next < count && !work->error && !is_stopped(seeds->explore);
    if (is_left) {
        *ret_seed = seed_at(seeds, work->next++);
    }
    g_mutex_unlock(&work->mutex);
    return is_left;
}

static gpointer work_main(gpointer data)
{
    Work *work = data;
    uint64_t seed;

    while (take(work, &seed)) {
        run_seed(work, seed);
    }
    g_atomic_int_add(&work->running, -1);
    return NULL;
}

/* One function in a thread of its own, so that signals are seen meanwhile. */
typedef struct Call {
    void (*run)(void *owner);
    void *owner;
    gint running;
} Call;

static gpointer call_main(gpointer data)
{
    Call *call = data;

    call->run(call->owner);
    g_atomic_int_set(&call->running, 0);
    return NULL;
}

int xpl_watched(XplExplore *explore, void (*run)(void *owner), void *owner)
{
    Call call = {run, owner, 1};
    GThread *thread = g_thread_new("explore", call_main, &call);
    int got = xpl_watch_signals(&call.running, &explore->is_stopped,
                                &explore->notes, "cluster explore");

    g_thread_join(thread);
    return got;
}

int xpl_seeds(XplSeeds *seeds, GError **error)
{
    Work work = {.seeds = seeds};
    g_autoptr(GPtrArray) threads = g_ptr_array_new();
    int got;

    g_mutex_init(&work.mutex);
    work.running = (gint)seeds->jobs;
    for (unsigned i = 0; i < seeds->jobs; i++) {
        g_ptr_array_add(threads, g_thread_new("explore", work_main, &work));
    }
    got = xpl_watch_signals(&work.running, &seeds->explore->is_stopped,
                            &seeds->explore->notes, "cluster explore");
    for (unsigned i = 0; i < threads->len; i++) {
        g_thread_join(threads->pdata[i]);
    }
    g_mutex_clear(&work.mutex);
    if (work.error) {
        g_propagate_error(error, work.error);
    }
    return got;
}
