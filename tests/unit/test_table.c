/* SPDX-License-Identifier: MIT */
/*
 * Invariants: a table written as CSV and read again is unchanged. Numbers are
 * printed exactly. Any file that is not a table is refused with its name and
 * line. No half-written file stays, and no file replaces a device or a pipe.
 * Output for a terminal has aligned columns
 * and no control characters. Any bytes become text that is safe to show.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <check.h>
#include <glib.h>
#include <glib/gstdio.h>

#include "table.h"
#include "../suite.h"
#include "table_csv.h"
#include "table_file.h"
#include "table_format.h"
#include "table_pivot.h"
#include "table_text.h"

static const struct {
    int64_t value;
    unsigned digits;
    const char *text;
} numbers[] = {
    {0, 0, "0"},
    {0, 2, "0.00"},
    {5, 2, "0.05"},
    {-5, 2, "-0.05"},
    {-105, 2, "-1.05"},
    {123456, 3, "123.456"},
    {INT64_MAX, 0, "9223372036854775807"},
    {-INT64_MAX, 9, "-9223372036.854775807"},
    {1, 9, "0.000000001"},
};

START_TEST(numbers_print_and_parse_exactly)
{
    g_autofree char *text =
        table_number_print(numbers[_i].value, numbers[_i].digits);
    int64_t value = -1;
    unsigned digits = 99;

    ck_assert_str_eq(text, numbers[_i].text);
    ck_assert(table_number_parse(numbers[_i].text, &value, &digits));
    ck_assert_int_eq(value, numbers[_i].value);
    ck_assert_uint_eq(digits, numbers[_i].digits);
}
END_TEST

static const char *const no_numbers[] = {"",
                                         "-",
                                         "+1",
                                         ".5",
                                         "5.",
                                         "1.2.3",
                                         "1e5",
                                         " 1",
                                         "1 ",
                                         "007",
                                         "-00",
                                         "nan",
                                         "0x10",
                                         "1,5",
                                         "--1",
                                         "9223372036854775808",
                                         "inf",
                                         "1.-5",
                                         "٣",
                                         "1_0",
                                         "1.1234567890"};

START_TEST(other_text_is_no_number)
{
    int64_t value = 42;
    unsigned digits = 42;

    ck_assert_msg(!table_number_parse(no_numbers[_i], &value, &digits),
                  "\"%s\"", no_numbers[_i]);
    ck_assert_int_eq(value, 42);
    ck_assert_uint_eq(digits, 42);
}
END_TEST

START_TEST(absent_number_prints_empty)
{
    g_autofree char *text = table_number_print(TABLE_NONE, 3);

    ck_assert_str_eq(text, "");
}
END_TEST

static Table *parse(const char *text, GError **error)
{
    return table_parse(text, strlen(text), "t.csv", error);
}

START_TEST(csv_is_as_rfc_4180_says)
{
    g_autoptr(Table) table = table_new();
    g_autofree char *csv = NULL;

    table_add_origin(table, "0.1.0", "a/b.yaml", "00ff", 7);
    table_add_head(table, "tolerance", "t_us\n1%");
    table_add_column(table, "name", TABLE_TEXT, 0);
    table_add_column(table, "size, bytes", TABLE_INTEGER, 0);
    table_add_column(table, "t_us", TABLE_DECIMAL, 2);
    table_add_row(table);
    table_set_text(table, 0, 0, "a \"b\", c\nd");
    table_set_number(table, 0, 1, -3);
    table_set_number(table, 0, 2, 150);
    table_add_row(table);
    table_set_text(table, 1, 0, "#5");
    csv = table_to_csv(table);
    ck_assert_str_eq(csv, "# farside 0.1.0\n"
                          "# scenario: a/b.yaml\n"
                          "# hash: 00ff\n"
                          "# seed: 7\n"
                          "# tolerance: t_us 1%\n"
                          "name,\"size, bytes\",t_us\n"
                          "\"a \"\"b\"\", c\nd\",-3,1.50\n"
                          "\"#5\",,\n");
}
END_TEST

/* A text of up to five characters, among them those that CSV must quote. */
static void random_text(GRand *random, char *ret_text)
{
    static const char *const parts[] = {"a",  "\"", ",", "\n", "#", " ", "ü",
                                        "漢", "'",  ".", "\t", "-", "1", "0"};
    unsigned n = (unsigned)g_rand_int_range(random, 0, 6);

    *ret_text = '\0';
    while (n-- > 0) {
        strcat(ret_text,
               parts[g_rand_int_range(random, 0, G_N_ELEMENTS(parts))]);
    }
}

static Table *random_table(GRand *random)
{
    Table *table = table_new();
    unsigned n_columns = (unsigned)g_rand_int_range(random, 1, 5);
    unsigned n_rows = (unsigned)g_rand_int_range(random, 0, 8);
    unsigned row;
    unsigned i;

    table_add_origin(table, "9", "s", "h", g_rand_int(random));
    for (i = 0; i < n_columns; i++) {
        g_autofree char *name = g_strdup_printf("c,%u", i);
        int type = g_rand_int_range(random, 0, 3);

        table_add_column(table, name, (TableType)type,
                         type == TABLE_DECIMAL
                             ? (unsigned)g_rand_int_range(random, 1, 10)
                             : 0);
    }
    for (row = 0; row < n_rows; row++) {
        table_add_row(table);
        for (i = 0; i < n_columns; i++) {
            char text[32];

            if (table_column_type(table, i) == TABLE_TEXT) {
                random_text(random, text);
                table_set_text(table, row, i, text);
            } else if (g_rand_int_range(random, 0, 5) > 0) {
                table_set_number(table, row, i, (int32_t)g_rand_int(random));
            }
        }
    }
    return table;
}

START_TEST(tables_survive_the_round_trip)
{
    g_autoptr(GRand) random = g_rand_new_with_seed(4);
    unsigned round;

    for (round = 0; round < 2000; round++) {
        g_autoptr(Table) table = random_table(random);
        g_autofree char *csv = table_to_csv(table);
        g_autoptr(GError) error = NULL;
        g_autoptr(Table) back = parse(csv, &error);
        g_autofree char *again = NULL;
        unsigned row;
        unsigned i;

        ck_assert_msg(back, "%s in:\n%s", error ? error->message : "", csv);
        again = table_to_csv(back);
        ck_assert_str_eq(again, csv);
        ck_assert_uint_eq(table_n_rows(back), table_n_rows(table));
        for (row = 0; row < table_n_rows(table); row++) {
            for (i = 0; i < table_n_columns(table); i++) {
                g_autofree char *a = table_dup_cell(table, row, i);
                g_autofree char *b = table_dup_cell(back, row, i);

                ck_assert_str_eq(a, b);
            }
        }
    }
}
END_TEST

START_TEST(types_follow_from_the_cells)
{
    g_autoptr(Table) table = parse("\xef\xbb\xbf# seed: 3\r\n#nothing\r\n"
                                   "int,dec,text,gaps,empty,id\r\n"
                                   "1,1.5,1,,,01\r\n"
                                   "\r\n"
                                   "# between rows\r\n"
                                   "-2,\"2\",x,7,,02\r\n",
                                   NULL);

    ck_assert_ptr_nonnull(table);
    ck_assert_str_eq(table_find_head(table, "seed"), "3");
    ck_assert_uint_eq(table_n_heads(table), 1);
    ck_assert_uint_eq(table_n_rows(table), 2);
    ck_assert_int_eq(table_column_type(table, 0), TABLE_INTEGER);
    ck_assert_int_eq(table_number(table, 1, 0), -2);
    ck_assert_int_eq(table_column_type(table, 1), TABLE_DECIMAL);
    ck_assert_uint_eq(table_column_digits(table, 1), 1);
    ck_assert_int_eq(table_number(table, 1, 1), 20);
    ck_assert_int_eq(table_column_type(table, 2), TABLE_TEXT);
    ck_assert_str_eq(table_text(table, 0, 2), "1");
    ck_assert_int_eq(table_column_type(table, 3), TABLE_INTEGER);
    ck_assert(table_number(table, 0, 3) == TABLE_NONE);
    ck_assert_int_eq(table_column_type(table, 4), TABLE_TEXT);
    ck_assert_int_eq(table_column_type(table, 5), TABLE_TEXT);
}
END_TEST

#define BYTES(text) text, sizeof(text) - 1

static const struct {
    const char *data;
    size_t length;
    const char *message;
} refused[] = {
    {BYTES(""), "t.csv:1: no header"},
    {BYTES("# only: comments\n"), "t.csv:2: no header"},
    {BYTES("a,b\n1,2\n3\n"),
     "t.csv:3: this line is no row of the table: 1 cell, but the header has 2"},
    {BYTES("a,b\n1,2,3\n"),
     "t.csv:2: this line is no row of the table: 3 cells, but the header has 2"},
    {BYTES("a,a\n"), "t.csv:1: two columns named \"a\""},
    {BYTES("# c\na,\n"), "t.csv:2: column 2 has no name"},
    {BYTES("a\n1\0\n"), "t.csv:2: a NUL byte"},
    {BYTES("a\n\xff\n"), "t.csv:2: text that is not UTF-8"},
    {BYTES("a\n\n\x1b[2J\n"), "t.csv:3: control character 0x1b"},
    {BYTES("a\n\"x\n\ny"), "t.csv:2: a quote that is opened here"},
    {BYTES("a\n\"x\"y\n"), "t.csv:2: text after a closing quote"},
    {BYTES("a\nx\"y\n"),
     "t.csv:2: this line is no CSV: a quote or carriage return"},
    {BYTES("a\nx\ry\n"),
     "t.csv:2: this line is no CSV: a quote or carriage return"},
    {BYTES("a\n1\n99999999999999999999\n"), "t.csv:3: column \"a\": 999999"},
    {BYTES("a\n0.1234567891\n"), "t.csv:2: column \"a\": 0.1234567891"},
    {BYTES("a\n0.5\n9223372036854775807\n"), "t.csv:3: column \"a\": 92233"},
};

START_TEST(bad_tables_are_refused_with_the_line)
{
    g_autoptr(GError) error = NULL;
    Table *table =
        table_parse(refused[_i].data, refused[_i].length, "t.csv", &error);

    ck_assert_ptr_null(table);
    ck_assert(g_error_matches(error, TABLE_ERROR, TABLE_ERROR_SYNTAX));
    ck_assert_msg(g_str_has_prefix(error->message, refused[_i].message),
                  "\"%s\" does not start \"%s\"", error->message,
                  refused[_i].message);
}
END_TEST

/* Parses @head followed by @times times @unit, and expects @complaint. */
static void expect_too_large(const char *head, const char *unit, unsigned times,
                             const char *complaint)
{
    g_autoptr(GString) text = g_string_new(head);
    g_autoptr(GError) error = NULL;

    while (times-- > 0) {
        g_string_append(text, unit);
    }
    ck_assert_ptr_null(table_parse(text->str, text->len, "t.csv", &error));
    ck_assert_msg(strstr(error->message, complaint), "%s", error->message);
}

START_TEST(sizes_are_bounded)
{
    expect_too_large("a", ",b", 256, "more than 256 columns");
    expect_too_large("a\n", "x", 65537, "a cell of 65537 bytes");
    expect_too_large("a,b\n", ",\n", (1u << 19), "more than 1048576 cells");
    expect_too_large("a\n", "12345678", 1u << 22, "more than 33554432 bytes");
}
END_TEST

START_TEST(files_that_cannot_be_read_are_errors)
{
    g_autoptr(GError) error = NULL;

    ck_assert_ptr_null(table_read("/nonexistent/x.csv", &error));
    ck_assert(g_error_matches(error, TABLE_ERROR, TABLE_ERROR_FILE));
    ck_assert_ptr_nonnull(strstr(error->message, "/nonexistent/x.csv"));
    g_clear_error(&error);
    ck_assert_ptr_null(table_read("/", &error));
    ck_assert(g_error_matches(error, TABLE_ERROR, TABLE_ERROR_FILE));
    g_clear_error(&error);
    /* An endless file. */
    ck_assert_ptr_null(table_read("/dev/zero", &error));
    ck_assert(g_error_matches(error, TABLE_ERROR, TABLE_ERROR_SYNTAX));
}
END_TEST

static unsigned count_entries(const char *path)
{
    g_autoptr(GDir) folder = g_dir_open(path, 0, NULL);
    unsigned n = 0;

    while (g_dir_read_name(folder)) {
        n++;
    }
    return n;
}

START_TEST(files_are_written_whole_or_not_at_all)
{
    g_autofree char *folder = g_dir_make_tmp("farside-XXXXXX", NULL);
    g_autofree char *path = g_build_filename(folder, "new", "t.csv", NULL);
    g_autofree char *parent = g_build_filename(folder, "new", NULL);
    g_autofree char *below = g_build_filename(path, "x.csv", NULL);
    g_autoptr(Table) table = parse("a,b\n1,x\n", NULL);
    g_autoptr(Table) back = NULL;
    g_autoptr(GError) error = NULL;
    g_autofree char *csv = NULL;

    ck_assert(table_write(table, path, NULL));
    ck_assert(table_write(table, path, NULL));
    ck_assert_uint_eq(count_entries(parent), 1);
    back = table_read(path, NULL);
    csv = table_to_csv(back);
    ck_assert_str_eq(csv, "a,b\n1,x\n");
    /* A file in place of a folder, and a folder in place of the file. */
    ck_assert(!table_write(table, below, &error));
    ck_assert(g_error_matches(error, TABLE_ERROR, TABLE_ERROR_FILE));
    g_clear_error(&error);
    ck_assert(!table_write(table, parent, &error));
    ck_assert(g_error_matches(error, TABLE_ERROR, TABLE_ERROR_FILE));
    ck_assert_uint_eq(count_entries(folder), 1);
    ck_assert_uint_eq(count_entries(parent), 1);
    g_unlink(path);
    g_rmdir(parent);
    g_rmdir(folder);
}
END_TEST

/* A limit of the size stands for a full disk. */
START_TEST(a_text_is_appended_whole_or_not_at_all)
{
    g_autofree char *path = NULL;
    g_autofree char *text = NULL;
    g_autoptr(GError) error = NULL;
    const struct rlimit limit = {10, RLIM_INFINITY};
    const struct rlimit none = {RLIM_INFINITY, RLIM_INFINITY};
    int fd = g_file_open_tmp(NULL, &path, NULL);
    bool is_first, is_second;

    ck_assert_int_ge(fd, 0);
    signal(SIGXFSZ, SIG_IGN);
    is_first = table_file_append(fd, path, "first\n", NULL);
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    is_second = table_file_append(fd, path, "second\n", &error);
    setrlimit(RLIMIT_FSIZE, &none);
    ck_assert(is_first);
    ck_assert(!is_second);
    ck_assert(g_error_matches(error, TABLE_ERROR, TABLE_ERROR_FILE));
    ck_assert(table_file_append(fd, path, "third\n", NULL));
    ck_assert(g_file_get_contents(path, &text, NULL, NULL));
    ck_assert_str_eq(text, "first\nthird\n");
    close(fd);
    unlink(path);
}
END_TEST

START_TEST(terminal_columns_are_aligned)
{
    /* Wide characters take two columns of the terminal, accents none. */
    g_autoptr(Table) table = parse("name,n,t_us,mixed\n"
                                   "漢字,5,1.50,1\n"
                                   "e\xcc\x81t\xcc\x81,123456,-10.25,x\n",
                                   NULL);
    g_autofree char *text = table_format(table);

    ck_assert_str_eq(text, "name       n    t_us  mixed\n"
                           "----  ------  ------  -----\n"
                           "漢字       5    1.50  1\n"
                           "e\xcc\x81t\xcc\x81    123456  -10.25  x\n");
}
END_TEST

START_TEST(terminal_gets_no_control_characters)
{
    /* U+009B starts an escape sequence on some terminals; U+202E reverses the
     * direction of writing. */
    g_autoptr(Table) table = parse("a\nx\xc2\x9b"
                                   "2Jy\n\"p\nq\"\n\xe2\x80\xae"
                                   "r\n",
                                   NULL);
    g_autofree char *text = table_format(table);

    ck_assert_str_eq(text, "a\n-----\nx?2Jy\np q\n?r\n");
}
END_TEST

START_TEST(pivot_makes_a_column_of_each_curve)
{
    g_autoptr(Table) table = parse("panel,curve,x,y\n"
                                   "p,a,1,0.5\n"
                                   "p,a,2,0.75\n"
                                   "q,a,2,1.5\n"
                                   "q,b,3,2.5\n",
                                   NULL);
    const unsigned curves[] = {0, 1};
    g_autoptr(Table) pivot = table_pivot(table, 2, curves, 2, 3);
    g_autofree char *csv = table_to_csv(pivot);

    ck_assert_str_eq(csv, "x,p / a,q / a,q / b\n"
                          "1,0.50,,\n"
                          "2,0.75,1.50,\n"
                          "3,,,2.50\n");
}
END_TEST

START_TEST(pivot_keeps_a_curve_named_like_the_first_column)
{
    g_autoptr(Table) table = parse("curve,x,y\nx,1,5\n", NULL);
    const unsigned curves[] = {0};
    g_autoptr(Table) pivot = table_pivot(table, 1, curves, 1, 2);
    g_autofree char *csv = table_to_csv(pivot);

    ck_assert_str_eq(csv, "x,curve x\n1,5\n");
}
END_TEST

START_TEST(pivot_hides_no_row)
{
    g_autoptr(Table) table = parse("curve,seed,x,y\n"
                                   "a,1,1,5\n"
                                   "a,2,1,6\n",
                                   NULL);
    const unsigned curves[] = {0};

    ck_assert_ptr_null(table_pivot(table, 2, curves, 1, 3));
}
END_TEST

/* U+FFFD in UTF-8 */
#define BAD "\357\277\275"

static const struct {
    const char *bytes;
    const char *line;  /* without line feeds */
    const char *lines; /* with them */
} texts[] = {
    {"plain \t text", "plain \t text", "plain \t text"},
    {"a\nb\r\n", "a" BAD "b" BAD BAD, "a\nb" BAD "\n"},
    {"\033[31m\a\b\177", BAD "[31m" BAD BAD BAD, BAD "[31m" BAD BAD BAD},
    /* C1 as a letter, and as a byte */
    {"\302\233A\233A", BAD "A" BAD "A", BAD "A" BAD "A"},
    {"\377\376x", BAD BAD "x", BAD BAD "x"},
    /* Cut off, too long a form of '/', half of a surrogate, above U+10FFFF */
    {"\342\202", BAD BAD, BAD BAD},
    {"\300\257", BAD BAD, BAD BAD},
    {"\355\240\200", BAD BAD BAD, BAD BAD BAD},
    {"\364\220\200\200", BAD BAD BAD BAD, BAD BAD BAD BAD},
    /* RLO, LRI, ZWSP, BOM, line and paragraph separators, U+FFFE */
    {"\342\200\256\342\201\246\342\200\213\357\273\277", BAD BAD BAD BAD,
     BAD BAD BAD BAD},
    {"\342\200\250\342\200\251\357\277\276", BAD BAD BAD, BAD BAD BAD},
    {"\342\202\254 \360\237\230\200 e\314\201",
     "\342\202\254 \360\237\230\200 e\314\201",
     "\342\202\254 \360\237\230\200 e\314\201"},
};

START_TEST(bytes_of_strangers_become_text)
{
    g_autofree char *line = table_text_from(texts[_i].bytes, -1, false);
    g_autofree char *lines = table_text_from(texts[_i].bytes, -1, true);

    ck_assert_str_eq(line, texts[_i].line);
    ck_assert_str_eq(lines, texts[_i].lines);
}
END_TEST

START_TEST(a_zero_among_bytes_is_replaced)
{
    g_autofree char *text = table_text_from("a\0b\342\202\254", 5, false);

    /* The last letter lacks its third byte. */
    ck_assert_str_eq(text, "a" BAD "b" BAD BAD);
}
END_TEST

START_TEST(a_pipe_is_written_and_not_replaced)
{
    g_autofree char *folder = g_dir_make_tmp("table-XXXXXX", NULL);
    g_autofree char *pipe = g_build_filename(folder, "pipe", NULL);
    g_autofree char *link = g_build_filename(folder, "link", NULL);
    char got[8] = "";
    int fd;

    ck_assert_int_eq(mkfifo(pipe, 0600), 0);
    ck_assert_int_eq(symlink("pipe", link), 0);
    fd = open(pipe, O_RDWR | O_NONBLOCK);
    ck_assert(table_file_write(pipe, "abc", 3, NULL));
    ck_assert(table_file_write(link, "def", 3, NULL));
    ck_assert_int_eq(read(fd, got, sizeof(got)), 6);
    ck_assert_str_eq(got, "abcdef");
    ck_assert(table_file_is_special(link));
    close(fd);
    ck_assert_int_eq(unlink(link) + unlink(pipe) + rmdir(folder), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("table");
    TCase *tcase = tcase_create("table");

    tcase_add_loop_test(tcase, numbers_print_and_parse_exactly, 0,
                        G_N_ELEMENTS(numbers));
    tcase_add_loop_test(tcase, other_text_is_no_number, 0,
                        G_N_ELEMENTS(no_numbers));
    tcase_add_test(tcase, absent_number_prints_empty);
    tcase_add_test(tcase, csv_is_as_rfc_4180_says);
    tcase_add_test(tcase, tables_survive_the_round_trip);
    tcase_add_test(tcase, types_follow_from_the_cells);
    tcase_add_loop_test(tcase, bad_tables_are_refused_with_the_line, 0,
                        G_N_ELEMENTS(refused));
    tcase_add_test(tcase, sizes_are_bounded);
    tcase_add_test(tcase, files_that_cannot_be_read_are_errors);
    tcase_add_test(tcase, files_are_written_whole_or_not_at_all);
    tcase_add_test(tcase, a_text_is_appended_whole_or_not_at_all);
    tcase_add_test(tcase, terminal_columns_are_aligned);
    tcase_add_test(tcase, terminal_gets_no_control_characters);
    tcase_add_loop_test(tcase, bytes_of_strangers_become_text, 0,
                        G_N_ELEMENTS(texts));
    tcase_add_test(tcase, a_zero_among_bytes_is_replaced);
    tcase_add_test(tcase, pivot_makes_a_column_of_each_curve);
    tcase_add_test(tcase, pivot_hides_no_row);
    tcase_add_test(tcase, pivot_keeps_a_curve_named_like_the_first_column);
    tcase_add_test(tcase, a_pipe_is_written_and_not_replaced);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
