/* SPDX-License-Identifier: MIT */
#ifndef TOPO_LIBRARY_PRIV_H
#define TOPO_LIBRARY_PRIV_H

#include "topo_reader_priv.h"

/*
 * The parts a description can name: profiles of its directory of parts, under
 * those of the file's own `parts:`. Parts live as long as the library.
 */
typedef struct TopoLibrary TopoLibrary;

/* @dir (nullable) is the directory, @own (nullable) the node of `parts:`,
 * which must outlive the library. */
TopoLibrary *topo_library_new(const char *dir, const TopoNode *own,
                              TopoErrors *errors);

/* Frees @library (nullable) and its parts. */
void topo_library_free(TopoLibrary *library);

/* Reads all profiles of the file itself, used or not. */
void topo_library_check_own(TopoLibrary *library);

#define TOPO_KIND_BIT(kind) (1u << (kind))

/* The part called @name with the keys of @set (nullable) over it, for @user,
 * who names it at @place and needs a kind of @kinds (bits). NULL if there is
 * none or it is not good, which has then been reported. */
const TopoPart *topo_library_get(TopoLibrary *library, const char *name,
                                 TopoPlace place, const char *user,
                                 unsigned kinds, const TopoNode *set);

/* Returns whether a part of that name exists in @dir (nullable) or @own
 * (nullable). */
bool topo_library_has(const char *dir, const TopoNode *own, const char *name);

/* Adds what was read from files, in the order of their names. */
void topo_library_hash(const TopoLibrary *library, GChecksum *checksum);

/* The directory `parts` or `scenarios/parts` beside or above @file, or that of
 * the program if there is none; NULL if that is gone. To be freed. */
char *topo_library_find_dir(const char *file);

#endif
