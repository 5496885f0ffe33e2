/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A pcapng file to which several processes append (wire/farside_trace.h). A
 * thread writes to it, so neither a slow disk nor another process delays the
 * machine while it adds packets.
 */
#ifndef FARSIDE_TRACE_FILE_H
#define FARSIDE_TRACE_FILE_H

#include "qemu/osdep.h"
#include "qemu/iov.h"

typedef struct FarsideTraceFile FarsideTraceFile;

/*
 * Opens the trace at @path for packets of interface @interface. If the file is
 * missing or empty, writes a header with @names. Returns NULL, and sets @errp,
 * if the file cannot be opened or is no trace. Another process may have locked
 * it: opening and closing it wait up to @patience_ms for that.
 */
FarsideTraceFile *farside_trace_file_open(const char *path, unsigned interface,
                                          const char *const *names,
                                          unsigned patience_ms, Error **errp);

/*
 * Adds a packet, which consists of @count pieces, with the present time. The
 * thread writes the packet a little later. If too many packets wait, this one
 * is dropped and counted.
 */
void farside_trace_file_add(FarsideTraceFile *file, const struct iovec *pieces,
                            unsigned count);

/*
 * Writes the waiting packets and the statistics, and frees @file (nullable). If
 * that fails for a second, the packets are lost, with a warning.
 */
void farside_trace_file_close(FarsideTraceFile *file);

#endif /* FARSIDE_TRACE_FILE_H */
