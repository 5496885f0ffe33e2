/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Faults of this machine: its part of what `faults:` of the description says.
 * Each begins at an exact virtual time, or at the arrival of a message, and is
 * a timer of virtual time. So it also comes while the CPU waits in an access.
 *
 *   cut      the link of the NTB device DEVICE is down for FOR, and then trains
 *            for TRAINING. The other end does the same at the same time.
 *   unplug   the same, if it waits for an event: only this end knows of it, so
 *            it tells the other one, as if its user had disabled the link. A
 *            machine that begins after the event gets its time
 *   freeze   the CPU executes nothing for FOR
 *   remove   the device DEVICE does not answer for FOR, and is reset then
 *   off      the machine is switched off; the supervisor ends its process
 *
 * FOR is 0 if the fault does not end.
 */
#include "timed.h"
#include "qapi/error.h"
#include "qemu/cutils.h"
#include "qemu/error-report.h"
#include "qemu/timer.h"
#include "hw/pci/pci.h"
#include "timed_qemu.h"
#include "wire/farside_wire.h"

typedef enum Action {
    ACTION_CUT,
    ACTION_UNPLUG,
    ACTION_FREEZE,
    ACTION_REMOVE,
    ACTION_OFF,
} Action;

static const char *const action_names[] = {
    [ACTION_CUT] = "cut",       [ACTION_UNPLUG] = "unplug",
    [ACTION_FREEZE] = "freeze", [ACTION_REMOVE] = "remove",
    [ACTION_OFF] = "off",
};

static const struct {
    const char *name;
    unsigned type;
} events[] = {
    {"doorbell", FARSIDE_WIRE_DOORBELL},
    {"message", FARSIDE_WIRE_MESSAGE},
    {"write", FARSIDE_WIRE_WRITE},
    {"read", FARSIDE_WIRE_READ},
};

/* The next event of a fault */
typedef enum Stage {
    STAGE_BEGIN,
    STAGE_TRAIN, /* a cut: the machines wait for each other again */
    STAGE_END,
    STAGE_OVER,
} Stage;

typedef struct Fault {
    unsigned index; /* its number in the description */
    int64_t at_ns; /* -1: it waits for an event */
    unsigned type; /* of message that it waits for */
    int64_t count; /* of messages that must still come */
    Action action;
    int64_t for_ns; /* 0: it does not end */
    int64_t training_ns;
    int64_t lookahead_ns; /* before the end the link is in use again */
    char *device;         /* ID, or empty */
    Stage stage;
    int64_t up_ns;
    QEMUTimer *timer;
} Fault;

static GPtrArray *faults;
static TimedBoard *board;
static int64_t start_ns;
static int64_t frozen_until;
static Notifier ready;

static Object *find_device(const Fault *fault)
{
    g_autofree char *path =
        g_strconcat("/machine/peripheral/", fault->device, NULL);

    return object_resolve_path(path, NULL);
}

static void set_fault(const Fault *fault, const char *state)
{
    object_property_set_str(find_device(fault), "fault", state, &error_abort);
}

static void set_enabled(const Fault *fault, bool enabled)
{
    object_property_set_bool(find_device(fault), "enabled", enabled,
                             &error_abort);
}

static void next_stage(Fault *fault, Stage stage, int64_t at_ns)
{
    fault->stage = stage;
    timer_mod(fault->timer, at_ns);
}

/*
 * A link that is to come up is in use a time of training before, so that no
 * machine runs farther ahead than that.
 */
static void go_down(Fault *fault, int64_t from)
{
    bool unplugs = fault->action == ACTION_UNPLUG;

    if (unplugs) {
        set_enabled(fault, false);
    }
    set_fault(fault, "down");
    timed_clock_wake();
    fault->stage = STAGE_OVER;
    if (fault->for_ns) {
        fault->up_ns = from + fault->for_ns + fault->training_ns;
        next_stage(fault, STAGE_TRAIN,
                   MAX(from + fault->for_ns,
                       fault->up_ns - fault->lookahead_ns));
    }
}

static void train(Fault *fault)
{
    if (fault->action == ACTION_UNPLUG) {
        set_enabled(fault, true);
    }
    set_fault(fault, "training");
    next_stage(fault, STAGE_END, fault->up_ns);
}

static void freeze(Fault *fault, int64_t now)
{
    frozen_until =
        fault->for_ns ? MAX(frozen_until, now + fault->for_ns)
                      : TIMED_BOARD_NEVER;
    /* The CPU goes on at the end: it needs no timer of its own. */
    fault->stage = STAGE_OVER;
}

/*
 * Takes the link down whose properties have @suffix. The chip of several hosts
 * has properties for the numbers of all hosts, and refuses those that are no
 * peers.
 */
static void disable_link(Object *object, const char *suffix)
{
    g_autofree char *fault = g_strconcat("fault", suffix, NULL);
    g_autofree char *enabled = g_strconcat("enabled", suffix, NULL);

    if (object_property_find(object, fault)) {
        object_property_set_bool(object, enabled, false, NULL);
        object_property_set_str(object, fault, "down", NULL);
    }
}

static int disable_links(Object *object, void *opaque)
{
    char suffix[] = ".0";

    disable_link(object, "");
    for (; object_property_find(object, "fault.0") && suffix[1] < '8';
         suffix[1]++) {
        disable_link(object, suffix);
    }
    return 0;
}

/* The links go down, and the CPU stops. */
static void switch_off(Fault *fault)
{
    object_child_foreach(object_resolve_path("/machine/peripheral", NULL),
                         disable_links, NULL);
    frozen_until = TIMED_BOARD_NEVER;
    timed_clock_wake();
    timed_board_fall(board, fault->index);
    fault->stage = STAGE_OVER;
}

static uint64_t read_ones(void *opaque, hwaddr addr, unsigned size)
{
    return UINT64_MAX;
}

static void write_nothing(void *opaque, hwaddr addr, uint64_t data,
                          unsigned size)
{
}

static const MemoryRegionOps ones_ops = {
    .read = read_ones,
    .write = write_nothing,
    .valid = {.min_access_size = 1, .max_access_size = 8},
};

/*
 * QEMU reads 0 where nothing is. A root complex returns all ones for a request
 * that nobody completes (PCIe 5.0 s2.3.2), so such a region lies below each
 * BAR. It stays: when the device returns its BARs are not set.
 */
static void put_ones_below(PCIDevice *pci)
{
    unsigned i;

    for (i = 0; i < PCI_NUM_REGIONS; i++) {
        const PCIIORegion *region = &pci->io_regions[i];
        MemoryRegion *ones;

        if (!region->size || region->addr == PCI_BAR_UNMAPPED ||
            (region->type & PCI_BASE_ADDRESS_SPACE_IO)) {
            continue;
        }
        ones = g_new0(MemoryRegion, 1);
        memory_region_init_io(ones, NULL, &ones_ops, NULL, "farside-removed",
                              region->size);
        memory_region_add_subregion_overlap(region->address_space, region->addr,
                                            ones, 0);
    }
}

static void take_away(const Fault *fault)
{
    PCIDevice *pci = PCI_DEVICE(find_device(fault));

    put_ones_below(pci);
    pci_set_power(pci, false);
}

/* @now is a time in the past if the fault began before this machine. */
static void begin(Fault *fault, int64_t now)
{
    switch (fault->action) {
    case ACTION_CUT:
    case ACTION_UNPLUG:
        go_down(fault, now);
        break;
    case ACTION_FREEZE:
        freeze(fault, now);
        break;
    case ACTION_REMOVE:
        take_away(fault);
        fault->stage = STAGE_OVER;
        if (fault->for_ns) {
            next_stage(fault, STAGE_END, now + fault->for_ns);
        }
        break;
    case ACTION_OFF:
        switch_off(fault);
        break;
    }
}

static void end(Fault *fault)
{
    fault->stage = STAGE_OVER;
    if (fault->action == ACTION_REMOVE) {
        pci_set_power(PCI_DEVICE(find_device(fault)), true);
    } else {
        set_fault(fault, "up");
    }
}

static void on_timer(void *opaque)
{
    Fault *fault = opaque;

    switch (fault->stage) {
    case STAGE_BEGIN:
        begin(fault, timed_clock_now());
        break;
    case STAGE_TRAIN:
        train(fault);
        break;
    case STAGE_END:
        end(fault);
        break;
    case STAGE_OVER:
        break;
    }
}

int64_t timed_fault_frozen_until(int64_t now)
{
    return frozen_until > now ? frozen_until : 0;
}

void timed_fault_see(const void *packet)
{
    const struct farside_wire_head *head = packet;
    unsigned i;

    for (i = 0; faults && i < faults->len; i++) {
        Fault *fault = faults->pdata[i];

        if (fault->at_ns >= 0 || fault->type != head->type ||
            fault->count == 0) {
            continue;
        }
        /* The next machine of this host does not begin anew. */
        timed_board_count_event(board, fault->index, timed_clock_now());
        if (--fault->count == 0) {
            /* After the message, at the same time */
            timer_mod(fault->timer, timed_clock_now());
        }
    }
}

/* ---- Options ---------------------------------------------------------- */

/* Reads a number that is not negative. */
static bool parse_number(const char *text, int64_t *ret_number)
{
    return text && qemu_strtoi64(text, NULL, 10, ret_number) == 0 &&
           *ret_number >= 0;
}

static bool parse_begin(Fault *fault, char ***words)
{
    unsigned i;

    fault->at_ns = -1;
    for (i = 0; **words && i < ARRAY_SIZE(events); i++) {
        if (strcmp(**words, events[i].name) == 0) {
            fault->type = events[i].type;
            (*words)++;
            return parse_number(*(*words)++, &fault->count) && fault->count > 0;
        }
    }
    return parse_number(*(*words)++, &fault->at_ns);
}

static bool parse_index(Fault *fault, char ***words)
{
    int64_t index;

    if (!parse_number(*(*words)++, &index) || index >= TIMED_BOARD_FAULTS) {
        return false;
    }
    fault->index = index;
    return true;
}

static bool parse_action(const char *word, Action *ret_action)
{
    unsigned i;

    for (i = 0; word && i < ARRAY_SIZE(action_names); i++) {
        if (strcmp(word, action_names[i]) == 0) {
            *ret_action = i;
            return true;
        }
    }
    return false;
}

bool timed_fault_option(const char *value)
{
    g_auto(GStrv) words = g_strsplit(value, ":", -1);
    g_autofree Fault *fault = g_new0(Fault, 1);
    char **word = words;

    if (g_strv_length(words) < 7 || !parse_index(fault, &word) ||
        !parse_begin(fault, &word) ||
        g_strv_length(word) != 5 || !parse_action(word[0], &fault->action) ||
        !parse_number(word[1], &fault->for_ns) ||
        !parse_number(word[2], &fault->training_ns) ||
        !parse_number(word[3], &fault->lookahead_ns)) {
        return false;
    }
    fault->device = g_strdup(word[4]);
    faults = faults ?: g_ptr_array_new();
    g_ptr_array_add(faults, g_steal_pointer(&fault));
    return true;
}

/* True for a cable or a slot, false for the CPU. */
static bool is_outside(const Fault *fault)
{
    return fault->action == ACTION_CUT || fault->action == ACTION_UNPLUG ||
           fault->action == ACTION_REMOVE;
}

/*
 * True if @fault has begun before this machine, and still holds: its cables and
 * slots are as they were, while its CPU begins anew.
 */
static bool is_present(const Fault *fault)
{
    int64_t up_ns = fault->at_ns + fault->for_ns +
                    (fault->action == ACTION_REMOVE ? 0 : fault->training_ns);

    return is_outside(fault) && fault->at_ns >= 0 && fault->at_ns < start_ns &&
           (fault->for_ns == 0 || up_ns > start_ns);
}

static void arm_fault(Fault *fault)
{
    if (is_outside(fault) && !find_device(fault)) {
        error_report("virtual time: fault of '%s': there is no such device",
                     fault->device);
        exit(1);
    }
    fault->timer = timer_new_ns(QEMU_CLOCK_VIRTUAL, on_timer, fault);
    if (is_present(fault)) {
        begin(fault, fault->at_ns);
    } else if (fault->at_ns >= start_ns) {
        timer_mod(fault->timer, fault->at_ns);
    }
}

static void arm(Notifier *notifier, void *data)
{
    unsigned i;

    for (i = 0; i < faults->len; i++) {
        arm_fault(faults->pdata[i]);
    }
}

bool timed_fault_add(const char *value)
{
    if (!timed_fault_option(value)) {
        return false;
    }
    arm_fault(faults->pdata[faults->len - 1]);
    return true;
}

void timed_fault_init(const TimedOptions *options)
{
    board = options->board;
    start_ns = options->start_ns;
    if (faults) {
        ready.notify = arm;
        qemu_add_machine_init_done_notifier(&ready);
    }
}
