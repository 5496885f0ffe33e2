/* SPDX-License-Identifier: MIT */
/* `functions:` of a host: the PCI functions of a real one. */
#include "topo_load_priv.h"

static int64_t number_or_none(const TopoValues *values, const char *key)
{
    return topo_values_given(values, key) ? topo_values_number(values, key)
                                          : -1;
}

/* Reads "02-05" or "02", hexadecimal. */
static bool read_buses(const char *text, TopoFunction *function)
{
    char *end;

    if (!g_ascii_isxdigit(*text)) {
        return false;
    }
    function->secondary = (unsigned)g_ascii_strtoull(text, &end, 16);
    function->subordinate = function->secondary;
    if (*end == '-' && g_ascii_isxdigit(end[1])) {
        function->subordinate = (unsigned)g_ascii_strtoull(end + 1, &end, 16);
    }
    return *end == '\0' && function->secondary <= 255 &&
           function->subordinate <= 255;
}

static void read_address(TopoLoader *loader, const TopoValue *value,
                         TopoPciAddress *ret_address)
{
    if (value->text && !topo_address_parse(value->text, ret_address)) {
        topo_errors_add(loader->errors, value->place,
                        "'%s' is no PCI address; write for example "
                        "0000:ca:00.0",
                        value->text);
    }
}

static void load_function(TopoLoader *loader, TopoHost *host,
                          const TopoNode *node)
{
    g_autoptr(TopoValues) values =
        topo_values_read(&topo_section_function, node, loader->errors);
    TopoFunction *function = g_new0(TopoFunction, 1);
    const TopoValue *below = topo_values_get(values, "below");
    const TopoValue *buses = topo_values_get(values, "buses");

    function->place = node->place;
    g_ptr_array_add(host->functions, function);
    read_address(loader, topo_values_get(values, "address"),
                 &function->address);
    function->has_above = below->given && below->text;
    if (function->has_above) {
        read_address(loader, below, &function->above);
    }
    function->is_bridge = buses->given && buses->text;
    if (function->is_bridge && !read_buses(buses->text, function)) {
        topo_errors_add(loader->errors, buses->place,
                        "'%s' is no range of bus numbers; write for example "
                        "02-05",
                        buses->text);
    }
    function->is_upstream = topo_values_number(values, "upstream") != 0;
    function->class_code = number_or_none(values, "class");
    function->vendor_id = number_or_none(values, "vendor");
    function->device_id = number_or_none(values, "device");
    function->name = topo_load_text(loader, topo_values_text(values, "name"));
    function->speed_mtps = (unsigned)topo_values_number(values, "speed");
    function->width = (unsigned)topo_values_number(values, "width");
    function->numa_node = (int)number_or_none(values, "numa_node");
}

/* Returns the function at @address; NULL if there is none. */
static const TopoFunction *find_function(const TopoHost *host,
                                         TopoPciAddress address)
{
    unsigned low = 0, high = host->functions->len;

    while (low < high) {
        unsigned middle = low + (high - low) / 2;
        const TopoFunction *function = host->functions->pdata[middle];
        int order = topo_address_compare(function->address, address);

        if (order == 0) {
            return function;
        }
        low = order < 0 ? middle + 1 : low;
        high = order < 0 ? high : middle;
    }
    return NULL;
}

static int compare_functions(const void *a, const void *b)
{
    const TopoFunction *first = *(TopoFunction *const *)a;
    const TopoFunction *second = *(TopoFunction *const *)b;

    return topo_address_compare(first->address, second->address);
}

/* Checks that each `below:` is a bridge of the host, and that no function is
 * below itself. */
static void check_above(TopoLoader *loader, const TopoHost *host)
{
    for (unsigned i = 0; i < host->functions->len; i++) {
        const TopoFunction *function = host->functions->pdata[i];
        const TopoFunction *above = function;
        unsigned steps = 0;

        while (above && above->has_above && steps <= host->functions->len) {
            above = find_function(host, above->above);
            steps++;
        }
        if (steps > host->functions->len || !above || !above->is_bridge) {
            g_autofree char *address = topo_address_to_string(function->above);

            if (function->has_above) {
                topo_errors_add(loader->errors, function->place,
                                "below: %s is no bridge of %s above this "
                                "function; write the address of one with "
                                "`buses`",
                                address, host->name ? host->name : "the host");
            }
        }
    }
}

void topo_load_functions(TopoLoader *loader, TopoHost *host,
                         const TopoValues *values)
{
    g_autoptr(GPtrArray) items = topo_values_items(values, "functions");
    unsigned before = topo_errors_count(loader->errors);

    for (unsigned i = 0; i < items->len; i++) {
        load_function(loader, host, items->pdata[i]);
    }
    if (topo_errors_count(loader->errors) > before) {
        return;
    }
    g_ptr_array_sort(host->functions, compare_functions);
    for (unsigned i = 1; i < host->functions->len; i++) {
        const TopoFunction *a = host->functions->pdata[i - 1];
        const TopoFunction *b = host->functions->pdata[i];

        if (topo_address_compare(a->address, b->address) == 0) {
            g_autofree char *address = topo_address_to_string(b->address);

            topo_errors_add(loader->errors, b->place,
                            "function %s is there twice; leave one out",
                            address);
        }
    }
    check_above(loader, host);
}
