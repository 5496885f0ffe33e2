/* SPDX-License-Identifier: MIT */
#include "exp_failure_priv.h"

#include "fab_account.h"
#include "fab_flow_observe.h"
#include "topo_units.h"

#define PLACES_MOST 4 /* of a flow */

static const char *const reasons[FAB_LOSS_CAUSES] = {
    [FAB_LOSS_UNSUPPORTED] = "nothing has this address (Unsupported Request)",
    [FAB_LOSS_ABORTED] = "the requests were aborted (Completer Abort)",
    [FAB_LOSS_NOT_MAPPED] =
        "the IOMMU maps nothing there (Unsupported Request)",
    [FAB_LOSS_BLOCKED] = "translated requests of a requester without ATS "
                         "(Unsupported Request)",
    [FAB_LOSS_NOT_FORWARDED] = "this root does not forward them between its "
                               "ports (p2p of its part)",
    [FAB_LOSS_UNEXPECTED] = "completions whose requests were over "
                            "(Unexpected Completion)",
    [FAB_LOSS_POISONED] = "the data were poisoned",
    [FAB_LOSS_MALFORMED] = "the payload is larger than its Max_Payload_Size "
                           "(Malformed TLP); set mps_policy of the host to "
                           "joined, safe or peer2peer",
    [FAB_LOSS_LINK_DOWN] = "the link was down",
    [FAB_LOSS_OVERFLOW] = "no space in the receive buffer (Receiver Overflow)",
    [FAB_LOSS_TIMED_OUT] = "no completion came in time (Completion Timeout)",
    [FAB_LOSS_NO_ADDRESS] = "the buffer has no address, because its mapping "
                            "failed",
};

static void add_place(GString *note, const FabLoss *loss)
{
    g_autofree char *since = topo_units_format(TOPO_UNIT_TIME, loss->since);

    g_string_append_printf(note, "; at %s %" G_GUINT64_FORMAT " %s failed",
                           fab_component_name(loss->component), loss->tlps,
                           loss->is_read
                               ? (loss->tlps == 1 ? "read" : "reads")
                               : (loss->tlps == 1 ? "write" : "writes"));
    if (loss->cause != FAB_LOSS_NO_ADDRESS) {
        g_string_append_printf(
            note, ", the first for 0x%" G_GINT64_MODIFIER "x at %s", loss->addr,
            since);
    }
    g_string_append_printf(note, ": %s", reasons[loss->cause]);
}

char *exp_failure_places(const FabFabric *fabric, uint32_t number)
{
    GString *text = g_string_new(NULL);
    unsigned count, places = 0;
    const FabLoss *losses = fab_account_losses(fabric, &count);

    for (unsigned i = 0; i < count; i++) {
        if (losses[i].flow == number && places++ < PLACES_MOST) {
            add_place(text, &losses[i]);
        }
    }
    if (places > PLACES_MOST) {
        g_string_append_printf(text, "; and at %u more places",
                               places - PLACES_MOST);
    }
    return g_string_free(text, FALSE);
}

static void add_flow(GString *note, const FabFabric *fabric,
                     const FabFlow *flow, const FabFlowResult *result)
{
    g_autofree char *places = exp_failure_places(fabric, fab_flow_number(flow));

    g_string_append_printf(note,
                           "%sflow %s: %" G_GUINT64_FORMAT
                           " of %" G_GUINT64_FORMAT " operation%s failed",
                           note->len ? "; " : "", fab_flow_name(flow),
                           result->failed, result->operations,
                           result->operations == 1 ? "" : "s");
    if (result->lost_bytes > 0) {
        g_string_append_printf(note,
                               ", %" G_GUINT64_FORMAT " of %" G_GUINT64_FORMAT
                               " bytes did not arrive",
                               result->lost_bytes, result->sent_bytes);
    }
    g_string_append(note, places);
}

static bool has_loss(const FabFabric *fabric, const FabFlow *flow)
{
    unsigned count;
    const FabLoss *losses = fab_account_losses(fabric, &count);

    for (unsigned i = 0; i < count; i++) {
        if (losses[i].flow == fab_flow_number(flow)) {
            return true;
        }
    }
    return false;
}

char *exp_failure_note(const FabFabric *fabric, bool *ret_whole)
{
    const GPtrArray *flows = fab_flows(fabric);
    g_autoptr(GString) note = g_string_new(NULL);

    *ret_whole = false;
    for (unsigned i = 0; flows && i < flows->len; i++) {
        FabFlowResult result;

        fab_flow_result(flows->pdata[i], &result);
        *ret_whole |= result.has_failed;
        if (result.failed > 0 || has_loss(fabric, flows->pdata[i])) {
            add_flow(note, fabric, flows->pdata[i], &result);
        }
    }
    return note->len > 0 ? g_string_free(g_steal_pointer(&note), FALSE) : NULL;
}
