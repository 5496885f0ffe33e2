/* SPDX-License-Identifier: MIT */
/*
 * Faults of a description in a timed cluster. Invariants: each machine gets the
 * faults that it has to do itself, both ends of a cable the same times; the
 * supervisor's steps come in the order of time; a fault comes once, whatever
 * process a host has; and a fault that no machine can have is refused with its
 * place.
 */
#include <string.h>

#include "clu_faults.h"
#include "clu_plan.h"
#include "../suite.h"

#define PARTS TOPO_SOURCE_ROOT "/scenarios/parts"
#define USUAL 10000000

static const char hosts[] =
    "name: t\n"
    "hosts:\n"
    "  - name: a\n"
    "    cpu: generic-host\n"
    "    switches: [{name: sw0, part: generic-switch, at: rp1}]\n"
    "    devices: [{name: ntb, part: generic-ntb, at: rp0}]\n"
    "  - name: b\n"
    "    cpu: generic-host\n"
    "    devices:\n"
    "      - {name: ntb, part: generic-ntb, at: rp0}\n"
    "      - {name: edu, part: generic-device, at: rp1, vm: {device: edu}}\n"
    "links: [{name: cable, ends: [a.ntb, b.ntb]}]\n"
    "faults:\n";

typedef struct Case {
    TopoDescription *description;
    CluPlan *plan;
    GString *options[2];
    char *errors;
} Case;

/* @events of each fault have come; NULL: none. */
static Case load_later(const char *faults, const TimedBoardEvents *events)
{
    g_autofree char *text = g_strconcat(hosts, faults, NULL);
    g_autoptr(TopoErrors) errors = topo_errors_new();
    Case c = {.plan = NULL};

    c.description =
        topo_load_buffer("t.yaml", text, strlen(text), PARTS, NULL, errors);
    if (!c.description) {
        ck_abort_msg("%s", topo_errors_to_string(errors));
    }
    c.plan = clu_plan_new(c.description, errors);
    ck_assert_ptr_nonnull(c.plan);
    clu_faults_check(c.plan, errors);
    c.errors = topo_errors_to_string(errors);
    for (unsigned i = 0; i < 2; i++) {
        c.options[i] = g_string_new(NULL);
        if (*c.errors == '\0') {
            clu_faults_options(c.plan, c.plan->hosts->pdata[i], USUAL, events,
                               c.options[i]);
        }
    }
    return c;
}

static Case load(const char *faults)
{
    return load_later(faults, NULL);
}

static void done(Case *c)
{
    clu_plan_free(c->plan);
    topo_description_free(c->description);
    g_string_free(c->options[0], TRUE);
    g_string_free(c->options[1], TRUE);
    g_free(c->errors);
}

static void check_options(const char *faults, const char *a, const char *b)
{
    Case c = load(faults);

    ck_assert_str_eq(c.errors, "");
    ck_assert_str_eq(c.options[0]->str, a);
    ck_assert_str_eq(c.options[1]->str, b);
    done(&c);
}

START_TEST(machines_get_their_faults)
{
    check_options("  - {name: f, target: a, action: freeze, at: 7ns, for: "
                  "40us}\n",
                  ",fault=0:7:freeze:40000:0:0:", "");
    /* Both ends; a time in ps is rounded up. */
    check_options("  - {name: f, target: cable, action: link-down, at: 1500ps, "
                  "for: 1us}\n",
                  ",fault=0:2:cut:1000:10000000:10000000:ntb",
                  ",fault=0:2:cut:1000:10000000:10000000:ntb");
    /* A short training is the board's, too. */
    check_options("  - {name: f, target: cable, action: link-down, at: 1ms, "
                  "for: 1us, training: 5us}\n",
                  ",fault=0:1000000:cut:1000:5000:5000:ntb",
                  ",fault=0:1000000:cut:1000:5000:5000:ntb");
    /* Only the first end sees the event. */
    check_options("  - {name: f, target: cable, action: link-down, when: "
                  "doorbell 3, for: 1us}\n",
                  ",fault=0:doorbell:3:unplug:1000:10000000:10000000:ntb", "");
    /* A TLP that the first end sends arrives at the second one. */
    check_options("  - {name: f, target: cable, action: link-down, when: "
                  "message 2, end: lower, for: 1us}\n",
                  "", ",fault=0:message:2:unplug:1000:10000000:10000000:ntb");
    check_options("  - {name: f, target: b.edu, action: remove, at: 1us}\n", "",
                  ",fault=0:1000:remove:0:0:0:edu");
    check_options("  - {name: f, target: b.edu, action: link-down, at: 1us, "
                  "for: 1us, training: 1us}\n",
                  "", ",fault=0:1000:remove:2000:1000:0:edu");
    check_options("  - {name: f, target: b, action: kill, when: read}\n", "",
                  ",fault=0:read:1:off:0:0:0:");
    /* The supervisor's, and the model's */
    check_options("  - {name: f, target: b, action: kill, at: 1us}\n"
                  "  - {name: g, target: cable, action: bit-errors, rate: "
                  "1e-9}\n"
                  "  - {name: h, target: cable, action: degrade, width: x1, "
                  "when: tlp 3}\n",
                  "", "");
}
END_TEST

/* The process of b begins anew when two doorbells and a read have come: what
 * has come does not come again, and the next doorbell is the third one. A fault
 * keeps its number. Those with a time have a begin by which QEMU knows them.
 * A fault of its cable or of a slot may still hold, so it has the time of the
 * event. */
START_TEST(a_fault_comes_once)
{
    static const TimedBoardEvents events[] = {
        {0, 0}, {2, 80}, {1, 90}, {2, 80}, {0, 0}, {2, 80}, {1, 90},
    };
    Case c = load_later(
        "  - {name: f, target: b, action: freeze, at: 7ns, for: 40us}\n"
        "  - {name: g, target: b, action: restart, when: doorbell 3, for: "
        "1ms}\n"
        "  - {name: h, target: b, action: kill, when: read}\n"
        "  - {name: i, target: b, action: freeze, when: doorbell 2, for: 1us}\n"
        "  - {name: j, target: b.edu, action: remove, when: message}\n"
        "  - {name: k, target: cable, action: link-down, when: doorbell 2, end: "
        "lower, for: 1us}\n"
        "  - {name: l, target: b.edu, action: link-down, when: read, for: 1us, "
        "training: 1us}\n",
        events);

    ck_assert_str_eq(c.options[1]->str, ",fault=0:7:freeze:40000:0:0:"
                                        ",fault=1:doorbell:1:off:1000000:0:0:"
                                        ",fault=4:message:1:remove:0:0:0:edu"
                                        ",fault=5:80:unplug:1000:10000000:"
                                        "10000000:ntb"
                                        ",fault=6:90:remove:2000:1000:0:edu");
    done(&c);
}
END_TEST

START_TEST(there_are_only_so_many_faults)
{
    g_autoptr(GString) text = g_string_new("name: t\nhosts:\n");
    g_autoptr(TopoErrors) errors = topo_errors_new();
    g_autofree char *said = NULL;
    TopoDescription *description;
    CluPlan *plan;

    for (unsigned i = 0; i < 513; i++) {
        g_string_append_printf(text, "  - {name: h%u, cpu: generic-host}\n", i);
    }
    g_string_append(text, "faults:\n");
    for (unsigned i = 0; i < 1025; i++) {
        g_string_append_printf(
            text, "  - {name: f%u, target: h%u, action: %s, when: read}\n", i,
            i / 2, i % 2 ? "kill" : "freeze");
    }
    description =
        topo_load_buffer("t.yaml", text->str, text->len, PARTS, NULL, errors);
    ck_assert_ptr_nonnull(description);
    plan = clu_plan_new(description, errors);
    ck_assert_ptr_nonnull(plan);
    clu_faults_check(plan, errors);
    said = topo_errors_to_string(errors);
    ck_assert_str_eq(said, "t.yaml:1541:5: a timed cluster has at most 1024 "
                           "faults, not 1025; remove some\n");
    clu_plan_free(plan);
    topo_description_free(description);
}
END_TEST

START_TEST(the_supervisor_gets_its_steps)
{
    static const struct {
        int64_t at_ns;
        CluFaultAct act;
        const char *fault;
    } wanted[] = {
        {1000, CLU_FAULT_NOTE, "stall"},
        {2000, CLU_FAULT_KILL, "again"},
        {3000, CLU_FAULT_START, "late"},
        {5000, CLU_FAULT_START, "again"},
    };
    Case c = load("  - {name: again, target: b, action: restart, at: 2us, for: "
                  "3us}\n"
                  "  - {name: late, target: a, action: start-late, at: 3us}\n"
                  "  - {name: event, target: b, action: kill, when: write}\n"
                  "  - {name: stall, target: a, action: freeze, at: 1us}\n");
    g_autoptr(GArray) steps = clu_faults_steps(c.plan);

    ck_assert_uint_eq(steps->len, G_N_ELEMENTS(wanted));
    for (unsigned i = 0; i < steps->len; i++) {
        const CluFaultStep *step = &g_array_index(steps, CluFaultStep, i);

        ck_assert_int_eq(step->at_ns, wanted[i].at_ns);
        ck_assert_int_eq(step->act, wanted[i].act);
        ck_assert_str_eq(step->fault->name, wanted[i].fault);
    }
    ck_assert(clu_faults_is_late(c.plan, c.plan->hosts->pdata[0]));
    ck_assert(!clu_faults_is_late(c.plan, c.plan->hosts->pdata[1]));
    done(&c);
}
END_TEST

static void check_refused(const char *faults, const char *errors)
{
    Case c = load(faults);

    ck_assert_str_eq(c.errors, errors);
    done(&c);
}

START_TEST(what_no_machine_has_is_refused)
{
    check_refused("  - {name: f, target: a.ntb, action: remove}\n",
                  "t.yaml:14:23: a.ntb is an NTB, which a timed cluster does "
                  "not take away; name its cable cable, with action "
                  "link-down\n");
    check_refused("  - {name: f, target: a.sw0, action: link-down}\n",
                  "t.yaml:14:23: a.sw0 is a switch, which a cluster does not "
                  "emulate; name a cable, or a device\n");
    check_refused("  - {name: f, target: cable, action: poison, rate: 0.1}\n",
                  "t.yaml:14:23: fault f loses TLPs of which the machines "
                  "learn nothing; a timed cluster has bit-errors, degrade and "
                  "link-down, so write one of them, or use `farside run`\n");
    check_refused("  - {name: f, target: cable, action: overflow, surplus: "
                  "1}\n",
                  "t.yaml:14:23: fault f loses TLPs of which the machines "
                  "learn nothing; a timed cluster has bit-errors, degrade and "
                  "link-down, so write one of them, or use `farside run`\n");
    check_refused("  - {name: f, target: cable, action: link-down, when: tlp "
                  "3}\n",
                  "t.yaml:14:55: no machine sees a tlp; write one of write, "
                  "read, doorbell, message\n");
    check_refused("  - {name: f, target: b.edu, action: link-down, when: read, "
                  "end: upper}\n",
                  "t.yaml:14:55: a timed cluster counts what arrives at the "
                  "host of b.edu; remove `end`\n");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("faults");
    TCase *tcase = tcase_create("faults");

    tcase_add_test(tcase, machines_get_their_faults);
    tcase_add_test(tcase, a_fault_comes_once);
    tcase_add_test(tcase, there_are_only_so_many_faults);
    tcase_add_test(tcase, the_supervisor_gets_its_steps);
    tcase_add_test(tcase, what_no_machine_has_is_refused);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
