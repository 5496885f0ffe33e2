/* SPDX-License-Identifier: MIT */
#include "trc_view_priv.h"

#include <string.h>

/* The names of a file's directions, one for each interface, made once */
typedef struct Directions {
    const TrcFile *file;
    char **names;
} Directions;

struct TrcView {
    const TrcFilter *filter;
    TrcMerge *merge;
    Directions *directions; /* one for each file */
    unsigned n_files;
    int width; /* of the longest direction, in characters */
};

void trc_filter_init(TrcFilter *filter)
{
    *filter = (TrcFilter){.to_ns = INT64_MAX};
    for (unsigned i = 0; i < TRC_KINDS; i++) {
        filter->wants[i] = i != TRC_ARRIVAL;
    }
}

void trc_filter_clear(TrcFilter *filter)
{
    g_clear_pointer(&filter->pattern, g_pattern_spec_free);
}

bool trc_filter_set_kinds(TrcFilter *filter, const char *names, GError **error)
{
    g_auto(GStrv) words = g_strsplit(names, ",", -1);

    memset(filter->wants, 0, sizeof(filter->wants));
    for (unsigned i = 0; words[i]; i++) {
        TrcKind kind;

        if (!trc_kind_parse(words[i], &kind)) {
            g_set_error(error, TRC_ERROR, TRC_ERROR_FORMAT,
                        "there is no kind \"%s\"", words[i]);
            return false;
        }
        filter->wants[kind] = true;
        for (unsigned j = TRC_MRD; kind == TRC_TLP && j < TRC_TLP; j++) {
            filter->wants[j] = true;
        }
    }
    return true;
}

void trc_filter_set_link(TrcFilter *filter, const char *name)
{
    g_clear_pointer(&filter->pattern, g_pattern_spec_free);
    filter->pattern = g_pattern_spec_new(name);
}

const TrcInterface *trc_view_sender(const TrcCrossing *crossing)
{
    return trc_file_interface(crossing->file, crossing->record.interface);
}

bool trc_view_is_unanswered(const TrcCrossing *crossing)
{
    return crossing->record.kind == TRC_MRD && !crossing->is_answered &&
           trc_file_interface(crossing->file, trc_view_sender(crossing)->peer)
                   ->packets > 0;
}

/* Returns true if @pattern matches @name, or the part of @name before or behind
 * the colon. */
static bool name_matches(GPatternSpec *pattern, const char *name)
{
    const char *colon = strchr(name, ':');
    g_autofree char *host = NULL;

    if (g_pattern_spec_match_string(pattern, name)) {
        return true;
    }
    if (!colon) {
        return false;
    }
    host = g_strndup(name, (size_t)(colon - name));
    return g_pattern_spec_match_string(pattern, host) ||
           g_pattern_spec_match_string(pattern, colon + 1);
}

static bool is_wanted(const TrcFilter *filter, const TrcCrossing *crossing,
                      int64_t since_ns)
{
    const TrcInterface *sender = trc_view_sender(crossing);

    return filter->wants[crossing->record.kind] &&
           since_ns >= filter->from_ns && since_ns <= filter->to_ns &&
           (!filter->pattern || name_matches(filter->pattern, sender->name) ||
            name_matches(
                filter->pattern,
                trc_file_interface(crossing->file, sender->peer)->name));
}

/* "LINK FROM>TO", or "END>END" if the ends have no link in common. */
static char *direction_of(const TrcFile *file, const TrcInterface *sender)
{
    const char *from = sender->name;
    const char *to = trc_file_interface(file, sender->peer)->name;
    const char *from_link = strchr(from, ':');
    const char *to_link = strchr(to, ':');

    if (from_link && to_link && strcmp(from_link, to_link) == 0) {
        return g_strdup_printf("%s %.*s>%.*s", from_link + 1,
                               (int)(from_link - from), from,
                               (int)(to_link - to), to);
    }
    return g_strdup_printf("%s>%s", from, to);
}

TrcView *trc_view_new(TrcFile *const *files, unsigned n_files,
                      const TrcFilter *filter)
{
    TrcView *view = g_new0(TrcView, 1);

    view->filter = filter;
    view->merge = trc_merge_new(files, n_files);
    view->directions = g_new0(Directions, n_files);
    view->n_files = n_files;
    for (unsigned i = 0; i < n_files; i++) {
        unsigned count = trc_file_n_interfaces(files[i]);

        view->directions[i].file = files[i];
        view->directions[i].names = g_new0(char *, count + 1);
        for (unsigned j = 0; j < count; j++) {
            char *name =
                direction_of(files[i], trc_file_interface(files[i], j));

            view->directions[i].names[j] = name;
            view->width = MAX(view->width, (int)g_utf8_strlen(name, -1));
        }
    }
    return view;
}

void trc_view_free(TrcView *view)
{
    if (!view) {
        return;
    }
    for (unsigned i = 0; i < view->n_files; i++) {
        g_strfreev(view->directions[i].names);
    }
    g_free(view->directions);
    trc_merge_free(view->merge);
    g_free(view);
}

const char *trc_view_direction(const TrcView *view, const TrcCrossing *crossing)
{
    unsigned i = 0;

    while (view->directions[i].file != crossing->file) {
        i++;
    }
    return view->directions[i].names[crossing->record.interface];
}

int trc_view_direction_width(const TrcView *view)
{
    return view->width;
}

void trc_view_each(const TrcView *view, TrcViewFn take, void *data)
{
    size_t count = trc_merge_n_crossings(view->merge);
    int64_t first = 0;

    for (size_t i = 0; i < count; i++) {
        TrcCrossing crossing;

        trc_merge_crossing(view->merge, i, &crossing);
        if (i == 0) {
            first = crossing.record.time_ns;
        }
        if (is_wanted(view->filter, &crossing,
                      crossing.record.time_ns - first)) {
            take(view, &crossing, crossing.record.time_ns - first, data);
        }
    }
}
