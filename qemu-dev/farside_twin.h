/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The two sides of a chip of which each says itself where the other side's
 * windows lead, and whether it has enabled the link. The other side translates,
 * so it has copies of this. A side writes the copies at the other one when its
 * own values change, and when the other one comes or was reset. The link of the
 * chip is up while both sides have enabled it.
 */
#ifndef FARSIDE_TWIN_H
#define FARSIDE_TWIN_H

#include "farside_chip.h"
#include "farside_parts.h"
#include "twin_regs.h"

typedef struct FarsideTwin FarsideTwin;

/*
 * Borrows the parameters. Windows of this side's BARs are open only while the
 * link is up if @gates. @changed is called when the link has gone up or down,
 * but not for farside_twin_reset().
 */
FarsideTwin *farside_twin_new(const FarsideConfig *config,
                              const FarsideParts *parts, FarsideChip *chip,
                              bool gates, void (*changed)(FarsideChip *chip));
void farside_twin_free(FarsideTwin *s); /* nullable */

/* True while both sides have enabled the link. */
bool farside_twin_is_up(const FarsideTwin *s);
/*
 * Takes what the guest has set: the window in BAR @i of the other side, 0 bytes
 * if it is closed, and the enable. The guest goes on when the other side knows.
 */
void farside_twin_set_window(FarsideTwin *s, unsigned i, uint64_t target,
                             uint64_t size);
void farside_twin_set_enabled(FarsideTwin *s, bool enabled);

/*
 * For a chip between whose BARs and windows lies a bus of its own: what this
 * side has at base 0 of that bus, registers, and at the bases from 1 on, its
 * @count windows, none larger than in @size (borrowed). @lay says where the own
 * BARs lead to: it fills @ret_list, with room for FARSIDE_TWIN_PARTS, from what
 * the other side has at its bases, and returns the number. Its order is that of
 * farside_windows_set().
 */
typedef unsigned FarsideTwinLay(FarsideChip *chip, FarsideWindow *ret_list);
#define FARSIDE_TWIN_PARTS (FARSIDE_TWIN_BASES * FARSIDE_TWIN_WINDOWS)
void farside_twin_set_lay(FarsideTwin *s, FarsideTwinLay *lay,
                          const uint64_t *size, unsigned count);
void farside_twin_set_base(FarsideTwin *s, unsigned i, uint64_t base);
/* The same of the other side */
uint64_t farside_twin_far_base(const FarsideTwin *s, unsigned i);
void farside_twin_far_window(const FarsideTwin *s, unsigned i,
                             uint64_t *ret_target, uint64_t *ret_size);
/* Something has changed at this side on which @lay depends. */
void farside_twin_lay_again(FarsideTwin *s);

/* For the functions of the chip's class with these names */
void farside_twin_reset(FarsideTwin *s);
void farside_twin_peer_reset(FarsideTwin *s);
void farside_twin_link_event(FarsideTwin *s);
/* False if the write is not one of a copy. */
bool farside_twin_serve_write(FarsideTwin *s, uint64_t offset, uint64_t value,
                              unsigned size);

#endif /* FARSIDE_TWIN_H */
