/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "qemu/osdep.h"
#include "farside_qemu.h"
#include "farside_registers.h"
#include "farside_wait.h"

struct FarsideRegisters {
    FarsideRequester *requester[FARSIDE_NTB_PEERS_MAX];
    FarsideChip *chip;
    MemoryRegion bar;
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
    FarsideRegisters *s = opaque;
    bool old = begin(s, attrs);

    *value = s->chip->class->read(s->chip, offset, size);
    s->is_device = old;
    return MEMTX_OK;
}

static MemTxResult registers_write(void *opaque, hwaddr offset, uint64_t value,
                                   unsigned size, MemTxAttrs attrs)
{
    FarsideRegisters *s = opaque;
    bool old = begin(s, attrs);

    s->chip->class->write(s->chip, offset, value, size);
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

MemoryRegion *farside_registers_start(FarsideRegisters *s, Object *owner,
                                      FarsideChip *chip, uint64_t size)
{
    s->chip = chip;
    memory_region_init_io(&s->bar, owner, &registers_ops, s,
                          "farside-registers", size);
    /* This device serves the peer's requests while it waits for the peer. */
    s->bar.disable_reentrancy_guard = true;
    return &s->bar;
}

bool farside_registers_own(const MemoryRegion *mr)
{
    return mr->ops == &registers_ops;
}

uint64_t farside_registers_ask(FarsideRegisters *s, unsigned peer,
                               uint64_t offset, unsigned size)
{
    uint64_t value = 0;

    farside_registers_get(s, peer, offset, size, &value);
    return value;
}

bool farside_registers_get(FarsideRegisters *s, unsigned peer, uint64_t offset,
                           unsigned size, uint64_t *ret_value)
{
    return farside_requester_ask(s->requester[peer], offset, size, s->is_device,
                                 ret_value);
}

bool farside_registers_try(FarsideRegisters *s, unsigned peer, uint64_t offset,
                           uint64_t value, unsigned size)
{
    return farside_requester_try(s->requester[peer], offset, value, size,
                                 s->is_device);
}

void farside_registers_post(FarsideRegisters *s, unsigned peer, uint64_t offset,
                            uint64_t value, unsigned size)
{
    farside_requester_post(s->requester[peer], offset, value, size,
                           s->is_device);
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
