/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "qemu/main-loop.h"
#include "qemu/timer.h"
#include "farside_peer.h"
#include "farside_time.h"

/*
 * In a timed cluster the CPU's stores gather in a buffer of this size. It is
 * flushed when it is full, before any other access, and after a pause.
 */
#define LINE_BYTES 64
#define LINE_HOLD_NS 50

/* From this many adjacent writes in a row on, writes gather in a burst. */
#define BURST_START 3

/* Writes to adjacent addresses that are sent as one message. */
typedef struct {
    uint64_t address;
    uint32_t length; /* bytes in data that wait to be sent */
    uint64_t end;    /* end address of the last write, sent or not */
    unsigned run;    /* number of adjacent writes in a row so far */
    unsigned hops;   /* links that the writes in data crossed before */
    FarsideNear near;
    uint8_t data[FARSIDE_WIRE_PAYLOAD];
} Burst;

/* Notices that are sent as one message */
typedef struct {
    uint32_t unmaps; /* number of the last message that unmaps something */
    uint32_t number; /* of the last message that was sent */
    uint32_t count;  /* of notices that wait */
    struct farside_wire_notice notice[FARSIDE_WIRE_NOTICES_MAX];
} Notices;

struct FarsidePeer {
    const FarsideConfig *config;
    const FarsidePeerConfig *peer_config;
    PCIDevice *pci;
    FarsideRecorder *recorder;
    FarsideLink *link;
    bool here;
    bool enabled; /* the peer's side of the link */
    bool link_up;
    uint16_t requester_id;
    uint64_t bells; /* doorbells held back because the queue was full */
    Burst burst;
    Notices notices;
    QEMUBH *burst_bh;
    QEMUTimer *burst_timer; /* NULL unless the cluster is timed */
};

/* In a timed cluster: what is sent now is the DMA of @device (nullable). */
static void set_origin(const char *device)
{
    if (farside_time()) {
        farside_time()->set_origin(device);
    }
}

/* Bursts */

static void burst_send(FarsidePeer *s)
{
    struct farside_wire_write m = {
        .address = s->burst.address,
        .length = s->burst.length,
        .hops = s->burst.hops,
        .requester_id = pci_requester_id(s->pci),
    };
    struct iovec pieces[] = {
        {.iov_base = &m, .iov_len = sizeof(m)},
        {.iov_base = s->burst.data, .iov_len = m.length},
    };

    if (m.length == 0) {
        return;
    }
    s->burst.length = 0;
    farside_recorder_write(s->recorder, &s->burst.near, &m, s->burst.data);
    set_origin(s->burst.near.device);
    farside_link_send(s->link, FARSIDE_WIRE_WRITE, pieces, ARRAY_SIZE(pieces),
                      NULL, 0);
    set_origin(NULL);
}

/* Notices. No write waits in a burst while notices wait. */

static void notices_send(FarsidePeer *s)
{
    Notices *n = &s->notices;
    struct farside_wire_notices m = {
        .number = n->number + 1,
        .count = n->count,
    };
    struct iovec pieces[] = {
        {.iov_base = &m, .iov_len = sizeof(m)},
        {.iov_base = n->notice, .iov_len = n->count * sizeof(*n->notice)},
    };

    if (n->count == 0) {
        return;
    }
    n->number++;
    farside_link_send(s->link, FARSIDE_WIRE_NOTICES, pieces, ARRAY_SIZE(pieces),
                      NULL, 0);
    n->count = 0;
}

/* True if @last now says what @m says, too. */
static bool notice_joins(struct farside_wire_notice *last,
                         const struct farside_wire_notice *m)
{
    if (last->perm != m->perm || last->address + last->size != m->address ||
        last->size + m->size < m->size || m->address == 0 ||
        (m->perm && (last->target + last->size != m->target ||
                     last->size + m->size > FARSIDE_WIRE_NOTICE_MAP_MAX))) {
        return false;
    }
    last->size += m->size;
    return true;
}

void farside_peer_send_notice(FarsidePeer *s,
                              const struct farside_wire_notice *m)
{
    Notices *n = &s->notices;

    if (!s->here) {
        return;
    }
    burst_send(s);
    if (n->count && notice_joins(&n->notice[n->count - 1], m)) {
        return;
    }
    if (n->count == FARSIDE_WIRE_NOTICES_MAX) {
        notices_send(s);
    }
    n->notice[n->count++] = *m;
    if (!m->perm) {
        n->unmaps = n->number + 1;
    }
    qemu_bh_schedule(s->burst_bh);
}

uint32_t farside_peer_flush_notices(FarsidePeer *s)
{
    notices_send(s);
    return s->notices.unmaps;
}

/* Sends all that waits for more of its kind. */
static void send_waiting(FarsidePeer *s)
{
    burst_send(s);
    notices_send(s);
}

static void burst_run(void *opaque)
{
    send_waiting(opaque);
}

void farside_peer_send_write(FarsidePeer *s, const FarsideNear *near,
                             uint64_t address, uint64_t value, unsigned size,
                             unsigned hops)
{
    Burst *b = &s->burst;
    bool adjacent = address == b->end && hops == b->hops &&
                    near->device == b->near.device;
    uint32_t most = s->config->max_payload;
    bool is_line;

    notices_send(s);
    if (!adjacent) {
        burst_send(s);
    }
    is_line = s->burst_timer && near->is_cpu;
    if (is_line) {
        most = MIN(LINE_BYTES, most);
    }
    if (b->length + size > most) {
        burst_send(s);
    }
    if (b->length == 0) {
        b->address = address;
        b->near = *near;
        b->hops = hops;
    }
    stn_le_p(b->data + b->length, size, value);
    b->length += size;
    b->end = address + size;
    b->run = adjacent ? b->run + 1 : 1;
    /*
     * A single write is sent at once, because most writes of a CPU are to
     * registers; but not that of a device in a timed cluster, where no time
     * passes before more of it comes. A burst is sent when it reaches a
     * multiple of Max_Payload_Size, so a burst of aligned writes never crosses
     * a boundary of 4 KiB (PCIe 5.0 s2.2.7).
     */
    if ((b->run < BURST_START && (is_line || !s->burst_timer)) ||
        b->end % most == 0) {
        burst_send(s);
    } else if (is_line) {
        timer_mod(s->burst_timer, farside_time_now() + LINE_HOLD_NS);
    } else {
        qemu_bh_schedule(s->burst_bh);
    }
}

/* Messages */

void farside_peer_send_read(FarsidePeer *s, const FarsideNear *near,
                            const struct farside_wire_read *m)
{
    struct iovec piece = {.iov_base = (void *)m, .iov_len = sizeof(*m)};

    if (s->here) {
        send_waiting(s);
        farside_recorder_read(s->recorder, near, m);
        set_origin(near ? near->device : NULL);
        farside_link_send(s->link, FARSIDE_WIRE_READ, &piece, 1, NULL, 0);
        set_origin(NULL);
    }
}

void farside_peer_send_register(FarsidePeer *s,
                                const struct farside_wire_write *m,
                                uint64_t value)
{
    uint8_t data[8];
    struct iovec pieces[] = {
        {.iov_base = (void *)m, .iov_len = sizeof(*m)},
        {.iov_base = data, .iov_len = m->length},
    };

    if (s->here) {
        stn_le_p(data, m->length, value);
        send_waiting(s);
        farside_recorder_register(s->recorder, FARSIDE_TRACE_REGISTER_WRITE,
                                  m->tag, m->address, m->length, value);
        farside_link_send(s->link, FARSIDE_WIRE_WRITE, pieces,
                          ARRAY_SIZE(pieces), NULL, 0);
    }
}

void farside_peer_send_completion(FarsidePeer *s,
                                  const struct farside_wire_read *read,
                                  const struct farside_wire_completion *c,
                                  const void *data)
{
    struct iovec pieces[] = {
        {.iov_base = (void *)c, .iov_len = sizeof(*c)},
        {.iov_base = (void *)data, .iov_len = c->length},
    };

    if (s->here) {
        send_waiting(s);
        farside_recorder_completion(s->recorder, read, c, data);
        farside_link_send(s->link, FARSIDE_WIRE_COMPLETION, pieces,
                          ARRAY_SIZE(pieces), NULL, 0);
    }
}

/*
 * True if this message need not be sent: the last message in the queue now
 * includes it, or its doorbells are held back in bells.
 */
static bool merge(FarsidePeer *s, unsigned type, const void *body)
{
    const struct farside_wire_doorbell *m = body;
    struct farside_wire_doorbell *waiting;

    switch (type) {
    case FARSIDE_WIRE_RESET:
        return farside_link_peek_last(s->link, type);
    case FARSIDE_WIRE_DOORBELL:
        waiting = farside_link_peek_last(s->link, type);
        if (waiting) {
            waiting->bits |= m->bits;
            return true;
        }
        if (farside_link_is_full(s->link)) {
            s->bells |= m->bits;
            return true;
        }
        return false;
    default:
        return false;
    }
}

static void send_with_files(FarsidePeer *s, unsigned type, const void *body,
                            size_t size, const int *files, unsigned file_count)
{
    struct iovec piece = {.iov_base = (void *)body, .iov_len = size};

    if (!s->here) {
        return;
    }
    send_waiting(s);
    farside_recorder_message(s->recorder, type, body);
    if (!merge(s, type, body)) {
        farside_link_send(s->link, type, &piece, size ? 1 : 0, files,
                          file_count);
    }
}

void farside_peer_send(FarsidePeer *s, unsigned type, const void *body,
                       size_t size)
{
    send_with_files(s, type, body, size, NULL, 0);
}

void farside_peer_send_ram(FarsidePeer *s, const struct farside_wire_ram *m,
                           const int *files)
{
    send_with_files(s, FARSIDE_WIRE_RAM, m, sizeof(*m), files, m->count);
}

void farside_peer_drained(FarsidePeer *s)
{
    struct farside_wire_doorbell m = {.bits = s->bells};
    struct iovec piece = {.iov_base = &m, .iov_len = sizeof(m)};

    if (s->bells && !farside_link_is_full(s->link)) {
        s->bells = 0;
        farside_link_send(s->link, FARSIDE_WIRE_DOORBELL, &piece, 1, NULL, 0);
    }
}

bool farside_peer_is_full(const FarsidePeer *s)
{
    return s->here && farside_link_is_full(s->link);
}

void farside_peer_hold(FarsidePeer *s, bool hold)
{
    farside_link_hold(s->link, hold);
}

/* State */

void farside_peer_set_link(FarsidePeer *s, FarsideLink *link)
{
    s->link = link;
}

void farside_peer_appear(FarsidePeer *s, const struct farside_wire_hello *hello)
{
    s->here = true;
    s->enabled = hello->link_up == 1;
    s->requester_id = hello->requester_id;
}

void farside_peer_vanish(FarsidePeer *s)
{
    s->here = false;
    s->enabled = false;
    s->requester_id = 0;
    s->bells = 0;
    s->burst.length = 0;
    s->notices.count = 0;
    s->notices.number = 0;
    s->notices.unmaps = 0;
}

void farside_peer_set_enabled(FarsidePeer *s, bool enabled)
{
    s->enabled = enabled;
}

void farside_peer_activity(FarsidePeer *s)
{
    uint16_t command = pci_get_word(s->pci->config + PCI_COMMAND);

    if (s->link) {
        farside_link_set_up(s->link, (s->link_up || s->peer_config->trains) &&
                                         (command & PCI_COMMAND_MASTER));
    }
}

bool farside_peer_update(FarsidePeer *s)
{
    bool up = s->here && s->enabled && s->peer_config->enabled &&
              !s->peer_config->cut;

    if (up == s->link_up) {
        return false;
    }
    s->link_up = up;
    farside_peer_activity(s);
    farside_recorder_state(s->recorder, up);
    return true;
}

bool farside_peer_is_here(const FarsidePeer *s)
{
    return s->here;
}

bool farside_peer_link_is_up(const FarsidePeer *s)
{
    return s->link_up;
}

uint16_t farside_peer_requester_id(const FarsidePeer *s)
{
    return s->requester_id;
}

FarsidePeer *farside_peer_new(const FarsideConfig *config, unsigned index,
                              PCIDevice *pci, FarsideRecorder *recorder)
{
    FarsidePeer *s = g_new0(FarsidePeer, 1);

    s->config = config;
    s->peer_config = &config->peer[index];
    s->pci = pci;
    s->recorder = recorder;
    s->burst_bh = qemu_bh_new(burst_run, s);
    if (farside_time()) {
        s->burst_timer = timer_new_ns(QEMU_CLOCK_VIRTUAL, burst_run, s);
    }
    return s;
}

void farside_peer_free(FarsidePeer *s)
{
    if (s) {
        qemu_bh_delete(s->burst_bh);
        timer_free(s->burst_timer);
        g_free(s);
    }
}
