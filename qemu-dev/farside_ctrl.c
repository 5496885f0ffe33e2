/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The control blocks of both partitions: LOCK, writes, CFG.
 *
 * A block is in force where its partition's host is: there its windows are, and
 * there two hosts that want to lock it at once are put in order. So the own
 * block is held here, and the peer's is asked for (wire/farside_wire.h).
 * Without a peer its block takes everything and forgets it when the peer comes.
 */
#include "qemu/osdep.h"
#include "qemu/host-utils.h"
#include "qemu/log.h"
#include "farside_ntb.h"

static FarsideNtbCtrl *own(FarsideNtb *s)
{
    return &s->ctrl[s->partition];
}

static FarsideNtbCtrl *peer(FarsideNtb *s)
{
    return &s->ctrl[farside_ntb_peer(s)];
}

/* The bit that nobody can write: which BARs have windows. */
static void bars_keep_valid(struct farside_wire_ctrl *block)
{
    unsigned i;

    for (i = 0; i < SWITCHTEC_BARS; i++) {
        block->bar[i].ctl &= ~SWITCHTEC_BAR_VALID;
    }
    for (i = 0; i < FARSIDE_NTB_WINDOWS; i++) {
        block->bar[FARSIDE_NTB_WINDOW_BAR(i)].ctl |= SWITCHTEC_BAR_VALID;
    }
}

static void block_reset(FarsideNtbCtrl *c)
{
    memset(c, 0, sizeof(*c));
    c->status = SWITCHTEC_STATUS_NORMAL;
    bars_keep_valid(&c->active);
    c->staged = c->active;
}

static void send_lock(FarsideNtb *s, unsigned type, uint32_t id)
{
    struct farside_wire_lock m = {.id = id};

    farside_link_send(s, type, &m, sizeof(m), NULL, 0, NULL, 0);
}

static void send_block(FarsideNtb *s, unsigned type,
                       const struct farside_wire_ctrl *block, uint32_t id)
{
    struct farside_wire_ctrl m = *block;

    m.lock_id = id;
    farside_link_send(s, type, &m, sizeof(m), NULL, 0, NULL, 0);
}

/* Validation: what cannot be in force is refused at CFG, as a whole. */

static bool bar_is_sane(FarsideNtb *s, unsigned i,
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
    bar_size = s->bar_size[(i - 2) / 2];
    if (bar->ctl & SWITCHTEC_BAR_LUT_EN) {
        if (lut_pos < 12 || lut_pos > 40 || lut_count > s->lut_entries) {
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

static bool block_is_sane(FarsideNtb *s, const struct farside_wire_ctrl *block,
                          struct farside_wire_configured *ret_errors)
{
    struct farside_wire_configured errors = {0};
    unsigned i;

    for (i = 0; i < SWITCHTEC_BARS; i++) {
        if (!bar_is_sane(s, i, &block->bar[i])) {
            errors.bar_error = 1 + i;
            break;
        }
    }
    for (i = 0; i < s->lut_entries; i++) {
        if ((block->lut[i] & SWITCHTEC_LUT_EN) &&
            SWITCHTEC_LUT_PART(block->lut[i]) >= FARSIDE_NTB_PARTITIONS) {
            errors.lut_error = 1 + i;
            break;
        }
    }
    *ret_errors = errors;
    return !errors.bar_error && !errors.lut_error;
}

/* The own block */

static void grant_next(FarsideNtb *s)
{
    FarsideNtbCtrl *c = own(s);

    if (s->owner != FARSIDE_NTB_OWNER_NONE) {
        return;
    }
    if (s->self_waits) {
        s->self_waits = false;
        s->owner = FARSIDE_NTB_OWNER_SELF;
        c->staged = c->active;
        c->status = SWITCHTEC_STATUS_LOCKED;
    } else if (s->peer_waits) {
        s->peer_waits = false;
        s->owner = FARSIDE_NTB_OWNER_PEER;
        s->owner_id = s->waiting_id;
        send_block(s, FARSIDE_WIRE_LOCKED, &c->active, s->owner_id);
    }
}

static void own_lock(FarsideNtb *s)
{
    FarsideNtbCtrl *c = own(s);

    if (c->status != SWITCHTEC_STATUS_NORMAL) {
        return;
    }
    c->bar_error = c->lut_error = c->req_id_error = 0;
    c->status = SWITCHTEC_STATUS_LOCKING;
    s->self_waits = true;
    grant_next(s);
}

static void own_configure(FarsideNtb *s)
{
    FarsideNtbCtrl *c = own(s);
    struct farside_wire_configured errors;

    if (c->status != SWITCHTEC_STATUS_LOCKED) {
        return;
    }
    if (!block_is_sane(s, &c->staged, &errors)) {
        c->bar_error = errors.bar_error;
        c->lut_error = errors.lut_error;
        return;
    }
    c->active = c->staged;
    c->status = SWITCHTEC_STATUS_CONFIGURING;
    farside_window_update(s);
    s->flush = farside_window_flush(s);
}

static void own_release(FarsideNtb *s)
{
    FarsideNtbCtrl *c = own(s);

    if (c->status == SWITCHTEC_STATUS_LOCKED) {
        s->owner = FARSIDE_NTB_OWNER_NONE;
    } else if (c->status == SWITCHTEC_STATUS_LOCKING) {
        s->self_waits = false;
    } else {
        return;
    }
    c->status = SWITCHTEC_STATUS_NORMAL;
    grant_next(s);
}

void farside_ctrl_flushed(FarsideNtb *s, uint32_t flush)
{
    FarsideNtbCtrl *c = own(s);
    struct farside_wire_configured m = {.lock_id = s->owner_id};
    FarsideNtbOwner owner = s->owner;

    if (flush != s->flush) {
        return;
    }
    /* Before anything is sent: that may find the peer gone. */
    s->flush = 0;
    s->owner = FARSIDE_NTB_OWNER_NONE;
    if (owner == FARSIDE_NTB_OWNER_SELF) {
        c->status = SWITCHTEC_STATUS_NORMAL;
    } else if (owner == FARSIDE_NTB_OWNER_PEER) {
        farside_link_send(s, FARSIDE_WIRE_CONFIGURED, &m, sizeof(m), NULL, 0,
                          NULL, 0);
    }
    grant_next(s);
}

void farside_ctrl_on_lock(FarsideNtb *s, const struct farside_wire_lock *m)
{
    s->peer_waits = true;
    s->waiting_id = m->id;
    grant_next(s);
}

void farside_ctrl_on_release(FarsideNtb *s, const struct farside_wire_lock *m)
{
    if (s->peer_waits && s->waiting_id == m->id) {
        s->peer_waits = false;
    } else if (s->owner == FARSIDE_NTB_OWNER_PEER && s->owner_id == m->id &&
               !s->flush) {
        s->owner = FARSIDE_NTB_OWNER_NONE;
        grant_next(s);
    }
}

void farside_ctrl_on_config(FarsideNtb *s, const struct farside_wire_ctrl *m)
{
    struct farside_wire_configured errors;

    if (s->owner != FARSIDE_NTB_OWNER_PEER || s->owner_id != m->lock_id ||
        s->flush) {
        return;
    }
    if (!block_is_sane(s, m, &errors)) {
        errors.lock_id = m->lock_id;
        farside_link_send(s, FARSIDE_WIRE_CONFIGURED, &errors, sizeof(errors),
                          NULL, 0, NULL, 0);
        return;
    }
    own(s)->active = *m;
    bars_keep_valid(&own(s)->active);
    farside_window_update(s);
    s->flush = farside_window_flush(s);
}

/* The peer's block */

static void peer_lock(FarsideNtb *s)
{
    FarsideNtbCtrl *c = peer(s);

    if (c->status != SWITCHTEC_STATUS_NORMAL) {
        return;
    }
    c->bar_error = c->lut_error = c->req_id_error = 0;
    if (s->peer_here) {
        c->status = SWITCHTEC_STATUS_LOCKING;
        send_lock(s, FARSIDE_WIRE_LOCK, ++s->lock_id);
    } else {
        c->staged = c->active;
        c->status = SWITCHTEC_STATUS_LOCKED;
    }
}

static void peer_configure(FarsideNtb *s)
{
    FarsideNtbCtrl *c = peer(s);
    struct farside_wire_configured errors;

    if (c->status != SWITCHTEC_STATUS_LOCKED) {
        return;
    }
    if (s->peer_here) {
        c->status = SWITCHTEC_STATUS_CONFIGURING;
        send_block(s, FARSIDE_WIRE_CONFIG, &c->staged, s->lock_id);
    } else if (block_is_sane(s, &c->staged, &errors)) {
        c->active = c->staged;
        c->status = SWITCHTEC_STATUS_NORMAL;
    } else {
        c->bar_error = errors.bar_error;
        c->lut_error = errors.lut_error;
    }
}

static void peer_release(FarsideNtb *s)
{
    FarsideNtbCtrl *c = peer(s);

    if (c->status != SWITCHTEC_STATUS_LOCKED &&
        c->status != SWITCHTEC_STATUS_LOCKING) {
        return;
    }
    send_lock(s, FARSIDE_WIRE_RELEASE, s->lock_id);
    c->status = SWITCHTEC_STATUS_NORMAL;
}

void farside_ctrl_on_locked(FarsideNtb *s, const struct farside_wire_ctrl *m)
{
    FarsideNtbCtrl *c = peer(s);

    if (c->status == SWITCHTEC_STATUS_LOCKING && m->lock_id == s->lock_id) {
        c->active = *m;
        c->staged = *m;
        c->status = SWITCHTEC_STATUS_LOCKED;
    }
}

void farside_ctrl_on_configured(FarsideNtb *s,
                                const struct farside_wire_configured *m)
{
    FarsideNtbCtrl *c = peer(s);

    if (c->status != SWITCHTEC_STATUS_CONFIGURING ||
        m->lock_id != s->lock_id) {
        return;
    }
    c->bar_error = m->bar_error;
    c->lut_error = m->lut_error;
    c->req_id_error = m->req_id_error;
    if (m->bar_error || m->lut_error || m->req_id_error) {
        c->status = SWITCHTEC_STATUS_LOCKED;
    } else {
        c->active = c->staged;
        c->status = SWITCHTEC_STATUS_NORMAL;
    }
}

/* Resets */

/* Closes what leads to a partition. */
static void close_windows(struct farside_wire_ctrl *block, unsigned part)
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

/* The own partition: its block loses all, whoever wrote or locked it. */
void farside_ctrl_reset(FarsideNtb *s)
{
    FarsideNtbCtrl *other = peer(s);

    block_reset(own(s));
    s->owner = FARSIDE_NTB_OWNER_NONE;
    s->self_waits = false;
    s->peer_waits = false;
    s->flush = 0;
    if (s->peer_here) {
        /*
         * A lock of the peer's block goes with the driver that took it. The
         * peer closes what leads here when it hears of the reset.
         */
        peer_release(s);
        other->status = SWITCHTEC_STATUS_NORMAL;
        other->bar_error = other->lut_error = other->req_id_error = 0;
        close_windows(&other->active, s->partition);
    } else {
        block_reset(other);
    }
    farside_window_update(s);
}

/* The peer's partition was reset: nothing may lead there until it is set up. */
void farside_ctrl_peer_reset(FarsideNtb *s)
{
    if (s->peer_here) {
        peer_release(s);
    }
    block_reset(peer(s));
    close_windows(&own(s)->active, farside_ntb_peer(s));
    close_windows(&own(s)->staged, farside_ntb_peer(s));
    /* The peer's lock of our block goes with the driver that took it. */
    s->peer_waits = false;
    if (s->owner == FARSIDE_NTB_OWNER_PEER) {
        s->owner = FARSIDE_NTB_OWNER_NONE;
        s->flush = 0;
        grant_next(s);
    }
    farside_window_update(s);
}

/* Registers */

uint32_t farside_ctrl_read(FarsideNtb *s, unsigned part, unsigned offset)
{
    FarsideNtbCtrl *c;
    const struct farside_wire_ctrl *block;
    unsigned i;
    uint32_t proxy;

    if (part >= FARSIDE_NTB_PARTITIONS) {
        return 0;
    }
    c = &s->ctrl[part];
    block = c->status == SWITCHTEC_STATUS_LOCKED ||
                    c->status == SWITCHTEC_STATUS_CONFIGURING
                ? &c->staged
                : &c->active;
    if (offset >= SWITCHTEC_CTRL_LUT) {
        i = (offset - SWITCHTEC_CTRL_LUT) / 8;
        return i < s->lut_entries ? block->lut[i] >> (offset & 4 ? 32 : 0) : 0;
    }
    if (offset >= SWITCHTEC_CTRL_REQ_ID) {
        i = (offset - SWITCHTEC_CTRL_REQ_ID) / 4;
        if (i >= FARSIDE_NTB_REQ_IDS) {
            return 0;
        }
        /*
         * What comes out of a bridge has the requester ID of its function on
         * the far side: for the peer's table that is this device.
         */
        proxy = part == s->partition ? s->peer_requester_id
                                     : pci_requester_id(PCI_DEVICE(s));
        return (block->req_id[i] & ~SWITCHTEC_REQ_ID_PROXY_MASK) |
               ((proxy & 0xff) << SWITCHTEC_REQ_ID_PROXY_SHIFT);
    }
    if (offset >= SWITCHTEC_CTRL_BAR_EXT &&
        offset < SWITCHTEC_CTRL_BAR_EXT +
                     SWITCHTEC_BARS * SWITCHTEC_CTRL_BAR_EXT_STRIDE) {
        i = offset - SWITCHTEC_CTRL_BAR_EXT;
        return i % SWITCHTEC_CTRL_BAR_EXT_STRIDE
                   ? 0
                   : block->bar[i / SWITCHTEC_CTRL_BAR_EXT_STRIDE].ext_win_size;
    }
    if (offset >= SWITCHTEC_CTRL_BAR_ENTRY && offset < SWITCHTEC_CTRL_BAR_EXT) {
        i = (offset - SWITCHTEC_CTRL_BAR_ENTRY) /
            SWITCHTEC_CTRL_BAR_ENTRY_STRIDE;
        switch (offset % SWITCHTEC_CTRL_BAR_ENTRY_STRIDE) {
        case SWITCHTEC_CTRL_BAR_CTL:
            return block->bar[i].ctl;
        case SWITCHTEC_CTRL_BAR_WIN_SIZE:
            return block->bar[i].win_size;
        case SWITCHTEC_CTRL_BAR_XLATE_LOW:
            return block->bar[i].xlate;
        default:
            return block->bar[i].xlate >> 32;
        }
    }
    switch (offset) {
    case SWITCHTEC_CTRL_STATUS:
        return c->status;
    case SWITCHTEC_CTRL_BAR_ERROR:
        return c->bar_error;
    case SWITCHTEC_CTRL_LUT_TABLE:
        return s->lut_entries | SWITCHTEC_CTRL_LUT << 16;
    case SWITCHTEC_CTRL_LUT_ERROR:
        return c->lut_error;
    case SWITCHTEC_CTRL_REQ_ID_TABLE:
        return FARSIDE_NTB_REQ_IDS | SWITCHTEC_CTRL_REQ_ID << 16;
    case SWITCHTEC_CTRL_REQ_ID_ERROR:
        return c->req_id_error;
    default:
        return 0;
    }
}

static void operate(FarsideNtb *s, unsigned part, uint32_t op)
{
    bool self = part == s->partition;

    /* What cannot be sent has not been done: the status does not change. */
    if (!self && s->peer_here && !farside_tlp_wait_for_room(s)) {
        return;
    }
    switch (op) {
    case SWITCHTEC_OP_LOCK:
        self ? own_lock(s) : peer_lock(s);
        break;
    case SWITCHTEC_OP_CFG:
        self ? own_configure(s) : peer_configure(s);
        break;
    case SWITCHTEC_OP_RESET:
        self ? own_release(s) : peer_release(s);
        break;
    default:
        qemu_log_mask(LOG_GUEST_ERROR, "%s: partition operation %" PRIu32 "\n",
                      TYPE_FARSIDE_NTB, op);
    }
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

void farside_ctrl_write(FarsideNtb *s, unsigned part, unsigned offset,
                        uint32_t value, uint32_t mask)
{
    struct farside_wire_ctrl *block;
    uint64_t wide_mask, wide;
    unsigned i;

    if (part >= FARSIDE_NTB_PARTITIONS) {
        return;
    }
    if (offset == SWITCHTEC_CTRL_OP) {
        operate(s, part, value & mask);
        return;
    }
    if (s->ctrl[part].status != SWITCHTEC_STATUS_LOCKED) {
        qemu_log_mask(LOG_GUEST_ERROR,
                      "%s: write to control block %u at 0x%x without lock\n",
                      TYPE_FARSIDE_NTB, part, offset);
        return;
    }
    block = &s->ctrl[part].staged;
    if (offset >= SWITCHTEC_CTRL_LUT) {
        i = (offset - SWITCHTEC_CTRL_LUT) / 8;
        if (i < s->lut_entries) {
            wide = (uint64_t)(value & mask) << (offset & 4 ? 32 : 0);
            wide_mask = (uint64_t)mask << (offset & 4 ? 32 : 0);
            block->lut[i] = (block->lut[i] & ~wide_mask) | wide;
        }
    } else if (offset >= SWITCHTEC_CTRL_REQ_ID) {
        i = (offset - SWITCHTEC_CTRL_REQ_ID) / 4;
        if (i < FARSIDE_NTB_REQ_IDS) {
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
