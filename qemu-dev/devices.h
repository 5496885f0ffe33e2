/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef DEVICES_H
#define DEVICES_H

/* Registers the types of all devices. The plugin finds it by its name. */
void farside_devices_register(void);

#endif /* DEVICES_H */
