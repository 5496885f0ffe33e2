/* SPDX-License-Identifier: MIT */
#ifndef CLU_HUB_H
#define CLU_HUB_H

#include <glib.h>

/* An Ethernet inside the cluster: each frame of an adapter goes to all others.
 * It needs no privileges and none of this machine's network addresses. It lives
 * until the process ends. */
typedef struct CluHub CluHub;

CluHub *clu_hub_new(GMainContext *context);

/* Plugs in an adapter. Returns a descriptor for `-netdev socket,fd=`. The hub
 * drops the adapter some time after that descriptor is closed. -1 and @error if
 * no socket can be made. */
int clu_hub_plug(CluHub *hub, GError **error);

#endif
