/* SPDX-License-Identifier: MIT */
#ifndef TOPO_PART_H
#define TOPO_PART_H

#include <stdbool.h>
#include <stdint.h>

#include "topo_error.h"

/*
 * A part: the numbers of one chip, as one element of the fabric uses them.
 * They are those of a profile with the overrides of the file, of the
 * element's `set:` and of the command line. Values are read by key;
 * docs/reference/description.md lists keys, types and ranges. It is a
 * programming error to ask for a key that the kind of part does not have, or to
 * use a getter that does not fit the key's type.
 */
typedef struct TopoPart TopoPart;

typedef enum TopoPartKind {
    TOPO_PART_CPU,
    TOPO_PART_SWITCH,
    TOPO_PART_NTB,
    TOPO_PART_GPU,
    TOPO_PART_ENDPOINT,
    TOPO_PART_N_KINDS,
} TopoPartKind;

#define TOPO_CREDITS_INFINITE (-1LL)

/* A base address register. Entries are sorted by number. A 64-bit BAR is one
 * entry and takes two numbers. */
typedef struct TopoBar {
    TopoPlace place;
    unsigned number; /* number of its first register, 0 to 5 */
    uint64_t size_bytes;
    unsigned address_bits; /* 32 or 64 */
    bool prefetchable;
} TopoBar;

typedef struct TopoRootPort {
    TopoPlace place;
    const char *name;
    unsigned speed_mtps;
    unsigned width;
    unsigned node;
} TopoRootPort;

/* The way from one node of a root to another. */
typedef struct TopoWay {
    unsigned from, to;
    int64_t latency_ps;
    int64_t bandwidth_bytes_s; /* 0: no limit */
    int64_t write_bytes;       /* 0: no limit */
    int64_t acknowledge_ps;
} TopoWay;

const char *topo_part_name(const TopoPart *part);
TopoPartKind topo_part_kind(const TopoPart *part);
const char *topo_part_kind_name(TopoPartKind kind);

/* A cell of a published table. */
typedef struct TopoFittedCell {
    char *column;
    char *text; /* as it is in the CSV */
} TopoFittedCell;

/* The published values of one file that numbers of a part were fitted on. The
 * model's meeting them is no prediction. */
typedef struct TopoFitted {
    TopoPlace place;
    char *file;      /* absolute path */
    bool all;        /* every row */
    GPtrArray *rows; /* of GPtrArray of TopoFittedCell: each is the set of rows
                        that have all the cells */
} TopoFitted;

/* Returns `calibrated:` of the profile and of its bases (of TopoFitted),
 * borrowed. */
const GPtrArray *topo_part_fitted(const TopoPart *part);

/* Returns the `description:` of the profile, borrowed; NULL if it has none. */
const char *topo_part_description(const TopoPart *part);

/* A value of a part as text. */
typedef struct TopoPartValue {
    const char *key;
    char *text;      /* as it was written, or the default; NULL: none. Freed by
                        topo_part_value_clear() */
    bool given;      /* written in a file, not a default */
    TopoPlace place; /* where it was written; for a default the place of the
                        profile */
    const char *source; /* the source that the profile gives; NULL: none */
} TopoPartValue;

/* Return the number of keys of the kind, and the value of one of them. Keys are
 * in the order of the schema. */
unsigned topo_part_n_values(const TopoPart *part);
void topo_part_value(const TopoPart *part, unsigned index,
                     TopoPartValue *ret_value);
void topo_part_value_clear(TopoPartValue *value);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(TopoPartValue, topo_part_value_clear)

/* Returns the place where the value of @key was written. For a default it is
 * the place of the profile. */
TopoPlace topo_part_place(const TopoPart *part, const char *key);

/* Returns whether @key was given. For a key without a default, the getters
 * below may be called only if it was. */
bool topo_part_has(const TopoPart *part, const char *key);

bool topo_part_bool(const TopoPart *part, const char *key);
int64_t topo_part_int(const TopoPart *part, const char *key);
int64_t topo_part_bytes(const TopoPart *part, const char *key);
int64_t topo_part_time(const TopoPart *part, const char *key); /* ps */
int64_t topo_part_rate(const TopoPart *part, const char *key); /* B/s */
uint64_t topo_part_address(const TopoPart *part, const char *key);
unsigned topo_part_speed(const TopoPart *part, const char *key); /* MT/s */
unsigned topo_part_width(const TopoPart *part, const char *key); /* lanes */

/* Returns the credits of a receive buffer, or TOPO_CREDITS_INFINITE. */
int64_t topo_part_credits(const TopoPart *part, const char *key);

/* Returns the word of an enumeration, or a text; borrowed. */
const char *topo_part_text(const TopoPart *part, const char *key);

/* Return the BARs of a device, without the NTB's window (see window.size), and
 * the root ports of a CPU. The arrays are borrowed; NULL if there are none. */
const TopoBar *topo_part_bars(const TopoPart *part, unsigned *ret_count);
const TopoRootPort *topo_part_root_ports(const TopoPart *part,
                                         unsigned *ret_count);
/* The ways between nodes of a CPU that are not as `nodes` has it; borrowed. */
const TopoWay *topo_part_ways(const TopoPart *part, unsigned *ret_count);

#endif
