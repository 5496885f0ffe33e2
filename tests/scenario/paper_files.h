/* SPDX-License-Identifier: MIT */
#ifndef PAPER_FILES_H
#define PAPER_FILES_H

#include <glib.h>

/* Goes to the top of the source tree, as FARSIDE_SOURCE has it: descriptions
 * name their parts, and results their scenarios, from there. */
void paper_go_to_source(void);

/* The descriptions below scenarios/paper/, sorted, NULL-terminated; with
 * @with_baseline those alone whose results results/baseline/ has. To be freed
 * with g_strfreev(). */
GStrv paper_list(gboolean with_baseline);

#endif
