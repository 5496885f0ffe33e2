/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Registers of the IDT 89HPES...G2 switches, as far as Linux's ntb_hw_idt uses
 * them (docs/reference/idt.md).
 */
#ifndef IDT_REGS_H
#define IDT_REGS_H

#define IDT_VENDOR_ID 0x111d

#define IDT_BAR_SIZE 0x1000
#define IDT_BAR_BITS 12
#define IDT_PCIE_CAP 0x40
#define IDT_MSI_CAP  0xd0

/* The NT function, behind its configuration header */
#define IDT_NT          0x400
#define IDT_NTCTL       0x400
#define IDT_NTINTSTS    0x404
#define IDT_NTINTMSK    0x408
#define IDT_NTGSIGNAL   0x410
#define IDT_OUTDBELLSET 0x420
#define IDT_INDBELLSTS  0x428
#define IDT_INDBELLMSK  0x42c
#define IDT_OUTMSG      0x430
#define IDT_INMSG       0x440
#define IDT_INMSGSRC    0x450
#define IDT_MSGSTS      0x460
#define IDT_MSGSTSMSK   0x464
#define IDT_BAR         0x470 /* SETUP, LIMIT, LTBASE and UTBASE of each BAR */
#define IDT_BAR_STEP    0x10
#define IDT_BARS        6
#define IDT_NTMTBLADDR  0x4d0
#define IDT_NTMTBLDATA  0x4d8
#define IDT_REQIDCAP    0x4dc
#define IDT_LUTOFFSET   0x4e0
#define IDT_LUTLDATA    0x4e4
#define IDT_LUTMDATA    0x4e8
#define IDT_LUTUDATA    0x4ec
#define IDT_GASAADDR    0xff8
#define IDT_GASADATA    0xffc

#define IDT_MESSAGES 4
#define IDT_LUT_MAX  24

#define IDT_NTCTL_CPEN     0x2u
#define IDT_INT_MSG        0x1u
#define IDT_INT_DBELL      0x2u
#define IDT_INT_SEVENT     0x8u
#define IDT_INT_ALL        0x8bu
#define IDT_GSIGNAL_SET    0x1u
#define IDT_MSGSTS_OUT     0xfu
#define IDT_MSGSTS_IN      0xf0000u
#define IDT_MSGSTS_IN_BIT  0x10000u /* of message register 0 */
#define IDT_BAR_EN         0x80000000u
#define IDT_BAR_64         0x4u
#define IDT_BAR_PREF       0x8u
#define IDT_BAR_SIZE_SHIFT 4
#define IDT_BAR_CONFIG     0x400u
#define IDT_BAR_LUT12      0x800u
#define IDT_BAR_LUT24      0x1000u
#define IDT_BAR_PART_SHIFT 13
#define IDT_BAR_PART       0xe000u
#define IDT_MTBL_VALID     0x1u
#define IDT_MTBL_MASK      0xfffffu
#define IDT_MTBL_ADDRESS   0x3fu
#define IDT_LUT_INDEX      0x1fu
#define IDT_LUT_BAR_SHIFT  8
#define IDT_LUTOFFSET_MASK 0x71fu
#define IDT_LUT_PART       0xfu
#define IDT_LUT_VALID      0x80000000u

/* Global addresses: the NT function of each port, and the switch */
#define IDT_PORT(port)   (0x1000 + 0x2000 * (port))
#define IDT_SW           0x3e000
#define IDT_SWPART       0x3e100 /* CTL and STS of each partition */
#define IDT_SWPORT       0x3e200 /* CTL and STS of each port */
#define IDT_SW_STEP      0x20
#define IDT_SW_STS       0x4
#define IDT_SESTS        0x3ec00
#define IDT_SEMSK        0x3ec04
#define IDT_SEPMSK       0x3ec08
#define IDT_SELINKUPSTS  0x3ec0c
#define IDT_SELINKUPMSK  0x3ec10
#define IDT_SELINKDNSTS  0x3ec14
#define IDT_SELINKDNMSK  0x3ec18
#define IDT_SEGSIGSTS    0x3ec30
#define IDT_SEGSIGMSK    0x3ec34
#define IDT_GDBELLSTS    0x3ec3c
#define IDT_GODBELLMSK   0x3ec40
#define IDT_GIDBELLMSK   0x3ecc0
#define IDT_DOORBELLS    32
#define IDT_SWPMSGCTL    0x3ee00 /* by message register, then by partition */
#define IDT_TMPCTL       0x3f1d4
#define IDT_TMPSTS       0x3f1d8
#define IDT_TMPALARM     0x3f1dc
#define IDT_TMPADJ       0x3f1e0

#define IDT_EVENT_LINKUP    0x1u
#define IDT_EVENT_LINKDN    0x2u
#define IDT_EVENT_GSIGNAL   0x20u
#define IDT_PART_ACTIVE     0x20u
#define IDT_PART_US         0x100u
#define IDT_PART_USID_SHIFT 9
#define IDT_PART_NT         0x4000u
#define IDT_PORT_LINKUP     0x10u
#define IDT_PORT_NT         0xc0u
#define IDT_PORT_PART_SHIFT 10
#define IDT_ROUTE_REG       0x3u
#define IDT_ROUTE_SHIFT     4
#define IDT_ROUTE_MASK      0x73u
#define IDT_TEMPERATURE     0x545454u /* 42 degrees, now, lowest and highest */

/*
 * Words of the devices of one chip to each other, behind all global addresses
 * (docs/reference/idt.md). The host that sends is the one meant.
 */
#define IDT_FAR_ENTRY   0x40000 /* the receiver's entry of the mapping table */
#define IDT_FAR_OPEN    0x40004 /* the sender takes requests: 1, or not: 0 */
#define IDT_FAR_SIGNAL  0x40008 /* the sender's partition has signalled */
#define IDT_FAR_MESSAGE 0x40010 /* message registers of the receiver */
#define IDT_FAR_SHARED  0x41000 /* 8 bytes: value and number of a write */

#endif /* IDT_REGS_H */
