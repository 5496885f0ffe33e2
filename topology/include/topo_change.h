/* SPDX-License-Identifier: MIT */
#ifndef TOPO_CHANGE_H
#define TOPO_CHANGE_H

#include <glib.h>

#include "topo_error.h"

/*
 * A change of a description: it replaces the value at a dotted path before
 * the description is checked. Members of lists are addressed by name, or by
 * number from 0. Examples are "hosts.lender.devices.gpu0.set.dma.reads",
 * "links.cable0.width" and "parts.quadro-k420.dma.reads". Changes are
 * immutable.
 */
typedef struct TopoChange TopoChange;

/* Parses "PATH=VALUE". VALUE is YAML in one line: a scalar, [a, b] or {a: b}.
 * @place is where the text was written: topo_place_set() for the command line.
 * On errors returns NULL and adds them to @errors. */
TopoChange *topo_change_parse(const char *text, TopoPlace place,
                              TopoErrors *errors);

/* Makes a change that removes the key @path of the description, such as "plot",
 * if it is there. */
TopoChange *topo_change_remove(const char *path, TopoPlace place);

TopoChange *topo_change_ref(TopoChange *change);

/* Drops a reference to @change (nullable). */
void topo_change_unref(TopoChange *change);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(TopoChange, topo_change_unref)

const char *topo_change_path(const TopoChange *change);

/* Returns the value as one line of YAML, "" for a removal; borrowed. */
const char *topo_change_value(const TopoChange *change);

TopoPlace topo_change_place(const TopoChange *change);

/* Returns the place of changes on the command line, called "--set". */
TopoPlace topo_place_set(void);

/* Returns an empty array that owns the changes added to it. */
GPtrArray *topo_changes_new(void);

#endif
