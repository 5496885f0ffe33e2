/* SPDX-License-Identifier: MIT */
#include "cmd_form.h"

#include <stdio.h>
#include <string.h>

#include "cmd_help.h"

char *cmd_help_text(const CmdVerb *verb, const char *name)
{
    g_autofree char *path = g_strconcat("/farside/help/", name, NULL);
    g_autoptr(GBytes) bytes = NULL;
    g_autoptr(GString) text = NULL;

    g_strdelimit(path, " ", '-');
    bytes = g_resource_lookup_data(cmd_help_get_resource(), path,
                                   G_RESOURCE_LOOKUP_FLAGS_NONE, NULL);
    g_assert(bytes);
    text = g_string_new(g_bytes_get_data(bytes, NULL));
    if (verb->help_list) {
        g_autofree char *list = verb->help_list();

        g_string_replace(text, "@list@", list, 1);
    }
    return g_strchomp(g_string_free(g_steal_pointer(&text), FALSE));
}

/*
 * Manual pages in roff, from the same text as --help. A paragraph of the help
 * is filled. Its lines that begin with two spaces are examples, or, if a word
 * and more spaces follow, rows of a list.
 */

static void print_escaped(const char *text)
{
    if (*text == '.' || *text == '\'') {
        fputs("\\&", stdout);
    }
    for (; *text; text++) {
        if (*text == '\\') {
            fputs("\\e", stdout);
        } else if (*text == '-') {
            fputs("\\-", stdout);
        } else {
            putchar(*text);
        }
    }
}

static void print_line(const char *text)
{
    print_escaped(text);
    putchar('\n');
}

/* Returns the rest of a row of a list, behind its first word and at least two
 * spaces; NULL if @line is not such a row. */
static const char *row_text(const char *line)
{
    const char *end;

    if (!g_str_has_prefix(line, "  ") || line[2] == ' ' || line[2] == '\0') {
        return NULL;
    }
    end = strstr(line + 2, "  ");
    return end ? end + strspn(end, " ") : NULL;
}

static void print_row(const char *line, const char *text)
{
    const char *word = line + 2;
    g_autofree char *name = g_strndup(word, strstr(word, "  ") - word);

    fputs(".TP\n.B ", stdout);
    print_line(name);
    print_line(text);
}

static void print_example(const char *line)
{
    fputs(".PP\n.RS 4\n.nf\n", stdout);
    print_line(line + 2);
    fputs(".fi\n.RE\n", stdout);
}

static void print_body_line(const char *line, bool *is_list)
{
    const char *text = row_text(line);

    if (text) {
        print_row(line, text);
        *is_list = true;
        return;
    }
    if (line[0] == ' ' && line[1] == ' ') {
        print_example(line);
        *is_list = true;
        return;
    }
    if (*is_list) {
        puts(".PP");
        *is_list = false;
    }
    print_line(line);
}

static void print_paragraph(const char *paragraph)
{
    g_auto(GStrv) lines = g_strsplit(paragraph, "\n", -1);
    bool is_list = false;

    puts(".PP");
    for (char **line = lines; *line; line++) {
        if (**line) {
            /* A line above a list is its heading. */
            is_list = is_list || (line[1] && row_text(line[1]));
            print_body_line(*line, &is_list);
        }
    }
}

#define EXIT_STATUS "Exit status: "

static void print_details(const char *details)
{
    g_auto(GStrv) paragraphs = g_strsplit(details, "\n\n", -1);
    const char *status = NULL;

    puts(".SH DESCRIPTION");
    for (char **paragraph = paragraphs; *paragraph; paragraph++) {
        if (g_str_has_prefix(*paragraph, EXIT_STATUS)) {
            status = *paragraph + strlen(EXIT_STATUS);
        } else if (**paragraph) {
            print_paragraph(*paragraph);
        }
    }
    if (status) {
        puts(".SH EXIT STATUS");
        print_paragraph(status);
    }
}

static void print_option(const GOptionEntry *entry)
{
    fputs(".TP\n.B ", stdout);
    if (entry->short_name) {
        printf("\\-%c\\fR, \\fB", entry->short_name);
    }
    fputs("\\-\\-", stdout);
    print_escaped(entry->long_name);
    if (entry->arg_description) {
        fputs("\\fR=\\fI", stdout);
        print_escaped(entry->arg_description);
        fputs("\\fR", stdout);
    }
    putchar('\n');
    print_line(entry->description);
}

static void print_head(const char *page, const char *summary)
{
    g_autofree char *title = g_ascii_strup(page, -1);

    printf(".\\\" Made from the program's own help.\n.TH %s 1 \"\" \"farside "
           "%s\" \"User Commands\"\n.SH NAME\n",
           title, FARSIDE_VERSION);
    print_escaped(page);
    fputs(" \\- ", stdout);
    print_line(summary);
    puts(".SH SYNOPSIS");
}

/* The page of the verb @name, "" for the program; to be freed. */
static char *page_name(const char *name)
{
    return g_strdelimit(g_strconcat("farside", *name ? "-" : "", name, NULL),
                        " ", '-');
}

void cmd_man_print(const char *name, const CmdVerb *verb,
                   const GOptionEntry *entries)
{
    static const GOptionEntry help = {
        "help", 'h', 0, G_OPTION_ARG_NONE, NULL, "Show this help", NULL};
    g_autofree char *page = page_name(name);
    g_autofree char *details = cmd_help_text(verb, name);
    bool is_cluster = g_str_has_prefix(name, "cluster ");

    print_head(page, verb->summary);
    printf(".B farside %s\n[\\fIOPTION\\fR...]\n", name);
    if (*verb->synopsis) {
        print_line(verb->synopsis);
    }
    print_details(details);
    puts(".SH OPTIONS");
    for (const GOptionEntry *entry = entries; entry->long_name; entry++) {
        print_option(entry);
    }
    print_option(&help);
    printf(".SH SEE ALSO\n.BR farside (1)%s\n",
           is_cluster ? ",\n.BR farside\\-cluster (1)" : "");
}

void cmd_man_print_list(const char *name, const CmdVerb *verb)
{
    g_autofree char *page = page_name(name);

    print_head(page, verb->page_title ? verb->page_title : verb->summary);
    puts(verb->page);
    puts(".SH VERBS");
    for (const CmdVerb *const *its = verb->verbs; *its; its++) {
        fputs(".TP\n.BR ", stdout);
        print_escaped(page);
        printf("\\-%s (1)\n", (*its)->name);
        print_line((*its)->summary);
    }
    puts(verb->page_end);
}
