/* SPDX-License-Identifier: MIT */
/*
 * Reads the PCI functions of hwloc XML of version 2 (objects of type Bridge and
 * PCIDev) and of NCCL topology XML (elements <pci>).
 */
#include <stdio.h>
#include <string.h>

#include "inv_inventory.h"
#include "inv_machine_priv.h"

/* An element that is open, and the function that it made. */
typedef struct Frame {
    TopoPciAddress address;
    bool has_address;
    int numa_node; /* of the NCCL <cpu> around it; -1: not known */
} Frame;

typedef struct Reader {
    const char *name;
    InvMachine *machine;
    GArray *frames; /* of Frame, outermost first */
    bool is_hwloc, is_nccl;
} Reader;

static const char *find(const char **names, const char **values,
                        const char *name)
{
    for (unsigned i = 0; names[i]; i++) {
        if (strcmp(names[i], name) == 0) {
            return values[i];
        }
    }
    return NULL;
}

static void fail(const Reader *reader, GMarkupParseContext *context,
                 GError **error, const char *message)
{
    int line, column;

    g_markup_parse_context_get_position(context, &line, &column);
    g_set_error(error, INV_ERROR, INV_ERROR_IMPORT, "%s:%d:%d: %s",
                reader->name, line, column, message);
}

static unsigned width_of(unsigned lanes)
{
    return lanes == 1 || lanes == 2 || lanes == 4 || lanes == 8 || lanes == 16
               ? lanes
               : 0;
}

/* Finds speed and width of a link from its bandwidth in GB/s, as hwloc gives
 * it: lanes times the rate of a lane less the encoding. Of two links with the
 * same product, such as x16 of 16 GT/s and x8 of 32 GT/s, it takes the wider
 * one. */
static void find_link(InvFunction *function, double bandwidth)
{
    static const struct {
        unsigned speed;
        double lane; /* GB/s */
    } speeds[] = {{2500, 0.25},
                  {5000, 0.5},
                  {8000, 8.0 / 8 * 128 / 130},
                  {16000, 16.0 / 8 * 128 / 130},
                  {32000, 32.0 / 8 * 128 / 130}};

    for (unsigned i = 0; i < G_N_ELEMENTS(speeds); i++) {
        for (unsigned lanes = 1; lanes <= 16; lanes *= 2) {
            double rate = speeds[i].lane * lanes;

            if (bandwidth < rate * 0.999 || bandwidth > rate * 1.001) {
                continue;
            }
            function->is_guessed = function->pub.width != 0;
            if (lanes > function->pub.width) {
                function->pub.speed_mtps = speeds[i].speed;
                function->pub.width = lanes;
            }
        }
    }
}

/* ---- hwloc ------------------------------------------------------------- */

/* Reads "0604 [8086:3c02] [0000:0000] 07". */
static void read_hwloc_type(InvFunction *function, const char *text)
{
    unsigned class_code, vendor, device;

    if (text &&
        sscanf(text, "%4x [%4x:%4x]", &class_code, &vendor, &device) == 3) {
        function->pub.class_code = (int64_t)class_code << 8;
        function->pub.vendor_id = vendor;
        function->pub.device_id = device;
    }
}

static bool start_hwloc(Reader *reader, GMarkupParseContext *context,
                        const char **names, const char **values, Frame *frame,
                        GError **error)
{
    const char *type = find(names, values, "type");
    const char *bus_id = find(names, values, "pci_busid");
    const char *buses = find(names, values, "bridge_pci");
    const char *link = find(names, values, "pci_link_speed");
    unsigned domain, first, last;
    InvFunction *function;

    if (!type || !bus_id ||
        (strcmp(type, "Bridge") != 0 && strcmp(type, "PCIDev") != 0)) {
        return true;
    }
    if (!topo_address_parse(bus_id, &frame->address)) {
        fail(reader, context, error,
             "pci_busid is no PCI address; hwloc writes 0000:ca:00.0");
        return false;
    }
    frame->has_address = true;
    function = inv_machine_add(reader->machine, frame->address);
    read_hwloc_type(function, find(names, values, "pci_type"));
    if (strcmp(type, "Bridge") == 0) {
        if (!buses ||
            sscanf(buses, "%8x:[%2x-%2x]", &domain, &first, &last) != 3) {
            fail(reader, context, error,
                 "bridge_pci is missing or no range; hwloc writes "
                 "0000:[02-05]");
            return false;
        }
        function->pub.is_bridge = true;
        function->pub.secondary = first;
        function->pub.subordinate = last;
    }
    if (link) {
        find_link(function, g_ascii_strtod(link, NULL));
    }
    return true;
}

/* ---- NCCL -------------------------------------------------------------- */

/* NCCL leaves out bus numbers: bridges get theirs from what is below them. */
static bool start_nccl(Reader *reader, GMarkupParseContext *context,
                       const char **names, const char **values, Frame *frame,
                       GError **error)
{
    const char *bus_id = find(names, values, "busid");
    const char *class_code = find(names, values, "class");
    const char *speed = find(names, values, "link_speed");
    const char *width = find(names, values, "link_width");
    const char *vendor = find(names, values, "vendor");
    const char *device = find(names, values, "device");
    InvFunction *function;

    if (!bus_id || !topo_address_parse(bus_id, &frame->address)) {
        fail(reader, context, error,
             "busid is missing or no PCI address; NCCL writes 0000:ca:00.0");
        return false;
    }
    frame->has_address = true;
    function = inv_machine_add(reader->machine, frame->address);
    function->pub.numa_node = frame->numa_node;
    if (class_code) {
        function->pub.class_code =
            (int64_t)g_ascii_strtoull(class_code, NULL, 16);
    }
    if (vendor && device) {
        function->pub.vendor_id = (int64_t)g_ascii_strtoull(vendor, NULL, 16);
        function->pub.device_id = (int64_t)g_ascii_strtoull(device, NULL, 16);
    }
    if (speed && width) {
        unsigned lanes = (unsigned)g_ascii_strtoull(width, NULL, 10);
        unsigned mtps = (unsigned)(g_ascii_strtod(speed, NULL) * 1000);

        if ((mtps == 2500 || mtps == 5000 || mtps == 8000 || mtps == 16000 ||
             mtps == 32000) &&
            width_of(lanes)) {
            function->pub.speed_mtps = mtps;
            function->pub.width = width_of(lanes);
        }
    }
    return true;
}

/* ---- Both -------------------------------------------------------------- */

static void start(GMarkupParseContext *context, const char *element,
                  const char **names, const char **values, void *data,
                  GError **error)
{
    Reader *reader = data;
    Frame frame = {.numa_node = -1};

    if (reader->frames->len == 0) {
        reader->is_hwloc = strcmp(element, "topology") == 0;
        reader->is_nccl = strcmp(element, "system") == 0;
        reader->machine->is_short = reader->is_nccl;
        if (!reader->is_hwloc && !reader->is_nccl) {
            fail(reader, context, error,
                 "this is neither hwloc XML (<topology>) nor NCCL XML "
                 "(<system>)");
            return;
        }
        if (reader->is_hwloc &&
            !g_str_has_prefix(find(names, values, "version")
                                  ? find(names, values, "version")
                                  : "1",
                              "2")) {
            fail(reader, context, error,
                 "this is hwloc XML of version 1; write it again with `lstopo "
                 "--if x.xml y.xml` of hwloc 2");
            return;
        }
    } else {
        frame.numa_node =
            g_array_index(reader->frames, Frame, reader->frames->len - 1)
                .numa_node;
    }
    if (reader->is_nccl && strcmp(element, "cpu") == 0) {
        const char *node = find(names, values, "numaid");

        frame.numa_node = node ? (int)g_ascii_strtoll(node, NULL, 10) : -1;
    }
    if (reader->is_hwloc && strcmp(element, "info") == 0 &&
        reader->frames->len > 0) {
        const Frame *above =
            &g_array_index(reader->frames, Frame, reader->frames->len - 1);
        const char *key = find(names, values, "name");
        InvFunction *function =
            above->has_address && key && strcmp(key, "PCIDevice") == 0
                ? inv_machine_find(reader->machine, above->address)
                : NULL;

        if (function && !function->pub.name) {
            function->pub.name = g_strdup(find(names, values, "value"));
        }
    }
    if (reader->is_hwloc && strcmp(element, "object") == 0 &&
        !start_hwloc(reader, context, names, values, &frame, error)) {
        return;
    }
    if (reader->is_nccl && strcmp(element, "pci") == 0 &&
        !start_nccl(reader, context, names, values, &frame, error)) {
        return;
    }
    g_array_append_val(reader->frames, frame);
}

/* Widens the bridges around an NCCL element that ends by its bus numbers. */
static void end(GMarkupParseContext *context, const char *element, void *data,
                GError **error)
{
    Reader *reader = data;
    Frame own = g_array_index(reader->frames, Frame, reader->frames->len - 1);
    const InvFunction *function;
    InvFunction *bridge;
    const Frame *above;
    unsigned last;

    g_array_set_size(reader->frames, reader->frames->len - 1);
    if (!reader->is_nccl || !own.has_address || reader->frames->len == 0) {
        return;
    }
    above = &g_array_index(reader->frames, Frame, reader->frames->len - 1);
    if (!above->has_address) {
        return;
    }
    function = inv_machine_find(reader->machine, own.address);
    bridge = inv_machine_find(reader->machine, above->address);
    last =
        function->pub.is_bridge ? function->pub.subordinate : own.address.bus;
    if (!bridge->pub.is_bridge) {
        bridge->pub.is_bridge = true;
        bridge->pub.secondary = own.address.bus;
        bridge->pub.subordinate = last;
    }
    bridge->pub.secondary = MIN(bridge->pub.secondary, own.address.bus);
    bridge->pub.subordinate = MAX(bridge->pub.subordinate, last);
}

InvMachine *inv_read_xml(const char *name, const char *text, size_t length,
                         GError **error)
{
    static const GMarkupParser parser = {.start_element = start,
                                         .end_element = end};
    g_autoptr(InvMachine) machine = inv_machine_new();
    g_autoptr(GArray) frames = g_array_new(FALSE, FALSE, sizeof(Frame));
    Reader reader = {.name = name, .machine = machine, .frames = frames};
    g_autoptr(GMarkupParseContext) context =
        g_markup_parse_context_new(&parser, 0, &reader, NULL);

    if (!g_markup_parse_context_parse(context, text, (gssize)length, error) ||
        !g_markup_parse_context_end_parse(context, error)) {
        if (error && *error && (*error)->domain == G_MARKUP_ERROR) {
            g_prefix_error(error, "%s: ", name);
        }
        return NULL;
    }
    return inv_machine_finish(machine, name, error) ? g_steal_pointer(&machine)
                                                    : NULL;
}
