/* SPDX-License-Identifier: MIT */
#ifndef CMD_H
#define CMD_H

#include <stdbool.h>

#include <glib.h>

#include "table.h"

/*
 * The verbs of the program farside, each in its own file. A verb gets the
 * arguments from its own name on (argv[0] is the verb) and returns the exit
 * status.
 */

typedef enum CmdStatus {
    CMD_OK = 0,
    CMD_DIFFERENT = 1, /* a comparison has differences, or a run failed */
    CMD_USAGE = 2,     /* wrong usage or bad input */
} CmdStatus;

int cmd_bench(int argc, char **argv);
int cmd_check(int argc, char **argv);
int cmd_cluster(int argc, char **argv);
int cmd_compare(int argc, char **argv);
int cmd_export(int argc, char **argv);
int cmd_fit(int argc, char **argv);
int cmd_import(int argc, char **argv);
int cmd_inventory(int argc, char **argv);
int cmd_merge(int argc, char **argv);
int cmd_path(int argc, char **argv);
int cmd_plan(int argc, char **argv);
int cmd_plot(int argc, char **argv);
int cmd_report(int argc, char **argv);
int cmd_run(int argc, char **argv);
int cmd_select(int argc, char **argv);
int cmd_topo(int argc, char **argv);
int cmd_trace(int argc, char **argv);

/* The words that a verb accepts besides its options. */
typedef struct CmdWords {
    const char *synopsis; /* for the usage line; "": no words */
    unsigned least;
    unsigned most;
} CmdWords;

#define CMD_ANY_NUMBER G_MAXUINT

/*
 * Parses the command line of a verb, including "--help". @details (nullable)
 * are printed below the options in the help. On success *ret_args is a
 * NULL-terminated array of the words without argv[0]; the caller frees it
 * with g_strfreev(). After printing the help, or a message about wrong
 * usage, it returns false, and the verb must return *ret_status at once.
 */
bool cmd_parse(int argc, char **argv, const GOptionEntry *entries,
               const CmdWords *words, const char *details, char ***ret_args,
               int *ret_status);

/* Prints "farside VERB: MESSAGE" and how to get help to stderr. Returns
 * CMD_USAGE. */
int cmd_usage(const char *verb, const char *format, ...) G_GNUC_PRINTF(2, 3);

/* Prints "farside VERB: MESSAGE" to stderr and frees @error, which must be
 * set. */
void cmd_complain(const char *verb, GError *error);

/* Prints @table as text for a terminal. */
void cmd_print_table(const Table *table);

#endif
