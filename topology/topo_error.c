/* SPDX-License-Identifier: MIT */
#include "topo_error.h"

#include <string.h>

#define TEXT_MAX 1000 /* bytes of a message */

typedef struct Entry {
    TopoPlace place;
    char *label; /* of the point that has the error; nullable */
    char *text;
} Entry;

struct TopoErrors {
    GPtrArray *entries; /* of Entry, in the order in which they were added */
    unsigned count;
};

G_DEFINE_QUARK(topo-error-quark, topo_error);

bool topo_refuse(GError **error, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    if (error) {
        *error =
            g_error_new_valist(TOPO_ERROR, TOPO_ERROR_SYNTAX, format, args);
    }
    va_end(args);
    return false;
}

bool topo_refuse_option(GError **error, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    if (error) {
        *error = g_error_new_valist(G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
                                    format, args);
    }
    va_end(args);
    return false;
}

static void entry_free(void *data)
{
    Entry *entry = data;

    g_free(entry->label);
    g_free(entry->text);
    g_free(entry);
}

char *topo_place_to_string(TopoPlace place)
{
    if (place.line == 0) {
        return g_strdup(place.file);
    }
    if (place.column == 0) {
        return g_strdup_printf("%s:%u", place.file, place.line);
    }
    return g_strdup_printf("%s:%u:%u", place.file, place.line, place.column);
}

TopoErrors *topo_errors_new(void)
{
    TopoErrors *errors = g_new0(TopoErrors, 1);

    errors->entries = g_ptr_array_new_with_free_func(entry_free);
    return errors;
}

void topo_errors_free(TopoErrors *errors)
{
    if (!errors) {
        return;
    }
    g_ptr_array_unref(errors->entries);
    g_free(errors);
}

static int compare_places(const TopoPlace *a, const TopoPlace *b)
{
    int order = strcmp(a->file, b->file);

    if (order == 0) {
        order = (a->line > b->line) - (a->line < b->line);
    }
    if (order == 0) {
        order = (a->column > b->column) - (a->column < b->column);
    }
    return order;
}

static int compare_entries(const void *left, const void *right)
{
    const Entry *a = *(Entry *const *)left;
    const Entry *b = *(Entry *const *)right;

    return compare_places(&a->place, &b->place);
}

/* Returns whether the error is there already. Without this check an error in a
 * node that `repeat:` copies would appear once for each copy, and one that all
 * points have once for each point. */
static bool is_known(const TopoErrors *errors, TopoPlace place,
                     const char *text)
{
    unsigned i;

    for (i = 0; i < errors->entries->len; i++) {
        const Entry *entry = g_ptr_array_index(errors->entries, i);

        if (compare_places(&entry->place, &place) == 0 &&
            strcmp(entry->text, text) == 0) {
            return true;
        }
    }
    return false;
}

/* Cuts a message at TEXT_MAX bytes: it may quote a very long text. */
static void shorten(char *text)
{
    char *end;

    if (strlen(text) > TEXT_MAX) {
        end = g_utf8_find_prev_char(text, text + TEXT_MAX - strlen("..."));
        strcpy(end ? end : text, "...");
    }
}

static void add(TopoErrors *errors, TopoPlace place, const char *label,
                const char *text)
{
    Entry *entry;

    if (topo_errors_is_full(errors)) {
        errors->count++;
        return;
    }
    if (is_known(errors, place, text)) {
        return;
    }
    errors->count++;
    entry = g_new0(Entry, 1);
    entry->place = place;
    entry->label = g_strdup(label);
    entry->text = g_strdup(text);
    g_ptr_array_add(errors->entries, entry);
}

void topo_errors_add(TopoErrors *errors, TopoPlace place, const char *format,
                     ...)
{
    g_autofree char *text = NULL;
    va_list args;

    if (topo_errors_is_full(errors)) {
        errors->count++;
        return;
    }
    va_start(args, format);
    text = g_strdup_vprintf(format, args);
    va_end(args);
    shorten(text);
    add(errors, place, NULL, text);
}

void topo_errors_add_all(TopoErrors *errors, const TopoErrors *others,
                         const char *label)
{
    unsigned i;

    for (i = 0; i < others->entries->len; i++) {
        const Entry *entry = g_ptr_array_index(others->entries, i);

        add(errors, entry->place, *label != '\0' ? label : NULL, entry->text);
    }
    errors->count += others->count - others->entries->len;
}

unsigned topo_errors_count(const TopoErrors *errors)
{
    return errors->count;
}

bool topo_errors_is_full(const TopoErrors *errors)
{
    return errors->entries->len >= TOPO_ERRORS_MAX;
}

char *topo_errors_to_string(const TopoErrors *errors)
{
    g_autoptr(GPtrArray) sorted = g_ptr_array_new();
    GString *out = g_string_new(NULL);
    unsigned i;

    for (i = 0; i < errors->entries->len; i++) {
        g_ptr_array_add(sorted, g_ptr_array_index(errors->entries, i));
    }
    /* g_ptr_array_sort() is stable: entries of one place keep their order. */
    g_ptr_array_sort(sorted, compare_entries);
    for (i = 0; i < sorted->len; i++) {
        const Entry *entry = g_ptr_array_index(sorted, i);
        g_autofree char *place = topo_place_to_string(entry->place);

        g_string_append_printf(out, "%s: ", place);
        if (entry->label) {
            g_string_append_printf(out, "at point \"%s\": ", entry->label);
        }
        g_string_append_printf(out, "%s\n", entry->text);
    }
    if (errors->count > sorted->len) {
        g_string_append_printf(out, "and %u more errors\n",
                               errors->count - sorted->len);
    }
    return g_string_free(out, FALSE);
}

GError *topo_errors_to_gerror(const TopoErrors *errors)
{
    g_autofree char *text = NULL;

    if (errors->count == 0) {
        return NULL;
    }
    text = topo_errors_to_string(errors);
    g_strchomp(text);
    return g_error_new_literal(TOPO_ERROR, TOPO_ERROR_DESCRIPTION, text);
}
