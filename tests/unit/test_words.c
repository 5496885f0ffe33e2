/* SPDX-License-Identifier: MIT */
/*
 * Invariants: the words of a command line become the options of a library; a
 * wrong word is refused as a G_OPTION_ERROR that names it, before any work. A
 * run in this process prints, writes and returns what `farside run` does.
 */
#include <string.h>

#include <check.h>
#include <glib.h>
#include <glib/gstdio.h>

#include "bench_report.h"
#include "clu_client.h"
#include "clu_reload.h"
#include "exp_fit.h"
#include "exp_lend_plan.h"
#include "exp_path.h"
#include "exp_timeline_write.h"
#include "exp_trace_words.h"
#include "img_up.h"
#include "inv_inventory.h"
#include "rep_redraw.h"
#include "rep_tolerance.h"
#include "stu_check.h"
#include "stu_lend.h"
#include "stu_run.h"
#include "topo_plan.h"
#include "topo_request.h"
#include "../suite.h"

/* Checks that @done is false with a G_OPTION_ERROR that has @text, or true
 * without an error if @text is NULL. Frees @error. */
static void assert_said(bool done, GError **error, const char *text)
{
    ck_assert_int_eq(done, !text);
    if (!text) {
        ck_assert_ptr_null(*error);
        return;
    }
    ck_assert_msg((*error)->domain == G_OPTION_ERROR &&
                      strstr((*error)->message, text),
                  "%s, not %s", (*error)->message, text);
    g_clear_error(error);
}

static TopoDescription *load(const char *name)
{
    g_autofree char *path = g_build_filename(TOPO_SOURCE_ROOT, name, NULL);
    g_autoptr(TopoErrors) errors = topo_errors_new();
    TopoDescription *description = topo_load(path, NULL, errors);

    ck_assert_ptr_nonnull(description);
    return description;
}

#define TWO_HOSTS "scenarios/cluster/two-hosts.yaml"

START_TEST(words_of_a_run)
{
    static const struct {
        ExpRunWords words;
        const char *said;
    } cases[] = {
        {{.threads = 1024}, NULL},
        {{.threads = 1025}, "-j takes a number from 1 to 1024"},
        {{.threads = 0}, "-j"},
        {{.threads = 1, .trace_records = -1}, "up to 1000000"},
        {{.threads = 1, .shard = (char *)"5/5"}, NULL},
        {{.threads = 1, .shard = (char *)"6/5"}, "--shard takes I/N"},
        {{.threads = 1, .shard = (char *)"0/5"}, "--shard"},
        {{.threads = 1, .shard = (char *)"1/2", .explain = TRUE}, "--explain"},
        {{.threads = 1, .resume = TRUE, .trace_records = 1}, "--resume"},
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_auto(ExpRunOptions) options = {0};
        GError *error = NULL;
        bool done = exp_run_parse(&cases[i].words, &options, &error);

        assert_said(done, &error, cases[i].said);
        if (done && cases[i].words.shard) {
            ck_assert_uint_eq(options.plan.shard, 4);
            ck_assert_uint_eq(options.plan.n_shards, 5);
        }
    }
}
END_TEST

/* A point a second: after 10 of 20, which began at 4, four more took 6 s, so
 * the other ten take 10 s. */
START_TEST(progress_of_a_run)
{
    ExpProgress progress = {.name = "s", .unit = "points"};
    g_autofree char *first =
        exp_progress_text(&progress, 5 * G_USEC_PER_SEC, 4, 3620);
    g_autofree char *then =
        exp_progress_text(&progress, 11 * G_USEC_PER_SEC, 10, 3620);

    ck_assert_str_eq(first, "s: 4 of 3620 points");
    ck_assert_str_eq(then, "s: 10 of 3620 points, 1:00:10 left ");
}
END_TEST

START_TEST(words_of_a_fit)
{
    static const char *const good[] = {"parts.a.b=1ns..2us", NULL};
    static const char *const bad[] = {"parts.a.b=1ns..2us", "parts.a", NULL};
    ExpFitOptions options = {.starts = 1000, .threads = 1024};
    g_autoptr(GPtrArray) params =
        exp_fit_params_parse((char *const *)good, NULL);
    GError *error = NULL;

    ck_assert_uint_eq(params->len, 1);
    ck_assert_int_eq(((ExpFitParam *)params->pdata[0])->high, 2000000);
    ck_assert_ptr_null(exp_fit_params_parse((char *const *)bad, NULL));
    assert_said(exp_fit_check(&options, &error), &error, NULL);
    options.starts = 1001;
    assert_said(exp_fit_check(&options, &error), &error, "--starts 1001");
    options.threads = 0;
    assert_said(exp_fit_check(&options, &error), &error, "--threads 0");
}
END_TEST

/* The manual's example: 12 entries of 1 GiB are reserved for each of two remote
 * nodes, and do not fit into 16. */
START_TEST(words_of_a_plan)
{
    ExpLendPlanWords words = {
        .entries = 128, .reserved = 12, .nodes = 3, .borrowers = 1};
    g_autoptr(Table) table = exp_lend_plan_table_new();
    g_autoptr(GString) text = g_string_new(NULL);
    g_autoptr(GPtrArray) plans = NULL;
    GError *error = NULL;
    bool fit;

    assert_said(exp_lend_plans_parse(&words, &error), &error, "--window");
    words.window = (char *)"128GiB";
    plans = exp_lend_plans_parse(&words, &error);
    assert_said(plans, &error, NULL);
    ck_assert(exp_lend_plans_append(text, plans, table, &fit, NULL));
    ck_assert(fit);
    words.entries = 16;
    g_ptr_array_unref(plans);
    plans = exp_lend_plans_parse(&words, NULL);
    ck_assert(exp_lend_plans_append(text, plans, table, &fit, NULL));
    ck_assert(!fit);
    words.nodes = 0;
    assert_said(exp_lend_plans_parse(&words, &error), &error,
                "--nodes is from");
}
END_TEST

/* lending.yaml: the machines give each borrowed device a window. */
START_TEST(windows_of_machines)
{
    g_autoptr(TopoDescription) lending =
        load("scenarios/cluster/lending-three.yaml");
    g_autoptr(TopoDescription) plain = load(TWO_HOSTS);
    g_autoptr(Table) table = exp_lend_plan_table_new();
    g_autoptr(GString) text = g_string_new(NULL);

    ck_assert(stu_lend_append(text, plain, table));
    ck_assert_str_eq(text->str, "");
    ck_assert(stu_lend_append(text, lending, table));
    ck_assert_uint_eq(table_n_rows(table), lending->lends->len);
    ck_assert_str_eq(table_text(table, 0, EXP_LEND_PLAN_TERM),
                     "machine_dma_window");
}
END_TEST

START_TEST(words_of_a_path)
{
    static const struct {
        ExpPathWords words;
        const char *said;
    } cases[] = {
        {{.from = "a.cpu", .to = "b.ram"}, NULL},
        {{.from = "a.cpu", .to = "b.ram", .size = (char *)"4KiB"}, NULL},
        {{.from = "a.cpu", .to = "b.ram", .size = (char *)"4097B"},
         "--size is from"},
        {{.from = "a.cpu",
          .to = "b.ram",
          .via = (char *)"a.ram",
          .is_read = TRUE},
         "--via writes"},
        {{.from = "a.cpu", .to = "b.ram", .via = (char *)"a.cpu"},
         "--via takes"},
    };
    g_autoptr(TopoDescription) description = load(TWO_HOSTS);
    ExpPathRequest request;
    GError *error = NULL;

    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        bool done = exp_path_request_parse(description, &cases[i].words,
                                           &request, &error);

        assert_said(done, &error, cases[i].said);
    }
    ck_assert(!exp_path_request_parse(
        description, &(ExpPathWords){.from = "z.cpu"}, &request, &error));
    ck_assert(error->domain != G_OPTION_ERROR);
    g_error_free(error);
}
END_TEST

START_TEST(words_of_a_trace)
{
    ExpTraceWords words = {.kinds = (char *)"MRd,CplD",
                           .from = (char *)"1.5us"};
    ExpTimelineFile timeline = {.model = "m.yaml"};
    char *one[] = {(char *)"a", NULL},
         *two[] = {(char *)"a", (char *)"b", NULL};
    ExpTraceFile file = {.snaplen = (char *)"63B"};
    TrcFilter filter;
    GError *error = NULL;

    ck_assert(exp_trace_filter(&words, &filter, &error));
    ck_assert_int_eq(filter.from_ns, 1500);
    ck_assert(filter.wants[TRC_MRD] && filter.wants[TRC_CPLD]);
    ck_assert(!filter.wants[TRC_MWR]);
    trc_filter_clear(&filter);
    words.to = (char *)"soon";
    ck_assert(!exp_trace_filter(&words, &filter, &error));
    ck_assert(g_str_has_prefix(error->message, "--to soon: "));
    trc_filter_clear(&filter);
    g_clear_error(&error);
    assert_said(exp_timeline_check(&timeline, one, &error), &error, "--model");
    timeline.path = "t.json";
    assert_said(exp_timeline_check(&timeline, two, &error), &error, "one FILE");
    assert_said(exp_trace_create(one, &file, &error), &error, "from 64B on");
    assert_said(exp_trace_create(two, &file, &error), &error, "one FILE");
    file.names = (char *)"a:x";
    assert_said(exp_trace_create(one, &file, &error), &error, "two names");
}
END_TEST

START_TEST(words_of_a_drawing)
{
    static const struct {
        RepRedraw redraw;
        const char *said;
    } cases[] = {
        {{.prefix = NULL}, NULL},
        {{.look.width_mm = 40, .look.font_pt = 4, .x_range = (char *)"0:64"},
         NULL},
        {{.look.width_mm = 39}, "--width takes 40 to 1000"},
        {{.look.font_pt = 41}, "--font-size takes 4 to 40"},
        {{.x_range = (char *)"64:0"}, "--x-range"},
        {{.y_range = (char *)"1"}, "--y-range"},
        {{.prefix = (char *)""}, "--output"},
        {{.prefix = (char *)"x/"}, "--output"},
    };
    static const char *const good[] = {"1%", "a=+-0.02", NULL};
    static const char *const bad[] = {"1%", "a", NULL};
    g_autoptr(GPtrArray) tolerances =
        rep_tolerances_parse((char *const *)good, NULL);

    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        RepRedraw redraw = cases[i].redraw;
        GError *error = NULL;
        bool done = rep_redraw_parse(&redraw, &error);

        assert_said(done, &error, cases[i].said);
        ck_assert(!done || !redraw.x_range || redraw.look.x_range.most == 64);
    }
    ck_assert_uint_eq(tolerances->len, 2);
    ck_assert_ptr_null(rep_tolerances_parse((char *const *)bad, NULL));
}
END_TEST

START_TEST(words_of_a_request)
{
    TopoRequestWords words = {.virtual_function = -1};
    g_autoptr(TopoErrors) errors = topo_errors_new();
    g_autoptr(GPtrArray) requests = NULL;
    const TopoRequest *request;
    GError *error = NULL;

    assert_said(topo_request_words_check(&words, &error), &error, "--device");
    words.device = (char *)"GA100";
    words.virtual_function = 3;
    assert_said(topo_request_words_check(&words, &error), &error, NULL);
    requests = topo_requests_of_words(&words, errors);
    request = requests->pdata[0];
    ck_assert_str_eq(request->device, "GA100");
    ck_assert(request->is_virtual && request->virtual_function == 3);
    words.instance = -1;
    assert_said(topo_request_words_check(&words, &error), &error,
                "count from 0");
    words.file = (char *)"r.json";
    assert_said(topo_request_words_check(&words, &error), &error, "alone");
}
END_TEST

static TopoPciAddress no_address(const TopoDevice *device, void *user)
{
    return (TopoPciAddress){0};
}

START_TEST(hosts_by_name)
{
    g_autoptr(TopoDescription) description = load(TWO_HOSTS);
    g_autoptr(TopoErrors) errors = topo_errors_new();
    g_autoptr(Inventory) inventory = NULL;
    g_autofree char *size = topo_plan_size_text(description);
    GError *error = NULL;

    ck_assert_str_eq(topo_choose_host(description, "b", NULL)->name, "b");
    assert_said(topo_choose_host(description, NULL, &error), &error, "--host");
    assert_said(topo_choose_host(description, "c", &error), &error,
                "there is no host 'c'; there are a, b");
    ck_assert_str_eq(size, "2 hosts, 1 link, 0 flows, 1 point");

    inventory = inv_from_description(description, no_address, NULL, errors);
    assert_said(inv_keep_host(inventory, "c", &error), &error,
                "there is no host 'c'; there are a, b");
    assert_said(inv_keep_host(inventory, "b", &error), &error, NULL);
    ck_assert_uint_eq(inventory->hosts->len, 1);
    ck_assert_str_eq(((const InvHost *)inventory->hosts->pdata[0])->name, "b");
    ck_assert_ptr_null(inv_from_sysfs(TOPO_SOURCE_ROOT, "x", NULL, NULL));
}
END_TEST

START_TEST(words_of_a_cluster)
{
    static const struct {
        ImgUpWords words;
        const char *said;
        unsigned boot_ms;
        int64_t slice_ns;
    } cases[] = {
        {{.spins = -1}, NULL, 60000, 0},
        {{.spins = -1, .is_timed = TRUE}, NULL, 300000, 0},
        {{.spins = 0, .is_timed = TRUE, .slice = (char *)"350ns"},
         NULL,
         300000,
         350},
        {{.spins = -1, .timeout_s = 86401}, "1 to 86400 seconds", 0, 0},
        {{.spins = -1, .silence_s = -1}, "--silence", 0, 0},
        {{.spins = -1, .silence_s = 5, .is_timed = TRUE},
         "--silence does not go",
         0,
         0},
        {{.spins = -1, .log = (char *)"l"}, "--log needs --timed", 0, 0},
        {{.spins = -1, .steps = (char *)"s"}, "--steps needs --timed", 0, 0},
        {{.spins = 1}, "--slice and --spins need", 0, 0},
        {{.spins = -2, .is_timed = TRUE}, "--spins is 0 to", 0, 0},
        {{.spins = -1, .is_timed = TRUE, .slice = (char *)"1ps"},
         "and not '1ps'",
         0,
         0},
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_auto(ImgUp) up = {.log = NULL};
        GError *error = NULL;
        bool done = img_up_parse(&cases[i].words, &up, &error);

        assert_said(done, &error, cases[i].said);
        if (done) {
            ck_assert_uint_eq(up.start.boot_ms, cases[i].boot_ms);
            ck_assert_int_eq(!!up.start.timed, cases[i].words.is_timed);
            ck_assert_int_eq(up.timed.slice_ns, cases[i].slice_ns);
        }
    }
}
END_TEST

START_TEST(words_for_hosts)
{
    static const char *const modules[] = {"ntb_perf", "/m/a-b.ko", NULL};
    static const char *const files[] = {"a.ko", "/m/ab", NULL};
    static const char *const command[] = {"ls", "-l", NULL};
    const CluClientMode mode = {.input = CLU_CLIENT_NO_INPUT};
    g_autoptr(GPtrArray) words =
        clu_client_command(&mode, "a", true, (char *const *)command);
    GError *error = NULL;

    assert_said(clu_reload_check((char *const *)modules, &error), &error, NULL);
    assert_said(clu_reload_check((char *const *)files, &error), &error,
                "/m/ab is no module");
    /* exec HOST /sbin/pty ROWS COLUMNS TERM ls -l, and the end */
    ck_assert_uint_eq(words->len, 9);
    ck_assert_str_eq(words->pdata[1], "a");
    ck_assert_str_eq(words->pdata[2], "/sbin/pty");
    ck_assert_str_eq(words->pdata[7], "-l");
    ck_assert_ptr_null(words->pdata[8]);
}
END_TEST

static char *said;

static void say(const char *text)
{
    g_free(said);
    said = g_strdup(text);
}

static void begins(const char *name)
{
}

START_TEST(benchmarks_that_cannot_run)
{
    static char *patterns[] = {(char *)"vm/*", (char *)"nosuch", NULL};
    BenchRun run = {.runs = 1002, .begins = begins, .tell = say};
    g_auto(BenchReport) report;
    g_autoptr(GPtrArray) cases = NULL;
    GError *error = NULL;

    assert_said(bench_run_check(&run, &error), &error, "1 to 1001");
    assert_said(bench_choose(patterns, &error), &error, "\"nosuch\"");
    patterns[1] = NULL;
    cases = bench_choose(patterns, NULL);
    ck_assert_uint_gt(cases->len, 1);
    run.runs = 1;
    bench_report_init(&report);
    bench_run(&run, cases, &report);
    ck_assert(strstr(said, "is left out: it needs --cluster"));
    ck_assert(bench_run_judge(&run, cases->len, &report));
    run.require = TRUE;
    bench_run(&run, cases, &report);
    ck_assert_uint_eq(report.failed, cases->len);
    ck_assert(!bench_run_judge(&run, cases->len, &report));
    ck_assert(strstr(said, "benchmarks failed"));
    g_clear_pointer(&said, g_free);
}
END_TEST

/* ---- A run in this process ---------------------------------------------- */

static GString *printed;
static unsigned notes, complaints, points;

static void print(const char *text)
{
    g_string_append(printed, text);
}

static void progress(void *data, unsigned done, unsigned count)
{
    points = MAX(points, done);
}

static void note(void *data, const char *text)
{
    notes++;
}

static void complain(GError *error)
{
    complaints++;
    g_error_free(error);
}

static const StuTerminal terminal = {
    .print = print, .progress = progress, .note = note, .complain = complain};

#define EXAMPLE "scenarios/example.yaml"

START_TEST(run_writes_and_prints)
{
    g_autofree char *folder = g_dir_make_tmp("words-XXXXXX", NULL);
    g_autofree char *csv = g_build_filename(folder, "example.csv", NULL);
    ExpRunWords words = {.folder = folder, .threads = 1};
    g_auto(ExpRunOptions) options = {0};
    g_autoptr(GPtrArray) descriptions =
        g_ptr_array_new_with_free_func((GDestroyNotify)topo_description_free);
    StuRun run = {.no_plot = TRUE};

    printed = g_string_new(NULL);
    ck_assert(exp_run_parse(&words, &options, NULL));
    run.options = options;
    g_ptr_array_add(descriptions, load(EXAMPLE));
    ck_assert_int_eq(stu_run(descriptions, &run, &terminal), STU_DONE);
    ck_assert(g_file_test(csv, G_FILE_TEST_EXISTS));
    ck_assert(strstr(printed->str, csv));
    ck_assert_uint_gt(points, 0);
    ck_assert_uint_eq(complaints, 0);

    /* It has no bounds, which is a mistake in the input. */
    run.bounds = TRUE;
    ck_assert_int_eq(stu_run(descriptions, &run, &terminal), STU_INPUT);
    ck_assert_uint_eq(complaints, 1);

    /* Two that would write the same file. */
    g_ptr_array_add(descriptions, load(EXAMPLE));
    ck_assert_int_eq(stu_run(descriptions, &run, &terminal), STU_INPUT);
    ck_assert_uint_eq(complaints, 2);
    g_string_free(printed, TRUE);
    g_unlink(csv);
    g_rmdir(folder);
}
END_TEST

START_TEST(check_without_a_terminal)
{
    g_autoptr(GPtrArray) changes = topo_changes_new();
    g_autoptr(TopoErrors) errors = topo_errors_new();
    g_autoptr(GString) told = g_string_new(NULL);
    g_autofree char *size =
        stu_check(TOPO_SOURCE_ROOT "/" EXAMPLE, changes, told, errors);

    ck_assert(g_str_has_prefix(size, "\"example\", 2 hosts, 1 link, "));
    ck_assert_ptr_null(stu_check(TOPO_SOURCE_ROOT
                                 "/tests/unit/bad/measure.yaml",
                                 changes, told, errors));
    ck_assert_str_eq(told->str, "");
    ck_assert_uint_gt(topo_errors_count(errors), 10);
}
END_TEST

/* Each wrong column has one error, with a hint. */
START_TEST(check_of_columns)
{
    static const char text[] =
        "name: t\n"
        "hosts: [{name: h, cpu: generic-host, devices: [{name: d, part:\n"
        "         generic-device, at: rp0}]}]\n"
        "workload: {flows: [{name: f, kind: dma, device: h.d, count: 1,\n"
        "           direction: read, target: h.ram, size: 4KiB}]}\n"
        "measure:\n"
        "  columns:\n"
        "    - {name: a, from: flow.g.bandwidth}\n"
        "    - {name: b, from: flow.f.latencie}\n"
        "    - {name: c, from: element.h.d.entries_used}\n";
    static const char expected[] =
        "8:23: unknown flow 'g'; there is only f\n"
        "9:7: there is no metric \"latencie\" here; did you mean latency?\n";
    g_autoptr(GPtrArray) changes = topo_changes_new();
    g_autoptr(TopoErrors) errors = topo_errors_new();
    g_autoptr(GString) told = g_string_new(NULL);
    char *folder = g_dir_make_tmp("words-XXXXXX", NULL);
    char *file = g_build_filename(folder, "t.yaml", NULL);
    g_autoptr(GString) words = NULL;
    g_autofree char *start = g_strconcat(file, ":", NULL);
    g_autofree char *all = NULL;

    ck_assert(g_file_set_contents(file, text, -1, NULL));
    ck_assert_ptr_null(stu_check(file, changes, told, errors));
    all = topo_errors_to_string(errors);
    words = g_string_new(all);
    g_string_replace(words, start, "", 0);
    ck_assert_msg(g_str_has_prefix(words->str, expected), "%s", words->str);
    ck_assert_uint_eq(topo_errors_count(errors), 3);
    g_unlink(file);
    g_rmdir(folder);
    g_free(file);
    g_free(folder);
}
END_TEST

/* Notes of a check of @flows, on hosts a and b whose root is @cpu. */
static char *notes_of(const char *cpu, const char *iommu, const char *flows)
{
    g_autoptr(GPtrArray) changes = topo_changes_new();
    g_autoptr(TopoErrors) errors = topo_errors_new();
    GString *told = g_string_new(NULL);
    char *folder = g_dir_make_tmp("words-XXXXXX", NULL);
    char *file = g_build_filename(folder, "p2p.yaml", NULL);
    g_autofree char *size = NULL;
    g_autofree char *text = g_strdup_printf(
        "name: t\n"
        "parts:\n"
        "  cpu: {base: generic-host, p2p: %s}\n"
        "  gpu: {base: quadro-k420}\n"
        "hosts:\n"
        "  - name: \"{n}\"\n"
        "    each: {n: [a, b]}\n"
        "    cpu: cpu\n"
        "    iommu: %s\n"
        "    switches: [{name: sw, part: generic-switch, at: rp0}]\n"
        "    devices:\n"
        "      - {name: \"d{i}\", part: gpu, at: sw, repeat: 2}\n"
        "      - {name: ssd, part: optane-900p, at: rp1}\n"
        "      - {name: mover, part: mxh930-dma, at: rp2}\n"
        "      - {name: ntb, part: generic-ntb, at: rp3}\n"
        "links: [{name: c, ends: [a.ntb, b.ntb]}]\n"
        "workload:\n"
        "  flows:\n"
        "    - {name: f, %s}\n",
        cpu, iommu, flows);

    ck_assert(g_file_set_contents(file, text, -1, NULL));
    size = stu_check(file, changes, told, errors);
    if (!size) {
        ck_abort_msg("%s", topo_errors_to_string(errors));
    }
    g_unlink(file);
    g_rmdir(folder);
    g_free(file);
    g_free(folder);
    return g_string_free(told, FALSE);
}

/* Roots on the way of a flow that may not forward its requests. Without ACS two
 * devices of a switch do not need the root. */
START_TEST(check_tells_what_is_not_forwarded)
{
#define DMA  "kind: dma, size: 4KiB, count: 1, device: a.d0, "
#define NVME "kind: nvme, size: 4KiB, device: a.ssd, "
    static const struct {
        const char *cpu, *iommu, *flow;
        const char *told; /* ends of the lines, or "" */
    } cases[] = {
        {"all", "off", DMA "direction: read, target: a.ssd", ""},
        {"writes", "off", DMA "direction: write, target: a.ssd", ""},
        {"writes", "off", DMA "direction: read, target: a.ssd",
         "a does not forward reads of a.d0 from a.ssd between its ports (p2p: "
         "writes), so they meet Unsupported Request\n"},
        {"none, p2p_refused: ca", "off", DMA "direction: read, target: a.ssd",
         "so they meet Completer Abort\n"},
        {"writes", "off", DMA "direction: write-read, target: a.ssd",
         "a does not forward reads of a.d0 from a.ssd between its ports (p2p: "
         "writes), so they meet Unsupported Request\n"},
        {"none", "off", DMA "direction: write, target: a.d1", ""},
        {"none", "on", DMA "direction: write, target: a.d1",
         "a does not forward writes of a.d0 to a.d1 between its ports (p2p: "
         "none), so they meet Unsupported Request\n"},
        {"none", "off", DMA "direction: write, target: a.ram", ""},
        {"none", "off", DMA "direction: write, target: b.ram",
         "a does not forward writes of a.d0 to b.ram between its ports (p2p: "
         "none), so they meet Unsupported Request\n"},
        {"writes", "off", "kind: mmio, host: a, direction: read, target: b.d0",
         "b does not forward reads of a.cpu from b.d0 between its ports (p2p: "
         "writes), so they meet Unsupported Request\n"},
        {"writes", "off",
         "kind: copy, device: a.d0, direction: read, buffer: a.ssd, size: 4KiB",
         "a does not forward reads of a.d0 from a.ssd between its ports (p2p: "
         "writes), so they meet Unsupported Request\n"},
        {"writes", "off", NVME "direction: read, buffer: a.d0", ""},
        {"writes", "off", NVME "direction: write, buffer: a.d0",
         "a does not forward reads of a.ssd from a.d0 between its ports (p2p: "
         "writes), so they meet Unsupported Request\n"},
        {"writes", "off", NVME "direction: read, sq: a.d0",
         "a does not forward reads of a.ssd from a.d0 between its ports (p2p: "
         "writes), so they meet Unsupported Request\n"},
        {"writes", "off",
         "kind: move, device: a.mover, from: a.ssd, to: a.ram, size: 4KiB",
         "a does not forward reads of a.mover from a.ssd between its ports "
         "(p2p: writes), so they meet Unsupported Request\n"},
        {"none", "off", "kind: transfer, from: a.d0, to: b.d0, size: 4KiB",
         "a does not forward writes of a.d0 to b.d0 between its ports (p2p: "
         "none), so they meet Unsupported Request\n"},
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *told =
            notes_of(cases[i].cpu, cases[i].iommu, cases[i].flow);

        ck_assert_msg(*cases[i].told ? g_str_has_suffix(told, cases[i].told) &&
                                           strchr(told, '\n')[1] == '\0'
                                     : !*told,
                      "%u: %s", i, told);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("words");
    TCase *tcase = tcase_create("words");

    tcase_add_test(tcase, words_of_a_run);
    tcase_add_test(tcase, progress_of_a_run);
    tcase_add_test(tcase, words_of_a_fit);
    tcase_add_test(tcase, words_of_a_plan);
    tcase_add_test(tcase, windows_of_machines);
    tcase_add_test(tcase, words_of_a_path);
    tcase_add_test(tcase, words_of_a_trace);
    tcase_add_test(tcase, words_of_a_drawing);
    tcase_add_test(tcase, words_of_a_request);
    tcase_add_test(tcase, hosts_by_name);
    tcase_add_test(tcase, words_of_a_cluster);
    tcase_add_test(tcase, words_for_hosts);
    tcase_add_test(tcase, benchmarks_that_cannot_run);
    tcase_add_test(tcase, run_writes_and_prints);
    tcase_add_test(tcase, check_without_a_terminal);
    tcase_add_test(tcase, check_of_columns);
    tcase_add_test(tcase, check_tells_what_is_not_forwarded);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
