/* SPDX-License-Identifier: MIT */
/* The hosts of random descriptions, their devices, and what joins them. */
#include <string.h>

#include "fuzz_gen.h"

static const char *const cpus[] = {"generic-host", "generic-host",
                                   "generic-host", "xeon-e5-2603-v4",
                                   "xeon-e5-1650-v4"};
static const char *const switches[] = {"generic-switch", "pex8747", "pex8733",
                                       "pex8796"};
static const char *const ntbs[] = {"generic-ntb", "pxh830"};
static const char *const gpus[] = {"quadro-k420", "tesla-k40c"};
static const char *const drives[] = {"optane-900p", "p4800x"};
static const char *const nics[] = {"connectx-5", "connectx-6", "connectx-7"};

static void add_link_limits(Gen *gen)
{
    static const char *const speeds[] = {"2.5GT/s", "5.0GT/s"};
    static const char *const widths[] = {"x1", "x2", "x4"};

    if (gen_one_in(gen, 4)) {
        gen_add(gen, ", speed: %s", PICK(gen, speeds));
    }
    if (gen_one_in(gen, 4)) {
        gen_add(gen, ", width: %s", PICK(gen, widths));
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
        "dma.move_bus: {beat: 16B, clock: 2ns, gap: 3}",
        "service: {beat: 16B, clock: 4ns, gap: 1}",
        "buffers.collect: 4KiB",
        "buffers.replay: 2KiB",
        "ats.entries: 1, ats.requests: 1, ats.writes: 1",
        "ats: {entries: 32, ways: 4, hit: 20ns, requests: 4}",
        "ats: {entries: 2048, invalidate: 300ns}, relaxed_ordering: on",
        "dma.queue: 64",
        "speed: 64.0GT/s, tags: 15360",
        "speed: 64.0GT/s, fec: 0ps",
    };

    if (gen_one_in(gen, 3)) {
        gen_add(gen, ", set: {%s}", PICK(gen, changes));
    }
}

static void add_drive_changes(Gen *gen)
{
    static const char *const changes[] = {
        "nvme: {commands: 1, max_transfer: 4KiB}",
        "nvme: {read_ahead: on, serial: on}",
        "nvme: {block: 4KiB, jitter: 3us}",
        "nvme: {read_bandwidth: 1MB/s, write_bandwidth: 1MB/s}",
    };

    if (gen_one_in(gen, 3)) {
        gen_add(gen, ", set: {%s}", PICK(gen, changes));
    } else {
        add_device_changes(gen);
    }
}

static void add_mover_changes(Gen *gen)
{
    static const char *const changes[] = {
        "move: {copy: 1GB/s, copy_below: 8KiB}",
        "move: {setup: 0ps, chunk: 64B, buffer: 64B}",
        "move.setup: 20us",
    };

    if (gen_one_in(gen, 3)) {
        gen_add(gen, ", set: {%s}", PICK(gen, changes));
    } else {
        add_device_changes(gen);
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
        "copy: {floor_write: 20us, floor_read: 20us}",
        "transfer.cpu_ram: 3us",
        "mmu: {entries: 4, l2_entries: 16, l2_hit: 90ns, walk: 500ns}",
        "mmu: {entries: 1, page: 4KiB, walk: 1us, walks: 1}",
        "threads.latency: 700ns",
        "poll.period: 100ns",
    };

    if (gen_one_in(gen, 2)) {
        gen_add(gen, ", set: {%s}", PICK(gen, changes));
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
        "nic: {tx_descriptor: 64B, tx_completion: 4B}",
        "nic.on_demand: on",
        "nic.flush: on",
    };

    if (gen_one_in(gen, 3)) {
        gen_add(gen, ", set: {%s}", PICK(gen, changes));
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
        ", nodes: {acknowledge: 500ns, passes: 5}",
        ", nodes: {bandwidth: 1GB/s, writes: 64B, acknowledge: 2us}",
        ", nodes: {latency: 90ns, bandwidth: 5GB/s, shares: nodes}",
    };

    gen->node_hosts |= 1u << host;
    gen_add(gen, "    set: {root_ports: [");
    for (unsigned i = 0; i < 4; i++) {
        gen_add(gen, "%s{name: rp%u, speed: 8.0GT/s, width: x16, node: %u}",
                i > 0 ? ", " : "", i, i % 2);
    }
    gen_add(gen, "]%s}\n", PICK(gen, limits));
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
        "iommu.walks: 2, iommu.in_order: on",
        "iommu.in_order: on, iommu.replay: 40ns, iommu.l2_entries: 128",
        "iommu.walks: 2, iommu.walk_read: 70ns, iommu.cache_4k: 2",
        "iommu.walk_read: 1us, iommu.cache_2m: 1, iommu.cache_1g: 1",
        "iommu.page: 1GiB, iommu.mixed: on",
        "iommu.loan_domains: on",
        "mps_policy: safe",
        "mps_policy: peer2peer, id_ordering: on",
        "iommu.page: 2MiB, iommu.mixed: on, iommu.walk_read: 50ns",
        "iommu.ats: on",
        "iommu.ats: on, iommu.loan_domains: on, iommu.hit: 10ns",
        "iommu.ats: on, iommu.page: 1GiB, iommu.mixed: on",
        "iommu.l2_entries: 2, iommu.l2_hit: 30ns, iommu.iotlb_entries: 1",
        "iommu.iotlb_of: port, iommu.l2_entries: 64, iommu.l2_ways: 4",
        "iommu: {ats: on, map: 90ns, unmap: 50ns, invalidate: 700ns}",
        "iommu: {lazy: on, flush_queue: 3, flush_time: 5us, ats: on}",
        "iommu: {unmap: 1us, lazy: on, flush_queue: 1, iotlb_of: port}",
        "core.mmio_reads: 1",
        "core.interrupt: 0ps",
        "core.poll: 100ns",
        "buffers.ph: 1",
        "buffers.cpld: 32",
        "completion_size: 64B",
        "mmio.low_size: 16MiB",
        "p2p: writes",
        "p2p: none, p2p_refused: ca",
        "transit: 0ps, write_split: 64B, write_piece: 30ns",
        "memory: {ordered_writes: 4KiB, ordered_time: 2us}",
        "memory: {ordered_writes: 1B, ordered_time: 100ns}",
        "core: {mmio_write: 0ps, combine: 5ns}",
        "tcp: {ack: 0ps, call: 20us}",
        "root_ports: [{name: rp0, speed: 64.0GT/s, width: x16}, {name: rp1, "
        "speed: 64.0GT/s, width: x4}, {name: rp2, speed: 64.0GT/s, width: "
        "x8}, {name: rp3, speed: 32.0GT/s, width: x16}]",
        "mmio: {low_base: 0xc0000000, low_size: 512MiB}",
        "mmio: {high_base: 0x4000000000, high_size: 64GiB}",
        "memory.cache: {size: 64KiB, latency: 1ns, ways: 16, io_ways: 2}",
        "memory.cache: {size: 4KiB, latency: 0ps, ways: 1, io_ways: 0}",
    };

    if (gen_one_in(gen, 3)) {
        gen_add(gen, "    set: {%s}\n", PICK(gen, changes));
    } else if (gen_one_in(gen, 3)) {
        add_nodes(gen, host);
    }
}

/* Returns a place to plug something in: a root port or a switch. */
static char *make_place(Gen *gen, unsigned n_switches, unsigned *root_port)
{
    if (n_switches > 0 && (gen_one_in(gen, 2) || *root_port > 2)) {
        return g_strdup_printf("sw%u", gen_below(gen, n_switches));
    }
    return g_strdup_printf("rp%u", (*root_port)++);
}

static void add_switches(Gen *gen, unsigned count, unsigned *root_port)
{
    static const char *const acs[] = {"auto", "on", "off"};
    static const char *const direct[] = {"off", "requests", "on"};
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
    bool has_chip = count > 1 && gen_one_in(gen, 3);
    const char *chip_part = PICK(gen, switches);

    gen->table_switches = 0;
    gen_add(gen, "    switches:\n");
    for (unsigned i = 0; i < count; i++) {
        /* A partition cannot be below another one of its chip. */
        bool is_first = has_chip && !gen_one_in(gen, 10);
        g_autofree char *at = make_place(gen, is_first ? 0 : i, root_port);

        gen_add(gen, "      - {name: sw%u, part: %s, at: %s", i,
                has_chip ? chip_part : PICK(gen, switches), at);
        add_link_limits(gen);
        if (gen_one_in(gen, 3)) {
            gen_add(gen, ", acs: %s", PICK(gen, acs));
        }
        if (gen_one_in(gen, 6)) {
            gen_add(gen, ", acs_direct: %s", PICK(gen, direct));
        }
        if (has_chip) {
            gen_add(gen, ", chip: box");
        }
        if (gen_one_in(gen, 4)) {
            gen->table_switches |= 1u << i;
            gen_add(gen, ", uplink_share: %u", 1 + gen_below(gen, 256));
            gen_add(gen, ", set: {arbitration: port-table, phases: %u}",
                    32u << gen_below(gen, 4));
        } else if (gen_one_in(gen, 4)) {
            gen_add(gen, ", set: {%s}", PICK(gen, changes));
        }
        gen_add(gen, "}\n");
    }
}

/* Gives a device below a switch with a table a share of it. */
static void add_share(Gen *gen, const char *at)
{
    if (at[0] == 's' && gen->table_switches >> (at[2] - '0') & 1 &&
        gen_one_in(gen, 2)) {
        gen_add(gen, ", share: %u", 1 + gen_below(gen, 256));
    }
}

static void add_devices(Gen *gen, unsigned host, unsigned n_switches,
                        unsigned *root_port, bool has_ntb)
{
    unsigned count = 1 + gen_below(gen, 3);

    gen_add(gen, "    devices:\n");
    for (unsigned i = 0; i < count; i++) {
        g_autofree char *at = make_place(gen, n_switches, root_port);
        unsigned kind = gen_below(gen, 6);
        bool moves = kind == 3 && gen_one_in(gen, 2);
        const char *part = kind < 2    ? PICK(gen, gpus)
                           : kind == 2 ? PICK(gen, drives)
                           : moves     ? "mxh930-dma"
                           : kind == 3 ? "generic-device"
                                       : PICK(gen, nics);
        char *path = g_strdup_printf("h%u.d%u", host, i);

        gen_add(gen, "      - {name: d%u, part: %s, at: %s", i, part, at);
        add_link_limits(gen);
        add_share(gen, at);
        if (kind < 2) {
            add_gpu_changes(gen);
            g_ptr_array_add(gen->gpus, path);
        } else if (kind > 3) {
            unsigned net = gen_one_in(gen, 8);

            gen_add(gen, ", fabrics: [net%u]", net);
            add_nic_changes(gen);
            if ((net == 0 && gen->has_tcp) || gen_one_in(gen, 10)) {
                g_ptr_array_add(gen->nics, path);
            }
        } else if (kind == 2) {
            add_drive_changes(gen);
            g_ptr_array_add(gen->drives, path);
        } else if (moves) {
            add_mover_changes(gen);
            g_ptr_array_add(gen->movers, path);
        } else {
            add_device_changes(gen);
        }
        g_ptr_array_add(gen->devices, path);
        gen_add(gen, "}\n");
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

        gen_add(gen, "      - {name: ntb, part: %s, at: %s%s",
                gen->has_box ? "pfx-ntb" : PICK(gen, ntbs), at,
                gen->has_box ? ", chip: box" : "");
        add_link_limits(gen);
        if (gen_one_in(gen, 4)) {
            gen_add(gen, ", set: {%s}", PICK(gen, changes));
        }
        gen_add(gen, "}\n");
    }
}

static void add_each_host(Gen *gen)
{
    gen->n_hosts = 1 + gen_below(gen, 3);
    gen->has_box = gen_one_in(gen, 4);
    gen_add(gen, "hosts:\n");
    for (unsigned i = 0; i < gen->n_hosts; i++) {
        unsigned n_switches = gen_below(gen, 3), root_port = 0;
        const char *cpu = PICK(gen, cpus);

        gen_add(gen, "  - name: h%u\n    cpu: %s\n    iommu: %s\n", i, cpu,
                gen_one_in(gen, 2) ? "on" : "off");
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
    static const char *const more[] = {", loss: 2%", ", buffer: 30kB",
                                       ", overhead: 104B", ", loss: 20%"};

    gen_add(gen, "networks:\n");
    for (unsigned i = 0; i < 2; i++) {
        gen_add(gen, "  - {name: net%u, latency: %uns", i,
                gen_below(gen, 9000));
        gen_add(gen, "%s", gen_one_in(gen, 2) ? PICK(gen, more) : "");
        gen_add(gen, "%s}\n", gen_one_in(gen, 20) ? ", switch: off" : "");
    }
}

/* Joins the hosts in a chain or a ring. */
static void add_links(Gen *gen)
{
    unsigned count = gen->n_hosts - 1;

    if (gen->n_hosts == 1 || gen->has_box) {
        return;
    }
    if (gen->n_hosts > 2 && gen_one_in(gen, 2)) {
        count = gen->n_hosts;
    }
    gen_add(gen, "links:\n");
    for (unsigned i = 0; i < count; i++) {
        gen_add(gen, "  - {name: c%u, ends: [h%u.ntb, h%u.ntb]", i, i,
                (i + 1) % gen->n_hosts);
        if (gen_one_in(gen, 4)) {
            gen_add(gen, ", length: %um", 1 + gen_below(gen, 100));
        }
        gen_add(gen, "}\n");
    }
}

static void add_lends(Gen *gen)
{
    static const char *const windows[] = {"4KiB", "64MiB", "32GiB"};

    if (gen->n_hosts == 1) {
        return;
    }
    gen_add(gen, "lend:\n");
    for (unsigned i = 0; i < gen->devices->len; i++) {
        const char *device = gen->devices->pdata[i];
        unsigned to = gen_below(gen, gen->n_hosts);

        if (gen_one_in(gen, 4) && device[1] != '0' + (char)to) {
            gen_add(gen, "  - {device: %s, to: h%u, window: %s", device, to,
                    gen_one_in(gen, 8) ? PICK(gen, windows) : "auto");
            gen_add(gen, ", vm: %s}\n", gen_one_in(gen, 30) ? "on" : "off");
            g_hash_table_insert(gen->lent, (char *)device,
                                GUINT_TO_POINTER(to + 1));
            /* TCP runs in the host that a NIC belongs to. */
            if (!gen_one_in(gen, 12)) {
                g_ptr_array_remove(gen->nics, (char *)device);
            }
        }
    }
    if (g_str_has_suffix(gen->text->str, "lend:\n")) {
        g_string_truncate(gen->text, gen->text->len - strlen("lend:\n"));
    }
}

void gen_add_hosts(Gen *gen)
{
    add_each_host(gen);
    add_networks(gen);
    add_links(gen);
    add_lends(gen);
}
