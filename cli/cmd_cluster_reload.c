/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "clu_files.h"
#include "cmd_cluster_common.h"

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

/* Runs @script on each host. Stops at the first that fails. */
static int on_each(const char *verb, const char *cluster, char *const *hosts,
                   const char *script, const char *const *words)
{
    int status = 0;

    for (; *hosts && status == 0; hosts++) {
        GError *error = NULL;

        status = clu_files_sh(cluster, *hosts, script, words, &error);
        cmd_cluster_finish(verb, status, error);
        if (status != 0) {
            fprintf(stderr, "farside %s: this was host %s\n", verb, *hosts);
        }
    }
    return status;
}

/* Sends the files among @words to each host. */
static int send_all(const char *cluster, char *const *words, char *const *hosts,
                    GError **error)
{
    int status = 0;

    for (; *hosts; hosts++) {
        for (char *const *word = words; *word && status == 0; word++) {
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

static int run(const CmdVerb *verb, int argc, char **argv)
{
    static const char *const wait[] = {"wait", "60", NULL};
    static const char *const none[] = {NULL};
    char *only = NULL;
    const GOptionEntry options[] = {
        {"host", 'H', 0, G_OPTION_ARG_STRING, &only,
         "Only on these hosts, by their names; without it on all",
         "HOST[,HOST...]"},
        G_OPTION_ENTRY_NULL,
    };
    g_auto(CmdArgs) args = {.words = NULL};
    g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
    g_auto(GStrv) hosts = NULL;
    GError *error = NULL;
    int status;

    if (!cmd_parse(verb, argc, argv, options, &args, &status)) {
        return status;
    }
    for (char **word = args.words; *word; word++) {
        if (is_file(*word) && !g_str_has_suffix(*word, ".ko")) {
            return cmd_usage(
                argv[0], "%s is no module: its name must end in .ko", *word);
        }
    }
    hosts =
        only ? g_strsplit(only, ",", 0) : clu_files_hosts(args.cluster, &error);
    if (!hosts) {
        return cmd_cluster_finish(argv[0], CMD_USAGE, error);
    }
    for (char **word = args.words; *word; word++) {
        g_ptr_array_add(names, module_name(*word));
    }
    g_ptr_array_add(names, NULL);
    status = send_all(args.cluster, args.words, hosts, &error);
    cmd_cluster_finish(argv[0], status, error);
    if (status == 0) {
        status = on_each(argv[0], args.cluster, hosts, out_script,
                         (const char *const *)names->pdata);
    }
    if (status == 0) {
        status = on_each(argv[0], args.cluster, hosts, in_script, none);
    }
    if (status == 0) {
        status = cmd_cluster_ask(argv[0], &args, wait, &cmd_cluster_no_input);
    }
    return status;
}

const CmdVerb cmd_cluster_reload = {
    .name = "reload",
    .summary = "load modules again",
    .synopsis = "FILE.ko|MODULE...",
    .words = {1, G_MAXUINT},
    .has_cluster = true,
    .run = run,
};
