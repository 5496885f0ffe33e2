/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The registers of an IDT switch that belong to no port, and that all hosts
 * may write: masks, and the status of switch events. docs/reference/idt.md has
 * the rules.
 *
 * Each host has a copy of the masks. A write takes effect in the copy of the
 * host that makes it, and goes to all others with a number. A copy keeps the
 * newer of two writes, and tells it to a peer that has sent the older one. So
 * all copies end with the same value, and a host that comes later gets it from
 * any other.
 *
 * The status of events: each host notes the events that it sees, and clears
 * what any host clears.
 */
#ifndef FARSIDE_IDT_SWITCH_H
#define FARSIDE_IDT_SWITCH_H

#include "farside_parts.h"

typedef struct IdtSwitch IdtSwitch;

/* Called when the switch signals an event to this host's partition. */
typedef void IdtSignalled(void *opaque);

/* Borrows the parameters. */
IdtSwitch *idt_switch_new(const FarsideConfig *config,
                          const FarsideParts *parts, IdtSignalled *signalled,
                          void *opaque);
void idt_switch_free(IdtSwitch *s); /* nullable */

/* Accesses of this host. False if there is no such register here. */
bool idt_switch_read(IdtSwitch *s, uint32_t address, uint32_t *ret_value);
bool idt_switch_write(IdtSwitch *s, uint32_t address, uint32_t value);

/* Accesses of a peer. False if there is no such register for a peer. */
bool idt_switch_on_shared(IdtSwitch *s, unsigned peer, uint64_t offset,
                          uint64_t value);
bool idt_switch_on_clear(IdtSwitch *s, uint64_t address, uint32_t bits);

/* Notes an event of the port or partition with these bits. */
void idt_switch_link(IdtSwitch *s, bool is_up, uint32_t ports);
void idt_switch_signal(IdtSwitch *s, uint32_t partitions);
/* A peer has come: tells it what was written. */
void idt_switch_tell(IdtSwitch *s, unsigned peer);

/* Of @bits, those that @partition may ring, or that may ring at it */
uint32_t idt_switch_may_ring(IdtSwitch *s, unsigned partition, uint32_t bits);
uint32_t idt_switch_may_hear(IdtSwitch *s, unsigned partition, uint32_t bits);

#endif /* FARSIDE_IDT_SWITCH_H */
