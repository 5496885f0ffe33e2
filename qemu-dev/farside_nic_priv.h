/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A function of the NIC, physical or virtual, for the files of the NIC:
 * farside_nic.c has the PCI device and the registers, farside_nic_ring.c has
 * what receive and transmit queues share, farside_nic_rx.c and farside_nic_tx.c
 * the rest of them, farside_nic_work.c runs them in the main loop, and
 * farside_nic_card.c connects the functions of a card with the network.
 *
 * A guest may give the function any address for DMA. So DMA may reach this
 * machine's configuration space, and through it reset or unplug the function in
 * the middle of its work. farside_nic_read() and farside_nic_write() then
 * return false, and the queues are off: the caller returns at once.
 */
#ifndef FARSIDE_NIC_PRIV_H
#define FARSIDE_NIC_PRIV_H

#include "hw/pci/pci.h"
#include "qemu/main-loop.h"
#include "qemu/timer.h"
#include "farside_nic_card.h"
#include "farside_nic_frame.h"

/* Descriptors that a queue holds: a power of 2, and enough for a packet */
#define NIC_AHEAD 64
/* Frames that a function holds until they are in buffers */
#define NIC_FRAMES     64
#define NIC_FRAME_MAX  (NIC_FRAME_MASK + 1)
#define NIC_FRAME_SIZE 60 /* the smallest frame on a wire, without FCS */

QEMU_BUILD_BUG_ON(sizeof(struct nic_rx_desc) != 32);
QEMU_BUILD_BUG_ON(sizeof(struct nic_rx_done) != 16);
QEMU_BUILD_BUG_ON(sizeof(struct nic_tx_desc) != 16);
QEMU_BUILD_BUG_ON(NIC_AHEAD < NIC_RX_PARTS_MAX);
QEMU_BUILD_BUG_ON(NIC_AHEAD < NIC_TX_PARTS_MAX);

/* Places to which a queue writes, whose last byte is read back at a stop */
typedef enum {
    NIC_LAST_PAYLOAD,
    NIC_LAST_REPORT, /* a completion, or TX_WRITEBACK */
    NIC_LASTS,
} FarsideNicLast;

typedef struct {
    bool is_rx;

    /* Registers. @second: RX_COMPLETIONS or TX_WRITEBACK */
    uint64_t base, second;
    uint32_t entries, control, error, vector, split_max;
    uint32_t tail, head, done;
    uint64_t packets, bytes, drops;

    bool is_running; /* RUNNING: until its writes have arrived */
    bool is_unflushed;
    bool is_armed;
    bool is_odd;   /* RX: completions of this round have PHASE */
    bool is_short; /* TX: the frame at HEAD does not end before TAIL */

    uint32_t taken; /* descriptors that were used, for their place in @ahead */
    uint32_t ahead_count;
    uint8_t ahead[NIC_AHEAD * sizeof(struct nic_rx_desc)];

    uint64_t last[NIC_LASTS];
    bool has_last[NIC_LASTS];
} FarsideNicRing;

typedef struct {
    unsigned size;
    uint8_t bytes[NIC_FRAME_MAX];
} FarsideNicSlot;

struct FarsideNicFunction {
    PCIDevice *pci;
    FarsideNicCard *card; /* borrowed; NULL when the card is gone */
    bool is_virtual;
    unsigned queues; /* of each kind */
    unsigned vectors;
    unsigned generation; /* changes at each reset */

    uint32_t frame, accept, event, event_vector, rss;
    uint8_t mac[8]; /* the last two are 0 */
    uint8_t key[NIC_KEY_SIZE];
    uint8_t indir[NIC_INDIR_ENTRIES];
    FarsideNicRule rule[NIC_RULE_COUNT];
    uint64_t stat[NIC_STATS];

    FarsideNicRing rx[NIC_QUEUES_MAX];
    FarsideNicRing tx[NIC_QUEUES_MAX];

    /* Frames that came in: a ring of NIC_FRAMES slots */
    FarsideNicSlot *slot;
    unsigned first_slot, slot_count;
    unsigned next_tx; /* the queue whose turn it is */
    bool has_link_changed; /* and EVENT does not say so yet */
    uint8_t sent[NIC_FRAME_MAX];

    QEMUBH *bh;
    QEMUTimer *pause;
};

/* Life and work, farside_nic_work.c */

/* Joins @card. @pci is already a PCI function; a bottom half is its own. */
FarsideNicFunction *farside_nic_function_new(PCIDevice *pci,
                                             FarsideNicCard *card,
                                             unsigned number);
/* Ends all work, and leaves the card. May be called again. */
void farside_nic_function_stop(FarsideNicFunction *f);
void farside_nic_function_free(FarsideNicFunction *f); /* nullable */
/* Stops all queues at once; their registers get their reset values. */
void farside_nic_function_reset(FarsideNicFunction *f);

/* Queues of both kinds, farside_nic_ring.c */

/* Lets the main loop run the queues soon. */
void farside_nic_wake(FarsideNicFunction *f);
uint32_t farside_nic_ring_read(const FarsideNicRing *q, unsigned offset);
void farside_nic_ring_write(FarsideNicFunction *f, FarsideNicRing *q,
                            unsigned offset, uint32_t value);
/* True if the queue takes and gives packets. */
bool farside_nic_ring_is_on(const FarsideNicRing *q);
/* True if it is stopping: farside_nic_ring_settle() ends that. */
bool farside_nic_ring_is_stopping(const FarsideNicRing *q);
void farside_nic_ring_settle(FarsideNicFunction *f, FarsideNicRing *q);
/* Stops the queue. Nothing happens if it is off. */
void farside_nic_ring_fail(FarsideNicFunction *f, FarsideNicRing *q,
                           uint32_t error);
/*
 * The descriptor @index after HEAD, as it is in memory. Returns NULL if there
 * is none, or if the queue has failed.
 */
const void *farside_nic_ring_peek(FarsideNicFunction *f, FarsideNicRing *q,
                                  unsigned index);
/* @count descriptors, which were peeked at, are used. */
void farside_nic_ring_take(FarsideNicRing *q, unsigned count);
/* DONE has moved: interrupts, if that was asked for. */
void farside_nic_ring_report(FarsideNicFunction *f, FarsideNicRing *q);

/* Both return false if DMA failed, or the function was reset. */
bool farside_nic_read(FarsideNicFunction *f, uint64_t address, void *bytes,
                      unsigned size);
bool farside_nic_write(FarsideNicFunction *f, FarsideNicRing *q,
                       FarsideNicLast place, uint64_t address,
                       const void *bytes, unsigned size);

void farside_nic_interrupt(FarsideNicFunction *f, uint32_t vector);
/* Sets bits of EVENT. */
void farside_nic_event(FarsideNicFunction *f, uint32_t bits);

/* Both do one packet, and return false if there is none. */
bool farside_nic_rx_step(FarsideNicFunction *f);
bool farside_nic_tx_step(FarsideNicFunction *f);

#endif /* FARSIDE_NIC_PRIV_H */
