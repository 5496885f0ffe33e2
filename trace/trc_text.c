/* SPDX-License-Identifier: MIT */
#include "trc_text.h"

#include <inttypes.h>
#include <stdio.h>

#include "farside_trace.h"
#include "trc_record_priv.h"

#define DATA_SHOWN 16

/* Bits of a control block, docs/reference/device.md */
#define CTL_DIR_EN (1u << 4)
#define CTL_LUT_EN (1u << 5)
#define LUT_EN     1u
#define ADDRESS    (~(uint64_t)0xfff)

const char *trc_text_id(uint16_t id, char *buffer)
{
    snprintf(buffer, 8, "%02x:%02x.%x", id >> 8, id >> 3 & 0x1f, id & 7);
    return buffer;
}

/* Writes 1, 2, 4 or 8 bytes as the number that they are for a little-endian
 * CPU, and other data byte by byte. */
static void put_data(GString *text, const TrcRecord *record)
{
    size_t size = record->data_size;

    if (record->data_lost == 0 &&
        (size == 1 || size == 2 || size == 4 || size == 8)) {
        g_string_append(text, "= 0x");
        while (size-- > 0) {
            g_string_append_printf(text, "%02x", record->data[size]);
        }
        return;
    }
    for (size_t i = 0; i < MIN(size, DATA_SHOWN); i++) {
        g_string_append_printf(text, "%s%02x", i > 0 ? " " : "",
                               record->data[i]);
    }
    if (record->data_lost > 0 || size > DATA_SHOWN) {
        g_string_append(text, size > 0 ? " ..." : "...");
    }
}

static void put_block(GString *text, const TrcRecord *record)
{
    const uint8_t *at = record->data + FARSIDE_TRACE_BLOCK_HEAD;
    const uint8_t *end = record->data + record->data_size;
    unsigned n_lut = trc_get16(record->data + 4);
    unsigned n_on = 0;

    g_string_append_printf(text, "lock %u", trc_get32(record->data));
    for (unsigned i = 0; i < FARSIDE_TRACE_BLOCK_BARS; i++) {
        uint32_t ctl;

        if (end - at < FARSIDE_TRACE_BLOCK_BAR) {
            g_string_append(text, " ...");
            return;
        }
        ctl = trc_get32(at);
        if (ctl & CTL_LUT_EN) {
            g_string_append_printf(
                text, "; bar%u: %u LUT windows of 0x%" PRIx64, i,
                (ctl >> 14 & 0x1ff) + 1, (uint64_t)1 << (ctl >> 8 & 0x3f));
        }
        if (ctl & CTL_DIR_EN) {
            g_string_append_printf(text, "; bar%u: 0x%" PRIx64 " at 0x%" PRIx64,
                                   i,
                                   (uint64_t)trc_get32(at + 16) << 32 |
                                       (trc_get32(at + 4) & 0xfffff000u),
                                   trc_get64(at + 8) & ADDRESS);
        }
        at += FARSIDE_TRACE_BLOCK_BAR;
    }
    for (unsigned i = 0; i < n_lut; i++) {
        if (end - at < 8) {
            g_string_append(text, " ...");
            return;
        }
        n_on += trc_get64(at) & LUT_EN;
        at += 8;
    }
    g_string_append_printf(text, "; %u LUT entries on", n_on);
}

static void put_ram(GString *text, const TrcRecord *record)
{
    const uint8_t *at = record->data + 8;
    const uint8_t *end = record->data + record->data_size;
    unsigned count = trc_get32(record->data);

    if (count == 0) {
        g_string_append(text, "none");
    }
    for (unsigned i = 0; i < count; i++) {
        if (end - at < 16) {
            g_string_append(text, " ...");
            return;
        }
        g_string_append_printf(text, "%s0x%" PRIx64 " at 0x%" PRIx64,
                               i > 0 ? ", " : "", trc_get64(at + 8),
                               trc_get64(at));
        at += 16;
    }
}

static void put_tlp(GString *text, const TrcRecord *record)
{
    g_string_append_printf(text, "Fmt %u Type 0x%02x", record->data[0] >> 5,
                           record->data[0] & 0x1f);
}

static void put_configured(GString *text, const TrcRecord *record)
{
    static const char *const names[] = {"BAR", "LUT", "requester ID"};

    g_string_append_printf(text, "lock %u", trc_get32(record->data));
    for (unsigned i = 0; i < G_N_ELEMENTS(names); i++) {
        uint32_t value = trc_get32(record->data + 4 + 4 * i);

        if (value > 0) {
            g_string_append_printf(text, ", refused for %s %u", names[i],
                                   value - 1);
        }
    }
}

static void put_arrival(GString *text, const TrcRecord *record)
{
    static const char *const names[] = {
        [TRC_ARRIVED_WRITE] = "MWr",
        [TRC_ARRIVED_COMPLETION] = "completion",
        [TRC_ARRIVED_DOORBELL] = "doorbell",
        [TRC_ARRIVED_MESSAGE] = "message",
    };
    TrcArrival arrival;

    if (!trc_record_arrival(record, &arrival)) {
        g_string_append(text, "?");
    } else if (arrival.what == TRC_ARRIVED_COMPLETION) {
        g_string_append_printf(text, "completion %uB tag %u", arrival.bytes,
                               record->transaction & 0xff);
    } else if (arrival.what == TRC_ARRIVED_WRITE) {
        g_string_append_printf(text, "MWr 0x%" PRIx64 " %uB", arrival.address,
                               arrival.bytes);
    } else {
        g_string_append_printf(text, "%s 0x%" PRIx64, names[arrival.what],
                               arrival.address);
    }
}

/* The chip of a device; a Switchtec's is not mentioned. */
static const char *chip_text(unsigned chip)
{
    switch (chip) {
    case FARSIDE_TRACE_CHIP_SWITCHTEC:
        return "";
    case FARSIDE_TRACE_CHIP_AMD:
        return ", chip amd";
    case FARSIDE_TRACE_CHIP_INTEL:
        return ", chip intel";
    case FARSIDE_TRACE_CHIP_EPF:
        return ", chip epf";
    case FARSIDE_TRACE_CHIP_IDT:
        return ", chip idt";
    case FARSIDE_TRACE_CHIP_NONE:
        return ", port of a switch";
    default:
        return ", unknown chip";
    }
}

static void put_register(GString *text, const TrcRecord *record)
{
    uint32_t what = trc_get32(record->data),
             bytes = trc_get32(record->data + 4);
    uint64_t offset = trc_get64(record->data + 8);
    uint64_t value = trc_get64(record->data + 16);

    switch (what) {
    case FARSIDE_TRACE_REGISTER_READ:
        g_string_append_printf(text, "read 0x%" PRIx64 " %uB", offset, bytes);
        break;
    case FARSIDE_TRACE_REGISTER_WRITE:
        g_string_append_printf(text, "write 0x%" PRIx64 " %uB = 0x%" PRIx64,
                               offset, bytes, value);
        break;
    case FARSIDE_TRACE_REGISTER_ANSWER:
        g_string_append_printf(text, "answer %s",
                               trc_status_name((unsigned)offset));
        if (bytes) {
            g_string_append_printf(text, " 0x%" PRIx64, value);
        }
        break;
    default:
        g_string_append(text, "?");
    }
}

char *trc_text_detail(const TrcRecord *record)
{
    GString *text = g_string_new(NULL);
    const uint8_t *data = record->data;
    char id[8];

    switch (record->kind) {
    case TRC_MRD:
        g_string_append(text, record->bytes == 0 ? "waits for writes" : "");
        break;
    case TRC_CPL:
        break;
    case TRC_MWR:
    case TRC_MSI:
    case TRC_CPLD:
        put_data(text, record);
        break;
    case TRC_START:
        g_string_append_printf(text, "link %s, device %s%s",
                               trc_get32(data) ? "up" : "down",
                               trc_text_id((uint16_t)trc_get32(data + 4), id),
                               chip_text(trc_get32(data + 4) >> 16));
        break;
    case TRC_STATE:
        g_string_append(text, trc_get32(data) ? "link up" : "link down");
        break;
    case TRC_ENABLE:
        g_string_append(text, trc_get32(data) ? "enabled" : "disabled");
        break;
    case TRC_DOORBELL:
        g_string_append_printf(text, "bits 0x%" PRIx64, trc_get64(data));
        break;
    case TRC_MESSAGE:
        g_string_append_printf(text, "%u = 0x%08x", trc_get32(data),
                               trc_get32(data + 4));
        break;
    case TRC_LOCK:
    case TRC_RELEASE:
        g_string_append_printf(text, "lock %u", trc_get32(data));
        break;
    case TRC_LOCKED:
    case TRC_CONFIG:
        put_block(text, record);
        break;
    case TRC_CONFIGURED:
        put_configured(text, record);
        break;
    case TRC_RAM:
        put_ram(text, record);
        break;
    case TRC_ARRIVAL:
        put_arrival(text, record);
        break;
    case TRC_REGISTER:
        put_register(text, record);
        break;
    case TRC_TLP:
        put_tlp(text, record);
        break;
    case TRC_STOP:
    case TRC_RESET:
    case TRC_KINDS:
        break;
    }
    return g_string_free(text, FALSE);
}
