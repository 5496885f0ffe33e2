/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "farside_idt_model.h"

/* The ports that can be NTBs, as in Linux's ntb_hw_idt.c */
static const IdtModel models[] = {
    {
        .name = "89HPES24NT6AG2",
        .device_id = 0x8091,
        .port_count = 6,
        .port = {0, 2, 4, 6, 8, 12},
    },
    {
        .name = "89HPES32NT8AG2",
        .device_id = 0x808f,
        .port_count = 8,
        .port = {0, 2, 4, 6, 8, 12, 16, 20},
    },
    {
        .name = "89HPES32NT8BG2",
        .device_id = 0x8088,
        .port_count = 8,
        .port = {0, 2, 4, 6, 8, 12, 16, 20},
    },
    {
        .name = "89HPES12NT12G2",
        .device_id = 0x8092,
        .port_count = 3,
        .port = {0, 8, 16},
    },
    {
        .name = "89HPES16NT16G2",
        .device_id = 0x8090,
        .port_count = 4,
        .port = {0, 8, 12, 16},
    },
    {
        .name = "89HPES24NT24G2",
        .device_id = 0x808e,
        .port_count = 8,
        .port = {0, 2, 4, 6, 8, 12, 16, 20},
    },
    {
        .name = "89HPES32NT24AG2",
        .device_id = 0x808c,
        .port_count = 8,
        .port = {0, 2, 4, 6, 8, 12, 16, 20},
    },
    {
        .name = "89HPES32NT24BG2",
        .device_id = 0x808a,
        .port_count = 8,
        .port = {0, 2, 4, 6, 8, 12, 16, 20},
    },
};

const IdtModel *idt_model_find(const char *name, Error **errp)
{
    unsigned i;

    for (i = 0; i < ARRAY_SIZE(models); i++) {
        if (g_ascii_strcasecmp(models[i].name, name) == 0) {
            return &models[i];
        }
    }
    error_setg(errp, "property 'model' must be the name of a switch, such as "
                     "89hpes32nt24ag2");
    return NULL;
}

uint8_t idt_model_number(const IdtModel *model)
{
    return 1 + (model - models);
}

static int place_of(const IdtModel *model, uint64_t port)
{
    int i;

    for (i = 0; i < model->port_count; i++) {
        if (model->port[i] == port) {
            return i;
        }
    }
    return -1;
}

bool idt_model_ports(const IdtModel *model, const char *ports, unsigned hosts,
                     uint8_t *ret_port, Error **errp)
{
    g_auto(GStrv) words = g_strsplit(ports ? ports : "", ",", -1);
    int place, last = -1;
    guint64 port;
    unsigned i;

    if (hosts > model->port_count) {
        error_setg(errp, "property 'hosts' must be at most %u: that many ports "
                         "of a %s can be NTBs",
                   model->port_count, model->name);
        return false;
    }
    for (i = 0; i < hosts; i++) {
        ret_port[i] = model->port[i];
    }
    if (!ports) {
        return true;
    }
    for (i = 0; words[i] && i < hosts; i++) {
        if (!g_ascii_string_to_unsigned(words[i], 10, 0, UINT8_MAX, &port,
                                        NULL)) {
            break;
        }
        place = place_of(model, port);
        if (place <= last) {
            break;
        }
        ret_port[i] = port;
        last = place;
    }
    if (i < hosts || words[i]) {
        error_setg(errp, "property 'ports' must have the port of each host, "
                         "in rising order, of those that can be NTBs, such as "
                         "%u,%u",
                   model->port[0], model->port[1]);
        return false;
    }
    return true;
}

uint8_t idt_model_mask(const IdtModel *model, const uint8_t *port,
                       unsigned hosts)
{
    uint8_t mask = 0;
    unsigned i;

    for (i = 0; i < hosts; i++) {
        mask |= 1u << place_of(model, port[i]);
    }
    return mask;
}
