/* SPDX-License-Identifier: MIT */
#ifndef TOPO_NODE_PRIV_H
#define TOPO_NODE_PRIV_H

#include <stdbool.h>
#include <stddef.h>

#include <glib.h>

#include "topo_error.h"

/*
 * YAML as a tree in which every node has its place. Anchors, aliases, tags,
 * merge keys and second documents are not accepted, so a tree is never
 * larger than its text.
 */
typedef enum TopoNodeKind {
    TOPO_NODE_SCALAR,
    TOPO_NODE_LIST,
    TOPO_NODE_MAP,
} TopoNodeKind;

typedef struct TopoNode TopoNode;

typedef struct TopoEntry {
    char *key;
    TopoPlace place; /* place of the key */
    TopoNode *value;
} TopoEntry;

struct TopoNode {
    TopoNodeKind kind;
    TopoPlace place;
    char *text;       /* for a scalar */
    GPtrArray *items; /* of TopoNode for a list, of TopoEntry for a map */
};

#define TOPO_NODE_DEPTH_MAX 32
#define TOPO_NODE_TEXT_MAX  (4u << 20) /* bytes of a file */
#define TOPO_NODE_COUNT_MAX 500000u /* most nodes of a tree after `repeat:` */
#define TOPO_NODE_BYTES_MAX (64u << 20) /* most bytes of all its texts */

/* Parses @length bytes at @data. @file names them in places. On errors returns
 * NULL and adds them to @errors. */
TopoNode *topo_node_parse(const char *file, const char *data, size_t length,
                          TopoErrors *errors);

/* Parses the value of a change, written in one line. All nodes get @place. */
TopoNode *topo_node_parse_value(const char *text, TopoPlace place,
                                TopoErrors *errors);

TopoNode *topo_node_new(TopoNodeKind kind, TopoPlace place);
TopoNode *topo_node_new_scalar(const char *text, TopoPlace place);
TopoNode *topo_node_copy(const TopoNode *node);

/* Frees @node (nullable) and all nodes below it. */
void topo_node_free(TopoNode *node);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(TopoNode, topo_node_free)

/* Return the entry or the value of @key in the map @node. NULL if there is
 * none, or if @node is no map. */
TopoEntry *topo_node_entry(const TopoNode *node, const char *key);
TopoNode *topo_node_get(const TopoNode *node, const char *key);

/* Returns the text of the scalar at @key; NULL if there is none. */
const char *topo_node_get_text(const TopoNode *node, const char *key);

/* Sets @key of the map @node to @value. Takes ownership of @value. */
void topo_node_set(TopoNode *node, const char *key, TopoPlace place,
                   TopoNode *value);

void topo_node_append(TopoNode *list, TopoNode *item);

/* Appends @node as YAML in one line. */
void topo_node_write(const TopoNode *node, GString *out);

/* Returns "a map", "a list" or "a value". */
const char *topo_node_kind_name(const TopoNode *node);

#endif
