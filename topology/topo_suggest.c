/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "topo_reader_priv.h"

/* Longer names are not compared. */
#define NAME_MAX_BYTES 64
/* The keys of the richest flow are listed, the parts of the library are not. */
#define LISTED_MAX     32

/* The Levenshtein distance: the number of letters to insert, delete or
 * replace. */
static unsigned distance(const char *a, const char *b)
{
    unsigned row[NAME_MAX_BYTES + 1];
    size_t len_a = strlen(a);
    size_t len_b = strlen(b);
    size_t i, j;

    if (len_a > NAME_MAX_BYTES || len_b > NAME_MAX_BYTES) {
        return NAME_MAX_BYTES;
    }
    for (j = 0; j <= len_b; j++) {
        row[j] = (unsigned)j;
    }
    for (i = 1; i <= len_a; i++) {
        unsigned diagonal = row[0];

        row[0] = (unsigned)i;
        for (j = 1; j <= len_b; j++) {
            unsigned above = row[j];
            unsigned changed = diagonal + (g_ascii_tolower(a[i - 1]) !=
                                           g_ascii_tolower(b[j - 1]));

            row[j] = MIN(changed, MIN(above, row[j - 1]) + 1);
            diagonal = above;
        }
    }
    return row[len_b];
}

static int compare_texts(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static char *list_all(const GPtrArray *candidates)
{
    g_autoptr(GPtrArray) sorted = g_ptr_array_new();
    GString *out = g_string_new("; ");
    unsigned i;

    for (i = 0; i < candidates->len; i++) {
        g_ptr_array_add(sorted, candidates->pdata[i]);
    }
    g_ptr_array_sort(sorted, compare_texts);
    g_string_append(out,
                    candidates->len == 1 ? "there is only " : "there are ");
    for (i = 0; i < sorted->len && i < LISTED_MAX; i++) {
        g_string_append_printf(out, "%s%s", i > 0 ? ", " : "",
                               (const char *)sorted->pdata[i]);
    }
    if (sorted->len > LISTED_MAX) {
        g_string_append_printf(out, " and %u more", sorted->len - LISTED_MAX);
    }
    return g_string_free(out, FALSE);
}

char *topo_suggest(const char *name, const GPtrArray *candidates)
{
    const char *best = NULL;
    unsigned best_distance = NAME_MAX_BYTES;
    unsigned i;

    for (i = 0; i < candidates->len; i++) {
        const char *candidate = g_ptr_array_index(candidates, i);
        const char *last = strrchr(candidate, '.');
        unsigned d = distance(name, candidate);

        /* "reads" is near to "dma.reads". */
        if (last && strcmp(last + 1, name) == 0) {
            d = 1;
        }
        if (d < best_distance) {
            best_distance = d;
            best = candidate;
        }
    }
    /* Two different names of one letter are not similar. */
    if (best && best_distance <= 1 + strlen(name) / 4 &&
        best_distance < strlen(name)) {
        return g_strdup_printf("; did you mean %s?", best);
    }
    if (candidates->len == 0) {
        return g_strdup("; there is none");
    }
    return list_all(candidates);
}

const char *topo_article(const char *noun)
{
    static const char *const spelled[] = {"mmio", "ntb", "nvme"};
    unsigned i;

    for (i = 0; i < G_N_ELEMENTS(spelled); i++) {
        if (g_str_has_prefix(noun, spelled[i])) {
            return "an";
        }
    }
    return strchr("aeio", *noun) ? "an" : "a";
}

void topo_no_such_host(const char *name, const GPtrArray *hosts, GError **error)
{
    g_autofree char *hint = topo_suggest(name, hosts);

    topo_refuse_option(error, "there is no host '%s'%s", name, hint);
}
