/* SPDX-License-Identifier: MIT */
/* P2P from a borrowed device to another device of the borrower (section 6 of
 * the paper). */
#include "fab_lend_priv.h"

static LendTarget *target_find(const FabLend *lend,
                               const FabComponent *component,
                               unsigned *ret_index)
{
    for (unsigned i = 0; i < lend->targets->len; i++) {
        LendTarget *target = &g_array_index(lend->targets, LendTarget, i);

        if (target->component == component) {
            *ret_index = i;
            return target;
        }
    }
    return NULL;
}

void fab_lend_refuse_p2p(const FabLend *lend, GError **error)
{
    g_set_error(error, FAB_ERROR, FAB_ERROR_LENT,
                "%s is a Fabric Attached Device, and those take no part in "
                "peer-to-peer",
                lend_component(lend)->name);
}

/* The guest that has borrowed the device; NULL: none has. */
static const Guest *guest_of(const FabLend *lend)
{
    return lend->domain ? lend->domain->guest : NULL;
}

/* A borrowed device may access only the borrower's own devices and those that
 * the borrower has borrowed. */
static bool check_target(const FabLend *lend, FabComponent *component,
                         GError **error)
{
    FabEndpoint *device = fab_component_as_endpoint(component);
    const FabLend *other = device ? lend_find(lend->lending, component) : NULL;
    const char *borrower = fab_root_component(lend->borrower)->name;

    if (lend->no_p2p || (other && other->no_p2p)) {
        fab_lend_refuse_p2p(lend->no_p2p ? lend : other, error);
        return false;
    }
    if (other && (other->borrower != lend->borrower || other->vm != lend->vm ||
                  guest_of(other) != guest_of(lend))) {
        g_set_error(error, FAB_ERROR, FAB_ERROR_LENT,
                    "%s is lent to %s%s and cannot access %s, which is lent to "
                    "%s%s",
                    lend_component(lend)->name, lend->vm ? "the guest of " : "",
                    borrower, component->name, other->vm ? "the guest of " : "",
                    fab_root_component(other->borrower)->name);
        return false;
    }
    if (!other && component->root != fab_root_component(lend->borrower)) {
        g_set_error(error, FAB_ERROR, FAB_ERROR_LENT,
                    "%s is lent to %s and cannot access %s, which neither "
                    "belongs to %s nor is lent to it",
                    lend_component(lend)->name, borrower, component->name,
                    borrower);
        return false;
    }
    return true;
}

static void target_done(FabLend *lend, LendTarget *target)
{
    for (unsigned i = 0; i < FAB_BARS; i++) {
        if (!target->mapping[i]) {
            continue;
        }
        fab_mapping_free(target->mapping[i]);
        if (lend->vm) {
            fab_lend_domain_remove_bar(lend->domain, target->component, i);
        }
    }
}

static bool target_map(FabLend *lend, LendTarget *target, unsigned index,
                       GError **error)
{
    FabComponent *component = target->component;
    const FabBar *bar = &component->bars[index];
    unsigned flags = lend->vm ? FAB_MAP_FROM_HOST_ADDR : 0;

    if (lend->vm && !fab_lend_domain_add_bar(lend->domain, component, index,
                                             &target->addr[index], error)) {
        return false;
    }
    /* For a guest, this only enters the device's Requester ID in the NTB: the
     * domain has mapped the BAR. */
    target->mapping[index] =
        fab_mapping_new(lend_component(lend), component, bar->addr,
                        bar->size_bytes, flags, error);
    if (!target->mapping[index]) {
        if (lend->vm) {
            fab_lend_domain_remove_bar(lend->domain, component, index);
        }
        return false;
    }
    if (!lend->vm) {
        target->addr[index] = fab_mapping_addr(target->mapping[index]);
    }
    return true;
}

bool fab_lend_enable_p2p(FabLend *lend, FabComponent *component, GError **error)
{
    LendTarget target = {.component = component};
    unsigned index;

    g_assert(component->fabric == lend->lending->fabric);
    if (!check_target(lend, component, error)) {
        return false;
    }
    if (target_find(lend, component, &index)) {
        return true;
    }
    for (unsigned i = 0; i < FAB_BARS; i++) {
        if (component->bars[i].size_bytes &&
            !target_map(lend, &target, i, error)) {
            target_done(lend, &target);
            g_prefix_error(error,
                           "P2P from %s to %s: ", lend_component(lend)->name,
                           component->name);
            return false;
        }
    }
    g_array_append_val(lend->targets, target);
    return true;
}

bool fab_lend_order_p2p(FabLend *lend, FabComponent *component, GError **error)
{
    lend->lending->is_ordered = true;
    return !component || fab_lend_enable_p2p(lend, component, error);
}

void fab_lend_disable_p2p(FabLend *lend, const FabComponent *component)
{
    unsigned index;
    LendTarget *target = target_find(lend, component, &index);

    if (target) {
        target_done(lend, target);
        g_array_remove_index_fast(lend->targets, index);
    }
}

bool fab_lend_p2p_addr(const FabLend *lend, const FabComponent *component,
                       int bar, FabBusAddr *ret_device_addr)
{
    unsigned index;
    const LendTarget *target = target_find(lend, component, &index);

    if (!target || bar < 0 || bar >= FAB_BARS || !target->mapping[bar]) {
        return false;
    }
    *ret_device_addr = target->addr[bar];
    return true;
}
