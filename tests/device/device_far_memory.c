/* SPDX-License-Identifier: MIT */
#include "device_far_memory.h"
#include <check.h>
#include <glib.h>
#include <string.h>
#include "switchtec_regs.h"

#define QUIET_US 15000

struct FarMemory {
    RigPeer *peer;
    GThread *thread;
    gint stop;
    gint pause;
    gint messages; /* received so far */
    GMutex lock;   /* protects the members below */
    FarMemoryHook *hook;
    void *opaque;
    unsigned reads;
    unsigned completions;
    uint8_t bytes[FAR_BYTES];
};

void far_memory_answer(FarMemory *far, const struct farside_wire_read *read)
{
    struct {
        struct farside_wire_completion head;
        uint8_t data[FARSIDE_WIRE_PAYLOAD];
    } c = {.head = {.length = read->length, .tag = read->tag}};

    if (read->address + read->length > FAR_BYTES) {
        c.head.status = FARSIDE_WIRE_UR;
        c.head.length = 0;
    } else {
        memcpy(c.data, far->bytes + read->address, read->length);
    }
    rig_peer_send(far->peer, FARSIDE_WIRE_COMPLETION, &c,
                  sizeof(c.head) + c.head.length);
}

static void take(FarMemory *far, const RigMessage *m)
{
    struct farside_wire_write write;
    struct farside_wire_read read;
    bool wanted = true;

    switch (m->head.type) {
    case FARSIDE_WIRE_READ:
        memcpy(&read, m->body, sizeof(read));
        g_mutex_lock(&far->lock);
        if (far->hook) {
            wanted = far->hook(far->peer, &read, far->reads, far->opaque);
        }
        far->reads++;
        g_mutex_unlock(&far->lock);
        if (wanted) {
            far_memory_answer(far, &read);
        }
        break;
    case FARSIDE_WIRE_COMPLETION:
        g_mutex_lock(&far->lock);
        far->completions++;
        g_mutex_unlock(&far->lock);
        break;
    case FARSIDE_WIRE_WRITE:
        memcpy(&write, m->body, sizeof(write));
        if (write.address + write.length <= FAR_BYTES) {
            memcpy(far->bytes + write.address, m->body + sizeof(write),
                   write.length);
        }
        break;
    }
    g_atomic_int_inc(&far->messages);
}

static gpointer run(gpointer data)
{
    FarMemory *far = data;

    while (!g_atomic_int_get(&far->stop)) {
        if (g_atomic_int_get(&far->pause)) {
            g_usleep(1000);
        } else if (rig_peer_poll(far->peer, 5)) {
            take(far, rig_peer_receive_any(far->peer));
        }
    }
    return NULL;
}

static void open_windows(DeviceRig *rig)
{
    const uint64_t block = RIG_BAR0 + SWITCHTEC_NTB_CTRL;
    unsigned i;

    rig_part_op(rig, 0, SWITCHTEC_OP_LOCK, SWITCHTEC_STATUS_LOCKED);
    rig_write(rig, block + 0x60, 4, RIG_LUT_CTL);
    for (i = 0; i < 64; i++) {
        rig_write(rig, block + SWITCHTEC_CTRL_LUT + i * 8, 8,
                  (uint64_t)i * 0x10000 | 1 << 1 | 1);
    }
    rig_part_op(rig, 0, SWITCHTEC_OP_CFG, SWITCHTEC_STATUS_NORMAL);
}

FarMemory *far_memory_new(DeviceRig *rig, RigPeer *peer)
{
    FarMemory *far = g_new0(FarMemory, 1);

    open_windows(rig);
    far->peer = peer;
    g_mutex_init(&far->lock);
    far->thread = g_thread_new("far", run, far);
    return far;
}

void far_memory_free(FarMemory *far)
{
    if (far) {
        g_atomic_int_set(&far->stop, 1);
        g_thread_join(far->thread);
        g_mutex_clear(&far->lock);
        g_free(far);
    }
}

uint8_t *far_memory_bytes(FarMemory *far)
{
    return far->bytes;
}

void far_memory_watch(FarMemory *far, FarMemoryHook *hook, void *opaque)
{
    g_mutex_lock(&far->lock);
    far->hook = hook;
    far->opaque = opaque;
    far->reads = 0;
    far->completions = 0;
    g_mutex_unlock(&far->lock);
}

unsigned far_memory_reads(FarMemory *far)
{
    unsigned reads;

    g_mutex_lock(&far->lock);
    reads = far->reads;
    g_mutex_unlock(&far->lock);
    return reads;
}

unsigned far_memory_completions(FarMemory *far)
{
    unsigned completions;

    g_mutex_lock(&far->lock);
    completions = far->completions;
    g_mutex_unlock(&far->lock);
    return completions;
}

void far_memory_pause(FarMemory *far, bool pause)
{
    g_atomic_int_set(&far->pause, pause);
}

void far_memory_settle(FarMemory *far)
{
    gint64 deadline = rig_deadline();
    gint before;

    do {
        ck_assert_int_lt(g_get_monotonic_time(), deadline);
        before = g_atomic_int_get(&far->messages);
        g_usleep(QUIET_US);
    } while (before != g_atomic_int_get(&far->messages));
}
