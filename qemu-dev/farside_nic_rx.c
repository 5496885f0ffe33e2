/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "farside_nic_priv.h"

/* A packet and its buffers. Sizes are in bytes. */
typedef struct {
    const uint8_t *bytes;
    unsigned size;
    unsigned header; /* bytes for the header buffer */
    bool is_split;
    unsigned parts;  /* descriptors */
    struct nic_rx_desc part[NIC_RX_PARTS_MAX]; /* in this machine's order */
    unsigned length[NIC_RX_PARTS_MAX];         /* of the payload in each */
    uint32_t flags, hash;
} Packet;

/* Queue */

/* Chooses the queue. Returns NULL if a rule drops the packet. */
static FarsideNicRing *choose(FarsideNicFunction *f, const FarsideNicFrame *h,
                              Packet *p)
{
    const FarsideNicRule *rule = farside_nic_steer(h, f->rule);
    FarsideNicHash hash = farside_nic_hash(h, f->key, f->rss);
    unsigned queue = 0;

    if (hash.is_valid) {
        p->hash = hash.value;
        p->flags |= NIC_DONE_HASH | (hash.has_ports ? NIC_DONE_HASH_L4 : 0);
        queue = f->indir[hash.value % NIC_INDIR_ENTRIES];
    }
    if (rule && (rule->action & NIC_ACTION_DROP)) {
        f->stat[NIC_STAT_RX_RULE_DROPS]++;
        return NULL;
    }
    if (rule) {
        f->stat[NIC_STAT_RX_RULE]++;
        p->flags |= NIC_DONE_RULE;
        queue = rule->action & NIC_ACTION_QUEUE;
    }
    return &f->rx[queue % f->queues];
}

/* Buffers */

/* The descriptor @index after HEAD. Returns false if there is none. */
static bool get_part(FarsideNicFunction *f, FarsideNicRing *q, unsigned index,
                     struct nic_rx_desc *part)
{
    const void *place = farside_nic_ring_peek(f, q, index);

    if (!place) {
        return false;
    }
    memcpy(part, place, sizeof(*part));
    part->header = le64_to_cpu(part->header);
    part->payload = le64_to_cpu(part->payload);
    part->header_size = le16_to_cpu(part->header_size);
    part->payload_size = le16_to_cpu(part->payload_size);
    if (!part->payload_size || part->zero) {
        farside_nic_ring_fail(f, q, NIC_ERROR_DESCRIPTOR);
        return false;
    }
    return true;
}

/* Distributes the packet. Returns false if there are too few buffers. */
static bool distribute(FarsideNicFunction *f, FarsideNicRing *q,
                       const FarsideNicFrame *h, Packet *p)
{
    unsigned left, size;

    if (!get_part(f, q, 0, &p->part[0])) {
        return false;
    }
    size = p->part[0].header_size;
    p->is_split = (q->control & NIC_RX_CONTROL_SPLIT) && h->headers &&
                  h->headers <= MIN(size, q->split_max);
    p->size = p->is_split ? h->end : h->size;
    p->header = p->is_split ? h->headers : MIN(size, p->size);
    left = p->size - p->header;
    for (p->parts = 0; p->parts == 0 || left; p->parts++) {
        if (p->parts == NIC_RX_PARTS_MAX ||
            (p->parts && !get_part(f, q, p->parts, &p->part[p->parts]))) {
            return false;
        }
        p->length[p->parts] = MIN(left, p->part[p->parts].payload_size);
        left -= p->length[p->parts];
    }
    return true;
}

/* All of these return false if the queue has failed. */

static bool write_buffers(FarsideNicFunction *f, FarsideNicRing *q,
                          const Packet *p)
{
    unsigned done = p->header, i;

    /* Headers are where the completions are, whose read back is enough. */
    if (p->header &&
        !farside_nic_write(f, q, NIC_LAST_REPORT, p->part[0].header, p->bytes,
                           p->header)) {
        return false;
    }
    for (i = 0; i < p->parts && p->length[i]; i++) {
        if (!farside_nic_write(f, q, NIC_LAST_PAYLOAD, p->part[i].payload,
                               p->bytes + done, p->length[i])) {
            return false;
        }
        done += p->length[i];
    }
    return true;
}

static bool flush(FarsideNicFunction *f, const Packet *p)
{
    uint8_t byte;
    unsigned i;

    for (i = 0; i < p->parts && p->length[i]; i++) {
        f->stat[NIC_STAT_FLUSHES]++;
        if (!farside_nic_read(f, p->part[i].payload + p->length[i] - 1, &byte,
                              1)) {
            return false;
        }
    }
    return true;
}

static bool complete(FarsideNicFunction *f, FarsideNicRing *q, const Packet *p)
{
    struct nic_rx_done done;
    uint32_t flags;
    unsigned i;

    for (i = 0; i < p->parts; i++) {
        flags = p->flags | (q->is_odd ? NIC_DONE_PHASE : 0) |
                (i + 1 < p->parts ? NIC_DONE_MORE : 0);
        done.id = p->part[i].id; /* in the order in which it came */
        done.hash = cpu_to_le32(p->hash);
        done.header_length = cpu_to_le16(i ? 0 : p->header);
        done.payload_length = cpu_to_le16(p->length[i]);
        done.flags = cpu_to_le32(flags);
        if (!farside_nic_write(f, q, NIC_LAST_REPORT,
                               q->second + q->done * sizeof(done), &done,
                               sizeof(done))) {
            return false;
        }
        f->stat[NIC_STAT_RX_COMPLETIONS]++;
        q->done = (q->done + 1) & (q->entries - 1);
        q->is_odd ^= q->done == 0;
    }
    farside_nic_ring_take(q, p->parts);
    return true;
}

static void count(FarsideNicFunction *f, FarsideNicRing *q, const Packet *p)
{
    q->packets++;
    q->bytes += p->size;
    f->stat[NIC_STAT_RX_FRAMES]++;
    f->stat[NIC_STAT_RX_BYTES] += p->size;
    f->stat[NIC_STAT_RX_SPLIT] += p->is_split;
    f->stat[NIC_STAT_RX_HEADER_BYTES] += p->header;
    f->stat[NIC_STAT_RX_PAYLOAD_BYTES] += p->size - p->header;
}

static void deliver(FarsideNicFunction *f, FarsideNicRing *q,
                    const FarsideNicFrame *h, Packet *p)
{
    FarsideNicChecksum check = farside_nic_check_frame(h);

    if (!write_buffers(f, q, p)) {
        farside_nic_ring_fail(f, q, NIC_ERROR_WRITE);
        return;
    }
    if ((q->control & NIC_RX_CONTROL_FLUSH) && !flush(f, p)) {
        farside_nic_ring_fail(f, q, NIC_ERROR_READ);
        return;
    }
    p->flags |= p->is_split ? NIC_DONE_SPLIT : 0;
    p->flags |= check == FARSIDE_NIC_RIGHT ? NIC_DONE_CSUM_OK : 0;
    f->stat[NIC_STAT_RX_BAD_CSUM] += check == FARSIDE_NIC_WRONG;
    if (!complete(f, q, p)) {
        farside_nic_ring_fail(f, q, NIC_ERROR_WRITE);
        return;
    }
    count(f, q, p);
    farside_nic_ring_report(f, q);
}

bool farside_nic_rx_step(FarsideNicFunction *f)
{
    const FarsideNicSlot *slot = &f->slot[f->first_slot];
    unsigned generation = f->generation;
    Packet p = {.bytes = slot->bytes};
    FarsideNicFrame h;
    FarsideNicRing *q;

    if (!f->slot_count) {
        return false;
    }
    h = farside_nic_parse(slot->bytes, slot->size);
    q = choose(f, &h, &p);
    if (q && farside_nic_ring_is_on(q) && distribute(f, q, &h, &p)) {
        deliver(f, q, &h, &p);
    } else if (q) {
        q->drops++;
        f->stat[NIC_STAT_RX_NO_BUFFER]++;
    }
    if (f->generation == generation) {
        f->first_slot = (f->first_slot + 1) % NIC_FRAMES;
        f->slot_count--;
    }
    return true;
}
