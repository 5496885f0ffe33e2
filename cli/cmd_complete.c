/* SPDX-License-Identifier: MIT */
#include "cmd_form.h"

#include <stdio.h>
#include <string.h>

#include "clu_dir.h"
#include "topo_description.h"
#include "topo_home.h"
#include "topo_keys.h"

/* The words on a command line whose last one is to be completed. */
typedef struct Line {
    const CmdVerb *verb;
    const GOptionEntry *entries;
    unsigned count; /* words before the last one */
    char **words;
    const char *begun; /* the last word */
} Line;

void cmd_complete_offer(const char *begun, const char *word, const char *why)
{
    if (g_str_has_prefix(word, begun)) {
        printf(why ? "%s\t%s\n" : "%s\n", word, why);
    }
}

static const GOptionEntry *find_option(const GOptionEntry *entries,
                                       const char *word)
{
    if (word[0] != '-' || word[1] == '\0') {
        return NULL;
    }
    for (const GOptionEntry *entry = entries; entry->long_name; entry++) {
        if ((word[1] == '-' && strcmp(word + 2, entry->long_name) == 0) ||
            (word[1] == entry->short_name && word[2] == '\0')) {
            return entry;
        }
    }
    return NULL;
}

/* Returns the option whose value is the word behind @word; NULL if there is
 * none. */
static const GOptionEntry *takes_value(const GOptionEntry *entries,
                                       const char *word)
{
    const GOptionEntry *entry = find_option(entries, word);

    return entry && entry->arg != G_OPTION_ARG_NONE ? entry : NULL;
}

/* Returns the number of words before the last one that are neither options nor
 * their values, and collects them in @ret_words. */
static GPtrArray *plain_words(const Line *line)
{
    GPtrArray *words = g_ptr_array_new();

    for (unsigned i = 0; i < line->count; i++) {
        if (takes_value(line->entries, line->words[i])) {
            i++;
        } else if (line->words[i][0] != '-') {
            g_ptr_array_add(words, line->words[i]);
        }
    }
    return words;
}

/* ---- Values ---------------------------------------------------------------
 */

/* Offers the paths that --set may change in the scenarios of the line. */
static void offer_keys(const Line *line, const char *begun)
{
    g_autoptr(GPtrArray) words = plain_words(line);

    for (unsigned i = 0; i < words->len; i++) {
        g_autofree char *path = topo_home_resolve(words->pdata[i]);
        g_autoptr(GPtrArray) keys = topo_keys_complete(path, begun);

        for (unsigned j = 0; j < keys->len; j++) {
            puts(keys->pdata[j]);
        }
    }
}

/* Offers the axes of the scenarios of the line, for --limit. */
static void offer_axes(const Line *line, const char *begun)
{
    g_autoptr(GPtrArray) words = plain_words(line);

    for (unsigned i = 0; i < words->len; i++) {
        g_autofree char *path = topo_home_resolve(words->pdata[i]);
        g_autoptr(TopoErrors) errors = topo_errors_new();
        g_autoptr(TopoDescription) description = topo_load(path, NULL, errors);

        for (unsigned j = 0; description && j < description->axes->len; j++) {
            const TopoAxis *axis = description->axes->pdata[j];
            g_autofree char *word = g_strconcat(axis->name, "=", NULL);

            cmd_complete_offer(begun, word, NULL);
        }
    }
}

static void offer_clusters(const char *begun)
{
    g_auto(GStrv) names = clu_dir_list();

    for (char **name = names; *name; name++) {
        cmd_complete_offer(begun, *name, NULL);
    }
}

/* Returns the value of option -c on the line; NULL if it is not there. */
static const char *chosen_cluster(const Line *line)
{
    for (unsigned i = 0; i + 1 < line->count; i++) {
        const GOptionEntry *entry = find_option(line->entries, line->words[i]);

        if (entry && strcmp(entry->long_name, "cluster") == 0) {
            return line->words[i + 1];
        }
    }
    return NULL;
}

/* Offers the hosts of @description, or its links. */
static void offer_elements(const TopoDescription *description, bool is_link,
                           const char *begun)
{
    const GPtrArray *elements =
        is_link ? description->links : description->hosts;

    for (unsigned i = 0; i < elements->len; i++) {
        cmd_complete_offer(begun,
                           is_link ? ((TopoLink *)elements->pdata[i])->name
                                   : ((TopoHost *)elements->pdata[i])->name,
                           NULL);
    }
}

/* Offers hosts or links of the cluster that -c chooses, or of all that run. */
static void offer_of_clusters(const Line *line, bool is_link)
{
    g_auto(GStrv) names = clu_dir_list();
    const char *chosen = chosen_cluster(line);

    for (char **name = names; *name; name++) {
        g_autofree char *dir = clu_dir_find(*name);
        g_autofree char *file = clu_dir_description(dir);
        g_autoptr(TopoErrors) errors = topo_errors_new();
        g_autoptr(TopoDescription) description = NULL;

        if (!file || (chosen && strcmp(chosen, *name) != 0 &&
                      strcmp(chosen, file) != 0)) {
            continue;
        }
        description = topo_load(file, NULL, errors);
        if (description) {
            offer_elements(description, is_link, line->begun);
        }
    }
}

static void offer_choices(const char *choices, const char *begun)
{
    g_auto(GStrv) words = g_strsplit(choices, "|", -1);

    for (char **word = words; *word; word++) {
        if (g_ascii_islower(**word)) {
            cmd_complete_offer(begun, *word, NULL);
        } else {
            puts(":file");
        }
    }
}

static void offer_value(const Line *line, const GOptionEntry *entry,
                        const char *begun)
{
    const char *kind = entry->arg_description ? entry->arg_description : "";

    if (strcmp(kind, "PATH=VALUE") == 0) {
        offer_keys(line, begun);
    } else if (strcmp(kind, "AXIS=VALUE") == 0) {
        offer_axes(line, begun);
    } else if (strcmp(entry->long_name, "cluster") == 0) {
        offer_clusters(begun);
    } else if (strcmp(kind, "DIR") == 0) {
        puts(":dir");
    } else if (entry->arg == G_OPTION_ARG_FILENAME) {
        puts(":file");
    } else if (strchr(kind, '|')) {
        offer_choices(kind, begun);
    }
}

/* ---- Words ----------------------------------------------------------------
 */

static void offer_word(const Line *line, const char *token)
{
    if (strcmp(token, "SCENARIO") == 0) {
        g_autoptr(TopoHome) home = topo_home_find();
        g_autoptr(GPtrArray) names = NULL;

        puts(":file");
        names = home ? topo_home_scenarios(home) : NULL;
        for (unsigned i = 0; names && i < names->len; i++) {
            cmd_complete_offer(line->begun, names->pdata[i], NULL);
        }
    } else if (strcmp(token, "HOST") == 0) {
        offer_of_clusters(line, false);
    } else if (strcmp(token, "LINK") == 0) {
        offer_of_clusters(line, true);
    } else if (strcmp(token, "DIR") == 0) {
        puts(":dir");
    } else {
        offer_choices(token, line->begun);
    }
}

/* Offers what the synopsis has at the place of the last word. */
static void offer_by_synopsis(const Line *line)
{
    g_autofree char *synopsis = g_strdup(line->verb->synopsis);
    g_autoptr(GPtrArray) words = plain_words(line);
    g_auto(GStrv) tokens = NULL;
    unsigned last;
    char *dots;

    g_strdelimit(synopsis, "[]", ' ');
    tokens = g_strsplit_set(g_strstrip(synopsis), " ", -1);
    last = g_strv_length(tokens);
    if (last == 0) {
        return;
    }
    if (words->len < last) {
        last = words->len;
    } else if (g_str_has_suffix(tokens[last - 1], "...")) {
        last--;
    } else {
        return;
    }
    dots = strstr(tokens[last], "...");
    if (dots) {
        *dots = '\0';
    }
    offer_word(line, tokens[last]);
}

static void offer_options(const Line *line)
{
    for (const GOptionEntry *entry = line->entries; entry->long_name; entry++) {
        bool has_value = entry->arg != G_OPTION_ARG_NONE;
        g_autofree char *word =
            g_strconcat("--", entry->long_name, has_value ? "=" : "", NULL);

        cmd_complete_offer(line->begun, word, entry->description);
    }
    cmd_complete_offer(line->begun, "--help", "Show this help");
}

void cmd_complete(const CmdVerb *verb, const GOptionEntry *entries, int count,
                  char **words)
{
    Line line = {verb, entries, count > 0 ? count - 1 : 0, words,
                 count > 0 ? words[count - 1] : ""};
    const char *equals = strchr(line.begun, '=');
    const GOptionEntry *entry =
        line.count > 0 ? takes_value(entries, words[line.count - 1]) : NULL;

    if (entry) {
        offer_value(&line, entry, line.begun);
    } else if (g_str_has_prefix(line.begun, "--") && equals) {
        g_autofree char *name =
            g_strndup(line.begun, (size_t)(equals - line.begun));

        entry = takes_value(entries, name);
        if (entry) {
            offer_value(&line, entry, equals + 1);
        }
    } else if (line.begun[0] == '-') {
        offer_options(&line);
    } else {
        offer_by_synopsis(&line);
    }
}
