/* SPDX-License-Identifier: MIT */
#include "device_page.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#define NO_RESET "-"

static char *cell_text(const char *cell)
{
    char *text = g_strdelimit(g_strdup(cell), "`", ' ');

    return g_strstrip(text);
}

/* "0x4018 2x0x400 47x4" */
static void add_registers(GArray *registers, const char *where,
                          const PageRegister *first)
{
    g_auto(GStrv) words = g_strsplit(where, " ", -1);
    GArray *offsets = g_array_new(FALSE, FALSE, sizeof(unsigned));
    unsigned i, j, k, count, step, offset;
    char *end;

    offset = strtoul(words[0], NULL, 16);
    g_array_append_val(offsets, offset);
    for (i = 1; words[i]; i++) {
        unsigned known = offsets->len;

        count = strtoul(words[i], &end, 10);
        ck_assert_msg(*end == 'x' && count > 0, "page: '%s'", where);
        step = strtoul(end + 1, NULL, 0);
        for (j = 1; j < count; j++) {
            for (k = 0; k < known; k++) {
                offset = g_array_index(offsets, unsigned, k) + j * step;
                g_array_append_val(offsets, offset);
            }
        }
    }
    for (i = 0; i < offsets->len; i++) {
        PageRegister r = *first;

        r.offset = g_array_index(offsets, unsigned, i);
        g_array_append_val(registers, r);
    }
    g_array_free(offsets, TRUE);
}

char **page_lines(const char *path)
{
    g_autofree char *text = NULL;

    ck_assert(g_file_get_contents(path, &text, NULL, NULL));
    return g_strsplit(text, "\n", -1);
}

void page_add(GArray *registers, const char *line, bool takes_second)
{
    g_auto(GStrv) cells = NULL;
    g_autofree char *where = NULL;
    g_autofree char *access = NULL;
    g_autofree char *mask = NULL;
    g_autofree char *reset = NULL;
    const char *second;
    PageRegister r = {0};

    if (!g_str_has_prefix(line, "| `0x")) {
        return;
    }
    cells = g_strsplit(line, "|", 7);
    ck_assert_uint_ge(g_strv_length(cells), 7);
    where = cell_text(cells[1]);
    r.size = (unsigned)atoi(cells[2]);
    access = cell_text(cells[3]);
    mask = cell_text(cells[4]);
    reset = cell_text(cells[5]);
    g_strlcpy(r.access, access, sizeof(r.access));
    r.mask = g_ascii_strtoull(mask, NULL, 0);
    r.has_reset = strcmp(reset, NO_RESET) != 0;
    second = strchr(reset, ',');
    r.reset =
        g_ascii_strtoull(second && takes_second ? second + 1 : reset, NULL, 0);
    ck_assert_msg(r.size == 1 || r.size == 2 || r.size == 4 || r.size == 8,
                  "page: '%s'", line);
    add_registers(registers, where, &r);
}
