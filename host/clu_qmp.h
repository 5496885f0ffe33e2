/* SPDX-License-Identifier: MIT */
#ifndef CLU_QMP_H
#define CLU_QMP_H

#include <glib.h>
#include <json-glib/json-glib.h>

#include "clu_stream.h"

/* A connection to the monitor of a QEMU process, by the QEMU Machine Protocol.
 * Answers and events are reported in the order in which QEMU sends them. */
typedef struct CluQmp CluQmp;

typedef struct CluQmpOps {
    /* @data is nullable, and borrowed. */
    void (*event)(void *owner, const char *name, JsonObject *data);
    /* QEMU is gone, or has sent something that is not QMP. */
    void (*closed)(void *owner);
} CluQmpOps;

/* Takes over @fd, the socket of the monitor, and negotiates capabilities. With
 * @is_held all commands wait in clu_qmp_stream(). */
CluQmp *clu_qmp_new(GMainContext *context, int fd, bool is_held,
                    const CluQmpOps *ops, void *owner);

/* Frees @qmp (nullable); pending commands are answered with an error. */
void clu_qmp_free(CluQmp *qmp);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CluQmp, clu_qmp_free)

/* The line to QEMU; borrowed. */
CluStream *clu_qmp_stream(const CluQmp *qmp);

/* The number of commands that QEMU was given, and has not answered yet. */
unsigned clu_qmp_unanswered(const CluQmp *qmp);

/* Answers to @count commands are expected, at least: they were written past
 * clu_qmp_command(). */
void clu_qmp_expect(CluQmp *qmp, unsigned count);

/* Called once for each command. @complaint is NULL if it succeeded. */
typedef void (*CluQmpReply)(void *data, const char *complaint);

/* Sends the command @json, an object in one line. @reply is nullable. */
void clu_qmp_command(CluQmp *qmp, const char *json, CluQmpReply reply,
                     void *data);

#endif
