/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "qemu/osdep.h"
#include <execinfo.h>
#include "crash.h"

#define FRAMES_MAX 64

static const int signals[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT };

/* Only functions that a handler of signals may call */
static void put(const char *text)
{
    if (write(STDERR_FILENO, text, strlen(text)) < 0) {
        /* Nobody else can be told. */
    }
}

static void put_address(const void *address)
{
    char text[2 * sizeof(address) + 1] = "";
    unsigned i;

    for (i = 0; i < sizeof(text) - 1; i++) {
        text[i] = "0123456789abcdef"[(uintptr_t)address >>
                                         4 * (sizeof(text) - 2 - i) & 0xf];
    }
    put("0x");
    put(text);
}

static void tell(int number, siginfo_t *info, void *context)
{
    const char *name = sigabbrev_np(number);
    void *frames[FRAMES_MAX];

    put("farside: QEMU has crashed by SIG");
    put(name ? name : "?");
    if (info->si_code > 0) {
        put(" at address ");
        put_address(info->si_addr);
    }
    put(". The functions, the innermost first:\n");
    backtrace_symbols_fd(frames, backtrace(frames, FRAMES_MAX), STDERR_FILENO);
    /* Another process may have sent it, so it would not come again. */
    raise(number);
}

void farside_crash_tell(void)
{
    struct sigaction action = {
        .sa_sigaction = tell,
        .sa_flags = SA_SIGINFO | SA_RESETHAND,
    };
    struct sigaction before;
    void *frame;
    unsigned i;

    /* The first call loads a library, which a handler may not do. */
    backtrace(&frame, 1);
    for (i = 0; i < ARRAY_SIZE(signals); i++) {
        if (sigaction(signals[i], NULL, &before) == 0 &&
            !(before.sa_flags & SA_SIGINFO) && before.sa_handler == SIG_DFL) {
            sigaction(signals[i], &action, NULL);
        }
    }
}
