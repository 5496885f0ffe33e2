/* SPDX-License-Identifier: MIT */
#ifndef CLU_DIR_H
#define CLU_DIR_H

#include <stdbool.h>

#include <glib.h>

/*
 * The directory of a running cluster: $XDG_RUNTIME_DIR/farside/NAME, or
 * /tmp/farside-UID/NAME. Only its user may enter it. The file `lock` in it is
 * locked for as long as any process of the cluster lives. If all processes of a
 * cluster were killed at once, the next one of that name replaces the files
 * that they left.
 */
typedef struct CluDir CluDir;

/* The socket in it at which the supervisor answers. */
#define CLU_DIR_CONTROL "control"

/* A file in it that holds the full path of its description. */
#define CLU_DIR_FILE "file"

/* Paths in the directory @dir of a cluster, to be freed: the sockets at which
 * the two NTB devices of a link meet, the clients of a region connect, and a
 * host's monitor answers (`qmp: on`), and the log of a host's console. */
char *clu_dir_link_path(const char *dir, const char *link);
char *clu_dir_region_path(const char *dir, const char *region);
char *clu_dir_qmp_path(const char *dir, const char *host);
char *clu_dir_log_path(const char *dir, const char *host);

/* Makes and locks the directory of the cluster @name. NULL and @error if that
 * fails, or a cluster of that name runs. */
CluDir *clu_dir_new(const char *name, GError **error);

/* Frees @dir (nullable) and its hold on the lock; the directory stays. */
void clu_dir_free(CluDir *dir);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CluDir, clu_dir_free)

const char *clu_dir_path(const CluDir *dir);

/* The descriptor that holds the lock; borrowed. */
int clu_dir_lock(const CluDir *dir);

/*
 * Forks the keeper of @dir: a process that waits until every copy of *ret_alive
 * is closed, however its holders end, and then removes the directory. Call it
 * while there is only one thread.
 */
bool clu_dir_keep(const CluDir *dir, int *ret_alive, GError **error);

/* Names of the clusters that run, sorted; to be freed by g_strfreev(). */
char **clu_dir_list(void);

/* The path of the directory of a cluster called @name, which need not exist; to
 * be freed. */
char *clu_dir_find(const char *name);

/* Waits until the lock of the directory @path is free, or the directory is
 * gone. False after @timeout_ms. */
bool clu_dir_wait_gone(const char *path, unsigned timeout_ms);

/* True if @name may be the name of a cluster. */
bool clu_dir_is_name(const char *name);

#endif
