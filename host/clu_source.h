/* SPDX-License-Identifier: MIT */
#ifndef CLU_SOURCE_H
#define CLU_SOURCE_H

#include <glib-unix.h>
#include <glib.h>

/*
 * Event sources. Each function attaches a new source to @context (NULL: the
 * default one) and returns a pointer to it for its owner, who ends the source
 * by clu_source_clear(). A callback that returns G_SOURCE_REMOVE must clear the
 * owner's pointer itself.
 */

/* Calls @fn whenever @fd is ready. */
GSource *clu_source_new_fd(GMainContext *context, int fd,
                           GIOCondition condition, GUnixFDSourceFunc fn,
                           void *data);

/* Calls @fn every @ms milliseconds. */
GSource *clu_source_new_timer(GMainContext *context, unsigned ms,
                              GSourceFunc fn, void *data);

/* Calls @fn when no source of a higher priority than @priority (G_PRIORITY_...)
 * is ready. */
GSource *clu_source_new_idle(GMainContext *context, int priority,
                             GSourceFunc fn, void *data);

/* Destroys *@source (nullable) and sets it to NULL. The callback of a source
 * may do that with its own source. */
void clu_source_clear(GSource **source);

#endif
