/* SPDX-License-Identifier: MIT */
#ifndef CLU_ACCEL_H
#define CLU_ACCEL_H

#include <stdbool.h>

/*
 * Whether KVM works here: /dev/kvm opens, is of the stable version, makes a
 * virtual machine, and the processor says that it has the extensions for it.
 * A machine that is virtual itself may have the first three and not the last,
 * and then a guest hangs. If not, *ret_reason says why; static.
 */
bool clu_accel_has_kvm(const char **ret_reason);

#endif
