/* SPDX-License-Identifier: MIT */
#ifndef CLU_QMP_H
#define CLU_QMP_H

#include <glib.h>
#include <json-glib/json-glib.h>

/* A connection to the monitor of a QEMU process, by the QEMU Machine Protocol.
 * Commands are answered in order, and events that QEMU sends before an answer
 * are reported before it. */
typedef struct CluQmp CluQmp;

typedef struct CluQmpOps {
    /* @data is nullable, and borrowed. */
    void (*event)(void *owner, const char *name, JsonObject *data);
    /* QEMU is gone, or what it sent is no QMP. */
    void (*closed)(void *owner);
} CluQmpOps;

/* Takes over @fd, one end of the socket, and negotiates. */
CluQmp *clu_qmp_new(GMainContext *context, int fd, const CluQmpOps *ops,
                    void *owner);

/* Frees @qmp (nullable); pending commands are answered with an error. */
void clu_qmp_free(CluQmp *qmp);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CluQmp, clu_qmp_free)

/* @complaint is NULL if the command succeeded. Called once a command. */
typedef void (*CluQmpReply)(void *data, const char *complaint);

/* Sends the command @json, an object in one line. @reply is nullable. */
void clu_qmp_command(CluQmp *qmp, const char *json, CluQmpReply reply,
                     void *data);

#endif
