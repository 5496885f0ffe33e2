/* SPDX-License-Identifier: MIT */
/* Faults of links. */
#include <string.h>

#include "topo_load_priv.h"

/* Time in which a link trains that was down, and time in Recovery. No source:
 * they are assumptions. */
#define TRAINING_PS INT64_C(10000000000)
#define RECOVERY_PS INT64_C(10000000)

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

/* True if two faults of one link with the action and rate of @fault would
 * contradict each other. */
static bool is_single(const TopoFault *fault)
{
    return fault->action == TOPO_FAULT_DEGRADE ||
           fault->action == TOPO_FAULT_OVERFLOW ||
           (fault->action != TOPO_FAULT_LINK_DOWN && fault->count == 0);
}

static void check_target(TopoLoader *loader, const TopoFault *fault,
                         TopoPlace place)
{
    const GPtrArray *faults = loader->loaded->pub.faults;

    for (unsigned i = 0; is_single(fault) && i < faults->len; i++) {
        const TopoFault *other = faults->pdata[i];

        if (other->action == fault->action && is_single(other) &&
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

#define BIT(ACTION) (1u << TOPO_FAULT_##ACTION)
#define ANY_ACTION  (~0u)

/* The actions that have a key. */
static const struct {
    const char *key;
    unsigned actions;
} uses[] = {
    {"rate", BIT(BIT_ERRORS) | BIT(POISON)},
    {"count", BIT(BIT_ERRORS) | BIT(POISON)},
    {"end", ANY_ACTION},
    {"speed", BIT(DEGRADE)},
    {"width", BIT(DEGRADE)},
    {"surplus", BIT(OVERFLOW)},
    {"at", ANY_ACTION & ~BIT(OVERFLOW)},
    {"when", ANY_ACTION & ~BIT(OVERFLOW)},
    {"for", ANY_ACTION & ~BIT(OVERFLOW)},
    {"training", BIT(LINK_DOWN) | BIT(DEGRADE)},
};

/* In the order of TopoFaultAction. */
static const char *const action_names[] = {"bit-errors", "link-down", "degrade",
                                           "poison", "overflow"};

static void check_keys(TopoLoader *loader, const TopoFault *fault,
                       const TopoValues *values)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(uses); i++) {
        if (topo_values_given(values, uses[i].key) &&
            !(uses[i].actions & 1u << fault->action)) {
            topo_errors_add(loader->errors,
                            topo_values_get(values, uses[i].key)->place,
                            "%s has no `%s`; remove it",
                            action_names[fault->action], uses[i].key);
        }
    }
}

/* Reads `rate` or `count`. */
static void load_share(TopoLoader *loader, TopoFault *fault,
                       const TopoValues *values)
{
    const TopoValue *rate = topo_values_get(values, "rate");
    bool has_rate = topo_values_given(values, "rate");
    bool has_count = topo_values_given(values, "count");

    if (has_rate && has_count) {
        topo_errors_add(loader->errors, topo_values_get(values, "count")->place,
                        "`rate` and `count` exclude each other; remove one");
    } else if (has_count && topo_values_given(values, "for")) {
        topo_errors_add(loader->errors, topo_values_get(values, "for")->place,
                        "`count` says how long it lasts; remove `for`");
    } else if (!has_rate && !has_count) {
        topo_errors_add(loader->errors, fault->place,
                        "%s needs `rate`, %s, or `count`",
                        action_names[fault->action],
                        fault->action == TOPO_FAULT_POISON
                            ? "the probability for each TLP with data"
                            : "the probability of an error for each bit");
    }
    if (has_count) {
        fault->count = topo_values_number(values, "count");
        return;
    }
    fault->rate_num = rate->valid ? rate->number : 0;
    fault->rate_den = rate->valid ? rate->den : 1;
    if (fault->rate_num > fault->rate_den) {
        topo_errors_add(loader->errors, rate->place,
                        "a rate is a probability; write at most 1");
    }
}

static void load_degrade(TopoLoader *loader, TopoFault *fault,
                         const TopoValues *values)
{
    fault->speed_mtps = topo_values_given(values, "speed")
                            ? (unsigned)topo_values_number(values, "speed")
                            : 0;
    fault->width = topo_values_given(values, "width")
                       ? (unsigned)topo_values_number(values, "width")
                       : 0;
    if (!topo_values_given(values, "speed") &&
        !topo_values_given(values, "width")) {
        topo_errors_add(loader->errors, fault->place,
                        "degrade needs `speed` or `width`");
    }
}

/* Reads the keys that not all actions have. */
static void load_action(TopoLoader *loader, TopoFault *fault,
                        const TopoValues *values)
{
    const TopoValue *training = topo_values_get(values, "training");
    const char *action = topo_values_text(values, "action");

    fault->rate_den = 1;
    for (unsigned i = 0; i < G_N_ELEMENTS(action_names); i++) {
        if (g_strcmp0(action, action_names[i]) == 0) {
            fault->action = i;
        }
    }
    check_keys(loader, fault, values);
    fault->training_ps =
        topo_values_given(values, "training")
            ? topo_values_number(values, "training")
            : (fault->action == TOPO_FAULT_DEGRADE ? RECOVERY_PS : TRAINING_PS);
    switch (fault->action) {
    case TOPO_FAULT_LINK_DOWN:
        if (topo_values_given(values, "training") &&
            !topo_values_given(values, "for")) {
            topo_errors_add(loader->errors, training->place,
                            "a link that stays down is not trained; add `for` "
                            "or remove `training`");
        }
        break;
    case TOPO_FAULT_DEGRADE:
        load_degrade(loader, fault, values);
        break;
    case TOPO_FAULT_OVERFLOW:
        if (!topo_values_given(values, "surplus")) {
            topo_errors_add(loader->errors, fault->place,
                            "overflow needs `surplus`, the header credits "
                            "without a place");
        } else {
            fault->surplus = topo_values_number(values, "surplus");
        }
        break;
    default:
        load_share(loader, fault, values);
        break;
    }
}

/* ---- When it begins ---------------------------------------------------- */

/* In the order of TopoFaultEvent, from TOPO_FAULT_ON_TLP on. */
static const char *const event_names[] = {"tlp",        "write",    "read",
                                          "completion", "doorbell", "dllp"};

/* Parses "EVENT NUMBER". Returns false if @text is something else. */
static bool parse_when(const char *text, TopoFault *fault)
{
    g_auto(GStrv) words = g_strsplit(text, " ", 0);
    guint64 number;

    if (g_strv_length(words) != 2 ||
        !g_ascii_string_to_unsigned(words[1], 10, 1, G_MAXINT64, &number,
                                    NULL)) {
        return false;
    }
    for (unsigned i = 0; i < G_N_ELEMENTS(event_names); i++) {
        if (strcmp(words[0], event_names[i]) == 0) {
            fault->event = TOPO_FAULT_ON_TLP + i;
            fault->number = (int64_t)number;
            return true;
        }
    }
    return false;
}

static void load_begin(TopoLoader *loader, TopoFault *fault,
                       const TopoValues *values)
{
    const TopoValue *when = topo_values_get(values, "when");
    const char *end = topo_values_text(values, "end");

    fault->end = end == NULL                 ? TOPO_FAULT_BOTH_ENDS
                 : strcmp(end, "lower") == 0 ? TOPO_FAULT_LOWER_END
                                             : TOPO_FAULT_UPPER_END;
    fault->at_ps = topo_values_number(values, "at");
    fault->for_ps = topo_values_given(values, "for")
                        ? topo_values_number(values, "for")
                        : 0;
    if (!when->valid) {
        return;
    }
    if (topo_values_given(values, "at")) {
        topo_errors_add(loader->errors, when->place,
                        "`at` and `when` exclude each other; remove one");
    }
    if (!parse_when(when->text, fault)) {
        topo_errors_add(loader->errors, when->place,
                        "'%s' is no event; write such as `tlp 100`, with one "
                        "of tlp, write, read, completion, doorbell, dllp",
                        when->text);
    } else if (fault->event == TOPO_FAULT_ON_DLLP &&
               fault->action != TOPO_FAULT_BIT_ERRORS) {
        topo_errors_add(loader->errors, when->place,
                        "only bit-errors can begin with a DLLP; write another "
                        "event");
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
    load_begin(loader, fault, values);
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
