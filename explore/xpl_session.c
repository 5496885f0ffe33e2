/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clu_branch.h"
#include "clu_error.h"
#include "topo_home.h"
#include "topo_units.h"
#include "xpl_seeds.h"
#include "xpl_session.h"
#include "xpl_signals.h"

enum {
    OK = 0,
    FAILED = 1,
    USAGE = 2
};

#define JOBS_MOST     64
#define SEEDS_MOST    1000000000
#define SHRINK_MOST   10000
#define PATIENCE_MOST 86400
#define PS_PER_NS     1000

/* All that a call has. */
typedef struct Session {
    const XplOptions *options;
    XplExplore explore;
    GArray *only; /* of uint64_t: the seeds of --only; nullable */
    char *file, *script, *program, *invariants, *out;
    TopoDescription *description;
    CluPlan *plan;
    XplHead head;
} Session;

static void session_clear(Session *session)
{
    xpl_end(&session->explore);
    xpl_machines_clear(&session->explore.machines);
    g_mutex_clear(&session->explore.lock);
    g_free(session->file);
    g_free(session->script);
    g_free(session->program);
    g_free(session->invariants);
    g_free(session->out);
    clu_plan_free(session->plan);
    topo_description_free(session->description);
    g_clear_pointer(&session->explore.allowed, g_ptr_array_unref);
    g_clear_pointer(&session->only, g_array_unref);
    xpl_head_clear(&session->head);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Session, session_clear)

/* Tells and frees @error. Returns the exit status for it. */
static int fail(const Session *session, GError *error)
{
    bool is_usage = g_error_matches(error, CLU_ERROR, CLU_ERROR_USAGE);

    img_tell(&session->explore.notes, "farside %s: %s", session->explore.verb,
             error->message);
    g_error_free(error);
    return is_usage ? USAGE : FAILED;
}

/* ---- The options -------------------------------------------------------- */

static bool check_range(const char *name, int64_t value, int64_t least,
                        int64_t most, GError **error)
{
    if (value >= least && value <= most) {
        return true;
    }
    return topo_refuse_option(error,
                              "%s is %" G_GINT64_FORMAT " to %" G_GINT64_FORMAT,
                              name, least, most);
}

static bool check_options(const XplOptions *options, XplExplore *explore,
                          GError **error)
{
    g_autoptr(GError) bad = NULL;
    int64_t ps;

    if (!options->script) {
        return topo_refuse_option(
            error, "--script is missing: the program that uses the "
                   "cluster and checks what must hold");
    }
    if (options->schedule && options->resume) {
        return topo_refuse_option(
            error, "--schedule runs one schedule, and --resume goes on "
                   "with many; leave one out");
    }
    if (!topo_units_parse(TOPO_UNIT_TIME, options->limit, &ps, &bad)) {
        return topo_refuse_option(error, "--limit: %s", bad->message);
    }
    explore->limit_ns = ps / PS_PER_NS;
    explore->limit = options->limit;
    explore->allow = options->allow;
    explore->patience_s = options->patience_s;
    return check_range("--limit in ms", explore->limit_ns / 1000000, 1, 1000000,
                       error) &&
           check_range("--seeds", options->seeds, 1, SEEDS_MOST, error) &&
           check_range("--from", options->from, 0, SEEDS_MOST, error) &&
           check_range("--jobs", options->jobs, 1, JOBS_MOST, error) &&
           check_range("--shrink-runs", options->shrink_runs, 0, SHRINK_MOST,
                       error) &&
           check_range("--patience", options->patience_s, 1, PATIENCE_MOST,
                       error);
}

static bool parse_allowed(char *const *patterns, XplExplore *explore,
                          GError **error)
{
    explore->allowed =
        g_ptr_array_new_with_free_func((GDestroyNotify)g_regex_unref);
    for (; patterns && *patterns; patterns++) {
        g_autoptr(GError) bad = NULL;
        GRegex *regex = g_regex_new(*patterns, G_REGEX_RAW, 0, &bad);

        if (!regex) {
            return topo_refuse_option(error, "--allow: %s", bad->message);
        }
        g_ptr_array_add(explore->allowed, regex);
    }
    return true;
}

static bool parse_only(const char *text, Session *session, GError **error)
{
    const char *at = text;

    if (!text) {
        return true;
    }
    session->only = g_array_new(FALSE, FALSE, sizeof(uint64_t));
    do {
        g_autofree char *word = g_strndup(at, strcspn(at, ","));
        guint64 seed;

        if (!g_ascii_string_to_unsigned(word, 10, 0, SEEDS_MOST, &seed, NULL)) {
            return topo_refuse_option(
                error,
                "--only: '%s' is no seed; write numbers of 0 to %d with "
                "commas between them, such as 5,17",
                word, SEEDS_MOST);
        }
        g_array_append_val(session->only, seed);
        at += strlen(word);
    } while (*at++ == ',');
    return true;
}

/* Fills in the times of @head by @text (nullable), "BEGIN,END". */
static bool parse_times(const char *text, XplHead *head, GError **error)
{
    g_auto(GStrv) words = g_strsplit(text ? text : "", ",", -1);
    g_autoptr(GError) bad = NULL;
    int64_t ps[2];

    if (!text) {
        return true;
    }
    if (g_strv_length(words) != 2) {
        return topo_refuse_option(
            error,
            "--times: '%s' is no BEGIN,END; write two times, such as "
            "1.5s,3s",
            text);
    }
    for (unsigned i = 0; i < 2; i++) {
        if (!topo_units_parse(TOPO_UNIT_TIME, words[i], &ps[i], &bad)) {
            return topo_refuse_option(error, "--times: %s", bad->message);
        }
    }
    if (ps[0] < PS_PER_NS || ps[0] >= ps[1]) {
        return topo_refuse_option(
            error, "--times: %s; write a time above 0, and a later one", text);
    }
    head->begin_ns = ps[0] / PS_PER_NS;
    head->end_ns = ps[1] / PS_PER_NS;
    return true;
}

/* ---- Files -------------------------------------------------------------- */

/* Finds the script, which need not lie in a folder of $PATH. */
static bool find_script(Session *session, GError **error)
{
    const char *word = session->options->script;
    g_autofree char *found = topo_home_resolve(word);

    session->script = realpath(found, NULL);
    if (!session->script || access(session->script, X_OK) != 0 ||
        !g_file_test(session->script, G_FILE_TEST_IS_REGULAR)) {
        return topo_refuse_option(
            error,
            "--script: %s is no program that can be run; name one, "
            "and make it executable",
            word);
    }
    return true;
}

/* A cluster of the description must be able to have faults, and has none. */
static bool check_description(Session *session)
{
    g_autoptr(TopoErrors) errors = topo_errors_new();

    session->plan = clu_plan_new(session->description, errors);
    if (session->description->faults->len > 0) {
        const TopoFault *fault = session->description->faults->pdata[0];

        topo_errors_add(errors, fault->place,
                        "the faults are those of each schedule; remove "
                        "`faults:`, or run a schedule by --schedule");
    }
    if (topo_errors_count(errors) > 0) {
        xpl_refuse(&session->explore, errors);
    }
    return topo_errors_count(errors) == 0;
}

/* A description of which there can be no checkpoint boots for each schedule. */
static bool must_boot(const Session *session)
{
    g_autoptr(TopoErrors) errors = topo_errors_new();
    g_autofree char *text = NULL;

    clu_branch_check(session->plan, errors);
    if (topo_errors_count(errors) > 0) {
        text = topo_errors_to_string(errors);
        img_tell(&session->explore.notes,
                 "farside %s: each schedule boots its machines, because there "
                 "can be no checkpoint:\n%s",
                 session->explore.verb, g_strchomp(text));
    }
    return topo_errors_count(errors) > 0;
}

static bool open_session(Session *session, const char *word, GError **error)
{
    g_autofree char *found = topo_home_resolve(word);
    g_autoptr(TopoHome) home = topo_home_find();
    const XplOptions *options = session->options;

    session->program = g_file_read_link("/proc/self/exe", NULL);
    session->invariants =
        home ? g_build_filename(home->data, "explore", "invariants.sh", NULL)
             : g_strdup("");
    if (!find_script(session, error)) {
        return false;
    }
    session->description = xpl_load(&session->explore, found, options->sets);
    if (!session->description || !check_description(session)) {
        return false;
    }
    session->file = realpath(found, NULL);
    session->out = options->out
                       ? g_canonicalize_filename(options->out, NULL)
                       : g_build_filename("results", "explore",
                                          session->description->name, NULL);
    session->explore.program = session->program;
    session->explore.invariants = session->invariants;
    session->explore.file = session->file;
    session->explore.script = session->script;
    session->explore.sets = options->sets;
    session->explore.boots = options->boot || must_boot(session);
    session->explore.description = session->description;
    return true;
}

/* ---- One schedule ------------------------------------------------------- */

typedef struct One {
    Session *session;
    const GArray *schedule;
    const char *label, *dir;
    XplResult result;
} One;

static void run_one(void *owner)
{
    One *one = owner;
    g_autofree char *name =
        g_strdup_printf("explore-%d-%s", getpid(), one->label);

    xpl_run(&one->session->explore, one->schedule, name, one->dir, NULL,
            &one->result);
}

/* Ends as a program does that the signal ended. */
static int ended_by(int signal)
{
    return 128 + signal;
}

/* Tells why no schedule can run. */
static bool has_failure(const Session *session)
{
    if (session->explore.failure) {
        img_tell(&session->explore.notes, "farside %s: %s",
                 session->explore.verb, session->explore.failure);
    }
    return session->explore.failure;
}

static void shrink_one(void *owner)
{
    One *one = owner;
    g_autofree char *name =
        g_strdup_printf("explore-%d-%s", getpid(), one->label);

    xpl_shrink(&one->session->explore, one->schedule, &one->result, name,
               one->dir, (unsigned)one->session->options->shrink_runs);
}

static int run_schedule(Session *session)
{
    g_autofree char *dir = g_build_filename(session->out, "schedule", NULL);
    g_autoptr(TopoDescription) description = xpl_load(
        &session->explore, session->options->schedule, session->options->sets);
    g_autoptr(GArray) schedule =
        description ? exp_schedule_of(description) : NULL;
    g_autofree char *faults = schedule ? exp_schedule_to_text(schedule) : NULL;
    One one = {session, schedule, "schedule", dir, {.reason = NULL}};
    int got, status;

    if (!schedule) {
        return USAGE;
    }
    got = xpl_watched(&session->explore, run_one, &one);
    if (has_failure(session)) {
        xpl_result_clear(&one.result);
        return FAILED;
    }
    if (!got) {
        xpl_tell_result(&session->explore, session->options->schedule, faults,
                        &one.result);
        img_tell(&session->explore.out, "  its output and consoles: %s", dir);
    }
    if (!got && one.result.verdict == XPL_FAIL &&
        session->options->shrink_runs > 0) {
        got = xpl_watched(&session->explore, shrink_one, &one);
    }
    status = one.result.verdict >= XPL_ERROR ? FAILED : OK;
    xpl_result_clear(&one.result);
    return got ? ended_by(got) : status;
}

/* ---- Many schedules ----------------------------------------------------- */

/* Times of the script are rounded up to these, in ns: a change of the modules
 * that costs a few instructions is to leave the schedules as they are. */
#define BEGIN_GRID INT64_C(100000000)
#define END_GRID   INT64_C(500000000)

static int64_t round_up(int64_t ns, int64_t grid)
{
    return (ns + grid - 1) / grid * grid;
}

/* Runs the script without faults, which tells when they are to come. Returns
 * the exit status. */
static int measure(Session *session)
{
    g_autoptr(GArray) none = g_array_new(FALSE, TRUE, sizeof(TopoFault));
    g_autofree char *dir = g_build_filename(session->out, "no-faults", NULL);
    One one = {session, none, "no-faults", dir, {.reason = NULL}};
    int got = xpl_watched(&session->explore, run_one, &one);
    int status = got ? ended_by(got) : OK;

    if (!session->options->times) {
        session->head.begin_ns = round_up(one.result.begin_ns, BEGIN_GRID);
        session->head.end_ns = round_up(one.result.end_ns, END_GRID);
    }
    if (has_failure(session)) {
        status = FAILED;
    } else if (!got) {
        xpl_tell_result(&session->explore, "no faults", "none", &one.result);
        if (one.result.verdict != XPL_PASS) {
            img_tell(&session->explore.notes,
                     "farside %s: the script must pass without faults; %s has "
                     "its output and consoles",
                     session->explore.verb, dir);
            status = FAILED;
        }
    }
    xpl_result_clear(&one.result);
    return status;
}

static int summarize(const XplExplore *explore, const XplReport *report,
                     const char *path)
{
    unsigned failed = xpl_report_count(report, XPL_FAIL);
    unsigned errors = xpl_report_count(report, XPL_ERROR);
    unsigned builds = xpl_report_builds(report);
    g_autofree char *by =
        builds > 1
            ? g_strdup_printf(" (by %u builds of farside or QEMU)", builds)
            : g_strdup("");

    img_tell(&explore->out,
             "%u passed, %u impossible, %u void, %u failed, %u errors; %s%s",
             xpl_report_count(report, XPL_PASS),
             xpl_report_count(report, XPL_CANNOT),
             xpl_report_count(report, XPL_VOID), failed, errors, path, by);
    return failed + errors > 0 ? FAILED : OK;
}

/* The hash of @patterns (nullable), in their order. */
static char *hash_allowed(char *const *patterns)
{
    g_autofree char *text =
        patterns ? g_strjoinv("\n", (char **)patterns) : NULL;

    return text ? g_compute_checksum_for_string(G_CHECKSUM_SHA256, text, -1)
                : g_strdup("none");
}

/* Fills in what the results depend on, but for the times. False if that fails,
 * and the reason was printed. */
static bool fill_head(Session *session)
{
    XplHead *head = &session->head;
    g_autoptr(TopoErrors) errors = topo_errors_new();
    GError *error = NULL;

    head->boots = session->explore.boots;
    head->limit_ns = session->explore.limit_ns;
    head->allow = hash_allowed(session->explore.allow);
    head->description = g_strdup(session->description->hash);
    head->script = img_hash_file(session->script, &error);
    if (head->script && img_hash(session->plan, &session->explore.notes,
                                 &head->files, errors, &error)) {
        return true;
    }
    if (error) {
        fail(session, error);
    } else {
        xpl_refuse(&session->explore, errors);
    }
    return false;
}

static int run_seeds(Session *session)
{
    const XplOptions *options = session->options;
    g_autofree char *path = g_build_filename(session->out, "report.csv", NULL);
    g_autoptr(XplReport) report = NULL;
    bool is_old = options->resume && g_file_test(path, G_FILE_TEST_EXISTS);
    GError *error = NULL;
    int got, status;

    if (!fill_head(session)) {
        return USAGE;
    }
    if (!is_old && !g_file_test(path, G_FILE_TEST_EXISTS)) {
        status = measure(session);
        if (status != OK) {
            return status;
        }
    }
    report = is_old ? xpl_report_resume(path, &session->head, &error)
                    : xpl_report_new(path, &session->head, &error);
    if (!report) {
        return fail(session, error);
    }
    got = xpl_seeds(&(XplSeeds){.explore = &session->explore,
                                .report = report,
                                .head = &session->head,
                                .out = session->out,
                                .only = session->only,
                                .from = (uint64_t)options->from,
                                .count = (uint64_t)options->seeds,
                                .jobs = (unsigned)options->jobs,
                                .shrink_runs = (unsigned)options->shrink_runs,
                                .keep = options->keep},
                    &error);
    if (error) {
        return fail(session, error);
    }
    if (has_failure(session)) {
        return FAILED;
    }
    status = summarize(&session->explore, report, path);
    return got ? ended_by(got) : status;
}

int xpl_session_run(const XplOptions *options, const char *file,
                    const XplTeller *teller, GError **error)
{
    g_auto(Session) session = {
        .options = options,
        .explore = {.verb = teller->verb,
                    .out = teller->out,
                    .notes = teller->notes},
    };

    g_mutex_init(&session.explore.lock);
    if (!check_options(options, &session.explore, error) ||
        !parse_allowed(options->allow, &session.explore, error) ||
        !parse_only(options->only, &session, error) ||
        !parse_times(options->times, &session.head, error) ||
        !open_session(&session, file, error)) {
        return USAGE;
    }
    xpl_hold_signals();
    if (!xpl_machines_new(&session.explore.machines, error)) {
        return FAILED;
    }
    return options->schedule ? run_schedule(&session) : run_seeds(&session);
}
