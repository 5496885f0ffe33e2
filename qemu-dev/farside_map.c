/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "qemu/osdep.h"
#include "farside_map.h"

FarsideMap *farside_map_new(const FarsideWindow *list, unsigned count,
                            const uint16_t *ids, unsigned id_count)
{
    size_t windows = count * sizeof(*list), id_bytes = id_count * sizeof(*ids);
    FarsideMap *map = g_malloc0(sizeof(*map) + windows + id_bytes);
    unsigned i, bar;

    if (windows) {
        memcpy(map->window, list, windows);
    }
    if (id_bytes) {
        memcpy(&map->window[count], ids, id_bytes);
    }
    map->ids = (const uint16_t *)&map->window[count];
    map->id_count = id_count;
    map->admits_all = !ids;
    for (bar = 0, i = 0; bar < FARSIDE_NTB_WINDOWS; bar++) {
        map->first[bar] = i;
        while (i < count && list[i].window == bar) {
            i++;
        }
    }
    map->first[bar] = i;
    return map;
}

bool farside_map_resolve(const FarsideMap *map, unsigned window,
                         uint64_t offset, FarsideTarget *ret_target)
{
    unsigned low = map->first[window], high = map->first[window + 1], middle;
    const FarsideWindow *w;

    /* Windows before low begin at @offset or before, those from high behind. */
    while (low < high) {
        middle = low + (high - low) / 2;
        if (map->window[middle].offset <= offset) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    if (low == map->first[window]) {
        return false;
    }
    w = &map->window[low - 1];
    offset -= w->offset;
    if (offset >= w->size || !map->peer[w->peer].link_up) {
        return false;
    }
    ret_target->peer = w->peer;
    ret_target->address = w->target + offset;
    ret_target->size = w->size - offset;
    ret_target->is_registers = w->is_registers;
    return true;
}

bool farside_map_is_ram(const FarsideMap *map, unsigned peer, uint64_t address,
                        uint64_t size)
{
    const FarsideMapPeer *p = &map->peer[peer];
    unsigned i;

    for (i = 0; i < p->ram_count; i++) {
        if (address >= p->ram[i].address &&
            address - p->ram[i].address < p->ram[i].size &&
            size <= p->ram[i].size - (address - p->ram[i].address)) {
            return true;
        }
    }
    return false;
}

bool farside_map_admits(const FarsideMap *map, uint16_t id)
{
    unsigned i;

    for (i = 0; i < map->id_count && !map->admits_all; i++) {
        if (map->ids[i] == id) {
            return true;
        }
    }
    return map->admits_all;
}

bool farside_windows_have_closed(const FarsideWindow *old, unsigned old_count,
                                 const FarsideWindow *new, unsigned new_count)
{
    const FarsideWindow *old_end = old + old_count, *end = new + new_count;

    for (; old < old_end; old++) {
        while (new < end &&
               (new->window < old->window ||
                (new->window == old->window &&
                 new->offset + new->size <= old->offset))) {
            new++;
        }
        if (new == end || new->window != old->window ||
            new->peer != old->peer || new->offset > old->offset ||
            new->is_registers != old->is_registers ||
            new->target - new->offset != old->target - old->offset ||
            new->offset + new->size < old->offset + old->size) {
            return true;
        }
    }
    return false;
}
