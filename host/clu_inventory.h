/* SPDX-License-Identifier: MIT */
#ifndef CLU_INVENTORY_H
#define CLU_INVENTORY_H

#include "inv_inventory.h"

/*
 * Returns the devices of the hosts of the running @cluster, or of @host alone
 * (nullable), as their own sysfs trees show them. @cluster is as
 * clu_dir_choose() takes it, @ids as inv_add_sysfs() does. NULL if a host does
 * not answer, or sends no sysfs tree; @error may be set.
 */
Inventory *clu_inventory(const char *cluster, const char *host, const char *ids,
                         GError **error);

#endif
