/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CRASH_H
#define CRASH_H

/*
 * From now on QEMU writes the signal, the address and its call stack to
 * standard error when it crashes. It then ends by the signal as before, with a
 * core file where the system keeps them. A signal that has a handler stays with
 * that.
 */
void farside_crash_tell(void);

#endif /* CRASH_H */
