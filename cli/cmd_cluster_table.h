/* SPDX-License-Identifier: MIT */
#ifndef CMD_CLUSTER_TABLE_H
#define CMD_CLUSTER_TABLE_H

/* Prints the status of a cluster, @json from its supervisor, as tables. */
void cmd_cluster_print_table(const char *json);

#endif
