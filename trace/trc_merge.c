/* SPDX-License-Identifier: MIT */
#include "trc_merge.h"

#include <stdlib.h>

typedef struct Place {
    int64_t time_ns;
    uint32_t file;
    size_t index;
    int64_t latency_ns;
    uint64_t read_address;
    bool is_answered;
} Place;

struct TrcMerge {
    TrcFile *const *files;
    Place *places;
    size_t count;
};

/* A read, found by its file, its sender and its transaction */
typedef struct Read {
    uint32_t file;
    unsigned interface;
    uint32_t transaction;
    size_t place; /* index into places */
} Read;

static unsigned read_hash(gconstpointer key)
{
    const Read *read = key;

    return (read->transaction * 31 + read->interface) * 31 + read->file;
}

static gboolean read_equal(gconstpointer a, gconstpointer b)
{
    const Read *x = a;
    const Read *y = b;

    return x->transaction == y->transaction && x->interface == y->interface &&
           x->file == y->file;
}

static int compare_places(const void *a, const void *b)
{
    const Place *x = a;
    const Place *y = b;

    if (x->time_ns != y->time_ns) {
        return x->time_ns < y->time_ns ? -1 : 1;
    }
    if (x->file != y->file) {
        return x->file < y->file ? -1 : 1;
    }
    return x->index < y->index ? -1 : x->index > y->index;
}

/* Devices reuse transaction numbers, so a completion belongs to the last read
 * with its number. */
static void join_reads(TrcMerge *self)
{
    g_autoptr(GHashTable) reads =
        g_hash_table_new_full(read_hash, read_equal, g_free, NULL);

    for (size_t i = 0; i < self->count; i++) {
        Place *place = &self->places[i];
        const TrcFile *file = self->files[place->file];
        Read key = {.file = place->file, .place = i};
        TrcRecord record;

        trc_file_record(file, place->index, &record);
        key.transaction = record.transaction;
        if (record.kind == TRC_MRD) {
            key.interface = record.interface;
            place->read_address = record.address;
            g_hash_table_add(reads, g_memdup2(&key, sizeof(key)));
        } else if (record.kind == TRC_CPL || record.kind == TRC_CPLD) {
            const Read *read;

            key.interface = trc_file_interface(file, record.interface)->peer;
            read = g_hash_table_lookup(reads, &key);
            if (read) {
                Place *request = &self->places[read->place];

                request->is_answered = true;
                place->read_address = request->read_address;
                place->latency_ns = place->time_ns - request->time_ns;
            }
        }
    }
}

TrcMerge *trc_merge_new(TrcFile *const *files, unsigned n_files)
{
    TrcMerge *self = g_new0(TrcMerge, 1);
    size_t at = 0;

    self->files = files;
    for (unsigned i = 0; i < n_files; i++) {
        self->count += trc_file_n_records(files[i]);
    }
    self->places = g_new0(Place, self->count);
    for (unsigned i = 0; i < n_files; i++) {
        for (size_t j = 0; j < trc_file_n_records(files[i]); j++) {
            TrcRecord record;

            trc_file_record(files[i], j, &record);
            self->places[at++] = (Place){.time_ns = record.time_ns,
                                         .file = i,
                                         .index = j,
                                         .latency_ns = TRC_NO_LATENCY};
        }
    }
    if (self->count > 0) {
        qsort(self->places, self->count, sizeof(Place), compare_places);
    }
    join_reads(self);
    return self;
}

void trc_merge_free(TrcMerge *self)
{
    if (self) {
        g_free(self->places);
        g_free(self);
    }
}

size_t trc_merge_n_crossings(const TrcMerge *self)
{
    return self->count;
}

void trc_merge_crossing(const TrcMerge *self, size_t index,
                        TrcCrossing *ret_crossing)
{
    const Place *place;

    g_assert(index < self->count);
    place = &self->places[index];
    ret_crossing->file = self->files[place->file];
    ret_crossing->index = place->index;
    trc_file_record(ret_crossing->file, place->index, &ret_crossing->record);
    ret_crossing->latency_ns = place->latency_ns;
    ret_crossing->read_address = place->read_address;
    ret_crossing->is_answered = place->is_answered;
}
