/* SPDX-License-Identifier: MIT */
/* The options of QEMU's object for virtual time. */
#include "clu_property.h"
#include "clu_timed_check.h"
#include "clu_timed_priv.h"

/* The times of the drive's part, for the filter. */
static void add_drive(GString *value, const CluPlanDevice *device)
{
    static const char *const times[] = {"nvme.overhead", "nvme.read_latency",
                                        "nvme.write_latency", "nvme.jitter"};
    static const char *const rates[] = {"nvme.read_bandwidth",
                                        "nvme.write_bandwidth"};
    const TopoPart *part = device->device->part;

    g_string_append_printf(value, ",drive=%s-disk", device->id);
    for (unsigned i = 0; i < G_N_ELEMENTS(times); i++) {
        g_string_append_printf(value, ":%" G_GINT64_FORMAT,
                               topo_part_time(part, times[i]));
    }
    for (unsigned i = 0; i < G_N_ELEMENTS(rates); i++) {
        g_string_append_printf(value, ":%" G_GINT64_FORMAT,
                               (int64_t)topo_part_rate(part, rates[i]));
    }
}

/* The faults that are left, or that still hold: others have come to earlier
 * processes of @host. In a branch, they are those of its own plan. */
static void add_faults(const CluTimed *timed, const CluPlanHost *host,
                       GString *value)
{
    unsigned count = timed->plan->description->faults->len;
    g_autofree TimedBoardEvents *events = g_new0(TimedBoardEvents, count + 1);

    for (unsigned i = 0; i < count; i++) {
        events[i] = timed_board_events(timed->board, i);
    }
    clu_faults_options(timed->plan, timed->plan->hosts->pdata[host->index],
                       CLU_TIMED_TRAINING_NS, events, value);
}

char *clu_timed_plugin(const CluTimed *timed, const CluPlanHost *host)
{
    g_autofree char *plugin = clu_property_escape(timed->plugin);
    GString *value = g_string_new(NULL);

    g_string_printf(value,
                    "%s,board=%d,machine=%u,block=%d,block=%d,control=%d,"
                    "monitor=qmp",
                    plugin, CLU_FD_BOARD, host->index, CLU_FD_CONSOLE,
                    CLU_FD_AGENT, CLU_FD_CONTROL);
    for (unsigned i = 0; i < host->devices->len; i++) {
        if (clu_timed_is_drive(host->devices->pdata[i])) {
            add_drive(value, host->devices->pdata[i]);
        }
    }
    add_faults(timed, host, value);
    if (timed->records) {
        g_autofree char *dir = clu_property_escape(timed->records);

        g_string_append_printf(value, ",steps=%s/%s.steps", dir,
                               host->host->name);
    }
    g_string_append_printf(
        value, ",instruction=%" G_GINT64_FORMAT ",pause=%" G_GINT64_FORMAT,
        host->host->vm->instruction_ps, host->host->vm->pause_ps);
    if (timed->slice_ns > 0) {
        g_string_append_printf(value, ",slice=%" G_GINT64_FORMAT,
                               timed->slice_ns);
    }
    if (timed->spins >= 0) {
        g_string_append_printf(value, ",spins=%d", timed->spins);
    }
    if (timed_board_limit(timed->board) > 0) {
        g_string_append_printf(value, ",start=%" G_GINT64_FORMAT,
                               timed_board_limit(timed->board));
    }
    return g_string_free(value, FALSE);
}
