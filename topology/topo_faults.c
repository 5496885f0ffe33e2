/* SPDX-License-Identifier: MIT */
/* Faults of links. */
#include <string.h>

#include "topo_load_priv.h"

/* Time in which a link trains that was down. No source: it is an assumption. */
#define TRAINING_PS INT64_C(10000000000)

/* Finds the link that @value names: a cable by its name, or the link of a
 * switch or device to the port above it by "host.name". */
static void find_target(TopoLoader *loader, TopoFault *fault,
                        const TopoValue *value)
{
    const TopoDescription *pub = &loader->loaded->pub;
    g_autoptr(GPtrArray) names = NULL;
    g_autofree char *hint = NULL;

    if (!value->valid) {
        return;
    }
    for (unsigned i = 0; i < pub->links->len; i++) {
        TopoLink *link = pub->links->pdata[i];

        if (link->name != NULL && strcmp(link->name, value->text) == 0) {
            fault->link = link;
            return;
        }
    }
    if (g_hash_table_contains(loader->loaded->elements, value->text)) {
        fault->element = topo_load_text(loader, value->text);
        return;
    }
    names = topo_load_names(loader->loaded->elements);
    for (unsigned i = 0; i < pub->links->len; i++) {
        TopoLink *link = pub->links->pdata[i];

        if (link->name != NULL) {
            g_ptr_array_add(names, link->name);
        }
    }
    hint = topo_suggest(value->text, names);
    topo_errors_add(loader->errors, value->place,
                    "there is no cable, switch or device '%s'%s", value->text,
                    hint);
}

/* A link has one fault of each action: two rates at a time would have no
 * meaning. */
static void check_target(TopoLoader *loader, const TopoFault *fault,
                         TopoPlace place)
{
    const GPtrArray *faults = loader->loaded->pub.faults;

    for (unsigned i = 0; i < faults->len; i++) {
        const TopoFault *other = faults->pdata[i];

        if (other->action == fault->action &&
            ((fault->link != NULL && other->link == fault->link) ||
             (fault->element != NULL &&
              g_strcmp0(other->element, fault->element) == 0))) {
            topo_errors_add(loader->errors, place,
                            "fault %s does the same to this link already; give "
                            "one of the two another target",
                            other->name);
            return;
        }
    }
}

/* Reads the keys that one action alone has. */
static void load_action(TopoLoader *loader, TopoFault *fault,
                        const TopoValues *values)
{
    const TopoValue *rate = topo_values_get(values, "rate");
    const TopoValue *training = topo_values_get(values, "training");
    const char *action = topo_values_text(values, "action");

    fault->rate_den = 1;
    if (g_strcmp0(action, "link-down") == 0) {
        fault->action = TOPO_FAULT_LINK_DOWN;
        fault->training_ps = topo_values_given(values, "training")
                                 ? topo_values_number(values, "training")
                                 : TRAINING_PS;
        if (topo_values_given(values, "rate")) {
            topo_errors_add(loader->errors, rate->place,
                            "link-down has no `rate`; remove it");
        }
        if (topo_values_given(values, "training") &&
            !topo_values_given(values, "for")) {
            topo_errors_add(loader->errors, training->place,
                            "a link that stays down is not trained; add `for` "
                            "or remove `training`");
        }
        return;
    }
    if (topo_values_given(values, "training")) {
        topo_errors_add(loader->errors, training->place,
                        "only link-down has `training`; remove it");
    }
    if (!topo_values_given(values, "rate")) {
        topo_errors_add(loader->errors, fault->place,
                        "bit-errors needs `rate`, the probability of an error "
                        "for each bit");
        return;
    }
    fault->rate_num = rate->valid ? rate->number : 0;
    fault->rate_den = rate->valid ? rate->den : 1;
    if (fault->rate_num > fault->rate_den) {
        topo_errors_add(loader->errors, rate->place,
                        "a rate is a probability; write at most 1");
    }
}

static void load_fault(TopoLoader *loader, const TopoNode *node,
                       GHashTable *names)
{
    g_autoptr(TopoValues) values =
        topo_values_read(&topo_section_fault, node, loader->errors);
    const TopoValue *name = topo_values_get(values, "name");
    const TopoValue *target = topo_values_get(values, "target");
    TopoFault *fault = g_new0(TopoFault, 1);

    fault->place = node->place;
    fault->name = topo_load_text(loader, topo_values_text(values, "name"));
    if (topo_load_check_unique(loader, names, "fault", fault->name,
                               name->place)) {
        g_hash_table_add(names, fault->name);
    }
    load_action(loader, fault, values);
    find_target(loader, fault, target);
    check_target(loader, fault, target->place);
    fault->at_ps = topo_values_number(values, "at");
    fault->for_ps = topo_values_given(values, "for")
                        ? topo_values_number(values, "for")
                        : 0;
    g_ptr_array_add(loader->loaded->pub.faults, fault);
}

void topo_load_faults(TopoLoader *loader, const TopoValues *file)
{
    g_autoptr(GPtrArray) items = topo_values_items(file, "faults");
    g_autoptr(GHashTable) names = g_hash_table_new(g_str_hash, g_str_equal);

    for (unsigned i = 0; i < items->len; i++) {
        load_fault(loader, items->pdata[i], names);
    }
}
