/* SPDX-License-Identifier: MIT */
#ifndef CLU_SOCKET_H
#define CLU_SOCKET_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include <glib.h>

/* A listening UNIX socket. */
typedef struct CluListener CluListener;

/* Takes over @fd, which is non-blocking. */
typedef void (*CluAcceptFn)(int fd, void *data);

/*
 * Listens at @path; @type is SOCK_STREAM or SOCK_SEQPACKET. @fn is called for
 * each client. A socket that a dead process left at @path is replaced. NULL and
 * @error if the path is too long or in use, or the folder is missing.
 */
CluListener *clu_listener_new(GMainContext *context, const char *path, int type,
                              CluAcceptFn fn, void *data, GError **error);

/* Closes @listener (nullable). Removes the socket file, unless another process
 * has replaced it. */
void clu_listener_free(CluListener *listener);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CluListener, clu_listener_free)

/* Closes @listener and leaves its file, which another process serves. */
void clu_listener_leave(CluListener *listener);

/* The ID of the process that connected @fd; 0 if it is not known. */
pid_t clu_socket_get_pid(int fd);

/* True if the other end of @fd is closed and has left nothing to read. */
bool clu_socket_is_closed(int fd);

/*
 * Sends @bytes as one packet, or as bytes of a stream, together with the
 * descriptor @file unless it is -1. Never blocks. Returns false and sets errno
 * on failure; EMSGSIZE means that only a part was sent.
 */
bool clu_socket_send(int fd, const void *bytes, size_t size, int file);

#endif
