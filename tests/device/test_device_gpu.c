/* SPDX-License-Identifier: MIT */
/*
 * Invariant: the accelerator has the registers, capabilities and commands that
 * docs/reference/gpu.md gives. The reset values and masks are read from that
 * page. A command that is wrong stops its queue, says why, and does no harm.
 */
#include <check.h>
#include <glib.h>
#include <stdlib.h>
#include <string.h>
#include "device_gpu.h"
#include "device_pair.h"
#include "../suite.h"

#define MIB  (1ull << 20)
#define DATA (8 * MIB) /* a place in the machine's memory */

static DeviceRig *rig;
static DeviceGpu gpu;

static void setup(void)
{
    static const char *const arguments[] = {
        "-device", "farside-gpu,id=gpu,addr=06.0", NULL};

    rig = rig_new_with(NULL, "", arguments);
    gpu = gpu_map(rig, 0x30, GPU_BAR0);
}

static void teardown(void)
{
    rig_free(rig);
    rig = NULL;
}

/* The page */

typedef struct {
    unsigned offset;
    unsigned size;
    char access[4];
    uint64_t mask;
    uint64_t reset;
} Register;

static char *cell_text(const char *cell)
{
    char *text = g_strdelimit(g_strdup(cell), "`", ' ');

    return g_strstrip(text);
}

/* Each register of the page, and of "4x0x40" the one of queue @queue. */
static GArray *read_page(unsigned queue)
{
    GArray *registers = g_array_new(FALSE, TRUE, sizeof(Register));
    g_autofree char *text = NULL;
    g_auto(GStrv) lines = NULL;
    unsigned i;

    ck_assert(
        g_file_get_contents(g_getenv("FARSIDE_GPU_PAGE"), &text, NULL, NULL));
    lines = g_strsplit(text, "\n", -1);
    for (i = 0; lines[i]; i++) {
        g_auto(GStrv) cells = g_strsplit(lines[i], "|", 7);
        g_autofree char *where = NULL;
        g_autofree char *access = NULL;
        g_autofree char *mask = NULL;
        g_autofree char *reset = NULL;
        Register r = {0};

        if (!g_str_has_prefix(lines[i], "| `0x")) {
            continue;
        }
        where = cell_text(cells[1]);
        access = cell_text(cells[3]);
        mask = cell_text(cells[4]);
        reset = cell_text(cells[5]);
        r.offset = strtoul(where, NULL, 16);
        if (strstr(where, " 4x0x40")) {
            r.offset += queue * GPU_QUEUE_STRIDE;
        }
        r.size = atoi(cells[2]);
        g_strlcpy(r.access, access, sizeof(r.access));
        r.mask = g_ascii_strtoull(mask, NULL, 0);
        r.reset = g_ascii_strtoull(reset, NULL, 0);
        g_array_append_val(registers, r);
    }
    ck_assert_uint_eq(registers->len, 17);
    return registers;
}

START_TEST(registers_have_their_reset_values)
{
    unsigned queue, i;

    for (queue = 0; queue < GPU_QUEUE_COUNT; queue++) {
        GArray *registers = read_page(queue);

        for (i = 0; i < registers->len; i++) {
            const Register *r = &g_array_index(registers, Register, i);
            uint64_t value = rig_read(rig, gpu.bar + r->offset, r->size);

            ck_assert_msg(value == r->reset,
                          "0x%x is 0x%" G_GINT64_MODIFIER "x", r->offset,
                          value);
        }
        g_array_free(registers, TRUE);
    }
    /* An offset in no table, and accesses of the wrong size */
    ck_assert_uint_eq(rig_read(rig, gpu.bar + 0x24, 4), 0);
    ck_assert_uint_eq(rig_read(rig, gpu.bar + 0x200, 8), 0);
    ck_assert_uint_eq(rig_read(rig, gpu.bar + 0x3ffc, 4), 0);
    ck_assert_uint_eq(rig_read(rig, gpu.bar, 2), 0);
}
END_TEST

START_TEST(registers_keep_what_their_mask_allows)
{
    unsigned queue, i;

    for (queue = 0; queue < GPU_QUEUE_COUNT; queue++) {
        GArray *registers = read_page(queue);

        for (i = 0; i < registers->len; i++) {
            const Register *r = &g_array_index(registers, Register, i);
            uint64_t at = gpu.bar + r->offset, want = r->reset, value;

            rig_write(rig, at, r->size, UINT64_MAX);
            value = rig_read(rig, at, r->size);
            if (r->access[0] == 'R' && r->access[1] == 'W') {
                want = r->mask;
            }
            /* ENABLE is refused, because ENTRIES is no power of 2. */
            if (r->offset % GPU_QUEUE_STRIDE == GPU_QUEUE_CONTROL &&
                r->offset >= GPU_QUEUE) {
                want = GPU_QUEUE_INTERRUPTS;
            }
            ck_assert_msg(value == want, "0x%x is 0x%" G_GINT64_MODIFIER "x",
                          r->offset, value);
        }
        g_array_free(registers, TRUE);
    }
}
END_TEST

START_TEST(queue_has_to_be_right_before_it_is_enabled)
{
    static const unsigned bad[] = {0, 1, 3, 4095, 8191};
    uint64_t q = gpu.bar + GPU_QUEUE;
    unsigned i;

    for (i = 0; i < G_N_ELEMENTS(bad); i++) {
        rig_write(rig, q + GPU_ENTRIES, 4, bad[i]);
        rig_write(rig, q + GPU_QUEUE_CONTROL, 4, GPU_QUEUE_ENABLE);
        ck_assert_uint_eq(rig_read(rig, q + GPU_QUEUE_CONTROL, 4), 0);
    }
    gpu_enable(&gpu, 0, 16, 0);
    /* BASE and ENTRIES are read only now. */
    rig_write(rig, q + GPU_ENTRIES, 4, 2);
    rig_write(rig, q + GPU_BASE, 8, 0);
    ck_assert_uint_eq(rig_read(rig, q + GPU_ENTRIES, 4), 16);
    ck_assert_uint_eq(rig_read(rig, q + GPU_BASE, 8), GPU_RING(0));
}
END_TEST

/* Offset of an extended capability (PCIe 5.0 s7.6.3), by qtest's ECAM. */
START_TEST(extended_capabilities_are_there)
{
    const struct {
        unsigned offset, id;
    } want[] = {
        {0x100, 0x000e}, {0x110, 0x0001}, {0x160, 0x0003}, {0x180, 0x0010}};
    uint64_t ecam = gpu_ecam(rig, 0x30);
    unsigned i, offset = 0x100, word;

    ck_assert_uint_eq(rig_read(rig, ecam, 4), 0xfa901234);
    ck_assert_uint_eq(rig_read(rig, ecam + 8, 4), 0x12000001);
    for (i = 0; i < G_N_ELEMENTS(want); i++) {
        ck_assert_uint_eq(offset, want[i].offset);
        word = rig_read(rig, ecam + offset, 4);
        ck_assert_uint_eq(0xffff & word, want[i].id);
        offset = word >> 20;
    }
    ck_assert_uint_eq(offset, 0);
    /* Serial number 1; 2 VFs of device 0xfa90, with their memory's BAR */
    ck_assert_uint_eq(rig_read(rig, ecam + 0x164, 4), 1);
    ck_assert_uint_eq(rig_read(rig, ecam + 0x180 + 0x0e, 2), 2);
    ck_assert_uint_eq(rig_read(rig, ecam + 0x180 + 0x1a, 2), 0xfa90);
    rig_write(rig, ecam + 0x180 + 0x2c, 4, UINT32_MAX);
    ck_assert_uint_eq(rig_read(rig, ecam + 0x180 + 0x2c, 4),
                      (uint32_t) - (16 * MIB) | 0xc);
}
END_TEST

/* Device Control, PCIe 5.0 s7.5.3.4: bits 3:0 enable reports of errors, bit 15
 * starts a Function Level Reset, which clears them (s6.6.2). */
START_TEST(device_control_enables_reports_of_errors)
{
    uint64_t ecam = gpu_ecam(rig, 0x30);
    unsigned at = rig_read(rig, ecam + 0x34, 1);

    while (rig_read(rig, ecam + at, 1) != 0x10) {
        at = rig_read(rig, ecam + at + 1, 1);
        ck_assert_uint_ne(at, 0);
    }
    ck_assert_uint_eq(0xf & rig_read(rig, ecam + at + 8, 2), 0);
    rig_write(rig, ecam + at + 8, 2, 0xf);
    ck_assert_uint_eq(0xf & rig_read(rig, ecam + at + 8, 2), 0xf);
    rig_write(rig, ecam + at + 8, 2, 0x800f);
    ck_assert_uint_eq(0xf & rig_read(rig, ecam + at + 8, 2), 0);
}
END_TEST

START_TEST(memory_has_the_size_of_the_property)
{
    static const char *const arguments[] = {
        "-device", "farside-gpu,addr=06.0,memory=64M,vfs=0", NULL};
    uint64_t ecam;

    teardown();
    rig = rig_new_with(NULL, "", arguments);
    gpu = gpu_map(rig, 0x30, GPU_BAR0);
    ecam = gpu_ecam(rig, 0x30);
    ck_assert_uint_eq(rig_read(rig, gpu.bar + GPU_MEMORY, 8), 64 * MIB);
    rig_write(rig, gpu.memory + 64 * MIB - 8, 8, 0x1122334455667788ull);
    ck_assert_uint_eq(rig_read(rig, gpu.memory + 64 * MIB - 8, 8),
                      0x1122334455667788ull);
    /* The last extended capability is the serial number. */
    ck_assert_uint_eq(rig_read(rig, ecam + 0x160, 4) >> 20, 0);
}
END_TEST

/* Commands. Data are numbers that tell their place. */

static uint64_t word_at(unsigned i)
{
    return (i + 1) * 0x9e3779b97f4a7c15ull;
}

static void fill_memory(uint64_t at, unsigned words)
{
    uint64_t *ram = (uint64_t *)(rig_ram(rig) + at);
    unsigned i;

    for (i = 0; i < words; i++) {
        ram[i] = word_at(i);
    }
}

START_TEST(copy_goes_every_way)
{
    const unsigned size = 300000; /* several pieces, and a rest */
    uint8_t *ram = rig_ram(rig);

    gpu_enable(&gpu, 0, 16, 0);
    fill_memory(DATA, size / 8 + 1);
    gpu_put(&gpu, 0, GPU_COPY, size, DATA + 3, GPU_LOCAL | 5);
    gpu_put(&gpu, 0, GPU_COPY, size, GPU_LOCAL | 5, GPU_LOCAL | MIB);
    gpu_put(&gpu, 0, GPU_COPY, size, GPU_LOCAL | MIB, DATA + MIB + 1);
    gpu_put(&gpu, 0, GPU_COPY, size, DATA + MIB + 1, DATA + 2 * MIB);
    gpu_run(&gpu, 0);
    ck_assert_int_eq(memcmp(ram + DATA + 2 * MIB, ram + DATA + 3, size), 0);
    ck_assert_uint_eq(ram[DATA + 2 * MIB + size], 0);
    ck_assert_uint_eq(ram[DATA + MIB], 0);
    ck_assert_uint_eq(rig_read(rig, gpu.memory + MIB, 1), ram[DATA + 3]);
    ck_assert_uint_eq(rig_read(rig, gpu.memory + 4, 1), 0);
}
END_TEST

START_TEST(fill_repeats_its_pattern)
{
    uint8_t *ram = rig_ram(rig);
    unsigned i;

    gpu_enable(&gpu, 1, 2, 0);
    gpu_put(&gpu, 1, GPU_FILL, 0x10008, 0x0123456789abcdefull, DATA + 8);
    gpu_run(&gpu, 1);
    for (i = 0; i < 0x10008; i += 8) {
        ck_assert_uint_eq(*(uint64_t *)(ram + DATA + 8 + i),
                          0x0123456789abcdefull);
    }
    ck_assert_uint_eq(*(uint64_t *)(ram + DATA), 0);
    ck_assert_uint_eq(*(uint64_t *)(ram + DATA + 0x10010), 0);
}
END_TEST

START_TEST(sum_is_modulo_2_to_the_64)
{
    const unsigned words = 20000;
    uint64_t sum = 0;
    unsigned i;

    for (i = 0; i < words; i++) {
        sum += word_at(i);
    }
    fill_memory(DATA, words);
    gpu_enable(&gpu, 2, 8, 0);
    gpu_put(&gpu, 2, GPU_SUM_OF, 8 * words, DATA, DATA + MIB + 3);
    gpu_run(&gpu, 2);
    ck_assert_uint_eq(rig_read(rig, gpu_queue(&gpu, 2) + GPU_SUM, 8), sum);
    ck_assert_uint_eq(rig_read(rig, DATA + MIB + 3, 8), sum);
    /* Nowhere: the register alone */
    gpu_put(&gpu, 2, GPU_SUM_OF, 8, DATA, GPU_NOWHERE);
    gpu_run(&gpu, 2);
    ck_assert_uint_eq(rig_read(rig, gpu_queue(&gpu, 2) + GPU_SUM, 8),
                      word_at(0));
}
END_TEST

START_TEST(fence_tells_that_commands_are_done)
{
    gpu_enable(&gpu, 3, 4, 0);
    gpu_put(&gpu, 3, GPU_FILL, 4 * MIB, 7, GPU_LOCAL);
    gpu_put(&gpu, 3, GPU_FENCE_OP, 0, 0xfeed, DATA + 1);
    gpu_run(&gpu, 3);
    ck_assert_uint_eq(rig_read(rig, gpu_queue(&gpu, 3) + GPU_FENCE, 8), 0xfeed);
    ck_assert_uint_eq(rig_read(rig, DATA + 1, 8), 0xfeed);
    ck_assert_uint_eq(rig_read(rig, gpu.memory + 4 * MIB - 8, 8), 7);
}
END_TEST

/* Ring of 4: the fifth command is in entry 0 again. */
START_TEST(ring_goes_round)
{
    unsigned i;

    gpu_enable(&gpu, 0, 4, 0);
    for (i = 1; i < 20; i++) {
        gpu_put(&gpu, 0, GPU_FENCE_OP, 0, i, GPU_NOWHERE);
        gpu_run(&gpu, 0);
        ck_assert_uint_eq(rig_read(rig, gpu_queue(&gpu, 0) + GPU_HEAD, 4),
                          i % 4);
        ck_assert_uint_eq(rig_read(rig, gpu_queue(&gpu, 0) + GPU_FENCE, 8), i);
    }
}
END_TEST

/* The long commands of one queue do not hold up the others. They would take
 * seconds, so they are not done before the others, however busy the processors
 * are. */
START_TEST(queues_take_turns)
{
    unsigned i, q;

    for (q = 0; q < GPU_QUEUE_COUNT; q++) {
        gpu_enable(&gpu, q, GPU_ENTRIES_MAX, 0);
    }
    for (i = 0; i < GPU_ENTRIES_MAX - 1; i++) {
        gpu_put(&gpu, 0, GPU_COPY, 8 * MIB, GPU_LOCAL, GPU_LOCAL | 8 * MIB);
    }
    gpu_ring(&gpu, 0);
    for (q = 1; q < GPU_QUEUE_COUNT; q++) {
        gpu_put(&gpu, q, GPU_FENCE_OP, 0, q, GPU_NOWHERE);
        gpu_run(&gpu, q);
    }
    ck_assert_uint_eq(rig_read(rig, gpu.bar + GPU_STATUS, 4), 1);
    /* CONTROL resets all queues at once. */
    rig_write(rig, gpu.bar + GPU_CONTROL, 4, GPU_CONTROL_RESET);
    ck_assert_uint_eq(rig_read(rig, gpu.bar + GPU_STATUS, 4), 0);
    for (q = 0; q < GPU_QUEUE_COUNT; q++) {
        ck_assert_uint_eq(
            rig_read(rig, gpu_queue(&gpu, q) + GPU_QUEUE_CONTROL, 4), 0);
    }
}
END_TEST

/* Errors */

static const struct {
    struct gpu_command command;
    unsigned error;
} bad_commands[] = {
    {{.operation = 0}, GPU_ERROR_OPERATION},
    {{.operation = 5, .length = 8}, GPU_ERROR_OPERATION},
    {{.operation = GPU_COPY, .flags = 2, .length = 8}, GPU_ERROR_ZERO},
    {{.operation = GPU_COPY, .zero = 1, .length = 8}, GPU_ERROR_ZERO},
    {{.operation = GPU_COPY, .zero2 = 1, .length = 8}, GPU_ERROR_ZERO},
    {{.operation = GPU_COPY, .length = 0}, GPU_ERROR_LENGTH},
    {{.operation = GPU_COPY, .length = GPU_LENGTH_MAX + 1}, GPU_ERROR_LENGTH},
    {{.operation = GPU_FENCE_OP, .length = 8}, GPU_ERROR_LENGTH},
    {{.operation = GPU_FILL, .length = 12}, GPU_ERROR_ALIGNMENT},
    {{.operation = GPU_FILL, .length = 8, .destination = 4},
     GPU_ERROR_ALIGNMENT},
    {{.operation = GPU_SUM_OF, .length = 8, .source = 4}, GPU_ERROR_ALIGNMENT},
    {{.operation = GPU_COPY, .length = 2, .source = GPU_LOCAL | (16 * MIB - 1)},
     GPU_ERROR_LOCAL},
    {{.operation = GPU_COPY,
      .length = 8,
      .source = DATA,
      .destination = GPU_LOCAL | 16 * MIB},
     GPU_ERROR_LOCAL},
    {{.operation = GPU_FILL,
      .length = 8,
      .destination = GPU_LOCAL | (UINT64_MAX - 7)},
     GPU_ERROR_LOCAL},
    {{.operation = GPU_FENCE_OP, .destination = GPU_LOCAL | (16 * MIB - 7)},
     GPU_ERROR_LOCAL},
    /* There is nothing at 2 GiB. */
    {{.operation = GPU_COPY, .length = 8, .source = 2048 * MIB}, GPU_ERROR_DMA},
    {{.operation = GPU_FENCE_OP, .destination = 2048 * MIB}, GPU_ERROR_DMA},
};

/* @command, and a fence behind it that is done only after RESUME */
START_TEST(bad_command_stops_its_queue)
{
    uint64_t q = gpu_queue(&gpu, 1);

    gpu_enable(&gpu, 1, 8, 0);
    gpu_put_command(&gpu, 1, &bad_commands[_i].command);
    gpu_put(&gpu, 1, GPU_FENCE_OP, 0, 99, GPU_NOWHERE);
    gpu_ring(&gpu, 1);
    gpu_wait(&gpu, gpu.bar + GPU_STATUS, 4, 0x200);
    ck_assert_uint_eq(rig_read(rig, q + GPU_ERROR, 4), bad_commands[_i].error);
    ck_assert_uint_eq(rig_read(rig, q + GPU_HEAD, 4), 0);
    ck_assert_uint_eq(rig_read(rig, q + GPU_FENCE, 8), 0);
    rig_write(rig, q + GPU_RESUME, 4, 1);
    gpu_wait(&gpu, q + GPU_FENCE, 8, 99);
    ck_assert_uint_eq(rig_read(rig, q + GPU_ERROR, 4), 0);
    ck_assert_uint_eq(rig_read(rig, q + GPU_HEAD, 4), 2);
}
END_TEST

START_TEST(bad_rings_are_errors)
{
    uint64_t q = gpu_queue(&gpu, 0);

    gpu_enable(&gpu, 0, 8, 0);
    rig_write(rig, q + GPU_TAIL, 4, 8);
    ck_assert_uint_eq(rig_read(rig, q + GPU_ERROR, 4), GPU_ERROR_TAIL);
    rig_write(rig, q + GPU_RESUME, 4, 1);
    gpu_put(&gpu, 0, GPU_FENCE_OP, 0, 5, GPU_NOWHERE);
    gpu_run(&gpu, 0);
    /* A ring where there is nothing */
    rig_write(rig, q + GPU_QUEUE_CONTROL, 4, 0);
    rig_write(rig, q + GPU_BASE, 8, 2048 * MIB);
    rig_write(rig, q + GPU_QUEUE_CONTROL, 4, GPU_QUEUE_ENABLE);
    rig_write(rig, q + GPU_TAIL, 4, 1);
    gpu_wait(&gpu, q + GPU_ERROR, 4, GPU_ERROR_RING);
}
END_TEST

START_TEST(dma_needs_bus_mastering)
{
    gpu_enable(&gpu, 0, 8, 0);
    rig_pci_write(rig, 0x30, 0x04, 0x2);
    gpu_put(&gpu, 0, GPU_FENCE_OP, 0, 5, GPU_NOWHERE);
    gpu_ring(&gpu, 0);
    gpu_wait(&gpu, gpu_queue(&gpu, 0) + GPU_ERROR, 4, GPU_ERROR_RING);
}
END_TEST

START_TEST(reset_stops_queues_and_keeps_memory)
{
    unsigned express = rig_pci_find(rig, 0x30, 0x10);
    uint32_t control;

    gpu_enable(&gpu, 0, 8, 0);
    gpu_put(&gpu, 0, GPU_FENCE_OP, 0, 5, GPU_NOWHERE);
    gpu_run(&gpu, 0);
    rig_write(rig, gpu.memory + 0x100, 8, 0x5555);
    control = rig_pci_read(rig, 0x30, express + 8);
    rig_pci_write(rig, 0x30, express + 8, (0xffffu & control) | 1u << 15);
    gpu = gpu_map(rig, 0x30, GPU_BAR0);
    ck_assert_uint_eq(rig_read(rig, gpu_queue(&gpu, 0) + GPU_FENCE, 8), 0);
    ck_assert_uint_eq(rig_read(rig, gpu_queue(&gpu, 0) + GPU_QUEUE_CONTROL, 4),
                      0);
    ck_assert_uint_eq(rig_read(rig, gpu.memory + 0x100, 8), 0x5555);
}
END_TEST

/* Interrupts: MSI-X vectors write to the machine's memory here. */

static void set_vectors(void)
{
    unsigned msix = rig_pci_find(rig, 0x30, 0x11), i;

    rig_pci_write(rig, 0x30, msix, 1u << 31);
    for (i = 0; i < GPU_QUEUE_COUNT; i++) {
        rig_write(rig, gpu.msix + 16 * i, 8, DATA + 4 * i);
        rig_write(rig, gpu.msix + 16 * i + 8, 4, 0x100 + i);
        rig_write(rig, gpu.msix + 16 * i + 12, 4, 0);
    }
}

START_TEST(commands_interrupt_when_they_are_asked_to)
{
    struct gpu_command c = {.operation = GPU_FENCE_OP,
                            .flags = GPU_FLAG_INTERRUPT,
                            .source = 1,
                            .destination = GPU_NOWHERE};
    unsigned q;

    set_vectors();
    for (q = 0; q < GPU_QUEUE_COUNT; q++) {
        gpu_enable(&gpu, q, 8, GPU_QUEUE_INTERRUPTS);
        /* Without the flag there is none. */
        gpu_put(&gpu, q, GPU_FENCE_OP, 0, 5, GPU_NOWHERE);
        gpu_run(&gpu, q);
        ck_assert_uint_eq(rig_read(rig, DATA + 4 * q, 4), 0);
        gpu_put_command(&gpu, q, &c);
        gpu_run(&gpu, q);
        gpu_wait(&gpu, DATA + 4 * q, 4, 0x100 + q);
    }
    /* An error interrupts, unless INTERRUPTS is off. */
    rig_write(rig, DATA, 8, 0);
    rig_write(rig, gpu_queue(&gpu, 0) + GPU_TAIL, 4, 8);
    ck_assert_uint_eq(rig_read(rig, DATA, 4), 0x100);
    rig_write(rig, gpu_queue(&gpu, 1) + GPU_QUEUE_CONTROL, 4, GPU_QUEUE_ENABLE);
    rig_write(rig, gpu_queue(&gpu, 1) + GPU_TAIL, 4, 8);
    ck_assert_uint_eq(rig_read(rig, DATA + 4, 4), 0);
}
END_TEST

START_TEST(virtual_functions_work_alone)
{
    const uint64_t cap = gpu_ecam(rig, 0x30) + 0x180;
    const uint64_t regs = 0xd0000000, memory = 0xc0000000;
    DeviceGpu vf;
    unsigned i;

    rig_write(rig, cap + 0x24, 8, regs);
    rig_write(rig, cap + 0x2c, 8, memory);
    rig_write(rig, cap + 0x34, 8, regs + MIB);
    rig_write(rig, cap + 0x10, 2, 2);
    /* VF Enable, VF Memory Space Enable (PCIe 5.0 s9.3.3.3) */
    rig_write(rig, cap + 0x08, 2, 0x9);
    for (i = 0; i < 2; i++) {
        vf = (DeviceGpu){.rig = rig,
                         .bar = regs + i * GPU_REGS_SIZE,
                         .memory = memory + i * 16 * MIB};
        rig_write(rig, gpu_ecam(rig, 0x31 + i) + 4, 2, 0x6);
        ck_assert_uint_eq(rig_read(rig, vf.bar + GPU_ID, 4), 0x55504746);
        ck_assert_uint_eq(rig_read(rig, vf.bar + GPU_MEMORY, 8), 16 * MIB);
        gpu_enable(&vf, i, 8, 0);
        gpu_put(&vf, i, GPU_FILL, 4096, 0x1000 + i, GPU_LOCAL | 4096);
        gpu_run(&vf, i);
        ck_assert_uint_eq(rig_read(rig, vf.memory + 4096, 8), 0x1000 + i);
        ck_assert_uint_eq(rig_read(rig, vf.memory + 8192, 8), 0);
    }
    /* The first is not disturbed by the second, nor the PF by either. */
    ck_assert_uint_eq(rig_read(rig, memory + 4096, 8), 0x1000);
    ck_assert_uint_eq(rig_read(rig, gpu.memory + 4096, 8), 0);
    rig_write(rig, cap + 0x08, 2, 0);
    ck_assert_uint_eq(rig_read(rig, gpu_ecam(rig, 0x31), 4), UINT32_MAX);
}
END_TEST

/* Across an NTB: the peer maps the memory, and sees what the device writes. */
START_TEST(peer_maps_the_memory)
{
    static const char *const lender[] = {"-device",
                                         "farside-gpu,addr=07.0,vfs=0", NULL};
    DevicePair *pair = pair_new_with_cable(
        "if=none,id=d,driver=null-co,size=1M", lender, NULL);
    DeviceCable *cable = pair_cable(pair);
    DeviceGpu there = gpu_map(pair_lender(pair), 0x38, GPU_BAR0);
    uint64_t window = pair_open(pair, there.memory);
    gint64 deadline = rig_deadline();
    unsigned reads;

    gpu_enable(&there, 0, 8, 0);
    gpu_put(&there, 0, GPU_FILL, 65536, 0xabcd, GPU_LOCAL);
    gpu_run(&there, 0);
    /* Until the lender has announced the memory, reads are messages. */
    do {
        ck_assert_msg(g_get_monotonic_time() < deadline, "never mapped");
        reads = cable_count(cable, FARSIDE_WIRE_READ);
        ck_assert_uint_eq(rig_read(pair_borrower(pair), window + 0x8000, 8),
                          0xabcd);
    } while (cable_count(cable, FARSIDE_WIRE_READ) != reads);
    /* And the device writes to the borrower's memory. */
    gpu_put(&there, 0, GPU_COPY, 4096, GPU_LOCAL, RIG_BAR4 + DATA);
    gpu_run(&there, 0);
    /* A posted write may be on its way when its command is done. */
    rig_wait_for(pair_borrower(pair), DATA + 4088, 8, 0xabcd);
    pair_free(pair);
}
END_TEST

static Suite *make_suite(void)
{
    Suite *suite = suite_create("device_gpu");
    TCase *tcase = tcase_create("gpu");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, registers_have_their_reset_values);
    tcase_add_test(tcase, registers_keep_what_their_mask_allows);
    tcase_add_test(tcase, queue_has_to_be_right_before_it_is_enabled);
    tcase_add_test(tcase, extended_capabilities_are_there);
    tcase_add_test(tcase, device_control_enables_reports_of_errors);
    tcase_add_test(tcase, memory_has_the_size_of_the_property);
    tcase_add_test(tcase, copy_goes_every_way);
    tcase_add_test(tcase, fill_repeats_its_pattern);
    tcase_add_test(tcase, sum_is_modulo_2_to_the_64);
    tcase_add_test(tcase, fence_tells_that_commands_are_done);
    tcase_add_test(tcase, ring_goes_round);
    tcase_add_test(tcase, queues_take_turns);
    tcase_add_loop_test(tcase, bad_command_stops_its_queue, 0,
                        G_N_ELEMENTS(bad_commands));
    tcase_add_test(tcase, bad_rings_are_errors);
    tcase_add_test(tcase, dma_needs_bus_mastering);
    tcase_add_test(tcase, reset_stops_queues_and_keeps_memory);
    tcase_add_test(tcase, commands_interrupt_when_they_are_asked_to);
    tcase_add_test(tcase, virtual_functions_work_alone);
    suite_add_tcase(suite, tcase);

    tcase = tcase_create("pair");
    tcase_add_test(tcase, peer_maps_the_memory);
    suite_add_tcase(suite, tcase);
    return suite;
}

int main(void)
{
    return run_suite(make_suite());
}
