/* SPDX-License-Identifier: MIT */
#include "exp_params_priv.h"

#include <string.h>

FabSpeed exp_params_speed(unsigned mtps)
{
    static const unsigned rates[] = {2500, 5000, 8000, 16000, 32000, 64000};

    for (unsigned i = 0; i < G_N_ELEMENTS(rates); i++) {
        if (mtps == rates[i]) {
            return FAB_SPEED_2_5GT + i;
        }
    }
    g_assert_not_reached();
}

uint32_t exp_params_credits(const TopoPart *part, const char *key)
{
    int64_t credits = topo_part_credits(part, key);

    return credits == TOPO_CREDITS_INFINITE ? FAB_CREDITS_INFINITE
                                            : (uint32_t)credits;
}

/* The number of @word in @words, which stand in the order of an enumeration.
 * The schema lets no other word in. */
static unsigned number_of(const char *word, const char *const *words,
                          unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        if (strcmp(word, words[i]) == 0) {
            return i;
        }
    }
    g_assert_not_reached();
}

FabArbitration exp_params_arbitration(const char *word)
{
    static const char *const words[] = {
        [FAB_ARBITRATION_ROUND_ROBIN] = "round-robin",
        [FAB_ARBITRATION_WEIGHTED] = "weighted-round-robin",
        [FAB_ARBITRATION_OLDEST] = "oldest-first",
        [FAB_ARBITRATION_TABLE] = "port-table",
    };

    return number_of(word, words, G_N_ELEMENTS(words));
}

static FabDllpPolicy dllp_of(const char *word)
{
    static const char *const words[] = {
        [FAB_DLLP_SPEC] = "spec",
        [FAB_DLLP_EACH] = "each",
        [FAB_DLLP_FREE] = "free",
    };

    return number_of(word, words, G_N_ELEMENTS(words));
}

static FabDpcParams dpc_of(const TopoPart *part)
{
    static const char *const triggers[] = {
        [FAB_DPC_OFF] = "off",
        [FAB_DPC_FATAL] = "fatal",
        [FAB_DPC_NONFATAL] = "nonfatal",
    };

    return (FabDpcParams){
        .trigger = number_of(topo_part_text(part, "dpc.trigger"), triggers,
                             G_N_ELEMENTS(triggers)),
        .completer_abort =
            strcmp(topo_part_text(part, "dpc.completion"), "ca") == 0,
        .release = topo_part_has(part, "dpc.release")
                       ? topo_part_time(part, "dpc.release")
                       : 0,
        .training = topo_part_time(part, "dpc.training"),
    };
}

FabPortParams exp_params_port(const TopoPart *part, unsigned speed_mtps,
                              unsigned width)
{
    FabPortParams params = {
        .max_speed = exp_params_speed(speed_mtps),
        .max_width = width,
        .mps_bytes = topo_part_bytes(part, "mps"),
        .credits =
            {
                .header = {exp_params_credits(part, "buffers.ph"),
                           exp_params_credits(part, "buffers.nph"),
                           exp_params_credits(part, "buffers.cplh")},
                .data = {exp_params_credits(part, "buffers.pd"),
                         exp_params_credits(part, "buffers.npd"),
                         exp_params_credits(part, "buffers.cpld")},
            },
        .credit_latency = topo_part_time(part, "buffers.latency"),
        .replay_bytes = topo_part_bytes(part, "buffers.replay"),
        .collect_bytes = topo_part_bytes(part, "buffers.collect"),
        .fec = topo_part_time(part, "fec"),
        .dllp = dllp_of(topo_part_text(part, "dllp")),
        .arbitration = FAB_ARBITRATION_ROUND_ROBIN,
    };
    TopoPartKind kind = topo_part_kind(part);

    if (kind == TOPO_PART_CPU || kind == TOPO_PART_SWITCH) {
        params.dpc = dpc_of(part);
    }
    if (kind == TOPO_PART_SWITCH || kind == TOPO_PART_NTB) {
        params.latency = topo_part_time(part, "latency");
    }
    if (kind != TOPO_PART_CPU && topo_part_has(part, "service.beat")) {
        params.service.beat_bytes = topo_part_bytes(part, "service.beat");
        params.service.gap_beats = topo_part_int(part, "service.gap");
        params.service.beat_ps = topo_part_time(part, "service.clock");
        if (topo_part_has(part, "service.width")) {
            params.service.width = topo_part_width(part, "service.width");
        }
    }
    return params;
}

static FabCacheParams cache_of(const TopoPart *part)
{
    if (!topo_part_has(part, "memory.cache.size")) {
        return (FabCacheParams){0};
    }
    return (FabCacheParams){
        .size_bytes = topo_part_bytes(part, "memory.cache.size"),
        .latency = topo_part_time(part, "memory.cache.latency"),
        .ways = topo_part_int(part, "memory.cache.ways"),
        .io_ways = topo_part_int(part, "memory.cache.io_ways"),
    };
}

static FabRootP2p p2p_of(const char *word)
{
    static const char *const words[] = {
        [FAB_ROOT_P2P_ALL] = "all",
        [FAB_ROOT_P2P_WRITES] = "writes",
        [FAB_ROOT_P2P_NONE] = "none",
    };

    return number_of(word, words, G_N_ELEMENTS(words));
}

static FabMps mps_of(const char *word)
{
    static const char *const words[] = {
        [FAB_MPS_JOINED] = "joined",
        [FAB_MPS_SAFE] = "safe",
        [FAB_MPS_PEERS] = "peer2peer",
        [FAB_MPS_PERF] = "perf",
    };

    return number_of(word, words, G_N_ELEMENTS(words));
}

FabRootParams exp_params_root(const TopoPart *part, bool iommu)
{
    bool has_rate = topo_part_has(part, "nodes.bandwidth");

    return (FabRootParams){
        .mps = mps_of(topo_part_text(part, "mps_policy")),
        .transit = topo_part_time(part, "transit"),
        .id_ordering = topo_part_bool(part, "id_ordering"),
        .p2p = p2p_of(topo_part_text(part, "p2p")),
        .p2p_aborts = strcmp(topo_part_text(part, "p2p_refused"), "ca") == 0,
        .read_split_bytes = topo_part_bytes(part, "read_split"),
        .write_split_bytes = topo_part_bytes(part, "write_split"),
        .write_piece = topo_part_time(part, "write_piece"),
        .forwarded_reads = topo_part_int(part, "forwarded_reads"),
        .rcb_bytes = topo_part_bytes(part, "rcb"),
        .completion_bytes = topo_part_bytes(part, "completion_size"),
        .memory =
            {
                .size_bytes = topo_part_bytes(part, "memory.size"),
                .latency = topo_part_time(part, "memory.latency"),
                .bandwidth_bytes_s = topo_part_rate(part, "memory.bandwidth"),
                .reads = topo_part_int(part, "memory.reads"),
                .cache = cache_of(part),
            },
        .ordered_bytes = topo_part_bytes(part, "memory.ordered_writes"),
        .ordered_time = topo_part_time(part, "memory.ordered_time"),
        .iommu =
            {
                .enabled = iommu,
                .iotlb_entries = topo_part_int(part, "iommu.iotlb_entries"),
                .iotlb_ways = topo_part_int(part, "iommu.iotlb_ways"),
                .hit = topo_part_time(part, "iommu.hit"),
                .per_port =
                    strcmp(topo_part_text(part, "iommu.iotlb_of"), "port") == 0,
                .l2_entries = topo_part_int(part, "iommu.l2_entries"),
                .l2_ways = topo_part_int(part, "iommu.l2_ways"),
                .l2_hit = topo_part_time(part, "iommu.l2_hit"),
                .walk = topo_part_time(part, "iommu.walk"),
                .walk_read = topo_part_time(part, "iommu.walk_read"),
                .walk_cache = {topo_part_int(part, "iommu.cache_4k"),
                               topo_part_int(part, "iommu.cache_2m"),
                               topo_part_int(part, "iommu.cache_1g")},
                .walks = topo_part_int(part, "iommu.walks"),
                .in_order = topo_part_bool(part, "iommu.in_order"),
                .replay = topo_part_time(part, "iommu.replay"),
                .loan_domains = topo_part_bool(part, "iommu.loan_domains"),
                .mixed = topo_part_bool(part, "iommu.mixed"),
                .page_bytes = topo_part_bytes(part, "iommu.page"),
                .ats = topo_part_bool(part, "iommu.ats"),
                .map = topo_part_time(part, "iommu.map"),
                .unmap = topo_part_time(part, "iommu.unmap"),
                .invalidate = topo_part_time(part, "iommu.invalidate"),
                .lazy = topo_part_bool(part, "iommu.lazy"),
                .flush_queue = topo_part_int(part, "iommu.flush_queue"),
                .flush_time = topo_part_time(part, "iommu.flush_time"),
            },
        .mmio =
            {
                .low_base = topo_part_address(part, "mmio.low_base"),
                .low_size = topo_part_bytes(part, "mmio.low_size"),
                .high_base = topo_part_address(part, "mmio.high_base"),
                .high_size = topo_part_bytes(part, "mmio.high_size"),
                .above_4g_bytes = topo_part_bytes(part, "mmio.above_4g"),
            },
        .cpu =
            {
                .mmio_write = topo_part_time(part, "core.mmio_write"),
                .combine = topo_part_has(part, "core.combine")
                               ? topo_part_time(part, "core.combine")
                               : 0,
                .mmio_reads = topo_part_int(part, "core.mmio_reads"),
                .interrupt = topo_part_time(part, "core.interrupt"),
                .poll = topo_part_time(part, "core.poll"),
            },
        .nodes =
            {
                .latency = topo_part_time(part, "nodes.latency"),
                .bandwidth_bytes_s =
                    has_rate ? topo_part_rate(part, "nodes.bandwidth") : 0,
                .write_bytes = topo_part_bytes(part, "nodes.writes"),
                .acknowledge = topo_part_time(part, "nodes.acknowledge"),
                .passes = topo_part_int(part, "nodes.passes"),
                .shares =
                    strcmp(topo_part_text(part, "nodes.shares"), "nodes") == 0,
            },
    };
}

void exp_params_bars(const TopoPart *part, FabBar *bars)
{
    unsigned count;
    const TopoBar *from = topo_part_bars(part, &count);

    for (unsigned i = 0; i < count; i++) {
        bars[from[i].number] = (FabBar){
            .size_bytes = from[i].size_bytes,
            .prefetchable = from[i].prefetchable,
            .is_64bit = from[i].address_bits == 64,
        };
    }
}

/* The beats of @section of a part; all 0 if the part has none. */
static FabService beats_of(const TopoPart *part, const char *section)
{
    g_autofree char *beat = g_strdup_printf("%s.beat", section);
    g_autofree char *clock = g_strdup_printf("%s.clock", section);
    g_autofree char *gap = g_strdup_printf("%s.gap", section);

    if (!topo_part_has(part, beat)) {
        return (FabService){0};
    }
    return (FabService){
        .beat_bytes = topo_part_bytes(part, beat),
        .beat_ps = topo_part_time(part, clock),
        .gap_beats = topo_part_int(part, gap),
    };
}

static FabMmuParams mmu_of(const TopoPart *part)
{
    return (FabMmuParams){
        .page_bytes = topo_part_bytes(part, "mmu.page"),
        .entries = topo_part_int(part, "mmu.entries"),
        .l2_entries = topo_part_int(part, "mmu.l2_entries"),
        .l2_hit = topo_part_time(part, "mmu.l2_hit"),
        .walk = topo_part_time(part, "mmu.walk"),
        .walks = topo_part_int(part, "mmu.walks"),
    };
}

FabEndpointParams exp_params_endpoint(const TopoPart *part)
{
    FabEndpointParams params = {
        .write_bytes = topo_part_bytes(part, "dma.write_size"),
        .read_bytes = MIN(topo_part_bytes(part, "dma.read_size"),
                          topo_part_bytes(part, "mrrs")),
        .reads = topo_part_int(part, "dma.reads"),
        .tags = topo_part_int(part, "tags"),
        .read_latency = topo_part_time(part, "dma.read_latency"),
        .write_latency = topo_part_time(part, "dma.write_latency"),
        .write_gap = topo_part_time(part, "dma.write_gap"),
        .writes = topo_part_int(part, "dma.writes"),
        .flight_bytes = topo_part_bytes(part, "dma.in_flight"),
        .queue = topo_part_int(part, "dma.queue"),
        .read_move = beats_of(part, "dma.read_move"),
        .write_move = beats_of(part, "dma.write_move"),
        .move_bus = beats_of(part, "dma.move_bus"),
        .relaxed_ordering = topo_part_bool(part, "relaxed_ordering"),
        .id_ordering = topo_part_bool(part, "id_ordering"),
        .ecrc = topo_part_bool(part, "ecrc"),
        .ats =
            {
                .entries = topo_part_int(part, "ats.entries"),
                .ways = topo_part_int(part, "ats.ways"),
                .hit = topo_part_time(part, "ats.hit"),
                .requests = topo_part_int(part, "ats.requests"),
                .writes = topo_part_int(part, "ats.writes"),
                .invalidate = topo_part_time(part, "ats.invalidate"),
            },
        .completer_latency = topo_part_time(part, "completer.latency"),
    };

    if (topo_part_kind(part) == TOPO_PART_GPU) {
        params.mmu = mmu_of(part);
    }
    if (topo_part_has(part, "completer.bandwidth")) {
        params.completer_bandwidth_bytes_s =
            topo_part_rate(part, "completer.bandwidth");
    }
    exp_params_bars(part, params.bars);
    return params;
}
