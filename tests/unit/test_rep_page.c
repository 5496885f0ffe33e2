/* SPDX-License-Identifier: MIT */
/*
 * Invariants, for any texts and drawings: a page loads nothing from outside and
 * runs no script. The same results give the same page. It is well formed, has
 * each id once, and no reference to a missing id.
 */
#include <stdlib.h>
#include <string.h>

#include <check.h>

#include "rep_page.h"
#include "rep_svg_priv.h"
#include "../suite.h"

#include "../scenario/paper_files.h"

static const char drawing[] =
    "<?xml version=\"1.0\"?>\n"
    "<!DOCTYPE svg PUBLIC \"x\" \"http://x/svg.dtd\">\n"
    "<svg width=\"90\" height=\"40\" xmlns=\"http://www.w3.org/2000/svg\">\n"
    "<script>evil()</script><g><path id='p' d='M0,0'/></g>\n"
    "<text>a &lt; b</text></svg>\n";

START_TEST(a_drawing_becomes_the_source_of_an_image)
{
    static const char before[] = "data:image/svg+xml;base64,";
    g_autofree char *uri =
        rep_svg_to_uri(drawing, strlen(drawing), "d.svg", NULL);
    g_autofree guchar *bytes = NULL;
    gsize length;

    ck_assert_ptr_nonnull(uri);
    ck_assert(g_str_has_prefix(uri, before));
    ck_assert_uint_eq(strspn(uri + strlen(before),
                             "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                             "abcdefghijklmnopqrstuvwxyz0123456789+/="),
                      strlen(uri + strlen(before)));
    bytes = g_base64_decode(uri + strlen(before), &length);
    ck_assert_mem_eq(bytes, drawing, MAX(length, strlen(drawing)));
}
END_TEST

static const char *const no_drawings[] = {"", "<html></html>", "<svg>",
                                          "<svg></svg><svg>", "PNG"};

START_TEST(anything_but_a_drawing_is_refused)
{
    const char *text = no_drawings[_i];
    g_autoptr(GError) error = NULL;

    ck_assert_ptr_null(rep_svg_to_uri(text, strlen(text), "d.svg", &error));
    ck_assert_ptr_nonnull(error);
    ck_assert_msg(g_str_has_prefix(error->message, "d.svg: no SVG: "), "%s",
                  error->message);
}
END_TEST

static char *make_page(void)
{
    g_auto(GStrv) files = paper_list(TRUE);
    g_autoptr(RepReport) report =
        rep_report_read("results/baseline", files, NULL);
    char *page;

    ck_assert_ptr_nonnull(report);
    page = rep_page(report, "A & <B>", NULL);
    ck_assert_ptr_nonnull(page);
    return page;
}

START_TEST(the_page_stands_alone)
{
    static const char *const never[] = {
        "<script", "<link",   "<iframe", "src=\"h",  "src=\"/", "@import",
        "url(",    "=\"http", "onload=", "onclick=", "=\"file"};
    g_autofree char *page = make_page();
    g_autofree char *again = make_page();
    g_autofree char *here = g_get_current_dir();
    unsigned i;

    ck_assert_str_eq(page, again);
    for (i = 0; i < G_N_ELEMENTS(never); i++) {
        ck_assert_msg(!strstr(page, never[i]), "%s", never[i]);
    }
    ck_assert_ptr_null(strstr(page, here));
    ck_assert_ptr_nonnull(strstr(page, "<h1>A &amp; &lt;B&gt;</h1>"));
    ck_assert_ptr_nonnull(strstr(page, "<section id=\"fig10\">"));
    ck_assert_ptr_nonnull(strstr(page, "7 (published 8)"));
}
END_TEST

/* Collects ids or references: the texts between each @before and the next
 * quote. With @is_once, all must differ. */
static GHashTable *collect(const char *page, const char *before, bool is_once)
{
    GHashTable *found =
        g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);

    while ((page = strstr(page, before))) {
        char *name;

        page += strlen(before);
        name = g_strndup(page, strcspn(page, "\""));
        ck_assert_msg(!is_once || !g_hash_table_contains(found, name), "%s",
                      name);
        g_hash_table_add(found, name);
    }
    return found;
}

START_TEST(references_lead_to_ids)
{
    g_autofree char *page = make_page();
    g_autoptr(GHashTable) ids = collect(page, " id=\"", true);
    g_autoptr(GHashTable) references = collect(page, " href=\"#", false);
    GHashTableIter iter;
    void *name;

    ck_assert_uint_ge(g_hash_table_size(references), 5);
    g_hash_table_iter_init(&iter, references);
    while (g_hash_table_iter_next(&iter, &name, NULL)) {
        ck_assert_msg(g_hash_table_contains(ids, name), "%s", (char *)name);
    }
}
END_TEST

/* The page is valid XML, except for the elements that HTML never closes. */
START_TEST(tags_are_closed)
{
    g_autofree char *page = make_page();
    const char *body = strstr(page, "<body>");
    char *end = strstr(page, "</html>");
    const GMarkupParser parser = {0};
    g_autoptr(GMarkupParseContext) context =
        g_markup_parse_context_new(&parser, 0, NULL, NULL);
    g_autoptr(GError) error = NULL;

    ck_assert(body && end);
    *end = '\0';
    ck_assert_msg(g_markup_parse_context_parse(context, body, -1, &error) &&
                      g_markup_parse_context_end_parse(context, &error),
                  "%s", error->message);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("page");
    TCase *tcase = tcase_create("page");

    paper_go_to_source();
    tcase_add_test(tcase, a_drawing_becomes_the_source_of_an_image);
    tcase_add_loop_test(tcase, anything_but_a_drawing_is_refused, 0,
                        G_N_ELEMENTS(no_drawings));
    tcase_add_test(tcase, the_page_stands_alone);
    tcase_add_test(tcase, references_lead_to_ids);
    tcase_add_test(tcase, tags_are_closed);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
