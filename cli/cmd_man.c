/* SPDX-License-Identifier: MIT */
#include "cmd_form.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

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

void cmd_man_print(const char *verb, const char *summary, const CmdForm *form)
{
    static const GOptionEntry help = {
        "help", 'h', 0, G_OPTION_ARG_NONE, NULL, "Show this help", NULL};
    g_autofree char *name = g_strconcat("farside-", verb, NULL);
    bool is_cluster = g_str_has_prefix(verb, "cluster ");

    g_strdelimit(name, " ", '-');
    print_head(name, summary);
    printf(".B farside %s\n[\\fIOPTION\\fR...]\n", verb);
    if (*form->synopsis) {
        print_line(form->synopsis);
    }
    if (form->details) {
        print_details(form->details);
    }
    puts(".SH OPTIONS");
    for (const GOptionEntry *entry = form->entries; entry->long_name; entry++) {
        print_option(entry);
    }
    print_option(&help);
    printf(".SH SEE ALSO\n.BR farside (1)%s\n",
           is_cluster ? ",\n.BR farside\\-cluster (1)" : "");
}

static void print_verbs(const char *program, const char *const *lines)
{
    for (; *lines; lines++) {
        g_auto(GStrv) parts = g_strsplit(*lines, "\t", 2);

        printf(".TP\n.BR %s\\-%s (1)\n", program, parts[0]);
        print_line(parts[1]);
    }
}

void cmd_man_print_program(const char *const *lines)
{
    print_head("farside", "a laboratory for PCIe fabrics joined by "
                          "non-transparent bridges");
    puts(".B farside\n\\fIVERB\\fR [\\fIOPTION\\fR...] \\fIARGUMENT\\fR...\n"
         ".br\n.B farside \\-\\-help\n.br\n.B farside \\-\\-version\n"
         ".SH DESCRIPTION\n"
         "A YAML file describes hosts, NTB adapters, cables and devices.\n"
         "Farside simulates them, or boots the hosts as virtual machines.\n"
         "A scenario that came with Farside is found in any folder by its\n"
         "name, such as paper/fig10/fig10.yaml.\n"
         ".SH VERBS");
    print_verbs("farside", lines);
    puts(".SH EXIT STATUS\n0 if all is well, 1 if a comparison differs or a "
         "run failed,\n2 on wrong usage or bad input.\n"
         ".SH ENVIRONMENT\n"
         ".TP\n.B FARSIDE_GUEST\n"
         "Folder of the image that virtual machines boot.\n"
         ".TP\n.B FARSIDE_QEMU_PLUGIN\n"
         "The NTB device for QEMU, farside\\-qemu.so.");
}

void cmd_man_print_cluster(const char *const *lines)
{
    print_head("farside-cluster",
               "run the hosts of a description as virtual machines");
    puts(".B farside cluster\n\\fIVERB\\fR [\\fIOPTION\\fR...] "
         "\\fIARGUMENT\\fR...\n.SH DESCRIPTION\n"
         "Runs the hosts of a description as virtual machines, joined by\n"
         "emulated NTBs. If several clusters run, option\n.B \\-c\n"
         "\\fINAME\\fR of all verbs but up and list chooses one.\n"
         ".SH VERBS");
    print_verbs("farside\\-cluster", lines);
    puts(".SH SEE ALSO\n.BR farside (1)");
}
