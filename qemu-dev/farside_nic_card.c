/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "qemu/osdep.h"
#include "farside_nic_card.h"
#include "farside_nic_priv.h"
#include "farside_qemu.h"

#define FUNCTIONS (1 + NIC_VFS_MAX)

/* The first byte of an address, IEEE 802 s8.2 */
#define MAC_GROUP 0x01
#define MAC_LOCAL 0x02

struct FarsideNicCard {
    NICState *nic;
    FarsideNicFunction *function[FUNCTIONS]; /* borrowed, or NULL */
    uint8_t mac[FUNCTIONS][NIC_MAC_BYTES];
    const NICConf *conf;
    bool is_blocked;
};

/* The switch */

static bool is_listening(const FarsideNicFunction *f)
{
    unsigned i;

    for (i = 0; i < f->queues; i++) {
        if (farside_nic_ring_is_on(&f->rx[i])) {
            return true;
        }
    }
    return false;
}

static bool is_broadcast(const uint8_t *bytes)
{
    static const uint8_t all[NIC_MAC_BYTES] = {0xff, 0xff, 0xff,
                                               0xff, 0xff, 0xff};

    return memcmp(bytes, all, sizeof(all)) == 0;
}

static bool is_addressed(const FarsideNicCard *s, unsigned number,
                         const uint8_t *bytes)
{
    return memcmp(bytes, s->mac[number], NIC_MAC_BYTES) == 0;
}

static bool accepts(const FarsideNicCard *s, unsigned number,
                    const uint8_t *bytes)
{
    const FarsideNicFunction *f = s->function[number];

    if (f->accept & NIC_ACCEPT_PROMISCUOUS) {
        return true;
    }
    if (bytes[0] & MAC_GROUP) {
        return is_broadcast(bytes) || (f->accept & NIC_ACCEPT_MULTICAST);
    }
    return is_addressed(s, number, bytes);
}

static bool is_full(const FarsideNicFunction *f)
{
    return f->slot_count == NIC_FRAMES;
}

static void put(FarsideNicFunction *f, const uint8_t *bytes, unsigned size)
{
    FarsideNicSlot *slot;

    if (size > f->frame) {
        f->stat[NIC_STAT_RX_LONG]++;
    } else if (!is_listening(f)) {
        f->stat[NIC_STAT_RX_NO_BUFFER]++;
    } else if (is_full(f)) {
        f->stat[NIC_STAT_RX_OVERRUN]++;
    } else {
        slot = &f->slot[(f->first_slot + f->slot_count) % NIC_FRAMES];
        slot->size = size;
        memcpy(slot->bytes, bytes, size);
        f->slot_count++;
        farside_nic_wake(f);
    }
}

/*
 * Gives a frame of @from, or of the network if that is NULL, to the functions.
 * Returns true if it is for one of them alone.
 */
static bool give(FarsideNicCard *s, const FarsideNicFunction *from,
                 const uint8_t *bytes, unsigned size)
{
    bool is_taken = false, is_ours = false;
    unsigned i;

    for (i = 0; i < FUNCTIONS; i++) {
        FarsideNicFunction *f = s->function[i];

        /* A virtual function that nobody uses has no address. */
        if (!f || f == from || (f->is_virtual && !is_listening(f))) {
            continue;
        }
        is_ours |= is_addressed(s, i, bytes);
        if (accepts(s, i, bytes)) {
            is_taken = true;
            put(f, bytes, size);
        }
    }
    if (!from && !is_taken && s->function[0]) {
        s->function[0]->stat[NIC_STAT_RX_FILTERED]++;
    }
    return is_ours;
}

static void wake_all(FarsideNicCard *s, bool has_link_changed)
{
    unsigned i;

    for (i = 0; i < FUNCTIONS; i++) {
        if (s->function[i]) {
            s->function[i]->has_link_changed |= has_link_changed;
            farside_nic_wake(s->function[i]);
        }
    }
}

/* The network */

static bool card_can_receive(NetClientState *nc)
{
    FarsideNicCard *s = qemu_get_nic_opaque(nc);

    return !s->function[0] || !is_full(s->function[0]);
}

static ssize_t card_receive(NetClientState *nc, const uint8_t *bytes,
                            size_t size)
{
    FarsideNicCard *s = qemu_get_nic_opaque(nc);

    if (!card_can_receive(nc)) {
        return 0; /* QEMU keeps it. */
    }
    if (size >= NIC_TX_BYTES_MIN && size <= UINT32_MAX) {
        give(s, NULL, bytes, size);
    }
    return size;
}

static void card_link_changed(NetClientState *nc)
{
    wake_all(qemu_get_nic_opaque(nc), true);
}

static void card_sent(NetClientState *nc, ssize_t size)
{
    FarsideNicCard *s = qemu_get_nic_opaque(nc);

    s->is_blocked = false;
    wake_all(s, false);
}

void farside_nic_card_send(FarsideNicCard *s, FarsideNicFunction *f,
                           const uint8_t *bytes, unsigned size)
{
    const uint8_t *source = bytes + NIC_MAC_BYTES;

    if (f->is_virtual && memcmp(source, f->mac, NIC_MAC_BYTES) != 0) {
        f->stat[NIC_STAT_TX_SPOOFED]++;
        return;
    }
    if (!give(s, f, bytes, size)) {
        /* 0: the network keeps the frame, and calls when it is sent. */
        s->is_blocked = qemu_send_packet_async(qemu_get_queue(s->nic), bytes,
                                               size, card_sent) == 0;
    }
}

void farside_nic_card_resume(FarsideNicCard *s)
{
    qemu_flush_queued_packets(qemu_get_queue(s->nic));
}

bool farside_nic_card_is_up(const FarsideNicCard *s)
{
    return !qemu_get_queue(s->nic)->link_down;
}

bool farside_nic_card_is_blocked(const FarsideNicCard *s)
{
    return s->is_blocked;
}

/* Addresses */

const uint8_t *farside_nic_card_mac(const FarsideNicCard *s, unsigned number)
{
    return s->mac[number];
}

void farside_nic_card_set_mac(FarsideNicCard *s, unsigned number,
                              const uint8_t *mac)
{
    memcpy(s->mac[number], mac, NIC_MAC_BYTES);
    if (s->function[number]) {
        memcpy(s->function[number]->mac, mac, NIC_MAC_BYTES);
    }
}

void farside_nic_card_reset_macs(FarsideNicCard *s)
{
    uint8_t mac[NIC_MAC_BYTES];
    unsigned i;

    for (i = 0; i < FUNCTIONS; i++) {
        memcpy(mac, s->conf->macaddr.a, sizeof(mac));
        if (i > 0) {
            mac[0] |= MAC_LOCAL;
            mac[NIC_MAC_BYTES - 1] += i;
        }
        farside_nic_card_set_mac(s, i, mac);
    }
}

/* Life */

void farside_nic_card_join(FarsideNicCard *s, unsigned number,
                           FarsideNicFunction *f)
{
    g_assert(number < FUNCTIONS && !s->function[number]);
    s->function[number] = f;
    memcpy(f->mac, s->mac[number], NIC_MAC_BYTES);
}

void farside_nic_card_leave(FarsideNicCard *s, const FarsideNicFunction *f)
{
    unsigned i;

    for (i = 0; i < FUNCTIONS; i++) {
        if (s->function[i] == f) {
            s->function[i] = NULL;
        }
    }
}

static NetClientInfo card_info = {
    .type = NET_CLIENT_DRIVER_NIC,
    .size = sizeof(NICState),
    .can_receive = card_can_receive,
    .receive = card_receive,
    .link_status_changed = card_link_changed,
};

FarsideNicCard *farside_nic_card_new(DeviceState *device, NICConf *conf)
{
    FarsideNicCard *s = g_new0(FarsideNicCard, 1);

    qemu_macaddr_default_if_unset(&conf->macaddr);
    s->conf = conf;
    s->nic = qemu_new_nic(&card_info, conf, object_get_typename(OBJECT(device)),
                          device->id, &device->mem_reentrancy_guard, s);
    qemu_format_nic_info_str(qemu_get_queue(s->nic), conf->macaddr.a);
    farside_nic_card_reset_macs(s);
    return s;
}

void farside_nic_card_free(FarsideNicCard *s)
{
    unsigned i;

    if (!s) {
        return;
    }
    for (i = 0; i < FUNCTIONS; i++) {
        if (s->function[i]) {
            s->function[i]->card = NULL;
        }
    }
    qemu_del_nic(s->nic);
    g_free(s);
}
