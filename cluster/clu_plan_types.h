/* SPDX-License-Identifier: MIT */
#ifndef CLU_PLAN_TYPES_H
#define CLU_PLAN_TYPES_H

#include <stdbool.h>

#include "topo_description.h"

/*
 * A plan: for each host of a description a QEMU process with its devices at
 * fixed PCI addresses, and the links, networks and regions that join them.
 */
typedef struct CluPlan CluPlan;
typedef struct CluPlanLink CluPlanLink;

/* The type of QEMU device that emulates an NTB adapter. */
#define CLU_PLAN_NTB_TYPE "farside-switchtec"

/* The backend of an emulated device. */
typedef enum CluBackend {
    CLU_BACKEND_NONE,
    CLU_BACKEND_NTB,      /* a link to another host */
    CLU_BACKEND_DISK,     /* an empty file of a size, gone with the cluster */
    CLU_BACKEND_FILE,     /* the user's file */
    CLU_BACKEND_NULL,     /* no data at all */
    CLU_BACKEND_NETWORK,  /* other network adapters */
    CLU_BACKEND_REGION,   /* shared memory */
    CLU_BACKEND_DOORBELL, /* shared memory, and interrupts between its users */
} CluBackend;

typedef struct CluPlanDevice {
    const TopoDevice *device;
    CluBackend backend;
    char *id;          /* of the QEMU device, unique in the host */
    char *type;        /* name of the QEMU device */
    char *properties;  /* ",a=b,c=d": those that need no running cluster */
    unsigned slot;     /* on PCI bus 0 */
    int fd;            /* at which QEMU finds the backend; -1: none */
    CluPlanLink *link; /* CLU_BACKEND_NTB only; borrowed */
    unsigned end;      /* of the link: 0 or 1 */
    int64_t bytes;     /* of a disk */
    const char *name;  /* of the file or network; borrowed */
    unsigned region;   /* index into CluPlan.regions */
} CluPlanDevice;

typedef struct CluPlanHost {
    const TopoHost *host;
    unsigned index;     /* in CluPlan.hosts */
    GPtrArray *devices; /* of CluPlanDevice */
} CluPlanHost;

struct CluPlanLink {
    const TopoLink *link;
    unsigned index;           /* in CluPlan.links */
    CluPlanHost *host[2];     /* borrowed */
    CluPlanDevice *device[2]; /* the same */
};

/* Memory that ivshmem devices share. */
typedef struct CluPlanRegion {
    const char *name; /* borrowed */
    int64_t bytes;
    TopoPlace place; /* that gives its size, or else names it first */
    bool is_sized;
    unsigned vectors; /* of each ivshmem-doorbell device; 0: there is none */
} CluPlanRegion;

struct CluPlan {
    const TopoDescription *description;
    GPtrArray *hosts;    /* of CluPlanHost */
    GPtrArray *links;    /* of CluPlanLink */
    GPtrArray *networks; /* of const char *, names */
    GPtrArray *regions;  /* of CluPlanRegion */
    GPtrArray *absent;   /* of const char *, paths of devices that are not
                            emulated */
};

/* File descriptors that a QEMU process starts with, besides those of its
 * devices. */
enum {
    CLU_FD_CONSOLE = 3,
    CLU_FD_QMP,
    CLU_FD_AGENT,
    CLU_FD_ALIVE, /* open for as long as the process lives */
    CLU_FD_DEVICE /* the first of those of devices */
};

#endif
