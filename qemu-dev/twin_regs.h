/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The registers of farside_twin.h, behind BAR 0, which only the other side
 * reaches. docs/reference/intel.md is their specification.
 */
#ifndef TWIN_REGS_H
#define TWIN_REGS_H

#define FARSIDE_TWIN_TARGET  0x10000 /* of two windows, 8 bytes each */
#define FARSIDE_TWIN_SIZE    0x10010 /* the same */
#define FARSIDE_TWIN_LINK    0x10020 /* 4 bytes */
#define FARSIDE_TWIN_BASE    0x10028 /* see farside_twin_set_base(), 8 bytes */
#define FARSIDE_TWIN_THIRD   0x10040 /* target, size, base of a third window */
#define FARSIDE_TWIN_WINDOWS 3
#define FARSIDE_TWIN_BASES   (1 + FARSIDE_TWIN_WINDOWS)
#define FARSIDE_TWIN_ENABLED 0x1u
#define FARSIDE_TWIN_ASKS    0x2u

#endif /* TWIN_REGS_H */
