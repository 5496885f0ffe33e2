/* SPDX-License-Identifier: MIT */
#include "xpl_signals.h"

#include <pthread.h>
#include <signal.h>

static sigset_t end_signals(void)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGHUP);
    return set;
}

void xpl_hold_signals(void)
{
    const sigset_t set = end_signals();

    pthread_sigmask(SIG_BLOCK, &set, NULL);
}

int xpl_watch_signals(const gint *running, gint *is_stopped,
                      const ImgNotes *notes, const char *verb)
{
    const struct timespec turn = {.tv_nsec = 100000000};
    const sigset_t set = end_signals();
    int got = 0;

    while (g_atomic_int_get(running) > 0) {
        int signal = sigtimedwait(&set, NULL, &turn);

        if (signal > 0 && got == 0) {
            img_tell(notes, "farside %s: ending the clusters", verb);
            got = signal;
            g_atomic_int_set(is_stopped, 1);
        }
    }
    return got;
}
