/* SPDX-License-Identifier: MIT */
#ifndef CLU_ACCEL_H
#define CLU_ACCEL_H

#include <stdbool.h>

/*
 * True if KVM works on this machine: /dev/kvm opens, has the stable interface
 * and makes a virtual machine, and the CPU has VT-x or AMD-V. The CPU is
 * checked because this machine may itself be a virtual one that has a working
 * /dev/kvm but no such extension: guests hang there. If KVM does not work,
 * *ret_reason is set to the reason, a static string.
 */
bool clu_accel_has_kvm(const char **ret_reason);

#endif
