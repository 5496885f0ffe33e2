/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What this end of the link transmits, as packets of a trace
 * (wire/farside_trace.h), and the property that switches it on and off.
 *
 * While a trace is on, every window is forwarded, also what leads to the peer's
 * RAM: accesses to that would otherwise leave no trace. When it goes off, what
 * a CPU writes to that RAM must not overtake what the same CPU has written
 * before, which may still be on its way to the peer. So until every CPU has
 * forgotten the forwarding windows, each forwarded write is waited for.
 */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "sysemu/sysemu.h"
#include "farside_ntb.h"
#include "farside_trace_file.h"
#include "wire/farside_trace.h"

/* Of what has no TLP, the longest: a control block. */
#define BODY_MAX                                                               \
    (FARSIDE_TRACE_BLOCK_HEAD +                                                \
     FARSIDE_TRACE_BLOCK_BARS * FARSIDE_TRACE_BLOCK_BAR +                      \
     8 * SWITCHTEC_MAX_LUT + 4 * FARSIDE_NTB_REQ_IDS)

typedef struct {
    struct farside_trace_head head;
    uint8_t *at; /* behind what is in bytes */
    uint8_t bytes[sizeof(struct farside_trace_head) + BODY_MAX];
} Record;

static const uint8_t zeros[4];

/* Leaves room for the head, which record_add() puts. */
static void record_init(Record *r, unsigned kind)
{
    memset(&r->head, 0, sizeof(r->head));
    r->head.kind = kind;
    r->at = r->bytes + sizeof(r->head);
}

/* With data of whole DWs, which those before @address do not belong to. */
static void record_add(FarsideNtb *s, Record *r, uint64_t address,
                       const void *data, size_t size)
{
    size_t before = address & 3;
    struct iovec pieces[] = {
        {.iov_base = r->bytes, .iov_len = r->at - r->bytes},
        {.iov_base = (void *)zeros, .iov_len = size ? before : 0},
        {.iov_base = (void *)data, .iov_len = size},
        {.iov_base = (void *)zeros, .iov_len = size ? -(before + size) & 3 : 0},
    };

    r->head.partition = s->partition;
    r->head.sequence = s->trace_sequence++;
    farside_trace_put_head(r->bytes, &r->head);
    farside_trace_file_add(s->trace, pieces, ARRAY_SIZE(pieces));
}

/* TLPs */

static void record_near(FarsideNtb *s, Record *r, const FarsideNtbNear *near)
{
    r->head.flags |= FARSIDE_TRACE_NEAR;
    r->head.bar = FARSIDE_NTB_WINDOW_BAR(near->window);
    r->head.offset = near->offset;
    r->head.near = pci_get_bar_addr(PCI_DEVICE(s), r->head.bar) + near->offset;
}

void farside_trace_read(FarsideNtb *s, const FarsideNtbNear *near,
                        const struct farside_wire_read *m)
{
    Record r;

    if (!s->trace) {
        return;
    }
    record_init(&r, FARSIDE_TRACE_TLP);
    r.head.transaction = m->tag;
    if (near) {
        record_near(s, &r, near);
    }
    r.at = farside_tlp_put_request(r.at, FARSIDE_TLP_MRD, m->address, m->length,
                                   m->requester_id, m->tag);
    record_add(s, &r, 0, NULL, 0);
}

void farside_trace_write(FarsideNtb *s, const FarsideNtbNear *near,
                         const struct farside_wire_write *m, const void *data)
{
    const uint8_t *bytes = data;
    uint64_t address = m->address;
    uint32_t left = m->length, size;
    FarsideNtbNear from = *near;
    Record r;

    /* No TLP crosses a boundary of 4 KiB (PCIe 5.0 s2.2.7). */
    for (; s->trace && left; left -= size) {
        size = MIN(left, 4096 - (address & 4095));
        record_init(&r, FARSIDE_TRACE_TLP);
        record_near(s, &r, &from);
        r.at = farside_tlp_put_request(r.at, FARSIDE_TLP_MWR, address, size,
                                       m->requester_id, 0);
        record_add(s, &r, address, bytes, size);
        bytes += size;
        address += size;
        from.offset += size;
    }
}

void farside_trace_completion(FarsideNtb *s, const struct farside_wire_read *m,
                              const struct farside_wire_completion *c,
                              const void *data)
{
    static const uint8_t nothing;
    bool is_flush = m->length == 0;
    Record r;

    if (!s->trace) {
        return;
    }
    record_init(&r, FARSIDE_TRACE_TLP);
    r.head.transaction = c->tag;
    r.at = farside_tlp_put_completion(r.at, pci_requester_id(PCI_DEVICE(s)),
                                      c->status, m->address, m->length,
                                      m->requester_id, c->tag);
    if (c->status != FARSIDE_WIRE_SC) {
        record_add(s, &r, 0, NULL, 0);
    } else {
        record_add(s, &r, m->address, is_flush ? &nothing : data,
                   is_flush ? 1 : m->length);
    }
}

/* What has no TLP */

static void put_block(FarsideNtb *s, Record *r,
                      const struct farside_wire_ctrl *m)
{
    unsigned i;

    r->at = farside_trace_put32(r->at, m->lock_id);
    r->at = farside_trace_put16(r->at, s->lut_entries);
    r->at = farside_trace_put16(r->at, FARSIDE_NTB_REQ_IDS);
    for (i = 0; i < FARSIDE_TRACE_BLOCK_BARS; i++) {
        r->at = farside_trace_put32(r->at, m->bar[i].ctl);
        r->at = farside_trace_put32(r->at, m->bar[i].win_size);
        r->at = farside_trace_put64(r->at, m->bar[i].xlate);
        r->at = farside_trace_put32(r->at, m->bar[i].ext_win_size);
        r->at = farside_trace_put32(r->at, 0);
    }
    for (i = 0; i < s->lut_entries; i++) {
        r->at = farside_trace_put64(r->at, m->lut[i]);
    }
    for (i = 0; i < FARSIDE_NTB_REQ_IDS; i++) {
        r->at = farside_trace_put32(r->at, m->req_id[i]);
    }
}

static void put_ram(Record *r, const struct farside_wire_ram *m)
{
    unsigned i;

    r->at = farside_trace_put32(r->at, m->count);
    r->at = farside_trace_put32(r->at, 0);
    for (i = 0; i < m->count; i++) {
        r->at = farside_trace_put64(r->at, m->region[i].address);
        r->at = farside_trace_put64(r->at, m->region[i].size);
    }
}

/* Puts @count numbers of 32 bits. */
static void put_words(Record *r, const void *words, unsigned count)
{
    const uint32_t *at = words;

    while (count-- > 0) {
        r->at = farside_trace_put32(r->at, *at++);
    }
}

void farside_trace_message(FarsideNtb *s, unsigned type, const void *body)
{
    /* 0: not recorded here */
    static const uint8_t kinds[] = {
        [FARSIDE_WIRE_RAM] = FARSIDE_TRACE_RAM,
        [FARSIDE_WIRE_LINK] = FARSIDE_TRACE_ENABLE,
        [FARSIDE_WIRE_RESET] = FARSIDE_TRACE_RESET,
        [FARSIDE_WIRE_DOORBELL] = FARSIDE_TRACE_DOORBELL,
        [FARSIDE_WIRE_MESSAGE] = FARSIDE_TRACE_MESSAGE,
        [FARSIDE_WIRE_LOCK] = FARSIDE_TRACE_LOCK,
        [FARSIDE_WIRE_LOCKED] = FARSIDE_TRACE_LOCKED,
        [FARSIDE_WIRE_CONFIG] = FARSIDE_TRACE_CONFIG,
        [FARSIDE_WIRE_CONFIGURED] = FARSIDE_TRACE_CONFIGURED,
        [FARSIDE_WIRE_RELEASE] = FARSIDE_TRACE_RELEASE,
    };
    const struct farside_wire_doorbell *doorbell = body;
    Record r;

    if (!s->trace || type >= ARRAY_SIZE(kinds) || !kinds[type]) {
        return;
    }
    record_init(&r, kinds[type]);
    switch (type) {
    case FARSIDE_WIRE_RAM:
        put_ram(&r, body);
        break;
    case FARSIDE_WIRE_DOORBELL:
        r.at = farside_trace_put64(r.at, doorbell->bits);
        break;
    case FARSIDE_WIRE_LOCKED:
    case FARSIDE_WIRE_CONFIG:
        put_block(s, &r, body);
        break;
    case FARSIDE_WIRE_MESSAGE:
        put_words(&r, body, 2);
        break;
    case FARSIDE_WIRE_CONFIGURED:
        put_words(&r, body, 4);
        break;
    case FARSIDE_WIRE_LINK:
    case FARSIDE_WIRE_LOCK:
    case FARSIDE_WIRE_RELEASE:
        put_words(&r, body, 1);
        break;
    }
    record_add(s, &r, 0, NULL, 0);
}

void farside_trace_state(FarsideNtb *s)
{
    Record r;

    if (s->trace) {
        record_init(&r, FARSIDE_TRACE_STATE);
        r.at = farside_trace_put32(r.at, s->link_up);
        record_add(s, &r, 0, NULL, 0);
    }
}

/* On and off */

static bool trace_open(FarsideNtb *s, const char *path,
                       FarsideTraceFile **ret_file, Error **errp)
{
    const char *id = DEVICE(s)->id ? DEVICE(s)->id : "ntb";
    g_autofree char *own =
        g_strdup_printf("%.1000s:%.1000s", qemu_name ? qemu_name : "host", id);
    g_autofree char *other = g_strdup_printf("peer:%.1000s", id);
    const char *names[FARSIDE_NTB_PARTITIONS];
    ERRP_GUARD();

    if (!path || !*path) {
        *ret_file = NULL;
        return true;
    }
    names[s->partition] = own;
    names[farside_ntb_peer(s)] = other;
    *ret_file = farside_trace_file_open(path, s->partition, names, errp);
    if (!*ret_file) {
        error_prepend(errp, "property 'trace': ");
    }
    return *ret_file != NULL;
}

static void trace_begin(FarsideNtb *s)
{
    Record r;

    s->trace_sequence = 0;
    record_init(&r, FARSIDE_TRACE_START);
    r.at = farside_trace_put32(r.at, s->link_up);
    r.at = farside_trace_put32(r.at, pci_requester_id(PCI_DEVICE(s)));
    record_add(s, &r, 0, NULL, 0);
}

static void trace_end(FarsideNtb *s)
{
    Record r;

    if (s->trace) {
        record_init(&r, FARSIDE_TRACE_STOP);
        record_add(s, &r, 0, NULL, 0);
        farside_trace_file_close(s->trace);
        s->trace = NULL;
    }
}

char *farside_trace_get(Object *obj, Error **errp)
{
    FarsideNtb *s = FARSIDE_NTB(obj);

    return g_strdup(s->trace_path ? s->trace_path : "");
}

void farside_trace_set(Object *obj, const char *value, Error **errp)
{
    FarsideNtb *s = FARSIDE_NTB(obj);
    bool was_on = s->trace;
    FarsideTraceFile *file;

    if (!DEVICE(obj)->realized) {
        g_free(s->trace_path);
        s->trace_path = g_strdup(value);
        return;
    }
    if (g_strcmp0(value, s->trace_path ? s->trace_path : "") == 0) {
        return;
    }
    if (!trace_open(s, value, &file, errp)) {
        return;
    }
    if (was_on && !file) {
        s->write_through = true;
        farside_tlp_flush(s);
    }
    trace_end(s);
    g_free(s->trace_path);
    s->trace_path = g_strdup(value);
    s->trace = file;
    if (file) {
        trace_begin(s);
        s->write_through = false;
    }
    if (was_on != (file != NULL)) {
        farside_window_update(s);
        s->trace_flush = farside_window_flush(s);
    }
}

void farside_trace_flushed(FarsideNtb *s, uint32_t flush)
{
    if (flush == s->trace_flush && !s->trace) {
        s->write_through = false;
    }
}

/* Devices are not taken away when QEMU ends. */
static void trace_at_exit(Notifier *notifier, void *data)
{
    trace_end(container_of(notifier, FarsideNtb, trace_exit));
}

bool farside_trace_realize(FarsideNtb *s, Error **errp)
{
    if (!trace_open(s, s->trace_path, &s->trace, errp)) {
        return false;
    }
    s->trace_exit.notify = trace_at_exit;
    qemu_add_exit_notifier(&s->trace_exit);
    if (s->trace) {
        trace_begin(s);
    }
    return true;
}

void farside_trace_exit(FarsideNtb *s)
{
    if (s->trace_exit.notify) {
        qemu_remove_exit_notifier(&s->trace_exit);
        s->trace_exit.notify = NULL;
    }
    trace_end(s);
    g_free(s->trace_path);
    s->trace_path = NULL;
}
