/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One side of a chip of two hosts whose registers in BAR 0 are a bank
 * (farside_bank.h), and which may tell the other side of its windows and its
 * enable (farside_twin.h): what such chips have in common. The struct of a chip
 * has a FarsideSide as its first member.
 */
#ifndef FARSIDE_SIDE_H
#define FARSIDE_SIDE_H

#include "farside_bank.h"
#include "farside_parts.h"
#include "farside_twin.h"

typedef struct FarsideSide {
    FarsideChip chip;
    const FarsideConfig *config;
    PCIDevice *pci;
    FarsidePeer *peer;
    FarsideInterrupts *interrupts;
    FarsideBank *bank;
    FarsideTwin *twin; /* NULL: the chip has its own way */
    bool gates;        /* all depends on the link of the twins */
} FarsideSide;

/*
 * A chip's struct of @size bytes, which are 0 behind its FarsideSide. Borrows
 * the parameters. The chip resets it before it is used.
 */
void *farside_side_new(size_t size, const FarsideBankLayout *layout,
                       const FarsideConfig *config, PCIDevice *pci,
                       const FarsideParts *parts);
/*
 * Makes the twin. If @gates, then windows, registers and doorbells cross only
 * while its link is up; else while the cable is. @changed: see
 * farside_twin_new().
 */
void farside_side_add_twin(FarsideSide *s, bool gates,
                           const FarsideParts *parts,
                           void (*changed)(FarsideChip *chip));
/* Registers have their reset values, and no interrupt waits. */
void farside_side_reset(FarsideSide *s);
/* Rings doorbells of the other side; no bits: nothing. */
void farside_side_ring(FarsideSide *s, uint64_t bits);

/* For the layout of a bank: false while a gate is closed. */
bool farside_side_reaches(FarsideChip *chip);

/* For the functions of the chip's class with these names */
void farside_side_free(FarsideChip *chip);
uint64_t farside_side_read(FarsideChip *chip, unsigned offset, unsigned size);
void farside_side_write(FarsideChip *chip, unsigned offset, uint64_t value,
                        unsigned size);
bool farside_side_serve_read(FarsideChip *chip, unsigned peer, uint64_t offset,
                             unsigned size, uint64_t *ret_value);
bool farside_side_serve_write(FarsideChip *chip, unsigned peer, uint64_t offset,
                              uint64_t value, unsigned size);
/* Of a chip with a twin */
void farside_side_peer_reset(FarsideChip *chip, unsigned peer);
void farside_side_link_event(FarsideChip *chip, unsigned peer);

/* In the initializer of a class: what all sides have in common. */
#define FARSIDE_SIDE_CLASS                                                     \
    .hosts_max = 2, .free = farside_side_free, .read = farside_side_read,      \
    .write = farside_side_write, .serve_read = farside_side_serve_read
#define FARSIDE_SIDE_CLASS_OF_TWIN                                             \
    FARSIDE_SIDE_CLASS, .peer_reset = farside_side_peer_reset,                 \
                        .link_event = farside_side_link_event

#endif /* FARSIDE_SIDE_H */
