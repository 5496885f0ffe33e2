/* SPDX-License-Identifier: MIT */
#include "clu_broker.h"

#include <unistd.h>

#include "clu_broker_ivshmem.h"
#include "clu_broker_link.h"

struct CluBroker {
    CluBrokerShared shared;
    GPtrArray *links;   /* of CluBrokerLink, owned */
    GPtrArray *regions; /* of CluBrokerShm, owned */
};

static void free_link(gpointer link)
{
    clu_broker_link_free(link);
}

static void free_region(gpointer shm)
{
    clu_broker_shm_free(shm);
}

CluBroker *clu_broker_new(GMainContext *context)
{
    CluBroker *broker = g_new0(CluBroker, 1);

    broker->shared.context =
        g_main_context_ref(context ? context : g_main_context_default());
    broker->links = g_ptr_array_new_with_free_func(free_link);
    broker->regions = g_ptr_array_new_with_free_func(free_region);
    return broker;
}

void clu_broker_free(CluBroker *broker)
{
    if (!broker) {
        return;
    }
    /* The owner asked for this, so it needs no events. */
    broker->shared.fn = NULL;
    g_ptr_array_unref(broker->links);
    g_ptr_array_unref(broker->regions);
    g_main_context_unref(broker->shared.context);
    g_free(broker);
}

bool clu_broker_add_link(CluBroker *broker, const char *name, const char *path,
                         GError **error)
{
    CluBrokerLink *link =
        clu_broker_link_new(&broker->shared, name, path, error);

    if (!link) {
        return false;
    }
    g_ptr_array_add(broker->links, link);
    return true;
}

bool clu_broker_add_region(CluBroker *broker, const char *name,
                           const char *path, const CluBrokerRegion *region,
                           GError **error)
{
    CluBrokerShm *shm =
        clu_broker_shm_new(&broker->shared, name, path, region, error);

    if (!shm) {
        return false;
    }
    g_ptr_array_add(broker->regions, shm);
    return true;
}

char *clu_broker_get_memory_path(const CluBroker *broker, const char *name)
{
    for (unsigned i = 0; i < broker->regions->len; i++) {
        const CluBrokerShm *shm = broker->regions->pdata[i];

        if (g_str_equal(clu_broker_shm_get_name(shm), name)) {
            return g_strdup_printf("/proc/%d/fd/%d", (int)getpid(),
                                   clu_broker_shm_get_file(shm));
        }
    }
    return NULL;
}

void clu_broker_set_callback(CluBroker *broker, CluBrokerFn fn, void *data)
{
    broker->shared.fn = fn;
    broker->shared.data = data;
}
