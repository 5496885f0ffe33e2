/* SPDX-License-Identifier: MIT */
/*
 * The form of the file: a line for the journal, then a line for each point.
 * Fields are separated by tabs, and texts are escaped as in C.
 *
 *   farside-journal VERSION HASH COLUMNS
 *   INDEX HOPS EVENTS NOTE {TEXT NUMBER}... CHECKSUM
 */
#include "exp_journal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "table_file.h"

#define FIRST_CELL 5 /* number of fields before the cells */
#define SYNC_US    G_USEC_PER_SEC

struct ExpJournal {
    char *path;
    char *head;       /* the first line, without its end */
    unsigned columns; /* of the results */
    GHashTable *read; /* of ExpPoint, by index: points not taken yet */
    unsigned count;   /* of points in the file */
    int fd;           /* -1: not made yet */
    gint64 synced;    /* time of the last fdatasync() */
    GMutex mutex;
};

static bool fail(const ExpJournal *self, const char *what, GError **error)
{
    g_set_error(error, TABLE_ERROR, TABLE_ERROR_FILE, "cannot %s %s: %s", what,
                self->path, g_strerror(errno));
    return false;
}

static char *checksum(const char *text, gssize length)
{
    char *sum = g_compute_checksum_for_string(G_CHECKSUM_MD5, text, length);

    sum[8] = '\0';
    return sum;
}

/* ---- Reading ------------------------------------------------------------ */

static void point_free(void *point)
{
    exp_point_free(point);
}

static bool parse_unsigned(const char *text, guint64 most, guint64 *ret_value)
{
    return g_ascii_string_to_unsigned(text, 10, 0, most, ret_value, NULL);
}

/* Sets a cell from its two fields. An absent text or number is empty. */
static bool parse_cell(const char *text, const char *number, ExpCell *cell)
{
    cell->number = TABLE_NONE;
    if (*text == '"') {
        cell->text = g_strcompress(text + 1);
    }
    cell->has_failed = strcmp(number, TABLE_FAILED) == 0;
    return *number == '\0' || cell->has_failed ||
           g_ascii_string_to_signed(number, 10, G_MININT64, G_MAXINT64,
                                    &cell->number, NULL);
}

/* Adds the point of one line. Returns false if the line is not whole. */
static bool parse_line(ExpJournal *self, const char *line)
{
    const char *last = strrchr(line, '\t');
    g_autofree char *sum = last ? checksum(line, last - line) : NULL;
    g_autoptr(ExpPoint) point = g_new0(ExpPoint, 1);
    g_auto(GStrv) fields = NULL;
    guint64 index;

    if (!sum || strcmp(sum, last + 1) != 0) {
        return false;
    }
    fields = g_strsplit(line, "\t", -1);
    if (g_strv_length(fields) != FIRST_CELL + 2 * self->columns + 1 ||
        !parse_unsigned(fields[0], G_MAXUINT, &index) ||
        !parse_unsigned(fields[1], G_MAXUINT64, &point->hops) ||
        !parse_unsigned(fields[2], G_MAXUINT64, &point->events)) {
        return false;
    }
    point->note = *fields[3] ? g_strcompress(fields[3]) : NULL;
    point->has_failed = strcmp(fields[4], "failed") == 0;
    point->count = self->columns;
    point->cells = g_new0(ExpCell, point->count);
    for (unsigned i = 0; i < point->count; i++) {
        char **cell = &fields[FIRST_CELL + 2 * i];

        if (!parse_cell(cell[0], cell[1], &point->cells[i])) {
            return false;
        }
    }
    g_hash_table_replace(self->read, GUINT_TO_POINTER(index),
                         g_steal_pointer(&point));
    return true;
}

/* Reads @text and returns the number of bytes up to the end of the last whole
 * line. */
static size_t parse(ExpJournal *self, const char *text, size_t length)
{
    const char *at = text, *end;
    bool is_head = true;

    for (; (end = memchr(at, '\n', length - (size_t)(at - text)));
         at = end + 1) {
        g_autofree char *line = g_strndup(at, (size_t)(end - at));

        if (!is_head && !parse_line(self, line)) {
            break;
        }
        is_head = false;
    }
    return (size_t)(at - text);
}

static bool lock(const ExpJournal *self, int fd, GError **error)
{
    if (flock(fd, LOCK_EX | LOCK_NB) == 0) {
        return true;
    }
    g_set_error(error, TABLE_ERROR, TABLE_ERROR_FILE,
                "%s: another run is writing it; wait for its end, or choose "
                "another folder",
                self->path);
    return false;
}

static bool check_head(const ExpJournal *self, const char *text, GError **error)
{
    size_t length = strlen(self->head);

    if (strncmp(text, self->head, length) == 0 && text[length] == '\n') {
        return true;
    }
    g_set_error(error, TABLE_ERROR, TABLE_ERROR_VALUE,
                "%s was made by another version of the scenario, its parts, "
                "the --set options or the program; remove it, or run without "
                "--resume",
                self->path);
    return false;
}

/* Reads the file and cuts off a line that is not whole. */
static bool journal_read(ExpJournal *self, GError **error)
{
    g_autofree char *text = NULL;
    gsize length;
    size_t whole;

    self->fd = open(self->path, O_RDWR | O_APPEND | O_CLOEXEC);
    if (self->fd < 0) {
        return errno == ENOENT || fail(self, "read", error);
    }
    if (!lock(self, self->fd, error)) {
        return false;
    }
    if (!g_file_get_contents(self->path, &text, &length, NULL)) {
        return fail(self, "read", error);
    }
    if (!memchr(text, '\n', length)) {
        /* Not even the first line is there: as good as no file. */
        close(self->fd);
        self->fd = -1;
        return true;
    }
    if (!check_head(self, text, error)) {
        return false;
    }
    whole = parse(self, text, length);
    self->count = g_hash_table_size(self->read);
    return ftruncate(self->fd, (off_t)whole) == 0 || fail(self, "write", error);
}

ExpJournal *exp_journal_open(const char *path,
                             const TopoDescription *description, bool resume,
                             GError **error)
{
    g_autoptr(ExpJournal) self = g_new0(ExpJournal, 1);

    g_mutex_init(&self->mutex);
    self->path = g_strdup(path);
    self->fd = -1;
    self->columns = description->columns->len;
    self->head = g_strdup_printf("farside-journal\t" FARSIDE_VERSION "\t%s\t%u",
                                 description->hash, self->columns);
    self->read = g_hash_table_new_full(NULL, NULL, NULL, point_free);
    if (resume && !journal_read(self, error)) {
        return NULL;
    }
    return g_steal_pointer(&self);
}

ExpPoint *exp_journal_take(ExpJournal *self, unsigned index)
{
    void *point = NULL;

    g_hash_table_steal_extended(self->read, GUINT_TO_POINTER(index), NULL,
                                &point);
    return point;
}

/* Makes the file. An older one gets another name. */
static bool journal_make(ExpJournal *self, GError **error)
{
    g_autofree char *old = g_strconcat(self->path, "~", NULL);
    g_autofree char *head = g_strconcat(self->head, "\n", NULL);
    int fd;

    if (!table_file_make_folder(self->path, error)) {
        return false;
    }
    fd = open(self->path, O_RDWR | O_CLOEXEC);
    if (fd >= 0) {
        bool is_free = lock(self, fd, error);

        close(fd);
        if (!is_free) {
            return false;
        }
        if (rename(self->path, old) != 0) {
            return fail(self, "rename", error);
        }
    }
    self->fd = open(self->path,
                    O_RDWR | O_APPEND | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (self->fd < 0) {
        return fail(self, "make", error);
    }
    return lock(self, self->fd, error) &&
           table_file_append(self->fd, self->path, head, error);
}

static char *format_line(const ExpJournal *self, unsigned index,
                         const ExpPoint *point)
{
    g_autoptr(GString) line = g_string_new(NULL);
    g_autofree char *note = point->note ? g_strescape(point->note, NULL) : NULL;
    g_autofree char *sum = NULL;

    g_string_append_printf(
        line, "%u\t%" G_GUINT64_FORMAT "\t%" G_GUINT64_FORMAT "\t%s\t%s", index,
        point->hops, point->events, note ? note : "",
        point->has_failed ? "failed" : "");
    for (unsigned i = 0; i < self->columns; i++) {
        const ExpCell *cell = &point->cells[i];
        g_autofree char *text =
            cell->text ? g_strescape(cell->text, NULL) : NULL;

        g_string_append_printf(line, "\t%s%s\t", text ? "\"" : "",
                               text ? text : "");
        if (cell->has_failed) {
            g_string_append(line, TABLE_FAILED);
        } else if (cell->number != TABLE_NONE) {
            g_string_append_printf(line, "%" G_GINT64_FORMAT, cell->number);
        }
    }
    sum = checksum(line->str, (gssize)line->len);
    g_string_append_printf(line, "\t%s\n", sum);
    return g_string_free(g_steal_pointer(&line), FALSE);
}

bool exp_journal_put(ExpJournal *self, unsigned index, const ExpPoint *point,
                     GError **error)
{
    g_autofree char *line = format_line(self, index, point);
    gint64 now = g_get_monotonic_time();
    bool is_written;

    g_mutex_lock(&self->mutex);
    is_written = (self->fd >= 0 || journal_make(self, error)) &&
                 table_file_append(self->fd, self->path, line, error);
    if (is_written) {
        self->count++;
        /* The kernel keeps what was written even if the program dies. The disk
         * gets it once a second, in case the machine dies. */
        if (now - self->synced > SYNC_US) {
            fdatasync(self->fd);
            self->synced = now;
        }
    }
    g_mutex_unlock(&self->mutex);
    return is_written;
}

unsigned exp_journal_count(ExpJournal *self)
{
    unsigned count;

    g_mutex_lock(&self->mutex);
    count = self->count;
    g_mutex_unlock(&self->mutex);
    return count;
}

void exp_journal_halt(ExpJournal *self)
{
    g_mutex_lock(&self->mutex);
}

void exp_journal_remove(ExpJournal *self)
{
    if (self->fd >= 0) {
        unlink(self->path);
    }
}

void exp_journal_free(ExpJournal *self)
{
    if (self) {
        if (self->fd >= 0) {
            close(self->fd);
        }
        g_hash_table_unref(self->read);
        g_mutex_clear(&self->mutex);
        g_free(self->head);
        g_free(self->path);
        g_free(self);
    }
}
