/* SPDX-License-Identifier: MIT */
#include "cmd.h"

#include <stdio.h>
#include <string.h>

void cmd_complain(const char *verb, GError *error)
{
    fprintf(stderr, "farside %s: %s\n", verb, error->message);
    g_error_free(error);
}

bool cmd_parse(int argc, char **argv, const GOptionEntry *entries,
               const char *synopsis, const char *details, char ***ret_args,
               int *ret_status)
{
    gboolean is_help = FALSE;
    /* Our own help, because GLib's prints and exits by itself, and in the
     * character set of the locale. */
    const GOptionEntry help[] = {
        {"help", 'h', 0, G_OPTION_ARG_NONE, &is_help, "Show this help", NULL},
        G_OPTION_ENTRY_NULL,
    };
    g_autoptr(GOptionContext) context = g_option_context_new(synopsis);
    g_autofree char *program = g_strconcat("farside ", argv[0], NULL);
    g_auto(GStrv) args = g_new0(char *, (gsize)argc + 1);
    GError *error = NULL;
    int i;

    for (i = 0; i < argc; i++) {
        args[i] = g_strdup(argv[i]);
    }
    g_set_prgname(program);
    g_option_context_set_help_enabled(context, FALSE);
    g_option_context_set_description(context, details);
    g_option_context_add_main_entries(context, entries, NULL);
    g_option_context_add_main_entries(context, help, NULL);
    if (!g_option_context_parse_strv(context, &args, &error)) {
        cmd_complain(argv[0], error);
        fprintf(stderr, "Try: farside %s --help\n", argv[0]);
        *ret_status = CMD_USAGE;
        return false;
    }
    if (is_help) {
        g_autofree char *text = g_option_context_get_help(context, TRUE, NULL);

        fputs(text, stdout);
        *ret_status = CMD_OK;
        return false;
    }
    i = args[1] != NULL && strcmp(args[1], "--") == 0 ? 2 : 1;
    *ret_args = g_strdupv(args + i);
    return true;
}
