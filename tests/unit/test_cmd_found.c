/* SPDX-License-Identifier: MIT */
/*
 * Invariant: descriptions that tests/fuzz/fuzz_run.c has found to crash, or to
 * run for ever, end with the numbers that their flows ask for.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <check.h>
#include <glib.h>

#include "program.h"
#include "../suite.h"

/* Runs the description @text with the parts that came with Farside; its table
 * has the row @row, and the run ends with @status. */
static void expect(const char *text, int status, const char *row)
{
    g_autofree char *link = program_place("parts"),
                    *path = program_place("s.csv"), *csv = NULL;

    ck_assert_int_eq(symlink(g_getenv("FARSIDE_PARTS"), link), 0);
    program_put("s.yaml", text);
    ck_assert_msg(program_run("run @/s.yaml -q -o @") == status, "%s",
                  program_err);
    ck_assert(g_file_get_contents(path, &csv, NULL, NULL));
    ck_assert_msg(strstr(csv, row), "%s", csv);
}

/* A switch contains the link of a device that has sent what may not pass. Then
 * words are lost for which kernels poll: without a time-out they never end. */
START_TEST(containment_ends_what_waits)
{
    static const char text[] =
        "name: s\n"
        "hosts:\n"
        "  - name: a\n"
        "    cpu: generic-host\n"
        "    switches:\n"
        "      - {name: sw, part: generic-switch, at: rp0,\n"
        "         set: {dpc.trigger: fatal, dpc.release: 3us,\n"
        "               dpc.training: 1us}}\n"
        "    devices:\n"
        "      - {name: g0, part: quadro-k420, at: rp1}\n"
        "      - {name: g1, part: quadro-k420, at: sw, width: x1}\n"
        "workload:\n"
        "  flows:\n"
        "    - {name: f, kind: pingpong, from: a.g0, to: a.g1, via: a.ram,\n"
        "       count: 15}\n"
        "    - {name: g, kind: dma, device: a.g1, direction: write,\n"
        "       target: a.g1.bar0, size: 1B, count: 5}\n"
        "measure:\n"
        "  columns:\n"
        "    - {name: triggers, from: element.a.sw.dpc_triggers}\n"
        "    - {name: timeouts, from: element.a.g1.completion_timeouts}\n"
        "    - {name: failed, from: flow.f.failed}\n";

    /* The only operation of f fails, and the description asks for no faults. */
    expect(text, 1, "\n1,1,1\n");
}
END_TEST

/* A driver posts buffers as soon as others are taken, so more packets may be on
 * their way to memory than the ring has entries. All data come, once. */
START_TEST(packets_outnumber_the_entries_of_a_ring)
{
    static const char text[] =
        "name: s\n"
        "hosts:\n"
        "  - name: h0\n"
        "    cpu: generic-host\n"
        "    switches: [{name: sw, part: generic-switch, at: rp0}]\n"
        "    devices: [{name: n, part: connectx-7, at: sw, fabrics: [net]}]\n"
        "  - name: h1\n"
        "    cpu: generic-host\n"
        "    switches: [{name: sw, part: pex8796, at: rp0}]\n"
        "    devices:\n"
        "      - {name: g, part: tesla-k40c, at: sw}\n"
        "      - {name: ntb, part: pfx-ntb, at: rp1, chip: c, width: x2}\n"
        "  - name: h2\n"
        "    cpu: generic-host\n"
        "    switches:\n"
        "      - {name: sw, part: pex8796, at: rp0, speed: 5.0GT/s,\n"
        "         width: x1}\n"
        "    devices:\n"
        "      - {name: n, part: connectx-6, at: sw, fabrics: [net]}\n"
        "      - {name: ntb, part: pfx-ntb, at: sw, chip: c}\n"
        "networks: [{name: net, latency: 3273ns, loss: 2%}]\n"
        "workload:\n"
        "  seed: 980\n"
        "  flows:\n"
        "    - {name: f, kind: tcp-host, from: h0.n, to: h2.n, device: h1.g,\n"
        "       size: 64KiB, count: 2, mtu: 576B, completion: polling,\n"
        "       entries: 64}\n"
        "measure: {columns: [{name: bytes, from: flow.f.bytes}]}\n";

    expect(text, 0, "\n131072\n");
}
END_TEST

/* The second queue of the loan interrupts with data that are the number of the
 * second flow, which has not begun. */
START_TEST(interrupts_of_a_loan_are_no_flows)
{
    static const char text[] =
        "name: s\n"
        "hosts:\n"
        "  - name: a\n"
        "    cpu: generic-host\n"
        "    devices:\n"
        "      - {name: ntb, part: generic-ntb, at: rp0}\n"
        "      - {name: disk, part: optane-900p, at: rp1}\n"
        "  - name: b\n"
        "    cpu: generic-host\n"
        "    devices: [{name: ntb, part: generic-ntb, at: rp0}]\n"
        "links: [{name: cable, ends: [a.ntb, b.ntb]}]\n"
        "lend: [{device: a.disk, to: b}]\n"
        "workload:\n"
        "  flows:\n"
        "    - {name: e, kind: compute, time: 1ms}\n"
        "    - {name: f, kind: nvme, device: a.disk, direction: read,\n"
        "       size: 4KiB, count: 4, completion: interrupt, after: [e]}\n"
        "    - {name: g, kind: nvme, device: a.disk, direction: write,\n"
        "       size: 4KiB, count: 6, completion: interrupt}\n"
        "measure:\n"
        "  columns:\n"
        "    - {name: read, from: flow.f.bytes}\n"
        "    - {name: written, from: flow.g.bytes}\n";

    expect(text, 0, "\n16384,24576\n");
}
END_TEST

/* The window of the loan has no room, so each read fails at once: the three
 * operations fail one after the other, each after its setup. */
START_TEST(moves_without_room_fail)
{
    static const char text[] =
        "name: s\n"
        "hosts:\n"
        "  - name: a\n"
        "    cpu: generic-host\n"
        "    switches: [{name: sw, part: generic-switch, at: rp0}]\n"
        "    devices:\n"
        "      - {name: m, part: mxh930-dma, at: sw}\n"
        "      - {name: ntb, part: generic-ntb, at: sw,\n"
        "         set: {window.size: 4MiB}}\n"
        "  - name: b\n"
        "    cpu: generic-host\n"
        "    iommu: on\n"
        "    devices: [{name: ntb, part: generic-ntb, at: rp0}]\n"
        "links: [{name: cable, ends: [a.ntb, b.ntb]}]\n"
        "lend: [{device: a.m, to: b, window: 4KiB}]\n"
        "workload:\n"
        "  completion_timeout: 1ms\n"
        "  flows:\n"
        "    - {name: d, kind: dma, device: a.m, direction: read,\n"
        "       target: b.ram, size: 4B, count: 1, working_set: 16KiB}\n"
        "    - {name: f, kind: move, device: a.m, from: b.ram, to: b.ram,\n"
        "       size: 4KiB, count: 3}\n"
        "measure: {columns: [{name: failed, from: flow.f.failed}]}\n";

    expect(text, 1, "\n3\n");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cmd_found");
    TCase *tcase = tcase_create("found");

    tcase_add_checked_fixture(tcase, program_setup, program_teardown);
    tcase_add_test(tcase, containment_ends_what_waits);
    tcase_add_test(tcase, packets_outnumber_the_entries_of_a_ring);
    tcase_add_test(tcase, interrupts_of_a_loan_are_no_flows);
    tcase_add_test(tcase, moves_without_room_fail);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
