/* SPDX-License-Identifier: MIT */
#ifndef TOPO_READER_PRIV_H
#define TOPO_READER_PRIV_H

#include "topo_suggest.h"
#include "topo_node_priv.h"
#include "topo_schema_priv.h"

/* The value of a key. Texts and nodes are borrowed from the tree. */
typedef struct TopoValue {
    bool given; /* written, not a default */
    bool valid; /* given and good, or a default */
    TopoPlace place;
    int64_t number; /* in base units; of a bool 0 or 1; of a word its index;
                       numerator of a fraction; -1 for infinite or auto */
    int64_t den;    /* of a fraction */
    const char *text;
    const TopoNode *node; /* NULL for a default */
    const char *source;   /* where a number of a profile is from, or NULL */
} TopoValue;

/* The values of a map by the index of the key in its section. */
typedef struct TopoValues {
    const TopoSection *section;
    TopoPlace place;
    TopoValue *values;
} TopoValues;

/* Reads @node as a map of @section: reports what is unknown, of wrong type or
 * range, given twice, or required and missing. Returns NULL if @node is no
 * map. */
TopoValues *topo_values_read(const TopoSection *section, const TopoNode *node,
                             TopoErrors *errors);

/* Values in which nothing is given. */
TopoValues *topo_values_new(const TopoSection *section, TopoPlace place);
TopoValues *topo_values_copy(const TopoValues *values);

/* Reads the map @node over @values; does not ask for required keys. @n_skip
 * keys called @skip belong to someone else. Returns false if @node is no map
 * or anything in it is wrong. */
bool topo_values_merge(TopoValues *values, const TopoNode *node,
                       const char *const *skip, unsigned n_skip,
                       TopoErrors *errors);

void topo_values_free(TopoValues *values);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(TopoValues, topo_values_free)

/* The value of @key, which must be in the section. */
const TopoValue *topo_values_get(const TopoValues *values, const char *key);

/* The same of a key of one of @types (bits 1 << TopoType) that has a value;
 * anything else is a programming error. */
const TopoValue *topo_values_typed(const TopoValues *values, const char *key,
                                   unsigned types);

/* Short cuts; of a value that is not valid they give NULL or 0. */
const char *topo_values_text(const TopoValues *values, const char *key);
int64_t topo_values_number(const TopoValues *values, const char *key);
bool topo_values_given(const TopoValues *values, const char *key);

/* The items of a list that was given and valid, or an empty list; borrowed.
 * To be dropped with g_ptr_array_unref(). */
GPtrArray *topo_values_items(const TopoValues *values, const char *key);

/* Returns whether @text is a name; reports it at @place if not. */
bool topo_check_name(const char *text, TopoPlace place, TopoErrors *errors);

/* "a" or "an". */
const char *topo_article(const char *noun);

#endif
