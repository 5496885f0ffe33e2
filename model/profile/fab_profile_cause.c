/* SPDX-License-Identifier: MIT */
#include "fab_profile_priv.h"

/* Longest chain of links that the search follows, in links. */
#define CHAIN_MOST 64

#define NOBODY UINT_MAX

/* The state of the search for a cause. */
typedef struct Search {
    const FabProfile *profile;
    const FabComponent *component; /* component that is asked for blockers */
    FabClass cls;
    unsigned depth; /* number of links followed so far */
    unsigned cause; /* index of the resource that was found, or NOBODY */
} Search;

static unsigned resource_of(const FabProfile *profile,
                            const FabComponent *component, FabResourceKind kind)
{
    const ProfileComponent *self =
        g_hash_table_lookup(profile->by_component, component);

    for (unsigned i = self->first;
         i < profile->resource_count &&
         profile->resources[i].result.component == component;
         i++) {
        if (profile->resources[i].result.kind == kind) {
            return i;
        }
    }
    return NOBODY;
}

static unsigned cause_of(const FabProfile *profile, const FabPort *port,
                         FabClass cls, unsigned depth);

/* Returns the resource that holds up the TLPs queued at @egress: the link of
 * @egress, or the resource that this link waits for. NOBODY if the link is
 * idle. */
static unsigned egress_cause(const FabProfile *profile, const FabPort *egress,
                             FabClass cls, unsigned depth)
{
    const ProfilePort *place;
    FabLinkState link;

    fab_port_observe(egress, &link);
    if (fab_credits_lack_class(link.lacks, cls)) {
        return cause_of(profile, egress, cls, depth + 1);
    }
    if (!link.is_sending) {
        return NOBODY;
    }
    place = g_hash_table_lookup(profile->ports, egress);
    return place->link;
}

static bool blocker_take(void *data, const FabBlocker *blocker)
{
    Search *search = data;

    search->cause = blocker->egress
                        ? egress_cause(search->profile, blocker->egress,
                                       search->cls, search->depth)
                        : resource_of(search->profile, search->component,
                                      blocker->resource);
    return search->cause != NOBODY;
}

/*
 * @port lacks credits of @cls. Returns the first resource along the way of its
 * TLPs that does not wait for another. If the TLPs leave the receive buffer of
 * the link without waiting, the cause is that buffer: it is too small for the
 * time that credits take to return.
 */
static unsigned cause_of(const FabProfile *profile, const FabPort *port,
                         FabClass cls, unsigned depth)
{
    const FabPort *ingress = fab_port_peer(port);
    const ProfilePort *place = g_hash_table_lookup(profile->ports, ingress);
    Search search = {
        .profile = profile,
        .component = fab_port_owner(ingress),
        .cls = cls,
        .depth = depth,
        .cause = NOBODY,
    };

    if (depth <= CHAIN_MOST) {
        fab_observe_blockers(search.component, ingress, cls, blocker_take,
                             &search);
    }
    return search.cause == NOBODY ? place->buffer : search.cause;
}

unsigned fab_profile_cause(const FabProfile *profile, const FabPort *port,
                           FabClass cls)
{
    return cause_of(profile, port, cls, 0);
}
