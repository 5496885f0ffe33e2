/* SPDX-License-Identifier: MIT */
#ifndef INV_JSON_PRIV_H
#define INV_JSON_PRIV_H

#include <json-glib/json-glib.h>

#include "inv_inventory.h"

/* Adds the member @name if @text is not NULL. */
void inv_json_add_text(JsonBuilder *builder, const char *name,
                       const char *text);

/* Adds the member @name with 16 hexadecimal digits if @guid is not 0. */
void inv_json_add_guid(JsonBuilder *builder, const char *name, uint64_t guid);

/* Adds the member "pci_properties" of a function of @device at @slot. */
void inv_json_add_pci(JsonBuilder *builder, const InvDevice *device,
                      TopoPciAddress slot);

/* Returns the text of what was built, to be freed. */
char *inv_json_finish(JsonBuilder *builder);

#endif
