/* SPDX-License-Identifier: MIT */
#include "inv_ids_priv.h"

#include <stdbool.h>
#include <string.h>

#include "table_text.h"
#include "topo_file.h"

struct InvIds {
    GHashTable *names; /* vendor << 16 | device, or NO_DEVICE | vendor, to
                          char * */
};

#define NO_DEVICE ((guint64)1 << 40)

static void insert(InvIds *ids, guint64 key, const char *name)
{
    guint64 *copy = g_new(guint64, 1);

    *copy = key;
    g_hash_table_insert(ids->names, copy, table_text_from(name, -1, false));
}

static const char *find(const InvIds *ids, guint64 key)
{
    return g_hash_table_lookup(ids->names, &key);
}

/* Reads "15b3  Name". Returns false if @line has another form. */
static bool read_entry(const char *line, unsigned *ret_id,
                       const char **ret_name)
{
    char *end;

    if (!g_ascii_isxdigit(*line)) {
        return false;
    }
    *ret_id = (unsigned)g_ascii_strtoull(line, &end, 16);
    *ret_name = end + strspn(end, " ");
    return end == line + 4 && *ret_name != end && *ret_id <= 0xffff;
}

InvIds *inv_ids_new(const char *path, GError **error)
{
    g_autoptr(InvIds) ids = g_new0(InvIds, 1);
    g_autofree char *text = NULL;
    char *line, *next;
    const char *name;
    unsigned vendor = 0;
    bool in_vendor = false;

    ids->names =
        g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, g_free);
    if (!path) {
        return g_steal_pointer(&ids);
    }
    text = topo_file_text(path, NULL, error);
    if (!text) {
        return NULL;
    }
    for (line = text; line; line = next) {
        unsigned id;

        next = strchr(line, '\n');
        if (next) {
            *next++ = '\0';
        }
        /* Two tabs begin a subsystem. "C 01" begins the classes, which come
         * last. */
        if (*line == '\t') {
            if (in_vendor && read_entry(line + 1, &id, &name)) {
                insert(ids, (guint64)vendor << 16 | id, name);
            }
        } else if (*line != '#' && *line != '\0') {
            in_vendor = read_entry(line, &id, &name);
            if (in_vendor) {
                vendor = id;
                insert(ids, NO_DEVICE | vendor, name);
            }
        }
    }
    return g_steal_pointer(&ids);
}

void inv_ids_free(InvIds *ids)
{
    if (ids) {
        g_hash_table_unref(ids->names);
        g_free(ids);
    }
}

const char *inv_ids_vendor(const InvIds *ids, unsigned vendor)
{
    return find(ids, NO_DEVICE | vendor);
}

const char *inv_ids_device(const InvIds *ids, unsigned vendor, unsigned device)
{
    return find(ids, (guint64)vendor << 16 | device);
}
