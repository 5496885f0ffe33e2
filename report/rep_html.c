/* SPDX-License-Identifier: MIT */
#include "rep_html_priv.h"

#include "table_text.h"

static const char table_head[] = "<div class=\"scroll\"><table><thead><tr>";
static const char table_body[] = "</tr></thead><tbody>\n";

void rep_html_add_text(GString *out, const char *text)
{
    g_autofree char *valid = table_text_from(text, -1, true);
    g_autofree char *escaped = g_markup_escape_text(valid, -1);

    g_string_append(out, escaped);
}

void rep_html_add_element(GString *out, const char *tag, const char *class,
                          const char *text)
{
    g_string_append_printf(out, "<%s", tag);
    if (class) {
        g_string_append_printf(out, " class=\"%s\"", class);
    }
    g_string_append_c(out, '>');
    rep_html_add_text(out, text);
    g_string_append_printf(out, "</%s>", tag);
}

void rep_html_add_number(GString *out, unsigned number)
{
    g_autofree char *text = g_strdup_printf("%u", number);

    rep_html_add_element(out, "td", "n", text);
}

void rep_html_add_percent(GString *out, int64_t mpct, bool has_sign)
{
    g_autofree char *plain = mpct != TABLE_NONE
                                 ? table_number_print((ABS(mpct) + 5) / 10, 2)
                                 : g_strdup("");
    const char *sign = "";

    if (mpct != TABLE_NONE && has_sign && ABS(mpct) >= 5) {
        sign = mpct < 0 ? "\342\210\222" : "+";
    }
    g_string_append_printf(out, "<td class=\"n\">%s%s</td>", sign, plain);
}

void rep_html_begin_table(GString *out, const char *const *columns)
{
    g_string_append(out, table_head);
    for (; *columns; columns++) {
        bool is_number = **columns == '#';

        rep_html_add_element(out, "th", is_number ? "n" : NULL,
                             *columns + is_number);
    }
    g_string_append(out, table_body);
}

void rep_html_end_table(GString *out)
{
    g_string_append(out, "</tbody></table></div>\n");
}

void rep_html_begin_details(GString *out, const char *summary)
{
    g_string_append(out, "<details>");
    rep_html_add_element(out, "summary", NULL, summary);
    g_string_append_c(out, '\n');
}

static const char *column_class(const Table *table, unsigned column)
{
    return table_column_type(table, column) != TABLE_TEXT ? "n" : NULL;
}

void rep_html_begin_table_like(GString *out, const Table *table)
{
    unsigned i;

    g_string_append(out, table_head);
    for (i = 0; i < table_n_columns(table); i++) {
        rep_html_add_element(out, "th", column_class(table, i),
                             table_column_name(table, i));
    }
    g_string_append(out, table_body);
}

void rep_html_add_table(GString *out, const Table *table)
{
    unsigned row, i;

    rep_html_begin_table_like(out, table);
    for (row = 0; row < table_n_rows(table); row++) {
        g_string_append(out, "<tr>");
        for (i = 0; i < table_n_columns(table); i++) {
            g_autofree char *cell = table_dup_cell(table, row, i);

            rep_html_add_element(out, "td", column_class(table, i), cell);
        }
        g_string_append(out, "</tr>\n");
    }
    rep_html_end_table(out);
}
