/* SPDX-License-Identifier: MIT */
/*
 * In place of the kernel's: as much as its switchtec.h needs to compile where
 * no kernel is. Only the layout of registers is asked for.
 */
#ifndef DEVICE_KERNEL_PCI_H
#define DEVICE_KERNEL_PCI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef u64 dma_addr_t;

#define __packed __attribute__((packed))
#define __iomem
#define BIT(n)     (1u << (n))
#define BIT_ULL(n) (1ull << (n))
#define container_of(p, type, member)                                          \
    ((type *)((char *)(p)-offsetof(type, member)))

struct pci_dev;
struct class;

struct device {
    int unused;
};
struct cdev {
    int unused;
};
struct mutex {
    int unused;
};
struct list_head {
    int unused;
};
struct work_struct {
    int unused;
};
struct delayed_work {
    int unused;
};
typedef int wait_queue_head_t;
typedef int atomic_t;

#endif /* DEVICE_KERNEL_PCI_H */
