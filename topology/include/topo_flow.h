/* SPDX-License-Identifier: MIT */
#ifndef TOPO_FLOW_H
#define TOPO_FLOW_H

#include "topo_description.h"

/*
 * A flow of the workload. Like the values of a part, its values are read by
 * key; docs/reference/description.md lists keys, types and ranges. It is a
 * programming error to ask for a key that the kind of flow does not have, or
 * to use a getter that does not fit the key's type. The description owns all
 * results.
 */
const char *topo_flow_name(const TopoFlow *flow);
const char *topo_flow_kind(const TopoFlow *flow); /* such as "dma" */
TopoPlace topo_flow_place(const TopoFlow *flow);
unsigned topo_flow_index(const TopoFlow *flow); /* in TopoWorkload.flows */

/* Returns the flows (of TopoFlow) that must end before @flow begins. */
const GPtrArray *topo_flow_after(const TopoFlow *flow);

/* Returns the name of the engine that @flow shares with others; NULL: none. */
const char *topo_flow_engine(const TopoFlow *flow);

/* Returns the bytes of one operation; 0 if the kind of flow has no `size`. */
int64_t topo_flow_size_bytes(const TopoFlow *flow);

/* Returns whether @flow runs alone in an idle fabric of its own. All other
 * flows share one fabric. */
bool topo_flow_has_own_fabric(const TopoFlow *flow);

/* Returns the path of the file that @flow names; NULL if it names none. */
const char *topo_flow_file(const TopoFlow *flow);

/* Returns whether @flow moves data to, from or through the RAM of a host. */
bool topo_flow_uses_ram(const TopoFlow *flow);

/* Gets the two devices between which @flow moves data without using RAM.
 * Returns false if there are no two. */
bool topo_flow_get_devices(const TopoFlow *flow, TopoDevice *ret_devices[2]);

/* Returns whether a key of @flow names @device. */
bool topo_flow_uses_device(const TopoFlow *flow, const TopoDevice *device);

/* Returns whether @key has a value: a given one, a default, or one that the
 * loader derived from other keys. The number getters may be called only for
 * such a key. */
bool topo_flow_has(const TopoFlow *flow, const char *key);

bool topo_flow_bool(const TopoFlow *flow, const char *key);
int64_t topo_flow_int(const TopoFlow *flow, const char *key);
double topo_flow_share(const TopoFlow *flow, const char *key);
int64_t topo_flow_bytes(const TopoFlow *flow, const char *key);
int64_t topo_flow_time(const TopoFlow *flow, const char *key); /* ps */

/* Returns whether the value of @key is @word, which must be one of its
 * choices. */
bool topo_flow_is(const TopoFlow *flow, const char *key, const char *word);

/* Return the thing that the reference @key names. If @key has no value, the
 * host and the device are NULL, and the target is of kind TOPO_TARGET_NONE. A
 * host is a target of kind TOPO_TARGET_CPU. */
TopoHost *topo_flow_host(const TopoFlow *flow, const char *key);
TopoDevice *topo_flow_device(const TopoFlow *flow, const char *key);
TopoTarget topo_flow_target(const TopoFlow *flow, const char *key);

#endif
