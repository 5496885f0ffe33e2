/* SPDX-License-Identifier: MIT */
#include <inttypes.h>

#include "table_csv.h"
#include "table_format.h"
#include "trc_show.h"

static GPtrArray *read_all(char *const *paths, GError **error)
{
    g_autoptr(GPtrArray) files =
        g_ptr_array_new_with_free_func((GDestroyNotify)trc_file_free);

    for (; *paths; paths++) {
        TrcFile *file = trc_file_read(*paths, error);

        if (!file) {
            return NULL;
        }
        g_ptr_array_add(files, file);
    }
    return g_steal_pointer(&files);
}

static void append_losses(GString *text, const TrcFile *file, const char *path,
                          const char *before)
{
    for (unsigned j = 0; j < trc_file_n_interfaces(file); j++) {
        const TrcInterface *interface = trc_file_interface(file, j);

        if (interface->missing > 0 || interface->dropped > 0) {
            g_string_append_printf(
                text,
                "%s%s: %s: %" PRIu64
                " packets are missing; its writer dropped %" PRIu64 "\n",
                before, path, interface->name, interface->missing,
                interface->dropped);
        }
    }
    if (trc_file_n_foreign(file) > 0) {
        g_string_append_printf(text,
                               "%s%s: %" PRIu64
                               " packets of other link types are left out\n",
                               before, path, trc_file_n_foreign(file));
    }
}

static bool append_all_losses(GString *text, const GPtrArray *files,
                              char *const *paths, const char *before)
{
    bool is_whole = true;

    for (unsigned i = 0; i < files->len; i++) {
        const TrcFile *file = files->pdata[i];
        const GError *damage = trc_file_damage(file);

        append_losses(text, file, paths[i], before);
        if (damage) {
            g_string_append_printf(text, "%s%s\n", before, damage->message);
            is_whole = false;
        }
    }
    return is_whole;
}

static void show_line(const TrcView *view, const TrcCrossing *crossing,
                      int64_t since_ns, void *data)
{
    const TrcShow *show = data;
    g_autofree char *line = trc_view_line(view, crossing, since_ns);

    show->print(line);
}

static bool show_view(const TrcView *view, const TrcShow *show, GError **error)
{
    g_autoptr(Table) table = show->is_summary ? trc_view_summary(view)
                             : show->csv      ? trc_view_table(view)
                                              : NULL;
    g_autofree char *text = NULL;

    if (!table) {
        trc_view_each(view, show_line, (void *)show);
        return true;
    }
    if (show->csv) {
        return table_write(table, show->csv, error);
    }
    text = table_format(table);
    show->print(g_strchomp(text));
    return true;
}

bool trc_show(char *const *paths, const TrcFilter *filter, const TrcShow *show,
              const char *before, GString *losses, bool *ret_is_whole,
              GError **error)
{
    g_autoptr(GPtrArray) files = read_all(paths, error);
    g_autoptr(TrcView) view = NULL;

    *ret_is_whole = files;
    if (!files) {
        return false;
    }
    view = trc_view_new((TrcFile *const *)files->pdata, files->len, filter);
    *ret_is_whole = append_all_losses(losses, files, paths, before);
    return show_view(view, show, error);
}
