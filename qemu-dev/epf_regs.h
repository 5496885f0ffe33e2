/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Registers of the endpoint function NTB device. docs/reference/epf.md is their
 * specification and gives the source of each. Offsets are relative to BAR 0.
 * Those of BAR 2 follow, at EPF_BAR_SIZE.
 */
#ifndef EPF_REGS_H
#define EPF_REGS_H

#define EPF_VENDOR_ID 0x1957
#define EPF_DEVICE_ID 0x0809

#define EPF_BAR_SIZE      0x4000
#define EPF_DOORBELLS_BAR 0x1000 /* bytes of BAR 2 */
#define EPF_MSIX_TABLE    0x2000
#define EPF_MSIX_PBA      0x3000
#define EPF_VECTORS       32

#define EPF_COMMAND       0x00
#define EPF_ARGUMENT      0x04
#define EPF_STATUS        0x08
#define EPF_LINK_STATUS   0x0a
#define EPF_TOPOLOGY      0x0c
#define EPF_ADDR          0x10
#define EPF_SIZE          0x18
#define EPF_MW_COUNT      0x20
#define EPF_MW1_OFFSET    0x24
#define EPF_SPAD_OFFSET   0x28
#define EPF_SPAD_COUNT    0x2c
#define EPF_DB_ENTRY_SIZE 0x30
#define EPF_DB_DATA       0x34
#define EPF_DB_OFFSET     0xb4

#define EPF_CONFIGURE_DOORBELL 1
#define EPF_TEARDOWN_DOORBELL  2
#define EPF_CONFIGURE_MW       3
#define EPF_TEARDOWN_MW        4
#define EPF_LINK_UP            5
#define EPF_LINK_DOWN          6

#define EPF_DOORBELL_COUNT 0xffffu
#define EPF_DOORBELL_MSIX  0x10000u

#define EPF_STATUS_OK    1
#define EPF_STATUS_ERROR 2

#define EPF_SPAD  0x1000
#define EPF_SPADS 16

/* The value that rings a doorbell */
#define EPF_DOORBELL_DATA 1

#endif /* EPF_REGS_H */
