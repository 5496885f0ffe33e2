/* SPDX-License-Identifier: MIT */
/*
 * A machine in virtual time for tests in C: a test takes the place of the
 * supervisor, and speaks to QEMU through a socket. The machine has its firmware
 * only.
 */
#ifndef TESTS_TIMED_MACHINE_H
#define TESTS_TIMED_MACHINE_H

#include <glib.h>
#include <sys/types.h>

#include "timed_board.h"

#define MACHINE_MS          1000000 /* in ns */
#define MACHINE_PATIENCE_MS 20000

typedef struct Machine {
    char *folder;
    char *path; /* of the socket */
    int board_fd;
    TimedBoard *board;
    pid_t pid;
    int socket; /* -1: machine_connect() was not called */
} Machine;

/* Makes a board, its limit and the socket's path. Does not start QEMU. */
void machine_init(Machine *machine, unsigned machines,
                  const TimedBoardLink *links, unsigned link_count);

/* Starts QEMU as machine 0 of the board. plugin_options follow the board's own
 * and begin with a comma, or are empty; arguments follow those that all
 * machines have. */
void machine_start(Machine *machine, const char *plugin_options,
                   const char *const *arguments);

/* Connects to the socket when QEMU listens. */
void machine_connect(Machine *machine);

/* Kills QEMU and frees what the machine has. */
void machine_done(Machine *machine);

#endif
