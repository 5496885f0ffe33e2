/* SPDX-License-Identifier: MIT */
/*
 * Reads the PCI functions of hwloc XML of version 2 (objects of type Bridge and
 * PCIDev) and of NCCL topology XML (elements <pci>).
 */
#include <stdio.h>
#include <string.h>

#include "inv_inventory.h"
#include "inv_machine_priv.h"

#define DEPTH_MAX 300 /* a path has at most 256 buses */

/* An element that is open, and the function that it made. */
typedef struct Frame {
    TopoPciAddress address;
    bool has_address;
    int numa_node; /* of what is around it; -1: not known */
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

/* Finds speed and width of a link from its bandwidth in GB/s, as hwloc gives
 * it: lanes times the rate of a lane less the encoding. Of two links with the
 * same product, such as x16 of 16 GT/s and x8 of 32 GT/s, it takes the wider
 * one. */
static void find_link(InvMachine *machine, InvFunction *function,
                      double bandwidth)
{
    static const struct {
        double speed; /* GT/s */
        double lane;  /* GB/s */
    } speeds[] = {{2.5, 0.25},
                  {5, 0.5},
                  {8, 8.0 / 8 * 128 / 130},
                  {16, 16.0 / 8 * 128 / 130},
                  {32, 32.0 / 8 * 128 / 130},
                  {64, 64.0 / 8 * 128 / 130},
                  {128, 128.0 / 8 * 128 / 130}};
    double speed = 0;
    unsigned width = 0;
    char text[64];

    for (unsigned i = 0; i < G_N_ELEMENTS(speeds); i++) {
        for (unsigned lanes = 1; lanes <= INV_WIDTH_MAX; lanes *= 2) {
            double rate = speeds[i].lane * lanes;

            if (bandwidth < rate * 0.999 || bandwidth > rate * 1.001) {
                continue;
            }
            function->is_guessed = width != 0;
            if (lanes > width) {
                speed = speeds[i].speed;
                width = lanes;
            }
        }
    }
    if (width) {
        function->pub.speed_mtps = inv_machine_speed(machine, function, speed);
        function->pub.width = width;
        inv_machine_note(machine,
                         "hwloc's link speeds are those of the moment at which "
                         "the file was written, and links that save power are "
                         "slow then",
                         NULL);
    } else if (bandwidth > 0) {
        g_autofree char *address =
            topo_address_to_string(function->pub.address);

        g_snprintf(text, sizeof text, "%s (%gGB/s)", address, bandwidth);
        inv_machine_note(machine,
                         "no link of the model has the bandwidth of these; "
                         "they are taken as those of the generic parts",
                         text);
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

/* Returns the only node of a set such as "0x00000002" or "0x1,0x0", whose
 * words of 32 bits begin with the highest; -1: there are several, or none. */
static int only_node(const char *set)
{
    g_auto(GStrv) words = g_strsplit(set, ",", -1);
    unsigned n = g_strv_length(words);
    int node = -1;

    for (unsigned i = 0; i < n; i++) {
        guint64 bits = g_ascii_strtoull(words[i], NULL, 16);

        for (int bit = 0; bit < 32; bit++) {
            if (bits >> bit & 1) {
                if (node >= 0) {
                    return -1;
                }
                node = (int)(n - 1 - i) * 32 + bit;
            }
        }
    }
    return node;
}

static bool start_hwloc(Reader *reader, GMarkupParseContext *context,
                        const char **names, const char **values, Frame *frame,
                        GError **error)
{
    const char *type = find(names, values, "type");
    const char *bus_id = find(names, values, "pci_busid");
    const char *buses = find(names, values, "bridge_pci");
    const char *link = find(names, values, "pci_link_speed");
    const char *nodes = find(names, values, "nodeset");
    unsigned domain, first, last;
    InvFunction *function;

    if (nodes) {
        frame->numa_node = only_node(nodes);
    }
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
    function->pub.numa_node = frame->numa_node;
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
        find_link(reader->machine, function, g_ascii_strtod(link, NULL));
    }
    return true;
}

/* ---- NCCL -------------------------------------------------------------- */

/* Reads the link of an NCCL element. A width of 0 is not known. */
static void read_nccl_link(InvMachine *machine, InvFunction *function,
                           const char *speed, const char *width)
{
    double gtps = speed ? g_ascii_strtod(speed, NULL) : 0;
    guint64 lanes = width ? g_ascii_strtoull(width, NULL, 10) : 0;

    function->pub.speed_mtps = inv_machine_speed(machine, function, gtps);
    function->pub.width =
        inv_machine_width(machine, function, (unsigned)MIN(lanes, 1024));
}

/* The files of cloud providers give the elements of a switch another domain
 * than that of the switch, so the nesting alone tells what is below what. */
static bool start_nccl(Reader *reader, GMarkupParseContext *context,
                       const char **names, const char **values, Frame *frame,
                       GError **error)
{
    const Frame *around =
        &g_array_index(reader->frames, Frame, reader->frames->len - 1);
    const char *bus_id = find(names, values, "busid");
    const char *class_code = find(names, values, "class");
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
    function->pub.has_above = around->has_address;
    function->pub.above = around->address;
    if (class_code) {
        function->pub.class_code =
            (int64_t)(g_ascii_strtoull(class_code, NULL, 16) & 0xffffff);
        function->pub.is_bridge = function->pub.class_code >> 8 == 0x0604;
    }
    if (vendor && device) {
        function->pub.vendor_id =
            (int64_t)(g_ascii_strtoull(vendor, NULL, 16) & 0xffff);
        function->pub.device_id =
            (int64_t)(g_ascii_strtoull(device, NULL, 16) & 0xffff);
    }
    read_nccl_link(reader->machine, function, find(names, values, "link_speed"),
                   find(names, values, "link_width"));
    return true;
}

/* Takes the class of a function from the element <gpu> or <nic> in it, if its
 * own element has none. */
static void take_class(Reader *reader, const char *element)
{
    const Frame *around =
        &g_array_index(reader->frames, Frame, reader->frames->len - 1);
    InvFunction *function =
        around->has_address ? inv_machine_find(reader->machine, around->address)
                            : NULL;

    if (function && function->pub.class_code < 0) {
        function->pub.class_code = strcmp(element, "gpu") == 0   ? 0x030200
                                   : strcmp(element, "nic") == 0 ? 0x020000
                                                                 : -1;
    }
}

/* ---- Both -------------------------------------------------------------- */

/* Checks the outermost element. */
static bool start_root(Reader *reader, GMarkupParseContext *context,
                       const char *element, const char **names,
                       const char **values, GError **error)
{
    const char *version = find(names, values, "version");

    reader->is_hwloc = strcmp(element, "topology") == 0;
    reader->is_nccl = strcmp(element, "system") == 0;
    reader->machine->is_short = reader->is_nccl;
    if (!reader->is_hwloc && !reader->is_nccl) {
        fail(reader, context, error,
             "this is neither hwloc XML (<topology>) nor NCCL XML (<system>)");
        return false;
    }
    if (reader->is_hwloc && !g_str_has_prefix(version ? version : "1", "2")) {
        fail(reader, context, error,
             "this is hwloc XML of version 1; write it again with `lstopo "
             "--if x.xml y.xml` of hwloc 2");
        return false;
    }
    return true;
}

/* Takes the name of the function around an element <info> of hwloc. */
static void take_info(Reader *reader, const char **names, const char **values)
{
    const Frame *around =
        &g_array_index(reader->frames, Frame, reader->frames->len - 1);
    const char *key = find(names, values, "name");
    InvFunction *function =
        around->has_address && key && strcmp(key, "PCIDevice") == 0
            ? inv_machine_find(reader->machine, around->address)
            : NULL;

    if (function && !function->pub.name) {
        function->pub.name = g_strdup(find(names, values, "value"));
    }
}

static void start(GMarkupParseContext *context, const char *element,
                  const char **names, const char **values, void *data,
                  GError **error)
{
    Reader *reader = data;
    Frame frame = {.numa_node = -1};
    bool is_good = true;

    if (reader->frames->len == 0) {
        is_good = start_root(reader, context, element, names, values, error);
    } else if (reader->frames->len >= DEPTH_MAX) {
        fail(reader, context, error,
             "elements are nested deeper than buses can be; give a file that "
             "hwloc or NCCL has written");
        return;
    } else {
        frame.numa_node =
            g_array_index(reader->frames, Frame, reader->frames->len - 1)
                .numa_node;
    }
    if (is_good && reader->is_nccl && strcmp(element, "cpu") == 0) {
        const char *node = find(names, values, "numaid");

        frame.numa_node = node ? (int)g_ascii_strtoll(node, NULL, 10) : -1;
    } else if (is_good && reader->frames->len > 0 && reader->is_hwloc) {
        if (strcmp(element, "info") == 0) {
            take_info(reader, names, values);
        } else if (strcmp(element, "object") == 0) {
            is_good =
                start_hwloc(reader, context, names, values, &frame, error);
        }
    } else if (is_good && reader->frames->len > 0 && reader->is_nccl) {
        if (strcmp(element, "pci") == 0) {
            is_good = start_nccl(reader, context, names, values, &frame, error);
        } else {
            take_class(reader, element);
        }
    }
    if (is_good) {
        g_array_append_val(reader->frames, frame);
    }
}

/* Makes a bridge of what an NCCL element is in. NCCL leaves out bus numbers:
 * the bridge gets those that its own domain has below it. */
static void end(GMarkupParseContext *context, const char *element, void *data,
                GError **error)
{
    Reader *reader = data;
    Frame own = g_array_index(reader->frames, Frame, reader->frames->len - 1);
    const InvFunction *function;
    InvFunction *bridge;
    unsigned last;

    g_array_set_size(reader->frames, reader->frames->len - 1);
    if (!reader->is_nccl || !own.has_address || reader->frames->len == 0) {
        return;
    }
    function = inv_machine_find(reader->machine, own.address);
    if (!function->pub.has_above) {
        return;
    }
    bridge = inv_machine_find(reader->machine, function->pub.above);
    bridge->pub.is_bridge = true;
    if (own.address.domain != bridge->pub.address.domain ||
        own.address.bus == 0) {
        return;
    }
    last = MAX(own.address.bus, function->pub.subordinate);
    bridge->pub.secondary = bridge->pub.secondary == 0
                                ? own.address.bus
                                : MIN(bridge->pub.secondary, own.address.bus);
    bridge->pub.subordinate = MAX(bridge->pub.subordinate, last);
}

static bool is_below(const InvMachine *machine, const TopoFunction *function,
                     const TopoFunction *bridge)
{
    while (function->has_above &&
           topo_address_compare(function->above, bridge->address) != 0) {
        function = &inv_machine_find(machine, function->above)->pub;
    }
    return function->has_above;
}

/* Takes its bus numbers from each bridge of an NCCL file whose range would have
 * what is not in its element. */
static void drop_wrong_buses(const InvMachine *machine)
{
    for (unsigned i = 0; i < machine->functions->len; i++) {
        TopoFunction *bridge = machine->functions->pdata[i];

        for (unsigned j = 0; j < machine->functions->len; j++) {
            const TopoFunction *function = machine->functions->pdata[j];

            if (bridge->secondary > 0 && function != bridge &&
                function->address.domain == bridge->address.domain &&
                function->address.bus >= bridge->secondary &&
                function->address.bus <= bridge->subordinate &&
                !is_below(machine, function, bridge)) {
                bridge->secondary = 0;
                bridge->subordinate = 0;
            }
        }
    }
}

InvMachine *inv_read_xml(const char *name, const char *text, GError **error)
{
    static const GMarkupParser parser = {.start_element = start,
                                         .end_element = end};
    g_autoptr(InvMachine) machine = inv_machine_new();
    g_autoptr(GArray) frames = g_array_new(FALSE, FALSE, sizeof(Frame));
    Reader reader = {.name = name, .machine = machine, .frames = frames};
    g_autoptr(GMarkupParseContext) context =
        g_markup_parse_context_new(&parser, 0, &reader, NULL);

    if (!g_markup_parse_context_parse(context, text, -1, error) ||
        !g_markup_parse_context_end_parse(context, error)) {
        if (error && *error && (*error)->domain == G_MARKUP_ERROR) {
            g_prefix_error(error, "%s: ", name);
        }
        return NULL;
    }
    if (!inv_machine_finish(machine, name, error)) {
        return NULL;
    }
    if (reader.is_nccl) {
        drop_wrong_buses(machine);
    }
    return g_steal_pointer(&machine);
}
