/* SPDX-License-Identifier: MIT */
#ifndef CLU_PROCESS_H
#define CLU_PROCESS_H

#include <stdbool.h>
#include <sys/types.h>

#include <glib.h>

/*
 * A QEMU process: a child of this one, or one that another QEMU process has
 * made. No thread waits for it, so the process that uses this may fork.
 */
typedef struct CluProcess CluProcess;

/* Descriptors for another process, and their numbers there. */
typedef struct CluFds {
    GArray *here;  /* of int, owned */
    GArray *there; /* of int */
} CluFds;

void clu_fds_init(CluFds *fds);
/* Closes all descriptors. */
void clu_fds_clear(CluFds *fds);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(CluFds, clu_fds_clear)
/* Takes over @here. */
void clu_fds_take(CluFds *fds, int here, int there);
/* Adds a copy of @here. */
void clu_fds_add(CluFds *fds, int here, int there);
/* Makes a socket pair of @type. One end is added as @there; the other end is
 * returned, or -1 and @error. */
int clu_fds_add_line(CluFds *fds, int type, int there, GError **error);

/* Up to now, standard error has been the terminal of the program that made this
 * process, for errors of the start. Standard output is /dev/null. */
void clu_process_leave_terminal(void);

/* The process has ended. */
typedef void CluProcessEnded(void *owner);

/* Starts @argv with @fds and /dev/null, with @output as its standard output and
 * error. It is killed when this process ends. NULL and @error if it cannot be
 * started. */
CluProcess *clu_process_new(GMainContext *context, char **argv,
                            const CluFds *fds, int output,
                            CluProcessEnded *ended, void *owner,
                            GError **error);

/* The process @pid, which is no child of this one. NULL and @error if there is
 * none. */
CluProcess *clu_process_adopt(GMainContext *context, pid_t pid,
                              CluProcessEnded *ended, void *owner,
                              GError **error);

/* Forgets @process (nullable), which goes on. */
void clu_process_free(CluProcess *process);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CluProcess, clu_process_free)

pid_t clu_process_pid(const CluProcess *process);
void clu_process_kill(const CluProcess *process);

/* After its end: true if it has ended by itself, with status 0. Of a process
 * that is no child nobody knows that: false. */
bool clu_process_is_clean(const CluProcess *process);

/* After its end: true if it was ended by a signal. Of a process that is no
 * child nobody knows that: false. */
bool clu_process_is_killed(const CluProcess *process);

/* The way in which it has ended, in words; to be freed. */
char *clu_process_explain(const CluProcess *process);

#endif
