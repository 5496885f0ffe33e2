/* SPDX-License-Identifier: MIT */
#ifndef TOPO_LOAD_PRIV_H
#define TOPO_LOAD_PRIV_H

#include "topo_description.h"
#include "topo_library_priv.h"
#include "topo_reader_priv.h"

/* A description with the tables and trees that it was made from. */
typedef struct TopoLoaded {
    TopoDescription pub; /* must be the first member: the TopoDescription that
                            callers get */
    GBytes *data;        /* the text of the file */
    char *parts_dir;     /* NULL: none */
    TopoSources *sources;
    TopoNode *tree;
    GPtrArray *made; /* of TopoNode: flows that `pairs:` stands for */
    TopoLibrary *library;
    GStringChunk *texts;
    GHashTable *hosts;     /* name to TopoHost */
    GHashTable *elements;  /* set of "host.name", of all switches and devices */
    GHashTable *switches;  /* "host.name" to TopoSwitch */
    GHashTable *devices;   /* "host.name" to TopoDevice */
    GHashTable *flows;     /* name to TopoFlow; NULL: it is refused */
    GHashTable *streams;   /* name to the last TopoFlow so far in the stream */
    GHashTable *borrowers; /* lent TopoDevice to the TopoHost that borrows it */
} TopoLoaded;

/* A switch or device that is not attached to its port yet. */
typedef struct TopoPlug {
    TopoAttach *at;
    TopoHost *host;
    TopoSwitch *self;     /* NULL for a device */
    const TopoPart *part; /* NULL: it has errors */
    const char *path;
    const char *text; /* the value of `at:`; NULL: it has errors */
    TopoPlace speed_place;
    TopoPlace width_place;
    TopoPlace share_place;
    bool has_share; /* `share:` is given */
} TopoPlug;

/* The state while one description is loaded. */
typedef struct TopoLoader {
    TopoLoaded *loaded;
    TopoErrors *errors;
    char *dir;           /* directory of the file */
    bool is_point;       /* loaded with the changes of a variant or an axis */
    const char *cluster; /* text of the file that `cluster:` names; NULL: none
                          */
    GArray *plugs;       /* of TopoPlug, in the order of the description */
} TopoLoader;

/* Reads `functions:` of @host. */
void topo_load_functions(TopoLoader *loader, TopoHost *host,
                         const TopoValues *values);

/* Copies @text (nullable). The copy lives as long as the description. */
char *topo_load_text(TopoLoader *loader, const char *text);

/* Returns @path as taken from the directory of the file. */
char *topo_load_path(TopoLoader *loader, const char *path);

/* Each function reads one section of the description. They are called in this
 * order. A reference that cannot be resolved is reported and becomes NULL. */
void topo_load_hosts(TopoLoader *loader, const TopoValues *file);
void topo_load_attach(TopoLoader *loader); /* `at:` of switches and devices */
void topo_load_links(TopoLoader *loader, const TopoValues *file);
void topo_load_lends(TopoLoader *loader, const TopoValues *file);
void topo_load_chips(TopoLoader *loader, const TopoValues *file);
/* Frees a TopoNtbChip. */
void topo_chip_free(gpointer data);
void topo_load_networks(TopoLoader *loader, const TopoValues *file);
void topo_load_faults(TopoLoader *loader, const TopoValues *file);
void topo_load_workload(TopoLoader *loader, const TopoValues *file);
void topo_load_sweep(TopoLoader *loader, const TopoValues *file);
void topo_load_measure(TopoLoader *loader, const TopoValues *file);

/* Frees a TopoSelection; usable as GDestroyNotify. */
void topo_selection_free(void *selection);

/* Reads `published:`, `measured:` and `calibrated:` of a plot. @columns maps
 * the name of each column to its index. */
void topo_load_points(TopoLoader *loader, TopoPlot *plot,
                      const TopoValues *values, GHashTable *columns);

/* Returns the index of the column @name in @columns. Returns -1, after
 * reporting it, if there is none. */
int topo_load_find_column(TopoLoader *loader, GHashTable *columns,
                          const char *name, TopoPlace place);

/* Find the thing that @value names. If there is none, they report it at the
 * value's place and return NULL. They return NULL if @value is not valid. */
TopoHost *topo_load_find_host(TopoLoader *loader, const TopoValue *value);
TopoDevice *topo_load_find_device(TopoLoader *loader, const TopoValue *value);

/* Returns the device with @path, "host.device", or makes the TopoDevice of a
 * virtual function, "host.device.vf0". Returns NULL if there is none; sets
 * @error (nullable) if there is a device, but not that function of it. */
TopoDevice *topo_load_take_device(TopoLoaded *loaded, const char *path,
                                  GError **error);
/* Returns whether @word names a virtual function: "vf" and a number. */
bool topo_load_is_function(const char *word);
void topo_device_free(TopoDevice *device);

/* Returns the keys of @table, which are char *. The caller frees the array with
 * g_ptr_array_unref(). */
GPtrArray *topo_load_names(GHashTable *table);

/* Returns whether @name is not yet in @table. Reports a name that is. Returns
 * false if @name is NULL. */
bool topo_load_check_unique(TopoLoader *loader, GHashTable *table,
                            const char *what, const char *name,
                            TopoPlace place);

/* The speed and the width of a link, in this order. */
typedef struct TopoTraining {
    const char *before;  /* begins the messages */
    TopoPlace place[2];  /* of the given values */
    unsigned *rate[2];   /* as given; 0: not given */
    const char *end[2];  /* names of the ends */
    unsigned most[2][2]; /* what each end supports */
} TopoTraining;

/* Sets the speed and the width of a link. A given value is checked against both
 * ends; without one the link gets the best that both support. */
void topo_load_train(TopoLoader *loader, const TopoTraining *training);

#endif
