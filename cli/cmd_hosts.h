/* SPDX-License-Identifier: MIT */
#ifndef CMD_HOSTS_H
#define CMD_HOSTS_H

#include "inv_inventory.h"

/* Options and functions of verbs that work on the devices of hosts. */
typedef struct CmdHosts {
    char **sets;
    char *sysfs;
    char *cluster;
    char *ids;
    char *host;
} CmdHosts;

#define CMD_HOSTS_ENTRIES(options)                                             \
    {"sysfs",                                                                  \
     0,                                                                        \
     0,                                                                        \
     G_OPTION_ARG_FILENAME,                                                    \
     &(options)->sysfs,                                                        \
     "Read a live host from this tree instead of FILE; /sys for this one",     \
     "DIR"},                                                                   \
        {"cluster",                                                            \
         0,                                                                    \
         0,                                                                    \
         G_OPTION_ARG_STRING,                                                  \
         &(options)->cluster,                                                  \
         "Read the hosts of this running cluster instead of FILE",             \
         "NAME"},                                                              \
        {"ids",                                                                \
         0,                                                                    \
         0,                                                                    \
         G_OPTION_ARG_FILENAME,                                                \
         &(options)->ids,                                                      \
         "Names of PCI devices of live hosts (default: " INV_IDS               \
         ", if there)",                                                        \
         "FILE"},                                                              \
        {"host",                                                               \
         0,                                                                    \
         0,                                                                    \
         G_OPTION_ARG_STRING,                                                  \
         &(options)->host,                                                     \
         "Only this host; with --sysfs its name",                              \
         "NAME"},                                                              \
        CMD_LOAD_SET(&(options)->sets)

/* Loads the hosts of the description @file, or, if @file is NULL, that of
 * --sysfs, or those of --cluster. With --host the others are left out. On
 * errors prints them for @verb and returns NULL. */
Inventory *cmd_hosts_load(const char *verb, const CmdHosts *options,
                          const char *file);

#endif
