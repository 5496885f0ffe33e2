/* SPDX-License-Identifier: MIT */
/*
 * Invariant: `repeat: n` makes n members with the indexes 0 to n-1. An
 * expression in braces has its arithmetic value; division rounds down.
 */
#include <time.h>

#include "topo_test.h"
#include "../suite.h"

/* Values for i = 0, 1, 2, worked out by hand. */
static const struct {
    const char *expression;
    const char *names[3];
} table[] = {
    {"{i}", {"x0", "x1", "x2"}},
    {"{i+1}", {"x1", "x2", "x3"}},
    {"{i*10+7}", {"x7", "x17", "x27"}},
    {"{i/2}{i%2}", {"x00", "x01", "x10"}},
    {"{ ( i + 1 ) % 3 }", {"x1", "x2", "x0"}},
    {"{(i-1)%3}", {"x2", "x0", "x1"}},
    {"{(i-4)/3+9}-{i}", {"x7-0", "x8-1", "x8-2"}},
    {"{2*(3+i)-5}", {"x1", "x3", "x5"}},
    {"{10-2-i}", {"x8", "x7", "x6"}},
    {"{100/5/2+i}", {"x10", "x11", "x12"}},
    {"{-i+5}", {"x5", "x4", "x3"}},
    {"{5--i}", {"x5", "x6", "x7"}},
    {"a{i}b{i*i}c", {"xa0b0c", "xa1b1c", "xa2b4c"}},
};

START_TEST(expressions_have_the_values_of_arithmetic)
{
    g_autofree char *text =
        g_strdup_printf("name: t\n"
                        "hosts: [{name: a, cpu: cpu}]\n"
                        "variants: [{name: \"x%s\", repeat: 3}]\n",
                        table[_i].expression);
    g_autoptr(TopoErrors) errors = topo_errors_new();
    g_autoptr(TopoDescription) description = NULL;
    unsigned i;

    description = topo_load_buffer("test.yaml", text, strlen(text), TEST_PARTS,
                                   NULL, errors);
    if (!description) {
        g_autofree char *messages = topo_errors_to_string(errors);

        ck_abort_msg("%s", messages);
    }
    ck_assert_uint_eq(description->variants->len, 3);
    for (i = 0; i < 3; i++) {
        const TopoVariant *variant =
            g_ptr_array_index(description->variants, i);

        ck_assert_str_eq(variant->name, table[_i].names[i]);
    }
}
END_TEST

START_TEST(double_braces_are_braces)
{
    g_autofree char *messages =
        load_bad("name: t\n"
                 "hosts: [{name: \"{{i}}{i}\", cpu: cpu, repeat: 1}]\n",
                 NULL);

    /* The name is refused; the message shows the value of the expression. */
    ck_assert_ptr_nonnull(strstr(messages, "'{i}0' is not a name"));
}
END_TEST

START_TEST(braces_outside_of_a_repeat_are_text)
{
    g_autoptr(TopoDescription) description =
        load_good("name: t\ndescription: \"{i} stays\"\n"
                  "hosts: [{name: a, cpu: cpu}]\n",
                  NULL);

    ck_assert_str_eq(description->text, "{i} stays");
}
END_TEST

START_TEST(repeats_nest_and_keep_places)
{
    g_autoptr(TopoDescription) description =
        load_good("name: t\n"
                  "hosts:\n"
                  "  - name: \"h{i}\"\n"
                  "    repeat: 3\n"
                  "    cpu: cpu\n"
                  "    devices:\n"
                  "      - {name: \"g{i}-{j}\", part: gpu, at: \"rp{j}\",\n"
                  "         repeat: {count: \"{i%2+1}\", index: j}}\n",
                  NULL);
    static const unsigned counts[] = {1, 2, 1};
    unsigned i;

    ck_assert_uint_eq(description->hosts->len, 3);
    for (i = 0; i < 3; i++) {
        const TopoHost *host = g_ptr_array_index(description->hosts, i);

        ck_assert_uint_eq(host->devices->len, counts[i]);
        ck_assert_uint_eq(host->place.line, 3);
        ck_assert_uint_eq(host->place.column, 5);
    }
    ck_assert_ptr_nonnull(topo_find_device(description, "h1.g1-1"));
    ck_assert_ptr_null(topo_find_device(description, "h2.g2-1"));
}
END_TEST

/* Names of `each:` stand for the texts at the same place of their lists, and
 * keep them inside of a `repeat:`. */
START_TEST(each_stands_for_texts)
{
    static const char *const names[] = {"x-0", "x-1", "y2-0", "y2-1"};
    g_autoptr(TopoDescription) description =
        load_good("name: t\n"
                  "hosts:\n"
                  "  - name: \"h-{ g }\"\n"
                  "    each: {g: [x, y2], p: [rp1, rp0]}\n"
                  "    cpu: cpu\n"
                  "    devices:\n"
                  "      - {name: \"{g}-{i}\", part: gpu, at: sw, repeat: 2}\n"
                  "    switches: [{name: sw, part: sw, at: \"{p}\"}]\n",
                  NULL);

    ck_assert_uint_eq(description->hosts->len, 2);
    for (unsigned i = 0; i < 4; i++) {
        const TopoHost *host = description->hosts->pdata[i / 2];
        const TopoDevice *device = host->devices->pdata[i % 2];
        const TopoSwitch *sw = host->switches->pdata[0];

        ck_assert_str_eq(host->name, i < 2 ? "h-x" : "h-y2");
        ck_assert_str_eq(device->name, names[i]);
        ck_assert_uint_eq(sw->at.port, i < 2 ? 1 : 0);
    }
}
END_TEST

/* A ring of hosts through NTBs is not a loop within one PCIe hierarchy. */
START_TEST(ring_of_hosts_is_good)
{
    g_autoptr(TopoDescription) description =
        load_good("name: ring\n"
                  "hosts:\n"
                  "  - name: \"h{i}\"\n"
                  "    repeat: 5\n"
                  "    cpu: cpu\n"
                  "    devices: [{name: \"ntb{j}\", part: ntb, at: \"rp{j}\",\n"
                  "               repeat: {count: 2, index: j}}]\n"
                  "links:\n"
                  "  - {name: \"c{i}\", repeat: 5,\n"
                  "     ends: [\"h{i}.ntb1\", \"h{(i+1)%5}.ntb0\"]}\n",
                  NULL);
    const TopoLink *last;

    ck_assert_uint_eq(description->links->len, 5);
    last = g_ptr_array_index(description->links, 4);
    ck_assert_str_eq(last->end[0]->path, "h4.ntb1");
    ck_assert_str_eq(last->end[1]->path, "h0.ntb0");
}
END_TEST

/* Takes well under a second. The limit leaves room for sanitizers. */
START_TEST(thousand_hosts_load_quickly)
{
    static const char text[] =
        "name: many\n"
        "hosts:\n"
        "  - name: \"leaf{i}\"\n"
        "    repeat: 1024\n"
        "    cpu: cpu\n"
        "    set: {transit: \"{i+1}ns\"}\n"
        "    switches: [{name: sw0, part: sw, at: rp0}]\n"
        "    devices:\n"
        "      - {name: gpu0, part: gpu, at: sw0}\n"
        "      - {name: ntb0, part: ntb, at: sw0}\n"
        "      - {name: ntb1, part: ntb, at: rp1}\n"
        "links:\n"
        "  - {name: \"c{i}\", repeat: 1023,\n"
        "     ends: [\"leaf{i}.ntb1\", \"leaf{i+1}.ntb0\"]}\n"
        "workload:\n"
        "  flows:\n"
        "    - {name: \"f{i}\", repeat: 1024, kind: dma,\n"
        "       device: \"leaf{i}.gpu0\", direction: write,\n"
        "       target: \"leaf{(i+512)%1024}.ram\", size: 256B, total: 1MiB}\n";
    clock_t begin = clock(); /* processor time */
    g_autoptr(TopoDescription) description = load_good(text, NULL);
    clock_t taken = clock() - begin;
    const TopoHost *host = topo_find_host(description, "leaf1023");

    ck_assert_uint_eq(description->hosts->len, 1024);
    ck_assert_int_eq(topo_part_time(host->cpu, "transit"), 1024000);
    ck_assert_msg(taken < 2 * CLOCKS_PER_SEC, "%ld us", (long)taken);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("repeat");
    TCase *tcase = tcase_create("repeat");

    tcase_add_loop_test(tcase, expressions_have_the_values_of_arithmetic, 0,
                        G_N_ELEMENTS(table));
    tcase_add_test(tcase, double_braces_are_braces);
    tcase_add_test(tcase, braces_outside_of_a_repeat_are_text);
    tcase_add_test(tcase, repeats_nest_and_keep_places);
    tcase_add_test(tcase, each_stands_for_texts);
    tcase_add_test(tcase, ring_of_hosts_is_good);
    tcase_add_test(tcase, thousand_hosts_load_quickly);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
