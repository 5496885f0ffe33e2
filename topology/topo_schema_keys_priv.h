/* SPDX-License-Identifier: MIT */
#ifndef TOPO_SCHEMA_KEYS_PRIV_H
#define TOPO_SCHEMA_KEYS_PRIV_H

/* Macros to write a table of keys. Only files with such tables include this. */
#include "topo_schema_priv.h"

#define REQUIRED TOPO_KEY_REQUIRED

#define SECTION(ID, NAME, HELP)                                                \
    const TopoSection topo_section_##ID = {NAME, HELP, ID##_keys,              \
                                           G_N_ELEMENTS(ID##_keys)}

#define NEEDS(KEY, TYPE, HELP)                                                 \
    {                                                                          \
        .key = KEY, .type = TOPO_TYPE_##TYPE, .flags = REQUIRED, .help = HELP  \
    }
#define MAY(KEY, TYPE, FALLBACK, HELP)                                         \
    {                                                                          \
        .key = KEY, .type = TOPO_TYPE_##TYPE, .fallback = FALLBACK,            \
        .help = HELP                                                           \
    }
#define RANGE(KEY, TYPE, FALLBACK, MIN, MAX, FLAGS, HELP)                      \
    {                                                                          \
        .key = KEY, .type = TOPO_TYPE_##TYPE, .fallback = FALLBACK,            \
        .min = MIN, .max = MAX, .flags = FLAGS, .help = HELP                   \
    }
#define WORD(KEY, FALLBACK, CHOICES, FLAGS, HELP)                              \
    {                                                                          \
        .key = KEY, .type = TOPO_TYPE_WORD, .fallback = FALLBACK,              \
        .choices = CHOICES, .flags = FLAGS, .help = HELP                       \
    }
#define LIST(KEY, ID, FLAGS, HELP)                                             \
    {                                                                          \
        .key = KEY, .type = TOPO_TYPE_LIST, .section = &topo_section_##ID,     \
        .flags = FLAGS, .help = HELP                                           \
    }
#define MAP(KEY, ID, HELP)                                                     \
    {                                                                          \
        .key = KEY, .type = TOPO_TYPE_MAP, .section = &topo_section_##ID,      \
        .help = HELP                                                           \
    }

#endif
