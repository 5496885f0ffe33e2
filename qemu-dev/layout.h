/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef LAYOUT_H
#define LAYOUT_H

#include <stdbool.h>

/*
 * False, with a message, if the headers that the module was compiled with are
 * not those of the QEMU that runs. The plugin finds it by its name, and calls
 * it before anything else of the module.
 */
bool farside_module_check(void);

#endif /* LAYOUT_H */
