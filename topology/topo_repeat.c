/* SPDX-License-Identifier: MIT */
#include "topo_repeat_priv.h"

#include <string.h>

#include "topo_units.h"

#define COUNT_MAX   1000000
#define NESTING_MAX 64 /* most parentheses and signs inside each other */

/* The index of a `repeat:`, or a name of an `each:`; @outer is that of the
 * enclosing one. */
typedef struct Index {
    const struct Index *outer;
    const char *name;
    int64_t value;
    const char *text; /* of an `each:`; NULL: `value` counts */
} Index;

typedef struct Expander {
    TopoErrors *errors;
    unsigned count; /* nodes made so far */
    size_t bytes;   /* bytes of all texts made so far */
    bool full;      /* a limit is reached: no more nodes are made */
    bool good;
} Expander;

/* One expression in braces. */
typedef struct Expression {
    const char *next; /* the rest of the text */
    const Index *scope;
    unsigned depth;
    const char *problem; /* NULL: none so far */
} Expression;

static int64_t parse_sum(Expression *e);

static int64_t fail(Expression *e, const char *problem)
{
    if (!e->problem) {
        e->problem = problem;
    }
    return 0;
}

static char peek(Expression *e)
{
    while (*e->next == ' ') {
        e->next++;
    }
    return *e->next;
}

/* Goes over a name. Returns its index; NULL if there is none. */
static const Index *find_name(Expression *e)
{
    const char *begin = e->next;
    const Index *index;
    size_t length;

    while (g_ascii_isalnum(*e->next) || *e->next == '_') {
        e->next++;
    }
    length = (size_t)(e->next - begin);
    for (index = e->scope; index; index = index->outer) {
        if (strlen(index->name) == length &&
            strncmp(index->name, begin, length) == 0) {
            return index;
        }
    }
    return NULL;
}

static int64_t parse_name(Expression *e)
{
    const Index *index = find_name(e);

    if (!index) {
        return fail(e, "names no index of a `repeat:` around it");
    }
    return index->text ? fail(e, "counts with a text of `each:`; write its "
                                 "name alone")
                       : index->value;
}

static int64_t parse_number(Expression *e)
{
    int64_t value = 0;

    for (; g_ascii_isdigit(*e->next); e->next++) {
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, *e->next - '0', &value)) {
            return fail(e, "is too large");
        }
    }
    return value;
}

static int64_t parse_factor(Expression *e)
{
    int64_t value = 0;
    char c = peek(e);

    if (g_ascii_isdigit(c)) {
        return parse_number(e);
    }
    if (g_ascii_isalpha(c)) {
        return parse_name(e);
    }
    if (c != '(' && c != '-') {
        return fail(e, "is not an expression; use + - * / % ( ), numbers and "
                       "the index");
    }
    if (++e->depth > NESTING_MAX) {
        return fail(e, "is nested too deep");
    }
    e->next++;
    if (c == '(') {
        value = parse_sum(e);
        if (peek(e) != ')') {
            return fail(e, "has a ( without a )");
        }
        e->next++;
    } else if (__builtin_sub_overflow(0, parse_factor(e), &value)) {
        fail(e, "is too large");
    }
    e->depth--;
    return value;
}

/* Divides and rounds down. So {(i-1)%n} is n-1 for i = 0, which closes a
 * ring. */
static int64_t divide(Expression *e, int64_t a, int64_t b, char operator)
{
    int64_t quotient, rest;

    if (b == 0) {
        return fail(e, "divides by zero");
    }
    if (a == INT64_MIN && b == -1) {
        return fail(e, "is too large");
    }
    quotient = a / b;
    rest = a % b;
    if (rest != 0 && (rest < 0) != (b < 0)) {
        quotient--;
        rest += b;
    }
    return operator== '/' ? quotient : rest;
}

static int64_t parse_product(Expression *e)
{
    int64_t value = parse_factor(e);
    char c;

    while (!e->problem && ((c = peek(e)) == '*' || c == '/' || c == '%')) {
        int64_t right;

        e->next++;
        right = parse_factor(e);
        if (e->problem) {
            break;
        }
        if (c != '*') {
            value = divide(e, value, right, c);
        } else if (__builtin_mul_overflow(value, right, &value)) {
            fail(e, "is too large");
        }
    }
    return value;
}

static int64_t parse_sum(Expression *e)
{
    int64_t value = parse_product(e);
    char c;

    while (!e->problem && ((c = peek(e)) == '+' || c == '-')) {
        int64_t right;
        bool overflow;

        e->next++;
        right = parse_product(e);
        overflow = c == '+' ? __builtin_add_overflow(value, right, &value)
                            : __builtin_sub_overflow(value, right, &value);
        if (overflow) {
            fail(e, "is too large");
        }
    }
    return value;
}

/* Appends the value of the expression of @length bytes at @text. */
static bool append_value(const char *text, size_t length, const Index *scope,
                         GString *out, const char **ret_problem)
{
    g_autofree char *copy = g_strndup(text, length);
    Expression e = {.next = copy, .scope = scope};
    const Index *index = g_ascii_isalpha(peek(&e)) ? find_name(&e) : NULL;
    int64_t value;

    if (index && index->text && peek(&e) == '\0') {
        g_string_append(out, index->text);
        return true;
    }
    e.next = copy;
    value = parse_sum(&e);
    if (!e.problem && peek(&e) != '\0') {
        fail(&e, "is not an expression; use + - * / % ( ), numbers and the "
                 "index");
    }
    if (e.problem) {
        *ret_problem = e.problem;
        return false;
    }
    g_string_append_printf(out, "%" G_GINT64_FORMAT, value);
    return true;
}

/* Returns @text with its expressions replaced by their values. {{ and }} become
 * single braces. */
static char *substitute(Expander *expander, const char *text, TopoPlace place,
                        const Index *scope)
{
    GString *out;

    if (!scope || !strpbrk(text, "{}")) {
        return g_strdup(text);
    }
    out = g_string_new(NULL);
    while (*text != '\0') {
        const char *end = strchr(text, '}');
        const char *problem = NULL;

        if ((text[0] == '{' || text[0] == '}') && text[1] == text[0]) {
            g_string_append_c(out, text[0]);
            text += 2;
        } else if (*text != '{') {
            g_string_append_c(out, *text++);
        } else if (!end) {
            topo_errors_add(expander->errors, place,
                            "'%s' has a { without a }; write {{ for a brace",
                            text);
            expander->good = false;
            break;
        } else {
            int length = (int)(end - text - 1);

            if (!append_value(text + 1, (size_t)length, scope, out, &problem)) {
                topo_errors_add(expander->errors, place, "'{%.*s}' %s%s",
                                length, text + 1, problem,
                                "; write {{ for a brace");
                expander->good = false;
            }
            text = end + 1;
        }
    }
    return g_string_free(out, FALSE);
}

/* Counts a node with @text (nullable); reports it if that exceeds a limit. */
static void count_node(Expander *expander, const char *text, TopoPlace place)
{
    expander->count++;
    expander->bytes += text ? strlen(text) : 0;
    if (expander->count > TOPO_NODE_COUNT_MAX ||
        expander->bytes > TOPO_NODE_BYTES_MAX) {
        topo_errors_add(expander->errors, place,
                        "after `repeat:` there are more than %u values or %u "
                        "MiB; write smaller counts",
                        TOPO_NODE_COUNT_MAX, TOPO_NODE_BYTES_MAX >> 20);
        expander->full = true;
        expander->good = false;
    }
}

static TopoNode *expand(Expander *expander, const TopoNode *node,
                        const Index *scope, bool is_member);

/* Reads the count and the name of the index of a `repeat:`. */
static bool read_repeat(Expander *expander, const TopoNode *node,
                        const Index *scope, int64_t *ret_count,
                        const char **ret_name)
{
    const TopoNode *count = node;
    const TopoNode *name = NULL;
    g_autofree char *text = NULL;
    const Index *index;
    unsigned i;

    *ret_name = "i";
    if (node->kind == TOPO_NODE_MAP) {
        count = topo_node_get(node, "count");
        name = topo_node_get(node, "index");
        for (i = 0; i < node->items->len; i++) {
            const TopoEntry *entry = g_ptr_array_index(node->items, i);

            if (entry->value != count && entry->value != name) {
                topo_errors_add(expander->errors, entry->place,
                                "unknown key '%s' of a repeat; there are count "
                                "and index",
                                entry->key);
                return false;
            }
        }
    }
    if (name && name->kind == TOPO_NODE_SCALAR) {
        *ret_name = name->text;
    }
    if (!count || count->kind != TOPO_NODE_SCALAR ||
        !g_ascii_isalpha(**ret_name) || (name && !name->text)) {
        topo_errors_add(expander->errors, node->place,
                        "a repeat is a number or a map; write repeat: 4 or "
                        "repeat: {count: 4, index: j}");
        return false;
    }
    for (index = scope; index; index = index->outer) {
        if (strcmp(index->name, *ret_name) == 0) {
            topo_errors_add(expander->errors, node->place,
                            "an outer repeat has the index '%s', too; choose "
                            "another, as in repeat: {count: 4, index: j}",
                            *ret_name);
            return false;
        }
    }
    text = substitute(expander, count->text, count->place, scope);
    if (!topo_units_parse(TOPO_UNIT_NONE, text, ret_count, NULL) ||
        *ret_count < 1 || *ret_count > COUNT_MAX) {
        topo_errors_add(expander->errors, count->place,
                        "repeat: '%s' is not a count; write a number from 1 to "
                        "%d",
                        count->text, COUNT_MAX);
        return false;
    }
    return true;
}

#define EACH_MAX 8 /* names of an `each:` */

/* Reads `each:`, a map of names to lists of equal length. Returns the length; 0
 * after an error. */
static unsigned read_each(Expander *expander, const TopoNode *each,
                          const Index *scope)
{
    const TopoNode *wrong = each->kind == TOPO_NODE_MAP ? NULL : each;
    unsigned length = 0;

    for (unsigned i = 0; !wrong && i < each->items->len; i++) {
        const TopoEntry *entry = g_ptr_array_index(each->items, i);
        const TopoNode *list = entry->value;

        if (list->kind != TOPO_NODE_LIST || !g_ascii_isalpha(*entry->key) ||
            i == EACH_MAX || (length && list->items->len != length)) {
            wrong = list;
            break;
        }
        length = list->items->len;
        for (unsigned j = 0; j < length && !wrong; j++) {
            const TopoNode *text = g_ptr_array_index(list->items, j);

            wrong = text->kind == TOPO_NODE_SCALAR ? NULL : text;
        }
        for (const Index *index = scope; index; index = index->outer) {
            wrong = strcmp(index->name, entry->key) == 0 ? list : wrong;
        }
    }
    if (wrong || length == 0) {
        topo_errors_add(expander->errors, wrong ? wrong->place : each->place,
                        "an `each:` gives lists of equal length to at most %d "
                        "new names; write for example each: {g: [g0, g1]}",
                        EACH_MAX);
        return 0;
    }
    return length;
}

/* The copies of @item, which has `each:`. */
static void each_item(Expander *expander, const TopoNode *item,
                      const TopoNode *each, const Index *scope, TopoNode *list)
{
    unsigned length = read_each(expander, each, scope);
    Index names[EACH_MAX];
    bool good = expander->good && length > 0;

    expander->good = true;
    for (unsigned j = 0; j < length && expander->good; j++) {
        const Index *inner = scope;

        for (unsigned i = 0; i < each->items->len; i++) {
            const TopoEntry *entry = g_ptr_array_index(each->items, i);
            const TopoNode *text = g_ptr_array_index(entry->value->items, j);

            names[i] = (Index){inner, entry->key, 0, text->text};
            inner = &names[i];
        }
        topo_node_append(list, expand(expander, item, inner, true));
    }
    expander->good = expander->good && good;
}

static void repeat_item(Expander *expander, const TopoNode *item,
                        const Index *scope, TopoNode *list)
{
    const TopoNode *repeat = topo_node_get(item, "repeat");
    const TopoNode *each = topo_node_get(item, "each");
    Index index = {.outer = scope};
    bool good = expander->good;
    int64_t count;

    if (repeat && each) {
        topo_errors_add(expander->errors, each->place,
                        "a member has either `repeat:` or `each:`; leave one "
                        "of them out");
        expander->good = false;
        return;
    }
    if (each) {
        each_item(expander, item, each, scope, list);
        return;
    }
    if (!repeat) {
        topo_node_append(list, expand(expander, item, scope, false));
        return;
    }
    if (!read_repeat(expander, repeat, scope, &count, &index.name)) {
        expander->good = false;
        return;
    }
    /* The loop ends at the first error: the other copies would repeat it. */
    expander->good = true;
    for (; index.value < count && expander->good; index.value++) {
        topo_node_append(list, expand(expander, item, &index, true));
    }
    expander->good = expander->good && good;
}

/* Returns a copy of @node. If @is_member is true, the copy has no `repeat:` and
 * no `each:`. */
static TopoNode *expand(Expander *expander, const TopoNode *node,
                        const Index *scope, bool is_member)
{
    TopoNode *copy = topo_node_new(node->kind, node->place);
    unsigned i;

    count_node(expander, node->text, node->place);
    if (node->kind == TOPO_NODE_SCALAR) {
        copy->text = substitute(expander, node->text, node->place, scope);
        return copy;
    }
    for (i = 0; i < node->items->len && !expander->full; i++) {
        if (node->kind == TOPO_NODE_LIST) {
            repeat_item(expander, g_ptr_array_index(node->items, i), scope,
                        copy);
        } else {
            const TopoEntry *entry = g_ptr_array_index(node->items, i);
            TopoEntry *twin;

            if (is_member && (strcmp(entry->key, "repeat") == 0 ||
                              strcmp(entry->key, "each") == 0)) {
                continue;
            }
            twin = g_new0(TopoEntry, 1);
            count_node(expander, entry->key, entry->place);
            twin->key = substitute(expander, entry->key, entry->place, scope);
            twin->place = entry->place;
            twin->value = expand(expander, entry->value, scope, false);
            g_ptr_array_add(copy->items, twin);
        }
    }
    return copy;
}

/* Returns whether any map in @node has the key `repeat` or `each`. */
static bool has_repeat(const TopoNode *node)
{
    unsigned i;

    for (i = 0; node->items && i < node->items->len; i++) {
        const TopoEntry *entry = g_ptr_array_index(node->items, i);

        if (node->kind == TOPO_NODE_LIST
                ? has_repeat(g_ptr_array_index(node->items, i))
                : strcmp(entry->key, "repeat") == 0 ||
                      strcmp(entry->key, "each") == 0 ||
                      has_repeat(entry->value)) {
            return true;
        }
    }
    return false;
}

TopoNode *topo_repeat_expand(TopoNode *node, TopoErrors *errors)
{
    Expander expander = {.errors = errors, .good = true};
    TopoNode *copy;

    if (!has_repeat(node)) {
        return node; /* braces mean something inside of `repeat:` alone */
    }
    copy = expand(&expander, node, NULL, false);
    if (!expander.good) {
        g_clear_pointer(&copy, topo_node_free);
    }
    topo_node_free(node);
    return copy;
}
