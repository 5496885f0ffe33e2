/* SPDX-License-Identifier: MIT */
#include "clu_reload.h"

#include <string.h>

#include "clu_files.h"
#include "topo_error.h"

/* Stores its input as the module $1. The guest's /etc/reload does the rest. */
static const char put_script[] =
    "cat >/run/module.ko && exec /etc/reload put /run/module.ko \"$1\"";
static const char out_script[] = "exec /etc/reload out \"$@\"";
static const char in_script[] = "exec /etc/reload in";

/* Returns the name of the module in the file @word, or of the module @word; to
 * be freed. */
static char *module_name(const char *word)
{
    char *name = g_path_get_basename(word);

    if (g_str_has_suffix(name, ".ko")) {
        name[strlen(name) - strlen(".ko")] = '\0';
    }
    return g_strdelimit(name, "-", '_');
}

static bool is_file(const char *word)
{
    return strchr(word, '/') || g_str_has_suffix(word, ".ko");
}

bool clu_reload_check(char *const *modules, GError **error)
{
    for (; *modules; modules++) {
        if (is_file(*modules) && !g_str_has_suffix(*modules, ".ko")) {
            return topo_refuse_option(
                error, "%s is no module: its name must end in .ko", *modules);
        }
    }
    return true;
}

/* Runs @script on each host. Stops at the first that fails. */
static int on_each(const char *cluster, char *const *hosts, const char *script,
                   const char *const *words, const char **ret_host,
                   GError **error)
{
    int status = 0;

    for (; *hosts && status == 0; hosts++) {
        status = clu_files_sh(cluster, *hosts, script, words, error);
        *ret_host = status == 0 ? NULL : *hosts;
    }
    return status;
}

/* Sends the files among @modules to each host. */
static int send_all(const char *cluster, char *const *hosts,
                    char *const *modules, GError **error)
{
    int status = 0;

    for (; *hosts; hosts++) {
        for (char *const *word = modules; *word && status == 0; word++) {
            g_autofree char *name = module_name(*word);

            if (is_file(*word)) {
                status =
                    clu_files_send(cluster, *hosts, *word, put_script,
                                   (const char *const[]){name, NULL}, error);
            }
        }
    }
    return status;
}

int clu_reload(const char *cluster, char *const *hosts, char *const *modules,
               const char **ret_host, GError **error)
{
    static const char *const none[] = {NULL};
    g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
    int status;

    *ret_host = NULL;
    for (char *const *word = modules; *word; word++) {
        g_ptr_array_add(names, module_name(*word));
    }
    g_ptr_array_add(names, NULL);
    status = send_all(cluster, hosts, modules, error);
    if (status == 0) {
        status = on_each(cluster, hosts, out_script,
                         (const char *const *)names->pdata, ret_host, error);
    }
    return status == 0
               ? on_each(cluster, hosts, in_script, none, ret_host, error)
               : status;
}
