/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qemu/bswap.h"
#include "qemu/notify.h"
#include "farside_qemu.h"
#include "farside_recorder.h"
#include "farside_trace_file.h"
#include "wire/farside_trace.h"

/* The longest wait for the lock of a trace */
#define WAIT_MS 1000
typedef struct {
    struct farside_trace_head head;
    uint8_t *at; /* end of the contents of bytes */
    uint8_t bytes[sizeof(struct farside_trace_head) + FARSIDE_RECORD_MAX];
} Record;

struct FarsideRecorder {
    const FarsideConfig *config;
    unsigned end; /* of this device at the link: 0 or 1 */
    PCIDevice *pci;
    const FarsideChipClass *chip;
    FarsideTraceFile *file; /* NULL: off */
    FarsideTraceFile *next; /* prepared file; NULL: none */
    uint32_t sequence;
    Notifier exit;
};

static const uint8_t zeros[4];

QEMU_BUILD_BUG_ON((int)FARSIDE_TRACE_CHIP_SWITCHTEC !=
                      (int)FARSIDE_WIRE_CHIP_SWITCHTEC ||
                  (int)FARSIDE_TRACE_CHIP_AMD != (int)FARSIDE_WIRE_CHIP_AMD ||
                  (int)FARSIDE_TRACE_CHIP_INTEL !=
                      (int)FARSIDE_WIRE_CHIP_INTEL ||
                  (int)FARSIDE_TRACE_CHIP_EPF != (int)FARSIDE_WIRE_CHIP_EPF ||
                  (int)FARSIDE_TRACE_CHIP_IDT != (int)FARSIDE_WIRE_CHIP_IDT);

/* Leaves room for the head, which record_add() writes. */
static void record_init(Record *r, unsigned kind)
{
    memset(&r->head, 0, sizeof(r->head));
    r->head.kind = kind;
    r->at = r->bytes + sizeof(r->head);
}

/*
 * Adds the record, followed by @data. Pads @data to whole DWs at both ends, as
 * @address is the address of its first byte.
 */
static void record_add(FarsideRecorder *s, Record *r, uint64_t address,
                       const void *data, size_t size)
{
    size_t before = address & 3;
    struct iovec pieces[] = {
        {.iov_base = r->bytes, .iov_len = r->at - r->bytes},
        {.iov_base = (void *)zeros, .iov_len = size ? before : 0},
        {.iov_base = (void *)data, .iov_len = size},
        {.iov_base = (void *)zeros, .iov_len = size ? -(before + size) & 3 : 0},
    };

    r->head.partition = s->end;
    r->head.sequence = s->sequence++;
    farside_trace_put_head(r->bytes, &r->head);
    farside_trace_file_add(s->file, pieces, ARRAY_SIZE(pieces));
}

/* TLPs */

static void record_near(FarsideRecorder *s, Record *r, const FarsideNear *near)
{
    uint64_t offset = near->offset;

    r->head.flags |= FARSIDE_TRACE_NEAR;
    r->head.bar = farside_config_bar(s->config, near->window, &offset);
    r->head.offset = offset;
    r->head.near = pci_get_bar_addr(s->pci, r->head.bar) + offset;
}

void farside_recorder_read(FarsideRecorder *s, const FarsideNear *near,
                           const struct farside_wire_read *m)
{
    uint16_t id = near ? near->requester_id : m->requester_id;
    Record r;

    if (!s->file) {
        return;
    }
    if (m->space) {
        farside_recorder_register(s, FARSIDE_TRACE_REGISTER_READ, m->tag,
                                  m->address, m->length, 0);
        return;
    }
    record_init(&r, FARSIDE_TRACE_TLP);
    r.head.transaction = m->tag;
    if (near) {
        record_near(s, &r, near);
    }
    r.at = farside_tlp_put_request(r.at, FARSIDE_TLP_MRD, m->address, m->length,
                                   id, m->tag);
    record_add(s, &r, 0, NULL, 0);
}

void farside_recorder_write(FarsideRecorder *s, const FarsideNear *near,
                            const struct farside_wire_write *m,
                            const void *data)
{
    const uint8_t *bytes = data;
    uint64_t address = m->address;
    uint32_t left = m->length, size;
    FarsideNear from = *near;
    Record r;

    /* No TLP crosses a boundary of 4 KiB (PCIe 5.0 s2.2.7). */
    for (; s->file && left; left -= size) {
        size = MIN(left, 4096 - (address & 4095));
        record_init(&r, FARSIDE_TRACE_TLP);
        record_near(s, &r, &from);
        r.at = farside_tlp_put_request(r.at, FARSIDE_TLP_MWR, address, size,
                                       near->requester_id, 0);
        record_add(s, &r, address, bytes, size);
        bytes += size;
        address += size;
        from.offset += size;
    }
}

void farside_recorder_completion(FarsideRecorder *s,
                                 const struct farside_wire_read *m,
                                 const struct farside_wire_completion *c,
                                 const void *data)
{
    static const uint8_t nothing;
    bool is_flush = m->length == 0;
    Record r;

    if (!s->file) {
        return;
    }
    if (m->space) {
        farside_recorder_register(s, FARSIDE_TRACE_REGISTER_ANSWER, c->tag,
                                  c->status, c->length,
                                  c->length ? ldn_le_p(data, c->length) : 0);
        return;
    }
    record_init(&r, FARSIDE_TRACE_TLP);
    r.head.transaction = c->tag;
    r.at = farside_tlp_put_completion(r.at, pci_requester_id(s->pci), c->status,
                                      m->address, m->length, m->requester_id,
                                      c->tag);
    if (c->status != FARSIDE_WIRE_SC) {
        record_add(s, &r, 0, NULL, 0);
    } else {
        record_add(s, &r, m->address, is_flush ? &nothing : data,
                   is_flush ? 1 : m->length);
    }
}

/* Registers */

void farside_recorder_register(FarsideRecorder *s, unsigned what, uint16_t tag,
                               uint64_t offset, unsigned size, uint64_t value)
{
    Record r;

    if (!s->file) {
        return;
    }
    record_init(&r, FARSIDE_TRACE_REGISTER);
    r.head.transaction = tag;
    r.at = farside_trace_put32(r.at, what);
    r.at = farside_trace_put32(r.at, size);
    r.at = farside_trace_put64(r.at, offset);
    r.at = farside_trace_put64(r.at, value);
    record_add(s, &r, 0, NULL, 0);
}

/* Messages that have no TLP */

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

/* Writes @count numbers of 32 bits. */
static void put_words(Record *r, const void *words, unsigned count)
{
    const uint32_t *at = words;

    while (count-- > 0) {
        r->at = farside_trace_put32(r->at, *at++);
    }
}

void farside_recorder_message(FarsideRecorder *s, unsigned type,
                              const void *body)
{
    /* 0: this function does not record the type */
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

    if (!s->file || type >= ARRAY_SIZE(kinds) || !kinds[type]) {
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
    case FARSIDE_WIRE_MESSAGE:
        put_words(&r, body, 2);
        break;
    case FARSIDE_WIRE_LINK:
        put_words(&r, body, 1);
        break;
    case FARSIDE_WIRE_RESET:
        break;
    default:
        r.at = s->chip->record(s->pci, type, body, r.at);
    }
    record_add(s, &r, 0, NULL, 0);
}

void farside_recorder_state(FarsideRecorder *s, bool link_up)
{
    Record r;

    if (s->file) {
        record_init(&r, FARSIDE_TRACE_STATE);
        r.at = farside_trace_put32(r.at, link_up);
        record_add(s, &r, 0, NULL, 0);
    }
}

void farside_recorder_arrival(FarsideRecorder *s, unsigned type,
                              const void *body)
{
    const struct farside_wire_write *write = body;
    const struct farside_wire_completion *completion = body;
    const struct farside_wire_doorbell *doorbell = body;
    const struct farside_wire_message *message = body;
    uint32_t what, bytes = 4;
    uint64_t address = 0;
    Record r;

    if (!s->file) {
        return;
    }
    record_init(&r, FARSIDE_TRACE_ARRIVAL);
    switch (type) {
    case FARSIDE_WIRE_WRITE:
        if (write->space) {
            return;
        }
        what = FARSIDE_TRACE_ARRIVED_WRITE;
        bytes = write->length;
        address = write->address;
        break;
    case FARSIDE_WIRE_COMPLETION:
        what = FARSIDE_TRACE_ARRIVED_COMPLETION;
        bytes = completion->length;
        r.head.transaction = completion->tag;
        break;
    case FARSIDE_WIRE_DOORBELL:
        what = FARSIDE_TRACE_ARRIVED_DOORBELL;
        address = doorbell->bits;
        break;
    case FARSIDE_WIRE_MESSAGE:
        what = FARSIDE_TRACE_ARRIVED_MESSAGE;
        address = message->index;
        break;
    default:
        return;
    }
    r.at = farside_trace_put32(r.at, what);
    r.at = farside_trace_put32(r.at, bytes);
    r.at = farside_trace_put64(r.at, address);
    record_add(s, &r, 0, NULL, 0);
}

/* Functions of this machine */

static void put_function(PCIBus *bus, PCIDevice *pci, void *opaque)
{
    GByteArray *functions = opaque;
    const char *name = DEVICE(pci)->id;
    uint8_t bytes[FARSIDE_TRACE_FUNCTION], *at = bytes;
    size_t size = name ? MIN(strlen(name), 255) : 0;
    unsigned i;

    /* Those without a name belong to no description. */
    if (!size) {
        return;
    }
    at = farside_trace_put16(at, pci_requester_id(pci));
    at = farside_trace_put16(at, size);
    for (i = 0; i < FARSIDE_TRACE_BARS; i++) {
        const PCIIORegion *region = &pci->io_regions[i];
        bool there = region->size && region->addr != PCI_BAR_UNMAPPED &&
                     !(region->type & PCI_BASE_ADDRESS_SPACE_IO);

        at = farside_trace_put64(at, there ? region->addr : 0);
        at = farside_trace_put64(at, there ? region->size : 0);
    }
    g_byte_array_append(functions, bytes, at - bytes);
    g_byte_array_append(functions, (const uint8_t *)name, size);
    g_byte_array_append(functions, zeros, -size & 3);
}

static void put_bus(PCIBus *bus, void *opaque)
{
    pci_for_each_device_under_bus(bus, put_function, opaque);
}

/* On and off */

bool farside_recorder_prepare(FarsideRecorder *s, const char *path,
                              Error **errp)
{
    const char *id = DEVICE(s->pci)->id ? DEVICE(s->pci)->id : "ntb";
    g_autofree char *own =
        g_strdup_printf("%.1000s:%.1000s", qemu_name ? qemu_name : "host", id);
    g_autofree char *other = g_strdup_printf("peer:%.1000s", id);
    const char *names[FARSIDE_TRACE_INTERFACES];
    ERRP_GUARD();

    if (!path || !*path) {
        return true;
    }
    names[s->end] = own;
    names[1 - s->end] = other;
    /* A new trace may take the place of another one: both waits together. */
    s->next = farside_trace_file_open(path, s->end, names,
                                      MIN(s->config->timeout_ms / 2, WAIT_MS),
                                      errp);
    if (!s->next) {
        error_prepend(errp, "property 'trace': ");
    }
    return s->next != NULL;
}

static void trace_end(FarsideRecorder *s)
{
    Record r;

    if (s->file) {
        record_init(&r, FARSIDE_TRACE_STOP);
        record_add(s, &r, 0, NULL, 0);
        farside_trace_file_close(s->file);
        s->file = NULL;
    }
}

void farside_recorder_switch(FarsideRecorder *s, bool link_up)
{
    GByteArray *functions;
    Record r;

    trace_end(s);
    s->file = g_steal_pointer(&s->next);
    if (s->file) {
        functions = g_byte_array_new();
        pci_for_each_bus(pci_device_root_bus(s->pci), put_bus, functions);
        s->sequence = 0;
        record_init(&r, FARSIDE_TRACE_START);
        r.at = farside_trace_put32(r.at, link_up);
        r.at = farside_trace_put16(r.at, s->chip->number);
        r.at = farside_trace_put16(r.at, pci_requester_id(s->pci));
        record_add(s, &r, 0, functions->data, functions->len);
        g_byte_array_unref(functions);
    }
}

bool farside_recorder_is_on(const FarsideRecorder *s)
{
    return s->file;
}

/* Ends the trace, because QEMU does not unrealize its devices at exit. */
static void trace_at_exit(Notifier *notifier, void *data)
{
    trace_end(container_of(notifier, FarsideRecorder, exit));
}

FarsideRecorder *farside_recorder_new(const FarsideConfig *config,
                                      unsigned peer, PCIDevice *pci,
                                      const FarsideChipClass *chip)
{
    FarsideRecorder *s = g_new0(FarsideRecorder, 1);

    s->config = config;
    s->end = farside_config_end(config, peer);
    s->pci = pci;
    s->chip = chip;
    s->exit.notify = trace_at_exit;
    qemu_add_exit_notifier(&s->exit);
    return s;
}

void farside_recorder_stop(FarsideRecorder *s)
{
    qemu_remove_exit_notifier(&s->exit);
    trace_end(s);
}

void farside_recorder_free(FarsideRecorder *s)
{
    g_free(s);
}
