/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qemu/notify.h"
#include "farside_qemu.h"
#include "farside_switch_link.h"
#include "farside_trace_file.h"
#include "wire/farside_trace.h"

/* The longest wait for the lock of a trace */
#define WAIT_MS 1000
/* Completion Status, PCIe 5.0 s2.2.9.1 */
#define STATUS_SC 0
#define STATUS_UR 1

struct FarsideSwitchLink {
    PCIDevice *port;
    FarsideTraceFile *file[FARSIDE_TRACE_INTERFACES]; /* NULL: off */
    uint32_t sequence[FARSIDE_TRACE_INTERFACES];
    uint32_t transaction;
    Notifier exit;
};

/* A packet; @bytes has its head and the header of a TLP, or all of it. */
typedef struct {
    struct farside_trace_head head;
    uint8_t *at;
    uint8_t bytes[sizeof(struct farside_trace_head) + FARSIDE_TLP_HEAD_MAX];
} Record;

static void record_init(Record *r, unsigned kind)
{
    memset(&r->head, 0, sizeof(r->head));
    r->head.kind = kind;
    r->at = r->bytes + sizeof(r->head);
}

/* @data is that of @address on, and is padded to whole DWs at both ends. */
static void record_add(FarsideSwitchLink *s, FarsideSwitchEnd end, Record *r,
                       uint64_t address, const void *data, size_t size)
{
    static const uint8_t zeros[4];
    size_t before = size ? address & 3 : 0;
    struct iovec pieces[] = {
        {.iov_base = r->bytes, .iov_len = r->at - r->bytes},
        {.iov_base = (void *)zeros, .iov_len = before},
        {.iov_base = (void *)data, .iov_len = size},
        {.iov_base = (void *)zeros, .iov_len = -(before + size) & 3},
    };

    r->head.partition = end;
    r->head.sequence = s->sequence[end]++;
    farside_trace_put_head(r->bytes, &r->head);
    farside_trace_file_add(s->file[end], pieces, ARRAY_SIZE(pieces));
}

uint32_t farside_switch_link_request(FarsideSwitchLink *s, FarsideSwitchEnd end,
                                     const FarsideSwitchRequest *request,
                                     const void *data)
{
    uint32_t transaction = s->transaction;
    Record r;

    record_init(&r, FARSIDE_TRACE_TLP);
    if (!request->is_write) {
        r.head.transaction = s->transaction++;
    }
    r.at = farside_tlp_put_request(
        r.at, request->is_write ? FARSIDE_TLP_MWR : FARSIDE_TLP_MRD,
        request->address, request->size, request->requester_id,
        r.head.transaction);
    record_add(s, end, &r, request->address, data,
               request->is_write ? request->size : 0);
    return transaction;
}

void farside_switch_link_complete(FarsideSwitchLink *s, FarsideSwitchEnd end,
                                  const FarsideSwitchRequest *request,
                                  uint32_t transaction, bool is_ok,
                                  const void *data)
{
    Record r;

    record_init(&r, FARSIDE_TRACE_TLP);
    r.head.transaction = transaction;
    r.at = farside_tlp_put_completion(
        r.at, 0, is_ok ? STATUS_SC : STATUS_UR, request->address, request->size,
        request->requester_id, transaction);
    record_add(s,
               end == FARSIDE_SWITCH_LOWER ? FARSIDE_SWITCH_UPPER
                                           : FARSIDE_SWITCH_LOWER,
               &r, request->address, data, is_ok ? request->size : 0);
}

/* On and off */

static void trace_end(FarsideSwitchLink *s)
{
    Record r;
    unsigned end;

    for (end = 0; end < FARSIDE_TRACE_INTERFACES; end++) {
        if (s->file[end]) {
            record_init(&r, FARSIDE_TRACE_STOP);
            record_add(s, end, &r, 0, NULL, 0);
            farside_trace_file_close(s->file[end]);
            s->file[end] = NULL;
        }
    }
}

static void trace_begin(FarsideSwitchLink *s)
{
    Record r;
    unsigned end;

    for (end = 0; end < FARSIDE_TRACE_INTERFACES; end++) {
        s->sequence[end] = 0;
        record_init(&r, FARSIDE_TRACE_START);
        r.at = farside_trace_put32(r.at, 1);
        r.at = farside_trace_put16(r.at, FARSIDE_TRACE_CHIP_NONE);
        r.at = farside_trace_put16(r.at, pci_requester_id(s->port));
        record_add(s, end, &r, 0, NULL, 0);
    }
}

bool farside_switch_link_trace(FarsideSwitchLink *s, const char *path,
                               Error **errp)
{
    const char *id = DEVICE(s->port)->id ? DEVICE(s->port)->id : "port";
    g_autofree char *lower = g_strdup_printf("lower:%.1000s", id);
    g_autofree char *upper = g_strdup_printf("upper:%.1000s", id);
    const char *names[FARSIDE_TRACE_INTERFACES] = {lower, upper};
    FarsideTraceFile *file[FARSIDE_TRACE_INTERFACES] = {NULL};
    bool is_on = path && *path;
    unsigned end;
    ERRP_GUARD();

    for (end = 0; is_on && end < FARSIDE_TRACE_INTERFACES; end++) {
        file[end] = farside_trace_file_open(path, end, names, WAIT_MS, errp);
        if (!file[end]) {
            farside_trace_file_close(file[0]);
            error_prepend(errp, "property 'trace': ");
            return false;
        }
    }
    trace_end(s);
    memcpy(s->file, file, sizeof(file));
    if (is_on) {
        trace_begin(s);
    }
    return true;
}

bool farside_switch_link_is_on(const FarsideSwitchLink *s)
{
    return s->file[0];
}

/* Ends the trace, because QEMU does not unrealize its devices at exit. */
static void trace_at_exit(Notifier *notifier, void *data)
{
    trace_end(container_of(notifier, FarsideSwitchLink, exit));
}

FarsideSwitchLink *farside_switch_link_new(PCIDevice *port)
{
    FarsideSwitchLink *s = g_new0(FarsideSwitchLink, 1);

    s->port = port;
    s->exit.notify = trace_at_exit;
    qemu_add_exit_notifier(&s->exit);
    return s;
}

void farside_switch_link_free(FarsideSwitchLink *s)
{
    if (s) {
        qemu_remove_exit_notifier(&s->exit);
        trace_end(s);
        g_free(s);
    }
}
