/* SPDX-License-Identifier: MIT */
#include "fab_fabric_priv.h"

FabFabric *fab_fabric_new(SimEngine *engine, uint64_t seed)
{
    FabFabric *fabric = g_new0(FabFabric, 1);

    fabric->engine = engine;
    fabric->seed = seed;
    fab_arena_init(&fabric->arena);
    fabric->slabs = g_ptr_array_new();
    fabric->accounts.of = g_new0(FabAccount, 1);
    fabric->components = g_ptr_array_new();
    fabric->by_name = g_hash_table_new(g_str_hash, g_str_equal);
    return fabric;
}

void fab_fabric_free(FabFabric *fabric)
{
    if (!fabric) {
        return;
    }
    while (fabric->attachments) {
        FabAttachment *attachment = fabric->attachments;

        fabric->attachments = attachment->next;
        attachment->ops->free(attachment);
    }
    g_hash_table_unref(fabric->by_name);
    g_ptr_array_unref(fabric->components);
    g_ptr_array_unref(fabric->slabs);
    g_free(fabric->accounts.of);
    g_clear_pointer(&fabric->accounts.losses, g_array_unref);
    fab_arena_clear(&fabric->arena);
    g_free(fabric);
}

SimEngine *fab_fabric_engine(const FabFabric *fabric)
{
    return fabric->engine;
}

uint64_t fab_fabric_seed(const FabFabric *fabric)
{
    return fabric->seed;
}

FabComponent *fab_fabric_find(const FabFabric *fabric, const char *name)
{
    return g_hash_table_lookup(fabric->by_name, name);
}

FabComponent *const *fab_fabric_components(const FabFabric *fabric,
                                           unsigned *ret_count)
{
    *ret_count = fabric->components->len;
    return (FabComponent *const *)fabric->components->pdata;
}

void fab_fabric_caching(const FabFabric *fabric, FabCaching *sum)
{
    for (unsigned i = 0; i < fabric->components->len; i++) {
        const FabComponent *component = fabric->components->pdata[i];

        if (component->ops->caching) {
            component->ops->caching(component, sum);
        }
    }
}

uint64_t fab_fabric_tlps_alive(const FabFabric *fabric)
{
    return fabric->alive;
}

uint64_t fab_fabric_unsupported(const FabFabric *fabric)
{
    return fabric->unsupported;
}

void fab_fabric_set_completion_timeout(FabFabric *fabric, SimTime timeout)
{
    g_assert(timeout >= 0);
    fabric->completion_timeout = timeout;
}

void fab_fabric_attach(FabFabric *fabric, FabAttachment *attachment,
                       const FabAttachmentOps *ops)
{
    g_assert(ops->free && !fab_fabric_attachment(fabric, ops));
    attachment->ops = ops;
    attachment->next = fabric->attachments;
    fabric->attachments = attachment;
}

FabAttachment *fab_fabric_attachment(const FabFabric *fabric,
                                     const FabAttachmentOps *ops)
{
    FabAttachment *attachment = fabric->attachments;

    while (attachment && attachment->ops != ops) {
        attachment = attachment->next;
    }
    return attachment;
}
