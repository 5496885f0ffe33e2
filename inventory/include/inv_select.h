/* SPDX-License-Identifier: MIT */
#ifndef INV_SELECT_H
#define INV_SELECT_H

#include "inv_inventory.h"
#include "topo_request.h"

/* The function of a host that a request selects. */
typedef struct InvSelection {
    const InvHost *host;
    const InvDevice *device;
    unsigned instance; /* among the devices of that name in that fabric */
    bool is_virtual;
    unsigned virtual_function;
    TopoPciAddress slot; /* of the virtual function, if is_virtual */
    char *interface;
    char *partition; /* NULL: none */
} InvSelection;

/* Frees @selection (nullable). */
void inv_selection_free(InvSelection *selection);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(InvSelection, inv_selection_free)

/* Selects the function of @host, which must outlive the result, that @request
 * asks for. On failure adds an error, which says what there is, and returns
 * NULL. */
InvSelection *inv_select(const InvHost *host, const TopoRequest *request,
                         TopoErrors *errors);

/* Selects for each of @requests (of TopoRequest) on all hosts of @inventory, as
 * above; of InvSelection, to be freed. */
GPtrArray *inv_select_all(const Inventory *inventory, const GPtrArray *requests,
                          TopoErrors *errors);

/* Returns JSON, to be freed: an array of {host, request's keys, pci_properties,
 * interface} for @selections (of InvSelection). */
char *inv_selections_to_json(const GPtrArray *selections);

/* Returns a sentence for each selected card of which @selections (of
 * InvSelection) use a port while it has others: ports of one card share serial
 * number and settings. The text is empty if there is no such card. The caller
 * frees it. */
char *inv_shared_cards(const GPtrArray *selections);

/* Appends a table of @selections (of InvSelection). */
void inv_selections_append(GString *text, const GPtrArray *selections);

#endif
