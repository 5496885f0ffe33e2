/* SPDX-License-Identifier: MIT */
#ifndef TOPO_FLOW_PRIV_H
#define TOPO_FLOW_PRIV_H

#include "topo_flow.h"
#include "topo_load_priv.h"

/* A kind of flow: a row of topo_flow_kinds[]. */
typedef struct TopoFlowKind {
    const char *name;
    TopoSection section;
    bool has_own_fabric; /* as topo_flow_has_own_fabric() returns it */
    /* Makes the checks that the table of keys cannot express, and derives
     * values from others. It is called after all references are resolved.
     * Nullable. */
    void (*check)(TopoLoader *loader, TopoFlow *flow);
} TopoFlowKind;

extern const TopoFlowKind topo_flow_kinds[]; /* sorted by name */
extern const unsigned topo_flow_n_kinds;

struct TopoFlow {
    const TopoFlowKind *kind;
    TopoPlace place;
    unsigned index; /* in TopoWorkload.flows */
    unsigned pairs; /* of the last flow of a list of pairs: their number, which
                       end with this one; otherwise 0 */
    TopoValues *values;
    TopoTarget *targets; /* by index of the key: the target of a reference; a
                            reference to a host has the kind TOPO_TARGET_CPU */
    GPtrArray *after;    /* of TopoFlow */
    const char *file;    /* that it names; nullable, borrowed from the loader */
};

/* The kind called @name (nullable); NULL if there is none. */
const TopoFlowKind *topo_flow_find_kind(const char *name);

/* Returns the names of all kinds, of const char *; the caller frees the array.
 */
GPtrArray *topo_flow_kind_names(void);

/* Reads a flow from @node and reports all errors in it. Returns NULL if its
 * kind is unknown. */
TopoFlow *topo_flow_new(TopoLoader *loader, const TopoNode *node);

/* Returns the flows for which @node stands, a flow with `pairs:`, as maps. The
 * caller frees the array, and the nodes. Reports errors, and returns NULL
 * then. */
GPtrArray *topo_pairs_expand(TopoLoader *loader, const TopoNode *node);

/* Returns whether @name is that of a flow, or of a list of pairs or one of its
 * flows, that was refused. Its own error is reported. */
bool topo_flow_is_refused(const TopoLoader *loader, const char *name);

/* Frees a TopoFlow; usable as GDestroyNotify. */
void topo_flow_free(void *flow);

/* Reports an error at the place of the value of @key. The message is "KEY: "
 * and then @format. */
void topo_flow_report(TopoLoader *loader, const TopoFlow *flow, const char *key,
                      const char *format, ...) G_GNUC_PRINTF(4, 5);

/* The checks of the kinds tcp-host and tcp-devmem. */
void topo_flow_check_tcp(TopoLoader *loader, TopoFlow *flow);
void topo_flow_check_tcp_devmem(TopoLoader *loader, TopoFlow *flow);

/* Sets @key to a value that was derived from others. */
void topo_flow_set_number(TopoFlow *flow, const char *key, int64_t number);
void topo_flow_set_target(TopoFlow *flow, const char *key, TopoTarget target);

#endif
