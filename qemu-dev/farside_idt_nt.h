/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The NT function of this host's port: its registers, windows, doorbells and
 * messages. The partition of a host is its number at the chip.
 */
#ifndef FARSIDE_IDT_NT_H
#define FARSIDE_IDT_NT_H

#include "farside_idt_model.h"
#include "farside_idt_switch.h"
#include "farside_ntb.h"
#include "idt_regs.h"

#define TYPE_FARSIDE_IDT "farside-idt"

typedef struct {
    char *model;
    char *ports; /* nullable */
    uint8_t lut; /* entries of BAR 2: 12 or 24, or 0 for a direct window */
} IdtOptions;

typedef struct FarsideIdt {
    FarsideNtb parent_obj;

    IdtOptions options;
    const IdtModel *model;
    uint8_t port[FARSIDE_NTB_HOSTS_MAX]; /* by partition */
} FarsideIdt;

DECLARE_INSTANCE_CHECKER(FarsideIdt, FARSIDE_IDT, TYPE_FARSIDE_IDT)

typedef struct {
    uint32_t low;
    uint32_t middle;
    uint32_t high;
} LutEntry;

typedef struct {
    uint32_t part; /* TPART, in its place */
    uint32_t limit[2];
    uint32_t base[2];
} BarRegisters;

typedef struct Idt {
    FarsideChip chip;
    const FarsideConfig *config;
    PCIDevice *pci;
    const FarsideIdt *device;
    const FarsideParts *parts;
    IdtSwitch *sw;

    uint32_t ntctl;
    bool sevent;   /* NTINTSTS.SEVENT; its other bits follow from registers */
    uint32_t line; /* NTINTSTS & ~NTINTMSK at the last look */
    uint32_t ntintmsk;
    uint32_t indbellsts;
    uint32_t indbellmsk;
    uint32_t outmsg[IDT_MESSAGES];
    uint32_t inmsg[IDT_MESSAGES];
    uint32_t inmsgsrc[IDT_MESSAGES];
    uint32_t msgsts;
    uint32_t msgstsmsk;
    uint32_t route[IDT_MESSAGES]; /* SWPxMSGCTL of this partition */
    uint32_t mtbladdr;
    uint32_t entry; /* of this partition, in the mapping table */
    uint32_t lutoffset;
    LutEntry lut[IDT_LUT_MAX];
    BarRegisters bar[FARSIDE_NTB_WINDOWS];
    uint32_t gasaaddr;

    pcibus_t mapped[FARSIDE_NTB_WINDOWS]; /* where the windows' BARs are */
    bool is_open; /* requests of others may enter: told to the peers */
    bool peer_is_open[FARSIDE_NTB_PEERS_MAX];
    bool was_up[FARSIDE_NTB_PEERS_MAX]; /* the link, at its last event */
} Idt;

/* False if the partition is this host's, or there is none with this number. */
bool idt_find_peer(const Idt *s, unsigned partition, unsigned *ret_peer);
bool idt_is_up(const Idt *s, unsigned peer);

/* Gives the windows that follow from the registers. */
void idt_nt_set_windows(Idt *s);
/* The own entry of the mapping table is written. */
void idt_nt_set_entry(Idt *s, uint32_t value);
/* The switch signals an event to this partition; @opaque is the chip. */
void idt_nt_signalled(void *opaque);
/* Some partition has rung these doorbells. */
void idt_nt_hear(Idt *s, uint32_t bits);
/* False: the register is full, and the message refused. */
bool idt_nt_take_message(Idt *s, unsigned index, unsigned partition,
                         uint32_t value);

/*
 * A word of the NT function, from its configuration header on. GASADATA is not
 * served here.
 */
uint32_t idt_nt_read(Idt *s, unsigned offset);
void idt_nt_write(Idt *s, unsigned offset, uint32_t value);
/* True if only the own host reaches it, because others follow from it. */
bool idt_nt_is_private(unsigned offset);
/* BARSETUP of a BAR after a reset, which is the same for all hosts; else 0 */
uint32_t idt_nt_at_reset(const Idt *s, unsigned offset);

#endif /* FARSIDE_IDT_NT_H */
