/* SPDX-License-Identifier: MIT */
/*
 * Invariant: each rule of arbitration that docs/reference/description.md names
 * is one of its own in the model, and a word that has none is no default.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include <check.h>
#include <glib.h>

#include "exp_params_priv.h"
#include "../suite.h"

#define ROW "\n| `arbitration` | word | "

START_TEST(each_word_is_a_rule)
{
    g_autofree char *text = NULL;
    g_auto(GStrv) cells = NULL, words = NULL;
    unsigned seen = 0, count;
    const char *row;

    ck_assert(g_file_get_contents(DESCRIPTION_PAGE, &text, NULL, NULL));
    row = strstr(text, ROW);
    ck_assert_ptr_nonnull(row);
    cells = g_strsplit(row + strlen(ROW), " | ", 2);
    words = g_strsplit(cells[0], ", ", 0);
    count = g_strv_length(words);
    ck_assert_uint_ge(count, 4);
    for (unsigned i = 0; i < count; i++) {
        seen |= 1u << exp_params_arbitration(words[i]);
    }
    ck_assert_uint_eq(seen, (1u << count) - 1);
}
END_TEST

START_TEST(a_strange_word_is_no_default)
{
    /* GLib's word of its end is no TAP of this program. */
    ck_assert_ptr_nonnull(freopen("/dev/null", "w", stdout));
    exp_params_arbitration("fixed");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("exp_params");
    TCase *tcase = tcase_create("exp_params");

    tcase_add_test(tcase, each_word_is_a_rule);
    tcase_add_test_raise_signal(tcase, a_strange_word_is_no_default, SIGABRT);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
