/* SPDX-License-Identifier: MIT */
#include "table_text.h"

#include <string.h>

#define REPLACEMENT 0xfffd

static bool is_harmless(gunichar letter, bool has_lines)
{
    switch (g_unichar_type(letter)) {
    case G_UNICODE_CONTROL:
        return letter == '\t' || (letter == '\n' && has_lines);
    case G_UNICODE_FORMAT:
    case G_UNICODE_LINE_SEPARATOR:
    case G_UNICODE_PARAGRAPH_SEPARATOR:
    case G_UNICODE_SURROGATE:
        return false;
    default:
        return letter != 0xfffe && letter != 0xffff;
    }
}

char *table_text_from(const void *bytes, gssize length, bool has_lines)
{
    const char *at = bytes;
    const char *end = at + (length < 0 ? strlen(at) : (size_t)length);
    GString *text = g_string_new(NULL);

    while (at < end) {
        gunichar letter = g_utf8_get_char_validated(at, end - at);
        /* The results for errors are (gunichar)-1 and -2. A 0 inside is read as
         * -2 by some versions of GLib, and as 0 by others. */
        bool is_letter = letter < 0x110000 && letter != 0;

        g_string_append_unichar(
            text,
            is_letter && is_harmless(letter, has_lines) ? letter : REPLACEMENT);
        at = is_letter ? g_utf8_next_char(at) : at + 1;
    }
    return g_string_free(text, FALSE);
}
