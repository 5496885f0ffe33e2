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

#define NIC_BAR0  0xea000000ull
#define NIC_DEVFN 0x30 /* 00:06.0 */

/* Of queue q, in steps of 64 KiB: receive descriptors, completions, transmit
 * descriptors, TX_WRITEBACK */
#define NIC_RX_RING(q)     (0x400000ull + (q)*0x10000ull)
#define NIC_DONE_RING(q)   (0x500000ull + (q)*0x10000ull)
#define NIC_TX_RING(q)     (0x600000ull + (q)*0x10000ull)
#define NIC_HEAD_AT(q)     (0x700000ull + (q)*0x10000ull)
/* Buffers of the descriptor @id of queue q: 128 descriptors of 8 KiB */
#define NIC_HEADER(q, id)  (0x1000000ull + ((q)*128ull + (id)) * 0x2000)
#define NIC_PAYLOAD(q, id) (NIC_HEADER(q, id) + 0x1000)
/* Frames to be sent */
#define NIC_FRAME_AT       0x3000000ull

typedef struct DeviceNet DeviceNet;

typedef struct {
    DeviceRig *rig;
    DeviceNet *net;
    uint64_t bar;
    unsigned entries[NIC_QUEUES_MAX], tail[NIC_QUEUES_MAX];
    unsigned done[NIC_QUEUES_MAX]; /* completions that were seen */
    unsigned header_size, payload_size;
    unsigned tx_entries[NIC_QUEUES_MAX], tx_tail[NIC_QUEUES_MAX];
} DeviceNic;

/* Addresses of the NIC, of its first virtual function, and of nobody */
extern const uint8_t nic_mac[6], nic_vf_mac[6], nic_stranger[6];
/* 1000 bytes for nic_mac, by TCP with time stamps: 66 bytes of headers */
extern const FrameSpec nic_segment;

/* A machine with the NIC at NIC_DEVFN, and its network */
DeviceNic nic_new(void);
void nic_free(DeviceNic *nic);
void nic_reset(DeviceNic *nic);

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
/* Makes a frame, and sends it to the NIC. */
void nic_receive(DeviceNic *nic, TestFrame *f, const FrameSpec *spec);
/* Makes a frame at NIC_FRAME_AT. */
void nic_place(DeviceNic *nic, TestFrame *f, const FrameSpec *spec);
/* Waits for a frame that the NIC sends. It must be this one. */
void nic_expect(DeviceNic *nic, const TestFrame *f);

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
/* The buffers of a completion with this @id */
uint8_t *nic_header(const DeviceNic *nic, unsigned queue, unsigned id);
uint8_t *nic_payload(const DeviceNic *nic, unsigned queue, unsigned id);
/* Waits for the next completion. */
struct nic_rx_done nic_wait(DeviceNic *nic, unsigned queue);

void nic_start_tx(DeviceNic *nic, unsigned queue, unsigned entries);
void nic_put_tx(DeviceNic *nic, unsigned queue, const struct nic_tx_desc *desc);
void nic_put_part(DeviceNic *nic, unsigned queue, uint64_t at, unsigned length,
                  unsigned flags);
void nic_ring_tx(DeviceNic *nic, unsigned queue);

/* Waits until the queue at @registers does not run any more. */
void nic_wait_stopped(const DeviceNic *nic, uint64_t registers);

#endif /* DEVICE_NIC_H */
