/* SPDX-License-Identifier: MIT */
#ifndef INV_METADATA_H
#define INV_METADATA_H

#include "inv_select.h"

/*
 * InfiniBand interfaces that were requested, as a site sets them up: GUIDs,
 * LIDs and addresses. A metadata service tells them to the host, whose
 * operating system is set up by them.
 */
typedef struct InvInterface {
    const TopoRequest *request;
    InvSelection *selection;
    uint64_t pf_guid; /* of the physical function */
    uint64_t guid;    /* of the function, which may be that one */
    unsigned lid;     /* unicast: 1 to 0xbfff, one for each port of a fabric */
    char *addresses[2]; /* IPv4, IPv6 */
} InvInterface;

/* Allocates for each of @requests (of TopoRequest, which must outlive the
 * result) on each host of @inventory, which must outlive it, too: an array of
 * InvInterface, sorted by host and request, to be freed with
 * g_ptr_array_unref(). The same inventory and requests give the same numbers.
 * On errors, such as two requests for one function, adds them to @errors and
 * returns NULL. */
GPtrArray *inv_interfaces_allocate(const Inventory *inventory,
                                   const GPtrArray *requests,
                                   TopoErrors *errors);

/* Returns the answer of a metadata service to @host, JSON, to be freed:
 * {config, status}, each with infiniband.ib_interfaces, an array in the order
 * of the requests. config has what was asked for, status has {pf_guid, guid,
 * lid, addresses}. */
char *inv_metadata_to_json(const InvHost *host, const GPtrArray *interfaces);

/* Returns the same for clients that cannot read JSON, to be freed: a line for
 * each interface with pf_guid, guid, "PF" or the number of the virtual
 * function, lid, addresses, and the rest of the line is the partition, "-" if
 * there is none. */
char *inv_metadata_to_lines(const InvHost *host, const GPtrArray *interfaces);

/* Writes both answers of each host of @inventory below the folder @dir, which
 * is made: HOST/metadata.json and HOST/interfaces. Returns false and sets
 * @error (G_FILE_ERROR) on failure. */
bool inv_metadata_write(const Inventory *inventory, const GPtrArray *interfaces,
                        const char *dir, GError **error);

#endif
