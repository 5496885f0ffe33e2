/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "qemu/osdep.h"
#include "farside_idt_switch.h"
#include "idt_regs.h"

/* The registers that are copied, in the order of their numbers on the wire */
typedef enum {
    SEMSK,
    SEPMSK,
    SELINKUPMSK,
    SELINKDNMSK,
    SEGSIGMSK,
    TMPCTL,
    TMPALARM,
    TMPADJ,
    GODBELLMSK,
    GIDBELLMSK = GODBELLMSK + IDT_DOORBELLS,
    SHARED = GIDBELLMSK + IDT_DOORBELLS,
} Shared;

/*
 * The number of a write: a count, and the writer in the lowest bits. It is one
 * more than that of the write in whose place it comes.
 */
#define HOST_BITS   3
#define NUMBER_STEP (1u << HOST_BITS)

typedef enum {
    LINKUP,
    LINKDN,
    GSIGNAL,
    EVENTS,
} Event;

typedef struct {
    uint32_t value;
    uint32_t number; /* of the write that has set it; 0: none */
} Copy;

struct IdtSwitch {
    const FarsideConfig *config;
    const FarsideParts *parts;
    IdtSignalled *signalled;
    void *opaque;
    Copy copy[SHARED];
    uint32_t status[EVENTS]; /* by port, port and partition */
    uint32_t events;         /* SESTS that is not masked, at the last look */
};

/* False if the register at @address is not copied. */
static bool find_shared(uint32_t address, unsigned *ret_index)
{
    static const uint32_t at[GODBELLMSK] = {
        IDT_SEMSK,     IDT_SEPMSK, IDT_SELINKUPMSK, IDT_SELINKDNMSK,
        IDT_SEGSIGMSK, IDT_TMPCTL, IDT_TMPALARM,    IDT_TMPADJ,
    };
    unsigned i;

    for (i = 0; i < ARRAY_SIZE(at); i++) {
        if (at[i] == address) {
            *ret_index = i;
            return true;
        }
    }
    *ret_index = GODBELLMSK + (address - IDT_GODBELLMSK) / 4;
    return address >= IDT_GODBELLMSK &&
           address < IDT_GIDBELLMSK + 4 * IDT_DOORBELLS;
}

static bool find_status(uint64_t address, Event *ret_event)
{
    static const uint32_t at[EVENTS] = {
        IDT_SELINKUPSTS,
        IDT_SELINKDNSTS,
        IDT_SEGSIGSTS,
    };
    Event e;

    for (e = 0; e < EVENTS; e++) {
        if (at[e] == address) {
            *ret_event = e;
            return true;
        }
    }
    return false;
}

/* Events */

/* SESTS */
static uint32_t summary(const IdtSwitch *s)
{
    static const struct {
        uint32_t bit;
        Shared mask;
    } events[EVENTS] = {
        [LINKUP] = {IDT_EVENT_LINKUP, SELINKUPMSK},
        [LINKDN] = {IDT_EVENT_LINKDN, SELINKDNMSK},
        [GSIGNAL] = {IDT_EVENT_GSIGNAL, SEGSIGMSK},
    };
    uint32_t bits = 0;
    Event e;

    for (e = 0; e < EVENTS; e++) {
        if (s->status[e] & ~s->copy[events[e].mask].value) {
            bits |= events[e].bit;
        }
    }
    return bits;
}

/* Signals what has risen. @happened: an event has come, even one like it. */
static void look(IdtSwitch *s, bool happened)
{
    uint32_t events = summary(s) & ~s->copy[SEMSK].value;
    bool rises = (events & ~s->events) || (happened && events);

    s->events = events;
    if (rises && !(s->copy[SEPMSK].value & 1u << s->config->partition)) {
        s->signalled(s->opaque);
    }
}

void idt_switch_link(IdtSwitch *s, bool is_up, uint32_t ports)
{
    s->status[is_up ? LINKUP : LINKDN] |= ports;
    look(s, true);
}

void idt_switch_signal(IdtSwitch *s, uint32_t partitions)
{
    s->status[GSIGNAL] |= partitions;
    look(s, true);
}

/* Copies */

static uint64_t wire_value(const Copy *c)
{
    return (uint64_t)c->number << 32 | c->value;
}

static void post_copy(IdtSwitch *s, unsigned peer, unsigned index)
{
    farside_registers_post(s->parts->registers, peer,
                           IDT_FAR_SHARED + 8 * index,
                           wire_value(&s->copy[index]), 8);
}

/*
 * Numbers go round in a circle, and one is newer than those of the half circle
 * behind it. So no number is the highest: whatever a peer has sent, a later
 * write of any host counts. Of two opposite numbers the greater one is newer.
 */
static bool is_newer(uint32_t number, uint32_t than)
{
    uint32_t ahead = number - than;

    return !than || (ahead && (ahead < 1u << 31 ||
                               (ahead == 1u << 31 && number > than)));
}

static void write_shared(IdtSwitch *s, unsigned index, uint32_t value)
{
    Copy *c = &s->copy[index];
    unsigned peer;

    /* 0 is that of no write. */
    c->number = MAX((c->number & -NUMBER_STEP) + NUMBER_STEP, NUMBER_STEP) |
                s->config->partition;
    c->value = value;
    look(s, false);
    for (peer = 0; peer < s->config->peer_count; peer++) {
        post_copy(s, peer, index);
    }
}

bool idt_switch_on_shared(IdtSwitch *s, unsigned peer, uint64_t offset,
                          uint64_t value)
{
    unsigned index = (offset - IDT_FAR_SHARED) / 8;
    uint32_t number = value >> 32;
    Copy *c;

    if (offset < IDT_FAR_SHARED || index >= SHARED || !number) {
        return false;
    }
    c = &s->copy[index];
    if (is_newer(number, c->number)) {
        c->value = value;
        c->number = number;
        look(s, false);
    } else if (number != c->number) {
        /* The peer has not heard of the newer write: its next one counts. */
        farside_registers_tell(s->parts->registers, peer,
                               IDT_FAR_SHARED + 8 * index, wire_value(c), 8);
    }
    return true;
}

void idt_switch_tell(IdtSwitch *s, unsigned peer)
{
    unsigned i;

    for (i = 0; i < SHARED; i++) {
        if (s->copy[i].number) {
            post_copy(s, peer, i);
        }
    }
}

bool idt_switch_on_clear(IdtSwitch *s, uint64_t address, uint32_t bits)
{
    Event e;

    if (!find_status(address, &e)) {
        return false;
    }
    s->status[e] &= ~bits;
    look(s, false);
    return true;
}

/* Accesses of this host */

bool idt_switch_read(IdtSwitch *s, uint32_t address, uint32_t *ret_value)
{
    unsigned index;
    Event e;

    if (address == IDT_SESTS) {
        *ret_value = summary(s);
    } else if (address == IDT_TMPSTS) {
        *ret_value = IDT_TEMPERATURE;
    } else if (find_status(address, &e)) {
        *ret_value = s->status[e];
    } else if (find_shared(address, &index)) {
        *ret_value = s->copy[index].value;
    } else {
        return false;
    }
    return true;
}

bool idt_switch_write(IdtSwitch *s, uint32_t address, uint32_t value)
{
    unsigned index, peer;

    if (idt_switch_on_clear(s, address, value)) {
        for (peer = 0; peer < s->config->peer_count; peer++) {
            farside_registers_post(s->parts->registers, peer, address, value,
                                   4);
        }
        return true;
    }
    if (find_shared(address, &index)) {
        write_shared(s, index, value);
        return true;
    }
    return false;
}

/* Doorbells */

static uint32_t not_masked(const IdtSwitch *s, Shared first, unsigned partition,
                           uint32_t bits)
{
    uint32_t left, kept = bits;

    for (left = bits; left; left &= left - 1) {
        if (s->copy[first + ctz32(left)].value & 1u << partition) {
            kept &= ~(1u << ctz32(left));
        }
    }
    return kept;
}

uint32_t idt_switch_may_ring(IdtSwitch *s, unsigned partition, uint32_t bits)
{
    return not_masked(s, GODBELLMSK, partition, bits);
}

uint32_t idt_switch_may_hear(IdtSwitch *s, unsigned partition, uint32_t bits)
{
    return not_masked(s, GIDBELLMSK, partition, bits);
}

/* Life */

IdtSwitch *idt_switch_new(const FarsideConfig *config,
                          const FarsideParts *parts, IdtSignalled *signalled,
                          void *opaque)
{
    IdtSwitch *s = g_new0(IdtSwitch, 1);
    unsigned i;

    s->config = config;
    s->parts = parts;
    s->signalled = signalled;
    s->opaque = opaque;
    for (i = SEMSK; i <= SEGSIGMSK; i++) {
        s->copy[i].value = UINT32_MAX;
    }
    return s;
}

void idt_switch_free(IdtSwitch *s)
{
    g_free(s);
}
