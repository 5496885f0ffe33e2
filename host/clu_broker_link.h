/* SPDX-License-Identifier: MIT */
#ifndef CLU_BROKER_LINK_H
#define CLU_BROKER_LINK_H

#include "clu_broker_service.h"

/* The meeting place of the two NTB devices of a link: see
 * clu_broker_add_link(). */
typedef struct CluBrokerLink CluBrokerLink;

CluBrokerLink *clu_broker_link_new(const CluBrokerShared *shared,
                                   const char *name, const char *path,
                                   GError **error);

/* Frees @link (nullable). */
void clu_broker_link_free(CluBrokerLink *link);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CluBrokerLink, clu_broker_link_free)

#endif
