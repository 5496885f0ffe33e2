/* SPDX-License-Identifier: MIT */
#include "ntt_session.h"

#include <string.h>
#include <unistd.h>

#include "clu_error.h"
#include "ntt_report.h"
#include "ntt_run.h"
#include "table_file.h"
#include "table_format.h"
#include "topo_home.h"
#include "xpl_signals.h"

#define JOBS_MOST   64
#define DEBUG_SLOW  3 /* the debug kernel is so much slower */
#define OUT_DEFAULT "results/ntb-test"

/* Clients that run one after the other in one cluster */
typedef struct Job {
    const NttSubject *subject;
    GPtrArray *clients; /* of NttClient */
    char *name;         /* of the cluster; owned */
} Job;

typedef struct Session {
    const NttOptions *options;
    const ImgNotes *out, *notes;
    NttKernel kernel;
    NttBench bench;
    GPtrArray *subjects; /* of NttSubject */
    GPtrArray *jobs;     /* of Job */
    guint next;          /* of `jobs`; guarded by `lock`, as `results` */
    GPtrArray *results;  /* of NttResult */
    GMutex lock;
    gint running; /* threads; atomic */
    char *program, *clients, *folder;
} Session;

static void job_free(void *data)
{
    Job *job = data;

    g_ptr_array_unref(job->clients);
    g_free(job->name);
    g_free(job);
}

static void session_init(Session *session, const NttOptions *options,
                         const ImgNotes *out, const ImgNotes *notes)
{
    *session = (Session){.options = options, .out = out, .notes = notes};
    session->subjects =
        g_ptr_array_new_with_free_func((GDestroyNotify)ntt_subject_free);
    session->jobs = g_ptr_array_new_with_free_func(job_free);
    session->results =
        g_ptr_array_new_with_free_func((GDestroyNotify)ntt_result_free);
    g_mutex_init(&session->lock);
}

static void session_clear(Session *session)
{
    g_ptr_array_unref(session->jobs);
    g_ptr_array_unref(session->results);
    g_ptr_array_unref(session->subjects);
    g_mutex_clear(&session->lock);
    ntt_kernel_clear(&session->kernel);
    g_free(session->program);
    g_free(session->clients);
    g_free(session->folder);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Session, session_clear)

/* ---- The selection ------------------------------------------------------ */

/* True if @words (nullable) is empty or has @name. */
static bool is_chosen(char *const *words, const char *name)
{
    return !words || g_strv_contains((const char *const *)words, name);
}

/* Refuses a chip or a client that does not exist. */
static bool check_names(const NttOptions *options, GError **error)
{
    for (char **word = options->chips; word && *word; word++) {
        if (!ntt_chip_find(*word)) {
            return topo_refuse_option(
                error, "--chip: there is no chip '%s'; --list has all", *word);
        }
    }
    for (char **word = options->clients; word && *word; word++) {
        if (!ntt_client_find(*word)) {
            return topo_refuse_option(
                error, "--client: there is no client '%s'; --list has all",
                *word);
        }
    }
    return (options->jobs >= 0 && options->jobs <= JOBS_MOST) ||
           topo_refuse_option(error, "--jobs is 1 to " G_STRINGIFY(JOBS_MOST));
}

/* Leaves the pairs of --pair in @subject. */
static void choose_pairs(NttSubject *subject, char *const *words)
{
    for (unsigned i = subject->pairs->len; words && i-- > 0;) {
        const NttPair *pair = subject->pairs->pdata[i];
        g_autofree char *word = g_strconcat(pair->from, ":", pair->to, NULL);

        if (!is_chosen(words, word)) {
            g_ptr_array_remove_index(subject->pairs, i);
        }
    }
}

static bool load_subjects(Session *session, GError **error)
{
    const NttOptions *options = session->options;

    for (const NttChip *chip = ntt_chips; chip->name; chip++) {
        NttSubject *subject;

        if (!is_chosen(options->chips, chip->name)) {
            continue;
        }
        subject = ntt_subject_new(chip, &session->kernel, error);
        if (!subject) {
            return false;
        }
        g_ptr_array_add(session->subjects, subject);
        choose_pairs(subject, options->pairs);
    }
    for (char **word = options->pairs; word && *word; word++) {
        bool is_there = false;

        for (unsigned i = 0; i < session->subjects->len; i++) {
            const NttSubject *subject = session->subjects->pdata[i];

            for (unsigned k = 0; k < subject->pairs->len; k++) {
                const NttPair *pair = subject->pairs->pdata[k];
                g_autofree char *its =
                    g_strconcat(pair->from, ":", pair->to, NULL);

                is_there |= strcmp(its, *word) == 0;
            }
        }
        if (!is_there) {
            return topo_refuse_option(error,
                                      "--pair: no chosen chip has the hosts "
                                      "'%s'; write FROM:TO, such as a:b",
                                      *word);
        }
    }
    return true;
}

static void add_job(Session *session, const NttSubject *subject,
                    GPtrArray *clients)
{
    Job *job = g_new0(Job, 1);

    job->subject = subject;
    job->clients = clients;
    job->name = g_strdup_printf("ntb-test-%d-%u", getpid(), session->jobs->len);
    g_ptr_array_add(session->jobs, job);
}

/* Long clients come first, since they decide when all is done. */
static void make_jobs(Session *session)
{
    for (unsigned pass = 0; pass < 2; pass++) {
        for (unsigned i = 0; i < session->subjects->len; i++) {
            const NttSubject *subject = session->subjects->pdata[i];
            GPtrArray *clients = g_ptr_array_new();

            for (const NttClient *client = ntt_clients; client->name;
                 client++) {
                if (client->is_long == (pass == 0) &&
                    is_chosen(session->options->clients, client->name)) {
                    g_ptr_array_add(clients, (void *)client);
                }
            }
            if (clients->len > 0 && subject->pairs->len > 0) {
                add_job(session, subject, clients);
            } else {
                g_ptr_array_unref(clients);
            }
        }
    }
}

/* ---- The run ------------------------------------------------------------ */

static void on_result(void *owner, NttResult *result)
{
    Session *session = owner;
    const NttPlace *place = &result->place;

    g_mutex_lock(&session->lock);
    img_tell(session->out, "%-9s %-8s %s to %s: %s %s", place->chip->name,
             place->client->name, place->from, place->to, result->step,
             result->verdict == NTT_OK ? "ok"
                                       : ntt_verdict_name(result->verdict));
    g_ptr_array_add(session->results, result);
    g_mutex_unlock(&session->lock);
}

static gpointer work(gpointer data)
{
    Session *session = data;

    for (;;) {
        const Job *job;

        g_mutex_lock(&session->lock);
        job = session->next < session->jobs->len
                  ? session->jobs->pdata[session->next++]
                  : NULL;
        g_mutex_unlock(&session->lock);
        if (!job) {
            break;
        }
        ntt_run(&session->bench, job->subject, job->clients, job->name);
    }
    g_atomic_int_add(&session->running, -1);
    return NULL;
}

/* Runs all jobs. Returns the signal by which the user has ended them, or 0. */
static int run_jobs(Session *session, unsigned count)
{
    g_autoptr(GPtrArray) threads = g_ptr_array_new();
    int got;

    xpl_hold_signals();
    session->running = (gint)count;
    for (unsigned i = 0; i < count; i++) {
        g_ptr_array_add(threads, g_thread_new("ntb-test", work, session));
    }
    got = xpl_watch_signals(&session->running, &session->bench.is_stopped,
                            session->notes, "ntb-test");
    for (unsigned i = 0; i < threads->len; i++) {
        g_thread_join(threads->pdata[i]);
    }
    return got;
}

/* Results are in the order of the tables, however the threads ran. */
static gint compare_results(gconstpointer a, gconstpointer b)
{
    const NttResult *one = *(NttResult *const *)a;
    const NttResult *two = *(NttResult *const *)b;

    if (one->place.chip != two->place.chip) {
        return one->place.chip < two->place.chip ? -1 : 1;
    }
    if (one->place.client != two->place.client) {
        return one->place.client < two->place.client ? -1 : 1;
    }
    return 0;
}

static bool report(Session *session, GError **error)
{
    g_autoptr(Table) table = NULL;
    g_autofree char *text = NULL;
    g_autofree char *more = NULL;
    g_autofree char *xml = NULL;

    g_ptr_array_sort(session->results, compare_results);
    table = ntt_report_table(session->results);
    text = table_format(table);
    more = ntt_report_text(session->results);
    img_tell(session->out, "\n%s\n%s", text, more);
    if (!session->options->junit) {
        return true;
    }
    xml = ntt_report_junit(session->results);
    return table_file_write(session->options->junit, xml, strlen(xml), error);
}

static void prepare_bench(Session *session, const TopoHome *home)
{
    const NttOptions *options = session->options;

    session->program = g_file_read_link("/proc/self/exe", NULL);
    session->clients = g_build_filename(home->data, "ntbtest", "clients", NULL);
    session->folder = g_canonicalize_filename(
        options->out ? options->out : OUT_DEFAULT, NULL);
    session->bench = (NttBench){.program = session->program,
                                .clients = session->clients,
                                .out = session->folder,
                                .kernel = &session->kernel,
                                .slow = options->kernel.debug ? DEBUG_SLOW : 1,
                                .got = on_result,
                                .owner = session};
}

int ntt_session_run(const NttOptions *options, const ImgNotes *out,
                    const ImgNotes *notes, GError **error)
{
    g_auto(Session) session;
    g_autoptr(TopoHome) home = topo_home_find();
    unsigned jobs;
    int got;

    session_init(&session, options, out, notes);
    if (!ntt_kernel_find(&options->kernel, notes, &session.kernel, error) ||
        !check_names(options, error)) {
        return 1;
    }
    if (!home) {
        g_set_error(error, CLU_ERROR, CLU_ERROR_USAGE,
                    "the files of Farside are not found; install it again");
        return 1;
    }
    if (!load_subjects(&session, error) ||
        !ntt_kernel_make(&session.kernel, notes, error)) {
        return 1;
    }
    prepare_bench(&session, home);
    make_jobs(&session);
    /* Most clusters have two hosts. */
    jobs = options->jobs ? (unsigned)options->jobs
                         : MAX(g_get_num_processors() / 2, 1);
    got = run_jobs(&session, MIN(jobs, MAX(session.jobs->len, 1)));
    if (!report(&session, error)) {
        return 1;
    }
    if (got) {
        return 128 + got;
    }
    return ntt_report_count(session.results, NTT_FAULT) > 0;
}

void ntt_session_list(const ImgNotes *out)
{
    img_tell(out, "chips");
    for (const NttChip *chip = ntt_chips; chip->name; chip++) {
        img_tell(out, "  %-12s %s", chip->name, chip->scenario);
    }
    img_tell(out, "\nclients");
    for (const NttClient *client = ntt_clients; client->name; client++) {
        img_tell(out, "  %-12s %s", client->name, client->summary);
    }
    img_tell(out, "\nexpected not to work");
    for (const NttExpected *expected = ntt_expected; expected->name;
         expected++) {
        img_tell(out, "  %-12s %-8s %s: %s (%s, %s)", expected->chip,
                 expected->client, expected->step, expected->reason,
                 expected->kind == NTT_CANNOT ? "cannot" : "defect",
                 expected->name);
    }
}
