/* SPDX-License-Identifier: MIT */
#ifndef FAB_COMPONENT_H
#define FAB_COMPONENT_H

#include <glib.h>

#include "fab_link_params.h"
#include "fab_tlp.h"

typedef struct FabFabric FabFabric;
typedef struct FabComponent FabComponent;

/* Tells what a component is to those who show it. The model itself never asks
 * for it: it goes by the operations of components and the roles of ports. */
typedef enum FabKind {
    FAB_KIND_ROOT,
    FAB_KIND_SWITCH,
    FAB_KIND_NTB,
    FAB_KIND_ENDPOINT,
} FabKind;

/* The end of a link that a port is: the Device/Port Type of its function (PCIe
 * 5.0 s7.5.3.2). From FAB_PORT_DOWNSTREAM on, the port is no lower end. */
typedef enum FabPortRole {
    FAB_PORT_ENDPOINT,   /* of an endpoint, or of an NTB towards its host */
    FAB_PORT_UPSTREAM,   /* Upstream Port of a switch */
    FAB_PORT_DOWNSTREAM, /* Downstream Port of a switch */
    FAB_PORT_ROOT,       /* Root Port */
    FAB_PORT_CABLE,      /* cable port of an NTB: neither of its ends is below
                            the other */
} FabPortRole;

/* A Base Address Register: the size that the function asks for and, after
 * enumeration, its address. */
typedef struct FabBar {
    uint64_t size_bytes; /* power of two, at least 128; 0: not there */
    bool prefetchable;
    bool is_64bit;
    FabBusAddr addr;
} FabBar;

#define FAB_BARS 6

/* The addresses that a bridge passes downstream; base > limit: none. */
typedef struct FabBridgeRange {
    FabBusAddr base;
    FabBusAddr limit; /* last address inside */
} FabBridgeRange;

/* The type 1 header of a Root Port, Upstream or Downstream Port, as
 * enumeration has filled it in (PCIe 5.0 s7.5.1.3). */
typedef struct FabBridge {
    FabBdf bdf;
    uint8_t primary, secondary, subordinate;
    FabBridgeRange memory; /* 32 bit, not prefetchable, 1 MiB granularity */
    FabBridgeRange prefetchable; /* may lie above 4 GiB */
} FabBridge;

/* Counters of one port; bytes are those on the wire. */
typedef struct FabPortCounters {
    uint64_t tlps_sent[FAB_CLASSES];
    uint64_t payload_sent_bytes;
    uint64_t wire_sent_bytes; /* TLPs with framing */
    SimTime busy_ps;          /* sending TLPs and DLLPs */
    SimTime dllp_ps;          /* part of busy_ps that sends DLLPs */
    SimTime service_ps; /* part of busy_ps beyond the wire's time, in which
                           a port that is slower than its wire works */
    uint64_t dllps_sent;
    uint64_t bad_tlps; /* received with a wrong LCRC */
    uint64_t naks_sent;
    uint64_t replayed_tlps; /* sent again */
    uint64_t replay_timeouts;
    uint64_t retrains; /* because REPLAY_NUM rolled over */
    /* Errors that AER logs at the port that the TLP came in at (PCIe 5.0
     * s6.2) */
    uint64_t unsupported_requests;
    uint64_t completer_aborts;
    uint64_t unexpected_completions;
    uint64_t completion_timeouts; /* of requests that it sent (s2.8) */
    uint64_t poisoned_tlps;       /* came in with the EP bit (s2.7.2) */
    uint64_t malformed_tlps;      /* came in with too much payload (s2.2.2) */
    uint64_t receiver_overflows;  /* TLPs dropped for lack of space */
    uint64_t surprise_downs;      /* of a Root Port or Downstream Port */
    uint64_t dpc_triggers;        /* times that it contained what is below */
    uint64_t lost_tlps;     /* sent or queued when the link was or went down */
    SimTime credit_wait_ps; /* a TLP was queued, and lacked credits */
} FabPortCounters;

/* Name such as "lender.sw0"; owned by the component. */
const char *fab_component_name(const FabComponent *component);
FabKind fab_component_kind(const FabComponent *component);
FabFabric *fab_component_fabric(const FabComponent *component);
/* The root of the component's hierarchy; valid after realize. */
FabComponent *fab_component_root(const FabComponent *component);
/* Bus, device and function number of function 0, or of a virtual function;
 * valid after realize. */
FabBdf fab_component_bdf(const FabComponent *component);
/* The FAB_BARS BARs; their addresses are valid after realize. */
const FabBar *fab_component_bars(const FabComponent *component);
/* The number of the BAR that holds @addr; -1 if none does. */
int fab_component_find_bar(const FabComponent *component, FabBusAddr addr);

unsigned fab_component_port_count(const FabComponent *component);
/* A virtual function has no ports of its own; port 0 is that of its device. */
FabPort *fab_component_port(const FabComponent *component, unsigned index);

/* Port name such as "usp" or "rp0". */
const char *fab_port_name(const FabPort *port);
FabComponent *fab_port_owner(const FabPort *port);
FabPortRole fab_port_role(const FabPort *port);
/* The port at the other end of the link; NULL when not connected. */
FabPort *fab_port_peer(const FabPort *port);
FabSpeed fab_port_speed(const FabPort *port);
uint32_t fab_port_width(const FabPort *port);
uint32_t fab_port_mps_bytes(const FabPort *port);
/* The credits that its receive buffer advertises. */
const FabCredits *fab_port_credits(const FabPort *port);
/* One-way delay of the link. */
SimTime fab_port_propagation(const FabPort *port);
/* The type 1 header of the port; NULL for ports of endpoints and NTBs. */
const FabBridge *fab_port_bridge(const FabPort *port);
const FabPortCounters *fab_port_counters(const FabPort *port);

#endif
