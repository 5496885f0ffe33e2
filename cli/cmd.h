/* SPDX-License-Identifier: MIT */
#ifndef CMD_H
#define CMD_H

#include <stdbool.h>

#include <glib.h>

#include "table.h"

/* The verbs of the program farside, and of `farside cluster`. */

typedef enum CmdStatus {
    CMD_OK = 0,
    CMD_DIFFERENT = 1, /* a comparison has differences, or a run failed */
    CMD_USAGE = 2,     /* wrong usage or bad input */
} CmdStatus;

typedef struct CmdVerb CmdVerb;

struct CmdVerb {
    const char *name;
    const char *summary; /* for the list of verbs */
    const char
        *synopsis; /* the words that it takes besides options; "": none */
    struct {
        unsigned least, most;
    } words;
    bool has_cluster; /* it needs a running cluster, and takes -c */
    /* Nullable: makes the text that stands for @list@ in the help below the
     * options, which is in help/NAME.txt; to be freed. */
    char *(*help_list)(void);
    /* Returns the exit status. argv[0] is the verb, with the names of those
     * above it: "cluster up". */
    int (*run)(const CmdVerb *verb, int argc, char **argv);
    /* Only of a verb with verbs of its own, which `run` = cmd_verbs_run()
     * chooses from: the list, ended by NULL; the help above and below it; the
     * manual page's text above it, in roff, and below it. */
    const CmdVerb *const *verbs;
    const char *about, *hints;
    const char *page_title; /* nullable: the summary */
    const char *page, *page_end;
};

#define CMD_ANY_NUMBER G_MAXUINT

extern const CmdVerb cmd_bench;
extern const CmdVerb cmd_check;
extern const CmdVerb cmd_cluster;
extern const CmdVerb cmd_compare;
extern const CmdVerb cmd_convert;
extern const CmdVerb cmd_export;
extern const CmdVerb cmd_fit;
extern const CmdVerb cmd_import;
extern const CmdVerb cmd_inventory;
extern const CmdVerb cmd_merge;
extern const CmdVerb cmd_metadata;
extern const CmdVerb cmd_ntb_test;
extern const CmdVerb cmd_path;
extern const CmdVerb cmd_plan;
extern const CmdVerb cmd_plot;
extern const CmdVerb cmd_report;
extern const CmdVerb cmd_run;
extern const CmdVerb cmd_select;
extern const CmdVerb cmd_topo;
extern const CmdVerb cmd_trace;

extern const CmdVerb cmd_cluster_advance;
extern const CmdVerb cmd_cluster_branch;
extern const CmdVerb cmd_cluster_checkpoint;
extern const CmdVerb cmd_cluster_console;
extern const CmdVerb cmd_cluster_cp;
extern const CmdVerb cmd_cluster_down;
extern const CmdVerb cmd_cluster_exec;
extern const CmdVerb cmd_cluster_explore;
extern const CmdVerb cmd_cluster_kill;
extern const CmdVerb cmd_cluster_link;
extern const CmdVerb cmd_cluster_list;
extern const CmdVerb cmd_cluster_logs;
extern const CmdVerb cmd_cluster_reload;
extern const CmdVerb cmd_cluster_replay;
extern const CmdVerb cmd_cluster_restart;
extern const CmdVerb cmd_cluster_status;
extern const CmdVerb cmd_cluster_trace;
extern const CmdVerb cmd_cluster_up;
extern const CmdVerb cmd_cluster_vm;
extern const CmdVerb cmd_cluster_wait;

/* The parsed command line of a verb. */
typedef struct CmdArgs {
    char *cluster;   /* value of -c; NULL: the only cluster that runs */
    char **words;    /* the arguments that are no options; ended by NULL */
    GArray *entries; /* of GOptionEntry */
} CmdArgs;

/* Frees the texts of the options, too, and sets their variables to NULL. */
void cmd_args_clear(CmdArgs *args);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(CmdArgs, cmd_args_clear)

/*
 * Parses the command line of @verb, with the options @own (nullable), -c if the
 * verb takes it, and --help. After printing the help, or a message about wrong
 * usage, it returns false, and the verb must return *ret_status at once.
 * @ret_args is to be cleared in either case, before the variables of @own are
 * gone.
 */
bool cmd_parse(const CmdVerb *verb, int argc, char **argv,
               const GOptionEntry *own, CmdArgs *ret_args, int *ret_status);

/* Runs the verb of `verb->verbs` that argv[1] names; prints a list of them, or
 * what the build and shells ask for (cmd_form.h). */
int cmd_verbs_run(const CmdVerb *verb, int argc, char **argv);

/* Prints "farside VERB: MESSAGE" and how to get help to stderr. Returns
 * CMD_USAGE. */
int cmd_usage(const char *verb, const char *format, ...) G_GNUC_PRINTF(2, 3);

/* Prints "farside VERB: MESSAGE" to stderr and frees @error, which must be set;
 * as cmd_usage() does if it is a G_OPTION_ERROR: an option has a wrong value.
 * Returns CMD_USAGE. */
int cmd_complain(const char *verb, GError *error);

/* The same for an operation that has failed: returns CMD_DIFFERENT unless an
 * option has a wrong value. */
int cmd_fail(const char *verb, GError *error);

/* Prints @table as text for a terminal. */
void cmd_print_table(const Table *table);

#endif
