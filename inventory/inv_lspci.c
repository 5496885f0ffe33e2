/* SPDX-License-Identifier: MIT */
/*
 * Reads the output of `lspci -vvv`, and the hexadecimal dumps of `lspci -x` to
 * `-xxxx`. A dump is the configuration space itself (PCIe 5.0 s7.5), so it
 * replaces what the text says.
 *
 * Blanks may stand for tabs, and a mail program may have broken lines: what
 * begins neither with a blank nor with a word of lspci continues the line
 * before.
 */
#include <stdio.h>
#include <string.h>

#include "inv_inventory.h"
#include "inv_machine_priv.h"

#define CONFIG_BYTES   4096
#define EXTENDED_SPACE 0x100 /* of configuration space (PCIe 5.0 s7.6) */

/* Registers of the PCI Express and other capabilities, by the words of lspci.
 * The lines below one of them continue it. */
typedef enum Register {
    REGISTER_OTHER,
    REGISTER_DEVICE_CONTROL,
    REGISTER_DEVICE_CONTROL_2,
    REGISTER_DEVICE_CONTROL_3,
    REGISTER_LINK_CAPABILITIES,
    REGISTER_LINK_CONTROL,
    REGISTER_LINK_STATUS,
    REGISTER_ACS_CAPABILITIES,
    REGISTER_ACS_CONTROL,
} Register;

/* The state while one output is read. */
typedef struct Reader {
    const char *name;
    InvMachine *machine;
    InvFunction *function; /* of the lines that follow; NULL: none yet */
    GString *line;         /* what was read of the current line */
    bool is_title;         /* this is the first line of the function */
    Register where;
    bool is_in_capability;
    uint8_t config[CONFIG_BYTES];
    unsigned n_config; /* bytes of config that were read, from 0 on */
    unsigned bridge;   /* line of the first PCI bridge; 0: there is none */
    bool has_details;  /* there are more than the first lines of functions */
} Reader;

/* Takes the dump of the current function, if there is one. */
static void take_config(Reader *reader)
{
    if (reader->function) {
        inv_config_decode(reader->machine, reader->function, reader->config,
                          reader->n_config);
    }
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
    function->is_asleep =
        strstr(name, " (rev ff)") && strstr(name, "(prog-if ff");
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

static void read_port_type(InvFunction *function, const char *text)
{
    static const struct {
        const char *text;
        InvPort port;
    } ports[] = {
        {"Root Complex Integrated Endpoint", INV_PORT_INTEGRATED},
        {"Root Complex Event Collector", INV_PORT_EVENT_COLLECTOR},
        {"Root Port", INV_PORT_ROOT},
        {"Upstream Port", INV_PORT_UPSTREAM},
        {"Downstream Port", INV_PORT_DOWNSTREAM},
        {"PCI-Express to PCI", INV_PORT_TO_PCI},
        {"PCI/PCI-X to PCI-Express", INV_PORT_FROM_PCI},
        {"Legacy Endpoint", INV_PORT_LEGACY},
        {"Endpoint", INV_PORT_ENDPOINT},
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(ports); i++) {
        if (strstr(text, ports[i].text)) {
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
    region.is_64bit = strstr(line, "(64-bit");
    region.is_prefetchable = strstr(line, " prefetchable)");
    function->regions[function->n_regions++] = region;
}

/* Reads "Speed 8GT/s, Width x16" of the capabilities or the status of a
 * link. */
static void read_link(Reader *reader, const char *line, bool is_status)
{
    InvMachine *machine = reader->machine;
    InvFunction *function = reader->function;
    const char *speed = strstr(line, "Speed ");
    const char *width = strstr(line, "Width x");
    unsigned lanes = 0, mtps = 0;

    if (!width) {
        return;
    }
    machine->has_links = true;
    lanes = inv_machine_width(machine, function,
                              (unsigned)g_ascii_strtoull(width + 7, NULL, 10));
    if (speed && lanes && g_str_has_prefix(speed + 6, "unknown") &&
        !is_status) {
        g_autofree char *address =
            topo_address_to_string(function->pub.address);

        inv_machine_note(machine,
                         "this lspci did not know the speed of these links; "
                         "they are taken as those of the generic parts; write "
                         "the dump with a newer lspci",
                         address);
    } else if (speed) {
        mtps = inv_machine_speed(machine, function,
                                 g_ascii_strtod(speed + 6, NULL));
    }
    if (is_status) {
        function->link_width = lanes;
        function->link_mtps = lanes ? mtps : 0;
    } else {
        function->pub.width = lanes;
        function->pub.speed_mtps = mtps;
    }
}

/* Reads "NAME+" or "NAME-" in @line, if it is there. */
static void read_switch(const char *line, const char *name, int *ret_value)
{
    const char *at = strstr(line, name);
    char sign = at ? at[strlen(name)] : '\0';

    if (sign == '+' || sign == '-') {
        *ret_value = sign == '+';
    }
}

/* Reads "NAME 128" in @line, if it is there. */
static void read_number(const char *line, const char *name, unsigned *ret_value)
{
    const char *at = strstr(line, name);

    if (at) {
        *ret_value = (unsigned)MIN(
            g_ascii_strtoull(at + strlen(name), NULL, 10), G_MAXUINT16);
    }
}

static void read_settings(Reader *reader, const char *line)
{
    InvSettings *settings = &reader->function->settings;

    switch (reader->where) {
    case REGISTER_DEVICE_CONTROL:
        read_switch(line, "RlxdOrd", &settings->relaxed_ordering);
        read_switch(line, "ExtTag", &settings->extended_tags);
        read_number(line, "MaxPayload ", &settings->mps_bytes);
        read_number(line, "MaxReadReq ", &settings->mrrs_bytes);
        break;
    case REGISTER_DEVICE_CONTROL_2:
        read_switch(line, "10BitTagReq", &settings->ten_bit_tags);
        read_switch(line, "IDOReq", &settings->id_ordering);
        break;
    case REGISTER_DEVICE_CONTROL_3:
        read_switch(line, "14-Bit Tag Requester", &settings->fourteen_bit_tags);
        break;
    case REGISTER_LINK_CAPABILITIES:
        read_link(reader, line, false);
        break;
    case REGISTER_LINK_STATUS:
        read_link(reader, line, true);
        break;
    case REGISTER_LINK_CONTROL:
        read_number(line, "RCB ", &settings->rcb_bytes);
        read_switch(line, "FltModeDis", &settings->flits_off);
        break;
    case REGISTER_ACS_CAPABILITIES:
        read_switch(line, "ReqRedir", &settings->acs_can_redirect);
        break;
    case REGISTER_ACS_CONTROL:
        read_switch(line, "ReqRedir", &settings->acs_redirect);
        read_switch(line, "CmpltRedir", &settings->acs_completions);
        read_switch(line, "DirectTrans", &settings->acs_direct);
        break;
    case REGISTER_OTHER:
        read_number(line, "Number of VFs: ", &settings->vfs);
        read_number(line, "VF offset: ", &settings->vf_offset);
        if (strstr(line, "VF offset: ")) {
            read_number(line, "stride: ", &settings->vf_stride);
        }
        break;
    }
}

/* Finds the register with which @line begins. One without such a word continues
 * the register before. */
static void find_register(Reader *reader, const char *line)
{
    static const struct {
        const char *word;
        Register where;
    } words[] = {
        {"DevCtl:", REGISTER_DEVICE_CONTROL},
        {"DevCtl2:", REGISTER_DEVICE_CONTROL_2},
        /* It is within the lines of DevCtl2. */
        {"AtomicOpsCtl:", REGISTER_DEVICE_CONTROL_2},
        {"DevCtl3:", REGISTER_DEVICE_CONTROL_3},
        {"LnkCap:", REGISTER_LINK_CAPABILITIES},
        {"LnkCtl:", REGISTER_LINK_CONTROL},
        {"LnkSta:", REGISTER_LINK_STATUS},
        {"ACSCap:", REGISTER_ACS_CAPABILITIES},
        {"ACSCtl:", REGISTER_ACS_CONTROL},
        /* pciutils 2 */
        {"Device: Supported:", REGISTER_OTHER},
        {"Device: ", REGISTER_DEVICE_CONTROL},
        {"Link: Supported", REGISTER_LINK_CAPABILITIES},
        {"Link: Speed", REGISTER_LINK_STATUS},
        {"Link: ", REGISTER_LINK_CONTROL},
    };
    size_t length = strcspn(line, ": ");

    for (unsigned i = 0; i < G_N_ELEMENTS(words); i++) {
        if (g_str_has_prefix(line, words[i].word)) {
            reader->where = words[i].where;
            return;
        }
    }
    if (line[length] == ':' && length > 0) {
        reader->where = REGISTER_OTHER;
    }
}

static void read_detail(Reader *reader, const char *line)
{
    InvFunction *function = reader->function;
    unsigned primary, secondary, subordinate;

    find_register(reader, line);
    if (sscanf(line, "Bus: primary=%2x, secondary=%2x, subordinate=%2x",
               &primary, &secondary, &subordinate) == 3) {
        function->pub.is_bridge = true;
        function->pub.secondary = secondary;
        function->pub.subordinate = subordinate;
    } else if (g_str_has_prefix(line, "Capabilities: [") ||
               g_str_has_prefix(line, "Capabilities: <")) {
        const char *express = strstr(line, "] Express ");

        reader->is_in_capability = true;
        /* A dump with extended capabilities has all of them. */
        if (line[strlen("Capabilities: ")] == '[' &&
            g_ascii_strtoull(line + strlen("Capabilities: ["), NULL, 16) >=
                EXTENDED_SPACE &&
            function->settings.acs_can_redirect < 0) {
            function->settings.acs_can_redirect = 0;
        }
        if (express) {
            read_port_type(function, express);
        }
        if (strstr(line, "<access denied>")) {
            inv_machine_note(reader->machine,
                             "lspci was not run as root, so links and settings "
                             "are missing; write the dump with sudo lspci -vvv",
                             NULL);
        }
    } else if (g_str_has_prefix(line, "Region ")) {
        /* The regions of virtual functions are in a capability. */
        if (!reader->is_in_capability) {
            read_region(function, line);
        }
    } else if (g_str_has_prefix(line, "NUMA node: ")) {
        function->pub.numa_node =
            (int)g_ascii_strtoll(line + strlen("NUMA node: "), NULL, 10);
    } else if (g_str_has_prefix(line, "!!! Unknown header type 7f")) {
        function->is_asleep = true;
    } else {
        read_settings(reader, line);
    }
}

/* Reads the line that is complete now. */
static void end_line(Reader *reader)
{
    if (reader->line->len > 0 && reader->function) {
        if (reader->is_title) {
            read_title(reader->function, reader->line->str);
        } else {
            read_detail(reader, reader->line->str);
        }
    }
    g_string_truncate(reader->line, 0);
    reader->is_title = false;
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
    end_line(reader);
    take_config(reader);
    reader->function = inv_machine_add(reader->machine, address);
    reader->where = REGISTER_OTHER;
    reader->is_in_capability = false;
    reader->is_title = true;
    g_string_assign(reader->line, blank + 1);
    return true;
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

/* Returns whether @line begins a line of lspci, also without its tabs. What a
 * mail program has broken off a line does not. */
static bool begins_detail(const char *line)
{
    static const char *const words[] = {
        "NUMA node:",    "IOMMU group:", "Region ",        "Expansion ROM at",
        "Kernel ",       "I/O behind ",  "Memory behind ", "Prefetchable m",
        "Secondary st",  "Physical Sl",  "Initial VFs:",   "VF offset:",
        "!!! Unknown h",
    };
    size_t length = strspn(line, "abcdefghijklmnopqrstuvwxyz"
                                 "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789");

    if (*line == ' ' || *line == '\t' ||
        (g_ascii_isupper(*line) && line[length] == ':')) {
        return true;
    }
    for (unsigned i = 0; i < G_N_ELEMENTS(words); i++) {
        if (g_str_has_prefix(line, words[i])) {
            return true;
        }
    }
    return false;
}

/* Returns whether @line begins a dump of another kind. */
static bool begins_other(const char *line)
{
    return g_str_has_prefix(line, "-[") || g_str_has_prefix(line, "-+-[") ||
           *line == '<' || inv_is_matrix(line);
}

/* Reads a line that is no begin of a function. */
static bool read_other_line(Reader *reader, const char *line, unsigned number,
                            GError **error)
{
    if (!reader->function) {
        g_set_error(error, INV_ERROR, INV_ERROR_IMPORT,
                    "%s:%u: this is no output of lspci; a function begins "
                    "with its address, such as 00:1c.0; delete what is not "
                    "lspci's",
                    reader->name, number);
        return false;
    }
    if (begins_other(line)) {
        g_set_error(error, INV_ERROR, INV_ERROR_IMPORT,
                    "%s:%u: another dump begins here; give each one in a file "
                    "of its own",
                    reader->name, number);
        return false;
    }
    if (read_dump_line(reader, line)) {
        reader->has_details = true;
    } else if (begins_detail(line)) {
        end_line(reader);
        reader->has_details = true;
        g_string_assign(reader->line, line + strspn(line, " \t"));
    } else {
        g_string_append_printf(reader->line, " %s", line);
    }
    return true;
}

static bool read_line(Reader *reader, const char *line, unsigned number,
                      GError **error)
{
    const char *option = unreadable_form(line);

    if (option) {
        g_set_error(error, INV_ERROR, INV_ERROR_IMPORT,
                    "%s:%u: lspci %s does not tell enough, or not so that it "
                    "can be read; write the dump with lspci -vvv alone",
                    reader->name, number, option);
        return false;
    }
    if (!read_first_line(reader, line)) {
        return read_other_line(reader, line, number, error);
    }
    if (!reader->bridge && (g_str_has_prefix(reader->line->str, "PCI bridge") ||
                            g_str_has_prefix(reader->line->str, "0604:"))) {
        reader->bridge = number;
    }
    return true;
}

InvMachine *inv_read_lspci(const char *name, const char *text, GError **error)
{
    g_autoptr(InvMachine) machine = inv_machine_new();
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    g_autoptr(GString) line = g_string_new(NULL);
    g_autofree Reader *reader = g_new0(Reader, 1);

    reader->name = name;
    reader->machine = machine;
    reader->line = line;
    for (unsigned i = 0; lines[i]; i++) {
        if (*lines[i] != '\0' && *lines[i] != '#' &&
            !read_line(reader, lines[i], i + 1, error)) {
            return NULL;
        }
    }
    end_line(reader);
    take_config(reader);
    return inv_machine_finish(machine, name, error) &&
                   check_details(reader, error)
               ? g_steal_pointer(&machine)
               : NULL;
}
