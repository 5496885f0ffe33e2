/* SPDX-License-Identifier: MIT */
#ifndef CLU_STREAM_H
#define CLU_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <glib.h>

/*
 * A stream socket that is read and written in a main context. Bytes to be
 * written wait in memory until the other end takes them, so no call blocks. Use
 * it only in the thread of its context.
 */
typedef struct CluStream CluStream;

typedef struct CluStreamOps {
    /* Bytes have come. */
    void (*data)(void *owner, const uint8_t *data, size_t length);
    /* The other end is gone, or an error has ended the stream. Called once; the
     * stream then only waits to be freed. */
    void (*closed)(void *owner);
    /* All bytes that had to wait have been written; nullable. */
    void (*drained)(void *owner);
} CluStreamOps;

/* Takes over @fd and makes it non-blocking. Each callback may free the stream.
 */
CluStream *clu_stream_new(GMainContext *context, int fd,
                          const CluStreamOps *ops, void *owner);

/* Closes and frees @stream (nullable); bytes not yet written are lost. */
void clu_stream_free(CluStream *stream);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CluStream, clu_stream_free)

/* Writes @data at once if the socket takes it, and later otherwise. */
void clu_stream_write(CluStream *stream, const void *data, size_t length);

/* Takes over @fd in place of the present socket, in a process that shares the
 * latter with another one. What waits to be written waits on. */
void clu_stream_replace(CluStream *stream, int fd);

/* From now on what is written waits until clu_stream_let(). */
void clu_stream_hold(CluStream *stream);

/* The bytes that wait; borrowed until the next call. */
const uint8_t *clu_stream_waiting(const CluStream *stream, size_t *ret_length);

/*
 * Writes up to @most of the bytes that wait in a held stream, in one piece, if
 * the other end has read all that was written before. Returns their number.
 */
size_t clu_stream_let(CluStream *stream, size_t most);

/* In a held stream: clu_stream_let() never gives what was written before this
 * call together with what is written after it. Until the former is given, the
 * next calls do nothing. */
void clu_stream_cut(CluStream *stream);

/* Drops the bytes that wait in a held stream. */
void clu_stream_discard(CluStream *stream);

/* Number of bytes that wait to be written. */
size_t clu_stream_pending(const CluStream *stream);

/* Number of bytes that the other end has not read: those that wait, and those
 * in the socket. The kernel counts the latter with its own overhead. */
size_t clu_stream_unread(const CluStream *stream);

/* Turns reading on or off; it is on at first. */
void clu_stream_set_reading(CluStream *stream, bool is_reading);

#endif
