/* SPDX-License-Identifier: MIT */
/*
 * Invariant: for any bytes, the CSV reader returns a table, or an error that
 * names the file. The table can be printed. Printed as CSV and read again, it
 * gives the same CSV.
 *
 * As a test, this program runs a fixed number of mutations of the seeds, from a
 * fixed random seed. With FARSIDE_LIBFUZZER defined it is a libFuzzer target.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <glib.h>

#include "table.h"
#include "table_csv.h"
#include "table_format.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool is_true, const char *what)
{
    if (!is_true) {
        fprintf(stderr, "fuzz_csv: %s\n", what);
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(Table) table =
        table_parse((const char *)data, size, "fuzz", &error);
    g_autoptr(Table) back = NULL;
    g_autofree char *csv = NULL;
    g_autofree char *again = NULL;
    g_autofree char *text = NULL;

    if (!table) {
        must(error && g_str_has_prefix(error->message, "fuzz:"),
             "a refusal without a place");
        return 0;
    }
    must(!error, "a table and an error");
    text = table_format(table);
    must(g_utf8_validate(text, -1, NULL), "a terminal text that is not UTF-8");
    csv = table_to_csv(table);
    back = table_parse(csv, strlen(csv), "fuzz", &error);
    must(back, "CSV that we print but do not read");
    again = table_to_csv(back);
    must(strcmp(csv, again) == 0, "CSV that changes on the way");
    return 0;
}

#ifndef FARSIDE_LIBFUZZER

#define ROUNDS 200000

static const char *const seeds[] = {
    ("# farside 0.1.0\n# scenario: a.yaml\n# tolerance: y 1%\n"
     "panel,scenario,x_bytes,y\nread,Loc,4096,1.546\nread,Rem,8192,-0.250\n"),
    "a,b\r\n\"x,\"\"y\"\"\",1\r\n\"\n\",2\r\n",
    "\xef\xbb\xbfn\n9223372036854775807\n-0.000000001\n\n\"\"\n",
    "\"#a\",\" b\"\n漢,e\xcc\x81\n",
};

/* Bytes that have a meaning in CSV, for mutations that reach more code. */
static const char tokens[] = "\",\n\r#.-0 :\0\xff\x1b\xc3 9";

static void mutate(GRand *random, GByteArray *text)
{
    unsigned at = text->len > 0 ? g_rand_int(random) % text->len : 0;
    uint8_t byte = (uint8_t)tokens[g_rand_int(random) % (sizeof(tokens) - 1)];
    unsigned length;

    switch (g_rand_int(random) % 5) {
    case 0:
        if (text->len > 0) {
            text->data[at] = byte;
        }
        break;
    case 1:
        g_byte_array_append(text, &byte, 1);
        if (text->len > 1) {
            memmove(text->data + at + 1, text->data + at, text->len - at - 1);
            text->data[at] = byte;
        }
        break;
    case 2:
        length = 1 + g_rand_int(random) % 8;
        length = MIN(text->len - at, length);
        if (length > 0) {
            g_byte_array_remove_range(text, at, length);
        }
        break;
    case 3:
        if (text->len > 0) {
            text->data[at] ^= (uint8_t)(1u << g_rand_int(random) % 8);
        }
        break;
    default:
        length = MIN(text->len - at, 64);
        if (text->len < 4096) {
            g_autofree uint8_t *copy = g_memdup2(text->data + at, length);

            g_byte_array_append(text, copy, length);
        }
        break;
    }
}

int main(void)
{
    g_autoptr(GRand) random = g_rand_new_with_seed(1);
    unsigned round;

    for (round = 0; round < ROUNDS; round++) {
        g_autoptr(GByteArray) text = g_byte_array_new();
        const char *seed = seeds[round % G_N_ELEMENTS(seeds)];
        unsigned mutations = g_rand_int(random) % 8;

        g_byte_array_append(text, (const uint8_t *)seed,
                            (unsigned)strlen(seed));
        while (mutations-- > 0) {
            mutate(random, text);
        }
        LLVMFuzzerTestOneInput(text->data, text->len);
    }
    puts("1..1\nok 1 - mutated CSV neither crashes nor changes");
    return 0;
}

#endif
