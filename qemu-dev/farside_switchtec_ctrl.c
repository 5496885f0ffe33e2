/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "qemu/osdep.h"
#include "qemu/log.h"
#include "farside_switchtec_block.h"
#include "farside_switchtec_ctrl.h"

/* The holder of the lock of the own control block */
typedef enum {
    OWNER_NONE,
    OWNER_SELF,
    OWNER_PEER,
} Owner;

/* A write that came when another thread of this host had ended the lock. */
typedef struct {
    uint16_t offset;
    uint32_t value;
    uint32_t mask;
} Late;

/* Room for every register of a block, twice */
#define LATE_MAX 4096

/*
 * One partition's control block, as this host sees it.
 *
 * Two threads of one host may both write LOCK: the kernel's driver sets up a
 * window while its link comes up. The second sees the block locked and goes on,
 * and the first one's CFG ends the lock under it. Its writes after that are
 * kept, and its own CFG takes the lock again and makes them. RESET discards
 * everything, also what other threads wrote.
 */
typedef struct {
    struct farside_wire_ctrl active; /* in force, as far as this host knows */
    struct farside_wire_ctrl staged; /* written by the holder of the lock */
    uint32_t status;
    uint32_t bar_error;
    uint32_t lut_error;
    uint32_t req_id_error;

    unsigned more_locks; /* LOCKs while the block was locked */
    bool late_open;      /* one of them goes on without the lock */
    bool late_cfg;       /* its CFG waits for the lock; status is CONFIGURING */
    unsigned late_count;
    Late late[LATE_MAX];
} Block;

struct SwitchtecCtrl {
    const FarsideConfig *config;
    const SwitchtecOptions *options;
    PCIDevice *pci;
    FarsidePeer *peer;
    FarsideRequester *requester;
    FarsideWindows *windows;
    Block block[FARSIDE_NTB_PARTITIONS];

    /* The lock of the own block */
    Owner owner;
    uint32_t owner_id; /* number of the lock that the peer holds */
    bool self_waits;   /* this host waits for the lock */
    bool peer_waits;
    uint32_t waiting_id; /* number of the lock that the peer waits for */
    uint32_t flush;      /* number of the flush that completes a CFG, or 0 */

    uint32_t lock_id; /* number of this host's last lock of the peer's block */
};

static Block *own(SwitchtecCtrl *s)
{
    return &s->block[s->config->partition];
}

static Block *peer(SwitchtecCtrl *s)
{
    return &s->block[farside_config_peer(s->config)];
}

static void block_reset(Block *c)
{
    memset(c, 0, sizeof(*c));
    c->status = SWITCHTEC_STATUS_NORMAL;
    switchtec_block_keep_valid(&c->active);
    c->staged = c->active;
}

/* Writes to a locked block */

/* This host has the lock: makes the writes that came without it. */
static void late_replay(SwitchtecCtrl *s, Block *c)
{
    unsigned i;

    for (i = 0; i < c->late_count; i++) {
        switchtec_block_write(&c->staged, s->options, c->late[i].offset,
                              c->late[i].value, c->late[i].mask);
    }
    c->late_count = 0;
}

/* This host got the lock by LOCK. A thread that was late shares it again. */
static void late_locked(SwitchtecCtrl *s, Block *c)
{
    late_replay(s, c);
    if (c->late_open) {
        c->late_open = false;
        c->more_locks++;
    }
}

/* CFG of one thread has ended the lock. */
static void late_unlocked(Block *c)
{
    if (c->more_locks) {
        c->more_locks--;
        c->late_open = true;
    }
}

static void late_clear(Block *c)
{
    c->more_locks = 0;
    c->late_open = false;
    c->late_cfg = false;
    c->late_count = 0;
}

/* Keeps a write of a thread that may not know that the lock has ended. */
static bool late_write(Block *c, unsigned offset, uint32_t value, uint32_t mask)
{
    bool late = c->status == SWITCHTEC_STATUS_NORMAL
                    ? c->late_open
                    : c->status == SWITCHTEC_STATUS_CONFIGURING &&
                          (c->late_open || c->more_locks);

    if (!late || c->late_count == LATE_MAX) {
        return false;
    }
    c->late[c->late_count++] = (Late) {offset, value, mask};
    return true;
}

static void send_lock(SwitchtecCtrl *s, unsigned type, uint32_t id)
{
    struct farside_wire_lock m = {.id = id};

    farside_peer_send(s->peer, type, &m, sizeof(m));
}

static void send_block(SwitchtecCtrl *s, unsigned type,
                       const struct farside_wire_ctrl *block, uint32_t id)
{
    struct farside_wire_ctrl m = *block;

    m.lock_id = id;
    farside_peer_send(s->peer, type, &m, sizeof(m));
}

/* Puts the own block into force. */
static void set_windows(SwitchtecCtrl *s)
{
    g_autofree FarsideWindow *list =
        g_new(FarsideWindow, SWITCHTEC_BLOCK_WINDOWS);
    const struct farside_wire_ctrl *block = &own(s)->active;
    uint16_t ids[FARSIDE_SWITCHTEC_REQ_IDS];
    unsigned count, id_count;

    count =
        switchtec_block_windows(block, farside_config_peer(s->config), list);
    id_count = switchtec_block_ids(block, ids);
    farside_windows_set(s->windows, list, count,
                        s->config->check_requester ? ids : NULL, id_count);
}

/*
 * The own block has changed. The peer learns of it before it gets any request
 * that uses it.
 */
static void own_changed(SwitchtecCtrl *s)
{
    set_windows(s);
    farside_windows_tell(s->windows);
}

/* A CFG that cannot come into force is refused as a whole. */
static bool is_sane(SwitchtecCtrl *s, const struct farside_wire_ctrl *block,
                    struct farside_wire_configured *ret_errors)
{
    return switchtec_block_is_sane(block, s->config, s->options, ret_errors);
}

/* The own block */

static void own_configure(SwitchtecCtrl *s);

static void grant_next(SwitchtecCtrl *s)
{
    Block *c = own(s);

    if (s->owner != OWNER_NONE) {
        return;
    }
    if (s->self_waits) {
        s->self_waits = false;
        s->owner = OWNER_SELF;
        c->staged = c->active;
        c->status = SWITCHTEC_STATUS_LOCKED;
        if (c->late_cfg) {
            c->late_cfg = false;
            late_replay(s, c);
            own_configure(s);
        } else {
            late_locked(s, c);
        }
    } else if (s->peer_waits) {
        s->peer_waits = false;
        s->owner = OWNER_PEER;
        s->owner_id = s->waiting_id;
        send_block(s, FARSIDE_WIRE_LOCKED, &c->active, s->owner_id);
    }
}

static void own_lock(SwitchtecCtrl *s)
{
    Block *c = own(s);

    if (c->status == SWITCHTEC_STATUS_LOCKED) {
        c->more_locks++;
    }
    if (c->status != SWITCHTEC_STATUS_NORMAL) {
        return;
    }
    c->bar_error = c->lut_error = c->req_id_error = 0;
    c->status = SWITCHTEC_STATUS_LOCKING;
    s->self_waits = true;
    grant_next(s);
}

/* Completes a CFG: no CPU uses the replaced block any more. */
static void on_flushed(void *opaque, uint32_t flush)
{
    SwitchtecCtrl *s = opaque;
    Block *c = own(s);
    struct farside_wire_configured m = {.lock_id = s->owner_id};
    Owner owner = s->owner;

    if (flush != s->flush) {
        return;
    }
    s->flush = 0;
    s->owner = OWNER_NONE;
    if (owner == OWNER_SELF) {
        c->status = SWITCHTEC_STATUS_NORMAL;
    } else if (owner == OWNER_PEER) {
        farside_peer_send(s->peer, FARSIDE_WIRE_CONFIGURED, &m, sizeof(m));
    }
    grant_next(s);
}

static void own_configure(SwitchtecCtrl *s)
{
    Block *c = own(s);
    struct farside_wire_configured errors;

    if (c->status == SWITCHTEC_STATUS_NORMAL && c->late_open) {
        c->late_open = false;
        c->late_cfg = true;
        c->status = SWITCHTEC_STATUS_CONFIGURING;
        s->self_waits = true;
        grant_next(s);
        return;
    }
    if (c->status != SWITCHTEC_STATUS_LOCKED) {
        return;
    }
    if (!is_sane(s, &c->staged, &errors)) {
        c->bar_error = errors.bar_error;
        c->lut_error = errors.lut_error;
        return;
    }
    c->active = c->staged;
    c->status = SWITCHTEC_STATUS_CONFIGURING;
    late_unlocked(c);
    own_changed(s);
    s->flush = farside_windows_flush(s->windows, on_flushed, s);
}

static void own_release(SwitchtecCtrl *s)
{
    Block *c = own(s);

    if (c->status == SWITCHTEC_STATUS_LOCKED) {
        s->owner = OWNER_NONE;
    } else if (c->status == SWITCHTEC_STATUS_LOCKING || c->late_cfg) {
        s->self_waits = false;
    } else {
        late_clear(c);
        return;
    }
    late_clear(c);
    c->status = SWITCHTEC_STATUS_NORMAL;
    grant_next(s);
}

void switchtec_ctrl_on_lock(SwitchtecCtrl *s, const struct farside_wire_lock *m)
{
    s->peer_waits = true;
    s->waiting_id = m->id;
    grant_next(s);
}

void switchtec_ctrl_on_release(SwitchtecCtrl *s,
                               const struct farside_wire_lock *m)
{
    if (s->peer_waits && s->waiting_id == m->id) {
        s->peer_waits = false;
    } else if (s->owner == OWNER_PEER && s->owner_id == m->id && !s->flush) {
        s->owner = OWNER_NONE;
        grant_next(s);
    }
}

void switchtec_ctrl_on_config(SwitchtecCtrl *s,
                              const struct farside_wire_ctrl *m)
{
    struct farside_wire_configured errors;

    if (s->owner != OWNER_PEER || s->owner_id != m->lock_id || s->flush) {
        return;
    }
    if (!is_sane(s, m, &errors)) {
        errors.lock_id = m->lock_id;
        farside_peer_send(s->peer, FARSIDE_WIRE_CONFIGURED, &errors,
                          sizeof(errors));
        return;
    }
    own(s)->active = *m;
    switchtec_block_keep_valid(&own(s)->active);
    own_changed(s);
    s->flush = farside_windows_flush(s->windows, on_flushed, s);
}

/* The peer's block */

static void peer_lock(SwitchtecCtrl *s)
{
    Block *c = peer(s);

    if (c->status == SWITCHTEC_STATUS_LOCKED) {
        c->more_locks++;
    }
    if (c->status != SWITCHTEC_STATUS_NORMAL) {
        return;
    }
    c->bar_error = c->lut_error = c->req_id_error = 0;
    if (farside_peer_is_here(s->peer)) {
        c->status = SWITCHTEC_STATUS_LOCKING;
        send_lock(s, FARSIDE_WIRE_LOCK, ++s->lock_id);
    } else {
        c->staged = c->active;
        c->status = SWITCHTEC_STATUS_LOCKED;
        late_locked(s, c);
    }
}

static void peer_configure(SwitchtecCtrl *s)
{
    Block *c = peer(s);
    struct farside_wire_configured errors;

    if (c->status == SWITCHTEC_STATUS_NORMAL && c->late_open) {
        c->late_open = false;
        if (farside_peer_is_here(s->peer)) {
            c->late_cfg = true;
            c->status = SWITCHTEC_STATUS_CONFIGURING;
            send_lock(s, FARSIDE_WIRE_LOCK, ++s->lock_id);
            return;
        }
        c->staged = c->active;
        c->status = SWITCHTEC_STATUS_LOCKED;
        late_replay(s, c);
    }
    if (c->status != SWITCHTEC_STATUS_LOCKED) {
        return;
    }
    if (farside_peer_is_here(s->peer)) {
        c->status = SWITCHTEC_STATUS_CONFIGURING;
        send_block(s, FARSIDE_WIRE_CONFIG, &c->staged, s->lock_id);
    } else if (is_sane(s, &c->staged, &errors)) {
        c->active = c->staged;
        c->status = SWITCHTEC_STATUS_NORMAL;
        late_unlocked(c);
    } else {
        c->bar_error = errors.bar_error;
        c->lut_error = errors.lut_error;
    }
}

static void peer_release(SwitchtecCtrl *s)
{
    Block *c = peer(s);

    if (c->status != SWITCHTEC_STATUS_LOCKED &&
        c->status != SWITCHTEC_STATUS_LOCKING && !c->late_cfg) {
        late_clear(c);
        return;
    }
    late_clear(c);
    send_lock(s, FARSIDE_WIRE_RELEASE, s->lock_id);
    c->status = SWITCHTEC_STATUS_NORMAL;
}

void switchtec_ctrl_on_locked(SwitchtecCtrl *s,
                              const struct farside_wire_ctrl *m)
{
    Block *c = peer(s);

    if ((c->status != SWITCHTEC_STATUS_LOCKING && !c->late_cfg) ||
        m->lock_id != s->lock_id) {
        return;
    }
    c->active = *m;
    c->staged = *m;
    c->status = SWITCHTEC_STATUS_LOCKED;
    if (c->late_cfg) {
        c->late_cfg = false;
        late_replay(s, c);
        peer_configure(s);
    } else {
        late_locked(s, c);
    }
}

void switchtec_ctrl_on_configured(SwitchtecCtrl *s,
                                  const struct farside_wire_configured *m)
{
    Block *c = peer(s);

    if (c->status != SWITCHTEC_STATUS_CONFIGURING || m->lock_id != s->lock_id) {
        return;
    }
    c->bar_error = m->bar_error;
    c->lut_error = m->lut_error;
    c->req_id_error = m->req_id_error;
    if (m->bar_error || m->lut_error || m->req_id_error) {
        c->status = SWITCHTEC_STATUS_LOCKED;
        late_replay(s, c);
    } else {
        c->active = c->staged;
        c->status = SWITCHTEC_STATUS_NORMAL;
        late_unlocked(c);
    }
}

/* Resets */

void switchtec_ctrl_reset(SwitchtecCtrl *s)
{
    Block *other = peer(s);

    /* This ends the lock of the own block, no matter which host holds it. */
    block_reset(own(s));
    s->owner = OWNER_NONE;
    s->self_waits = false;
    s->peer_waits = false;
    s->flush = 0;
    if (farside_peer_is_here(s->peer)) {
        /*
         * The reset also ends this host's lock of the peer's block. The peer
         * closes its windows to this host when it receives RESET.
         */
        peer_release(s);
        late_clear(other);
        other->status = SWITCHTEC_STATUS_NORMAL;
        other->bar_error = other->lut_error = other->req_id_error = 0;
        switchtec_block_close(&other->active, s->config->partition);
    } else {
        block_reset(other);
    }
    set_windows(s);
}

void switchtec_ctrl_peer_reset(SwitchtecCtrl *s)
{
    if (farside_peer_is_here(s->peer)) {
        peer_release(s);
    }
    block_reset(peer(s));
    switchtec_block_close(&own(s)->active, farside_config_peer(s->config));
    switchtec_block_close(&own(s)->staged, farside_config_peer(s->config));
    /* The peer no longer holds or awaits the lock of the own block. */
    s->peer_waits = false;
    if (s->owner == OWNER_PEER) {
        s->owner = OWNER_NONE;
        s->flush = 0;
        grant_next(s);
    }
    own_changed(s);
}

/* Registers */

/*
 * A request that has crossed the bridge has the Requester ID of the bridge's
 * function on the far side. For the own table, that function is the peer's
 * device; for the peer's table, it is this device.
 */
static uint8_t proxy_id(SwitchtecCtrl *s, unsigned part)
{
    return part == s->config->partition ? farside_peer_requester_id(s->peer)
                                        : pci_requester_id(s->pci);
}

uint32_t switchtec_ctrl_read(SwitchtecCtrl *s, unsigned part, unsigned offset)
{
    Block *c;
    const struct farside_wire_ctrl *block;

    if (part >= FARSIDE_NTB_PARTITIONS) {
        return 0;
    }
    c = &s->block[part];
    block = c->status == SWITCHTEC_STATUS_LOCKED ||
                    c->status == SWITCHTEC_STATUS_CONFIGURING
                ? &c->staged
                : &c->active;
    if (offset >= SWITCHTEC_CTRL_BAR_ENTRY) {
        return switchtec_block_read(block, s->options, proxy_id(s, part),
                                    offset);
    }
    switch (offset) {
    case SWITCHTEC_CTRL_STATUS:
        return c->status;
    case SWITCHTEC_CTRL_BAR_ERROR:
        return c->bar_error;
    case SWITCHTEC_CTRL_LUT_TABLE:
        return s->options->lut_entries | SWITCHTEC_CTRL_LUT << 16;
    case SWITCHTEC_CTRL_LUT_ERROR:
        return c->lut_error;
    case SWITCHTEC_CTRL_REQ_ID_TABLE:
        return FARSIDE_SWITCHTEC_REQ_IDS | SWITCHTEC_CTRL_REQ_ID << 16;
    case SWITCHTEC_CTRL_REQ_ID_ERROR:
        return c->req_id_error;
    default:
        return 0;
    }
}

static void operate(SwitchtecCtrl *s, unsigned part, uint32_t op)
{
    bool self = part == s->config->partition;

    /* If an operation cannot be sent, it is ignored, and no status changes. */
    if (!self && farside_peer_is_here(s->peer) &&
        !farside_requester_wait(s->requester, true)) {
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
        qemu_log_mask(LOG_GUEST_ERROR,
                      "%s: control block %u: operation %" PRIu32
                      " does not exist\n",
                      TYPE_FARSIDE_SWITCHTEC, part, op);
    }
}

void switchtec_ctrl_write(SwitchtecCtrl *s, unsigned part, unsigned offset,
                          uint32_t value, uint32_t mask)
{
    Block *c;

    if (part >= FARSIDE_NTB_PARTITIONS) {
        return;
    }
    if (offset == SWITCHTEC_CTRL_OP) {
        operate(s, part, value & mask);
        return;
    }
    c = &s->block[part];
    if (c->status == SWITCHTEC_STATUS_LOCKED) {
        switchtec_block_write(&c->staged, s->options, offset, value, mask);
    } else if (!late_write(c, offset, value, mask)) {
        qemu_log_mask(LOG_GUEST_ERROR,
                      "%s: control block %u: write at 0x%x without its lock\n",
                      TYPE_FARSIDE_SWITCHTEC, part, offset);
    }
}

SwitchtecCtrl *switchtec_ctrl_new(const FarsideConfig *config,
                                  const SwitchtecOptions *options,
                                  PCIDevice *pci, const FarsideParts *parts)
{
    SwitchtecCtrl *s = g_new0(SwitchtecCtrl, 1);

    s->config = config;
    s->options = options;
    s->pci = pci;
    s->peer = parts->far[0].peer;
    s->requester = parts->far[0].requester;
    s->windows = parts->windows;
    switchtec_ctrl_reset(s);
    switchtec_ctrl_peer_reset(s);
    return s;
}

void switchtec_ctrl_free(SwitchtecCtrl *s)
{
    g_free(s);
}
