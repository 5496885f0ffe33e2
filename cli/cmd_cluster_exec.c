/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "cmd.h"
#include "cmd_cluster_common.h"

#define TIMEOUT_MOST 1000000

/* Asks with a terminal that passes each key on at once, Ctrl-C included. */
static int ask_raw(const char *verb, const CmdArgs *args,
                   const char *const *words, const CluClientMode *mode)
{
    struct termios old, raw;
    bool is_terminal = tcgetattr(STDIN_FILENO, &old) == 0;
    int status;

    if (is_terminal) {
        raw = old;
        cfmakeraw(&raw);
        tcsetattr(STDIN_FILENO, TCSADRAIN, &raw);
    }
    status = cmd_cluster_ask(verb, args, words, mode);
    if (is_terminal) {
        tcsetattr(STDIN_FILENO, TCSADRAIN, &old);
    }
    return status;
}

static int run(const CmdVerb *verb, int argc, char **argv)
{
    CluClientMode mode = {.input = CLU_CLIENT_COMMAND};
    double timeout = 0;
    gboolean has_terminal = FALSE;
    const GOptionEntry options[] = {
        {"timeout", 0, 0, G_OPTION_ARG_DOUBLE, &timeout,
         "Kill the command if it takes longer; the exit status is then 124",
         "SECONDS"},
        {"terminal", 't', 0, G_OPTION_ARG_NONE, &has_terminal,
         "Give the command a terminal", NULL},
        G_OPTION_ENTRY_NULL,
    };
    g_auto(CmdArgs) args = {.words = NULL};
    g_autoptr(GPtrArray) words = NULL;
    CmdVerb front = *verb;
    char **command;
    int own = 1;
    int status;

    /* Options after "--" belong to the command. */
    while (own < argc && strcmp(argv[own], "--") != 0) {
        own++;
    }
    if (own < argc) {
        front.words.most = 1;
    }
    if (!cmd_parse(&front, own, argv, options, &args, &status)) {
        return status;
    }
    if (timeout < 0 || timeout > TIMEOUT_MOST) {
        return cmd_usage(argv[0],
                         "--timeout takes a number of seconds up to "
                         "%d",
                         TIMEOUT_MOST);
    }
    mode.timeout_ms = (unsigned)(timeout * 1000);
    command = own + 1 < argc ? argv + own + 1 : args.words + 1;
    if (!*command) {
        return cmd_usage(argv[0], "a command is missing");
    }
    words = clu_client_command(&mode, args.words[0], has_terminal, command);
    return (has_terminal ? ask_raw : cmd_cluster_ask)(
        argv[0], &args, (const char *const *)words->pdata, &mode);
}

const CmdVerb cmd_cluster_exec = {
    .name = "exec",
    .summary = "run a command on a host",
    .synopsis = "HOST -- COMMAND...",
    .words = {1, G_MAXUINT},
    .has_cluster = true,
    .run = run,
};
