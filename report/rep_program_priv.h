/* SPDX-License-Identifier: MIT */
#ifndef REP_PROGRAM_PRIV_H
#define REP_PROGRAM_PRIV_H

#include <glib.h>

/* An outside program that draws: it reads a script and writes a picture. */
typedef struct RepProgram {
    const char *const *argv; /* NULL-terminated */
    const char *package;     /* Debian's, for the message if it is missing */
} RepProgram;

/* Returns the picture that the program makes of @script. Fails with
 * TABLE_ERROR_PROGRAM if the program is not installed, or complains. */
GBytes *rep_program_draw(const RepProgram *program, const char *script,
                         GError **error);

#endif
