/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A pcapng file to which several processes append (wire/farside_trace.h). A
 * thread does the writing, so that no disk and no other process holds up the
 * machine.
 */
#ifndef FARSIDE_TRACE_FILE_H
#define FARSIDE_TRACE_FILE_H

#include "qemu/osdep.h"
#include "qemu/iov.h"

typedef struct FarsideTraceFile FarsideTraceFile;

/*
 * Opens the trace at @path for packets of interface @interface. A file that is
 * missing or empty gets a header with @names. NULL, and @errp set, where it
 * cannot be opened or is no trace.
 */
FarsideTraceFile *farside_trace_file_open(const char *path, unsigned interface,
                                          const char *const *names,
                                          Error **errp);

/*
 * Adds a packet, made of @count pieces, with the time of now. It is written a
 * little later; if too much waits, it is dropped and counted.
 */
void farside_trace_file_add(FarsideTraceFile *file, const struct iovec *pieces,
                            unsigned count);

/*
 * Writes what waits and the statistics, and frees @file (nullable). What
 * cannot be written within a second is lost, which is warned of.
 */
void farside_trace_file_close(FarsideTraceFile *file);

#endif /* FARSIDE_TRACE_FILE_H */
