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

TopoDevice *topo_load_find_device(TopoLoader *loader, const TopoValue *value)
{
    g_autoptr(GPtrArray) names = NULL;
    g_autofree char *hint = NULL;
    TopoDevice *device;

    if (!value->valid || !value->text) {
        return NULL;
    }
    device = g_hash_table_lookup(loader->loaded->devices, value->text);
    if (!device && topo_errors_is_full(loader->errors)) {
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
