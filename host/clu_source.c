/* SPDX-License-Identifier: MIT */
#include "clu_source.h"

static GSource *attach(GSource *source, GMainContext *context, GSourceFunc fn,
                       void *data)
{
    g_source_set_callback(source, fn, data, NULL);
    g_source_attach(source, context);
    return source;
}

GSource *clu_source_new_fd(GMainContext *context, int fd,
                           GIOCondition condition, GUnixFDSourceFunc fn,
                           void *data)
{
    return attach(g_unix_fd_source_new(fd, condition), context,
                  G_SOURCE_FUNC(fn), data);
}

GSource *clu_source_new_timer(GMainContext *context, unsigned ms,
                              GSourceFunc fn, void *data)
{
    return attach(g_timeout_source_new(ms), context, fn, data);
}

GSource *clu_source_new_idle(GMainContext *context, int priority,
                             GSourceFunc fn, void *data)
{
    GSource *source = g_idle_source_new();

    g_source_set_priority(source, priority);
    return attach(source, context, fn, data);
}

void clu_source_clear(GSource **source)
{
    if (*source) {
        g_source_destroy(*source);
        g_clear_pointer(source, g_source_unref);
    }
}
