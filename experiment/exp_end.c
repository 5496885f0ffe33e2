/* SPDX-License-Identifier: MIT */
#include "exp_end_priv.h"

#include <string.h>

void exp_end_init(ExpEnd *end, const TopoDescription *description,
                  const char *name)
{
    const char *colon = strchr(name, ':');
    g_autofree char *host =
        g_strndup(name, colon ? (gsize)(colon - name) : strlen(name));

    end->host = topo_find_host(description, host);
    end->link = colon ? colon + 1 : "";
    end->functions = g_array_new(FALSE, TRUE, sizeof(TrcFunction));
}

void exp_end_done(ExpEnd *end)
{
    g_array_unref(end->functions);
}

void exp_end_reset(ExpEnd *end)
{
    g_array_set_size(end->functions, 0);
    end->has_begun = false;
}

void exp_end_start(ExpEnd *end, const TrcRecord *record)
{
    unsigned count = trc_record_n_functions(record);

    end->has_begun = true;
    end->ntb = (uint16_t)(record->data[6] << 8 | record->data[7]);
    g_array_set_size(end->functions, count);
    for (unsigned i = 0; i < count; i++) {
        trc_record_function(record, i,
                            &g_array_index(end->functions, TrcFunction, i));
    }
}

const TrcFunction *exp_end_function(const ExpEnd *end, uint16_t requester_id)
{
    for (unsigned i = 0; i < end->functions->len; i++) {
        const TrcFunction *function =
            &g_array_index(end->functions, TrcFunction, i);

        if (function->requester_id == requester_id) {
            return function;
        }
    }
    return NULL;
}

const TrcFunction *exp_end_bar(const ExpEnd *end, uint64_t address,
                               unsigned *ret_bar, uint64_t *ret_offset)
{
    for (unsigned i = 0; i < end->functions->len; i++) {
        const TrcFunction *function =
            &g_array_index(end->functions, TrcFunction, i);

        for (unsigned j = 0; j < TRC_BARS; j++) {
            uint64_t offset = address - function->bar[j].address;

            if (address >= function->bar[j].address &&
                offset < function->bar[j].size) {
                *ret_bar = j;
                *ret_offset = offset;
                return function;
            }
        }
    }
    return NULL;
}

const TopoDevice *exp_end_device(const ExpEnd *end, const char *name)
{
    const GPtrArray *devices = end->host->devices;

    for (unsigned i = 0; i < devices->len; i++) {
        const TopoDevice *device = devices->pdata[i];

        if (strcmp(device->name, name) == 0) {
            return device;
        }
    }
    return NULL;
}
