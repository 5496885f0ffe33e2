/* SPDX-License-Identifier: MIT */
/*
 * Invariants: the reader accepts a trace of either byte order, even after other
 * tools have sorted, merged or filtered it. TLPs are decoded by PCIe 5.0 s2.2.
 * Damage is reported with its place, and the records before it are kept. A
 * completion is joined to its request.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include <check.h>
#include <glib.h>
#include <glib/gstdio.h>

#include "trc_bytes.h"
#include "trc_file.h"
#include "trc_merge.h"
#include "trc_text.h"
#include "../suite.h"

static TrcFile *parse(const TrcBytes *source, GError **error)
{
    g_autoptr(GBytes) bytes =
        g_bytes_new(source->bytes->data, source->bytes->len);

    return trc_file_parse(bytes, "t", error);
}

static TrcFile *parse_well(const TrcBytes *source)
{
    TrcFile *file = parse(source, NULL);

    ck_assert_ptr_nonnull(file);
    ck_assert_msg(!trc_file_damage(file), "%s",
                  trc_file_damage(file) ? trc_file_damage(file)->message : "");
    return file;
}

/* The begin of a trace of one link. */
static TrcBytes begin(bool is_big)
{
    TrcBytes source = trc_bytes_new(is_big);

    trc_bytes_section(&source);
    trc_bytes_interface(&source, 147, "a:x", 9);
    trc_bytes_interface(&source, 147, "b:x", 9);
    return source;
}

static uint64_t add_tlp(TrcBytes *source, unsigned partition, uint32_t sequence,
                        const char *tlp)
{
    g_autofree char *head = trc_bytes_head(1, partition, sequence, 0, 0);
    g_autofree char *hex = g_strconcat(head, tlp, NULL);

    return trc_bytes_packet(source, partition, 1000 + sequence, hex, 0);
}

/* ---- What is in a file -------------------------------------------------- */

START_TEST(either_byte_order)
{
    g_auto(TrcBytes) source = trc_bytes_new(_i == 1);
    g_autoptr(TrcFile) file = NULL;
    TrcRecord record;

    trc_bytes_example(&source);
    file = parse_well(&source);
    ck_assert_uint_eq(trc_file_n_interfaces(file), 2);
    ck_assert_str_eq(trc_file_interface(file, 0)->name, "a:cable0");
    ck_assert_uint_eq(trc_file_interface(file, 0)->peer, 1);
    ck_assert_uint_eq(trc_file_interface(file, 1)->peer, 0);
    ck_assert_uint_eq(trc_file_n_records(file), 17);
    for (unsigned i = 0; i < 13; i++) {
        trc_file_record(file, i, &record);
        ck_assert_int_eq(record.kind, TRC_START + (int)i);
    }
    trc_file_record(file, 13, &record);
    ck_assert_int_eq(record.kind, TRC_MSI);
    ck_assert_int_eq(record.time_ns, 1700000000000100000);
    ck_assert_uint_eq(record.address, 0xfee01004);
    ck_assert_uint_eq(record.near, 0xe1001004);
    ck_assert_uint_eq(record.offset, 0x01004);
    ck_assert_uint_eq(record.bar, 2);
    ck_assert_uint_eq(record.bytes, 4);
    ck_assert_uint_eq(record.requester_id, 0x28);
    ck_assert_uint_eq(record.data_size, 4);
    ck_assert_uint_eq(record.data[1], 0x43);
}
END_TEST

START_TEST(both_byte_orders_in_one_file)
{
    g_auto(TrcBytes) source = trc_bytes_new(false);
    g_autoptr(TrcFile) file = NULL;
    TrcRecord record;

    trc_bytes_example(&source);
    source.is_big = true;
    trc_bytes_example(&source);
    file = parse_well(&source);
    ck_assert_uint_eq(trc_file_n_interfaces(file), 4);
    ck_assert_uint_eq(trc_file_interface(file, 3)->peer, 2);
    ck_assert_uint_eq(trc_file_n_records(file), 34);
    trc_file_record(file, 33, &record);
    ck_assert_uint_eq(record.interface, 3);
    ck_assert_int_eq(record.kind, TRC_CPLD);
}
END_TEST

typedef struct Tlp {
    const char *hex;
    TrcKind kind;
    uint64_t address;
    uint32_t bytes;
    const char *detail;
} Tlp;

static const Tlp tlps[] = {
    /* Byte enables: table 2-7 ff. */
    {"00000001 0028000f 00001000", TRC_MRD, 0x1000, 4, ""},
    {"00000001 00280001 00001000", TRC_MRD, 0x1000, 1, ""},
    {"00000001 00280008 00001000", TRC_MRD, 0x1003, 1, ""},
    {"00000001 00280006 00001000", TRC_MRD, 0x1001, 2, ""},
    {"00000002 0028ff ff 00001000", TRC_MRD, 0x1000, 8, ""},
    {"00000002 0028ff 18 00001000", TRC_MRD, 0x1003, 2, ""},
    {"00000000 0028ff ff 00001000", TRC_MRD, 0x1000, 4096, ""},
    {"00000000 0028ff 38 00001000", TRC_MRD, 0x1003, 4091, ""},
    /* No byte enabled: a flush, s2.2.5 */
    {"00000001 00280000 00001000", TRC_MRD, 0x1000, 0, "waits for writes"},
    {"20000001 0028000f 00000001 00001000", TRC_MRD, 0x100001000, 4, ""},
    {"40000001 0028000c 00001000 00001234", TRC_MWR, 0x1002, 2, "= 0x3412"},
    {"60000002 002800ff ffffffff fffffff8 01020304 05060708", TRC_MWR,
     0xfffffffffffffff8, 8, "= 0x0807060504030201"},
    {"40000003 00280071 00001000 01000000 02030405 06070800", TRC_MWR, 0x1000,
     11, "01 00 00 00 02 03 04 05 06 07 08"},
    {"40000001 0028000f feeffffc 00000000", TRC_MSI, 0xfeeffffc, 4,
     "= 0x00000000"},
    {"40000001 0028000f fef00000 00000000", TRC_MWR, 0xfef00000, 4,
     "= 0x00000000"},
    {"40000001 00280003 fee00000 00000000", TRC_MWR, 0xfee00000, 2, "= 0x0000"},
    /* Completions: figure 2-44, s2.3.1.1 */
    {"4a000001 00300002 01003406 0000bbaa", TRC_CPLD, 0, 2, "= 0xaabb"},
    {"0a000000 00302004 01003400", TRC_CPL, 0, 4, ""},
    {"0a000000 00308000 01003400", TRC_CPL, 0, 4096, ""},
    /* The first of two completions: Byte Count covers both */
    {"4a000001 00300008 01003400 01020304", TRC_CPLD, 0, 4, "= 0x04030201"},
    /* A TLP that Farside does not write */
    {"04000001 0028000f 01000010", TRC_TLP, 0, 0, "Fmt 0 Type 0x04"},
};

START_TEST(tlps_mean_what_the_specification_says)
{
    const Tlp *tlp = &tlps[_i];
    g_auto(TrcBytes) source = begin(false);
    g_autoptr(TrcFile) file = NULL;
    g_autofree char *detail = NULL;
    TrcRecord record;

    add_tlp(&source, 0, 0, tlp->hex);
    file = parse_well(&source);
    ck_assert_uint_eq(trc_file_n_records(file), 1);
    trc_file_record(file, 0, &record);
    ck_assert_int_eq(record.kind, tlp->kind);
    ck_assert_uint_eq(record.address, tlp->address);
    ck_assert_uint_eq(record.bytes, tlp->bytes);
    detail = trc_text_detail(&record);
    ck_assert_str_eq(detail, tlp->detail);
}
END_TEST

START_TEST(completion_has_its_fields)
{
    g_auto(TrcBytes) source = begin(true);
    g_autoptr(TrcFile) file = NULL;
    TrcRecord record;
    char id[8];

    add_tlp(&source, 1, 0, "0a000000 81fa8003 01033402");
    file = parse_well(&source);
    trc_file_record(file, 0, &record);
    ck_assert_str_eq(trc_text_id(record.completer_id, id), "81:1f.2");
    ck_assert_str_eq(trc_text_id(record.requester_id, id), "01:00.3");
    ck_assert_uint_eq(record.tag, 0x34);
    ck_assert_str_eq(trc_status_name(record.status), "CA");
    ck_assert_str_eq(trc_status_name(7), "?");
}
END_TEST

START_TEST(bytes_that_were_not_recorded_are_counted)
{
    g_auto(TrcBytes) source = begin(false);
    g_autoptr(TrcFile) file = NULL;
    g_autofree char *head = trc_bytes_head(1, 0, 0, 0, 0);
    g_autofree char *hex =
        g_strconcat(head, "40000000 002800ff 00001000 01020304 0506", NULL);
    g_autofree char *detail = NULL;
    TrcRecord record;

    trc_bytes_packet(&source, 0, 5, hex, 32 + 12 + 4096);
    file = parse_well(&source);
    trc_file_record(file, 0, &record);
    ck_assert_uint_eq(record.bytes, 4096);
    ck_assert_uint_eq(record.data_size, 6);
    ck_assert_uint_eq(record.data_lost, 4090);
    detail = trc_text_detail(&record);
    ck_assert_str_eq(detail, "01 02 03 04 05 06 ...");
}
END_TEST

START_TEST(records_without_tlp_have_details)
{
    static const char *const details[] = {
        "link up, device 00:05.0",
        "",
        "link up",
        "enabled",
        "",
        "bits 0x500000000",
        "1 = 0x0000beef",
        "lock 7",
        "lock 7 ...",
        ("lock 7; bar2: 64 LUT windows of 0x10000; bar4: 0x200000 at 0x0; "
         "1 LUT entries on"),
        "lock 7, refused for LUT 2",
        "lock 7",
        "0x3f00000 at 0x100000",
    };
    g_auto(TrcBytes) source = trc_bytes_new(false);
    g_autoptr(TrcFile) file = NULL;

    trc_bytes_example(&source);
    file = parse_well(&source);
    for (unsigned i = 0; i < G_N_ELEMENTS(details); i++) {
        g_autofree char *detail = NULL;
        TrcRecord record;

        trc_file_record(file, i, &record);
        detail = trc_text_detail(&record);
        ck_assert_str_eq(detail, details[i]);
    }
}
END_TEST

START_TEST(times_of_any_resolution)
{
    static const struct {
        int resolution;
        uint64_t ticks;
        int64_t ns;
    } cases[] = {
        {-1, 1700000000000001, 1700000000000001000}, /* microseconds */
        {9, 1700000000000000001, 1700000000000000001},
        {6, 3, 3000},
        {3, 3, 3000000},
        {0, 3, 3000000000},
        {12, 2999, 2},
        {0x80 | 0, 3, 3000000000},
        {0x80 | 10, 1536, 1500000000},
        {0x80 | 32, 1ull << 31, 500000000},
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_auto(TrcBytes) source = trc_bytes_new(false);
        g_autoptr(TrcFile) file = NULL;
        g_autofree char *hex = trc_bytes_head(3, 0, 0, 0, 0);
        TrcRecord record;

        trc_bytes_section(&source);
        trc_bytes_interface(&source, 147, "a", cases[i].resolution);
        trc_bytes_packet(&source, 0, cases[i].ticks, hex, 0);
        file = parse_well(&source);
        trc_file_record(file, 0, &record);
        ck_assert_int_eq(record.time_ns, cases[i].ns);
    }
}
END_TEST

START_TEST(other_packets_are_left_out)
{
    g_auto(TrcBytes) source = begin(false);
    g_autoptr(TrcFile) file = NULL;
    static const uint32_t simple[] = {4, 0};

    trc_bytes_interface(&source, 1, "eth0", 6);
    trc_bytes_packet(&source, 2, 1, "0102030405", 0);
    trc_bytes_block(&source, 3, simple, sizeof(simple));
    trc_bytes_block(&source, 0xbad, "comment", 7);
    add_tlp(&source, 1, 0, "0a000000 00302004 01003400");
    file = parse_well(&source);
    ck_assert_uint_eq(trc_file_n_records(file), 1);
    ck_assert_uint_eq(trc_file_n_foreign(file), 2);
    ck_assert_uint_eq(trc_file_interface(file, 2)->peer, 2);
}
END_TEST

START_TEST(names_are_fit_for_a_terminal)
{
    g_auto(TrcBytes) source = trc_bytes_new(false);
    g_autoptr(TrcFile) file = NULL;

    trc_bytes_section(&source);
    trc_bytes_interface(&source, 147, "a\x1b[31m\nb\xff", 9);
    file = parse_well(&source);
    ck_assert_str_eq(trc_file_interface(file, 0)->name,
                     "a\xef\xbf\xbd[31m\xef\xbf\xbd"
                     "b\xef\xbf\xbd");
}
END_TEST

/* ---- What is missing ---------------------------------------------------- */

static void add_kind(TrcBytes *source, unsigned kind, uint32_t sequence)
{
    g_autofree char *head = trc_bytes_head(kind, 0, sequence, 0, 0);
    g_autofree char *hex =
        g_strconcat(head, kind == 2 ? "00000001 00000028" : "", NULL);

    trc_bytes_packet(source, 0, sequence, hex, 0);
}

START_TEST(gaps_and_statistics_are_added_up)
{
    g_auto(TrcBytes) source = begin(false);
    g_autoptr(TrcFile) file = NULL;

    add_kind(&source, 2, 0);
    add_kind(&source, 6, 1);
    add_kind(&source, 6, 4); /* 2 and 3 */
    trc_bytes_statistics(&source, 0, 2);
    add_kind(&source, 6, 5);
    trc_bytes_statistics(&source, 0, 3); /* one dropped since the last */
    /* Another run begins */
    add_kind(&source, 2, 0);
    add_kind(&source, 6, 11);
    trc_bytes_statistics(&source, 0, 10);
    file = parse_well(&source);
    ck_assert_uint_eq(trc_file_interface(file, 0)->missing, 12);
    ck_assert_uint_eq(trc_file_interface(file, 0)->dropped, 13);
    ck_assert_uint_eq(trc_file_interface(file, 0)->packets, 6);
    ck_assert_uint_eq(trc_file_interface(file, 1)->missing, 0);
}
END_TEST

START_TEST(part_of_a_trace_has_no_gap_before_it)
{
    g_auto(TrcBytes) source = begin(false);
    g_autoptr(TrcFile) file = NULL;

    add_kind(&source, 6, 500);
    add_kind(&source, 6, 501);
    file = parse_well(&source);
    ck_assert_uint_eq(trc_file_interface(file, 0)->missing, 0);
}
END_TEST

/* ---- Damage ------------------------------------------------------------- */

/* Each case is a damaged packet after two good ones. */
static const struct {
    const char *hex; /* the TLP, or the whole packet */
    bool is_whole;   /* @hex has its own head */
    const char *text;
} bad_packets[] = {
    {"", true, "a packet without a whole head"},
    {"4653 01 20 03 00 00 00 00000000 00000000 0000000000000000 "
     "00000000000000",
     true, "a packet without a whole head"},
    {"4654 01 20 03 00 00 00 00000000 00000000 0000000000000000 "
     "0000000000000000",
     true, "a packet without Farside's magic number"},
    {"4653 02 20 03 00 00 00 00000000 00000000 0000000000000000 "
     "0000000000000000",
     true, "a packet of another version"},
    {"4653 01 1f 03 00 00 00 00000000 00000000 0000000000000000 "
     "0000000000000000",
     true, "a packet of another version"},
    {"4653 01 21 03 00 00 00 00000000 00000000 0000000000000000 "
     "0000000000000000",
     true, "a packet of another version"},
    {"4653 01 20 00 00 00 00 00000000 00000000 0000000000000000 "
     "0000000000000000",
     true, "a packet of an unknown kind"},
    {"4653 01 20 11 00 00 00 00000000 00000000 0000000000000000 "
     "0000000000000000",
     true, "a packet of an unknown kind"},
    {"4653 01 20 03 00 01 00 00000000 00000000 0000000000000000 "
     "0000000000000000",
     true, "a packet of the link's other end"},
    {"4653 01 20 07 00 00 00 00000000 00000000 0000000000000000 "
     "0000000000000000 00000000000000",
     true, "a packet that is too short for its kind"},
    {"00000001 0028000f 000010", false,
     "a packet that is too short for its kind"},
    {"20000001 0028000f 00000001 000010", false, "a header that is not whole"},
    {"00000001 0028000f 00001000 00000000", false, "a read with a payload"},
    {"00000001 0028001f 00001000", false,
     "a request of one DW with byte enables for a second DW"},
    {"00000002 0028000f 00001000", false,
     "a request of several DWs without byte enables for the first or last"},
    {"00000002 00280010 00001000", false,
     "a request of several DWs without byte enables for the first or last"},
    {"40000002 002800ff 00001000 00000000", false,
     "a payload that is not as long as the header says"},
    {"40000001 0028000f 00001000 00000000 00", false,
     "a payload that is not as long as the header says"},
    {"4a000002 00300008 01003400 00000000", false,
     "a payload that is not as long as the header says"},
    {"0a000000 00302004 01003400 00000000", false,
     "a Cpl with data behind its header"},
};

START_TEST(bad_packets_have_a_place)
{
    g_auto(TrcBytes) source = begin(_i % 2 == 1);
    g_autoptr(TrcFile) file = NULL;
    g_autofree char *expected = NULL;
    uint64_t place;

    add_tlp(&source, 1, 0, tlps[0].hex);
    add_tlp(&source, 0, 0, tlps[0].hex);
    place = bad_packets[_i].is_whole
                ? trc_bytes_packet(&source, 0, 9, bad_packets[_i].hex, 0)
                : add_tlp(&source, 0, 1, bad_packets[_i].hex);
    add_tlp(&source, 0, 2, tlps[0].hex);
    file = parse(&source, NULL);
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(trc_file_n_records(file), 2);
    ck_assert_ptr_nonnull(trc_file_damage(file));
    expected = g_strdup_printf("t: byte %u: %s", (unsigned)place,
                               bad_packets[_i].text);
    ck_assert_str_eq(trc_file_damage(file)->message, expected);
}
END_TEST

/* A file cut at any byte has all records before the cut. The cut is reported.
 */
START_TEST(a_file_that_ends_anywhere)
{
    g_auto(TrcBytes) source = trc_bytes_new(false);
    g_autoptr(TrcFile) whole = NULL;
    unsigned length;

    trc_bytes_example(&source);
    whole = parse_well(&source);
    length = source.bytes->len;
    for (unsigned size = 0; size < length; size++) {
        g_autoptr(GBytes) bytes = g_bytes_new(source.bytes->data, size);
        g_autoptr(GError) error = NULL;
        g_autoptr(TrcFile) file = trc_file_parse(bytes, "t", &error);
        size_t count = 0;

        if (size < 28) {
            ck_assert_ptr_null(file);
            ck_assert(g_str_has_prefix(error->message, "t: byte 0: "));
            continue;
        }
        ck_assert_ptr_nonnull(file);
        ck_assert_ptr_null(error);
        while (count < trc_file_n_records(whole)) {
            TrcRecord record;
            uint32_t block;

            trc_file_record(whole, count, &record);
            memcpy(&block, source.bytes->data + record.place + 4, 4);
            if (record.place + block > size) {
                break;
            }
            count++;
        }
        ck_assert_uint_eq(trc_file_n_records(file), count);
        if (trc_file_damage(file)) {
            ck_assert_ptr_nonnull(strstr(trc_file_damage(file)->message,
                                         "the file ends within a block"));
        }
    }
}
END_TEST

typedef void (*Spoil)(TrcBytes *source);

static void spoil_interface(TrcBytes *source)
{
    trc_bytes_packet(source, 2, 0, "00", 0);
}

static void spoil_statistics(TrcBytes *source)
{
    trc_bytes_statistics(source, 7, 0);
}

static void spoil_short_statistics(TrcBytes *source)
{
    trc_bytes_block(source, 5, "12345678", 8);
}

static void spoil_short_packet(TrcBytes *source)
{
    trc_bytes_block(source, 6, "1234567890123456", 16);
}

static void spoil_short_interface(TrcBytes *source)
{
    trc_bytes_block(source, 1, "1234", 4);
}

static void spoil_captured(TrcBytes *source)
{
    static const uint32_t body[] = {0, 0, 0, 5, 5, 0};

    trc_bytes_block(source, 6, body, sizeof(body));
}

static void spoil_trailer(TrcBytes *source)
{
    add_tlp(source, 0, 1, tlps[0].hex);
    source->bytes->data[source->bytes->len - 4] ^= 1;
}

static void spoil_length(TrcBytes *source)
{
    static const uint32_t block[] = {6, 14, 0, 0};

    g_byte_array_append(source->bytes, (const uint8_t *)block, sizeof(block));
}

static void spoil_resolution(TrcBytes *source)
{
    trc_bytes_interface(source, 147, "c", 20);
}

static void spoil_option(TrcBytes *source)
{
    static const uint16_t body[] = {147, 0, 0, 0, 2, 5, 0, 0};

    trc_bytes_block(source, 1, body, sizeof(body));
}

static void spoil_time(TrcBytes *source)
{
    g_autofree char *hex = trc_bytes_head(3, 0, 0, 0, 0);

    trc_bytes_packet(source, 0, UINT64_MAX, hex, 0);
}

static void spoil_magic(TrcBytes *source)
{
    static const uint32_t body[] = {0x12345678, 1, UINT32_MAX, UINT32_MAX};

    trc_bytes_block(source, 0x0a0d0d0a, body, sizeof(body));
}

static void spoil_version(TrcBytes *source)
{
    static const uint32_t body[] = {0x1a2b3c4d, 2, UINT32_MAX, UINT32_MAX};

    trc_bytes_block(source, 0x0a0d0d0a, body, sizeof(body));
}

static const struct {
    Spoil spoil;
    const char *text;
} spoils[] = {
    {spoil_interface, "no description of interface 2"},
    {spoil_statistics, "no description of interface 7"},
    {spoil_short_statistics, "statistics that are not whole"},
    {spoil_short_packet, "a packet that is not whole"},
    {spoil_short_interface, "an interface that is not whole"},
    {spoil_captured, "a packet longer than its block"},
    {spoil_trailer, "a block without its length at its end"},
    {spoil_length, "a block of 14 bytes"},
    {spoil_resolution, "option 9 has an impossible value"},
    {spoil_option, "option 2 is not whole"},
    {spoil_time, "a time that is out of range"},
    {spoil_magic, "no pcapng section"},
    {spoil_version, "pcapng of another version"},
};

START_TEST(bad_blocks_have_a_place)
{
    g_auto(TrcBytes) source = begin(false);
    g_autoptr(TrcFile) file = NULL;
    g_autofree char *expected =
        g_strdup_printf("t: byte %u: %s", source.bytes->len, spoils[_i].text);

    spoils[_i].spoil(&source);
    file = parse(&source, NULL);
    ck_assert_ptr_nonnull(file);
    ck_assert_ptr_nonnull(trc_file_damage(file));
    ck_assert_str_eq(trc_file_damage(file)->message, expected);
}
END_TEST

/* ---- Merging ------------------------------------------------------------ */

START_TEST(requests_are_joined_by_time_not_by_place)
{
    g_auto(TrcBytes) source = trc_bytes_new(false);
    g_autoptr(TrcFile) file = NULL;
    g_autoptr(TrcMerge) merge = NULL;
    TrcFile *files[1];
    TrcCrossing crossing;

    trc_bytes_example(&source);
    file = parse_well(&source);
    files[0] = file;
    merge = trc_merge_new(files, 1);
    ck_assert_uint_eq(trc_merge_n_crossings(merge), 17);
    /* The other end's START was written late, but is second by time. */
    trc_merge_crossing(merge, 1, &crossing);
    ck_assert_uint_eq(crossing.record.interface, 1);
    trc_merge_crossing(merge, 15, &crossing);
    ck_assert_int_eq(crossing.record.kind, TRC_MRD);
    ck_assert(crossing.is_answered);
    trc_merge_crossing(merge, 16, &crossing);
    ck_assert_int_eq(crossing.record.kind, TRC_CPLD);
    ck_assert_int_eq(crossing.latency_ns, 50000);
    ck_assert_uint_eq(crossing.read_address, 0x1234560010);
}
END_TEST

/* The same tags on another link belong to other reads. */
START_TEST(reads_of_links_are_kept_apart)
{
    g_auto(TrcBytes) source = begin(false);
    g_autoptr(TrcFile) file = NULL;
    g_autoptr(TrcMerge) merge = NULL;
    TrcFile *files[1];
    TrcCrossing crossing;

    trc_bytes_interface(&source, 147, "a:y", 9);
    trc_bytes_interface(&source, 147, "c:y", 9);
    add_tlp(&source, 0, 0, tlps[0].hex); /* 1000 */
    {
        g_autofree char *head = trc_bytes_head(1, 1, 0, 0, 0);
        g_autofree char *hex =
            g_strconcat(head, "0a000000 00302004 01003400", NULL);

        trc_bytes_packet(&source, 3, 2000, hex, 0);
        trc_bytes_packet(&source, 1, 3000, hex, 0);
    }
    file = parse_well(&source);
    files[0] = file;
    merge = trc_merge_new(files, 1);
    trc_merge_crossing(merge, 1, &crossing);
    ck_assert_int_eq(crossing.latency_ns, TRC_NO_LATENCY);
    trc_merge_crossing(merge, 2, &crossing);
    ck_assert_int_eq(crossing.latency_ns, 2000);
}
END_TEST

/* ---- Files -------------------------------------------------------------- */

START_TEST(made_files_are_read)
{
    static const char *const names[] = {"left:c", "right:c"};
    g_autofree char *folder = g_dir_make_tmp("farside-trc-XXXXXX", NULL);
    g_autofree char *path = g_build_filename(folder, "f", NULL);
    g_autofree char *long_name = g_strnfill(2000, 'x');
    const char *const long_names[] = {"a", long_name};
    g_autoptr(TrcFile) file = NULL;
    g_autoptr(GError) error = NULL;

    ck_assert(g_file_set_contents(path, "precious", -1, NULL));
    ck_assert(!trc_file_create(path, names, 0, &error));
    ck_assert_ptr_nonnull(strstr(error->message, "is no pcapng file"));
    g_clear_error(&error);
    g_unlink(path);
    ck_assert(trc_file_create(path, names, 0, NULL));
    ck_assert(trc_file_create(path, names, 0, NULL));
    file = trc_file_read(path, NULL);
    ck_assert_ptr_nonnull(file);
    ck_assert_ptr_null(trc_file_damage(file));
    ck_assert_uint_eq(trc_file_n_records(file), 0);
    ck_assert_str_eq(trc_file_interface(file, 1)->name, "right:c");
    ck_assert_uint_eq(trc_file_interface(file, 1)->peer, 0);
    ck_assert(!trc_file_create(path, long_names, 0, NULL));
    ck_assert(!trc_file_create(path, names, TRC_SNAPLEN_MIN - 1, NULL));
    ck_assert(!trc_file_create(folder, names, 0, &error));
    ck_assert(g_str_has_prefix(error->message, folder));
    g_unlink(path);
    ck_assert_ptr_null(trc_file_read(path, NULL));
    g_rmdir(folder);
}
END_TEST

/* Two devices append the same packets, and one is quicker. */
static GBytes *sorted_file(const char *path, bool is_b_quicker)
{
    static const char tlp[] = "40000001"
                              "0028000f"
                              "10000000"
                              "01020304";
    g_auto(TrcBytes) source = begin(false);
    char *text;
    size_t size;

    for (unsigned i = 0; i < 2; i++) {
        unsigned end = i ^ (unsigned)is_b_quicker;

        add_tlp(&source, end, 0, tlp);
        add_tlp(&source, end, 1, tlp);
        /* The last packet of a is later than all of b. */
        add_tlp(&source, end, end == 0 ? 3 : 2, tlp);
    }
    ck_assert(g_file_set_contents(path, (char *)source.bytes->data,
                                  source.bytes->len, NULL));
    ck_assert(trc_file_sort(path, NULL));
    ck_assert(g_file_get_contents(path, &text, &size, NULL));
    ck_assert_uint_eq(size, source.bytes->len);
    return g_bytes_new_take(text, size);
}

START_TEST(sorting_forgets_who_was_quicker)
{
    static const unsigned interfaces[] = {0, 1, 0, 1, 1, 0};
    g_autofree char *folder = g_dir_make_tmp("farside-trc-XXXXXX", NULL);
    g_autofree char *path = g_build_filename(folder, "f", NULL);
    g_autoptr(GBytes) one = sorted_file(path, false);
    g_autoptr(GBytes) two = sorted_file(path, true);
    g_autoptr(TrcFile) file = trc_file_read(path, NULL);

    ck_assert(g_bytes_equal(one, two));
    ck_assert_uint_eq(trc_file_n_records(file), G_N_ELEMENTS(interfaces));
    for (unsigned i = 0; i < G_N_ELEMENTS(interfaces); i++) {
        TrcRecord record;

        trc_file_record(file, i, &record);
        ck_assert_uint_eq(record.interface, interfaces[i]);
    }
    g_unlink(path);
    g_rmdir(folder);
}
END_TEST

START_TEST(only_a_plain_trace_is_sorted)
{
    g_autofree char *folder = g_dir_make_tmp("farside-trc-XXXXXX", NULL);
    g_autofree char *path = g_build_filename(folder, "f", NULL);
    g_auto(TrcBytes) big = begin(true);
    g_autoptr(GError) error = NULL;

    ck_assert(g_file_set_contents(path, (char *)big.bytes->data, big.bytes->len,
                                  NULL));
    ck_assert(!trc_file_sort(path, &error));
    ck_assert_ptr_nonnull(strstr(error->message, "it is not sorted"));
    g_unlink(path);
    g_clear_error(&error);
    ck_assert(!trc_file_sort(path, &error));
    ck_assert(g_str_has_prefix(error->message, path));
    g_rmdir(folder);
}
END_TEST

/* Appends a packet in two pieces, under the lock that writers take. */
typedef struct Writer {
    int fd;
    const uint8_t *bytes;
    size_t size;
} Writer;

static gpointer append_slowly(gpointer data)
{
    const Writer *writer = data;
    size_t half = writer->size / 2;

    g_usleep(50000);
    ck_assert_int_eq(
        write(writer->fd, writer->bytes + half, writer->size - half),
        writer->size - half);
    flock(writer->fd, LOCK_UN);
    return NULL;
}

START_TEST(a_file_is_read_between_appends)
{
    g_auto(TrcBytes) source = begin(false);
    g_autofree char *folder = g_dir_make_tmp("farside-trc-XXXXXX", NULL);
    g_autofree char *path = g_build_filename(folder, "f", NULL);
    g_autoptr(TrcFile) file = NULL;
    size_t header = source.bytes->len;
    Writer writer;
    GThread *thread;

    add_tlp(&source, 0, 0, "0000000100280703fee00000");
    ck_assert(g_file_set_contents(path, (const char *)source.bytes->data,
                                  (gssize)header, NULL));
    writer.fd = open(path, O_WRONLY | O_APPEND);
    writer.bytes = source.bytes->data + header;
    writer.size = source.bytes->len - header;
    ck_assert_int_eq(flock(writer.fd, LOCK_EX), 0);
    ck_assert_int_eq(write(writer.fd, writer.bytes, writer.size / 2),
                     writer.size / 2);
    thread = g_thread_new("writer", append_slowly, &writer);
    file = trc_file_read(path, NULL);
    g_thread_join(thread);
    ck_assert_ptr_nonnull(file);
    ck_assert_ptr_null(trc_file_damage(file));
    ck_assert_uint_eq(trc_file_n_records(file), 1);
    /* Reading a file leaves no lock that would block writers. */
    ck_assert_int_eq(flock(writer.fd, LOCK_EX | LOCK_NB), 0);
    close(writer.fd);
    g_unlink(path);
    g_rmdir(folder);
}
END_TEST

static Suite *make_suite(void)
{
    Suite *suite = suite_create("trc_file");
    TCase *tcase = tcase_create("trc_file");

    tcase_add_loop_test(tcase, either_byte_order, 0, 2);
    tcase_add_test(tcase, both_byte_orders_in_one_file);
    tcase_add_loop_test(tcase, tlps_mean_what_the_specification_says, 0,
                        G_N_ELEMENTS(tlps));
    tcase_add_test(tcase, completion_has_its_fields);
    tcase_add_test(tcase, bytes_that_were_not_recorded_are_counted);
    tcase_add_test(tcase, records_without_tlp_have_details);
    tcase_add_test(tcase, times_of_any_resolution);
    tcase_add_test(tcase, other_packets_are_left_out);
    tcase_add_test(tcase, names_are_fit_for_a_terminal);
    tcase_add_test(tcase, gaps_and_statistics_are_added_up);
    tcase_add_test(tcase, part_of_a_trace_has_no_gap_before_it);
    tcase_add_loop_test(tcase, bad_packets_have_a_place, 0,
                        G_N_ELEMENTS(bad_packets));
    tcase_add_test(tcase, a_file_that_ends_anywhere);
    tcase_add_loop_test(tcase, bad_blocks_have_a_place, 0,
                        G_N_ELEMENTS(spoils));
    tcase_add_test(tcase, requests_are_joined_by_time_not_by_place);
    tcase_add_test(tcase, reads_of_links_are_kept_apart);
    tcase_add_test(tcase, made_files_are_read);
    tcase_add_test(tcase, sorting_forgets_who_was_quicker);
    tcase_add_test(tcase, only_a_plain_trace_is_sorted);
    tcase_add_test(tcase, a_file_is_read_between_appends);
    suite_add_tcase(suite, tcase);
    return suite;
}

int main(void)
{
    return run_suite(make_suite());
}
