/* SPDX-License-Identifier: MIT */
#ifndef FAB_FIXTURE_H
#define FAB_FIXTURE_H

#include <check.h>

#include "fab_device.h"
#include "fab_fabric_priv.h"
#include "fab_ntb.h"
#include "fab_root.h"
#include "fab_switch.h"

/*
 * A fabric to test: the model's own components with good defaults, and ends
 * of links that do what a test tells them to. Whatever goes wrong in setting
 * up fails the test.
 */

#define KIB(n) ((uint64_t)(n) << 10)
#define MIB(n) ((uint64_t)(n) << 20)
#define GIB(n) ((uint64_t)(n) << 30)

#define fix_assert_time_eq(a, b) ck_assert_int_eq((intmax_t)(a), (intmax_t)(b))
/* Where much is checked: check's own assertions write to the parent process
 * each time, even when they hold. */
#define fix_ensure(expr)                                                       \
    do {                                                                       \
        if (G_UNLIKELY(!(expr))) {                                             \
            ck_abort_msg("%s:%d: %s", __FILE__, __LINE__, #expr);              \
        }                                                                      \
    } while (0)
/* Within @share of @want. */
#define fix_assert_near(got, want, share)                                      \
    ck_assert_msg((got) >= (want) * (1 - (share)) &&                           \
                      (got) <= (want) * (1 + (share)),                         \
                  "%s:%d: %g is not %g within %g", __FILE__, __LINE__,         \
                  (double)(got), (double)(want), (double)(share))

typedef struct Fix Fix;
typedef struct FixEnd FixEnd;

Fix *fix_new(void);
void fix_free(Fix *fix);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Fix, fix_free)

FabFabric *fix_fabric(Fix *fix);
SimEngine *fix_engine(Fix *fix);
SimTime fix_now(Fix *fix);

void fix_connect(Fix *fix, FabComponent *a, unsigned port_a, FabComponent *b,
                 unsigned port_b, FabSpeed speed, uint32_t width,
                 SimTime propagation);
void fix_realize(Fix *fix);
/* Runs until nothing is left to happen. */
void fix_run(Fix *fix);
void fix_run_until(Fix *fix, SimTime time);

typedef void (*FixFn)(void *data);
/* Calls @fn at @time, which is not in the past. */
void fix_at(Fix *fix, SimTime time, FixFn fn, void *data);

/* No TLP is left, and every credit is with its sender or about to be. */
void fix_assert_drained(Fix *fix);

/*
 * From now on: no port sends what its receiver has not advertised room for,
 * counting a TLP from the start of its sending until its last byte has left
 * the receiver, or the end has let go of it. For fabrics in which TLPs end at
 * a FixEnd only. Takes the trace.
 */
void fix_watch_credits(Fix *fix);

/* Parameters: no limit but the wire, no latency, MPS 256. */
FabPortParams fix_port(FabSpeed speed, uint32_t width);
/* The same, with @header and @data credits of every class. */
FabPortParams fix_port_credits(FabSpeed speed, uint32_t width, uint32_t header,
                               uint32_t data);
FabRootParams fix_root(void);
FabDeviceParams fix_device(void);
FabNtbParams fix_ntb(void);

/* A TLP that came to an end. */
typedef struct FixLog {
    SimTime time;
    FabTlp tlp;
} FixLog;

/* An endpoint of a test: sends what it is told to, and keeps or forgets what
 * comes. Fields below "hooks" may be set at any time. */
struct FixEnd {
    FabComponent component;
    Fix *fix;
    /* Hooks. */
    void (*got)(FixEnd *end, const FabTlp *tlp); /* nullable */
    /* How long it keeps @tlp in its receive buffer; nullable: not at all. */
    SimTime (*hold)(FixEnd *end, const FabTlp *tlp);
    /* The next to send, NULL: no more; see fix_end_start(). */
    FabTlp *(*make)(FixEnd *end);
    bool logs; /* keep copies of what comes in log */
    void *user;
    /* State. */
    GArray *log; /* of FixLog */
    uint64_t received[FAB_CLASSES];
    uint64_t received_bytes; /* payload */
    uint64_t made;           /* for `make` */
    unsigned backlog;
};

/* An end named @name with a 32-bit BAR 0 of @bar0 bytes and a prefetchable
 * 64-bit BAR 2 of @bar2 bytes (0: none). It takes whole TLPs. */
FixEnd *fix_end_new(Fix *fix, const char *name, const FabPortParams *port,
                    uint64_t bar0, uint64_t bar2);

/* Keeps @backlog TLPs from end->make waiting at the egress. */
void fix_end_start(FixEnd *end, unsigned backlog);

/* A TLP of @end's: @bytes are its payload, or what it asks for. */
FabTlp *fix_tlp(FixEnd *end, FabTlpType type, FabBusAddr addr, uint32_t bytes);
void fix_send(FixEnd *end, FabTlp *tlp);
/* Answers @request: with data in completions of at most @most bytes, if
 * @status says so. */
void fix_reply(FixEnd *end, const FabTlp *request, FabStatus status,
               uint32_t most);

static inline FixLog *fix_log(const FixEnd *end, unsigned index)
{
    fix_ensure(index < end->log->len);
    return &g_array_index(end->log, FixLog, index);
}

/* Address of BAR 0 or 2. */
static inline FabBusAddr fix_bar(const FixEnd *end, unsigned bar)
{
    return end->component.bars[bar].addr;
}

void fix_send_read(FixEnd *end, FabBusAddr addr, uint32_t bytes, uint16_t tag);

/* A root with an end below each of three ports, which keep logs. */
typedef struct FixHost {
    Fix *fix;
    FabRoot *root;
    FixEnd *dev;
    FixEnd *far;
    FixEnd *third;
} FixHost;

/* Makes and realizes @host; the ends' user data is @host. */
void fix_host_init(FixHost *host, Fix *fix, const FabRootParams *params,
                   const FabPortParams *port);

/* Runs the tests of @suite (taken) as TAP; returns main()'s result. */
int fix_main(Suite *suite);

#endif
