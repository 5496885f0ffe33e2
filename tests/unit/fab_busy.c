/* SPDX-License-Identifier: MIT */
#include "fab_port_priv.h"
#include "fab_busy.h"

#include "random_order.h"

#define HOSTS   2
#define DEVICES 4 /* below the switch; a fifth hangs off a root port */
#define ORDERS  3 /* orders that each device keeps under way */

typedef struct BusyHost {
    FabRoot *root;
    FabComponent *sw[2];
    FabNtb *ntb;
    FabEndpoint *device[DEVICES + 1];
} BusyHost;

typedef struct Order {
    FabDma dma;
    Busy *busy;
    FabEndpoint *device;
    FabBusAddr base;
    uint64_t span;
    uint64_t step;
} Order;

struct Busy {
    Fixture *fixture;
    BusyHost host[HOSTS];
    Order orders[HOSTS * (DEVICES + 1) * ORDERS];
    unsigned order_count;
    bool stopped;
    uint64_t hash, records;
};

/* ---- Making it ------------------------------------------------------- */

static char letter(unsigned host)
{
    return 'a' + host;
}

static FabPortParams busy_port(void)
{
    FabPortParams port = fixture_port_credits(FAB_SPEED_8_0GT, 8, 12, 96);

    port.latency = 101 * SIM_NS;
    port.credit_latency = 17 * SIM_NS;
    port.dllp = FAB_DLLP_SPEC;
    return port;
}

static void make_root(Busy *busy, unsigned i)
{
    FabRootParams params = fixture_root();
    FabPortParams port = busy_port();
    char name[] = {letter(i), 0};

    params.transit = 90 * SIM_NS;
    params.read_split_bytes = 64;
    params.write_split_bytes = 64;
    params.forwarded_reads = 12;
    params.memory.latency = 80 * SIM_NS;
    params.memory.bandwidth_bytes_s = 12000000000;
    params.memory.reads = 24;
    params.iommu.enabled = true;
    params.iommu.iotlb_entries = 16;
    params.iommu.walks = 2;
    busy->host[i].root =
        fab_root_new(fixture_fabric(busy->fixture), name, &params);
    fab_root_add_port(busy->host[i].root, "rp0", &port);
    fab_root_add_port(busy->host[i].root, "rp1", &port);
}

static void make_switch(Busy *busy, unsigned i, unsigned j)
{
    g_autofree char *name = g_strdup_printf("%c.sw%u", letter(i), j);
    FabPortParams port = busy_port();

    port.arbitration = j ? FAB_ARBITRATION_WEIGHTED : FAB_ARBITRATION_OLDEST;
    busy->host[i].sw[j] = fab_switch_new(fixture_fabric(busy->fixture), name, 4,
                                         &port, &port, false);
}

static void make_ntb(Busy *busy, unsigned i)
{
    g_autofree char *name = g_strdup_printf("%c.ntb", letter(i));
    FabPortParams port = busy_port();
    FabNtbParams params = fixture_ntb();

    params.tags = 16;
    busy->host[i].ntb = fab_ntb_new(fixture_fabric(busy->fixture), name, 1,
                                    &port, &port, &params);
}

static void make_device(Busy *busy, unsigned i, unsigned j)
{
    g_autofree char *name = g_strdup_printf("%c.dev%u", letter(i), j);
    FabPortParams port = busy_port();
    FabEndpointParams params = fixture_device();

    params.tags = params.reads = 32;
    params.completer_latency = 50 * SIM_NS;
    params.read_latency = j * 10 * SIM_NS;
    params.relaxed_ordering = j == 1;
    params.id_ordering = j == 2;
    params.ecrc = j == 3;
    params.write_bytes = 64u << j % 3;
    busy->host[i].device[j] =
        fab_endpoint_new(fixture_fabric(busy->fixture), name, &port, &params);
}

#define MAKES (4 + DEVICES + 1)

static void make(Busy *busy, unsigned step)
{
    unsigned i = step / MAKES, j = step % MAKES;

    if (j == 0) {
        make_root(busy, i);
    } else if (j <= 2) {
        make_switch(busy, i, j - 1);
    } else if (j == 3) {
        make_ntb(busy, i);
    } else {
        make_device(busy, i, j - 4);
    }
}

/* Links of a host. rp0: sw0, and below sw0 devices 0 and 1, the NTB and sw1;
 * below sw1 devices 2 and 3. rp1: device 4. */
#define LINKS (8)

static void join(Busy *busy, unsigned step)
{
    BusyHost *host = &busy->host[step / LINKS % HOSTS];
    FabComponent *root = fab_root_component(host->root);
    FabComponent *a[] = {root,        host->sw[0], host->sw[0], host->sw[0],
                         host->sw[0], host->sw[1], host->sw[1], root};
    FabComponent *b[] = {host->sw[0],
                         fab_endpoint_component(host->device[0]),
                         fab_endpoint_component(host->device[1]),
                         fab_ntb_component(host->ntb),
                         host->sw[1],
                         fab_endpoint_component(host->device[2]),
                         fab_endpoint_component(host->device[3]),
                         fab_endpoint_component(host->device[4])};
    static const unsigned ports[] = {0, 1, 2, 3, 4, 1, 2, 1};
    unsigned j = step % LINKS;

    if (step == HOSTS * LINKS) {
        fixture_connect(busy->fixture, fab_ntb_component(busy->host[0].ntb), 1,
                        fab_ntb_component(busy->host[1].ntb), 1, 0, 4,
                        20 * SIM_NS);
    } else if (step % 2) { /* the result is independent of which end is first */
        fixture_connect(busy->fixture, b[j], 0, a[j], ports[j], 0,
                        j == 5 ? 2 : 8, 3 * SIM_NS);
    } else {
        fixture_connect(busy->fixture, a[j], ports[j], b[j], 0, 0, 8,
                        3 * SIM_NS);
    }
}

/* ---- Work ------------------------------------------------------------ */

static FabBusAddr device_address(BusyHost *host, FabBusAddr addr, uint64_t size)
{
    g_autoptr(GError) error = NULL;
    FabBusAddr result;

    fab_root_map_dma(host->root, 0, addr, size, &result, &error);
    ck_assert_msg(!error, "%s", error ? error->message : "");
    return result;
}

/* Allocates a buffer in the memory of host @j. Returns its address as the
 * devices of host @i see it. */
static FabBusAddr buffer(Busy *busy, unsigned i, unsigned j, uint64_t size)
{
    g_autoptr(GError) error = NULL;
    FabBusAddr addr;

    ck_assert(fab_root_alloc(busy->host[j].root, size, MIB(1), &addr));
    addr = device_address(&busy->host[j], addr, size);
    if (i == j) {
        return addr;
    }
    ck_assert(fab_ntb_map(busy->host[i].ntb, 1, addr, size, &addr, &error));
    /* Not mapped in the IOMMU: a switch below the root port routes requests to
     * the NTB's BAR before they reach the root. */
    return addr;
}

static void dma_done(FabDma *dma)
{
    Order *order = dma->owner;

    /* Not ck_assert(): it allocates memory even when it passes. */
    if (dma->status != FAB_STATUS_SC) {
        ck_abort_msg("status %d", dma->status);
    }
    if (order->busy->stopped) {
        return;
    }
    order->step++;
    dma->addr = order->base + order->step * 5 % 61 * KIB(4) + order->step % 64;
    dma->size_bytes = 1 + order->step * 397 % 3000;
    fab_endpoint_dma(order->device, dma);
}

static void order_add(Busy *busy, FabEndpoint *device, FabTlpType type,
                      FabBusAddr base)
{
    Order *order = &busy->orders[busy->order_count++];

    order->busy = busy;
    order->device = device;
    order->base = base;
    order->step = busy->order_count;
    order->dma = (FabDma){.type = type,
                          .addr = base,
                          .size_bytes = 256,
                          .done = dma_done,
                          .owner = order};
}

/* Every device has three orders: a write to or a read from the memory of its
 * own host, the opposite direction to the memory of the other host, and one
 * to another device of its own host. */
static void orders_make(Busy *busy)
{
    for (unsigned i = 0; i < HOSTS; i++) {
        BusyHost *host = &busy->host[i];

        for (unsigned j = 0; j <= DEVICES; j++) {
            FabEndpoint *device = host->device[j];
            FabTlpType one = j % 2 ? FAB_TLP_MWR : FAB_TLP_MRD;
            FabTlpType two = j % 2 ? FAB_TLP_MRD : FAB_TLP_MWR;
            /* Device 4 is below another root port than the others. */
            unsigned k = j == DEVICES ? 0 : j % 2 ? DEVICES : (j + 2) % DEVICES;
            FabBusAddr bar =
                fab_component_bars(fab_endpoint_component(host->device[k]))[0]
                    .addr;
            g_autoptr(GError) error = NULL;

            ck_assert(fab_ntb_add_requester(
                host->ntb, fab_component_bdf(fab_endpoint_component(device)),
                false, &error));
            order_add(busy, device, one, buffer(busy, i, i, MIB(1)));
            /* Requests of device 4 to the NTB pass through the IOMMU. */
            {
                FabBusAddr far = buffer(busy, i, 1 - i, MIB(1));

                if (j == DEVICES) {
                    far = device_address(host, far, MIB(1));
                }
                order_add(busy, device, two, far);
            }
            order_add(busy, device, j < 2 ? one : two,
                      j == DEVICES || k == DEVICES
                          ? device_address(host, bar, MIB(1))
                          : bar);
        }
    }
}

/* ---- Watching -------------------------------------------------------- */

static void mix(Busy *busy, uint64_t value)
{
    /* FNV-1a, but by 64-bit words instead of bytes. */
    busy->hash = (busy->hash ^ value) * 0x100000001b3ULL;
}

static void watch(void *data, const FabTraceRecord *record)
{
    Busy *busy = data;
    const FabTlp *tlp = record->tlp;
    const char *name = fab_component_name(fab_port_owner(record->port));

    for (; *name; name++) {
        mix(busy, *name);
    }
    mix(busy, record->port->index);
    mix(busy, record->start);
    mix(busy, record->end);
    mix(busy, record->seen);
    mix(busy, tlp->type << 16 | tlp->tag);
    mix(busy, tlp->requester_id);
    mix(busy, tlp->addr);
    mix(busy, tlp->payload_bytes);
    mix(busy, tlp->request_bytes);
    busy->records++;
}

/* ---- Its life -------------------------------------------------------- */

Busy *busy_new(uint64_t shuffle)
{
    Busy *busy = g_new0(Busy, 1);
    uint32_t order[HOSTS * MAKES + LINKS];
    g_autoptr(GError) error = NULL;
    SimRandom random;

    busy->fixture = fixture_new();
    sim_random_init(&random, shuffle, "busy");
    for (unsigned i = 0; i < G_N_ELEMENTS(order); i++) {
        order[i] = i;
    }
    if (shuffle) {
        random_order(&random, order, HOSTS * MAKES);
    }
    for (unsigned i = 0; i < HOSTS * MAKES; i++) {
        make(busy, order[i]);
    }
    for (unsigned i = 0; i < G_N_ELEMENTS(order); i++) {
        order[i] = i;
    }
    if (shuffle) {
        random_order(&random, order, HOSTS * LINKS + 1);
    }
    for (unsigned i = 0; i <= HOSTS * LINKS; i++) {
        join(busy, order[i]);
    }
    fixture_realize(busy->fixture);
    for (unsigned i = 0; i < HOSTS; i++) {
        ck_assert(fab_ntb_add_requester(busy->host[i].ntb, 0, false, &error));
    }
    orders_make(busy);
    fab_fabric_set_trace(fixture_fabric(busy->fixture), FAB_TRACE_LINK, watch,
                         busy);
    return busy;
}

void busy_free(Busy *busy)
{
    if (busy) {
        fixture_free(busy->fixture);
        g_free(busy);
    }
}

Fixture *busy_fixture(Busy *busy)
{
    return busy->fixture;
}

void busy_start(Busy *busy)
{
    for (unsigned i = 0; i < busy->order_count; i++) {
        fab_endpoint_dma(busy->orders[i].device, &busy->orders[i].dma);
    }
}

void busy_stop(Busy *busy)
{
    busy->stopped = true;
}

uint64_t busy_hash(const Busy *busy)
{
    return busy->hash;
}

uint64_t busy_records(const Busy *busy)
{
    return busy->records;
}

void busy_counters(const Busy *busy, uint64_t *ret_walks, uint64_t *ret_pieces,
                   uint64_t *ret_translated)
{
    *ret_walks = *ret_pieces = *ret_translated = 0;
    for (unsigned i = 0; i < HOSTS; i++) {
        const BusyHost *host = &busy->host[i];

        *ret_walks += fab_root_iommu_counters(host->root)->walks;
        *ret_pieces += fab_root_counters(host->root)->forwarded_reads +
                       fab_root_counters(host->root)->forwarded_writes;
        *ret_translated += fab_ntb_counters(host->ntb)->translated;
    }
}
