/* SPDX-License-Identifier: MIT */
#ifndef CLU_HUB_H
#define CLU_HUB_H

#include <glib.h>

/* An Ethernet of the cluster's own: a frame from one adapter goes to all
 * others. It needs no rights and no address of this machine. */
typedef struct CluHub CluHub;

CluHub *clu_hub_new(GMainContext *context);

/* Frees @hub (nullable); its adapters have no carrier then. */
void clu_hub_free(CluHub *hub);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CluHub, clu_hub_free)

/* Plugs in an adapter: a file descriptor for a `-netdev socket,fd=`, whose peer
 * the hub keeps until that is closed. -1 and @error if there is none. */
int clu_hub_plug(CluHub *hub, GError **error);

#endif
