/* SPDX-License-Identifier: MIT */
#include "clu_watch.h"

#include <string.h>

#include "clu_source.h"
#include "table_text.h"

#define RESTART_MS     300 /* pause before the log is followed again */
#define LINE_MAX_BYTES 8192
#define NAMES_MAX      256 /* a guest is not trusted */

/*
 * This script runs in the guest. Its arguments are what must be bound to each
 * NTB ("client" or "driver"), a mark, and the addresses of the NTBs; with "map"
 * it enables the links of ntb_tool, as at the boot, and prints the names of the
 * devices. Some drivers write no record when a link changes, so the script asks
 * them once a second: ntb_hw_amd, and ntb_hw_idt, which has a mask of its peers
 * that are up. Lines that begin with @ are the script's own, the
 * others are records of the kernel log. /etc/drivers of the guest leaves in
 * /run/failed why a module could not be loaded. The script writes the mark to
 * the log: the records before it show the past, so the state of a link is known
 * only when the mark has been read.
 */
static const char script[] =
    "map() {\n"
    "    for f in /sys/class/switchtec/*; do\n"
    "        d=$(readlink -f $f/device) && echo \"@map ${f##*/} ${d##*/}\"\n"
    "    done\n"
    "}\n"
    "failed() {\n"
    "    [ -s /run/failed ] || return 0\n"
    "    sed 's/^/@failed /' /run/failed\n"
    "    while [ -e /run/failed ]; do sleep 0.5; done\n"
    "}\n"
    "ask() {\n"
    "    while sleep 1; do\n"
    "        now=\n"
    "        for d in \"$@\"; do\n"
    "            f=/sys/kernel/debug/ntb_hw_amd/$d/info\n"
    "            ! grep -qs '^Link Status.*Up' $f || now=\"$now $d\"\n"
    "            f=/sys/kernel/debug/ntb_hw_idt/info:$d\n"
    "            m=$(sed -n 's/^NTB link status[^0]*\\(0x[0-9a-f]*\\).*/\\1/p' "
    "$f 2>/dev/null)\n"
    "            [ -z \"$m\" ] || now=\"$now $d/$m\"\n"
    "        done\n"
    "        [ \"$now\" = \"$last\" ] || echo \"@up$now\"\n"
    "        last=$now\n"
    "    done\n"
    "}\n"
    "what=$1; mark=$2; asks=$3; shift 3\n"
    "[ $what != map ] || { /etc/reload links; map; exit; }\n"
    "echo \"<7>$mark\" >/dev/kmsg\n"
    "(\n"
    "for d in \"$@\"; do\n"
    "    f=/sys/bus/ntb/devices/$d; [ $what = driver ] || f=$f/driver\n"
    "    until [ -e $f ]; do failed; sleep 0.1; done\n"
    "done\n"
    "until [ -e /run/drivers ]; do failed; sleep 0.1; done\n"
    "failed\n"
    "map; echo @ready\n"
    ") &\n"
    "[ -z \"$asks\" ] || ask \"$@\" &\n"
    "exec cat /dev/kmsg\n";

typedef struct Reader {
    CluWatch *watch;
    CluSession *session;
    GString *line;
} Reader;

struct CluWatch {
    GMainContext *context;
    CluGuest *guest;
    const CluPlanHost *host;
    const CluWatchOps *ops;
    void *owner;
    Reader log;
    Reader map;        /* script that prints the names; run for a new driver */
    bool is_map_stale; /* a driver was loaded after `map` was started */
    GSource *restart;  /* timer that starts `log` again; NULL: none */
    const CluPace *pace;
    bool is_due;       /* `log` starts again when the machines stand */
    int64_t sequence;  /* number of the last record handled; -1: none */
    GHashTable *up;    /* names such as "switchtec0" whose link is up */
    GHashTable *names; /* PCI address to name */
    GHashTable *asked; /* what asked drivers say: PCI address of an AMD whose
                          link is up, or PCI address/mask of an IDT's */
    char *mark;        /* text that the script writes to the log */
    bool is_ready;     /* the script has found all drivers and clients */
    bool is_current;   /* the log has been read up to the mark */
};

static void start_log(CluWatch *watch);
static void start_map(CluWatch *watch);

static void stop_reader(Reader *reader)
{
    g_clear_pointer(&reader->session, clu_session_free);
    g_string_truncate(reader->line, 0);
}

/* Handles the text of a record, such as "switchtec switchtec0: ntb link up". */
static void handle_record(CluWatch *watch, const char *text)
{
    static const char begin[] = "switchtec ";
    g_autofree char *name = NULL;
    const char *colon;

    if (strcmp(text, watch->mark) == 0) {
        watch->is_current = true;
        watch->ops->changed(watch->owner);
    }
    if (!g_str_has_prefix(text, begin)) {
        return;
    }
    text += strlen(begin);
    colon = strstr(text, ": ");
    if (!colon) {
        return;
    }
    name = g_strndup(text, (size_t)(colon - text));
    text = colon + 2;
    if (strcmp(text, "ntb link up") == 0 &&
        g_hash_table_size(watch->up) < NAMES_MAX) {
        g_hash_table_add(watch->up, g_steal_pointer(&name));
    } else if (g_str_has_prefix(text, "ntb link ") ||
               strcmp(text, "ntb device unregistered") == 0) {
        g_hash_table_remove(watch->up, name);
    } else if (strcmp(text, "NTB device registered") == 0) {
        /* A client that was there before the NTB may have enabled the link
         * already: its link is up, or not, by the records before this one. */
        if (watch->is_ready) {
            start_map(watch); /* the driver was loaded again */
        }
    } else {
        return;
    }
    watch->ops->changed(watch->owner);
}

static void handle_own(CluWatch *watch, const char *line)
{
    static const char failed[] = "@failed ";
    g_auto(GStrv) words = g_strsplit(line, " ", 0);

    if (g_str_has_prefix(line, failed)) {
        g_autofree char *text =
            table_text_from(line + strlen(failed), -1, false);

        watch->ops->failed(watch->owner, g_strstrip(text));
    } else if (strcmp(words[0], "@ready") == 0) {
        watch->is_ready = true;
        watch->ops->changed(watch->owner);
    } else if (strcmp(words[0], "@up") == 0 &&
               g_strv_length(words) <= NAMES_MAX) {
        g_hash_table_remove_all(watch->asked);
        for (unsigned i = 1; words[i]; i++) {
            g_hash_table_add(watch->asked, g_strdup(words[i]));
        }
        watch->ops->changed(watch->owner);
    } else if (strcmp(words[0], "@map") == 0 && g_strv_length(words) == 3 &&
               g_hash_table_size(watch->names) < NAMES_MAX) {
        g_hash_table_insert(watch->names, g_strdup(words[2]),
                            g_strdup(words[1]));
        watch->ops->changed(watch->owner);
    }
}

static void handle_line(CluWatch *watch, const char *line)
{
    const char *semicolon;
    char *end;
    int64_t sequence;

    if (*line == '@') {
        handle_own(watch, line);
        return;
    }
    /* "6,1234,567890,-;text"; lines that begin with a blank continue a record.
     */
    semicolon = strchr(line, ';');
    line = strchr(line, ',');
    if (!line || !semicolon || line > semicolon) {
        return;
    }
    sequence = g_ascii_strtoll(line + 1, &end, 10);
    if (*end == ',' && sequence > watch->sequence) {
        watch->sequence = sequence;
        handle_record(watch, semicolon + 1);
    }
}

static gboolean on_restart(gpointer data)
{
    CluWatch *watch = data;

    clu_source_clear(&watch->restart);
    start_log(watch);
    return G_SOURCE_REMOVE;
}

void clu_watch_on_stand(CluWatch *watch)
{
    if (watch->is_due) {
        watch->is_due = false;
        start_log(watch);
    }
}

/* A session has ended although the guest runs. Either the map is complete, or
 * the reader of the log was killed or fell behind the log. */
static void on_end(Reader *reader)
{
    CluWatch *watch = reader->watch;

    stop_reader(reader);
    if (reader == &watch->map) {
        if (watch->is_map_stale) {
            start_map(watch);
        }
    } else if (!watch->restart) {
        watch->restart = watch->pace->ops->question_timer(
            watch->pace, watch->context, RESTART_MS, on_restart, watch);
        watch->is_due = !watch->restart;
    }
}

static void on_frame(void *owner, const CluAgentFrame *frame)
{
    Reader *reader = owner;
    uint32_t i;

    if (frame->type == CLU_AGENT_EXIT || frame->type == CLU_AGENT_FAILED) {
        on_end(reader);
        return;
    }
    if (frame->type != CLU_AGENT_STDOUT && frame->type != CLU_AGENT_STDERR) {
        return;
    }
    clu_session_credit(reader->session, frame->type, frame->length);
    for (i = 0; frame->type == CLU_AGENT_STDOUT && i < frame->length; i++) {
        if (frame->body[i] == '\n') {
            handle_line(reader->watch, reader->line->str);
            g_string_truncate(reader->line, 0);
        } else if (reader->line->len < LINE_MAX_BYTES) {
            g_string_append_c(reader->line, (char)frame->body[i]);
        }
    }
}

static void on_lost(void *owner, const char *reason)
{
    /* The host frees the watch if the guest is lost. */
    Reader *reader = owner;

    if (clu_guest_is_ready(reader->watch->guest)) {
        on_end(reader);
    }
}

static void start_session(Reader *reader, GString *words)
{
    static const CluSessionOps ops = {.frame = on_frame, .lost = on_lost};

    stop_reader(reader);
    if (clu_guest_is_ready(reader->watch->guest)) {
        reader->session = clu_session_new(reader->watch->guest, words->str,
                                          words->len, &ops, reader);
    }
}

static void add_word(GString *words, const char *word)
{
    g_string_append_len(words, word, (gssize)strlen(word) + 1);
}

static GString *begin_words(void)
{
    GString *words = g_string_new(NULL);

    add_word(words, "/bin/sh");
    add_word(words, "-c");
    add_word(words, script);
    add_word(words, "watch");
    return words;
}

static bool has_asked(const CluPlanHost *host)
{
    for (unsigned i = 0; i < host->devices->len; i++) {
        const CluPlanDevice *device = host->devices->pdata[i];

        if (strcmp(device->type, CLU_PLAN_AMD_TYPE) == 0 ||
            strcmp(device->type, CLU_PLAN_IDT_TYPE) == 0) {
            return true;
        }
    }
    return false;
}

static void start_log(CluWatch *watch)
{
    GString *words = begin_words();
    unsigned i;

    add_word(words, strcmp(watch->host->host->vm->client, "none") == 0
                        ? "driver"
                        : "client");
    add_word(words, watch->mark);
    add_word(words, has_asked(watch->host) ? "ask" : "");
    for (i = 0; i < watch->host->devices->len; i++) {
        const CluPlanDevice *device = watch->host->devices->pdata[i];

        if (device->backend == CLU_BACKEND_NTB) {
            g_autofree char *address = clu_plan_address(device);

            add_word(words, address);
        }
    }
    start_session(&watch->log, words);
    g_string_free(words, TRUE);
}

static void start_map(CluWatch *watch)
{
    GString *words;

    watch->is_map_stale = watch->map.session;
    if (watch->is_map_stale) {
        return;
    }
    g_hash_table_remove_all(watch->names);
    words = begin_words();
    add_word(words, "map");
    add_word(words, "");
    add_word(words, "");
    start_session(&watch->map, words);
    g_string_free(words, TRUE);
}

CluWatch *clu_watch_new(GMainContext *context, CluGuest *guest,
                        const CluPlanHost *host, unsigned number,
                        const CluPace *pace, const CluWatchOps *ops,
                        void *owner)
{
    CluWatch *watch = g_new0(CluWatch, 1);

    watch->context = context;
    watch->guest = guest;
    watch->host = host;
    watch->pace = pace;
    watch->ops = ops;
    watch->owner = owner;
    watch->sequence = -1;
    watch->mark = g_strdup_printf("farside: %s is followed the %u. time",
                                  host->host->name, number);
    watch->log = (Reader){.watch = watch, .line = g_string_new(NULL)};
    watch->map = (Reader){.watch = watch, .line = g_string_new(NULL)};
    watch->up = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    watch->names =
        g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    watch->asked = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    start_log(watch);
    return watch;
}

void clu_watch_free(CluWatch *watch)
{
    if (!watch) {
        return;
    }
    stop_reader(&watch->log);
    stop_reader(&watch->map);
    clu_source_clear(&watch->restart);
    g_string_free(watch->log.line, TRUE);
    g_string_free(watch->map.line, TRUE);
    g_hash_table_unref(watch->up);
    g_hash_table_unref(watch->names);
    g_hash_table_unref(watch->asked);
    g_free(watch->mark);
    g_free(watch);
}

bool clu_watch_is_ready(const CluWatch *watch)
{
    return watch->is_ready && watch->is_current;
}

/* The bit of a peer is its place among the other hosts of the chip. */
static bool idt_link_up(const CluWatch *watch, const char *address,
                        const CluPlanLink *link, unsigned end)
{
    unsigned own = link->link->end[end]->partition;
    unsigned peer = link->link->end[!end]->partition;
    GHashTableIter iter;
    void *said;

    g_hash_table_iter_init(&iter, watch->asked);
    while (g_hash_table_iter_next(&iter, &said, NULL)) {
        const char *mask = strchr(said, '/');

        if (mask && g_str_has_prefix(said, address)) {
            return g_ascii_strtoull(mask + 1, NULL, 16) >>
                       (peer < own ? peer : peer - 1) &
                   1;
        }
    }
    return false;
}

bool clu_watch_link_up(const CluWatch *watch, const CluPlanLink *link,
                       unsigned end)
{
    const CluPlanDevice *device = link->device[end];
    g_autofree char *address = clu_plan_address(device);
    const char *name = g_hash_table_lookup(watch->names, address);

    if (strcmp(device->type, CLU_PLAN_AMD_TYPE) == 0) {
        return watch->is_current &&
               g_hash_table_contains(watch->asked, address);
    }
    if (device->chip) {
        return watch->is_current && idt_link_up(watch, address, link, end);
    }
    return watch->is_current && name && g_hash_table_contains(watch->up, name);
}
