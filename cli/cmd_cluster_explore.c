/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clu_branch.h"
#include "clu_error.h"
#include "clu_faults.h"
#include "clu_plan.h"
#include "cmd.h"
#include "cmd_cluster_common.h"
#include "cmd_explore_seeds.h"
#include "cmd_load.h"
#include "topo_home.h"
#include "topo_units.h"

#define JOBS_MOST     64
#define SEEDS_MOST    1000000000
#define SHRINK_MOST   10000
#define PATIENCE_MOST 86400
#define PS_PER_NS     1000

/* The options. */
typedef struct Options {
    char *script, *schedule, *out, *limit, *only, *times;
    char **sets, **allow;
    int64_t seeds, from;
    int jobs, shrink_runs, patience_s;
    gboolean resume, keep, boot;
} Options;

static void options_clear(Options *options)
{
    g_free(options->script);
    g_free(options->schedule);
    g_free(options->out);
    g_free(options->limit);
    g_free(options->only);
    g_free(options->times);
    g_strfreev(options->sets);
    g_strfreev(options->allow);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Options, options_clear)

/* All that a call has. */
typedef struct Session {
    Options *options;
    CmdExplore explore;
    GArray *only; /* of uint64_t: the seeds of --only; nullable */
    char *file, *script, *program, *invariants, *out;
    TopoDescription *description;
    CluPlan *plan;
    CmdExploreHead head;
} Session;

static void session_clear(Session *session)
{
    cmd_explore_end(&session->explore);
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
    cmd_explore_head_clear(&session->head);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Session, session_clear)

/* ---- The command line --------------------------------------------------- */

static bool check_range(const char *verb, const char *name, int64_t value,
                        int64_t least, int64_t most)
{
    if (value >= least && value <= most) {
        return true;
    }
    cmd_usage(verb, "%s is %" G_GINT64_FORMAT " to %" G_GINT64_FORMAT, name,
              least, most);
    return false;
}

static bool check_options(const char *verb, const Options *options,
                          CmdExplore *explore)
{
    g_autoptr(GError) error = NULL;
    int64_t ps;

    if (!options->script) {
        cmd_usage(verb, "--script is missing: the program that uses the "
                        "cluster and checks what must hold");
        return false;
    }
    if (options->schedule && options->resume) {
        cmd_usage(verb, "--schedule runs one schedule, and --resume goes on "
                        "with many; leave one out");
        return false;
    }
    if (!topo_units_parse(TOPO_UNIT_TIME, options->limit, &ps, &error)) {
        cmd_usage(verb, "--limit: %s", error->message);
        return false;
    }
    explore->limit_ns = ps / PS_PER_NS;
    explore->limit = options->limit;
    explore->allow = options->allow;
    explore->patience_s = options->patience_s;
    return check_range(verb, "--limit in ms", explore->limit_ns / 1000000, 1,
                       1000000) &&
           check_range(verb, "--seeds", options->seeds, 1, SEEDS_MOST) &&
           check_range(verb, "--from", options->from, 0, SEEDS_MOST) &&
           check_range(verb, "--jobs", options->jobs, 1, JOBS_MOST) &&
           check_range(verb, "--shrink-runs", options->shrink_runs, 0,
                       SHRINK_MOST) &&
           check_range(verb, "--patience", options->patience_s, 1,
                       PATIENCE_MOST);
}

static bool parse_allowed(const char *verb, char *const *patterns,
                          CmdExplore *explore)
{
    explore->allowed =
        g_ptr_array_new_with_free_func((GDestroyNotify)g_regex_unref);
    for (; patterns && *patterns; patterns++) {
        g_autoptr(GError) error = NULL;
        GRegex *regex = g_regex_new(*patterns, G_REGEX_RAW, 0, &error);

        if (!regex) {
            cmd_usage(verb, "--allow: %s", error->message);
            return false;
        }
        g_ptr_array_add(explore->allowed, regex);
    }
    return true;
}

static bool parse_only(const char *verb, const char *text, Session *session)
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
            cmd_usage(verb,
                      "--only: '%s' is no seed; write numbers of 0 to %d with "
                      "commas between them, such as 5,17",
                      word, SEEDS_MOST);
            return false;
        }
        g_array_append_val(session->only, seed);
        at += strlen(word);
    } while (*at++ == ',');
    return true;
}

/* Fills in the times of @head by @text (nullable), "BEGIN,END". */
static bool parse_times(const char *verb, const char *text,
                        CmdExploreHead *head)
{
    g_auto(GStrv) words = g_strsplit(text ? text : "", ",", -1);
    g_autoptr(GError) error = NULL;
    int64_t ps[2];

    if (!text) {
        return true;
    }
    if (g_strv_length(words) != 2) {
        cmd_usage(verb,
                  "--times: '%s' is no BEGIN,END; write two times, such as "
                  "1.5s,3s",
                  text);
        return false;
    }
    for (unsigned i = 0; i < 2; i++) {
        if (!topo_units_parse(TOPO_UNIT_TIME, words[i], &ps[i], &error)) {
            cmd_usage(verb, "--times: %s", error->message);
            return false;
        }
    }
    if (ps[0] < PS_PER_NS || ps[0] >= ps[1]) {
        cmd_usage(verb, "--times: %s; write a time above 0, and a later one",
                  text);
        return false;
    }
    head->begin_ns = ps[0] / PS_PER_NS;
    head->end_ns = ps[1] / PS_PER_NS;
    return true;
}

/* ---- Files -------------------------------------------------------------- */

/* Finds the script, which need not lie in a folder of $PATH. */
static bool find_script(Session *session, const char *verb)
{
    const char *word = session->options->script;
    g_autofree char *found = topo_home_resolve(word);

    session->script = realpath(found, NULL);
    if (!session->script || access(session->script, X_OK) != 0 ||
        !g_file_test(session->script, G_FILE_TEST_IS_REGULAR)) {
        cmd_usage(verb,
                  "--script: %s is no program that can be run; name one, "
                  "and make it executable",
                  word);
        return false;
    }
    return true;
}

/* A cluster of the description must be able to have faults, and has none. */
static bool check_description(Session *session, const char *verb)
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
        cmd_print_errors(verb, errors);
    }
    return topo_errors_count(errors) == 0;
}

/* A description of which there can be no checkpoint boots for each schedule. */
static bool must_boot(const Session *session, const char *verb)
{
    g_autoptr(TopoErrors) errors = topo_errors_new();
    g_autofree char *text = NULL;

    clu_branch_check(session->plan, errors);
    if (topo_errors_count(errors) > 0) {
        text = topo_errors_to_string(errors);
        fprintf(stderr,
                "farside %s: each schedule boots its machines, because there "
                "can be no checkpoint:\n%s",
                verb, text);
    }
    return topo_errors_count(errors) > 0;
}

static bool open_session(Session *session, const char *verb, const char *word)
{
    g_autofree char *found = topo_home_resolve(word);
    g_autoptr(TopoHome) home = topo_home_find();
    const Options *options = session->options;

    session->program = g_file_read_link("/proc/self/exe", NULL);
    session->invariants =
        home ? g_build_filename(home->data, "cluster", "explore",
                                "invariants.sh", NULL)
             : g_strdup("");
    if (!find_script(session, verb)) {
        return false;
    }
    session->description =
        cmd_load_with(verb, found, options->sets, CMD_LOAD_ANY);
    if (!session->description || !check_description(session, verb)) {
        return false;
    }
    session->file = realpath(found, NULL);
    session->out = options->out
                       ? g_canonicalize_filename(options->out, NULL)
                       : g_build_filename("results", "explore",
                                          session->description->name, NULL);
    session->explore.program = session->program;
    session->explore.invariants = session->invariants;
    session->explore.verb = verb;
    session->explore.file = session->file;
    session->explore.script = session->script;
    session->explore.sets = options->sets;
    session->explore.boots = options->boot || must_boot(session, verb);
    g_mutex_init(&session->explore.lock);
    session->explore.description = session->description;
    return true;
}

/* ---- One schedule ------------------------------------------------------- */

typedef struct One {
    Session *session;
    const GArray *schedule;
    const char *label, *dir;
    CmdExploreResult result;
} One;

static void run_one(void *owner)
{
    One *one = owner;
    g_autofree char *name =
        g_strdup_printf("explore-%d-%s", getpid(), one->label);

    cmd_explore_run(&one->session->explore, one->schedule, name, one->dir, NULL,
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
        fprintf(stderr, "farside %s: %s\n", session->explore.verb,
                session->explore.failure);
    }
    return session->explore.failure != NULL;
}

static void shrink_one(void *owner)
{
    One *one = owner;
    g_autofree char *name =
        g_strdup_printf("explore-%d-%s", getpid(), one->label);

    cmd_explore_shrink(&one->session->explore, one->schedule, &one->result,
                       name, one->dir,
                       (unsigned)one->session->options->shrink_runs);
}

static int run_schedule(Session *session, const char *verb)
{
    g_autofree char *dir = g_build_filename(session->out, "schedule", NULL);
    g_autoptr(TopoDescription) description = cmd_load_with(
        verb, session->options->schedule, session->options->sets, CMD_LOAD_ANY);
    g_autoptr(GArray) schedule =
        description ? exp_schedule_of(description) : NULL;
    g_autofree char *faults = schedule ? exp_schedule_to_text(schedule) : NULL;
    One one = {session, schedule, "schedule", dir, {.reason = NULL}};
    int got, status;

    if (!schedule) {
        return CMD_USAGE;
    }
    got = cmd_explore_watched(&session->explore, run_one, &one);
    if (has_failure(session)) {
        cmd_explore_result_clear(&one.result);
        return CMD_DIFFERENT;
    }
    if (!got) {
        cmd_explore_print_result(session->options->schedule, faults,
                                 &one.result);
        printf("  its output and consoles: %s\n", dir);
        fflush(stdout);
    }
    if (!got && one.result.verdict == CMD_EXPLORE_FAIL &&
        session->options->shrink_runs > 0) {
        got = cmd_explore_watched(&session->explore, shrink_one, &one);
    }
    status = one.result.verdict >= CMD_EXPLORE_ERROR ? CMD_DIFFERENT : CMD_OK;
    cmd_explore_result_clear(&one.result);
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
    int got = cmd_explore_watched(&session->explore, run_one, &one);
    int status = got ? ended_by(got) : CMD_OK;

    if (!session->options->times) {
        session->head.begin_ns = round_up(one.result.begin_ns, BEGIN_GRID);
        session->head.end_ns = round_up(one.result.end_ns, END_GRID);
    }
    if (has_failure(session)) {
        status = CMD_DIFFERENT;
    } else if (!got) {
        cmd_explore_print_result("no faults", "none", &one.result);
        if (one.result.verdict != CMD_EXPLORE_PASS) {
            fprintf(stderr,
                    "farside %s: the script must pass without faults; %s has "
                    "its output and consoles\n",
                    session->explore.verb, dir);
            status = CMD_DIFFERENT;
        }
    }
    cmd_explore_result_clear(&one.result);
    return status;
}

static int summarize(const CmdExploreReport *report, const char *path)
{
    unsigned failed = cmd_explore_report_count(report, CMD_EXPLORE_FAIL);
    unsigned errors = cmd_explore_report_count(report, CMD_EXPLORE_ERROR);
    unsigned builds = cmd_explore_report_builds(report);

    printf("%u passed, %u impossible, %u void, %u failed, %u errors; %s",
           cmd_explore_report_count(report, CMD_EXPLORE_PASS),
           cmd_explore_report_count(report, CMD_EXPLORE_CANNOT),
           cmd_explore_report_count(report, CMD_EXPLORE_VOID), failed, errors,
           path);
    if (builds > 1) {
        printf(" (by %u builds of farside or QEMU)", builds);
    }
    printf("\n");
    return failed + errors > 0 ? CMD_DIFFERENT : CMD_OK;
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
static bool fill_head(Session *session, const char *verb)
{
    CmdExploreHead *head = &session->head;
    g_autoptr(TopoErrors) errors = topo_errors_new();
    GError *error = NULL;

    head->boots = session->explore.boots;
    head->limit_ns = session->explore.limit_ns;
    head->allow = hash_allowed(session->explore.allow);
    head->description = g_strdup(session->description->hash);
    head->script = img_hash_file(session->script, &error);
    if (head->script &&
        img_hash(session->plan, &cmd_cluster_notes, &head->files, errors, &error)) {
        return true;
    }
    if (error) {
        cmd_cluster_fail(verb, error);
    } else {
        cmd_print_errors(verb, errors);
    }
    return false;
}

static int run_seeds(Session *session, const char *verb)
{
    const Options *options = session->options;
    g_autofree char *path = g_build_filename(session->out, "report.csv", NULL);
    g_autoptr(CmdExploreReport) report = NULL;
    bool is_old = options->resume && g_file_test(path, G_FILE_TEST_EXISTS);
    GError *error = NULL;
    int got, status;

    if (!fill_head(session, verb)) {
        return CMD_USAGE;
    }
    if (!is_old && !g_file_test(path, G_FILE_TEST_EXISTS)) {
        status = measure(session);
        if (status != CMD_OK) {
            return status;
        }
    }
    report = is_old ? cmd_explore_report_resume(path, &session->head, &error)
                    : cmd_explore_report_new(path, &session->head, &error);
    if (!report) {
        return cmd_cluster_fail(verb, error);
    }
    got = cmd_explore_seeds(
        &(CmdExploreSeeds){.explore = &session->explore,
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
        return cmd_cluster_fail(verb, error);
    }
    if (has_failure(session)) {
        return CMD_DIFFERENT;
    }
    status = summarize(report, path);
    return got ? ended_by(got) : status;
}

static int run(const CmdClusterVerb *verb, int argc, char **argv)
{
    g_auto(Options) options = {.seeds = 10,
                               .from = 1,
                               .jobs = 1,
                               .shrink_runs = 40,
                               .patience_s = 3600,
                               .limit = g_strdup("120s")};
    g_auto(Session) session = {.options = &options};
    g_auto(CmdClusterArgs) args = {.cluster = NULL};
    const GOptionEntry entries[] = {
        {"script", 0, 0, G_OPTION_ARG_FILENAME, &options.script,
         "The program that uses the cluster and checks what must hold",
         "SCRIPT"},
        {"seeds", 0, 0, G_OPTION_ARG_INT64, &options.seeds,
         "Number of schedules (10)", "N"},
        {"from", 0, 0, G_OPTION_ARG_INT64, &options.from, "The first seed (1)",
         "SEED"},
        {"only", 0, 0, G_OPTION_ARG_STRING, &options.only,
         "These seeds in place of --seeds and --from", "SEED,..."},
        {"times", 0, 0, G_OPTION_ARG_STRING, &options.times,
         "Faults with a time begin within these, not within the script's",
         "BEGIN,END"},
        {"schedule", 0, 0, G_OPTION_ARG_FILENAME, &options.schedule,
         "Run the faults of this file, and no others", "FILE"},
        {"out", 'o', 0, G_OPTION_ARG_FILENAME, &options.out,
         "Folder of the report (results/explore/NAME)", "DIR"},
        {"resume", 0, 0, G_OPTION_ARG_NONE, &options.resume,
         "Go on with the report that is there", NULL},
        {"jobs", 'j', 0, G_OPTION_ARG_INT, &options.jobs,
         "Clusters at the same time (1)", "N"},
        {"limit", 0, 0, G_OPTION_ARG_STRING, &options.limit,
         "Virtual time after which a script hangs (120s)", "TIME"},
        {"patience", 0, 0, G_OPTION_ARG_INT, &options.patience_s,
         "Seconds of real time that a schedule may take (3600)", "S"},
        {"shrink-runs", 0, 0, G_OPTION_ARG_INT, &options.shrink_runs,
         "Most runs to make a failure smaller (40); 0: do not", "N"},
        {"allow", 0, 0, G_OPTION_ARG_STRING_ARRAY, &options.allow,
         "Lines of a console that are no kernel's report; repeatable", "REGEX"},
        {"boot", 0, 0, G_OPTION_ARG_NONE, &options.boot,
         "Boot the machines for each schedule, with a log for `replay`", NULL},
        {"keep", 0, 0, G_OPTION_ARG_NONE, &options.keep,
         "Keep logs and consoles of schedules that pass", NULL},
        CMD_LOAD_SET(&options.sets),
        G_OPTION_ENTRY_NULL,
    };
    int status;

    if (!cmd_cluster_parse(verb, argc, argv, entries, &args, &status)) {
        return status;
    }
    if (!check_options(argv[0], &options, &session.explore) ||
        !parse_allowed(argv[0], options.allow, &session.explore) ||
        !parse_only(argv[0], options.only, &session) ||
        !parse_times(argv[0], options.times, &session.head) ||
        !open_session(&session, argv[0], args.words[0])) {
        return CMD_USAGE;
    }
    cmd_explore_hold_signals();
    return options.schedule ? run_schedule(&session, argv[0])
                            : run_seeds(&session, argv[0]);
}

const CmdClusterVerb cmd_cluster_explore = {
    .name = "explore",
    .summary = "look for a schedule of faults that a script does not survive",
    .synopsis = "FILE",
    .min_words = 1,
    .max_words = 1,
    .details =
        "Boots the machines of FILE once in virtual time. Draws a schedule of "
        "faults from each\nseed, makes a branch of the machines with these "
        "faults, and runs SCRIPT there. Then no\nkernel may have reported a "
        "fault of its own, and each host that was not switched\noff must "
        "answer. FILE has the sections of `cluster:` alone (hosts, links, "
        "lend,\nnetworks, parts).\n\n"
        "SCRIPT finds its cluster in the environment: FARSIDE_CLUSTER is the "
        "name for\n-c, FARSIDE the program, FARSIDE_SCHEDULE the file with the "
        "faults,\nFARSIDE_FAULTS_END the virtual time in ns at which the last "
        "timed one is over, and\nFARSIDE_INVARIANTS a file with functions for "
        "shell scripts. It ends with 0 if all\nholds, and with 77 if the faults "
        "have made its work impossible in a way that is\ndocumented. Its last "
        "line is the reason.\n\n"
        "Faults come between the begin and the end that the script has without "
        "faults. A\nschedule that fails is made smaller and simpler as long as "
        "it fails, and the\ncommand that runs it again is printed.\n\n"
        "Exit status: 0 none failed, 1 some failed or could not be run, 2 "
        "wrong usage or bad\ninput.",
    .run = run,
};
