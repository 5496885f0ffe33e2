/* SPDX-License-Identifier: MIT */
#include "topo_sources_priv.h"

#include "topo_file.h"
#include "topo_repeat_priv.h"

struct TopoSources {
    gatomicrefcount references;
    GMutex mutex;
    GHashTable *files; /* path to TopoSource; with the mutex */
};

static void source_free(void *data)
{
    TopoSource *source = data;

    if (source->made) {
        source->free_made(source->made);
    }
    g_free(source->text);
    topo_node_free(source->tree);
    g_free(source);
}

TopoSources *topo_sources_new(void)
{
    TopoSources *sources = g_new0(TopoSources, 1);

    g_atomic_ref_count_init(&sources->references);
    g_mutex_init(&sources->mutex);
    sources->files =
        g_hash_table_new_full(g_str_hash, g_str_equal, g_free, source_free);
    return sources;
}

TopoSources *topo_sources_ref(TopoSources *sources)
{
    g_atomic_ref_count_inc(&sources->references);
    return sources;
}

void topo_sources_unref(TopoSources *sources)
{
    if (sources && g_atomic_ref_count_dec(&sources->references)) {
        g_hash_table_unref(sources->files);
        g_mutex_clear(&sources->mutex);
        g_free(sources);
    }
}

/* The mutex is held. */
static TopoSource *find_or_read(TopoSources *sources, const char *path,
                                GError **error)
{
    TopoSource *source = g_hash_table_lookup(sources->files, path);
    char *text;
    size_t length;

    if (!source &&
        topo_file_read(path, TOPO_NODE_TEXT_MAX, &text, &length, error)) {
        source = g_new0(TopoSource, 1);
        source->text = text;
        source->length = length;
        g_hash_table_insert(sources->files, g_strdup(path), source);
    }
    return source;
}

const TopoSource *topo_sources_get(TopoSources *sources, const char *path,
                                   GError **error)
{
    const TopoSource *source;

    g_mutex_lock(&sources->mutex);
    source = find_or_read(sources, path, error);
    g_mutex_unlock(&sources->mutex);
    return source;
}

bool topo_sources_has(TopoSources *sources, const char *path)
{
    bool has;

    g_mutex_lock(&sources->mutex);
    has = g_hash_table_contains(sources->files, path);
    g_mutex_unlock(&sources->mutex);
    return has || g_file_test(path, G_FILE_TEST_IS_REGULAR);
}

void *topo_sources_kept(TopoSources *sources, const char *path)
{
    const TopoSource *source;
    void *made;

    g_mutex_lock(&sources->mutex);
    source = g_hash_table_lookup(sources->files, path);
    made = source ? source->made : NULL;
    g_mutex_unlock(&sources->mutex);
    return made;
}

bool topo_sources_keep(TopoSources *sources, const char *path, void *made,
                       GDestroyNotify free)
{
    TopoSource *source;
    bool is_first;

    g_mutex_lock(&sources->mutex);
    source = g_hash_table_lookup(sources->files, path);
    is_first = !source->made;
    if (is_first) {
        source->made = made;
        source->free_made = free;
    }
    g_mutex_unlock(&sources->mutex);
    return is_first;
}

const TopoSource *topo_sources_get_tree(TopoSources *sources, const char *path,
                                        TopoErrors *errors, GError **error)
{
    TopoSource *source;

    g_mutex_lock(&sources->mutex);
    source = find_or_read(sources, path, error);
    if (source && !source->tree) {
        TopoNode *tree = topo_node_parse(g_intern_string(path), source->text,
                                         source->length, errors);

        source->tree = tree ? topo_repeat_expand(tree, errors) : NULL;
    }
    g_mutex_unlock(&sources->mutex);
    return source;
}
