/* SPDX-License-Identifier: MIT */
#include "trc_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "farside_pcapng.h"
#include "farside_trace.h"
#include "table_text.h"
#include "trc_record_priv.h"

/* A file with more interfaces is taken for damaged. */
#define INTERFACES_MAX 65536

#define NS_PER_S 1000000000

/* The reader waits up to a second for writers that hold the lock. */
#define LOCK_TRIES   100
#define LOCK_WAIT_US 10000

typedef struct Interface {
    TrcInterface shown;
    char *name;
    bool is_trace;        /* of our link type */
    uint8_t resolution;   /* if_tsresol */
    int64_t offset_s;     /* if_tsoffset */
    bool has_sequence;    /* next is known */
    uint32_t next;        /* sequence of the next packet */
    uint64_t drop_before; /* packets dropped before the last START */
    uint64_t drop_now;    /* packets dropped since then */
} Interface;

/* The place of a packet in the file, and its time. */
typedef struct Entry {
    int64_t time_ns;
    uint64_t place;
    uint32_t interface;
    uint32_t captured;
    uint32_t original;
} Entry;

struct TrcFile {
    GBytes *bytes;
    const uint8_t *data;
    size_t size;
    char *name;
    GArray *interfaces; /* of Interface */
    GArray *entries;    /* of Entry */
    GError *damage;
    uint64_t n_foreign;
    /* While reading: */
    bool is_swapped;
    unsigned first; /* index of the first interface of this section */
};

/* A block while it is read. */
typedef struct Block {
    uint64_t place;
    uint32_t type;
    const uint8_t *body; /* behind type and length */
    size_t size;         /* of the body */
} Block;

GQuark trc_error_quark(void)
{
    return g_quark_from_static_string("trc-error-quark");
}

/* Records damage at @place. Returns false. */
G_GNUC_PRINTF(3, 4)
static bool damaged(TrcFile *self, uint64_t place, const char *format, ...)
{
    g_autofree char *text = NULL;
    va_list args;

    va_start(args, format);
    text = g_strdup_vprintf(format, args);
    va_end(args);
    g_set_error(&self->damage, TRC_ERROR, TRC_ERROR_FORMAT,
                "%s: byte %" PRIu64 ": %s", self->name, place, text);
    return false;
}

static uint16_t get16(const TrcFile *self, const uint8_t *at)
{
    uint16_t value;

    memcpy(&value, at, sizeof(value));
    return self->is_swapped ? GUINT16_SWAP_LE_BE(value) : value;
}

static uint32_t get32(const TrcFile *self, const uint8_t *at)
{
    uint32_t value;

    memcpy(&value, at, sizeof(value));
    return self->is_swapped ? GUINT32_SWAP_LE_BE(value) : value;
}

static uint64_t get64(const TrcFile *self, const uint8_t *at)
{
    uint64_t value;

    memcpy(&value, at, sizeof(value));
    return self->is_swapped ? GUINT64_SWAP_LE_BE(value) : value;
}

static Interface *interface_at(const TrcFile *self, unsigned index)
{
    return &g_array_index(self->interfaces, Interface, index);
}

/* ---- Options ----------------------------------------------------------- */

typedef bool (*TakeOption)(TrcFile *self, Interface *interface, unsigned code,
                           const uint8_t *value, unsigned size);

static bool read_options(TrcFile *self, const Block *block, size_t offset,
                         Interface *interface, TakeOption take)
{
    while (offset < block->size) {
        unsigned code;
        unsigned size;

        if (block->size - offset < 4) {
            return damaged(self, block->place, "an option that is not whole");
        }
        code = get16(self, block->body + offset);
        size = get16(self, block->body + offset + 2);
        offset += 4;
        if (code == FARSIDE_PCAPNG_ENDOFOPT) {
            return true;
        }
        if (farside_pcapng_pad(size) > block->size - offset) {
            return damaged(self, block->place, "option %u is not whole", code);
        }
        if (!take(self, interface, code, block->body + offset, size)) {
            return damaged(self, block->place,
                           "option %u has an impossible value", code);
        }
        offset += farside_pcapng_pad(size);
    }
    return true;
}

static bool take_interface_option(TrcFile *self, Interface *interface,
                                  unsigned code, const uint8_t *value,
                                  unsigned size)
{
    switch (code) {
    case FARSIDE_PCAPNG_IF_NAME:
        g_free(interface->name);
        interface->name = table_text_from(value, size, false);
        return true;
    case FARSIDE_PCAPNG_IF_TSRESOL:
        if (size != 1 || (value[0] & 0x7f) > (value[0] & 0x80 ? 63 : 19)) {
            return false;
        }
        interface->resolution = value[0];
        return true;
    case FARSIDE_PCAPNG_IF_TSOFFSET:
        if (size != 8) {
            return false;
        }
        interface->offset_s = (int64_t)get64(self, value);
        return true;
    default:
        return true;
    }
}

static bool take_statistics_option(TrcFile *self, Interface *interface,
                                   unsigned code, const uint8_t *value,
                                   unsigned size)
{
    if (code == FARSIDE_PCAPNG_ISB_IFDROP) {
        if (size != 8) {
            return false;
        }
        interface->drop_now = get64(self, value);
    }
    return true;
}

/* ---- Blocks ------------------------------------------------------------ */

static bool read_interface(TrcFile *self, const Block *block)
{
    Interface interface = {.resolution = 6};
    unsigned index = self->interfaces->len;
    bool ok;

    if (block->size < 8) {
        return damaged(self, block->place, "an interface that is not whole");
    }
    if (index == INTERFACES_MAX) {
        return damaged(self, block->place, "more than %d interfaces",
                       INTERFACES_MAX);
    }
    interface.is_trace = get16(self, block->body) == FARSIDE_TRACE_LINKTYPE;
    ok = read_options(self, block, 8, &interface, take_interface_option);
    if (ok && !interface.name) {
        interface.name = g_strdup_printf("interface%u", index);
    }
    if (!ok) {
        g_free(interface.name);
        return false;
    }
    interface.shown.name = interface.name;
    interface.shown.peer = index;
    g_array_append_val(self->interfaces, interface);
    /* The two ends of a link follow each other. */
    if (interface.is_trace && (index - self->first) % 2 == 1 &&
        interface_at(self, index - 1)->is_trace) {
        interface_at(self, index)->shown.peer = index - 1;
        interface_at(self, index - 1)->shown.peer = index;
    }
    return true;
}

static bool read_statistics(TrcFile *self, const Block *block)
{
    uint32_t index;

    if (block->size < 12) {
        return damaged(self, block->place, "statistics that are not whole");
    }
    index = get32(self, block->body);
    if (index >= self->interfaces->len - self->first) {
        return damaged(self, block->place, "no description of interface %u",
                       index);
    }
    return read_options(self, block, 12,
                        interface_at(self, self->first + index),
                        take_statistics_option);
}

/* Converts @ticks to ns since 1970. False if that is out of range. */
static bool time_of(const Interface *interface, uint64_t ticks, int64_t *ret_ns)
{
    unsigned power = interface->resolution & 0x7f;
    unsigned __int128 ns = ticks;
    __int128 whole;

    if (interface->resolution & 0x80) {
        ns = ns * NS_PER_S >> power;
    } else {
        for (; power < 9; power++) {
            ns *= 10;
        }
        for (; power > 9; power--) {
            ns /= 10;
        }
    }
    whole = (__int128)ns + (__int128)interface->offset_s * NS_PER_S;
    if (whole < G_MININT64 || whole > G_MAXINT64) {
        return false;
    }
    *ret_ns = (int64_t)whole;
    return true;
}

/* Counts the packets that the trace has lost, which leave gaps in the sequence
 * numbers of an end. */
static void count_sequence(Interface *interface, const TrcRecord *record)
{
    if (record->kind == TRC_START) {
        interface->drop_before += interface->drop_now;
        interface->drop_now = 0;
        interface->has_sequence = false;
    }
    if (interface->has_sequence && record->sequence > interface->next) {
        interface->shown.missing += record->sequence - interface->next;
    }
    interface->has_sequence = true;
    interface->next = record->sequence + 1;
    interface->shown.packets++;
}

static bool read_packet(TrcFile *self, const Block *block)
{
    Entry entry = {.place = block->place};
    Interface *interface;
    TrcRecord record;
    unsigned partition = 0;
    const char *wrong;
    uint64_t ticks;
    uint32_t index;

    if (block->size < 20) {
        return damaged(self, block->place, "a packet that is not whole");
    }
    index = get32(self, block->body);
    if (index >= self->interfaces->len - self->first) {
        return damaged(self, block->place, "no description of interface %u",
                       index);
    }
    entry.interface = self->first + index;
    interface = interface_at(self, entry.interface);
    entry.captured = get32(self, block->body + 12);
    entry.original = get32(self, block->body + 16);
    if (farside_pcapng_pad(entry.captured) > block->size - 20) {
        return damaged(self, block->place, "a packet longer than its block");
    }
    if (!interface->is_trace) {
        self->n_foreign++;
        return true;
    }
    ticks = (uint64_t)get32(self, block->body + 4) << 32 |
            get32(self, block->body + 8);
    if (!time_of(interface, ticks, &entry.time_ns)) {
        return damaged(self, block->place, "a time that is out of range");
    }
    wrong = trc_record_decode(block->body + 20, entry.captured, entry.original,
                              &record, &partition);
    if (!wrong && partition != index % 2) {
        wrong = "a packet of the link's other end";
    }
    if (wrong) {
        return damaged(self, block->place, "%s", wrong);
    }
    count_sequence(interface, &record);
    g_array_append_val(self->entries, entry);
    return true;
}

/* The section header gives the byte order of the section and of itself. */
static bool read_section(TrcFile *self, uint64_t place)
{
    uint32_t magic;

    if (self->size - place < sizeof(struct farside_pcapng_section)) {
        return damaged(self, place, "a section header that is not whole");
    }
    memcpy(&magic, self->data + place + 8, 4);
    if (magic != FARSIDE_PCAPNG_MAGIC &&
        magic != FARSIDE_PCAPNG_MAGIC_SWAPPED) {
        return damaged(self, place, "no pcapng section");
    }
    self->is_swapped = magic == FARSIDE_PCAPNG_MAGIC_SWAPPED;
    if (get16(self, self->data + place + 12) != FARSIDE_PCAPNG_MAJOR) {
        return damaged(self, place, "pcapng of another version");
    }
    self->first = self->interfaces->len;
    return true;
}

static bool read_block(TrcFile *self, uint64_t place, uint64_t *ret_next)
{
    Block block = {.place = place};
    uint64_t left = self->size - place;
    uint32_t length;

    if (left < FARSIDE_PCAPNG_BLOCK_MIN) {
        return damaged(self, place, "the file ends within a block");
    }
    /* A section header's type reads the same in both byte orders. */
    block.type = get32(self, self->data + place);
    if (block.type == FARSIDE_PCAPNG_SHB && !read_section(self, place)) {
        return false;
    }
    length = get32(self, self->data + place + 4);
    if (length < FARSIDE_PCAPNG_BLOCK_MIN || length % 4 != 0) {
        return damaged(self, place, "a block of %u bytes", length);
    }
    if (length > left) {
        return damaged(self, place, "the file ends within a block");
    }
    if (get32(self, self->data + place + length - 4) != length) {
        return damaged(self, place, "a block without its length at its end");
    }
    block.body = self->data + place + 8;
    block.size = length - FARSIDE_PCAPNG_BLOCK_MIN;
    *ret_next = place + length;
    switch (block.type) {
    case FARSIDE_PCAPNG_IDB:
        return read_interface(self, &block);
    case FARSIDE_PCAPNG_EPB:
        return read_packet(self, &block);
    case FARSIDE_PCAPNG_ISB:
        return read_statistics(self, &block);
    case FARSIDE_PCAPNG_SPB:
        self->n_foreign++;
        return true;
    default:
        return true;
    }
}

/* ---- The file ---------------------------------------------------------- */

static void interface_clear(void *data)
{
    Interface *interface = data;

    g_free(interface->name);
}

TrcFile *trc_file_parse(GBytes *bytes, const char *name, GError **error)
{
    g_autoptr(TrcFile) self = g_new0(TrcFile, 1);
    uint64_t place = 0;
    uint32_t type = 0;
    bool is_well = true;

    self->bytes = g_bytes_ref(bytes);
    self->data = g_bytes_get_data(bytes, &self->size);
    self->name = g_filename_display_name(name);
    self->interfaces = g_array_new(FALSE, TRUE, sizeof(Interface));
    g_array_set_clear_func(self->interfaces, interface_clear);
    self->entries = g_array_new(FALSE, FALSE, sizeof(Entry));
    if (self->size >= 4) {
        memcpy(&type, self->data, 4);
    }
    if (type != FARSIDE_PCAPNG_SHB) {
        damaged(self, 0, "no pcapng file");
        is_well = false;
    }
    while (is_well && place < self->size) {
        is_well = read_block(self, place, &place);
    }
    /* A file without a good first block is no trace at all. */
    if (!is_well && place == 0) {
        g_propagate_error(error, g_steal_pointer(&self->damage));
        return NULL;
    }
    for (unsigned i = 0; i < self->interfaces->len; i++) {
        Interface *interface = interface_at(self, i);

        interface->shown.dropped = interface->drop_before + interface->drop_now;
    }
    return g_steal_pointer(&self);
}

/* Reads all of @fd into memory. The file is not mapped: another program may cut
 * it off meanwhile, and an access to a page behind the end would kill this one.
 */
static GBytes *read_all(int fd, const char *path, GError **error)
{
    g_autofree uint8_t *data = NULL;
    struct stat status;
    size_t size = 0, want;
    ssize_t got = 0;

    if (fstat(fd, &status) != 0) {
        got = -1;
    } else {
        want = (size_t)status.st_size;
        data = g_try_malloc(MAX(want, 1));
        if (!data) {
            g_set_error(error, TRC_ERROR, TRC_ERROR_FILE,
                        "%s: no memory for its %zu bytes", path, want);
            return NULL;
        }
        do {
            got = read(fd, data + size, want - size);
            size += got > 0 ? (size_t)got : 0;
        } while ((got > 0 && size < want) || (got < 0 && errno == EINTR));
    }
    if (got < 0) {
        g_set_error(error, TRC_ERROR, TRC_ERROR_FILE, "%s: %s", path,
                    g_strerror(errno));
        return NULL;
    }
    return g_bytes_new_take(g_steal_pointer(&data), size);
}

/*
 * Reads the file while no device appends to it. If a writer holds the lock for
 * too long, reads the file as it is.
 */
static GBytes *read_locked(const char *path, GError **error)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    GBytes *bytes;

    if (fd < 0) {
        g_set_error(error, TRC_ERROR, TRC_ERROR_FILE, "%s: %s", path,
                    g_strerror(errno));
        return NULL;
    }
    for (unsigned i = 0; i < LOCK_TRIES; i++) {
        if (flock(fd, LOCK_SH | LOCK_NB) == 0 || errno != EWOULDBLOCK) {
            break;
        }
        g_usleep(LOCK_WAIT_US);
    }
    bytes = read_all(fd, path, error);
    close(fd);
    return bytes;
}

TrcFile *trc_file_read(const char *path, GError **error)
{
    g_autoptr(GBytes) bytes = read_locked(path, error);

    return bytes ? trc_file_parse(bytes, path, error) : NULL;
}

void trc_file_free(TrcFile *self)
{
    if (self) {
        g_bytes_unref(self->bytes);
        g_free(self->name);
        g_array_unref(self->interfaces);
        g_array_unref(self->entries);
        g_clear_error(&self->damage);
        g_free(self);
    }
}

const GError *trc_file_damage(const TrcFile *self)
{
    return self->damage;
}

uint64_t trc_file_n_foreign(const TrcFile *self)
{
    return self->n_foreign;
}

unsigned trc_file_n_interfaces(const TrcFile *self)
{
    return self->interfaces->len;
}

const TrcInterface *trc_file_interface(const TrcFile *self, unsigned index)
{
    g_assert(index < self->interfaces->len);
    return &interface_at(self, index)->shown;
}

size_t trc_file_n_records(const TrcFile *self)
{
    return self->entries->len;
}

void trc_file_record(const TrcFile *self, size_t index, TrcRecord *ret_record)
{
    const Entry *entry;
    const char *wrong;
    unsigned partition;

    g_assert(index < self->entries->len);
    entry = &g_array_index(self->entries, Entry, index);
    /* read_packet() has decoded this packet without an error. */
    wrong = trc_record_decode(self->data + entry->place + 28, entry->captured,
                              entry->original, ret_record, &partition);
    g_assert(!wrong);
    ret_record->time_ns = entry->time_ns;
    ret_record->place = entry->place;
    ret_record->interface = entry->interface;
}
