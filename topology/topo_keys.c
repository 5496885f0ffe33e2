/* SPDX-License-Identifier: MIT */
#include "topo_keys.h"

#include <string.h>

#include "topo_flow_priv.h"
#include "topo_library_priv.h"
#include "topo_node_priv.h"
#include "topo_repeat_priv.h"
#include "topo_schema_priv.h"

/* A walk to the level at which the text ends. */
typedef struct Walk {
    const TopoNode *root;
    const char *path;
    GString *done; /* the words that have been walked, with their dots */
    GPtrArray *found;
} Walk;

static void offer(const Walk *walk, const char *word, const char *end)
{
    g_ptr_array_add(walk->found, g_strconcat(walk->done->str, word, end, NULL));
}

/* Removes the first word, up to the next dot, from *@rest. Returns it, to be
 * freed; NULL if it is the last word, which is being written. */
static char *take_word(const Walk *walk, const char **rest)
{
    const char *dot = strchr(*rest, '.');
    char *word;

    if (!dot) {
        return NULL;
    }
    word = g_strndup(*rest, (size_t)(dot - *rest));
    g_string_append_printf(walk->done, "%s.", word);
    *rest = dot + 1;
    return word;
}

static bool goes_on(const TopoKey *key)
{
    switch (key->type) {
    case TOPO_TYPE_LIST:
    case TOPO_TYPE_MAP:
    case TOPO_TYPE_SET:
    case TOPO_TYPE_PARTS:
    case TOPO_TYPE_CHANGES:
    case TOPO_TYPE_TREE:
        return true;
    default:
        return false;
    }
}

static void offer_keys(const Walk *walk, const TopoSection *section)
{
    for (unsigned i = 0; i < section->n_keys; i++) {
        const TopoKey *key = &section->keys[i];

        offer(walk, key->key, goes_on(key) ? "." : "=");
    }
}

/* Offers the choices of the key whose path ends before the "=" in @rest. */
static void offer_choices(const Walk *walk, const TopoSection *section,
                          const char *rest)
{
    const char *equals = strchr(rest, '=');
    g_autofree char *word = g_strndup(rest, (size_t)(equals - rest));
    const TopoKey *key = topo_schema_find(section, word);

    if (key && key->choices) {
        g_auto(GStrv) choices = g_strsplit(key->choices, "|", -1);

        g_string_append_printf(walk->done, "%s=", word);
        for (char **choice = choices; *choice; choice++) {
            offer(walk, *choice, "");
        }
    }
}

/* Offers the keys of a section, or the choices of one of them. */
static void end_in(const Walk *walk, const TopoSection *section,
                   const char *rest)
{
    if (strchr(rest, '=')) {
        offer_choices(walk, section, rest);
    } else {
        offer_keys(walk, section);
    }
}

/* Parts of all kinds: the kind of the part at this place may be unknown. */
static void end_in_part(const Walk *walk, const char *rest)
{
    for (TopoPartKind kind = 0; kind < TOPO_PART_N_KINDS; kind++) {
        end_in(walk, topo_schema_part(kind), rest);
    }
}

static const char *name_of(const TopoNode *member)
{
    const char *name = topo_node_get_text(member, "name");

    return name ? name : topo_node_get_text(member, "label");
}

static void offer_members(const Walk *walk, const TopoNode *list)
{
    for (unsigned i = 0; i < list->items->len; i++) {
        const char *name = name_of(list->items->pdata[i]);
        g_autofree char *number = g_strdup_printf("%u", i);

        offer(walk, name ? name : number, ".");
    }
}

static const TopoNode *find_member(const TopoNode *list, const char *word)
{
    guint64 number;

    for (unsigned i = 0; i < list->items->len; i++) {
        const char *name = name_of(list->items->pdata[i]);

        if (name && strcmp(name, word) == 0) {
            return list->items->pdata[i];
        }
    }
    return g_ascii_string_to_unsigned(word, 10, 0, G_MAXUINT, &number, NULL) &&
                   number < list->items->len
               ? list->items->pdata[number]
               : NULL;
}

static void offer_parts(const Walk *walk, const TopoNode *own)
{
    g_autofree char *dir = topo_library_find_dir(walk->path);
    GDir *open = dir ? g_dir_open(dir, 0, NULL) : NULL;
    const char *entry;

    while (open && (entry = g_dir_read_name(open))) {
        if (g_str_has_suffix(entry, ".yaml")) {
            g_autofree char *name =
                g_strndup(entry, strlen(entry) - strlen(".yaml"));

            offer(walk, name, ".");
        }
    }
    g_clear_pointer(&open, g_dir_close);
    for (unsigned i = 0;
         own && own->kind == TOPO_NODE_MAP && i < own->items->len; i++) {
        const TopoEntry *part = own->items->pdata[i];

        offer(walk, part->key, ".");
    }
}

static void walk_section(const Walk *walk, const TopoSection *section,
                         const TopoNode *map, const char *rest);

static void walk_list(const Walk *walk, const TopoKey *key,
                      const TopoNode *list, const char *rest)
{
    const TopoSection *section = key->section;
    const TopoNode *member;
    g_autofree char *word = NULL;

    if (!list || list->kind != TOPO_NODE_LIST) {
        return;
    }
    word = take_word(walk, &rest);
    if (!word) {
        offer_members(walk, list);
        return;
    }
    member = find_member(list, word);
    if (!member) {
        return;
    }
    if (!section) {
        const TopoFlowKind *kind =
            topo_flow_find_kind(topo_node_get_text(member, "kind"));

        section = kind ? &kind->section : &topo_flow_kinds[0].section;
    }
    walk_section(walk, section, member, rest);
}

static void walk_parts(const Walk *walk, const TopoNode *own, const char *rest)
{
    g_autofree char *name = take_word(walk, &rest);

    if (!name) {
        offer_parts(walk, own);
    } else {
        end_in_part(walk, rest);
    }
}

static void walk_section(const Walk *walk, const TopoSection *section,
                         const TopoNode *map, const char *rest)
{
    size_t length = strcspn(rest, ".=");
    g_autofree char *first = g_strndup(rest, length);
    const TopoKey *key = topo_schema_find(section, first);
    g_autofree char *word = NULL;

    if (!key || !goes_on(key) || rest[length] != '.') {
        end_in(walk, section, rest);
        return;
    }
    word = take_word(walk, &rest);
    switch (key->type) {
    case TOPO_TYPE_LIST:
        walk_list(walk, key, topo_node_get(map, word), rest);
        break;
    case TOPO_TYPE_MAP:
        walk_section(walk, key->section, topo_node_get(map, word), rest);
        break;
    case TOPO_TYPE_SET:
        end_in_part(walk, rest);
        break;
    case TOPO_TYPE_PARTS:
        walk_parts(walk, topo_node_get(map, word), rest);
        break;
    default:
        break;
    }
}

static int compare_texts(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Sorts @found, and removes texts that are there twice or do not begin with
 * @begun. */
static void tidy(GPtrArray *found, const char *begun)
{
    unsigned i = 0;

    g_ptr_array_sort(found, compare_texts);
    while (i < found->len) {
        const char *text = found->pdata[i];

        if (!g_str_has_prefix(text, begun) ||
            (i > 0 && strcmp(text, found->pdata[i - 1]) == 0)) {
            g_ptr_array_remove_index(found, i);
        } else {
            i++;
        }
    }
}

/* Returns the tree of the file @path after `repeat:`; NULL on errors. */
static TopoNode *read_tree(const char *path)
{
    g_autoptr(TopoErrors) errors = topo_errors_new();
    g_autofree char *data = NULL;
    TopoNode *tree;
    size_t length;

    if (!g_file_get_contents(path, &data, &length, NULL)) {
        return NULL;
    }
    tree = topo_node_parse(path, data, length, errors);
    return tree ? topo_repeat_expand(tree, errors) : NULL;
}

GPtrArray *topo_keys_complete(const char *path, const char *begun)
{
    GPtrArray *found = g_ptr_array_new_with_free_func(g_free);
    g_autoptr(TopoNode) root = read_tree(g_intern_string(path));
    g_autoptr(GString) done = g_string_new(NULL);
    Walk walk = {root, path, done, found};

    if (root) {
        walk_section(&walk, &topo_section_scenario, root, begun);
        tidy(found, begun);
    }
    return found;
}
