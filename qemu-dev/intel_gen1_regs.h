/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Registers of the Intel NTB device of generation 1.
 * docs/reference/intel-gen1.md is their specification and gives the source of
 * each. Offsets are relative to BAR 0, but for those of configuration space
 * (CFG).
 */
#ifndef INTEL_GEN1_REGS_H
#define INTEL_GEN1_REGS_H

#define GEN1_VENDOR_ID 0x8086
#define GEN1_DEVICE_ID 0x3c0d
/* Haswell, whose BAR 4 can be split */
#define GEN1_DEVICE_ID_SPLIT 0x2f0d

#define GEN1_BAR_SIZE   0x10000
#define GEN1_MSIX_TABLE 0xc000
#define GEN1_MSIX_PBA   0xd000
#define GEN1_VECTORS    4
#define GEN1_PCIE_CAP   0x90
/* Bytes of the registers, as the other side sees them */
#define GEN1_REGISTERS  0x8000

#define GEN1_CFG_PBARSZ      0xd0 /* and the other window's */
#define GEN1_CFG_SBARSZ      0xd2
#define GEN1_CFG_PPD         0xd4
#define GEN1_CFG_PBAR5SZ     0xd5
#define GEN1_CFG_SBAR5SZ     0xd6
#define GEN1_CFG_LINK_STATUS 0x1a2

/*
 * Registers of the windows: 8 bytes each, or after the first 4 bytes each if
 * BAR 4 is split
 */
#define GEN1_OF_WINDOW(reg, i) ((reg) + ((i) ? 4 + 4 * (i) : 0))
#define GEN1_PBARLMT     0x000
#define GEN1_PBARXLAT    0x010
#define GEN1_SBARLMT     0x020
#define GEN1_SBARXLAT    0x030
#define GEN1_SBAR0BASE   0x040
#define GEN1_SBARBASE    0x048
#define GEN1_NTBCNTL     0x058
#define GEN1_PDOORBELL   0x060
#define GEN1_PDBMSK      0x062
#define GEN1_SPAD        0x080
#define GEN1_SPADS       16
#define GEN1_B2BSPAD     0x100
#define GEN1_B2BDOORBELL 0x140
#define GEN1_B2BXLAT     0x144
#define GEN1_SPCICMD     0x504

#define GEN1_PAGE        0x1000ull
#define GEN1_PAGE_MASK   (~(GEN1_PAGE - 1))
#define GEN1_CNTL_MASK    0x3ffu
#define GEN1_CNTL_DISABLE 0x2u
#define GEN1_CNTL_RESET   0x3u /* disabled, configuration space locked */
#define GEN1_PPD_USD      0x01
#define GEN1_PPD_DSD      0x11
#define GEN1_PPD_SPLIT    0x40
/* Logarithms of a secondary BAR's size */
#define GEN1_SIZE_MIN 12
#define GEN1_SIZE_MAX 39

#define GEN1_DOORBELLS   0x7fffu
#define GEN1_BIT14       0x4000u
#define GEN1_LINK_BIT    0x8000u
#define GEN1_VECTOR_BITS 5

/* Link Status while the link is up: active, x8, 8.0GT/s */
#define GEN1_LINK_UP 0x2083u

#endif /* INTEL_GEN1_REGS_H */
