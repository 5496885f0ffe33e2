/* SPDX-License-Identifier: MIT */
/* Faults of links and of machines. */
#include <string.h>

#include "topo_load_priv.h"

/* Time in which a link trains that was down, and time in Recovery. No source:
 * they are assumptions. */
#define TRAINING_PS INT64_C(10000000000)
#define RECOVERY_PS INT64_C(10000000)

#define BIT(KEY)  (1u << KEY_##KEY)
#define EVENT(ON) (1u << TOPO_FAULT_ON_##ON)
#define ANY_TLP                                                                \
    (EVENT(TLP) | EVENT(WRITE) | EVENT(READ) | EVENT(COMPLETION) |             \
     EVENT(DOORBELL))
#define ANY_ARRIVAL                                                            \
    (EVENT(WRITE) | EVENT(READ) | EVENT(DOORBELL) | EVENT(MESSAGE))

enum {
    KEY_RATE,
    KEY_COUNT,
    KEY_END,
    KEY_SPEED,
    KEY_WIDTH,
    KEY_SURPLUS,
    KEY_AT,
    KEY_WHEN,
    KEY_FOR,
    KEY_TRAINING,
};

static const char *const key_names[] = {
    [KEY_RATE] = "rate",   [KEY_COUNT] = "count",
    [KEY_END] = "end",     [KEY_SPEED] = "speed",
    [KEY_WIDTH] = "width", [KEY_SURPLUS] = "surplus",
    [KEY_AT] = "at",       [KEY_WHEN] = "when",
    [KEY_FOR] = "for",     [KEY_TRAINING] = "training",
};

/* Each action: the keys and the events that it may have. */
static const struct Action {
    const char *name;
    unsigned keys, events;
} actions[] = {
    [TOPO_FAULT_BIT_ERRORS] = {"bit-errors",
                               BIT(RATE) | BIT(COUNT) | BIT(END) | BIT(AT) |
                                   BIT(WHEN) | BIT(FOR),
                               ANY_TLP | EVENT(DLLP)},
    [TOPO_FAULT_LINK_DOWN] = {"link-down",
                              BIT(END) | BIT(AT) | BIT(WHEN) | BIT(FOR) |
                                  BIT(TRAINING),
                              ANY_TLP | EVENT(MESSAGE)},
    [TOPO_FAULT_DEGRADE] = {"degrade",
                            BIT(SPEED) | BIT(WIDTH) | BIT(END) | BIT(AT) |
                                BIT(WHEN) | BIT(FOR) | BIT(TRAINING),
                            ANY_TLP},
    [TOPO_FAULT_POISON] = {"poison",
                           BIT(RATE) | BIT(COUNT) | BIT(END) | BIT(AT) |
                               BIT(WHEN) | BIT(FOR),
                           ANY_TLP},
    [TOPO_FAULT_OVERFLOW] = {"overflow", BIT(SURPLUS) | BIT(END), 0},
    [TOPO_FAULT_KILL] = {"kill", BIT(AT) | BIT(WHEN), ANY_ARRIVAL},
    [TOPO_FAULT_FREEZE] = {"freeze", BIT(AT) | BIT(WHEN) | BIT(FOR),
                           ANY_ARRIVAL},
    [TOPO_FAULT_RESTART] = {"restart", BIT(AT) | BIT(WHEN) | BIT(FOR),
                            ANY_ARRIVAL},
    [TOPO_FAULT_START_LATE] = {"start-late", BIT(AT), 0},
    [TOPO_FAULT_REMOVE] = {"remove", BIT(AT) | BIT(WHEN) | BIT(FOR),
                           ANY_ARRIVAL},
};

/* In the order of TopoFaultEvent */
static const char *const event_names[] = {
    [TOPO_FAULT_ON_TLP] = "tlp",
    [TOPO_FAULT_ON_WRITE] = "write",
    [TOPO_FAULT_ON_READ] = "read",
    [TOPO_FAULT_ON_COMPLETION] = "completion",
    [TOPO_FAULT_ON_DOORBELL] = "doorbell",
    [TOPO_FAULT_ON_DLLP] = "dllp",
    [TOPO_FAULT_ON_MESSAGE] = "message",
};

bool topo_fault_is_of_machine(const TopoFault *fault)
{
    return fault->action >= TOPO_FAULT_KILL;
}

const char *topo_fault_action_name(TopoFaultAction action)
{
    return actions[action].name;
}

const char *topo_fault_event_name(TopoFaultEvent event)
{
    return event_names[event];
}

bool topo_fault_action_has_event(TopoFaultAction action, TopoFaultEvent event)
{
    return 0 != (actions[action].events & 1u << event);
}

/* ---- Targets ---------------------------------------------------------- */

static void refuse_target(TopoLoader *loader, const TopoValue *value,
                          const char *what, GPtrArray *names)
{
    g_autofree char *hint = topo_suggest(value->text, names);

    topo_errors_add(loader->errors, value->place, "there is no %s '%s'%s", what,
                    value->text, hint);
}

static TopoDevice *find_device(const TopoDescription *pub, const char *path)
{
    for (unsigned i = 0; i < pub->hosts->len; i++) {
        const TopoHost *host = pub->hosts->pdata[i];

        for (unsigned j = 0; j < host->devices->len; j++) {
            TopoDevice *device = host->devices->pdata[j];

            if (g_strcmp0(device->path, path) == 0) {
                return device;
            }
        }
    }
    return NULL;
}

/* Finds the link that @value names: a cable by its name, or the link of a
 * switch or device to the port above it by "host.name". */
static void find_link(TopoLoader *loader, TopoFault *fault,
                      const TopoValue *value)
{
    const TopoDescription *pub = &loader->loaded->pub;
    g_autoptr(GPtrArray) names = NULL;

    for (unsigned i = 0; i < pub->links->len; i++) {
        TopoLink *link = pub->links->pdata[i];

        if (link->name && strcmp(link->name, value->text) == 0) {
            fault->link = link;
            return;
        }
    }
    if (g_hash_table_contains(loader->loaded->elements, value->text)) {
        fault->element = topo_load_text(loader, value->text);
        fault->device = find_device(pub, value->text);
        return;
    }
    names = topo_load_names(loader->loaded->elements);
    for (unsigned i = 0; i < pub->links->len; i++) {
        TopoLink *link = pub->links->pdata[i];

        if (link->name) {
            g_ptr_array_add(names, link->name);
        }
    }
    refuse_target(loader, value, "cable, switch or device", names);
}

static void find_host(TopoLoader *loader, TopoFault *fault,
                      const TopoValue *value)
{
    const GPtrArray *hosts = loader->loaded->pub.hosts;
    g_autoptr(GPtrArray) names = g_ptr_array_new();

    for (unsigned i = 0; i < hosts->len; i++) {
        TopoHost *host = hosts->pdata[i];

        if (g_strcmp0(host->name, value->text) == 0) {
            fault->host = host;
            return;
        }
        if (host->name) {
            g_ptr_array_add(names, host->name);
        }
    }
    refuse_target(loader, value, "host", names);
}

static void find_removed(TopoLoader *loader, TopoFault *fault,
                         const TopoValue *value)
{
    const TopoDescription *pub = &loader->loaded->pub;
    g_autoptr(GPtrArray) names = g_ptr_array_new();

    fault->device = find_device(pub, value->text);
    if (fault->device) {
        return;
    }
    for (unsigned i = 0; i < pub->hosts->len; i++) {
        const TopoHost *host = pub->hosts->pdata[i];

        for (unsigned j = 0; j < host->devices->len; j++) {
            TopoDevice *device = host->devices->pdata[j];

            if (device->path) {
                g_ptr_array_add(names, device->path);
            }
        }
    }
    refuse_target(loader, value, "device", names);
}

static void find_target(TopoLoader *loader, TopoFault *fault,
                        const TopoValue *value)
{
    fault->target_place = value->place;
    if (!value->valid) {
        return;
    }
    if (!topo_fault_is_of_machine(fault)) {
        find_link(loader, fault, value);
    } else if (fault->action == TOPO_FAULT_REMOVE) {
        find_removed(loader, fault, value);
    } else {
        find_host(loader, fault, value);
    }
}

static bool is_same_target(const TopoFault *a, const TopoFault *b)
{
    return (a->link && a->link == b->link) ||
           (a->element && g_strcmp0(a->element, b->element) == 0) ||
           (a->host && a->host == b->host) ||
           (!a->element && !b->element && a->device && a->device == b->device);
}

static int64_t end_of(const TopoFault *fault)
{
    return fault->for_ps == 0
               ? INT64_MAX
               : fault->at_ps + fault->for_ps + fault->training_ps;
}

/* True if @a and @b, which have one action, would contradict each other at one
 * target. */
static bool contradict(const TopoFault *a, const TopoFault *b)
{
    switch (a->action) {
    case TOPO_FAULT_BIT_ERRORS:
    case TOPO_FAULT_POISON:
        /* Two rates would have no meaning. */
        return a->count == 0 && b->count == 0;
    case TOPO_FAULT_DEGRADE:
    case TOPO_FAULT_OVERFLOW:
        return true;
    default:
        return !a->event && !b->event && a->at_ps < end_of(b) &&
               b->at_ps < end_of(a);
    }
}

static void check_target(TopoLoader *loader, const TopoFault *fault)
{
    const GPtrArray *faults = loader->loaded->pub.faults;

    for (unsigned i = 0; i < faults->len; i++) {
        const TopoFault *other = faults->pdata[i];

        if (other->action == fault->action && is_same_target(fault, other) &&
            contradict(fault, other)) {
            topo_errors_add(loader->errors, fault->target_place,
                            "fault %s does the same to this %s already; give "
                            "one of the two another target",
                            other->name,
                            fault->host                          ? "host"
                            : fault->action == TOPO_FAULT_REMOVE ? "device"
                                                                 : "link");
            return;
        }
    }
}

/* ---- Keys ------------------------------------------------------------- */

static bool has_key(const TopoFault *fault, unsigned key)
{
    return actions[fault->action].keys & 1u << key;
}

/* Refuses keys that the action does not have. */
static void check_keys(TopoLoader *loader, const TopoFault *fault,
                       const TopoValues *values)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(key_names); i++) {
        if (topo_values_given(values, key_names[i]) && !has_key(fault, i)) {
            topo_errors_add(loader->errors,
                            topo_values_get(values, key_names[i])->place,
                            "%s has no `%s`; remove it",
                            actions[fault->action].name, key_names[i]);
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
                        actions[fault->action].name,
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

static void load_overflow(TopoLoader *loader, TopoFault *fault,
                          const TopoValues *values)
{
    if (!topo_values_given(values, "surplus")) {
        topo_errors_add(
            loader->errors, fault->place,
            "overflow needs `surplus`: the number of header credits "
            "that the receiver advertises beyond its buffer");
        return;
    }
    fault->surplus = topo_values_number(values, "surplus");
}

static void load_training(TopoLoader *loader, TopoFault *fault,
                          const TopoValues *values)
{
    bool is_down = fault->action == TOPO_FAULT_LINK_DOWN;

    fault->training_ps = topo_values_given(values, "training")
                             ? topo_values_number(values, "training")
                             : (is_down ? TRAINING_PS : RECOVERY_PS);
    if (is_down && topo_values_given(values, "training") &&
        !topo_values_given(values, "for")) {
        topo_errors_add(loader->errors,
                        topo_values_get(values, "training")->place,
                        "a link that stays down is not trained; add `for` "
                        "or remove `training`");
    }
}

/* ---- When it begins ---------------------------------------------------- */

/* Parses "EVENT NUMBER", or "EVENT" for its first. Returns false if @text is
 * something else, or if the action of @fault does not have that event. */
static bool parse_when(const char *text, TopoFault *fault)
{
    g_auto(GStrv) words = g_strsplit(text, " ", 0);
    unsigned count = g_strv_length(words);
    guint64 number = 1;

    if (count < 1 || count > 2 ||
        (count == 2 && !g_ascii_string_to_unsigned(words[1], 10, 1, G_MAXINT64,
                                                   &number, NULL))) {
        return false;
    }
    for (unsigned i = 1; i < G_N_ELEMENTS(event_names); i++) {
        if (strcmp(words[0], event_names[i]) == 0 &&
            actions[fault->action].events & 1u << i) {
            fault->event = i;
            fault->number = (int64_t)number;
            return true;
        }
    }
    return false;
}

static void refuse_when(TopoLoader *loader, const TopoFault *fault,
                        const TopoValue *when)
{
    g_autoptr(GString) names = g_string_new(NULL);
    const char *first = NULL;

    for (unsigned i = 1; i < G_N_ELEMENTS(event_names); i++) {
        if (actions[fault->action].events & 1u << i) {
            first = first ? first : event_names[i];
            g_string_append_printf(names, "%s%s", names->len ? ", " : "",
                                   event_names[i]);
        }
    }
    topo_errors_add(loader->errors, when->place,
                    "'%s' is no event of %s; write such as `%s 100`, with one "
                    "of %s",
                    when->text, actions[fault->action].name, first, names->str);
}

static void load_begin(TopoLoader *loader, TopoFault *fault,
                       const TopoValues *values)
{
    const TopoValue *when = topo_values_get(values, "when");
    const char *end = topo_values_text(values, "end");

    fault->end = !end                        ? TOPO_FAULT_BOTH_ENDS
                 : strcmp(end, "lower") == 0 ? TOPO_FAULT_LOWER_END
                                             : TOPO_FAULT_UPPER_END;
    fault->at_ps = topo_values_number(values, "at");
    fault->for_ps = topo_values_given(values, "for")
                        ? topo_values_number(values, "for")
                        : 0;
    fault->when_place = when->place;
    if (!when->valid || !has_key(fault, KEY_WHEN)) {
        return;
    }
    if (topo_values_given(values, "at")) {
        topo_errors_add(loader->errors, when->place,
                        "`at` and `when` exclude each other; remove one");
    }
    if (!parse_when(when->text, fault)) {
        refuse_when(loader, fault, when);
        /* It has no time, which could be that of another fault. */
        fault->event = TOPO_FAULT_ON_TLP;
    }
}

/* False if the word is none, which was reported already. */
static bool find_action(const char *word, TopoFault *fault)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(actions); i++) {
        if (g_strcmp0(word, actions[i].name) == 0) {
            fault->action = i;
            return true;
        }
    }
    return false;
}

/* Reads the keys that not all actions have. */
static void load_action(TopoLoader *loader, TopoFault *fault,
                        const TopoValues *values)
{
    fault->rate_den = 1;
    check_keys(loader, fault, values);
    if (has_key(fault, KEY_RATE)) {
        load_share(loader, fault, values);
    }
    if (has_key(fault, KEY_SPEED)) {
        load_degrade(loader, fault, values);
    }
    if (has_key(fault, KEY_SURPLUS)) {
        load_overflow(loader, fault, values);
    }
    if (has_key(fault, KEY_TRAINING)) {
        load_training(loader, fault, values);
    }
}

static void load_fault(TopoLoader *loader, const TopoNode *node,
                       GHashTable *names)
{
    g_autoptr(TopoValues) values =
        topo_values_read(&topo_section_fault, node, loader->errors);
    const TopoValue *name = topo_values_get(values, "name");
    TopoFault *fault;

    /* The action decides which other keys a fault may have. */
    if (!topo_values_text(values, "action")) {
        return;
    }
    fault = g_new0(TopoFault, 1);
    fault->place = node->place;
    fault->name = topo_load_text(loader, topo_values_text(values, "name"));
    if (topo_load_check_unique(loader, names, "fault", fault->name,
                               name->place)) {
        g_hash_table_add(names, fault->name);
    }
    if (find_action(topo_values_text(values, "action"), fault)) {
        load_action(loader, fault, values);
        load_begin(loader, fault, values);
        find_target(loader, fault, topo_values_get(values, "target"));
        check_target(loader, fault);
    }
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
