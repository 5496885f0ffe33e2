/* SPDX-License-Identifier: MIT */
#ifndef TOPO_DESCRIPTION_H
#define TOPO_DESCRIPTION_H

#include <stdbool.h>
#include <stdint.h>

#include <glib.h>

#include "topo_change.h"
#include "topo_error.h"
#include "topo_part.h"

/*
 * The description of a cluster and of an experiment on it, checked: every
 * reference is resolved, every number in range. It is a pure function of the
 * file, of the parts it names and of a list of changes. Everything in it is
 * owned by the description, and read-only for its users. Arrays hold pointers
 * in the order of the file (after `repeat:`).
 */
typedef struct TopoDescription TopoDescription;
typedef struct TopoHost TopoHost;
typedef struct TopoSwitch TopoSwitch;
typedef struct TopoDevice TopoDevice;
typedef struct TopoLink TopoLink;
typedef struct TopoFlow TopoFlow; /* see topo_flow.h */

/* The port that a switch or a device is plugged into. */
typedef struct TopoAttach {
    TopoPlace place;
    TopoSwitch *parent;  /* NULL: a root port of the host's CPU */
    unsigned port;       /* index into topo_part_root_ports(), or number of
                            the downstream port, from 0 */
    unsigned speed_mtps; /* of the link to it: as given, or the best of both */
    unsigned width;
} TopoAttach;

typedef enum TopoAcs {
    TOPO_ACS_AUTO, /* redirect if the part can and the host's IOMMU is on */
    TOPO_ACS_ON,
    TOPO_ACS_OFF,
} TopoAcs;

typedef enum TopoAccel {
    TOPO_ACCEL_AUTO,
    TOPO_ACCEL_TCG,
    TOPO_ACCEL_KVM,
} TopoAccel;

/* Properties of a host for emulation; a simulation ignores them. */
typedef struct TopoVm {
    TopoPlace place;
    int64_t memory_bytes;
    unsigned cpus;
    TopoAccel accel;
    char *kernel;  /* path or NULL */
    char *modules; /* path or NULL */
    char *append;  /* more words for the kernel's command line, or NULL */
    char *client;  /* kernel module that uses its NTBs, or "none" */
    TopoPlace client_place;
    unsigned gdb_port; /* 0: none */
    bool qmp;
} TopoVm;

/* Properties of a device for emulation. */
typedef struct TopoVmDevice {
    TopoPlace place;
    char *device; /* name of the QEMU device, or NULL */
    TopoPlace device_place;
    char *image; /* size, "null-co:" and size, or path from the directory of
                    the file; NULL: none */
    TopoPlace image_place;
    char *network; /* name or NULL */
    char *region;  /* name of shared memory, or NULL */
    TopoPlace region_place;
    int64_t size_bytes;       /* of that memory; 0: not said */
    GPtrArray *option_names;  /* of char *: properties of the device */
    GPtrArray *option_values; /* of char *, in the same order */
    GArray *option_places;    /* of TopoPlace, likewise: of the name */
} TopoVmDevice;

struct TopoHost {
    TopoPlace place;
    char *name;
    unsigned index; /* in TopoDescription.hosts */
    const TopoPart *cpu;
    bool iommu;
    GPtrArray *switches; /* of TopoSwitch */
    GPtrArray *devices;  /* of TopoDevice */
    TopoVm *vm;          /* defaults if the host has no `vm:` */
};

struct TopoSwitch {
    TopoPlace place;
    char *name;
    char *path; /* "host.name" */
    TopoHost *host;
    const TopoPart *part;
    TopoAttach at;
    TopoAcs acs;
    bool acs_redirect; /* acs, with auto decided */
};

struct TopoDevice {
    TopoPlace place;
    char *name;
    char *path; /* "host.name" */
    TopoHost *host;
    const TopoPart *part; /* kind ntb, gpu or endpoint */
    TopoAttach at;
    GPtrArray *links; /* of TopoLink by cable port, NULL where none; empty
                         unless the kind is ntb */
    TopoVmDevice *vm; /* NULL if the device has no `vm:` */
};

/* A cable between two NTB adapters. */
struct TopoLink {
    TopoPlace place;
    char *name;
    TopoDevice *end[2];
    unsigned port[2]; /* cable port of each end, from 0 */
    unsigned speed_mtps;
    unsigned width;
    int64_t propagation_ps; /* one way */
};

typedef struct TopoLend {
    TopoPlace place;
    TopoDevice *device;
    TopoHost *to;
    bool window_auto;
    int64_t window_bytes; /* 0 if window_auto */
    bool vm;              /* a guest of the host borrows it */
} TopoLend;

/* An end of a transfer. */
typedef enum TopoTargetKind {
    TOPO_TARGET_NONE,   /* not given */
    TOPO_TARGET_RAM,    /* memory of the host */
    TOPO_TARGET_CPU,    /* CPU of the host */
    TOPO_TARGET_DEVICE, /* a device, or its BAR */
} TopoTargetKind;

typedef struct TopoTarget {
    TopoTargetKind kind;
    TopoHost *host;
    TopoDevice *device; /* TOPO_TARGET_DEVICE only */
    int bar;            /* number of the BAR as in TopoBar; -1: not given */
} TopoTarget;

typedef struct TopoWorkload {
    TopoPlace place;
    uint64_t seed;
    int64_t warmup_ps;
    int64_t stop_ps;  /* 0: when all flows are done */
    GPtrArray *flows; /* of TopoFlow */
} TopoWorkload;

typedef enum TopoSourceKind {
    TOPO_SOURCE_VARIANT, /* name of the variant */
    TOPO_SOURCE_AXIS,    /* value of the axis `name` */
    TOPO_SOURCE_FLOW,    /* a metric of the flow `name` */
    TOPO_SOURCE_FABRIC,  /* a metric of the fabric as a whole */
    TOPO_SOURCE_ELEMENT, /* of the element `name`, "host" or "host.dev" */
} TopoSourceKind;

typedef enum TopoStatistic {
    TOPO_STATISTIC_NONE,
    TOPO_STATISTIC_MEAN,
    TOPO_STATISTIC_P50,
    TOPO_STATISTIC_P99,
    TOPO_STATISTIC_MIN,
    TOPO_STATISTIC_MAX,
} TopoStatistic;

/* A column of the CSV. A number is divided by scale and printed with `digits`
 * decimals; without `digits` (-1) it is printed as a whole number. */
typedef struct TopoColumn {
    TopoPlace place;
    char *name;
    TopoSourceKind source;
    unsigned axis;     /* TOPO_SOURCE_AXIS: index into axes */
    char *source_name; /* axis, flow or element; NULL if none */
    char *metric;      /* NULL if none */
    TopoStatistic statistic;
    int64_t scale_num; /* scale = num / den, in lowest terms */
    int64_t scale_den;
    int digits;
    bool is_key;           /* `compare.keys`: joins a point to its baseline */
    int64_t tolerance_num; /* `compare.tolerance`: relative, 1% is 1/100 */
    int64_t tolerance_den;
} TopoColumn;

typedef enum TopoScale {
    TOPO_SCALE_LINEAR,
    TOPO_SCALE_LOG2,
    TOPO_SCALE_LOG10,
} TopoScale;

/* A column, and the text of its cell as the CSV has it. */
typedef struct TopoTerm {
    TopoPlace place;
    unsigned column; /* index into columns; a key */
    char *text;
} TopoTerm;

/* The points that meet all of its terms. */
typedef struct TopoSelection {
    TopoPlace place;
    GPtrArray *terms; /* of TopoTerm */
} TopoSelection;

typedef struct TopoPlot {
    TopoPlace place;
    char *title;
    unsigned x, y;      /* indexes into columns */
    int curves, panels; /* the same; -1: none */
    TopoScale x_scale, y_scale;
    char *x_label;
    char *y_label;
    char *published;       /* path of a CSV, ready to open; NULL: none */
    GPtrArray *measured;   /* of char *: paths likewise, of the user's own
                              values; may be empty */
    bool calibrated_all;   /* every published value was calibrated on */
    GPtrArray *calibrated; /* of TopoSelection: these were */
} TopoPlot;

typedef struct TopoVariant {
    TopoPlace place;
    char *name;
    GPtrArray *changes; /* of TopoChange */
} TopoVariant;

typedef struct TopoAxisValue {
    char *label;        /* the text of the value, or its `label:` */
    bool has_number;    /* the value is a number or a quantity ... */
    int64_t number;     /* ... in base units (bytes, ps, B/s, MT/s, ...) */
    GPtrArray *changes; /* of TopoChange */
} TopoAxisValue;

typedef struct TopoAxis {
    TopoPlace place;
    char *name;
    GPtrArray *values; /* of TopoAxisValue */
} TopoAxis;

struct TopoDescription {
    char *name;
    char *text;       /* `description:`, or NULL */
    const char *file; /* as given */
    char *hash;       /* SHA-256 of the file, its parts and the changes, hex */
    GPtrArray *hosts; /* of TopoHost */
    GPtrArray *links; /* of TopoLink */
    GPtrArray *lends; /* of TopoLend */
    TopoWorkload *workload; /* NULL if there is none */
    GPtrArray *variants;    /* of TopoVariant */
    GPtrArray *axes;        /* of TopoAxis, outermost first */
    GPtrArray *columns;     /* of TopoColumn */
    TopoPlot *plot;         /* NULL if there is none */
    GPtrArray *changes;     /* of TopoChange: those it was loaded with */
};

/*
 * Loads the description in the file @path with @changes (of TopoChange,
 * nullable) applied before anything is checked. Profiles of parts come from
 * the nearest directory `parts` or `scenarios/parts` beside or above the
 * file, or else that of the program. Returns NULL and at least one entry in
 * @errors if anything is wrong.
 */
TopoDescription *topo_load(const char *path, const GPtrArray *changes,
                           TopoErrors *errors);

/* The same with profiles from the directory @parts_dir (nullable: as
 * above). */
TopoDescription *topo_load_with_parts(const char *path, const char *parts_dir,
                                      const GPtrArray *changes,
                                      TopoErrors *errors);

/* The same for @length bytes at @data, called @name in messages; a plot's
 * `published:` and the profiles are sought as if it were a file of that
 * name. */
TopoDescription *topo_load_buffer(const char *name, const char *data,
                                  size_t length, const char *parts_dir,
                                  const GPtrArray *changes, TopoErrors *errors);

/* Frees @description (nullable) and all it owns. */
void topo_description_free(TopoDescription *description);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(TopoDescription, topo_description_free)

/* Look-ups by name: the host "lender", the switch or device "lender.gpu0", a
 * flow. Return NULL if there is none. */
TopoHost *topo_find_host(const TopoDescription *description, const char *name);
TopoSwitch *topo_find_switch(const TopoDescription *description,
                             const char *path);
TopoDevice *topo_find_device(const TopoDescription *description,
                             const char *path);
TopoFlow *topo_find_flow(const TopoDescription *description, const char *name);

/* Parses an end of a transfer as a flow writes it: "host.ram", "host.cpu",
 * "host.device" or "host.device.bar0". On failure @error says what would be
 * right. */
bool topo_find_target(const TopoDescription *description, const char *text,
                      TopoTarget *ret_target, GError **error);

#endif
