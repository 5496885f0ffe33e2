/* SPDX-License-Identifier: MIT */
#include "exp_schedule.h"

#include <string.h>

#include "sim_random.h"
#include "topo_units.h"

#define PS_PER_NS INT64_C(1000)
#define NS_PER_MS INT64_C(1000000)

/* Draws for a place among those that are free. Two faults can only collide in
 * a small description. */
#define TRIES 100

/* Counts of events are 1 to 9 times 10, 100 or 1000. */
#define EVENT_DECADES 4

/* The targets that a fault may have. */
typedef enum Aim {
    AIM_HOSTS = 1,
    AIM_CABLES = 2,
    AIM_DEVICES = 4, /* emulated ones that are no NTB */
    AIM_LENT = 8,    /* those of them that are lent: only what crosses a cable
                        crosses their links in the model */
} Aim;

/* The actions that a timed cluster has, and how often each is drawn. */
static const struct Kind {
    TopoFaultAction action;
    unsigned weight, aims;
} kinds[] = {
    {TOPO_FAULT_LINK_DOWN, 4, AIM_CABLES | AIM_DEVICES},
    {TOPO_FAULT_FREEZE, 4, AIM_HOSTS},
    {TOPO_FAULT_RESTART, 3, AIM_HOSTS},
    {TOPO_FAULT_KILL, 2, AIM_HOSTS},
    {TOPO_FAULT_REMOVE, 2, AIM_DEVICES},
    {TOPO_FAULT_BIT_ERRORS, 2, AIM_CABLES | AIM_LENT},
    {TOPO_FAULT_DEGRADE, 2, AIM_CABLES | AIM_LENT},
    {TOPO_FAULT_START_LATE, 1, AIM_HOSTS},
};

/* ---- Targets ------------------------------------------------------------ */

static bool is_lent(const TopoDescription *description,
                    const TopoDevice *device)
{
    for (unsigned i = 0; i < description->lends->len; i++) {
        const TopoLend *lend = description->lends->pdata[i];

        if (lend->device == device) {
            return true;
        }
    }
    return false;
}

static void add_target(GArray *targets, TopoFaultAction action, TopoHost *host,
                       TopoLink *link, TopoDevice *device)
{
    TopoFault fault = {.action = action,
                       .host = host,
                       .link = link,
                       .device = device,
                       .rate_den = 1};

    /* A link of a device has both, see TopoFault. */
    if (device && action != TOPO_FAULT_REMOVE) {
        fault.element = device->path;
    }
    g_array_append_val(targets, fault);
}

static void add_devices(GArray *targets, const TopoDescription *description,
                        const TopoHost *host, const struct Kind *kind)
{
    for (unsigned i = 0; i < host->devices->len; i++) {
        TopoDevice *device = host->devices->pdata[i];

        if (device->vm && topo_part_kind(device->part) != TOPO_PART_NTB &&
            (kind->aims & AIM_DEVICES || is_lent(description, device))) {
            add_target(targets, kind->action, NULL, NULL, device);
        }
    }
}

/* A fault without times for each target that @kind may have, in the order of
 * the description. */
static GArray *find_targets(const TopoDescription *description,
                            const struct Kind *kind)
{
    GArray *targets = g_array_new(FALSE, TRUE, sizeof(TopoFault));

    for (unsigned i = 0; kind->aims & AIM_CABLES && i < description->links->len;
         i++) {
        add_target(targets, kind->action, NULL, description->links->pdata[i],
                   NULL);
    }
    for (unsigned i = 0; i < description->hosts->len; i++) {
        TopoHost *host = description->hosts->pdata[i];

        if (kind->aims & AIM_HOSTS) {
            add_target(targets, kind->action, host, NULL, NULL);
        }
        if (kind->aims & (AIM_DEVICES | AIM_LENT)) {
            add_devices(targets, description, host, kind);
        }
    }
    return targets;
}

static bool is_power(const TopoFault *fault)
{
    return fault->action == TOPO_FAULT_KILL ||
           fault->action == TOPO_FAULT_RESTART ||
           fault->action == TOPO_FAULT_START_LATE;
}

/* True if @schedule has the like of @fault already. */
static bool collides(const GArray *schedule, const TopoFault *fault)
{
    for (unsigned i = 0; i < schedule->len; i++) {
        const TopoFault *other = &g_array_index(schedule, TopoFault, i);

        if (other->host == fault->host && other->link == fault->link &&
            other->device == fault->device &&
            (other->action == fault->action ||
             (is_power(other) && is_power(fault)))) {
            return true;
        }
    }
    return false;
}

/* ---- Times -------------------------------------------------------------- */

/* 1 to 9 times a power of ten, from 10^@least to 10^@most ns, in ps. */
static int64_t draw_round_ps(SimRandom *random, unsigned least, unsigned most)
{
    int64_t value = 1 + (int64_t)sim_random_below(random, 9);

    for (uint64_t i = least + sim_random_below(random, most - least + 1); i > 0;
         i--) {
        value *= 10;
    }
    return value * PS_PER_NS;
}

/* Lets @fault begin with an event that its action has. */
static void draw_event(SimRandom *random, TopoFault *fault)
{
    static const TopoFaultEvent events[] = {
        TOPO_FAULT_ON_DOORBELL, TOPO_FAULT_ON_MESSAGE, TOPO_FAULT_ON_WRITE,
        TOPO_FAULT_ON_READ};
    uint64_t decade = sim_random_below(random, EVENT_DECADES);

    do {
        fault->event = events[sim_random_below(random, G_N_ELEMENTS(events))];
    } while (!topo_fault_action_has_event(fault->action, fault->event));
    fault->number = 1 + (int64_t)sim_random_below(random, 9);
    for (; decade > 0; decade--) {
        fault->number *= 10;
    }
    if (fault->link && sim_random_below(random, 2)) {
        fault->end = TOPO_FAULT_LOWER_END;
    }
}

static void draw_begin(SimRandom *random, TopoFault *fault, int64_t begin_ns,
                       int64_t end_ns)
{
    if (fault->action == TOPO_FAULT_START_LATE) {
        fault->at_ps = (1 + (int64_t)sim_random_below(random, 2000)) *
                       NS_PER_MS * PS_PER_NS;
    } else if (sim_random_below(random, 2)) {
        draw_event(random, fault);
    } else {
        fault->at_ps =
            (begin_ns + (int64_t)sim_random_below(
                            random, (uint64_t)MAX(end_ns - begin_ns, 1))) *
            PS_PER_NS;
    }
}

/* The rest of what each action takes. */
static void draw_rest(SimRandom *random, TopoFault *fault)
{
    static const int64_t rates[] = {1000000, 10000000, 100000000};
    static const int64_t trainings_us[] = {20, 1000, 10000};
    bool is_for_ever = sim_random_below(random, 4) == 0;

    switch (fault->action) {
    case TOPO_FAULT_LINK_DOWN:
        if (is_for_ever) {
            break;
        }
        fault->for_ps = draw_round_ps(random, 3, 9);
        fault->training_ps = trainings_us[sim_random_below(random, 3)] *
                             NS_PER_MS / 1000 * PS_PER_NS;
        break;
    case TOPO_FAULT_FREEZE:
        fault->for_ps = draw_round_ps(random, 3, 9);
        fault->for_ps = MIN(fault->for_ps, EXP_SCHEDULE_FREEZE_NS * PS_PER_NS);
        break;
    case TOPO_FAULT_RESTART:
        fault->for_ps = draw_round_ps(random, 6, 8);
        break;
    case TOPO_FAULT_REMOVE:
        fault->for_ps = is_for_ever ? 0 : draw_round_ps(random, 5, 8);
        break;
    case TOPO_FAULT_BIT_ERRORS:
        fault->rate_num = 1;
        fault->rate_den = rates[sim_random_below(random, 3)];
        fault->for_ps = draw_round_ps(random, 6, 9);
        break;
    case TOPO_FAULT_DEGRADE:
        fault->width = sim_random_below(random, 2) ? 1 : 0;
        fault->speed_mtps = fault->width ? 0 : 2500;
        fault->for_ps = draw_round_ps(random, 6, 9);
        fault->training_ps = 10 * NS_PER_MS / 1000 * PS_PER_NS;
        break;
    default:
        break;
    }
}

/* ---- Draw --------------------------------------------------------------- */

static const struct Kind *draw_kind(SimRandom *random)
{
    uint64_t sum = 0, at;

    for (unsigned i = 0; i < G_N_ELEMENTS(kinds); i++) {
        sum += kinds[i].weight;
    }
    at = sim_random_below(random, sum);
    for (unsigned i = 0; i < G_N_ELEMENTS(kinds); i++) {
        if (at < kinds[i].weight) {
            return &kinds[i];
        }
        at -= kinds[i].weight;
    }
    g_assert_not_reached();
}

static bool draw_fault(SimRandom *random, const TopoDescription *description,
                       const GArray *schedule, TopoFault *ret_fault)
{
    for (unsigned i = 0; i < TRIES; i++) {
        g_autoptr(GArray) targets =
            find_targets(description, draw_kind(random));
        TopoFault fault;

        if (targets->len == 0) {
            continue;
        }
        fault = g_array_index(targets, TopoFault,
                              sim_random_below(random, targets->len));
        if (!collides(schedule, &fault)) {
            *ret_fault = fault;
            return true;
        }
    }
    return false;
}

/* A host that starts late delays all that comes after the boot. */
static void delay(GArray *schedule)
{
    int64_t late_ps = 0;

    for (unsigned i = 0; i < schedule->len; i++) {
        const TopoFault *fault = &g_array_index(schedule, TopoFault, i);

        if (fault->action == TOPO_FAULT_START_LATE) {
            late_ps = MAX(late_ps, fault->at_ps);
        }
    }
    for (unsigned i = 0; i < schedule->len; i++) {
        TopoFault *fault = &g_array_index(schedule, TopoFault, i);

        if (fault->action != TOPO_FAULT_START_LATE && !fault->event) {
            fault->at_ps += late_ps;
        }
    }
}

GArray *exp_schedule_draw(const TopoDescription *description, int64_t begin_ns,
                          int64_t end_ns, uint64_t seed)
{
    GArray *schedule = g_array_new(FALSE, TRUE, sizeof(TopoFault));
    uint64_t count;
    SimRandom random;

    sim_random_init(&random, seed, "explore");
    count = 1 + sim_random_below(&random, EXP_SCHEDULE_MOST);
    while (schedule->len < count) {
        TopoFault fault;

        if (!draw_fault(&random, description, schedule, &fault)) {
            break;
        }
        draw_begin(&random, &fault, begin_ns, end_ns);
        draw_rest(&random, &fault);
        g_array_append_val(schedule, fault);
    }
    delay(schedule);
    return schedule;
}

GArray *exp_schedule_of(const TopoDescription *description)
{
    GArray *schedule = g_array_new(FALSE, TRUE, sizeof(TopoFault));

    for (unsigned i = 0; i < description->faults->len; i++) {
        g_array_append_val(schedule,
                           *(TopoFault *)description->faults->pdata[i]);
    }
    return schedule;
}

/* ---- Text --------------------------------------------------------------- */

static const char *target_of(const TopoFault *fault)
{
    return fault->link      ? fault->link->name
           : fault->element ? fault->element
           : fault->host    ? fault->host->name
                            : fault->device->path;
}

static void append_time(GString *out, const char *name, int64_t ps)
{
    g_autofree char *text = topo_units_format(TOPO_UNIT_TIME, ps);

    g_string_append_printf(out, "%s%s", name, text);
}

/* A decimal that topo_units_parse_decimal() reads. */
static void append_rate(GString *out, const TopoFault *fault)
{
    char text[G_ASCII_DTOSTR_BUF_SIZE];

    g_ascii_formatd(text, sizeof(text), "%.12g",
                    (double)fault->rate_num / (double)fault->rate_den);
    g_string_append_printf(out, ", rate: %s", text);
}

static void append_fault(GString *out, const TopoFault *fault, unsigned number)
{
    g_string_append_printf(out, "{name: f%u, target: %s, action: %s", number,
                           target_of(fault),
                           topo_fault_action_name(fault->action));
    if (fault->count > 0) {
        g_string_append_printf(out, ", count: %" G_GINT64_FORMAT, fault->count);
    } else if (fault->rate_num > 0) {
        append_rate(out, fault);
    }
    if (fault->end != TOPO_FAULT_BOTH_ENDS) {
        g_string_append_printf(out, ", end: %s",
                               fault->end == TOPO_FAULT_LOWER_END ? "lower"
                                                                  : "upper");
    }
    if (fault->speed_mtps > 0) {
        g_autofree char *speed =
            topo_units_format(TOPO_UNIT_SPEED, fault->speed_mtps);

        g_string_append_printf(out, ", speed: %s", speed);
    }
    if (fault->width > 0) {
        g_string_append_printf(out, ", width: x%u", fault->width);
    }
    if (fault->event) {
        g_string_append_printf(out, ", when: %s %" G_GINT64_FORMAT,
                               topo_fault_event_name(fault->event),
                               fault->number);
    } else {
        append_time(out, ", at: ", fault->at_ps);
    }
    if (fault->for_ps > 0) {
        append_time(out, ", for: ", fault->for_ps);
    }
    if (fault->training_ps > 0 &&
        (fault->for_ps > 0 || fault->action == TOPO_FAULT_DEGRADE)) {
        append_time(out, ", training: ", fault->training_ps);
    }
    g_string_append_c(out, '}');
}

static void append_comment(GString *out, const char *comment)
{
    g_auto(GStrv) lines = g_strsplit(comment, "\n", 0);

    for (char **line = lines; *line; line++) {
        g_string_append_printf(out, **line ? "# %s\n" : "#%s\n", *line);
    }
}

char *exp_schedule_to_yaml(const GArray *schedule, const char *name,
                           const char *cluster, const char *comment)
{
    GString *out = g_string_new(NULL);
    g_autofree char *path = g_strescape(cluster, NULL);

    if (comment) {
        append_comment(out, comment);
    }
    g_string_append_printf(out, "name: %s\ncluster: \"%s\"\nfaults:%s\n", name,
                           path, schedule->len > 0 ? "" : " []");
    for (unsigned i = 0; i < schedule->len; i++) {
        g_string_append(out, "  - ");
        append_fault(out, &g_array_index(schedule, TopoFault, i), i + 1);
        g_string_append_c(out, '\n');
    }
    return g_string_free(out, FALSE);
}

char *exp_schedule_to_change(const GArray *schedule)
{
    GString *out = g_string_new("faults=[");

    for (unsigned i = 0; i < schedule->len; i++) {
        g_string_append(out, i > 0 ? ", " : "");
        append_fault(out, &g_array_index(schedule, TopoFault, i), i + 1);
    }
    g_string_append_c(out, ']');
    return g_string_free(out, FALSE);
}

char *exp_schedule_to_text(const GArray *schedule)
{
    GString *out = g_string_new(NULL);

    for (unsigned i = 0; i < schedule->len; i++) {
        const TopoFault *fault = &g_array_index(schedule, TopoFault, i);

        g_string_append_printf(out, "%s%s %s", i > 0 ? "; " : "",
                               target_of(fault),
                               topo_fault_action_name(fault->action));
        if (fault->event) {
            g_string_append_printf(
                out, " at %s%s %" G_GINT64_FORMAT,
                fault->end == TOPO_FAULT_LOWER_END ? "the other end's " : "",
                topo_fault_event_name(fault->event), fault->number);
        } else {
            append_time(out, " at ", fault->at_ps);
        }
        if (fault->for_ps > 0) {
            append_time(out, " for ", fault->for_ps);
        }
    }
    return g_string_free(out, FALSE);
}

/* ---- Properties --------------------------------------------------------- */

int64_t exp_schedule_end_ns(const GArray *schedule)
{
    int64_t end_ps = 0;

    for (unsigned i = 0; i < schedule->len; i++) {
        const TopoFault *fault = &g_array_index(schedule, TopoFault, i);

        if (!fault->event) {
            end_ps =
                MAX(end_ps, fault->at_ps + fault->for_ps +
                                (fault->for_ps > 0 ? fault->training_ps : 0));
        }
    }
    return (end_ps + PS_PER_NS - 1) / PS_PER_NS;
}

int64_t exp_schedule_begin_ns(const GArray *schedule)
{
    int64_t begin_ns = INT64_MAX;

    for (unsigned i = 0; i < schedule->len; i++) {
        const TopoFault *fault = &g_array_index(schedule, TopoFault, i);

        if (fault->action == TOPO_FAULT_START_LATE) {
            return 0;
        }
        if (!fault->event) {
            begin_ns = MIN(begin_ns, fault->at_ps / PS_PER_NS);
        }
    }
    return begin_ns;
}

bool exp_schedule_may_hit_boot(const GArray *schedule)
{
    for (unsigned i = 0; i < schedule->len; i++) {
        const TopoFault *fault = &g_array_index(schedule, TopoFault, i);

        if (fault->event || fault->action == TOPO_FAULT_START_LATE) {
            return true;
        }
    }
    return false;
}

bool exp_schedule_has_power(const GArray *schedule, const TopoHost *host)
{
    for (unsigned i = 0; i < schedule->len; i++) {
        const TopoFault *fault = &g_array_index(schedule, TopoFault, i);

        if (is_power(fault) && g_strcmp0(fault->host->name, host->name) == 0) {
            return true;
        }
    }
    return false;
}
