/* SPDX-License-Identifier: MIT */
#ifndef INV_MACHINE_PRIV_H
#define INV_MACHINE_PRIV_H

#include "topo_description.h"

/* The Device/Port Type of the PCI Express capability (PCIe 5.0 s7.5.3.2). */
typedef enum InvPort {
    INV_PORT_NONE = -1, /* no such capability, or not known */
    INV_PORT_ENDPOINT = 0,
    INV_PORT_LEGACY = 1,
    INV_PORT_ROOT = 4,
    INV_PORT_UPSTREAM = 5,
    INV_PORT_DOWNSTREAM = 6,
    INV_PORT_TO_PCI = 7,
    INV_PORT_FROM_PCI = 8,
    INV_PORT_INTEGRATED = 9,
    INV_PORT_EVENT_COLLECTOR = 10,
} InvPort;

typedef struct InvRegion {
    uint64_t size_bytes;
    bool is_64bit;
    bool is_prefetchable;
} InvRegion;

/* A PCI function as a dump shows it. Its speed and width are those that its own
 * Link Capabilities allow. */
typedef struct InvFunction {
    TopoFunction pub; /* must be the first member. It owns its name */
    InvPort port;
    unsigned link_width; /* of the link as it was trained; 0: not known */
    bool is_guessed;     /* another link has the bandwidth of this one */
    InvRegion regions[6];
    unsigned n_regions; /* memory regions; 0: not known */
} InvFunction;

/* A machine that was read: its functions, sorted by address. */
typedef struct InvMachine {
    GPtrArray *functions; /* of InvFunction */
    bool has_links;       /* the source tells which functions have a link */
    bool is_short; /* the source leaves out root ports and downstream ports:
                      each bridge is a switch */
} InvMachine;

InvMachine *inv_machine_new(void);

/* Frees @machine (nullable). */
void inv_machine_free(InvMachine *machine);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(InvMachine, inv_machine_free)

/* Adds a function at @address of which nothing else is known. */
InvFunction *inv_machine_add(InvMachine *machine, TopoPciAddress address);

/* Returns the function at @address; NULL if there is none. */
InvFunction *inv_machine_find(const InvMachine *machine,
                              TopoPciAddress address);

/* Sorts the functions and checks that no address is there twice. @name names
 * the source in @error. */
bool inv_machine_finish(InvMachine *machine, const char *name, GError **error);

/* Read a machine from the text of a file called @name. They return NULL and set
 * @error, with the line, if the text is of another form. */
InvMachine *inv_read_lspci(const char *name, const char *text, GError **error);
InvMachine *inv_read_lspci_tree(const char *name, const char *text,
                                GError **error);
InvMachine *inv_read_xml(const char *name, const char *text, size_t length,
                         GError **error);

/* Returns the bridge of @functions (of TopoFunction) directly above @address;
 * NULL: a root bus. */
const TopoFunction *inv_bridge_above(const GPtrArray *functions,
                                     TopoPciAddress address);

#endif
