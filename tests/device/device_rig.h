/* SPDX-License-Identifier: MIT */
/*
 * A stock QEMU with one NTB device and no guest, which the test drives over
 * QEMU's qtest protocol. The test also plays the far end of the link.
 *
 * A failure to talk to QEMU ends the test (ck_abort).
 */
#ifndef DEVICE_RIG_H
#define DEVICE_RIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "farside_wire.h"

#define RIG_BAR0     0xe0000000ull
#define RIG_BAR2     0xe1000000ull
#define RIG_BAR4     0xe4000000ull
#define RIG_RAM      (64ull << 20)
/* Registers of a controller that a test may add */
#define RIG_NVME_BAR 0xe8000000ull
/* Control of BAR 2: 64 LUT windows of 64 KiB */
#define RIG_LUT_CTL  (0x20u | 16u << 8 | 63u << 14)

typedef struct DeviceRig DeviceRig;

/*
 * @properties are added to those of the device. Its BARs are mapped. With
 * FARSIDE_WINDOW_RAM in the environment, its windows onto RAM are RAM.
 */
DeviceRig *rig_new(const char *properties);

/*
 * The same with more @arguments of QEMU (nullable, ends with NULL). With a
 * @link (nullable), the device is partition 1 and connects to that path.
 * Without one, it listens.
 */
DeviceRig *rig_new_with(const char *link, const char *properties,
                        const char *const *arguments);
/* The same for an NTB device of this type. */
DeviceRig *rig_new_of(const char *type, const char *link,
                      const char *properties, const char *const *arguments);
/*
 * The environment for QEMU, to be freed. It preloads the library of the
 * plugin's sanitizer (FARSIDE_PRELOAD), if there is one.
 */
char **rig_environment(void);
/* The path at which the device listens, or to which it connects. */
const char *rig_link_path(DeviceRig *rig);
void rig_free(DeviceRig *rig); /* kills it */

/*
 * The time (g_get_monotonic_time(), us) after which a test gives up waiting. It
 * is late enough for a machine on which other programs leave no processor free.
 */
int64_t rig_deadline(void);
int rig_pid(DeviceRig *rig);

/* The machine's memory, RIG_RAM bytes, shared with it. */
uint8_t *rig_ram(DeviceRig *rig);
/* A QMP command's answer, to be freed: the text of the whole JSON object. */
char *rig_qmp(DeviceRig *rig, const char *command);

/*
 * Sets a property of the NTB device at run time; @value is JSON. Returns QMP's
 * answer, to be freed.
 */
char *rig_set(DeviceRig *rig, const char *property, const char *value);

/* The number of requests that the NTB device refused, as QMP shows it. */
uint64_t rig_refused(DeviceRig *rig);

uint64_t rig_read(DeviceRig *rig, uint64_t address, unsigned size);
void rig_write(DeviceRig *rig, uint64_t address, unsigned size, uint64_t value);
/* Waits until a register has this value. Fails at rig_deadline(). */
void rig_wait_for(DeviceRig *rig, uint64_t address, unsigned size,
                  uint64_t value);
/* The same for the link of a device of @partition: while it is up, the peer's
 * ports show a speed. */
void rig_wait_link(DeviceRig *rig, unsigned partition, bool up);
/* The same for a device of any type, which QMP tells. */
void rig_wait_link_up(DeviceRig *rig, bool up);
/* A read in two steps: QEMU may wait for the far end between them. */
void rig_read_begin(DeviceRig *rig, uint64_t address, unsigned size);
uint64_t rig_read_end(DeviceRig *rig);
/* True if the access that began has ended, so that its end does not wait. */
bool rig_has_answered(DeviceRig *rig);
/* A read of any size in one access, as a device makes it */
void rig_read_bytes_begin(DeviceRig *rig, uint64_t address, unsigned size);
void rig_read_bytes_end(DeviceRig *rig, uint8_t *ret_data, unsigned size);
void rig_write_begin(DeviceRig *rig, uint64_t address, unsigned size,
                     uint64_t value);
void rig_write_end(DeviceRig *rig);
/* Configuration space of the NTB device, and of any function of bus 0. */
uint32_t rig_config_read(DeviceRig *rig, unsigned offset);
void rig_config_write(DeviceRig *rig, unsigned offset, uint32_t value);
uint32_t rig_pci_read(DeviceRig *rig, unsigned devfn, unsigned offset);
void rig_pci_write(DeviceRig *rig, unsigned devfn, unsigned offset,
                   uint32_t value);
/* Offset of a function's capability. Fails if it has none. */
unsigned rig_pci_find(DeviceRig *rig, unsigned devfn, uint8_t capability);
/*
 * Writes to OP of a control block, and waits for a status. Fails at
 * rig_deadline().
 */
void rig_part_op(DeviceRig *rig, unsigned part, uint32_t op, uint32_t status);
/* Many accesses at once, as commands of qtest. Ignores the answers. */
void rig_batch(DeviceRig *rig, const char *commands, unsigned count);
/* Function level reset. */
void rig_reset(DeviceRig *rig);

/* A received message. The next rig_peer_receive() closes its files. */
typedef struct {
    struct farside_wire_head head;
    uint8_t body[FARSIDE_WIRE_MAX] __attribute__((aligned(8)));
    unsigned fd_count;
    int fds[FARSIDE_WIRE_FDS];
} RigMessage;

typedef struct RigPeer RigPeer;

/* Connects; no message is sent yet. */
RigPeer *rig_peer_new(DeviceRig *rig);
/* Connects to a device that listens at @path. */
RigPeer *rig_peer_new_at(const char *path);
/*
 * Plays a broker for a device that does not listen: waits for the device, and
 * sends it a socket to the new peer.
 */
RigPeer *rig_peer_new_by_broker(DeviceRig *rig);
void rig_peer_free(RigPeer *peer);
/*
 * Exchanges HELLO, as the partition that the device is not. Then sends WINDOWS
 * that lead to the machine's memory and to the registers that tests
 * use (rig_peer_open()).
 */
void rig_peer_hello(RigPeer *peer);
/*
 * Sends WINDOWS: one as large as BAR 4 leads to the machine's memory, and each
 * of the @count @targets lies in an equal part of BAR 2, aligned to its size.
 */
void rig_peer_open(RigPeer *peer, const uint64_t *targets, unsigned count);
void rig_peer_send(RigPeer *peer, unsigned type, const void *body, size_t size);
void rig_peer_send_raw(RigPeer *peer, const void *bytes, size_t size,
                       const int *fds, unsigned fd_count);
/*
 * Sends a packet, and drops messages of the device until it can. False if the
 * device has closed the connection.
 */
bool rig_peer_exchange(RigPeer *peer, const void *bytes, size_t size,
                       const int *fds, unsigned fd_count);
/* True if the device has sent something, or does within @ms. */
bool rig_peer_poll(RigPeer *peer, int ms);
/* The next message. Fails if there is none for 5 s. */
const RigMessage *rig_peer_receive_any(RigPeer *peer);
/* The next message of @type. Drops the others before it. */
const RigMessage *rig_peer_receive(RigPeer *peer, unsigned type);
/* True if the device closes the connection within 5 s. */
bool rig_peer_is_closed(RigPeer *peer);
/* Gives the device memory at @address, and returns it mapped. */
uint8_t *rig_peer_give_ram(RigPeer *peer, uint64_t address, size_t size,
                           bool sealed);
/*
 * The same for RAM behind an IOMMU, whose file cannot shrink. @address is one
 * of the peer's memory; notices say which bus address leads there.
 */
uint8_t *rig_peer_give_ram_behind_iommu(RigPeer *peer, uint64_t address,
                                        size_t size);
/* Tells of one mapping, or unmapping, of the peer's IOMMU. */
void rig_peer_notice(RigPeer *peer, uint32_t number,
                     const struct farside_wire_notice *notice);
/* Sets a LUT entry, of 64 KiB, of the device's host, as the peer's driver does.
 */
void rig_peer_set_lut(RigPeer *peer, unsigned entry, uint64_t value);

#endif /* DEVICE_RIG_H */
