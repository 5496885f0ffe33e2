/* SPDX-License-Identifier: MIT */
/*
 * Invariant: what the simulation has of a switch, and the machines have not, is
 * told with its place when the machines start; of a switch that they have
 * wholly, nothing is told.
 */
#include <string.h>

#include <check.h>

#include "clu_plan.h"
#include "clu_plan_switches.h"
#include "clu_timed_check.h"
#include "../suite.h"

#define PARTS TOPO_SOURCE_ROOT "/scenarios/parts"

/* One host with two switches, in lines 6 and 7, and a device below each. The
 * second device is emulated if VM says so. */
#define HOST(FIRST, SECOND, VM)                                                \
    "name: t\n"                                                                \
    "hosts:\n"                                                                 \
    "  - name: a\n"                                                            \
    "    cpu: generic-host\n"                                                  \
    "    switches:\n"                                                          \
    "      - {name: s0, part: generic-switch, at: rp0" FIRST "}\n"             \
    "      - {name: s1, part: generic-switch, at: rp1" SECOND "}\n"            \
    "    devices:\n"                                                           \
    "      - {name: d0, part: generic-device, at: s0, vm: {device: edu}}\n"    \
    "      - {name: d1, part: generic-device, at: s1" VM "}\n"

#define EDU ", vm: {device: edu}"

#define ACS_GAP                                                                \
    "t.yaml:6:9: warning: a.s0 has acs_direct, which is the simulation's "     \
    "alone: no emulated device sends translated addresses, so a port that "    \
    "redirects sends all requests up\n"
#define CHIP_GAP                                                               \
    "t.yaml:7:9: warning: a.s0 and a.s1 are partitions of chip 'c' in the "    \
    "simulation alone: the machine has two switches, and what goes from one "  \
    "to the other passes the root\n"
#define TIME_GAP                                                               \
    "t.yaml:6:9: warning: an access that stays inside host 'a' takes no "      \
    "virtual time, also through a.s0; only what crosses a cable takes the "    \
    "time of the switches on its way\n"

static const struct {
    const char *text;
    const char *said; /* of any cluster; a timed one has TIME_GAP, too */
} cases[] = {
    {HOST("", "", EDU), ""},
    {HOST(", acs_direct: on", "", EDU), ACS_GAP},
    {HOST(", acs_direct: requests", "", EDU), ACS_GAP},
    {HOST(", chip: c", ", chip: c", EDU), CHIP_GAP},
    {HOST(", chip: c", ", chip: d", EDU), ""},
    /* The second switch is none in the machine. */
    {HOST(", chip: c", ", chip: c, acs_direct: on", ""), ""},
};

static void tell(void *owner, const char *text)
{
    g_string_append_printf(owner, "%s\n", text);
}

START_TEST(gaps_are_told)
{
    const char *text = cases[_i].text;
    g_autoptr(TopoErrors) errors = topo_errors_new();
    g_autoptr(GString) said = g_string_new(NULL);
    TopoDescription *description =
        topo_load_buffer("t.yaml", text, strlen(text), PARTS, NULL, errors);
    CluPlan *plan;

    if (!description) {
        ck_abort_msg("%s", topo_errors_to_string(errors));
    }
    plan = clu_plan_new(description, errors);
    ck_assert_ptr_nonnull(plan);
    clu_plan_tell_gaps(plan, tell, said);
    ck_assert_str_eq(said->str, cases[_i].said);
    g_string_truncate(said, 0);
    clu_timed_tell_gaps(plan, tell, said);
    ck_assert_str_eq(said->str, TIME_GAP);
    clu_plan_free(plan);
    topo_description_free(description);
}
END_TEST

/* A host without a switch has nothing that such a time could be missing of. */
START_TEST(without_a_switch_nothing_is_told)
{
    static const char text[] = "name: t\n"
                               "hosts:\n"
                               "  - name: a\n"
                               "    cpu: generic-host\n"
                               "    devices: [{name: d, part: generic-device, "
                               "at: rp0, vm: {device: edu}}]\n";
    g_autoptr(TopoErrors) errors = topo_errors_new();
    g_autoptr(GString) said = g_string_new(NULL);
    TopoDescription *description =
        topo_load_buffer("t.yaml", text, strlen(text), PARTS, NULL, errors);
    CluPlan *plan = clu_plan_new(description, errors);

    ck_assert_ptr_nonnull(plan);
    clu_plan_tell_gaps(plan, tell, said);
    clu_timed_tell_gaps(plan, tell, said);
    ck_assert_str_eq(said->str, "");
    clu_plan_free(plan);
    topo_description_free(description);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("clu_plan_gaps");
    TCase *tcase = tcase_create("gaps");

    tcase_add_loop_test(tcase, gaps_are_told, 0, G_N_ELEMENTS(cases));
    tcase_add_test(tcase, without_a_switch_nothing_is_told);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
