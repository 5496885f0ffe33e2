/* SPDX-License-Identifier: MIT */
#include "rep_shard.h"

#include <stdio.h>
#include <string.h>

#include "table_csv.h"

#define SHARD  "# shard: "
#define FAILED "# failed: "

/* One file. */
typedef struct Shard {
    char *text;
    GPtrArray *records; /* of char *, each with its line end */
    GString *head;      /* all lines before the records, without that of the
                           shard */
    unsigned index;     /* from 0 */
    unsigned count;     /* of shards */
    unsigned points;    /* of all shards */
} Shard;

static void shard_free(void *data)
{
    Shard *shard = data;

    g_free(shard->text);
    g_ptr_array_unref(shard->records);
    g_string_free(shard->head, TRUE);
    g_free(shard);
}

/* Returns the end of the record at @at: line ends inside quotes do not end
 * it. */
static const char *record_end(const char *at)
{
    bool is_quoted = false;

    for (; *at; at++) {
        if (*at == '"') {
            is_quoted = !is_quoted;
        } else if (*at == '\n' && !is_quoted) {
            return at + 1;
        }
    }
    return at;
}

static bool fail(const char *file, GError **error, const char *format, ...)
    G_GNUC_PRINTF(3, 4);
static bool fail(const char *file, GError **error, const char *format, ...)
{
    g_autofree char *what = NULL;
    va_list args;

    va_start(args, format);
    what = g_strdup_vprintf(format, args);
    va_end(args);
    g_set_error(error, TABLE_ERROR, TABLE_ERROR_VALUE, "%s: %s", file, what);
    return false;
}

static bool take_shard_line(const char *file, Shard *shard, const char *line,
                            GError **error)
{
    unsigned number;

    if (sscanf(line + strlen(SHARD), "%u/%u of %u points", &number,
               &shard->count, &shard->points) != 3 ||
        number == 0 || number > shard->count) {
        return fail(file, error,
                    "the line \"# shard:\" is not of the form "
                    "\"I/N of COUNT points\"");
    }
    shard->index = number - 1;
    return true;
}

static bool take_lines(const char *file, Shard *shard, GError **error)
{
    const char *at = shard->text;
    bool has_columns = false;

    while (*at) {
        const char *end = record_end(at);
        g_autofree char *line = g_strndup(at, (gsize)(end - at));

        if (g_str_has_prefix(line, SHARD)) {
            if (!take_shard_line(file, shard, line, error)) {
                return false;
            }
        } else if (g_str_has_prefix(line, FAILED)) {
            return fail(file, error,
                        "it lacks points that failed; run the shard again");
        } else if (*line == '#' || !has_columns) {
            has_columns = *line != '#';
            g_string_append(shard->head, line);
        } else {
            g_ptr_array_add(shard->records, g_steal_pointer(&line));
        }
        at = end;
    }
    return true;
}

static Shard *shard_read(const char *file, GError **error)
{
    g_autoptr(Table) table = table_read(file, error);
    Shard *shard;
    unsigned want;

    if (!table) {
        return NULL; /* no CSV at all */
    }
    shard = g_new0(Shard, 1);
    shard->records = g_ptr_array_new_with_free_func(g_free);
    shard->head = g_string_new(NULL);
    if (!g_file_get_contents(file, &shard->text, NULL, error) ||
        !take_lines(file, shard, error)) {
        shard_free(shard);
        return NULL;
    }
    want = shard->count == 0 || shard->points <= shard->index
               ? 0
               : (shard->points - shard->index - 1) / shard->count + 1;
    if (shard->count == 0) {
        fail(file, error, "it is no shard; `farside run --shard` writes some");
    } else if (shard->records->len != want) {
        fail(file, error, "it has %u points instead of %u; run the shard again",
             shard->records->len, want);
    } else {
        return shard;
    }
    shard_free(shard);
    return NULL;
}

/* Puts each shard into its place in @shards, which has one for each. */
static bool place_shards(GPtrArray *read, char **files, Shard **shards,
                         GError **error)
{
    const Shard *first = read->pdata[0];

    for (unsigned i = 0; i < read->len; i++) {
        Shard *shard = read->pdata[i];

        if (shard->count != first->count || shard->points != first->points ||
            !g_string_equal(shard->head, first->head)) {
            return fail(files[i], error,
                        "it comes from another run than %s: the head lines "
                        "differ",
                        files[0]);
        }
        if (shards[shard->index]) {
            return fail(files[i], error, "shard %u/%u is given twice",
                        shard->index + 1, shard->count);
        }
        shards[shard->index] = shard;
    }
    for (unsigned i = 0; i < first->count; i++) {
        if (!shards[i]) {
            return fail(files[0], error, "shard %u/%u is missing", i + 1,
                        first->count);
        }
    }
    return true;
}

char *rep_shard_merge(char **files, GError **error)
{
    g_autoptr(GPtrArray) read = g_ptr_array_new_with_free_func(shard_free);
    g_autofree Shard **shards = NULL;
    const Shard *first;
    GString *whole;

    for (char **file = files; *file; file++) {
        Shard *shard = shard_read(*file, error);

        if (!shard) {
            return NULL;
        }
        g_ptr_array_add(read, shard);
    }
    first = read->pdata[0];
    if (first->count > read->len) {
        fail(files[0], error, "%u of %u shards are given; name all", read->len,
             first->count);
        return NULL;
    }
    shards = g_new0(Shard *, first->count);
    if (!place_shards(read, files, shards, error)) {
        return NULL;
    }
    whole = g_string_new(first->head->str);
    for (unsigned i = 0; i < first->points; i++) {
        const Shard *shard = shards[i % first->count];

        g_string_append(whole, shard->records->pdata[i / first->count]);
    }
    return g_string_free(whole, FALSE);
}
