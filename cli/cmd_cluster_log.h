/* SPDX-License-Identifier: MIT */
#ifndef CMD_CLUSTER_LOG_H
#define CMD_CLUSTER_LOG_H

#include "clu_cluster.h"

/* Lines of the head that are not hashes: the description, and each change. */
#define CMD_CLUSTER_LOG_FILE "description"
#define CMD_CLUSTER_LOG_SET  "set"

/* The SHA-256 of @file, in hex, to be freed. NULL and @error if it cannot be
 * read. */
char *cmd_cluster_log_hash(const char *file, GError **error);

/*
 * One SHA-256, in hex, of the programs that make the course of a timed run:
 * farside, the QEMU and the plugin of @paths, the object @timed for virtual
 * time, and what these load. To be freed; NULL and @error if one cannot be
 * read.
 */
char *cmd_cluster_log_programs(const CluPaths *paths, const char *timed,
                               GError **error);

/*
 * The head of the log of a timed cluster: the description, its changes in @sets
 * (nullable), and the hashes of all that a run depends on. NULL and @error if a
 * file cannot be read.
 */
CluTimedScript *cmd_cluster_log_head(const CluPlan *plan, const CluPaths *paths,
                                     const char *timed, char *const *sets,
                                     GError **error);

/* True if a run with the head @mine repeats the log @its of the file @path;
 * otherwise @error has the first difference. */
bool cmd_cluster_log_fits(const char *path, const CluTimedScript *its,
                          const CluTimedScript *mine, GError **error);

#endif
