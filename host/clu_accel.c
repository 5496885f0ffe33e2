/* SPDX-License-Identifier: MIT */
#include "clu_accel.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include <linux/kvm.h>
#include <sys/ioctl.h>

#include <glib.h>

/* True if /proc/cpuinfo lists the flag of VT-x or AMD-V. */
static bool has_extensions(void)
{
    g_autofree char *text = NULL;
    g_auto(GStrv) lines = NULL;

    if (!g_file_get_contents("/proc/cpuinfo", &text, NULL, NULL)) {
        return false;
    }
    lines = g_strsplit(text, "\n", -1);
    for (char **line = lines; *line; line++) {
        g_auto(GStrv) words = NULL;

        if (g_str_has_prefix(*line, "flags")) {
            words = g_strsplit(*line, " ", -1);
            return g_strv_contains((const char *const *)words, "vmx") ||
                   g_strv_contains((const char *const *)words, "svm");
        }
    }
    return false;
}

bool clu_accel_has_kvm(const char **ret_reason)
{
    int kvm = open("/dev/kvm", O_RDWR | O_CLOEXEC);
    int vm = -1;

    *ret_reason = NULL;
    if (kvm < 0) {
        *ret_reason = "/dev/kvm does not exist, or this user may not open it";
    } else if (ioctl(kvm, KVM_GET_API_VERSION, 0) != KVM_API_VERSION) {
        *ret_reason = "/dev/kvm has an unknown version of its interface";
    } else if ((vm = ioctl(kvm, KVM_CREATE_VM, 0)) < 0) {
        *ret_reason = "/dev/kvm cannot make a virtual machine";
    } else if (!has_extensions()) {
        *ret_reason = "the processor has neither VT-x nor AMD-V";
    }
    if (vm >= 0) {
        close(vm);
    }
    if (kvm >= 0) {
        close(kvm);
    }
    return !*ret_reason;
}
