/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The NTB that Linux's endpoint function pci-epf-ntb makes of a SoC with two
 * endpoint controllers, as the hosts at both of them see it.
 * docs/reference/epf.md is its specification.
 */
#ifndef FARSIDE_EPF_H
#define FARSIDE_EPF_H

/* The plugin calls this. In a QEMU tree, type_init() does. */
void farside_epf_register_types(void);

#endif /* FARSIDE_EPF_H */
