/* SPDX-License-Identifier: MIT */
/*
 * Invariants: no rate is above what a link on the way carries, in any window of
 * time. A flow that fails prints "failed" where it has nothing to measure, the
 * run says where and why, and all bytes are accounted for. Every expected value
 * is computed from the description and the specification.
 */
#include <math.h>

#include "exp_plan.h"
#include "topo_test.h"
#include "../suite.h"

#define PARTS TEST_FILE("scenarios/parts")

/* Bytes that a TLP with data needs beside them, at least: a header of 3 DW,
 * sequence number, LCRC and framing (PCIe 5.0 s2.2.4.1, s3.6, s4.2). */
#define TLP_BYTES 20
#define MPS       256

typedef struct Result {
    Table *table;
    GString *notes;
    ExpCost cost;
} Result;

static void result_clear(Result *result)
{
    table_free(result->table);
    g_string_free(result->notes, TRUE);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Result, result_clear)

static void note(void *data, const char *text)
{
    GString *notes = data;

    g_string_append_printf(notes, "%s\n", text);
}

static void run(const char *text, Result *result)
{
    g_autoptr(TopoErrors) errors = topo_errors_new();
    g_autoptr(TopoDescription) description =
        topo_load_buffer("test.yaml", text, strlen(text), PARTS, NULL, errors);
    g_autofree char *messages = topo_errors_to_string(errors);
    g_autoptr(GError) error = NULL;
    ExpPlanOptions options = {.threads = 1, .note = note};

    ck_assert_str_eq(messages, "");
    result->notes = g_string_new(NULL);
    options.data = result->notes;
    result->table = exp_plan_run(description, &options, &result->cost, &error);
    ck_assert_msg(!error, "%s", error ? error->message : "");
}

static char *cell(const Result *result, unsigned row, const char *name)
{
    unsigned column;

    ck_assert(table_find_column(result->table, name, &column));
    return table_dup_cell(result->table, row, column);
}

static double number(const Result *result, unsigned row, const char *name)
{
    g_autofree char *text = cell(result, row, name);

    ck_assert_msg(*text && strcmp(text, "failed") != 0, "%s is \"%s\"", name,
                  text);
    return g_ascii_strtod(text, NULL);
}

#define COLUMNS                                                                \
    "measure:\n"                                                               \
    "  columns:\n"                                                             \
    "    - {name: variant, from: variant}\n"                                   \
    "    - {name: Bps, from: flow.f.bandwidth}\n"                              \
    "    - {name: speed, from: flow.f.speed.max}\n"                            \
    "    - {name: latency, from: flow.f.latency}\n"                            \
    "    - {name: rate, from: flow.f.rate, digits: 3}\n"                       \
    "    - {name: bytes, from: flow.f.bytes}\n"                                \
    "    - {name: operations, from: flow.f.operations}\n"                      \
    "    - {name: failed, from: flow.f.failed}\n"                              \
    "    - {name: written, from: element.h.memory_written_bytes}\n"

/* ---- Rates ------------------------------------------------------------ */

typedef struct Link {
    const char *speed;
    double lane_Bps; /* with its encoding */
} Link;

static const Link links[] = {
    {"2.5GT/s", 2.5e9 / 10},
    {"5.0GT/s", 5e9 / 10},
    {"8.0GT/s", 8e9 / 8 * 128 / 130},
    {"16.0GT/s", 16e9 / 8 * 128 / 130},
    {"32.0GT/s", 32e9 / 8 * 128 / 130},
};

typedef struct Case {
    unsigned speed, width, slow_speed, slow_width;
    unsigned size, count, warmup_ns, stop_ns; /* count 0: many */
    bool reads;
} Case;

/* A device behind a switch. Its link or that above the switch is the slower
 * one. */
static void check_rate(const Case *c)
{
    g_autoptr(GString) text = g_string_new("name: rates\nparts:\n");
    g_auto(Result) result = {0};
    unsigned tlps = (c->size + MPS - 1) / MPS;
    double most, lane = links[c->slow_speed].lane_Bps;

    g_string_append_printf(
        text,
        "  dev: {base: generic-device, speed: %s, width: x%u, mps: 256B}\n"
        "  sw: {base: generic-switch, speed: 32.0GT/s, width: x16, mps: 256B}\n"
        "  host: {base: generic-host, root_ports: [{name: rp0, speed: 32.0GT/s, "
        "width: x16}]}\n"
        "hosts:\n  - name: h\n    cpu: host\n"
        "    switches: [{name: s, part: sw, at: rp0, speed: %s, "
        "width: x%u}]\n"
        "    devices: [{name: d, part: dev, at: s}]\n"
        "workload:\n",
        links[c->speed].speed, c->width, links[c->slow_speed].speed,
        c->slow_width);
    if (!c->count) {
        g_string_append_printf(text, "  warmup: %uns\n  stop: %uns\n",
                               c->warmup_ns, c->warmup_ns + c->stop_ns);
    }
    g_string_append_printf(
        text,
        "  flows:\n    - {name: f, kind: dma, device: h.d, target: h.ram,\n"
        "       direction: %s, size: %uB, count: %u}\n" COLUMNS,
        c->reads ? "read" : "write", c->size, c->count ? c->count : 1000000);
    run(text->str, &result);
    most = MIN(lane * c->slow_width, links[c->speed].lane_Bps * c->width);
    most *= (double)c->size / (c->size + TLP_BYTES * tlps);
    ck_assert_msg(number(&result, 0, "Bps") <= most + 1,
                  "%.0f bytes/s of %.0f that the links carry:\n%s",
                  number(&result, 0, "Bps"), most, text->str);
    if (c->count) {
        ck_assert(number(&result, 0, "latency") > 0);
        ck_assert(number(&result, 0, "rate") > 0);
        /* The device's own link. */
        ck_assert(number(&result, 0, "speed") <=
                  links[c->speed].lane_Bps * c->width + 1);
        ck_assert(number(&result, 0, "bytes") == (double)c->size * c->count);
        ck_assert(c->reads ||
                  number(&result, 0, "written") == (double)c->size * c->count);
    }
}

START_TEST(a_few_operations_are_no_faster_than_the_links)
{
    static const unsigned sizes[] = {1, 64, 256, 4096, 65536};

    for (unsigned i = 0; i < G_N_ELEMENTS(sizes); i++) {
        for (unsigned j = 0; j < 8; j++) {
            check_rate(&(Case){
                .speed = 3,
                .width = 16,
                .slow_speed = j & 1 ? 3 : 2,
                .slow_width = j & 1 ? 16 : 4,
                .size = sizes[i],
                .count = j & 2 ? 1 : 7,
                .reads = j & 4,
            });
        }
    }
}
END_TEST

/* The seed of the random numbers is fixed, so a failure can be repeated. */
START_TEST(windows_of_time_are_no_faster_than_the_links)
{
    static const unsigned widths[] = {1, 4, 8, 16};
    g_autoptr(GRand) random = g_rand_new_with_seed(31);

    for (unsigned i = 0; i < 60; i++) {
        check_rate(&(Case){
            .speed = g_rand_int_range(random, 0, G_N_ELEMENTS(links)),
            .width = widths[g_rand_int_range(random, 0, 4)],
            .slow_speed = g_rand_int_range(random, 0, G_N_ELEMENTS(links)),
            .slow_width = widths[g_rand_int_range(random, 0, 4)],
            .size = 1u << g_rand_int_range(random, 6, 17),
            .warmup_ns = i % 3 ? g_rand_int_range(random, 0, 20000) : 0,
            .stop_ns = g_rand_int_range(random, 3000, 30000),
            .reads = i & 1,
        });
    }
}
END_TEST

/* In a long window nothing is lost at its edges: the rate is that of the link
 * within one TLP of its bytes. DLLPs are free here. */
START_TEST(a_window_has_no_bias)
{
    static const char text[] =
        "name: exact\nparts:\n"
        "  dev: {base: generic-device, speed: 8.0GT/s, width: x8, mps: 256B}\n"
        "hosts:\n  - name: h\n    cpu: generic-host\n"
        "    devices: [{name: d, part: dev, at: rp0}]\n"
        "workload:\n  warmup: 7us\n  stop: 27us\n  flows:\n"
        "    - {name: f, kind: dma, device: h.d, target: h.ram,\n"
        "       direction: write, size: 4KiB}\n" COLUMNS "variants:\n"
        "  - {name: 20us}\n"
        "  - {name: 10us, set: {workload.stop: 17us}}\n"
        "  - {name: later, set: {workload.warmup: 7030ns, "
        "workload.stop: 27030ns}}\n";
    g_auto(Result) result = {0};

    run(text, &result);
    for (unsigned i = 1; i < 3; i++) {
        /* An SKP ordered set and an UpdateFC more or less: 0.1 %. */
        ck_assert_double_eq_tol(number(&result, i, "Bps"),
                                number(&result, 0, "Bps"),
                                number(&result, 0, "Bps") * 0.001);
    }
}
END_TEST

/* ---- Failures --------------------------------------------------------- */

#define DEVICE                                                                 \
    "name: bad\n"                                                              \
    "hosts:\n  - name: h\n    cpu: generic-host\n"                             \
    "    devices: [{name: d, part: generic-device, at: rp0}]\n"

#define FLOW(DIRECTION)                                                        \
    "  flows:\n    - {name: f, kind: dma, device: h.d, target: h.ram,\n"       \
    "       direction: " DIRECTION ", size: 4KiB, count: 100}\n"

static void check_failed(const Result *result, unsigned row)
{
    static const char *const names[] = {"Bps", "speed", "latency", "rate"};

    for (unsigned i = 0; i < G_N_ELEMENTS(names); i++) {
        g_autofree char *text = cell(result, row, names[i]);

        ck_assert_msg(strcmp(text, "failed") == 0, "%s is %s", names[i], text);
    }
    ck_assert(number(result, row, "bytes") == 0);
    ck_assert(number(result, row, "failed") ==
              number(result, row, "operations"));
}

START_TEST(a_flow_that_fails_has_no_numbers)
{
    static const struct {
        const char *direction, *fault, *words;
    } cases[] = {
        {FLOW("write"), "action: link-down, at: 0us", "at h.d "},
        {FLOW("read"), "action: link-down, at: 0us", "the link was down"},
        {FLOW("write"), "action: poison, rate: 1, end: lower", "at h "},
        {FLOW("read"), "action: poison, rate: 1, end: upper",
         "the data were poisoned"},
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *text = g_strdup_printf(
            DEVICE "faults: [{name: x, target: h.d, %s}]\nworkload:\n"
                   "%s" COLUMNS,
            cases[i].fault, cases[i].direction);
        g_auto(Result) result = {0};

        run(text, &result);
        check_failed(&result, 0);
        ck_assert(number(&result, 0, "operations") == 100);
        ck_assert(number(&result, 0, "written") == 0);
        ck_assert_msg(
            strstr(result.notes->str, "flow f: 100 of 100 operations failed"),
            "%s", result.notes->str);
        ck_assert_msg(strstr(result.notes->str, cases[i].words), "%s",
                      result.notes->str);
        /* The description asks for the fault. */
        ck_assert_uint_eq(result.cost.failed, 0);
    }
}
END_TEST

/* With a rate r a TLP of 280 B, 2275 bits, is unharmed with (1 - r)^2275: one
 * in a million at 0.00605. In FLIT mode two flits must have no group of bytes
 * in which two are wrong: one in a million between 0.0055 and 0.0065. */
START_TEST(bit_errors_that_nothing_survives_are_refused)
{
    static const struct {
        const char *speed, *fault, *workload;
        bool is_refused;
    } cases[] = {
        {"16.0GT/s", "rate: 0.0055", "", false},
        {"16.0GT/s", "rate: 0.0065", "", true},
        {"16.0GT/s", "rate: 0.5", "", true},
        {"16.0GT/s", "rate: 0.5, for: 1ms", "", false},
        {"16.0GT/s", "rate: 0.5", "  stop: 1ms\n", false},
        {"16.0GT/s", "count: 9", "", false},
        {"64.0GT/s", "rate: 0.0045", "", false},
        {"64.0GT/s", "rate: 0.0075", "", true},
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(TopoErrors) errors = topo_errors_new();
        g_autofree char *text = g_strdup_printf(
            "name: bad\n"
            "parts:\n"
            "  cpu: {base: generic-host, root_ports: [{name: rp0, speed: %s,\n"
            "        width: x4}]}\n"
            "  device: {base: generic-device, speed: %s}\n"
            "hosts:\n"
            "  - {name: h, cpu: cpu, devices: [{name: d, part: device,\n"
            "     at: rp0}]}\n"
            "faults: [{name: x, target: h.d, action: bit-errors, %s}]\n"
            "workload:\n%s" FLOW("write"),
            cases[i].speed, cases[i].speed, cases[i].fault, cases[i].workload);
        g_autoptr(TopoDescription) description = topo_load_buffer(
            "bad.yaml", text, strlen(text), PARTS, NULL, errors);

        ck_assert(description);
        exp_plan_check(description, errors);
        if (cases[i].is_refused) {
            g_autofree char *words = topo_errors_to_string(errors);

            ck_assert_uint_eq(topo_errors_count(errors), 1);
            ck_assert(g_str_has_prefix(words, "bad.yaml:9:10: fault x: "));
        } else {
            ck_assert_uint_eq(topo_errors_count(errors), 0);
        }
    }
}
END_TEST

/* A link that goes down under load: what is written and what is lost is what
 * was ordered, to the byte. */
START_TEST(bytes_arrive_or_are_lost)
{
    static const unsigned at_ns[] = {100, 1000, 3333, 7000, 12345};

    for (unsigned i = 0; i < G_N_ELEMENTS(at_ns); i++) {
        g_autofree char *text = g_strdup_printf(
            DEVICE "faults: [{name: x, target: h.d, action: link-down, "
                   "at: %uns}]\nworkload:\n" FLOW("write") COLUMNS,
            at_ns[i]);
        g_auto(Result) result = {0};
        g_autofree char *lost = NULL;

        run(text, &result);
        lost = g_strdup_printf("%.0f of 409600 bytes did not arrive",
                               409600 - number(&result, 0, "written"));
        ck_assert(number(&result, 0, "bytes") == number(&result, 0, "written"));
        ck_assert_msg(strstr(result.notes->str, lost), "no \"%s\" in: %s", lost,
                      result.notes->str);
        /* Writes keep their order, so all but the first whole ones failed. */
        ck_assert(number(&result, 0, "failed") ==
                  100 - floor(number(&result, 0, "written") / 4096));
    }
}
END_TEST

#define LENT(IOMMU_L, IOMMU_B, DIRECT, ATS)                                       \
    "name: lent\nparts:\n"                                                        \
    "  ats: {base: generic-device" ATS "}\n"                                      \
    "hosts:\n  - name: l\n    cpu: generic-host\n    iommu: " IOMMU_L "\n"        \
    "    set: {iommu: {ats: on}}\n"                                               \
    "    switches: [{name: s, part: generic-switch, at: rp0, acs_direct: " DIRECT \
    "}]\n"                                                                        \
    "    devices: [{name: d, part: ats, at: s}, "                                 \
    "{name: ntb, part: generic-ntb, at: s}]\n"                                    \
    "  - {name: h, cpu: generic-host, iommu: " IOMMU_B ", "                       \
    "devices: [{name: ntb, part: generic-ntb, at: rp0}]}\n"                       \
    "links: [{name: c, ends: [l.ntb, h.ntb]}]\n"                                  \
    "lend: [{device: l.d, to: h}]\n"                                              \
    "workload:\n  flows:\n"                                                       \
    "    - {name: f, kind: dma, device: l.d, direction: write, "                  \
    "target: h.ram, size: 4KiB, count: 100, working_set: 64KiB}\n" COLUMNS        \
    "variants:\n"                                                                 \
    "  - {name: write}\n"                                                         \
    "  - {name: read, set: {workload.flows.f.direction: read}}\n"

#define WITH_ATS ", ats: {entries: 64}"

/* An adapter has no translations of the other host, whose IOMMU must not be got
 * round: all bytes arrive. */
START_TEST(a_lent_device_reaches_its_borrower)
{
    static const char *const texts[] = {
        LENT("on", "on", "on", WITH_ATS),  LENT("on", "on", "off", WITH_ATS),
        LENT("on", "off", "on", WITH_ATS), LENT("on", "on", "on", ""),
        LENT("on", "off", "off", ""),
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(texts); i++) {
        g_auto(Result) result = {0};

        run(texts[i], &result);
        ck_assert_str_eq(result.notes->str, "");
        for (unsigned row = 0; row < 2; row++) {
            ck_assert(number(&result, row, "failed") == 0);
            ck_assert(number(&result, row, "bytes") == 409600);
        }
        ck_assert(number(&result, 0, "written") == 409600);
    }
}
END_TEST

/* With pcie_bus_perf a peer writes more at a time than a device takes: each of
 * its 100 x 4096 / 512 TLPs is malformed. That is no Unsupported Request. */
START_TEST(payloads_that_are_too_large_are_malformed)
{
    g_auto(Result) result = {0};

    run("name: bad\n"
        "parts:\n"
        "  root: {base: generic-host, mps: 512B}\n"
        "  sw: {base: generic-switch, mps: 512B}\n"
        "  wide: {base: generic-device, mps: 512B, dma: {write_size: 512B}}\n"
        "  narrow: {base: generic-device, mps: 128B, dma: {write_size: 128B}}\n"
        "hosts:\n"
        "  - {name: h, cpu: root, set: {mps_policy: perf},\n"
        "     switches: [{name: sw, part: sw, at: rp0}],\n"
        "     devices: [{name: d, part: wide, at: sw},\n"
        "               {name: n, part: narrow, at: sw}]}\n"
        "workload:\n"
        "  flows:\n"
        "    - {name: f, kind: dma, device: h.d, target: h.n,\n"
        "       direction: write, size: 4KiB, count: 100}\n" COLUMNS
        "    - {name: malformed, from: element.h.n.malformed_tlps}\n"
        "    - {name: unsupported, from: fabric.unsupported}\n",
        &result);
    check_failed(&result, 0);
    ck_assert(number(&result, 0, "malformed") == 800);
    ck_assert(number(&result, 0, "unsupported") == 0);
    ck_assert_ptr_nonnull(
        strstr(result.notes->str, "at h.n 800 writes failed"));
    ck_assert_ptr_nonnull(strstr(result.notes->str, "Malformed TLP"));
}
END_TEST

/* The copies of these lessons that may run at a time want different directions
 * of links, so all take the same time, and a number of copies takes a number of
 * these steps: their formulas. 24 B beside 256 B of data, and SKP ordered sets
 * (0.27 %), on 16.0GT/s x16. */
static const struct {
    const char *lesson;
    double steps[12]; /* copies in a step; 0: no more of them */
} turns[] = {
    {"scenarios/teaching/turns.yaml",
     {6 / 3., 18 / 9., 36 / 13., 60 / 17., 6 / 6., 18 / 18., 36 / 31.,
      60 / 50.}},
    {"scenarios/teaching/engines.yaml",
     {3 / 3., 6 / 5., 9 / 7., 12 / 9., 18 / 13., 24 / 17., 3 / 1., 6 / 3.,
      9 / 5., 12 / 7., 18 / 11., 24 / 15.}},
};

/* Bytes a second of a link of 16.0GT/s x16, less its SKP ordered sets. */
#define WIRE (16e9 * 16 / 8 * 128 / 130 * (1 - 0.0027))

/* Runs the scenario @lesson without its plot. */
static void run_lesson(const char *lesson, Result *ret_result)
{
    g_autofree char *file = g_build_filename(TEST_FILE(""), lesson, NULL);
    g_autofree char *text = NULL;

    ck_assert(g_file_get_contents(file, &text, NULL, NULL));
    *strstr(text, "\nplot:") = '\0';
    run(text, ret_result);
}

START_TEST(copies_in_turn_fill_the_links)
{
    const double *steps = turns[_i].steps;
    double link = WIRE * 256 / (256 + 24);
    g_auto(Result) result = {0};

    run_lesson(turns[_i].lesson, &result);
    for (unsigned i = 0; i < G_N_ELEMENTS(turns->steps) && steps[i] > 0; i++) {
        double want = steps[i] * link / 1e9;
        double got = number(&result, i, "bandwidth_GBps");

        ck_assert_msg(fabs(got / want - 1) < 0.01, "%u: %f for %f", i, got,
                      want);
    }
}
END_TEST

/* Completions wait for the writes of another device that fill a buffer of 16
 * KiB, or with IDO for nothing but the wire (PCIe 5.0 table 2-40, D2). */
START_TEST(completions_pass_with_ido_alone)
{
    double slow = WIRE / 16 * 256 / (256 + 24);
    double rest = (WIRE - slow * (256 + 24) / 256) * 256 / (256 + 20);
    double alone = 0.52e-6;
    g_auto(Result) result = {0};

    run_lesson("scenarios/teaching/id-ordering.yaml", &result);
    for (unsigned i = 0; i < 16; i++) {
        bool has_ido = i >= 8;
        double wait = has_ido ? 0 : 16384 / slow;
        double want =
            fmin((512 << i % 8) / (alone + wait), has_ido ? rest : slow) / 1e9;
        double got = number(&result, i, "reads_GBps");

        ck_assert_msg(fabs(got / want - 1) < 0.03, "%u: %f for %f", i, got,
                      want);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("exp_failure");
    TCase *tcase = tcase_create("failure");

    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, a_few_operations_are_no_faster_than_the_links);
    tcase_add_test(tcase, windows_of_time_are_no_faster_than_the_links);
    tcase_add_test(tcase, a_window_has_no_bias);
    tcase_add_test(tcase, a_flow_that_fails_has_no_numbers);
    tcase_add_test(tcase, payloads_that_are_too_large_are_malformed);
    tcase_add_loop_test(tcase, copies_in_turn_fill_the_links, 0,
                        G_N_ELEMENTS(turns));
    tcase_add_test(tcase, bit_errors_that_nothing_survives_are_refused);
    tcase_add_test(tcase, completions_pass_with_ido_alone);
    tcase_add_test(tcase, bytes_arrive_or_are_lost);
    tcase_add_test(tcase, a_lent_device_reaches_its_borrower);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
