/* SPDX-License-Identifier: MIT */
#ifndef CMD_LOAD_H
#define CMD_LOAD_H

#include "topo_description.h"

/* For the verbs that read a description. */

/* The option --set, whose values go to @sets. */
#define CMD_LOAD_SET(sets)                                                     \
    {                                                                          \
        "set", 's', 0, G_OPTION_ARG_STRING_ARRAY, sets,                        \
            "Change the description before it is checked; repeatable",         \
            "PATH=VALUE"                                                       \
    }

/* The changes that --set options @sets (nullable) ask for. Prints what is
 * wrong for @verb, and returns NULL then. */
GPtrArray *cmd_changes(const char *verb, char **sets);

typedef enum CmdLoad {
    CMD_LOAD_ANY,
    CMD_LOAD_WORKLOAD, /* must have something to run, and columns to fill */
} CmdLoad;

/* Loads the description in @file with @changes, and checks its columns. Prints
 * all that is wrong for @verb, and returns NULL then. */
TopoDescription *cmd_load(const char *verb, const char *file,
                          const GPtrArray *changes, CmdLoad load);

/* Loads the description in @file as cmd_load() does, with the changes that the
 * --set options @sets (nullable) ask for. */
TopoDescription *cmd_load_with(const char *verb, const char *file, char **sets,
                               CmdLoad load);

#endif
