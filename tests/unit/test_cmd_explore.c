/* SPDX-License-Identifier: MIT */
/*
 * `farside cluster explore` without machines. Invariants: a report that is gone
 * on with has each seed once and whole lines, whenever the process ended; it is
 * refused if anything that its results depend on is another one. A kernel's
 * report is found on a console, and what is allowed is not one. Wrong input is
 * refused with its place before any machine boots. A verdict depends on virtual
 * time alone. Machines that give no checkpoint at once give one later, or the
 * exploration ends.
 */
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "clu_error.h"
#include "clu_calls.h"
#include "clu_control.h"
#include "xpl_report.h"
#include "program.h"
#include "../suite.h"

static char *read_file(const char *name)
{
    g_autofree char *path = program_place(name);
    char *text = NULL;

    ck_assert_msg(g_file_get_contents(path, &text, NULL, NULL), "%s", path);
    return text;
}

static XplHead head_of(const char *description)
{
    return (XplHead){.description = g_strdup(description),
                     .script = g_strdup("5c"),
                     .files = {.programs = g_strdup("70"),
                               .kernels = g_strdup("4e"),
                               .images = g_strdup("13")},
                     .allow = g_strdup("none"),
                     .limit_ns = 120000000000,
                     .begin_ns = 1200000001,
                     .end_ns = 3400000002};
}

static void add(XplReport *report, uint64_t seed, XplVerdict verdict,
                const char *reason)
{
    const XplResult result = {.verdict = verdict,
                              .reason = (char *)reason,
                              .begin_ns = 1000000000,
                              .end_ns = 3500000000,
                              .seconds = 41.25};

    ck_assert(
        xpl_report_add(report, seed, &result, "a freeze at 2s for 40us", NULL));
}

START_TEST(a_report_goes_on_at_the_next_seed)
{
    g_auto(XplHead) head = head_of("d1");
    g_auto(XplHead) again = head_of("d1");
    g_autofree char *path = program_place("report.csv");
    g_autofree char *text = NULL;
    XplReport *report = xpl_report_new(path, &head, NULL);

    ck_assert_ptr_nonnull(report);
    add(report, 7, XPL_PASS, NULL);
    add(report, 3, XPL_FAIL, "b: \"Oops\",\nat 3");
    xpl_report_free(report);

    again.begin_ns = again.end_ns = 0;
    report = xpl_report_resume(path, &again, NULL);
    ck_assert_ptr_nonnull(report);
    ck_assert_int_eq(again.begin_ns, 1200000001);
    ck_assert_int_eq(again.end_ns, 3400000002);
    ck_assert(xpl_report_has(report, 7));
    ck_assert(xpl_report_has(report, 3));
    ck_assert(!xpl_report_has(report, 4));
    add(report, 4, XPL_CANNOT, "gone");
    ck_assert_uint_eq(xpl_report_count(report, XPL_PASS), 1);
    ck_assert_uint_eq(xpl_report_count(report, XPL_FAIL), 1);
    ck_assert_uint_eq(xpl_report_count(report, XPL_CANNOT), 1);
    xpl_report_free(report);

    text = read_file("report.csv");
    ck_assert_str_eq(
        text,
        "# farside explore 1 description=d1 script=5c programs=70 kernel=4e "
        "image=13 start=branch limit=120000000000ns allow=none "
        "from=1200000001ns to=3400000002ns\n"
        "seed,verdict,script_ms,seconds,faults,reason\n"
        "7,pass,2500,41.2,\"a freeze at 2s for 40us\",\"\"\n"
        "3,fail,2500,41.2,\"a freeze at 2s for 40us\",\"b: \"\"Oops\"\", at "
        "3\"\n"
        "4,impossible,2500,41.2,\"a freeze at 2s for 40us\",\"gone\"\n");
}
END_TEST

/* The process may end within any byte of its last line. */
START_TEST(a_line_that_is_not_whole_is_cut_off)
{
    g_auto(XplHead) head = head_of("d1");
    g_autofree char *path = program_place("report.csv");
    g_autofree char *whole = NULL;
    XplReport *report = xpl_report_new(path, &head, NULL);
    size_t least, length;

    add(report, 1, XPL_PASS, NULL);
    whole = read_file("report.csv");
    least = strlen(whole);
    add(report, 2, XPL_PASS, NULL);
    xpl_report_free(report);
    g_free(whole);
    whole = read_file("report.csv");
    length = strlen(whole);
    for (size_t cut = least; cut <= length; cut++) {
        g_autofree char *text = NULL;

        ck_assert(g_file_set_contents(path, whole, (gssize)cut, NULL));
        report = xpl_report_resume(path, &head, NULL);
        ck_assert_ptr_nonnull(report);
        ck_assert(xpl_report_has(report, 1));
        ck_assert(xpl_report_has(report, 2) == (cut == length));
        if (cut < length) {
            add(report, 2, XPL_PASS, NULL);
        }
        xpl_report_free(report);
        text = read_file("report.csv");
        ck_assert_str_eq(text, whole);
    }
}
END_TEST

static void check_refused(const XplReport *report, GError *error,
                          const char *words)
{
    ck_assert_ptr_null(report);
    ck_assert(g_error_matches(error, CLU_ERROR, CLU_ERROR_USAGE));
    ck_assert_msg(strstr(error->message, words), "%s", error->message);
    g_error_free(error);
}

/* The head of a report differs in one word from the one that is there. */
static void check_differs(const XplHead *head, const char *from, const char *to,
                          const char *words)
{
    g_autofree char *path = program_place("other.csv");
    g_autofree char *text = read_file("report.csv");
    g_autoptr(GString) other = g_string_new(text);
    XplHead mine = *head;
    XplReport *report;
    GError *error = NULL;

    ck_assert_uint_eq(g_string_replace(other, from, to, 0), 1);
    ck_assert(g_file_set_contents(path, other->str, -1, NULL));
    report = xpl_report_resume(path, &mine, &error);
    check_refused(report, error, words);
}

START_TEST(a_report_that_belongs_to_others_is_refused)
{
    g_auto(XplHead) head = head_of("d1");
    g_autofree char *path = program_place("report.csv");

    xpl_report_free(xpl_report_new(path, &head, NULL));
    check_differs(&head, "description=d1", "description=d2",
                  "other.csv:1:1: the results are those of another "
                  "description; leave out --resume");
    check_differs(&head, "script=5c", "script=5d", "of another script;");
    check_differs(&head, "limit=120000000000ns", "limit=120000000001ns",
                  "of another --limit;");
    check_differs(&head, "allow=none", "allow=5c", "of another --allow;");
    check_differs(&head, "kernel=4e", "kernel=4f",
                  "of another kernel of the guests;");
    check_differs(&head, "image=13", "image=14",
                  "of another image of the guests, or modules in it;");
    check_differs(&head, " image=13", "",
                  "of another image of the guests, or modules in it;");
    check_differs(&head, "start=branch", "start=boot",
                  "of another start: now each schedule is a branch;");
    head.boots = true;
    check_differs(&head, "kernel=4e", "kernel=4e",
                  "of another start: now each schedule boots its machines;");
}
END_TEST

START_TEST(results_of_each_build_are_told_apart)
{
    g_auto(XplHead) head = head_of("d1");
    g_auto(XplHead) other = head_of("d1");
    g_autofree char *path = program_place("report.csv");
    g_autofree char *text = NULL;
    XplReport *report = xpl_report_new(path, &head, NULL);

    add(report, 1, XPL_PASS, NULL);
    xpl_report_free(report);
    g_free(other.files.programs);
    other.files.programs = g_strdup("71");
    for (unsigned i = 0; i < 2; i++) {
        report = xpl_report_resume(path, &other, NULL);
        ck_assert_ptr_nonnull(report);
        ck_assert_uint_eq(xpl_report_builds(report), 1 + i);
        ck_assert(xpl_report_has(report, 1));
        add(report, 2 + i, XPL_PASS, NULL);
        ck_assert_uint_eq(xpl_report_builds(report), 2);
        xpl_report_free(report);
    }
    report = xpl_report_resume(path, &head, NULL);
    add(report, 4, XPL_PASS, NULL);
    ck_assert_uint_eq(xpl_report_builds(report), 3);
    ck_assert_uint_eq(xpl_report_count(report, XPL_PASS), 4);
    xpl_report_free(report);
    text = read_file("report.csv");
    ck_assert_ptr_nonnull(
        strstr(text, "\n1,pass,2500,41.2,\"a freeze at 2s for 40us\",\"\"\n"
                     "# programs=71\n2,pass"));
    ck_assert_ptr_nonnull(strstr(text, "\n# programs=70\n4,pass"));
}
END_TEST

START_TEST(another_report_is_refused)
{
    g_auto(XplHead) head = head_of("d1");
    g_autofree char *path = program_place("report.csv");
    XplReport *report;
    GError *error = NULL;

    xpl_report_free(xpl_report_new(path, &head, NULL));
    report = xpl_report_new(path, &head, &error);
    check_refused(report, error, "has results already; go on with --resume");
    error = NULL;
    ck_assert(g_file_set_contents(path, "a,b\n1,2\n", -1, NULL));
    report = xpl_report_resume(path, &head, &error);
    check_refused(report, error, "report.csv:1:1: this is no report");
    error = NULL;
    ck_assert(g_file_set_contents(path,
                                  "# farside explore 1 description=d1 "
                                  "script=5c programs=70 kernel=4e image=13 "
                                  "start=branch limit=120000000000ns "
                                  "allow=none from=1ns to=2ns\n"
                                  "seed\n1,odd,3\n",
                                  -1, NULL));
    report = xpl_report_resume(path, &head, &error);
    check_refused(report, error, "report.csv:3:1: a line begins with the seed");
}
END_TEST

START_TEST(a_kernels_report_is_found)
{
    static const char console[] =
        "       1.650 [    1.749576] switchtec: node 2 is up\n"
        "       2.000 [    2.1] WARNING: CPU: 0 PID: 1 at a.c:3 f+0x1/0x2\n"
        "       2.000 [    2.2] Call Trace:\r\n";
    g_autoptr(GPtrArray) allowed =
        g_ptr_array_new_with_free_func((GDestroyNotify)g_regex_unref);
    g_autofree char *first = xpl_kernel_report(console, NULL);
    g_autofree char *none = xpl_kernel_report("[ 1.0] debugging is on\n", NULL);
    g_autofree char *second = NULL;

    ck_assert_str_eq(
        first, "2.000 [    2.1] WARNING: CPU: 0 PID: 1 at a.c:3 f+0x1/0x2");
    ck_assert_ptr_null(none);
    g_ptr_array_add(allowed, g_regex_new("at a\\.c:3", 0, 0, NULL));
    second = xpl_kernel_report(console, allowed);
    ck_assert_str_eq(second, "2.000 [    2.2] Call Trace:");
}
END_TEST

static const char good[] = "name: pair\n"
                           "hosts:\n"
                           "  - {name: a, cpu: generic-host, devices: [{name: "
                           "n, part: generic-ntb, at: rp0}]}\n"
                           "  - {name: b, cpu: generic-host, devices: [{name: "
                           "n, part: generic-ntb, at: rp0}]}\n"
                           "links: [{name: cable, ends: [a.n, b.n]}]\n";

static void check_usage(const char *words, const char *message)
{
    ck_assert_int_eq(program_run(words), 2);
    ck_assert_msg(strstr(program_err, message), "%s", program_err);
}

static void put_program(const char *name, const char *text)
{
    g_autofree char *path = program_place(name);

    program_put(name, text);
    ck_assert_int_eq(chmod(path, 0755), 0);
}

static void put_script(void)
{
    put_program("script", "#!/bin/sh\nexit 0\n");
}

START_TEST(wrong_options_are_refused)
{
    program_put("pair.yaml", good);
    put_script();
    check_usage("cluster explore pair.yaml", "--script is missing");
    check_usage("cluster explore pair.yaml --script none",
                "--script: none is no program");
    check_usage("cluster explore pair.yaml --script pair.yaml",
                "--script: pair.yaml is no program");
    check_usage("cluster explore pair.yaml --script script --only 5,x",
                "--only: 'x' is no seed");
    check_usage("cluster explore pair.yaml --script script --only 5,",
                "--only: '' is no seed");
    check_usage("cluster explore pair.yaml --script script --times 5s",
                "--times: '5s' is no BEGIN,END");
    check_usage("cluster explore pair.yaml --script script --times 5s,x",
                "--times: ");
    check_usage("cluster explore pair.yaml --script script --times 5s,4s",
                "--times: 5s,4s; write");
    check_usage("cluster explore pair.yaml --script script --seeds 0",
                "--seeds is 1 to ");
    check_usage("cluster explore pair.yaml --script script --jobs 65",
                "--jobs is 1 to 64");
    check_usage("cluster explore pair.yaml --script script --limit 5",
                "--limit: ");
    check_usage("cluster explore pair.yaml --script script --allow (",
                "--allow: ");
    check_usage("cluster explore pair.yaml --script script --resume "
                "--schedule x",
                "leave one out");
    check_usage("cluster explore --script script", "it takes FILE");
}
END_TEST

START_TEST(wrong_files_are_refused_with_their_place)
{
    g_autofree char *with_faults =
        g_strconcat(good,
                    "faults:\n  - {name: f, target: a, action: freeze, at: 1s, "
                    "for: 1us}\n",
                    NULL);

    put_script();
    program_put("pair.yaml", good);
    program_put("faults.yaml", with_faults);
    program_put("bad.yaml",
                "name: x\ncluster: pair.yaml\nfaults:\n"
                "  - {name: f, target: c, action: freeze, at: 1s}\n");
    check_usage("cluster explore faults.yaml --script script",
                "faults.yaml:7:5: the faults are those of each schedule");
    check_usage("cluster explore pair.yaml --script script --schedule bad.yaml",
                "bad.yaml:4:23: there is no host 'c'");
    check_usage("cluster explore none.yaml --script script", "none.yaml");
}
END_TEST

/* ---- Resume ------------------------------------------------------------- */

/* The hash that a report has of a file that both hosts use. */
static char *hash_of_both(const char *text)
{
    g_autofree char *one =
        g_compute_checksum_for_string(G_CHECKSUM_SHA256, text, -1);
    g_autofree char *both = g_strconcat(one, one, NULL);

    return g_compute_checksum_for_string(G_CHECKSUM_SHA256, both, -1);
}

static char *hash_of_program(const char *path)
{
    g_autofree char *text = NULL;
    gsize length;

    ck_assert(g_file_get_contents(path, &text, &length, NULL));
    return g_compute_checksum_for_data(G_CHECKSUM_SHA256, (guchar *)text,
                                       length);
}

/* Of farside, and of the files of put_guests() */
static char *hash_of_programs(void)
{
    static const char *const files[] = {"bin/qemu-system-x86_64", "plugin.so",
                                        "farside-devices.so", "timed.so",
                                        "farside-timed.so"};
    g_autofree char *own = hash_of_program(g_getenv("FARSIDE"));
    g_autoptr(GString) all = g_string_new(own);

    for (unsigned i = 0; i < G_N_ELEMENTS(files); i++) {
        g_autofree char *path = program_place(files[i]);
        g_autofree char *hash = hash_of_program(path);

        g_string_append(all, hash);
    }
    return g_compute_checksum_for_string(G_CHECKSUM_SHA256, all->str, -1);
}

static TopoDescription *load_pair(void)
{
    g_autoptr(TopoErrors) errors = topo_errors_new();
    g_autoptr(GPtrArray) changes = topo_changes_new();
    g_autofree char *path = program_place("pair.yaml");
    TopoDescription *description = topo_load(path, changes, errors);

    ck_assert_ptr_nonnull(description);
    return description;
}

/* Stand-ins for QEMU and the guests: nothing boots. */
static void put_guests(void)
{
    g_autofree char *guest = program_place("guest");
    g_autofree char *plugin = program_place("plugin.so");
    g_autofree char *timed = program_place("timed.so");
    g_autofree char *bin = program_place("bin");
    g_autofree char *path = g_strconcat(bin, ":", g_getenv("PATH"), NULL);

    put_program("bin/qemu-system-x86_64", "");
    program_put("plugin.so", "plugin");
    program_put("farside-devices.so", "devices");
    program_put("timed.so", "loader");
    program_put("farside-timed.so", "time");
    program_put("guest/vmlinuz", "kernel");
    program_put("guest/initramfs", "image");
    g_setenv("PATH", path, TRUE);
    g_setenv("FARSIDE_GUEST", guest, TRUE);
    g_setenv("FARSIDE_QEMU_PLUGIN", plugin, TRUE);
    g_setenv("FARSIDE_QEMU_TIMED", timed, TRUE);
}

static const char resume[] =
    "cluster explore pair.yaml --script script --resume --seeds 1 -o .";

START_TEST(a_complete_report_is_gone_on_with_if_the_guests_are_the_same)
{
    g_autoptr(TopoDescription) pair = NULL;
    g_autofree char *kernels = hash_of_both("kernel");
    g_autofree char *images = hash_of_both("image");
    g_autofree char *script = g_compute_checksum_for_string(
        G_CHECKSUM_SHA256, "#!/bin/sh\nexit 0\n", -1);
    g_autofree char *programs = NULL;
    g_autofree char *report = NULL;
    g_autofree char *more = NULL;
    g_autofree char *same = NULL;

    program_put("pair.yaml", good);
    put_script();
    put_guests();
    programs = hash_of_programs();
    pair = load_pair();
    report = g_strdup_printf(
        "# farside explore 1 description=%s script=%s programs=%s kernel=%s "
        "image=%s start=branch limit=120000000000ns allow=none "
        "from=1ns to=2ns\n"
        "seed,verdict,script_ms,seconds,faults,reason\n1,pass,3,4.0,,\n",
        pair->hash, script, programs, kernels, images);
    program_put("report.csv", report);
    ck_assert_msg(program_run(resume) == 0, "%s", program_err);
    ck_assert_ptr_nonnull(strstr(program_out, "1 passed"));
    ck_assert_ptr_null(strstr(program_out, "builds"));

    program_put("guest/initramfs", "image with another module");
    check_usage(resume, "of another image of the guests, or modules in it;");
    program_put("guest/initramfs", "image");
    program_put("guest/vmlinuz", "another kernel");
    check_usage(resume, "of another kernel of the guests;");
    program_put("guest/vmlinuz", "kernel");
    program_put("farside-devices.so", "another device");
    ck_assert_msg(program_run(resume) == 0, "%s", program_err);
    ck_assert_ptr_null(strstr(program_out, "builds"));
    same = read_file("report.csv");
    ck_assert_str_eq(same, report);
    more = g_strconcat(report, "# programs=71\n2,pass,3,4.0,,\n", NULL);
    program_put("report.csv", more);
    ck_assert_msg(program_run(resume) == 0, "%s", program_err);
    ck_assert_ptr_nonnull(
        strstr(program_out, "(by 2 builds of farside or QEMU)"));
    check_usage("cluster explore pair.yaml --script script --resume --seeds 1 "
                "-o . --limit 121s",
                "of another --limit;");
    check_usage("cluster explore pair.yaml --script script --resume --seeds 1 "
                "-o . --allow late",
                "of another --allow;");
}
END_TEST

/* A monitor cannot serve several branches. */
START_TEST(a_description_without_checkpoints_boots_each_schedule)
{
    g_autoptr(TopoDescription) pair = NULL;
    g_autofree char *programs = NULL;
    g_autofree char *report = NULL;
    g_autofree char *kernels = hash_of_both("kernel");
    g_autofree char *images = hash_of_both("image");
    g_autofree char *script = g_compute_checksum_for_string(
        G_CHECKSUM_SHA256, "#!/bin/sh\nexit 0\n", -1);
    g_autoptr(GString) text = g_string_new(good);

    g_string_replace(text, "at: rp0}]}", "at: rp0}], vm: {qmp: on}}", 1);
    program_put("pair.yaml", text->str);
    put_script();
    put_guests();
    pair = load_pair();
    programs = hash_of_programs();
    report = g_strdup_printf(
        "# farside explore 1 description=%s script=%s programs=%s kernel=%s "
        "image=%s start=branch limit=120000000000ns allow=none "
        "from=1ns to=2ns\n",
        pair->hash, script, programs, kernels, images);
    program_put("report.csv", report);
    check_usage(resume,
                "each schedule boots its machines, because there can be no "
                "checkpoint:\n");
    ck_assert_ptr_nonnull(strstr(program_err, "`qmp`, which cannot serve"));
    ck_assert_ptr_nonnull(strstr(
        program_err, "of another start: now each schedule boots its machines"));
}
END_TEST

/* ---- A schedule, with a stand-in for the cluster ------------------------ */

/*
 * A script tells by the file `now` what virtual time it is, in ns. The machines
 * give no checkpoint for `busy` ms, and refuse it then with the status
 * `refusal`; a command takes `answer` ns.
 */
typedef struct Stage {
    XplExplore explore;
    TopoDescription *description;
    char *file, *script, *dir;
    int busy, refusal;
    int64_t answer;
    unsigned boots, branches, checkpoints, advances;
    XplResult result;
} Stage;

static int64_t now(void)
{
    g_autofree char *text = read_file("now");

    return g_ascii_strtoll(text, NULL, 10);
}

static void pass(int64_t ns)
{
    g_autofree char *text = g_strdup_printf("%" G_GINT64_FORMAT, now() + ns);

    program_put("now", text);
}

static int say(const XplCall *call, const char *text, int status)
{
    ck_assert(g_file_set_contents(call->output, text, -1, NULL));
    return status;
}

static int stage_boot(void *owner, const XplCall *call, const XplBoot *boot)
{
    Stage *stage = owner;

    stage->boots++;
    return 0;
}

static int stage_ask(void *owner, const XplCall *call, const char *name,
                     const char *const *words)
{
    Stage *stage = owner;

    if (strcmp(words[0], "exec-whole") == 0) {
        pass(stage->answer);
    } else if (strcmp(words[0], "advance") == 0) {
        ck_assert_str_eq(words[1], "1000000");
        pass(1000000);
        stage->busy--;
        stage->advances++;
    } else if (strcmp(words[0], "branch") == 0) {
        stage->branches++;
    } else {
        ck_assert_str_eq(words[0], "checkpoint");
        stage->checkpoints++;
        return stage->busy > 0      ? say(call, "busy\n", CLU_CONTROL_AGAIN)
               : stage->refusal > 0 ? say(call, "no, not now\n", stage->refusal)
                                    : 0;
    }
    return 0;
}

static void report_free(void *data)
{
    CluHostReport *report = data;

    g_free(report->state);
    g_free(report);
}

static GPtrArray *stage_hosts(void *owner, const char *name)
{
    GPtrArray *hosts = g_ptr_array_new_with_free_func(report_free);
    const int64_t times[] = {now(), 1};

    for (unsigned i = 0; i < G_N_ELEMENTS(times); i++) {
        CluHostReport *report = g_new0(CluHostReport, 1);

        report->state = g_strdup("up");
        report->virtual_ns = times[i];
        g_ptr_array_add(hosts, report);
    }
    return hosts;
}

static char *stage_console(void *owner, const char *name, const char *host)
{
    return g_strdup("");
}

static void stage_down(void *owner, const char *name)
{
}

static void stage_set(Stage *stage)
{
    static const XplMachinesOps ops = {.boot = stage_boot,
                                       .ask = stage_ask,
                                       .hosts = stage_hosts,
                                       .console = stage_console,
                                       .down = stage_down};

    program_put("pair.yaml", good);
    put_script();
    program_put("now", "10000000000\n");
    *stage = (Stage){.description = load_pair(),
                     .file = program_place("pair.yaml"),
                     .script = program_place("script"),
                     .dir = program_place("run"),
                     .answer = 5};
    stage->explore = (XplExplore){.machines = {.ops = &ops, .owner = stage},
                                  .program = "farside",
                                  .invariants = "",
                                  .verb = "cluster explore",
                                  .file = stage->file,
                                  .script = stage->script,
                                  .description = stage->description,
                                  .limit_ns = 1000000000,
                                  .patience_s = 100};
}

static void stage_run(Stage *stage)
{
    g_autoptr(GArray) none = g_array_new(FALSE, TRUE, sizeof(TopoFault));

    xpl_result_clear(&stage->result);
    xpl_run(&stage->explore, none, "stage", stage->dir, NULL, &stage->result);
}

static void stage_clear(Stage *stage)
{
    xpl_end(&stage->explore);
    xpl_result_clear(&stage->result);
    topo_description_free(stage->description);
    g_free(stage->file);
    g_free(stage->script);
    g_free(stage->dir);
}

/* Each script ends at once in real time, before anybody looks. */
START_TEST(a_script_hangs_by_virtual_time_alone)
{
    Stage stage;

    stage_set(&stage);
    put_program("script", "#!/bin/sh\necho 11000000000 >\"${0%/*}/now\"\n");
    stage_run(&stage);
    ck_assert_msg(stage.result.verdict == XPL_PASS, "%s", stage.result.reason);
    ck_assert_int_eq(stage.result.end_ns - stage.result.begin_ns, 1000000000);

    program_put("now", "10000000000\n");
    put_program("script", "#!/bin/sh\necho 11000000001 >\"${0%/*}/now\"\n");
    stage_run(&stage);
    ck_assert_int_eq(stage.result.verdict, XPL_FAIL);
    ck_assert_int_eq(stage.result.cause, XPL_HANG);
    /* Not by how much it was late: that depends on when it was told to end. */
    ck_assert_int_eq(stage.result.end_ns - stage.result.begin_ns, 1000000000);
    stage_clear(&stage);
}
END_TEST

START_TEST(a_host_answers_within_10_s_of_virtual_time)
{
    Stage stage;

    stage_set(&stage);
    stage.answer = 10000000000;
    stage_run(&stage);
    ck_assert_int_eq(stage.result.verdict, XPL_PASS);
    stage.answer = 10000000001;
    stage_run(&stage);
    ck_assert_int_eq(stage.result.verdict, XPL_FAIL);
    ck_assert_int_eq(stage.result.cause, XPL_LOST);
    ck_assert_str_eq(stage.result.reason, "a does not answer any more");
    stage_clear(&stage);
}
END_TEST

START_TEST(a_checkpoint_is_tried_again_a_little_later)
{
    Stage stage;

    stage_set(&stage);
    stage.busy = 3;
    stage_run(&stage);
    ck_assert_msg(stage.result.verdict == XPL_PASS, "%s", stage.result.reason);
    ck_assert_uint_eq(stage.checkpoints, 4);
    ck_assert_uint_eq(stage.advances, 3);
    ck_assert_int_eq(stage.explore.template_ns, 10003000000);
    stage_run(&stage);
    ck_assert_uint_eq(stage.boots, 1);
    ck_assert_uint_eq(stage.branches, 2);
    stage_clear(&stage);
}
END_TEST

/* Schedules that boot in place of branches would be other tests. */
START_TEST(without_a_checkpoint_the_exploration_ends)
{
    for (unsigned i = 0; i < 2; i++) {
        Stage stage;

        stage_set(&stage);
        stage.refusal = i == 0 ? 1 : 0;
        stage.busy = i == 0 ? 0 : 1000000;
        stage_run(&stage);
        ck_assert_int_eq(stage.result.verdict, XPL_ERROR);
        ck_assert_ptr_nonnull(stage.explore.failure);
        ck_assert_msg(
            strstr(stage.explore.failure, "there is no checkpoint") &&
                strstr(stage.explore.failure, i == 0 ? "no, not now" : "busy"),
            "%s", stage.explore.failure);
        ck_assert_int_eq(stage.explore.is_stopped, 1);
        stage_run(&stage);
        ck_assert_int_eq(stage.result.verdict, XPL_ERROR);
        ck_assert_uint_eq(stage.boots, 1);
        ck_assert_uint_eq(stage.branches, 0);
        ck_assert(!stage.explore.boots);
        stage_clear(&stage);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cmd_explore");
    TCase *tcase = tcase_create("explore");

    tcase_add_checked_fixture(tcase, program_setup, program_teardown);
    tcase_add_test(tcase, a_report_goes_on_at_the_next_seed);
    tcase_add_test(tcase, a_line_that_is_not_whole_is_cut_off);
    tcase_add_test(tcase, a_report_that_belongs_to_others_is_refused);
    tcase_add_test(tcase, results_of_each_build_are_told_apart);
    tcase_add_test(tcase, another_report_is_refused);
    tcase_add_test(tcase, a_kernels_report_is_found);
    tcase_add_test(tcase, wrong_options_are_refused);
    tcase_add_test(tcase, wrong_files_are_refused_with_their_place);
    tcase_add_test(
        tcase, a_complete_report_is_gone_on_with_if_the_guests_are_the_same);
    tcase_add_test(tcase,
                   a_description_without_checkpoints_boots_each_schedule);
    tcase_add_test(tcase, a_script_hangs_by_virtual_time_alone);
    tcase_add_test(tcase, a_host_answers_within_10_s_of_virtual_time);
    tcase_add_test(tcase, a_checkpoint_is_tried_again_a_little_later);
    tcase_add_test(tcase, without_a_checkpoint_the_exploration_ends);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
