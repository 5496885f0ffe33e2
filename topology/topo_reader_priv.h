/* SPDX-License-Identifier: MIT */
#ifndef TOPO_READER_PRIV_H
#define TOPO_READER_PRIV_H

#include "topo_suggest.h"
#include "topo_node_priv.h"
#include "topo_schema_priv.h"

/* The value of a key. Texts and nodes belong to the tree. */
typedef struct TopoValue {
    bool given; /* written in the file, not a default */
    bool valid; /* given without errors, or a default */
    TopoPlace place;
    int64_t number; /* in base units; 0 or 1 for a bool; the index of a word;
                       the numerator of a fraction; -1 for infinite or auto */
    int64_t den;    /* denominator of a fraction */
    const char *text;
    const TopoNode *node; /* NULL for a default */
    const char *source;   /* the source of a number in a profile; NULL: none */
} TopoValue;

/* The values of a map, by index of the key in the section. */
typedef struct TopoValues {
    const TopoSection *section;
    TopoPlace place;
    TopoValue *values;
} TopoValues;

/* Reads @node as a map of @section. Reports unknown and duplicate keys, values
 * of the wrong type or out of range, and required keys that are missing.
 * Returns NULL if @node is no map. */
TopoValues *topo_values_read(const TopoSection *section, const TopoNode *node,
                             TopoErrors *errors);

/* Makes values in which no key is given. */
TopoValues *topo_values_new(const TopoSection *section, TopoPlace place);
TopoValues *topo_values_copy(const TopoValues *values);

/* Overwrites @values with the values in the map @node. Missing keys are not
 * reported. The @n_skip keys in @skip are ignored. Returns false if @node is no
 * map or has errors. */
bool topo_values_merge(TopoValues *values, const TopoNode *node,
                       const char *const *skip, unsigned n_skip,
                       TopoErrors *errors);

void topo_values_free(TopoValues *values);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(TopoValues, topo_values_free)

/* Returns the value of @key, which must be in the section. */
const TopoValue *topo_values_get(const TopoValues *values, const char *key);

/* Like topo_values_get(), for a key that has a value and one of @types (bits 1
 * << TopoType). Anything else is a programming error. */
const TopoValue *topo_values_typed(const TopoValues *values, const char *key,
                                   unsigned types);

/* Return the value of @key; NULL or 0 if it is not valid. */
const char *topo_values_text(const TopoValues *values, const char *key);
int64_t topo_values_number(const TopoValues *values, const char *key);
bool topo_values_given(const TopoValues *values, const char *key);

/* Returns the items of a list; an empty array if no list was given. The items
 * are borrowed. The caller frees the array with g_ptr_array_unref(). */
GPtrArray *topo_values_items(const TopoValues *values, const char *key);

/* Returns whether @text is a name; reports it at @place if not. */
bool topo_check_name(const char *text, TopoPlace place, TopoErrors *errors);

/* Returns the article of @noun: "a" or "an". */
const char *topo_article(const char *noun);

#endif
