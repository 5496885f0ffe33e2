/* SPDX-License-Identifier: MIT */
/* The flows of random descriptions. */
#include <string.h>

#include "fuzz_gen.h"

#define FLOWS_MOST 5

static const char *pick_name(Gen *gen, const GPtrArray *names)
{
    return names->pdata[gen_below(gen, names->len)];
}

static char *make_target(Gen *gen)
{
    unsigned kind = gen_below(gen, 5);

    if (kind < 3) {
        return g_strdup_printf("h%u.ram", gen_below(gen, gen->n_hosts));
    }
    return g_strdup_printf("%s%s", pick_name(gen, gen->devices),
                           kind == 3 ? "" : ".bar0");
}

/* Returns the host that uses @device: the one that has or borrows it. */
static unsigned user_of(const Gen *gen, const char *device)
{
    unsigned borrower =
        GPOINTER_TO_UINT(g_hash_table_lookup(gen->lent, device));

    return borrower ? borrower - 1 : (unsigned)(device[1] - '0');
}

/* Like make_target(), for @device (nullable). Memory may be in one node. That
 * of other hosts than the borrower is mostly refused to a lent device. */
static char *make_memory(Gen *gen, const char *device)
{
    g_autofree char *target = make_target(gen);
    bool has_nodes;

    if (device && g_hash_table_contains(gen->lent, device) &&
        !gen_one_in(gen, 6)) {
        g_free(target);
        target = g_strdup_printf("h%u.ram", user_of(gen, device));
    }
    has_nodes = gen->node_hosts >> (target[1] - '0') & 1;

    return has_nodes && strstr(target, ".ram") && gen_one_in(gen, 2)
               ? g_strdup_printf("%s.node%u", target, gen_below(gen, 2))
               : g_steal_pointer(&target);
}

static const char *pick_direction(Gen *gen)
{
    return gen_one_in(gen, 2) ? "read" : "write";
}

static const char *pick_switch(Gen *gen)
{
    return gen_one_in(gen, 2) ? "on" : "off";
}

static const char *pick_completion(Gen *gen)
{
    return gen_one_in(gen, 2) ? "polling" : "interrupt";
}

static const char *pick_pattern(Gen *gen)
{
    return gen_one_in(gen, 2) ? "random" : "sequential";
}

/* Most sizes are small: what goes wrong does so in the first few TLPs, or when
 * a buffer or a window has come to its end, for which some sizes are large. */
static const char *pick_size(Gen *gen)
{
    static const char *const sizes[] = {"1B",   "4B",   "63B",   "256B",
                                        "600B", "4KiB", "5000B", "4KiB"};
    static const char *const large[] = {"17000B", "64KiB", "64KiB", "300KiB"};

    return gen_one_in(gen, 12) ? PICK(gen, large) : PICK(gen, sizes);
}

/* Adds memory on the way to @to. Memory does not send on to itself. */
static void add_via(Gen *gen, const char *to)
{
    g_autofree char *via =
        g_strdup_printf("h%u.ram", gen_below(gen, gen->n_hosts));

    if (gen_one_in(gen, 2) && (strcmp(via, to) != 0 || gen_one_in(gen, 12))) {
        gen_add(gen, ", via: %s", via);
    }
}

/* Names the driver of @device: mostly the host that uses it. */
static void add_driver(Gen *gen, const char *device)
{
    if (gen_one_in(gen, 12)) {
        gen_add(gen, ", driver: h%u", gen_below(gen, gen->n_hosts));
    } else if (gen_one_in(gen, 3)) {
        gen_add(gen, ", driver: h%u", user_of(gen, device));
    }
}

/* Adds the pair [@from, @to]. */
static void add_pair(Gen *gen, const char *from, const char *to)
{
    gen_add(gen, "[%s, %s]", from, to);
}

/* Adds the ends of a flow, or of a list of flows: some of its pairs have an end
 * in common. Senders are of @senders; receivers are GPUs, or memory of any
 * kind if @has_memory. */
static void add_ends(Gen *gen, const char *from_key, const char *from,
                     const GPtrArray *senders, const char *to_key,
                     const char *to, bool has_memory)
{
    static const char *const rules[] = {"both", "ready", "ready",
                                        "from", "ends",  "none"};
    unsigned count;

    if (!gen_one_in(gen, 4)) {
        gen_add(gen, ", %s: %s, %s: %s", from_key, from, to_key, to);
        return;
    }
    gen_add(gen, ", pairs: [");
    add_pair(gen, from, to);
    count = gen_below(gen, 4);
    for (unsigned i = 0; i < count; i++) {
        const char *sender =
            gen_one_in(gen, 3) ? from : pick_name(gen, senders);
        g_autofree char *receiver = gen_one_in(gen, 2) ? g_strdup(to)
                                    : has_memory
                                        ? make_memory(gen, sender)
                                        : g_strdup(pick_name(gen, gen->gpus));

        if (strcmp(sender, receiver) != 0) {
            gen_add(gen, ", ");
            add_pair(gen, sender, receiver);
        }
    }
    gen_add(gen, "], in_turn: %s", PICK(gen, rules));
    gen_add(gen, ", iterations: %u", 1 + gen_below(gen, 3));
}

static void add_dma(Gen *gen)
{
    const char *device = pick_name(gen, gen->devices);
    g_autofree char *target = make_memory(gen, device);
    const char *size = pick_size(gen);
    bool maps = gen_one_in(gen, 6);

    if (maps) { /* the RAM of the device's own host */
        g_free(target);
        target = g_strdup_printf("h%c.ram", device[1]);
    }
    gen_add(gen, "dma, direction: %s, size: %s",
            gen_one_in(gen, 6) ? "write-read" : pick_direction(gen), size);
    add_ends(gen, "device", device, gen->devices, "target", target, true);
    if (strcmp(size, "4KiB") == 0 && gen_one_in(gen, 4)) {
        gen_add(gen, ", total: 64KiB");
    } else {
        gen_add(gen, ", count: %u", 1 + gen_below(gen, 8));
    }
    gen_add(gen, ", outstanding: %u%s", gen_below(gen, 3),
            maps ? ", mapping: each" : "");
    if (gen_one_in(gen, 3)) {
        gen_add(gen, ", pattern: random, working_set: %s",
                gen_one_in(gen, 4) ? "512KiB" : "16KiB");
    }
    if (strstr(target, ".ram") && gen_one_in(gen, 4)) {
        gen_add(gen, ", warm: on");
    }
    if (gen_one_in(gen, 4)) {
        gen_add(gen, ", arrivals: %s",
                gen_one_in(gen, 2) ? "periodic" : "poisson");
        gen_add(gen, ", interval: %uns", 1 + gen_below(gen, 3000));
    }
}

static void add_copy(Gen *gen)
{
    const char *device = pick_name(gen, gen->gpus);
    g_autofree char *buffer = make_memory(gen, device);

    gen_add(gen, "copy, direction: %s", pick_direction(gen));
    add_ends(gen, "device", device, gen->gpus, "buffer", buffer, true);
    gen_add(gen, ", size: %s", pick_size(gen));
    gen_add(gen, ", copies: %u", 1 + gen_below(gen, 4));
    gen_add(gen, ", queued: %s", pick_switch(gen));
    add_driver(gen, device);
}

static void add_mmio(Gen *gen)
{
    g_autofree char *target = make_memory(gen, NULL);
    g_autofree char *device = g_strndup(target, strcspn(target, ".") + 3);
    unsigned host = gen_below(gen, gen->n_hosts);

    if (g_hash_table_contains(gen->lent, device) && !gen_one_in(gen, 8)) {
        host = user_of(gen, device);
    }
    gen_add(gen, "mmio, host: h%u, ", host);
    if (gen_one_in(gen, 3)) {
        gen_add(gen, "direction: write, target: h%u.ram, seen: %s",
                gen_below(gen, gen->n_hosts),
                gen_one_in(gen, 4) ? "interrupt" : "on");
    } else {
        gen_add(gen, "direction: %s, target: %s", pick_direction(gen), target);
    }
    gen_add(gen, ", size: %uB",
            1u << gen_below(gen, gen_one_in(gen, 16) ? 13 : 7));
    gen_add(gen, ", count: %u", 1 + gen_below(gen, 20));
    if (gen_one_in(gen, 4)) {
        gen_add(gen, ", between: %uns", gen_below(gen, 500));
    }
}

static void add_nvme(Gen *gen)
{
    static const char *const sizes[] = {"512B", "4KiB", "4KiB", "12KiB"};
    static const char *const large[] = {"64KiB", "64KiB", "64KiB", "1MiB"};
    const char *device = pick_name(gen, gen->drives);

    gen_add(gen, "nvme, device: %s, direction: %s", device,
            pick_direction(gen));
    gen_add(gen, ", size: %s",
            gen_one_in(gen, 8) ? PICK(gen, large) : PICK(gen, sizes));
    gen_add(gen, ", count: %u", 1 + gen_below(gen, 6));
    gen_add(gen, ", depth: %u", 1 + gen_below(gen, 6));
    gen_add(gen, ", entries: %u", 2 + gen_below(gen, 8));
    gen_add(gen, ", completion: %s", pick_completion(gen));
    gen_add(gen, ", pattern: %s", pick_pattern(gen));
    if (gen_one_in(gen, 2)) {
        g_autofree char *buffer = make_memory(gen, device);

        gen_add(gen, ", buffer: %s", buffer);
    }
    if (gen_one_in(gen, 3)) {
        static const char *const keys[] = {"sq", "cq", "prp_lists"};

        for (unsigned i = 0; i < G_N_ELEMENTS(keys); i++) {
            g_autofree char *place = make_memory(gen, device);

            if (gen_one_in(gen, 2)) {
                gen_add(gen, ", %s: %s", keys[i], place);
            }
        }
        /* A driver that polls across the fabric does so until the time-out. */
        gen_add(gen, ", timeout: %uus", 1 + gen_below(gen, 2000));
    } else if (gen->gpus->len > 0 && gen_one_in(gen, 4)) {
        gen_add(gen, ", by: %s", pick_name(gen, gen->gpus));
        gen_add(gen, ", pause: %uns", gen_below(gen, 3000));
    } else if (gen_one_in(gen, 3)) {
        gen_add(gen, ", timeout: %uus", 1 + gen_below(gen, 100));
    } else if (gen_one_in(gen, 4)) {
        gen_add(gen, ", shadow_doorbells: on");
    } else if (gen_one_in(gen, 4)) {
        gen_add(gen, ", mapping: each");
    }
    add_driver(gen, device);
}

static void add_move(Gen *gen)
{
    const char *device = pick_name(gen, gen->movers);
    g_autofree char *from = make_memory(gen, device);
    g_autofree char *to = make_memory(gen, device);

    gen_add(gen, "move, device: %s, size: %s", device, pick_size(gen));
    add_ends(gen, "from", from, gen->devices, "to", to, true);
    gen_add(gen, ", count: %u", 1 + gen_below(gen, 4));
    gen_add(gen, ", queued: %s", pick_switch(gen));
}

static void add_threads(Gen *gen)
{
    static const char *const strides[] = {"", "", ", stride: 64B",
                                          ", stride: 192B", ", stride: 4KiB"};
    bool is_gpu = gen->gpus->len > 0 && gen_one_in(gen, 2);
    const char *gpu = is_gpu ? pick_name(gen, gen->gpus) : NULL;
    g_autofree char *target = make_memory(gen, gpu);
    const char *direction = pick_direction(gen);

    if (is_gpu) {
        gen_add(gen, "threads, by: %s", gpu);
    } else {
        gen_add(gen, "threads, by: h%u.cpu", gen_below(gen, gen->n_hosts));
    }
    gen_add(gen, ", target: %s, direction: %s, threads: %u", target, direction,
            1 + gen_below(gen, is_gpu ? 300 : 20));
    gen_add(gen, ", count: %u", 1 + gen_below(gen, 20));
    gen_add(gen, ", access: %uB", 1u << gen_below(gen, is_gpu ? 5 : 7));
    gen_add(gen, ", pattern: %s", pick_pattern(gen));
    gen_add(gen, "%s", PICK(gen, strides));
    if (is_gpu || direction[0] == 'r') {
        gen_add(gen, ", outstanding: %u", 1 + gen_below(gen, 6));
    }
    if (gen_one_in(gen, 2)) {
        gen_add(gen, ", working_set: %s",
                gen_one_in(gen, 4) ? "512KiB" : "16KiB");
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
                                       ", chunk: 1000B",
                                       ", from_port: 1",
                                       ", to_port: 1",
                                       ", headers: 128B",
                                       ", refill: 1",
                                       ", entries: 64, refill: 16"};
    static const char *const devmem[] = {", buffer: 8MiB",
                                         ", buffer: 64KiB",
                                         ", buffer: 1MiB, hold: 50us",
                                         ", buffer: 512KiB, tokens: 1",
                                         ", buffer: 1MiB, unsplit: 10%",
                                         ", buffer: 1MiB, owner_ends: 100us"};
    g_autofree char *device = make_target(gen);
    unsigned first = gen_below(gen, gen->nics->len);
    unsigned second =
        (first + 1 + gen_below(gen, gen->nics->len - 1)) % gen->nics->len;
    const char *from = gen->nics->pdata[first];
    const char *to = gen->nics->pdata[second];
    bool is_devmem = gen_one_in(gen, 2);

    gen_add(gen, "%s, from: %s, to: %s, device: %s",
            is_devmem ? "tcp-devmem" : "tcp-host", from, to,
            g_str_has_suffix(device, ".ram") ? pick_name(gen, gen->devices)
                                             : device);
    gen_add(gen, ", size: %s", pick_size(gen));
    gen_add(gen, ", count: %u", 1 + gen_below(gen, 6));
    gen_add(gen, ", mtu: %s", PICK(gen, mtus));
    gen_add(gen, ", completion: %s", pick_completion(gen));
    gen_add(gen, ", rto: %uus", 100 + gen_below(gen, 3000));
    gen_add(gen, "%s", PICK(gen, more));
    gen_add(gen, "%s", is_devmem ? PICK(gen, devmem) : "");
}

static void add_path(Gen *gen)
{
    g_autofree char *to = make_target(gen);
    unsigned host = gen_below(gen, gen->n_hosts);
    bool is_own = to[1] == '0' + (char)host && strstr(to, ".ram");

    /* No link lies between a CPU and its own memory. */
    if (gen_one_in(gen, 3) && (!is_own || gen_one_in(gen, 12))) {
        gen_add(gen, "path, from: h%u.cpu", host);
    } else {
        gen_add(gen, "path, from: %s", pick_name(gen, gen->devices));
    }
    gen_add(gen, ", to: %s", to);
    if (gen_one_in(gen, 3)) {
        gen_add(gen, ", direction: read, size: 64B");
    } else {
        add_via(gen, to);
    }
}

static void add_gpus(Gen *gen, const char *kind)
{
    unsigned from = gen_below(gen, gen->gpus->len);
    unsigned to =
        (from + 1 + gen_below(gen, gen->gpus->len - 1)) % gen->gpus->len;
    const char *device = gen->gpus->pdata[from];

    gen_add(gen, "%s", kind);
    add_ends(gen, "from", device, gen->gpus, "to", gen->gpus->pdata[to], false);
    add_via(gen, "");
    if (strcmp(kind, "pingpong") == 0) {
        gen_add(gen, ", count: %u", 1 + gen_below(gen, 20));
    } else {
        gen_add(gen, ", size: %s", pick_size(gen));
        gen_add(gen, ", copies: %u", 1 + gen_below(gen, 3));
        add_driver(gen, device);
    }
}

/* Adds streams and an engine that flows share, on which all but those of kind
 * path run. */
static void add_turns(Gen *gen)
{
    if (gen_one_in(gen, 4)) {
        gen_add(gen, ", streams: [s%u", gen_below(gen, 2));
        gen_add(gen, "%s]", gen_one_in(gen, 4) ? ", s2" : "");
    }
    if (gen_one_in(gen, 4)) {
        gen_add(gen, ", engine: e%u", gen_below(gen, 2));
        if (gen_one_in(gen, 2)) {
            gen_add(gen, ", notice: %uns", gen_below(gen, 2000));
        }
    } else if (gen_one_in(gen, 200)) {
        gen_add(gen, ", notice: 1us");
    }
}

/* Adds the flow @number. @is_path has a flag for each flow; flows of kind path
 * run alone, so they neither wait nor are waited for. */
static void add_flow(Gen *gen, unsigned number, bool *is_path)
{
    unsigned kind = gen_below(gen, 12);

    gen_add(gen, "    - {name: f%u, kind: ", number);
    if (kind > 7 && gen->nics->len > 1) {
        add_tcp(gen);
    } else if (kind == 0 && gen->drives->len > 0) {
        add_nvme(gen);
    } else if (kind == 1) {
        is_path[number] = true;
        add_path(gen);
    } else if (kind < 4 && gen->gpus->len > 1) {
        add_gpus(gen, "pingpong");
    } else if (kind == 4 && gen->gpus->len > 1) {
        add_gpus(gen, "transfer");
    } else if (kind == 5) {
        add_mmio(gen);
    } else if (kind == 6 && gen->gpus->len > 0) {
        add_copy(gen);
    } else if (kind == 7 && gen->movers->len > 0) {
        add_move(gen);
    } else if (gen_one_in(gen, 4)) {
        add_threads(gen);
    } else if (gen_one_in(gen, 6)) {
        gen_add(gen, "compute, time: %uns", 1 + gen_below(gen, 100000));
        gen_add(gen, ", device: %s", pick_name(gen, gen->devices));
    } else {
        add_dma(gen);
    }
    if (gen_one_in(gen, 4)) {
        gen_add(gen, ", start: %uns", gen_below(gen, 20000));
    }
    if (!is_path[number] || gen_one_in(gen, 50)) {
        add_turns(gen);
    }
    if (number > 0 && !is_path[number] && gen_one_in(gen, 2)) {
        unsigned first = gen_below(gen, number),
                 second = gen_below(gen, number);

        if (!is_path[first]) {
            gen_add(gen, ", after: [f%u", first);
            if (second != first && !is_path[second] && gen_one_in(gen, 2)) {
                gen_add(gen, ", f%u", second);
            }
            gen_add(gen, "]");
        }
    }
    gen_add(gen, "}\n");
}

void gen_add_workload(Gen *gen)
{
    bool is_path[FLOWS_MOST] = {false};
    unsigned count = 1 + gen_below(gen, FLOWS_MOST);

    gen_add(gen, "workload:\n  seed: %u\n", gen_below(gen, 1000));
    if (gen_one_in(gen, 4)) {
        gen_add(gen, "  warmup: %uns\n", gen_below(gen, 5000));
    }
    if (gen_one_in(gen, 4)) {
        gen_add(gen, "  stop: %uus\n", 6 + gen_below(gen, 500));
    }
    if (gen_one_in(gen, 8)) {
        gen_add(gen, "  completion_timeout: %uus\n", 50 + gen_below(gen, 1000));
    }
    gen_add(gen, "  flows:\n");
    for (unsigned i = 0; i < count; i++) {
        add_flow(gen, i, is_path);
    }
    gen_add(gen, "measure:\n  columns:\n"
                 "    - {name: tlp_hops, from: fabric.tlp_hops}\n"
                 "    - {name: unsupported, from: fabric.unsupported}\n"
                 "    - {name: ram, from: element.h0.memory_written_bytes}\n");
}
