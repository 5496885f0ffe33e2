/* SPDX-License-Identifier: MIT */
#ifndef CLU_CONSOLE_H
#define CLU_CONSOLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <glib.h>

#include "clu_stream.h"

/*
 * The serial console of one host. Its lines go to a log file, each with the
 * time of day at which it ended, until the log has CLU_CONSOLE_LOG_MAX bytes.
 * Each line is searched for messages of a kernel in trouble. A console stays
 * when the QEMU process of its host ends, and serves the next one.
 */
typedef struct CluConsole CluConsole;

/* The state of a kernel, as a line of its console reports it. */
typedef enum CluConsoleAlarm {
    CLU_CONSOLE_FINE,
    CLU_CONSOLE_OOPS,  /* a part of the kernel has failed, or is stuck */
    CLU_CONSOLE_PANIC, /* the kernel has stopped */
} CluConsoleAlarm;

typedef struct CluConsoleOps {
    /* The guest has written @data, which is passed on unchanged. */
    void (*bytes)(void *owner, const uint8_t *data, size_t length);
    /* The log has grown. */
    void (*grown)(void *owner);
    /* The kernel has reported trouble in the line @text. */
    void (*alarm)(void *owner, CluConsoleAlarm alarm, const char *text);
    /* The virtual time in ns, which the log has in place of the time of day;
     * nullable. */
    int64_t (*virtual_ns)(void *owner);
} CluConsoleOps;

#define CLU_CONSOLE_TIME_BYTES                                                 \
    13u /* "HH:MM:SS.mmm " before each line, or                                \
           the seconds of virtual time */
#define CLU_CONSOLE_LOG_MAX (64u << 20)

/* Makes a console with its log at @path. NULL and @error if that fails. */
CluConsole *clu_console_new(GMainContext *context, const char *path,
                            const CluConsoleOps *ops, void *owner,
                            GError **error);

/* Frees @console (nullable); the log stays. */
void clu_console_free(CluConsole *console);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CluConsole, clu_console_free)

/* Takes over @fd, the serial line of a new process, and closes the line of the
 * old one. */
void clu_console_connect(CluConsole *console, int fd);

/* In a process that shares the console with another one: the log goes on in a
 * copy at @path. False and @error if there can be none. */
bool clu_console_branch(CluConsole *console, const char *path, GError **error);

/* Sends @data to the guest as if it were typed. With CluConsoleOps.virtual_ns
 * it waits in clu_console_stream(). */
void clu_console_write(CluConsole *console, const uint8_t *data, size_t length);

/* Adds a line of the supervisor to the log, "-- " and the text. */
void clu_console_note(CluConsole *console, const char *format, ...)
    G_GNUC_PRINTF(2, 3);

/* The last lines of the present process, or of the last one, without times;
 * borrowed. */
const char *clu_console_tail(const CluConsole *console);

/* Judges the kernel that wrote @line, which has no end of line. */
CluConsoleAlarm clu_console_judge(const char *line);

/* The serial line of the present process, or of the last one; NULL if there was
 * none. Borrowed. */
CluStream *clu_console_stream(const CluConsole *console);

#endif
