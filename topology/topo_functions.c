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

static void load_function(TopoLoader *loader, TopoHost *host,
                          const TopoNode *node)
{
    g_autoptr(TopoValues) values =
        topo_values_read(&topo_section_function, node, loader->errors);
    TopoFunction *function = g_new0(TopoFunction, 1);
    const TopoValue *address = topo_values_get(values, "address");
    const TopoValue *buses = topo_values_get(values, "buses");

    function->place = node->place;
    g_ptr_array_add(host->functions, function);
    if (address->text &&
        !topo_address_parse(address->text, &function->address)) {
        topo_errors_add(loader->errors, address->place,
                        "'%s' is no PCI address; write for example "
                        "0000:ca:00.0",
                        address->text);
    }
    function->is_bridge = buses->given && buses->text != NULL;
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

static int compare_functions(const void *a, const void *b)
{
    const TopoFunction *first = *(TopoFunction *const *)a;
    const TopoFunction *second = *(TopoFunction *const *)b;

    return topo_address_compare(first->address, second->address);
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
}
