/* SPDX-License-Identifier: MIT */
/* The readers of all sections use these: texts that live as long as the
 * description, and names that are looked up. */
#include "topo_load_priv.h"

#include <string.h>

#include "topo_suggest.h"

char *topo_load_text(TopoLoader *loader, const char *text)
{
    return text ? g_string_chunk_insert_const(loader->loaded->texts, text)
                : NULL;
}

char *topo_load_path(TopoLoader *loader, const char *path)
{
    g_autofree char *full = NULL;

    if (!path || g_path_is_absolute(path) || strcmp(loader->dir, ".") == 0) {
        return topo_load_text(loader, path);
    }
    full = g_build_filename(loader->dir, path, NULL);
    return topo_load_text(loader, full);
}

GPtrArray *topo_load_names(GHashTable *table)
{
    GPtrArray *names = g_ptr_array_new();
    GHashTableIter iter;
    void *name;

    g_hash_table_iter_init(&iter, table);
    while (g_hash_table_iter_next(&iter, &name, NULL)) {
        g_ptr_array_add(names, name);
    }
    return names;
}

bool topo_load_check_unique(TopoLoader *loader, GHashTable *table,
                            const char *what, const char *name, TopoPlace place)
{
    if (!name) {
        return false;
    }
    if (g_hash_table_contains(table, name)) {
        topo_errors_add(loader->errors, place,
                        "duplicate %s '%s'; choose another name", what, name);
        return false;
    }
    return true;
}

TopoHost *topo_load_find_host(TopoLoader *loader, const TopoValue *value)
{
    g_autoptr(GPtrArray) names = NULL;
    g_autofree char *hint = NULL;
    TopoHost *host;

    if (!value->valid || !value->text) {
        return NULL;
    }
    host = g_hash_table_lookup(loader->loaded->hosts, value->text);
    if (!host && topo_errors_is_full(loader->errors)) {
        topo_errors_add(loader->errors, value->place, "unknown host");
    } else if (!host) {
        names = topo_load_names(loader->loaded->hosts);
        hint = topo_suggest(value->text, names);
        topo_errors_add(loader->errors, value->place, "unknown host '%s'%s",
                        value->text, hint);
    }
    return host;
}

bool topo_load_is_function(const char *word)
{
    return strncmp(word, "vf", 2) == 0 && g_ascii_isdigit(word[2]);
}

/* Makes virtual function @number of @physical. */
static TopoDevice *function_new(TopoLoaded *loaded, TopoDevice *physical,
                                unsigned number, const char *path)
{
    TopoDevice *device = g_new0(TopoDevice, 1);

    device->place = physical->place;
    device->path = g_string_chunk_insert(loaded->texts, path);
    device->name = device->path + strlen(physical->host->name) + 1;
    device->host = physical->host;
    device->part = physical->part;
    device->is_fabric_attached = physical->is_fabric_attached;
    device->links = g_ptr_array_new();
    device->fabrics = g_ptr_array_new();
    device->functions = g_ptr_array_new();
    device->physical = physical;
    device->number = number;
    g_ptr_array_add(physical->functions, device);
    g_hash_table_insert(loaded->devices, device->path, device);
    return device;
}

/* The virtual functions that @device can have: those of the card, or of the
 * emulated drive. */
static unsigned function_count(const TopoDevice *device)
{
    unsigned count = device->vm ? device->vm->virtual_functions : 0;

    if (device->part && topo_part_kind(device->part) != TOPO_PART_NTB) {
        count = MAX(count, (unsigned)topo_part_int(device->part, "card.vfs") *
                               MAX(device->fabrics->len, 1));
    }
    return count;
}

/* True if @device asks the IOMMU of its host for translations (ATS). */
static bool translates(const TopoDevice *device)
{
    const TopoPart *part = device->part, *cpu = device->host->cpu;

    return part && topo_part_kind(part) != TOPO_PART_NTB &&
           topo_part_int(part, "ats.entries") > 0 && device->host->iommu &&
           cpu && topo_part_bool(cpu, "iommu.ats");
}

TopoDevice *topo_load_take_device(TopoLoaded *loaded, const char *path,
                                  GError **error)
{
    TopoDevice *device = g_hash_table_lookup(loaded->devices, path);
    const char *word = strrchr(path, '.');
    g_autofree char *above = word ? g_strndup(path, word - path) : NULL;
    unsigned count;
    guint64 number;

    if (device || !word || !topo_load_is_function(word + 1)) {
        return device;
    }
    device = g_hash_table_lookup(loaded->devices, above);
    if (!device || device->physical) {
        return NULL;
    }
    count = function_count(device);
    if (!g_ascii_string_to_unsigned(word + 3, 10, 0, 255, &number, NULL) ||
        number >= count) {
        topo_refuse(error,
                    "%s has %u virtual functions, counted from vf0; more come "
                    "from `set: {card.vfs: N}`, or `vm: {virtual_functions: N}`"
                    " of the device",
                    device->path, count);
        return NULL;
    }
    if (g_hash_table_contains(loaded->borrowers, device)) {
        topo_refuse(error,
                    "%s is lent whole, and would lose its virtual functions; "
                    "lend those alone",
                    device->path);
        return NULL;
    }
    if (translates(device)) {
        topo_refuse(error,
                    "%s is a virtual function, and those translate no "
                    "addresses in the model (ATS), which %s does; write "
                    "set: {ats.entries: 0} for the device, or iommu.ats: off "
                    "for its host",
                    path, device->path);
        return NULL;
    }
    return function_new(loaded, device, (unsigned)number, path);
}

TopoDevice *topo_load_find_device(TopoLoader *loader, const TopoValue *value)
{
    g_autoptr(GPtrArray) names = NULL;
    g_autoptr(GError) error = NULL;
    g_autofree char *hint = NULL;
    TopoDevice *device;

    if (!value->valid || !value->text) {
        return NULL;
    }
    device = topo_load_take_device(loader->loaded, value->text, &error);
    if (error) {
        topo_errors_add(loader->errors, value->place, "%s", error->message);
    } else if (!device && topo_errors_is_full(loader->errors)) {
        topo_errors_add(loader->errors, value->place, "unknown device");
    } else if (!device) {
        names = topo_load_names(loader->loaded->devices);
        hint = topo_suggest(value->text, names);
        topo_errors_add(loader->errors, value->place, "unknown device '%s'%s",
                        value->text, hint);
    }
    return device;
}

int topo_load_find_column(TopoLoader *loader, GHashTable *names,
                          const char *name, TopoPlace place)
{
    void *index;

    if (!g_hash_table_lookup_extended(names, name, NULL, &index)) {
        g_autoptr(GPtrArray) all = topo_load_names(names);
        g_autofree char *hint = topo_suggest(name, all);

        topo_errors_add(loader->errors, place, "unknown column '%s'%s", name,
                        hint);
        return -1;
    }
    return (int)GPOINTER_TO_UINT(index);
}

void topo_load_train(TopoLoader *loader, const TopoTraining *training)
{
    static const struct {
        const char *key;
        TopoUnit unit;
    } rates[] = {{"speed", TOPO_UNIT_SPEED}, {"width", TOPO_UNIT_WIDTH}};

    for (unsigned i = 0; i < G_N_ELEMENTS(rates); i++) {
        unsigned *rate = training->rate[i];
        unsigned best = MIN(training->most[0][i], training->most[1][i]);

        for (unsigned end = 0; end < 2; end++) {
            unsigned most = training->most[end][i];

            if (*rate > most) {
                g_autofree char *wanted =
                    topo_units_format(rates[i].unit, *rate);
                g_autofree char *limit = topo_units_format(rates[i].unit, most);

                topo_errors_add(
                    loader->errors, training->place[i],
                    "%s%s: %s is more than %s supports; write at most %s",
                    training->before, rates[i].key, wanted, training->end[end],
                    limit);
            }
        }
        *rate = *rate ? *rate : best;
    }
}
