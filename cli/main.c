/* SPDX-License-Identifier: MIT */
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include <glib.h>

#include "cmd.h"
#include "topo_suggest.h"

/* A verb. Only this table lists the verbs. */
typedef struct Verb {
    const char *name;
    const char *help;
    int (*run)(int argc, char **argv);
} Verb;

static const Verb verbs[] = {
    {"run", "simulate scenarios and draw their plots", cmd_run},
    {"merge", "join the results of runs that simulated a part each", cmd_merge},
    {"check", "report all errors in descriptions", cmd_check},
    {"topo", "show the enumerated tree as text or as a drawing", cmd_topo},
    {"fit", "fit numbers of parts to published values", cmd_fit},
    {"path", "show every element that a TLP crosses, with hops and times",
     cmd_path},
    {"plan", "compute an NTB's mapping entries and DMA windows", cmd_plan},
    {"export", "write a host's topology for NCCL or hwloc", cmd_export},
    {"import", "make a description from lspci, hwloc or NCCL", cmd_import},
    {"inventory", "list the devices of hosts as users select them",
     cmd_inventory},
    {"select", "find the function of each host that a request means",
     cmd_select},
    {"trace", "print the packets on the links of emulated hosts", cmd_trace},
    {"compare", "compare two result files, or two folders of them",
     cmd_compare},
    {"report", "make a page of results, or the list of fidelity", cmd_report},
    {"cluster", "run the hosts as virtual machines", cmd_cluster},
    {"bench", "measure how fast this program is", cmd_bench},
};

static void print_help(void)
{
    unsigned i;

    fputs("Usage:\n"
          "  farside VERB [OPTION...] ARGUMENT...\n"
          "\n"
          "A laboratory for PCIe fabrics joined by non-transparent bridges.\n"
          "\n"
          "Verbs:\n",
          stdout);
    for (i = 0; i < G_N_ELEMENTS(verbs); i++) {
        printf("  %-10s %s\n", verbs[i].name, verbs[i].help);
    }
    fputs(
        "\n"
        "  farside VERB --help   explains a verb\n"
        "  farside --version     prints the version\n"
        "\n"
        "Exit status: 0 all is well, 1 a comparison differs or a run failed,\n"
        "2 wrong usage or bad input.\n",
        stdout);
}

static int complain_about(const char *word)
{
    g_autoptr(GPtrArray) names = g_ptr_array_new();
    g_autofree char *hint = NULL;

    for (unsigned i = 0; i < G_N_ELEMENTS(verbs); i++) {
        g_ptr_array_add(names, (char *)verbs[i].name);
    }
    hint = topo_suggest(word, names);
    fprintf(stderr, "farside: there is no verb \"%s\"%s\nTry: farside --help\n",
            word, hint);
    return CMD_USAGE;
}

int main(int argc, char **argv)
{
    const char *word = argc > 1 ? argv[1] : "";
    unsigned i;

    /* If a drawing program ends early, a write to it must fail, not end this
     * program. */
    signal(SIGPIPE, SIG_IGN);
    /* Names on the command line may be UTF-8. Numbers are as in the C
     * locale. */
    setlocale(LC_CTYPE, "");
    if (strcmp(word, "--version") == 0) {
        puts("farside " FARSIDE_VERSION);
        return CMD_OK;
    }
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 ||
        strcmp(word, "help") == 0) {
        print_help();
        return CMD_OK;
    }
    if (*word == '\0') {
        fputs("farside: a verb is missing\nTry: farside --help\n", stderr);
        return CMD_USAGE;
    }
    for (i = 0; i < G_N_ELEMENTS(verbs); i++) {
        if (strcmp(word, verbs[i].name) == 0) {
            return verbs[i].run(argc - 1, argv + 1);
        }
    }
    return complain_about(word);
}
