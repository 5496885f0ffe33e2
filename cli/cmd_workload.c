/* SPDX-License-Identifier: MIT */
#include "cmd_workload.h"

#include "cmd_load.h"
#include "topo_change.h"

/* Columns of a flow that repeats a trace. */
static const char columns[] =
    "measure={columns: ["
    "{name: variant, from: variant}, "
    "{name: time_us, from: flow.trace.time, scale: 1e6, digits: 3}, "
    "{name: operations, from: flow.trace.operations}, "
    "{name: bytes, from: flow.trace.bytes}, "
    "{name: cpu_reads, from: flow.trace.cpu_reads}, "
    "{name: cpu_read_ns, from: flow.trace.cpu_read.mean, scale: 1e3, "
    "digits: 1}, "
    "{name: cpu_writes, from: flow.trace.cpu_writes}, "
    "{name: cpu_write_ns, from: flow.trace.cpu_write.mean, scale: 1e3, "
    "digits: 1}, "
    "{name: dma_reads, from: flow.trace.dma_reads}, "
    "{name: dma_read_ns, from: flow.trace.dma_read.mean, scale: 1e3, "
    "digits: 1}, "
    "{name: dma_writes, from: flow.trace.dma_writes}, "
    "{name: dma_write_ns, from: flow.trace.dma_write.mean, scale: 1e3, "
    "digits: 1}, "
    "{name: interrupts, from: flow.trace.interrupts}, "
    "{name: interrupt_ns, from: flow.trace.interrupt.mean, scale: 1e3, "
    "digits: 1}]}";

/* The YAML text of @path, in double quotes. */
static char *quote(const char *path)
{
    GString *text = g_string_new("\"");

    for (; *path; path++) {
        if (*path == '"' || *path == '\\') {
            g_string_append_c(text, '\\');
        }
        g_string_append_c(text, *path);
    }
    g_string_append_c(text, '"');
    return g_string_free(text, FALSE);
}

GPtrArray *cmd_workload_changes(const char *verb, const char *path)
{
    static const char *const others[] = {"plot", "compare"};
    static const TopoPlace place = {"--workload", 0, 0};
    g_autoptr(GPtrArray) changes = topo_changes_new();
    g_autofree char *full = NULL, *quoted = NULL, *workload = NULL;
    char *sets[3] = {NULL};

    if (!path) {
        return g_steal_pointer(&changes);
    }
    full = g_canonicalize_filename(path, NULL);
    quoted = quote(full);
    workload = g_strdup_printf(
        "workload={flows: [{name: trace, kind: replay, trace: %s}]}", quoted);
    for (unsigned i = 0; i < G_N_ELEMENTS(others); i++) {
        g_ptr_array_add(changes, topo_change_remove(others[i], place));
    }
    sets[0] = workload;
    sets[1] = (char *)columns;
    return cmd_changes_add(verb, place.file, sets, changes)
               ? g_steal_pointer(&changes)
               : NULL;
}
