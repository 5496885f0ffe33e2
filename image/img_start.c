/* SPDX-License-Identifier: MIT */
#include "img_start.h"

#include <string.h>
#include <sys/un.h>

#include "clu_accel.h"
#include "clu_dir.h"
#include "clu_error.h"
#include "clu_plan_switches.h"
#include "clu_share.h"
#include "clu_supervisor.h"
#include "clu_timed_check.h"
#include "clu_timed_requests.h"

/* Chooses KVM or TCG for each host. */
static bool choose_accel(const CluPlan *plan, bool is_timed, bool *is_kvm,
                         TopoErrors *errors)
{
    const char *reason;
    bool has_kvm = clu_accel_has_kvm(&reason);
    unsigned before = topo_errors_count(errors);

    for (unsigned i = 0; i < plan->hosts->len; i++) {
        const CluPlanHost *host = plan->hosts->pdata[i];
        TopoAccel accel = host->host->vm->accel;

        is_kvm[i] = has_kvm && !is_timed && accel != TOPO_ACCEL_TCG;
        if (accel == TOPO_ACCEL_KVM && !has_kvm) {
            topo_errors_add(errors, host->host->vm->place,
                            "host '%s' asks for KVM, but %s; write accel: auto",
                            host->host->name, reason);
        }
    }
    return topo_errors_count(errors) == before;
}

/*
 * With two CPUs, one of six such hosts ended in a panic or hung while its
 * machine booted (QEMU 7.2, which emulates SVM); none of nineteen did with one.
 */
static void warn_of_inner(const CluPlan *plan, const bool *is_kvm,
                          const ImgNotes *notes)
{
    for (unsigned i = 0; i < plan->hosts->len; i++) {
        const CluPlanHost *host = plan->hosts->pdata[i];
        const TopoVm *vm = host->host->vm;
        g_autofree char *place = topo_place_to_string(vm->place);

        if (!is_kvm[i] && vm->cpus > 1 && vm->runs_inner) {
            img_tell(notes,
                     "%s: warning: without KVM a host that has virtual "
                     "machines of its own and more than one CPU may crash; "
                     "write cpus: 1",
                     place);
        }
    }
}

static void warn_of_shares(const CluPlan *plan, const ImgNotes *notes)
{
    for (unsigned i = 0; i < plan->hosts->len; i++) {
        const CluPlanHost *host = plan->hosts->pdata[i];
        const TopoVm *vm = host->host->vm;

        if (vm->share && !clu_share_has_attributes(vm->share)) {
            g_autofree char *place = topo_place_to_string(vm->share_place);

            img_tell(notes,
                     "%s: warning: files in %s cannot have extended "
                     "attributes, so QEMU makes folders .virtfs_metadata "
                     "there, with the modes and owners that the guest gives to "
                     "its files",
                     place, vm->share);
        }
    }
}

/* Checks that the paths of all sockets fit into a sockaddr_un. */
static bool check_paths(const CluPlan *plan, const char *dir, GError **error)
{
    size_t most = sizeof(((struct sockaddr_un *)NULL)->sun_path) - 1;
    g_autoptr(GPtrArray) paths = g_ptr_array_new_with_free_func(g_free);

    g_ptr_array_add(paths, g_build_filename(dir, CLU_DIR_CONTROL, NULL));
    for (unsigned i = 0; i < plan->links->len; i++) {
        const CluPlanLink *link = plan->links->pdata[i];

        g_ptr_array_add(paths, clu_dir_link_path(dir, link->link->name));
    }
    for (unsigned i = 0; i < plan->regions->len; i++) {
        const CluPlanRegion *region = plan->regions->pdata[i];

        g_ptr_array_add(paths, clu_dir_region_path(dir, region->name));
    }
    for (unsigned i = 0; i < plan->hosts->len; i++) {
        const CluPlanHost *host = plan->hosts->pdata[i];

        g_ptr_array_add(paths, clu_dir_qmp_path(dir, host->host->name));
        g_ptr_array_add(paths, clu_dir_gdb_path(dir, host->host->name));
    }
    for (unsigned i = 0; i < paths->len; i++) {
        const char *path = paths->pdata[i];

        if (strlen(path) > most) {
            g_set_error(error, CLU_ERROR, CLU_ERROR_USAGE,
                        "%s is too long for a socket by %zu bytes; give a "
                        "shorter --name, or set XDG_RUNTIME_DIR to a shorter "
                        "path",
                        path, strlen(path) - most);
            return false;
        }
    }
    return true;
}

/* Starts the supervisor with @files. Returns its connection; -1 and @errors or
 * @error if that fails. */
static int start_supervisor(const CluPlan *plan, const char *name,
                            CluClusterSetup *setup, const ImgStart *start,
                            const ImgFiles *files, TopoErrors *errors,
                            GError **error)
{
    g_autofree CluPaths *paths = g_new0(CluPaths, plan->hosts->len);
    g_autofree char *path = clu_dir_find(name);
    g_autoptr(CluDir) dir = NULL;
    g_autoptr(CluTimed) timed = NULL;

    for (unsigned i = 0; i < plan->hosts->len; i++) {
        paths[i] = (CluPaths){.qemu = files[i].qemu,
                              .plugin = files[i].plugin,
                              .kernel = files[i].kernel,
                              .initrd = files[i].initrd,
                              .dir = path};
    }
    if (start->timed) {
        timed =
            img_timed(plan, paths, start->timed, start->notes, errors, error);
        if (!timed) {
            return -1;
        }
    }
    /* If a signal ended this process before the keeper of the directory runs,
     * files would be left behind. */
    clu_client_hold_signals();
    dir = clu_dir_new(name, error);
    if (!dir) {
        return -1;
    }
    setup->plan = plan;
    setup->dir = dir;
    setup->paths = paths;
    setup->pace = timed ? clu_timed_pace(timed) : clu_pace_free();
    return clu_supervisor_start(setup, error);
}

CluClient *img_start(const CluPlan *plan, const char *name,
                     const ImgStart *start, TopoErrors *errors, GError **error)
{
    g_autofree bool *is_kvm = g_new0(bool, plan->hosts->len);
    g_autofree char *path = clu_dir_find(name);
    CluClusterSetup setup = {.is_kvm = is_kvm,
                             .requests = clu_timed_requests,
                             .boot_ms = start->boot_ms,
                             .silence_ms = start->silence_ms};
    ImgFiles *files;
    int fd = -1;

    if (!choose_accel(plan, start->timed, is_kvm, errors) ||
        !check_paths(plan, path, error)) {
        return NULL;
    }
    warn_of_inner(plan, is_kvm, start->notes);
    warn_of_shares(plan, start->notes);
    clu_plan_tell_gaps(plan, start->notes->tell, start->notes->owner);
    if (start->timed) {
        clu_timed_tell_gaps(plan, start->notes->tell, start->notes->owner);
    }
    files = img_find(plan, start->notes, errors, error);
    if (files) {
        fd = start_supervisor(plan, name, &setup, start, files, errors, error);
    }
    img_files_free(files, plan->hosts->len);
    return fd < 0 ? NULL : clu_client_new(fd);
}
