/* SPDX-License-Identifier: MIT */
#ifndef FAB_FIXTURE_H
#define FAB_FIXTURE_H

#include <check.h>

#include "fab_endpoint.h"
#include "fab_account_priv.h"
#include "fab_ntb.h"
#include "fab_root.h"
#include "fab_switch.h"

/*
 * A fabric to test: the model's own components with usual parameters, and
 * endpoints (FixtureEnd) that a test controls TLP by TLP. An error during
 * set-up fails the test.
 */

#define KIB(n) ((uint64_t)(n) << 10)
#define MIB(n) ((uint64_t)(n) << 20)
#define GIB(n) ((uint64_t)(n) << 30)

#define fixture_assert_time_eq(a, b)                                           \
    ck_assert_int_eq((intmax_t)(a), (intmax_t)(b))
/* For checks that run often. The assertions of libcheck send a message to the
 * parent process even when they pass. */
#define fixture_ensure(expr)                                                   \
    do {                                                                       \
        if (G_UNLIKELY(!(expr))) {                                             \
            ck_abort_msg("%s:%d: %s", __FILE__, __LINE__, #expr);              \
        }                                                                      \
    } while (0)
/* @got differs from @want by at most the fraction @share of it. */
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
/* Runs until no event is left. */
void fixture_run(Fixture *fixture);
void fixture_run_until(Fixture *fixture, SimTime time);

typedef void (*FixtureFn)(void *data);
/* Calls @fn at @time. @time must not be in the past. */
void fixture_at(Fixture *fixture, SimTime time, FixtureFn fn, void *data);

/*
 * Takes the link of @port down at @begin, and up again at @end (SIM_TIME_NONE:
 * never). To be called after realize, before anything is sent.
 */
void fixture_set_outage(FabPort *port, SimTime begin, SimTime end);
/*
 * Gives both directions of the link of @port bit errors at @rate, the
 * probability for each bit on the wire, from @begin to @end (SIM_TIME_NONE: for
 * ever). A rate of 1 destroys every packet. To be called as above.
 */
void fixture_set_errors(FabPort *port, double rate, SimTime begin, SimTime end);
/* TLPs that were lost because links were down, found no space in a receive
 * buffer, or came in poisoned, summed over all ports. */
uint64_t fixture_lost(Fixture *fixture);

/* Fails the test unless no TLP is left and every credit has returned to its
 * sender or is on its way back. */
void fixture_assert_drained(Fixture *fixture);

/*
 * From now on, fails the test if a TLP exceeds the credits that its receiver
 * has advertised. A TLP occupies the receive buffer from the start of its
 * transmission until the receiver has sent its last byte onwards, or until a
 * FixtureEnd consumes it. Every TLP in the fabric must end at a FixtureEnd.
 * Uses the trace callback of the fabric.
 */
void fixture_watch_credits(Fixture *fixture);

/* Parameters of a port: infinite credits, no latency, free DLLPs, and a
 * Max_Payload_Size of 256 bytes. */
FabPortParams fixture_port(FabSpeed speed, uint32_t width);
/* The same with @header and @data credits for each class. */
FabPortParams fixture_port_credits(FabSpeed speed, uint32_t width,
                                   uint32_t header, uint32_t data);
FabRootParams fixture_root(void);
FabEndpointParams fixture_device(void);
FabNtbParams fixture_ntb(void);

/* A TLP that a FixtureEnd received, and the time of its arrival. */
typedef struct FixtureLog {
    SimTime time;
    FabTlp tlp;
} FixtureLog;

/* An endpoint that a test controls: the test decides which TLPs it sends, and
 * whether it logs those that it receives. The fields below "Hooks" may be set
 * at any time. */
struct FixtureEnd {
    FabComponent component;
    Fixture *fixture;
    /* Hooks. */
    void (*got)(FixtureEnd *end, const FabTlp *tlp); /* nullable */
    /* Returns the time for which @tlp stays in the receive buffer. NULL: no
     * time. */
    SimTime (*hold)(FixtureEnd *end, const FabTlp *tlp);
    /* Returns the next TLP to send, or NULL after the last. See
     * fixture_end_start(). */
    FabTlp *(*make)(FixtureEnd *end);
    bool logs; /* copy received TLPs to `log` */
    void *user;
    /* State. */
    GArray *log; /* of FixtureLog */
    uint64_t received[FAB_CLASSES];
    uint64_t received_bytes; /* payload of all classes */
    uint64_t made;           /* TLPs that `make` has returned */
    unsigned backlog;
};

/* An end named @name with a 32-bit BAR 0 of @bar0 bytes and a prefetchable
 * 64-bit BAR 2 of @bar2 bytes; a size of 0 omits the BAR. The end receives a
 * TLP when its last byte has arrived (store and forward). */
FixtureEnd *fixture_end_new(Fixture *fixture, const char *name,
                            const FabPortParams *port, uint64_t bar0,
                            uint64_t bar2);

/* Keeps @backlog TLPs queued at the egress; end->make supplies them. */
void fixture_end_start(FixtureEnd *end, unsigned backlog);

/* A new TLP with @end as its requester and completer. @bytes is the size of its
 * payload or of the data that it requests. */
FabTlp *fixture_tlp(FixtureEnd *end, FabTlpType type, FabBusAddr addr,
                    uint32_t bytes);
void fixture_send(FixtureEnd *end, FabTlp *tlp);
/* Answers @request. If @status is SC, the answer is completions with at most
 * @most bytes of data each; otherwise it is one completion without data. */
void fixture_reply(FixtureEnd *end, const FabTlp *request, FabStatus status,
                   uint32_t most);

static inline FixtureLog *fixture_log(const FixtureEnd *end, unsigned index)
{
    fixture_ensure(index < end->log->len);
    return &g_array_index(end->log, FixtureLog, index);
}

/* Returns the address of BAR @bar, which is 0 or 2. */
static inline FabBusAddr fixture_bar(const FixtureEnd *end, unsigned bar)
{
    return end->component.bars[bar].addr;
}

void fixture_send_read(FixtureEnd *end, FabBusAddr addr, uint32_t bytes,
                       uint16_t tag);

/* A root with three ports and an end below each. The ends log what they
 * receive. */
typedef struct FixtureHost {
    Fixture *fixture;
    FabRoot *root;
    FixtureEnd *dev;
    FixtureEnd *far;
    FixtureEnd *third;
} FixtureHost;

/* Initializes @host and realizes the fabric. Sets the user data of the ends to
 * @host. */
void fixture_host_init(FixtureHost *host, Fixture *fixture,
                       const FabRootParams *params, const FabPortParams *port);

/* Counts operations that have ended. */
typedef struct FixtureTally {
    Fixture *fixture;
    unsigned count, failed;
    FabStatus status; /* of the last */
    SimTime time;
} FixtureTally;

/* For reads of a CPU, and for DMA; the owner is a FixtureTally. */
void fixture_read_ended(void *owner, FabStatus status);
void fixture_dma_ended(FabDma *dma);

#endif
