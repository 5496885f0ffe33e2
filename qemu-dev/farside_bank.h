/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The registers of a chip of two hosts whose BAR 0 is a table: those of this
 * host, with their values, and the ranges in which the other side's appear.
 *
 * An access may have any size and alignment. It takes effect in parts, of which
 * each lies in one register; bytes outside of registers are 0.
 */
#ifndef FARSIDE_BANK_H
#define FARSIDE_BANK_H

#include "farside_chip.h"
#include "farside_registers.h"

typedef enum FarsideRegisterAccess {
    FARSIDE_REGISTER_RW,
    FARSIDE_REGISTER_W1C, /* a written 1 clears the bit */
    FARSIDE_REGISTER_WO,  /* reads as 0; only the chip sees what is written */
} FarsideRegisterAccess;

/* Registers that follow each other */
typedef struct FarsideRegister {
    uint32_t offset;
    uint8_t size;  /* bytes of each: 1, 2, 4 or 8 */
    uint8_t count; /* 0 is 1 */
    uint8_t access;
    uint8_t kind;   /* a number of the chip's own */
    uint64_t mask;  /* bits that software may write */
    uint64_t reset; /* of each */
} FarsideRegister;

/* Offsets of BAR 0 at which registers of the other side appear */
typedef struct FarsideFarRange {
    uint32_t offset;
    uint32_t size;
    uint32_t far; /* offset at the other side */
    bool closes;  /* a write may close a window of the other side */
} FarsideFarRange;

/* Offsets that the other side reaches */
typedef struct FarsideSharedRange {
    uint32_t offset;
    uint32_t size;
} FarsideSharedRange;

#define FARSIDE_BANK_SETS 3

typedef struct FarsideBankLayout {
    /* Arrays, each of which ends with a size of 0; NULL: no more */
    const FarsideRegister *registers[FARSIDE_BANK_SETS];
    const FarsideFarRange *far;
    unsigned far_count;
    const FarsideSharedRange *shared;
    unsigned shared_count;
    /*
     * Software has written number @index of @r: @bits, of those that it may
     * write. @old is the value before.
     */
    void (*written)(FarsideChip *chip, const FarsideRegister *r, unsigned index,
                    uint64_t bits, uint64_t old);
    /*
     * True if the other side's registers can be reached now. NULL: the link is
     * all that is needed.
     */
    bool (*reaches)(FarsideChip *chip);
} FarsideBankLayout;

typedef struct FarsideBank FarsideBank;

/* Borrows the parameters. The registers have their reset values. */
FarsideBank *farside_bank_new(const FarsideBankLayout *layout,
                              FarsideChip *chip, FarsideRegisters *registers);
void farside_bank_free(FarsideBank *s); /* nullable */
void farside_bank_reset(FarsideBank *s);

/* The value of the register of this host at @offset, which there must be. */
uint64_t farside_bank_get(const FarsideBank *s, unsigned offset);
/* Sets it, whatever its mask. */
void farside_bank_set(FarsideBank *s, unsigned offset, uint64_t value);

/* An access to BAR 0 */
uint64_t farside_bank_read(FarsideBank *s, unsigned offset, unsigned size);
void farside_bank_write(FarsideBank *s, unsigned offset, uint64_t value,
                        unsigned size);
/* A request of the peer. False if it does not reach all these bytes. */
bool farside_bank_serve_read(FarsideBank *s, uint64_t offset, unsigned size,
                             uint64_t *ret_value);
bool farside_bank_serve_write(FarsideBank *s, uint64_t offset, uint64_t value,
                              unsigned size);

#endif /* FARSIDE_BANK_H */
