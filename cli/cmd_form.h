/* SPDX-License-Identifier: MIT */
#ifndef CMD_FORM_H
#define CMD_FORM_H

#include <glib.h>

/*
 * The form of a verb's command line, from which its help, its manual page and
 * its completion are made. The first word after the verb chooses one of the
 * latter two. They are for the build and for shells; --help does not list
 * them.
 */
typedef struct CmdForm {
    const GOptionEntry *entries;
    const char *synopsis; /* the words that it takes */
    const char *details;  /* nullable: text below the options */
} CmdForm;

/* VERB --help-man SUMMARY prints the manual page of VERB. */
#define CMD_HELP_MAN "--help-man"

/* VERB --help-complete WORD... prints what the last WORD may be completed to.
 */
#define CMD_HELP_COMPLETE "--help-complete"

/* --help-verbs prints a line "VERB<TAB>SUMMARY" for each verb. */
#define CMD_HELP_VERBS "--help-verbs"

/* Prints the manual page of @verb in roff. */
void cmd_man_print(const char *verb, const char *summary, const CmdForm *form);

/* Prints the page of the program whose verbs are @lines, each "VERB<TAB>
 * SUMMARY". */
void cmd_man_print_program(const char *const *lines);

/* Prints the page of `farside cluster`, in the same way. */
void cmd_man_print_cluster(const char *const *lines);

/*
 * Prints what the last of @words may be completed to, one in a line, with a tab
 * and an explanation if there is one. A line that begins with ":" tells the
 * shell to complete the word itself: ":file" to the name of a file, ":dir" to
 * that of a folder, ":command" to a program.
 */
void cmd_complete(const CmdForm *form, int count, char **words);

/* Prints @word, and behind a tab @why, if @word begins with @begun. */
void cmd_complete_offer(const char *begun, const char *word, const char *why);

#endif
