/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "qemu/osdep.h"
#include "farside_completer.h"
#include "farside_ntb.h"
#include "farside_session.h"

struct FarsideSession {
    const FarsideConfig *config;
    PCIDevice *pci;
    const FarsideParts *parts;
    unsigned index; /* of the peer */
    const FarsideFar *far;
    FarsideLink *link;
    FarsideLinkOps ops;
    FarsideLinkType types[FARSIDE_WIRE_TYPES];
};

static void link_event(FarsideSession *s)
{
    FarsideChip *chip = s->parts->chip;

    chip->class->link_event(chip, s->index);
}

/* The peer was reset, or has come or gone: neither has windows to the other. */
static void forget_windows(FarsideSession *s)
{
    FarsideChip *chip = s->parts->chip;

    farside_reach_clear(s->far->reach);
    chip->class->peer_reset(chip, s->index);
}

static void update_link(FarsideSession *s)
{
    if (farside_peer_update(s->far->peer)) {
        farside_windows_update(s->parts->windows);
        if (!farside_peer_link_is_up(s->far->peer)) {
            farside_requester_link_down(s->far->requester);
        }
        link_event(s);
    }
}

/* Messages of the peer */

static bool on_ram(void *opaque, const FarsideLinkMessage *m)
{
    FarsideSession *s = opaque;

    return farside_windows_on_ram(s->parts->windows, s->index, m);
}

static bool on_notices(void *opaque, const FarsideLinkMessage *m)
{
    FarsideSession *s = opaque;

    return farside_windows_on_notices(s->parts->windows, s->index, m);
}

static bool on_noted(void *opaque, const FarsideLinkMessage *m)
{
    FarsideSession *s = opaque;

    farside_memory_on_noted(s->far->memory, m->body);
    return true;
}

static bool on_link(void *opaque, const FarsideLinkMessage *m)
{
    const struct farside_wire_link *link = m->body;
    FarsideSession *s = opaque;

    farside_peer_set_enabled(s->far->peer, link->up == 1);
    update_link(s);
    return true;
}

static bool on_reset(void *opaque, const FarsideLinkMessage *m)
{
    FarsideSession *s = opaque;

    forget_windows(s);
    farside_windows_peer_reset(s->parts->windows, s->index);
    link_event(s);
    return true;
}

static bool on_windows(void *opaque, const FarsideLinkMessage *m)
{
    FarsideSession *s = opaque;

    return farside_reach_on_windows(s->far->reach, m);
}

static bool on_request(void *opaque, const FarsideLinkMessage *m)
{
    FarsideSession *s = opaque;

    farside_recorder_arrival(s->far->recorder, m->type, m->body);
    return farside_completer_on_request(s->far->completer, m);
}

static bool on_completion(void *opaque, const FarsideLinkMessage *m)
{
    const struct farside_wire_completion *completion = m->body;
    FarsideSession *s = opaque;

    if (!farside_requester_awaits_register(s->far->requester,
                                           completion->tag)) {
        farside_recorder_arrival(s->far->recorder, m->type, m->body);
    }
    return farside_requester_on_completion(s->far->requester, m);
}

/* A message of the chip */
static bool on_chip(void *opaque, const FarsideLinkMessage *m)
{
    FarsideSession *s = opaque;
    FarsideChip *chip = s->parts->chip;
    const FarsideChipClass *class = chip->class;

    return class->types[m->type - class->type_first].receive(chip, m);
}

#define EXACTLY(type) \
    .size_min = sizeof(struct type), .size_max = sizeof(struct type)

static const FarsideLinkType types[FARSIDE_WIRE_TYPES] = {
    [FARSIDE_WIRE_RAM] = {
        EXACTLY(farside_wire_ram),
        .files_max = FARSIDE_WIRE_FDS,
        .receive = on_ram,
    },
    [FARSIDE_WIRE_LINK] = {
        EXACTLY(farside_wire_link),
        .receive = on_link,
    },
    [FARSIDE_WIRE_RESET] = {
        .receive = on_reset,
    },
    [FARSIDE_WIRE_DOORBELL] = {
        EXACTLY(farside_wire_doorbell),
        .receive = on_request,
    },
    [FARSIDE_WIRE_MESSAGE] = {
        EXACTLY(farside_wire_message),
        .receive = on_request,
    },
    [FARSIDE_WIRE_READ] = {
        EXACTLY(farside_wire_read),
        .receive = on_request,
    },
    [FARSIDE_WIRE_WRITE] = {
        .size_min = sizeof(struct farside_wire_write) + 1,
        .size_max = sizeof(struct farside_wire_write) + FARSIDE_WIRE_PAYLOAD,
        .receive = on_request,
    },
    [FARSIDE_WIRE_COMPLETION] = {
        .size_min = sizeof(struct farside_wire_completion),
        .size_max = sizeof(struct farside_wire_completion) +
                    FARSIDE_WIRE_PAYLOAD,
        .receive = on_completion,
    },
    [FARSIDE_WIRE_WINDOWS] = {
        .size_min = sizeof(struct farside_wire_windows),
        .size_max = sizeof(struct farside_wire_windows) +
                    FARSIDE_WIRE_WINDOWS_PART *
                        sizeof(struct farside_wire_window),
        .receive = on_windows,
    },
    [FARSIDE_WIRE_NOTICES] = {
        .size_min = sizeof(struct farside_wire_notices) +
                    sizeof(struct farside_wire_notice),
        .size_max = sizeof(struct farside_wire_notices) +
                    FARSIDE_WIRE_NOTICES_MAX *
                        sizeof(struct farside_wire_notice),
        .receive = on_notices,
    },
    [FARSIDE_WIRE_NOTED] = {
        EXACTLY(farside_wire_noted),
        .receive = on_noted,
    },
};

/* The link */

static void link_introduce(void *opaque, struct farside_wire_hello *ret_hello)
{
    FarsideSession *s = opaque;

    FarsideChip *chip = s->parts->chip;

    *ret_hello = (struct farside_wire_hello) {
        .partition = s->config->partition,
        .hosts = s->config->hosts,
        .chip = chip->class->number,
        .generation = chip->class->generation,
        .link_up = s->config->peer[s->index].enabled,
        .requester_id = pci_requester_id(s->pci),
        .bar_size = {s->config->bar_size[0], s->config->bar_size[1]},
    };
    if (chip->class->introduce) {
        chip->class->introduce(chip, ret_hello);
    }
}

static const char *link_check(void *opaque,
                              const struct farside_wire_hello *hello)
{
    FarsideSession *s = opaque;
    FarsideChip *chip = s->parts->chip;
    unsigned i;

    if (hello->chip != chip->class->number) {
        return "the devices at both ends are not of the same chip";
    }
    if (hello->hosts != s->config->hosts) {
        return "property 'hosts' is not the same at both ends";
    }
    if (hello->partition != s->config->peer[s->index].host) {
        return "property 'partition' of the peer is not that of the host at "
               "the other end of this link";
    }
    for (i = 0; i < FARSIDE_NTB_WINDOWS; i++) {
        if (hello->bar_size[i] != s->config->bar_size[i]) {
            return "properties 'bar2-size' and 'bar4-size' are not the same "
                   "at both ends";
        }
    }
    if (chip->class->generation &&
        hello->generation != chip->class->generation) {
        return "the NTBs at both ends are of different generations";
    }
    return chip->class->check_peer
               ? chip->class->check_peer(chip, s->index, hello)
               : NULL;
}

static void link_established(void *opaque,
                             const struct farside_wire_hello *hello)
{
    FarsideSession *s = opaque;

    farside_peer_appear(s->far->peer, hello);
    forget_windows(s);
    farside_memory_announce(s->far->memory);
    update_link(s);
}

static void link_closed(void *opaque)
{
    FarsideSession *s = opaque;

    farside_peer_vanish(s->far->peer);
    farside_completer_peer_gone(s->far->completer);
    farside_requester_peer_gone(s->far->requester);
    farside_wait_forget(s->far->wait);
    farside_peer_update(s->far->peer);
    forget_windows(s);
    farside_windows_forget_ram(s->parts->windows, s->index);
    link_event(s);
}

static AddressSpace *link_bus(void *opaque)
{
    FarsideSession *s = opaque;

    return pci_get_address_space(s->pci);
}

static void link_heard(void *opaque)
{
    FarsideSession *s = opaque;

    farside_wait_heard(s->far->wait);
}

static void link_drained(void *opaque)
{
    FarsideSession *s = opaque;

    farside_wait_heard(s->far->wait);
    farside_peer_drained(s->far->peer);
}

static const FarsideLinkOps link_ops = {
    .bus = link_bus,
    .introduce = link_introduce,
    .check = link_check,
    .established = link_established,
    .closed = link_closed,
    .heard = link_heard,
    .drained = link_drained,
};

void farside_session_enabled_changed(FarsideSession *s)
{
    struct farside_wire_link m = {.up = s->config->peer[s->index].enabled};

    farside_peer_send(s->far->peer, FARSIDE_WIRE_LINK, &m, sizeof(m));
    update_link(s);
}

void farside_session_cut_changed(FarsideSession *s)
{
    update_link(s);
    farside_peer_activity(s->far->peer);
}

FarsideSession *farside_session_new(const FarsideConfig *config, unsigned peer,
                                    PCIDevice *pci, const FarsideParts *parts,
                                    Error **errp)
{
    FarsideSession *s = g_new0(FarsideSession, 1);
    const FarsideChipClass *chip = parts->chip->class;
    unsigned i;

    s->config = config;
    s->pci = pci;
    s->parts = parts;
    s->index = peer;
    s->far = &parts->far[peer];
    memcpy(s->types, types, sizeof(types));
    for (i = 0; i < chip->type_count; i++) {
        s->types[chip->type_first + i] = chip->types[i];
        s->types[chip->type_first + i].receive = on_chip;
    }
    s->ops = link_ops;
    s->ops.name = object_get_typename(OBJECT(pci));
    s->ops.types = s->types;
    s->ops.type_count = ARRAY_SIZE(s->types);
    s->link = farside_link_new(config->peer[peer].link_path,
                               config->peer[peer].listens, &s->ops, s, errp);
    if (!s->link) {
        g_free(s);
        return NULL;
    }
    farside_peer_set_link(s->far->peer, s->link);
    return s;
}

void farside_session_stop(FarsideSession *s)
{
    farside_link_stop(s->link);
}

void farside_session_free(FarsideSession *s)
{
    if (s) {
        farside_link_free(s->link);
        g_free(s);
    }
}
