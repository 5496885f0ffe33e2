/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "qemu/osdep.h"
#include "farside_session.h"

struct FarsideSession {
    const FarsideConfig *config;
    PCIDevice *pci;
    const FarsideParts *parts;
    FarsideLink *link;
};

static void update_link(FarsideSession *s)
{
    if (farside_peer_update(s->parts->peer)) {
        farside_windows_update(s->parts->windows);
        if (!farside_peer_link_is_up(s->parts->peer)) {
            farside_requester_link_down(s->parts->requester);
        }
        farside_regs_link_event(s->parts->regs);
    }
}

/* Messages of the peer */

static bool on_ram(void *opaque, const FarsideLinkMessage *m)
{
    FarsideSession *s = opaque;

    return farside_windows_on_ram(s->parts->windows, m);
}

static bool on_notices(void *opaque, const FarsideLinkMessage *m)
{
    FarsideSession *s = opaque;

    return farside_windows_on_notices(s->parts->windows, m);
}

static bool on_noted(void *opaque, const FarsideLinkMessage *m)
{
    FarsideSession *s = opaque;

    farside_memory_on_noted(s->parts->memory, m->body);
    return true;
}

static bool on_link(void *opaque, const FarsideLinkMessage *m)
{
    const struct farside_wire_link *link = m->body;
    FarsideSession *s = opaque;

    farside_peer_set_enabled(s->parts->peer, link->up == 1);
    update_link(s);
    return true;
}

static bool on_reset(void *opaque, const FarsideLinkMessage *m)
{
    FarsideSession *s = opaque;

    farside_ctrl_peer_reset(s->parts->ctrl);
    farside_windows_peer_reset(s->parts->windows);
    farside_regs_link_event(s->parts->regs);
    return true;
}

static bool on_lock(void *opaque, const FarsideLinkMessage *m)
{
    FarsideSession *s = opaque;

    farside_ctrl_on_lock(s->parts->ctrl, m->body);
    return true;
}

static bool on_locked(void *opaque, const FarsideLinkMessage *m)
{
    FarsideSession *s = opaque;

    farside_ctrl_on_locked(s->parts->ctrl, m->body);
    return true;
}

static bool on_config(void *opaque, const FarsideLinkMessage *m)
{
    FarsideSession *s = opaque;

    farside_ctrl_on_config(s->parts->ctrl, m->body);
    return true;
}

static bool on_configured(void *opaque, const FarsideLinkMessage *m)
{
    FarsideSession *s = opaque;

    farside_ctrl_on_configured(s->parts->ctrl, m->body);
    return true;
}

static bool on_release(void *opaque, const FarsideLinkMessage *m)
{
    FarsideSession *s = opaque;

    farside_ctrl_on_release(s->parts->ctrl, m->body);
    return true;
}

static bool on_block(void *opaque, const FarsideLinkMessage *m)
{
    FarsideSession *s = opaque;

    return farside_ctrl_on_block(s->parts->ctrl, m->body);
}

static bool on_request(void *opaque, const FarsideLinkMessage *m)
{
    FarsideSession *s = opaque;

    farside_recorder_arrival(s->parts->recorder, m->type, m->body);
    return farside_completer_on_request(s->parts->completer, m);
}

static bool on_completion(void *opaque, const FarsideLinkMessage *m)
{
    FarsideSession *s = opaque;

    farside_recorder_arrival(s->parts->recorder, m->type, m->body);
    return farside_requester_on_completion(s->parts->requester, m);
}

#define EXACTLY(type) \
    .size_min = sizeof(struct type), .size_max = sizeof(struct type)

static const FarsideLinkType types[] = {
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
    [FARSIDE_WIRE_LOCK] = {
        EXACTLY(farside_wire_lock),
        .receive = on_lock,
    },
    [FARSIDE_WIRE_LOCKED] = {
        EXACTLY(farside_wire_ctrl),
        .receive = on_locked,
    },
    [FARSIDE_WIRE_CONFIG] = {
        EXACTLY(farside_wire_ctrl),
        .receive = on_config,
    },
    [FARSIDE_WIRE_CONFIGURED] = {
        EXACTLY(farside_wire_configured),
        .receive = on_configured,
    },
    [FARSIDE_WIRE_RELEASE] = {
        EXACTLY(farside_wire_lock),
        .receive = on_release,
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
    [FARSIDE_WIRE_BLOCK] = {
        EXACTLY(farside_wire_ctrl),
        .receive = on_block,
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

    *ret_hello = (struct farside_wire_hello) {
        .partition = s->config->partition,
        .generation = s->config->generation,
        .link_up = s->config->enabled,
        .requester_id = pci_requester_id(s->pci),
        .lut_entries = s->config->lut_entries,
        .req_ids = FARSIDE_NTB_REQ_IDS,
        .bar_size = {s->config->bar_size[0], s->config->bar_size[1]},
    };
}

static const char *link_check(void *opaque,
                              const struct farside_wire_hello *hello)
{
    FarsideSession *s = opaque;
    unsigned i;

    if (hello->partition != farside_config_peer(s->config)) {
        return "property 'partition' is the same at both ends, "
               "but must be 0 at one and 1 at the other";
    }
    if (hello->generation != s->config->generation) {
        return "property 'generation' is not the same at both ends";
    }
    if (hello->lut_entries != s->config->lut_entries) {
        return "property 'lut-entries' is not the same at both ends";
    }
    if (hello->req_ids != FARSIDE_NTB_REQ_IDS) {
        return "the peer's requester ID table has another size";
    }
    for (i = 0; i < FARSIDE_NTB_WINDOWS; i++) {
        if (hello->bar_size[i] != s->config->bar_size[i]) {
            return "properties 'bar2-size' and 'bar4-size' are not the same "
                   "at both ends";
        }
    }
    return NULL;
}

static void link_established(void *opaque,
                             const struct farside_wire_hello *hello)
{
    FarsideSession *s = opaque;

    farside_peer_appear(s->parts->peer, hello);
    farside_ctrl_peer_reset(s->parts->ctrl);
    farside_memory_announce(s->parts->memory);
    update_link(s);
}

static void link_closed(void *opaque)
{
    FarsideSession *s = opaque;

    farside_peer_vanish(s->parts->peer);
    farside_completer_peer_gone(s->parts->completer);
    farside_requester_peer_gone(s->parts->requester);
    farside_wait_forget(s->parts->wait);
    farside_peer_update(s->parts->peer);
    farside_ctrl_peer_reset(s->parts->ctrl);
    farside_windows_forget_ram(s->parts->windows);
    farside_regs_link_event(s->parts->regs);
}

static AddressSpace *link_bus(void *opaque)
{
    FarsideSession *s = opaque;

    return pci_get_address_space(s->pci);
}

static void link_heard(void *opaque)
{
    FarsideSession *s = opaque;

    farside_wait_heard(s->parts->wait);
}

static void link_drained(void *opaque)
{
    FarsideSession *s = opaque;

    farside_wait_heard(s->parts->wait);
    farside_peer_drained(s->parts->peer);
}

static const FarsideLinkOps link_ops = {
    .name = TYPE_FARSIDE_NTB,
    .types = types,
    .type_count = ARRAY_SIZE(types),
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
    struct farside_wire_link m = {.up = s->config->enabled};

    farside_peer_send(s->parts->peer, FARSIDE_WIRE_LINK, &m, sizeof(m));
    update_link(s);
}

void farside_session_cut_changed(FarsideSession *s)
{
    update_link(s);
    farside_peer_activity(s->parts->peer);
}

FarsideSession *farside_session_new(const FarsideConfig *config, PCIDevice *pci,
                                    const FarsideParts *parts, Error **errp)
{
    FarsideSession *s = g_new0(FarsideSession, 1);

    s->config = config;
    s->pci = pci;
    s->parts = parts;
    s->link = farside_link_new(config->link_path, config->listen, &link_ops, s,
                               errp);
    if (!s->link) {
        g_free(s);
        return NULL;
    }
    farside_peer_set_link(parts->peer, s->link);
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
