/* SPDX-License-Identifier: MIT */
#ifndef CLU_BROKER_H
#define CLU_BROKER_H

#include <stdbool.h>

#include "clu_broker_types.h"

/*
 * A broker connects the QEMU processes of a cluster with each other. It offers
 * two kinds of service, each at a UNIX socket of its own:
 *
 *  - NTB links: the broker gives the two NTB devices of a link a socket to each
 *    other (qemu-dev/wire/farside_wire.h). It relays nothing; it is needed
 *    again only when one of the two devices goes away and comes back;
 *  - regions of shared memory, by the ivshmem client-server protocol of QEMU's
 *    docs/specs/ivshmem-spec.txt, for stock ivshmem-doorbell devices.
 *
 * A broker lives in one main context, and must be used from the thread that
 * runs that context. It never blocks on a client, so a client that misbehaves
 * or does not read cannot delay the others.
 */
typedef struct CluBroker CluBroker;

/* A broker in @context, or in the default context if that is NULL. The broker
 * takes a reference to the context. */
CluBroker *clu_broker_new(GMainContext *context);

/*
 * Closes and removes all sockets, and frees @broker (nullable). Joined NTB
 * devices and ivshmem devices work on without a broker. The broker's callback
 * must not call this function.
 */
void clu_broker_free(CluBroker *broker);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CluBroker, clu_broker_free)

/*
 * Adds an NTB link between the devices whose property `link` is @path. A device
 * must send HELLO within two seconds of connecting. Then it waits for a device
 * of the other partition. If several devices of one partition wait, the one
 * that came first is joined first. A client that breaks the protocol is
 * disconnected.
 *
 * The broker does not know whether a link is plugged in: the property `enabled`
 * of the devices decides that.
 *
 * Fails if no socket can listen at @path: the path is too long, its folder does
 * not exist, or another process listens there. A socket file that a dead
 * process left behind is replaced.
 */
bool clu_broker_add_link(CluBroker *broker, const char *name, const char *path,
                         GError **error);

/*
 * Adds a region of shared memory for the ivshmem-doorbell devices whose chardev
 * connects to @path. The memory is zero at first, and exists as long as the
 * broker or a client. Each connection gets the next ID from 0 to 65535, so a
 * client that reconnects gets a new ID.
 *
 * QEMU's ivshmem-doorbell waits for the broker's answer before its QEMU starts
 * the machine, so the thread of the main context must not wait for that QEMU.
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

/* Sets the function (nullable) that is called at each event, for logs. The
 * notice is valid only during the call. */
void clu_broker_set_callback(CluBroker *broker, CluBrokerFn fn, void *data);

#endif
