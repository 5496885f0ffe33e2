/* SPDX-License-Identifier: MIT */
#ifndef CLU_PLAN_TYPES_H
#define CLU_PLAN_TYPES_H

#include <stdbool.h>

#include "topo_description.h"

/*
 * A plan of a cluster. Each host of the description gets a QEMU process, whose
 * devices have fixed PCI addresses. Links, networks and regions connect the
 * devices.
 */
typedef struct CluPlan CluPlan;
typedef struct CluPlanLink CluPlanLink;

/* The type of QEMU device that emulates an NTB adapter, unless its link says
 * that it is another chip. */
#define CLU_PLAN_NTB_TYPE "farside-switchtec"
#define CLU_PLAN_IDT_TYPE "farside-idt"

/* The type of QEMU device that emulates an accelerator. */
#define CLU_PLAN_GPU_TYPE "farside-gpu"

/* Device numbers on PCI bus 0 of q35: 0 is the host bridge, 1 the virtio-serial
 * device of the agent, 2 is left free, and 31 belongs to the chip set. */
#define CLU_PLAN_SLOT_MIN 3
#define CLU_PLAN_SLOT_MAX 30

/* QEMU's amd-iommu says that this slot's function is the I/O APIC. */
#define CLU_PLAN_SOUTHBRIDGE_SLOT 0x14

/* The PCI device number of the files for the machines inside a host, if it has
 * any. */
#define CLU_PLAN_INNER_SLOT 30

/* The types of QEMU devices that are the ports of a switch. */
#define CLU_PLAN_UPSTREAM_TYPE   "farside-switch-upstream"
#define CLU_PLAN_DOWNSTREAM_TYPE "farside-switch-downstream"

/* The backend of an emulated device. */
typedef enum CluBackend {
    CLU_BACKEND_NONE,
    CLU_BACKEND_NTB,      /* a link to another host */
    CLU_BACKEND_DISK,     /* a new file, which disappears with the cluster */
    CLU_BACKEND_FILE,     /* a file of the user */
    CLU_BACKEND_NULL,     /* a disk that reads as zeros and keeps no data */
    CLU_BACKEND_NETWORK,  /* a network with the adapters of other hosts */
    CLU_BACKEND_REGION,   /* shared memory */
    CLU_BACKEND_DOORBELL, /* shared memory, and interrupts between its users */
} CluBackend;

/* A switch below which an emulated device is. */
typedef struct CluPlanSwitch {
    const TopoSwitch *topo;
    struct CluPlanSwitch *above; /* the switch that it is plugged into; NULL: a
                                    root port; borrowed */
    char *id;        /* ID of the Upstream Port, unique in the host */
    unsigned slot;   /* device number of its root port on PCI bus 0, if it has
                        one */
    unsigned bus;    /* number of the bus of its Upstream Port */
    unsigned inside; /* that of the bus of its Downstream Ports */
} CluPlanSwitch;

typedef struct CluPlanDevice {
    const TopoDevice *device;
    CluBackend backend;
    char *id;         /* ID of the QEMU device, unique in the host */
    char *type;       /* type of the QEMU device */
    char *properties; /* ",a=b,c=d": properties known before the start */
    unsigned slot;    /* device number on PCI bus 0: its own or its port's */
    unsigned bus;     /* number of the bus behind its port; 0: no port */
    const CluPlanSwitch *above; /* that it is plugged into; NULL: none.
                                   Borrowed */
    unsigned function;          /* its number behind the port of that switch */
    int fd;                     /* QEMU's descriptor of the backend; -1: none */
    CluPlanLink *link; /* link of a CLU_BACKEND_NTB that has one, else NULL;
                          borrowed */
    const TopoNtbChip *chip; /* of a CLU_BACKEND_NTB with a link to each other
                                host of the chip, else NULL; borrowed */
    unsigned end;            /* end of `link`, which is its partition: 0 or 1 */
    int64_t bytes;           /* size of a disk */
    const char *name;        /* file or network of the backend; borrowed */
    unsigned region;         /* index into CluPlan.regions */
    bool subsys;             /* an NVMe drive with a subsystem of its own */
} CluPlanDevice;

typedef struct CluPlanHost {
    const TopoHost *host;
    unsigned index;      /* index into CluPlan.hosts */
    GPtrArray *devices;  /* of CluPlanDevice */
    GPtrArray *switches; /* of CluPlanSwitch, each after the one above it */
} CluPlanHost;

struct CluPlanLink {
    const TopoLink *link;
    unsigned index;           /* index into CluPlan.links */
    CluPlanHost *host[2];     /* host at each end; borrowed */
    CluPlanDevice *device[2]; /* device at each end; borrowed */
};

/* A link inside a host, between a port of a switch and what is below it, or
 * between a switch and its root port. Its name is that of what is below it. */
typedef struct CluPlanInside {
    const char *name; /* such as "lender.gpu0"; borrowed */
    unsigned index;   /* index into CluPlan.insides */
    const CluPlanHost *host;
    char *id;          /* ID of the QEMU device that records it */
    const char *lower; /* name of what is below it; borrowed */
    const char *upper; /* that of the switch, or of the host, above it */
} CluPlanInside;

/* Memory that ivshmem devices share. */
typedef struct CluPlanRegion {
    const char *name; /* borrowed */
    int64_t bytes;
    TopoPlace place;  /* entry that gives the size, or else names it first */
    bool is_sized;    /* the description gives the size */
    unsigned vectors; /* vectors of each ivshmem-doorbell device; 0: none */
} CluPlanRegion;

struct CluPlan {
    const TopoDescription *description;
    GPtrArray *hosts;    /* of CluPlanHost */
    GPtrArray *links;    /* of CluPlanLink */
    GPtrArray *insides;  /* of CluPlanInside */
    GPtrArray *networks; /* of const char *: names of networks */
    GPtrArray *regions;  /* of CluPlanRegion */
    GPtrArray *absent;   /* of const char *: devices that are not emulated */
};

/* Devices of a host that can have a descriptor */
#define CLU_FD_DEVICES_MAX 64

/* True if the description wants that @device can be unplugged. */
static inline bool clu_plan_is_hotplug(const CluPlanDevice *device)
{
    return device->device->vm && device->device->vm->hotplug;
}

/* File descriptors that a QEMU process inherits. */
enum {
    CLU_FD_CONSOLE = 3,
    CLU_FD_QMP,
    CLU_FD_AGENT,
    CLU_FD_ALIVE, /* tells the keeper of the directory that the process lives */
    CLU_FD_DEVICE, /* the first descriptor for a device */
    CLU_FD_BOARD =
        CLU_FD_DEVICE + CLU_FD_DEVICES_MAX, /* only in a timed cluster */
    CLU_FD_CONTROL,                         /* the same; timed_control.h */
};

#endif
