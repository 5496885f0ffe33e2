/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef FARSIDE_NTB_H
#define FARSIDE_NTB_H

/* The plugin calls this. In a QEMU tree, type_init() does. */
void farside_ntb_register_types(void);

#endif /* FARSIDE_NTB_H */
