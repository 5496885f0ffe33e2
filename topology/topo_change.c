/* SPDX-License-Identifier: MIT */
#include "topo_change.h"

#include <string.h>

#include "topo_change_priv.h"
#include "topo_flow_priv.h"
#include "topo_library_priv.h"
#include "topo_schema_priv.h"

struct TopoChange {
    gatomicrefcount refs;
    char *path;
    char *text;
    TopoNode *value; /* NULL: the key is removed */
    TopoPlace place;
};

/* A walk along the path of a change. A dry walk only checks the path: it does
 * not change the tree. Where the tree does not have a node yet, a dry walk
 * passes NULL on. */
typedef struct Walk {
    const TopoChange *change;
    char **words;
    unsigned n_words;
    TopoNode *root;
    const char *parts_dir;
    TopoSources *sources;
    TopoErrors *errors;
    bool dry;
} Walk;

TopoPlace topo_place_set(void)
{
    return (TopoPlace){"--set", 0, 0};
}

static void change_unref(void *data)
{
    topo_change_unref(data);
}

GPtrArray *topo_changes_new(void)
{
    return g_ptr_array_new_with_free_func(change_unref);
}

TopoChange *topo_change_new(const char *path, const TopoNode *value,
                            TopoPlace place)
{
    TopoChange *change = g_new0(TopoChange, 1);
    GString *text = g_string_new(NULL);

    g_atomic_ref_count_init(&change->refs);
    change->path = g_strdup(path);
    change->value = topo_node_copy(value);
    change->place = place;
    if (value->kind == TOPO_NODE_SCALAR) {
        g_string_append(text, value->text);
    } else {
        topo_node_write(value, text);
    }
    change->text = g_string_free(text, FALSE);
    return change;
}

TopoChange *topo_change_parse(const char *text, TopoPlace place,
                              TopoErrors *errors)
{
    const char *equals = strchr(text, '=');
    g_autoptr(TopoNode) value = NULL;
    g_autofree char *path = NULL;

    if (!equals || equals == text) {
        topo_errors_add(errors, place,
                        "'%s' is not a change; write PATH=VALUE, as in "
                        "workload.seed=2",
                        text);
        return NULL;
    }
    path = g_strndup(text, (size_t)(equals - text));
    if (equals[1] == '\0') {
        topo_errors_add(errors, place, "%s gets no value; write %s=VALUE", path,
                        path);
        return NULL;
    }
    value = topo_node_parse_value(equals + 1, place, errors);
    if (!value) {
        return NULL;
    }
    return topo_change_new(path, value, place);
}

TopoChange *topo_change_remove(const char *path, TopoPlace place)
{
    TopoChange *change = g_new0(TopoChange, 1);

    g_atomic_ref_count_init(&change->refs);
    change->path = g_strdup(path);
    change->text = g_strdup("");
    change->place = place;
    return change;
}

TopoChange *topo_change_ref(TopoChange *change)
{
    g_atomic_ref_count_inc(&change->refs);
    return change;
}

void topo_change_unref(TopoChange *change)
{
    if (!change || !g_atomic_ref_count_dec(&change->refs)) {
        return;
    }
    g_free(change->path);
    g_free(change->text);
    topo_node_free(change->value);
    g_free(change);
}

const char *topo_change_path(const TopoChange *change)
{
    return change->path;
}

const char *topo_change_value(const TopoChange *change)
{
    return change->text;
}

TopoPlace topo_change_place(const TopoChange *change)
{
    return change->place;
}

bool topo_change_is_early(const TopoChange *change)
{
    g_auto(GStrv) words = g_strsplit(change->path, ".", -1);

    return strchr(change->path, '{') ||
           g_strv_contains((const char *const *)words, "repeat") ||
           g_strv_contains((const char *const *)words, "each") ||
           g_strv_length(words) == 1;
}

static void lead_nowhere(const Walk *walk, const char *format, ...)
    G_GNUC_PRINTF(2, 3);

static void lead_nowhere(const Walk *walk, const char *format, ...)
{
    g_autofree char *text = NULL;
    va_list args;

    va_start(args, format);
    text = g_strdup_vprintf(format, args);
    va_end(args);
    topo_errors_add(walk->errors, walk->change->place,
                    "path '%s' leads nowhere: %s", walk->change->path, text);
}

static char *join_rest(const Walk *walk, unsigned at)
{
    return g_strjoinv(".", walk->words + at);
}

static void remove_dotted(TopoNode *map, const char *key);

static void put(const Walk *walk, TopoNode *map, const char *key)
{
    if (walk->dry) {
        return;
    }
    if (!walk->change->value) {
        remove_dotted(map, key);
        return;
    }
    topo_node_set(map, key, walk->change->place,
                  topo_node_copy(walk->change->value));
}

/* Returns the map at @key. A walk makes a missing map, unless it is dry: then
 * it returns NULL with *ret_good true. If the value is not a map, it is
 * reported, and the result is NULL with *ret_good false. */
static TopoNode *enter(const Walk *walk, TopoNode *map, const char *key,
                       bool *ret_good)
{
    TopoNode *child = topo_node_get(map, key);

    *ret_good = true;
    if (!child && !walk->dry) {
        child = topo_node_new(TOPO_NODE_MAP, walk->change->place);
        topo_node_set(map, key, walk->change->place, child);
    }
    if (child && child->kind != TOPO_NODE_MAP) {
        lead_nowhere(walk, "'%s' is %s and has no keys", key,
                     topo_node_kind_name(child));
        *ret_good = false;
        return NULL;
    }
    return child;
}

/* Removes @key and all keys below it from a map of dotted keys. "a.b" is found
 * as such, and as "b" in the map "a". */
static void remove_dotted(TopoNode *map, const char *key)
{
    size_t length = strlen(key);
    unsigned i = 0;

    while (i < map->items->len) {
        const TopoEntry *entry = g_ptr_array_index(map->items, i);
        size_t prefix = strlen(entry->key);

        if (strncmp(entry->key, key, length) == 0 &&
            (entry->key[length] == '\0' || entry->key[length] == '.')) {
            g_ptr_array_remove_index(map->items, i);
            continue;
        }
        if (strncmp(entry->key, key, prefix) == 0 && key[prefix] == '.' &&
            entry->value->kind == TOPO_NODE_MAP) {
            remove_dotted(entry->value, key + prefix + 1);
        }
        i++;
    }
}

static bool is_key_of(const TopoSection *section, const char *key)
{
    return topo_schema_find(section, key) ||
           topo_schema_has_group(section, key);
}

/* Returns whether parts of at least one kind have @key; reports it if not. A
 * profile has further keys. */
static bool check_part_key(const Walk *walk, const char *key, bool profile)
{
    g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal);
    g_autoptr(GPtrArray) all = g_ptr_array_new();
    g_autofree char *hint = NULL;
    TopoPartKind kind;
    unsigned i;

    if (profile && is_key_of(&topo_section_profile, key)) {
        return true;
    }
    for (kind = 0; kind < TOPO_PART_N_KINDS; kind++) {
        const TopoSection *section = topo_schema_part(kind);

        if (is_key_of(section, key)) {
            return true;
        }
        for (i = 0; i < section->n_keys; i++) {
            if (g_hash_table_add(seen, (void *)section->keys[i].key)) {
                g_ptr_array_add(all, (void *)section->keys[i].key);
            }
        }
    }
    hint = topo_suggest(key, all);
    lead_nowhere(walk, "no part has a key '%s'%s", key, hint);
    return false;
}

/* Sets one key of a map of dotted keys: the rest of the path. */
static void put_dotted(const Walk *walk, TopoNode *map, const char *key)
{
    if (walk->dry || !map) {
        return;
    }
    remove_dotted(map, key);
    put(walk, map, key);
}

static void walk_parts(const Walk *walk, TopoNode *parts, unsigned at)
{
    const char *name = walk->words[at];
    g_autofree char *key = NULL;
    TopoNode *part;
    bool good;

    if (at + 1 == walk->n_words) {
        put(walk, parts, name);
        return;
    }
    if (!topo_library_has(walk->parts_dir, topo_node_get(walk->root, "parts"),
                          name, walk->sources)) {
        lead_nowhere(walk,
                     "there is no part '%s'; name a profile, or give it "
                     "in `parts:`",
                     name);
        return;
    }
    key = join_rest(walk, at + 1);
    if (!check_part_key(walk, key, true)) {
        return;
    }
    part = enter(walk, parts, name, &good);
    put_dotted(walk, part, key);
}

/* The name of a member of a list, for messages and for paths. */
static const char *member_name(const TopoNode *member)
{
    const char *name = topo_node_get_text(member, "name");

    return name ? name : topo_node_get_text(member, "label");
}

static TopoNode *find_member(const Walk *walk, const TopoNode *list,
                             const char *key, const char *name)
{
    g_autoptr(GPtrArray) names = g_ptr_array_new();
    g_autofree char *hint = NULL;
    int64_t number;
    unsigned i;

    if (!list || list->kind != TOPO_NODE_LIST) {
        lead_nowhere(walk, "there are no %s here", key);
        return NULL;
    }
    for (i = 0; i < list->items->len; i++) {
        TopoNode *member = g_ptr_array_index(list->items, i);
        const char *own = member_name(member);

        if (own && strcmp(own, name) == 0) {
            return member;
        }
        if (own) {
            g_ptr_array_add(names, (void *)own);
        }
    }
    if (topo_units_parse(TOPO_UNIT_NONE, name, &number, NULL) &&
        number < list->items->len) {
        return g_ptr_array_index(list->items, number);
    }
    if (names->len == 0 && list->items->len > 0) {
        lead_nowhere(walk, "%s have no names; give a number from 0 to %u", key,
                     list->items->len - 1);
        return NULL;
    }
    hint = topo_suggest(name, names);
    lead_nowhere(walk, "%s have no '%s'%s", key, name, hint);
    return NULL;
}

static void walk_section(const Walk *walk, const TopoSection *section,
                         TopoNode *map, unsigned at);

static void walk_list(const Walk *walk, const TopoKey *key, TopoNode *map,
                      unsigned at)
{
    TopoNode *list = topo_node_get(map, key->key);
    const TopoSection *section = key->section;
    TopoNode *member = find_member(walk, list, key->key, walk->words[at]);

    if (!member) {
        return;
    }
    if (!section) {
        const TopoFlowKind *kind =
            topo_flow_find_kind(topo_node_get_text(member, "kind"));

        /* A flow without a good kind has at least the keys that all kinds have.
         */
        section = kind ? &kind->section : &topo_flow_kinds[0].section;
    }
    if (member->kind != TOPO_NODE_MAP || at + 1 == walk->n_words) {
        g_autoptr(GPtrArray) names = topo_schema_key_names(section);
        g_autofree char *hint = topo_suggest("", names);

        lead_nowhere(walk, "it ends at %s %s; go on with a key%s",
                     topo_article(section->name), section->name, hint);
        return;
    }
    walk_section(walk, section, member, at + 1);
}

/* Continues below @key, which is not a value itself, with the word at index
 * @at. */
static void walk_below(const Walk *walk, const TopoKey *key, TopoNode *map,
                       unsigned at)
{
    g_autofree char *rest = join_rest(walk, at);
    TopoNode *child;
    bool good;

    switch (key->type) {
    case TOPO_TYPE_LIST:
        walk_list(walk, key, map, at);
        return;
    case TOPO_TYPE_SET:
        if (!check_part_key(walk, rest, false)) {
            return;
        }
        break;
    case TOPO_TYPE_MAP:
    case TOPO_TYPE_PARTS:
    case TOPO_TYPE_CHANGES:
    case TOPO_TYPE_TREE:
        break;
    default:
        lead_nowhere(walk,
                     "'%s' is a value and has no '%s'; end the path there",
                     key->key, rest);
        return;
    }
    child = enter(walk, map, key->key, &good);
    if (!good) {
        return;
    }
    if (key->type == TOPO_TYPE_MAP) {
        walk_section(walk, key->section, child, at);
    } else if (key->type == TOPO_TYPE_PARTS) {
        walk_parts(walk, child, at);
    } else {
        put_dotted(walk, child, rest);
    }
}

static void walk_section(const Walk *walk, const TopoSection *section,
                         TopoNode *map, unsigned at)
{
    const char *word = walk->words[at];
    const TopoKey *key = topo_schema_find(section, word);
    bool good;

    if ((strcmp(word, "repeat") == 0 || strcmp(word, "each") == 0) &&
        topo_node_get(map, word)) {
        if (at + 1 == walk->n_words) {
            put(walk, map, word);
        } else {
            g_autofree char *rest = join_rest(walk, at + 1);
            TopoNode *repeat = enter(walk, map, word, &good);

            put_dotted(walk, repeat, rest);
        }
        return;
    }
    if (!key) {
        g_autoptr(GPtrArray) names = topo_schema_key_names(section);
        g_autofree char *hint = topo_suggest(word, names);

        lead_nowhere(walk, "%s %s has no key '%s'%s",
                     topo_article(section->name), section->name, word, hint);
        return;
    }
    if (at + 1 == walk->n_words) {
        put(walk, map, word);
        return;
    }
    walk_below(walk, key, map, at + 1);
}

static void walk_path(const TopoChange *change, TopoNode *root,
                      const char *parts_dir, TopoSources *sources, bool dry,
                      TopoErrors *errors)
{
    g_auto(GStrv) words = g_strsplit(change->path, ".", -1);
    Walk walk = {change, words, g_strv_length(words), root, parts_dir, sources,
                 errors, dry};

    if (root->kind != TOPO_NODE_MAP) {
        return;
    }
    if (walk.n_words == 0) {
        lead_nowhere(&walk, "it is empty; write for example workload.seed");
        return;
    }
    walk_section(&walk, &topo_section_scenario, root, 0);
}

void topo_change_apply(const TopoChange *change, TopoNode *root,
                       const char *parts_dir, TopoSources *sources,
                       TopoErrors *errors)
{
    walk_path(change, root, parts_dir, sources, false, errors);
}

void topo_change_check(const TopoChange *change, const TopoNode *root,
                       const char *parts_dir, TopoSources *sources,
                       TopoErrors *errors)
{
    if (!topo_change_is_early(change)) {
        walk_path(change, (TopoNode *)root, parts_dir, sources, true, errors);
    }
}
