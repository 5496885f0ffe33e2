/* SPDX-License-Identifier: MIT */
#include "clu_plan.h"

#include <string.h>

#include "topo_units.h"

#define NTB_TYPE "farside-switchtec"

/* PCI bus 0 of q35: 0 is the host bridge, 1 what the agent speaks through, 2 is
 * left free, and 31 belongs to the chip set. */
#define AGENT_SLOT 1
#define SLOT_MIN   3
#define SLOT_MAX   30

#define BAR4_MIN     (64LL << 20)
#define REGION_BYTES (4LL << 20)
#define VECTORS_MAX  64 /* as the broker has it */
#define NULL_DISK    "null-co:"
#define TB_SIZE_MIB  32 /* of translated code; a guest needs no more */
/* Without the tests of ciphers and the mitigations, which such guests have no
 * use for, a boot under TCG takes a fifth less. On a busy machine the check of
 * the timer finds none. */
#define KERNEL_ARGUMENTS                                                       \
    "console=ttyS0 panic=0 iomem=relaxed mitigations=off cryptomgr.notests "   \
    "no_timer_check"
#define IOMMU_ARGUMENTS " intel_iommu=on"

/* Properties that both ends of a link must have alike. */
static const char *const geometry[] = {"generation", "lut-entries", "bar2-size",
                                       "bar4-size"};

/* Properties that are ours to set. */
static const char *const reserved[] = {
    "driver",  "id",    "bus",    "link",   "listen", "partition",
    "enabled", "drive", "netdev", "memdev", "chardev"};

typedef struct Planner {
    CluPlan *plan;
    TopoErrors *errors;
} Planner;

/* Options */

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

static const char *option_value(const TopoVmDevice *vm, const char *name)
{
    int i = find_option(vm, name);

    return i < 0 ? NULL : vm->option_values->pdata[i];
}

static TopoPlace option_place(const TopoVmDevice *vm, const char *name)
{
    return g_array_index(vm->option_places, TopoPlace, find_option(vm, name));
}

/* In a list of QEMU's properties a comma is written twice. */
static void append_property(GString *out, const char *name, const char *value)
{
    g_autoptr(GString) text = g_string_new(value);

    g_string_replace(text, ",", ",,", 0);
    g_string_append_printf(out, ",%s=%s", name, text->str);
}

/* A number as QEMU reads one: 0x10, 64M, 1.5G is left to it. */
static bool parse_size(const char *text, uint64_t *ret_value)
{
    static const char suffixes[] = "BKMGT";
    char *end;
    uint64_t value = g_ascii_strtoull(text, &end, 0);
    const char *suffix;

    if (end == text) {
        return false;
    }
    if (*end != '\0') {
        suffix = strchr(suffixes, g_ascii_toupper(*end));
        if (!suffix || end[1] != '\0') {
            return false;
        }
        value <<= 10 * (suffix - suffixes);
    }
    *ret_value = value;
    return true;
}

static bool is_same_number(const char *a, const char *b)
{
    uint64_t x, y;

    if (parse_size(a, &x) && parse_size(b, &y)) {
        return x == y;
    }
    return strcmp(a, b) == 0;
}

static void check_options(Planner *planner, const TopoVmDevice *vm)
{
    unsigned i, j;

    for (i = 0; i < vm->option_names->len; i++) {
        const char *name = vm->option_names->pdata[i];

        for (j = 0; j < G_N_ELEMENTS(reserved); j++) {
            if (strcmp(name, reserved[j]) == 0) {
                topo_errors_add(planner->errors,
                                g_array_index(vm->option_places, TopoPlace, i),
                                "option '%s' is what the cluster sets; leave "
                                "it out",
                                name);
            }
        }
        if (name[strcspn(name, ",=")] != '\0') {
            topo_errors_add(planner->errors,
                            g_array_index(vm->option_places, TopoPlace, i),
                            "option '%s' is no name of a property", name);
        }
    }
}

/* Everything of `options:` but what decides the address. */
static void append_options(GString *out, const TopoVmDevice *vm,
                           bool with_geometry)
{
    unsigned i, j;

    for (i = 0; vm && i < vm->option_names->len; i++) {
        const char *name = vm->option_names->pdata[i];
        bool is_left = strcmp(name, "addr") != 0;

        for (j = 0; !with_geometry && j < G_N_ELEMENTS(geometry); j++) {
            is_left = is_left && strcmp(name, geometry[j]) != 0;
        }
        if (is_left) {
            append_property(out, name, vm->option_values->pdata[i]);
        }
    }
}

/* Devices */

static void device_free(void *data)
{
    CluPlanDevice *device = data;

    g_free(device->id);
    g_free(device->type);
    g_free(device->own);
    g_free(device);
}

static void host_free(void *data)
{
    CluPlanHost *host = data;

    g_ptr_array_unref(host->devices);
    g_free(host);
}

void clu_plan_free(CluPlan *plan)
{
    if (plan) {
        g_ptr_array_unref(plan->hosts);
        g_ptr_array_unref(plan->links);
        g_ptr_array_unref(plan->networks);
        g_ptr_array_unref(plan->regions);
        g_ptr_array_unref(plan->absent);
        g_free(plan);
    }
}

static bool is_ntb(const TopoDevice *device)
{
    return topo_part_kind(device->part) == TOPO_PART_NTB;
}

static bool is_ivshmem(const char *type)
{
    return g_str_has_prefix(type, "ivshmem-");
}

static void plan_disk(Planner *planner, CluPlanDevice *device,
                      const TopoVmDevice *vm)
{
    g_autoptr(GError) error = NULL;

    device->name = vm->image;
    if (g_str_has_prefix(vm->image, NULL_DISK)) {
        device->backend = CLU_BACKEND_NULL;
        if (!topo_units_parse(TOPO_UNIT_BYTES, vm->image + strlen(NULL_DISK),
                              &device->bytes, &error)) {
            topo_errors_add(planner->errors, vm->image_place, "image: %s",
                            error->message);
        }
    } else if (topo_units_parse(TOPO_UNIT_BYTES, vm->image, &device->bytes,
                                NULL)) {
        device->backend = CLU_BACKEND_DISK;
    } else {
        device->backend = CLU_BACKEND_FILE;
    }
    if (device->backend != CLU_BACKEND_FILE && device->bytes % 512 != 0) {
        topo_errors_add(planner->errors, vm->image_place,
                        "image: a disk of %s; a multiple of 512B is right",
                        vm->image);
    }
}

static CluPlanRegion *get_region(CluPlan *plan, const TopoVmDevice *vm,
                                 unsigned *ret_index)
{
    CluPlanRegion *region;
    unsigned i;

    for (i = 0; i < plan->regions->len; i++) {
        region = plan->regions->pdata[i];
        if (strcmp(region->name, vm->region) == 0) {
            *ret_index = i;
            return region;
        }
    }
    *ret_index = i;
    region = g_new0(CluPlanRegion, 1);
    region->name = vm->region;
    region->bytes = REGION_BYTES;
    region->place = vm->region_place;
    g_ptr_array_add(plan->regions, region);
    return region;
}

static void plan_region(Planner *planner, CluPlanDevice *device,
                        const TopoVmDevice *vm)
{
    CluPlanRegion *region = get_region(planner->plan, vm, &device->region);
    const char *text = option_value(vm, "vectors");
    uint64_t vectors = 1;

    device->backend = strcmp(device->type, "ivshmem-plain") == 0
                          ? CLU_BACKEND_REGION
                          : CLU_BACKEND_DOORBELL;
    if (vm->size_bytes != 0 && region->is_sized &&
        vm->size_bytes != region->bytes) {
        g_autofree char *place = topo_place_to_string(region->place);
        g_autofree char *here =
            topo_units_format(TOPO_UNIT_BYTES, vm->size_bytes);
        g_autofree char *there =
            topo_units_format(TOPO_UNIT_BYTES, region->bytes);

        topo_errors_add(planner->errors, vm->region_place,
                        "region '%s' has a size of %s here and of %s at %s; "
                        "write the same",
                        region->name, here, there, place);
    } else if (vm->size_bytes != 0) {
        region->bytes = vm->size_bytes;
        region->place = vm->region_place;
        region->is_sized = true;
    }
    if (device->backend != CLU_BACKEND_DOORBELL) {
        return;
    }
    if (text && (!parse_size(text, &vectors) || vectors == 0 ||
                 vectors > VECTORS_MAX)) {
        topo_errors_add(planner->errors, option_place(vm, "vectors"),
                        "vectors is '%s'; a number from 1 to %d is right", text,
                        VECTORS_MAX);
    } else if (region->vectors != 0 && region->vectors != vectors) {
        topo_errors_add(planner->errors,
                        text ? option_place(vm, "vectors") : vm->region_place,
                        "a device of region '%s' has %u vectors, and another "
                        "one %u; give all the same",
                        region->name, (unsigned)vectors, region->vectors);
    }
    region->vectors = (unsigned)vectors;
}

static void plan_network(Planner *planner, CluPlanDevice *device,
                         const TopoVmDevice *vm)
{
    GPtrArray *networks = planner->plan->networks;
    unsigned i;

    device->backend = CLU_BACKEND_NETWORK;
    for (i = 0; i < networks->len; i++) {
        if (strcmp(networks->pdata[i], vm->network) == 0) {
            device->name = networks->pdata[i];
            return;
        }
    }
    g_ptr_array_add(networks, vm->network);
    device->name = vm->network;
}

static CluPlanDevice *add_device(CluPlanHost *host, const TopoDevice *topo,
                                 const char *type)
{
    CluPlanDevice *device = g_new0(CluPlanDevice, 1);

    device->device = topo;
    device->type = g_strdup(type);
    /* QEMU wants a letter first. */
    device->id = g_strconcat(g_ascii_isalpha(*topo->name) ? "" : "d..",
                             topo->name, NULL);
    device->fd = -1;
    g_ptr_array_add(host->devices, device);
    return device;
}

/* What `vm:` may say of a device other than an adapter. */
static void plan_device(Planner *planner, CluPlanHost *host,
                        const TopoDevice *topo)
{
    const TopoVmDevice *vm = topo->vm;
    g_autoptr(GString) own = g_string_new(NULL);
    CluPlanDevice *device;

    if (!vm) {
        g_ptr_array_add(planner->plan->absent, topo->path);
        return;
    }
    if (!vm->device) {
        topo_errors_add(planner->errors, vm->place,
                        "%s: vm needs the key 'device', the name of a QEMU "
                        "device; add it",
                        topo->path);
        return;
    }
    if (strcmp(vm->device, NTB_TYPE) == 0) {
        topo_errors_add(planner->errors, vm->device_place,
                        "%s: part '%s' is no NTB adapter; give device " NTB_TYPE
                        " to parts of kind ntb",
                        topo->path, topo_part_name(topo->part));
        return;
    }
    check_options(planner, vm);
    device = add_device(host, topo, vm->device);
    if (is_ivshmem(vm->device) != (vm->region != NULL)) {
        topo_errors_add(
            planner->errors, vm->region ? vm->region_place : vm->device_place,
            vm->region ? "%s: '%s' has no region; only ivshmem-plain and "
                         "ivshmem-doorbell do"
                       : "%s: '%s' needs the key 'region', the name of "
                         "the memory it shares; add it",
            topo->path, vm->device);
    } else if (vm->region) {
        plan_region(planner, device, vm);
    } else if (vm->network) {
        plan_network(planner, device, vm);
    } else if (vm->image) {
        plan_disk(planner, device, vm);
    }
    if (vm->image && find_option(vm, "serial") < 0 &&
        (strcmp(vm->device, "nvme") == 0 ||
         g_str_has_prefix(vm->device, "virtio-blk"))) {
        /* QEMU takes 20 characters. */
        g_autofree char *serial = g_strndup(topo->path, 20);

        append_property(own, "serial", serial);
    }
    if (vm->network && find_option(vm, "mac") < 0) {
        unsigned index = 0;

        while (host->host->devices->pdata[index] != topo) {
            index++;
        }
        /* The same in each run, and nowhere twice. */
        g_string_append_printf(own, ",mac=52:54:00:%02x:%02x:%02x",
                               host->index >> 8 & 0xff, host->index & 0xff,
                               index & 0xff);
    }
    if (vm->network && find_option(vm, "romfile") < 0) {
        g_string_append(own, ",romfile="); /* nothing boots from it */
    }
    append_options(own, vm, true);
    device->own = g_string_free(g_steal_pointer(&own), FALSE);
}

/* Links */

/* The end of the memory of a guest of q35, which has a hole below 4 GiB. */
static int64_t memory_end(const TopoHost *host)
{
    int64_t bytes = host->vm->memory_bytes;

    if (bytes < 0xb0000000LL) {
        return bytes;
    }
    return bytes - 0x80000000LL + (4LL << 30);
}

static char *default_bar4(const TopoLink *link)
{
    int64_t need =
        MAX(memory_end(link->end[0]->host), memory_end(link->end[1]->host));
    int64_t size = BAR4_MIN;

    while (size < need) {
        size *= 2;
    }
    return g_strdup_printf("%" G_GINT64_FORMAT "M", size >> 20);
}

/* What both ends must have alike: what one says, the other takes. */
static void append_geometry(Planner *planner, const TopoLink *link,
                            unsigned end, GString *own)
{
    const TopoVmDevice *vm[2] = {link->end[0]->vm, link->end[1]->vm};
    unsigned i;

    for (i = 0; i < G_N_ELEMENTS(geometry); i++) {
        const char *name = geometry[i];
        const char *a = option_value(vm[0], name);
        const char *b = option_value(vm[1], name);

        if (a && b && end == 1 && !is_same_number(a, b)) {
            g_autofree char *place =
                topo_place_to_string(option_place(vm[0], name));

            topo_errors_add(planner->errors, option_place(vm[1], name),
                            "%s is %s, and %s at the other end of %s (%s); "
                            "both ends must have the same",
                            name, b, a, link->name, place);
        } else if (a || b) {
            append_property(own, name, a ? a : b);
        } else if (strcmp(name, "bar4-size") == 0) {
            /* So that one window covers all memory of either host. */
            g_autofree char *size = default_bar4(link);

            append_property(own, name, size);
        }
    }
}

static void plan_cable(Planner *planner, CluPlanHost *host,
                       const TopoDevice *topo, unsigned port, bool is_only)
{
    const TopoLink *link = topo->links->pdata[port];
    CluPlanLink *plan = NULL;
    CluPlanDevice *device = add_device(host, topo, NTB_TYPE);
    g_autoptr(GString) own = g_string_new(NULL);
    unsigned i;

    for (i = 0; i < planner->plan->links->len; i++) {
        plan = planner->plan->links->pdata[i];
        if (plan->link == link) {
            break;
        }
    }
    device->backend = CLU_BACKEND_NTB;
    device->link = plan;
    device->end = link->end[0] == topo && link->port[0] == port ? 0 : 1;
    plan->host[device->end] = host;
    plan->device[device->end] = device;
    if (!is_only) {
        g_autofree char *id = g_steal_pointer(&device->id);

        device->id = g_strdup_printf("%s.%u", id, port);
    }
    append_geometry(planner, link, device->end, own);
    append_options(own, topo->vm, false);
    device->own = g_string_free(g_steal_pointer(&own), FALSE);
}

/* An adapter with several cables becomes one PCI device for each: the kernel's
 * driver knows one pair of partitions a device. */
static void plan_adapter(Planner *planner, CluPlanHost *host,
                         const TopoDevice *topo)
{
    const TopoVmDevice *vm = topo->vm;
    unsigned n_cables = 0;
    unsigned port;

    if (vm && vm->device && strcmp(vm->device, NTB_TYPE) != 0) {
        topo_errors_add(planner->errors, vm->device_place,
                        "%s: an NTB adapter is emulated by " NTB_TYPE
                        "; leave 'device' out",
                        topo->path);
        return;
    }
    if (vm) {
        check_options(planner, vm);
    }
    for (port = 0; port < topo->links->len; port++) {
        n_cables += topo->links->pdata[port] != NULL;
    }
    for (port = 0; port < topo->links->len; port++) {
        if (topo->links->pdata[port]) {
            plan_cable(planner, host, topo, port, n_cables == 1);
        }
    }
    if (n_cables == 0) {
        g_ptr_array_add(planner->plan->absent, topo->path);
    }
}

/* Addresses */

/* Takes the slot that `options: {addr: 5}` asks for. */
static void take_slot(Planner *planner, CluPlanDevice *device, bool *taken)
{
    const TopoVmDevice *vm = device->device->vm;
    const char *text = option_value(vm, "addr");
    char *end;
    uint64_t slot;

    if (!text) {
        return;
    }
    slot = g_ascii_strtoull(text, &end, 16);
    if (end == text || (*end != '\0' && strcmp(end, ".0") != 0) ||
        slot < SLOT_MIN || slot > SLOT_MAX) {
        topo_errors_add(planner->errors, option_place(vm, "addr"),
                        "addr is '%s'; a slot from %x to %x, in hexadecimal, "
                        "is right",
                        text, SLOT_MIN, SLOT_MAX);
    } else if (taken[slot]) {
        topo_errors_add(planner->errors, option_place(vm, "addr"),
                        "slot %x has a device already; choose another addr",
                        (unsigned)slot);
    } else {
        device->slot = (unsigned)slot;
        taken[slot] = true;
    }
}

static void plan_addresses(Planner *planner, CluPlanHost *host)
{
    bool taken[SLOT_MAX + 1] = {false};
    unsigned slot = SLOT_MIN;
    int fd = CLU_FD_DEVICE;
    unsigned i;

    if (host->devices->len > SLOT_MAX - SLOT_MIN + 1) {
        topo_errors_add(planner->errors, host->host->place,
                        "host '%s' has %u devices and cables, and there is "
                        "room for %d; write fewer",
                        host->host->name, host->devices->len,
                        SLOT_MAX - SLOT_MIN + 1);
        return;
    }
    for (i = 0; i < host->devices->len; i++) {
        take_slot(planner, host->devices->pdata[i], taken);
    }
    for (i = 0; i < host->devices->len; i++) {
        CluPlanDevice *device = host->devices->pdata[i];

        if (device->slot == 0) {
            while (slot <= SLOT_MAX && taken[slot]) {
                slot++;
            }
            device->slot = slot++;
        }
        if (device->backend == CLU_BACKEND_DISK ||
            device->backend == CLU_BACKEND_NETWORK) {
            device->fd = fd++;
        }
    }
}

static void plan_host(Planner *planner, CluPlanHost *host)
{
    unsigned i;

    for (i = 0; i < host->host->devices->len; i++) {
        const TopoDevice *device = host->host->devices->pdata[i];

        if (is_ntb(device)) {
            plan_adapter(planner, host, device);
        } else {
            plan_device(planner, host, device);
        }
    }
    plan_addresses(planner, host);
}

CluPlan *clu_plan_new(const TopoDescription *description, TopoErrors *errors)
{
    g_autoptr(CluPlan) plan = g_new0(CluPlan, 1);
    Planner planner = {.plan = plan, .errors = errors};
    unsigned before = topo_errors_count(errors);
    unsigned i;

    plan->description = description;
    plan->hosts = g_ptr_array_new_with_free_func(host_free);
    plan->links = g_ptr_array_new_with_free_func(g_free);
    plan->networks = g_ptr_array_new();
    plan->regions = g_ptr_array_new_with_free_func(g_free);
    plan->absent = g_ptr_array_new();
    for (i = 0; i < description->links->len; i++) {
        CluPlanLink *link = g_new0(CluPlanLink, 1);

        link->link = description->links->pdata[i];
        link->index = i;
        g_ptr_array_add(plan->links, link);
    }
    for (i = 0; i < description->hosts->len; i++) {
        CluPlanHost *host = g_new0(CluPlanHost, 1);

        host->host = description->hosts->pdata[i];
        host->index = i;
        host->devices = g_ptr_array_new_with_free_func(device_free);
        g_ptr_array_add(plan->hosts, host);
        plan_host(&planner, host);
    }
    if (topo_errors_count(errors) > before) {
        return NULL;
    }
    return g_steal_pointer(&plan);
}

char *clu_plan_address(const CluPlanDevice *device)
{
    return g_strdup_printf("0000:00:%02x.0", device->slot);
}

char *clu_plan_link_path(const char *dir, const TopoLink *link)
{
    return g_strdup_printf("%s/%s.link", dir, link->name);
}

char *clu_plan_region_path(const char *dir, const char *region)
{
    return g_strdup_printf("%s/%s.region", dir, region);
}

char *clu_plan_qmp_path(const char *dir, const TopoHost *host)
{
    return g_strdup_printf("%s/%s.qmp", dir, host->name);
}

char *clu_plan_log_path(const char *dir, const TopoHost *host)
{
    return g_strdup_printf("%s/%s.log", dir, host->name);
}

/* The command line */

static void add(GPtrArray *argv, const char *option, const char *format, ...)
    G_GNUC_PRINTF(3, 4);

static void add(GPtrArray *argv, const char *option, const char *format, ...)
{
    va_list arguments;

    g_ptr_array_add(argv, g_strdup(option));
    va_start(arguments, format);
    g_ptr_array_add(argv, g_strdup_vprintf(format, arguments));
    va_end(arguments);
}

/* @text as a value in a list of QEMU's properties; to be freed. */
static char *escape(const char *text)
{
    GString *out = g_string_new(text);

    g_string_replace(out, ",", ",,", 0);
    return g_string_free(out, FALSE);
}

static void add_machine(GPtrArray *argv, const CluPlan *plan,
                        const CluPlanHost *host, bool is_kvm)
{
    const TopoVm *vm = host->host->vm;
    int64_t kib = vm->memory_bytes >> 10;

    add(argv, "-name", "guest=%s/%s", plan->description->name,
        host->host->name);
    g_ptr_array_add(argv, g_strdup("-nodefaults"));
    g_ptr_array_add(argv, g_strdup("-no-user-config"));
    add(argv, "-display", "none");
    add(argv, "-machine", "q35,memory-backend=ram%s",
        is_kvm && host->host->iommu ? ",kernel-irqchip=split" : "");
    add(argv, "-m", "%" G_GINT64_FORMAT "K", kib);
    add(argv, "-object",
        "memory-backend-memfd,id=ram,size=%" G_GINT64_FORMAT "K,share=on", kib);
    add(argv, "-smp", "%u", vm->cpus);
    if (is_kvm) {
        add(argv, "-accel", "kvm");
        add(argv, "-cpu", "host");
    } else {
        add(argv, "-accel", "tcg,tb-size=%d", TB_SIZE_MIB);
    }
    if (host->host->iommu) {
        /* With caching-mode the guest tells of each page that it unmaps, which
         * windows onto it depend on. */
        add(argv, "-device", "intel-iommu,intremap=on,caching-mode=on");
    }
}

static void add_channels(GPtrArray *argv, const CluPlanHost *host,
                         const CluPaths *paths)
{
    const TopoVm *vm = host->host->vm;

    add(argv, "-chardev", "socket,id=console,fd=%d", CLU_FD_CONSOLE);
    add(argv, "-serial", "chardev:console");
    add(argv, "-chardev", "socket,id=qmp,fd=%d", CLU_FD_QMP);
    add(argv, "-mon", "chardev=qmp,mode=control");
    add(argv, "-chardev", "socket,id=agent,fd=%d", CLU_FD_AGENT);
    add(argv, "-device", "virtio-serial-pci,addr=%x", AGENT_SLOT);
    add(argv, "-device", "virtserialport,chardev=agent,name=farside.agent");
    if (vm->qmp) {
        g_autofree char *path = clu_plan_qmp_path(paths->dir, host->host);
        g_autofree char *escaped = escape(path);

        add(argv, "-chardev", "socket,id=qmp-user,path=%s,server=on,wait=off",
            escaped);
        add(argv, "-mon", "chardev=qmp-user,mode=control");
    }
    if (vm->gdb_port != 0) {
        add(argv, "-gdb", "tcp:127.0.0.1:%u", vm->gdb_port);
    }
}

static void add_kernel(GPtrArray *argv, const CluPlanHost *host,
                       const CluPaths *paths)
{
    const TopoVm *vm = host->host->vm;

    add(argv, "-kernel", "%s", paths->kernel);
    add(argv, "-initrd", "%s", paths->initrd);
    add(argv, "-append",
        KERNEL_ARGUMENTS "%s farside.host=%s farside.client=%s%s%s",
        host->host->iommu ? IOMMU_ARGUMENTS : "", host->host->name, vm->client,
        vm->append ? " " : "", vm->append ? vm->append : "");
}

/* What stands behind a device, and the properties that name it. */
static char *add_backend(GPtrArray *argv, const CluPlan *plan,
                         const CluPlanDevice *device, const CluPaths *paths,
                         const bool *enabled, char *const *traces)
{
    const char *id = device->id;
    const CluPlanRegion *region;
    g_autofree char *path = NULL;
    g_autofree char *escaped = NULL;
    g_autofree char *trace = NULL;

    switch (device->backend) {
    case CLU_BACKEND_NONE:
        break;
    case CLU_BACKEND_NTB:
        path = clu_plan_link_path(paths->dir, device->link->link);
        escaped = escape(path);
        trace = escape(traces[device->link->index] ? traces[device->link->index]
                                                   : "");
        return g_strdup_printf(
            ",link=%s,partition=%u%s%s%s", escaped, device->end,
            enabled[device->link->index] ? "" : ",enabled=off",
            *trace ? ",trace=" : "", trace);
    case CLU_BACKEND_DISK:
        /* The file has no name: whatever happens, none is left behind. It is
         * open for both, and QEMU would first look for one that is for reading.
         */
        add(argv, "-add-fd", "fd=%d,set=%d", device->fd, device->fd);
        add(argv, "-drive",
            "if=none,id=%s-disk,format=raw,cache=writeback,"
            "auto-read-only=off,file=/dev/fdset/%d",
            id, device->fd);
        return g_strdup_printf(",drive=%s-disk", id);
    case CLU_BACKEND_FILE:
        escaped = escape(device->name);
        add(argv, "-drive", "if=none,id=%s-disk,format=%s,file=%s", id,
            g_str_has_suffix(device->name, ".qcow2") ? "qcow2" : "raw",
            escaped);
        return g_strdup_printf(",drive=%s-disk", id);
    case CLU_BACKEND_NULL:
        add(argv, "-blockdev",
            "driver=null-co,node-name=%s-disk,read-zeroes=on,"
            "size=%" G_GINT64_FORMAT,
            id, device->bytes);
        return g_strdup_printf(",drive=%s-disk", id);
    case CLU_BACKEND_NETWORK:
        add(argv, "-netdev", "socket,id=%s-net,fd=%d", id, device->fd);
        return g_strdup_printf(",netdev=%s-net", id);
    case CLU_BACKEND_REGION:
        region = plan->regions->pdata[device->region];
        add(argv, "-object",
            "memory-backend-file,id=%s-memory,share=on,mem-path=%s,"
            "size=%" G_GINT64_FORMAT,
            id, paths->regions[device->region], region->bytes);
        return g_strdup_printf(",memdev=%s-memory", id);
    case CLU_BACKEND_DOORBELL:
        region = plan->regions->pdata[device->region];
        path = clu_plan_region_path(paths->dir, region->name);
        escaped = escape(path);
        add(argv, "-chardev", "socket,id=%s-server,path=%s", id, escaped);
        return g_strdup_printf(",chardev=%s-server", id);
    }
    return g_strdup("");
}

char **clu_plan_argv(const CluPlan *plan, const CluPlanHost *host,
                     const CluPaths *paths, bool is_kvm, const bool *enabled,
                     char *const *traces)
{
    GPtrArray *argv = g_ptr_array_new();
    unsigned i;

    g_ptr_array_add(argv, g_strdup(paths->qemu));
    {
        g_autofree char *plugin = escape(paths->plugin);

        add(argv, "-plugin", "%s", plugin);
    }
    add_machine(argv, plan, host, is_kvm);
    add_channels(argv, host, paths);
    add_kernel(argv, host, paths);
    for (i = 0; i < host->devices->len; i++) {
        const CluPlanDevice *device = host->devices->pdata[i];
        g_autofree char *backend =
            add_backend(argv, plan, device, paths, enabled, traces);
        g_autofree char *type = escape(device->type);

        add(argv, "-device", "%s,id=%s,addr=%x%s%s", type, device->id,
            device->slot, backend, device->own ? device->own : "");
    }
    g_ptr_array_add(argv, NULL);
    return (char **)g_ptr_array_free(argv, FALSE);
}

bool clu_plan_blame(const CluPlanHost *host, const char *complaint,
                    TopoPlace *ret_place)
{
    unsigned i, j;

    for (i = 0; i < host->devices->len; i++) {
        const CluPlanDevice *device = host->devices->pdata[i];
        const TopoVmDevice *vm = device->device->vm;
        g_autofree char *begin =
            g_strdup_printf("-device %s,id=%s,", device->type, device->id);
        g_autofree char *disk = g_strdup_printf("id=%s-disk,", device->id);

        if (strstr(complaint, disk) && vm) {
            *ret_place = vm->image_place;
            return true;
        }
        if (!strstr(complaint, begin)) {
            continue;
        }
        *ret_place = vm ? (vm->device ? vm->device_place : vm->place)
                        : device->device->place;
        for (j = 0; vm && j < vm->option_names->len; j++) {
            const char *name = vm->option_names->pdata[j];
            g_autofree char *property = g_strdup_printf(".%s'", name);
            g_autofree char *parameter = g_strdup_printf("'%s'", name);

            if (strstr(complaint, property) || strstr(complaint, parameter)) {
                *ret_place = g_array_index(vm->option_places, TopoPlace, j);
            }
        }
        return true;
    }
    return false;
}
