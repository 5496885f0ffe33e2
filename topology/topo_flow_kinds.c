/* SPDX-License-Identifier: MIT */
/*
 * The kinds of flows. A kind has a table of keys, a function for the checks
 * that the table cannot express, and a row in topo_flow_kinds[].
 * model/load/fab_flow_KIND.c implements a kind; experiment/exp_flow.c passes
 * the values on.
 */
#include "topo_flow_priv.h"

#include <string.h>

#include "topo_schema_keys_priv.h"

#define POWER  TOPO_KEY_POWER_OF_TWO
#define MEMORY (TOPO_MAY_BE_RAM | TOPO_MAY_BE_BAR | TOPO_MAY_BE_NODE)

/* Keys of every kind. */
#define FLOW(KIND)                                                             \
    NEEDS("name", NAME, "its name"),                                           \
        WORD("kind", NULL, KIND, REQUIRED, "its kind"),                        \
        RANGE("start", TIME, "0ps", NULL, "1000s", 0,                          \
              "earliest time at which it begins"),                             \
        MAY("after", REFS, NULL,                                               \
            "flows before it in the list; it begins when they are done"),      \
        MAY("streams", REFS, NULL,                                             \
            "names; flows that share a stream run one after the other, in "    \
            "the order of the list"),                                          \
        MAY("engine", TEXT, NULL,                                              \
            "a name; flows that share an engine run one at a time. It takes "  \
            "the one that has waited longest for nothing else"),               \
        RANGE("notice", TIME, "0ps", NULL, "1s", 0,                            \
              "with `engine`: from when it is free until it takes a flow; "    \
              "those that became ready within this time are in the order of "  \
              "the list. The longest of an engine's flows counts")

/* Of kinds with two ends. topo_pairs.c reads them. */
#define PAIRS(FROM, TO)                                                        \
    MAY("pairs", TREE, NULL,                                                   \
        "in place of `" FROM "` and `" TO "`: a list of pairs `[" FROM ", " TO \
        "]`, for each of which there is a flow"),                              \
        RANGE("iterations", INT, "1", "1", "100000", 0,                        \
              "with `pairs`: how often the list stands there, one after the "  \
              "other"),                                                        \
        WORD("in_turn", "both", "both|ready|from|ends|none", 0,                \
             "with `pairs`: flows run one after the other, in the order of "   \
             "the list, if they have the same `" FROM                          \
             "` (from), the same `" FROM "` or the same `" TO                  \
             "` (both), or any end in common (ends); ready: as both, but a "   \
             "`" FROM "` is an engine, which does what is ready first")

#define DIRECTION(HELP) WORD("direction", NULL, "read|write", REQUIRED, HELP)

#define NEEDS_TARGET(KEY, TARGETS, HELP)                                       \
    {                                                                          \
        .key = KEY, .type = TOPO_TYPE_TARGET, .targets = TARGETS,              \
        .flags = REQUIRED, .help = HELP                                        \
    }
#define MAY_TARGET(KEY, TARGETS, HELP)                                         \
    {                                                                          \
        .key = KEY, .type = TOPO_TYPE_TARGET, .targets = TARGETS, .help = HELP \
    }

/* ---- What kinds have in common ----------------------------------------- */

/* Like topo_flow_is(), but false if the value of @key is not valid. */
static bool is_word(const TopoFlow *flow, const char *key, const char *word)
{
    return topo_flow_has(flow, key) && topo_flow_is(flow, key, word);
}

/* Sets `driver` if it is not given: to the host that borrows @device
 * (nullable), or else to the device's own host. */
static void default_driver(TopoLoader *loader, TopoFlow *flow,
                           TopoDevice *device)
{
    TopoHost *borrower;

    if (topo_flow_has(flow, "driver") || !device) {
        return;
    }
    borrower = g_hash_table_lookup(loader->loaded->borrowers, device);
    topo_flow_set_target(flow, "driver",
                         (TopoTarget){TOPO_TARGET_CPU,
                                      borrower ? borrower : device->host, NULL,
                                      -1});
}

/* Reports if the buffers that @flow maps one by one, at @target_key, are not in
 * the memory of the host that drives @device (nullable). */
static void check_mapping(TopoLoader *loader, TopoFlow *flow,
                          const char *target_key, const TopoDevice *device)
{
    TopoTarget target = topo_flow_target(flow, target_key);
    const TopoHost *host;

    if (!is_word(flow, "mapping", "each") || !device ||
        target.kind == TOPO_TARGET_NONE) {
        return;
    }
    host = g_hash_table_lookup(loader->loaded->borrowers, device);
    host = host ? host : device->host;
    if (target.kind == TOPO_TARGET_DEVICE ||
        (target.host && target.host != host)) {
        topo_flow_report(loader, flow, "mapping",
                         "only the RAM of %s, whose driver has %s, can be "
                         "mapped for each operation; write %s: %s.ram, or "
                         "leave `mapping` out",
                         host->name, device->path, target_key, host->name);
    }
}

/* Reports if @count_key operations of `size` bytes are more bytes than fit into
 * 64 bits. */
static void check_total(TopoLoader *loader, const TopoFlow *flow,
                        const char *count_key)
{
    int64_t total;

    if (__builtin_mul_overflow(topo_values_number(flow->values, count_key),
                               topo_values_number(flow->values, "size"),
                               &total)) {
        topo_flow_report(loader, flow, "size",
                         "the flow moves more bytes than can be counted; "
                         "write less");
    }
}

static void check_two_devices(TopoLoader *loader, const TopoFlow *flow)
{
    TopoTarget from = topo_flow_target(flow, "from");

    if (from.device && from.device == topo_flow_target(flow, "to").device) {
        topo_flow_report(loader, flow, "to",
                         "%s is the same device as from; name another",
                         from.device->path);
    }
}

/* ---- compute ----------------------------------------------------------- */

static const TopoKey compute_keys[] = {
    FLOW("compute"),
    MAY("device", DEVICE, NULL, "`host.device` that computes, for readers"),
    RANGE("time", TIME, NULL, "1ps", "1000s", REQUIRED, "its duration"),
};

/* ---- copy -------------------------------------------------------------- */

static const TopoKey copy_keys[] = {
    FLOW("copy"),
    PAIRS("device", "buffer"),
    NEEDS("device", DEVICE, "`host.device` whose engine copies, a GPU"),
    DIRECTION(
        "read: from the buffer to the device; write: from the device to the "
        "buffer"),
    NEEDS_TARGET(
        "buffer", MEMORY,
        "`host.ram`, `host.ram.node0`, `host.device` or `host.device.bar1`"),
    MAY("driver", HOST, NULL,
        "host whose CPU runs the driver; without it the borrower, or the "
        "device's own"),
    RANGE("size", BYTES, NULL, "1B", "1TiB", REQUIRED, "of one copy"),
    RANGE("copies", INT, "1", "1", "1000000000", 0, "number of copies"),
    MAY("queued", BOOL, "on",
        "on: the driver submits all copies at once; off: each when the last is "
        "done"),
};

static void check_copy(TopoLoader *loader, TopoFlow *flow)
{
    TopoDevice *device = topo_flow_device(flow, "device");

    if (device && device->part &&
        topo_part_kind(device->part) == TOPO_PART_ENDPOINT) {
        topo_flow_report(loader, flow, "device",
                         "%s has no copy engine; name a GPU, or write kind: "
                         "dma",
                         device->path);
    }
    default_driver(loader, flow, device);
    check_total(loader, flow, "copies");
}

/* ---- dma --------------------------------------------------------------- */

static const TopoKey dma_keys[] = {
    FLOW("dma"),
    PAIRS("device", "target"),
    NEEDS("device", DEVICE, "`host.device` whose engine works"),
    WORD("direction", NULL, "read|write|write-read", REQUIRED,
         "the device's operation; write-read: it writes and then reads the "
         "same bytes, and both count"),
    NEEDS_TARGET(
        "target", MEMORY,
        "`host.ram`, `host.ram.node0`, `host.device` or `host.device.bar1`"),
    RANGE("size", BYTES, NULL, "1B", "1GiB", REQUIRED,
          "bytes of one operation"),
    RANGE(
        "total", BYTES, NULL, "1B", "1024TiB", 0,
        "bytes of all operations, a multiple of `size`. Give this or `count`, "
        "or neither if the workload has a `stop`"),
    RANGE("count", INT, NULL, "1", "1000000000000", 0, "number of operations"),
    RANGE("outstanding", INT, "0", "0", "65536", 0,
          "operations in flight; 0: as many as the device can have"),
    WORD("pattern", "sequential", "sequential|random", 0, "order of addresses"),
    RANGE("working_set", BYTES, NULL, "1B", "1024TiB", 0,
          "addresses wrap within this size; without it the whole target"),
    MAY("warm", BOOL, "off",
        "on: the CPU of the host whose RAM is the target has used the working "
        "set before, so its cache holds as much of it as fits"),
    WORD("mapping", "once", "once|each", 0,
         "each: a core of the host maps the buffer of each operation before "
         "it, and unmaps it after that, in the times of `iommu` of the CPU; "
         "for the RAM of the device's own host, or of its borrower. Operations "
         "for whose buffers the borrower's DMA window has no room fail"),
    WORD("arrivals", "closed", "closed|periodic|poisson", 0,
         "closed: the next operation begins when one is done"),
    RANGE("interval", TIME, NULL, "1ps", "1000s", 0,
          "(mean) time between arrivals, unless they are closed"),
};

static void check_dma_count(TopoLoader *loader, TopoFlow *flow)
{
    const TopoValues *values = flow->values;
    int64_t total = topo_values_number(values, "total");
    int64_t size = topo_values_number(values, "size");

    if (topo_flow_has(flow, "total") && topo_flow_has(flow, "count")) {
        topo_flow_report(loader, flow, "count",
                         "the flow has a total, too; write one of them");
    } else if (!topo_flow_has(flow, "total") && !topo_flow_has(flow, "count") &&
               loader->loaded->pub.workload->stop_ps == 0) {
        topo_flow_report(loader, flow, "size",
                         "the flow has no end; write total: or count: here, "
                         "or stop: in the workload");
    } else if (topo_flow_has(flow, "total") && size > 0) {
        if (total % size != 0) {
            topo_flow_report(loader, flow, "total",
                             "%s is not a multiple of size, %s; write a "
                             "multiple",
                             topo_values_text(values, "total"),
                             topo_values_text(values, "size"));
        }
        topo_flow_set_number(flow, "count", total / size);
    }
}

static void check_dma(TopoLoader *loader, TopoFlow *flow)
{
    const TopoValues *values = flow->values;

    if (topo_values_number(values, "warm") != 0 &&
        topo_flow_target(flow, "target").kind == TOPO_TARGET_DEVICE) {
        topo_flow_report(loader, flow, "warm",
                         "only the RAM of a host has a cache; write target: "
                         "host.ram, or leave `warm` out");
    }

    check_mapping(loader, flow, "target", topo_flow_device(flow, "device"));
    check_dma_count(loader, flow);
    if (topo_flow_has(flow, "working_set") &&
        topo_values_number(values, "working_set") <
            topo_values_number(values, "size")) {
        topo_flow_report(loader, flow, "working_set",
                         "%s is less than size, %s; write more",
                         topo_values_text(values, "working_set"),
                         topo_values_text(values, "size"));
    }
    if (is_word(flow, "arrivals", "closed") &&
        topo_flow_has(flow, "interval")) {
        topo_flow_report(loader, flow, "interval",
                         "closed arrivals have no interval; leave it out, or "
                         "write arrivals: periodic or poisson");
    } else if (topo_flow_has(flow, "arrivals") &&
               !topo_flow_is(flow, "arrivals", "closed") &&
               !topo_flow_has(flow, "interval")) {
        topo_flow_report(loader, flow, "arrivals",
                         "%s arrivals need an interval; write for example "
                         "interval: 100ns",
                         topo_values_text(values, "arrivals"));
    }
    check_total(loader, flow, "count");
}

/* ---- mmio -------------------------------------------------------------- */

static const TopoKey mmio_keys[] = {
    FLOW("mmio"),
    NEEDS("host", HOST, "the host of the CPU"),
    DIRECTION("the CPU's operation"),
    NEEDS_TARGET(
        "target", MEMORY,
        "`host.ram`, `host.ram.node0`, `host.device` or `host.device.bar1`"),
    RANGE("size", BYTES, "8B", "1B", "4KiB", 0,
          "bytes of one access; more than 64B only of a write, if the part of "
          "the host has `core.combine`"),
    RANGE("count", INT, "1", "1", "1000000000000", 0, "number of accesses"),
    RANGE("between", TIME, "0ps", NULL, "1s", 0,
          "time from the end of an access to the begin of the next one, for "
          "the CPU's other instructions"),
    WORD("seen", "off", "off|on|interrupt|answered", 0,
         "off: a write is over when it has left the CPU that writes; on: a "
         "write to `host.ram`, when that host's CPU, which polls, has seen it; "
         "interrupt: it is an MSI to `host.ram`, and over when the handler "
         "starts, `core.interrupt` after its arrival; answered: that host's "
         "CPU, which polls, answers by as many bytes to the RAM of `host`, "
         "whose CPU polls and sees them"),
};

static void check_mmio(TopoLoader *loader, TopoFlow *flow)
{
    const TopoHost *host = topo_flow_host(flow, "host");

    if (topo_flow_has(flow, "size") && topo_flow_bytes(flow, "size") > 64 &&
        host && host->cpu &&
        (!is_word(flow, "direction", "write") ||
         !topo_part_has(host->cpu, "core.combine"))) {
        topo_flow_report(loader, flow, "size",
                         "a CPU reads and writes at most 64B at a time; longer "
                         "writes need core.combine of its part");
    }
    if (topo_flow_has(flow, "seen") && !topo_flow_is(flow, "seen", "off") &&
        (!is_word(flow, "direction", "write") ||
         topo_flow_target(flow, "target").kind == TOPO_TARGET_DEVICE)) {
        topo_flow_report(loader, flow, "seen",
                         "only a write to the RAM of a host can be seen; write "
                         "direction: write and target: host.ram, or leave "
                         "`seen` out");
    }
    check_total(loader, flow, "count");
}

/* ---- move -------------------------------------------------------------- */

static const TopoKey move_keys[] = {
    FLOW("move"),
    PAIRS("from", "to"),
    NEEDS("device", DEVICE,
          "`host.device` whose engine works; its part has `move:`"),
    NEEDS_TARGET(
        "from", MEMORY,
        "`host.ram`, `host.ram.node0`, `host.device` or `host.device.bar1` that it "
        "reads, not its own"),
    NEEDS_TARGET("to", MEMORY, "the same, that it writes"),
    RANGE("size", BYTES, NULL, "1B", "1TiB", REQUIRED,
          "bytes of one operation"),
    RANGE("count", INT, "1", "1", "1000000000", 0,
          "number of operations, one after the other"),
    MAY("queued", BOOL, "off",
        "on: the engine sets up the next operation during the one before"),
};

static void check_move(TopoLoader *loader, TopoFlow *flow)
{
    static const char *const ends[] = {"from", "to"};
    TopoDevice *device = topo_flow_device(flow, "device");
    unsigned i;

    if (device && device->part &&
        (topo_part_kind(device->part) != TOPO_PART_ENDPOINT ||
         !topo_part_has(device->part, "move.setup"))) {
        topo_flow_report(loader, flow, "device",
                         "%s has no engine that moves memory; name an "
                         "endpoint whose part has `move:`",
                         device->path);
    }
    for (i = 0; device && i < G_N_ELEMENTS(ends); i++) {
        if (topo_flow_target(flow, ends[i]).device == device) {
            topo_flow_report(loader, flow, ends[i],
                             "%s moves its own memory by a dma flow; name "
                             "other memory",
                             device->path);
        }
    }
    check_total(loader, flow, "count");
}

/* ---- nvme -------------------------------------------------------------- */

static const TopoKey nvme_keys[] = {
    FLOW("nvme"),
    NEEDS("device", DEVICE,
          "`host.device` whose part has `nvme:`, that is a drive"),
    DIRECTION(
        "read: from the drive to the buffer; write: from the buffer to the "
        "drive"),
    MAY_TARGET(
        "buffer", MEMORY,
        "`host.ram`, `host.ram.node0`, `host.device` or `host.device.bar1`; without it "
        "the driver's RAM"),
    MAY_TARGET("sq", MEMORY,
               "where the submission queue is: `host.ram`, `host.ram.node0`, "
               "`host.device` or `host.device.bar1`; without it the driver's "
               "RAM. A BAR of the drive itself is a Controller Memory Buffer"),
    MAY_TARGET("cq", MEMORY, "the same for the completion queue"),
    MAY_TARGET("prp_lists", MEMORY, "the same for the PRP lists"),
    MAY("driver", HOST, NULL,
        "host whose CPU runs the driver; without it the borrower, or the "
        "device's own"),
    MAY_TARGET("by", TOPO_MAY_BE_GPU,
               "`host.device`, a GPU whose threads submit and poll instead of "
               "the CPU, with queues and lists in its own memory: `depth` "
               "operations at a time, the next ones when all are over"),
    RANGE(
        "pause", TIME, "0ps", NULL, "1s", 0,
        "time of these threads from the last completion to the next doorbell"),
    RANGE("size", BYTES, NULL, "512B", "1GiB", REQUIRED,
          "bytes of one operation, a multiple of the part's `nvme.block`"),
    RANGE("count", INT, "1", "1", "1000000000000", 0, "operations in all"),
    RANGE("depth", INT, "1", "1", "4095", 0, "operations at a time"),
    RANGE("entries", INT, "1024", "2", "4096", 0,
          "entries of each queue, one of which stays empty"),
    WORD("pattern", "sequential", "sequential|random", 0, "order of blocks"),
    WORD("completion", "interrupt", "interrupt|polling", 0,
         "the way in which the driver learns of completions"),
    WORD("mapping", "once", "once|each", 0,
         "each: a core of the driver's host maps the buffer of each command "
         "before it, and unmaps it after that, in the times of `iommu` of the "
         "CPU; for the driver's RAM. A command for whose buffer the DMA window "
         "has no room waits until a part of the window is given back"),
    MAY("shadow_doorbells", BOOL, "off",
        "on: doorbells are in the driver's memory as well, and the drive reads "
        "them there (NVMe 1.3, Doorbell Buffer Config), as QEMU's does"),
    RANGE("timeout", TIME, "30s", "1us", "1000s", 0,
          "an operation that takes longer has failed"),
};

static void check_drive(TopoLoader *loader, const TopoFlow *flow,
                        const TopoDevice *device)
{
    int64_t size = topo_values_number(flow->values, "size");

    if (topo_part_kind(device->part) != TOPO_PART_ENDPOINT ||
        !topo_part_has(device->part, "nvme.overhead")) {
        topo_flow_report(loader, flow, "device",
                         "%s is not a drive; name an endpoint whose part has "
                         "`nvme:`",
                         device->path);
    } else if (size % topo_part_bytes(device->part, "nvme.block") != 0) {
        topo_flow_report(loader, flow, "size",
                         "%s is not a multiple of the block of %s; write whole "
                         "blocks",
                         topo_values_text(flow->values, "size"), device->path);
    }
}

/* Threads of a GPU leave no choice of where the queues are. */
static void check_threads_drive(TopoLoader *loader, const TopoFlow *flow)
{
    static const char *const taken[] = {"sq", "cq", "prp_lists"};

    if (topo_flow_target(flow, "by").kind == TOPO_TARGET_NONE) {
        return;
    }
    for (unsigned i = 0; i < G_N_ELEMENTS(taken); i++) {
        if (topo_flow_target(flow, taken[i]).kind != TOPO_TARGET_NONE) {
            topo_flow_report(loader, flow, taken[i],
                             "the queues of `by` are in its own memory; leave "
                             "it out");
        }
    }
    if (topo_flow_bool(flow, "shadow_doorbells")) {
        topo_flow_report(loader, flow, "shadow_doorbells",
                         "`by` rings the doorbells alone; leave it out");
    }
}

static void check_nvme(TopoLoader *loader, TopoFlow *flow)
{
    TopoDevice *device = topo_flow_device(flow, "device");

    default_driver(loader, flow, device);
    if (topo_flow_target(flow, "buffer").kind == TOPO_TARGET_NONE) {
        topo_flow_set_target(flow, "buffer",
                             (TopoTarget){TOPO_TARGET_RAM,
                                          topo_flow_host(flow, "driver"), NULL,
                                          -1});
    }
    if (device && device->part) {
        check_drive(loader, flow, device);
    }
    check_threads_drive(loader, flow);
    check_mapping(loader, flow, "buffer", device);
    check_total(loader, flow, "count");
}

/* ---- path -------------------------------------------------------------- */

static const TopoKey path_keys[] = {
    FLOW("path"),
    NEEDS_TARGET("from", TOPO_MAY_BE_DEVICE | TOPO_MAY_BE_CPU,
                 "`host.device` or `host.cpu`"),
    NEEDS_TARGET(
        "to", MEMORY,
        "`host.ram`, `host.ram.node0`, `host.device` or `host.device.bar1`"),
    MAY_TARGET("via", TOPO_MAY_BE_RAM | TOPO_MAY_BE_NODE,
               "`host.ram`, or a node of it, in which the data rests on the "
               "way"),
    WORD("direction", "write", "read|write", 0,
         "write: `from` writes to `to`; read: `from` reads from it"),
    RANGE("size", BYTES, "4B", "1B", "4096B", 0, "bytes of the payload"),
};

/* ---- pingpong ---------------------------------------------------------- */

static const TopoKey pingpong_keys[] = {
    FLOW("pingpong"),
    PAIRS("from", "to"),
    NEEDS_TARGET("from", TOPO_MAY_BE_GPU,
                 "`host.device` that stores first, a GPU"),
    NEEDS_TARGET("to", TOPO_MAY_BE_GPU | TOPO_MAY_BE_CPU,
                 "`host.device` that answers, another GPU, or `host.cpu`; the "
                 "counter is then in that host's RAM"),
    MAY_TARGET("via", TOPO_MAY_BE_RAM,
               "`host.ram` that holds the counter; without it each GPU stores "
               "into the other's memory"),
    RANGE("count", INT, "1", "1", "1000000000000", 0, "round trips"),
};

static void check_pingpong(TopoLoader *loader, TopoFlow *flow)
{
    TopoTarget to = topo_flow_target(flow, "to");
    TopoTarget via = topo_flow_target(flow, "via");

    if (to.kind != TOPO_TARGET_CPU) {
        check_two_devices(loader, flow);
    } else if (via.kind == TOPO_TARGET_NONE) {
        topo_flow_set_target(flow, "via",
                             (TopoTarget){TOPO_TARGET_RAM, to.host, NULL, -1});
    } else if (via.host != to.host) {
        topo_flow_report(loader, flow, "via",
                         "a CPU polls its own memory; leave it out");
    }
}

/* ---- replay ------------------------------------------------------------ */

static const TopoKey replay_keys[] = {
    FLOW("replay"),
    NEEDS("trace", TEXT,
          "path of a trace of links (pcapng), from the file's directory"),
    MAY("pace", PERCENT, "100%",
        "the time that a CPU or a device thinks between two events, of that in "
        "the trace; 0%: as fast as the fabric allows"),
    RANGE("memory", BYTES, "1MiB", "4KiB", "1GiB", POWER,
          "RAM of each host that its pages in the trace share"),
};

static void check_replay(TopoLoader *loader, TopoFlow *flow)
{
    const char *text = topo_values_text(flow->values, "trace");
    const TopoValue *pace = topo_values_get(flow->values, "pace");

    if (pace->valid && pace->number > 10 * pace->den) {
        topo_flow_report(loader, flow, "pace",
                         "%s is more than 1000%%; write less",
                         topo_values_text(flow->values, "pace"));
    }
    if (!text) {
        return;
    }
    flow->file = topo_load_path(loader, text);
    if (!g_file_test(flow->file, G_FILE_TEST_IS_REGULAR)) {
        topo_flow_report(loader, flow, "trace",
                         "there is no file '%s'; write the path of a trace of "
                         "`farside cluster trace`",
                         flow->file);
    }
}

/* ---- tcp --------------------------------------------------------------- */

/* Keys of both kinds of TCP flows. */
#define TCP(KIND, DEVICE_HELP)                                                 \
    FLOW(KIND), NEEDS("from", DEVICE, "`host.device` that sends, a NIC"),      \
        NEEDS("to", DEVICE,                                                    \
              "`host.device` that receives, a NIC of the same network"),       \
        RANGE("from_port", INT, "0", "0", "7", 0, "port of the sending NIC"),  \
        RANGE("to_port", INT, "0", "0", "7", 0, "port of the other"),          \
        NEEDS_TARGET("device", TOPO_MAY_BE_BAR, DEVICE_HELP),                  \
        RANGE("size", BYTES, NULL, "1B", "1GiB", REQUIRED, "of a message"),    \
        RANGE("count", INT, NULL, "1", "1000000000000", 0,                     \
              "messages of each connection; without it until the `stop` of "   \
              "the workload"),                                                 \
        RANGE("connections", INT, "1", "1", "64", 0,                           \
              "connections; each has queues and cores of its own"),            \
        RANGE("mtu", BYTES, "1500B", "576B", "16384B", 0,                      \
              "largest IP packet (MTU)"),                                      \
        RANGE("headers", BYTES, "52B", "40B", "128B", 0,                       \
              "headers of IP and TCP; 52B: IPv4 and TCP with time stamps"),    \
        RANGE("window", BYTES, "4MiB", "4KiB", "1GiB", 0,                      \
              "receive buffer and send buffer of a connection"),               \
        RANGE("entries", INT, "1024", "64", "65536", POWER,                    \
              "entries of each ring"),                                         \
        RANGE("refill", INT, "32", "1", "65536", 0,                            \
              "free entries of a receive ring at which its driver posts "      \
              "descriptors; a quarter of the ring at most"),                   \
        WORD("completion", "interrupt", "interrupt|polling", 0,                \
             "the way in which the drivers learn of packets"),                 \
        MAY("steered", BOOL, "on",                                             \
            "on: flow steering brings each connection to its own queue; off: " \
            "to an ordinary queue, by receive side scaling"),                  \
        RANGE("ack_every", INT, "2", "1", "1000", 0,                           \
              "packets after which the receiver acknowledges (RFC 5681)"),     \
        RANGE("rto", TIME, "200ms", "1us", "60s", 0,                           \
              "retransmission time-out; it doubles each time"),                \
        RANGE("chunk", BYTES, "256KiB", "1B", "1GiB", 0,                       \
              "most bytes that the device copies from RAM at a time"),         \
        RANGE("page", BYTES, "4KiB", "256B", "64KiB", POWER,                   \
              "size of a receive buffer")

static const TopoKey tcp_devmem_keys[] = {
    TCP("tcp-devmem", "`host.device` or `host.device.bar1` whose memory the "
                      "payloads go to"),
    RANGE("buffer", BYTES, "64MiB", "4KiB", "1TiB", 0,
          "size of the dmabuf, which the queues of all connections share"),
    RANGE("hold", TIME, "0ps", "0ps", "1000s", 0,
          "time for which the user keeps a fragment before it returns its "
          "token"),
    RANGE("tokens", INT, "128", "1", "128", 0,
          "tokens that one system call returns, at most"),
    MAY("unsplit", PERCENT, "0%",
        "share of packets that the NIC cannot split, whose payloads land in "
        "RAM"),
    RANGE("owner_ends", TIME, NULL, "0ps", "1000s", 0,
          "time at which the receiver's process dies, and with it its "
          "binding"),
};

static const TopoKey tcp_host_keys[] = {
    TCP("tcp-host",
        "`host.device` that copies the payloads from RAM to its memory"),
};

/* ---- threads ----------------------------------------------------------- */

static const TopoKey threads_keys[] = {
    FLOW("threads"),
    NEEDS_TARGET("by", TOPO_MAY_BE_GPU | TOPO_MAY_BE_CPU,
                 "`host.device`, a GPU, or `host.cpu`: whose threads work"),
    DIRECTION("the threads' operation"),
    NEEDS_TARGET("target", MEMORY,
                 "`host.ram`, `host.ram.node0`, `host.device` or "
                 "`host.device.bar1`"),
    RANGE("threads", INT, NULL, "1", "1048576", REQUIRED, "number of threads"),
    RANGE("outstanding", INT, "1", "1", "1024", 0,
          "instructions of a warp, or reads of a core, under way at a time"),
    RANGE("access", BYTES, "4B", "1B", "64B", POWER,
          "bytes of an access of a thread; at most 16 for a GPU"),
    RANGE("stride", BYTES, NULL, "1B", "1MiB", 0,
          "from the access of a thread to that of the next; a multiple of "
          "`access`; without it `access`"),
    RANGE("count", INT, NULL, "1", "1000000000", 0,
          "instructions of each warp, or accesses of each core; without it the "
          "workload has a `stop`"),
    WORD("pattern", "sequential", "sequential|random", 0,
         "order of the places of instructions and accesses"),
    RANGE("working_set", BYTES, NULL, "1B", "1024TiB", 0,
          "addresses wrap within this size; without it 64MiB, or the target"),
};

static void check_threads(TopoLoader *loader, TopoFlow *flow)
{
    const TopoValues *values = flow->values;
    bool is_gpu = topo_flow_target(flow, "by").kind == TOPO_TARGET_DEVICE;
    int64_t access = topo_values_number(values, "access");

    if (is_gpu && access > 16) {
        topo_flow_report(loader, flow, "access",
                         "a thread of a GPU accesses at most 16B; write less");
    }
    if (!topo_flow_has(flow, "stride")) {
        topo_flow_set_number(flow, "stride", access);
    } else if (access > 0 &&
               topo_values_number(values, "stride") % access != 0) {
        topo_flow_report(loader, flow, "stride",
                         "%s is not a multiple of access, %s; write one",
                         topo_values_text(values, "stride"),
                         topo_values_text(values, "access"));
    }
    if (topo_values_number(values, "threads") *
            topo_values_number(values, "outstanding") >
        1048576) {
        topo_flow_report(loader, flow, "threads",
                         "more than 1048576 times outstanding; write less");
    }
    if (!is_gpu && is_word(flow, "direction", "write") &&
        topo_values_number(values, "outstanding") > 1) {
        topo_flow_report(loader, flow, "outstanding",
                         "a core writes one access after the other; leave it "
                         "out");
    }
    if (!topo_flow_has(flow, "count") &&
        loader->loaded->pub.workload->stop_ps == 0) {
        topo_flow_report(loader, flow, "threads",
                         "the flow has no end; write count: here, or stop: in "
                         "the workload");
    }
}

/* ---- transfer ---------------------------------------------------------- */

static const TopoKey transfer_keys[] = {
    FLOW("transfer"),
    PAIRS("from", "to"),
    NEEDS_TARGET("from", TOPO_MAY_BE_GPU,
                 "`host.device` from whose memory the data is copied, a GPU"),
    NEEDS_TARGET("to", TOPO_MAY_BE_GPU,
                 "`host.device`: the GPU that receives the copy"),
    MAY_TARGET(
        "via", TOPO_MAY_BE_RAM,
        "`host.ram` through which the data goes in chunks; without it the "
        "first GPU writes to the second"),
    MAY("driver", HOST, NULL,
        "host whose CPU runs the driver; without it the borrower, or the "
        "first device's own"),
    RANGE("size", BYTES, NULL, "1B", "1TiB", REQUIRED, "of one copy"),
    RANGE("copies", INT, "1", "1", "1000000000", 0,
          "number of copies, one after the other"),
};

static void check_transfer(TopoLoader *loader, TopoFlow *flow)
{
    check_two_devices(loader, flow);
    default_driver(loader, flow, topo_flow_target(flow, "from").device);
    check_total(loader, flow, "copies");
}

/* ---- The table --------------------------------------------------------- */

/* A kind whose name is no word of C. */
#define TCP_KIND(NAME, ID, HELP)                                               \
    .name = NAME,                                                              \
    .section = {NAME " flow", HELP, ID##_keys, G_N_ELEMENTS(ID##_keys)}

#define KIND(NAME, HELP)                                                       \
    .name = #NAME,                                                             \
    .section = {#NAME " flow", HELP, NAME##_keys, G_N_ELEMENTS(NAME##_keys)}

const TopoFlowKind topo_flow_kinds[] = {
    {KIND(compute, "A device works for itself.")},
    {KIND(copy, "A driver has a device's DMA engine copy."),
     .check = check_copy},
    {KIND(dma, "A device reads or writes by itself."), .check = check_dma},
    {KIND(mmio, "A CPU reads or writes."), .check = check_mmio},
    {KIND(move, "A device moves memory that is not its own."),
     .check = check_move},
    {KIND(nvme, "A driver has a drive read or write."), .check = check_nvme},
    {KIND(path, "One TLP through an idle fabric."), .has_own_fabric = true},
    {KIND(pingpong, "Two GPUs pass a counter to and fro."),
     .check = check_pingpong},
    {KIND(replay, "Drivers and devices do what a trace has recorded."),
     .check = check_replay},
    {TCP_KIND("tcp-devmem", tcp_devmem,
              "TCP over a network, into the memory of a device (devmem TCP)."),
     .check = topo_flow_check_tcp_devmem},
    {TCP_KIND("tcp-host", tcp_host,
              "TCP over a network, through RAM to a device."),
     .check = topo_flow_check_tcp},
    {KIND(threads, "Threads of a GPU or a CPU read or write."),
     .check = check_threads},
    {KIND(transfer, "A driver has the memory of one GPU copied to another."),
     .check = check_transfer},
};
const unsigned topo_flow_n_kinds = G_N_ELEMENTS(topo_flow_kinds);

const TopoFlowKind *topo_flow_find_kind(const char *name)
{
    unsigned i;

    for (i = 0; name && i < topo_flow_n_kinds; i++) {
        if (strcmp(topo_flow_kinds[i].name, name) == 0) {
            return &topo_flow_kinds[i];
        }
    }
    return NULL;
}

GPtrArray *topo_flow_kind_names(void)
{
    GPtrArray *names = g_ptr_array_new();
    unsigned i;

    for (i = 0; i < topo_flow_n_kinds; i++) {
        g_ptr_array_add(names, (char *)topo_flow_kinds[i].name);
    }
    return names;
}
