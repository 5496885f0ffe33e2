/* SPDX-License-Identifier: MIT */
#ifndef CLU_CONN_H
#define CLU_CONN_H

#include "clu_request.h"

/* A connection of the program to the supervisor, with the request that is
 * worked on. */
typedef struct CluConn CluConn;

typedef struct CluConnOps {
    /* The program is gone; the owner frees @conn. */
    void (*closed)(void *owner, CluConn *conn);
    /* The program has asked that the cluster ends. */
    void (*end)(void *owner);
} CluConnOps;

/* Takes over @fd. The cluster ends with a connection that @is_owner, unless
 * that asks for `release` before. */
CluConn *clu_conn_new(CluCluster *cluster, GMainContext *context, int fd,
                      bool is_owner, const CluConnOps *ops, void *owner);

/* Frees @conn (nullable). */
void clu_conn_free(CluConn *conn);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CluConn, clu_conn_free)

bool clu_conn_is_owner(const CluConn *conn);

/* For telling it of changes; borrowed. */
CluRequest *clu_conn_request(CluConn *conn);

#endif
