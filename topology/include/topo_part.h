/* SPDX-License-Identifier: MIT */
#ifndef TOPO_PART_H
#define TOPO_PART_H

#include <stdbool.h>
#include <stdint.h>

#include "topo_error.h"

/*
 * A part: the numbers of one chip as one element of the fabric uses them, that
 * is a profile with the overrides of the file, of the element's `set:` and of
 * the command line applied. Values are read by key; keys, types and ranges are
 * those of docs/user/description.md. A key that the kind does not have, or a
 * getter that does not fit the key's type, is a programming error.
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

/* A base address register, in order of its number; a 64-bit one is one entry
 * and takes two numbers. */
typedef struct TopoBar {
    TopoPlace place;
    unsigned number; /* of its (first) register, 0 to 5 */
    uint64_t size_bytes;
    unsigned address_bits; /* 32 or 64 */
    bool prefetchable;
} TopoBar;

typedef struct TopoRootPort {
    TopoPlace place;
    const char *name;
    unsigned speed_mtps;
    unsigned width;
} TopoRootPort;

const char *topo_part_name(const TopoPart *part);
TopoPartKind topo_part_kind(const TopoPart *part);
const char *topo_part_kind_name(TopoPartKind kind);

/* The `description:` of the profile; NULL if it has none. Borrowed. */
const char *topo_part_description(const TopoPart *part);

/* A value of a part for people, and to tell parts apart. */
typedef struct TopoPartValue {
    const char *key;
    char *text;         /* as it was written, or the default; NULL: none.
                           Owned: see topo_part_value_clear() */
    bool given;         /* written, not a default */
    TopoPlace place;    /* where; of a default the profile's */
    const char *source; /* by the profile it was written in; NULL: none */
} TopoPartValue;

/* The values of all keys of the kind, in the order of the schema. */
unsigned topo_part_n_values(const TopoPart *part);
void topo_part_value(const TopoPart *part, unsigned index,
                     TopoPartValue *ret_value);
void topo_part_value_clear(TopoPartValue *value);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(TopoPartValue, topo_part_value_clear)

/* The place where the value of @key was written (the profile's place if it is a
 * default). */
TopoPlace topo_part_place(const TopoPart *part, const char *key);

/* Returns whether @key, one that has no default, was given. The getters below
 * may be called for such a key only if it was. */
bool topo_part_has(const TopoPart *part, const char *key);

bool topo_part_bool(const TopoPart *part, const char *key);
int64_t topo_part_int(const TopoPart *part, const char *key);
int64_t topo_part_bytes(const TopoPart *part, const char *key);
int64_t topo_part_time(const TopoPart *part, const char *key); /* ps */
int64_t topo_part_rate(const TopoPart *part, const char *key); /* B/s */
uint64_t topo_part_address(const TopoPart *part, const char *key);
unsigned topo_part_speed(const TopoPart *part, const char *key); /* MT/s */
unsigned topo_part_width(const TopoPart *part, const char *key); /* lanes */

/* Credits of a receive buffer, or TOPO_CREDITS_INFINITE. */
int64_t topo_part_credits(const TopoPart *part, const char *key);

/* The word of an enumeration, or a text; borrowed. */
const char *topo_part_text(const TopoPart *part, const char *key);

/* BARs of a device, the NTB's window excluded (window.size is its own), and
 * root ports of a CPU. Borrowed; NULL if there is none. */
const TopoBar *topo_part_bars(const TopoPart *part, unsigned *ret_count);
const TopoRootPort *topo_part_root_ports(const TopoPart *part,
                                         unsigned *ret_count);

#endif
