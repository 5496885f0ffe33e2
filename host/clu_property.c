/* SPDX-License-Identifier: MIT */
#include "clu_property.h"

#include <string.h>

char *clu_property_escape(const char *text)
{
    GString *out = g_string_new(text);

    g_string_replace(out, ",", ",,", 0);
    return g_string_free(out, FALSE);
}

void clu_property_append(GString *out, const char *name, const char *value)
{
    g_autofree char *text = clu_property_escape(value);

    g_string_append_printf(out, ",%s=%s", name, text);
}

bool clu_property_parse_size(const char *text, uint64_t *ret_value)
{
    static const char suffixes[] = "BKMGT";
    char *end;
    uint64_t value = g_ascii_strtoull(text, &end, 0);
    const char *suffix;

    if (end == text) {
        return false;
    }
    if (*end != '\0') {
        suffix = strchr(suffixes, g_ascii_toupper(*end));
        if (!suffix || end[1] != '\0') {
            return false;
        }
        value <<= 10 * (suffix - suffixes);
    }
    *ret_value = value;
    return true;
}

bool clu_property_is_same_size(const char *a, const char *b)
{
    uint64_t x, y;

    if (clu_property_parse_size(a, &x) && clu_property_parse_size(b, &y)) {
        return x == y;
    }
    return strcmp(a, b) == 0;
}
