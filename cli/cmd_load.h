/* SPDX-License-Identifier: MIT */
#ifndef CMD_LOAD_H
#define CMD_LOAD_H

#include "topo_description.h"

/* Functions for verbs that read a description. */

/* The option --set. Its values are added to @sets. */
#define CMD_LOAD_SET(sets)                                                     \
    {                                                                          \
        "set", 's', 0, G_OPTION_ARG_STRING_ARRAY, sets,                        \
            "Change the description before it is checked; repeatable",         \
            "PATH=VALUE"                                                       \
    }

/* Prints @errors and a line that counts them for @verb. Returns CMD_USAGE. */
int cmd_print_errors(const char *verb, const TopoErrors *errors);

/* Returns the changes of the --set options in @sets (nullable). On errors
 * prints them for @verb and returns NULL. */
GPtrArray *cmd_changes(const char *verb, char **sets);

/* Adds the changes that @option has in @sets to @changes. On errors prints them
 * and returns false. */
bool cmd_changes_add(const char *verb, const char *option, char **sets,
                     GPtrArray *changes);

typedef enum CmdLoad {
    CMD_LOAD_ANY,
    CMD_LOAD_WORKLOAD, /* must have a workload and columns */
} CmdLoad;

/* Loads each of @files (ended by NULL), which must have a workload and columns.
 * Returns an array of TopoDescription; on errors of the first wrong one prints
 * them for @verb and returns NULL. */
GPtrArray *cmd_load_all(const char *verb, char *const *files,
                        const GPtrArray *changes);

/* Loads the description in @file with the changes of the --set options in @sets
 * (nullable), and checks its columns. On errors prints them for @verb and
 * returns NULL. */
TopoDescription *cmd_load_with(const char *verb, const char *file, char **sets,
                               CmdLoad load);

/* The same with the changes of its variant @variant (nullable) before those in
 * @sets. */
TopoDescription *cmd_load_variant(const char *verb, const char *file,
                                  char **sets, const char *variant);

#endif
