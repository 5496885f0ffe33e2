/* SPDX-License-Identifier: MIT */
/*
 * Invariant: flow control and tags are windows. The rate of one kind of TLP on
 * a link of any length agrees with
 *
 *   min(wire, credits / T_fc, tags / T_read)    TLPs or reads a second
 *
 * within 1 %, for each `dllp:`. By hand, for a receiver that takes a TLP from
 * its buffer as soon as it acts on it:
 *
 *   T_fc = TLP + cable + latency + delay + buffers.latency + DLLP + cable
 *
 * TLP and DLLP are their bytes by the rate of the link. `free` and `each` send
 * an UpdateFC for every TLP, so delay = 0. Under `spec` a receiver waits, after
 * it has freed a credit, for the limit L of PCIe 5.0 s2.6.1.2. It waits no
 * longer when the TLPs that have come in took all credits (or leave less data
 * credits than one Max_Payload_Size), and some are free again. A sender that
 * has used all of n credits has sent n TLPs in a row, and the last one comes in
 * n - 1 TLP times after the first. So
 *
 *   delay = min(L, (n - 1) * TLP)
 *
 * L is (MPS + 28) * UpdateFactor / width symbol times, and an internal delay of
 * 19 (2.5 GT/s), 70 (5.0) or 115 symbol times. If n TLPs take longer than L but
 * less than T_fc, several UpdateFCs are under way, and TLPs for the credits of
 * one come in while the receiver waits with the next. That shortens the wait,
 * so T_fc is only the longest time then: the rate is at least that of T_fc, and
 * at most that of a delay of L / 2, the mean wait in a row without gaps.
 *
 *   T_read = request + cable + latency + completion + cable + latency
 *
 * A completer that answers at once, with one completion, adds nothing. The wire
 * of a read carries its completion, and an Ack and an UpdateFC for each request
 * or, under `spec`, for as many as come in L.
 */
#include "fab_fixture.h"
#include "../suite.h"

#include <math.h>

#define LATENCY        (60 * SIM_NS)
#define CREDIT_LATENCY (25 * SIM_NS)
#define CABLE_PS_M     5000 /* per metre */

/* ps of a byte on one lane, encoding included, and the internal delay of L. */
static const struct {
    double byte_ps, delay;
} speeds[] = {
    [FAB_SPEED_2_5GT] = {4000, 19},        [FAB_SPEED_5_0GT] = {2000, 70},
    [FAB_SPEED_8_0GT] = {1015.625, 115},   [FAB_SPEED_16_0GT] = {507.8125, 115},
    [FAB_SPEED_32_0GT] = {253.90625, 115},
};

typedef struct Line {
    FabSpeed speed;
    uint32_t width;
    double factor[2]; /* UpdateFactor for an MPS up to 256 B, of 512 B */
} Line;

static const Line lines[] = {
    {FAB_SPEED_2_5GT, 1, {1.4, 1.0}},   {FAB_SPEED_5_0GT, 8, {2.5, 1.0}},
    {FAB_SPEED_8_0GT, 16, {3.0, 2.0}},  {FAB_SPEED_16_0GT, 4, {1.4, 1.0}},
    {FAB_SPEED_32_0GT, 16, {3.0, 2.0}},
};

static const double cables_m[] = {0.1, 1, 3, 10, 30};
static const FabDllpPolicy policies[] = {FAB_DLLP_FREE, FAB_DLLP_EACH,
                                         FAB_DLLP_SPEC};

/* The share that SKP ordered sets leave: 4 B of 1538 B, or 1 block of 375. */
#define SKP_LEFT 0.9974

static double bytes_ps(const Line *line, double bytes)
{
    return bytes * speeds[line->speed].byte_ps / line->width;
}

static double limit_ps(const Line *line, uint32_t mps)
{
    double symbols = (mps + 28) * line->factor[mps > 256] / line->width +
                     speeds[line->speed].delay;

    return symbols * speeds[line->speed].byte_ps;
}

/* Time of 20 SKP ordered sets: those at both ends of a window do not show. */
static SimTime least_window(const Line *line)
{
    return 20 * 6152 * speeds[line->speed].byte_ps;
}

/* ---- Credits ----------------------------------------------------------- */

/* A kind of TLP whose headers or data are scarce. */
typedef struct Kind {
    FabTlpType type;
    bool data;
} Kind;

static const Kind kinds[] = {
    {FAB_TLP_MWR, false},  {FAB_TLP_MWR, true},  {FAB_TLP_MRD, false},
    {FAB_TLP_CPLD, false}, {FAB_TLP_CPLD, true},
};

typedef struct Case {
    const Line *line;
    const Kind *kind;
    FabDllpPolicy dllp;
    uint32_t mps, count;
    double cable; /* in ps */
} Case;

/* Data credits are scarce for TLPs of MPS, as most of a stream are. */
static uint32_t case_payload(const Case *self)
{
    return self->kind->data ? self->mps : 64;
}

static double case_bytes(const Case *self)
{
    return 8 + 12 + (self->kind->type == FAB_TLP_MRD ? 0 : case_payload(self));
}

static FabTlp *case_make(FixtureEnd *end)
{
    const Case *self = end->user;

    return fixture_tlp(end, self->kind->type, MIB(1), case_payload(self));
}

/* TLPs per ps if the receiver waits for @delay. */
static double case_rate(const Case *self, double delay)
{
    const Line *line = self->line;
    double tlp = bytes_ps(line, case_bytes(self));
    double trip = tlp + delay + 2 * self->cable + LATENCY + CREDIT_LATENCY +
                  bytes_ps(line, 8);

    return MIN(SKP_LEFT / tlp, self->count / trip);
}

/* The rates between which that of @self is. */
static void case_bounds(const Case *self, double *ret_least, double *ret_most)
{
    double tlp = bytes_ps(self->line, case_bytes(self));
    double row = (self->count - 1) * tlp;
    double limit = limit_ps(self->line, self->mps);
    /* An SKP ordered set can make a row longer by 16 symbol times. */
    bool overlaps = row + tlp + 16 * speeds[self->line->speed].byte_ps > limit;

    if (self->dllp != FAB_DLLP_SPEC) {
        limit = row = 0;
    }
    *ret_most = case_rate(self, overlaps ? MIN(limit / 2, row) : row);
    *ret_least = case_rate(self, overlaps ? limit : row);
}

static void check_credits(const Case *self)
{
    g_autoptr(Fixture) fixture = fixture_new();
    FabPortParams port = fixture_port_credits(
        self->line->speed, self->line->width, 50000, 2000000);
    FabClass cls = fab_tlp_type_class(self->kind->type);
    double least, most, got, period;
    FixtureEnd *a, *b;
    uint64_t before;
    /* Bursts of credits at both ends of the window are 1 of 250 of it. */
    SimTime window;

    case_bounds(self, &least, &most);
    period = self->count / least;
    window = MAX(250 * period, least_window(self->line));
    port.latency = LATENCY;
    port.credit_latency = CREDIT_LATENCY;
    port.mps_bytes = self->mps;
    port.dllp = self->dllp;
    if (self->kind->data) {
        port.credits.data[cls] = self->count * self->mps / 16;
    } else {
        port.credits.header[cls] = self->count;
    }
    a = fixture_end_new(fixture, "a", &port, 0, 0);
    b = fixture_end_new(fixture, "b", &port, 0, 0);
    fixture_connect(fixture, &a->component, 0, &b->component, 0, 0, 0,
                    (SimTime)self->cable);
    fixture_realize(fixture);
    a->make = case_make;
    a->user = (void *)self;
    fixture_end_start(a, 4);
    fixture_run_until(fixture, 20 * period);
    before = b->received[cls];
    fixture_run_until(fixture, 20 * period + window);
    got = (b->received[cls] - before) / (double)window;
    if (got < least * 0.99 || got > most * 1.01) {
        ck_abort_msg("%s x%u, MPS %u, %s of class %u, %u credits, cable %g ns, "
                     "dllp %u: %g TLPs per us, not %g to %g",
                     fab_speed_name(self->line->speed), self->line->width,
                     self->mps, self->kind->data ? "data" : "headers", cls,
                     self->count, self->cable / 1000, self->dllp, got * 1e6,
                     least * 1e6, most * 1e6);
    }
}

/* _i: index in lines[] */
START_TEST(credits_are_a_window)
{
    static const uint32_t counts[] = {1, 2, 3, 5, 13, 32, 64};

    for (unsigned n = 0; n < G_N_ELEMENTS(kinds) * G_N_ELEMENTS(counts) *
                                 G_N_ELEMENTS(cables_m) * 9;
         n++) {
        unsigned i = n / 9;

        check_credits(&(Case){
            .line = &lines[_i],
            .dllp = policies[n % 3],
            .mps = 128u << n / 3 % 3,
            .kind = &kinds[i % G_N_ELEMENTS(kinds)],
            .count = counts[i / G_N_ELEMENTS(kinds) % G_N_ELEMENTS(counts)],
            .cable = cables_m[i / G_N_ELEMENTS(kinds) / G_N_ELEMENTS(counts)] *
                     CABLE_PS_M,
        });
    }
}
END_TEST

/* ---- Tags -------------------------------------------------------------- */

#define READ_BYTES 256

typedef struct ReadCase {
    const Line *line;
    FabDllpPolicy dllp;
    uint32_t tags, nph, cplh;
    double cable; /* in ps */
} ReadCase;

typedef struct Reader {
    FabEndpoint *device;
    FabDma dma[2]; /* one is always under way */
} Reader;

static void answer(FixtureEnd *end, const FabTlp *tlp)
{
    fixture_reply(end, tlp, FAB_STATUS_SC, READ_BYTES);
}

static void read_again(FabDma *dma)
{
    const Reader *reader = dma->owner;

    dma->addr = 0;
    dma->issued_bytes = dma->finished_bytes = 0;
    fab_endpoint_dma(reader->device, dma);
}

/* Reads per ps that @self can make. */
static double read_rate(const ReadCase *self)
{
    double request = 8 + 12, completion = 8 + 12 + READ_BYTES;
    double trip = bytes_ps(self->line, request + completion) +
                  2 * (self->cable + LATENCY);
    double wire = bytes_ps(self->line, completion);
    double limit = limit_ps(self->line, 256);

    if (self->dllp == FAB_DLLP_EACH) {
        wire += bytes_ps(self->line, 16);
    } else if (self->dllp == FAB_DLLP_SPEC) {
        wire += bytes_ps(self->line, 8) / (1 + ceil(limit / wire)) +
                bytes_ps(self->line, 8) / (1 + floor(limit / wire));
    }
    return MIN(self->tags / trip, SKP_LEFT / wire);
}

/* Returns the reads per ps of a device. */
static double read_run(const ReadCase *self)
{
    g_autoptr(Fixture) fixture = fixture_new();
    FabPortParams port = fixture_port_credits(
        self->line->speed, self->line->width, 50000, 2000000);
    FabEndpointParams params = fixture_device();
    double period = self->tags / read_rate(self);
    SimTime warm = 6 * period;
    SimTime window = MAX(60 * period, least_window(self->line));
    Reader reader;
    FixtureEnd *end;
    uint64_t before;

    port.latency = LATENCY;
    port.credit_latency = CREDIT_LATENCY;
    port.dllp = self->dllp;
    port.credits.header[FAB_CLASS_NP] = self->nph;
    port.credits.header[FAB_CLASS_CPL] = self->cplh;
    params.tags = params.reads = self->tags;
    params.read_bytes = READ_BYTES;
    reader.device =
        fab_endpoint_new(fixture_fabric(fixture), "dev", &port, &params);
    end = fixture_end_new(fixture, "end", &port, 0, 0);
    end->got = answer;
    fixture_connect(fixture, fab_endpoint_component(reader.device), 0,
                    &end->component, 0, 0, 0, (SimTime)self->cable);
    fixture_realize(fixture);
    for (unsigned i = 0; i < G_N_ELEMENTS(reader.dma); i++) {
        reader.dma[i] = (FabDma){.type = FAB_TLP_MRD,
                                 .size_bytes = MIB(1),
                                 .done = read_again,
                                 .owner = &reader};
        fab_endpoint_dma(reader.device, &reader.dma[i]);
    }
    fixture_run_until(fixture, warm);
    before = end->received[FAB_CLASS_NP];
    fixture_run_until(fixture, warm + window);
    return (end->received[FAB_CLASS_NP] - before) / (double)window;
}

static void check_reads(const ReadCase *self)
{
    double want = read_rate(self), got = read_run(self);

    if (got < want * 0.99 || got > want * 1.01) {
        ck_abort_msg("%s x%u, %u tags, cable %g ns, dllp %u: %g reads per us, "
                     "not %g",
                     fab_speed_name(self->line->speed), self->line->width,
                     self->tags, self->cable / 1000, self->dllp, got * 1e6,
                     want * 1e6);
    }
}

/* _i: index in lines[] */
START_TEST(tags_are_a_window)
{
    static const uint32_t tags[] = {8, 16, 32, 64, 256, 1024};

    for (unsigned n = 0; n < G_N_ELEMENTS(tags) * G_N_ELEMENTS(cables_m) * 3;
         n++) {
        check_reads(&(ReadCase){
            .line = &lines[_i],
            .dllp = policies[n % 3],
            .tags = tags[n / 3 % G_N_ELEMENTS(tags)],
            .nph = 2000,
            .cplh = 2000,
            .cable = cables_m[n / 3 / G_N_ELEMENTS(tags)] * CABLE_PS_M,
        });
    }
}
END_TEST

/* More tags never read less, though credits are scarce. _i: index in lines[] */
START_TEST(more_tags_are_no_slower)
{
    for (unsigned n = 0; n < G_N_ELEMENTS(cables_m) * 3; n++) {
        ReadCase self = {.line = &lines[_i],
                         .dllp = policies[n % 3],
                         .nph = 12,
                         .cplh = 24,
                         .cable = cables_m[n / 3] * CABLE_PS_M};
        double least = 0;

        for (self.tags = 8; self.tags <= 512; self.tags *= 2) {
            double got = read_run(&self);

            if (got < least * 0.99) {
                ck_abort_msg("%s x%u, cable %g ns, dllp %u: %u tags read %g, "
                             "fewer %g",
                             fab_speed_name(self.line->speed), self.line->width,
                             self.cable / 1000, self.dllp, self.tags, got,
                             least);
            }
            least = MAX(least, got);
        }
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("fab_window");
    TCase *tcase = tcase_create("window");

    tcase_set_timeout(tcase, 120);
    tcase_add_loop_test(tcase, credits_are_a_window, 0, G_N_ELEMENTS(lines));
    tcase_add_loop_test(tcase, tags_are_a_window, 0, G_N_ELEMENTS(lines));
    tcase_add_loop_test(tcase, more_tags_are_no_slower, 0, G_N_ELEMENTS(lines));
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
