/* SPDX-License-Identifier: MIT */
#ifndef TOPO_FLOW_H
#define TOPO_FLOW_H

#include "topo_description.h"

/*
 * A flow of the workload. Its values are read by key, as those of a part are:
 * keys, types and ranges are those of docs/user/description.md. A key that
 * the kind of flow does not have, or a getter that does not fit the key's type,
 * is a programming error. All that the getters return is owned by the
 * description.
 */
const char *topo_flow_name(const TopoFlow *flow);
const char *topo_flow_kind(const TopoFlow *flow); /* "dma" */
TopoPlace topo_flow_place(const TopoFlow *flow);
unsigned topo_flow_index(const TopoFlow *flow); /* in TopoWorkload.flows */

/* The flows (of TopoFlow) that must be done before @flow begins. */
const GPtrArray *topo_flow_after(const TopoFlow *flow);

/* The bytes of one operation; 0 if the kind of flow has no `size`. */
int64_t topo_flow_size_bytes(const TopoFlow *flow);

/* Returns whether @flow is sent through an idle fabric of its own, and not
 * together with the others. */
bool topo_flow_has_own_fabric(const TopoFlow *flow);

/* Returns whether @flow moves data to, from or through the RAM of a host. */
bool topo_flow_uses_ram(const TopoFlow *flow);

/* Gets the two devices between which @flow moves data without using RAM.
 * Returns false if there are no two. */
bool topo_flow_get_devices(const TopoFlow *flow, TopoDevice *ret_devices[2]);

/* Returns whether @key has a value: its own, a default, or one that the loader
 * derives from other keys. The number getters may be called for such a key
 * only. */
bool topo_flow_has(const TopoFlow *flow, const char *key);

bool topo_flow_bool(const TopoFlow *flow, const char *key);
int64_t topo_flow_int(const TopoFlow *flow, const char *key);
int64_t topo_flow_bytes(const TopoFlow *flow, const char *key);
int64_t topo_flow_time(const TopoFlow *flow, const char *key); /* ps */

/* Returns whether the value of @key is @word, one of the words it may be. */
bool topo_flow_is(const TopoFlow *flow, const char *key, const char *word);

/* The thing that the reference @key names. Without a value the host and the
 * device are NULL, and the kind of the target is TOPO_TARGET_NONE. */
TopoHost *topo_flow_host(const TopoFlow *flow, const char *key);
TopoDevice *topo_flow_device(const TopoFlow *flow, const char *key);
TopoTarget topo_flow_target(const TopoFlow *flow, const char *key);

#endif
