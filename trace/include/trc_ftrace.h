/* SPDX-License-Identifier: MIT */
#ifndef TRC_FTRACE_H
#define TRC_FTRACE_H

#include "trc_file.h"

/*
 * Events of a guest's kernel, as its file /sys/kernel/tracing/trace has them
 * (the default format of ftrace). The clock must be x86-tsc: in a timed cluster
 * it counts ns of virtual time.
 */
typedef struct TrcFtraceEvent {
    int64_t time_ns; /* since the machine was switched on */
    const char *task;
    int pid;
    const char *name;   /* such as "nvme_setup_cmd" */
    const char *detail; /* all that follows */
} TrcFtraceEvent;

/* Takes an event, whose texts are borrowed until it returns. */
typedef void (*TrcFtraceFn)(void *data, const TrcFtraceEvent *event);

/* Calls @take for each event in @text, which has no NUL. @name is for errors.
 * Fails if a line is no event, or if its clock is another one. */
bool trc_ftrace_parse(const char *text, const char *name, TrcFtraceFn take,
                      void *data, GError **error);

#endif
