/* SPDX-License-Identifier: MIT */
/*
 * Invariant: `farside run` simulates each point of any description that
 * `farside check` accepts, or it reports in words why the point cannot end.
 * Both never crash, and no point runs for ever.
 *
 * The program writes random descriptions with hosts, switches, NTBs, cables,
 * loans, networks, faults, every part of scenarios/parts, and flows of every
 * kind, with every key of it. The seed of a description is its number, so each
 * can be repeated alone. As a test it takes a fixed number of seeds from 1 on.
 * `make fuzz-run` takes a million:
 *
 *   fuzz_run [--from SEED] [--count N] [--state FILE] [--print]
 *
 * FILE gets the next seed and the counts from time to time, and a new run goes
 * on there.
 * --print writes the descriptions to standard output and runs nothing.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include <glib.h>

#include "exp_plan.h"
#include "exp_point.h"

#include "../../topology/topo_flow_priv.h"

#include "fuzz_gen.h"

#define PARTS        TOPO_SOURCE_ROOT "/scenarios/parts"
#define TEST_SEEDS   300
#define SECONDS_MOST 60 /* of the processor, for one description */
#define SAVE_EVERY   1000
#define CHECK_EVERY  8 /* of these the check comes before the run */
#define KEY_SEEDS    3000

/* The numbers of descriptions, by what became of them. */
typedef struct Counts {
    unsigned long refused, ended, stuck;
} Counts;

static volatile sig_atomic_t seed_now;

static void on_time(int signal)
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

/* Lets SIGPROF come when the process has used so much time of the processor,
 * however busy the machine is; 0: never. */
static void set_time(int seconds)
{
    const struct itimerval timer = {.it_value = {seconds, 0}};

    setitimer(ITIMER_PROF, &timer, NULL);
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

/* Counts a description that was refused with @message. */
static bool refuse(guint32 seed, const char *message, Counts *counts)
{
    counts->refused++;
    return is_in_words(message) || fail(seed, "check", message);
}

/* Returns the errors of `farside check`; NULL if there are none. The caller
 * frees the text. */
static char *check(const TopoDescription *description)
{
    g_autoptr(TopoErrors) errors = topo_errors_new();

    exp_plan_check(description, errors);
    return topo_errors_count(errors) > 0 ? topo_errors_to_string(errors) : NULL;
}

/* Checks and runs the description @text. Returns false if it breaks the
 * invariant. */
static bool try_one(guint32 seed, const char *text, TopoSources *sources,
                    Counts *counts)
{
    g_autoptr(TopoErrors) errors = topo_errors_new();
    g_autoptr(TopoDescription) description = topo_load_shared(
        "random.yaml", text, strlen(text), PARTS, sources, NULL, errors);
    g_autoptr(GError) error = NULL;
    g_autofree char *refusal = NULL;
    g_autoptr(Table) table = NULL;
    ExpPlanOptions options = {.threads = 1};

    if (!description) {
        g_autofree char *words = topo_errors_to_string(errors);

        return refuse(seed, words, counts);
    }
    if (seed % CHECK_EVERY == 0 && (refusal = check(description))) {
        return refuse(seed, refusal, counts);
    }
    table = exp_plan_run(description, &options, NULL, &error);
    if (table) {
        counts->ended++;
        return true;
    }
    if (strstr(error->message, "stuck")) {
        counts->stuck++;
        return is_in_words(error->message) || fail(seed, "run", error->message);
    }
    /* A run makes the points by the same functions as the check, so what it
     * refuses the check refuses, too. */
    refusal = check(description);
    if (!refusal) {
        return fail(seed, "accepted by check, refused by run", error->message);
    }
    return refuse(seed, refusal, counts);
}

typedef struct Options {
    gint64 from, count;
    char *state;
    gboolean print;
} Options;

/* Returns the next seed; @ret_counts gets those of earlier runs. */
static gint64 read_state(const Options *options, Counts *ret_counts)
{
    g_autofree char *text = NULL;
    long seed;
    Counts counts;

    if (options->state &&
        g_file_get_contents(options->state, &text, NULL, NULL) &&
        sscanf(text, "next %ld refused %lu ended %lu stuck %lu", &seed,
               &counts.refused, &counts.ended, &counts.stuck) == 4) {
        *ret_counts = counts;
        return seed;
    }
    return options->from;
}

static void write_state(const Options *options, gint64 next,
                        const Counts *counts)
{
    if (options->state) {
        g_autofree char *text = g_strdup_printf(
            "next %" G_GINT64_FORMAT " refused %lu ended %lu stuck %lu\n", next,
            counts->refused, counts->ended, counts->stuck);

        g_file_set_contents(options->state, text, -1, NULL);
    }
}

static bool run_all(const Options *options)
{
    g_autoptr(TopoSources) sources = topo_sources_new();
    gint64 end = options->from + options->count;
    Counts counts = {0};

    for (gint64 i = read_state(options, &counts); i < end; i++) {
        g_autofree char *text = gen_description((guint32)i);

        seed_now = (sig_atomic_t)i;
        if (options->print) {
            fputs(text, stdout);
            continue;
        }
        set_time(SECONDS_MOST);
        if (!try_one((guint32)i, text, sources, &counts)) {
            return false;
        }
        set_time(0);
        if ((i + 1) % SAVE_EVERY == 0 || i + 1 == end) {
            write_state(options, i + 1, &counts);
        }
    }
    printf("# %lu refused by check, %lu ended, %lu reported as stuck\n",
           counts.refused, counts.ended, counts.stuck);
    /* If nearly all descriptions were refused, this would test nothing. */
    return options->print || options->count < TEST_SEEDS ||
           counts.ended + counts.stuck > counts.refused ||
           fail(0, "too few descriptions are accepted", "");
}

/* Adds to @seen the keys of the flows of @text, as "KIND KEY". */
static void see_keys(const char *text, GHashTable *seen)
{
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);

    for (unsigned i = 0; lines[i]; i++) {
        const char *kind = strstr(lines[i], "{name: f");

        kind = kind ? strstr(kind, "kind: ") : NULL;
        if (kind) {
            g_autofree char *name = g_strndup(kind + 6, strcspn(kind + 6, ","));
            g_auto(GStrv) words = g_strsplit_set(lines[i], " {", -1);

            for (unsigned j = 0; words[j]; j++) {
                if (g_str_has_suffix(words[j], ":")) {
                    words[j][strlen(words[j]) - 1] = '\0';
                    g_hash_table_add(seen,
                                     g_strdup_printf("%s %s", name, words[j]));
                }
            }
        }
    }
}

/* Returns true if descriptions have every key of every kind of flow. There is
 * fuzz_replay for replays, and a path never waits. */
static bool has_all_keys(void)
{
    g_autoptr(GHashTable) seen =
        g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    bool is_good = true;

    for (guint32 i = 1; i <= KEY_SEEDS; i++) {
        g_autofree char *text = gen_description(i);

        see_keys(text, seen);
    }
    for (unsigned i = 0; i < topo_flow_n_kinds; i++) {
        const TopoFlowKind *kind = &topo_flow_kinds[i];

        for (unsigned j = 0; j < kind->section.n_keys; j++) {
            g_autofree char *key =
                g_strdup_printf("%s %s", kind->name, kind->section.keys[j].key);

            if (!g_str_equal(kind->name, "replay") &&
                !g_str_equal(key, "path after") &&
                !g_hash_table_contains(seen, key)) {
                printf("# no description has the key of flows %s\n", key);
                is_good = false;
            }
        }
    }
    return is_good;
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
    bool is_good, has_keys;

    g_option_context_add_main_entries(context, entries, NULL);
    if (!g_option_context_parse(context, &argc, &argv, NULL)) {
        return 2;
    }
    signal(SIGPROF, on_time);
    signal(SIGABRT, on_abort);
    is_good = run_all(&options);
    if (!options.print) {
        printf("%s 1 - what check accepts, run ends or reports in words\n",
               is_good ? "ok" : "not ok");
        has_keys = has_all_keys();
        printf("%s 2 - descriptions have every key of flows\n1..2\n",
               has_keys ? "ok" : "not ok");
        is_good = is_good && has_keys;
    }
    return is_good ? 0 : 1;
}
