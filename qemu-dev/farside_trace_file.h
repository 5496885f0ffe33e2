/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A pcapng file to which several processes append (wire/farside_trace.h). A
 * thread writes it, so that no disk and no other process delays the machine.
 */
#ifndef FARSIDE_TRACE_FILE_H
#define FARSIDE_TRACE_FILE_H

#include "qemu/osdep.h"
#include "qemu/iov.h"

typedef struct FarsideTraceFile FarsideTraceFile;

/*
 * Opens the trace at @path for packets of interface @interface. A file that is
 * missing or empty gets a header with @names. NULL, and @errp set, if it cannot
 * be opened or is no trace.
 */
FarsideTraceFile *farside_trace_file_open(const char *path, unsigned interface,
                                          const char *const *names,
                                          Error **errp);

/*
 * Adds a packet, which consists of @count pieces, with the present time. The
 * thread writes it a little later. If too many packets wait, it is dropped and
 * counted.
 */
void farside_trace_file_add(FarsideTraceFile *file, const struct iovec *pieces,
                            unsigned count);

/*
 * Writes the packets that wait and the statistics, and frees @file (nullable).
 * Packets that cannot be written within a second are lost, with a warning.
 */
void farside_trace_file_close(FarsideTraceFile *file);

#endif /* FARSIDE_TRACE_FILE_H */
