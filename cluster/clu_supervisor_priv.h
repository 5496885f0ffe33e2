/* SPDX-License-Identifier: MIT */
#ifndef CLU_SUPERVISOR_PRIV_H
#define CLU_SUPERVISOR_PRIV_H

#include <json-glib/json-glib.h>

#include "clu_broker.h"
#include "clu_control.h"
#include "clu_host.h"
#include "clu_stream.h"
#include "clu_supervisor.h"

typedef struct CluSupervisor CluSupervisor;
typedef struct CluConn CluConn;

/* A connection of the program. One request is worked on at a time. */
struct CluConn {
    CluSupervisor *supervisor;
    CluStream *stream;
    CluAgentReader reader;
    bool is_owner;    /* the cluster ends with it */
    bool is_busy;     /* with a request */
    uint64_t request; /* its number, which no other one has */
    /* Called after anything may have changed, until the request is answered.
     * NULL: it waits for nothing. */
    void (*check)(CluConn *conn);
    GSource *deadline;
    CluHost *host;         /* that the request is about, or NULL */
    unsigned link;         /* index of the link, likewise */
    bool want;             /* of a link: up or down */
    bool is_followed;      /* console: it gets what the host writes */
    unsigned n_unanswered; /* commands to monitors */
    char *complaint;       /* the first of their errors */
    uint8_t *told;         /* wait: 1 + CluHostState that was told of each
                              host; by index */
    CluSession *session;   /* exec */
    int log;               /* logs: the file; -1: none */
    bool is_following;     /* logs: beyond its end */
};

struct CluSupervisor {
    GMainContext *context;
    GMainLoop *loop;
    const CluSupervisorSetup *setup;
    const CluPlan *plan;
    CluHostShared shared;
    CluPaths *paths;
    char **regions;
    bool *enabled; /* by index of the link */
    char **traces; /* likewise: files, NULL where there is none */
    CluHub **hubs;
    CluBroker *broker;
    GPtrArray *hosts; /* of CluHost */
    GPtrArray *conns; /* of CluConn */
    GSource *checking;
    GSource *listening;
    int listener;
    uint64_t requests; /* that have been made */
    bool is_ending;
};

/* Requests */

typedef struct CluVerb {
    const char *name;
    unsigned min, max; /* number of words after the verb */
    void (*run)(CluConn *conn, GPtrArray *words);
} CluVerb;

/* The table of verbs, ended by one without a name. */
extern const CluVerb clu_verbs[];

/* Answers; the request is over after the last two. */
void clu_conn_send(CluConn *conn, unsigned type, const void *body,
                   size_t length);
void clu_conn_note(CluConn *conn, const char *format, ...) G_GNUC_PRINTF(2, 3);
void clu_conn_exit(CluConn *conn, uint32_t status, uint32_t signal);
void clu_conn_fail(CluConn *conn, unsigned status, const char *format, ...)
    G_GNUC_PRINTF(3, 4);

/* Frames that belong to the request being worked on. */
void clu_conn_frame(CluConn *conn, const CluAgentFrame *frame);

/* Console and log of a host have grown. */
void clu_conn_console(CluConn *conn, const uint8_t *data, size_t length);
void clu_conn_pump(CluConn *conn);

/* Forgets the request, whatever it is at. */
void clu_conn_reset(CluConn *conn);

/* Has conditions checked soon. */
void clu_supervisor_changed(CluSupervisor *supervisor);

/* Links */

CluHost *clu_supervisor_link_host(CluSupervisor *supervisor, unsigned link,
                                  unsigned end);

/* Whether both hosts' drivers say it is up, and both hosts are. */
bool clu_supervisor_link_up(CluSupervisor *supervisor, unsigned link);

/* Whether it would come up by itself: it is plugged in, and both hosts have a
 * client that enables it. */
bool clu_supervisor_link_expected(CluSupervisor *supervisor, unsigned link);

/* The state of everything, as text in JSON; to be freed. */
char *clu_supervisor_status(CluSupervisor *supervisor);

#endif
