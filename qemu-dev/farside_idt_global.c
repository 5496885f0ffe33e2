/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "qemu/osdep.h"
#include "farside_idt_global.h"

/* False if the address is that of no host's NT function. */
static bool find_function(const Idt *s, uint32_t address, unsigned *ret_part,
                          unsigned *ret_offset)
{
    unsigned i;

    for (i = 0; i < s->config->hosts; i++) {
        *ret_part = i;
        *ret_offset = address - IDT_PORT((unsigned)s->device->port[i]);
        if (*ret_offset < IDT_BAR_SIZE) {
            return true;
        }
    }
    return false;
}

/* False if the address is no register that routes messages. */
static bool find_route(const Idt *s, uint32_t address, unsigned *ret_part,
                       unsigned *ret_index)
{
    *ret_part = (address - IDT_SWPMSGCTL) % IDT_SW_STEP / 4;
    *ret_index = (address - IDT_SWPMSGCTL) / IDT_SW_STEP;
    return address >= IDT_SWPMSGCTL && *ret_index < IDT_MESSAGES &&
           *ret_part < s->config->hosts;
}

/*
 * A register of another port. A host that is not there answers with what its
 * registers have after a reset, as far as others want to know it: how large its
 * windows are.
 */
static uint32_t far_read(Idt *s, unsigned partition, unsigned offset,
                         uint32_t address)
{
    uint64_t value;
    unsigned peer;

    idt_find_peer(s, partition, &peer);
    if (farside_registers_get(s->parts->registers, peer, address, 4, &value)) {
        return value;
    }
    return idt_nt_at_reset(s, offset);
}

/* Wired: ports and partitions, of which each host has one. */
static bool wired_read(Idt *s, uint32_t address, uint32_t *ret_value)
{
    unsigned i, peer;
    uint32_t step = IDT_SW_STEP;
    bool is_there;

    for (i = 0; i < s->config->hosts; i++) {
        if (address == IDT_SWPART + i * step + IDT_SW_STS) {
            *ret_value = IDT_PART_ACTIVE | IDT_PART_US | IDT_PART_NT |
                         s->device->port[i] << IDT_PART_USID_SHIFT;
            return true;
        }
        if (address ==
            IDT_SWPORT + s->device->port[i] * step + IDT_SW_STS) {
            is_there = !idt_find_peer(s, i, &peer) || idt_is_up(s, peer);
            *ret_value = IDT_PORT_NT | i << IDT_PORT_PART_SHIFT |
                         (is_there ? IDT_PORT_LINKUP : 0);
            return true;
        }
    }
    return false;
}

/* A doorbell is set for the switch while it is set for some partition. */
static uint32_t doorbells_read(Idt *s)
{
    uint32_t bits = s->indbellsts;
    unsigned i;

    for (i = 0; i < s->config->hosts; i++) {
        if (i != s->config->partition) {
            bits |= far_read(s, i, IDT_INDBELLSTS,
                             IDT_PORT(s->device->port[i]) + IDT_INDBELLSTS);
        }
    }
    return bits;
}

uint32_t idt_global_read(Idt *s, uint32_t address)
{
    unsigned partition, offset;
    uint32_t value;

    if (find_function(s, address, &partition, &offset)) {
        if (partition != s->config->partition) {
            return idt_nt_is_private(offset) ? 0
                                      : far_read(s, partition, offset, address);
        }
        return offset == IDT_GASADATA ? 0 : idt_nt_read(s, offset);
    }
    if (find_route(s, address, &partition, &offset)) {
        return partition == s->config->partition
                   ? s->route[offset]
                   : far_read(s, partition, 0, address);
    }
    if (address == IDT_GDBELLSTS) {
        return doorbells_read(s);
    }
    return wired_read(s, address, &value) ||
                   idt_switch_read(s->sw, address, &value)
               ? value
               : 0;
}

/* The headers of functions are written by configuration requests alone. */
void idt_global_write(Idt *s, uint32_t address, uint32_t value)
{
    unsigned partition, offset, peer;
    bool is_route = false;

    if (!find_function(s, address, &partition, &offset)) {
        is_route = find_route(s, address, &partition, &offset);
        if (!is_route) {
            idt_switch_write(s->sw, address, value);
            return;
        }
    } else if (offset < IDT_NT || offset == IDT_GASADATA) {
        return;
    }
    if (idt_find_peer(s, partition, &peer)) {
        farside_registers_put(s->parts->registers, peer, address, value, 4);
    } else if (is_route) {
        s->route[offset] = value & IDT_ROUTE_MASK;
    } else {
        idt_nt_write(s, offset, value);
    }
}

bool idt_global_serve_read(Idt *s, uint64_t address, uint64_t *ret_value)
{
    unsigned partition, at;

    if (address >= IDT_FAR_ENTRY) {
        return false;
    }
    if (find_function(s, address, &partition, &at)) {
        *ret_value = idt_nt_is_private(at) ? 0 : idt_nt_read(s, at);
        return partition == s->config->partition;
    }
    if (find_route(s, address, &partition, &at)) {
        *ret_value = s->route[at];
        return partition == s->config->partition;
    }
    return false;
}

bool idt_global_serve_write(Idt *s, uint64_t address, uint32_t value)
{
    unsigned partition, at;

    if (address >= IDT_FAR_ENTRY) {
        return false;
    }
    if (find_function(s, address, &partition, &at)) {
        if (partition != s->config->partition || at < IDT_NT ||
            idt_nt_is_private(at)) {
            return false;
        }
        idt_nt_write(s, at, value);
        return true;
    }
    if (find_route(s, address, &partition, &at)) {
        if (partition != s->config->partition) {
            return false;
        }
        s->route[at] = value & IDT_ROUTE_MASK;
        return true;
    }
    return idt_switch_on_clear(s->sw, address, value);
}

