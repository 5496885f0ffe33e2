/* SPDX-License-Identifier: MIT */
/*
 * Invariant: the typed description has the values of the file, with references
 * resolved, and the documented defaults for the rest. The project's own files
 * load without errors. The documentation has the tables of the loader.
 */
#include "topo_test.h"
#include "topo_plan.h"
#include "topo_schema.h"
#include "../suite.h"

#include <glib/gstdio.h>

START_TEST(hosts_and_devices_are_resolved)
{
    g_autoptr(TopoDescription) d = load_good(TWO_HOSTS, NULL);
    const TopoHost *a = topo_find_host(d, "a");
    const TopoDevice *gpu = topo_find_device(d, "a.gpu0");
    const TopoDevice *ntb = topo_find_device(d, "a.ntb0");
    const TopoSwitch *sw = topo_find_switch(d, "a.sw0");

    ck_assert_uint_eq(d->hosts->len, 2);
    ck_assert_uint_eq(a->index, 0);
    ck_assert_ptr_eq(gpu->at.parent, sw);
    ck_assert_uint_eq(gpu->at.port, 0);
    ck_assert_ptr_null(ntb->at.parent);
    ck_assert_uint_eq(ntb->at.port, 1);
    ck_assert_ptr_eq(gpu->host, a);
    ck_assert_uint_eq(gpu->place.line, 7);
    ck_assert_uint_eq(gpu->place.column, 9);
    ck_assert_str_eq(gpu->place.file, "test.yaml");
    ck_assert_ptr_null(topo_find_host(d, "c"));
    ck_assert_ptr_null(topo_find_device(d, "a.sw0"));
}
END_TEST

/* A link has the best speed and width that both ends support. The gpu has
 * 5.0GT/s x16, the switch's downstream ports 8.0GT/s x8, and the ntb 8.0GT/s x8
 * on a root port of x16. */
START_TEST(links_train_to_the_best_of_both)
{
    g_autoptr(TopoDescription) d = load_good(TWO_HOSTS, NULL);
    const TopoDevice *gpu = topo_find_device(d, "a.gpu0");
    const TopoDevice *ntb = topo_find_device(d, "a.ntb0");
    const TopoLink *link = g_ptr_array_index(d->links, 0);

    ck_assert_uint_eq(gpu->at.speed_mtps, 5000);
    ck_assert_uint_eq(gpu->at.width, 8);
    ck_assert_uint_eq(ntb->at.speed_mtps, 8000);
    ck_assert_uint_eq(ntb->at.width, 8);
    ck_assert_uint_eq(link->speed_mtps, 8000);
    ck_assert_uint_eq(link->width, 8);
    ck_assert_int_eq(link->propagation_ps, 5000);
    ck_assert_ptr_eq(g_ptr_array_index(ntb->links, 0), link);
}
END_TEST

START_TEST(explicit_ports_go_first)
{
    g_autoptr(TopoDescription) d =
        load_good("name: t\n"
                  "hosts:\n"
                  "  - name: a\n"
                  "    cpu: cpu\n"
                  "    switches: [{name: sw0, part: sw, at: rp0}]\n"
                  "    devices:\n"
                  "      - {name: g0, part: gpu, at: sw0}\n"
                  "      - {name: g1, part: gpu, at: \"sw0:0\"}\n",
                  NULL);

    ck_assert_uint_eq(topo_find_device(d, "a.g0")->at.port, 1);
    ck_assert_uint_eq(topo_find_device(d, "a.g1")->at.port, 0);
}
END_TEST

START_TEST(cables_have_length_or_time)
{
    static const struct {
        const char *key;
        int64_t propagation_ps;
    } table[] = {{"length: 2m", 10000},
                 {"length: 50cm", 2500},
                 {"propagation: 7.5ns", 7500}};
    g_autofree char *text =
        g_strdup_printf("name: t\n"
                        "hosts: [{name: \"h{i}\", cpu: cpu, repeat: 2,\n"
                        "         devices: [{name: n, part: ntb, at: rp0}]}]\n"
                        "links: [{name: c, ends: [h0.n, h1.n], %s}]\n",
                        table[_i].key);
    g_autoptr(TopoDescription) d = load_good(text, NULL);
    const TopoLink *link = g_ptr_array_index(d->links, 0);

    ck_assert_int_eq(link->propagation_ps, table[_i].propagation_ps);
}
END_TEST

START_TEST(bars_are_numbered_as_registers)
{
    g_autoptr(TopoDescription) d = load_good(
        TWO_HOSTS "parts: {gpu: {bars: [{size: 16MiB, width: 32},\n"
                  "  {size: 4GiB, prefetchable: on}, {size: 128B}]}}\n",
        NULL);
    const TopoPart *gpu = topo_find_device(d, "a.gpu0")->part;
    unsigned n;
    const TopoBar *bars = topo_part_bars(gpu, &n);
    TopoTarget target;

    ck_assert_uint_eq(n, 3);
    ck_assert_uint_eq(bars[0].number, 0);
    ck_assert_uint_eq(bars[1].number, 1);
    ck_assert_uint_eq(bars[2].number, 3);
    ck_assert_uint_eq(bars[0].address_bits, 32);
    ck_assert_uint_eq(bars[1].address_bits, 64);
    ck_assert(bars[1].size_bytes == UINT64_C(4) << 30);
    ck_assert(bars[1].prefetchable && !bars[2].prefetchable);
    ck_assert(topo_find_target(d, "a.gpu0.bar3", &target, NULL));
    ck_assert_int_eq(target.bar, 3);
    ck_assert(!topo_find_target(d, "a.gpu0.bar2", &target, NULL));
    ck_assert(topo_find_target(d, "b.cpu", &target, NULL));
    ck_assert_int_eq(target.kind, TOPO_TARGET_CPU);
}
END_TEST

START_TEST(parts_are_layered)
{
    g_autoptr(TopoDescription) d = load_good(
        TWO_HOSTS "parts:\n"
                  "  gpu: {dma: {reads: 48}}\n"
                  "  gpu2: {base: gpu, tags: 32}\n"
                  "  ntb: {service: {beat: 16B, clock: 2ns, gap: 1}}\n"
                  "  cpu: {buffers: {cplh: infinite}}\n",
        NULL);
    const TopoPart *gpu = topo_find_device(d, "a.gpu0")->part;
    const TopoPart *ntb = topo_find_device(d, "b.ntb0")->part;
    const TopoPart *sw = topo_find_switch(d, "a.sw0")->part;
    const TopoPart *cpu = topo_find_host(d, "b")->cpu;
    unsigned n;

    ck_assert_int_eq(topo_part_int(gpu, "dma.reads"), 48);
    ck_assert_str_eq(topo_part_place(gpu, "dma.reads").file, "test.yaml");
    ck_assert_int_eq(topo_part_int(gpu, "tags"), 256);
    ck_assert_int_eq(topo_part_time(ntb, "service.clock"), 2000);
    ck_assert(topo_part_has(ntb, "service.gap"));
    ck_assert(!topo_part_has(sw, "service.gap"));
    ck_assert_str_eq(topo_part_text(sw, "mode"), "cut-through");
    ck_assert_int_eq(topo_part_credits(cpu, "buffers.cplh"),
                     TOPO_CREDITS_INFINITE);
    ck_assert_int_eq(topo_part_credits(cpu, "buffers.pd"), 128);
    ck_assert_int_eq(topo_part_rate(cpu, "memory.bandwidth"), 10000000000);
    ck_assert_str_eq(topo_part_root_ports(cpu, &n)[1].name, "rp1");
    ck_assert_uint_eq(n, 2);
    ck_assert_int_eq(topo_part_kind(ntb), TOPO_PART_NTB);
}
END_TEST

START_TEST(acs_follows_the_iommu)
{
    static const struct {
        const char *capable, *iommu, *acs;
        bool redirect;
    } table[] = {
        {"on", "on", "auto", true},   {"on", "off", "auto", false},
        {"off", "on", "auto", false}, {"on", "off", "on", true},
        {"on", "on", "off", false},
    };
    g_autofree char *text =
        g_strdup_printf("name: t\nparts: {sw: {acs: %s}}\n"
                        "hosts: [{name: a, cpu: cpu, iommu: %s, switches: [\n"
                        "  {name: sw0, part: sw, at: rp0, acs: %s}]}]\n",
                        table[_i].capable, table[_i].iommu, table[_i].acs);
    g_autoptr(TopoDescription) d = load_good(text, NULL);

    ck_assert_int_eq(topo_find_switch(d, "a.sw0")->acs_redirect,
                     table[_i].redirect);
}
END_TEST

START_TEST(the_driver_is_the_borrower)
{
    g_autoptr(TopoDescription) own = load_good(TWO_HOSTS, NULL);
    g_autoptr(TopoDescription) lent =
        load_good(TWO_HOSTS "lend: [{device: a.gpu0, to: b}]\n", NULL);

    ck_assert_str_eq(topo_flow_host(topo_find_flow(own, "f"), "driver")->name,
                     "a");
    ck_assert_str_eq(topo_flow_host(topo_find_flow(lent, "f"), "driver")->name,
                     "b");
}
END_TEST

START_TEST(open_flows_count_operations)
{
    g_autoptr(TopoDescription) d = load_good(
        TWO_HOSTS
        "    - {name: t, kind: dma, device: a.gpu0, direction: write,\n"
        "       target: b.ram, size: 256B, total: 1MiB}\n"
        "    - {name: o, kind: dma, device: a.gpu0, direction: write,\n"
        "       target: b.ram, size: 256B, arrivals: poisson, interval: 1us}\n"
        "    - {name: p, kind: path, from: a.gpu0, to: b.ram, via: a.ram}\n"
        "  stop: 10ms\n"
        "  warmup: 1ms\n",
        NULL);
    const TopoFlow *total = topo_find_flow(d, "t");
    const TopoFlow *open = topo_find_flow(d, "o");
    const TopoFlow *path = topo_find_flow(d, "p");

    ck_assert_int_eq(topo_flow_int(total, "count"), 4096);
    ck_assert_int_eq(topo_flow_bytes(total, "total"), 1 << 20);
    ck_assert(!topo_flow_has(open, "count"));
    ck_assert(topo_flow_is(open, "arrivals", "poisson"));
    ck_assert_int_eq(topo_flow_time(open, "interval"), 1000000);
    ck_assert_int_eq(d->workload->stop_ps, 10000000000);
    ck_assert(topo_flow_is(path, "direction", "write"));
    ck_assert_int_eq(topo_flow_bytes(path, "size"), 4);
    ck_assert_int_eq(topo_flow_target(path, "from").kind, TOPO_TARGET_DEVICE);
    ck_assert_int_eq(topo_flow_target(path, "via").kind, TOPO_TARGET_RAM);
}
END_TEST

/* A list of three pairs, twice. Which flows the i-th one waits for was worked
 * out by hand: for the one before it with the same sender, and the one before
 * it with the same receiver; with `ends`, for the one before it that has each
 * of its ends in either role. Its name stands for the last flow, and `after:`
 * it means after all of them. */
START_TEST(pairs_are_flows_in_order)
{
    static const char *const before[5][6] = {
        {"", "0", "1", "1 0", "3 2", "2 4"},   /* both */
        {"", "0", "", "1", "3", "2"},          /* from */
        {"", "", "", "", "", ""},              /* none */
        {"", "0", "0 1", "1 2", "3 2", "3 4"}, /* ends */
        {"", "", "1", "0", "2", "4"},          /* ready */
    };
    static const char *const words[] = {"both", "from", "none", "ends",
                                        "ready"};
    g_autofree char *text = g_strdup_printf(
        "name: t\n"
        "hosts:\n"
        "  - {name: h, cpu: cpu, devices: [{name: \"g{i}\", part: gpu,\n"
        "     at: \"sw{i/2}\", repeat: 3}], switches: [{name: \"sw{i}\",\n"
        "     part: sw, at: \"rp{i}\", repeat: 2}]}\n"
        "workload:\n"
        "  flows:\n"
        "    - {name: f, kind: dma, direction: write, size: 4KiB, count: 1,\n"
        "       pairs: [[h.g0, h.g1], [h.g0, h.g2], [h.g1, h.g2]],\n"
        "       iterations: 2, in_turn: %s}\n"
        "    - {name: z, kind: dma, direction: write, size: 4KiB, count: 1,\n"
        "       device: h.g0, target: h.ram, after: [f]}\n",
        words[_i]);
    g_autoptr(TopoDescription) description = load_good(text, NULL);
    const GPtrArray *flows = description->workload->flows;
    const char *engine;

    ck_assert_uint_eq(flows->len, 7);
    for (unsigned i = 0; i < 6; i++) {
        const GPtrArray *after = topo_flow_after(flows->pdata[i]);
        g_autofree char *name = g_strdup_printf("f%u", i);
        g_autoptr(GString) got = g_string_new(NULL);

        ck_assert_str_eq(topo_flow_name(flows->pdata[i]), name);
        ck_assert_str_eq(topo_flow_device(flows->pdata[i], "device")->name,
                         i % 3 == 2 ? "g1" : "g0");
        ck_assert_str_eq(
            topo_flow_target(flows->pdata[i], "target").device->name,
            i % 3 == 0 ? "g1" : "g2");
        for (unsigned j = 0; j < after->len; j++) {
            g_string_append_printf(got, j ? " %u" : "%u",
                                   topo_flow_index(after->pdata[j]));
        }
        ck_assert_str_eq(got->str, before[_i][i]);
        engine = topo_flow_engine(flows->pdata[i]);
        ck_assert_pstr_eq(engine, _i < 4 ? NULL : i % 3 == 2 ? "h.g1" : "h.g0");
    }
    ck_assert_ptr_eq(topo_find_flow(description, "f"), flows->pdata[5]);
    ck_assert_uint_eq(topo_flow_after(flows->pdata[6])->len, 6);
}
END_TEST

/* A device that writes to itself is in the stream of its end once. */
START_TEST(both_ends_of_a_pair_may_be_one)
{
    g_autoptr(TopoDescription) description = load_good(
        "name: t\n"
        "hosts:\n"
        "  - {name: h, cpu: cpu, devices: [{name: \"g{i}\", part: gpu,\n"
        "     at: \"rp{i}\", repeat: 2}]}\n"
        "workload:\n"
        "  flows:\n"
        "    - {name: f, kind: dma, direction: write, size: 4KiB, count: 1,\n"
        "       pairs: [[h.g0, h.g0], [h.g0, h.g1]], in_turn: ends}\n",
        NULL);
    const GPtrArray *flows = description->workload->flows;
    const GPtrArray *after = topo_flow_after(flows->pdata[1]);

    ck_assert_uint_eq(topo_flow_after(flows->pdata[0])->len, 0);
    ck_assert_uint_eq(after->len, 1);
    ck_assert_ptr_eq(after->pdata[0], flows->pdata[0]);
}
END_TEST

START_TEST(columns_and_tolerances_are_read)
{
    g_autoptr(TopoDescription) d = load_good(
        TWO_HOSTS
        "sweep: [{name: s, set: workload.seed, values: [1, 2]}]\n"
        "measure:\n"
        "  columns:\n"
        "    - {name: seed, from: axis.s}\n"
        "    - {name: bw, from: flow.f.bandwidth, scale: 1.024e9, digits: 3}\n"
        "    - {name: lat, from: flow.f.latency.p99}\n"
        "    - {name: q, from: element.a.gpu0.queue.max}\n"
        "    - {name: h, from: element.a.iotlb_hits}\n"
        "compare: {tolerance: {bw: 0.1%, lat: 3%}}\n"
        "plot: {x: seed, y: bw, curves: q, x_scale: log2}\n",
        NULL);
    const TopoColumn *seed = g_ptr_array_index(d->columns, 0);
    const TopoColumn *bw = g_ptr_array_index(d->columns, 1);
    const TopoColumn *lat = g_ptr_array_index(d->columns, 2);
    const TopoColumn *q = g_ptr_array_index(d->columns, 3);
    const TopoColumn *h = g_ptr_array_index(d->columns, 4);

    ck_assert(seed->is_key && !bw->is_key);
    ck_assert_int_eq(bw->scale_num, 1024000000);
    ck_assert_int_eq(bw->scale_den, 1);
    ck_assert_int_eq(bw->digits, 3);
    ck_assert_int_eq(lat->digits, -1);
    ck_assert_str_eq(bw->metric, "bandwidth");
    ck_assert_int_eq(bw->statistic, TOPO_STATISTIC_NONE);
    ck_assert_int_eq(lat->statistic, TOPO_STATISTIC_P99);
    ck_assert_str_eq(q->source_name, "a.gpu0");
    ck_assert_str_eq(q->metric, "queue");
    ck_assert_str_eq(h->source_name, "a");
    ck_assert_str_eq(h->metric, "iotlb_hits");
    ck_assert_int_eq(q->statistic, TOPO_STATISTIC_MAX);
    ck_assert_int_eq(bw->tolerance_num * 1000, bw->tolerance_den);
    ck_assert_int_eq(lat->tolerance_num * 100, lat->tolerance_den * 3);
    ck_assert_int_eq(q->tolerance_num, 0);
    ck_assert_uint_eq(d->plot->x, 0);
    ck_assert_uint_eq(d->plot->y, 1);
    ck_assert_int_eq(d->plot->curves, 3);
    ck_assert_int_eq(d->plot->panels, -1);
    ck_assert_int_eq(d->plot->x_scale, TOPO_SCALE_LOG2);
    ck_assert_str_eq(d->plot->title, "two");
    ck_assert_str_eq(d->plot->y_label, "bw");
}
END_TEST

START_TEST(vm_sections_are_read)
{
    g_autoptr(TopoDescription) d = load_good(
        "name: t\n"
        "hosts:\n"
        "  - name: a\n"
        "    cpu: cpu\n"
        "    vm: {cpus: 2, accel: tcg, kernel: /boot/k, gdb: on, qmp: on}\n"
        "    devices:\n"
        "      - {name: g, part: gpu, at: rp0,\n"
        "         vm: {device: nvme, image: 1GiB, options: {serial: x}}}\n",
        NULL);
    const TopoVm *vm = topo_find_host(d, "a")->vm;
    const TopoVmDevice *device = topo_find_device(d, "a.g")->vm;

    ck_assert_uint_eq(vm->cpus, 2);
    ck_assert_int_eq(vm->memory_bytes, 256 << 20);
    ck_assert_int_eq(vm->accel, TOPO_ACCEL_TCG);
    ck_assert_str_eq(vm->kernel, "/boot/k");
    ck_assert(vm->gdb);
    ck_assert(vm->qmp);
    ck_assert_str_eq(device->device, "nvme");
    ck_assert_str_eq(g_ptr_array_index(device->option_names, 0), "serial");
    ck_assert_str_eq(g_ptr_array_index(device->option_values, 0), "x");
}
END_TEST

START_TEST(errors_past_the_limit_are_counted)
{
    g_autoptr(GString) text = g_string_new("name: t\nhosts:\n");
    g_autoptr(TopoErrors) errors = topo_errors_new();
    g_autofree char *messages = NULL;
    unsigned i;

    for (i = 0; i < TOPO_ERRORS_MAX + 7; i++) {
        g_string_append_printf(text, "  - {name: h%u, cpu: cpv}\n", i);
    }
    ck_assert_ptr_null(topo_load_buffer("t.yaml", text->str, text->len,
                                        TEST_PARTS, NULL, errors));
    ck_assert_uint_eq(topo_errors_count(errors), TOPO_ERRORS_MAX + 7);
    messages = topo_errors_to_string(errors);
    ck_assert(g_str_has_suffix(messages, "\nand 7 more errors\n"));
}
END_TEST

START_TEST(no_bytes_are_an_error)
{
    g_autoptr(TopoErrors) errors = topo_errors_new();
    g_autofree char *text = NULL;

    ck_assert_ptr_null(topo_load_buffer("t.yaml", "", 0, NULL, NULL, errors));
    text = topo_errors_to_string(errors);
    ck_assert_msg(strstr(text, "t.yaml:1:1: the text is empty"), "%s", text);
}
END_TEST

/* Editors of Windows write one. */
START_TEST(a_byte_order_mark_is_no_text)
{
    g_autoptr(TopoDescription) d = load_good("\xef\xbb\xbf" TWO_HOSTS, NULL);
    g_autofree char *messages = load_bad("\xef\xbb\xbfxname: a\n", NULL);

    ck_assert_uint_eq(d->hosts->len, 2);
    ck_assert_msg(strstr(messages, "test.yaml:1:1: unknown key 'xname'"), "%s",
                  messages);
}
END_TEST

START_TEST(long_messages_are_cut_between_characters)
{
    g_autoptr(TopoErrors) errors = topo_errors_new();
    g_autoptr(GString) text = g_string_new(NULL);
    g_autofree char *message = NULL;
    TopoPlace place = {"x", 1, 1};
    unsigned i;

    for (i = 0; i < 2000; i++) {
        g_string_append(text, "\xc3\xa9");
    }
    topo_errors_add(errors, place, "%s", text->str);
    topo_errors_add(errors, place, "a%s", text->str);
    message = topo_errors_to_string(errors);
    ck_assert(g_utf8_validate(message, -1, NULL));
    ck_assert(g_str_has_suffix(message, "\xc3\xa9...\n"));
    ck_assert_uint_le(strlen(message), 2 * (1000 + strlen("x:1:1: \n")));
}
END_TEST

START_TEST(example_loads_at_every_point)
{
    g_autoptr(TopoErrors) errors = topo_errors_new();
    g_autoptr(TopoDescription) d =
        topo_load(TEST_FILE("scenarios/example.yaml"), NULL, errors);
    g_autoptr(GPtrArray) points = NULL;
    g_autofree char *messages = NULL;
    unsigned i;

    ck_assert_ptr_nonnull(d);
    points = topo_plan_points(d, errors);
    ck_assert_uint_eq(points->len, 3 * 2 * 5);
    for (i = 0; i < points->len; i++) {
        const TopoPoint *point = g_ptr_array_index(points, i);
        g_autoptr(TopoDescription) at = topo_load(
            TEST_FILE("scenarios/example.yaml"), point->changes, errors);

        ck_assert_msg(at, "%s", point->label);
    }
    messages = topo_errors_to_string(errors);
    ck_assert_str_eq(messages, "");
}
END_TEST

/* A file without profiles beside it uses those of the program. */
START_TEST(a_file_anywhere_has_parts)
{
    g_autofree char *dir = g_dir_make_tmp("farside-parts-XXXXXX", NULL);
    g_autofree char *path = g_build_filename(dir, "own.yaml", NULL);
    g_autoptr(TopoErrors) errors = topo_errors_new();
    g_autoptr(TopoDescription) d = NULL;
    g_autofree char *messages = NULL;

    ck_assert(g_file_set_contents(
        path, "name: own\nhosts:\n  - {name: a, cpu: generic-host}\n", -1,
        NULL));
    d = topo_load(path, NULL, errors);
    messages = topo_errors_to_string(errors);
    ck_assert_str_eq(messages, "");
    ck_assert_ptr_nonnull(d);
    g_unlink(path);
    g_rmdir(dir);
}
END_TEST

/* Each profile can be used in exactly one of the three ways. */
START_TEST(profiles_are_whole)
{
    GDir *dir = g_dir_open(TEST_FILE("scenarios/parts"), 0, NULL);
    const char *entry;
    unsigned n = 0;

    while ((entry = g_dir_read_name(dir))) {
        g_autofree char *name = g_strndup(entry, strcspn(entry, "."));
        g_autoptr(TopoErrors) errors = topo_errors_new();
        g_autofree char *messages = NULL;
        static const char *const forms[] = {
            "name: t\nhosts: [{name: a, cpu: %s}]\n",
            "name: t\nhosts: [{name: a, cpu: generic-host,\n"
            "  switches: [{name: s, part: %s, at: rp0}]}]\n",
            "name: t\nhosts: [{name: a, cpu: generic-host,\n"
            "  devices: [{name: d, part: %s, at: rp0}]}]\n",
        };
        unsigned good = 0;
        unsigned i;

        for (i = 0; i < 3; i++) {
            g_auto(GStrv) halves = g_strsplit(forms[i], "%s", 2);
            g_autofree char *form =
                g_strconcat(halves[0], name, halves[1], NULL);
            g_autoptr(TopoDescription) d =
                topo_load_buffer("t.yaml", form, strlen(form),
                                 TEST_FILE("scenarios/parts"), NULL, errors);

            good += !!d;
        }
        messages = topo_errors_to_string(errors);
        ck_assert_msg(good == 1, "%s: %s", name, messages);
        n++;
    }
    g_dir_close(dir);
    ck_assert_uint_ge(n, 13);
}
END_TEST

/* A value that matches a cell is kept in the spelling of the CSV. */
START_TEST(calibrated_points_are_read)
{
    g_autoptr(TopoDescription) d = load_good(
        TWO_HOSTS
        "variants: [{name: v}, {name: w}]\n"
        "sweep:\n"
        "  - {name: size, set: workload.flows.f.size, from: 4KiB,\n"
        "     to: 8KiB, times: 2}\n"
        "measure:\n"
        "  columns:\n"
        "    - {name: who, from: variant}\n"
        "    - {name: size, from: axis.size}\n"
        "    - {name: bw, from: flow.f.bandwidth}\n"
        "plot: {x: size, y: bw, published: " TEST_FILE(
            "tests/unit/topo_test.h") ",\n"
                                      "  calibrated: [{who: w, size: 8KiB}, {size: 4096}],\n"
                                      "  measured: " TEST_FILE(
                                          "tests/unit/topo_test.h") "}\n",
        NULL);
    const TopoSelection *first = g_ptr_array_index(d->plot->calibrated, 0);
    const TopoSelection *second = g_ptr_array_index(d->plot->calibrated, 1);
    const TopoTerm *who = g_ptr_array_index(first->terms, 0);
    const TopoTerm *size = g_ptr_array_index(first->terms, 1);
    const TopoTerm *other = g_ptr_array_index(second->terms, 0);

    ck_assert(!d->plot->calibrated_all);
    ck_assert_uint_eq(d->plot->calibrated->len, 2);
    ck_assert_uint_eq(who->column, 0);
    ck_assert_str_eq(who->text, "w");
    ck_assert_uint_eq(size->column, 1);
    ck_assert_str_eq(size->text, "8192");
    ck_assert_uint_eq(second->terms->len, 1);
    ck_assert_str_eq(other->text, "4096");
    ck_assert_uint_eq(d->plot->measured->len, 1);
    ck_assert_str_eq(d->plot->measured->pdata[0],
                     TEST_FILE("tests/unit/topo_test.h"));
}
END_TEST

/* The value of @key of @part. */
static TopoPartValue part_value(const TopoPart *part, const char *key)
{
    TopoPartValue value = {0};
    unsigned i;

    for (i = 0; i < topo_part_n_values(part); i++) {
        topo_part_value_clear(&value);
        topo_part_value(part, i, &value);
        if (strcmp(value.key, key) == 0) {
            return value;
        }
    }
    ck_abort_msg("no key %s", key);
    return value;
}

/* Values from the profile gpu.yaml, from `parts:`, from `set:`, and a default.
 */
START_TEST(values_of_parts_know_their_source)
{
    g_autoptr(TopoDescription) d = load_good(
        "name: t\n"
        "parts: {gpu: {dma.reads: 48, description: Mine}}\n"
        "hosts:\n"
        "  - {name: a, cpu: cpu, devices: [{name: g, part: gpu, at: rp0,\n"
        "     set: {store: {latency: 1us}}}]}\n",
        NULL);
    const TopoPart *part = topo_find_device(d, "a.g")->part;
    g_auto(TopoPartValue) tags = part_value(part, "tags");
    g_auto(TopoPartValue) reads = part_value(part, "dma.reads");
    g_auto(TopoPartValue) size = part_value(part, "dma.read_size");
    g_auto(TopoPartValue) store = part_value(part, "store.latency");
    g_auto(TopoPartValue) bars = part_value(part, "bars");

    ck_assert_str_eq(topo_part_description(part), "Mine");
    ck_assert_str_eq(tags.text, "256");
    ck_assert_str_eq(tags.source, "test");
    ck_assert_str_eq(tags.place.file, TEST_PARTS "/gpu.yaml");
    ck_assert_str_eq(reads.text, "48");
    ck_assert_ptr_null(reads.source);
    ck_assert_str_eq(reads.place.file, "test.yaml");
    ck_assert_str_eq(size.source, "test");
    ck_assert_str_eq(store.text, "1us");
    ck_assert_ptr_null(store.source);
    ck_assert_str_eq(
        bars.text,
        "[{size: 16MiB, width: 32}, {size: 256MiB, prefetchable: on}]");
}
END_TEST

START_TEST(documentation_holds_the_tables)
{
    g_autoptr(GString) tables = g_string_new(NULL);
    g_autofree char *text = NULL;
    const char *begin;
    const char *end;
    g_autofree char *documented = NULL;

    ck_assert(g_file_get_contents(TEST_FILE("docs/reference/description.md"),
                                  &text, NULL, NULL));
    begin = strstr(text, "<!-- tables begin -->\n\n");
    end = strstr(text, "\n<!-- tables end -->\n");
    ck_assert_ptr_nonnull(begin);
    ck_assert_ptr_nonnull(end);
    begin += strlen("<!-- tables begin -->\n\n");
    documented = g_strndup(begin, (size_t)(end - begin));
    topo_schema_write_markdown(tables);
    ck_assert_msg(strcmp(documented, tables->str) == 0,
                  "put the output of tests/unit/topo_tables between the "
                  "markers of docs/reference/description.md");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("description");
    TCase *tcase = tcase_create("description");

    tcase_add_test(tcase, hosts_and_devices_are_resolved);
    tcase_add_test(tcase, links_train_to_the_best_of_both);
    tcase_add_test(tcase, explicit_ports_go_first);
    tcase_add_loop_test(tcase, cables_have_length_or_time, 0, 3);
    tcase_add_test(tcase, bars_are_numbered_as_registers);
    tcase_add_test(tcase, parts_are_layered);
    tcase_add_loop_test(tcase, acs_follows_the_iommu, 0, 5);
    tcase_add_test(tcase, the_driver_is_the_borrower);
    tcase_add_test(tcase, open_flows_count_operations);
    tcase_add_loop_test(tcase, pairs_are_flows_in_order, 0, 5);
    tcase_add_test(tcase, both_ends_of_a_pair_may_be_one);
    tcase_add_test(tcase, columns_and_tolerances_are_read);
    tcase_add_test(tcase, vm_sections_are_read);
    tcase_add_test(tcase, errors_past_the_limit_are_counted);
    tcase_add_test(tcase, no_bytes_are_an_error);
    tcase_add_test(tcase, a_byte_order_mark_is_no_text);
    tcase_add_test(tcase, long_messages_are_cut_between_characters);
    tcase_add_test(tcase, example_loads_at_every_point);
    tcase_add_test(tcase, a_file_anywhere_has_parts);
    tcase_add_test(tcase, profiles_are_whole);
    tcase_add_test(tcase, calibrated_points_are_read);
    tcase_add_test(tcase, values_of_parts_know_their_source);
    tcase_add_test(tcase, documentation_holds_the_tables);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
