/* SPDX-License-Identifier: MIT */
#ifndef TOPO_DESCRIPTION_H
#define TOPO_DESCRIPTION_H

#include <stdbool.h>
#include <stdint.h>

#include <glib.h>

#include "topo_address.h"
#include "topo_change.h"
#include "topo_error.h"
#include "topo_part.h"
#include "topo_sources.h"

/*
 * The checked description of a cluster and of an experiment on it: all
 * references are resolved and all numbers are in range. It depends only on
 * the file, on the parts that the file names, and on a list of changes. The
 * description owns everything in it; users must not change it. Arrays hold
 * pointers in the order of the file, after `repeat:` is expanded.
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
    TopoSwitch *parent;  /* NULL: the port is a root port of the host's CPU */
    unsigned port;       /* index into topo_part_root_ports(), or number of the
                            downstream port from 0 */
    unsigned speed_mtps; /* speed of the link: as given, or the best that both
                            ends support */
    unsigned width;
    unsigned share; /* in the tables of a switch that has port-table */
} TopoAttach;

typedef enum TopoAcs {
    TOPO_ACS_AUTO, /* on if the part can redirect and the host's IOMMU is on */
    TOPO_ACS_ON,
    TOPO_ACS_OFF,
} TopoAcs;

typedef enum TopoAcsDirect {
    TOPO_ACS_DIRECT_OFF,
    TOPO_ACS_DIRECT_REQUESTS,
    TOPO_ACS_DIRECT_ON,
} TopoAcsDirect;

typedef enum TopoAccel {
    TOPO_ACCEL_AUTO,
    TOPO_ACCEL_TCG,
    TOPO_ACCEL_KVM,
} TopoAccel;

/* A PCI function of a real host. A simulation ignores it. */
typedef struct TopoFunction {
    TopoPlace place;
    TopoPciAddress address;
    int64_t class_code; /* base class, subclass, interface; -1: not known */
    bool is_bridge;
    bool is_upstream;   /* the bridge is the Upstream Port of a switch */
    unsigned secondary; /* first and last bus behind a bridge */
    unsigned subordinate;
    bool has_above;       /* bus numbers do not tell the bridge above it: */
    TopoPciAddress above; /* it is the one at this address */
    int64_t vendor_id;    /* -1: not known */
    int64_t device_id;    /* -1: not known */
    char *name;           /* NULL: not known */
    unsigned speed_mtps;  /* of the link above it; 0: not known, or no link */
    unsigned width;       /* the same */
    int numa_node;        /* -1: not known */
} TopoFunction;

typedef enum {
    TOPO_VM_IOMMU_INTEL,
    TOPO_VM_IOMMU_AMD
} TopoVmIommu;

/* A virtual machine inside a host that is emulated. */
typedef struct TopoInner {
    TopoPlace place;
    char *name;
    int64_t memory_bytes;
    unsigned cpus;
    char *borrow; /* IDs of devices, separated by '+'; "" for none */
    char *append; /* words of the kernel's command line, or NULL */
} TopoInner;

/* Settings of a host for emulation. A simulation ignores them. */
typedef struct TopoVm {
    TopoPlace place;
    int64_t memory_bytes;
    TopoPlace memory_place;
    unsigned cpus;
    TopoAccel accel;
    int64_t instruction_ps; /* the time of one, in a timed cluster */
    int64_t pause_ps;       /* the time of a PAUSE, in a timed cluster */
    char *kernel;           /* path or NULL; NULL also for a series */
    char *series;           /* such as "6.12", or "debug"; NULL: not given */
    char *modules;          /* path or NULL */
    char *source;           /* path or NULL */
    GPtrArray *module_dirs; /* of char *: paths */
    GPtrArray *files;       /* of char *: "PATH" or "PATH:PATH in the guest" */
    char *image;            /* path of a folder, or NULL */
    char *share;            /* path of a folder, or NULL */
    TopoPlace share_place;
    char *append;      /* additions to the kernel's command line, or NULL */
    char *client;      /* kernel module that uses its NTBs, or "none" */
    bool gdb;          /* QEMU listens for gdb at a socket */
    bool qmp;          /* and for a monitor of the user's at another */
    TopoVmIommu iommu; /* its kind, if the host has one */
    bool remapping;    /* that IOMMU remaps interrupts */
    bool runs_inner;   /* it can run machines of its own: `vms` is there */
    GPtrArray *inner;  /* of TopoInner */
} TopoVm;

/* Settings of a device for emulation. */
typedef struct TopoVmDevice {
    TopoPlace place;
    char *device; /* name of the QEMU device, or NULL */
    TopoPlace device_place;
    char *image; /* size, "null-co:" and a size, or a path; NULL: none */
    TopoPlace image_place;
    char *network; /* name of the network, or NULL */
    char *region;  /* name of the shared memory, or NULL */
    TopoPlace region_place;
    unsigned virtual_functions; /* the most that an NVMe drive can have */
    TopoPlace virtual_place;
    bool hotplug;             /* in a slot of its own */
    int64_t size_bytes;       /* size of the shared memory; 0: not given */
    GPtrArray *option_names;  /* of char *: names of properties */
    GPtrArray *option_values; /* of char *: their values, in the same order */
    GArray *option_places; /* of TopoPlace: where the names are written, in the
                              same order */
} TopoVmDevice;

struct TopoHost {
    TopoPlace place;
    char *name;
    unsigned index; /* in TopoDescription.hosts */
    const TopoPart *cpu;
    bool iommu;
    int64_t preallocated_bytes; /* for segments; -1: not known */
    GPtrArray *switches;        /* of TopoSwitch */
    GPtrArray *devices;         /* of TopoDevice */
    GPtrArray *functions; /* of TopoFunction, sorted by address; those of the
                             real host. Empty: not known */
    TopoVm *vm;           /* has the defaults if there is no `vm:` */
};

struct TopoSwitch {
    TopoPlace place;
    char *name;
    char *path; /* "host.name" */
    TopoHost *host;
    const TopoPart *part;
    TopoAttach at;
    TopoAcs acs;
    char *chip; /* name of the chip that it is a partition of, unique in the
                   host; NULL: a chip of its own */
    unsigned uplink_share;
    TopoAcsDirect acs_direct;
    bool acs_redirect; /* `acs:`, with auto replaced by on or off */
};

struct TopoDevice {
    bool is_fabric_attached;
    TopoPlace place;
    char *name;
    char *path; /* "host.name" */
    TopoHost *host;
    const TopoPart *part; /* of kind ntb, gpu or endpoint */
    TopoAttach at;
    char *chip; /* name of the chip that the NTB adapter is a partition
                   of, unique in the description; NULL: none */
    const struct TopoNtbChip *ntb_chip; /* of `chips:`; NULL: none */
    unsigned partition;                 /* of ntb_chip */
    GPtrArray *links;   /* of TopoLink, by cable port; NULL: the port is free.
                           Empty unless the kind is ntb */
    GPtrArray *fabrics; /* of char *, by port of the card; NULL: none given.
                           Empty if the part is no card */
    bool has_address;
    TopoPciAddress address; /* of its first function; only if has_address */
    TopoPlace address_place;
    TopoVmDevice *vm;     /* NULL if the device has no `vm:` */
    GPtrArray *functions; /* of TopoDevice: the virtual functions that something
                             in the description names; they are not in
                             TopoHost.devices */
    /* Of a virtual function, whose link and card are its device's: */
    TopoDevice *physical; /* the device; NULL: it is no virtual function */
    unsigned number;      /* from 0 */
};

/* The chip of an emulated NTB, in the order of the words of the key `chip` */
typedef enum TopoChip {
    TOPO_CHIP_SWITCHTEC,
    TOPO_CHIP_AMD,
    TOPO_CHIP_INTEL_GEN1,
    TOPO_CHIP_INTEL_GEN1_SPLIT,
    TOPO_CHIP_INTEL_GEN3,
    TOPO_CHIP_INTEL_GEN4,
    TOPO_CHIP_INTEL_GEN4_SPR,
    TOPO_CHIP_INTEL_GEN5,
    TOPO_CHIP_INTEL_GEN6,
    TOPO_CHIP_EPF,
    TOPO_CHIP_IDT, /* only of a pair of a TopoNtbChip */
    TOPO_N_CHIPS
} TopoChip;

/* Its word. */
const char *topo_chip_name(TopoChip chip);

/* A cable between two NTB adapters. */
struct TopoLink {
    TopoPlace place;
    char *name;
    TopoDevice *end[2];
    unsigned port[2]; /* cable port at each end, from 0 */
    unsigned speed_mtps;
    unsigned width;
    int64_t propagation_ps; /* for one direction */
    TopoChip chip;
};

/* A switch with an NTB for each of several hosts */
typedef struct TopoNtbChip {
    TopoPlace place;
    char *name;
    const char *model; /* such as "89hpes32nt24ag2" */
    GPtrArray *ends;   /* of TopoDevice, by partition */
    unsigned ports[8]; /* of the chip, by partition */
    unsigned lut;      /* entries of the look-up table; 0: none */
    GPtrArray *pairs;  /* of TopoLink: each two hosts, the lower first */
} TopoNtbChip;

typedef struct TopoLend {
    TopoPlace place;
    TopoDevice *device;
    TopoHost *to;
    bool window_auto;
    int64_t window_bytes; /* 0 if window_auto */
    bool vm;              /* a VM on host `to` borrows the device */
    bool mapped_msi;      /* it writes the VM's interrupts to that host */
    char *guest;          /* name of the VM; NULL: the host has one */
    bool has_orders;      /* `p2p` is given */
    GPtrArray *p2p;       /* of TopoDevice: what it may reach */
} TopoLend;

typedef enum TopoFaultAction {
    TOPO_FAULT_BIT_ERRORS,
    TOPO_FAULT_LINK_DOWN,
    TOPO_FAULT_DEGRADE,
    TOPO_FAULT_POISON,
    TOPO_FAULT_OVERFLOW,
    /* The following are faults of machines, which a simulation ignores. */
    TOPO_FAULT_KILL,
    TOPO_FAULT_FREEZE,
    TOPO_FAULT_RESTART,
    TOPO_FAULT_START_LATE,
    TOPO_FAULT_REMOVE,
} TopoFaultAction;

/* The event with which a fault begins. */
typedef enum TopoFaultEvent {
    TOPO_FAULT_AT_TIME,
    TOPO_FAULT_ON_TLP,
    TOPO_FAULT_ON_WRITE,
    TOPO_FAULT_ON_READ,
    TOPO_FAULT_ON_COMPLETION,
    TOPO_FAULT_ON_DOORBELL,
    TOPO_FAULT_ON_DLLP,
    TOPO_FAULT_ON_MESSAGE, /* only in timed clusters */
} TopoFaultEvent;

typedef enum TopoFaultEnd {
    TOPO_FAULT_BOTH_ENDS,
    TOPO_FAULT_LOWER_END, /* the element; of a cable the first of `ends` */
    TOPO_FAULT_UPPER_END,
} TopoFaultEnd;

/* A fault of a link or of a machine. Of `link`, `element`, `host` and `device`
 * one or, for the link of a device, two are set. */
typedef struct TopoFault {
    TopoPlace place;
    TopoPlace target_place;
    TopoPlace when_place;
    char *name;
    TopoFaultAction action;
    TopoLink *link;     /* a cable; or NULL */
    char *element;      /* "host.name" of a switch or device: its link to the
                           port above it; or NULL */
    TopoHost *host;     /* kill, freeze, restart, start-late; or NULL */
    TopoDevice *device; /* of `element`, or the one that is removed; or NULL */
    int64_t
        rate_num; /* bit errors: probability for each bit; poison: for each
                     TLP with data: num / den, at most 1; 0: `count` holds */
    int64_t rate_den;
    int64_t count;        /* bit errors, poison: packets in a row */
    TopoFaultEnd end;     /* whose packets are meant; overflow: the receiver */
    TopoFaultEvent event; /* with which it begins */
    int64_t number;       /* of the event, from 1 */
    int64_t at_ps;        /* if it begins at a time */
    int64_t for_ps;       /* 0: until the end */
    int64_t training_ps;  /* link down, degrade */
    unsigned speed_mtps;  /* degrade; 0: as it is */
    unsigned width;       /* degrade; 0: as it is */
    int64_t surplus;      /* overflow: header credits without a place */
} TopoFault;

/* True if @fault is that of a host, or of a device itself; not of a link. */
bool topo_fault_is_of_machine(const TopoFault *fault);

/* The word for @action, such as "link-down". */
const char *topo_fault_action_name(TopoFaultAction action);

/* The word for @event, which is not TOPO_FAULT_AT_TIME. */
const char *topo_fault_event_name(TopoFaultEvent event);

/* Returns whether a fault with @action may begin with @event. */
bool topo_fault_action_has_event(TopoFaultAction action, TopoFaultEvent event);

/* An end of a transfer. */
typedef enum TopoTargetKind {
    TOPO_TARGET_NONE,   /* not given */
    TOPO_TARGET_RAM,    /* the memory of the host */
    TOPO_TARGET_CPU,    /* the CPU of the host */
    TOPO_TARGET_DEVICE, /* a device or one of its BARs */
} TopoTargetKind;

typedef struct TopoTarget {
    TopoTargetKind kind;
    TopoHost *host;
    TopoDevice *device; /* only for TOPO_TARGET_DEVICE */
    int bar;            /* number as in TopoBar; -1: no BAR was named. For
                           TOPO_TARGET_RAM: the node; -1: none was named */
} TopoTarget;

typedef struct TopoWorkload {
    TopoPlace place;
    uint64_t seed;
    unsigned seeds; /* number of seeds, from `seed` on; at least 1 */
    int64_t warmup_ps;
    int64_t stop_ps;               /* 0: the run ends when all flows are done */
    int64_t completion_timeout_ps; /* 0: not given */
    double accuracy;  /* share of the time of work; 0: all is simulated */
    GPtrArray *flows; /* of TopoFlow */
} TopoWorkload;

typedef enum TopoSourceKind {
    TOPO_SOURCE_VARIANT, /* the name of the variant */
    TOPO_SOURCE_AXIS,    /* the value of the axis `name` */
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

/* The direction in which a change of a column is good. */
typedef enum TopoBetter {
    TOPO_BETTER_NONE, /* not said */
    TOPO_BETTER_HIGHER,
    TOPO_BETTER_LOWER,
    TOPO_BETTER_SAME, /* every change is bad */
} TopoBetter;

/* A column of the CSV. A number is divided by the scale and printed with
 * `digits` decimals, or as a whole number if `digits` is -1. */
typedef struct TopoColumn {
    TopoPlace place;
    char *name;
    TopoSourceKind source;
    unsigned axis;     /* index into axes; only for TOPO_SOURCE_AXIS */
    char *source_name; /* name of the axis, flow or element; NULL if none */
    char *metric;      /* NULL if none */
    TopoStatistic statistic;
    int64_t scale_num; /* scale = num / den, in lowest terms */
    int64_t scale_den;
    int digits;
    char *unit; /* NULL: not said */
    TopoBetter better;
    bool is_key; /* in `compare.keys`: the column is part of the key */
    int64_t tolerance_num; /* `compare.tolerance` as a fraction: 1% is 1/100 */
    int64_t tolerance_den;
} TopoColumn;

typedef enum TopoScale {
    TOPO_SCALE_LINEAR,
    TOPO_SCALE_LOG2,
    TOPO_SCALE_LOG10,
} TopoScale;

/* A condition: @column has the cell @text, as it is in the CSV. */
typedef struct TopoTerm {
    TopoPlace place;
    unsigned column; /* index into columns; a column of the key */
    char *text;
} TopoTerm;

/* A set of points: those that meet all terms. */
typedef struct TopoSelection {
    TopoPlace place;
    GPtrArray *terms; /* of TopoTerm */
} TopoSelection;

typedef struct TopoPlot {
    TopoPlace place;
    char *title;
    unsigned x, y;      /* indexes into columns */
    int curves, panels; /* indexes into columns; -1: none */
    TopoScale x_scale, y_scale;
    char *x_label;
    char *y_label;
    double x_least,
        x_most; /* ends of the axes, in units of the columns; equal: */
    double y_least, y_most; /* chosen by the points */
    char *published;        /* path of a CSV; NULL: none */
    GPtrArray *measured; /* of char *: paths of CSVs with the user's own values;
                            may be empty */
    bool calibrated_all; /* every published value was used */
    GPtrArray *calibrated; /* of TopoSelection: the points that parts were
                              calibrated on */
} TopoPlot;

typedef struct TopoVariant {
    TopoPlace place;
    char *name;
    GPtrArray *changes; /* of TopoChange */
} TopoVariant;

typedef struct TopoAxisValue {
    char *label;        /* the text of the value, or its `label:` */
    bool has_number;    /* the value is a number or a quantity */
    int64_t number;     /* in base units (bytes, ps, B/s, MT/s, ...) */
    GPtrArray *changes; /* of TopoChange */
} TopoAxisValue;

typedef struct TopoAxis {
    TopoPlace place;
    char *name;
    GPtrArray *values; /* of TopoAxisValue */
} TopoAxis;

/* A network between ports of NICs; see `networks` of the schema. */
typedef struct TopoNetwork {
    TopoPlace place;
    char *name;
    int64_t latency_ps;
    bool has_switch;
    int64_t buffer_bytes;
    int64_t loss_num, loss_den;
    int64_t overhead_bytes;
} TopoNetwork;

/* The sections of a description without errors. Each value includes those
 * before it. */
typedef enum TopoSound {
    TOPO_SOUND_NONE,
    TOPO_SOUND_HARDWARE, /* parts, hosts, links, chips, networks, lend */
    TOPO_SOUND_WORKLOAD, /* faults, workload */
    TOPO_SOUND_PLAN,     /* variants, sweep */
    TOPO_SOUND_ALL,
} TopoSound;

struct TopoDescription {
    TopoSound sound; /* TOPO_SOUND_ALL, if not loaded by topo_load_partly() */
    char *name;
    char *text;       /* `description:`, or NULL */
    const char *file; /* path, as the caller gave it */
    char *hash; /* SHA-256 of the file, its parts and the changes, as hex digits
                 */
    GPtrArray *hosts;       /* of TopoHost */
    GPtrArray *links;       /* of TopoLink */
    GPtrArray *chips;       /* of TopoNtbChip */
    GPtrArray *networks;    /* of TopoNetwork */
    GPtrArray *lends;       /* of TopoLend */
    GPtrArray *faults;      /* of TopoFault */
    TopoWorkload *workload; /* NULL if there is none */
    GPtrArray *variants;    /* of TopoVariant */
    GPtrArray *axes;        /* of TopoAxis, outermost loop first */
    GPtrArray *columns;     /* of TopoColumn */
    TopoPlot *plot;         /* NULL if there is none */
    GPtrArray *changes; /* of TopoChange: those that topo_load() was given */
};

/*
 * Loads the description in the file @path. @changes (of TopoChange,
 * nullable) are applied before anything is checked. Profiles of parts come
 * from the nearest directory `parts` or `scenarios/parts` beside the file or
 * above it, or else from that of the program. On errors returns NULL and
 * adds them to @errors.
 */
TopoDescription *topo_load(const char *path, const GPtrArray *changes,
                           TopoErrors *errors);

/* Like topo_load(), but returns a description with errors, too, unless nothing
 * can be known of it. Its `sound` tells which sections have no errors; in
 * others references and parts may be NULL. This finds errors that do not depend
 * on those. */
TopoDescription *topo_load_partly(const char *path, const GPtrArray *changes,
                                  TopoErrors *errors);

/* Like topo_load(), with profiles from the directory @parts_dir. If it is NULL,
 * the directory is found as topo_load() does. */
TopoDescription *topo_load_with_parts(const char *path, const char *parts_dir,
                                      const GPtrArray *changes,
                                      TopoErrors *errors);

/* Like topo_load_with_parts(), for @length bytes at @data. @name names them in
 * messages. Paths and profiles are found as if the text were a file of that
 * name. */
TopoDescription *topo_load_buffer(const char *name, const char *data,
                                  size_t length, const char *parts_dir,
                                  const GPtrArray *changes, TopoErrors *errors);

/* Like topo_load_buffer(). Profiles, and the file of `cluster:`, are those of
 * @sources, which gets the ones it does not have. */
TopoDescription *topo_load_shared(const char *name, const char *data,
                                  size_t length, const char *parts_dir,
                                  TopoSources *sources,
                                  const GPtrArray *changes, TopoErrors *errors);

/* Loads the description again, with @changes instead of its own. The texts are
 * those that it was made from, whatever has become of the files. Several
 * threads may do so at the same time. */
TopoDescription *topo_load_again(const TopoDescription *description,
                                 const GPtrArray *changes, TopoErrors *errors);

/* The same as topo_load_partly() does it. */
TopoDescription *topo_load_again_partly(const TopoDescription *description,
                                        const GPtrArray *changes,
                                        TopoErrors *errors);

/* Frees @description (nullable) and all it owns. */
void topo_description_free(TopoDescription *description);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(TopoDescription, topo_description_free)

/* All pairs of hosts that an NTB joins, as TopoLink: the links, then the pairs
 * of each chip. To be unreferenced. */
GPtrArray *topo_joins(const TopoDescription *description);

/* True if packets can go to and from @device: its part has `nic:`. */
bool topo_device_is_nic(const TopoDevice *device);
/* Of a NIC: the number of its ports, and the name of the network of one; NULL
 * if it has none. */
unsigned topo_nic_ports(const TopoDevice *device);
const char *topo_nic_network(const TopoDevice *device, unsigned port);

/* Find the host "lender", the switch or device "lender.gpu0", or a flow. They
 * return NULL if there is none. */
TopoHost *topo_find_host(const TopoDescription *description, const char *name);
TopoSwitch *topo_find_switch(const TopoDescription *description,
                             const char *path);
TopoDevice *topo_find_device(const TopoDescription *description,
                             const char *path);
TopoFlow *topo_find_flow(const TopoDescription *description, const char *name);

/* Returns the host @name, or, without a name, the only one. NULL and
 * G_OPTION_ERROR if there is no such host, or there are several. */
const TopoHost *topo_choose_host(const TopoDescription *description,
                                 const char *name, GError **error);

/* Parses an end of a transfer as a flow has it: "host.ram", "host.cpu",
 * "host.device" or "host.device.bar0". On failure @error says which texts are
 * valid. */
bool topo_find_target(const TopoDescription *description, const char *text,
                      TopoTarget *ret_target, GError **error);

/* Appends a line for each cable and each network. */
void topo_write_links(const TopoDescription *description, GString *text);

#endif
