/* SPDX-License-Identifier: MIT */
#ifndef PROGRAM_H
#define PROGRAM_H

/*
 * Runs the program farside as a user does, in a temporary folder. The
 * environment variable FARSIDE is its path.
 */

extern char *program_folder;
extern char *program_out, *program_err; /* of the last run */

/* A checked fixture: makes the folder, and removes it with its contents. */
void program_setup(void);
void program_teardown(void);

/* The path of the file @name in the folder; to be freed. */
char *program_place(const char *name);

/* Makes the file @name with @text, and its parent folders. */
void program_put(const char *name, const char *text);

/* Runs the program in the folder. @words are its arguments, separated by
 * blanks;
 * "@" stands for the folder and "~" for a blank. Returns the exit status. Fails
 * the test if the program was killed. */
int program_run(const char *words);

#endif
