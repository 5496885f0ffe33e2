/* SPDX-License-Identifier: MIT */
#ifndef REP_SVG_H
#define REP_SVG_H

#include <glib.h>

#include "table_file.h"

/*
 * Makes a drawing fit to stand within a page: @length bytes of SVG at @data,
 * called @name in messages, become one element without prolog. Every id, and
 * what refers to one, gets @prefix and "-" before it, so that several drawings
 * go into one page; @title is what a reader who cannot see it is told. What
 * could run or load something (scripts, event handlers, references to anywhere
 * but the drawing itself, styles) is left out. The drawing takes the width it
 * was made for, or less if the page has less. Fails if it is no SVG. The
 * caller frees the result.
 */
char *rep_svg_inline(const char *data, gsize length, const char *name,
                     const char *prefix, const char *title, GError **error);

#endif
