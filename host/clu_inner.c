/* SPDX-License-Identifier: MIT */
#include "clu_inner.h"

#include <string.h>

#include "clu_control.h"
#include "clu_error.h"
#include "clu_files.h"
#include "table_text.h"
#include "topo_suggest.h"

/* The verbs, and what the word behind the machine is; NULL: there is none. Only
 * "move" is not one of the program on a host. */
static const struct {
    const char *name, *word;
} verbs[] = {
    {"start", NULL}, {"wait", NULL},   {"shutdown", NULL}, {"stop", NULL},
    {"plug", "ID"},  {"unplug", "ID"}, {"move", "HOST"},
};

enum {
    HOST,
    NAME,
    STATE,
    MEMORY,
    CPUS,
    DEVICES,
    APPEND
};

static const TableColumn columns[] = {
    {"host", TABLE_TEXT, 0},    {"machine", TABLE_TEXT, 0},
    {"state", TABLE_TEXT, 0},   {"memory_mib", TABLE_INTEGER, 0},
    {"cpus", TABLE_INTEGER, 0}, {"devices", TABLE_TEXT, 0},
    {"append", TABLE_TEXT, 0},
};

#define DIGITS  "0123456789"
#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

bool clu_inner_check(char *const *words, GError **error)
{
    guint n = g_strv_length((char **)words);

    if (strcmp(words[0], "list") == 0) {
        return n == 1 || topo_refuse_option(error, "list takes no more words");
    }
    for (unsigned i = 0; i < G_N_ELEMENTS(verbs); i++) {
        const char *word = verbs[i].word;

        if (strcmp(words[0], verbs[i].name) != 0) {
            continue;
        }
        return n == (word ? 3 : 2) ||
               topo_refuse_option(error, "write %s MACHINE%s%s", verbs[i].name,
                                  word ? " " : "", word ? word : "");
    }
    return topo_refuse_option(
        error,
        "'%s' is no verb for machines; write list, start, wait, "
        "shutdown, stop, plug, unplug or move",
        words[0]);
}

static bool consists_of(const char *text, const char *characters)
{
    return text[0] && text[strspn(text, characters)] == '\0';
}

/* Of the fields of a line, which another host may get. */
static bool is_sane(char *const *fields)
{
    return consists_of(fields[0], LETTERS DIGITS "_-") &&
           (strcmp(fields[1], "runs") == 0 || strcmp(fields[1], "off") == 0) &&
           consists_of(fields[2], DIGITS) && strlen(fields[2]) < 10 &&
           consists_of(fields[3], DIGITS) && strlen(fields[3]) < 4 &&
           (strcmp(fields[4], "-") == 0 ||
            consists_of(fields[4], DIGITS "abcdef,"));
}

void clu_inner_parse(Table *machines, const char *host, const char *text)
{
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);

    for (char **line = lines; *line; line++) {
        g_auto(GStrv) fields = g_strsplit(*line, " ", 6);
        g_autofree char *append = NULL;
        unsigned row;

        if (g_strv_length(fields) < 5 || !is_sane(fields)) {
            continue;
        }
        append = table_text_from(fields[5] ? fields[5] : "", -1, false);
        row = table_add_row(machines);
        table_set_text(machines, row, HOST, host);
        table_set_text(machines, row, NAME, fields[0]);
        table_set_text(machines, row, STATE, fields[1]);
        table_set_number(machines, row, MEMORY,
                         g_ascii_strtoll(fields[2], NULL, 10));
        table_set_number(machines, row, CPUS,
                         g_ascii_strtoll(fields[3], NULL, 10));
        table_set_text(machines, row, DEVICES, fields[4]);
        table_set_text(machines, row, APPEND, g_strstrip(append));
    }
}

Table *clu_inner_new(void)
{
    Table *machines = table_new();

    table_add_columns(machines, columns, G_N_ELEMENTS(columns));
    return machines;
}

static Table *list_of(const char *cluster, char *const *hosts)
{
    Table *machines = clu_inner_new();

    for (; *hosts; hosts++) {
        g_autoptr(GString) text = g_string_new(NULL);

        /* A host that is down has no machine that runs. */
        if (clu_files_fetch(cluster, *hosts, "exec vm list", text, NULL) == 0) {
            clu_inner_parse(machines, *hosts, text->str);
        }
    }
    return machines;
}

Table *clu_inner_list(const char *cluster, GError **error)
{
    g_auto(GStrv) hosts = clu_files_hosts(cluster, error);

    return hosts ? list_of(cluster, hosts) : NULL;
}

static int refuse(GError **error, const char *format, const char *word,
                  const char *more)
{
    g_autofree char *text = g_strdup_printf(format, word, more);

    g_set_error_literal(error, CLU_ERROR, CLU_ERROR_USAGE, text);
    return CLU_CONTROL_USAGE;
}

/* Finds the machine NAME or HOST.NAME. Returns an exit status. */
static int find(const Table *machines, const char *word, unsigned *ret_row,
                GError **error)
{
    g_autoptr(GPtrArray) names = g_ptr_array_new();
    g_autofree char *hint = NULL;
    unsigned found = 0;

    for (unsigned row = 0; row < table_n_rows(machines); row++) {
        const char *host = table_text(machines, row, HOST);
        const char *name = table_text(machines, row, NAME);
        g_autofree char *full = g_strconcat(host, ".", name, NULL);

        g_ptr_array_add(names, (char *)name);
        if (strcmp(word, name) == 0 || strcmp(word, full) == 0) {
            *ret_row = row;
            found++;
        }
    }
    if (found > 1) {
        return refuse(error, "several hosts have a machine '%s'; write HOST.%s",
                      word, word);
    }
    hint = topo_suggest(word, names);
    return found ? 0
                 : refuse(error, "no host that is up has a machine '%s'%s",
                          word, names->len > 0 ? hint : "");
}

static int order(const char *cluster, const char *host, const char *verb,
                 const char *name, const char *word, GError **error)
{
    return clu_files_sh(cluster, host, "exec vm \"$@\"",
                        (const char *const[]){verb, name, word, NULL}, error);
}

static int adopt(const char *cluster, const char *host, const Table *machines,
                 unsigned row, GError **error)
{
    g_autofree char *memory = table_dup_cell(machines, row, MEMORY);
    g_autofree char *cpus = table_dup_cell(machines, row, CPUS);

    return clu_files_sh(
        cluster, host, "exec vm adopt \"$@\"",
        (const char *const[]){table_text(machines, row, NAME), memory, cpus,
                              table_text(machines, row, DEVICES),
                              table_text(machines, row, APPEND), NULL},
        error);
}

/* The new host takes the machine first: if it cannot, the machine runs on where
 * it is. The two never run it at the same time. */
static int move(const char *cluster, const Table *machines, unsigned row,
                const char *to, GError **error)
{
    const char *from = table_text(machines, row, HOST);
    const char *name = table_text(machines, row, NAME);
    bool runs = strcmp(table_text(machines, row, STATE), "runs") == 0;
    int status;

    if (strcmp(from, to) == 0) {
        return refuse(error, "host %s has the machine '%s' already", to, name);
    }
    status = adopt(cluster, to, machines, row, error);
    if (status != 0) {
        return status;
    }
    status = order(cluster, from, "shutdown", name, NULL, error);
    if (status == 0) {
        status = order(cluster, from, "forget", name, NULL, error);
    }
    if (status != 0) {
        order(cluster, to, "forget", name, NULL, NULL);
        return status;
    }
    return runs ? order(cluster, to, "start", name, NULL, error) : 0;
}

int clu_inner_order(const char *cluster, char *const *words, GError **error)
{
    g_auto(GStrv) hosts = clu_files_hosts(cluster, error);
    g_autoptr(Table) machines = NULL;
    unsigned row = 0;
    int status;

    if (!hosts) {
        return CLU_CONTROL_USAGE;
    }
    machines = list_of(cluster, hosts);
    status = find(machines, words[1], &row, error);
    if (status != 0) {
        return status;
    }
    if (strcmp(words[0], "move") != 0) {
        return order(cluster, table_text(machines, row, HOST), words[0],
                     table_text(machines, row, NAME), words[2], error);
    }
    if (!g_strv_contains((const char *const *)hosts, words[2])) {
        g_autoptr(GPtrArray) names = g_ptr_array_new();

        for (char **host = hosts; *host; host++) {
            g_ptr_array_add(names, *host);
        }
        topo_no_such_host(words[2], names, error);
        return CLU_CONTROL_USAGE;
    }
    return move(cluster, machines, row, words[2], error);
}
