/* SPDX-License-Identifier: (GPL-2.0-only WITH Linux-syscall-note) OR MIT */
/*
 * Registers, descriptors and completions of the NIC. docs/reference/nic.md is
 * the specification. The device and its driver compile this file.
 */
#ifndef NIC_REGS_H
#define NIC_REGS_H

#include <linux/types.h>

#define NIC_VENDOR_ID 0x1234
#define NIC_DEVICE_ID 0xfa91

#define NIC_BAR_REGS  0
#define NIC_BAR_MSIX  4
#define NIC_REGS_SIZE 0x4000u

/* The most that a function has. A virtual function has fewer queues. */
#define NIC_QUEUES_MAX    16u
#define NIC_VF_QUEUES     4u
#define NIC_VFS_MAX       2u
#define NIC_KEY_SIZE      40u /* bytes */
#define NIC_INDIR_ENTRIES 128u
#define NIC_RULE_COUNT    64u

#define NIC_ID           0x000u
#define NIC_VERSION      0x004u
#define NIC_CONTROL      0x008u
#define NIC_STATUS       0x00cu
#define NIC_RX_QUEUES    0x010u
#define NIC_TX_QUEUES    0x014u
#define NIC_VECTORS      0x018u
#define NIC_RULES        0x01cu
#define NIC_FRAME        0x020u
#define NIC_ACCEPT       0x024u
#define NIC_EVENT        0x028u
#define NIC_EVENT_VECTOR 0x02cu
#define NIC_MAC          0x030u /* 8 bytes; byte n of the address is byte n */
#define NIC_ERRORS       0x038u
#define NIC_RSS          0x03cu
#define NIC_KEY          0x040u /* byte n of the key is byte n */
#define NIC_VF_MAC       0x080u /* of VF n: NIC_VF_MAC + 8 * n */
#define NIC_INDIR        0x200u /* entry n: NIC_INDIR + 4 * n */
#define NIC_RULE         0x400u /* rule n: NIC_RULE + NIC_RULE_STRIDE * n */
#define NIC_STAT         0x800u /* counter n: NIC_STAT + 8 * n */

#define NIC_ID_VALUE      0x43494e46u /* "FNIC" */
#define NIC_VERSION_VALUE 1u
#define NIC_CONTROL_RESET 1u

#define NIC_STATUS_LINK    1u
#define NIC_STATUS_VIRTUAL 2u

#define NIC_FRAME_MASK  0x3fffu
#define NIC_FRAME_RESET 1518u /* MTU 1500, Ethernet header, one VLAN tag */

#define NIC_ACCEPT_MULTICAST   1u
#define NIC_ACCEPT_PROMISCUOUS 2u

#define NIC_EVENT_LINK  1u
#define NIC_EVENT_ERROR 2u

#define NIC_NO_VECTOR 0xffffu

/* Bits of ERRORS: receive queue q, transmit queue q */
#define NIC_ERRORS_RX(q) (1u << (q))
#define NIC_ERRORS_TX(q) (0x10000u << (q))

/* RSS: packets that are hashed */
#define NIC_RSS_IPV4 0x01u
#define NIC_RSS_TCP4 0x02u
#define NIC_RSS_UDP4 0x04u
#define NIC_RSS_IPV6 0x08u
#define NIC_RSS_TCP6 0x10u
#define NIC_RSS_UDP6 0x20u
#define NIC_RSS_ALL  0x3fu

/* A rule of flow steering */
#define NIC_RULE_STRIDE 0x10u
#define NIC_RULE_SRC    0x00u /* IPv4 address 1.2.3.4 is 0x01020304 */
#define NIC_RULE_DST    0x04u
#define NIC_RULE_PORTS  0x08u /* source port << 16 | destination port */
#define NIC_RULE_ACTION 0x0cu

#define NIC_ACTION_QUEUE       0x0000000fu
#define NIC_ACTION_VALID       0x00000100u
#define NIC_ACTION_MATCH_SRC   0x00000200u
#define NIC_ACTION_MATCH_DST   0x00000400u
#define NIC_ACTION_MATCH_SPORT 0x00000800u
#define NIC_ACTION_MATCH_DPORT 0x00001000u
#define NIC_ACTION_DROP        0x00002000u
#define NIC_ACTION_TCP         0x00010000u
#define NIC_ACTION_UDP         0x00020000u

/* Receive queue q: NIC_RX + q * NIC_QUEUE_STRIDE; transmit queues alike */
#define NIC_RX           0x1000u
#define NIC_TX           0x2000u
#define NIC_QUEUE_STRIDE 0x80u

/* Registers of both kinds of queues, but for those with RX or TX */
#define NIC_Q_BASE         0x00u
#define NIC_RX_COMPLETIONS 0x08u
#define NIC_TX_WRITEBACK   0x08u
#define NIC_Q_ENTRIES      0x10u
#define NIC_Q_CONTROL      0x14u
#define NIC_Q_STATUS       0x18u
#define NIC_Q_ERROR        0x1cu
#define NIC_Q_VECTOR       0x20u
#define NIC_Q_TAIL         0x24u
#define NIC_Q_HEAD         0x28u
#define NIC_Q_DONE         0x2cu
#define NIC_Q_ARM          0x30u
#define NIC_RX_SPLIT_MAX   0x34u
#define NIC_Q_PACKETS      0x40u
#define NIC_Q_BYTES        0x48u
#define NIC_RX_DROPS       0x50u

#define NIC_ENTRIES_MIN 2u
#define NIC_ENTRIES_MAX 4096u

#define NIC_Q_ENABLE             1u
#define NIC_RX_CONTROL_SPLIT     2u
#define NIC_RX_CONTROL_FLUSH     4u
#define NIC_TX_CONTROL_WRITEBACK 2u

#define NIC_Q_RUNNING   1u
#define NIC_Q_UNFLUSHED 2u

/* ERROR of a queue */
enum {
	NIC_ERROR_NONE = 0,
	NIC_ERROR_RING = 1,
	NIC_ERROR_DESCRIPTOR = 2,
	NIC_ERROR_READ = 3,
	NIC_ERROR_WRITE = 4,
	NIC_ERROR_TAIL = 5,
	NIC_ERROR_LENGTH = 6,
};

/* Descriptors that the device reads ahead */
#define NIC_PREFETCH 16u

/* A pair of receive buffers */
struct nic_rx_desc {
	__le64 header;		/* addresses */
	__le64 payload;
	__le16 header_size;	/* bytes; may be 0 */
	__le16 payload_size;	/* bytes; at least 1 */
	__le32 id;		/* of the driver */
	__le64 zero;
};

/* A completion: the device has used a pair of receive buffers */
struct nic_rx_done {
	__le32 id;
	__le32 hash;
	__le16 header_length;
	__le16 payload_length;
	__le32 flags;
};

#define NIC_DONE_PHASE   0x01u
#define NIC_DONE_MORE    0x02u
#define NIC_DONE_SPLIT   0x04u
#define NIC_DONE_CSUM_OK 0x08u
#define NIC_DONE_HASH    0x10u
#define NIC_DONE_HASH_L4 0x20u
#define NIC_DONE_RULE    0x40u

/* A part of a frame to be sent */
struct nic_tx_desc {
	__le64 address;
	__le16 length;		/* bytes; at least 1 */
	__le16 flags;
	__le16 csum_start;	/* with NIC_TX_CSUM, of the first descriptor */
	__le16 csum_offset;
};

#define NIC_TX_LAST   1u
#define NIC_TX_REPORT 2u
#define NIC_TX_CSUM   4u

#define NIC_RX_PARTS_MAX 64u /* descriptors of a packet */
#define NIC_TX_PARTS_MAX 32u
#define NIC_TX_BYTES_MIN 14u

/* Counters of a function */
enum {
	NIC_STAT_RX_FRAMES = 0,
	NIC_STAT_RX_BYTES = 1,
	NIC_STAT_RX_SPLIT = 2,
	NIC_STAT_RX_HEADER_BYTES = 3,
	NIC_STAT_RX_PAYLOAD_BYTES = 4,
	NIC_STAT_RX_NO_BUFFER = 5,
	NIC_STAT_RX_LONG = 6,
	NIC_STAT_RX_FILTERED = 7,
	NIC_STAT_RX_RULE = 8,
	NIC_STAT_RX_RULE_DROPS = 9,
	NIC_STAT_RX_BAD_CSUM = 10,
	NIC_STAT_RX_OVERRUN = 11,
	NIC_STAT_RX_DESCRIPTORS = 12,
	NIC_STAT_RX_COMPLETIONS = 13,
	NIC_STAT_FLUSHES = 14,
	NIC_STAT_TX_FRAMES = 15,
	NIC_STAT_TX_BYTES = 16,
	NIC_STAT_TX_DESCRIPTORS = 17,
	NIC_STAT_TX_SPOOFED = 18,
	NIC_STAT_DMA_ERRORS = 19,
	NIC_STAT_INTERRUPTS = 20,
	NIC_STATS = 21,
};

#endif /* NIC_REGS_H */
