/* SPDX-License-Identifier: MIT */
#ifndef CLU_REQUEST_H
#define CLU_REQUEST_H

#include "clu_cluster.h"
#include "clu_control.h"
#include "clu_stream.h"

/*
 * A request of the program to the supervisor (clu_control.h), from its first
 * word to its answer. Each type of request has a state of its own and says by
 * its functions what it waits for. Only one request of a client is worked on at
 * a time, so a client has one CluRequest, which is idle in between.
 */
typedef struct CluRequest CluRequest;

/* All functions but `start` are nullable. Each may answer the request, and must
 * not touch the state after that. */
typedef struct CluRequestType {
    const char *name;
    unsigned min_words, max_words; /* number of words after the name */
    size_t state_bytes;            /* of CluRequest.state, zero at first */
    /* Begins; words[0] is the name. */
    void (*start)(CluRequest *request, const GPtrArray *words);
    /* Looks whether the request can be answered: called after `start`, after
     * anything in the cluster may have changed, and when its time is over. */
    void (*check)(CluRequest *request);
    /* The client has sent @frame. */
    void (*frame)(CluRequest *request, const CluAgentFrame *frame);
    /* The console of @host has written @data, */
    void (*console)(CluRequest *request, const CluHost *host,
                    const uint8_t *data, size_t length);
    /* and its log has grown. */
    void (*logged)(CluRequest *request, const CluHost *host);
    /* The client has taken all that was sent. */
    void (*drained)(CluRequest *request);
    /* Frees what the state holds, but not the state itself. */
    void (*clear)(void *state);
} CluRequestType;

/* Wishes of a request that only its client's owner can fulfil. */
typedef struct CluRequestOps {
    /* The cluster shall no longer end with this client. */
    void (*release)(void *owner);
    /* The cluster shall end. */
    void (*end)(void *owner);
} CluRequestOps;

struct CluRequest {
    CluCluster *cluster;
    GMainContext *context;
    CluStream *stream; /* to the client */
    const CluRequestOps *ops;
    void *owner;
    const CluRequestType *type; /* NULL: idle */
    void *state;
    GSource *deadline; /* NULL: there is none, or its time is over */
};

/* Makes @request idle; all it is given is borrowed. */
void clu_request_init(CluRequest *request, CluCluster *cluster,
                      GMainContext *context, CluStream *stream,
                      const CluRequestOps *ops, void *owner);

/* Drops the request that is worked on, if any, without an answer. */
void clu_request_drop(CluRequest *request);

/* Begins a request; @request must be idle. */
void clu_request_begin(CluRequest *request, const CluRequestType *type,
                       const GPtrArray *words);

/* Call the functions of its type, if it is not idle and has them. */
void clu_request_check(CluRequest *request);
void clu_request_frame(CluRequest *request, const CluAgentFrame *frame);
void clu_request_console(CluRequest *request, const CluHost *host,
                         const uint8_t *data, size_t length);
void clu_request_logged(CluRequest *request, const CluHost *host);
void clu_request_drained(CluRequest *request);

/* For types of requests: `check` is called after @ms with no deadline left. */
void clu_request_set_deadline(CluRequest *request, unsigned ms);

/* Send a frame, or a line about progress, to the client. */
void clu_request_send(CluRequest *request, unsigned type, const void *body,
                      size_t length);
void clu_request_note(CluRequest *request, const char *format, ...)
    G_GNUC_PRINTF(2, 3);

/* Answer the request, which is idle then: EXIT, ERROR with @status of
 * clu_control.h, or ERROR by @error, which is freed. */
void clu_request_exit(CluRequest *request, uint32_t status, uint32_t signal);
void clu_request_fail(CluRequest *request, unsigned status, const char *format,
                      ...) G_GNUC_PRINTF(3, 4);
void clu_request_fail_by(CluRequest *request, GError *error);

#endif
