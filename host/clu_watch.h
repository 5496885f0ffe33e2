/* SPDX-License-Identifier: MIT */
#ifndef CLU_WATCH_H
#define CLU_WATCH_H

#include <stdbool.h>

#include "clu_guest.h"
#include "clu_pace.h"
#include "clu_plan.h"

/*
 * Follows the kernel log of one guest through the agent, during one boot, to
 * know the state of its NTBs. ntb_hw_switchtec writes "ntb link up" or "ntb
 * link down" there when it reports that to its clients, and a record when it
 * registers or unregisters a device. ntb_hw_amd writes nothing, so the watch
 * asks it once a second. Records have sequence numbers, so none is handled
 * twice.
 */
typedef struct CluWatch CluWatch;

typedef struct CluWatchOps {
    void (*changed)(void *owner);
    /* A module cannot be loaded, for the reason @text. The guest is not ready
     * until somebody has mended that. */
    void (*failed)(void *owner, const char *text);
} CluWatchOps;

/*
 * Watches @guest, the guest of @host. It must be ready. @number must differ
 * from that of earlier watches of the same guest. If the guest falls behind
 * with its log, the watch asks for it again: after a pause, or if
 * @pace has no real time, in clu_watch_on_stand().
 */
CluWatch *clu_watch_new(GMainContext *context, CluGuest *guest,
                        const CluPlanHost *host, unsigned number,
                        const CluPace *pace, const CluWatchOps *ops,
                        void *owner);

/* The machines of a timed cluster have come to stand. */
void clu_watch_on_stand(CluWatch *watch);

/* Frees @watch (nullable). */
void clu_watch_free(CluWatch *watch);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CluWatch, clu_watch_free)

/* True if each NTB has its driver and the client that was asked for, if any,
 * and the other modules are loaded. */
bool clu_watch_is_ready(const CluWatch *watch);

/* True if the driver of the device at @end of @link reports it as up. */
bool clu_watch_link_up(const CluWatch *watch, const CluPlanLink *link,
                       unsigned end);

#endif
