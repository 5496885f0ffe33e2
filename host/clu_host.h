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
 * and its state. A host whose machine was reset, or whose process was started
 * again, is booting until the drivers of its new kernel are loaded.
 */
typedef struct CluHost CluHost;

typedef enum CluHostState {
    CLU_HOST_BOOTING,  /* a process runs, but not all drivers are loaded yet */
    CLU_HOST_UP,       /* its drivers are loaded, and the agent answers */
    CLU_HOST_OOPS,     /* a part of its kernel has failed or is stuck */
    CLU_HOST_HUNG,     /* the agent is silent, or the boot took too long */
    CLU_HOST_STOPPED,  /* gdb or the monitor has stopped its CPUs */
    CLU_HOST_PANICKED, /* its kernel has stopped */
    CLU_HOST_OFF,      /* the guest has powered its machine off */
    CLU_HOST_DEAD,     /* its process was killed or failed, or never started */
} CluHostState;

/* Shared by all hosts of a cluster; borrowed. */
typedef struct CluHostShared {
    GMainContext *context;
    const CluPlan *plan;
    const CluPaths *paths; /* indexed by host */
    const bool *is_kvm;    /* host uses KVM; indexed by host */
    const bool *enabled;   /* link is plugged in; indexed by link */
    char *const *traces;   /* trace files, each nullable; indexed by link, then
                              by link inside a host */
    CluHub *const *hubs;   /* indexed by network */
    CluPace *pace;
    int alive;           /* descriptor to inherit as CLU_FD_ALIVE */
    unsigned silence_ms; /* longest silence of an agent; then it is hung */
    unsigned boot_ms;    /* longest time for a boot; then it is hung */
} CluHostShared;

typedef struct CluHostOps {
    /* The state of @host, or of a link at its end, may have changed. */
    void (*changed)(void *owner, CluHost *host);
    /* The guest has written @data to its console. */
    void (*console)(void *owner, CluHost *host, const uint8_t *data,
                    size_t length);
    /* The log of the console has grown. */
    void (*logged)(void *owner, CluHost *host);
} CluHostOps;

/* Makes a host without a process, which lives until this process ends; NULL and
 * @error if its disks or log cannot be made. */
CluHost *clu_host_new(const CluHostShared *shared, const CluPlanHost *plan,
                      const CluHostOps *ops, void *owner, GError **error);

/* Starts the process; there must be none. False and @error if that fails. */
bool clu_host_start(CluHost *host, GError **error);

/* Kills the process, if there is one: the supervisor is about to end. */
void clu_host_abandon(const CluHost *host);

/* Kills the process, if there is one. The host is dead at once, with @cause;
 * the process ends soon after. In a timed cluster that happens between two
 * steps. */
void clu_host_kill(CluHost *host, const char *cause);

/* True while there is a process. A killed process counts until it has ended. */
bool clu_host_has_process(const CluHost *host);

const CluPlanHost *clu_host_plan(const CluHost *host);
CluHostState clu_host_state(const CluHost *host);
const char *clu_host_state_name(CluHostState state);

/* The reason for its state, in words; NULL if the state needs none. Borrowed.
 */
const char *clu_host_cause(const CluHost *host);

/* The process ID; 0 if there is no process. */
pid_t clu_host_pid(const CluHost *host);

/* The number of boots that have begun, and the time since the last one began.
 */
unsigned clu_host_boots(const CluHost *host);
int64_t clu_host_age_us(const CluHost *host);

/* The kernel's release; NULL if the agent has not reported it yet. Borrowed. */
const char *clu_host_release(const CluHost *host);

/* True if the NTB driver of @host reports the link of @device as up. */
bool clu_host_link_up(const CluHost *host, const CluPlanLink *link,
                      unsigned end);

/* Kills the process at once. */
void clu_host_end_process(CluHost *host, const char *cause);

/* Sets the state; @cause is nullable. */
void clu_host_set_state(CluHost *host, CluHostState state, const char *cause);

/* The following are for machines that go in steps. */

/* The machines have come to stand. */
void clu_host_on_stand(CluHost *host);

/* Our ends of the lines to a process; -1: none. */
typedef struct CluHostLines {
    int console, qmp, agent, control;
    int output; /* pipe from QEMU's standard output and error */
} CluHostLines;

#define CLU_HOST_NO_LINES                                                      \
    {                                                                          \
        .console = -1, .qmp = -1, .agent = -1, .control = -1, .output = -1     \
    }

/* Makes the lines to a process of @host, but for the output; its ends are added
 * to @fds, the one of the control first. False and @error if there are none;
 * some may exist. */
bool clu_host_make_lines(const CluHost *host, CluFds *fds,
                         CluHostLines *ret_lines, GError **error);
/* The control; -1 if there is none. */
int clu_host_control(const CluHost *host);
/* The descriptors of disks, indexed by device, which may be replaced; -1:
 * none. */
int *clu_host_disks(CluHost *host);
/* The process @pid, with @lines, takes the place of that of the host: a copy of
 * it, in a copy of this process. False and @error if it has ended. */
bool clu_host_replace_process(CluHost *host, pid_t pid,
                              const CluHostLines *lines, GError **error);

CluConsole *clu_host_console(CluHost *host);

/* NULL while there is no process. */
CluGuest *clu_host_guest(CluHost *host);
CluQmp *clu_host_qmp(CluHost *host);

#endif
