/* SPDX-License-Identifier: MIT */
#ifndef CLU_CONN_H
#define CLU_CONN_H

#include "clu_request.h"

/* A connection of the program `farside` to the supervisor, with the request in
 * progress. */
typedef struct CluConn CluConn;

typedef struct CluConnOps {
    /* The program has closed the connection. The owner must free @conn. */
    void (*closed)(void *owner, CluConn *conn);
    /* The program has asked the supervisor to end the cluster. */
    void (*end)(void *owner);
    /* True if no other connection has a request. */
    bool (*is_alone)(void *owner, const CluConn *conn);
    /* See CluRequestOps. This process must forget @conn, which belongs to that
     * of the branch. */
    void (*branch)(void *owner, CluConn *conn, const char *name,
                   char *const *sets);
} CluConnOps;

/* Takes over @fd. If @is_owner, the cluster ends when the connection closes,
 * unless the program has sent the request `release` before. */
CluConn *clu_conn_new(CluCluster *cluster, GMainContext *context, int fd,
                      bool is_owner, const CluConnOps *ops, void *owner);

/* Frees @conn (nullable). */
void clu_conn_free(CluConn *conn);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CluConn, clu_conn_free)

bool clu_conn_is_owner(const CluConn *conn);

bool clu_conn_is_idle(const CluConn *conn);
/* Nothing more is read from @conn. */
void clu_conn_stop(CluConn *conn);

/* The request of @conn, which must be told of changes; borrowed. */
CluRequest *clu_conn_request(CluConn *conn);

#endif
