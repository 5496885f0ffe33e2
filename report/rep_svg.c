/* SPDX-License-Identifier: MIT */
#include "rep_svg.h"

#include <stdbool.h>
#include <string.h>

#include "table_file.h"

#define SVG_BYTES_MAX (32u << 20)

typedef struct Inliner {
    GString *out;
    const char *prefix;
    const char *title;
    unsigned depth;
    unsigned dropped; /* depth of the element that is left out, 0: none */
} Inliner;

/* What may stay. There is no "title" or "a" among them: the drawing gets a name
 * of its own, and a link would lead out of the page. */
static const char *const elements[] = {
    "circle",         "clipPath", "defs",    "ellipse",  "feBlend",
    "feComposite",    "feFlood",  "feMerge", "feOffset", "feMergeNode",
    "filter",         "g",        "line",    "marker",   "mask",
    "linearGradient", "path",     "pattern", "polygon",  "polyline",
    "radialGradient", "rect",     "stop",    "svg",      "symbol",
    "text",           "textPath", "tspan",   "use",
};

static bool is_known(const char *element)
{
    unsigned i;

    for (i = 0; i < G_N_ELEMENTS(elements); i++) {
        if (strcmp(elements[i], element) == 0) {
            return true;
        }
    }
    return false;
}

static void append_attribute(GString *out, const char *name, const char *value)
{
    g_autofree char *escaped = g_markup_escape_text(value, -1);

    g_string_append_printf(out, " %s=\"%s\"", name, escaped);
}

/* The value with the prefix in each "url(#ID)"; NULL if another url is in
 * it. */
static char *rename_urls(const Inliner *inliner, const char *value)
{
    g_autoptr(GString) out = g_string_new(NULL);
    const char *url;

    while ((url = strstr(value, "url(")) != NULL) {
        url += strlen("url(");
        if (*url != '#') {
            return NULL;
        }
        g_string_append_len(out, value, url - value);
        g_string_append_printf(out, "#%s-", inliner->prefix);
        value = url + 1;
    }
    g_string_append(out, value);
    return g_string_free(g_steal_pointer(&out), FALSE);
}

static void add_attribute(Inliner *inliner, const char *name, const char *value)
{
    if (strcmp(name, "id") == 0) {
        g_autofree char *id = g_strconcat(inliner->prefix, "-", value, NULL);

        append_attribute(inliner->out, "id", id);
    } else if (strcmp(name, "xlink:href") == 0 || strcmp(name, "href") == 0) {
        g_autofree char *id =
            g_strconcat("#", inliner->prefix, "-", value + 1, NULL);

        if (*value == '#') {
            append_attribute(inliner->out, "href", id);
        }
    } else if (!g_str_has_prefix(name, "on") &&
               (strchr(name, ':') == NULL || strcmp(name, "xml:space") == 0) &&
               strcmp(name, "xmlns") != 0 && strcmp(name, "style") != 0) {
        g_autofree char *renamed = rename_urls(inliner, value);

        if (renamed != NULL) {
            append_attribute(inliner->out, name, renamed);
        }
    }
}

/* The outermost tag: with a width that the page may lessen, and a name. */
static void start_svg(Inliner *inliner, const char **names, const char **values)
{
    const char *width = NULL;
    const char *height = NULL;
    const char *box = NULL;
    g_autofree char *made = NULL;
    unsigned i;

    for (i = 0; names[i] != NULL; i++) {
        width = strcmp(names[i], "width") == 0 ? values[i] : width;
        height = strcmp(names[i], "height") == 0 ? values[i] : height;
        box = strcmp(names[i], "viewBox") == 0 ? values[i] : box;
    }
    if (box == NULL && width != NULL && height != NULL) {
        box = made = g_strdup_printf("0 0 %s %s", width, height);
    }
    g_string_append(inliner->out, "<svg role=\"img\"");
    append_attribute(inliner->out, "aria-label", inliner->title);
    if (width != NULL) {
        append_attribute(inliner->out, "width", width);
    }
    if (box != NULL) {
        append_attribute(inliner->out, "viewBox", box);
    }
    g_string_append_c(inliner->out, '>');
}

static void start_element(GMarkupParseContext *context, const char *element,
                          const char **names, const char **values, void *data,
                          GError **error)
{
    Inliner *inliner = data;
    unsigned i;

    inliner->depth++;
    if (inliner->dropped != 0) {
        return;
    }
    if (inliner->depth == 1) {
        if (strcmp(element, "svg") != 0) {
            g_set_error(error, G_MARKUP_ERROR, G_MARKUP_ERROR_UNKNOWN_ELEMENT,
                        "the outermost element is <%s>, not <svg>", element);
            return;
        }
        start_svg(inliner, names, values);
        return;
    }
    if (!is_known(element)) {
        inliner->dropped = inliner->depth;
        return;
    }
    g_string_append_printf(inliner->out, "<%s", element);
    for (i = 0; names[i] != NULL; i++) {
        add_attribute(inliner, names[i], values[i]);
    }
    g_string_append_c(inliner->out, '>');
}

static void end_element(GMarkupParseContext *context, const char *element,
                        void *data, GError **error)
{
    Inliner *inliner = data;

    if (inliner->dropped == 0) {
        g_string_append_printf(inliner->out, "</%s>", element);
    } else if (inliner->dropped == inliner->depth) {
        inliner->dropped = 0;
    }
    inliner->depth--;
}

static void add_text(GMarkupParseContext *context, const char *text,
                     gsize length, void *data, GError **error)
{
    Inliner *inliner = data;

    if (inliner->dropped == 0 && inliner->depth > 0) {
        g_autofree char *escaped = g_markup_escape_text(text, (gssize)length);

        g_string_append(inliner->out, escaped);
    }
}

char *rep_svg_inline(const char *data, gsize length, const char *name,
                     const char *prefix, const char *title, GError **error)
{
    static const GMarkupParser parser = {start_element, end_element, add_text,
                                         NULL, NULL};
    Inliner inliner = {.prefix = prefix, .title = title};
    g_autoptr(GString) out = g_string_new(NULL);
    g_autoptr(GMarkupParseContext) context = NULL;
    g_autoptr(GError) cause = NULL;

    if (length > SVG_BYTES_MAX) {
        g_set_error(error, TABLE_ERROR, TABLE_ERROR_SYNTAX,
                    "%s: more than %u bytes", name, SVG_BYTES_MAX);
        return NULL;
    }
    inliner.out = out;
    context = g_markup_parse_context_new(&parser, G_MARKUP_TREAT_CDATA_AS_TEXT,
                                         &inliner, NULL);
    if (!g_markup_parse_context_parse(context, data, (gssize)length, &cause) ||
        !g_markup_parse_context_end_parse(context, &cause)) {
        g_set_error(error, TABLE_ERROR, TABLE_ERROR_SYNTAX, "%s: no SVG: %s",
                    name, cause->message);
        return NULL;
    }
    return g_string_free(g_steal_pointer(&out), FALSE);
}
