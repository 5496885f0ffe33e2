/* SPDX-License-Identifier: MIT */
/*
 * Reads the output of `lspci -vvv`, and the hexadecimal dumps of `lspci -x` to
 * `-xxxx`. A dump is the configuration space itself (PCIe 5.0 s7.5), so it
 * replaces what the text says.
 */
#include <stdio.h>
#include <string.h>

#include "inv_inventory.h"
#include "inv_machine_priv.h"

#define CONFIG_BYTES 256

/* The state while one output is read. */
typedef struct Reader {
    const char *name;
    InvMachine *machine;
    InvFunction *function; /* of the lines that follow; NULL: none yet */
    uint8_t config[CONFIG_BYTES];
    unsigned n_config; /* bytes of config that were read, from 0 on */
    unsigned bridge;   /* line of the first PCI bridge; 0: there is none */
    bool has_details;  /* there are more than the first lines of functions */
} Reader;

/* ---- Configuration space ----------------------------------------------- */

#define HEADER_TYPE       0x0e
#define CAPABILITIES      0x34
#define STATUS            0x06
#define STATUS_HAS_CAPS   0x10
#define CAPABILITY_PCIE   0x10
#define BASE_CLASS_BRIDGE 0x06

static unsigned config_u16(const Reader *reader, unsigned offset)
{
    return reader->config[offset] | (unsigned)reader->config[offset + 1] << 8;
}

static unsigned speed_mtps(unsigned code)
{
    static const unsigned speeds[] = {0, 2500, 5000, 8000, 16000, 32000};

    return code < G_N_ELEMENTS(speeds) ? speeds[code] : 0;
}

/* Returns @width if it is a number of lanes that a description can have; else
 * 0. */
static unsigned known_width(unsigned width)
{
    return width == 1 || width == 2 || width == 4 || width == 8 || width == 16
               ? width
               : 0;
}

/* Reads the PCI Express capability (PCIe 5.0 s7.5.3), if the dump has it. */
static void decode_link(Reader *reader, InvFunction *function)
{
    unsigned at = reader->config[CAPABILITIES] & ~3u;

    if (!(config_u16(reader, STATUS) & STATUS_HAS_CAPS)) {
        return;
    }
    /* A list that points at itself ends after as many steps as it can have. */
    for (unsigned i = 0; i < 48 && at >= 0x40 && at + 0x14 <= reader->n_config;
         i++) {
        if (reader->config[at] == CAPABILITY_PCIE) {
            unsigned capabilities = config_u16(reader, at + 0x0c);
            unsigned status = config_u16(reader, at + 0x12);

            function->port = (InvPort)(reader->config[at + 2] >> 4);
            if (function->port < INV_PORT_INTEGRATED) {
                function->pub.speed_mtps = speed_mtps(capabilities & 0xf);
                function->pub.width = known_width(capabilities >> 4 & 0x3f);
                function->link_width = known_width(status >> 4 & 0x3f);
            }
            reader->machine->has_links = true;
            return;
        }
        at = reader->config[at + 1] & ~3u;
    }
}

/* Takes the dump of the current function, if there is one. */
static void decode_config(Reader *reader)
{
    InvFunction *function = reader->function;
    unsigned type;

    if (!function || reader->n_config < 64) {
        reader->n_config = 0;
        return;
    }
    type = reader->config[HEADER_TYPE] & 0x7f;
    function->pub.vendor_id = config_u16(reader, 0);
    function->pub.device_id = config_u16(reader, 2);
    function->pub.class_code =
        reader->config[9] | reader->config[10] << 8 | reader->config[11] << 16;
    function->pub.is_bridge =
        reader->config[11] == BASE_CLASS_BRIDGE && (type == 1 || type == 2);
    if (function->pub.is_bridge) {
        function->pub.secondary = reader->config[0x19];
        function->pub.subordinate = reader->config[0x1a];
    }
    decode_link(reader, function);
    reader->n_config = 0;
}

/* Reads "10: 00 f0 ...". Returns false if @line is no such line. */
static bool read_dump_line(Reader *reader, const char *line)
{
    char *at;
    guint64 offset;

    if (!g_ascii_isxdigit(*line)) {
        return false;
    }
    offset = g_ascii_strtoull(line, &at, 16);
    if (at[0] != ':' || at[1] != ' ' || !g_ascii_isxdigit(at[2])) {
        return false;
    }
    for (at++;
         at[0] == ' ' && g_ascii_isxdigit(at[1]) && g_ascii_isxdigit(at[2]);
         at += 3, offset++) {
        if (offset == reader->n_config && offset < CONFIG_BYTES) {
            reader->config[reader->n_config++] =
                (uint8_t)(g_ascii_xdigit_value(at[1]) * 16 +
                          g_ascii_xdigit_value(at[2]));
        }
    }
    return true;
}

/* ---- Text -------------------------------------------------------------- */

/* Names of classes in pci.ids that tell what an import makes of a function. */
static const struct {
    const char *name;
    int64_t code;
} classes[] = {
    {"VGA compatible controller", 0x030000},
    {"3D controller", 0x030200},
    {"Display controller", 0x038000},
    {"Non-Volatile memory controller", 0x010802},
    {"Infiniband controller", 0x020700},
    {"InfiniBand controller", 0x020700},
    {"Ethernet controller", 0x020000},
    {"Network controller", 0x028000},
    {"Processing accelerators", 0x120000},
    {"Co-processor", 0x0b4000},
    {"PCI bridge", 0x060400},
    {"Host bridge", 0x060000},
};

/* Takes " [0604]" or " [8086:3c02]" off the end of @text. Returns whether it
 * was there. */
static bool take_numbers(char *text, unsigned n, int64_t *ret_first,
                         int64_t *ret_second)
{
    size_t length = n == 1 ? strlen(" [0604]") : strlen(" [8086:3c02]");
    char *at = strlen(text) > length ? text + strlen(text) - length : NULL;
    unsigned first, second = 0;
    int end = 0;

    if (!at || at[0] != ' ' ||
        (n == 1 ? sscanf(at, " [%4x]%n", &first, &end) != 1
                : sscanf(at, " [%4x:%4x]%n", &first, &second, &end) != 2) ||
        (size_t)end != length) {
        return false;
    }
    *at = '\0';
    *ret_first = first;
    if (ret_second) {
        *ret_second = second;
    }
    return true;
}

/* Reads "PCI bridge: Intel Corporation ... (rev 22) (prog-if 00 ...)", or
 * "0604: 8086:3c02 ..." of `lspci -n`. */
static void read_title(InvFunction *function, const char *text)
{
    g_auto(GStrv) sides = g_strsplit(text, ": ", 2);
    char *name = sides[1];
    unsigned vendor, device;
    int length = 0;
    char *end;
    int64_t code;

    if (!sides[0] || !name) {
        return;
    }
    if (strlen(sides[0]) == 4 && strspn(sides[0], "0123456789abcdef") == 4) {
        function->pub.class_code = (int64_t)strtol(sides[0], NULL, 16) << 8;
    } else if (take_numbers(sides[0], 1, &code, NULL)) {
        function->pub.class_code = code << 8;
    }
    for (unsigned i = 0;
         i < G_N_ELEMENTS(classes) && function->pub.class_code < 0; i++) {
        if (strcmp(sides[0], classes[i].name) == 0) {
            function->pub.class_code = classes[i].code;
        }
    }
    end = strstr(name, " (prog-if ");
    if (end) {
        *end = '\0';
    }
    end = strstr(name, " (rev ");
    if (end) {
        *end = '\0';
    }
    if (sscanf(name, "%4x:%4x%n", &vendor, &device, &length) == 2 &&
        name[length] == '\0') {
        function->pub.vendor_id = vendor;
        function->pub.device_id = device;
        return;
    }
    take_numbers(name, 2, &function->pub.vendor_id, &function->pub.device_id);
    function->pub.name = g_strdup(name);
}

static void read_port_type(InvFunction *function, const char *line)
{
    static const struct {
        const char *text;
        InvPort port;
    } ports[] = {
        {") Root Complex Integrated Endpoint", INV_PORT_INTEGRATED},
        {") Root Complex Event Collector", INV_PORT_EVENT_COLLECTOR},
        {") Root Port", INV_PORT_ROOT},
        {") Upstream Port", INV_PORT_UPSTREAM},
        {") Downstream Port", INV_PORT_DOWNSTREAM},
        {") Legacy Endpoint", INV_PORT_LEGACY},
        {") Endpoint", INV_PORT_ENDPOINT},
        {") PCI-Express to PCI", INV_PORT_TO_PCI},
        {") PCI/PCI-X to PCI-Express", INV_PORT_FROM_PCI},
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(ports); i++) {
        if (strstr(line, ports[i].text)) {
            function->port = ports[i].port;
            return;
        }
    }
}

/* Reads "Region 0: Memory at f8000000 (64-bit, prefetchable) [size=64M]". */
static void read_region(InvFunction *function, const char *line)
{
    const char *size = strstr(line, "[size=");
    InvRegion region = {0};
    char *unit;

    if (!size || !strstr(line, ": Memory at ") ||
        function->n_regions == G_N_ELEMENTS(function->regions)) {
        return;
    }
    region.size_bytes = g_ascii_strtoull(size + strlen("[size="), &unit, 10);
    region.size_bytes <<= *unit == 'K'   ? 10
                          : *unit == 'M' ? 20
                          : *unit == 'G' ? 30
                          : *unit == 'T' ? 40
                                         : 0;
    region.is_64bit = strstr(line, "(64-bit") != NULL;
    region.is_prefetchable = strstr(line, " prefetchable)") != NULL;
    function->regions[function->n_regions++] = region;
}

/* Reads "LnkCap: Port #0, Speed 8GT/s, Width x16" or "LnkSta: ...". */
static void read_link(Reader *reader, InvFunction *function, const char *line)
{
    const char *speed = strstr(line, "Speed ");
    const char *width = strstr(line, "Width x");
    bool is_status = strstr(line, "LnkSta:") != NULL;

    if (!width) {
        return;
    }
    reader->machine->has_links = true;
    if (is_status) {
        function->link_width =
            known_width((unsigned)g_ascii_strtoull(width + 7, NULL, 10));
        return;
    }
    function->pub.width =
        known_width((unsigned)g_ascii_strtoull(width + 7, NULL, 10));
    if (speed) {
        unsigned mtps = (unsigned)(g_ascii_strtod(speed + 6, NULL) * 1000);

        for (unsigned code = 1; speed_mtps(code); code++) {
            if (speed_mtps(code) == mtps) {
                function->pub.speed_mtps = mtps;
            }
        }
    }
}

static void read_detail(Reader *reader, const char *line)
{
    InvFunction *function = reader->function;
    unsigned primary, secondary, subordinate;
    const char *at;

    if ((at = strstr(line, "Bus: primary=")) &&
        sscanf(at, "Bus: primary=%2x, secondary=%2x, subordinate=%2x", &primary,
               &secondary, &subordinate) == 3) {
        function->pub.is_bridge = true;
        function->pub.secondary = secondary;
        function->pub.subordinate = subordinate;
    } else if (strstr(line, "] Express (v")) {
        read_port_type(function, line);
    } else if (strstr(line, "LnkCap:") || strstr(line, "LnkSta:")) {
        read_link(reader, function, line);
    } else if (strstr(line, "\tRegion ")) {
        read_region(function, line);
    } else if ((at = strstr(line, "NUMA node: "))) {
        function->pub.numa_node =
            (int)g_ascii_strtoll(at + strlen("NUMA node: "), NULL, 10);
    }
}

/* Returns whether @line begins with an address and a blank. If so, it begins a
 * function. */
static bool read_first_line(Reader *reader, const char *line)
{
    const char *blank = strchr(line, ' ');
    g_autofree char *word = NULL;
    TopoPciAddress address;

    if (!blank) {
        return false;
    }
    word = g_strndup(line, (size_t)(blank - line));
    if (!topo_address_parse(word, &address)) {
        return false;
    }
    decode_config(reader);
    reader->function = inv_machine_add(reader->machine, address);
    read_title(reader->function, blank + 1);
    return true;
}

static bool is_pci_bridge(const InvFunction *function)
{
    return function->pub.class_code >> 8 == 0x0604;
}

/* Returns the option of lspci that has given @line a form that cannot be read:
 * -P for a path, "00:1c.0/00.0 ...", or -m for quotes, "00:1c.0 "PCI bridge"
 * ...". Returns NULL if neither has. */
static const char *unreadable_form(const char *line)
{
    size_t length = strcspn(line, "/ ");
    g_autofree char *word = g_strndup(line, length);
    TopoPciAddress address;

    if (!topo_address_parse(word, &address)) {
        return NULL;
    }
    return line[length] == '/'                      ? "-P"
           : g_str_has_prefix(line + length, " \"") ? "-m"
                                                    : NULL;
}

/* Without -v, lspci tells neither the buses of a bridge nor links: all
 * functions would seem to be parts of the root complex. */
static bool check_details(const Reader *reader, GError **error)
{
    if (reader->has_details || !reader->bridge) {
        return true;
    }
    g_set_error(error, INV_ERROR, INV_ERROR_IMPORT,
                "%s:%u: this PCI bridge has no bus numbers; write the dump "
                "with lspci -vvv or lspci -xxx",
                reader->name, reader->bridge);
    return false;
}

InvMachine *inv_read_lspci(const char *name, const char *text, GError **error)
{
    g_autoptr(InvMachine) machine = inv_machine_new();
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    Reader reader = {.name = name, .machine = machine};

    for (unsigned i = 0; lines[i]; i++) {
        const char *option;

        g_strchomp(lines[i]);
        if (*lines[i] == '\0' || *lines[i] == '#') {
            continue;
        }
        option = unreadable_form(lines[i]);
        if (option) {
            g_set_error(error, INV_ERROR, INV_ERROR_IMPORT,
                        "%s:%u: lspci %s does not tell enough, or not so that "
                        "it can be read; write the dump with lspci -vvv alone",
                        name, i + 1, option);
            return NULL;
        }
        if (read_first_line(&reader, lines[i])) {
            if (!reader.bridge && is_pci_bridge(reader.function)) {
                reader.bridge = i + 1;
            }
            continue;
        }
        if (!reader.function) {
            g_set_error(error, INV_ERROR, INV_ERROR_IMPORT,
                        "%s:%u: this is no output of lspci; a function begins "
                        "with its address",
                        name, i + 1);
            return NULL;
        }
        reader.has_details = true;
        if (!read_dump_line(&reader, lines[i])) {
            read_detail(&reader, lines[i]);
        }
    }
    decode_config(&reader);
    return inv_machine_finish(machine, name, error) &&
                   check_details(&reader, error)
               ? g_steal_pointer(&machine)
               : NULL;
}
