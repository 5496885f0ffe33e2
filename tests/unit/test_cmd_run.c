/* SPDX-License-Identifier: MIT */
/*
 * Invariants: `farside run` writes the same results and the same trace with any
 * number of threads. --point and --limit leave points out. A message gives the
 * place of an error; the exit status is then 2 (1 if a run failed), and no file
 * is written.
 */
#define _GNU_SOURCE
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <check.h>
#include <gio/gio.h>
#include <glib.h>

#include "program.h"
#include "../suite.h"

static const char scenario[] =
    "name: s\n"
    "parts:\n"
    "  p: {base: generic-host}\n"
    "hosts:\n"
    "  - name: a\n"
    "    cpu: p\n"
    "    devices: [{name: d, part: generic-device, at: rp0}]\n"
    "workload:\n"
    "  flows:\n"
    "    - {name: f, kind: dma, device: a.d, direction: write, target: a.ram,\n"
    "       size: 1KiB, count: 3}\n"
    "variants:\n"
    "  - {name: one}\n"
    "  - {name: two, set: {workload.flows.f.direction: read}}\n"
    "sweep:\n"
    "  - {name: size, set: workload.flows.f.size, values: [1KiB, 2KiB, 4KiB]}\n"
    "measure:\n"
    "  columns:\n"
    "    - {name: scenario, from: variant}\n"
    "    - {name: size_bytes, from: axis.size}\n"
    "    - {name: bytes, from: flow.f.bytes}\n"
    "    - {name: written, from: flow.f.bytes}\n"
    "    - {name: tlps, from: flow.f.operations}\n";

static void setup(void)
{
    static const char *const parts[] = {"generic-host", "generic-device",
                                        "quadro-k420"};
    const char *source = g_getenv("FARSIDE_PARTS");

    program_setup();
    program_put("s.yaml", scenario);
    /* The program finds the parts beside the scenario. */
    for (unsigned i = 0; i < G_N_ELEMENTS(parts); i++) {
        g_autofree char *from = g_strdup_printf("%s/%s.yaml", source, parts[i]);
        g_autofree char *text = NULL;
        g_autofree char *to = g_strdup_printf("parts/%s.yaml", parts[i]);
        g_autofree char *folder = program_place("parts");

        g_mkdir_with_parents(folder, 0777);
        ck_assert(g_file_get_contents(from, &text, NULL, NULL));
        program_put(to, text);
    }
}

static char *read_file(const char *name)
{
    g_autofree char *path = program_place(name);
    char *text = NULL;

    ck_assert_msg(g_file_get_contents(path, &text, NULL, NULL), "%s", path);
    return text;
}

static unsigned count_lines(const char *text)
{
    unsigned count = 0;

    for (; (text = strchr(text, '\n')); text++) {
        count++;
    }
    return count;
}

START_TEST(threads_change_no_byte)
{
    g_autofree char *one = NULL, *four = NULL, *trace = NULL, *other = NULL;

    ck_assert_int_eq(program_run("run @/s.yaml -o @ -j1 --trace 20"), 0);
    one = read_file("s.csv");
    trace = read_file("s.trace.csv");
    ck_assert_int_eq(program_run("run @/s.yaml -o @ -j 4 --trace=20"), 0);
    four = read_file("s.csv");
    other = read_file("s.trace.csv");
    ck_assert_str_eq(one, four);
    ck_assert_str_eq(trace, other);
    ck_assert_ptr_nonnull(strstr(one, "\none,1024,3072,"));
    ck_assert_ptr_nonnull(strstr(one, "\ntwo,4096,12288,"));
}
END_TEST

/* The memory holds neither 2 TiB nor 4 TiB. Large points begin first, but the
 * error is that of the first point of the plan that fails. */
START_TEST(the_first_failure_of_the_plan_is_told)
{
    g_auto(GStrv) parts = g_strsplit(scenario, "2KiB, 4KiB", 2);
    g_autofree char *text = g_strjoinv("2TiB, 4TiB", parts);

    program_put("fails.yaml", text);
    for (unsigned threads = 1; threads <= 4; threads++) {
        g_autofree char *words =
            g_strdup_printf("run @/fails.yaml -o @ -j %u", threads);

        ck_assert_int_eq(program_run(words), 1);
        ck_assert_msg(strstr(program_err, "\"one, size=2TiB\"") &&
                          !strstr(program_err, "4TiB"),
                      "%s", program_err);
    }
}
END_TEST

/* 3 writes of 1 KiB in TLPs of 256 B cross one link: 12 TLPs. */
START_TEST(trace_has_every_crossing)
{
    g_autofree char *all = NULL, *last = NULL;

    ck_assert_int_eq(
        program_run("run @/s.yaml -o @ --point one,~size=1KiB --trace 1000"),
        0);
    all = read_file("s.point.trace.csv");
    ck_assert_uint_eq(count_lines(all), 1 + 12);
    ck_assert_ptr_nonnull(strstr(all, ",link,a.d port,a rp0,MWr,,0x"));
    ck_assert_int_eq(
        program_run("run @/s.yaml -o @ --point one,~size=1KiB --trace 5"), 0);
    last = read_file("s.point.trace.csv");
    ck_assert_uint_eq(count_lines(last), 1 + 5);
    ck_assert(g_str_has_suffix(all, strchr(last, '\n') + 1));
}
END_TEST

START_TEST(points_are_left_out)
{
    g_autofree char *csv = NULL;

    ck_assert_int_eq(
        program_run("run @/s.yaml -o @ --limit size=2KiB --point two"), 0);
    csv = read_file("s.point.csv");
    ck_assert_ptr_nonnull(
        strstr(csv, "\ntwo,1024,3072,3072,3\ntwo,2048,6144,"));
    ck_assert_ptr_null(strstr(csv, "one"));
    ck_assert_ptr_null(strstr(csv, "4096"));
    ck_assert_int_eq(program_run("run @/s.yaml -o @ --point three"), 2);
    ck_assert_ptr_nonnull(strstr(program_err, "no point is left"));
}
END_TEST

/* Counters of elements begin at the end of the warm-up, as the bytes of the
 * flow do. The device writes without a break in TLPs of 256 B. */
START_TEST(warmup_is_left_out_of_counters)
{
    g_autofree char *csv = NULL;
    const char *line;
    unsigned long bytes, written, tlps;

    ck_assert_int_eq(
        program_run("run @/s.yaml -o @ --point one,~size=4KiB "
                    "--set workload.warmup=20us --set workload.stop=30us "
                    "--set workload.flows.f.count=1000000 "
                    "--set measure.columns.written.from=element.a.d."
                    "written_bytes "
                    "--set measure.columns.tlps.from=element.a.d.tlps_sent"),
        0);
    csv = read_file("s.point.csv");
    line = strstr(csv, "\none,4096,");
    ck_assert_msg(line, "%s", csv);
    ck_assert_int_eq(
        sscanf(line, "\none,4096,%lu,%lu,%lu", &bytes, &written, &tlps), 3);
    ck_assert_uint_gt(bytes, 10000);
    ck_assert_int_le(labs((long)(bytes - written)), 256);
    ck_assert_int_le(labs((long)(bytes / 256 - tlps)), 2);
}
END_TEST

static const char both[] =
    "name: b\n"
    "hosts:\n"
    "  - name: a\n"
    "    cpu: generic-host\n"
    "    devices: [{name: d, part: generic-device, at: rp0}]\n"
    "workload:\n"
    "  warmup: 20us\n"
    "  stop: 220us\n"
    "  flows:\n"
    "    - {name: r, kind: dma, device: a.d, direction: read, target: a.ram,\n"
    "       size: 64KiB, working_set: 1MiB}\n"
    "    - {name: w, kind: dma, device: a.d, direction: write, target: a.ram,\n"
    "       size: 64KiB, working_set: 1MiB}\n"
    "variants: [{name: b}]\n"
    "measure:\n"
    "  columns:\n"
    "    - {name: name, from: variant}\n"
    "    - {name: reads, from: flow.r.bandwidth, scale: 1e9, digits: 3}\n"
    "    - {name: writes, from: flow.w.bandwidth, scale: 1e9, digits: 3}\n";

/* In the generic device as in real ones, reads of memory fall beside writes to
 * it and the writes keep their rate. A request waits behind the 512 writes of
 * 8.91 ns in the queue, so 192 reads of 512 B have 98,304 B in 4,562 ns and
 * their way of 144 ns. Writes lose requests of 24 B for each 512 B. */
START_TEST(reads_fall_beside_writes)
{
    double reads = 98304 / 4706.0;
    double writes = (31.42 - reads * 24 / 512) * 256 / 280;
    g_autofree char *csv = NULL;
    double got[2];
    const char *line;

    program_put("b.yaml", both);
    ck_assert_int_eq(program_run("run @/b.yaml -o @"), 0);
    csv = read_file("b.csv");
    line = strstr(csv, "\nb,");
    ck_assert_msg(line, "%s", csv);
    ck_assert_int_eq(sscanf(line, "\nb,%lf,%lf", &got[0], &got[1]), 2);
    ck_assert_double_eq_tol(got[0], reads, 0.01 * reads);
    ck_assert_double_eq_tol(got[1], writes, 0.01 * writes);
}
END_TEST

static const char plotted[] =
    "name: s\n"
    "parts:\n"
    "  p: {base: generic-host}\n"
    "hosts:\n"
    "  - name: a\n"
    "    cpu: p\n"
    "    devices: [{name: d, part: generic-device, at: rp0}]\n"
    "workload:\n"
    "  flows:\n"
    "    - {name: f, kind: dma, device: a.d, direction: write, target: a.ram,\n"
    "       size: 1KiB, count: 3}\n"
    "variants:\n"
    "  - {name: one}\n"
    "  - {name: two, set: {workload.flows.f.count: 5}}\n"
    "sweep:\n"
    "  - {name: size, set: workload.flows.f.size, values: [1KiB, 4KiB]}\n"
    "  - {name: seed, set: workload.seed, from: 1, to: %u, step: 1}\n"
    "measure:\n"
    "  columns:\n"
    "    - {name: scenario, from: variant}\n"
    "    - {name: size_bytes, from: axis.size}\n"
    "    - {name: seed, from: axis.seed}\n"
    "    - {name: bytes, from: flow.f.bytes}\n"
    "    - {name: hops, from: fabric.tlp_hops}\n"
    "plot: {%s}\n";

/* Each line changes one key of the first. */
static const char *const plots[] = {
    "title: t, x: size_bytes, y: bytes, curves: scenario",
    "title: u, x: size_bytes, y: bytes, curves: scenario",
    "title: t, x: seed, y: bytes, curves: scenario",
    "title: t, x: size_bytes, y: hops, curves: scenario",
    "title: t, x: size_bytes, y: bytes, curves: seed",
    "title: t, x: size_bytes, y: bytes, curves: scenario, panels: seed",
    "title: t, x: size_bytes, y: bytes, curves: scenario, x_scale: log2",
    "title: t, x: size_bytes, y: bytes, curves: scenario, x_scale: log10",
    "title: t, x: size_bytes, y: bytes, curves: scenario, y_scale: log2",
    "title: t, x: size_bytes, y: bytes, curves: scenario, y_scale: log10",
    "title: t, x: size_bytes, y: bytes, curves: scenario, x_range: 0:2048",
    "title: t, x: size_bytes, y: bytes, curves: scenario, y_range: 0:4000",
    "title: t, x: size_bytes, y: bytes, curves: scenario, x_label: l",
    "title: t, x: size_bytes, y: bytes, curves: scenario, y_label: l",
    "title: t, x: size_bytes, y: bytes, curves: scenario, published: p.csv",
    "title: t, x: size_bytes, y: bytes, curves: scenario, measured: p.csv",
};

START_TEST(each_key_of_a_plot_changes_the_drawing)
{
    g_autoptr(GPtrArray) drawings = g_ptr_array_new_with_free_func(g_free);

    program_put("p.csv", "scenario,size_bytes,seed,bytes\none,1024,1,3000\n");
    for (unsigned i = 0; i < G_N_ELEMENTS(plots); i++) {
        g_autofree char *text = g_strdup_printf(plotted, 2, plots[i]);

        program_put("s.yaml", text);
        ck_assert_msg(program_run("run @/s.yaml -q -o @") == 0, "%s: %s",
                      plots[i], program_err);
        g_ptr_array_add(drawings, read_file("s.svg"));
        for (unsigned j = 0; j < i; j++) {
            ck_assert_msg(!g_str_equal(drawings->pdata[i], drawings->pdata[j]),
                          "%s\n%s", plots[i], plots[j]);
        }
    }
}
END_TEST

START_TEST(the_head_says_what_numbers_mean)
{
    g_auto(GStrv) parts = g_strsplit(scenario, "from: flow.f.bytes", 2);
    g_autofree char *text =
        g_strjoinv("from: flow.f.bytes, unit: B, better: higher", parts);
    g_autofree char *csv = NULL;

    program_put("s.yaml", text);
    ck_assert_int_eq(program_run("run @/s.yaml -q -o @"), 0);
    csv = read_file("s.csv");
    ck_assert_ptr_nonnull(
        strstr(csv, "\n# unit: bytes B\n# better: bytes higher\n"));
}
END_TEST

/* 85 mm are 240.9 points of 1/72 inch. */
/* In the file itself or, since PDF 1.5, in a compressed stream of objects. */
static bool pdf_has(const char *pdf, gsize length, const char *text)
{
    const char *end = pdf + length, *at = pdf;
    char objects[1 << 16];

    if (memmem(pdf, length, text, strlen(text))) {
        return true;
    }
    while ((at = memmem(at, (gsize)(end - at), "stream\n", 7))) {
        g_autoptr(GZlibDecompressor) zlib =
            g_zlib_decompressor_new(G_ZLIB_COMPRESSOR_FORMAT_ZLIB);
        gsize taken, count = 0;

        at += 7;
        g_converter_convert(G_CONVERTER(zlib), at, (gsize)(end - at), objects,
                            sizeof(objects), G_CONVERTER_NO_FLAGS, &taken,
                            &count, NULL);
        if (memmem(objects, count, text, strlen(text))) {
            return true;
        }
    }
    return false;
}

START_TEST(a_result_is_drawn_again_without_a_run)
{
    g_autofree char *text = g_strdup_printf(plotted, 2, plots[5]);
    g_autofree char *first = NULL, *again = NULL, *narrow = NULL, *pdf = NULL;
    g_autofree char *path = program_place("b.pdf");
    gsize length;

    program_put("s.yaml", text);
    ck_assert_int_eq(program_run("run @/s.yaml -q -o @"), 0);
    first = read_file("s.svg");
    ck_assert_msg(program_run("plot @/s.csv -o @/a") == 0, "%s", program_err);
    again = read_file("a.svg");
    ck_assert_str_eq(first, again);
    ck_assert_int_eq(
        program_run("plot @/s.csv -o @/b --pdf --width 85 --title none"), 0);
    narrow = read_file("b.svg");
    ck_assert_str_ne(first, narrow);
    ck_assert(g_file_get_contents(path, &pdf, &length, NULL));
    ck_assert(g_str_has_prefix(pdf, "%PDF-"));
    ck_assert(pdf_has(pdf, length, "MediaBox [ 0 0 240 "));
    ck_assert_int_eq(program_run("plot @/s.csv --width 3"), 2);
    ck_assert_ptr_nonnull(strstr(program_err, "--width takes 40 to 1000"));
    ck_assert_int_eq(program_run("plot @/s.csv --y-range 6:0"), 2);
    ck_assert_ptr_nonnull(strstr(program_err, "--y-range takes LEAST:MOST"));
    ck_assert_int_eq(program_run("plot @/s.csv --output=@/new/"), 2);
    ck_assert_ptr_nonnull(strstr(program_err, "beginning of a file's name"));
    ck_assert_int_eq(program_run("plot @/s.csv -o @/s.yaml/a"), 1);
    ck_assert_ptr_nonnull(strstr(program_err, "cannot make the folder"));
    program_put("other.csv", "a,b\n1,2\n");
    ck_assert_int_eq(program_run("plot @/other.csv"), 2);
    ck_assert_ptr_nonnull(strstr(program_err, "does not name its scenario"));
}
END_TEST

START_TEST(a_logarithmic_axis_begins_above_0)
{
    static const char *const words[] = {"plot @/s.csv --x-range 0:2048",
                                        "plot @/s.csv --y-range -1:2048"};
    g_autofree char *text = g_strdup_printf(plotted, 2, plots[1]);
    const char *logs[] = {plots[6], plots[8]};

    program_put("s.yaml", text);
    ck_assert_int_eq(program_run("run @/s.yaml -q -o @ --no-plot"), 0);
    for (unsigned i = 0; i < G_N_ELEMENTS(words); i++) {
        g_autofree char *changed = g_strdup_printf(plotted, 2, logs[i]);

        program_put("s.yaml", changed);
        ck_assert_int_eq(program_run(words[i]), 2);
        ck_assert_msg(strstr(program_err, "cannot begin at 0 or less"), "%s",
                      program_err);
    }
}
END_TEST

/* TeX gets its special characters escaped, and the same bytes each time. */
START_TEST(a_result_is_drawn_for_tex)
{
    g_autofree char *text =
        g_strdup_printf(plotted, 2,
                        "title: \"5 % of a_b\", x: size_bytes, y: bytes, "
                        "curves: scenario");
    g_autofree char *once = NULL, *twice = NULL, *svg = NULL, *bare = NULL;

    program_put("s.yaml", text);
    ck_assert_int_eq(program_run("run @/s.yaml -q -o @"), 0);
    ck_assert_int_eq(program_run("plot @/s.csv -o @/a --tex --width 85"), 0);
    ck_assert_ptr_nonnull(strstr(program_out, "/a.tex\n"));
    once = read_file("a.tex");
    svg = read_file("a.svg");
    g_usleep(1100000); /* gnuplot would write another time of day */
    ck_assert_int_eq(program_run("plot @/s.csv -o @/a --tex --width 85"), 0);
    twice = read_file("a.tex");
    ck_assert_str_eq(once, twice);
    ck_assert(g_str_has_prefix(once, "\\begin{tikzpicture}"));
    ck_assert_ptr_nonnull(strstr(once, "5 \\% of a\\_b"));
    ck_assert_ptr_nonnull(strstr(svg, "two"));
    ck_assert_int_eq(program_run("plot @/s.csv -o @/b --no-legend"), 0);
    bare = read_file("b.svg");
    ck_assert_ptr_null(strstr(bare, "two"));
}
END_TEST

/* A drawing has room for 32 curves and 12 panels. It is refused before the
 * points are simulated, by both verbs. */
START_TEST(a_drawing_without_room_is_refused_first)
{
    g_autofree char *curves =
        g_strdup_printf(plotted, 33, "x: size_bytes, y: bytes, curves: seed");
    g_autofree char *panels =
        g_strdup_printf(plotted, 13, "x: size_bytes, y: bytes, panels: seed");
    g_autofree char *fits =
        g_strdup_printf(plotted, 12, "x: size_bytes, y: bytes, panels: seed");
    g_autofree char *path = program_place("new");

    program_put("s.yaml", curves);
    ck_assert_int_eq(program_run("check @/s.yaml"), 2);
    ck_assert_ptr_nonnull(strstr(program_err, "the plot has 33 curves"));
    ck_assert_int_eq(program_run("run @/s.yaml -o @/new"), 2);
    ck_assert_ptr_nonnull(strstr(program_err, "the plot has 33 curves"));
    ck_assert(!g_file_test(path, G_FILE_TEST_EXISTS));
    ck_assert_int_eq(program_run("run @/s.yaml --no-plot -q -o @"), 0);
    program_put("s.yaml", panels);
    ck_assert_int_eq(program_run("check @/s.yaml"), 2);
    ck_assert_ptr_nonnull(strstr(program_err, "the plot has 13 panels"));
    program_put("s.yaml", fits);
    ck_assert_int_eq(program_run("check @/s.yaml"), 0);
}
END_TEST

/* Each of these was accepted by `check` and refused by `run`, or ended the
 * program. */
static const struct {
    const char *from, *to, *says;
} refused[] = {
    {"size: 1KiB, count: 3", "size: 1GiB, count: 64, working_set: 64GiB",
     "the memory has no space for a buffer"},
    {"target: a.ram,", "target: a.d.bar0, working_set: 1GiB,", "BAR 0 has"},
    {"kind: dma, device: a.d, direction: write, target: a.ram,",
     "kind: copy, device: a.d, direction: write, buffer: a.ram,",
     "has no copy engine"},
};

START_TEST(check_finds_what_run_refuses)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(refused); i++) {
        g_auto(GStrv) parts = g_strsplit(scenario, refused[i].from, 2);
        g_autofree char *text = g_strjoinv(refused[i].to, parts);

        if (strstr(refused[i].to, "copy,")) {
            g_auto(GStrv) rest = g_strsplit(text, ", count: 3", 2);

            g_free(text);
            text = g_strjoinv("", rest);
        }
        program_put("s.yaml", text);
        ck_assert_int_eq(program_run("check @/s.yaml"), 2);
        ck_assert_msg(strstr(program_err, refused[i].says), "%s", program_err);
        ck_assert_int_ne(program_run("run @/s.yaml -o @/new"), 0);
        ck_assert_msg(strstr(program_err, refused[i].says), "%s", program_err);
    }
}
END_TEST

/* The GPU polls with a random phase, so the seed changes the latency. Column
 * one: the latency of each of four seeds, alone. */
static const char polled[] =
    "name: s\n"
    "hosts:\n"
    "  - name: a\n"
    "    cpu: generic-host\n"
    "    devices:\n"
    "      - {name: g0, part: quadro-k420, at: rp0}\n"
    "      - {name: g1, part: quadro-k420, at: rp1}\n"
    "workload:\n"
    "  seed: 5\n"
    "  seeds: %u\n"
    "  flows:\n"
    "    - {name: f, kind: pingpong, from: a.g0, to: a.g1, count: 3}\n"
    "sweep:\n"
    "  - {name: rounds, set: workload.flows.f.count, values: [3, 5]}\n"
    "measure:\n"
    "  columns:\n"
    "    - {name: rounds, from: axis.rounds}\n"
    "    - {name: latency_ps, from: flow.f.latency.mean}\n"
    "    - {name: mode, from: flow.f.mode}\n"
    "plot: {x: rounds, y: latency_ps}\n";

#define SEEDS 4

/* Reads the latency and, with @spread, the three numbers after it. */
static void read_latency(const char *csv, const char *start, bool spread,
                         int64_t *numbers)
{
    const char *line = strstr(csv, start);

    ck_assert_msg(line, "%s", csv);
    ck_assert_int_eq(sscanf(line + strlen(start),
                            "%" G_GINT64_FORMAT ",%*[A-Z0-9],%" G_GINT64_FORMAT
                            ",%" G_GINT64_FORMAT ",%" G_GINT64_FORMAT,
                            &numbers[0], &numbers[1], &numbers[2], &numbers[3]),
                     spread ? 4 : 1);
}

/* The mean, the least and the most of the runs with one seed each, and the half
 * width 3.182 s / sqrt(n) of Student's distribution with 3 degrees of
 * freedom. */
START_TEST(seeds_are_joined_to_means)
{
    g_autofree char *four = g_strdup_printf(polled, SEEDS);
    g_autofree char *one = g_strdup_printf(polled, 1);
    g_autofree char *csv = NULL, *svg = NULL, *plain = NULL;
    double sum = 0, squares = 0, mean, half;
    int64_t least = G_MAXINT64, most = 0, joined[4], alone[4];

    program_put("s.yaml", four);
    ck_assert_int_eq(program_run("run @/s.yaml -o @ -j 2"), 0);
    ck_assert_ptr_nonnull(strstr(program_out, "(means of 4 seeds)"));
    csv = read_file("s.csv");
    svg = read_file("s.svg");
    ck_assert_ptr_nonnull(strstr(csv, "# seed: 5\n"));
    ck_assert_ptr_nonnull(
        strstr(csv, "# seeds: 4\n# spread: latency_ps_least\n"
                    "# spread: latency_ps_most\n# spread: latency_ps_ci95\n"
                    "rounds,latency_ps,mode,latency_ps_least,"
                    "latency_ps_most,latency_ps_ci95\n"));
    read_latency(csv, "\n3,", true, joined);
    program_put("s.yaml", one);
    for (unsigned i = 0; i < SEEDS; i++) {
        g_autofree char *words =
            g_strdup_printf("run @/s.yaml -o @ --set workload.seed=%u", 5 + i);
        g_autofree char *single = NULL;

        ck_assert_int_eq(program_run(words), 0);
        single = read_file("s.csv");
        read_latency(single, "\n3,", false, alone);
        sum += (double)alone[0];
        squares += (double)alone[0] * (double)alone[0];
        least = MIN(least, alone[0]);
        most = MAX(most, alone[0]);
    }
    mean = sum / SEEDS;
    half = 3.182446 * sqrt((squares - sum * mean) / (SEEDS - 1) / SEEDS);
    ck_assert_int_lt(least, most);
    ck_assert_double_le(fabs((double)joined[0] - mean), 0.5);
    ck_assert_int_eq(joined[1], least);
    ck_assert_int_eq(joined[2], most);
    ck_assert_double_le(fabs((double)joined[3] - half), 1 + half * 1e-4);
    /* The drawing has the interval, too. */
    plain = read_file("s.svg");
    ck_assert_str_ne(plain, svg);
}
END_TEST

/* A seed more or less changes the spread, but no result. */
START_TEST(spreads_are_not_compared)
{
    g_autofree char *csv = NULL;
    g_autofree char *four = g_strdup_printf(polled, SEEDS);
    g_autoptr(GString) changed = NULL;

    program_put("s.yaml", four);
    ck_assert_int_eq(program_run("run @/s.yaml -o @ --no-plot"), 0);
    csv = read_file("s.csv");
    changed = g_string_new(csv);
    g_string_insert(changed, (gssize)changed->len - 1, "1");
    program_put("t.csv", changed->str);
    ck_assert_int_eq(program_run("compare @/s.csv @/t.csv"), 0);
}
END_TEST

/* Shards and the journal know every seed. */
START_TEST(parts_of_seeds_are_the_whole)
{
    g_autofree char *four = g_strdup_printf(polled, SEEDS);
    g_autofree char *whole = NULL, *merged = NULL;

    program_put("s.yaml", four);
    ck_assert_int_eq(program_run("run @/s.yaml -o @ --no-plot"), 0);
    whole = read_file("s.csv");
    ck_assert_int_eq(program_run("run @/s.yaml -o @ --shard 1/2"), 0);
    ck_assert_int_eq(program_run("run @/s.yaml -o @ --shard 2/2"), 0);
    ck_assert_int_eq(
        program_run("merge @/s.1-of-2.csv @/s.2-of-2.csv -o @/m.csv"), 0);
    merged = read_file("m.csv");
    ck_assert_str_eq(merged, whole);
}
END_TEST

/* 4 seeds of 3 round trips. Their mean is that of the result, but for the width
 * of a class. */
START_TEST(latencies_of_all_operations_are_written)
{
    g_autofree char *four = g_strdup_printf(polled, SEEDS);
    g_autofree char *csv = NULL, *all = NULL, *cdf = NULL, *histogram = NULL;
    double sum = 0, share = 0;
    unsigned operations = 0;
    int64_t joined[4];

    program_put("s.yaml", four);
    ck_assert_int_eq(program_run("run @/s.yaml -o @ --latencies"), 0);
    csv = read_file("s.csv");
    read_latency(csv, "\n3,", true, joined);
    all = read_file("s.latencies.csv");
    for (const char *line = all; (line = strstr(line, "\nrounds=3,f,"));) {
        unsigned count;
        double ns;

        line += strlen("\nrounds=3,f,");
        ck_assert_int_eq(sscanf(line, "%lf,%u,%lf", &ns, &count, &share), 3);
        operations += count;
        sum += ns * count;
    }
    ck_assert_uint_eq(operations, SEEDS * 3);
    ck_assert_double_eq(share, 100);
    ck_assert_double_le(fabs(sum / operations * 1000 - (double)joined[0]),
                        (double)joined[0] / 128);
    cdf = read_file("s.latencies.cdf.svg");
    histogram = read_file("s.latencies.histogram.svg");
    ck_assert_ptr_nonnull(strstr(cdf, "rounds=3"));
    ck_assert_str_ne(cdf, histogram);
}
END_TEST

static const struct {
    const char *words, *says;
} wrong[] = {
    {"run", "it takes SCENARIO..."},
    {"run @/none.yaml -o @/new", "none.yaml"},
    {"run @/s.yaml -j 0 -o @/new", "-j takes a number"},
    {"run @/s.yaml --trace -1 -o @/new", "--trace takes a number"},
    {"run @/s.yaml --limit 4KiB -o @/new", "is not AXIS=VALUE"},
    {"run @/s.yaml --limit sise=2KiB -o @/new",
     "no sweep has an axis \"sise\"; did you mean size?"},
    {"run @/s.yaml --set nowhere -o @/new", "--set"},
    {"run @/s.yaml --set hosts.b.cpu=p -o @/new", "hosts have no 'b'"},
    {"run @/s.yaml --set workload.seed=x -o @/new", "--set: seed"},
    {"run @/s.yaml --set workload.seeds=0 -o @/new", "--set: seeds"},
    {"check @/s.yaml --set variants.two.set.workload.seeds=3",
     "seeds: a variant or an axis changes it to 3"},
    {"run @/s.yaml @/s.yaml -o @/new", "are both called \"s\""},
    {"run @/s.yaml --accuracy 1 -o @/new",
     "--accuracy: accuracy: 1 has no unit"},
    {"run @/s.yaml --workload @/none -o @/new",
     "--workload: trace: there is no "},
    {"run @/s.yaml --nonsense", "--nonsense"},
    {"run @/s.yaml --shard 4/3 -o @/new", "--shard takes I/N"},
    {"run @/s.yaml --shard 0/3 -o @/new", "--shard takes I/N"},
    {"run @/s.yaml --shard 1/3 --explain -o @/new", "need all points"},
    {"run @/s.yaml --resume --latencies -o @/new", "need all points"},
    {"merge", "it takes SHARD..."},
    {"merge @/s.yaml", "give the file to write"},
    {"check @/s.yaml --set parts.p.buffers.pd=1",
     "of a: 1 credits cannot hold a payload"},
};

/* Every point fails, so the message shows that the folder is tried before. */
START_TEST(a_folder_without_room_for_results_is_told_first)
{
    ck_assert_int_eq(program_run("run @/s.yaml --explain -o @/s.yaml --set "
                                 "workload.flows.f.working_set=1TiB"),
                     1);
    ck_assert_msg(strstr(program_err, "cannot make the folder "), "%s",
                  program_err);
}
END_TEST

/* A full disk is no success, but a reader that ends early is. */
START_TEST(output_that_is_lost_is_a_failure)
{
    static const struct {
        const char *line, *says;
        int status;
    } ways[] = {
        {"\"$FARSIDE\" path --help >/dev/full",
         "farside: the output could not be written\n", 1},
        {"\"$FARSIDE\" path >/dev/full", "Try: farside path --help\n", 2},
        {"trap '' PIPE; (sleep 0.1; \"$FARSIDE\" path --help; echo $? >status) "
         "| true; while ! read s <status; do sleep 0.1; done; exit $s",
         "", 0},
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(ways); i++) {
        g_autofree char *said = NULL;
        const char *const argv[] = {"sh", "-c", ways[i].line, NULL};
        int status;

        ck_assert(g_spawn_sync(program_folder, (char **)argv, NULL,
                               G_SPAWN_SEARCH_PATH, NULL, NULL, NULL, &said,
                               &status, NULL));
        ck_assert_int_eq(status, ways[i].status * 256);
        ck_assert_msg(g_str_has_suffix(said, ways[i].says), "%s", said);
    }
}
END_TEST

static const char *const borrowed =
    "name: borrowed\n"
    "hosts:\n"
    "  - name: lender\n"
    "    cpu: generic-host\n"
    "    devices: [{name: ntb, part: generic-ntb, at: rp0},\n"
    "              {name: disk, part: optane-900p, at: rp1}]\n"
    "  - {name: borrower, cpu: generic-host,\n"
    "     devices: [{name: ntb, part: generic-ntb, at: rp0}]}\n"
    "links: [{name: cable, ends: [lender.ntb, borrower.ntb]}]\n"
    "lend: [{device: lender.disk, to: borrower}]\n"
    "workload: {flows: [{name: f, kind: compute, time: 1us}]}\n"
    "measure: {columns: [{name: t, from: flow.f.time}]}\n"
    "plot: {x: t, y: t}\n"
    "compare: {keys: [t]}\n"
    "variants:\n"
    "  - name: short\n"
    "  - {name: long, set: {links.cable.length: 201m}}\n";

static void put_copy(const char *name, const char *source)
{
    g_autofree char *from =
        g_build_filename(g_getenv("FARSIDE_PARTS"), source, NULL);
    g_autofree char *to = program_place(name), *bytes = NULL;
    gsize size;

    ck_assert(g_file_get_contents(from, &bytes, &size, NULL));
    ck_assert(g_file_set_contents(to, bytes, (gssize)size, NULL));
}

/* A trace takes the place of a workload, its columns, plot and comparison, and
 * belongs to what a journal must not mix. */
START_TEST(a_trace_is_a_workload)
{
    g_autofree char *first = NULL, *again = NULL, *other = NULL;
    g_auto(GStrv) fast = NULL, slow = NULL, lines = NULL;

    program_put("b.yaml", borrowed);
    put_copy("parts/generic-ntb.yaml", "generic-ntb.yaml");
    put_copy("parts/optane-900p.yaml", "optane-900p.yaml");
    put_copy("t.pcapng", "../replay/four-reads.pcapng");
    ck_assert_msg(
        program_run("run -q --no-plot -o @ --workload @/t.pcapng @/b.yaml") ==
            0,
        "%s", program_err);
    first = read_file("borrowed.csv");
    lines = g_strsplit(strstr(first, "\nvariant,"), "\n", -1);
    fast = g_strsplit(lines[2], ",", -1);
    slow = g_strsplit(lines[3], ",", -1);
    ck_assert_str_eq(fast[0], "short");
    ck_assert_str_eq(fast[2], "104");
    /* Ten crossings of each of four reads, and the last doorbell, 1 us more */
    ck_assert_double_eq_tol(g_ascii_strtod(slow[1], NULL) -
                                g_ascii_strtod(fast[1], NULL),
                            41, 0.05);
    ck_assert_int_eq(
        program_run("run -q --no-plot -o @ -w @/t.pcapng @/b.yaml"), 0);
    again = read_file("borrowed.csv");
    ck_assert_str_eq(again, first);
    ck_assert_int_eq(program_run("run -q --no-plot -o @ -w @/t.pcapng "
                                 "--set workload.flows.trace.pace=0% @/b.yaml"),
                     0);
    other = read_file("borrowed.csv");
    ck_assert_str_ne(other, first);
    /* Another trace makes another result. */
    put_copy("t.pcapng", "generic-ntb.yaml");
    ck_assert_int_eq(
        program_run("run -q --no-plot -o @ -w @/t.pcapng @/b.yaml"), 1);
    ck_assert(strstr(program_err, "t.pcapng: byte 0: no pcapng file"));
    ck_assert_int_eq(program_run("run -q -o @ -w @/none @/b.yaml"), 2);
    ck_assert(strstr(program_err, "there is no file"));
}
END_TEST

START_TEST(wrong_use_is_told)
{
    g_autofree char *made = program_place("new");

    ck_assert_int_eq(program_run(wrong[_i].words), 2);
    ck_assert_msg(strstr(program_err, wrong[_i].says), "%s: %s",
                  wrong[_i].words, program_err);
    ck_assert(!g_file_test(made, G_FILE_TEST_EXISTS));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cmd_run");
    TCase *tcase = tcase_create("run");

    tcase_add_checked_fixture(tcase, setup, program_teardown);
    tcase_add_test(tcase, threads_change_no_byte);
    tcase_add_test(tcase, the_first_failure_of_the_plan_is_told);
    tcase_add_test(tcase, trace_has_every_crossing);
    tcase_add_test(tcase, points_are_left_out);
    tcase_add_test(tcase, warmup_is_left_out_of_counters);
    tcase_add_test(tcase, reads_fall_beside_writes);
    tcase_add_test(tcase, each_key_of_a_plot_changes_the_drawing);
    tcase_add_test(tcase, the_head_says_what_numbers_mean);
    tcase_add_test(tcase, a_result_is_drawn_again_without_a_run);
    tcase_add_test(tcase, a_logarithmic_axis_begins_above_0);
    tcase_add_test(tcase, a_result_is_drawn_for_tex);
    tcase_add_test(tcase, a_drawing_without_room_is_refused_first);
    tcase_add_test(tcase, check_finds_what_run_refuses);
    tcase_add_test(tcase, seeds_are_joined_to_means);
    tcase_add_test(tcase, spreads_are_not_compared);
    tcase_add_test(tcase, parts_of_seeds_are_the_whole);
    tcase_add_test(tcase, latencies_of_all_operations_are_written);
    tcase_add_test(tcase, a_folder_without_room_for_results_is_told_first);
    tcase_add_test(tcase, output_that_is_lost_is_a_failure);
    tcase_add_test(tcase, a_trace_is_a_workload);
    tcase_add_loop_test(tcase, wrong_use_is_told, 0, G_N_ELEMENTS(wrong));
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
