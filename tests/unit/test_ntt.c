/* SPDX-License-Identifier: MIT */
/*
 * Invariants of ntb-test, without machines: each step of a client has a
 * verdict; nothing is skipped in silence, and no failure but the expected one,
 * told by its words, is excused. The table shows the worst verdict of a chip
 * and a client. A JUnit report is XML. Each row of the tables belongs to a
 * chip, a client and a step that exist. The image with a kernel has its NTB
 * modules and no others that are built, and is made before any cluster. A
 * kernel that does not boot is a fault of each client, and boots once.
 */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <check.h>
#include <glib.h>

#include "ntt_report.h"
#include "ntt_run.h"
#include "program.h"
#include "table_format.h"
#include "../suite.h"

static NttPlace place(const char *chip, const char *client, const char *from)
{
    NttPlace place = {.chip = ntt_chip_find(chip),
                      .client = ntt_client_find(client),
                      .from = from,
                      .to = strcmp(from, "a") == 0 ? "b" : "a",
                      .series = 6001};

    ck_assert_ptr_nonnull(place.chip);
    ck_assert_ptr_nonnull(place.client);
    return place;
}

static GPtrArray *judged(const char *chip, const char *client, const char *from,
                         const char *output)
{
    const NttPlace where = place(chip, client, from);
    GPtrArray *results =
        g_ptr_array_new_with_free_func((GDestroyNotify)ntt_result_free);

    ntt_judge(&where, output, "status 7", results);
    return results;
}

/* Checks the verdict and the text of each step, as "STEP=verdict" words. */
static void assert_verdicts(const GPtrArray *results, const char *expected)
{
    g_autoptr(GString) text = g_string_new(NULL);

    for (unsigned i = 0; i < results->len; i++) {
        const NttResult *result = results->pdata[i];

        g_string_append_printf(text, "%s%s=%s", i ? "; " : "", result->step,
                               ntt_verdict_name(result->verdict));
    }
    ck_assert_str_eq(text->str, expected);
}

START_TEST(steps_get_verdicts)
{
    g_autoptr(GPtrArray) results =
        judged("switchtec", "tool", "a",
               "ok ports\nnot ok doorbells\n# b has 0x0\n# a line\nok window "
               "0\nend\n");

    assert_verdicts(results, "ports=ok; doorbells=FAULT; window 0=ok");
    ck_assert_str_eq(((NttResult *)results->pdata[1])->text,
                     "b has 0x0\na line\n");
}
END_TEST

START_TEST(no_end_is_a_fault)
{
    g_autoptr(GPtrArray) cut =
        judged("switchtec", "tool", "a", "ok ports\nok doorbells\n");
    g_autoptr(GPtrArray) nothing =
        judged("switchtec", "tool", "a", "sh: not found\n");

    assert_verdicts(cut, "ports=ok; doorbells=ok; comes to its end=FAULT");
    ck_assert_str_eq(((NttResult *)cut->pdata[2])->text, "status 7");
    assert_verdicts(nothing, "comes to its end=FAULT");
    ck_assert_str_eq(((NttResult *)nothing->pdata[0])->text, "sh: not found\n");
}
END_TEST

START_TEST(expected_is_told_by_its_words)
{
    g_autoptr(GPtrArray) cannot =
        judged("amd", "tool", "a",
               "not ok messages\n# unsupported: the driver has none\nend\n");
    g_autoptr(GPtrArray) other =
        judged("amd", "tool", "a", "not ok messages\n# I/O error\nend\n");
    g_autoptr(GPtrArray) works =
        judged("amd", "tool", "a", "ok messages\nend\n");

    assert_verdicts(cannot, "messages=cannot");
    assert_verdicts(other, "messages=FAULT");
    assert_verdicts(works, "messages=changed");
}
END_TEST

/* A defect of one side excuses nothing on the other one. */
START_TEST(expected_of_one_side)
{
    const char *output =
        "not ok b enables the link\n# sh: Invalid argument\nend\n";
    g_autoptr(GPtrArray) b = judged("amd", "tool", "b", output);
    g_autoptr(GPtrArray) a = judged("amd", "tool", "a", output);

    assert_verdicts(b, "b enables the link=defect");
    assert_verdicts(a, "b enables the link=FAULT");
}
END_TEST

/* A race need not show; then nothing has changed. */
START_TEST(rare_defects_may_not_show)
{
    g_autoptr(GPtrArray) shows =
        judged("amd", "perf", "a",
               "not ok they tell each other their windows\n# the hosts have "
               "not told each other their windows\nend\n");
    g_autoptr(GPtrArray) not = judged(
        "amd", "perf", "a", "ok they tell each other their windows\nend\n");

    assert_verdicts(shows, "they tell each other their windows=defect");
    assert_verdicts(not, "they tell each other their windows=ok");
}
END_TEST

START_TEST(nothing_is_left_out_in_silence)
{
    const NttPlace amd = place("amd", "ntb_test", "a");
    const NttPlace switchtec = place("switchtec", "ntb_test", "a");
    g_autofree char *out = ntt_left_out(&amd);
    g_autofree char *none = ntt_left_out(&switchtec);
    g_autoptr(GPtrArray) told = judged("amd", "ntb_test", "a",
                                       "left out link\nleft out link 2\n"
                                       "left out MSI\nend\n");
    g_autoptr(GPtrArray) own =
        judged("switchtec", "ntb_test", "a", "left out link\nend\n");

    ck_assert_ptr_nonnull(strstr(out, "link\n"));
    ck_assert_ptr_nonnull(strstr(out, "MSI\n"));
    ck_assert_str_eq(none, "");
    assert_verdicts(told, "link=cannot; link 2=cannot; MSI=cannot");
    assert_verdicts(own, "link=FAULT");
}
END_TEST

/* A step that is to be left out and fails all the same was not left out. */
START_TEST(a_failure_of_what_is_left_out)
{
    g_autoptr(GPtrArray) results =
        judged("amd", "ntb_test", "a", "not ok link\n# it ends here\nend\n");

    assert_verdicts(results, "link=FAULT");
}
END_TEST

START_TEST(table_shows_the_worst)
{
    g_autoptr(GPtrArray) results = judged(
        "amd", "tool", "a", "ok ports\nnot ok messages\n# unsupported\nend\n");
    g_autoptr(GPtrArray) more =
        judged("switchtec", "pingpong", "a",
               "ok ports\nnot ok a counts\nnot ok b counts\nend\n");
    g_autoptr(Table) table = NULL;
    g_autofree char *text = NULL;

    g_ptr_array_extend_and_steal(results, g_steal_pointer(&more));
    table = ntt_report_table(results);
    text = table_format(table);
    ck_assert_uint_eq(table_n_rows(table), 2);
    ck_assert_uint_eq(table_n_columns(table), 3); /* chip, tool, pingpong */
    ck_assert_str_eq(table_text(table, 0, 0), "switchtec");
    ck_assert_str_eq(table_text(table, 0, 1), "");
    ck_assert_str_eq(table_text(table, 0, 2), "FAULT 2");
    ck_assert_str_eq(table_text(table, 1, 1), "cannot 1");
    ck_assert_uint_eq(ntt_report_count(results, NTT_FAULT), 2);
}
END_TEST

START_TEST(text_has_faults_first)
{
    g_autoptr(GPtrArray) results =
        judged("amd", "tool", "a",
               "not ok messages\n# unsupported\nnot ok window 1\n# md5 "
               "differs\nend\n");
    g_autofree char *text = ntt_report_text(results);

    ck_assert_msg(
        g_str_has_prefix(text, "FAULTS: 1\n"
                               "  amd, tool from a to b: window 1\n"
                               "      md5 differs\n"
                               "Not possible with these chips and drivers:\n"
                               "  no-messages: "),
        "%s", text);
}
END_TEST

/* GLib's parser refuses what is no XML; the counts are attributes. */
START_TEST(junit_is_xml)
{
    static const GMarkupParser parser; /* it takes all that is XML */
    g_autoptr(GMarkupParseContext) context =
        g_markup_parse_context_new(&parser, 0, NULL, NULL);
    g_autoptr(GPtrArray) results = judged(
        "amd", "tool", "a",
        "ok ports\nnot ok messages\n# unsupported\nnot ok a <&> \"b\"\n# "
        "\x1b[31m<red>\nend\n");
    g_autofree char *xml = ntt_report_junit(results);
    GError *error = NULL;

    ck_assert_msg(g_markup_parse_context_parse(context, xml, -1, &error) &&
                      g_markup_parse_context_end_parse(context, &error),
                  "%s: %s", error ? error->message : "", xml);
    ck_assert_ptr_nonnull(
        strstr(xml, "<testsuite name=\"amd\" tests=\"3\" failures=\"1\" "
                    "skipped=\"1\">"));
    ck_assert_ptr_nonnull(strstr(xml, "not possible no-messages: "));
    ck_assert_ptr_null(strchr(xml, '\x1b'));
}
END_TEST

START_TEST(series_can_be_compared)
{
    ck_assert_uint_eq(ntt_series("6.1.0-56-amd64"), 6001);
    ck_assert_uint_eq(ntt_series("6.12.117"), 6012);
    ck_assert_uint_gt(ntt_series("6.12.1"), ntt_series("6.2.1"));
    ck_assert_uint_gt(ntt_series("7.0"), ntt_series("6.99"));
    ck_assert_uint_eq(ntt_series("none"), 0);
}
END_TEST

/* An expectation of a chip or a client that does not exist would excuse
 * nothing. */
START_TEST(rows_belong_to_something)
{
    for (const NttExpected *row = ntt_expected; row->name; row++) {
        g_autoptr(GRegex) words = g_regex_new(row->words ? row->words : "",
                                              G_REGEX_MULTILINE, 0, NULL);
        bool has_chip = false, has_client = false;

        for (const NttChip *chip = ntt_chips; chip->name; chip++) {
            has_chip |= g_pattern_match_simple(row->chip, chip->name);
        }
        for (const NttClient *client = ntt_clients; client->name; client++) {
            has_client |= g_pattern_match_simple(row->client, client->name);
        }
        ck_assert_msg(has_chip && has_client, "%s: %s, %s", row->name,
                      row->chip, row->client);
        ck_assert_msg(!!words, "%s: %s", row->name, row->words);
    }
}
END_TEST

/* Runs a script of the form of ntb_test.sh without the steps that are left out
 * at @where. Returns what it prints, to be freed. */
static char *run_without(const NttPlace *where)
{
    static const char script[] = "set -e\n"
                                 "function link_test() { echo link $1; }\n"
                                 "function mw_test() { echo mw; }\n"
                                 "function ntb_msi_tests() { echo MSI; }\n"
                                 "function ntb_pingpong_tests() { echo pp; }\n"
                                 "function ntb_perf_tests() { echo perf; }\n"
                                 "function ntb_tool_tests() {\n"
                                 "    link_test \"$1\"\n"
                                 "    if ! false; then echo db; fi\n"
                                 "    link_test \"$2\"\n"
                                 "    mw_test \"$2\"\n"
                                 "}\n"
                                 "ntb_tool_tests \"$@\"\n"
                                 "ntb_pingpong_tests\n"
                                 "ntb_msi_tests\n"
                                 "ntb_perf_tests\n"
                                 "false\n"
                                 "echo \"it goes on\"\n";
    g_autofree char *path = NULL, *left_out = ntt_left_out(where);
    const int fd = g_file_open_tmp("ntt-XXXXXX", &path, NULL);
    const char *const argv[] = {TOPO_SOURCE_ROOT
                                "/ntbtest/clients/leave_out.sh",
                                path, "here", "there", NULL};
    char **envp =
        g_environ_setenv(g_get_environ(), "FARSIDE_LEAVE_OUT", left_out, TRUE);
    char *said;
    int status;

    ck_assert_int_eq(write(fd, script, strlen(script)), strlen(script));
    close(fd);
    ck_assert(g_spawn_sync(NULL, (char **)argv, envp, G_SPAWN_DEFAULT, NULL,
                           NULL, &said, NULL, &status, NULL));
    /* `set -e` counts, as without the program. */
    ck_assert(!g_spawn_check_wait_status(status, NULL));
    unlink(path);
    g_strfreev(envp);
    return said;
}

/* A step without words is left out, and the script goes on after it. */
START_TEST(steps_are_left_out_of_the_script)
{
    static const struct {
        const char *chip, *said;
        unsigned series;
    } cases[] = {
        {"switchtec", "link here\ndb\nlink there\nmw\npp\nMSI\nperf\n", 6001},
        {"switchtec",
         "link here\ndb\nlink there\nLeft out: mw\npp\nMSI\nperf\n", 7003},
        {"intel-gen1",
         "link here\ndb\nlink there\nmw\npp\nLeft out: MSI\n"
         "Left out: local perf\n",
         6001},
        {"intel-gen1-split",
         "link here\ndb\nlink there\nmw\nLeft out: ping pong\n"
         "Left out: MSI\nperf\n",
         6001},
        {"amd",
         "Left out: link\ndb\nLeft out: link\nmw\npp\nLeft out: MSI\nperf\n",
         6001},
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        NttPlace where = place(cases[i].chip, "ntb_test", "a");
        g_autofree char *said = NULL;

        where.series = cases[i].series;
        said = run_without(&where);

        ck_assert_str_eq(said, cases[i].said);
    }
}
END_TEST

/* leave_out.sh knows each step that is left out of ntb_test.sh. */
START_TEST(steps_that_are_left_out_are_known)
{
    for (const NttExpected *row = ntt_expected; row->name; row++) {
        ck_assert_msg(row->words || strcmp(row->client, "ntb_test") != 0 ||
                          strcmp(row->step, "link*") == 0 ||
                          strcmp(row->step, "mw*") == 0 ||
                          strcmp(row->step, "ping pong") == 0 ||
                          strcmp(row->step, "local perf") == 0 ||
                          strcmp(row->step, "MSI") == 0,
                      "%s", row->step);
    }
}
END_TEST

/* Each chip has a description that loads with its changes, hosts on one chip,
 * and a program for each client. */
START_TEST(rows_have_files)
{
    g_autoptr(GPtrArray) keys = g_ptr_array_new();
    NttKernel kernel = {.keys = keys};

    g_ptr_array_add(keys, (char *)"memory=320MiB");
    for (const NttChip *chip = ntt_chips; chip->name; chip++) {
        g_autoptr(GError) error = NULL;
        NttSubject *subject = ntt_subject_new(chip, &kernel, &error);
        unsigned hosts, backs = 0;

        ck_assert_msg(!!subject, "%s: %s", chip->name,
                      error ? error->message : "");
        hosts = subject->description->hosts->len;
        ck_assert_uint_ge(hosts, 2);
        ck_assert_uint_eq(subject->pairs->len, hosts * (hosts - 1));
        for (unsigned i = 0; i < subject->pairs->len; i++) {
            backs += ntt_pair_is_way_back(subject->pairs, i);
        }
        ck_assert_uint_eq(backs, hosts * (hosts - 1) / 2);
        ntt_subject_free(subject);
    }
    for (const NttClient *client = ntt_clients; client->name; client++) {
        g_autofree char *path = g_build_filename(TOPO_SOURCE_ROOT, "ntbtest",
                                                 "clients", client->name, NULL);

        ck_assert_msg(access(path, X_OK) == 0, "%s", path);
    }
}
END_TEST

/* ---- The kernel ---------------------------------------------------------- */

static void tell(void *owner, const char *text)
{
    g_string_append_printf(owner, "%s\n", text);
}

static void forget(const char *dir)
{
    const char *const argv[] = {"rm", "-rf", dir, NULL};

    g_spawn_sync(NULL, (char **)argv, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL,
                 NULL, NULL, NULL, NULL);
}

static void put(const char *dir, const char *path, const char *text)
{
    g_autofree char *file = g_build_filename(dir, path, NULL);
    g_autofree char *folder = g_path_get_dirname(file);

    ck_assert_int_eq(g_mkdir_with_parents(folder, 0755), 0);
    ck_assert(g_file_set_contents(file, text, -1, NULL));
}

/* Adds " NAME=VALUE" to @text if there is a value. */
static void add_word(GString *text, const char *name, const char *value)
{
    if (value) {
        g_string_append_printf(text, "%s%s=%s", text->len ? " " : "", name,
                               value);
    }
}

/* Checks what the image with the kernel of @words is made of, joined by a
 * space, in which DIR stands for @dir, that machines boot it, and that what is
 * said has @said; or, if @made_of is NULL, that the words are refused so. */
static void assert_kernel(const NttKernelWords *words, const char *dir,
                          const char *made_of, const char *said)
{
    g_autoptr(GString) text = g_string_new(NULL);
    const ImgNotes notes = {.tell = tell, .owner = text};
    g_autoptr(GError) error = NULL;
    NttKernel kernel;
    bool is_found = ntt_kernel_find(words, &notes, &kernel, &error);

    ck_assert_msg(is_found == !!made_of, "%s",
                  error ? error->message : "found");
    if (made_of) {
        g_autoptr(GString) got = g_string_new(NULL);

        add_word(got, "series", kernel.image.series);
        add_word(got, "kernel", kernel.image.file);
        add_word(got, "modules", kernel.image.modules);
        add_word(got, "source", kernel.image.source);
        g_string_replace(got, dir, "DIR", 0);
        ck_assert_str_eq(got->str, made_of);
        ck_assert_uint_eq(kernel.keys->len, 1);
        ck_assert(g_str_has_prefix(kernel.keys->pdata[0], "image=/"));
        ck_assert_msg(!!strstr(text->str, said), "%s", text->str);
    } else {
        ck_assert_msg(!!strstr(error->message, said), "%s", error->message);
    }
    ntt_kernel_clear(&kernel);
}

START_TEST(kernels_of_trees)
{
    g_autofree char *dir = g_dir_make_tmp("ntt-XXXXXX", NULL);
    NttKernelWords words = {.tree = dir};

    assert_kernel(&words, dir, NULL, "has no drivers/ntb");
    put(dir, "drivers/ntb/core.c", "");
    assert_kernel(&words, dir, "source=DIR",
                  "for the usual kernel; the rest of the tree is not used");
    words.series = (char *)"6.12";
    assert_kernel(&words, dir, "series=6.12 source=DIR",
                  "for the installed kernel");
    words.series = (char *)"6.12.1";
    assert_kernel(&words, dir, NULL, "'6.12.1' is not a series");
    words.series = NULL;
    put(dir, "include/config/kernel.release", "7.1.0\n");
    put(dir, "arch/x86/boot/bzImage", "");
    assert_kernel(&words, dir, "kernel=DIR/arch/x86/boot/bzImage modules=DIR",
                  "its kernel and its modules are used");
    words.debug = TRUE;
    assert_kernel(&words, dir, NULL, "does not go with --debug");
    words.series = (char *)"6.12";
    assert_kernel(&words, dir, NULL, "leave all but one out");
    forget(dir);
}
END_TEST

/* A package is unpacked, and its modules get their list. */
START_TEST(kernels_of_packages)
{
    g_autofree char *dir = g_dir_make_tmp("ntt-XXXXXX", NULL);
    g_autofree char *deb = g_build_filename(dir, "linux-image.deb", NULL);
    g_autofree char *root = g_build_filename(dir, "root", NULL);
    char *packages[] = {deb, NULL};
    const NttKernelWords words = {.packages = packages};
    const char *const argv[] = {"dpkg-deb", "--build", root, deb, NULL};
    g_autofree char *cache =
        g_build_filename(g_get_user_cache_dir(), "farside", NULL);
    g_autofree char *tool = g_find_program_in_path("dpkg-deb");
    int status;

    assert_kernel(&words, dir, NULL, "linux-image.deb does not exist");
    if (!tool) {
        forget(dir);
        return;
    }
    put(root, "DEBIAN/control",
        "Package: linux-image\nVersion: 1\nArchitecture: all\n"
        "Maintainer: none <none@none>\nDescription: none\n");
    put(root, "lib/modules/7.1.0-test/kernel/none", "");
    ck_assert(g_spawn_sync(NULL, (char **)argv, NULL,
                           G_SPAWN_SEARCH_PATH | G_SPAWN_STDOUT_TO_DEV_NULL,
                           NULL, NULL, NULL, NULL, &status, NULL));
    ck_assert(g_spawn_check_wait_status(status, NULL));
    assert_kernel(&words, dir, NULL, "no package has both");
    put(root, "boot/vmlinuz-7.1.0-test", "kernel");
    ck_assert(g_spawn_sync(NULL, (char **)argv, NULL,
                           G_SPAWN_SEARCH_PATH | G_SPAWN_STDOUT_TO_DEV_NULL,
                           NULL, NULL, NULL, NULL, &status, NULL));
    {
        g_autoptr(GString) text = g_string_new(NULL);
        const ImgNotes notes = {.tell = tell, .owner = text};
        g_autoptr(GError) error = NULL;
        NttKernel kernel;
        const ImgKernel *image = &kernel.image;
        g_autofree char *list = NULL;

        ck_assert_msg(ntt_kernel_find(&words, &notes, &kernel, &error), "%s",
                      error ? error->message : "");
        ck_assert(g_str_has_suffix(image->file, "/boot/vmlinuz-7.1.0-test"));
        ck_assert(g_str_has_prefix(image->file, cache));
        list = g_build_filename(image->modules,
                                "lib/modules/7.1.0-test/modules.dep", NULL);
        ck_assert(g_file_test(list, G_FILE_TEST_EXISTS));
        ck_assert(strstr(text->str, "7.1.0-test of the package"));
        ntt_kernel_clear(&kernel);
    }
    forget(dir);
}
END_TEST

/* The kernels of no words and of --debug have images that `make` makes. */
START_TEST(images_that_are_there)
{
    const struct {
        NttKernelWords words;
        unsigned keys;
    } cases[] = {{{.debug = FALSE}, 0}, {{.debug = TRUE}, 2}};

    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(GString) text = g_string_new(NULL);
        const ImgNotes notes = {.tell = tell, .owner = text};
        NttKernel kernel;

        ck_assert(ntt_kernel_find(&cases[i].words, &notes, &kernel, NULL));
        ck_assert_uint_eq(kernel.keys->len, cases[i].keys);
        ck_assert(!kernel.has_image);
        ck_assert(ntt_kernel_make(&kernel, &notes, NULL));
        ck_assert_str_eq(text->str, "");
        ntt_kernel_clear(&kernel);
    }
}
END_TEST

/* Makes an installation in the folder of program.h: its program, which becomes
 * FARSIDE, its scenarios, the modules of Device Lending, and a program that
 * makes images, which writes its arguments into the file "said" and fails. */
static void install(void)
{
    g_autofree char *program = program_place("bin/farside");
    g_autofree char *share = program_place("share/farside");
    g_autofree char *scenarios = g_build_filename(share, "scenarios", NULL);
    g_autofree char *build = g_build_filename(share, "host/guest/build", NULL);
    g_autofree char *script = g_strdup_printf(
        "#!/bin/sh\necho \"$@\" >%s/said\nexit 1\n", program_folder);
    g_autofree char *bytes = NULL;
    gsize length;

    ck_assert(g_file_get_contents(g_getenv("FARSIDE"), &bytes, &length, NULL));
    program_put("bin/farside", "");
    ck_assert(g_file_set_contents(program, bytes, (gssize)length, NULL));
    program_put("share/farside/host/guest/build", script);
    program_put("share/farside/kmod/Kbuild", "");
    ck_assert_int_eq(chmod(program, 0755) + chmod(build, 0755), 0);
    ck_assert_int_eq(symlink(TOPO_SOURCE_ROOT "/scenarios", scenarios), 0);
    g_setenv("FARSIDE", program, TRUE);
}

/* Runs ntb-test with @words; it fails. Returns the arguments with which it made
 * an image, after the image's folder; to be freed. NULL if it made none. */
static char *arguments_of_image(const char *words)
{
    g_autofree char *line =
        g_strconcat("ntb-test --chip amd --client tool -o @/out ", words, NULL);
    g_autofree char *said = program_place("said");
    g_autofree char *text = NULL;
    const char *blank;

    unlink(said);
    ck_assert_int_ne(program_run(line), 0);
    if (!g_file_get_contents(said, &text, NULL, NULL)) {
        return NULL;
    }
    ck_assert_msg(!!strstr(program_err, "the guest's image cannot be made"),
                  "%s", program_err);
    ck_assert_str_eq(program_out, ""); /* no client has run */
    g_strchomp(text);
    ck_assert(g_str_has_prefix(text, g_getenv("XDG_CACHE_HOME")));
    blank = strchr(text, ' ');
    return g_strdup(blank ? blank + 1 : "");
}

/* The modules of Device Lending would take longer to build than all others. */
START_TEST(images_have_the_ntb_modules_alone)
{
    g_autofree char *tree = NULL;
    g_autofree char *both = NULL;
    char *said;

    install();
    program_put("tree/drivers/ntb/core.c", "");
    tree = g_strdup_printf("--source %s/tree", program_folder);
    both = g_strdup_printf("--kernel 6.12 %s", tree);
    said = arguments_of_image("--kernel 6.12");
    ck_assert_str_eq(said, "--kernel 6.12");
    g_free(said);
    said = arguments_of_image("--kernel-tree @/tree");
    ck_assert_str_eq(said, tree);
    g_free(said);
    said = arguments_of_image("--kernel 6.12 --kernel-tree @/tree");
    ck_assert_str_eq(said, both);
    g_free(said);
    /* A word that is wrong is refused first. */
    ck_assert_ptr_null(arguments_of_image("--kernel 6.12 --pair x:y"));
    ck_assert_msg(!!strstr(program_err, "no chosen chip has the hosts"), "%s",
                  program_err);
}
END_TEST

static void keep(void *owner, NttResult *result)
{
    g_ptr_array_add(owner, result);
}

START_TEST(a_kernel_that_does_not_boot)
{
    g_autoptr(GPtrArray) results =
        g_ptr_array_new_with_free_func((GDestroyNotify)ntt_result_free);
    g_autoptr(GPtrArray) clients = g_ptr_array_new();
    g_autoptr(GPtrArray) keys = g_ptr_array_new();
    NttKernel kernel = {.keys = keys};
    g_autofree char *program =
        g_build_filename(program_folder, "farside", NULL);
    g_autofree char *calls = g_build_filename(program_folder, "calls", NULL);
    g_autofree char *said = NULL;
    NttBench bench = {.program = program,
                      .clients = program_folder,
                      .out = program_folder,
                      .kernel = &kernel,
                      .slow = 1,
                      .got = keep,
                      .owner = results};
    NttSubject *subject =
        ntt_subject_new(ntt_chip_find("switchtec"), &kernel, NULL);

    ck_assert_ptr_nonnull(subject);
    program_put("farside", "#!/bin/sh\n"
                           "echo $1 $2 >>\"${0%/*}/calls\"\n"
                           "echo host a does not boot\n"
                           "[ $2 = down ]\n");
    ck_assert_int_eq(chmod(program, 0755), 0);
    g_ptr_array_add(clients, (void *)ntt_client_find("tool"));
    g_ptr_array_add(clients, (void *)ntt_client_find("perf"));
    ntt_run(&bench, subject, clients, "ntt-no-boot");
    ck_assert_uint_eq(results->len, 4); /* two clients, both ways */
    for (unsigned i = 0; i < results->len; i++) {
        const NttResult *result = results->pdata[i];

        ck_assert_int_eq(result->verdict, NTT_FAULT);
        ck_assert_str_eq(result->step, "the hosts boot");
        ck_assert_ptr_nonnull(strstr(result->text, "host a does not boot"));
    }
    ck_assert(g_file_get_contents(calls, &said, NULL, NULL));
    ck_assert_str_eq(said, "cluster up\ncluster down\n");
    ntt_subject_free(subject);
}
END_TEST

int main(void)
{
    g_autofree char *cache = g_dir_make_tmp("ntt-XXXXXX", NULL);
    int status;
    Suite *suite = suite_create("ntt");
    TCase *tcase = tcase_create("ntt");

    tcase_add_test(tcase, steps_get_verdicts);
    tcase_add_test(tcase, no_end_is_a_fault);
    tcase_add_test(tcase, expected_is_told_by_its_words);
    tcase_add_test(tcase, expected_of_one_side);
    tcase_add_test(tcase, rare_defects_may_not_show);
    tcase_add_test(tcase, nothing_is_left_out_in_silence);
    tcase_add_test(tcase, a_failure_of_what_is_left_out);
    tcase_add_test(tcase, table_shows_the_worst);
    tcase_add_test(tcase, text_has_faults_first);
    tcase_add_test(tcase, junit_is_xml);
    tcase_add_test(tcase, series_can_be_compared);
    tcase_add_test(tcase, rows_belong_to_something);
    tcase_add_test(tcase, steps_are_left_out_of_the_script);
    tcase_add_test(tcase, steps_that_are_left_out_are_known);
    tcase_add_test(tcase, rows_have_files);
    tcase_add_test(tcase, kernels_of_trees);
    tcase_add_test(tcase, kernels_of_packages);
    tcase_add_test(tcase, images_that_are_there);
    suite_add_tcase(suite, tcase);
    tcase = tcase_create("program");
    tcase_add_checked_fixture(tcase, program_setup, program_teardown);
    tcase_add_test(tcase, images_have_the_ntb_modules_alone);
    tcase_add_test(tcase, a_kernel_that_does_not_boot);
    suite_add_tcase(suite, tcase);
    /* The cache of the user who runs the tests is left alone. */
    g_setenv("XDG_CACHE_HOME", cache, TRUE);
    status = run_suite(suite);
    forget(cache);
    return status;
}
