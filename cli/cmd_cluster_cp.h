/* SPDX-License-Identifier: MIT */
#ifndef CMD_CLUSTER_CP_H
#define CMD_CLUSTER_CP_H

#include <stdbool.h>

#include <glib.h>

#include "cmd_cluster_common.h"

/*
 * Sends the file @path to @host: @script is run there by sh, gets the content
 * as its input, and @words (NULL-terminated) as $1 and following. Prints a
 * message if that fails. Returns the exit status.
 */
int cmd_cluster_send(const char *verb, const CmdArgs *args, const char *host,
                     const char *path, const char *script,
                     const char *const *words);

/* Runs @script by sh on @host as above, without input; its output is printed.
 */
int cmd_cluster_sh(const char *verb, const CmdArgs *args, const char *host,
                   const char *script, const char *const *words);

/* Runs @script by sh on @host as above, without input, and appends its output
 * to @output. Returns a status that is not 0, after a message, if the host has
 * not ended it within two minutes, or sends more than it should. */
int cmd_cluster_fetch(const char *verb, const CmdArgs *args, const char *host,
                      const char *script, GString *output);

/* Returns the names of the hosts of the cluster of @args, to be freed with
 * g_strfreev(); NULL, after a message, if there is no cluster. */
char **cmd_cluster_hosts(const char *verb, const CmdArgs *args);

#endif
