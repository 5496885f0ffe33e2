/* SPDX-License-Identifier: MIT */
#ifndef CMD_CLUSTER_COMMON_H
#define CMD_CLUSTER_COMMON_H

#include <glib.h>

#include "clu_client.h"
#include "cmd_cluster_verb.h"
#include "img_files.h"

/* Shared by the verbs of `farside cluster`. */

/* The parsed command line of a verb. */
typedef struct CmdClusterArgs {
    char *cluster; /* value of -c; NULL: the only cluster that runs */
    char **words;  /* arguments that are not options; ended by NULL */
} CmdClusterArgs;

void cmd_cluster_args_clear(CmdClusterArgs *args);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(CmdClusterArgs, cmd_cluster_args_clear)

/* The mode of a request without input whose output is printed. */
extern const CluClientMode cmd_cluster_no_input;

/* Prints each line to standard error. */
extern const ImgNotes cmd_cluster_notes;

/* Prints a line about progress to standard error; for CluClientMode.note. */
void cmd_cluster_print_note(const char *text);

/* Parses the words of @verb and its options: those that all verbs share, and
 * @own (nullable). Returns false if the verb must return *ret_status at once.
 */
bool cmd_cluster_parse(const CmdClusterVerb *verb, int argc, char **argv,
                       const GOptionEntry *own, CmdClusterArgs *ret_args,
                       int *ret_status);

/* Connects to the cluster of @args. NULL and @error if there is none. Stores
 * its directory, to be freed, in *ret_dir (nullable). */
CluClient *cmd_cluster_connect(const CmdClusterArgs *args, char **ret_dir,
                               GError **error);

/* Sends the request @words (NULL-terminated) to the cluster of @args and serves
 * it until it ends. Returns the exit status; prints a message if the request
 * failed. */
int cmd_cluster_ask(const char *verb, const CmdClusterArgs *args,
                    const char *const *words, const CluClientMode *mode);

/* Prints @error (nullable) for @verb and frees it. Returns @status. */
int cmd_cluster_finish(const char *verb, int status, GError *error);

/* Prints @error for @verb and frees it. Returns the exit status for it. */
int cmd_cluster_fail(const char *verb, GError *error);

#endif
