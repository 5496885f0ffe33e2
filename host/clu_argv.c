/* SPDX-License-Identifier: MIT */
#include "clu_argv.h"

#include <string.h>

#include "clu_dir.h"
#include "clu_image.h"
#include "clu_plan_links.h"
#include "clu_plan_switches.h"
#include "clu_property.h"
#include "clu_share.h"

/* The PCI device number of the virtio-serial device of the agent. */
#define AGENT_SLOT 1
/* That of the shared folder. The description's devices start at slot 3. */
#define SHARE_SLOT 2

/* QEMU's cache of translated code. A boot makes more than 32 MiB, and QEMU
 * throws all away when the cache is full. */
#define TB_SIZE_MIB       64
#define TB_SIZE_INNER_MIB 256 /* for a guest with guests of its own */

/* These guests need neither self-tests of ciphers nor mitigations: a boot under
 * TCG takes a quarter less time without them. The initcall is a self-test, and
 * nothing else, that has no parameter of its own. no_timer_check is there
 * because the kernel's check of the timer fails on a busy machine. */
#define KERNEL_ARGUMENTS                                                       \
    "console=ttyS0 panic=0 iomem=relaxed mitigations=off cryptomgr.notests "   \
    "initcall_blacklist=crypto_kdf108_init no_timer_check"
/* A program has the same addresses each time it is run. TCG translates code for
 * one virtual address, so it would translate a shell and its libraries again
 * for each command, which then takes ten times as long. Not with several
 * CPUs: QEMU 7.2 can crash there while one of them moves a BAR, and was seen to
 * do so with this word only. */
#define TCG_ARGUMENTS   " norandmaps"
#define IOMMU_ARGUMENTS " intel_iommu=on" /* AMD's is on by itself */
#define SHARE_ID        "share"           /* for QEMU */
#define SHARE_ARGUMENTS " farside.share"

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

/* A guest that has taken QEMU over gets little of this computer: QEMU starts no
 * program, and gives itself neither rights nor priorities. */
static void add_sandbox(GPtrArray *argv, const CluPaceMachine *machine)
{
    add(argv, "-sandbox",
        "on,obsolete=deny,elevateprivileges=deny%s,resourcecontrol=deny",
        machine->sandbox);
}

static void add_machine(GPtrArray *argv, const CluPlan *plan,
                        const CluPlanHost *host, bool is_kvm,
                        const CluPaceMachine *machine)
{
    const TopoVm *vm = host->host->vm;
    int64_t kib = vm->memory_bytes >> 10;

    add(argv, "-name", "guest=%s/%s", plan->description->name,
        host->host->name);
    g_ptr_array_add(argv, g_strdup("-nodefaults"));
    g_ptr_array_add(argv, g_strdup("-no-user-config"));
    add(argv, "-display", "none");
    add(argv, "-machine", "q35,memory-backend=ram%s%s",
        is_kvm && host->host->iommu ? ",kernel-irqchip=split" : "",
        machine->machine);
    add(argv, "-m", "%" G_GINT64_FORMAT "K", kib);
    add(argv, "-object", "%s,id=ram,size=%" G_GINT64_FORMAT "K%s",
        machine->memory, kib, machine->memory_shared);
    /* QEMU leaves out a guest's memory barriers under TCG if the machine can
     * have one CPU only. Its devices have threads of their own, though: without
     * the barriers an NVMe drive misses a shadow doorbell and waits for ever.
     */
    add(argv, "-smp", "%u%s", vm->cpus,
        !is_kvm && vm->cpus == 1 ? ",maxcpus=2" : "");
    if (machine->accel) {
        for (const char *const *word = machine->accel; *word; word++) {
            g_ptr_array_add(argv, g_strdup(*word));
        }
    } else if (is_kvm) {
        add(argv, "-accel", "kvm");
        add(argv, "-cpu", "host");
    } else {
        add(argv, "-accel", "tcg,tb-size=%d",
            vm->runs_inner ? TB_SIZE_INNER_MIB : TB_SIZE_MIB);
        /* TCG emulates AMD's SVM, so the guest has KVM. */
        if (vm->runs_inner) {
            add(argv, "-cpu", "max");
        }
    }
}

/* Adds the IOMMU, which stands before the devices. AMD's is a PCI function,
 * too: it takes the first slot that is free, which is the one behind the
 * agent's. */
static void add_iommu(GPtrArray *argv, const CluPlanHost *host)
{
    const TopoVm *vm = host->host->vm;

    if (!host->host->iommu) {
        return;
    }
    if (vm->iommu == TOPO_VM_IOMMU_AMD) {
        add(argv, "-device", "amd-iommu,intremap=%s",
            vm->remapping ? "on" : "off");
        add(argv, "-device", "farside-southbridge,addr=%x",
            CLU_PLAN_SOUTHBRIDGE_SLOT);
        return;
    }
    /* With caching-mode the guest reports each page that it maps or unmaps.
     * NTB windows onto the guest's memory need these reports. */
    add(argv, "-device", "intel-iommu,intremap=%s,caching-mode=on",
        vm->remapping ? "on" : "off");
}

static void add_channels(GPtrArray *argv, const CluPlanHost *host,
                         const CluPaths *paths, const CluPaceMachine *machine)
{
    const TopoVm *vm = host->host->vm;

    add(argv, "-chardev", "socket,id=console,fd=%d", CLU_FD_CONSOLE);
    add(argv, "-serial", "chardev:console");
    add(argv, "-chardev", "socket,id=qmp,fd=%d", CLU_FD_QMP);
    if (machine->has_monitor) {
        add(argv, "-mon", "chardev=qmp,mode=control");
    }
    add(argv, "-chardev", "socket,id=agent,fd=%d", CLU_FD_AGENT);
    add(argv, "-device", "virtio-serial-pci,addr=%x%s", AGENT_SLOT,
        machine->serial);
    add(argv, "-device", "virtserialport,chardev=agent,name=farside.agent");
    if (vm->qmp) {
        g_autofree char *path = clu_dir_qmp_path(paths->dir, host->host->name);
        g_autofree char *escaped = clu_property_escape(path);

        add(argv, "-chardev", "socket,id=qmp-user,path=%s,server=on,wait=off",
            escaped);
        add(argv, "-mon", "chardev=qmp-user,mode=control");
    }
    /* A debugger can have QEMU write any file, by its command "monitor". So
     * only the cluster's user may connect, as to the monitor. */
    if (vm->gdb) {
        g_autofree char *path = clu_dir_gdb_path(paths->dir, host->host->name);
        g_autofree char *escaped = clu_property_escape(path);

        add(argv, "-chardev", "socket,id=gdb,path=%s,server=on,wait=off",
            escaped);
        add(argv, "-gdb", "chardev:gdb");
    }
}

/* The words that tell the guest of the machines inside it. */
static char *inner_words(const TopoVm *vm)
{
    GString *words = g_string_new(NULL);

    for (unsigned i = 0; i < vm->inner->len; i++) {
        const TopoInner *inner = vm->inner->pdata[i];
        g_autofree char *append = g_strdup(inner->append ? inner->append : "");

        /* A word of the kernel's command line has no blank. */
        g_strdelimit(append, " ", '|');
        g_string_append_printf(
            words, " farside.vm=%s,%" G_GINT64_FORMAT ",%u,%s,%s", inner->name,
            inner->memory_bytes >> 20, inner->cpus, inner->borrow, append);
    }
    return g_string_free(words, FALSE);
}

/* The word that keeps the kernel from ACS redirect at ports of switches with
 * `acs: off`, which an IOMMU makes it enable; to be freed. */
static char *acs_words(const CluPlanHost *host)
{
    g_autoptr(GString) ports = g_string_new(NULL);

    for (unsigned i = 0; i < host->switches->len; i++) {
        const CluPlanSwitch *sw = host->switches->pdata[i];

        if (sw->topo->acs == TOPO_ACS_OFF &&
            topo_part_bool(sw->topo->part, "acs")) {
            clu_plan_append_ports(ports, host, sw);
        }
    }
    return ports->len && host->host->iommu
               ? g_strconcat(" pci=disable_acs_redir=", ports->str, NULL)
               : g_strdup("");
}

static void add_kernel(GPtrArray *argv, const CluPlanHost *host, bool is_kvm,
                       const CluPaths *paths, const CluPaceMachine *machine)
{
    const TopoVm *vm = host->host->vm;
    g_autofree char *inner = inner_words(vm);
    g_autofree char *acs = acs_words(host);

    add(argv, "-kernel", "%s", paths->kernel);
    add(argv, "-initrd", "%s", paths->initrd);
    add(argv, "-append",
        KERNEL_ARGUMENTS "%s%s%s%s%s farside.host=%s farside.client=%s%s%s%s",
        !is_kvm && vm->cpus == 1 ? TCG_ARGUMENTS : "", machine->kernel,
        host->host->iommu && vm->iommu == TOPO_VM_IOMMU_INTEL ? IOMMU_ARGUMENTS
                                                              : "",
        acs, vm->share ? SHARE_ARGUMENTS : "", host->host->name, vm->client,
        vm->append ? " " : "", vm->append ? vm->append : "", inner);
}

/* Adds the folder that `share:` names. */
static void add_share(GPtrArray *argv, const TopoVm *vm)
{
    g_autofree char *escaped = NULL;

    if (vm->share) {
        escaped = clu_property_escape(vm->share);
        add(argv, "-fsdev",
            "local,id=" SHARE_ID
            ",security_model=%s,fmode=0600,dmode=0700,path=%s",
            clu_share_model(vm->share), escaped);
        add(argv, "-device",
            "virtio-9p-pci,fsdev=" SHARE_ID ",mount_tag=share,addr=%x",
            SHARE_SLOT);
    }
}

/* Adds what the machines inside of this one are started from: the QEMU of this
 * computer with its libraries, and the image of this guest. */
static void add_inner(GPtrArray *argv, const TopoVm *vm, const CluPaths *paths)
{
    g_autofree char *folder = g_path_get_dirname(paths->initrd);
    g_autofree char *escaped = clu_property_escape(folder);

    if (!vm->runs_inner) {
        return;
    }
    add(argv, "-fsdev",
        "local,id=usr,security_model=none,readonly=on,multidevs=remap,"
        "path=/usr");
    add(argv, "-device",
        "virtio-9p-pci,fsdev=usr,mount_tag=usr,addr=%x.0,multifunction=on",
        CLU_PLAN_INNER_SLOT);
    add(argv, "-fsdev",
        "local,id=image,security_model=none,readonly=on,path=%s", escaped);
    add(argv, "-device", "virtio-9p-pci,fsdev=image,mount_tag=image,addr=%x.1",
        CLU_PLAN_INNER_SLOT);
}

/* The properties of an NTB's links: where they are, and their states. */
static char *link_properties(const CluPlan *plan, const CluPlanDevice *device,
                             const CluPaths *paths, const bool *enabled,
                             char *const *traces)
{
    g_autofree char *all =
        device->chip ? g_strconcat(device->chip->name, ".*", NULL) : NULL;
    g_autofree char *path =
        clu_dir_link_path(paths->dir, all ? all : device->link->link->name);
    GString *text = g_string_new(NULL);

    clu_property_append(text, "link", path);
    g_string_append_printf(text, ",partition=%u", device->end);
    for (unsigned i = 0; i < plan->links->len; i++) {
        const CluPlanLink *link = plan->links->pdata[i];

        for (unsigned end = 0; end < 2; end++) {
            g_autofree char *property = NULL;
            g_autofree char *trace = NULL;

            if (link->device[end] != device) {
                continue;
            }
            if (!enabled[i]) {
                property = clu_plan_link_property(link, end, "enabled");
                clu_property_append(text, property, "off");
            }
            if (traces[i] && *traces[i]) {
                trace = clu_plan_link_property(link, end, "trace");
                clu_property_append(text, trace, traces[i]);
            }
        }
    }
    return g_string_free(text, FALSE);
}

/* Adds the options for the backend of @device. Returns the device properties
 * that refer to that backend; to be freed. */
static char *add_backend(GPtrArray *argv, const CluPlan *plan,
                         const CluPlanDevice *device, const CluPaths *paths,
                         const bool *enabled, char *const *traces)
{
    const char *id = device->id;
    const CluPlanRegion *region;
    g_autofree char *path = NULL;
    g_autofree char *escaped = NULL;

    switch (device->backend) {
    case CLU_BACKEND_NONE:
        break;
    case CLU_BACKEND_NTB:
        return link_properties(plan, device, paths, enabled, traces);
    case CLU_BACKEND_DISK:
        /* The disk is an unnamed temporary file that disappears with the last
         * process that has it open. Its descriptor is open for reading and
         * writing; without auto-read-only=off QEMU would look for one that is
         * open for reading only. */
        add(argv, "-add-fd", "fd=%d,set=%d", device->fd, device->fd);
        add(argv, "-drive",
            "if=none,id=%s-disk,format=raw,cache=writeback,"
            "auto-read-only=off,file=/dev/fdset/%d",
            id, device->fd);
        return g_strdup_printf(",drive=%s-disk", id);
    case CLU_BACKEND_FILE:
        escaped = clu_property_escape(device->name);
        add(argv, "-drive", "if=none,id=%s-disk,format=%s,file=%s", id,
            clu_image_is_qcow2(device->name) ? "qcow2" : "raw", escaped);
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
        path = clu_dir_region_path(paths->dir, region->name);
        escaped = clu_property_escape(path);
        add(argv, "-chardev", "socket,id=%s-server,path=%s", id, escaped);
        return g_strdup_printf(",chardev=%s-server", id);
    }
    return g_strdup("");
}

/* The command line gets the ports of a host. */
typedef struct Ports {
    GPtrArray *argv;
    const CluPlan *plan;
    const CluPlanHost *host;
    char *const *traces;
} Ports;

/* The property of the port @id that records its link, if that is traced; to be
 * freed. */
static char *port_trace(const CluPlan *plan, const CluPlanHost *host,
                        const char *id, char *const *traces)
{
    for (unsigned i = 0; i < plan->insides->len; i++) {
        const CluPlanInside *inside = plan->insides->pdata[i];
        const char *path = traces[plan->links->len + i];

        if (inside->host == host && strcmp(inside->id, id) == 0 && path &&
            *path) {
            g_autoptr(GString) property = g_string_new(NULL);

            clu_property_append(property, "trace", path);
            return g_string_free(g_steal_pointer(&property), FALSE);
        }
    }
    return g_strdup("");
}

/* Adds the Downstream Port @port of @sw. It is a slot that things can be
 * unplugged from if @hotplug. The chassis is that of the root port. */
static void add_port(Ports *ports, const CluPlanSwitch *sw, unsigned port,
                     unsigned bus, bool hotplug)
{
    g_autofree char *id = clu_plan_port_id(sw, port);
    g_autofree char *trace =
        port_trace(ports->plan, ports->host, id, ports->traces);
    const CluPlanSwitch *top = sw;

    while (top->above) {
        top = top->above;
    }
    add(ports->argv, "-device",
        CLU_PLAN_DOWNSTREAM_TYPE
        ",id=%s,bus=%s,addr=%x,port=%u,chassis=%u,slot=%u,hotplug=%s,acs=%s,"
        "redirect=%s%s",
        id, sw->id, port, port, top->slot, CLU_PLAN_SLOT_MAX + bus,
        hotplug ? "on" : "off",
        topo_part_bool(sw->topo->part, "acs") ? "on" : "off",
        sw->topo->acs == TOPO_ACS_ON ? "on" : "off", trace);
}

/* Adds the switch @sw, and the port above it. */
static void add_switch(Ports *ports, const CluPlanSwitch *sw)
{
    g_autofree char *root = g_strdup_printf("%s.root", sw->id);
    g_autofree char *above =
        sw->above ? clu_plan_port_id(sw->above, sw->topo->at.port) : NULL;
    g_autofree char *trace = NULL;

    if (sw->above) {
        add_port(ports, sw->above, sw->topo->at.port, sw->bus, false);
    } else {
        add(ports->argv, "-device",
            "pcie-root-port,id=%s,addr=%x,chassis=%u,slot=%u,hotplug=off", root,
            sw->slot, sw->slot, sw->slot);
    }
    /* The port above has the trace, if that is one of a switch. */
    trace = sw->above
                ? g_strdup("")
                : port_trace(ports->plan, ports->host, sw->id, ports->traces);
    add(ports->argv, "-device", CLU_PLAN_UPSTREAM_TYPE ",id=%s,bus=%s,addr=0%s",
        sw->id, above ? above : root, trace);
}

/* Adds the port of @device, if it has one. Returns the device properties for
 * its place; to be freed. */
static char *add_place(Ports *ports, const CluPlanDevice *device)
{
    const CluPlanSwitch *sw = device->above;
    unsigned port = device->device->at.port;
    g_autofree char *id = NULL;

    if (sw) {
        id = clu_plan_port_id(sw, port);
        if (device->function == 0) {
            add_port(ports, sw, port, device->bus, clu_plan_is_hotplug(device));
        }
        return g_strdup_printf("bus=%s,addr=0.%u%s", id, device->function,
                               clu_plan_has_sibling(ports->host, device)
                                   ? ",multifunction=on"
                                   : "");
    }
    if (!device->bus) {
        return g_strdup_printf("addr=%x", device->slot);
    }
    add(ports->argv, "-device",
        "pcie-root-port,id=%s-port,addr=%x,chassis=%u,slot=%u", device->id,
        device->slot, device->slot, device->slot);
    return g_strdup_printf("bus=%s-port,addr=0", device->id);
}

/* Adds the switches, and what all ports share. */
static void add_ports(Ports *ports)
{
    const CluPlanHost *host = ports->host;
    bool hotplug = false;

    for (unsigned i = 0; i < host->devices->len; i++) {
        hotplug |= clu_plan_is_hotplug(host->devices->pdata[i]);
    }
    /* Slots are the kernel's own (pciehp), and not those of the firmware. */
    if (hotplug) {
        add(ports->argv, "-global",
            "ICH9-LPC.acpi-pci-hotplug-with-bridge-support=off");
    }
    for (unsigned i = 0; i < host->switches->len; i++) {
        add_switch(ports, host->switches->pdata[i]);
    }
}

char **clu_argv_new(const CluPlan *plan, const CluPlanHost *host,
                    const CluPaths *paths, bool is_kvm, const bool *enabled,
                    char *const *traces, const CluPace *pace)
{
    GPtrArray *argv = g_ptr_array_new();
    Ports ports = {argv, plan, host, traces};
    const CluPaceMachine *machine = pace->ops->machine;
    g_autofree char *plugin = clu_property_escape(paths->plugin);
    g_autofree char *time = pace->ops->plugin(pace, host);
    unsigned i;

    g_ptr_array_add(argv, g_strdup(paths->qemu));
    add(argv, "-plugin", "%s", plugin);
    if (time) {
        add(argv, "-plugin", "%s", time);
    }
    add_sandbox(argv, machine);
    add_machine(argv, plan, host, is_kvm, machine);
    add_channels(argv, host, paths, machine);
    add_iommu(argv, host);
    add_kernel(argv, host, is_kvm, paths, machine);
    add_share(argv, host->host->vm);
    add_inner(argv, host->host->vm, paths);
    add_ports(&ports);
    for (i = 0; i < host->devices->len; i++) {
        const CluPlanDevice *device = host->devices->pdata[i];
        g_autofree char *backend =
            add_backend(argv, plan, device, paths, enabled, traces);
        g_autofree char *type = clu_property_escape(device->type);
        g_autofree char *place = NULL;

        /* All functions of a drive with virtual functions have its disk, which
         * is therefore a namespace of the drive's subsystem. */
        if (device->subsys) {
            add(argv, "-device", "nvme-subsys,id=%s-subsystem", device->id);
        }
        place = add_place(&ports, device);
        add(argv, "-device", "%s,id=%s,%s%s%s", type, device->id, place,
            device->subsys ? "" : backend,
            device->properties ? device->properties : "");
        if (device->subsys) {
            add(argv, "-device", "nvme-ns,bus=%s%s", device->id, backend);
        }
    }
    g_ptr_array_add(argv, NULL);
    return (char **)g_ptr_array_free(argv, FALSE);
}

bool clu_argv_blame(const CluPlanHost *host, const char *complaint,
                    TopoPlace *ret_place)
{
    unsigned i, j;

    if (host->host->vm->share && strstr(complaint, ",fsdev=" SHARE_ID ",")) {
        *ret_place = host->host->vm->place;
        return true;
    }
    for (i = 0; i < host->switches->len; i++) {
        const CluPlanSwitch *sw = host->switches->pdata[i];
        g_autofree char *upstream = g_strdup_printf(",id=%s,", sw->id);
        g_autofree char *port = g_strdup_printf(",id=%s.", sw->id);

        if (strstr(complaint, upstream) || strstr(complaint, port)) {
            *ret_place = sw->topo->place;
            return true;
        }
    }
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
