/* SPDX-License-Identifier: MIT */
#ifndef CLU_FILES_H
#define CLU_FILES_H

#include <glib.h>

/*
 * Files and scripts for the hosts of @cluster: its name or file, or NULL, as
 * clu_dir_choose() takes them. The functions return an exit status, and may set
 * @error if it is not 0: a command on a host has said itself what is wrong.
 */

/* Sends the file @path to @host: @script is run there by sh, gets the content
 * as its input, and @words (ended by NULL) as $1 and following. */
int clu_files_send(const char *cluster, const char *host, const char *path,
                   const char *script, const char *const *words,
                   GError **error);

/* Runs @script as above, without input; its output is printed. */
int clu_files_sh(const char *cluster, const char *host, const char *script,
                 const char *const *words, GError **error);

/* Runs @script as above, without input, and appends its output to @output.
 * Fails if the host has not ended it within two minutes, or sends more than it
 * should. */
int clu_files_fetch(const char *cluster, const char *host, const char *script,
                    GString *output, GError **error);

/* The names of the hosts, to be freed with g_strfreev(); NULL if the cluster
 * does not answer. */
char **clu_files_hosts(const char *cluster, GError **error);

/* Copies the file @from to the path @to on @host. */
int clu_files_copy_to(const char *cluster, const char *host, const char *from,
                      const char *to, GError **error);

/* Copies the file @from on @host to the path @to. A file @to is replaced only
 * if all of @from has come; the parts are in a new file beside it, so that no
 * link that stands there leads elsewhere. */
int clu_files_copy_from(const char *cluster, const char *host, const char *from,
                        const char *to, GError **error);

/* Fails unless @path is a folder on @host. */
int clu_files_check_folder(const char *cluster, const char *host,
                           const char *path, GError **error);

#endif
