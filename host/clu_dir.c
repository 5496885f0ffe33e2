/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "clu_dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "clu_error.h"
#include "clu_fork.h"
#include "farside_socket.h"

#define LOCK_NAME      "lock"
#define NAME_MAX_BYTES 64
/* A new cluster waits TRIES times POLL_US for an old one of the same name to
 * end. */
#define TRIES          150
#define POLL_US        20000

struct CluDir {
    char *path;
    int lock; /* descriptor of the lock file; -1: none */
};

static bool fail(GError **error, const char *path, const char *what)
{
    g_set_error(error, CLU_ERROR, CLU_ERROR_FAILED, "%s: %s: %s", path, what,
                g_strerror(errno));
    return false;
}

static char *base_path(void)
{
    const char *runtime = g_getenv("XDG_RUNTIME_DIR");

    if (runtime && g_path_is_absolute(runtime)) {
        return g_build_filename(runtime, "farside", NULL);
    }
    return g_strdup_printf("/tmp/farside-%u", (unsigned)getuid());
}

bool clu_dir_is_name(const char *name)
{
    size_t i;

    for (i = 0; name[i] != '\0'; i++) {
        if (!g_ascii_isalnum(name[i]) &&
            !(i > 0 && (name[i] == '_' || name[i] == '-'))) {
            return false;
        }
    }
    return i > 0 && i <= NAME_MAX_BYTES;
}

char *clu_dir_find(const char *name)
{
    g_autofree char *base = base_path();

    return g_build_filename(base, name, NULL);
}

char *clu_dir_link_path(const char *dir, const char *link)
{
    return g_strdup_printf("%s/%s.link", dir, link);
}

char *clu_dir_region_path(const char *dir, const char *region)
{
    return g_strdup_printf("%s/%s.region", dir, region);
}

char *clu_dir_qmp_path(const char *dir, const char *host)
{
    return g_strdup_printf("%s/%s.qmp", dir, host);
}

char *clu_dir_gdb_path(const char *dir, const char *host)
{
    return g_strdup_printf("%s/%s.gdb", dir, host);
}

char *clu_dir_log_path(const char *dir, const char *host)
{
    return g_strdup_printf("%s/%s.log", dir, host);
}

/* Makes a directory, or checks that the existing one is private to this user.
 */
static bool make_private(const char *path, GError **error)
{
    struct stat status;

    if (mkdir(path, 0700) < 0 && errno != EEXIST) {
        return fail(error, path, "cannot make this directory");
    }
    if (lstat(path, &status) < 0) {
        return fail(error, path, "cannot read its status");
    }
    if (!S_ISDIR(status.st_mode) || status.st_uid != getuid() ||
        (status.st_mode & 077) != 0) {
        g_set_error(error, CLU_ERROR, CLU_ERROR_FAILED,
                    "%s is not a directory that only its user may enter; "
                    "remove it, or set XDG_RUNTIME_DIR",
                    path);
        return false;
    }
    return true;
}

/* Removes all files in the directory @fd, including those of other programs;
 * takes over @fd. The lock file goes last: once it is gone, a new cluster of
 * that name can start. */
static void remove_all(int fd, bool with_lock)
{
    DIR *dir = fdopendir(fd);
    const struct dirent *entry;

    while (dir && (entry = readdir(dir))) {
        const char *name = entry->d_name;

        if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 ||
            strcmp(name, LOCK_NAME) == 0) {
            continue;
        }
        if (unlinkat(fd, name, 0) < 0 && errno == EISDIR) {
            int sub = openat(fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);

            if (sub >= 0) {
                remove_all(sub, true);
            }
            unlinkat(fd, name, AT_REMOVEDIR);
        }
    }
    if (with_lock) {
        unlinkat(fd, LOCK_NAME, 0);
    }
    if (dir) {
        closedir(dir);
    }
}

/* A lock of the open file description: all processes that inherit the
 * descriptor hold it. F_OFD_GETLK can query it without taking it, which flock()
 * cannot do. */
static const struct flock whole_file = {.l_type = F_WRLCK,
                                        .l_whence = SEEK_SET};

static bool is_answering(const char *dir)
{
    g_autofree char *path = g_build_filename(dir, CLU_DIR_CONTROL, NULL);
    int fd = farside_socket_connect(path, SOCK_STREAM);

    if (fd >= 0) {
        close(fd);
    }
    return fd >= 0;
}

/* Returns 1 if the directory is locked now, 0 if the caller should try again
 * because the directory is being removed, and -1 on failure. */
static int try_lock(CluDir *dir, const char *base, const char *name,
                    GError **error)
{
    g_autofree char *path = g_build_filename(dir->path, LOCK_NAME, NULL);
    struct flock lock = whole_file;
    struct stat here, there;

    if (!make_private(dir->path, error)) {
        return access(base, F_OK) < 0 ? 0 : -1;
    }
    dir->lock = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (dir->lock < 0) {
        if (errno == ENOENT) {
            return 0;
        }
        fail(error, path, "cannot open it");
        return -1;
    }
    if (fcntl(dir->lock, F_OFD_SETLK, &lock) < 0) {
        if (errno == EAGAIN || errno == EACCES) {
            if (!is_answering(dir->path)) {
                close(dir->lock);
                dir->lock = -1;
                g_usleep(POLL_US);
            }
            g_set_error(error, CLU_ERROR, CLU_ERROR_FAILED,
                        "there is a cluster called '%s' already; give another "
                        "name with --name, or end it: farside cluster down "
                        "-c %s",
                        name, name);
        } else {
            fail(error, path, "cannot lock it");
        }
        return dir->lock < 0 ? 0 : -1;
    }
    if (fstat(dir->lock, &here) < 0 || stat(path, &there) < 0 ||
        here.st_dev != there.st_dev || here.st_ino != there.st_ino) {
        close(dir->lock);
        dir->lock = -1;
        return 0;
    }
    return 1;
}

CluDir *clu_dir_new(const char *name, GError **error)
{
    g_autoptr(CluDir) dir = g_new0(CluDir, 1);
    g_autofree char *base = base_path();
    int fd;
    int i;

    dir->lock = -1;
    if (!clu_dir_is_name(name)) {
        g_set_error(error, CLU_ERROR, CLU_ERROR_USAGE,
                    "'%s' cannot be the name of a cluster; write up to %d "
                    "letters, digits, - and _, with a letter or digit first",
                    name, NAME_MAX_BYTES);
        return NULL;
    }
    dir->path = g_build_filename(base, name, NULL);
    for (i = 0; i < TRIES; i++) {
        int result;

        g_clear_error(error);
        if (!make_private(base, error)) {
            return NULL;
        }
        result = try_lock(dir, base, name, error);
        if (result < 0) {
            return NULL;
        }
        if (result > 0) {
            break;
        }
    }
    if (i == TRIES) {
        if (error && !*error) {
            fail(error, dir->path,
                 "another process removes it again and again");
        }
        return NULL;
    }
    /* A dead cluster of the same name may have left files. */
    fd = open(dir->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) {
        fail(error, dir->path, "cannot open it");
        return NULL;
    }
    remove_all(fd, false);
    return g_steal_pointer(&dir);
}

void clu_dir_free(CluDir *dir)
{
    if (dir) {
        if (dir->lock >= 0) {
            close(dir->lock);
        }
        g_free(dir->path);
        g_free(dir);
    }
}

const char *clu_dir_path(const CluDir *dir)
{
    return dir->path;
}

int clu_dir_lock(const CluDir *dir)
{
    return dir->lock;
}

/* The keeper process. It ignores signals and needs little memory, so that it
 * outlives the other processes of the cluster. */
static void keeper_run(const CluDir *dir, int alive, int fd)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE};
    const int kept[] = {alive, fd, dir->lock};
    g_autofree char *base = g_path_get_dirname(dir->path);
    char byte;
    unsigned i;

    for (i = 0; i < G_N_ELEMENTS(signals); i++) {
        signal(signals[i], SIG_IGN);
    }
    setsid();
    if (chdir("/") < 0) {
        /* Harmless: the keeper only keeps a file system busy. */
    }
    clu_fork_close(0, kept, G_N_ELEMENTS(kept));
    while (read(alive, &byte, 1) < 0 && errno == EINTR) {
    }
    remove_all(fd, true);
    rmdir(dir->path);
    rmdir(base); /* fails if there are other clusters */
    clu_fork_end(0);
}

bool clu_dir_keep(const CluDir *dir, int *ret_alive, GError **error)
{
    int fd = open(dir->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int alive[2];
    pid_t pid;

    if (fd < 0 || pipe2(alive, O_CLOEXEC) < 0) {
        return fail(error, dir->path, "cannot watch this directory");
    }
    /* No process of the cluster must wait for the keeper. */
    pid = clu_fork(CLU_FORK_ORPHAN);
    if (pid < 0) {
        close(alive[0]);
        close(alive[1]);
        close(fd);
        return fail(error, dir->path, "cannot start a process");
    }
    if (pid == 0) {
        keeper_run(dir, alive[0], fd);
    }
    close(alive[0]);
    close(fd);
    *ret_alive = alive[1];
    return true;
}

char *clu_dir_description(const char *dir)
{
    g_autofree char *path = g_build_filename(dir, CLU_DIR_FILE, NULL);
    char *text = NULL;

    g_file_get_contents(path, &text, NULL, NULL);
    return text;
}

/* True if a process of the cluster in @path is alive. */
static bool is_locked(const char *path)
{
    g_autofree char *name = g_build_filename(path, LOCK_NAME, NULL);
    int fd = open(name, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
    struct flock lock = whole_file;
    bool is_busy;

    if (fd < 0) {
        return false;
    }
    is_busy = fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
    close(fd);
    return is_busy;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

char **clu_dir_list(void)
{
    g_autofree char *base = base_path();
    GPtrArray *names = g_ptr_array_new();
    GDir *dir = g_dir_open(base, 0, NULL);
    const char *name;

    while (dir && (name = g_dir_read_name(dir))) {
        g_autofree char *path = g_build_filename(base, name, NULL);

        if (clu_dir_is_name(name) && is_locked(path)) {
            g_ptr_array_add(names, g_strdup(name));
        }
    }
    if (dir) {
        g_dir_close(dir);
    }
    g_ptr_array_sort(names, compare_names);
    g_ptr_array_add(names, NULL);
    return (char **)g_ptr_array_free(names, FALSE);
}

bool clu_dir_wait_gone(const char *path, unsigned timeout_ms)
{
    int64_t end = g_get_monotonic_time() + (int64_t)timeout_ms * 1000;

    while (is_locked(path)) {
        if (g_get_monotonic_time() >= end) {
            return false;
        }
        g_usleep(POLL_US);
    }
    return true;
}

/* True if a descriptor in the folder @path, of a process, is that of @file. */
static bool has_open(const char *path, const struct stat *file)
{
    GDir *dir = g_dir_open(path, 0, NULL);
    const char *name;
    bool found = false;

    while (dir && !found && (name = g_dir_read_name(dir))) {
        g_autofree char *fd = g_build_filename(path, name, NULL);
        struct stat st;

        found = stat(fd, &st) == 0 && st.st_dev == file->st_dev &&
                st.st_ino == file->st_ino;
    }
    if (dir) {
        g_dir_close(dir);
    }
    return found;
}

void clu_dir_continue(const char *path)
{
    g_autofree char *lock = g_build_filename(path, LOCK_NAME, NULL);
    GDir *dir = g_dir_open("/proc", 0, NULL);
    const char *name;
    struct stat st;
    bool is_there = stat(lock, &st) == 0;

    while (dir && is_there && (name = g_dir_read_name(dir))) {
        g_autofree char *fds = g_build_filename("/proc", name, "fd", NULL);
        int64_t pid = g_ascii_strtoll(name, NULL, 10);

        if (pid > 1 && has_open(fds, &st)) {
            kill((pid_t)pid, SIGCONT);
        }
    }
    if (dir) {
        g_dir_close(dir);
    }
}

char *clu_dir_choose(const char *word, GError **error)
{
    g_auto(GStrv) names = clu_dir_list();
    g_autofree char *all = g_strjoinv(", ", names);
    g_autofree char *real = NULL;

    if (!word) {
        if (g_strv_length(names) == 1) {
            return clu_dir_find(names[0]);
        }
        g_set_error(error, CLU_ERROR, CLU_ERROR_USAGE,
                    names[0] ? "several clusters run (%s); choose one with -c"
                             : "no cluster runs%s; start one: farside cluster "
                               "up FILE",
                    all);
        return NULL;
    }
    if (g_strv_contains((const char *const *)names, word)) {
        return clu_dir_find(word);
    }
    real = realpath(word, NULL);
    for (char **name = names; real && *name; name++) {
        g_autofree char *dir = clu_dir_find(*name);
        g_autofree char *file = clu_dir_description(dir);

        if (file && strcmp(file, real) == 0) {
            return g_steal_pointer(&dir);
        }
    }
    g_set_error(error, CLU_ERROR, CLU_ERROR_USAGE,
                "there is no cluster '%s'; %s%s", word,
                names[0] ? "there are " : "none runs", all);
    return NULL;
}
