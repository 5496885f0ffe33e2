/* SPDX-License-Identifier: MIT */
#ifndef INV_IMPORT_H
#define INV_IMPORT_H

#include <stddef.h>

#include <glib.h>

/*
 * Turns a dump of a real machine into a description. @text is the text (of
 * @length bytes, with a NUL behind them) of the file called @file: the output
 * of `lspci -vvv`, of `lspci -x`, or of `lspci -t`, hwloc XML (version 2), or
 * NCCL topology XML. The description has one host called @host with all
 * functions, and the root ports, switches and devices that the model can
 * simulate. Its first comment lists the functions that the model leaves out,
 * and the numbers that come from generic parts because no dump has them.
 * @parts_dir (nullable) is the directory of the generic parts. Returns YAML, to
 * be freed; on failure NULL, with the line in @error.
 */
char *inv_import(const char *file, const char *text, size_t length,
                 const char *host, const char *parts_dir, GError **error);

#endif
