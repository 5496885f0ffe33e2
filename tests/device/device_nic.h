/* SPDX-License-Identifier: MIT */
/*
 * A driver of the NIC over qtest, and the other end of its network: a socket,
 * on which a datagram is a frame. Rings and buffers are in the machine's
 * memory. docs/reference/nic.md describes the device.
 */
#ifndef DEVICE_NIC_H
#define DEVICE_NIC_H

#include <stdint.h>
#include "device_frame.h"
#include "device_rig.h"
#include "nic_regs.h"

#define NIC_BAR0 0xea000000ull
#define NIC_MAC0 "02:11:22:33:44:50"

/* Of queue q, in steps of 64 KiB: receive descriptors, completions, transmit
 * descriptors, TX_WRITEBACK */
#define NIC_RX_RING(q)   (0x400000ull + (q)*0x10000ull)
#define NIC_DONE_RING(q) (0x500000ull + (q)*0x10000ull)
#define NIC_TX_RING(q)   (0x600000ull + (q)*0x10000ull)
#define NIC_HEAD_AT(q)   (0x700000ull + (q)*0x10000ull)
/* Buffers of the descriptor @id of queue q: 128 descriptors of 8 KiB */
#define NIC_HEADER(q, id)  (0x1000000ull + ((q)*128ull + (id)) * 0x2000)
#define NIC_PAYLOAD(q, id) (NIC_HEADER(q, id) + 0x1000)
/* Frames to be sent */
#define NIC_FRAME_AT 0x3000000ull

typedef struct {
    DeviceRig *rig; /* borrowed */
    uint64_t bar;
    unsigned entries[NIC_QUEUES_MAX], tail[NIC_QUEUES_MAX];
    unsigned done[NIC_QUEUES_MAX]; /* completions that were seen */
    unsigned header_size, payload_size;
    unsigned tx_entries[NIC_QUEUES_MAX], tx_tail[NIC_QUEUES_MAX];
} DeviceNic;

typedef struct DeviceNet DeviceNet;

/* A network, and QEMU's argument for it, whose id is "net" (borrowed). */
DeviceNet *net_new(void);
void net_free(DeviceNet *net);
const char *net_argument(const DeviceNet *net);
/* A firmware, for QEMU's -bios, with which the CPU waits for ever (borrowed) */
const char *net_firmware(const DeviceNet *net);
void net_put(DeviceNet *net, const void *bytes, unsigned size);
/* The next frame, or 0 if there is none within @ms. */
unsigned net_get(DeviceNet *net, uint8_t *ret_bytes, unsigned size, int ms);

/* QEMU's networks wait until the machine runs: net_firmware() is for that. */
void nic_let_run(DeviceRig *rig);
/* Places the BARs of a function of bus 0, and enables memory and DMA. */
DeviceNic nic_map(DeviceRig *rig, unsigned devfn, uint64_t bar);
uint64_t nic_rx(const DeviceNic *nic, unsigned queue);
uint64_t nic_tx(const DeviceNic *nic, unsigned queue);
uint64_t nic_stat(const DeviceNic *nic, unsigned counter);

/* Starts a receive queue. @flags are added to ENABLE. The buffers that are
 * posted have the sizes in @nic. */
void nic_start(DeviceNic *nic, unsigned queue, unsigned entries,
               unsigned flags);
/* Posts @count descriptors, whose id is their entry. */
void nic_post(DeviceNic *nic, unsigned queue, unsigned count);
/* The descriptor at an entry of a receive queue, in the machine's memory */
struct nic_rx_desc *nic_desc(const DeviceNic *nic, unsigned queue,
                             unsigned entry);
/* Waits for the next completion. */
struct nic_rx_done nic_wait(DeviceNic *nic, unsigned queue);

void nic_start_tx(DeviceNic *nic, unsigned queue, unsigned entries);
void nic_put_tx(DeviceNic *nic, unsigned queue,
                const struct nic_tx_desc *desc);
void nic_ring_tx(DeviceNic *nic, unsigned queue);

/* Waits until the queue at @registers does not run any more. */
void nic_wait_stopped(const DeviceNic *nic, uint64_t registers);

#endif /* DEVICE_NIC_H */
