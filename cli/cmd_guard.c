/* SPDX-License-Identifier: MIT */
#include "cmd_guard.h"

#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include <glib.h>

#define POLL_NS 50000000

struct CmdGuard {
    CmdGuardFn fn;
    void *data;
    GThread *thread;
    sigset_t signals, before;
    gint ended; /* atomic */
};

static void *guard_wait(void *data)
{
    CmdGuard *self = data;
    const struct timespec period = {0, POLL_NS};

    while (!g_atomic_int_get(&self->ended)) {
        int number = sigtimedwait(&self->signals, NULL, &period);

        if (number > 0) {
            self->fn(self->data);
            fflush(NULL);
            _exit(128 + number);
        }
    }
    return NULL;
}

CmdGuard *cmd_guard_new(CmdGuardFn fn, void *data)
{
    CmdGuard *self = g_new0(CmdGuard, 1);

    self->fn = fn;
    self->data = data;
    sigemptyset(&self->signals);
    sigaddset(&self->signals, SIGINT);
    sigaddset(&self->signals, SIGTERM);
    sigaddset(&self->signals, SIGHUP);
    pthread_sigmask(SIG_BLOCK, &self->signals, &self->before);
    self->thread = g_thread_new("guard", guard_wait, self);
    return self;
}

void cmd_guard_free(CmdGuard *self)
{
    if (self) {
        g_atomic_int_set(&self->ended, 1);
        g_thread_join(self->thread);
        pthread_sigmask(SIG_SETMASK, &self->before, NULL);
        g_free(self);
    }
}
