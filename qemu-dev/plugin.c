/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The plugin that QEMU loads with -plugin. It loads FARSIDE_MODULE, such as the
 * devices in farside-devices.so, from the folder that it lies in, if the module
 * was built for the QEMU that runs, and calls its FARSIDE_ENTRY. The options of
 * -plugin go to the module's farside_module_options(), if it has one, and the
 * plugin's ID to its farside_module_watch(). Modules use QEMU's inner
 * structures, which differ between versions. This file uses only the interface
 * of plugins, and looks up one function by its name.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <glib.h>
#include <gmodule.h>
#include "plugin.h"

QEMU_PLUGIN_EXPORT int qemu_plugin_version = QEMU_PLUGIN_VERSION;

/* The answer to "query-version"; this file uses only the text. */
typedef struct {
    void *triple;
    char *package;
} VersionAnswer;

/*
 * The program's package, such as "Debian 1:7.2+dfsg-7+deb12u18+b3". NULL if the
 * program has no such text.
 */
static const char *running_version(void)
{
    VersionAnswer *(*query)(void *) =
        (VersionAnswer * (*)(void *)) dlsym(RTLD_DEFAULT, "qmp_query_version");
    VersionAnswer *answer = query ? query(NULL) : NULL;

    return answer ? answer->package : NULL;
}

/*
 * True if @package is FARSIDE_QEMU_VERSION, or a rebuild of the same source.
 * The version of a rebuild ends in "+b" and a number.
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
    gboolean (*take_options)(int argc, char **argv);
    void (*watch)(qemu_plugin_id_t id);
    GModule *module;
    Dl_info self;

    if (!version_is_ours(package)) {
        fprintf(stderr,
                "farside: " FARSIDE_MODULE
                " was built for QEMU %s, but this is "
                "QEMU %s: run 'make devices' to build them again\n",
                FARSIDE_QEMU_VERSION, package ? package : "of another kind");
        return -1;
    }
    if (!info->system_emulation || strcmp(info->target_name, "x86_64") != 0) {
        fprintf(stderr, "farside: " FARSIDE_MODULE " was built for "
                        "qemu-system-x86_64, not for this program\n");
        return -1;
    }
    if (!dladdr((void *)&qemu_plugin_version, &self)) {
        fprintf(stderr, "farside: cannot find the plugin's own file\n");
        return -1;
    }
    folder = g_path_get_dirname(self.dli_fname);
    path = g_build_filename(folder, FARSIDE_MODULE, NULL);
    module = g_module_open(path, G_MODULE_BIND_LOCAL);
    if (!module ||
        !g_module_symbol(module, FARSIDE_ENTRY,
                         (gpointer *)&register_types)) {
        fprintf(stderr, "farside: %s\n", g_module_error());
        return -1;
    }
    if (g_module_symbol(module, "farside_module_options",
                        (gpointer *)&take_options) &&
        !take_options(argc, argv)) {
        return -1;
    }
    if (g_module_symbol(module, "farside_module_watch", (gpointer *)&watch)) {
        watch(id);
    }
    /* The types that this registers point into the module. */
    g_module_make_resident(module);
    register_types();
    return 0;
}
