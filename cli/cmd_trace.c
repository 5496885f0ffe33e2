/* SPDX-License-Identifier: MIT */
#include "cmd.h"

#include <stdio.h>

#include "exp_timeline_write.h"
#include "table_csv.h"
#include "topo_units.h"
#include "trc_file.h"
#include "trc_view.h"

typedef struct Options {
    char *link;
    char *kinds;
    char *from;
    char *to;
    gboolean is_summary;
    char *csv;
    char *timeline;
    char *model;
    char **ftraces;
    gboolean is_create;
    char *names;
    char *snaplen;
    TrcFilter filter; /* made from the first four options */
} Options;

static void options_done(Options *options)
{
    trc_filter_clear(&options->filter);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Options, options_done)

/* Parses a time into whole nanoseconds, rounded down. */
static bool parse_time(const char *option, const char *text, int64_t *ret_ns,
                       GError **error)
{
    int64_t ps;

    if (text == NULL) {
        return true;
    }
    if (!topo_units_parse(TOPO_UNIT_TIME, text, &ps, error)) {
        g_prefix_error(error, "%s %s: ", option, text);
        return false;
    }
    *ret_ns = ps / 1000;
    return true;
}

static bool make_filter(Options *options, GError **error)
{
    TrcFilter *filter = &options->filter;

    trc_filter_init(filter);
    if (options->link != NULL) {
        trc_filter_set_link(filter, options->link);
    }
    if (options->kinds != NULL &&
        !trc_filter_set_kinds(filter, options->kinds, error)) {
        g_prefix_error(error, "--kind: ");
        return false;
    }
    return parse_time("--from", options->from, &filter->from_ns, error) &&
           parse_time("--to", options->to, &filter->to_ns, error);
}

static void print_line(const TrcView *view, const TrcCrossing *crossing,
                       int64_t since_ns, void *data)
{
    g_autofree char *line = trc_view_line(view, crossing, since_ns);

    puts(line);
}

static int show(const Options *options, GPtrArray *files)
{
    g_autoptr(TrcView) view = trc_view_new((TrcFile *const *)files->pdata,
                                           files->len, &options->filter);
    g_autoptr(Table) table = NULL;
    GError *error = NULL;

    if (options->is_summary) {
        table = trc_view_summary(view);
    } else if (options->csv != NULL) {
        table = trc_view_table(view);
    } else {
        trc_view_each(view, print_line, NULL);
        return CMD_OK;
    }
    if (options->csv == NULL) {
        cmd_print_table(table);
    } else if (!table_write(table, options->csv, &error)) {
        cmd_complain("trace", error);
        return CMD_DIFFERENT;
    }
    return CMD_OK;
}

/* Reports missing packets, packets that were left out, and damage of the files,
 * after the other output. Returns the exit status. */
static int tell_of_losses(GPtrArray *files, char **paths)
{
    int status = CMD_OK;

    fflush(stdout);
    for (unsigned i = 0; i < files->len; i++) {
        const TrcFile *file = files->pdata[i];
        g_autoptr(GString) text = g_string_new(NULL);

        trc_file_append_losses(text, file, paths[i], "farside trace: ");
        fputs(text->str, stderr);
        if (trc_file_damage(file) != NULL) {
            cmd_complain("trace", g_error_copy(trc_file_damage(file)));
            status = CMD_USAGE;
        }
    }
    return status;
}

static int create(const Options *options, char **paths)
{
    g_auto(GStrv) names = g_strsplit(
        options->names != NULL ? options->names : "end0:link,end1:link", ",",
        -1);
    GError *error = NULL;
    int64_t snaplen = 0;

    if (g_strv_length(names) != TRC_ENDS || paths[0] == NULL ||
        paths[1] != NULL) {
        return cmd_usage("trace",
                         "--create takes one FILE, and --names two names");
    }
    if (options->snaplen != NULL &&
        (!topo_units_parse(TOPO_UNIT_BYTES, options->snaplen, &snaplen,
                           &error) ||
         snaplen < TRC_SNAPLEN_MIN || snaplen > UINT32_MAX)) {
        g_clear_error(&error);
        return cmd_usage("trace",
                         "--snaplen %s: give a size from %dB on, below 4GiB",
                         options->snaplen, TRC_SNAPLEN_MIN);
    }
    if (!trc_file_create(paths[0], (const char *const *)names,
                         (uint32_t)snaplen, &error)) {
        cmd_complain("trace", error);
        return CMD_DIFFERENT;
    }
    return CMD_OK;
}

static int write_timeline(Options *options, char **paths)
{
    const ExpTimelineFile timeline = {
        .path = options->timeline,
        .model = options->model,
        .ftraces = options->ftraces,
        .trace = paths[0],
        .filter = &options->filter,
    };
    GError *error = NULL;

    if (paths[1] != NULL) {
        return cmd_usage("trace", "--timeline takes one FILE");
    }
    if (!make_filter(options, &error) ||
        !exp_timeline_write(&timeline, &error)) {
        return cmd_complain("trace", error);
    }
    return CMD_OK;
}

static int read_and_show(Options *options, char **paths)
{
    g_autoptr(GPtrArray) files =
        g_ptr_array_new_with_free_func((GDestroyNotify)trc_file_free);
    GError *error = NULL;
    int status;

    if (!make_filter(options, &error)) {
        return cmd_complain("trace", error);
    }
    for (unsigned i = 0; paths[i] != NULL; i++) {
        TrcFile *file = trc_file_read(paths[i], &error);

        if (file == NULL) {
            return cmd_complain("trace", error);
        }
        g_ptr_array_add(files, file);
    }
    status = show(options, files);
    return MAX(status, tell_of_losses(files, paths));
}

static int run_verb(const CmdVerb *verb, int argc, char **argv)
{
    g_auto(Options) options = {0};
    const GOptionEntry entries[] = {
        {"link", 'l', 0, G_OPTION_ARG_STRING, &options.link,
         "Only packets of this link, host or end", "NAME"},
        {"kind", 'k', 0, G_OPTION_ARG_STRING, &options.kinds,
         "Only packets of these kinds", "KIND,..."},
        {"from", 0, 0, G_OPTION_ARG_STRING, &options.from,
         "Only packets from this time on", "TIME"},
        {"to", 0, 0, G_OPTION_ARG_STRING, &options.to,
         "Only packets up to this time", "TIME"},
        {"summary", 's', 0, G_OPTION_ARG_NONE, &options.is_summary,
         "Sum up: counts, bytes and latencies by direction and kind", NULL},
        {"csv", 0, 0, G_OPTION_ARG_FILENAME, &options.csv,
         "Write a table to FILE instead of printing", "FILE"},
        {"timeline", 0, 0, G_OPTION_ARG_FILENAME, &options.timeline,
         "Write a timeline of a timed cluster to JSON, for Perfetto", "JSON"},
        {"model", 0, 0, G_OPTION_ARG_FILENAME, &options.model,
         "With --timeline: the cluster's description; adds the model's links",
         "DESCRIPTION"},
        {"ftrace", 0, 0, G_OPTION_ARG_STRING_ARRAY, &options.ftraces,
         "With --timeline: events of a guest's kernel; repeatable",
         "HOST=FILE"},
        {"create", 0, 0, G_OPTION_ARG_NONE, &options.is_create,
         "Make an empty FILE for devices to write to", NULL},
        {"names", 0, 0, G_OPTION_ARG_STRING, &options.names,
         "With --create: the names of the ends of partition 0 and 1",
         "END,END"},
        {"snaplen", 0, 0, G_OPTION_ARG_STRING, &options.snaplen,
         "With --create: keep at most this much of a packet", "SIZE"},
        G_OPTION_ENTRY_NULL,
    };
    g_auto(CmdArgs) args = {.words = NULL};
    int status;

    if (!cmd_parse(verb, argc, argv, entries, &args, &status)) {
        return status;
    }
    if (options.timeline == NULL &&
        (options.model != NULL || options.ftraces != NULL)) {
        return cmd_usage("trace", "--model and --ftrace need --timeline");
    }
    if (options.timeline != NULL) {
        return write_timeline(&options, args.words);
    }
    return options.is_create ? create(&options, args.words)
                             : read_and_show(&options, args.words);
}

const CmdVerb cmd_trace = {
    .name = "trace",
    .summary = "print the packets on the links of emulated hosts",
    .synopsis = "FILE...",
    .words = {1, CMD_ANY_NUMBER},
    .run = run_verb};
