/* SPDX-License-Identifier: MIT */
#ifndef CLU_GUEST_H
#define CLU_GUEST_H

#include <stdbool.h>

#include <glib.h>

#include "clu_agent.h"
#include "clu_stream.h"

/*
 * The supervisor's end of the line to the agent in one guest (clu_agent.h):
 * epochs, heartbeats, sessions. The guest is not trusted.
 */
typedef struct CluGuest CluGuest;
typedef struct CluSession CluSession;

typedef struct CluGuestOps {
    /* The agent answers, and sessions may be started. Earlier sessions are
     * lost. @boot_id and @release are borrowed. */
    void (*ready)(void *owner, const char *boot_id, const char *release);
    /* The agent has gone or started again: the guest is not ready until `ready`
     * is called. */
    void (*lost)(void *owner);
    /* The agent has not answered for too long, or answers again. */
    void (*silent)(void *owner, bool is_silent);
} CluGuestOps;

/* Takes over @fd. The agent is called silent after @silence_ms. With 0 the
 * guest runs in virtual time: it never is silent, it is not asked, and all that
 * is sent to it waits in clu_guest_stream(). */
CluGuest *clu_guest_new(GMainContext *context, int fd, unsigned silence_ms,
                        const CluGuestOps *ops, void *owner);

/* Frees @guest (nullable); its sessions are lost. */
void clu_guest_free(CluGuest *guest);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CluGuest, clu_guest_free)

/* The line to the agent; borrowed. */
CluStream *clu_guest_stream(const CluGuest *guest);

/* Begins a new epoch after a reset of the machine or a panic of its kernel. All
 * sessions are lost. */
void clu_guest_reset(CluGuest *guest);

bool clu_guest_is_ready(const CluGuest *guest);

/* Tells that the machine's CPUs are stopped, or run again. The silence of a
 * stopped machine does not count. */
void clu_guest_set_stopped(CluGuest *guest, bool is_stopped);

/* Returns how long the agent has not been heard, in microseconds; 0 while its
 * machine is stopped. An agent that works is heard each second, because it
 * answers pings. */
int64_t clu_guest_quiet_us(const CluGuest *guest);

typedef struct CluSessionOps {
    /* STARTED, FAILED, STDOUT, STDERR, EXIT or CREDIT, well-formed. After
     * FAILED and EXIT the session is over and must only be freed. */
    void (*frame)(void *owner, const CluAgentFrame *frame);
    /* The session is over, and nobody knows how its program ended: the agent is
     * gone, or broke the protocol. @reason says which. */
    void (*lost)(void *owner, const char *reason);
} CluSessionOps;

/* Starts the program @words (@length bytes, each word ended by a 0) in @guest,
 * which must be ready. */
CluSession *clu_session_new(CluGuest *guest, const char *words, size_t length,
                            const CluSessionOps *ops, void *owner);

/* Frees @session (nullable); a program that still runs is killed. */
void clu_session_free(CluSession *session);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CluSession, clu_session_free)

/* Sends STDIN, STDIN_EOF, SIGNAL or CREDIT. Does nothing once the session is
 * over. */
void clu_session_send(CluSession *session, CluAgentType type, const void *body,
                      uint32_t length);

/* Gives the agent credit for @bytes more of STDOUT or STDERR. */
void clu_session_credit(CluSession *session, CluAgentType type, uint32_t bytes);

#endif
