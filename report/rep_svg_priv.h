/* SPDX-License-Identifier: MIT */
#ifndef REP_SVG_PRIV_H
#define REP_SVG_PRIV_H

#include <glib.h>

/*
 * Returns a data: URI with the @length bytes of SVG at @data, for the source
 * of an <img>. In an <img> a browser runs no scripts and loads nothing else,
 * so the drawing need not be trusted. Fails if it is not SVG; the error
 * calls it @name. The caller frees the result.
 */
char *rep_svg_to_uri(const char *data, gsize length, const char *name,
                     GError **error);

#endif
