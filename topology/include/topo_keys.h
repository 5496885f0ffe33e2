/* SPDX-License-Identifier: MIT */
#ifndef TOPO_KEYS_H
#define TOPO_KEYS_H

#include <glib.h>

/*
 * Completes the beginning of a change, such as "links.cab" or
 * "workload.flows.read.op=": returns the texts that it may go on to, of the
 * level that it has reached. A text ends in "." if the path goes on, in "=" if
 * a value follows, and in neither if it is a whole change. The file of the
 * description is @path, which may have errors. The array owns its texts; the
 * caller frees it.
 */
GPtrArray *topo_keys_complete(const char *path, const char *begun);

#endif
