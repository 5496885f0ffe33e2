/* SPDX-License-Identifier: MIT */
#ifndef PROGRAM_H
#define PROGRAM_H

/*
 * The program farside (named by the environment variable FARSIDE) as a user
 * runs it, in a folder of the test's own.
 */

extern char *program_folder;
extern char *program_out, *program_err; /* of the last run */

/* A checked fixture: makes the folder, and removes it with what is in it. */
void program_setup(void);
void program_teardown(void);

/* The path of the file @name in the folder; to be freed. */
char *program_place(const char *name);

/* Makes the file @name with @text, and the folders that it lies in. */
void program_put(const char *name, const char *text);

/* Runs the program in the folder with @words, separated by blanks, in which "@"
 * stands for the folder and "~" for a blank. Returns its exit status; fails the
 * test if it was killed. */
int program_run(const char *words);

#endif
