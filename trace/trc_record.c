/* SPDX-License-Identifier: MIT */
#include "trc_record_priv.h"

#include <string.h>

#include "farside_trace.h"
#include "table_text.h"

#define HEAD_SIZE (sizeof(struct farside_trace_head))

/* The addresses of interrupts of a PC, Intel SDM vol. 3 s11.11.1 */
#define MSI_BASE 0xfee00000u
#define MSI_SIZE 0x00100000u

/* The kind of a packet, and the least number of bytes that follow its head */
static const struct {
    TrcKind kind;
    size_t size;
} kinds[FARSIDE_TRACE_KINDS] = {
    [FARSIDE_TRACE_TLP] = {TRC_TLP, 12},
    [FARSIDE_TRACE_START] = {TRC_START, 8},
    [FARSIDE_TRACE_STOP] = {TRC_STOP, 0},
    [FARSIDE_TRACE_STATE] = {TRC_STATE, 4},
    [FARSIDE_TRACE_ENABLE] = {TRC_ENABLE, 4},
    [FARSIDE_TRACE_RESET] = {TRC_RESET, 0},
    [FARSIDE_TRACE_DOORBELL] = {TRC_DOORBELL, 8},
    [FARSIDE_TRACE_MESSAGE] = {TRC_MESSAGE, 8},
    [FARSIDE_TRACE_LOCK] = {TRC_LOCK, 4},
    [FARSIDE_TRACE_LOCKED] = {TRC_LOCKED, 8},
    [FARSIDE_TRACE_CONFIG] = {TRC_CONFIG, 8},
    [FARSIDE_TRACE_CONFIGURED] = {TRC_CONFIGURED, 16},
    [FARSIDE_TRACE_RELEASE] = {TRC_RELEASE, 4},
    [FARSIDE_TRACE_RAM] = {TRC_RAM, 8},
    [FARSIDE_TRACE_ARRIVAL] = {TRC_ARRIVAL, 16},
    [FARSIDE_TRACE_REGISTER] = {TRC_REGISTER, 24},
};

/* A TLP, or the recorded part of it */
typedef struct Tlp {
    const uint8_t *at;
    size_t size;
    size_t original;
    unsigned dws; /* number of DWs of payload, or that a read asks for */
} Tlp;

/* Sets the record's data to the payload, without its first @before bytes, which
 * are not enabled. */
static const char *take_payload(const Tlp *tlp, size_t header, size_t before,
                                TrcRecord *record)
{
    size_t there = tlp->size - header;

    if (tlp->original != header + 4 * (size_t)tlp->dws) {
        return "a payload that is not as long as the header says";
    }
    record->data = tlp->at + header + MIN(before, there);
    record->data_size = MIN(there - MIN(before, there), record->bytes);
    record->data_lost = record->bytes - record->data_size;
    return NULL;
}

/* Sets the record's bytes to the number of bytes from the first enabled one to
 * the last, and *ret_before to the offset of the first. */
static const char *take_enables(const Tlp *tlp, TrcRecord *record,
                                unsigned *ret_before)
{
    unsigned first = tlp->at[7] & 0xf, last = tlp->at[7] >> 4;

    *ret_before = 0;
    record->bytes = 0;
    if (tlp->dws == 1) {
        if (last) {
            return "a request of one DW with byte enables for a second DW";
        }
        if (first) {
            *ret_before = (unsigned)__builtin_ctz(first);
            record->bytes = 32 - (unsigned)__builtin_clz(first) - *ret_before;
        }
        return NULL;
    }
    if (!first || !last) {
        return "a request of several DWs without byte enables for the first or last";
    }
    *ret_before = (unsigned)__builtin_ctz(first);
    record->bytes =
        4 * (tlp->dws - 1) - *ret_before + 32 - (unsigned)__builtin_clz(last);
    return NULL;
}

static const char *take_request(const Tlp *tlp, TrcRecord *record)
{
    bool is_write = tlp->at[0] & 0x40;
    size_t header = tlp->at[0] & FARSIDE_TLP_4DW ? 16 : 12;
    const char *wrong;
    unsigned before;

    if (tlp->original < header || tlp->size < MIN(header, tlp->original)) {
        return "a header that is not whole";
    }
    wrong = take_enables(tlp, record, &before);
    if (wrong) {
        return wrong;
    }
    record->requester_id = trc_get16(tlp->at + 4);
    record->tag = tlp->at[6];
    record->address =
        header == 16 ? trc_get64(tlp->at + 8) : trc_get32(tlp->at + 8);
    record->address = (record->address & ~(uint64_t)3) + before;
    if (!is_write) {
        record->kind = TRC_MRD;
        return tlp->original == header ? NULL : "a read with a payload";
    }
    record->kind = record->bytes == 4 && record->address >= MSI_BASE &&
                           record->address - MSI_BASE < MSI_SIZE
                       ? TRC_MSI
                       : TRC_MWR;
    return take_payload(tlp, header, before, record);
}

static const char *take_completion(const Tlp *tlp, TrcRecord *record)
{
    uint16_t word = trc_get16(tlp->at + 6);
    bool has_data = tlp->at[0] & 0x40;
    unsigned before;

    record->completer_id = trc_get16(tlp->at + 4);
    record->status = (uint8_t)(word >> 13);
    record->bytes = word & 0xfff ? word & 0xfff : 4096;
    record->requester_id = trc_get16(tlp->at + 8);
    record->tag = tlp->at[10];
    record->kind = has_data ? TRC_CPLD : TRC_CPL;
    if (has_data) {
        /* The byte count includes the completions that follow this one. */
        before = tlp->at[11] & 3;
        record->bytes = MIN(record->bytes, 4 * tlp->dws - before);
        return take_payload(tlp, 12, before, record);
    }
    return tlp->original == 12 ? NULL : "a Cpl with data behind its header";
}

static const char *take_tlp(TrcRecord *record)
{
    Tlp tlp = {record->data, record->data_size,
               record->data_size + record->data_lost, 0};

    tlp.dws = trc_get16(tlp.at + 2) & (FARSIDE_TLP_DW_MAX - 1);
    tlp.dws = tlp.dws ? tlp.dws : FARSIDE_TLP_DW_MAX;
    switch (tlp.at[0]) {
    case FARSIDE_TLP_MRD:
    case FARSIDE_TLP_MRD | FARSIDE_TLP_4DW:
    case FARSIDE_TLP_MWR:
    case FARSIDE_TLP_MWR | FARSIDE_TLP_4DW:
        record->data = NULL;
        record->data_size = record->data_lost = 0;
        return take_request(&tlp, record);
    case FARSIDE_TLP_CPL:
    case FARSIDE_TLP_CPLD:
        record->data = NULL;
        record->data_size = record->data_lost = 0;
        return take_completion(&tlp, record);
    default:
        record->requester_id = trc_get16(tlp.at + 4);
        return NULL;
    }
}

const char *trc_record_decode(const uint8_t *data, size_t size, size_t original,
                              TrcRecord *ret_record, unsigned *ret_partition)
{
    TrcRecord *record = ret_record;
    unsigned kind;
    size_t head;

    memset(record, 0, sizeof(*record));
    if (size < HEAD_SIZE || size > original) {
        return "a packet without a whole head";
    }
    if (trc_get16(data) != FARSIDE_TRACE_MAGIC) {
        return "a packet without Farside's magic number";
    }
    head = data[3];
    kind = data[4];
    if (data[2] != FARSIDE_TRACE_VERSION || head < HEAD_SIZE || head > size) {
        return "a packet of another version";
    }
    if (kind >= FARSIDE_TRACE_KINDS || kind == 0) {
        return "a packet of an unknown kind";
    }
    record->kind = kinds[kind].kind;
    record->has_near = data[5] & FARSIDE_TRACE_NEAR;
    *ret_partition = data[6];
    record->bar = data[7];
    record->sequence = trc_get32(data + 8);
    record->transaction = trc_get32(data + 12);
    record->near = trc_get64(data + 16);
    record->offset = trc_get64(data + 24);
    record->data = data + head;
    record->data_size = size - head;
    record->data_lost = original - size;
    if (record->data_size < kinds[kind].size) {
        return "a packet that is too short for its kind";
    }
    return kind == FARSIDE_TRACE_TLP ? take_tlp(record) : NULL;
}

/* Parts of records */

bool trc_record_arrival(const TrcRecord *record, TrcArrival *ret_arrival)
{
    uint32_t what = trc_get32(record->data);

    *ret_arrival = (TrcArrival){
        .what = (TrcArrived)what,
        .bytes = trc_get32(record->data + 4),
        .address = trc_get64(record->data + 8),
    };
    return what >= TRC_ARRIVED_WRITE && what <= TRC_ARRIVED_MESSAGE;
}

/* Returns the bytes of the function at @at, of which @left are there; 0 if it
 * is not whole. */
static size_t function_bytes(const uint8_t *at, size_t left)
{
    size_t bytes;

    if (left < FARSIDE_TRACE_FUNCTION) {
        return 0;
    }
    bytes = FARSIDE_TRACE_FUNCTION + ((trc_get16(at + 2) + 3u) & ~3u);
    return bytes <= left ? bytes : 0;
}

/* Returns the function with this index; NULL if there is none. */
static const uint8_t *find_function(const TrcRecord *record, unsigned index)
{
    const uint8_t *at = record->data + 8,
                  *end = record->data + record->data_size;

    for (;; index--) {
        size_t bytes = function_bytes(at, (size_t)(end - at));

        if (bytes == 0 || index == 0) {
            return bytes > 0 ? at : NULL;
        }
        at += bytes;
    }
}

unsigned trc_record_n_functions(const TrcRecord *record)
{
    unsigned count = 0;

    while (find_function(record, count)) {
        count++;
    }
    return count;
}

void trc_record_function(const TrcRecord *record, unsigned index,
                         TrcFunction *ret_function)
{
    const uint8_t *at = find_function(record, index);
    g_autofree char *name = NULL;
    const char *end;

    g_assert(at);
    memset(ret_function, 0, sizeof(*ret_function));
    name =
        table_text_from(at + FARSIDE_TRACE_FUNCTION, trc_get16(at + 2), false);
    g_strlcpy(ret_function->name, name, sizeof(ret_function->name));
    /* The last letter may have lost bytes. */
    g_utf8_validate(ret_function->name, -1, &end);
    ret_function->name[end - ret_function->name] = '\0';
    ret_function->requester_id = trc_get16(at);
    for (unsigned i = 0; i < TRC_BARS; i++) {
        ret_function->bar[i].address = trc_get64(at + 4 + 16 * (size_t)i);
        ret_function->bar[i].size = trc_get64(at + 12 + 16 * (size_t)i);
    }
}

/* Names */

static const char *const kind_names[TRC_KINDS] = {
    [TRC_MRD] = "MRd",
    [TRC_MWR] = "MWr",
    [TRC_MSI] = "MSI",
    [TRC_CPL] = "Cpl",
    [TRC_CPLD] = "CplD",
    [TRC_TLP] = "TLP",
    [TRC_START] = "Start",
    [TRC_STOP] = "Stop",
    [TRC_STATE] = "State",
    [TRC_ENABLE] = "Enable",
    [TRC_RESET] = "Reset",
    [TRC_DOORBELL] = "Doorbell",
    [TRC_MESSAGE] = "Message",
    [TRC_LOCK] = "Lock",
    [TRC_LOCKED] = "Locked",
    [TRC_CONFIG] = "Config",
    [TRC_CONFIGURED] = "Configured",
    [TRC_RELEASE] = "Release",
    [TRC_RAM] = "RAM",
    [TRC_ARRIVAL] = "Arrival",
    [TRC_REGISTER] = "Register",
};

const char *trc_kind_name(TrcKind kind)
{
    return kind < TRC_KINDS ? kind_names[kind] : NULL;
}

bool trc_kind_parse(const char *name, TrcKind *ret_kind)
{
    for (unsigned i = 0; i < TRC_KINDS; i++) {
        if (g_ascii_strcasecmp(name, kind_names[i]) == 0) {
            *ret_kind = (TrcKind)i;
            return true;
        }
    }
    return false;
}

const char *trc_status_name(unsigned status)
{
    static const char *const names[] = {"SC", "UR", "CRS", NULL, "CA"};

    return status < G_N_ELEMENTS(names) && names[status] ? names[status] : "?";
}
