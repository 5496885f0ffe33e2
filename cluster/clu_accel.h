/* SPDX-License-Identifier: MIT */
#ifndef CLU_ACCEL_H
#define CLU_ACCEL_H

#include <stdbool.h>

/*
 * Returns whether KVM works here: /dev/kvm opens, has the stable interface and
 * makes a virtual machine, and the CPU has the extensions. A virtual machine
 * may offer all but the extensions, and then a guest hangs. If KVM does not
 * work, *ret_reason says why; static.
 */
bool clu_accel_has_kvm(const char **ret_reason);

#endif
