/* SPDX-License-Identifier: MIT */
#ifndef EXP_CROSSING_H
#define EXP_CROSSING_H

#include "fab_fabric.h"
#include "topo_description.h"

/*
 * The model of a timed cluster: the fabric of a description, into which each
 * access of a machine that crosses a cable enters as the TLPs that hardware
 * would make. The model says when the access arrives at the other machine. It
 * moves no data.
 *
 * A posted write arrives when it is visible in memory, or behind a BAR. A read
 * arrives when its request is at the element that answers. The machine answers
 * with a completion, which arrives at the time that the model gives to the
 * whole read, later by what the machine took to answer. No read and no
 * completion arrives before a write of the same direction that entered before
 * it.
 *
 * Times are ns of virtual time. An arrival is rounded up.
 */
typedef struct ExpCrossings ExpCrossings;

typedef enum ExpCrossingKind {
    EXP_CROSSING_WRITE, /* any posted request: memory, doorbell, message */
    EXP_CROSSING_READ,
    EXP_CROSSING_COMPLETION,
} ExpCrossingKind;

typedef struct ExpCrossing {
    ExpCrossingKind kind;
    unsigned link; /* index into topo_joins() of the description */
    unsigned end;  /* the sender's end of that link */
    int64_t time;
    int64_t least;    /* it does not arrive before this time, nor before that of
                         one that entered earlier at this end */
    uint64_t address; /* of a request, in the receiver's machine */
    uint32_t bytes;   /* of data; 0 counts as a read of one DW */
    uint32_t tag;     /* of a read, and of the completion that answers it */
    /* Name of the sender's device whose DMA it is. NULL, or an unknown name:
     * the access comes from the CPU. */
    const char *device;
    bool wants_accept; /* the CPU waits until the write has left it */
    uint64_t id;       /* for the caller */
} ExpCrossing;

typedef struct ExpCrossingsOps {
    void (*arrived)(void *owner, unsigned link, unsigned end, uint64_t id,
                    int64_t time);
    /* It never arrives: a link went down on its way. Nullable. */
    void (*lost)(void *owner, unsigned link, unsigned end, uint64_t id,
                 int64_t time);
    /* The CPU of the host with this index may go on. */
    void (*accepted)(void *owner, unsigned host, uint64_t id, int64_t time);
    /* A TLP crosses a link of the fabric. It must not enter anything. Nullable.
     */
    void (*hop)(void *owner, const FabTraceRecord *record);
} ExpCrossingsOps;

/* Builds the fabric of @description, which must outlive the result, and the
 * ways over its links and through its chips in both directions. Fails if a way
 * cannot be mapped. */
ExpCrossings *exp_crossings_new(const TopoDescription *description,
                                const ExpCrossingsOps *ops, void *owner,
                                GError **error);
void exp_crossings_free(ExpCrossings *crossings); /* (nullable) */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ExpCrossings, exp_crossings_free)

/* The fabric, which had no faults, has those of @description from now on; none
 * of them is earlier. @description is that of the fabric but for its faults,
 * and must outlive it. Fails if a fault does not fit its link. */
bool exp_crossings_add_faults(ExpCrossings *crossings,
                              const TopoDescription *description,
                              GError **error);

/*
 * The least time that anything takes over each link, in either direction, as
 * measured on the idle fabric: writes and reads of 4 bytes by CPUs and devices,
 * to memory and to devices, and completions. @ret_ns has a member for each of
 * topo_joins().
 */
bool exp_crossings_least(const TopoDescription *description, int64_t *ret_ns,
                         GError **error);

/* An access enters at @crossing->time. What happens up to that time must have
 * run. Returns the number of its TLPs (FabTlp.flow), which a read's completions
 * have, too; 0 if it makes none. */
uint32_t exp_crossings_enter(ExpCrossings *crossings,
                             const ExpCrossing *crossing);

/*
 * From now on requests to the page of 4 KiB at @address in the host with index
 * @host go to @offset in @bar of its device @device. NULL: to memory again.
 */
void exp_crossings_place(ExpCrossings *crossings, unsigned host,
                         uint64_t address, const char *device, unsigned bar,
                         uint64_t offset);

/*
 * Runs the fabric up to @until, but no further than the first call of an
 * operation. True if there was one; then events of the same time may be left.
 */
bool exp_crossings_run(ExpCrossings *crossings, int64_t until);

/* Nothing arrives or is accepted before this time unless it enters from now on;
 * INT64_MAX if nothing is under way. */
int64_t exp_crossings_next(const ExpCrossings *crossings);
/* The same for what @end of @link has sent. */
int64_t exp_crossings_bound(const ExpCrossings *crossings, unsigned link,
                            unsigned end);
/* True if the CPU of @host waits. */
bool exp_crossings_is_stalled(const ExpCrossings *crossings, unsigned host);

#endif
