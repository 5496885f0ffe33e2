/* SPDX-License-Identifier: MIT */
#ifndef TOPO_FLOW_PRIV_H
#define TOPO_FLOW_PRIV_H

#include "topo_flow.h"
#include "topo_load_priv.h"

/* A kind of flow: a row of topo_flow_kinds[]. */
typedef struct TopoFlowKind {
    const char *name;
    TopoSection section;
    bool has_own_fabric; /* as topo_flow_has_own_fabric() */
    /* Checks what the table of keys cannot say, and derives values from
     * others; NULL: nothing. It is called when every reference is resolved. */
    void (*check)(TopoLoader *loader, TopoFlow *flow);
} TopoFlowKind;

extern const TopoFlowKind topo_flow_kinds[]; /* by name */
extern const unsigned topo_flow_n_kinds;

struct TopoFlow {
    const TopoFlowKind *kind;
    TopoPlace place;
    unsigned index; /* in TopoWorkload.flows */
    TopoValues *values;
    TopoTarget *targets; /* by index of the key: what a reference names; that of
                            a host is TOPO_TARGET_CPU */
    GPtrArray *after;    /* of TopoFlow */
};

/* The kind called @name (nullable); NULL if there is none. */
const TopoFlowKind *topo_flow_find_kind(const char *name);

/* The names of all kinds, to be freed. */
char *topo_flow_kind_names(void);

/* Reads a flow from @node and reports what is wrong with it. Returns NULL if
 * its kind is not known. */
TopoFlow *topo_flow_new(TopoLoader *loader, const TopoNode *node);

/* Frees a TopoFlow; a GDestroyNotify. */
void topo_flow_free(void *flow);

/* Reports at the place of the value of @key: "KEY: ", then @format. */
void topo_flow_report(TopoLoader *loader, const TopoFlow *flow, const char *key,
                      const char *format, ...) G_GNUC_PRINTF(4, 5);

/* Gives @key a value that follows from others. */
void topo_flow_set_number(TopoFlow *flow, const char *key, int64_t number);
void topo_flow_set_target(TopoFlow *flow, const char *key, TopoTarget target);

#endif
