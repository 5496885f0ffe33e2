/* SPDX-License-Identifier: MIT */
#include "cmd_load.h"

#include <stdio.h>

#include "cmd.h"
#include "exp_point.h"
#include "topo_home.h"
#include "topo_plan.h"

int cmd_print_errors(const char *verb, const TopoErrors *errors)
{
    g_autofree char *text = topo_errors_to_string(errors);
    unsigned count = topo_errors_count(errors);

    fprintf(stderr, "%sfarside %s: %u error%s\n", text, verb, count,
            count == 1 ? "" : "s");
    return CMD_USAGE;
}

bool cmd_changes_add(const char *verb, const char *option, char **sets,
                     GPtrArray *changes)
{
    g_autoptr(TopoErrors) errors = topo_errors_new();

    for (; sets && *sets; sets++) {
        TopoPlace place = {option, 0, 0};
        TopoChange *change = topo_change_parse(*sets, place, errors);

        if (change) {
            g_ptr_array_add(changes, change);
        }
    }
    if (topo_errors_count(errors) > 0) {
        cmd_print_errors(verb, errors);
    }
    return topo_errors_count(errors) == 0;
}

GPtrArray *cmd_changes(const char *verb, char **sets)
{
    g_autoptr(GPtrArray) changes = topo_changes_new();

    return cmd_changes_add(verb, "--set", sets, changes)
               ? g_steal_pointer(&changes)
               : NULL;
}

static TopoDescription *load_one(const char *verb, const char *file,
                                 const GPtrArray *changes, CmdLoad load)
{
    g_autoptr(TopoErrors) errors = topo_errors_new();
    g_autofree char *path = topo_home_resolve(file);
    g_autoptr(TopoDescription) description =
        topo_load_partly(path, changes, errors);

    if (description && description->sound == TOPO_SOUND_ALL &&
        load == CMD_LOAD_WORKLOAD) {
        TopoPlace place = {description->file, 0, 0};

        if (!description->workload || description->workload->flows->len == 0) {
            topo_errors_add(errors, place,
                            "there is nothing to run; add a `workload:` with "
                            "`flows:`");
        }
        if (description->columns->len == 0) {
            topo_errors_add(errors, place,
                            "there is nothing to measure; add a `measure:` "
                            "with `columns:`");
        }
    }
    if (description && description->workload) {
        exp_point_check_columns(description, errors);
    }
    if (topo_errors_count(errors) > 0) {
        cmd_print_errors(verb, errors);
        return NULL;
    }
    return g_steal_pointer(&description);
}

GPtrArray *cmd_load_all(const char *verb, char *const *files,
                        const GPtrArray *changes)
{
    g_autoptr(GPtrArray) descriptions =
        g_ptr_array_new_with_free_func((GDestroyNotify)topo_description_free);

    for (; *files; files++) {
        TopoDescription *description =
            load_one(verb, *files, changes, CMD_LOAD_WORKLOAD);

        if (!description) {
            return NULL;
        }
        g_ptr_array_add(descriptions, description);
    }
    return g_steal_pointer(&descriptions);
}

TopoDescription *cmd_load_with(const char *verb, const char *file, char **sets,
                               CmdLoad load)
{
    g_autoptr(GPtrArray) changes = cmd_changes(verb, sets);

    return changes ? load_one(verb, file, changes, load) : NULL;
}

TopoDescription *cmd_load_variant(const char *verb, const char *file,
                                  char **sets, const char *variant)
{
    g_autoptr(GPtrArray) changes = cmd_changes(verb, sets);
    g_autoptr(TopoDescription) plain =
        changes ? load_one(verb, file, changes, CMD_LOAD_ANY) : NULL;
    g_autoptr(GPtrArray) both = NULL;

    if (!plain || !variant) {
        return g_steal_pointer(&plain);
    }
    both = topo_plan_variant(plain, variant, changes);
    if (!both) {
        fprintf(stderr, "farside %s: there is no variant \"%s\"\n", verb,
                variant);
        return NULL;
    }
    return load_one(verb, file, both, CMD_LOAD_ANY);
}
