/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What QEMU loads with -plugin: looks whether this is the QEMU that the devices
 * were built for, and only then loads them (farside-devices.so, beside this
 * file). Devices use QEMU's inner structures, which differ between versions;
 * this file uses nothing but what plugins may.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <glib.h>
#include <gmodule.h>
#include "qemu/qemu-plugin.h"

QEMU_PLUGIN_EXPORT int qemu_plugin_version = QEMU_PLUGIN_VERSION;

/* The answer of "query-version", of which only the text is looked at. */
typedef struct {
    void *triple;
    char *package;
} VersionAnswer;

/*
 * The program's package, as in "Debian 1:7.2+dfsg-7+deb12u18+b3". NULL where it
 * cannot be asked.
 */
static const char *running_version(void)
{
    VersionAnswer *(*query)(void *) =
        (VersionAnswer * (*)(void *)) dlsym(RTLD_DEFAULT, "qmp_query_version");
    VersionAnswer *answer = query ? query(NULL) : NULL;

    return answer ? answer->package : NULL;
}

/*
 * A rebuild of the same source has a "+b" and a number more; a later one has
 * another name.
 */
static int version_is_ours(const char *package)
{
    const char *found = package ? strstr(package, FARSIDE_QEMU_VERSION) : NULL;
    const char *rest = found ? found + strlen(FARSIDE_QEMU_VERSION) : NULL;

    return rest && (*rest == '\0' || *rest == ')' ||
                    strncmp(rest, "+b", 2) == 0);
}

QEMU_PLUGIN_EXPORT int qemu_plugin_install(qemu_plugin_id_t id,
                                           const qemu_info_t *info, int argc,
                                           char **argv)
{
    const char *package = running_version();
    g_autofree char *folder = NULL;
    g_autofree char *path = NULL;
    void (*register_types)(void);
    GModule *module;
    Dl_info self;

    if (!version_is_ours(package)) {
        fprintf(stderr,
                "farside: these devices were built for QEMU %s, but this is "
                "QEMU %s; build them again\n",
                FARSIDE_QEMU_VERSION, package ? package : "of another kind");
        return -1;
    }
    if (!info->system_emulation || strcmp(info->target_name, "x86_64") != 0) {
        fprintf(stderr, "farside: the devices are for qemu-system-x86_64\n");
        return -1;
    }
    if (!dladdr((void *)&qemu_plugin_version, &self)) {
        fprintf(stderr, "farside: cannot find the plugin's own file\n");
        return -1;
    }
    folder = g_path_get_dirname(self.dli_fname);
    path = g_build_filename(folder, "farside-devices.so", NULL);
    module = g_module_open(path, G_MODULE_BIND_LOCAL);
    if (!module ||
        !g_module_symbol(module, "farside_ntb_register_types",
                         (gpointer *)&register_types)) {
        fprintf(stderr, "farside: %s\n", g_module_error());
        return -1;
    }
    /* The types point into it from now on. */
    g_module_make_resident(module);
    register_types();
    return 0;
}
