/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The properties of an NTB device's links: "enabled", "fault", "trace" and
 * "link-up". A chip that can have more than two hosts has a link to each of the
 * others, and these properties for each, with the number of that host behind a
 * dot.
 */
#ifndef FARSIDE_NTB_LINKS_H
#define FARSIDE_NTB_LINKS_H

#include "qom/object.h"

/*
 * Gives @klass the properties: for the only link if @hosts is 0, otherwise for
 * the links to the hosts from 0 to @hosts - 1.
 */
void farside_ntb_add_links(ObjectClass *klass, unsigned hosts);

#endif /* FARSIDE_NTB_LINKS_H */
