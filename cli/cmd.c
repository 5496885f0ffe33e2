/* SPDX-License-Identifier: MIT */
#include "cmd.h"

#include <stdio.h>
#include <string.h>

#include "cmd_form.h"
#include "table_format.h"

int cmd_complain(const char *verb, GError *error)
{
    if (error->domain == G_OPTION_ERROR) {
        cmd_usage(verb, "%s", error->message);
    } else {
        fprintf(stderr, "farside %s: %s\n", verb, error->message);
    }
    g_error_free(error);
    return CMD_USAGE;
}

int cmd_fail(const char *verb, GError *error)
{
    bool is_usage = error->domain == G_OPTION_ERROR;

    cmd_complain(verb, error);
    return is_usage ? CMD_USAGE : CMD_DIFFERENT;
}

int cmd_usage(const char *verb, const char *format, ...)
{
    g_autofree char *message = NULL;
    g_autofree char *name = NULL;
    va_list args;

    va_start(args, format);
    message = g_strdup_vprintf(format, args);
    va_end(args);
    name = g_strconcat("farside", *verb ? " " : "", verb, NULL);
    fprintf(stderr, "%s: %s\nTry: %s --help\n", name, message, name);
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
    for (; entries->long_name; entries++) {
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

void cmd_args_clear(CmdArgs *args)
{
    for (unsigned i = 0; args->entries && i < args->entries->len; i++) {
        const GOptionEntry *entry =
            &g_array_index(args->entries, GOptionEntry, i);

        if (entry->arg == G_OPTION_ARG_STRING ||
            entry->arg == G_OPTION_ARG_FILENAME) {
            g_clear_pointer((char **)entry->arg_data, g_free);
        } else if (entry->arg == G_OPTION_ARG_STRING_ARRAY ||
                   entry->arg == G_OPTION_ARG_FILENAME_ARRAY) {
            g_clear_pointer((char ***)entry->arg_data, g_strfreev);
        }
    }
    g_clear_pointer(&args->entries, g_array_unref);
    g_clear_pointer(&args->words, g_strfreev);
    args->cluster = NULL;
}

/* Parses only the options. Results are those of cmd_parse(). */
static bool parse_options(const CmdVerb *verb, int argc, char **argv,
                          const GOptionEntry *entries, char ***ret_words,
                          int *ret_status)
{
    gboolean is_help = FALSE;
    /* GLib's own help prints in the character set of the locale and exits. */
    const GOptionEntry help[] = {
        {"help", 'h', 0, G_OPTION_ARG_NONE, &is_help, "Show this help", NULL},
        G_OPTION_ENTRY_NULL,
    };
    g_autoptr(GOptionContext) context = g_option_context_new(verb->synopsis);
    g_autofree char *program = g_strconcat("farside ", argv[0], NULL);
    g_autofree char *details = cmd_help_text(verb, argv[0]);
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
        *ret_status = cmd_complain(argv[0], error);
        return false;
    }
    if (is_help) {
        g_autofree char *text = g_option_context_get_help(context, TRUE, NULL);

        fputs(text, stdout);
        *ret_status = CMD_OK;
        return false;
    }
    i = args[1] && strcmp(args[1], "--") == 0 ? 2 : 1;
    *ret_words = g_strdupv(args + i);
    return true;
}

bool cmd_parse(const CmdVerb *verb, int argc, char **argv,
               const GOptionEntry *own, CmdArgs *ret_args, int *ret_status)
{
    const GOptionEntry cluster = {
        "cluster",
        'c',
        0,
        G_OPTION_ARG_STRING,
        &ret_args->cluster,
        "The cluster, by its name or file; needed only if several run",
        "NAME"};
    GArray *all = g_array_new(TRUE, TRUE, sizeof(GOptionEntry));
    const GOptionEntry *entries;
    unsigned count;

    *ret_args = (CmdArgs){.entries = all};
    if (verb->has_cluster) {
        g_array_append_val(all, cluster);
    }
    for (; own && own->long_name; own++) {
        g_array_append_val(all, *own);
    }
    entries = (const GOptionEntry *)(void *)all->data;
    if (argc > 1 && strcmp(argv[1], CMD_HELP_MAN) == 0) {
        cmd_man_print(argv[0], verb, entries);
        *ret_status = CMD_OK;
        return false;
    }
    if (argc > 1 && strcmp(argv[1], CMD_HELP_COMPLETE) == 0) {
        cmd_complete(verb, entries, argc - 2, argv + 2);
        *ret_status = CMD_OK;
        return false;
    }
    if (!parse_options(verb, argc, argv, entries, &ret_args->words,
                       ret_status)) {
        return false;
    }
    count = g_strv_length(ret_args->words);
    if (count < verb->words.least || count > verb->words.most) {
        *ret_status = cmd_usage(
            argv[0], "%s; it takes %s",
            count < verb->words.least ? "an argument is missing"
                                      : "there are too many arguments",
            *verb->synopsis != '\0' ? verb->synopsis : "options alone");
        return false;
    }
    return true;
}
