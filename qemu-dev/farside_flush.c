/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "qemu/osdep.h"
#include "qemu/main-loop.h"
#include "qemu/queue.h"
#include "qemu/timer.h"
#include "exec/cpu-common.h"
#include "farside_flush.h"
#include "farside_qemu.h"
#include "farside_time.h"

struct FarsideFlushes {
    Object *owner;
    uint32_t timeout_ms;
    FarsideIsInUse *is_in_use;
    void *opaque;
    uint32_t count;
};

typedef struct Flush {
    FarsideFlushes *flushes;
    FarsideFlushed *flushed;
    void *opaque;
    uint32_t number;
    unsigned works; /* of CPUs, which have this flush as their argument */
    GHashTable *cpus; /* those that the flush waits for */
    int64_t deadline;
    QEMUTimer *timer; /* NULL: no device had mapped anything */
    bool is_over;
    QLIST_ENTRY(Flush) next;
} Flush;

/* Of all devices. A flush is in the list until it waits for no CPU. */
static QLIST_HEAD(, Flush) flushes = QLIST_HEAD_INITIALIZER(flushes);
/* CPUs that stand */
static GHashTable *standing;

static void flush_unref(Flush *f)
{
    if (f->is_over && f->works == 0) {
        g_hash_table_destroy(f->cpus);
        g_free(f);
    }
}

/* Transfers that began before the change end first, but nobody waits long. */
static void flush_finish(void *opaque)
{
    Flush *f = opaque;
    FarsideFlushes *s = f->flushes;

    if (s->is_in_use(s->opaque) && farside_time_now() < f->deadline) {
        if (!f->timer) {
            f->timer = timer_new_ms(QEMU_CLOCK_REALTIME, flush_finish, f);
        }
        timer_mod(f->timer, qemu_clock_get_ms(QEMU_CLOCK_REALTIME) + 1);
        return;
    }
    timer_free(f->timer);
    f->flushed(f->opaque, f->number);
    object_unref(s->owner);
    f->is_over = true;
    flush_unref(f);
}

/* Finishes the flush if no CPU is left. */
static void flush_look(Flush *f)
{
    if (g_hash_table_size(f->cpus) == 0) {
        QLIST_REMOVE(f, next);
        aio_bh_schedule_oneshot(qemu_get_aio_context(), flush_finish, f);
    }
}

static void flush_done_on(CPUState *cpu, run_on_cpu_data data)
{
    Flush *f = data.host_ptr;

    f->works--;
    if (g_hash_table_remove(f->cpus, cpu)) {
        flush_look(f);
    }
    flush_unref(f);
}

uint32_t farside_flush_begin(FarsideFlushes *s, FarsideFlushed *flushed,
                             void *opaque)
{
    Flush *f = g_new0(Flush, 1);
    CPUState *cpu;

    s->count++;
    if (s->count == 0) {
        s->count++;
    }
    f->flushes = s;
    f->flushed = flushed;
    f->opaque = opaque;
    f->number = s->count;
    f->deadline = farside_time_now() + (int64_t)s->timeout_ms * SCALE_MS;
    f->cpus = g_hash_table_new(NULL, NULL);
    object_ref(s->owner);
    QLIST_INSERT_HEAD(&flushes, f, next);
    CPU_FOREACH(cpu) {
        if (!standing || !g_hash_table_contains(standing, cpu)) {
            g_hash_table_add(f->cpus, cpu);
            f->works++;
        }
    }
    CPU_FOREACH(cpu) {
        if (g_hash_table_contains(f->cpus, cpu)) {
            /* A CPU does its work in order, so this follows its TLB flush. */
            async_run_on_cpu(cpu, flush_done_on, RUN_ON_CPU_HOST_PTR(f));
        }
    }
    flush_look(f);
    return s->count;
}

void farside_flush_stand(CPUState *cpu)
{
    CPUState *other;
    Flush *f, *next;

    if (!standing) {
        standing = g_hash_table_new(NULL, NULL);
    }
    CPU_FOREACH(other) {
        if (other->thread != cpu->thread) {
            continue;
        }
        g_hash_table_add(standing, other);
        QLIST_FOREACH_SAFE(f, &flushes, next, next) {
            if (g_hash_table_remove(f->cpus, other)) {
                flush_look(f);
            }
        }
    }
}

void farside_flush_go_on(CPUState *cpu)
{
    CPUState *other;

    CPU_FOREACH(other) {
        if (other->thread == cpu->thread) {
            g_hash_table_remove(standing, other);
        }
    }
}

FarsideFlushes *farside_flushes_new(Object *owner, uint32_t timeout_ms,
                                    FarsideIsInUse *is_in_use, void *opaque)
{
    FarsideFlushes *s = g_new0(FarsideFlushes, 1);

    s->owner = owner;
    s->timeout_ms = timeout_ms;
    s->is_in_use = is_in_use;
    s->opaque = opaque;
    return s;
}

void farside_flushes_free(FarsideFlushes *s)
{
    g_free(s);
}
