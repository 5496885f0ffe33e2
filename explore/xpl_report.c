/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "clu_error.h"
#include "table_file.h"
#include "topo_file.h"
#include "xpl_report.h"

#define MAGIC   "# farside explore 1"
#define BUILD   "# programs="
#define COLUMNS "seed,verdict,script_ms,seconds,faults,reason\n"

struct XplReport {
    int fd;
    GMutex mutex;
    GHashTable *seeds; /* of uint64_t */
    char *mine;        /* the programs that add results now */
    char *programs;    /* those that made the last results */
    unsigned builds;   /* how often they changed, and one */
    unsigned counts[XPL_N_VERDICTS];
};

const char *xpl_verdict_name(XplVerdict verdict)
{
    static const char *const names[XPL_N_VERDICTS] = {
        [XPL_PASS] = "pass", [XPL_CANNOT] = "impossible", [XPL_VOID] = "void",
        [XPL_FAIL] = "fail", [XPL_ERROR] = "error",
    };

    return names[verdict];
}

void xpl_head_clear(XplHead *head)
{
    g_clear_pointer(&head->description, g_free);
    g_clear_pointer(&head->script, g_free);
    g_clear_pointer(&head->allow, g_free);
    img_hashes_clear(&head->files);
}

static XplReport *report_new(int fd)
{
    XplReport *report = g_new0(XplReport, 1);

    report->fd = fd;
    report->seeds =
        g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
    g_mutex_init(&report->mutex);
    return report;
}

/* The results that follow are those of @programs. */
static void set_programs(XplReport *report, const char *programs)
{
    g_free(report->programs);
    report->programs = g_strdup(programs);
    report->builds++;
}

void xpl_report_free(XplReport *report)
{
    if (!report) {
        return;
    }
    close(report->fd);
    g_hash_table_unref(report->seeds);
    g_free(report->mine);
    g_free(report->programs);
    g_mutex_clear(&report->mutex);
    g_free(report);
}

static bool fail(const char *path, GError **error)
{
    g_set_error(error, CLU_ERROR, CLU_ERROR_USAGE, "%s: %s", path,
                g_strerror(errno));
    return false;
}

static const char *start_of(const XplHead *head)
{
    return head->boots ? "boot" : "branch";
}

static char *head_line(const XplHead *head)
{
    return g_strdup_printf(
        MAGIC " description=%s script=%s programs=%s kernel=%s image=%s "
              "start=%s limit=%" G_GINT64_FORMAT "ns allow=%s "
              "from=%" G_GINT64_FORMAT "ns to=%" G_GINT64_FORMAT "ns\n" COLUMNS,
        head->description, head->script, head->files.programs,
        head->files.kernels, head->files.images, start_of(head), head->limit_ns,
        head->allow, head->begin_ns, head->end_ns);
}

XplReport *xpl_report_new(const char *path, const XplHead *head, GError **error)
{
    int fd =
        open(path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0666);
    g_autofree char *line = head_line(head);
    XplReport *report;

    if (fd < 0 && errno == EEXIST) {
        g_set_error(error, CLU_ERROR, CLU_ERROR_USAGE,
                    "%s has results already; go on with --resume, or give "
                    "another folder by -o",
                    path);
        return NULL;
    }
    if (fd < 0) {
        fail(path, error);
        return NULL;
    }
    if (!table_file_append(fd, path, line, error)) {
        close(fd);
        return NULL;
    }
    report = report_new(fd);
    report->mine = g_strdup(head->files.programs);
    set_programs(report, report->mine);
    return report;
}

/* ---- Resume ------------------------------------------------------------- */

static void add_result(XplReport *report, uint64_t seed, XplVerdict verdict)
{
    uint64_t *key = g_new(uint64_t, 1);

    *key = seed;
    if (g_hash_table_add(report->seeds, key)) {
        report->counts[verdict]++;
    }
}

static bool read_line(XplReport *report, const char *line)
{
    g_auto(GStrv) fields = g_strsplit(line, ",", 3);
    guint64 seed;

    if (g_strv_length(fields) < 3 ||
        !g_ascii_string_to_unsigned(fields[0], 10, 0, G_MAXUINT64, &seed,
                                    NULL)) {
        return false;
    }
    for (unsigned i = 0; i < XPL_N_VERDICTS; i++) {
        if (strcmp(fields[1], xpl_verdict_name(i)) == 0) {
            add_result(report, seed, i);
            return true;
        }
    }
    return false;
}

/* The value of "NAME=VALUE" in the words of the first line; "" if missing. */
static const char *get(char *const *words, const char *name)
{
    for (; *words; words++) {
        if (g_str_has_prefix(*words, name)) {
            return *words + strlen(name);
        }
    }
    return "";
}

static bool is_time(const char *text, int64_t *ret_ns)
{
    char *end;

    *ret_ns = g_ascii_strtoll(text, &end, 10);
    return end > text && strcmp(end, "ns") == 0;
}

/* All that the results depend on must be as it was. */
static bool check_head(const char *path, char *const *words,
                       const XplHead *head, GError **error)
{
    g_autofree char *limit =
        g_strdup_printf("%" G_GINT64_FORMAT "ns", head->limit_ns);
    const struct {
        const char *name, *value, *text;
    } parts[] = {
        {"description=", head->description, "description"},
        {"script=", head->script, "script"},
        {"kernel=", head->files.kernels, "kernel of the guests"},
        {"image=", head->files.images, "image of the guests, or modules in it"},
        {"limit=", limit, "--limit"},
        {"allow=", head->allow, "--allow"},
        {"start=", start_of(head),
         head->boots ? "start: now each schedule boots its machines"
                     : "start: now each schedule is a branch"},
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(parts); i++) {
        if (strcmp(get(words, parts[i].name), parts[i].value) != 0) {
            g_set_error(error, CLU_ERROR, CLU_ERROR_USAGE,
                        "%s:1:1: the results are those of another %s; leave "
                        "out --resume and give another folder by -o",
                        path, parts[i].text);
            return false;
        }
    }
    return true;
}

static bool read_head(XplReport *report, const char *path, const char *line,
                      XplHead *head, GError **error)
{
    g_auto(GStrv) words = g_strsplit(line, " ", 0);

    if (!g_str_has_prefix(line, MAGIC " ") ||
        !is_time(get(words, "from="), &head->begin_ns) ||
        !is_time(get(words, "to="), &head->end_ns)) {
        g_set_error(error, CLU_ERROR, CLU_ERROR_USAGE,
                    "%s:1:1: this is no report of an exploration; give another "
                    "folder by -o",
                    path);
        return false;
    }
    set_programs(report, get(words, "programs="));
    return check_head(path, words, head, error);
}

static bool read_report(XplReport *report, const char *path, XplHead *head,
                        GError **error)
{
    g_autofree char *text = topo_file_text(path, NULL, error);
    g_auto(GStrv) lines = NULL;
    char *last;

    if (!text) {
        return false;
    }
    last = strrchr(text, '\n');
    if (last && last[1] != '\0') {
        /* The process ended while it wrote this line. */
        last[1] = '\0';
        if (ftruncate(report->fd, (off_t)strlen(text)) < 0) {
            return fail(path, error);
        }
    }
    lines = g_strsplit(text, "\n", 0);
    if (!read_head(report, path, lines[0] ? lines[0] : "", head, error)) {
        return false;
    }
    for (unsigned i = 2; i < g_strv_length(lines); i++) {
        if (g_str_has_prefix(lines[i], BUILD)) {
            set_programs(report, lines[i] + strlen(BUILD));
        } else if (*lines[i] && !read_line(report, lines[i])) {
            g_set_error(error, CLU_ERROR, CLU_ERROR_USAGE,
                        "%s:%u:1: a line begins with the seed and the verdict; "
                        "remove this one",
                        path, i + 1);
            return false;
        }
    }
    return true;
}

XplReport *xpl_report_resume(const char *path, XplHead *head, GError **error)
{
    g_autoptr(XplReport) report = NULL;
    int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);

    if (fd < 0) {
        fail(path, error);
        return NULL;
    }
    report = report_new(fd);
    report->mine = g_strdup(head->files.programs);
    return read_report(report, path, head, error) ? g_steal_pointer(&report)
                                                  : NULL;
}

/* ---- Results ------------------------------------------------------------ */

bool xpl_report_has(const XplReport *report, uint64_t seed)
{
    return g_hash_table_contains(report->seeds, &seed);
}

unsigned xpl_report_count(const XplReport *report, XplVerdict verdict)
{
    return report->counts[verdict];
}

unsigned xpl_report_builds(const XplReport *report)
{
    return report->builds;
}

/* A field in quotation marks, RFC 4180 s2. */
static void append_quoted(GString *out, const char *text)
{
    g_string_append_c(out, '"');
    for (; *text; text++) {
        if (*text == '"') {
            g_string_append_c(out, '"');
        }
        g_string_append_c(out, *text == '\n' || *text == '\r' ? ' ' : *text);
    }
    g_string_append_c(out, '"');
}

bool xpl_report_add(XplReport *report, uint64_t seed, const XplResult *result,
                    const char *faults, GError **error)
{
    g_autoptr(GString) line = g_string_new(NULL);
    bool is_good;

    g_string_printf(line, "%" G_GUINT64_FORMAT ",%s,%" G_GINT64_FORMAT ",%.1f,",
                    seed, xpl_verdict_name(result->verdict),
                    (result->end_ns - result->begin_ns) / 1000000,
                    result->seconds);
    append_quoted(line, faults);
    g_string_append_c(line, ',');
    append_quoted(line, result->reason ? result->reason : "");
    g_string_append_c(line, '\n');
    g_mutex_lock(&report->mutex);
    /* A program that was built again most often does the same, so the results
     * before it are kept; a line tells which ones are whose. */
    if (strcmp(report->programs, report->mine) != 0) {
        g_autofree char *build = g_strconcat(BUILD, report->mine, "\n", NULL);

        set_programs(report, report->mine);
        g_string_prepend(line, build);
    }
    is_good = table_file_append(report->fd, "the report", line->str, error);
    add_result(report, seed, result->verdict);
    g_mutex_unlock(&report->mutex);
    return is_good;
}
