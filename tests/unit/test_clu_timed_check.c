/* SPDX-License-Identifier: MIT */
/*
 * Refusals of a timed cluster. Invariant: a description with anything that
 * would act in real time is refused, with the place of the entry and what to do
 * about it, and no other description is.
 */
#include <string.h>

#include <check.h>

#include "clu_plan.h"
#include "clu_timed_check.h"
#include "../suite.h"

#define PARTS TOPO_SOURCE_ROOT "/scenarios/parts"

/* One host. Its devices begin in line 6, at column 8. */
static char *check_host(const char *vm, const char *device)
{
    g_autofree char *text = g_strdup_printf("name: t\n"
                                            "hosts:\n"
                                            "  - name: a\n"
                                            "    cpu: generic-host\n"
                                            "    devices:\n"
                                            "     - %s\n"
                                            "    vm: {%s}\n",
                                            device, vm);
    g_autoptr(TopoErrors) errors = topo_errors_new();
    TopoDescription *description =
        topo_load_buffer("t.yaml", text, strlen(text), PARTS, NULL, errors);
    CluPlan *plan;
    char *said;

    if (!description) {
        ck_abort_msg("%s", topo_errors_to_string(errors));
    }
    plan = clu_plan_new(description, errors);
    ck_assert_ptr_nonnull(plan);
    clu_timed_check(plan, errors);
    said = topo_errors_to_string(errors);
    clu_plan_free(plan);
    topo_description_free(description);
    return said;
}

#define DRIVE                                                                  \
    "{name: d, part: optane-900p, at: rp1, vm: {device: nvme, image: 1MiB}}"
#define EDU "{name: d, part: generic-device, at: rp1, vm: {device: edu}}"

static const struct {
    const char *vm, *device, *said;
} cases[] = {
    {"memory: 256MiB", DRIVE, ""},
    {"memory: 256MiB", EDU, ""},
    {"memory: 256MiB", "{name: d, part: generic-device, at: rp1}", ""},
    {"memory: 256MiB",
     "{name: d, part: quadro-k420, at: rp1, vm: {device: farside-gpu}}", ""},
    {"memory: 256MiB",
     "{name: d, part: optane-900p, at: rp1, vm: {device: nvme, image: 1MiB, "
     "options: {ioeventfd: off}}}",
     ""},
    {"memory: 256MiB",
     "{name: d, part: optane-900p, at: rp1, vm: {device: nvme, image: 1MiB, "
     "options: {ioeventfd: on}}}",
     "t.yaml:6:88: a.d: with ioeventfd QEMU serves doorbells at real times; "
     "remove it, or write ioeventfd: off\n"},
    {"share: .", EDU,
     "t.yaml:7:17: host 'a' shares a folder of this machine, which is served "
     "in real time; remove `share`, and bring files in by `files` or `farside "
     "cluster cp`\n"},
    {"memory: 256MiB}\n    vms: [{name: g, memory: 128MiB}] # {", EDU,
     "t.yaml:8:11: host 'a' starts machines from folders of this machine, "
     "which are served in real time; remove `vms`\n"},
    {"cpus: 2", EDU,
     "t.yaml:7:9: host 'a' has 2 CPUs; a machine in virtual time has one, "
     "write cpus: 1\n"},
    {"accel: kvm", EDU,
     "t.yaml:7:9: host 'a' asks for KVM; a machine in virtual time needs TCG, "
     "write accel: tcg\n"},
    {"memory: 256MiB",
     "{name: d, part: generic-device, at: rp1, vm: {device: virtio-rng-pci}}",
     "t.yaml:6:62: a.d: QEMU's device 'virtio-rng-pci' may act at real times; "
     "a timed cluster has nvme, farside-gpu and edu, so take one of them, or "
     "leave `vm:` out\n"},
    {"memory: 256MiB",
     "{name: d, part: optane-900p, at: rp1, vm: {device: virtio-blk-pci, "
     "image: 1MiB}}",
     "t.yaml:6:59: a.d: QEMU's device 'virtio-blk-pci' may act at real times; "
     "a timed cluster has nvme, farside-gpu and edu, so take one of them, or "
     "leave `vm:` out\n"},
    {"memory: 256MiB",
     "{name: d, part: generic-device, at: rp1, vm: {device: e1000e, network: "
     "n}}",
     "t.yaml:6:8: a.d uses a network, which has no virtual time; leave it out "
     "of a timed cluster\n"},
    {"memory: 256MiB",
     "{name: d, part: generic-device, at: rp1, vm: {device: ivshmem-plain, "
     "region: r}}",
     "t.yaml:6:8: a.d uses shared memory, which has no virtual time; leave it "
     "out of a timed cluster\n"},
    {"memory: 256MiB",
     "{name: d, part: generic-device, at: rp1, vm: {device: nvme, image: "
     "1MiB}}",
     "t.yaml:6:8: a.d is a drive, but its part 'generic-device' does not say "
     "how long it takes; choose one with `nvme:`, such as optane-900p\n"},
    {"memory: 256MiB}\n  - {name: z, cpu: generic-host, devices: [{name: n, "
     "part: idt-ntb, at: rp0}]}\nchips:\n  - {name: s, chip: "
     "idt-89hpes32nt8ag2, ends: [z.n, a.d]} # {",
     "{name: d, part: idt-ntb, at: rp1}", ""},
    {"memory: 256MiB}\n  - {name: z, cpu: generic-host, devices: [{name: n, "
     "part: idt-ntb, at: rp0}]}\nchips:\n  - {name: s, chip: "
     "idt-89hpes32nt8ag2, ends: [z.n, a.d]}\nfaults:\n  - {name: f, target: "
     "a.d, action: remove, at: 1ms} # {",
     "{name: d, part: idt-ntb, at: rp1}",
     "t.yaml:12:23: a.d is a partition of chip s, which a timed cluster does "
     "not take away; name its host a, with action kill or restart\n"},
};

START_TEST(what_acts_in_real_time_is_refused)
{
    g_autofree char *said = check_host(cases[_i].vm, cases[_i].device);

    ck_assert_str_eq(said, cases[_i].said);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("timed_check");
    TCase *tcase = tcase_create("timed_check");

    tcase_add_loop_test(tcase, what_acts_in_real_time_is_refused, 0,
                        G_N_ELEMENTS(cases));
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
