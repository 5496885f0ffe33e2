/* SPDX-License-Identifier: MIT */
#ifndef INV_IMPORT_H
#define INV_IMPORT_H

#include <stddef.h>

#include <glib.h>

/*
 * Turns a dump of a real machine into a description. @text is the text (of
 * @length bytes, with a NUL behind them) of the file called @file: the output
 * of `lspci -vvv`, `lspci -x`, `lspci -t` or `nvidia-smi topo -m`, hwloc XML
 * (version 2), or NCCL topology XML. The description has one host called @host
 * with all functions, and the root ports, switches and devices that the model
 * can simulate. Its first comment lists the functions that the model leaves
 * out, and the numbers that come from generic parts because the dump does not
 * have them. @parts_dir (nullable) is the directory of the generic parts.
 * Returns YAML, and in *ret_report lines about what the model takes otherwise
 * than the dump has it; the last one says what was taken and what was not. The
 * caller frees both. On failure returns NULL, with the line in @error.
 */
char *inv_import(const char *file, const char *text, size_t length,
                 const char *host, const char *parts_dir, char **ret_report,
                 GError **error);

#endif
