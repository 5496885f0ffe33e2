/* SPDX-License-Identifier: MIT */
/*
 * Invariant: `farside run` simulates each point of any description that
 * `farside check` accepts, or it reports in words why the point cannot end.
 * Both never crash, and no point runs for ever.
 *
 * The program writes random descriptions with hosts, switches, NTBs, cables,
 * loans, networks, faults, every part of scenarios/parts, and flows of every
 * kind, which begin together, at a `start:`, or `after:` others. The seed of a
 * description is its number, so each can be repeated alone. As a test it takes
 * a fixed number of seeds from 1 on. `make fuzz-run` takes a million:
 *
 *   fuzz_run [--from SEED] [--count N] [--state FILE] [--print]
 *
 * FILE gets the next seed from time to time, and a new run begins there.
 * --print writes the descriptions to standard output and runs nothing.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <glib.h>
#include <glib/gstdio.h>

#include "exp_plan.h"
#include "exp_point.h"

#define TEST_SEEDS   300
#define SECONDS_MOST 60 /* for one description */
#define SAVE_EVERY   100
#define FLOWS_MOST   5

typedef struct Gen {
    GRand *rand;
    GString *text;
    GPtrArray *devices; /* of char *: "host.name" of GPUs and endpoints */
    GPtrArray *gpus;
    GPtrArray *drives;
    GPtrArray *movers; /* devices whose engine moves memory of others */
    GPtrArray *nics;   /* those that can be used by flows of TCP */
    bool has_tcp;      /* the CPU of the present host */
    GPtrArray *ntbs;   /* of char *: one or none of each host; nullable */
    unsigned n_hosts;
    bool has_box;            /* one chip joins the hosts */
    unsigned table_switches; /* bit mask: of the present host */
    unsigned node_hosts;     /* bit mask: hosts with two nodes */
} Gen;

static const char *const cpus[] = {"generic-host", "generic-host",
                                   "generic-host", "xeon-e5-2603-v4",
                                   "xeon-e5-1650-v4"};
static const char *const switches[] = {"generic-switch", "pex8747", "pex8733",
                                       "pex8796"};
static const char *const ntbs[] = {"generic-ntb", "pxh830"};
static const char *const gpus[] = {"quadro-k420", "tesla-k40c"};
static const char *const drives[] = {"optane-900p", "p4800x"};
static const char *const nics[] = {"connectx-5", "connectx-6", "connectx-7"};

#define PICK(gen, LIST) LIST[below(gen, G_N_ELEMENTS(LIST))]

static unsigned below(Gen *gen, unsigned limit)
{
    return g_rand_int_range(gen->rand, 0, (gint32)limit);
}

/* Returns true once in @n times. */
static bool one_in(Gen *gen, unsigned n)
{
    return below(gen, n) == 0;
}

static void add(Gen *gen, const char *format, ...) G_GNUC_PRINTF(2, 3);
static void add(Gen *gen, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    g_string_append_vprintf(gen->text, format, args);
    va_end(args);
}

/* ---- Hosts ------------------------------------------------------------ */

static void add_link_limits(Gen *gen)
{
    static const char *const speeds[] = {"2.5GT/s", "5.0GT/s"};
    static const char *const widths[] = {"x1", "x2", "x4"};

    if (one_in(gen, 4)) {
        add(gen, ", speed: %s", PICK(gen, speeds));
    }
    if (one_in(gen, 4)) {
        add(gen, ", width: %s", PICK(gen, widths));
    }
}

/* Adds `set:` with values that any source of a part could give. Buffers may be
 * too small for the TLPs that arrive. */
static void add_device_changes(Gen *gen)
{
    static const char *const changes[] = {
        "mps: 128B, dma.write_size: 128B",
        "mps: 512B",
        "mrrs: 128B",
        "mrrs: 4096B",
        "tags: 32",
        "dma.reads: 1",
        "dma.write_size: 64B",
        "dma.read_size: 64B",
        "dma.write_latency: 3us",
        "dma.read_latency: 2us",
        "completer.latency: 5us",
        "completer.bandwidth: 100MB/s",
        "relaxed_ordering: on",
        "id_ordering: on",
        "ecrc: on",
        "dllp: each",
        "dllp: free",
        "buffers.ph: 1",
        "buffers.pd: 32",
        "buffers.nph: 1",
        "buffers.cplh: 1",
        "buffers.cpld: 32",
        "buffers.latency: 1us",
        "bars: [{size: 4KiB, width: 32}]",
        "bars: []",
        "dma.writes: 1",
        "dma.in_flight: 1KiB",
        "dma.read_move: {beat: 64B, clock: 5ns, gap: 3}",
        "dma.write_move: {beat: 32B, clock: 5ns, gap: 0}",
        "service: {beat: 16B, clock: 4ns, gap: 1}",
        "buffers.collect: 4KiB",
        "buffers.replay: 2KiB",
    };

    if (one_in(gen, 3)) {
        add(gen, ", set: {%s}", PICK(gen, changes));
    }
}

static void add_gpu_changes(Gen *gen)
{
    static const char *const changes[] = {
        "store.latency: 0ps",
        "store.latency: 20us",
        "poll.notice: 0ps",
        "poll.gap: 20ns",
        "poll.jitter: 0ps",
        "poll.jitter: 3us",
        "transfer.buffers: 1",
        "transfer.chunk: 4KiB",
        "transfer.round_trips: 0",
        "transfer.control: 1B",
        "copy.command_size: 0B",
        "copy.command_size: 64KiB",
        "copy.setup: 0ps",
        "dma.write_latency: 30us",
        "transfer.cpu_direct: 100us",
        "threads.warp: 64",
        "threads.line: 64B, threads.sector: 64B",
        "threads.sector: 1B",
        "threads.latency: 700ns",
        "poll.period: 100ns",
    };

    if (one_in(gen, 2)) {
        add(gen, ", set: {%s}", PICK(gen, changes));
    } else {
        add_device_changes(gen);
    }
}

static void add_nic_changes(Gen *gen)
{
    static const char *const changes[] = {
        "nic.queues: 1",
        "nic.queues: 65536",
        "nic.descriptor: 64B",
        "nic.completion: 8B",
        "nic.rx_prefetch: 1, nic.tx_prefetch: 1",
        "nic.cache: 8, nic.rx_prefetch: 4",
        "nic.tx_batch: 64",
        "nic.rx_buffer: 16KiB",
        "nic.tx_buffer: 16KiB",
        "nic.latency: 0ps",
        "nic.moderation: 0ps",
        "nic.moderation_packets: 1",
        "nic.segment: 1448B",
        "nic.header_split: off",
        "nic.rate: 1MB/s",
        "dma.reads: 1",
        "dma.write_size: 64B",
        "card.ports: 2",
    };

    if (one_in(gen, 3)) {
        add(gen, ", set: {%s}", PICK(gen, changes));
    }
}

/* Divides the root ports of a CPU among nodes. */
static void add_nodes(Gen *gen, unsigned host)
{
    static const char *const limits[] = {
        "",
        ", nodes.latency: 150ns",
        ", nodes: {latency: 90ns, bandwidth: 5GB/s}",
        ", nodes: {writes: 1KiB, acknowledge: 300ns}",
        ", nodes: {bandwidth: 1GB/s, writes: 64B, acknowledge: 2us}",
    };

    gen->node_hosts |= 1u << host;
    add(gen, "    set: {root_ports: [");
    for (unsigned i = 0; i < 4; i++) {
        add(gen, "%s{name: rp%u, speed: 8.0GT/s, width: x16, node: %u}",
            i > 0 ? ", " : "", i, i % 2);
    }
    add(gen, "]%s}\n", PICK(gen, limits));
}

static void add_cpu_changes(Gen *gen, unsigned host)
{
    static const char *const changes[] = {
        "dpc.trigger: fatal, dpc.release: 20us, dpc.training: 5us",
        "dpc.trigger: nonfatal, dpc.completion: ca",
        "read_split: 64B",
        "read_split: 0B",
        "write_split: 64B",
        "forwarded_reads: 1",
        "rcb: 128B",
        "memory.size: 1MiB",
        "memory.size: 8MiB",
        "memory.bandwidth: 1GB/s",
        "memory.reads: 1",
        "iommu.page: 2MiB",
        "iommu.iotlb_entries: 1",
        "iommu.walks: 1",
        "iommu.walks: 2, iommu.walk_read: 70ns, iommu.cache_4k: 2",
        "iommu.walk_read: 1us, iommu.cache_2m: 1, iommu.cache_1g: 1",
        "iommu.page: 1GiB, iommu.mixed: on",
        "iommu.loan_domains: on",
        "iommu.page: 2MiB, iommu.mixed: on, iommu.walk_read: 50ns",
        "core.mmio_reads: 1",
        "core.interrupt: 0ps",
        "core.poll: 100ns",
        "buffers.ph: 1",
        "buffers.cpld: 32",
        "completion_size: 64B",
        "mmio.low_size: 16MiB",
        "memory.cache: {size: 64KiB, latency: 1ns, ways: 16, io_ways: 2}",
        "memory.cache: {size: 4KiB, latency: 0ps, ways: 1, io_ways: 0}",
    };

    if (one_in(gen, 3)) {
        add(gen, "    set: {%s}\n", PICK(gen, changes));
    } else if (one_in(gen, 3)) {
        add_nodes(gen, host);
    }
}

/* Returns a place to plug something in: a root port or a switch. */
static char *make_place(Gen *gen, unsigned n_switches, unsigned *root_port)
{
    if (n_switches > 0 && (one_in(gen, 2) || *root_port > 2)) {
        return g_strdup_printf("sw%u", below(gen, n_switches));
    }
    return g_strdup_printf("rp%u", (*root_port)++);
}

static void add_switches(Gen *gen, unsigned count, unsigned *root_port)
{
    static const char *const acs[] = {"auto", "on", "off"};
    static const char *const changes[] = {
        "arbitration: weighted-round-robin",
        "arbitration: oldest-first",
        "mode: store-and-forward",
        "latency: 0ps",
        "buffers.ph: 1",
        "buffers.cpld: 32",
        "dpc.trigger: fatal, dpc.release: 3us, dpc.training: 1us",
        "dpc.trigger: nonfatal, dpc.release: 30us, dpc.completion: ca",
        "dpc.trigger: nonfatal",
    };
    bool has_chip = count > 1 && one_in(gen, 3);
    const char *chip_part = PICK(gen, switches);

    gen->table_switches = 0;
    add(gen, "    switches:\n");
    for (unsigned i = 0; i < count; i++) {
        g_autofree char *at = make_place(gen, i, root_port);

        add(gen, "      - {name: sw%u, part: %s, at: %s", i,
            has_chip ? chip_part : PICK(gen, switches), at);
        add_link_limits(gen);
        if (one_in(gen, 3)) {
            add(gen, ", acs: %s", PICK(gen, acs));
        }
        if (has_chip) {
            add(gen, ", chip: box");
        }
        if (one_in(gen, 4)) {
            gen->table_switches |= 1u << i;
            add(gen,
                ", uplink_share: %u, set: {arbitration: port-table, "
                "phases: %u}",
                1 + below(gen, 256), 32u << below(gen, 4));
        } else if (one_in(gen, 4)) {
            add(gen, ", set: {%s}", PICK(gen, changes));
        }
        add(gen, "}\n");
    }
}

/* Gives a device below a switch with a table a share of it. */
static void add_share(Gen *gen, const char *at)
{
    if (at[0] == 's' && gen->table_switches >> (at[2] - '0') & 1 &&
        one_in(gen, 2)) {
        add(gen, ", share: %u", 1 + below(gen, 256));
    }
}

static void add_devices(Gen *gen, unsigned host, unsigned n_switches,
                        unsigned *root_port, bool has_ntb)
{
    unsigned count = 1 + below(gen, 3);

    add(gen, "    devices:\n");
    for (unsigned i = 0; i < count; i++) {
        g_autofree char *at = make_place(gen, n_switches, root_port);
        unsigned kind = below(gen, 6);
        bool moves = kind == 3 && one_in(gen, 2);
        const char *part = kind < 2    ? PICK(gen, gpus)
                           : kind == 2 ? PICK(gen, drives)
                           : moves     ? "mxh930-dma"
                           : kind == 3 ? "generic-device"
                                       : PICK(gen, nics);
        char *path = g_strdup_printf("h%u.d%u", host, i);

        add(gen, "      - {name: d%u, part: %s, at: %s", i, part, at);
        add_link_limits(gen);
        add_share(gen, at);
        if (moves) {
            g_ptr_array_add(gen->movers, path);
        }
        if (kind < 2) {
            add_gpu_changes(gen);
            g_ptr_array_add(gen->gpus, path);
        } else if (kind > 3) {
            unsigned net = one_in(gen, 8);

            add(gen, ", fabrics: [net%u]", net);
            add_nic_changes(gen);
            if ((net == 0 && gen->has_tcp) || one_in(gen, 10)) {
                g_ptr_array_add(gen->nics, path);
            }
        } else {
            add_device_changes(gen);
        }
        if (kind == 2) {
            g_ptr_array_add(gen->drives, path);
        }
        g_ptr_array_add(gen->devices, path);
        add(gen, "}\n");
    }
    if (has_ntb) {
        static const char *const changes[] = {
            "window.size: 16MiB",
            "window.size: 4MiB",
            "window.reserved: 1",
            "requesters: 1",
            "tags: 1",
            "window.reserved: 0, window.entries: 4",
            "buffers.pd: 32",
            "latency: 1us",
        };
        g_autofree char *at = make_place(gen, n_switches, root_port);

        add(gen, "      - {name: ntb, part: %s, at: %s%s",
            gen->has_box ? "pfx-ntb" : PICK(gen, ntbs), at,
            gen->has_box ? ", chip: box" : "");
        add_link_limits(gen);
        if (one_in(gen, 4)) {
            add(gen, ", set: {%s}", PICK(gen, changes));
        }
        add(gen, "}\n");
    }
}

static void add_hosts(Gen *gen)
{
    gen->n_hosts = 1 + below(gen, 3);
    gen->has_box = one_in(gen, 4);
    add(gen, "hosts:\n");
    for (unsigned i = 0; i < gen->n_hosts; i++) {
        unsigned n_switches = below(gen, 3), root_port = 0;
        const char *cpu = PICK(gen, cpus);

        add(gen, "  - name: h%u\n    cpu: %s\n    iommu: %s\n", i, cpu,
            one_in(gen, 2) ? "on" : "off");
        gen->has_tcp = strcmp(cpu, "generic-host") == 0;
        add_cpu_changes(gen, i);
        if (n_switches > 0) {
            add_switches(gen, n_switches, &root_port);
        }
        add_devices(gen, i, n_switches, &root_port, gen->n_hosts > 1);
    }
}

static void add_networks(Gen *gen)
{
    static const char *const more[] = {"",
                                       "",
                                       ", loss: 2%",
                                       ", buffer: 30kB",
                                       ", overhead: 104B",
                                       ", switch: off"};

    add(gen, "networks:\n");
    for (unsigned i = 0; i < 2; i++) {
        add(gen, "  - {name: net%u, latency: %uns%s}\n", i, below(gen, 9000),
            PICK(gen, more));
    }
}

/* Joins the hosts in a chain or a ring. */
static void add_links(Gen *gen)
{
    unsigned count = gen->n_hosts - 1;

    if (gen->n_hosts == 1 || gen->has_box) {
        return;
    }
    if (gen->n_hosts > 2 && one_in(gen, 2)) {
        count = gen->n_hosts;
    }
    add(gen, "links:\n");
    for (unsigned i = 0; i < count; i++) {
        add(gen, "  - {name: c%u, ends: [h%u.ntb, h%u.ntb]", i, i,
            (i + 1) % gen->n_hosts);
        if (one_in(gen, 4)) {
            add(gen, ", length: %um", 1 + below(gen, 100));
        }
        add(gen, "}\n");
    }
}

static void add_lends(Gen *gen)
{
    static const char *const windows[] = {"auto", "auto", "auto",  "auto",
                                          "auto", "4KiB", "64MiB", "32GiB"};

    if (gen->n_hosts == 1) {
        return;
    }
    add(gen, "lend:\n");
    for (unsigned i = 0; i < gen->devices->len; i++) {
        const char *device = gen->devices->pdata[i];
        unsigned to = below(gen, gen->n_hosts);

        if (one_in(gen, 3) && device[1] != '0' + (char)to) {
            add(gen, "  - {device: %s, to: h%u, window: %s, vm: %s}\n", device,
                to, PICK(gen, windows), one_in(gen, 30) ? "on" : "off");
        }
    }
    if (g_str_has_suffix(gen->text->str, "lend:\n")) {
        g_string_truncate(gen->text, gen->text->len - strlen("lend:\n"));
    }
}

/* ---- Faults ----------------------------------------------------------- */

/* Begins a fault at a time when flows run, or with a packet. */
static void add_begin(Gen *gen, bool dllps)
{
    static const char *const events[] = {"tlp",        "write",    "read",
                                         "completion", "doorbell", "dllp"};

    if (one_in(gen, 2)) {
        add(gen, ", at: %uns", below(gen, 30000));
    } else {
        add(gen, ", when: %s %u", events[below(gen, dllps ? 6 : 5)],
            1 + below(gen, 200));
    }
    if (one_in(gen, 4)) {
        add(gen, ", end: %s", one_in(gen, 2) ? "lower" : "upper");
    }
}

/* Lasts for a while or for ever, after which a link trains. */
static void add_while(Gen *gen)
{
    if (!one_in(gen, 4)) {
        add(gen, ", for: %uns, training: %uns", 1 + below(gen, 20000),
            1 + below(gen, 100000));
    }
}

static void add_fault(Gen *gen)
{
    unsigned kind = below(gen, 8);

    if (kind < 3) {
        add(gen, "link-down");
        add_begin(gen, false);
        add_while(gen);
    } else if (kind == 3) {
        add(gen, "degrade, %s",
            one_in(gen, 2) ? "speed: 2.5GT/s" : "width: x1");
        add_begin(gen, false);
        add_while(gen);
    } else if (kind == 4) {
        add(gen, "overflow, surplus: %u", 1 + below(gen, 8));
        if (one_in(gen, 2)) {
            add(gen, ", end: upper");
        }
    } else if (kind == 5) {
        add(gen, "bit-errors, rate: 1e-%u", 4 + below(gen, 4));
        add_begin(gen, true);
    } else if (kind == 6) {
        add(gen, "bit-errors, count: %u", 1 + below(gen, 9));
        add_begin(gen, true);
    } else {
        add(gen, "poison, %s", one_in(gen, 2) ? "count: 3" : "rate: 0.01");
        add_begin(gen, false);
    }
    add(gen, "}\n");
}

/* Faults of the links of devices, of every kind. */
static void add_faults(Gen *gen)
{
    unsigned count = one_in(gen, 3) ? 1 + below(gen, 3) : 0;

    if (count > 0) {
        add(gen, "faults:\n");
    }
    for (unsigned i = 0; i < count; i++) {
        add(gen, "  - {name: fault%u, target: %s, action: ", i,
            (const char *)gen->devices->pdata[below(gen, gen->devices->len)]);
        add_fault(gen);
    }
}

/* ---- Flows ------------------------------------------------------------ */

static const char *pick_name(Gen *gen, const GPtrArray *names)
{
    return names->pdata[below(gen, names->len)];
}

static char *make_target(Gen *gen)
{
    unsigned kind = below(gen, 5);

    if (kind < 3) {
        return g_strdup_printf("h%u.ram", below(gen, gen->n_hosts));
    }
    return g_strdup_printf("%s%s", pick_name(gen, gen->devices),
                           kind == 3 ? "" : ".bar0");
}

/* Like make_target(), but memory may be in one node. */
static char *make_memory(Gen *gen)
{
    g_autofree char *target = make_target(gen);
    bool has_nodes = gen->node_hosts >> (target[1] - '0') & 1;

    return has_nodes && strstr(target, ".ram") && one_in(gen, 2)
               ? g_strdup_printf("%s.node%u", target, below(gen, 2))
               : g_steal_pointer(&target);
}

static const char *pick_direction(Gen *gen)
{
    return one_in(gen, 2) ? "read" : "write";
}

static const char *pick_size(Gen *gen)
{
    static const char *const sizes[] = {"1B",   "4B",    "63B",   "256B",
                                        "4KiB", "5000B", "64KiB", "300KiB"};

    return PICK(gen, sizes);
}

static void add_via(Gen *gen)
{
    if (one_in(gen, 2)) {
        add(gen, ", via: h%u.ram", below(gen, gen->n_hosts));
    }
}

static void add_driver(Gen *gen)
{
    if (one_in(gen, 3)) {
        add(gen, ", driver: h%u", below(gen, gen->n_hosts));
    }
}

static void add_dma(Gen *gen)
{
    g_autofree char *target = make_memory(gen);
    const char *size = pick_size(gen);

    add(gen,
        "dma, device: %s, direction: %s, target: %s, size: %s, count: %u, "
        "outstanding: %u",
        pick_name(gen, gen->devices),
        one_in(gen, 6) ? "write-read" : pick_direction(gen), target, size,
        1 + below(gen, 8), below(gen, 3));
    if (one_in(gen, 3)) {
        add(gen, ", pattern: random, working_set: 512KiB");
    }
    if (strstr(target, ".ram") && one_in(gen, 4)) {
        add(gen, ", warm: on");
    }
    if (one_in(gen, 4)) {
        add(gen, ", arrivals: %s, interval: %uns",
            one_in(gen, 2) ? "periodic" : "poisson", 1 + below(gen, 3000));
    }
}

static void add_copy(Gen *gen)
{
    g_autofree char *buffer = make_memory(gen);

    add(gen,
        "copy, device: %s, direction: %s, buffer: %s, size: %s, copies: %u, "
        "queued: %s",
        pick_name(gen, gen->gpus), pick_direction(gen), buffer, pick_size(gen),
        1 + below(gen, 4), one_in(gen, 2) ? "on" : "off");
    add_driver(gen);
}

static void add_mmio(Gen *gen)
{
    g_autofree char *target = make_memory(gen);
    unsigned host = below(gen, gen->n_hosts);

    add(gen, "mmio, host: h%u, ", host);
    if (one_in(gen, 3)) {
        add(gen, "direction: write, target: h%u.ram, seen: on",
            below(gen, gen->n_hosts));
    } else {
        add(gen, "direction: %s, target: %s", pick_direction(gen), target);
    }
    add(gen, ", size: %uB, count: %u", 1u << below(gen, 7), 1 + below(gen, 20));
}

static void add_nvme(Gen *gen)
{
    static const char *const sizes[] = {"512B", "4KiB", "64KiB", "1MiB"};

    add(gen,
        "nvme, device: %s, direction: %s, size: %s, count: %u, depth: %u, "
        "entries: %u, completion: %s, pattern: %s",
        pick_name(gen, gen->drives), pick_direction(gen), PICK(gen, sizes),
        1 + below(gen, 6), 1 + below(gen, 6), 2 + below(gen, 8),
        one_in(gen, 2) ? "polling" : "interrupt",
        one_in(gen, 2) ? "random" : "sequential");
    if (one_in(gen, 2)) {
        g_autofree char *buffer = make_memory(gen);

        add(gen, ", buffer: %s", buffer);
    }
    if (one_in(gen, 3)) {
        static const char *const keys[] = {"sq", "cq", "prp_lists"};

        for (unsigned i = 0; i < G_N_ELEMENTS(keys); i++) {
            g_autofree char *place = make_memory(gen);

            if (one_in(gen, 2)) {
                add(gen, ", %s: %s", keys[i], place);
            }
        }
        /* A driver that polls across the fabric does so until the time-out. */
        add(gen, ", timeout: %uus", 1 + below(gen, 2000));
    } else if (one_in(gen, 3)) {
        add(gen, ", timeout: %uus", 1 + below(gen, 100));
    }
    add_driver(gen);
}

static void add_move(Gen *gen)
{
    g_autofree char *from = make_memory(gen);
    g_autofree char *to = make_memory(gen);

    add(gen,
        "move, device: %s, from: %s, to: %s, size: %s, count: %u, "
        "queued: %s",
        pick_name(gen, gen->movers), from, to, pick_size(gen),
        1 + below(gen, 4), one_in(gen, 2) ? "on" : "off");
}

static void add_threads(Gen *gen)
{
    static const char *const strides[] = {"", "", ", stride: 64B",
                                          ", stride: 192B", ", stride: 4KiB"};
    g_autofree char *target = make_memory(gen);
    bool is_gpu = gen->gpus->len > 0 && one_in(gen, 2);
    const char *direction = pick_direction(gen);

    if (is_gpu) {
        add(gen, "threads, by: %s", pick_name(gen, gen->gpus));
    } else {
        add(gen, "threads, by: h%u.cpu", below(gen, gen->n_hosts));
    }
    add(gen,
        ", target: %s, direction: %s, threads: %u, count: %u, "
        "access: %uB, pattern: %s%s",
        target, direction, 1 + below(gen, is_gpu ? 300 : 20),
        1 + below(gen, 20), 1u << below(gen, is_gpu ? 5 : 7),
        one_in(gen, 2) ? "random" : "sequential", PICK(gen, strides));
    if (is_gpu || direction[0] == 'r') {
        add(gen, ", outstanding: %u", 1 + below(gen, 6));
    }
    if (one_in(gen, 2)) {
        add(gen, ", working_set: 512KiB");
    }
}

static void add_tcp(Gen *gen)
{
    static const char *const mtus[] = {"576B", "1500B", "8244B", "9000B"};
    static const char *const more[] = {"",
                                       "",
                                       ", connections: 3",
                                       ", window: 32KiB",
                                       ", entries: 64",
                                       ", steered: off",
                                       ", ack_every: 1",
                                       ", page: 2KiB",
                                       ", chunk: 1000B"};
    static const char *const devmem[] = {", buffer: 8MiB",
                                         ", buffer: 64KiB",
                                         ", buffer: 1MiB, hold: 50us",
                                         ", buffer: 512KiB, tokens: 1",
                                         ", buffer: 1MiB, unsplit: 10%",
                                         ", buffer: 1MiB, owner_ends: 100us"};
    g_autofree char *device = make_target(gen);
    unsigned first = below(gen, gen->nics->len);
    unsigned second =
        (first + 1 + below(gen, gen->nics->len - 1)) % gen->nics->len;
    const char *from = gen->nics->pdata[first];
    const char *to = gen->nics->pdata[second];
    bool is_devmem = one_in(gen, 2);

    add(gen,
        "%s, from: %s, to: %s, device: %s, size: %s, count: %u, mtu: %s, "
        "completion: %s, rto: %uus%s%s",
        is_devmem ? "tcp-devmem" : "tcp-host", from, to,
        g_str_has_suffix(device, ".ram") ? pick_name(gen, gen->devices)
                                         : device,
        pick_size(gen), 1 + below(gen, 6), PICK(gen, mtus),
        one_in(gen, 2) ? "polling" : "interrupt", 100 + below(gen, 3000),
        PICK(gen, more), is_devmem ? PICK(gen, devmem) : "");
}

static void add_path(Gen *gen)
{
    g_autofree char *to = make_target(gen);

    if (one_in(gen, 3)) {
        add(gen, "path, from: h%u.cpu", below(gen, gen->n_hosts));
    } else {
        add(gen, "path, from: %s", pick_name(gen, gen->devices));
    }
    add(gen, ", to: %s", to);
    if (one_in(gen, 3)) {
        add(gen, ", direction: read, size: 64B");
    } else {
        add_via(gen);
    }
}

static void add_pair(Gen *gen, const char *kind)
{
    unsigned from = below(gen, gen->gpus->len);
    unsigned to = (from + 1 + below(gen, gen->gpus->len - 1)) % gen->gpus->len;

    add(gen, "%s, from: %s, to: %s", kind, (const char *)gen->gpus->pdata[from],
        (const char *)gen->gpus->pdata[to]);
    add_via(gen);
    if (strcmp(kind, "pingpong") == 0) {
        add(gen, ", count: %u", 1 + below(gen, 20));
    } else {
        add(gen, ", size: %s, copies: %u", pick_size(gen), 1 + below(gen, 3));
        add_driver(gen);
    }
}

/* Adds the flow @number. @is_path has a flag for each flow; flows of kind path
 * run alone, so they neither wait nor are waited for. */
static void add_flow(Gen *gen, unsigned number, bool *is_path)
{
    unsigned kind = below(gen, 12);

    add(gen, "    - {name: f%u, kind: ", number);
    if (kind > 7 && gen->nics->len > 1) {
        add_tcp(gen);
    } else if (kind == 0 && gen->drives->len > 0) {
        add_nvme(gen);
    } else if (kind == 1) {
        is_path[number] = true;
        add_path(gen);
    } else if (kind < 4 && gen->gpus->len > 1) {
        add_pair(gen, "pingpong");
    } else if (kind == 4 && gen->gpus->len > 1) {
        add_pair(gen, "transfer");
    } else if (kind == 5) {
        add_mmio(gen);
    } else if (kind == 6 && gen->gpus->len > 0) {
        add_copy(gen);
    } else if (kind == 7 && gen->movers->len > 0) {
        add_move(gen);
    } else if (one_in(gen, 4)) {
        add_threads(gen);
    } else if (one_in(gen, 6)) {
        add(gen, "compute, time: %uns", 1 + below(gen, 100000));
    } else {
        add_dma(gen);
    }
    if (one_in(gen, 4)) {
        add(gen, ", start: %uns", below(gen, 20000));
    }
    if (number > 0 && !is_path[number] && one_in(gen, 2)) {
        unsigned first = below(gen, number), second = below(gen, number);

        if (!is_path[first]) {
            add(gen, ", after: [f%u", first);
            if (second != first && !is_path[second] && one_in(gen, 2)) {
                add(gen, ", f%u", second);
            }
            add(gen, "]");
        }
    }
    add(gen, "}\n");
}

static void add_workload(Gen *gen)
{
    bool is_path[FLOWS_MOST] = {false};
    unsigned count = 1 + below(gen, FLOWS_MOST);

    add(gen, "workload:\n  seed: %u\n", below(gen, 1000));
    if (one_in(gen, 4)) {
        add(gen, "  warmup: %uns\n", below(gen, 5000));
    }
    if (one_in(gen, 4)) {
        add(gen, "  stop: %uus\n", 6 + below(gen, 500));
    }
    if (one_in(gen, 8)) {
        add(gen, "  completion_timeout: %uus\n", 50 + below(gen, 1000));
    }
    add(gen, "  flows:\n");
    for (unsigned i = 0; i < count; i++) {
        add_flow(gen, i, is_path);
    }
    add(gen, "measure:\n  columns:\n"
             "    - {name: tlp_hops, from: fabric.tlp_hops}\n"
             "    - {name: unsupported, from: fabric.unsupported}\n"
             "    - {name: ram, from: element.h0.memory_written_bytes}\n");
}

/* Returns the description with the number @seed. The caller frees it. */
static char *generate(guint32 seed)
{
    Gen gen = {
        .rand = g_rand_new_with_seed(seed),
        .text = g_string_new(NULL),
        .devices = g_ptr_array_new_with_free_func(g_free),
        .gpus = g_ptr_array_new(),
        .drives = g_ptr_array_new(),
        .nics = g_ptr_array_new(),
        .movers = g_ptr_array_new(),
    };

    add(&gen, "# seed %u\nname: random\n", seed);
    add_hosts(&gen);
    add_networks(&gen);
    add_links(&gen);
    add_lends(&gen);
    add_faults(&gen);
    add_workload(&gen);
    g_rand_free(gen.rand);
    g_ptr_array_unref(gen.gpus);
    g_ptr_array_unref(gen.drives);
    g_ptr_array_unref(gen.nics);
    g_ptr_array_unref(gen.movers);
    g_ptr_array_unref(gen.devices);
    return g_string_free(gen.text, FALSE);
}

/* ---- Running ----------------------------------------------------------- */

/* The numbers of descriptions, by what became of them. */
typedef struct Counts {
    unsigned long refused, ended, stuck;
} Counts;

static volatile sig_atomic_t seed_now;

static void on_alarm(int signal)
{
    static const char text[] = "fuzz_run: a description does not end; its seed "
                               "is the one that the last line names\n";
    ssize_t ignored = write(STDERR_FILENO, text, sizeof(text) - 1);

    (void)ignored;
    abort();
}

static void on_abort(int signal)
{
    char text[64];
    int length =
        g_snprintf(text, sizeof(text), "fuzz_run: seed %d\n", (int)seed_now);
    ssize_t ignored = write(STDERR_FILENO, text, (size_t)length);

    (void)ignored;
}

static bool fail(guint32 seed, const char *what, const char *message)
{
    printf("# seed %u: %s: %s\n", seed, what, message);
    return false;
}

/* Returns true if @message is a sentence for the user. */
static bool is_in_words(const char *message)
{
    return strlen(message) > 10 && strchr(message, ' ') &&
           !strstr(message, "(null)");
}

/* Checks and runs the description in @path. Returns false if it breaks the
 * invariant. */
static bool try_one(guint32 seed, const char *path, Counts *counts)
{
    g_autoptr(TopoErrors) errors = topo_errors_new();
    g_autoptr(TopoDescription) description = topo_load(path, NULL, errors);
    g_autoptr(GError) error = NULL;
    g_autoptr(Table) table = NULL;
    ExpPlanOptions options = {.threads = 1};

    if (!description) {
        g_autofree char *text = topo_errors_to_string(errors);

        counts->refused++;
        return is_in_words(text) || fail(seed, "check", text);
    }
    if (!exp_plan_check(description, &error)) {
        counts->refused++;
        return is_in_words(error->message) ||
               fail(seed, "check", error->message);
    }
    table = exp_plan_run(description, &options, NULL, &error);
    if (table) {
        counts->ended++;
        return true;
    }
    counts->stuck++;
    /* The points are made by the same functions as in the check, so only the
     * simulation itself can fail now. */
    if (!strstr(error->message, "stuck")) {
        return fail(seed, "accepted by check, refused by run", error->message);
    }
    return is_in_words(error->message) || fail(seed, "run", error->message);
}

typedef struct Options {
    gint64 from, count;
    char *state;
    gboolean print;
} Options;

static gint64 read_state(const Options *options)
{
    g_autofree char *text = NULL;
    guint64 seed;

    if (options->state &&
        g_file_get_contents(options->state, &text, NULL, NULL) &&
        g_ascii_string_to_unsigned(g_strstrip(text), 10, 1, G_MAXUINT32, &seed,
                                   NULL)) {
        return (gint64)seed;
    }
    return options->from;
}

static void write_state(const Options *options, gint64 next)
{
    if (options->state) {
        g_autofree char *text = g_strdup_printf("%" G_GINT64_FORMAT "\n", next);

        g_file_set_contents(options->state, text, -1, NULL);
    }
}

static bool run_all(const Options *options, const char *path)
{
    gint64 end = options->from + options->count;
    Counts counts = {0};

    for (gint64 i = read_state(options); i < end; i++) {
        g_autofree char *text = generate((guint32)i);

        seed_now = (sig_atomic_t)i;
        if (options->print) {
            fputs(text, stdout);
            continue;
        }
        if (!g_file_set_contents(path, text, -1, NULL)) {
            return fail((guint32)i, "cannot write", path);
        }
        alarm(SECONDS_MOST);
        if (!try_one((guint32)i, path, &counts)) {
            return false;
        }
        alarm(0);
        if ((i + 1) % SAVE_EVERY == 0 || i + 1 == end) {
            write_state(options, i + 1);
        }
    }
    printf("# %lu refused by check, %lu ended, %lu reported as stuck\n",
           counts.refused, counts.ended, counts.stuck);
    /* If nearly all descriptions were refused, this would test nothing. */
    return options->print || options->count < TEST_SEEDS ||
           counts.ended + counts.stuck > counts.refused / 3 ||
           fail(0, "too few descriptions are accepted", "");
}

int main(int argc, char **argv)
{
    Options options = {.from = 1, .count = TEST_SEEDS};
    const GOptionEntry entries[] = {
        {"from", 0, 0, G_OPTION_ARG_INT64, &options.from, "First seed", "SEED"},
        {"count", 0, 0, G_OPTION_ARG_INT64, &options.count,
         "Number of descriptions", "N"},
        {"state", 0, 0, G_OPTION_ARG_FILENAME, &options.state,
         "Go on at the seed in FILE", "FILE"},
        {"print", 0, 0, G_OPTION_ARG_NONE, &options.print,
         "Print the descriptions", NULL},
        G_OPTION_ENTRY_NULL,
    };
    g_autoptr(GOptionContext) context = g_option_context_new(NULL);
    g_autofree char *folder = g_dir_make_tmp("fuzz-run-XXXXXX", NULL);
    g_autofree char *path = g_build_filename(folder, "random.yaml", NULL);
    bool is_good;

    g_option_context_add_main_entries(context, entries, NULL);
    if (!g_option_context_parse(context, &argc, &argv, NULL)) {
        return 2;
    }
    signal(SIGALRM, on_alarm);
    signal(SIGABRT, on_abort);
    is_good = run_all(&options, path);
    if (!options.print) {
        printf(
            "%s 1 - what check accepts, run ends or reports in words\n1..1\n",
            is_good ? "ok" : "not ok");
    }
    g_unlink(path);
    g_rmdir(folder);
    return is_good ? 0 : 1;
}
