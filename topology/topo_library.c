/* SPDX-License-Identifier: MIT */
#include "topo_library_priv.h"

#include <string.h>

#include "topo_fitted_priv.h"
#include "topo_home.h"
#include "topo_part_priv.h"

#define BASES_MAX  16 /* most profiles in a chain of `base:` */
#define LEVELS_MAX 64 /* most directories to walk up */

static const char *const profile_words[] = {"kind", "base", "description",
                                            "sources", "calibrated"};

/* A profile: the values of a part, before the `set:` of an element is
 * applied. One of a file without errors is kept with the sources, so that other
 * descriptions, also in other threads, need not read it again. */
typedef struct Profile {
    gatomicrefcount references;
    char *name;
    struct Profile *base; /* nullable; of the same library */
    bool is_kept;         /* it and its base have no errors */
    TopoPlace place;
    TopoPartKind kind;
    const char *description; /* nullable; borrowed from the tree */
    GPtrArray *fitted;       /* of TopoFitted */
    TopoValues *values; /* NULL: the profile is wrong, and that is reported */
    TopoPart *shared;   /* atomic: the part of all users without `set:`; NULL:
                           not made yet, or it has errors */
} Profile;

struct TopoLibrary {
    char *dir;
    const TopoNode *own;
    GHashTable *own_index; /* name to TopoNode, in `own` */
    TopoErrors *errors;
    TopoSources *sources;
    GHashTable *files;    /* name to const TopoSource of `sources`; NULL: it
                             cannot be read, and that is reported */
    GHashTable *profiles; /* by name; those of files by "file:NAME" */
    GHashTable *wrong;    /* of Profile: their shared parts have errors, which
                             are reported */
    GPtrArray *parts;     /* of TopoPart: the parts with a `set:` */
    unsigned depth;
};

static Profile *profile_new(const char *name)
{
    Profile *profile = g_new0(Profile, 1);

    g_atomic_ref_count_init(&profile->references);
    profile->name = g_strdup(name);
    profile->fitted = topo_fitted_new();
    return profile;
}

static Profile *profile_ref(Profile *profile)
{
    g_atomic_ref_count_inc(&profile->references);
    return profile;
}

static void profile_unref(void *data)
{
    Profile *profile = data;

    if (!profile || !g_atomic_ref_count_dec(&profile->references)) {
        return;
    }
    profile_unref(profile->base);
    g_free(profile->name);
    topo_values_free(profile->values);
    g_ptr_array_unref(profile->fitted);
    topo_part_free(profile->shared);
    g_free(profile);
}

static void part_free(void *data)
{
    topo_part_free(data);
}

TopoLibrary *topo_library_new(const char *dir, const TopoNode *own,
                              TopoSources *sources, TopoErrors *errors)
{
    TopoLibrary *library = g_new0(TopoLibrary, 1);
    unsigned i;

    library->dir = g_strdup(dir);
    library->own = own;
    library->own_index = g_hash_table_new(g_str_hash, g_str_equal);
    for (i = 0; own && i < own->items->len; i++) {
        const TopoEntry *entry = g_ptr_array_index(own->items, i);

        g_hash_table_insert(library->own_index, entry->key, entry->value);
    }
    library->errors = errors;
    library->sources = topo_sources_ref(sources);
    library->files =
        g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    library->profiles =
        g_hash_table_new_full(g_str_hash, g_str_equal, g_free, profile_unref);
    library->wrong = g_hash_table_new(NULL, NULL);
    library->parts = g_ptr_array_new_with_free_func(part_free);
    return library;
}

void topo_library_free(TopoLibrary *library)
{
    if (!library) {
        return;
    }
    g_ptr_array_unref(library->parts);
    g_hash_table_unref(library->wrong);
    g_hash_table_unref(library->profiles);
    g_hash_table_unref(library->files);
    topo_sources_unref(library->sources);
    g_hash_table_unref(library->own_index);
    g_free(library->dir);
    g_free(library);
}

static char *file_path(const char *dir, const char *name)
{
    g_autofree char *base = g_strconcat(name, ".yaml", NULL);

    return g_build_filename(dir, base, NULL);
}

static bool file_exists(const char *dir, const char *name, TopoSources *sources)
{
    g_autofree char *path = NULL;
    TopoPlace nowhere = {"", 0, 0};

    /* A text that is not a name, such as "../x", could leave the directory. */
    if (!dir || !topo_check_name(name, nowhere, NULL)) {
        return false;
    }
    path = file_path(dir, name);
    return topo_sources_has(sources, path);
}

bool topo_library_has(const char *dir, const TopoNode *own, const char *name,
                      TopoSources *sources)
{
    return topo_node_get(own, name) || file_exists(dir, name, sources);
}

/* Returns the parent of @dir, computed from the text alone. Examples of results
 * are "a/b", "a", ".", "..", "../..". */
static char *parent_dir(const char *dir)
{
    g_autofree char *base = g_path_get_basename(dir);

    if (strcmp(dir, ".") == 0) {
        return g_strdup("..");
    }
    if (strcmp(base, "..") == 0) {
        return g_build_filename(dir, "..", NULL);
    }
    return g_path_get_dirname(dir);
}

/* Returns the folder of the parts that came with Farside, to be freed; NULL if
 * there is none. */
static char *own_parts(void)
{
    g_autoptr(TopoHome) home = topo_home_find();
    g_autofree char *dir =
        home ? g_build_filename(home->scenarios, "parts", NULL) : NULL;

    return dir && g_file_test(dir, G_FILE_TEST_IS_DIR) ? g_steal_pointer(&dir)
                                                       : NULL;
}

char *topo_library_find_dir(const char *file)
{
    g_autofree char *dir = g_path_get_dirname(file);
    unsigned level;

    for (level = 0; level < LEVELS_MAX; level++) {
        const char *base = strcmp(dir, ".") == 0 ? "" : dir;
        g_autofree char *beside = g_build_filename(base, "parts", NULL);
        g_autofree char *above =
            g_build_filename(base, "scenarios", "parts", NULL);
        g_autofree char *full = g_canonicalize_filename(dir, NULL);
        char *parent;

        if (g_file_test(beside, G_FILE_TEST_IS_DIR)) {
            return g_steal_pointer(&beside);
        }
        if (g_file_test(above, G_FILE_TEST_IS_DIR)) {
            return g_steal_pointer(&above);
        }
        if (strcmp(full, "/") == 0) {
            break;
        }
        parent = parent_dir(dir);
        g_free(dir);
        dir = parent;
    }
    return own_parts();
}

/* Returns the tree of a file in the directory of parts; NULL if the file is
 * wrong, which is reported. */
static const TopoNode *load_file(TopoLibrary *library, const char *name)
{
    g_autofree char *path = file_path(library->dir, name);
    g_autoptr(GError) error = NULL;
    const TopoSource *source =
        topo_sources_get_tree(library->sources, path, library->errors, &error);

    g_hash_table_insert(library->files, g_strdup(name), (void *)source);
    if (!source) {
        TopoPlace place = {g_intern_string(path), 0, 0};

        topo_errors_add(library->errors, place, "%s", error->message);
        return NULL;
    }
    return source->tree;
}

static GPtrArray *list_names(const TopoLibrary *library)
{
    GPtrArray *names = g_ptr_array_new_with_free_func(g_free);
    GDir *dir = NULL;
    const char *entry;
    unsigned i;

    if (library->dir) {
        dir = g_dir_open(library->dir, 0, NULL);
    }
    while (dir && (entry = g_dir_read_name(dir))) {
        if (g_str_has_suffix(entry, ".yaml")) {
            g_ptr_array_add(names, g_strndup(entry, strlen(entry) - 5));
        }
    }
    g_clear_pointer(&dir, g_dir_close);
    for (i = 0; library->own && i < library->own->items->len; i++) {
        const TopoEntry *own = g_ptr_array_index(library->own->items, i);

        g_ptr_array_add(names, g_strdup(own->key));
    }
    return names;
}

static void report_unknown(TopoLibrary *library, const char *name,
                           TopoPlace place)
{
    g_autoptr(GPtrArray) names = NULL;
    g_autofree char *hint = NULL;

    if (topo_errors_is_full(library->errors)) {
        topo_errors_add(library->errors, place, "unknown part '%s'", name);
        return;
    }
    names = list_names(library);
    hint = topo_suggest(name, names);
    if (!library->dir) {
        topo_errors_add(
            library->errors, place,
            "unknown part '%s'%s (no directory `parts` or "
            "`scenarios/parts` beside or above the file, nor that of "
            "the program)",
            name, hint);
        return;
    }
    topo_errors_add(library->errors, place,
                    "unknown part '%s' (sought in %s)%s", name, library->dir,
                    hint);
}

/* Reports numbers of a file without a source, and sources of unknown keys. */
static void check_sources(TopoLibrary *library, const TopoSection *section,
                          const TopoNode *node)
{
    const TopoNode *sources = topo_node_get(node, "sources");
    unsigned i;

    for (i = 0; i < node->items->len; i++) {
        const TopoEntry *entry = g_ptr_array_index(node->items, i);
        g_autofree char *group =
            g_strndup(entry->key, strcspn(entry->key, "."));
        const TopoKey *key = topo_schema_find(section, entry->key);
        bool numeric =
            key ? key->type != TOPO_TYPE_BOOL && key->type != TOPO_TYPE_WORD
                : topo_schema_has_group(section, entry->key);

        if (numeric && !topo_node_get_text(sources, group)) {
            topo_errors_add(library->errors, entry->place,
                            "'%s' has no source; add one to `sources:`, as in "
                            "{%s: \"datasheet, section 2\"}",
                            entry->key, group);
        }
    }
    for (i = 0; sources && i < sources->items->len; i++) {
        const TopoEntry *entry = g_ptr_array_index(sources->items, i);

        if (!topo_schema_find(section, entry->key) &&
            !topo_schema_has_group(section, entry->key)) {
            topo_errors_add(library->errors, entry->place,
                            "`sources:` names '%s', which is not a key of %s "
                            "%s; leave it out",
                            entry->key, topo_article(section->name),
                            section->name);
        }
    }
}

static Profile *find_profile(TopoLibrary *library, const char *name,
                             bool in_file, TopoPlace place);

/* Reads the keys that profiles of every kind have. Returns false if one of them
 * is wrong. */
static bool read_words(TopoLibrary *library, const TopoNode *node,
                       TopoValues *ret_words)
{
    bool good = true;
    unsigned i;

    for (i = 0; i < G_N_ELEMENTS(profile_words); i++) {
        const char *word = profile_words[i];
        TopoNode *value = topo_node_get(node, word);
        TopoNode only = {TOPO_NODE_MAP, node->place, NULL, NULL};

        if (!value) {
            continue;
        }
        only.items = g_ptr_array_new();
        g_ptr_array_add(only.items, topo_node_entry(node, word));
        good = topo_values_merge(ret_words, &only, NULL, 0, library->errors) &&
               good;
        g_ptr_array_unref(only.items);
        if (strcmp(word, "sources") == 0 && value->kind != TOPO_NODE_MAP) {
            topo_errors_add(library->errors, value->place,
                            "sources is %s; write a map of keys to texts",
                            topo_node_kind_name(value));
            good = false;
        }
    }
    return good;
}

/* Sets the kind from `kind:`. It must be the kind of the base. */
static bool set_kind(TopoLibrary *library, Profile *profile,
                     const Profile *parent, const TopoValues *words)
{
    const char *kind = topo_values_text(words, "kind");

    topo_schema_find_kind(kind, &profile->kind);
    if (!parent || parent->kind == profile->kind) {
        return true;
    }
    topo_errors_add(library->errors, topo_values_get(words, "kind")->place,
                    "part '%s' is of kind %s, but its base is of kind %s; "
                    "leave `kind:` out",
                    profile->name, kind, topo_part_kind_name(parent->kind));
    return false;
}

/* Sets the source of each value in @node from its text in `sources:`. */
static void set_sources(TopoValues *values, const TopoNode *node)
{
    const TopoNode *sources = topo_node_get(node, "sources");
    unsigned i;

    for (i = 0; i < values->section->n_keys; i++) {
        const char *key = values->section->keys[i].key;
        g_autofree char *group = g_strndup(key, strcspn(key, "."));
        TopoValue *value = &values->values[i];
        const char *text;

        if (!value->given || value->source ||
            value->place.file != node->place.file) {
            continue;
        }
        text = topo_node_get_text(sources, key);
        value->source = text ? text : topo_node_get_text(sources, group);
    }
}

/* Reads `calibrated:`. The values that the base was fitted on count too,
 * because
 * @profile has its numbers. Paths start at the file's directory. */
static bool read_fitted(TopoLibrary *library, Profile *profile,
                        const Profile *parent, const TopoNode *node,
                        bool in_file)
{
    const TopoNode *fitted = topo_node_get(node, "calibrated");
    g_autofree char *file_dir =
        in_file ? NULL : g_path_get_dirname(node->place.file);

    if (fitted &&
        !topo_fitted_read(profile->fitted, fitted,
                          in_file ? library->dir : file_dir, library->errors)) {
        return false;
    }
    if (parent) {
        topo_fitted_inherit(profile->fitted, parent->fitted);
    }
    return true;
}

/* Fills @profile from @node and its base. */
static void read_profile(TopoLibrary *library, Profile *profile,
                         const TopoNode *node, bool in_file)
{
    g_autoptr(TopoValues) words =
        topo_values_new(&topo_section_profile, node->place);
    g_autoptr(TopoValues) values = NULL;
    const char *kind, *base;
    Profile *parent = NULL;

    if (node->kind != TOPO_NODE_MAP) {
        topo_errors_add(library->errors, node->place,
                        "part '%s' is %s; write a map of its keys",
                        profile->name, topo_node_kind_name(node));
        return;
    }
    if (!read_words(library, node, words)) {
        return;
    }
    kind = topo_values_text(words, "kind");
    base = topo_values_text(words, "base");
    if (!base && !kind) {
        if (in_file ||
            !file_exists(library->dir, profile->name, library->sources)) {
            topo_errors_add(library->errors, node->place,
                            "part '%s' has neither `kind:` nor `base:`, and "
                            "there is no profile of that name to override; add "
                            "`kind:` or `base:`",
                            profile->name);
            return;
        }
        base = profile->name;
    }
    if (base) {
        bool same = strcmp(base, profile->name) == 0;

        parent = find_profile(library, base, in_file || same,
                              topo_values_get(words, "base")->place);
        if (!parent || !parent->values) {
            return;
        }
        profile->base = profile_ref(parent);
        profile->kind = parent->kind;
        values = topo_values_copy(parent->values);
    }
    if (kind && !set_kind(library, profile, parent, words)) {
        return;
    }
    if (!values) {
        values = topo_values_new(topo_schema_part(profile->kind), node->place);
    }
    if (!topo_values_merge(values, node, profile_words,
                           G_N_ELEMENTS(profile_words), library->errors)) {
        return;
    }
    if (!read_fitted(library, profile, parent, node, in_file)) {
        return;
    }
    if (in_file) {
        check_sources(library, values->section, node);
    }
    set_sources(values, node);
    profile->description = topo_node_get_text(node, "description");
    profile->values = g_steal_pointer(&values);
}

/* Adds the profile @name of a file, which is read already, and its bases to
 * @library. Returns NULL if it is not read, or has errors. */
static Profile *take_kept(TopoLibrary *library, const char *name)
{
    g_autofree char *path = file_path(library->dir, name);
    Profile *kept = topo_sources_kept(library->sources, path);

    for (Profile *profile = kept; profile; profile = profile->base) {
        g_autofree char *id = g_strconcat("file:", profile->name, NULL);
        g_autofree char *of_base = file_path(library->dir, profile->name);

        if (!g_hash_table_contains(library->profiles, id)) {
            g_hash_table_insert(library->profiles, g_steal_pointer(&id),
                                profile_ref(profile));
            g_hash_table_insert(
                library->files, g_strdup(profile->name),
                (void *)topo_sources_get(library->sources, of_base, NULL));
        }
    }
    return kept;
}

/* Keeps @profile of a file for other descriptions. */
static void keep(TopoLibrary *library, Profile *profile)
{
    g_autofree char *path = file_path(library->dir, profile->name);

    profile->is_kept = true;
    if (!topo_sources_keep(library->sources, path, profile_ref(profile),
                           profile_unref)) {
        profile_unref(profile);
    }
}

/* Returns the profile called @name. If @in_file is true, it must be one of a
 * file, not of the description's own. Returns NULL, and reports it at @place,
 * if there is none. */
static Profile *find_profile(TopoLibrary *library, const char *name,
                             bool in_file, TopoPlace place)
{
    const TopoNode *node =
        in_file ? NULL : g_hash_table_lookup(library->own_index, name);
    unsigned before = topo_errors_count(library->errors);
    g_autofree char *id = NULL;
    Profile *profile;
    bool is_file;

    /* No name has a ':', so the two kinds of profile cannot be mixed up. */
    id = g_strconcat(!node ? "file:" : "", name, NULL);
    profile = g_hash_table_lookup(library->profiles, id);
    if (profile) {
        if (library->depth > 0 && !profile->place.file) {
            topo_errors_add(library->errors, place,
                            "part '%s' is based on itself; end the chain of "
                            "`base:` with a whole profile",
                            name);
        }
        return profile;
    }
    if (!node && !file_exists(library->dir, name, library->sources)) {
        report_unknown(library, name, place);
        return NULL;
    }
    profile = !node ? take_kept(library, name) : NULL;
    if (profile) {
        return profile;
    }
    if (library->depth >= BASES_MAX) {
        topo_errors_add(library->errors, place,
                        "more than %d parts based on each other; shorten the "
                        "chain of `base:`",
                        BASES_MAX);
        return NULL;
    }
    profile = profile_new(name);
    g_hash_table_insert(library->profiles, g_steal_pointer(&id), profile);
    is_file = !node;
    if (is_file) {
        node = load_file(library, name);
    }
    if (node) {
        library->depth++;
        read_profile(library, profile, node, is_file);
        library->depth--;
        /* A profile without a file in its place is still being read. */
        profile->place = node->place;
        if (is_file && topo_errors_count(library->errors) == before &&
            (!profile->base || profile->base->is_kept)) {
            keep(library, profile);
        }
    } else {
        profile->place = place;
    }
    return profile;
}

void topo_library_check_own(TopoLibrary *library)
{
    unsigned i;

    for (i = 0; library->own && i < library->own->items->len; i++) {
        const TopoEntry *entry = g_ptr_array_index(library->own->items, i);

        if (topo_check_name(entry->key, entry->place, library->errors)) {
            find_profile(library, entry->key, false, entry->place);
        }
    }
}

/* Returns for example "an endpoint or a gpu or an ntb". */
static char *list_kinds(unsigned kinds)
{
    GString *out = g_string_new(NULL);
    TopoPartKind kind;

    for (kind = 0; kind < TOPO_PART_N_KINDS; kind++) {
        if ((kinds & TOPO_KIND_BIT(kind)) != 0) {
            g_string_append_printf(out, "%s%s", out->len > 0 ? " or " : "",
                                   topo_part_kind_name(kind));
        }
    }
    return g_string_free(out, FALSE);
}

/* Returns the part of all users of @profile without `set:`. If it has errors,
 * the first user of the library reports them. */
static const TopoPart *share_part(TopoLibrary *library, Profile *profile,
                                  const char *user, TopoPlace place)
{
    TopoPart *part = g_atomic_pointer_get(&profile->shared);

    if (part || g_hash_table_contains(library->wrong, profile)) {
        return part;
    }
    part = topo_part_new(profile->name, profile->kind, profile->place,
                         profile->values, user, place, library->errors);
    if (!part) {
        g_hash_table_add(library->wrong, profile);
        return NULL;
    }
    topo_part_describe(part, profile->description, profile->fitted);
    if (!g_atomic_pointer_compare_and_exchange(&profile->shared, NULL, part)) {
        topo_part_free(part); /* another thread was faster */
        part = g_atomic_pointer_get(&profile->shared);
    }
    return part;
}

const TopoPart *topo_library_get(TopoLibrary *library, const char *name,
                                 TopoPlace place, const char *user,
                                 unsigned kinds, const TopoNode *set)
{
    Profile *profile = find_profile(library, name, false, place);
    g_autoptr(TopoValues) values = NULL;
    TopoPart *part;

    if (!profile || !profile->values) {
        return NULL;
    }
    if ((kinds & TOPO_KIND_BIT(profile->kind)) == 0) {
        g_autofree char *wanted = list_kinds(kinds);

        topo_errors_add(library->errors, place,
                        "%s: part '%s' is of kind %s; name a part of kind %s",
                        user, name, topo_part_kind_name(profile->kind), wanted);
        return NULL;
    }
    if (!set) {
        return share_part(library, profile, user, place);
    }
    values = topo_values_copy(profile->values);
    if (!topo_values_merge(values, set, NULL, 0, library->errors)) {
        return NULL;
    }
    part = topo_part_new(name, profile->kind, profile->place, values, user,
                         place, library->errors);
    if (part) {
        topo_part_describe(part, profile->description, profile->fitted);
        g_ptr_array_add(library->parts, part);
    }
    return part;
}

static int compare_texts(const void *a, const void *b)
{
    return strcmp(a, b);
}

void topo_library_hash(const TopoLibrary *library, GChecksum *checksum)
{
    GList *names = g_hash_table_get_keys(library->files);
    GList *link;

    names = g_list_sort(names, compare_texts);
    for (link = names; link; link = link->next) {
        const TopoSource *file =
            g_hash_table_lookup(library->files, link->data);

        g_checksum_update(checksum, link->data, -1);
        if (file) {
            g_checksum_update(checksum, (const guchar *)file->text, -1);
        }
    }
    g_list_free(names);
}
