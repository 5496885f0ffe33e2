/* SPDX-License-Identifier: MIT */
#include "clu_ask.h"

struct CluAsk {
    unsigned refs;    /* one of the owner, and one for each pending answer */
    unsigned pending; /* number of answers still to come */
    char *complaint;  /* first error message of a monitor; nullable */
    void (*answered)(void *owner); /* NULL after clu_ask_free() */
    void *owner;
};

static void ask_unref(CluAsk *ask)
{
    if (--ask->refs == 0) {
        g_free(ask->complaint);
        g_free(ask);
    }
}

CluAsk *clu_ask_new(void (*answered)(void *owner), void *owner)
{
    CluAsk *ask = g_new0(CluAsk, 1);

    ask->refs = 1;
    ask->answered = answered;
    ask->owner = owner;
    return ask;
}

void clu_ask_free(CluAsk *ask)
{
    if (ask) {
        ask->answered = NULL;
        ask_unref(ask);
    }
}

static void on_answer(void *data, const char *complaint)
{
    CluAsk *ask = data;

    ask->pending--;
    if (complaint && !ask->complaint) {
        ask->complaint = g_strdup(complaint);
    }
    if (ask->answered) {
        ask->answered(ask->owner);
    }
    ask_unref(ask);
}

void clu_ask_send(CluAsk *ask, CluQmp *qmp, const char *command)
{
    if (qmp) {
        ask->refs++;
        ask->pending++;
        clu_qmp_command(qmp, command, on_answer, ask);
    }
}

unsigned clu_ask_pending(const CluAsk *ask)
{
    return ask->pending;
}

const char *clu_ask_complaint(const CluAsk *ask)
{
    return ask->complaint;
}
