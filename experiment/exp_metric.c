/* SPDX-License-Identifier: MIT */
#include "exp_metric_priv.h"

#include <string.h>

#include "fab_flow_nvme.h"
#include "fab_flow_pace.h"
#include "fab_flow_replay.h"
#include "fab_flow_tcp.h"
#include "fab_lend.h"
#include "fab_nic.h"

static ExpValue number(__int128 value)
{
    return (ExpValue){value, 1, NULL};
}

static FabFlowResult flow_result(const ExpSubject *subject)
{
    FabFlowResult result;

    fab_flow_result(subject->flow, &result);
    return result;
}

static ExpValue flow_bandwidth(const ExpSubject *subject)
{
    FabFlowResult result = flow_result(subject);

    return (ExpValue){(__int128)result.bytes * SIM_S, result.data_time, NULL};
}

SimTime exp_flow_work_time(const ExpSubject *subject, __int128 *ret_bytes)
{
    SimTime begin = G_MAXINT64;
    FabFlowResult own;
    __int128 bytes = 0;

    for (unsigned i = 0; i < subject->flows->len; i++) {
        FabFlowResult result;

        if (!subject->flows->pdata[i]) {
            continue;
        }
        fab_flow_result(subject->flows->pdata[i], &result);
        if (result.operations > 0) {
            bytes += result.bytes;
            begin = MIN(begin, result.begin);
        }
    }
    own = flow_result(subject);
    *ret_bytes = bytes;
    return MAX(own.end - begin, own.data_time);
}

/* A tool that starts many copies and waits for the last one divides the bytes
 * of all by the time until then, even if others are still under way. */
static ExpValue flow_work_rate(const ExpSubject *subject)
{
    __int128 bytes;
    SimTime time = exp_flow_work_time(subject, &bytes);

    return (ExpValue){bytes * SIM_S, time, NULL};
}

static ExpValue flow_rate(const ExpSubject *subject)
{
    FabFlowResult result = flow_result(subject);

    return (ExpValue){(__int128)(result.operations - result.failed) * SIM_S,
                      result.end - result.begin, NULL};
}

/* Returns the subject's statistic of @latency (nullable). */
static ExpValue statistic_of(const ExpSubject *subject,
                             const SimHistogram *latency)
{
    if (!latency || sim_histogram_count(latency) == 0) {
        return (ExpValue){0, 0, NULL};
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
        return (ExpValue){sim_histogram_sum(latency),
                          sim_histogram_count(latency), NULL};
    }
}

ExpValue exp_flow_latency_mean(const FabFlow *flow)
{
    FabFlowSkipped skipped;
    FabFlowResult result;

    fab_flow_result(flow, &result);
    fab_flow_skipped(flow, &skipped);
    return (ExpValue){
        sim_histogram_sum(result.latency) + (__int128)skipped.latency_sum,
        sim_histogram_count(result.latency) + skipped.operations, NULL};
}

static ExpValue flow_latency(const ExpSubject *subject)
{
    if (subject->statistic == TOPO_STATISTIC_NONE ||
        subject->statistic == TOPO_STATISTIC_MEAN) {
        return exp_flow_latency_mean(subject->flow);
    }
    return statistic_of(subject, flow_result(subject).latency);
}

/* Values of replays; flows of other kinds have none. */
#define REPLAY(NAME, KIND)                                                     \
    static ExpValue replay_##NAME(const ExpSubject *subject)                   \
    {                                                                          \
        return statistic_of(subject, fab_replay_flow_latency(                  \
                                         subject->flow, FAB_REPLAY_##KIND));   \
    }                                                                          \
    static ExpValue replay_##NAME##s(const ExpSubject *subject)                \
    {                                                                          \
        const SimHistogram *latency =                                          \
            fab_replay_flow_latency(subject->flow, FAB_REPLAY_##KIND);         \
                                                                               \
        return (ExpValue){latency ? sim_histogram_count(latency) : 0,          \
                          !!latency, NULL};                                    \
    }

REPLAY(cpu_read, CPU_READ)
REPLAY(cpu_write, CPU_WRITE)
REPLAY(dma_read, DMA_READ)
REPLAY(dma_write, DMA_WRITE)
REPLAY(interrupt, INTERRUPT)

/* A short operation is a fast one. So the 99th percentile of the speed is the
 * 1st of the latency, and the least speed is that of the longest latency. */
static ExpValue flow_speed(const ExpSubject *subject)
{
    const SimHistogram *latency = flow_result(subject).latency;
    uint64_t count = latency ? sim_histogram_count(latency) : 0;
    __int128 work = (__int128)topo_flow_size_bytes(subject->described) * SIM_S;
    uint64_t time;

    if (count == 0) {
        return (ExpValue){0, 0, NULL};
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
    default: {
        ExpValue mean = exp_flow_latency_mean(subject->flow);

        return (ExpValue){work * mean.den, mean.num, NULL};
    }
    }
    return (ExpValue){work, time, NULL};
}

/* Returns the mean time of a stage; there is no value if the flow has no
 * stages. */
static ExpValue stage_mean(const ExpSubject *subject, FabNvmeStage stage)
{
    const SimTime *stages = fab_nvme_flow_stages(subject->flow);
    const SimHistogram *latency = flow_result(subject).latency;

    return (ExpValue){stages ? stages[stage] : 0,
                      stages ? sim_histogram_count(latency) : 0, NULL};
}

#define STAGE(NAME, STAGE)                                                     \
    static ExpValue stage_##NAME(const ExpSubject *subject)                    \
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

/* Values of TCP flows; flows of other kinds have none. */
#define TCP(NAME, NUMERATOR, DENOMINATOR)                                      \
    static ExpValue tcp_##NAME(const ExpSubject *subject)                      \
    {                                                                          \
        FabTcpFlowStats stats;                                                 \
                                                                               \
        if (!fab_tcp_flow_stats(subject->flow, &stats)) {                      \
            return (ExpValue){0, 0, NULL};                                     \
        }                                                                      \
        return (ExpValue){stats.NUMERATOR, DENOMINATOR, NULL};                 \
    }

TCP(send_cores, send_busy, stats.time)
TCP(receive_cores, receive_busy, stats.time)
TCP(retransmits, retransmits, 1)
TCP(timeouts, timeouts, 1)
TCP(accepted_bytes, accepted_bytes, 1)
TCP(duplicate_bytes, duplicate_bytes, 1)
TCP(direct_bytes, direct_bytes, 1)
TCP(linear_bytes, linear_bytes, 1)
TCP(host_bytes, host_bytes, 1)
TCP(held_tokens, devmem.most_held, 1)

static ExpValue flow_operations(const ExpSubject *subject)
{
    return number(flow_result(subject).operations);
}

static ExpValue flow_failed(const ExpSubject *subject)
{
    return number(flow_result(subject).failed);
}

static ExpValue flow_bytes(const ExpSubject *subject)
{
    return number(flow_result(subject).bytes);
}

static ExpValue flow_time(const ExpSubject *subject)
{
    FabFlowResult result = flow_result(subject);

    return number(result.end - result.begin);
}

static ExpValue path_hops(const ExpSubject *subject)
{
    return number(subject->path->hops);
}

static ExpValue path_roots(const ExpSubject *subject)
{
    return number(subject->path->roots);
}

static ExpValue path_latency(const ExpSubject *subject)
{
    return number(subject->path->time_ps);
}

static ExpValue path_round_trip(const ExpSubject *subject)
{
    const ExpPath *path = subject->path;

    return (ExpValue){path->round_trip_ps, path->round_trip_ps > 0, NULL};
}

static ExpValue path_text(const ExpSubject *subject)
{
    return (ExpValue){0, 0, subject->path->text};
}

static ExpValue flow_mode(const ExpSubject *subject)
{
    return (ExpValue){0, 0,
                      topo_flow_uses_ram(subject->described) ? "RAM" : "P2P"};
}

static ExpValue path_mode(const ExpSubject *subject)
{
    bool has_ram = strstr(subject->path->text, "root+ram");

    return (ExpValue){0, 0, has_ram ? "RAM" : "P2P"};
}

static ExpValue fabric_hops(const ExpSubject *subject)
{
    return number(fab_fabric_tlp_hops(exp_fabric(subject->fabric)));
}

static ExpValue fabric_unsupported(const ExpSubject *subject)
{
    return number(fab_fabric_unsupported(exp_fabric(subject->fabric)));
}

/* Each flow by itself, so flows of different length count alike. */
static ExpValue fabric_flow_bandwidths(const ExpSubject *subject)
{
    __int128 sum = 0;

    for (unsigned i = 0; i < subject->flows->len; i++) {
        FabFlowResult result;

        if (!subject->flows->pdata[i]) {
            continue;
        }
        fab_flow_result(subject->flows->pdata[i], &result);
        if (result.data_time > 0) {
            sum += (__int128)result.bytes * SIM_S / result.data_time;
        }
    }
    return number(sum);
}

static ExpValue fabric_time(const ExpSubject *subject)
{
    return number(sim_engine_now(exp_engine(subject->fabric)) +
                  fab_flows_skipped(exp_fabric(subject->fabric)));
}

/* ---- Elements --------------------------------------------------------- */

#define PORT_SUM(FIELD)                                                        \
    static ExpValue port_##FIELD(const ExpSubject *subject)                    \
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
PORT_SUM(bad_tlps)
PORT_SUM(naks_sent)
PORT_SUM(replayed_tlps)
PORT_SUM(replay_timeouts)
PORT_SUM(retrains)
PORT_SUM(unsupported_requests)
PORT_SUM(completer_aborts)
PORT_SUM(unexpected_completions)
PORT_SUM(completion_timeouts)
PORT_SUM(poisoned_tlps)
PORT_SUM(malformed_tlps)
PORT_SUM(receiver_overflows)
PORT_SUM(surprise_downs)
PORT_SUM(dpc_triggers)
PORT_SUM(lost_tlps)

/* A port receives all that its peer has sent. */
static ExpValue port_wire_received_bytes(const ExpSubject *subject)
{
    const FabComponent *component = subject->component;
    uint64_t sum = 0;

    for (unsigned i = 0; i < fab_component_port_count(component); i++) {
        const FabPort *peer = fab_port_peer(fab_component_port(component, i));

        sum += peer ? fab_port_counters(peer)->wire_sent_bytes : 0;
    }
    return number(sum);
}

static ExpValue port_tlps_sent(const ExpSubject *subject)
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
    static ExpValue PREFIX##_##FIELD(const ExpSubject *subject)                \
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
    static ExpValue iommu_##FIELD(const ExpSubject *subject)                   \
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
IOMMU_COUNTER(l2_hits)

COUNTER(root, invalidations, fab_root_counters(ROOT))
COUNTER(root, ats_blocked, fab_root_counters(ROOT))

#define NTB fab_ntb_counters(fab_component_as_ntb(subject->component))
COUNTER(ntb, translated, NTB)
COUNTER(ntb, unmapped, NTB)
COUNTER(ntb, unknown_requester, NTB)
COUNTER(ntb, tag_waits, NTB)

static ExpValue ntb_entries_used(const ExpSubject *subject)
{
    return number(
        fab_ntb_used_entries(fab_component_as_ntb(subject->component)));
}

static ExpValue ntb_entries_free(const ExpSubject *subject)
{
    return number(
        fab_ntb_free_entries(fab_component_as_ntb(subject->component)));
}

static const FabLend *lend_of(const ExpSubject *subject)
{
    return fab_lend_of(fab_component_as_endpoint(subject->component));
}

static ExpValue device_window_bytes(const ExpSubject *subject)
{
    const FabLend *lend = lend_of(subject);

    return number(lend ? fab_lend_window_bytes(lend) : 0);
}

static ExpValue device_window_mapped_bytes(const ExpSubject *subject)
{
    const FabLend *lend = lend_of(subject);

    return number(lend ? fab_lend_counters(lend)->most_bytes : 0);
}

static ExpValue device_no_room(const ExpSubject *subject)
{
    const FabLend *lend = lend_of(subject);

    return number(lend ? fab_lend_counters(lend)->no_room : 0);
}

#define DEVICE                                                                 \
    fab_endpoint_counters(fab_component_as_endpoint(subject->component))
COUNTER(device, read_bytes, DEVICE)
COUNTER(device, written_bytes, DEVICE)
COUNTER(device, served_bytes, DEVICE)
COUNTER(device, failed_reads, DEVICE)
COUNTER(device, tag_wait_ps, DEVICE)

#define ATC(FIELD)                                                             \
    static ExpValue atc_##FIELD(const ExpSubject *subject)                     \
    {                                                                          \
        const FabAtcCounters *counters = fab_endpoint_atc_counters(            \
            fab_component_as_endpoint(subject->component));                    \
                                                                               \
        return number(counters ? counters->FIELD : 0);                         \
    }

ATC(hits)
ATC(misses)
ATC(requests)
ATC(invalidations)

/* Values of NICs; other devices have none. */
#define NIC(FIELD)                                                             \
    static ExpValue nic_##FIELD(const ExpSubject *subject)                     \
    {                                                                          \
        const FabNic *nic =                                                    \
            fab_nic_of(fab_component_as_endpoint(subject->component));         \
                                                                               \
        return (ExpValue){nic ? fab_nic_counters(nic)->FIELD : 0, !!nic,       \
                          NULL};                                               \
    }

NIC(rx_packets)
NIC(tx_packets)
NIC(rx_header_bytes)
NIC(rx_payload_bytes)
NIC(rx_linear_bytes)
NIC(rx_descriptors)
NIC(tx_descriptors)
NIC(rx_completions)
NIC(tx_completions)
NIC(interrupts)
NIC(doorbells)
NIC(no_space)
NIC(no_descriptor)

const ExpMetric exp_metrics[] = {
    {"bandwidth", EXP_SCOPE_FLOW, MEASURE, flow_bandwidth,
     "bytes that arrived per second, from warmup:, or the start of the first "
     "operation, to stop:, or the end of the last"},
    {"work_rate", EXP_SCOPE_FLOW, MEASURE, flow_work_rate,
     "bytes of all flows, by the time from the first operation of any to the "
     "end of this flow, per second"},
    {"rate", EXP_SCOPE_FLOW, MEASURE, flow_rate,
     "operations per second that did not fail"},
    {"latency", EXP_SCOPE_FLOW, DISTRIBUTION, flow_latency,
     "time of an operation, in ps; .mean, .p50, .p99, .min or .max may follow"},
    {"speed", EXP_SCOPE_FLOW, DISTRIBUTION, flow_speed,
     "size of an operation over its latency, in bytes per second; .mean uses "
     "the mean latency"},
    {"stage_submit", EXP_SCOPE_FLOW, MEASURE, stage_submit,
     "kind nvme only, like all stages: mean time in ps that the driver's "
     "stores and its doorbell take"},
    {"stage_doorbell", EXP_SCOPE_FLOW, MEASURE, stage_doorbell,
     "mean time in ps that the doorbell takes to the drive: one crossing"},
    {"stage_fetch", EXP_SCOPE_FLOW, MEASURE, stage_fetch,
     "mean time in ps to fetch the queue entry: two crossings"},
    {"stage_list", EXP_SCOPE_FLOW, MEASURE, stage_list,
     "mean time in ps to fetch the PRP list, if there is one: two crossings"},
    {"stage_media", EXP_SCOPE_FLOW, MEASURE, stage_media,
     "mean time in ps that the controller and the media take"},
    {"stage_data", EXP_SCOPE_FLOW, MEASURE, stage_data,
     "mean time in ps for the rest of the data; for a write two crossings"},
    {"stage_completion", EXP_SCOPE_FLOW, MEASURE, stage_completion,
     "mean time in ps that the completion entry takes, behind the data: one "
     "crossing"},
    {"stage_notice", EXP_SCOPE_FLOW, MEASURE, stage_notice,
     "mean time in ps until the driver notices, by polling or an interrupt"},
    {"cpu_read", EXP_SCOPE_FLOW, DISTRIBUTION, replay_cpu_read,
     "kind replay only, as the next ones: time of a CPU's read, in ps"},
    {"cpu_write", EXP_SCOPE_FLOW, DISTRIBUTION, replay_cpu_write,
     "time from a CPU's write, doorbell or message until it can be seen"},
    {"dma_read", EXP_SCOPE_FLOW, DISTRIBUTION, replay_dma_read,
     "time of a device's read"},
    {"dma_write", EXP_SCOPE_FLOW, DISTRIBUTION, replay_dma_write,
     "time from a device's write until it can be seen"},
    {"interrupt", EXP_SCOPE_FLOW, DISTRIBUTION, replay_interrupt,
     "the same of an MSI"},
    {"cpu_reads", EXP_SCOPE_FLOW, NUMBER, replay_cpu_reads,
     "number of reads by CPUs"},
    {"cpu_writes", EXP_SCOPE_FLOW, NUMBER, replay_cpu_writes,
     "number of writes by CPUs"},
    {"dma_reads", EXP_SCOPE_FLOW, NUMBER, replay_dma_reads,
     "number of reads by devices"},
    {"dma_writes", EXP_SCOPE_FLOW, NUMBER, replay_dma_writes,
     "number of writes by devices"},
    {"interrupts", EXP_SCOPE_FLOW, NUMBER, replay_interrupts, "number of MSIs"},
    {"send_cores", EXP_SCOPE_FLOW, NUMBER, tcp_send_cores,
     "kinds tcp-host and tcp-devmem only, as the next ones: mean number of the "
     "sender's cores at work; scale it by 0.01 for percent of a core"},
    {"receive_cores", EXP_SCOPE_FLOW, NUMBER, tcp_receive_cores,
     "the same of the receiver"},
    {"retransmits", EXP_SCOPE_FLOW, NUMBER, tcp_retransmits,
     "segments that were sent again, from the start on, as the next ones"},
    {"timeouts", EXP_SCOPE_FLOW, NUMBER, tcp_timeouts,
     "retransmission time-outs"},
    {"accepted_bytes", EXP_SCOPE_FLOW, NUMBER, tcp_accepted_bytes,
     "payload that TCP has accepted, each byte once"},
    {"duplicate_bytes", EXP_SCOPE_FLOW, NUMBER, tcp_duplicate_bytes,
     "payload that came in again, and was discarded"},
    {"direct_bytes", EXP_SCOPE_FLOW, NUMBER, tcp_direct_bytes,
     "payload that the user got in the dmabuf"},
    {"linear_bytes", EXP_SCOPE_FLOW, NUMBER, tcp_linear_bytes,
     "payload of packets that the NIC did not split"},
    {"host_bytes", EXP_SCOPE_FLOW, NUMBER, tcp_host_bytes,
     "payload that came by way of RAM"},
    {"held_tokens", EXP_SCOPE_FLOW, NUMBER, tcp_held_tokens,
     "most tokens that the user had at the same time"},
    {"operations", EXP_SCOPE_FLOW, NUMBER, flow_operations,
     "operations that have ended since warmup:, failed ones included"},
    {"failed", EXP_SCOPE_FLOW, NUMBER, flow_failed,
     "operations that ended with UR, CA or a completion time-out"},
    {"bytes", EXP_SCOPE_FLOW, NUMBER, flow_bytes, "bytes moved"},
    {"time", EXP_SCOPE_FLOW, NUMBER, flow_time,
     "from warmup:, or the start of the first operation, to stop:, or the end "
     "of the last, in ps"},
    {"mode", EXP_SCOPE_FLOW, TEXT, flow_mode,
     "RAM if the data go to, from or through RAM, else P2P"},
    {"hops", EXP_SCOPE_PATH, NUMBER, path_hops,
     "number of elements between the ends"},
    {"roots", EXP_SCOPE_PATH, NUMBER, path_roots,
     "number of roots among the hops"},
    {"latency", EXP_SCOPE_PATH, NUMBER, path_latency,
     "time of all legs, in ps"},
    {"round_trip", EXP_SCOPE_PATH, NUMBER, path_round_trip,
     "time of the read, in ps; empty if there is none"},
    {"path", EXP_SCOPE_PATH, TEXT, path_text,
     "kinds of the elements on the way, in order"},
    {"mode", EXP_SCOPE_PATH, TEXT, path_mode,
     "RAM if the data rest in RAM on the way or at an end, else P2P"},
    {"tlp_hops", EXP_SCOPE_FABRIC, NUMBER, fabric_hops,
     "links crossed, summed over all TLPs"},
    {"flow_bandwidths", EXP_SCOPE_FABRIC, NUMBER, fabric_flow_bandwidths,
     "sum of the bandwidths of all flows, each over its own time"},
    {"unsupported", EXP_SCOPE_FABRIC, NUMBER, fabric_unsupported,
     "requests that nothing claimed, and unexpected completions"},
    {"time", EXP_SCOPE_FABRIC, NUMBER, fabric_time, "simulated time, in ps"},
    {"tlps_sent", ELEMENT, COUNT, port_tlps_sent, "TLPs sent by all its ports"},
    {"payload_sent_bytes", ELEMENT, COUNT, port_payload_sent_bytes,
     "payload of the TLPs that it sent, in bytes"},
    {"wire_sent_bytes", ELEMENT, COUNT, port_wire_sent_bytes,
     "all bytes of the TLPs that it sent, as they are on the wire"},
    {"wire_received_bytes", ELEMENT, COUNT, port_wire_received_bytes,
     "the same of the TLPs sent to it"},
    {"dllps_sent", ELEMENT, COUNT, port_dllps_sent,
     "Ack and UpdateFC DLLPs sent by all its ports"},
    {"credit_wait_ps", ELEMENT, COUNT, port_credit_wait_ps,
     "time that its ports waited for credits, in ps"},
    {"bad_tlps", ELEMENT, COUNT, port_bad_tlps,
     "TLPs that came in with a wrong LCRC"},
    {"naks_sent", ELEMENT, COUNT, port_naks_sent, "Nak DLLPs sent"},
    {"replayed_tlps", ELEMENT, COUNT, port_replayed_tlps,
     "TLPs that it sent again"},
    {"replay_timeouts", ELEMENT, COUNT, port_replay_timeouts,
     "replay timers that ended without an Ack"},
    {"retrains", ELEMENT, COUNT, port_retrains,
     "times that its REPLAY_NUM rolled over, so that the link retrained"},
    {"unsupported_requests", ELEMENT, COUNT, port_unsupported_requests,
     "requests that it answered with UR, or dropped if they were posted"},
    {"completer_aborts", ELEMENT, COUNT, port_completer_aborts,
     "requests that it answered with CA"},
    {"unexpected_completions", ELEMENT, COUNT, port_unexpected_completions,
     "completions for which it had no request"},
    {"completion_timeouts", ELEMENT, COUNT, port_completion_timeouts,
     "its requests whose completions did not all come in time"},
    {"poisoned_tlps", ELEMENT, COUNT, port_poisoned_tlps,
     "TLPs that came in poisoned"},
    {"malformed_tlps", ELEMENT, COUNT, port_malformed_tlps,
     "TLPs that came in with more payload than its Max_Payload_Size"},
    {"receiver_overflows", ELEMENT, COUNT, port_receiver_overflows,
     "TLPs that came in and found no space in the buffer"},
    {"surprise_downs", ELEMENT, COUNT, port_surprise_downs,
     "times that a link below it went down without warning"},
    {"dpc_triggers", ELEMENT, COUNT, port_dpc_triggers,
     "times that one of its ports contained what is below it (DPC)"},
    {"lost_tlps", ELEMENT, COUNT, port_lost_tlps,
     "TLPs lost on the way from it because a link was or went down"},
    {"memory_read_bytes", EXP_SCOPE_ROOT, COUNT, root_memory_read_bytes,
     "bytes read from its RAM"},
    {"memory_written_bytes", EXP_SCOPE_ROOT, COUNT, root_memory_written_bytes,
     "bytes written to its RAM"},
    {"forwarded_reads", EXP_SCOPE_ROOT, COUNT, root_forwarded_reads,
     "read requests forwarded from root port to root port"},
    {"forwarded_writes", EXP_SCOPE_ROOT, COUNT, root_forwarded_writes,
     "write requests forwarded from root port to root port"},
    {"forward_wait_ps", EXP_SCOPE_ROOT, COUNT, root_forward_wait_ps,
     "time that reads waited for a tag to be forwarded, in ps"},
    {"iotlb_hits", EXP_SCOPE_ROOT, COUNT, iommu_hits,
     "requests whose translation is in the IOTLB"},
    {"iotlb_misses", EXP_SCOPE_ROOT, COUNT, iommu_misses,
     "requests whose translation is not in the IOTLB"},
    {"iommu_walks", EXP_SCOPE_ROOT, COUNT, iommu_walks, "page walks made"},
    {"iommu_faults", EXP_SCOPE_ROOT, COUNT, iommu_faults,
     "requests to an address that is not mapped"},
    {"iommu_wait_ps", EXP_SCOPE_ROOT, COUNT, iommu_wait_ps,
     "time that misses waited for a free page walker, in ps"},
    {"iotlb_l2_hits", EXP_SCOPE_ROOT, COUNT, iommu_l2_hits,
     "of iotlb_misses, those that the second level had"},
    {"invalidations", EXP_SCOPE_ROOT, COUNT, root_invalidations,
     "invalidations that its IOMMU worked through"},
    {"ats_blocked", EXP_SCOPE_ROOT, COUNT, root_ats_blocked,
     "translated requests, and Translation Requests, of devices without ATS"},
    {"translated", EXP_SCOPE_NTB, COUNT, ntb_translated,
     "requests that were translated by the window"},
    {"unmapped", EXP_SCOPE_NTB, COUNT, ntb_unmapped,
     "requests to a window entry that is not mapped"},
    {"unknown_requester", EXP_SCOPE_NTB, COUNT, ntb_unknown_requester,
     "requests whose Requester ID is not in the requester-ID table"},
    {"tag_waits", EXP_SCOPE_NTB, COUNT, ntb_tag_waits,
     "non-posted requests that waited for a tag"},
    {"entries_used", EXP_SCOPE_NTB, NUMBER, ntb_entries_used,
     "mapping entries in use"},
    {"entries_free", EXP_SCOPE_NTB, NUMBER, ntb_entries_free,
     "mapping entries neither in use nor reserved"},
    {"window_bytes", EXP_SCOPE_DEVICE, NUMBER, device_window_bytes,
     "size of its DMA window; 0 if the device is not lent"},
    {"window_mapped_bytes", EXP_SCOPE_DEVICE, NUMBER,
     device_window_mapped_bytes,
     "most bytes of the DMA window that were mapped at the same time"},
    {"no_room", EXP_SCOPE_DEVICE, COUNT, device_no_room,
     "mappings that failed for lack of space in the DMA window"},
    {"read_bytes", EXP_SCOPE_DEVICE, COUNT, device_read_bytes,
     "bytes read by its DMA engine"},
    {"written_bytes", EXP_SCOPE_DEVICE, COUNT, device_written_bytes,
     "bytes written by its DMA engine"},
    {"served_bytes", EXP_SCOPE_DEVICE, COUNT, device_served_bytes,
     "bytes that others read and wrote through its BARs"},
    {"failed_reads", EXP_SCOPE_DEVICE, COUNT, device_failed_reads,
     "read requests of its DMA engine that ended with UR, CA or a "
     "completion time-out"},
    {"tag_wait_ps", EXP_SCOPE_DEVICE, COUNT, device_tag_wait_ps,
     "time that reads of its DMA engine waited for a tag, in ps"},
    {"atc_hits", EXP_SCOPE_DEVICE, COUNT, atc_hits,
     "with ATS, as the next ones: requests whose translation is in the ATC"},
    {"atc_misses", EXP_SCOPE_DEVICE, COUNT, atc_misses,
     "requests whose translation is not there"},
    {"atc_requests", EXP_SCOPE_DEVICE, COUNT, atc_requests,
     "Translation Requests that it sent"},
    {"atc_invalidations", EXP_SCOPE_DEVICE, COUNT, atc_invalidations,
     "Invalidate Requests that it got"},
    {"rx_packets", EXP_SCOPE_DEVICE, COUNT, nic_rx_packets,
     "NICs only, as the next ones: packets written to memory"},
    {"tx_packets", EXP_SCOPE_DEVICE, COUNT, nic_tx_packets, "packets sent"},
    {"rx_header_bytes", EXP_SCOPE_DEVICE, COUNT, nic_rx_header_bytes,
     "headers that it split off and wrote, in bytes"},
    {"rx_payload_bytes", EXP_SCOPE_DEVICE, COUNT, nic_rx_payload_bytes,
     "payload that it split off and wrote, in bytes"},
    {"rx_linear_bytes", EXP_SCOPE_DEVICE, COUNT, nic_rx_linear_bytes,
     "bytes of packets that it wrote as a whole"},
    {"rx_descriptors", EXP_SCOPE_DEVICE, COUNT, nic_rx_descriptors,
     "receive descriptors fetched"},
    {"tx_descriptors", EXP_SCOPE_DEVICE, COUNT, nic_tx_descriptors,
     "transmit descriptors fetched"},
    {"rx_completions", EXP_SCOPE_DEVICE, COUNT, nic_rx_completions,
     "completion entries written for packets that came in"},
    {"tx_completions", EXP_SCOPE_DEVICE, COUNT, nic_tx_completions,
     "completion entries written for packets sent"},
    {"interrupts", EXP_SCOPE_DEVICE, COUNT, nic_interrupts,
     "MSI-X messages sent"},
    {"doorbells", EXP_SCOPE_DEVICE, COUNT, nic_doorbells,
     "writes of its doorbells by the CPU"},
    {"no_space", EXP_SCOPE_DEVICE, COUNT, nic_no_space,
     "packets dropped for lack of space on the chip"},
    {"no_descriptor", EXP_SCOPE_DEVICE, COUNT, nic_no_descriptor,
     "packets dropped because no receive descriptor was posted"},
};

const unsigned exp_metric_count = G_N_ELEMENTS(exp_metrics);

const ExpMetric *exp_metric_find(ExpScope scope, const char *name)
{
    for (unsigned i = 0; i < exp_metric_count; i++) {
        if (exp_metrics[i].scopes & scope &&
            strcmp(exp_metrics[i].name, name) == 0) {
            return &exp_metrics[i];
        }
    }
    return NULL;
}

bool exp_metric_is_count(const ExpMetric *metric)
{
    return metric->kind == COUNT;
}

bool exp_metric_is_text(const ExpMetric *metric)
{
    return metric->kind == TEXT;
}

bool exp_metric_is_distribution(const ExpMetric *metric)
{
    return metric->kind == DISTRIBUTION;
}

ExpValue exp_metric_get(const ExpMetric *metric, const ExpSubject *subject)
{
    return metric->get(subject);
}

bool exp_metric_has_failed(const ExpMetric *metric, const ExpSubject *subject)
{
    return subject->flow &&
           (metric->kind == MEASURE || metric->kind == DISTRIBUTION) &&
           flow_result(subject).has_failed;
}
