/* SPDX-License-Identifier: MIT */
#ifndef CMD_FORM_H
#define CMD_FORM_H

#include "cmd.h"

/*
 * A verb's help, its manual page and its completion are made from its CmdVerb
 * and its options. The first word after the verb chooses one of the latter two.
 * They are for the build and for shells; --help does not list them.
 */

/* VERB --help-man prints the manual page of VERB. */
#define CMD_HELP_MAN "--help-man"

/* VERB --help-complete WORD... prints what the last WORD may be completed to.
 */
#define CMD_HELP_COMPLETE "--help-complete"

/* --help-verbs prints a line "VERB<TAB>SUMMARY" for each verb. */
#define CMD_HELP_VERBS "--help-verbs"

/* The help of @verb below its options; to be freed. @name is its name with
 * those of the verbs above it. */
char *cmd_help_text(const CmdVerb *verb, const char *name);

/* Prints the manual page of @verb in roff. @name is its name with those of the
 * verbs above it, @entries its options. */
void cmd_man_print(const char *name, const CmdVerb *verb,
                   const GOptionEntry *entries);

/* The same for a verb that has verbs; @name is "" for the program. */
void cmd_man_print_list(const char *name, const CmdVerb *verb);

/*
 * Prints what the last of @words may be completed to, one in a line, with a tab
 * and an explanation if there is one. A line that begins with ":" tells the
 * shell to complete the word itself: ":file" to the name of a file, ":dir" to
 * that of a folder, ":command" to a program.
 */
void cmd_complete(const CmdVerb *verb, const GOptionEntry *entries, int count,
                  char **words);

/* Prints @word, and behind a tab @why, if @word begins with @begun. */
void cmd_complete_offer(const char *begun, const char *word, const char *why);

#endif
