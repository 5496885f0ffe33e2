/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The plugin that QEMU loads with -plugin. It loads FARSIDE_MODULE, such as the
 * devices in farside-devices.so, from the folder that it lies in, if the module
 * was built for the QEMU that runs, and its farside_module_check() agrees. Then
 * it calls its FARSIDE_ENTRY. The options of -plugin go to the module's
 * farside_module_options(), if it has one, and the plugin's ID to its
 * farside_module_watch(). Modules use QEMU's inner structures, which differ
 * between versions. This file uses only the interface of plugins, and the
 * answer to QMP's "query-version", which is the same in all of them.
 */
#include "qemu/osdep.h"
#include "qapi/qapi-types-control.h"
#include <dlfcn.h>
#include <gmodule.h>
#include "crash.h"
#include "layout.h"
#include "plugin.h"

QEMU_PLUGIN_EXPORT int qemu_plugin_version = QEMU_PLUGIN_VERSION;

/* A package that was built again from the same source ends in "+b1", or so. */
static void leave_out_rebuild(char *package)
{
    char *end = g_strrstr(package, "+b");

    if (end && end[2] && strspn(end + 2, "0123456789") == strlen(end + 2)) {
        *end = '\0';
    }
}

/*
 * The version as qemu-dev/version prints it, such as "7.2.22 (Debian
 * 1:7.2+dfsg-7+deb12u18)". NULL if the program is no QEMU that tells. The
 * caller frees it.
 */
static char *running_version(void)
{
    VersionInfo *(*query)(Error **) =
        (VersionInfo * (*)(Error **)) dlsym(RTLD_DEFAULT, "qmp_query_version");
    VersionInfo *answer = query ? query(NULL) : NULL;
    g_autofree char *number = NULL;

    if (!answer) {
        return NULL;
    }
    number = g_strdup_printf("%" PRId64 ".%" PRId64 ".%" PRId64,
                             answer->qemu->major, answer->qemu->minor,
                             answer->qemu->micro);
    if (!*answer->package) {
        return g_steal_pointer(&number);
    }
    leave_out_rebuild(answer->package);
    return g_strdup_printf("%s (%s)", number, answer->package);
}

QEMU_PLUGIN_EXPORT int qemu_plugin_install(qemu_plugin_id_t id,
                                           const qemu_info_t *info, int argc,
                                           char **argv)
{
    g_autofree char *version = running_version();
    g_autofree char *folder = NULL;
    g_autofree char *path = NULL;
    void (*register_types)(void);
    bool (*take_options)(int argc, char **argv);
    bool (*check)(void);
    void (*watch)(qemu_plugin_id_t id);
    GModule *module;
    Dl_info self;

    farside_crash_tell();
    if (g_strcmp0(version, FARSIDE_QEMU_VERSION) != 0) {
        fprintf(stderr,
                "farside: " FARSIDE_MODULE
                " was built for QEMU %s, but this is "
                "QEMU %s: run 'make devices' to build them again\n",
                FARSIDE_QEMU_VERSION, version ? version : "of another kind");
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
                         (gpointer *)&register_types) ||
        !g_module_symbol(module, "farside_module_check", (gpointer *)&check)) {
        fprintf(stderr, "farside: %s\n", g_module_error());
        return -1;
    }
    if (!check()) {
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
