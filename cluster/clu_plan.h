/* SPDX-License-Identifier: MIT */
#ifndef CLU_PLAN_H
#define CLU_PLAN_H

#include <stdbool.h>

#include "topo_description.h"

/*
 * What a description becomes when it is emulated: for each host a QEMU process
 * with its devices at fixed PCI addresses, and what joins them. A pure function
 * of the description; nothing is started, and no file is looked at.
 */
typedef struct CluPlan CluPlan;
typedef struct CluPlanLink CluPlanLink;

/* What stands behind a device. */
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
    char *own;         /* ",a=b,c=d": what the description says of it */
    unsigned slot;     /* on PCI bus 0 */
    int fd;            /* that the process finds its backend at; -1: none */
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
    TopoPlace place; /* where its size was said, or it was first named */
    bool is_sized;
    unsigned vectors; /* of each device of ivshmem-doorbell; 0: there is none */
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

/* Plans @description, which must outlive the plan. Returns NULL and at least
 * one entry in @errors if it cannot be emulated. */
CluPlan *clu_plan_new(const TopoDescription *description, TopoErrors *errors);

/* Frees @plan (nullable). */
void clu_plan_free(CluPlan *plan);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CluPlan, clu_plan_free)

/* "0000:00:05.0", to be freed. */
char *clu_plan_address(const CluPlanDevice *device);

/* File descriptors that a QEMU process starts with, besides those of its
 * devices. */
enum {
    CLU_FD_CONSOLE = 3,
    CLU_FD_QMP,
    CLU_FD_AGENT,
    CLU_FD_ALIVE, /* open for as long as the process lives */
    CLU_FD_DEVICE /* the first of those of devices */
};

/* Where a QEMU process finds things. */
typedef struct CluPaths {
    const char *qemu;
    const char *plugin;
    const char *kernel;
    const char *initrd;
    const char *dir;      /* of the running cluster */
    char *const *regions; /* files with the memory of the plan's regions */
} CluPaths;

/* The command line of the process of @host; @enabled tells of each link of the
 * plan whether it is plugged in, and @traces what file (nullable) records what
 * crosses it. An array of char * that ends with NULL, to be freed by
 * g_strfreev(). */
char **clu_plan_argv(const CluPlan *plan, const CluPlanHost *host,
                     const CluPaths *paths, bool is_kvm, const bool *enabled,
                     char *const *traces);

/* Whose entry in the description a complaint of QEMU is about: true and the
 * place if that can be told. */
bool clu_plan_blame(const CluPlanHost *host, const char *complaint,
                    TopoPlace *ret_place);

/* Names of files in the directory of a running cluster; to be freed. */
char *clu_plan_link_path(const char *dir, const TopoLink *link);
char *clu_plan_region_path(const char *dir, const char *region);
char *clu_plan_qmp_path(const char *dir, const TopoHost *host);
char *clu_plan_log_path(const char *dir, const TopoHost *host);

#endif
