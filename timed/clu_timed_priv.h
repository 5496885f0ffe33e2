/* SPDX-License-Identifier: MIT */
#ifndef CLU_TIMED_PRIV_H
#define CLU_TIMED_PRIV_H

#include "clu_cluster.h"
#include "clu_faults.h"
#include "clu_process.h"
#include "clu_timed.h"
#include "timed_board.h"

/* Shared by the files of a CluTimed. */

/* Changes of the process of a host that come between two steps. */
typedef struct CluTimedHost {
    bool returns; /* it starts again, perhaps later: its end is no failure */
    bool is_due;  /* it starts when the old one has ended */
    char *fate;   /* it is killed with this cause; NULL: it is not */
    CluHostLines lines; /* to a branch of it that is being made */
} CluTimedHost;

struct CluTimed {
    CluPace pace;
    GMainContext *context;
    CluCluster *cluster;
    CluTimedHost *hosts; /* indexed by host */
    GSource *tick;
    GSource *calm; /* pending while nothing else is to be done */
    size_t unread; /* what the machines had not read before the last round */
    unsigned unanswered; /* the commands that they had not answered */
    int64_t vain_us;     /* monotonic time at which one of both changed */
    int64_t round_us;    /* monotonic time of the last round */
    bool is_moving; /* the machines were given time, and did not stand since */
    int64_t moved_us;    /* monotonic time at which they were given it */
    int64_t moving_us;   /* the sum of real time for which they had some */
    const char *records; /* where machines write what happens; NULL: nowhere */
    int64_t slice_ns;    /* 0: not set */
    int spins;           /* negative: not set */
    const char *path;    /* of the log to write; NULL: none */
    const CluTimedScript *head; /* of that log */
    CluTimedLog *log;
    const CluTimedScript *script; /* that is replayed; NULL: none */
    unsigned at;                  /* index of its next input */
    int fd;
    TimedBoard *board; /* only to look on, and to say who is gone */
    char *plugin;
    const CluPlan *plan; /* with the faults of the branch if this is one */
    GArray *steps;       /* of CluFaultStep, in the order of time */
    unsigned done;       /* of them */
    CluTimedModel *run_model;
    void *model_owner;
    CluProcess *model; /* NULL: it does not run */
    pid_t model_pid;
    int control;   /* the line to the model */
    int branch_fd; /* of the board of a branch that is being made; -1: none */
    bool is_template; /* time stands still for ever; branches go on from here */
};

/* The virtual time of a cluster with @pace; NULL if it has none. */
CluTimed *clu_timed_of(const CluPace *pace);

/*
 * Starts the process of the model, which ends with this process. If it ends
 * before, the cluster ends. To be called before other threads exist. False and
 * @error if there can be no process.
 */
bool clu_timed_start_model(CluTimed *timed, const CluPlan *plan,
                           GError **error);

/* The value of QEMU's option -plugin for @host, to be freed. The host inherits
 * the board as CLU_FD_BOARD. */
char *clu_timed_plugin(const CluTimed *timed, const CluPlanHost *host);

/*
 * Virtual time goes on in steps of at most CLU_TIMED_STEP_NS while it is
 * wanted, and otherwise stands still. Only between two steps, when all machines
 * stand and all that they have written was read, something is given to them, in
 * one piece, before their main loops come round. So an input reaches a machine
 * at a time, and in pieces, that do not depend on the speed of this program.
 * False and @error if the log cannot be written.
 */
bool clu_timed_start(CluTimed *timed, GMainContext *context,
                     CluCluster *cluster, GError **error);
/* True if all machines stand at @ns or later. */
bool clu_timed_stands_at(const CluTimed *timed, int64_t ns);
/* The real time that the machines took for it, in us: they did not stand. */
int64_t clu_timed_moving_us(const CluTimed *timed);

/* The hosts between two steps */

/* True if something that belongs to an input has not come yet: nothing is given
 * to the machines, and time stands still. */
bool clu_timed_is_held(const CluTimed *timed);
/* A number that changes when a machine reads what was given to it. */
size_t clu_timed_unread(const CluTimed *timed);
/* The number of commands that monitors have not answered. */
unsigned clu_timed_unanswered(const CluTimed *timed);
/* @host starts when its process has ended. */
void clu_timed_request_start(CluTimed *timed, const CluHost *host);
/* Ends and begins processes. True if it did. */
bool clu_timed_apply_pending(CluTimed *timed);
/* Gives the machines what waits for them. False if nothing did, or if they have
 * not read what they were given before. */
bool clu_timed_feed(CluTimed *timed);
/* Does what the log of another run says; all else that waits for the machine is
 * dropped. False if it has not read what it was given before. */
bool clu_timed_replay_input(CluTimed *timed, const CluInput *input);

/* Begins the log, if there is one. False and @error if it cannot be written. */
bool clu_timed_open_log(CluTimed *timed, GError **error);

/* The faults whose time has come. All machines stand. */
void clu_timed_do_faults(CluTimed *timed);

/* Replay: does the next input of now. False if there is none. */
bool clu_timed_replay(CluTimed *timed);
/* The next limit of the run that is replayed. */
int64_t clu_timed_replayed_limit(CluTimed *timed);
/* True if a log is replayed; and if all of it was. */
bool clu_timed_is_replay(const CluTimed *timed);
bool clu_timed_is_replayed(const CluTimed *timed);

/* Logs an input of now; @host and @data are nullable. */
void clu_timed_note(CluTimed *timed, CluInputKind kind, const char *host,
                    const void *data, size_t length);
/* Logs the end of the run. */
void clu_timed_end(CluTimed *timed);

/* The process of the model of a CluTimed has ended. Without it machines wait
 * for ever. */
void clu_timed_model_ended(void *owner);

/* Templates and branches */

/*
 * Makes this cluster, whose machines stand and have nothing to read, a template
 * for branches: time stands still for ever. False and @error if a machine
 * cannot be branched now.
 */
bool clu_timed_make_template(CluTimed *timed, GError **error);
/* A host that stands in the middle of an access to another host, and cannot be
 * branched before more virtual time has passed. NULL if there is none. */
const CluHost *clu_timed_busy_host(const CluTimed *timed);
/* True if the machines have read and answered all that they were given. */
bool clu_timed_is_quiet(const CluTimed *timed);
/* See CluPaceOps.branch. */
bool clu_timed_branch(CluTimed *timed, const CluDir *dir, int alive,
                      char *const *sets, GError **error);

/*
 * In the process of a branch: the model makes a branch, with the changes @sets
 * of the description (ended by NULL). False and @error if it cannot. Then
 * `branch_fd` is the board of the branch.
 */
bool clu_timed_branch_model(CluTimed *timed, char *const *sets, GError **error);

/*
 * One machine. True if it has read and answered all that it was given, and
 * nothing waits for it.
 */
bool clu_timed_machine_is_quiet(CluHost *host);
/* Asks the machine if it can make branches, and asks for the answer: 1 if it
 * can, 0 if it has not answered yet, -1 and @error if it cannot. */
bool clu_timed_machine_probe(const CluHost *host, GError **error);
int clu_timed_machine_is_probed(CluTimed *timed, CluHost *host, GError **error);
/*
 * In the process of a branch: asks the machine for a branch with the faults of
 * @plan that inherits @alive, and makes copies of its disks and, in the
 * directory @dir, of its log. Then waits for the branch, and takes it over:
 * results as above. The host is the branch's from now on.
 */
bool clu_timed_machine_branch(CluTimed *timed, CluHost *host,
                              const CluPlan *plan, const char *dir, int alive,
                              GError **error);
int clu_timed_machine_is_branched(CluTimed *timed, CluHost *host,
                                  GError **error);

#endif
