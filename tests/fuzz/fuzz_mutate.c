/* SPDX-License-Identifier: MIT */
#include "fuzz_mutate.h"

#include <stdint.h>
#include <string.h>

void fuzz_mutate(GRand *random, GByteArray *bytes)
{
    static const uint8_t values[] = {0,    1,    2,    3,    4,   12,
                                     0x20, 0x40, 0x7f, 0x80, 0xff};
    unsigned at = g_rand_int(random) % bytes->len;
    unsigned length = 4 * (1 + g_rand_int(random) % 16);

    length = MIN(length, bytes->len - at);
    switch (g_rand_int(random) % 6) {
    case 0:
    case 1:
        bytes->data[at] = values[g_rand_int(random) % sizeof(values)];
        break;
    case 2:
        bytes->data[at] ^= (uint8_t)(1u << g_rand_int(random) % 8);
        break;
    case 3:
        /* Turns aligned fields into extreme values, such as a length of 4 GiB.
         */
        at &= ~3u;
        memset(bytes->data + at, g_rand_boolean(random) ? 0xff : 0,
               MIN(4, bytes->len - at));
        break;
    case 4:
        if (length < bytes->len) {
            g_byte_array_remove_range(bytes, at, length);
        }
        break;
    default: {
        g_autofree uint8_t *copy = g_memdup2(bytes->data + at, length);

        g_byte_array_append(bytes, copy, length);
        break;
    }
    }
}
