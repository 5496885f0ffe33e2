/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "farside_nic_priv.h"

#define FLAGS (NIC_TX_LAST | NIC_TX_REPORT | NIC_TX_CSUM)

typedef struct {
    unsigned parts; /* descriptors */
    unsigned size;  /* bytes in all */
    struct nic_tx_desc part[NIC_TX_PARTS_MAX]; /* in this machine's order */
} Frame;

static bool is_ready(const FarsideNicRing *q)
{
    return farside_nic_ring_is_on(q) && q->head != q->tail && !q->is_short;
}

/* The mistake in the part that was added last, or NIC_ERROR_NONE */
static uint32_t check_part(const FarsideNicFunction *f, const Frame *frame)
{
    const struct nic_tx_desc *part = &frame->part[frame->parts - 1];
    bool is_last = part->flags & NIC_TX_LAST;

    if (!part->length || (part->flags & ~FLAGS)) {
        return NIC_ERROR_DESCRIPTOR;
    }
    if (frame->size > f->frame ||
        (is_last ? frame->size < NIC_TX_BYTES_MIN
                 : frame->parts == NIC_TX_PARTS_MAX)) {
        return NIC_ERROR_LENGTH;
    }
    return NIC_ERROR_NONE;
}

/* The frame at HEAD. Returns false if it is not whole, or wrong. */
static bool gather(FarsideNicFunction *f, FarsideNicRing *q, Frame *frame)
{
    struct nic_tx_desc *part;
    const void *place;
    uint32_t error;

    frame->parts = 0;
    frame->size = 0;
    do {
        place = farside_nic_ring_peek(f, q, frame->parts);
        if (!place) {
            q->is_short = true;
            return false;
        }
        part = &frame->part[frame->parts++];
        memcpy(part, place, sizeof(*part));
        part->address = le64_to_cpu(part->address);
        part->length = le16_to_cpu(part->length);
        part->flags = le16_to_cpu(part->flags);
        part->csum_start = le16_to_cpu(part->csum_start);
        part->csum_offset = le16_to_cpu(part->csum_offset);
        frame->size += part->length;
        error = check_part(f, frame);
        if (error) {
            farside_nic_ring_fail(f, q, error);
            return false;
        }
    } while (!(part->flags & NIC_TX_LAST));
    return true;
}

/* Reads the bytes of the frame, and finishes them. */
static bool read_frame(FarsideNicFunction *f, FarsideNicRing *q,
                       const Frame *frame)
{
    const struct nic_tx_desc *first = &frame->part[0];
    unsigned done = 0, i;

    for (i = 0; i < frame->parts; i++) {
        if (!farside_nic_read(f, frame->part[i].address, f->sent + done,
                              frame->part[i].length)) {
            farside_nic_ring_fail(f, q, NIC_ERROR_READ);
            return false;
        }
        done += frame->part[i].length;
    }
    if ((first->flags & NIC_TX_CSUM) &&
        !farside_nic_finish_checksum(f->sent, done, first->csum_start,
                                     first->csum_offset)) {
        farside_nic_ring_fail(f, q, NIC_ERROR_LENGTH);
        return false;
    }
    if (done < NIC_FRAME_SIZE) {
        memset(f->sent + done, 0, NIC_FRAME_SIZE - done);
    }
    return true;
}

static void report(FarsideNicFunction *f, FarsideNicRing *q)
{
    uint32_t head = cpu_to_le32(q->head);

    q->done = q->head;
    if ((q->control & NIC_TX_CONTROL_WRITEBACK) &&
        !farside_nic_write(f, q, NIC_LAST_REPORT, q->second, &head,
                           sizeof(head))) {
        farside_nic_ring_fail(f, q, NIC_ERROR_WRITE);
        return;
    }
    farside_nic_ring_report(f, q);
}

static void transmit(FarsideNicFunction *f, FarsideNicRing *q)
{
    Frame frame;

    if (!gather(f, q, &frame) || !read_frame(f, q, &frame)) {
        return;
    }
    farside_nic_ring_take(q, frame.parts);
    q->packets++;
    q->bytes += frame.size;
    f->stat[NIC_STAT_TX_FRAMES]++;
    f->stat[NIC_STAT_TX_BYTES] += frame.size;
    farside_nic_card_send(f->card, f, f->sent, MAX(frame.size, NIC_FRAME_SIZE));
    if (frame.part[frame.parts - 1].flags & NIC_TX_REPORT) {
        report(f, q);
    }
}

bool farside_nic_tx_step(FarsideNicFunction *f)
{
    unsigned i;

    if (!f->card || farside_nic_card_is_blocked(f->card)) {
        return false;
    }
    for (i = 0; i < f->queues; i++) {
        FarsideNicRing *q = &f->tx[f->next_tx];

        f->next_tx = (f->next_tx + 1) % f->queues;
        if (is_ready(q)) {
            transmit(f, q);
            return true;
        }
    }
    return false;
}
