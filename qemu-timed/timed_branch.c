/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A branch: another process that goes on from where this machine stands. It is
 * made by fork(), so the state of the CPU, of all devices, of the code that TCG
 * has translated, and RAM are there at once, and are copied only when one of
 * both writes to them. What fork() does not copy is made anew here: threads,
 * and what lies behind descriptors.
 *
 * All of this happens in the main thread, in a bottom half of a turn of the
 * main loop, while time stands still and the CPU's thread waits for the turn.
 */
#include "timed.h"
#include "qapi/error.h"
#include "qemu/cutils.h"
#include "qemu/error-report.h"
#include "qemu/main-loop.h"
#include "qemu/rcu.h"
#include "block/block_int.h"
#include "exec/cpu-common.h"
#include "timed_qemu.h"
#include "board/timed_control.h"
#include <sys/eventfd.h>
#include <sys/mman.h>

static int line = -1; /* to the supervisor; -1: this machine has no branches */
static TimedBoard *board;
static int board_fd;

/* Images */

static bool is_image_busy(void)
{
    BlockDriverState *bs = NULL;

    while ((bs = bdrv_next_node(bs))) {
        if (QLIST_EMPTY(&bs->children) && qatomic_read(&bs->in_flight) > 0) {
            return true;
        }
    }
    return false;
}

/*
 * The images are not written to any more. The results wait for their virtual
 * times. Threads that access images end: a branch would wait for them in vain.
 */
static void settle_images(void)
{
    AioContext *context = qemu_get_aio_context();

    while (is_image_busy()) {
        aio_poll(context, true);
    }
    timed_qemu_end_threads(context);
}

/* Memory */

/* QEMU's RAM is not there after a fork() unless that is asked for. */
static int inherit_block(RAMBlock *block, void *opaque)
{
    return madvise(qemu_ram_get_host_addr(block),
                   qemu_ram_get_max_length(block), MADV_DOFORK);
}

/* In the branch. Memory that it would share gets a copy. */
static int own_block(RAMBlock *block, void *opaque)
{
    size_t size = qemu_ram_get_max_length(block);
    size_t used = qemu_ram_get_used_length(block);
    void *host = qemu_ram_get_host_addr(block);
    g_autofree void *copy = NULL;

    if (!qemu_ram_is_shared(block)) {
        return 0;
    }
    copy = g_memdup2(host, used);
    if (mmap(host, size, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != host) {
        return -errno;
    }
    memcpy(host, copy, used);
    return 0;
}

/* Descriptors, in the branch */

static bool replace_fd(int fd, int by)
{
    int flags = fcntl(fd, F_GETFD);
    int status = fcntl(fd, F_GETFL);

    return fcntl(by, F_SETFL, status) == 0 &&
           dup3(by, fd, flags & FD_CLOEXEC ? O_CLOEXEC : 0) == fd;
}

/* All descriptors that are open now, ended by -1; to be freed. */
static int *list_fds(void)
{
    GArray *fds = g_array_new(FALSE, FALSE, sizeof(int));
    DIR *dir = opendir("/proc/self/fd");
    const struct dirent *entry;
    int fd;

    while (dir && (entry = readdir(dir))) {
        if (qemu_strtoi(entry->d_name, NULL, 10, &fd) == 0 &&
            fd != dirfd(dir)) {
            g_array_append_val(fds, fd);
        }
    }
    if (dir) {
        closedir(dir);
    }
    fd = -1;
    g_array_append_val(fds, fd);
    return (int *)g_array_free(fds, FALSE);
}

/* The image @file, "DEVICE:INODE", becomes @by. */
static bool replace_file(const char *file, int by)
{
    g_autofree int *fds = list_fds();
    struct stat st;
    bool any = false;

    for (int *fd = fds; *fd >= 0; fd++) {
        g_autofree char *its = NULL;

        if (*fd == by || fstat(*fd, &st) < 0) {
            continue;
        }
        its = g_strdup_printf("%" PRIu64 ":%" PRIu64, (uint64_t)st.st_dev,
                              (uint64_t)st.st_ino);
        if (strcmp(its, file) == 0) {
            any = dup3(by, *fd, O_CLOEXEC) == *fd;
        }
    }
    return any;
}

static uint64_t eventfd_count(int fd)
{
    g_autofree char *path = g_strdup_printf("/proc/self/fdinfo/%d", fd);
    g_autofree char *text = NULL;
    const char *found;

    if (!g_file_get_contents(path, &text, NULL, NULL)) {
        return 1;
    }
    found = strstr(text, "eventfd-count:");
    return found ? g_ascii_strtoull(found + strlen("eventfd-count:"), NULL, 16)
                 : 1;
}

/* By these, threads of one process wake each other. */
static void renew_eventfds(void)
{
    g_autofree int *fds = list_fds();

    for (int *fd = fds; *fd >= 0; fd++) {
        g_autofree char *path = g_strdup_printf("/proc/self/fd/%d", *fd);
        g_autofree char *what = g_file_read_link(path, NULL);

        if (what && strcmp(what, "anon_inode:[eventfd]") == 0) {
            int by = eventfd(eventfd_count(*fd), EFD_CLOEXEC);

            if (by < 0 || !replace_fd(*fd, by)) {
                error_report("virtual time: a branch has no eventfd: %s",
                             strerror(errno));
                exit(1);
            }
            close(by);
        }
    }
}

/* The branch */

static bool do_line(const char *text, TimedControlPacket *packet, unsigned *at)
{
    int64_t fd;

    if (g_str_has_prefix(text, "fault ")) {
        return timed_fault_add(text + strlen("fault "));
    }
    if (*at >= packet->count) {
        return false;
    }
    if (g_str_has_prefix(text, "file ")) {
        return replace_file(text + strlen("file "), packet->fds[(*at)++]);
    }
    return g_str_has_prefix(text, "fd ") &&
           qemu_strtoi64(text + strlen("fd "), NULL, 10, &fd) == 0 &&
           replace_fd(fd, packet->fds[(*at)++]);
}

static void G_NORETURN give_up(const char *what)
{
    error_report("virtual time: a branch cannot go on: %s: %s", what,
                 strerror(errno));
    _exit(1);
}

static void go_on(TimedControlPacket *packet)
{
    g_auto(GStrv) lines = g_strsplit(packet->text, "\n", -1);
    g_autofree char *answer = g_strdup_printf("ok %d", (int)getpid());
    unsigned at = 0, i;

    /* Descriptors come first: all that follows uses them. */
    for (i = 1; lines[i]; i++) {
        if (*lines[i] && !g_str_has_prefix(lines[i], "fault ") &&
            !do_line(lines[i], packet, &at)) {
            give_up(lines[i]);
        }
    }
    timed_control_close(packet);
    renew_eventfds();
    if (board && !timed_board_become(board, board_fd)) {
        give_up("the board");
    }
    if (qemu_ram_foreach_block(own_block, NULL) < 0) {
        give_up("memory");
    }
    for (i = 1; lines[i]; i++) {
        if (g_str_has_prefix(lines[i], "fault ") &&
            !do_line(lines[i], packet, &at)) {
            give_up(lines[i]);
        }
    }
    if (!timed_control_die_with(line)) {
        give_up("a thread");
    }
    timed_gate_renew();
    timed_vcpu_renew();
    if (!timed_control_send(line, answer, NULL, 0)) {
        _exit(1);
    }
}

static void make_branch(TimedControlPacket *packet)
{
    g_autofree char *complaint = NULL;
    pid_t pid = -1;

    if (packet->count == 0) {
        return;
    }
    settle_images();
    /* Only a thread knows the memory that waits to be freed. */
    drain_call_rcu();
    /* Nobody waits for the process: its supervisor is another one. */
    signal(SIGCHLD, SIG_IGN);
    rcu_enable_atfork();
    if (qemu_ram_foreach_block(inherit_block, NULL) == 0) {
        pid = fork();
    }
    rcu_disable_atfork();
    if (pid == 0) {
        go_on(packet);
        return;
    }
    if (pid < 0) {
        complaint = g_strdup_printf("no QEMU cannot fork: %s", strerror(errno));
        timed_control_send(packet->fds[0], complaint, NULL, 0);
    }
    timed_control_close(packet);
}

/* In a turn of the main loop: makes a branch if one was asked for. */
static void look(void)
{
    g_autofree TimedControlPacket *packet = NULL;

    if (line < 0) {
        return;
    }
    packet = g_new(TimedControlPacket, 1);
    if (!timed_control_receive(line, packet, 0)) {
        return;
    }
    if (g_str_has_prefix(packet->text, "branch\n")) {
        make_branch(packet);
    } else {
        settle_images();
        timed_control_send(line, "ok 0", NULL, 0);
        timed_control_close(packet);
    }
}

void timed_branch_init(const TimedOptions *options)
{
    line = options->control;
    board = options->board;
    board_fd = options->board_fd;
    timed_gate_set_look(look);
}
