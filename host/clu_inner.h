/* SPDX-License-Identifier: MIT */
#ifndef CLU_INNER_H
#define CLU_INNER_H

#include <stdbool.h>

#include <glib.h>

#include "table.h"

/*
 * The virtual machines inside the hosts of a running cluster (`vms:`). Each
 * host runs its own by the program /usr/bin/vm. @cluster is as clu_dir_choose()
 * takes it.
 */

/* An order is "list", or a verb, the name of a machine or HOST.NAME, and for
 * some verbs one more word. False and G_OPTION_ERROR if @words (ended by NULL)
 * is none. */
bool clu_inner_check(char *const *words, GError **error);

/* The machines of all hosts that answer, one a row. NULL and @error if the
 * cluster does not answer. */
Table *clu_inner_list(const char *cluster, GError **error);

/* A list without machines. */
Table *clu_inner_new(void);

/* Adds the machines that the program's "list" of @host has printed as @text. A
 * line that is malformed is left out: a guest may print what it likes. */
void clu_inner_parse(Table *machines, const char *host, const char *text);

/* Gives an order other than "list". Returns an exit status; @error may be set
 * if it is not 0: a host has said itself what is wrong. */
int clu_inner_order(const char *cluster, char *const *words, GError **error);

#endif
