/* SPDX-License-Identifier: MIT */
/* The log of a run, as it is written. */
#include <string.h>

#include "clu_timed_priv.h"

void clu_timed_set_log(CluTimed *timed, const char *path,
                       const CluTimedScript *head)
{
    timed->path = path;
    timed->head = head;
}

bool clu_timed_open_log(CluTimed *timed, GError **error)
{
    if (!timed->path) {
        return true;
    }
    timed->log = clu_timed_log_new(timed->path, error);
    for (unsigned i = 0; timed->log && i < timed->head->names->len; i++) {
        clu_timed_log_head(timed->log, timed->head->names->pdata[i],
                           timed->head->values->pdata[i]);
    }
    return timed->log;
}

void clu_timed_note(CluTimed *timed, CluInputKind kind, const char *host,
                    const void *data, size_t length)
{
    if (timed->log) {
        clu_timed_log_add(timed->log, timed_board_limit(timed->board), kind,
                          host, data, length);
    }
}

void clu_timed_end(CluTimed *timed)
{
    g_autofree char *text =
        g_strdup_printf("%" G_GINT64_FORMAT, timed_board_limit(timed->board));

    clu_timed_note(timed, CLU_INPUT_TO, NULL, text, strlen(text));
}
