/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The entry of farside-timed.so. Options follow the file in -plugin:
 *
 *   board=FD    descriptor of the board that the machines share
 *   control=FD  line on which the supervisor asks for branches
 *   monitor=ID  character device of a QMP monitor
 *   machine=N   number of this machine on it
 *   slice=NS    longest run of the CPU; changes no result
 *   spins=N     looks at the board before sleeping; changes no result
 *   block=FD    socket of a console or port: a write to it waits for the
 *               reader; up to TIMED_BLOCKING times
 *   drive=...   the times of a drive, see timed_drive_option()
 *   fault=...   a fault of this machine, see timed_fault_option()
 *   instruction=PS  the time that the CPU needs for one, 1 to 1000
 *   pause=PS    the time of a PAUSE; without it that of any instruction
 *   start=NS    the virtual time at which the machine is switched on
 *   steps=FILE  writes what happens to FILE, see timed_steps.c
 */
#include "timed.h"
#include "qapi/error.h"
#include "chardev/char.h"
#include "qemu/bitops.h"
#include "qemu/cutils.h"
#include "qemu/error-report.h"
#include "timed_qemu.h"

#define SLICE_NS  1000000
#define SPINS     2000
#define PS_PER_NS 1000

static TimedOptions options = {
    .control = -1,
    .instruction_ps = PS_PER_NS,
    .slice_ns = SLICE_NS,
    .spins = SPINS,
};

static char *monitor; /* ID of its character device; NULL: none */

static void block_lines(Notifier *notifier, void *data)
{
    timed_line_block();
}

/*
 * QEMU serves a monitor in a thread of its own if its character device allows
 * that. This one is served by the main loop: so the gate keeps it out between
 * two barriers, and a branch has it, too. QEMU makes its own monitors before it
 * loads this object.
 */
static void make_monitor(Notifier *notifier, void *data)
{
    Chardev *chr = qemu_chr_find(monitor);

    if (!chr) {
        error_report("virtual time: there is no character device '%s'",
                     monitor);
        exit(1);
    }
    clear_bit(QEMU_CHAR_FEATURE_GCONTEXT, chr->features);
    timed_qemu_new_monitor(chr);
}

static bool add_blocking(int64_t fd)
{
    int i;

    for (i = 0; i < TIMED_BLOCKING; i++) {
        if (!options.blocking[i]) {
            options.blocking[i] = fd;
            return true;
        }
    }
    return false;
}

static bool parse(const char *option, int64_t *ret_board, int64_t *ret_machine)
{
    const char *value = strchr(option, '=');
    int64_t number;

    if (g_str_has_prefix(option, "drive=")) {
        return timed_drive_option(value + 1);
    }
    if (g_str_has_prefix(option, "fault=")) {
        return timed_fault_option(value + 1);
    }
    if (g_str_has_prefix(option, "monitor=")) {
        monitor = g_strdup(value + 1);
        return true;
    }
    if (g_str_has_prefix(option, "steps=")) {
        return timed_steps_option(value + 1);
    }
    if (!value || qemu_strtoi64(value + 1, NULL, 10, &number) || number < 0) {
        return false;
    }
    if (g_str_has_prefix(option, "board=")) {
        *ret_board = number;
    } else if (g_str_has_prefix(option, "machine=")) {
        *ret_machine = number;
    } else if (g_str_has_prefix(option, "control=")) {
        options.control = number;
    } else if (g_str_has_prefix(option, "start=")) {
        options.start_ns = number;
    } else if (g_str_has_prefix(option, "instruction=") && number > 0 &&
               number <= PS_PER_NS) {
        options.instruction_ps = number;
    } else if (g_str_has_prefix(option, "pause=")) {
        options.pause_ps = number;
    } else if (g_str_has_prefix(option, "slice=") && number > 0) {
        options.slice_ns = number;
    } else if (g_str_has_prefix(option, "spins=") &&
               number <= TIMED_BOARD_SPINS) {
        options.spins = number;
    } else {
        return g_str_has_prefix(option, "block=") && number > 2 &&
               add_blocking(number);
    }
    return true;
}

/* The loader calls this before farside_timed_register(). */
bool farside_module_options(int argc, char **argv)
{
    int64_t board = -1, machine = 0;
    int i;

    for (i = 0; i < argc; i++) {
        if (!parse(argv[i], &board, &machine)) {
            error_report("virtual time: '%s' is none of board=FD, machine=N, "
                         "control=FD, monitor=ID, slice=NS, spins=N, block=FD, "
                         "instruction=PS, pause=PS, start=NS, steps=FILE, "
                         "drive=... and fault=...",
                         argv[i]);
            return false;
        }
    }
    if (board < 0) {
        return true;
    }
    options.board_fd = board;
    options.board = timed_board_open(board, machine);
    if (!options.board) {
        error_report("virtual time: descriptor %" PRId64 " is no board with a "
                     "machine %" PRId64 ": %s",
                     board, machine, strerror(errno));
        return false;
    }
    return true;
}

void farside_timed_register(void)
{
    static Notifier ready = {.notify = block_lines};
    static Notifier monitored = {.notify = make_monitor};

    if (options.blocking[0]) {
        qemu_add_machine_init_done_notifier(&ready);
    }
    if (monitor) {
        qemu_add_machine_init_done_notifier(&monitored);
    }
    timed_clock_advance(options.start_ns);
    timed_line_init(&options, timed_gate_wait_in_vain);
    timed_link_init(&options);
    timed_fault_init(&options);
    timed_drive_init();
    timed_pause_init(&options);
    timed_vcpu_init(&options);
    timed_branch_init(&options);
}
