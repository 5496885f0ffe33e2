/* SPDX-License-Identifier: MIT */
#include "clu_memory.h"

#include "topo_units.h"

#define MIB (INT64_C(1) << 20)

/* The bytes that the image needs, in whole MiB; 0 if that is not known. */
static int64_t read_need(const char *image)
{
    g_autofree char *path = g_build_filename(image, CLU_MEMORY_FILE, NULL);
    g_autofree char *text = NULL;
    guint64 bytes;

    if (!g_file_get_contents(path, &text, NULL, NULL) ||
        !g_ascii_string_to_unsigned(g_strchomp(text), 10, 1, INT64_MAX / 2,
                                    &bytes, NULL)) {
        return 0;
    }
    return ((int64_t)bytes + MIB - 1) / MIB * MIB;
}

static bool check(TopoPlace place, const char *name, int64_t bytes,
                  int64_t need, TopoErrors *errors)
{
    g_autofree char *has = topo_units_format(TOPO_UNIT_BYTES, bytes);
    g_autofree char *least = topo_units_format(TOPO_UNIT_BYTES, need);

    if (bytes >= need) {
        return true;
    }
    topo_errors_add(errors, place,
                    "%s has %s of memory, and its image needs %s to boot; "
                    "write memory: %s or more",
                    name, has, least, least);
    return false;
}

bool clu_memory_check(const TopoHost *host, const char *image,
                      TopoErrors *errors)
{
    const TopoVm *vm = host->vm;
    int64_t need = read_need(image);
    g_autofree char *name = g_strdup_printf("host '%s'", host->name);
    bool is_good =
        check(vm->memory_place, name, vm->memory_bytes, need, errors);

    for (unsigned i = 0; i < vm->inner->len; i++) {
        const TopoInner *inner = vm->inner->pdata[i];
        g_autofree char *inside = g_strdup_printf(
            "the virtual machine '%s' of %s", inner->name, name);

        is_good =
            check(inner->place, inside, inner->memory_bytes, need, errors) &&
            is_good;
    }
    return is_good;
}
