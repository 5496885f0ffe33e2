/* SPDX-License-Identifier: MIT */
#include "rep_report.h"

#include <string.h>

#include "topo_plan.h"

#include "rep_measured.h"
#include "table_csv.h"
#include "table_file.h"

struct RepReport {
    GPtrArray *scenarios;    /* of RepScenario * */
    GPtrArray *parts;        /* of RepPartUse * */
    GPtrArray *descriptions; /* of TopoDescription *: they own the parts */
};

static void scenario_free(void *data)
{
    RepScenario *scenario = data;

    rep_fidelity_free(scenario->fidelity);
    topo_description_free(scenario->description);
    table_free(scenario->table);
    table_free(scenario->explain);
    g_free(scenario->text);
    g_free(scenario->plot);
    g_free(scenario->waterfall);
    g_free(scenario);
}

static void use_free(void *data)
{
    RepPartUse *use = data;

    g_ptr_array_unref(use->scenarios);
    g_free(use);
}

static void description_free(void *data)
{
    topo_description_free(data);
}

void rep_report_free(RepReport *report)
{
    if (report) {
        g_ptr_array_unref(report->parts);
        g_ptr_array_unref(report->scenarios);
        g_ptr_array_unref(report->descriptions);
        g_free(report);
    }
}

/* ---- Parts ------------------------------------------------------------ */

static bool is_same_part(const TopoPart *a, const TopoPart *b)
{
    unsigned i;

    if (strcmp(topo_part_name(a), topo_part_name(b)) != 0 ||
        topo_part_kind(a) != topo_part_kind(b)) {
        return false;
    }
    for (i = 0; i < topo_part_n_values(a); i++) {
        g_auto(TopoPartValue) x = {0};
        g_auto(TopoPartValue) y = {0};

        topo_part_value(a, i, &x);
        topo_part_value(b, i, &y);
        if (g_strcmp0(x.text, y.text) != 0) {
            return false;
        }
    }
    return true;
}

/* Adds @part to the parts of the scenario @name. Returns true if the part is
 * new. */
static bool add_part(RepReport *report, const TopoPart *part, const char *name)
{
    RepPartUse *use = NULL;
    bool is_new;
    unsigned i;

    for (i = 0; !use && i < report->parts->len; i++) {
        RepPartUse *other = report->parts->pdata[i];

        if (is_same_part(other->part, part)) {
            use = other;
        }
    }
    is_new = !use;
    if (is_new) {
        use = g_new0(RepPartUse, 1);
        use->part = part;
        use->scenarios = g_ptr_array_new();
        g_ptr_array_add(report->parts, use);
    }
    if (!g_ptr_array_find_with_equal_func(use->scenarios, name, g_str_equal,
                                          NULL)) {
        g_ptr_array_add(use->scenarios, (char *)name);
    }
    return is_new;
}

/* Adds all parts of @description. Returns true if one of them is new. */
static bool add_parts(RepReport *report, const TopoDescription *description,
                      const char *name)
{
    bool is_new = false;
    unsigned i, j;

    for (i = 0; i < description->hosts->len; i++) {
        const TopoHost *host = description->hosts->pdata[i];

        is_new = add_part(report, host->cpu, name) || is_new;
        for (j = 0; j < host->switches->len; j++) {
            const TopoSwitch *at = host->switches->pdata[j];

            is_new = add_part(report, at->part, name) || is_new;
        }
        for (j = 0; j < host->devices->len; j++) {
            const TopoDevice *device = host->devices->pdata[j];

            is_new = add_part(report, device->part, name) || is_new;
        }
    }
    return is_new;
}

/* Adds the parts of every variant, with the first value of each axis. Axes
 * change the amount of data, not the parts. */
static bool add_variants(RepReport *report, const TopoDescription *description,
                         GError **error)
{
    g_autoptr(TopoErrors) errors = topo_errors_new();
    g_autoptr(GPtrArray) points = topo_plan_points(description, errors);
    const TopoVariant *last = NULL;
    unsigned i;

    add_parts(report, description, description->name);
    for (i = 0; points && i < points->len; i++) {
        const TopoPoint *point = points->pdata[i];
        g_autoptr(TopoDescription) changed = NULL;

        if (point->variant == last) {
            continue;
        }
        last = point->variant;
        changed = topo_load(description->file, point->changes, errors);
        if (!changed) {
            break;
        }
        if (add_parts(report, changed, description->name)) {
            g_ptr_array_add(report->descriptions, g_steal_pointer(&changed));
        }
    }
    if (topo_errors_count(errors) > 0) {
        g_propagate_error(error, topo_errors_to_gerror(errors));
        return false;
    }
    return true;
}

static int compare_parts(gconstpointer a, gconstpointer b)
{
    const RepPartUse *p = *(RepPartUse *const *)a;
    const RepPartUse *q = *(RepPartUse *const *)b;
    int order = (int)topo_part_kind(p->part) - (int)topo_part_kind(q->part);

    return order != 0
               ? order
               : strcmp(topo_part_name(p->part), topo_part_name(q->part));
}

/* ---- Scenarios -------------------------------------------------------- */

/* Compares names in natural order: "fig9" comes before "fig10". */
static int compare_names(const char *a, const char *b)
{
    while (*a != '\0' && *b != '\0') {
        if (g_ascii_isdigit(*a) && g_ascii_isdigit(*b)) {
            char *a_end, *b_end;
            guint64 x = g_ascii_strtoull(a, &a_end, 10);
            guint64 y = g_ascii_strtoull(b, &b_end, 10);

            if (x != y) {
                return x < y ? -1 : 1;
            }
            a = a_end;
            b = b_end;
        } else if (*a != *b) {
            break;
        } else {
            a++;
            b++;
        }
    }
    return (unsigned char)*a - (unsigned char)*b;
}

static int compare_scenarios(gconstpointer a, gconstpointer b)
{
    const RepScenario *p = *(RepScenario *const *)a;
    const RepScenario *q = *(RepScenario *const *)b;

    return compare_names(p->description->name, q->description->name);
}

/* Returns the changes that the results were made with. */
static GPtrArray *read_changes(const Table *table, GError **error)
{
    g_autoptr(GPtrArray) changes = topo_changes_new();
    g_autoptr(TopoErrors) errors = topo_errors_new();
    unsigned i;

    for (i = 0; i < table_n_heads(table); i++) {
        TopoChange *change;

        if (strcmp(table_head_key(table, i), "set") != 0) {
            continue;
        }
        change = topo_change_parse(table_head_value(table, i), topo_place_set(),
                                   errors);
        if (change) {
            g_ptr_array_add(changes, change);
        }
    }
    if (topo_errors_count(errors) > 0) {
        g_propagate_error(error, topo_errors_to_gerror(errors));
        return NULL;
    }
    return g_steal_pointer(&changes);
}

static char *file_of(const char *dir, const char *name, const char *suffix)
{
    g_autofree char *base = g_strconcat(name, suffix, NULL);

    return g_build_filename(dir, base, NULL);
}

/* Reads the optional files that a run writes beside the results. */
static bool read_drawings(RepScenario *scenario, const char *dir,
                          GError **error)
{
    const char *name = scenario->description->name;
    g_autofree char *plot = file_of(dir, name, ".svg");
    g_autofree char *waterfall = file_of(dir, name, ".explain.svg");
    g_autofree char *explain = file_of(dir, name, ".explain.csv");

    /* The plot is optional. */
    g_file_get_contents(plot, &scenario->plot, &scenario->plot_length, NULL);
    g_file_get_contents(waterfall, &scenario->waterfall,
                        &scenario->waterfall_length, NULL);
    if (g_file_test(explain, G_FILE_TEST_IS_REGULAR)) {
        scenario->explain = table_read(explain, error);
        return scenario->explain;
    }
    return true;
}

static bool read_fidelity(RepScenario *scenario, GError **error)
{
    const TopoDescription *description = scenario->description;
    g_autoptr(Table) published = NULL;
    g_autoptr(Table) measured = NULL;
    GError *cause = NULL;

    if (!description->plot) {
        return true;
    }
    if (description->plot->published) {
        published = table_read(description->plot->published, error);
        if (!published) {
            return false;
        }
    }
    measured = rep_measured_read(description, &cause);
    if (cause) {
        g_propagate_error(error, cause);
        return false;
    }
    scenario->fidelity = rep_fidelity_new(description, scenario->table,
                                          published, measured, error);
    return scenario->fidelity;
}

/* Reads the scenario in @file. Takes ownership of @table, its results. */
static RepScenario *read_scenario(const char *dir, const char *file,
                                  Table *table, GError **error)
{
    RepScenario *scenario = g_new0(RepScenario, 1);
    g_autoptr(TopoErrors) errors = topo_errors_new();
    g_autoptr(GPtrArray) changes = read_changes(table, error);
    const char *hash = table_find_head(table, "hash");

    scenario->table = table;
    if (!changes) {
        scenario_free(scenario);
        return NULL;
    }
    scenario->description = topo_load(file, changes, errors);
    if (!scenario->description) {
        g_propagate_error(error, topo_errors_to_gerror(errors));
        scenario_free(scenario);
        return NULL;
    }
    if (!hash || strcmp(hash, scenario->description->hash) != 0) {
        g_set_error(error, TABLE_ERROR, TABLE_ERROR_VALUE,
                    "%s/%s.csv was made by another version of %s or its parts; "
                    "run the scenario again",
                    dir, scenario->description->name, file);
        scenario_free(scenario);
        return NULL;
    }
    g_file_get_contents(file, &scenario->text, NULL, NULL);
    if (!read_drawings(scenario, dir, error) ||
        !read_fidelity(scenario, error)) {
        scenario_free(scenario);
        return NULL;
    }
    return scenario;
}

static bool add_scenario(RepReport *report, const char *dir, const char *file,
                         Table *table, GError **error)
{
    RepScenario *scenario = read_scenario(dir, file, table, error);

    if (!scenario) {
        return false;
    }
    g_ptr_array_add(report->scenarios, scenario);
    return add_variants(report, scenario->description, error);
}

/* Adds the scenario in @file. Its results must exist. */
static bool add_file(RepReport *report, const char *dir, const char *file,
                     GError **error)
{
    g_autoptr(TopoErrors) errors = topo_errors_new();
    g_autoptr(TopoDescription) description = topo_load(file, NULL, errors);
    g_autofree char *path = NULL;
    Table *table;

    if (!description) {
        g_propagate_error(error, topo_errors_to_gerror(errors));
        return false;
    }
    path = file_of(dir, description->name, ".csv");
    table = table_read(path, error);
    return table && add_scenario(report, dir, file, table, error);
}

static int compare_texts(gconstpointer a, gconstpointer b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Returns true if the file of this name is no result of a whole scenario: an
 * explanation, latencies, single points, or a shard. */
static bool is_part(const char *name)
{
    return g_str_has_suffix(name, ".explain.csv") ||
           g_str_has_suffix(name, ".latencies.csv") ||
           g_str_has_suffix(name, ".point.csv") ||
           g_regex_match_simple("\\.[0-9]+-of-[0-9]+\\.csv$", name, 0, 0);
}

/* Adds all results in the folder whose heads name a scenario. */
static bool add_folder(RepReport *report, const char *dir, GError **error)
{
    g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
    g_autoptr(GDir) folder = g_dir_open(dir, 0, NULL);
    const char *entry;
    unsigned i;

    if (!folder) {
        g_set_error(error, TABLE_ERROR, TABLE_ERROR_FILE,
                    "%s is no folder that can be read; name one with results "
                    "of `farside run -o`",
                    dir);
        return false;
    }
    while ((entry = g_dir_read_name(folder))) {
        if (g_str_has_suffix(entry, ".csv") && !is_part(entry)) {
            g_ptr_array_add(names, g_strdup(entry));
        }
    }
    g_ptr_array_sort(names, compare_texts);
    for (i = 0; i < names->len; i++) {
        g_autofree char *path = g_build_filename(dir, names->pdata[i], NULL);
        Table *table = table_read(path, error);
        g_autofree char *file = NULL;

        if (!table) {
            return false;
        }
        file = g_strdup(table_find_head(table, "scenario"));
        if (!file) {
            table_free(table);
        } else if (!add_scenario(report, dir, file, table, error)) {
            return false;
        }
    }
    return true;
}

RepReport *rep_report_read(const char *dir, char **files, GError **error)
{
    g_autoptr(RepReport) report = g_new0(RepReport, 1);
    unsigned i;

    report->scenarios = g_ptr_array_new_with_free_func(scenario_free);
    report->parts = g_ptr_array_new_with_free_func(use_free);
    report->descriptions = g_ptr_array_new_with_free_func(description_free);
    for (i = 0; files && files[i]; i++) {
        if (!add_file(report, dir, files[i], error)) {
            return NULL;
        }
    }
    if (i == 0 && !add_folder(report, dir, error)) {
        return NULL;
    }
    if (report->scenarios->len == 0) {
        g_set_error(error, TABLE_ERROR, TABLE_ERROR_VALUE,
                    "there are no results of scenarios in %s; `farside run "
                    "-o` writes some",
                    dir);
        return NULL;
    }
    g_ptr_array_sort(report->scenarios, compare_scenarios);
    g_ptr_array_sort(report->parts, compare_parts);
    return g_steal_pointer(&report);
}

unsigned rep_report_n_scenarios(const RepReport *report)
{
    return report->scenarios->len;
}

const RepScenario *rep_report_scenario(const RepReport *report, unsigned index)
{
    return report->scenarios->pdata[index];
}

unsigned rep_report_n_parts(const RepReport *report)
{
    return report->parts->len;
}

const RepPartUse *rep_report_part(const RepReport *report, unsigned index)
{
    return report->parts->pdata[index];
}

const char *rep_scenario_title(const RepScenario *scenario)
{
    const TopoDescription *description = scenario->description;

    return description->plot ? description->plot->title : description->name;
}

bool rep_scenario_has_texts(const RepScenario *scenario)
{
    return scenario->fidelity && rep_fidelity_has_texts(scenario->fidelity);
}

bool rep_scenario_has_published(const RepScenario *scenario)
{
    return scenario->fidelity && scenario->description->plot->published;
}
