/* SPDX-License-Identifier: MIT */
#include "inv_report.h"

bool inv_view_append_json(GString *text, const Inventory *inventory,
                          InvView view, bool is_chosen, GError **error)
{
    const InvHost *host = inventory->hosts->pdata[0];
    bool is_one = inventory->hosts->len == 1;
    bool by_slot = view == INV_VIEW_SLOTS;
    g_autofree char *json = NULL;

    if (view != INV_VIEW_TYPES && view != INV_VIEW_SLOTS && !is_one) {
        g_set_error(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
                    "%s --json shows one host; add --host NAME",
                    view == INV_VIEW_CHOICES ? "--choices" : "--devices");
        return false;
    }
    switch (view) {
    case INV_VIEW_TYPES:
    case INV_VIEW_SLOTS:
        json = is_one && is_chosen ? inv_capabilities_to_json(host, by_slot)
                                   : inv_types_to_json(inventory, by_slot);
        break;
    case INV_VIEW_CHOICES:
        json = inv_choices_to_json(host);
        break;
    case INV_VIEW_DEVICES:
        json = inv_devices_to_json(host);
        break;
    case INV_VIEW_RAW:
        json = inv_raw_devices_to_json(host, error);
        break;
    }
    if (json) {
        g_string_append_printf(text, "%s\n", json);
    }
    return json;
}
