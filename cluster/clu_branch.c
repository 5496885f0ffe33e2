/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "clu_branch.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "clu_error.h"
#include "clu_faults.h"

/* ---- The plan --------------------------------------------------------- */

/* True if @plan's description reads as it did. */
static bool is_unchanged(const CluPlan *plan)
{
    const TopoDescription *old = plan->description;
    g_autoptr(TopoErrors) errors = topo_errors_new();
    g_autoptr(TopoDescription) now = topo_load(old->file, old->changes, errors);

    return now && strcmp(now->hash, old->hash) == 0;
}

static TopoDescription *load(const CluPlan *plan, char *const *sets,
                             TopoErrors *errors)
{
    const TopoDescription *old = plan->description;
    g_autoptr(GPtrArray) changes = topo_changes_new();

    for (unsigned i = 0; i < old->changes->len; i++) {
        g_ptr_array_add(changes, topo_change_ref(old->changes->pdata[i]));
    }
    for (; *sets; sets++) {
        TopoChange *change = topo_change_parse(*sets, topo_place_set(), errors);

        if (!change) {
            return NULL;
        }
        g_ptr_array_add(changes, change);
        if (!g_str_has_prefix(topo_change_path(change), "faults")) {
            topo_errors_add(errors, topo_change_place(change),
                            "%s is as it was at the checkpoint; only `faults` "
                            "of a branch can be set",
                            topo_change_path(change));
        }
    }
    return topo_load(old->file, changes, errors);
}

CluPlan *clu_branch_plan(const CluPlan *plan, char *const *sets, int64_t now_ns,
                         TopoErrors *errors)
{
    TopoPlace place = {plan->description->file, 0, 0};
    TopoDescription *description;
    CluPlan *branch = NULL;

    if (!is_unchanged(plan)) {
        topo_errors_add(errors, place,
                        "the description, or a part of it, has changed since "
                        "the cluster came up; put it back, or make a new "
                        "cluster and checkpoint");
        return NULL;
    }
    description = load(plan, sets, errors);
    if (description && topo_errors_count(errors) == 0) {
        branch = clu_plan_new(description, errors);
    }
    if (branch) {
        clu_faults_check(branch, errors);
        clu_faults_check_later(branch, now_ns, errors);
    }
    /* The plan and its description live as long as the process. */
    return topo_errors_count(errors) == 0 ? branch : NULL;
}

static void check_host(const CluPlanHost *host, TopoErrors *errors)
{
    const TopoVm *vm = host->host->vm;

    if (vm->gdb || vm->qmp) {
        topo_errors_add(errors, vm->place,
                        "host '%s' has %s, which cannot serve several "
                        "branches; remove it",
                        host->host->name, vm->gdb ? "`gdb`" : "`qmp`");
    }
    for (unsigned i = 0; i < host->devices->len; i++) {
        const CluPlanDevice *device = host->devices->pdata[i];

        if (device->backend == CLU_BACKEND_FILE) {
            topo_errors_add(errors, device->device->vm->image_place,
                            "%s is on your file %s, to which all branches "
                            "would write; give a size in place of the file",
                            device->device->path, device->name);
        }
    }
}

void clu_branch_check(const CluPlan *plan, TopoErrors *errors)
{
    const GPtrArray *faults = plan->description->faults;

    for (unsigned i = 0; i < plan->hosts->len; i++) {
        check_host(plan->hosts->pdata[i], errors);
    }
    if (faults->len > 0) {
        const TopoFault *first = faults->pdata[0];

        topo_errors_add(errors, first->place,
                        "a cluster with a checkpoint has no `faults` of its "
                        "own; remove them, and give them to its branches");
    }
}

/* ---- Processes and files ---------------------------------------------- */

bool clu_branch_answer(int line, TimedControlPacket *packet, int timeout_ms,
                       const char *what, pid_t *ret_pid, GError **error)
{
    const char *reason = packet->text;

    *ret_pid = -1;
    if (timed_control_receive(line, packet, timeout_ms)) {
        if (g_str_has_prefix(packet->text, "ok ")) {
            *ret_pid =
                (pid_t)g_ascii_strtoll(packet->text + strlen("ok "), NULL, 10);
            return true;
        }
        if (g_str_has_prefix(reason, "no ")) {
            reason += strlen("no ");
        }
    } else if (errno == EAGAIN) {
        return true;
    } else {
        reason = errno == EPIPE ? "it has ended" : g_strerror(errno);
    }
    g_set_error(error, CLU_ERROR, CLU_ERROR_FAILED,
                "%s cannot make a branch: %s", what, reason);
    return false;
}

/* Copies the parts of the file that are no holes. */
/*
 * Copies up to @size bytes at @at. Returns their number, or -1 and errno. The
 * kernel copies them if both files are on one file system that can do it.
 */
static ssize_t copy_piece(int from, int to, off_t at, off_t size)
{
    off_t in = at, out = at;
    ssize_t n = copy_file_range(from, &in, to, &out, (size_t)size, 0);
    char bytes[1 << 16];

    if (n >= 0 || (errno != EXDEV && errno != EINVAL && errno != ENOSYS &&
                   errno != EOPNOTSUPP)) {
        return n;
    }
    n = pread(from, bytes, MIN((size_t)size, sizeof(bytes)), at);
    return n > 0 ? pwrite(to, bytes, (size_t)n, at) : n;
}

static bool copy_data(int from, int to, off_t size)
{
    off_t begin = 0, end;

    while (begin < size) {
        begin = lseek(from, begin, SEEK_DATA);
        if (begin < 0) {
            return errno == ENXIO; /* only holes follow */
        }
        end = lseek(from, begin, SEEK_HOLE);
        while (begin < end) {
            ssize_t n = copy_piece(from, to, begin, end - begin);

            if (n <= 0) {
                return false;
            }
            begin += n;
        }
    }
    return true;
}

int clu_branch_copy(int fd, const char *path, GError **error)
{
    /* With a position of its own: others use that of @fd. */
    g_autofree char *same = g_strdup_printf("/proc/self/fd/%d", fd);
    const char *dir = g_getenv("TMPDIR");
    int from = open(same, O_RDONLY | O_CLOEXEC), copy;
    bool is_done = false;
    struct stat st;

    dir = dir && *dir ? dir : "/var/tmp";
    copy = path ? open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600)
                : open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (from >= 0 && copy >= 0 && fstat(from, &st) == 0 &&
        ftruncate(copy, st.st_size) == 0) {
        is_done = copy_data(from, copy, st.st_size);
    }
    if (!is_done) {
        g_set_error(error, CLU_ERROR, CLU_ERROR_FAILED, "cannot copy %s: %s",
                    path ? path : "a disk", g_strerror(errno));
    }
    if (from >= 0) {
        close(from);
    }
    if (copy >= 0 && !is_done) {
        close(copy);
    }
    return is_done ? copy : -1;
}
