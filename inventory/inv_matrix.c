/* SPDX-License-Identifier: MIT */
/*
 * Reads the matrix of `nvidia-smi topo -m`: how each pair of GPUs and NICs is
 * joined. It tells which of them share a switch, a root port or a memory node,
 * but neither addresses nor links.
 */
#include <stdio.h>
#include <string.h>

#include "inv_inventory.h"
#include "inv_machine_priv.h"

#define ENTRIES_MAX 512

/* The way between two entries, by the legend of the matrix. */
typedef enum Way {
    WAY_NVLINK, /* NV#: hides the way through PCIe */
    WAY_PIX,    /* at most one bridge */
    WAY_PXB,    /* several bridges, but no host bridge */
    WAY_PHB,    /* a host bridge */
    WAY_NODE,   /* several host bridges of a memory node */
    WAY_SYS,    /* a link between memory nodes */
    WAY_SELF,
} Way;

/* A GPU or a NIC. */
typedef struct Entry {
    char *name; /* as the matrix has it */
    char *full; /* of a NIC: the name of the legend, or NULL */
    bool is_gpu;
    bool is_read;   /* its row was there */
    char *cpus;     /* CPU Affinity, or NULL */
    int node;       /* NUMA Affinity; -1: not known */
    unsigned chip;  /* number of the first entry below the same switch */
    unsigned port;  /* the same of the root port */
    unsigned group; /* the same of the memory node */
    Way *ways;      /* to each entry */
} Entry;

typedef struct Reader {
    const char *name;
    GPtrArray *entries; /* of Entry, in the order of the columns */
    bool has_numa, has_gpu_numa;
} Reader;

static void entry_free(void *data)
{
    Entry *entry = data;

    g_free(entry->name);
    g_free(entry->full);
    g_free(entry->cpus);
    g_free(entry->ways);
    g_free(entry);
}

static Entry *entry_at(const Reader *reader, unsigned index)
{
    return reader->entries->pdata[index];
}

/* Returns the words of @line, to be freed. */
static char **words_of(const char *line)
{
    g_auto(GStrv) all = g_strsplit_set(line, " \t", -1);
    GStrvBuilder *builder = g_strv_builder_new();
    char **words;

    for (unsigned i = 0; all[i]; i++) {
        if (*all[i] != '\0') {
            g_strv_builder_add(builder, all[i]);
        }
    }
    words = g_strv_builder_end(builder);
    g_strv_builder_unref(builder);
    return words;
}

/* Returns whether @word is @prefix and a number. */
static bool is_numbered(const char *word, const char *prefix)
{
    size_t length = strlen(prefix);

    return g_str_has_prefix(word, prefix) && word[length] != '\0' &&
           word[length + strspn(word + length, "0123456789")] == '\0';
}

static bool read_way(const char *word, Way *ret_way)
{
    static const struct {
        const char *word;
        Way way;
    } ways[] = {{"X", WAY_SELF},  {"PIX", WAY_PIX},   {"PXB", WAY_PXB},
                {"PHB", WAY_PHB}, {"NODE", WAY_NODE}, {"SYS", WAY_SYS},
                {"SOC", WAY_SYS}}; /* of old drivers */

    for (unsigned i = 0; i < G_N_ELEMENTS(ways); i++) {
        if (strcmp(word, ways[i].word) == 0) {
            *ret_way = ways[i].way;
            return true;
        }
    }
    *ret_way = WAY_NVLINK;
    return is_numbered(word, "NV");
}

/* Returns whether @words are the heads of the columns: names, of which the
 * first is a GPU. A row has a way behind its name. */
static bool is_head(char **words)
{
    Way way;

    return words[0] && is_numbered(words[0], "GPU") && words[1] &&
           !read_way(words[1], &way) && !strchr(words[1], ':');
}

bool inv_is_matrix(const char *text)
{
    g_autofree char *line = g_strndup(text, strcspn(text, "\n"));
    g_auto(GStrv) words = words_of(line);

    return is_head(words);
}

static bool fail(const Reader *reader, unsigned line, GError **error,
                 const char *format, ...) G_GNUC_PRINTF(4, 5);

static bool fail(const Reader *reader, unsigned line, GError **error,
                 const char *format, ...)
{
    g_autofree char *message = NULL;
    va_list args;

    va_start(args, format);
    message = g_strdup_vprintf(format, args);
    va_end(args);
    g_set_error(error, INV_ERROR, INV_ERROR_IMPORT, "%s:%u: %s", reader->name,
                line, message);
    return false;
}

static bool read_head(Reader *reader, char **words, unsigned line,
                      GError **error)
{
    unsigned n = 0;

    while (words[n] && strcmp(words[n], "CPU") != 0 &&
           strcmp(words[n], "NUMA") != 0) {
        n++;
    }
    if (n > ENTRIES_MAX) {
        return fail(reader, line, error,
                    "the matrix has %u columns; give one with at most %u", n,
                    ENTRIES_MAX);
    }
    for (unsigned i = 0; i < n; i++) {
        Entry *entry = g_new0(Entry, 1);

        entry->name = g_strdup(words[i]);
        entry->is_gpu = is_numbered(words[i], "GPU");
        entry->node = -1;
        entry->chip = entry->port = entry->group = i;
        entry->ways = g_new0(Way, n);
        g_ptr_array_add(reader->entries, entry);
    }
    for (unsigned i = n; words[i] && words[i + 1]; i++) {
        reader->has_numa |= strcmp(words[i], "NUMA") == 0 &&
                            strcmp(words[i + 1], "Affinity") == 0;
        reader->has_gpu_numa |=
            strcmp(words[i], "NUMA") == 0 && strcmp(words[i + 1], "ID") == 0;
    }
    return true;
}

/* Reads CPU and NUMA affinity. If there are fewer words than columns, it is not
 * known which column is empty. */
static void read_affinity(const Reader *reader, Entry *entry, char **words)
{
    unsigned columns = 1 + reader->has_numa + reader->has_gpu_numa;

    if (g_strv_length(words) < columns) {
        return;
    }
    if (strcmp(words[0], "N/A") != 0) {
        entry->cpus = g_strdup(words[0]);
    }
    if (reader->has_numa && words[1][strspn(words[1], "0123456789")] == '\0') {
        entry->node =
            (int)MIN(g_ascii_strtoull(words[1], NULL, 10), G_MAXUINT16);
    }
}

static bool read_row(Reader *reader, char **words, unsigned line,
                     GError **error)
{
    unsigned n = reader->entries->len;
    unsigned length = g_strv_length(words);
    unsigned index = 0;
    Entry *entry;

    while (index < n && strcmp(entry_at(reader, index)->name, words[0]) != 0) {
        index++;
    }
    if (index == n) {
        return fail(reader, line, error,
                    "'%s' is no column of the matrix of nvidia-smi topo -m; "
                    "give its whole output, with unbroken lines",
                    words[0]);
    }
    entry = entry_at(reader, index);
    if (entry->is_read || length < n + 1) {
        return fail(reader, line, error,
                    "the row of %s %s; give the whole output of nvidia-smi "
                    "topo -m, with unbroken lines",
                    words[0],
                    entry->is_read ? "is there twice"
                                   : "has fewer entries than there are "
                                     "columns");
    }
    entry->is_read = true;
    for (unsigned i = 0; i < n; i++) {
        if (!read_way(words[i + 1], &entry->ways[i]) ||
            (entry->ways[i] == WAY_SELF) != (i == index)) {
            return fail(reader, line, error,
                        "'%s' is no way from %s to %s; nvidia-smi topo -m "
                        "writes X, PIX, PXB, PHB, NODE, SYS or NV and a number",
                        words[i + 1], words[0], entry_at(reader, i)->name);
        }
    }
    read_affinity(reader, entry, words + n + 1);
    return true;
}

/* Reads "NIC0: mlx5_0" of the legend. */
static void read_legend(Reader *reader, char **words)
{
    for (unsigned i = 0; i < reader->entries->len && words[0] && words[1];
         i++) {
        Entry *entry = entry_at(reader, i);
        size_t length = strlen(entry->name);

        if (g_str_has_prefix(words[0], entry->name) &&
            strcmp(words[0] + length, ":") == 0 && !entry->full) {
            entry->full = g_strdup(words[1]);
        }
    }
}

static bool read_lines(Reader *reader, char **lines, GError **error)
{
    bool is_legend = false;

    for (unsigned i = 0; lines[i]; i++) {
        g_auto(GStrv) words = words_of(lines[i]);

        if (!words[0] || *words[0] == '#') {
            continue;
        }
        is_legend |= g_str_has_prefix(lines[i], "Legend") ||
                     g_str_has_prefix(lines[i], "NIC Legend");
        if (is_legend) {
            read_legend(reader, words);
        } else if (!(reader->entries->len == 0
                         ? read_head(reader, words, i + 1, error)
                         : read_row(reader, words, i + 1, error))) {
            return false;
        }
    }
    for (unsigned i = 0; i < reader->entries->len; i++) {
        if (!entry_at(reader, i)->is_read) {
            return fail(reader, g_strv_length(lines), error,
                        "the row of %s is missing; give the whole output of "
                        "nvidia-smi topo -m",
                        entry_at(reader, i)->name);
        }
    }
    return true;
}

/* ---- What the matrix means --------------------------------------------- */

/* Returns whether entries @a and @b belong together. */
typedef bool (*IsTogether)(const Reader *reader, unsigned a, unsigned b);

static Way way_between(const Reader *reader, unsigned a, unsigned b)
{
    return entry_at(reader, a)->ways[b];
}

static bool is_below_one_switch(const Reader *reader, unsigned a, unsigned b)
{
    return way_between(reader, a, b) == WAY_PIX;
}

static bool is_below_one_port(const Reader *reader, unsigned a, unsigned b)
{
    Way way = way_between(reader, a, b);

    return way == WAY_PIX || way == WAY_PXB;
}

static bool is_in_one_node(const Reader *reader, unsigned a, unsigned b)
{
    const Entry *first = entry_at(reader, a), *second = entry_at(reader, b);
    Way way = way_between(reader, a, b);

    if (way != WAY_NVLINK) {
        return way != WAY_SYS;
    }
    return first->node >= 0 && second->node >= 0
               ? first->node == second->node
               : first->cpus && g_strcmp0(first->cpus, second->cpus) == 0;
}

/* Joins the sets, at @offset in Entry, of all entries that belong together. */
static void join(const Reader *reader, size_t offset, IsTogether is_together)
{
    unsigned n = reader->entries->len;

    for (unsigned i = 0; i < n; i++) {
        for (unsigned j = i + 1; j < n; j++) {
            unsigned a = G_STRUCT_MEMBER(unsigned, entry_at(reader, i), offset);
            unsigned b = G_STRUCT_MEMBER(unsigned, entry_at(reader, j), offset);

            for (unsigned k = 0; a != b && k < n && is_together(reader, i, j);
                 k++) {
                unsigned *set =
                    &G_STRUCT_MEMBER(unsigned, entry_at(reader, k), offset);

                *set = *set == MAX(a, b) ? MIN(a, b) : *set;
            }
        }
    }
}

/* Checks that the matrix is the same from both sides, and that no pair is
 * farther apart than what both share with a third one. */
static bool check_ways(const Reader *reader, GError **error)
{
    for (unsigned i = 0; i < reader->entries->len; i++) {
        for (unsigned j = 0; j < i; j++) {
            const Entry *a = entry_at(reader, i), *b = entry_at(reader, j);
            Way way = way_between(reader, i, j);

            if (way == way_between(reader, j, i) &&
                (way == WAY_NVLINK || a->chip != b->chip || way <= WAY_PIX) &&
                (way == WAY_NVLINK || a->port != b->port || way <= WAY_PXB)) {
                continue;
            }
            g_set_error(error, INV_ERROR, INV_ERROR_IMPORT,
                        "%s: the matrix of nvidia-smi topo -m contradicts "
                        "itself about %s and %s; give it as it was printed",
                        reader->name, b->name, a->name);
            return false;
        }
    }
    return true;
}

/* Returns the memory node of the set of @entry; -1: not known. If no entry has
 * a NUMA affinity, sets are numbered in their order. */
static int node_of(const Reader *reader, const Entry *entry)
{
    int number = 0;
    bool has_numbers = false;

    if (entry->node >= 0) {
        return entry->node;
    }
    for (unsigned i = 0; i < reader->entries->len; i++) {
        const Entry *other = entry_at(reader, i);

        if (other->node >= 0 && other->group == entry->group) {
            return other->node;
        }
        has_numbers |= other->node >= 0;
        number += other->group == i && i < entry->group;
    }
    return has_numbers ? -1 : number;
}

/* Counts the entries of a set at @offset. */
static unsigned count(const Reader *reader, size_t offset, unsigned set)
{
    unsigned n = 0;

    for (unsigned i = 0; i < reader->entries->len; i++) {
        n += G_STRUCT_MEMBER(unsigned, entry_at(reader, i), offset) == set;
    }
    return n;
}

/* Adds a function called @prefix and a number, below the one at @above
 * (nullable). The reader's addresses count the functions. */
static InvFunction *add(InvMachine *machine, const char *prefix,
                        unsigned number, const TopoPciAddress *above)
{
    TopoPciAddress address = {.domain = machine->functions->len};
    InvFunction *function = inv_machine_add(machine, address);

    function->label = g_strdup_printf("%s%u", prefix, number);
    function->pub.has_above = above;
    if (above) {
        function->pub.above = *above;
    }
    return function;
}

static TopoPciAddress add_switch(InvMachine *machine, unsigned number,
                                 const TopoPciAddress *above)
{
    InvFunction *function = add(machine, "sw", number, above);

    function->pub.is_bridge = true;
    function->pub.class_code = 0x060400;
    return function->pub.address;
}

/* Makes functions of the entries, and switches of the sets. */
static InvMachine *make_machine(const Reader *reader)
{
    InvMachine *machine = inv_machine_new();
    unsigned n = reader->entries->len;
    g_autofree TopoPciAddress *tops = g_new0(TopoPciAddress, n);
    g_autofree TopoPciAddress *chips = g_new0(TopoPciAddress, n);
    unsigned switches = 0, gpus = 0, nics = 0;
    size_t chip_set = G_STRUCT_OFFSET(Entry, chip);
    size_t port_set = G_STRUCT_OFFSET(Entry, port);

    machine->is_short = true;
    machine->has_no_addresses = true;
    for (unsigned i = 0; i < n; i++) {
        const Entry *entry = entry_at(reader, i);
        unsigned below_chip = count(reader, chip_set, entry->chip);
        unsigned below_port = count(reader, port_set, entry->port);
        bool has_top = below_port > below_chip;
        InvFunction *function;

        if (has_top && entry->port == i) {
            tops[i] = add_switch(machine, switches++, NULL);
        }
        if (entry->chip == i && (has_top || below_chip > 1)) {
            chips[i] = add_switch(machine, switches++,
                                  has_top ? &tops[entry->port] : NULL);
        }
        function = add(machine, entry->is_gpu ? "gpu" : "nic",
                       entry->is_gpu ? gpus++ : nics++,
                       has_top || below_chip > 1 ? &chips[entry->chip] : NULL);
        function->pub.class_code = entry->is_gpu ? 0x030200 : 0x020000;
        function->pub.numa_node = node_of(reader, entry);
        function->pub.name = g_strdup(entry->full ? entry->full : entry->name);
    }
    return machine;
}

/* ---- What it does not tell --------------------------------------------- */

static void note_pairs(const Reader *reader, InvMachine *machine)
{
    for (unsigned i = 0; i < reader->entries->len; i++) {
        for (unsigned j = 0; j < i; j++) {
            const Entry *a = entry_at(reader, i), *b = entry_at(reader, j);
            Way way = way_between(reader, i, j);
            g_autofree char *name = g_strdup_printf("%s-%s", b->name, a->name);

            if (way == WAY_NVLINK) {
                inv_machine_note(machine,
                                 "NVLink (NV#) is not in the model, and hides "
                                 "the way through PCIe between two GPUs, which "
                                 "is through the root unless the NICs tell "
                                 "otherwise",
                                 name);
            } else if (way == WAY_PXB) {
                inv_machine_note(machine,
                                 "PXB does not tell how switches are joined; "
                                 "one above the others is assumed",
                                 name);
            } else if (way == WAY_PIX && !a->is_gpu && !b->is_gpu) {
                inv_machine_note(machine,
                                 "NICs that are PIX may be ports of one card; "
                                 "cards below one switch are assumed",
                                 name);
            }
        }
    }
}

static void note_unknown(const Reader *reader, InvMachine *machine)
{
    inv_machine_note(machine,
                     "nvidia-smi topo -m tells neither addresses, nor speeds "
                     "and widths of links, nor whether a NIC is InfiniBand, "
                     "nor any other device; links are those of the generic "
                     "parts, and lspci -vvv tells more",
                     NULL);
    note_pairs(reader, machine);
    for (unsigned i = 0; i < reader->entries->len; i++) {
        const Entry *entry = entry_at(reader, i);

        if (node_of(reader, entry) < 0) {
            inv_machine_note(machine,
                             "the memory node of these is not told; they are "
                             "in node 0",
                             entry->name);
        }
    }
}

InvMachine *inv_read_matrix(const char *name, const char *text, GError **error)
{
    g_autoptr(GPtrArray) entries = g_ptr_array_new_with_free_func(entry_free);
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    Reader reader = {.name = name, .entries = entries};
    g_autoptr(InvMachine) machine = NULL;

    if (!read_lines(&reader, lines, error)) {
        return NULL;
    }
    join(&reader, G_STRUCT_OFFSET(Entry, chip), is_below_one_switch);
    join(&reader, G_STRUCT_OFFSET(Entry, port), is_below_one_port);
    join(&reader, G_STRUCT_OFFSET(Entry, group), is_in_one_node);
    if (!check_ways(&reader, error)) {
        return NULL;
    }
    machine = make_machine(&reader);
    note_unknown(&reader, machine);
    return inv_machine_finish(machine, name, error) ? g_steal_pointer(&machine)
                                                    : NULL;
}
