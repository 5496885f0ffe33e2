/* SPDX-License-Identifier: MIT */
#include "program.h"

#include <stdbool.h>

#include <check.h>
#include <glib.h>
#include <glib/gstdio.h>

char *program_folder;
char *program_out, *program_err;

void program_setup(void)
{
    program_folder = g_dir_make_tmp("farside-XXXXXX", NULL);
    ck_assert_ptr_nonnull(program_folder);
}

char *program_place(const char *name)
{
    return g_build_filename(program_folder, name, NULL);
}

void program_put(const char *name, const char *text)
{
    g_autofree char *path = program_place(name);
    g_autofree char *parent = g_path_get_dirname(path);

    ck_assert_int_eq(g_mkdir_with_parents(parent, 0777), 0);
    ck_assert(g_file_set_contents(path, text, -1, NULL));
}

/* Symbolic links are not followed: their targets do not belong to the test. */
static void remove_all(const char *path)
{
    bool is_link = g_file_test(path, G_FILE_TEST_IS_SYMLINK);
    g_autoptr(GDir) dir = is_link ? NULL : g_dir_open(path, 0, NULL);
    const char *name;

    while (dir && (name = g_dir_read_name(dir))) {
        g_autofree char *below = g_build_filename(path, name, NULL);

        remove_all(below);
    }
    g_remove(path);
}

void program_teardown(void)
{
    remove_all(program_folder);
    g_clear_pointer(&program_folder, g_free);
    g_clear_pointer(&program_out, g_free);
    g_clear_pointer(&program_err, g_free);
}

int program_run(const char *words)
{
    g_auto(GStrv) pieces = g_strsplit(words, "@", -1);
    g_autofree char *text = g_strjoinv(program_folder, pieces);
    g_auto(GStrv) args = g_strsplit(text, " ", -1);
    g_autoptr(GPtrArray) argv = g_ptr_array_new();
    int status;

    g_clear_pointer(&program_out, g_free);
    g_clear_pointer(&program_err, g_free);
    g_ptr_array_add(argv, (char *)g_getenv("FARSIDE"));
    for (unsigned i = 0; args[i]; i++) {
        if (*args[i]) {
            g_strdelimit(args[i], "~", ' ');
            g_ptr_array_add(argv, args[i]);
        }
    }
    g_ptr_array_add(argv, NULL);
    ck_assert(g_spawn_sync(program_folder, (char **)argv->pdata, NULL,
                           G_SPAWN_DEFAULT, NULL, NULL, &program_out,
                           &program_err, &status, NULL));
    ck_assert_msg(g_spawn_check_wait_status(status, NULL) || status >= 256,
                  "%s: killed", words);
    return status / 256;
}
