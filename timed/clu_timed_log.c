/* SPDX-License-Identifier: MIT */
#include "clu_timed_log.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "clu_error.h"
#include "topo_file.h"

#define FIRST_LINE "farside timed log 1"

struct CluTimedLog {
    FILE *file;
};

static const char *const kinds[] = {
    [CLU_INPUT_QMP] = "qmp",         [CLU_INPUT_AGENT] = "agent",
    [CLU_INPUT_CONSOLE] = "console", [CLU_INPUT_KILL] = "kill",
    [CLU_INPUT_START] = "start",     [CLU_INPUT_FAULT] = "fault",
    [CLU_INPUT_TO] = "to",
};

/* Writing. Errors are ignored: the cluster can run without its log. */

CluTimedLog *clu_timed_log_new(const char *path, GError **error)
{
    CluTimedLog *log;
    FILE *file = fopen(path, "we");

    if (!file) {
        g_set_error(error, CLU_ERROR, CLU_ERROR_FAILED, "%s: %s", path,
                    g_strerror(errno));
        return NULL;
    }
    /* A line is whole even if the supervisor is killed. */
    setvbuf(file, NULL, _IOLBF, 0);
    fputs(FIRST_LINE "\n", file);
    log = g_new0(CluTimedLog, 1);
    log->file = file;
    return log;
}

void clu_timed_log_free(CluTimedLog *log)
{
    if (log) {
        fclose(log->file);
        g_free(log);
    }
}

/* Printable ASCII stays as it is, but for the backslash and the blank. */
static char *escape(const uint8_t *data, size_t length)
{
    GString *text = g_string_new(NULL);

    for (size_t i = 0; i < length; i++) {
        if (data[i] > ' ' && data[i] < 0x7f && data[i] != '\\') {
            g_string_append_c(text, (char)data[i]);
        } else {
            g_string_append_printf(text, "\\%02x", data[i]);
        }
    }
    return g_string_free(text, FALSE);
}

void clu_timed_log_head(CluTimedLog *log, const char *name, const char *value)
{
    g_autofree char *text = escape((const uint8_t *)value, strlen(value));

    fprintf(log->file, "%s %s\n", name, text);
}

void clu_timed_log_add(CluTimedLog *log, int64_t at_ns, CluInputKind kind,
                       const char *host, const void *data, size_t length)
{
    g_autofree char *text = escape(data, length);

    fprintf(log->file, "%" G_GINT64_FORMAT " %s%s%s%s%s\n", at_ns, kinds[kind],
            host ? " " : "", host ? host : "", length > 0 ? " " : "", text);
}

/* Reading */

static void input_free(void *data)
{
    CluInput *input = data;

    g_free(input->host);
    g_bytes_unref(input->bytes);
    g_free(input);
}

void clu_timed_script_free(CluTimedScript *script)
{
    if (script) {
        g_ptr_array_unref(script->names);
        g_ptr_array_unref(script->values);
        g_ptr_array_unref(script->inputs);
        g_free(script);
    }
}

CluTimedScript *clu_timed_script_new(void)
{
    CluTimedScript *script = g_new0(CluTimedScript, 1);

    script->names = g_ptr_array_new_with_free_func(g_free);
    script->values = g_ptr_array_new_with_free_func(g_free);
    script->inputs = g_ptr_array_new_with_free_func(input_free);
    return script;
}

void clu_timed_script_add(CluTimedScript *script, const char *name,
                          const char *value)
{
    g_ptr_array_add(script->names, g_strdup(name));
    g_ptr_array_add(script->values, g_strdup(value));
}

/* The bytes that @text stands for; NULL if it is malformed. */
static GBytes *unescape(const char *text)
{
    GByteArray *bytes = g_byte_array_new();

    while (*text != '\0') {
        uint8_t byte = (uint8_t)*text++;

        if (byte == '\\') {
            if (!g_ascii_isxdigit(text[0]) || !g_ascii_isxdigit(text[1])) {
                g_byte_array_unref(bytes);
                return NULL;
            }
            byte = (uint8_t)(g_ascii_xdigit_value(text[0]) * 16 +
                             g_ascii_xdigit_value(text[1]));
            text += 2;
        }
        g_byte_array_append(bytes, &byte, 1);
    }
    /* A 0 that does not count follows, so that a number can be parsed. */
    g_byte_array_append(bytes, (const uint8_t *)"", 1);
    g_byte_array_set_size(bytes, bytes->len - 1);
    return g_byte_array_free_to_bytes(bytes);
}

/* @stands: the time at which the machines stand after the lines before. Inputs
 * come only when they stand. */
static bool read_input(CluTimedScript *script, char **words, int64_t *stands)
{
    unsigned count = g_strv_length(words);
    g_autoptr(GBytes) bytes = NULL;
    unsigned kind = 0;
    CluInput *input;
    int64_t at;

    while (kind < G_N_ELEMENTS(kinds) && strcmp(words[1], kinds[kind]) != 0) {
        kind++;
    }
    if (kind == G_N_ELEMENTS(kinds) || count < 3 || count > 4 ||
        (kind >= CLU_INPUT_KILL) != (count == 3) ||
        !g_ascii_string_to_signed(words[0], 10, *stands, G_MAXINT64, &at,
                                  NULL) ||
        (at - *stands) % CLU_TIMED_STEP_NS != 0) {
        return false;
    }
    *stands = at;
    if (kind == CLU_INPUT_TO &&
        !g_ascii_string_to_signed(words[2], 10, at, G_MAXINT64, stands, NULL)) {
        return false;
    }
    bytes = unescape(kind == CLU_INPUT_TO ? words[2]
                     : count > 3          ? words[3]
                                          : "");
    if (!bytes) {
        return false;
    }
    input = g_new0(CluInput, 1);
    input->at_ns = at;
    input->kind = (CluInputKind)kind;
    input->host = kind == CLU_INPUT_TO ? NULL : g_strdup(words[2]);
    input->bytes = g_steal_pointer(&bytes);
    g_ptr_array_add(script->inputs, input);
    return true;
}

static bool read_head(CluTimedScript *script, char **words)
{
    g_autoptr(GBytes) bytes =
        g_strv_length(words) == 2 ? unescape(words[1]) : NULL;
    size_t length;
    const char *data;

    if (!bytes || script->inputs->len > 0) {
        return false;
    }
    data = g_bytes_get_data(bytes, &length);
    g_ptr_array_add(script->names, g_strdup(words[0]));
    g_ptr_array_add(script->values, g_strndup(data ? data : "", length));
    return true;
}

CluTimedScript *clu_timed_script_read(const char *path, GError **error)
{
    g_autoptr(CluTimedScript) script = clu_timed_script_new();
    g_autoptr(GError) cause = NULL;
    g_autofree char *text = topo_file_text(path, NULL, &cause);
    g_auto(GStrv) lines = NULL;
    int64_t stands = 0;
    unsigned i;

    if (!text) {
        g_set_error_literal(error, CLU_ERROR, CLU_ERROR_USAGE, cause->message);
        return NULL;
    }
    lines = g_strsplit(text, "\n", -1);
    if (strcmp(lines[0] ? lines[0] : "", FIRST_LINE) != 0) {
        g_set_error(error, CLU_ERROR, CLU_ERROR_USAGE,
                    "%s:1: the first line must be '%s': this is no log of a "
                    "timed cluster, or that of another version",
                    path, FIRST_LINE);
        return NULL;
    }
    for (i = 1; lines[i] && (*lines[i] || lines[i + 1]); i++) {
        g_auto(GStrv) words = g_strsplit(lines[i], " ", -1);
        bool is_good = g_ascii_isdigit(*lines[i])
                           ? words[1] && read_input(script, words, &stands)
                           : read_head(script, words);

        if (!is_good) {
            g_set_error(error, CLU_ERROR, CLU_ERROR_USAGE,
                        "%s:%u: this line is neither an input, 'NS KIND HOST "
                        "BYTES' at a time at which the machines stand, nor "
                        "'NAME VALUE' before all inputs",
                        path, i + 1);
            return NULL;
        }
    }
    return g_steal_pointer(&script);
}

const char *clu_timed_script_get(const CluTimedScript *script, const char *name)
{
    for (unsigned i = 0; i < script->names->len; i++) {
        if (strcmp(script->names->pdata[i], name) == 0) {
            return script->values->pdata[i];
        }
    }
    return NULL;
}

char **clu_timed_script_get_all(const CluTimedScript *script, const char *name)
{
    GPtrArray *values = g_ptr_array_new();

    for (unsigned i = 0; i < script->names->len; i++) {
        if (strcmp(script->names->pdata[i], name) == 0) {
            g_ptr_array_add(values, g_strdup(script->values->pdata[i]));
        }
    }
    g_ptr_array_add(values, NULL);
    return (char **)g_ptr_array_free(values, FALSE);
}
