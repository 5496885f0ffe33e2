/* SPDX-License-Identifier: MIT */
#ifndef FAB_COMPONENT_PRIV_H
#define FAB_COMPONENT_PRIV_H

#include "fab_arena_priv.h"
#include "fab_component.h"
#include "fab_fabric.h"
#include "sim_engine.h"

typedef struct FabObserveOps FabObserveOps; /* fab_observe_priv.h */

/* The operations of a kind of component. fab_component_init() checks them. */
typedef struct FabComponentOps {
    /* A TLP has come in at @ingress, and the latency of the component is over.
     * Takes ownership. The TLP keeps its place in the receive buffer until it
     * is sent on, discarded or consumed. @ingress is a port of the component,
     * or of another partition of its chip that hands the TLP over. */
    void (*receive)(FabComponent *component, FabPort *ingress, FabTlp *tlp);
    /* Prepares the run, after ports are connected and ranks and addresses are
     * known. */
    bool (*realize)(FabComponent *component, GError **error);
    void (*free)(FabComponent *component);
    /* A link that is down discards the TLPs of the component. It learns of them
     * as they leave, and what they belong to fails. */
    bool sees_discards;
    /* NULL: the component only forwards TLPs. */
    const FabObserveOps *observe;
    /* Adds its caches to @sum; NULL: it has none. */
    void (*caching)(const FabComponent *component, FabCaching *sum);
} FabComponentOps;

/* First member of every component. */
struct FabComponent {
    const FabComponentOps *ops;
    FabFabric *fabric;
    SimEngine *engine;
    FabPort **ports;
    FabKind kind;
    uint32_t rank;       /* of its own events; ports have separate ranks */
    unsigned port_count; /* 0, with ports[0]: it uses another's port */
    bool ports_realized;
    FabComponent *root; /* of its hierarchy */
    FabBdf bdf;
    char *name;
    FabBar bars[FAB_BARS];
};

/* Number of ranks of a component's own events. */
#define FAB_COMPONENT_RANKS 4

/*
 * Initialises the embedded @component and gives it to @fabric, which calls
 * ops->free at its end. @name is copied, and unique in the fabric. Ports are
 * made with fab_component_add_port().
 */
void fab_component_init(FabComponent *component, FabFabric *fabric,
                        const FabComponentOps *ops, FabKind kind,
                        const char *name);

/* Adds a port, with one source at its egress (fab_port_set_sources()). */
FabPort *fab_component_add_port(FabComponent *component, const char *name,
                                const FabPortParams *params);

/* Gives @component, which has no port of its own, the use of @port of another
 * component as its port 0. */
void fab_component_share_port(FabComponent *component, FabPort *port);

#endif
