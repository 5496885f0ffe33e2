/* SPDX-License-Identifier: MIT */
/* `workload:` and its flows. */
#include <string.h>

#include "topo_load_priv.h"

#define TARGET_BIT(kind) (1u << (kind))
#define MEMORY           (TARGET_BIT(TOPO_TARGET_RAM) | TARGET_BIT(TOPO_TARGET_DEVICE))

/* One flow being read. */
typedef struct FlowLoader {
    TopoLoader *loader;
    const TopoValues *values;
    TopoFlow *flow;
} FlowLoader;

static void report(const FlowLoader *f, const char *key, const char *format,
                   ...) G_GNUC_PRINTF(3, 4);

static void report(const FlowLoader *f, const char *key, const char *format,
                   ...)
{
    g_autofree char *text = NULL;
    va_list args;

    va_start(args, format);
    text = g_strdup_vprintf(format, args);
    va_end(args);
    topo_errors_add(f->loader->errors, topo_values_get(f->values, key)->place,
                    "%s: %s", key, text);
}

static int64_t number(const FlowLoader *f, const char *key)
{
    return topo_values_number(f->values, key);
}

static void load_target(const FlowLoader *f, const char *key, unsigned kinds,
                        TopoTarget *ret_target)
{
    const TopoValue *value = topo_values_get(f->values, key);
    g_autoptr(GError) error = NULL;
    TopoTarget target;
    unsigned n;

    if (!value->valid || value->text == NULL) {
        return;
    }
    if (!topo_find_target(&f->loader->loaded->pub, value->text, &target,
                          topo_errors_is_full(f->loader->errors) ? NULL
                                                                 : &error)) {
        report(f, key, "%s", error != NULL ? error->message : "not found");
        return;
    }
    if ((kinds & TARGET_BIT(target.kind)) == 0) {
        report(f, key, "%s cannot be this; write %s", value->text,
               topo_schema_find(f->values->section, key)->help);
        return;
    }
    /* Without a BAR nothing can be addressed in a device. */
    if (target.kind == TOPO_TARGET_DEVICE && kinds == MEMORY &&
        target.device->part != NULL &&
        topo_part_bars(target.device->part, &n) == NULL) {
        report(f, key, "%s has no BAR; name another target", value->text);
        return;
    }
    *ret_target = target;
}

static void load_device(const FlowLoader *f)
{
    const TopoValue *value = topo_values_get(f->values, "device");
    TopoDevice *device = topo_load_find_device(f->loader, value);

    f->flow->device = device;
    if (device != NULL && device->part != NULL &&
        topo_part_kind(device->part) == TOPO_PART_NTB) {
        report(f, "device",
               "%s is an NTB adapter and has no DMA engine; name a GPU or an "
               "endpoint",
               device->path);
    }
}

/* The host whose CPU runs the driver of @device: as `driver` says, the
 * borrower, or the device's own. */
static void load_driver(const FlowLoader *f, TopoDevice *device)
{
    f->flow->host =
        topo_load_find_host(f->loader, topo_values_get(f->values, "driver"));
    if (!topo_values_given(f->values, "driver") && device != NULL) {
        TopoHost *borrower =
            g_hash_table_lookup(f->loader->loaded->borrowers, device);

        f->flow->host = borrower != NULL ? borrower : device->host;
    }
}

static void load_copy(const FlowLoader *f)
{
    load_device(f);
    load_target(f, "buffer", MEMORY, &f->flow->to);
    load_driver(f, f->flow->device);
    f->flow->direction = (TopoDirection)number(f, "direction");
    f->flow->size_bytes = number(f, "size");
    f->flow->count = number(f, "copies");
    f->flow->queued = number(f, "queued") != 0;
}

static void load_dma_count(const FlowLoader *f, bool has_stop)
{
    bool has_total = topo_values_given(f->values, "total");
    bool has_count = topo_values_given(f->values, "count");
    int64_t total = number(f, "total");
    TopoFlow *flow = f->flow;

    flow->count = number(f, "count");
    if (has_total && has_count) {
        report(f, "count", "a flow has a total or a count; write one of them");
    } else if (!has_total && !has_count && !has_stop) {
        report(f, "size",
               "the flow has no end; write total: or count: here, or stop: in "
               "the workload");
    } else if (has_total && flow->size_bytes > 0) {
        if (total % flow->size_bytes != 0) {
            report(f, "total", "%s is no multiple of size, %s; write one",
                   topo_values_text(f->values, "total"),
                   topo_values_text(f->values, "size"));
        }
        flow->count = total / flow->size_bytes;
    }
}

static void load_dma(const FlowLoader *f, bool has_stop)
{
    TopoFlow *flow = f->flow;
    bool has_interval = topo_values_given(f->values, "interval");

    load_device(f);
    load_target(f, "target", MEMORY, &flow->to);
    flow->direction = (TopoDirection)number(f, "direction");
    flow->size_bytes = number(f, "size");
    load_dma_count(f, has_stop);
    flow->outstanding = number(f, "outstanding");
    flow->pattern = (TopoPattern)number(f, "pattern");
    flow->working_set_bytes = number(f, "working_set");
    flow->arrivals = (TopoArrivals)number(f, "arrivals");
    flow->interval_ps = number(f, "interval");
    if (flow->working_set_bytes > 0 &&
        flow->working_set_bytes < flow->size_bytes) {
        report(f, "working_set", "%s is less than size, %s; write more",
               topo_values_text(f->values, "working_set"),
               topo_values_text(f->values, "size"));
    }
    if (flow->arrivals == TOPO_ARRIVALS_CLOSED && has_interval) {
        report(f, "interval",
               "closed arrivals have none; leave it out, or write arrivals: "
               "periodic or poisson");
    } else if (flow->arrivals != TOPO_ARRIVALS_CLOSED && !has_interval) {
        report(f, "arrivals",
               "%s arrivals need an interval; write for example "
               "interval: 100ns",
               topo_values_text(f->values, "arrivals"));
    }
}

static void load_mmio(const FlowLoader *f)
{
    f->flow->host =
        topo_load_find_host(f->loader, topo_values_get(f->values, "host"));
    load_target(f, "target", MEMORY, &f->flow->to);
    f->flow->direction = (TopoDirection)number(f, "direction");
    f->flow->size_bytes = number(f, "size");
    f->flow->count = number(f, "count");
    f->flow->seen = number(f, "seen") != 0;
    if (f->flow->seen && (f->flow->direction != TOPO_WRITE ||
                          f->flow->to.kind == TOPO_TARGET_DEVICE)) {
        report(f, "seen",
               "only a write to the RAM of a host is seen there; write "
               "direction: write and target: host.ram, or leave it out");
    }
}

static void load_nvme(const FlowLoader *f)
{
    TopoFlow *flow = f->flow;
    TopoDevice *device;

    load_device(f);
    load_driver(f, flow->device);
    load_target(f, "buffer", MEMORY, &flow->to);
    if (flow->to.kind == TOPO_TARGET_NONE) {
        flow->to = (TopoTarget){TOPO_TARGET_RAM, flow->host, NULL, -1};
    }
    flow->direction = (TopoDirection)number(f, "direction");
    flow->size_bytes = number(f, "size");
    flow->count = number(f, "count");
    flow->outstanding = number(f, "depth");
    flow->entries = number(f, "entries");
    flow->pattern = (TopoPattern)number(f, "pattern");
    flow->polling = number(f, "completion") != 0;
    flow->timeout_ps = number(f, "timeout");
    device = flow->device;
    if (device == NULL || device->part == NULL) {
        return;
    }
    if (topo_part_kind(device->part) != TOPO_PART_ENDPOINT ||
        !topo_part_has(device->part, "nvme.overhead")) {
        report(f, "device",
               "%s is no drive; name an endpoint whose part has `nvme:`",
               device->path);
    } else if (flow->size_bytes % topo_part_bytes(device->part, "nvme.block") !=
               0) {
        report(f, "size",
               "%s is no multiple of the block of %s; write whole blocks",
               topo_values_text(f->values, "size"), device->path);
    }
}

/* An end that must be a GPU. */
static void load_gpu(const FlowLoader *f, const char *key,
                     TopoTarget *ret_target)
{
    load_target(f, key, TARGET_BIT(TOPO_TARGET_DEVICE), ret_target);
    if (ret_target->device != NULL && ret_target->device->part != NULL &&
        topo_part_kind(ret_target->device->part) != TOPO_PART_GPU) {
        report(f, key, "%s is no GPU; name one", ret_target->device->path);
        ret_target->device = NULL;
    }
}

static void load_gpus(const FlowLoader *f)
{
    TopoFlow *flow = f->flow;

    load_gpu(f, "from", &flow->from);
    load_gpu(f, "to", &flow->to);
    load_target(f, "via", TARGET_BIT(TOPO_TARGET_RAM), &flow->via);
    flow->device = flow->from.device;
    if (flow->device != NULL && flow->device == flow->to.device) {
        report(f, "to", "%s is the same device as from; name another",
               flow->device->path);
    }
}

static void load_path(const FlowLoader *f)
{
    f->flow->direction = (TopoDirection)number(f, "direction");
    f->flow->size_bytes = number(f, "size");
    load_target(f, "from",
                TARGET_BIT(TOPO_TARGET_CPU) | TARGET_BIT(TOPO_TARGET_DEVICE),
                &f->flow->from);
    load_target(f, "to", MEMORY, &f->flow->to);
    load_target(f, "via", TARGET_BIT(TOPO_TARGET_RAM), &f->flow->via);
    f->flow->count = 1;
}

static void load_after(const FlowLoader *f)
{
    g_autoptr(GPtrArray) names = topo_values_items(f->values, "after");
    unsigned i;

    f->flow->after = g_ptr_array_new();
    for (i = 0; i < names->len; i++) {
        const TopoNode *name = g_ptr_array_index(names, i);
        TopoFlow *before = NULL;

        if (name->text == NULL) {
            continue; /* reported where it was read */
        }
        before = g_hash_table_lookup(f->loader->loaded->flows, name->text);
        if (before == NULL || before == f->flow) {
            topo_errors_add(f->loader->errors, name->place,
                            "after: no flow '%s' stands before this one; name "
                            "one that does",
                            name->text);
        } else if (f->flow->kind == TOPO_FLOW_PATH ||
                   before->kind == TOPO_FLOW_PATH) {
            topo_errors_add(f->loader->errors, name->place,
                            "after: a flow of kind path has a fabric of its "
                            "own; leave it out");
        } else {
            g_ptr_array_add(f->flow->after, before);
        }
    }
}

static void load_by_kind(const FlowLoader *f, bool has_stop)
{
    TopoFlow *flow = f->flow;

    flow->start_ps = number(f, "start");
    load_after(f);
    switch (flow->kind) {
    case TOPO_FLOW_COMPUTE:
        if (topo_values_given(f->values, "device")) {
            load_device(f);
        }
        flow->time_ps = number(f, "time");
        break;
    case TOPO_FLOW_COPY:
        load_copy(f);
        break;
    case TOPO_FLOW_DMA:
        load_dma(f, has_stop);
        break;
    case TOPO_FLOW_MMIO:
        load_mmio(f);
        break;
    case TOPO_FLOW_NVME:
        load_nvme(f);
        break;
    case TOPO_FLOW_PATH:
        load_path(f);
        break;
    case TOPO_FLOW_PINGPONG:
        load_gpus(f);
        flow->count = number(f, "count");
        break;
    case TOPO_FLOW_TRANSFER:
        load_gpus(f);
        load_driver(f, flow->device);
        flow->size_bytes = number(f, "size");
        flow->count = number(f, "copies");
        break;
    }
    if (__builtin_mul_overflow(flow->count, flow->size_bytes,
                               &flow->total_bytes)) {
        report(f, "size",
               "the flow moves more bytes than can be counted; "
               "write less");
    }
}

static void flow_free(void *data)
{
    TopoFlow *flow = data;

    g_clear_pointer(&flow->after, g_ptr_array_unref);
    g_free(flow);
}

static void load_flow(TopoLoader *loader, TopoWorkload *workload,
                      const TopoNode *node)
{
    const char *kind = topo_node_get_text(node, "kind");
    const TopoSection *section = topo_schema_flow(kind);
    g_autoptr(TopoValues) values = NULL;
    const TopoValue *value;
    TopoFlow *flow;
    FlowLoader f;

    /* Without a good kind one does not know the other keys. */
    if (kind == NULL || !g_str_has_prefix(section->name, kind)) {
        const TopoNode *given = topo_node_get(node, "kind");

        topo_errors_add(loader->errors,
                        given != NULL ? given->place : node->place,
                        "a flow needs a kind; write one of compute, copy, dma, "
                        "mmio, nvme, path, pingpong, transfer");
        return;
    }
    values = topo_values_read(section, node, loader->errors);
    flow = g_new0(TopoFlow, 1);
    flow->place = node->place;
    flow->kind = (TopoFlowKind)topo_values_number(values, "kind");
    flow->name = topo_load_text(loader, topo_values_text(values, "name"));
    g_ptr_array_add(workload->flows, flow);
    value = topo_values_get(values, "name");
    if (topo_load_check_unique(loader, loader->loaded->flows, "flow",
                               flow->name, value->place)) {
        g_hash_table_insert(loader->loaded->flows, flow->name, flow);
    }
    f = (FlowLoader){loader, values, flow};
    load_by_kind(&f, workload->stop_ps > 0);
}

void topo_load_workload(TopoLoader *loader, const TopoValues *file)
{
    g_autoptr(TopoValues) values = NULL;
    g_autoptr(GPtrArray) items = NULL;
    const TopoNode *node;
    TopoWorkload *workload;
    unsigned i;

    if (!topo_values_given(file, "workload")) {
        return;
    }
    node = topo_values_get(file, "workload")->node;
    values = topo_values_read(&topo_section_workload, node, loader->errors);
    workload = g_new0(TopoWorkload, 1);
    loader->loaded->pub.workload = workload;
    workload->place = node->place;
    workload->seed = (uint64_t)topo_values_number(values, "seed");
    workload->warmup_ps = topo_values_number(values, "warmup");
    workload->stop_ps = topo_values_number(values, "stop");
    workload->flows = g_ptr_array_new_with_free_func(flow_free);
    if (workload->stop_ps > 0 && workload->warmup_ps >= workload->stop_ps) {
        topo_errors_add(loader->errors, topo_values_get(values, "stop")->place,
                        "stop: %s is not after warmup, %s; write more",
                        topo_values_text(values, "stop"),
                        topo_values_text(values, "warmup"));
    }
    items = topo_values_items(values, "flows");
    for (i = 0; i < items->len; i++) {
        load_flow(loader, workload, g_ptr_array_index(items, i));
    }
}
