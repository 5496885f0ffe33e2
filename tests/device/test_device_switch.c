/* SPDX-License-Identifier: MIT */
/*
 * Invariant: a request of a device below a switch goes to the Downstream Port
 * whose range has its address, and not to the root; to the root if ACS P2P
 * Request Redirect is on where it comes in; and nowhere if it would leave
 * through that port (PCIe 5.0 s2.3.1, s6.12). The root port's range leaves the
 * second accelerator out, so a request that comes to the root does not find it.
 * A device that is refused leaves nothing in the machine. Virtual functions are
 * there when software enables them, also if the slot takes no device. What QEMU
 * keeps of an address space of ours never begins at a bridge's own region,
 * which QEMU 7.2 frees too early.
 */
#include <check.h>
#include <glib.h>
#include <stdlib.h>
#include <string.h>
#include "device_gpu.h"
#include "../suite.h"

#define BASE       0xd0000000u
#define MEMORY     0x1000000u /* of an accelerator, behind its registers */
#define SPAN       0x2000000u /* its port's range */
#define ROOT_DEVFN 0x50
#define DATA       0x123456789abcdef0ull
#define COUNT      4096u
#define TO         0x8000u

/* The extended capability ACS, PCIe 5.0 s7.7.8; behind AER in QEMU's port */
#define ACS          0x148u
#define ACS_ID       0x0001000du
#define ACS_CAP      0x4u
#define ACS_CTRL     0x6u
#define ACS_BITS     0x1du /* SV, RR, CR, UF */
#define ACS_RR       0x4u
#define COMMAND      0x4u
#define COMMAND_ALL  0x6u /* memory, bus master */
/* Slot Control, PCIe 5.0 s7.5.3.10: power on, both indicators off */
#define SLOT_CONTROL 0x18u
#define SLOT_POWER   0x3c0u
#define SLOT_OFF     0x400u

static DeviceRig *rig;
static uint64_t ecam;
static DeviceGpu gpus[2];

static uint64_t config(unsigned bus, unsigned devfn, unsigned offset)
{
    return ecam + (bus << 20 | devfn << 12 | offset);
}

/* Bus numbers, memory range [@base, @end), no prefetchable one. */
static void map_bridge(unsigned bus, unsigned devfn, uint32_t buses,
                       uint32_t base, uint32_t end)
{
    rig_write(rig, config(bus, devfn, 0x18), 4, buses);
    rig_write(rig, config(bus, devfn, 0x20), 4,
              base >> 16 | ((end - 1) & 0xfff00000));
    rig_write(rig, config(bus, devfn, 0x24), 4, 0x0000fff0);
    rig_write(rig, config(bus, devfn, COMMAND), 2, COMMAND_ALL);
}

static void map_gpu(unsigned number, unsigned bus)
{
    DeviceGpu *gpu = &gpus[number];
    uint64_t bar = BASE + number * SPAN;

    *gpu = (DeviceGpu){.rig = rig,
                       .bar = bar,
                       .memory = bar + MEMORY,
                       .msix = bar + GPU_REGS_SIZE};
    rig_write(rig, config(bus, 0, 0x10), 4, (uint32_t)gpu->bar);
    rig_write(rig, config(bus, 0, 0x14), 4, 0);
    rig_write(rig, config(bus, 0, 0x18), 4, (uint32_t)gpu->memory);
    rig_write(rig, config(bus, 0, 0x1c), 4, 0);
    rig_write(rig, config(bus, 0, 0x20), 4, (uint32_t)gpu->msix);
    rig_write(rig, config(bus, 0, 0x24), 4, 0);
    rig_write(rig, config(bus, 0, COMMAND), 2, COMMAND_ALL);
}

/* A switch with two ports, and an accelerator below each of them */
static void begin(const char *port)
{
    g_autofree char *one = g_strdup_printf(
        "farside-switch-downstream,id=one,bus=up,addr=0,chassis=2,slot=1,%s",
        port);
    const char *arguments[] = {
        "-device",
        "pcie-root-port,id=root,addr=0a.0,chassis=1,slot=1",
        "-device",
        "farside-switch-upstream,id=up,bus=root",
        "-device",
        one,
        "-device",
        "farside-switch-downstream,id=two,bus=up,addr=1,chassis=2,slot=2",
        "-device",
        "farside-gpu,id=a,bus=one,vfs=0",
        "-device",
        "farside-gpu,id=b,bus=two,vfs=0",
        NULL};

    rig = rig_new_with(NULL, "", arguments);
    ecam = gpu_ecam(rig, 0);
    map_bridge(0, ROOT_DEVFN, 0x040100, BASE, BASE + 2 * SPAN);
    map_bridge(1, 0, 0x040201, BASE, BASE + 2 * SPAN);
    map_bridge(2, 0, 0x030302, BASE, BASE + SPAN);
    map_bridge(2, 8, 0x040402, BASE + SPAN, BASE + 2 * SPAN);
    map_gpu(0, 3);
    map_gpu(1, 4);
    rig_write(rig, gpus[0].memory, 8, DATA);
    rig_write(rig, gpus[1].memory + TO, 8, 0);
    gpu_enable(&gpus[0], 0, 16, 0);
}

static void end(void)
{
    rig_free(rig);
    rig = NULL;
}

static void redirect(bool on)
{
    rig_write(rig, config(2, 0, ACS + ACS_CTRL), 2, on ? ACS_RR : 0);
}

/* Sets the end of the root port's range. */
static void reach(uint32_t end)
{
    rig_write(rig, config(0, ROOT_DEVFN, 0x20), 4,
              BASE >> 16 | ((end - 1) & 0xfff00000));
}

/* Copies from the first accelerator's memory to @address, while the root does
 * not reach the second one. Returns the queue's error. */
static uint64_t copy_to(uint64_t address)
{
    uint64_t queue = gpu_queue(&gpus[0], 0), error = 0;
    gint64 deadline = rig_deadline();

    reach(BASE + SPAN);
    gpu_put(&gpus[0], 0, GPU_COPY, COUNT, GPU_LOCAL, address);
    gpu_ring(&gpus[0], 0);
    while (!error && rig_read(rig, queue + GPU_HEAD, 4) != gpus[0].tail[0]) {
        error = rig_read(rig, queue + GPU_ERROR, 4);
        ck_assert(g_get_monotonic_time() < deadline);
    }
    reach(BASE + 2 * SPAN);
    return error;
}

static uint64_t arrived(void)
{
    return rig_read(rig, gpus[1].memory + TO, 8);
}

START_TEST(requests_pass_from_port_to_port)
{
    begin("acs=on");
    ck_assert_uint_eq(copy_to(gpus[1].memory + TO), GPU_ERROR_NONE);
    ck_assert_uint_eq(arrived(), DATA);
    /* The memory of the machine is in no port's range, so this goes up. */
    gpu_put(&gpus[0], 0, GPU_COPY, COUNT, GPU_LOCAL, 0x800000);
    gpu_run(&gpus[0], 0);
    ck_assert_mem_eq(rig_ram(rig) + 0x800000, &(uint64_t){DATA}, 8);
    end();
}
END_TEST

START_TEST(acs_redirects_them_to_the_root)
{
    begin("acs=on");
    redirect(true);
    ck_assert_uint_eq(copy_to(gpus[1].memory + TO), GPU_ERROR_DMA);
    ck_assert_uint_eq(arrived(), 0);
    end();
}
END_TEST

/* The same, and the root reaches the accelerator. */
START_TEST(the_root_sends_them_down_again)
{
    begin("acs=on,redirect=on");
    gpu_put(&gpus[0], 0, GPU_COPY, COUNT, GPU_LOCAL, gpus[1].memory + TO);
    gpu_run(&gpus[0], 0);
    ck_assert_uint_eq(arrived(), DATA);
    end();
}
END_TEST

START_TEST(none_leaves_by_the_port_it_came_in)
{
    begin("acs=on");
    ck_assert_uint_eq(copy_to(gpus[0].memory + TO), GPU_ERROR_DMA);
    ck_assert_uint_eq(rig_read(rig, gpus[0].memory + TO, 8), 0);
    end();
}
END_TEST

START_TEST(capability_is_that_of_the_specification)
{
    begin("acs=on");
    ck_assert_uint_eq(rig_read(rig, config(2, 0, ACS), 4), ACS_ID);
    ck_assert_uint_eq(rig_read(rig, config(2, 0, ACS + ACS_CAP), 2), ACS_BITS);
    ck_assert_uint_eq(rig_read(rig, config(2, 0, ACS + ACS_CTRL), 2), 0);
    rig_write(rig, config(2, 0, ACS + ACS_CTRL), 2, 0xffff);
    ck_assert_uint_eq(rig_read(rig, config(2, 0, ACS + ACS_CTRL), 2), ACS_BITS);
    end();
}
END_TEST

START_TEST(firmware_may_have_enabled_it)
{
    begin("acs=on,redirect=on");
    ck_assert_uint_eq(rig_read(rig, config(2, 0, ACS + ACS_CTRL), 2) & ACS_RR,
                      ACS_RR);
    ck_assert_uint_eq(copy_to(gpus[1].memory + TO), GPU_ERROR_DMA);
    end();
}
END_TEST

START_TEST(port_without_it_redirects_nothing)
{
    begin("acs=off");
    ck_assert_uint_eq(rig_read(rig, config(2, 0, ACS), 4), 0);
    rig_write(rig, config(2, 0, ACS + ACS_CTRL), 2, 0xffff);
    ck_assert_uint_eq(copy_to(gpus[1].memory + TO), GPU_ERROR_NONE);
    ck_assert_uint_eq(arrived(), DATA);
    end();
}
END_TEST

/* Virtual functions of a device that nobody can unplug */

/* The extended capability SR-IOV of the accelerator, PCIe 5.0 s9.3.3 */
#define SRIOV          0x180u
#define SRIOV_CTRL     0x08u
#define SRIOV_VFE      0x1u
#define SRIOV_NUM_VFS  0x10u
#define SRIOV_OFFSET   0x14u
#define SRIOV_STRIDE   0x16u
#define CLASS          0x08u
#define BRIDGE_CONTROL 0x3eu
#define BRIDGE_RESET   0x40u
#define DEVICE_CONTROL 0x08u
#define DEVICE_FLR     0x8000u

static uint32_t class_of(unsigned devfn)
{
    return (uint32_t)rig_read(rig, config(3, devfn, CLASS), 4);
}

/* Enables two virtual functions, and finds them. Returns the first one. */
static unsigned enable_vfs(void)
{
    unsigned first, stride;

    rig_write(rig, config(3, 0, SRIOV + SRIOV_NUM_VFS), 2, 2);
    rig_write(rig, config(3, 0, SRIOV + SRIOV_CTRL), 2, SRIOV_VFE);
    first = (unsigned)rig_read(rig, config(3, 0, SRIOV + SRIOV_OFFSET), 2);
    stride = (unsigned)rig_read(rig, config(3, 0, SRIOV + SRIOV_STRIDE), 2);
    ck_assert_uint_ne(class_of(0), 0xffffffff);
    ck_assert_uint_eq(class_of(first), class_of(0));
    ck_assert_uint_eq(class_of(first + stride), class_of(0));
    return first;
}

START_TEST(virtual_functions_need_no_slot)
{
    static const char *const arguments[] = {
        "-device",
        "pcie-root-port,id=root,addr=0a.0,chassis=1,slot=1,hotplug=off",
        "-device",
        "farside-switch-upstream,id=up,bus=root",
        "-device",
        "farside-switch-downstream,id=one,bus=up,addr=0,chassis=2,slot=1,"
        "hotplug=off",
        "-device",
        "farside-gpu,id=a,bus=one,vfs=2",
        NULL};
    unsigned capability, first;

    rig = rig_new_with(NULL, "", arguments);
    ecam = gpu_ecam(rig, 0);
    map_bridge(0, ROOT_DEVFN, 0x030100, BASE, BASE + SPAN);
    map_bridge(1, 0, 0x030201, BASE, BASE + SPAN);
    map_bridge(2, 0, 0x030302, BASE, BASE + SPAN);
    first = enable_vfs();
    rig_write(rig, config(3, 0, SRIOV + SRIOV_CTRL), 2, 0);
    ck_assert_uint_eq(class_of(first), 0xffffffff);
    enable_vfs();
    /* A reset of the function, and one of the bus, ends them. */
    capability = (unsigned)rig_read(rig, config(3, 0, 0x34), 1);
    while (rig_read(rig, config(3, 0, capability), 1) != 0x10) {
        capability = (unsigned)rig_read(rig, config(3, 0, capability + 1), 1);
        ck_assert_uint_ne(capability, 0);
    }
    rig_write(rig, config(3, 0, capability + DEVICE_CONTROL), 2, DEVICE_FLR);
    ck_assert_uint_eq(class_of(first), 0xffffffff);
    enable_vfs();
    rig_write(rig, config(2, 0, BRIDGE_CONTROL), 2, BRIDGE_RESET);
    rig_write(rig, config(2, 0, BRIDGE_CONTROL), 2, 0);
    ck_assert_uint_eq(class_of(first), 0xffffffff);
    enable_vfs();
    end();
}
END_TEST

/* Devices that cannot be, each at its last step that may fail, and why. The bus
 * is that of a root port, or of a switch's port. */
static const struct {
    const char *bus;
    const char *device;
    const char *bad;
    const char *good;
    const char *said;
} refused[] = {
    {"root", "'driver': 'farside-switch-upstream'", "'trace': '/nowhere/trace'",
     "'multifunction': false", "property 'trace': "},
    {"one", "'driver': 'farside-switch-upstream'", "'trace': '/nowhere/trace'",
     "'multifunction': false", "set that port's property 'trace'"},
    {"root", "'driver': 'farside-switchtec', 'link': '/nowhere/link'",
     "'trace': '/nowhere/trace'", "'partition': 1", "property 'trace': "},
    {"root", "'driver': 'farside-switchtec', 'link': '/nowhere/link'",
     "'listen': true", "'partition': 1", "property 'link': cannot listen"},
    {"root", "'driver': 'farside-gpu'", "'vfs': 255", "'vfs': 0",
     "property 'vfs'"},
    {"root", "'driver': 'farside-nic'", "'vfs': 255", "'vfs': 0",
     "property 'vfs'"},
};

/* Adds the device of a row. Returns QMP's answer, to be freed. */
static char *add(unsigned row, const char *property)
{
    g_autofree char *command =
        g_strdup_printf("{'execute': 'device_add', 'arguments': {%s, %s, "
                        "'id': 'new', 'bus': '%s'}}",
                        refused[row].device, property, refused[row].bus);

    return rig_qmp(rig, command);
}

/* All regions and address spaces of the machine, to be freed */
static char *memory_map(void)
{
    return rig_qmp(rig, "{'execute': 'human-monitor-command', 'arguments': "
                        "{'command-line': 'info mtree'}}");
}

static void refuse(unsigned row)
{
    char *answer = add(row, refused[row].bad);

    ck_assert_msg(strstr(answer, "\"error\"") &&
                      strstr(answer, refused[row].said),
                  "%s", answer);
    free(answer);
}

/*
 * Afterwards the slot takes the same device without its fault, and the machine
 * finds it: QEMU follows what a bridge has left behind. A switch's port keeps
 * the address space of a function that was below it once.
 */
START_TEST(refused_device_leaves_nothing)
{
    static const char *const arguments[] = {
        "-global",
        "ICH9-LPC.acpi-pci-hotplug-with-bridge-support=off",
        "-device",
        "pcie-root-port,id=root,addr=0a.0,chassis=1,slot=1",
        "-device",
        "pcie-root-port,id=other,addr=0b.0,chassis=2,slot=2",
        "-device",
        "farside-switch-upstream,id=up,bus=other",
        "-device",
        "farside-switch-downstream,id=one,bus=up,addr=0,chassis=3,slot=3",
        NULL};
    bool is_at_root = strcmp(refused[_i].bus, "root") == 0;
    char *before, *after, *answer;

    rig = rig_new_with(NULL, "", arguments);
    ecam = gpu_ecam(rig, 0);
    map_bridge(0, ROOT_DEVFN, 0x040100, BASE, BASE + SPAN);
    rig_pci_write(rig, ROOT_DEVFN,
                  rig_pci_find(rig, ROOT_DEVFN, 0x10) + SLOT_CONTROL,
                  SLOT_POWER);
    if (!is_at_root) {
        refuse((unsigned)_i);
    }
    before = memory_map();
    refuse((unsigned)_i);
    after = memory_map();
    ck_assert_msg(strcmp(after, before) == 0,
                  "%zu bytes of text about the machine's regions before, %zu "
                  "afterwards",
                  strlen(before), strlen(after));
    ck_assert_uint_eq(rig_read(rig, config(1, 0, 0), 4), 0xffffffff);
    answer = add((unsigned)_i, refused[_i].good);
    ck_assert_msg(strstr(answer, "\"return\""), "%s", answer);
    free(answer);
    ck_assert_int_eq(rig_read(rig, config(1, 0, 0), 4) != 0xffffffff,
                     is_at_root);
    free(before);
    free(after);
    end();
}
END_TEST

START_TEST(no_view_begins_at_a_bridge)
{
    static const char own[] = "Root memory region: farside-switch-tap\\r\\n";
    unsigned count = 0;
    char *views, *at;

    begin("acs=on");
    views = rig_qmp(rig, "{'execute': 'human-monitor-command', 'arguments': "
                         "{'command-line': 'info mtree -f'}}");
    for (at = views; (at = strstr(at, "AS \\\"farside-switch-tap")); count++) {
        at = strstr(at, "Root memory region: ");
        ck_assert(at && strncmp(at, own, strlen(own)) == 0);
    }
    ck_assert_uint_eq(count, 3);
    free(views);
    end();
}
END_TEST

/*
 * PCIe 5.0 s7.5.3.10: the slot above the switch is switched off, so QEMU takes
 * the switch out with all that is below it.
 */
START_TEST(a_switch_that_goes_leaves_nothing)
{
    static const char *const arguments[] = {
        "-global",
        "ICH9-LPC.acpi-pci-hotplug-with-bridge-support=off",
        "-device",
        "pcie-root-port,id=root,addr=0a.0,chassis=1,slot=1",
        "-device",
        "farside-switch-upstream,id=up,bus=root",
        "-device",
        "farside-switch-downstream,id=one,bus=up,addr=0,chassis=2,slot=2",
        "-device",
        "farside-gpu,id=a,bus=one,vfs=0",
        NULL};
    unsigned slot;
    char *map;

    rig = rig_new_with(NULL, "", arguments);
    ecam = gpu_ecam(rig, 0);
    slot = rig_pci_find(rig, ROOT_DEVFN, 0x10) + SLOT_CONTROL;
    map_bridge(0, ROOT_DEVFN, 0x030100, BASE, BASE + SPAN);
    map_bridge(1, 0, 0x030201, BASE, BASE + SPAN);
    map_bridge(2, 0, 0x030302, BASE, BASE + SPAN);
    map_gpu(0, 3);
    rig_write(rig, gpus[0].memory, 8, DATA);
    map = memory_map();
    ck_assert_ptr_nonnull(strstr(map, "farside-switch-"));
    free(map);
    rig_pci_write(rig, ROOT_DEVFN, slot, SLOT_POWER);
    rig_pci_write(rig, ROOT_DEVFN, slot, SLOT_POWER | SLOT_OFF);
    ck_assert_uint_eq(rig_read(rig, config(1, 0, 0), 4), 0xffffffff);
    map = memory_map();
    ck_assert_ptr_null(strstr(map, "farside-switch-"));
    free(map);
    end();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("device_switch");
    TCase *tcase = tcase_create("switch");

    tcase_set_timeout(tcase, 120);
    tcase_add_test(tcase, requests_pass_from_port_to_port);
    tcase_add_test(tcase, acs_redirects_them_to_the_root);
    tcase_add_test(tcase, the_root_sends_them_down_again);
    tcase_add_test(tcase, none_leaves_by_the_port_it_came_in);
    tcase_add_test(tcase, capability_is_that_of_the_specification);
    tcase_add_test(tcase, firmware_may_have_enabled_it);
    tcase_add_test(tcase, port_without_it_redirects_nothing);
    tcase_add_test(tcase, virtual_functions_need_no_slot);
    tcase_add_loop_test(tcase, refused_device_leaves_nothing, 0,
                        G_N_ELEMENTS(refused));
    tcase_add_test(tcase, a_switch_that_goes_leaves_nothing);
    tcase_add_test(tcase, no_view_begins_at_a_bridge);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
