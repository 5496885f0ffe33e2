/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The turns of QEMU's main loop, and who gets the big lock between two of them.
 * Not for virtual time.
 */
#ifndef FARSIDE_TURN_H
#define FARSIDE_TURN_H

/*
 * The caller works for a peer, or waits for one, and holds the big lock. In the
 * main loop's thread that counts until its next turn; elsewhere nothing does.
 */
void farside_turn_note(void);

/* Each device that may call farside_turn_note(); in the main loop's thread. */
void farside_turn_add_user(void);
void farside_turn_remove_user(void);

#endif /* FARSIDE_TURN_H */
