/* SPDX-License-Identifier: MIT */
/*
 * Invariant: `farside run` simulates each point of any description that
 * `farside check` accepts, or it reports in words why the point cannot end.
 * Both never crash, and no point runs for ever.
 *
 * The program writes random descriptions with hosts, switches, NTBs, cables,
 * loans, networks, faults, every part of scenarios/parts, and flows of every
 * kind, which begin together, at a `start:`, or `after:` others. The seed of a
 * description is its number, so each can be repeated alone. As a test it takes
 * a fixed number of seeds from 1 on. `make fuzz-run` takes a million:
 *
 *   fuzz_run [--from SEED] [--count N] [--state FILE] [--print]
 *
 * FILE gets the next seed from time to time, and a new run begins there.
 * --print writes the descriptions to standard output and runs nothing.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <glib.h>
#include <glib/gstdio.h>

#include "exp_plan.h"
#include "exp_point.h"

#include "fuzz_gen.h"

#define TEST_SEEDS   300
#define SECONDS_MOST 60 /* for one description */
#define SAVE_EVERY   100

/* The numbers of descriptions, by what became of them. */
typedef struct Counts {
    unsigned long refused, ended, stuck;
} Counts;

static volatile sig_atomic_t seed_now;

static void on_alarm(int signal)
{
    static const char text[] = "fuzz_run: a description does not end; its seed "
                               "is the one that the last line names\n";
    ssize_t ignored = write(STDERR_FILENO, text, sizeof(text) - 1);

    (void)ignored;
    abort();
}

static void on_abort(int signal)
{
    char text[64];
    int length =
        g_snprintf(text, sizeof(text), "fuzz_run: seed %d\n", (int)seed_now);
    ssize_t ignored = write(STDERR_FILENO, text, (size_t)length);

    (void)ignored;
}

static bool fail(guint32 seed, const char *what, const char *message)
{
    printf("# seed %u: %s: %s\n", seed, what, message);
    return false;
}

/* Returns true if @message is a sentence for the user. */
static bool is_in_words(const char *message)
{
    return strlen(message) > 10 && strchr(message, ' ') &&
           !strstr(message, "(null)");
}

/* Checks and runs the description in @path. Returns false if it breaks the
 * invariant. */
static bool try_one(guint32 seed, const char *path, Counts *counts)
{
    g_autoptr(TopoErrors) errors = topo_errors_new();
    g_autoptr(TopoDescription) description = topo_load(path, NULL, errors);
    g_autoptr(GError) error = NULL;
    g_autoptr(Table) table = NULL;
    ExpPlanOptions options = {.threads = 1};

    if (!description) {
        g_autofree char *text = topo_errors_to_string(errors);

        counts->refused++;
        return is_in_words(text) || fail(seed, "check", text);
    }
    if (!exp_plan_check(description, &error)) {
        counts->refused++;
        return is_in_words(error->message) ||
               fail(seed, "check", error->message);
    }
    table = exp_plan_run(description, &options, NULL, &error);
    if (table) {
        counts->ended++;
        return true;
    }
    counts->stuck++;
    /* The points are made by the same functions as in the check, so only the
     * simulation itself can fail now. */
    if (!strstr(error->message, "stuck")) {
        return fail(seed, "accepted by check, refused by run", error->message);
    }
    return is_in_words(error->message) || fail(seed, "run", error->message);
}

typedef struct Options {
    gint64 from, count;
    char *state;
    gboolean print;
} Options;

static gint64 read_state(const Options *options)
{
    g_autofree char *text = NULL;
    guint64 seed;

    if (options->state &&
        g_file_get_contents(options->state, &text, NULL, NULL) &&
        g_ascii_string_to_unsigned(g_strstrip(text), 10, 1, G_MAXUINT32, &seed,
                                   NULL)) {
        return (gint64)seed;
    }
    return options->from;
}

static void write_state(const Options *options, gint64 next)
{
    if (options->state) {
        g_autofree char *text = g_strdup_printf("%" G_GINT64_FORMAT "\n", next);

        g_file_set_contents(options->state, text, -1, NULL);
    }
}

static bool run_all(const Options *options, const char *path)
{
    gint64 end = options->from + options->count;
    Counts counts = {0};

    for (gint64 i = read_state(options); i < end; i++) {
        g_autofree char *text = gen_description((guint32)i);

        seed_now = (sig_atomic_t)i;
        if (options->print) {
            fputs(text, stdout);
            continue;
        }
        if (!g_file_set_contents(path, text, -1, NULL)) {
            return fail((guint32)i, "cannot write", path);
        }
        alarm(SECONDS_MOST);
        if (!try_one((guint32)i, path, &counts)) {
            return false;
        }
        alarm(0);
        if ((i + 1) % SAVE_EVERY == 0 || i + 1 == end) {
            write_state(options, i + 1);
        }
    }
    printf("# %lu refused by check, %lu ended, %lu reported as stuck\n",
           counts.refused, counts.ended, counts.stuck);
    /* If nearly all descriptions were refused, this would test nothing. */
    return options->print || options->count < TEST_SEEDS ||
           counts.ended + counts.stuck > counts.refused / 3 ||
           fail(0, "too few descriptions are accepted", "");
}

int main(int argc, char **argv)
{
    Options options = {.from = 1, .count = TEST_SEEDS};
    const GOptionEntry entries[] = {
        {"from", 0, 0, G_OPTION_ARG_INT64, &options.from, "First seed", "SEED"},
        {"count", 0, 0, G_OPTION_ARG_INT64, &options.count,
         "Number of descriptions", "N"},
        {"state", 0, 0, G_OPTION_ARG_FILENAME, &options.state,
         "Go on at the seed in FILE", "FILE"},
        {"print", 0, 0, G_OPTION_ARG_NONE, &options.print,
         "Print the descriptions", NULL},
        G_OPTION_ENTRY_NULL,
    };
    g_autoptr(GOptionContext) context = g_option_context_new(NULL);
    g_autofree char *folder = g_dir_make_tmp("fuzz-run-XXXXXX", NULL);
    g_autofree char *path = g_build_filename(folder, "random.yaml", NULL);
    bool is_good;

    g_option_context_add_main_entries(context, entries, NULL);
    if (!g_option_context_parse(context, &argc, &argv, NULL)) {
        return 2;
    }
    signal(SIGALRM, on_alarm);
    signal(SIGABRT, on_abort);
    is_good = run_all(&options, path);
    if (!options.print) {
        printf(
            "%s 1 - what check accepts, run ends or reports in words\n1..1\n",
            is_good ? "ok" : "not ok");
    }
    g_unlink(path);
    g_rmdir(folder);
    return is_good ? 0 : 1;
}
