/* SPDX-License-Identifier: MIT */
#ifndef XPL_CHILD_H
#define XPL_CHILD_H

#include "xpl_machines.h"

/*
 * Runs the program @argv in the environment @envp, without input and with its
 * output and errors in the file of @call. If the call has to end, the program's
 * group gets SIGTERM and, 20 s later, SIGKILL. Returns the exit status, 128
 * plus a signal, or 255 and the reason in the file if it cannot be run.
 */
int xpl_child(const XplCall *call, char **argv, char **envp);

#endif
