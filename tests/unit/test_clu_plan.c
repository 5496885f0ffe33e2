/* SPDX-License-Identifier: MIT */
/*
 * Invariant: a description becomes exactly the QEMU command lines that
 * docs/user/cluster.md and QEMU's documentation promise. A description that
 * cannot be emulated is refused with the place of the wrong entry.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clu_argv.h"
#include "clu_memory.h"
#include "clu_plan.h"
#include "clu_plan_switches.h"
#include "../suite.h"

/* Self-tests that guests leave out */
#define SELF_TESTS "cryptomgr.notests initcall_blacklist=crypto_kdf108_init "

#define PARTS TOPO_SOURCE_ROOT "/scenarios/parts"

#define NTB(MORE) "{name: ntb0, part: generic-ntb, at: rp0" MORE "}"

/* Two hosts with the given devices and `vm:`. */
#define TWO(A, A_VM, B, B_VM)                                                  \
    "name: t\n"                                                                \
    "hosts:\n"                                                                 \
    "  - name: a\n"                                                            \
    "    cpu: generic-host\n"                                                  \
    "    devices: [" A "]\n"                                                   \
    "    vm: {" A_VM "}\n"                                                     \
    "  - name: b\n"                                                            \
    "    cpu: generic-host\n"                                                  \
    "    devices: [" B "]\n"                                                   \
    "    vm: {" B_VM "}\n"

#define LINK "links: [{name: cable0, ends: [a.ntb0, b.ntb0]}]\n"

typedef struct Case {
    TopoDescription *description;
    CluPlan *plan;
    char *errors; /* text of all errors; "" if there are none */
} Case;

static Case load(const char *text)
{
    g_autoptr(TopoErrors) errors = topo_errors_new();
    Case c = {.plan = NULL};

    c.description =
        topo_load_buffer("t.yaml", text, strlen(text), PARTS, NULL, errors);
    if (!c.description) {
        g_autofree char *all = topo_errors_to_string(errors);

        ck_abort_msg("%s", all);
    }
    c.plan = clu_plan_new(c.description, errors);
    c.errors = topo_errors_to_string(errors);
    ck_assert(!c.plan == (*c.errors != '\0'));
    return c;
}

static void done(Case *c)
{
    clu_plan_free(c->plan);
    topo_description_free(c->description);
    g_free(c->errors);
}

/* The command line of a host, one word on each line. */
static char *argv_of(const Case *c, unsigned host, bool is_kvm,
                     const bool *enabled)
{
    static char *const regions[] = {(char *)"/proc/1/fd/9",
                                    (char *)"/proc/1/fd/10", NULL};
    const CluPaths paths = {.qemu = "/usr/bin/qemu",
                            .plugin = "/b,c/farside.so",
                            .kernel = "/g/vmlinuz",
                            .initrd = "/g/initramfs",
                            .dir = "/run/x",
                            .regions = regions};
    static const bool all[16] = {true, true, true, true, true, true};
    char *const traces[G_N_ELEMENTS(all)] = {NULL};
    g_auto(GStrv) argv = NULL;

    ck_assert_ptr_nonnull(c->plan);
    argv = clu_argv_new(c->plan, c->plan->hosts->pdata[host], &paths, is_kvm,
                        enabled ? enabled : all, traces, clu_pace_free());
    return g_strjoinv("\n", argv);
}

static void assert_has(const char *argv, const char *words)
{
    g_autofree char *lines = g_strconcat("\n", argv, "\n", NULL);
    g_autofree char *wanted = g_strconcat("\n", words, "\n", NULL);

    ck_assert_msg(strstr(lines, wanted), "no\n%s\nin\n%s", words, argv);
}

START_TEST(a_host_becomes_this_command_line)
{
    Case c = load(TWO(NTB(""), "", NTB(""), "") LINK);
    g_autofree char *argv = argv_of(&c, 0, false, NULL);

    ck_assert_str_eq(
        argv,
        "/usr/bin/qemu\n"
        "-plugin\n/b,,c/farside.so\n"
        "-sandbox\non,obsolete=deny,elevateprivileges=deny,spawn=deny,"
        "resourcecontrol=deny\n"
        "-name\nguest=t/a\n"
        "-nodefaults\n-no-user-config\n-display\nnone\n"
        "-machine\nq35,memory-backend=ram\n"
        "-m\n262144K\n"
        "-object\nmemory-backend-memfd,id=ram,size=262144K,share=on\n"
        "-smp\n1,maxcpus=2\n"
        "-accel\ntcg,tb-size=64\n"
        "-chardev\nsocket,id=console,fd=3\n-serial\nchardev:console\n"
        "-chardev\nsocket,id=qmp,fd=4\n-mon\nchardev=qmp,mode=control\n"
        "-chardev\nsocket,id=agent,fd=5\n"
        "-device\nvirtio-serial-pci,addr=1\n"
        "-device\nvirtserialport,chardev=agent,name=farside.agent\n"
        "-kernel\n/g/vmlinuz\n-initrd\n/g/initramfs\n"
        "-append\nconsole=ttyS0 panic=0 iomem=relaxed mitigations=off " SELF_TESTS
        "no_timer_check norandmaps farside.host=a "
        "farside.client=ntb_tool\n"
        "-device\nfarside-switchtec,id=ntb0,addr=3,link=/run/x/cable0.link,"
        "partition=0,bar4-size=256M");
    done(&c);
}
END_TEST

START_TEST(keys_of_vm_have_their_effect)
{
    Case c = load(TWO(NTB(""),
                      "memory: 1000MiB, cpus: 3, qmp: on, gdb: on, "
                      "append: x=y, client: ntb_perf",
                      NTB(""), "client: none") LINK);
    static const bool none[] = {false};
    g_autofree char *a = argv_of(&c, 0, true, NULL);
    g_autofree char *b = argv_of(&c, 1, false, none);

    assert_has(a, "-m\n1024000K");
    assert_has(a, "-smp\n3");
    assert_has(a, "-accel\nkvm\n-cpu\nhost");
    assert_has(a, "-chardev\nsocket,id=qmp-user,path=/run/x/a.qmp,server=on,"
                  "wait=off\n-mon\nchardev=qmp-user,mode=control");
    assert_has(a, "-chardev\nsocket,id=gdb,path=/run/x/a.gdb,server=on,"
                  "wait=off\n-gdb\nchardev:gdb");
    assert_has(
        a,
        "-append\nconsole=ttyS0 panic=0 iomem=relaxed mitigations=off " SELF_TESTS
        "no_timer_check farside.host=a "
        "farside.client=ntb_perf x=y");
    /* The window covers the larger of the two memories, on both ends. */
    assert_has(a, "-device\nfarside-switchtec,id=ntb0,addr=3,"
                  "link=/run/x/cable0.link,partition=0,bar4-size=1024M");
    assert_has(b, "-device\nfarside-switchtec,id=ntb0,addr=3,"
                  "link=/run/x/cable0.link,partition=1,enabled=off,"
                  "bar4-size=1024M");
    done(&c);
}
END_TEST

/* Checks host @index against an image that needs @need bytes. */
static char *check_memory(const Case *c, unsigned index, const char *need)
{
    g_autofree char *folder = g_dir_make_tmp("image-XXXXXX", NULL);
    g_autofree char *file = g_build_filename(folder, CLU_MEMORY_FILE, NULL);
    g_autoptr(TopoErrors) errors = topo_errors_new();
    bool is_good;

    if (need) {
        ck_assert(g_file_set_contents(file, need, -1, NULL));
    }
    is_good =
        clu_memory_check(c->description->hosts->pdata[index], folder, errors);
    ck_assert_int_eq(is_good, topo_errors_count(errors) == 0);
    unlink(file);
    rmdir(folder);
    return topo_errors_to_string(errors);
}

START_TEST(a_machine_has_the_memory_of_its_image)
{
    Case c = load(
        TWO(NTB(""), "memory: 64MiB", NTB(""), "memory: 200MiB, cpus: 1") LINK);
    /* One byte above 63 MiB is 64 MiB, and one above 64 MiB is 65. */
    g_autofree char *least = check_memory(&c, 0, "66060289\n");
    g_autofree char *little = check_memory(&c, 0, "67108865\n");
    g_autofree char *other = check_memory(&c, 1, "67108865\n");
    g_autofree char *unknown = check_memory(&c, 0, NULL);

    ck_assert_str_eq(least, "");
    ck_assert_str_eq(other, "");
    ck_assert_str_eq(unknown, "");
    ck_assert_ptr_nonnull(strstr(little, "host 'a' has 64MiB of memory, and "
                                         "its image needs 65MiB to boot; "
                                         "write memory: 65MiB or more\n"));
    done(&c);
}
END_TEST

START_TEST(a_window_covers_memory_above_4_gib)
{
    /* q35 maps memory beyond the first 2 GiB at 4 GiB: it ends at 5 GiB. */
    Case c = load(TWO(NTB(""), "memory: 3GiB", NTB(""), "") LINK);
    g_autofree char *b = argv_of(&c, 1, false, NULL);

    assert_has(b, "-device\nfarside-switchtec,id=ntb0,addr=3,"
                  "link=/run/x/cable0.link,partition=1,bar4-size=8192M");
    done(&c);
}
END_TEST

START_TEST(small_memory_has_the_least_window)
{
    Case c = load(TWO(NTB(""), "memory: 64MiB", NTB(""), "memory: 64MiB") LINK);
    g_autofree char *b = argv_of(&c, 1, false, NULL);

    assert_has(b, "-device\nfarside-switchtec,id=ntb0,addr=3,"
                  "link=/run/x/cable0.link,partition=1,bar4-size=64M");
    done(&c);
}
END_TEST

START_TEST(one_end_inherits_from_the_other)
{
    Case c =
        load(TWO(NTB(", vm: {options: {lut-entries: 16, bar4-size: 1M}}"), "",
                 NTB(", vm: {options: {bar4-size: 1024K, "
                     "completion-timeout: 50}}"),
                 "") LINK);
    g_autofree char *a = argv_of(&c, 0, false, NULL);
    g_autofree char *b = argv_of(&c, 1, false, NULL);

    assert_has(a, "-device\nfarside-switchtec,id=ntb0,addr=3,"
                  "link=/run/x/cable0.link,partition=0,lut-entries=16,"
                  "bar4-size=1M");
    assert_has(b, "-device\nfarside-switchtec,id=ntb0,addr=3,"
                  "link=/run/x/cable0.link,partition=1,lut-entries=16,"
                  "bar4-size=1M,completion-timeout=50");
    done(&c);
}
END_TEST

START_TEST(an_adapter_with_two_cables_is_two_devices)
{
    Case c =
        load("name: t\n"
             "hosts:\n"
             "  - {name: a, cpu: generic-host, devices: [" NTB(
                 "") "]}\n"
                     "  - {name: b, cpu: generic-host, devices: [" NTB(
                         "") "]}\n"
                             "  - {name: c, cpu: generic-host, devices: [" NTB(
                                 "") "]}\n"
                                     "links:\n"
                                     "  - {name: x, ends: [a.ntb0, b.ntb0]}\n"
                                     "  - {name: y, ends: [c.ntb0, a.ntb0]}\n");
    g_autofree char *a = argv_of(&c, 0, false, NULL);

    assert_has(a, "-device\nfarside-switchtec,id=ntb0.0,addr=3,"
                  "link=/run/x/x.link,partition=0,bar4-size=256M\n"
                  "-device\nfarside-switchtec,id=ntb0.1,addr=4,"
                  "link=/run/x/y.link,partition=1,bar4-size=256M");
    done(&c);
}
END_TEST

#define DEVICE(NAME, VM)                                                       \
    "{name: " NAME ", part: generic-device, at: rp1, vm: {" VM "}}"

START_TEST(drives)
{
    Case c = load("name: t\nhosts:\n  - name: a\n    cpu: generic-host\n"
                  "    devices:\n"
                  "      - {name: d0, part: optane-900p, at: rp0, vm: {device: "
                  "nvme, image: 1MiB, options: {max_ioqpairs: 4}}}\n"
                  "      - {name: d1, part: optane-900p, at: rp1, vm: {device: "
                  "nvme, image: \"null-co:2GiB\"}}\n"
                  "      - {name: 2d, part: optane-900p, at: rp2, vm: {device: "
                  "nvme, image: \"/a,b.img\", options: {serial: mine}}}\n");
    g_autofree char *a = argv_of(&c, 0, false, NULL);

    assert_has(
        a,
        "-add-fd\nfd=7,set=7\n"
        "-drive\nif=none,id=d0-disk,format=raw,cache=writeback,auto-read-only=off,"
        "file=/dev/fdset/7\n"
        "-device\nnvme,id=d0,addr=3,drive=d0-disk,serial=a.d0,"
        "max_ioqpairs=4\n"
        "-blockdev\ndriver=null-co,node-name=d1-disk,read-zeroes=on,"
        "size=2147483648\n"
        "-device\nnvme,id=d1,addr=4,drive=d1-disk,serial=a.d1\n"
        "-drive\nif=none,id=d..2d-disk,format=raw,file=/a,,b.img\n"
        "-device\nnvme,id=d..2d,addr=5,drive=d..2d-disk,serial=mine");
    done(&c);
}
END_TEST

/* The numbers: NVMe 1.4 wants an admin queue for each controller, and QEMU two
 * queues beside those it shares out. An option of the user wins. */
START_TEST(a_drive_with_virtual_functions)
{
    Case c = load(TWO(DEVICE("d", "device: nvme, image: 1GiB, "
                                  "virtual_functions: 2, options: "
                                  "{sriov_vi_flexible: 6}"),
                      "", "", ""));
    g_autofree char *a = argv_of(&c, 0, false, NULL);

    assert_has(a, "-device\nnvme-subsys,id=d-subsystem");
    assert_has(a, "-device\nnvme,id=d,addr=3,serial=a.d,subsys=d-subsystem,"
                  "sriov_max_vfs=2,sriov_vq_flexible=6,max_ioqpairs=8,"
                  "sriov_vi_flexible=6");
    assert_has(a, "-device\nnvme-ns,bus=d,drive=d-disk");
    done(&c);
}
END_TEST

/* SeaBIOS and Linux number the buses behind root ports in the order of slots.
 */
START_TEST(devices_that_can_be_unplugged)
{
    Case c =
        load(TWO("{name: x, part: generic-device, at: rp1, vm: {device: "
                 "edu, hotplug: on, options: {addr: 0x10}}}, {name: y, part: "
                 "generic-device, at: rp2, vm: {device: edu, hotplug: on}}",
                 "", "", ""));
    g_autofree char *a = argv_of(&c, 0, false, NULL);
    CluPlanHost *host = c.plan->hosts->pdata[0];
    g_autofree char *x = clu_plan_address(host->devices->pdata[0]);
    g_autofree char *y = clu_plan_address(host->devices->pdata[1]);

    assert_has(a,
               "-device\npcie-root-port,id=x-port,addr=10,chassis=16,slot=16\n"
               "-device\nedu,id=x,bus=x-port,addr=0");
    assert_has(a, "-device\npcie-root-port,id=y-port,addr=3,chassis=3,slot=3\n"
                  "-device\nedu,id=y,bus=y-port,addr=0");
    assert_has(a, "-global\nICH9-LPC.acpi-pci-hotplug-with-bridge-support=off");
    ck_assert_str_eq(x, "0000:02:00.0");
    ck_assert_str_eq(y, "0000:01:00.0");
    done(&c);
}
END_TEST

#define BELOW(NAME, PORT, MORE)                                                \
    "      - {name: " NAME ", part: generic-device, at: \"" PORT               \
    "\", vm: {device: edu" MORE "}}\n"

/* A host whose switch s1 is below s0, with two devices below each, and one
 * beside them; s1 has no ACS, as its part has none. */
#define TWO_SWITCHES(IOMMU, ACS)                                               \
    "name: t\n"                                                                \
    "parts: {plain: {base: generic-switch, acs: off}}\n"                       \
    "hosts:\n"                                                                 \
    "  - name: a\n"                                                            \
    "    cpu: generic-host\n"                                                  \
    "    iommu: " IOMMU "\n"                                                   \
    "    switches:\n"                                                          \
    "      - {name: s1, part: plain, at: \"s0:3\"}\n"                          \
    "      - {name: s0, part: generic-switch, at: rp0, acs: " ACS "}\n"        \
    "    devices:\n" BELOW("x", "s1:1", "") BELOW("y", "s0:5", "")             \
        BELOW("z", "s1:0", ", hotplug: on") BELOW("w", "rp1", "")              \
            BELOW("v", "s0:0", "")

static void assert_address(const Case *c, unsigned index, const char *address)
{
    const CluPlanHost *host = c->plan->hosts->pdata[0];
    g_autofree char *is = clu_plan_address(host->devices->pdata[index]);

    ck_assert_str_eq(is, address);
}

/* The firmware numbers buses depth first: s0 is on bus 1, its ports are on bus
 * 2, v is behind port 0, s1 behind port 3 with its ports on bus 5, y behind
 * port 5. A device at the root keeps its slot. */
START_TEST(switches_of_a_host_are_in_its_machine)
{
    Case c = load(TWO_SWITCHES("off", "auto"));
    g_autofree char *a = argv_of(&c, 0, false, NULL);

    assert_address(&c, 3, "0000:00:03.0");
    assert_address(&c, 4, "0000:03:00.0");
    assert_address(&c, 2, "0000:06:00.0");
    assert_address(&c, 0, "0000:07:00.0");
    assert_address(&c, 1, "0000:08:00.0");
    assert_has(a, "-global\nICH9-LPC.acpi-pci-hotplug-with-bridge-support=off\n"
                  "-device\npcie-root-port,id=s0.root,addr=4,chassis=4,slot=4,"
                  "hotplug=off\n"
                  "-device\nfarside-switch-upstream,id=s0,bus=s0.root,addr=0\n"
                  "-device\nfarside-switch-downstream,id=s0.port3,bus=s0,"
                  "addr=3,port=3,chassis=4,slot=34,hotplug=off,acs=on,"
                  "redirect=off\n"
                  "-device\nfarside-switch-upstream,id=s1,bus=s0.port3,addr=0\n"
                  "-device\nfarside-switch-downstream,id=s1.port1,bus=s1,"
                  "addr=1,port=1,chassis=4,slot=37,hotplug=off,acs=off,"
                  "redirect=off\n"
                  "-device\nedu,id=x,bus=s1.port1,addr=0.0");
    assert_has(a, "-device\nfarside-switch-downstream,id=s1.port0,bus=s1,"
                  "addr=0,port=0,chassis=4,slot=36,hotplug=on,acs=off,"
                  "redirect=off\n"
                  "-device\nedu,id=z,bus=s1.port0,addr=0.0\n"
                  "-device\nedu,id=w,addr=3");
    done(&c);
}
END_TEST

static void assert_inside(const Case *c, const char *name, const char *id,
                          const char *upper)
{
    const CluPlanInside *inside = clu_plan_find_inside(c->plan, name);

    ck_assert_ptr_nonnull(inside);
    ck_assert_str_eq(inside->id, id);
    ck_assert_str_eq(inside->upper, upper);
}

/* The upper port of a link records it, but for the root port. */
START_TEST(links_inside_a_host_have_names)
{
    Case c = load(TWO_SWITCHES("off", "auto"));

    ck_assert_uint_eq(c.plan->insides->len, 6);
    assert_inside(&c, "a.s0", "s0", "a");
    assert_inside(&c, "a.s1", "s0.port3", "s0");
    assert_inside(&c, "a.x", "s1.port1", "s1");
    /* It is on bus 0. */
    ck_assert_ptr_null(clu_plan_find_inside(c.plan, "a.w"));
    done(&c);
}
END_TEST

static const struct {
    const char *iommu;
    const char *acs;
    const char *redirect; /* of the ports of s0 */
    const char *word;     /* for the kernel */
} redirects[] = {
    {"off", "auto", "off", NULL},
    {"on", "auto", "off", NULL}, /* the kernel itself enables it */
    {"off", "on", "on", NULL},
    {"on", "on", "on", NULL},
    {"off", "off", "off", NULL},
    {"on", "off", "off",
     "pci=disable_acs_redir=0000:02:00.0;0000:02:03.0;0000:02:05.0 "},
};

START_TEST(acs_of_a_switch_is_that_of_its_ports)
{
    g_autofree char *text = g_strdup(TWO_SWITCHES("IOMMU", "ACS"));
    g_auto(GStrv) iommu = g_strsplit(text, "IOMMU", -1);
    g_autofree char *with = g_strjoinv(redirects[_i].iommu, iommu);
    g_auto(GStrv) acs = g_strsplit(with, "acs: ACS", -1);
    g_autofree char *word = g_strconcat("acs: ", redirects[_i].acs, NULL);
    g_autofree char *whole = g_strjoinv(word, acs);
    g_autofree char *port = g_strdup_printf(
        "-device\nfarside-switch-downstream,id=s0.port5,bus=s0,addr=5,port=5,"
        "chassis=4,slot=38,hotplug=off,acs=on,redirect=%s",
        redirects[_i].redirect);
    Case c = load(whole);
    g_autofree char *a = argv_of(&c, 0, false, NULL);

    assert_has(a, port);
    if (redirects[_i].word) {
        ck_assert_ptr_nonnull(strstr(a, redirects[_i].word));
    } else {
        ck_assert_ptr_null(strstr(a, "disable_acs_redir"));
    }
    done(&c);
}
END_TEST

/* An adapter with two cables is two functions behind one port. */
START_TEST(cables_below_a_switch_are_functions)
{
    Case c = load("name: t\nhosts:\n"
                  "  - name: a\n    cpu: generic-host\n"
                  "    switches: [{name: s0, part: generic-switch, at: rp0}]\n"
                  "    devices: [{name: ntb0, part: generic-ntb, at: s0}]\n"
                  "  - {name: b, cpu: generic-host, devices: [" NTB(
                      "") "]}\n"
                          "  - {name: c, cpu: generic-host, devices: [" NTB(
                              "") "]}\n"
                                  "links:\n"
                                  "  - {name: x, ends: [a.ntb0, b.ntb0]}\n"
                                  "  - {name: y, ends: [c.ntb0, a.ntb0]}\n");
    g_autofree char *a = argv_of(&c, 0, false, NULL);

    assert_address(&c, 0, "0000:03:00.0");
    assert_address(&c, 1, "0000:03:00.1");
    assert_has(a, "-device\nfarside-switchtec,id=ntb0.0,bus=s0.port0,addr=0.0,"
                  "multifunction=on,link=/run/x/x.link,partition=0,"
                  "bar4-size=256M\n"
                  "-device\nfarside-switchtec,id=ntb0.1,bus=s0.port0,addr=0.1,"
                  "multifunction=on,link=/run/x/y.link,partition=1,"
                  "bar4-size=256M");
    done(&c);
}
END_TEST

START_TEST(networks_and_regions)
{
    Case c = load(
        "name: t\nhosts:\n"
        "  - name: a\n    cpu: generic-host\n    devices:\n"
        "      - {name: e, part: generic-device, at: rp0, vm: {device: e1000e, "
        "network: lan, options: {addr: 5}}}\n"
        "      - {name: s, part: generic-device, at: rp1, vm: {device: "
        "ivshmem-plain, region: r}}\n"
        "  - name: b\n    cpu: generic-host\n    iommu: on\n    devices:\n"
        "      - {name: e, part: generic-device, at: rp0, vm: {device: "
        "virtio-net-pci, network: lan}}\n"
        "      - {name: s, part: generic-device, at: rp1, vm: {device: "
        "ivshmem-doorbell, region: r, size: 64KiB, options: {vectors: 2}}}\n");
    g_autofree char *a = argv_of(&c, 0, false, NULL);
    g_autofree char *b = argv_of(&c, 1, true, NULL);

    ck_assert_uint_eq(c.plan->networks->len, 1);
    ck_assert_uint_eq(c.plan->regions->len, 1);
    assert_has(a, "-netdev\nsocket,id=e-net,fd=7\n"
                  "-device\ne1000e,id=e,addr=5,netdev=e-net,"
                  "mac=52:54:00:00:00:00,romfile=\n"
                  "-object\nmemory-backend-file,id=s-memory,share=on,"
                  "mem-path=/proc/1/fd/9,size=65536\n"
                  "-device\nivshmem-plain,id=s,addr=3,memdev=s-memory");
    assert_has(b, "-machine\nq35,memory-backend=ram,kernel-irqchip=split");
    assert_has(b, "-device\nintel-iommu,intremap=on,caching-mode=on");
    assert_has(
        b,
        "-append\nconsole=ttyS0 panic=0 iomem=relaxed mitigations=off " SELF_TESTS
        "no_timer_check intel_iommu=on "
        "farside.host=b farside.client=ntb_tool");
    assert_has(b, "-device\nvirtio-net-pci,id=e,addr=3,netdev=e-net,"
                  "mac=52:54:00:00:01:00,romfile=\n"
                  "-chardev\nsocket,id=s-server,path=/run/x/r.region\n"
                  "-device\nivshmem-doorbell,id=s,addr=4,chardev=s-server,"
                  "vectors=2");
    done(&c);
}
END_TEST

START_TEST(kinds_of_iommus)
{
    Case c =
        load("name: t\nhosts:\n"
             "  - {name: a, cpu: generic-host, iommu: on, vm: {iommu: amd}}\n"
             "  - {name: b, cpu: generic-host, iommu: on, vm: {remapping: "
             "off}}\n"
             "  - {name: c, cpu: generic-host, vm: {iommu: amd}}\n");
    g_autofree char *a = argv_of(&c, 0, false, NULL);
    g_autofree char *b = argv_of(&c, 1, false, NULL);
    g_autofree char *none = argv_of(&c, 2, false, NULL);

    assert_has(a, "-device\namd-iommu,intremap=on\n-device\n"
                  "farside-southbridge,addr=14");
    ck_assert_ptr_null(strstr(a, "intel"));
    assert_has(b, "-device\nintel-iommu,intremap=off,caching-mode=on");
    ck_assert_ptr_null(strstr(b, "southbridge"));
    ck_assert_ptr_null(strstr(none, "iommu,"));
    done(&c);
}
END_TEST

#define AMD_LINK "links: [{name: cable0, ends: [a.ntb0, b.ntb0], chip: amd}]\n"

#define SPLIT_LINK                                                             \
    "links: [{name: cable0, ends: [a.ntb0, b.ntb0], chip: intel-gen1-split}]\n"
#define EPF_LINK "links: [{name: cable0, ends: [a.ntb0, b.ntb0], chip: epf}]\n"

/* Of a Switchtec's properties an AMD has the sizes of its BARs alone. */
START_TEST(chip_of_a_link_is_that_of_both_devices)
{
    Case c = load(TWO(NTB(""), "", NTB(", vm: {options: {bar2-size: 1M}}"), "")
                      AMD_LINK);
    g_autofree char *a = argv_of(&c, 0, false, NULL);
    g_autofree char *b = argv_of(&c, 1, false, NULL);

    assert_has(a, "-device\nfarside-amd,id=ntb0,addr=3,link=/run/x/cable0.link,"
                  "partition=0,bar2-size=1M,bar4-size=256M");
    assert_has(b, "-device\nfarside-amd,id=ntb0,addr=3,link=/run/x/cable0.link,"
                  "partition=1,bar2-size=1M,bar4-size=256M");
    done(&c);
}
END_TEST

START_TEST(chip_of_a_link_is_that_of_the_parts)
{
    Case c = load(TWO("{name: ntb0, part: intel-gen5-ntb, at: rp0}", "",
                      "{name: ntb0, part: intel-gen5-ntb, at: rp0}", "") LINK);
    g_autofree char *a = argv_of(&c, 0, false, NULL);

    assert_has(a, "-device\nfarside-intel-gen5,id=ntb0,addr=3,"
                  "link=/run/x/cable0.link,partition=0,bar4-size=256M");
    done(&c);
}
END_TEST

static const struct {
    const char *chip;
    const char *sizes; /* of BARs, by default */
} chips[] = {
    {"switchtec", ",bar4-size=256M"},
    {"amd", ",bar4-size=256M"},
    {"intel-gen1", ",bar2-size=1M,bar4-size=1M"},
    {"intel-gen1-split", ",bar2-size=1M,bar4-size=1M"},
    {"intel-gen3", ",bar2-size=1M,bar4-size=1M"},
    {"intel-gen4", ",bar2-size=1M,bar4-size=1M"},
    {"intel-gen4-spr", ",bar4-size=256M"},
    {"intel-gen5", ",bar4-size=256M"},
    {"intel-gen6", ",bar4-size=256M"},
    {"epf", ",bar4-size=256M"},
};

/* Memory that is aligned to 256 MiB cannot be had for a window. */
START_TEST(sizes_of_bars_fit_the_rule_of_the_chip)
{
    g_autofree char *text = g_strdup_printf(
        "%slinks: [{name: cable0, ends: [a.ntb0, b.ntb0], chip: %s}]\n",
        TWO(NTB(""), "", NTB(""), ""), chips[_i].chip);
    g_autofree char *device = g_strdup_printf(
        "-device\nfarside-%s,id=ntb0,addr=3,link=/run/x/cable0.link,"
        "partition=0%s",
        chips[_i].chip, chips[_i].sizes);
    Case c = load(text);
    g_autofree char *a = argv_of(&c, 0, false, NULL);

    assert_has(a, device);
    done(&c);
}
END_TEST

#define IDT(host)                                                              \
    "  - {name: " host ", cpu: generic-host, vm: {memory: 256MiB}, devices: "  \
    "[{name: n, part: idt-ntb, at: rp0, vm: {options: {bar2-size: 1M}}}]}\n"

/* Each two hosts of a chip have a link, and each host one device for all. */
START_TEST(chip_has_a_link_for_each_two_hosts)
{
    Case c = load("name: t\nhosts:\n" IDT("a") IDT("b") IDT(
        "c") "chips:\n  - {name: sw, chip: idt-89hpes16nt16g2, lut: 24, "
             "ends: [b.n, a.n, c.n], ports: [0, 12, 16]}\n");
    g_autofree char *a = argv_of(&c, 0, false, NULL);
    g_autofree char *b = argv_of(&c, 1, false, NULL);
    static const char *const names[] = {"sw.0-1", "sw.0-2", "sw.1-2"};
    static const unsigned hosts[][2] = {{1, 0}, {1, 2}, {0, 2}};

    ck_assert_uint_eq(c.plan->links->len, 3);
    for (unsigned i = 0; i < 3; i++) {
        const CluPlanLink *link = c.plan->links->pdata[i];

        ck_assert_str_eq(link->link->name, names[i]);
        for (unsigned end = 0; end < 2; end++) {
            ck_assert_uint_eq(link->host[end]->index, hosts[i][end]);
            ck_assert_ptr_eq(link->device[end],
                             link->host[end]->devices->pdata[0]);
        }
    }
    assert_has(a, "-device\nfarside-idt,id=n,addr=3,link=/run/x/sw.*.link,"
                  "partition=1,hosts=3,lut=24,model=89hpes16nt16g2,"
                  "ports=0,,12,,16,bar2-size=1M,bar4-size=256M");
    assert_has(b, "-device\nfarside-idt,id=n,addr=3,link=/run/x/sw.*.link,"
                  "partition=0,hosts=3,lut=24,model=89hpes16nt16g2,"
                  "ports=0,,12,,16,bar2-size=1M,bar4-size=256M");
    done(&c);
}
END_TEST

START_TEST(devices_without_emulation_are_named)
{
    Case c = load(TWO("{name: d, part: generic-device, at: rp1}, " NTB(""), "",
                      NTB(""), ""));

    ck_assert_ptr_nonnull(c.plan);
    ck_assert_uint_eq(c.plan->absent->len, 3);
    ck_assert_str_eq(c.plan->absent->pdata[0], "a.d");
    ck_assert_str_eq(c.plan->absent->pdata[1], "a.ntb0");
    done(&c);
}
END_TEST

static const struct {
    const char *text;
    const char *errors;
} bad[] = {
    {"name: t\n"
     "hosts:\n"
     "  - {name: a, cpu: generic-host, switches: [{name: s, part: "
     "generic-switch, at: rp0}], devices: [{name: x, part: generic-device, at: "
     "s, vm: {device: edu, options: {addr: 4}}}]}\n",
     "t.yaml:3:165: a.x: the port of a.s decides about its address; leave addr "
     "out\n"},
    {"name: t\n"
     "parts: {large: {base: generic-switch, ports: 40}}\n"
     "hosts:\n"
     "  - {name: a, cpu: generic-host, switches: [{name: s, part: large, at: "
     "rp0}], devices: [{name: x, part: generic-device, at: \"s:32\", vm: "
     "{device: edu}}]}\n",
     "t.yaml:4:125: port 32 of a.s: an emulated switch has the ports 0 to 31; "
     "choose one of them\n"},
    {TWO(DEVICE("x", "image: 1GiB"), "", "", ""),
     "t.yaml:5:60: a.x: vm needs the key 'device', the name of a QEMU device; "
     "add it\n"},
    {TWO(DEVICE("x", "device: farside-switchtec"), "", "", ""),
     "t.yaml:5:69: a.x: part 'generic-device' is no NTB adapter; give device "
     "farside-switchtec to parts of kind ntb\n"},
    {TWO(NTB(", vm: {device: nvme}"), "", NTB(""), "") LINK,
     "t.yaml:5:69: a.ntb0: an NTB adapter is emulated by farside-switchtec, "
     "or as the link's 'chip' says; leave 'device' out\n"},
    {TWO(NTB(", vm: {options: {lut-entries: 32}}"), "", NTB(""), "") AMD_LINK,
     "t.yaml:5:71: lut-entries is an option of chip switchtec, and cable0 has "
     "chip amd; leave it out\n"},
    {TWO(NTB(", vm: {options: {bar2-size: 1M}}"), "", NTB(""), "") EPF_LINK,
     "t.yaml:5:71: bar2-size is the size of a window, and BAR 2 of chip epf "
     "has doorbells; leave it out\n"},
    {TWO(NTB(", vm: {options: {bar2-size: 3M}}"), "", NTB(""), "") LINK,
     "t.yaml:5:71: bar2-size is 3M, and the size of a BAR is a power of 2; "
     "write one from 64K to 256G\n"},
    {TWO(NTB(", vm: {options: {bar4-size: 4G}}"), "", NTB(""), "") SPLIT_LINK,
     "t.yaml:5:71: bar4-size is 4G, and the size of a BAR is a power of 2; "
     "write one from 64K to 2G\n"},
    {TWO(NTB(", vm: {options: {bar4-size: 32K}}"), "", NTB(""), "") AMD_LINK,
     "t.yaml:5:71: bar4-size is 32K, and the size of a BAR is a power of 2; "
     "write one from 64K to 256G\n"},
    {TWO(NTB(", vm: {options: {link: x}}"), "", NTB(""), "") LINK,
     "t.yaml:5:71: option 'link' is set by the cluster; leave it out\n"},
    {TWO(DEVICE("x", "device: edu, options: {\"a,b\": 1}"), "", "", ""),
     "t.yaml:5:84: option 'a,b' is not the name of a property\n"},
    {TWO(NTB(", vm: {options: {bar4-size: 64M}}"), "",
         NTB(", vm: {options: {bar4-size: 128M}}"), "") LINK,
     "t.yaml:9:71: bar4-size is 128M, and 64M at the other end of cable0 "
     "(t.yaml:5:71); both ends must have the same\n"},
    {TWO(DEVICE("x", "device: ivshmem-plain"), "", "", ""),
     "t.yaml:5:69: a.x: 'ivshmem-plain' needs the key 'region', the name of the "
     "memory it shares; add it\n"},
    {TWO(DEVICE("x", "device: edu, region: r"), "", "", ""),
     "t.yaml:5:82: a.x: 'edu' has no region; only ivshmem-plain and "
     "ivshmem-doorbell do\n"},
    {TWO(DEVICE("x", "device: ivshmem-plain, region: r, size: 4KiB"), "",
         DEVICE("x", "device: ivshmem-plain, region: r, size: 8KiB"), ""),
     "t.yaml:9:92: region 'r' has a size of 8KiB here and of 4KiB at "
     "t.yaml:5:92; write the same\n"},
    {TWO(DEVICE("x", "device: ivshmem-doorbell, region: r"), "",
         DEVICE("x", "device: ivshmem-doorbell, region: r, options: {vectors: "
                     "2}"),
         ""),
     "t.yaml:9:108: a device of region 'r' has 2 vectors, and another one 1; "
     "give all the same\n"},
    {TWO(DEVICE("x", "device: ivshmem-doorbell, region: r, options: {vectors: "
                     "65}"),
         "", "", ""),
     "t.yaml:5:108: vectors is '65'; write a number from 1 to 64\n"},
    {TWO(DEVICE("x", "device: nvme, image: 1000B"), "", "", ""),
     "t.yaml:5:82: image: a disk cannot have 1000B; write a multiple of 512B, "
     "at least 512B\n"},
    {TWO(DEVICE("x", "device: nvme, image: 0B"), "", "", ""),
     "t.yaml:5:82: image: a disk cannot have 0B; write a multiple of 512B, at "
     "least 512B\n"},
    {TWO(DEVICE("x", "device: edu, virtual_functions: 2"), "", "", ""),
     "t.yaml:5:93: virtual_functions: only a device 'nvme' with an image has "
     "some; leave the key out\n"},
    {TWO(DEVICE("x", "device: edu, options: {addr: 2}"), "", "", ""),
     "t.yaml:5:84: addr is '2'; write a slot from 0x3 to 0x1e\n"},
    {TWO(DEVICE("x", "device: edu, options: {addr: 10}"), "", "", ""),
     "t.yaml:5:84: addr is '10'; write 0x10, or 0xa if the number is "
     "decimal\n"},
    {TWO("{name: x, part: generic-device, at: rp1, vm: {device: edu, options: "
         "{addr: 1e}}}, {name: y, part: generic-device, at: rp2, vm: {device: "
         "edu, options: {addr: 1e.0}}}",
         "", "", ""),
     "t.yaml:5:166: slot 0x1e has a device already; choose another addr\n"},
};

START_TEST(errors_name_the_place)
{
    Case c = load(bad[_i].text);

    ck_assert_str_eq(c.errors, bad[_i].errors);
    done(&c);
}
END_TEST

#define SMBUS(NAME, VM)                                                        \
    "  - {name: " NAME ", cpu: generic-host, iommu: on, vm: {" VM "},\n"       \
    "     devices: [" DEVICE("x", "device: edu, options: {addr: 0x14}") "]}\n"

/* Only a host with AMD's IOMMU has something in this slot. */
START_TEST(the_southbridge_has_its_slot)
{
    Case c = load("name: t\nhosts:\n" SMBUS("a", "") SMBUS("b", "iommu: amd"));

    ck_assert_str_eq(c.errors, "t.yaml:6:85: slot 0x14 has a device already; "
                               "choose another addr\n");
    done(&c);
}
END_TEST

START_TEST(too_many_devices_are_refused)
{
    g_autoptr(GString) text = g_string_new(
        "name: t\n"
        "parts: {wide: {base: generic-host, root_ports: [{name: \"rp{i}\", "
        "speed: 16.0GT/s, width: x16, repeat: 29}]}}\n"
        "hosts:\n  - name: a\n    cpu: wide\n"
        "    switches: [{name: sw0, part: generic-switch, at: rp28}]\n"
        "    devices:\n"
        "      - {name: below, part: generic-device, at: sw0, vm: {device: "
        "edu}}\n");
    Case c;

    for (unsigned i = 0; i < 28; i++) {
        g_string_append_printf(text,
                               "      - {name: d%u, part: generic-device, at: "
                               "rp%u, vm: {device: edu}}\n",
                               i, i);
    }
    c = load(text->str);
    ck_assert_str_eq(c.errors,
                     "t.yaml:4:5: host 'a' has 29 devices, cables and switches "
                     "at its root; it can have 28 at most\n");
    done(&c);
}
END_TEST

START_TEST(a_complaint_of_qemu_is_put_down_to_its_entry)
{
    Case c = load(
        TWO(DEVICE("x", "device: edu, options: {foo: 1}"), "", NTB(""), ""));
    const CluPlanHost *host = c.plan->hosts->pdata[0];
    TopoPlace place;

    /* Messages of QEMU 7.2. */
    ck_assert(clu_argv_blame(host,
                             "qemu-system-x86_64: -device edu,id=x,addr=3,foo=1"
                             ": Property 'edu.foo' not found",
                             &place));
    ck_assert_uint_eq(place.line, 5);
    ck_assert_uint_eq(place.column, 84);
    ck_assert(clu_argv_blame(host,
                             "qemu-system-x86_64: -device edu,id=x,addr=3,foo=1"
                             ": 'edu' is not a valid device model name",
                             &place));
    ck_assert_uint_eq(place.column, 69);
    ck_assert(
        !clu_argv_blame(host, "qemu-system-x86_64: out of memory", &place));
    done(&c);
    c = load("name: t\nhosts:\n  - {name: a, cpu: generic-host,\n"
             "     vm: {share: /no/folder}}\n");
    ck_assert(clu_argv_blame(c.plan->hosts->pdata[0],
                             "qemu-system-x86_64: -device virtio-9p-pci,fsdev="
                             "share,mount_tag=share,addr=2: cannot initialize "
                             "fsdev 'share': failed to open '/no/folder'",
                             &place));
    ck_assert_uint_eq(place.line, 4);
    done(&c);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("clu_plan");
    TCase *tcase = tcase_create("plan");

    tcase_add_test(tcase, a_host_becomes_this_command_line);
    tcase_add_test(tcase, keys_of_vm_have_their_effect);
    tcase_add_test(tcase, a_machine_has_the_memory_of_its_image);
    tcase_add_test(tcase, a_window_covers_memory_above_4_gib);
    tcase_add_test(tcase, small_memory_has_the_least_window);
    tcase_add_test(tcase, one_end_inherits_from_the_other);
    tcase_add_test(tcase, an_adapter_with_two_cables_is_two_devices);
    tcase_add_test(tcase, drives);
    tcase_add_test(tcase, a_drive_with_virtual_functions);
    tcase_add_test(tcase, devices_that_can_be_unplugged);
    tcase_add_test(tcase, switches_of_a_host_are_in_its_machine);
    tcase_add_test(tcase, links_inside_a_host_have_names);
    tcase_add_loop_test(tcase, acs_of_a_switch_is_that_of_its_ports, 0,
                        G_N_ELEMENTS(redirects));
    tcase_add_test(tcase, cables_below_a_switch_are_functions);
    tcase_add_test(tcase, networks_and_regions);
    tcase_add_test(tcase, kinds_of_iommus);
    tcase_add_test(tcase, the_southbridge_has_its_slot);
    tcase_add_test(tcase, chip_of_a_link_is_that_of_both_devices);
    tcase_add_test(tcase, chip_of_a_link_is_that_of_the_parts);
    tcase_add_loop_test(tcase, sizes_of_bars_fit_the_rule_of_the_chip, 0,
                        G_N_ELEMENTS(chips));
    tcase_add_test(tcase, chip_has_a_link_for_each_two_hosts);
    tcase_add_test(tcase, devices_without_emulation_are_named);
    tcase_add_loop_test(tcase, errors_name_the_place, 0, G_N_ELEMENTS(bad));
    tcase_add_test(tcase, too_many_devices_are_refused);
    tcase_add_test(tcase, a_complaint_of_qemu_is_put_down_to_its_entry);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
