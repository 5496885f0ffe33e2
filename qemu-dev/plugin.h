/* SPDX-License-Identifier: GPL-2.0-or-later */
/* QEMU's interface of plugins, whose header moved in QEMU 11.0 */
#ifndef PLUGIN_H
#define PLUGIN_H

#define FARSIDE_HAS(header) __has_include(header)

#if FARSIDE_HAS("plugins/qemu-plugin.h")
#include "plugins/qemu-plugin.h"
#else
#include "qemu/qemu-plugin.h"
#endif

#endif /* PLUGIN_H */
