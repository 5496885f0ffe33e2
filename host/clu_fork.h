/* SPDX-License-Identifier: MIT */
#ifndef CLU_FORK_H
#define CLU_FORK_H

#include <stdbool.h>
#include <sys/types.h>

#include <glib.h>

/*
 * Processes that go on with the memory of the one that makes them. This is the
 * only place in the libraries where a process is forked, closes what it has
 * inherited, and ends itself (tests/checks/prints). A process may fork only
 * while it has a single thread: locks that other threads hold would stay held.
 */

typedef enum CluForkKind {
    CLU_FORK_CHILD,  /* the caller may wait for it */
    CLU_FORK_ORPHAN, /* it is nobody's child, so nobody must wait for it */
} CluForkKind;

/* Returns 0 in the new process, which must end by clu_fork_end(), and a
 * positive number in the caller: that of the process if it is a child. -1 and
 * errno if there can be no process. */
pid_t clu_fork(CluForkKind kind);

/* Unblocks all signals. If @parent is not 0, the kernel kills the calling
 * process when that one, its parent, ends; if it has ended already, so does
 * this one. Async-signal-safe: may be called between fork and exec. */
void clu_fork_settle(pid_t parent);

/* Closes all descriptors from @first on but the @count ones of @keep; entries
 * that are negative are ignored. */
void clu_fork_close(int first, const int *keep, unsigned count);

/* Ends the process without the end of the program that it was forked from: no
 * buffer is written and no handler is called a second time. */
G_NORETURN void clu_fork_end(int status);

#endif
