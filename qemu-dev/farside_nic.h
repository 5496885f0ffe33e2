/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef FARSIDE_NIC_H
#define FARSIDE_NIC_H

void farside_nic_register_types(void);

#endif /* FARSIDE_NIC_H */
