/* SPDX-License-Identifier: MIT */
#ifndef CLU_WATCH_H
#define CLU_WATCH_H

#include <stdbool.h>

#include "clu_guest.h"
#include "clu_plan.h"

/*
 * What the drivers in one guest say of its NTBs, from one boot to its end: the
 * kernel log is followed through the agent. ntb_hw_switchtec writes "ntb link
 * up" or "down" there whenever what it tells its clients changes, and says when
 * it comes and goes; each record has a number, so none counts twice.
 */
typedef struct CluWatch CluWatch;

typedef struct CluWatchOps {
    void (*changed)(void *owner);
} CluWatchOps;

/* Begins to watch @host's guest, which is ready. */
CluWatch *clu_watch_new(GMainContext *context, CluGuest *guest,
                        const CluPlanHost *host, const CluWatchOps *ops,
                        void *owner);

/* Frees @watch (nullable). */
void clu_watch_free(CluWatch *watch);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CluWatch, clu_watch_free)

/* Whether each NTB has its driver and, if one was asked for, its client, and
 * the other modules are loaded. */
bool clu_watch_is_ready(const CluWatch *watch);

/* Whether the driver of @device says that its link is up. */
bool clu_watch_link_up(const CluWatch *watch, const CluPlanDevice *device);

#endif
