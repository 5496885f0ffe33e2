/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * PAUSE. A loop that waits has one in each turn, and a CPU spends most of the
 * turn in it. Otherwise a wait of 100 ms would be ten million turns, each of
 * which leaves QEMU's translated code, because PAUSE lets other CPUs run.
 *
 * QEMU counts a PAUSE as one instruction. The rest of its time is owed, and
 * passes at once, or in the next run if this one ends within the PAUSE.
 */
#include "timed.h"
#include "timed_qemu.h"

static const uint8_t pause_code[] = {0xf3, 0x90};
static int64_t extra; /* the instructions that a PAUSE takes beyond its own */
static int64_t owed;  /* instructions */

static void on_pause(unsigned int cpu, void *data)
{
    owed += extra;
}

static bool is_pause(const struct qemu_plugin_insn *insn)
{
    uint8_t code[sizeof(pause_code)];

    if (qemu_plugin_insn_size(insn) != sizeof(code)) {
        return false;
    }
    timed_qemu_copy_code(insn, code, sizeof(code));
    return memcmp(code, pause_code, sizeof(code)) == 0;
}

/* PAUSE is the last instruction of its block. */
TIMED_ON_TRANSLATED(on_translated, tb)
{
    size_t count = qemu_plugin_tb_n_insns(tb);
    struct qemu_plugin_insn *last = qemu_plugin_tb_get_insn(tb, count - 1);

    if (is_pause(last)) {
        qemu_plugin_register_vcpu_insn_exec_cb(last, on_pause,
                                               QEMU_PLUGIN_CB_NO_REGS, NULL);
    }
}

/* The loader calls this after farside_module_options(). */
void farside_module_watch(qemu_plugin_id_t id)
{
    timed_qemu_on_translated(id, on_translated);
}

void timed_pause_init(const TimedOptions *options)
{
    extra = MAX(options->pause_ps / options->instruction_ps - 1, 0);
}

int64_t timed_pause_spend(int64_t most)
{
    int64_t spent = MIN(owed, most);

    owed -= spent;
    return spent;
}
