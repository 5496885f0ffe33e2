/* SPDX-License-Identifier: MIT */
#include "exp_lend.h"

#include "dl_window.h"
#include "exp_errors_priv.h"
#include "exp_lend_priv.h"
#include "fab_lend.h"

/* GPUs are known to need larger windows than other devices. */
uint32_t exp_lend_weight(const TopoDevice *device)
{
    return topo_part_kind(device->part) == TOPO_PART_GPU
               ? DLEND_WEIGHT_ACCELERATOR
               : DLEND_WEIGHT;
}

static FabEndpoint *lent_device(const ExpFabric *fabric, const TopoLend *lend)
{
    return fab_component_as_endpoint(exp_device(fabric, lend->device));
}

static void borrow(ExpFabric *fabric, const TopoLend *lend, TopoErrors *errors)
{
    FabLendParams params = {
        .device = lent_device(fabric, lend),
        .borrower = fab_component_as_root(exp_host(fabric, lend->to)),
        .window_bytes = lend->window_bytes,
        .vm = lend->vm,
        .mapped_msi = lend->mapped_msi,
        .guest = lend->guest,
        .no_p2p = lend->device->is_fabric_attached,
    };
    GError *error = NULL;

    if (!fab_lend_borrow(&params, &error)) {
        exp_errors_take(errors, lend->place, error);
    }
}

/* Orders P2P as the loan says. A loan that could not be made has none. */
static void order(ExpFabric *fabric, const TopoLend *lend, TopoErrors *errors)
{
    FabLend *lent = fab_lend_of(lent_device(fabric, lend));
    GError *error = NULL;

    if (!lent || !lend->has_orders) {
        return;
    }
    fab_lend_order_p2p(lent, NULL, NULL);
    for (unsigned i = 0; i < lend->p2p->len; i++) {
        if (!fab_lend_order_p2p(lent, exp_device(fabric, lend->p2p->pdata[i]),
                                &error)) {
            exp_errors_take(errors, lend->place, error);
            return;
        }
    }
}

/* Returns true if the window gets a share of the space that is left. */
static bool is_automatic(const TopoLend *lend)
{
    return lend->window_auto && lend->to->iommu && !lend->vm;
}

void exp_lend_all(ExpFabric *fabric, const TopoDescription *description,
                  TopoErrors *errors)
{
    const GPtrArray *lends = description->lends;

    for (unsigned i = 0; i < lends->len; i++) {
        const TopoLend *lend = lends->pdata[i];

        fab_lend_offer(lent_device(fabric, lend),
                       exp_lend_weight(lend->device));
    }
    /* The order of loans in a description has no meaning. So windows of a given
     * size are made first, and the automatic ones share what is left. */
    for (unsigned pass = 0; pass < 2; pass++) {
        for (unsigned i = 0; i < lends->len; i++) {
            const TopoLend *lend = lends->pdata[i];

            if (is_automatic(lend) == (pass == 1)) {
                borrow(fabric, lend, errors);
            }
        }
    }
    for (unsigned i = 0; i < lends->len; i++) {
        order(fabric, lends->pdata[i], errors);
    }
}
