/* SPDX-License-Identifier: MIT */
#ifndef INV_EXPORT_H
#define INV_EXPORT_H

#include "topo_description.h"

/* Appends @functions (of TopoFunction, sorted by address) as hwloc XML of
 * version 2: one package with one memory node, and all PCI functions.
 * @memory_bytes is the size of the memory. A link is a bandwidth there. */
void inv_export_hwloc(const GPtrArray *functions, int64_t memory_bytes,
                      GString *out);

/* Appends @functions as NCCL topology XML (NCCL_TOPO_FILE): the GPUs and
 * network ports that are devices of @host, and the switches above them, below a
 * CPU for each memory node. As in NCCL's own files, root ports and the
 * downstream ports of switches are left out. Numbers that a description does
 * not have are those of NCCL's own defaults: compute capability 80, 100 Gb/s.
 */
void inv_export_nccl(const TopoHost *host, const GPtrArray *functions,
                     GString *out);

#endif
