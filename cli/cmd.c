/* SPDX-License-Identifier: MIT */
#include "cmd.h"

#include <stdio.h>
#include <string.h>

void cmd_complain(const char *verb, GError *error)
{
    fprintf(stderr, "farside %s: %s\n", verb, error->message);
    g_error_free(error);
}

/* Does an option of one letter, with a value, stand at the begin of @arg? */
static bool has_value_attached(const char *arg, const GOptionEntry *entries)
{
    if (arg[0] != '-' || arg[1] == '-' || arg[1] == '\0' || arg[2] == '\0') {
        return false;
    }
    for (; entries->long_name != NULL; entries++) {
        if (entries->short_name == arg[1]) {
            return entries->arg != G_OPTION_ARG_NONE;
        }
    }
    return false;
}

/* A copy of @argv in which "-j2", which GLib does not take, is "-j 2". */
static char **args_new(int argc, char **argv, const GOptionEntry *entries)
{
    g_autoptr(GPtrArray) args = g_ptr_array_new();
    bool are_options = true;

    for (int i = 0; i < argc; i++) {
        are_options = are_options && strcmp(argv[i], "--") != 0;
        if (are_options && has_value_attached(argv[i], entries)) {
            g_ptr_array_add(args, g_strndup(argv[i], 2));
            g_ptr_array_add(args, g_strdup(argv[i] + 2));
        } else {
            g_ptr_array_add(args, g_strdup(argv[i]));
        }
    }
    g_ptr_array_add(args, NULL);
    return (char **)g_ptr_array_free(g_steal_pointer(&args), FALSE);
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
    g_auto(GStrv) args = NULL;
    GError *error = NULL;
    int i;

    args = args_new(argc, argv, entries);
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
