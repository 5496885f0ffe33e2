/* SPDX-License-Identifier: MIT */
/*
 * The tables of registers in docs/reference/, in which a row is
 * "| `offset` | size | access | `mask` | `reset` | function |".
 */
#ifndef DEVICE_PAGE_H
#define DEVICE_PAGE_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct {
    unsigned offset;
    unsigned size;
    char access[4];
    uint64_t mask;
    bool has_reset; /* false: the page gives none, "-" */
    uint64_t reset;
} PageRegister;

/* The lines of a page, to be freed. */
char **page_lines(const char *path);
/*
 * Adds the registers of a row to @registers, of PageRegister; nothing if @line
 * is no such row. Of two resets, "0x1, 0x2", it takes the one that is asked
 * for.
 */
void page_add(GArray *registers, const char *line, bool takes_second);

#endif
