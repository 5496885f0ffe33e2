/* SPDX-License-Identifier: MIT */
#include "cmd.h"

#include <stdio.h>
#include <string.h>

#include "exp_path.h"
#include "cmd_load.h"
#include "table.h"
#include "topo_plan.h"
#include "topo_units.h"

static const char details[] =
    "Sends one TLP through the idle fabric of SCENARIO and prints every\n"
    "element that it crosses, with the time from its first byte in to its\n"
    "first byte out. FROM is HOST.cpu or HOST.DEVICE. TO is HOST.ram,\n"
    "HOST.DEVICE or HOST.DEVICE.barN. With --via HOST.ram, FROM writes to\n"
    "that memory and TO reads from it. Without FROM and TO, it prints the\n"
    "flows of kind `path` in SCENARIO.\n"
    "\n"
    "Hops are the elements between the two ends. A switch is one hop, an NTB\n"
    "adapter is one (the way from host to host has two of them), a root is\n"
    "one, and a link is none. A root and its RAM together are one hop, even\n"
    "if the way ends or rests in the RAM. (By this rule the path 2L-RAM-SW of\n"
    "the Device Lending paper has 7 hops, as in its figure 13; its table 1\n"
    "says 8.)\n"
    "\n"
    "Exit status: 0 done, 1 there is no way, 2 bad usage or description.";

/* Returns a time in ns with three decimals, which are picoseconds. */
static char *ns_text(SimTime ps)
{
    return table_number_print(ps, 3);
}

static void set_ns(Table *table, unsigned row, unsigned column, SimTime ps)
{
    table_set_number(table, row, column, ps);
}

static void print_leg(const ExpLeg *leg)
{
    static const TableColumn columns[] = {
        {"hop", TABLE_TEXT, 0},         {"element", TABLE_TEXT, 0},
        {"kind", TABLE_TEXT, 0},        {"ns", TABLE_DECIMAL, 3},
        {"link_ns", TABLE_DECIMAL, 3},  {"requester", TABLE_TEXT, 0},
        {"address_out", TABLE_TEXT, 0},
    };
    g_autoptr(Table) table = table_new();
    g_autofree char *time = ns_text(leg->time_ps);

    table_add_columns(table, columns, G_N_ELEMENTS(columns));
    for (unsigned i = 0; i < leg->steps->len; i++) {
        const ExpStep *step = leg->steps->pdata[i];
        unsigned row = table_add_row(table);
        g_autofree char *hop =
            step->hop ? g_strdup_printf("%u", step->hop) : g_strdup("-");
        g_autofree char *id = g_strdup_printf(
            "%02x:%02x.%x", FAB_BDF_BUS(step->requester_id),
            FAB_BDF_DEV(step->requester_id), FAB_BDF_FN(step->requester_id));
        g_autofree char *addr =
            g_strdup_printf("0x%" G_GINT64_MODIFIER "x", step->addr);
        bool is_completion = strcmp(leg->what, "completion") == 0;

        table_set_text(table, row, 0, hop);
        table_set_text(table, row, 1, step->name);
        table_set_text(table, row, 2, step->kind);
        set_ns(table, row, 3, step->time_ps);
        set_ns(table, row, 4, step->is_last ? TABLE_NONE : step->link_ps);
        table_set_text(table, row, 5, step->is_last ? "" : id);
        table_set_text(table, row, 6,
                       step->is_last || is_completion ? "" : addr);
    }
    printf("%s, %s ns\n", leg->what, time);
    cmd_print_table(table);
    putchar('\n');
}

static void print_path(const ExpPath *path)
{
    g_autofree char *time = ns_text(path->time_ps);
    g_autofree char *round_trip = ns_text(path->round_trip_ps);

    for (unsigned i = 0; i < path->legs->len; i++) {
        print_leg(path->legs->pdata[i]);
    }
    printf("path: %s\n%u hop%s, %u root%s, %s ns", path->text, path->hops,
           path->hops == 1 ? "" : "s", path->roots, path->roots == 1 ? "" : "s",
           time);
    if (path->round_trip_ps > 0) {
        printf(", round trip of the read %s ns", round_trip);
    }
    putchar('\n');
}

/* Prints @path, or @error if @path is NULL. Frees both. */
static bool print_result(ExpPath *path, GError *error)
{
    if (!path) {
        cmd_complain("path", error);
        return false;
    }
    print_path(path);
    exp_path_free(path);
    return true;
}

/* Prints the flows of kind path at every point of the plan. */
static int print_flows(const char *file, const TopoDescription *plan)
{
    g_autoptr(TopoErrors) errors = topo_errors_new();
    g_autoptr(GPtrArray) points = topo_plan_points(plan, errors);
    bool any = false;

    for (unsigned i = 0; points && i < points->len; i++) {
        const TopoPoint *point = points->pdata[i];
        g_autoptr(TopoDescription) description =
            topo_load_again(plan, point->changes, errors);

        for (unsigned j = 0; description && description->workload &&
                             j < description->workload->flows->len;
             j++) {
            const TopoFlow *flow = description->workload->flows->pdata[j];
            GError *error = NULL;
            ExpPath *path;

            if (!topo_flow_has_own_fabric(flow)) {
                continue;
            }
            printf("%s%s%s%s\n", any ? "\n" : "", point->label,
                   *point->label ? ": " : "", topo_flow_name(flow));
            any = true;
            path = exp_path_of_flow(description, flow, &error);
            if (!print_result(path, error)) {
                return CMD_DIFFERENT;
            }
        }
    }
    if (topo_errors_count(errors) > 0) {
        g_autofree char *text = topo_errors_to_string(errors);

        fputs(text, stderr);
        return CMD_USAGE;
    }
    if (!any) {
        return cmd_usage("path",
                         "%s has no flow of kind path; give FROM and TO", file);
    }
    return CMD_OK;
}

/* The options of the command line. */
typedef struct Options {
    char **sets;
    char *via;
    char *variant;
    char *size;
    gboolean is_read;
} Options;

static bool parse_target(const TopoDescription *description, const char *text,
                         TopoTarget *ret_target)
{
    GError *error = NULL;

    if (text && !topo_find_target(description, text, ret_target, &error)) {
        cmd_complain("path", error);
        return false;
    }
    return true;
}

static int print_between(const Options *options,
                         const TopoDescription *description, char **args)
{
    ExpPathRequest request = {
        .is_read = options->is_read,
    };
    GError *error = NULL;
    int64_t size = 4;
    ExpPath *path;

    if (options->size &&
        !topo_units_parse(TOPO_UNIT_BYTES, options->size, &size, &error)) {
        cmd_complain("path", error);
        return CMD_USAGE;
    }
    if (size < 1 || size > 4096) {
        return cmd_usage("path", "--size is from 1B to 4096B");
    }
    if (options->via && options->is_read) {
        return cmd_usage("path", "--via writes, then reads: leave --read out");
    }
    request.size_bytes = size;
    if (!parse_target(description, args[1], &request.from) ||
        !parse_target(description, args[2], &request.to) ||
        !parse_target(description, options->via, &request.via)) {
        return CMD_USAGE;
    }
    if (options->via && request.via.kind != TOPO_TARGET_RAM) {
        return cmd_usage("path", "--via takes HOST.ram");
    }
    path = exp_path_new(description, &request, &error);
    return print_result(path, error) ? CMD_OK : CMD_DIFFERENT;
}

/* Returns @changes and those of the variant called @name. Returns NULL if there
 * is no such variant. */
static GPtrArray *variant_changes(const TopoDescription *description,
                                  const GPtrArray *changes, const char *name)
{
    for (unsigned i = 0; i < description->variants->len; i++) {
        const TopoVariant *variant = description->variants->pdata[i];

        if (strcmp(variant->name, name) == 0) {
            GPtrArray *both = topo_changes_new();

            for (unsigned j = 0; j < variant->changes->len; j++) {
                g_ptr_array_add(both,
                                topo_change_ref(variant->changes->pdata[j]));
            }
            for (unsigned j = 0; j < changes->len; j++) {
                g_ptr_array_add(both, topo_change_ref(changes->pdata[j]));
            }
            return both;
        }
    }
    fprintf(stderr, "farside path: there is no variant \"%s\"\n", name);
    return NULL;
}

static int run_verb(const CmdVerb *verb, int argc, char **argv)
{
    Options options = {0};
    const GOptionEntry entries[] = {
        {"read", 'r', 0, G_OPTION_ARG_NONE, &options.is_read,
         "FROM reads from TO; without it, FROM writes", NULL},
        {"via", 0, 0, G_OPTION_ARG_STRING, &options.via,
         "FROM writes to this memory, TO reads from it", "HOST.ram"},
        {"size", 0, 0, G_OPTION_ARG_STRING, &options.size,
         "Size of the data, up to 4096B (default: 4B)", "SIZE"},
        {"variant", 0, 0, G_OPTION_ARG_STRING, &options.variant,
         "Apply the changes of this variant of SCENARIO", "NAME"},
        CMD_LOAD_SET(&options.sets),
        G_OPTION_ENTRY_NULL,
    };
    g_autoptr(GPtrArray) changes = NULL;
    g_autoptr(TopoDescription) description = NULL;
    g_auto(CmdArgs) args = {.words = NULL};
    int status;

    if (!cmd_parse(verb, argc, argv, entries, &args, &status)) {
        return status;
    }
    if (g_strv_length(args.words) == 2) {
        return cmd_usage("path", "FROM is given without TO");
    }
    changes = cmd_changes("path", options.sets);
    if (!changes) {
        return CMD_USAGE;
    }
    description = cmd_load("path", args.words[0], changes, CMD_LOAD_ANY);
    if (description && options.variant) {
        GPtrArray *both =
            variant_changes(description, changes, options.variant);

        g_ptr_array_unref(changes);
        changes = both;
        g_clear_pointer(&description, topo_description_free);
        if (changes) {
            description =
                cmd_load("path", args.words[0], changes, CMD_LOAD_ANY);
        }
    }
    if (!description) {
        return CMD_USAGE;
    }
    return args.words[1] ? print_between(&options, description, args.words)
                         : print_flows(args.words[0], description);
}

const CmdVerb cmd_path = {
    .name = "path",
    .summary = "show every element that a TLP crosses, with hops and times",
    .synopsis = "SCENARIO [FROM TO]",
    .min_words = 1,
    .max_words = 3,
    .details = details,
    .run = run_verb};
