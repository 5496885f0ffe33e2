/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "qemu/osdep.h"
#include "qemu/host-utils.h"
#include "farside_switchtec_block.h"

void switchtec_block_keep_valid(struct farside_wire_ctrl *block)
{
    unsigned i;

    for (i = 0; i < SWITCHTEC_BARS; i++) {
        block->bar[i].ctl &= ~SWITCHTEC_BAR_VALID;
    }
    for (i = 0; i < FARSIDE_NTB_WINDOWS; i++) {
        block->bar[FARSIDE_NTB_WINDOW_BAR(i)].ctl |= SWITCHTEC_BAR_VALID;
    }
}

void switchtec_block_close(struct farside_wire_ctrl *block, unsigned part)
{
    unsigned i;

    for (i = 0; i < SWITCHTEC_BARS; i++) {
        if (SWITCHTEC_XLATE_PART(block->bar[i].xlate) == part) {
            block->bar[i].ctl &= ~SWITCHTEC_BAR_DIR_EN;
        }
    }
    for (i = 0; i < SWITCHTEC_MAX_LUT; i++) {
        if (SWITCHTEC_LUT_PART(block->lut[i]) == part) {
            block->lut[i] = 0;
        }
    }
}

/* Windows */

/* Adds the windows of a BAR to @list. Returns their number. */
static unsigned add_windows(const struct farside_wire_ctrl *block,
                            unsigned window, unsigned peer_part,
                            FarsideWindow *list)
{
    const struct farside_wire_bar *bar =
        &block->bar[FARSIDE_NTB_WINDOW_BAR(window)];
    unsigned shift = SWITCHTEC_BAR_LUT_SHIFT(bar->ctl), i, count = 0;
    unsigned lut_count = 0;
    uint64_t entry;

    if (bar->ctl & SWITCHTEC_BAR_LUT_EN) {
        lut_count = SWITCHTEC_BAR_LUT_COUNT(bar->ctl);
    }
    for (i = 0; i < lut_count; i++) {
        entry = block->lut[i];
        if ((entry & SWITCHTEC_LUT_EN) &&
            SWITCHTEC_LUT_PART(entry) == peer_part) {
            list[count++] = (FarsideWindow) {
                .window = window,
                .offset = (uint64_t)i << shift,
                .size = 1ull << shift,
                .target =
                    entry & SWITCHTEC_ADDR_MASK & ~MAKE_64BIT_MASK(0, shift),
            };
        }
    }
    if ((bar->ctl & SWITCHTEC_BAR_DIR_EN) &&
        SWITCHTEC_XLATE_PART(bar->xlate) == peer_part) {
        list[count++] = (FarsideWindow) {
            .window = window,
            .offset = (uint64_t)lut_count << shift,
            .size = (uint64_t)bar->ext_win_size << 32 |
                    (bar->win_size & SWITCHTEC_WIN_SIZE_MASK),
            .target = bar->xlate & SWITCHTEC_ADDR_MASK,
        };
    }
    return count;
}

unsigned switchtec_block_windows(const struct farside_wire_ctrl *block,
                                 unsigned part, FarsideWindow *list)
{
    unsigned i, count = 0;

    for (i = 0; i < FARSIDE_NTB_WINDOWS; i++) {
        count += add_windows(block, i, part, list + count);
    }
    return count;
}

unsigned switchtec_block_ids(const struct farside_wire_ctrl *block,
                             uint16_t *ids)
{
    unsigned i, count = 0;

    for (i = 0; i < FARSIDE_SWITCHTEC_REQ_IDS; i++) {
        if ((block->req_id[i] & 0xffff & ~SWITCHTEC_REQ_ID_PROXY_MASK) ==
            SWITCHTEC_REQ_ID_EN) {
            ids[count++] = block->req_id[i] >> 16;
        }
    }
    return count;
}

/* What may come into force */

static bool bar_is_sane(const FarsideConfig *config,
                        const SwitchtecOptions *options, unsigned i,
                        const struct farside_wire_bar *bar)
{
    uint64_t size = (uint64_t)bar->ext_win_size << 32 |
                    (bar->win_size & SWITCHTEC_WIN_SIZE_MASK);
    uint64_t bar_size, lut_size = 0;
    unsigned pos = SWITCHTEC_WIN_POS(bar->win_size);
    unsigned lut_pos = SWITCHTEC_BAR_LUT_SHIFT(bar->ctl);
    unsigned lut_count = SWITCHTEC_BAR_LUT_COUNT(bar->ctl);

    if (!(bar->ctl & (SWITCHTEC_BAR_DIR_EN | SWITCHTEC_BAR_LUT_EN))) {
        return true;
    }
    if (i != 2 && i != 4) {
        return false;
    }
    bar_size = config->bar_size[(i - 2) / 2];
    if (bar->ctl & SWITCHTEC_BAR_LUT_EN) {
        if (lut_pos < 12 || lut_pos > 40 ||
            lut_count > options->lut_entries) {
            return false;
        }
        lut_size = (uint64_t)lut_count << lut_pos;
        if (lut_size > bar_size) {
            return false;
        }
    }
    if (bar->ctl & SWITCHTEC_BAR_DIR_EN) {
        if (SWITCHTEC_XLATE_PART(bar->xlate) >= FARSIDE_NTB_PARTITIONS ||
            size == 0 || size > bar_size - lut_size || pos < 12 ||
            pos != 63u - clz64(size) ||
            (bar->xlate & SWITCHTEC_ADDR_MASK & MAKE_64BIT_MASK(0, pos)) ||
            (bar->xlate & SWITCHTEC_ADDR_MASK) + size < size) {
            return false;
        }
    }
    return true;
}

bool switchtec_block_is_sane(const struct farside_wire_ctrl *block,
                             const FarsideConfig *config,
                             const SwitchtecOptions *options,
                             struct farside_wire_configured *ret_errors)
{
    struct farside_wire_configured errors = {0};
    unsigned i;

    for (i = 0; i < SWITCHTEC_BARS; i++) {
        if (!bar_is_sane(config, options, i, &block->bar[i])) {
            errors.bar_error = 1 + i;
            break;
        }
    }
    for (i = 0; i < options->lut_entries; i++) {
        if ((block->lut[i] & SWITCHTEC_LUT_EN) &&
            SWITCHTEC_LUT_PART(block->lut[i]) >= FARSIDE_NTB_PARTITIONS) {
            errors.lut_error = 1 + i;
            break;
        }
    }
    *ret_errors = errors;
    return !errors.bar_error && !errors.lut_error;
}

/* Registers */

static uint32_t bar_read(const struct farside_wire_bar *bar, unsigned field)
{
    switch (field) {
    case SWITCHTEC_CTRL_BAR_CTL:
        return bar->ctl;
    case SWITCHTEC_CTRL_BAR_WIN_SIZE:
        return bar->win_size;
    case SWITCHTEC_CTRL_BAR_XLATE_LOW:
        return bar->xlate;
    default:
        return bar->xlate >> 32;
    }
}

uint32_t switchtec_block_read(const struct farside_wire_ctrl *block,
                              const SwitchtecOptions *options, uint8_t proxy,
                              unsigned offset)
{
    unsigned i;

    if (offset >= SWITCHTEC_CTRL_LUT) {
        i = (offset - SWITCHTEC_CTRL_LUT) / 8;
        return i < options->lut_entries ? block->lut[i] >> (offset & 4 ? 32 : 0)
                                        : 0;
    }
    if (offset >= SWITCHTEC_CTRL_REQ_ID) {
        i = (offset - SWITCHTEC_CTRL_REQ_ID) / 4;
        return i < FARSIDE_SWITCHTEC_REQ_IDS
                   ? (block->req_id[i] & ~SWITCHTEC_REQ_ID_PROXY_MASK) |
                         (uint32_t)proxy << SWITCHTEC_REQ_ID_PROXY_SHIFT
                   : 0;
    }
    if (offset >= SWITCHTEC_CTRL_BAR_EXT) {
        i = offset - SWITCHTEC_CTRL_BAR_EXT;
        return i < SWITCHTEC_BARS * SWITCHTEC_CTRL_BAR_EXT_STRIDE &&
                       i % SWITCHTEC_CTRL_BAR_EXT_STRIDE == 0
                   ? block->bar[i / SWITCHTEC_CTRL_BAR_EXT_STRIDE].ext_win_size
                   : 0;
    }
    i = offset - SWITCHTEC_CTRL_BAR_ENTRY;
    return bar_read(&block->bar[i / SWITCHTEC_CTRL_BAR_ENTRY_STRIDE],
                    i % SWITCHTEC_CTRL_BAR_ENTRY_STRIDE);
}

static void bar_write(struct farside_wire_bar *bar, unsigned field,
                      uint32_t value, uint32_t mask)
{
    switch (field) {
    case SWITCHTEC_CTRL_BAR_CTL:
        mask &= ~SWITCHTEC_BAR_VALID;
        bar->ctl = (bar->ctl & ~mask) | (value & mask);
        break;
    case SWITCHTEC_CTRL_BAR_WIN_SIZE:
        bar->win_size = (bar->win_size & ~mask) | (value & mask);
        break;
    case SWITCHTEC_CTRL_BAR_XLATE_LOW:
        bar->xlate = (bar->xlate & ~(uint64_t)mask) | (value & mask);
        break;
    default:
        bar->xlate = (bar->xlate & ~((uint64_t)mask << 32)) |
                     (uint64_t)(value & mask) << 32;
    }
}

void switchtec_block_write(struct farside_wire_ctrl *block,
                           const SwitchtecOptions *options, unsigned offset,
                           uint32_t value, uint32_t mask)
{
    uint64_t wide_mask, wide;
    unsigned i;

    if (offset >= SWITCHTEC_CTRL_LUT) {
        i = (offset - SWITCHTEC_CTRL_LUT) / 8;
        if (i < options->lut_entries) {
            wide = (uint64_t)(value & mask) << (offset & 4 ? 32 : 0);
            wide_mask = (uint64_t)mask << (offset & 4 ? 32 : 0);
            block->lut[i] = (block->lut[i] & ~wide_mask) | wide;
        }
    } else if (offset >= SWITCHTEC_CTRL_REQ_ID) {
        i = (offset - SWITCHTEC_CTRL_REQ_ID) / 4;
        if (i < FARSIDE_SWITCHTEC_REQ_IDS) {
            mask &= ~SWITCHTEC_REQ_ID_PROXY_MASK;
            block->req_id[i] = (block->req_id[i] & ~mask) | (value & mask);
        }
    } else if (offset >= SWITCHTEC_CTRL_BAR_EXT &&
               offset < SWITCHTEC_CTRL_BAR_EXT +
                            SWITCHTEC_BARS * SWITCHTEC_CTRL_BAR_EXT_STRIDE) {
        i = offset - SWITCHTEC_CTRL_BAR_EXT;
        if (i % SWITCHTEC_CTRL_BAR_EXT_STRIDE == 0) {
            i /= SWITCHTEC_CTRL_BAR_EXT_STRIDE;
            block->bar[i].ext_win_size =
                (block->bar[i].ext_win_size & ~mask) | (value & mask);
        }
    } else if (offset >= SWITCHTEC_CTRL_BAR_ENTRY &&
               offset < SWITCHTEC_CTRL_BAR_EXT) {
        i = (offset - SWITCHTEC_CTRL_BAR_ENTRY) /
            SWITCHTEC_CTRL_BAR_ENTRY_STRIDE;
        bar_write(&block->bar[i], offset % SWITCHTEC_CTRL_BAR_ENTRY_STRIDE,
                  value, mask);
    }
}
