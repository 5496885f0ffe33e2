/* SPDX-License-Identifier: MIT */
#include "rep_measured.h"

#include <string.h>

#include "table_csv.h"
#include "table_file.h"

/* The state while the files are joined into one table. */
typedef struct Measured {
    const TopoDescription *description;
    GPtrArray *paths;  /* of const char *, by file */
    GPtrArray *tables; /* of Table *, by file */
    GArray *columns;   /* of unsigned: indexes of the description's columns */
    GArray *found; /* of unsigned: index of each column in each file, by file
                      and column */
    GHashTable *points; /* key of each point (char *) to "file:line" */
    Table *joined;
} Measured;

static void free_table(void *data)
{
    table_free(data);
}

static void measured_done(Measured *measured)
{
    g_ptr_array_unref(measured->paths);
    g_ptr_array_unref(measured->tables);
    g_array_unref(measured->columns);
    g_array_unref(measured->found);
    g_hash_table_unref(measured->points);
    g_clear_pointer(&measured->joined, free_table);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Measured, measured_done)

static const TopoColumn *column_of(const Measured *measured, unsigned index)
{
    unsigned column = g_array_index(measured->columns, unsigned, index);

    return measured->description->columns->pdata[column];
}

static unsigned found_at(const Measured *measured, unsigned file,
                         unsigned index)
{
    return g_array_index(measured->found, unsigned,
                         file * measured->columns->len + index);
}

static bool fail(const Measured *measured, unsigned file, unsigned row,
                 GError **error, const char *format, ...) G_GNUC_PRINTF(5, 6);

static bool fail(const Measured *measured, unsigned file, unsigned row,
                 GError **error, const char *format, ...)
{
    g_autofree char *text = NULL;
    va_list args;

    va_start(args, format);
    text = g_strdup_vprintf(format, args);
    va_end(args);
    g_set_error(error, TABLE_ERROR, TABLE_ERROR_VALUE, "%s:%u: %s",
                (const char *)measured->paths->pdata[file],
                table_line(measured->tables->pdata[file], row), text);
    return false;
}

static void choose_columns(Measured *measured)
{
    const TopoDescription *description = measured->description;
    unsigned i;

    for (i = 0; i < description->columns->len; i++) {
        const TopoColumn *column = description->columns->pdata[i];

        if (column->is_key || i == description->plot->y) {
            g_array_append_val(measured->columns, i);
        }
    }
}

static bool read_file(Measured *measured, const char *path, GError **error)
{
    Table *table = table_read(path, error);
    unsigned file = measured->tables->len;
    unsigned i;

    if (!table) {
        return false;
    }
    g_ptr_array_add(measured->tables, table);
    g_ptr_array_add(measured->paths, (char *)path);
    for (i = 0; i < measured->columns->len; i++) {
        const char *name = column_of(measured, i)->name;
        unsigned found;

        if (!table_find_column(table, name, &found)) {
            return fail(measured, file, TABLE_HEADER_ROW, error,
                        "there is no column \"%s\"; the columns must be those "
                        "of the scenario's results",
                        name);
        }
        g_array_append_val(measured->found, found);
    }
    return true;
}

static bool is_number(const Measured *measured, unsigned index)
{
    const TopoDescription *description = measured->description;
    const TopoColumn *column = column_of(measured, index);
    unsigned i;

    if (g_array_index(measured->columns, unsigned, index) ==
        description->plot->y) {
        return true;
    }
    if (column->source != TOPO_SOURCE_AXIS) {
        return false;
    }
    for (i = 0;; i++) {
        const TopoAxis *axis = description->axes->pdata[column->axis];

        if (i == axis->values->len) {
            return true;
        }
        if (!((const TopoAxisValue *)axis->values->pdata[i])->has_number) {
            return false;
        }
    }
}

/* Returns the names that a text column may hold; NULL if they are not known. */
static GPtrArray *names_of(const Measured *measured, unsigned index)
{
    const TopoDescription *description = measured->description;
    const TopoColumn *column = column_of(measured, index);
    GPtrArray *names;
    unsigned i;

    if (is_number(measured, index) || (column->source != TOPO_SOURCE_VARIANT &&
                                       column->source != TOPO_SOURCE_AXIS)) {
        return NULL;
    }
    names = g_ptr_array_new();
    if (column->source == TOPO_SOURCE_VARIANT) {
        for (i = 0; i < description->variants->len; i++) {
            const TopoVariant *variant = description->variants->pdata[i];

            g_ptr_array_add(names, variant->name);
        }
    } else {
        const TopoAxis *axis = description->axes->pdata[column->axis];

        for (i = 0; i < axis->values->len; i++) {
            const TopoAxisValue *value = axis->values->pdata[i];

            g_ptr_array_add(names, value->label);
        }
    }
    return names;
}

static bool check_column(const Measured *measured, unsigned file,
                         unsigned index, GError **error)
{
    const Table *table = measured->tables->pdata[file];
    const char *name = column_of(measured, index)->name;
    unsigned column = found_at(measured, file, index);
    bool wants_number = is_number(measured, index);
    g_autoptr(GPtrArray) names = names_of(measured, index);
    unsigned row;

    for (row = 0; row < table_n_rows(table); row++) {
        g_autofree char *cell = table_dup_cell(table, row, column);
        int64_t value;
        unsigned digits;

        if (wants_number && *cell != '\0' &&
            !table_number_parse(cell, &value, &digits)) {
            return fail(measured, file, row, error, "%s: \"%s\" is no number",
                        name, cell);
        }
        if (names &&
            !g_ptr_array_find_with_equal_func(names, cell, g_str_equal, NULL)) {
            g_ptr_array_add(names, NULL);
            {
                g_autofree char *list = g_strjoinv(", ", (char **)names->pdata);

                return fail(measured, file, row, error,
                            "%s: the scenario has no \"%s\"; there are %s",
                            name, cell, list);
            }
        }
    }
    return true;
}

/* Adds a column with as many digits as the numbers of any file need. */
static void add_column(Measured *measured, unsigned index)
{
    unsigned most = 0;
    bool is_text = !is_number(measured, index);
    unsigned file;

    for (file = 0; file < measured->tables->len; file++) {
        unsigned column = found_at(measured, file, index);
        const Table *table = measured->tables->pdata[file];

        most = MAX(most, table_column_digits(table, column));
    }
    table_add_column(measured->joined, column_of(measured, index)->name,
                     is_text    ? TABLE_TEXT
                     : most > 0 ? TABLE_DECIMAL
                                : TABLE_INTEGER,
                     is_text ? 0 : most);
}

/* Records the point of the row. Fails if it was given before. */
static bool check_unique(Measured *measured, unsigned file, unsigned row,
                         GError **error)
{
    const Table *table = measured->tables->pdata[file];
    g_autoptr(GString) key = g_string_new(NULL);
    const char *first;
    unsigned i;

    for (i = 0; i < measured->columns->len; i++) {
        if (column_of(measured, i)->is_key) {
            g_autofree char *cell =
                table_dup_key(table, row, found_at(measured, file, i));

            g_string_append_printf(key, "%s%s", key->len > 0 ? " / " : "",
                                   cell);
        }
    }
    first = g_hash_table_lookup(measured->points, key->str);
    if (first) {
        return fail(measured, file, row, error,
                    "the point \"%s\" was given at %s already", key->str,
                    first);
    }
    g_hash_table_insert(
        measured->points, g_strdup(key->str),
        g_strdup_printf("%s:%u", (const char *)measured->paths->pdata[file],
                        table_line(table, row)));
    return true;
}

static bool add_row(Measured *measured, unsigned file, unsigned row,
                    GError **error)
{
    const Table *table = measured->tables->pdata[file];
    Table *joined = measured->joined;
    unsigned to;
    unsigned i;

    if (!check_unique(measured, file, row, error)) {
        return false;
    }
    to = table_add_row(joined);
    for (i = 0; i < measured->columns->len; i++) {
        unsigned column = found_at(measured, file, i);
        unsigned digits =
            table_column_digits(joined, i) - table_column_digits(table, column);
        int64_t value;

        if (table_column_type(joined, i) == TABLE_TEXT) {
            g_autofree char *cell = table_dup_cell(table, row, column);

            table_set_text(joined, to, i, cell);
            continue;
        }
        if (table_column_type(table, column) == TABLE_TEXT ||
            table_number(table, row, column) == TABLE_NONE) {
            return fail(measured, file, row, error, "%s: there is no number",
                        table_column_name(joined, i));
        }
        value = table_number(table, row, column);
        if (!table_number_scale(&value, digits)) {
            return fail(measured, file, row, error,
                        "%s: the number is too large beside those of %u "
                        "digits after the point",
                        table_column_name(joined, i),
                        table_column_digits(joined, i));
        }
        table_set_number(joined, to, i, value);
    }
    return true;
}

/* Returns true if y has a value in the row. */
static bool has_value(const Measured *measured, unsigned file, unsigned row)
{
    unsigned i;

    for (i = 0; i < measured->columns->len; i++) {
        if (g_array_index(measured->columns, unsigned, i) ==
            measured->description->plot->y) {
            g_autofree char *cell =
                table_dup_cell(measured->tables->pdata[file], row,
                               found_at(measured, file, i));

            return *cell != '\0';
        }
    }
    return false;
}

static bool join(Measured *measured, GError **error)
{
    unsigned file;
    unsigned row;
    unsigned i;

    for (file = 0; file < measured->tables->len; file++) {
        for (i = 0; i < measured->columns->len; i++) {
            if (!check_column(measured, file, i, error)) {
                return false;
            }
        }
    }
    for (i = 0; i < measured->columns->len; i++) {
        add_column(measured, i);
    }
    for (file = 0; file < measured->tables->len; file++) {
        const Table *table = measured->tables->pdata[file];

        for (row = 0; row < table_n_rows(table); row++) {
            if (has_value(measured, file, row) &&
                !add_row(measured, file, row, error)) {
                return false;
            }
        }
    }
    return true;
}

Table *rep_measured_read(const TopoDescription *description, GError **error)
{
    g_auto(Measured) measured = {
        .description = description,
        .paths = g_ptr_array_new(),
        .tables = g_ptr_array_new_with_free_func(free_table),
        .columns = g_array_new(FALSE, FALSE, sizeof(unsigned)),
        .found = g_array_new(FALSE, FALSE, sizeof(unsigned)),
        .points =
            g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free),
        .joined = table_new(),
    };
    unsigned i;

    if (!description->plot || description->plot->measured->len == 0) {
        return NULL;
    }
    choose_columns(&measured);
    for (i = 0; i < description->plot->measured->len; i++) {
        if (!read_file(&measured, description->plot->measured->pdata[i],
                       error)) {
            return NULL;
        }
    }
    return join(&measured, error) ? g_steal_pointer(&measured.joined) : NULL;
}
