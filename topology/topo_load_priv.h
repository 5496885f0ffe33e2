/* SPDX-License-Identifier: MIT */
#ifndef TOPO_LOAD_PRIV_H
#define TOPO_LOAD_PRIV_H

#include "topo_description.h"
#include "topo_library_priv.h"
#include "topo_reader_priv.h"

/* A description with what stands behind it. */
typedef struct TopoLoaded {
    TopoDescription pub; /* first: a TopoDescription is one of these */
    TopoNode *tree;
    TopoLibrary *library;
    GStringChunk *texts;
    GHashTable *hosts;     /* name to TopoHost */
    GHashTable *elements;  /* "host.name" to TopoPlace of switch or device */
    GHashTable *switches;  /* "host.name" to TopoSwitch */
    GHashTable *devices;   /* the same to TopoDevice */
    GHashTable *flows;     /* name to TopoFlow */
    GHashTable *borrowers; /* TopoDevice to the TopoHost it is lent to */
} TopoLoaded;

/* Something whose `at:` is still a text. */
typedef struct TopoPlug {
    TopoAttach *at;
    TopoHost *host;
    TopoSwitch *self;     /* NULL: a device */
    const TopoPart *part; /* NULL: was not good */
    const char *path;
    const char *text; /* NULL: was not good */
    TopoPlace speed_place;
    TopoPlace width_place;
} TopoPlug;

/* One loading. */
typedef struct TopoLoader {
    TopoLoaded *loaded;
    TopoErrors *errors;
    char *dir;       /* of the file */
    char *parts_dir; /* NULL: none */
    bool is_point;   /* loaded with the changes of a variant or an axis */
    char *cluster;   /* text of the file of the cluster; NULL: none */
    GArray *plugs;   /* of TopoPlug, in the order of the file */
} TopoLoader;

/* A copy of @text (nullable) that lives as long as the description. */
char *topo_load_text(TopoLoader *loader, const char *text);

/* @path as seen from the directory of the file. */
char *topo_load_path(TopoLoader *loader, const char *path);

/* Each reads its section from the values of the file, in this order. What it
 * cannot resolve it reports, and leaves NULL. */
void topo_load_hosts(TopoLoader *loader, const TopoValues *file);
void topo_load_attach(TopoLoader *loader); /* `at:` of switches and devices */
void topo_load_links(TopoLoader *loader, const TopoValues *file);
void topo_load_lends(TopoLoader *loader, const TopoValues *file);
void topo_load_workload(TopoLoader *loader, const TopoValues *file);
void topo_load_sweep(TopoLoader *loader, const TopoValues *file);
void topo_load_measure(TopoLoader *loader, const TopoValues *file);

/* Frees a TopoSelection; a GDestroyNotify. */
void topo_selection_free(void *selection);

/* Reads `published:`, `measured:` and `calibrated:` of a plot; @columns has
 * the index of each column by its name. */
void topo_load_points(TopoLoader *loader, TopoPlot *plot,
                      const TopoValues *values, GHashTable *columns);

/* The index of the column @name of @columns; -1, and reported, if there is
 * none. */
int topo_load_find_column(TopoLoader *loader, GHashTable *columns,
                          const char *name, TopoPlace place);

/* Look-ups that report what they do not find at the value's place. NULL also
 * if the value itself is not valid. */
TopoHost *topo_load_find_host(TopoLoader *loader, const TopoValue *value);
TopoDevice *topo_load_find_device(TopoLoader *loader, const TopoValue *value);

/* The keys of @table (char * to anything); drop with g_ptr_array_unref(). */
GPtrArray *topo_load_names(GHashTable *table);

/* Reports a name used twice. Returns false if it was, or is NULL. */
bool topo_load_check_unique(TopoLoader *loader, GHashTable *table,
                            const char *what, const char *name,
                            TopoPlace place);

#endif
