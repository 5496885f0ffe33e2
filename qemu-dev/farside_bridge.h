/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef FARSIDE_BRIDGE_H
#define FARSIDE_BRIDGE_H

void farside_bridge_register_types(void);

#endif /* FARSIDE_BRIDGE_H */
