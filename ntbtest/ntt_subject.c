/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "clu_error.h"
#include "ntt_run.h"
#include "topo_change.h"
#include "topo_home.h"

void ntt_pair_free(NttPair *pair)
{
    if (pair) {
        g_free(pair->from);
        g_free(pair->to);
        g_free(pair);
    }
}

bool ntt_pair_is_way_back(const GPtrArray *pairs, unsigned index)
{
    const NttPair *back = pairs->pdata[index];

    for (unsigned i = 0; i < index; i++) {
        const NttPair *pair = pairs->pdata[i];

        if (strcmp(pair->from, back->to) == 0 &&
            strcmp(pair->to, back->from) == 0) {
            return true;
        }
    }
    return false;
}

void ntt_subject_free(NttSubject *subject)
{
    if (subject) {
        g_free(subject->file);
        g_clear_pointer(&subject->sets, g_ptr_array_unref);
        g_clear_pointer(&subject->pairs, g_ptr_array_unref);
        topo_description_free(subject->description);
        g_free(subject);
    }
}

static TopoDescription *load(const char *file, const GPtrArray *sets,
                             TopoErrors *errors)
{
    g_autoptr(GPtrArray) changes = topo_changes_new();

    for (unsigned i = 0; sets && i < sets->len; i++) {
        TopoChange *change =
            topo_change_parse(sets->pdata[i], topo_place_set(), errors);

        if (change) {
            g_ptr_array_add(changes, change);
        }
    }
    return topo_errors_count(errors) == 0 ? topo_load(file, changes, errors)
                                          : NULL;
}

/* Adds @set (nullable), for each host of @plain if it is for all. */
static void add_set(GPtrArray *sets, const char *set,
                    const TopoDescription *plain)
{
    if (!set) {
        return;
    }
    if (!g_str_has_prefix(set, NTT_ALL_HOSTS)) {
        g_ptr_array_add(sets, g_strdup(set));
        return;
    }
    for (unsigned i = 0; i < plain->hosts->len; i++) {
        const TopoHost *host = plain->hosts->pdata[i];

        g_ptr_array_add(sets, g_strdup_printf("hosts.%s.%s", host->name,
                                              set + strlen(NTT_ALL_HOSTS)));
    }
}

/* The changes of @plain, the description without changes */
static GPtrArray *make_sets(const NttChip *chip, const NttKernel *kernel,
                            const TopoDescription *plain)
{
    GPtrArray *sets = g_ptr_array_new_with_free_func(g_free);

    for (unsigned i = 0; i < G_N_ELEMENTS(chip->sets); i++) {
        add_set(sets, chip->sets[i], plain);
    }
    for (unsigned i = 0; i < kernel->keys->len; i++) {
        g_autofree char *set =
            g_strconcat(NTT_ALL_HOSTS "vm.", kernel->keys->pdata[i], NULL);

        add_set(sets, set, plain);
    }
    return sets;
}

static GPtrArray *make_pairs(const TopoDescription *description)
{
    GPtrArray *pairs =
        g_ptr_array_new_with_free_func((GDestroyNotify)ntt_pair_free);

    for (unsigned i = 0; i < description->hosts->len; i++) {
        for (unsigned k = 0; k < description->hosts->len; k++) {
            const TopoHost *from = description->hosts->pdata[i];
            const TopoHost *to = description->hosts->pdata[k];

            if (i != k) {
                NttPair *pair = g_new0(NttPair, 1);

                pair->from = g_strdup(from->name);
                pair->to = g_strdup(to->name);
                g_ptr_array_add(pairs, pair);
            }
        }
    }
    return pairs;
}

NttSubject *ntt_subject_new(const NttChip *chip, const NttKernel *kernel,
                            GError **error)
{
    g_autoptr(TopoErrors) errors = topo_errors_new();
    g_autoptr(TopoDescription) plain = NULL;
    NttSubject *subject = g_new0(NttSubject, 1);

    subject->chip = chip;
    subject->file = topo_home_resolve(chip->scenario);
    plain = load(subject->file, NULL, errors);
    if (plain) {
        subject->sets = make_sets(chip, kernel, plain);
        subject->description = load(subject->file, subject->sets, errors);
    }
    if (!subject->description) {
        clu_error_refuse(error, errors);
        ntt_subject_free(subject);
        return NULL;
    }
    subject->pairs = make_pairs(subject->description);
    return subject;
}
