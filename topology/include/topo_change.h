/* SPDX-License-Identifier: MIT */
#ifndef TOPO_CHANGE_H
#define TOPO_CHANGE_H

#include <glib.h>

#include "topo_error.h"

/*
 * A change of a description before it is checked: the value at a dotted path
 * is replaced. Members of lists are addressed by name (or number, from 0):
 * "hosts.lender.devices.gpu0.set.dma.reads", "links.cable0.width",
 * "parts.quadro-k420.dma.reads". Changes are immutable once made.
 */
typedef struct TopoChange TopoChange;

/* Parses "PATH=VALUE", VALUE being YAML in one line: a scalar, [a, b] or
 * {a: b}. @place is where the text was written; use topo_place_set() for the
 * command line. On failure returns NULL and an entry in @errors. */
TopoChange *topo_change_parse(const char *text, TopoPlace place,
                              TopoErrors *errors);

TopoChange *topo_change_ref(TopoChange *change);

/* Drops a reference to @change (nullable). */
void topo_change_unref(TopoChange *change);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(TopoChange, topo_change_unref)

const char *topo_change_path(const TopoChange *change);

/* The value as one line of YAML; borrowed. */
const char *topo_change_value(const TopoChange *change);

TopoPlace topo_change_place(const TopoChange *change);

/* The place called "--set". */
TopoPlace topo_place_set(void);

/* An empty list that owns the changes added to it. */
GPtrArray *topo_changes_new(void);

#endif
