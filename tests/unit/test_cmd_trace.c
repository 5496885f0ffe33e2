/* SPDX-License-Identifier: MIT */
/*
 * Invariants: `farside trace` prints each crossing once, by time, with its
 * details. The options select exactly the crossings that they name. Sums and
 * percentiles are those of the numbers in the file. Missing packets are
 * reported. The exit status is 0 for success, 1 if a file was not written, and
 * 2 for bad usage or a bad file. The environment variable FARSIDE is the path
 * of the program.
 */
#include <stdlib.h>
#include <string.h>

#include <check.h>
#include <glib.h>
#include <glib/gstdio.h>

#include "program.h"
#include "trc_bytes.h"
#include "../suite.h"

static void save(const TrcBytes *source, const char *name)
{
    g_autofree char *path = program_place(name);

    ck_assert(g_file_set_contents(path, (const char *)source->bytes->data,
                                  source->bytes->len, NULL));
}

static void setup(void)
{
    g_auto(TrcBytes) source = trc_bytes_new(false);

    program_setup();
    trc_bytes_example(&source);
    save(&source, "t.pcapng");
}

static unsigned count_lines(void)
{
    unsigned count = 0;

    for (const char *c = program_out; *c != '\0'; c++) {
        count += *c == '\n';
    }
    return count;
}

START_TEST(a_line_a_crossing)
{
    ck_assert_int_eq(program_run("trace @/t.pcapng"), 0);
    ck_assert_uint_eq(count_lines(), 17);
    ck_assert_str_eq(program_err, "");
    ck_assert_ptr_nonnull(
        strstr(program_out,
               "   0.000000000  cable0 a>b  Start  link up, device 00:05.0\n"
               "   0.000000010  cable0 b>a  Start  link up, device 00:06.0\n"
               "   0.000001000  cable0 a>b  Stop\n"));
    ck_assert_ptr_nonnull(strstr(
        program_out,
        "   0.000100000  cable0 a>b  MSI   0xe1001004 -> 0xfee01004 4B 00:05.0"
        "  = 0x00004321\n"
        "   0.000200000  cable0 a>b  MRd   0xe1010010 -> 0x1234560010 8B "
        "00:05.0 tag 52\n"
        "   0.000250000  cable0 b>a  CplD  0x1234560010 8B 00:05.0 tag 52 from "
        "00:06.0 SC after 50.000us  = 0x1122334455667788\n"));
}
END_TEST

START_TEST(filters_select_records)
{
    static const struct {
        const char *words;
        unsigned lines;
    } cases[] = {
        {"--kind MRd", 1},
        {"--kind mrd,MSI", 2},
        {"--kind TLP", 3},
        {"--kind Start,cpld", 3},
        {"--kind RAM,Lock,Locked,Config,Configured,Release", 6},
        {"--link cable0", 17},
        {"--link a", 17},
        {"--link b:cable0", 17},
        {"--link c*0", 17},
        {"--link cable1", 0},
        {"--from 100us", 3},
        {"--from 100us --to 200us", 2},
        {"--to 10ns", 2},
        {"--from 100001ns --kind TLP --link b", 2},
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *words =
            g_strconcat("trace @/t.pcapng ", cases[i].words, NULL);

        ck_assert_int_eq(program_run(words), 0);
        ck_assert_msg(count_lines() == cases[i].lines, "%s:\n%s",
                      cases[i].words, program_out);
    }
}
END_TEST

START_TEST(a_table)
{
    g_autofree char *csv = program_place("t.csv"), *text = NULL;

    ck_assert_int_eq(
        program_run("trace @/t.pcapng --kind TLP,Doorbell --csv @/t.csv"), 0);
    ck_assert_str_eq(program_out, "");
    ck_assert(g_file_get_contents(csv, &text, NULL, NULL));
    ck_assert_str_eq(
        text,
        "time_ns,epoch_ns,from,to,kind,bar,near,address,bytes,requester,"
        "completer,tag,status,latency_ns,detail\n"
        "5000,1700000000000005000,a:cable0,b:cable0,Doorbell,,,,,,,,,,"
        "bits 0x500000000\n"
        "100000,1700000000000100000,a:cable0,b:cable0,MSI,2,0xe1001004,"
        "0xfee01004,4,00:05.0,,,,,= 0x00004321\n"
        "200000,1700000000000200000,a:cable0,b:cable0,MRd,2,0xe1010010,"
        "0x1234560010,8,00:05.0,,52,,,\n"
        "250000,1700000000000250000,b:cable0,a:cable0,CplD,,,0x1234560010,8,"
        "00:05.0,00:06.0,52,SC,50000,= 0x1122334455667788\n");
    ck_assert_int_eq(program_run("trace @/t.pcapng --csv @/t.pcapng/x"), 1);
}
END_TEST

/* Saves reads 1 to 100 and one write. Read n is answered after n microseconds;
 * the last one is not answered. */
static void save_reads(void)
{
    g_auto(TrcBytes) source = trc_bytes_new(true);

    trc_bytes_section(&source);
    trc_bytes_interface(&source, 147, "a:x", 9);
    trc_bytes_interface(&source, 147, "b:x", 9);
    for (unsigned i = 1; i <= 101; i++) {
        g_autofree char *read = trc_bytes_head(1, 0, i, i, 0);
        g_autofree char *cpl = trc_bytes_head(1, 1, i, i, 0);
        g_autofree char *mrd =
            g_strconcat(read, "00000001 0028000f 00001000", NULL);
        g_autofree char *cpld =
            g_strconcat(cpl, "4a000001 00300004 00280000 01020304", NULL);

        trc_bytes_packet(&source, 0, 1000000 * i, mrd, 0);
        if (i <= 100) {
            trc_bytes_packet(&source, 1, 1000000 * i + 1000 * i, cpld, 0);
        }
    }
    save(&source, "reads.pcapng");
}

START_TEST(sums_and_percentiles)
{
    g_autofree char *csv = program_place("s.csv"), *text = NULL;

    save_reads();
    ck_assert_int_eq(program_run("trace @/reads.pcapng -s --csv @/s.csv"), 0);
    ck_assert(g_file_get_contents(csv, &text, NULL, NULL));
    ck_assert_str_eq(
        text, "crossing,kind,count,bytes,unanswered,min_us,p50_us,"
              "p90_us,p99_us,max_us\n"
              "x a>b,MRd,101,,1,,,,,\n"
              "x b>a,CplD,100,400,,1.000,50.000,90.000,99.000,100.000\n");
    ck_assert_int_eq(program_run("trace @/reads.pcapng --summary"), 0);
    ck_assert_ptr_nonnull(strstr(program_out, "x b>a     CplD    100    400"));
    ck_assert_int_eq(program_run("trace @/reads.pcapng --from 1s"), 0);
    ck_assert_uint_eq(count_lines(), 0);
    ck_assert_int_eq(program_run("trace @/reads.pcapng --from 100ms"), 0);
    ck_assert_ptr_nonnull(strstr(program_out, "  MRd   0x1000 4B 00:05.0 tag 0 "
                                              "unanswered\n"));
}
END_TEST

START_TEST(several_files_are_one)
{
    save_reads();
    ck_assert_int_eq(program_run("trace @/t.pcapng @/reads.pcapng"), 0);
    ck_assert_uint_eq(count_lines(), 17 + 201);
    /* Packets of 1970 come first. */
    ck_assert(g_str_has_prefix(program_out, "   0.000000000  x a>b       MRd"));
}
END_TEST

START_TEST(lost_records_are_reported)
{
    g_auto(TrcBytes) source = trc_bytes_new(false);
    g_autofree char *first = trc_bytes_head(6, 0, 0, 0, 0);
    g_autofree char *later = trc_bytes_head(6, 0, 5, 0, 0);
    g_autofree char *place = NULL;
    static const char cut[] = "\6\0\0\0\x40\0\0\0";

    trc_bytes_section(&source);
    trc_bytes_interface(&source, 147, "a:x", 9);
    trc_bytes_interface(&source, 147, "b:x", 9);
    trc_bytes_interface(&source, 1, "eth0", 9);
    trc_bytes_packet(&source, 0, 1, first, 0);
    trc_bytes_packet(&source, 0, 2, later, 0);
    trc_bytes_packet(&source, 2, 2, "0102", 0);
    trc_bytes_statistics(&source, 0, 3);
    save(&source, "gap.pcapng");
    ck_assert_int_eq(program_run("trace @/gap.pcapng"), 0);
    ck_assert_ptr_nonnull(strstr(
        program_err, "a:x: 4 packets are missing; its writer dropped 3\n"));
    ck_assert_ptr_nonnull(
        strstr(program_err, "1 packets of other link types are left out\n"));
    ck_assert_uint_eq(count_lines(), 2);

    place =
        g_strdup_printf("/cut.pcapng: byte %u: the file ends within a block\n",
                        source.bytes->len);
    g_byte_array_append(source.bytes, (const uint8_t *)cut, sizeof(cut) - 1);
    save(&source, "cut.pcapng");
    ck_assert_int_eq(program_run("trace @/cut.pcapng"), 2);
    ck_assert_uint_eq(count_lines(), 2);
    ck_assert_ptr_nonnull(strstr(program_err, place));
}
END_TEST

START_TEST(wrong_usage)
{
    static const struct {
        const char *words;
        int status;
        const char *message;
    } cases[] = {
        {"trace", 2, "it takes FILE..."},
        {"trace @/nothing", 2, "nothing"},
        {"trace @", 2, ""},
        {"trace --kind Rd @/t.pcapng", 2, "there is no kind \"Rd\""},
        {"trace --kind , @/t.pcapng", 2, "there is no kind \"\""},
        {"trace --from 3 @/t.pcapng", 2, "--from 3: "},
        {"trace --to -3s @/t.pcapng", 2, "--to -3s: "},
        {"trace --create @/a @/b", 2, "--create takes one FILE"},
        {"trace --create --names a @/a", 2, "--create takes one FILE"},
        {"trace --create --snaplen 63B @/a", 2, "a size from 64B on"},
        {"trace --create --snaplen 5GiB @/a", 2, "a size from 64B on"},
        {"trace --create @/no/such", 1, "/no/such: No such file"},
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        ck_assert_msg(program_run(cases[i].words) == cases[i].status &&
                          strstr(program_err, cases[i].message),
                      "%s: %s", cases[i].words, program_err);
    }
}
END_TEST

START_TEST(made_files_are_empty_traces)
{
    ck_assert_int_eq(program_run("trace --create --names left:c,right:c "
                                 "--snaplen 96B @/new.pcapng"),
                     0);
    ck_assert_int_eq(program_run("trace @/new.pcapng"), 0);
    ck_assert_str_eq(program_out, "");
    ck_assert_str_eq(program_err, "");
}
END_TEST

static Suite *make_suite(void)
{
    Suite *suite = suite_create("cmd_trace");
    TCase *tcase = tcase_create("cmd_trace");

    tcase_add_checked_fixture(tcase, setup, program_teardown);
    tcase_add_test(tcase, a_line_a_crossing);
    tcase_add_test(tcase, filters_select_records);
    tcase_add_test(tcase, a_table);
    tcase_add_test(tcase, sums_and_percentiles);
    tcase_add_test(tcase, several_files_are_one);
    tcase_add_test(tcase, lost_records_are_reported);
    tcase_add_test(tcase, wrong_usage);
    tcase_add_test(tcase, made_files_are_empty_traces);
    suite_add_tcase(suite, tcase);
    return suite;
}

int main(void)
{
    return run_suite(make_suite());
}
