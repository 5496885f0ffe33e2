/* SPDX-License-Identifier: MIT */
/* The kernel's half of facts.h: its header is named by the build. */
#include KERNEL_HEADER
#include "kernel_facts.h"

#define FACT(ours, theirs) theirs,

const uint64_t kernel_facts[] = {
#include "facts.h"
};
