/* SPDX-License-Identifier: MIT */
#ifndef CLU_BROKER_H
#define CLU_BROKER_H

#include <stdbool.h>

#include "clu_broker_types.h"

/*
 * A broker joins the QEMU processes of a cluster. It offers, each at a UNIX
 * socket of its own,
 *
 *  - NTB links: two NTB devices that connect are given a socket to each other
 *    (qemu-dev/wire/farside_wire.h). Nothing is relayed; the broker is needed
 *    again only when one of the two has gone and comes back;
 *  - regions of shared memory, by the ivshmem client-server protocol of QEMU's
 *    docs/specs/ivshmem-spec.txt, for stock ivshmem-doorbell devices.
 *
 * A broker lives in one main context, and must be used from the thread that
 * runs it. It never waits for a client: whatever a client sends or does not
 * read, the others are served.
 */
typedef struct CluBroker CluBroker;

/* A broker in @context, or in the default one if NULL; it takes a reference. */
CluBroker *clu_broker_new(GMainContext *context);

/*
 * Closes and removes all sockets, and frees @broker (nullable). NTB devices
 * that are joined, and ivshmem devices, go on without it. The broker's callback
 * must not call it.
 */
void clu_broker_free(CluBroker *broker);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CluBroker, clu_broker_free)

/*
 * An NTB link between the devices whose property `link` is @path. A device
 * must send HELLO within two seconds. Then it waits until a device of the other
 * partition waits too; devices are joined in the order in which they came. A
 * third device waits until one of the two ends comes free. A client that breaks
 * the protocol is disconnected.
 *
 * The devices' property `enabled` unplugs a link; the broker has no part in it.
 *
 * Fails if no socket can listen at @path: the path is too long, its folder does
 * not exist, or a process listens there. A socket that a dead process left is
 * replaced.
 */
bool clu_broker_add_link(CluBroker *broker, const char *name, const char *path,
                         GError **error);

/*
 * A region of shared memory for the devices whose chardev is a socket that
 * connects to @path. The memory starts as zeros and lives as long as the broker
 * or a client. IDs are given in turn from 0 to 65535: a client that returns
 * gets a new one.
 *
 * A stock device waits for the broker's answer before its QEMU runs, so the
 * main context must not wait for that QEMU meanwhile.
 *
 * Fails for the same reasons as clu_broker_add_link(), if @region exceeds its
 * limits, or if the memory cannot be allocated.
 */
bool clu_broker_add_region(CluBroker *broker, const char *name,
                           const char *path, const CluBrokerRegion *region,
                           GError **error);

/*
 * A path at which other processes of the same user can open the memory of
 * region @name, for a memory-backend-file with share=on and the region's size
 * (ivshmem-plain). Valid while the broker lives. NULL if there is no such
 * region; to be freed.
 */
char *clu_broker_get_memory_path(const CluBroker *broker, const char *name);

/* Has @fn (nullable) called at each event, for logs. The notice is valid during
 * the call. */
void clu_broker_set_callback(CluBroker *broker, CluBrokerFn fn, void *data);

#endif
