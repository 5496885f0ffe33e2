/* SPDX-License-Identifier: MIT */
#ifndef CMD_RUN_TERMINAL_H
#define CMD_RUN_TERMINAL_H

#include "stu_run.h"

/* The terminal of `farside run`: results go to standard output, the rest to
 * standard error. With @shows_progress, and if that is a terminal, it also
 * shows how far the run is. If a signal ends the program, it first says what is
 * saved. */
const StuTerminal *cmd_run_terminal(bool shows_progress);

#endif
