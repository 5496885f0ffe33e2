/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "qemu/osdep.h"
#include "farside_reach.h"

struct FarsideReach {
    const FarsideConfig *config;
    GArray *ranges; /* of struct farside_wire_window; in force */
    GArray *coming; /* the parts of a list whose end is not here yet */
};

/* The peer's BARs are as large as those of this device. */
static uint64_t bytes_of_bars(const FarsideReach *s)
{
    uint64_t bytes = 0;
    unsigned i;

    for (i = 0; i < FARSIDE_NTB_WINDOWS; i++) {
        bytes += s->config->bar_size[i];
    }
    return bytes;
}

/* True if the ranges could be those of windows that do not overlap in BARs. */
static bool fits(const FarsideReach *s, const GArray *ranges)
{
    uint64_t left = bytes_of_bars(s);
    unsigned i;

    for (i = 0; i < ranges->len; i++) {
        const struct farside_wire_window *r =
            &g_array_index(ranges, struct farside_wire_window, i);

        if (r->size == 0 || r->size > left ||
            r->address + (r->size - 1) < r->address) {
            return false;
        }
        left -= r->size;
    }
    return true;
}

bool farside_reach_on_windows(FarsideReach *s, const FarsideLinkMessage *m)
{
    const struct farside_wire_windows *part = m->body;
    GArray *old = s->ranges;

    if (m->size != sizeof(*part) + part->count * sizeof(part->window[0]) ||
        s->coming->len + part->count > FARSIDE_WIRE_WINDOWS_MAX) {
        return false;
    }
    g_array_append_vals(s->coming, part->window, part->count);
    if (part->more) {
        return true;
    }
    if (!fits(s, s->coming)) {
        return false;
    }
    s->ranges = s->coming;
    s->coming = old;
    g_array_set_size(s->coming, 0);
    return true;
}

void farside_reach_clear(FarsideReach *s)
{
    g_array_set_size(s->ranges, 0);
    g_array_set_size(s->coming, 0);
}

bool farside_reach_holds(const FarsideReach *s, uint64_t address, uint64_t size)
{
    unsigned i;

    for (i = 0; i < s->ranges->len; i++) {
        const struct farside_wire_window *r =
            &g_array_index(s->ranges, struct farside_wire_window, i);

        if (address >= r->address && address - r->address < r->size &&
            size <= r->size - (address - r->address)) {
            return true;
        }
    }
    return false;
}

FarsideReach *farside_reach_new(const FarsideConfig *config)
{
    FarsideReach *s = g_new0(FarsideReach, 1);

    s->config = config;
    s->ranges = g_array_new(false, false, sizeof(struct farside_wire_window));
    s->coming = g_array_new(false, false, sizeof(struct farside_wire_window));
    return s;
}

void farside_reach_free(FarsideReach *s)
{
    if (s) {
        g_array_free(s->ranges, true);
        g_array_free(s->coming, true);
    }
    g_free(s);
}
