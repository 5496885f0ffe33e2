/* SPDX-License-Identifier: MIT */
#include "img_up.h"

#include "clu_timed_check.h"

#define SECONDS_MAX 86400

/* Checks the words that only one kind of cluster takes. */
static bool check_kind(const ImgUpWords *words, GError **error)
{
    if (words->is_timed) {
        return words->silence_s == 0 ||
               topo_refuse_option(
                   error,
                   "--silence does not go with --timed: a question would "
                   "reach a machine at any virtual time");
    }
    if (words->log || words->steps) {
        return topo_refuse_option(
            error, words->log ? "--log needs --timed: machines in real time "
                                "do not repeat"
                              : "--steps needs --timed: machines in real "
                                "time do not repeat");
    }
    return (!words->slice && words->spins == -1) ||
           topo_refuse_option(
               error, "--slice and --spins need --timed: they are the pace of "
                      "virtual time");
}

static char *absolute(const char *path)
{
    return path ? g_canonicalize_filename(path, NULL) : NULL;
}

bool img_up_parse(const ImgUpWords *words, ImgUp *ret_up, GError **error)
{
    int timeout_s =
        words->timeout_s ? words->timeout_s : (words->is_timed ? 300 : 60);
    int silence_s = words->silence_s ? words->silence_s : 20;

    *ret_up =
        (ImgUp){.log = absolute(words->log), .steps = absolute(words->steps)};
    if (!check_kind(words, error) ||
        !clu_timed_pace_parse(words->slice, words->spins,
                              &ret_up->timed.slice_ns, error)) {
        return false;
    }
    if (timeout_s < 1 || timeout_s > SECONDS_MAX || silence_s < 1 ||
        silence_s > SECONDS_MAX) {
        return topo_refuse_option(
            error, "--timeout and --silence are 1 to " G_STRINGIFY(
                       SECONDS_MAX) " seconds");
    }
    ret_up->timed.log = ret_up->log;
    ret_up->timed.steps = ret_up->steps;
    ret_up->timed.spins = words->spins;
    ret_up->timed.sets = words->sets;
    ret_up->start =
        (ImgStart){.boot_ms = (unsigned)timeout_s * 1000,
                   .silence_ms = (unsigned)silence_s * 1000,
                   .timed = words->is_timed ? &ret_up->timed : NULL};
    return true;
}

void img_up_clear(ImgUp *up)
{
    g_clear_pointer(&up->log, g_free);
    g_clear_pointer(&up->steps, g_free);
}
