/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The models of IDT's switches, and which of their ports have a host. */
#ifndef FARSIDE_IDT_MODEL_H
#define FARSIDE_IDT_MODEL_H

#include "qemu/osdep.h"
#include "farside_config.h"

typedef struct IdtModel {
    const char *name; /* in capital letters and digits */
    uint16_t device_id;
    uint8_t port_count;
    uint8_t port[FARSIDE_NTB_HOSTS_MAX];
} IdtModel;

/* NULL, and sets @errp, if there is no model @name, in any case of letters. */
const IdtModel *idt_model_find(const char *name, Error **errp);
/* The number of a model, which is 1 or more */
uint8_t idt_model_number(const IdtModel *model);
/*
 * The ports of @hosts hosts, in their order, by the text @ports, such as
 * "0,2,4", or the first of the model if it is NULL. Returns false, and sets
 * @errp, if it is no such list.
 */
bool idt_model_ports(const IdtModel *model, const char *ports, unsigned hosts,
                     uint8_t *ret_port, Error **errp);
/* Bit n is set if @port has port n of the model's list. */
uint8_t idt_model_mask(const IdtModel *model, const uint8_t *port,
                       unsigned hosts);

#endif /* FARSIDE_IDT_MODEL_H */
