/* SPDX-License-Identifier: MIT */
#include "device_chip.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MIB       (1ull << 20)
#define LIMIT_S   120 /* of one test */
/* Accesses at random in each second, on a busy machine with a sanitizer */
#define FUZZ_RATE 400
/* After as many, other peers come. */
#define FUZZ_MEET 4096

/* The vectors write here, one word for each. */
#define MESSAGES (32ull << 20)

RigPeer *chip_meet(DeviceRig *rig)
{
    RigPeer *peer = rig_peer_new(rig);

    rig_peer_hello(peer);
    rig_wait_link_up(rig, true);
    return peer;
}

DeviceRig *chip_new_other(DeviceRig *rig, const char *type,
                          const char *properties)
{
    DeviceRig *other = rig_new_of(type, rig_link_path(rig), properties, NULL);

    rig_wait_link_up(rig, true);
    rig_wait_link_up(other, true);
    return other;
}

void chip_stop(DeviceRig **rig, DeviceRig **other, RigPeer **peer)
{
    g_clear_pointer(peer, rig_peer_free);
    g_clear_pointer(other, rig_free);
    g_clear_pointer(rig, rig_free);
}

TCase *chip_add_case(Suite *suite, const char *name, SFun setup, SFun teardown)
{
    TCase *tcase = tcase_create(name);

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_set_timeout(tcase, LIMIT_S);
    suite_add_tcase(suite, tcase);
    return tcase;
}

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

/* ---- Hostile accesses ------------------------------------------------- */

typedef struct Fuzzer {
    const ChipFuzz *fuzz;
    GRand *random;
    RigPeer *peer[CHIP_FUZZ_PEERS];
} Fuzzer;

static unsigned number_of(const char *name, unsigned otherwise)
{
    const char *text = g_getenv(name);

    return text ? (unsigned)strtoul(text, NULL, 0) : otherwise;
}

static unsigned draw(Fuzzer *f, unsigned below)
{
    return (unsigned)g_rand_int_range(f->random, 0, (int)below);
}

static uint64_t draw_value(Fuzzer *f)
{
    static const uint64_t likely[] = {
        0,
        1,
        2,
        3,
        0x1000,
        0x10000,
        MIB,
        2 * MIB,
        4 * MIB,
        1ull << 31,
        1ull << 32,
        1ull << 61,
        RIG_BAR0,
        RIG_BAR2,
        RIG_BAR2 + 0x1000,
        RIG_BAR4,
        RIG_BAR4 + MIB,
        UINT32_MAX,
        UINT64_MAX,
        0xfee00000,
    };

    switch (draw(f, 4)) {
    case 0:
        return g_rand_int(f->random);
    case 1:
        return (uint64_t)g_rand_int(f->random) << 32 | g_rand_int(f->random);
    default:
        return likely[draw(f, G_N_ELEMENTS(likely))];
    }
}

static uint64_t draw_from(Fuzzer *f, const ChipRange *ranges)
{
    unsigned count = 0;

    while (ranges[count].size) {
        count++;
    }
    ranges += draw(f, count);
    return ranges->start + g_rand_int(f->random) % ranges->size;
}

/* Any answer, of the right form */
static void answer(Fuzzer *f, RigPeer *peer, uint16_t tag, unsigned length)
{
    static const uint16_t statuses[] = {FARSIDE_WIRE_SC, FARSIDE_WIRE_SC,
                                        FARSIDE_WIRE_UR, FARSIDE_WIRE_CA, 9};
    struct {
        struct farside_wire_completion head;
        uint8_t data[FARSIDE_WIRE_PAYLOAD];
    } m = {.head = {.tag = tag, .status = statuses[draw(f, 5)]}};

    if (m.head.status == FARSIDE_WIRE_SC) {
        m.head.length = draw(f, 16) ? length : length / 2;
        memset(m.data, (int)draw(f, 256), m.head.length);
    }
    if (draw(f, 32)) {
        rig_peer_send(peer, FARSIDE_WIRE_COMPLETION, &m,
                      sizeof(m.head) + m.head.length);
    }
}

static void serve(Fuzzer *f)
{
    for (unsigned i = 0; i < f->fuzz->peers; i++) {
        while (rig_peer_poll(f->peer[i], 0)) {
            const RigMessage *m = rig_peer_receive_any(f->peer[i]);
            const struct farside_wire_read *read = (const void *)m->body;
            const struct farside_wire_write *write = (const void *)m->body;

            if (m->head.type == FARSIDE_WIRE_READ) {
                answer(f, f->peer[i], read->tag, read->length);
            } else if (m->head.type == FARSIDE_WIRE_WRITE &&
                       write->space == FARSIDE_WIRE_REGISTERS_NP) {
                answer(f, f->peer[i], write->tag, 0);
            }
        }
    }
}

/* The device may need the peers for its answer. */
static void access_as_guest(Fuzzer *f)
{
    static const ChipRange windows[] = {
        {RIG_BAR2, 0x10000}, {RIG_BAR2, MIB}, {RIG_BAR4, MIB}, {0, 0}};
    uint64_t at = draw_from(f, draw(f, 3) ? f->fuzz->guest : windows);
    unsigned size = 1u << draw(f, 4);
    bool reads = draw(f, 2);

    if (draw(f, 4)) {
        at &= ~(uint64_t)(size - 1);
    }
    if (reads) {
        rig_read_begin(f->fuzz->rig, at, size);
    } else {
        rig_write_begin(f->fuzz->rig, at, size,
                        draw_value(f) & (UINT64_MAX >> (64 - 8 * size)));
    }
    while (!rig_has_answered(f->fuzz->rig)) {
        serve(f);
        sched_yield();
    }
    if (reads) {
        rig_read_end(f->fuzz->rig);
    } else {
        rig_write_end(f->fuzz->rig);
    }
}

static void request_memory(Fuzzer *f, RigPeer *peer, bool reads)
{
    struct {
        struct farside_wire_write head;
        uint8_t data[256];
    } m = {.head = {.address = draw_value(f),
                    .length = (uint16_t)(1 + draw(f, sizeof(m.data))),
                    .hops = (uint8_t)draw(f, 18)}};
    struct farside_wire_read read = {.address = m.head.address,
                                     .length = (uint16_t)draw(f, 4097),
                                     .hops = m.head.hops,
                                     .tag = (uint16_t)draw(f, 65536)};

    if (reads) {
        rig_peer_send(peer, FARSIDE_WIRE_READ, &read, sizeof(read));
    } else {
        rig_peer_send(peer, FARSIDE_WIRE_WRITE, &m,
                      sizeof(m.head) + m.head.length);
    }
}

static void act_as_peer(Fuzzer *f)
{
    RigPeer *peer = f->peer[draw(f, f->fuzz->peers)];
    unsigned size = 1u << draw(f, 4);
    uint64_t offset = draw_from(f, f->fuzz->far) & ~(uint64_t)(size - 1);
    struct farside_wire_read read = {.address = offset,
                                     .length = (uint16_t)size,
                                     .space = FARSIDE_WIRE_REGISTERS};
    uint64_t value = draw_value(f);

    switch (draw(f, 10)) {
    case 0:
        rig_peer_send(peer, FARSIDE_WIRE_READ, &read, sizeof(read));
        break;
    case 1:
    case 2:
        request_memory(f, peer, draw(f, 2));
        break;
    case 3:
        rig_peer_send(peer, FARSIDE_WIRE_DOORBELL, &value, sizeof(value));
        break;
    case 4:
        if (draw(f, 8)) {
            rig_peer_send(peer, FARSIDE_WIRE_LINK, &value, sizeof(value));
        } else {
            rig_peer_send(peer, FARSIDE_WIRE_RESET, NULL, 0);
        }
        break;
    default:
        chip_send_write(peer,
                        draw(f, 2) ? FARSIDE_WIRE_REGISTERS
                                   : FARSIDE_WIRE_REGISTERS_NP,
                        offset, value, size, (uint16_t)value);
    }
}

static void meet_all(Fuzzer *f, bool again)
{
    for (unsigned i = 0; i < f->fuzz->peers; i++) {
        if (again) {
            rig_peer_free(f->peer[i]);
        }
        f->peer[i] = f->fuzz->meet ? f->fuzz->meet(i) : chip_meet(f->fuzz->rig);
        if (draw(f, 2)) {
            rig_peer_give_ram(f->peer[i], 0, 4 * MIB, true);
        }
    }
}

void chip_fuzz(const ChipFuzz *fuzz, unsigned seed)
{
    unsigned count = number_of("FARSIDE_FUZZ", 6000);
    Fuzzer f = {.fuzz = fuzz};

    seed = number_of("FARSIDE_SEED", seed);
    printf("# %u accesses, seed %u\n", count, seed);
    fflush(stdout);
    f.random = g_rand_new_with_seed(seed);
    for (unsigned i = 0; i < count; i++) {
        if (i % FUZZ_MEET == 0) {
            meet_all(&f, i);
        }
        if (draw(&f, 2)) {
            access_as_guest(&f);
        } else {
            act_as_peer(&f);
        }
        serve(&f);
    }
    for (unsigned i = 0; i < fuzz->peers; i++) {
        rig_peer_free(f.peer[i]);
    }
    g_rand_free(f.random);
    rig_reset(fuzz->rig);
}

TCase *chip_add_fuzz(Suite *suite, SFun teardown)
{
    TCase *tcase = chip_add_case(suite, "fuzz", NULL, teardown);

    tcase_set_timeout(tcase,
                      LIMIT_S + number_of("FARSIDE_FUZZ", 0) / FUZZ_RATE);
    return tcase;
}
