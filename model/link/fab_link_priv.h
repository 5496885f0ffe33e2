/* SPDX-License-Identifier: MIT */
#ifndef FAB_LINK_PRIV_H
#define FAB_LINK_PRIV_H

#include "fab_observe_priv.h"
#include "fab_port_priv.h"

/*
 * The parts of a link beyond the wire: the Data Link Layer of a link with
 * errors, faults, outages, DPC. Each is a part of a port, which knows its parts
 * only by these operations, and the parts know each other only by them. A plain
 * link has no parts, so the usual way of a TLP has one test for them
 * (FabPort.special).
 */

/* The severities that AER has without software (PCIe 5.0 s7.8.4.4). Errors that
 * s6.2.3.2 makes Advisory Non-Fatal, such as UR with a completion, are not
 * reported. */
typedef enum FabSeverity {
    FAB_SEVERITY_NONFATAL,
    FAB_SEVERITY_FATAL,
} FabSeverity;

/* All are nullable but `free`. */
typedef struct FabLinkOps {
    /* The wire is free. Returns true if no new TLP may be sent now. */
    bool (*takes_wire)(FabLinkPart *part, SimTime now);
    /* True if the part wants the wire when it is free. */
    bool (*is_pending)(const FabLinkPart *part);
    /* Takes the new @tlp, which would be on the wire until @end, and does not
     * send it. Returns false if it is to be sent. */
    bool (*discards)(FabLinkPart *part, FabTlp *tlp, SimTime end);
    /* The new @tlp begins on the wire. */
    void (*sends)(FabLinkPart *part, FabTlp *tlp);
    /* Takes the new @tlp, which is on the wire from @start to @end, and lets it
     * arrive. Returns false if it arrives without the part. */
    bool (*carries)(FabLinkPart *part, FabTlp *tlp, SimTime start, SimTime end);
    /* A DLLP begins on the wire. Only links with errors tell this. */
    void (*sends_dllp)(FabLinkPart *part);
    /* @tlp has come in at the port. Returns true if it was dropped. */
    bool (*drops)(FabLinkPart *part, FabTlp *tlp);
    /* Returns whether the UpdateFC of @cls that the port sends at @time is
     * lost. If it is not, adds the credits of lost ones to @credits: an
     * UpdateFC has the sum of all credits. */
    bool (*loses_update)(FabLinkPart *part, FabClass cls, FabCreditSum *credits,
                         SimTime time);
    /* The port learns of an error, which it has found itself if @is_own.
     * Returns true if the message goes no further. */
    bool (*contains)(FabLinkPart *part, FabSeverity severity, bool is_own);
    /* Status of the completion of a request to the link, which is down. */
    FabStatus (*status)(const FabLinkPart *part);
    /* The link has gone down: its buffers are empty. */
    void (*forget)(FabLinkPart *part);
    /* The link is in Recovery until @end. Afterwards it has the speed and width
     * that the port has now. */
    void (*pause)(FabLinkPart *part, SimTime end);
    /* Tell of the TLPs that the part holds. */
    void (*waits)(const FabLinkPart *part, FabWaits *waits);
    void (*waiters)(const FabLinkPart *part, const FabObserver *observer);
    void (*free)(FabLinkPart *part);
} FabLinkOps;

/* First member of each part. The table of operations identifies its kind. */
struct FabLinkPart {
    const FabLinkOps *ops;
    FabLinkPart *next;
    FabPort *port;
    bool is_special; /* the usual way of a TLP does not do for it */
};

/* Gives @part to @port, which has none with these @ops yet. */
void fab_link_add(FabPort *port, FabLinkPart *part, const FabLinkOps *ops,
                  bool is_special);
/* Takes @part away from its port. */
void fab_link_remove(FabLinkPart *part);
/* The part of @port with these @ops; NULL if there is none. */
FabLinkPart *fab_link_find(const FabPort *port, const FabLinkOps *ops);
/* Changes part->is_special. */
void fab_link_set_special(FabLinkPart *part, bool is_special);

/* Call the operations of the parts of @port. The result is that of the first
 * one that returns true. */
bool fab_link_takes_wire(FabPort *port, SimTime now);
bool fab_link_is_pending(const FabPort *port);
bool fab_link_discards(FabPort *port, FabTlp *tlp, SimTime end);
void fab_link_sends(FabPort *port, FabTlp *tlp);
bool fab_link_carries(FabPort *port, FabTlp *tlp, SimTime start, SimTime end);
void fab_link_sends_dllp(FabPort *port);
bool fab_link_drops(FabPort *ingress, FabTlp *tlp);
bool fab_link_loses_update(FabPort *ingress, FabClass cls,
                           FabCreditSum *credits, SimTime time);
bool fab_link_contains(FabPort *port, FabSeverity severity, bool is_own);
void fab_link_forget(FabPort *port);
void fab_link_pause(FabPort *port, SimTime end);
void fab_link_waits(const FabPort *port, FabWaits *waits);
void fab_link_waiters(const FabPort *port, const FabObserver *observer);
/* Frees the parts of @port. */
void fab_link_free(FabPort *port);

/* Status of the completion of a request to the link of @port, which is down. */
FabStatus fab_link_status(const FabPort *port);

/* Tells the trace that the link of @port has lost @tlp. */
void fab_link_trace_lost(FabPort *port, const FabTlp *tlp);
/* The same, and discards it. */
void fab_link_lose(FabPort *port, FabTlp *tlp);

#endif
