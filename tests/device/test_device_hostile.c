/* SPDX-License-Identifier: MIT */
/*
 * Invariant: no access of a guest to registers and windows, and no message of
 * the far end, makes QEMU end, hang, or touch memory that it was not given. The
 * test makes accesses of every size, to each register at least once, and sends
 * messages of every type, most of them nearly right. It prints its seed;
 * FARSIDE_SEED, FARSIDE_ACCESSES and FARSIDE_MESSAGES change seed and numbers.
 */
#define _GNU_SOURCE
#include <check.h>
#include <glib.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "device_gpu.h"
#include "device_rig.h"
#include "switchtec_regs.h"
#include "../suite.h"

#define BATCH 500
#define MIB   (1ull << 20)

typedef struct {
    uint64_t start;
    uint64_t size;
} Range;

/* Ranges of registers: each word is read and written at least once. */
static const Range registers[] = {
    {RIG_BAR0, 0x1000},
    {RIG_BAR0 + 0x1800, 0x200},
    {RIG_BAR0 + 0x2000, 0x200},
    {RIG_BAR0 + 0x4000, 0x800},
    {RIG_BAR0 + 0x10000, 0x400},
    {RIG_BAR0 + 0x14000, 0x500},
    {RIG_BAR0 + 0x15000, 0x400},
    {RIG_BAR0 + 0x16000, 0x500},
    {RIG_BAR0 + 0x17000, 0x400},
    {RIG_BAR0 + 0x74000, 0x8000},
    {RIG_BAR0 + 0x134000, 0x4000},
};

/* Registers with an effect, and those of windows. */
static const Range ranges[] = {
    {RIG_BAR0, 0x820},           {RIG_BAR0 + 0x1800, 0x180},
    {RIG_BAR0 + 0x2000, 0x200},  {RIG_BAR0 + 0x4000, 0x800},
    {RIG_BAR0 + 0x10000, 0x320}, {RIG_BAR0 + 0x14000, 0x100},
    {RIG_BAR0 + 0x16000, 0x100}, {RIG_BAR0 + 0x14400, 0x100},
    {RIG_BAR0 + 0x15000, 0x200}, {RIG_BAR0 + 0x17000, 0x200},
    {RIG_BAR0 + 0x75000, 0xb0},  {RIG_BAR0 + 0x76000, 0x200},
    {RIG_BAR0 + 0x134000, 0x80}, {RIG_BAR0 + 0x136d20, 0x20},
    {RIG_BAR0, 0x400000},        {RIG_BAR2, 8 * MIB},
    {RIG_BAR2, 0x100000},        {RIG_BAR4, 64 * MIB},
};

static unsigned number_of(const char *name, unsigned otherwise)
{
    const char *text = g_getenv(name);

    return text ? strtoul(text, NULL, 0) : otherwise;
}

static uint64_t random_value(GRand *random)
{
    static const uint64_t targets[] = {0,        2 * MIB,  0xfee00000, RIG_BAR0,
                                       RIG_BAR2, RIG_BAR4, 1ull << 54};
    uint64_t value = (uint64_t)g_rand_int(random) << 32 | g_rand_int(random);

    switch (g_rand_int_range(random, 0, 6)) {
    case 0:
        return value;
    case 1:
        return 0x7 & value; /* operations */
    case 2:
        return 1ull << (0x3f & value);
    case 3: /* entries of the LUT, and windows */
        return targets[value % G_N_ELEMENTS(targets)] | (0xf & (value >> 8));
    case 4:
        return 0x30 | 16 << 8 | (0x3f & value) << 14;
    default:
        return 21 | 0x200000;
    }
}

static void add_access(GString *commands, GRand *random)
{
    static const char letters[] = "bwlq";
    const Range *r = &ranges[g_rand_int_range(random, 0, G_N_ELEMENTS(ranges))];
    uint64_t address = r->start + g_rand_int(random) % r->size;
    unsigned size = g_rand_int_range(random, 0, 4);
    uint64_t value = random_value(random);

    if (g_rand_int_range(random, 0, 4)) {
        address &= ~7ull;
    }
    if (size < 3) {
        value &= (1ull << (8 << size)) - 1;
    }
    if (g_rand_boolean(random)) {
        g_string_append_printf(commands, "read%c 0x%" G_GINT64_MODIFIER "x\n",
                               letters[size], address);
    } else {
        g_string_append_printf(commands,
                               "write%c 0x%" G_GINT64_MODIFIER
                               "x 0x%" G_GINT64_MODIFIER "x\n",
                               letters[size], address, value);
    }
}

/* Windows onto memory, and a few whose accesses only the peer can answer. */
static void open_windows(DeviceRig *rig, unsigned part)
{
    static const uint64_t elsewhere[] = {0xfee00000, RIG_BAR0, RIG_BAR2};
    const uint64_t block = RIG_BAR0 + SWITCHTEC_NTB_CTRL +
                           (uint64_t)part * SWITCHTEC_NTB_CTRL_STRIDE;
    uint64_t target;
    unsigned i;

    rig_part_op(rig, part, SWITCHTEC_OP_RESET, SWITCHTEC_STATUS_NORMAL);
    rig_part_op(rig, part, SWITCHTEC_OP_LOCK, SWITCHTEC_STATUS_LOCKED);
    for (i = 0; i < SWITCHTEC_BARS; i++) {
        rig_write(rig, block + SWITCHTEC_CTRL_BAR_ENTRY + i * 0x10, 4, 0);
    }
    rig_write(rig, block + 0x60, 4, RIG_LUT_CTL);
    for (i = 0; i < 64; i++) {
        target = i % 16 < 3 ? elsewhere[i % 16] : i * 0x10000;
        rig_write(rig, block + SWITCHTEC_CTRL_LUT + i * 8, 8,
                  target | (uint64_t)(1 - part) << 1 | 1);
    }
    rig_part_op(rig, part, SWITCHTEC_OP_CFG, SWITCHTEC_STATUS_NORMAL);
}

static GRand *random_of(unsigned seed, const char *what, unsigned count)
{
    printf("# %s: %u, seed %u\n", what, count, seed);
    fflush(stdout);
    return g_rand_new_with_seed(seed);
}

static void sweep(DeviceRig *rig, GRand *random)
{
    GString *commands = g_string_new(NULL);
    unsigned i, offset;

    for (i = 0; i < G_N_ELEMENTS(registers); i++) {
        g_string_truncate(commands, 0);
        for (offset = 0; offset < registers[i].size; offset += 4) {
            uint64_t address = registers[i].start + offset;

            g_string_append_printf(
                commands, "readl 0x%llx\nwritel 0x%llx 0x%x\n",
                (unsigned long long)address, (unsigned long long)address,
                (unsigned)random_value(random));
            if (offset % 1024 == 1020) {
                rig_batch(rig, commands->str, 2 * 256);
                g_string_truncate(commands, 0);
            }
        }
        rig_batch(rig, commands->str, 2 * (registers[i].size % 1024 / 4));
    }
    g_string_free(commands, TRUE);
}

START_TEST(any_access_is_survived)
{
    unsigned seed = number_of("FARSIDE_SEED", 1);
    unsigned accesses = number_of("FARSIDE_ACCESSES", 250000);
    GRand *random = random_of(seed, "accesses", accesses);
    /* A short time-out: the peer may never answer. */
    DeviceRig *rig = rig_new("completion-timeout=1");
    GString *commands = g_string_new(NULL);
    RigPeer *peer = NULL;
    unsigned done, i;

    for (done = 0; done < accesses; done += BATCH) {
        /* Peers come and go, with and without memory. */
        if (done % (BATCH * 64) == 0) {
            rig_peer_free(peer);
            peer = rig_peer_new(rig);
            rig_peer_hello(peer);
            if (done % (BATCH * 128) == 0) {
                rig_peer_give_ram(peer, 0, 4 * MIB, true);
            }
            open_windows(rig, 0);
        }
        if (done == 0) {
            sweep(rig, random);
        }
        g_string_truncate(commands, 0);
        for (i = 0; i < BATCH; i++) {
            add_access(commands, random);
        }
        rig_batch(rig, commands->str, BATCH);
    }
    ck_assert_msg(rig_read(rig, RIG_BAR0 + 0x2000, 4) == 0x8536, "seed %u",
                  seed);
    g_string_free(commands, TRUE);
    g_rand_free(random);
    rig_peer_free(peer);
    rig_free(rig);
}
END_TEST

/* Two guests at once, each with windows onto everything of the other. */

typedef struct {
    DeviceRig *rig;
    unsigned partition;
    unsigned accesses;
    GRand *random;
} Guest;

static gpointer guest_run(gpointer data)
{
    Guest *guest = data;
    GString *commands = g_string_new(NULL);
    unsigned done, i;

    for (done = 0; done < guest->accesses; done += BATCH) {
        g_string_truncate(commands, 0);
        for (i = 0; i < BATCH; i++) {
            add_access(commands, guest->random);
        }
        rig_batch(guest->rig, commands->str, BATCH);
    }
    g_string_free(commands, TRUE);
    return NULL;
}

START_TEST(two_guests_survive_each_other)
{
    unsigned seed = number_of("FARSIDE_SEED", 1);
    unsigned accesses = number_of("FARSIDE_ACCESSES", 160000) / 2;
    GThread *threads[2];
    Guest guests[2];
    unsigned i, round;

    guests[0].rig = rig_new("completion-timeout=1");
    guests[1].rig = rig_new_with(rig_link_path(guests[0].rig),
                                 "completion-timeout=1", NULL);
    for (i = 0; i < 2; i++) {
        guests[i].partition = i;
        guests[i].accesses = accesses / 8;
        guests[i].random = random_of(seed + i, "accesses of two", accesses);
    }
    for (round = 0; round < 8; round++) {
        for (i = 0; i < 2; i++) {
            rig_reset(guests[i].rig);
        }
        for (i = 0; i < 2; i++) {
            open_windows(guests[i].rig, i);
        }
        for (i = 0; i < 2; i++) {
            threads[i] = g_thread_new("guest", guest_run, &guests[i]);
        }
        for (i = 0; i < 2; i++) {
            g_thread_join(threads[i]);
        }
    }
    for (i = 0; i < 2; i++) {
        rig_reset(guests[i].rig);
        ck_assert_uint_eq(rig_read(guests[i].rig, RIG_BAR0 + 0x2000, 4),
                          0x8536);
        g_rand_free(guests[i].random);
    }
    /* The link is still up, or up again. */
    rig_wait_link(guests[0].rig, 0, true);
    rig_free(guests[1].rig);
    rig_free(guests[0].rig);
}
END_TEST

/* The accelerator: any register, and rings of any commands */

#define RING_COMMANDS 64

static uint64_t random_address(GRand *random)
{
    static const uint64_t places[] = {
        0,
        8 * MIB,
        RIG_RAM - 64,
        GPU_BAR0,
        GPU_BAR0 + GPU_QUEUE,
        GPU_MEMORY_AT,
        RIG_BAR0 + 0x74000,
        RIG_BAR2,
        RIG_BAR4,
        2048 * MIB,
        GPU_LOCAL,
        GPU_LOCAL | 16 * MIB,
        GPU_LOCAL | (16 * MIB - 64),
        GPU_LOCAL | 1ull << 62,
        UINT64_MAX - 63,
        UINT64_MAX,
    };
    uint64_t place = places[g_rand_int_range(random, 0, G_N_ELEMENTS(places))];

    return g_rand_boolean(random) ? place
                                  : place + g_rand_int_range(random, -128, 128);
}

static void random_command(struct gpu_command *c, GRand *random)
{
    static const uint32_t lengths[] = {
        0, 1, 8, 4096, 65536 + 8, GPU_LENGTH_MAX, MIB / 2, UINT32_MAX};

    memset(c, 0, sizeof(*c));
    c->operation = g_rand_int_range(random, 0, 6);
    c->flags = g_rand_int_range(random, 0, 8) ? 1 : g_rand_int(random);
    c->length = g_rand_int_range(random, 0, 64) * 8;
    if (g_rand_int_range(random, 0, 4) == 0) {
        c->length = lengths[g_rand_int_range(random, 0, 8)];
    }
    c->source = random_address(random);
    c->destination = random_address(random);
    if (g_rand_int_range(random, 0, 50) == 0) {
        c->zero2 = g_rand_int(random);
    }
}

static void random_gpu_access(GString *commands, GRand *random)
{
    static const unsigned offsets[] = {
        GPU_BASE,  GPU_ENTRIES, GPU_QUEUE_CONTROL, GPU_HEAD,
        GPU_TAIL,  GPU_TAIL,    GPU_TAIL,          GPU_RESUME,
        GPU_ERROR, GPU_RESUME,  GPU_QUEUE_CONTROL, GPU_TAIL};
    unsigned queue = g_rand_int_range(random, 0, GPU_QUEUE_COUNT);
    uint64_t at = GPU_BAR0 + GPU_QUEUE + queue * GPU_QUEUE_STRIDE +
                  offsets[g_rand_int_range(random, 0, 12)];
    uint64_t value = g_rand_int_range(random, 0, 70);

    if (g_rand_int_range(random, 0, 16) == 0) {
        at = GPU_BAR0 + g_rand_int_range(random, 0, GPU_REGS_SIZE);
        value = random_value(random) & UINT32_MAX;
    }
    if (g_rand_int_range(random, 0, 64) == 0) {
        /* Bus mastering off and on: register 4 of 00:06.0 */
        g_string_append_printf(commands,
                               "outl 0xcf8 0x80003004\noutl 0xcfc 0x%x\n",
                               g_rand_boolean(random) ? 0x6 : 0x2);
    } else {
        g_string_append_printf(commands,
                               "writel 0x%" G_GINT64_MODIFIER
                               "x 0x%x\nreadq 0x%" G_GINT64_MODIFIER "x\n",
                               at, (unsigned)value, at & ~(uint64_t)7);
    }
}

static void start_queues(DeviceGpu *gpu, GRand *random)
{
    unsigned q;

    rig_pci_write(gpu->rig, 0x30, 0x04, 0x6);
    for (q = 0; q < GPU_QUEUE_COUNT; q++) {
        rig_write(gpu->rig, gpu_queue(gpu, q) + GPU_QUEUE_CONTROL, 4, 0);
        gpu_enable(gpu, q, 64, g_rand_boolean(random) ? 2 : 0);
    }
}

/* No access and no command makes QEMU end, hang, or leave the memory. */
START_TEST(any_command_is_survived)
{
    static const char *const arguments[] = {"-device", "farside-gpu,addr=06.0",
                                            NULL};
    unsigned seed = number_of("FARSIDE_SEED", 1);
    unsigned accesses = number_of("FARSIDE_ACCESSES", 20000);
    GRand *random = random_of(seed, "accesses to the accelerator", accesses);
    DeviceRig *rig = rig_new_with(NULL, "completion-timeout=1", arguments);
    DeviceGpu gpu = gpu_map(rig, 0x30, GPU_BAR0);
    RigPeer *peer = rig_peer_new(rig);
    GString *commands = g_string_new(NULL);
    struct gpu_command *ring;
    unsigned done, i, q;

    rig_peer_hello(peer);
    open_windows(rig, 0);
    for (done = 0; done < accesses; done += BATCH) {
        start_queues(&gpu, random);
        for (q = 0; q < GPU_QUEUE_COUNT; q++) {
            ring = (struct gpu_command *)(rig_ram(rig) + GPU_RING(q));
            for (i = 0; i < RING_COMMANDS; i++) {
                random_command(&ring[i], random);
            }
        }
        g_string_truncate(commands, 0);
        for (i = 0; i < BATCH; i++) {
            random_gpu_access(commands, random);
        }
        /* Each access is two commands of qtest. */
        rig_batch(rig, commands->str, 2 * BATCH);
    }
    /* It still works. */
    rig_write(rig, gpu.bar + GPU_CONTROL, 4, GPU_CONTROL_RESET);
    gpu = gpu_map(rig, 0x30, GPU_BAR0);
    gpu_enable(&gpu, 0, 8, 0);
    gpu_put(&gpu, 0, GPU_FENCE_OP, 0, 0x77, GPU_NOWHERE);
    gpu_run(&gpu, 0);
    ck_assert_uint_eq(rig_read(rig, gpu_queue(&gpu, 0) + GPU_FENCE, 8), 0x77);
    g_string_free(commands, TRUE);
    g_rand_free(random);
    rig_peer_free(peer);
    rig_free(rig);
}
END_TEST

/* A hostile peer */

#define CANARY   0xc5
#define RAM_FILE (6 * MIB) /* the middle of it is given to the device */
#define RAM_AT   (1 * MIB)
#define RAM_SIZE (4 * MIB)

typedef struct {
    struct farside_wire_head head;
    union {
        uint8_t bytes[FARSIDE_WIRE_MAX];
        struct farside_wire_ram ram;
        struct farside_wire_link link;
        struct farside_wire_doorbell doorbell;
        struct farside_wire_message message;
        struct farside_wire_lock lock;
        struct farside_wire_ctrl ctrl;
        struct farside_wire_configured configured;
        struct farside_wire_read read;
        struct farside_wire_write write;
        struct farside_wire_completion completion;
        struct farside_wire_windows windows;
    } u;
} Any;

static uint64_t random_target(GRand *random)
{
    static const uint64_t bases[] = {
        0,
        2 * MIB,
        RIG_RAM - 4096,
        RIG_BAR0,
        RIG_BAR2,
        RIG_BAR0 + 0x14000,
        RIG_BAR0 + 0x75000,
        RIG_BAR4,
        1ull << 40,
        UINT64_MAX - 4095,
        0x90000000,
        0xa0000,
    };
    uint64_t base = bases[g_rand_int_range(random, 0, G_N_ELEMENTS(bases))];

    return base + g_rand_int_range(random, 0, 0x2000);
}

static void fill_block(struct farside_wire_ctrl *block, GRand *random)
{
    unsigned i;

    block->lock_id = g_rand_int_range(random, 0, 4);
    for (i = 0; i < FARSIDE_WIRE_BARS; i++) {
        block->bar[i].ctl = random_value(random);
        block->bar[i].win_size = random_value(random);
        block->bar[i].xlate = random_value(random);
    }
    if (g_rand_int_range(random, 0, 4)) {
        memset(block->bar, 0, sizeof(block->bar));
        block->bar[2].ctl = RIG_LUT_CTL;
    }
    for (i = 0; i < FARSIDE_WIRE_LUT; i++) {
        block->lut[i] = (random_target(random) & ~0xfffull) | 3;
    }
}

/*
 * Windows of BAR 2 onto the device's machine, and BAR 4 onto its memory; or
 * sometimes a list of any sizes, or the first part of one. Returns the size.
 */
static unsigned fill_windows(struct farside_wire_windows *m, GRand *random)
{
    bool is_wild = g_rand_int_range(random, 0, 16) == 0;
    unsigned i;

    m->count = is_wild ? g_rand_int_range(random, 0, 501) : 65;
    m->more = is_wild && g_rand_int_range(random, 0, 2);
    m->reserved = 0;
    for (i = 0; i < m->count; i++) {
        m->window[i].address = random_target(random) & ~0xfffull;
        m->window[i].size = is_wild ? random_value(random) >> 40 : 0x10000;
    }
    if (!is_wild) {
        m->window[0].address = 0;
        m->window[0].size = RIG_RAM;
    }
    return sizeof(*m) + m->count * sizeof(m->window[0]);
}

/* Makes a message that is valid as far as a peer can tell. Returns its size. */
static unsigned fill(Any *m, GRand *random, uint32_t lock_id)
{
    static const uint16_t statuses[] = {FARSIDE_WIRE_SC, FARSIDE_WIRE_UR,
                                        FARSIDE_WIRE_CA, 7};
    struct farside_wire_notices notices = {0};
    struct farside_wire_notice notice = {0};
    unsigned size;

    switch (m->head.type) {
    case FARSIDE_WIRE_RAM:
        m->u.ram.count = 1;
        m->u.ram.translated = g_rand_int_range(random, 0, 2);
        m->u.ram.region[0].address = 0;
        m->u.ram.region[0].size = RAM_SIZE;
        m->u.ram.region[0].offset = RAM_AT;
        return sizeof(m->u.ram);
    case FARSIDE_WIRE_NOTICES:
        memset(m->u.bytes, 0, sizeof(notices) + sizeof(notice));
        notices.count = 1;
        notice.address =
            random_target(random) & ~0xfffull & (((uint64_t)1 << 47) - 1);
        notice.size = (uint64_t)4096 << g_rand_int_range(random, 0, 19);
        notice.perm = g_rand_int_range(random, 0, 4);
        notice.target = notice.perm ? RAM_SIZE / 2 : 0;
        memcpy(m->u.bytes, &notices, sizeof(notices));
        memcpy(m->u.bytes + sizeof(notices), &notice, sizeof(notice));
        return sizeof(notices) + sizeof(notice);
    case FARSIDE_WIRE_LINK:
        m->u.link.up = g_rand_int_range(random, 0, 8) != 0;
        return sizeof(m->u.link);
    case FARSIDE_WIRE_RESET:
        return 0;
    case FARSIDE_WIRE_DOORBELL:
        m->u.doorbell.bits = random_value(random);
        return sizeof(m->u.doorbell);
    case FARSIDE_WIRE_MESSAGE:
        m->u.message.index = g_rand_int_range(random, 0, 4);
        m->u.message.value = g_rand_int(random);
        return sizeof(m->u.message);
    case FARSIDE_WIRE_LOCK:
    case FARSIDE_WIRE_RELEASE:
        m->u.lock.id = lock_id;
        return sizeof(m->u.lock);
    case FARSIDE_WIRE_LOCKED:
        fill_block(&m->u.ctrl, random);
        return sizeof(m->u.ctrl);
    case FARSIDE_WIRE_CONFIG:
        fill_block(&m->u.ctrl, random);
        m->u.ctrl.lock_id = lock_id;
        return sizeof(m->u.ctrl);
    case FARSIDE_WIRE_WINDOWS:
        return fill_windows(&m->u.windows, random);
    case FARSIDE_WIRE_CONFIGURED:
        m->u.configured.lock_id = g_rand_int_range(random, 0, 4);
        return sizeof(m->u.configured);
    case FARSIDE_WIRE_READ:
        m->u.read.address = random_target(random);
        m->u.read.length = g_rand_int_range(random, 0, 4097);
        m->u.read.hops = g_rand_int_range(random, 0, 24);
        m->u.read.tag = g_rand_int_range(random, 0, 64);
        return sizeof(m->u.read);
    case FARSIDE_WIRE_WRITE:
        size = g_rand_int_range(random, 1, 4097);
        m->u.write.address = random_target(random);
        m->u.write.length = size;
        m->u.write.hops = g_rand_int_range(random, 0, 24);
        return sizeof(m->u.write) + size;
    case FARSIDE_WIRE_COMPLETION:
        m->u.completion.tag = g_rand_int_range(random, 0, 64);
        m->u.completion.status = statuses[g_rand_int_range(random, 0, 4)];
        size = m->u.completion.status ? 0 : g_rand_int_range(random, 0, 4097);
        m->u.completion.length = size;
        return sizeof(m->u.completion) + size;
    default:
        return g_rand_int_range(random, 0, 64);
    }
}

static void mutate(Any *m, unsigned *size, GRand *random)
{
    unsigned i;

    switch (g_rand_int_range(random, 0, 6)) {
    case 0:
        *size = g_rand_int_range(random, 0, *size + 1);
        break;
    case 1:
        m->head.length = g_rand_int(random);
        break;
    case 2:
        m->head.magic ^= 1u << g_rand_int_range(random, 0, 32);
        break;
    case 3:
        m->head.version = g_rand_int(random);
        break;
    default:
        for (i = 0; i < 4; i++) {
            ((uint8_t *)m)[g_rand_int_range(random, 0, 64)] =
                g_rand_int(random);
        }
    }
}

/* Files for a RAM message: right, or of the wrong kind or number. */
static unsigned choose_files(const Any *m, int file, int other, int *ret_fds,
                             GRand *random)
{
    unsigned count = m->head.type == FARSIDE_WIRE_RAM, i;

    if (g_rand_int_range(random, 0, 30) == 0) {
        count = g_rand_int_range(random, 0, 10);
    }
    for (i = 0; i < count; i++) {
        ret_fds[i] = g_rand_int_range(random, 0, 8) ? file : other;
    }
    return count;
}

START_TEST(any_message_is_survived)
{
    unsigned seed = number_of("FARSIDE_SEED", 1) + _i;
    unsigned messages = number_of("FARSIDE_MESSAGES", 20000);
    GRand *random = random_of(seed, "messages", messages);
    DeviceRig *rig = rig_new("completion-timeout=1");
    int file = memfd_create("peer", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    int other = open("/dev/null", O_RDWR | O_CLOEXEC);
    RigPeer *peer = NULL;
    unsigned done, size, lives = 0, i;
    uint8_t *ram;
    int fds[16];
    Any *m = g_new0(Any, 1);

    ck_assert_int_eq(ftruncate(file, RAM_FILE), 0);
    ck_assert_int_eq(fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK), 0);
    ram = mmap(NULL, RAM_FILE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    ck_assert_ptr_ne(ram, MAP_FAILED);
    memset(ram, CANARY, RAM_FILE);
    for (done = 0; done < messages; done++) {
        if (!peer) {
            peer = rig_peer_new(rig);
            /* Some peers begin without HELLO. */
            if (g_rand_int_range(random, 0, 8)) {
                rig_peer_hello(peer);
            }
            lives++;
        }
        memset(&m->head, 0, sizeof(m->head));
        m->head.magic = FARSIDE_WIRE_MAGIC;
        m->head.version = FARSIDE_WIRE_VERSION;
        m->head.type = g_rand_int_range(random, 2, 18);
        if (m->head.type >= FARSIDE_WIRE_PEER) {
            static const uint16_t types[] = {
                FARSIDE_WIRE_WINDOWS, FARSIDE_WIRE_NOTICES, FARSIDE_WIRE_NOTED};

            m->head.type = types[m->head.type - FARSIDE_WIRE_PEER];
        }
        if (g_rand_int_range(random, 0, 500) == 0) {
            m->head.type = g_rand_int_range(random, 0, 24);
        }
        size = fill(m, random, lives + done / 16);
        m->head.length = size;
        size += sizeof(m->head);
        if (g_rand_int_range(random, 0, 200) == 0) {
            mutate(m, &size, random);
        }
        i = choose_files(m, file, other, fds, random);
        if (!rig_peer_exchange(peer, m, size, fds, i)) {
            g_clear_pointer(&peer, rig_peer_free);
        }
        /* Meanwhile the guest uses its windows. */
        if (done % 64 == 0) {
            rig_read(rig, RIG_BAR2 + g_rand_int_range(random, 0, 8 * MIB), 4);
            rig_write(rig, RIG_BAR2 + g_rand_int_range(random, 0, 8 * MIB), 8,
                      g_rand_int(random));
        }
    }
    ck_assert_uint_gt(lives, messages / 5000);
    rig_peer_free(peer);
    ck_assert_uint_eq(rig_read(rig, RIG_BAR0 + 0x2000, 4), 0x8536);
    for (i = 0; i < RAM_FILE; i++) {
        if (i == RAM_AT) {
            i += RAM_SIZE;
        }
        ck_assert_uint_eq(ram[i], CANARY);
    }
    munmap(ram, RAM_FILE);
    close(file);
    close(other);
    g_free(m);
    g_rand_free(random);
    rig_free(rig);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("device_hostile");
    TCase *tcase = tcase_create("hostile");

    tcase_set_timeout(tcase, 280);
    tcase_add_test(tcase, any_access_is_survived);
    tcase_add_test(tcase, two_guests_survive_each_other);
    tcase_add_test(tcase, any_command_is_survived);
    tcase_add_loop_test(tcase, any_message_is_survived, 0, 2);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
