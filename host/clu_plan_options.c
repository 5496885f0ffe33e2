/* SPDX-License-Identifier: MIT */
#include "clu_plan_options.h"

#include <string.h>

#include "clu_property.h"

/* Properties that only the cluster may set. */
static const char *const reserved[] = {
    "driver",  "id",    "bus",    "link",   "listen",  "partition",
    "enabled", "drive", "netdev", "memdev", "chardev", "subsys",
    "hosts",   "model", "ports",  "lut"};

/* The index of the option @name of @vm (nullable); -1 if there is none. */
static int find_option(const TopoVmDevice *vm, const char *name)
{
    unsigned i;

    for (i = 0; vm && i < vm->option_names->len; i++) {
        if (strcmp(vm->option_names->pdata[i], name) == 0) {
            return (int)i;
        }
    }
    return -1;
}

bool clu_plan_has_option(const TopoVmDevice *vm, const char *name)
{
    return find_option(vm, name) >= 0;
}

const char *clu_plan_option_value(const TopoVmDevice *vm, const char *name)
{
    int i = find_option(vm, name);

    return i < 0 ? NULL : vm->option_values->pdata[i];
}

TopoPlace clu_plan_option_place(const TopoVmDevice *vm, const char *name)
{
    return g_array_index(vm->option_places, TopoPlace, find_option(vm, name));
}

void clu_plan_check_options(const TopoVmDevice *vm, TopoErrors *errors)
{
    unsigned i, j;

    for (i = 0; i < vm->option_names->len; i++) {
        const char *name = vm->option_names->pdata[i];

        for (j = 0; j < G_N_ELEMENTS(reserved); j++) {
            if (strcmp(name, reserved[j]) == 0) {
                topo_errors_add(errors,
                                g_array_index(vm->option_places, TopoPlace, i),
                                "option '%s' is set by the cluster; leave it "
                                "out",
                                name);
            }
        }
        if (name[strcspn(name, ",=")] != '\0') {
            topo_errors_add(errors,
                            g_array_index(vm->option_places, TopoPlace, i),
                            "option '%s' is not the name of a property", name);
        }
    }
}

void clu_plan_append_options(GString *out, const TopoVmDevice *vm,
                             const char *const *except)
{
    unsigned i, j;

    for (i = 0; vm && i < vm->option_names->len; i++) {
        const char *name = vm->option_names->pdata[i];
        bool is_left = strcmp(name, "addr") != 0;

        for (j = 0; except && except[j]; j++) {
            is_left = is_left && strcmp(name, except[j]) != 0;
        }
        if (is_left) {
            clu_property_append(out, name, vm->option_values->pdata[i]);
        }
    }
}
