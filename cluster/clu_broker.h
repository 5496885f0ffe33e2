/* SPDX-License-Identifier: MIT */
#ifndef CLU_BROKER_H
#define CLU_BROKER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <glib.h>

/*
 * What joins the QEMU processes of a cluster. A broker offers, each at a UNIX
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
 * that have met, and ivshmem devices, go on without it. Not to be called by
 * the broker's own callback.
 */
void clu_broker_free(CluBroker *broker);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CluBroker, clu_broker_free)

/*
 * An NTB link between the devices whose property `link` is @path. A device is
 * taken seriously when it has said HELLO, for which it has two seconds. It
 * waits until one of the other partition waits too; who came first is joined
 * first. One that is there a third time waits until an end comes free. What
 * breaks the protocol is disconnected.
 *
 * A link is cut by the devices' property `enabled`, not by the broker.
 *
 * Fails if there is no socket to be had at @path: too long, no such folder,
 * somebody listens there. What a dead process left there is replaced.
 */
bool clu_broker_add_link(CluBroker *broker, const char *name, const char *path,
                         GError **error);

/* Limits of what a region can be given. */
#define CLU_BROKER_VECTORS_MAX 64
#define CLU_BROKER_CLIENTS_MAX 256

typedef struct CluBrokerRegion {
    uint64_t size_bytes;  /* a power of 2, at least a page */
    unsigned vectors;     /* of each client; as their property `vectors` says */
    unsigned clients_max; /* who comes beyond is disconnected */
} CluBrokerRegion;

/*
 * A region of shared memory for the devices whose chardev is a socket that
 * connects to @path. The memory is zero at first and lives as long as the
 * broker or a client. IDs are given in turn from 0 to 65535 and are not used
 * again before: who returns has another one.
 *
 * A stock device waits, before its QEMU runs, until the broker has answered:
 * the main context must not wait for that QEMU meanwhile.
 *
 * Fails as clu_broker_add_link, if @region is out of its limits, or if there
 * is no memory to be had.
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

typedef enum CluBrokerEvent {
    CLU_BROKER_WAITS,    /* an NTB device waits for its peer */
    CLU_BROKER_CLASHES,  /* ... while one of the same partition waits */
    CLU_BROKER_JOINED,   /* ... has been given a socket to its peer */
    CLU_BROKER_ATTACHED, /* an ivshmem client has come */
    CLU_BROKER_LEFT,     /* one that waited or was attached has gone */
    CLU_BROKER_REFUSED,  /* one has been disconnected, see reason */
} CluBrokerEvent;

typedef struct CluBrokerNotice {
    CluBrokerEvent event;
    const char *name;   /* of the link or region */
    const char *reason; /* NULL but with CLU_BROKER_REFUSED */
    pid_t pid;          /* of the process that connected */
    unsigned id;        /* partition, or ivshmem ID; 0 if refused */
} CluBrokerNotice;

typedef void (*CluBrokerFn)(const CluBrokerNotice *notice, void *data);

/* Whom to tell of events, for logs; @fn is nullable. The notice is valid
 * during the call. */
void clu_broker_set_callback(CluBroker *broker, CluBrokerFn fn, void *data);

#endif
