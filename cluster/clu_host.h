/* SPDX-License-Identifier: MIT */
#ifndef CLU_HOST_H
#define CLU_HOST_H

#include <stdbool.h>

#include <sys/types.h>

#include "clu_argv.h"
#include "clu_console.h"
#include "clu_guest.h"
#include "clu_hub.h"
#include "clu_plan.h"
#include "clu_qmp.h"

/*
 * A host of a running cluster: its QEMU process, console, monitor and agent,
 * and what is known of the state it is in. All of it is forgotten when the
 * machine is reset or its process ends: a host is up again only when its new
 * kernel's drivers say so.
 */
typedef struct CluHost CluHost;

typedef enum CluHostState {
    CLU_HOST_BOOTING,  /* a process runs, and its drivers are not there yet */
    CLU_HOST_UP,       /* its drivers are there, and the agent answers */
    CLU_HOST_OOPS,     /* its kernel has said that part of it failed, or is
                          stuck */
    CLU_HOST_HUNG,     /* it does not answer, or has not booted in time */
    CLU_HOST_PANICKED, /* its kernel has stopped */
    CLU_HOST_OFF,      /* it has powered itself off */
    CLU_HOST_DEAD,     /* its process was killed, or has failed */
} CluHostState;

/* What all hosts of a cluster have in common; borrowed. */
typedef struct CluHostShared {
    GMainContext *context;
    const CluPlan *plan;
    const CluPaths *paths; /* by index of the host */
    const bool *is_kvm;    /* likewise */
    const bool *enabled;   /* by index of the link */
    char *const *traces;   /* likewise */
    CluHub *const *hubs;   /* by index of the network */
    int alive;             /* CLU_FD_ALIVE of the processes */
    unsigned silence_ms;   /* until a guest that does not answer is hung */
    unsigned boot_ms;      /* until one that does not come up is */
} CluHostShared;

typedef struct CluHostOps {
    /* Its state, or what it says of a link, may have changed. */
    void (*changed)(void *owner, CluHost *host);
    /* Bytes of its console; its log has grown. */
    void (*console)(void *owner, CluHost *host, const uint8_t *data,
                    size_t length);
    void (*logged)(void *owner, CluHost *host);
} CluHostOps;

/* A host of which nothing runs yet. */
CluHost *clu_host_new(const CluHostShared *shared, const CluPlanHost *plan,
                      const CluHostOps *ops, void *owner, GError **error);

/* Kills the process, if there is one, and frees @host (nullable). */
void clu_host_free(CluHost *host);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CluHost, clu_host_free)

/* Starts a process; there must be none. */
bool clu_host_start(CluHost *host, GError **error);

/* Kills the process, if there is one; it is dead by @cause at once, and gone
 * soon. */
void clu_host_kill(CluHost *host, const char *cause);

/* Whether there is a process, be it killed. */
bool clu_host_has_process(const CluHost *host);

const CluPlanHost *clu_host_plan(const CluHost *host);
CluHostState clu_host_state(const CluHost *host);
const char *clu_host_state_name(CluHostState state);

/* Why it is in that state, in words; NULL where the state says all. Borrowed.
 */
const char *clu_host_cause(const CluHost *host);

/* Of the process; 0 if there is none. */
pid_t clu_host_pid(const CluHost *host);

/* How often it has begun to boot, and how long ago. */
unsigned clu_host_boots(const CluHost *host);
int64_t clu_host_age_us(const CluHost *host);

/* The kernel's release; NULL if the agent has not said. Borrowed. */
const char *clu_host_release(const CluHost *host);

/* What its driver says of the link of @device. */
bool clu_host_link_up(const CluHost *host, const CluPlanDevice *device);

CluConsole *clu_host_console(CluHost *host);

/* NULL while there is no process. */
CluGuest *clu_host_guest(CluHost *host);
CluQmp *clu_host_qmp(CluHost *host);

#endif
