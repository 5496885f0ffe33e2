/* SPDX-License-Identifier: MIT */
#include "ntt_table.h"

#include <stdio.h>
#include <string.h>

#include <glib.h>

/* Generations 3 and 4 want memory that is aligned to the BAR, and ntb_tool gets
 * no more than 4 MiB in one piece. */
#define INTEL_BARS                                                             \
    NTT_ALL_HOSTS "devices.ntb0.vm.options={bar2-size: 1M, bar4-size: 1M}"

/* BAR 4 and BAR 5 are halves. ntb_perf wants windows of one size at both hosts,
 * which take different ones. */
#define SPLIT_BARS                                                             \
    NTT_ALL_HOSTS "devices.ntb0.vm.options={bar2-size: 1M, bar4-size: 2M}"

/* ntb_test.sh tries each window, so Switchtec has few entries of its LUT. With
 * fewer than 8 ntb_netdev has room for 3 packets in a window, and never sends
 * any. */
const NttChip ntt_chips[] = {
    {"switchtec",
     "scenarios/cluster/two-hosts.yaml",
     {NTT_ALL_HOSTS "devices.ntb0.vm.options.lut-entries=8"}},
    {"amd", "scenarios/cluster/amd.yaml", {NULL}},
    {"intel-gen1",
     "scenarios/cluster/intel.yaml",
     {"links.cable0.chip=intel-gen1", INTEL_BARS}},
    {"intel-gen1-split",
     "scenarios/cluster/intel.yaml",
     {"links.cable0.chip=intel-gen1-split", SPLIT_BARS}},
    {"intel-gen3",
     "scenarios/cluster/intel.yaml",
     {"links.cable0.chip=intel-gen3", INTEL_BARS}},
    {"intel-gen4", "scenarios/cluster/intel.yaml", {INTEL_BARS}},
    {"intel-gen5",
     "scenarios/cluster/intel.yaml",
     {"links.cable0.chip=intel-gen5", INTEL_BARS}},
    {"intel-gen6",
     "scenarios/cluster/intel.yaml",
     {"links.cable0.chip=intel-gen6", INTEL_BARS}},
    {"epf",
     "scenarios/cluster/epf.yaml",
     {NTT_ALL_HOSTS "devices.ntb0.vm.options.bar4-size=1M"}},
    {"idt", "scenarios/cluster/idt.yaml", {NULL}},
    {"idt-8", "scenarios/cluster/idt-8.yaml", {NULL}},
    {NULL, NULL, {NULL}},
};

const NttClient ntt_clients[] = {
    {"ntb_test", "the kernel's tools/testing/selftests/ntb/ntb_test.sh", 400,
     true, true},
    {"tool", "ntb_tool: link, doorbells, scratchpads, messages, windows", 60,
     false, false},
    {"pingpong", "ntb_pingpong: all hosts of the chip at once", 60, false,
     false},
    {"msi", "ntb_msi_test: interrupts through a window", 60, false, false},
    {"perf", "ntb_perf: a rate, and whether the data arrive", 120, false,
     false},
    {"netdev", "ntb_transport and ntb_netdev: pings, TCP", 100, false, false},
    {"order", "modules loaded and unloaded in each order", 100, false, false},
    {"reboot", "one host loses its power, returns, and reboots", 120, false,
     false},
    {"flap", "the cable is pulled out while data cross it", 120, false, false},
    {NULL, NULL, 0, false, false},
};

const NttExpected ntt_expected[] = {
    /* ---- By nature ------------------------------------------------------ */
    {NTT_CANNOT, "driver-messages", "switchtec", "tool", "messages", NULL,
     "^unsupported", 0, 0, false,
     "ntb_hw_switchtec keeps the message registers for itself"},
    {NTT_CANNOT, "driver-messages", "switchtec", "ntb_test", "msg*", NULL,
     "^Unsupported", 0, 0, false,
     "ntb_hw_switchtec keeps the message registers for itself"},
    {NTT_CANNOT, "no-messages", "amd", "tool", "messages", NULL, "^unsupported",
     0, 0, false, "the hardware has no message registers"},
    {NTT_CANNOT, "no-messages", "amd", "ntb_test", "msg*", NULL, "^Unsupported",
     0, 0, false, "the hardware has no message registers"},
    {NTT_CANNOT, "own-vectors", "amd", "msi", "both are ready", NULL,
     "has no vector left", 0, 0, false,
     "ntb_msi needs interrupt vectors that the driver leaves free, and only "
     "ntb_hw_switchtec does"},
    {NTT_CANNOT, "own-vectors", "amd", "ntb_test", "MSI", NULL, NULL, 0, 0,
     false,
     "ntb_msi needs interrupt vectors that the driver leaves free; the module "
     "loads all the same, and ntb_test.sh ends for want of its files"},
    {NTT_CANNOT, "link-stays", "amd", "ntb_test", "link*", NULL, NULL, 0, 0,
     false,
     "amd_ntb_link_disable() masks events and leaves the link up, so "
     "ntb_test.sh waits for ever for its end"},
    {NTT_CANNOT, "no-messages", "intel-*", "tool", "messages", NULL,
     "^unsupported", 0, 0, false, "the hardware has no message registers"},
    {NTT_CANNOT, "no-messages", "intel-*", "ntb_test", "msg*", NULL,
     "^Unsupported", 0, 0, false, "the hardware has no message registers"},
    {NTT_CANNOT, "own-vectors", "intel-*", "msi", "both are ready", "a",
     "has no vector left", 0, 0, false,
     "ntb_msi needs interrupt vectors that the driver leaves free, and only "
     "ntb_hw_switchtec does"},
    {NTT_CANNOT, "own-vectors", "intel-*", "ntb_test", "MSI", NULL, NULL, 0, 0,
     false,
     "ntb_msi needs interrupt vectors that the driver leaves free, and "
     "ntb_test.sh waits for them for ever"},
    {NTT_CANNOT, "unsafe-registers", "intel-gen1-split", "msi", "both probe",
     NULL, "requires at least 7 spads", 0, 0, false,
     "by an erratum of Haswell doorbells and scratchpads are unsafe, and "
     "ntb_msi_test takes no such NTB"},
    {NTT_CANNOT, "unsafe-registers", "intel-gen1-split", "pingpong", "* counts",
     NULL, "can't open .*ntb_pingpong", 0, 0, false,
     "by an erratum of Haswell doorbells and scratchpads are unsafe, and "
     "ntb_pingpong takes no such NTB without its parameter unsafe"},
    {NTT_CANNOT, "unsafe-registers", "intel-gen1-split", "ntb_test",
     "ping pong", NULL, NULL, 0, 0, false,
     "by an erratum of Haswell doorbells and scratchpads are unsafe, so "
     "ntb_pingpong takes no such NTB, and ntb_test.sh ends for want of its "
     "files"},
    {NTT_CANNOT, "no-driver", "intel-gen6", "*", "ports", NULL,
     "ntb_tool/\\*.*No such file", 0, 6999, false,
     "ntb_hw_intel knows generation 6 since Linux 7.0"},
    {NTT_CANNOT, "no-messages", "epf", "tool", "messages", NULL, "^unsupported",
     0, 0, false, "the endpoint function has no message registers"},
    {NTT_CANNOT, "no-messages", "epf", "ntb_test", "msg*", NULL, "^Unsupported",
     0, 0, false, "the endpoint function has no message registers"},
    {NTT_CANNOT, "own-vectors", "epf", "msi", "interrupts from *", NULL,
     "has told no interrupts", 0, 0, false,
     "ntb_msi needs interrupt vectors that the driver leaves free, and only "
     "ntb_hw_switchtec does"},
    {NTT_CANNOT, "own-vectors", "intel-*", "msi", "interrupts from *", NULL,
     "has told no interrupts", 0, 0, false,
     "ntb_msi needs interrupt vectors that the driver leaves free, and only "
     "ntb_hw_switchtec does"},
    {NTT_CANNOT, "own-vectors", "epf", "ntb_test", "MSI", NULL, NULL, 0, 0,
     false,
     "ntb_msi needs interrupt vectors that the driver leaves free, and "
     "ntb_test.sh waits for them for ever"},
    {NTT_CANNOT, "no-scratchpads", "idt*", "tool", "scratchpads", NULL,
     "^unsupported", 0, 0, false, "the hardware has messages in their place"},
    {NTT_CANNOT, "no-scratchpads", "idt*", "ntb_test", "spad*", NULL,
     "^Unsupported", 0, 0, false, "the hardware has messages in their place"},
    {NTT_CANNOT, "msi-needs-scratchpads", "idt*", "msi", "both probe", NULL,
     "requires at least 7 spads", 0, 0, false,
     "ntb_msi_test tells its interrupts by scratchpads"},
    {NTT_CANNOT, "msi-needs-scratchpads", "idt*", "ntb_test", "MSI", NULL, NULL,
     0, 0, false,
     "ntb_msi_test tells its interrupts by scratchpads; the module loads all "
     "the same, and ntb_test.sh ends for want of its files"},
    {NTT_CANNOT, "no-inbound-windows", "idt*", "netdev", "both load it", NULL,
     "Inbound MW based NTB API is required", 0, 0, false,
     "ntb_transport sets translations at the target, and the hardware has them "
     "at the initiator"},
    {NTT_CANNOT, "no-inbound-windows", "idt*", "flap", "ntb_netdev begins",
     NULL, "Inbound MW based NTB API is required", 0, 0, false,
     "ntb_transport sets translations at the target, and the hardware has them "
     "at the initiator"},
    /* ---- Defects of the kernel ------------------------------------------ */
    {NTT_DEFECT, "amd-link-enable", "amd", "tool", "b enables the link", "b",
     "Invalid argument", 0, 0, false,
     "amd_ntb_link_enable() returns -EINVAL on the secondary side after it has "
     "enabled the link"},
    {NTT_DEFECT, "epf-one-doorbell", "epf", "tool", "doorbells", NULL,
     "has 0x1$", 0, 0, false,
     "ntb_epf_peer_db_set() rings the lowest of the bits that it is given, and "
     "no other"},
    {NTT_DEFECT, "perf-one-window", "intel-gen1", "perf", "they *", NULL,
     "have not told each other", 0, 0, false,
     "on the second host ntb_perf takes the window with that host's index, and "
     "does not load where there is one window"},
    {NTT_DEFECT, "tool-decimal", "*", "ntb_test", "mw*", NULL, NULL, 7003, 0,
     false,
     "ntb_tool takes decimal addresses of windows alone, and ntb_test.sh, which "
     "writes those that ntb_tool prints, ends there"},
    {NTT_DEFECT, "perf-one-window", "intel-gen1", "ntb_test", "local perf",
     NULL, NULL, 0, 0, false,
     "on the second host ntb_perf takes the window with that host's index, and "
     "does not load where there is one window, and ntb_test.sh waits for it "
     "for ever"},
    {NTT_DEFECT, "perf-lost-message", "*", "perf",
     "they tell each other their windows", NULL, "have not told each other", 0,
     0, true,
     "ntb_perf ignores a doorbell that comes before it has noticed the link, "
     "and the peer does not ring again"},
    {NTT_DEFECT, "perf-window", "idt*", "perf", "data arrive at *", NULL,
     "^(\\d+) pages of \\S+, \\1 of which got nothing", 0, 0, false,
     "ntb_perf writes to the window with its own index and sets the one with "
     "its peer's, so on hardware that translates at the initiator it measures "
     "writes that lead nowhere"},
    {0},
};

const NttChip *ntt_chip_find(const char *name)
{
    for (const NttChip *chip = ntt_chips; chip->name; chip++) {
        if (strcmp(chip->name, name) == 0) {
            return chip;
        }
    }
    return NULL;
}

const NttClient *ntt_client_find(const char *name)
{
    for (const NttClient *client = ntt_clients; client->name; client++) {
        if (strcmp(client->name, name) == 0) {
            return client;
        }
    }
    return NULL;
}

unsigned ntt_series(const char *release)
{
    unsigned major, minor;

    return sscanf(release, "%4u.%3u", &major, &minor) == 2
               ? major * 1000 + minor
               : 0;
}

bool ntt_expected_applies(const NttExpected *expected, const char *chip,
                          const char *client, const char *from,
                          const char *step, unsigned series)
{
    return g_pattern_match_simple(expected->chip, chip) &&
           g_pattern_match_simple(expected->client, client) &&
           g_pattern_match_simple(expected->step, step) &&
           (!expected->from || strcmp(expected->from, from) == 0) &&
           (expected->since == 0 || series >= expected->since) &&
           (expected->until == 0 || series <= expected->until);
}
