/* SPDX-License-Identifier: MIT */
#ifndef CLU_DIR_H
#define CLU_DIR_H

#include <stdbool.h>

#include <glib.h>

/*
 * The directory of a running cluster: $XDG_RUNTIME_DIR/farside/NAME, or
 * /tmp/farside-UID/NAME. Only its user may enter it. The file `lock` in it is
 * locked for as long as any process of the cluster lives. If all processes of a
 * cluster were killed at once, their files stay until the next cluster of that
 * name removes them.
 */
typedef struct CluDir CluDir;

/* Name of the supervisor's socket in that directory. */
#define CLU_DIR_CONTROL "control"

/* Name of a file in it that holds the full path of the cluster's description.
 */
#define CLU_DIR_FILE "file"

/* That path, for the cluster whose directory is @dir, to be freed; NULL if it
 * cannot be read. */
char *clu_dir_description(const char *dir);

/* Paths in the directory @dir of a cluster, to be freed. */

/* The socket to which the two NTB devices of @link connect. */
char *clu_dir_link_path(const char *dir, const char *link);

/* The socket to which the ivshmem clients of @region connect. */
char *clu_dir_region_path(const char *dir, const char *region);

/* The socket of the second monitor of @host, for users (`qmp: on`). */
char *clu_dir_qmp_path(const char *dir, const char *host);

/* The socket at which gdb can debug @host (`gdb: on`). */
char *clu_dir_gdb_path(const char *dir, const char *host);

/* The log of the console of @host. */
char *clu_dir_log_path(const char *dir, const char *host);

/* Makes and locks the directory of the cluster @name. NULL and @error if that
 * fails, or a cluster of that name runs. */
CluDir *clu_dir_new(const char *name, GError **error);

/* Frees @dir (nullable) and closes its descriptor of the lock. The directory
 * stays. */
void clu_dir_free(CluDir *dir);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CluDir, clu_dir_free)

const char *clu_dir_path(const CluDir *dir);

/* The descriptor that holds the lock; borrowed. */
int clu_dir_lock(const CluDir *dir);

/*
 * Forks the keeper of @dir: a process that waits until every copy of the
 * descriptor *ret_alive is closed, and then removes the directory. So the
 * directory goes even if all holders are killed. Call this function while there
 * is only one thread.
 */
bool clu_dir_keep(const CluDir *dir, int *ret_alive, GError **error);

/* Names of the clusters that run, sorted; to be freed by g_strfreev(). */
char **clu_dir_list(void);

/* The path of the directory of the cluster @name, to be freed. It need not
 * exist. */
char *clu_dir_find(const char *name);

/* Waits until the lock of the directory @path is free or the directory is gone.
 * Returns false if that takes longer than @timeout_ms. */
bool clu_dir_wait_gone(const char *path, unsigned timeout_ms);

/* Lets the processes that hold the lock of the directory @path go on, if they
 * were stopped by a signal. */
void clu_dir_continue(const char *path);

/* True if @name may be the name of a cluster. */
bool clu_dir_is_name(const char *name);

/* The directory of the cluster @word, to be freed. @word is a name, the file of
 * a description, or NULL for the only cluster that runs. NULL and
 * CLU_ERROR_USAGE if there is none. */
char *clu_dir_choose(const char *word, GError **error);

#endif
