/* SPDX-License-Identifier: MIT */
/*
 * A stock QEMU with one NTB device and no guest, driven over QEMU's qtest
 * protocol; and the far end of its link, played by the test.
 *
 * A failure to talk to QEMU ends the test (ck_abort).
 */
#ifndef DEVICE_RIG_H
#define DEVICE_RIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "farside_wire.h"

#define RIG_BAR0 0xe0000000ull
#define RIG_BAR2 0xe1000000ull
#define RIG_BAR4 0xe4000000ull
#define RIG_RAM  (64ull << 20)

typedef struct DeviceRig DeviceRig;

/* Properties are added to those of the device; BARs are mapped. */
DeviceRig *rig_new(const char *properties);

/*
 * The same with more in the machine: arguments of QEMU (nullable, ends with
 * NULL). With a link (nullable: a path at which something listens), the device
 * is partition 1 and connects to it; without one, it listens.
 */
DeviceRig *rig_new_with(const char *link, const char *properties,
                        const char *const *arguments);
/*
 * The environment of a QEMU, to be freed: a plugin with a sanitizer needs its
 * library in a QEMU without one (FARSIDE_PRELOAD).
 */
char **rig_environment(void);
/* Where the device listens, or what it connects to. */
const char *rig_link_path(DeviceRig *rig);
void rig_free(DeviceRig *rig); /* kills it */
int rig_pid(DeviceRig *rig);

/* The machine's memory, RIG_RAM bytes, shared with it. */
uint8_t *rig_ram(DeviceRig *rig);
/* A QMP command's answer, to be freed: the text of the whole JSON object. */
char *rig_qmp(DeviceRig *rig, const char *command);

uint64_t rig_read(DeviceRig *rig, uint64_t address, unsigned size);
void rig_write(DeviceRig *rig, uint64_t address, unsigned size, uint64_t value);
/* The same in two steps: QEMU may wait for the far end between them. */
void rig_read_begin(DeviceRig *rig, uint64_t address, unsigned size);
uint64_t rig_read_end(DeviceRig *rig);
void rig_write_begin(DeviceRig *rig, uint64_t address, unsigned size,
                     uint64_t value);
void rig_write_end(DeviceRig *rig);
/* Configuration space of the NTB device, and of any function of bus 0. */
uint32_t rig_config_read(DeviceRig *rig, unsigned offset);
void rig_config_write(DeviceRig *rig, unsigned offset, uint32_t value);
uint32_t rig_pci_read(DeviceRig *rig, unsigned devfn, unsigned offset);
void rig_pci_write(DeviceRig *rig, unsigned devfn, unsigned offset,
                   uint32_t value);
/* Offset of a function's capability; fails where there is none. */
unsigned rig_pci_find(DeviceRig *rig, unsigned devfn, uint8_t capability);
/* Writes to STATUS's neighbour OP and waits for a status; fails after 5 s. */
void rig_part_op(DeviceRig *rig, unsigned part, uint32_t op, uint32_t status);
/* Many accesses at once, written as in qtest; the answers are not looked at. */
void rig_batch(DeviceRig *rig, const char *commands, unsigned count);
/* Function level reset. */
void rig_reset(DeviceRig *rig);

/* One received message. Files are closed by rig_peer_receive's next call. */
typedef struct {
    struct farside_wire_head head;
    uint8_t body[FARSIDE_WIRE_MAX] __attribute__((aligned(8)));
    unsigned fd_count;
    int fds[FARSIDE_WIRE_FDS];
} RigMessage;

typedef struct RigPeer RigPeer;

/* Connects; no message is sent yet. */
RigPeer *rig_peer_new(DeviceRig *rig);
/* The same to a device that listens elsewhere. */
RigPeer *rig_peer_new_at(const char *path);
/*
 * Plays a broker for a device that does not listen: waits for it, and hands it
 * a socket whose other end the peer has.
 */
RigPeer *rig_peer_new_by_broker(DeviceRig *rig);
void rig_peer_free(RigPeer *peer);
/* HELLO in both directions, as the partition that the device is not. */
void rig_peer_hello(RigPeer *peer);
void rig_peer_send(RigPeer *peer, unsigned type, const void *body, size_t size);
void rig_peer_send_raw(RigPeer *peer, const void *bytes, size_t size,
                       const int *fds, unsigned fd_count);
/*
 * Sends, and throws away what has come, if the peer's memory of it is short; it
 * never waits for long. False when the device has closed the connection.
 */
bool rig_peer_exchange(RigPeer *peer, const void *bytes, size_t size,
                       const int *fds, unsigned fd_count);
/* The next message; fails where there is none for 5 s. */
const RigMessage *rig_peer_receive_any(RigPeer *peer);
/* The next message of this type; others before it are dropped. */
const RigMessage *rig_peer_receive(RigPeer *peer, unsigned type);
/* Whether the device closed the connection, within 5 s. */
bool rig_peer_is_closed(RigPeer *peer);
/* Gives the device this much memory at address 0; returns it mapped. */
uint8_t *rig_peer_give_ram(RigPeer *peer, uint64_t address, size_t size,
                           bool sealed);

#endif /* DEVICE_RIG_H */
