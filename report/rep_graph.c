/* SPDX-License-Identifier: MIT */
#include "rep_graph.h"

#include <string.h>

#include "rep_program_priv.h"
#include "table_file.h"

bool rep_graph_write(const char *dot, const char *path, GError **error)
{
    static const char *const endings[] = {".svg", ".png", ".pdf", ".dot", NULL};
    const char *ending = strrchr(path, '.');
    g_autofree char *format = NULL;
    g_autoptr(GBytes) picture = NULL;

    if (!ending || !g_strv_contains(endings, ending)) {
        g_set_error(error, TABLE_ERROR, TABLE_ERROR_VALUE,
                    "%s: a drawing ends in .svg, .png, .pdf or .dot", path);
        return false;
    }
    if (strcmp(ending, ".dot") == 0) {
        return table_file_write(path, dot, strlen(dot), error);
    }
    format = g_strconcat("-T", ending + 1, NULL);
    picture = rep_program_draw(
        &(RepProgram){(const char *const[]){"dot", format, NULL}, "graphviz"},
        dot, error);
    return picture && table_file_write(path, g_bytes_get_data(picture, NULL),
                                       g_bytes_get_size(picture), error);
}
