/* SPDX-License-Identifier: MIT */
#ifndef CLU_STREAM_H
#define CLU_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <glib.h>

/*
 * A file descriptor that carries bytes both ways, in a main context: what is to
 * be written waits in memory until the other end takes it, and nothing ever
 * blocks. Used from the thread of its context.
 */
typedef struct CluStream CluStream;

typedef struct CluStreamOps {
    /* Bytes have come. */
    void (*data)(void *owner, const uint8_t *data, size_t length);
    /* The other end is gone, or an error says so; called once, after which the
     * stream only waits to be freed. */
    void (*closed)(void *owner);
    /* All that was written is out; nullable. */
    void (*drained)(void *owner);
} CluStreamOps;

/* Takes over @fd, which becomes non-blocking. Any of the calls may free the
 * stream. */
CluStream *clu_stream_new(GMainContext *context, int fd,
                          const CluStreamOps *ops, void *owner);

/* Closes and frees @stream (nullable); what is not out is lost. */
void clu_stream_free(CluStream *stream);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CluStream, clu_stream_free)

/* Writes, now or later. */
void clu_stream_write(CluStream *stream, const void *data, size_t length);

/* How many bytes wait to be written. */
size_t clu_stream_pending(const CluStream *stream);

/* Whether bytes that come are taken; they are at first. */
void clu_stream_set_reading(CluStream *stream, bool is_reading);

bool clu_stream_is_closed(const CluStream *stream);

#endif
