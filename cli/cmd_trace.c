/* SPDX-License-Identifier: MIT */
#include "cmd.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "table.h"
#include "table_csv.h"
#include "table_format.h"
#include "topo_units.h"
#include "trc_file.h"
#include "trc_merge.h"
#include "trc_text.h"

static const char details[] =
    "Prints what crossed the links of emulated hosts, from traces that the NTB\n"
    "devices write (their property `trace`): one line a TLP or message, by time,\n"
    "with the time since the first one, the link and its direction, the kind,\n"
    "the address on the sender's bus and that on the receiver's, the length,\n"
    "requester and tag. A completion says how long its request has waited for\n"
    "it. Several files are merged.\n"
    "\n"
    "Kinds are MRd, MWr, MSI, CplD, Cpl, TLP (any of these), and Start, Stop,\n"
    "State, Enable, Reset, Doorbell, Message, Lock, Locked, Config, Configured,\n"
    "Release, RAM, which have no TLP on this device. A link is named as its\n"
    "interface is, `HOST:LINK`, or by LINK or HOST alone; * and ? stand for any\n"
    "letters. Times are such as 20us or 1.5s, since the first packet.\n"
    "\n"
    "With --create, makes an empty FILE for devices to write to, with names for\n"
    "the two ends. A device makes a file that is missing by itself.\n"
    "\n"
    "The files are pcapng: tools such as tshark read them as well, best with\n"
    "trace/farside.lua. docs/reference/trace.md specifies what is in them.\n"
    "\n"
    "Exit status: 0 done, 1 --create or --csv could not write, 2 bad usage or\n"
    "file; what comes before the damage of a file is printed.";

typedef struct Options {
    char *link;
    char *kinds;
    char *from;
    char *to;
    gboolean is_summary;
    char *csv;
    gboolean is_create;
    char *names;
    char *snaplen;
    /* What they mean: */
    bool wants[TRC_KINDS];
    GPatternSpec *pattern; /* nullable */
    int64_t from_ns;
    int64_t to_ns;
} Options;

static void options_done(Options *options)
{
    g_free(options->link);
    g_free(options->kinds);
    g_free(options->from);
    g_free(options->to);
    g_free(options->csv);
    g_free(options->names);
    g_free(options->snaplen);
    g_clear_pointer(&options->pattern, g_pattern_spec_free);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Options, options_done)

/* ---- Options ----------------------------------------------------------- */

static bool parse_kinds(Options *options, GError **error)
{
    g_auto(GStrv) words = NULL;

    for (unsigned i = 0; i < TRC_KINDS; i++) {
        options->wants[i] = options->kinds == NULL;
    }
    if (options->kinds == NULL) {
        return true;
    }
    words = g_strsplit(options->kinds, ",", -1);
    for (unsigned i = 0; words[i] != NULL; i++) {
        TrcKind kind;

        if (!trc_kind_parse(words[i], &kind)) {
            g_set_error(error, TRC_ERROR, TRC_ERROR_FORMAT,
                        "--kind: there is no kind \"%s\"", words[i]);
            return false;
        }
        options->wants[kind] = true;
        for (unsigned j = TRC_MRD; kind == TRC_TLP && j < TRC_TLP; j++) {
            options->wants[j] = true;
        }
    }
    return true;
}

/* A time in whole nanoseconds; picoseconds are rounded down. */
static bool parse_time(const char *option, const char *text, int64_t *ret_ns,
                       GError **error)
{
    int64_t ps;

    if (text == NULL) {
        return true;
    }
    if (!topo_units_parse(TOPO_UNIT_TIME, text, &ps, error)) {
        g_prefix_error(error, "%s %s: ", option, text);
        return false;
    }
    *ret_ns = ps / 1000;
    return true;
}

static bool options_parse(Options *options, GError **error)
{
    options->to_ns = INT64_MAX;
    if (options->link != NULL) {
        options->pattern = g_pattern_spec_new(options->link);
    }
    return parse_kinds(options, error) &&
           parse_time("--from", options->from, &options->from_ns, error) &&
           parse_time("--to", options->to, &options->to_ns, error);
}

/* ---- Which crossings, and what they are called -------------------------- */

static const TrcInterface *sender_of(const TrcCrossing *crossing)
{
    return trc_file_interface(crossing->file, crossing->record.interface);
}

/* Of a read, if the end that would have answered it was traced. */
static bool is_unanswered(const TrcCrossing *crossing)
{
    return crossing->record.kind == TRC_MRD && !crossing->is_answered &&
           trc_file_interface(crossing->file, sender_of(crossing)->peer)
                   ->packets > 0;
}

/* Whether the pattern is the name, or the part before or behind its colon. */
static bool name_matches(GPatternSpec *pattern, const char *name)
{
    const char *colon = strchr(name, ':');
    g_autofree char *host = NULL;

    if (g_pattern_spec_match_string(pattern, name)) {
        return true;
    }
    if (colon == NULL) {
        return false;
    }
    host = g_strndup(name, (size_t)(colon - name));
    return g_pattern_spec_match_string(pattern, host) ||
           g_pattern_spec_match_string(pattern, colon + 1);
}

static bool is_wanted(const Options *options, const TrcCrossing *crossing,
                      int64_t since_ns)
{
    const TrcInterface *sender = sender_of(crossing);

    return options->wants[crossing->record.kind] &&
           since_ns >= options->from_ns && since_ns <= options->to_ns &&
           (options->pattern == NULL ||
            name_matches(options->pattern, sender->name) ||
            name_matches(
                options->pattern,
                trc_file_interface(crossing->file, sender->peer)->name));
}

/* "LINK FROM>TO", or the names of the ends if they are none of one link. */
static char *direction_of(const TrcFile *file, const TrcInterface *sender)
{
    const char *from = sender->name;
    const char *to = trc_file_interface(file, sender->peer)->name;
    const char *from_link = strchr(from, ':');
    const char *to_link = strchr(to, ':');

    if (from_link != NULL && to_link != NULL &&
        strcmp(from_link, to_link) == 0) {
        return g_strdup_printf("%s %.*s>%.*s", from_link + 1,
                               (int)(from_link - from), from,
                               (int)(to_link - to), to);
    }
    return g_strdup_printf("%s>%s", from, to);
}

/* Directions, made once: of a file, those of its interfaces. */
typedef struct Directions {
    const TrcFile *file;
    char **names;
} Directions;

/* What is printed, of what files. */
typedef struct View {
    const Options *options;
    GPtrArray *files; /* of TrcFile */
    TrcMerge *merge;
    Directions *directions; /* one a file */
    int width;              /* of the longest */
} View;

static void view_init(View *view, const Options *options, GPtrArray *files)
{
    view->options = options;
    view->files = files;
    view->merge = trc_merge_new((TrcFile *const *)files->pdata, files->len);
    view->directions = g_new0(Directions, files->len);
    for (unsigned i = 0; i < files->len; i++) {
        const TrcFile *file = files->pdata[i];
        unsigned count = trc_file_n_interfaces(file);

        view->directions[i].file = file;
        view->directions[i].names = g_new0(char *, count + 1);
        for (unsigned j = 0; j < count; j++) {
            char *name = direction_of(file, trc_file_interface(file, j));

            view->directions[i].names[j] = name;
            view->width = MAX(view->width, (int)g_utf8_strlen(name, -1));
        }
    }
}

static void view_clear(View *view)
{
    for (unsigned i = 0; i < view->files->len; i++) {
        g_strfreev(view->directions[i].names);
    }
    g_free(view->directions);
    trc_merge_free(view->merge);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(View, view_clear)

static const char *view_direction(const View *view, const TrcCrossing *crossing)
{
    unsigned i = 0;

    while (view->directions[i].file != crossing->file) {
        i++;
    }
    return view->directions[i].names[crossing->record.interface];
}

/* Calls @take for each crossing that is wanted. */
static void view_each(const View *view,
                      void (*take)(const View *view,
                                   const TrcCrossing *crossing,
                                   int64_t since_ns, void *data),
                      void *data)
{
    size_t count = trc_merge_n_crossings(view->merge);
    int64_t first = 0;

    for (size_t i = 0; i < count; i++) {
        TrcCrossing crossing;

        trc_merge_crossing(view->merge, i, &crossing);
        if (i == 0) {
            first = crossing.record.time_ns;
        }
        if (is_wanted(view->options, &crossing,
                      crossing.record.time_ns - first)) {
            take(view, &crossing, crossing.record.time_ns - first, data);
        }
    }
}

static bool is_request(TrcKind kind)
{
    return kind == TRC_MRD || kind == TRC_MWR || kind == TRC_MSI;
}

static bool is_completion(TrcKind kind)
{
    return kind == TRC_CPL || kind == TRC_CPLD;
}

/* ---- One line a crossing ------------------------------------------------ */

static void print_line(const View *view, const TrcCrossing *crossing,
                       int64_t since_ns, void *data)
{
    const TrcRecord *record = &crossing->record;
    const char *direction = view_direction(view, crossing);
    const char *kind = trc_kind_name(record->kind);
    g_autofree char *time = table_number_print(since_ns, 9);
    g_autofree char *detail = trc_text_detail(record);
    char id[8];

    printf("%14s  %s%*s  %s", time, direction,
           view->width - (int)g_utf8_strlen(direction, -1), "", kind);
    if (is_request(record->kind) || is_completion(record->kind)) {
        /* The longest of them is CplD. */
        printf("%*s ", 4 - (int)strlen(kind), "");
    }
    if (is_request(record->kind)) {
        if (record->has_near) {
            printf(" 0x%" PRIx64 " ->", record->near);
        }
        printf(" 0x%" PRIx64 " %uB %s", record->address, record->bytes,
               trc_text_id(record->requester_id, id));
    }
    if (record->kind == TRC_MRD) {
        printf(" tag %u%s", record->tag,
               is_unanswered(crossing) ? " unanswered" : "");
    }
    if (is_completion(record->kind)) {
        if (crossing->latency_ns != TRC_NO_LATENCY) {
            printf(" 0x%" PRIx64, crossing->asked);
        }
        printf(" %uB %s tag %u", record->bytes,
               trc_text_id(record->requester_id, id), record->tag);
        printf(" from %s %s", trc_text_id(record->completer_id, id),
               trc_status_name(record->status));
        if (crossing->latency_ns != TRC_NO_LATENCY) {
            g_autofree char *us = table_number_print(crossing->latency_ns, 3);

            printf(" after %sus", us);
        }
    }
    printf("%s%s\n", *detail != '\0' ? "  " : "", detail);
}

/* ---- The same as a table ------------------------------------------------ */

enum {
    TIME,
    EPOCH,
    FROM,
    TO,
    KIND,
    BAR,
    NEAR,
    ADDRESS,
    BYTES,
    REQUESTER,
    COMPLETER,
    TAG,
    STATUS,
    LATENCY,
    DETAIL
};

static Table *crossings_table(void)
{
    Table *table = table_new();

    table_add_column(table, "time_ns", TABLE_INTEGER, 0);
    table_add_column(table, "epoch_ns", TABLE_INTEGER, 0);
    table_add_column(table, "from", TABLE_TEXT, 0);
    table_add_column(table, "to", TABLE_TEXT, 0);
    table_add_column(table, "kind", TABLE_TEXT, 0);
    table_add_column(table, "bar", TABLE_INTEGER, 0);
    table_add_column(table, "near", TABLE_TEXT, 0);
    table_add_column(table, "address", TABLE_TEXT, 0);
    table_add_column(table, "bytes", TABLE_INTEGER, 0);
    table_add_column(table, "requester", TABLE_TEXT, 0);
    table_add_column(table, "completer", TABLE_TEXT, 0);
    table_add_column(table, "tag", TABLE_INTEGER, 0);
    table_add_column(table, "status", TABLE_TEXT, 0);
    table_add_column(table, "latency_ns", TABLE_INTEGER, 0);
    table_add_column(table, "detail", TABLE_TEXT, 0);
    return table;
}

static void set_address(Table *table, unsigned row, unsigned column,
                        uint64_t address)
{
    g_autofree char *text = g_strdup_printf("0x%" PRIx64, address);

    table_set_text(table, row, column, text);
}

static void add_row(const View *view, const TrcCrossing *crossing,
                    int64_t since_ns, void *data)
{
    const TrcRecord *record = &crossing->record;
    const TrcInterface *sender = sender_of(crossing);
    Table *table = data;
    unsigned row = table_add_row(table);
    g_autofree char *detail = trc_text_detail(record);
    char id[8];

    table_set_number(table, row, TIME, since_ns);
    table_set_number(table, row, EPOCH, record->time_ns);
    table_set_text(table, row, FROM, sender->name);
    table_set_text(table, row, TO,
                   trc_file_interface(crossing->file, sender->peer)->name);
    table_set_text(table, row, KIND, trc_kind_name(record->kind));
    table_set_text(table, row, DETAIL, detail);
    if (is_request(record->kind) && record->has_near) {
        table_set_number(table, row, BAR, record->bar);
        set_address(table, row, NEAR, record->near);
    }
    if (is_request(record->kind) || is_completion(record->kind)) {
        table_set_number(table, row, BYTES, record->bytes);
        table_set_text(table, row, REQUESTER,
                       trc_text_id(record->requester_id, id));
    }
    if (is_request(record->kind)) {
        set_address(table, row, ADDRESS, record->address);
    }
    if (record->kind == TRC_MRD || is_completion(record->kind)) {
        table_set_number(table, row, TAG, record->tag);
    }
    if (is_completion(record->kind)) {
        table_set_text(table, row, COMPLETER,
                       trc_text_id(record->completer_id, id));
        table_set_text(table, row, STATUS, trc_status_name(record->status));
        if (crossing->latency_ns != TRC_NO_LATENCY) {
            set_address(table, row, ADDRESS, crossing->asked);
            table_set_number(table, row, LATENCY, crossing->latency_ns);
        }
    }
}

/* ---- The summary -------------------------------------------------------- */

/* Of one direction, one kind. */
typedef struct Sum {
    const char *direction;
    TrcKind kind;
    uint64_t count;
    uint64_t bytes;
    uint64_t unanswered;
    GArray *latencies; /* of int64_t, in ns: those of completions */
} Sum;

static void sum_free(gpointer data)
{
    Sum *sum = data;

    g_array_unref(sum->latencies);
    g_free(sum);
}

/* By direction, then kind: a trace has few of both. */
static Sum *sum_find(GPtrArray *sums, const char *direction, TrcKind kind)
{
    Sum *sum;
    unsigned i;

    for (i = 0; i < sums->len; i++) {
        int order;

        sum = sums->pdata[i];
        order = strcmp(sum->direction, direction);
        if (order == 0 && sum->kind == kind) {
            return sum;
        }
        if (order > 0 || (order == 0 && sum->kind > kind)) {
            break;
        }
    }
    sum = g_new0(Sum, 1);
    sum->direction = direction;
    sum->kind = kind;
    sum->latencies = g_array_new(FALSE, FALSE, sizeof(int64_t));
    g_ptr_array_insert(sums, (int)i, sum);
    return sum;
}

static void add_up(const View *view, const TrcCrossing *crossing,
                   int64_t since_ns, void *data)
{
    const TrcRecord *record = &crossing->record;
    Sum *sum = sum_find(data, view_direction(view, crossing), record->kind);

    sum->count++;
    if (record->kind != TRC_MRD && record->kind != TRC_CPL) {
        sum->bytes += record->bytes;
    }
    sum->unanswered += is_unanswered(crossing);
    if (crossing->latency_ns != TRC_NO_LATENCY) {
        g_array_append_val(sum->latencies, crossing->latency_ns);
    }
}

static int compare_ns(gconstpointer a, gconstpointer b)
{
    int64_t x = *(const int64_t *)a;
    int64_t y = *(const int64_t *)b;

    return x < y ? -1 : x > y;
}

/* The least latency that @percent of them do not exceed (nearest rank). */
static int64_t percentile(const GArray *sorted, unsigned percent)
{
    uint64_t rank = ((uint64_t)sorted->len * percent + 99) / 100;

    return g_array_index(sorted, int64_t, rank > 0 ? rank - 1 : 0);
}

static Table *summary_table(GPtrArray *sums)
{
    static const unsigned percents[] = {0, 50, 90, 99, 100};
    static const char *const names[] = {"min_us", "p50_us", "p90_us", "p99_us",
                                        "max_us"};
    Table *table = table_new();

    table_add_column(table, "crossing", TABLE_TEXT, 0);
    table_add_column(table, "kind", TABLE_TEXT, 0);
    table_add_column(table, "count", TABLE_INTEGER, 0);
    table_add_column(table, "bytes", TABLE_INTEGER, 0);
    table_add_column(table, "unanswered", TABLE_INTEGER, 0);
    for (unsigned i = 0; i < G_N_ELEMENTS(names); i++) {
        table_add_column(table, names[i], TABLE_DECIMAL, 3);
    }
    for (unsigned i = 0; i < sums->len; i++) {
        const Sum *sum = sums->pdata[i];
        unsigned row = table_add_row(table);

        table_set_text(table, row, 0, sum->direction);
        table_set_text(table, row, 1, trc_kind_name(sum->kind));
        table_set_number(table, row, 2, (int64_t)sum->count);
        if (sum->kind == TRC_MWR || sum->kind == TRC_MSI ||
            sum->kind == TRC_CPLD) {
            table_set_number(table, row, 3, (int64_t)sum->bytes);
        }
        if (sum->kind == TRC_MRD) {
            table_set_number(table, row, 4, (int64_t)sum->unanswered);
        }
        if (sum->latencies->len == 0) {
            continue;
        }
        g_array_sort(sum->latencies, compare_ns);
        for (unsigned j = 0; j < G_N_ELEMENTS(percents); j++) {
            table_set_number(table, row, 5 + j,
                             percentile(sum->latencies, percents[j]));
        }
    }
    return table;
}

static Table *summarize(const View *view)
{
    g_autoptr(GPtrArray) sums = g_ptr_array_new_with_free_func(sum_free);

    view_each(view, add_up, sums);
    return summary_table(sums);
}

/* ---- The verb ----------------------------------------------------------- */

static int show(const Options *options, GPtrArray *files)
{
    g_auto(View) view = {0};
    g_autoptr(Table) table = NULL;
    GError *error = NULL;

    view_init(&view, options, files);
    if (options->is_summary) {
        table = summarize(&view);
        if (options->csv == NULL) {
            g_autofree char *text = table_format(table);

            fputs(text, stdout);
        }
    } else if (options->csv != NULL) {
        table = crossings_table();
        view_each(&view, add_row, table);
    } else {
        view_each(&view, print_line, NULL);
    }
    if (options->csv != NULL && !table_write(table, options->csv, &error)) {
        cmd_complain("trace", error);
        return CMD_DIFFERENT;
    }
    return CMD_OK;
}

/* What the files do not have, after what they have. */
static int tell_of_losses(GPtrArray *files, char **paths)
{
    int status = CMD_OK;

    fflush(stdout);
    for (unsigned i = 0; i < files->len; i++) {
        const TrcFile *file = files->pdata[i];

        for (unsigned j = 0; j < trc_file_n_interfaces(file); j++) {
            const TrcInterface *interface = trc_file_interface(file, j);

            if (interface->missing > 0 || interface->dropped > 0) {
                fprintf(stderr,
                        "farside trace: %s: %s: %" PRIu64
                        " packets are missing; its writer dropped %" PRIu64
                        "\n",
                        paths[i], interface->name, interface->missing,
                        interface->dropped);
            }
        }
        if (trc_file_n_foreign(file) > 0) {
            fprintf(stderr,
                    "farside trace: %s: %" PRIu64
                    " packets of other link types are left out\n",
                    paths[i], trc_file_n_foreign(file));
        }
        if (trc_file_damage(file) != NULL) {
            cmd_complain("trace", g_error_copy(trc_file_damage(file)));
            status = CMD_USAGE;
        }
    }
    return status;
}

static int create(const Options *options, char **paths)
{
    g_auto(GStrv) names = g_strsplit(
        options->names != NULL ? options->names : "end0:link,end1:link", ",",
        -1);
    GError *error = NULL;
    int64_t snaplen = 0;

    if (g_strv_length(names) != TRC_ENDS || paths[0] == NULL ||
        paths[1] != NULL) {
        fputs("farside trace: --create takes one FILE, and --names two names\n"
              "Try: farside trace --help\n",
              stderr);
        return CMD_USAGE;
    }
    if (options->snaplen != NULL &&
        (!topo_units_parse(TOPO_UNIT_BYTES, options->snaplen, &snaplen,
                           &error) ||
         snaplen < TRC_SNAPLEN_MIN || snaplen > UINT32_MAX)) {
        g_clear_error(&error);
        fprintf(stderr,
                "farside trace: --snaplen %s: it is a size of %dB at least\n",
                options->snaplen, TRC_SNAPLEN_MIN);
        return CMD_USAGE;
    }
    if (!trc_file_create(paths[0], (const char *const *)names,
                         (uint32_t)snaplen, &error)) {
        cmd_complain("trace", error);
        return CMD_DIFFERENT;
    }
    return CMD_OK;
}

static int read_and_show(Options *options, char **paths)
{
    g_autoptr(GPtrArray) files =
        g_ptr_array_new_with_free_func((GDestroyNotify)trc_file_free);
    GError *error = NULL;
    int status;

    if (!options_parse(options, &error)) {
        cmd_complain("trace", error);
        return CMD_USAGE;
    }
    for (unsigned i = 0; paths[i] != NULL; i++) {
        TrcFile *file = trc_file_read(paths[i], &error);

        if (file == NULL) {
            cmd_complain("trace", error);
            return CMD_USAGE;
        }
        g_ptr_array_add(files, file);
    }
    status = show(options, files);
    return MAX(status, tell_of_losses(files, paths));
}

int cmd_trace(int argc, char **argv)
{
    g_auto(Options) options = {0};
    const GOptionEntry entries[] = {
        {"link", 'l', 0, G_OPTION_ARG_STRING, &options.link,
         "Only of this link, host, or end", "NAME"},
        {"kind", 'k', 0, G_OPTION_ARG_STRING, &options.kinds,
         "Only of these kinds", "KIND,..."},
        {"from", 0, 0, G_OPTION_ARG_STRING, &options.from, "From this time on",
         "TIME"},
        {"to", 0, 0, G_OPTION_ARG_STRING, &options.to, "Up to this time",
         "TIME"},
        {"summary", 's', 0, G_OPTION_ARG_NONE, &options.is_summary,
         "Counts, bytes and latencies of each direction and kind", NULL},
        {"csv", 0, 0, G_OPTION_ARG_FILENAME, &options.csv,
         "Write a table to FILE instead of printing", "FILE"},
        {"create", 0, 0, G_OPTION_ARG_NONE, &options.is_create,
         "Make FILE, empty, for devices to write to", NULL},
        {"names", 0, 0, G_OPTION_ARG_STRING, &options.names,
         "With --create: names of the ends of partition 0 and 1", "END,END"},
        {"snaplen", 0, 0, G_OPTION_ARG_STRING, &options.snaplen,
         "With --create: keep not more than this of a packet", "SIZE"},
        G_OPTION_ENTRY_NULL,
    };
    g_auto(GStrv) paths = NULL;
    int status;

    if (!cmd_parse(argc, argv, entries, "FILE...", details, &paths, &status)) {
        return status;
    }
    if (paths[0] == NULL) {
        fputs("farside trace: a FILE is missing\nTry: farside trace --help\n",
              stderr);
        return CMD_USAGE;
    }
    return options.is_create ? create(&options, paths)
                             : read_and_show(&options, paths);
}
