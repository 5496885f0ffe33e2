/* SPDX-License-Identifier: MIT */
/*
 * Invariant: for any bytes, the trace reader returns a file, or an error that
 * names a place in the bytes. Every record of a file lies within the bytes, can
 * be described in one line of UTF-8, and is the same when it is read again.
 * Merging loses no record and adds none.
 *
 * As a test, this program runs a fixed number of mutations of the seeds, from a
 * fixed random seed. With FARSIDE_LIBFUZZER defined it is a libFuzzer target.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <glib.h>

#include "fuzz_mutate.h"
#include "trc_bytes.h"
#include "trc_file.h"
#include "trc_merge.h"
#include "trc_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool is_true, const char *what)
{
    if (!is_true) {
        fprintf(stderr, "fuzz_trace: %s\n", what);
        abort();
    }
}

static void check_record(const TrcFile *file, const TrcRecord *record,
                         const uint8_t *data, size_t size)
{
    g_autofree char *detail = trc_text_detail(record);

    must(g_utf8_validate(detail, -1, NULL) && !strchr(detail, '\n'),
         "a detail that is no line of text");
    must(trc_kind_name(record->kind), "a kind without a name");
    for (unsigned i = 0;
         record->kind == TRC_START && i < trc_record_n_functions(record); i++) {
        TrcFunction function;

        trc_record_function(record, i, &function);
        must(g_utf8_validate(function.name, -1, NULL),
             "a function's name not in UTF-8");
    }
    must(record->interface < trc_file_n_interfaces(file), "no such interface");
    must(record->place < size, "a place beyond the file");
    must(record->data_size == 0 ||
             (record->data >= data &&
              record->data_size <= size - (size_t)(record->data - data)),
         "data beyond the file");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(GBytes) bytes = g_bytes_new_static(data, size);
    g_autoptr(TrcFile) file = trc_file_parse(bytes, "fuzz", &error);
    g_autoptr(TrcMerge) merge = NULL;
    TrcFile *files[1];

    if (!file) {
        must(error && g_str_has_prefix(error->message, "fuzz: byte "),
             "a refusal without a place");
        return 0;
    }
    must(!error, "a file and an error");
    must(!trc_file_damage(file) ||
             g_str_has_prefix(trc_file_damage(file)->message, "fuzz: byte "),
         "damage without a place");
    for (unsigned i = 0; i < trc_file_n_interfaces(file); i++) {
        const TrcInterface *interface = trc_file_interface(file, i);

        must(g_utf8_validate(interface->name, -1, NULL), "a name not in UTF-8");
        must(interface->peer < trc_file_n_interfaces(file) &&
                 trc_file_interface(file, interface->peer)->peer == i,
             "ends that are not each other's");
    }
    files[0] = file;
    merge = trc_merge_new(files, 1);
    must(trc_merge_n_crossings(merge) == trc_file_n_records(file),
         "another number of crossings than records");
    for (size_t i = 0; i < trc_file_n_records(file); i++) {
        TrcRecord record;
        TrcCrossing crossing;

        trc_file_record(file, i, &record);
        check_record(file, &record, data, size);
        trc_merge_crossing(merge, i, &crossing);
        must(crossing.latency_ns >= TRC_NO_LATENCY, "a negative latency");
    }
    return 0;
}

#ifndef FARSIDE_LIBFUZZER

#define ROUNDS 60000

int main(void)
{
    g_autoptr(GRand) random = g_rand_new_with_seed(3);
    g_auto(TrcBytes) little = trc_bytes_new(false);
    g_auto(TrcBytes) big = trc_bytes_new(true);
    unsigned n_read = 0;

    trc_bytes_example(&little);
    trc_bytes_example(&big);
    for (unsigned round = 0; round < ROUNDS; round++) {
        const GByteArray *seed = round % 2 ? big.bytes : little.bytes;
        g_autoptr(GByteArray) bytes = g_byte_array_new();
        unsigned mutations = g_rand_int(random) % 6;

        g_byte_array_append(bytes, seed->data, seed->len);
        while (mutations-- > 0) {
            fuzz_mutate(random, bytes);
        }
        LLVMFuzzerTestOneInput(bytes->data, bytes->len);
        n_read++;
    }
    printf("1..1\nok 1 - %u mutated traces do no harm\n", n_read);
    return 0;
}

#endif
