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
    const FarsideConfig *config;
    FarsidePeer *peer;
    FarsideWindows *windows;
    FarsideRegisters *registers;
    FarsideChip *chip;
    bool gates;
    void (*changed)(FarsideChip *chip);

    bool is_up;
    bool enabled; /* as the other side was told last */
    bool far_enabled;
    Window told[FARSIDE_NTB_WINDOWS];
    Window copy[FARSIDE_NTB_WINDOWS]; /* of the other side's */
};

bool farside_twin_is_up(const FarsideTwin *s)
{
    return s->is_up;
}

static void set_windows(FarsideTwin *s)
{
    FarsideWindow list[FARSIDE_NTB_WINDOWS];
    unsigned i, count = 0;
    uint64_t size;

    for (i = 0; (s->is_up || !s->gates) && i < FARSIDE_NTB_WINDOWS; i++) {
        const Window *w = &s->copy[i];

        size = MIN(w->size, s->config->bar_size[i]);
        if (size && w->target + (size - 1) >= w->target) {
            list[count++] = (FarsideWindow) {
                .window = i,
                .size = size,
                .target = w->target,
            };
        }
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
        farside_registers_put(s->registers, 0, FARSIDE_TWIN_TARGET + 8 * i,
                              target, 8);
    }
    if (size != told->size) {
        told->size = size;
        farside_registers_put(s->registers, 0, FARSIDE_TWIN_SIZE + 8 * i, size,
                              8);
    }
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

    for (i = 0; i < FARSIDE_NTB_WINDOWS; i++) {
        farside_registers_tell(s->registers, 0, FARSIDE_TWIN_TARGET + 8 * i,
                               s->told[i].target, 8);
        farside_registers_tell(s->registers, 0, FARSIDE_TWIN_SIZE + 8 * i,
                               s->told[i].size, 8);
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

    for (i = 0; i < FARSIDE_NTB_WINDOWS; i++) {
        if (offset == FARSIDE_TWIN_TARGET + 8 * i && size == 8) {
            copy_window(s, i,
                        (Window) {value & ~PAGE_MASK_4K, s->copy[i].size});
            return true;
        }
        if (offset == FARSIDE_TWIN_SIZE + 8 * i && size == 8) {
            copy_window(s, i, (Window) {s->copy[i].target, value});
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
    s->far_enabled = false;
    set_windows(s);
}

/* The peer learns of it by RESET, and tells again what it has set. */
void farside_twin_reset(FarsideTwin *s)
{
    memset(s->told, 0, sizeof(s->told));
    s->enabled = false;
    s->is_up = false;
    farside_twin_peer_reset(s);
}

FarsideTwin *farside_twin_new(const FarsideConfig *config,
                              const FarsideParts *parts, FarsideChip *chip,
                              bool gates, void (*changed)(FarsideChip *chip))
{
    FarsideTwin *s = g_new0(FarsideTwin, 1);

    s->config = config;
    s->peer = parts->far[0].peer;
    s->windows = parts->windows;
    s->registers = parts->registers;
    s->chip = chip;
    s->gates = gates;
    s->changed = changed;
    return s;
}

void farside_twin_free(FarsideTwin *s)
{
    g_free(s);
}
