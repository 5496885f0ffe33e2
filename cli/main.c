/* SPDX-License-Identifier: MIT */
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd.h"

/* Only this table lists the verbs. */
static const CmdVerb *const verbs[] = {
    &cmd_run,    &cmd_merge,    &cmd_check,   &cmd_topo,     &cmd_fit,
    &cmd_path,   &cmd_plan,     &cmd_convert, &cmd_import,   &cmd_inventory,
    &cmd_select, &cmd_metadata, &cmd_trace,   &cmd_compare,  &cmd_plot,
    &cmd_export, &cmd_report,   &cmd_cluster, &cmd_ntb_test, &cmd_bench,
    NULL};

static const CmdVerb program = {
    .name = "",
    .summary = "a laboratory for PCIe fabrics joined by non-transparent "
               "bridges",
    .verbs = verbs,
    .about = "A laboratory for PCIe fabrics joined by non-transparent "
             "bridges.",
    .hints =
        "  farside VERB --help   explains a verb\n"
        "  farside --version     prints the version\n"
        "\n"
        "Exit status: 0 all is well, 1 a comparison differs or a run failed,\n"
        "2 wrong usage or bad input.",
    .page = ".B farside\n\\fIVERB\\fR [\\fIOPTION\\fR...] \\fIARGUMENT\\fR...\n"
            ".br\n.B farside \\-\\-help\n.br\n.B farside \\-\\-version\n"
            ".SH DESCRIPTION\n"
            "A YAML file describes hosts, NTB adapters, cables and devices.\n"
            "Farside simulates them, or boots the hosts as virtual machines.\n"
            "A scenario that came with Farside is found in any folder by its\n"
            "name, such as paper/fig10/fig10.yaml.",
    .page_end =
        ".SH EXIT STATUS\n0 if all is well, 1 if a comparison differs or a "
        "run failed,\n2 on wrong usage or bad input.\n"
        ".SH ENVIRONMENT\n"
        ".TP\n.B FARSIDE_GUEST\n"
        "Folder of the image that virtual machines boot.\n"
        ".TP\n.B FARSIDE_QEMU_PLUGIN\n"
        "The NTB device for QEMU, farside\\-qemu.so.",
};

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

int main(int argc, char **argv)
{
    /* If a drawing program ends early, a write to it must fail, not end this
     * program. */
    signal(SIGPIPE, SIG_IGN);
    /* Names on the command line may be UTF-8. Numbers are as in the C
     * locale. */
    setlocale(LC_CTYPE, "");
    if (argc > 1 && strcmp(argv[1], "--version") == 0) {
        puts("farside " FARSIDE_VERSION);
        return check_output(CMD_OK);
    }
    argv[0] = (char *)program.name;
    return check_output(cmd_verbs_run(&program, argc, argv));
}
