/* SPDX-License-Identifier: MIT */
#ifndef CLU_BROKER_TYPES_H
#define CLU_BROKER_TYPES_H

#include <stdint.h>
#include <sys/types.h>

#include <glib.h>

/* Regions and events: the types that users of a broker and its services share.
 */

/* Limits of a region. */
#define CLU_BROKER_VECTORS_MAX 64
#define CLU_BROKER_CLIENTS_MAX 256

typedef struct CluBrokerRegion {
    uint64_t size_bytes;  /* a power of 2, at least a page */
    unsigned vectors;     /* of each client: the device property `vectors` */
    unsigned clients_max; /* further clients are disconnected */
} CluBrokerRegion;

typedef enum CluBrokerEvent {
    CLU_BROKER_WAITS,    /* an NTB device waits for its peer */
    CLU_BROKER_CLASHES,  /* ... while another of its partition waits already */
    CLU_BROKER_JOINED,   /* an NTB device was given a socket to its peer */
    CLU_BROKER_ATTACHED, /* an ivshmem client has connected */
    CLU_BROKER_LEFT,     /* a waiting device or attached client has gone */
    CLU_BROKER_REFUSED,  /* the broker has disconnected a client: see reason */
} CluBrokerEvent;

typedef struct CluBrokerNotice {
    CluBrokerEvent event;
    const char *name;   /* of the link or region */
    const char *reason; /* set for CLU_BROKER_REFUSED only */
    pid_t pid;          /* of the process that connected */
    unsigned id;        /* partition, or ivshmem ID; 0 if refused */
} CluBrokerNotice;

typedef void (*CluBrokerFn)(const CluBrokerNotice *notice, void *data);

#endif
