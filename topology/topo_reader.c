/* SPDX-License-Identifier: MIT */
#include "topo_reader_priv.h"

#include <string.h>

#define NAME_MAX_BYTES 64

/* The state while one map is read. */
typedef struct Reader {
    TopoValues *values;
    const char *const *skip;
    unsigned n_skip;
    bool *seen; /* by index of the key: it was given in this map */
    TopoErrors *errors;
    bool good;
} Reader;

static void report(TopoErrors *errors, TopoPlace place, const char *format, ...)
    G_GNUC_PRINTF(3, 4);

static void report(TopoErrors *errors, TopoPlace place, const char *format, ...)
{
    g_autofree char *text = NULL;
    va_list args;

    if (!errors) {
        return;
    }
    va_start(args, format);
    text = g_strdup_vprintf(format, args);
    va_end(args);
    topo_errors_add(errors, place, "%s", text);
}

bool topo_check_name(const char *text, TopoPlace place, TopoErrors *errors)
{
    const char *p;

    for (p = text; *p != '\0'; p++) {
        if (!g_ascii_isalnum(*p) && (p == text || !strchr("_-", *p))) {
            break;
        }
    }
    if (*text != '\0' && *p == '\0' && p - text <= NAME_MAX_BYTES) {
        return true;
    }
    report(errors, place,
           "'%.*s' is not a name; use up to %d letters, digits, - and _, "
           "beginning with a letter or digit",
           NAME_MAX_BYTES, text, NAME_MAX_BYTES);
    return false;
}

static char *list_choices(const char *choices)
{
    g_auto(GStrv) words = g_strsplit(choices, "|", -1);

    return g_strjoinv(", ", words);
}

static bool parse_bool(const char *text, int64_t *ret_number)
{
    static const TopoKey key = {.choices = "off|on|false|true"};
    int choice = topo_schema_find_choice(&key, text);

    *ret_number = choice % 2;
    return choice >= 0;
}

/* Parses a limit from a table of keys, which is always valid. */
static int64_t parse_limit(TopoUnit unit, const char *text)
{
    int64_t value = 0;
    bool good = topo_units_parse(unit, text, &value, NULL);

    g_assert(good);
    return value;
}

static bool is_choice(const TopoKey *key, TopoUnit unit, int64_t number)
{
    g_auto(GStrv) words = g_strsplit(key->choices, "|", -1);
    unsigned i;

    for (i = 0; words[i]; i++) {
        if (parse_limit(unit, words[i]) == number) {
            return true;
        }
    }
    return false;
}

static bool check_range(const TopoKey *key, const TopoValue *value,
                        TopoErrors *errors)
{
    TopoUnit unit = topo_schema_unit(key->type);
    int64_t n = value->number;

    if (key->min && n < parse_limit(unit, key->min)) {
        report(errors, value->place, "%s: %s is too small; write at least %s",
               key->key, value->text, key->min);
        return false;
    }
    if (key->max && n > parse_limit(unit, key->max)) {
        report(errors, value->place, "%s: %s is too large; write at most %s",
               key->key, value->text, key->max);
        return false;
    }
    if (key->choices && !is_choice(key, unit, n)) {
        g_autofree char *choices = list_choices(key->choices);

        report(errors, value->place, "%s: %s is not possible; write one of %s",
               key->key, value->text, choices);
        return false;
    }
    if ((key->flags & TOPO_KEY_POWER_OF_TWO) != 0 && (n & (n - 1)) != 0) {
        int64_t below = INT64_C(1) << (63 - __builtin_clzll((uint64_t)n));
        g_autofree char *low = topo_units_format(unit, below);
        g_autofree char *high = below < INT64_C(1) << 62
                                    ? topo_units_format(unit, below * 2)
                                    : g_strdup("less");

        report(errors, value->place,
               "%s: %s is not a power of two; write for example %s or %s",
               key->key, value->text, low, high);
        return false;
    }
    return true;
}

static bool read_quantity(const TopoKey *key, TopoValue *value,
                          TopoErrors *errors)
{
    g_autoptr(GError) error = NULL;

    if (!topo_units_parse(topo_schema_unit(key->type), value->text,
                          &value->number, &error)) {
        report(errors, value->place, "%s: %s", key->key, error->message);
        return false;
    }
    return check_range(key, value, errors);
}

static bool read_fraction(const TopoKey *key, TopoValue *value,
                          TopoErrors *errors)
{
    bool percent = key->type == TOPO_TYPE_PERCENT;
    g_autofree char *text = g_strdup(value->text);
    g_autoptr(GError) error = NULL;
    int64_t scaled;

    if (percent) {
        if (!g_str_has_suffix(text, "%")) {
            report(errors, value->place,
                   "%s: %s has no unit; write for example 1%%", key->key, text);
            return false;
        }
        text[strlen(text) - 1] = '\0';
        if (!g_ascii_isdigit(*text)) {
            report(errors, value->place,
                   "%s: %s is not a percentage; write for example 1%%",
                   key->key, value->text);
            return false;
        }
        if (text[strspn(text, "0")] == '\0' ||
            (g_str_has_prefix(text, "0.") &&
             text[2 + strspn(text + 2, "0")] == '\0')) {
            value->number = 0;
            value->den = 1;
            return true;
        }
    }
    if (!topo_units_parse_decimal(text, &value->number, &value->den, &error)) {
        report(errors, value->place, "%s: %s", key->key, error->message);
        return false;
    }
    if (percent) {
        if (__builtin_mul_overflow(value->den, 100, &scaled)) {
            report(errors, value->place, "%s: %s has too many digits", key->key,
                   value->text);
            return false;
        }
        value->den = scaled;
    }
    return true;
}

static bool read_word(const TopoKey *key, TopoValue *value, TopoErrors *errors)
{
    int choice = topo_schema_find_choice(key, value->text);
    g_autofree char *choices = NULL;

    if (choice >= 0) {
        value->number = choice;
        return true;
    }
    choices = list_choices(key->choices);
    report(errors, value->place, "%s: '%s' is not possible; write one of %s",
           key->key, value->text, choices);
    return false;
}

static bool read_scalar(const TopoKey *key, TopoValue *value,
                        TopoErrors *errors)
{
    if (value->text[0] == '\0') {
        report(errors, value->place,
               "%s has no value; write one, or leave it "
               "out",
               key->key);
        return false;
    }
    switch (key->type) {
    case TOPO_TYPE_BOOL:
        if (!parse_bool(value->text, &value->number)) {
            report(errors, value->place,
                   "%s: '%s' is neither on nor off; write one of them%s%s",
                   key->key, value->text, key->hint ? ". " : "",
                   key->hint ? key->hint : "");
            return false;
        }
        return true;
    case TOPO_TYPE_NAME:
        return topo_check_name(value->text, value->place, errors);
    case TOPO_TYPE_WORD:
        return read_word(key, value, errors);
    case TOPO_TYPE_CREDITS:
        if (strcmp(value->text, "infinite") == 0) {
            value->number = TOPO_CREDITS_INFINITE;
            return true;
        }
        return read_quantity(key, value, errors);
    case TOPO_TYPE_AUTO:
        if (strcmp(value->text, "auto") == 0) {
            value->number = -1;
            return true;
        }
        return read_quantity(key, value, errors);
    case TOPO_TYPE_DECIMAL:
    case TOPO_TYPE_PERCENT:
        return read_fraction(key, value, errors);
    case TOPO_TYPE_TEXT:
    case TOPO_TYPE_REF:
    case TOPO_TYPE_HOST:
    case TOPO_TYPE_DEVICE:
    case TOPO_TYPE_TARGET:
        return true;
    default:
        return read_quantity(key, value, errors);
    }
}

static bool check_items(const TopoKey *key, const TopoNode *node,
                        TopoNodeKind kind, TopoErrors *errors)
{
    bool good = true;
    unsigned i;

    for (i = 0; i < node->items->len; i++) {
        const TopoNode *item = g_ptr_array_index(node->items, i);

        if (item->kind != kind) {
            report(errors, item->place, "%s: a member is %s; write %s",
                   key->key, topo_node_kind_name(item),
                   kind == TOPO_NODE_MAP ? "maps like {name: ...}" : "names");
            good = false;
        }
    }
    return good;
}

static bool read_value(const TopoKey *key, const TopoNode *node,
                       TopoValue *ret_value, TopoErrors *errors)
{
    TopoValue value = {.given = true, .place = node->place, .node = node};
    TopoNodeKind wanted = TOPO_NODE_SCALAR;
    bool good = true;

    switch (key->type) {
    case TOPO_TYPE_LIST:
    case TOPO_TYPE_REFS:
        wanted = TOPO_NODE_LIST;
        break;
    case TOPO_TYPE_MAP:
    case TOPO_TYPE_SET:
    case TOPO_TYPE_PARTS:
    case TOPO_TYPE_CHANGES:
        wanted = TOPO_NODE_MAP;
        break;
    case TOPO_TYPE_TREE:
        wanted = node->kind;
        break;
    default:
        break;
    }
    if (node->kind != wanted) {
        TopoNode want = {.kind = wanted};

        report(errors, node->place, "%s is %s; write %s", key->key,
               topo_node_kind_name(node), topo_node_kind_name(&want));
        good = false;
    } else if (key->type == TOPO_TYPE_LIST) {
        good = check_items(key, node, TOPO_NODE_MAP, errors);
    } else if (key->type == TOPO_TYPE_REFS) {
        good = check_items(key, node, TOPO_NODE_SCALAR, errors);
    } else if (wanted == TOPO_NODE_SCALAR && key->type != TOPO_TYPE_TREE) {
        value.text = node->text;
        good = read_scalar(key, &value, errors);
    }
    value.valid = good;
    *ret_value = value;
    return good;
}

static void read_entry(Reader *reader, const char *name,
                       const TopoEntry *entry);

static void read_group(Reader *reader, const char *prefix,
                       const TopoEntry *entry)
{
    unsigned i;

    if (entry->value->kind != TOPO_NODE_MAP) {
        report(reader->errors, entry->value->place,
               "%s is %s; write a map of its keys", prefix,
               topo_node_kind_name(entry->value));
        reader->good = false;
        return;
    }
    for (i = 0; i < entry->value->items->len; i++) {
        const TopoEntry *child = g_ptr_array_index(entry->value->items, i);
        g_autofree char *name = g_strconcat(prefix, ".", child->key, NULL);

        read_entry(reader, name, child);
    }
}

static char *suggest_key(const TopoSection *section, const char *name,
                         const TopoErrors *errors)
{
    g_autoptr(GPtrArray) names = NULL;

    if (!errors || topo_errors_is_full(errors)) {
        return g_strdup("");
    }
    names = topo_schema_key_names(section);
    return topo_suggest(name, names);
}

/* Reads @entry. @name is its name with dots, counted from the map of the
 * section. */
static void read_entry(Reader *reader, const char *name, const TopoEntry *entry)
{
    const TopoSection *section = reader->values->section;
    const TopoKey *key = topo_schema_find(section, name);
    unsigned i;

    for (i = 0; i < reader->n_skip; i++) {
        if (strcmp(reader->skip[i], name) == 0) {
            return;
        }
    }
    if (key) {
        unsigned index = (unsigned)(key - section->keys);

        if (reader->seen[index]) {
            report(reader->errors, entry->place,
                   "duplicate key '%s'; write it once", name);
            reader->good = false;
            return;
        }
        reader->seen[index] = true;
        if (!read_value(key, entry->value, &reader->values->values[index],
                        reader->errors)) {
            reader->good = false;
        }
    } else if (topo_schema_has_group(section, name)) {
        read_group(reader, name, entry);
    } else {
        g_autofree char *hint = suggest_key(section, name, reader->errors);

        report(reader->errors, entry->place, "unknown key '%s' of %s %s%s",
               name, topo_article(section->name), section->name, hint);
        reader->good = false;
    }
}

bool topo_values_merge(TopoValues *values, const TopoNode *node,
                       const char *const *skip, unsigned n_skip,
                       TopoErrors *errors)
{
    g_autofree bool *seen = g_new0(bool, values->section->n_keys);
    Reader reader = {values, skip, n_skip, seen, errors, true};
    unsigned i;

    if (node->kind != TOPO_NODE_MAP) {
        report(errors, node->place, "%s %s is %s; write a map of its keys",
               topo_article(values->section->name), values->section->name,
               topo_node_kind_name(node));
        return false;
    }
    for (i = 0; i < node->items->len; i++) {
        const TopoEntry *entry = g_ptr_array_index(node->items, i);

        read_entry(&reader, entry->key, entry);
    }
    return reader.good;
}

TopoValues *topo_values_new(const TopoSection *section, TopoPlace place)
{
    TopoValues *values = g_new0(TopoValues, 1);
    unsigned i;

    values->section = section;
    values->place = place;
    values->values = g_new0(TopoValue, section->n_keys);
    for (i = 0; i < section->n_keys; i++) {
        TopoValue *value = &values->values[i];

        value->place = place;
        if (section->keys[i].fallback) {
            value->text = section->keys[i].fallback;
            value->valid = read_scalar(&section->keys[i], value, NULL);
            g_assert(value->valid);
        }
    }
    return values;
}

TopoValues *topo_values_copy(const TopoValues *values)
{
    TopoValues *copy = g_new0(TopoValues, 1);

    copy->section = values->section;
    copy->place = values->place;
    copy->values =
        g_memdup2(values->values, sizeof(TopoValue) * values->section->n_keys);
    return copy;
}

TopoValues *topo_values_read(const TopoSection *section, const TopoNode *node,
                             TopoErrors *errors)
{
    TopoValues *values = topo_values_new(section, node->place);
    unsigned i;

    topo_values_merge(values, node, NULL, 0, errors);
    if (node->kind != TOPO_NODE_MAP) {
        topo_values_free(values);
        return NULL;
    }
    for (i = 0; i < section->n_keys; i++) {
        const TopoKey *key = &section->keys[i];

        if ((key->flags & TOPO_KEY_REQUIRED) != 0 && !values->values[i].given) {
            report(errors, node->place, "%s %s needs the key '%s' (%s); add it",
                   topo_article(section->name), section->name, key->key,
                   key->help);
        }
    }
    return values;
}

void topo_values_free(TopoValues *values)
{
    if (!values) {
        return;
    }
    g_free(values->values);
    g_free(values);
}

const TopoValue *topo_values_get(const TopoValues *values, const char *key)
{
    return &values->values[topo_schema_index(values->section, key)];
}

const TopoValue *topo_values_typed(const TopoValues *values, const char *key,
                                   unsigned types)
{
    unsigned index = topo_schema_index(values->section, key);

    g_assert((types & 1u << values->section->keys[index].type) != 0);
    g_assert(values->values[index].valid);
    return &values->values[index];
}

const char *topo_values_text(const TopoValues *values, const char *key)
{
    const TopoValue *value = topo_values_get(values, key);

    return value->valid ? value->text : NULL;
}

int64_t topo_values_number(const TopoValues *values, const char *key)
{
    const TopoValue *value = topo_values_get(values, key);

    return value->valid ? value->number : 0;
}

bool topo_values_given(const TopoValues *values, const char *key)
{
    const TopoValue *value = topo_values_get(values, key);

    return value->given && value->valid;
}

GPtrArray *topo_values_items(const TopoValues *values, const char *key)
{
    const TopoValue *value = topo_values_get(values, key);
    GPtrArray *items = g_ptr_array_new();
    unsigned i;

    /* If one member of a list is wrong, the others are still read. */
    if (!value->given || value->node->kind != TOPO_NODE_LIST) {
        return items;
    }
    for (i = 0; i < value->node->items->len; i++) {
        const TopoNode *item = g_ptr_array_index(value->node->items, i);
        bool is_map = item->kind == TOPO_NODE_MAP;
        unsigned index = topo_schema_index(values->section, key);

        if (is_map == (values->section->keys[index].type == TOPO_TYPE_LIST)) {
            g_ptr_array_add(items, (void *)item);
        }
    }
    return items;
}
