/* SPDX-License-Identifier: MIT */
/*
 * A driver of an NVMe controller, over qtest: registers at an address of one
 * machine, queues and data in that machine's memory, which the controller sees
 * at another address. It polls, and uses interrupts only on request.
 *
 * Registers, commands and their fields: NVM Express Base Specification 1.4.
 */
#ifndef DEVICE_NVME_H
#define DEVICE_NVME_H

#include <stdbool.h>
#include <stdint.h>
#include "device_rig.h"

#define NVME_SLOTS 32           /* commands under way at the same time */
#define NVME_SLOT  (128u << 10) /* bytes of data of one command */

typedef struct {
    DeviceRig *rig;      /* borrowed: the machine of the driver */
    uint64_t bar;        /* the controller's BAR 0, as this machine sees it */
    uint64_t offset;     /* of RAM: the controller's address - this machine's */
    uint8_t *ram;        /* this machine's memory, borrowed */
    bool sgl;            /* data as one SGL descriptor, not as PRPs */
    unsigned sq_tail[2]; /* by queue: 0 admin, 1 I/O */
    unsigned cq_head[2];
    unsigned cq_phase[2];
    uint16_t next_id;
} DeviceNvme;

/* Enables the controller, and makes an I/O queue pair with this vector. */
void nvme_start(DeviceNvme *nvme, bool interrupts, unsigned vector);
/*
 * Doorbell Buffer Config, s5.7: the controller reads the tail of the submission
 * queue from memory.
 */
void nvme_shadow(DeviceNvme *nvme);
/* IDENTIFY CONTROLLER, s5.15.2.2; valid until the next command. */
const uint8_t *nvme_identify(DeviceNvme *nvme);
/* A buffer of NVME_SLOT bytes in the machine's memory. */
uint8_t *nvme_buffer(DeviceNvme *nvme, unsigned slot);
/*
 * Puts a read or write of NVME_SLOT bytes at a byte offset of the disk into the
 * submission queue. nvme_ring() rings the doorbell.
 */
void nvme_queue(DeviceNvme *nvme, bool write, uint64_t at, unsigned slot);
/* The same with data anywhere on the controller's bus. */
void nvme_queue_at(DeviceNvme *nvme, bool write, uint64_t at, uint64_t address,
                   uint32_t size);
void nvme_ring(DeviceNvme *nvme);
/* CSTS, s3.1.6 */
#define NVME_CSTS_CFS 2u
uint32_t nvme_status(DeviceNvme *nvme);
/* Waits for @count completions, which must be good. Fails after 10 s. */
void nvme_wait(DeviceNvme *nvme, unsigned count);
/* The same, but returns false if the controller stops with a fatal status. */
bool nvme_wait_or_stop(DeviceNvme *nvme, unsigned count);
/* Takes the completions that are there, at most @count; returns how many. */
unsigned nvme_poll(DeviceNvme *nvme, unsigned count);

#endif /* DEVICE_NVME_H */
