/* SPDX-License-Identifier: MIT */
#include "rep_fidelity_priv.h"

#include <string.h>

#include "table_file.h"

/* The origin of a value. */
typedef enum Side {
    MODEL,
    PUBLISHED,
    MEASURED,
    N_SIDES,
} Side;

/* A table, and an index of its rows. */
typedef struct Source {
    const Table *table; /* NULL: there is no such table */
    const char *name;
    GHashTable *rows; /* key to row index + 1 */
} Source;

/* Sums over the points of a plateau. Values are in units of 10^-9. */
typedef struct Plateau {
    RepWide model;
    RepWide published;
    unsigned count;
} Plateau;

typedef struct Join {
    RepFidelity *fidelity;
    Source sources[N_SIDES];
    GArray *keys;       /* of unsigned: indexes of the key columns */
    GHashTable *curves; /* "column\nname" to the curve's index + 1 */
    bool *is_met;       /* by selection of `calibrated:`: a row matches */
    GArray *plateaus;   /* of Plateau, by curve */
} Join;

static const TopoColumn *column_at(const Join *join, unsigned index)
{
    return join->fidelity->description->columns->pdata[index];
}

/* ---- Rows ------------------------------------------------------------- */

/* Returns the cells of the key columns without the column @except, joined by
 * @glue. The caller frees the text. */
static char *join_keys(const Join *join, const Table *table, unsigned row,
                       int except, const char *glue)
{
    GString *key = g_string_new(NULL);
    bool is_first = true;
    unsigned i;

    for (i = 0; i < join->keys->len; i++) {
        unsigned index = g_array_index(join->keys, unsigned, i);
        unsigned column = 0;

        if ((int)index == except) {
            continue;
        }
        table_find_column(table, column_at(join, index)->name, &column);
        {
            g_autofree char *cell = table_dup_key(table, row, column);

            g_string_append_printf(key, "%s%s", is_first ? "" : glue, cell);
        }
        is_first = false;
    }
    return g_string_free(key, FALSE);
}

static bool index_rows(Join *join, Source *source, GError **error)
{
    unsigned row;
    unsigned i;

    for (i = 0; source->table && i < join->keys->len; i++) {
        unsigned index = g_array_index(join->keys, unsigned, i);
        const char *name = column_at(join, index)->name;

        if (!table_find_column(source->table, name, NULL)) {
            g_set_error(error, TABLE_ERROR, TABLE_ERROR_VALUE,
                        "%s: %s have no column \"%s\"",
                        join->fidelity->description->name, source->name, name);
            return false;
        }
    }
    for (row = 0; source->table && row < table_n_rows(source->table); row++) {
        char *key = join_keys(join, source->table, row, -1, "\n");

        g_hash_table_insert(source->rows, key, GUINT_TO_POINTER(row + 1));
    }
    return true;
}

/* ---- Points ----------------------------------------------------------- */

static bool is_text_column(const Join *join, const char *column)
{
    Side side;

    for (side = 0; side < N_SIDES; side++) {
        const Table *table = join->sources[side].table;
        unsigned index;

        if (table && table_find_column(table, column, &index) &&
            table_column_type(table, index) == TABLE_TEXT) {
            return true;
        }
    }
    return false;
}

static unsigned find_curve(Join *join, char *name, const char *column)
{
    RepFidelity *fidelity = join->fidelity;
    char *id = g_strdup_printf("%s\n%s", column, name);
    unsigned index = GPOINTER_TO_UINT(g_hash_table_lookup(join->curves, id));
    RepFidelityCurve *curve;

    if (index > 0) {
        g_free(id);
        return index - 1;
    }
    curve = g_new0(RepFidelityCurve, 1);
    curve->name = g_strdup(*name != '\0' ? name : "all");
    curve->column = column;
    curve->is_text = is_text_column(join, column);
    curve->plateau_mpct = TABLE_NONE;
    g_ptr_array_add(fidelity->curves, curve);
    g_array_set_size(join->plateaus, fidelity->curves->len);
    g_hash_table_insert(join->curves, id,
                        GUINT_TO_POINTER(fidelity->curves->len));
    return fidelity->curves->len - 1;
}

static bool selection_holds(const Join *join, const TopoSelection *selection,
                            const Table *table, unsigned row)
{
    unsigned i;

    for (i = 0; i < selection->terms->len; i++) {
        const TopoTerm *term = selection->terms->pdata[i];
        unsigned column = 0;
        g_autofree char *cell = NULL;

        table_find_column(table, column_at(join, term->column)->name, &column);
        cell = table_dup_key(table, row, column);
        if (strcmp(cell, term->text) != 0) {
            return false;
        }
    }
    return true;
}

/* Returns true if the parts were calibrated on @row of the published table. */
static bool is_calibrated(Join *join, unsigned row)
{
    const TopoPlot *plot = join->fidelity->description->plot;
    bool result = plot->calibrated_all;
    unsigned i;

    for (i = 0; i < plot->calibrated->len; i++) {
        if (selection_holds(join, plot->calibrated->pdata[i],
                            join->sources[PUBLISHED].table, row)) {
            join->is_met[i] = true;
            result = true;
        }
    }
    return result;
}

/* Returns the cell of @column in the row with @key; "" if there is none. */
static char *find_cell(const Source *source, const char *key,
                       const char *column, RepWide *ret_nano, bool *ret_number)
{
    unsigned row, index;

    *ret_number = false;
    row = source->table
              ? GPOINTER_TO_UINT(g_hash_table_lookup(source->rows, key))
              : 0;
    if (row == 0 || !table_find_column(source->table, column, &index)) {
        return g_strdup("");
    }
    if (table_column_type(source->table, index) != TABLE_TEXT &&
        table_number(source->table, row - 1, index) != TABLE_NONE) {
        *ret_number = true;
        *ret_nano = rep_widen(table_number(source->table, row - 1, index),
                              table_column_digits(source->table, index));
    }
    return table_dup_cell(source->table, row - 1, index);
}

/* Returns true if @x is a number of bytes that is part of a plateau. */
static bool is_on_plateau(const Join *join, const char *x)
{
    const TopoPlot *plot = join->fidelity->description->plot;
    int64_t value;
    unsigned digits;

    return g_str_has_suffix(column_at(join, plot->x)->name, "_bytes") &&
           table_number_parse(x, &value, &digits) && digits == 0 &&
           value >= REP_PLATEAU_BYTES;
}

/* Adds the errors of @point to the sums. @values has a value for each side
 * whose @has is true. */
static void count_point(Join *join, RepFidelityPoint *point,
                        const RepWide *values, const bool *has)
{
    RepFidelity *fidelity = join->fidelity;
    RepFidelityCurve *curve = fidelity->curves->pdata[point->curve];

    point->published_mpct = TABLE_NONE;
    point->measured_mpct = TABLE_NONE;
    point->is_equal = strcmp(point->model, point->published) == 0;
    if (*point->model != '\0' && *point->published != '\0') {
        curve->n_published++;
        curve->n_equal += point->is_equal;
    }
    if (has[MODEL] && has[PUBLISHED]) {
        point->published_mpct =
            rep_error_mpct(values[MODEL], values[PUBLISHED]);
    }
    if (has[MODEL] && has[MEASURED]) {
        point->measured_mpct = rep_error_mpct(values[MODEL], values[MEASURED]);
    }
    if (point->published_mpct != TABLE_NONE) {
        rep_errors_take(point->is_calibrated ? &curve->calibrated
                                             : &curve->predicted,
                        point->published_mpct, point->x);
        rep_errors_take(point->is_calibrated ? &fidelity->calibrated
                                             : &fidelity->predicted,
                        point->published_mpct, point->x);
        if (is_on_plateau(join, point->x)) {
            Plateau *plateau =
                &g_array_index(join->plateaus, Plateau, point->curve);

            plateau->model += values[MODEL];
            plateau->published += values[PUBLISHED];
            plateau->count++;
            curve->has_plateau = true;
        }
    }
    if (point->measured_mpct != TABLE_NONE) {
        rep_errors_take(&curve->measured, point->measured_mpct, point->x);
        rep_errors_take(&fidelity->measured, point->measured_mpct, point->x);
    }
}

/* Returns the bound of the error that @row of the published table gives. */
static int64_t find_bound(const Join *join, unsigned row)
{
    const Table *table = join->sources[PUBLISHED].table;
    unsigned column;
    int64_t bound;

    if (!table_find_column(table, "bound_percent", &column) ||
        table_column_type(table, column) == TABLE_TEXT ||
        table_column_digits(table, column) > 3) {
        return TABLE_NONE;
    }
    bound = table_number(table, row, column);
    if (bound == TABLE_NONE ||
        !table_number_scale(&bound, 3 - table_column_digits(table, column))) {
        return TABLE_NONE;
    }
    return bound;
}

/* Adds the point of @column in the row of @source with @key. */
static void add_point(Join *join, const Source *source, unsigned row,
                      const char *key, const char *column)
{
    const TopoPlot *plot = join->fidelity->description->plot;
    bool x_is_key = column_at(join, plot->x)->is_key;
    unsigned x_index = plot->x;
    RepFidelityPoint *point = g_new0(RepFidelityPoint, 1);
    g_autofree char *curve = NULL;
    RepWide values[N_SIDES] = {0};
    bool has[N_SIDES];
    unsigned published;
    unsigned x = 0;

    if (!x_is_key) {
        x_index = g_array_index(join->keys, unsigned, join->keys->len - 1);
    }
    curve = join_keys(join, source->table, row, (int)x_index, " / ");
    point->curve = find_curve(join, curve, column);
    table_find_column(source->table, column_at(join, x_index)->name, &x);
    point->x = table_dup_key(source->table, row, x);
    point->model = find_cell(&join->sources[MODEL], key, column, &values[MODEL],
                             &has[MODEL]);
    point->published = find_cell(&join->sources[PUBLISHED], key, column,
                                 &values[PUBLISHED], &has[PUBLISHED]);
    point->measured = find_cell(&join->sources[MEASURED], key, column,
                                &values[MEASURED], &has[MEASURED]);
    published = GPOINTER_TO_UINT(
        join->sources[PUBLISHED].table
            ? g_hash_table_lookup(join->sources[PUBLISHED].rows, key)
            : NULL);
    point->bound_mpct = TABLE_NONE;
    if (published > 0) {
        point->is_calibrated = is_calibrated(join, published - 1);
        point->bound_mpct = find_bound(join, published - 1);
    }
    g_ptr_array_add(join->fidelity->points, point);
    count_point(join, point, values, has);
}

/* Returns true for y, and for columns other than the key that the published or
 * measured table has. */
static bool is_compared(const Join *join, unsigned index)
{
    const TopoColumn *column = column_at(join, index);
    Side side;

    for (side = PUBLISHED; side < N_SIDES; side++) {
        if (join->sources[side].table &&
            table_find_column(join->sources[side].table, column->name, NULL)) {
            return !column->is_key;
        }
    }
    return !column->is_key && index == join->fidelity->description->plot->y;
}

/* Adds the points of @side whose rows the previous sides do not have. */
static void add_side(Join *join, Side side)
{
    const Source *source = &join->sources[side];
    const GPtrArray *columns = join->fidelity->description->columns;
    unsigned row;
    unsigned i;

    for (row = 0; source->table && row < table_n_rows(source->table); row++) {
        g_autofree char *key = join_keys(join, source->table, row, -1, "\n");
        bool is_new = true;
        Side other;

        for (other = 0; other < side; other++) {
            is_new = is_new &&
                     (!join->sources[other].table ||
                      !g_hash_table_contains(join->sources[other].rows, key));
        }
        for (i = 0; is_new && i < columns->len; i++) {
            if (is_compared(join, i)) {
                add_point(join, source, row, key, column_at(join, i)->name);
            }
        }
    }
}

static bool check_selections(const Join *join, GError **error)
{
    const TopoPlot *plot = join->fidelity->description->plot;
    unsigned i;

    for (i = 0; i < plot->calibrated->len; i++) {
        const TopoSelection *selection = plot->calibrated->pdata[i];

        if (!join->is_met[i]) {
            g_autofree char *place = topo_place_to_string(selection->place);

            g_set_error(
                error, TABLE_ERROR, TABLE_ERROR_VALUE,
                "%s: calibrated: no published value matches; name points "
                "that were published",
                place);
            return false;
        }
    }
    return true;
}

/* ---- Values that parts were fitted on ---------------------------------- */

/* The check that no value that a part was fitted on is called predicted. */
typedef struct FittedCheck {
    Join *join;
    const TopoPart *part;
    GError **error;
} FittedCheck;

/* Returns true if @row of the published table has all @cells. Sets *ret_unknown
 * to the name of a column that the table does not have. */
static bool row_has_cells(const Table *table, unsigned row,
                          const GPtrArray *cells, const char **ret_unknown)
{
    for (unsigned i = 0; i < cells->len; i++) {
        const TopoFittedCell *cell = cells->pdata[i];
        g_autofree char *text = NULL;
        unsigned column;

        if (!table_find_column(table, cell->column, &column)) {
            *ret_unknown = cell->column;
            return false;
        }
        text = table_dup_key(table, row, column);
        if (!g_str_equal(text, cell->text)) {
            return false;
        }
    }
    return true;
}

/* Checks the rows of the published table that have all @cells; NULL: all. */
static bool check_rows(const FittedCheck *check, const TopoFitted *fitted,
                       const GPtrArray *cells)
{
    const Source *published = &check->join->sources[PUBLISHED];
    g_autofree char *place = topo_place_to_string(fitted->place);
    const char *unknown = NULL;
    bool found = false;

    for (unsigned row = 0; row < table_n_rows(published->table); row++) {
        g_autofree char *name = NULL;

        if (cells && !row_has_cells(published->table, row, cells, &unknown)) {
            continue;
        }
        found = true;
        if (is_calibrated(check->join, row)) {
            continue;
        }
        name = join_keys(check->join, published->table, row, -1, ", ");
        g_set_error(check->error, TABLE_ERROR, TABLE_ERROR_VALUE,
                    "%s: the published value \"%s\" counts as predicted, but "
                    "part %s was fitted on it (%s); add it to plot.calibrated",
                    check->join->fidelity->description->file, name,
                    topo_part_name(check->part), place);
        return false;
    }
    if (!found) {
        g_set_error(check->error, TABLE_ERROR, TABLE_ERROR_VALUE,
                    "%s: calibrated: no row of %s matches%s%s%s; name rows "
                    "that it has",
                    place, fitted->file,
                    unknown ? ", because it has no column \"" : "",
                    unknown ? unknown : "", unknown ? "\"" : "");
    }
    return found;
}

static bool check_part(Join *join, const TopoPart *part, GError **error)
{
    const char *published = join->fidelity->description->plot->published;
    const GPtrArray *all = topo_part_fitted(part);
    const FittedCheck check = {join, part, error};
    g_autofree char *path = NULL;

    if (!published || !join->sources[PUBLISHED].table) {
        return true;
    }
    path = g_canonicalize_filename(published, NULL);
    for (unsigned i = 0; i < all->len; i++) {
        const TopoFitted *fitted = all->pdata[i];

        if (!g_str_equal(fitted->file, path)) {
            continue;
        }
        if (fitted->all && !check_rows(&check, fitted, NULL)) {
            return false;
        }
        for (unsigned j = 0; j < fitted->rows->len; j++) {
            if (!check_rows(&check, fitted, fitted->rows->pdata[j])) {
                return false;
            }
        }
    }
    return true;
}

static bool check_host(Join *join, const TopoHost *host, GError **error)
{
    if (!check_part(join, host->cpu, error)) {
        return false;
    }
    for (unsigned i = 0; i < host->switches->len; i++) {
        const TopoSwitch *one = host->switches->pdata[i];

        if (!check_part(join, one->part, error)) {
            return false;
        }
    }
    for (unsigned i = 0; i < host->devices->len; i++) {
        const TopoDevice *one = host->devices->pdata[i];

        if (!check_part(join, one->part, error)) {
            return false;
        }
    }
    return true;
}

static bool check_parts(Join *join, GError **error)
{
    const GPtrArray *hosts = join->fidelity->description->hosts;

    for (unsigned i = 0; i < hosts->len; i++) {
        if (!check_host(join, hosts->pdata[i], error)) {
            return false;
        }
    }
    return true;
}

static void finish_curve(RepFidelityCurve *curve, const Plateau *plateau)
{
    rep_errors_finish(&curve->calibrated);
    rep_errors_finish(&curve->predicted);
    rep_errors_finish(&curve->measured);
    if (curve->has_plateau) {
        RepWide unit = (RepWide)plateau->count * 1000000;

        curve->plateau_mpct =
            rep_error_mpct(plateau->model, plateau->published);
        curve->plateau_model =
            table_number_print(rep_divide(plateau->model, unit), 3);
        curve->plateau_published =
            table_number_print(rep_divide(plateau->published, unit), 3);
    }
}

static int compare_points(gconstpointer a, gconstpointer b)
{
    const RepFidelityPoint *p = *(RepFidelityPoint *const *)a;
    const RepFidelityPoint *q = *(RepFidelityPoint *const *)b;

    return (p->curve > q->curve) - (p->curve < q->curve);
}

static bool join_all(Join *join, GError **error)
{
    RepFidelity *fidelity = join->fidelity;
    Side side;
    unsigned i;

    for (side = 0; side < N_SIDES; side++) {
        if (!index_rows(join, &join->sources[side], error)) {
            return false;
        }
    }
    for (side = 0; side < N_SIDES; side++) {
        add_side(join, side);
    }
    if (!check_selections(join, error) || !check_parts(join, error)) {
        return false;
    }
    for (i = 0; i < fidelity->curves->len; i++) {
        finish_curve(fidelity->curves->pdata[i],
                     &g_array_index(join->plateaus, Plateau, i));
    }
    rep_errors_finish(&fidelity->calibrated);
    rep_errors_finish(&fidelity->predicted);
    rep_errors_finish(&fidelity->measured);
    /* The sort is stable: points of one curve stay in the order of their
     * rows. */
    g_ptr_array_sort(fidelity->points, compare_points);
    return true;
}

static void join_done(Join *join)
{
    unsigned i;

    for (i = 0; i < N_SIDES; i++) {
        g_hash_table_unref(join->sources[i].rows);
    }
    g_array_unref(join->keys);
    g_hash_table_unref(join->curves);
    g_free(join->is_met);
    g_array_unref(join->plateaus);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Join, join_done)

bool rep_fidelity_join(RepFidelity *fidelity, const Table *model,
                       const Table *published, const Table *measured,
                       GError **error)
{
    const TopoDescription *description = fidelity->description;
    g_auto(Join) join = {
        .fidelity = fidelity,
        .sources = {{model, "the results", NULL},
                    {published, "the published values", NULL},
                    {measured, "the measured values", NULL}},
        .keys = g_array_new(FALSE, FALSE, sizeof(unsigned)),
        .curves = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL),
        .is_met = g_new0(bool, description->plot->calibrated->len + 1),
        .plateaus = g_array_new(FALSE, TRUE, sizeof(Plateau)),
    };
    unsigned i;

    for (i = 0; i < N_SIDES; i++) {
        join.sources[i].rows =
            g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    }
    for (i = 0; i < description->columns->len; i++) {
        if (column_at(&join, i)->is_key) {
            g_array_append_val(join.keys, i);
        }
    }
    return join.keys->len == 0 || join_all(&join, error);
}
