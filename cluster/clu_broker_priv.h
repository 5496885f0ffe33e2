/* SPDX-License-Identifier: MIT */
#ifndef CLU_BROKER_PRIV_H
#define CLU_BROKER_PRIV_H

#include <glib-unix.h>

#include "clu_broker.h"

/* ---- Sockets (clu_broker_socket.c) ------------------------------------ */

/* A listening UNIX socket. */
typedef struct CluListener CluListener;

/* Takes over @fd, which does not block. */
typedef void (*CluAcceptFn)(int fd, void *data);

/* @type is SOCK_STREAM or SOCK_SEQPACKET. */
CluListener *clu_listener_new(GMainContext *context, const char *path, int type,
                              CluAcceptFn fn, void *data, GError **error);

/* Closes it and removes its path, unless that is no longer its own. Nullable.
 */
void clu_listener_free(CluListener *listener);

/* Who connected @fd; 0 if that is not known. */
pid_t clu_socket_get_pid(int fd);

/* Whether the other end of @fd has closed it and left nothing to be read. */
bool clu_socket_is_closed(int fd);

/*
 * Sends one packet, or these bytes of a stream, with a file if @file is not
 * -1, without waiting. False with errno: in part is EMSGSIZE.
 */
bool clu_socket_send(int fd, const void *bytes, size_t size, int file);

/* A source in @context that calls @fn when @fd is ready; to be destroyed by
 * clu_source_clear. */
GSource *clu_source_new_fd(GMainContext *context, int fd,
                           GIOCondition condition, GUnixFDSourceFunc fn,
                           void *data);
GSource *clu_source_new_timer(GMainContext *context, unsigned ms,
                              GSourceFunc fn, void *data);

/* Destroys *@source, if there is one; also from its own callback. */
void clu_source_clear(GSource **source);

/* ---- Services --------------------------------------------------------- */

typedef struct CluBrokerLink CluBrokerLink;
typedef struct CluBrokerShm CluBrokerShm;

CluBrokerLink *clu_broker_link_new(CluBroker *broker, const char *name,
                                   const char *path, GError **error);
void clu_broker_link_free(CluBrokerLink *link);

CluBrokerShm *clu_broker_shm_new(CluBroker *broker, const char *name,
                                 const char *path,
                                 const CluBrokerRegion *region, GError **error);
void clu_broker_shm_free(CluBrokerShm *shm);
const char *clu_broker_shm_get_name(const CluBrokerShm *shm);
int clu_broker_shm_get_file(const CluBrokerShm *shm);

/* ---- The broker, as its services see it ------------------------------- */

GMainContext *clu_broker_get_context(const CluBroker *broker);

/* Tells the callback, if there is one. */
void clu_broker_tell(CluBroker *broker, CluBrokerNotice notice);

#endif
