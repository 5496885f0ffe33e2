/* SPDX-License-Identifier: MIT */
/*
 * Invariant: all experiments of the paper use one set of parts. In every
 * variant and at every value of an axis, each parameter of a chip is that of
 * the chip's profile in scenarios/parts/. Experiments differ only in how they
 * connect and configure the chips. Those are keys of hosts, switches, links and
 * flows, such as a host's `iommu:`, not keys of parts.
 */
#include <check.h>
#include <string.h>

#include "topo_description.h"
#include "topo_plan.h"
#include "../suite.h"

#include "paper_files.h"

#define PARTS "scenarios/parts/"

/* Keys of parts that may differ because the experiment is about them. There are
 * none yet. A key that is added here needs a comment with its reason. */
static const char *const allowed[] = {NULL};

/* The first difference between @part and its profile; NULL if there is none. */
static char *check_part(GHashTable *seen, const TopoPart *part,
                        const char *file)
{
    unsigned i;

    for (i = 0; i < topo_part_n_values(part); i++) {
        g_auto(TopoPartValue) value = {0};
        g_autofree char *id = NULL;
        const char *first;

        topo_part_value(part, i, &value);
        if (g_strv_contains(allowed, value.key) || !value.text) {
            continue;
        }
        if (value.given && !g_str_has_prefix(value.place.file, PARTS)) {
            return g_strdup_printf("%s: %s of %s is %s by %s:%u", file,
                                   value.key, topo_part_name(part), value.text,
                                   value.place.file, value.place.line);
        }
        id = g_strdup_printf("%s %s", topo_part_name(part), value.key);
        first = g_hash_table_lookup(seen, id);
        if (!first) {
            g_hash_table_insert(seen, g_steal_pointer(&id),
                                g_strdup(value.text));
        } else if (strcmp(first, value.text) != 0) {
            return g_strdup_printf("%s: %s is %s, elsewhere %s", file, id,
                                   value.text, first);
        }
    }
    return NULL;
}

static char *check_description(GHashTable *seen, const TopoDescription *d)
{
    char *wrong = NULL;
    unsigned i, j;

    for (i = 0; !wrong && i < d->hosts->len; i++) {
        const TopoHost *host = d->hosts->pdata[i];

        wrong = check_part(seen, host->cpu, d->file);
        for (j = 0; !wrong && j < host->switches->len; j++) {
            const TopoSwitch *at = host->switches->pdata[j];

            wrong = check_part(seen, at->part, d->file);
        }
        for (j = 0; !wrong && j < host->devices->len; j++) {
            const TopoDevice *device = host->devices->pdata[j];

            wrong = check_part(seen, device->part, d->file);
        }
    }
    return wrong;
}

/* The first difference at any point of @d; NULL if there is none. */
static char *check_points(GHashTable *seen, const TopoDescription *d)
{
    g_autoptr(TopoErrors) errors = topo_errors_new();
    g_autoptr(GPtrArray) points = topo_plan_points(d, errors);
    char *wrong = check_description(seen, d);
    unsigned i;

    ck_assert_ptr_nonnull(points);
    for (i = 0; !wrong && i < points->len; i++) {
        const TopoPoint *point = points->pdata[i];
        g_autoptr(TopoDescription) changed =
            topo_load(d->file, point->changes, errors);

        ck_assert_ptr_nonnull(changed);
        wrong = check_description(seen, changed);
    }
    return wrong;
}

static GHashTable *seen_new(void)
{
    return g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
}

START_TEST(no_parameter_of_a_chip_differs)
{
    g_autoptr(GHashTable) seen = seen_new();
    g_auto(GStrv) files = paper_list(FALSE);
    unsigned i;

    for (i = 0; files[i]; i++) {
        g_autoptr(TopoErrors) errors = topo_errors_new();
        g_autoptr(TopoDescription) d = topo_load(files[i], NULL, errors);
        g_autofree char *wrong = NULL;

        ck_assert_ptr_nonnull(d);
        wrong = check_points(seen, d);
        ck_assert_msg(!wrong, "%s", wrong);
    }
    /* Guards against a test that looks at nothing. */
    ck_assert_uint_ge(i, 5);
    ck_assert_uint_ge(g_hash_table_size(seen), 120);
}
END_TEST

/* The three ways to change a parameter of a chip, and changes that do not. */
static const struct {
    const char *change;
    const char *expected; /* the complaint; NULL: none */
} cases[] = {
    {"parts.quadro-k420.dma.reads=48", "dma.reads of quadro-k420 is 48"},
    {"hosts.lender.set.transit=90ns", "transit of xeon-e5-2603-v4 is 90ns"},
    {"hosts.lender.devices.gpu0.set.tags=32", "tags of quadro-k420 is 32"},
    {"variants.Loc.set={hosts.lender.set.read_split: 256B}",
     "read_split of xeon-e5-2603-v4 is 256B"},
    {"hosts.borrower.iommu=on", NULL},
    {"links.cable0.width=x4", NULL},
};

START_TEST(overrides_are_noticed)
{
    g_autoptr(GHashTable) seen = seen_new();
    g_autoptr(TopoErrors) errors = topo_errors_new();
    g_autoptr(GPtrArray) changes = topo_changes_new();
    g_autoptr(TopoDescription) d = NULL;
    g_autofree char *wrong = NULL;
    g_autofree char *messages = NULL;

    g_ptr_array_add(
        changes, topo_change_parse(cases[_i].change, topo_place_set(), errors));
    d = topo_load("scenarios/paper/fig10/fig10.yaml", changes, errors);
    messages = topo_errors_to_string(errors);
    ck_assert_msg(d, "%s", messages);
    wrong = check_points(seen, d);
    if (!cases[_i].expected) {
        ck_assert_msg(!wrong, "%s", wrong);
    } else {
        ck_assert_msg(wrong && strstr(wrong, cases[_i].expected), "%s", wrong);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("parts of the paper");
    TCase *tcase = tcase_create("parts");

    paper_go_to_source();
    tcase_add_test(tcase, no_parameter_of_a_chip_differs);
    tcase_add_loop_test(tcase, overrides_are_noticed, 0, G_N_ELEMENTS(cases));
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
