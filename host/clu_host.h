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
    char *const *traces;   /* trace files, each nullable; indexed by link */
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

/* Makes a host without a process; NULL and @error if its disks or log cannot be
 * made. */
CluHost *clu_host_new(const CluHostShared *shared, const CluPlanHost *plan,
                      const CluHostOps *ops, void *owner, GError **error);

/* Kills the process, if there is one, and frees @host (nullable). */
void clu_host_free(CluHost *host);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CluHost, clu_host_free)

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
bool clu_host_link_up(const CluHost *host, const CluPlanDevice *device);

/* Kills the process at once. */
void clu_host_end_process(CluHost *host, const char *cause);

/* The following are for machines that go in steps, between two of them. */

/* The machines have come to stand. */
void clu_host_on_stand(CluHost *host);
/* A number that changes when QEMU reads what it was given; 0 if it has read
 * all. */
size_t clu_host_unread(const CluHost *host);
/* The number of commands that the monitor has not answered. */
unsigned clu_host_unanswered(const CluHost *host);
/* Gives the machine what waits for the line @kind. False if nothing does, or if
 * the machine has not read all that it was given before. */
bool clu_host_feed(CluHost *host, CluInputKind kind);
/* Does what a log of this machine says. All else that waits for the machine is
 * dropped. False if it has not read all that it was given before. */
bool clu_host_replay(CluHost *host, const CluInput *input);
/* True if the process was killed and has not ended yet. */
bool clu_host_is_ending(const CluHost *host);
/* The process ends, with @cause, when the machines stand. */
void clu_host_request_end(CluHost *host, const char *cause);
/* The host starts again, perhaps later: that it is dead is no failure. */
void clu_host_expect_start(CluHost *host);
bool clu_host_expects_start(const CluHost *host);
/* The host starts when its process has ended, between two steps. */
void clu_host_request_start(CluHost *host);
/* Does what clu_host_kill() and clu_host_request_start() were asked for. True
 * if that was anything. */
bool clu_host_apply_pending(CluHost *host);

/*
 * Branches, while time stands still for ever (clu_timed_set_template()).
 *
 * True if the machine has read and answered all that it was given, and nothing
 * waits for it.
 */
bool clu_host_is_quiet(const CluHost *host);
/* Asks the machine if it can make branches, and asks for the answer: 1 if it
 * can, 0 if it has not answered yet, -1 and @error if it cannot. */
bool clu_host_probe(CluHost *host, GError **error);
int clu_host_is_probed(CluHost *host, GError **error);
/*
 * In a process that was forked from that of the cluster: asks the machine for a
 * branch with the faults of @plan, and makes copies of its disks and, in the
 * directory @dir, of its log. Then waits for the branch, and takes it over:
 * results as above. The host is the branch's from now on.
 */
bool clu_host_branch(CluHost *host, const CluPlan *plan, const char *dir,
                     GError **error);
int clu_host_is_branched(CluHost *host, GError **error);

CluConsole *clu_host_console(CluHost *host);

/* NULL while there is no process. */
CluGuest *clu_host_guest(CluHost *host);
CluQmp *clu_host_qmp(CluHost *host);

#endif
