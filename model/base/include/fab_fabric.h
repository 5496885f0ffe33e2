/* SPDX-License-Identifier: MIT */
#ifndef FAB_FABRIC_H
#define FAB_FABRIC_H

#include <stdio.h>

#include "fab_component.h"
#include "sim_engine.h"

/*
 * A fabric: every component of every host, and the links between them. Life:
 * new, add components (fab_root_new() and so on), connect, realize, run the
 * engine, free. One thread at a time may use a fabric. A process may have any
 * number of fabrics.
 */

#define FAB_ERROR fab_error_quark()
GQuark fab_error_quark(void);

typedef enum FabError {
    FAB_ERROR_CONNECT, /* a port is taken, or lacks the speed or width */
    FAB_ERROR_ADDRESS, /* bus numbers or address space do not suffice */
    FAB_ERROR_WINDOW,  /* an NTB lacks free mapping entries, or no cable leads
                          there */
    FAB_ERROR_CONFIG,  /* a component's parameters contradict each other */
    FAB_ERROR_LENT,    /* another borrower has the device */
    FAB_ERROR_NO_ROOM, /* a DMA window is full */
    FAB_ERROR_STUCK,   /* a simulation cannot go on */
    FAB_ERROR_BUG,     /* the model contradicts itself */
} FabError;

/* @engine is borrowed and must outlive the fabric. @seed seeds all random
 * streams of the fabric. */
FabFabric *fab_fabric_new(SimEngine *engine, uint64_t seed);
void fab_fabric_free(FabFabric *fabric);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(FabFabric, fab_fabric_free)

SimEngine *fab_fabric_engine(const FabFabric *fabric);
uint64_t fab_fabric_seed(const FabFabric *fabric);

/*
 * Connects port @port_a of @a with port @port_b of @b. @speed and @width of 0
 * take the best that both ports can do. @propagation is one way. Fails with
 * FAB_ERROR_CONNECT.
 */
bool fab_fabric_connect(FabComponent *a, unsigned port_a, FabComponent *b,
                        unsigned port_b, FabSpeed speed, uint32_t width,
                        SimTime propagation, GError **error);

/*
 * Enumerates every hierarchy (bus numbers, BARs, bridge ranges), sets
 * Max_Payload_Size to the largest value that all connected ports of the fabric
 * support, ranks the components by name, and makes everything ready to run. To
 * be called once.
 */
bool fab_fabric_realize(FabFabric *fabric, GError **error);

/* Takes @error of the component named @component. */
typedef void (*FabErrorTaker)(void *opaque, const char *component,
                              GError *error);

/*
 * The same, but it does not end at the first error: @take gets one of each
 * hierarchy, or if all could be enumerated one of each component. Return:
 * whether there was none.
 */
bool fab_fabric_realize_all(FabFabric *fabric, FabErrorTaker take,
                            void *opaque);

/* The component named @name; NULL if there is none. */
FabComponent *fab_fabric_find(const FabFabric *fabric, const char *name);

/* All components, sorted by name; valid after realize. */
FabComponent *const *fab_fabric_components(const FabFabric *fabric,
                                           unsigned *ret_count);

/* Links crossed by TLPs so far, summed over all links. */
uint64_t fab_fabric_tlp_hops(const FabFabric *fabric);

/* TLPs that are queued, in flight or held by a component. */
uint64_t fab_fabric_tlps_alive(const FabFabric *fabric);

/* Requests answered (or dropped, if posted) as Unsupported Request, plus
 * dropped Unexpected Completions. */
uint64_t fab_fabric_unsupported(const FabFabric *fabric);

/*
 * Sets the time after which every requester gives up a non-posted request whose
 * completions have not all come (PCIe 5.0 s2.8): the CPU and the root for
 * requests between its ports, DMA engines, and NTBs with tags of their own. It
 * runs from the making of the request. 0, the default: they wait for ever. To
 * be called before anything is sent.
 */
void fab_fabric_set_completion_timeout(FabFabric *fabric, SimTime timeout);

/* Trace categories of the model. */
#define FAB_TRACE_LINK 0x1u /* a TLP crosses a link */
#define FAB_TRACE_UR   0x2u /* a TLP is unsupported or unexpected */
#define FAB_TRACE_LOST 0x4u /* a link that is down discards a TLP */

/*
 * The observer gets a record for every TLP of a traced category. The function
 * is called while the engine runs, and must not change anything. For
 * FAB_TRACE_LINK, @port is the sender, @start and @end are the times of the
 * first and the last byte on the wire, and @seen is the time at which the
 * component at the far end acts on the TLP. For FAB_TRACE_LOST, @port is the
 * sender, too, and all times are the present one.
 */
typedef struct FabTraceRecord {
    uint32_t category;
    const FabPort *port;
    const FabTlp *tlp;
    SimTime start, end, seen;
} FabTraceRecord;
typedef void (*FabTraceFn)(void *data, const FabTraceRecord *record);

/* Attaches the only observer. @categories of 0 detaches it. */
void fab_fabric_set_trace(FabFabric *fabric, uint32_t categories, FabTraceFn fn,
                          void *data);

/* The caches of all components: of translations, and of memory. */
typedef struct FabCaching {
    uint64_t seen_bytes; /* set by the caller: data with addresses of their own
                            of which the time is known */
    uint64_t held;       /* entries in use */
    SimTime missed;      /* time of the misses so far, as if each stood alone */
    double unseen_ps;    /* for a byte of such data: time of the misses of pages
                            that are larger than half of `seen_bytes` */
} FabCaching;

/* Adds the caches of @fabric, which is realized, to @sum. */
void fab_fabric_caching(const FabFabric *fabric, FabCaching *sum);

#endif
