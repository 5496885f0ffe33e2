/* SPDX-License-Identifier: MIT */
/*
 * Schedules of faults. Invariants: one seed gives one schedule, all have what a
 * timed cluster accepts and nothing else, all actions and targets are drawn,
 * and the text of a schedule is read as the same schedule.
 */
#include <string.h>

#include "clu_faults.h"
#include "clu_plan.h"
#include "exp_schedule.h"
#include "../suite.h"

#define PARTS TOPO_SOURCE_ROOT "/scenarios/parts"
#define SEEDS 2000
#define BEGIN INT64_C(1200000000)
#define END   INT64_C(3500000000)

static const char machines[] =
    "hosts:\n"
    "  - name: a\n"
    "    cpu: generic-host\n"
    "    devices:\n"
    "      - {name: ntb, part: generic-ntb, at: rp0}\n"
    "      - {name: disk, part: optane-900p, at: rp1, vm: {device: nvme, image: "
    "64MiB}}\n"
    "      - {name: paper, part: optane-900p, at: rp2}\n"
    "  - name: b\n"
    "    cpu: generic-host\n"
    "    devices:\n"
    "      - {name: ntb, part: generic-ntb, at: rp0}\n"
    "      - {name: edu, part: generic-device, at: rp1, vm: {device: edu}}\n"
    "links: [{name: cable, ends: [a.ntb, b.ntb]}]\n"
    "lend: [{device: a.disk, to: b}]\n";

static TopoDescription *load(const char *faults)
{
    g_autofree char *text =
        g_strconcat("name: t\n", machines, faults ? faults : "", NULL);
    g_autoptr(TopoErrors) errors = topo_errors_new();
    TopoDescription *description =
        topo_load_buffer("t.yaml", text, strlen(text), PARTS, NULL, errors);
    g_autofree char *messages = topo_errors_to_string(errors);

    ck_assert_msg(description, "%s%s", messages, text);
    return description;
}

/* The part of a schedule's text from `faults:` on */
static char *faults_of(const GArray *schedule)
{
    g_autofree char *text = exp_schedule_to_yaml(schedule, "x", "file", NULL);

    return g_strdup(strstr(text, "faults:"));
}

START_TEST(one_seed_gives_one_schedule)
{
    g_autoptr(TopoDescription) description = load(NULL);
    g_autoptr(GHashTable) texts =
        g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);

    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        g_autoptr(GArray) one =
            exp_schedule_draw(description, BEGIN, END, seed);
        g_autoptr(GArray) two =
            exp_schedule_draw(description, BEGIN, END, seed);
        g_autofree char *text = faults_of(two);
        char *key = faults_of(one);

        ck_assert_str_eq(key, text);
        g_hash_table_add(texts, key);
    }
    ck_assert_uint_gt(g_hash_table_size(texts), SEEDS * 99 / 100);
}
END_TEST

/* The loader and the cluster have the last word, not the generator. */
START_TEST(a_timed_cluster_accepts_all)
{
    g_autoptr(TopoDescription) description = load(NULL);

    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        g_autoptr(GArray) schedule =
            exp_schedule_draw(description, BEGIN, END, seed);
        g_autofree char *faults = faults_of(schedule);
        g_autoptr(TopoDescription) again = load(faults);
        g_autoptr(TopoErrors) errors = topo_errors_new();
        g_autoptr(CluPlan) plan = clu_plan_new(again, errors);
        g_autoptr(GArray) read = exp_schedule_of(again);
        g_autofree char *text = faults_of(read);
        g_autofree char *messages = NULL;

        ck_assert_ptr_nonnull(plan);
        clu_faults_check(plan, errors);
        messages = topo_errors_to_string(errors);
        ck_assert_msg(*messages == '\0', "%s%s", messages, faults);
        ck_assert_uint_ge(schedule->len, 1);
        ck_assert_uint_le(schedule->len, EXP_SCHEDULE_MOST);
        ck_assert_str_eq(text, faults);
    }
}
END_TEST

static unsigned power_of(const GArray *schedule, const TopoHost *host)
{
    unsigned count = 0;

    for (unsigned i = 0; i < schedule->len; i++) {
        const TopoFault *fault = &g_array_index(schedule, TopoFault, i);

        count += fault->host == host && fault->action != TOPO_FAULT_FREEZE;
    }
    return count;
}

/* Of a timed cluster; poison and overflow it refuses. */
static const char *const wanted[] = {
    "a freeze",
    "b freeze",
    "a kill",
    "b kill",
    "a restart",
    "b restart",
    "a start-late",
    "b start-late",
    "a.disk remove",
    "b.edu remove",
    "a.disk link-down",
    "b.edu link-down",
    "a.disk bit-errors",
    "a.disk degrade",
    "cable link-down",
    "cable bit-errors",
    "cable degrade",
};

START_TEST(all_actions_and_targets_are_drawn)
{
    g_autoptr(TopoDescription) description = load(NULL);
    g_autoptr(GHashTable) seen =
        g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    unsigned events = 0, times = 0;

    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        g_autoptr(GArray) schedule =
            exp_schedule_draw(description, BEGIN, END, seed);
        g_autofree char *text = exp_schedule_to_text(schedule);
        g_auto(GStrv) parts = g_strsplit(text, "; ", 0);
        int64_t late_ps = 0;

        for (unsigned i = 0; i < schedule->len; i++) {
            const TopoFault *fault = &g_array_index(schedule, TopoFault, i);
            g_auto(GStrv) words = g_strsplit(parts[i], " ", 3);

            g_hash_table_add(seen, g_strconcat(words[0], " ", words[1], NULL));
            if (fault->action == TOPO_FAULT_START_LATE) {
                late_ps = MAX(late_ps, fault->at_ps);
            }
        }
        for (unsigned i = 0; i < schedule->len; i++) {
            const TopoFault *fault = &g_array_index(schedule, TopoFault, i);

            events += fault->event != TOPO_FAULT_AT_TIME;
            ck_assert(fault->action != TOPO_FAULT_FREEZE ||
                      fault->for_ps <= EXP_SCHEDULE_FREEZE_NS * 1000);
            if (fault->event || fault->action == TOPO_FAULT_START_LATE) {
                continue;
            }
            times++;
            ck_assert_int_ge(fault->at_ps - late_ps, BEGIN * 1000);
            ck_assert_int_lt(fault->at_ps - late_ps, END * 1000);
            ck_assert_int_ge(exp_schedule_end_ns(schedule) * 1000,
                             fault->at_ps + fault->for_ps);
        }
        for (unsigned i = 0; i < 2; i++) {
            ck_assert_uint_le(power_of(schedule, description->hosts->pdata[i]),
                              1);
        }
    }
    for (unsigned i = 0; i < G_N_ELEMENTS(wanted); i++) {
        ck_assert_msg(g_hash_table_contains(seen, wanted[i]), "%s", wanted[i]);
    }
    ck_assert_uint_eq(g_hash_table_size(seen), G_N_ELEMENTS(wanted));
    ck_assert_uint_gt(events, SEEDS / 2);
    ck_assert_uint_gt(times, SEEDS / 2);
}
END_TEST

START_TEST(hosts_without_cables_and_devices_have_faults)
{
    static const char text[] =
        "name: t\nhosts: [{name: a, cpu: generic-host}]\n";
    g_autoptr(TopoErrors) errors = topo_errors_new();
    g_autoptr(TopoDescription) description =
        topo_load_buffer("t.yaml", text, strlen(text), PARTS, NULL, errors);

    for (uint64_t seed = 0; seed < 100; seed++) {
        g_autoptr(GArray) schedule =
            exp_schedule_draw(description, BEGIN, END, seed);

        /* One host: it is frozen, or switched off or on, or both. */
        ck_assert_uint_ge(schedule->len, 1);
        ck_assert_uint_le(schedule->len, 2);
    }
}
END_TEST

START_TEST(a_schedule_is_a_description)
{
    g_autoptr(TopoDescription) description = load(
        "faults:\n"
        "  - {name: x, target: cable, action: link-down, when: message 3, end: "
        "lower, for: 1500ns, training: 20us}\n"
        "  - {name: y, target: a, action: freeze, at: 2000000001ns, for: 40us}\n"
        "  - {name: z, target: cable, action: bit-errors, rate: 2.5e-7, at: "
        "3s}\n"
        "  - {name: w, target: b, action: kill, when: doorbell}\n");
    g_autoptr(GArray) schedule = exp_schedule_of(description);
    g_autofree char *yaml = exp_schedule_to_yaml(
        schedule, "seed-7", "/a \"b\"/c.yaml", "one\n\ntwo");
    g_autofree char *text = exp_schedule_to_text(schedule);
    g_autoptr(GArray) last = g_array_copy(schedule);
    g_autofree char *change =
        exp_schedule_to_change(g_array_remove_range(last, 0, 3));

    ck_assert_str_eq(
        yaml,
        "# one\n#\n# two\nname: seed-7\ncluster: \"/a \\\"b\\\"/c.yaml\"\n"
        "faults:\n"
        "  - {name: f1, target: cable, action: link-down, end: lower, when: "
        "message 3, for: 1.5us, training: 20us}\n"
        "  - {name: f2, target: a, action: freeze, at: 2.000000001s, for: "
        "40us}\n"
        "  - {name: f3, target: cable, action: bit-errors, rate: 2.5e-07, at: "
        "3s}\n"
        "  - {name: f4, target: b, action: kill, when: doorbell 1}\n");
    ck_assert_str_eq(text,
                     "cable link-down at the other end's message 3 for 1.5us; "
                     "a freeze at 2.000000001s for 40us; cable bit-errors at "
                     "3s; b kill at doorbell 1");
    ck_assert_str_eq(change,
                     "faults=[{name: f1, target: b, action: kill, when: "
                     "doorbell 1}]");
    ck_assert_int_eq(exp_schedule_end_ns(schedule), 3000000000);
    ck_assert(exp_schedule_may_hit_boot(schedule));
    ck_assert(exp_schedule_has_power(schedule, description->hosts->pdata[1]));
    ck_assert(!exp_schedule_has_power(schedule, description->hosts->pdata[0]));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("exp_schedule");
    TCase *tcase = tcase_create("schedules");

    tcase_set_timeout(tcase, 120);
    tcase_add_test(tcase, one_seed_gives_one_schedule);
    tcase_add_test(tcase, a_timed_cluster_accepts_all);
    tcase_add_test(tcase, all_actions_and_targets_are_drawn);
    tcase_add_test(tcase, hosts_without_cables_and_devices_have_faults);
    tcase_add_test(tcase, a_schedule_is_a_description);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
