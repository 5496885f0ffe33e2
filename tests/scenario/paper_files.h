/* SPDX-License-Identifier: MIT */
#ifndef PAPER_FILES_H
#define PAPER_FILES_H

#include <glib.h>

/* Changes to the top of the source tree (FARSIDE_SOURCE). Descriptions give the
 * paths of their parts from there, and results those of their scenarios. */
void paper_go_to_source(void);

/* The descriptions below scenarios/paper/, sorted and NULL-terminated. With
 * @with_baseline, only those whose results are in results/baseline/. The caller
 * frees it with g_strfreev(). */
GStrv paper_list(gboolean with_baseline);

#endif
