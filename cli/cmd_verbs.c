/* SPDX-License-Identifier: MIT */
/* Verbs that have verbs: the program itself, and `cluster`. */
#include <stdio.h>
#include <string.h>

#include "cmd.h"
#include "cmd_form.h"
#include "topo_suggest.h"

static const CmdVerb *find_verb(const CmdVerb *const *verbs, const char *word)
{
    while (*verbs && strcmp((*verbs)->name, word) != 0) {
        verbs++;
    }
    return *verbs;
}

/* Calls @verb with @argv, whose first word is its name, and which follows the
 * verbs @above. */
static int call(const CmdVerb *verb, const char *above, int argc, char **argv)
{
    g_autofree char *name =
        g_strconcat(above, *above ? " " : "", verb->name, NULL);

    argv[0] = name; /* messages begin with it */
    return verb->run(verb, argc, argv);
}

static void print_help(const CmdVerb *verb, const char *name)
{
    printf("Usage:\n  farside%s%s VERB [OPTION...] ARGUMENT...\n\n%s\n\n"
           "Verbs:\n",
           *name ? " " : "", name, verb->about);
    for (const CmdVerb *const *its = verb->verbs; *its; its++) {
        printf("  %-10s %s\n", (*its)->name, (*its)->summary);
    }
    printf("\n%s\n", verb->hints);
}

/* Completes the last of the words behind the names of verbs. A verb has the
 * options, so it does the work once it is known. */
static void complete(const CmdVerb *verb, const char *name, int count,
                     char **words)
{
    g_autoptr(GPtrArray) args = g_ptr_array_new();
    const CmdVerb *chosen;

    for (const CmdVerb *const *its = verb->verbs; count < 2 && *its; its++) {
        cmd_complete_offer(count ? words[0] : "", (*its)->name,
                           (*its)->summary);
    }
    for (int i = 0; i < count - 1; i++) {
        if (strcmp(words[i], "--") == 0) {
            puts(i == count - 2 ? ":command" : ":file");
            return;
        }
    }
    chosen = count < 2 ? NULL : find_verb(verb->verbs, words[0]);
    if (!chosen) {
        return;
    }
    g_ptr_array_add(args, words[0]);
    g_ptr_array_add(args, (char *)CMD_HELP_COMPLETE);
    for (int i = 1; i < count; i++) {
        g_ptr_array_add(args, words[i]);
    }
    g_ptr_array_add(args, NULL);
    call(chosen, name, count + 1, (char **)args->pdata);
}

/* Serves the build and the shells. False if @word is no option of theirs. */
static bool describe(const CmdVerb *verb, const char *word, int argc,
                     char **argv)
{
    if (strcmp(word, CMD_HELP_VERBS) == 0) {
        for (const CmdVerb *const *its = verb->verbs; *its; its++) {
            printf("%s\t%s\n", (*its)->name, (*its)->summary);
        }
    } else if (strcmp(word, CMD_HELP_MAN) == 0) {
        cmd_man_print_list(argv[0], verb);
    } else if (strcmp(word, CMD_HELP_COMPLETE) == 0) {
        complete(verb, argv[0], argc - 2, argv + 2);
    } else {
        return false;
    }
    return true;
}

static int complain_about(const CmdVerb *verb, const char *name,
                          const char *word)
{
    g_autoptr(GPtrArray) names = g_ptr_array_new();
    g_autofree char *hint = NULL;

    for (const CmdVerb *const *its = verb->verbs; *its; its++) {
        g_ptr_array_add(names, (char *)(*its)->name);
    }
    hint = topo_suggest(word, names);
    return cmd_usage(name, "there is no verb \"%s\"%s", word, hint);
}

int cmd_verbs_run(const CmdVerb *verb, int argc, char **argv)
{
    const char *word = argc > 1 ? argv[1] : "";
    const CmdVerb *chosen = find_verb(verb->verbs, word);

    if (chosen) {
        return call(chosen, argv[0], argc - 1, argv + 1);
    }
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 ||
        strcmp(word, "help") == 0) {
        print_help(verb, argv[0]);
        return CMD_OK;
    }
    if (describe(verb, word, argc, argv)) {
        return CMD_OK;
    }
    return *word ? complain_about(verb, argv[0], word)
                 : cmd_usage(argv[0], "a verb is missing");
}
