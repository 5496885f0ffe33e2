/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * The protocol between two NTB devices, each in its own QEMU process.
 *
 * Transport: a UNIX socket of type SOCK_SEQPACKET, which keeps the order. One
 * packet is one message. Memory files travel as SCM_RIGHTS of the message that
 * names them. Both ends are processes of one machine, so numbers have that
 * machine's byte order.
 *
 * Two devices meet in one of two ways:
 *  - Directly: one listens at a path, the other connects to it.
 *  - Through a broker: both connect to the broker. When both are there, the
 *    broker sends each of them FARSIDE_WIRE_PEER with one end of a socket pair.
 *    The device then uses that socket in place of the broker's, and begins
 *    again with HELLO. When its peer dies, the device connects to the broker
 *    again. The broker relays nothing, so a doorbell takes the same path with
 *    and without a broker. A broker listens at a separate path for each link.
 *
 * Conversation: HELLO from each end, then all other messages in any order. A
 * message that this header does not allow ends the connection.
 */
#ifndef FARSIDE_WIRE_H
#define FARSIDE_WIRE_H

#include <stdint.h>

#define FARSIDE_WIRE_MAGIC 0x57445346u /* "FSDW" */
#define FARSIDE_WIRE_VERSION 6

/* Bytes of the longest packet */
#define FARSIDE_WIRE_MAX 8192
#define FARSIDE_WIRE_FDS 8

enum {
    FARSIDE_WIRE_HELLO = 1,
    FARSIDE_WIRE_RAM = 2,
    FARSIDE_WIRE_LINK = 3,
    FARSIDE_WIRE_RESET = 4,
    FARSIDE_WIRE_DOORBELL = 5,
    FARSIDE_WIRE_MESSAGE = 6,
    FARSIDE_WIRE_LOCK = 7,
    FARSIDE_WIRE_LOCKED = 8,
    FARSIDE_WIRE_CONFIG = 9,
    FARSIDE_WIRE_CONFIGURED = 10,
    FARSIDE_WIRE_RELEASE = 11,
    FARSIDE_WIRE_READ = 12,
    FARSIDE_WIRE_WRITE = 13,
    FARSIDE_WIRE_COMPLETION = 14,
    FARSIDE_WIRE_PEER = 15,
    FARSIDE_WIRE_WINDOWS = 16,
    FARSIDE_WIRE_NOTICES = 20,
    FARSIDE_WIRE_NOTED = 21,
    FARSIDE_WIRE_TYPES = 22,
};

/* The head of every message. length is the number of bytes that follow it. */
struct farside_wire_head {
    uint32_t magic;
    uint16_t version;
    uint16_t type;
    uint32_t length;
    uint32_t reserved;
};

/* BARs that are windows, in the order of their numbers */
#define FARSIDE_WIRE_BAR_WINDOWS 2

/* The chip that a device is */
enum {
    FARSIDE_WIRE_CHIP_SWITCHTEC = 0,
    FARSIDE_WIRE_CHIP_AMD = 1,
    FARSIDE_WIRE_CHIP_IDT = 8,
};

/*
 * HELLO: the first message in both directions. Both ends must have the same
 * chip, number of hosts, generation and sizes (of BARs, LUT and requester ID
 * table), and different partitions. A chip that lacks one of these sends 0.
 *
 * Each two hosts of a chip have a link of their own, so a chip of N hosts has
 * N (N - 1) / 2.
 */
struct farside_wire_hello {
    uint8_t partition; /* number of the sender at the chip, from 0 on */
    uint8_t generation;
    uint8_t link_up;      /* the sender's side is enabled */
    uint8_t chip;         /* FARSIDE_WIRE_CHIP_* */
    uint16_t requester_id; /* of the sender's device, on its bus */
    uint16_t lut_entries;
    uint16_t req_ids;
    uint8_t hosts; /* that the chip has, 2 to 8 */
    uint8_t ports; /* bit n: port n of the chip's list has a host */
    uint8_t reserved[4];
    uint64_t bar_size[FARSIDE_WIRE_BAR_WINDOWS];
};

/*
 * RAM: the regions of the sender's RAM that the receiver may map. A RAM message
 * replaces the previous one. It carries one file for each region, in the order
 * of the regions. The receiver reaches all other memory with READ and WRITE.
 */
struct farside_wire_ram_region {
    uint64_t address; /* on the sender's bus */
    uint64_t size;    /* bytes */
    uint64_t offset;  /* in the file */
};

/*
 * If @translated is 1, the sender's bus addresses go through its IOMMU. Then
 * the regions have addresses of its memory, and the NOTICES that follow say
 * which bus address leads to which address of its memory.
 */
struct farside_wire_ram {
    uint32_t count;
    uint32_t translated;
    struct farside_wire_ram_region region[FARSIDE_WIRE_FDS];
};

/* LINK: the sender's side of the link was enabled or disabled. */
struct farside_wire_link {
    uint32_t up;
    uint32_t reserved;
};

/* RESET: the sender's partition was reset and lost its state. No body. */

struct farside_wire_doorbell {
    uint64_t bits;
};

struct farside_wire_message {
    uint32_t index;
    uint32_t value;
};

/*
 * The control block of a partition belongs to the process of its host. The
 * other process asks for it (LOCK) and gets it with its contents (LOCKED). It
 * sends the changed block (CONFIG) and gets the result (CONFIGURED), or gives
 * the block back unchanged (RELEASE). Every LOCK has a number of its own, which
 * the other messages repeat. A lock ends when its owner gives it up or a
 * partition is reset. Both ends ignore late messages of a lock that has ended.
 */
struct farside_wire_lock {
    uint32_t id;
    uint32_t reserved;
};

struct farside_wire_bar {
    uint32_t ctl;
    uint32_t win_size;
    uint64_t xlate;
    uint32_t ext_win_size;
    uint32_t reserved;
};

#define FARSIDE_WIRE_BARS 6
#define FARSIDE_WIRE_REQ_IDS 512
#define FARSIDE_WIRE_LUT 512

struct farside_wire_ctrl {
    uint32_t lock_id;
    uint32_t reserved;
    struct farside_wire_bar bar[FARSIDE_WIRE_BARS];
    uint32_t req_id[FARSIDE_WIRE_REQ_IDS];
    uint64_t lut[FARSIDE_WIRE_LUT];
};

/*
 * Each error is 0, or 1 plus the number of the wrong BAR or entry. If all are
 * 0, the block is in force and no longer locked. Otherwise nothing has changed,
 * and the block stays locked.
 */
struct farside_wire_configured {
    uint32_t lock_id;
    uint32_t bar_error;
    uint32_t lut_error;
    uint32_t req_id_error;
};

/*
 * WINDOWS: where the sender's windows lead from now on. A list may take several
 * messages, and @more is 1 in all but the last. The receiver takes only
 * requests that lie in one of the windows. Until the first list is complete,
 * and after a RESET, there are none.
 */
struct farside_wire_window {
    uint64_t address; /* on the receiver's bus */
    uint64_t size;    /* bytes, not 0 */
};

#define FARSIDE_WIRE_WINDOWS_PART 500
/* Of a list: a direct window and 512 entries of a LUT for each BAR */
#define FARSIDE_WIRE_WINDOWS_MAX 1026

struct farside_wire_windows {
    uint16_t count; /* of windows that follow, at most 500 */
    uint16_t more;
    uint32_t reserved;
    struct farside_wire_window window[];
};

/* The most bytes of data in one request or completion */
#define FARSIDE_WIRE_PAYLOAD 4096

/*
 * The most links that a request crosses. Windows can lead in a circle, so a
 * request has to end somewhere.
 */
#define FARSIDE_WIRE_HOPS 16

/* The space of a request */
enum {
    FARSIDE_WIRE_MEMORY = 0,
    /* Registers of the receiver: 1, 2, 4 or 8 bytes at an aligned offset */
    FARSIDE_WIRE_REGISTERS = 1,
    /*
     * The same for a non-posted WRITE: a COMPLETION of 0 bytes with its tag
     * answers it. If the write closes a window of the receiver, the answer
     * comes when nothing uses that window any more.
     */
    FARSIDE_WIRE_REGISTERS_NP = 2,
};

/*
 * READ: a memory read request. A COMPLETION with the same tag answers it. The
 * receiver completes a READ of 0 bytes when it has done all earlier WRITEs.
 * It completes a READ of more than 8 bytes with CA if that does not lie in its
 * RAM, because the sender may have asked for more than it needs.
 */
struct farside_wire_read {
    uint64_t address; /* on the receiver's bus, or offset of a register */
    uint16_t length;  /* bytes */
    uint8_t hops;     /* links that the request crossed before this one */
    uint8_t space;    /* FARSIDE_WIRE_MEMORY or FARSIDE_WIRE_REGISTERS */
    uint16_t tag;
    uint16_t requester_id;
};

/* WRITE: a posted memory write, or one of a register; length bytes follow. */
struct farside_wire_write {
    uint64_t address;
    uint16_t length;
    uint8_t hops;  /* as in READ */
    uint8_t space; /* FARSIDE_WIRE_MEMORY and the others */
    uint16_t tag;  /* of a non-posted write, otherwise 0 */
    uint16_t requester_id;
};

/* PCIe 5.0 s2.2.9.1, Completion Status */
enum {
    FARSIDE_WIRE_SC = 0,
    FARSIDE_WIRE_UR = 1,
    FARSIDE_WIRE_CA = 4,
};

/*
 * COMPLETION: length bytes follow. With status SC, length is that of the READ;
 * with any other status it is 0.
 */
struct farside_wire_completion {
    uint32_t length;
    uint16_t tag;
    uint16_t status;
};

/*
 * NOTICES: changes of the translation by the sender's IOMMU, in their order.
 * The translations that the receiver knows allow its devices to access the RAM
 * behind them; every other access is a READ or a WRITE. A RAM message forgets
 * all translations.
 */
struct farside_wire_notice {
    uint64_t address; /* on the sender's bus */
    uint64_t target;  /* in the sender's memory; 0 if perm is 0 */
    uint64_t size;    /* bytes, whole pages of 4 KiB; see below */
    uint32_t perm;    /* bit 0: may be read, bit 1: written; 0: unmapped */
    uint32_t reserved;
};

#define FARSIDE_WIRE_NOTICES_MAX 128
/* The most bytes of a notice whose perm is not 0 */
#define FARSIDE_WIRE_NOTICE_MAP_MAX (1ull << 30)

struct farside_wire_notices {
    uint32_t number; /* 1 for the first message, one more for each */
    uint32_t count;  /* of notices that follow, 1 to 128 */
    struct farside_wire_notice notice[];
};

/*
 * NOTED: the receiver of NOTICES accesses nothing any more that these, or
 * earlier ones, have unmapped. It answers all NOTICES that unmap something.
 */
struct farside_wire_noted {
    uint32_t number; /* of the NOTICES */
    uint32_t reserved;
};

/* PEER: carries one file, the socket to the peer. No body. */

_Static_assert(sizeof(struct farside_wire_head) == 16, "wire format");
_Static_assert(sizeof(struct farside_wire_hello) == 32, "wire format");
_Static_assert(sizeof(struct farside_wire_ram_region) == 24, "wire format");
_Static_assert(sizeof(struct farside_wire_ram) == 200, "wire format");
_Static_assert(sizeof(struct farside_wire_link) == 8, "wire format");
_Static_assert(sizeof(struct farside_wire_doorbell) == 8, "wire format");
_Static_assert(sizeof(struct farside_wire_message) == 8, "wire format");
_Static_assert(sizeof(struct farside_wire_lock) == 8, "wire format");
_Static_assert(sizeof(struct farside_wire_bar) == 24, "wire format");
_Static_assert(sizeof(struct farside_wire_ctrl) == 6296, "wire format");
_Static_assert(sizeof(struct farside_wire_configured) == 16, "wire format");
_Static_assert(sizeof(struct farside_wire_window) == 16, "wire format");
_Static_assert(sizeof(struct farside_wire_windows) == 8, "wire format");
_Static_assert(sizeof(struct farside_wire_read) == 16, "wire format");
_Static_assert(sizeof(struct farside_wire_write) == 16, "wire format");
_Static_assert(sizeof(struct farside_wire_completion) == 8, "wire format");
_Static_assert(sizeof(struct farside_wire_notice) == 32, "wire format");
_Static_assert(sizeof(struct farside_wire_notices) == 8, "wire format");
_Static_assert(sizeof(struct farside_wire_noted) == 8, "wire format");
_Static_assert(sizeof(struct farside_wire_head) +
                       sizeof(struct farside_wire_ctrl) <=
                   FARSIDE_WIRE_MAX,
               "wire format");

#endif /* FARSIDE_WIRE_H */
