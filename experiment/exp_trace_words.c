/* SPDX-License-Identifier: MIT */
#include "exp_trace_words.h"

#include "topo_error.h"
#include "topo_units.h"

/* Parses a time into whole nanoseconds, rounded down. */
static bool parse_time(const char *option, const char *text, int64_t *ret_ns,
                       GError **error)
{
    int64_t ps;

    if (!text) {
        return true;
    }
    if (!topo_units_parse(TOPO_UNIT_TIME, text, &ps, error)) {
        g_prefix_error(error, "%s %s: ", option, text);
        return false;
    }
    *ret_ns = ps / 1000;
    return true;
}

bool exp_trace_filter(const ExpTraceWords *words, TrcFilter *ret_filter,
                      GError **error)
{
    trc_filter_init(ret_filter);
    if (words->link) {
        trc_filter_set_link(ret_filter, words->link);
    }
    if (words->kinds &&
        !trc_filter_set_kinds(ret_filter, words->kinds, error)) {
        g_prefix_error(error, "--kind: ");
        return false;
    }
    return parse_time("--from", words->from, &ret_filter->from_ns, error) &&
           parse_time("--to", words->to, &ret_filter->to_ns, error);
}

bool exp_trace_create(char *const *paths, const ExpTraceFile *file,
                      GError **error)
{
    g_auto(GStrv) names =
        g_strsplit(file->names ? file->names : "end0:link,end1:link", ",", -1);
    int64_t snaplen = 0;

    if (g_strv_length(names) != TRC_ENDS || !paths[0] || paths[1]) {
        return topo_refuse_option(
            error, "--create takes one FILE, and --names two names");
    }
    if (file->snaplen &&
        (!topo_units_parse(TOPO_UNIT_BYTES, file->snaplen, &snaplen, NULL) ||
         snaplen < TRC_SNAPLEN_MIN || snaplen > UINT32_MAX)) {
        return topo_refuse_option(
            error, "--snaplen %s: give a size from %dB on, below 4GiB",
            file->snaplen, TRC_SNAPLEN_MIN);
    }
    return trc_file_create(paths[0], (const char *const *)names,
                           (uint32_t)snaplen, error);
}
