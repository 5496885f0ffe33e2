/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * While the CPU runs it does not hold the big lock, and in stock QEMU another
 * thread could take it at any instruction. Here other threads wait at a gate
 * instead, which opens only at barriers. So nothing that they do, such as a
 * change of the memory map, falls into the middle of a slice.
 */
#include "timed.h"
#include "hw/core/cpu.h"
#include "qemu/main-loop.h"
#include "qemu/thread.h"
#include "timed_qemu.h"

/* Turns of the main loop in which it acts on all that had come in before. */
#define TURNS 3
/* Waits in vain after which a monitor is answered: one second */
#define PATIENCE 10

static struct {
    pthread_mutex_t lock;
    pthread_cond_t opened;
    pthread_cond_t passed;
    bool closed;
    unsigned waiting; /* threads before the gate */
    unsigned inside;  /* threads behind it that do not have the big lock yet */
    unsigned turns;   /* of the main loop that were asked for */
} gate = {
    .lock = PTHREAD_MUTEX_INITIALIZER,
    .opened = PTHREAD_COND_INITIALIZER,
    .passed = PTHREAD_COND_INITIALIZER,
};

static __thread bool is_vcpu;
static bool has_accessed;
static const char *device;
static void (*look)(void);

/*
 * The CPU's thread takes the big lock in the middle of a slice, in an access to
 * a device. The slice ends after the instruction, because the device may have
 * changed what is due next. Between two instructions QEMU's cpu-exec.c takes
 * the lock, too, as long as an interrupt is pending: nothing but the CPU and
 * its interrupt controller changes then. If that ended the slice, a kernel that
 * has interrupts disabled would run a few instructions a slice.
 */
static bool is_access(const char *file)
{
    return current_cpu && current_cpu->running &&
           !g_str_has_suffix(file, "/cpu-exec.c");
}

static void gate_lock(QemuMutex *mutex, const char *file, int line)
{
    if (is_vcpu) {
        qemu_mutex_lock_impl(mutex, file, line);
        if (is_access(file)) {
            has_accessed = true;
            device = NULL;
            cpu_exit(current_cpu);
        }
        return;
    }
    pthread_mutex_lock(&gate.lock);
    qatomic_set(&gate.waiting, gate.waiting + 1);
    while (gate.closed) {
        pthread_cond_wait(&gate.opened, &gate.lock);
    }
    qatomic_set(&gate.waiting, gate.waiting - 1);
    gate.inside++;
    pthread_mutex_unlock(&gate.lock);
    qemu_mutex_lock_impl(mutex, file, line);
    pthread_mutex_lock(&gate.lock);
    gate.inside--;
    pthread_cond_broadcast(&gate.passed);
    pthread_mutex_unlock(&gate.lock);
}

void timed_gate_init(void)
{
    is_vcpu = true;
    qatomic_set(&bql_mutex_lock_func, gate_lock);
}

void timed_gate_set_device(const char *from)
{
    device = from;
}

const char *timed_gate_device(void)
{
    return device;
}

void timed_gate_set_look(void (*fn)(void))
{
    look = fn;
}

bool timed_gate_has_access(void)
{
    return has_accessed;
}

bool timed_gate_take_access(void)
{
    bool result = has_accessed;

    has_accessed = false;
    return result;
}

bool timed_gate_has_waiters(void)
{
    return qatomic_read(&gate.waiting) > 0;
}

void timed_gate_open(void)
{
    pthread_mutex_lock(&gate.lock);
    gate.closed = false;
    pthread_cond_broadcast(&gate.opened);
    pthread_mutex_unlock(&gate.lock);
}

/* The main loop has come round. */
static void main_loop_ran(void *opaque)
{
    if (look) {
        look();
    }
    pthread_mutex_lock(&gate.lock);
    gate.turns++;
    pthread_cond_broadcast(&gate.passed);
    pthread_mutex_unlock(&gate.lock);
}

/*
 * The first turn may be one that had begun before the input came, and the
 * second may reach this bottom half before the input. Only the main loop polls
 * this context now, because the CPU's thread waits here.
 */
static void turn(void)
{
    AioContext *context = iohandler_get_aio_context();
    unsigned target, i;

    for (i = 0; i < TURNS; i++) {
        pthread_mutex_lock(&gate.lock);
        target = gate.turns + 1;
        pthread_mutex_unlock(&gate.lock);
        aio_bh_schedule_oneshot(context, main_loop_ran, NULL);
        pthread_mutex_lock(&gate.lock);
        while ((int)(gate.turns - target) < 0 && !current_cpu->stop) {
            struct timespec ts;

            clock_gettime(CLOCK_REALTIME, &ts);
            ts.tv_sec++;
            pthread_cond_timedwait(&gate.passed, &gate.lock, &ts);
        }
        pthread_mutex_unlock(&gate.lock);
    }
}

/*
 * In each turn the main loop takes a part of the input, and it may come round
 * more often than it was asked to. So it goes on until the guest takes no more:
 * how much the guest gets at this virtual time must not depend on the number
 * of turns. (The sender's SIOCOUTQ does not show that: it counts whole buffers
 * of the socket.)
 */
static void settle(void)
{
    size_t before, left = timed_line_input();

    do {
        before = left;
        turn();
        left = timed_line_input();
    } while (left != before && !current_cpu->stop);
}

void timed_gate_turn(void)
{
    timed_line_look_again();
    timed_gate_open();
    bql_unlock();
    settle();
    bql_lock();
    timed_gate_pass();
}

void timed_gate_wait_in_vain(unsigned tries)
{
    ShutdownCause cause = qemu_shutdown_requested_get();

    if (cause == SHUTDOWN_CAUSE_HOST_SIGNAL ||
        cause == SHUTDOWN_CAUSE_HOST_QMP_QUIT) {
        timed_gate_pass();
    } else if (tries >= PATIENCE && timed_gate_has_waiters()) {
        timed_line_hold(true);
        timed_gate_pass();
        timed_line_hold(false);
    }
}

void timed_gate_renew(void)
{
    pthread_mutex_init(&gate.lock, NULL);
    pthread_cond_init(&gate.opened, NULL);
    pthread_cond_init(&gate.passed, NULL);
    gate.closed = false;
    gate.waiting = 0;
    gate.inside = 0;
}

void timed_gate_pass(void)
{
    timed_gate_open();
    bql_unlock();
    pthread_mutex_lock(&gate.lock);
    while (gate.waiting > 0 || gate.inside > 0) {
        pthread_cond_wait(&gate.passed, &gate.lock);
    }
    gate.closed = true;
    pthread_mutex_unlock(&gate.lock);
    bql_lock();
}
