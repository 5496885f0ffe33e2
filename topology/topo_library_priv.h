/* SPDX-License-Identifier: MIT */
#ifndef TOPO_LIBRARY_PRIV_H
#define TOPO_LIBRARY_PRIV_H

#include "topo_reader_priv.h"
#include "topo_sources_priv.h"

/*
 * The parts that a description can name: the profiles in the directory of
 * parts and those in the description's own `parts:`, which go first. Parts
 * live as long as the library.
 */
typedef struct TopoLibrary TopoLibrary;

/* Makes a library. @dir (nullable) is the directory of parts. @own (nullable)
 * is the node of `parts:` and must outlive the library. Files are read from
 * @sources. */
TopoLibrary *topo_library_new(const char *dir, const TopoNode *own,
                              TopoSources *sources, TopoErrors *errors);

/* Frees @library (nullable) and its parts. */
void topo_library_free(TopoLibrary *library);

/* Reads all profiles of the description's own `parts:`, even those that no
 * element uses. */
void topo_library_check_own(TopoLibrary *library);

#define TOPO_KIND_BIT(kind) (1u << (kind))

/* Returns the part called @name with the keys of @set (nullable) applied. @user
 * names the element in messages, @place is where it names the part, @kinds has
 * a bit for each kind of part that is allowed. Returns NULL, after reporting
 * it, if there is no such part or it has errors. */
const TopoPart *topo_library_get(TopoLibrary *library, const char *name,
                                 TopoPlace place, const char *user,
                                 unsigned kinds, const TopoNode *set);

/* Returns whether there is a part of that name in @dir (nullable) or @own
 * (nullable). */
bool topo_library_has(const char *dir, const TopoNode *own, const char *name,
                      TopoSources *sources);

/* Adds the text of all files that were read to @checksum, sorted by name. */
void topo_library_hash(const TopoLibrary *library, GChecksum *checksum);

/* Returns the directory `parts` or `scenarios/parts` beside @file or above it.
 * If there is none, returns that of the program, or NULL if that is missing,
 * too. The caller frees the result. */
char *topo_library_find_dir(const char *file);

#endif
