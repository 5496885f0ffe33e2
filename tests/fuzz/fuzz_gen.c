/* SPDX-License-Identifier: MIT */
/* Random descriptions: the choices, and the order of the sections. */
#include <stdarg.h>

#include "fuzz_gen.h"

unsigned gen_below(Gen *gen, unsigned limit)
{
    return g_rand_int_range(gen->rand, 0, (gint32)limit);
}

bool gen_one_in(Gen *gen, unsigned n)
{
    return gen_below(gen, n) == 0;
}

void gen_add(Gen *gen, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    g_string_append_vprintf(gen->text, format, args);
    va_end(args);
}

char *gen_description(guint32 seed)
{
    Gen gen = {
        .rand = g_rand_new_with_seed(seed),
        .text = g_string_new(NULL),
        .devices = g_ptr_array_new_with_free_func(g_free),
        .lent = g_hash_table_new(g_str_hash, g_str_equal),
        .gpus = g_ptr_array_new(),
        .drives = g_ptr_array_new(),
        .nics = g_ptr_array_new(),
        .movers = g_ptr_array_new(),
    };

    gen_add(&gen, "# seed %u\nname: random\n", seed);
    gen_add_hosts(&gen);
    gen_add_faults(&gen);
    gen_add_workload(&gen);
    g_rand_free(gen.rand);
    g_ptr_array_unref(gen.gpus);
    g_ptr_array_unref(gen.drives);
    g_ptr_array_unref(gen.nics);
    g_ptr_array_unref(gen.movers);
    g_hash_table_unref(gen.lent);
    g_ptr_array_unref(gen.devices);
    return g_string_free(gen.text, FALSE);
}
