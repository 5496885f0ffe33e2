/* SPDX-License-Identifier: MIT */
/*
 * Reads the output of `lspci -t`, which is one tree, or from pciutils 3.10 on
 * one for each domain. A branch goes on in the column in which it began, so
 * each column remembers the bus that its branch shows. A line shows with '|'
 * which branches go on, so that a line in a wrong column is noticed.
 */
#include <stdio.h>
#include <string.h>

#include "inv_inventory.h"
#include "inv_machine_priv.h"

#define COLUMNS_MAX 1024
#define MOVE_MAX    16 /* columns that a tree may have been moved by */

typedef struct Bus {
    unsigned domain, number;
} Bus;

typedef struct Branch {
    Bus bus;
    bool is_open; /* another member of the bus comes below */
} Branch;

typedef struct Reader {
    InvMachine *machine;
    const char *line;
    int move;  /* columns by which the lines below the first were moved */
    int shift; /* the same for the current line */
    Branch branches[COLUMNS_MAX]; /* by column */
} Reader;

/* Each of these reads from @at to the end of the line, and returns false if it
 * has another form. */
static bool read_members(Reader *reader, const char *at, Bus bus);

/* Remembers @bus for the branch at @at, if it goes on. */
static bool branch(Reader *reader, const char *at, Bus bus)
{
    ptrdiff_t column = at - reader->line - reader->shift;

    if (column < 0 || column >= COLUMNS_MAX) {
        return false;
    }
    reader->branches[column] = (Branch){bus, *at == '+'};
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

/* Returns whether the line begins with '|' in the columns of all branches left
 * of @column that go on, and with blanks elsewhere. */
static bool has_right_lead(const Reader *reader, const char *text, int column)
{
    for (int i = 0; i < column; i++) {
        int at = i + reader->move;
        char expected = reader->branches[i].is_open ? '|' : ' ';

        if ((at < 0 ? ' ' : text[at]) != expected) {
            return false;
        }
    }
    /* The move has put blanks in front of column 0. */
    for (int at = 0; at < reader->move; at++) {
        if (text[at] != ' ') {
            return false;
        }
    }
    return true;
}

/* Reads the first line of a tree. */
static bool read_first_line(Reader *reader, const char *text)
{
    Bus none = {0};

    memset(reader->branches, 0, sizeof reader->branches);
    reader->line = text;
    reader->shift = 0;
    return *text == '-' && read_buses(reader, text + 1, none);
}

static bool read_line(Reader *reader, const char *text)
{
    const char *at = text + strspn(text, " |");
    int column = (int)MIN(at - text, COLUMNS_MAX) - reader->move;
    Branch own;

    if (!is_branch(at) || column < 0 || column >= COLUMNS_MAX ||
        !reader->branches[column].is_open ||
        !has_right_lead(reader, text, column)) {
        return false;
    }
    own = reader->branches[column];
    memset(&reader->branches[column], 0,
           (size_t)(COLUMNS_MAX - column) * sizeof(Branch));
    reader->line = text;
    reader->shift = reader->move;
    if (at[2] == '[') {
        return branch(reader, at, own.bus) && read_bus(reader, at + 2);
    }
    return branch(reader, at, own.bus) &&
           read_function(reader, at + 2, own.bus);
}

/* Reads all lines, of which those below the first one of a tree were moved by
 * @move columns. Returns NULL, and the line in *ret_bad, if they were not. */
static InvMachine *read_moved(char **lines, int move, unsigned *ret_bad)
{
    g_autoptr(InvMachine) machine = inv_machine_new();
    g_autofree Reader *reader = g_new0(Reader, 1);
    bool has_begun = false;

    reader->machine = machine;
    reader->move = move;
    for (unsigned i = 0; lines[i]; i++) {
        bool is_good = true;

        if (*lines[i] == '-') {
            has_begun = true;
            is_good = read_first_line(reader, lines[i]);
        } else if (*lines[i] != '\0' && *lines[i] != '#') {
            is_good = has_begun && read_line(reader, lines[i]);
        }
        if (!is_good) {
            *ret_bad = i;
            return NULL;
        }
    }
    return g_steal_pointer(&machine);
}

/* Replaces tabs by as many blanks as they stand for. */
static char *expand_tabs(const char *line)
{
    GString *out = g_string_new(NULL);

    for (; *line; line++) {
        if (*line == '\t') {
            do {
                g_string_append_c(out, ' ');
            } while (out->len % 8 != 0);
        } else {
            g_string_append_c(out, *line);
        }
    }
    return g_string_free(out, FALSE);
}

InvMachine *inv_read_lspci_tree(const char *name, const char *text,
                                GError **error)
{
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    g_autoptr(InvMachine) machine = NULL;
    unsigned bad, other;

    for (unsigned i = 0; lines[i]; i++) {
        char *expanded = expand_tabs(lines[i]);

        g_free(lines[i]);
        lines[i] = expanded;
    }
    machine = read_moved(lines, 0, &bad);
    /* The '|' of a tree fit one move at most. */
    for (int move = -MOVE_MAX; move <= MOVE_MAX && !machine; move++) {
        machine = read_moved(lines, move, &other);
        if (machine) {
            inv_machine_note(machine,
                             "the lines of the tree were moved against the "
                             "first one, and were moved back",
                             NULL);
        }
    }
    if (!machine) {
        g_set_error(error, INV_ERROR, INV_ERROR_IMPORT,
                    "%s:%u: this line does not continue the tree of `lspci "
                    "-t`: it is another line, or was broken or moved, as "
                    "mail programs do; give the whole output as lspci wrote "
                    "it to a file",
                    name, bad + 1);
        return NULL;
    }
    return inv_machine_finish(machine, name, error) ? g_steal_pointer(&machine)
                                                    : NULL;
}
