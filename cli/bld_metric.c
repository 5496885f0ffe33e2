/* SPDX-License-Identifier: MIT */
#include "bld_metric.h"

#include <string.h>

#include "fab_lend.h"

#define ELEMENT                                                                \
    (BLD_SCOPE_ROOT | BLD_SCOPE_SWITCH | BLD_SCOPE_NTB | BLD_SCOPE_DEVICE)

struct BldMetric {
    const char *name;
    unsigned scopes; /* BldScope bits */
    enum {
        NUMBER,
        TEXT,
        DISTRIBUTION
    } kind;
    BldValue (*get)(const BldSubject *subject);
    const char *help;
};

static BldValue number(__int128 value)
{
    return (BldValue){value, 1, NULL};
}

static FabFlowResult flow_result(const BldSubject *subject)
{
    FabFlowResult result;

    fab_flow_result(subject->flow, &result);
    return result;
}

static BldValue flow_bandwidth(const BldSubject *subject)
{
    FabFlowResult result = flow_result(subject);

    return (BldValue){(__int128)result.bytes * SIM_S, result.end - result.begin,
                      NULL};
}

static BldValue flow_rate(const BldSubject *subject)
{
    FabFlowResult result = flow_result(subject);

    return (BldValue){(__int128)result.operations * SIM_S,
                      result.end - result.begin, NULL};
}

static BldValue flow_latency(const BldSubject *subject)
{
    const SimHistogram *latency = flow_result(subject).latency;

    if (!latency || sim_histogram_count(latency) == 0) {
        return (BldValue){0, 0, NULL};
    }
    switch (subject->statistic) {
    case TOPO_STATISTIC_P50:
        return number(sim_histogram_quantile(latency, 500000));
    case TOPO_STATISTIC_P99:
        return number(sim_histogram_quantile(latency, 990000));
    case TOPO_STATISTIC_MIN:
        return number(sim_histogram_min(latency));
    case TOPO_STATISTIC_MAX:
        return number(sim_histogram_max(latency));
    default:
        return (BldValue){sim_histogram_sum(latency),
                          sim_histogram_count(latency), NULL};
    }
}

/* The faster, the shorter: quantiles of the speed are those of the latency from
 * the other end. */
static BldValue flow_speed(const BldSubject *subject)
{
    const SimHistogram *latency = flow_result(subject).latency;
    uint64_t count = latency ? sim_histogram_count(latency) : 0;
    __int128 work = (__int128)subject->described->size_bytes * SIM_S;
    uint64_t time;

    if (count == 0) {
        return (BldValue){0, 0, NULL};
    }
    switch (subject->statistic) {
    case TOPO_STATISTIC_P50:
        time = sim_histogram_quantile(latency, 500000);
        break;
    case TOPO_STATISTIC_P99:
        time = sim_histogram_quantile(latency, 10000);
        break;
    case TOPO_STATISTIC_MIN:
        time = sim_histogram_max(latency);
        break;
    case TOPO_STATISTIC_MAX:
        time = sim_histogram_min(latency);
        break;
    default:
        return (BldValue){work * count, sim_histogram_sum(latency), NULL};
    }
    return (BldValue){work, time, NULL};
}

/* Of an operation, on average; none unless the flow has stages. */
static BldValue stage_mean(const BldSubject *subject, FabNvmeStage stage)
{
    FabFlowResult result = flow_result(subject);

    return (BldValue){result.stages ? result.stages[stage] : 0,
                      result.stages ? sim_histogram_count(result.latency) : 0,
                      NULL};
}

#define STAGE(NAME, STAGE)                                                     \
    static BldValue stage_##NAME(const BldSubject *subject)                    \
    {                                                                          \
        return stage_mean(subject, FAB_NVME_##STAGE);                          \
    }

STAGE(submit, SUBMIT)
STAGE(doorbell, DOORBELL)
STAGE(fetch, FETCH)
STAGE(list, LIST)
STAGE(media, MEDIA)
STAGE(data, DATA)
STAGE(completion, COMPLETION)
STAGE(notice, NOTICE)

static BldValue flow_operations(const BldSubject *subject)
{
    return number(flow_result(subject).operations);
}

static BldValue flow_failed(const BldSubject *subject)
{
    return number(flow_result(subject).failed);
}

static BldValue flow_bytes(const BldSubject *subject)
{
    return number(flow_result(subject).bytes);
}

static BldValue flow_time(const BldSubject *subject)
{
    FabFlowResult result = flow_result(subject);

    return number(result.end - result.begin);
}

static BldValue path_hops(const BldSubject *subject)
{
    return number(subject->path->hops);
}

static BldValue path_roots(const BldSubject *subject)
{
    return number(subject->path->roots);
}

static BldValue path_latency(const BldSubject *subject)
{
    return number(subject->path->time_ps);
}

static BldValue path_round_trip(const BldSubject *subject)
{
    const BldPath *path = subject->path;

    return (BldValue){path->round_trip_ps, path->round_trip_ps > 0, NULL};
}

static BldValue path_text(const BldSubject *subject)
{
    return (BldValue){0, 0, subject->path->text};
}

static BldValue flow_mode(const BldSubject *subject)
{
    const TopoFlow *flow = subject->described;
    bool has_ram = flow->via.kind != TOPO_TARGET_NONE ||
                   (flow->to.kind == TOPO_TARGET_RAM);

    return (BldValue){0, 0, has_ram ? "RAM" : "P2P"};
}

static BldValue path_mode(const BldSubject *subject)
{
    bool has_ram = strstr(subject->path->text, "root+ram") != NULL;

    return (BldValue){0, 0, has_ram ? "RAM" : "P2P"};
}

static BldValue fabric_hops(const BldSubject *subject)
{
    return number(fab_fabric_tlp_hops(bld_fabric(subject->bld)));
}

static BldValue fabric_unsupported(const BldSubject *subject)
{
    return number(fab_fabric_unsupported(bld_fabric(subject->bld)));
}

static BldValue fabric_time(const BldSubject *subject)
{
    return number(sim_engine_now(bld_engine(subject->bld)));
}

/* ---- Elements --------------------------------------------------------- */

#define PORT_SUM(FIELD)                                                        \
    static BldValue port_##FIELD(const BldSubject *subject)                    \
    {                                                                          \
        const FabComponent *component = subject->component;                    \
        uint64_t sum = 0;                                                      \
                                                                               \
        for (unsigned i = 0; i < fab_component_port_count(component); i++) {   \
            sum += fab_port_counters(fab_component_port(component, i))->FIELD; \
        }                                                                      \
        return number(sum);                                                    \
    }

PORT_SUM(payload_sent_bytes)
PORT_SUM(wire_sent_bytes)
PORT_SUM(dllps_sent)
PORT_SUM(credit_wait_ps)

static BldValue port_tlps_sent(const BldSubject *subject)
{
    const FabComponent *component = subject->component;
    uint64_t sum = 0;

    for (unsigned i = 0; i < fab_component_port_count(component); i++) {
        const FabPortCounters *counters =
            fab_port_counters(fab_component_port(component, i));

        for (unsigned cls = 0; cls < FAB_CLASSES; cls++) {
            sum += counters->tlps_sent[cls];
        }
    }
    return number(sum);
}

#define COUNTER(PREFIX, FIELD, EXPRESSION)                                     \
    static BldValue PREFIX##_##FIELD(const BldSubject *subject)                \
    {                                                                          \
        return number((EXPRESSION)->FIELD);                                    \
    }

#define ROOT fab_component_as_root(subject->component)
COUNTER(root, memory_read_bytes, fab_root_counters(ROOT))
COUNTER(root, memory_written_bytes, fab_root_counters(ROOT))
COUNTER(root, forwarded_reads, fab_root_counters(ROOT))
COUNTER(root, forwarded_writes, fab_root_counters(ROOT))
COUNTER(root, forward_wait_ps, fab_root_counters(ROOT))

#define IOMMU_COUNTER(FIELD)                                                   \
    static BldValue iommu_##FIELD(const BldSubject *subject)                   \
    {                                                                          \
        const FabIommuCounters *counters = fab_root_iommu_counters(ROOT);      \
                                                                               \
        return number(counters ? counters->FIELD : 0);                         \
    }

IOMMU_COUNTER(hits)
IOMMU_COUNTER(misses)
IOMMU_COUNTER(walks)
IOMMU_COUNTER(faults)
IOMMU_COUNTER(wait_ps)

#define NTB fab_ntb_counters(fab_component_as_ntb(subject->component))
COUNTER(ntb, translated, NTB)
COUNTER(ntb, unmapped, NTB)
COUNTER(ntb, unknown_requester, NTB)
COUNTER(ntb, tag_waits, NTB)

static BldValue ntb_entries_used(const BldSubject *subject)
{
    return number(
        fab_ntb_used_entries(fab_component_as_ntb(subject->component)));
}

static BldValue ntb_entries_free(const BldSubject *subject)
{
    return number(
        fab_ntb_free_entries(fab_component_as_ntb(subject->component)));
}

static const FabLend *lend_of(const BldSubject *subject)
{
    return fab_lend_of(fab_component_as_device(subject->component));
}

static BldValue device_window_bytes(const BldSubject *subject)
{
    const FabLend *lend = lend_of(subject);

    return number(lend ? fab_lend_window_bytes(lend) : 0);
}

static BldValue device_window_mapped_bytes(const BldSubject *subject)
{
    const FabLend *lend = lend_of(subject);

    return number(lend ? fab_lend_counters(lend)->most_bytes : 0);
}

static BldValue device_no_room(const BldSubject *subject)
{
    const FabLend *lend = lend_of(subject);

    return number(lend ? fab_lend_counters(lend)->no_room : 0);
}

#define DEVICE fab_device_counters(fab_component_as_device(subject->component))
COUNTER(device, read_bytes, DEVICE)
COUNTER(device, written_bytes, DEVICE)
COUNTER(device, served_bytes, DEVICE)
COUNTER(device, failed_reads, DEVICE)
COUNTER(device, tag_wait_ps, DEVICE)

static const BldMetric metrics[] = {
    {"bandwidth", BLD_SCOPE_FLOW, NUMBER, flow_bandwidth,
     "bytes a second, from the first operation's begin to the last one's end"},
    {"rate", BLD_SCOPE_FLOW, NUMBER, flow_rate, "operations a second"},
    {"latency", BLD_SCOPE_FLOW, DISTRIBUTION, flow_latency,
     "of an operation, in ps; .mean, .p50, .p99, .min or .max may follow"},
    {"speed", BLD_SCOPE_FLOW, DISTRIBUTION, flow_speed,
     "bytes a second of an operation by itself, size over latency; .mean is "
     "that of the mean latency"},
    {"stage_submit", BLD_SCOPE_FLOW, NUMBER, stage_submit,
     "of kind nvme, mean latency in ps: the driver's stores and doorbell"},
    {"stage_doorbell", BLD_SCOPE_FLOW, NUMBER, stage_doorbell,
     "the doorbell's way to the drive: one crossing"},
    {"stage_fetch", BLD_SCOPE_FLOW, NUMBER, stage_fetch,
     "fetch of the queue entry: two crossings"},
    {"stage_list", BLD_SCOPE_FLOW, NUMBER, stage_list,
     "fetch of the PRP list, if there is one: two crossings"},
    {"stage_media", BLD_SCOPE_FLOW, NUMBER, stage_media,
     "controller and media"},
    {"stage_data", BLD_SCOPE_FLOW, NUMBER, stage_data,
     "data that are not under way by then; of a write two crossings"},
    {"stage_completion", BLD_SCOPE_FLOW, NUMBER, stage_completion,
     "way of the completion entry, behind the data: one crossing"},
    {"stage_notice", BLD_SCOPE_FLOW, NUMBER, stage_notice,
     "until the driver knows: its poll, or the interrupt"},
    {"operations", BLD_SCOPE_FLOW, NUMBER, flow_operations, "those done"},
    {"failed", BLD_SCOPE_FLOW, NUMBER, flow_failed,
     "operations that ended with UR or CA"},
    {"bytes", BLD_SCOPE_FLOW, NUMBER, flow_bytes, "moved"},
    {"time", BLD_SCOPE_FLOW, NUMBER, flow_time,
     "from the first operation's begin to the last one's end, in ps"},
    {"mode", BLD_SCOPE_FLOW, TEXT, flow_mode,
     "RAM if it goes to or through memory, else P2P"},
    {"hops", BLD_SCOPE_PATH, NUMBER, path_hops, "elements between the ends"},
    {"roots", BLD_SCOPE_PATH, NUMBER, path_roots, "roots among them"},
    {"latency", BLD_SCOPE_PATH, NUMBER, path_latency, "of all legs, in ps"},
    {"round_trip", BLD_SCOPE_PATH, NUMBER, path_round_trip,
     "of the read, in ps; empty if there is none"},
    {"path", BLD_SCOPE_PATH, TEXT, path_text, "kinds of the elements in order"},
    {"mode", BLD_SCOPE_PATH, TEXT, path_mode,
     "RAM if the data rest in memory on the way or at an end, else P2P"},
    {"tlp_hops", BLD_SCOPE_FABRIC, NUMBER, fabric_hops,
     "links crossed, summed over all TLPs"},
    {"unsupported", BLD_SCOPE_FABRIC, NUMBER, fabric_unsupported,
     "requests that nothing claimed, and unexpected completions"},
    {"time", BLD_SCOPE_FABRIC, NUMBER, fabric_time, "simulated, in ps"},
    {"tlps_sent", ELEMENT, NUMBER, port_tlps_sent, "by all its ports"},
    {"payload_sent_bytes", ELEMENT, NUMBER, port_payload_sent_bytes,
     "payload of these"},
    {"wire_sent_bytes", ELEMENT, NUMBER, port_wire_sent_bytes,
     "all bytes of these on the wire"},
    {"dllps_sent", ELEMENT, NUMBER, port_dllps_sent,
     "Ack and UpdateFC by all its ports"},
    {"credit_wait_ps", ELEMENT, NUMBER, port_credit_wait_ps,
     "time its ports had something to send and no credits, in ps"},
    {"memory_read_bytes", BLD_SCOPE_ROOT, NUMBER, root_memory_read_bytes,
     "from memory"},
    {"memory_written_bytes", BLD_SCOPE_ROOT, NUMBER, root_memory_written_bytes,
     "to memory"},
    {"forwarded_reads", BLD_SCOPE_ROOT, NUMBER, root_forwarded_reads,
     "read requests sent from root port to root port"},
    {"forwarded_writes", BLD_SCOPE_ROOT, NUMBER, root_forwarded_writes,
     "writes likewise"},
    {"forward_wait_ps", BLD_SCOPE_ROOT, NUMBER, root_forward_wait_ps,
     "time reads to forward waited for a tag, in ps"},
    {"iotlb_hits", BLD_SCOPE_ROOT, NUMBER, iommu_hits, "requests"},
    {"iotlb_misses", BLD_SCOPE_ROOT, NUMBER, iommu_misses, "requests"},
    {"iommu_walks", BLD_SCOPE_ROOT, NUMBER, iommu_walks, "page walks"},
    {"iommu_faults", BLD_SCOPE_ROOT, NUMBER, iommu_faults,
     "requests to an address that is not mapped"},
    {"iommu_wait_ps", BLD_SCOPE_ROOT, NUMBER, iommu_wait_ps,
     "time misses waited for a page walker, in ps"},
    {"translated", BLD_SCOPE_NTB, NUMBER, ntb_translated,
     "requests through the window"},
    {"unmapped", BLD_SCOPE_NTB, NUMBER, ntb_unmapped,
     "requests to an entry that leads nowhere"},
    {"unknown_requester", BLD_SCOPE_NTB, NUMBER, ntb_unknown_requester,
     "requests whose Requester ID is not in the table"},
    {"tag_waits", BLD_SCOPE_NTB, NUMBER, ntb_tag_waits,
     "non-posted requests that waited for a tag"},
    {"entries_used", BLD_SCOPE_NTB, NUMBER, ntb_entries_used,
     "mapping entries in use"},
    {"entries_free", BLD_SCOPE_NTB, NUMBER, ntb_entries_free,
     "mapping entries neither in use nor reserved"},
    {"window_bytes", BLD_SCOPE_DEVICE, NUMBER, device_window_bytes,
     "of the DMA window; 0 if it is not lent"},
    {"window_mapped_bytes", BLD_SCOPE_DEVICE, NUMBER,
     device_window_mapped_bytes,
     "the most of the DMA window that was mapped at a time"},
    {"no_room", BLD_SCOPE_DEVICE, NUMBER, device_no_room,
     "mappings that failed: No room in IOMMU range"},
    {"read_bytes", BLD_SCOPE_DEVICE, NUMBER, device_read_bytes,
     "by its DMA engine"},
    {"written_bytes", BLD_SCOPE_DEVICE, NUMBER, device_written_bytes,
     "by its DMA engine"},
    {"served_bytes", BLD_SCOPE_DEVICE, NUMBER, device_served_bytes,
     "that others read and wrote behind its BARs"},
    {"failed_reads", BLD_SCOPE_DEVICE, NUMBER, device_failed_reads,
     "requests answered with UR or CA"},
    {"tag_wait_ps", BLD_SCOPE_DEVICE, NUMBER, device_tag_wait_ps,
     "time its DMA engine had something to read and no tag, in ps"},
};

const BldMetric *bld_metric_find(BldScope scope, const char *name)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(metrics); i++) {
        if (metrics[i].scopes & scope && strcmp(metrics[i].name, name) == 0) {
            return &metrics[i];
        }
    }
    return NULL;
}

bool bld_metric_is_text(const BldMetric *metric)
{
    return metric->kind == TEXT;
}

bool bld_metric_is_distribution(const BldMetric *metric)
{
    return metric->kind == DISTRIBUTION;
}

BldValue bld_metric_get(const BldMetric *metric, const BldSubject *subject)
{
    return metric->get(subject);
}

char *bld_metric_names(BldScope scope)
{
    g_autoptr(GString) names = g_string_new(NULL);

    for (unsigned i = 0; i < G_N_ELEMENTS(metrics); i++) {
        if (metrics[i].scopes & scope) {
            g_string_append_printf(names, "%s%s", names->len ? ", " : "",
                                   metrics[i].name);
        }
    }
    return g_string_free(g_steal_pointer(&names), FALSE);
}

char *bld_metric_help(void)
{
    static const struct {
        unsigned scopes;
        const char *title;
    } groups[] = {
        {BLD_SCOPE_FLOW, "flow.NAME.METRIC (any kind but path)"},
        {BLD_SCOPE_PATH, "flow.NAME.METRIC (kind path)"},
        {BLD_SCOPE_FABRIC, "fabric.METRIC"},
        {ELEMENT, "element.NAME.METRIC (any element)"},
        {BLD_SCOPE_ROOT, "element.HOST.METRIC"},
        {BLD_SCOPE_NTB, "element.HOST.NTB.METRIC"},
        {BLD_SCOPE_DEVICE, "element.HOST.DEVICE.METRIC"},
    };
    g_autoptr(GString) help = g_string_new(NULL);

    for (unsigned i = 0; i < G_N_ELEMENTS(groups); i++) {
        g_string_append_printf(help, "%s\n", groups[i].title);
        for (unsigned j = 0; j < G_N_ELEMENTS(metrics); j++) {
            if (metrics[j].scopes == groups[i].scopes) {
                g_string_append_printf(help, "  %-21s %s\n", metrics[j].name,
                                       metrics[j].help);
            }
        }
    }
    return g_string_free(g_steal_pointer(&help), FALSE);
}
