/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "clu_files.h"
#include "cmd_cluster_common.h"

/* Splits "HOST,HOST:PATH". Returns the names, to be freed with g_strfreev(),
 * and the path; NULL if @word is a path of this machine. */
static char **split(const char *word, const char **ret_path)
{
    const char *colon = strchr(word, ':');
    g_autofree char *names = NULL;

    if (!colon || colon == word || memchr(word, '/', (size_t)(colon - word))) {
        return NULL;
    }
    names = g_strndup(word, (size_t)(colon - word));
    *ret_path = colon[1] ? colon + 1 : "/root";
    return g_strsplit(names, ",", 0);
}

static int run(const CmdVerb *verb, int argc, char **argv)
{
    g_auto(CmdArgs) args = {.words = NULL};
    g_auto(GStrv) to_hosts = NULL;
    GError *error = NULL;
    const char *to;
    unsigned count;
    int status;

    if (!cmd_parse(verb, argc, argv, NULL, &args, &status)) {
        return status;
    }
    count = g_strv_length(args.words) - 1;
    to = args.words[count];
    to_hosts = split(to, &to);
    status = 0;
    if (count > 1 && !to_hosts && !g_file_test(to, G_FILE_TEST_IS_DIR)) {
        return cmd_usage(argv[0], "%s is no folder for several files", to);
    }
    for (char **host = to_hosts; count > 1 && host && *host && status == 0;
         host++) {
        status = clu_files_check_folder(args.cluster, *host, to, &error);
    }
    for (unsigned i = 0; i < count && status == 0; i++) {
        const char *from = args.words[i];
        g_auto(GStrv) from_hosts = split(from, &from);

        if (!from_hosts == !to_hosts) {
            return cmd_usage(argv[0], "write one side as HOST:PATH; %s",
                             to_hosts ? "both are" : "neither is");
        }
        if (from_hosts && from_hosts[1]) {
            return cmd_usage(argv[0], "files come from one host at a time");
        }
        if (from_hosts) {
            status = clu_files_copy_from(args.cluster, from_hosts[0], from, to,
                                         &error);
        }
        for (char **host = to_hosts; host && *host && status == 0; host++) {
            status = clu_files_copy_to(args.cluster, *host, from, to, &error);
        }
    }
    return cmd_cluster_finish(argv[0], status, error);
}

const CmdVerb cmd_cluster_cp = {
    .name = "cp",
    .summary = "copy files to or from hosts",
    .synopsis = "FILE... HOST[,HOST...]:[PATH] | HOST:FILE... PATH",
    .words = {2, G_MAXUINT},
    .has_cluster = true,
    .run = run,
};
