/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An NTB device with the registers of a Switchtec of two partitions, of which
 * this process holds one and the process at the other end of the link the
 * other. docs/reference/device.md is its specification.
 *
 * Everything here runs under the big lock, but for the translation of windows
 * (farside_windows.c), which reads an RCU-protected map.
 */
#ifndef FARSIDE_NTB_H
#define FARSIDE_NTB_H

#include "qemu/osdep.h"
#include "qemu/queue.h"
#include "qemu/notify.h"
#include "qemu/rcu.h"
#include "qemu/timer.h"
#include "exec/memory.h"
#include "hw/pci/pci.h"
#include "qom/object.h"
#include "switchtec_regs.h"
#include "wire/farside_wire.h"

#define TYPE_FARSIDE_NTB "farside-switchtec"
OBJECT_DECLARE_SIMPLE_TYPE(FarsideNtb, FARSIDE_NTB)

#define FARSIDE_NTB_WINDOWS FARSIDE_WIRE_WINDOWS
/* The BAR of a window */
#define FARSIDE_NTB_WINDOW_BAR(window) (2 + 2 * (window))
#define FARSIDE_NTB_REQ_IDS 32
#define FARSIDE_NTB_PARTITIONS 2
#define FARSIDE_NTB_PFFS 4

/* Who holds the lock of the own control block. */
typedef enum {
    FARSIDE_NTB_OWNER_NONE,
    FARSIDE_NTB_OWNER_SELF,
    FARSIDE_NTB_OWNER_PEER,
} FarsideNtbOwner;

/* One partition's control block, as this host sees it. */
typedef struct {
    struct farside_wire_ctrl active; /* in force; of the peer: last heard */
    struct farside_wire_ctrl staged; /* what the holder of the lock writes */
    uint32_t status;
    uint32_t bar_error;
    uint32_t lut_error;
    uint32_t req_id_error;
} FarsideNtbCtrl;

/* Where a window leads; replaced as a whole, read under RCU. */
typedef struct {
    struct rcu_head rcu;
    bool link_up;
    bool traced; /* all is forwarded */
    unsigned ram_count;
    struct {
        uint64_t address;
        uint64_t size;
    } ram[FARSIDE_WIRE_FDS];
    struct {
        unsigned lut_shift;
        unsigned lut_count;     /* 0: no LUT window */
        uint64_t direct_offset; /* in the BAR */
        uint64_t direct_size;   /* 0: no direct window */
        uint64_t direct_target;
    } window[FARSIDE_NTB_WINDOWS];
    unsigned peer;
    uint64_t lut[SWITCHTEC_MAX_LUT];
} FarsideNtbMap;

typedef struct {
    FarsideNtb *ntb;
    unsigned index;
    IOMMUMemoryRegion iommu; /* the BAR */
    MemoryRegion forward;    /* in system memory, see farside_windows.c */
} FarsideNtbWindow;

/* Where a request comes from: a place in a window. */
typedef struct {
    unsigned window;
    uint64_t offset; /* in the BAR */
} FarsideNtbNear;

typedef struct FarsideNtbRead FarsideNtbRead;
typedef struct FarsideNtbPeerRam FarsideNtbPeerRam;

struct FarsideNtb {
    PCIDevice parent_obj;

    /* Properties */
    char *link_path;
    bool listen;
    bool enabled; /* this side of the link; can be changed at run time */
    uint8_t partition;
    uint8_t generation;
    uint8_t vectors;
    uint16_t lut_entries;
    uint64_t bar_size[FARSIDE_NTB_WINDOWS];
    uint32_t timeout_ms;
    uint32_t max_payload;

    /* farside_regs.c */
    MemoryRegion gas;
    uint8_t mrpc_input[SWITCHTEC_MRPC_PAYLOAD];
    uint8_t mrpc_output[SWITCHTEC_MRPC_PAYLOAD];
    uint32_t mrpc_cmd;
    uint32_t mrpc_status;
    uint32_t mrpc_ret;
    uint32_t mrpc_event;
    uint32_t link_event[FARSIDE_NTB_PFFS];
    uint64_t odb_mask;
    uint64_t idb;
    uint64_t idb_mask;
    uint8_t vec_map[SWITCHTEC_DOORBELLS];
    uint32_t msg_map;
    bool msg_map_valid;
    uint32_t omsg[SWITCHTEC_MSGS];
    uint32_t imsg[SWITCHTEC_MSGS];
    uint32_t imsg_state[SWITCHTEC_MSGS];

    /* farside_ctrl.c; indexed by partition */
    FarsideNtbCtrl ctrl[FARSIDE_NTB_PARTITIONS];
    FarsideNtbOwner owner;
    uint32_t owner_id;   /* of the peer's lock */
    bool self_waits;
    bool peer_waits;
    uint32_t waiting_id;
    uint32_t lock_id; /* of our lock of the peer's block */
    uint32_t flush;   /* number of the flush that completes a CFG, or 0 */

    /* farside_windows.c */
    FarsideNtbWindow window[FARSIDE_NTB_WINDOWS];
    FarsideNtbMap *map;
    MemoryRegion peer_memory;
    AddressSpace peer_as;
    FarsideNtbPeerRam *peer_ram[FARSIDE_WIRE_FDS];
    unsigned peer_ram_count;
    AddressSpace *own_as; /* what a peer reaches here */
    MemoryListener listener;
    GArray *own_ram;
    QEMUBH *own_ram_bh;
    struct farside_wire_ram announced; /* to this peer */
    uint32_t flush_count;

    /* farside_link.c */
    int listen_fd;
    int fd;
    bool peer_here; /* HELLO was exchanged */
    bool peer_enabled;
    bool link_up;
    bool reading; /* whether the main loop reads from fd, */
    bool writing; /* and writes what waits */
    uint16_t peer_requester_id;
    QEMUTimer *connect_timer;
    GQueue out;
    size_t out_bytes;
    uint64_t bells; /* doorbells that found no room in it */
    QLIST_ENTRY(FarsideNtb) next;

    /* farside_tlp.c */
    QLIST_HEAD(, FarsideNtbRead) reads;
    GQueue deferred;
    size_t deferred_bytes;
    QEMUBH *deferred_bh;
    struct {
        uint64_t address;
        uint32_t length; /* 0: nothing waits to be sent */
        uint64_t end;    /* of the last write, sent or not */
        unsigned run;    /* how many writes were adjacent so far */
        FarsideNtbNear near;
        uint8_t data[FARSIDE_WIRE_PAYLOAD];
    } burst;
    QEMUBH *burst_bh;
    uint16_t next_tag;
    bool stalled;

    /* farside_trace.c */
    char *trace_path;
    struct FarsideTraceFile *trace; /* NULL: off */
    uint32_t trace_sequence;
    uint32_t trace_flush; /* number of the flush since on or off */
    bool write_through;   /* forwarded writes are waited for */
    Notifier trace_exit;
};

static inline unsigned farside_ntb_peer(FarsideNtb *s)
{
    return 1 - s->partition;
}

/* farside_ntb.c */
/* The plugin calls this; in a QEMU tree, type_init() does. */
void farside_ntb_register_types(void);
void farside_ntb_interrupt(FarsideNtb *s, unsigned vector);

/* farside_regs.c */
extern const MemoryRegionOps farside_regs_ops;
void farside_regs_reset(FarsideNtb *s);
void farside_regs_ring(FarsideNtb *s, uint64_t bits);
void farside_regs_message(FarsideNtb *s, unsigned index, uint32_t value);
void farside_regs_link_event(FarsideNtb *s);

/* farside_ctrl.c */
void farside_ctrl_reset(FarsideNtb *s);
void farside_ctrl_peer_reset(FarsideNtb *s);
uint32_t farside_ctrl_read(FarsideNtb *s, unsigned part, unsigned offset);
void farside_ctrl_write(FarsideNtb *s, unsigned part, unsigned offset,
                        uint32_t value, uint32_t mask);
void farside_ctrl_flushed(FarsideNtb *s, uint32_t flush);
void farside_ctrl_on_lock(FarsideNtb *s, const struct farside_wire_lock *m);
void farside_ctrl_on_locked(FarsideNtb *s, const struct farside_wire_ctrl *m);
void farside_ctrl_on_config(FarsideNtb *s, const struct farside_wire_ctrl *m);
void farside_ctrl_on_configured(FarsideNtb *s,
                                const struct farside_wire_configured *m);
void farside_ctrl_on_release(FarsideNtb *s, const struct farside_wire_lock *m);

/* farside_windows.c */
void farside_window_register_types(void);
bool farside_window_realize(FarsideNtb *s, Error **errp);
void farside_window_exit(FarsideNtb *s);
/* Puts the registers, the link's state and the peer's RAM into force. */
void farside_window_update(FarsideNtb *s);
/*
 * Tells farside_ctrl_flushed() when no CPU uses what was in force before.
 * Returns the flush's number, which is not 0.
 */
uint32_t farside_window_flush(FarsideNtb *s);
/* Takes ownership of the files; false where the message is not allowed. */
bool farside_window_on_ram(FarsideNtb *s, const struct farside_wire_ram *m,
                           int *fds, unsigned fd_count);
void farside_window_forget_ram(FarsideNtb *s);
void farside_window_announce(FarsideNtb *s);

/* farside_link.c */
bool farside_link_realize(FarsideNtb *s, Error **errp);
void farside_link_exit(FarsideNtb *s);
/* Sends head, body and data, or queues them if the peer is slow. */
void farside_link_send(FarsideNtb *s, unsigned type, const void *body,
                       size_t body_size, const void *data, size_t data_size,
                       const int *fds, unsigned fd_count);
/*
 * Serves the peers of all devices once, for no longer than to the deadline (ns,
 * monotonic).
 */
void farside_link_serve(int64_t deadline);
bool farside_link_is_full(FarsideNtb *s);
/* Reads from the peer again, after farside_tlp_is_full() has become false. */
void farside_link_resume(FarsideNtb *s);
void farside_link_update(FarsideNtb *s);
void farside_link_drop(FarsideNtb *s, const char *reason);

/* farside_tlp.c */
void farside_tlp_realize(FarsideNtb *s);
void farside_tlp_exit(FarsideNtb *s);
/*
 * Requests to the peer, for an access at @near. What cannot be read is all
 * ones; what cannot be written is dropped.
 */
uint64_t farside_tlp_read(FarsideNtb *s, const FarsideNtbNear *near,
                          uint64_t address, unsigned size);
void farside_tlp_write(FarsideNtb *s, const FarsideNtbNear *near,
                       uint64_t address, uint64_t value, unsigned size);
/*
 * Before something is sent that the guest causes: waits while the peer does not
 * read. False where it is to be lost.
 */
bool farside_tlp_wait_for_room(FarsideNtb *s);
/* Sends the writes that wait for more. */
void farside_tlp_send_burst(FarsideNtb *s);
/* Waits until what was written before is done, by a read of nothing. */
void farside_tlp_flush(FarsideNtb *s);
/* False where the message is not allowed. */
bool farside_tlp_on_message(FarsideNtb *s, unsigned type, const void *body,
                            size_t size);
bool farside_tlp_is_full(FarsideNtb *s);
void farside_tlp_peer_gone(FarsideNtb *s);

/*
 * farside_trace.c: what this end transmits, at the moment when it is handed to
 * the link. Nothing happens while no trace is on.
 */
bool farside_trace_realize(FarsideNtb *s, Error **errp);
void farside_trace_exit(FarsideNtb *s);
/* The property: path of the file, empty for off. */
char *farside_trace_get(Object *obj, Error **errp);
void farside_trace_set(Object *obj, const char *value, Error **errp);
/* @near is NULL for a read that comes from no window. */
void farside_trace_read(FarsideNtb *s, const FarsideNtbNear *near,
                        const struct farside_wire_read *m);
void farside_trace_write(FarsideNtb *s, const FarsideNtbNear *near,
                         const struct farside_wire_write *m, const void *data);
/* @m is the read that @c answers. */
void farside_trace_completion(FarsideNtb *s, const struct farside_wire_read *m,
                              const struct farside_wire_completion *c,
                              const void *data);
/* Any message; those above, and what is not recorded, are passed over. */
void farside_trace_message(FarsideNtb *s, unsigned type, const void *body);
/* The link went up or down. */
void farside_trace_state(FarsideNtb *s);
void farside_trace_flushed(FarsideNtb *s, uint32_t flush);

#endif /* FARSIDE_NTB_H */
