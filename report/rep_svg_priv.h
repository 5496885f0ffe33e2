/* SPDX-License-Identifier: MIT */
#ifndef REP_SVG_PRIV_H
#define REP_SVG_PRIV_H

#include <glib.h>

/*
 * Returns @length bytes of SVG at @data as a data: URI for the source of an
 * <img>. A browser runs no script in such an image and loads nothing for it, so
 * the drawing may be anyone's. Fails, calling the drawing @name, if it is no
 * SVG. The caller frees the result.
 */
char *rep_svg_to_uri(const char *data, gsize length, const char *name,
                     GError **error);

#endif
