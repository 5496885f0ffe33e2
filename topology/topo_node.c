/* SPDX-License-Identifier: MIT */
#include "topo_node_priv.h"

#include <string.h>

#include <yaml.h>

/* Some editors begin a text with it, which libyaml leaves to the caller. */
#define BYTE_ORDER_MARK "\xef\xbb\xbf"

/* The state of one parse. */
typedef struct Builder {
    yaml_parser_t parser;
    TopoPlace place; /* the file; for a value in one line, all of it */
    bool fixed;      /* every node gets `place` */
    const char *data;
    size_t length;
    TopoErrors *errors;
    unsigned depth;
} Builder;

static TopoPlace place_of_mark(const Builder *builder, yaml_mark_t mark)
{
    TopoPlace place = builder->place;

    if (!builder->fixed) {
        place.line = (unsigned)mark.line + 1;
        place.column = (unsigned)mark.column + 1;
    }
    return place;
}

static void entry_free(void *data)
{
    TopoEntry *entry = data;

    g_free(entry->key);
    topo_node_free(entry->value);
    g_free(entry);
}

static void item_free(void *data)
{
    topo_node_free(data);
}

TopoNode *topo_node_new(TopoNodeKind kind, TopoPlace place)
{
    TopoNode *node = g_new0(TopoNode, 1);

    node->kind = kind;
    node->place = place;
    if (kind == TOPO_NODE_LIST) {
        node->items = g_ptr_array_new_with_free_func(item_free);
    } else if (kind == TOPO_NODE_MAP) {
        node->items = g_ptr_array_new_with_free_func(entry_free);
    }
    return node;
}

TopoNode *topo_node_new_scalar(const char *text, TopoPlace place)
{
    TopoNode *node = topo_node_new(TOPO_NODE_SCALAR, place);

    node->text = g_strdup(text);
    return node;
}

void topo_node_free(TopoNode *node)
{
    if (!node) {
        return;
    }
    g_free(node->text);
    if (node->items) {
        g_ptr_array_unref(node->items);
    }
    g_free(node);
}

TopoNode *topo_node_copy(const TopoNode *node)
{
    TopoNode *copy = topo_node_new(node->kind, node->place);
    unsigned i;

    copy->text = g_strdup(node->text);
    for (i = 0; node->items && i < node->items->len; i++) {
        if (node->kind == TOPO_NODE_LIST) {
            topo_node_append(copy,
                             topo_node_copy(g_ptr_array_index(node->items, i)));
        } else {
            const TopoEntry *entry = g_ptr_array_index(node->items, i);
            TopoEntry *twin = g_new0(TopoEntry, 1);

            twin->key = g_strdup(entry->key);
            twin->place = entry->place;
            twin->value = topo_node_copy(entry->value);
            g_ptr_array_add(copy->items, twin);
        }
    }
    return copy;
}

TopoEntry *topo_node_entry(const TopoNode *node, const char *key)
{
    unsigned i;

    if (!node || node->kind != TOPO_NODE_MAP) {
        return NULL;
    }
    for (i = 0; i < node->items->len; i++) {
        TopoEntry *entry = g_ptr_array_index(node->items, i);

        if (strcmp(entry->key, key) == 0) {
            return entry;
        }
    }
    return NULL;
}

TopoNode *topo_node_get(const TopoNode *node, const char *key)
{
    TopoEntry *entry = topo_node_entry(node, key);

    return entry ? entry->value : NULL;
}

const char *topo_node_get_text(const TopoNode *node, const char *key)
{
    const TopoNode *value = topo_node_get(node, key);

    return value ? value->text : NULL;
}

void topo_node_set(TopoNode *node, const char *key, TopoPlace place,
                   TopoNode *value)
{
    TopoEntry *entry = topo_node_entry(node, key);

    if (!entry) {
        entry = g_new0(TopoEntry, 1);
        entry->key = g_strdup(key);
        g_ptr_array_add(node->items, entry);
    }
    topo_node_free(entry->value);
    entry->place = place;
    entry->value = value;
}

void topo_node_append(TopoNode *list, TopoNode *item)
{
    g_ptr_array_add(list->items, item);
}

const char *topo_node_kind_name(const TopoNode *node)
{
    static const char *const names[] = {
        [TOPO_NODE_SCALAR] = "a value",
        [TOPO_NODE_LIST] = "a list",
        [TOPO_NODE_MAP] = "a map",
    };

    return names[node->kind];
}

static void write_text(const char *text, GString *out)
{
    g_autofree char *escaped = NULL;

    if (*text != '\0' && !strpbrk(text, " :,#[]{}\"'\\\t\r\n&*!|>%@`?")) {
        g_string_append(out, text);
        return;
    }
    escaped = g_strescape(text, NULL);
    g_string_append_printf(out, "\"%s\"", escaped);
}

void topo_node_write(const TopoNode *node, GString *out)
{
    unsigned i;

    if (node->kind == TOPO_NODE_SCALAR) {
        write_text(node->text, out);
        return;
    }
    g_string_append_c(out, node->kind == TOPO_NODE_LIST ? '[' : '{');
    for (i = 0; i < node->items->len; i++) {
        if (i > 0) {
            g_string_append(out, ", ");
        }
        if (node->kind == TOPO_NODE_LIST) {
            topo_node_write(g_ptr_array_index(node->items, i), out);
        } else {
            const TopoEntry *entry = g_ptr_array_index(node->items, i);

            write_text(entry->key, out);
            g_string_append(out, ": ");
            topo_node_write(entry->value, out);
        }
    }
    g_string_append_c(out, node->kind == TOPO_NODE_LIST ? ']' : '}');
}

/* The byte at @mark; 0 behind the end. */
static char byte_at(const Builder *builder, yaml_mark_t mark)
{
    const char *at = builder->data, *end = at + builder->length;

    for (size_t line = 0; at && line < mark.line; line++) {
        at = memchr(at, '\n', (size_t)(end - at));
        at = at ? at + 1 : NULL;
    }
    if (!at || (size_t)g_utf8_strlen(at, end - at) <= mark.column) {
        return '\0';
    }
    return *g_utf8_offset_to_pointer(at, (glong)mark.column);
}

static bool next_event(Builder *builder, yaml_event_t *event)
{
    const yaml_parser_t *parser = &builder->parser;
    yaml_mark_t mark;
    TopoPlace place;
    char byte;

    if (yaml_parser_parse(&builder->parser, event) != 0) {
        return true;
    }
    mark = parser->problem_mark;
    place = place_of_mark(builder, mark);
    byte = byte_at(builder, mark);
    if (byte == '\t') {
        topo_errors_add(builder->errors, place,
                        "a tab stands where YAML wants spaces; replace it");
    } else if (byte == '@' || byte == '`') {
        topo_errors_add(builder->errors, place,
                        "a value does not begin with %c; put it in quotation "
                        "marks",
                        byte);
    } else {
        topo_errors_add(builder->errors, place, "the text is not YAML: %s%s%s",
                        parser->problem ? parser->problem : "not readable",
                        parser->context ? " " : "",
                        parser->context ? parser->context : "");
    }
    return false;
}

static TopoNode *build_node(Builder *builder, yaml_event_t *event);

/* Returns whether the node that @event begins uses only the YAML that is
 * accepted; reports it if not. */
static bool is_accepted(Builder *builder, const yaml_event_t *event)
{
    TopoPlace place = place_of_mark(builder, event->start_mark);
    const yaml_char_t *anchor = NULL;
    const yaml_char_t *tag = NULL;

    switch (event->type) {
    case YAML_ALIAS_EVENT:
        topo_errors_add(builder->errors, place,
                        "aliases are not supported; write the value again, or "
                        "use `repeat:` or a part with `base:`");
        return false;
    case YAML_SCALAR_EVENT:
        anchor = event->data.scalar.anchor;
        tag = event->data.scalar.tag;
        break;
    case YAML_SEQUENCE_START_EVENT:
        anchor = event->data.sequence_start.anchor;
        tag = event->data.sequence_start.tag;
        break;
    case YAML_MAPPING_START_EVENT:
        anchor = event->data.mapping_start.anchor;
        tag = event->data.mapping_start.tag;
        break;
    default:
        break;
    }
    if (anchor) {
        topo_errors_add(builder->errors, place,
                        "anchors are not supported; leave out &%s",
                        (const char *)anchor);
        return false;
    }
    if (tag) {
        topo_errors_add(builder->errors, place,
                        "tags are not supported; leave out %s",
                        (const char *)tag);
        return false;
    }
    if (builder->depth >= TOPO_NODE_DEPTH_MAX) {
        topo_errors_add(builder->errors, place,
                        "the value is nested deeper than %d levels; write "
                        "fewer levels",
                        TOPO_NODE_DEPTH_MAX);
        return false;
    }
    return true;
}

static bool build_items(Builder *builder, TopoNode *list)
{
    yaml_event_t event;
    TopoNode *item;

    for (;;) {
        if (!next_event(builder, &event)) {
            return false;
        }
        if (event.type == YAML_SEQUENCE_END_EVENT) {
            yaml_event_delete(&event);
            return true;
        }
        item = build_node(builder, &event);
        if (!item) {
            return false;
        }
        topo_node_append(list, item);
    }
}

/* Checks a key and reports what is wrong with it. Returns true for a duplicate
 * key, too: it is reported, and the caller drops its value. */
static bool check_key(Builder *builder, GHashTable *keys, const TopoNode *key)
{
    const TopoPlace *first;

    if (key->kind != TOPO_NODE_SCALAR) {
        topo_errors_add(builder->errors, key->place,
                        "a key must be a word, not %s",
                        topo_node_kind_name(key));
        return false;
    }
    if (strcmp(key->text, "<<") == 0) {
        topo_errors_add(builder->errors, key->place,
                        "merge keys (<<) are not supported; use `repeat:` or "
                        "a part with `base:`");
        return false;
    }
    first = g_hash_table_lookup(keys, key->text);
    if (first) {
        g_autofree char *where = topo_place_to_string(*first);

        topo_errors_add(builder->errors, key->place,
                        "duplicate key '%s'; it was given at %s", key->text,
                        where);
    }
    return true;
}

static bool build_entries(Builder *builder, TopoNode *map)
{
    g_autoptr(GHashTable) keys = g_hash_table_new(g_str_hash, g_str_equal);
    yaml_event_t event;

    for (;;) {
        g_autoptr(TopoNode) key = NULL;
        TopoNode *value;
        TopoEntry *entry;

        if (!next_event(builder, &event)) {
            return false;
        }
        if (event.type == YAML_MAPPING_END_EVENT) {
            yaml_event_delete(&event);
            return true;
        }
        key = build_node(builder, &event);
        if (!key || !check_key(builder, keys, key) ||
            !next_event(builder, &event)) {
            return false;
        }
        value = build_node(builder, &event);
        if (!value) {
            return false;
        }
        if (g_hash_table_contains(keys, key->text)) {
            topo_node_free(value);
            continue;
        }
        entry = g_new0(TopoEntry, 1);
        entry->key = g_steal_pointer(&key->text);
        entry->place = key->place;
        entry->value = value;
        g_ptr_array_add(map->items, entry);
        g_hash_table_insert(keys, entry->key, &entry->place);
    }
}

/* Builds the node that @event begins. Takes ownership of @event. */
static TopoNode *build_node(Builder *builder, yaml_event_t *event)
{
    TopoPlace place = place_of_mark(builder, event->start_mark);
    g_autoptr(TopoNode) node = NULL;
    yaml_event_type_t type = event->type;
    bool complete = true;

    if (!is_accepted(builder, event)) {
        yaml_event_delete(event);
        return NULL;
    }
    if (type == YAML_SCALAR_EVENT) {
        const yaml_char_t *value = event->data.scalar.value;

        if (strlen((const char *)value) != event->data.scalar.length) {
            topo_errors_add(builder->errors, place,
                            "a text holds a NUL character; leave it out");
            yaml_event_delete(event);
            return NULL;
        }
        node = topo_node_new_scalar((const char *)value, place);
        yaml_event_delete(event);
        return g_steal_pointer(&node);
    }
    yaml_event_delete(event);
    builder->depth++;
    if (type == YAML_SEQUENCE_START_EVENT) {
        node = topo_node_new(TOPO_NODE_LIST, place);
        complete = build_items(builder, node);
    } else {
        g_assert(type == YAML_MAPPING_START_EVENT);
        node = topo_node_new(TOPO_NODE_MAP, place);
        complete = build_entries(builder, node);
    }
    builder->depth--;
    return complete ? g_steal_pointer(&node) : NULL;
}

/* Reads the document; reports a second one. */
static TopoNode *build_document(Builder *builder)
{
    g_autoptr(TopoNode) root = NULL;
    yaml_event_type_t type;
    yaml_event_t event;

    do {
        if (!next_event(builder, &event)) {
            return NULL;
        }
        type = event.type;
        if (type == YAML_STREAM_END_EVENT) {
            topo_errors_add(builder->errors,
                            place_of_mark(builder, event.start_mark),
                            "the text is empty; write at least `name:` and "
                            "`hosts:`");
        }
        if (type == YAML_STREAM_START_EVENT ||
            type == YAML_DOCUMENT_START_EVENT ||
            type == YAML_STREAM_END_EVENT) {
            yaml_event_delete(&event);
        }
        if (type == YAML_STREAM_END_EVENT) {
            return NULL;
        }
    } while (type == YAML_STREAM_START_EVENT ||
             type == YAML_DOCUMENT_START_EVENT);

    root = build_node(builder, &event);
    while (root) {
        if (!next_event(builder, &event)) {
            return NULL;
        }
        type = event.type;
        if (type == YAML_DOCUMENT_START_EVENT) {
            topo_errors_add(builder->errors,
                            place_of_mark(builder, event.start_mark),
                            "a second YAML document begins here; write one "
                            "document in a file");
            g_clear_pointer(&root, topo_node_free);
        }
        yaml_event_delete(&event);
        if (type == YAML_STREAM_END_EVENT) {
            break;
        }
    }
    return g_steal_pointer(&root);
}

/* Reports bytes that are not UTF-8 with line and column. libyaml would report
 * the offset alone. */
static bool check_utf8(const char *file, const char *data, size_t length,
                       TopoErrors *errors)
{
    TopoPlace place = {file, 1, 1};
    const char *bad;
    const char *p;

    if (g_utf8_validate_len(data, length, &bad)) {
        return true;
    }
    for (p = data; p < bad; p++) {
        if (*p == '\n') {
            place.line++;
            place.column = 1;
        } else if ((*p & 0xc0) != 0x80) {
            place.column++;
        }
    }
    topo_errors_add(errors, place,
                    "the text is not UTF-8 (byte 0x%02x); save it as UTF-8",
                    (unsigned)(unsigned char)*bad);
    return false;
}

static TopoNode *parse(const char *data, size_t length, TopoPlace place,
                       bool fixed, TopoErrors *errors)
{
    Builder builder = {.place = place, .fixed = fixed, .errors = errors};
    TopoNode *root;

    if (length >= strlen(BYTE_ORDER_MARK) &&
        memcmp(data, BYTE_ORDER_MARK, strlen(BYTE_ORDER_MARK)) == 0) {
        data += strlen(BYTE_ORDER_MARK);
        length -= strlen(BYTE_ORDER_MARK);
    }
    builder.data = data;
    builder.length = length;

    if (length > TOPO_NODE_TEXT_MAX) {
        topo_errors_add(errors, place,
                        "the text has more than %u MiB; use `repeat:`",
                        TOPO_NODE_TEXT_MAX >> 20);
        return NULL;
    }
    if (!check_utf8(place.file, data, length, errors)) {
        return NULL;
    }
    if (yaml_parser_initialize(&builder.parser) == 0) {
        topo_errors_add(errors, place, "there is no memory for a parser");
        return NULL;
    }
    yaml_parser_set_encoding(&builder.parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&builder.parser, (const unsigned char *)data,
                                 length);
    root = build_document(&builder);
    yaml_parser_delete(&builder.parser);
    return root;
}

TopoNode *topo_node_parse(const char *file, const char *data, size_t length,
                          TopoErrors *errors)
{
    TopoPlace place = {file, 0, 0};

    return parse(data, length, place, false, errors);
}

TopoNode *topo_node_parse_value(const char *text, TopoPlace place,
                                TopoErrors *errors)
{
    return parse(text, strlen(text), place, true, errors);
}
