/* SPDX-License-Identifier: MIT */
#include <locale.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <glib.h>

#include "cmd.h"
#include "cmd_form.h"
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
    {"import", "make a description from lspci, hwloc, NCCL or nvidia-smi",
     cmd_import},
    {"inventory", "list the devices of hosts as users select them",
     cmd_inventory},
    {"select", "find the function of each host that a request means",
     cmd_select},
    {"trace", "print the packets on the links of emulated hosts", cmd_trace},
    {"compare", "compare two result files, or two folders of them",
     cmd_compare},
    {"plot", "draw results again, without simulating", cmd_plot},
    {"export", "write results in the format of another tool", cmd_export},
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

/* Returns a line "VERB<TAB>SUMMARY" for each verb. */
static GPtrArray *verb_lines(void)
{
    GPtrArray *lines = g_ptr_array_new_with_free_func(g_free);

    for (unsigned i = 0; i < G_N_ELEMENTS(verbs); i++) {
        g_ptr_array_add(
            lines, g_strdup_printf("%s\t%s", verbs[i].name, verbs[i].help));
    }
    g_ptr_array_add(lines, NULL);
    return lines;
}

static const Verb *find_verb(const char *word)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(verbs); i++) {
        if (strcmp(word, verbs[i].name) == 0) {
            return &verbs[i];
        }
    }
    return NULL;
}

/* Completes the last of the words behind the program's name. The verb has the
 * options, so it does the work once it is known. */
static int complete(int count, char **words)
{
    g_autoptr(GPtrArray) args = g_ptr_array_new();
    const Verb *verb;

    if (count < 2) {
        for (unsigned i = 0; i < G_N_ELEMENTS(verbs); i++) {
            cmd_complete_offer(count ? words[0] : "", verbs[i].name,
                               verbs[i].help);
        }
        return CMD_OK;
    }
    for (int i = 0; i < count - 1; i++) {
        if (strcmp(words[i], "--") == 0) {
            puts(i == count - 2 ? ":command" : ":file");
            return CMD_OK;
        }
    }
    verb = find_verb(words[0]);
    if (!verb) {
        return CMD_OK;
    }
    g_ptr_array_add(args, words[0]);
    g_ptr_array_add(args, (char *)CMD_HELP_COMPLETE);
    for (int i = 1; i < count; i++) {
        g_ptr_array_add(args, words[i]);
    }
    g_ptr_array_add(args, NULL);
    return verb->run(count + 1, (char **)args->pdata);
}

/* Serves the build and the shells. Returns false if @word is no option of
 * theirs. */
static bool describe(const char *word, int argc, char **argv)
{
    g_autoptr(GPtrArray) lines = verb_lines();

    if (strcmp(word, CMD_HELP_VERBS) == 0) {
        for (unsigned i = 0; i + 1 < lines->len; i++) {
            puts(lines->pdata[i]);
        }
    } else if (strcmp(word, CMD_HELP_MAN) == 0) {
        cmd_man_print_program((const char *const *)lines->pdata);
    } else if (strcmp(word, CMD_HELP_COMPLETE) == 0) {
        complete(argc - 2, argv + 2);
    } else {
        return false;
    }
    return true;
}

/* Returns @status, or a failure if output was lost, as on a full disk. A reader
 * that has closed its end of a pipe has seen enough. */
static int check_output(int status)
{
    struct stat output;
    bool is_lost = fflush(stdout) != 0 || ferror(stdout);

    if (!is_lost || (fstat(STDOUT_FILENO, &output) == 0 &&
                     (S_ISFIFO(output.st_mode) || S_ISSOCK(output.st_mode)))) {
        return status;
    }
    fputs("farside: the output could not be written\n", stderr);
    return status == CMD_OK ? CMD_DIFFERENT : status;
}

static int run(int argc, char **argv)
{
    const char *word = argc > 1 ? argv[1] : "";
    const Verb *verb = find_verb(word);

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
    if (verb) {
        return verb->run(argc - 1, argv + 1);
    }
    if (describe(word, argc, argv)) {
        return CMD_OK;
    }
    return complain_about(word);
}

int main(int argc, char **argv)
{
    /* If a drawing program ends early, a write to it must fail, not end this
     * program. */
    signal(SIGPIPE, SIG_IGN);
    /* Names on the command line may be UTF-8. Numbers are as in the C
     * locale. */
    setlocale(LC_CTYPE, "");
    return check_output(run(argc, argv));
}
