/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The pcapng file of a trace.
 *
 * Packets gather in memory. A thread appends them to the file, under an
 * exclusive flock(), because the device at the other end of the link appends to
 * the same file. A process may be killed while it appends, or find the disk
 * full. So before it appends, the thread cuts off an incomplete block at the
 * file's end. Packets wait in memory while the thread cannot write. When too
 * many wait, new packets are dropped, and the next statistics count them.
 */
#include "qemu/osdep.h"
#include <sys/file.h>
#include "qapi/error.h"
#include "qemu/error-report.h"
#include "qemu/thread.h"
#include "qemu/timer.h"
#include "qemu/units.h"
#include "wire/farside_trace.h"
#include "farside_time.h"
#include "farside_trace_file.h"

/* Packets gather for this long before they are written together. */
#define BATCH_MS    10
#define RETRY_MS    50
#define WAITING_MAX (8 * MiB)
/* The most bytes of header blocks in a trace */
#define HEADER_MAX  (1 * MiB)

struct FarsideTraceFile {
    char *path;
    int fd;
    unsigned interface;
    unsigned patience_ms; /* the longest wait when it is opened or closed */
    uint32_t snaplen;
    off_t end; /* of a whole block in the file, not always the last one */

    QemuThread thread;
    QemuMutex lock; /* protects the members below */
    QemuCond wake;
    GByteArray *waiting;
    bool closing;
    uint64_t received;
    uint64_t dropped;
    uint64_t dropped_told; /* value of dropped in the last statistics */
    int64_t close_deadline;
    bool complained; /* only the thread uses it */
};

/* The date of virtual time 0, as the machine's clock has it: 2026-01-01 */
#define VIRTUAL_EPOCH (1767225600 * (uint64_t)NANOSECONDS_PER_SECOND)

static uint64_t time_now(void)
{
    struct timespec now;

    if (farside_time()) {
        return VIRTUAL_EPOCH + farside_time_now();
    }
    clock_gettime(CLOCK_REALTIME, &now);
    return now.tv_sec * NANOSECONDS_PER_SECOND + now.tv_nsec;
}

/* The file as blocks */

static bool read_at(int fd, off_t offset, void *buffer, size_t size)
{
    ssize_t n;

    do {
        n = pread(fd, buffer, size, offset);
    } while (n < 0 && errno == EINTR);
    return n == (ssize_t)size;
}

/* The length of the block at @offset, or 0 if no whole block is there. */
static uint32_t block_at(int fd, off_t offset, off_t size, uint32_t *ret_type)
{
    struct farside_pcapng_block block;
    uint32_t again;

    if (size - offset < FARSIDE_PCAPNG_BLOCK_MIN ||
        !read_at(fd, offset, &block, sizeof(block)) ||
        block.length < FARSIDE_PCAPNG_BLOCK_MIN || (block.length & 3) ||
        block.length > size - offset ||
        !read_at(fd, offset + block.length - 4, &again, 4) ||
        again != block.length) {
        return 0;
    }
    if (ret_type) {
        *ret_type = block.type;
    }
    return block.length;
}

/* True if the file ends with a whole packet or whole statistics. */
static bool ends_well(int fd, off_t size)
{
    uint32_t length, type;

    return read_at(fd, size - 4, &length, 4) && length <= size &&
           block_at(fd, size - length, size, &type) == length &&
           (type == FARSIDE_PCAPNG_EPB || type == FARSIDE_PCAPNG_ISB);
}

/* The header, under the file's lock */

static bool header_check(FarsideTraceFile *f, off_t size, Error **errp)
{
    struct farside_pcapng_section section;
    struct farside_pcapng_interface interface;
    uint32_t length, type, count = 0;
    off_t offset;

    length = block_at(f->fd, 0, size, &type);
    if (length < sizeof(section) + 4 || type != FARSIDE_PCAPNG_SHB ||
        !read_at(f->fd, 0, &section, sizeof(section)) ||
        section.magic != FARSIDE_PCAPNG_MAGIC ||
        section.major != FARSIDE_PCAPNG_MAJOR) {
        error_setg(errp, "%s is not a pcapng file of this machine", f->path);
        return false;
    }
    for (offset = length; offset < HEADER_MAX; offset += length) {
        length = block_at(f->fd, offset, size, &type);
        if (length < sizeof(interface) + 4 || type != FARSIDE_PCAPNG_IDB ||
            !read_at(f->fd, offset, &interface, sizeof(interface)) ||
            interface.link_type != FARSIDE_TRACE_LINKTYPE) {
            break;
        }
        if (count++ == f->interface) {
            f->snaplen = interface.snaplen;
        }
    }
    if (count < FARSIDE_TRACE_INTERFACES) {
        error_setg(errp, "%s is not the trace of a link", f->path);
        return false;
    }
    f->end = offset;
    return true;
}

static bool header_write(FarsideTraceFile *f, const char *const *names,
                         Error **errp)
{
    size_t size = 0;
    g_autofree uint8_t *header = NULL;
    unsigned i;

    for (i = 0; i < FARSIDE_TRACE_INTERFACES; i++) {
        size += strlen(names[i]);
    }
    header = g_malloc(FARSIDE_TRACE_HEADER_MAX(size));
    size = farside_trace_header(header, names, 0);
    if (qemu_write_full(f->fd, header, size) == (ssize_t)size) {
        return true;
    }
    error_setg_errno(errp, errno, "cannot write %s", f->path);
    (void)!ftruncate(f->fd, 0);
    return false;
}

/*
 * Writes the header if the file is empty, and checks it. Locks the file first,
 * because two processes may open a new file at once; the caller unlocks it.
 */
static bool header_agree(FarsideTraceFile *f, const char *const *names,
                         Error **errp)
{
    int64_t deadline = qemu_clock_get_ms(QEMU_CLOCK_REALTIME) + f->patience_ms;
    off_t size;

    while (flock(f->fd, LOCK_EX | LOCK_NB) < 0) {
        if (errno != EWOULDBLOCK ||
            qemu_clock_get_ms(QEMU_CLOCK_REALTIME) >= deadline) {
            error_setg_errno(errp, errno, "cannot lock %s", f->path);
            return false;
        }
        g_usleep(1000);
    }
    if (lseek(f->fd, 0, SEEK_END) == 0 && !header_write(f, names, errp)) {
        return false;
    }
    size = lseek(f->fd, 0, SEEK_END);
    return header_check(f, size, errp);
}

/*
 * Returns the offset to append at, which is the end of the last whole block.
 * Cuts off an incomplete block behind it. Returns a negative number, and sets
 * errno, if the file has become shorter or cannot be cut.
 */
static off_t place_to_append(FarsideTraceFile *f)
{
    off_t size = lseek(f->fd, 0, SEEK_END);
    uint32_t length;

    if (size < f->end) {
        errno = ESTALE;
        return -1;
    }
    if (size == f->end || ends_well(f->fd, size)) {
        return size;
    }
    while ((length = block_at(f->fd, f->end, size, NULL))) {
        f->end += length;
    }
    return ftruncate(f->fd, f->end) < 0 ? -1 : f->end;
}

/* Appends all of @bytes or nothing. Returns 0 or an errno. */
static int append(FarsideTraceFile *f, const GByteArray *bytes)
{
    off_t place;
    int why = 0;

    if (flock(f->fd, LOCK_EX | LOCK_NB) < 0) {
        return errno;
    }
    place = place_to_append(f);
    if (place < 0) {
        why = errno;
    } else if (qemu_write_full(f->fd, bytes->data, bytes->len) == bytes->len) {
        f->end = place + bytes->len;
    } else {
        why = errno;
        /* If this fails, the next process that appends cuts off the rest. */
        (void)!ftruncate(f->fd, place);
    }
    flock(f->fd, LOCK_UN);
    return why;
}

/* Blocks in memory */

static void add_statistics(FarsideTraceFile *f, GByteArray *bytes)
{
    uint8_t block[sizeof(struct farside_pcapng_statistics) + 32];
    uint64_t now = time_now();
    struct farside_pcapng_statistics head = {
        .block.type = FARSIDE_PCAPNG_ISB,
        .interface = f->interface,
        .time_high = now >> 32,
        .time_low = now,
    };
    uint8_t *at = block + sizeof(head);

    at = farside_pcapng_option(at, FARSIDE_PCAPNG_ISB_IFRECV, &f->received, 8);
    at = farside_pcapng_option(at, FARSIDE_PCAPNG_ISB_IFDROP, &f->dropped, 8);
    at = farside_pcapng_option(at, FARSIDE_PCAPNG_ENDOFOPT, NULL, 0);
    g_byte_array_append(bytes, block,
                        farside_pcapng_end(block, at, &head, sizeof(head)));
    f->dropped_told = f->dropped;
}

void farside_trace_file_add(FarsideTraceFile *f, const struct iovec *pieces,
                            unsigned count)
{
    static const uint8_t zeros[4];
    uint64_t now = time_now();
    size_t original = iov_size(pieces, count), captured = original, left, n;
    struct farside_pcapng_packet head = {
        .block.type = FARSIDE_PCAPNG_EPB,
        .interface = f->interface,
        .time_high = now >> 32,
        .time_low = now,
        .original = original,
    };
    unsigned i;

    if (f->snaplen && captured > f->snaplen) {
        captured = f->snaplen;
    }
    head.captured = captured;
    head.block.length = sizeof(head) + farside_pcapng_pad(captured) + 4;

    qemu_mutex_lock(&f->lock);
    f->received++;
    if (f->waiting->len + head.block.length > WAITING_MAX) {
        f->dropped++;
        qemu_mutex_unlock(&f->lock);
        return;
    }
    if (f->waiting->len == 0) {
        qemu_cond_signal(&f->wake);
    }
    g_byte_array_append(f->waiting, (uint8_t *)&head, sizeof(head));
    for (i = 0, left = captured; i < count && left; i++, left -= n) {
        n = MIN(left, pieces[i].iov_len);
        g_byte_array_append(f->waiting, pieces[i].iov_base, n);
    }
    g_byte_array_append(f->waiting, zeros,
                        farside_pcapng_pad(captured) - captured);
    g_byte_array_append(f->waiting, (uint8_t *)&head.block.length, 4);
    qemu_mutex_unlock(&f->lock);
}

/* The thread */

static bool is_too_late(const FarsideTraceFile *f)
{
    return f->closing &&
           qemu_clock_get_ms(QEMU_CLOCK_REALTIME) >= f->close_deadline;
}

/*
 * Called with the lock held, and releases it while it writes. After a failure
 * it tries again until is_too_late(). Returns false if nothing was written.
 */
static bool write_out(FarsideTraceFile *f, const GByteArray *bytes)
{
    int why;

    for (;;) {
        qemu_mutex_unlock(&f->lock);
        why = append(f, bytes);
        if (why && why != EWOULDBLOCK && !f->complained) {
            f->complained = true;
            warn_report("trace %s: cannot write: %s; packets wait in memory, "
                        "and are dropped if too many wait",
                        f->path, strerror(why));
        }
        qemu_mutex_lock(&f->lock);
        if (!why || is_too_late(f)) {
            return !why;
        }
        qemu_cond_timedwait(&f->wake, &f->lock, RETRY_MS);
    }
}

static void *writer(void *opaque)
{
    FarsideTraceFile *f = opaque;
    GByteArray *bytes = g_byte_array_new(), *other;
    bool last = false;

    qemu_mutex_lock(&f->lock);
    while (!last) {
        while (f->waiting->len == 0 && !f->closing) {
            qemu_cond_wait(&f->wake, &f->lock);
        }
        if (!f->closing) {
            qemu_cond_timedwait(&f->wake, &f->lock, BATCH_MS);
        }
        last = f->closing;
        other = f->waiting;
        f->waiting = bytes;
        bytes = other;
        if (last || f->dropped != f->dropped_told) {
            add_statistics(f, bytes);
        }
        if (!write_out(f, bytes)) {
            warn_report("trace %s: the last %u bytes were not written", f->path,
                        bytes->len);
        }
        g_byte_array_set_size(bytes, 0);
    }
    qemu_mutex_unlock(&f->lock);
    g_byte_array_free(bytes, true);
    return NULL;
}

/* Life */

static void file_free(FarsideTraceFile *f)
{
    if (f->fd >= 0) {
        close(f->fd);
    }
    g_free(f->path);
    g_free(f);
}

FarsideTraceFile *farside_trace_file_open(const char *path, unsigned interface,
                                          const char *const *names,
                                          unsigned patience_ms, Error **errp)
{
    FarsideTraceFile *f = g_new0(FarsideTraceFile, 1);
    struct stat st;
    bool ok;

    f->path = g_strdup(path);
    f->interface = interface;
    f->patience_ms = patience_ms;
    /* O_NONBLOCK: the path may be a FIFO, and nobody may open its other end. */
    f->fd = qemu_open_old(
        path, O_RDWR | O_APPEND | O_CREAT | O_NONBLOCK | O_NOCTTY, 0600);
    if (f->fd < 0 || fstat(f->fd, &st) < 0) {
        error_setg_errno(errp, errno, "cannot open %s", path);
        file_free(f);
        return NULL;
    }
    if (!S_ISREG(st.st_mode)) {
        error_setg(errp, "%s is not a regular file", path);
        file_free(f);
        return NULL;
    }
    ok = header_agree(f, names, errp);
    flock(f->fd, LOCK_UN);
    if (!ok) {
        file_free(f);
        return NULL;
    }
    f->waiting = g_byte_array_new();
    qemu_mutex_init(&f->lock);
    qemu_cond_init(&f->wake);
    qemu_thread_create(&f->thread, "farside-trace", writer, f,
                       QEMU_THREAD_JOINABLE);
    return f;
}

void farside_trace_file_close(FarsideTraceFile *f)
{
    if (!f) {
        return;
    }
    qemu_mutex_lock(&f->lock);
    f->closing = true;
    f->close_deadline = qemu_clock_get_ms(QEMU_CLOCK_REALTIME) + f->patience_ms;
    qemu_cond_signal(&f->wake);
    qemu_mutex_unlock(&f->lock);
    qemu_thread_join(&f->thread);
    g_byte_array_free(f->waiting, true);
    qemu_mutex_destroy(&f->lock);
    qemu_cond_destroy(&f->wake);
    file_free(f);
}
