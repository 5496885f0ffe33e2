/* SPDX-License-Identifier: MIT */
/*
 * Invariant: loading a description with a change gives the same result as
 * editing the value in its file. A path that leads nowhere is an error at the
 * place of the change.
 */
#include "topo_test.h"
#include "../suite.h"

static const TopoFlow *only_flow(const TopoDescription *description)
{
    return topo_find_flow(description, "f");
}

START_TEST(values_of_sections_change)
{
    g_autoptr(GPtrArray) changes = make_changes(
        "hosts.a.iommu=on", "links.c0.width=x4", "workload.flows.f.size=1MiB",
        "workload.flows.f.direction=write", "workload.seed=7",
        "hosts.a.devices.gpu0.width=x2", "name=other", NULL);
    g_autoptr(TopoDescription) description = load_good(TWO_HOSTS, changes);
    const TopoLink *link = g_ptr_array_index(description->links, 0);

    ck_assert(topo_find_host(description, "a")->iommu);
    ck_assert(!topo_find_host(description, "b")->iommu);
    ck_assert_uint_eq(link->width, 4);
    ck_assert_int_eq(topo_flow_bytes(only_flow(description), "size"), 1 << 20);
    ck_assert(topo_flow_is(only_flow(description), "direction", "write"));
    ck_assert_uint_eq(description->workload->seed, 7);
    ck_assert_uint_eq(topo_find_device(description, "a.gpu0")->at.width, 2);
    ck_assert_str_eq(description->name, "other");
}
END_TEST

START_TEST(keys_of_parts_change)
{
    g_autoptr(GPtrArray) changes = make_changes(
        "parts.gpu.dma.reads=48", "parts.cpu.memory.latency=150.5ns",
        "hosts.a.devices.gpu0.set.dma.write_size=64B",
        "hosts.b.set.read_split=64B", NULL);
    g_autoptr(TopoDescription) description = load_good(TWO_HOSTS, changes);
    const TopoPart *gpu = topo_find_device(description, "a.gpu0")->part;
    const TopoPart *cpu_a = topo_find_host(description, "a")->cpu;
    const TopoPart *cpu_b = topo_find_host(description, "b")->cpu;

    ck_assert_int_eq(topo_part_int(gpu, "dma.reads"), 48);
    ck_assert_int_eq(topo_part_bytes(gpu, "dma.write_size"), 64);
    ck_assert_int_eq(topo_part_time(cpu_a, "memory.latency"), 150500);
    ck_assert_int_eq(topo_part_bytes(cpu_a, "read_split"), 0);
    ck_assert_int_eq(topo_part_bytes(cpu_b, "read_split"), 64);
}
END_TEST

/* The file may write a key nested, dotted, or as a group. */
START_TEST(a_change_replaces_what_is_written)
{
    static const char *const parts[] = {
        "parts: {gpu: {dma: {reads: 4, read_size: 64B}}}\n",
        "parts: {gpu: {dma.reads: 4, dma.read_size: 64B}}\n",
        "parts: {gpu: {dma.reads: 4, dma: {read_size: 64B}}}\n",
    };
    g_autofree char *text = g_strconcat(TWO_HOSTS, parts[_i], NULL);
    g_autoptr(GPtrArray) one = make_changes("parts.gpu.dma.reads=5", NULL);
    g_autoptr(GPtrArray) group = make_changes("parts.gpu.dma={reads: 6}", NULL);
    g_autoptr(TopoDescription) changed = load_good(text, one);
    g_autoptr(TopoDescription) grouped = load_good(text, group);
    const TopoPart *gpu = topo_find_device(changed, "a.gpu0")->part;

    ck_assert_int_eq(topo_part_int(gpu, "dma.reads"), 5);
    ck_assert_int_eq(topo_part_bytes(gpu, "dma.read_size"), 64);
    /* The group is replaced as a whole: read_size is the profile's again. */
    gpu = topo_find_device(grouped, "a.gpu0")->part;
    ck_assert_int_eq(topo_part_int(gpu, "dma.reads"), 6);
    ck_assert_int_eq(topo_part_bytes(gpu, "dma.read_size"), 256);
}
END_TEST

START_TEST(later_changes_win)
{
    g_autoptr(GPtrArray) changes = make_changes(
        "workload.flows.f.size=1B", "workload.flows.f.size=2B", NULL);
    g_autoptr(TopoDescription) description = load_good(TWO_HOSTS, changes);

    ck_assert_int_eq(topo_flow_bytes(only_flow(description), "size"), 2);
}
END_TEST

START_TEST(lists_and_maps_are_values_too)
{
    g_autoptr(GPtrArray) changes =
        make_changes("links=[]", "hosts.b.vm={memory: 1GiB, cpus: 2}",
                     "hosts.b.vm.append=quiet", NULL);
    g_autoptr(TopoDescription) description = load_good(TWO_HOSTS, changes);
    const TopoVm *vm = topo_find_host(description, "b")->vm;

    ck_assert_uint_eq(description->links->len, 0);
    ck_assert_int_eq(vm->memory_bytes, 1 << 30);
    ck_assert_uint_eq(vm->cpus, 2);
    ck_assert_str_eq(vm->append, "quiet");
}
END_TEST

START_TEST(repeats_change_before_and_members_after)
{
    static const char text[] = "name: t\n"
                               "hosts:\n"
                               "  - {name: \"h{i}\", cpu: cpu, repeat: 2}\n";
    g_autoptr(GPtrArray) changes =
        make_changes("hosts.h3.iommu=on", "hosts.h{i}.repeat=4",
                     "hosts.h{i}.set={transit: \"{i}ns\"}", NULL);
    g_autoptr(TopoDescription) description = load_good(text, changes);

    ck_assert_uint_eq(description->hosts->len, 4);
    ck_assert(topo_find_host(description, "h3")->iommu);
    ck_assert(!topo_find_host(description, "h2")->iommu);
    ck_assert_int_eq(
        topo_part_time(topo_find_host(description, "h3")->cpu, "transit"),
        3000);
}
END_TEST

START_TEST(members_without_name_have_numbers)
{
    g_autoptr(GPtrArray) changes = make_changes("lend.0.window=1MiB", NULL);
    g_autoptr(TopoDescription) description =
        load_good(TWO_HOSTS "lend: [{device: a.gpu0, to: b}]\n", changes);
    const TopoLend *lend = g_ptr_array_index(description->lends, 0);

    ck_assert(!lend->window_auto);
    ck_assert_int_eq(lend->window_bytes, 1 << 20);
}
END_TEST

static const struct {
    const char *change;
    const char *message;
} nowhere[] = {
    {"hosts.c.iommu=on", "--set: path 'hosts.c.iommu' leads nowhere: hosts "
                         "have no 'c'; there are a, b\n"},
    {"hosts.a.devices.gpu.width=x1",
     "--set: path 'hosts.a.devices.gpu.width' leads nowhere: devices have no "
     "'gpu'; did you mean gpu0?\n"},
    {"worklod.seed=1", "--set: path 'worklod.seed' leads nowhere: a "
                       "description has no key 'worklod'; did you mean "
                       "workload?\n"},
    {"parts.gpu.dma.redas=1",
     "--set: path 'parts.gpu.dma.redas' leads nowhere: no part has a key "
     "'dma.redas'; did you mean dma.reads?\n"},
    {"parts.gpux.dma.reads=1",
     "--set: path 'parts.gpux.dma.reads' leads nowhere: there is no part "
     "'gpux'; name a profile, or give it in `parts:`\n"},
    {"workload.seed.x=1", "--set: path 'workload.seed.x' leads nowhere: "
                          "'seed' is a value and has no 'x'; end the path "
                          "there\n"},
    {"hosts.a.iommu=maybe",
     "--set: iommu: 'maybe' is neither on nor off; write one of them\n"},
};

START_TEST(wrong_paths_and_values_are_errors_at_the_change)
{
    g_autoptr(GPtrArray) changes = make_changes(nowhere[_i].change, NULL);
    g_autofree char *messages = load_bad(TWO_HOSTS, changes);

    ck_assert_str_eq(messages, nowhere[_i].message);
}
END_TEST

/* A key that some part has, but not this one. */
START_TEST(keys_of_another_kind_are_errors_at_the_change)
{
    g_autoptr(GPtrArray) changes = make_changes("parts.cpu.dma.reads=1", NULL);
    g_autofree char *messages = load_bad(TWO_HOSTS, changes);

    ck_assert(g_str_has_prefix(
        messages, "--set: unknown key 'dma.reads' of a cpu; there are "));
}
END_TEST

START_TEST(text_that_is_no_change_is_refused)
{
    static const char *const texts[] = {
        "", "a", "=1", "a=", "a=[1", "a=*x", "a=&x 1", "a={b: }}"};
    g_autoptr(TopoErrors) errors = topo_errors_new();

    ck_assert_ptr_null(topo_change_parse(texts[_i], topo_place_set(), errors));
    ck_assert_uint_eq(topo_errors_count(errors), 1);
}
END_TEST

START_TEST(the_hash_tells_changes_apart)
{
    g_autoptr(GPtrArray) changes = make_changes("workload.seed=2", NULL);
    g_autoptr(TopoDescription) plain = load_good(TWO_HOSTS, NULL);
    g_autoptr(TopoDescription) again = load_good(TWO_HOSTS, NULL);
    g_autoptr(TopoDescription) changed = load_good(TWO_HOSTS, changes);

    ck_assert_str_eq(plain->hash, again->hash);
    ck_assert_str_ne(plain->hash, changed->hash);
    ck_assert_uint_eq(strlen(plain->hash), 64);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("changes");
    TCase *tcase = tcase_create("changes");

    tcase_add_test(tcase, values_of_sections_change);
    tcase_add_test(tcase, keys_of_parts_change);
    tcase_add_loop_test(tcase, a_change_replaces_what_is_written, 0, 3);
    tcase_add_test(tcase, later_changes_win);
    tcase_add_test(tcase, lists_and_maps_are_values_too);
    tcase_add_test(tcase, repeats_change_before_and_members_after);
    tcase_add_test(tcase, members_without_name_have_numbers);
    tcase_add_loop_test(tcase, wrong_paths_and_values_are_errors_at_the_change,
                        0, G_N_ELEMENTS(nowhere));
    tcase_add_test(tcase, keys_of_another_kind_are_errors_at_the_change);
    tcase_add_loop_test(tcase, text_that_is_no_change_is_refused, 0, 8);
    tcase_add_test(tcase, the_hash_tells_changes_apart);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
