/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qapi/visitor.h"
#include "farside_ntb.h"
#include "farside_ntb_links.h"
#include "farside_session.h"

/*
 * The index of the peer whose link the property @name is about. Returns false,
 * and sets @errp, if there is no such link.
 */
static bool find_link(Object *obj, const char *name, unsigned *ret_peer,
                      Error **errp)
{
    const FarsideConfig *config = &FARSIDE_NTB(obj)->config;
    const char *dot = strchr(name, '.');
    unsigned host;

    *ret_peer = 0;
    if (!dot) {
        if (FARSIDE_NTB_GET_CLASS(obj)->chip->hosts_max == 2) {
            return true;
        }
        error_setg(errp,
                   "property '%s': this chip has a link to each other host, so "
                   "say '%s.H' with the number of the host",
                   name, name);
        return false;
    }
    host = dot[1] - '0';
    /* The number of this host, and that of hosts, may still follow. */
    if (!DEVICE(obj)->realized) {
        *ret_peer = host;
        return true;
    }
    if (host == config->partition || host >= config->hosts) {
        error_setg(errp, "property '%s': host %u is not a peer of this one",
                   name, host);
        return false;
    }
    *ret_peer = host < config->partition ? host : host - 1;
    return true;
}

static void get_enabled(Object *obj, Visitor *v, const char *name, void *opaque,
                        Error **errp)
{
    unsigned peer;

    if (find_link(obj, name, &peer, errp)) {
        visit_type_bool(v, name, &FARSIDE_NTB(obj)->config.peer[peer].enabled,
                        errp);
    }
}

static void set_enabled(Object *obj, Visitor *v, const char *name, void *opaque,
                        Error **errp)
{
    FarsideNtb *s = FARSIDE_NTB(obj);
    unsigned peer;
    bool value;

    if (find_link(obj, name, &peer, errp) &&
        visit_type_bool(v, name, &value, errp) &&
        s->config.peer[peer].enabled != value) {
        s->config.peer[peer].enabled = value;
        if (DEVICE(obj)->realized) {
            farside_session_enabled_changed(s->parts.far[peer].session);
        }
    }
}

static void get_link_up(Object *obj, Visitor *v, const char *name, void *opaque,
                        Error **errp)
{
    FarsideNtb *s = FARSIDE_NTB(obj);
    unsigned peer;
    bool value;

    if (find_link(obj, name, &peer, errp)) {
        value = DEVICE(obj)->realized &&
                farside_peer_link_is_up(s->parts.far[peer].peer);
        visit_type_bool(v, name, &value, errp);
    }
}

/*
 * A fault of the link, which both ends get at the same virtual time: "down",
 * then "training", then "up". It does not change what the user has enabled.
 */
static void get_fault(Object *obj, Visitor *v, const char *name, void *opaque,
                      Error **errp)
{
    const FarsidePeerConfig *link;
    unsigned peer;
    char *value;

    if (find_link(obj, name, &peer, errp)) {
        link = &FARSIDE_NTB(obj)->config.peer[peer];
        value = (char *)(!link->cut     ? "up"
                         : link->trains ? "training"
                                        : "down");
        visit_type_str(v, name, &value, errp);
    }
}

static void set_fault(Object *obj, Visitor *v, const char *name, void *opaque,
                      Error **errp)
{
    FarsideNtb *s = FARSIDE_NTB(obj);
    g_autofree char *value = NULL;
    unsigned peer;

    if (!find_link(obj, name, &peer, errp) ||
        !visit_type_str(v, name, &value, errp)) {
        return;
    }
    if (strcmp(value, "down") && strcmp(value, "training") &&
        strcmp(value, "up")) {
        error_setg(errp, "property '%s' must be down, training or up", name);
        return;
    }
    s->config.peer[peer].cut = strcmp(value, "up") != 0;
    s->config.peer[peer].trains = strcmp(value, "training") == 0;
    if (DEVICE(obj)->realized) {
        farside_session_cut_changed(s->parts.far[peer].session);
    }
}

static void get_trace(Object *obj, Visitor *v, const char *name, void *opaque,
                      Error **errp)
{
    unsigned peer;
    char *value;

    if (find_link(obj, name, &peer, errp)) {
        value = FARSIDE_NTB(obj)->config.peer[peer].trace_path;
        value = value ? value : (char *)"";
        visit_type_str(v, name, &value, errp);
    }
}

static void switch_trace(FarsideNtb *s, unsigned peer, bool on)
{
    const FarsideFar *far = &s->parts.far[peer];
    bool was_on = farside_recorder_is_on(far->recorder);

    if (was_on && !on) {
        farside_windows_end_trace(s->parts.windows, peer);
    }
    farside_recorder_switch(far->recorder, farside_peer_link_is_up(far->peer));
    if (was_on != on) {
        farside_windows_trace_changed(s->parts.windows, peer);
    }
}

static void set_trace(Object *obj, Visitor *v, const char *name, void *opaque,
                      Error **errp)
{
    FarsideNtb *s = FARSIDE_NTB(obj);
    g_autofree char *value = NULL;
    char **path;
    unsigned peer;

    if (!find_link(obj, name, &peer, errp) ||
        !visit_type_str(v, name, &value, errp)) {
        return;
    }
    path = &s->config.peer[peer].trace_path;
    if (DEVICE(obj)->realized) {
        if (g_strcmp0(value, *path ? *path : "") == 0 ||
            !farside_recorder_prepare(s->parts.far[peer].recorder, value,
                                      errp)) {
            return;
        }
        switch_trace(s, peer, *value);
    }
    g_free(*path);
    *path = g_steal_pointer(&value);
}

typedef struct {
    const char *name;
    const char *type;
    ObjectPropertyAccessor *get;
    ObjectPropertyAccessor *set; /* NULL: read only */
    const char *description;
} LinkProperty;

static const LinkProperty properties[] = {
    {"enabled", "bool", get_enabled, set_enabled,
     "whether this side of the link is enabled"},
    {"fault", "string", get_fault, set_fault,
     "a fault of the link: up (none), down or training"},
    {"trace", "string", get_trace, set_trace,
     "file that records what this device sends, empty for none"},
    {"link-up", "bool", get_link_up, NULL, "whether the link is up"},
};

static void add_properties(ObjectClass *klass, const char *suffix)
{
    const LinkProperty *p;

    for (p = properties; p < properties + ARRAY_SIZE(properties); p++) {
        g_autofree char *name = g_strconcat(p->name, suffix, NULL);

        object_class_property_add(klass, name, p->type, p->get, p->set, NULL,
                                  NULL);
        object_class_property_set_description(klass, name, p->description);
    }
}

void farside_ntb_add_links(ObjectClass *klass, unsigned hosts)
{
    char suffix[] = ".0";

    if (!hosts) {
        add_properties(klass, "");
    }
    for (; hosts; hosts--) {
        suffix[1] = '0' + hosts - 1;
        add_properties(klass, suffix);
    }
}
