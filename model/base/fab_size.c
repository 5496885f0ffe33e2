/* SPDX-License-Identifier: MIT */
#include "fab_size.h"

#include <inttypes.h>
#include <string.h>

#include <glib.h>

char *fab_size_text(uint64_t bytes)
{
    static const char *const units[] = {"B",   "KiB", "MiB", "GiB",
                                        "TiB", "PiB", "EiB"};

    for (unsigned i = G_N_ELEMENTS(units) - 1; i > 0; i--) {
        uint64_t unit = UINT64_C(1) << (10 * i);
        /* A hundredth of a unit is no whole number of bytes, but a quarter is:
         * fractions with two decimals are quarters. */
        uint64_t quarters = bytes % unit / (unit / 4);

        if (bytes >= unit && bytes % (unit / 4) == 0) {
            static const char *const decimals[] = {"", ".25", ".5", ".75"};

            return g_strdup_printf("%" PRIu64 "%s%s", bytes / unit,
                                   decimals[quarters], units[i]);
        }
    }
    return g_strdup_printf("%" PRIu64 "B", bytes);
}

char *fab_time_text(SimTime time)
{
    static const struct {
        const char *name;
        SimTime time;
    } units[] = {{"s", SIM_S}, {"ms", SIM_MS}, {"us", SIM_US}, {"ns", SIM_NS}};

    for (unsigned i = 0; i < G_N_ELEMENTS(units); i++) {
        SimTime unit = units[i].time;

        if (time >= unit && time % (unit / 1000) == 0) {
            g_autofree char *text =
                g_strdup_printf("%" PRId64 ".%03d", (int64_t)(time / unit),
                                (int)(time % unit / (unit / 1000)));
            size_t length = strlen(text);

            while (text[length - 1] == '0') {
                length--;
            }
            length -= text[length - 1] == '.';
            return g_strdup_printf("%.*s%s", (int)length, text, units[i].name);
        }
    }
    return g_strdup_printf("%" PRId64 "ps", (int64_t)time);
}
