/* SPDX-License-Identifier: MIT */
#ifndef KERNEL_FACTS_H
#define KERNEL_FACTS_H

#include <stdint.h>

/* The values of the kernel's header, in the order of facts.h. */
extern const uint64_t kernel_facts[];

#endif /* KERNEL_FACTS_H */
