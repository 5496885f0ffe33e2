/* SPDX-License-Identifier: MIT */
#ifndef CLU_ASK_H
#define CLU_ASK_H

#include "clu_qmp.h"

/*
 * Commands to several monitors, whose answers are awaited together. It may be
 * freed while some are still to come: those are dropped.
 */
typedef struct CluAsk CluAsk;

/* @answered is called at each answer. */
CluAsk *clu_ask_new(void (*answered)(void *owner), void *owner);

/* Frees @ask (nullable). */
void clu_ask_free(CluAsk *ask);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CluAsk, clu_ask_free)

/* Sends @command (JSON in one line) to @qmp; NULL, a host without a process, is
 * not asked. */
void clu_ask_send(CluAsk *ask, CluQmp *qmp, const char *command);

/* Number of answers that are still to come. */
unsigned clu_ask_pending(const CluAsk *ask);

/* The first error that a monitor answered with; NULL if none did. Borrowed. */
const char *clu_ask_complaint(const CluAsk *ask);

#endif
