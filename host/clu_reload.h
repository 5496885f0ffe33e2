/* SPDX-License-Identifier: MIT */
#ifndef CLU_RELOAD_H
#define CLU_RELOAD_H

#include <stdbool.h>

#include <glib.h>

/* Modules of the guests' kernels that are loaded again. Each of @modules (ended
 * by NULL) is the name of a module, or the path of a file *.ko. */

/* False and G_OPTION_ERROR if a file of @modules is no module. */
bool clu_reload_check(char *const *modules, GError **error);

/*
 * Stores the files among @modules on @hosts (ended by NULL) of @cluster, which
 * is as clu_dir_choose() takes it. Then unloads the modules and those that need
 * them on each host, and loads all in reverse order. Returns an exit status;
 * *ret_host is the host on which a module could not be unloaded or loaded, NULL
 * if there is none. @error may be set if the status is not 0.
 */
int clu_reload(const char *cluster, char *const *hosts, char *const *modules,
               const char **ret_host, GError **error);

#endif
