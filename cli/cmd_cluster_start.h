/* SPDX-License-Identifier: MIT */
#ifndef CMD_CLUSTER_START_H
#define CMD_CLUSTER_START_H

#include "img_start.h"

/* Shared by the verbs that start a cluster. */

/* Starts the cluster of @description, called @name (nullable: the description's
 * name), as @start says, whose `notes` are set. Stores its directory, to be
 * freed, in *ret_dir. On errors prints them for @verb, sets *ret_status and
 * returns NULL. */
CluClient *cmd_cluster_start(const char *verb,
                             const TopoDescription *description,
                             const char *name, ImgStart *start, char **ret_dir,
                             int *ret_status);

/* Waits until all hosts and links are up, and then, unless @is_quiet, prints
 * their state and @limits (nullable). Returns an exit status. */
int cmd_cluster_bring_up(CluClient *client, const ImgStart *start,
                         bool is_quiet, const char *limits, GError **error);

/* Waits for a signal, or for the end of the cluster. Returns the exit status.
 */
int cmd_cluster_stay(CluClient *client);

#endif
