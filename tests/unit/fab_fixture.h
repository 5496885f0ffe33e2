/* SPDX-License-Identifier: MIT */
#ifndef FAB_FIXTURE_H
#define FAB_FIXTURE_H

#include <check.h>

#include "fab_endpoint.h"
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

#define fixture_assert_time_eq(a, b)                                           \
    ck_assert_int_eq((intmax_t)(a), (intmax_t)(b))
/* For checks that are made often: check's own assertions write to the parent
 * process each time, even when they hold. */
#define fixture_ensure(expr)                                                   \
    do {                                                                       \
        if (G_UNLIKELY(!(expr))) {                                             \
            ck_abort_msg("%s:%d: %s", __FILE__, __LINE__, #expr);              \
        }                                                                      \
    } while (0)
/* Within @share of @want. */
#define fixture_assert_near(got, want, share)                                  \
    ck_assert_msg((got) >= (want) * (1 - (share)) &&                           \
                      (got) <= (want) * (1 + (share)),                         \
                  "%s:%d: %g is not %g within %g", __FILE__, __LINE__,         \
                  (double)(got), (double)(want), (double)(share))

typedef struct Fixture Fixture;
typedef struct FixtureEnd FixtureEnd;

Fixture *fixture_new(void);
void fixture_free(Fixture *fixture);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Fixture, fixture_free)

FabFabric *fixture_fabric(Fixture *fixture);
SimEngine *fixture_engine(Fixture *fixture);
SimTime fixture_now(Fixture *fixture);

void fixture_connect(Fixture *fixture, FabComponent *a, unsigned port_a,
                     FabComponent *b, unsigned port_b, FabSpeed speed,
                     uint32_t width, SimTime propagation);
void fixture_realize(Fixture *fixture);
/* Runs until nothing is left to happen. */
void fixture_run(Fixture *fixture);
void fixture_run_until(Fixture *fixture, SimTime time);

typedef void (*FixtureFn)(void *data);
/* Calls @fn at @time, which is not in the past. */
void fixture_at(Fixture *fixture, SimTime time, FixtureFn fn, void *data);

/* No TLP is left, and every credit is with its sender or about to be. */
void fixture_assert_drained(Fixture *fixture);

/*
 * From now on: no port sends what its receiver has not advertised room for,
 * counting a TLP from the start of its sending until its last byte has left
 * the receiver, or the end has let go of it. For fabrics in which TLPs end at
 * a FixtureEnd only. Takes the trace.
 */
void fixture_watch_credits(Fixture *fixture);

/* Parameters: no limit but the wire, no latency, MPS 256. */
FabPortParams fixture_port(FabSpeed speed, uint32_t width);
/* The same, with @header and @data credits of every class. */
FabPortParams fixture_port_credits(FabSpeed speed, uint32_t width,
                                   uint32_t header, uint32_t data);
FabRootParams fixture_root(void);
FabEndpointParams fixture_device(void);
FabNtbParams fixture_ntb(void);

/* A TLP that came to an end. */
typedef struct FixtureLog {
    SimTime time;
    FabTlp tlp;
} FixtureLog;

/* An endpoint of a test: sends what it is told to, and keeps or forgets what
 * comes. Fields below "hooks" may be set at any time. */
struct FixtureEnd {
    FabComponent component;
    Fixture *fixture;
    /* Hooks. */
    void (*got)(FixtureEnd *end, const FabTlp *tlp); /* nullable */
    /* How long it keeps @tlp in its receive buffer; nullable: not at all. */
    SimTime (*hold)(FixtureEnd *end, const FabTlp *tlp);
    /* The next to send, NULL: no more; see fixture_end_start(). */
    FabTlp *(*make)(FixtureEnd *end);
    bool logs; /* keep copies of what comes in log */
    void *user;
    /* State. */
    GArray *log; /* of FixtureLog */
    uint64_t received[FAB_CLASSES];
    uint64_t received_bytes; /* payload */
    uint64_t made;           /* for `make` */
    unsigned backlog;
};

/* An end named @name with a 32-bit BAR 0 of @bar0 bytes and a prefetchable
 * 64-bit BAR 2 of @bar2 bytes (0: none). It takes whole TLPs. */
FixtureEnd *fixture_end_new(Fixture *fixture, const char *name,
                            const FabPortParams *port, uint64_t bar0,
                            uint64_t bar2);

/* Keeps @backlog TLPs from end->make waiting at the egress. */
void fixture_end_start(FixtureEnd *end, unsigned backlog);

/* A TLP of @end's: @bytes are its payload, or what it asks for. */
FabTlp *fixture_tlp(FixtureEnd *end, FabTlpType type, FabBusAddr addr,
                    uint32_t bytes);
void fixture_send(FixtureEnd *end, FabTlp *tlp);
/* Answers @request: with data in completions of at most @most bytes, if
 * @status says so. */
void fixture_reply(FixtureEnd *end, const FabTlp *request, FabStatus status,
                   uint32_t most);

static inline FixtureLog *fixture_log(const FixtureEnd *end, unsigned index)
{
    fixture_ensure(index < end->log->len);
    return &g_array_index(end->log, FixtureLog, index);
}

/* Address of BAR 0 or 2. */
static inline FabBusAddr fixture_bar(const FixtureEnd *end, unsigned bar)
{
    return end->component.bars[bar].addr;
}

void fixture_send_read(FixtureEnd *end, FabBusAddr addr, uint32_t bytes,
                       uint16_t tag);

/* A root with an end below each of three ports, which keep logs. */
typedef struct FixtureHost {
    Fixture *fixture;
    FabRoot *root;
    FixtureEnd *dev;
    FixtureEnd *far;
    FixtureEnd *third;
} FixtureHost;

/* Makes and realizes @host; the ends' user data is @host. */
void fixture_host_init(FixtureHost *host, Fixture *fixture,
                       const FabRootParams *params, const FabPortParams *port);

/* Runs the tests of @suite (taken) as TAP; returns main()'s result. */
int fixture_main(Suite *suite);

#endif
