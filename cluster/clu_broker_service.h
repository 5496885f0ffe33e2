/* SPDX-License-Identifier: MIT */
#ifndef CLU_BROKER_SERVICE_H
#define CLU_BROKER_SERVICE_H

#include "clu_broker_types.h"

/* Shared by all services of a broker; borrowed, and valid until they are
 * freed. */
typedef struct CluBrokerShared {
    GMainContext *context;
    CluBrokerFn fn; /* is told of events; NULL: nobody is */
    void *data;
} CluBrokerShared;

static inline void clu_broker_tell(const CluBrokerShared *shared,
                                   CluBrokerNotice notice)
{
    if (shared->fn) {
        shared->fn(&notice, shared->data);
    }
}

#endif
