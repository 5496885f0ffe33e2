/* SPDX-License-Identifier: MIT */
#ifndef EXP_JOURNAL_H
#define EXP_JOURNAL_H

#include "exp_point.h"

/*
 * The journal of a run: a file that gets each finished point at once, so that
 * the points survive whatever ends the program. A line holds a point and its
 * checksum; a line that is not whole is dropped when the journal is read.
 * Points are found by their number in the whole plan, in which every seed
 * counts, so a run may leave out others than the run that made the journal.
 */
typedef struct ExpJournal ExpJournal;

/* Opens the journal of @description at @path. The file is made when the first
 * point is put into it. With @resume the points of an existing file are read.
 * Without it, such a file gets the name PATH~ before a new one is made. Fails
 * if the file cannot be read, if another run writes it, or if it belongs to
 * another version of the description or of the program. */
ExpJournal *exp_journal_open(const char *path,
                             const TopoDescription *description, bool resume,
                             GError **error);
void exp_journal_free(ExpJournal *journal);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ExpJournal, exp_journal_free)

/* Returns the point with number @index in the plan, which the caller owns; NULL
 * if the journal does not have it, or if it was taken before. */
ExpPoint *exp_journal_take(ExpJournal *journal, unsigned index);

/* Writes a finished point. Several threads may call this. */
bool exp_journal_put(ExpJournal *journal, unsigned index, const ExpPoint *point,
                     GError **error);

/* Returns the number of points in the file. */
unsigned exp_journal_count(ExpJournal *journal);

/* Waits until no point is being written, and lets no thread write another one:
 * they wait for ever. For a program that is about to end. */
void exp_journal_halt(ExpJournal *journal);

/* Removes the file; the results are safe elsewhere. */
void exp_journal_remove(ExpJournal *journal);

#endif
