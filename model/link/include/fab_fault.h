/* SPDX-License-Identifier: MIT */
#ifndef FAB_FAULT_H
#define FAB_FAULT_H

#include "fab_component.h"

/*
 * Faults of a link. A fault begins at a time, or with the event of a number on
 * the link, such as the 100th TLP. The functions are to be called after
 * realize, before anything is sent.
 */

typedef enum FabFaultAction {
    FAB_FAULT_BIT_ERRORS, /* packets are destroyed, and sent again (PCIe 5.0
                             s3.6) */
    FAB_FAULT_LINK_DOWN,  /* the link goes down without warning (s3.2.1) */
    FAB_FAULT_DEGRADE,    /* the link goes on at another speed or width */
    FAB_FAULT_POISON,     /* TLPs with data get the EP bit (s2.7.2) */
} FabFaultAction;

/* The event with which a fault begins. Replays are no events. */
typedef enum FabFaultEvent {
    FAB_FAULT_AT_TIME,
    FAB_FAULT_ON_TLP, /* any TLP begins on the wire */
    FAB_FAULT_ON_WRITE,
    FAB_FAULT_ON_READ,
    FAB_FAULT_ON_COMPLETION,
    FAB_FAULT_ON_DOORBELL, /* a write of at most 8 bytes by the upper end */
    FAB_FAULT_ON_DLLP,     /* only for bit errors: an Ack, Nak or UpdateFC */
} FabFaultEvent;

typedef struct FabFault {
    FabFaultAction action;
    FabFaultEvent event;
    SimTime at;       /* with FAB_FAULT_AT_TIME */
    uint64_t number;  /* of the event, from 1; otherwise */
    SimTime duration; /* 0: until the end */
    SimTime
        training;   /* LINK_DOWN: from the end of `duration` until TLPs are
                       carried again; DEGRADE: in Recovery, before and after */
    double rate;    /* BIT_ERRORS: probability for each bit; POISON: for each
                       TLP with data */
    uint64_t count; /* instead of a rate: so many packets in a row from the
                       begin on, in each direction that is meant, or in the
                       direction of the event, that one included; with
                       FAB_FAULT_ON_DLLP these are DLLPs, else TLPs; bit
                       errors count replays as well */
    FabSpeed speed; /* DEGRADE; 0: as it is */
    uint32_t width; /* DEGRADE; 0: as it is */
    /* The senders whose packets are events, and are hit. */
    bool from_port, from_peer;
} FabFault;

/* The probability that a TLP with the largest payload crosses the link of @port
 * unharmed, if each bit on the wire is wrong with probability @rate. */
double fab_port_unharmed(const FabPort *port, double rate);

/* Gives the link of @port the fault @fault. */
void fab_port_add_fault(FabPort *port, const FabFault *fault);

/*
 * Makes the receiver at @port advertise @surplus header credits of each class
 * more than its buffer has, and the data credits that so many largest TLPs
 * need. Infinite credits stay. A TLP that finds no space is dropped, and its
 * credits never come back (Receiver Overflow, s2.6.1.2): so at most @surplus
 * TLPs of a class are dropped until the link trains anew.
 */
void fab_port_set_overflow(FabPort *port, uint32_t surplus);

#endif
