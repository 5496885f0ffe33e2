/* SPDX-License-Identifier: MIT */
#include "exp_lend.h"

#include "exp_lend_priv.h"
#include "fab_lend.h"

/* GPUs are known to need large windows. */
uint32_t exp_lend_weight(const TopoDevice *device)
{
    return topo_part_kind(device->part) == TOPO_PART_GPU ? FAB_LEND_WEIGHT_GPU
                                                         : FAB_LEND_WEIGHT;
}

static FabEndpoint *lent_device(const ExpFabric *fabric, const TopoLend *lend)
{
    return fab_component_as_endpoint(exp_device(fabric, lend->device));
}

static bool borrow(ExpFabric *fabric, const TopoLend *lend, GError **error)
{
    FabLendParams params = {
        .device = lent_device(fabric, lend),
        .borrower = fab_component_as_root(exp_host(fabric, lend->to)),
        .window_bytes = lend->window_bytes,
        .vm = lend->vm,
    };

    if (!fab_lend_borrow(&params, error)) {
        g_autofree char *place = topo_place_to_string(lend->place);

        g_prefix_error(error, "%s: ", place);
        return false;
    }
    return true;
}

/* Returns true if the size of the window depends on what others leave. */
static bool is_automatic(const TopoLend *lend)
{
    return lend->window_auto && lend->to->iommu && !lend->vm;
}

bool exp_lend_all(ExpFabric *fabric, const TopoDescription *description,
                  GError **error)
{
    const GPtrArray *lends = description->lends;

    for (unsigned i = 0; i < lends->len; i++) {
        const TopoLend *lend = lends->pdata[i];

        fab_lend_offer(lent_device(fabric, lend),
                       exp_lend_weight(lend->device));
    }
    /* A description does not say in which order devices are borrowed. Windows
     * of a given size are made first; automatic ones share the rest. */
    for (unsigned pass = 0; pass < 2; pass++) {
        for (unsigned i = 0; i < lends->len; i++) {
            const TopoLend *lend = lends->pdata[i];

            if (is_automatic(lend) == (pass == 1) &&
                !borrow(fabric, lend, error)) {
                return false;
            }
        }
    }
    return true;
}
