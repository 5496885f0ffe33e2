/* SPDX-License-Identifier: MIT */
/*
 * Invariant: one run of `farside check` names all errors of a description that
 * do not depend on each other, whatever stage finds them: the reader of a
 * section, the names of metrics, the fabric, loans, faults, flows, or one point
 * of the sweep. An error that all points have is named once.
 */
#include <string.h>

#include <check.h>
#include <glib.h>

#include "program.h"
#include "../suite.h"

/* Each error is in a line of its own. Lines are counted from 1. */
static const char wrong[] =
    "name: wrong\n"
    "parts:\n"
    "  tight: {base: generic-device, buffers.pd: 1}\n" /* 3: 16 B < mps */
    "  roomy: {base: generic-device}\n"
    "hosts:\n"
    "  - name: a\n"
    "    cpu: generic-host\n"
    "    iommu: on\n"
    "    devices:\n"
    "      - {name: d0, part: tight, at: rp0, speed: 8.0GT/s, width: x8}\n"
    "      - {name: d1, part: roomy, at: rp1, speed: 8.0GT/s, width: x8}\n"
    "      - {name: n0, part: generic-ntb, at: rp2, speed: 8.0GT/s,\n"
    "         width: x8}\n"
    "  - name: b\n"
    "    cpu: generic-host\n"
    "    iommu: on\n"
    "    devices:\n"
    "      - {name: n0, part: generic-ntb, at: rp0, speed: 8.0GT/s,\n"
    "         width: x8}\n"
    "links:\n"
    "  - {name: c0, ends: [a.n0, b.n0], speed: 8.0GT/s, width: x8}\n"
    "lend:\n"
    "  - {device: a.d1, to: b, window: 1TiB}\n" /* 23: the NTB has 64 GiB */
    "faults:\n"
    "  - {name: up, target: a.d0, action: degrade, width: x16,\n" /* 25 */
    "     at: 1us, for: 1us}\n"
    "workload:\n"
    "  flows:\n"
    "    - {name: f, kind: dma, device: a.d0, direction: write,\n" /* 29 */
    "       target: a.ram, size: 4KiB, count: 10, working_set: 1TiB}\n"
    "    - {name: g, kind: dma, device: a.d1, direction: write,\n"
    "       target: b.ram, size: 4KiB, count: 10}\n" /* needs the loan */
    "variants:\n"
    "  - {name: plain}\n"
    "  - {name: small, set: {parts.roomy.buffers.cpld: 1}}\n" /* 35 */
    "measure:\n"
    "  columns:\n"
    "    - {name: v, from: variant}\n"
    "    - {name: x, from: flow.f.bandwith}\n"               /* 39 */
    "    - {name: y, from: flow.f.bandwidth, colour: red}\n" /* 40 */
    "    - {name: z, from: element.a.d0.no_such}\n";         /* 41 */

static const char *const expected[] = {
    "s.yaml:3:",  "buffers.pd: of a.d0: 1 credits",
    "s.yaml:23:", "mapping 1TiB takes",
    "s.yaml:25:", "fault up: the link is x8",
    "s.yaml:29:", "no space for a buffer of 1TiB",
    "s.yaml:35:", "at point \"small\": buffers.cpld: of a.d1: 1 credits",
    "s.yaml:39:", "no metric \"bandwith\"",
    "s.yaml:40:", "unknown key 'colour'",
    "s.yaml:41:", "no metric \"no_such\"",
};

/* A BAR has its own size as alignment, and 32-bit BARs end at 4 GiB. */
static const char too_large[] =
    "name: large\n"
    "parts:\n"
    "  large: {base: generic-device, bars: [{size: 2GiB, width: 32}]}\n"
    "hosts:\n"
    "  - name: a\n" /* 5 */
    "    cpu: generic-host\n"
    "    devices:\n"
    "      - {name: d0, part: large, at: rp0}\n"
    "  - name: b\n" /* 9 */
    "    cpu: generic-host\n"
    "    devices:\n"
    "      - {name: d0, part: generic-device, at: rp0}\n"
    "  - name: c\n" /* 13 */
    "    cpu: generic-host\n"
    "    devices:\n"
    "      - {name: d0, part: large, at: rp0}\n";

static const char *const unfit[] = {
    "s.yaml:5:",
    "a.d0: BAR 0 of 2 GiB",
    "s.yaml:13:",
    "c.d0: BAR 0 of 2 GiB",
};

/* Checks that @text has the @n errors of @pairs, each a place and a message. */
static void check_all(const char *text, const char *const *pairs, unsigned n)
{
    g_auto(GStrv) lines = NULL;
    g_autofree char *last = g_strdup_printf("farside check: %u errors", n);

    program_put("s.yaml", text);
    ck_assert_int_eq(program_run("check @/s.yaml"), 2);
    lines = g_strsplit(program_err, "\n", -1);
    ck_assert_msg(g_strv_length(lines) == n + 2, "%s", program_err);
    for (unsigned i = 0; i < n; i++) {
        ck_assert_msg(strstr(lines[i], pairs[2 * i]) &&
                          strstr(lines[i], pairs[2 * i + 1]),
                      "line %u of: %s", i + 1, program_err);
    }
    ck_assert_str_eq(lines[n], last);
}

START_TEST(errors_of_all_stages_are_named_together)
{
    check_all(wrong, expected, G_N_ELEMENTS(expected) / 2);
}
END_TEST

START_TEST(errors_of_all_hierarchies_are_named_together)
{
    check_all(too_large, unfit, G_N_ELEMENTS(unfit) / 2);
}
END_TEST

/* The folder tests/unit/bad/; BAD is set by the build. */
START_TEST(every_bad_description_is_refused)
{
    const char *folder = g_getenv("BAD");
    g_autoptr(GDir) dir = g_dir_open(folder, 0, NULL);
    const char *name;
    unsigned count = 0;

    ck_assert_ptr_nonnull(dir);
    while ((name = g_dir_read_name(dir))) {
        g_autofree char *words = g_strdup_printf("check %s/%s", folder, name);

        if (g_str_has_suffix(name, ".yaml")) {
            ck_assert_msg(program_run(words) == 2, "%s: %s", name, program_err);
            count++;
        }
    }
    ck_assert_uint_gt(count, 90);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cmd_check");
    TCase *tcase = tcase_create("check");

    tcase_set_timeout(tcase, 60);
    tcase_add_checked_fixture(tcase, program_setup, program_teardown);
    tcase_add_test(tcase, errors_of_all_stages_are_named_together);
    tcase_add_test(tcase, errors_of_all_hierarchies_are_named_together);
    tcase_add_test(tcase, every_bad_description_is_refused);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
