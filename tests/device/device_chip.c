/* SPDX-License-Identifier: MIT */
#include "device_chip.h"

#include <check.h>
#include <string.h>

/* The vectors write here, one word for each. */
#define MESSAGES (32ull << 20)

void chip_check_writes(DeviceRig *rig, const PageRegister *r, uint64_t mask)
{
    static const uint64_t values[] = {UINT64_MAX, 0x5aa55aa5a55aa55aull,
                                      0xa55aa55a5aa55aa5ull, 0};
    uint64_t ones = r->size == 8 ? UINT64_MAX : (1ull << 8 * r->size) - 1;
    bool takes = strcmp(r->access, "RW") == 0;

    for (unsigned i = 0; i < G_N_ELEMENTS(values); i++) {
        uint64_t expected =
            takes ? (values[i] & mask) | (r->reset & ~mask) : r->reset;

        rig_write(rig, RIG_BAR0 + r->offset, r->size, values[i]);
        ck_assert_msg(rig_read(rig, RIG_BAR0 + r->offset, r->size) ==
                          (expected & ones),
                      "%s 0x%x", r->access, r->offset);
    }
}

void chip_check_gaps(DeviceRig *rig, const GArray *registers, unsigned size,
                     unsigned table, unsigned vectors, unsigned count)
{
    g_autofree uint8_t *covered = g_malloc0(size);
    GRand *random = g_rand_new_with_seed(size + vectors);
    unsigned end = 0;

    for (unsigned i = 0; i < registers->len; i++) {
        const PageRegister *r = &g_array_index(registers, PageRegister, i);

        memset(covered + r->offset, 1, r->size);
        end = MAX(end, r->offset + r->size);
    }
    memset(covered + table, 1, 16 * vectors);
    memset(covered + table + 0x1000, 1, 8 * ((vectors + 63) / 64));
    for (unsigned i = 0; i < count; i++) {
        unsigned offset =
            (unsigned)g_rand_int_range(random, 0, (int)(i & 1 ? size : end));

        if (!covered[offset]) {
            rig_write(rig, RIG_BAR0 + offset, 1, 0xff);
            ck_assert_uint_eq(rig_read(rig, RIG_BAR0 + offset, 1), 0);
        }
    }
    g_rand_free(random);
}

void chip_enable_interrupts(DeviceRig *rig, unsigned table, unsigned vectors)
{
    unsigned cap = rig_pci_find(rig, CHIP_DEVFN, 0x11);

    for (unsigned i = 0; i < vectors; i++) {
        uint64_t entry = RIG_BAR0 + table + 16 * i;

        rig_write(rig, entry, 8, MESSAGES + 4 * i);
        rig_write(rig, entry + 8, 4, i + 1);
        rig_write(rig, entry + 12, 4, 0);
    }
    rig_config_write(rig, 0x04, 0x6);
    rig_config_write(rig, cap, rig_config_read(rig, cap) | 1u << 31);
}

uint64_t chip_raised(DeviceRig *rig, unsigned vectors)
{
    uint64_t bits = 0;

    for (unsigned i = 0; i < vectors; i++) {
        bits |= rig_read(rig, MESSAGES + 4 * i, 4) == i + 1 ? 1ull << i : 0;
        rig_write(rig, MESSAGES + 4 * i, 4, 0);
    }
    return bits;
}

void chip_send_write(RigPeer *peer, unsigned space, uint64_t offset,
                     uint64_t value, unsigned size, uint16_t tag)
{
    struct {
        struct farside_wire_write head;
        uint64_t value;
    } m = {.head = {.address = offset,
                    .length = (uint16_t)size,
                    .space = (uint8_t)space,
                    .tag = tag},
           .value = value};

    rig_peer_send(peer, FARSIDE_WIRE_WRITE, &m, sizeof(m.head) + size);
}

void chip_expect_completion(RigPeer *peer, uint16_t tag, unsigned status)
{
    struct farside_wire_completion c;

    memcpy(&c, rig_peer_receive(peer, FARSIDE_WIRE_COMPLETION)->body,
           sizeof(c));
    ck_assert_uint_eq(c.tag, tag);
    ck_assert_uint_eq(c.status, status);
    ck_assert_uint_eq(c.length, 0);
}
