/* SPDX-License-Identifier: MIT */
/* Invariant: exports have the form of their tools, and no number is lost. */
#include <string.h>

#include <check.h>
#include <glib.h>

#include "program.h"
#include "../suite.h"

static const struct {
    const char *words;
    int status;
    const char *says;
} exports[] = {
    {"export -f github-bigger r.csv", 0,
     "[\n {\"name\": \"drift: 1: bw_GBps\", \"unit\": \"GB/s\", \"value\": "
     "9.9600},\n {\"name\": \"drift: 2: bw_GBps\", \"unit\": \"GB/s\", "
     "\"value\": 5.0000}\n]\n"},
    {"export -f github-smaller r.csv", 0,
     "[\n {\"name\": \"drift: 1: delay_ns\", \"unit\": \"ns\", \"value\": "
     "100.0},\n"},
    {"export -f bencher r.csv", 0,
     "{\n \"drift: 1\": {\n  \"bw_GBps\": {\"value\": 9.9600},\n  \"delay_ns\": "
     "{\"value\": 100.0},\n  \"hops\": {\"value\": 7}\n },\n \"drift: 2\": {"},
    {"export -f junit r.csv", 0,
     "<testcase classname=\"drift\" name=\"1: bw_GBps\"><system-out>9.9600 "
     "GB/s</system-out></testcase>"},
    {"export -f junit part.csv", 0,
     "tests=\"2\" failures=\"1\">\n<testcase classname=\"part\" name=\"a: "
     "v_ns\"><system-out>1 ns</system-out></testcase>\n<testcase "
     "classname=\"part\" name=\"b, x=&lt;2\"><failure message=\"the point "
     "failed\"/></testcase>"},
    {"export -f other r.csv", 2, "there is no format \"other\""},
    {"export r.csv", 2, "give a --format"},
    {"export -f bencher r.csv r.csv", 2,
     "r.csv: bw_GBps of \"drift\" at \"1\" is there twice"},
    {"export -f bencher rows.csv", 2,
     "rows.csv: size of \"rows\" at \"\" is there twice"},
    {"export -f bencher empty.csv", 2, "empty.csv has no numbers"},
    {"export -f bencher gone.csv", 2, "cannot read gone.csv"},
};

START_TEST(exports_have_the_form_of_their_tools)
{
    program_put("r.csv", "# scenario: x/drift.yaml\n# key: size\n"
                         "# better: hops same\nsize,bw_GBps,delay_ns,hops\n"
                         "1,9.9600,100.0,7\n2,5.0000,80.0,9\n");
    program_put("rows.csv", "size,bw_GBps\n1,2.0\n2,3.0\n");
    program_put("empty.csv", "size,bw_GBps\n");
    program_put("part.csv", "# failed: b, x=<2\nname,v_ns\na,1\n");
    ck_assert_int_eq(program_run(exports[_i].words), exports[_i].status);
    ck_assert_msg(strstr(exports[_i].status ? program_err : program_out,
                         exports[_i].says),
                  "%s%s", program_out, program_err);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cmd_export");
    TCase *tcase = tcase_create("export");

    tcase_add_checked_fixture(tcase, program_setup, program_teardown);
    tcase_add_loop_test(tcase, exports_have_the_form_of_their_tools, 0,
                        G_N_ELEMENTS(exports));
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
