/* SPDX-License-Identifier: MIT */
/*
 * Invariants: the files are found from the folder of the program, in an
 * installation at any depth of its library folder and in a build folder, and an
 * installation goes before a build folder. The beginning of a change is
 * completed to all that may follow it, and to nothing that may not.
 */
#include <stdlib.h>
#include <string.h>

#include <check.h>
#include <glib/gstdio.h>

#include "../suite.h"
#include "topo_home.h"
#include "topo_keys.h"

static char *folder; /* of one test */

static void set_up(void)
{
    folder = g_dir_make_tmp("farside-home-XXXXXX", NULL);
    ck_assert_ptr_nonnull(folder);
}

static void tear_down(void)
{
    g_autofree char *command = g_strdup_printf("rm -rf '%s'", folder);

    ck_assert_int_eq(system(command), 0);
    g_clear_pointer(&folder, g_free);
}

/* Makes a folder below that of the test. Returns its path, to be freed. */
static char *make(const char *name)
{
    char *path = g_build_filename(folder, name, NULL);

    ck_assert_int_eq(g_mkdir_with_parents(path, 0700), 0);
    return path;
}

static void mark_build(const char *name, const char *source)
{
    g_autofree char *dir = make(name);
    g_autofree char *path = g_build_filename(dir, "farside-source", NULL);

    ck_assert(g_file_set_contents(path, source, -1, NULL));
}

START_TEST(installation_is_found)
{
    static const char *const programs[] = {"p/bin", "p/lib", "p/lib/x86/more"};
    g_autofree char *parts = make("p/share/farside/scenarios/parts");
    g_autofree char *prefix = g_build_filename(folder, "p", NULL);

    for (unsigned i = 0; i < G_N_ELEMENTS(programs); i++) {
        g_autofree char *dir = make(programs[i]);
        g_autoptr(TopoHome) home = topo_home_find_above(dir);

        ck_assert_ptr_nonnull(home);
        ck_assert(home->is_installed);
        ck_assert_str_eq(home->prefix, prefix);
        ck_assert(g_str_has_prefix(parts, home->scenarios));
    }
}
END_TEST

START_TEST(build_folder_is_found)
{
    g_autofree char *dir = make("b/tests/unit");
    g_autofree char *build = g_build_filename(folder, "b", NULL);
    g_autoptr(TopoHome) home = NULL;

    mark_build("b", "/the/source\n");
    home = topo_home_find_above(dir);
    ck_assert_ptr_nonnull(home);
    ck_assert(!home->is_installed);
    ck_assert_str_eq(home->prefix, build);
    ck_assert_str_eq(home->data, "/the/source");
    ck_assert_str_eq(home->scenarios, "/the/source/scenarios");
}
END_TEST

/* A prefix inside a build folder, as a test may make it. */
START_TEST(nearest_is_taken)
{
    g_autofree char *dir = make("b/p/bin");
    g_autoptr(TopoHome) home = NULL;

    g_free(make("b/p/share/farside/scenarios/parts"));
    mark_build("b", "/the/source\n");
    home = topo_home_find_above(dir);
    ck_assert_ptr_nonnull(home);
    ck_assert(home->is_installed);
}
END_TEST

START_TEST(nothing_is_found)
{
    g_autofree char *dir = make("a/b/c/d/e/f");
    g_autoptr(TopoHome) home = topo_home_find_above(dir);

    ck_assert_ptr_null(home);
}
END_TEST

START_TEST(names_are_resolved)
{
    static const char *const names[] = {"teaching/one-link.yaml",
                                        "scenarios/teaching/one-link.yaml"};
    g_autofree char *none = topo_home_resolve("teaching/none.yaml");

    ck_assert_int_eq(g_chdir(folder), 0);
    for (unsigned i = 0; i < G_N_ELEMENTS(names); i++) {
        g_autofree char *path = topo_home_resolve(names[i]);

        ck_assert_str_eq(path,
                         TOPO_SOURCE_ROOT "/scenarios/teaching/one-link.yaml");
    }
    ck_assert_str_eq(none, "teaching/none.yaml");
}
END_TEST

/* ---- Changes --------------------------------------------------------------
 */

static const struct {
    const char *begun;
    const char *found; /* joined by spaces */
} completions[] = {
    {"lin", "links."},
    {"links.", "links.cable0."},
    {"links.cable0.wid", "links.cable0.width="},
    {"hosts.", "hosts.one. hosts.two."},
    {"hosts.one.dev", "hosts.one.devices."},
    {"hosts.one.devices.", "hosts.one.devices.gpu0. hosts.one.devices.ntb0."},
    {"hosts.one.devices.gpu0.set.dma.reads",
     "hosts.one.devices.gpu0.set.dma.reads="},
    {"parts.pex87", "parts.pex8733. parts.pex8747. parts.pex8796."},
    {"parts.mine.dma.reads", "parts.mine.dma.reads="},
    {"workload.flows.read.direction", "workload.flows.read.direction="},
    {"workload.flows.read.direction=",
     "workload.flows.read.direction=read "
     "workload.flows.read.direction=write "
     "workload.flows.read.direction=write-read"},
    {"workload.flows.read.direction=w",
     "workload.flows.read.direction=write "
     "workload.flows.read.direction=write-read"},
    {"hosts.three.", ""},
    {"hosts.one.none", ""},
    {"nothing", ""},
    {"links.cable0.width.", ""},
    {"..", ""},
    {"=", ""},
};

START_TEST(change_is_completed)
{
    static const char text[] =
        "name: x\n"
        "parts: {mine: {base: generic-device}}\n"
        "hosts:\n"
        "  - {name: one, cpu: generic-host, devices: [\n"
        "      {name: gpu0, part: quadro-k420, at: rp0},\n"
        "      {name: ntb0, part: pxh830, at: rp1}]}\n"
        "  - {name: two, cpu: generic-host, devices: [\n"
        "      {name: ntb0, part: pxh830, at: rp0}]}\n"
        "links: [{name: cable0, ends: [one.ntb0, two.ntb0]}]\n"
        "workload:\n"
        "  flows: [{name: read, kind: dma, engine: one.gpu0, direction: read}]\n";
    g_autofree char *path = g_build_filename(folder, "x.yaml", NULL);
    g_autoptr(GPtrArray) found = NULL;
    g_autofree char *joined = NULL;

    ck_assert(g_file_set_contents(path, text, -1, NULL));
    found = topo_keys_complete(path, completions[_i].begun);
    g_ptr_array_add(found, NULL);
    joined = g_strjoinv(" ", (char **)found->pdata);
    if (strncmp(completions[_i].begun, "parts.pex", 9) == 0) {
        /* The parts that came with Farside: further ones may be added. */
        ck_assert_msg(strstr(joined, "parts.pex8747."), "%s", joined);
    } else {
        ck_assert_str_eq(joined, completions[_i].found);
    }
}
END_TEST

START_TEST(missing_file_completes_nothing)
{
    g_autoptr(GPtrArray) found = topo_keys_complete("/no/such/file", "li");

    ck_assert_uint_eq(found->len, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("home");
    TCase *tcase = tcase_create("home");

    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_add_test(tcase, installation_is_found);
    tcase_add_test(tcase, build_folder_is_found);
    tcase_add_test(tcase, nearest_is_taken);
    tcase_add_test(tcase, nothing_is_found);
    tcase_add_test(tcase, names_are_resolved);
    tcase_add_loop_test(tcase, change_is_completed, 0,
                        G_N_ELEMENTS(completions));
    tcase_add_test(tcase, missing_file_completes_nothing);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
