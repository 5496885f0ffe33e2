/* SPDX-License-Identifier: MIT */
#ifndef CLU_BROKER_SERVICE_H
#define CLU_BROKER_SERVICE_H

#include "clu_broker_types.h"

/* The state that all services of a broker share. It outlives them. */
typedef struct CluBrokerShared {
    GMainContext *context;
    CluBrokerFn fn; /* called at each event; nullable */
    void *data;     /* argument of `fn` */
} CluBrokerShared;

static inline void clu_broker_tell(const CluBrokerShared *shared,
                                   CluBrokerNotice notice)
{
    if (shared->fn) {
        shared->fn(&notice, shared->data);
    }
}

#endif
