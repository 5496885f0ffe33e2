/* SPDX-License-Identifier: MIT */
#ifndef XPL_MACHINES_H
#define XPL_MACHINES_H

#include <stdbool.h>

#include <glib.h>

#include "img_files.h"

/* The calls by which the threads of an exploration use clusters. */

/* True if a call has to end now. */
typedef bool XplPoll(void *owner);

/* A call that may take long. */
typedef struct XplCall {
    const char *output;     /* the file to which its messages are added */
    const gint *is_stopped; /* atomic: the call has to end */
    XplPoll *poll;          /* asked each second; nullable */
    void *owner;            /* of @poll */
} XplCall;

/* True if @call has to end. *polled_us is the monotonic time at which its poll
 * was asked last. */
bool xpl_call_is_over(const XplCall *call, gint64 *polled_us);

/* A cluster that boots in virtual time; all is borrowed. */
typedef struct XplBoot {
    const char *name;  /* of the cluster */
    const char *file;  /* the description's */
    const char *log;   /* the log to write; NULL: none */
    char *const *sets; /* changes of the description, ended by NULL; nullable */
    int64_t patience_s; /* the most real time that it takes */
} XplBoot;

typedef struct XplMachinesOps {
    /* Each returns an exit status. */
    int (*boot)(void *owner, const XplCall *call, const XplBoot *boot);
    /* The request @words for the cluster @name */
    int (*ask)(void *owner, const XplCall *call, const char *name,
               const char *const *words);
    /* Its hosts, of CluHostReport, to be freed; NULL if it does not answer */
    GPtrArray *(*hosts)(void *owner, const char *name);
    /* The log of the console of @host, to be freed; NULL if there is none */
    char *(*console)(void *owner, const char *name, const char *host);
    /* Returns when it is gone. */
    void (*down)(void *owner, const char *name);
} XplMachinesOps;

typedef struct XplMachines {
    const XplMachinesOps *ops;
    void *owner;
} XplMachines;

/*
 * Real clusters. Threads cannot fork, so a process is made here that boots them
 * and ends with this one. To be called while this process has a single thread
 * and has blocked the signals by which a user ends it. False and @error if
 * there can be no process.
 */
bool xpl_machines_new(XplMachines *ret_machines, GError **error);
void xpl_machines_clear(XplMachines *machines);

/* In a process that boots a cluster for the one at the other end of @line:
 * boots it, with messages at standard error. Returns an exit status. */
int xpl_boot(const XplBoot *boot, int line);

#endif
