/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Registers of the AMD NTB device. docs/reference/amd.md is their specification
 * and gives the source of each. Offsets are relative to BAR 0; those of a block
 * are in the own block, and the peer's block follows it.
 */
#ifndef AMD_REGS_H
#define AMD_REGS_H

#define AMD_VENDOR_ID 0x1022
#define AMD_DEVICE_ID 0x148b

#define AMD_BAR_SIZE   0x4000
#define AMD_MSIX_TABLE 0x2000
#define AMD_MSIX_PBA   0x3000
#define AMD_VECTORS    24
/* The vector of all events; doorbell n has vector n. */
#define AMD_EVENT_VECTOR 16

/* Common to both sides */
#define AMD_CNTL      0x200
#define AMD_CNTL_MASK 0x00300000u /* PMM_REG_CTL, SMM_REG_CTL */
#define AMD_SPAD      0x210
#define AMD_SPADS     8 /* of each side */

/* A block */
#define AMD_BLOCK      0x400
#define AMD_BLOCK_SIZE 0x400
#define AMD_SIDEINFO   0x408
#define AMD_BAR23LMT   0x418
#define AMD_BAR45LMT   0x420
#define AMD_BAR23XLAT  0x438
#define AMD_BAR45XLAT  0x440
#define AMD_DBREQ      0x454
#define AMD_DBMASK     0x45c
#define AMD_DBSTAT     0x460
#define AMD_INTMASK    0x470
#define AMD_INTSTAT    0x474
#define AMD_SMUACK     0x4a0

#define AMD_SIDE_SECONDARY 0x1u
#define AMD_SIDE_READY     0x2u

#define AMD_EVENTS     0x7fu
#define AMD_LINK_UP    0x20u
#define AMD_LINK_DOWN  0x40u
#define AMD_XLAT_MASK  (~0xfffull)

#endif /* AMD_REGS_H */
