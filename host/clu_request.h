/* SPDX-License-Identifier: MIT */
#ifndef CLU_REQUEST_H
#define CLU_REQUEST_H

#include "clu_cluster.h"
#include "clu_control.h"
#include "clu_stream.h"

/*
 * A request of the program `farside`, the client, to the supervisor
 * (clu_control.h). Each type of request has its own state, and functions for
 * the events that it waits for. A client has one request at a time, so it needs
 * only one CluRequest, which is idle between two requests.
 */
typedef struct CluRequest CluRequest;

/* All functions but `start` are nullable. Each may answer the request; that
 * frees the state, so the function must not touch it afterwards. */
typedef struct CluRequestType {
    const char *name;
    unsigned min_words, max_words; /* number of words after the name */
    size_t state_bytes;            /* size of CluRequest.state, zero at first */
    bool needs_time; /* it waits for guests: virtual time must go on */
    /* The virtual time up to which it must go on; without this function: until
     * the request is answered. */
    int64_t (*until)(const CluRequest *request);
    /* True if the client has not sent all that the machines shall get now:
     * virtual time must stand still. */
    bool (*holds)(const CluRequest *request);
    /* Begins the request; words[0] is the name. */
    void (*start)(CluRequest *request, const GPtrArray *words);
    /* Answers the request if it can be answered now. Called after `start`,
     * after changes in the cluster, and at the deadline. */
    void (*check)(CluRequest *request);
    /* The client has sent @frame. */
    void (*frame)(CluRequest *request, const CluAgentFrame *frame);
    /* The guest of @host has written @data to its console. */
    void (*console)(CluRequest *request, const CluHost *host,
                    const uint8_t *data, size_t length);
    /* The log of the console of @host has grown. */
    void (*logged)(CluRequest *request, const CluHost *host);
    /* All that was to be sent to the client has been written. */
    void (*drained)(CluRequest *request);
    /* Frees what the state holds, but not the state itself. */
    void (*clear)(void *state);
} CluRequestType;

/* The actions that a request asks the owner of its client to take. */
typedef struct CluRequestOps {
    /* Keep the cluster when this client disconnects. */
    void (*release)(void *owner);
    /* End the cluster. */
    void (*end)(void *owner);
    /* True if no other client has a request. */
    bool (*is_alone)(void *owner);
    /* Make the branch @name with the changes @sets (ended by NULL). The process
     * of the branch answers the request. */
    void (*branch)(void *owner, const char *name, char *const *sets);
} CluRequestOps;

struct CluRequest {
    CluCluster *cluster;
    GMainContext *context;
    CluStream *stream; /* to the client */
    const CluRequestOps *ops;
    void *owner;
    const CluRequestType *type; /* NULL: idle */
    void *state;
    GSource *deadline; /* NULL: there is none, or it has passed */
};

/* Makes @request idle. All arguments are borrowed. */
void clu_request_init(CluRequest *request, CluCluster *cluster,
                      GMainContext *context, CluStream *stream,
                      const CluRequestOps *ops, void *owner);

/* Drops the request in progress, if any, without an answer. */
void clu_request_drop(CluRequest *request);

/* Begins a request; @request must be idle. */
void clu_request_begin(CluRequest *request, const CluRequestType *type,
                       const GPtrArray *words);

/* Call the function of the same name of the request's type. Do nothing if the
 * request is idle or its type lacks that function. */
void clu_request_check(CluRequest *request);
void clu_request_frame(CluRequest *request, const CluAgentFrame *frame);
void clu_request_console(CluRequest *request, const CluHost *host,
                         const uint8_t *data, size_t length);
void clu_request_logged(CluRequest *request, const CluHost *host);
void clu_request_drained(CluRequest *request);

/* Only in a timed cluster: the virtual time up to which @request needs the
 * machines, 0 if it does not; and true if they must wait for its client. */
int64_t clu_request_until(const CluRequest *request);
bool clu_request_holds(const CluRequest *request);

/* The following are for types of requests. */

/* Sets a deadline: `check` is called after @ms, and finds request->deadline
 * NULL then. */
void clu_request_set_deadline(CluRequest *request, unsigned ms);

/* Send a frame, or a line about progress, to the client. */
void clu_request_send(CluRequest *request, unsigned type, const void *body,
                      size_t length);
void clu_request_note(CluRequest *request, const char *format, ...)
    G_GNUC_PRINTF(2, 3);

/* Answer the request and make it idle. The answer is EXIT, or ERROR with
 * @status of clu_control.h, or ERROR as @error says, which is freed. */
void clu_request_exit(CluRequest *request, uint32_t status, uint32_t signal);
void clu_request_fail(CluRequest *request, unsigned status, const char *format,
                      ...) G_GNUC_PRINTF(3, 4);
void clu_request_fail_by(CluRequest *request, GError *error);

#endif
