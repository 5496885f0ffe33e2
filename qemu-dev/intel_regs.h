/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Registers of the Intel NTB devices. docs/reference/intel.md is their
 * specification and gives the source of each. Offsets are relative to BAR 0,
 * but for those of configuration space (CFG).
 */
#ifndef INTEL_REGS_H
#define INTEL_REGS_H

#define INTEL_VENDOR_ID      0x8086
#define INTEL_DEVICE_ID_GEN3 0x201c
#define INTEL_DEVICE_ID_GEN4 0x347e
#define INTEL_DEVICE_ID_GEN5 0x0db4
#define INTEL_DEVICE_ID_GEN6 0x7868
/* Revisions of generation 4: Ice Lake, and Sapphire Rapids */
#define INTEL_REVISION_ICX 0x04
#define INTEL_REVISION_SPR 0x10

#define INTEL_BAR_SIZE   0x10000
#define INTEL_MSIX_TABLE 0x6000
#define INTEL_MSIX_PBA   0x7000
#define INTEL_VECTORS    33

/* All generations. Window n has its registers 0x10 * n behind those of 0. */
#define INTEL_NTBCNTL     0x0000
#define INTEL_XBASE       0x0010
#define INTEL_XLMT        0x0018
#define INTEL_XSTEP       0x10
#define INTEL_INT_STATUS  0x0040
#define INTEL_INT_DISABLE 0x0048
#define INTEL_SPAD        0x0080
#define INTEL_SPADS       16
#define INTEL_DOORBELL    0x0100
#define INTEL_DOORBELLS   32

#define INTEL_INT_LINK  (1ull << 32)
#define INTEL_INT_ALL   0x1ffffffffull
#define INTEL_PAGE_MASK (~0xfffull)

/* Generation 3 */
#define INTEL3_CFG_PPD         0xd4
#define INTEL3_CFG_LINK_STATUS 0x1a2
#define INTEL3_INTVEC          0x00d0
#define INTEL3_PEER_SPAD       0x0180
#define INTEL3_EMBAR1XBASE     0x4010
#define INTEL3_EMBAR1XLMT      0x4018
#define INTEL3_EMBAR2XBASE     0x4020
#define INTEL3_EMBAR2XLMT      0x4028
#define INTEL3_SPCICMD         0x4504
#define INTEL3_EMBAR0          0x4510 /* and 1, 2 */

#define INTEL3_CNTL_MASK    0x3ffu
#define INTEL3_CNTL_DISABLE 0x2u
#define INTEL3_CNTL_RESET   0x3u /* disabled, configuration space locked */
#define INTEL3_PPD_USD      0x01
#define INTEL3_PPD_DSD      0x11

/* Generation 4 and later */
#define INTEL4_INTVEC      0x0050
#define INTEL4_XBASEIDX    0x0074 /* and 0x0076 */
#define INTEL4_LTR_SWSEL   0x30ec
#define INTEL4_LTR_ACTIVE  0x30f0
#define INTEL4_LTR_IDLE    0x30f4
#define INTEL4_PEER_SPAD   0x8080
#define INTEL4_LINK_CTRL   0xb050
#define INTEL4_LINK_STATUS 0xb052
#define INTEL4_SLOTSTS     0xb05a
#define INTEL4_PPD0        0xb0d4
#define INTEL4_PPD1        0xb4c0
#define INTEL6_PPD0        0xf0d4

#define INTEL4_CNTL_MASK         0x7fcu
#define INTEL4_LINK_CTRL_DISABLE 0x10u
#define INTEL4_SLOTSTS_DLLSCS    0x100u
#define INTEL4_PPD0_LINKTRN      0x8u
#define INTEL4_PPD0_MASK         0x9u
#define INTEL4_PPD1_B2B          0x200u
#define INTEL4_PPD1_DSD          0x1000u
#define INTEL_SPR_PPD1_DSD       0x4000u

/* Link status while the link is up; 0 without it */
#define INTEL_LINK_ACTIVE 0x2000u
#define INTEL_LINK_X16    (16u << 4)

#endif /* INTEL_REGS_H */
