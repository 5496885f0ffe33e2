/* SPDX-License-Identifier: MIT */
#include "trc_file.h"

static int compare(const void *a, const void *b, void *data)
{
    const TrcFile *file = data;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    TrcRecord one, other;

    trc_file_record(file, x, &one);
    trc_file_record(file, y, &other);
    if (one.time_ns != other.time_ns) {
        return one.time_ns < other.time_ns ? -1 : 1;
    }
    if (one.interface != other.interface) {
        return one.interface < other.interface ? -1 : 1;
    }
    return x < y ? -1 : x > y;
}

uint32_t *trc_file_order(TrcFile *file)
{
    size_t count = trc_file_n_records(file);
    uint32_t *order = g_new(uint32_t, count + 1);
    bool is_sorted = true;

    for (size_t i = 0; i < count; i++) {
        order[i] = (uint32_t)i;
        is_sorted = is_sorted &&
                    (i == 0 || compare(&order[i - 1], &order[i], file) < 0);
    }
    if (!is_sorted) {
        g_qsort_with_data(order, (int)count, sizeof(*order), compare, file);
    }
    return order;
}
