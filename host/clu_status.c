/* SPDX-License-Identifier: MIT */
#include "clu_status.h"

#include <unistd.h>

#include <json-glib/json-glib.h>

#include "clu_plan_switches.h"

static void add_text(JsonBuilder *builder, const char *name, const char *text)
{
    json_builder_set_member_name(builder, name);
    if (text) {
        json_builder_add_string_value(builder, text);
    } else {
        json_builder_add_null_value(builder);
    }
}

static void add_number(JsonBuilder *builder, const char *name, int64_t value)
{
    json_builder_set_member_name(builder, name);
    json_builder_add_int_value(builder, value);
}

static void add_bool(JsonBuilder *builder, const char *name, bool value)
{
    json_builder_set_member_name(builder, name);
    json_builder_add_boolean_value(builder, value);
}

static void add_devices(JsonBuilder *builder, const CluPlanHost *plan)
{
    unsigned i;

    json_builder_set_member_name(builder, "devices");
    json_builder_begin_array(builder);
    for (i = 0; i < plan->devices->len; i++) {
        const CluPlanDevice *device = plan->devices->pdata[i];
        g_autofree char *address = clu_plan_address(device);

        json_builder_begin_object(builder);
        add_text(builder, "name", device->device->name);
        add_text(builder, "device", device->type);
        add_text(builder, "id", device->id);
        add_text(builder, "address", address);
        add_text(builder, "link",
                 device->link   ? device->link->link->name
                 : device->chip ? device->chip->name
                                : NULL);
        json_builder_end_object(builder);
    }
    json_builder_end_array(builder);
}

static void add_switches(JsonBuilder *builder, const CluPlanHost *plan)
{
    json_builder_set_member_name(builder, "switches");
    json_builder_begin_array(builder);
    for (unsigned i = 0; i < plan->switches->len; i++) {
        const CluPlanSwitch *sw = plan->switches->pdata[i];
        g_autofree char *address = clu_plan_switch_address(sw);

        json_builder_begin_object(builder);
        add_text(builder, "name", sw->topo->name);
        add_text(builder, "device", CLU_PLAN_UPSTREAM_TYPE);
        add_text(builder, "id", sw->id);
        add_text(builder, "address", address);
        add_text(builder, "link", NULL);
        json_builder_end_object(builder);
    }
    json_builder_end_array(builder);
}

static void add_host(JsonBuilder *builder, const CluCluster *cluster,
                     unsigned index)
{
    const CluClusterSetup *setup = clu_cluster_setup(cluster);
    const CluHost *host = clu_cluster_host(cluster, index);
    const CluPlanHost *plan = clu_host_plan(host);
    const TopoVm *vm = plan->host->vm;
    const char *dir = clu_dir_path(clu_cluster_dir(cluster));
    int64_t virtual_ns, moving_us;
    g_autofree char *log = clu_dir_log_path(dir, plan->host->name);
    g_autofree char *qmp =
        vm->qmp ? clu_dir_qmp_path(dir, plan->host->name) : NULL;
    g_autofree char *gdb =
        vm->gdb ? clu_dir_gdb_path(dir, plan->host->name) : NULL;

    json_builder_begin_object(builder);
    add_text(builder, "name", plan->host->name);
    add_text(builder, "state", clu_host_state_name(clu_host_state(host)));
    add_text(builder, "cause", clu_host_cause(host));
    add_number(builder, "boots", clu_host_boots(host));
    add_number(builder, "age_ms", clu_host_age_us(host) / 1000);
    add_number(builder, "pid", clu_host_pid(host));
    add_text(builder, "kernel", clu_host_release(host));
    add_number(builder, "memory_bytes", vm->memory_bytes);
    add_number(builder, "cpus", vm->cpus);
    add_text(builder, "accel", setup->is_kvm[index] ? "kvm" : "tcg");
    if (setup->pace->ops->times(setup->pace, plan, &virtual_ns, &moving_us)) {
        add_number(builder, "virtual_ns", virtual_ns);
        add_number(builder, "moving_us", moving_us);
    }
    add_text(builder, "client", vm->client);
    add_bool(builder, "iommu", plan->host->iommu);
    add_text(builder, "log", log);
    add_text(builder, "qmp", qmp);
    add_text(builder, "gdb", gdb);
    add_switches(builder, plan);
    add_devices(builder, plan);
    json_builder_end_object(builder);
}

static void add_link(JsonBuilder *builder, const CluCluster *cluster,
                     const CluPlanLink *link)
{
    unsigned end;

    json_builder_begin_object(builder);
    add_text(builder, "name", link->link->name);
    add_text(builder, "state",
             clu_cluster_link_is_up(cluster, link) ? "up" : "down");
    add_bool(builder, "enabled", clu_cluster_link_is_enabled(cluster, link));
    add_text(builder, "trace", clu_cluster_link_trace(cluster, link));
    json_builder_set_member_name(builder, "ends");
    json_builder_begin_array(builder);
    for (end = 0; end < 2; end++) {
        const CluPlanDevice *device = link->device[end];
        g_autofree char *address = clu_plan_address(device);

        json_builder_begin_object(builder);
        add_text(builder, "host", link->host[end]->host->name);
        add_text(builder, "adapter", device->device->name);
        add_text(builder, "id", device->id);
        add_text(builder, "address", address);
        add_number(builder, "partition",
                   device->chip ? device->device->partition : end);
        add_text(builder, "state",
                 clu_cluster_end_is_up(cluster, link, end) ? "up" : "down");
        json_builder_end_object(builder);
    }
    json_builder_end_array(builder);
    json_builder_end_object(builder);
}

char *clu_status_to_json(const CluCluster *cluster)
{
    g_autoptr(JsonBuilder) builder = json_builder_new();
    g_autoptr(JsonGenerator) generator = json_generator_new();
    g_autoptr(JsonNode) root = NULL;
    const CluPlan *plan = clu_cluster_plan(cluster);
    const char *dir = clu_dir_path(clu_cluster_dir(cluster));
    g_autofree char *name = g_path_get_basename(dir);
    unsigned i;

    json_builder_begin_object(builder);
    add_text(builder, "name", name);
    add_text(builder, "file", plan->description->file);
    add_text(builder, "directory", dir);
    add_number(builder, "pid", getpid());
    json_builder_set_member_name(builder, "hosts");
    json_builder_begin_array(builder);
    for (i = 0; i < plan->hosts->len; i++) {
        add_host(builder, cluster, i);
    }
    json_builder_end_array(builder);
    json_builder_set_member_name(builder, "links");
    json_builder_begin_array(builder);
    for (i = 0; i < plan->links->len; i++) {
        add_link(builder, cluster, plan->links->pdata[i]);
    }
    json_builder_end_array(builder);
    json_builder_set_member_name(builder, "not_emulated");
    json_builder_begin_array(builder);
    for (i = 0; i < plan->absent->len; i++) {
        json_builder_add_string_value(builder, plan->absent->pdata[i]);
    }
    json_builder_end_array(builder);
    json_builder_end_object(builder);
    root = json_builder_get_root(builder);
    json_generator_set_root(generator, root);
    json_generator_set_pretty(generator, TRUE);
    return json_generator_to_data(generator, NULL);
}
