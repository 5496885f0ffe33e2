/* SPDX-License-Identifier: MIT */
#ifndef CMD_WORKLOAD_H
#define CMD_WORKLOAD_H

#include <glib.h>

/*
 * Returns the changes (of TopoChange) that make the trace @path (nullable) the
 * only workload of a description, with columns for it. Without @path there are
 * none. On errors prints them for @verb and returns NULL.
 */
GPtrArray *cmd_workload_changes(const char *verb, const char *path);

#endif
