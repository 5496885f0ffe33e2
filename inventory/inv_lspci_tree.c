/* SPDX-License-Identifier: MIT */
/*
 * Reads the output of `lspci -t`. A branch goes on in the column in which it
 * began, so each column remembers the bus that its branch shows.
 */
#include <stdio.h>
#include <string.h>

#include "inv_inventory.h"
#include "inv_machine_priv.h"

#define COLUMNS_MAX 1024

typedef struct Bus {
    unsigned domain, number;
    bool is_known;
} Bus;

typedef struct Reader {
    InvMachine *machine;
    const char *line;
    Bus branches[COLUMNS_MAX]; /* by column */
} Reader;

/* Each of these reads from @at to the end of the line, and returns false if it
 * has another form. */
static bool read_members(Reader *reader, const char *at, Bus bus);

/* Remembers @bus for the branch at @at. */
static bool branch(Reader *reader, const char *at, Bus bus)
{
    size_t column = (size_t)(at - reader->line);

    if (column >= COLUMNS_MAX) {
        return false;
    }
    bus.is_known = true;
    reader->branches[column] = bus;
    return true;
}

/* Reads "[0000:00]-" and what is on that bus. */
static bool read_bus(Reader *reader, const char *at)
{
    Bus bus = {0};
    int length = 0;

    if (sscanf(at, "[%8x:%2x]-%n", &bus.domain, &bus.number, &length) != 2 ||
        length == 0) {
        return false;
    }
    return read_members(reader, at + length, bus);
}

static bool is_branch(const char *at)
{
    return (at[0] == '+' || at[0] == '\\') && at[1] == '-';
}

/* Reads the buses below a bridge, whose first is @bus, or those of the
 * machine. */
static bool read_buses(Reader *reader, const char *at, Bus bus)
{
    if (is_branch(at) && at[2] == '[') {
        return branch(reader, at, bus) && read_bus(reader, at + 2);
    }
    return *at == '[' ? read_bus(reader, at) : read_members(reader, at, bus);
}

static bool read_function(Reader *reader, const char *at, Bus bus)
{
    TopoPciAddress address = {.domain = bus.domain, .bus = bus.number};
    InvFunction *function;
    int length = 0;

    if (sscanf(at, "%2x.%1x%n", &address.dev, &address.fn, &length) != 2 ||
        address.dev > 31 || address.fn > 7) {
        return false;
    }
    at += length;
    function = inv_machine_add(reader->machine, address);
    if (*at == '\0') {
        return true;
    }
    if (at[0] == ' ' && at[1] == ' ') {
        /* lspci -tv */
        function->pub.name = g_strdup(at + 2);
        return true;
    }
    function->pub.is_bridge = true;
    function->pub.class_code = 0x060400;
    length = 0;
    if (sscanf(at, "-[%2x-%2x]-%n", &function->pub.secondary,
               &function->pub.subordinate, &length) != 2 ||
        length == 0) {
        length = 0;
        if (sscanf(at, "-[%2x]-%n", &function->pub.secondary, &length) != 1 ||
            length == 0) {
            /* Firmware has not set up this bridge. */
            function->pub.secondary = 0;
            length = 1;
        }
        function->pub.subordinate = function->pub.secondary;
    }
    bus.number = function->pub.secondary;
    return at[0] == '-' && at[length] == '-' &&
           read_buses(reader, at + length + 1, bus);
}

static bool read_members(Reader *reader, const char *at, Bus bus)
{
    if (*at == '\0') {
        return true;
    }
    if (is_branch(at)) {
        return branch(reader, at, bus) && read_function(reader, at + 2, bus);
    }
    return at[0] == '-' && at[1] == '-' && read_function(reader, at + 2, bus);
}

static bool read_line(Reader *reader, bool is_first)
{
    const char *at = reader->line + strspn(reader->line, " |");
    size_t column = (size_t)(at - reader->line);
    Bus none = {0};

    if (is_first) {
        return *at == '-' && read_buses(reader, at + 1, none);
    }
    if (!is_branch(at) || column >= COLUMNS_MAX ||
        !reader->branches[column].is_known) {
        return false;
    }
    return at[2] == '['
               ? read_bus(reader, at + 2)
               : read_function(reader, at + 2, reader->branches[column]);
}

InvMachine *inv_read_lspci_tree(const char *name, const char *text,
                                GError **error)
{
    g_autoptr(InvMachine) machine = inv_machine_new();
    g_autofree Reader *reader = g_new0(Reader, 1);
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);

    reader->machine = machine;
    for (unsigned i = 0; lines[i]; i++) {
        reader->line = g_strchomp(lines[i]);
        if (*reader->line != '\0' && !read_line(reader, i == 0)) {
            g_set_error(error, INV_ERROR, INV_ERROR_IMPORT,
                        "%s:%u: this is no line of `lspci -t`; give its whole "
                        "output",
                        name, i + 1);
            return NULL;
        }
    }
    return inv_machine_finish(machine, name, error) ? g_steal_pointer(&machine)
                                                    : NULL;
}
