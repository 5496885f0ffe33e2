/* SPDX-License-Identifier: MIT */
#ifndef CMD_CLUSTER_COMMON_H
#define CMD_CLUSTER_COMMON_H

#include <glib.h>

#include "clu_client.h"
#include "cmd.h"
#include "img_files.h"

/* Shared by the verbs of `farside cluster`. */

/* The mode of a request without input whose output is printed. */
extern const CluClientMode cmd_cluster_no_input;

/* Prints each line to standard error. */
extern const ImgNotes cmd_cluster_notes;

/* Prints the status @json of a cluster. */
void cmd_cluster_print_status(const char *json);

/* Prints a line about progress to standard error; for CluClientMode.note. */
void cmd_cluster_print_note(const char *text);

/* Connects to the cluster of @args. NULL and @error if there is none. Stores
 * its directory, to be freed, in *ret_dir (nullable). */
CluClient *cmd_cluster_connect(const CmdArgs *args, char **ret_dir,
                               GError **error);

/* Sends the request @words (NULL-terminated) to the cluster of @args and serves
 * it until it ends. Returns the exit status; prints a message if the request
 * failed. */
int cmd_cluster_ask(const char *verb, const CmdArgs *args,
                    const char *const *words, const CluClientMode *mode);

/* Prints @error (nullable) for @verb and frees it. Returns @status. */
int cmd_cluster_finish(const char *verb, int status, GError *error);

/* Prints @error for @verb and frees it. Returns the exit status for it. */
int cmd_cluster_fail(const char *verb, GError *error);

#endif
