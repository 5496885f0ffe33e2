/* SPDX-License-Identifier: MIT */
#include "topo_schema_priv.h"

#include <string.h>

TopoUnit topo_schema_unit(TopoType type)
{
    switch (type) {
    case TOPO_TYPE_BYTES:
    case TOPO_TYPE_AUTO:
        return TOPO_UNIT_BYTES;
    case TOPO_TYPE_TIME:
        return TOPO_UNIT_TIME;
    case TOPO_TYPE_RATE:
        return TOPO_UNIT_RATE;
    case TOPO_TYPE_SPEED:
        return TOPO_UNIT_SPEED;
    case TOPO_TYPE_WIDTH:
        return TOPO_UNIT_WIDTH;
    case TOPO_TYPE_DISTANCE:
        return TOPO_UNIT_DISTANCE;
    case TOPO_TYPE_ADDRESS:
        return TOPO_UNIT_ADDRESS;
    default:
        return TOPO_UNIT_NONE;
    }
}

bool topo_schema_find_kind(const char *name, TopoPartKind *ret_kind)
{
    TopoPartKind kind;

    for (kind = 0; kind < TOPO_PART_N_KINDS; kind++) {
        if (strcmp(topo_schema_part(kind)->name, name) == 0) {
            *ret_kind = kind;
            return true;
        }
    }
    return false;
}

const TopoKey *topo_schema_find(const TopoSection *section, const char *key)
{
    unsigned i;

    for (i = 0; i < section->n_keys; i++) {
        /* The first character alone rules most keys out. */
        if (section->keys[i].key[0] == key[0] &&
            strcmp(section->keys[i].key, key) == 0) {
            return &section->keys[i];
        }
    }
    return NULL;
}

int topo_schema_find_choice(const TopoKey *key, const char *word)
{
    g_auto(GStrv) words = g_strsplit(key->choices, "|", -1);
    int i;

    for (i = 0; words[i]; i++) {
        if (strcmp(words[i], word) == 0) {
            return i;
        }
    }
    return -1;
}

unsigned topo_schema_index(const TopoSection *section, const char *key)
{
    const TopoKey *found = topo_schema_find(section, key);

    g_assert(found);
    return (unsigned)(found - section->keys);
}

bool topo_schema_has_group(const TopoSection *section, const char *prefix)
{
    size_t length = strlen(prefix);
    unsigned i;

    for (i = 0; i < section->n_keys; i++) {
        const char *key = section->keys[i].key;

        if (strncmp(key, prefix, length) == 0 && key[length] == '.') {
            return true;
        }
    }
    return false;
}

GPtrArray *topo_schema_key_names(const TopoSection *section)
{
    GPtrArray *names = g_ptr_array_new();
    unsigned i;

    for (i = 0; i < section->n_keys; i++) {
        g_ptr_array_add(names, (void *)section->keys[i].key);
    }
    return names;
}
