/* SPDX-License-Identifier: MIT */
#ifndef CLU_ASK_H
#define CLU_ASK_H

#include "clu_qmp.h"

/*
 * A group of commands to several monitors whose answers are awaited together.
 * It may be freed at any time; answers that come later are dropped.
 */
typedef struct CluAsk CluAsk;

/* Calls @answered after each answer. */
CluAsk *clu_ask_new(void (*answered)(void *owner), void *owner);

/* Frees @ask (nullable). */
void clu_ask_free(CluAsk *ask);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CluAsk, clu_ask_free)

/* Sends @command (JSON in one line) to @qmp. Does nothing if @qmp is NULL: that
 * host has no process. */
void clu_ask_send(CluAsk *ask, CluQmp *qmp, const char *command);

/* Number of answers that are still to come. */
unsigned clu_ask_pending(const CluAsk *ask);

/* The first error message of a monitor; NULL if there was none. Borrowed. */
const char *clu_ask_complaint(const CluAsk *ask);

#endif
