/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An IDT 89HPES...G2 switch of two to eight hosts as a chip of the NTB device.
 * docs/reference/idt.md is its specification.
 */
#ifndef FARSIDE_IDT_H
#define FARSIDE_IDT_H

/* The plugin calls this. In a QEMU tree, type_init() does. */
void farside_idt_register_types(void);

#endif /* FARSIDE_IDT_H */
