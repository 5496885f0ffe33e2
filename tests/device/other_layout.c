/* SPDX-License-Identifier: MIT */
/* The entry of a module whose headers the plugin should have refused. */
#include <stdio.h>
#include <stdlib.h>

void other_layout_register(void);

void other_layout_register(void)
{
    fprintf(stderr, "other headers are not noticed\n");
    exit(1);
}
