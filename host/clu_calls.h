/* SPDX-License-Identifier: MIT */
#ifndef CLU_CALLS_H
#define CLU_CALLS_H

#include "clu_client.h"

/* Requests to a supervisor whose answers are values. */

/* The time within which the processes of a cluster must end. */
#define CLU_CALLS_GONE_MS 20000

/* The supervisor's report of a host. */
typedef struct CluHostReport {
    char *state;        /* as clu_host_state_name() */
    int64_t virtual_ns; /* -1 if the cluster is not timed */
} CluHostReport;

/* The hosts (of CluHostReport) in the order of the description, to be freed.
 * NULL and @error if the supervisor does not answer. */
GPtrArray *clu_calls_hosts(CluClient *client, GError **error);

/*
 * Waits at most @timeout_s until all hosts and links are up, with @mode, and
 * fills in their status, as JSON, in @text. Returns an exit status as
 * clu_client_run() does.
 */
int clu_calls_bring_up(CluClient *client, const CluClientMode *mode,
                       unsigned timeout_s, GString *text, GError **error);

/*
 * Replays the log of a cluster that was started for it, and fills in its status
 * at the end, as JSON, in @text. Returns an exit status as above.
 */
int clu_calls_replay(CluClient *client, GString *text, GError **error);

/*
 * Frees @client, which owns the cluster whose directory is @dir. If @status is
 * 0, the cluster goes on; else, or if it cannot be released, it ends: returns
 * when its processes have. Returns @status, or that of the release.
 */
int clu_calls_release(CluClient *client, const char *dir, int status,
                      GError **error);

/*
 * Frees @client, which owns the cluster whose directory is @dir, and returns
 * when its processes have ended.
 */
void clu_calls_leave(CluClient *client, const char *dir);

/*
 * Ends the cluster whose directory is @dir, even if its processes were stopped,
 * and frees @client. Returns when all of them have ended, after ten seconds at
 * most. Returns an exit status.
 */
int clu_calls_down(CluClient *client, const char *dir, GError **error);

#endif
