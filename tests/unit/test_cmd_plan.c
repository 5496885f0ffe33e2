/* SPDX-License-Identifier: MIT */
/*
 * Invariants: `farside plan` prints the terms of the manual's worked example
 * and of a scenario, and names the term that does not fit. Its exit status is 0
 * if all fits, 1 if not, and 2 for bad usage or input. The run of a scenario
 * with `lend:` opens windows of the planned size; an error of borrowing names
 * its place; a flow uses the window of its lend, or fails with the name of the
 * host that has the device. The environment variable FARSIDE is the path of the
 * program.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <check.h>
#include <glib.h>
#include <glib/gstdio.h>

#include "program.h"
#include "../suite.h"

/* Checks the line of the last output that begins with @term: it must have these
 * entries and this size. */
static void check_line(const char *term, const char *entries, const char *size)
{
    g_auto(GStrv) lines = g_strsplit(program_out, "\n", -1);

    for (unsigned i = 0; lines[i]; i++) {
        g_auto(GStrv) words = NULL;
        unsigned count = 0;
        const char *word[3] = {""};

        words = g_strsplit(lines[i], " ", -1);
        for (unsigned j = 0; words[j] && count < 3; j++) {
            if (*words[j]) {
                word[count++] = words[j];
            }
        }
        if (count == 3 && strcmp(word[0], term) == 0) {
            ck_assert_msg(strcmp(word[1], entries) == 0 &&
                              strcmp(word[2], size) == 0,
                          "%s", lines[i]);
            return;
        }
    }
    ck_abort_msg("no line %s in:\n%s", term, program_out);
}

#define MANUAL                                                                 \
    "plan --window 128GiB --entries 128 --reserved 12 --nodes 3 "              \
    "--borrowers 2 --bars 2x64MiB,32GiB,32MiB "

START_TEST(manual_example)
{
    g_autofree char *csv = program_place("plan.csv"), *text = NULL;

    ck_assert_int_eq(program_run(MANUAL "--devices 2 --csv @/plan.csv"), 0);
    check_line("prefetch_total", "128", "128GiB");
    check_line("mapping_entry_size", "1", "1GiB");
    check_line("reserved", "24", "24GiB");
    check_line("prefetch_ondemand", "104", "104GiB");
    check_line("prefetch_msi", "2", "2GiB");
    check_line("prefetch_BARs", "68", "68GiB");
    check_line("prefetch_free", "34", "34GiB");
    check_line("dma_window_size", "17", "17GiB");
    check_line("left", "0", "0B");
    ck_assert(g_file_get_contents(csv, &text, NULL, NULL));
    ck_assert(strstr(text, "adapter,term,entries,bytes,note\n"));
    ck_assert(strstr(text, "\n,dma_window_size,17,18253611008,"));
}
END_TEST

START_TEST(the_term_that_does_not_fit_is_named)
{
    static const struct {
        const char *words;
        const char *verdict;
    } cases[] = {
        {MANUAL "--dma 36GiB", "for DMA windows 2GiB (2 entries)"},
        {MANUAL "--dma 20GiB --dma 20GiB", "for DMA windows 6GiB (6 entries)"},
        {MANUAL "--iommu-off --ram 24GiB", "for DMA windows 14GiB"},
        {MANUAL "--bars 40GiB", "for prefetch_BARs 6GiB (6 entries)"},
        {MANUAL "--borrowers 105", "for prefetch_msi 1GiB"},
        {MANUAL "--nodes 12", "for reserved 4GiB (4 entries)"},
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        ck_assert_msg(program_run(cases[i].words) == 1, "%s", cases[i].words);
        ck_assert_msg(strstr(program_out, cases[i].verdict), "%s", program_out);
    }
    /* With one entry less it fits. */
    ck_assert_int_eq(program_run(MANUAL "--dma 34GiB"), 0);
    ck_assert_int_eq(program_run(MANUAL "--iommu-off --ram 17GiB"), 0);
    check_line("dma_window_size", "17", "17GiB");
    ck_assert_int_eq(program_run(MANUAL "--devices 2 --ram 4GiB"), 0);
    check_line("left", "26", "26GiB");
}
END_TEST

/* Of 128 entries one remote node has 12 and MSI one, so 115 are left: 85 of 200
 * devices get none. With ten remote nodes, 128 / 10 = 12 is the most. */
START_TEST(many_devices_take_few_rows)
{
    ck_assert_int_eq(program_run("plan --window 128GiB --devices 200"), 1);
    ck_assert_ptr_nonnull(strstr(program_out, "each of devices 1 to 85 ("));
    ck_assert_ptr_nonnull(strstr(program_out, "each of devices 86 to 200 ("));
    ck_assert_ptr_nonnull(strstr(program_out, "85 entries) are missing.\n"));
    ck_assert_int_lt(strlen(program_out), 2000);
    ck_assert_int_eq(
        program_run("plan --window 128GiB --nodes 11 --reserved 12"), 0);
    ck_assert_ptr_null(strstr(program_out, "can be reserved"));
    ck_assert_int_eq(
        program_run("plan --window 128GiB --nodes 11 --reserved 13"), 1);
    ck_assert_ptr_nonnull(strstr(program_out,
                                 "Of 128 entries, 12 at most can be reserved "
                                 "for each of 10 remote nodes.\n"));
}
END_TEST

START_TEST(bad_usage)
{
    static const char *const cases[] = {
        "plan",
        "plan --window",
        "plan --window 12",
        "plan --window 100GiB",
        "plan --window 128GiB --entries 100",
        "plan --window 128GiB --entries -1",
        "plan --window 128GiB --nodes 0",
        "plan --window 128GiB --reserved -1",
        "plan --window 128GiB --borrowers 99999999",
        "plan --window 128GiB --devices -5",
        "plan --window 128GiB --bars many",
        "plan --window 128GiB --bars 0x1GiB",
        "plan --window 128GiB --bars 2x",
        "plan --window 128GiB --bars 1B,1B,1B,1B,1B,1B,1B",
        "plan --window 128GiB --dma 0B",
        "plan --window 128GiB --iommu-off",
        "plan --window 128GiB --iommu-off --ram 1GiB --devices 1",
        "plan --window 128GiB scenario.yaml",
        "plan one.yaml two.yaml",
        "plan no-such-file.yaml",
        "plan --window 128GiB --csv @",
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        ck_assert_msg(program_run(cases[i]) == 2, "%s", cases[i]);
        ck_assert_msg(g_str_has_prefix(program_err, "farside plan: ") ||
                          strstr(program_err, "farside plan:"),
                      "%s", program_err);
    }
    ck_assert_int_eq(program_run("plan --help"), 0);
}
END_TEST

/* ---- Scenarios -------------------------------------------------------- */

/* Two hosts. The tests change this description with --set. */
static const char scenario[] =
    "name: s\n"
    "parts:\n"
    "  lent: {base: quadro-k420, bars: [{size: 16MiB, width: 32},\n"
    "         {size: 64MiB, prefetchable: on}]}\n"
    "hosts:\n"
    "  - name: a\n"
    "    cpu: xeon-e5-2603-v4\n"
    "    switches: [{name: sw0, part: pex8747, at: rp0}]\n"
    "    devices:\n"
    "      - {name: gpu0, part: lent, at: sw0}\n"
    "      - {name: gpu1, part: lent, at: sw0}\n"
    "      - {name: ntb0, part: pxh830, at: sw0}\n"
    "  - name: b\n"
    "    cpu: xeon-e5-2603-v4\n"
    "    iommu: on\n"
    "    devices:\n"
    "      - {name: ntb0, part: pxh830, at: rp0}\n"
    "      - {name: gpu0, part: lent, at: rp1}\n"
    "links:\n"
    "  - {name: c0, ends: [a.ntb0, b.ntb0]}\n"
    "lend:\n"
    "  - {device: a.gpu0, to: b}\n"
    "  - {device: a.gpu1, to: b, window: 1GiB}\n"
    "workload:\n"
    "  flows:\n"
    "    - {name: f, kind: dma, device: a.gpu0, direction: read,\n"
    "       target: b.ram, size: 4KiB, count: 50, working_set: 4KiB}\n"
    "measure:\n"
    "  columns:\n"
    "    - {name: operations, from: flow.f.operations}\n"
    "    - {name: failed, from: flow.f.failed}\n"
    "    - {name: entries, from: element.a.ntb0.entries_used}\n"
    "    - {name: unused, from: element.a.ntb0.entries_free}\n"
    "    - {name: window, from: element.a.gpu0.window_bytes}\n"
    "    - {name: mapped, from: element.a.gpu0.window_mapped_bytes}\n"
    "    - {name: no_room, from: element.a.gpu0.no_room}\n";

static void put_scenario(void)
{
    g_autofree char *parts = program_place("parts");

    program_put("s.yaml", scenario);
    ck_assert_int_eq(symlink(PARTS_DIR, parts), 0);
}

/* 128 entries of 256 MiB, 12 reserved, 1 for the MSI, 4 by hand: 111 are left,
 * of which 64 hold all of 16 GiB. */
START_TEST(plan_of_a_scenario)
{
    put_scenario();
    ck_assert_int_eq(program_run("plan @/s.yaml"), 0);
    check_line("prefetch_msi", "1", "256MiB");
    check_line("dma_window_size", "64", "16GiB");
    check_line("left", "47", "11.75GiB");
    ck_assert(strstr(program_out, "a.gpu0 to b (automatic"));
    ck_assert(strstr(program_out, "a.gpu1 to b (set by hand"));
    ck_assert(strstr(program_out, "b.ntb0"));
    ck_assert_int_eq(program_run("plan @/s.yaml --set lend.1.window=30GiB"), 1);
    ck_assert(strstr(program_out, "for DMA windows"));
    ck_assert_int_eq(program_run("plan @/s.yaml --set lend=[]"), 0);
    ck_assert(strstr(program_out, "lends nothing"));
    /* The plan counts the BAR of a peer-to-peer target, and says that borrowing
     * with an automatic size does not. */
    ck_assert_int_eq(
        program_run("plan @/s.yaml --set workload.flows.f.target=b.gpu0"), 0);
    check_line("prefetch_BARs", "2", "512MiB");
    ck_assert(strstr(program_out, "does not count P2P"));
}
END_TEST

/* Each guest of a host has a window of its own: all of its memory, 16 entries
 * of 256 MiB, whatever another guest has. */
START_TEST(guests_of_one_host_have_windows_of_their_own)
{
    static const char *const rows[] = {
        "disk.vf0 to guest one of a", "disk.vf1 to guest one of b",
        "disk.vf2 to guest two of a", "disk.vf3 to guest two of b"};

    ck_assert_int_eq(
        program_run("plan " PARTS_DIR "/../lending/virtual-functions.yaml"), 0);
    for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
        ck_assert_msg(strstr(program_out, rows[i]), "%s", program_out);
    }
    ck_assert_ptr_null(strstr(program_out, "(the same window)"));
    /* 256 entries less 8 reserved, 1 for MSI and two windows. */
    check_line("left", "215", "53.75GiB");
}
END_TEST

static void check_run(const char *words, int status, const char *row)
{
    g_autofree char *command =
        g_strdup_printf("run @/s.yaml -o @ --no-plot %s", words);
    g_autofree char *csv = program_place("s.csv"), *text = NULL;

    ck_assert_msg(program_run(command) == status, "%s: %s", words, program_err);
    if (status) {
        ck_assert_msg(strstr(program_err, row), "%s: %s", words, program_err);
        return;
    }
    ck_assert(g_file_get_contents(csv, &text, NULL, NULL));
    ck_assert_msg(strstr(text, row), "%s: %s", words, text);
}

START_TEST(run_of_a_scenario)
{
    put_scenario();
    /* Entries: 1 for the MSI, 64 and 4 for windows; one page of 2 MiB. */
    check_run("", 0, "\n50,0,69,47,17179869184,2097152,0\n");
    check_run("--set lend.0.window=256MiB", 0,
              "\n50,0,6,110,268435456,2097152,0\n");
    /* 512 MiB do not fit into a window of 256. */
    check_run("--set lend.0.window=256MiB "
              "--set workload.flows.f.working_set=512MiB",
              1, "flow f: 50 of 50 operations failed; at a.gpu0 50 reads");
    /* All operations failed: the run says so, in the words of the manual. */
    ck_assert_msg(strstr(program_err, "a.gpu0: No room in IOMMU range"), "%s",
                  program_err);
    check_run("--set hosts.b.iommu=off --set lend.1.window=auto", 0,
              "\n50,0,65,51,17179869184,0,0\n");
    check_run("--set lend=[] --set workload.flows.f.target=a.ram", 0,
              "\n50,0,0,116,0,0,0\n");
    /* A guest has half of the 16 GiB. */
    check_run("--set hosts.a.iommu=on --set lend.0.vm=on "
              "--set lend.1.vm=on --set lend.1.window=auto",
              0, "\n50,0,33,83,8589934592,2097152,0\n");
}
END_TEST

START_TEST(borrowing_that_cannot_be)
{
    put_scenario();
    check_run("--set lend.1.window=30GiB", 1, "s.yaml:23:");
    check_run("--set lend.1.window=30GiB", 1, "a.gpu1 to b");
    check_run("--set hosts.b.iommu=off", 1, "must cover its RAM");
    check_run("--set workload.flows.f.target=a.ram", 1, "a.gpu0 is lent to b");
    check_run("--set workload.flows.f.target=a.ram", 1, "s.yaml:26:");
    check_run("--set workload.flows.f.device=b.gpu0 "
              "--set workload.flows.f.target=a.gpu0 --set lend.0.vm=on",
              2, "IOMMUs of both hosts");
}
END_TEST

START_TEST(path_of_a_lent_device)
{
    put_scenario();
    ck_assert_int_eq(program_run("path @/s.yaml a.gpu0 b.ram"), 0);
    ck_assert(strstr(program_out, "gpu switch ntb ntb root+ram"));
    ck_assert_int_eq(program_run("path @/s.yaml a.gpu0 a.ram"), 1);
    ck_assert(strstr(program_err, "a.gpu0 is lent to b"));
    ck_assert_int_eq(program_run("path @/s.yaml a.cpu a.gpu0"), 1);
    ck_assert(strstr(program_err, "a.gpu0 is lent to b"));
    ck_assert_int_eq(program_run("path @/s.yaml a.gpu0 a.ram --set lend=[]"),
                     0);
    ck_assert_int_eq(program_run("path @/s.yaml a.gpu0 a.gpu1"), 0);
    ck_assert(strstr(program_out, "gpu switch gpu"));
}
END_TEST

/* Two lenders, a borrower, and a cable between each two of them. */
static const char triangle[] =
    "name: s\n"
    "parts:\n"
    "  lent: {base: quadro-k420, bars: [{size: 256MiB, prefetchable: on},\n"
    "         {size: 1GiB, prefetchable: on}]}\n"
    "hosts:\n"
    "  - {name: a, cpu: generic-host, devices: [\n"
    "       {name: gpu0, part: lent, at: rp1}, {name: gpu1, part: lent, at: rp2},"
    " {name: ntb0, part: generic-ntb, at: rp0}]}\n"
    "  - {name: b, cpu: generic-host, iommu: on, devices: [\n"
    "       {name: gpu0, part: lent, at: rp1},"
    " {name: ntb0, part: generic-ntb, at: rp0}]}\n"
    "  - {name: c, cpu: generic-host, devices: [\n"
    "       {name: gpu0, part: lent, at: rp1},"
    " {name: ntb0, part: generic-ntb, at: rp0}]}\n"
    "links:\n"
    "  - {name: ab, ends: [a.ntb0, b.ntb0]}\n"
    "  - {name: bc, ends: [b.ntb0, c.ntb0]}\n"
    "  - {name: ca, ends: [c.ntb0, a.ntb0]}\n"
    "lend:\n"
    "  - {device: a.gpu0, to: b, window: 1GiB}\n"
    "  - {device: a.gpu1, to: b, window: 1GiB}\n"
    "  - {device: c.gpu0, to: b, window: 1GiB}\n"
    "workload:\n"
    "  flows:\n"
    "    - {name: f, kind: dma, device: a.gpu0, direction: write,\n"
    "       target: c.gpu0.bar2, size: 4KiB, count: 5}\n"
    "measure:\n"
    "  columns:\n"
    "    - {name: a, from: element.a.ntb0.entries_used}\n"
    "    - {name: b, from: element.b.ntb0.entries_used}\n"
    "    - {name: c, from: element.c.ntb0.entries_used}\n";

/* The entries of @adapter in the plan of the last run with --csv. */
static unsigned planned(const char *adapter)
{
    g_autofree char *path = program_place("plan.csv"), *text = NULL;
    g_auto(GStrv) lines = NULL;
    unsigned sum = 0;

    ck_assert(g_file_get_contents(path, &text, NULL, NULL));
    lines = g_strsplit(text, "\n", -1);
    for (unsigned i = 0; lines[i]; i++) {
        g_auto(GStrv) cells = g_strsplit(lines[i], ",", -1);

        if (g_strv_length(cells) >= 3 && strcmp(cells[0], adapter) == 0 &&
            (strcmp(cells[1], "prefetch_msi") == 0 ||
             strcmp(cells[1], "prefetch_BARs") == 0 ||
             strcmp(cells[1], "dma_window_size") == 0)) {
            sum += atoi(cells[2]);
        }
    }
    return sum;
}

/* Words of a command have no spaces. */
#define PINGPONG                                                               \
    "--set workload.flows=[{\"name\":\"f\",\"kind\":\"pingpong\","             \
    "\"from\":\"a.gpu0\",\"to\":\"c.gpu0\",\"count\":5}]"

/*
 * Entries of 256 MiB. A window takes 4, all MSIs of a borrower 1, a GPU 1 + 4.
 * Each of the rows of the manual's table: source, target, who pays.
 */
START_TEST(plan_and_model_count_the_same)
{
    static const struct {
        const char *change;
        unsigned a, b, c; /* entries */
    } table[] = {
        /* lender to lender: the source's lender */
        {"", 9 + 5, 15, 5},
        {"--set workload.flows.f.device=c.gpu0 "
         "--set workload.flows.f.target=a.gpu0.bar2",
         9, 15, 5 + 5},
        {PINGPONG, 9 + 5, 15, 5 + 5},
        /* within a lender: nobody */
        {"--set workload.flows.f.target=a.gpu1.bar2", 9, 15, 5},
        /* lender to borrower: the lender */
        {"--set workload.flows.f.target=b.gpu0.bar2", 9 + 5, 15, 5},
        /* from the borrower: nobody, besides the BARs that it has anyway */
        {"--set workload.flows.f.device=b.gpu0 "
         "--set workload.flows.f.target=a.gpu0.bar2",
         9, 15, 5},
        /* orders, with flows or without */
        {"--set lend.0.p2p=[c.gpu0]", 9 + 5, 15, 5},
        {"--set lend.0.p2p=[c.gpu0,b.gpu0,a.gpu1] "
         "--set lend.2.p2p=[a.gpu0,a.gpu1]",
         9 + 5 + 5, 15, 5 + 5 + 5},
        {"--set lend.0.p2p=[c.gpu0] --set lend.2.p2p=[a.gpu0] " PINGPONG, 9 + 5,
         15, 5 + 5},
    };
    g_autofree char *parts = program_place("parts");
    g_autofree char *row =
        g_strdup_printf("\n%u,%u,%u\n", table[_i].a, table[_i].b, table[_i].c);
    g_autofree char *command =
        g_strdup_printf("plan @/s.yaml --csv @/plan.csv %s", table[_i].change);

    program_put("s.yaml", triangle);
    ck_assert_int_eq(symlink(PARTS_DIR, parts), 0);
    ck_assert_msg(program_run(command) == 0, "%s", program_err);
    ck_assert_uint_eq(planned("a.ntb0"), table[_i].a);
    ck_assert_uint_eq(planned("b.ntb0"), table[_i].b);
    ck_assert_uint_eq(planned("c.ntb0"), table[_i].c);
    check_run(table[_i].change, 0, row);
}
END_TEST

/* An order has one direction, and needs connected lenders. */
START_TEST(orders_are_needed_and_checked)
{
    g_autofree char *parts = program_place("parts");

    program_put("s.yaml", triangle);
    ck_assert_int_eq(symlink(PARTS_DIR, parts), 0);
    check_run("--set lend.2.p2p=[a.gpu0]", 1,
              "a.gpu0 may not reach c.gpu0; p2p: [c.gpu0] of its loan lets it");
    check_run("--set lend.0.p2p=[]", 1, "a.gpu0 may not reach c.gpu0");
    check_run("--set lend.0.p2p=[c.gpu0] --set links.ca.ends=[c.ntb0,b.ntb0]",
              2,
              "a and c are not connected with each other; join them by a link");
    check_run("--set lend.0.p2p=[c.ntb0]", 2,
              "b has neither c.ntb0 nor borrowed it; lend it to b");
    check_run("--set lend.0.p2p=[a.gpu0]", 2, "a.gpu0 reaches itself anyway");
    check_run("--set lend.0.p2p=[c.gpu9]", 2, "unknown device 'c.gpu9'");
}
END_TEST

/* Neither as source nor as target, with an order or without, nor for a device
 * of the borrower. */
START_TEST(fabric_attached_devices_have_no_p2p)
{
    static const char *const changes[] = {
        "--set hosts.a.devices.gpu0.attached=fabric",
        "--set hosts.c.devices.gpu0.attached=fabric",
        "--set hosts.c.devices.gpu0.attached=fabric --set lend.0.p2p=[c.gpu0]",
        ("--set hosts.c.devices.gpu0.attached=fabric "
         "--set workload.flows.f.device=b.gpu0"),
    };
    g_autofree char *parts = program_place("parts");

    program_put("s.yaml", triangle);
    ck_assert_int_eq(symlink(PARTS_DIR, parts), 0);
    check_run(changes[_i], 1, "gpu0 is a Fabric Attached Device, and those");
    /* The rest is as for other devices. */
    check_run("--set hosts.a.devices.gpu0.attached=fabric "
              "--set workload.flows.f.target=b.ram",
              0, "\n9,15,5\n");
}
END_TEST

/* Without its IOMMU, a node has entries reserved for no more than its
 * preallocated memory: 12 of 256 MiB otherwise. */
START_TEST(reservation_without_an_iommu)
{
    put_scenario();
    ck_assert_int_eq(program_run("plan @/s.yaml --set lend.1.window=auto "
                                 "--set hosts.b.iommu=off"),
                     0);
    check_line("reserved", "12", "3GiB");
    ck_assert_int_eq(program_run("plan @/s.yaml --set lend.1.window=auto "
                                 "--set hosts.b.iommu=off "
                                 "--set hosts.b.preallocated=1000MiB"),
                     0);
    check_line("reserved", "4", "1GiB");
    ck_assert_int_eq(
        program_run("plan @/s.yaml --set hosts.b.preallocated=1MiB"), 0);
    check_line("reserved", "12", "3GiB");
    /* 128 - 65 in use - reserved */
    check_run("--set lend.1.window=auto --set hosts.b.iommu=off", 0,
              "\n50,0,65,51,");
    check_run("--set lend.1.window=auto --set hosts.b.iommu=off "
              "--set hosts.b.preallocated=1000MiB",
              0, "\n50,0,65,59,");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cmd_plan");
    TCase *tc = tcase_create("plan");

    tcase_add_checked_fixture(tc, program_setup, program_teardown);
    tcase_set_timeout(tc, 120);
    tcase_add_test(tc, manual_example);
    tcase_add_test(tc, the_term_that_does_not_fit_is_named);
    tcase_add_test(tc, many_devices_take_few_rows);
    tcase_add_test(tc, bad_usage);
    tcase_add_test(tc, plan_of_a_scenario);
    tcase_add_test(tc, guests_of_one_host_have_windows_of_their_own);
    tcase_add_test(tc, run_of_a_scenario);
    tcase_add_test(tc, borrowing_that_cannot_be);
    tcase_add_test(tc, path_of_a_lent_device);
    tcase_add_loop_test(tc, plan_and_model_count_the_same, 0, 9);
    tcase_add_test(tc, orders_are_needed_and_checked);
    tcase_add_loop_test(tc, fabric_attached_devices_have_no_p2p, 0, 4);
    tcase_add_test(tc, reservation_without_an_iommu);
    suite_add_tcase(suite, tc);
    return run_suite(suite);
}
