/* SPDX-License-Identifier: MIT */
#include <stdio.h>

#include "cmd.h"
#include "cmd_cluster_common.h"
#include "ntt_session.h"

static void tell(void *owner, const char *text)
{
    puts(text);
    fflush(stdout);
}

static const ImgNotes results = {.tell = tell};

static int run(const CmdVerb *verb, int argc, char **argv)
{
    NttOptions options = {.jobs = 0};
    NttKernelWords *kernel = &options.kernel;
    g_auto(CmdArgs) args = {.words = NULL};
    const GOptionEntry entries[] = {
        {"chip", 0, 0, G_OPTION_ARG_STRING_ARRAY, &options.chips,
         "Only this chip; repeatable", "NAME"},
        {"client", 0, 0, G_OPTION_ARG_STRING_ARRAY, &options.clients,
         "Only this client; repeatable", "NAME"},
        {"pair", 0, 0, G_OPTION_ARG_STRING_ARRAY, &options.pairs,
         "Only from this host to that one; repeatable", "FROM:TO"},
        {"list", 0, 0, G_OPTION_ARG_NONE, &options.list,
         "List chips, clients, and what is expected not to work", NULL},
        {"kernel", 0, 0, G_OPTION_ARG_STRING, &kernel->series,
         "An installed kernel, such as 6.12", "SERIES"},
        {"kernel-package", 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &kernel->packages,
         "The kernel of a Debian package; repeatable, for its headers", "FILE"},
        {"kernel-tree", 0, 0, G_OPTION_ARG_FILENAME, &kernel->tree,
         "Drivers and clients of this source, or a tree that was built", "DIR"},
        {"debug", 0, 0, G_OPTION_ARG_NONE, &kernel->debug,
         "The kernel with KASAN and lockdep of `make guest-debug`", NULL},
        {"jobs", 'j', 0, G_OPTION_ARG_INT, &options.jobs,
         "Clusters at the same time (half the processors)", "N"},
        {"junit", 0, 0, G_OPTION_ARG_FILENAME, &options.junit,
         "Write a JUnit report", "FILE"},
        {"out", 'o', 0, G_OPTION_ARG_FILENAME, &options.out,
         "Folder of what clients print, and of consoles with a fault "
         "(results/ntb-test)",
         "DIR"},
        G_OPTION_ENTRY_NULL,
    };
    GError *error = NULL;
    int status = CMD_OK;

    if (!cmd_parse(verb, argc, argv, entries, &args, &status)) {
        return status;
    }
    if (options.list) {
        ntt_session_list(&results);
        return CMD_OK;
    }
    status = ntt_session_run(&options, &results, &cmd_cluster_notes, &error);
    if (!error) {
        return status;
    }
    return g_error_matches(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE)
               ? cmd_complain(argv[0], error)
               : cmd_cluster_fail(argv[0], error);
}

const CmdVerb cmd_ntb_test = {
    .name = "ntb-test",
    .summary = "run the kernel's NTB tests and clients on every chip",
    .synopsis = "",
    .words = {0, 0},
    .run = run,
};
