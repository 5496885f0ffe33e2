/* SPDX-License-Identifier: MIT */
/* Flows: their values. */
#include "topo_flow_priv.h"

#include <string.h>

/* ---- Getters ----------------------------------------------------------- */

const char *topo_flow_name(const TopoFlow *flow)
{
    return topo_values_text(flow->values, "name");
}

const char *topo_flow_kind(const TopoFlow *flow)
{
    return flow->kind->name;
}

TopoPlace topo_flow_place(const TopoFlow *flow)
{
    return flow->place;
}

unsigned topo_flow_index(const TopoFlow *flow)
{
    return flow->index;
}

const GPtrArray *topo_flow_after(const TopoFlow *flow)
{
    return flow->after;
}

const char *topo_flow_engine(const TopoFlow *flow)
{
    return topo_values_text(flow->values, "engine");
}

int64_t topo_flow_size_bytes(const TopoFlow *flow)
{
    return topo_schema_find(flow->values->section, "size")
               ? topo_flow_bytes(flow, "size")
               : 0;
}

bool topo_flow_has_own_fabric(const TopoFlow *flow)
{
    return flow->kind->has_own_fabric;
}

const char *topo_flow_file(const TopoFlow *flow)
{
    return flow->file;
}

/* Queues are no end of the data. */
static bool is_end(const TopoKey *key)
{
    return strcmp(key->key, "sq") != 0 && strcmp(key->key, "cq") != 0 &&
           strcmp(key->key, "prp_lists") != 0;
}

bool topo_flow_uses_ram(const TopoFlow *flow)
{
    unsigned i;

    for (i = 0; i < flow->kind->section.n_keys; i++) {
        if (flow->targets[i].kind == TOPO_TARGET_RAM &&
            is_end(&flow->kind->section.keys[i])) {
            return true;
        }
    }
    return false;
}

bool topo_flow_get_devices(const TopoFlow *flow, TopoDevice *ret_devices[2])
{
    TopoDevice *found[2];
    unsigned n = 0;
    unsigned i;

    for (i = 0; i < flow->kind->section.n_keys; i++) {
        if (flow->targets[i].kind == TOPO_TARGET_DEVICE &&
            is_end(&flow->kind->section.keys[i])) {
            if (n == G_N_ELEMENTS(found)) {
                return false; /* a flow of packets has three */
            }
            found[n++] = flow->targets[i].device;
        }
    }
    if (n < G_N_ELEMENTS(found) || topo_flow_uses_ram(flow)) {
        return false;
    }
    memcpy(ret_devices, found, sizeof(found));
    return true;
}

bool topo_flow_uses_device(const TopoFlow *flow, const TopoDevice *device)
{
    unsigned i;

    for (i = 0; i < flow->kind->section.n_keys; i++) {
        if (flow->targets[i].device == device) {
            return true;
        }
    }
    return false;
}

bool topo_flow_has(const TopoFlow *flow, const char *key)
{
    return topo_values_get(flow->values, key)->valid;
}

bool topo_flow_bool(const TopoFlow *flow, const char *key)
{
    return topo_values_typed(flow->values, key, 1u << TOPO_TYPE_BOOL)->number !=
           0;
}

int64_t topo_flow_int(const TopoFlow *flow, const char *key)
{
    return topo_values_typed(flow->values, key, 1u << TOPO_TYPE_INT)->number;
}

double topo_flow_share(const TopoFlow *flow, const char *key)
{
    const TopoValue *value =
        topo_values_typed(flow->values, key, 1u << TOPO_TYPE_PERCENT);

    return (double)value->number / value->den;
}

int64_t topo_flow_bytes(const TopoFlow *flow, const char *key)
{
    return topo_values_typed(flow->values, key, 1u << TOPO_TYPE_BYTES)->number;
}

int64_t topo_flow_time(const TopoFlow *flow, const char *key)
{
    return topo_values_typed(flow->values, key, 1u << TOPO_TYPE_TIME)->number;
}

bool topo_flow_is(const TopoFlow *flow, const char *key, const char *word)
{
    const TopoValue *value =
        topo_values_typed(flow->values, key, 1u << TOPO_TYPE_WORD);
    int index = topo_schema_find_choice(
        topo_schema_find(flow->values->section, key), word);

    g_assert(index >= 0);
    return value->number == index;
}

static const TopoTarget *get_target(const TopoFlow *flow, const char *key,
                                    TopoType type)
{
    const TopoSection *section = flow->values->section;
    unsigned index = topo_schema_index(section, key);

    g_assert(section->keys[index].type == type);
    return &flow->targets[index];
}

TopoHost *topo_flow_host(const TopoFlow *flow, const char *key)
{
    return get_target(flow, key, TOPO_TYPE_HOST)->host;
}

TopoDevice *topo_flow_device(const TopoFlow *flow, const char *key)
{
    return get_target(flow, key, TOPO_TYPE_DEVICE)->device;
}

TopoTarget topo_flow_target(const TopoFlow *flow, const char *key)
{
    const TopoSection *section = flow->values->section;
    unsigned index = topo_schema_index(section, key);
    TopoType type = section->keys[index].type;

    g_assert(type == TOPO_TYPE_TARGET || type == TOPO_TYPE_DEVICE ||
             type == TOPO_TYPE_HOST);
    return flow->targets[index];
}

/* ---- For the checks of the kinds --------------------------------------- */

void topo_flow_report(TopoLoader *loader, const TopoFlow *flow, const char *key,
                      const char *format, ...)
{
    g_autofree char *text = NULL;
    va_list args;

    va_start(args, format);
    text = g_strdup_vprintf(format, args);
    va_end(args);
    topo_errors_add(loader->errors, topo_values_get(flow->values, key)->place,
                    "%s: %s", key, text);
}

void topo_flow_set_number(TopoFlow *flow, const char *key, int64_t number)
{
    TopoValue *value =
        &flow->values->values[topo_schema_index(flow->values->section, key)];

    value->number = number;
    value->valid = true;
}

void topo_flow_set_target(TopoFlow *flow, const char *key, TopoTarget target)
{
    flow->targets[topo_schema_index(flow->values->section, key)] = target;
}

void topo_flow_free(void *data)
{
    TopoFlow *flow = data;

    topo_values_free(flow->values);
    g_free(flow->targets);
    g_ptr_array_unref(flow->after);
    g_free(flow);
}
