/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "qemu/osdep.h"
#include "farside_qemu.h"
#include "farside_registers.h"
#include "farside_wait.h"

/* A BAR with registers */
typedef struct Bar {
    FarsideRegisters *registers;
    unsigned first; /* offset of its begin, for the chip */
    MemoryRegion mr;
} Bar;

struct FarsideRegisters {
    FarsideRequester *requester[FARSIDE_NTB_PEERS_MAX];
    FarsideChip *chip;
    Bar bar[2];
    unsigned bar_count;
    bool is_device; /* a device makes the access that is under way */
};

static bool begin(FarsideRegisters *s, MemTxAttrs attrs)
{
    bool old = s->is_device;

    s->is_device = farside_wait_is_device(attrs) || farside_wait_of_device();
    return old;
}

static MemTxResult registers_read(void *opaque, hwaddr offset, uint64_t *value,
                                  unsigned size, MemTxAttrs attrs)
{
    const Bar *bar = opaque;
    FarsideRegisters *s = bar->registers;
    bool old = begin(s, attrs);

    *value = s->chip->class->read(s->chip, bar->first + offset, size);
    s->is_device = old;
    return MEMTX_OK;
}

static MemTxResult registers_write(void *opaque, hwaddr offset, uint64_t value,
                                   unsigned size, MemTxAttrs attrs)
{
    const Bar *bar = opaque;
    FarsideRegisters *s = bar->registers;
    bool old = begin(s, attrs);

    s->chip->class->write(s->chip, bar->first + offset, value, size);
    s->is_device = old;
    return MEMTX_OK;
}

static const MemoryRegionOps registers_ops = {
    .read_with_attrs = registers_read,
    .write_with_attrs = registers_write,
    .endianness = DEVICE_LITTLE_ENDIAN,
    .valid = {.min_access_size = 1, .max_access_size = 8, .unaligned = true},
    .impl = {.min_access_size = 1, .max_access_size = 8, .unaligned = true},
};

void farside_registers_set_chip(FarsideRegisters *s, FarsideChip *chip)
{
    s->chip = chip;
}

MemoryRegion *farside_registers_add_bar(FarsideRegisters *s, Object *owner,
                                        unsigned first, uint64_t size)
{
    Bar *bar = &s->bar[s->bar_count++];

    bar->registers = s;
    bar->first = first;
    memory_region_init_io(&bar->mr, owner, &registers_ops, bar,
                          "farside-registers", size);
    /* This device serves the peer's requests while it waits for the peer. */
    bar->mr.disable_reentrancy_guard = true;
    return &bar->mr;
}

bool farside_registers_own(const MemoryRegion *mr)
{
    return mr->ops == &registers_ops;
}

uint64_t farside_registers_ask(FarsideRegisters *s, unsigned peer,
                               uint64_t offset, unsigned size)
{
    uint64_t value = 0;

    farside_requester_ask(s->requester[peer], offset, size, s->is_device,
                          &value);
    return value;
}

void farside_registers_post(FarsideRegisters *s, unsigned peer, uint64_t offset,
                            uint64_t value, unsigned size)
{
    farside_requester_post(s->requester[peer], offset, value, size,
                           s->is_device);
}

void farside_registers_tell(FarsideRegisters *s, unsigned peer, uint64_t offset,
                            uint64_t value, unsigned size)
{
    farside_requester_tell(s->requester[peer], offset, value, size);
}

void farside_registers_put(FarsideRegisters *s, unsigned peer, uint64_t offset,
                           uint64_t value, unsigned size)
{
    farside_requester_put(s->requester[peer], offset, value, size,
                          s->is_device);
}

FarsideRegisters *farside_registers_new(void)
{
    return g_new0(FarsideRegisters, 1);
}

void farside_registers_add_peer(FarsideRegisters *s, unsigned peer,
                                FarsideRequester *requester)
{
    s->requester[peer] = requester;
}

void farside_registers_free(FarsideRegisters *s)
{
    g_free(s);
}
