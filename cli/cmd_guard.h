/* SPDX-License-Identifier: MIT */
#ifndef CMD_GUARD_H
#define CMD_GUARD_H

/*
 * A guard lets a program end at once on SIGINT, SIGTERM or SIGHUP, and yet
 * first say what is saved. A thread of its own waits for the signals, so it may
 * call any function.
 */
typedef struct CmdGuard CmdGuard;

/* Called in the guard's thread; then the program ends with status 128 and the
 * number of the signal. */
typedef void (*CmdGuardFn)(void *data);

/* Begins to guard. To be called before the threads that work are made. Programs
 * that are started meanwhile would not get the signals. */
CmdGuard *cmd_guard_new(CmdGuardFn fn, void *data);

/* Ends the guard; the signals have their old meaning again. */
void cmd_guard_free(CmdGuard *guard);

#endif
