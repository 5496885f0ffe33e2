/* SPDX-License-Identifier: MIT */
#ifndef INV_IDS_PRIV_H
#define INV_IDS_PRIV_H

#include <glib.h>

/* The names of vendors and devices in a file in the form of pci.ids. */
typedef struct InvIds InvIds;

/* Reads the file @path; NULL: no names. Returns NULL and sets @error if the
 * file cannot be read. */
InvIds *inv_ids_new(const char *path, GError **error);

/* Frees @ids (nullable). */
void inv_ids_free(InvIds *ids);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(InvIds, inv_ids_free)

/* Return a name, borrowed; NULL if the file has none. */
const char *inv_ids_vendor(const InvIds *ids, unsigned vendor);
const char *inv_ids_device(const InvIds *ids, unsigned vendor, unsigned device);

#endif
