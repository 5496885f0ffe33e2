/* SPDX-License-Identifier: MIT */
/*
 * Makes a flow of a trace of links. The trace is read twice: once to find the
 * agents and targets and all that does not fit to the description, and again
 * while the flow runs, packet by packet.
 */
#include "exp_replay.h"

#include <inttypes.h>
#include <string.h>

#include "exp_end_priv.h"

#define PAGE_BYTES 4096u
/* A request covers at least one DW (PCIe 5.0 s2.2.5). */
#define DW_BYTES   4u
/* The most of a BAR that is mapped */
#define BAR_BYTES  (1u << 20)
/* The longest time that a trace may take */
#define LONGEST_NS (INT64_C(86400) * SIM_S / SIM_NS)
/* Events that a flow reads ahead */
#define AHEAD      65536u

/* One end of a link of the trace. */
typedef struct End {
    ExpEnd end;
    GQueue posted;     /* of Posted: sent, and not arrived yet */
    GHashTable *reads; /* of Read by transaction: not answered yet */
} End;

typedef struct Posted {
    TrcKind kind;
    uint64_t op;
    uint64_t address; /* of a doorbell its bits */
    uint32_t bytes;
    GList link;
} Posted;

typedef struct Read {
    uint64_t op;
    uint32_t agent;
} Read;

typedef struct Agent {
    const TopoHost *host;
    const TopoDevice *device; /* NULL: the CPU */
    int64_t last_ns;          /* time of its previous event */
} Agent;

typedef struct Target {
    const TopoHost *host;
    const TopoDevice *device; /* NULL: RAM */
    int bar;
    uint64_t size_bytes;
    GHashTable *pages; /* of RAM: number of the page in the range, from 1 */
} Target;

typedef struct Replay {
    ExpFabric *fabric;
    const TopoDescription *description;
    TrcFile *file;
    const char *path;
    uint32_t *order; /* indexes of packets in order of time */
    size_t count, at;
    End *ends; /* by index of interface */
    unsigned n_ends;
    GArray *agents;   /* of Agent */
    GArray *targets;  /* of Target */
    GHashTable *uses; /* keys: agent << 32 | target */
    GArray *events;   /* of FabReplayEvent: read and not taken */
    unsigned taken;   /* events that were taken */
    uint64_t next_op; /* number of the next operation */
    uint64_t memory_bytes;
    double pace;
    int64_t first_ns; /* time of the first packet */
    size_t number;    /* of the packet that is read, from 1, for errors */
} Replay;

static uint64_t get64(const uint8_t *at)
{
    uint64_t value;

    memcpy(&value, at, sizeof(value));
    return GUINT64_FROM_BE(value);
}

/* ---- Errors ----------------------------------------------------------- */

G_GNUC_PRINTF(3, 4)
static bool wrong(const Replay *self, GError **error, const char *format, ...)
{
    g_autofree char *text = NULL;
    va_list args;

    va_start(args, format);
    text = g_strdup_vprintf(format, args);
    va_end(args);
    g_set_error(error, TRC_ERROR, TRC_ERROR_FORMAT, "%s: packet %zu: %s",
                self->path, self->number, text);
    return false;
}

static char *host_names(const TopoDescription *description)
{
    GString *names = g_string_new(NULL);

    for (unsigned i = 0; i < description->hosts->len; i++) {
        const TopoHost *host = description->hosts->pdata[i];

        g_string_append_printf(names, "%s%s", i > 0 ? ", " : "", host->name);
    }
    return g_string_free(names, FALSE);
}

/* ---- Names ------------------------------------------------------------ */

static bool is_endpoint(const Replay *self, const TopoDevice *device)
{
    return fab_component_as_endpoint(exp_device(self->fabric, device));
}

/* ---- Agents and targets ----------------------------------------------- */

static uint32_t agent_number(Replay *self, const TopoHost *host,
                             const TopoDevice *device)
{
    Agent agent = {.host = host, .device = device, .last_ns = self->first_ns};

    for (uint32_t i = 0; i < self->agents->len; i++) {
        const Agent *known = &g_array_index(self->agents, Agent, i);

        if (known->host == host && known->device == device) {
            return i;
        }
    }
    g_array_append_val(self->agents, agent);
    return self->agents->len - 1;
}

/* The function that made a request: the CPU, or a device of the host. */
static bool find_agent(Replay *self, const ExpEnd *end, const TrcRecord *record,
                       uint32_t *ret_agent, GError **error)
{
    const TrcFunction *function;
    const TopoDevice *device;
    uint16_t id = record->requester_id;

    if (id == end->ntb) {
        *ret_agent = agent_number(self, end->host, NULL);
        return true;
    }
    function = exp_end_function(end, id);
    if (!function) {
        return wrong(self, error,
                     "its Requester ID is %02x:%02x.%x, which is no function "
                     "of host %s that the trace names",
                     id >> 8, id >> 3 & 0x1f, id & 7, end->host->name);
    }
    device = exp_end_device(end, function->name);
    if (!device || !is_endpoint(self, device)) {
        return wrong(self, error,
                     "device %s of host %s sent it, and the description has no "
                     "endpoint of this name there; add one",
                     function->name, end->host->name);
    }
    *ret_agent = agent_number(self, end->host, device);
    return true;
}

static uint32_t target_number(Replay *self, const Target *wanted)
{
    Target target = *wanted;

    for (uint32_t i = 0; i < self->targets->len; i++) {
        const Target *known = &g_array_index(self->targets, Target, i);

        if (known->host == wanted->host && known->device == wanted->device &&
            known->bar == wanted->bar) {
            return i;
        }
    }
    target.pages = g_hash_table_new(NULL, NULL);
    g_array_append_val(self->targets, target);
    return self->targets->len - 1;
}

/* The place of @address in the range that stands for a host's RAM. Pages get
 * places in the order in which they are used, and share them when there are no
 * more. */
static uint64_t memory_offset(Target *target, uint64_t address)
{
    void *page = GSIZE_TO_POINTER(address / PAGE_BYTES);
    size_t number = GPOINTER_TO_SIZE(g_hash_table_lookup(target->pages, page));
    size_t pages = target->size_bytes / PAGE_BYTES;

    if (number == 0) {
        number = g_hash_table_size(target->pages) % pages + 1;
        g_hash_table_insert(target->pages, page, GSIZE_TO_POINTER(number));
    }
    return (number - 1) * PAGE_BYTES + address % PAGE_BYTES;
}

/* The BAR of the part that stands for @bar of the emulated device. */
static int find_bar(const FabBar *bars, unsigned bar)
{
    for (unsigned i = 0; !bars[bar].size_bytes && i < FAB_BARS; i++) {
        bar = i;
    }
    return bars[bar].size_bytes ? (int)bar : -1;
}

static bool find_bar_target(Replay *self, const ExpEnd *end,
                            const TrcFunction *function, unsigned bar,
                            Target *ret_target, GError **error)
{
    const TopoDevice *device = exp_end_device(end, function->name);
    const FabBar *bars;

    if (!device || !is_endpoint(self, device)) {
        return wrong(self, error,
                     "it goes to BAR %u of %s of host %s, and the description "
                     "has no endpoint of this name there; add one%s",
                     bar, function->name, end->host->name,
                     device ? " (a request through a second NTB is in the "
                              "trace of the second link)"
                            : "");
    }
    bars = fab_component_bars(exp_device(self->fabric, device));
    ret_target->device = device;
    ret_target->bar = find_bar(bars, MIN(bar, FAB_BARS - 1));
    if (ret_target->bar < 0) {
        return wrong(self, error,
                     "it goes to BAR %u of %s, whose part has no BAR; take a "
                     "part that has one",
                     bar, device->path);
    }
    ret_target->size_bytes = MIN(bars[ret_target->bar].size_bytes, BAR_BYTES);
    return true;
}

/* The BAR or the memory of the other end's host that has @address. */
static bool find_target(Replay *self, const ExpEnd *end, uint64_t address,
                        uint32_t bytes, uint32_t *ret_target,
                        uint64_t *ret_offset, GError **error)
{
    Target target = {
        .host = end->host, .bar = -1, .size_bytes = self->memory_bytes};
    const TrcFunction *function;
    uint64_t offset = 0;
    unsigned bar = 0;

    function = exp_end_bar(end, address, &bar, &offset);
    if (function &&
        !find_bar_target(self, end, function, bar, &target, error)) {
        return false;
    }
    *ret_target = target_number(self, &target);
    if (!target.device) {
        offset = memory_offset(
            &g_array_index(self->targets, Target, *ret_target), address);
    }
    /* The part's BAR may be smaller than the emulated one. */
    offset %= target.size_bytes;
    *ret_offset = offset + bytes <= target.size_bytes ? offset : 0;
    if (bytes > target.size_bytes) {
        return wrong(self, error,
                     "it has %u bytes, and BAR %d of %s has room for %" PRIu64,
                     bytes, target.bar, target.device->path, target.size_bytes);
    }
    return true;
}

/* ---- Events ----------------------------------------------------------- */

static void add_arrival(Replay *self, uint32_t agent, uint64_t op,
                        int64_t time_ns)
{
    const FabReplayEvent event = {.is_arrival = true, .agent = agent, .op = op};

    g_array_index(self->agents, Agent, agent).last_ns = time_ns;
    g_array_append_val(self->events, event);
}

static FabReplayKind kind_of(const Agent *agent, const TrcRecord *record)
{
    if (record->kind == TRC_MRD) {
        return agent->device ? FAB_REPLAY_DMA_READ : FAB_REPLAY_CPU_READ;
    }
    if (!agent->device) {
        return FAB_REPLAY_CPU_WRITE;
    }
    return record->kind == TRC_MSI ? FAB_REPLAY_INTERRUPT
                                   : FAB_REPLAY_DMA_WRITE;
}

static void add_issue(Replay *self, const TrcRecord *record, uint32_t number,
                      uint32_t target, uint64_t offset, uint32_t bytes)
{
    Agent *agent = &g_array_index(self->agents, Agent, number);
    int64_t gap = MAX(record->time_ns - agent->last_ns, 0);
    const FabReplayEvent event = {
        .agent = number,
        .op = self->next_op++,
        .gap = (SimTime)((double)gap * self->pace * SIM_NS),
        .kind = kind_of(agent, record),
        .target = target,
        .offset = offset,
        .bytes = bytes,
    };
    uint64_t use = (uint64_t)number << 32 | target;

    agent->last_ns = MAX(record->time_ns, agent->last_ns);
    g_hash_table_add(self->uses, GSIZE_TO_POINTER(use));
    g_array_append_val(self->events, event);
}

static void add_posted(End *end, TrcKind kind, uint64_t op, uint64_t address,
                       uint32_t bytes)
{
    Posted *posted = g_new0(Posted, 1);

    posted->kind = kind;
    posted->op = op;
    posted->address = address;
    posted->bytes = bytes;
    posted->link.data = posted;
    g_queue_push_tail_link(&end->posted, &posted->link);
}

static void posted_pop(End *end)
{
    GList *link = g_queue_pop_head_link(&end->posted);

    g_free(link->data);
}

static bool request_read(Replay *self, const TrcRecord *record, GError **error)
{
    unsigned index = record->interface;
    unsigned peer = trc_file_interface(self->file, index)->peer;
    End *end = &self->ends[index];
    uint32_t agent = 0, target, bytes = record->bytes;
    uint64_t offset;

    /* The NTB device itself reads nothing to wait for writes. */
    if (record->kind == TRC_MRD && bytes == 0) {
        return true;
    }
    bytes = MAX(bytes, DW_BYTES);
    if (!find_agent(self, &end->end, record, &agent, error) ||
        !find_target(self, &self->ends[peer].end, record->address, bytes,
                     &target, &offset, error)) {
        return false;
    }
    if (record->kind == TRC_MRD) {
        const Read read = {.op = self->next_op, .agent = agent};

        g_hash_table_replace(end->reads, GUINT_TO_POINTER(record->transaction),
                             g_memdup2(&read, sizeof(read)));
    } else {
        add_posted(end, TRC_MWR, self->next_op, record->address, record->bytes);
    }
    add_issue(self, record, agent, target, offset, bytes);
    return true;
}

/* A doorbell or a message is a write of the CPU to the other host. */
static bool notice_read(Replay *self, const TrcRecord *record, uint64_t value,
                        GError **error)
{
    unsigned peer = trc_file_interface(self->file, record->interface)->peer;
    End *end = &self->ends[record->interface];
    uint32_t target;
    uint64_t offset;

    if (!find_target(self, &self->ends[peer].end, 0, DW_BYTES, &target, &offset,
                     error)) {
        return false;
    }
    add_posted(end, record->kind, self->next_op, value, DW_BYTES);
    add_issue(self, record, agent_number(self, end->end.host, NULL), target,
              offset, DW_BYTES);
    return true;
}

static bool posted_is(const Posted *posted, const TrcArrival *arrival)
{
    switch (arrival->what) {
    case TRC_ARRIVED_WRITE:
        return posted->kind == TRC_MWR && posted->address == arrival->address;
    case TRC_ARRIVED_DOORBELL:
        return posted->kind == TRC_DOORBELL &&
               (posted->address & ~arrival->address) == 0;
    default:
        return posted->kind == TRC_MESSAGE &&
               posted->address == arrival->address;
    }
}

/* The agent at which a write arrives: the device that has the address, or the
 * CPU. */
static bool find_receiver(Replay *self, const ExpEnd *end,
                          const TrcArrival *arrival, uint32_t *ret_agent,
                          GError **error)
{
    uint32_t target;
    uint64_t offset;

    if (arrival->what != TRC_ARRIVED_WRITE) {
        *ret_agent = agent_number(self, end->host, NULL);
        return true;
    }
    if (!find_target(self, end, arrival->address, DW_BYTES, &target, &offset,
                     error)) {
        return false;
    }
    *ret_agent = agent_number(
        self, end->host, g_array_index(self->targets, Target, target).device);
    return true;
}

/*
 * Posted requests of one end arrive in their order. Those before the one that
 * has arrived are lost: the link was down. One that the sender did not record
 * was sent before it began.
 */
static bool posted_arrived(Replay *self, const TrcRecord *record,
                           const TrcArrival *arrival, GError **error)
{
    const ExpEnd *end = &self->ends[record->interface].end;
    End *sender =
        &self->ends[trc_file_interface(self->file, record->interface)->peer];
    uint64_t bytes = 0;
    uint32_t agent = 0;
    const GList *found = sender->posted.head;

    while (found && !posted_is(found->data, arrival)) {
        found = found->next;
    }
    if (!found) {
        return true;
    }
    while (sender->posted.head != found) {
        posted_pop(sender);
    }
    if (!find_receiver(self, end, arrival, &agent, error)) {
        return false;
    }
    /* A write across a boundary of 4 KiB is several packets, and doorbells may
     * merge. */
    do {
        const Posted *posted = sender->posted.head->data;

        bytes += posted->bytes;
        add_arrival(self, agent, posted->op, record->time_ns);
        posted_pop(sender);
    } while (sender->posted.head &&
             (arrival->what == TRC_ARRIVED_WRITE
                  ? bytes < arrival->bytes
                  : arrival->what == TRC_ARRIVED_DOORBELL &&
                        posted_is(sender->posted.head->data, arrival)));
    return true;
}

static bool arrival_read(Replay *self, const TrcRecord *record, GError **error)
{
    End *end = &self->ends[record->interface];
    void *transaction = GUINT_TO_POINTER(record->transaction);
    TrcArrival arrival;
    const Read *read;

    if (!trc_record_arrival(record, &arrival)) {
        return true;
    }
    if (arrival.what != TRC_ARRIVED_COMPLETION) {
        return posted_arrived(self, record, &arrival, error);
    }
    read = g_hash_table_lookup(end->reads, transaction);
    if (read) {
        add_arrival(self, read->agent, read->op, record->time_ns);
        g_hash_table_remove(end->reads, transaction);
    }
    return true;
}

/* Both ends must have recorded: what happens at one depends on the other. */
static bool check_ends(Replay *self, unsigned index, GError **error)
{
    unsigned peer = trc_file_interface(self->file, index)->peer;
    const unsigned both[] = {index, peer};

    if (peer == index) {
        return wrong(self, error,
                     "the trace has no other end of %s; keep both interfaces "
                     "of a link",
                     trc_file_interface(self->file, index)->name);
    }
    for (unsigned i = 0; i < G_N_ELEMENTS(both); i++) {
        const ExpEnd *end = &self->ends[both[i]].end;
        const char *name = trc_file_interface(self->file, both[i])->name;

        if (!end->host) {
            g_autofree char *names = host_names(self->description);

            return wrong(self, error,
                         "it crossed to or from %s, and the description has no "
                         "host of this name; its hosts are %s",
                         name, names);
        }
        if (!end->has_begun) {
            return wrong(self, error,
                         "the trace has no Start of %s before it; record both "
                         "ends, and keep the beginning",
                         name);
        }
    }
    return true;
}

/* Reads one packet, which may be any number of events. */
static bool packet_read(Replay *self, GError **error)
{
    size_t index = self->order[self->at++];
    TrcRecord record;

    self->number = index + 1;
    trc_file_record(self->file, index, &record);
    if (record.time_ns - self->first_ns > LONGEST_NS) {
        return wrong(self, error,
                     "it is more than a day after the first; replay the trace "
                     "in parts");
    }
    switch (record.kind) {
    case TRC_START:
        exp_end_start(&self->ends[record.interface].end, &record);
        return true;
    case TRC_MRD:
    case TRC_MWR:
    case TRC_MSI:
        return check_ends(self, record.interface, error) &&
               request_read(self, &record, error);
    case TRC_DOORBELL:
        return check_ends(self, record.interface, error) &&
               notice_read(self, &record, get64(record.data), error);
    case TRC_MESSAGE:
        return check_ends(self, record.interface, error) &&
               notice_read(self, &record, get64(record.data) >> 32, error);
    case TRC_ARRIVAL:
        return check_ends(self, record.interface, error) &&
               arrival_read(self, &record, error);
    case TRC_TLP:
        return wrong(self, error,
                     "a TLP that is no memory request and no completion; "
                     "leave it out");
    default:
        /* Completions: the arrival counts. The rest is what two NTBs tell each
         * other by no TLP. */
        return true;
    }
}

/* ---- The trace -------------------------------------------------------- */

static void end_clear(End *end)
{
    while (end->posted.head) {
        posted_pop(end);
    }
    g_hash_table_remove_all(end->reads);
    exp_end_reset(&end->end);
}

/* Begins again with the first packet. Agents and targets keep their numbers. */
static void rewind_trace(Replay *self)
{
    self->at = 0;
    self->next_op = 0;
    self->taken = 0;
    g_array_set_size(self->events, 0);
    for (unsigned i = 0; i < self->n_ends; i++) {
        end_clear(&self->ends[i]);
    }
    for (unsigned i = 0; i < self->agents->len; i++) {
        g_array_index(self->agents, Agent, i).last_ns = self->first_ns;
    }
}

/* Reads all packets, which finds agents and targets. */
static bool read_all(Replay *self, GError **error)
{
    while (self->at < self->count) {
        if (!packet_read(self, error)) {
            return false;
        }
        g_array_set_size(self->events, 0);
    }
    if (self->next_op == 0) {
        g_set_error(error, TRC_ERROR, TRC_ERROR_FORMAT,
                    "%s: nothing crossed a link; record while drivers work",
                    self->path);
        return false;
    }
    rewind_trace(self);
    return true;
}

static bool replay_next(void *owner, FabReplayEvent *ret_event)
{
    Replay *self = owner;

    if (self->taken == self->events->len) {
        self->taken = 0;
        g_array_set_size(self->events, 0);
    }
    while (self->events->len == 0 && self->at < self->count) {
        /* The first pass has met no error. */
        bool is_read = packet_read(self, NULL);

        g_assert(is_read);
    }
    if (self->events->len == 0) {
        return false;
    }
    *ret_event = g_array_index(self->events, FabReplayEvent, self->taken++);
    return true;
}

static bool open_trace(Replay *self, GError **error)
{
    self->file = trc_file_read(self->path, error);
    if (!self->file) {
        return false;
    }
    if (trc_file_damage(self->file)) {
        g_propagate_error(error, g_error_copy(trc_file_damage(self->file)));
        return false;
    }
    self->n_ends = trc_file_n_interfaces(self->file);
    self->ends = g_new0(End, self->n_ends);
    for (unsigned i = 0; i < self->n_ends; i++) {
        exp_end_init(&self->ends[i].end, self->description,
                     trc_file_interface(self->file, i)->name);
        self->ends[i].reads = g_hash_table_new_full(NULL, NULL, NULL, g_free);
    }
    for (unsigned i = 0; i < self->n_ends; i++) {
        const TrcInterface *end = trc_file_interface(self->file, i);

        if (end->missing > 0 || end->dropped > 0) {
            g_set_error(error, TRC_ERROR, TRC_ERROR_FORMAT,
                        "%s: %" PRIu64
                        " packets of %s are missing, so it is not known what "
                        "waited for what; record again, on a quicker disk",
                        self->path, MAX(end->missing, end->dropped), end->name);
            return false;
        }
    }
    if (trc_file_n_records(self->file) > G_MAXINT32) {
        g_set_error(error, TRC_ERROR, TRC_ERROR_FORMAT,
                    "%s: more than %d packets; replay it in parts", self->path,
                    G_MAXINT32);
        return false;
    }
    return true;
}

static void replay_free(void *owner)
{
    Replay *self = owner;

    for (unsigned i = 0; i < self->n_ends; i++) {
        end_clear(&self->ends[i]);
        exp_end_done(&self->ends[i].end);
        g_hash_table_unref(self->ends[i].reads);
    }
    for (unsigned i = 0; i < self->targets->len; i++) {
        g_hash_table_unref(g_array_index(self->targets, Target, i).pages);
    }
    g_free(self->ends);
    g_free(self->order);
    g_array_unref(self->agents);
    g_array_unref(self->targets);
    g_array_unref(self->events);
    g_hash_table_unref(self->uses);
    trc_file_free(self->file);
    g_free(self);
}
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Replay, replay_free)

/* ---- The flow --------------------------------------------------------- */

static FabComponent *component_of(const Replay *self, const TopoHost *host,
                                  const TopoDevice *device)
{
    return device ? exp_device(self->fabric, device)
                  : exp_host(self->fabric, host);
}

static FabFlow *make_flow(Replay *self, const TopoFlow *flow, SimTime warmup,
                          GError **error)
{
    unsigned n_agents = self->agents->len, n_targets = self->targets->len;
    g_autofree FabReplayAgent *agents = g_new0(FabReplayAgent, n_agents);
    g_autofree FabReplayTarget *targets = g_new0(FabReplayTarget, n_targets);
    g_autofree bool *uses = g_new0(bool, (size_t)n_agents *n_targets);
    FabReplayFlowParams params = {
        .agents = agents,
        .n_agents = n_agents,
        .targets = targets,
        .n_targets = n_targets,
        .uses = uses,
        .next = replay_next,
        .owner = self,
        .free_owner = replay_free,
        .ahead = AHEAD,
        .start = topo_flow_time(flow, "start"),
    };

    for (unsigned i = 0; i < n_agents; i++) {
        const Agent *agent = &g_array_index(self->agents, Agent, i);

        agents[i].component = component_of(self, agent->host, agent->device);
    }
    for (unsigned i = 0; i < n_targets; i++) {
        const Target *target = &g_array_index(self->targets, Target, i);

        targets[i].target.component =
            component_of(self, target->host, target->device);
        targets[i].target.bar = target->bar;
        targets[i].size_bytes = target->size_bytes;
        for (unsigned j = 0; j < n_agents; j++) {
            uses[(size_t)j * n_targets + i] = g_hash_table_contains(
                self->uses, GSIZE_TO_POINTER((uint64_t)j << 32 | i));
        }
    }
    return fab_replay_flow_new(exp_fabric(self->fabric), topo_flow_name(flow),
                               warmup, &params, error);
}

FabFlow *exp_replay_new(ExpFabric *fabric, const TopoFlow *flow, SimTime warmup,
                        GError **error)
{
    g_autoptr(Replay) self = g_new0(Replay, 1);
    FabFlow *made;

    self->fabric = fabric;
    self->description = exp_fabric_description(fabric);
    self->path = topo_flow_file(flow);
    self->memory_bytes = (uint64_t)topo_flow_bytes(flow, "memory");
    self->pace = topo_flow_share(flow, "pace");
    self->agents = g_array_new(FALSE, FALSE, sizeof(Agent));
    self->targets = g_array_new(FALSE, FALSE, sizeof(Target));
    self->events = g_array_new(FALSE, FALSE, sizeof(FabReplayEvent));
    self->uses = g_hash_table_new(NULL, NULL);
    if (!open_trace(self, error)) {
        return NULL;
    }
    self->count = trc_file_n_records(self->file);
    self->order = trc_file_order(self->file);
    if (self->count > 0) {
        TrcRecord first;

        trc_file_record(self->file, self->order[0], &first);
        self->first_ns = first.time_ns;
    }
    if (!read_all(self, error)) {
        return NULL;
    }
    made = make_flow(self, flow, warmup, error);
    if (made) {
        (void)g_steal_pointer(&self);
    }
    return made;
}
