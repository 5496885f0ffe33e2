/* SPDX-License-Identifier: MIT */
#include "exp_names_priv.h"

static const char *const place_names[FAB_PLACE_KINDS] = {
    [FAB_PLACE_OWN] = "own time",
    [FAB_PLACE_CPU] = "CPU",
    [FAB_PLACE_DEVICE] = "device",
    [FAB_PLACE_TAG] = "wait for a tag",
    [FAB_PLACE_TURN] = "wait for the link",
    [FAB_PLACE_CREDITS] = "wait for credits",
    [FAB_PLACE_ORDER] = "ordering",
    [FAB_PLACE_SERIAL] = "serialisation",
    [FAB_PLACE_WIRE] = "cable",
    [FAB_PLACE_TRANSIT] = "transit",
    [FAB_PLACE_FORWARD] = "wait to be forwarded",
    [FAB_PLACE_NTB_TAG] = "wait for an NTB tag",
    [FAB_PLACE_IOMMU] = "IOMMU",
    [FAB_PLACE_MEMORY] = "memory",
    [FAB_PLACE_ATC] = "ATC",
};

static const char *const credit_names[FAB_CREDIT_KINDS] = {
    [FAB_CLASS_P] = "no PH credits",
    [FAB_CLASS_NP] = "no NPH credits",
    [FAB_CLASS_CPL] = "no CPLH credits",
    [FAB_CREDIT_DATA(FAB_CLASS_P)] = "no PD credits",
    [FAB_CREDIT_DATA(FAB_CLASS_NP)] = "no NPD credits",
    [FAB_CREDIT_DATA(FAB_CLASS_CPL)] = "no CPLD credits",
};

char *exp_port_name(const FabPort *port)
{
    const FabPort *peer = fab_port_peer(port);

    return g_strdup_printf(
        "%s %s -> %s", fab_component_name(fab_port_owner(port)),
        fab_port_name(port), fab_component_name(fab_port_owner(peer)));
}

char *exp_resource_name(const FabResource *resource)
{
    const char *name = fab_component_name(resource->component);
    g_autofree char *link = NULL;

    switch (resource->kind) {
    case FAB_RESOURCE_LINK:
        link = exp_port_name(resource->port);
        return g_strdup_printf("link %s", link);
    case FAB_RESOURCE_MEMORY:
        return g_strdup_printf("memory of %s", name);
    case FAB_RESOURCE_WALKERS:
        return g_strdup_printf("page walkers of %s", name);
    case FAB_RESOURCE_COMPLETER:
        return g_strdup_printf("memory behind the BARs of %s", name);
    case FAB_RESOURCE_CPU:
        return g_strdup_printf("CPU of %s", name);
    case FAB_RESOURCE_TAGS:
        return g_strdup_printf("read tags of %s", name);
    case FAB_RESOURCE_FLIGHT:
        return g_strdup_printf("bytes in flight of %s", name);
    case FAB_RESOURCE_BUFFER:
        return g_strdup_printf("receive buffer of %s %s", name,
                               fab_port_name(resource->port));
    case FAB_RESOURCE_NTB_TAGS:
        return g_strdup_printf("proxy tags of %s", name);
    case FAB_RESOURCE_FORWARD_TAGS:
        return g_strdup_printf("tags for forwarded reads of %s", name);
    case FAB_RESOURCE_TRANSLATIONS:
        return g_strdup_printf("translation requests of %s", name);
    default:
        return g_strdup_printf("memory reads of %s", name);
    }
}

const char *exp_place_name(FabPlaceKind kind)
{
    return place_names[kind];
}

const char *exp_credit_name(unsigned kind)
{
    return credit_names[kind];
}
