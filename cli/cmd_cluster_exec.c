/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "cmd.h"
#include "cmd_cluster_common.h"

#define TIMEOUT_MOST 1000000

/* Adds the words before a command that give it a terminal as large as ours. */
static void add_terminal(GPtrArray *words, GPtrArray *texts)
{
    const char *term = g_getenv("TERM");
    struct winsize size = {0};

    ioctl(STDIN_FILENO, TIOCGWINSZ, &size);
    g_ptr_array_add(texts, g_strdup_printf("%u", size.ws_row));
    g_ptr_array_add(texts, g_strdup_printf("%u", size.ws_col));
    g_ptr_array_add(words, (char *)"/sbin/pty");
    g_ptr_array_add(words, texts->pdata[0]);
    g_ptr_array_add(words, texts->pdata[1]);
    g_ptr_array_add(words, (char *)(term && *term ? term : "linux"));
}

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
    g_autoptr(GPtrArray) words = g_ptr_array_new();
    g_autoptr(GPtrArray) texts = g_ptr_array_new_with_free_func(g_free);
    CmdVerb front = *verb;
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
    g_ptr_array_add(words, (char *)clu_client_exec(&mode));
    g_ptr_array_add(words, args.words[0]);
    if (has_terminal) {
        add_terminal(words, texts);
    }
    for (char **word = args.words + 1; *word; word++) {
        g_ptr_array_add(words, *word);
    }
    for (int i = own + 1; i < argc; i++) {
        g_ptr_array_add(words, argv[i]);
    }
    if (words->len < (has_terminal ? 7 : 3)) {
        return cmd_usage(argv[0], "a command is missing");
    }
    g_ptr_array_add(words, NULL);
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
