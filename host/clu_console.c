/* SPDX-License-Identifier: MIT */
#include "clu_console.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "clu_copy.h"
#include "table_text.h"

#define LINE_MAX_BYTES  4096
#define TAIL_LINES      24
/* Limit of the typed bytes that wait for a guest to read its console. */
#define TYPED_MAX_BYTES 65536

struct CluConsole {
    GMainContext *context;
    CluStream *stream; /* NULL until the first process */
    const CluConsoleOps *ops;
    void *owner;
    int log;             /* descriptor of the log file */
    size_t logged;       /* bytes written to the log */
    GString *line;       /* line that has not ended, without carriage returns */
    GString *tail;       /* the last lines, without times */
    unsigned tail_lines; /* number of lines in `tail` */
};

/* The beginnings of messages of a kernel in trouble, after the time in
 * brackets. */
static const struct {
    const char *text;
    CluConsoleAlarm alarm;
} words[] = {
    {"Kernel panic - not syncing", CLU_CONSOLE_PANIC},
    {"watchdog: BUG: ", CLU_CONSOLE_OOPS},
    {"INFO: task ", CLU_CONSOLE_OOPS}, /* ... blocked for more than */
    {"rcu: INFO: rcu_", CLU_CONSOLE_OOPS},
    {"NMI watchdog: Watchdog detected", CLU_CONSOLE_OOPS},
    {"BUG: ", CLU_CONSOLE_OOPS},
    {"kernel BUG at ", CLU_CONSOLE_OOPS},
    {"Oops: ", CLU_CONSOLE_OOPS},
    {"general protection fault", CLU_CONSOLE_OOPS},
    {"invalid opcode: ", CLU_CONSOLE_OOPS},
    {"divide error: ", CLU_CONSOLE_OOPS},
    {"stack segment: ", CLU_CONSOLE_OOPS},
    {"double fault: ", CLU_CONSOLE_OOPS},
    {"traps: PANIC: ", CLU_CONSOLE_OOPS},
};

/* Returns the text after "[   12.345678] ", or after "[   12.345678][  T1] " if
 * the kernel prints the caller. NULL if @line does not begin with a time. */
static const char *skip_time(const char *line)
{
    size_t n;

    if (*line != '[') {
        return NULL;
    }
    line++;
    line += strspn(line, " ");
    n = strspn(line, "0123456789.");
    if (n == 0 || line[n] != ']') {
        return NULL;
    }
    line += n + 1;
    if (*line == '[') {
        line += strcspn(line, "]");
        line += *line == ']';
    }
    return line + strspn(line, " ");
}

CluConsoleAlarm clu_console_judge(const char *line)
{
    const char *text = skip_time(line);
    unsigned i;

    for (i = 0; text && i < G_N_ELEMENTS(words); i++) {
        if (g_str_has_prefix(text, words[i].text)) {
            if (strcmp(words[i].text, "INFO: task ") == 0 &&
                !strstr(text, " blocked for more than ")) {
                return CLU_CONSOLE_FINE;
            }
            return words[i].alarm;
        }
    }
    return CLU_CONSOLE_FINE;
}

/* Errors are ignored: the cluster can run without its log. */
static void log_bytes(CluConsole *console, const char *data, size_t length)
{
    while (length > 0) {
        ssize_t n = write(console->log, data, length);

        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            return;
        }
        data += n;
        length -= (size_t)n;
        console->logged += (size_t)n;
    }
}

static void add_to_tail(CluConsole *console, const char *line)
{
    g_string_append_printf(console->tail, "%s\n", line);
    console->tail_lines++;
    while (console->tail_lines > TAIL_LINES) {
        const char *end = strchr(console->tail->str, '\n');

        g_string_erase(console->tail, 0, end + 1 - console->tail->str);
        console->tail_lines--;
    }
}

/* CLU_CONSOLE_TIME_BYTES without the last blank; to be freed. */
static char *time_text(const CluConsole *console)
{
    if (console->ops->virtual_ns) {
        int64_t ms = console->ops->virtual_ns(console->owner) / 1000000;

        return g_strdup_printf("%8" G_GINT64_FORMAT ".%03" G_GINT64_FORMAT,
                               ms / 1000 % 100000000, ms % 1000);
    }
    g_autoptr(GDateTime) now = g_date_time_new_now_local();
    g_autofree char *clock = g_date_time_format(now, "%H:%M:%S");

    return g_strdup_printf("%s.%03d", clock,
                           g_date_time_get_microsecond(now) / 1000);
}

static void log_line(CluConsole *console, const char *line)
{
    g_autofree char *clock = time_text(console);
    g_autofree char *text = g_strdup_printf("%s %s\n", clock, line);

    add_to_tail(console, line);
    if (console->logged < CLU_CONSOLE_LOG_MAX) {
        log_bytes(console, text, strlen(text));
        if (console->logged >= CLU_CONSOLE_LOG_MAX) {
            static const char full[] = "             -- the log is full\n";

            log_bytes(console, full, sizeof(full) - 1);
        }
    }
    console->ops->grown(console->owner);
}

static void end_line(CluConsole *console)
{
    g_autofree char *line =
        table_text_from(console->line->str, (gssize)console->line->len, false);
    CluConsoleAlarm alarm = clu_console_judge(line);

    g_string_truncate(console->line, 0);
    log_line(console, line);
    if (alarm != CLU_CONSOLE_FINE) {
        console->ops->alarm(console->owner, alarm, line);
    }
}

static void on_data(void *owner, const uint8_t *data, size_t length)
{
    CluConsole *console = owner;
    size_t i;

    console->ops->bytes(console->owner, data, length);
    for (i = 0; i < length; i++) {
        if (data[i] == '\n') {
            end_line(console);
        } else if (data[i] != '\r' && data[i] != '\0') {
            g_string_append_c(console->line, (char)data[i]);
            if (console->line->len >= LINE_MAX_BYTES) {
                end_line(console);
            }
        }
    }
}

static void on_closed(void *owner)
{
    CluConsole *console = owner;

    if (console->line->len > 0) {
        end_line(console);
    }
}

CluConsole *clu_console_new(GMainContext *context, const char *path,
                            const CluConsoleOps *ops, void *owner,
                            GError **error)
{
    int log = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    CluConsole *console;

    if (log < 0) {
        g_set_error(error, G_FILE_ERROR, g_file_error_from_errno(errno),
                    "%s: %s", path, g_strerror(errno));
        return NULL;
    }
    console = g_new0(CluConsole, 1);
    console->context = context;
    console->ops = ops;
    console->owner = owner;
    console->log = log;
    console->line = g_string_new(NULL);
    console->tail = g_string_new(NULL);
    return console;
}

void clu_console_free(CluConsole *console)
{
    if (!console) {
        return;
    }
    clu_stream_free(console->stream);
    close(console->log);
    g_string_free(console->line, TRUE);
    g_string_free(console->tail, TRUE);
    g_free(console);
}

void clu_console_connect(CluConsole *console, int fd)
{
    static const CluStreamOps stream_ops = {.data = on_data,
                                            .closed = on_closed};

    if (console->line->len > 0) {
        end_line(console);
    }
    clu_stream_free(console->stream);
    g_string_truncate(console->tail, 0);
    console->tail_lines = 0;
    console->stream =
        clu_stream_new(console->context, fd, &stream_ops, console);
    if (console->ops->virtual_ns) {
        clu_stream_hold(console->stream);
    }
}

bool clu_console_branch(CluConsole *console, const char *path, GError **error)
{
    int log = clu_copy(console->log, path, error);

    if (log < 0) {
        return false;
    }
    lseek(log, 0, SEEK_END);
    close(console->log);
    console->log = log;
    return true;
}

void clu_console_write(CluConsole *console, const uint8_t *data, size_t length)
{
    if (console->stream &&
        clu_stream_pending(console->stream) < TYPED_MAX_BYTES) {
        clu_stream_write(console->stream, data, length);
    }
}

void clu_console_note(CluConsole *console, const char *format, ...)
{
    g_autofree char *text = NULL;
    g_autofree char *line = NULL;
    va_list arguments;

    va_start(arguments, format);
    text = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    if (console->line->len > 0) {
        end_line(console);
    }
    line = g_strdup_printf("-- %s", text);
    log_line(console, line);
}

const char *clu_console_tail(const CluConsole *console)
{
    return console->tail->str;
}

CluStream *clu_console_stream(const CluConsole *console)
{
    return console->stream;
}
