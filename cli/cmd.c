/* SPDX-License-Identifier: MIT */
#include "cmd.h"

#include <stdio.h>
#include <string.h>

#include "cmd_form.h"
#include "table_format.h"

void cmd_complain(const char *verb, GError *error)
{
    fprintf(stderr, "farside %s: %s\n", verb, error->message);
    g_error_free(error);
}

int cmd_usage(const char *verb, const char *format, ...)
{
    g_autofree char *message = NULL;
    va_list args;

    va_start(args, format);
    message = g_strdup_vprintf(format, args);
    va_end(args);
    fprintf(stderr, "farside %s: %s\nTry: farside %s --help\n", verb, message,
            verb);
    return CMD_USAGE;
}

void cmd_print_table(const Table *table)
{
    g_autofree char *text = table_format(table);

    fputs(text, stdout);
}

/* Returns true if @arg is an option of one letter with its value attached, such
 * as "-j2". */
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

/* Returns a copy of @argv in which "-j2" is split into "-j" and "2". GLib does
 * not accept the first form. */
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

/* Parses only the options. Results are those of cmd_parse(). */
static bool parse_options(int argc, char **argv, const GOptionEntry *entries,
                          const char *synopsis, const char *details,
                          char ***ret_args, int *ret_status)
{
    gboolean is_help = FALSE;
    /* GLib's own help prints in the character set of the locale and exits. */
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
        *ret_status = cmd_usage(argv[0], "%s", error->message);
        g_error_free(error);
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

bool cmd_parse(int argc, char **argv, const GOptionEntry *entries,
               const CmdWords *words, const char *details, char ***ret_args,
               int *ret_status)
{
    const CmdForm form = {entries, words->synopsis, details};
    g_auto(GStrv) args = NULL;
    unsigned count;

    if (argc > 1 && strcmp(argv[1], CMD_HELP_MAN) == 0) {
        cmd_man_print(argv[0], argc > 2 ? argv[2] : "", &form);
        *ret_status = CMD_OK;
        return false;
    }
    if (argc > 1 && strcmp(argv[1], CMD_HELP_COMPLETE) == 0) {
        cmd_complete(&form, argc - 2, argv + 2);
        *ret_status = CMD_OK;
        return false;
    }
    if (!parse_options(argc, argv, entries, words->synopsis, details, &args,
                       ret_status)) {
        return false;
    }
    count = g_strv_length(args);
    if (count < words->least || count > words->most) {
        *ret_status = cmd_usage(
            argv[0], "%s; it takes %s",
            count < words->least ? "an argument is missing"
                                 : "there are too many arguments",
            *words->synopsis != '\0' ? words->synopsis : "options alone");
        return false;
    }
    *ret_args = g_steal_pointer(&args);
    return true;
}
