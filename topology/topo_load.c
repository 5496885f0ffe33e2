/* SPDX-License-Identifier: MIT */
#include "topo_description.h"

#include <string.h>

#include "topo_change_priv.h"
#include "topo_file.h"
#include "topo_flow.h"
#include "topo_load_priv.h"
#include "topo_repeat_priv.h"
#include "topo_suggest.h"

static void variant_free(void *data)
{
    TopoVariant *variant = data;

    g_ptr_array_unref(variant->changes);
    g_free(variant);
}

static void axis_free(void *data)
{
    TopoAxis *axis = data;

    g_ptr_array_unref(axis->values);
    g_free(axis);
}

static void vm_free(TopoVm *vm)
{
    g_ptr_array_unref(vm->module_dirs);
    g_ptr_array_unref(vm->files);
    g_ptr_array_unref(vm->inner);
    g_free(vm);
}

static void host_free(void *data)
{
    TopoHost *host = data;
    unsigned i;

    for (i = 0; i < host->devices->len; i++) {
        topo_device_free(g_ptr_array_index(host->devices, i));
    }
    g_ptr_array_unref(host->devices);
    g_ptr_array_unref(host->functions);
    g_ptr_array_unref(host->switches);
    vm_free(host->vm);
    g_free(host);
}

static void plot_free(TopoPlot *plot)
{
    if (plot) {
        g_ptr_array_unref(plot->measured);
        g_ptr_array_unref(plot->calibrated);
        g_free(plot);
    }
}

static void lend_free(void *data)
{
    TopoLend *lend = data;

    g_ptr_array_unref(lend->p2p);
    g_free(lend);
}

static TopoLoaded *loaded_new(const char *file)
{
    TopoLoaded *loaded = g_new0(TopoLoaded, 1);
    TopoDescription *pub = &loaded->pub;

    pub->file = file;
    pub->hosts = g_ptr_array_new_with_free_func(host_free);
    pub->links = g_ptr_array_new_with_free_func(g_free);
    pub->chips = g_ptr_array_new_with_free_func(topo_chip_free);
    pub->networks = g_ptr_array_new_with_free_func(g_free);
    pub->lends = g_ptr_array_new_with_free_func(lend_free);
    pub->faults = g_ptr_array_new_with_free_func(g_free);
    pub->variants = g_ptr_array_new_with_free_func(variant_free);
    pub->axes = g_ptr_array_new_with_free_func(axis_free);
    pub->columns = g_ptr_array_new_with_free_func(g_free);
    pub->changes = topo_changes_new();
    loaded->made =
        g_ptr_array_new_with_free_func((GDestroyNotify)topo_node_free);
    loaded->texts = g_string_chunk_new(4096);
    loaded->hosts = g_hash_table_new(g_str_hash, g_str_equal);
    loaded->elements = g_hash_table_new(g_str_hash, g_str_equal);
    loaded->switches = g_hash_table_new(g_str_hash, g_str_equal);
    loaded->devices = g_hash_table_new(g_str_hash, g_str_equal);
    loaded->flows = g_hash_table_new(g_str_hash, g_str_equal);
    loaded->streams =
        g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    loaded->borrowers = g_hash_table_new(NULL, NULL);
    return loaded;
}

void topo_description_free(TopoDescription *description)
{
    TopoLoaded *loaded = (TopoLoaded *)description;

    if (!description) {
        return;
    }
    g_ptr_array_unref(description->hosts);
    g_ptr_array_unref(description->links);
    g_ptr_array_unref(description->chips);
    g_ptr_array_unref(description->networks);
    g_ptr_array_unref(description->lends);
    g_ptr_array_unref(description->faults);
    g_ptr_array_unref(description->variants);
    g_ptr_array_unref(description->axes);
    g_ptr_array_unref(description->columns);
    g_ptr_array_unref(description->changes);
    if (description->workload) {
        g_ptr_array_unref(description->workload->flows);
        g_free(description->workload);
    }
    plot_free(description->plot);
    g_ptr_array_unref(loaded->made);
    g_hash_table_unref(loaded->hosts);
    g_hash_table_unref(loaded->elements);
    g_hash_table_unref(loaded->switches);
    g_hash_table_unref(loaded->devices);
    g_hash_table_unref(loaded->flows);
    g_hash_table_unref(loaded->streams);
    g_hash_table_unref(loaded->borrowers);
    topo_library_free(loaded->library);
    topo_node_free(loaded->tree);
    topo_sources_unref(loaded->sources);
    g_bytes_unref(loaded->data);
    g_free(loaded->parts_dir);
    g_string_chunk_free(loaded->texts);
    g_free(loaded);
}

static void apply_changes(TopoLoader *loader, const GPtrArray *changes,
                          bool early)
{
    unsigned i;

    for (i = 0; changes && i < changes->len; i++) {
        const TopoChange *change = g_ptr_array_index(changes, i);

        if (topo_change_is_early(change) == early) {
            topo_change_apply(change, loader->loaded->tree,
                              loader->loaded->parts_dir,
                              loader->loaded->sources, loader->errors);
        }
    }
}

/* Reads the file that `cluster:` names. Notes its text, which becomes part of
 * the hash. */
static TopoNode *read_cluster(TopoLoader *loader, const TopoNode *name)
{
    g_autoptr(GError) error = NULL;
    const TopoSource *source;
    const char *path;

    if (name->kind != TOPO_NODE_SCALAR) {
        topo_errors_add(loader->errors, name->place,
                        "cluster: %s is not the path of a file; write one",
                        topo_node_kind_name(name));
        return NULL;
    }
    path = topo_load_path(loader, name->text);
    if (!topo_sources_has(loader->loaded->sources, path)) {
        topo_errors_add(loader->errors, name->place,
                        "cluster: there is no file %s; name one, from the "
                        "directory of this file",
                        name->text);
        return NULL;
    }
    source = topo_sources_get(loader->loaded->sources, path, &error);
    if (!source) {
        topo_errors_add(loader->errors, name->place, "cluster: %s %s",
                        name->text, error->message);
        return NULL;
    }
    loader->cluster = source->text;
    return topo_node_parse(g_intern_string(path), source->text, source->length,
                           loader->errors);
}

/* Moves a section of the file of a cluster into @tree. */
static void join_section(TopoLoader *loader, TopoNode *tree,
                         const TopoEntry *entry)
{
    static const char *const sections[] = {
        "parts", "hosts", "links", "chips", "lend", "networks", NULL};
    static const char *const own[] = {"name", "description", NULL};
    const TopoEntry *there = topo_node_entry(tree, entry->key);

    if (g_strv_contains(own, entry->key)) {
        return; /* name and description are those of the cluster, not of the
                   scenario */
    }
    if (!g_strv_contains(sections, entry->key)) {
        topo_errors_add(
            loader->errors, entry->place,
            "the file of a cluster cannot have the section '%s'; "
            "it can have chips, hosts, lend, links, networks, parts",
            entry->key);
    } else if (there) {
        topo_errors_add(loader->errors, there->place,
                        "%s: the file of the cluster has this section, too; "
                        "leave one out",
                        entry->key);
    } else {
        topo_node_set(tree, entry->key, entry->place,
                      topo_node_copy(entry->value));
    }
}

/* Replaces `cluster:` in @tree by the sections of the file that it names. */
static bool join_cluster(TopoLoader *loader, TopoNode *tree)
{
    const TopoNode *name = topo_node_get(tree, "cluster");
    g_autoptr(TopoNode) cluster = NULL;
    unsigned i;

    if (!name) {
        return true;
    }
    cluster = read_cluster(loader, name);
    if (!cluster) {
        return false;
    }
    if (cluster->kind != TOPO_NODE_MAP) {
        topo_errors_add(loader->errors, cluster->place,
                        "the file of a cluster is a map with chips, hosts, "
                        "lend, links, networks, parts");
        return false;
    }
    for (i = 0; i < cluster->items->len; i++) {
        join_section(loader, tree, g_ptr_array_index(cluster->items, i));
    }
    return true;
}

static bool make_tree(TopoLoader *loader, const GPtrArray *changes)
{
    TopoLoaded *loaded = loader->loaded;
    size_t length;
    const char *data = g_bytes_get_data(loaded->data, &length);

    loaded->tree =
        topo_node_parse(loaded->pub.file, data, length, loader->errors);
    if (!loaded->tree) {
        return false;
    }
    if (!join_cluster(loader, loaded->tree)) {
        return false;
    }
    apply_changes(loader, changes, true);
    loaded->tree = topo_repeat_expand(loaded->tree, loader->errors);
    if (!loaded->tree) {
        return false;
    }
    apply_changes(loader, changes, false);
    return true;
}

/* A flow's file is a part of the description. */
static void hash_files(const TopoWorkload *workload, GChecksum *checksum)
{
    unsigned i;

    for (i = 0; workload && i < workload->flows->len; i++) {
        const char *file = topo_flow_file(workload->flows->pdata[i]);
        g_autofree char *data = NULL;
        gsize length;

        if (file && g_file_get_contents(file, &data, &length, NULL)) {
            g_checksum_update(checksum, (const guchar *)data, (gssize)length);
        }
    }
}

static void make_hash(TopoLoader *loader, const GPtrArray *changes)
{
    GChecksum *checksum = g_checksum_new(G_CHECKSUM_SHA256);
    size_t length;
    const guchar *data = g_bytes_get_data(loader->loaded->data, &length);
    unsigned i;

    g_checksum_update(checksum, data, (gssize)length);
    if (loader->cluster) {
        g_checksum_update(checksum, (const guchar *)loader->cluster, -1);
    }
    topo_library_hash(loader->loaded->library, checksum);
    hash_files(loader->loaded->pub.workload, checksum);
    for (i = 0; changes && i < changes->len; i++) {
        TopoChange *change = g_ptr_array_index(changes, i);
        g_autofree char *line = g_strdup_printf(
            "\n%s=%s", topo_change_path(change), topo_change_value(change));

        g_checksum_update(checksum, (const guchar *)line, -1);
        g_ptr_array_add(loader->loaded->pub.changes, topo_change_ref(change));
    }
    loader->loaded->pub.hash =
        topo_load_text(loader, g_checksum_get_string(checksum));
    g_checksum_free(checksum);
}

/* Checks those paths of @changes that are not yet in @paths. */
static void check_paths(TopoLoader *loader, const GPtrArray *changes,
                        GHashTable *paths)
{
    unsigned i;

    for (i = 0; i < changes->len; i++) {
        const TopoChange *change = g_ptr_array_index(changes, i);

        if (g_hash_table_add(paths, (void *)topo_change_path(change))) {
            topo_change_check(change, loader->loaded->tree,
                              loader->loaded->parts_dir,
                              loader->loaded->sources, loader->errors);
        }
    }
}

/* Returns whether the description is loaded for a point of a plan: then some
 * changes come from a file, not from the command line. */
static bool is_point(const GPtrArray *changes)
{
    unsigned i;

    for (i = 0; changes && i < changes->len; i++) {
        if (topo_change_place(g_ptr_array_index(changes, i)).line > 0) {
            return true;
        }
    }
    return false;
}

/* Checks the paths of variants and axes when the file is loaded. Without this
 * check an error would appear only when the point is simulated, perhaps hours
 * later. For a point, the paths are not checked: the variant may have removed
 * an element that the path of another variant names. */
static void check_changes(TopoLoader *loader)
{
    const TopoDescription *pub = &loader->loaded->pub;
    g_autoptr(GHashTable) paths = g_hash_table_new(g_str_hash, g_str_equal);
    unsigned i, j;

    for (i = 0; i < pub->variants->len; i++) {
        const TopoVariant *variant = g_ptr_array_index(pub->variants, i);

        check_paths(loader, variant->changes, paths);
    }
    for (i = 0; i < pub->axes->len; i++) {
        const TopoAxis *axis = g_ptr_array_index(pub->axes, i);

        for (j = 0; j < axis->values->len; j++) {
            const TopoAxisValue *value = g_ptr_array_index(axis->values, j);

            check_paths(loader, value->changes, paths);
        }
    }
}

/* The sections that were read up to now are those of @sound. If they have no
 * errors, notes that. @before is the number of errors before the first one. */
static void note_sound(TopoLoader *loader, TopoSound sound, unsigned before)
{
    if (topo_errors_count(loader->errors) == before) {
        loader->loaded->pub.sound = sound;
    }
}

/* @before is the number of errors before the file was read. */
static void read_sections(TopoLoader *loader, unsigned before)
{
    TopoLoaded *loaded = loader->loaded;
    g_autoptr(TopoValues) values =
        topo_values_read(&topo_section_scenario, loaded->tree, loader->errors);

    if (!values) {
        return;
    }
    loaded->library =
        topo_library_new(loaded->parts_dir,
                         topo_values_given(values, "parts")
                             ? topo_values_get(values, "parts")->node
                             : NULL,
                         loaded->sources, loader->errors);
    topo_library_check_own(loaded->library);
    loaded->pub.name = topo_load_text(loader, topo_values_text(values, "name"));
    loaded->pub.text =
        topo_load_text(loader, topo_values_text(values, "description"));
    topo_load_hosts(loader, values);
    topo_load_attach(loader);
    topo_load_links(loader, values);
    topo_load_chips(loader, values);
    topo_load_networks(loader, values);
    topo_load_lends(loader, values);
    note_sound(loader, TOPO_SOUND_HARDWARE, before);
    topo_load_faults(loader, values);
    topo_load_workload(loader, values);
    note_sound(loader, TOPO_SOUND_WORKLOAD, before);
    topo_load_sweep(loader, values);
    if (!loader->is_point) {
        check_changes(loader);
    }
    note_sound(loader, TOPO_SOUND_PLAN, before);
    topo_load_measure(loader, values);
    note_sound(loader, TOPO_SOUND_ALL, before);
}

/* Loads @data, the text of the file @name. @parts_dir is nullable. May return a
 * description with errors; see topo_load_partly(). */
static TopoDescription *load_partly(const char *name, GBytes *data,
                                    const char *parts_dir, TopoSources *sources,
                                    const GPtrArray *changes,
                                    TopoErrors *errors)
{
    g_autoptr(TopoDescription) description = NULL;
    g_autofree char *dir = g_path_get_dirname(name);
    g_autoptr(GArray) plugs = g_array_new(FALSE, TRUE, sizeof(TopoPlug));
    TopoLoader loader = {.errors = errors,
                         .dir = dir,
                         .plugs = plugs,
                         .is_point = is_point(changes)};
    unsigned before = topo_errors_count(errors);

    loader.loaded = loaded_new(g_intern_string(name));
    loader.loaded->data = g_bytes_ref(data);
    loader.loaded->parts_dir = g_strdup(parts_dir);
    loader.loaded->sources = topo_sources_ref(sources);
    description = &loader.loaded->pub;
    if (!make_tree(&loader, changes)) {
        return NULL;
    }
    read_sections(&loader, before);
    if (description->sound == TOPO_SOUND_ALL) {
        make_hash(&loader, changes);
    }
    return g_steal_pointer(&description);
}

/* Frees @description and returns NULL if it has errors. */
static TopoDescription *take_sound(TopoDescription *description)
{
    if (description && description->sound < TOPO_SOUND_ALL) {
        topo_description_free(description);
        return NULL;
    }
    return description;
}

static TopoDescription *load_shared_partly(const char *name, const char *data,
                                           size_t length, const char *parts_dir,
                                           TopoSources *sources,
                                           const GPtrArray *changes,
                                           TopoErrors *errors)
{
    /* A GBytes of no bytes would have no address. */
    g_autoptr(GBytes) bytes =
        length > 0 ? g_bytes_new(data, length) : g_bytes_new_static("", 0);
    g_autofree char *found =
        parts_dir ? g_strdup(parts_dir) : topo_library_find_dir(name);

    return load_partly(name, bytes, found, sources, changes, errors);
}

TopoDescription *topo_load_shared(const char *name, const char *data,
                                  size_t length, const char *parts_dir,
                                  TopoSources *sources,
                                  const GPtrArray *changes, TopoErrors *errors)
{
    return take_sound(load_shared_partly(name, data, length, parts_dir, sources,
                                         changes, errors));
}

TopoDescription *topo_load_again_partly(const TopoDescription *description,
                                        const GPtrArray *changes,
                                        TopoErrors *errors)
{
    const TopoLoaded *loaded = (const TopoLoaded *)description;

    return load_partly(description->file, loaded->data, loaded->parts_dir,
                       loaded->sources, changes, errors);
}

TopoDescription *topo_load_again(const TopoDescription *description,
                                 const GPtrArray *changes, TopoErrors *errors)
{
    return take_sound(topo_load_again_partly(description, changes, errors));
}

TopoDescription *topo_load_buffer(const char *name, const char *data,
                                  size_t length, const char *parts_dir,
                                  const GPtrArray *changes, TopoErrors *errors)
{
    g_autoptr(TopoSources) sources = topo_sources_new();

    return topo_load_shared(name, data, length, parts_dir, sources, changes,
                            errors);
}

static TopoDescription *load_file_partly(const char *path,
                                         const char *parts_dir,
                                         const GPtrArray *changes,
                                         TopoErrors *errors)
{
    g_autoptr(TopoSources) sources = NULL;
    g_autofree char *data = NULL;
    g_autoptr(GError) error = NULL;
    size_t length;

    if (!topo_file_read(path, TOPO_NODE_TEXT_MAX, &data, &length, &error)) {
        TopoPlace place = {g_intern_string(path), 0, 0};

        topo_errors_add(errors, place, "%s", error->message);
        return NULL;
    }
    sources = topo_sources_new();
    return load_shared_partly(path, data, length, parts_dir, sources, changes,
                              errors);
}

TopoDescription *topo_load_with_parts(const char *path, const char *parts_dir,
                                      const GPtrArray *changes,
                                      TopoErrors *errors)
{
    return take_sound(load_file_partly(path, parts_dir, changes, errors));
}

TopoDescription *topo_load_partly(const char *path, const GPtrArray *changes,
                                  TopoErrors *errors)
{
    return load_file_partly(path, NULL, changes, errors);
}

TopoDescription *topo_load(const char *path, const GPtrArray *changes,
                           TopoErrors *errors)
{
    return topo_load_with_parts(path, NULL, changes, errors);
}

TopoHost *topo_find_host(const TopoDescription *description, const char *name)
{
    const TopoLoaded *loaded = (const TopoLoaded *)description;

    return g_hash_table_lookup(loaded->hosts, name);
}

const TopoHost *topo_choose_host(const TopoDescription *description,
                                 const char *name, GError **error)
{
    g_autoptr(GPtrArray) names = g_ptr_array_new();
    const TopoHost *host = name ? topo_find_host(description, name) : NULL;
    g_autofree char *hint = NULL;

    if (!name && description->hosts->len == 1) {
        host = description->hosts->pdata[0];
    }
    if (host) {
        return host;
    }
    for (unsigned i = 0; i < description->hosts->len; i++) {
        const TopoHost *other = description->hosts->pdata[i];

        g_ptr_array_add(names, other->name);
    }
    if (name) {
        topo_no_such_host(name, names, error);
        return NULL;
    }
    hint = topo_suggest("?", names);
    topo_refuse_option(error, "one host is exported; add --host%s", hint);
    return NULL;
}

TopoSwitch *topo_find_switch(const TopoDescription *description,
                             const char *path)
{
    const TopoLoaded *loaded = (const TopoLoaded *)description;

    return g_hash_table_lookup(loaded->switches, path);
}

TopoDevice *topo_find_device(const TopoDescription *description,
                             const char *path)
{
    const TopoLoaded *loaded = (const TopoLoaded *)description;

    return g_hash_table_lookup(loaded->devices, path);
}

TopoFlow *topo_find_flow(const TopoDescription *description, const char *name)
{
    const TopoLoaded *loaded = (const TopoLoaded *)description;

    return g_hash_table_lookup(loaded->flows, name);
}
