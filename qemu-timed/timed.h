/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A machine in virtual time: the parts of farside-timed.so, which QEMU loads
 * only for a timed cluster. docs/developer/timed.md explains how they work
 * together. Times are ns of QEMU_CLOCK_VIRTUAL.
 */
#ifndef TIMED_H
#define TIMED_H

#include "qemu/osdep.h"
#include "qemu/iov.h"
#include "qemu/timer.h"
#include "block/block.h"
#include "farside_time.h"
#include "board/timed_board.h"

/* Others act on a machine that has no limit only at multiples of this time. */
#define TIMED_BARRIER_NS 1000000
#define TIMED_BLOCKING   4
/* The longest real time in which a machine that waits looks at nothing else */
#define TIMED_WAIT_MS 100

typedef struct TimedOptions {
    TimedBoard *board;            /* NULL: a machine without links */
    int board_fd;                 /* its descriptor */
    int control; /* line on which branches are asked for; -1: none */
    int64_t instruction_ps;       /* that an instruction takes; 1 to 1000 */
    int64_t pause_ps;             /* that a PAUSE takes */
    int64_t slice_ns;             /* the CPU runs no longer in one piece */
    int64_t start_ns; /* the virtual time at which the machine is switched on */
    unsigned spins;               /* looks at the board before sleeping */
    int blocking[TIMED_BLOCKING]; /* descriptors that must block; 0: none */
} TimedOptions;

/* timed_main.c: called by the loader, in this order */

bool farside_module_options(int argc, char **argv);
void farside_timed_register(void);

/* timed_clock.c: time of this machine. The caller holds the big lock. */

static inline int64_t timed_clock_now(void)
{
    return qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL);
}
/* For stock QEMU's hooks, if an instruction takes another time than 1 ns. */
int64_t timed_clock_read(void);
void timed_clock_set_instruction(int64_t ps);
/* The number of instructions that the CPU runs until @ns have just passed. */
int64_t timed_clock_instructions(int64_t ns);
/* The time passes without the CPU: it is idle, or stalled in an access. */
void timed_clock_advance(int64_t ns);
/* The time of the next timer; TIMED_BOARD_NEVER if none is set. */
int64_t timed_clock_next(void);
/*
 * Runs due timers and bottom halves until none is left. @nested: inside an
 * access of the CPU, where the bottom halves of the main loop must not run.
 *
 * Does nothing inside itself: there a device waits for its DMA in the middle of
 * a timer or bottom half, and must not be entered again. What is due meanwhile
 * runs after it.
 */
void timed_clock_run(bool nested);
/* An access that waits for the peer looks again if its link is still up. */
void timed_clock_wake(void);
/* The number of calls of timed_clock_wake(). */
unsigned timed_clock_wakes(void);
/* True inside timed_clock_run(). */
bool timed_clock_is_running(void);

/* timed_gate.c: the big lock between slices. */

/* Makes this thread, the CPU's, the one that the gate keeps others out of. */
void timed_gate_init(void);
/* True if the CPU has accessed a device since the last take. */
bool timed_gate_has_access(void);
bool timed_gate_take_access(void);
/* True if another thread waits for the big lock. */
bool timed_gate_has_waiters(void);
/*
 * Lets all threads that wait for the big lock have it once, and then closes
 * the gate again. The caller holds the lock, and holds it again afterwards.
 */
void timed_gate_pass(void);
/*
 * The device whose DMA has just reached a window; NULL: an access is the CPU's.
 * The CPU's next access sets it to NULL.
 */
void timed_gate_set_device(const char *device);
const char *timed_gate_device(void);
/* Calls @look in each turn of the main loop. */
void timed_gate_set_look(void (*look)(void));
/*
 * To be called by the CPU's thread, with the lock, again and again while it
 * waits for another process and nothing happens: @tries times up to now, each
 * TIMED_WAIT_MS after the last. It may be in the middle of an access. The other
 * process may have been stopped, so this lets the main loop answer monitors,
 * and end QEMU. The guest gets no input then: real time would decide when.
 */
void timed_gate_wait_in_vain(unsigned tries);
/* Leaves the gate open, until timed_gate_pass(), while the CPU is stopped. */
void timed_gate_open(void);
/*
 * Opens the gate until the main loop has acted on all that had come in for it.
 * The caller holds the lock, and holds it again afterwards.
 */
void timed_gate_turn(void);
/* In a branch: the gate is open, and nobody waits. */
void timed_gate_renew(void);

/* timed_line.c: the sockets to the guest, options->blocking. */

/* @wait_in_vain: see timed_gate_wait_in_vain() */
void timed_line_init(const TimedOptions *options,
                     void (*wait_in_vain)(unsigned tries));
/* A write waits from now on. Called when all character devices exist. */
void timed_line_block(void);
/* The bytes of input that the guest has not taken. */
size_t timed_line_input(void);
/* The main loop reads next as much as the guest takes now. */
void timed_line_look_again(void);
/*
 * While they are held the main loop reads nothing. The caller holds the big
 * lock.
 */
void timed_line_hold(bool hold);

/* timed_link.c: messages of other machines. The caller holds the big lock. */

void timed_link_init(const TimedOptions *options);
/*
 * Reports the time and waits until all promises have passed @now. False if the
 * CPU shall stop first.
 */
bool timed_link_sync(int64_t now);
/* True if the CPU must not run: a store has not left it. */
bool timed_link_is_stalled(int64_t now);
/*
 * Waits until nothing unknown can come in up to the returned time, which is
 * @want, or before it the arrival of a message or the end of a stall. The
 * machine does nothing until then. Returns @now if the CPU shall stop first.
 */
int64_t timed_link_idle(int64_t now, int64_t want);
/*
 * At a barrier: waits while time stands still at @now, and lets other threads
 * act meanwhile. False if nobody makes time stand still; otherwise others act
 * only then.
 */
bool timed_link_stand(int64_t now);
/*
 * The next barrier at @now or later: the limit, where time stands still. If
 * there is none, a multiple of TIMED_BARRIER_NS.
 */
int64_t timed_link_barrier(int64_t now);
/* The time up to which the CPU may run from @now on; later than @now. */
int64_t timed_link_limit(int64_t now);
/* Delivers the messages that have arrived by @now. False if there was none. */
bool timed_link_deliver(int64_t now);
/* The windows of the NTB devices; NULL: there is none. */
const FarsideTimeWindows *timed_link_windows(void);

/* timed_fault.c: faults of this machine, at exact times. */

/*
 * INDEX:BEGIN:ACTION:FOR:TRAINING:LOOKAHEAD:DEVICE, times in ns. INDEX is the
 * number of the fault in the description, BEGIN is a time or EVENT:COUNT; see
 * timed_fault.c. False if @value is malformed.
 */
bool timed_fault_option(const char *value);
/* The same for a running machine. The time must not have passed. */
bool timed_fault_add(const char *value);
void timed_fault_init(const TimedOptions *options);
/* The time up to which the CPU executes nothing; 0: it may run. */
int64_t timed_fault_frozen_until(int64_t now);
/* A message of another machine has arrived. */
void timed_fault_see(const void *packet);

/* timed_drive.c: the time of drives. */

/*
 * NAME:OVERHEAD:READ-LATENCY:WRITE-LATENCY:JITTER:READ-RATE:WRITE-RATE, times
 * in ps and rates in bytes/s, of the drive or block node NAME. False if @value
 * is malformed.
 */
bool timed_drive_option(const char *value);
void timed_drive_init(void);

/* timed_dma.c: data of drives in other hosts' memory. */

/* A command's data; a part of them is moved as one. */
typedef struct TimedDma TimedDma;
#define TIMED_DMA_PAGE 4096u
/*
 * This many more pages have arrived, at @now, or, below 0, one does not arrive.
 * May end the command.
 */
typedef void TimedDmaArrived(void *opaque, int pages, int64_t now);

/* @filter: the driver of the block nodes that are drives in virtual time */
void timed_dma_init(const BlockDriver *filter);
/* The command with the data @qiov (nullable); NULL: they are in memory. */
TimedDma *timed_dma_find(const QEMUIOVector *qiov);
/* Begins to read all data from the other host. May end the command. */
void timed_dma_fetch(TimedDma *dma, TimedDmaArrived *arrived, void *opaque);
/* No more pages arrive. */
void timed_dma_cancel(TimedDma *dma);
/* Writes the bytes from @begin to @end to the other host. */
void timed_dma_post(TimedDma *dma, uint64_t begin, uint64_t end);

/* timed_steps.c: a record of all that happens. Does nothing unless it is on. */

/* False, after a message, if the file @path cannot be written. */
bool timed_steps_option(const char *path);
void timed_steps_add(const char *format, ...) G_GNUC_PRINTF(1, 2);
/* The same, with the state of the CPU, which must not run. */
void timed_steps_add_cpu(const char *what);
/* A run of the CPU has ended with an access, or the CPU has halted. */
void timed_steps_add_run(void);
uint64_t timed_steps_hash(const void *bytes, size_t size);
void timed_steps_flush(void);

/* timed_patch.c: functions of QEMU that have no hook. */

/*
 * From now on calls of QEMU's @function, which has this name, go to
 * @replacement. Ends QEMU, after a message, if that cannot be.
 */
void timed_patch(const char *name, void *function, const void *replacement);

/* timed_pause.c: PAUSE takes longer than other instructions. */

void timed_pause_init(const TimedOptions *options);
/*
 * Takes up to @most instructions off the time that PAUSEs still have to take.
 * Returns how many.
 */
int64_t timed_pause_spend(int64_t most);

/* timed_vcpu.c: the CPU's thread. */

void timed_vcpu_init(const TimedOptions *options);
/* In a branch: makes the CPU's thread, which stands where it stood. */
void timed_vcpu_renew(void);

/* timed_branch.c: branches of this machine. */

void timed_branch_init(const TimedOptions *options);

#endif /* TIMED_H */
