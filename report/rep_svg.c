/* SPDX-License-Identifier: MIT */
#include "rep_svg_priv.h"

#include <string.h>

#include "table_file.h"

#define SVG_BYTES_MAX (32u << 20)

/* Refuses an outermost element that is not <svg>. */
static void start_element(GMarkupParseContext *context, const char *element,
                          const char **names, const char **values, void *data,
                          GError **error)
{
    if (!g_markup_parse_context_get_element_stack(context)->next &&
        strcmp(element, "svg") != 0) {
        g_set_error(error, G_MARKUP_ERROR, G_MARKUP_ERROR_UNKNOWN_ELEMENT,
                    "the outermost element is <%s>, not <svg>", element);
    }
}

char *rep_svg_to_uri(const char *data, gsize length, const char *name,
                     GError **error)
{
    static const GMarkupParser parser = {.start_element = start_element};
    g_autoptr(GMarkupParseContext) context =
        g_markup_parse_context_new(&parser, 0, NULL, NULL);
    g_autoptr(GError) cause = NULL;
    g_autofree char *base64 = NULL;

    if (length > SVG_BYTES_MAX) {
        g_set_error(error, TABLE_ERROR, TABLE_ERROR_SYNTAX,
                    "%s: more than %u bytes", name, SVG_BYTES_MAX);
        return NULL;
    }
    if (!g_markup_parse_context_parse(context, data, (gssize)length, &cause) ||
        !g_markup_parse_context_end_parse(context, &cause)) {
        g_set_error(error, TABLE_ERROR, TABLE_ERROR_SYNTAX, "%s: no SVG: %s",
                    name, cause->message);
        return NULL;
    }
    base64 = g_base64_encode((const guchar *)data, length);
    return g_strconcat("data:image/svg+xml;base64,", base64, NULL);
}
