/* SPDX-License-Identifier: MIT */
#ifndef CLU_TIMED_PRIV_H
#define CLU_TIMED_PRIV_H

#include "clu_process.h"
#include "clu_timed.h"
#include "timed_board.h"

/* Shared by the files of a CluTimed. */

struct CluTimed {
    CluPace pace;
    GMainContext *context;
    const CluPaceUser *user;
    void *owner;
    GSource *tick;
    GSource *calm;    /* pending while nothing else is to be done */
    size_t unread;    /* what the machines had not read before the last round */
    unsigned asked;   /* the commands that they had not answered */
    int64_t vain_us;  /* monotonic time at which one of both changed */
    int64_t round_us; /* monotonic time of the last round */
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
    const CluPlan *plan;
    GArray *steps; /* of CluFaultStep, in the order of time */
    unsigned done; /* of them */
    CluTimedModel *run_model;
    void *model_owner;
    CluProcess *model; /* NULL: it does not run */
    pid_t model_pid;
    int control;   /* the line to the model */
    int branch_fd; /* of the board of a branch that is being made; -1: none */
    bool is_template;
};

/* Begins the log, if there is one. False and @error if it cannot be written. */
bool clu_timed_open_log(CluTimed *timed, GError **error);

/* The faults whose time has come. All machines stand. */
void clu_timed_do_faults(CluTimed *timed);

/* Replay: does the next input of now. False if there is none. */
bool clu_timed_replay(CluTimed *timed);
/* The next limit of the run that is replayed. */
int64_t clu_timed_replayed_limit(CluTimed *timed);

/* The process of the model of a CluTimed has ended. Without it machines wait
 * for ever. */
void clu_timed_model_ended(void *owner);

#endif
