/* SPDX-License-Identifier: MIT */
/*
 * Invariant: for any text and any changes, loading returns either a description
 * or at least one error with a place, never both. A description can be planned,
 * and loaded again with the changes of each point.
 *
 * A line "#set PATH=VALUE" in the text is a change. As a test, this program
 * loads the descriptions of the source tree and a fixed number of mutations of
 * them, from a fixed random seed. With FARSIDE_LIBFUZZER defined it is a
 * libFuzzer target.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <glib.h>

#include "topo_plan.h"

#define PARTS      TOPO_SOURCE_ROOT "/tests/unit/bad/parts"
#define SET        "#set "
#define POINTS_MAX 2 /* points of each plan that are loaded again */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool is_true, const char *what)
{
    if (!is_true) {
        fprintf(stderr, "fuzz_topo: %s\n", what);
        abort();
    }
}

static void read_changes(const char *text, GPtrArray *changes)
{
    g_autoptr(TopoErrors) errors = topo_errors_new();
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    unsigned i;

    for (i = 0; lines[i]; i++) {
        TopoChange *change;

        if (!g_str_has_prefix(lines[i], SET)) {
            continue;
        }
        change =
            topo_change_parse(lines[i] + strlen(SET), topo_place_set(), errors);
        if (change) {
            g_ptr_array_add(changes, change);
        }
    }
}

static TopoDescription *load(const uint8_t *data, size_t size,
                             const GPtrArray *changes)
{
    g_autoptr(TopoErrors) errors = topo_errors_new();
    TopoDescription *description = topo_load_buffer(
        "fuzz.yaml", (const char *)data, size, PARTS, changes, errors);
    g_autofree char *messages = topo_errors_to_string(errors);

    must(!description == (topo_errors_count(errors) > 0),
         "an error and a description, or neither");
    must((*messages == '\0') == !!description, "an empty message");
    return description;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    g_autofree char *text = g_strndup((const char *)data, size);
    g_autoptr(GPtrArray) changes = topo_changes_new();
    g_autoptr(TopoErrors) errors = topo_errors_new();
    g_autoptr(TopoDescription) description = NULL;
    g_autoptr(GPtrArray) points = NULL;
    unsigned i;

    read_changes(text, changes);
    description = load(data, size, changes);
    if (!description) {
        return 0;
    }
    points = topo_plan_points(description, errors);
    for (i = 0; points && i < MIN(points->len, POINTS_MAX); i++) {
        const TopoPoint *point = g_ptr_array_index(points, i);
        g_autoptr(TopoDescription) at = load(data, size, point->changes);

        must(!at || strlen(at->hash) > 0, "no hash");
    }
    return 0;
}

#ifndef FARSIDE_LIBFUZZER

#define ROUNDS     6000
#define LENGTH_MAX 20000

/* Words that have a meaning, for mutations that reach more code. */
static const char *const words[] = {
    "name: ",
    "hosts:",
    "repeat: 3",
    "{i}",
    "{i+1}",
    "{(i-1)%3}",
    "part: ",
    "gpu",
    "ntb",
    "sw",
    "cpu",
    "at: ",
    "rp0",
    "sw0",
    "sw0:1",
    "a.gpu0",
    "b.ntb0",
    "a.ram",
    "set: ",
    "dma.reads",
    "base: ",
    "kind: ",
    "150ns",
    "4KiB",
    "8.0GT/s",
    "x8",
    "infinite",
    "auto",
    "on",
    "off",
    "0",
    "-1",
    "1e9",
    "1%",
    "[",
    "]",
    "{",
    "}",
    ": ",
    ", ",
    "\n",
    "\n  - ",
    "&a ",
    "*a",
    "<<: ",
    "!!str ",
    "---\n",
    "\"",
    "'",
    "# ",
    "\t",
    "\xff",
    "|\n",
    "variants:",
    "sweep:",
    "values: ",
    "workload: ",
    "flows:",
    "links:",
    "ends: ",
    "lend:",
    "plot:",
    "measure: ",
    "columns",
    "compare",
    "parts:",
    "\n#set hosts.a.iommu=on\n",
    "\n#set parts.gpu.dma={reads: 3}\n",
    "\n#set hosts.a.devices.gpu0.set.tags=32\n",
    "\n#set workload.flows.f.size=64B\n",
    "\n#set links=[]\n",
};

static char *read_seed(const char *path)
{
    char *text = NULL;

    must(g_file_get_contents(path, &text, NULL, NULL), path);
    return text;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Reads the descriptions in a directory, in the order of their names. */
static void read_seeds(const char *directory, GPtrArray *seeds)
{
    g_autoptr(GPtrArray) paths = g_ptr_array_new_with_free_func(g_free);
    GDir *dir = g_dir_open(directory, 0, NULL);
    const char *name;
    unsigned i;

    must(dir, directory);
    while ((name = g_dir_read_name(dir))) {
        if (g_str_has_suffix(name, ".yaml")) {
            g_ptr_array_add(paths, g_build_filename(directory, name, NULL));
        }
    }
    g_dir_close(dir);
    g_ptr_array_sort(paths, compare_names);
    for (i = 0; i < paths->len; i++) {
        g_ptr_array_add(seeds, read_seed(g_ptr_array_index(paths, i)));
    }
}

static void mutate(GRand *random, GString *text, const GPtrArray *seeds)
{
    const char *other =
        g_ptr_array_index(seeds, g_rand_int(random) % seeds->len);
    const char *word = words[g_rand_int(random) % G_N_ELEMENTS(words)];
    gssize at = (gssize)(g_rand_int(random) % (text->len + 1));
    gssize length = (gssize)(1 + g_rand_int(random) % 20);

    length = MIN(length, (gssize)text->len - at);
    switch (g_rand_int(random) % 6) {
    case 0:
    case 1:
        g_string_insert(text, at, word);
        break;
    case 2:
        g_string_erase(text, at, length);
        g_string_insert(text, at, word);
        break;
    case 3:
        g_string_erase(text, at, length);
        break;
    case 4:
        if (at < (gssize)text->len) {
            text->str[at] = (char)(1 + g_rand_int(random) % 255);
        }
        break;
    default: {
        /* Insert a piece of another description. */
        size_t from = g_rand_int(random) % (strlen(other) + 1);

        g_string_insert_len(text, at, other + from,
                            (gssize)MIN(strlen(other + from), 80));
        break;
    }
    }
    if (text->len > LENGTH_MAX) {
        g_string_truncate(text, LENGTH_MAX);
    }
}

int main(void)
{
    g_autoptr(GPtrArray) seeds = g_ptr_array_new_with_free_func(g_free);
    g_autoptr(GRand) random = g_rand_new_with_seed(20);
    unsigned i, j;

    read_seeds(TOPO_SOURCE_ROOT "/tests/unit/bad", seeds);
    read_seeds(TOPO_SOURCE_ROOT "/tests/unit/good", seeds);
    for (i = 0; i < seeds->len; i++) {
        const char *seed = g_ptr_array_index(seeds, i);

        LLVMFuzzerTestOneInput((const uint8_t *)seed, strlen(seed));
    }
    {
        const char *last = g_ptr_array_index(seeds, seeds->len - 1);
        g_autoptr(TopoDescription) good =
            load((const uint8_t *)last, strlen(last), NULL);

        must(good, "the good seed is bad");
    }
    for (i = 0; i < ROUNDS; i++) {
        /* Half of the mutants come from the good description. */
        unsigned n = g_rand_int(random);
        const char *seed = g_ptr_array_index(
            seeds, n % 2 == 0 ? seeds->len - 1 : n / 2 % seeds->len);
        g_autoptr(GString) text = g_string_new(seed);
        unsigned changes = 1 + g_rand_int(random) % 4;

        for (j = 0; j < changes; j++) {
            mutate(random, text, seeds);
        }
        LLVMFuzzerTestOneInput((const uint8_t *)text->str, text->len);
    }
    printf("1..1\nok 1 - %u descriptions and %u mutants\n", seeds->len, ROUNDS);
    return 0;
}

#endif
