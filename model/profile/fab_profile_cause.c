/* SPDX-License-Identifier: MIT */
#include "fab_profile_priv.h"

/* A chain of links that wait for each other's credits is no longer. */
#define CHAIN_MOST 64

#define NOBODY UINT_MAX

/* How far the search for a cause has come. */
typedef struct Search {
    const FabProfile *profile;
    const FabComponent *component; /* that is asked for blockers */
    FabClass cls;
    unsigned depth;
    unsigned cause; /* what was found */
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

/* What holds up the TLPs that are queued at @egress: the link itself, or what
 * it waits for. NOBODY if they are still on their way to it. */
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
 * @port lacks credits of @cls: the first resource downstream that does not wait
 * for another. It is the buffer beyond the link itself if what fills it moves
 * on without waiting: then it is too small for the time credits take to return.
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
