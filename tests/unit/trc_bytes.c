/* SPDX-License-Identifier: MIT */
#include "trc_bytes.h"

#include <inttypes.h>
#include <string.h>

TrcBytes trc_bytes_new(bool is_big)
{
    return (TrcBytes){g_byte_array_new(), is_big};
}

void trc_bytes_clear(TrcBytes *self)
{
    g_byte_array_unref(self->bytes);
}

/* Appends a number of @size bytes. */
static void put(GByteArray *bytes, bool is_big, uint64_t value, unsigned size)
{
    for (unsigned i = 0; i < size; i++) {
        unsigned shift = 8 * (is_big ? size - 1 - i : i);
        uint8_t byte = (uint8_t)(value >> shift);

        g_byte_array_append(bytes, &byte, 1);
    }
}

static void pad(GByteArray *bytes)
{
    static const uint8_t zeros[4];

    g_byte_array_append(bytes, zeros, -bytes->len & 3);
}

void trc_bytes_block(TrcBytes *self, uint32_t type, const void *body,
                     unsigned size)
{
    unsigned length = 12 + ((size + 3) & ~3u);

    put(self->bytes, self->is_big, type, 4);
    put(self->bytes, self->is_big, length, 4);
    g_byte_array_append(self->bytes, body, size);
    pad(self->bytes);
    put(self->bytes, self->is_big, length, 4);
}

static void put_option(GByteArray *body, bool is_big, unsigned code,
                       const void *value, unsigned size)
{
    put(body, is_big, code, 2);
    put(body, is_big, size, 2);
    g_byte_array_append(body, value, size);
    pad(body);
}

void trc_bytes_section(TrcBytes *self)
{
    g_autoptr(GByteArray) body = g_byte_array_new();

    put(body, self->is_big, 0x1a2b3c4d, 4);
    put(body, self->is_big, 1, 2);
    put(body, self->is_big, 0, 2);
    put(body, self->is_big, UINT64_MAX, 8);
    trc_bytes_block(self, 0x0a0d0d0a, body->data, body->len);
}

void trc_bytes_interface(TrcBytes *self, unsigned link_type, const char *name,
                         int resolution)
{
    g_autoptr(GByteArray) body = g_byte_array_new();
    uint8_t byte = (uint8_t)resolution;

    put(body, self->is_big, link_type, 2);
    put(body, self->is_big, 0, 2);
    put(body, self->is_big, 0, 4);
    put_option(body, self->is_big, 2, name, (unsigned)strlen(name));
    if (resolution >= 0) {
        put_option(body, self->is_big, 9, &byte, 1);
    }
    put_option(body, self->is_big, 0, "", 0);
    trc_bytes_block(self, 1, body->data, body->len);
}

/* Appends the bytes that @hex gives as hexadecimal digits. */
static void put_hex(GByteArray *bytes, const char *hex)
{
    int high = -1;

    for (; *hex != '\0'; hex++) {
        int digit = g_ascii_xdigit_value(*hex);

        if (digit >= 0 && high >= 0) {
            uint8_t byte = (uint8_t)(high << 4 | digit);

            g_byte_array_append(bytes, &byte, 1);
            high = -1;
        } else if (digit >= 0) {
            high = digit;
        }
    }
}

uint64_t trc_bytes_packet(TrcBytes *self, unsigned interface, uint64_t time,
                          const char *hex, unsigned original)
{
    g_autoptr(GByteArray) data = g_byte_array_new();
    g_autoptr(GByteArray) body = g_byte_array_new();
    uint64_t place = self->bytes->len;

    put_hex(data, hex);
    put(body, self->is_big, interface, 4);
    put(body, self->is_big, time >> 32, 4);
    put(body, self->is_big, time & UINT32_MAX, 4);
    put(body, self->is_big, data->len, 4);
    put(body, self->is_big, original > 0 ? original : data->len, 4);
    g_byte_array_append(body, data->data, data->len);
    trc_bytes_block(self, 6, body->data, body->len);
    return place;
}

void trc_bytes_statistics(TrcBytes *self, unsigned interface, uint64_t dropped)
{
    g_autoptr(GByteArray) body = g_byte_array_new();
    g_autoptr(GByteArray) value = g_byte_array_new();

    put(body, self->is_big, interface, 4);
    put(body, self->is_big, 0, 8);
    put(value, self->is_big, dropped, 8);
    put_option(body, self->is_big, 5, value->data, value->len);
    put_option(body, self->is_big, 0, "", 0);
    trc_bytes_block(self, 5, body->data, body->len);
}

char *trc_bytes_head(unsigned kind, unsigned partition, uint32_t sequence,
                     uint32_t transaction, uint64_t near)
{
    return g_strdup_printf("4653 01 20 %02x %02x %02x %02x %08x %08x "
                           "%016" PRIx64 " %016" PRIx64 " ",
                           kind, near ? 1 : 0, partition, near ? 2 : 0,
                           sequence, transaction, near, near & 0xfffff);
}

static void add(TrcBytes *self, unsigned partition, uint64_t time,
                const char *head, const char *body)
{
    g_autofree char *hex = g_strconcat(head, body, NULL);

    trc_bytes_packet(self, partition, time, hex, 0);
}

void trc_bytes_example(TrcBytes *self)
{
    /* One packet of each kind, by kind */
    static const char *const bodies[] = {
        [2] = "00000001 00000028",
        [3] = "",
        [4] = "00000001",
        [5] = "00000001",
        [6] = "",
        [7] = "0000000500000000",
        [8] = "00000001 0000beef",
        [9] = "00000007",
        [10] = "00000007 0000 0000 00000000 00000000 0000000000000000 "
               "00000000 00000000",
        [11] = "00000007 0001 0000 "
               "00000000 00000000 0000000000000000 00000000 00000000 "
               "00000000 00000000 0000000000000000 00000000 00000000 "
               "000fd020 00000000 0000000000000000 00000000 00000000 "
               "00000000 00000000 0000000000000000 00000000 00000000 "
               "00000010 0020001d 0000000000000001 00000000 00000000 "
               "00000000 00000000 0000000000000000 00000000 00000000 "
               "0000000000090003",
        [12] = "00000007 00000000 00000003 00000000",
        [13] = "00000007",
        [14] = "00000001 00000000 0000000000100000 0000000003f00000",
    };
    const uint64_t start = 1700000000000000000;
    unsigned sequence = 0;
    g_autofree char *write = NULL, *read = NULL, *cpl = NULL, *begin = NULL;

    trc_bytes_section(self);
    trc_bytes_interface(self, 147, "a:cable0", 9);
    trc_bytes_interface(self, 147, "b:cable0", 9);
    for (unsigned kind = 2; kind < G_N_ELEMENTS(bodies); kind++) {
        g_autofree char *head = trc_bytes_head(kind, 0, sequence, 0, 0);

        add(self, 0, start + 1000 * sequence, head, bodies[kind]);
        sequence++;
    }
    write = trc_bytes_head(1, 0, sequence, 0, 0xe1001004);
    add(self, 0, start + 100000, write, "40000001 0028000f fee01004 21430000");
    read = trc_bytes_head(1, 0, sequence + 1, 0x1234, 0xe1010010);
    add(self, 0, start + 200000, read, "20000002 002834ff 00000012 34560010");
    begin = trc_bytes_head(2, 1, 0, 0, 0);
    add(self, 1, start + 10, begin, "00000001 00000030");
    cpl = trc_bytes_head(1, 1, 1, 0x1234, 0);
    add(self, 1, start + 250000, cpl,
        "4a000002 00300008 00283410 88776655 44332211");
    trc_bytes_statistics(self, 0, 0);
}
