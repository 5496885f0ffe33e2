/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * The board: memory that all machines of a timed cluster share, by which they
 * keep one virtual time. No other process takes part.
 *
 * Each machine writes a promise on the board: "before this virtual time I send
 * nothing, unless a message makes me". A link has a latency, which no message
 * on it undercuts. From both follows each machine's horizon, the earliest time
 * at which a message may still come in that it does not know yet. A machine may
 * run up to its horizon, and then waits until the others have promised more.
 * The board lowers the promise of a machine to which a message is on its way.
 *
 * Times are ns of virtual time. Functions of an open board belong to one
 * machine, and to one thread of it, except where noted. The same file is
 * compiled into QEMU's object and into the program `farside`.
 */
#ifndef TIMED_BOARD_H
#define TIMED_BOARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TIMED_BOARD_MACHINES 64
#define TIMED_BOARD_LINKS    256
#define TIMED_BOARD_FAULTS   1024 /* of a description */
#define TIMED_BOARD_NAME     128  /* bytes of a link's name, with its 0 */
#define TIMED_BOARD_MESSAGE  8192 /* bytes of the longest message */
#define TIMED_BOARD_NEVER    INT64_MAX
#define TIMED_BOARD_DEVICE   64      /* bytes of a device's name, with its 0 */
#define TIMED_BOARD_SPINS    1000000 /* most looks before a sleep */

typedef struct TimedBoard TimedBoard;

typedef struct TimedBoardLink {
    const char *name;
    unsigned machine[2];
    int64_t latency_ns; /* least time of a message while the link is up; >= 1 */
    int64_t training_ns; /* time of a message while it is down; >= latency_ns */
} TimedBoardLink;

/* A message that was taken from the board. */
typedef struct TimedBoardMessage {
    int64_t arrival;
    uint64_t sequence; /* of the channel */
    size_t size;
    uint8_t bytes[TIMED_BOARD_MESSAGE];
} TimedBoardMessage;

/*
 * Makes a board for @machines machines. Returns a descriptor that is closed on
 * exec, or -1 and errno; EINVAL if a number or name does not fit.
 */
int timed_board_new(unsigned machines, const TimedBoardLink *links,
                    unsigned count);

/* Opens the board @fd for @machine. Returns NULL and errno. */
TimedBoard *timed_board_open(int fd, unsigned machine);
void timed_board_close(TimedBoard *board); /* (nullable) */
/*
 * NULL, or why this process cannot use the board any more: another one has
 * written something impossible on it, or has been stopped while it held the
 * lock. From then on functions change nothing, find nothing and return the
 * time that they were given, so whoever waits in a loop has to ask. The text is
 * constant.
 */
const char *timed_board_error(const TimedBoard *board);

/*
 * The channel on which this machine sends to the other end of the link @name;
 * -1 if it has no such link. The channel back has the number ^ 1.
 */
int timed_board_find(const TimedBoard *board, const char *name);
unsigned timed_board_channels(const TimedBoard *board);
/* True if messages on @channel are for this machine. */
bool timed_board_is_inbound(const TimedBoard *board, unsigned channel);
/* The machine that sends on @channel. */
unsigned timed_board_source(const TimedBoard *board, unsigned channel);

/*
 * Sends a message at @now, which must not be before the machine's promise. It
 * arrives a latency later, and never before a message that was sent earlier.
 * False if there is no room until the peer takes messages.
 */
bool timed_board_send(TimedBoard *board, unsigned channel, int64_t now,
                      const void *bytes, size_t size);
/* Takes the next message of an inbound channel. False if there is none. */
bool timed_board_take(TimedBoard *board, unsigned channel,
                      TimedBoardMessage *ret_message);
/*
 * Says whether @channel's link is up as seen by this machine. When it comes up
 * at @now, messages arrive after the time of training at the earliest: the peer
 * may have run so far ahead.
 */
void timed_board_set_up(TimedBoard *board, unsigned channel, int64_t now,
                        bool up);

/*
 * Crossings. If the board has a model, messages on a channel that is up take
 * the time that the model computes. Their sender gives them to the model, and
 * the model gives them to the receiver at their arrival. The model is asked for
 * nothing else: promises and horizons need no third process.
 *
 * The model may compute up to a time when all machines have promised to send
 * nothing before it. For each channel it writes a bound on the board, the
 * earliest time at which anything arrives that is under way.
 */
typedef enum TimedCrossingKind {
    TIMED_CROSSING_WRITE, /* also all other posted messages */
    TIMED_CROSSING_READ,
    TIMED_CROSSING_COMPLETION,
    TIMED_CROSSING_PLACE, /* tells where the page `address` of this machine is:
                             at offset `tag` in `bar` of `device`, or in memory
                             if `device` is empty. Has no message. */
} TimedCrossingKind;

typedef struct TimedCrossing {
    uint32_t kind;
    uint32_t bytes; /* of data */
    uint64_t address;
    uint32_t tag; /* of a read and its completion */
    uint32_t bar;
    char device[TIMED_BOARD_DEVICE]; /* that makes the access; empty: the CPU */
    uint32_t wants_accept; /* the machine's CPU waits until it is accepted */
    /* The board sets these. */
    uint32_t channel;
    uint32_t machine;
    uint32_t size;     /* of the message */
    uint64_t sequence; /* of the machine's crossings */
    int64_t time;
    int64_t least; /* it arrives no earlier */
} TimedCrossing;

/* Gives the board a model. To be called before any machine opens it. */
void timed_board_add_model(TimedBoard *board);
/* True if a message that is sent on @channel now is a crossing. */
bool timed_board_is_crossing(const TimedBoard *board, unsigned channel);
/* Like timed_board_send(), by way of the model. */
bool timed_board_cross(TimedBoard *board, unsigned channel, int64_t now,
                       const TimedCrossing *crossing, const void *bytes,
                       size_t size);
/*
 * The time at which the machine's last crossing with wants_accept has left its
 * CPU: -1 while that is not known, TIMED_BOARD_NEVER if there is none.
 */
int64_t timed_board_accepted(const TimedBoard *board);
/* That time has come. */
void timed_board_go_on(TimedBoard *board);

/* The model's functions */

TimedBoard *timed_board_open_model(int fd);
/* Takes a crossing and its message, from any machine. False if there is none.
 */
bool timed_board_take_crossing(TimedBoard *board, TimedCrossing *ret_crossing,
                               uint8_t ret_bytes[TIMED_BOARD_MESSAGE]);
/* Gives a crossing's message to the receiver. @arrival never decreases. */
void timed_board_deliver(TimedBoard *board, unsigned channel, int64_t arrival,
                         const void *bytes, size_t size);
void timed_board_accept(TimedBoard *board, unsigned machine, int64_t time);
/*
 * Writes a bound for each channel, and for each machine the earliest time at
 * which its crossing can be accepted (-1: none of its crossings was taken).
 * Crossings that were not taken yet keep their own bounds. Returns the time
 * before which no machine sends.
 */
int64_t timed_board_report_model(TimedBoard *board, const int64_t *bounds,
                                 const int64_t *accept_bounds);

/*
 * Writes this machine's time and promise, and returns its horizon. The promise
 * must not be later than the arrival of any message that was taken.
 */
int64_t timed_board_report(TimedBoard *board, int64_t now, int64_t promise);
/*
 * Waits until the horizon is later than @want, a message was sent here, or
 * @timeout_ms have passed. Spins at first. Returns the horizon.
 */
int64_t timed_board_wait(TimedBoard *board, int64_t want, unsigned spins,
                         int timeout_ms);

/*
 * Time stands still at the limit: a machine that reaches it waits there until
 * the limit is later than @now or the round has changed, but no longer than
 * @timeout_ms. Returns the limit.
 * @round says that the machine has done what it had to do in that round; a
 * round begins when others have given it input.
 */
int64_t timed_board_stand(TimedBoard *board, int64_t now, uint32_t round,
                          int timeout_ms);
/*
 * Before it stands: @busy says that this machine is in the middle of an access,
 * so that it acts on no input.
 */
void timed_board_set_busy(TimedBoard *board, bool busy);
/* True if @machine stands in the middle of an access. Any process may ask. */
bool timed_board_is_busy(const TimedBoard *board, unsigned machine);
int64_t timed_board_limit(const TimedBoard *board);
uint32_t timed_board_round(const TimedBoard *board);

/* Any process may call the following four. At first the limit is never. */
void timed_board_set_limit(TimedBoard *board, int64_t limit);
void timed_board_next_round(TimedBoard *board);
/* True if all machines stand at the limit, and have done their round. */
bool timed_board_all_stand(TimedBoard *board);
/* The same after @timeout_us, less than a second, or as soon as it is true. */
bool timed_board_await_stand(TimedBoard *board, int timeout_us);

/* The machine @machine is no more: nobody waits for it, and what is sent to it
 * is lost. Any process may call this, while time stands still. */
void timed_board_leave(TimedBoard *board, unsigned machine);
/* A new machine @machine begins where time stands still. All wait for it. Any
 * process may call this, before it starts the machine. */
void timed_board_return(TimedBoard *board, unsigned machine);
/* The number of times that the machine that sends on @channel has left, and has
 * returned */
uint32_t timed_board_departures(const TimedBoard *board, unsigned channel);
uint32_t timed_board_returns(const TimedBoard *board, unsigned channel);
/* The fault number @fault of the description has switched this machine off: the
 * supervisor is to end it. */
void timed_board_fall(TimedBoard *board, unsigned fault);
/* The number of the fault that has switched @machine off first; -1: none has.
 * Any process may ask. */
int timed_board_fallen(const TimedBoard *board, unsigned machine);

/* The events that have come of those for which a fault waits. */
typedef struct TimedBoardEvents {
    int64_t count;
    int64_t last_ns; /* the virtual time of the last one */
} TimedBoardEvents;

/*
 * One more event has come at @now, in ns, for which fault @fault, less than
 * TIMED_BOARD_FAULTS, waits in this machine. The board keeps the number and the
 * time when the machine is no more, so that the next one goes on from there.
 */
void timed_board_count_event(TimedBoard *board, unsigned fault, int64_t now);
/* Any process may call these two, while time stands still. The second one says
 * that the faults are others from now on. */
TimedBoardEvents timed_board_events(const TimedBoard *board, unsigned fault);
void timed_board_forget_events(TimedBoard *board);

/*
 * A copy of the board, for processes that were forked from those that use it
 * while all machines stand. In the copy no machine stands yet. The model calls
 * this, because only the model changes the board then. Returns a descriptor
 * that is closed on exec, or -1 and errno.
 */
int timed_board_copy(TimedBoard *board);
/* @board is the copy @fd from now on. False and errno if it is not. */
bool timed_board_become(TimedBoard *board, int fd);
/*
 * The training of link @link, by its number, takes @training_ns, if that is
 * less than before. To be called while all machines stand.
 */
void timed_board_set_training(TimedBoard *board, unsigned link,
                              int64_t training_ns);
/* Any process may wake the model, which sees how often that was. */
void timed_board_wake_model(TimedBoard *board);
uint32_t timed_board_wakeups(const TimedBoard *board);

/* The time that @machine has last reported. Any process may ask. */
int64_t timed_board_now(const TimedBoard *board, unsigned machine);

#endif /* TIMED_BOARD_H */
