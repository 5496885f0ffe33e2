/* SPDX-License-Identifier: MIT */
#ifndef KERNEL_FACTS_H
#define KERNEL_FACTS_H

#include <stdint.h>

/* What the kernel's header says, in the order of facts.h. */
extern const uint64_t kernel_facts[];

#endif /* KERNEL_FACTS_H */
