/* SPDX-License-Identifier: MIT */
#ifndef INV_IMPORT_PRIV_H
#define INV_IMPORT_PRIV_H

#include "inv_machine_priv.h"

/* The parts that have the numbers which a dump does not tell:
 * scenarios/parts/generic-*.yaml. */
#define INV_GENERIC_MTPS  16000
#define INV_GENERIC_WIDTH 16
#define INV_GENERIC_MPS   256

#define INV_PORTS_MAX 63 /* downstream ports of a switch */
#define INV_NODES_MAX 16 /* nodes of a root */

/* Root ports of a CPU, and switches of a host, that a description can have. */
#define INV_ROOT_PORTS_MAX 63
#define INV_SWITCHES_MAX   127

/* The kinds of element that a function becomes in the model. */
typedef enum InvRole {
    INV_ROLE_NONE,       /* left out */
    INV_ROLE_ROOT_PORT,  /* a root port */
    INV_ROLE_UPSTREAM,   /* a switch */
    INV_ROLE_DOWNSTREAM, /* a port of a switch */
    INV_ROLE_DEVICE,     /* a device, with further functions as its ports */
    INV_ROLE_PORT,       /* a further port of a device */
} InvRole;

/* An import makes one of these of a function. */
typedef struct InvPlace {
    InvRole role;
    const char *reason; /* it is left out; NULL: it is not */
    int parent;         /* index of the bridge above it; -1: a root bus */
    bool is_found;      /* the role is known */
    bool is_virtual;    /* SR-IOV of a function of the dump counts it */
    unsigned port;      /* of the switch above it: its number */
    unsigned ports;     /* of a switch: how many it has. Of others 0 */
} InvPlace;

typedef struct InvImporter {
    InvMachine *machine;
    InvPlace *places; /* by function */
} InvImporter;

/* Returns the function with this index. */
InvFunction *inv_function_at(const InvImporter *importer, unsigned index);

/* Gives each function its place. */
void inv_find_roles(InvImporter *importer);

/* Returns whether function @index is a switch or a device whose port above it
 * is not in the source: of a root bus, or of a source that leaves ports out. */
bool inv_has_hidden_port(const InvImporter *importer, unsigned index);

/* Returns whether function @index is a root port, or a switch or a device below
 * a hidden one. */
bool inv_has_root_port(const InvImporter *importer, unsigned index);

/* Returns whether function @index is a switch or a device. */
bool inv_is_element(const InvImporter *importer, unsigned index);

/* Returns the name of function @index in the description, such as "sw_0a_00_0",
 * or of its root port (@prefix "rp"), to be freed. */
char *inv_element_name(const InvImporter *importer, unsigned index,
                       const char *prefix);

/* Returns the description of @importer's machine as a host called @host, to be
 * freed. Adds notes to the machine. */
char *inv_description_text(const InvImporter *importer, const char *host);

#endif
