/* SPDX-License-Identifier: MIT */
#ifndef CLU_BROKER_IVSHMEM_H
#define CLU_BROKER_IVSHMEM_H

#include "clu_broker_service.h"

/* A region of shared memory and its ivshmem clients: see
 * clu_broker_add_region(). */
typedef struct CluBrokerShm CluBrokerShm;

CluBrokerShm *clu_broker_shm_new(const CluBrokerShared *shared,
                                 const char *name, const char *path,
                                 const CluBrokerRegion *region, GError **error);

/* Frees @shm (nullable). */
void clu_broker_shm_free(CluBrokerShm *shm);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CluBrokerShm, clu_broker_shm_free)

const char *clu_broker_shm_get_name(const CluBrokerShm *shm);

/* The descriptor of the memory; borrowed. */
int clu_broker_shm_get_file(const CluBrokerShm *shm);

#endif
