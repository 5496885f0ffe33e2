/* SPDX-License-Identifier: MIT */
#include "trc_ftrace.h"

#include <string.h>

#include "table_text.h"

G_GNUC_PRINTF(4, 5)
static bool wrong(GError **error, const char *name, unsigned number,
                  const char *format, ...)
{
    g_autofree char *text = NULL;
    va_list args;

    va_start(args, format);
    text = g_strdup_vprintf(format, args);
    va_end(args);
    g_set_error(error, TRC_ERROR, TRC_ERROR_FORMAT, "%s: line %u: %s", name,
                number, text);
    return false;
}

/* Cuts @line after its task: "  TASK-PID  [CPU]", where TASK may have blanks
 * and hyphens. Returns the rest; NULL if there is no task. */
static char *cut_task(char *line, TrcFtraceEvent *event)
{
    char *cpu = strstr(line, " ["), *hyphen, *rest;

    while (cpu && !(g_ascii_isdigit(cpu[2]) && strchr(cpu, ']'))) {
        cpu = strstr(cpu + 1, " [");
    }
    rest = cpu ? strchr(cpu, ']') : NULL;
    if (!rest) {
        return NULL;
    }
    *cpu = '\0';
    hyphen = strrchr(line, '-');
    if (!hyphen) {
        return NULL;
    }
    *hyphen = '\0';
    event->task = g_strstrip(line);
    event->pid = (int)g_ascii_strtoll(hyphen + 1, NULL, 10);
    return rest + 1;
}

/* Reads "  FLAGS  TIME: NAME: DETAIL". */
static bool take_line(char *line, TrcFtraceEvent *event, const char *name,
                      unsigned number, GError **error)
{
    char *at = cut_task(line, event), *end, *colon;

    if (!at) {
        return wrong(error, name, number,
                     "no event; write the file "
                     "/sys/kernel/tracing/trace here");
    }
    at += strspn(at, " ");
    at += strcspn(at, " "); /* flags */
    at += strspn(at, " ");
    event->time_ns = g_ascii_strtoll(at, &end, 10);
    if (*end == '.') {
        return wrong(error, name, number,
                     "its time is not that of the clock x86-tsc; write x86-tsc "
                     "into /sys/kernel/tracing/trace_clock before");
    }
    if (end == at || *end != ':') {
        return wrong(error, name, number, "an event without a time");
    }
    at = end + 1;
    at += strspn(at, " ");
    colon = strchr(at, ':');
    if (!colon) {
        return wrong(error, name, number, "an event without a name");
    }
    *colon = '\0';
    event->name = at;
    event->detail = g_strchug(colon + 1);
    return true;
}

bool trc_ftrace_parse(const char *text, const char *name, TrcFtraceFn take,
                      void *data, GError **error)
{
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);

    for (unsigned i = 0; lines[i]; i++) {
        g_autofree char *clean = table_text_from(lines[i], -1, false);
        char *line = g_strchomp(clean);
        TrcFtraceEvent event;

        /* "CPU:0 [LOST 5 EVENTS]" stands where the buffer was too small. */
        if (*line == '\0' || *line == '#' || g_str_has_prefix(line, "CPU:")) {
            continue;
        }
        if (!take_line(line, &event, name, i + 1, error)) {
            return false;
        }
        take(data, &event);
    }
    return true;
}
