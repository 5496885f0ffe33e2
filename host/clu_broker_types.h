/* SPDX-License-Identifier: MIT */
#ifndef CLU_BROKER_TYPES_H
#define CLU_BROKER_TYPES_H

#include <stdint.h>
#include <sys/types.h>

#include <glib.h>

/* The types that a broker, its services and its users share. */

/* Limits of a region. */
#define CLU_BROKER_VECTORS_MAX 64
#define CLU_BROKER_CLIENTS_MAX 256

typedef struct CluBrokerRegion {
    uint64_t size_bytes;  /* a power of 2, at least a page */
    unsigned vectors;     /* vectors of a client: device property `vectors` */
    unsigned clients_max; /* limit; further clients are disconnected */
} CluBrokerRegion;

typedef enum CluBrokerEvent {
    CLU_BROKER_WAITS,    /* an NTB device waits for its peer */
    CLU_BROKER_CLASHES,  /* two NTB devices of the same partition wait */
    CLU_BROKER_JOINED,   /* an NTB device was given a socket to its peer */
    CLU_BROKER_ATTACHED, /* an ivshmem client has connected */
    CLU_BROKER_LEFT,     /* a waiting device or attached client has gone */
    CLU_BROKER_REFUSED,  /* the broker has disconnected a client for `reason` */
} CluBrokerEvent;

typedef struct CluBrokerNotice {
    CluBrokerEvent event;
    const char *name;   /* name of the link or region */
    const char *reason; /* set for CLU_BROKER_REFUSED only */
    pid_t pid;          /* process that connected */
    unsigned id;        /* partition, or ivshmem ID; 0 if refused */
} CluBrokerNotice;

typedef void (*CluBrokerFn)(const CluBrokerNotice *notice, void *data);

#endif
