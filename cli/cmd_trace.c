/* SPDX-License-Identifier: MIT */
#include "cmd.h"

#include <stdio.h>

#include "exp_timeline_write.h"
#include "exp_trace_words.h"
#include "trc_show.h"

typedef struct Options {
    ExpTraceWords words;
    ExpTimelineFile timeline;
    ExpTraceFile fresh;
    TrcShow show;
    gboolean is_create;
} Options;

static int show(const Options *options, const TrcFilter *filter, char **paths)
{
    g_autoptr(GString) losses = g_string_new(NULL);
    GError *error = NULL;
    int status = CMD_OK;
    bool is_whole;

    if (!trc_show(paths, filter, &options->show, "farside trace: ", losses,
                  &is_whole, &error)) {
        status = error->domain == TRC_ERROR ? CMD_USAGE : CMD_DIFFERENT;
        cmd_complain("trace", error);
    }
    fflush(stdout);
    fputs(losses->str, stderr);
    return is_whole ? status : CMD_USAGE;
}

static int run_verb(const CmdVerb *verb, int argc, char **argv)
{
    g_auto(TrcFilter) filter = {0};
    Options options = {.show.print = puts, .timeline.filter = &filter};
    const GOptionEntry entries[] = {
        {"link", 'l', 0, G_OPTION_ARG_STRING, &options.words.link,
         "Only packets of this link, host or end", "NAME"},
        {"kind", 'k', 0, G_OPTION_ARG_STRING, &options.words.kinds,
         "Only packets of these kinds", "KIND,..."},
        {"from", 0, 0, G_OPTION_ARG_STRING, &options.words.from,
         "Only packets from this time on", "TIME"},
        {"to", 0, 0, G_OPTION_ARG_STRING, &options.words.to,
         "Only packets up to this time", "TIME"},
        {"summary", 's', 0, G_OPTION_ARG_NONE, &options.show.is_summary,
         "Sum up: counts, bytes and latencies by direction and kind", NULL},
        {"csv", 0, 0, G_OPTION_ARG_FILENAME, &options.show.csv,
         "Write a table to FILE instead of printing", "FILE"},
        {"timeline", 0, 0, G_OPTION_ARG_FILENAME, &options.timeline.path,
         "Write a timeline of a timed cluster to JSON, for Perfetto", "JSON"},
        {"model", 0, 0, G_OPTION_ARG_FILENAME, &options.timeline.model,
         "With --timeline: the cluster's description; adds the model's links",
         "DESCRIPTION"},
        {"ftrace", 0, 0, G_OPTION_ARG_STRING_ARRAY, &options.timeline.ftraces,
         "With --timeline: events of a guest's kernel; repeatable",
         "HOST=FILE"},
        {"create", 0, 0, G_OPTION_ARG_NONE, &options.is_create,
         "Make an empty FILE for devices to write to", NULL},
        {"names", 0, 0, G_OPTION_ARG_STRING, &options.fresh.names,
         "With --create: the names of the ends of partition 0 and 1",
         "END,END"},
        {"snaplen", 0, 0, G_OPTION_ARG_STRING, &options.fresh.snaplen,
         "With --create: keep at most this much of a packet", "SIZE"},
        G_OPTION_ENTRY_NULL,
    };
    g_auto(CmdArgs) args = {.words = NULL};
    GError *error = NULL;
    int status;

    if (!cmd_parse(verb, argc, argv, entries, &args, &status)) {
        return status;
    }
    if (!exp_timeline_check(&options.timeline, args.words, &error)) {
        return cmd_complain("trace", error);
    }
    if (options.is_create && !options.timeline.path) {
        exp_trace_create(args.words, &options.fresh, &error);
        return error ? cmd_fail("trace", error) : CMD_OK;
    }
    if (!exp_trace_filter(&options.words, &filter, &error)) {
        return cmd_complain("trace", error);
    }
    options.timeline.trace = args.words[0];
    if (!options.timeline.path) {
        return show(&options, &filter, args.words);
    }
    exp_timeline_write(&options.timeline, &error);
    return error ? cmd_complain("trace", error) : CMD_OK;
}

const CmdVerb cmd_trace = {
    .name = "trace",
    .summary = "print the packets on the links of emulated hosts",
    .synopsis = "FILE...",
    .words = {1, CMD_ANY_NUMBER},
    .run = run_verb};
