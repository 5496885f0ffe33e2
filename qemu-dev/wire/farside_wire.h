/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * What crosses between two NTB devices, each in its own QEMU process.
 *
 * Transport: a UNIX socket of type SOCK_SEQPACKET; one packet is one message;
 * order is kept. Memory files travel as SCM_RIGHTS of the message that names
 * them. Both ends are processes of one machine: numbers have its byte order.
 *
 * How two devices meet:
 *  - directly: one listens at a path, the other connects to it;
 *  - through a broker: both connect to the broker, which answers each with
 *    FARSIDE_WIRE_PEER and one end of a socket pair, when both are there. The
 *    device then talks on that socket in place of the broker's, and begins
 *    again with HELLO; after the peer's death it connects to the broker anew.
 *    So nothing is relayed, and a doorbell takes the same way with and without
 *    a broker. A broker has a path of its own for each link.
 *
 * Conversation: HELLO from each end, then the rest in any order. A message that
 * this header does not allow ends the connection.
 */
#ifndef FARSIDE_WIRE_H
#define FARSIDE_WIRE_H

#include <stdint.h>

#define FARSIDE_WIRE_MAGIC 0x57445346u /* "FSDW" */
#define FARSIDE_WIRE_VERSION 1

/* Nothing longer is ever sent, and nothing longer is read. */
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
};

/* In front of every message. length counts what follows the head. */
struct farside_wire_head {
    uint32_t magic;
    uint16_t version;
    uint16_t type;
    uint32_t length;
    uint32_t reserved;
};

/* Windows, by the number of their first BAR. */
#define FARSIDE_WIRE_WINDOWS 2

/*
 * The first message in both directions. Both ends must have the same geometry
 * (BARs, LUT entries, requester IDs) and generation, and different partitions.
 */
struct farside_wire_hello {
    uint8_t partition;
    uint8_t generation;
    uint8_t link_up;      /* the sender's side is enabled */
    uint8_t reserved;
    uint16_t requester_id; /* of the sender's device, on its own bus */
    uint16_t lut_entries;
    uint16_t req_ids;
    uint16_t reserved2[3];
    uint64_t bar_size[FARSIDE_WIRE_WINDOWS];
};

/*
 * The sender's RAM that may be mapped: the whole of it each time, in place of
 * what was said before. Each region has one file of its own, in this order.
 * What is in no region is reached by READ and WRITE.
 */
struct farside_wire_ram_region {
    uint64_t address; /* on the sender's bus */
    uint64_t size;
    uint64_t offset; /* in the file */
};

struct farside_wire_ram {
    uint32_t count;
    uint32_t reserved;
    struct farside_wire_ram_region region[FARSIDE_WIRE_FDS];
};

/* The sender's side of the link was enabled or disabled. */
struct farside_wire_link {
    uint32_t up;
    uint32_t reserved;
};

/* RESET has no body: the sender's partition has lost all it was told. */

struct farside_wire_doorbell {
    uint64_t bits;
};

struct farside_wire_message {
    uint32_t index;
    uint32_t value;
};

/*
 * The control block of a partition belongs to the process of its host. The
 * other one asks for it (LOCK), is given it with its contents (LOCKED), sends
 * it back changed (CONFIG) and hears what came of it (CONFIGURED), or gives it
 * back as it was (RELEASE). Every LOCK has a number of its own, which the other
 * messages repeat: what belongs to a lock that is gone (because its owner gave
 * it up, or a partition was reset) is ignored.
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

/* No error: the block is in force and no longer locked. */
struct farside_wire_configured {
    uint32_t lock_id;
    uint32_t bar_error;
    uint32_t lut_error;
    uint32_t req_id_error;
};

/* Data of one request or completion, at most. */
#define FARSIDE_WIRE_PAYLOAD 4096

/*
 * READ: a memory read request, answered by a COMPLETION with the same tag. One
 * of 0 bytes reads nothing, and is answered when all that was written before it
 * is done.
 */
struct farside_wire_read {
    uint64_t address; /* on the receiver's bus */
    uint32_t length;
    uint16_t tag;
    uint16_t requester_id;
};

/* WRITE: a posted memory write; length bytes follow. */
struct farside_wire_write {
    uint64_t address;
    uint32_t length;
    uint16_t reserved;
    uint16_t requester_id;
};

/* PCIe 5.0 s2.2.9.1, Completion Status */
enum {
    FARSIDE_WIRE_SC = 0,
    FARSIDE_WIRE_UR = 1,
    FARSIDE_WIRE_CA = 4,
};

/* COMPLETION: length bytes follow, those of the READ, none unless SC. */
struct farside_wire_completion {
    uint32_t length;
    uint16_t tag;
    uint16_t status;
};

/* PEER has no body, and one file: the socket to the peer. */

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
_Static_assert(sizeof(struct farside_wire_read) == 16, "wire format");
_Static_assert(sizeof(struct farside_wire_write) == 16, "wire format");
_Static_assert(sizeof(struct farside_wire_completion) == 8, "wire format");
_Static_assert(sizeof(struct farside_wire_head) +
                       sizeof(struct farside_wire_ctrl) <=
                   FARSIDE_WIRE_MAX,
               "wire format");

#endif /* FARSIDE_WIRE_H */
