/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "qemu/osdep.h"
#include "farside_twin.h"

#define PAGE_MASK_4K 0xfffull

/* Of the BAR of one side, as the other side has set it */
typedef struct Window {
    uint64_t target;
    uint64_t size;
} Window;

struct FarsideTwin {
    const uint64_t *size_max; /* of each window */
    unsigned count; /* of windows */
    FarsidePeer *peer;
    FarsideWindows *windows;
    FarsideRegisters *registers;
    FarsideChip *chip;
    bool gates;
    void (*changed)(FarsideChip *chip);
    FarsideTwinLay *lay; /* nullable */

    bool is_up;
    bool enabled; /* as the other side was told last */
    bool far_enabled;
    Window told[FARSIDE_TWIN_WINDOWS];
    Window copy[FARSIDE_TWIN_WINDOWS]; /* of the other side's */
    uint64_t told_base[FARSIDE_TWIN_BASES];
    uint64_t copy_base[FARSIDE_TWIN_BASES];
};

/* Offsets of registers */

static unsigned target_at(unsigned i)
{
    return i < FARSIDE_NTB_WINDOWS ? FARSIDE_TWIN_TARGET + 8 * i
                                   : FARSIDE_TWIN_THIRD;
}

static unsigned size_at(unsigned i)
{
    return i < FARSIDE_NTB_WINDOWS ? FARSIDE_TWIN_SIZE + 8 * i
                                   : FARSIDE_TWIN_THIRD + 8;
}

static unsigned base_at(unsigned i)
{
    return i <= FARSIDE_NTB_WINDOWS ? FARSIDE_TWIN_BASE + 8 * i
                                    : FARSIDE_TWIN_THIRD + 16;
}

bool farside_twin_is_up(const FarsideTwin *s)
{
    return s->is_up;
}

uint64_t farside_twin_far_base(const FarsideTwin *s, unsigned i)
{
    return s->copy_base[i];
}

/* The peer is hostile: no window is larger than its BAR, or wraps. */
void farside_twin_far_window(const FarsideTwin *s, unsigned i,
                             uint64_t *ret_target, uint64_t *ret_size)
{
    uint64_t size = MIN(s->copy[i].size, s->size_max[i]);

    *ret_target = s->copy[i].target;
    *ret_size = size && *ret_target + (size - 1) >= *ret_target ? size : 0;
}

/* Each window lies at the begin of its BAR. */
static unsigned lay_at_begin(const FarsideTwin *s, FarsideWindow *list)
{
    unsigned i, count = 0;
    uint64_t target, size;

    for (i = 0; i < s->count; i++) {
        farside_twin_far_window(s, i, &target, &size);
        if (size) {
            list[count++] = (FarsideWindow) {
                .window = i,
                .size = size,
                .target = target,
            };
        }
    }
    return count;
}

static void set_windows(FarsideTwin *s)
{
    FarsideWindow list[FARSIDE_TWIN_PARTS];
    unsigned count = 0;

    if (s->is_up || !s->gates) {
        count = s->lay ? s->lay(s->chip, list) : lay_at_begin(s, list);
    }
    farside_windows_set(s->windows, list, count, NULL, 0);
    farside_windows_tell(s->windows);
}

static void update_link(FarsideTwin *s)
{
    bool is_up = farside_peer_link_is_up(s->peer) && s->enabled &&
                 s->far_enabled;

    if (is_up == s->is_up) {
        return;
    }
    s->is_up = is_up;
    set_windows(s);
    s->changed(s->chip);
}

void farside_twin_set_window(FarsideTwin *s, unsigned i, uint64_t target,
                             uint64_t size)
{
    Window *told = &s->told[i];

    if (target != told->target) {
        told->target = target;
        farside_registers_put(s->registers, 0, target_at(i),
                              target, 8);
    }
    if (size != told->size) {
        told->size = size;
        farside_registers_put(s->registers, 0, size_at(i), size,
                              8);
    }
}

void farside_twin_set_base(FarsideTwin *s, unsigned i, uint64_t base)
{
    if (base != s->told_base[i]) {
        s->told_base[i] = base;
        farside_registers_put(s->registers, 0, base_at(i), base,
                              8);
    }
}

void farside_twin_lay_again(FarsideTwin *s)
{
    set_windows(s);
}

void farside_twin_set_enabled(FarsideTwin *s, bool enabled)
{
    if (enabled == s->enabled) {
        return;
    }
    s->enabled = enabled;
    update_link(s);
    farside_registers_put(s->registers, 0, FARSIDE_TWIN_LINK,
                          enabled ? FARSIDE_TWIN_ENABLED : 0, 4);
}

/*
 * The answer to a question comes in any case, even if the other side saw the
 * link up earlier than this side, and its first writes were lost.
 */
static void tell_all(FarsideTwin *s, bool asks)
{
    unsigned i;

    for (i = 0; i < s->count; i++) {
        farside_registers_tell(s->registers, 0, target_at(i),
                               s->told[i].target, 8);
        farside_registers_tell(s->registers, 0, size_at(i),
                               s->told[i].size, 8);
    }
    for (i = 0; s->lay && i <= s->count; i++) {
        farside_registers_tell(s->registers, 0, base_at(i),
                               s->told_base[i], 8);
    }
    farside_registers_tell(s->registers, 0, FARSIDE_TWIN_LINK,
                           (s->enabled ? FARSIDE_TWIN_ENABLED : 0) |
                               (asks ? FARSIDE_TWIN_ASKS : 0),
                           4);
}

void farside_twin_link_event(FarsideTwin *s)
{
    if (farside_peer_link_is_up(s->peer)) {
        tell_all(s, true);
    } else {
        s->far_enabled = false;
    }
    update_link(s);
}

static void copy_window(FarsideTwin *s, unsigned i, Window new)
{
    Window *copy = &s->copy[i];

    if (new.target != copy->target || new.size != copy->size) {
        *copy = new;
        set_windows(s);
    }
}

bool farside_twin_serve_write(FarsideTwin *s, uint64_t offset, uint64_t value,
                              unsigned size)
{
    unsigned i;

    for (i = 0; i < s->count; i++) {
        if (offset == target_at(i) && size == 8) {
            copy_window(s, i,
                        (Window) {value & ~PAGE_MASK_4K, s->copy[i].size});
            return true;
        }
        if (offset == size_at(i) && size == 8) {
            copy_window(s, i, (Window) {s->copy[i].target, value});
            return true;
        }
    }
    for (i = 0; s->lay && i <= s->count; i++) {
        if (offset == base_at(i) && size == 8) {
            s->copy_base[i] = value & ~PAGE_MASK_4K;
            set_windows(s);
            return true;
        }
    }
    if (offset != FARSIDE_TWIN_LINK || size != 4) {
        return false;
    }
    s->far_enabled = value & FARSIDE_TWIN_ENABLED;
    update_link(s);
    if (value & FARSIDE_TWIN_ASKS) {
        tell_all(s, false);
    }
    return true;
}

/* Its windows and its enable are those of a reset; it tells if they are not. */
void farside_twin_peer_reset(FarsideTwin *s)
{
    memset(s->copy, 0, sizeof(s->copy));
    memset(s->copy_base, 0, sizeof(s->copy_base));
    s->far_enabled = false;
    set_windows(s);
}

/* The peer learns of it by RESET, and tells again what it has set. */
void farside_twin_reset(FarsideTwin *s)
{
    memset(s->told, 0, sizeof(s->told));
    memset(s->told_base, 0, sizeof(s->told_base));
    s->enabled = false;
    s->is_up = false;
    farside_twin_peer_reset(s);
}

FarsideTwin *farside_twin_new(const FarsideConfig *config,
                              const FarsideParts *parts, FarsideChip *chip,
                              bool gates, void (*changed)(FarsideChip *chip))
{
    FarsideTwin *s = g_new0(FarsideTwin, 1);

    s->size_max = config->bar_size;
    s->count = FARSIDE_NTB_WINDOWS;
    s->peer = parts->far[0].peer;
    s->windows = parts->windows;
    s->registers = parts->registers;
    s->chip = chip;
    s->gates = gates;
    s->changed = changed;
    return s;
}

void farside_twin_set_lay(FarsideTwin *s, FarsideTwinLay *lay,
                          const uint64_t *size, unsigned count)
{
    s->lay = lay;
    s->size_max = size;
    s->count = count;
}

void farside_twin_free(FarsideTwin *s)
{
    g_free(s);
}
