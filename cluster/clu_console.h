/* SPDX-License-Identifier: MIT */
#ifndef CLU_CONSOLE_H
#define CLU_CONSOLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <glib.h>

/*
 * The serial console of one host. Its first CLU_CONSOLE_LOG_MAX bytes are kept
 * in a log file, each line with the time of day at which it ended, and each
 * line is searched for a kernel in trouble. It outlives the processes whose
 * console it is.
 */
typedef struct CluConsole CluConsole;

/* The state of the kernel by a line that it has written. */
typedef enum CluConsoleAlarm {
    CLU_CONSOLE_FINE,
    CLU_CONSOLE_OOPS,  /* a part of it has failed, or makes no progress */
    CLU_CONSOLE_PANIC, /* it has stopped */
} CluConsoleAlarm;

typedef struct CluConsoleOps {
    /* Bytes as they came, for users who are connected. */
    void (*bytes)(void *owner, const uint8_t *data, size_t length);
    /* The log has grown. */
    void (*grown)(void *owner);
    /* The kernel has reported trouble in the line @text. */
    void (*alarm)(void *owner, CluConsoleAlarm alarm, const char *text);
} CluConsoleOps;

#define CLU_CONSOLE_TIME_BYTES 13u /* "HH:MM:SS.mmm " before each line */
#define CLU_CONSOLE_LOG_MAX    (64u << 20)

/* A console with its log at @path. NULL and @error if that cannot be made. */
CluConsole *clu_console_new(GMainContext *context, const char *path,
                            const CluConsoleOps *ops, void *owner,
                            GError **error);

/* Frees @console (nullable); the log stays. */
void clu_console_free(CluConsole *console);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CluConsole, clu_console_free)

/* Takes over @fd, the line to a new process; the line to the old one is closed.
 */
void clu_console_connect(CluConsole *console, int fd);

/* Sends @data to the guest as if it were typed. */
void clu_console_write(CluConsole *console, const uint8_t *data, size_t length);

/* Writes a line "-- ..." of the supervisor to the log. */
void clu_console_note(CluConsole *console, const char *format, ...)
    G_GNUC_PRINTF(2, 3);

/* The last lines since the last process began, without times; borrowed. */
const char *clu_console_tail(const CluConsole *console);

/* The state of the kernel that wrote @line, which has no end of line. */
CluConsoleAlarm clu_console_judge(const char *line);

#endif
