/* SPDX-License-Identifier: MIT */
#ifndef CLU_MEMORY_H
#define CLU_MEMORY_H

#include <stdbool.h>

#include "topo_description.h"

/* Name of the file in the folder of an image in which host/guest/build
 * writes how many bytes of memory a machine needs to boot it. */
#define CLU_MEMORY_FILE "MEMORY"

/* Checks that @host, and each virtual machine inside it, has the memory that
 * the image in the folder @image needs. With less, the guest's kernel panics,
 * or loses files of the image without a word. Returns false and adds an entry
 * to
 * @errors if one has less. True if the folder has no CLU_MEMORY_FILE. */
bool clu_memory_check(const TopoHost *host, const char *image,
                      TopoErrors *errors);

#endif
