/* SPDX-License-Identifier: MIT */
#include "exp_shrink.h"

/* The most significant digits of a simpler number. */
#define DIGITS 4

/* A number of digits for each of a fault's numbers, and one way to leave out
 * its end. */
#define VARIANTS (4 * DIGITS + 1)

typedef struct Shrink {
    ExpShrinkFails *fails;
    void *owner;
    unsigned left;     /* questions that may still be asked */
    GHashTable *tried; /* texts of schedules */
} Shrink;

/* A schedule that was asked about has passed, or is the present one. */
static bool still_fails(Shrink *shrink, const GArray *schedule)
{
    char *text;

    if (schedule->len == 0 || shrink->left == 0) {
        return false;
    }
    text = exp_schedule_to_yaml(schedule, "", "", NULL);
    if (!g_hash_table_add(shrink->tried, text)) {
        return false;
    }
    shrink->left--;
    return shrink->fails(shrink->owner, schedule);
}

/* ---- Fewer faults -------------------------------------------------------- */

/* The faults from @from on, @count of them; or all others. */
static GArray *slice(const GArray *schedule, unsigned from, unsigned count,
                     bool is_inside)
{
    GArray *part = g_array_new(FALSE, TRUE, sizeof(TopoFault));

    for (unsigned i = 0; i < schedule->len; i++) {
        if ((i >= from && i < from + count) == is_inside) {
            g_array_append_val(part, g_array_index(schedule, TopoFault, i));
        }
    }
    return part;
}

/* Tries the parts of @schedule in @parts pieces, or what is left without each
 * of them. Returns one that fails, or NULL. */
static GArray *try_parts(Shrink *shrink, const GArray *schedule, unsigned parts,
                         bool is_inside)
{
    for (unsigned i = 0; i < parts; i++) {
        unsigned from = schedule->len * i / parts;
        unsigned to = schedule->len * (i + 1) / parts;
        g_autoptr(GArray) part = slice(schedule, from, to - from, is_inside);

        if (still_fails(shrink, part)) {
            return g_steal_pointer(&part);
        }
    }
    return NULL;
}

/* Takes ownership of @schedule. */
static GArray *remove_faults(Shrink *shrink, GArray *schedule)
{
    unsigned parts = 2;

    while (schedule->len >= 2) {
        GArray *part = try_parts(shrink, schedule, parts, true);
        bool is_subset = part;

        if (!part) {
            part = try_parts(shrink, schedule, parts, false);
        }
        if (part) {
            g_array_unref(schedule);
            schedule = part;
            parts = is_subset ? 2 : MAX(parts - 1, 2);
        } else if (parts >= schedule->len) {
            break;
        } else {
            parts = MIN(2 * parts, schedule->len);
        }
    }
    return schedule;
}

/* ---- Simpler faults ------------------------------------------------------ */

/* @value with @digits significant digits, rounded; 0 remains 0. */
static int64_t round_to(int64_t value, unsigned digits)
{
    int64_t most = 1, unit = 1;

    while (digits-- > 0) {
        most *= 10;
    }
    while (value / unit >= most) {
        unit *= 10;
    }
    return value - value % unit + (value % unit >= (unit + 1) / 2 ? unit : 0);
}

/* The simpler form number @variant of @fault; false if it is not simpler. */
static bool simplify(const TopoFault *fault, unsigned variant,
                     TopoFault *ret_fault)
{
    TopoFault simple = *fault;
    int64_t *numbers[] = {&simple.number, &simple.at_ps, &simple.for_ps,
                          &simple.training_ps};
    int64_t *number;
    int64_t old;

    if (variant == 0) {
        simple.end = TOPO_FAULT_BOTH_ENDS;
        *ret_fault = simple;
        return fault->end != TOPO_FAULT_BOTH_ENDS;
    }
    number = numbers[(variant - 1) / DIGITS];
    old = *number;
    *number = round_to(old, (variant - 1) % DIGITS + 1);
    *ret_fault = simple;
    return *number != old;
}

/* True if a form of the fault @index of @schedule that is simpler fails; then
 * the schedule has it. */
static bool simplify_fault(Shrink *shrink, GArray *schedule, unsigned index)
{
    TopoFault *fault = &g_array_index(schedule, TopoFault, index);

    for (unsigned i = 0; i < VARIANTS; i++) {
        TopoFault old = *fault, simple;

        if (!simplify(fault, i, &simple)) {
            continue;
        }
        *fault = simple;
        if (still_fails(shrink, schedule)) {
            return true;
        }
        *fault = old;
    }
    return false;
}

GArray *exp_shrink(const GArray *schedule, ExpShrinkFails *fails, void *owner,
                   unsigned most)
{
    Shrink shrink = {
        .fails = fails,
        .owner = owner,
        .left = most,
        .tried = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL),
    };
    GArray *small = slice(schedule, 0, schedule->len, true);

    g_hash_table_add(shrink.tried, exp_schedule_to_yaml(small, "", "", NULL));
    small = remove_faults(&shrink, small);
    for (unsigned i = 0; i < small->len; i++) {
        while (simplify_fault(&shrink, small, i)) {
        }
    }
    g_hash_table_unref(shrink.tried);
    return small;
}
