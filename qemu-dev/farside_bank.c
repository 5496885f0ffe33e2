/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "qemu/osdep.h"
#include "qemu/bitops.h"
#include "qemu/host-utils.h"
#include "farside_bank.h"

struct FarsideBank {
    const FarsideBankLayout *layout;
    FarsideChip *chip;
    FarsideRegisters *registers;
    GPtrArray *table; /* of const FarsideRegister */
    uint64_t *values; /* of all registers, in the order of the table */
};

/* A register, as a search has found it */
typedef struct Found {
    const FarsideRegister *r;
    unsigned index;
    unsigned offset; /* where the register begins */
    uint64_t *value;
} Found;

static unsigned count_of(const FarsideRegister *r)
{
    return MAX(r->count, 1);
}

/* The register of this host that has the byte at @offset. */
static bool find(const FarsideBank *s, uint64_t offset, Found *ret)
{
    uint64_t *value = s->values;
    const FarsideRegister *r;
    unsigned i;

    for (i = 0; i < s->table->len; i++) {
        r = g_ptr_array_index(s->table, i);
        if (offset >= r->offset &&
            offset - r->offset < r->size * count_of(r)) {
            ret->r = r;
            ret->index = (offset - r->offset) / r->size;
            ret->offset = r->offset + ret->index * r->size;
            ret->value = value + ret->index;
            return true;
        }
        value += count_of(r);
    }
    return false;
}

static void write_register(FarsideBank *s, const Found *f, uint64_t value,
                           uint64_t mask)
{
    uint64_t old = *f->value;

    mask &= f->r->mask;
    value &= mask;
    switch (f->r->access) {
    case FARSIDE_REGISTER_RW:
        *f->value = (old & ~mask) | value;
        break;
    case FARSIDE_REGISTER_W1C:
        *f->value = old & ~value;
        break;
    }
    s->layout->written(s->chip, f->r, f->index, value, old);
}

static uint64_t own_read(FarsideBank *s, uint64_t offset, unsigned size)
{
    uint64_t value = 0;
    unsigned i, n;
    Found f;

    for (i = 0; i < size; i += n) {
        n = 1;
        if (find(s, offset + i, &f)) {
            n = MIN(size - i, f.offset + f.r->size - (offset + i));
            value |= (*f.value >> (8 * (offset + i - f.offset)) &
                      MAKE_64BIT_MASK(0, 8 * n))
                     << (8 * i);
        }
    }
    return value;
}

static void own_write(FarsideBank *s, uint64_t offset, uint64_t value,
                      unsigned size)
{
    unsigned i, n, shift;
    Found f;

    for (i = 0; i < size; i += n) {
        n = 1;
        if (find(s, offset + i, &f)) {
            n = MIN(size - i, f.offset + f.r->size - (offset + i));
            shift = 8 * (offset + i - f.offset);
            write_register(s, &f, value >> (8 * i) << shift,
                           MAKE_64BIT_MASK(shift, 8 * n));
        }
    }
}

uint64_t farside_bank_get(const FarsideBank *s, unsigned offset)
{
    Found f;

    g_assert(find(s, offset, &f));
    return *f.value;
}

void farside_bank_set(FarsideBank *s, unsigned offset, uint64_t value)
{
    Found f;

    g_assert(find(s, offset, &f));
    *f.value = value;
}

/* BAR 0 */

/* The range that has the byte at @offset; NULL if it is of this host. */
static const FarsideFarRange *far_range(const FarsideBank *s, unsigned offset)
{
    const FarsideFarRange *range;
    unsigned i;

    for (i = 0; i < s->layout->far_count; i++) {
        range = &s->layout->far[i];
        if (offset >= range->offset && offset - range->offset < range->size) {
            return range;
        }
    }
    return NULL;
}

static bool reaches(const FarsideBank *s)
{
    return !s->layout->reaches || s->layout->reaches(s->chip);
}

/* Bytes of an access from @offset on that are aligned, and of one side. */
static unsigned part_of(unsigned offset, unsigned size)
{
    unsigned n = pow2floor(size);

    while (offset & (n - 1)) {
        n /= 2;
    }
    return n;
}

static uint64_t far_read(FarsideBank *s, const FarsideFarRange *range,
                         unsigned offset, unsigned size)
{
    unsigned far = offset - range->offset + range->far;

    return reaches(s) ? farside_registers_ask(s->registers, 0, far, size) : 0;
}

static void far_write(FarsideBank *s, const FarsideFarRange *range,
                      unsigned offset, uint64_t value, unsigned size)
{
    unsigned far = offset - range->offset + range->far;

    if (!reaches(s)) {
        return;
    }
    if (range->closes) {
        farside_registers_put(s->registers, 0, far, value, size);
    } else {
        farside_registers_post(s->registers, 0, far, value, size);
    }
}

uint64_t farside_bank_read(FarsideBank *s, unsigned offset, unsigned size)
{
    const FarsideFarRange *range;
    uint64_t value = 0, part;
    unsigned i, n;

    for (i = 0; i < size; i += n) {
        n = part_of(offset + i, size - i);
        range = far_range(s, offset + i);
        part = range ? far_read(s, range, offset + i, n)
                     : own_read(s, offset + i, n);
        value |= part << (8 * i);
    }
    return value;
}

void farside_bank_write(FarsideBank *s, unsigned offset, uint64_t value,
                        unsigned size)
{
    const FarsideFarRange *range;
    unsigned i, n;
    uint64_t part;

    for (i = 0; i < size; i += n) {
        n = part_of(offset + i, size - i);
        part = value >> (8 * i) & MAKE_64BIT_MASK(0, 8 * n);
        range = far_range(s, offset + i);
        if (range) {
            far_write(s, range, offset + i, part, n);
        } else {
            own_write(s, offset + i, part, n);
        }
    }
}

/* The peer */

static bool is_shared(const FarsideBank *s, uint64_t offset, unsigned size)
{
    const FarsideSharedRange *range;
    unsigned i;

    for (i = 0; i < s->layout->shared_count; i++) {
        range = &s->layout->shared[i];
        if (offset >= range->offset && offset - range->offset < range->size &&
            size <= range->size - (offset - range->offset)) {
            return true;
        }
    }
    return false;
}

bool farside_bank_serve_read(FarsideBank *s, uint64_t offset, unsigned size,
                             uint64_t *ret_value)
{
    if (!is_shared(s, offset, size)) {
        return false;
    }
    *ret_value = own_read(s, offset, size);
    return true;
}

bool farside_bank_serve_write(FarsideBank *s, uint64_t offset, uint64_t value,
                              unsigned size)
{
    if (!is_shared(s, offset, size)) {
        return false;
    }
    own_write(s, offset, value, size);
    return true;
}

/* Life */

void farside_bank_reset(FarsideBank *s)
{
    uint64_t *value = s->values;
    const FarsideRegister *r;
    unsigned i, j;

    for (i = 0; i < s->table->len; i++) {
        r = g_ptr_array_index(s->table, i);
        for (j = 0; j < count_of(r); j++) {
            *value++ = r->reset;
        }
    }
}

FarsideBank *farside_bank_new(const FarsideBankLayout *layout,
                              FarsideChip *chip, FarsideRegisters *registers)
{
    FarsideBank *s = g_new0(FarsideBank, 1);
    const FarsideRegister *r;
    unsigned i, count = 0;

    s->layout = layout;
    s->chip = chip;
    s->registers = registers;
    s->table = g_ptr_array_new();
    for (i = 0; i < FARSIDE_BANK_SETS; i++) {
        for (r = layout->registers[i]; r && r->size; r++) {
            g_ptr_array_add(s->table, (void *)r);
            count += count_of(r);
        }
    }
    s->values = g_new0(uint64_t, count);
    farside_bank_reset(s);
    return s;
}

void farside_bank_free(FarsideBank *s)
{
    if (s) {
        g_ptr_array_free(s->table, true);
        g_free(s->values);
    }
    g_free(s);
}
