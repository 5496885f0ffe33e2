/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The registers of the whole chip by their global addresses: the NT functions
 * of all ports, of which each host serves its own, and the switch.
 */
#ifndef FARSIDE_IDT_GLOBAL_H
#define FARSIDE_IDT_GLOBAL_H

#include "farside_idt_nt.h"

/* Accesses of this host, through GASADATA */
uint32_t idt_global_read(Idt *s, uint32_t address);
void idt_global_write(Idt *s, uint32_t address, uint32_t value);

/* Accesses of a peer. False if no such register belongs to this host. */
bool idt_global_serve_read(Idt *s, uint64_t address, uint64_t *ret_value);
bool idt_global_serve_write(Idt *s, uint64_t address, uint32_t value);

#endif /* FARSIDE_IDT_GLOBAL_H */
