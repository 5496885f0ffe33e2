/* SPDX-License-Identifier: MIT */
#ifndef REP_PROGRAM_PRIV_H
#define REP_PROGRAM_PRIV_H

#include <glib.h>

/* Another program that draws: it reads a script and writes a picture. */
typedef struct RepProgram {
    const char *const *argv; /* NULL-terminated */
    const char *package; /* Debian package, named in the message if the program
                            is missing */
} RepProgram;

/* Returns the picture that the program draws from @script. Fails with
 * TABLE_ERROR_PROGRAM if the program is not installed or reports an error. */
GBytes *rep_program_draw(const RepProgram *program, const char *script,
                         GError **error);

#endif
