/* SPDX-License-Identifier: MIT */
#ifndef TOPO_SCHEMA_PRIV_H
#define TOPO_SCHEMA_PRIV_H

#include <stdbool.h>
#include <stdint.h>

#include "topo_part.h"
#include "topo_schema.h"
#include "topo_units.h"

/*
 * The tables that say which keys a section or a kind of part has. The
 * reader, the walk along the path of a change and the documentation all use
 * them.
 */
typedef enum TopoType {
    TOPO_TYPE_BOOL,
    TOPO_TYPE_INT,
    TOPO_TYPE_TEXT,
    TOPO_TYPE_NAME,   /* [A-Za-z0-9][A-Za-z0-9_-]* */
    TOPO_TYPE_WORD,   /* one of `choices` */
    TOPO_TYPE_REF,    /* the name of something else; the code that reads the
                         section resolves it */
    TOPO_TYPE_HOST,   /* a reference to a host */
    TOPO_TYPE_DEVICE, /* a reference to a device, "host.device" */
    TOPO_TYPE_TARGET, /* a reference to an end of a transfer, see `targets` */
    TOPO_TYPE_BYTES,
    TOPO_TYPE_TIME,
    TOPO_TYPE_RATE,
    TOPO_TYPE_SPEED,
    TOPO_TYPE_WIDTH,
    TOPO_TYPE_DISTANCE,
    TOPO_TYPE_ADDRESS,
    TOPO_TYPE_CREDITS, /* an integer or "infinite" */
    TOPO_TYPE_AUTO,    /* bytes or "auto" */
    TOPO_TYPE_DECIMAL, /* a positive decimal, kept as a fraction */
    TOPO_TYPE_PERCENT, /* such as "0.1%", kept as a fraction */
    TOPO_TYPE_LIST,    /* list of maps of `section` */
    TOPO_TYPE_MAP,     /* map of `section` */
    TOPO_TYPE_REFS,    /* a list of REF */
    TOPO_TYPE_SET,     /* map of keys of a part to values */
    TOPO_TYPE_PARTS,   /* map of names to profiles */
    TOPO_TYPE_CHANGES, /* map of paths to values */
    TOPO_TYPE_TREE,    /* read by special code; the help says what it may be */
} TopoType;

/* The chips that both ends of a link can be, in the order of TopoChip */
#define TOPO_LINK_CHIPS                                                        \
    "switchtec|amd|intel-gen1|intel-gen1-split|intel-gen3|intel-gen4|"         \
    "intel-gen4-spr|intel-gen5|intel-gen6|epf"

typedef enum TopoKeyFlags {
    TOPO_KEY_REQUIRED = 1 << 0,
    TOPO_KEY_POWER_OF_TWO = 1 << 1, /* or 0, if the range includes 0 */
} TopoKeyFlags;

/* The kinds of targets that a TOPO_TYPE_TARGET may name. */
typedef enum TopoMayBe {
    TOPO_MAY_BE_RAM = 1 << 0,
    TOPO_MAY_BE_CPU = 1 << 1,
    TOPO_MAY_BE_DEVICE = 1 << 2, /* any device */
    TOPO_MAY_BE_BAR = 1 << 3,    /* a device that has a BAR */
    TOPO_MAY_BE_GPU = 1 << 4,
    TOPO_MAY_BE_NODE = 1 << 5, /* RAM of one node */
} TopoMayBe;

typedef struct TopoSection TopoSection;

typedef struct TopoKey {
    const char *key; /* with dots; each dot may also be a nested map */
    TopoType type;
    const char *fallback; /* default, as a user would write it; NULL: none */
    const char *min; /* smallest value, as a user would write it; NULL: that of
                        the type */
    const char *max;
    const char *choices; /* such as "read|write"; for numbers, too */
    const TopoSection *section;
    unsigned flags;   /* bits of TopoKeyFlags */
    unsigned targets; /* bits of TopoMayBe */
    const char *help;
    const char *hint; /* said to a user who wrote a wrong value; NULL: none */
} TopoKey;

struct TopoSection {
    const char *name; /* for messages, such as "host" */
    const char *help;
    const TopoKey *keys;
    unsigned n_keys;
};

extern const TopoSection topo_section_scenario;
extern const TopoSection topo_section_host;
extern const TopoSection topo_section_switch;
extern const TopoSection topo_section_device;
extern const TopoSection topo_section_vm;
extern const TopoSection topo_section_inner;
extern const TopoSection topo_section_vm_device;
extern const TopoSection topo_section_link;
extern const TopoSection topo_section_chip;
extern const TopoSection topo_section_lend;
extern const TopoSection topo_section_fault;
extern const TopoSection topo_section_network;
extern const TopoSection topo_section_workload;
extern const TopoSection topo_section_variant;
extern const TopoSection topo_section_axis;
extern const TopoSection topo_section_axis_value;
extern const TopoSection topo_section_measure;
extern const TopoSection topo_section_column;
extern const TopoSection topo_section_compare;
extern const TopoSection topo_section_plot;
extern const TopoSection topo_section_function;
extern const TopoSection topo_section_request_file;
extern const TopoSection topo_section_request;
extern const TopoSection topo_section_bar;
extern const TopoSection topo_section_root_port;
extern const TopoSection topo_section_way;
extern const TopoSection topo_section_profile; /* keys of every kind */

/* Returns the section of a kind of part. */
const TopoSection *topo_schema_part(TopoPartKind kind);

/* Parses the name of a kind of part; returns false if there is none. */
bool topo_schema_find_kind(const char *name, TopoPartKind *ret_kind);

/* Returns the key called @key in @section; NULL if there is none. */
const TopoKey *topo_schema_find(const TopoSection *section, const char *key);

/* Returns the index of @word among the choices of @key; -1 if there is none. */
int topo_schema_find_choice(const TopoKey *key, const char *word);

/* Returns the index of @key, which must be in @section. */
unsigned topo_schema_index(const TopoSection *section, const char *key);

/* Returns whether keys of @section begin with "@prefix.". */
bool topo_schema_has_group(const TopoSection *section, const char *prefix);

/* Returns the names of all keys of @section; the strings are borrowed. */
GPtrArray *topo_schema_key_names(const TopoSection *section);

/* Returns the unit of a quantity of @type; TOPO_UNIT_NONE if it has none. */
TopoUnit topo_schema_unit(TopoType type);

#endif
